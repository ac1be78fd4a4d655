"""The builder methods create the objects that a real cluster would have."""

from typing import Any

import pytest

import kai


def only(cluster: kai.Cluster, kind: str) -> dict[str, Any]:
    [found] = cluster.objects[kind]
    return found


def test_a_node_is_ready_and_has_its_labels() -> None:
    node = only(
        kai.Cluster().node(
            "n1",
            gpus=8,
            cpus="500m",
            labels={"rack": "r1"},
            cordoned=True,
            taints=["team=vision:NoSchedule", "gpu:NoExecute"],
        ),
        "nodes",
    )
    assert node["status"]["allocatable"] == node["status"]["capacity"]
    assert node["status"]["allocatable"]["cpu"] == "500m"
    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "n1",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.memory": "81920",
        "rack": "r1",
    }
    assert node["spec"] == {
        "unschedulable": True,
        "taints": [
            {"key": "team", "value": "vision", "effect": "NoSchedule"},
            {"key": "gpu", "effect": "NoExecute"},
        ],
    }
    assert node["status"]["conditions"] == [{"type": "Ready", "status": "True"}]


def test_queues_have_kais_units_and_are_unlimited_by_default() -> None:
    queue = only(
        kai.Cluster().queue(
            "q",
            parent="p",
            deserved_gpus=1.5,
            deserved_cpus=2,
            cpu_limit="2500m",
            deserved_memory="1Gi",
            memory_limit=2_000_000,
            weight=3,
            priority=7,
        ),
        "queues",
    )
    assert queue["spec"] == {
        "resources": {
            "gpu": {"quota": 1.5, "limit": -1, "overQuotaWeight": 3},
            "cpu": {"quota": 2000, "limit": 2500, "overQuotaWeight": 3},
            "memory": {"quota": 1073.741824, "limit": 2, "overQuotaWeight": 3},
        },
        "parentQueue": "p",
        "priority": 7,
    }


def test_pods_of_a_group_have_consecutive_numbers() -> None:
    cluster = (
        kai.Cluster()
        .running("vision/train", pods=2, gpus=1, node=["n1", "n2"], priority="build")
        .pending("vision/train", pods=1, gpus=1, min_member=3)
    )
    group = only(cluster, "podGroups")
    assert group["spec"] == {"minMember": 3, "queue": "vision", "priorityClassName": "build"}
    pods = cluster.objects["pods"]
    assert [pod["metadata"]["name"] for pod in pods] == ["train-0", "train-1", "train-2"]
    assert {pod["metadata"]["annotations"]["pod-group-name"] for pod in pods} == {"train"}
    assert [pod["spec"].get("nodeName") for pod in pods] == ["n1", "n2", None]
    assert [pod["status"]["phase"] for pod in pods] == ["Running", "Running", "Pending"]


def test_pods_are_added_to_a_loaded_group() -> None:
    first = kai.Cluster().pending("a/job", pods=2)
    second = kai.Cluster.from_snapshot(first.to_snapshot()).pending("a/job", pods=1)
    assert len(second.objects["podGroups"]) == 1
    assert second.objects["pods"][-1]["metadata"]["name"] == "job-2"


def test_node_constraints_of_a_pod_have_kubernetes_format() -> None:
    pod = only(
        kai.Cluster().pending(
            "a/job",
            gpus=2,
            cpus=0.5,
            memory="1Gi",
            resources={"example.com/nic": 1},
            node_selector={"rack": "r1"},
            tolerations=["gpu", "team=vision:NoSchedule"],
            affinity={"app": "db"},
            anti_affinity={"app": "web"},
            topology_key="zone",
            labels={"app": "web"},
            annotations={"note": "x"},
            gated=True,
            pod_spec={"priorityClassName": "high"},
        ),
        "pods",
    )
    spec = pod["spec"]
    assert spec["containers"][0]["resources"] == {
        "requests": {"cpu": "0.5", "memory": "1Gi", "nvidia.com/gpu": "2", "example.com/nic": "1"},
        "limits": {"nvidia.com/gpu": "2"},
    }
    assert spec["nodeSelector"] == {"rack": "r1"}
    assert spec["tolerations"] == [
        {"operator": "Exists", "key": "gpu"},
        {"operator": "Equal", "key": "team", "value": "vision", "effect": "NoSchedule"},
    ]
    assert spec["affinity"] == {
        kind: {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone"}
            ]
        }
        for kind, app in (("podAffinity", "db"), ("podAntiAffinity", "web"))
    }
    assert spec["schedulingGates"]
    assert spec["priorityClassName"] == "high"
    assert pod["metadata"]["labels"] == {"app": "web"}
    assert pod["metadata"]["annotations"] == {"pod-group-name": "job", "note": "x"}


def test_a_part_of_a_gpu_is_an_annotation() -> None:
    cluster = (
        kai.Cluster()
        .pending("a/wants", gpu_fraction=0.5, gpu_devices=2)
        .running("a/has", gpu_memory_mib=2000, node="n1", gpu_groups=["g1"])
        .running("a/more", gpu_fraction=0.5, node="n1", gpu_groups=["g1", "g2"])
    )
    wants, has, more = cluster.objects["pods"]
    assert wants["metadata"]["annotations"] == {
        "pod-group-name": "wants",
        "gpu-fraction": "0.5",
        "gpu-fraction-num-devices": "2",
    }
    assert has["metadata"]["annotations"]["received-resource-type"] == "Fraction"
    assert has["metadata"]["labels"] == {"runai-gpu-group": "g1"}
    assert more["metadata"]["labels"] == {
        "runai-gpu-group/g1": "g1",
        "runai-gpu-group/g2": "g2",
    }


def test_releasing_pods_are_terminating() -> None:
    pod = only(kai.Cluster().releasing("a/job", gpus=1, node="n1"), "pods")
    assert pod["metadata"]["deletionTimestamp"]
    assert pod["status"]["phase"] == "Running"


def test_a_priority_number_makes_a_priority_class() -> None:
    cluster = kai.Cluster().pending("a/x", priority=42).pending("a/y", priority=42)
    classes = {c["metadata"]["name"]: c["value"] for c in cluster.objects["priorityClasses"]}
    assert classes["priority-42"] == 42
    assert len([name for name in classes if name == "priority-42"]) == 1


def test_objects_are_created_in_the_order_of_the_calls() -> None:
    cluster = (
        kai.Cluster().pending("a/b").pending("a/a").pending("a/c", created="2020-01-01T00:00:00Z")
    )
    created = [g["metadata"]["creationTimestamp"] for g in cluster.objects["podGroups"]]
    assert created == ["2025-01-01T00:00:00Z", "2025-01-01T00:00:01Z", "2020-01-01T00:00:00Z"]


def test_any_kind_is_added_as_an_object() -> None:
    cluster = kai.Cluster().add("Topology", {"metadata": {"name": "racks"}})
    assert cluster.objects["topologies"][0]["metadata"]["name"] == "racks"


@pytest.mark.parametrize(
    ("describe", "message"),
    [
        (lambda c: c.pending("train"), "needs a queue: name the pod group queue/name"),
        (lambda c: c.pending("a/b", pods=-1), "pods is -1: it must be at least 0"),
        (lambda c: c.pending("a/b", min_member=-1), "min_member is -1"),
        (lambda c: c.running("a/b", node=[]), "needs a node"),
        (lambda c: c.node("n", gpus=-1), "gpus is -1"),
        (lambda c: c.queue("q", deserved_memory="1Gx"), "is not a quantity such as"),
        (lambda c: c.pending("a/b", gpus=1, gpu_fraction=0.5), "but not both"),
        (lambda c: c.add("Pood", {}), "does not contain the kind Pood; did you mean 'Pod'"),
    ],
)
def test_an_impossible_situation_is_refused(describe: Any, message: str) -> None:
    with pytest.raises(kai.InvalidClusterError, match=message):
        describe(kai.Cluster())


def test_a_misspelt_option_is_a_type_error_with_a_suggestion() -> None:
    with pytest.raises(TypeError, match=r"pending\(\) has no option 'gpu'; did you mean 'gpus'\?"):
        kai.Cluster().pending("a/b", gpu=1)  # type: ignore[call-arg]


def describe(cluster: kai.Cluster) -> kai.Cluster:
    """The cell of a notebook."""
    return (
        cluster.queue("a", deserved_gpus=4)
        .queue("b")
        .node("n1", gpus=8)
        .nodes("m", 2, gpus=4)
        .topology("racks", "rack")
        .priority_class("own", 60)
        .pending("a/x", pods=2, gpus=1)
        .running("b/y", node="n1", gpus=1)
    )


def test_a_cell_that_runs_twice_does_not_double_a_cluster() -> None:
    cluster = describe(kai.Cluster())
    before, plan = cluster.to_snapshot(), kai.Scheduler().plan(cluster, now=NOW)
    with pytest.raises(kai.InvalidClusterError, match=r"pending\('a/x'\) was called before with"):
        describe(cluster)
    assert cluster.to_snapshot() == before
    assert kai.Scheduler().plan(cluster, now=NOW) == plan


NOW = "2026-01-01T00:00:00Z"


def test_an_object_that_is_described_again_replaces_the_first() -> None:
    cluster = describe(kai.Cluster()).queue("a", deserved_gpus=6).node("n1", gpus=2)
    plan = kai.Scheduler().plan(cluster, now=NOW)
    assert plan.queues["a"].gpu.deserved == 6
    assert plan.nodes["n1"].gpus == 2
    assert (plan.rejected, cluster.counts["nodes"], cluster.counts["queues"]) == ((), 3, 2)
    cluster.node("n1", gpus=3)  # a plan was made in between
    assert kai.Scheduler().plan(cluster, now=NOW).nodes["n1"].gpus == 3
    cluster.cordon("n1").node("n1", gpus=5)
    assert kai.Scheduler().plan(cluster, now=NOW).nodes["n1"].free_gpus == 4


def test_the_same_pods_are_added_again_after_a_change_and_to_a_copy() -> None:
    cluster = describe(kai.Cluster())
    assert len(cluster.copy().pending("a/x", pods=2, gpus=1).objects["pods"]) == 5
    cluster.remove("a/x").pending("a/x", pods=2, gpus=1)
    cluster.scale("a/x", 1).pending("a/x", pods=2, gpus=1)
    cluster.pending("a/x", pods=1, gpus=1).pending("a/x", pods=2, gpus=2)  # other options
    assert [each["metadata"]["name"] for each in cluster.objects["pods"]].count("x-0") == 1
    assert len(cluster.objects["pods"]) == 1 + 1 + 2 + 1 + 2


@pytest.mark.parametrize(
    ("gpus", "message"),
    [
        (0.5, "gpus is 0.5, and Kubernetes has whole GPUs: write gpu_fraction=0.5"),
        ("500m", "gpus is 500m, and Kubernetes has whole GPUs: write gpu_fraction=0.5"),
        (1.5, "gpus is 1.5: write a whole number"),
        (-1, "gpus is -1: it must be at least 0"),
        ("two", "gpus: 'two' is not a quantity"),
    ],
)
def test_a_part_of_a_gpu_is_written_as_a_fraction(gpus: Any, message: str) -> None:
    with pytest.raises(kai.InvalidClusterError) as caught:
        kai.Cluster().pending("a/x", gpus=gpus)
    assert message in str(caught.value)
