"""The state after a plan: the order of waiting groups, free resources, differences; and that plans
are frozen."""

import copy
import dataclasses
import json
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest

import kai
from kai.sim.world import step

NOW = "2026-01-01T00:00:00Z"


def two_queues() -> kai.Cluster:
    return (
        kai.Cluster(now=NOW)
        .queue("a", deserved_gpus=4)
        .queue("b", deserved_gpus=4)
        .node("n1", gpus=8)
        .running("b/old", pods=8, gpus=1, node="n1", preemptible=False)
    )


def plan(of: kai.Cluster, config: Any = None) -> kai.Plan:
    return kai.Scheduler(config).plan(of)


def next_ones(of: kai.Cluster) -> list[str]:
    return [turn.group for turn in plan(of).order]


# ---- what comes next -----------------------------------------------------------------------------


def test_in_a_queue_priority_goes_before_age() -> None:
    living = two_queues().pending("a/first", gpus=1).pending("a/second", gpus=1)
    living.pending("a/urgent", gpus=1, priority=90)
    order = plan(living).order
    assert [turn.group for turn in order] == ["a/urgent", "a/first", "a/second"]
    assert [turn.place for turn in order] == [1, 2, 3]
    assert order[0].because == "its priority is 90; a/first has 50"
    assert order[1].because == "it is older than a/second"
    assert order[2].because == ""


def test_a_group_below_its_minimum_goes_before_extras() -> None:
    living = two_queues().node("n2", gpus=1).running("a/elastic", gpus=1, node="n2")
    living.pending("a/elastic", gpus=1).pending("a/gang", pods=2, gpus=1, min_member=2)
    order = plan(living).order
    assert [turn.group for turn in order] == ["a/gang", "a/elastic"]
    assert order[0].minimum == "below"
    assert order[0].because == "it is below its minimum of pods; a/elastic is at its minimum"
    assert order["a/gang"].gpus == 2


def test_a_queue_with_a_lower_share_of_its_allowance_goes_first() -> None:
    living = two_queues().pending("b/more", gpus=1).pending("a/one", gpus=2)
    order = plan(living).order
    assert [turn.group for turn in order] == ["a/one", "b/more"]
    assert order[0].because == "queue a stays within what it deserves; b does not"
    [a], [b] = order[0].queues, order[1].queues
    assert (a.share, a.share_with_request, a.within_deserved) == (0, 0.5, True)
    # It deserves 4, and its fair share is 6.
    assert (b.share, b.share_with_request, b.within_deserved) == (8 / 6, 9 / 6, False)


def test_equal_queues_alternate() -> None:
    living = kai.Cluster(now=NOW).queue("a", deserved_gpus=8).queue("b", deserved_gpus=8)
    for number in range(3):
        living.pending(f"a/x{number}", gpus=1)
    for number in range(3):
        living.pending(f"b/x{number}", gpus=1)
    assert next_ones(living) == ["a/x0", "b/x0", "a/x1", "b/x1", "a/x2", "b/x2"]
    assert plan(living).order[1].because == (
        "with it, queue b has 12.5 % of its allowance; a has 25 %"
    )


def test_a_queue_of_higher_priority_goes_first() -> None:
    living = two_queues().update_queue("b", priority=200, deserved_gpus=20)
    living.pending("a/x", gpus=1).pending("b/x", gpus=1)
    assert plan(living).order[0].because == "queue b has priority 200; a has 100"


def test_a_queue_over_its_share_goes_last() -> None:
    living = two_queues().update_queue("b", deserved_cpus=0, deserved_memory=0, weight=0)
    living.remove("b/old").running(
        "b/old", pods=8, gpus=1, cpus=1, memory="1Gi", node="n1", preemptible=False
    )
    living.pending("a/x", gpus=8).pending("b/x", gpus=1)
    assert plan(living).order[0].because == "queue b is over its fair share; a is not"


def test_the_first_queue_that_differs_decides_the_order() -> None:
    living = kai.Cluster(now=NOW).queue("top", deserved_gpus=4)
    living.queue("a", parent="top", deserved_gpus=2).queue("b", parent="top", deserved_gpus=1)
    living.pending("b/x", gpus=2).pending("a/x", gpus=2)
    turn = plan(living).order[0]
    assert [queue.name for queue in turn.queues] == ["top", "a"]
    assert turn.because == "queue a stays within what it deserves; b does not"


def test_placed_and_invalid_groups_are_not_in_the_order() -> None:
    living = kai.Cluster(now=NOW).queue("a").node("n1", gpus=4)
    living.pending("a/fits", gpus=3).pending("a/waits", gpus=2)
    living.pending("a/lacks", pods=1, gpus=1, min_member=2)
    made = plan(living)
    assert [turn.group for turn in made.order] == ["a/waits"]
    assert "a/waits" in made.order
    assert "a/fits" not in made.order
    with pytest.raises(kai.NotFoundError, match="no waiting pod group 'a/wait'; did you mean"):
        _ = made.order["a/wait"]


def test_without_fair_shares_the_age_of_queues_decides() -> None:
    config = {"actions": "allocate", "tiers": [{"plugins": [{"name": "predicates"}]}]}
    living = two_queues().pending("b/x", gpus=1).pending("a/x", gpus=1)
    order = plan(living, config).order
    assert order[0].because == "queue a is older than b"


@pytest.mark.parametrize("seed", range(20))
def test_groups_are_placed_in_that_order_if_there_is_room(seed: int) -> None:
    draw = random.Random(seed)
    living = kai.Cluster(now=NOW).node("none")
    for name in "abcd":
        # The queue may use its limit, however large the cluster is.
        limit = draw.randint(300, 900)
        parent = draw.choice([None, "a"]) if name in "cd" else None
        priority = draw.choice([100, 100, 200])
        living.queue(name, parent=parent, deserved_gpus=None, gpu_limit=limit, priority=priority)
    leaves = (
        "bcd" if any(q["spec"].get("parentQueue") for q in living.objects["queues"]) else "abcd"
    )
    for number in range(30):
        pods = draw.randint(1, 4)
        living.pending(
            f"{draw.choice(leaves)}/x{number}",
            pods=pods,
            min_member=pods,
            gpus=draw.randint(1, 4),
            priority=draw.choice([50, 50, 60]),
        )
    order = [turn.group for turn in plan(living).order]
    assert len(order) == 30
    large = living.copy().node("all", gpus=1000, cpus=1000, pods=1000)
    served = dict.fromkeys(each.pod.rpartition("-")[0] for each in plan(large).decisions)
    assert order == [*served]


def test_the_order_is_a_sequence_and_prints_as_a_page() -> None:
    living = two_queues().pending("a/first", gpus=1).pending("a/second", gpus=1)
    order = plan(living).order
    assert order[:1] == (order[0],)
    assert order[-1].group == "a/second"
    assert next(reversed(order)).group == "a/second"
    assert repr(order).splitlines()[:3] == [
        "Waiting pod groups in scheduling order",
        "     pod group  GPUs  queue  share  priority   age  why before the next",
        "  1  a/first       1  a       25 %        50  365d  it is older than the next",
    ]
    assert "a/first" in order._repr_html_()
    assert repr(plan(kai.Cluster()).order) == "no pod group waits"


def test_an_old_plan_keeps_the_order_of_its_cluster() -> None:
    living, scheduler = two_queues().pending("a/first", gpus=1), kai.Scheduler()
    living.cordon("n1")  # updated in place from here
    before, kept = scheduler.plan(living), scheduler.plan(living)
    assert [turn.group for turn in kept.order] == ["a/first"]
    scheduler.plan(living.pending("a/second", gpus=1).uncordon("n1"))
    assert [turn.group for turn in before.order] == ["a/first"]
    assert before.nodes["n1"].state == "cordoned"
    assert before == kept


def test_a_plan_of_a_loaded_cluster_keeps_its_order_after_events() -> None:
    living = two_queues().pending("a/first", gpus=1)
    made = plan(living)
    living.remove("a/first").cordon("n1")
    assert [turn.group for turn in made.order] == ["a/first"]
    assert made.nodes["n1"].state == ""


# ---- what is free --------------------------------------------------------------------------------


def test_free_gpus_are_counted_after_the_decisions() -> None:
    living = kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=4)
    living.running("a/r", gpus=1, node="n2")
    made = plan(living.pending("a/p", pods=2, gpus=1))
    assert made.free_gpus == {"n1": 4, "n2": 1}
    assert made.nodes.whole == ("n1",)
    assert made.nodes.room_for(gpus=4) == 1
    assert made.nodes.room_for(gpus=1) == 5
    assert made.nodes.room_for(gpus=1, cpus=64) == 2
    assert made.nodes.room_for(memory=513 * 2**30) == 0


def test_free_parts_of_gpus_are_counted() -> None:
    living = kai.Cluster(now=NOW).queue("a").node("n1", gpus=2)
    made = plan(living.pending("a/x", gpu_fraction=0.25))
    node = made.nodes["n1"]
    assert (node.free_gpus, node.free_parts) == (1, (0.75,))
    assert made.free_gpus == {"n1": 1.75}
    assert node.room_for(gpus=0.25) == 7
    assert node.room_for(gpus=1) == 1


def test_releasing_gpus_are_counted_unless_pipelined() -> None:
    living = kai.Cluster(now=NOW).queue("a").node("n1", gpus=4)
    living.releasing("a/goes", pods=2, gpus=1, node="n1").running("a/r", pods=2, gpus=1, node="n1")
    assert plan(living).nodes["n1"].leaving_gpus == 2
    made = plan(living.pending("a/p", gpus=1))
    assert made.decisions[0].kind == "pipeline"
    assert (made.nodes["n1"].free_gpus, made.nodes["n1"].leaving_gpus) == (0, 1)


@pytest.mark.parametrize("seed", range(12))
def test_free_resources_equal_those_of_the_next_cycle(seed: int) -> None:
    draw = random.Random(seed)
    living = kai.Cluster(now=NOW).queue("a").nodes("n", 3, gpus=4, cpus=16)
    for number in range(12):
        share = draw.choice(
            [{"gpus": 1}, {"gpus": 2}, {"gpu_fraction": 0.5}, {"gpu_fraction": 0.25}]
        )
        pod: Any = {"cpus": draw.choice([0, 0.5, 2]), **share}
        living.pending(f"a/x{number}", pods=draw.randint(1, 2), **pod)
    made = plan(living)
    assert {each.kind for each in made.decisions} == {"bind"}
    world = kai.Cluster.from_snapshot(step(living.to_snapshot(), made, now=NOW), now=NOW)
    found = plan(world, {"actions": "stalegangeviction"})
    assert not found.decisions
    assert found.nodes == made.nodes


def test_cordoned_and_unready_nodes_have_no_room() -> None:
    living = kai.Cluster(now=NOW).node("n1", gpus=8).node("n2", gpus=8, ready=False)
    made = plan(living.cordon("n1"))
    assert made.nodes.room_for(gpus=1) == 0
    assert [node.state for node in made.nodes.values()] == ["cordoned", "not ready"]
    assert made.nodes.whole == ("n1", "n2")


def test_nodes_print_as_a_page() -> None:
    living = kai.Cluster(now=NOW).queue("a").node("n1", gpus=2).pending("a/x", gpu_fraction=0.25)
    nodes = plan(living).nodes
    assert repr(nodes).splitlines()[1:] == [
        "  node  GPUs  free  free parts  leaving  CPUs free  memory free",
        "  n1       2     1  0.75              0         64      512 GiB",
    ]
    assert "0.75" in nodes._repr_html_()
    assert repr(plan(kai.Cluster()).nodes) == "no nodes"


# ---- what differs --------------------------------------------------------------------------------


def test_equal_plans_have_no_differences() -> None:
    made = plan(two_queues().pending("a/x", gpus=1))
    again = kai.Scheduler().plan(two_queues().pending("a/x", gpus=1), now="2026-02-02T00:00:00Z")
    assert not made.diff(again)
    assert repr(made.diff(again)) == "<kai.PlanDiff: no differences>"
    assert str(made.diff(again)) == "no differences"


def test_differences_smaller_than_the_digits_that_are_shown_have_no_row() -> None:
    cluster = kai.Cluster().queue("a").queue("b").node("n", gpus=1, memory="4Ti")
    cluster.pending("a/big", memory="3Ti")
    before = kai.Scheduler().plan(cluster)
    diff = before.diff(kai.Scheduler().plan(cluster.pending("a/small", memory="1Mi")))
    assert ("a", "memory") in {(each.name, each.resource) for each in diff.queues}
    shown = diff.tables()[2].rows
    assert all(row[2] != row[3] for row in shown)
    assert "memory" not in str(shown)


def test_a_diff_has_groups_pods_and_queues() -> None:
    living = two_queues().pending("a/x", pods=2, gpus=1)
    before = plan(living)
    after = plan(living.copy().add_nodes(1, like="n1").remove("b").queue("c"))
    diff = before.diff(after)
    assert diff
    changes = {change.name: (change.before, change.after) for change in diff.groups}
    assert changes["a/x"] == ("unschedulable", "placed")
    assert [(c.name, c.group, c.before) for c in diff.pods] == [
        ("a/x-0", "a/x", None),
        ("a/x-1", "a/x", None),
    ]
    assert diff.pods[0].after == kai.Bind("a/x-0", "n2", 1)
    assert kai.QueueChange("b", "", "", 1, 0) in diff.queues
    assert kai.QueueChange("c", "", "", 0, 1) in diff.queues
    assert diff.to_dict()["pods"][0]["after"]["node"] == "n2"
    json.dumps(diff.to_dict())
    page = str(diff)
    assert "a/x           2  left as it is  bound to n2" in page
    assert "c        not there  there" in page
    assert "bound to n2" in diff._repr_html_()
    assert repr(diff).startswith("<kai.PlanDiff: 2 pod groups, 2 pods, 2 queues differ")


def test_pods_of_a_group_that_is_new_or_gone_are_not_left_as_they_are() -> None:
    without = kai.Cluster().queue("a").node("n1", gpus=1)
    before, after = plan(without), plan(without.copy().pending("a/x", gpus=1))
    assert "a/x           1  not there  bound to n1" in str(before.diff(after))
    assert "a/x           1  bound to n1  not there" in str(after.diff(before))


def test_the_reverse_diff_swaps_before_and_after() -> None:
    living = two_queues().pending("a/x", pods=2, gpus=1)
    one, other = plan(living), plan(living.copy().add_nodes(1, like="n1"))
    forth, back = one.diff(other), other.diff(one)
    assert [(c.after, c.before) for c in forth.pods] == [(c.before, c.after) for c in back.pods]
    assert [(c.after, c.before) for c in forth.groups] == [(c.before, c.after) for c in back.groups]
    assert [(c.after, c.before) for c in forth.queues] == [(c.before, c.after) for c in back.queues]


def test_a_diff_of_many_changes_prints_a_short_page() -> None:
    living = kai.Cluster(now=NOW).queue("a").nodes("n", 40, gpus=1)
    for number in range(40):
        living.pending(f"a/x{number:02d}", gpus=1)
    diff = plan(living).diff(plan(living.copy().cordon("n01").add_nodes(1, like="n40")))
    assert len(diff.pods) == 40
    assert "a/x00 and 39 more    40  bound   bound elsewhere" in str(diff)


# ---- frames --------------------------------------------------------------------------------------


def test_frames_equal_the_members_of_the_plan() -> None:
    living = two_queues().pending("a/x", pods=2, gpus=1).node("n2", gpus=1)
    living.releasing("b/goes", gpus=1, node="n2").pending("a/y", pods=1, gpus=1, min_member=3)
    made = plan(living)
    frames = made.to_frames()
    assert len(frames.decisions) == len(made.decisions)
    assert frames.queues.equals(made.queues.to_pandas())
    groups = frames.groups.set_index("pod_group")
    assert [*groups.index] == [*made.pod_groups]
    for name, group in made.pod_groups.items():
        row = groups.loc[name]
        assert (row["queue"], row["verdict"]) == (group.queue, group.verdict)
        if group.reasons:
            first = group.reasons[0]
            assert (row["reason"], row["message"]) == (first.code, first.message)
    assert groups.loc["b/old", ["pods", "running", "waiting"]].tolist() == [8, 8, 0]
    counts = groups.loc["a/x", ["pods", "pending", "bound", "pipelined", "waiting"]].tolist()
    assert counts == [2, 2, 0, 1, 1]
    assert groups["created"].dt.year.tolist() == [2025] * 4
    nodes = frames.nodes.set_index("node")
    for name, node in made.nodes.items():
        assert nodes.loc[name, "free_gpus"] == node.free_gpus
        assert nodes.loc[name, "gpus"] == node.gpus


def test_evicted_pods_are_counted_and_listed() -> None:
    living = (
        kai.Cluster(now=NOW)
        .queue("a", deserved_gpus=2)
        .queue("b", deserved_gpus=6)
        .node("n1", gpus=8)
        .running("b/bulk", pods=8, gpus=1, node="n1")
        .pending("a/train", pods=2, gpus=1, min_member=2)
    )
    made = plan(living)
    assert [each.pod for each in made.evictions] == ["b/bulk-7", "b/bulk-6"]
    assert made.to_frames().groups.set_index("pod_group")["evicted"].to_dict() == {
        "a/train": 0,
        "b/bulk": 2,
    }


def test_without_pandas_the_error_of_frames_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        plan(two_queues()).to_frames()


def test_many_groups_print_shortened() -> None:
    living = kai.Cluster(now=NOW).queue("a")
    for number in range(30):
        living.pending(f"a/x{number:02d}", gpus=1)
    shown = repr(plan(living).pod_groups)
    assert shown.startswith("{'a/x00': GroupPlan(name='a/x00', ")
    assert shown.endswith(", ... and 10 more}")
    assert shown.count("GroupPlan(") == 20


# ---- queues --------------------------------------------------------------------------------------


def test_queues_are_indented_below_their_parents() -> None:
    of = kai.Cluster(now=NOW).queue("top", deserved_gpus=2).queue("below", parent="top")
    queues = plan(of.node("n1", gpus=2).pending("below/x", gpus=1)).queues
    assert [line[:9] for line in repr(queues).splitlines()[2:4]] == ["  top    ", "    below"]
    assert "&nbsp;&nbsp;below</td>" in queues._repr_html_()
    # A copy does not refer to the plan, and so has no parents
    again = pickle.loads(pickle.dumps(queues))
    assert again == queues == copy.deepcopy(queues)
    assert "\n  below" in repr(again)


def test_a_queue_is_over_or_under_its_share() -> None:
    of = two_queues().pending("a/x", gpus=3)
    a, b = (plan(of).queues[name].gpu for name in "ab")
    assert (a.over_fair_share, a.part_of_fair_share) == (-a.fair_share, 0)
    assert b.over_fair_share == 8 - b.fair_share > 0
    assert b.part_of_fair_share == 8 / b.fair_share
    assert plan(of).queues["a"].memory.part_of_fair_share is None  # of nothing


# ---- frozen, copied, pickled ---------------------------------------------------------------------


def full() -> kai.Plan:
    living = two_queues().pending("a/x", pods=3, gpus=1).node("n2", gpus=1)
    living.pending("a/part", gpu_fraction=0.5).pending("b/y", pods=1, gpus=1, min_member=3)
    return plan(living)


def test_a_plan_cannot_be_changed() -> None:
    made = full()
    for name in ("input", "decisions", "rejected", "something_new", "situation", "_compiled"):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot be changed"):
            setattr(made, name, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.warnings


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.timing_ms.clear(),
        lambda p: p.timing.update(x=1),
        lambda p: p.spent_searches.setdefault("x", 1),
        lambda p: p.free_gpus.pop("n1"),
        lambda p: p.numa_zones_available.__setitem__("n1", ()),
        lambda p: p.pod_groups.__setitem__("a/x", None),
        lambda p: p.queues.__delitem__("a"),
        lambda p: p.nodes.__setitem__("n1", None),
        lambda p: p.decisions.append(None),
        lambda p: p.decisions.__setitem__(0, None),
        lambda p: setattr(p.decisions[0], "node", "n9"),
        lambda p: setattr(p.queues["a"].gpu, "limit", 1),
        lambda p: p.order.__setitem__(0, None),
        lambda p: p.pod_groups["a/x"].reasons[0].facts.update(x=1),
        lambda p: p.pod_groups["a/x"].reasons[0].facts.__setitem__("x", 1),
        lambda p: p.pod_groups["a/x"].reasons[0].facts.__ior__({"x": 1}),
        lambda p: p.timing["total"].counters.popitem(),
    ],
)
def test_values_of_a_plan_cannot_be_changed(change: Callable[[Any], Any]) -> None:
    made = full()
    before = made.to_dict()
    with pytest.raises((AttributeError, TypeError)):
        change(made)
    assert made.to_dict() == before


def test_copying_a_plan_returns_the_plan() -> None:
    made = full()
    assert copy.copy(made) is made
    assert copy.deepcopy(made) is made


@pytest.mark.parametrize("lives", [False, True])
def test_a_plan_can_be_pickled(lives: bool) -> None:
    living = two_queues().pending("a/x", pods=3, gpus=1).node("n2", gpus=1)
    if lives:
        living.cordon("n2").uncordon("n2")
    made = plan(living)
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert type(again) is kai.Plan
    assert again.to_json() == made.to_json()
    assert str(again) == str(made)
    assert repr(again) == repr(made)
    assert again.why("a/x") == made.why("a/x")
    assert again.order == made.order
    assert again.nodes == made.nodes
    assert again.timing == made.timing
    assert not again.diff(made)
    assert again.to_frames().groups.equals(made.to_frames().groups)
    assert pickle.loads(pickle.dumps(again)) == made


ARGUMENTS: dict[str, dict[str, Any]] = {
    "outlines": {"names": ["a/x"]},
    "decision_rows": {"most": 12},
    "find_groups": {"name": "a/x"},
    "groups": {"names": ["a/x"], "evictions": True},
    "places": {"names": ["a/x"]},
    "holders": {"names": ["a/x"]},
    "domains": {"names": ["a/x"]},
    "protection": {"names": ["a/x"]},
}


def test_a_pickled_plan_has_all_methods_of_a_compiled_plan() -> None:
    made = full()
    again = pickle.loads(pickle.dumps(made))
    names = [name for name in dir(made._compiled) if not name.startswith("_")]
    plans_again = ("find_pods", "scores", "with_change", "start_alone")
    for name in (*plans_again, "possible_nodes", "holdings"):
        names.remove(name)
    assert len(names) > 15
    for name in names:
        mine, kept = getattr(made._compiled, name), getattr(again._compiled, name)
        arguments = ARGUMENTS.get(name, {})
        if callable(mine) and name not in ("decisions", "to_json"):
            assert kept(**arguments) == mine(**arguments), name
    for name in ("nothing", "x", "a/x", "a/x-0", "x-0"):
        assert again.situation.find_groups(name) == made.situation.find_groups(name)
    with pytest.raises(AttributeError):
        _ = again._compiled.nonsense


def test_values_of_a_plan_can_be_pickled() -> None:
    made = full()
    for value in (*made.decisions, *made.pod_groups.values(), *made.order, *made.nodes.values()):
        assert pickle.loads(pickle.dumps(value)) == value
    assert pickle.loads(pickle.dumps(made.queues)) == made.queues
    assert pickle.loads(pickle.dumps(made.timing)) == made.timing


def test_an_explanation_is_shown_as_lines_in_a_notebook() -> None:
    waits = plan(two_queues().pending("a/x<y", gpus=1)).why("a/x<y")
    first, *others = waits._repr_html_().removesuffix("</p>").split("<br>")  # type: ignore[attr-defined]
    assert first == "<p><b>a/x&lt;y waits in queue a.</b>"
    assert others == [line.strip() for line in waits.splitlines()[1:]]
    assert pickle.loads(pickle.dumps(waits)) == waits == str(waits)
