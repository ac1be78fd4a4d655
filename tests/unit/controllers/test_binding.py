"""Groups first, then their pods; unclear results are read; no pod is bound to two nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kai.api import keys
from kai.api.refusals import Refusal
from kai.api.writes import NOT_LEADING, Lane, Outcome, Result, Write
from kai.controllers.binding import Binder
from kai.controllers.bindings import Binding, Steps
from kai.controllers.evicting import Removal
from kai.controllers.grouper import Assignment, GroupChange
from kai.controllers.verdicts import Eviction
from kai.controllers.verdicts.facts import Ticket

DONE = Outcome(Result.DONE, 201)
LOST = Outcome(Result.LOST)
GONE = Outcome(Result.GONE, 404, "NotFound", 'pods "p" not found')
CONFLICT = Outcome(Result.CONFLICT, 409, "Conflict", "the pod is bound already")
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "no")
STAMP = "2026-01-01T00:00:00Z"


def binding(name: str = "a-0", node: str = "n1", **more: Any) -> Binding:
    options = {"assumption": 7, "group": "pg-a", "names_group": True} | more
    return Binding(f"team/{name}", f"uid-{name}", node, **options)


def group(name: str = "pg-a") -> GroupChange:
    metadata = {"namespace": "team", "name": name, "creationTimestamp": STAMP}
    return GroupChange({"metadata": metadata, "spec": {"minMember": 2}})


def assignment(pod: str) -> Assignment:
    patch = {"annotations": {keys.POD_GROUP_ANNOTATION: "pg-a"}}
    return Assignment(f"team/{pod}", f"uid-{pod}", "pg-a", "", patch)


def kinds(steps: Steps) -> list[str]:
    return [f"{each.verb} {each.kind}/{each.subresource}".rstrip("/") for each in steps.writes]


def begin(binder: Binder, *bindings: Binding) -> Steps:
    return binder.begin(0, STAMP, bindings, ())


def with_planned_group(*pods: str) -> Binder:
    binder = Binder()
    binder.add_group(group())
    for pod in pods:
        binder.assign(0, assignment(pod))
    return binder


def test_a_pod_with_its_group_annotation_is_bound_with_its_uid() -> None:
    [write] = begin(Binder(), binding()).writes
    assert (write.kind, write.subresource, write.name) == ("Pod", "binding", "a-0")
    assert isinstance(write.body, dict)
    assert write.body["metadata"]["uid"] == "uid-a-0"
    assert write.body["target"]["name"] == "n1"
    assert keys.POD_GROUP_ANNOTATION not in write.body["metadata"]["annotations"]


def test_a_group_that_is_withdrawn_is_not_created() -> None:
    binder = with_planned_group("a-0")
    binder.withdraw("team/pg-a")
    binder.pod_gone("team/a-0", "uid-a-0")
    assert not binder.is_planned("team/pg-a")
    assert binder.tick(60).writes == []
    assert binder.next_tick() is None


def test_a_group_that_is_withdrawn_during_its_creation_is_not_tried_again() -> None:
    binder = with_planned_group("a-0")
    [created] = binder.tick(1).writes
    binder.pod_gone("team/a-0", "uid-a-0")
    binder.withdraw("team/pg-a")
    assert binder.is_planned("team/pg-a"), "it may exist already"
    assert binder.answered(2, created, Outcome(Result.FAILED, 503)).writes == []
    assert not binder.is_planned("team/pg-a")
    assert binder.tick(60).writes == []


def test_a_group_that_is_decided_again_during_its_creation_is_compared_with_the_first() -> None:
    binder = with_planned_group("a-0")
    [created] = binder.tick(1).writes
    binder.withdraw("team/pg-a")
    binder.add_group(again := group())
    second, _ = binder.answered(2, created, DONE).writes
    assert (second.verb, second.about) == ("create", again), "a conflict makes the grouper read it"


def test_the_group_is_created_before_its_first_pod_is_bound() -> None:
    binder = with_planned_group("a-0", "a-1")
    steps = begin(
        binder, binding("a-0", names_group=False), binding("a-1", names_group=False, subgroup="w")
    )
    assert kinds(steps) == ["create PodGroup"]
    [created] = steps.writes
    assert isinstance(created.body, dict)
    assert created.body["metadata"]["annotations"] == {keys.LAST_START_ANNOTATION: STAMP}
    after = binder.answered(1, created, DONE)
    assert kinds(after) == ["create Pod/binding"] * 2
    assert isinstance(after.writes[1].body, dict)
    metadata = after.writes[1].body["metadata"]
    assert metadata["annotations"][keys.POD_GROUP_ANNOTATION] == "pg-a"
    assert metadata["labels"] == {keys.SUBGROUP_LABEL: "w"}
    assert not binder.is_planned("team/pg-a")


def test_an_older_server_gets_the_subgroup_label_by_a_patch_of_its_own() -> None:
    binder = Binder(copies_labels=False)
    steps = begin(binder, binding(names_group=False, subgroup="w"))
    assert kinds(steps) == ["patch Pod/status"]
    assert kinds(binder.answered(1, steps.writes[0], DONE)) == ["create Pod/binding"]


@pytest.mark.parametrize("result", [Result.FAILED, Result.LOST, Result.REFUSED])
def test_a_pod_is_bound_even_if_it_cannot_name_its_group_first(result: Result) -> None:
    binder = Binder(by="bind-requests")
    [naming] = begin(binder, binding(names_group=False)).writes
    steps = binder.answered(1, naming, Outcome(result, 500))
    assert kinds(steps) == ["create BindRequest"]


def test_a_request_that_waits_for_the_name_is_checked_if_its_node_changes() -> None:
    binder = Binder(by="bind-requests")
    [naming] = begin(binder, binding(names_group=False)).writes
    steps = binder.hold(["n1"], [])
    assert [each.pod for each in steps.to_check] == ["team/a-0"]
    assert binder.answered(1, naming, DONE) == Steps()
    [naming] = binder.checked(2, STAMP, steps.to_check, ()).writes
    binder.pod_gone("team/a-0", "uid-a-0")
    assert binder.answered(3, naming, DONE) == Steps()


def larger(minimum: int) -> GroupChange:
    change = group()
    spec = {"spec": {"minMember": minimum}}
    return GroupChange({**change.manifest, **spec}, spec)


def minimum_of(write: Write) -> int:
    assert isinstance(write.body, dict)
    return int(write.body["spec"]["minMember"])


def test_a_group_that_changes_before_its_creation_is_sent_is_created_as_it_is_then() -> None:
    binder = with_planned_group()
    binder.add_group(larger(3))
    [created] = begin(binder, binding("a-0", names_group=False)).writes
    assert (created.verb, minimum_of(created)) == ("create", 3)


def test_a_group_that_changes_while_it_is_being_created_is_patched_afterwards() -> None:
    """Workers of a leader arrived at that moment, in a group without a sub-group for them."""
    binder = with_planned_group()
    [created] = begin(binder, binding("a-0", names_group=False)).writes
    binder.add_group(larger(3))
    binder.add_group(larger(4))
    after = binder.answered(1, created, DONE)
    assert kinds(after) == ["patch PodGroup", "patch PodGroup", "create Pod/binding"]
    assert [minimum_of(each) for each in after.writes[:2]] == [3, 4]


def test_a_group_that_changes_while_its_creation_fails_is_created_as_it_is_then() -> None:
    binder = with_planned_group("a-1")
    [created] = begin(binder, binding("a-0", names_group=False)).writes
    binder.add_group(larger(3))
    binder.answered(1, created, Outcome(Result.FAILED, 500))
    [again] = [each for each in binder.tick(60).writes if each.kind == "PodGroup"]
    assert (again.verb, minimum_of(again)) == ("create", 3)


def test_a_change_of_a_group_that_another_process_created_is_left_to_the_grouper() -> None:
    binder = with_planned_group()
    [created] = begin(binder, binding("a-0", names_group=False)).writes
    binder.add_group(larger(3))
    assert kinds(binder.answered(1, created, CONFLICT)) == ["create Pod/binding"]


def test_a_group_that_already_exists_is_not_a_problem() -> None:
    binder = with_planned_group("a-0")
    [created] = begin(binder, binding(names_group=False)).writes
    assert kinds(binder.answered(1, created, CONFLICT)) == ["create Pod/binding"]


def test_a_pod_whose_binding_failed_keeps_its_group_annotation() -> None:
    binder = Binder()
    [bound] = begin(binder, binding(names_group=False)).writes
    steps = binder.answered(1, bound, REFUSED)
    assert [why for _, why in steps.failed] == ["no"]
    [named] = [each for each in binder.tick(3).writes if each.verb == "patch"]
    assert named.body["metadata"]["annotations"] == {keys.POD_GROUP_ANNOTATION: "pg-a"}


def test_a_group_that_cannot_be_created_binds_nothing() -> None:
    binder = with_planned_group("a-0")
    [created] = begin(binder, binding(names_group=False)).writes
    steps = binder.answered(1, created, REFUSED)
    assert steps.writes == []
    assert [why for _, why in steps.failed] == ["its pod group cannot be created: no"]
    assert binder.is_planned("team/pg-a")
    assert binder.tick(1.5) == Steps()
    steps = binder.tick(2.0)
    assert steps.forget == [7]
    assert kinds(steps) == ["create PodGroup"]


def test_a_deleted_group_is_created_again_without_waiting_pods() -> None:
    binder = Binder()
    binder.add_group(group())
    assert binder.tick(5) == Steps()
    binder.create("team/pg-a")
    assert binder.next_tick() == 0
    [created] = binder.tick(5).writes
    assert (created.verb, created.kind, created.name) == ("create", "PodGroup", "pg-a")
    binder.answered(5, created, REFUSED)
    assert binder.tick(5.5) == Steps()
    [created] = binder.tick(6).writes
    assert binder.answered(6, created, DONE) == Steps()
    assert not binder.is_planned("team/pg-a")


def test_a_failed_group_creation_is_repeated_for_a_pod_planned_later() -> None:
    binder = with_planned_group("a-0")
    [created] = begin(binder, binding(names_group=False)).writes
    binder.answered(1, created, REFUSED)
    assert begin(binder, binding("a-1", names_group=False)).writes == []
    [created] = binder.tick(2.0).writes
    after = binder.answered(2, created, DONE)
    assert [(write.name, write.subresource) for write in after.writes] == [
        ("a-1", "binding"),
        ("a-0", "status"),
    ]


def test_a_group_creation_without_an_answer_is_repeated_with_waits() -> None:
    binder = with_planned_group("a-0")
    [created] = begin(binder, binding(names_group=False)).writes
    [created] = binder.answered(1, created, LOST).writes
    assert binder.answered(1, created, LOST) == Steps()
    assert binder.next_tick() == 2.0
    [created] = binder.tick(2.0).writes
    assert kinds(binder.answered(2, created, CONFLICT)) == ["create Pod/binding"]


def test_pods_that_wait_get_their_group_annotation_after_a_second() -> None:
    binder = with_planned_group("a-0", "a-1")
    binder.pod_gone("team/a-1", "another")
    binder.pod_gone("team/a-1", "uid-a-1")
    assert kinds(binder.tick(0.9)) == []
    [created] = binder.tick(1.0).writes
    assert isinstance(created.body, dict)
    assert keys.LAST_START_ANNOTATION not in created.body["metadata"].get("annotations", {})
    assert kinds(binder.tick(1.1)) == []
    after = binder.answered(1.2, created, DONE)
    assert [(write.verb, write.name) for write in after.writes] == [("patch", "a-0")]


def test_a_pod_gets_the_annotation_of_an_existing_group_after_a_second() -> None:
    binder = Binder()
    binder.assign(0, assignment("a-0"))
    assert binder.next_tick() == 1.0
    assert binder.tick(0.5).writes == []
    [patch] = binder.tick(1.0).writes
    assert isinstance(patch.body, dict)
    assert patch.body["metadata"]["uid"] == "uid-a-0"
    assert binder.next_tick() is None
    binder.answered(2.0, patch, Outcome(Result.FAILED, 503))
    assert binder.next_tick() == 3.0


@pytest.mark.parametrize(
    ("outcome", "refused"),
    [
        (REFUSED, True),
        (Outcome(Result.FAILED, 403, refusal=Refusal("policy", "p", "no")), True),
        (Outcome(Result.FAILED, 503, refusal=Refusal("webhook", "w", "no")), True),
        (Outcome(Result.FAILED, 500, refusal=Refusal("webhook", "w", "", answered=False)), False),
        (Outcome(Result.FAILED, 403, "Forbidden", "a right is missing"), False),
        (Outcome(Result.FAILED, 503), False),
        (Outcome(Result.REFUSED, 404), False),
        (Outcome(Result.FAILED, 0, NOT_LEADING), False),
    ],
)
def test_a_refusal_may_be_for_the_node(outcome: Outcome, refused: bool) -> None:
    """Then the group avoids the node; other answers say nothing about it."""
    binder = Binder()
    [write] = begin(binder, binding()).writes
    steps = binder.answered(1, write, outcome)
    assert [each.node for each, _ in steps.refused] == (["n1"] if refused else [])


# ---- the first condition of a pod names its group as well ----------------------------------------


def condition(name: str = "a-0", number: int = 1, uid: str = "") -> Write:
    """As verdicts write it."""
    status = {"conditions": [{"type": "PodScheduled", "status": "False", "message": str(number)}]}
    body = {"metadata": {"uid": uid or f"uid-{name}"}, "status": status}
    return Write(
        *(Lane.CONDITION, "patch", "Pod", "team", name, body, "status"),
        patch_type="strategic",
        key=f"status-of-pod/team/{name}",
        about=Ticket("pod", f"team/{name}", number),
    )


def group_named(write: Write) -> str | None:
    body: Any = write.body
    name: str | None = body["metadata"].get("annotations", {}).get(keys.POD_GROUP_ANNOTATION)
    return name


def test_the_first_condition_of_a_pod_names_its_group() -> None:
    binder = Binder()
    binder.assign(0, assignment("a-0"))
    [write] = binder.with_name(0.1, condition()).writes
    assert (group_named(write), write.about) == ("pg-a", condition().about)
    assert write.body["status"] == condition().body["status"]  # type: ignore[call-overload, index]
    assert binder.answered(0.2, write, DONE) == Steps()
    assert binder.next_tick() is None  # no patch of its own follows
    [write] = binder.with_name(3.0, condition(number=2)).writes
    assert group_named(write) is None


def test_the_group_is_created_before_the_condition_names_it() -> None:
    binder = with_planned_group("a-0")
    steps = binder.with_name(0.1, condition())
    assert kinds(steps) == ["create PodGroup"]
    assert binder.with_name(0.2, condition(number=2)) == Steps()
    [write] = binder.answered(0.3, steps.writes[0], DONE).writes
    assert (group_named(write), write.about.number) == ("pg-a", 2)  # it has all of the first one


def test_without_its_group_the_condition_is_written_all_the_same() -> None:
    binder = with_planned_group("a-0")
    [created] = binder.with_name(0.1, condition()).writes
    [write] = binder.answered(0.2, created, REFUSED).writes
    assert write == condition()
    assert binder.with_name(0.3, condition(number=2)).writes == [condition(number=2)]
    [created] = binder.tick(1.2).writes
    [named] = binder.answered(1.3, created, DONE).writes
    assert (group_named(named), named.key) == ("pg-a", "group of team/a-0")


@pytest.mark.parametrize("result", [Result.FAILED, Result.LOST, Result.REFUSED])
def test_a_condition_that_was_not_written_leaves_the_name_to_a_patch(result: Result) -> None:
    binder = Binder()
    binder.assign(0, assignment("a-0"))
    [write] = binder.with_name(0.1, condition()).writes
    binder.answered(2.0, write, Outcome(result, 500))
    [named] = binder.tick(3.0).writes
    assert group_named(named) == "pg-a"


def test_a_condition_that_replaces_an_unsent_one_names_the_group_too() -> None:
    binder = Binder()
    binder.assign(0, assignment("a-0"))
    [first] = binder.with_name(0.1, condition()).writes
    [second] = binder.with_name(0.2, condition(number=2)).writes
    assert binder.answered(0.3, first, Outcome(Result.REPLACED)) == Steps()
    assert group_named(second) == "pg-a"
    binder.answered(0.4, second, DONE)
    assert binder.next_tick() is None


def test_a_new_pod_with_the_same_name_is_not_assigned_to_the_group() -> None:
    binder = with_planned_group("a-0")
    assert binder.with_name(0.1, condition(uid="new")).writes == [condition(uid="new")]
    [created] = binder.with_name(0.2, condition()).writes
    binder.pod_gone("team/a-0", "uid-a-0")
    assert binder.answered(0.3, created, DONE) == Steps()


def test_other_writes_of_a_plan_are_unchanged() -> None:
    binder = with_planned_group("a-0")
    for about in (Ticket("group", "team/a-0", 1), Ticket("stamps", "team/a-0", 1), None):
        write = replace(condition(), about=about)
        assert binder.with_name(0.1, write).writes == [write]


def test_a_success_is_reported_once() -> None:
    binder = Binder()
    [write] = begin(binder, binding()).writes
    assert binder.answered(1, write, DONE).bound == [binding()]
    assert binder.answered(1, write, DONE).bound == []
    assert binder.under_way == 0


def lost() -> tuple[Binder, Binding]:
    binder = Binder()
    [write] = begin(binder, binding()).writes
    steps = binder.answered(1, write, LOST)
    assert steps.forget == []
    [(looked_at, kind)] = steps.look
    assert kind == "Pod"
    return binder, looked_at


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"uid": "uid-a-0"}, "spec": spec}


def test_a_lost_answer_of_a_binding_that_happened() -> None:
    binder, looked_at = lost()
    steps = binder.seen(2, looked_at, pod(nodeName="n1"))
    assert steps.bound == [looked_at]
    assert steps.forget == []


def test_a_lost_answer_of_a_binding_that_did_not_happen_is_repeated_to_the_same_node() -> None:
    binder, looked_at = lost()
    [again] = binder.seen(2, looked_at, pod()).writes
    assert isinstance(again.body, dict)
    assert again.body["target"]["name"] == "n1"
    assert binder.answered(3, again, DONE).bound == [looked_at]


def test_a_lost_answer_of_a_pod_on_another_node_or_being_deleted() -> None:
    leaves = {"metadata": {"uid": "uid-a-0", "deletionTimestamp": STAMP}, "spec": {}}
    for found in (leaves, pod(nodeName="n2")):
        binder, looked_at = lost()
        steps = binder.seen(2, looked_at, found)
        assert steps.forget == [7]
        assert steps.bound == steps.failed == []
        assert binder.under_way == binder.in_doubt == 0


def test_a_lost_answer_of_a_deleted_or_recreated_pod() -> None:
    other = {"metadata": {"uid": "another"}, "spec": {"nodeName": "n1"}}
    for found in (None, other):
        binder, looked_at = lost()
        steps = binder.seen(2, looked_at, found)
        assert steps == Steps()
        assert binder.under_way == 0
        assert binder.next_tick() == 4.0  # if no watch has shown it by then
        assert binder.tick(4.0).forget == [7]


def test_a_request_in_doubt_keeps_its_room_whatever_its_repetitions_return() -> None:
    """Any of them may be the one that is still under way."""
    binder, looked_at = lost()
    now = 2.0
    for answer in (LOST, Outcome(Result.FAILED, 503, message="busy"), REFUSED, CONFLICT, LOST):
        [again] = binder.seen(now, looked_at, pod()).writes
        steps = binder.answered(now, again, answer)
        assert steps.forget == []
        if not steps.look:
            due = binder.next_tick()
            assert due is not None
            assert binder.tick(due - 0.1).look == []
            now = due
            steps = binder.tick(now)
        assert steps.look == [(looked_at, "Pod")]
        assert steps.forget == []
        assert binder.in_doubt == 1
    assert now == 2 + 1 + 2 + 4 + 8
    assert binder.seen(now, looked_at, pod(nodeName="n1")).bound == [looked_at]
    assert binder.in_doubt == 0


def test_a_request_in_doubt_to_an_unusable_node_is_taken_back() -> None:
    """The pod is planned again; the lease is kept as long as the first request may arrive."""
    binder, looked_at = lost()
    writes = binder.seen(2, looked_at, pod()).writes
    to_check = binder.hold(["n1"], writes).to_check
    assert to_check == [looked_at]
    [again] = binder.checked(2, STAMP, to_check, ()).writes
    to_check = binder.answered(2, again, Outcome(Result.TAKEN_BACK)).to_check
    assert binder.checked(2, STAMP, to_check, [7]) == Steps()
    assert (binder.under_way, binder.in_doubt) == (0, 1)


def test_a_pod_in_doubt_with_a_new_decision_is_bound_at_once() -> None:
    binder, looked_at = lost()
    for _ in range(2):
        [again] = binder.seen(2, looked_at, pod()).writes
        binder.answered(2, again, LOST)
    assert binder.next_tick() == 3
    [write] = begin(binder, binding(node="n2", assumption=8)).writes
    assert target(write) == "n2"


def test_a_request_in_doubt_of_a_deleted_pod_is_forgotten_by_uid() -> None:
    binder, looked_at = lost()
    binder.pod_gone("team/a-0", "another")
    assert binder.in_doubt == 1
    binder.pod_gone("team/a-0", "uid-a-0")
    assert binder.in_doubt == binder.under_way == 0
    assert binder.seen(2, looked_at, pod()) == Steps()


def test_the_pod_is_read_after_a_conflict_before_the_assumption_ends() -> None:
    for answer in (CONFLICT, GONE):
        binder = Binder()
        [write] = begin(binder, binding()).writes
        steps = binder.answered(1, write, answer)
        assert steps.look == [(binding(), "Pod")]
        assert steps.forget == []
        steps = binder.seen(1, steps.look[0][0], pod())
        assert steps.failed == [(binding(), answer.message)]
        assert steps.writes == steps.forget == []
        assert binder.tick(2).forget == [7]


def test_a_refused_binding_has_a_reason_and_waits_longer_each_time() -> None:
    binder = Binder()
    for wait in (1, 2, 4, 8, 16, 30, 30):
        [write] = begin(binder, binding()).writes
        steps = binder.answered(100, write, REFUSED)
        assert steps.failed == [(binding(), "no")]
        assert steps.forget == []
        assert binder.next_tick() == 100 + wait
        assert binder.tick(99 + wait) == Steps()
        assert binder.tick(100 + wait).forget == [7]
        assert binder.next_tick() is None
    [write] = begin(binder, binding()).writes
    assert binder.answered(100, write, DONE).bound == [binding()]


def test_a_pod_that_fails_three_times_in_a_row_leaves_its_room_to_others() -> None:
    """The node may not be the cause, but the pod has its resources reserved and does not start."""
    binder = Binder()
    for fails in (1, 2, 3, 4):
        [write] = begin(binder, binding()).writes
        steps = binder.answered(100, write, Outcome(Result.FAILED, 503, message="not now"))
        assert steps.stuck == ([(binding(), "not now")] if fails > 2 else [])
        binder.tick(200)


def test_a_binding_that_was_not_sent_after_a_lost_lease_is_forgotten() -> None:
    binder = Binder()
    [write] = begin(binder, binding()).writes
    steps = binder.answered(1, write, Outcome(Result.FAILED, 0, NOT_LEADING))
    assert steps == Steps(forget=[7])


def held(*nodes: str, group: bool = False) -> tuple[Binder, list[Binding], list[Write]]:
    """Two bindings, to n1 and n2, held back after these nodes changed."""
    binder = with_planned_group("a-0", "a-1") if group else Binder()
    named = {"names_group": not group}
    first, second = binding("a-0", "n1", **named), binding("a-1", "n2", assumption=8, **named)
    writes = begin(binder, first, second).writes
    steps = binder.hold(nodes, [each for each in writes if target(each) in nodes])
    assert steps.writes == steps.forget == []
    return binder, steps.to_check, writes


def target(write: Write) -> str:
    assert isinstance(write.body, dict)
    return str(write.body.get("target", {}).get("name"))


def checked(binder: Binder, to_check: list[Binding], *broken: int) -> Steps:
    return binder.checked(1, STAMP, to_check, broken)


def test_a_binding_to_a_changed_node_is_sent_if_it_is_still_valid() -> None:
    binder, to_check, writes = held("n2", "n3")
    assert [each.pod for each in to_check] == ["team/a-1"]
    [again] = checked(binder, to_check).writes
    assert (again.name, target(again)) == ("a-1", "n2")
    assert binder.answered(1, again, DONE).bound == to_check
    assert len(binder.answered(1, writes[0], DONE).bound) == 1


def test_a_binding_that_is_no_longer_valid_is_taken_back() -> None:
    binder, to_check, writes = held("n2")
    steps = checked(binder, to_check, 8)
    assert steps == Steps()  # the planning thread has dropped its assumption
    assert binder.under_way == 1
    assert binder.answered(1, writes[1], DONE).bound == []


def test_a_pod_with_a_new_decision_while_its_binding_is_held_is_bound_once() -> None:
    binder, to_check, _ = held("n2")
    [write] = begin(binder, binding("a-1", "n9", assumption=9)).writes
    assert checked(binder, to_check) == Steps()
    assert [each.node for each in binder.answered(1, write, DONE).bound] == ["n9"]


def test_a_pod_deleted_while_its_binding_is_held_is_not_bound() -> None:
    binder, to_check, _ = held("n2")
    binder.pod_gone("team/a-1", "uid-a-1")
    assert checked(binder, to_check) == Steps()


def test_bindings_that_wait_for_their_group_are_held_too() -> None:
    binder, to_check, [created] = held("n1", "n2", group=True)
    assert [each.pod for each in to_check] == ["team/a-0", "team/a-1"]
    assert kinds(checked(binder, to_check, 8)) == []  # the first one waits for the group again
    assert [each.name for each in binder.answered(1, created, DONE).writes] == ["a-0"]
    [patch] = binder.tick(2.0).writes  # the other one waits, and names its group
    assert (patch.verb, patch.name) == ("patch", "a-1")


def test_a_binding_that_was_not_retried_is_checked() -> None:
    binder = Binder()
    [write] = begin(binder, binding()).writes
    steps = binder.answered(1, write, Outcome(Result.TAKEN_BACK))
    assert steps.to_check == [binding()]
    assert steps.failed == steps.forget == []


def victim(name: str = "v", reclaimer: str = "team/b", assumption: int = 9) -> Removal:
    order = Eviction(f"team/{name}", f"uid-{name}", "reclaim", "make room", "team/g", reclaimer)
    return Removal(order, assumption)


def eviction() -> tuple[Binder, Write]:
    binder = Binder()
    [write] = binder.begin(0, STAMP, (), [victim()]).writes
    assert isinstance(write.body, dict)
    assert write.body["preconditions"] == {"uid": "uid-v"}
    return binder, write


def test_victims_are_evicted_before_pods_are_bound() -> None:
    binder = Binder()
    steps = binder.begin(0, STAMP, [binding()], [victim()])
    assert kinds(steps) == ["delete Pod", "create Pod/binding"]
    assert binder.under_way == 2
    assert [each.order.pod for each in binder.answered(1, steps.writes[0], DONE).evicted] == [
        "team/v"
    ]
    assert binder.under_way == 1
    binder.pod_gone("team/a-0", "uid-a-0")
    assert binder.under_way == 0


def test_an_eviction_that_succeeds_or_finds_no_pod_is_done() -> None:
    for answer in (DONE, GONE):
        binder, write = eviction()
        steps = binder.answered(1, write, answer)
        assert [each.order.pod for each in steps.evicted] == ["team/v"]
        assert steps.forget == []


def test_an_eviction_without_an_answer_is_repeated() -> None:
    binder, write = eviction()
    assert kinds(binder.answered(1, write, LOST)) == ["delete Pod"]


def test_an_eviction_that_is_refused_ends_its_assumption() -> None:
    binder, write = eviction()
    steps = binder.answered(1, write, REFUSED)
    assert steps.forget == [9]
    assert [why for _, why in steps.spared] == ["no"]


def test_a_recreated_pod_is_not_evicted() -> None:
    binder, write = eviction()
    steps = binder.answered(1, write, CONFLICT)
    assert steps.forget == [9]
    assert steps.spared == []


def test_pods_are_evicted_for_a_group_once_it_exists() -> None:
    binder = with_planned_group("a-0")
    steps = binder.begin(0, STAMP, (), [victim("v", "team/pg-a"), victim("w", "team/pg-a")])
    assert kinds(steps) == ["create PodGroup"]
    after = binder.answered(1, steps.writes[0], DONE)
    assert [each.name for each in after.writes] == ["v", "w"]
    assert kinds(after) == ["delete Pod"] * 2


def test_no_pod_is_evicted_for_a_group_that_is_refused() -> None:
    binder = with_planned_group("a-0")
    [created] = binder.begin(0, STAMP, (), [victim("v", "team/pg-a")]).writes
    steps = binder.answered(1, created, REFUSED)
    assert (steps.writes, steps.forget) == ([], [9])
    assert [why for _, why in steps.spared] == ["its pod group cannot be created: no"]
    too_early = binder.begin(1.5, STAMP, (), [victim("w", "team/pg-a")])
    assert (too_early.writes, too_early.forget) == ([], [9])
    assert [why for _, why in too_early.spared] == ["its pod group cannot be created: no"]


def test_a_creation_without_an_answer_evicts_no_pod() -> None:
    binder = with_planned_group("a-0")
    [created] = binder.begin(0, STAMP, (), [victim("v", "team/pg-a")]).writes
    assert binder.answered(1, created, LOST).forget == [9]
