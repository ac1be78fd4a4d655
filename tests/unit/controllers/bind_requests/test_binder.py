"""BindRequests are carried out once, and the messages about them are true."""

from __future__ import annotations

from typing import Any

from made import request

from kai.api import keys
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.bind_requests import Request, Target
from kai.controllers.binder import RequestBinder
from kai.controllers.bindings import Binding, Steps

DONE = Outcome(Result.DONE, 201)
LOST = Outcome(Result.LOST)
CONFLICT = Outcome(Result.CONFLICT, 409, "Conflict", "the object has been modified")
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "policy says no")
BUSY = Outcome(Result.FAILED, 503, "ServiceUnavailable", "busy")
THERE = Target("uid-a-0", "", has_node=True)
BOUND = "Pod bound successfully to node n1"
NOT_BOUND = "Failed to bind pod team/a-0 to node n1: policy says no"


class Desk:
    """A binder, and its last steps."""

    def __init__(self, **about: Any) -> None:
        self.now = 0.0
        self.binder = RequestBinder(wall=lambda: 1_800_000_000.0)
        self.steps = Steps()
        self.put(**about)

    def put(self, **about: Any) -> None:
        self.steps = self.binder.put(self.now, Request.of(request(**about)))

    def check(self, target: Target = THERE) -> None:
        [asked] = self.binder.take()
        self.steps = self.binder.checked(self.now, asked, target)

    def answer(self, outcome: Outcome, kind: str = "binding") -> None:
        [write] = [each for each in self.steps.writes if kind_of(each) == kind]
        self.steps = self.binder.answered(self.now, write, outcome)

    def look(self, found: dict[str, Any] | None, kind: str = "Pod") -> None:
        [(binding, asked)] = self.steps.look
        assert asked == kind
        self.steps = self.binder.seen(self.now, binding, kind, found)

    def tick(self, now: float) -> None:
        self.now = now
        self.steps = self.binder.tick(now)

    @property
    def writes(self) -> list[str]:
        return [kind_of(each) for each in self.steps.writes]

    @property
    def status(self) -> dict[str, Any]:
        [write] = [each for each in self.steps.writes if kind_of(each) == "status"]
        assert isinstance(write.body, dict)
        return dict(write.body["status"])

    @property
    def said(self) -> tuple[str, str, str]:
        """Status, reason and message of the condition; the event is the same."""
        [write] = [each for each in self.steps.writes if kind_of(each) == "condition"]
        assert isinstance(write.body, dict)
        assert write.body["metadata"] == {"uid": "uid-a-0"}
        [entry] = write.body["status"]["conditions"]
        assert entry["type"] == "PodBound"
        assert entry["lastTransitionTime"] == "2027-01-15T08:00:00Z"
        [event] = self.steps.events
        assert (event.reason, event.message) == (entry["reason"], entry["message"])
        assert (event.component, event.uid) == ("binder", "uid-a-0")
        assert event.type == ("Normal" if entry["status"] == "True" else "Warning")
        return entry["status"], entry["reason"], entry["message"]


def kind_of(write: Write) -> str:
    if write.kind == "BindRequest":
        return write.subresource
    return "condition" if write.subresource == "status" else write.subresource


def pod(node: str = "", uid: str = "uid-a-0", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"uid": uid, **metadata}, "spec": {"nodeName": node} if node else {}}


def test_a_bound_pod_and_its_request_have_the_result() -> None:
    desk = Desk()
    desk.check()
    [write] = desk.steps.writes
    assert isinstance(write.body, dict)
    assert (write.name, write.body["metadata"]["uid"]) == ("a-0", "uid-a-0")
    assert write.body["target"]["name"] == "n1"
    desk.answer(DONE)
    assert desk.writes == ["status", "condition"]
    assert desk.status == {"phase": "Succeeded"}
    assert desk.said == ("True", "Bound", BOUND)
    status, condition = desk.steps.writes
    desk.binder.answered(1, status, DONE)
    desk.binder.answered(1, condition, DONE)
    desk.put(version="2", phase="Succeeded")
    assert desk.steps == Steps()
    assert len(desk.binder) == 0
    assert desk.binder.take() == []


def test_the_annotations_of_the_request_are_set_on_the_pod() -> None:
    desk = Desk()
    given = request()
    given["spec"] |= {
        "receivedResourceType": "Regular",
        "predictedNUMAZones": [{"zone": "0", "amount": {"cpu": "2"}}],
    }
    given["metadata"] |= {
        "uid": "another",
        "annotations": {keys.TOPOLOGY_RANK_ANNOTATION: "3", "note": "mine"},
    }
    desk.binder.put(0, Request.of(given))
    desk.check()
    [write] = desk.steps.writes
    assert isinstance(write.body, dict)
    assert write.body["metadata"]["annotations"] == {
        keys.RECEIVED_TYPE_ANNOTATION: "Regular",
        keys.TOPOLOGY_RANK_ANNOTATION: "3",
        keys.NUMA_PREDICTED_ANNOTATION: '[{"zone":"0","amount":{"cpu":"2"}}]',
    }


def test_finished_and_terminating_requests_are_skipped() -> None:
    for about in ({"phase": "Succeeded"}, {"phase": "Failed"}):
        assert len(Desk(**about).binder) == 0
    leaving = request()
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    desk = Desk()
    desk.binder.put(0, Request.of(leaving))
    assert len(desk.binder) == 0


# ---- failures ------------------------------------------------------------------------------------


def test_a_failure_without_a_limit_is_final() -> None:
    desk = Desk()
    desk.check()
    desk.answer(REFUSED)
    assert desk.status == {"phase": "Failed", "reason": "policy says no", "failedAttempts": 1}
    assert desk.said == ("False", "BindingError", NOT_BOUND)
    status, condition = desk.steps.writes
    desk.binder.answered(1, status, DONE)
    desk.binder.answered(1, condition, DONE)
    desk.put(version="2", phase="Failed", reason="policy says no", failedAttempts=1)
    desk.tick(1000)
    assert desk.steps == Steps()
    assert desk.binder.take() == []
    assert len(desk.binder) == 0


def test_tries_stop_at_the_limit_and_waits_double() -> None:
    desk = Desk(limit=4)
    for failures, wait in enumerate((1, 2, 4, None), 1):
        desk.check()
        desk.answer(REFUSED)
        assert desk.status["failedAttempts"] == failures
        desk.put(
            version=str(failures + 1), limit=4, phase="Failed",
            reason="policy says no", failedAttempts=failures,
        )  # fmt: skip
        due = desk.binder.next_tick()
        if wait is not None:
            assert due == desk.now + wait
            desk.tick(desk.now + wait - 0.1)
            assert desk.binder.take() == []
            desk.tick(due)
    desk.tick(desk.now + 1000)
    assert desk.binder.take() == []


def test_the_same_error_is_reported_once() -> None:
    desk = Desk(limit=3)
    desk.check()
    desk.answer(REFUSED)
    desk.tick(1)
    desk.check()
    desk.answer(REFUSED)
    assert desk.writes == ["status"]
    assert desk.status["failedAttempts"] == 2


def test_tries_of_an_earlier_process_count() -> None:
    desk = Desk(limit=3, phase="Failed", reason="no", failedAttempts=2)
    desk.check()
    desk.answer(REFUSED)
    assert desk.status["failedAttempts"] == 3
    desk.tick(1000)
    assert desk.binder.take() == []


def test_a_success_after_failures_clears_the_reason() -> None:
    desk = Desk(limit=3, phase="Failed", reason="no", failedAttempts=1)
    desk.check()
    desk.answer(DONE)
    assert desk.status == {"phase": "Succeeded", "reason": None}
    assert desk.said == ("True", "Bound", BOUND)


def test_unsupported_requests_fail_without_binding() -> None:
    for more, text in (
        ({"selectedGPUGroups": ["g"]}, "a part of a GPU"),
        ({"receivedResourceType": "Fraction"}, "a part of a GPU"),
        ({"resourceClaimAllocations": [{"name": "gpu"}]}, "resource claims"),
    ):
        given = request(uid="other")
        given["spec"] |= more
        desk = Desk()
        desk.binder.put(0, Request.of(given))
        desk.check()
        assert desk.status["reason"] == f"this binder does not support {text} yet"
        assert desk.said[:2] == ("False", "BindingError")
        assert "binding" not in desk.writes


# ---- what does not fit ---------------------------------------------------------------------------


def test_a_pod_that_is_missing_from_the_watch_is_read() -> None:
    """KAI reports 'Pod not found' for it, and then Bound (recording 25)."""
    desk = Desk()
    desk.check(Target("", "", has_node=True))
    desk.look(pod())
    assert desk.writes == ["binding"]


def test_a_recreated_pod_is_read_and_not_bound() -> None:
    desk = Desk()
    desk.check(Target("another", "", has_node=True))
    assert desk.writes == []
    desk.look(pod(uid="another"))
    assert desk.status["reason"] == "another pod has its name now"


def test_a_node_that_is_missing_from_the_watch_is_read() -> None:
    desk = Desk()
    desk.check(Target("uid-a-0", "", has_node=False))
    desk.look(pod())
    desk.look({"metadata": {"name": "n1"}}, "Node")
    assert desk.writes == ["binding"]


def test_a_node_that_was_deleted() -> None:
    desk = Desk()
    desk.check(Target("uid-a-0", "", has_node=False))
    desk.look(pod())
    desk.look(None, "Node")
    assert desk.status["reason"] == 'Node "n1" not found'
    assert desk.said[0] == "False"


def test_a_request_without_a_node() -> None:
    desk = Desk(node="")
    desk.check(Target("uid-a-0", "", has_node=False))
    assert desk.writes == ["status"]
    assert desk.status["reason"] == "no node is selected"


def test_only_one_of_two_requests_for_a_pod_is_executed() -> None:
    desk = Desk()
    desk.check()
    first = desk.steps
    second = request(node="n2")
    second["metadata"] |= {"name": "second", "uid": "second"}
    desk.binder.put(0, Request.of(second))
    desk.check()
    assert desk.writes == []
    desk.steps = first
    desk.answer(DONE)
    assert desk.status == {"phase": "Succeeded"}
    desk.tick(1)
    desk.check(Target("uid-a-0", "n1", has_node=True))
    desk.look(pod("n1"))
    assert desk.status["reason"] == "the pod is on node n1"


def test_other_failures_are_written_only_on_the_request() -> None:
    deleted = pod(deletionTimestamp="2026-01-01T00:00:00Z")
    for found, why in (
        (None, 'Pod "a-0" not found'),
        (pod(uid="another"), "another pod has its name now"),
        (pod("n2"), "the pod is on node n2"),
        (deleted, "the pod is being deleted"),
    ):
        for outcome in (None, LOST, CONFLICT):
            desk = Desk()
            desk.check(THERE if outcome is not None else Target())
            if outcome is not None:
                desk.answer(outcome)
            desk.look(found)
            assert desk.writes == ["status"]
            assert desk.status == {"phase": "Failed", "reason": why, "failedAttempts": 1}
            assert desk.steps.events == []
            assert desk.binder.in_doubt == 0
            desk.tick(1000)
            assert desk.steps == Steps()


def test_a_pod_that_was_bound_before_the_process_ended() -> None:
    desk = Desk()
    desk.check(Target("uid-a-0", "n1", has_node=True))
    desk.look(pod("n1"))
    assert desk.status == {"phase": "Succeeded"}
    assert desk.said == ("True", "Bound", BOUND)


def test_an_existing_condition_is_not_written_again() -> None:
    desk = Desk()
    desk.check(Target("uid-a-0", "n1", has_node=True))
    there = {"type": "PodBound", "status": "True", "reason": "Bound", "message": BOUND}
    desk.look(pod("n1") | {"status": {"conditions": [{"type": "Ready"}, there]}})
    assert desk.writes == ["status"]
    assert desk.steps.events == []


# ---- doubt ---------------------------------------------------------------------------------------


def test_a_lost_answer_of_a_binding_that_happened() -> None:
    desk = Desk()
    desk.check()
    desk.answer(LOST)
    assert desk.binder.in_doubt == 1
    desk.look(pod("n1"))
    assert desk.status == {"phase": "Succeeded"}
    assert desk.binder.in_doubt == 0


def test_a_binding_in_doubt_is_not_a_failure() -> None:
    """Otherwise the pod would be sent to another node, and another pod would get its place."""
    desk = Desk()
    desk.check()
    desk.answer(LOST)
    for outcome in (LOST, REFUSED, BUSY):
        desk.look(pod())
        [write] = desk.steps.writes
        assert isinstance(write.body, dict)
        assert write.body["target"]["name"] == "n1"
        desk.answer(outcome)
        assert desk.writes == []
        if not desk.steps.look:
            due = desk.binder.next_tick()
            assert due is not None
            desk.tick(due)
    desk.look(pod("n1"))
    assert desk.status == {"phase": "Succeeded"}


def test_a_conflict_about_a_pod_that_waits_is_a_failure() -> None:
    desk = Desk()
    desk.check()
    desk.answer(CONFLICT)
    desk.look(pod())
    assert desk.status["reason"] == CONFLICT.message


def test_a_request_that_is_deleted_is_not_tried_again() -> None:
    """Its pod may be on its way to another node."""
    desk = Desk()
    desk.check()
    [write] = desk.steps.writes
    desk.answer(LOST)
    [(binding, _)] = desk.steps.look
    desk.binder.gone("team/a-0", "another")
    assert len(desk.binder) == 1
    desk.binder.gone("team/a-0", "request-a-0")
    assert desk.binder.seen(1, binding, "Pod", pod()) == Steps()
    assert desk.binder.answered(1, write, DONE) == Steps()
    desk.tick(1000)
    assert desk.steps == Steps()


def test_a_recreated_request_is_executed() -> None:
    desk = Desk()
    desk.check()
    [old] = desk.steps.writes
    desk.put(uid="later", node="n2")
    assert desk.binder.answered(1, old, REFUSED) == Steps()
    desk.check()
    [write] = desk.steps.writes
    assert isinstance(write.body, dict)
    assert write.body["target"]["name"] == "n2"


def test_a_binding_is_checked_again_if_the_lease_was_lost() -> None:
    desk = Desk()
    desk.check()
    desk.answer(Outcome(Result.FAILED, 0, NOT_LEADING))
    assert desk.steps == Steps()
    desk.check()
    assert desk.writes == ["binding"]


def test_bindings_to_a_node_that_changed_are_checked_again() -> None:
    desk = Desk()
    desk.check()
    [write] = desk.steps.writes
    assert isinstance(write.about, Binding)
    desk.binder.hold([write.about], {"n2"})
    assert desk.binder.take() == []
    desk.binder.hold([write.about], {"n1"})
    desk.check(Target("uid-a-0", "", has_node=False))
    assert desk.writes == []
    assert desk.binder.answered(1, write, DONE) == Steps()  # it was not sent


def test_a_binding_taken_back_before_it_is_sent_is_checked_again() -> None:
    desk = Desk()
    desk.check()
    desk.answer(Outcome(Result.TAKEN_BACK))
    desk.check()
    assert desk.writes == ["binding"]


def test_a_pod_that_is_deleted_while_it_is_bound() -> None:
    desk = Desk()
    desk.check()
    desk.binder.pod_gone("team/a-0", "another")
    assert desk.binder.take() == []
    desk.binder.pod_gone("team/a-0", "uid-a-0")
    desk.check(Target())
    desk.look(None)
    assert desk.status["reason"] == 'Pod "a-0" not found'


def test_a_request_that_another_binder_finished_is_dropped() -> None:
    desk = Desk()
    desk.check()
    desk.put(version="2", phase="Succeeded")
    assert len(desk.binder) == 0


# ---- what is written of it -----------------------------------------------------------------------


def bound() -> Desk:
    desk = Desk()
    desk.check()
    desk.answer(DONE)
    return desk


def test_a_status_write_has_the_version_of_the_watched_request() -> None:
    desk = bound()
    [write, _] = desk.steps.writes
    assert isinstance(write.body, dict)
    assert write.body["metadata"] == {"resourceVersion": "1"}
    desk.answer(CONFLICT, "status")
    assert desk.steps == Steps()  # the later version will arrive
    desk.put(version="2", labels={"note": "mine"})
    [write] = desk.steps.writes
    assert isinstance(write.body, dict)
    assert write.body["metadata"] == {"resourceVersion": "2"}


def test_a_status_is_written_again_until_it_succeeds() -> None:
    desk = bound()
    for outcome, wait in ((BUSY, 1), (LOST, 2), (CONFLICT, 4)):
        desk.answer(outcome, "status")
        assert desk.steps == Steps()
        assert desk.binder.next_tick() == desk.now + wait
        desk.tick(desk.now + wait)
        assert desk.writes == ["status"]
    desk.put(version="2", phase="Succeeded")
    desk.tick(1000)
    assert desk.steps == Steps()


def test_a_condition_is_written_again_until_it_succeeds() -> None:
    desk = bound()
    for outcome, wait in ((BUSY, 1), (LOST, 2)):
        desk.answer(outcome, "condition")
        assert desk.binder.next_tick() == desk.now + wait
        desk.tick(desk.now + wait)
        assert desk.writes == ["condition"]
    desk.answer(DONE, "condition")
    desk.put(version="2", phase="Succeeded")
    assert len(desk.binder) == 0


def test_a_condition_of_a_deleted_pod_is_dropped() -> None:
    desk = bound()
    desk.answer(Outcome(Result.GONE, 404), "condition")
    desk.put(version="2", phase="Succeeded")
    assert len(desk.binder) == 0


def test_a_late_event_with_an_earlier_version_binds_nothing() -> None:
    desk = bound()
    for write in desk.steps.writes:
        desk.binder.answered(1, write, DONE)
    desk.put(version="1", labels={"note": "mine"})
    assert desk.steps == Steps()
    assert desk.binder.take() == []
