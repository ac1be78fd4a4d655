"""Reserves devices for pods that share them (spec 6 C55-C58, spec 3 B9-B16).

    devices = SharedDevices(courses, problems, Reservations(image="..."))
    devices.saw(users, acts=True)                # pods on shared devices that changed
    devices.step(course, pod)                    # a reserver of kai.controllers.pods.course
    devices.of(binding)                          # the UUIDs of its devices, once they are reserved

A reservation pod is created for the first pod of a GPU group and deleted with the last one
(`GpuGroup`). Groups do not wait for each other: a slow or failed program delays only the pods of
its own group.

Pods are known from one watch, in its order, so a pod is never seen on a device before the
reservation that it was bound with. A list is an exception: the other pods of a group may come
first. Before pods are deleted because their reservation is gone, that reservation is therefore read
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kai.api import keys
from kai.api.reading import labels_of
from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.courses import Courses, Send, Until
from kai.controllers.pods.course import (
    Pod,
    PodCourse,
    Refused,
    answer_of,
    check_lease,
    wait_of,
)
from kai.controllers.pods.decisions import PART_OF_A_GPU, Binding
from kai.controllers.pods.sharing.gpu_group import GpuGroup, GpuGroups, GpuUser, Problem
from kai.controllers.pods.sharing.labels import gpu_labels
from kai.controllers.pods.sharing.reservation_pod import Reservations

GONE = "the GPU reservation pod no longer exists"


class SharedDevices:
    """A reserver. `problems`: gets messages for the log. `reservations`: the settings and the time
    limit of reservation pods. `copies_labels`: the API server copies labels of a Binding to its
    pod; otherwise a patch sets them before."""

    what = PART_OF_A_GPU

    def __init__(
        self,
        courses: Courses,
        problems: Problem,
        reservations: Reservations,
        *,
        copies_labels: bool = True,
    ) -> None:
        self.courses, self.copies_labels = courses, copies_labels
        self._groups = GpuGroups(courses, problems, reservations)
        self._of_pod: dict[str, GpuUser] = {}  # the last state in a watch
        self._steps: dict[str, DevicesOfPod] = {}  # of pods that are not bound, by pod
        self._requests: dict[str, Sequence[str]] = {}  # groups of open BindRequests

    def __len__(self) -> int:
        """The number of known GPU groups."""
        return len(self._groups.by_name)

    def of(self, binding: Binding) -> list[str]:
        """The UUIDs of the devices of a binding that has them, in the order of its groups."""
        return [self._groups.by_name[group].device for group in _groups_of(binding)]

    # ---- what happens ----------------------------------------------------------------------------

    def scales_up(self, is_scaling_up: bool) -> None:
        """Whether a pod that makes the cluster grow waits for a node: until it has one, no new
        device is reserved (spec 3 B10)."""
        self._groups.is_scaling_up = is_scaling_up

    def saw(self, users: Iterable[GpuUser], *, acts: bool) -> None:
        """Pods on shared devices changed or were deleted. `acts`: this process manages reservations
        and has read all pods and BindRequests: it deletes reservations that nothing needs."""
        groups = self._groups
        for user in users:
            before = self._of_pod.pop(user.name, GpuUser(user.name))
            if user.groups:
                self._of_pod[user.name] = user
            else:
                groups.deleted.pop(user.name, None)
            for name in dict.fromkeys((*before.groups, *user.groups)):
                groups.get(name).show(user)
            if before.is_reservation and not user.groups:  # others may have waited for its device
                groups.wake(groups.on_node.get(before.node, ()))
        if acts and not groups.acts:
            groups.wake(groups.by_name)
        groups.acts = acts

    def pod_gone(self, pod: str, uid: str) -> None:
        """A pod of ours is gone; maybe no watch ever showed it in its groups. The answer to its
        binding may still come."""
        step = self._steps.get(pod)
        if step is not None and step.binding.uid == uid:
            step.is_gone = True
        known = self._of_pod.get(pod)
        if known is not None and known.uid == uid:
            self.saw([GpuUser(pod)], acts=self._groups.acts)

    def request_changed(self, name: str, groups: Sequence[str]) -> None:
        """An open BindRequest keeps its reservations. `groups`: empty if it is over or deleted."""
        before, wanted = self._requests.pop(name, ()), self._groups.wanted
        if groups:
            self._requests[name] = groups
        wanted.update(groups)
        wanted.subtract(before)
        left = [each for each in before if not wanted[each]]
        for group in left:
            del wanted[group]
        self._groups.wake(left)

    # ---- a reserver ------------------------------------------------------------------------------

    def needs(self, binding: Binding) -> bool:
        return PART_OF_A_GPU in binding.needs

    def step(self, course: PodCourse, pod: Pod) -> DevicesOfPod:
        return DevicesOfPod(self, course, pod)

    def enter(self, step: DevicesOfPod) -> None:
        """The pod needs the devices of its groups."""
        self._steps[step.binding.pod] = step
        for name in step.groups:
            self._groups.get(name).need(step)

    def lead_again(self) -> None:
        """A new term: nothing is created or deleted before all lists were read again."""
        self._groups.acts = False

    def leave(self, step: DevicesOfPod) -> None:
        """The pod is not bound, or gone."""
        self.forget(step)
        self._groups.wake(step.groups)

    def forget(self, step: DevicesOfPod) -> None:
        """The same, if another process may lead: nothing is deleted for it."""
        self._ended(step)
        for name in step.groups:
            group = self._groups.by_name.get(name)
            if group is not None and group.waiting.get(step.binding.pod) is step:
                del group.waiting[step.binding.pod]
                if group.is_empty:
                    group.wake()

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
            group = self._groups.get(name)
            group.waiting.pop(binding.pod, None)
            if shown is user:  # until a watch shows it
                group.users[binding.pod] = user
            group.wake()

    def waits_for(self, binding: Binding) -> str:
        """The first of its groups without a device counts."""
        groups = map(self._groups.by_name.get, _groups_of(binding))
        group = next((each for each in groups if each is not None and not each.device), None)
        if group is None:
            return "the labels of its GPUs" if not self.copies_labels else self.what
        if group.reservation is not None or group.doing == "creates":
            return f"the reservation pod {group.reservation_name} to report its GPU"
        if self._groups.is_being_freed(group.node):
            return f"a GPU of node {group.node} that is about to be free"
        return f"the creation of the reservation pod {group.reservation_name}"

    def _ended(self, step: DevicesOfPod) -> None:
        if self._steps.get(step.binding.pod) is step:
            del self._steps[step.binding.pod]


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

    def look(self, group: GpuGroup) -> None:
        """The device of the group may be known, or lost."""
        if self.devices and self.devices != self._devices.of(self.binding):
            self.fail(group, GONE)
        elif group.device:
            self.until.wake()

    def fail(self, group: GpuGroup, why: str) -> None:
        self.course.fail(_text(self.binding, group.name, why))

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


def _groups_of(binding: Binding) -> list[str]:
    return list(binding.spec.get("selectedGPUGroups") or ())


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
