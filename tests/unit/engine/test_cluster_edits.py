"""Changing and copying a cluster, as a researcher does."""

import copy
import pickle
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

import kai

NOW = "2026-01-01T00:00:00Z"


def cluster() -> kai.Cluster:
    return (
        kai.Cluster(now=NOW)
        .queue("a", deserved_gpus=4)
        .queue("b", deserved_gpus=4)
        .nodes("n", 2, gpus=4)
        .running("a/old", pods=3, gpus=1, node="n1")
        .pending("a/train", pods=2, gpus=2, min_member=2)
        .pending("b/wide", pods=6, gpus=1)
    )


def plan(of: kai.Cluster) -> kai.Plan:
    return kai.Scheduler().plan(of)


def fresh(of: kai.Cluster) -> kai.Plan:
    """The plan of the same objects, loaded again."""
    return plan(kai.Cluster.from_snapshot(of.to_snapshot(), now=NOW))


def names(of: kai.Cluster, kind: str) -> list[str]:
    return sorted(each["metadata"]["name"] for each in of.objects[kind])


def nodes_used(of: kai.Cluster) -> set[str]:
    return {each.node for each in plan(of).decisions if not isinstance(each, kai.Evict)}


# ---- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_planned", [False, True])
@pytest.mark.parametrize("has_events", [False, True])
@pytest.mark.parametrize("make", [kai.Cluster.copy, copy.copy, copy.deepcopy])
def test_a_copy_and_its_original_are_independent(
    make: Callable[[kai.Cluster], kai.Cluster], has_events: bool, is_planned: bool
) -> None:
    original = cluster()
    if has_events:
        original.upsert({"kind": "Node", "metadata": {"name": "n3"}, "status": {}})
    if is_planned:
        plan(original)
    before = original.to_snapshot()
    twin = make(original)
    assert twin.to_snapshot() == before
    assert plan(twin) == plan(original)

    twin.cordon("n1").pending("a/train", pods=1, gpus=1).pending("b/new", gpus=1)
    twin.remove("a/old").update_queue("a", weight=7).node("n9", gpus=8)
    assert original.to_snapshot() == before
    assert plan(original) == fresh(original)
    changed = twin.to_snapshot()
    original.pending("b/wide", pods=4, gpus=1).drain("n2").scale("a/old", 1)
    assert twin.to_snapshot() == changed
    assert plan(twin) == fresh(twin)


def test_returned_objects_are_copies() -> None:
    living = cluster()
    twin = living.copy()
    before, made = living.to_snapshot(), plan(living)
    for each in (*twin.objects["nodes"], twin.objects["nodes"][0], *living.objects["pods"][:2]):
        each["metadata"]["name"] = "changed"
        each["spec"] = {"unschedulable": True}
    assert living.to_snapshot() == twin.to_snapshot() == before
    assert plan(living) == plan(twin) == made
    nodes = living.objects["nodes"]
    for same in (twin.objects["nodes"], list(nodes), tuple(nodes), nodes[:]):
        assert nodes == same
    assert repr(nodes) == repr(tuple(nodes))
    assert nodes != cluster().cordon("n1").objects["nodes"]
    assert nodes != "nodes"


def test_a_copy_of_a_loaded_cluster_shares_the_read_objects() -> None:
    loaded = kai.Cluster.from_snapshot(cluster()._snapshot_bytes(), now=NOW)
    twins = [loaded.copy().cordon(node) for node in ("n1", "n2")]
    assert [nodes_used(twin) for twin in twins] == [{"n2"}, {"n1"}]
    assert nodes_used(loaded) == {"n1", "n2"}


def test_a_copy_keeps_rejected_objects_and_the_time() -> None:
    broken = cluster().upsert({"kind": "Node", "metadata": {"name": "bad"}, "spec": 7})
    assert broken.rejected
    assert broken.copy().rejected == broken.rejected
    assert broken.copy().now == broken.now


def test_a_copy_ignores_events_with_an_older_version() -> None:
    node: dict[str, Any] = {"metadata": {"name": "n3", "resourceVersion": "9"}, "status": {}}
    living = cluster().upsert({**node, "kind": "Node"})
    twin = living.copy()
    late = {**node, "kind": "Node", "metadata": {"name": "n3", "resourceVersion": "8"}}
    assert twin.upsert(late).to_snapshot() == living.to_snapshot()


def test_copies_are_planned_concurrently() -> None:
    living = cluster().cordon("n1")
    twins = [living.copy() for _ in range(4)]
    plans: list[kai.Plan] = []
    threads = [threading.Thread(target=lambda c=c: plans.append(plan(c))) for c in twins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert plans == [plan(living)] * 4


def test_a_cluster_can_be_pickled() -> None:
    living = cluster().cordon("n1")
    again = pickle.loads(pickle.dumps(living))
    assert again.to_snapshot() == living.to_snapshot()
    assert (again.now, again.name) == (living.now, living.name)
    assert plan(again) == plan(living)
    assert plan(again.uncordon("n1")) != plan(living)


# ---- nodes ---------------------------------------------------------------------------------------


def test_new_nodes_continue_the_name_and_number_of_their_model() -> None:
    living = kai.Cluster().node("gpu-09", gpus=8, labels={"zone": "z"}).add_nodes(2, like="gpu-09")
    assert names(living, "nodes") == ["gpu-09", "gpu-10", "gpu-11"]
    [_, one, other] = living.objects["nodes"]
    assert one["metadata"]["labels"]["kubernetes.io/hostname"] == "gpu-10"
    assert one["metadata"]["labels"]["zone"] == "z"
    assert one["metadata"]["uid"] != other["metadata"]["uid"]
    assert names(living.add_nodes(1, like="gpu-09"), "nodes")[-1] == "gpu-12"


def test_new_nodes_get_the_prefix_and_labels_that_are_given() -> None:
    living = cluster().add_nodes(2, like="n1", prefix="rack2-", labels={"rack": "r2"})
    assert names(living, "nodes") == ["n1", "n2", "rack2-1", "rack2-2"]
    assert living.objects["nodes"][-1]["metadata"]["labels"]["rack"] == "r2"
    assert names(living.add_nodes(1, like="n1", prefix="rack2-"), "nodes")[-1] == "rack2-3"


def test_a_node_without_a_number_gets_one() -> None:
    assert names(kai.Cluster().node("big").add_nodes(2, like="big"), "nodes") == [
        *("big", "big-1", "big-2")
    ]


def test_new_nodes_are_empty_and_take_pods() -> None:
    living = cluster().add_nodes(2, like="n1")
    after = plan(living)
    assert after.nodes["n3"].gpus == 4
    assert {"n3", "n4"} & nodes_used(living)
    assert after == fresh(living)


@pytest.mark.parametrize("ready", [True, False])
def test_new_nodes_are_not_in_the_state_of_their_model(ready: bool) -> None:
    states = ("unschedulable", "not-ready", "memory-pressure")
    taints = [{"key": f"node.kubernetes.io/{each}", "effect": "NoSchedule"} for each in states]
    own = {"key": "team", "value": "a", "effect": "NoSchedule"}
    living = kai.Cluster(now=NOW).queue("a").node("n1", gpus=4, taints=[own, *taints], ready=ready)
    living.cordon("n1").add_nodes(1, like="n1")
    living.pending("a/new", gpus=1, tolerations=[{"key": "team", "operator": "Exists"}])
    assert living.objects["nodes"][1]["spec"]["taints"] == [own]
    assert plan(living).nodes["n2"].state == ""
    assert nodes_used(living) == {"n2"}
    assert plan(living).nodes["n1"].state


def test_a_cordoned_node_keeps_its_pods_and_takes_no_more() -> None:
    living = cluster().cordon("n1")
    assert nodes_used(living) == {"n2"}
    after = plan(living)
    assert after.nodes["n1"].state == "cordoned"
    assert after.pod_groups["a/old"].verdict == "running"
    assert after == fresh(living)
    assert plan(living.uncordon("n1")) == plan(cluster())


def test_the_pods_of_a_drained_node_are_pending() -> None:
    living = cluster().drain("n1")
    after = plan(living)
    assert after.nodes["n1"].free_gpus == 4
    assert after.to_frames().groups.set_index("pod_group")["pending"]["a/old"] == 3
    assert nodes_used(living) == {"n2"}
    assert after == fresh(living)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "Pending"),
        ({"ownerReferences": []}, None),
        ({"annotations": {"pod-group-name": "x", "kai.scheduler/movable": "false"}}, None),
        (
            {"ownerReferences": [], "annotations": {"kai.scheduler/movable": "true"}},
            "Pending",
        ),
        ({"ownerReferences": [{"kind": "DaemonSet", "name": "d", "controller": True}]}, "Running"),
    ],
)
def test_only_pods_that_are_created_again_move_from_a_drained_node(
    changes: dict[str, Any], state: str | None
) -> None:
    living = kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=1)
    living.running("a/x", gpus=1, node="n1")
    [pod] = living.objects["pods"]
    living.upsert({**pod, "kind": "Pod", "metadata": {**pod["metadata"], **changes}})
    living.drain("n1")
    assert [each["status"]["phase"] for each in living.objects["pods"]] == [state][: bool(state)]


def test_pods_of_a_drained_node_lose_their_shared_gpu() -> None:
    shares = kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=1)
    shares.running("a/x", pods=2, gpu_fraction=0.5, gpu_groups=["g"], node="n1").drain("n1")
    for pod in shares.objects["pods"]:
        assert not pod["metadata"].get("labels")
        assert "nodeName" not in pod["spec"]
    assert nodes_used(shares) == {"n2"}


def test_terminating_and_finished_pods_of_a_drained_node_are_removed() -> None:
    living = cluster().releasing("a/goes", gpus=1, node="n1").drain("n1")
    assert not [name for name in names(living, "pods") if name.startswith("goes")]
    assert plan(living) == fresh(living)


# ---- removing ------------------------------------------------------------------------------------


def test_a_pod_group_is_removed_with_its_pods() -> None:
    living = cluster().remove("a/old", "b/wide")
    assert names(living, "podGroups") == ["train"]
    assert names(living, "pods") == ["train-0", "train-1"]
    assert plan(living) == fresh(living)


def test_pods_queues_and_nodes_are_removed_by_name() -> None:
    living = cluster().remove("a/old-0", "b", "n1")
    assert names(living, "nodes") == ["n2"]
    assert names(living, "queues") == ["a"]
    after = plan(living)
    assert after.pod_groups["b/wide"].verdict == "invalid"
    assert {each.pod for each in after.decisions} <= {f"a/{n}" for n in names(living, "pods")}
    assert sorted(names(living, "pods"))[0] == "old-1"
    assert after == fresh(living)


def test_a_name_shared_by_two_kinds_needs_a_kind() -> None:
    living = kai.Cluster().queue("x").node("x")
    with pytest.raises(
        kai.InvalidClusterError, match="name of a Node and of a Queue: name the kind"
    ):
        living.remove("x")
    assert names(living.remove("x", kind="Queue"), "nodes") == ["x"]


def test_an_object_of_any_kind_can_be_removed() -> None:
    living = kai.Cluster().topology("racks", "rack")
    assert not living.remove("racks").objects["topologies"]
    assert "Topology" not in living.copy().objects


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.remove("a/trian"), "pod group, pod, node or queue 'a/trian'; did you mean"),
        (lambda c: c.remove("n1", kind="Queue"), "there is no queue 'n1'"),
        (lambda c: c.cordon("n1", "n7"), "there is no node 'n7'"),
        (lambda c: c.drain("m1"), "there is no node 'm1'"),
        (lambda c: c.uncordon("m1"), "there is no node 'm1'"),
        (lambda c: c.add_nodes(1, like="m1"), "there is no node 'm1'"),
        (
            lambda c: c.scale("a/trian", 2),
            "there is no pod group 'a/trian'; did you mean 'a/train'",
        ),
        (lambda c: c.update_queue("aa"), "there is no queue 'aa'"),
    ],
)
def test_an_unknown_name_is_reported_and_nothing_changes(
    change: Callable[[kai.Cluster], kai.Cluster], message: str
) -> None:
    living = cluster()
    before = living.to_snapshot()
    with pytest.raises(kai.NotFoundError, match=message):
        change(living)
    assert living.to_snapshot() == before


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda c: c.add_nodes(-1, like="n1"), kai.InvalidClusterError, "count is -1"),
        (lambda c: c.scale("a/old", -1), kai.InvalidClusterError, "pods is -1"),
        (lambda c: c.scale("a/old", 1, min_member=-1), kai.InvalidClusterError, "min_member is"),
        (lambda c: c.remove("x", kind="Nod"), kai.InvalidClusterError, "did you mean 'Node'"),
        (lambda c: c.update_queue("a", wieght=2), TypeError, "did you mean 'weight'"),
        (lambda c: c.update_queue("a", gpu_limit="1x"), kai.InvalidClusterError, "1x"),
        (lambda c: c.nodes("m", 2, gpu=8), TypeError, r"nodes\(\) has no argument 'gpu'.*'gpus'"),
    ],
)
def test_invalid_edits_are_refused(
    change: Callable[[kai.Cluster], kai.Cluster], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        change(cluster())


# ---- queues and groups ---------------------------------------------------------------------------


def test_only_the_given_fields_of_a_queue_change() -> None:
    living = cluster().update_queue("a", deserved_gpus=1, weight=3)
    before, after = (plan(each).queues["a"] for each in (cluster(), living))
    assert (after.gpu.deserved, after.gpu.over_quota_weight) == (1, 3)
    assert (after.cpu.deserved, after.gpu.limit) == (before.cpu.deserved, before.gpu.limit)
    limited = living.update_queue("a", gpu_limit=2, deserved_memory="1Gi", spec={"x": 1})
    assert plan(limited).queues["a"].gpu.limit == 2
    assert plan(limited) == fresh(limited)


def test_a_queue_moves_below_another_one_and_back() -> None:
    living = kai.Cluster(now=NOW).queue("top", deserved_gpus=1).queue("a", deserved_gpus=4)
    assert plan(living.update_queue("a", parent="top")).situation.queue_parents["a"] == "top"
    assert plan(living.update_queue("a", parent=None)).situation.queue_parents["a"] is None


def test_a_group_grows_by_copies_of_its_last_pod() -> None:
    living = cluster().scale("a/train", 4, min_member=4)
    assert names(living, "pods")[3:7] == ["train-0", "train-1", "train-2", "train-3"]
    after = plan(living)
    assert after.pod_groups["a/train"].verdict == "unschedulable"
    assert "8 GPUs" in after.why("a/train")
    assert after == fresh(living)


def test_a_running_group_grows_by_pending_pods() -> None:
    living = cluster().remove("b/wide", "a/train").scale("a/old", 5)
    after = plan(living)
    assert [each.pod for each in after.decisions] == ["a/old-3", "a/old-4"]
    assert after == fresh(living)


def test_pending_pods_are_removed_before_running_pods() -> None:
    living = cluster().scale("a/old", 5).scale("a/old", 4)
    assert [name for name in names(living, "pods") if "old" in name] == [
        f"old-{i}" for i in range(4)
    ]
    living.scale("a/old", 2)
    assert [name for name in names(living, "pods") if "old" in name] == ["old-0", "old-1"]
    assert plan(living) == fresh(living)


def test_a_group_without_pods_cannot_grow() -> None:
    living = cluster().scale("b/wide", 0)
    assert "b/wide" in plan(living).pod_groups
    with pytest.raises(kai.InvalidClusterError, match="no pod to copy"):
        living.scale("b/wide", 1)


def test_a_file_with_a_duplicate_object_can_be_edited() -> None:
    snapshot = cluster().to_snapshot()
    snapshot["rawObjects"]["nodes"].append(snapshot["rawObjects"]["nodes"][0])
    living = kai.Cluster.from_snapshot(snapshot, now=NOW)
    assert living.rejected
    twin = living.copy().cordon("n2").remove("b/wide")
    assert plan(twin) == fresh(twin)
    assert living.to_snapshot() == snapshot


# ---- any of it, in any order ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_changed_cluster_has_the_plan_of_a_fresh_load(seed: int) -> None:
    draw = random.Random(seed)
    scheduler = kai.Scheduler({"compat": {"promises": "kai"}})  # it remembers nothing
    living = cluster()
    changes: list[Callable[[kai.Cluster], kai.Cluster]] = [
        lambda c: c.cordon(draw.choice(names(c, "nodes"))),
        lambda c: c.uncordon(draw.choice(names(c, "nodes"))),
        lambda c: c.drain(draw.choice(names(c, "nodes"))),
        lambda c: c.add_nodes(1, like=draw.choice(names(c, "nodes"))),
        lambda c: c.scale("b/wide", draw.randint(1, 9)),
        lambda c: c.scale("a/train", draw.randint(1, 4), min_member=draw.randint(1, 4)),
        lambda c: c.update_queue(draw.choice("ab"), deserved_gpus=draw.randint(0, 8)),
        lambda c: c.pending(f"a/x{draw.randint(0, 3)}", gpus=1, labels={"n": str(draw.random())}),
        lambda c: c.remove(draw.choice(names(c, "nodes"))) if len(names(c, "nodes")) > 1 else c,
    ]
    copies = []
    for _ in range(25):
        draw.choice(changes)(living)
        assert scheduler.plan(living) == fresh(living)
        if draw.random() < 0.2:
            copies.append((living.copy(), living.to_snapshot()))
            if draw.random() < 0.5:
                living = living.copy()
    for twin, snapshot in copies:
        assert twin.to_snapshot() == snapshot
        assert scheduler.plan(twin) == fresh(twin)
