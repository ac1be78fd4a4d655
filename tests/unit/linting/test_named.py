"""Names that other objects of the input define. Each finding is about pods that wait in a plan."""

import json
from typing import Any

import pytest

import kai
from kai.linting import Finding, lint

Manifest = dict[str, Any]
QUEUE = {"kai.scheduler/queue": "q"}
LEVEL = "kai.scheduler/topology-required-placement"
CLUSTER: tuple[Manifest, ...] = (
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"zone": "z", "rack": "r"}},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "nvidia.com/gpu": "8"}},
    },
    *kai.queues.unlimited("q"),
)
TOPOLOGY: Manifest = {
    "apiVersion": "kai.scheduler/v1alpha1",
    "kind": "Topology",
    "metadata": {"name": "site"},
    "spec": {"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "rack", "alias": "row"}]},
}


def pod(labels: dict[str, str] | None = None, **annotations: str) -> Manifest:
    written = {key.replace("_", "-"): value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {**QUEUE, **(labels or {})}, "annotations": written},
        "spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "m", "image": "i"}]},
    }


def job(annotations: dict[str, str]) -> Manifest:
    spec = {**pod()["spec"], "restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": QUEUE, "annotations": annotations},
        "spec": {"template": {"spec": spec}},
    }


def group(**spec: Any) -> Manifest:
    metadata = {"name": "g", "namespace": "default"}
    version = "scheduling.run.ai/v2alpha2"
    spec = {"queue": "q", **spec}
    return {"apiVersion": version, "kind": "PodGroup", "metadata": metadata, "spec": spec}


def waits(*objects: Manifest) -> bool:
    """Whether a pod of these objects waits in a plan of the cluster."""
    plan = kai.Scheduler().plan(kai.load(json.dumps([*CLUSTER, *objects]).encode()))
    assert not plan.rejected
    return any(each.reasons for each in plan.pod_groups.values())


def only(*objects: Manifest) -> Finding:
    """The finding about objects that have a waiting pod in a plan."""
    assert waits(*objects)
    (found,) = lint([*CLUSTER, *objects])
    return found


def is_clean(*objects: Manifest) -> bool:
    """Lint has no finding, and no pod waits."""
    return not lint([*CLUSTER, *objects]) and not waits(*objects)


# ---- topologies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["zone", "rack", "row"])
def test_a_level_is_named_by_its_label_or_its_alias(level: str) -> None:
    assert is_clean(TOPOLOGY, job({"kai.scheduler/topology": "site", LEVEL: level}))


def test_a_level_that_the_topology_does_not_have() -> None:
    found = only(TOPOLOGY, job({"kai.scheduler/topology": "site", LEVEL: "rak"}))
    assert (found.code, found.severity) == ("topology-unknown", "error")
    assert found.path == f"metadata.annotations[{LEVEL}]"
    assert found.message == "Topology site has no level rak: the pods wait"
    assert found.fix == "did you mean 'rack'?"


def test_a_topology_that_is_not_given_beside_one_that_is() -> None:
    manifest = job({"kai.scheduler/topology": "sit", LEVEL: "rack"})
    found = only(TOPOLOGY, manifest)
    assert (found.code, found.severity) == ("topology-unknown", "warning")
    assert "kai.scheduler/topology" in found.path
    assert lint([*CLUSTER, manifest]) == []  # another file may have it


def test_the_constraints_of_a_pod_group_and_of_its_sub_groups() -> None:
    wrong = {"topology": "site", "requiredTopologyLevel": "hall"}
    member = pod(pod_group_name="g")
    found = only(TOPOLOGY, group(minMember=1, topologyConstraint=wrong), member)
    assert found.path == "spec.topologyConstraint.requiredTopologyLevel"
    assert found.fix == "write one of rack, row, zone"
    parts = [{"name": "a", "minMember": 1, "topologyConstraint": wrong}]
    member = pod({"kai.scheduler/subgroup-name": "a"}, pod_group_name="g")
    found = only(TOPOLOGY, group(subGroups=parts), member)
    assert found.path == "spec.subGroups[0].topologyConstraint.requiredTopologyLevel"


def test_a_topology_of_kueue_says_nothing() -> None:
    other = {**TOPOLOGY, "apiVersion": "kueue.x-k8s.io/v1alpha1"}
    manifest = job({"kai.scheduler/topology": "site", LEVEL: "rak"})
    assert lint([*CLUSTER, other, manifest]) == []


def test_a_level_that_another_program_fills_in() -> None:
    manifest = job({"kai.scheduler/topology": "site", LEVEL: "${LEVEL}"})
    assert lint([*CLUSTER, TOPOLOGY, manifest]) == []


def test_segments_name_levels_of_the_topology_of_the_workload() -> None:
    segment = "kai.scheduler/segment-topology-required-placement"
    template = {"metadata": {"annotations": {segment: "rak"}}, "spec": pod()["spec"]}
    manifest = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "l",
            "labels": QUEUE,
            "annotations": {"kai.scheduler/topology": "site", LEVEL: "zone"},
        },
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}},
    }
    (found,) = lint([*CLUSTER, TOPOLOGY, manifest])
    assert found.message == "Topology site has no level rak: the pods wait"


# ---- sub-groups ----------------------------------------------------------------------------------

PARTS = [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 0}]
TREE = [{"name": "top", "minSubGroup": 1}, {"name": "a", "parent": "top", "minMember": 1}]
NAMES = "kai.scheduler/subgroup-name"


@pytest.mark.parametrize(
    ("parts", "labels"),
    [
        (PARTS, {NAMES: "a"}),
        (TREE, {NAMES: "a"}),
        ([], {}),
        ([], {NAMES: "default"}),
        ([{"name": "default", "minMember": 1}], {}),
    ],
)
def test_pods_of_a_sub_group_that_exists(parts: list[Manifest], labels: dict[str, str]) -> None:
    given = group(subGroups=parts) if parts else group(minMember=1)
    assert is_clean(given, pod(labels, pod_group_name="g"))


@pytest.mark.parametrize(
    ("parts", "labels", "fix"),
    [
        (PARTS, {}, f"add the label {NAMES} with one of a, b"),
        (PARTS, {NAMES: "c"}, "write one of a, b"),
        (TREE, {NAMES: "top"}, "write one of a"),
        (
            [],
            {NAMES: "a"},
            "remove the label, or add the sub-group to spec.subGroups of the PodGroup",
        ),
    ],
)
def test_pods_that_their_group_does_not_count(
    parts: list[Manifest], labels: dict[str, str], fix: str
) -> None:
    given = group(subGroups=parts) if parts else group(minMember=1)
    found = only(given, pod(labels, pod_group_name="g"))
    assert (found.code, found.severity, found.fix) == ("sub-group-unknown", "error", fix)


def test_a_group_that_is_not_given_or_is_in_another_namespace() -> None:
    member = pod(pod_group_name="g")
    assert lint([member]) == []
    other = group(subGroups=PARTS)
    other["metadata"]["namespace"] = "other"
    assert lint([other, member]) == []


# ---- device classes ------------------------------------------------------------------------------

CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example.com"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
}
SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}],
    },
}


def claim(request: Manifest) -> Manifest:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "labels": QUEUE},
        "spec": {"devices": {"requests": [{"name": "gpu", **request}]}},
    }


def claiming() -> Manifest:
    made = pod()
    made["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "c"}]
    return made


def choices(name: str) -> list[Manifest]:
    return [
        {"exactly": {"deviceClassName": name}},
        {"firstAvailable": [{"name": "one", "deviceClassName": name}]},
    ]


@pytest.mark.parametrize("index", [0, 1])
def test_a_device_class_that_does_not_exist(index: int) -> None:
    found = only(CLASS, SLICE, claim(choices("gpu.exmple.com")[index]), claiming())
    assert (found.code, found.severity) == ("device-class-unknown", "warning")
    assert found.path.endswith("deviceClassName")
    assert found.fix == "did you mean 'gpu.example.com'?"
    assert (
        lint([*CLUSTER, CLASS, SLICE, claim(choices("gpu.example.com")[index]), claiming()]) == []
    )


def test_a_device_class_that_exists() -> None:
    assert is_clean(CLASS, SLICE, claim(choices("gpu.example.com")[0]), claiming())


def test_a_template_of_claims_is_checked_and_without_classes_nothing_is_known() -> None:
    template: Manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": claim(choices("gpu.exmple.com")[0])["spec"]},
    }
    assert [each.code for each in lint([CLASS, template])] == ["device-class-unknown"]
    assert lint([template]) == []


@pytest.mark.parametrize("named", ["resourceClaimName", "resourceClaimTemplateName"])
def test_a_claim_that_does_not_exist(named: str) -> None:
    made = claim(choices("gpu.example.com")[0])
    made = {**made, "metadata": {"name": "camera"}}
    if named == "resourceClaimTemplateName":
        made = {**made, "kind": "ResourceClaimTemplate", "spec": {"spec": made["spec"]}}
    user = pod()
    user["spec"]["resourceClaims"] = [{"name": "c", named: "camra"}]
    [found] = [each for each in lint([CLASS, SLICE, made, user]) if "claim" in each.code]
    assert (found.code, found.severity) == ("claim-unknown", "warning")
    assert found.path == f"spec.resourceClaims[0].{named}"
    assert found.fix == "did you mean 'camera'?"
    user["spec"]["resourceClaims"][0][named] = "camera"
    assert "claim-unknown" not in [each.code for each in lint([CLASS, SLICE, made, user])]
    user["metadata"]["namespace"] = "other"
    [found] = [each for each in lint([CLASS, made, user]) if each.code == "claim-unknown"]
    assert found.fix == "add it to namespace other"
