"""The fewest switches that explain a difference, and why they explain it only together."""

from collections.abc import Callable

import pytest

from kai import _core
from kai.verify.switches import TOGETHER, fewest, why_together

SWITCHES = [f"s{number}" for number in range(8)]


def needs(*sets: tuple[str, ...]) -> Callable[[tuple[str, ...]], bool]:
    """A case that agrees if all of one of these sets are turned off."""
    return lambda chosen: any(set(each) <= set(chosen) for each in sets)


@pytest.mark.parametrize("needed", [("s0", "s7"), ("s1", "s2", "s3"), ("s1", "s2", "s3", "s4")])
def test_superfluous_switches_are_left_out(needed: tuple[str, ...]) -> None:
    assert fewest(SWITCHES, needs(needed), near=[]) == needed


def test_no_set_is_found_if_all_switches_together_fail() -> None:
    assert fewest(SWITCHES, lambda chosen: False, near=[]) == ()
    assert fewest(["s0"], lambda chosen: True, near=[]) == ()


def test_a_smaller_set_is_found_among_switches_that_change_something() -> None:
    # Removing switches one by one would lose the pair before the three.
    agrees = needs(("s0", "s1"), ("s5", "s6", "s7"))
    assert fewest(SWITCHES, agrees, near=[]) == ("s5", "s6", "s7")
    assert fewest(SWITCHES, agrees, near=["s0", "s1"]) == ("s0", "s1")


def test_an_unknown_pair_has_no_reason() -> None:
    assert why_together(("queue_depth", "slow_job")) == ()
    assert why_together(("same_cycle_eviction",)) == ()
    assert why_together(()) == ()


def test_the_reasons_must_connect_all_switches() -> None:
    pair = ("same_cycle_eviction", "victim_shares")
    [why] = why_together(pair)
    assert why == f"same_cycle_eviction and victim_shares: {TOGETHER[frozenset(pair)]}"
    three = (*pair, "unrelated_blockers")
    other = TOGETHER[frozenset(("same_cycle_eviction", "unrelated_blockers"))]
    assert set(why_together(three)) == {
        why,
        f"same_cycle_eviction and unrelated_blockers: {other}",
    }
    assert why_together((*three, "slow_job")) == ()


def test_only_switches_of_the_engine_are_connected() -> None:
    for pair in TOGETHER:
        assert len(pair) == 2
        assert pair <= set(_core.compat_switches())
