"""Owners of pods are read when a pod needs them, and again: they may move, or be created late."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from fakes.clock import VirtualClock
from fakes.scenarios import scenarios
from kai.controllers.grouper import Reference
from kai.errors import RefusedError, UnreachableError
from kai.live.reading import Reading
from kai.service.options import Options
from kai.service.owners import A_SECOND, EVERY_S, FRESH_S, Owners

JOB = Reference("batch/v1", "Job", "team", "j", "u")


class World:
    """`there`: the result of reading each owner; True if it is not listed."""

    def __init__(self) -> None:
        self.clock, self.there = VirtualClock(), dict[Reference, bool | None]()
        self.reads: list[tuple[float, str]] = []
        self._began = self.clock.monotonic()
        self._tasks = list[asyncio.Future[None]]()
        self.owners = Owners(
            self._read, lambda work: self._tasks.append(asyncio.ensure_future(work)), self.clock
        )
        self._tasks.append(asyncio.ensure_future(self.owners.run()))

    async def _read(self, reference: Reference) -> bool | None:
        self.reads.append((round(self.clock.monotonic() - self._began, 3), reference.name))
        return self.there.get(reference, True)

    def times(self) -> list[float]:
        return [at for at, _ in self.reads]

    def end(self) -> None:
        for each in self._tasks:
            each.cancel()


async def run(story: Callable[[World], Awaitable[None]]) -> None:
    world = World()
    await story(world)
    world.end()


scenario = scenarios(run)


@scenario
async def test_an_owner_is_read_at_once_and_then_at_intervals(world: World) -> None:
    world.owners.need([JOB])
    await world.clock.advance(2 * EVERY_S + 5)
    assert world.times()[0] == 0.0
    assert len(world.times()) == 3
    world.owners.forget([JOB])
    await world.clock.advance(10 * EVERY_S)
    assert len(world.times()) == 3
    assert len(world.owners) == 0


@scenario
async def test_many_new_pods_of_an_owner_cause_few_reads(world: World) -> None:
    world.owners.need([JOB])
    await world.clock.advance(1.0)
    for _ in range(100):
        world.owners.look_again([JOB])
    await world.clock.advance(FRESH_S)
    assert world.times() == [0.0, FRESH_S]
    await world.clock.advance(FRESH_S)
    world.owners.look_again([JOB])
    await world.clock.advance(0.0)
    assert len(world.times()) == 3


@scenario
async def test_a_missing_owner_is_searched_again(world: World) -> None:
    world.there[JOB] = False
    world.owners.need([JOB])
    await world.clock.advance(8.0)
    assert world.times() == [0.0, 1.0, 3.0, 7.0]
    world.there[JOB] = True
    await world.clock.advance(8.0)
    assert world.times()[4:] == [15.0]
    await world.clock.advance(EVERY_S / 2)
    assert len(world.times()) == 5


@pytest.mark.parametrize("answer", [True, False])
@scenario
async def test_a_pod_group_is_read_until_there_is_an_answer(world: World, *, answer: bool) -> None:
    """Watches deliver its later changes. An old answer that is repeated would undo a write."""
    group = Reference("scheduling.run.ai/v2alpha2", "PodGroup", "team", "g", "")
    world.there[group] = None  # the server fails
    world.owners.need([group])
    await world.clock.advance(2.0)
    world.there[group] = answer
    await world.clock.advance(10 * EVERY_S)
    assert world.times() == [0.0, 1.0, 3.0]
    assert len(world.owners) == 0


@scenario
async def test_reads_of_many_owners_are_limited_per_second(world: World) -> None:
    many = [JOB._replace(name=f"j{number:04}") for number in range(400)]
    world.owners.need(many)
    await world.clock.advance(EVERY_S)
    before = len(world.reads)
    await world.clock.advance(20.0)
    again = world.reads[before:]
    assert len(again) <= 20 * A_SECOND + 1
    assert len({name for _, name in again}) == len(again)


class Server:
    """Gives one answer."""

    def __init__(self, answer: bytes | Exception | None) -> None:
        self.answer = answer

    async def get_by_api(self, *_: str) -> bytes | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "found", "handed_on"),
    [
        (b'{"kind": "Job"}', True, [(JOB, {"kind": "Job"})]),
        (None, False, [(JOB, None)]),
        (RefusedError("jobs is forbidden", 403), False, [(JOB, False)]),
        (RefusedError("the token has expired", 401), None, []),
        (RefusedError("etcd leader changed", 500), None, []),
        (UnreachableError("connection refused"), None, []),
    ],
)
def test_an_owner_is_unchanged_while_the_server_fails(
    answer: bytes | Exception | None, found: bool | None, handed_on: list[object]
) -> None:
    """Pods of an owner without the right to read it are grouped without it; doing that for a
    failing server would split a Job."""
    reading = Reading(Server(answer), None, Options(), lambda: None)  # type: ignore[arg-type]
    is_there, why = asyncio.run(reading.look_after(JOB))
    assert is_there is found
    assert bool(why) is isinstance(answer, Exception)
    assert reading.take_owners() == handed_on
