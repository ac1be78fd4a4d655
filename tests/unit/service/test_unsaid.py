"""Groups that are created after the plan that had them."""

from __future__ import annotations

from kai.service.unsaid import WAIT_S, Unsaid


def test_a_plan_is_read_again_once_its_group_is_there() -> None:
    unsaid, there = Unsaid(), set[str]()
    unsaid.planned("team/a")
    unsaid.look(10, {"team/a"}, there.__contains__)
    assert unsaid.wake() is None
    there.add("team/a")
    unsaid.look(11, {"team/a"}, there.__contains__)
    assert unsaid.wake() == 11 + WAIT_S
    assert not unsaid.is_due(11)
    assert unsaid.is_due(11 + WAIT_S)
    unsaid.read()
    unsaid.look(20, {"team/a"}, there.__contains__)
    assert unsaid.wake() is None


def test_groups_that_come_one_after_the_other_are_read_together() -> None:
    unsaid = Unsaid()
    for name in ("team/a", "team/b"):
        unsaid.planned(name)
    unsaid.look(10, {"team/a"}, lambda _: True)
    unsaid.look(10.2, {"team/a", "team/b"}, lambda _: True)
    assert unsaid.wake() == 10 + WAIT_S


def test_groups_that_were_never_only_planned_or_are_gone_count_for_nothing() -> None:
    unsaid = Unsaid()
    unsaid.planned("team/a")
    unsaid.gone("team/a")
    unsaid.look(10, {"team/a", "team/b"}, lambda _: True)
    assert unsaid.wake() is None
