"""A service with the webhooks in the same process, for trials: `kai run all --webhooks`.

    both = WithWebhooks(service, connect, options, log)
    await both.run(stop)

The webhooks have an event loop in a thread of their own, and a connection of their own. On the
event loop of the service, reviews would wait while it reads a long list or passes on a plan
(tests/bench/reviews_beside.py measures both).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from kai.service.admission.metrics import AdmissionMetrics
from kai.service.admission.program import Program
from kai.service.log import Log
from kai.service.metrics.series import snapshots, text_of
from kai.service.pages import Numbers

if TYPE_CHECKING:
    from kai.k8s.client import Client
    from kai.service.admission.options import AdmissionOptions

Connect = Callable[[asyncio.Event], Awaitable["Client | None"]]
"""Connects to the API server, on the event loop that calls it; None: the event was set before."""


class Running(Protocol):
    """A service or a shadow."""

    @property
    def metrics(self) -> Numbers: ...

    async def run(self, stop: asyncio.Event) -> None: ...

    def why_unready(self) -> str: ...


class WithWebhooks:
    """Lives on the event loop of the service. `namespace`: of the metrics."""

    def __init__(
        self,
        service: Running,
        connect: Connect,
        options: AdmissionOptions,
        log: Log,
        namespace: str = "kai",
    ) -> None:
        self._service = service
        self._connect, self._options, self._log = connect, options, log
        self._metrics = AdmissionMetrics(namespace)
        self.program: Program | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set, or one of the two ends. Raises what they raise."""

        async def until_end(work: Coroutine[Any, Any, None]) -> None:
            try:
                await work
            finally:
                stop.set()

        works = (self._service.run(stop), self._run_in_thread(stop))
        ended = await asyncio.gather(*map(until_end, works), return_exceptions=True)
        for each in ended:
            if each is not None:
                raise each

    @property
    def metrics(self) -> Numbers:
        return self

    async def page(self) -> bytes:
        """The metrics of both."""
        return await self._service.metrics.page() + text_of(snapshots(self._metrics.of_reviews()))

    def why_unready(self) -> str:
        of_webhooks = "the webhooks are starting"
        if self.program is not None:
            of_webhooks = self.program.why_unready()
        return self._service.why_unready() or of_webhooks

    async def _run_in_thread(self, stop: asyncio.Event) -> None:
        here = asyncio.get_running_loop()
        started: asyncio.Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]
        started = here.create_future()

        async def answer() -> None:
            its_stop = asyncio.Event()
            its = (asyncio.get_running_loop(), its_stop)
            here.call_soon_threadsafe(started.set_result, its)
            await self._answer(its_stop)

        with ThreadPoolExecutor(1, thread_name_prefix="kai-webhooks") as thread:
            answering = here.run_in_executor(thread, lambda: asyncio.run(answer()))
            its_loop, its_stop = await started
            stopping: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
            try:
                await asyncio.wait({answering, stopping}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                stopping.cancel()
                with contextlib.suppress(RuntimeError):  # it has ended
                    its_loop.call_soon_threadsafe(its_stop.set)
            await answering

    async def _answer(self, stop: asyncio.Event) -> None:
        client = await self._connect(stop)
        if client is not None:
            async with client:
                self.program = Program(client, self._options, self._log, self._metrics)
                await self.program.run(stop)
