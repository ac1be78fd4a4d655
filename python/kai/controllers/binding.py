"""Carrying out a plan: pod groups are created, pods are bound, victims are deleted.

    binder = Binder()
    steps = binder.begin(now, bindings, evictions)    # writes to send
    steps = binder.answered(now, write, outcome)      # and what follows from each answer

Nothing here does I/O. An assumption of the engine (cpp/kai/engine/assumptions.h) stands behind each
binding and each eviction; it ends when a watch shows that it happened, or when this says so:

- A pod group that exists only here is created before its first pod is bound, so that a process that
  ends in between leaves no pod in a group that is not there.
- A binding without an answer may have happened, or may happen yet: the request can still be on its
  way when the pod is read (`Steps.look`). So the pod's room stays taken, and the pod is bound again
  *to the same node*, until a fact ends the doubt. Facts are: the pod is on a node (that never
  changes), it is gone or another one (a UID never comes back), it is being deleted (the API server
  binds no such pod). Neither time nor a refusal of a later try is one.
- A pod whose binding failed for certain is planned again after a wait, which doubles with each
  failure: until then its assumption stands.
- A binding that waits to be sent is held back when its node changes (`hold`), until the planning
  thread has found whether it holds still (`Steps.ask`, `checked`).

Victims are those of kai.controllers.evicting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from kai.api import keys
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.evicting import Evictor, Leaving, Removal
from kai.controllers.grouper import Assignment, GroupChange
from kai.controllers.verdicts import orders

WAIT_BEFORE_WRITING_S = 1.0
"""A pod that waits longer is written about: its group is created, and it names the group."""
FIRST_WAIT_S, MOST_WAIT_S = 1.0, 30.0
"""Before the next try for a pod that could not be bound."""


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


@dataclass(slots=True)
class Steps:
    """What follows.

    `forget`: assumptions that did not come true. `look`: pods to read, whose JSON goes to `seen`.
    `ask`: bindings that are held back until `checked` says which of them hold still.
    `bound`: bindings that succeeded. `failed`: bindings that did not, each with the reason.
    `evicted` and `spared`: the same of evictions. `problems`: sentences for the log.
    """

    writes: list[Write] = field(default_factory=list)
    forget: list[int] = field(default_factory=list)
    look: list[Binding] = field(default_factory=list)
    ask: list[Binding] = field(default_factory=list)
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
    failures: int = 0
    not_before: float = 0.0  # after a failure
    later: list[GroupChange] = field(default_factory=list)  # came while it was being created
    bindings: list[Binding] = field(default_factory=list)  # go out once it exists
    patches: list[Assignment] = field(default_factory=list)


@dataclass(slots=True)
class _Trouble:
    """A pod whose binding failed, or of which no clear answer has come.

    `tries`: how many in a row. `failed`: the binding whose assumption stands until the pod is
    planned again. `in_doubt`: a request that was sent may take effect at any time.
    """

    uid: str
    tries: int = 0
    failed: Binding | None = None
    in_doubt: bool = False
    due: float | None = None  # when it is planned or read again
    why: str = ""

    def wait(self, now: float, free: int = 0) -> None:
        """Until the next try; the first `free` tries come at once."""
        self.due = now + _wait(self.tries - free)
        self.tries += 1


def _wait(failures: int) -> float:
    """After so many failures before this one."""
    if failures < 0:
        return 0.0
    return float(min(MOST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(failures, 10)))


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
        self._copies_labels, self._wait = copies_labels, wait
        self._evictor = Evictor(eviction)
        self._groups: dict[str, _Group] = {}  # by "namespace/name"
        self._assigned: dict[str, tuple[float, Assignment]] = {}  # by pod, the oldest first
        self._under_way: dict[str, Binding] = {}  # by pod
        self._troubles: dict[str, _Trouble] = {}  # by pod
        self._late: set[str] = set()  # groups whose creation failed

    # ---- what is known -------------------------------------------------------------------------

    def is_planned(self, group: str) -> bool:
        return group in self._groups

    @property
    def under_way(self) -> int:
        return len(self._under_way) + len(self._evictor)

    @property
    def in_doubt(self) -> int:
        """Pods that a request may still bind, though no answer came."""
        return sum(each.in_doubt for each in self._troubles.values())

    def add_group(self, change: GroupChange) -> None:
        """A group that is planned with, and created when one of its pods is bound or waits; or a
        patch of a planned one."""
        known = self._groups.get(change.name)
        if known is None:
            self._groups[change.name] = _Group(GroupChange(change.manifest))
        elif not known.is_being_created:
            known.change = GroupChange(change.manifest)
        elif change.patch is not None:
            known.later.append(change)

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
        self._evictor.pod_gone(pod, uid)
        for known in (self._under_way.get(pod), self._assigned.get(pod, (0, None))[1]):
            if known is not None and known.uid != uid:
                return
        self._assigned.pop(pod, None)
        self._under_way.pop(pod, None)
        trouble = self._troubles.get(pod)
        if trouble is not None and trouble.uid == uid:
            del self._troubles[pod]

    # ---- decisions -----------------------------------------------------------------------------

    def begin(
        self, now: float, stamp: str, bindings: Iterable[Binding], removals: Iterable[Removal]
    ) -> Steps:
        """Evictions and bindings of a plan. `stamp`: the time of the plan, for new groups."""
        steps = _steps_of(self._evictor.begin(removals))
        for binding in bindings:
            self._under_way[binding.pod] = binding
            self._assigned.pop(binding.pod, None)
            self._start(now, stamp, binding, steps)
        return steps

    def _start(self, now: float, stamp: str, binding: Binding, steps: Steps) -> None:
        group = self._group_of(binding.pod, binding.group)
        if group is None:
            steps.writes += self._binding_with_label(binding)
            return
        group.bindings.append(binding)
        if not group.is_being_created and now >= group.not_before:
            steps.writes.append(_creation(group, stamp))

    def tick(self, now: float) -> Steps:
        """Pods that have waited for a second name their groups, which are created before. What
        failed or was in doubt is tried again when its time has come."""
        steps = Steps()
        for pod, trouble in self._troubles.items():
            if trouble.due is not None and now >= trouble.due:
                trouble.due = None
                if trouble.failed is not None:
                    steps.forget.append(trouble.failed.assumption)
                    trouble.failed = None
                elif pod in self._under_way:
                    steps.look.append(self._under_way[pod])
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
            elif now >= late.not_before and (late.bindings or late.patches):
                self._late.discard(name)
                steps.writes.append(_creation(late))
        return steps

    def next_tick(self) -> float | None:
        """When `tick` has something to do; None: when something else happens."""
        times = [each.due for each in self._troubles.values() if each.due is not None]
        times += [since + self._wait for since, _ in islice(self._assigned.values(), 1)]
        for name in self._late:
            group = self._groups.get(name)
            if group is not None and (group.bindings or group.patches):
                times.append(group.not_before)
        return min(times, default=None)

    def hold(self, nodes: Iterable[str], unsent: Iterable[Write]) -> Steps:
        """These nodes changed. `unsent`: bindings to them that the writer gave back; those that
        wait for their group are held back as well."""
        steps = Steps()
        changed = frozenset(nodes)
        waiting: list[Binding] = [each.about for each in unsent]
        for group in self._groups.values():
            if group.bindings:
                waiting += (each for each in group.bindings if each.node in changed)
                group.bindings = [each for each in group.bindings if each.node not in changed]
        steps.ask += (each for each in waiting if self._under_way.get(each.pod) is each)
        return steps

    def checked(
        self, now: float, stamp: str, asked: Iterable[Binding], broken: Iterable[int]
    ) -> Steps:
        """Of the bindings in `Steps.ask` these assumptions do not hold any more: they are taken
        back, and the others go out. The planning thread has forgotten the assumptions itself."""
        steps = Steps()
        gone = frozenset(broken)
        for binding in asked:
            if self._under_way.get(binding.pod) is not binding:
                continue  # decided anew, or the pod went
            if binding.assumption not in gone:
                self._start(now, stamp, binding, steps)
                continue
            del self._under_way[binding.pod]
            if not binding.names_group:
                self.assign(now, _assignment_of(binding))
        return steps

    # ---- answers -------------------------------------------------------------------------------

    def answered(self, now: float, write: Write, outcome: Outcome) -> Steps:
        """What follows from the answer to one of its writes."""
        about = write.about
        if isinstance(about, Binding):
            return self._bound(now, about, outcome)
        if isinstance(about, _Group):
            return self._created(now, about, outcome)
        if isinstance(about, Assignment):
            return self._patched(now, about, outcome)
        return _steps_of(self._evictor.answered(write, outcome))

    def seen(self, now: float, binding: Binding, pod: Mapping[str, Any] | None) -> Steps:
        """The pod of a binding without a clear answer, as it is now; None: it is gone."""
        steps = Steps()
        if self._under_way.get(binding.pod) is not binding:
            return steps
        trouble = self._trouble(binding)
        metadata = {} if pod is None else pod.get("metadata", {})
        node = "" if pod is None else pod.get("spec", {}).get("nodeName", "")
        if pod is None or metadata.get("uid") != binding.uid:
            self._fail(now, steps, binding, "")  # a watch that is behind shows it any moment
        elif node == binding.node:
            self._succeed(steps, binding)
        elif node or metadata.get("deletionTimestamp"):
            self._give_up(steps, binding)
        elif trouble.in_doubt:
            steps.writes.append(self._binding(binding))
        else:
            self._fail(now, steps, binding, trouble.why)
        return steps

    def _bound(self, now: float, binding: Binding, outcome: Outcome) -> Steps:
        steps = Steps()
        if self._under_way.get(binding.pod) is not binding:
            return steps
        result, why = outcome.result, outcome.message or "the API server did not answer"
        if result is Result.DONE:
            self._succeed(steps, binding)
            return steps
        if result is Result.TAKEN_BACK:
            steps.ask.append(binding)
            return steps
        trouble = self._trouble(binding)
        trouble.in_doubt = trouble.in_doubt or result is Result.LOST
        trouble.why = why
        if trouble.in_doubt:
            trouble.wait(now, free=2)  # after the first try, and after the one that follows
            if trouble.due == now:
                trouble.due = None
                steps.look.append(binding)
            if result is Result.REFUSED:
                steps.failed.append((binding, why))
        elif result is Result.CONFLICT or result is Result.GONE:
            steps.look.append(binding)
        elif result is Result.REPLACED or outcome.reason == NOT_LEADING:
            self._give_up(steps, binding)
        else:
            self._fail(now, steps, binding, why)
        return steps

    def _trouble(self, binding: Binding) -> _Trouble:
        trouble = self._troubles.get(binding.pod)
        if trouble is None or trouble.uid != binding.uid:
            trouble = self._troubles[binding.pod] = _Trouble(binding.uid)
        return trouble

    def _succeed(self, steps: Steps, binding: Binding) -> None:
        del self._under_way[binding.pod]
        self._troubles.pop(binding.pod, None)
        steps.bound.append(binding)

    def _give_up(self, steps: Steps, binding: Binding) -> None:
        """There is nothing left to do for it, and its room is free."""
        del self._under_way[binding.pod]
        self._troubles.pop(binding.pod, None)
        steps.forget.append(binding.assumption)

    def _fail(self, now: float, steps: Steps, binding: Binding, why: str) -> None:
        """It is planned again after a while; until then its room is its own. Without a reason
        nothing is said about it."""
        del self._under_way[binding.pod]
        trouble = self._trouble(binding)
        trouble.failed = binding
        trouble.wait(now)
        if why:
            steps.failed.append((binding, why))

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
            if outcome.result is Result.CONFLICT:
                group.later.clear()  # the grouper compares it with what is there
            return self._go_on(group)
        steps = Steps()
        group.is_being_created = False
        for each in group.later:
            group.change = GroupChange(each.manifest)
        group.later.clear()
        group.failures += 1
        if outcome.result is Result.LOST:  # a name is created once, however often it is tried
            group.not_before = now + _wait(group.failures - 2)
            self._late.add(name)
            return self.tick(now)
        group.not_before = now + _wait(group.failures - 1)
        self._late.add(name)
        why = f"its pod group cannot be created: {outcome.message}"
        for binding in group.bindings:
            if self._under_way.get(binding.pod) is binding:
                self._fail(now, steps, binding, why)
                group.patches.append(_assignment_of(binding))
        group.bindings.clear()
        if outcome.result is Result.GONE:  # its namespace is
            self._groups.pop(name, None)
        return steps

    def _go_on(self, group: _Group) -> Steps:
        """The group exists: its pods are bound, and those that wait name it."""
        steps = Steps(writes=[each.write() for each in group.later])
        group.later.clear()
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
