"""What waiting cannot cure is said first, however full the cluster is, with names and numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai

A100 = "NVIDIA-A100-SXM4-80GB"
PRODUCT = "nvidia.com/gpu.product"


def why(cluster: kai.Cluster, group: str = "q/p") -> list[str]:
    return kai.Scheduler().plan(cluster).why(group).splitlines()[1:]


def full(**node: object) -> kai.Cluster:
    """One node whose GPUs are in use, by pods that cannot move."""
    cluster = kai.Cluster().queue("q", deserved_gpus=100)
    cluster.node("n1", gpus=2, **node)  # type: ignore[arg-type]
    return cluster.running("q/x", pods=2, gpus=1, node="n1", priority="build")


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        pytest.param({"gpus": 1}, "no node has no=where.", id="one GPU"),
        pytest.param({"gpus": 1, "pods": 2, "min_member": 2}, "no node has no=where.", id="a gang"),
        pytest.param({"gpu_fraction": 0.5}, "no node has no=where.", id="half a GPU"),
    ],
)
def test_a_selector_that_no_node_has_is_the_reason_on_a_full_cluster(
    request_: dict[str, float], sentence: str
) -> None:
    cluster = full().pending("q/p", node_selector={"no": "where"}, **request_)  # type: ignore[arg-type]
    assert why(cluster) == [f"  It can never start here: {sentence}"]


def test_a_value_that_a_node_nearly_has_is_suggested() -> None:
    cluster = full(labels={PRODUCT: A100}).pending("q/p", gpus=1, node_selector={PRODUCT: "A100"})
    assert why(cluster) == [
        f"  It can never start here: no node has {PRODUCT}=A100, but 1 node has {A100}."
    ]


def test_values_that_are_not_near_are_listed() -> None:
    cluster = full(labels={PRODUCT: "Tesla-T4"}).node("n2", labels={PRODUCT: "L4"})
    cluster.pending("q/p", gpus=1, node_selector={PRODUCT: "H200"})
    assert why(cluster) == [
        f"  It can never start here: no node has {PRODUCT}=H200; there is L4 (1), Tesla-T4 (1)."
    ]


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("operator", "values", "free", "of_one"),
    [
        ("NotIn", ["a"], {"pool": "c"}, "with pool=a, which its node affinity excludes"),
        ("DoesNotExist", [], {}, "with the label pool, which its node affinity excludes"),
        ("Gt", ["8"], {"pool": "9"}, "without pool above 8"),
    ],
)
def test_a_node_that_the_node_affinity_excludes(
    operator: str, values: list[str], free: dict[str, str], of_one: str
) -> None:
    """The other node has no free GPU."""
    expression = {"key": "pool", "operator": operator, "values": values}
    terms = [{"matchExpressions": [expression]}]
    spec = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}
    cluster = full(labels={"pool": "7" if operator == "Gt" else "a"})
    cluster.node("n2", gpus=1, labels=free).running("q/y", gpus=1, node="n2", priority="build")
    assert f"node n1 {of_one}" in " ".join(why(cluster.pending("q/p", gpus=1, pod_spec=spec)))


def test_taints_cordons_and_states_have_their_names() -> None:
    """Nodes may lose them: nothing is never."""
    cluster = (
        full(taints=["dedicated=ml:NoSchedule", "pool=x:NoExecute"])
        .node("n2", gpus=1, cordoned=True)
        .node("n3", gpus=1, ready=False)
        .pending("q/p", gpus=1)
    )
    [line] = why(cluster)
    assert line == (
        "  No node can take it now: node n2 cordoned, node n3 not ready, node n1 with the taints"
        " dedicated=ml:NoSchedule, pool=x:NoExecute."
    )


def test_nodes_that_could_take_it_are_apart_from_the_others() -> None:
    cluster = full(labels={"zone": "a"}).node("n2", gpus=4).node("n3", gpus=1, cordoned=True)
    cluster.pending("q/p", gpus=1, node_selector={"zone": "a"})
    assert why(cluster)[0] == (
        "  It needs 1 GPU on one node; no GPU is free on the only node that could take it after"
        " this cycle. Others cannot: node n3 cordoned and without zone=a, node n2 without zone=a."
    )


def test_a_gang_is_too_large_for_the_nodes_that_could_take_it() -> None:
    cluster = full(labels={"zone": "a"}).node("n2", gpus=4)
    cluster.pending("q/p", pods=3, gpus=1, min_member=3, node_selector={"zone": "a"})
    assert why(cluster) == [
        "  It can never start here: 3 pods that must start together need 3 GPUs, but the only node"
        " that could take one has 2."
    ]


@pytest.mark.parametrize(
    ("request_", "nodes", "sentence"),
    [
        ({"gpu_fraction": 0.5}, {"gpus": 0}, "a part of a GPU, but no node has any."),
        (
            {"gpu_fraction": 0.5, "gpu_devices": 4},
            {"gpus": 2},
            "parts of 4 GPUs, but the largest node has 2.",
        ),
    ],
)
def test_a_part_of_a_gpu_is_no_whole_one(
    request_: dict[str, Any], nodes: dict[str, Any], sentence: str
) -> None:
    cluster = kai.Cluster().queue("q").node("n1", **nodes).pending("q/p", **request_)
    assert why(cluster) == [f"  It can never start here: one pod requests {sentence}"]


def test_gpus_that_are_split_into_slices_are_not_missing() -> None:
    """More GPUs are not what the cluster lacks."""
    labels = {"nvidia.com/mig.strategy": "mixed"}
    cluster = kai.Cluster().queue("q")
    cluster.node("n1", gpus=0, labels=labels, resources={"nvidia.com/mig-1g.5gb": 7})
    assert why(cluster.pending("q/p", gpus=1)) == [
        "  It can never start here: one pod requests 1 GPU, but no node has any that is not split"
        " into MIG slices."
    ]


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"resources": {"nvidia.com/mig-1g.5gb": 1}}, "1 of nvidia.com/mig-1g.5gb, but no node"),
        ({"gpu_memory_mib": 2000}, "a part of a GPU, but no node"),
    ],
)
def test_what_nodes_lack_is_not_said_a_second_time(
    request_: dict[str, object], sentence: str
) -> None:
    cluster = kai.Cluster().queue("q").node("n1", cpus=8)
    assert why(cluster.pending("q/p", **request_)) == [  # type: ignore[arg-type]
        f"  It can never start here: one pod requests {sentence} has any."
    ]


def test_a_large_request_hides_no_selector() -> None:
    """Only the CPUs were named; with fewer of them the pod still had no node."""
    cluster = kai.Cluster().queue("q").node("n1", gpus=8, cpus=8, labels={"zone": "b"})
    cluster.pending("q/p", gpus=1, cpus=16, node_selector={"zone": "a"})
    assert why(cluster) == [
        "  It can never start here: one pod requests 16 CPUs, but the largest node has 8.",
        "  No node has zone=a; there is b (1).",
    ]


def test_a_large_request_hides_no_taint_and_no_other_resource() -> None:
    cluster = kai.Cluster().queue("q")
    cluster.node("n1", gpus=8, cpus=8, memory="8Gi", taints=["team=a:NoSchedule"])
    cluster.node("n2", cpus=8, memory="8Gi")
    cluster.pending("q/p", gpus=1, cpus=16, memory="16Gi")
    assert why(cluster) == [
        "  It can never start here: one pod requests 16 CPUs, but the largest node has 8.",
        "  One pod requests 16 GiB of memory, but the largest node has 8 GiB.",
        "  Each suitable node also has another obstacle: node n1 with the taint team=a:NoSchedule.",
    ]


def test_nodes_without_any_gpu_do_not_hide_the_taints_of_the_others() -> None:
    cluster = kai.Cluster().queue("q").node("n1", gpus=8, taints=["team=a:NoSchedule"])
    assert why(cluster.node("n2").pending("q/p", gpus=16)) == [
        "  It can never start here: one pod requests 16 GPUs, but the largest node has 8.",
        "  Each suitable node also has another obstacle: node n1 with the taint team=a:NoSchedule.",
    ]


def test_the_largest_node_may_have_another_obstacle() -> None:
    """A request that is as large as this node does not start on it."""
    cluster = kai.Cluster().queue("q").node("n1", gpus=8, taints=["team=a:NoSchedule"])
    assert why(cluster.node("n2", gpus=4).pending("q/p", gpus=16)) == [
        "  It can never start here: one pod requests 16 GPUs, but the largest node has 8, and the "
        "largest without other obstacles has 4."
    ]


def test_a_label_that_no_node_has_hides_no_taint() -> None:
    cluster = kai.Cluster().queue("q").node("n1", gpus=8, taints=["team=a:NoSchedule"])
    assert why(cluster.pending("q/p", gpus=1, node_selector={"zone": "a"})) == [
        "  It can never start here: no node has zone=a.",
        "  Each node also has another obstacle: node n1 with the taint team=a:NoSchedule.",
    ]


def test_what_refuses_a_pod_hides_no_selector() -> None:
    """A cluster without DRA, and a label that no node has."""
    cluster = kai.Cluster().queue("q").node("n1", gpus=8)
    cluster.pending("q/p", gpus=1, node_selector={"zone": "a"}, pod_spec={"resourceClaims": CLAIM})
    [claim, label] = why(cluster)
    assert claim.startswith("  Pod q/p-0 cannot be scheduled, it references resource claims <gpu>")
    assert label == "  It can never start here: no node has zone=a."


CLAIM = [{"name": "gpu", "resourceClaimName": "gpus"}]


def test_a_gang_that_is_too_large_hides_no_limit() -> None:
    cluster = kai.Cluster().queue("q", gpu_limit=4).node("n1", gpus=8)
    assert why(cluster.pending("q/p", gpus=8, pods=2, min_member=2)) == [
        "  It can never start here: 2 pods that must start together need 16 GPUs, but the cluster "
        "has 8.",
        "  It can never start in this queue: it needs at least 16 GPUs, but the limit of queue q "
        "is 4.",
    ]


@pytest.mark.parametrize(
    ("operator", "values", "sentence"),
    [
        ("NotIn", ["a"], "every node has zone=a, which its node affinity excludes."),
        ("NotIn", ["a", "c"], "every node has zone=a or c, which its node affinity excludes."),
        ("DoesNotExist", [], "every node has the label zone, which its node affinity excludes."),
        ("Gt", ["5"], "no node has zone above 5."),
        ("In", ["x", "y"], "no node has zone=x or y; there is a (1)."),
        ("In", list("uvwxy"), "no node has zone=u, v, w or 2 others; there is a (1)."),
    ],
)
def test_requirements_of_labels_are_sentences(
    operator: str, values: list[str], sentence: str
) -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": operator, "values": values}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    cluster = kai.Cluster().queue("q").node("n1", gpus=8, labels={"zone": "a"})
    cluster.pending("q/p", gpus=1, pod_spec={"affinity": {"nodeAffinity": required}})
    assert why(cluster) == [f"  It can never start here: {sentence}"]


def test_of_several_protected_groups_the_first_end_is_given() -> None:
    cluster = kai.Cluster(now="2026-01-01T00:01:00Z").queue("q").node("n1", gpus=2)
    cluster.queue("b", deserved_gpus=0, spec={"reclaimMinRuntime": "10m"})
    for number in (1, 2):
        started = f"2026-01-01T00:00:0{number}Z"
        cluster.running(f"b/r{number}", gpus=1, node="n1", started=started)
    lines = why(cluster.pending("q/p", gpus=1))
    assert (
        "  2 pod groups of queue b (b/r1 and 1 more) hold 2 GPUs and are protected"
        " (reclaimMinRuntime 10m), the first until 2026-01-01T00:10:01Z."
    ) in lines


@pytest.mark.parametrize(
    "state", [{"cordoned": True}, {"taints": ["team=b:NoSchedule"]}, {"ready": False}]
)
def test_a_gang_may_fit_when_a_node_takes_pods_again(state: dict[str, Any]) -> None:
    """More GPUs are not what it lacks, so "never" would be wrong."""
    cluster = kai.Cluster().queue("q").node("n1", gpus=4).node("n2", gpus=4, **state)
    cluster.pending("q/p", pods=2, gpus=4, min_member=2)
    [line] = why(cluster)
    assert line.startswith(
        "  It cannot start now: 2 pods that must start together need 8 GPUs, but the only node that"
        " could take one has 4 (node n2 "
    )


def test_a_cordoned_node_that_would_not_suffice_does_not_help() -> None:
    cluster = kai.Cluster().queue("q").node("n1", gpus=4).node("n2", gpus=4, cordoned=True)
    cluster.pending("q/p", pods=3, gpus=4, min_member=3)
    assert why(cluster)[0].startswith("  It can never start here: 3 pods that must start together")


@pytest.mark.parametrize("gang", [{}, {"pods": 2, "min_member": 2}])
def test_a_cluster_without_nodes(gang: dict[str, Any]) -> None:
    assert why(kai.Cluster().queue("q").pending("q/p", gpus=1, **gang)) == ["  There are no nodes."]


def test_a_gang_whose_pods_do_not_fit_on_empty_nodes() -> None:
    cluster = kai.Cluster().queue("q").nodes("n", 2, gpus=8)
    cluster.pending("q/p", pods=3, gpus=5, min_member=3)
    assert why(cluster) == [
        "  It can never start here: 3 pods that must start together need 5 GPUs each, and empty"
        " nodes have room for 2."
    ]


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"gpus": 1, "cpus": 1000}, "one pod requests 1,000 CPUs, but the largest node has"),
        (
            {"gpus": 1, "resources": {"rdma/ib": 1}},
            "one pod requests 1 of rdma/ib, but no node has any",
        ),
    ],
)
def test_what_no_node_has_is_named(request_: dict[str, object], sentence: str) -> None:
    [line] = why(full().pending("q/p", **request_))  # type: ignore[arg-type]
    assert line.startswith(f"  It can never start here: {sentence}")


def test_gpu_memory_that_no_node_tells(tmp_path: Path) -> None:
    """KAI assumes 100 MiB a GPU then."""
    objects = [
        {
            "kind": "Node",
            "metadata": {"name": "n1"},
            "status": {"capacity": {"nvidia.com/gpu": "1"}},
        },
        {
            "kind": "Pod",
            "metadata": {
                "name": "p",
                "namespace": "q",
                "labels": {"kai.scheduler/queue": "default-queue"},
                "annotations": {"gpu-memory": "2000"},
            },
            "spec": {"schedulerName": "kai-scheduler"},
        },
    ]
    file = tmp_path / "objects.json"
    file.write_text(json.dumps({"kind": "List", "items": objects}))
    assert why(kai.load(file), "p") == [
        "  It can never start here: no node is suitable (node n1 without a number of MiB in the "
        "label nvidia.com/gpu.memory).",
        "  Node n1 has no label nvidia.com/gpu.memory: requests for GPU memory need it, in MiB.",
    ]


def test_a_label_that_is_not_a_number_of_mib_has_its_value() -> None:
    cluster = kai.Cluster().queue("q")
    cluster.node("n1", gpus=1, gpu_memory_mib=None, labels={"nvidia.com/gpu.memory": "16GiB"})
    assert why(cluster.pending("q/p", gpu_memory_mib=2000))[1:] == [
        "  Node n1 has nvidia.com/gpu.memory=16GiB, which is not a number of MiB."
    ]


def test_a_label_that_no_node_has_gets_the_nearest_one() -> None:
    cluster = full(labels={PRODUCT: A100})
    cluster.pending("q/p", gpus=1, node_selector={"nvidia.com/gpu-product": A100})
    assert why(cluster)[1:] == [
        f"  No node has the label nvidia.com/gpu-product; did you mean {PRODUCT}?"
    ]


def test_gpu_memory_that_no_card_has() -> None:
    cluster = kai.Cluster().queue("q").node("n1", gpus=1, gpu_memory_mib=16_300)
    assert why(cluster.pending("q/p", gpu_memory_mib=20_000)) == [
        "  It can never start here: it needs 20,000 MiB of one GPU, but the largest has 16,300 MiB."
    ]


# ---- who holds the GPUs --------------------------------------------------------------------------


PROTECTED = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata:
  name: low
  namespace: a
  annotations: {kai.scheduler/last-start-timestamp: "2026-01-01T00:00:05Z"}
spec: {minMember: 1, queue: a}
"""


def test_a_group_that_a_minimum_run_time_protects_is_named_with_its_end() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=1, spec={"reclaimMinRuntime": "10m"})
    cluster.queue("q", deserved_gpus=1).node("n1", gpus=2).running("a/low", gpus=2, node="n1")
    cluster.upsert(yaml.safe_load(PROTECTED)).pending("q/p", gpus=1).at("2026-01-01T00:02:00Z")
    assert why(cluster)[-1] == (
        "  a/low holds 2 GPUs and is protected until 2026-01-01T00:10:05Z (reclaimMinRuntime 10m)."
    )


def test_non_preemptible_groups_stay() -> None:
    assert why(full().pending("q/p", gpus=1))[-1] == "  q/x holds 2 GPUs and is not preemptible."


def test_groups_of_its_own_queue_stay_unless_their_priority_is_lower() -> None:
    cluster = kai.Cluster().queue("q", deserved_gpus=2).node("n1", gpus=2)
    cluster.running("q/x", gpus=1, node="n1").running("q/y", gpus=1, node="n1")
    assert why(cluster.pending("q/p", gpus=1))[-1] == (
        "  2 pod groups of queue q (q/x and 1 more) hold 2 GPUs and have no lower priority."
    )


def test_queues_within_their_fair_share_keep_what_they_hold() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=2).queue("q", deserved_gpus=1)
    cluster.node("n1", gpus=2, labels={"zone": "a"}).node("n2", gpus=1)
    cluster.running("a/x", gpus=2, node="n1")
    cluster.pending("q/p", gpus=1, node_selector={"zone": "a"})
    assert why(cluster)[-1] == "  a/x holds 2 GPUs, within the fair share of queue a."


# ---- what decides --------------------------------------------------------------------------------


def a_gang_beside(*, quota: int) -> kai.Cluster:
    """A gang of 3 pods with 2 GPUs each, and room for 2 of them beside another queue's group."""
    cluster = kai.Cluster().queue("a", deserved_gpus=2).queue("q", deserved_gpus=quota)
    cluster.nodes("n", 3, gpus=4).running("a/x", gpus=3, node="n1", min_member=2)
    cluster.running("a/x", gpus=3, node="n2")
    return cluster.pending("q/p", pods=3, min_member=3, gpus=2)


def test_a_queue_within_its_fair_share_keeps_what_a_gang_lacks() -> None:
    """One pod of the gang would be within the quota of its queue, all of them are not."""
    assert why(a_gang_beside(quota=2)) == [
        "  It needs 3 pods that start together, with 2 GPUs each; after this cycle 6 are free, at "
        "most 4 on one node (room for 2 pods).",
        "  a/x holds 6 GPUs, within the fair share of queue a.",
    ]


def test_a_gang_within_the_quota_of_its_queue_evicts_what_it_lacks() -> None:
    plan = kai.Scheduler().plan(a_gang_beside(quota=6))
    assert plan.pod_groups["q/p"].verdict == "pipelined"


def test_pods_above_the_minimum_are_explained_without_the_gang() -> None:
    """The minimum of 2 is promised the room of two victims; the third pod waits alone."""
    cluster = kai.Cluster().queue("q", deserved_gpus=3).node("n1", gpus=4)
    cluster.running("q/low", pods=2, gpus=1, node="n1", priority=50)
    cluster.running("q/stays", gpus=2, node="n1", priority=90)
    cluster.pending("q/p", pods=3, gpus=1, min_member=2, priority=75)
    assert why(cluster)[0] == "  It needs 1 GPU on one node; no GPU is free after this cycle."


def test_facts_are_plain_data() -> None:
    plan = kai.Scheduler().plan(full().pending("q/p", gpus=1, node_selector={"zone": "a"}))
    [[places]] = plan.situation.places(["q/p"])
    [row] = places.obstacles
    assert (places.first, places.pods, places.possible, row.nodes) == ("q/p-0", 1, 0, 1)
    assert json.dumps(row.causes, default=dict) == json.dumps(
        [
            {
                "cause": "node_affinity",
                "unmet": [{"label": "zone", "operator": "In", "values": ["a"], "there": []}],
            }
        ]
    )
