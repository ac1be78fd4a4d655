"""Groups first, then their pods; what is not clear is looked at; nothing is bound to two nodes."""

from __future__ import annotations

from typing import Any

from kai.api import keys
from kai.api.writes import Outcome, Result, Write
from kai.controllers.binding import Binder, Binding, Removal, Steps
from kai.controllers.grouper import Assignment, GroupChange
from kai.controllers.verdicts import Eviction

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


def test_a_pod_that_names_its_group_is_bound_with_its_uid() -> None:
    [write] = begin(Binder(), binding()).writes
    assert (write.kind, write.subresource, write.name) == ("Pod", "binding", "a-0")
    assert isinstance(write.body, dict)
    assert write.body["metadata"]["uid"] == "uid-a-0"
    assert write.body["target"]["name"] == "n1"
    assert keys.POD_GROUP_ANNOTATION not in write.body["metadata"]["annotations"]


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
    steps = begin(Binder(copies_labels=False), binding(names_group=False, subgroup="w"))
    assert kinds(steps) == ["patch Pod", "create Pod/binding"]


def test_a_group_that_is_there_already_is_no_problem() -> None:
    binder = with_planned_group("a-0")
    [created] = begin(binder, binding(names_group=False)).writes
    assert kinds(binder.answered(1, created, CONFLICT)) == ["create Pod/binding"]


def test_a_group_that_cannot_be_created_binds_nothing() -> None:
    binder = with_planned_group("a-0")
    [created] = begin(binder, binding(names_group=False)).writes
    steps = binder.answered(1, created, REFUSED)
    assert steps.writes == []
    assert steps.forget == [7]
    assert [why for _, why in steps.failed] == ["its pod group cannot be created: no"]
    assert binder.is_planned("team/pg-a")
    assert kinds(binder.tick(1.5)) == []
    assert kinds(binder.tick(2.0)) == ["create PodGroup"]


def test_pods_that_wait_for_a_second_name_their_group() -> None:
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


def test_a_pod_that_waits_for_a_second_names_a_group_that_exists() -> None:
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


def test_a_success_is_told_once() -> None:
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
    [looked_at] = steps.look
    return binder, looked_at


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"uid": "uid-a-0"}, "spec": spec}


def test_a_lost_answer_of_a_binding_that_happened() -> None:
    binder, looked_at = lost()
    steps = binder.seen(looked_at, pod(nodeName="n1"))
    assert steps.bound == [looked_at]
    assert steps.forget == []


def test_a_lost_answer_of_a_binding_that_did_not_happen_is_repeated_to_the_same_node() -> None:
    binder, looked_at = lost()
    [again] = binder.seen(looked_at, pod()).writes
    assert isinstance(again.body, dict)
    assert again.body["target"]["name"] == "n1"
    assert binder.answered(3, again, DONE).bound == [looked_at]


def test_a_lost_answer_of_a_pod_that_is_gone_elsewhere_or_another_one() -> None:
    other = {"metadata": {"uid": "another"}, "spec": {"nodeName": "n1"}}
    leaves = {"metadata": {"uid": "uid-a-0", "deletionTimestamp": STAMP}, "spec": {}}
    for found in (None, other, leaves, pod(nodeName="n2")):
        binder, looked_at = lost()
        steps = binder.seen(looked_at, found)
        assert steps.forget == [7]
        assert steps.bound == []
        assert steps.failed == []
        assert binder.under_way == 0


def test_a_conflict_is_looked_at_before_the_assumption_ends() -> None:
    binder = Binder()
    [write] = begin(binder, binding()).writes
    steps = binder.answered(1, write, CONFLICT)
    assert steps.look == [binding()]
    assert steps.forget == []


def test_a_refused_binding_ends_its_assumption_with_a_reason() -> None:
    binder = Binder()
    [write] = begin(binder, binding()).writes
    steps = binder.answered(1, write, REFUSED)
    assert steps.forget == [7]
    assert steps.failed == [(binding(), "no")]


def test_a_binding_to_a_node_that_changed_is_taken_back_if_it_was_not_sent() -> None:
    binder = Binder()
    writes = begin(binder, binding("a-0", "n1"), binding("a-1", "n2", assumption=8)).writes
    unsent: dict[str, Write] = {f"team/{each.name}": each for each in writes}
    steps = binder.cancel_unsent(["n2", "n3"], unsent)
    assert steps.forget == [8]
    assert binder.under_way == 1
    assert binder.answered(1, writes[1], DONE).bound == []


def eviction() -> tuple[Binder, Write]:
    binder = Binder()
    victim = Removal(Eviction("team/v", "uid-v", "reclaim", "make room"), 9)
    [write] = binder.begin(0, STAMP, (), [victim]).writes
    assert isinstance(write.body, dict)
    assert write.body["preconditions"] == {"uid": "uid-v"}
    return binder, write


def test_an_eviction_that_is_done_or_needless() -> None:
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


def test_a_pod_made_again_under_its_name_is_not_evicted() -> None:
    binder, write = eviction()
    steps = binder.answered(1, write, CONFLICT)
    assert steps.forget == [9]
    assert steps.spared == []
