"""Pods get what they need before they are bound, one thing after the other."""

from dataclasses import replace
from typing import Any

from made import request

from fakes.played import Binder, Scheduler, Steps, Things
from fakes.writes import DONE, LOST, REFUSED
from kai.api.writes import NOT_LEADING, Outcome, Read, Result, Write
from kai.controllers.pods.bind_requests import Request, Target
from kai.controllers.pods.decisions import Binding
from kai.controllers.progress import SLOW_S

GONE = Outcome(Result.GONE, 404)
NOT_LED = Outcome(Result.FAILED, 0, NOT_LEADING)
STAMP = "2026-01-01T00:00:00Z"


class Harness:
    """A scheduler that binds directly, and its writes and reads without an answer."""

    def __init__(self) -> None:
        self.first = Things("a part of a GPU", "selectedGPUGroups")
        self.second = Things("resource claims", "resourceClaimAllocations")
        self.played = Scheduler(reservers=[self.first, self.second])
        self.sent: list[Write] = []
        self.reads: list[Read] = []
        self.steps = Steps()

    def take(self, steps: Steps) -> None:
        self.steps = steps
        self.sent += steps.writes
        self.reads += steps.look

    def begin(self, *bindings: Binding) -> None:
        self.take(self.played.begin(0, STAMP, bindings, ()))

    def look(self, pod: dict[str, Any] | None) -> None:
        self.take(self.played.seen(0, self.reads.pop(0), pod))

    def tick(self, now: float) -> list[str]:
        """The messages of events."""
        self.take(self.played.tick(now))
        return [each.message for each in self.steps.events]

    def answer(self, outcome: Outcome = DONE, now: float = 0) -> None:
        self.take(self.played.answered(now, self.sent.pop(0), outcome))

    def gone(self) -> None:
        self.take(self.played.pod_gone("team/a-0", "uid-a-0"))

    @property
    def kinds(self) -> list[str]:
        return [f"{each.verb} {each.subresource or each.name}" for each in self.sent]


def binding(name: str = "a-0", number: int = 7, node: str = "n1", **spec: Any) -> Binding:
    spec = spec or {"selectedGPUGroups": ["g"], "resourceClaimAllocations": [{"name": "c"}]}
    return Binding(f"team/{name}", f"uid-{name}", node, number, "pg-a", spec=spec)


def pod(name: str = "a-0", node: str = "", **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"uid": f"uid-{name}"} | metadata,
        "spec": {"nodeName": node} if node else {},
    }


def begun() -> Harness:
    """The first step is under way."""
    harness = Harness()
    harness.begin(binding())
    harness.look(pod())
    return harness


def held() -> tuple[Harness, Binding]:
    """All steps are done, and the node of the binding has changed meanwhile."""
    harness, first = Harness(), binding(selectedGPUGroups=["g"])
    harness.begin(first)
    harness.look(pod())
    harness.take(harness.played.hold({"n1"}))
    harness.answer()
    return harness, first


def reserved() -> Harness:
    """The request that binds the pod was sent."""
    harness = begun()
    harness.answer()
    harness.answer()
    assert harness.kinds == ["create binding"]
    return harness


def test_steps_run_in_order_before_the_pod_is_bound() -> None:
    harness = Harness()
    harness.begin(binding())
    assert (harness.kinds, [each.name for each in harness.reads]) == ([], ["a-0"])
    harness.look(pod())
    assert harness.kinds == ["create selectedGPUGroups"]
    harness.answer()
    assert harness.kinds == ["create resourceClaimAllocations"]
    harness.answer()
    assert harness.kinds == ["create binding"]
    harness.answer()
    assert [each.pod for each in harness.steps.bound] == ["team/a-0"]
    assert harness.first.kept == harness.second.kept == ["team/a-0"]
    assert harness.played.under_way == 0


def test_a_pod_without_needs_is_bound_at_once() -> None:
    harness = Harness()
    harness.begin(binding(receivedResourceType="Regular"))
    assert (harness.kinds, harness.reads) == (["create binding"], [])


def test_a_need_without_a_reserver_is_the_reason() -> None:
    played = Scheduler(reservers=[Things("a part of a GPU", "selectedGPUGroups")])
    steps = played.begin(0, STAMP, [binding()], ())
    assert [why for _, why in steps.failed] == ["kai does not support resource claims yet"]


def test_a_failing_step_fails_the_binding_and_undoes_the_earlier_ones_last() -> None:
    harness = begun()
    harness.answer()
    harness.answer(REFUSED)
    [(_, why)] = harness.steps.failed
    assert why == "no resource claims: policy says no"
    assert harness.kinds == ["delete resourceClaimAllocations"]
    harness.answer()
    assert harness.kinds == ["delete selectedGPUGroups"]
    harness.answer()
    assert harness.first.reserved == harness.second.reserved == []


def test_a_refused_binding_undoes_all_steps() -> None:
    harness = reserved()
    harness.answer(REFUSED)
    harness.answer()
    harness.answer()
    assert harness.first.reserved == harness.second.reserved == []


def test_a_binding_in_doubt_keeps_its_resources_and_is_sent_again_unchanged() -> None:
    harness = reserved()
    harness.answer(LOST)
    assert [each.kind for each in harness.reads] == ["Pod"]
    harness.look(pod())
    assert harness.kinds == ["create binding"]
    assert harness.first.reserved == harness.second.reserved == ["team/a-0"]


def test_a_pod_deleted_while_a_step_is_under_way_is_undone_after_the_answer() -> None:
    harness = begun()
    harness.gone()
    assert harness.kinds == ["create selectedGPUGroups"]
    harness.answer()
    assert harness.kinds == ["delete selectedGPUGroups"]
    harness.answer()
    assert (harness.kinds, harness.first.reserved, harness.steps.forget) == ([], [], [])


def test_a_pod_deleted_while_it_is_read_has_nothing_to_undo() -> None:
    harness = Harness()
    harness.begin(binding())
    harness.gone()
    harness.look(pod())
    assert (harness.kinds, harness.played.under_way) == ([], 0)


def test_a_deleted_or_bound_pod_is_not_bound_again() -> None:
    for found, bound in ((None, 0), (pod(node="n1"), 1), (pod(node="n2"), 0)):
        harness = Harness()
        harness.begin(binding())
        harness.look(found)
        assert harness.kinds == []
        assert len(harness.steps.bound) == bound
        assert harness.played.under_way == 0


def test_a_node_that_changes_is_checked_before_the_pod_is_bound() -> None:
    harness, first = held()
    assert (harness.kinds, harness.steps.to_check) == ([], [first])
    harness.take(harness.played.checked(0, [first]))
    assert harness.kinds == ["create binding"]


def test_a_node_that_no_longer_fits_undoes_the_steps() -> None:
    harness, first = held()
    harness.take(harness.played.checked(0, [first], [first.assumption]))
    assert (harness.kinds, harness.steps.forget) == (["delete selectedGPUGroups"], [])


# ---- rules of courses ----------------------------------------------------------------------------


def test_the_next_course_of_a_pod_starts_when_the_one_before_is_undone() -> None:
    harness = begun()
    harness.begin(binding(number=8, node="n2"))
    harness.answer()
    assert (harness.kinds, harness.reads) == (["delete selectedGPUGroups"], [])
    harness.answer()
    assert [each.name for each in harness.reads] == ["a-0"]
    harness.look(pod())
    assert harness.kinds == ["create selectedGPUGroups"]


def test_a_course_that_waits_for_an_undoing_and_is_overtaken_passes_the_wait_on() -> None:
    """The third course began while the first one still undid."""
    harness = begun()
    harness.begin(binding(number=8, node="n2"))
    harness.begin(binding(number=9, node="n3"))
    harness.answer()
    assert (harness.kinds, harness.reads) == (["delete selectedGPUGroups"], [])
    harness.answer()
    assert [each.name for each in harness.reads] == ["a-0"]


def test_the_same_decision_again_keeps_its_course() -> None:
    harness = begun()
    harness.begin(binding(number=8))
    assert harness.kinds == ["create selectedGPUGroups"]
    harness.answer()
    harness.answer()
    harness.answer()
    assert [each.assumption for each in harness.steps.bound] == [8]


def test_a_pod_that_is_bound_although_it_is_gone_or_decided_again_keeps_everything() -> None:
    """The answer to a request that was sent always counts."""
    for happens in ("gone", "decided"):
        harness = reserved()
        if happens == "gone":
            harness.gone()
        else:
            harness.begin(binding(number=8, node="n2"))
        assert harness.kinds == ["create binding"]
        harness.answer()
        assert harness.first.kept == harness.second.kept == ["team/a-0"]
        assert [each.node for each in harness.steps.bound] == ["n1"]


def test_a_pod_that_is_gone_before_it_is_bound_leaves_nothing() -> None:
    harness = reserved()
    harness.gone()
    harness.answer(GONE)
    harness.answer()
    harness.answer()
    assert harness.first.reserved == harness.second.reserved == []
    assert (harness.kinds, harness.steps.failed, harness.played.next_tick()) == ([], [], None)


def test_a_late_answer_about_a_pod_that_is_gone_leaves_no_doubt() -> None:
    """It counted as a pod in doubt for ever."""
    for happens in ("gone", "replaced"):
        harness = reserved()
        if happens == "gone":
            harness.gone()
        else:
            replacement = Binding("team/a-0", "another", "n2", 8, "pg-a")
            harness.begin(replacement)
        harness.answer(LOST)
        assert harness.played.in_doubt == 0


def test_an_undoing_that_is_interrupted_goes_on() -> None:
    harness = begun()
    harness.answer()
    harness.answer(REFUSED)
    harness.gone()
    assert harness.kinds == ["delete resourceClaimAllocations"]
    harness.answer()
    harness.gone()
    harness.answer()
    assert harness.first.reserved == harness.second.reserved == []
    assert harness.played.next_tick() is None, "its pod is gone: it is not planned again"


def test_a_process_that_does_not_lead_any_more_undoes_nothing() -> None:
    harness = reserved()
    harness.answer(NOT_LED)
    assert (harness.kinds, harness.steps.forget) == ([], [7])
    assert harness.first.reserved == harness.second.reserved == ["team/a-0"]


def test_a_process_that_does_not_lead_any_more_drops_what_it_knows_of_all_steps() -> None:
    """The earlier steps were kept for ever: volumes and devices counted as taken."""
    harness = reserved()
    harness.answer(NOT_LED)
    assert (harness.first.left, harness.second.left) == (["team/a-0"], ["team/a-0"])


def test_a_process_that_loses_its_lease_while_it_undoes_stops() -> None:
    harness = reserved()
    harness.answer(REFUSED)
    harness.answer(NOT_LED)
    assert harness.kinds == []
    assert (harness.first.left, harness.second.left) == (["team/a-0"], [])


def test_a_pod_that_is_gone_while_its_failed_course_is_undone_is_not_forgotten_twice() -> None:
    """Its assumption ended with the pod."""
    harness = reserved()
    harness.answer(REFUSED)
    harness.gone()
    harness.answer()
    harness.answer()
    assert (harness.steps.forget, harness.played.held_back()) == ([], [])


def test_the_same_decision_again_after_it_was_broken_binds_the_pod() -> None:
    """The course ended, and the second decision waited for ever."""
    harness, first = held()
    assert harness.steps.to_check == [first]
    for ask in harness.played._asks:  # answered before the decisions of the same turn
        harness.played.courses.answer(ask, False)
    harness.begin(binding(number=8, selectedGPUGroups=["g"]))
    assert harness.kinds == ["create binding"]
    harness.answer()
    assert [each.assumption for each in harness.steps.bound] == [8]


def test_a_new_request_of_a_pod_begins_when_the_one_before_is_undone() -> None:
    """Both wrote about the pod, and the first one took away what the second one had got."""
    things = Things("a part of a GPU", "selectedGPUGroups")
    binder = Binder([things])

    def put(uid: str) -> Steps:
        given = request(uid=uid)
        given["spec"]["selectedGPUGroups"] = ["g"]
        binder.put(0, Request.of(given))
        return check()

    def check() -> Steps:
        [taken] = binder.take()
        return binder.checked(0, taken, Target("uid-a-0", "", has_node=True))

    [read] = put("first").look
    [thing] = binder.seen(0, read, pod()).writes
    [write] = binder.answered(0, thing, DONE).writes
    binder.gone("team/a-0", "first")
    [undone] = binder.answered(0, write, REFUSED).writes
    assert put("second") == Steps()
    binder.answered(0, undone, DONE)
    binder.steps(1)
    [read] = check().look
    assert [each.verb for each in binder.seen(1, read, pod()).writes] == ["create"]


def test_a_new_pod_with_the_name_does_not_wait_for_the_one_before() -> None:
    """The answer to the binding of the deleted pod may take long."""
    harness = reserved()
    new = replace(binding(selectedGPUGroups=["g"]), uid="new")
    harness.begin(new)
    assert [each.name for each in harness.reads] == ["a-0"]
    harness.look(pod(uid="new"))
    assert harness.kinds == ["create binding", "create selectedGPUGroups"]
    harness.answer(GONE)
    assert harness.kinds[1:] == ["delete resourceClaimAllocations"]


def test_three_decisions_of_a_pod_come_one_after_the_other() -> None:
    harness = reserved()
    harness.begin(binding(number=8, node="n2"))
    harness.begin(binding(number=9, node="n3"))
    assert (harness.kinds, harness.reads) == (["create binding"], [])
    harness.answer(REFUSED)
    harness.answer()
    assert harness.reads == []
    harness.answer()
    assert [each.name for each in harness.reads] == ["a-0"], "only of the last one"


def test_a_pod_that_is_gone_before_its_course_begins_gets_nothing() -> None:
    harness = Harness()
    harness.played.pods.begin(STAMP, [binding()], ())
    harness.gone()
    assert (harness.kinds, harness.reads, harness.played.under_way) == ([], [], 0)


def test_a_pod_that_is_gone_is_not_parked_by_a_step_that_fails_at_that_moment() -> None:
    harness = begun()
    [course] = harness.played.pods._of.values()
    course.fail("no luck")
    harness.gone()
    harness.answer()
    harness.answer()
    assert (harness.steps.failed, harness.played.next_tick()) == ([], None)


def test_the_doubt_of_a_binding_that_is_decided_again_is_known() -> None:
    harness = reserved()
    harness.begin(binding(number=8, node="n2"))
    harness.answer(LOST)
    assert harness.played.in_doubt == 1


def test_a_node_that_changes_again_while_the_first_change_is_checked_is_checked_again() -> None:
    harness, first = held()
    harness.take(harness.played.hold({"n1"}))
    harness.take(harness.played.checked(0, [first]))
    assert (harness.kinds, harness.steps.to_check) == ([], [first])
    harness.take(harness.played.checked(0, [first]))
    assert harness.kinds == ["create binding"]


def test_what_a_pod_loses_while_its_node_is_checked_fails_it() -> None:
    harness = Harness()
    harness.begin(binding(selectedGPUGroups=["g"]))
    harness.look(pod())
    harness.take(harness.played.hold({"n1"}))
    harness.answer()
    [course] = harness.played.pods._of.values()
    course.fail("the device is gone")
    harness.take(harness.played.steps(0))
    assert [why for _, why in harness.steps.failed] == ["the device is gone"]
    assert harness.kinds == ["delete selectedGPUGroups"]


def test_what_a_pod_loses_while_its_request_waits_unsent_fails_it() -> None:
    """The request was sent later, for a pod without its device."""
    harness = reserved()
    [course] = harness.played.pods._of.values()
    course.fail("the device is gone")
    harness.answer(Outcome(Result.TAKEN_BACK))
    assert [why for _, why in harness.steps.failed] == ["the device is gone"]
    assert "create binding" not in harness.kinds


def test_what_a_pod_loses_after_its_request_was_sent_is_too_late() -> None:
    harness = reserved()
    [course] = harness.played.pods._of.values()
    course.fail("the device is gone")
    harness.answer()
    assert [each.pod for each in harness.steps.bound] == ["team/a-0"]


def test_in_a_new_term_earlier_decisions_are_neither_carried_out_nor_undone() -> None:
    harness = Harness()
    harness.begin(binding("a-0"), binding("a-1", number=8))
    harness.look(pod("a-0"))
    harness.played.pods.lead_again()
    harness.answer()
    assert sorted(harness.steps.forget) == [7, 8]
    harness.look(pod("a-1"))
    assert (harness.kinds, harness.played.under_way) == ([], 0)
    assert harness.first.reserved == ["team/a-0"], "as the next leader finds it"


def test_in_a_new_term_a_binder_reserves_all_steps_again() -> None:
    """Those that had not begun were left out, and the pod was bound without its claims."""
    first = Things("a part of a GPU", "selectedGPUGroups")
    second = Things("resource claims", "resourceClaimAllocations")
    binder = Binder([first, second])
    given = request()
    given["spec"] |= {"selectedGPUGroups": ["g"], "resourceClaimAllocations": [{"name": "c"}]}
    binder.put(0, Request.of(given))
    steps = binder.checked(0, *binder.take(), Target("uid-a-0", "", has_node=True))
    [thing] = binder.seen(0, steps.look[0], pod()).writes
    binder.binder.lead_again()
    assert binder.answered(0, thing, DONE).writes == []
    steps = binder.checked(0, *binder.take(), Target("uid-a-0", "", has_node=True))
    steps = binder.seen(0, steps.look[0], pod())
    done = []
    for _ in range(3):
        [write] = steps.writes
        done.append(write.subresource or write.name)
        steps = binder.answered(0, write, DONE)
    assert done == ["selectedGPUGroups", "resourceClaimAllocations", "binding"]


def test_in_a_new_term_the_answer_to_a_binding_still_counts() -> None:
    harness = reserved()
    harness.played.pods.lead_again()
    harness.answer()
    assert [each.pod for each in harness.steps.bound] == ["team/a-0"]


# ---- slow steps ----------------------------------------------------------------------------------

SLOW = "Binding pod team/a-0 to node n1. It waits for a part of a GPU of a-0"


def test_a_step_that_takes_longer_than_a_second_is_reported_once() -> None:
    harness = begun()
    assert harness.played.next_tick() == SLOW_S
    assert harness.tick(0.9) == []
    assert harness.tick(1.0) == [SLOW]
    [event] = harness.steps.events
    assert (event.kind, event.name, event.uid) == ("Pod", "a-0", "uid-a-0")
    assert (event.type, event.reason) == ("Normal", "Binding")
    assert harness.tick(60.0) == []
    assert harness.played.next_tick() is None


def test_each_slow_step_is_reported() -> None:
    harness = begun()
    assert harness.tick(1.0) == [SLOW]
    harness.answer(now=1.0)
    assert harness.tick(1.9) == []
    assert harness.tick(2.0) == [SLOW.replace("a part of a GPU", "resource claims")]


def test_a_quick_binding_causes_no_event() -> None:
    harness = reserved()
    assert harness.played.next_tick() is None
    assert harness.tick(5.0) == []


def test_a_binding_that_failed_or_is_over_is_not_reported() -> None:
    harness = begun()
    harness.answer(REFUSED)
    harness.answer()
    assert harness.tick(5.0) == []
    harness.gone()
    assert harness.tick(9.0) == []
