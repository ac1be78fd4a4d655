"""Manifests that KAI would reject, or silently ignore."""

import json
from typing import Any

import pytest

import kai
from kai.admission.finding import dotted
from kai.linting import Finding, lint
from kai.queues import unlimited

HALF = {"gpu-fraction": "0.5"}
GPU = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
QUEUE = {"kai.scheduler/queue": "test"}


def pod(
    annotations: dict[str, Any] | None = None,
    *containers: dict[str, Any],
    labels: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A pod in queue test."""
    return {
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "labels": QUEUE if labels is None else labels,
            "annotations": annotations or {},
        },
        "spec": {
            "schedulerName": "kai-scheduler",
            "containers": list(containers) or [{"name": "main"}],
            **spec,
        },
    }


def job(
    annotations: dict[str, Any] | None = None,
    pods: dict[str, Any] | None = None,
    *containers: dict[str, Any],
    kind: str = "Job",
    **more: Any,
) -> dict[str, Any]:
    template = pod(pods, *containers, labels={})
    return {
        "kind": kind,
        "metadata": {"name": "j", "labels": QUEUE, "annotations": annotations or {}},
        "spec": {"template": {k: template[k] for k in ("metadata", "spec")}, **more},
    }


def codes(manifest: Any, **options: Any) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in lint(manifest, **options)]


def only(manifest: Any, **options: Any) -> Finding:
    (finding,) = lint(manifest, **options)
    return finding


@pytest.mark.parametrize(
    "manifest",
    [
        pod(),
        pod(HALF),
        pod({"gpu-memory": "5120", "gpu-fraction-num-devices": "2", "mps": "true"}),
        pod(None, GPU | {"name": "a"}, GPU | {"name": "b"}),
        job({"kai.scheduler/batch-min-member": "4"}, HALF),
        job({"kai.scheduler/topology": "t", "kai.scheduler/topology-required-placement": "rack"}),
        {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"gpu-fraction": "2"}},
        {"kind": "Pod", "metadata": {"name": "other"}, "spec": {"containers": [GPU]}},
    ],
)
def test_a_valid_manifest_has_no_findings(manifest: dict[str, Any]) -> None:
    assert lint(manifest) == []


def test_built_manifests_have_no_findings() -> None:
    for request in ({"gpu_fraction": 0.5}, {"gpu_memory": "5Gi", "devices": 2}, {"gpus": 1}, {}):
        built = kai.pod_settings(queue="test", **request)
        assert lint(built.apply_to({"kind": "Pod", "spec": {"containers": [{"name": "m"}]}})) == []


# ---- GPUs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("0", "between 0 and 1"),
        ("-0.5", "between 0 and 1"),
        ("1", "nvidia.com/gpu: 1"),
        ("1.0", "nvidia.com/gpu: 1"),
        ("1.5", "gpu-fraction-num-devices: 2 and a fraction of each, 0.75"),
        ("NaN", "between 0 and 1"),
        ("inf", "between 0 and 1"),
        ("0x1p-1", "between 0 and 1"),
        ("", "between 0 and 1"),
        (" 0.5", "write 0.5"),
        ("500m", "write 0.5"),
        ("50%", "write 0.5"),
    ],
)
def test_fractions_that_kai_refuses(value: str, fix: str) -> None:
    finding = only(pod({"gpu-fraction": value}))
    assert (finding.code, finding.severity) == ("fraction-refused", "error")
    assert fix in finding.fix


@pytest.mark.parametrize("value", ["0.5", "5e-1", ".25", "+0.5", "0.50"])
def test_fractions_that_kai_accepts(value: str) -> None:
    assert lint(pod({"gpu-fraction": value})) == []


def test_a_fraction_that_is_rounded() -> None:
    assert only(pod({"gpu-fraction": "0.125"})).code == "fraction-rounded"
    assert "becomes 0.00" in only(pod({"gpu-fraction": "0.004"})).message


@pytest.mark.parametrize("value", ["5Gi", "-1", "0", "5120.5", "lots", ""])
def test_memory_that_kai_refuses(value: str) -> None:
    assert only(pod({"gpu-memory": value})).code == "gpu-memory-refused"


def test_both_a_fraction_and_memory() -> None:
    assert only(pod({**HALF, "gpu-memory": "100"})).code == "fraction-and-memory"


@pytest.mark.parametrize(
    ("annotations", "code"),
    [
        ({"gpu-fraction-num-devices": "2"}, "devices-without-share"),
        ({**HALF, "gpu-fraction-num-devices": "0"}, "devices-refused"),
        ({**HALF, "gpu-fraction-num-devices": "two"}, "devices-refused"),
        ({"mps": "true"}, "mps-without-share"),
    ],
)
def test_annotations_that_need_a_part_of_a_gpu(annotations: dict[str, str], code: str) -> None:
    assert only(pod(annotations)).code == code


@pytest.mark.parametrize("amount", ["1", 0, "0", "2m"])
def test_a_whole_gpu_together_with_a_part(amount: Any) -> None:
    """A limit of zero counts too, and so does that of a sidecar or an init container."""
    limits = {"limits": {"nvidia.com/gpu": amount}}
    main, side = {"name": "main"}, {"name": "side", "resources": limits}
    named = {**HALF, "gpu-fraction-container-name": "main"}
    manifest = pod(named, main, side, initContainers=[{"name": "init", "resources": limits}])
    assert codes(manifest) == [
        ("whole-gpu-beside-fraction", "spec.containers[1].resources.limits[nvidia.com/gpu]"),
        ("whole-gpu-beside-fraction", "spec.initContainers[0].resources.limits[nvidia.com/gpu]"),
    ]


@pytest.mark.parametrize("kind", ["List", "PodList"])
def test_the_items_of_a_list_are_a_list(kind: str) -> None:
    manifest = {"kind": kind, "apiVersion": "v1", "items": 3}
    for given in (manifest, {"kind": kind, "items": 3}):
        [finding] = lint(given)
        assert (finding.code, finding.path) == ("value-refused", "items")
    [rejected] = kai.Scheduler().plan(kai.load(json.dumps(manifest).encode())).rejected
    assert (rejected.field, rejected.message.partition(" (")[0]) == ("items", finding.message)
    assert finding.message == "items is 3: the API server requires a list"


def test_an_item_that_is_no_object_hides_no_other_item() -> None:
    manifest = {"kind": "List", "apiVersion": "v1", "items": [3, None, pod({"gpu-fraction": "2"})]}
    found = lint(manifest)
    assert (found[0].code, found[0].path) == ("value-refused", "items[0]")
    assert found[0].message == "this item is 3: the API server requires an object"
    assert [each.code for each in found[1:]] == [each.code for each in lint(manifest["items"][2])]


def test_a_slice_together_with_a_part() -> None:
    """It passes KAI's admission."""
    sliced = {"name": "main", "resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}}
    assert only(pod(HALF, sliced)).code == "whole-gpu-beside-fraction"


def test_a_missing_container() -> None:
    finding = only(pod({**HALF, "gpu-fraction-container-name": "trainer"}))
    assert (finding.code, finding.fix) == ("container-missing", "write main")
    init = pod({**HALF, "gpu-fraction-container-name": "i"}, initContainers=[{"name": "i"}])
    assert lint(init) == []


def test_several_containers_without_a_name_for_the_part() -> None:
    finding = only(pod(HALF, {"name": "a"}, {"name": "b"}))
    assert (finding.code, finding.severity) == ("container-not-named", "warning")
    assert only(pod({**HALF, "sidecar.istio.io/inject": "true"})).code == "container-not-named"


@pytest.mark.parametrize(
    ("annotations", "sentence"),
    [
        ({"main.gpus.devices": "0"}, "KAI writes the devices"),
        ({"main.gpu-memory.limit": "much"}, "not a quantity"),
        ({"other.gpu-memory.limit": "1Gi"}, "no container 'other'"),
        ({"main.gpu-memory.limit": "1Gi", "side.gpu-memory.limit": "1Gi"}, "not to 2"),
        ({"main.gpu-memory.limit": "1Gi", "main.gpu-memory.request": "2Gi"}, "above the limit"),
    ],
)
def test_annotations_that_name_the_container(annotations: dict[str, str], sentence: str) -> None:
    """spec 7 NX2."""
    named = {f"nvidia.com/container.{key}": value for key, value in annotations.items()}
    finding = only(pod(named, {"name": "main"}, {"name": "side"}))
    assert (finding.code, sentence in finding.message) == ("nvfractions-refused", True)


def test_annotations_that_name_the_right_container() -> None:
    named = {
        "nvidia.com/container.main.gpu-memory.request": "1Gi",
        "nvidia.com/container.main.gpu-memory.limit": "1024Mi",
    }
    assert lint(pod(named, {"name": "main"}, {"name": "side"})) == []


def test_a_variable_that_kai_replaces() -> None:
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    named = {**HALF, "gpu-fraction-container-name": "a"}
    assert only(pod(named, {"name": "a", "env": env}, {"name": "b"})).code == "visible-devices"
    assert lint(pod(named, {"name": "a"}, {"name": "b", "env": env})) == []


# ---- texts and keys ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.5, 1, True, None, ["a"]])
def test_values_that_are_not_texts(value: Any) -> None:
    found = lint(pod({"own": value}))
    assert [each.code for each in found] == ["not-text"]


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        (None, "limit of nvidia.com/gpu has no value"),
        (True, "limit of nvidia.com/gpu is true, which is not a quantity"),
        ([1], "limit of nvidia.com/gpu is [1], which is not a quantity"),
        ("many", "limit of nvidia.com/gpu is 'many', which is not a quantity"),
    ],
)
def test_messages_have_the_words_of_yaml(amount: Any, message: str) -> None:
    given = pod(None, {"name": "a", "resources": {"limits": {"nvidia.com/gpu": amount}}})
    assert only(given).message == message
    [left_out] = kai.load(json.dumps(given).encode()).rejected
    assert left_out.message == message
    assert "is null: the API server requires" in only(pod({"own": None})).message


def test_labels_as_annotations_and_annotations_as_labels() -> None:
    assert codes(pod({"kai.scheduler/queue": "test"}, labels={})) == [
        ("queue-annotation", "metadata.annotations[kai.scheduler/queue]")
    ]
    assert only(pod({"priorityClassName": "train"})).code == "annotation-ignored"
    assert only(pod(labels={**QUEUE, **HALF})).code == "annotation-as-label"
    odd = pod(labels={**QUEUE, "kai.scheduler/preemptibility": "yes"})
    assert only(odd).code == "preemptibility-unknown"


ODD_TRUTHS = ["yes", "TRUE", "", "false ", "False", "1"]


@pytest.mark.parametrize("value", ODD_TRUTHS)
@pytest.mark.parametrize(
    "key",
    [
        "kai.scheduler/gpu-guard",
        "kai.scheduler/movable",
        "kai.scheduler/skip-podgrouper",
        "mps",
    ],
)
def test_an_annotation_that_is_true_or_false_has_no_other_value(key: str, value: str) -> None:
    given = {**HALF, key: value}
    finding = only(pod(given))
    assert (finding.code, finding.path) == ("annotation-value", dotted(finding.at))
    assert finding.at == ("metadata", "annotations", key)
    assert finding.fix == 'write "true" or "false"'
    plan = kai.Scheduler().plan(kai.load(json.dumps(pod(given)).encode()))
    assert [each for each in plan.warnings if f'{key} is "{value}"' in each and finding.fix in each]


@pytest.mark.parametrize("value", ["true", "false"])
def test_true_and_false_are_values_of_an_annotation(value: str) -> None:
    assert lint(pod({**HALF, "kai.scheduler/movable": value, "mps": value})) == []


@pytest.mark.parametrize("key", ["kai.scheduler/gpu-guard", "kai.scheduler/movable"])
def test_pods_have_keys_that_are_ignored_on_their_workload(key: str) -> None:
    assert only(job({key: "true"})).code == "annotation-ignored"


def choosing(key: str, value: str, part: str = "annotations") -> list[tuple[str, str]]:
    """The findings about one key of a Queue."""
    amounts = {name: {"quota": 0, "limit": -1} for name in ("cpu", "gpu", "memory")}
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "vision", part: {key: value}},
        "spec": {"resources": amounts},
    }
    return [(each.code, each.fix) for each in lint(queue) if each.at[1:2] == (part,)]


def test_the_choice_of_a_queue_is_an_annotation_with_two_values() -> None:
    assert choosing("kai.scheduler/gpu-guard", "true") == []
    odd = [("annotation-value", 'write "true" or "false"')]
    assert choosing("kai.scheduler/gpu-guard", "on") == odd
    meant = [("key-unknown", "did you mean kai.scheduler/gpu-guard?")]
    for key in ("kai.scheduler/gpu_gaurd", "kai.scheduler/guard", "kai-scheduler/gpu-guard"):
        assert choosing(key, "true") == meant
    label = [("annotation-as-label", "move it to annotations")]
    assert choosing("kai.scheduler/gpu-guard", "true", "labels") == label


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kai.scheduler/topology-balanced", "yes"),
        ("kai.scheduler/topology-min-domains", "two"),
        ("kai.scheduler/topology-max-domains", "0.5"),
        ("kai.scheduler/run-time-estimate", "5"),
    ],
)
@pytest.mark.parametrize("kind", ["Pod", "Job"])
def test_annotations_that_a_pod_group_cannot_have(kind: str, key: str, value: str) -> None:
    manifest = {"Pod": pod, "Job": job}[kind]({key: value})
    finding = only(manifest)
    assert (finding.code, finding.path) == ("value-refused", f"metadata.annotations[{key}]")
    [left_out] = kai.load(json.dumps(manifest).encode()).rejected
    assert left_out.message == finding.message


# ---- names ---------------------------------------------------------------------------------------

ODD_NAMES = ["My Pod", "a/b", "a_b", "-a", "a-", "a..b", ".a", "ä", "a\n", "n" * 254]
KINDS_BY_VERSION = {
    "Pod": "v1",
    "Node": "v1",
    "Job": "batch/v1",
    "PodGroup": "scheduling.run.ai/v2alpha2",
    "Queue": "scheduling.run.ai/v2",
}


def named(kind: str, **metadata: str) -> dict[str, Any]:
    if kind == "Queue":
        [_, manifest] = unlimited("team-a")
        manifest["spec"]["parentQueue"] = "default-parent-queue"
    else:
        manifest = {"Pod": pod, "Job": job}.get(kind, lambda: {"spec": {}, "status": {}})()
    return {**manifest, "apiVersion": KINDS_BY_VERSION[kind], "kind": kind, "metadata": metadata}


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("kind", KINDS_BY_VERSION)
def test_a_name_that_the_api_server_refuses(kind: str, name: str) -> None:
    manifest = named(kind, name=name)
    [finding] = [each for each in lint(manifest) if each.refused]
    assert (finding.code, finding.path) == ("name-refused", "metadata.name")
    [left_out] = kai.load(json.dumps(manifest).encode()).rejected
    assert (left_out.kind, left_out.field) == (kind, "metadata.name")
    assert left_out.message.startswith(finding.message)


@pytest.mark.parametrize("name", ["a", "train-1", "gpu.node-1.example", "0", "n" * 253])
@pytest.mark.parametrize("kind", [each for each in KINDS_BY_VERSION if each != "Job"])
def test_a_name_that_the_api_server_accepts(kind: str, name: str) -> None:
    manifest = named(kind, name=name)
    assert not [each for each in lint(manifest) if each.refused]
    assert kai.load(json.dumps(manifest).encode()).rejected == ()


@pytest.mark.parametrize(("kind", "most"), [("Job", 63), ("CronJob", 52)])
def test_a_name_that_pods_have_as_a_label_is_short(kind: str, most: int) -> None:
    """A CronJob's name gets the number of its Job."""
    for name in ("n" * most, f"{'n' * (most - 2)}.n"):
        assert not [each for each in lint(periodic(kind, name=name)) if each.refused]
    manifest = periodic(kind, name="n" * (most + 1))
    [finding] = [each for each in lint(manifest) if each.refused]
    assert finding.message == f"has {most + 1} characters, more than {most}"
    assert finding.fix == f"write a name of up to {most} characters, such as train-1"
    [left_out] = kai.load(json.dumps(manifest).encode()).rejected
    assert left_out.message.startswith(finding.message)
    # The API server cuts it.
    assert not [each for each in lint(periodic(kind, generateName="n" * 90)) if each.refused]


def periodic(kind: str, **metadata: str) -> dict[str, Any]:
    made = named("Job", **metadata)
    if kind == "CronJob":
        made |= {"kind": kind, "spec": {"schedule": "0 * * * *", "jobTemplate": made.pop("spec")}}
        made["spec"]["jobTemplate"] = {"spec": made["spec"]["jobTemplate"]}
    return made


@pytest.mark.parametrize("name", ["q" * 64, "team.a", "q" * 63])
def test_a_queue_has_a_name_that_fits_in_a_label(name: str) -> None:
    found = [(each.code, each.severity) for each in lint(named("Queue", name=name))]
    assert found == ([("queue-name", "warning")] if len(name) > 63 else [])


def test_the_start_of_a_generated_name_and_the_namespace_are_checked() -> None:
    assert not [each for each in lint(named("Pod", generateName="train-")) if each.refused]
    for member, value in (("generateName", "My-"), ("namespace", "Team_A"), ("namespace", "a.b")):
        manifest = named(
            "Pod", **({"name": "p"} if member == "namespace" else {}), **{member: value}
        )
        [finding] = [each for each in lint(manifest) if each.refused]
        assert (finding.code, finding.path) == ("name-refused", f"metadata.{member}")
        assert f'"{value}"' in finding.message
        assert [each.field for each in kai.load(json.dumps(manifest).encode()).rejected] == [
            finding.path
        ]


def test_names_of_other_kinds_follow_other_rules() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    assert lint({**role, "metadata": {"name": "system:node"}}) == []


@pytest.mark.parametrize("kind", KINDS_BY_VERSION)
def test_different_objects_of_one_name(kind: str) -> None:
    """The plan leaves both out, and lint reports all but the first."""
    first, second = named(kind, name="x"), named(kind, name="x", uid="other")
    found = [each for each in lint([first, second, first]) if each.refused]
    assert [(each.code, each.path, each.at[0]) for each in found] == [
        ("name-twice", "metadata.name", 1),
        ("name-twice", "metadata.name", 2),
    ]
    [left_out] = kai.load(json.dumps([first, second, first]).encode()).rejected
    assert found[0].message == f"x {left_out.message}"
    assert not [each for each in lint([first, first]) if each.refused]


def test_objects_of_one_name_differ_in_kind_or_namespace() -> None:
    pods = [named("Pod", name="x", namespace=space) for space in ("a", "b")]
    assert not [each for each in lint([*pods, named("Job", name="x")]) if each.refused]
    same = [named("Pod", name="x"), named("Pod", name="x", namespace="default")]
    assert [each.code for each in lint(same) if each.refused] == ["name-twice"]


def test_misspelt_keys() -> None:
    finding = only(pod({"kai.scheduler/preemption-dealy": "5m"}))
    assert finding.fix == "did you mean kai.scheduler/preemption-delay?"
    assert only(pod({"kai.scheduler/preemption-delay": "5"})).code == "duration-refused"
    assert only(pod({"gpu-type": "nvidia-tesla-t4"})).code == "annotation-ignored"


def test_gpu_keys_on_a_workload_have_no_effect() -> None:
    """spec 7 C8."""
    finding = only(job(HALF))
    assert (finding.code, finding.path) == (
        "annotation-ignored",
        "metadata.annotations[gpu-fraction]",
    )
    assert "spec.template.metadata.annotations" in finding.fix


@pytest.mark.parametrize("key", ["kai.scheduler/topology", "kai.scheduler/batch-min-member"])
def test_keys_of_the_owner_have_no_effect_on_its_pods(key: str) -> None:
    """spec 7 C13."""
    finding = only(job(None, {key: "1"}))
    assert finding.path == f"spec.template.metadata.annotations[{key}]"


def test_a_bare_pod_is_its_own_owner() -> None:
    levels = {
        "kai.scheduler/topology": "t",
        "kai.scheduler/topology-preferred-placement": "rack",
    }
    assert lint(pod(levels)) == []
    owned = pod(levels)
    owned["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j"}]
    assert {each.code for each in lint(owned)} == {"annotation-ignored"}


def test_topologies_without_a_level_and_levels_without_a_topology() -> None:
    assert only(job({"kai.scheduler/topology": "t"})).severity == "warning"
    level = {"kai.scheduler/topology-required-placement": "rack"}
    finding = only(job(level))
    assert (finding.code, finding.severity) == ("topology-incomplete", "error")


def test_the_minimum_of_pods_that_start_together() -> None:
    finding = only(job({"kai.scheduler/min-member": "2"}))
    assert (finding.code, finding.edit is not None) == ("min-member-key", True)
    assert only(job({"kai.scheduler/batch-min-member": "0"})).code == "min-member-refused"
    deployment = job({"kai.scheduler/batch-min-member": "2"}, kind="Deployment")
    assert only(deployment).code == "annotation-ignored"


def test_the_job_template_of_a_cron_job_is_checked() -> None:
    """spec 7 J3."""
    inner = job({"kai.scheduler/topology": "t", "kai.scheduler/topology-required-placement": "r"})
    cron = {
        "kind": "CronJob",
        "metadata": {"name": "c"},
        "spec": {"jobTemplate": {k: inner[k] for k in ("metadata", "spec")}},
    }
    assert lint(cron) == []
    cron["spec"]["jobTemplate"]["metadata"] = {
        "labels": QUEUE,
        "annotations": {"kai.scheduler/batch-min-member": "2"},
    }
    assert only(cron).code == "annotation-ignored"


def test_the_template_of_a_training_runtime_is_checked() -> None:
    """Its JobSets have the metadata of `spec.template`, and none of its own."""
    replicated = [{"name": "w", "template": {"spec": {"template": pod(labels={})}}}]
    template = {
        "metadata": {"labels": QUEUE, "annotations": {"kai.scheduler/batch-min-member": "2"}},
        "spec": {"replicatedJobs": replicated},
    }
    runtime = {"kind": "TrainingRuntime", "spec": {"template": template}}
    assert lint(runtime) == []
    template["metadata"]["annotations"] = HALF
    assert only(runtime).path == "spec.template.metadata.annotations[gpu-fraction]"


def test_only_two_kinds_have_segments() -> None:
    segment = {"kai.scheduler/segment-size": "2"}
    assert only(job(None, segment)).code == "annotation-ignored"
    template = pod(segment, labels={})
    pytorch = {
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "labels": QUEUE},
        "spec": {
            "pytorchReplicaSpecs": {
                "Worker": {"template": {k: template[k] for k in ("metadata", "spec")}}
            }
        },
    }
    assert lint(pytorch) == []


# ---- scheduler and queue -------------------------------------------------------------------------


def test_the_scheduler_name_is_missing() -> None:
    manifest = pod(HALF)
    del manifest["spec"]["schedulerName"]
    assert only(manifest).code == "scheduler-missing"
    manifest["spec"]["schedulerName"] = "default-scheduler"
    assert only(manifest).code == "scheduler-other"
    assert lint(manifest, scheduler_name="default-scheduler") == []


def test_a_queue_label_needs_the_scheduler_name() -> None:
    manifest = job()
    del manifest["spec"]["template"]["spec"]["schedulerName"]
    assert only(manifest).code == "scheduler-missing"


def test_the_queue_is_missing() -> None:
    assert only(pod(labels={})).code == "queue-missing"
    assert lint(pod(labels={"project": "test"})) == []


def test_the_old_queue_label() -> None:
    old = pod(labels={"runai/queue": "test"})
    assert only(old).code == "queue-legacy"
    assert lint(old, queue_label_key="runai/queue") == []
    assert lint(pod(labels={"runai/queue": "test", **QUEUE})) == []


def test_the_queue_of_the_owner_overrides_that_of_its_pods() -> None:
    manifest = job()
    manifest["spec"]["template"]["metadata"]["labels"] = {"kai.scheduler/queue": "other"}
    assert only(manifest).code == "queue-overruled"


def test_queues_in_the_same_input() -> None:
    """They are assumed to be in the cluster too."""
    queues = unlimited("test")
    assert lint([*queues, job()]) == []
    finding = only([*unlimited("another"), job()])
    assert (finding.code, finding.severity) == ("queue-unknown", "warning")
    assert "another" in finding.fix


def test_an_input_with_all_queues() -> None:
    queues = unlimited("test")
    assert lint(job(), queues=queues) == []
    assert only(job(), queues=unlimited("another")).severity == "error"
    assert only(job(), queues=[]).code == "queue-unknown"
    inner = job()
    inner["metadata"]["labels"] = {"kai.scheduler/queue": "default"}
    finding = only(inner, queues=queues)
    assert (finding.code, finding.fix) == ("queue-not-leaf", "write one of its leaf queues: test")


def test_a_queue_without_a_parent_is_a_warning() -> None:
    """KAI places pods of it (recorded in control-plane/05), unless it flattens the hierarchy."""
    alone = unlimited("test")[1]
    del alone["spec"]["parentQueue"]
    finding = only(job(), queues=[alone])
    assert (finding.code, finding.severity) == ("queue-without-parent", "warning")
    assert finding.message == (
        "queue test has no parent: KAI ignores it, but only if it runs with"
        " --full-hierarchy-fairness=false"
    )
    assert (only(alone).code, only(alone).severity) == ("queue-without-parent", "warning")

    cluster = kai.Cluster().node("n1", gpus=1).queue("test", deserved_gpus=1)
    cluster = cluster.pending("test/train", gpus=1)
    assert [each.kind for each in kai.Scheduler().plan(cluster).decisions] == ["bind"]
    flat = kai.Scheduler().plan(cluster.configure(fullHierarchyFairness=False))
    assert list(flat.decisions) == []


def test_a_queue_without_a_parent_is_said_once_for_all_its_pods() -> None:
    alone = unlimited("test")[1]
    del alone["spec"]["parentQueue"]
    users = [pod(), job(), job(kind="Deployment")]
    found = [each for each in lint([*users, alone]) if each.code == "queue-without-parent"]
    assert [(each.object, each.path) for each in found] == [("Queue test", "spec")]
    found = [each for each in lint(users, queues=[alone]) if each.code == "queue-without-parent"]
    assert [(each.object, each.path) for each in found] == [
        ("Pod p", "metadata.labels[kai.scheduler/queue]")
    ]


@pytest.mark.parametrize(
    ("quota", "shown"),
    [(1e15, "1e15"), (1e16, "1e16"), (2000.0, "2000"), (1.5, "1.5"), (3e-7, "3e-7")],
)
def test_numbers_are_printed_as_people_write_them(quota: float, shown: str) -> None:
    manifest = unlimited("test")[1]
    manifest["spec"]["resources"]["gpu"] = {"quota": quota, "limit": 1e-9}
    (found,) = [each for each in lint(manifest) if each.code == "queue-quota-above-limit"]
    assert found.message == (
        f"the quota is {shown}, above the limit 1e-9: the queue never gets its quota"
    )


def test_queue_manifests() -> None:
    parent, test = unlimited("test")
    assert lint([parent, test]) == []
    assert only(parent).code == "queue-without-parent"
    assert only(test).code == "queue-parent-unknown"
    del test["spec"]["resources"]["gpu"]["limit"]
    assert codes([parent, test]) == [("queue-limit-zero", "spec.resources.gpu")]
    del test["spec"]["resources"]
    (finding,) = lint([parent, test])
    assert (finding.code, finding.path) == ("queue-without-resources", "spec.resources")
    test["metadata"]["resourceVersion"] = "1"  # it was accepted, without the webhook
    (finding,) = lint([parent, test])
    assert finding.path == "spec"
    assert "no limit of cpu, gpu or memory, which counts as 0" in finding.message
    volcano = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "spec": {}}
    assert lint(volcano) == []


# ---- kinds ---------------------------------------------------------------------------------------


def workflow(annotations: dict[str, str], **template: Any) -> dict[str, Any]:
    return {
        "kind": "Workflow",
        "metadata": {"name": "w", "labels": QUEUE},
        "spec": {
            "schedulerName": "kai-scheduler",
            "templates": [
                {"name": "train", "metadata": {"annotations": annotations}, **template},
                {"name": "all", "dag": {}},
            ],
        },
    }


def test_the_container_name_in_an_argo_template() -> None:
    """spec 7 A2."""
    finding = only(workflow(HALF, container={"image": "i"}))
    assert (finding.code, finding.severity) == ("container-not-named", "error")
    assert finding.edit is not None
    named = {**HALF, "gpu-fraction-container-name": "main"}
    assert lint(workflow(named, container={"image": "i"})) == []
    wrong = {**HALF, "gpu-fraction-container-name": "train"}
    assert only(workflow(wrong, script={"image": "i"})).code == "container-missing"
    assert only(workflow(named, container={"image": "i", **GPU})).path == (
        "spec.templates[0].container.resources.limits[nvidia.com/gpu]"
    )


def test_the_scheduler_may_be_set_for_an_argo_workflow() -> None:
    manifest = workflow({**HALF, "gpu-fraction-container-name": "main"}, container={})
    del manifest["spec"]["schedulerName"]
    assert only(manifest).severity == "warning"


def test_a_compiled_kfp_pipeline() -> None:
    def pipeline(annotations: dict[str, str]) -> list[dict[str, Any]]:
        metadata = {"labels": QUEUE, "annotations": annotations}
        executors = {"exec-train": {"podMetadata": metadata}}
        return [
            {"pipelineInfo": {"name": "p"}, "root": {}},
            {"platforms": {"kubernetes": {"deploymentSpec": {"executors": executors}}}},
        ]

    finding = only(pipeline(HALF))
    assert (finding.code, finding.at[0]) == ("container-not-named", 1)
    assert lint(pipeline({**HALF, "gpu-fraction-container-name": "main"})) == []


def ray(kind: str, group: dict[str, Any], **spec: Any) -> dict[str, Any]:
    head = pod(labels={})
    inner = {
        "headGroupSpec": {"template": {"spec": head["spec"]}},
        "workerGroupSpecs": [group],
    }
    outer = {"RayJob": {"rayClusterSpec": inner}}.get(kind, inner)
    return {
        "kind": kind,
        "metadata": {"name": "r", "labels": QUEUE},
        "spec": {**outer, **spec},
    }


def test_ray_counts_whole_gpus() -> None:
    template = pod(HALF, labels={})
    group: dict[str, Any] = {"groupName": "g", "template": template}
    assert only(ray("RayCluster", group)).code == "ray-num-gpus"
    group["rayStartParams"] = {"num-gpus": "0.5"}
    assert only(ray("RayCluster", group)).severity == "error"
    group["rayStartParams"] = {"num-gpus": "1"}
    assert lint(ray("RayCluster", group)) == []


def test_a_submitter_that_starts_after_the_cluster() -> None:
    group: dict[str, Any] = {"groupName": "g", "template": pod(labels={})}
    assert only(ray("RayJob", group)).path == "spec"
    mode = ray("RayJob", group, submissionMode="K8sJobMode")
    assert only(mode).path == "spec.submissionMode"
    assert lint(ray("RayJob", group, submissionMode="HTTPMode")) == []


def test_ray_reads_topologies_from_its_groups() -> None:
    levels = {
        "kai.scheduler/topology": "t",
        "kai.scheduler/topology-required-placement": "rack",
    }
    assert lint(ray("RayCluster", {"groupName": "g", "template": pod(levels, labels={})})) == []


def test_kubeflows_scheduling_policy_is_not_read() -> None:
    """spec 7 T2."""
    manifest = job(kind="TFJob", runPolicy={"schedulingPolicy": {"queue": "q", "minAvailable": 2}})
    assert only(manifest).code == "scheduling-policy-ignored"


def test_pods_of_spark_kserve_and_grove_are_checked() -> None:
    gpu = {"gpu": {"name": "nvidia.com/gpu", "quantity": 1}}
    spark = {
        "kind": "SparkApplication",
        "metadata": {"name": "s", "labels": QUEUE},
        "spec": {"batchScheduler": "kai-scheduler", "executor": {"annotations": HALF, **gpu}},
    }
    assert only(spark).code == "whole-gpu-beside-fraction"
    predictor = {"annotations": HALF, "schedulerName": "kai-scheduler", "model": {**GPU}}
    kserve = {
        "kind": "InferenceService",
        "metadata": {"name": "s", "labels": QUEUE},
        "spec": {"predictor": predictor},
    }
    assert only(kserve).path == "spec.predictor.model.resources.limits[nvidia.com/gpu]"
    clique = {
        "annotations": HALF,
        "spec": {
            "podSpec": {"schedulerName": "kai-scheduler", "containers": [{"name": "m"} | GPU]}
        },
    }
    grove = {
        "kind": "PodCliqueSet",
        "metadata": {"name": "s", "labels": QUEUE},
        "spec": {"template": {"cliques": [clique]}},
    }
    assert only(grove).code == "whole-gpu-beside-fraction"


def test_pod_templates_of_unknown_kinds_are_read() -> None:
    manifest = job(kind="MegaJob")
    manifest["spec"] = {"replicas": [{"template": pod({**HALF, "gpu-memory": "1"}, labels={})}]}
    finding = only(manifest)
    assert finding.path == "spec.replicas[0].template.metadata.annotations[gpu-memory]"


def test_lists_are_checked() -> None:
    other = {**job(), "metadata": {"name": "other", "labels": QUEUE}}
    finding = only({"kind": "List", "items": [other, job(HALF)]})
    assert finding.at[:2] == ("items", 1)
    assert "Job j" in str(finding)


@pytest.mark.parametrize("nonsense", [5, "text", None, {}, {"a": 1}, [{"a": 1}]])
def test_input_that_is_not_a_manifest_is_refused(nonsense: Any) -> None:
    with pytest.raises(kai.InvalidRequestError, match="give a Kubernetes manifest"):
        lint(nonsense)


@pytest.mark.parametrize(
    "nonsense",
    [
        {"kind": "Pod"},
        {"kind": "Pod", "metadata": 5, "spec": {"containers": [1, None]}},
        {"kind": "Job", "metadata": {"labels": QUEUE}, "spec": {"template": {"spec": []}}},
        {"kind": 5},
        {"kind": "Workflow", "metadata": {"labels": QUEUE}, "spec": {"templates": [5]}},
        {"kind": "RayJob", "metadata": {"labels": QUEUE}, "spec": {"rayClusterSpec": []}},
        {"kind": "Queue", "apiVersion": "scheduling.run.ai/v2", "spec": 3},
        pod({"gpu-fraction": {"a": 1}}),
        pod({"gpu-fraction": None}),
    ],
)
def test_invalid_manifests_do_not_crash(nonsense: dict[str, Any]) -> None:
    lint(nonsense)


def test_odd_keys_and_circular_manifests_do_not_crash() -> None:
    assert lint(pod({5: "x"}, labels={**QUEUE, None: "y"})) == []  # type: ignore[dict-item]
    endless: dict[str, Any] = {"kind": "Pod"}
    endless["spec"] = endless
    with pytest.raises(kai.InvalidRequestError, match="nested more than 200"):
        lint(endless)
