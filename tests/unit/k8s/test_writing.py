"""The order of writes: lanes, keys, flow control, and the end of a process."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fakes.clock import VirtualClock, settle
from fakes.scenarios import in_a_loop, scenarios
from kai.api.writes import Lane, Outcome, Result, Write
from kai.k8s.writing import Writer


class FakeClient:
    """Receives writes and answers when the test does so. `done`: the outcomes that its `writer`
    reports."""

    writer: Writer

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.sent = list[Write]()
        self.options = list[dict[str, Any]]()
        self._open = dict[int, asyncio.Future[Outcome]]()
        self.done = Done()

    async def send(self, write: Write, **options: Any) -> Outcome:
        self.sent.append(write)
        self.options.append(options)
        future = asyncio.get_running_loop().create_future()
        self._open[len(self.sent) - 1] = future
        return await future

    async def answer(self, *which: int, result: Result = Result.DONE) -> None:
        """Answers these writes, by their index in `sent`; all of them by default."""
        await settle()
        for index in which or list(self._open):
            self._open.pop(index).set_result(Outcome(result))
        await settle()

    async def fail(self, index: int, error: BaseException) -> None:
        await settle()
        self._open.pop(index).set_exception(error)
        await settle()

    def names(self) -> list[str]:
        return [each.name for each in self.sent]


class Done:
    def __init__(self) -> None:
        self.outcomes = list[tuple[str, Result]]()

    def __call__(self, write: Write, outcome: Outcome) -> None:
        self.outcomes.append((write.name, outcome.result))


def write(name: str, lane: Lane = Lane.BINDING, key: str = "", body: Any = None) -> Write:
    return Write(lane, "patch", "Pod", "team", name, body or {}, key=key)


async def run(story: Callable[[FakeClient], Awaitable[Any]], workers: int = 4) -> Any:
    it = FakeClient()
    it.writer = Writer(it, workers=workers)  # type: ignore[arg-type]
    try:
        return await story(it)
    finally:
        draining = asyncio.ensure_future(it.writer.drain(0.0))
        while not draining.done():
            await it.clock.advance(0.0)


scenario = scenarios(run)


@scenario(workers=2)
async def test_unsent_writes_can_be_taken_back(it: FakeClient) -> None:
    for name in ("a", "b", "c", "d"):
        it.writer.put(write(name), it.done)
    it.writer.put(write("e", key="k"), it.done)
    await settle()
    taken = it.writer.take_back(Lane.BINDING, lambda each: each.name in "bce")
    assert [each.name for each, _ in taken] == ["c"]  # b is under way, and e may be replaced
    await it.answer()
    assert it.names() == ["a", "b", "d", "e"]
    await it.answer()
    assert [name for name, _ in it.done.outcomes] == ["a", "b", "d", "e"]
    assert it.writer.idle


@scenario
async def test_a_write_taken_back_while_it_is_sent_is_not_repeated(it: FakeClient) -> None:
    for name in ("a", "b", "c"):
        it.writer.put(write(name), it.done)
    await settle()
    assert it.writer.take_back(Lane.BINDING, lambda each: each.name != "c") == []
    assert [each["guard"]() for each in it.options] == [False, False, True]
    await it.answer(0, result=Result.FAILED)
    await it.answer(1, result=Result.LOST)
    await it.answer(2, result=Result.FAILED)
    assert it.done.outcomes == [
        ("a", Result.TAKEN_BACK),
        ("b", Result.LOST),
        ("c", Result.FAILED),
    ]


@scenario(workers=1)
async def test_urgent_writes_are_sent_first(it: FakeClient) -> None:
    it.writer.put(write("first"))
    await settle()
    for lane in (Lane.EVENT, Lane.CONDITION, Lane.BINDING, Lane.EVICTION):
        it.writer.put(write(lane.name, lane))
    for _ in range(5):
        await it.answer()
    assert it.names() == ["first", "EVICTION", "BINDING", "CONDITION", "EVENT"]


@scenario
async def test_at_most_one_write_per_worker_is_under_way(it: FakeClient) -> None:
    for number in range(10):
        it.writer.put(write(f"p{number}"), it.done)
    await settle()
    assert it.names() == ["p0", "p1", "p2", "p3"]
    assert it.writer.waiting(Lane.BINDING) == 6
    await it.answer(2)
    assert it.names()[4:] == ["p4"]
    for _ in range(3):
        await it.answer()
    assert len(it.done.outcomes) == 10
    assert it.writer.idle
    assert it.writer.sent[Lane.BINDING] == 10
    assert it.writer.results == {(Lane.BINDING, Result.DONE): 10}


@scenario(workers=8)
async def test_conditions_and_events_leave_workers_for_urgent_writes(it: FakeClient) -> None:
    for number in range(10):
        it.writer.put(write(f"event{number}", Lane.EVENT))
        it.writer.put(write(f"condition{number}", Lane.CONDITION))
    await settle()
    assert len(it.sent) == 6
    assert sum(each.lane is Lane.EVENT for each in it.sent) <= 2
    it.writer.put(write("victim", Lane.EVICTION))
    it.writer.put(write("pod", Lane.BINDING))
    await settle()
    assert it.names()[6:] == ["victim", "pod"]


@scenario(workers=1)
async def test_a_later_write_of_the_same_key_replaces_a_waiting_one(it: FakeClient) -> None:
    it.writer.put(write("first"))
    await settle()
    it.writer.put(write("a", key="k", body={"n": 1}), it.done)
    it.writer.put(write("between"))
    it.writer.put(write("a", key="k", body={"n": 2}), it.done)
    assert it.done.outcomes == [("a", Result.REPLACED)]
    for _ in range(4):
        await it.answer()
    assert [each.body for each in it.sent[1:2]] == [{"n": 2}]
    assert it.names() == ["first", "a", "between"]
    assert it.done.outcomes == [("a", Result.REPLACED), ("a", Result.DONE)]
    assert it.writer.replaced == 1


@scenario
async def test_a_write_waits_for_an_earlier_one_of_its_key(it: FakeClient) -> None:
    it.writer.put(write("a", key="k", body={"n": 1}), it.done)
    await settle()
    it.writer.put(write("a", key="k", body={"n": 2}), it.done)
    it.writer.put(write("other"))
    await settle()
    assert it.names() == ["a", "other"]
    assert it.writer.waiting(Lane.BINDING) == 1
    it.writer.put(write("a", key="k", body={"n": 3}), it.done)
    await it.answer(0)
    assert [each.body for each in it.sent] == [{"n": 1}, {}, {"n": 3}]
    await it.answer()
    results = [result for _, result in it.done.outcomes]
    assert results == [Result.REPLACED, Result.DONE, Result.DONE]


@scenario(workers=1)
async def test_a_write_that_becomes_urgent_changes_its_lane(it: FakeClient) -> None:
    it.writer.put(write("first"))
    await settle()
    it.writer.put(write("a", Lane.CONDITION, key="k"), it.done)
    it.writer.put(write("b", Lane.BINDING))
    it.writer.put(write("a", Lane.EVICTION, key="k"), it.done)
    for _ in range(4):
        await it.answer()
    assert it.names() == ["first", "a", "b"]
    assert it.done.outcomes == [("a", Result.REPLACED), ("a", Result.DONE)]


@scenario(workers=8)
async def test_a_busy_answer_delays_the_lower_lanes(it: FakeClient) -> None:
    it.writer.put(write("busy", Lane.CONDITION))
    await settle()
    it.options[0]["busy"](3.0)
    for lane in (Lane.EVENT, Lane.CONDITION, Lane.BINDING):
        it.writer.put(write(lane.name, lane))
    await it.clock.advance(2.9)
    assert it.names() == ["busy", "BINDING", "CONDITION"]
    await it.clock.advance(0.2)
    assert it.names()[3:] == ["EVENT"]
    assert it.writer.pauses == 1


@in_a_loop
async def test_each_write_gets_its_timeout_and_guard() -> None:
    client = FakeClient()
    writer = Writer(client, timeout=5.0, guard=lambda: True)  # type: ignore[arg-type]
    writer.put(write("a"))
    await client.answer()
    assert client.options[0]["timeout"] == 5.0
    assert client.options[0]["guard"]()
    draining = asyncio.ensure_future(writer.drain(1.0))
    await settle()
    assert draining.done()


# ---- the end -------------------------------------------------------------------------------------


@scenario
async def test_draining_finishes_existing_writes_and_refuses_new_ones(it: FakeClient) -> None:
    for number in range(6):
        it.writer.put(write(f"p{number}"), it.done)
    it.writer.put(write("said", Lane.EVENT), it.done)
    await settle()
    draining = asyncio.ensure_future(it.writer.drain(5.0, through=Lane.BINDING))
    await settle()
    it.writer.put(write("late"), it.done)
    assert it.done.outcomes == [("said", Result.FAILED), ("late", Result.FAILED)]
    await it.answer()
    assert not draining.done()
    await it.answer()
    assert await draining == 1
    assert it.names() == [f"p{number}" for number in range(6)]
    assert len(it.done.outcomes) == 8


@scenario
async def test_bindings_are_finished_while_conditions_are_still_accepted(it: FakeClient) -> None:
    it.writer.put(write("bind"), lambda *_: it.writer.put(write("bind after it"), it.done))
    it.writer.put(write("condition", Lane.CONDITION), it.done)
    await settle()
    finishing = asyncio.ensure_future(it.writer.finish(5.0, Lane.BINDING))
    await it.answer(0)
    assert not finishing.done()  # writes that follow from an answer count too
    await it.answer(2)
    assert finishing.done()
    assert it.done.outcomes == [("bind after it", Result.DONE)]
    it.writer.put(write("event", Lane.EVENT), it.done)
    await it.answer()
    assert ("event", Result.DONE) in it.done.outcomes


@scenario
async def test_finishing_ends_in_time(it: FakeClient) -> None:
    it.writer.put(write("slow"), it.done)
    await settle()
    finishing = asyncio.ensure_future(it.writer.finish(5.0, Lane.BINDING))
    await it.clock.advance(4.9)
    assert not finishing.done()
    await it.clock.advance(0.2)
    assert finishing.done()
    assert it.done.outcomes == []


@scenario
async def test_draining_returns_the_writes_that_are_not_finished_in_time(it: FakeClient) -> None:
    for number in range(6):
        it.writer.put(write(f"p{number}", key=f"k{number}"), it.done)
    await settle()
    it.writer.put(write("p0", key="k0"), it.done)  # behind the one under way
    draining = asyncio.ensure_future(it.writer.drain(5.0))
    await it.clock.advance(5.1)
    assert await draining == 7
    results = [result for _, result in it.done.outcomes]
    assert results.count(Result.LOST) == 4
    assert results.count(Result.FAILED) == 3


def test_an_exception_in_a_callback_does_not_end_a_worker(caplog: pytest.LogCaptureFixture) -> None:
    def wrong(_: Write, outcome: Outcome) -> None:
        raise ZeroDivisionError

    async def scenario(it: FakeClient) -> None:
        it.writer.put(write("a"), wrong)
        it.writer.put(write("b"), it.done)
        it.writer.put(write("c"), it.done)
        await it.answer()
        await it.fail(1, ZeroDivisionError())
        await it.answer()
        assert it.done.outcomes == [("b", Result.REFUSED), ("c", Result.DONE)]

    with caplog.at_level(logging.ERROR):
        asyncio.run(run(scenario, workers=1))
    assert [each.getMessage() for each in caplog.records] == [
        "outcome of Pod team/a",
        "write of Pod team/b",
    ]


def test_metrics_have_waits_and_durations() -> None:
    seen = list[tuple[str, float, float]]()

    async def main() -> None:
        client = FakeClient()

        def observe(each: Write, outcome: Outcome, waited: float, took: float) -> None:
            seen.append((each.name, waited, took))

        writer = Writer(client, workers=1, observe=observe)  # type: ignore[arg-type]
        writer.put(write("a"))
        writer.put(write("b"))
        await settle()
        client.clock.now += 2
        await client.answer()
        client.clock.now += 1
        await client.answer()
        draining = asyncio.ensure_future(writer.drain(1.0))
        await settle()
        assert await draining == 0

    asyncio.run(main())
    assert seen == [("a", 0, 2), ("b", 2, 1)]


@in_a_loop
async def test_writes_under_way_and_repeated_are_counted() -> None:
    client = FakeClient()
    writer = Writer(client, workers=2)  # type: ignore[arg-type]
    for name, lane in (("a", Lane.BINDING), ("b", Lane.EVENT), ("c", Lane.EVENT)):
        writer.put(write(name, lane))
    await settle()
    may_go = client.options[0]["guard"]
    assert [may_go(), may_go(), may_go()] == [True] * 3  # the client checks before each try
    await client.clock.advance(2.5)
    assert [(each.name, s) for each, s in writer.under_way()] == [("a", 2.5), ("b", 2.5)]
    assert writer.retries[Lane.BINDING] == 0, "it is counted with the answer"
    await client.answer()
    assert (writer.retries[Lane.BINDING], writer.retries[Lane.EVENT]) == (2, 0)
    assert (writer.put_in[Lane.BINDING], writer.put_in[Lane.EVENT]) == (1, 2)
    assert [each.name for each, _ in writer.under_way()] == ["c"]
    await client.answer()
    assert writer.under_way() == []
    await writer.drain(1.0)
