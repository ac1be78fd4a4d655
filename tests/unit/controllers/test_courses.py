"""Courses go on when their requests are answered, in the order of the answers."""

from typing import Any

import pytest

from kai.api.writes import Lane, Outcome, Read, Result, Write
from kai.controllers.courses import All, Ask, Course, Courses, Fact, Find, Overtaken, Send, Until

DONE, LOST = Outcome(Result.DONE), Outcome(Result.LOST)


def write(name: str) -> Write:
    return Write(Lane.EVICTION, "delete", "Pod", "team", name)


def find(name: str) -> Find:
    return Find(Read("Pod", "team", name))


class Played:
    """Courses that say what they do, and their requests."""

    def __init__(self, *runs: Any) -> None:
        self.said: list[str] = []
        self.courses = Courses()
        self.requests: dict[str, Send | Find] = {}  # by the name of the object
        self.started = [self.courses.start(run(self)) for run in runs]
        self.run()

    def run(self, now: float = 0.0) -> list[str]:
        """The names of the new requests."""
        self.courses.run(now)
        taken = self.courses.take()
        named = {
            each.write.name if isinstance(each, Send) else each.read.name: each for each in taken
        }
        self.requests |= named
        return list(named)

    def answer(self, name: str, answer: Any = DONE) -> list[str]:
        self.courses.answer(self.requests[name], answer)
        return self.run(self.courses.now)

    def overtake(self, course: Course | None = None, error: Exception | None = None) -> list[str]:
        self.courses.overtake(course or self.started[0], error)
        return self.run(self.courses.now)


def test_a_course_reads_from_top_to_bottom() -> None:
    async def course(played: Played) -> None:
        first = await Send(write("a"))
        played.said.append(f"a {first.result.value}")
        found = await find("b")
        played.said.append(f"b {found}")

    played = Played(course)
    assert (list(played.requests), played.said) == (["a"], [])
    assert (played.answer("a", LOST), played.said) == (["b"], ["a lost"])
    assert (played.answer("b", 7), played.said) == ([], ["a lost", "b 7"])


def test_answers_may_come_in_any_order() -> None:
    def course(name: str) -> Any:
        async def run(played: Played) -> None:
            await Send(write(name))
            played.said.append(name)

        return run

    played = Played(*map(course, "abc"))
    assert list(played.requests) == ["a", "b", "c"]
    for name in "cba":
        played.answer(name)
    assert played.said == ["c", "b", "a"]


def test_several_requests_at_once_have_their_answers_in_order() -> None:
    async def course(played: Played) -> None:
        one, two = await All([Send(write("a")), find("b")])
        played.said.append(f"{one.result.value} {two}")
        assert await All([]) == []
        played.said.append("none")

    played = Played(course)
    assert list(played.requests) == ["a", "b"]
    assert (played.answer("b", 5), played.said) == ([], [])
    played.answer("a")
    assert played.said == ["done 5", "none"]


def test_all_that_wait_for_a_fact_get_it_in_their_order() -> None:
    fact: Fact[int] = Fact()

    def waits(name: str) -> Any:
        async def run(played: Played) -> None:
            played.said.append(f"{name} {await fact}")

        return run

    async def sets(played: Played) -> None:
        fact.set(7)
        fact.set(8)
        played.said.append(f"set {await fact}")

    played = Played(waits("a"), waits("b"), sets, waits("c"))
    assert played.said == ["a 7", "b 7", "set 7", "c 7"]


def test_a_course_waits_for_a_time_or_to_be_woken() -> None:
    until = Until(9.0)

    async def course(played: Played) -> None:
        for each in (Until(3.0), until, Until(4.0)):
            await each
            played.said.append(f"{played.courses.now}")

    played = Played(course)
    assert played.courses.next() == 3.0
    played.run(2.9)
    assert played.said == []
    played.run(3.0)
    assert (played.said, played.courses.next()) == (["3.0"], 9.0)
    until.wake()
    until.wake()
    played.run(5.0)  # the last one is past already
    assert (played.said, played.courses.next()) == (["3.0", "5.0", "5.0"], None)


def test_a_course_asks_whether_it_is_still_valid() -> None:
    async def course(played: Played) -> None:
        played.said.append(f"{await Ask('pod a')}")

    played = Played(course)
    [ask] = played.courses.take_asks()
    assert (ask.about, played.courses.take_asks()) == ("pod a", [])
    played.courses.answer(ask, False)
    played.run()
    assert played.said == ["False"]


def test_a_course_that_starts_another_one_goes_on_first() -> None:
    async def parent(played: Played) -> None:
        async def child() -> None:
            played.said.append("child")

        played.courses.start(child())
        played.said.append("parent")

    assert Played(parent).said == ["parent", "child"]


def test_the_error_of_a_course_reaches_the_caller_and_the_others_go_on() -> None:
    async def fails(played: Played) -> None:
        await Send(write("a"))
        raise ValueError("a bug")

    async def goes_on(played: Played) -> None:
        await Send(write("b"))
        played.said.append("b")

    played = Played(fails, goes_on)
    with pytest.raises(ValueError, match="a bug"):
        played.answer("a")
    played.answer("b")
    assert played.said == ["b"]


def test_a_request_is_answered_once() -> None:
    async def course(played: Played) -> None:
        played.said.append((await Send(write("a"))).result.value)

    played = Played(course)
    played.answer("a")
    played.answer("a", LOST)
    assert played.said == ["done"]


# ---- overtaken -----------------------------------------------------------------------------------


def notes(what: Any) -> Any:
    """A course that waits for this, and says how that ends."""

    async def run(played: Played) -> None:
        try:
            played.said.append(f"{await what}")
        except (Overtaken, ValueError) as end:
            played.said.append(type(end).__name__)

    return run


@pytest.mark.parametrize("what", [Until(), Until(5.0), Fact(), Ask("pod a")])
def test_a_course_that_waits_is_overtaken_at_once(what: Any) -> None:
    played = Played(notes(what))
    played.overtake()
    assert (played.said, played.courses.next()) == (["Overtaken"], None)


def test_a_read_is_not_awaited_and_a_write_is() -> None:
    played = Played(notes(find("a")), notes(Send(write("b"))), notes(All([Send(write("c"))])))
    for each in played.started:
        played.overtake(each)
    assert played.said == ["Overtaken"]
    played.answer("a", 7)
    played.answer("c")
    played.answer("b")
    assert played.said == ["Overtaken"] * 3


def test_the_first_error_counts_and_comes_once() -> None:
    async def course(played: Played) -> None:
        for _ in range(2):
            await notes(Until(9.0))(played)
        played.said.append("end")

    played = Played(course)
    played.overtake(error=ValueError())
    played.overtake()
    assert played.said == ["ValueError"]
    played.run(9.0)
    assert played.said == ["ValueError", "None", "end"]


def test_a_shielded_part_is_not_interrupted() -> None:
    async def course(played: Played) -> None:
        await notes(Until(1.0))(played)
        played.started[0].is_shielded = False
        await notes(Until(9.0))(played)

    played = Played(course)
    played.started[0].is_shielded = True
    played.overtake()
    assert played.said == []
    played.run(1.0)
    assert played.said == ["None", "Overtaken"]


def test_a_course_that_is_overtaken_while_it_goes_on_sees_it_at_its_next_request() -> None:
    async def course(played: Played) -> None:
        await Until(1.0)
        played.courses.overtake(played.started[0])
        played.said.append("goes on")
        await notes(find("a"))(played)

    played = Played(course)
    played.run(1.0)
    assert played.said == ["goes on", "Overtaken"]


def test_what_was_dealt_with_may_come_again() -> None:
    async def course(played: Played) -> None:
        for _ in range(2):
            await notes(Until())(played)
            played.started[0].clear_error()

    played = Played(course)
    played.overtake()
    played.overtake()
    assert played.said == ["Overtaken", "Overtaken"]
