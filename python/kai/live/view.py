"""Reads and plans a cluster, and never writes to it.

    async with await Client.connect(context="staging") as client:
        view = View(client, options)
        await view.list_once()                 # or follow(): from now on
        plan = await view.plan(kai.Scheduler())

Pods that name no pod group are grouped in memory as `kai run` groups them, so its plans equal those
of `kai run`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from kai.api.times import SECOND_NS, to_datetime
from kai.controllers.grouper import Reference
from kai.controllers.planning.core import make_core
from kai.controllers.planning.kinds import WATCHED
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.planner import Planner
from kai.controllers.planning.turns import Inputs, State, Turn
from kai.engine import text
from kai.engine.cluster import Cluster
from kai.errors import KaiError, RefusedError
from kai.k8s.sinks import DictSink, Sink
from kai.live.elsewhere import WaitingElsewhere
from kai.live.reading import Reading, missing_rights
from kai.live.usage_db import usage_db_of
from kai.live.usage_fetching import UsageReading

if TYPE_CHECKING:
    from kai.engine.plan import Plan
    from kai.engine.scheduler import Scheduler
    from kai.k8s.client import Client

BETWEEN_TURNS_S = 0.1
PATIENCE_S = 10.0
"""How long a watch may have a problem until following the cluster fails."""
NOTHING = '{"version": 1}'
"""A memory without assumptions and promises: plans of a view are not carried out."""

Result = TypeVar("Result")


class View:
    """Lives on one event loop; `also` as for `Reading`. Ends with `close`."""

    def __init__(
        self,
        client: Client,
        options: PlanningOptions,
        *,
        also: Mapping[str, Sequence[Sink]] | None = None,
    ) -> None:
        db = usage_db_of(options)
        self._usage = None if db is None else UsageReading(db, client.clock)
        options = options.for_roles("pod-grouper")
        core = make_core(options)
        self._client, self._core = client, core
        self._planner = Planner(core, options, only_new=True)
        self._changed = asyncio.Event()
        self._nodes = DictSink(keep=_labels)
        sinks = {kind: [*each] for kind, each in (also or {}).items()}
        sinks.setdefault("Node", []).append(self._nodes)
        self._elsewhere = WaitingElsewhere(options.scheduler_name)
        sinks.setdefault("Pod", []).append(self._elsewhere)
        self._reading = Reading(client, core.feed, options, self._changed.set, also=sinks)
        self._cluster = Cluster._live(core.cluster, name=name_of(client), objects=self._objects)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kai-view")
        self._turns = asyncio.Lock()
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._keeping_up: asyncio.Task[None] | None = None
        self._looking: set[asyncio.Task[None]] = set()
        self._unread: dict[str, dict[str, str]] = defaultdict(dict)  # by kind and name: the cause
        self._problems: dict[str, str] = {}  # of pods
        # Of groups that exist only in the plan
        self._members: dict[str, set[str]] = defaultdict(set)
        self._group_of: dict[str, str] = {}

    # ---- reading ---------------------------------------------------------------------------------

    async def list_once(self) -> None:
        """Reads the current objects. Raises the errors of `Reading.list_once`."""
        listing = asyncio.ensure_future(self._reading.list_once())
        while not listing.done():  # processed meanwhile: the waiting input is limited
            changed = asyncio.ensure_future(self._changed.wait())
            await asyncio.wait({listing, changed}, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            await self._turn()
        await listing
        await self._settle()
        await self._read_usage()

    async def follow(self) -> None:
        """Reads the cluster from now on, and returns once everything was read.

        Raises RefusedError and UnreachableError if that is not possible.
        """
        await self._reading.check()
        self._keeping_up = asyncio.ensure_future(self._keep_up())
        await self.refresh()

    async def refresh(self) -> None:
        """Reads everything again, and returns once everything was read.

        Raises RefusedError if some necessary kind cannot be watched.
        """
        for kind in WATCHED:
            if kind in self._watching:
                self._watching[kind].cancel()
            if kind in self._reading.unread:
                continue
            self._watching[kind] = asyncio.ensure_future(self._reading.watch(kind).run())
        clock = self._client.clock
        gives_up = clock.monotonic() + PATIENCE_S
        while missing := [each for each in self._reading.watches.values() if not each.synced]:
            self._check_on()
            for watch in missing:
                if watch.problem and self._reading.do_without(watch.kind):
                    self._watching.pop(watch.kind).cancel()
            problems = [each.problem for each in missing if each.problem]
            if not problems:
                gives_up = clock.monotonic() + PATIENCE_S
            elif clock.monotonic() > gives_up:
                why = RefusedError(f"{self._client.access.server}: {'; '.join(problems)}")
                raise missing_rights(self._client, problems) or why
            await clock.sleep(0.02)
        async with self._turns:
            await self._settle()

    async def close(self) -> None:
        tasks = [*self._watching.values(), *self._looking]
        tasks += [self._keeping_up] if self._keeping_up is not None else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._thread.shutdown(wait=False)

    # ---- planning --------------------------------------------------------------------------------

    async def plan(self, scheduler: Scheduler, now: datetime | str | None = None) -> Plan:
        """A plan of the current cluster. Raises the errors of `Scheduler.plan`."""

        def make(cluster: Cluster) -> Plan:
            scheduler.import_memory(cluster, NOTHING)
            return scheduler.plan(cluster, now=now or self.now())

        async with self._turns:
            self._check_on()
            await self._settle()
            await self._read_usage()
            cluster = self.cluster()
            return await self._run(lambda: make(cluster))

    def cluster(self) -> Cluster:
        """The cluster that is planned; its only objects are the names and labels of nodes."""
        self._cluster._reader_warnings = tuple(self._warnings())
        self._cluster._elsewhere = self._elsewhere.found()
        return self._cluster

    def summary(self) -> str:
        """The name and the numbers of objects; for any thread."""
        return f"{self._cluster.name}: {self._cluster.summary()}"

    async def state(self) -> State:
        """The pods and groups that are grouped only in memory."""
        state = await self._run(self._planner.state)
        groups = {name: each for name, each in state.groups.items() if self._members.get(name)}
        return replace(state, groups=groups)

    def unread(self) -> tuple[frozenset[str], list[str]]:
        """The kinds that this user may not read, and sentences about them."""
        return frozenset(self._reading.unread), self._reading.notes()

    def now(self) -> datetime:
        """By the server's clock, in whole seconds like all time stamps of KAI."""
        return to_datetime(int(self._client.server_time()) * SECOND_NS)

    # ---- inside ----------------------------------------------------------------------------------

    async def _keep_up(self) -> None:
        while True:
            await self._changed.wait()
            async with self._turns:
                await self._turn()
            await asyncio.sleep(BETWEEN_TURNS_S)

    def _check_on(self) -> None:
        """Raises the error that ended a task that should never end."""
        tasks = [*self._watching.values()]
        tasks += [self._keeping_up] if self._keeping_up is not None else []
        for task in tasks:
            if task.done() and not task.cancelled():
                task.result()

    async def _settle(self) -> None:
        """Waits until every pod whose owners can be read has its pod group."""
        await self._turn()
        while self._looking or self._reading.has_changes:  # it may have arrived during the turn
            if self._looking:
                await asyncio.wait(self._looking)
            await self._turn()

    async def _read_usage(self) -> None:
        """As often as the configuration requires, and only when there is something to plan."""
        if self._usage is None:
            return
        rows = await self._usage.read(self._client.server_time())
        if rows is not None:
            await self._run(lambda: self._core.cluster.set_usage(rows))

    async def _turn(self) -> None:
        self._changed.clear()
        inputs = Inputs(
            now_ns=int(self._client.server_time() * SECOND_NS),
            owners=self._reading.take_owners(),
            rules=self._reading.take_rules(),
            serves_claims=self._reading.serves_claims,
        )
        turn = await self._run(lambda: self._planner.turn(inputs))
        for reference in turn.grouped.needs:
            self._start(self._look_up(reference))
        self._note(turn)

    def _note(self, turn: Turn) -> None:
        for kind, name, _ in turn.gone:
            if kind == "Pod":
                self._problems.pop(name, None)
                self._leave(name)
        for assignment in turn.grouped.assignments:
            self._problems.pop(assignment.pod, None)
            self._leave(assignment.pod)
            group = f"{assignment.pod.partition('/')[0]}/{assignment.group}"
            self._group_of[assignment.pod] = group
            self._members[group].add(assignment.pod)
        for problem in turn.grouped.problems:
            self._problems[problem.pod] = problem.message

    def _leave(self, pod: str) -> None:
        """The pod leaves its planned group; a group without pods is dropped."""
        group = self._group_of.pop(pod, None)
        if group is not None:
            self._members[group].discard(pod)
            if not self._members[group]:
                del self._members[group]
                self._core.cluster.withdraw("PodGroup", group)

    async def _look_up(self, reference: Reference) -> None:
        try:
            await self._reading.look_up(reference)
        except KaiError as error:
            self._reading.skip(reference)
            self._unread[reference.kind][f"{reference.namespace}/{reference.name}"] = str(error)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def _run(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _warnings(self) -> list[str]:
        """Problems that a plan does not show, in sentences."""
        found = [f"Pod {pod}: {message}" for pod, message in self._problems.items()]
        for kind, why_not in self._unread.items():
            names, why = text.listing(why_not), next(iter(why_not.values()))
            found.append(f"{kind} {names}: their pods are grouped without their owners: {why}")
        for watch in self._reading.watches.values():
            if watch.problem:
                found.append(f"{watch.kind}: this may be out of date: {watch.problem}")
        found += self._reading.notes()
        return found + (self._usage.warnings if self._usage is not None else [])

    def _objects(self) -> dict[str, tuple[dict[str, Any], ...]]:
        return {"nodes": tuple(self._nodes.objects.values())}


def name_of(client: Client) -> str:
    """The name of the cluster in plans."""
    return client.access.context or client.access.server


def _labels(node: dict[str, Any]) -> dict[str, Any]:
    metadata = node["metadata"]
    kept = ("name", "labels", "resourceVersion")
    return {"metadata": {each: metadata[each] for each in kept if each in metadata}}
