"""Metrics of failures and of work under way, which are 0 in a cluster at rest."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.grouper import Assignment, Decided
from kai.controllers.grouper.decisions import Problem
from kai.controllers.planning.turns import Turn
from kai.controllers.pods.decisions import Binding, Removal
from kai.controllers.verdicts import Eviction
from kai.service.collecting import Collecting
from kai.service.measuring import Measuring, queue_sink
from kai.service.metrics.metrics import MOST_EVICTED_GROUPS, Metrics


def binding(lane: Lane = Lane.BINDING) -> Write:
    return Write(lane, "create", "Pod", "team", "a", {}, "binding")


def status(key: str, kind: str = "PodGroup") -> Write:
    return Write(Lane.CONDITION, "patch", kind, "team", "g", {}, "status", key=key)


GROUP_STATUS = status("resources-of-group/team/g")
CONDITIONS = status("conditions-of-group/team/g")
QUEUE_STATUS = status("status-of-queue/q", "Queue")


class Measured:
    """Metrics, and the parts of a service whose numbers they use."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.writer: Any = SimpleNamespace(
            waiting=lambda lane: 10 if lane is Lane.BINDING else 0,
            put_in=dict.fromkeys(Lane, 7),
            retries={**dict.fromkeys(Lane, 0), Lane.CONDITION: 3},
            under_way=lambda: [(binding(), 2.0), (binding(), 0.5), (CONDITIONS, 4.0)],
        )
        reading: Any = SimpleNamespace(watches={})
        self.binder: Any = SimpleNamespace(under_way=12, in_doubt=2)
        self.election: Any = SimpleNamespace(failures=4, is_leading=lambda: False)
        self.collecting = Collecting()
        parts = (self.writer, reading, self.binder, self.election, queue_sink(), self.collecting)
        self.measuring = Measuring(self.metrics, *parts)

    def wrote(self, write: Write, *results: Result) -> None:
        for result in results:
            self.measuring.wrote(write, Outcome(result), waited=0.5, took=0.25)

    def page(self) -> list[str]:
        return asyncio.run(self.metrics.page()).decode().splitlines()

    def reconciled(self, controller: str) -> tuple[float, float]:
        """Its numbers of successes and errors."""
        values = self.metrics.reconciles.values
        errors = values.get((controller, "error"), 0)
        assert self.metrics.reconcile_errors.values.get((controller,), 0) == errors
        return values.get((controller, "success"), 0), errors


@pytest.fixture
def it() -> Measured:
    return Measured()


def test_decisions_and_writes_under_way_are_counted() -> None:
    lines = Measured().page()
    for line in (
        "kai_is_leading 0",
        "kai_lease_failures_total 4",
        "kai_decisions_under_way 12",
        "kai_pods_in_doubt 2",
        'workqueue_depth{name="binding"} 10',
        'workqueue_adds_total{name="event"} 7',
        'workqueue_retries_total{name="condition"} 3',
        'workqueue_unfinished_work_seconds{name="binding"} 2.5',
        'workqueue_longest_running_processor_seconds{name="binding"} 2',
        'workqueue_longest_running_processor_seconds{name="event"} 0',
        'controller_runtime_active_workers{controller="bindrequest"} 2',
        'controller_runtime_active_workers{controller="podgroup"} 0',
    ):
        assert line in lines


def test_a_binding_counts_for_its_latency_if_the_pod_is_bound(it: Measured) -> None:
    it.wrote(binding(), Result.FAILED, Result.LOST, Result.DONE, Result.TAKEN_BACK)
    assert it.metrics.bind_ms.of().counts[8:] == [1, 0, 0]  # 750 ms are below 1280
    assert it.metrics.bind_ms.of().sum == 750
    assert it.metrics.lane_waited.of("binding").sum == 2
    assert it.metrics.lane_took.of("binding").sum == 1
    assert it.metrics.writes.values == {
        ("Pod", "binding", each): 1 for each in ("done", "failed", "lost", "taken back")
    }
    assert it.reconciled("bindrequest") == (1, 2)


def test_a_failed_write_is_an_error_only_of_its_controller(it: Measured) -> None:
    it.wrote(GROUP_STATUS, Result.REFUSED, Result.DONE, Result.GONE)
    it.wrote(QUEUE_STATUS, Result.FAILED)
    it.wrote(CONDITIONS, Result.FAILED, Result.DONE)
    created = Write(Lane.BINDING, "create", "PodGroup", "team", "g", {})
    it.wrote(created, Result.CONFLICT, Result.DONE)
    patch = Assignment("team/a", "u", "g", "", {"labels": {}}).write()
    assert patch is not None
    it.wrote(patch, Result.REFUSED)
    assert it.reconciled("podgroup") == (1, 1)
    assert it.reconciled("queue") == (0, 1)
    assert it.reconciled("pod") == (2, 1)
    assert it.reconciled("bindrequest") == (0, 0)
    assert {each[0] for each in it.metrics.reconciles.values} == {
        *("bindrequest", "pod", "podgroup", "queue")
    }


def removal(pod: str, action: str, for_group: str | None) -> Removal:
    return Removal(Eviction(f"team/{pod}", "u", action, "", "team/victim", for_group), 1)


def test_groups_are_counted_by_action(it: Measured) -> None:
    bindings = [Binding(f"team/{pod}", "u", "n1", 1, group) for pod, group in ("ax", "bx", "cy")]
    removals = [
        removal("d", "preempt", "team/high"),
        removal("e", "preempt", "team/high"),
        removal("f", "preempt", "team/higher"),
        removal("g", "consolidation", "team/large"),
        removal("h", "stalegangeviction", None),
    ]
    timing = {"total": 9.0, "open": 1.0, "plan_total": 6.0, "plan_load": 2.0, "plan_preempt": 3.0}
    turn = Turn(1, True, bindings, removals, timing_ms=timing)
    it.measuring.turned(turn)
    assert it.metrics.scheduled.values == {
        ("allocate",): 2,
        ("preempt",): 2,
        ("consolidation",): 1,
    }
    assert it.metrics.preemptions.values == {(): 2}
    assert it.metrics.action_ms.values == {("preempt",): 3}
    assert it.metrics.open_ms.values == {(): 3}
    assert it.metrics.close_ms.values == {(): 2}
    repeated = {"total": 1.0, "open": 0.5, "plan_total": 0.1, "plan_load": 0.1}
    it.measuring.turned(Turn(2, True, timing_ms=repeated))
    assert it.metrics.action_ms.values == {("preempt",): 0}


def test_pods_that_cannot_be_grouped_are_errors(it: Measured) -> None:
    problems = [Problem("team/a", "u", "its owners form a circle")]
    it.measuring.turned(Turn(grouped=Decided(problems=problems)))
    assert it.reconciled("pod") == (0, 1)


def test_pod_groups_that_lost_pods_do_not_pile_up(it: Measured) -> None:
    labels = {"podgroup": "g", "namespace": "team", "nodepool": "default", "action": "reclaim"}
    evicted = [{**labels, "uid": str(number)} for number in range(MOST_EVICTED_GROUPS + 10)]
    it.measuring.turned(Turn(evicted=evicted))
    assert len(it.metrics.evicted.values) == MOST_EVICTED_GROUPS


@pytest.mark.parametrize("actions", ["allocate", "allocate, reclaim"])
def test_budgets_of_configured_actions_are_shown(it: Measured, actions: str) -> None:
    budgets = '{"maxActionSearchDuration": {"default": "5m0s", "reclaim": "30s"}}'
    it.measuring.configured(f'{{"actions": "{actions}", "scenarioSearchBudgets": {budgets}}}')
    expected = {("reclaim",): 30.0} if "reclaim" in actions else {}
    assert it.metrics.action_budget.values == expected
    assert it.metrics.job_budget.values == {(): 0}


def test_the_state_per_kind_of_write_does_not_grow(it: Measured) -> None:
    for number in range(500):
        name = f"{number:03}"
        event = Write(Lane.EVENT, "patch", "Event", "team", name, {}, key=f"event/{name}")
        it.wrote(event, Result.DONE)
        it.wrote(status(f"resources-of-group/team/{name}"), Result.DONE)
    assert len(it.measuring._effects) == 2
