"""Missing and invalid fields of hand-written manifests."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kai

NODE = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": {"nvidia.com/gpu": 8}}}


def load(*manifests: Any) -> kai.Cluster:
    return kai.load(b"\n".join(json.dumps(each).encode() for each in manifests))


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [], **spec}}


def only(cluster: kai.Cluster, kind: str) -> dict[str, Any]:
    [found] = cluster.objects[kind]
    return found


def test_a_node_is_ready_and_has_room_by_default() -> None:
    node = only(load(NODE), "nodes")
    assert node["status"]["allocatable"] == {"nvidia.com/gpu": 8, "pods": "110"}
    assert node["status"]["conditions"] == [{"type": "Ready", "status": "True"}]
    assert node["metadata"]["labels"] == {"kubernetes.io/hostname": "n1"}


@pytest.mark.parametrize(
    ("limits", "requests", "guaranteed"),
    [
        ({"cpu": 2, "memory": "1Gi"}, {}, True),
        ({"cpu": 2, "memory": "1Gi"}, {"cpu": "2000m", "memory": "1024Mi"}, True),
        ({"cpu": 2, "memory": "1Gi"}, {"cpu": 1}, False),
        ({"cpu": 2}, {}, False),
        ({}, {"cpu": 2, "memory": "1Gi"}, False),
    ],
)
def test_a_pod_with_equal_requests_and_limits_is_guaranteed(
    limits: dict[str, Any], requests: dict[str, Any], guaranteed: bool
) -> None:
    container = {"resources": {"limits": limits, "requests": requests}}
    found = only(load(pod(containers=[container])), "pods")
    assert (found["status"].get("qosClass") == "Guaranteed") == guaranteed


def test_a_given_class_of_service_is_kept() -> None:
    limits = {"limits": {"cpu": 2, "memory": "1Gi"}}
    manifest = pod(containers=[{"resources": limits}]) | {"status": {"qosClass": "Burstable"}}
    assert only(load(manifest), "pods")["status"]["qosClass"] == "Burstable"


def test_fields_of_a_node_are_kept() -> None:
    conditions = [{"type": "Ready", "status": "False"}]
    status = {
        "capacity": {"cpu": 9},
        "allocatable": {"cpu": 8, "pods": 5},
        "conditions": conditions,
    }
    labels = {"kubernetes.io/hostname": "other"}
    node = only(
        load({"kind": "Node", "metadata": {"name": "n", "labels": labels}, "status": status}),
        "nodes",
    )
    assert node["status"] == status
    assert node["metadata"]["labels"] == labels


def test_a_pod_is_pending_with_requests_equal_to_its_limits() -> None:
    container = {"resources": {"limits": {"cpu": 2, "nvidia.com/gpu": 1}, "requests": {"cpu": 1}}}
    found = only(load(pod(containers=[container], initContainers=[container])), "pods")
    assert found["status"] == {"phase": "Pending"}
    assert found["spec"]["schedulerName"] == "kai-scheduler"
    for containers in ("containers", "initContainers"):
        assert found["spec"][containers][0]["resources"]["requests"] == {
            "cpu": 1,
            "nvidia.com/gpu": 1,
        }


def test_queues_and_priority_classes_of_the_chart_are_defaults() -> None:
    spec = {"parentQueue": "mine", "resources": {}}
    own = {"kind": "Queue", "metadata": {"name": "default-queue"}, "spec": spec}
    lists = load(NODE, own).objects
    queues = {q["metadata"]["name"]: q["spec"].get("parentQueue") for q in lists["queues"]}
    assert queues == {"default-parent-queue": None, "default-queue": "mine"}
    values = {c["metadata"]["name"]: c["value"] for c in lists["priorityClasses"]}
    assert {"train": 50, "build": 100}.items() <= values.items()


def test_irrelevant_kinds_are_skipped() -> None:
    others = [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "s"}},
        {"apiVersion": "example.com/v1", "kind": "Anything", "spec": None},
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}},
        {"apiVersion": "example.com/v1", "kind": "Workflow", "metadata": {"name": "w"}},
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": {}},
    ]
    cluster = load(NODE, *others)
    assert cluster.rejected == ()
    assert len(cluster.objects["queues"]) == 2
    assert cluster.objects["pods"] == ()


def mounting(config_map: str) -> dict[str, Any]:
    source = {"configMapRef": {"name": config_map}}
    return pod(containers=[{"name": "main", "envFrom": [source]}])


def test_config_maps_are_checked_if_the_input_has_any() -> None:
    settings = {"kind": "ConfigMap", "metadata": {"name": "settings"}}
    assert "config_map_missing" not in reasons(load(NODE, mounting("other")))
    assert "config_map_missing" in reasons(load(NODE, settings, mounting("other")))
    assert reasons(load(NODE, settings, mounting("settings"))) == []
    assert reasons(load(NODE, settings, mounting("kube-root-ca.crt"))) == []


def test_claims_are_checked_if_the_input_has_storage_classes() -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {}}
    at_once = {"kind": "StorageClass", "metadata": {"name": "c"}, "provisioner": "p"}
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    assert reasons(load(NODE, pod(volumes=[volume, scratch]))) == []
    assert reasons(load(NODE, claim, pod(volumes=[volume]))) == []
    assert reasons(load(NODE, at_once, pod(volumes=[volume]))) == ["volume_not_ready"]
    assert reasons(load(NODE, claim, at_once, pod(volumes=[volume]))) == ["volume_not_ready"]


def reasons(cluster: kai.Cluster) -> list[str]:
    [group] = kai.Scheduler().plan(cluster).pod_groups.values()
    return [reason.code for reason in group.reasons]


@pytest.mark.parametrize(
    ("manifest", "rejected"),
    [
        ("text", "Document: is not a Kubernetes object"),
        ({"metadata": {"name": "x"}}, "Document x: kind: is missing"),
        ({"actions": "allocate", "tiers": []}, "a scheduler configuration goes after --config"),
        ({"name": "x", "cluster": {}, "expect": {}}, "a scenario is run with kai verify FILE"),
        ({"kind": "Pod", "spec": {}}, "Pod: metadata: is missing"),
        ({"kind": "Pod", "metadata": {}}, "Pod: metadata.name: is missing"),
        ({"kind": "Pod", "metadata": {"name": 5}}, "metadata.name: is not a text"),
        ({"kind": "Pod", "metadata": {"name": "x"}}, "Pod default/x: spec: is missing"),
        ({"kind": "Pood", "apiVersion": "v1", "metadata": {"name": "x"}}, "did you mean Pod?"),
        ({"kind": "Job", "metadata": {"name": "j"}}, "Job default/j: spec: is missing"),
        (
            {"kind": "RayJob", "apiVersion": "ray.io/v1", "metadata": {"name": "r"}},
            "RayJob default/r: kind: kai does not create the pods of a RayJob",
        ),
        (pod(containers=[{"resources": {"requests": {"cpu": "1Gx"}}}]), "1Gx"),
        (
            {
                "kind": "Queue",
                "metadata": {"name": "q"},
                "spec": {"parentQueue": "missing", "resources": {}},
            },
            "Queue q: spec.parentQueue:",
        ),
    ],
)
def test_invalid_objects_are_left_out_by_name(manifest: Any, rejected: str) -> None:
    cluster = load(NODE, manifest, pod("fine"))
    [found] = cluster.rejected
    assert rejected in str(found)
    assert kai.Scheduler().plan(cluster).pod_groups["default/pg-fine"].verdict == "placed"


def test_a_document_with_a_duplicate_key_is_left_out() -> None:
    text = b"kind: Node\nmetadata: {name: n1}\n---\nkind: Pod\nkind: Pod\nmetadata: {name: p}\n"
    [rejected] = kai.load(text).rejected
    assert str(rejected).startswith("Pod default/p: the key 'kind' is given twice")


def test_different_objects_with_one_name_are_all_left_out() -> None:
    twice = [
        {"kind": "Queue", "metadata": {"name": "q"}, "spec": {"priority": n, "resources": {}}}
        for n in (1, 2)
    ]
    cluster = load(NODE, *twice)
    assert [str(each) for each in cluster.rejected] == [
        "Queue q: metadata.name: is the name of 2 different objects, so none of them is used"
    ]
    assert load(NODE, twice[0], twice[0]).rejected == ()


def test_order_and_files_do_not_matter() -> None:
    manifests: list[Any] = [NODE, {**NODE, "metadata": {"name": "n2"}}]
    manifests += [pod(f"p{number}") for number in range(12)]
    manifests += [
        {
            "kind": "Job",
            "metadata": {"name": "p1", "namespace": n},
            "spec": {"parallelism": 2, "template": {"spec": {"containers": []}}},
        }
        for n in ("a", "b")
    ]
    expected = load(*manifests).to_snapshot()
    shuffle = random.Random(7)
    for _ in range(5):
        shuffle.shuffle(manifests)
        files = [json.dumps(each).encode() for each in manifests]
        assert kai.load(files).to_snapshot() == expected


def test_equally_old_pods_are_ordered_by_their_numbers() -> None:
    job = {
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {
            "parallelism": 12,
            "template": {
                "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}
            },
        },
    }
    plan = kai.Scheduler().plan(load(NODE, job))
    assert [each.pod for each in plan.decisions] == [f"default/j-{n}" for n in range(8)]


junk = st.recursive(
    st.sampled_from([None, True, -1, 1.5, "", "x", 10**30, "1e999", [], {}]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["name", "spec", "metadata", "labels", "items", "x"]), inner, max_size=2
        )
    ),
    max_leaves=4,
)


SEGMENTS = {
    "kai.scheduler/segment-size": "2",
    "kai.scheduler/topology": "racks",
    "kai.scheduler/segment-topology-required-placement": "rack",
}


@st.composite
def broken(draw: st.DrawFn) -> Any:
    """A valid manifest with an invalid value somewhere."""
    manifest = json.loads(json.dumps(draw(st.sampled_from([
        NODE,
        {**pod("x", nodeName="n1"), "metadata": {
            "name": "x", "labels": {"kai.scheduler/queue": "q"},
            "ownerReferences": [{"kind": "Job", "name": "j"}]}},
        {"kind": "Queue", "metadata": {"name": "q"}, "spec": {"resources": {"gpu": {"quota": 1}}}},
        {"kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"queue": "q", "minMember": 2}},
        {"kind": "Job", "metadata": {"name": "j"}, "spec": {"parallelism": 2, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m"}]}}}},
        {"kind": "List", "items": [NODE]},
        {"kind": "PyTorchJob", "metadata": {"name": "t"}, "spec": {
            "elasticPolicy": {"minReplicas": 2},
            "pytorchReplicaSpecs": {"Worker": {"replicas": 3, "template": {
                "metadata": {"annotations": SEGMENTS}, "spec": {"containers": []}}}}}},
        {"kind": "LeaderWorkerSet", "metadata": {"name": "l", "annotations": SEGMENTS}, "spec": {
            "replicas": 2, "startupPolicy": "LeaderReady", "leaderWorkerTemplate": {
                "size": 3, "subGroupPolicy": {"subGroupPolicyType": "LeaderExcluded"},
                "workerTemplate": {"spec": {"containers": []}}}}},
    ]))))  # fmt: skip
    place = manifest
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        if not isinstance(place[key], (dict, list)) or not place[key] or draw(st.booleans()):
            place[key] = draw(junk)
            return manifest
        place = place[key]


@given(st.lists(broken(), max_size=3))
def test_random_invalid_objects_do_not_crash_the_reader(manifests: list[Any]) -> None:
    plan = kai.Scheduler().plan(load(NODE, *manifests, pod("fine")))
    assert plan.pod_groups["default/pg-fine"].verdict in ("placed", "unschedulable")
    assert str(plan)
    json.loads(plan.to_json())
