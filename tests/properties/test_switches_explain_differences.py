"""On generated clusters, switches explain each difference from KAI's plan.

KAI's plan is the engine's plan with ``as_kai``. `KAI_SEED` is the number of the first cluster and
`KAI_CLUSTERS` four times the number of clusters of each family.
"""

import os

import generate
import pytest

from kai.verify import Engine
from kai.verify.cases import give_owners
from kai.verify.compare import compare_decisions
from kai.verify.outcome import from_plan
from kai.verify.runner import SameObjects, Switched
from kai.verify.switches import TOGETHER, fewest, why_together

SEED = int(os.environ.get("KAI_SEED", "1000"))
CLUSTERS = int(os.environ.get("KAI_CLUSTERS", "40")) // 4
NOW = "2026-01-01T12:00:00Z"

# Pairs in recorded cases (tests/conformance), and clusters for the other pairs.
RECORDED = {
    ("common_domain", "same_cycle_eviction"),
    ("exact_rollback", "same_cycle_eviction"),
    ("optional_members", "unrelated_blockers"),
    ("same_cycle_eviction", "signature_skip"),
    ("same_cycle_eviction", "single_victims"),
    ("same_cycle_eviction", "unrelated_blockers"),
    ("same_cycle_eviction", "victim_shares"),
    ("same_cycle_eviction", "whole_gangs"),
    ("signature_skip", "unrelated_blockers"),
    ("single_victims", "unrelated_blockers"),
}
SHOWN = {
    ("completed_pods", "same_cycle_eviction"): ("stalegang", 1052),
    ("consolidation_limit", "same_cycle_eviction"): ("mixed", 91036),
    ("device_order", "same_cycle_eviction"): ("mixed", 91022),
    ("held_gpus", "same_cycle_eviction"): ("mixed", 1073),
    ("min_sub_group", "optional_members"): ("mixed", 91032),
    ("min_sub_group", "same_cycle_eviction"): ("subgroups", 91015),
    ("optional_members", "same_cycle_eviction"): ("mixed", 91007),
    ("optional_members", "single_victims"): ("subgroups", 91022),
    ("protected_minimum", "same_cycle_eviction"): ("mixed", 91019),
    ("protected_minimum", "victim_shares"): ("mixed", 1046),
    ("queue_depth", "same_cycle_eviction"): ("mixed", 91024),
    ("same_cycle_eviction", "scenario_filters"): ("topology", 91046),
    ("scenario_filters", "unrelated_blockers"): ("topology", 1023),
}


class Explainer:
    """Both modes of the engine, and the fewest switches between them."""

    def __init__(self) -> None:
        self.ours, self.kais = Engine(), Engine(as_kai=True)
        self.switches = self.ours.switches()

    def switches_for(self, family: str, seed: int) -> tuple[str, ...] | None:
        """None: no difference; empty: nothing explains it."""
        case = generate.generate(family, seed)
        give_owners(case)
        snapshot = case["snapshot"]
        kais, ours = from_plan(self.kais(snapshot, now=NOW)), SameObjects(self.ours)

        def differences(*chosen: str) -> list[str]:
            plan = Switched(ours, chosen)(snapshot, now=NOW)
            return [str(each) for each in compare_decisions(from_plan(plan), kais)]

        base = differences()
        if not base:
            return None
        near = []
        for switch in self.switches:
            alone = differences(switch)
            if not alone:
                return (switch,)
            if alone != base:
                near.append(switch)
        return fewest(self.switches, lambda chosen: not differences(*chosen), near=near)


@pytest.fixture(scope="module")
def explainer() -> Explainer:
    return Explainer()


@pytest.mark.parametrize("family", sorted(generate.FAMILIES))
def test_every_difference_is_explained(family: str, explainer: Explainer) -> None:
    unexplained = []
    for seed in range(SEED, SEED + CLUSTERS):
        switches = explainer.switches_for(family, seed)
        if switches is None or len(switches) == 1 or why_together(switches):
            continue
        unexplained.append(f"{family} {seed}: {' and '.join(switches) or 'nothing explains it'}")
    assert unexplained == []


@pytest.mark.parametrize("pair", SHOWN, ids=" and ".join)
def test_each_known_pair_is_needed_by_a_case(pair: tuple[str, str], explainer: Explainer) -> None:
    switches = explainer.switches_for(*SHOWN[pair])
    assert switches is not None
    assert set(pair) <= set(switches)
    assert f"{pair[0]} and {pair[1]}: {TOGETHER[frozenset(pair)]}" in why_together(switches)


def test_each_known_pair_occurs_in_a_case_or_a_cluster() -> None:
    assert {frozenset(pair) for pair in (*RECORDED, *SHOWN)} == set(TOGETHER)
