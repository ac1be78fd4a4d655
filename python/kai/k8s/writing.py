"""Sends writes: urgent ones first, and only the latest of each key.

    writer = Writer(client)
    writer.put(write, done)          # done(write, outcome) is called on the event loop
    await writer.finish(5.0, Lane.BINDING)     # before the process ends
    await writer.drain(5.0)

A fixed number of workers sends the writes; more requests at a time only slow down the server. A
write with a key replaces a waiting write with the same key, and is sent after one that is under
way, so the last one wins.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from kai.api.writes import Lane, Outcome, Result, Write
from kai.k8s.client import TIMEOUT_S, Client

_log = logging.getLogger(__name__)

Done = Callable[[Write, Outcome], None]
Observe = Callable[[Write, Outcome, float, float], None]


class _Item:
    """A write that waits or is under way. A later write may replace it; None: it moved. `ends`: it
    is not retried. `began`: when it was sent."""

    __slots__ = ("began", "done", "ends", "since", "write")

    def __init__(self, write: Write, done: Done | None, since: float) -> None:
        self.write: Write | None = write
        self.done, self.since, self.began = done, since, since
        self.ends = False


class Writer:
    """Sends writes in the order of their lanes, on the event loop that created it.

    `guard` is called before each try (is the lease still ours?). `timeout` limits a write with all
    its tries: a leader passes the time until another process may take over. A quarter of the
    workers is reserved for the lanes up to BINDING, and EVENT uses at most a quarter. After an
    answer 429, the lanes below that of the write wait as long as the write.

    `observe(write, outcome, waited, took)` is for metrics, in seconds. Counters: `puts`, `put_in`,
    `sent`, `retries` and `results` by lane, `replaced`, `pauses`.
    """

    def __init__(
        self,
        client: Client,
        *,
        workers: int = 32,
        timeout: float = TIMEOUT_S,
        guard: Callable[[], bool] | None = None,
        observe: Observe | None = None,
    ) -> None:
        self.timeout, self.guard = timeout, guard
        self.puts = self.replaced = self.pauses = 0
        self.put_in = dict.fromkeys(Lane, 0)
        self.sent = dict.fromkeys(Lane, 0)
        self.retries = dict.fromkeys(Lane, 0)
        self.results: dict[tuple[Lane, Result], int] = {}
        self._client, self._observe = client, observe
        self._waiting: dict[Lane, deque[_Item]] = {lane: deque() for lane in Lane}
        self._by_key: dict[str, _Item] = {}  # waiting writes
        self._busy: set[str] = set()  # keys of writes under way
        self._behind: dict[str, _Item] = {}  # wait for a write of the same key that is under way
        self._flying = dict.fromkeys(Lane, 0)
        self._on_their_way: dict[_Item, None] = {}  # in the order of sending
        self._most = dict.fromkeys(Lane, workers)
        self._most[Lane.CONDITION] = max(1, workers * 3 // 4)
        self._most[Lane.EVENT] = max(1, workers // 4)
        self._workers = workers
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._paused: dict[Lane, asyncio.Task[None]] = {}
        self._last: Lane | None = Lane.EVENT  # the last lane that still accepts writes
        self._empty: tuple[asyncio.Future[None], Lane] | None = None  # lanes that must become empty
        self._ended = False

    def put(self, write: Write, done: Done | None = None) -> None:
        """Queues a write; `done` is called once, with its outcome."""
        self.puts += 1
        self.put_in[write.lane] += 1
        now = self._client.clock.monotonic()
        if self._last is None or write.lane > self._last:
            self._finish(write, done, Outcome(Result.FAILED, 0, "Stopped", "the writer has ended"))
            return
        older = self._by_key.get(write.key) if write.key else None
        if older is not None and older.write is not None:
            self.replaced += 1
            replaced, its_done = older.write, older.done
            if replaced.lane <= write.lane:  # takes its place, with the older one's urgency
                older.write, older.done = write, done
                older = None
            else:
                older.write = None
                self._behind.pop(write.key, None)
            self._finish(replaced, its_done, Outcome(Result.REPLACED))
            if older is None:
                return
        item = _Item(write, done, now)
        if write.key:
            self._by_key[write.key] = item
        self._waiting[write.lane].append(item)
        self._wake()

    def take_back(
        self, lane: Lane, chosen: Callable[[Write], bool]
    ) -> list[tuple[Write, Done | None]]:
        """Removes writes without a key that were not sent yet, and returns them with their `done`,
        which is not called.

        A chosen write that is under way is not retried: its result is TAKEN_BACK if the server has
        not applied it, and LOST if that is unknown.
        """
        for item in self._on_their_way:
            if item.write is not None and item.write.lane is lane and chosen(item.write):
                item.ends = True
        taken, kept = [], deque[_Item]()
        for item in self._waiting[lane]:
            if item.write is not None and not item.write.key and chosen(item.write):
                taken.append((item.write, item.done))
            else:
                kept.append(item)
        if taken:
            self._waiting[lane] = kept
            self._check_empty()
        return taken

    def waiting(self, lane: Lane) -> int:
        """How many writes of a lane wait to be sent."""
        behind = sum(1 for each in self._behind.values() if each.write and each.write.lane == lane)
        return sum(1 for each in self._waiting[lane] if each.write is not None) + behind

    def under_way(self) -> list[tuple[Write, float]]:
        """The writes without an answer yet, in the order of sending, and the seconds since then."""
        now = self._client.clock.monotonic()
        return [
            (item.write, now - item.began) for item in self._on_their_way if item.write is not None
        ]

    @property
    def idle(self) -> bool:
        """Whether no write waits or is under way."""
        return self._is_idle(Lane.EVENT)

    async def finish(self, timeout: float, through: Lane) -> None:
        """Waits until the writes of the lanes up to `through` have answers, including writes that
        follow from these answers; `timeout` seconds at most. New writes are accepted meanwhile."""
        empty = asyncio.get_running_loop().create_future()
        self._empty = (empty, through)
        self._check_empty()
        ends = asyncio.ensure_future(self._client.clock.sleep(timeout))
        await asyncio.wait({empty, ends}, return_when=asyncio.FIRST_COMPLETED)
        ends.cancel()
        self._empty = None

    async def drain(self, timeout: float, through: Lane = Lane.EVENT) -> int:
        """Accepts no more writes, and finishes those of the lanes up to `through`.

        After `timeout` seconds, waiting writes have FAILED and writes under way are LOST; returns
        the number of both. The writer has ended then.
        """
        self._last = None
        left = 0
        for lane in Lane:
            if lane > through:
                left += self._give_up(lane)
        await self.finish(timeout, Lane.EVENT)
        self._ended = True
        left += sum(map(self._give_up, Lane)) + sum(self._flying.values())
        stopping = [*self._tasks, *self._paused.values()]
        for task in stopping:
            task.cancel()
        await asyncio.gather(*stopping, return_exceptions=True)
        return left

    # ---- inside ----------------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._ended:
            return
        while self._idle:
            future = self._idle.popleft()
            if not future.done():
                future.set_result(None)
                return
        if len(self._tasks) < self._workers:
            task = asyncio.get_running_loop().create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _next(self) -> _Item | None:
        """The most urgent write that may be sent now."""
        closed = min(self._paused, default=None)
        low = self._flying[Lane.CONDITION] + self._flying[Lane.EVENT]
        for lane, queue in self._waiting.items():
            if closed is not None and lane > closed:
                return None
            if not queue or self._flying[lane] >= self._most[lane]:
                continue
            if lane > Lane.BINDING and low >= self._most[Lane.CONDITION]:
                return None
            while queue:
                item = queue.popleft()
                if item.write is None:
                    continue
                key = item.write.key
                if key in self._busy:
                    self._behind[key] = item
                    continue
                return item
        return None

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            item = self._next()
            if item is None:
                self._check_empty()
                future = loop.create_future()
                self._idle.append(future)
                await future
                continue
            await self._send(item)

    async def _send(self, item: _Item) -> None:
        write, done = item.write, item.done
        assert write is not None
        lane, key, clock = write.lane, write.key, self._client.clock
        if key:
            self._by_key.pop(key, None)
            self._busy.add(key)
        self._flying[lane] += 1
        self._on_their_way[item] = None
        self.sent[lane] += 1
        began = item.began = clock.monotonic()
        tries = 0

        def may_go() -> bool:
            nonlocal tries
            may = not item.ends and (self.guard is None or self.guard())
            tries += may
            return may

        outcome = Outcome(Result.LOST, 0, "Stopped", "the process ended before the answer")
        try:
            outcome = await self._client.send(
                write,
                timeout=self.timeout,
                guard=may_go,
                busy=lambda seconds: self._pause(lane, seconds),
            )
        except Exception as error:  # an error of ours must not end a worker
            _log.exception("write of %s %s/%s", write.kind, write.namespace, write.name)
            outcome = Outcome(Result.REFUSED, 0, type(error).__name__, str(error))
        finally:
            self._flying[lane] -= 1
            self.retries[lane] += max(0, tries - 1)
            self._on_their_way.pop(item, None)
            if item.ends and outcome.result is Result.FAILED:
                outcome = Outcome(Result.TAKEN_BACK)
            if key:
                self._busy.discard(key)
                behind = self._behind.pop(key, None)
                if behind is not None and behind.write is not None:
                    self._waiting[behind.write.lane].appendleft(behind)
            if self._observe is not None:
                self._observe(write, outcome, began - item.since, clock.monotonic() - began)
            self._finish(write, done, outcome)
            self._check_empty()
            if self._idle and any(self._waiting.values()):
                self._wake()  # a lane or a key that was blocked may continue

    def _finish(self, write: Write, done: Done | None, outcome: Outcome) -> None:
        entry = (write.lane, outcome.result)
        self.results[entry] = self.results.get(entry, 0) + 1
        if done is not None:
            try:
                done(write, outcome)
            except Exception:
                _log.exception("outcome of %s %s/%s", write.kind, write.namespace, write.name)

    def _give_up(self, lane: Lane) -> int:
        """All writes that wait in a lane have failed."""
        given_up = 0
        behind = [each for each in self._behind.values() if each.write and each.write.lane == lane]
        for item in (*self._waiting[lane], *behind):
            if item.write is not None:
                given_up += 1
                write, item.write = item.write, None
                self._by_key.pop(write.key, None)
                self._behind.pop(write.key, None)
                outcome = Outcome(Result.FAILED, 0, "Stopped", "the process ended before it")
                self._finish(write, item.done, outcome)
        self._waiting[lane].clear()
        return given_up

    def _pause(self, lane: Lane, seconds: float) -> None:
        """The lanes below this one wait; the write itself waits in its worker."""
        if lane not in self._paused:
            self.pauses += 1
            self._paused[lane] = asyncio.get_running_loop().create_task(self._resume(lane, seconds))

    async def _resume(self, lane: Lane, seconds: float) -> None:
        try:
            await self._client.clock.sleep(seconds)
        finally:
            del self._paused[lane]
            for _ in range(min(self._workers, sum(map(len, self._waiting.values())))):
                self._wake()

    def _is_idle(self, through: Lane) -> bool:
        lanes = [lane for lane in Lane if lane <= through]
        return not any(self._flying[lane] or self.waiting(lane) for lane in lanes)

    def _check_empty(self) -> None:
        if self._empty is not None:
            empty, through = self._empty
            if not empty.done() and self._is_idle(through):
                empty.set_result(None)
