"""A service: the roles of one process, from its watches to its writes.

    service = Service(client, Options(roles=("scheduler",)), Log(), Metrics())
    await service.run(stop)

The event loop reads watches into the feed, sends writes and receives the answers; one worker thread
plans (kai.controllers.planning.planner). A turn of the worker starts when something has changed, at
most every `min_period`, and at least every `max_period` or at the time at which the last plan would
change by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import kai
from kai.api.writes import Lane, Outcome, Write
from kai.controllers.grouper import Decided, Reference
from kai.controllers.grouper.decisions import WARNING
from kai.controllers.planning.core import make_core, not_used, read_config
from kai.controllers.planning.kinds import watched_by
from kai.controllers.planning.planner import Planner
from kai.controllers.planning.turns import Inputs, Turn
from kai.controllers.unshown import Accepted
from kai.controllers.verdicts import Event
from kai.k8s.events import About, Events
from kai.k8s.leases import LeaderElection, Times
from kai.k8s.writing import Writer
from kai.live.reading import Reading
from kai.live.snapshots import archive, objects_of
from kai.live.usage_db import usage_db_of
from kai.service.carrying_out import CarryingOut
from kai.service.collecting import Collecting
from kai.service.comparing import Comparing, Lost
from kai.service.explaining.questions import Questions
from kai.service.life import Life, why_unready
from kai.service.log import Log
from kai.service.measuring import Measuring, queue_sink
from kai.service.metrics import Metrics
from kai.service.options import Options
from kai.service.owners import Owners
from kai.service.refusals import Refusals
from kai.service.reports import Reports
from kai.service.timekeeping import TimeKeeping
from kai.service.usage_fetching import UsageFetching

if TYPE_CHECKING:
    from kai import _core
    from kai.engine.usage import Rows
    from kai.k8s.client import Client

FINISH_WITHIN_S = 5.0
"""Time for bindings and evictions that were decided before SIGTERM."""
FLUSH_WITHIN_S = 3.0
"""Time for their conditions and events after that."""
LAG_EVERY_S = 0.25
IDLE_AFTER_S = 1.0
"""After this time without work the service is idle, and may collect garbage."""
SNAPSHOT_TRIES = 3

LISTED_ANEW = ("Pod", "BindRequest", "ResourceClaim")
"""Kinds whose recent changes by the previous leader a new leader must know."""


class Service:
    """Runs until `stop` is set. Lives on the event loop that created it."""

    def __init__(
        self, client: Client, options: Options, log: Log, metrics: Metrics | None = None
    ) -> None:
        self._client, self._options, self._log = client, options, log
        self._reports = Reports(log, client.clock)
        self._refusals = Refusals(log, client.clock.monotonic)
        labels = options.queue_metric_labels()
        self.metrics = metrics or Metrics(
            options.metrics_namespace, options.roles, (each[1] for each in labels)
        )
        self._clock, self._kinds = client.clock, watched_by(options.roles, not_used(options))
        self._needed = frozenset(self._kinds)
        core = make_core(options)
        self._planner = Planner(core, options, self._nodes_changed)
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kai-plan")
        self._changed = asyncio.Event()
        self._life = Life(self._clock, self._changed)
        self._owners = Owners(self._look_after, self._life.start, self._clock)
        self._acts = CarryingOut(
            *(options, client, self._life, self._reports, self._refusals),
            emit=self._emit,
            changed=self._changed,
            leads=self._leads,
        )
        queues = queue_sink()
        self._reading = Reading(
            *(client, core.feed, options, self._changed.set),
            also={"Queue": [queues], **self._acts.sinks(), **self._planner.sinks()},
        )
        client.versions.on_back.append(self._went_back)
        self._election = self._make_election() if options.leader_elect else None
        # Lists pods again, before planning as the leader
        self._listing: asyncio.Task[Any] | None = None
        self._writer = Writer(
            client,
            workers=options.writers,
            observe=self._observe,
            guard=None if self._election is None else self._election.is_leading,
            timeout=30.0 if self._election is None else self._election.write_timeout,
        )
        self._acts.writes_with(self._writer)
        self._collecting = Collecting()
        self._comparing = self._make_comparing(core.feed)
        self._measuring = Measuring(
            *(self.metrics, self._writer, self._reading, self._acts.pods, self._election),
            *(queues, self._collecting, labels),
        )
        self._usage = self._fetch_usage() if options.has("scheduler") else None
        self._new_usage: Rows | None = None  # not passed to the planning thread yet
        if options.has("scheduler"):
            self._measuring.configured(read_config(options).to_json())
        self.questions = Questions(self._changed.set, self._may_explain)
        self._events = self._make_events()
        self._watching: dict[str, asyncio.Task[Any]] = {}
        self._read_again: list[tuple[Accepted, bytes | None]] = []
        self._synced: frozenset[str] = frozenset()
        self._decisions = 0

    # ---- life ------------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> None:
        """Raises the error of any of its parts: a bug ends the whole process."""
        self._log.info(
            "started",
            version=kai.__version__,
            roles=",".join(self._options.roles),
            server=self._client.access.server,
        )
        for kind in self._kinds:
            self._watch(kind)
        self._life.start(self._measure_lag())
        time_keeping = TimeKeeping(self._client, self._log, self.metrics, self._changed.set)
        self._life.start(time_keeping.run())
        self._life.start(self._owners.run())
        self._life.start(self._reports.run(self._reading.watches, self._election))
        if self._election is not None:
            self._life.start(self._election.run())
        if self._options.compare_period:
            self._life.start(self._comparing.run())
        if self._usage is not None:
            self._life.start(self._usage.run())
        with self._collecting:
            await self._life.until(stop, self._cycles(stop), self._end)

    async def _end(self, cycles: asyncio.Task[Any]) -> None:
        """Stops deciding, carries out the decisions so far, and writes their events."""
        self._changed.set()
        if not self._life.has_failed:
            await asyncio.wait({cycles}, timeout=FINISH_WITHIN_S)
            await self._writer.finish(FINISH_WITHIN_S, Lane.BINDING)
            self._writer.take_back(Lane.BINDING, lambda _: True)
            await self._take_in_the_last_answers()
        left = await self._writer.drain(FLUSH_WITHIN_S, Lane.EVENT)
        self._reports.flush()
        if left:
            self._log.warning("some writes were not finished", writes=left)
        if self._election is not None and (left or self._acts.in_doubt):
            self._election.let_run_out()
        await self._life.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _take_in_the_last_answers(self) -> None:
        loop = asyncio.get_running_loop()
        turn = loop.run_in_executor(self._thread, self._planner.turn, self._inputs(ends=True))
        with contextlib.suppress(asyncio.TimeoutError):
            self._apply(await asyncio.wait_for(turn, FINISH_WITHIN_S))

    def _watch(self, kind: str) -> None:
        self._watching[kind] = self._life.start(self._reading.watch(kind).run())

    def _make_election(self) -> LeaderElection:
        options = self._options
        return LeaderElection(
            self._client,
            options.namespace,
            options.leases(),
            times=Times(options.lease_seconds, options.renew_seconds, options.retry_seconds),
            on_started=self._started_leading,
            on_lost=self._lost_leading,
        )

    def _make_events(self) -> dict[str, Events]:
        """By the component that they name."""
        components = (self._options.scheduler_name, "binder", "pod-grouper")
        clock, wall = self._clock, self._client.server_time
        return {each: Events(self._writer, each, clock=clock, wall=wall) for each in components}

    def _make_comparing(self, feed: _core.Feed) -> Comparing:
        for kind in self._kinds:
            self.metrics.lost_events.add(kind, by=0)
        return Comparing(
            self._client,
            feed,
            self._thread,
            period=self._options.compare_period,
            kinds=self._kinds,
            may_compare=self._may_act,
            list_anew=lambda kind: self._list_anew([kind]),
            lost=self._lost_events,
        )

    def _fetch_usage(self) -> UsageFetching | None:
        """Raises InvalidConfigError for a database that cannot be used."""
        db = usage_db_of(self._options)
        if db is None:
            return None
        times = self._clock, self._client.server_time
        usage = UsageFetching(db, *times, self._log, self.metrics, self._take_usage)
        self._measuring.uses(usage.age)
        return usage

    def _take_usage(self, rows: Rows) -> None:
        self._new_usage = rows
        self._measuring.used(rows)
        self._changed.set()

    def _started_leading(self) -> None:
        """Another leader may have bound pods, and assigned devices to them, until a moment ago:
        they are listed again first."""
        self._log.info("leading", leases=",".join(self._options.leases()))
        self._acts.lead_again()
        for each in self._events.values():
            each.lead_again()
        self._list_before_planning(LISTED_ANEW)

    def _went_back(self, key: str, known: int, now: int) -> None:
        """The server has forgotten changes: everything is listed again before the next plan."""
        self.metrics.versions_back.add()
        why = "its etcd was restored from a backup, or the address leads to another cluster"
        message = "the versions of the API server went back; everything is listed again"
        self._log.error(message, of=key, known=known, now=now, why=why)
        self._list_before_planning(self._kinds)

    def _list_before_planning(self, kinds: Iterable[str]) -> None:
        if self._listing is not None:
            self._listing.cancel()
        self._listing = self._life.start(self._list_and_go_on(kinds))

    async def _list_and_go_on(self, kinds: Iterable[str]) -> None:
        await self._list_anew([kind for kind in kinds if kind in self._watching])
        self._listing = None
        self._changed.set()

    async def _list_anew(self, kinds: Sequence[str]) -> None:
        """Returns when all of them are listed."""
        for kind in kinds:
            self._watching[kind].cancel()
        tasks = (self._watching[kind] for kind in kinds)
        await asyncio.gather(*tasks, return_exceptions=True)
        for kind in kinds:
            self._watch(kind)
        while not all(self._reading.watches[kind].synced for kind in kinds):
            await self._clock.sleep(0.02)

    def _lost_events(self, lost: Lost) -> None:
        self.metrics.lost_events.add(lost.kind, by=lost.events)
        self._log.error(
            "a watch has lost events; its kind was listed again",
            kind=lost.kind,
            shown=lost.shown,
            there=lost.there,
            came=lost.added,
            went=lost.gone,
            changed=lost.changed,
            names=", ".join(lost.names),
        )

    def _lost_leading(self) -> None:
        assert self._election is not None
        self._reports.lost(self._election.problem)
        self._acts.lead_again()  # what waits for devices or volumes would learn it from no answer

    def _may_plan(self) -> bool:
        return self._listing is None and self._leads()

    def _leads(self) -> bool:
        return self._election is None or self._election.is_leading()

    def _may_act(self) -> bool:
        """Whether it may plan, and has read all that it needs."""
        return self._may_plan() and self._synced >= self._needed

    def _may_explain(self) -> bool:
        return self._options.has("scheduler") and self._may_act()

    def _term(self) -> int:
        return 0 if self._election is None else self._election.transitions

    def why_unhealthy(self) -> str:
        return self._life.why_unhealthy()

    def why_unready(self) -> str:
        return why_unready(self._needed, self._synced)

    async def snapshot(self) -> bytes:
        """A snapshot.zip of its input; `kai plan` of it gives the decisions of the next cycle.

        Objects are listed again, because they are not stored. The memory is read before them, so
        that changes in between appear twice rather than not at all; if decisions are made meanwhile
        it tries again. Raises RefusedError and UnreachableError.
        """
        loop = asyncio.get_running_loop()
        for _ in range(SNAPSHOT_TRIES):
            decisions = self._decisions
            state = await loop.run_in_executor(self._thread, self._planner.state)
            now_ns = int(self._client.server_time() * 1e3) * 10**6
            listed = await asyncio.to_thread(objects_of, self._client.access, self._options)
            if decisions == self._decisions:
                break
        return await asyncio.to_thread(archive, listed, self._options, state, now_ns)

    # ---- cycles ----------------------------------------------------------------------------------

    async def _cycles(self, stop: asyncio.Event) -> None:
        wake_at = None
        while not stop.is_set():
            await self._wait_for_changes(wake_at)
            if stop.is_set() or self._life.has_failed:
                return
            self._changed.clear()
            term = self._term()
            inputs = self._inputs()
            turn = await self._life.turn(self._thread, self._planner.turn, inputs)
            if term != self._term() or stop.is_set():
                self._acts.not_begun(turn)
            self._apply(turn)
            wake_at = None
            if turn.wake_ns is not None:
                wake_at = self._clock.monotonic() + max(0.0, (turn.wake_ns - inputs.now_ns) / 1e9)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(stop.wait(), self._options.min_period)

    async def _wait_for_changes(self, wake_at: float | None) -> None:
        now = self._clock.monotonic()
        ends = now + self._options.max_period
        moments = [self._acts.next_tick()]
        if self._usage is not None and not self._usage.is_ready():
            moments.append(self._usage.waits_until())
        for moment in (wake_at, *moments):
            if moment is not None:
                ends = min(ends, moment)
        if ends - now > 2 * IDLE_AFTER_S:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait(), IDLE_AFTER_S)
                return
            self._collecting.is_idle(self._clock.monotonic())
        with contextlib.suppress(asyncio.TimeoutError):
            left = max(0.0, ends - self._clock.monotonic())
            await asyncio.wait_for(self._changed.wait(), left)

    def _inputs(self, *, ends: bool = False) -> Inputs:
        inputs = Inputs(
            *self._client.moment(),
            plans=self._may_plan() and (self._usage is None or self._usage.is_ready()),
            ends=ends,
            read=tuple(self._read_again),
            owners=self._reading.take_owners(),
            rules=self._reading.take_rules(),
            serves_claims=self._reading.serves_claims,
            usage=self._new_usage,
            questions=() if ends else self.questions.take(),
            **self._acts.take(may_act=self._may_act()),
        )
        self._new_usage = None
        self._read_again.clear()
        return inputs

    def _apply(self, turn: Turn) -> None:
        now = self._clock.monotonic()
        self.questions.told(turn.told)
        if turn.synced >= self._needed and not self._synced >= self._needed:
            self._collecting.read_all(now)
            self._log.info("ready")
        self._synced = turn.synced
        self._acts.pods_gone(turn)
        self._comparing.turned(turn)
        for accepted in turn.unshown:
            self._life.start(self._look_for(accepted))
        self._take(turn.grouped)
        self._acts.turned(turn, may_act=self._may_act())
        for event in turn.events:
            self._emit(event)
        self._decisions += len(turn.bindings) + len(turn.removals)
        self._measuring.turned(turn)
        self._reports.turned(turn)

    def _take(self, decided: Decided) -> None:
        self._owners.forget(decided.not_needed)
        self._owners.need(decided.needs)
        self._owners.look_again(decided.joined)
        self._acts.group(decided)
        for problem in decided.problems:
            namespace, _, name = problem.pod.partition("/")
            about = About("Pod", namespace, name, problem.uid)
            self._events["pod-grouper"].emit(about, "Warning", WARNING, problem.message)

    async def _look_after(self, reference: Reference) -> bool | None:
        is_there, why = await self._reading.look_after(reference)
        if why:
            name = f"{reference.namespace}/{reference.name}"
            self._reports.not_read(reference.kind, name, why)
        else:
            self._reports.read(reference.kind, reference.namespace)
        return is_there

    # ---- writes ----------------------------------------------------------------------------------

    def _nodes_changed(self, nodes: Sequence[str]) -> None:
        """Called on the planning thread."""
        with contextlib.suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._acts.hold, frozenset(nodes))

    def _emit(self, event: Event) -> None:
        about = About(event.kind, event.namespace, event.name, event.uid)
        component = event.component or self._options.scheduler_name
        self._events[component].emit(
            about, event.type, event.reason, event.message, event.annotations
        )

    async def _look_for(self, accepted: Accepted) -> None:
        """Reads what was accepted, and was not shown by a watch."""
        kind, name = accepted.kind, accepted.name
        namespace, _, own = name.partition("/")
        read = partial(self._client.get, kind, namespace, own)
        self._read_again.append((accepted, await self._acts.find(kind, name, read)))
        self._changed.set()

    def _observe(self, write: Write, outcome: Outcome, waited: float, took: float) -> None:
        self._measuring.wrote(write, outcome, waited, took)
        self._reports.answered(write, outcome, took)
        for event in self._refusals.answered(write, outcome):
            self._emit(event)

    async def _measure_lag(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(LAG_EVERY_S)
            lag = time.perf_counter() - before - LAG_EVERY_S
            self.metrics.loop_lag.observe(max(0.0, lag))
