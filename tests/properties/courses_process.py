"""A process of kai in a random world: its courses, its writer and its planning thread.

It drives the courses as kai.service.carrying_out does, in virtual time.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from courses_decider import KINDS, Decider, Inputs, Turn

from fakes.api_server import Event, Object
from kai.api.writes import NOT_LEADING, Lane, Outcome, Read, Result, Write
from kai.controllers.courses import All, Ask, Course, Courses, Find, Send
from kai.controllers.pods.bind_requests import Request
from kai.controllers.pods.binder import RequestBinder, RequestCourse
from kai.controllers.pods.claims import Claims
from kai.controllers.pods.course import PodCourse, Reserver, Stage
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.pods import How, Pods
from kai.controllers.pods.results import Results
from kai.controllers.pods.sharing.device_maps import DeviceMaps
from kai.controllers.pods.sharing.reservation_pod import Reservations
from kai.controllers.pods.sharing.reserving import SharedDevices
from kai.controllers.pods.volumes import Volumes, volume_of
from kai.controllers.unshown import BINDING, Accepted
from kai.controllers.waits import earliest
from kai.k8s.client import USED

if TYPE_CHECKING:
    from courses_world import World

RESULTS = tuple(each.name for each in fields(Results))


@dataclass(eq=False, slots=True)
class Item:
    """A write in the writer. `course`: the course that waits for it. `ends`: it is not retried."""

    write: Write
    send: Send | None
    course: Course | None = None
    ends: bool = False


class Writer:
    """As kai.k8s.writing: a write with a key replaces a waiting one and follows one under way."""

    def __init__(self, process: Process) -> None:
        self.process, self.world = process, process.world
        self.waiting: dict[Item, None] = {}
        self.flying: dict[Item, None] = {}
        self.behind: dict[str, Item] = {}

    def put(self, write: Write, send: Send | None) -> None:
        item = Item(write, send, None if send is None else course_of(send))
        replaced = [each for each in self.waiting if write.key and each.write.key == write.key]
        self.waiting[item] = None
        for each in replaced:
            self._drop(each)
            self.process.answered(each, Outcome(Result.REPLACED))
        self.world.checks.put(self.process, item)
        self.world.later(self.world.wait(0.3), lambda: self._go(item))

    def take_back(self, nodes: frozenset[str]) -> None:
        def goes_there(item: Item) -> bool:
            write = item.write
            is_binding = write.lane is Lane.BINDING and isinstance(write.about, Binding)
            return is_binding and write.about.node in nodes

        for item in filter(goes_there, self.flying):
            item.ends = True
        for item in list(filter(goes_there, self.waiting)):
            self._drop(item)
            self.process.answered(item, Outcome(Result.TAKEN_BACK))

    def _drop(self, item: Item) -> None:
        del self.waiting[item]
        if self.behind.get(item.write.key) is item:
            del self.behind[item.write.key]

    def _go(self, item: Item) -> None:
        if not self.process.lives or item not in self.waiting:
            return
        key = item.write.key
        if key and any(each.write.key == key for each in self.flying):
            self.behind[key] = item
            return
        self._drop(item)
        if not self.process.leads:
            self.process.answered(item, Outcome(Result.FAILED, 0, NOT_LEADING))
            return
        self.flying[item] = None
        self.world.send(self.process, item, lambda outcome: self._answered(item, outcome))

    def _answered(self, item: Item, outcome: Outcome) -> None:
        if not self.process.lives:
            return
        del self.flying[item]
        if item.ends and outcome.result is Result.FAILED:
            outcome = Outcome(Result.TAKEN_BACK)
        behind = self.behind.get(item.write.key)
        if behind is not None:
            self.world.later(0.0, lambda: self._go(behind))
        self.process.answered(item, outcome)


class Process:
    """`decides`: it has the scheduler role; `binds`: it has the binder role."""

    def __init__(self, world: World, name: str, by: How, *, decides: bool, binds: bool) -> None:
        self.world, self.name, self.by = world, name, by
        self.decides, self.binds = decides, binds
        self.lives, self.leads, self.term = True, True, 0
        self.courses = Courses()
        self.courses.now = world.server.clock.now
        self.shares = binds or by == "direct"
        reservers = self._reservers()
        copies = world.server.copies_labels
        self.pods = Pods(
            *(self.courses,),
            by=by,
            copies_labels=copies,
            eviction=world.eviction,
            wait=1.0 if decides else 0.0,
            reservers=reservers,
        )
        wall = world.server.clock.wall
        self.binder = RequestBinder(self.courses, reservers, wall, copies_labels=copies)
        self.writer = Writer(self)
        self.decider = Decider(world.chance, world.devices, decides=decides, breaks=0.3)
        self.results = Results()
        self.events: list[tuple[str, str, Object]] = []
        self.looked_at: list[bytes] = []
        self.answers: list[tuple[Write, Outcome]] = []
        self.asks: list[Ask] = []
        self.read: list[tuple[Accepted, Object | None]] = []
        self.is_turning = False
        self.turns_at: float | None = None
        self._due = dict.fromkeys(KINDS, 0.0)
        self._coming = {each: deque[Event]() for each in KINDS}
        for kind in KINDS:
            for item in list(world.server.all(kind)):
                self._show("ADDED", kind, item)
        self.go_on()
        self.changed()

    def _reservers(self) -> list[Reserver]:
        self.known_volumes: dict[str, Any] = {}
        self.volumes = Volumes(self._volumes_for_claims, 20.0)
        reservations = Reservations(image="kai", timeout=20.0)
        self.devices = SharedDevices(
            *(self.courses, lambda *problem: None, reservations),
            copies_labels=self.world.server.copies_labels,
        )
        sharing = [self.devices, DeviceMaps(self.devices.of)] if self.shares else []
        return [self.volumes, Claims(), *sharing]

    def _volumes_for_claims(self) -> list[Any]:
        return [each for each in self.known_volumes.values() if each is not None]

    @property
    def now(self) -> float:
        return self.world.server.clock.now

    # ---- watches ---------------------------------------------------------------------------------

    def happened(self, event: Event) -> None:
        """The watch of the kind shows it later, in its order."""
        if event.kind in self._due:
            due = max(self._due[event.kind], self.now + self.world.watch_delay())
            self._due[event.kind] = due
            self._coming[event.kind].append(event)
            self.world.later(due - self.now, lambda: self._shown(event.kind))

    def _shown(self, kind: str) -> None:
        if self.lives:
            event = self._coming[kind].popleft()
            self._show(event.type, event.kind, event.item)
            if event.kind in ("BindRequest", "PersistentVolumeClaim"):
                self.go_on()

    def _show(self, what: str, kind: str, item: Object) -> None:
        self.courses.now = self.now
        self.events.append((what, kind, item))
        self.changed()
        metadata = item["metadata"]
        if kind == "PersistentVolume":
            self.known_volumes.pop(metadata["name"], None)
            if what != "DELETED":
                self.known_volumes[metadata["name"]] = volume_of(item)
        elif kind == "PersistentVolumeClaim":
            self.volumes.changed(metadata["namespace"], metadata["name"])
        elif kind == "BindRequest":
            request = Request.of(item)
            self.world.checks.seen_request(self, request)
            if what == "DELETED":
                self.world.checks.request_gone(self, request)
                self.pods.requests.gone(request.name, request.uid)
                self.binder.gone(request.name, request.uid)
            else:
                if self.decides:
                    self.pods.request_seen(request)
                if self.binds:
                    self.binder.put(request)
            if self.shares:
                is_open = what != "DELETED" and not request.is_over
                groups = request.spec.get("selectedGPUGroups") or () if is_open else ()
                self.devices.request_changed(request.name, groups)

    # ---- the planning thread ---------------------------------------------------------------------

    def changed(self, at: float | None = None) -> None:
        """The planning thread has something to do, now or at that time."""
        at = self.now + 0.05 + self.world.wait(0.5) if at is None else max(at, self.now)
        if self.is_turning:
            self._again = True
        elif self.turns_at is None or at < self.turns_at:
            self.turns_at = at
            self.world.later(at - self.now, lambda: self._turn(at))

    _again = False

    def _turn(self, at: float) -> None:
        if not self.lives or self.turns_at != at or self.is_turning:
            return
        self.turns_at, self.is_turning, self._again = None, True, False
        self.courses.now = self.now
        term = self.term
        results, self.results = self.results, Results()
        requests: dict[str, Request] = {}
        if self.leads:
            taken = (*self.pods.requests.unchecked(), *self.binder.unchecked())
            requests = {each.name: each for each in taken}
        inputs = Inputs(
            *(results, self.events, self.looked_at, self.read, self.answers, self.asks),
            list(requests.values()),
            self.leads,
        )
        self.events, self.looked_at, self.read, self.answers, self.asks = [], [], [], [], []
        turn = self.decider.turn(self.now, inputs)
        if turn.nodes:
            self._hold(frozenset(turn.nodes))
        self.world.later(self.world.wait(0.1), lambda: self._apply(turn, term))

    def _hold(self, nodes: frozenset[str]) -> None:
        self.writer.take_back(nodes)
        self.pods.hold(nodes)
        self.binder.hold(nodes)

    def _apply(self, turn: Turn, term: int) -> None:
        if not self.lives:
            return
        self.is_turning = False
        self.courses.now = self.now
        if term != self.term:
            self.results.forget += [each.assumption for each in turn.bindings]
            self.results.forget += [each.assumption for each in turn.removals]
            turn.bindings.clear()
            turn.removals.clear()
        self.world.checks.decided(self, turn)
        for name, uid in turn.gone:
            self.pods.pod_gone(name, uid)
            self.binder.pod_gone(name, uid)
        for accepted in turn.unshown:
            self.world.later(self.world.wait(0.3), lambda it=accepted: self._look_for(it))
        self.pods.groups.take(turn.grouped)
        self._turned(turn)
        wake = earliest((self.next_tick(), turn.wake))
        if self._again:
            self.changed()
        elif wake is not None:
            self.changed(wake)

    def _turned(self, turn: Turn) -> None:
        for ask in turn.asks:
            self.courses.answer(ask, ask.about.assumption not in turn.broken)
        self.pods.begin("2026-01-01T00:00:00Z", turn.bindings, turn.removals)
        for request, target in turn.targets:
            if self.decides:
                self.pods.requests.checked(request, target)
            self.binder.checked(request, target)
        if self.shares:
            self.devices.saw(turn.gpu_users, acts=self.leads)
            without = [each for each in turn.without_effect if each.what == BINDING]
            for name, uid in [*turn.gone, *((each.name, each.uid) for each in without)]:
                self.devices.pod_gone(name, uid)
        self.go_on()
        for write in turn.writes:
            plain = self.pods.groups.with_name(write)
            if plain is not None:
                self.writer.put(plain, None)
        if turn.writes:
            self.go_on()

    def _look_for(self, accepted: Accepted) -> None:
        if self.lives:
            namespace, _, name = accepted.name.partition("/")
            found = self.world.server.find(Read(accepted.kind, namespace, name))
            self.world.checks.read(self, accepted.kind, accepted.name, found)
            self.read.append((accepted, found))
            self.changed()

    # ---- courses ---------------------------------------------------------------------------------

    def next_tick(self) -> float | None:
        return earliest((self.pods.next_tick(), self.binder.next_tick()))

    def go_on(self) -> None:
        self.courses.now = self.now
        self.pods.tick()
        self.binder.tick()
        self.courses.run(self.now)
        for request in self.courses.take():
            if isinstance(request, Send):
                self.writer.put(request.write, request)
            else:
                self.world.later(self.world.wait(0.3), lambda it=request: self._find(it))
        asks = self.courses.take_asks()
        self.asks += asks
        if asks or self.binder.has_unchecked:
            self.changed()
        if any(getattr(self.pods.results, each) for each in RESULTS):
            results = self.pods.take_results()
            self.world.checks.results(self, results)
            if results.add_to(self.results):
                self.changed()
        tick = self.next_tick()
        if tick is not None and not self.is_turning:
            self.changed(tick)

    def answered(self, item: Item, outcome: Outcome) -> None:
        self.world.checks.answered(self, item, outcome)
        write = item.write
        self.answers.append((write, outcome))
        if outcome.result not in (Result.DONE, Result.REPLACED):
            self.changed()
        is_object = write.kind in USED and write.verb != "delete"
        if is_object and outcome.result is Result.DONE:
            self.looked_at.append(outcome.body)
        if item.send is not None:
            self.courses.answer(item.send, outcome)
            self.go_on()

    def _find(self, find: Find) -> None:
        if not self.lives:
            return
        read = find.read
        found = self.world.server.find(read)
        self.world.checks.read(self, read.kind, f"{read.namespace}/{read.name}", found)
        if find.is_for_plans:
            if found is not None and find.uid in ("", found["metadata"]["uid"]):
                self.looked_at.append(json.dumps(found).encode())
            self.changed()
        self.courses.answer(find, found)
        self.go_on()

    def lead_again(self) -> None:
        """A new term begins, unless the process leads."""
        if not self.leads:
            self.leads, self.term = True, self.term + 1
            self.courses.now = self.now
            for each in self.courses_of():
                if each.stage in (Stage.BEGINS, Stage.RESERVES):  # nothing of it is undone
                    self.world.checks.excused.add(each.binding.uid)
            self.pods.lead_again()
            self.binder.lead_again()
            self.devices.lead_again()
            self.go_on()
            self.changed()

    # ---- what is left ----------------------------------------------------------------------------

    def state(self) -> list[str]:
        """Dictionaries and lists of the classes that are not empty, by name."""
        pods = self.pods
        places: Mapping[str, Any] = {
            "Pods": pods,
            "Groups": pods.groups,
            "Evictor": pods._evictor,
            "Requests": pods.requests,
            "Carrier": pods._carrier,
            "Troubles": pods._carrier.troubles,
            "RequestBinder": self.binder,
            "Carrier of the binder": self.binder._carrier,
            "Troubles of the binder": self.binder._carrier.troubles,
            "Volumes": self.volumes,
            "SharedDevices": self.devices,
            "GpuGroups": self.devices._groups,
            "Courses": self.courses,
        }
        found = []
        for name, each in places.items():
            for key, value in vars(each).items():
                if key not in ("_reservers", "_results", "results") and _is_full(value):
                    found.append(f"{name}.{key} = {value!r}")
        return found

    def has(self, course: RequestCourse) -> bool:
        """Whether the binder knows its BindRequest."""
        return self.binder._of.get(course.request.name) is course

    def courses_of(self) -> Iterable[PodCourse]:
        """Those that are not over."""
        yield from self.pods._of.values()
        yield from self.binder._of.values()
        yield from self.binder._holds.values()  # also those whose BindRequest is gone


def course_of(send: Send) -> Course | None:
    whole: tuple[All, int] | None = send.whole
    return send.course if whole is None else whole[0].course


def _is_full(value: Any) -> bool:
    return isinstance(value, (dict, list, set)) and bool(value)
