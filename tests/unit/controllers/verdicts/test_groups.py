"""Conditions, time stamps and events of pod groups."""

from typing import Any

import pytest
from world import ATTAINED, LAST_EVICTION, LAST_START, STALE, World

from kai.api.writes import Lane, Result
from kai.controllers.verdicts import Eviction, Verdict

G = "team/gang"
FULL = "PodSchedulingErrors: Resources were found for 2 pods while 4 are required."
FULLER = FULL.replace("2", "3")
LIMIT = "OverLimit: team quota has reached the allowable limit of GPUs."
REASONS = ({"reason": "PodSchedulingErrors", "message": "Resources were found"},)
STARTED, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:07Z"


def waits(text: str = FULL, **members: Any) -> Verdict:
    return Verdict(G, "unschedulable", text, REASONS)._replace(**members)


PLACED = Verdict(G, "placed")


@pytest.fixture
def world() -> World:
    made = World()
    made.add_group(G)
    return made


def last(world: World) -> Any:
    return world.groups[G]["conditions"][-1]


def test_the_first_verdict_is_written_at_once(world: World) -> None:
    [write] = world.decide(groups=[waits()])
    assert (write.lane, write.verb, write.kind) == (Lane.CONDITION, "patch", "PodGroup")
    assert (write.namespace, write.name, write.subresource) == ("team", "gang", "status")
    assert write.patch_type == "merge"
    assert write.body == {
        "metadata": {"uid": "uid-team/gang"},
        "status": {
            "schedulingConditions": [
                {
                    "type": "UnschedulableOnNodePool",
                    "status": "True",
                    "nodePool": "default",
                    "reason": "Unschedulable",
                    "message": FULL,
                    "transitionID": "1",
                    "lastTransitionTime": "2027-01-15T08:00:00Z",
                    "reasons": list(REASONS),
                }
            ]
        },
    }
    [event] = world.events
    assert (event.kind, event.name, event.type) == ("PodGroup", "gang", "Normal")
    assert (event.reason, event.message) == ("Unschedulable", FULL)


def test_the_same_verdict_is_written_once(world: World) -> None:
    for _ in range(200):
        world.turn(groups=[waits()])
        world.wait(1)
    assert (len(world.sent), len(world.events)) == (1, 1)


def test_other_counts_are_written_once_a_minute_and_the_number_goes_up(world: World) -> None:
    for count in range(130):
        world.turn(groups=[waits(FULL.replace("2", str(count + 10)))])
        world.wait(1)
    assert len(world.sent) == 3
    assert last(world)["transitionID"] == "3"
    assert len(world.events) == 1


@pytest.mark.parametrize(
    ("written", "next_id"), [("7", "8"), ("", "1"), ("-3", "1"), ("many", "1"), ("²", "1")]
)
def test_the_number_goes_on_from_the_last_entry(world: World, written: str, next_id: str) -> None:
    entry = {"type": "UnschedulableOnNodePool", "nodePool": "other", "transitionID": written}
    world.groups[G]["conditions"] = [entry]
    world.turn(groups=[waits()])
    assert last(world)["transitionID"] == next_id


def entry(pool: str, number: str, text: str = FULL) -> dict[str, Any]:
    return {
        **{"type": "UnschedulableOnNodePool", "status": "True", "nodePool": pool},
        **{"reason": "Unschedulable", "message": text, "transitionID": number},
    }


def test_entries_of_other_node_pools_stay_and_the_new_one_is_last(world: World) -> None:
    """The worked example of spec 5 A21."""
    world.add_group(G, conditions=[entry("a", "7"), entry("b", "8")], pool="a")
    world.turn(groups=[waits()])
    found = [(each["nodePool"], each["transitionID"]) for each in world.groups[G]["conditions"]]
    assert found == [("b", "8"), ("a", "9")]
    world.decide(groups=[waits()])
    assert world.send() == []


def test_entries_of_one_node_pool_are_merged(world: World) -> None:
    conditions = [entry("default", "1", LIMIT), entry("default", "2", LIMIT)]
    world.groups[G]["conditions"] = conditions
    world.decide(groups=[waits()])
    world.wait(1)
    assert [each["message"] for each in world.groups[G]["conditions"]] == [FULL]


def test_conditions_of_an_earlier_leader_are_not_written_again(world: World) -> None:
    world.groups[G]["conditions"] = [entry("default", "4")]
    assert world.decide(groups=[waits()]) == []
    assert world.events == []


@pytest.mark.parametrize("verdict", ["placed", "running"])
def test_the_condition_of_a_group_that_no_longer_waits_is_removed_at_once(
    world: World, verdict: str
) -> None:
    world.turn(groups=[waits()])
    [write] = world.decide(groups=[Verdict(G, verdict)])
    assert write.body["status"] == {"schedulingConditions": None}  # type: ignore[index,call-overload]
    world.send()
    assert world.groups[G]["conditions"] == []
    assert world.decide(groups=[Verdict(G, verdict)]) == []


def test_a_pipelined_group_keeps_its_condition(world: World) -> None:
    world.turn(groups=[waits()])
    assert world.decide(groups=[Verdict(G, "pipelined")]) == []


def test_an_unsent_condition_is_cancelled(world: World) -> None:
    world.decide(groups=[waits()])
    world.turn(groups=[PLACED])
    assert world.groups[G]["conditions"] == []


def test_a_group_with_running_pods_gets_only_the_event(world: World) -> None:
    world.groups[G]["holds"] = True
    assert world.decide(groups=[waits()]) == []
    assert world.decide(groups=[waits(FULLER)]) == []
    assert world.events_of("Unschedulable") == [("Unschedulable", FULL)]


def test_a_condition_about_a_waiting_group_is_removed_when_a_pod_runs(world: World) -> None:
    world.turn(groups=[waits()])
    world.turn(groups=[waits(verdict="partly_placed")])
    assert world.groups[G]["conditions"] == []


def not_ready(exist: int) -> Verdict:
    text = f"Job is not ready for scheduling. Waiting for 4 pods, currently {exist} exist"
    return Verdict(G, "not_ready", text)


def test_a_gang_whose_pods_are_created_within_a_second_is_never_not_ready(world: World) -> None:
    for exist in (1, 2, 3):
        world.decide(groups=[not_ready(exist)])
        world.wait(0.2)
    world.decide(groups=[PLACED])
    world.wait(10)
    assert world.events == []


def test_not_ready_is_written_once_with_its_first_counts(world: World) -> None:
    for exist in (1, 2, 3):
        world.decide(groups=[not_ready(exist)])
        world.wait(0.6)
    [(_, text)] = world.events_of("NotReady")
    assert "currently 2 exist" in text
    world.wait(100)
    world.decide(groups=[not_ready(2)])
    world.wait(100)
    assert len(world.events) == 1


def stale(text: str, since: str | None = None) -> Verdict:
    return Verdict(G, "running", stale=text, stale_since=since)


def test_a_broken_gang_is_reported_as_stale_once(world: World) -> None:
    text = "Job is stale. 2 pods are active, minMember is 3"
    world.turn(groups=[stale(text, STARTED)])
    world.decide(groups=[stale(text, LATER)])
    world.turn(groups=[stale(text.replace("2", "1"))])
    assert world.groups[G]["stamps"] == {STALE: STARTED}
    assert world.events_of("StaleJob") == [("StaleJob", text)]
    world.turn(groups=[Verdict(G, "running", stale_since="")])
    assert world.groups[G]["stamps"] == {}
    world.turn(groups=[stale(text, LATER)])
    assert world.groups[G]["stamps"] == {STALE: LATER}
    assert len(world.events_of("StaleJob")) == 2


def test_a_plan_that_lacks_the_time_stamp_does_not_move_it(world: World) -> None:
    world.show()
    world.decide(groups=[stale("x", STARTED)])
    world.turn(groups=[stale("x", LATER)])
    world.turn(groups=[stale("x", LATER)])
    assert world.groups[G]["stamps"] == {STALE: STARTED}
    assert len(world.sent) == 1


def test_a_status_write_does_not_replace_a_time_stamp_write(world: World) -> None:
    """The hazard of spec 6 C47."""
    world.decide(groups=[waits(last_start=STARTED)])
    world.decide(groups=[waits(LIMIT)])
    world.decide(groups=[stale("x", LATER)])
    keys = {each.key for each in world.queue}
    assert keys == {"conditions-of-group/team/gang", "stamps-of-group/team/gang"}
    world.send()
    assert world.groups[G]["stamps"] == {LAST_START: STARTED, STALE: LATER}
    assert world.groups[G]["conditions"] == []


def test_time_stamps_survive_an_early_return(world: World) -> None:
    """KAI drops them for a group that is not ready (spec 6 C46)."""
    world.turn(groups=[not_ready(2)._replace(stale_since=STARTED)])
    assert world.groups[G]["stamps"] == {STALE: STARTED}


def test_an_existing_time_stamp_is_not_written_again(world: World) -> None:
    world.groups[G]["stamps"] = {LAST_START: STARTED}
    assert world.decide(groups=[PLACED._replace(last_start=STARTED)]) == []


def test_the_attained_service_of_a_group_is_written_once(world: World) -> None:
    received = "run=60 gpu=120 evictions=1 until=2026-01-01T00:00:00Z"
    lost_pods = waits()._replace(attained=received)
    world.turn(groups=[lost_pods])
    assert world.groups[G]["stamps"] == {ATTAINED: received}
    assert world.decide(groups=[lost_pods]) == []
    assert world.decide(groups=[waits()]) == []
    assert world.groups[G]["stamps"] == {ATTAINED: received}


def test_a_group_with_all_fields_written_causes_no_write(world: World) -> None:
    world.groups[G]["stamps"] = {ATTAINED: "run=60"}
    assert world.decide(groups=[PLACED._replace(attained="run=60")]) == []


@pytest.mark.parametrize("result", [Result.FAILED, Result.LOST])
def test_writes_that_failed_are_sent_again(world: World, result: Result) -> None:
    world.decide(groups=[waits(last_start=STARTED)])
    world.send(result)
    assert world.decide(groups=[waits(LIMIT, stale_since=LATER)]) == []  # not before its time
    world.wait(1.1)
    assert world.groups[G]["stamps"] == {LAST_START: STARTED, STALE: LATER}
    assert last(world)["message"] == LIMIT
    assert len(world.sent) == 4


def eviction(**members: Any) -> Eviction:
    return Eviction(
        **{
            **{
                "pod": "team/a-2",
                "uid": "u",
                "action": "reclaim",
                "message": "Pod team/a-2 was ...",
            },
            **{"group": G, "for_group": "other/pg-b", "together": 2, "at": STARTED},
            **members,
        }
    )


def test_an_eviction_is_reported_counted_and_stamped_once_it_is_done(world: World) -> None:
    world.take(world.verdicts.evicted(world.now, eviction(), world))
    world.take(world.verdicts.evicted(world.now, eviction(pod="team/a-1"), world))
    world.send()
    assert world.groups[G]["stamps"] == {LAST_EVICTION: STARTED}
    assert len(world.sent) == 1
    event = world.events[0]
    assert (event.kind, event.name, event.uid, event.type) == (
        *("PodGroup", "gang", "uid-team/gang"),
        "Normal",
    )
    assert (event.reason, event.message) == ("Evict", "Pod team/a-2 was ...")
    assert event.annotations == {
        "num-evicted-pods": "2",
        "evictor-action-type": "reclaim",
        "evictor-pod-group-name": "pg-b",
        "evictor-pod-group-namespace": "other",
    }
    assert world.evicted[0] == {
        **{"podgroup": "gang", "namespace": "team", "uid": "uid-team/gang"},
        **{"nodepool": "default", "action": "reclaim"},
    }
    assert len(world.evicted) == 2


def test_a_stale_gang_is_evicted_without_a_time_stamp_and_for_no_group(world: World) -> None:
    made = eviction(action="stalegangeviction", for_group=None, at="")
    world.take(world.verdicts.evicted(world.now, made, world))
    assert world.queue == []
    assert set(world.events[0].annotations) == {"num-evicted-pods", "evictor-action-type"}


def test_a_later_eviction_moves_the_time_stamp_and_an_earlier_one_does_not(world: World) -> None:
    for at in (LATER, STARTED):
        world.take(world.verdicts.evicted(world.now, eviction(at=at), world))
        world.send()
    assert world.groups[G]["stamps"] == {LAST_EVICTION: LATER}


def test_a_recreated_group_has_no_state(world: World) -> None:
    world.decide(groups=[waits()])
    world.add_group(G, uid="another")
    world.send()
    assert world.groups[G]["conditions"] == []
    world.turn(groups=[waits()])
    assert last(world)["message"] == FULL


def test_changes_by_another_client_are_corrected_within_a_minute(world: World) -> None:
    world.turn(groups=[waits()])
    world.groups[G]["conditions"] = []
    for _ in range(61):
        world.decide()  # no news
        world.send()
        world.wait(1)
    assert last(world)["message"] == FULL


def test_a_group_that_no_longer_waits_is_forgotten(world: World) -> None:
    world.turn(groups=[waits(last_start=STARTED)])
    world.turn(groups=[PLACED])
    assert len(world.verdicts) == 1
    world.wait(61)
    assert len(world.verdicts) == 0


def test_running_groups_keep_no_state(world: World) -> None:
    names = [f"team/g-{number}" for number in range(100)]
    for name in names:
        world.add_group(name)
    assert world.decide(groups=[Verdict(name, "running") for name in names]) == []
    world.wait(11)
    assert len(world.verdicts) == 0


def test_a_group_that_does_not_exist_yet_is_skipped() -> None:
    world = World()
    assert world.decide(groups=[waits(last_start=STARTED)]) == []
    assert len(world.verdicts) == 0


def test_a_short_lived_message_is_not_written(world: World) -> None:
    """A new node is not ready at first."""
    world.turn(groups=[waits()])
    world.wait(10)
    world.decide(groups=[waits(LIMIT)])
    world.wait(0.1)
    world.decide(groups=[waits()])
    world.wait(10)
    assert (len(world.sent), len(world.events)) == (1, 1)
    world.decide(groups=[waits(LIMIT)])
    world.wait(1)
    assert last(world)["message"] == LIMIT


def test_the_verdict_of_a_group_created_after_its_plan_is_late(world: World) -> None:
    made = world.groups.pop(G)
    assert world.decide(groups=[waits()]) == []
    assert world.decide() == []  # a plan without news about it
    assert not world.verdicts.is_late(["team/another"])
    world.groups[G] = made
    assert world.verdicts.is_late([G])
    assert len(world.decide(groups=[waits()])) == 1
    assert not world.verdicts.is_late([G])


def test_the_start_of_a_group_that_is_created_after_its_plan_is_written(world: World) -> None:
    made = world.groups.pop(G)
    world.decide(groups=[Verdict(G, "placed", last_start="2027-01-15T08:00:00Z")])
    world.decide(groups=[Verdict(G, "running")])
    world.groups[G] = made
    assert world.verdicts.is_late([G])
    world.turn(groups=[Verdict(G, "running")])
    assert world.groups[G]["stamps"] == {LAST_START: "2027-01-15T08:00:00Z"}


def test_a_group_with_running_pods_loses_its_condition_with_the_same_verdict(
    world: World,
) -> None:
    world.turn(groups=[waits()])
    world.groups[G]["holds"] = True
    [write] = world.decide(groups=[waits()])
    assert write.body["status"] == {"schedulingConditions": None}  # type: ignore[index,call-overload]


def test_a_group_without_pods_waits_for_no_pod(world: World) -> None:
    world.turn(groups=[waits()])
    world.turn(groups=[Verdict(G, "not_ready")])
    world.wait(5)
    assert world.groups[G]["conditions"] == []
    assert {each.reason for each in world.events} == {"Unschedulable"}
