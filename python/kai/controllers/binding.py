"""Carries out a plan: creates pod groups, binds pods, deletes victims.

    binder = Binder()
    steps = binder.begin(now, bindings, evictions)    # writes to send
    steps = binder.answered(now, write, outcome)      # the next steps after each answer

No I/O. For each binding and each eviction the engine holds an assumption
(cpp/kai/engine/assumptions.h); it ends when a watch shows the result, or when this module ends it:

- A pod group that exists only in memory is created before its first pod is bound, so a process that
  ends in between leaves no pod in a missing group.
- kai.controllers.bindings follows a binding; with `by="bind-requests"` a BindRequest is created
  instead, which kai.controllers.binder, or KAI's binder, carries out.
- A binding that waits to be sent is held back when its node changes (`hold`), until the planning
  thread has checked whether it is still valid (`Steps.to_check`, `checked`).

kai.controllers.evicting handles victims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal

from kai.api import keys
from kai.api.writes import Outcome, Result, Write
from kai.controllers import bind_requests
from kai.controllers.bind_requests import Request, Requesting, Requests, Target
from kai.controllers.bindings import Binding, Bindings, Steps, wait_of
from kai.controllers.evicting import Evictor, Leaving, Removal
from kai.controllers.grouper import Assignment, GroupChange
from kai.controllers.preparing import Prepared, Preparing
from kai.controllers.sharing.labels import gpu_labels
from kai.controllers.verdicts import orders

__all__ = ["WAIT_BEFORE_WRITING_S", "Binder", "Binding", "How", "Steps"]

How = Literal["direct", "bind-requests"]
WAIT_BEFORE_WRITING_S = 1.0
"""A pod that waits longer gets writes: its group is created, and the pod names it."""


@dataclass(slots=True)
class _Group:
    """A pod group that the API server does not have yet, as far as is known."""

    change: GroupChange
    is_being_created: bool = False
    is_wanted: bool = False  # although no pod waits for it
    failures: int = 0
    not_before: float = 0.0  # after a failure
    later: list[GroupChange] = field(default_factory=list)  # arrived during the creation
    bindings: list[Binding] = field(default_factory=list)  # sent once it exists
    patches: list[Assignment] = field(default_factory=list)

    @property
    def is_due(self) -> bool:
        """Whether it must be created, as soon as that may be tried."""
        return bool(self.bindings or self.patches or self.is_wanted)


class Binder:
    """`by`: how pods are bound. `copies_labels`: the API server copies labels of a Binding to the
    pod (from 1.35 on). `eviction`: how victims are deleted. `wait`: how long a pod waits before it
    names its group. `pool_key` and `pool`: the node pool of this scheduler. `preparing`: what pods
    get before they are bound directly."""

    def __init__(
        self,
        *,
        by: How = "direct",
        copies_labels: bool = True,
        eviction: orders.How = "delete",
        wait: float = WAIT_BEFORE_WRITING_S,
        pool_key: str = keys.NODE_POOL_LABEL,
        pool: str = "",
        preparing: Preparing | None = None,
    ) -> None:
        self._copies_labels, self._wait = copies_labels, wait
        self._pool_key, self._pool = pool_key, pool
        self._evictor = Evictor(eviction)
        self._by = by
        if by == "direct":
            self._ways = Bindings(self._binding, preparing)
        else:
            self._ways = Requesting(self._request)
        self._requests = Requests(self._ways, pool)
        self._groups: dict[str, _Group] = {}  # by "namespace/name"
        self._assigned: dict[str, tuple[float, Assignment]] = {}  # by pod, oldest first
        self._late: set[str] = set()  # groups whose creation failed

    # ---- what is known -------------------------------------------------------------------------

    def is_planned(self, group: str) -> bool:
        return group in self._groups

    @property
    def under_way(self) -> int:
        return len(self._ways) + len(self._evictor)

    @property
    def in_doubt(self) -> int:
        """The number of pods that a request without an answer may still bind."""
        return self._ways.in_doubt

    def held_back(self) -> list[str]:
        """Pods that are not bound for now, whatever a plan decides: their last binding failed a
        moment ago."""
        return self._ways.held_back()

    def add_group(self, change: GroupChange) -> None:
        """A group in the plan, which is created when one of its pods is bound or waits; or a patch
        of a planned one."""
        known = self._groups.get(change.name)
        if known is None:
            self._groups[change.name] = _Group(GroupChange(change.manifest))
        elif not known.is_being_created:
            known.change = GroupChange(change.manifest)
        elif change.patch is not None:
            known.later.append(change)

    def create(self, name: str) -> None:
        """The next tick creates a planned group whose pods name it already: it was deleted."""
        self._groups[name].is_wanted = True
        self._late.add(name)

    def assign(self, now: float, assignment: Assignment) -> None:
        """A pod that does not name its group yet."""
        self._assigned.pop(assignment.pod, None)
        self._assigned[assignment.pod] = (now, assignment)

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod with that UID is gone; a new one may have its name."""
        self._evictor.pod_gone(pod, uid)
        self._requests.pod_gone(pod, uid)
        _, assigned = self._assigned.get(pod, (0, None))
        if assigned is not None and assigned.uid != uid:
            return
        if self._ways.gone(pod, uid):
            self._assigned.pop(pod, None)

    # ---- decisions -----------------------------------------------------------------------------

    def begin(
        self, now: float, stamp: str, bindings: Iterable[Binding], removals: Iterable[Removal]
    ) -> Steps:
        """Evictions and bindings of a plan. `stamp`: the time of the plan, for new groups."""
        steps = _steps_of(self._evictor.begin(removals))
        for binding in bindings:
            self._ways.add(binding)
            self._assigned.pop(binding.pod, None)
            if self._ways.parks(binding):
                continue
            if self._by == "bind-requests" and self._requests.of(binding.pod) is not None:
                # It has failed, and is about to be deleted
                self._ways.fail(now, steps, binding, "")
            elif lacks := self._ways.lacks(binding):
                self._ways.fail(now, steps, binding, f"kai does not support {lacks} yet")
            else:
                self._start(now, stamp, binding, steps)
        return self._with_names(now, steps)

    def _start(self, now: float, stamp: str, binding: Binding, steps: Steps) -> None:
        group = self._group_of(binding.pod, binding.group)
        if group is None:
            steps.writes += self._with_assignment(now, binding)
            return
        group.bindings.append(binding)
        if not group.is_being_created and now >= group.not_before:
            steps.writes.append(_creation(group, stamp))

    def tick(self, now: float) -> Steps:
        """Pods that have waited for a second name their groups, which are created before. Retries
        what failed or was in doubt."""
        steps = Steps()
        self._ways.tick(now, steps)
        for pod, (since, assignment) in list(self._assigned.items()):
            if now - since < self._wait:
                break
            group = self._group_of(pod, assignment.group)
            if group is None:
                del self._assigned[pod]
                steps.writes += filter(None, [assignment.write()])
            else:
                del self._assigned[pod]
                group.patches.append(assignment)
                if not group.is_being_created and now >= group.not_before:
                    steps.writes.append(_creation(group))
        for name in list(self._late):
            late = self._groups.get(name)
            if late is None or late.is_being_created:
                self._late.discard(name)
            elif now >= late.not_before and late.is_due:
                self._late.discard(name)
                steps.writes.append(_creation(late))
        return steps

    def next_tick(self) -> float | None:
        """The time of the next `tick`; None: no tick is needed before another event."""
        times = [
            each for each in (self._ways.next_tick(), self._requests.next()) if each is not None
        ]
        times += [since + self._wait for since, _ in islice(self._assigned.values(), 1)]
        for name in self._late:
            group = self._groups.get(name)
            if group is not None and group.is_due:
                times.append(group.not_before)
        return min(times, default=None)

    def hold(self, nodes: Iterable[str], unsent: Iterable[Write]) -> Steps:
        """These nodes changed. `unsent`: bindings to them that the writer returned; those that wait
        for their group are held back as well."""
        steps = Steps()
        changed = frozenset(nodes)
        waiting: list[Binding] = [each.about for each in unsent]
        for group in self._groups.values():
            if group.bindings:
                waiting += (each for each in group.bindings if each.node in changed)
                group.bindings = [each for each in group.bindings if each.node not in changed]
        steps.to_check += (each for each in waiting if self._ways.is_current(each))
        self._requests.nodes_changed(changed)
        return steps

    def checked(
        self, now: float, stamp: str, to_check: Iterable[Binding], broken: Iterable[int]
    ) -> Steps:
        """Of the bindings in `Steps.to_check`, those with these assumptions are not valid any
        more: they are taken back, and the others are sent. The planning thread has dropped the
        assumptions itself."""
        steps = Steps()
        gone = frozenset(broken)
        for binding in to_check:
            if not self._ways.is_current(binding):
                continue  # decided again, or the pod is gone
            if binding.assumption not in gone:
                self._start(now, stamp, binding, steps)
                continue
            self._ways.drop(binding)
            if not binding.names_group:
                self.assign(now, _assignment_of(binding))
        return steps

    def prepared(self, now: float, prepared: Prepared) -> Steps:
        """Pods got what they need before their binding, or will not get it; other bindings are
        ignored."""
        steps = self._ways.prepared(now, prepared)
        for binding, pod in prepared.seen:
            steps.add(self._ways.seen(now, binding, pod))
        return self._with_names(now, steps)

    # ---- BindRequests --------------------------------------------------------------------------

    def request_seen(self, now: float, request: Request) -> Steps:
        """A watch has shown a BindRequest, of this process or of another one."""
        return self._requests.put(now, request)

    def request_gone(self, name: str, uid: str) -> None:
        self._requests.gone(name, uid)

    def requests_to_check(self, now: float) -> list[Request]:
        """The BindRequests that the planning thread must check; for `request_checked`."""
        return self._requests.take(now)

    def request_checked(self, now: float, request: Request, target: Target) -> Steps:
        return self._requests.checked(now, request, target)

    # ---- answers -------------------------------------------------------------------------------

    def answered(self, now: float, write: Write, outcome: Outcome) -> Steps:
        """The next steps after the answer to one of its writes."""
        about = write.about
        if isinstance(about, Binding):
            return self._with_names(now, self._ways.answered(now, about, outcome))
        if isinstance(about, _Group):
            return self._created(now, about, outcome)
        if isinstance(about, Assignment):
            return self._patched(now, about, outcome)
        self._requests.answered(now, write, outcome)
        return _steps_of(self._evictor.answered(write, outcome))

    def seen(self, now: float, binding: Binding, found: Mapping[str, Any] | None) -> Steps:
        """The result of a read in `Steps.look`; None: the object is gone."""
        return self._with_names(now, self._ways.seen(now, binding, found))

    def _patched(self, now: float, assignment: Assignment, outcome: Outcome) -> Steps:
        if outcome.result in (Result.FAILED, Result.LOST):
            self.assign(now, assignment)
        elif outcome.result is Result.REFUSED:
            return Steps(problems=[f"Pod {assignment.pod} cannot be patched: {outcome.message}"])
        return Steps()

    def _created(self, now: float, group: _Group, outcome: Outcome) -> Steps:
        name = group.change.name
        if outcome.result in (Result.DONE, Result.CONFLICT):  # a conflict: it exists already
            self._groups.pop(name, None)
            if outcome.result is Result.CONFLICT:
                group.later.clear()  # the grouper compares it with the existing one
            return self._go_on(now, group)
        steps = Steps()
        group.is_being_created = False
        for each in group.later:
            group.change = GroupChange(each.manifest)
        group.later.clear()
        group.failures += 1
        if outcome.result is Result.LOST:  # an object with a fixed name is created only once
            group.not_before = now + wait_of(group.failures - 2)
            self._late.add(name)
            return self.tick(now)
        group.not_before = now + wait_of(group.failures - 1)
        self._late.add(name)
        why = f"its pod group cannot be created: {outcome.message}"
        for binding in group.bindings:
            if self._ways.is_current(binding):
                self._ways.fail(now, steps, binding, why)
                group.patches.append(_assignment_of(binding))
        group.bindings.clear()
        if outcome.result is Result.GONE:  # its namespace is gone
            self._groups.pop(name, None)
        return steps

    def _go_on(self, now: float, group: _Group) -> Steps:
        """The group exists: its pods are bound, and waiting ones name it."""
        steps = Steps(writes=[each.write() for each in group.later])
        group.later.clear()
        for binding in group.bindings:
            if self._ways.is_current(binding):
                steps.writes += self._with_assignment(now, binding)
        steps.writes += filter(None, (each.write() for each in group.patches))
        group.bindings.clear()
        group.patches.clear()
        return steps

    def _with_names(self, now: float, steps: Steps) -> Steps:
        """A binding sets the name of the group, a BindRequest does not: pods whose binding failed
        get it later."""
        for binding, _ in steps.failed if self._by == "direct" else ():
            if not binding.names_group and binding.pod not in self._assigned:
                self.assign(now, _assignment_of(binding))
        return steps

    def _group_of(self, pod: str, group: str) -> _Group | None:
        return self._groups.get(f"{pod.partition('/')[0]}/{group}")

    # ---- writes --------------------------------------------------------------------------------

    def _with_assignment(self, now: float, binding: Binding) -> list[Write]:
        """The request, after a patch of the pod's group fields if the request cannot set them."""
        writes = self._ways.begin(now, binding)
        brings_all = self._by == "direct" and (self._copies_labels or not binding.subgroup)
        if not binding.names_group and not brings_all:
            writes[:0] = filter(None, [_assignment_of(binding).write()])
        return writes

    def _request(self, binding: Binding) -> Write:
        return bind_requests.creation(binding, self._pool_key, self._pool)

    def _binding(self, binding: Binding) -> Write:
        annotations = {keys.RECEIVED_TYPE_ANNOTATION: "Regular", **binding.annotations}
        labels = gpu_labels(binding.spec) if self._copies_labels else {}
        if not binding.names_group:
            annotations[keys.POD_GROUP_ANNOTATION] = binding.group
            if binding.subgroup and self._copies_labels:
                labels[keys.SUBGROUP_LABEL] = binding.subgroup
        return orders.binding(
            *(binding.pod, binding.uid, binding.node),
            annotations=annotations,
            labels=labels,
            about=binding,
        )


def _steps_of(leaving: Leaving) -> Steps:
    return Steps(leaving.writes, leaving.forget, evicted=leaving.evicted, spared=leaving.spared)


def _creation(group: _Group, last_start: str = "") -> Write:
    group.is_being_created = True
    return replace(group.change.write(last_start=last_start), about=group)


def _assignment_of(binding: Binding) -> Assignment:
    patch: dict[str, Any] = {"annotations": {keys.POD_GROUP_ANNOTATION: binding.group}}
    if binding.subgroup:
        patch["labels"] = {keys.SUBGROUP_LABEL: binding.subgroup}
    return Assignment(binding.pod, binding.uid, binding.group, binding.subgroup, patch)
