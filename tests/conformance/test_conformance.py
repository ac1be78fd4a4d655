"""The recorded cases as a gate: each implemented area stays above its floor.

Areas that are not implemented yet must plan without a crash, with plans that could be carried out
and with KAI's queue numbers.
"""

from pathlib import Path

import pytest
from pack import pack

from kai.verify import Area, Engine, Report, default_cases, read_cases, verify
from kai.verify.known import KNOWN_AS_KAI
from kai.verify.report import sentences

# The smallest share of judged cases that agree, in percent, and the smallest number of judged
# cases: otherwise an area whose cases all became "not built" would pass.
FLOORS = {
    "random/fairness": (100, 59),
    "random/allocate": (100, 51),
    "random/consolidation": (100, 40),
    "random/preempt": (100, 60),
    "random/reclaim": (100, 58),
    "random/stalegang": (100, 59),
    "random/subgroups": (100, 50),
    "random/gpusharing": (100, 44),
    "random/topology": (100, 57),
    "random/mixed": (100, 15),
    "random/second": (100, 5),
    "random/second-large": (100, 6),
    "cases/allocate": (100, 20),
    "cases/allocate-elastic": (100, 6),
    "cases/allocate-subgroups": (100, 8),
    "cases/allocate-topology": (100, 19),
    "cases/consolidation": (100, 21),
    "cases/integration-allocate": (100, 14),
    "cases/integration-allocate-topology": (100, 5),
    "cases/integration-consolidation": (100, 3),
    "cases/integration-preempt": (100, 10),
    "cases/integration-reclaim": (100, 25),
    "cases/integration-stalegang": (100, 2),
    "cases/preempt": (100, 19),
    "cases/reclaim": (100, 46),
    "cases/reclaim-departments": (100, 8),
    "cases/reclaim-elastic": (100, 9),
    "cases/stalegang": (100, 9),
    "large": (100, 19),
}


@pytest.fixture(scope="module")
def report() -> Report:
    engine = Engine(as_kai=True)
    return Report.of(verify(read_cases([default_cases()]), engine), as_kai=True)


@pytest.fixture(scope="module")
def areas(report: Report) -> dict[str, Area]:
    return report.areas


@pytest.mark.parametrize("name", FLOORS)
def test_an_area_stays_above_its_floor(name: str, areas: dict[str, Area], report: Report) -> None:
    percent, judged = FLOORS[name]
    area = areas[name]
    lines = [
        f"{result.case.id}: {sentence}"
        for result in report.failures()
        if result.case.area == name
        for sentence in sentences(result)[:2]
    ]
    assert area.judged >= judged
    assert 100 * area.agree >= percent * area.judged, "\n".join(lines)


# The differences that need several switches (`kai.verify.switches` gives the reasons).
TOGETHER_EXPLAIN = {
    "mixed-049": "signature_skip and unrelated_blockers",
    "mixed-043": "same_cycle_eviction, unrelated_blockers, victim_shares and whole_gangs",
    "mixed-055": "same_cycle_eviction and victim_shares",
    "mixed-059": "same_cycle_eviction and unrelated_blockers",
    "gpusharing-033": "exact_rollback and same_cycle_eviction",
    "subgroups-022": "optional_members and unrelated_blockers",
    "topology-007": "common_domain and same_cycle_eviction",
    "topology-027": "same_cycle_eviction and whole_gangs",
    "topology-060": "single_victims and unrelated_blockers",
    "preempt-038": "same_cycle_eviction and single_victims",
    "mixed-054": "same_cycle_eviction, signature_skip, single_victims and victim_shares",
    "large-mixed-77514": (
        "exact_rollback, same_cycle_eviction, unrelated_blockers and victim_shares"
    ),
}


def listed(switches: tuple[str, ...]) -> str:
    return f"{', '.join(switches[:-1])} and {switches[-1]}"


def test_by_default_switches_explain_every_difference(report: Report) -> None:
    engine = Engine()
    cases = [result.case for result in report.results if result.verdict == "agree"]
    results = list(verify(cases, engine, switches=engine.switches()))
    unexplained = [
        f"{result.case.area} {result.case.id}: {sentences(result)[0]}"
        for result in results
        if result.verdict != "agree"
    ]
    assert unexplained == []
    several = {
        result.case.id: listed(result.switches) for result in results if len(result.switches) > 1
    }
    assert several == TOGETHER_EXPLAIN


def test_queue_numbers_equal_kais_in_every_case(report: Report) -> None:
    wrong = [
        f"{result.case.area} {result.case.id}: {result.queue_differences[0]}"
        for result in report.results
        if result.queue_differences and result.numbers_judged
    ]
    assert wrong == []


def test_no_case_crashes_and_only_known_plans_break_a_rule(
    report: Report,
) -> None:
    assert not report.failed, [sentences(result)[0] for result in report.failures()]
    known = {
        f"{result.case.area}/{result.case.id}": {
            (each.what, each.about) for each in result.differences
        }
        for results in report.known.values()
        for result in results
    }
    listed = {name: set(known.broken) for name, known in KNOWN_AS_KAI.items()}
    assert known == listed, "some keep the rules now: take them off the list"


def test_by_default_no_node_is_promised_twice(report: Report) -> None:
    cases = [result.case for results in report.known.values() for result in results]
    assert len(cases) == len(KNOWN_AS_KAI)
    for result in verify(cases, Engine(), switches=()):
        assert result.verdict not in ("crashed", "invalid"), sentences(result)


def test_equal_files_are_packed_to_equal_bytes(tmp_path: Path) -> None:
    for folder, order in (("one", "ab"), ("two", "ba")):
        for name in order:
            file = tmp_path / folder / "cases" / "area" / f"{name}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f'{{"id": "{name}"}}')
    assert pack(tmp_path / "one") == pack(tmp_path / "two")
