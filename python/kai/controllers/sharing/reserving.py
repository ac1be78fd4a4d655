"""Reserves devices for pods that share them (spec 6 C55-C58, spec 3 B9-B16).

    devices = SharedDevices(Reservations(image="..."))
    devices.saw(now, users, acts=True)           # pods on shared devices that changed
    devices.give(now, binding, pod)              # a giver of kai.controllers.preparing
    devices.of(binding)                          # the UUIDs of its devices, once it is ready

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kai.api.writes import NOT_LEADING, Lane, Outcome, Read, Result, Write, delete_options
from kai.controllers.bindings import wait_of
from kai.controllers.one_binding import PART_OF_A_GPU, Binding
from kai.controllers.preparing import Given, Pod
from kai.controllers.sharing.labels import gpu_labels, group_selector
from kai.controllers.sharing.reservation_pod import (
    Reservations,
    reservation_name,
    reservation_pod,
)
from kai.controllers.unshown import READ_AFTER_S
from kai.controllers.verdicts.pace import Timers

SCALING_UP = "cluster is scaling up, could not create reservation pod"
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
    `waiting`: by pod, bindings that have or need the device. `pods`: running or starting pods in
    the group. `is_made`: the creation of the reservation was sent, and no watch has shown it yet.
    `is_ending`: its deletion was sent. `ends`: deadline for the answer of its program; None: no
    binding waits for it, or the API server has not created it yet. `not_before`: after a failed
    write, and after a read. `shown_by`: when a watch must have shown an accepted creation or
    deletion."""

    name: str
    node: str = ""
    reservation: GpuUser | None = None
    waiting: dict[str, Binding] = field(default_factory=dict)
    pods: dict[str, GpuUser] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()
    is_made: bool = False
    is_ending: bool = False
    is_read: bool = False
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

    def pause(self, now: float) -> None:
        """A write failed; it is retried later."""
        self.not_before = now + wait_of(self.failures)
        self.failures += 1


class SharedDevices:
    """A giver. `reservations`: the settings and the time limit of reservation pods.
    `copies_labels`: the API server copies labels of a Binding to its pod; otherwise a patch sets
    them before."""

    what = PART_OF_A_GPU

    def __init__(self, reservations: Reservations, *, copies_labels: bool = True) -> None:
        self._reservations, self._copies_labels = reservations, copies_labels
        self._groups: dict[str, _Group] = {}
        self._of_pod: dict[str, GpuUser] = {}  # the last state in a watch
        self._on_node: dict[str, dict[str, None]] = {}  # the groups of each node
        self._requests: dict[str, Sequence[str]] = {}  # groups of open BindRequests
        self._wanted: Counter[str] = Counter()  # by group, the number of BindRequests that name it
        self._served: dict[str, list[str]] = {}  # the devices of bindings that are ready
        self._timers = Timers()  # of groups with a next step at a known time
        self._labelled: set[str] = set()  # pods whose labels exist or are being written
        self._acts = self._is_scaling_up = False

    def __len__(self) -> int:
        """The number of known GPU groups."""
        return len(self._groups)

    def of(self, binding: Binding) -> list[str]:
        """The UUIDs of the devices of a ready binding, in the order of its groups."""
        return [self._groups[group].device for group in _groups_of(binding)]

    # ---- what happens ----------------------------------------------------------------------------

    def scales_up(self, is_scaling_up: bool) -> None:
        """Whether a pod that makes the cluster grow waits for a node: until it has one, no new
        device is reserved (spec 3 B10)."""
        self._is_scaling_up = is_scaling_up

    def saw(self, now: float, users: Iterable[GpuUser], *, acts: bool) -> Given:
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
        return self._settle(now, touched)

    def pod_gone(self, now: float, pod: str, uid: str) -> Given:
        """A pod of ours is gone; maybe no watch ever showed it in its groups."""
        known = self._of_pod.get(pod)
        if known is None or known.uid != uid:
            return Given()
        return self.saw(now, [GpuUser(pod)], acts=self._acts)

    def request_changed(self, now: float, name: str, groups: Sequence[str]) -> Given:
        """An open BindRequest keeps its reservations. `groups`: empty if it is over or deleted."""
        before = self._requests.pop(name, ())
        if groups:
            self._requests[name] = groups
        self._wanted.update(groups)
        self._wanted.subtract(before)
        left = [each for each in before if not self._wanted[each]]
        for group in left:
            del self._wanted[group]
        return self._settle(now, left)

    # ---- a giver ---------------------------------------------------------------------------------

    def needs(self, binding: Binding) -> bool:
        return PART_OF_A_GPU in binding.needs

    def give(self, now: float, binding: Binding, pod: Pod) -> Given:
        groups = _groups_of(binding)
        if not groups:
            why = "no SelectedGPUGroups for fractional pod: invalid binding request"
            return Given(failed=[(binding, why)])
        for name in groups:
            group = self._group(name)
            self._place(group, binding.node)
            group.waiting[binding.pod] = binding
            if not group.tolerations:
                group.tolerations = pod.get("spec", {}).get("tolerations") or ()
            if not group.is_made:
                self._begin_to_wait(now, group)
        return self._settle(now, groups)

    def waits_for(self, binding: Binding) -> str:
        """The first of its groups without a device counts."""
        groups = (self._groups.get(name) for name in _groups_of(binding))
        group = next((each for each in groups if each is not None and not each.device), None)
        if group is None:
            return "the labels of its GPUs" if not self._copies_labels else self.what
        name = f"{self._reservations.namespace}/{reservation_name(group.node, group.name)}"
        if group.reservation is not None or group.is_made:
            return f"the reservation pod {name} to report its GPU"
        if self._is_being_freed(group.node):
            return f"a GPU of node {group.node} that is about to be free"
        return f"the creation of the reservation pod {name}"

    def take_back(self, binding: Binding) -> Given:
        given = Given()
        self._served.pop(binding.pod, None)
        if binding.pod in self._labelled:
            self._labelled.discard(binding.pod)
            given.writes.append(_label(binding, dict.fromkeys(gpu_labels(binding.spec)), None))
        groups = _groups_of(binding)
        for name in groups:
            group = self._groups.get(name)
            known = None if group is None else group.waiting.get(binding.pod)
            if group is not None and known is not None and known.uid == binding.uid:
                del group.waiting[binding.pod]
                if not group.waiting:
                    group.ends = None
                    self._time(group)
        given.add(self._settle(None, groups))
        return given

    def keep(self, binding: Binding) -> None:
        self._labelled.discard(binding.pod)
        self._served.pop(binding.pod, None)
        groups = _groups_of(binding)
        user = GpuUser(binding.pod, binding.uid, binding.node, groups, "Pending")
        shown = self._of_pod.setdefault(binding.pod, user)
        for name in groups:
            group = self._group(name)
            group.waiting.pop(binding.pod, None)
            if shown is user:  # until a watch shows it
                group.pods[binding.pod] = user
            if not group.waiting:
                group.ends = None
                self._time(group)

    def answered(self, now: float, write: Write, outcome: Outcome) -> Given:
        about = write.about
        if isinstance(about, _Creation):
            return self._created(now, about.group, outcome)
        if isinstance(about, _Deletion):
            return self._deleted(now, about, outcome)
        if isinstance(about, _Labelling):
            if outcome.result is Result.DONE:
                return Given(ready=[about.binding])
            self._labelled.discard(about.binding.pod)
            return Given(failed=[(about.binding, _why(about.binding, "", outcome))])
        return Given()

    def read(self, now: float, read: Read, found: Any) -> Given:
        if not isinstance(read.about, _Look):
            return Given()
        group = self._groups.get(read.about.group)
        if group is None:
            return Given()
        group.is_read = False
        group.not_before = now + LOOK_AGAIN_S
        self._time(group)
        given = Given()
        if any(each["metadata"]["namespace"] == self._reservations.namespace for each in found):
            return given  # no watch has shown it yet
        if group.is_made and group.shown_by is not None:
            group.is_made, group.not_before, group.shown_by = False, None, None
            given.problems.append(f"the reservation of GPU group {group.name} was not created")
            given.add(self._settle(now, [group.name]))
            return given
        if group.reservation is None and not group.is_made:
            for name in _placed(group):
                given.writes.append(_pod_deletion(group.pods[name]))
                why = f"its GPU reservation on node {group.pods[name].node} no longer exists"
                given.problems.append(f"Pod {name} is deleted: {why}")
        return given

    def tick(self, now: float) -> Given:
        given = Given()
        for name in list(self._timers.pop(now)):
            group = self._groups.get(name)
            if group is None:
                continue
            if group.ends is not None and now >= group.ends:
                self._give_up(group, given)
            elif group.not_before is not None and now >= group.not_before:
                group.not_before = None
                given.add(self._settle(now, [name]))
            elif group.shown_by is not None and now >= group.shown_by:
                group.shown_by = now + 2 * READ_AFTER_S
                self._look_for_result(now, group, given)
            self._time(group)
        return given

    def next_tick(self) -> float | None:
        return self._timers.next()

    # ---- inside ----------------------------------------------------------------------------------

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

    def _settle(self, now: float | None, groups: Iterable[str]) -> Given:
        """Takes the next steps for these groups. Without a time, nothing new starts for waiting
        pods; the next tick does that."""
        given = Given()
        for name in groups:
            group = self._groups.get(name)
            if group is None:
                continue
            if group.is_empty:
                self._drop(group)
            elif self._acts:
                self._settle_one(now, group, given)
                self._time(group)
        return given

    def _settle_one(self, now: float | None, group: _Group, given: Given) -> None:
        held = group.reservation
        has_lost = not group.device and self._lose(group, given)
        may_try = group.not_before is None or (now is not None and now >= group.not_before)
        if held is None:
            if not may_try or group.is_made:
                return
            if _placed(group):
                self._look(group, given)
            elif has_lost:
                return
            elif group.waiting and now is not None:
                self._reserve(group, given)
        elif held.phase in _ENDED:
            if may_try and not held.is_leaving:
                self._delete(group, given)
            for binding in list(group.waiting.values()):
                why = f"GPU reservation pod {held.name} has failed on node {held.node}"
                given.failed.append((binding, _text(binding, group.name, why)))
        elif group.waiting:
            if group.device:
                group.ends = None
            elif now is not None:
                self._begin_to_wait(now, group)
            for binding in list(group.waiting.values()):
                self._finish(binding, given)
        elif not group.pods and not held.is_leaving and may_try and not self._wanted[group.name]:
            self._delete(group, given)

    def _lose(self, group: _Group, given: Given) -> bool:
        """Whether bindings have the device of a group whose reservation is gone. These bindings
        fail; pods whose binding was sent are deleted when they are on the node, and get no other
        device until then."""
        lost = [each for each in group.waiting.values() if each.pod in self._served]
        why = "the GPU reservation pod no longer exists"
        given.failed += ((each, _text(each, group.name, why)) for each in lost)
        return bool(lost)

    def _begin_to_wait(self, now: float, group: _Group) -> None:
        if group.ends is None:
            group.ends = now + self._reservations.timeout

    def _is_being_freed(self, node: str) -> bool:
        """Whether a device of the node is about to be released: the kubelet may have no other
        one."""
        return any(self._groups[name].is_ending for name in self._on_node.get(node, ()))

    def _finish(self, binding: Binding, given: Given) -> None:
        """The pod continues when all its devices are known."""
        devices = self.of(binding)
        if not all(devices) or binding.pod in self._served:
            return
        self._served[binding.pod] = devices
        if self._copies_labels:
            given.ready.append(binding)
        elif binding.pod not in self._labelled:
            self._labelled.add(binding.pod)
            about = _Labelling(binding)
            given.writes.append(_label(binding, gpu_labels(binding.spec), about))

    def _reserve(self, group: _Group, given: Given) -> None:
        if self._is_scaling_up:
            waiting = group.waiting.values()
            given.failed += ((each, _text(each, group.name, SCALING_UP)) for each in waiting)
        elif not self._is_being_freed(group.node):
            self._create(group, given)

    def _create(self, group: _Group, given: Given) -> None:
        group.is_made, group.not_before, group.shown_by = True, None, None
        group.ends = None  # its time starts with the answer, as it may wait long to be sent
        body = reservation_pod(group.node, group.name, group.tolerations, self._reservations)
        metadata = body["metadata"]
        given.writes.append(
            Write(
                *(Lane.BINDING, "create", "Pod", metadata["namespace"], metadata["name"], body),
                about=_Creation(group),
            )
        )

    def _created(self, now: float, group: _Group, outcome: Outcome) -> Given:
        given = Given()
        result = outcome.result
        if result in (Result.DONE, Result.CONFLICT, Result.REPLACED):
            # A conflict: it exists, and a watch will show it.
            group.shown_by = now + READ_AFTER_S
            self._time(group)
            if group.waiting and not group.device:
                self._begin_to_wait(now, group)
                self._time(group)
            return given
        group.is_made = False
        may_come = result in (Result.FAILED, Result.LOST) and outcome.reason != NOT_LEADING
        if may_come and outcome.refusal is None:
            group.pause(now)
        else:
            for binding in group.waiting.values():
                given.failed.append((binding, _why(binding, group.name, outcome)))
        self._time(group)
        return given

    def _delete(self, group: _Group, given: Given) -> None:
        held = group.reservation
        assert held is not None
        if not group.is_ending:
            group.is_ending, group.not_before = True, None
            given.writes.append(_deletion(held, _Deletion(group, held.uid)))

    def _deleted(self, now: float, deletion: _Deletion, outcome: Outcome) -> Given:
        group, held = deletion.group, deletion.group.reservation
        if held is None or held.uid != deletion.uid:
            return Given()
        if outcome.result in (Result.DONE, Result.GONE):
            group.shown_by = now + READ_AFTER_S
            self._time(group)
            return Given()
        group.is_ending = False
        group.pause(now)
        self._time(group)
        return Given()

    def _give_up(self, group: _Group, given: Given) -> None:
        """The program did not answer in time (spec 3 B12)."""
        group.ends = None
        name = f"{self._reservations.namespace}/{reservation_name(group.node, group.name)}"
        why = f"failed waiting for GPU reservation pod to allocate: {name}"
        held = group.reservation
        if held is not None and not held.is_leaving:
            self._delete(group, given)
        group.is_made = False
        for binding in group.waiting.values():
            given.failed.append((binding, _text(binding, group.name, why)))

    def _look(self, group: _Group, given: Given) -> None:
        if not group.is_read:
            group.is_read = True
            given.reads.append(
                Read(
                    *("Pod", self._reservations.namespace),
                    selector=group_selector(group.name),
                    about=_Look(group.name),
                )
            )

    def _look_for_result(self, now: float, group: _Group, given: Given) -> None:
        """An accepted creation or deletion that no watch has shown: the creation is looked for, the
        deletion repeated."""
        if group.is_made and group.reservation is None:
            self._look(group, given)
        elif group.is_ending:
            group.is_ending, group.shown_by = False, None
            given.add(self._settle(now, [group.name]))

    def _time(self, group: _Group) -> None:
        """Sets the timer of the group."""
        if self._groups.get(group.name) is not group:
            return  # it was removed, and a new one may have its name
        times = [at for at in (group.ends, group.not_before, group.shown_by) if at is not None]
        if times:
            self._timers.set(group.name, min(times))
        else:
            self._timers.clear(group.name)


@dataclass(frozen=True, slots=True, eq=False)
class _Creation:
    group: _Group

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """The pods that wait for the write (kai.api.writes)."""
        return [each.key for each in self.group.waiting.values()]


@dataclass(frozen=True, slots=True, eq=False)
class _Deletion:
    group: _Group
    uid: str


@dataclass(frozen=True, slots=True, eq=False)
class _Labelling:
    binding: Binding

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """The pods that wait for the write (kai.api.writes)."""
        return self.binding.pods


@dataclass(frozen=True, slots=True)
class _Look:
    group: str


def _groups_of(binding: Binding) -> list[str]:
    return list(binding.spec.get("selectedGPUGroups") or ())


def _placed(group: _Group) -> list[str]:
    """Pods on the device. KAI counts running pods (spec 6 C57); a pod that is about to start has
    the same device in its ConfigMap."""
    return [name for name, user in group.pods.items() if user.node]


def _text(binding: Binding, group: str, why: str) -> str:
    where = f" in gpu group <{group}>" if group else ""
    return f"failed to reserve GPUs for pod <{binding.pod}>{where}: {why}"


def _why(binding: Binding, group: str, outcome: Outcome) -> str:
    """Why the binding fails; "" if another process leads."""
    if outcome.reason == NOT_LEADING:
        return ""
    return _text(binding, group, outcome.message or "the API server did not answer")


def _label(binding: Binding, labels: Mapping[str, str | None], about: Any) -> Write:
    where = (binding.namespace, binding.own_name)
    body = {"metadata": {"uid": binding.uid, "labels": dict(labels)}}
    return Write(Lane.BINDING, "patch", "Pod", *where, body, "status", about=about)


def _deletion(user: GpuUser, about: Any) -> Write:
    """Deletes a reservation pod at once."""
    namespace, _, name = user.name.partition("/")
    options = delete_options(user.uid, gracePeriodSeconds=0)
    return Write(Lane.BINDING, "delete", "Pod", namespace, name, options, about=about)


def _pod_deletion(user: GpuUser) -> Write:
    namespace, _, name = user.name.partition("/")
    return Write(Lane.EVICTION, "delete", "Pod", namespace, name, delete_options(user.uid))
