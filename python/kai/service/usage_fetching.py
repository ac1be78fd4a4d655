"""Fetches the past usage of queues from Prometheus again and again, in the background.

    usage = UsageFetching(db, clock, client.server_time, log, metrics, on_usage)
    task = asyncio.ensure_future(usage.run())
    usage.is_ready()          # fetched once, or waited long enough: scheduling may start

After a failed fetch the last usage stays in use, however old it is (spec 1 F121). Nothing is
fetched during a cycle: the planning thread gets the usage with its inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kai.engine.usage import Rows
from kai.errors import InvalidInputError
from kai.live.usage_db import UsageDb
from kai.live.usage_fetching import fetch, session_for, shown
from kai.service.log import Log
from kai.service.metrics import Metrics

if TYPE_CHECKING:
    import aiohttp

    from kai.k8s.clock import Clock


class UsageFetching:
    """Lives on the event loop, and calls `on_usage` there with each fetched usage."""

    def __init__(
        self,
        db: UsageDb,
        clock: Clock,
        wall: Callable[[], float],
        log: Log,
        metrics: Metrics,
        on_usage: Callable[[Rows], None],
    ) -> None:
        self._db, self._clock, self._wall = db, clock, wall
        self._log, self._metrics, self._on_usage = log, metrics, on_usage
        self._began = clock.monotonic()
        self._fetched_at: float | None = None

    async def run(self) -> None:
        """Fetches once in each interval, until it is cancelled."""
        for warning in self._db.warnings:
            self._log.warning(warning)
        self._log.info("fetches the usage of queues", server=shown(self._db.address))
        async with session_for(self._db) as session:
            while True:
                began = self._clock.monotonic()
                await self._fetch(session)
                took = self._clock.monotonic() - began
                await self._clock.sleep(max(0.0, self._db.fetch_interval - took))

    async def _fetch(self, session: aiohttp.ClientSession) -> None:
        began = self._clock.monotonic()
        try:
            rows = await fetch(self._db, session, self._wall())
        except InvalidInputError as error:
            self._metrics.usage_failures.add()
            fields = {"server": shown(self._db.address), "why": str(error)}
            self._log.warning("the usage of queues cannot be fetched", **fields)
            self._warn_if_stale()
            return
        now = self._clock.monotonic()
        self._metrics.usage_query_ms.observe((now - began) * 1000)
        self._fetched_at = now
        self._on_usage(rows)

    def _warn_if_stale(self) -> None:
        age = self.age()
        if age is not None and age > self._db.staleness:
            self._log.warning("the usage of queues is old, but still used", age_s=round(age))

    def age(self) -> float | None:
        """Seconds since the last fetch; None: none has succeeded."""
        return None if self._fetched_at is None else self._clock.monotonic() - self._fetched_at

    def is_ready(self) -> bool:
        """Whether scheduling may start."""
        return self._fetched_at is not None or self.waits_until() <= self._clock.monotonic()

    def waits_until(self) -> float:
        """When scheduling starts without it, in the clock's monotonic seconds."""
        return self._began + self._db.wait
