"""BindRequests are carried out once, and the messages about them are true."""

from typing import Any

from made import request

from fakes.played import Binder, Steps, Things
from fakes.writes import BUSY, DONE, LOST, REFUSED, body_of
from kai.api import keys
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.pods.bind_requests import Request, Target
from kai.controllers.unshown import READ_AFTER_S

CONFLICT = Outcome(Result.CONFLICT, 409, "Conflict", "the object has been modified")
ON_NODE = Target("uid-a-0", "n1", has_node=True)
THERE = Target("uid-a-0", "", has_node=True)
BOUND = "Pod bound successfully to node n1"
NOT_BOUND = "Failed to bind pod team/a-0 to node n1: policy says no"


class Harness:
    """A binder, and its last steps."""

    def __init__(self, **about: Any) -> None:
        self.now = 0.0
        self.binder = Binder()
        self.steps = Steps()
        self.put(**about)

    def put(self, **about: Any) -> None:
        """A watch shows the request, after the answers to writes of its status."""
        for write in filter(is_status, self.binder.sent):
            self.binder.answered(self.now, write, DONE)
        self.steps = self.binder.put(self.now, Request.of(request(**about)))

    def check(self, target: Target = THERE) -> None:
        [binding] = self.binder.take()
        self.steps = self.binder.checked(self.now, binding, target)

    def answer(self, outcome: Outcome, kind: str = "binding") -> None:
        [write] = [each for each in self.steps.writes if kind_of(each) == kind]
        self.steps = self.binder.answered(self.now, write, outcome)

    def is_shown(self) -> None:
        """A watch shows the pod on its node."""
        self.tick(self.now + READ_AFTER_S)
        self.check(ON_NODE)
        assert len(self.binder) == 0

    def look(self, found: dict[str, Any] | None, kind: str = "Pod") -> None:
        [read] = self.steps.look
        assert read.kind == kind
        self.steps = self.binder.seen(self.now, read, found)

    def tick(self, now: float) -> None:
        self.now = now
        self.steps = self.binder.steps(now)

    @property
    def writes(self) -> list[str]:
        return [kind_of(each) for each in self.steps.writes]

    @property
    def status(self) -> dict[str, Any]:
        [write] = [each for each in self.steps.writes if kind_of(each) == "status"]
        return dict(body_of(write)["status"])

    @property
    def condition(self) -> tuple[str, str, str]:
        """Status, reason and message of the condition; the event is the same."""
        [write] = [each for each in self.steps.writes if kind_of(each) == "condition"]
        assert body_of(write)["metadata"] == {"uid": "uid-a-0"}
        [entry] = body_of(write)["status"]["conditions"]
        assert entry["type"] == "PodBound"
        assert entry["lastTransitionTime"] == "2027-01-15T08:00:00Z"
        [event] = self.steps.events
        assert (event.reason, event.message) == (entry["reason"], entry["message"])
        assert (event.component, event.uid) == ("binder", "uid-a-0")
        assert event.type == ("Normal" if entry["status"] == "True" else "Warning")
        return entry["status"], entry["reason"], entry["message"]


def is_status(write: Write) -> bool:
    return (write.kind, write.subresource) == ("BindRequest", "status")


def kind_of(write: Write) -> str:
    if write.kind == "BindRequest":
        return write.subresource
    return "condition" if write.subresource == "status" else write.subresource


def pod(node: str = "", uid: str = "uid-a-0", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"uid": uid, **metadata}, "spec": {"nodeName": node} if node else {}}


def checked(target: Target = THERE) -> Harness:
    """The request was compared with its pod and node."""
    harness = Harness()
    harness.check(target)
    return harness


def test_a_bound_pod_and_its_request_have_the_result() -> None:
    harness = checked()
    [write] = harness.steps.writes
    assert (write.name, body_of(write)["metadata"]["uid"]) == ("a-0", "uid-a-0")
    assert body_of(write)["target"]["name"] == "n1"
    harness.answer(DONE)
    assert harness.writes == ["status", "condition"]
    assert harness.status == {"phase": "Succeeded"}
    assert harness.condition == ("True", "Bound", BOUND)
    status, condition = harness.steps.writes
    harness.binder.answered(1, status, DONE)
    harness.binder.answered(1, condition, DONE)
    harness.put(version="2", phase="Succeeded")
    assert harness.steps == Steps()
    assert harness.binder.take() == []
    harness.is_shown()
    assert harness.steps == Steps()


def test_the_annotations_of_the_request_are_set_on_the_pod() -> None:
    harness = Harness()
    given = request()
    given["spec"] |= {
        "receivedResourceType": "Regular",
        "predictedNUMAZones": [{"zone": "0", "amount": {"cpu": "2"}}],
    }
    given["metadata"] |= {
        "uid": "another",
        "annotations": {keys.TOPOLOGY_RANK_ANNOTATION: "3", "note": "mine"},
    }
    harness.binder.put(0, Request.of(given))
    harness.check()
    [write] = harness.steps.writes
    assert body_of(write)["metadata"]["annotations"] == {
        keys.RECEIVED_TYPE_ANNOTATION: "Regular",
        keys.TOPOLOGY_RANK_ANNOTATION: "3",
        keys.NUMA_PREDICTED_ANNOTATION: '[{"zone":"0","amount":{"cpu":"2"}}]',
    }


def test_finished_and_terminating_requests_are_skipped() -> None:
    for about in ({"phase": "Succeeded"}, {"phase": "Failed"}):
        assert len(Harness(**about).binder) == 0
    leaving = request()
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    harness = Harness()
    harness.binder.put(0, Request.of(leaving))
    assert len(harness.binder) == 0


# ---- failures ------------------------------------------------------------------------------------


def test_a_failure_without_a_limit_is_final() -> None:
    harness = checked()
    harness.answer(REFUSED)
    assert harness.status == {"phase": "Failed", "reason": "policy says no", "failedAttempts": 1}
    assert harness.condition == ("False", "BindingError", NOT_BOUND)
    status, condition = harness.steps.writes
    harness.binder.answered(1, status, DONE)
    harness.binder.answered(1, condition, DONE)
    harness.put(version="2", phase="Failed", reason="policy says no", failedAttempts=1)
    harness.tick(1000)
    assert harness.steps == Steps()
    assert harness.binder.take() == []
    assert len(harness.binder) == 0


def test_tries_stop_at_the_limit_and_waits_double() -> None:
    harness = Harness(limit=4)
    for failures, wait in enumerate((1, 2, 4, None), 1):
        harness.check()
        harness.answer(REFUSED)
        assert harness.status["failedAttempts"] == failures
        harness.put(
            version=str(failures + 1), limit=4, phase="Failed",
            reason="policy says no", failedAttempts=failures,
        )  # fmt: skip
        due = harness.binder.next_tick()
        if wait is not None:
            assert due == harness.now + wait
            harness.tick(harness.now + wait - 0.1)
            assert harness.binder.take() == []
            harness.tick(due)
    harness.tick(harness.now + 1000)
    assert harness.binder.take() == []


def test_the_same_error_is_reported_once() -> None:
    harness = Harness(limit=3)
    harness.check()
    harness.answer(REFUSED)
    harness.answer(DONE, "status")
    harness.tick(1)
    harness.check()
    harness.answer(REFUSED)
    assert harness.writes == ["status"]
    assert harness.status["failedAttempts"] == 2


def test_tries_of_an_earlier_process_count() -> None:
    harness = Harness(limit=3, phase="Failed", reason="no", failedAttempts=2)
    harness.check()
    harness.answer(REFUSED)
    assert harness.status["failedAttempts"] == 3
    harness.tick(1000)
    assert harness.binder.take() == []


def test_a_success_after_failures_clears_the_reason() -> None:
    harness = Harness(limit=3, phase="Failed", reason="no", failedAttempts=1)
    harness.check()
    harness.answer(DONE)
    assert harness.status == {"phase": "Succeeded", "reason": None}
    assert harness.condition == ("True", "Bound", BOUND)


def test_unsupported_requests_fail_without_binding() -> None:
    for more, text in (
        ({"selectedGPUGroups": ["g"]}, "a part of a GPU"),
        ({"receivedResourceType": "Fraction"}, "a part of a GPU"),
        ({"resourceClaimAllocations": [{"name": "gpu"}]}, "resource claims"),
    ):
        given = request(uid="other")
        given["spec"] |= more
        harness = Harness()
        harness.binder.put(0, Request.of(given))
        harness.check()
        assert harness.status["reason"] == f"this binder does not support {text} yet"
        assert harness.condition[:2] == ("False", "BindingError")
        assert "binding" not in harness.writes


# ---- what does not fit ---------------------------------------------------------------------------


def test_a_pod_that_is_missing_from_the_watch_is_read() -> None:
    """KAI reports 'Pod not found' for it, and then Bound (recording 25)."""
    harness = checked(Target("", "", has_node=True))
    harness.look(pod())
    assert harness.writes == ["binding"]


def test_a_recreated_pod_is_read_and_not_bound() -> None:
    harness = checked(Target("another", "", has_node=True))
    assert harness.writes == []
    harness.look(pod(uid="another"))
    assert harness.status["reason"] == "another pod has its name now"


def test_a_node_that_is_missing_from_the_watch_is_read() -> None:
    harness = checked(Target("uid-a-0", "", has_node=False))
    harness.look(pod())
    harness.look({"metadata": {"name": "n1"}}, "Node")
    assert harness.writes == ["binding"]


def test_a_node_that_was_deleted() -> None:
    harness = checked(Target("uid-a-0", "", has_node=False))
    harness.look(pod())
    harness.look(None, "Node")
    assert harness.status["reason"] == 'Node "n1" not found'
    assert harness.condition[0] == "False"


def test_a_request_without_a_node() -> None:
    harness = Harness(node="")
    harness.check(Target("uid-a-0", "", has_node=False))
    assert harness.writes == ["status"]
    assert harness.status["reason"] == "no node is selected"


def test_only_one_of_two_requests_for_a_pod_is_executed() -> None:
    harness = checked()
    first = harness.steps
    second = request(node="n2")
    second["metadata"] |= {"name": "second", "uid": "second"}
    harness.binder.put(0, Request.of(second))
    harness.check()
    assert harness.writes == []
    harness.steps = first
    harness.answer(DONE)
    assert harness.status == {"phase": "Succeeded"}
    harness.tick(1)
    harness.check(Target("uid-a-0", "n1", has_node=True))
    harness.look(pod("n1"))
    assert harness.status["reason"] == "the pod is on node n1"


def test_other_failures_are_written_only_on_the_request() -> None:
    deleted = pod(deletionTimestamp="2026-01-01T00:00:00Z")
    for found, why in (
        (None, 'Pod "a-0" not found'),
        (pod(uid="another"), "another pod has its name now"),
        (pod("n2"), "the pod is on node n2"),
        (deleted, "the pod is being deleted"),
    ):
        for outcome in (None, LOST, CONFLICT):
            harness = Harness()
            harness.check(THERE if outcome is not None else Target())
            if outcome is not None:
                harness.answer(outcome)
            harness.look(found)
            assert harness.writes == ["status"]
            assert harness.status == {"phase": "Failed", "reason": why, "failedAttempts": 1}
            assert harness.steps.events == []
            assert harness.binder.in_doubt == 0
            harness.tick(1000)
            assert harness.steps == Steps()


def test_a_pod_that_was_bound_before_the_process_ended() -> None:
    harness = checked(Target("uid-a-0", "n1", has_node=True))
    harness.look(pod("n1"))
    assert harness.status == {"phase": "Succeeded"}
    assert harness.condition == ("True", "Bound", BOUND)


def test_an_existing_condition_is_not_written_again() -> None:
    harness = checked(Target("uid-a-0", "n1", has_node=True))
    there = {"type": "PodBound", "status": "True", "reason": "Bound", "message": BOUND}
    harness.look(pod("n1") | {"status": {"conditions": [{"type": "Ready"}, there]}})
    assert harness.writes == ["status"]
    assert harness.steps.events == []


# ---- doubt ---------------------------------------------------------------------------------------


def test_a_lost_answer_of_a_binding_that_happened() -> None:
    harness = checked()
    harness.answer(LOST)
    assert harness.binder.in_doubt == 1
    harness.look(pod("n1"))
    assert harness.status == {"phase": "Succeeded"}
    assert harness.binder.in_doubt == 0


def test_a_binding_in_doubt_is_not_a_failure() -> None:
    """Otherwise the pod would be sent to another node, and another pod would get its place."""
    harness = checked()
    harness.answer(LOST)
    for outcome in (LOST, REFUSED, BUSY):
        harness.look(pod())
        [write] = harness.steps.writes
        assert body_of(write)["target"]["name"] == "n1"
        harness.answer(outcome)
        assert harness.writes == []
        if not harness.steps.look:
            due = harness.binder.next_tick()
            assert due is not None
            harness.tick(due)
    harness.look(pod("n1"))
    assert harness.status == {"phase": "Succeeded"}


def test_a_conflict_about_a_pod_that_waits_is_a_failure() -> None:
    harness = checked()
    harness.answer(CONFLICT)
    harness.look(pod())
    assert harness.status["reason"] == CONFLICT.message


def test_a_request_that_is_deleted_is_not_tried_again() -> None:
    """Its pod may be on its way to another node."""
    harness = checked()
    [write] = harness.steps.writes
    harness.answer(LOST)
    [read] = harness.steps.look
    harness.binder.gone("team/a-0", "another")
    assert len(harness.binder) == 1
    harness.binder.gone("team/a-0", "request-a-0")
    assert harness.binder.seen(1, read, pod()) == Steps()
    assert harness.binder.answered(1, write, DONE) == Steps()
    harness.tick(1000)
    assert harness.steps == Steps()


def test_a_recreated_request_is_executed() -> None:
    harness = checked()
    [old] = harness.steps.writes
    harness.put(uid="later", node="n2")
    assert harness.binder.answered(1, old, REFUSED) == Steps()
    harness.check()
    [write] = harness.steps.writes
    assert body_of(write)["target"]["name"] == "n2"


def test_a_binding_is_checked_again_if_the_lease_was_lost() -> None:
    harness = checked()
    harness.answer(Outcome(Result.FAILED, 0, NOT_LEADING))
    assert harness.steps == Steps()
    harness.check()
    assert harness.writes == ["binding"]


def test_bindings_to_a_node_that_changed_are_checked_again() -> None:
    harness = checked()
    [write] = harness.steps.writes
    harness.binder.hold({"n2"}, [])
    assert harness.binder.take() == []
    harness.binder.hold({"n1"}, [write])
    harness.check(Target("uid-a-0", "", has_node=False))
    assert harness.writes == []
    assert harness.binder.answered(1, write, DONE) == Steps()  # it was not sent


def test_a_binding_taken_back_before_it_is_sent_is_checked_again() -> None:
    harness = checked()
    harness.answer(Outcome(Result.TAKEN_BACK))
    harness.check()
    assert harness.writes == ["binding"]


def test_a_pod_that_is_deleted_while_it_is_bound() -> None:
    harness = checked()
    harness.binder.pod_gone("team/a-0", "another")
    assert harness.binder.take() == []
    harness.binder.pod_gone("team/a-0", "uid-a-0")
    harness.answer(Outcome(Result.GONE, 404))
    harness.check(Target())
    harness.look(None)
    assert harness.status["reason"] == 'Pod "a-0" not found'


def test_a_request_that_another_binder_finished_is_dropped() -> None:
    harness = checked()
    harness.put(version="2", phase="Succeeded")
    assert len(harness.binder) == 0


def test_a_pod_that_is_gone_before_the_answer_to_its_binding() -> None:
    """The process failed: nothing expected this when the binding had succeeded."""
    harness = checked()
    harness.binder.pod_gone("team/a-0", "uid-a-0")
    harness.answer(DONE)
    assert harness.status == {"phase": "Succeeded"}
    harness.answer(DONE, "condition")
    harness.put(version="2", phase="Succeeded")
    harness.tick(READ_AFTER_S)
    harness.check(Target())
    assert len(harness.binder) == 0


def test_a_request_that_is_gone_before_the_answer_to_its_binding_gets_no_status() -> None:
    """It was written every 15 s, and did not exist."""
    harness = checked()
    harness.binder.gone("team/a-0", "request-a-0")
    harness.answer(DONE)
    assert harness.writes == ["condition"]
    harness.answer(DONE, "condition")
    assert harness.binder.next_tick() is None


# ---- what its pod needs --------------------------------------------------------------------------


class Prepared(Harness):
    """A binder with a request whose pod needs a device."""

    def __init__(self) -> None:
        super().__init__(phase="Succeeded")
        self.things = Things("a part of a GPU", "selectedGPUGroups")
        self.binder = Binder([self.things])
        self.show()

    def show(self, **status: Any) -> None:
        given = request(**status)
        given["spec"]["selectedGPUGroups"] = ["g"]
        self.steps = self.binder.put(self.now, Request.of(given))

    def reserve(self) -> None:
        self.check()
        self.look(pod())
        assert self.kinds == ["create ConfigMap"]

    def done(self, outcome: Outcome = DONE) -> None:
        [write] = self.steps.writes
        self.steps = self.binder.answered(self.now, write, outcome)

    @property
    def kinds(self) -> list[str]:
        return [f"{each.verb} {each.subresource or each.kind}" for each in self.steps.writes]


def test_in_a_new_term_everything_is_looked_up_and_reserved_again() -> None:
    harness = Prepared()
    harness.reserve()
    harness.binder.binder.lead_again()
    harness.done()
    harness.check()
    assert harness.kinds == []
    harness.look(pod())
    assert harness.kinds == ["create ConfigMap"]
    harness.done()
    assert harness.kinds == ["create binding"]


def test_a_try_that_its_pod_interrupted_is_undone_before_the_next_one() -> None:
    """It was taken for complete, and the pod bound without its device."""
    harness = Prepared()
    harness.reserve()
    harness.binder.pod_gone("team/a-0", "uid-a-0")
    harness.done()
    harness.check()
    assert harness.kinds == ["delete ConfigMap"]
    harness.done()
    harness.look(pod())
    assert harness.kinds == ["create ConfigMap"]


def test_a_request_that_another_binder_has_carried_out_leaves_its_pod_what_it_got() -> None:
    harness = Prepared()
    harness.reserve()
    harness.show(version="2", phase="Succeeded")
    harness.tick(2.0)
    harness.steps = harness.binder.answered(2.0, harness.binder.sent[0], DONE)
    assert (harness.kinds, harness.things.kept, len(harness.binder)) == ([], ["team/a-0"], 0)


def test_a_binding_that_had_no_effect_is_sent_again_although_its_own_result_is_shown() -> None:
    harness = bound()
    harness.answer(DONE, "condition")
    harness.tick(READ_AFTER_S)
    harness.check(THERE)
    reads = harness.steps
    harness.put(version="2", phase="Succeeded")
    harness.steps = reads
    harness.look(pod())
    assert harness.writes == ["binding"]


def test_a_request_that_comes_and_goes_at_once_leaves_nothing() -> None:
    harness = Prepared()
    harness.binder.gone("team/a-0", "request-a-0")
    harness.binder.binder.put(Request.of(request(uid="second")))
    harness.steps = harness.binder.gone("team/a-0", "second")
    assert (harness.steps, len(harness.binder), harness.binder.take()) == (Steps(), 0, [])


def test_a_condition_that_a_later_request_of_the_pod_replaces_is_not_sent_again() -> None:
    harness = bound()
    harness.answer(Outcome(Result.REPLACED), "condition")
    assert harness.writes == []


# ---- what is written of it -----------------------------------------------------------------------


def bound() -> Harness:
    harness = checked()
    harness.answer(DONE)
    return harness


def test_a_status_write_has_the_version_of_the_watched_request() -> None:
    harness = bound()
    [write, _] = harness.steps.writes
    assert body_of(write)["metadata"] == {"resourceVersion": "1"}
    harness.answer(CONFLICT, "status")
    assert harness.steps == Steps()  # the later version will arrive
    harness.put(version="2", labels={"note": "mine"})
    [write] = harness.steps.writes
    assert body_of(write)["metadata"] == {"resourceVersion": "2"}


def test_a_status_is_written_again_until_it_succeeds() -> None:
    harness = bound()
    for outcome, wait in ((BUSY, 1), (LOST, 2), (CONFLICT, 4)):
        harness.answer(outcome, "status")
        assert harness.steps == Steps()
        assert harness.binder.next_tick() == harness.now + wait
        harness.tick(harness.now + wait)
        assert harness.writes == ["status"]
    harness.put(version="2", phase="Succeeded")
    harness.tick(1000)
    assert harness.steps == Steps()


def test_a_condition_is_written_again_until_it_succeeds() -> None:
    harness = bound()
    for outcome, wait in ((BUSY, 1), (LOST, 2)):
        harness.answer(outcome, "condition")
        assert harness.binder.next_tick() == harness.now + wait
        harness.tick(harness.now + wait)
        assert harness.writes == ["condition"]
    harness.answer(DONE, "condition")
    harness.put(version="2", phase="Succeeded")
    harness.is_shown()


def test_a_condition_that_another_request_of_the_pod_replaces_is_not_written_again() -> None:
    """Two requests replaced the conditions of each other, without an end."""
    harness = bound()
    harness.answer(Outcome(Result.REPLACED), "condition")
    assert harness.steps == Steps()


def test_a_condition_of_a_deleted_pod_is_dropped() -> None:
    harness = bound()
    harness.answer(Outcome(Result.GONE, 404), "condition")
    harness.put(version="2", phase="Succeeded")
    harness.is_shown()


def test_a_binding_that_no_watch_shows_is_read_and_sent_again() -> None:
    """The API server accepted it, and it had no effect."""
    harness = bound()
    harness.answer(DONE, "condition")
    harness.put(version="2", phase="Succeeded")
    harness.tick(READ_AFTER_S)
    harness.check(THERE)
    harness.look(pod())
    assert harness.writes == ["binding"]
    harness.answer(DONE)
    assert harness.status == {"phase": "Succeeded"}
    harness.answer(DONE, "condition")
    harness.put(version="3", phase="Succeeded")
    harness.is_shown()


def test_a_binding_that_only_the_watch_has_missed_is_not_sent_again() -> None:
    harness = bound()
    harness.put(version="2", phase="Succeeded")
    harness.tick(READ_AFTER_S)
    harness.check(THERE)
    harness.look(pod("n1"))
    assert "binding" not in harness.writes


def test_a_status_that_no_watch_shows_is_written_again() -> None:
    harness = bound()
    harness.answer(DONE, "status")
    harness.tick(READ_AFTER_S - 0.1)
    assert harness.writes == []
    harness.tick(READ_AFTER_S)
    assert harness.status == {"phase": "Succeeded"}


def test_a_late_event_with_an_earlier_version_binds_nothing() -> None:
    harness = bound()
    for write in harness.steps.writes:
        harness.binder.answered(1, write, DONE)
    harness.put(version="1", labels={"note": "mine"})
    assert harness.steps == Steps()
    assert harness.binder.take() == []
