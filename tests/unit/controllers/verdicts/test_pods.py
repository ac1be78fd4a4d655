"""Conditions, promises and events of pods."""

import pytest
from world import World

from kai.api.writes import Lane, Result
from kai.controllers.verdicts import Condition

A = "team/a"
FULL = "no nodes with enough resources were found: 3 node(s) didn't have enough resources: GPUs."
FULLER = FULL.replace("3", "4")
LIMIT = "OverLimit: team quota has reached the allowable limit of GPUs."


def waiting(text: str = FULL) -> Condition:
    return Condition("False", "Unschedulable", text)


@pytest.fixture
def world() -> World:
    made = World()
    made.add_pod(A)
    return made


def test_the_first_verdict_is_written_at_once(world: World) -> None:
    [write] = world.decide(waiting={A: FULL})
    assert (write.lane, write.verb, write.kind) == (Lane.CONDITION, "patch", "Pod")
    assert (write.namespace, write.name, write.subresource) == ("team", "a", "status")
    assert write.patch_type == "strategic"
    assert write.body == {
        "metadata": {"uid": "uid-team/a"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": FULL,
                    "lastTransitionTime": "2027-01-15T08:00:00Z",
                }
            ]
        },
    }
    [event] = world.events
    assert (event.kind, event.name, event.uid) == ("Pod", "a", "uid-team/a")
    assert (event.type, event.reason, event.message) == ("Warning", "Unschedulable", FULL)


def test_the_same_verdict_is_written_once(world: World) -> None:
    for _ in range(200):
        world.turn(waiting={A: FULL})
        world.wait(1)
    assert len(world.sent) == 1
    assert len(world.events) == 1


def test_conditions_of_an_earlier_leader_are_not_written_again(world: World) -> None:
    world.pods[A]["conditions"]["PodScheduled"] = waiting()
    assert world.decide(waiting={A: FULL}) == []
    assert world.events == []


def test_other_counts_are_written_once_a_minute_without_an_event(world: World) -> None:
    world.turn(waiting={A: FULL})
    for second in range(1, 181):
        world.turn(waiting={A: FULL.replace("3", str(second + 3))})
        world.wait(1)
    assert [at - world.sent[0][0] for at, _ in world.sent] == [0, 60, 120, 180]
    assert len(world.events) == 1
    assert world.condition(A) == waiting(FULL.replace("3", "183"))


def test_a_rewrite_leaves_the_time_of_the_transition(world: World) -> None:
    world.turn(waiting={A: FULL})
    world.decide(waiting={A: LIMIT})
    [write] = world.wait(5)
    [condition] = write.body["status"]["conditions"]  # type: ignore[index,call-overload]
    assert "lastTransitionTime" not in condition


def test_another_reason_is_written_soon_with_an_event(world: World) -> None:
    world.turn(waiting={A: FULL})
    world.wait(1)
    world.decide(waiting={A: LIMIT})
    assert world.condition(A) == waiting()
    world.wait(1)
    assert world.condition(A) == waiting(LIMIT)
    assert [text for _, text in world.events_of("Unschedulable")] == [FULL, LIMIT]


def test_an_alternating_message_is_written_less_and_less_often(world: World) -> None:
    for second in range(600):
        world.turn(waiting={A: (FULL, LIMIT)[second % 2]})
        world.wait(1)
    # 2, 4, 8, 16, 32 s after the last one, then a minute
    assert len(world.sent) <= 16
    assert len(world.events) == len(world.sent)


def test_a_message_that_returns_in_time_is_not_written(world: World) -> None:
    world.turn(waiting={A: FULL})
    world.decide(waiting={A: LIMIT})
    world.decide(waiting={A: FULL})
    assert world.wait(100) == []


def test_new_counts_of_thousands_of_pods_are_written_five_a_second() -> None:
    world = World()
    names = [f"team/p-{number}" for number in range(2000)]
    for name in names:
        world.add_pod(name)
    world.decide(waiting=dict.fromkeys(names, FULL))
    assert len(world.send()) == 500
    world.wait(0)  # the others follow at once
    assert len(world.sent) == 2000
    world.sent.clear()
    for second in range(180):
        world.decide(waiting=dict.fromkeys(names, FULL.replace("3", str(second + 4))))
        world.wait(1)
    assert 500 <= len(world.sent) <= 5 * 121 + 10
    assert len(world.events) == 2000
    assert len({write.name for _, write in world.sent}) == len(world.sent)  # each once


def test_pods_of_a_group_that_disables_marking_get_only_the_event(world: World) -> None:
    world.pods[A]["marked"] = False
    assert world.decide(waiting={A: FULL}) == []
    world.decide(waiting={A: FULLER})
    world.decide(waiting={A: LIMIT})
    assert world.wait(100) == []
    assert [text for _, text in world.events_of("Unschedulable")] == [FULL, LIMIT]


def test_a_pod_of_an_unknown_subgroup_gets_its_condition(world: World) -> None:
    world.pods[A]["marked"] = False
    text = 'Pod references subgroup "x", which does not exist in PodGroup team/g'
    world.decide(waiting={A: text})
    world.wait(1)
    assert world.condition(A) == waiting(text)


@pytest.mark.parametrize(
    "text",
    [
        'Pod references subgroup "x", which does not exist in PodGroup team/g',
        "no resource claim name found for pod team/a and claim reference gpu",
    ],
)
def test_a_short_lived_problem_is_not_reported(world: World, text: str) -> None:
    """A group gets its sub-group after its pods, and the claim of a template is created after its
    pod."""
    world.decide(waiting={A: text})
    world.wait(0.5)
    world.decide(waiting={})
    assert world.wait(100) == []
    assert world.events == []


def test_a_moved_pod_keeps_its_node_until_it_is_deleted(world: World) -> None:
    """The API server accepts no nominatedNodeName for a pod that has a node."""
    world.pods[A]["placed"] = True
    assert world.decide(promised={A: "n2"}) == []
    assert [text for _, text in world.events_of("Pipelined")] == [
        f"Pod {A} was pipelined to node n2"
    ]


def test_scheduled_and_bound_follow_the_binding(world: World) -> None:
    world.decide(bound=[A])
    assert world.events == []
    world.bind(A)
    world.send()
    assert [(each.reason, each.type, each.component) for each in world.events] == [
        ("Scheduled", "Normal", ""),
        ("Bound", "Normal", "binder"),
    ]
    assert world.events_of("Scheduled", "Bound") == [
        ("Scheduled", "Successfully assigned pod team/a to node n1 at node-pool default"),
        ("Bound", "Pod bound successfully to node n1"),
    ]
    bound = Condition("True", "Bound", "Pod bound successfully to node n1")
    assert world.condition(A, "PodBound") == bound
    assert len(world.sent) == 1


def test_the_binder_writes_the_bound_event_itself(world: World) -> None:
    world.bind(A, here=False)
    assert world.queue == []
    assert [each.reason for each in world.events] == ["Scheduled"]


def test_the_node_pool_of_a_shard_is_named() -> None:
    from kai.controllers.verdicts import Verdicts

    world = World(verdicts=Verdicts("blue"))
    world.add_pod(A)
    world.bind(A)
    assert world.events[0].message.endswith("to node n1 at node-pool blue")


def test_a_condition_that_waits_does_not_follow_the_binding(world: World) -> None:
    world.decide(waiting={A: FULL})  # not sent yet
    world.bind(A)
    world.send()
    assert world.condition(A) == Condition("True")
    assert [each.key for _, each in world.sent] == ["status-of-pod/team/a"]


def test_a_pod_that_was_bound_and_waits_again_gets_the_event_again(world: World) -> None:
    world.turn(waiting={A: FULL})
    world.bind(A)
    world.send()
    world.wait(1)
    world.add_pod(A, uid="another")
    world.turn(waiting={A: FULL})
    assert world.condition(A) == waiting()
    assert len(world.events_of("Unschedulable")) == 2


def test_each_failed_binding_has_its_event_and_the_condition_is_written_once(world: World) -> None:
    for attempt in range(5):
        world.take(world.verdicts.binding_failed(world.now, A, "n1", f"timeout {attempt}", world))
        world.send()
        world.wait(1)
        world.decide(bound=[A])
    text = "Failed to bind pod team/a to node n1. timeout 0"
    texts = [text.replace("0", str(attempt)) for attempt in range(5)]
    assert world.events_of("FailedBinding") == [("FailedBinding", each) for each in texts]
    why = "Failed to bind pod team/a to node n1: timeout 0"
    assert len(world.events_of("BindingError")) == 5
    assert {(each.type, each.component) for each in world.events} == {
        ("Warning", ""),
        ("Warning", "binder"),
    }
    assert world.condition(A) == Condition("False", "BindingError", text)
    assert world.condition(A, "PodBound") == Condition("False", "BindingError", why)
    assert len(world.sent) == 1


def test_the_binder_writes_the_failed_condition_itself(world: World) -> None:
    world.take(world.verdicts.binding_failed(world.now, A, "n1", "no", world, here=False))
    world.send()
    assert world.condition(A, "PodBound") is None
    assert [each.reason for each in world.events] == ["FailedBinding"]


def test_a_binding_that_succeeds_after_a_failure_is_reported(world: World) -> None:
    world.take(world.verdicts.binding_failed(world.now, A, "n1", "no", world))
    world.send()
    world.wait(1)
    world.bind(A)
    world.send()
    assert world.condition(A, "PodBound") == Condition(
        "True", "Bound", "Pod bound successfully to node n1"
    )


def test_unschedulable_after_a_failed_binding_is_written_at_once(world: World) -> None:
    world.take(world.verdicts.binding_failed(world.now, A, "n1", "node is gone", world))
    world.send()
    world.turn(waiting={A: FULL})
    assert world.condition(A) == waiting()


def test_alternating_failures_and_waits_do_not_alternate_the_condition(world: World) -> None:
    for _ in range(120):
        world.take(world.verdicts.binding_failed(world.now, A, "n1", "refused", world))
        world.send()
        world.wait(1)
        world.turn(waiting={A: FULL})
        world.wait(1)
    assert len(world.events_of("Unschedulable")) == 1
    assert len(world.events_of("FailedBinding")) == 120  # kai.k8s.events counts and limits them
    assert len(world.sent) <= 16


def test_the_event_of_a_failed_binding_does_not_wait_for_the_condition(world: World) -> None:
    """The condition of a pod that waited is rewritten later, at its pace."""
    world.turn(waiting={A: FULL})
    world.take(world.verdicts.binding_failed(world.now, A, "n1", "refused", world))
    assert world.condition(A) == waiting()
    assert len(world.events_of("FailedBinding")) == 1


def test_fields_of_an_earlier_try_are_removed_while_the_pod_waits(world: World) -> None:
    world.pods[A]["conditions"]["PodBound"] = Condition("False", "BindingError", "no")
    world.turn(waiting={A: FULL})
    assert world.condition(A, "PodBound") is None
    assert world.condition(A) == waiting()


def test_a_pipelined_pod_is_reported_once_and_gets_a_nominated_node(world: World) -> None:
    for _ in range(3):
        world.turn(promised={A: "n1"})
        world.wait(1)
    assert world.events_of("Pipelined") == [("Pipelined", "Pod team/a was pipelined to node n1")]
    assert world.pods[A]["nominated"] == "n1"
    world.turn(promised={A: "n2"})
    assert world.pods[A]["nominated"] == "n2"
    assert len(world.events_of("Pipelined")) == 2
    assert len(world.sent) == 2


def test_a_nominated_node_of_an_earlier_leader_is_kept(world: World) -> None:
    world.pods[A]["nominated"] = "n1"
    assert world.decide(promised={A: "n1"}) == []
    assert world.events == []


def test_a_lost_nominated_node_is_written_again(world: World) -> None:
    world.turn(promised={A: "n1"})
    world.pods[A]["nominated"] = ""
    for _ in range(2):
        world.wait(61)
        world.turn(promised={A: "n1"})
    assert world.pods[A]["nominated"] == "n1"
    assert len(world.sent) == 2


@pytest.mark.parametrize("end", ["plan", "bound", "failed"])
def test_a_nominated_node_is_cleared_at_the_end(world: World, end: str) -> None:
    world.turn(promised={A: "n1"})
    verdicts = world.verdicts
    if end == "plan":
        world.decide()
    elif end == "bound":
        world.decide(bound=[A])
        assert world.queue == []
        world.take(verdicts.bound(world.now, A, "n1", world))
    else:
        world.decide(bound=[A])
        world.take(verdicts.binding_failed(world.now, A, "n1", "no", world))
    world.send()
    assert world.pods[A]["nominated"] == ""


def test_pipelining_keeps_the_existing_condition(world: World) -> None:
    world.turn(waiting={A: FULL})
    world.turn(promised={A: "n1"})
    assert world.condition(A) == waiting()


@pytest.mark.parametrize("result", [Result.FAILED, Result.LOST])
def test_a_write_that_failed_is_sent_again(world: World, result: Result) -> None:
    world.decide(waiting={A: FULL})
    world.send(result)
    assert world.condition(A) is None
    world.wait(0.9)
    assert len(world.sent) == 1
    world.wait(0.2)
    assert world.condition(A) == waiting()
    assert len(world.events) == 1


def test_tries_wait_longer_each_time(world: World) -> None:
    world.decide(waiting={A: FULL})
    world.send(Result.FAILED)
    world.wait(100, Result.FAILED)
    # after 1, 2, 4, 8, 16, 30, 30 s
    assert len(world.sent) == 1 + 7


def test_a_refused_write_is_not_repeated_and_a_new_message_is_written(world: World) -> None:
    world.decide(waiting={A: FULL})
    world.send(Result.REFUSED)
    assert world.wait(100) == []
    world.turn(waiting={A: LIMIT})
    assert world.condition(A) == waiting(LIMIT)


def test_a_write_for_a_deleted_pod_does_not_change_its_successor(world: World) -> None:
    world.decide(waiting={A: FULL})
    world.add_pod(A, uid="another")
    world.send()
    assert world.condition(A) is None
    world.turn(waiting={A: FULL})
    assert world.condition(A) == waiting()


def test_changes_by_another_client_are_corrected_within_a_minute(world: World) -> None:
    world.turn(waiting={A: FULL})
    world.pods[A]["conditions"]["PodScheduled"] = Condition("False", "Other", "x")
    for _ in range(62):
        world.turn(waiting={A: FULL})
        world.wait(1)
    assert world.condition(A) == waiting()


def test_a_pod_that_no_longer_waits_is_forgotten(world: World) -> None:
    world.turn(waiting={A: FULL})
    world.decide()
    assert len(world.verdicts) == 1
    world.wait(61)
    assert len(world.verdicts) == 0


def test_a_pod_that_was_bound_is_soon_forgotten(world: World) -> None:
    world.turn(waiting={A: FULL})
    world.bind(A)
    world.send()
    world.decide()
    world.wait(11)
    assert len(world.verdicts) == 0


def test_a_pod_that_is_gone_is_forgotten_at_once(world: World) -> None:
    world.decide(waiting={A: FULL})
    del world.pods[A]
    world.verdicts.gone("Pod", A)
    assert len(world.verdicts) == 0
    assert world.decide(waiting={A: LIMIT}) == []


def test_the_deletion_of_an_earlier_pod_does_not_affect_a_later_one(world: World) -> None:
    world.decide(waiting={A: FULL})
    world.verdicts.gone("Pod", A, "another")
    world.verdicts.gone("Node", A)
    assert len(world.verdicts) == 1
    world.verdicts.gone("Pod", A, "uid-team/a")
    assert len(world.verdicts) == 0


def test_a_late_watch_causes_no_second_write(world: World) -> None:
    world.show()
    world.turn(waiting={A: FULL})
    world.decide(waiting={A: FULL})
    world.decide()
    world.turn(waiting={A: FULL})
    assert len(world.sent) == 1
    assert len(world.events) == 1
