"""Carries out what is decided: the courses of pods, between the planning thread and the API server.

    acts = CarryingOut(options, client, life, reports, emit=..., changed=...)
    acts.writes_with(writer)
    inputs = Inputs(..., **acts.take(may_act=True))
    turn = planner.turn(inputs)
    acts.turned(turn, leads=True)

For the event loop. The courses have no I/O (kai.controllers.courses): their writes and reads are
sent here, and the answers bring them on.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.courses import Ask, Courses, Find, Send
from kai.controllers.grouper import Decided
from kai.controllers.planning.lines import Line
from kai.controllers.pods.bind_requests import Request
from kai.controllers.pods.binder import RequestBinder
from kai.controllers.pods.claims import Claims
from kai.controllers.pods.course import Reserver
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.pods import WAIT_BEFORE_WRITING_S, Pods
from kai.controllers.pods.results import Results
from kai.controllers.pods.sharing.device_maps import DeviceMaps
from kai.controllers.pods.sharing.gpu_group import GpuUser
from kai.controllers.pods.sharing.reserving import SharedDevices
from kai.controllers.pods.volumes import Volume, Volumes, volume_of
from kai.controllers.unshown import BINDING
from kai.controllers.verdicts import Event
from kai.controllers.waits import earliest
from kai.errors import KaiError
from kai.k8s.answers import denial
from kai.k8s.client import USED
from kai.k8s.sinks import DictSink, Sink

if TYPE_CHECKING:
    from kai.controllers.planning.turns import Turn
    from kai.k8s.client import Client
    from kai.k8s.writing import Writer
    from kai.service.life import Life
    from kai.service.options import Options
    from kai.service.refusals import Refusals
    from kai.service.reports import Reports

Found = TypeVar("Found")


class CarryingOut:
    """`emit`: gets events about objects. `changed`: is set when the planning thread has something
    to do. `leads`: whether this process leads now.

    Reservations of devices belong to the process that binds: the binder role, or the scheduler role
    with `--binding direct`. The scheduler role handles existing BindRequests even if it binds pods
    directly: KAI, or an earlier process, may have left some."""

    def __init__(
        self,
        options: Options,
        client: Client,
        life: Life,
        reports: Reports,
        refusals: Refusals,
        *,
        emit: Callable[[Event], None],
        changed: asyncio.Event,
        leads: Callable[[], bool],
    ) -> None:
        self._client, self._clock = client, client.clock
        self._life, self._reports, self._refusals = life, reports, refusals
        self._emit, self._changed, self._leads = emit, changed, leads
        self._decides, self._binds = options.has("scheduler"), options.has("binder")
        self._pool_key = options.node_pool_key
        self._writer: Writer | None = None
        self._courses = Courses()
        self._known_volumes = DictSink(keep=volume_of)
        self._volumes = Volumes(self._volumes_for_claims, options.volume_seconds)
        reservers: list[Reserver] = [self._volumes, Claims(), *self._sharing(options)]
        self.pods = Pods(
            self._courses,
            by=options.binding,
            copies_labels=client.copies_labels,
            eviction=options.eviction,
            # Without a scheduler in this process, a pod is grouped in the cluster at once.
            wait=WAIT_BEFORE_WRITING_S if self._decides else 0.0,
            pool_key=options.node_pool_key,
            pool=options.node_pool,
            reservers=reservers,
        )
        self._binder = RequestBinder(
            self._courses, reservers, client.server_time, copies_labels=client.copies_labels
        )
        # For the next turn of the planning thread
        self._results = Results()
        self._bound_at: list[float] = []
        self._looked_at: list[bytes] = []
        self._answers: list[tuple[Write, Outcome]] = []
        self._asks: list[Ask] = []

    def _sharing(self, options: Options) -> list[Reserver]:
        self._devices = SharedDevices(
            self._courses,
            self._log_problem,
            options.reservations(),
            copies_labels=self._client.copies_labels,
        )
        maps = DeviceMaps(self._devices.of, cdi=options.cdi, hami=options.hami_core)
        self._shares = self._binds or (self._decides and options.binding == "direct")
        return [self._devices, maps] if self._shares else []

    def _volumes_for_claims(self) -> list[Volume]:
        return [each for each in self._known_volumes.objects.values() if each is not None]

    def sinks(self) -> Mapping[str, list[Sink]]:
        """Its sinks, besides the feed."""
        sinks: dict[str, list[Sink]] = {
            "PersistentVolume": [self._known_volumes],
            "PersistentVolumeClaim": [DictSink(self._claim_changed, keep=version_of)],
        }
        if self._decides or self._binds:
            sinks["BindRequest"] = [DictSink(self._request_changed, keep=self._read_request)]
        return sinks

    def writes_with(self, writer: Writer) -> None:
        self._writer = writer

    # ---- what is known ---------------------------------------------------------------------------

    @property
    def under_way(self) -> int:
        return self.pods.under_way

    @property
    def in_doubt(self) -> int:
        """Pods that a request may still bind, though no answer came."""
        return self.pods.in_doubt + self._binder.in_doubt

    def next_tick(self) -> float | None:
        return earliest((self.pods.next_tick(), self._binder.next_tick()))

    # ---- the planning thread ---------------------------------------------------------------------

    def take(self, *, may_act: bool) -> dict[str, Any]:
        """What it must know, by the fields of `Inputs`. `may_act`: this process leads, and has read
        all that it needs."""
        results, self._results = self._results, Results()
        requests: dict[str, Request] = {}
        self.pods.requests.tick()
        if may_act:
            taken = (*self.pods.requests.unchecked(), *self._binder.unchecked())
            requests = {each.name: each for each in taken}
        inputs = {
            "forgotten": results.forget,
            "looked_at": tuple(self._looked_at),
            "answers": tuple(self._answers),
            "to_check": tuple(self._asks),
            "requests": tuple(requests.values()),
            "bound": results.bound,
            "bound_at": tuple(self._bound_at),
            "failed": results.failed,
            "refused": results.refused,
            "stuck": results.stuck,
            "evicted": results.evicted,
            "spared": results.spared,
            "held_back": self.pods.held_back(),
        }
        for each in (self._looked_at, self._answers, self._asks, self._bound_at):
            each.clear()
        return inputs

    def not_begun(self, turn: Turn) -> None:
        """Nothing of it was sent: another process may have led since, or this one ends."""
        self._results.forget += [each.assumption for each in turn.bindings]
        self._results.forget += [each.assumption for each in turn.removals]
        turn.bindings.clear()
        turn.removals.clear()

    def turned(self, turn: Turn, *, may_act: bool) -> None:
        """A turn is over; the groups of its pods are known (`group`)."""
        self._courses.now = self._clock.monotonic()
        broken = frozenset(turn.broken)
        for ask in turn.to_check:
            self._courses.answer(ask, ask.about.assumption not in broken)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._client.server_time()))
        self.pods.begin(stamp, turn.bindings, turn.removals)
        for request, target in turn.targets:
            if self._decides:
                self.pods.requests.checked(request, target)
            self._binder.checked(request, target)
        if self._shares:
            self._devices.scales_up(turn.is_scaling_up)
            self._devices.saw(map(GpuUser._make, turn.gpu_users), acts=may_act)
            # The bindings of these had no effect: they are on no device.
            without = (each for each in turn.without_effect if each.what == BINDING)
            for name, uid in [*_pods_gone(turn), *((each.name, each.uid) for each in without)]:
                self._devices.pod_gone(name, uid)
        self.pods.tick()
        self._binder.tick()
        self._go_on()
        for write in turn.writes:
            plain = self.pods.groups.with_name(write)
            if plain is not None:
                self.put(plain)
        self._go_on()

    def pods_gone(self, turn: Turn) -> None:
        """Before the new groups and decisions of the turn."""
        for name, uid in _pods_gone(turn):
            self.pods.pod_gone(name, uid)
            self._binder.pod_gone(name, uid)

    def group(self, decided: Decided) -> None:
        """New pod groups, and pods that do not name theirs."""
        self._courses.now = self._clock.monotonic()
        self.pods.groups.take(decided)

    def lead_again(self) -> None:
        """A new term begins."""
        for each in (self.pods, self._binder, self._devices):
            each.lead_again()
        self._go_on()

    def hold(self, nodes: Collection[str]) -> None:
        """These nodes changed: unsent bindings to them wait until the next turn has checked
        them."""

        def goes_there(write: Write) -> bool:
            return isinstance(write.about, Binding) and write.about.node in nodes

        assert self._writer is not None
        for write, done in self._writer.take_back(Lane.BINDING, goes_there):
            if done is not None:
                done(write, Outcome(Result.TAKEN_BACK))
        self.pods.hold(nodes)
        self._binder.hold(nodes)

    # ---- watches ---------------------------------------------------------------------------------

    def _claim_changed(self, kind: str, before: Any, after: Any) -> None:
        """A pod may wait for this claim before it is bound."""
        if self._volumes.open:
            self._volumes.changed(*(after or before)[0])
            self._go_on()

    def _read_request(self, manifest: dict[str, Any]) -> Request:
        return Request.of(manifest, self._pool_key)

    def _request_changed(self, kind: str, before: Request | None, after: Request | None) -> None:
        self._courses.now = self._clock.monotonic()
        if after is not None:
            if self._decides:
                self.pods.request_seen(after, leads=self._leads())
            if self._binds:
                self._binder.put(after)
        elif before is not None:
            self.pods.requests.gone(before.name, before.uid)
            self._binder.gone(before.name, before.uid)
        request = after or before
        if self._shares and request is not None:
            is_open = after is not None and not after.is_over
            groups = request.spec.get("selectedGPUGroups") or () if is_open else ()
            self._devices.request_changed(request.name, groups)
        self._go_on()

    # ---- requests and answers --------------------------------------------------------------------

    def _go_on(self) -> None:
        """Brings the courses on, and hands over what they request and have found out."""
        self._courses.run(self._clock.monotonic())
        for request in self._courses.take():
            if isinstance(request, Send):
                self.put(request.write, request)
            else:
                self._life.start(self._find_for(request))
        asks = self._courses.take_asks()
        self._asks += asks
        if asks or (self._binder.has_unchecked and self._leads()):
            self._changed.set()
        self._report(self.pods.take_results())
        if self._binds:
            of_binder = self._binder.take_results()
            for event in of_binder.events:
                self._emit(event)
            for binding, why in of_binder.failed:
                self._reports.not_bound(binding, why)

    def _report(self, results: Results) -> None:
        for event in results.events:
            self._emit(event)
        if results.add_to(self._results):
            self._changed.set()
            self._bound_at += [self._client.server_time()] * len(results.bound)
            self._reports.placed(bound=len(results.bound), evicted=len(results.evicted))
        for binding, why in results.failed:
            self._reports.not_bound(binding, why)
        for problem in results.problems:
            self._log_problem("a decision was not carried out", {"why": problem})

    def _log_problem(self, message: str, fields: Mapping[str, str]) -> None:
        self._reports.lines([Line("warning", message, fields)])

    def put(self, write: Write, send: Send | None = None) -> None:
        """`send`: of the course that waits for the outcome."""
        assert self._writer is not None
        self._writer.put(write, partial(self._answered, send))

    def _answered(self, send: Send | None, write: Write, outcome: Outcome) -> None:
        seconds = 0.0
        if outcome.refusal is not None:
            seconds = self._refusals.wait(write)
        elif (missing := denial(outcome.message)) is not None and outcome.result is Result.FAILED:
            seconds = self._reports.rights.wait(missing)
        if seconds:
            self._life.start(self._later(seconds, send, write, outcome))
        else:
            self._take_answer(send, write, outcome)

    async def _later(
        self, seconds: float, send: Send | None, write: Write, outcome: Outcome
    ) -> None:
        """The answer to a write that was not allowed: delayed until the next try."""
        await self._clock.sleep(seconds)
        self._take_answer(send, write, outcome)

    def _take_answer(self, send: Send | None, write: Write, outcome: Outcome) -> None:
        self._answers.append((write, outcome))
        if outcome.result is not Result.DONE and outcome.result is not Result.REPLACED:
            self._changed.set()
        if write.kind in USED and outcome.result is Result.DONE and outcome.body:
            # The read may show the pod on its node before the watch does, with what it got there.
            self._looked_at.append(outcome.body)
        if send is not None:
            self._courses.answer(send, outcome)
            self._go_on()

    async def _find_for(self, find: Find) -> None:
        """Carries out a read for a course."""
        read = find.read
        if not find.is_for_plans:
            name = f"{read.namespace}/{read.name or read.selector}".lstrip("/")
            found = await self.find(read.kind, name, partial(self._client.find, read))
        else:
            name = f"{read.namespace}/{read.name}"
            get = partial(self._client.get, read.kind, read.namespace, read.name)
            data = await self.find(read.kind, name, get)
            found = None if data is None else json.loads(data)
            # An unknown pod must arrive through the watch, so that it is grouped.
            if found is not None and find.uid in ("", found["metadata"]["uid"]):
                self._looked_at.append(data or b"")
            self._changed.set()
        self._courses.answer(find, found)
        self._go_on()

    async def find(self, kind: str, name: str, find: Callable[[], Awaitable[Found]]) -> Found:
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


def _pods_gone(turn: Turn) -> Sequence[tuple[str, str]]:
    return [(name, uid) for kind, name, uid in turn.gone if kind == "Pod"]


def version_of(manifest: Mapping[str, Any]) -> tuple[tuple[str, str], str]:
    """Namespace and name, and version."""
    metadata = manifest["metadata"]
    name = (metadata.get("namespace", ""), metadata["name"])
    return name, metadata.get("resourceVersion", "")
