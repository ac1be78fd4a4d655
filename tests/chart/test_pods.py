"""The pods of the chart: what restricts them, and where global values reach."""

import json
from typing import Any

import pytest
from rendering import Chart, Object, Rendered, is_hook, key

from kai.controllers.pods.sharing import Reservations, reservation_pod

SPLIT = {"topology": "split"}


def is_restricted(pod: Object) -> bool:
    """Whether the Pod Security Standard "restricted" allows the pod."""
    own = pod.get("securityContext", {})
    [container] = pod["containers"]
    inner = container.get("securityContext", {})
    allowed = {"configMap", "emptyDir", "projected", "secret", "downwardAPI", "name"}
    return (
        inner.get("allowPrivilegeEscalation") is False
        and inner.get("capabilities", {}).get("drop") == ["ALL"]
        and own.get("runAsNonRoot") is True
        and own.get("runAsUser") != 0
        and own.get("seccompProfile") == {"type": "RuntimeDefault"}
        and all(set(volume) <= allowed for volume in pod.get("volumes", ()))
    )


def reservation_of(made: Rendered, deployment: str) -> Object:
    """The reservation pod that the program creates with its options."""
    args = made.container("Deployment", deployment)["args"]

    def option(name: str) -> Any:
        return json.loads(args[args.index(f"--resource-reservation-{name}-security-context") + 1])

    settings = Reservations(
        image="kai-sched:1", pod_security=option("pod"), container_security=option("container")
    )
    return dict(reservation_pod("n1", "g1", (), settings)["spec"])


@pytest.mark.parametrize("values", [{}, SPLIT, {"openshift": True}])
def test_all_pods_satisfy_the_restricted_standard(chart: Chart, values: dict[str, Any]) -> None:
    made = chart.render(values)
    pods = list(made.pods())
    assert len(pods) >= 4
    assert all(map(is_restricted, pods))
    assert all(pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] for pod in pods)


@pytest.mark.parametrize(
    ("values", "deployment"),
    [
        ({}, "kai"),
        (SPLIT, "binder"),
        (SPLIT, "kai-scheduler-default"),
        ({"openshift": True}, "kai"),
    ],
)
def test_reservation_pods_satisfy_the_restricted_standard(
    chart: Chart, values: dict[str, Any], deployment: str
) -> None:
    assert is_restricted(reservation_of(chart.render(values), deployment))


def test_openshift_chooses_the_users(chart: Chart) -> None:
    daemons = {"numaPlacementExporter": {"enabled": True}, "gpuAuditor": {"enabled": True}}
    made = chart.render({"openshift": True, **daemons})
    for each in made.objects:
        if each["kind"] in ("Deployment", "Job"):
            assert "runAsUser" not in json.dumps(each)
    for name in ("kai-numa-exporter", "kai-gpu-auditor"):
        assert made.container("DaemonSet", name)["securityContext"]["runAsUser"] == 0
        assert made.one("RoleBinding", f"{name}-privileged")["subjects"][0]["name"] == name


def test_global_values_reach_each_pod_of_a_deployment_and_a_hook(chart: Chart) -> None:
    toleration = {"key": "system", "operator": "Exists"}
    made = chart.render(
        {
            **SPLIT,
            "global": {
                "imagePullSecrets": [{"name": "key"}],
                "nodeSelector": {"pool": "system"},
                "tolerations": [toleration],
                "priorityClassName": "high",
            },
        }
    )
    for pod in made.pods():
        assert pod["imagePullSecrets"] == [{"name": "key"}]
        assert pod["nodeSelector"] == {"pool": "system"}
        assert pod["tolerations"] == [toleration]
        assert pod["priorityClassName"] == "high"


def test_reservation_pods_get_the_pull_secrets_of_their_account(chart: Chart) -> None:
    made = chart.render({"global": {"imagePullSecrets": ["key"]}})
    account = made.one("ServiceAccount", "kai-resource-reservation")
    assert account["imagePullSecrets"] == [{"name": "key"}]


def test_the_exporter_has_nodes_of_its_own(chart: Chart) -> None:
    made = chart.render(
        {
            "global": {"nodeSelector": {"pool": "system"}},
            "numaPlacementExporter": {"enabled": True},
        }
    )
    spec = made.one("DaemonSet", "kai-numa-exporter")["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"feature.node.kubernetes.io/memory-numa": "true"}


def auditor_of(chart: Chart, **values: Any) -> dict[str, Any]:
    made = chart.render({"gpuAuditor": {"enabled": True, **values}})
    spec: dict[str, Any] = made.one("DaemonSet", "kai-gpu-auditor")["spec"]["template"]["spec"]
    return spec


def test_the_auditor_is_off_by_default(chart: Chart) -> None:
    assert chart.render().of_kind("DaemonSet") == []


def test_the_auditor_looks_at_all_gpus_and_processes_of_its_node(chart: Chart) -> None:
    spec = auditor_of(chart)
    assert spec["hostPID"] is True
    assert "hostNetwork" not in spec
    assert spec["runtimeClassName"] == "nvidia"
    assert spec["nodeSelector"] == {"nvidia.com/gpu.present": "true"}
    [container] = spec["containers"]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    assert variables["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert "nvidia.com/gpu" not in json.dumps(container["resources"])
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert all(each["readOnly"] for each in container["volumeMounts"])


def test_the_folders_of_the_node_are_values_and_that_of_pods_may_be_left_out(chart: Chart) -> None:
    spec = auditor_of(chart, podsHostPath="/run/pods", podResourcesHostPath="/run/res")
    folders = {each["name"]: each["hostPath"]["path"] for each in spec["volumes"]}
    assert folders == {"pods": "/run/pods", "pod-resources": "/run/res"}
    [container] = spec["containers"]
    mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert mounted == {
        "pods": "/var/lib/kubelet/pods",
        "pod-resources": "/var/lib/kubelet/pod-resources",
    }
    spec = auditor_of(chart, podsHostPath="", runtimeClassName="")
    assert [each["name"] for each in spec["volumes"]] == ["pod-resources"]
    [container] = spec["containers"]
    assert [each["name"] for each in container["volumeMounts"]] == ["pod-resources"]
    assert container["args"][-1] == "--pods-folder="
    assert "runtimeClassName" not in spec


def test_affinity_of_a_program_precedes_the_global_one_field_by_field(chart: Chart) -> None:
    def zone(name: str) -> dict[str, Any]:
        term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [name]}]}
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}

    made = chart.render(
        {
            **SPLIT,
            "global": {"affinity": {"nodeAffinity": zone("a")}},
            "binder": {"affinity": {"nodeAffinity": zone("b")}},
        }
    )
    for name, expected in (("binder", "b"), ("pod-grouper", "a")):
        affinity = made.one("Deployment", name)["spec"]["template"]["spec"]["affinity"]
        assert affinity["nodeAffinity"] == zone(expected)
        assert "preferredDuringSchedulingIgnoredDuringExecution" in affinity["podAntiAffinity"]


def test_one_replica_needs_no_disruption_budget(chart: Chart) -> None:
    """Whatever it allows, the drain of a node ends the only replica."""
    made = chart.render({"operator": {"replicaCount": 1}})
    assert made.of_kind("PodDisruptionBudget") == []


def test_a_new_configuration_restarts_the_scheduler_only(chart: Chart) -> None:
    before, after = (
        chart.render({**SPLIT, "scheduler": {"placementStrategy": strategy}})
        for strategy in ("binpack", "spread")
    )
    changed = [
        name
        for name in ("kai-scheduler-default", "binder", "pod-grouper")
        if before.one("Deployment", name)["spec"] != after.one("Deployment", name)["spec"]
    ]
    assert changed == ["kai-scheduler-default"]


def test_roles_that_are_off_do_not_run(chart: Chart) -> None:
    off = {"queuecontroller": {"enabled": False}}
    args = chart.render(off).container("Deployment", "kai")["args"]
    at = args.index("--namespace")
    assert args[:at] == ["run", "binder", "pod-group-controller", "pod-grouper", "scheduler"]
    made = chart.render({**SPLIT, **off})
    assert len(made.of_kind("Deployment")) == 5
    assert not any(
        each["metadata"]["name"] == "queue-controller" for each in made.of_kind("ServiceAccount")
    )


def test_gitops_has_no_hooks(chart: Chart) -> None:
    made = chart.render({"gitops": True})
    assert not any(map(is_hook, made.objects))
    key_of = sorted(map(key, chart.render().installed()))
    assert sorted(map(key, made.objects)) == key_of


def test_upgrades_do_not_touch_the_default_queues(chart: Chart) -> None:
    assert len(chart.render().of_kind("Queue")) == 2
    assert chart.render({}, "--is-upgrade").of_kind("Queue") == []
    for each in chart.render().of_kind("Queue"):
        annotations = each["metadata"]["annotations"]
        assert annotations["helm.sh/resource-policy"] == "keep"
        assert annotations["argocd.argoproj.io/sync-options"] == "Prune=false"


def test_the_webhooks_forbid_shared_gpus_if_they_are_off(chart: Chart) -> None:
    for values, allowed in (
        ({}, True),
        ({"gpuSharing": False}, False),
        ({"gpuSharing": False, "gpuSharingMode": "HamiCore"}, True),
        ({"gpuSharingMode": "Disabled"}, False),
    ):
        made = chart.render({"global": values})
        args = made.container("Deployment", "kai-admission")["args"]
        assert ("--gpu-sharing-enabled" in args) == allowed


def test_selectors_reach_the_webhooks_of_pods_only(chart: Chart) -> None:
    labels = {"team": "ml"}
    made = chart.render({"global": {"namespaceLabelSelector": labels, "podLabelSelector": labels}})
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for configuration in made.of_kind(kind):
            for webhook in configuration["webhooks"]:
                of_pods = webhook["rules"][0]["resources"] == ["pods"]
                assert ("objectSelector" in webhook) == of_pods
                if of_pods:
                    assert webhook["namespaceSelector"]["matchLabels"] == labels


@pytest.mark.parametrize(
    ("admission", "options"),
    [
        ({}, []),
        ({"guardShares": True}, ["--guard-image"]),
        ({"guardChosen": True}, ["--guard-image", "--no-guard-shares"]),
        ({"guardShares": True, "guardChosen": True}, ["--guard-image"]),
        ({"guardRequired": True}, ["--guard-required"]),
    ],
)
def test_the_guard_is_for_all_shares_or_for_those_that_choose_it(
    chart: Chart, admission: dict[str, Any], options: list[str]
) -> None:
    args = chart.render({"admission": admission}).container("Deployment", "kai-admission")["args"]
    assert [each.partition("=")[0] for each in args if "guard" in each] == sorted(options)
