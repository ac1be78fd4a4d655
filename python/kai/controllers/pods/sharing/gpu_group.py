"""The life of a GPU group: one device of one node, for the pods that share it.

    groups = GpuGroups(courses, problems, Reservations(image="..."))
    groups.acts = True
    group = groups.get("group")            # its course begins
    group.need(step)                       # it creates the reservation pod
    group.show(user)                       # a watch shows a pod

A reservation pod holds the device at the kubelet, and its program reports the device's UUID. The
course of a group, `GpuGroup.live`, ends when nothing is left of the group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from kai.api.writes import NOT_LEADING, Lane, Read, Result, Write, delete_options
from kai.controllers.courses import Courses, Fact, Find, Send, Until
from kai.controllers.pods.course import PodCourse, answer_of, wait_of
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.sharing.labels import group_selector
from kai.controllers.pods.sharing.reservation_pod import (
    Reservations,
    reservation_name,
    reservation_pod,
)
from kai.controllers.unshown import READ_AFTER_S
from kai.controllers.waits import earliest

SCALING_UP = "cluster is scaling up, could not create reservation pod"
LOOK_AGAIN_S = 5.0
"""The pause after a read that found the reservation although no watch has shown it."""
Problem = Callable[[str, Mapping[str, str]], None]
"""Gets a message for the log, and its fields."""
_ALIVE = ("Pending", "Running")
_ENDED = ("Succeeded", "Failed")


class GpuUser(NamedTuple):
    """A pod in GPU groups, or a reservation pod, as in `_core.Drained.gpu_users`."""

    name: str
    uid: str = ""
    node: str = ""
    groups: Sequence[str] = ()
    phase: str = ""
    is_leaving: bool = False
    is_reservation: bool = False
    device: str = ""


class Waiting(Protocol):
    """The step of a pod that is not bound. `devices`: the UUIDs of all its devices; empty: it waits
    for one of them."""

    course: PodCourse
    binding: Binding
    tolerations: Sequence[Mapping[str, Any]]
    devices: list[str]

    def look(self, group: GpuGroup) -> None: ...

    def fail(self, group: GpuGroup, why: str) -> None: ...


@dataclass(eq=False)
class GpuGroups:
    """All of them. `acts`: this process manages reservations, and has read all pods and
    BindRequests. `is_scaling_up`: a pod that makes the cluster grow waits for a node. `wanted`: by
    group, the number of open BindRequests that name it. `on_node`: the groups of each node.
    `deleted`: by name, the UIDs of pods that lost a device and are deleted."""

    courses: Courses
    problem: Problem
    reservations: Reservations
    acts: bool = False
    is_scaling_up: bool = False
    by_name: dict[str, GpuGroup] = field(default_factory=dict)
    on_node: dict[str, dict[str, GpuGroup]] = field(default_factory=dict)
    wanted: Counter[str] = field(default_factory=Counter)
    deleted: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> GpuGroup:
        """The group; its course begins if it is new."""
        group = self.by_name.get(name)
        if group is None:
            group = self.by_name[name] = GpuGroup(name, self)
            self.courses.start(group.live())
        return group

    def wake(self, names: Iterable[str]) -> None:
        """Something changed that matters to these groups, as far as they are known."""
        for name in names:
            if name in self.by_name:
                self.by_name[name].wake()

    def is_being_freed(self, node: str) -> bool:
        """Whether a device of the node is about to be released: the kubelet may have no other
        one."""
        return any(each.doing == "deletes" for each in self.on_node.get(node, {}).values())

    def drop(self, group: GpuGroup) -> None:
        del self.by_name[group.name]
        of_node = self.on_node.get(group.node, {})
        of_node.pop(group.name, None)
        if not of_node:
            self.on_node.pop(group.node, None)


@dataclass(slots=True, eq=False)
class GpuGroup:
    """`node`: "" while none of its pods has one. `reservation`: its pod, as a watch showed it.
    `waiting`: by pod, the steps of those that have or need the device. `users`: running or starting
    pods in the group. `doing`: what its course does about the reservation, until a watch shows the
    effect. `ends`: when the pods without the device have waited too long for it. `failures`: of
    writes, since a watch has shown an effect. `changed`: wakes the course."""

    name: str
    groups: GpuGroups
    node: str = ""
    reservation: GpuUser | None = None
    waiting: dict[str, Waiting] = field(default_factory=dict)
    users: dict[str, GpuUser] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()
    doing: Literal["", "creates", "deletes", "looks", "waits"] = ""
    ends: float | None = None
    failures: int = 0
    changed: Until = field(default_factory=Until)

    # ---- what is known ---------------------------------------------------------------------------

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """Those that wait for the creation of its reservation (kai.api.writes)."""
        return [each.binding.key for each in self.waiting.values()]

    @property
    def uid(self) -> str:
        """Of its reservation; "": a watch shows none."""
        return self.reservation.uid if self.reservation is not None else ""

    @property
    def reservation_name(self) -> str:
        """ "namespace/name"."""
        name = reservation_name(self.node, self.name)
        return f"{self.groups.reservations.namespace}/{name}"

    @property
    def device(self) -> str:
        """The UUID of its device; "": unknown, or about to be released."""
        held = self.reservation
        if held is None or held.is_leaving or self.doing == "deletes" or held.phase in _ENDED:
            return ""
        return held.device

    @property
    def is_empty(self) -> bool:
        return not (self.waiting or self.users or self.reservation or self.doing == "creates")

    @property
    def is_used(self) -> bool:
        """Whether pods or open BindRequests need the device."""
        return bool(self.waiting or self.users or self.groups.wanted[self.name])

    @property
    def placed(self) -> list[GpuUser]:
        """Pods on the device. KAI counts running pods (spec 6 C57); a pod that is about to start
        has the same device in its ConfigMap."""
        return [user for user in self.users.values() if user.node]

    @property
    def has_losers(self) -> bool:
        """Whether pods that are not bound have got the device. They lose it with its reservation.
        Those whose binding was sent are deleted when they are on the node, and get no other device
        until then."""
        return any(each.devices for each in self.waiting.values())

    # ---- what happens ----------------------------------------------------------------------------

    def place(self, node: str) -> None:
        if not self.node and node:
            self.node = node
            self.groups.on_node.setdefault(node, {})[self.name] = self

    def show(self, user: GpuUser) -> None:
        """A watch shows this pod, in the group or not."""
        uid, held = self.uid, self.reservation
        self.users.pop(user.name, None)
        if held is not None and held.name == user.name:
            self.reservation = held = None
        if self.name in user.groups:
            self.place(user.node)
            if not user.is_reservation:
                if user.phase in _ALIVE:
                    self.users[user.name] = user
            elif held is None or (user.device and not held.device):
                self.reservation = user
        if self.uid != uid:
            self.doing, self.failures = "", 0
        self.wake()

    def need(self, step: Waiting) -> None:
        """A pod needs the device."""
        self.place(step.binding.node)
        self.waiting[step.binding.pod] = step
        self.tolerations = self.tolerations or step.tolerations
        self.wake()

    def wake(self) -> None:
        """Something changed: the course looks at what is known."""
        self.changed.wake()

    # ---- its course ------------------------------------------------------------------------------

    async def live(self) -> None:
        """Until nothing is left of the group. Watches may show anything at any time, so each round
        decides from all that is known then."""
        while not self.is_empty:
            held = self.reservation
            if not self.groups.acts:
                await self._change()
            elif held is None and self.placed:
                await self._look()
            elif held is None and self.waiting and not self.has_losers:
                await self._create()
            elif held is not None and (held.phase in _ENDED or not self.is_used):
                await self._delete(held)
            elif await self._change() and self.reservation is not None:
                await self._delete(self.reservation)  # its program has not answered in time
            self.doing = ""
        self.groups.drop(self)

    async def _create(self) -> None:
        """Creates the reservation, until a watch shows it."""
        if self.groups.is_scaling_up:
            self._fail(SCALING_UP)
            return
        if self.groups.is_being_freed(self.node):
            await self._change()
            return
        self.doing, self.ends = "creates", None  # its program's time begins with the answer
        outcome = await self._answer(Send(self._creation()))
        if outcome is None:
            return
        if outcome.result in (Result.DONE, Result.CONFLICT, Result.REPLACED):
            self.ends = self._now + self.groups.reservations.timeout
            await self._be_shown()  # also after a conflict: it exists
        elif outcome.reason == NOT_LEADING:
            for step in self._end_waits():
                step.course.lose_lead()
        elif outcome.result in (Result.FAILED, Result.LOST) and outcome.refusal is None:
            await self._pause()
        else:
            self._fail(answer_of(outcome))

    async def _be_shown(self) -> None:
        """The creation was accepted. If no watch shows the reservation, it is looked for: the
        answer may have been wrong."""
        due = self._now + READ_AFTER_S
        while await self._until(due):
            due = self._now + 2 * READ_AFTER_S
            if await self._answer(self._reading()) == []:
                why = f"the reservation of GPU group {self.name} was not created"
                self.groups.problem("a decision was not carried out", {"why": why})
                return

    async def _delete(self, held: GpuUser) -> None:
        """Deletes the reservation, until a watch shows that. After a failure, and if none does, the
        next round decides again."""
        if held.is_leaving or not self.groups.acts:
            await self._change()
            return
        self.doing = "deletes"
        outcome = await self._answer(Send(_deletion(Lane.BINDING, held, gracePeriodSeconds=0)))
        if outcome is not None and outcome.result in (Result.DONE, Result.GONE):
            await self._until(self._now + READ_AFTER_S)
        elif outcome is not None:
            await self._pause()

    async def _look(self) -> None:
        """Pods are on the device, and no watch shows its reservation. If it does not exist, other
        pods may get the device, so these are deleted (spec 6 C57)."""
        self.doing = "looks"
        if await self._answer(self._reading()) == []:
            for user in self.placed:
                self._log_deletion(user)
                self._start(Send(_deletion(Lane.EVICTION, user)))
        await self._until(self._now + LOOK_AGAIN_S)

    def _log_deletion(self, user: GpuUser) -> None:
        """Once, though the pod may have several devices, and takes a while to end."""
        if self.groups.deleted.get(user.name) != user.uid:
            self.groups.deleted[user.name] = user.uid
            why = f"its GPU reservation on node {user.node} no longer exists"
            self.groups.problem("a pod on a shared GPU is deleted", {"pod": user.name, "why": why})

    async def _pause(self) -> None:
        """After a write that failed."""
        self.doing, self.failures = "waits", self.failures + 1
        await self._until(self._now + wait_of(self.failures - 1))

    # ---- waiting ---------------------------------------------------------------------------------

    async def _change(self, at: float | None = None) -> bool:
        """Until something changes, at most until `at`. Pods that have waited too long for the
        device fail (spec 3 B12): returns whether there were any."""
        if self.groups.acts:
            self._show_device()
        self.changed = Until(earliest((at, self._limit())))
        await self.changed
        limit = self._limit()
        if limit is None or self._now < limit:
            return False
        if self.doing == "creates":
            self.doing = ""
        name = self.reservation_name
        self._fail(f"failed waiting for GPU reservation pod to allocate: {name}")
        return True

    async def _until(self, at: float | None = None, answer: Fact[Any] | None = None) -> bool:
        """Until that time or answer. False: what the course does is over before, as a watch has
        shown another reservation, or that it is gone."""
        while self.doing and not self.is_empty:
            if (answer is not None and answer.known) or (at is not None and self._now >= at):
                return True
            await self._change(at)
        return False

    async def _answer(self, request: Send | Find) -> Any:
        """None: what the course does is over before."""
        answer = self._start(request)
        return answer.known[0] if await self._until(answer=answer) else None

    def _start(self, request: Send | Find) -> Fact[Any]:
        """For the answer. The course of the group goes on meanwhile."""

        async def carry_out() -> None:
            answer.set(await request)
            self.wake()

        answer: Fact[Any] = Fact()
        self.groups.courses.start(carry_out())
        return answer

    @property
    def _now(self) -> float:
        return self.groups.courses.now

    # ---- the pods that wait ----------------------------------------------------------------------

    def _show_device(self) -> None:
        """To the pods that need the device, or have it and are not bound."""
        held = self.reservation
        for step in self.waiting.values():
            step.look(self)
        if held is not None and held.phase in _ENDED:
            self._fail(f"GPU reservation pod {held.name} has failed on node {held.node}")

    def _limit(self) -> float | None:
        """When they have waited too long for the device; None: there are none, or its creation has
        no answer yet."""
        if self.device or all(each.devices for each in self.waiting.values()):
            self.ends = None
        elif self.ends is None and self.doing != "creates":
            self.ends = self._now + self.groups.reservations.timeout
        return self.ends

    def _fail(self, why: str) -> None:
        for step in self._end_waits():
            step.fail(self, why)

    def _end_waits(self) -> list[Waiting]:
        """Those of the pods without the device."""
        ended = [each for each in self.waiting.values() if not each.devices]
        for each in ended:
            del self.waiting[each.binding.pod]
        return ended

    # ---- requests --------------------------------------------------------------------------------

    def _creation(self) -> Write:
        body = reservation_pod(self.node, self.name, self.tolerations, self.groups.reservations)
        where = body["metadata"]["namespace"], body["metadata"]["name"]
        return Write(Lane.BINDING, "create", "Pod", *where, body, about=self)

    def _reading(self) -> Find:
        """Of its reservation."""
        namespace = self.groups.reservations.namespace
        return Find(Read("Pod", namespace, selector=group_selector(self.name)))


def _deletion(lane: Lane, user: GpuUser, **options: Any) -> Write:
    namespace, _, name = user.name.partition("/")
    return Write(lane, "delete", "Pod", namespace, name, delete_options(user.uid, **options))
