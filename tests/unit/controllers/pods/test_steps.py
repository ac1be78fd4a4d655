"""Pods are prepared before they are bound, by one giver after the other."""

from __future__ import annotations

from typing import Any

from kai.api.writes import Lane, Outcome, Read, Result, Write
from kai.controllers.binding import Binder
from kai.controllers.bindings import Binding, Steps
from kai.controllers.preparing import Given, Giver, Pod, Preparing
from kai.controllers.progress import SLOW_S

DONE = Outcome(Result.DONE, 201)
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "policy says no")
LOST = Outcome(Result.LOST)
STAMP = "2026-01-01T00:00:00Z"


class FakeGiver:
    """A giver in its simplest form: one write for each thing."""

    def __init__(self, what: str, key: str) -> None:
        self.what, self.key = what, key
        self.given: list[str] = []
        self.kept: list[str] = []
        self.due: float | None = None
        self.next: Binding | None = None  # gets the thing that is taken back

    def needs(self, binding: Binding) -> bool:
        return self.key in binding.spec

    def give(self, now: float, binding: Binding, pod: Pod) -> Given:
        assert pod["metadata"]["uid"] == binding.uid
        self.given.append(binding.pod)
        return Given(writes=[self.write("create", binding)])

    def answered(self, now: float, write: Write, outcome: Outcome) -> Given:
        owner, binding = write.about if isinstance(write.about, tuple) else (None, None)
        if owner is not self or binding is None or write.verb == "delete":
            return Given()
        if outcome.result is Result.DONE:
            return Given(ready=[binding])
        return Given(failed=[(binding, f"no {self.what}: {outcome.message}")])

    def read(self, now: float, read: Read, found: Any) -> Given:
        return Given()

    def waits_for(self, binding: Binding) -> str:
        return f"{self.what} of {binding.own_name}"

    def take_back(self, binding: Binding) -> Given:
        self.given.remove(binding.pod)
        ready = [] if self.next is None else [self.next]
        return Given(writes=[self.write("delete", binding)], ready=ready)

    def keep(self, binding: Binding) -> None:
        self.kept.append(binding.pod)

    def tick(self, now: float) -> Given:
        return Given()

    def next_tick(self) -> float | None:
        return self.due

    def write(self, verb: Any, binding: Binding) -> Write:
        return Write(Lane.BINDING, verb, "ConfigMap", "team", self.key, about=(self, binding))


class Harness:
    """A binder that binds directly, and its sent writes."""

    def __init__(self) -> None:
        self.first = FakeGiver("a part of a GPU", "selectedGPUGroups")
        self.second = FakeGiver("resource claims", "resourceClaimAllocations")
        givers: list[Giver] = [self.first, self.second]
        self.preparing = Preparing(givers)
        self.binder = Binder(preparing=self.preparing)
        self.sent: list[Write] = []
        self.reads: list[Read] = []
        self.steps = Steps()

    def take(self, steps: Steps) -> None:
        """Until no steps follow, as in the service."""
        self.steps = steps
        self.sent += steps.writes
        while True:
            prepared = self.preparing.take()
            self.sent += prepared.writes
            self.reads += prepared.reads
            if not prepared.has_bindings:
                return
            more = self.binder.prepared(0, prepared)
            self.sent += more.writes
            self.steps.add(more)

    def begin(self, *bindings: Binding) -> None:
        self.take(self.binder.begin(0, STAMP, bindings, ()))

    def look(self, pod: dict[str, Any] | None) -> None:
        self.preparing.read(0, self.reads.pop(0), pod)
        self.take(Steps())

    def tick(self, now: float) -> list[str]:
        """The messages of events."""
        self.preparing.tick(now)
        self.take(Steps())
        return [each.message for each in self.steps.events]

    def answer(self, outcome: Outcome = DONE) -> None:
        write = self.sent.pop(0)
        steps = self.binder.answered(0, write, outcome)
        self.preparing.answered(0, write, outcome)
        self.take(steps)

    @property
    def kinds(self) -> list[str]:
        return [f"{each.verb} {each.subresource or each.name}" for each in self.sent]


def binding(name: str = "a-0", number: int = 7, node: str = "n1", **spec: Any) -> Binding:
    spec = spec or {"selectedGPUGroups": ["g"], "resourceClaimAllocations": [{"name": "c"}]}
    return Binding(f"team/{name}", f"uid-{name}", node, number, "pg-a", spec=spec)


def pod(name: str = "a-0", node: str = "", **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"uid": f"uid-{name}", **metadata},
        "spec": {"nodeName": node} if node else {},
    }


def test_givers_run_in_order_before_the_pod_is_bound() -> None:
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
    assert len(harness.preparing) == 0


def test_a_pod_without_givers_is_bound_at_once() -> None:
    harness = Harness()
    harness.begin(binding(receivedResourceType="Regular"))
    assert (harness.kinds, harness.reads) == (["create binding"], [])


def test_a_need_without_a_giver_is_the_reason() -> None:
    binder = Binder(preparing=Preparing([FakeGiver("a part of a GPU", "selectedGPUGroups")]))
    steps = binder.begin(0, STAMP, [binding()], ())
    assert [why for _, why in steps.failed] == ["kai does not support resource claims yet"]


def test_a_failing_giver_fails_the_binding_and_undoes_the_earlier_givers() -> None:
    harness = Harness()
    harness.begin(binding())
    harness.look(pod())
    harness.answer()
    harness.answer(REFUSED)
    [(_, why)] = harness.steps.failed
    assert why == "no resource claims: policy says no"
    assert harness.kinds == ["delete resourceClaimAllocations", "delete selectedGPUGroups"]
    assert harness.first.given == harness.second.given == []


def test_a_refused_binding_undoes_all_givers() -> None:
    harness = Harness()
    harness.begin(binding(selectedGPUGroups=["g"]))
    harness.look(pod())
    harness.answer()
    harness.answer(REFUSED)
    assert harness.kinds == ["delete selectedGPUGroups"]


def test_a_binding_in_doubt_keeps_its_resources_and_is_sent_again_unchanged() -> None:
    harness = Harness()
    harness.begin(binding(selectedGPUGroups=["g"]))
    harness.look(pod())
    harness.answer()
    harness.answer(LOST)
    [(doubted, kind)] = harness.steps.look
    assert kind == "Pod"
    harness.take(harness.binder.seen(0, doubted, pod()))
    assert harness.kinds == ["create binding"]
    assert harness.first.given == ["team/a-0"]


def test_a_pod_deleted_while_it_is_prepared_is_dropped() -> None:
    harness = Harness()
    harness.begin(binding())
    harness.look(pod())
    harness.binder.pod_gone("team/a-0", "uid-a-0")
    harness.take(Steps())
    assert harness.kinds == ["create selectedGPUGroups", "delete selectedGPUGroups"]
    harness.answer()  # the creation was under way
    assert harness.kinds == ["delete selectedGPUGroups"]


def test_a_deleted_or_bound_pod_is_not_bound_again() -> None:
    for found, bound in ((None, 0), (pod(node="n1"), 1), (pod(node="n2"), 0)):
        harness = Harness()
        harness.begin(binding())
        harness.look(found)
        assert harness.kinds == []
        assert len(harness.steps.bound) == bound
        assert len(harness.preparing) == 0


def test_a_node_that_changes_is_checked_before_the_pod_is_bound() -> None:
    harness = Harness()
    first = binding(selectedGPUGroups=["g"])
    harness.begin(first)
    harness.look(pod())
    harness.preparing.hold({"n1"})
    harness.answer()
    assert (harness.kinds, harness.steps.to_check) == ([], [first])
    harness.take(harness.binder.checked(0, STAMP, [first], ()))
    assert harness.kinds == ["create binding"]  # it is prepared already


def test_a_node_that_no_longer_fits_undoes_the_givers() -> None:
    harness = Harness()
    first = binding(selectedGPUGroups=["g"])
    harness.begin(first)
    harness.look(pod())
    harness.preparing.hold({"n1"})
    harness.answer()
    harness.take(harness.binder.checked(0, STAMP, [first], [first.assumption]))
    assert harness.kinds == ["delete selectedGPUGroups"]


def test_resources_released_by_one_pod_serve_another() -> None:
    harness = Harness()
    harness.begin(binding("a-0", selectedGPUGroups=["g"]), binding("a-1", selectedGPUGroups=["g"]))
    harness.look(pod("a-0"))
    harness.look(pod("a-1"))
    harness.first.next = binding("a-1")
    harness.binder.pod_gone("team/a-0", "uid-a-0")
    harness.take(Steps())
    assert harness.kinds[-1] == "create binding"


def test_the_next_tick_is_the_earliest_of_the_givers() -> None:
    harness = Harness()
    assert harness.preparing.next_tick() is None
    harness.first.due, harness.second.due = 9.0, 3.0
    assert harness.preparing.next_tick() == 3.0


# ---- slow steps ----------------------------------------------------------------------------------

SLOW = "Binding pod team/a-0 to node n1. It waits for a part of a GPU of a-0"


def test_a_step_that_takes_longer_than_a_second_is_reported_once() -> None:
    harness = Harness()
    harness.begin(binding())
    harness.look(pod())
    assert harness.preparing.next_tick() == SLOW_S
    assert harness.tick(0.9) == []
    assert harness.tick(1.0) == [SLOW]
    [event] = harness.steps.events
    assert (event.kind, event.name, event.uid) == ("Pod", "a-0", "uid-a-0")
    assert (event.type, event.reason) == ("Normal", "Binding")
    assert harness.tick(60.0) == []
    assert harness.preparing.next_tick() is None


def test_each_slow_step_is_reported() -> None:
    harness = Harness()
    harness.begin(binding())
    harness.look(pod())
    assert harness.tick(1.0) == [SLOW]
    harness.answer()  # at time 0
    assert harness.tick(1.0) == [SLOW.replace("a part of a GPU", "resource claims")]


def test_a_quick_binding_causes_no_event() -> None:
    harness = Harness()
    harness.begin(binding())
    harness.look(pod())
    harness.answer()
    harness.answer()
    assert harness.preparing.next_tick() is None
    assert harness.tick(5.0) == []


def test_a_binding_that_failed_or_is_over_is_not_reported() -> None:
    harness = Harness()
    harness.begin(binding())
    harness.look(pod())
    harness.answer(REFUSED)
    assert harness.preparing.next_tick() is None
    assert harness.tick(5.0) == []
    harness.binder.pod_gone("team/a-0", "uid-a-0")
    assert harness.tick(9.0) == []
