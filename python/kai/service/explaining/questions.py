"""Questions about the latest plan of a running scheduler, answered by its planning thread.

    questions = Questions(changed.set, may_plan)
    told = await questions.ask(lambda plan: plan.why("team/train"))   # on the event loop
    inputs = Inputs(..., questions=questions.take())                  # for the next turn
    questions.told(turn.told)                                         # after it

The engine reads a plan cheaply until its cluster changes, so a question waits for the next turn: a
turn without changes reads the last plan, and makes none. At most MOST_A_TURN questions take part in
a turn, so that pages do not delay decisions.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kai.engine.plan import Plan
from kai.errors import KaiError

MOST_A_TURN = 4
MOST_WAITING = 64
PATIENCE_S = 10.0

Result = TypeVar("Result")


class NotNowError(KaiError):
    """No plan of this process can answer now: another process leads, or it is too busy."""


class Questions:
    """For one event loop. `wake` starts a turn; `may_plan`: whether this process decides now."""

    def __init__(self, wake: Callable[[], None], may_plan: Callable[[], bool]) -> None:
        self._wake, self._may_plan = wake, may_plan
        self._waiting: deque[tuple[Callable[[Plan], Any], asyncio.Future[Any]]] = deque()
        self._taken: list[asyncio.Future[Any]] = []

    async def ask(self, question: Callable[[Plan], Result]) -> Result:
        """Raises what the question raises, and NotNowError if no plan answers it in time."""
        if not self._may_plan():
            raise NotNowError("this process does not plan now: another one leads")
        if len(self._waiting) >= MOST_WAITING:
            raise NotNowError("too many questions wait for an answer: ask again in a moment")
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((_guarded(question), future))
        self._wake()
        try:
            found, error = await asyncio.wait_for(future, PATIENCE_S)
        except asyncio.TimeoutError:
            raise NotNowError("no plan was made in time: ask again in a moment") from None
        if error is not None:
            raise error
        answer: Result = found
        return answer

    def take(self) -> Sequence[Callable[[Plan], Any]]:
        """Those for the next turn; `told` must follow."""
        taken = list[Callable[[Plan], Any]]()
        while self._waiting and len(taken) < MOST_A_TURN:
            question, future = self._waiting.popleft()
            if not future.done():
                taken.append(question)
                self._taken.append(future)
        return taken

    def told(self, results: Sequence[Any]) -> None:
        """`results`: in the order of `take`; empty if the turn has read no plan."""
        taken, self._taken = self._taken, []
        if taken and not results:
            error = NotNowError("this process does not plan now: another one leads")
            results = [(None, error)] * len(taken)
        for future, result in zip(taken, results, strict=True):
            with contextlib.suppress(asyncio.InvalidStateError):  # its caller has gone
                future.set_result(result)
        if self._waiting:
            self._wake()


def _guarded(question: Callable[[Plan], Any]) -> Callable[[Plan], tuple[Any, Exception | None]]:
    """An error of a question, also a bug, is its answer: it must not end the scheduler."""

    def answer(plan: Plan) -> tuple[Any, Exception | None]:
        try:
            return question(plan), None
        except Exception as error:
            return None, error

    return answer
