"""Groups first, then their pods; unclear results are read; no pod is bound to two nodes."""

from dataclasses import replace
from typing import Any

import pytest

from fakes.played import Scheduler, Steps
from fakes.writes import DONE, LOST, body_of
from kai.api import keys
from kai.api.refusals import Refusal
from kai.api.writes import NOT_LEADING, Lane, Outcome, Read, Result, Write
from kai.controllers.grouper import Assignment, GroupChange
from kai.controllers.pods.decisions import Binding, Removal
from kai.controllers.verdicts import Eviction
from kai.controllers.verdicts.facts import Ticket

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


def begin(played: Scheduler, *bindings: Binding) -> Steps:
    return played.begin(0, STAMP, bindings, ())


def with_planned_group(*pods: str) -> Scheduler:
    played = Scheduler()
    played.add_group(group())
    for pod in pods:
        played.assign(0, assignment(pod))
    return played


@pytest.fixture
def played() -> Scheduler:
    return Scheduler()


def creating() -> tuple[Scheduler, Write]:
    """The group of a pod that is to be bound is being created."""
    played = with_planned_group("a-0")
    [created] = begin(played, binding(names_group=False)).writes
    return played, created


def test_a_pod_with_its_group_annotation_is_bound_with_its_uid() -> None:
    [write] = begin(Scheduler(), binding()).writes
    assert (write.kind, write.subresource, write.name) == ("Pod", "binding", "a-0")
    assert body_of(write)["metadata"]["uid"] == "uid-a-0"
    assert body_of(write)["target"]["name"] == "n1"
    assert keys.POD_GROUP_ANNOTATION not in body_of(write)["metadata"]["annotations"]


def test_a_group_that_is_withdrawn_is_not_created() -> None:
    played = with_planned_group("a-0")
    played.groups.withdraw("team/pg-a")
    played.pod_gone("team/a-0", "uid-a-0")
    assert not played.groups.is_planned("team/pg-a")
    assert played.tick(60).writes == []
    assert played.next_tick() is None


def test_a_group_that_is_withdrawn_during_its_creation_is_not_tried_again() -> None:
    played = with_planned_group("a-0")
    [created] = played.tick(1).writes
    played.pod_gone("team/a-0", "uid-a-0")
    played.groups.withdraw("team/pg-a")
    assert played.groups.is_planned("team/pg-a"), "it may exist already"
    assert played.answered(2, created, Outcome(Result.FAILED, 503)).writes == []
    assert not played.groups.is_planned("team/pg-a")
    assert played.tick(60).writes == []


def test_a_group_that_is_decided_again_during_its_creation_is_compared_with_the_first() -> None:
    played = with_planned_group("a-0")
    [created] = played.tick(1).writes
    played.groups.withdraw("team/pg-a")
    played.add_group(again := group())
    second, _ = played.answered(2, created, DONE).writes
    assert (second.verb, second.about) == ("create", again), "a conflict makes the grouper read it"


def test_the_group_is_created_before_its_first_pod_is_bound() -> None:
    played = with_planned_group("a-0", "a-1")
    steps = begin(
        played, binding("a-0", names_group=False), binding("a-1", names_group=False, subgroup="w")
    )
    assert kinds(steps) == ["create PodGroup"]
    [created] = steps.writes
    assert body_of(created)["metadata"]["annotations"] == {keys.LAST_START_ANNOTATION: STAMP}
    after = played.answered(1, created, DONE)
    assert kinds(after) == ["create Pod/binding"] * 2
    metadata = body_of(after.writes[1])["metadata"]
    assert metadata["annotations"][keys.POD_GROUP_ANNOTATION] == "pg-a"
    assert metadata["labels"] == {keys.SUBGROUP_LABEL: "w"}
    assert not played.groups.is_planned("team/pg-a")


def test_an_older_server_gets_the_subgroup_label_by_a_patch_of_its_own() -> None:
    played = Scheduler(copies_labels=False)
    steps = begin(played, binding(names_group=False, subgroup="w"))
    assert kinds(steps) == ["patch Pod/status"]
    assert kinds(played.answered(1, steps.writes[0], DONE)) == ["create Pod/binding"]


@pytest.mark.parametrize("result", [Result.FAILED, Result.LOST, Result.REFUSED])
def test_a_pod_is_bound_even_if_it_cannot_name_its_group_first(result: Result) -> None:
    played = Scheduler(by="bind-requests")
    [naming] = begin(played, binding(names_group=False)).writes
    steps = played.answered(1, naming, Outcome(result, 500))
    assert kinds(steps) == ["create BindRequest"]


def test_a_request_that_waits_for_the_name_is_checked_if_its_node_changes() -> None:
    played = Scheduler(by="bind-requests")
    [naming] = begin(played, binding(names_group=False)).writes
    assert played.hold(["n1"]) == Steps()
    steps = played.answered(1, naming, DONE)
    assert ([each.pod for each in steps.to_check], steps.writes) == (["team/a-0"], [])
    assert kinds(played.checked(2, steps.to_check)) == ["create BindRequest"]


def test_a_pod_that_is_gone_while_its_name_is_written_is_not_bound() -> None:
    played = Scheduler(by="bind-requests")
    [naming] = begin(played, binding(names_group=False)).writes
    played.pod_gone("team/a-0", "uid-a-0")
    assert played.answered(3, naming, DONE) == Steps()


def larger(minimum: int) -> GroupChange:
    change = group()
    spec = {"spec": {"minMember": minimum}}
    return GroupChange({**change.manifest, **spec}, spec)


def minimum_of(write: Write) -> int:
    return int(body_of(write)["spec"]["minMember"])


def test_a_group_that_changes_before_its_creation_is_sent_is_created_as_it_is_then() -> None:
    played = with_planned_group()
    played.add_group(larger(3))
    [created] = begin(played, binding("a-0", names_group=False)).writes
    assert (created.verb, minimum_of(created)) == ("create", 3)


def test_a_group_that_changes_while_it_is_being_created_is_patched_afterwards() -> None:
    """Workers of a leader arrived at that moment, in a group without a sub-group for them."""
    played = with_planned_group()
    [created] = begin(played, binding("a-0", names_group=False)).writes
    played.add_group(larger(3))
    played.add_group(larger(4))
    after = played.answered(1, created, DONE)
    assert kinds(after) == ["patch PodGroup", "patch PodGroup", "create Pod/binding"]
    assert [minimum_of(each) for each in after.writes[:2]] == [3, 4]


def test_a_group_that_changes_while_its_creation_fails_is_created_as_it_is_then() -> None:
    played = with_planned_group("a-1")
    [created] = begin(played, binding("a-0", names_group=False)).writes
    played.add_group(larger(3))
    played.answered(1, created, Outcome(Result.FAILED, 500))
    [again] = [each for each in played.tick(60).writes if each.kind == "PodGroup"]
    assert (again.verb, minimum_of(again)) == ("create", 3)


def test_a_change_of_a_group_that_another_process_created_is_left_to_the_grouper() -> None:
    played = with_planned_group()
    [created] = begin(played, binding("a-0", names_group=False)).writes
    played.add_group(larger(3))
    assert kinds(played.answered(1, created, CONFLICT)) == ["create Pod/binding"]


def test_a_patch_of_an_earlier_pod_of_the_name_is_not_a_problem(played: Scheduler) -> None:
    played.assign(0, assignment("a-0"))
    [patch] = played.tick(2.0).writes
    why = 'Pod "a-0" is invalid: metadata.uid: Invalid value: "u": field is immutable'
    assert played.answered(3, patch, Outcome(Result.REFUSED, 422, "Invalid", why)) == Steps()


def test_a_group_that_already_exists_is_not_a_problem() -> None:
    played, created = creating()
    assert kinds(played.answered(1, created, CONFLICT)) == ["create Pod/binding"]


def test_a_pod_whose_binding_failed_keeps_its_group_annotation(played: Scheduler) -> None:
    [bound] = begin(played, binding(names_group=False)).writes
    steps = played.answered(1, bound, REFUSED)
    assert [why for _, why in steps.failed] == ["no"]
    [named] = [each for each in played.tick(3).writes if each.verb == "patch"]
    assert named.body["metadata"]["annotations"] == {keys.POD_GROUP_ANNOTATION: "pg-a"}


def test_a_group_that_cannot_be_created_binds_nothing() -> None:
    played, created = creating()
    steps = played.answered(1, created, REFUSED)
    assert steps.writes == []
    assert [why for _, why in steps.failed] == ["its pod group cannot be created: no"]
    assert played.groups.is_planned("team/pg-a")
    assert played.tick(1.5) == Steps()
    steps = played.tick(2.0)
    assert steps.forget == [7]
    assert kinds(steps) == ["create PodGroup"]


def test_a_deleted_group_is_created_again_without_waiting_pods(played: Scheduler) -> None:
    played.add_group(group())
    assert played.tick(5) == Steps()
    played.groups.create("team/pg-a")
    [created] = played.steps(5).writes
    assert (created.verb, created.kind, created.name) == ("create", "PodGroup", "pg-a")
    played.answered(5, created, REFUSED)
    assert played.tick(5.5) == Steps()
    [created] = played.tick(6).writes
    assert played.answered(6, created, DONE) == Steps()
    assert not played.groups.is_planned("team/pg-a")


def test_a_failed_group_creation_is_repeated_for_a_pod_planned_later() -> None:
    played, created = creating()
    played.answered(1, created, REFUSED)
    assert begin(played, binding("a-1", names_group=False)).writes == []
    [created] = played.tick(2.0).writes
    after = played.answered(2, created, DONE)
    assert [(write.name, write.subresource) for write in after.writes] == [
        ("a-1", "binding"),
        ("a-0", "status"),
    ]


def test_a_group_creation_without_an_answer_is_repeated_with_waits() -> None:
    played, created = creating()
    [created] = played.answered(1, created, LOST).writes
    assert played.answered(1, created, LOST) == Steps()
    assert played.next_tick() == 2.0
    [created] = played.tick(2.0).writes
    assert kinds(played.answered(2, created, CONFLICT)) == ["create Pod/binding"]


def test_pods_that_wait_get_their_group_annotation_after_a_second() -> None:
    played = with_planned_group("a-0", "a-1")
    played.pod_gone("team/a-1", "another")
    played.pod_gone("team/a-1", "uid-a-1")
    assert kinds(played.tick(0.9)) == []
    [created] = played.tick(1.0).writes
    assert keys.LAST_START_ANNOTATION not in body_of(created)["metadata"].get("annotations", {})
    assert kinds(played.tick(1.1)) == []
    after = played.answered(1.2, created, DONE)
    assert [(write.verb, write.name) for write in after.writes] == [("patch", "a-0")]


def test_a_pod_gets_the_annotation_of_an_existing_group_after_a_second(played: Scheduler) -> None:
    played.assign(0, assignment("a-0"))
    assert played.next_tick() == 1.0
    assert played.tick(0.5).writes == []
    [patch] = played.tick(1.0).writes
    assert body_of(patch)["metadata"]["uid"] == "uid-a-0"
    assert played.next_tick() is None
    played.answered(2.0, patch, Outcome(Result.FAILED, 503))
    assert played.next_tick() == 3.0


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
def test_a_refusal_may_be_for_the_node(played: Scheduler, outcome: Outcome, refused: bool) -> None:
    """Then the group avoids the node; other answers say nothing about it."""
    [write] = begin(played, binding()).writes
    steps = played.answered(1, write, outcome)
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


def test_the_first_condition_of_a_pod_names_its_group(played: Scheduler) -> None:
    played.assign(0, assignment("a-0"))
    [write] = played.with_name(0.1, condition()).writes
    assert (group_named(write), write.about) == ("pg-a", condition().about)
    assert write.body["status"] == condition().body["status"]  # type: ignore[call-overload, index]
    assert played.answered(0.2, write, DONE) == Steps()
    assert played.next_tick() is None  # no patch of its own follows
    [write] = played.with_name(3.0, condition(number=2)).writes
    assert group_named(write) is None


def test_the_group_is_created_before_the_condition_names_it() -> None:
    played = with_planned_group("a-0")
    steps = played.with_name(0.1, condition())
    assert kinds(steps) == ["create PodGroup"]
    assert played.with_name(0.2, condition(number=2)) == Steps()
    [write] = played.answered(0.3, steps.writes[0], DONE).writes
    assert (group_named(write), write.about.number) == ("pg-a", 2)  # it has all of the first one


def test_without_its_group_the_condition_is_written_all_the_same() -> None:
    played = with_planned_group("a-0")
    [created] = played.with_name(0.1, condition()).writes
    [write] = played.answered(0.2, created, REFUSED).writes
    assert write == condition()
    assert played.with_name(0.3, condition(number=2)).writes == [condition(number=2)]
    [created] = played.tick(1.2).writes
    [named] = played.answered(1.3, created, DONE).writes
    assert (group_named(named), named.key) == ("pg-a", "group of team/a-0")


@pytest.mark.parametrize("result", [Result.FAILED, Result.LOST, Result.REFUSED])
def test_a_condition_that_was_not_written_leaves_the_name_to_a_patch(
    played: Scheduler, result: Result
) -> None:
    played.assign(0, assignment("a-0"))
    [write] = played.with_name(0.1, condition()).writes
    played.answered(2.0, write, Outcome(result, 500))
    [named] = played.tick(3.0).writes
    assert group_named(named) == "pg-a"


def test_a_condition_that_replaces_an_unsent_one_names_the_group_too(played: Scheduler) -> None:
    played.assign(0, assignment("a-0"))
    [first] = played.with_name(0.1, condition()).writes
    [second] = played.with_name(0.2, condition(number=2)).writes
    assert played.answered(0.3, first, Outcome(Result.REPLACED)) == Steps()
    assert group_named(second) == "pg-a"
    played.answered(0.4, second, DONE)
    assert played.next_tick() is None


def test_a_new_pod_with_the_same_name_is_not_assigned_to_the_group() -> None:
    played = with_planned_group("a-0")
    assert played.with_name(0.1, condition(uid="new")).writes == [condition(uid="new")]
    [created] = played.with_name(0.2, condition()).writes
    played.pod_gone("team/a-0", "uid-a-0")
    assert played.answered(0.3, created, DONE) == Steps()


def test_other_writes_of_a_plan_are_unchanged() -> None:
    played = with_planned_group("a-0")
    for about in (Ticket("group", "team/a-0", 1), Ticket("stamps", "team/a-0", 1), None):
        write = replace(condition(), about=about)
        assert played.with_name(0.1, write).writes == [write]


def test_a_success_is_reported_once(played: Scheduler) -> None:
    [write] = begin(played, binding()).writes
    assert played.answered(1, write, DONE).bound == [binding()]
    assert played.answered(1, write, DONE).bound == []
    assert played.under_way == 0


def lost() -> tuple[Scheduler, Read]:
    played = Scheduler()
    [write] = begin(played, binding()).writes
    steps = played.answered(1, write, LOST)
    assert steps.forget == []
    [read] = steps.look
    assert read.kind == "Pod"
    return played, read


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"uid": "uid-a-0"}, "spec": spec}


def test_a_lost_answer_of_a_binding_that_happened() -> None:
    played, read = lost()
    steps = played.seen(2, read, pod(nodeName="n1"))
    assert steps.bound == [binding()]
    assert steps.forget == []


def test_a_lost_answer_of_a_binding_that_did_not_happen_is_repeated_to_the_same_node() -> None:
    played, read = lost()
    [again] = played.seen(2, read, pod()).writes
    assert body_of(again)["target"]["name"] == "n1"
    assert played.answered(3, again, DONE).bound == [binding()]


def test_a_lost_answer_of_a_pod_on_another_node_or_being_deleted() -> None:
    leaves = {"metadata": {"uid": "uid-a-0", "deletionTimestamp": STAMP}, "spec": {}}
    for found in (leaves, pod(nodeName="n2")):
        played, read = lost()
        steps = played.seen(2, read, found)
        assert steps.forget == [7]
        assert steps.bound == steps.failed == []
        assert played.under_way == played.in_doubt == 0


def test_a_lost_answer_of_a_deleted_or_recreated_pod() -> None:
    other = {"metadata": {"uid": "another"}, "spec": {"nodeName": "n1"}}
    for found in (None, other):
        played, read = lost()
        steps = played.seen(2, read, found)
        assert steps == Steps()
        assert played.under_way == 0
        assert played.next_tick() == 4.0  # if no watch has shown it by then
        assert played.tick(4.0).forget == [7]


def test_a_request_in_doubt_keeps_its_room_whatever_its_repetitions_return() -> None:
    """Any of them may be the one that is still under way."""
    played, read = lost()
    now = 2.0
    for answer in (LOST, Outcome(Result.FAILED, 503, message="busy"), REFUSED, CONFLICT, LOST):
        [again] = played.seen(now, read, pod()).writes
        steps = played.answered(now, again, answer)
        assert steps.forget == []
        if not steps.look:
            due = played.next_tick()
            assert due is not None
            assert played.tick(due - 0.1).look == []
            now = due
            steps = played.tick(now)
        [read] = steps.look
        assert steps.forget == []
        assert played.in_doubt == 1
    assert now == 2 + 1 + 2 + 4 + 8
    assert played.seen(now, read, pod(nodeName="n1")).bound == [binding()]
    assert played.in_doubt == 0


def test_a_request_in_doubt_to_an_unusable_node_is_taken_back() -> None:
    """The pod is planned again; the lease is kept as long as the first request may arrive."""
    played, read = lost()
    writes = played.seen(2, read, pod()).writes
    to_check = played.hold(["n1"], writes).to_check
    assert to_check == [binding()]
    [again] = played.checked(2, to_check, ()).writes
    to_check = played.answered(2, again, Outcome(Result.TAKEN_BACK)).to_check
    assert played.checked(2, to_check, [7]) == Steps()
    assert (played.under_way, played.in_doubt) == (0, 1)


def test_a_pod_in_doubt_with_a_new_decision_is_bound_at_once() -> None:
    played, read = lost()
    [again] = played.seen(2, read, pod()).writes
    [read] = played.answered(2, again, LOST).look
    [again] = played.seen(2, read, pod()).writes
    played.answered(2, again, LOST)
    assert played.next_tick() == 3
    [write] = begin(played, binding(node="n2", assumption=8)).writes
    assert target(write) == "n2"


def test_a_request_in_doubt_of_a_deleted_pod_is_forgotten_by_uid() -> None:
    played, read = lost()
    played.pod_gone("team/a-0", "another")
    assert played.in_doubt == 1
    played.pod_gone("team/a-0", "uid-a-0")
    assert played.in_doubt == played.under_way == 0
    assert played.seen(2, read, pod()) == Steps()


def test_the_pod_is_read_after_a_conflict_before_the_assumption_ends() -> None:
    for answer in (CONFLICT, GONE):
        played = Scheduler()
        [write] = begin(played, binding()).writes
        steps = played.answered(1, write, answer)
        [read] = steps.look
        assert steps.forget == []
        steps = played.seen(1, read, pod())
        assert steps.failed == [(binding(), answer.message)]
        assert steps.writes == steps.forget == []
        assert played.tick(2).forget == [7]


def test_a_refused_binding_has_a_reason_and_waits_longer_each_time(played: Scheduler) -> None:
    for wait in (1, 2, 4, 8, 16, 30, 30):
        [write] = begin(played, binding()).writes
        steps = played.answered(100, write, REFUSED)
        assert steps.failed == [(binding(), "no")]
        assert steps.forget == []
        assert played.next_tick() == 100 + wait
        assert played.tick(99 + wait) == Steps()
        assert played.tick(100 + wait).forget == [7]
        assert played.next_tick() is None
    [write] = begin(played, binding()).writes
    assert played.answered(100, write, DONE).bound == [binding()]


def test_a_pod_that_fails_three_times_in_a_row_leaves_its_room_to_others(played: Scheduler) -> None:
    """The node may not be the cause, but the pod has its resources reserved and does not start."""
    for fails in (1, 2, 3, 4):
        [write] = begin(played, binding()).writes
        steps = played.answered(100, write, Outcome(Result.FAILED, 503, message="not now"))
        assert steps.stuck == ([(binding(), "not now")] if fails > 2 else [])
        played.tick(200)


def test_a_binding_that_was_not_sent_after_a_lost_lease_is_forgotten(played: Scheduler) -> None:
    [write] = begin(played, binding()).writes
    steps = played.answered(1, write, Outcome(Result.FAILED, 0, NOT_LEADING))
    assert steps == Steps(forget=[7])


def test_a_pod_whose_group_was_not_created_after_a_lost_lease_has_not_failed() -> None:
    """The next leader creates the group; the log and the pod have nothing to report."""
    played, created = creating()
    outcome = Outcome(Result.FAILED, 0, NOT_LEADING, "this process no longer holds the lease")
    assert played.answered(1, created, outcome) == Steps(forget=[7])


def test_a_pod_whose_binding_was_not_sent_after_a_lost_lease_names_its_group() -> None:
    """It named its group in the binding only, and then never."""
    played = Scheduler()
    played.assign(0, assignment("a-0"))
    [write] = begin(played, binding(names_group=False)).writes
    played.answered(1, write, Outcome(Result.FAILED, 0, NOT_LEADING))
    [patch] = played.tick(2.0).writes
    assert (patch.verb, patch.name, group_named(patch)) == ("patch", "a-0", "pg-a")


def held(*nodes: str, group: bool = False) -> tuple[Scheduler, list[Binding], list[Write]]:
    """Two bindings, to n1 and n2, held back after these nodes changed."""
    played = with_planned_group("a-0", "a-1") if group else Scheduler()
    named = {"names_group": not group}
    first, second = binding("a-0", "n1", **named), binding("a-1", "n2", assumption=8, **named)
    writes = begin(played, first, second).writes
    steps = played.hold(nodes, [each for each in writes if target(each) in nodes])
    assert steps.writes == steps.forget == []
    return played, steps.to_check, writes


def target(write: Write) -> str:
    return str(body_of(write).get("target", {}).get("name"))


def checked(played: Scheduler, to_check: list[Binding], *broken: int) -> Steps:
    return played.checked(1, to_check, broken)


def test_a_binding_to_a_changed_node_is_sent_if_it_is_still_valid() -> None:
    played, to_check, writes = held("n2", "n3")
    assert [each.pod for each in to_check] == ["team/a-1"]
    [again] = checked(played, to_check).writes
    assert (again.name, target(again)) == ("a-1", "n2")
    assert played.answered(1, again, DONE).bound == to_check
    assert len(played.answered(1, writes[0], DONE).bound) == 1


def test_a_binding_that_is_no_longer_valid_is_taken_back() -> None:
    played, to_check, writes = held("n2")
    steps = checked(played, to_check, 8)
    assert steps == Steps()  # the planning thread has dropped its assumption
    assert played.under_way == 1
    assert played.answered(1, writes[1], DONE).bound == []


def test_a_pod_with_a_new_decision_while_its_binding_is_held_is_bound_once() -> None:
    played, to_check, _ = held("n2")
    [write] = begin(played, binding("a-1", "n9", assumption=9)).writes
    assert checked(played, to_check) == Steps()
    assert [each.node for each in played.answered(1, write, DONE).bound] == ["n9"]


def test_a_pod_deleted_while_its_binding_is_held_is_not_bound() -> None:
    played, to_check, _ = held("n2")
    played.pod_gone("team/a-1", "uid-a-1")
    assert checked(played, to_check) == Steps()


def test_bindings_that_wait_for_their_group_are_checked_once_it_exists() -> None:
    played, to_check, [created] = held("n1", "n2", group=True)
    assert to_check == []
    steps = played.answered(1, created, DONE)
    assert (kinds(steps), [each.pod for each in steps.to_check]) == ([], ["team/a-0", "team/a-1"])
    [bound] = checked(played, steps.to_check, 8).writes
    assert (bound.subresource, bound.name) == ("binding", "a-0")
    [patch] = played.tick(2.0).writes  # the other one waits, and names its group
    assert (patch.verb, patch.name) == ("patch", "a-1")


def test_a_binding_that_was_not_retried_is_checked(played: Scheduler) -> None:
    [write] = begin(played, binding()).writes
    steps = played.answered(1, write, Outcome(Result.TAKEN_BACK))
    assert steps.to_check == [binding()]
    assert steps.failed == steps.forget == []


def victim(name: str = "v", reclaimer: str = "team/b", assumption: int = 9) -> Removal:
    order = Eviction(f"team/{name}", f"uid-{name}", "reclaim", "make room", "team/g", reclaimer)
    return Removal(order, assumption)


def eviction() -> tuple[Scheduler, Write]:
    played = Scheduler()
    [write] = played.begin(0, STAMP, (), [victim()]).writes
    assert body_of(write)["preconditions"] == {"uid": "uid-v"}
    return played, write


def test_victims_are_evicted_before_pods_are_bound(played: Scheduler) -> None:
    steps = played.begin(0, STAMP, [binding()], [victim()])
    assert kinds(steps) == ["delete Pod", "create Pod/binding"]
    assert played.under_way == 2
    assert [each.order.pod for each in played.answered(1, steps.writes[0], DONE).evicted] == [
        "team/v"
    ]
    assert played.under_way == 1
    played.pod_gone("team/a-0", "uid-a-0")
    played.answered(2, steps.writes[1], GONE)
    assert played.under_way == 0


def test_an_eviction_that_succeeds_or_finds_no_pod_is_done() -> None:
    for answer in (DONE, GONE):
        played, write = eviction()
        steps = played.answered(1, write, answer)
        assert [each.order.pod for each in steps.evicted] == ["team/v"]
        assert steps.forget == []


def test_an_eviction_without_an_answer_is_repeated() -> None:
    played, write = eviction()
    assert kinds(played.answered(1, write, LOST)) == ["delete Pod"]


def test_an_eviction_that_is_refused_ends_its_assumption() -> None:
    played, write = eviction()
    steps = played.answered(1, write, REFUSED)
    assert steps.forget == [9]
    assert [why for _, why in steps.spared] == ["no"]


def test_a_recreated_pod_is_not_evicted() -> None:
    played, write = eviction()
    steps = played.answered(1, write, CONFLICT)
    assert steps.forget == [9]
    assert steps.spared == []


def test_pods_are_evicted_for_a_group_once_it_exists() -> None:
    played = with_planned_group("a-0")
    steps = played.begin(0, STAMP, (), [victim("v", "team/pg-a"), victim("w", "team/pg-a")])
    assert kinds(steps) == ["create PodGroup"]
    after = played.answered(1, steps.writes[0], DONE)
    assert [each.name for each in after.writes] == ["v", "w"]
    assert kinds(after) == ["delete Pod"] * 2


def test_no_pod_is_evicted_for_a_group_that_is_refused() -> None:
    played = with_planned_group("a-0")
    [created] = played.begin(0, STAMP, (), [victim("v", "team/pg-a")]).writes
    steps = played.answered(1, created, REFUSED)
    assert (steps.writes, steps.forget) == ([], [9])
    assert [why for _, why in steps.spared] == ["its pod group cannot be created: no"]
    too_early = played.begin(1.5, STAMP, (), [victim("w", "team/pg-a")])
    assert (too_early.writes, too_early.forget) == ([], [9])
    assert [why for _, why in too_early.spared] == ["its pod group cannot be created: no"]


def test_a_creation_without_an_answer_evicts_no_pod() -> None:
    played = with_planned_group("a-0")
    [created] = played.begin(0, STAMP, (), [victim("v", "team/pg-a")]).writes
    assert played.answered(1, created, LOST).forget == [9]
