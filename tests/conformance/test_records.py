"""KAI's own decisions as plans: the checks for our plans must accept them, except where KAI is
wrong.

No engine runs here. A record has the decisions without their order: victims come before the pods
placed instead, and victims of one search stay together.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kai.verify import Case, default_cases, read_cases, run, validate
from kai.verify.objects import World, read_world
from kai.verify.outcome import Placement, from_record

NOW = "2026-01-01T12:00:00Z"
ORDER = ("consolidation", "reclaim", "preempt", "stalegangeviction")

# Judged cases in which KAI breaks a rule, and the cause.
BROKEN = {
    "gpusharing-040": "capacity",  # binds to a shared device that is not free yet (held_gpus)
    "mixed-027": "capacity",  # promises a node twice (same_cycle_eviction)
    "mixed-043": "capacity",
    "openb-reclaim-12": "capacity",
    "preempt-042": "capacity",
    "preempt-038": "limit",  # takes a pod twice, and counts it twice (single_victims)
    "subgroups-057": "gang",  # starts an incomplete replica (spec 2 W3)
}


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return read_cases([default_cases()])


class Replay:
    """Returns the records of a case one after the other, and then nothing."""

    def __init__(self, records: list[Mapping[str, Any]]) -> None:
        self.records, self.as_kai = list(records), True

    def __call__(self, snapshot: Mapping[str, Any], *, now: str) -> SimpleNamespace:
        record = self.records.pop(0) if self.records else {}
        return plan_of(record, read_world(snapshot, now=now))


def plan_of(record: Mapping[str, Any], world: World) -> SimpleNamespace:
    outcome = from_record(record)
    promised = dict(outcome.pipeline)
    decisions = [_place("bind", pod, place) for pod, place in outcome.bind.items()]

    def promise(pods: list[str]) -> None:
        decisions.extend(_place("pipeline", pod, promised.pop(pod)) for pod in pods)

    searches: dict[tuple[int, str], list[str]] = {}
    for pod, taken in outcome.evict.items():
        key = (ORDER.index(taken.action), taken.preemptor or "")
        searches.setdefault(key, []).append(pod)
    for (action, group), victims in sorted(searches.items()):
        decisions.extend(
            SimpleNamespace(kind="evict", pod=pod, action=ORDER[action], for_group=group or None)
            for pod in victims
        )
        name = group.rpartition("/")[2]
        promise([pod for pod in victims if pod in promised])
        promise([pod for pod in [*promised] if name and world.pods[pod].group == name])
    promise([*promised])
    queues = {
        queue: SimpleNamespace(
            **{
                resource: SimpleNamespace(
                    deserved=_amount(numbers, "deserved"),
                    fair_share=_amount(numbers, "fair_share"),
                    limit=_amount(numbers, "limit"),
                    allocated=numbers.get("allocated", 0.0),
                    allocated_non_preemptible=numbers.get("allocated_non_preemptible", 0.0),
                )
                for resource, numbers in shares.items()
            }
        )
        for queue, shares in outcome.queues.items()
    }
    return SimpleNamespace(decisions=decisions, queues=queues, pod_groups={})


def _is_search(decision: SimpleNamespace) -> bool:
    return decision.kind == "evict" and decision.for_group is not None


def _place(kind: str, pod: str, place: Placement) -> SimpleNamespace:
    return SimpleNamespace(
        kind=kind,
        pod=pod,
        node=place.node,
        gpus=place.gpus,
        devices=place.devices,
        portion=place.portion,
        gpu_groups=place.gpu_groups,
    )


def _amount(numbers: Mapping[str, float | None], name: str) -> float | None:
    return numbers.get(name, 0.0)


def test_cycles_with_evictions_end_as_recorded(cases: list[Case]) -> None:
    """The cluster state advances as it did with KAI's decisions."""
    evicting = []
    wrong = []
    for case in cases:
        if case.kind != "case" or case.data["expect"]["kind"] != "eventually":
            continue
        records = case.data["observed"]["rounds"]
        if any(record.get("evict") for record in records):
            evicting.append(case.id)
            data = {**case.data, "observed": {"rounds": records}}  # no numbers without an engine
            again = Case(case.id, case.area, case.kind, case.source, lambda data=data: data)  # type: ignore[misc]
            result = run(again, Replay(records))
            if result.verdict != "agree":
                wrong.append((case.id, str(result.differences[0])))
    assert len(evicting) > 30
    # The record lacks the place that was promised to this pod before it was evicted.
    lost = "pod default/pending-job0-0 is Pending, it cannot be evicted (after cycle 1)"
    assert wrong == [("integration-consolidation-010", lost)]


def test_the_validator_reports_known_faults_of_kai(cases: list[Case]) -> None:
    broken: dict[str, str] = {}
    judged = 0
    for case in cases:
        if case.kind != "random" or case.data.get("notes") or case.data.get("varies"):
            continue
        judged += 1
        world = read_world(case.data["snapshot"], now=NOW)
        plan = plan_of(case.data["expect"], world)
        searches = {(each.action, each.for_group) for each in plan.decisions if _is_search(each)}
        # The order of two searches is lost, and so are their separate results.
        lost = () if len(searches) < 2 else ("reclaim", "victim")
        for violation in validate(case.data["snapshot"], plan, now=NOW):
            if violation.rule not in lost:
                broken.setdefault(case.id, violation.rule)
    assert judged > 450
    assert broken == BROKEN
