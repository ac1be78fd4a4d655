"""A shadow: `kai run scheduler --shadow` next to another scheduler. It reads, plans and compares.

    shadow = Shadow(client, options, Log())
    await shadow.run(stop)

It has no writer and no lease, so it cannot write anything. The event loop reads watches, one thread
plans (kai.controllers.shadow.planner), and another one searches for the causes of differences.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import kai
from kai.api import files
from kai.api.naming import naming
from kai.api.times import SECOND_NS, to_text
from kai.controllers.grouper import Reference
from kai.controllers.planning.turns import Inputs
from kai.controllers.shadow import Case, Compared, Tally
from kai.controllers.shadow.planner import ShadowPlanner, ShadowTurn
from kai.errors import RefusedError, UnreachableError
from kai.live.reading import Reading
from kai.live.usage_db import usage_db_of
from kai.service.life import Life, why_unready
from kai.service.log import Log
from kai.service.measuring import set_watches
from kai.service.metrics import Metrics
from kai.service.options import Options
from kai.service.owners import Owners
from kai.service.reports import Reports
from kai.service.shadow.page import html
from kai.service.timekeeping import TimeKeeping
from kai.service.usage_fetching import UsageFetching

if TYPE_CHECKING:
    from kai.engine.usage import Rows
    from kai.k8s.client import Client

SUMMARY_EVERY_S = 60.0
RIGHTS = "bind the ClusterRole that kai install --reader prints"
FINISH_WITHIN_S = 5.0
"""Time for searching causes after SIGTERM."""


class Shadow:
    """Runs until `stop` is set. Lives on the event loop that created it."""

    def __init__(
        self, client: Client, options: Options, log: Log, metrics: Metrics | None = None
    ) -> None:
        self._client, self._options, self._log = client, options, log
        self._clock = client.clock
        self.metrics = metrics or Metrics(options.metrics_namespace, ("shadow",))
        self.tally = Tally()
        self._reports = Reports(log, self._clock)
        self._planner = ShadowPlanner(options, patience=options.shadow_patience)
        self._changed = asyncio.Event()
        self._life = Life(self._clock, self._changed)
        self._reading = Reading(
            client, self._planner.feed, options, self._changed.set, also=self._planner.sinks()
        )
        self._owners = Owners(self._look_after, self._life.start, self._clock)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kai-plan")
        self._causes = ThreadPoolExecutor(1, thread_name_prefix="kai-causes")
        self._open: dict[asyncio.Task[Any], Case] = {}  # searches for causes
        self._synced: frozenset[str] = frozenset()
        self._cycle, self._started = 0, ""
        self.metrics.on_page = self._before_a_page
        self._usage: UsageFetching | None = None
        self._new_usage: Rows | None = None  # not passed to the planning thread yet
        if (db := usage_db_of(options)) is not None:
            times = self._clock, client.server_time
            self._usage = UsageFetching(db, *times, log, self.metrics, self._take_usage)

    # ---- life ------------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> None:
        """Raises the error of any of its parts, and InvalidInputError if the report cannot be
        written."""
        self._started = self._now_text()
        self._log.info(
            "started as a shadow, which writes nothing",
            version=kai.__version__,
            server=self._client.access.server,
            scheduler=self._options.scheduler_name,
        )
        self._write_report()  # reports at the start if it cannot be written
        await self._do_without()
        for kind in sorted(self._planner.needed):
            self._life.start(self._reading.watch(kind).run())
        self._life.start(self._owners.run())
        time_keeping = TimeKeeping(self._client, self._log, self.metrics, self._changed.set)
        self._life.start(time_keeping.run())
        self._life.start(self._reports.run(self._reading.watches, None))
        self._life.start(self._summarize())
        if self._usage is not None:
            self._life.start(self._usage.run())
        await self._life.until(stop, self._cycles(stop), self._end)

    async def _do_without(self) -> None:
        """Leaves out kinds that this account may not read, if plans can do without them."""
        with contextlib.suppress(RefusedError, UnreachableError):  # the watches report these
            await self._reading.check()
        self._planner.needed = self._planner.needed - frozenset(self._reading.unread)
        for note in self._reading.notes():
            self._log.warning("some kinds are left out", why=note, fix=RIGHTS)

    async def _end(self, cycles: asyncio.Task[Any]) -> None:
        self._changed.set()
        if not self._life.has_failed:
            await asyncio.wait({cycles}, timeout=FINISH_WITHIN_S)
            if self._open:
                await asyncio.wait(self._open, timeout=FINISH_WITHIN_S)
            self._give_up()
        await self._life.cancel()
        for thread in (self._thread, self._causes):
            thread.shutdown(wait=False, cancel_futures=True)
        self._log_summary()
        self._write_report()

    def _give_up(self) -> None:
        """Differences without a cause in time stay unexplained."""
        for case in self._open.values():
            self._count(replace(case.compared, cause="unknown"))
        if self._open:
            self._log.warning("some causes were not found in time", differences=len(self._open))

    def _take_usage(self, rows: Rows) -> None:
        self._new_usage = rows
        self._changed.set()

    def why_unhealthy(self) -> str:
        return self._life.why_unhealthy()

    def why_unready(self) -> str:
        return why_unready(self._planner.needed, self._synced)

    # ---- cycles ----------------------------------------------------------------------------------

    async def _cycles(self, stop: asyncio.Event) -> None:
        wait = 0.0
        while not stop.is_set():
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait(), wait)
            if stop.is_set() or self._life.has_failed:
                return
            self._changed.clear()
            inputs = Inputs(
                *self._client.moment(),
                owners=self._reading.take_owners(),
                rules=self._reading.take_rules(),
                usage=self._new_usage,
            )
            self._new_usage = None
            turn = await self._life.turn(self._thread, self._planner.turn, inputs)
            self._apply(turn)
            wait = self._options.max_period
            if turn.wake_ns is not None:
                wait = min(wait, max(0.0, (turn.wake_ns - inputs.now_ns) / SECOND_NS))
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(stop.wait(), self._options.min_period)

    def _apply(self, turn: ShadowTurn) -> None:
        if turn.synced >= self._planner.needed and self.why_unready():
            self._log.info("ready")
        self._synced = turn.synced
        self._owners.forget(turn.grouped.not_needed)
        self._owners.need(turn.grouped.needs)
        self._owners.look_again(turn.grouped.joined)
        if turn.planned:
            self._cycle = turn.cycle
            self.metrics.shadow_cycle_s.observe(turn.took_ms / 1000)
            self._log.debug(
                "planned",
                cycle=turn.cycle,
                binds=turn.bound,
                evicts=turn.evicted,
                compared=len(turn.cases),
                ms=round(turn.took_ms, 2),
            )
        for case in turn.cases:
            if case.compared.is_same:
                self._count(case.compared)
            else:
                search = self._life.start(self._explain(case))
                self._open[search] = case
                search.add_done_callback(lambda task: self._open.pop(task, None))

    async def _explain(self, case: Case) -> None:
        explain = self._planner.explained
        self._count(await asyncio.get_running_loop().run_in_executor(self._causes, explain, case))

    def _count(self, compared: Compared) -> None:
        self.tally.add(compared)
        self.metrics.shadowed.add(compared.subject, compared.outcome, compared.cause)
        for switch in compared.switches:
            self.metrics.shadow_switches.add(switch)
        if not compared.is_same:
            self._log.debug("a decision differs", **compared.to_dict())

    async def _look_after(self, reference: Reference) -> bool | None:
        is_there, why = await self._reading.look_after(reference)
        if why:
            name = f"{reference.namespace}/{reference.name}"
            self._reports.not_read(reference.kind, name, why)
        return is_there

    # ---- what comes of it ------------------------------------------------------------------------

    async def _summarize(self) -> None:
        while True:
            await self._clock.sleep(SUMMARY_EVERY_S)
            self._log_summary()

    def _log_summary(self) -> None:
        tally = self.tally
        share = tally.share()
        self._log.info(
            "compared with " + self._options.scheduler_name,
            cycle=self._cycle,
            decisions=tally.compared,
            same=tally.same,
            percent="-" if share is None else f"{share * 100:.1f}",
            unexplained=tally.unexplained,
        )

    def _before_a_page(self) -> Any:
        share = self.tally.share()
        if share is not None:
            self.metrics.shadow_share.set(share)
        self.metrics.shadow_open.set(len(self._open))
        set_watches(self.metrics, self._reading)
        return lambda: None

    def _now_text(self) -> str:
        return to_text(int(self._client.server_time()) * SECOND_NS)

    def report(self) -> dict[str, Any]:
        return {
            "version": kai.__version__,
            "server": self._client.access.server,
            "scheduler": self._options.scheduler_name,
            "as_kai": self._options.as_kai,
            "started": self._started,
            "until": self._now_text(),
            "cycles": self._cycle,
            "open": len(self._open),
            **self.tally.to_dict(),
        }

    def pages(self) -> dict[str, tuple[str, Any]]:
        """By path, the content type, and a function that returns the page."""
        return {
            "/shadow": ("text/html", lambda: html(self.report())),
            "/shadow.json": ("application/json", lambda: json.dumps(self.report(), indent=1)),
        }

    def _write_report(self) -> None:
        """A page for a name that ends in .html, otherwise JSON."""
        file = self._options.shadow_report
        if not file:
            return
        report = self.report()
        text = html(report) if file.endswith(".html") else json.dumps(report, indent=1)
        with naming(f"--shadow-report: {file}"):
            files.write(file, text.encode())
