"""Carrying out a plan: pod groups are created, pods are bound, victims are deleted.

    binder = Binder()
    steps = binder.begin(now, bindings, evictions)    # writes to send
    steps = binder.answered(now, write, outcome)      # and what follows from each answer

Nothing here does I/O. An assumption of the engine (cpp/kai/engine/assumptions.h) stands behind each
binding and each eviction; it ends when a watch shows that it happened, or when this says so:

- A pod group that exists only here is created before its first pod is bound, so that a process that
  ends in between leaves no pod in a group that is not there.
- A binding without an answer may have happened. The pod is read (`Steps.look`), and a pod that is
  not bound is bound again *to the same node*: whichever of the two requests comes first, no other
  node is used, and so no node is filled twice.
- A deletion without an answer is repeated: it names the pod's UID.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kai.api import keys
from kai.api.writes import Outcome, Result, Write
from kai.controllers.grouper import Assignment, GroupChange
from kai.controllers.verdicts import Eviction, orders

WAIT_BEFORE_WRITING_S = 1.0
"""A pod that waits longer is written about: its group is created, and it names the group."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A pod that is about to be bound. `pod` is "namespace/name"; `group` is the name of its group,
    and `names_group` says whether the pod itself has it already."""

    pod: str
    uid: str
    node: str
    assumption: int
    group: str
    subgroup: str = ""
    names_group: bool = True
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Removal:
    """A victim that is about to be deleted."""

    order: Eviction
    assumption: int


@dataclass(slots=True)
class Steps:
    """What follows.

    `forget`: assumptions that did not come true. `look`: pods to read, whose JSON goes to `seen`.
    `bound`: bindings that succeeded. `failed`: bindings that did not, each with the reason.
    `evicted` and `spared`: the same of evictions. `problems`: sentences for the log.
    """

    writes: list[Write] = field(default_factory=list)
    forget: list[int] = field(default_factory=list)
    look: list[Binding] = field(default_factory=list)
    bound: list[Binding] = field(default_factory=list)
    failed: list[tuple[Binding, str]] = field(default_factory=list)
    evicted: list[Removal] = field(default_factory=list)
    spared: list[tuple[Removal, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Group:
    """A pod group that the API server does not have yet, as far as is known."""

    change: GroupChange
    is_being_created: bool = False
    not_before: float = 0.0  # after a failure
    bindings: list[Binding] = field(default_factory=list)  # go out once it exists
    patches: list[Assignment] = field(default_factory=list)


class Binder:
    """`copies_labels`: the API server copies labels of a Binding to the pod (from 1.35 on).
    `eviction`: how victims are deleted. `wait`: how long a pod waits before it names its group."""

    def __init__(
        self,
        *,
        copies_labels: bool = True,
        eviction: orders.How = "delete",
        wait: float = WAIT_BEFORE_WRITING_S,
    ) -> None:
        self._copies_labels, self._eviction, self._wait = copies_labels, eviction, wait
        self._groups: dict[str, _Group] = {}  # by "namespace/name"
        self._assigned: dict[str, tuple[float, Assignment]] = {}  # by pod, the oldest first
        self._under_way: dict[str, Binding] = {}  # by pod
        self._leaving: dict[str, Removal] = {}  # by pod

    # ---- what is known -------------------------------------------------------------------------

    def is_planned(self, group: str) -> bool:
        return group in self._groups

    @property
    def under_way(self) -> int:
        return len(self._under_way) + len(self._leaving)

    def add_group(self, change: GroupChange) -> None:
        """A group that is planned with, and created when one of its pods is bound or waits."""
        known = self._groups.get(change.name)
        if known is None:
            self._groups[change.name] = _Group(change)
        elif not known.is_being_created:
            known.change = change

    def assign(self, now: float, assignment: Assignment) -> None:
        """A pod that does not name its group yet."""
        self._assigned.pop(assignment.pod, None)
        self._assigned[assignment.pod] = (now, assignment)

    def group_exists(self, name: str) -> Steps:
        """A watch has shown the group."""
        group = self._groups.pop(name, None)
        return Steps() if group is None else self._go_on(group)

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod of that UID went; another one of its name may be there by now."""
        for known in (self._under_way.get(pod), self._assigned.get(pod, (0, None))[1]):
            if known is not None and known.uid != uid:
                return
        self._assigned.pop(pod, None)
        self._under_way.pop(pod, None)
        leaving = self._leaving.get(pod)
        if leaving is not None and leaving.order.uid == uid:
            del self._leaving[pod]

    # ---- decisions -----------------------------------------------------------------------------

    def begin(
        self, now: float, stamp: str, bindings: Iterable[Binding], removals: Iterable[Removal]
    ) -> Steps:
        """Evictions and bindings of a plan. `stamp`: the time of the plan, for new groups."""
        steps = Steps()
        for removal in removals:
            self._leaving[removal.order.pod] = removal
            steps.writes.append(self._removal(removal))
        for binding in bindings:
            self._under_way[binding.pod] = binding
            self._assigned.pop(binding.pod, None)
            group = self._group_of(binding.pod, binding.group)
            if group is None:
                steps.writes += self._binding_with_label(binding)
                continue
            group.bindings.append(binding)
            if not group.is_being_created and now >= group.not_before:
                steps.writes.append(_creation(group, stamp))
        return steps

    def tick(self, now: float) -> Steps:
        """Pods that have waited for a second name their groups, which are created before."""
        steps = Steps()
        for pod, (since, assignment) in list(self._assigned.items()):
            if now - since < self._wait:
                break
            group = self._group_of(pod, assignment.group)
            if group is None:
                del self._assigned[pod]
                steps.writes += filter(None, [assignment.write()])
            elif group.is_being_created or now >= group.not_before:
                del self._assigned[pod]
                group.patches.append(assignment)
                if not group.is_being_created:
                    steps.writes.append(_creation(group))
        return steps

    def next_tick(self) -> float | None:
        """When `tick` has something to do; None: when something else happens."""
        return next((since + self._wait for since, _ in self._assigned.values()), None)

    def cancel_unsent(self, nodes: Iterable[str], unsent: Mapping[str, Write]) -> Steps:
        """Bindings to these nodes that were not sent yet are taken back: `unsent` by pod."""
        steps = Steps()
        changed = frozenset(nodes)
        for pod in unsent:
            binding = self._under_way.get(pod)
            if binding is not None and binding.node in changed:
                del self._under_way[pod]
                steps.forget.append(binding.assumption)
        return steps

    # ---- answers -------------------------------------------------------------------------------

    def answered(self, now: float, write: Write, outcome: Outcome) -> Steps:
        """What follows from the answer to one of its writes."""
        about = write.about
        if isinstance(about, Binding):
            return self._bound(about, outcome)
        if isinstance(about, Removal):
            return self._evicted(about, outcome)
        if isinstance(about, _Group):
            return self._created(now, about, outcome)
        if isinstance(about, Assignment):
            return self._patched(now, about, outcome)
        return Steps()

    def seen(self, binding: Binding, pod: Mapping[str, Any] | None) -> Steps:
        """The pod of a binding without a clear answer, as it is now; None: it is gone."""
        steps = Steps()
        if self._under_way.get(binding.pod) is not binding:
            return steps
        metadata = {} if pod is None else pod.get("metadata", {})
        node = "" if pod is None else pod.get("spec", {}).get("nodeName", "")
        if pod is None or metadata.get("uid") != binding.uid:
            self._fail(steps, binding, "the pod is gone", is_over=True)
        elif node == binding.node:
            self._succeed(steps, binding)
        elif node:
            self._fail(steps, binding, f"the pod is on node {node}", is_over=True)
        elif metadata.get("deletionTimestamp"):
            self._fail(steps, binding, "the pod is being deleted", is_over=True)
        else:
            steps.writes.append(self._binding(binding))
        return steps

    def _bound(self, binding: Binding, outcome: Outcome) -> Steps:
        steps = Steps()
        if self._under_way.get(binding.pod) is not binding:
            return steps
        if outcome.result is Result.DONE:
            self._succeed(steps, binding)
        elif outcome.result in (Result.LOST, Result.CONFLICT):
            steps.look.append(binding)
        elif outcome.result is Result.REPLACED:
            self._fail(steps, binding, "", is_over=True)
        else:
            self._fail(steps, binding, outcome.message or "the API server did not answer")
        return steps

    def _succeed(self, steps: Steps, binding: Binding) -> None:
        del self._under_way[binding.pod]
        steps.bound.append(binding)

    def _fail(self, steps: Steps, binding: Binding, why: str, *, is_over: bool = False) -> None:
        del self._under_way[binding.pod]
        steps.forget.append(binding.assumption)
        if not is_over:
            steps.failed.append((binding, why))

    def _evicted(self, removal: Removal, outcome: Outcome) -> Steps:
        steps = Steps()
        if self._leaving.get(removal.order.pod) is not removal:
            return steps
        if outcome.result is Result.LOST:
            steps.writes.append(self._removal(removal))
            return steps
        del self._leaving[removal.order.pod]
        if outcome.result in (Result.DONE, Result.GONE):
            steps.evicted.append(removal)
            return steps
        # A conflict is another pod of that name: ours is gone, and the watch will show it.
        steps.forget.append(removal.assumption)
        if outcome.result is not Result.CONFLICT:
            steps.spared.append((removal, outcome.message or "the API server did not answer"))
        return steps

    def _patched(self, now: float, assignment: Assignment, outcome: Outcome) -> Steps:
        if outcome.result in (Result.FAILED, Result.LOST):
            self.assign(now, assignment)
        elif outcome.result is Result.REFUSED:
            return Steps(problems=[f"Pod {assignment.pod} cannot be patched: {outcome.message}"])
        return Steps()

    def _created(self, now: float, group: _Group, outcome: Outcome) -> Steps:
        name = group.change.name
        if outcome.result in (Result.DONE, Result.CONFLICT):  # a conflict: it is there already
            self._groups.pop(name, None)
            return self._go_on(group)
        steps = Steps()
        group.is_being_created = False
        if outcome.result is Result.LOST:  # a name is created once, however often it is tried
            steps.writes.append(_creation(group))
            return steps
        group.not_before = now + WAIT_BEFORE_WRITING_S
        why = f"its pod group cannot be created: {outcome.message}"
        for binding in group.bindings:
            if self._under_way.get(binding.pod) is binding:
                self._fail(steps, binding, why)
                self.assign(now, _assignment_of(binding))
        for assignment in group.patches:
            self.assign(now, assignment)
        group.bindings.clear()
        group.patches.clear()
        if outcome.result is Result.GONE:  # its namespace is
            self._groups.pop(name, None)
        steps.problems.append(f"PodGroup {name} cannot be created: {outcome.message}")
        return steps

    def _go_on(self, group: _Group) -> Steps:
        """The group exists: its pods are bound, and those that wait name it."""
        steps = Steps()
        for binding in group.bindings:
            if self._under_way.get(binding.pod) is binding:
                steps.writes += self._binding_with_label(binding)
        steps.writes += filter(None, (each.write() for each in group.patches))
        group.bindings.clear()
        group.patches.clear()
        return steps

    def _group_of(self, pod: str, group: str) -> _Group | None:
        return self._groups.get(f"{pod.partition('/')[0]}/{group}")

    # ---- writes --------------------------------------------------------------------------------

    def _binding_with_label(self, binding: Binding) -> list[Write]:
        writes = [self._binding(binding)]
        if binding.subgroup and not binding.names_group and not self._copies_labels:
            writes[:0] = filter(None, [_assignment_of(binding).write()])
        return writes

    def _binding(self, binding: Binding) -> Write:
        annotations = {keys.RECEIVED_TYPE_ANNOTATION: "Regular", **binding.annotations}
        labels = {}
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

    def _removal(self, removal: Removal) -> Write:
        return replace(removal.order.write(self._eviction), about=removal)


def _creation(group: _Group, last_start: str = "") -> Write:
    group.is_being_created = True
    return replace(group.change.write(last_start=last_start), about=group)


def _assignment_of(binding: Binding) -> Assignment:
    patch: dict[str, Any] = {"annotations": {keys.POD_GROUP_ANNOTATION: binding.group}}
    if binding.subgroup:
        patch["labels"] = {keys.SUBGROUP_LABEL: binding.subgroup}
    return Assignment(binding.pod, binding.uid, binding.group, binding.subgroup, patch)
