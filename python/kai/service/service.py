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
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import kai
from kai.api.writes import Lane, Outcome, Read, Result, Write
from kai.controllers.bind_requests import Request
from kai.controllers.binding import WAIT_BEFORE_WRITING_S, Binder
from kai.controllers.bindings import Binding, Steps
from kai.controllers.claims import ClaimGiver
from kai.controllers.grouper import Decided, Reference
from kai.controllers.grouper.decisions import WARNING
from kai.controllers.planning.core import make_core, not_used, read_config
from kai.controllers.planning.kinds import watched_by
from kai.controllers.planning.lines import Line
from kai.controllers.planning.planner import Planner
from kai.controllers.planning.turns import Inputs, Turn
from kai.controllers.preparing import Giver, Preparing
from kai.controllers.unshown import Accepted
from kai.controllers.verdicts import Event
from kai.controllers.volumes import Volume, VolumeGiver, volume_of
from kai.errors import KaiError
from kai.k8s.answers import denial
from kai.k8s.client import USED
from kai.k8s.events import About, Events
from kai.k8s.leases import LeaderElection, Times
from kai.k8s.sinks import DictSink
from kai.k8s.writing import Writer
from kai.live.reading import Reading
from kai.live.snapshots import archive, objects_of
from kai.live.usage_db import usage_db_of
from kai.service.bind_requests import BindRequests
from kai.service.collecting import Collecting
from kai.service.comparing import Comparing, Lost
from kai.service.life import Life, why_unready
from kai.service.log import Log
from kai.service.measuring import Measuring, queue_sink
from kai.service.metrics import Metrics
from kai.service.options import Options
from kai.service.owners import Owners
from kai.service.refusals import Refusals
from kai.service.reports import Reports
from kai.service.sharing import Sharing
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

_FOR_THE_PLANNER = ("bound", "failed", "refused", "stuck", "evicted", "spared")  # of Steps
LISTED_ANEW = ("Pod", "BindRequest", "ResourceClaim")
"""Kinds whose recent changes by the previous leader a new leader must know."""

Found = TypeVar("Found")


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
        self._sharing = Sharing(options, copies_labels=client.copies_labels)
        volumes = DictSink(keep=volume_of)
        self._volume_giver = VolumeGiver(lambda: known(volumes), options.volume_seconds)
        givers: list[Giver] = [self._volume_giver, ClaimGiver(), *self._sharing.givers]
        self._preparing = Preparing(givers)
        self._binder = Binder(
            by=options.binding,
            copies_labels=client.copies_labels,
            eviction=options.eviction,
            # Without a scheduler in this process, a pod is grouped in the cluster at once.
            wait=WAIT_BEFORE_WRITING_S if options.has("scheduler") else 0.0,
            pool_key=options.node_pool_key,
            pool=options.node_pool,
            preparing=self._preparing,
        )
        self._requests = BindRequests(
            *(options, self._binder, client, self._preparing, self._do, self._send),
            on_change=self._request_changed,
        )
        queues = queue_sink()
        self._reading = Reading(
            *(client, core.feed, options, self._changed.set),
            also={
                **{"Queue": [queues], "PersistentVolume": [volumes]},
                "PersistentVolumeClaim": [DictSink(self._storage_claim_changed, keep=version_of)],
                **{**self._requests.sinks(), **self._planner.sinks()},
            },
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
        self._collecting = Collecting()
        self._comparing = self._make_comparing(core.feed)
        self._measuring = Measuring(
            *(self.metrics, self._writer, self._reading, self._binder, self._election),
            *(queues, self._collecting, labels),
        )
        self._usage = self._fetch_usage() if options.has("scheduler") else None
        self._new_usage: Rows | None = None  # not passed to the planning thread yet
        if options.has("scheduler"):
            self._measuring.configured(read_config(options).to_json())
        self._events = self._make_events()
        self._watching: dict[str, asyncio.Task[Any]] = {}
        self._forgotten: list[int] = []
        self._looked_at: list[bytes] = []
        self._read_again: list[tuple[Accepted, bytes | None]] = []
        self._to_check: list[Binding] = []
        self._answers: list[tuple[Write, Outcome]] = []
        self._steps = Steps()  # for the planning thread
        self._bound_at: list[float] = []  # of the bindings in it
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
        in_doubt = self._binder.in_doubt + self._requests.in_doubt
        if self._election is not None and (left or in_doubt):
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
            list_anew=self._list_one_anew,
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

    async def _list_one_anew(self, kind: str) -> None:
        await self._list_anew([kind])

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

    def _may_plan(self) -> bool:
        if self._listing is not None:
            return False
        return self._election is None or self._election.is_leading()

    def _may_act(self) -> bool:
        """Whether it may plan, and has read all that it needs."""
        return self._may_plan() and self._synced >= self._needed

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
                self._take_back(turn)
            self._apply(turn)
            wake_at = None
            if turn.wake_ns is not None:
                wake_at = self._clock.monotonic() + max(0.0, (turn.wake_ns - inputs.now_ns) / 1e9)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(stop.wait(), self._options.min_period)

    async def _wait_for_changes(self, wake_at: float | None) -> None:
        now = self._clock.monotonic()
        ends = now + self._options.max_period
        moments = [each.next_tick() for each in (self._binder, self._requests, self._preparing)]
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
            forgotten=tuple(self._forgotten),
            looked_at=tuple(self._looked_at),
            read=tuple(self._read_again),
            owners=self._reading.take_owners(),
            rules=self._reading.take_rules(),
            serves_claims=self._reading.serves_claims,
            answers=tuple(self._answers),
            to_check=tuple(self._to_check),
            requests=tuple(self._requests.take() if self._may_act() else ()),
            bound=self._steps.bound,
            bound_at=tuple(self._bound_at),
            failed=self._steps.failed,
            refused=self._steps.refused,
            stuck=self._steps.stuck,
            evicted=self._steps.evicted,
            spared=self._steps.spared,
            usage=self._new_usage,
            held_back=self._binder.held_back(),
        )
        self._new_usage = None
        self._steps = Steps()
        self._bound_at.clear()
        self._answers.clear()
        self._forgotten.clear()
        self._looked_at.clear()
        self._read_again.clear()
        self._to_check.clear()
        return inputs

    def _take_back(self, turn: Turn) -> None:
        """Nothing of it was sent: another process may have led since, or this one ends."""
        self._forgotten += [each.assumption for each in turn.bindings]
        self._forgotten += [each.assumption for each in turn.removals]
        turn.bindings.clear()
        turn.removals.clear()

    def _apply(self, turn: Turn) -> None:
        now = self._clock.monotonic()
        if turn.synced >= self._needed and not self._synced >= self._needed:
            self._collecting.read_all(now)
            self._log.info("ready")
        self._synced = turn.synced
        for kind, name, uid in turn.gone:
            if kind == "Pod":
                self._binder.pod_gone(name, uid)
        self._comparing.turned(turn)
        for accepted in turn.unshown:
            self._life.start(self._look_for(accepted))
        self._take(now, turn.grouped)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._client.server_time()))
        self._do(self._binder.checked(now, stamp, turn.to_check, turn.broken))
        self._do(self._binder.begin(now, stamp, turn.bindings, turn.removals))
        self._do(self._binder.tick(now))
        if self._requests.turned(now, turn):
            self._changed.set()
        self._sharing.turned(now, turn, self._preparing, acts=self._may_act())
        self._preparing.tick(now)
        self._prepare()
        for write in turn.writes:
            self._do(self._binder.with_name(now, write))
        for event in turn.events:
            self._emit(event)
        self._decisions += len(turn.bindings) + len(turn.removals)
        self._measuring.turned(turn)
        self._reports.turned(turn)

    def _take(self, now: float, decided: Decided) -> None:
        self._owners.forget(decided.not_needed)
        self._owners.need(decided.needs)
        self._owners.look_again(decided.joined)
        for name in decided.withdrawn:
            self._binder.withdraw(name)
        assigned = {f"{each.pod.partition('/')[0]}/{each.group}" for each in decided.assignments}
        for change in decided.groups:
            if change.patch is None or self._binder.is_planned(change.name):
                self._binder.add_group(change)
                if change.patch is None and change.name not in assigned:
                    self._binder.create(change.name)
            else:
                self._writer.put(change.write(), self._answered)
        for assignment in decided.assignments:
            self._binder.assign(now, assignment)
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

    def _do(self, steps: Steps) -> None:
        for write in steps.writes:
            self._writer.put(write, self._answered)
        for binding, kind in steps.look:
            self._life.start(self._look(binding, kind))
        for event in steps.events:
            self._emit(event)
        if steps.to_check:
            self._to_check += steps.to_check
            self._changed.set()
        if steps.forget:
            self._forgotten += steps.forget
            self._changed.set()
        if any(getattr(steps, name) for name in _FOR_THE_PLANNER):
            self._bound_at += [self._client.server_time()] * len(steps.bound)
            self._reports.placed(bound=len(steps.bound), evicted=len(steps.evicted))
            for name in _FOR_THE_PLANNER:
                getattr(self._steps, name).extend(getattr(steps, name))
            self._changed.set()
        for binding, why in steps.failed:
            self._reports.not_bound(binding, why)
        self._log_problems(steps.problems)

    def _log_problems(self, problems: Sequence[str]) -> None:
        message = "a decision was not carried out"
        self._reports.lines(Line("warning", message, {"why": each}) for each in problems)

    def _send(self, steps: Steps) -> None:
        """The steps of the binder role; the scheduler role sees them in the BindRequests."""
        for write in steps.writes:
            self._writer.put(write, self._answered)
        for binding, kind in steps.look:
            self._life.start(self._look(binding, kind))
        for event in steps.events:
            self._emit(event)
        for binding, why in steps.failed:
            self._reports.not_bound(binding, why)

    def _nodes_changed(self, nodes: Sequence[str]) -> None:
        """Called on the planning thread."""
        with contextlib.suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._hold, frozenset(nodes))

    def _hold(self, nodes: frozenset[str]) -> None:
        """Unsent bindings to these nodes wait until the next turn has checked them."""

        def goes_there(write: Write) -> bool:
            return isinstance(write.about, Binding) and write.about.node in nodes

        unsent = self._writer.take_back(Lane.BINDING, goes_there)
        decided = [each for each in unsent if not each.about.request]
        self._do(self._binder.hold(nodes, decided))
        self._preparing.hold(nodes)
        self._requests.hold((each.about for each in unsent), nodes)

    def _emit(self, event: Event) -> None:
        about = About(event.kind, event.namespace, event.name, event.uid)
        component = event.component or self._options.scheduler_name
        self._events[component].emit(
            about, event.type, event.reason, event.message, event.annotations
        )

    def _answered(self, write: Write, outcome: Outcome) -> None:
        seconds = 0.0
        if outcome.refusal is not None:
            seconds = self._refusals.wait(write)
        elif (missing := denial(outcome.message)) is not None and outcome.result is Result.FAILED:
            seconds = self._reports.rights.wait(missing)
        if seconds:
            self._life.start(self._later(seconds, write, outcome))
        else:
            self._take_answer(write, outcome)

    async def _later(self, seconds: float, write: Write, outcome: Outcome) -> None:
        """The answer to a write that was not allowed: delayed until the next try."""
        await self._clock.sleep(seconds)
        self._take_answer(write, outcome)

    def _take_answer(self, write: Write, outcome: Outcome) -> None:
        self._answers.append((write, outcome))
        if outcome.result is not Result.DONE and outcome.result is not Result.REPLACED:
            self._changed.set()
        if write.kind in USED and outcome.result is Result.DONE and outcome.body:
            # The read may show the pod on its node before the watch does, with what it got there.
            self._looked_at.append(outcome.body)
        now = self._clock.monotonic()
        self._do(self._binder.answered(now, write, outcome))
        self._requests.answered(now, write, outcome)
        self._preparing.answered(now, write, outcome)
        self._prepare()

    def _request_changed(self, name: str, request: Request | None) -> None:
        self._sharing.request_changed(self._clock.monotonic(), name, request, self._preparing)
        self._prepare()

    def _prepare(self) -> None:
        """Continues the preparation of pods before their binding."""
        while True:
            now, prepared = self._clock.monotonic(), self._preparing.take()
            for write in prepared.writes:
                self._writer.put(write, self._answered)
            for read in prepared.reads:
                self._life.start(self._read(read))
            self._log_problems(prepared.problems)
            if not prepared.has_bindings:
                return
            self._do(self._binder.prepared(now, prepared))
            if self._requests.prepared(now, prepared):
                self._changed.set()

    async def _read(self, read: Read) -> None:
        """Carries out a read for `Preparing`."""
        name = f"{read.namespace}/{read.name or read.selector}"
        found = await self._find(read.kind, name, partial(self._client.find, read))
        self._preparing.read(self._clock.monotonic(), read, found)
        self._prepare()

    def _storage_claim_changed(self, kind: str, before: Any, after: Any) -> None:
        """A pod may wait for this claim before it is bound."""
        key = (after or before)[0]
        self._volume_giver.changed(self._clock.monotonic(), *key)

    async def _look(self, binding: Binding, kind: str) -> None:
        """Reads the object of a binding: its pod, its node, or its BindRequest."""
        namespace, _, name = binding.pod.partition("/")
        if kind == "Node":
            namespace, name = "", binding.node
        known = f"{namespace}/{name}".lstrip("/")
        data = await self._find(kind, known, lambda: self._client.get(kind, namespace, name))
        now = self._clock.monotonic()
        found = None if data is None else json.loads(data)
        if binding.request:
            self._requests.seen(now, binding, kind, found)
        else:
            # An unknown pod must arrive through the watch, so that it is grouped.
            is_known = found is not None and found["metadata"]["uid"] == binding.uid
            if data is not None and (kind != "Pod" or is_known):
                self._looked_at.append(data)
            self._do(self._binder.seen(now, binding, found))
        self._changed.set()

    async def _look_for(self, accepted: Accepted) -> None:
        """Reads what was accepted, and was not shown by a watch."""
        kind, name = accepted.kind, accepted.name
        namespace, _, own = name.partition("/")
        read = partial(self._client.get, kind, namespace, own)
        self._read_again.append((accepted, await self._find(kind, name, read)))
        self._changed.set()

    async def _find(self, kind: str, name: str, find: Callable[[], Awaitable[Found]]) -> Found:
        """The result of a read; a failed one is repeated and logged."""
        while True:
            try:
                found = await find()
                break
            except KaiError as error:
                self._reports.not_read(kind, name, str(error))
                await self._clock.sleep(1.0)
        self._reports.read(kind, name.rpartition("/")[0])
        return found

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


def version_of(manifest: Mapping[str, Any]) -> tuple[tuple[str, str], str]:
    """Namespace and name, and version."""
    metadata = manifest["metadata"]
    name = (metadata.get("namespace", ""), metadata["name"])
    return name, metadata.get("resourceVersion", "")


def known(volumes: DictSink) -> list[Volume]:
    """The volumes that claims can get."""
    return [each for each in volumes.objects.values() if each is not None]
