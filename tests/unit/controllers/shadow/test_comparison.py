"""Decisions of another scheduler compared with plans of the same cluster, one situation per
test."""

from dataclasses import replace

import pytest
from beside import Chosen, OtherScheduler, bind, evict

from kai.controllers.shadow import GroupSeen, PodSeen

LEFT_OUT = {"team/a": "gpu-fraction: half is not a number"}


@pytest.fixture
def other() -> OtherScheduler:
    return OtherScheduler(patience=10.0)


# ---- binds ---------------------------------------------------------------------------------------


def test_a_bind_request_for_the_node_of_the_plan_is_the_same_decision(
    other: OtherScheduler,
) -> None:
    other.plan(a=bind("n1"))
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: same"]
    other.plan()
    other.binds("a", "n1")  # the BindRequest is carried out
    assert other.outcomes() == []


def test_the_node_of_a_pod_is_a_decision_without_bind_requests(other: OtherScheduler) -> None:
    other.plan(a=bind("n1"))
    other.binds("a", "n1")
    assert other.outcomes() == ["bind a: same"]


def test_pods_bound_before_the_first_plan_are_not_compared(other: OtherScheduler) -> None:
    other.waits("a")
    other.asks_for("a", "n1")
    other.runs("b", "n2")
    other.plan()
    other.binds("a", "n1")
    assert other.outcomes() == []


def test_a_pod_that_waited_in_no_plan_is_not_compared(other: OtherScheduler) -> None:
    other.plan()
    other.waits("a")
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: not_compared"]


def test_a_pod_without_its_group_is_in_no_plan(other: OtherScheduler) -> None:
    """The group, its name on the pod, and the BindRequest all arrive between two plans."""
    other.waits("a", group="g")
    other.plan()
    other.comparison.group(other.now, None, GroupSeen("team/g", ""))
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: not_compared"]


def test_a_pod_without_a_group_annotation_is_in_no_plan(other: OtherScheduler) -> None:
    other.plan()
    nameless = PodSeen(*("team/a", "uid-a", "", "", frozenset(), False, False, False, "one GPU"))
    other.pods["a"] = replace(nameless, group="team/g")
    other.comparison.pod(other.now, None, nameless)
    other.plan()
    other.comparison.pod(other.now, nameless, other.pods["a"])
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: not_compared"]


def test_a_decision_may_match_an_earlier_plan(other: OtherScheduler) -> None:
    """b arrived just before a was bound, and the other scheduler has not seen it."""
    other.plan(a=bind("n1"))
    other.after(0.5)
    other.plan(b=bind("n1"))
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: same, because of earlier_state"]


def test_an_old_plan_does_not_count(other: OtherScheduler) -> None:
    other.plan(a=bind("n1"))
    other.after(1.0)
    other.plan(a=bind("n2"))
    other.after(5.0)
    other.plan(a=bind("n2"))
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: other_node, because of unknown"]


def test_equal_pods_of_a_group_may_swap_nodes(other: OtherScheduler) -> None:
    other.waits("a", "b", group="gang", shape="one GPU")
    other.plan(a=bind("n1"), b=bind("n2"))
    other.asks_for("a", "n2")
    assert other.outcomes() == ["bind a: other_node, because of alike"]


def test_different_pods_of_a_group_may_not_swap_nodes(other: OtherScheduler) -> None:
    other.waits("a", group="gang", shape="one GPU")
    other.waits("b", group="gang", shape="two GPUs")
    other.plan(a=bind("n1"), b=bind("n2"))
    other.asks_for("a", "n2")
    assert other.outcomes() == ["bind a: other_node, because of unknown"]


def test_the_room_of_the_first_pod_goes_to_another_pod(other: OtherScheduler) -> None:
    other.waits("a", "b")
    other.plan(a=bind("n1"))
    other.asks_for("b", "n1")
    [found] = other.compared()
    assert (found.outcome, found.ours, found.theirs) == ("order", "wait", "bind to n1")


def test_a_pod_without_room_in_the_plan(other: OtherScheduler) -> None:
    other.waits("a")
    other.plan()
    other.reasons["team/a"] = "over_limit"
    other.asks_for("a", "n1")
    [found] = other.compared()
    assert (found.outcome, found.reason) == ("extra", "over_limit")


def test_a_failed_bind_request_and_the_next_one_are_two_decisions(other: OtherScheduler) -> None:
    other.plan(a=bind("n1"))
    other.asks_for("a", "n1")
    other.plan()
    other.fails("a")
    other.after(1.0)
    other.plan(a=bind("n1"))
    other.takes_back("a")
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: same", "bind a: same"]


def test_pods_of_other_node_pools_are_not_compared(other: OtherScheduler) -> None:
    """The label of its pod group counts; the pod may lack it."""
    other.plan()
    other.comparison.group(other.now, None, GroupSeen("team/a", "", "blue"))
    other.waits("a")
    other.plan()
    other.asks_for("a", "n1")
    other.binds("a", "n1")
    other.evicts("a")
    assert other.outcomes() == []


def test_a_recreated_pod_is_a_different_pod(other: OtherScheduler) -> None:
    other.plan(a=bind("n1"))
    other.asks_for("a", "n1")
    other.waits("a")
    other.plan(a=bind("n2"))
    other.asks_for("a", "n2")
    assert other.outcomes() == ["bind a: same", "bind a: same"]


# ---- shared devices ------------------------------------------------------------------------------


def test_the_name_of_a_new_shared_device_does_not_matter(other: OtherScheduler) -> None:
    other.plan(a=bind("n1", "new-0"))
    other.asks_for("a", "n1", "5c1e")
    assert other.outcomes() == ["bind a: same"]


def test_pods_that_share_a_new_device_in_both_have_equal_placements(other: OtherScheduler) -> None:
    """Both BindRequests arrive before the next plan."""
    other.plan(a=bind("n1", "new-0"), b=bind("n1", "new-0"))
    other.asks_for("a", "n1", "5c1e")
    other.asks_for("b", "n1", "5c1e")
    assert other.outcomes() == ["bind a: same", "bind b: same"]


def test_an_unshared_device_differs_from_a_shared_device(other: OtherScheduler) -> None:
    other.plan(a=bind("n1", "new-0"), b=bind("n1", "new-0"))
    other.asks_for("a", "n1", "5c1e")
    other.asks_for("b", "n1", "77ab")
    found = ["bind a: same", "bind b: other_devices, because of unknown"]
    assert other.outcomes() == found


def test_a_known_device_is_compared_by_name(other: OtherScheduler) -> None:
    other.plan()
    other.runs("x", "n1")
    other.runs("y", "n1")
    other.binds("x", "n1", "one")
    other.binds("y", "n1", "two")
    other.compared()
    other.plan(a=bind("n1", "one"), b=bind("n1", "one"))
    other.asks_for("a", "n1", "one")
    other.asks_for("b", "n1", "two")
    found = ["bind a: same", "bind b: other_devices, because of unknown"]
    assert other.outcomes() == found


def test_a_device_without_pods_is_no_longer_known(other: OtherScheduler) -> None:
    other.runs("x", "n1")
    other.binds("x", "n1", "one")
    other.plan()
    other.removes("x")
    other.plan(a=bind("n1", "new-0"))
    other.asks_for("a", "n1", "one")
    assert other.outcomes() == ["bind a: same"]


# ---- what does not happen ------------------------------------------------------------------------


def test_a_bind_that_does_not_happen_is_missed_once(other: OtherScheduler) -> None:
    other.plan(a=bind("n1"))
    other.after(9.0)
    assert other.outcomes() == []
    other.plan(a=bind("n2"))
    other.after(1.0)
    assert other.outcomes() == ["bind a: missed, because of unknown"]
    other.after(20.0)
    assert other.outcomes() == []


def test_a_bind_that_later_plans_drop_is_not_missed(other: OtherScheduler) -> None:
    other.plan(a=bind("n1"))
    other.after(6.0)
    other.plan()
    other.after(1.0)
    other.plan(a=bind("n1"))
    other.after(6.0)
    assert other.outcomes() == []


def test_a_missed_bind_that_happens_later_is_late(other: OtherScheduler) -> None:
    other.plan(a=bind("n1"))
    other.after(10.0)
    other.asks_for("a", "n1")
    found = ["bind a: missed, because of unknown", "bind a: same, because of late"]
    assert other.outcomes() == found


def test_the_next_tick_is_when_a_decision_becomes_missed(other: OtherScheduler) -> None:
    assert other.comparison.next_tick() is None
    other.plan(a=bind("n1"))
    assert other.comparison.next_tick() == other.now + 10.0


# ---- evictions -----------------------------------------------------------------------------------


def test_a_victim_of_both_schedulers_is_the_same_decision(other: OtherScheduler) -> None:
    other.runs("low", "n1")
    other.plan(low=evict())
    other.evicts("low")
    assert other.outcomes() == ["evict low: same"]


def test_a_pod_deleted_by_a_user_is_not_a_victim(other: OtherScheduler) -> None:
    other.runs("low", "n1")
    other.plan()
    other.evicts("low", stamped=False)
    other.removes("low")
    other.after(10.0)
    assert other.outcomes() == []


def test_the_eviction_stamp_may_follow_the_deletion_of_the_pod(other: OtherScheduler) -> None:
    other.runs("low", "n1")
    other.plan(low=evict())
    other.evicts("low", stamped=False)
    group = other.pods["low"].group
    other.removes("low")
    other.after(3.0)
    other.plan()
    other.stamps(group)
    assert other.outcomes() == ["evict low: same"]


def test_a_preemption_by_kube_scheduler_is_an_extra_eviction(other: OtherScheduler) -> None:
    other.runs("low", "n1")
    other.plan()
    other.preempts("low")
    assert other.outcomes() == ["evict low: extra, because of unknown"]


def test_a_pod_of_a_stale_gang_is_a_victim_without_a_time_stamp(other: OtherScheduler) -> None:
    other.runs("left", "n1")
    other.plan(left=evict("", action="stalegangeviction"))
    other.evicts("left", stamped=False)
    assert other.outcomes() == ["evict left: same"]


def test_the_group_of_a_victim_may_be_deleted_before_its_stamp(other: OtherScheduler) -> None:
    """The group of a bare pod is deleted with it."""
    other.runs("low", "n1")
    group = GroupSeen("team/low", "")
    other.comparison.group(other.now, None, group)
    other.plan(low=evict())
    other.evicts("low", stamped=False)
    assert other.outcomes() == []
    other.removes("low")
    other.comparison.group(other.now, group, None)
    assert other.outcomes() == ["evict low: same"]


def test_a_pod_deleted_by_a_user_is_not_a_victim_of_the_plan(other: OtherScheduler) -> None:
    """Its group exists, and has no time stamp."""
    other.runs("low", "n1", group="gang")
    other.comparison.group(other.now, None, GroupSeen("team/gang", ""))
    other.plan(low=evict())
    other.evicts("low", stamped=False)
    other.plan()
    other.after(10.0)
    assert other.outcomes() == []


def test_an_equal_victim_of_the_same_group(other: OtherScheduler) -> None:
    other.runs("low-0", "n1", group="low", shape="one GPU")
    other.runs("low-1", "n1", group="low", shape="one GPU")
    other.plan(low_1=evict())
    other.evicts("low-0")
    assert other.outcomes() == ["evict low-0: other_victim, because of alike"]


def test_a_different_victim(other: OtherScheduler) -> None:
    other.runs("low", "n1")
    other.runs("mid", "n1")
    other.plan(low=evict())
    other.evicts("mid")
    assert other.outcomes() == ["evict mid: other_victim, because of unknown"]


def test_an_eviction_is_missed_although_its_victim_changes(other: OtherScheduler) -> None:
    other.runs("low", "n1")
    other.runs("mid", "n1")
    other.plan(low=evict("team/high"))
    other.after(6.0)
    other.plan(mid=evict("team/high"))
    other.after(6.0)
    assert other.outcomes() == ["evict mid: missed, because of unknown"]


# ---- causes --------------------------------------------------------------------------------------


def test_node_names_break_ties(other: OtherScheduler) -> None:
    replay = other.plan(a=bind("n1"))
    replay.renamed = {("n1", "n2"): {"team/a": bind("n1")}}  # n2 before the renaming
    other.asks_for("a", "n2")
    assert other.outcomes() == ["bind a: other_node, because of equal_score"]


def test_one_switch_explains_a_difference(other: OtherScheduler) -> None:
    replay = other.plan(a=bind("n1"))
    replay.otherwise = lambda switches: {"team/a": bind("n2" if "two" in switches else "n1")}
    other.asks_for("a", "n2")
    assert other.outcomes() == ["bind a: other_node, because of switch two"]


def test_two_switches_explain_a_difference_together(other: OtherScheduler) -> None:
    other.waits("a")
    replay = other.plan()
    replay.otherwise = lambda switches: (
        {"team/a": bind("n1")} if {"one", "three"} <= {*switches} else {}
    )
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: extra, because of switch one three"]


def test_a_switch_explains_a_missed_decision() -> None:
    other = OtherScheduler(patience=1.0)
    replay = other.plan(a=bind("n1"))
    replay.otherwise = lambda switches: {} if "one" in switches else {"team/a": bind("n1")}
    other.after(1.0)
    assert other.outcomes() == ["bind a: missed, because of switch one"]


def test_a_switch_explains_a_victim(other: OtherScheduler) -> None:
    other.runs("low", "n1")
    replay = other.plan()
    replay.otherwise = lambda switches: {"team/low": evict()} if "three" in switches else {}
    other.evicts("low")
    assert other.outcomes() == ["evict low: extra, because of switch three"]


def test_an_invalid_object_explains_a_difference(other: OtherScheduler) -> None:
    other.waits("a")
    replay = other.plan(left_out=LEFT_OUT)
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: extra, because of left_out"]
    assert replay.tried == []  # nothing is planned again for it


def test_an_unread_kind_explains_a_difference(other: OtherScheduler) -> None:
    other.waits("a")
    other.plan()
    other.reasons["team/a"] = "volume_not_ready"
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: extra, because of not_read"]


def test_equal_decisions_need_no_further_plan(other: OtherScheduler) -> None:
    replay = other.plan(a=bind("n1"))
    other.asks_for("a", "n1")
    assert other.outcomes() == ["bind a: same"]
    assert replay.tried == []


def test_a_pipelined_pod_differs_from_a_bound_pod(other: OtherScheduler) -> None:
    other.plan(a=Chosen("pipeline", "n1"))
    other.asks_for("a", "n1")
    [found] = other.compared()
    assert (found.outcome, found.ours) == ("extra", "wait for room on n1")
