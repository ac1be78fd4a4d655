"""What the API server refuses by the schema and the rules of Kubernetes' kinds."""

from copy import deepcopy
from typing import Any

import pytest

from kai.admission import schema
from kai.linting import lint

CODE = "schema-refused"
CONTAINER = {"name": "main", "image": "i"}


def job(**spec: Any) -> dict[str, Any]:
    """A whole Job in queue test; `spec` are fields of its pods."""
    labels = {"kai.scheduler/queue": "test"}
    pod = {
        "schedulerName": "kai-scheduler",
        "restartPolicy": "Never",
        "containers": [CONTAINER],
        **spec,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": labels},
        "spec": {"template": {"spec": pod}},
    }


def deployment(selected: dict[str, str], labels: dict[str, str]) -> dict[str, Any]:
    made = deepcopy(job(restartPolicy="Always"))
    made |= {"apiVersion": "apps/v1", "kind": "Deployment"}
    made["spec"]["template"]["metadata"] = {"labels": labels}
    made["spec"]["selector"] = {"matchLabels": selected}
    return made


def found(manifest: Any) -> list[str]:
    """Path and message of each finding, from the pods of a Job."""
    return [
        f"{each.path.removeprefix('spec.template.spec.')}: {each.message}"
        for each in lint(manifest)
        if each.code == CODE
    ]


def test_a_whole_job_has_no_findings() -> None:
    assert lint(job()) == []


def test_the_table_of_fields_can_be_read() -> None:
    types = schema.kubernetes()
    assert len(types) > 200
    for fields in types.values():
        assert all(not each.type or each.type in types for each in fields.values())


@pytest.mark.parametrize(
    ("spec", "what", "wanted"),
    [
        ({"hostPID": "yes"}, "'yes'", "true or false"),
        ({"terminationGracePeriodSeconds": "30"}, "'30'", "a whole number of 64 bits"),
        ({"subdomain": 5}, "5", "a string"),
        ({"hostAliases": {"ip": "1"}}, "{'ip': '1'}", "a list"),
        ({"preemptionPolicy": "no"}, "'no'", "Never or PreemptLowerPriority"),
        ({"securityContext": []}, "[]", "a mapping"),
        ({"restartPolicy": None}, "missing, and so Always", "OnFailure or Never"),
    ],
)
def test_values_of_another_type(spec: dict[str, Any], what: str, wanted: str) -> None:
    (field,) = spec
    assert found(job(**spec)) == [f"{field}: {field} is {what}: the API server requires {wanted}"]


def test_an_item_of_another_type() -> None:
    assert found(job(imagePullSecrets=["x"])) == [
        "imagePullSecrets[0]: imagePullSecrets[0] is 'x': the API server requires a mapping"
    ]


@pytest.mark.parametrize(
    ("container", "finding"),
    [
        ({"name": "Main"}, '.name: "Main" is not a name of'),
        ({"ports": [{}]}, ".ports[0].containerPort: containerPort is missing"),
        ({"env": [{"value": "x"}]}, ".env[0].name: name is missing: the API server requires it"),
        ({"lifecycle": {"stopSignal": "X"}}, ".lifecycle.stopSignal: stopSignal is 'X'"),
        ({"resources": {"limits": {"cpus": 1}}}, ".resources.limits.cpus: cpus is not a resource"),
        (
            {"resources": {"requests": {"example.com/dpu": 1}}},
            ".resources.requests[example.com/dpu]: example.com/dpu is requested without a limit",
        ),
        (
            {"resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}},
            ".resources.requests.cpu: the request of cpu is 2, above its limit 1",
        ),
    ],
)
def test_containers_that_the_api_server_refuses(container: dict[str, Any], finding: str) -> None:
    [only] = found(job(containers=[{**CONTAINER, **container}]))
    assert only.startswith(f"containers[0]{finding}")


def test_an_image_is_missing_beside_another() -> None:
    containers = [CONTAINER, {"name": "side"}]
    assert found(job(containers=containers)) == [
        "containers[1].image: image is missing: the API server requires it"
    ]


def test_names_that_occur_twice() -> None:
    volume = {"name": "v", "emptyDir": {}}
    assert found(job(containers=[CONTAINER, CONTAINER], volumes=[volume, volume])) == [
        "containers[1].name: two containers have the name main",
        "volumes[1].name: two volumes have the name v",
    ]


def test_a_port_of_the_node_that_two_containers_would_get() -> None:
    port = {"containerPort": 80, "hostPort": 80}
    containers = [{**CONTAINER, "name": name, "ports": [port]} for name in ("a", "b")]
    assert found(job(containers=containers)) == [
        "containers[1].ports[0].hostPort: host port 80 is used twice"
    ]


def test_a_container_uses_claims_of_its_pod() -> None:
    container = {**CONTAINER, "resources": {"claims": [{"name": "gpus"}]}}
    claim = {"name": "gpu", "resourceClaimName": "c"}
    [only] = lint(job(containers=[container], resourceClaims=[claim]))
    assert only.message == "the pod has no claim gpus in resourceClaims"
    assert only.fix == "write one of gpu"
    assert found(job(resourceClaims=[{"name": "gpu"}])) == [
        "resourceClaims[0]: resourceClaims[0] has no resourceClaimName or resourceClaimTemplateName"
    ]


@pytest.mark.parametrize(
    ("toleration", "finding"),
    [
        ({"operator": "Equal"}, "key: key is missing"),
        ({"key": "a b"}, 'key: "a b" is not a key'),
        ({"key": "gpu", "tolerationSeconds": 5}, "effect: tolerationSeconds is for the effect"),
        ({"key": "gpu", "operator": "Exists", "value": "x"}, "value: the operator Exists has no"),
    ],
)
def test_tolerations_that_the_api_server_refuses(toleration: dict[str, Any], finding: str) -> None:
    [only] = found(job(tolerations=[toleration]))
    assert only.startswith(f"tolerations[0].{finding}")


@pytest.mark.parametrize(
    ("expression", "finding"),
    [
        ({"key": "zone", "operator": "In"}, ".values: values is empty: the operator In needs some"),
        ({"key": "zone", "operator": "Exists", "values": ["a"]}, ".values: the operator Exists"),
        (
            {"key": "n", "operator": "Gt", "values": ["1", "2"]},
            ".values: the operator Gt needs one",
        ),
        ({"key": "zone/", "operator": "Exists"}, '.key: "zone/" is not a key'),
        ({"operator": "Exists"}, ".key: key is missing"),
    ],
)
def test_selections_of_nodes_that_the_api_server_refuses(
    expression: dict[str, Any], finding: str
) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    [only] = found(job(affinity=affinity))
    assert f"matchExpressions[0]{finding}" in only


def test_labels_that_the_api_server_refuses() -> None:
    manifest = job(nodeSelector={"disk": "a b"})
    manifest["metadata"]["annotations"] = {"Example.com/Note": "any text", "a b": ""}
    manifest["metadata"]["labels"]["x" * 64] = "y"
    paths = [each.path for each in lint(manifest) if each.code == CODE]
    assert paths == [
        f"metadata.labels.{'x' * 64}",
        "metadata.annotations[a b]",
        "spec.template.spec.nodeSelector.disk",
    ]


def test_a_deployment_selects_its_own_pods() -> None:
    assert found(deployment({"app": "x"}, {"app": "x"})) == []
    assert found(deployment({"app": "y"}, {"app": "x"})) == [
        "spec.selector.matchLabels.app: the pod template has no label app: y, which the selector"
        " requires"
    ]
    assert found(deployment({}, {"app": "x"})) == ["spec.selector: selector is empty"]
    expression = {"key": "app", "operator": "NotIn", "values": ["x"]}
    manifest = deployment({}, {"app": "x"})
    manifest["spec"]["selector"] = {"matchExpressions": [expression]}
    assert found(manifest) == [
        "spec.selector.matchExpressions[0]: the labels of the pod template do not match what the"
        " selector requires"
    ]


def test_a_stateful_set_has_a_name_without_dots() -> None:
    manifest = deployment({"app": "x"}, {"app": "x"}) | {"kind": "StatefulSet"}
    manifest["metadata"] = {**manifest["metadata"], "name": "web.1"}
    assert [each.path for each in lint(manifest)] == ["metadata.name"]


def test_other_kinds() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert found({**node, "spec": {"taints": [{"key": "gpu"}]}}) == [
        "spec.taints[0].effect: effect is missing: the API server requires it"
    ]
    taint = {"key": "gpu", "effect": "NoSchedule"}
    assert found({**node, "spec": {"taints": [taint, {**taint, "value": "x"}]}}) == [
        "spec.taints[1]: there are two taints gpu with the effect NoSchedule"
    ]
    capacity = {"cpu": "1500m", "nvidia.com/gpu": "500m"}
    assert found({**node, "status": {"capacity": capacity, "conditions": [{}]}}) == [
        "status.capacity[nvidia.com/gpu]: nvidia.com/gpu is 500m: the API server requires a whole"
        " number"
    ]
    topology = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology"}
    levels = [{"nodeLabel": "the rack"}]
    [only] = found({**topology, "metadata": {"name": "t"}, "spec": {"levels": levels}})
    assert only.startswith('spec.levels[0].nodeLabel: "the rack" is not a key')


def test_pods_of_other_projects_have_the_same_fields() -> None:
    pod = {"schedulerName": "kai-scheduler", "containers": [{"name": "main"}], "hostPID": "no"}
    template = {"spec": {"template": {"spec": pod}}}
    manifest = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "j", "labels": {"kai.scheduler/queue": "test"}},
        "spec": {"replicatedJobs": [{"name": "w", "template": template}]},
    }
    assert [each.path.rpartition(".")[2] for each in lint(manifest)] == ["hostPID"]


def test_objects_of_a_server_and_values_of_other_programs_are_not_checked() -> None:
    from_server = job(hostPID="yes")
    from_server["metadata"]["resourceVersion"] = "1"
    assert found(from_server) == []
    assert found(job(hostPID="${HOST}", subdomain=None)) == []


def test_a_part_of_a_manifest_may_lack_fields() -> None:
    part = job(containers=[{"name": "main"}])
    del part["spec"]["template"]["spec"]["restartPolicy"]
    assert found(part) == []


def test_the_advice_about_a_value_that_plans_refuse_lists_the_values() -> None:
    [only] = lint(job(tolerations=[{"key": "gpu", "operator": "Exist"}]))
    assert (only.code, only.fix) == ("value-refused", "write Equal, Exists, Gt or Lt")


def test_a_value_has_one_finding() -> None:
    """Labels and resources have findings of their own."""
    manifest = job(containers=[{**CONTAINER, "resources": {"limits": "1Gi"}}])
    manifest["metadata"]["labels"]["version"] = 1.0
    assert sorted(each.code for each in lint(manifest)) == ["not-a-mapping", "not-text"]
