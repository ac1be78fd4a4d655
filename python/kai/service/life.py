"""The tasks of a service, and the turns of its planning thread.

    life = Life(client.clock, changed)
    life.start(watch.run())
    await life.until(stop, self._cycles(stop), self._end)     # raises what a task raised
    turn = await life.turn(thread, planner.turn, inputs)

A task that fails ends the service: a bug ends the process, not half of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from kai.k8s.clock import Clock

STUCK_AFTER_S = 120.0
"""A turn that takes longer is a bug: /healthz fails, and the process is restarted."""

Argument = TypeVar("Argument")
Result = TypeVar("Result")
Task = asyncio.Task[Any]


class Life:
    """Lives on the event loop that created it. `changed` is set when a task has failed."""

    def __init__(self, clock: Clock, changed: asyncio.Event) -> None:
        self._clock, self._changed = clock, changed
        self._tasks: set[Task] = set()
        self._turn_since: float | None = None
        self._failure: BaseException | None = None

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    def start(self, work: Coroutine[Any, Any, Any]) -> Task:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def until(
        self,
        stop: asyncio.Event,
        cycles: Coroutine[Any, Any, Any],
        end: Callable[[Task], Awaitable[None]],
    ) -> None:
        """Runs `cycles` until it ends or `stop` is set, and then `end`.

        Raises what one of the tasks raised.
        """
        running = self.start(cycles)
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.set()
            stopping.cancel()
            await end(running)
        if self._failure is not None:
            raise self._failure

    async def cancel(self) -> None:
        """Ends all tasks."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def turn(
        self, thread: Executor, work: Callable[[Argument], Result], argument: Argument
    ) -> Result:
        """Runs one turn on the planning thread."""
        self._turn_since = self._clock.monotonic()
        turn = await asyncio.get_running_loop().run_in_executor(thread, work, argument)
        self._turn_since = None
        return turn

    def why_unhealthy(self) -> str:
        since = self._turn_since
        if since is not None and self._clock.monotonic() - since > STUCK_AFTER_S:
            return f"a plan has taken more than {STUCK_AFTER_S:g} s"
        return ""

    def _ended(self, task: Task) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = self._failure or error
            self._changed.set()


def why_unready(needed: frozenset[str], synced: frozenset[str]) -> str:
    """The kinds that must be listed before a plan and are not; "": none."""
    missing = sorted(needed - synced)
    return f"not listed yet: {', '.join(missing)}" if missing else ""
