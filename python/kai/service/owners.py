"""Decides which owners of pods are read, and when again: they have any kind, so no watch covers
them.

    owners = Owners(read, tasks.start, clock)
    owners.need(decided.needs)              # read now, and again while it does not exist
    owners.look_again(decided.joined)       # new pods of an owner that was read before
    owners.forget(decided.not_needed)
    await owners.run()                      # reads each again now and then, until cancelled

KAI reads owners at each event of a pod. Here an owner is read again within `FRESH_S` when a pod
joins it, and after 1, 2, 4, ... 30 s if it does not exist. In addition each owner is read every
`EVERY_S`, a few per second, so a workload whose queue label changes is moved although its pods do
not change.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from kai.controllers.grouper import Reference
from kai.k8s.clock import Clock

FRESH_S = 5.0
EVERY_S = 30.0
A_SECOND = 5.0
"""The number of owners read again per second: with more than 150 owners a round takes longer."""
FIRST_WAIT_S, MOST_WAIT_S = 1.0, 30.0
ONCE = frozenset(("Pod", "PodGroup"))
"""Watches deliver the changes of these kinds."""


@dataclass(slots=True)
class _State:
    read_at: float = float("-inf")
    failures: int = 0
    is_planned: bool = False  # to be read, or being read


class Owners:
    """Lives on the event loop.

    `read`: reads the object and passes it on; returns whether it exists, None if the server fails.
    `start`: creates a task.
    """

    def __init__(
        self,
        read: Callable[[Reference], Awaitable[bool | None]],
        start: Callable[[Coroutine[Any, Any, None]], object],
        clock: Clock,
    ) -> None:
        self._read, self._start, self._clock = read, start, clock
        self._states: dict[Reference, _State] = {}

    def __len__(self) -> int:
        """The number of owners that are followed."""
        return len(self._states)

    def need(self, references: Iterable[Reference]) -> None:
        for reference in references:
            state = self._states[reference] = _State()
            self._plan(reference, state, 0.0)

    def look_again(self, references: Iterable[Reference]) -> None:
        for reference in references:
            if (state := self._states.get(reference)) is not None:
                waits = state.read_at + FRESH_S - self._clock.monotonic()
                self._plan(reference, state, max(0.0, waits))

    def forget(self, references: Iterable[Reference]) -> None:
        for reference in references:
            self._states.pop(reference, None)

    async def run(self) -> None:
        while True:
            await self._clock.sleep(1.0)
            for reference, state in list(self._states.items()):
                if self._clock.monotonic() >= state.read_at + EVERY_S:
                    self._plan(reference, state, 0.0)
                    await self._clock.sleep(1 / A_SECOND)

    def _plan(self, reference: Reference, state: _State, delay: float) -> None:
        if not state.is_planned:
            state.is_planned = True
            self._start(self._look(reference, state, delay))

    async def _look(self, reference: Reference, state: _State, delay: float) -> None:
        if delay > 0:
            await self._clock.sleep(delay)
        if self._states.get(reference) is not state:
            return
        is_there = await self._read(reference)
        state.read_at, state.is_planned = self._clock.monotonic(), False
        if self._states.get(reference) is not state:
            return
        if is_there is not None and reference.kind in ONCE:
            del self._states[reference]
            return
        if is_there:
            state.failures = 0
            return
        wait = min(FIRST_WAIT_S * 2 ** min(state.failures, 10), MOST_WAIT_S)
        state.failures += 1
        self._plan(reference, state, wait)
