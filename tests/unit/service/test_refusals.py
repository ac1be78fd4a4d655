"""Refused writes: one log line with a fix for each rule, and events on the pods that wait."""

import io
from typing import Any

import pytest

from fakes.writes import DONE
from kai.api.refusals import refusal
from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.pods.decisions import Binding
from kai.controllers.refused_writes import ACCEPTED, AGAIN_S, REFUSED, refused_in
from kai.controllers.verdicts import Event
from kai.service.log import Log
from kai.service.refusals import Refusals

UNCALLED = (
    'Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: Post'
    ' "https://w.policies.svc:443/?timeout=10s": dial tcp 10.96.7.1:443: connect: connection'
    " refused"
)
DENIED = 'admission webhook "w.example.com" denied the request: no'
QUOTA = 'pods "r" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
BINDING = Binding("team/a", "u-a", "n1", 1, "g")


class Waiting:
    """The context of a write for which two pods wait."""

    pods = (("team/a", "u-a"), ("team/b", "u-b"))


class World:
    def __init__(self) -> None:
        self.now = 0.0
        self._stream = io.StringIO()
        self.refusals = Refusals(Log(stream=self._stream), lambda: self.now)

    def refuse(self, write: Write, message: str = UNCALLED) -> list[Event]:
        found = refusal(message)
        assert found is not None
        outcome = Outcome(Result.FAILED, 500, "InternalError", message, refusal=found)
        return self.refusals.answered(write, outcome)

    def lines(self) -> list[str]:
        lines = [line.partition("Z ")[2] for line in self._stream.getvalue().splitlines()]
        self._stream.truncate(0)
        self._stream.seek(0)
        return lines


@pytest.fixture
def world() -> World:
    return World()


def group(name: str = "g", about: Any = None) -> Write:
    return Write(Lane.BINDING, "create", "PodGroup", "team", name, {}, about=about or Waiting())


def names(events: list[Event]) -> list[tuple[str, str, str, str]]:
    return [(each.kind, each.name, each.uid, each.reason) for each in events]


def test_the_pods_of_a_refused_group_get_an_event_and_the_log_a_line_with_a_fix(
    world: World,
) -> None:
    events = world.refuse(group())
    assert names(events) == [("Pod", "a", "u-a", REFUSED), ("Pod", "b", "u-b", REFUSED)]
    assert events[0].type == "Warning"
    assert events[0].message == f"create PodGroup team/g is refused: {UNCALLED}"
    [line] = world.lines()
    assert line.startswith("warning kai: create PodGroup is refused name=team/g why=")
    assert "cannot be called: dial tcp 10.96.7.1:443: connect: connection refused" in line
    assert 'fix="start the program of the webhook again, or delete its registration: ' in line


def test_the_text_of_an_event_can_be_read_again(world: World) -> None:
    for message in (UNCALLED, DENIED, QUOTA):
        event = world.refuse(group(), message)[0]
        found = refused_in(event.message)
        assert found is not None
        assert (found.what, found.rule) == ("create PodGroup team/g", refusal(message))
        assert found.blocks
        world.now += AGAIN_S
    assert refused_in("create PodGroup team/g is refused: etcd is away") is None


def test_a_rule_that_refuses_many_writes_is_one_line_every_five_minutes(world: World) -> None:
    for number in range(1000):
        world.refuse(group(f"g{number}"))
    assert len(world.lines()) == 1
    world.now = AGAIN_S - 1
    world.refuse(group("g1"))
    assert world.lines() == []
    world.now = AGAIN_S
    world.refuse(group("g1"))
    assert len(world.lines()) == 1
    world.refuse(Write(Lane.BINDING, "create", "BindRequest", "team", "a", {}, about=BINDING))
    world.refuse(group("g2"), DENIED.replace("w.", "v."))
    assert len(world.lines()) == 2  # another kind of write, and another rule


def test_the_event_of_a_pod_is_repeated_every_five_minutes(world: World) -> None:
    assert len(world.refuse(group())) == 2
    assert world.refuse(group()) == []
    world.now = AGAIN_S
    assert len(world.refuse(group())) == 2


def test_a_reservation_pod_with_another_name_is_another_try_of_the_same_write(world: World) -> None:
    def reservation(name: str) -> Write:
        return Write(Lane.BINDING, "create", "Pod", "reservations", name, {}, about=Waiting())

    assert len(world.refuse(reservation("r-1"), QUOTA)) == 2
    assert world.refuse(reservation("r-2"), QUOTA) == []
    assert len(world.refusals) == 1
    assert world.refusals.wait(reservation("r-3")) > 0
    events = world.refusals.answered(reservation("r-3"), DONE)
    assert [each.message for each in events] == ["create Pod reservations/r-1 is accepted"] * 2
    assert len(world.refusals) == 0


def test_the_end_of_a_refusal_is_logged_and_shown(world: World) -> None:
    world.refuse(group())
    world.refuse(group("h"))
    world.lines()
    events = world.refusals.answered(group(), DONE)
    assert [(each.reason, each.message) for each in events] == [
        (ACCEPTED, "create PodGroup team/g is accepted")
    ] * 2
    assert world.lines() == []  # the other group is still refused
    world.refusals.answered(group("h"), DONE)
    assert world.lines() == ["info kai: create PodGroup is accepted again"]
    assert len(world.refusals) == 0
    assert world.refusals.answered(group(), DONE) == []


def test_an_object_that_is_gone_ends_its_refusal_without_a_word(world: World) -> None:
    patch = Write(Lane.CONDITION, "patch", "Pod", "team", "a", {"metadata": {"uid": "u"}}, "status")
    assert names(world.refuse(patch)) == [("Pod", "a", "u", REFUSED)]
    world.lines()
    assert world.refusals.answered(patch, Outcome(Result.GONE, 404)) == []
    assert (world.lines(), len(world.refusals)) == ([], 0)


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (("create", "Pod", "team", "a", {}, "binding", BINDING), [("Pod", "a", "u-a")]),
        (("create", "BindRequest", "team", "a", {}, "", BINDING), [("Pod", "a", "u-a")]),
        (("patch", "BindRequest", "team", "a", {}, "status", None), [("Pod", "a", "")]),
        (("patch", "Pod", "team", "a", {"metadata": {"uid": "u"}}, "", None), [("Pod", "a", "u")]),
        (("delete", "Pod", "team", "a", {"preconditions": {"uid": "u"}}, "", None),
         [("Pod", "a", "u")]),
        (("create", "Pod", "team", "a", {}, "eviction", None), [("Pod", "a", "")]),
        (("create", "Pod", "kai-resource-reservation", "r", {}, "", Waiting()),
         [("Pod", "a", "u-a"), ("Pod", "b", "u-b")]),
        (("patch", "PodGroup", "team", "g", {}, "status", None), [("PodGroup", "g", "")]),
        (("patch", "ResourceClaim", "team", "c", {}, "status", Waiting()),
         [("Pod", "a", "u-a"), ("Pod", "b", "u-b")]),
        (("patch", "Queue", "", "q", {}, "status", None), []),
        (("create", "Event", "team", "e", {}, "", None), []),
        (("create", "Lease", "kai", "l", {}, "", None), []),
    ],
)  # fmt: skip
def test_each_kind_of_write_is_reported_on_the_objects_that_wait_for_it(
    world: World, write: Any, expected: list[tuple[str, str, str]]
) -> None:
    verb, kind, namespace, name, body, subresource, about = write
    made = Write(Lane.BINDING, verb, kind, namespace, name, body, subresource, about=about)
    assert [found[:3] for found in names(world.refuse(made))] == expected
    assert len(world.lines()) == 1


def test_answers_to_writes_that_stay_refused_are_passed_on_later_and_later(world: World) -> None:
    """Not every writer waits before it tries again."""
    waits = []
    for _ in range(8):
        world.refuse(group())
        waits.append(world.refusals.wait(group()))
    assert waits == [0, 1, 2, 4, 8, 16, 30, 30]
    assert world.refusals.wait(group("other")) == 0


def test_the_memory_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kai.service.refusals.MOST_OPEN", 5)
    for number in range(20):
        world.refuse(group(f"g{number}"))
    assert len(world.refusals) == 5
