"""Courses go on when their requests are answered, in the order of the calls."""

from __future__ import annotations

import pytest

from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.courses import Courses, Fact, Send

DONE, LOST = Outcome(Result.DONE), Outcome(Result.LOST)


def write(name: str) -> Write:
    return Write(Lane.EVICTION, "delete", "Pod", "team", name)


def names(sends: list[Send]) -> list[str]:
    return [each.write.name for each in sends]


def test_a_course_reads_from_top_to_bottom() -> None:
    said: list[str] = []

    async def course() -> None:
        first = await Send(write("a"))
        said.append(f"a {first.result.value}")
        second = await Send(write("b"))
        said.append(f"b {second.result.value}")

    courses = Courses()
    courses.start(course())
    [send] = courses.take()
    assert (names([send]), said) == (["a"], [])
    courses.answer(send, LOST)
    [send] = courses.take()
    assert (names([send]), said) == (["b"], ["a lost"])
    courses.answer(send, DONE)
    assert (courses.take(), said) == ([], ["a lost", "b done"])


def test_answers_may_come_in_any_order() -> None:
    said: list[str] = []

    async def course(name: str) -> None:
        await Send(write(name))
        said.append(name)

    courses = Courses()
    for name in ("a", "b", "c"):
        courses.start(course(name))
    sends = courses.take()
    assert names(sends) == ["a", "b", "c"]
    for send in reversed(sends):
        courses.answer(send, DONE)
    assert said == ["c", "b", "a"]


def test_all_that_wait_for_a_fact_get_it_in_their_order() -> None:
    fact: Fact[int] = Fact()
    said: list[str] = []

    async def waits(name: str) -> None:
        said.append(f"{name} {await fact}")

    async def sets() -> None:
        fact.set(7)
        fact.set(8)
        said.append("set")

    courses = Courses()
    courses.start(waits("a"))
    courses.start(waits("b"))
    courses.start(sets())
    courses.start(waits("c"))
    assert said == ["set", "a 7", "b 7", "c 7"]


def test_a_course_that_starts_another_one_goes_on_first() -> None:
    said: list[str] = []
    courses = Courses()

    async def child() -> None:
        said.append("child")

    async def parent() -> None:
        courses.start(child())
        said.append("parent")

    courses.start(parent())
    assert said == ["parent", "child"]


def test_the_error_of_a_course_reaches_the_caller_and_the_others_go_on() -> None:
    said: list[str] = []

    async def fails() -> None:
        await Send(write("a"))
        raise ValueError("a bug")

    async def goes_on() -> None:
        await Send(write("b"))
        said.append("b")

    courses = Courses()
    courses.start(fails())
    courses.start(goes_on())
    first, second = courses.take()
    with pytest.raises(ValueError, match="a bug"):
        courses.answer(first, DONE)
    courses.answer(second, DONE)
    assert said == ["b"]


def test_a_request_is_answered_once() -> None:
    async def course() -> None:
        await Send(write("a"))

    courses = Courses()
    courses.start(course())
    [send] = courses.take()
    courses.answer(send, DONE)
    with pytest.raises(KeyError):
        courses.answer(send, DONE)
