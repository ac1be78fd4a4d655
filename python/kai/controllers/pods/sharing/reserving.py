"""Reserves devices for pods that share them (spec 6 C55-C58, spec 3 B9-B16).

    devices = SharedDevices(courses, problems, Reservations(image="..."))
    devices.saw(users, acts=True)                # pods on shared devices that changed
    devices.step(course, pod)                    # a reserver of kai.controllers.pods.course
    devices.of(binding)                          # the UUIDs of its devices, once they are reserved

A GPU group is one device of one node. A reservation pod holds it at the kubelet, and its program
reports the device's UUID. The reservation pod is created for the first pod of the group and deleted
with the last one. Groups do not wait for each other: a slow or failed program delays only the pods
of its own group.

Pods are known from one watch, in its order, so a pod is never seen on a device before the
reservation that it was bound with. A list is an exception: the other pods of a group may come
first. Before pods are deleted because their reservation is gone, that reservation is therefore read
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kai.api import keys
from kai.api.reading import labels_of
from kai.api.writes import NOT_LEADING, Lane, Outcome, Read, Result, Write, delete_options
from kai.controllers.courses import Courses, Find, Send, Until
from kai.controllers.pods.course import (
    Pod,
    PodCourse,
    Refused,
    answer_of,
    check_lease,
    wait_of,
)
from kai.controllers.pods.decisions import PART_OF_A_GPU, Binding
from kai.controllers.pods.sharing.labels import gpu_labels, group_selector
from kai.controllers.pods.sharing.reservation_pod import (
    Reservations,
    reservation_name,
    reservation_pod,
)
from kai.controllers.unshown import READ_AFTER_S
from kai.controllers.verdicts.pace import Timers

SCALING_UP = "cluster is scaling up, could not create reservation pod"
GONE = "the GPU reservation pod no longer exists"
LOOK_AGAIN_S = 5.0
"""The pause after a read that found the reservation although no watch has shown it."""
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


@dataclass(slots=True, eq=False)
class _Group:
    """`node`: "" while only BindRequests are known. `reservation`: its pod, as a watch showed it.
    `waiting`: by pod, those that have or need the device. `pods`: running or starting pods in
    the group. `is_made`: the creation of the reservation was sent, and no watch has shown it yet.
    `is_ending`: its deletion was sent. `ends`: deadline for the answer of its program; None: no
    binding waits for it, or its creation has no answer yet. `not_before`: after a failed
    write, and after a read. `shown_by`: when a watch must have shown an accepted creation or
    deletion."""

    name: str
    node: str = ""
    reservation: GpuUser | None = None
    waiting: dict[str, DevicesOfPod] = field(default_factory=dict)
    pods: dict[str, GpuUser] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()
    is_made: bool = False
    is_ending: bool = False
    is_being_read: bool = False
    ends: float | None = None
    not_before: float | None = None
    shown_by: float | None = None
    failures: int = 0

    @property
    def device(self) -> str:
        """The UUID of its device; "": unknown, or about to be released."""
        held = self.reservation
        if held is None or held.is_leaving or self.is_ending or held.phase in _ENDED:
            return ""
        return held.device

    @property
    def is_empty(self) -> bool:
        return not (self.waiting or self.pods or self.reservation or self.is_made)

    @property
    def pods_waiting(self) -> Sequence[tuple[str, str]]:
        """Name and UID of each."""
        return [each.binding.key for each in self.waiting.values()]

    def pause(self, now: float) -> None:
        """A write failed; it is retried later."""
        self.not_before = now + wait_of(self.failures)
        self.failures += 1


class SharedDevices:
    """A reserver. `problems`: gets sentences for the log. `reservations`: the settings and the time
    limit of reservation pods. `copies_labels`: the API server copies labels of a Binding to its
    pod; otherwise a patch sets them before."""

    what = PART_OF_A_GPU

    def __init__(
        self,
        courses: Courses,
        problems: Callable[[str], None],
        reservations: Reservations,
        *,
        copies_labels: bool = True,
    ) -> None:
        self.courses, self.copies_labels = courses, copies_labels
        self._problem, self._reservations = problems, reservations
        self._groups: dict[str, _Group] = {}
        self._of_pod: dict[str, GpuUser] = {}  # the last state in a watch
        self._steps: dict[str, DevicesOfPod] = {}  # of pods that are not bound, by pod
        self._on_node: dict[str, dict[str, None]] = {}  # the groups of each node
        self._requests: dict[str, Sequence[str]] = {}  # groups of open BindRequests
        self._wanted: Counter[str] = Counter()  # by group, the number of BindRequests that name it
        self._timers = Timers()  # of groups with a next step at a known time
        self._acts = self._is_scaling_up = False

    def __len__(self) -> int:
        """The number of known GPU groups."""
        return len(self._groups)

    def of(self, binding: Binding) -> list[str]:
        """The UUIDs of the devices of a binding that has them, in the order of its groups."""
        return [self._groups[group].device for group in _groups_of(binding)]

    # ---- what happens ----------------------------------------------------------------------------

    def scales_up(self, is_scaling_up: bool) -> None:
        """Whether a pod that makes the cluster grow waits for a node: until it has one, no new
        device is reserved (spec 3 B10)."""
        self._is_scaling_up = is_scaling_up

    def saw(self, users: Iterable[GpuUser], *, acts: bool) -> None:
        """Pods on shared devices changed or were deleted. `acts`: this process manages reservations
        and has read all pods and BindRequests: it deletes reservations that nothing needs."""
        touched: dict[str, None] = {}
        for user in users:
            before = self._of_pod.pop(user.name, GpuUser(user.name))
            for name in before.groups:
                touched[name] = None
                self._leave(self._group(name), before)
            if before.is_reservation:  # other groups may have waited for its device
                touched |= self._on_node.get(before.node, {})
            for name in user.groups:
                touched[name] = None
                self._join(self._group(name), user)
            if user.groups:
                self._of_pod[user.name] = user
        if acts and not self._acts:
            touched = dict.fromkeys(self._groups)
        self._acts = acts
        self._settle(touched)

    def pod_gone(self, pod: str, uid: str) -> None:
        """A pod of ours is gone; maybe no watch ever showed it in its groups. The answer to its
        binding may still come."""
        step = self._steps.get(pod)
        if step is not None and step.binding.uid == uid:
            step.is_gone = True
        known = self._of_pod.get(pod)
        if known is not None and known.uid == uid:
            self.saw([GpuUser(pod)], acts=self._acts)

    def request_changed(self, name: str, groups: Sequence[str]) -> None:
        """An open BindRequest keeps its reservations. `groups`: empty if it is over or deleted."""
        before = self._requests.pop(name, ())
        if groups:
            self._requests[name] = groups
        self._wanted.update(groups)
        self._wanted.subtract(before)
        left = [each for each in before if not self._wanted[each]]
        for group in left:
            del self._wanted[group]
        self._settle(left)

    def tick(self) -> None:
        now = self.courses.now
        for name in list(self._timers.pop(now)):
            group = self._groups.get(name)
            if group is None:
                continue
            if group.ends is not None and now >= group.ends:
                self._give_up(group)
            elif group.not_before is not None and now >= group.not_before:
                group.not_before = None
                self._settle([name])
            elif group.shown_by is not None and now >= group.shown_by:
                group.shown_by = now + 2 * READ_AFTER_S
                self._look_for_result(group)
            self._time(group)

    def next_tick(self) -> float | None:
        return self._timers.next()

    # ---- a reserver ------------------------------------------------------------------------------

    def needs(self, binding: Binding) -> bool:
        return PART_OF_A_GPU in binding.needs

    def step(self, course: PodCourse, pod: Pod) -> DevicesOfPod:
        return DevicesOfPod(self, course, pod)

    def enter(self, step: DevicesOfPod) -> None:
        """The pod needs the devices of its groups."""
        self._steps[step.binding.pod] = step
        for name in step.groups:
            group = self._group(name)
            self._place(group, step.binding.node)
            group.waiting[step.binding.pod] = step
            group.tolerations = group.tolerations or step.tolerations
            if not group.is_made:
                self._begin_to_wait(group)
        self._settle(step.groups)

    def lead_again(self) -> None:
        """A new term: nothing is created or deleted before all lists were read again."""
        self._acts = False

    def leave(self, step: DevicesOfPod) -> None:
        """The pod is not bound, or gone."""
        self.forget(step)
        self._settle(step.groups)

    def forget(self, step: DevicesOfPod) -> None:
        """The same, if another process may lead: nothing is deleted for it."""
        self._ended(step)
        for name in step.groups:
            group = self._groups.get(name)
            if group is not None and group.waiting.get(step.binding.pod) is step:
                del group.waiting[step.binding.pod]
                self._stop_waiting(group)
                if group.is_empty:
                    self._drop(group)

    def occupy(self, step: DevicesOfPod) -> None:
        """The pod is bound."""
        if step.is_gone:
            self.leave(step)
            return
        self._ended(step)
        binding = step.binding
        user = GpuUser(binding.pod, binding.uid, binding.node, step.groups, "Pending")
        shown = self._of_pod.setdefault(binding.pod, user)
        for name in step.groups:
            group = self._group(name)
            group.waiting.pop(binding.pod, None)
            if shown is user:  # until a watch shows it
                group.pods[binding.pod] = user
            self._stop_waiting(group)

    def waits_for(self, binding: Binding) -> str:
        """The first of its groups without a device counts."""
        groups = (self._groups.get(name) for name in _groups_of(binding))
        group = next((each for each in groups if each is not None and not each.device), None)
        if group is None:
            return "the labels of its GPUs" if not self.copies_labels else self.what
        name = f"{self._reservations.namespace}/{reservation_name(group.node, group.name)}"
        if group.reservation is not None or group.is_made:
            return f"the reservation pod {name} to report its GPU"
        if self._is_being_freed(group.node):
            return f"a GPU of node {group.node} that is about to be free"
        return f"the creation of the reservation pod {name}"

    # ---- inside ----------------------------------------------------------------------------------

    def _ended(self, step: DevicesOfPod) -> None:
        if self._steps.get(step.binding.pod) is step:
            del self._steps[step.binding.pod]

    def _group(self, name: str) -> _Group:
        return self._groups.setdefault(name, _Group(name))

    def _place(self, group: _Group, node: str) -> None:
        if not group.node and node:
            group.node = node
            self._on_node.setdefault(node, {})[group.name] = None

    def _drop(self, group: _Group) -> None:
        del self._groups[group.name]
        self._timers.clear(group.name)
        of_node = self._on_node.get(group.node, {})
        of_node.pop(group.name, None)
        if not of_node:
            self._on_node.pop(group.node, None)

    def _join(self, group: _Group, user: GpuUser) -> None:
        self._place(group, user.node)
        if not user.is_reservation:
            if user.phase in _ALIVE:
                group.pods[user.name] = user
            return
        known = group.reservation
        if known is None or known.name == user.name or (user.device and not known.device):
            if known is None or known.uid != user.uid:
                group.is_ending = False
            if group.is_made:
                group.shown_by = None
            group.reservation, group.is_made, group.failures = user, False, 0

    def _leave(self, group: _Group, before: GpuUser) -> None:
        group.pods.pop(before.name, None)
        if group.reservation is not None and group.reservation.name == before.name:
            group.reservation, group.is_ending, group.shown_by = None, False, None

    def _stop_waiting(self, group: _Group) -> None:
        if not group.waiting:
            group.ends = None
            self._time(group)

    def _settle(self, groups: Iterable[str]) -> None:
        """Takes the next steps for these groups."""
        for name in groups:
            group = self._groups.get(name)
            if group is None:
                continue
            if group.is_empty:
                self._drop(group)
            elif self._acts:
                self._settle_one(group)
                self._time(group)

    def _settle_one(self, group: _Group) -> None:
        held, now = group.reservation, self.courses.now
        has_lost = not group.device and self._fail_losers(group)
        may_try = group.not_before is None or now >= group.not_before
        if held is None:
            if not may_try or group.is_made:
                return
            if _placed(group):
                self._look(group)
            elif not has_lost and group.waiting:
                self._reserve(group)
        elif held.phase in _ENDED:
            if may_try and not held.is_leaving:
                self._delete(group)
            self._fail(group, f"GPU reservation pod {held.name} has failed on node {held.node}")
        elif group.waiting:
            if group.device:
                group.ends = None
            else:
                self._begin_to_wait(group)
            for step in group.waiting.values():
                step.until.wake()
                if step.devices and group.device and step.devices != self.of(step.binding):
                    step.course.fail(_text(step.binding, group.name, GONE))
        elif not group.pods and not held.is_leaving and may_try and not self._wanted[group.name]:
            self._delete(group)

    def _fail(self, group: _Group, why: str) -> None:
        """The pods that wait for the device, or have it and are not bound, are not bound."""
        for step in group.waiting.values():
            step.course.fail(_text(step.binding, group.name, why))

    def _fail_losers(self, group: _Group) -> bool:
        """The reservation of the group is gone, or about to be: bindings that have its device fail.
        Pods whose binding was sent are deleted when they are on the node, and get no other device
        until then. Returns whether there are any of both."""
        lost = [each for each in group.waiting.values() if each.devices]
        for each in lost:
            each.course.fail(_text(each.binding, group.name, GONE))
        return bool(lost)

    def _begin_to_wait(self, group: _Group) -> None:
        if group.ends is None:
            group.ends = self.courses.now + self._reservations.timeout

    def _is_being_freed(self, node: str) -> bool:
        """Whether a device of the node is about to be released: the kubelet may have no other
        one."""
        return any(self._groups[name].is_ending for name in self._on_node.get(node, ()))

    def _reserve(self, group: _Group) -> None:
        if self._is_scaling_up:
            self._fail(group, SCALING_UP)
        elif not self._is_being_freed(group.node):
            group.is_made, group.not_before, group.shown_by = True, None, None
            group.ends = None  # its time starts with the answer, as it may wait long to be sent
            self.courses.start(self._create(group))

    async def _create(self, group: _Group) -> None:
        body = reservation_pod(group.node, group.name, group.tolerations, self._reservations)
        where = body["metadata"]["namespace"], body["metadata"]["name"]
        write = Write(Lane.BINDING, "create", "Pod", *where, body, about=_Wanted(group))
        outcome = await Send(write)
        if outcome.result in (Result.DONE, Result.CONFLICT, Result.REPLACED):
            # A conflict: it exists, and a watch will show it.
            group.shown_by = self.courses.now + READ_AFTER_S
            if group.waiting and not group.device:
                self._begin_to_wait(group)
            self._time(group)
            return
        group.is_made = False
        may_come = outcome.result in (Result.FAILED, Result.LOST)
        if outcome.reason == NOT_LEADING:
            for step in group.waiting.values():
                step.course.lose_lead()
        elif may_come and outcome.refusal is None:
            group.pause(self.courses.now)
        else:
            self._fail(group, answer_of(outcome))
        self._time(group)

    def _delete(self, group: _Group) -> None:
        held = group.reservation
        assert held is not None
        if not group.is_ending:
            group.is_ending, group.not_before = True, None
            self.courses.start(self._end(group, held))

    async def _end(self, group: _Group, held: GpuUser) -> None:
        outcome = await Send(_deletion(held))
        if group.reservation is None or group.reservation.uid != held.uid:
            return
        if outcome.result in (Result.DONE, Result.GONE):
            group.shown_by = self.courses.now + READ_AFTER_S
        else:
            group.is_ending = False
            group.pause(self.courses.now)
        self._time(group)

    def _give_up(self, group: _Group) -> None:
        """The program did not answer in time (spec 3 B12)."""
        group.ends = None
        name = f"{self._reservations.namespace}/{reservation_name(group.node, group.name)}"
        held = group.reservation
        if held is not None and not held.is_leaving:
            self._delete(group)
        group.is_made = False
        self._fail(group, f"failed waiting for GPU reservation pod to allocate: {name}")

    def _look(self, group: _Group) -> None:
        if not group.is_being_read:
            group.is_being_read = True
            self.courses.start(self._read(group))

    async def _read(self, group: _Group) -> None:
        """Whether its reservation exists."""
        selector = group_selector(group.name)
        found = await Find(Read("Pod", self._reservations.namespace, selector=selector))
        if self._groups.get(group.name) is not group:
            return
        group.is_being_read = False
        group.not_before = self.courses.now + LOOK_AGAIN_S
        self._time(group)
        if any(each["metadata"]["namespace"] == self._reservations.namespace for each in found):
            return  # no watch has shown it yet
        if group.is_made and group.shown_by is not None:
            group.is_made, group.not_before, group.shown_by = False, None, None
            self._problem(f"the reservation of GPU group {group.name} was not created")
            self._settle([group.name])
        elif group.reservation is None and not group.is_made:
            for name in _placed(group):
                self.courses.start(self._delete_user(group.pods[name]))

    async def _delete_user(self, user: GpuUser) -> None:
        why = f"its GPU reservation on node {user.node} no longer exists"
        self._problem(f"Pod {user.name} is deleted: {why}")
        await Send(_pod_deletion(user))

    def _look_for_result(self, group: _Group) -> None:
        """An accepted creation or deletion that no watch has shown: the creation is looked for, the
        deletion repeated."""
        if group.is_made and group.reservation is None:
            self._look(group)
        elif group.is_ending:
            group.is_ending, group.shown_by = False, None
            self._settle([group.name])

    def _time(self, group: _Group) -> None:
        """Sets the timer of the group."""
        if self._groups.get(group.name) is not group:
            return  # it was removed, and a new one may have its name
        times = [at for at in (group.ends, group.not_before, group.shown_by) if at is not None]
        if times:
            self._timers.set(group.name, min(times))
        else:
            self._timers.clear(group.name)


class DevicesOfPod:
    """A step. `until`: it waits for its devices. `devices`: their UUIDs, once all are known.
    `is_gone`: its pod is."""

    def __init__(self, devices: SharedDevices, course: PodCourse, pod: Pod) -> None:
        self._devices = devices
        self.course, self.binding = course, course.binding
        self.groups = _groups_of(course.binding)
        self.tolerations: Sequence[Mapping[str, Any]] = pod.get("spec", {}).get("tolerations") or ()
        self._earlier = [each for each in labels_of(pod) if each.startswith(keys.GPU_GROUP_LABEL)]
        self.until = Until()
        self.devices: list[str] = []
        self.is_gone = self._is_labelled = False

    @property
    def waits_for(self) -> str:
        return self._devices.waits_for(self.binding)

    async def reserve(self) -> None:
        if not self.groups:
            raise Refused("no SelectedGPUGroups for fractional pod: invalid binding request")
        self._devices.enter(self)
        while not all(self._devices.of(self.binding)):
            self.until = Until()
            await self.until
        self.devices = self._devices.of(self.binding)
        if self._devices.copies_labels:
            return
        self._is_labelled = True
        labels = {**dict.fromkeys(self._earlier), **gpu_labels(self.binding.spec)}
        outcome = await Send(_label(self.course, labels))
        check_lease(outcome)
        if outcome.result is not Result.DONE:
            self._is_labelled = _may_be_applied(outcome)
            raise Refused(_text(self.binding, "", answer_of(outcome)))

    def leave(self) -> None:
        self._devices.forget(self)

    async def unreserve(self) -> None:
        self._devices.leave(self)
        failures = 0
        while self._is_labelled:
            outcome = await Send(_label(self.course, dict.fromkeys(gpu_labels(self.binding.spec))))
            check_lease(outcome)
            self._is_labelled = _may_be_applied(outcome)
            if self._is_labelled:
                await Until(self.course.courses.now + wait_of(failures))
                failures += 1

    def keep(self) -> None:
        self._devices.occupy(self)


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """What a creation is about: the pods that wait for it, while it waits itself."""

    group: _Group

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """As in kai.api.writes."""
        return self.group.pods_waiting


def _groups_of(binding: Binding) -> list[str]:
    return list(binding.spec.get("selectedGPUGroups") or ())


def _placed(group: _Group) -> list[str]:
    """Pods on the device. KAI counts running pods (spec 6 C57); a pod that is about to start has
    the same device in its ConfigMap."""
    return [name for name, user in group.pods.items() if user.node]


def _text(binding: Binding, group: str, why: str) -> str:
    where = f" in gpu group <{group}>" if group else ""
    return f"failed to reserve GPUs for pod <{binding.pod}>{where}: {why}"


def _may_be_applied(outcome: Outcome) -> bool:
    """Whether labels may be as before the request, or as after it."""
    return outcome.result in (Result.FAILED, Result.LOST)


def _label(course: PodCourse, labels: Mapping[str, str | None]) -> Write:
    binding = course.binding
    body = {"metadata": {"uid": binding.uid, "labels": dict(labels)}}
    where = (binding.namespace, binding.own_name, body)
    return Write(Lane.BINDING, "patch", "Pod", *where, "status", about=course)


def _deletion(user: GpuUser) -> Write:
    """Deletes a reservation pod at once."""
    namespace, _, name = user.name.partition("/")
    options = delete_options(user.uid, gracePeriodSeconds=0)
    return Write(Lane.BINDING, "delete", "Pod", namespace, name, options)


def _pod_deletion(user: GpuUser) -> Write:
    namespace, _, name = user.name.partition("/")
    return Write(Lane.EVICTION, "delete", "Pod", namespace, name, delete_options(user.uid))
