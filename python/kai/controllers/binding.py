"""Carries out a plan: creates pod groups, binds pods, deletes victims.

    binder = Binder()
    steps = binder.begin(now, bindings, evictions)    # writes to send
    steps = binder.with_name(now, write)              # a write of the status of a waiting pod
    steps = binder.answered(now, write, outcome)      # the next steps after each answer

No I/O. For each binding and each eviction the engine holds an assumption
(cpp/kai/engine/assumptions.h); it ends when a watch shows the result, or when this module ends it:

- A pod group that exists only in memory is created before its first pod is bound or names it, so a
  process that ends in between leaves no pod in a missing group; and before pods are evicted for it,
  as the API server may refuse it.
- A pod names its group in the request that binds it, or in the one that writes its first condition
  (`with_name`); a pod that gets neither for a second, in a request of its own.
- kai.controllers.bindings follows a binding; with `by="bind-requests"` a BindRequest is created
  instead, which kai.controllers.binder, or KAI's binder, carries out.
- A binding that waits to be sent is held back when its node changes (`hold`), until the planning
  thread has checked whether it is still valid (`Steps.to_check`, `checked`).

kai.controllers.evicting handles victims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from kai.controllers.verdicts.facts import Ticket

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
    is_withdrawn: bool = False  # during its creation, which is not repeated
    failures: int = 0
    not_before: float = 0.0  # after a failure
    why: str = ""  # of the last failure
    later: list[GroupChange] = field(default_factory=list)  # arrived during the creation
    bindings: list[Binding] = field(default_factory=list)  # sent once it exists
    removals: list[Removal] = field(default_factory=list)  # for its pods; only during the creation
    patches: list[Assignment] = field(default_factory=list)
    statuses: dict[str, tuple[Write, Assignment]] = field(default_factory=dict)  # by pod

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """The pods that wait for its creation (kai.api.writes)."""
        waiting = [(each.pod, each.uid) for each in self.bindings]
        named = [*self.patches, *(each for _, each in self.statuses.values())]
        return waiting + [(each.pod, each.uid) for each in named]

    @property
    def is_due(self) -> bool:
        """Whether it must be created, as soon as that may be tried."""
        return bool(self.bindings or self.patches or self.statuses or self.is_wanted)


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
        self._naming: dict[str, Assignment] = {}  # by pod, with a write of its status under way
        self._named_first: dict[str, Binding] = {}  # by pod: its request follows the name

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
        elif change.patch is not None or known.is_withdrawn:
            known.is_withdrawn = False
            known.later.append(change)

    def withdraw(self, name: str) -> None:
        """A planned group has no pods any more."""
        known = self._groups.get(name)
        if known is not None and known.is_being_created:
            known.is_withdrawn = True
        elif known is not None:
            del self._groups[name]
            self._late.discard(name)

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
        first = self._named_first.get(pod)
        if first is not None and first.uid == uid:
            del self._named_first[pod]
        naming = self._naming.get(pod)
        if naming is not None and naming.uid == uid:
            del self._naming[pod]
            if (group := self._group_of(pod, naming.group)) is not None:
                group.statuses.pop(pod, None)
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
        steps = Steps()
        at_once, wanted = self._await_groups(now, steps, removals)
        steps.add(_steps_of(self._evictor.begin(at_once)))
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
        for group in wanted:
            if not group.is_being_created:
                steps.writes.append(_creation(group))
        return self._with_names(now, steps)

    def _await_groups(
        self, now: float, steps: Steps, removals: Iterable[Removal]
    ) -> tuple[list[Removal], list[_Group]]:
        """Removals for groups that do not exist yet wait for these. Returns the others, and the
        groups."""
        others: list[Removal] = []
        wanted: list[_Group] = []
        for removal in removals:
            group = self._groups.get(removal.order.for_group or "")
            if group is None:
                others.append(removal)
            elif not group.is_being_created and now < group.not_before:
                _spare(steps, [removal], group.why)
            else:
                group.removals.append(removal)
                wanted.append(group)
        return others, wanted

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

    def with_name(self, now: float, write: Write) -> Steps:
        """A write of verdicts. The status of a pod that does not name its group yet names it in the
        same request, after the group was created."""
        if not isinstance(write.about, Ticket) or write.about.machine != "pod":
            return Steps([write])
        pod = write.about.name
        assignment = self._naming.get(pod)
        if assignment is None:
            _, assignment = self._assigned.get(pod, (0, None))
        if assignment is None or assignment.uid != _uid_of(write):
            return Steps([write])
        group = self._group_of(pod, assignment.group)
        if group is not None and now < group.not_before:
            return Steps([write])  # it cannot be created: the reason is more important
        self._assigned.pop(pod, None)
        self._naming[pod] = assignment
        if group is None:
            return Steps([_with_name(write, assignment)])
        group.statuses[pod] = (write, assignment)  # a later one has all that an earlier one has
        return Steps([] if group.is_being_created else [_creation(group)])

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
        for binding in [each for each in self._named_first.values() if each.node in changed]:
            waiting.append(self._named_first.pop(binding.pod))
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
        if isinstance(about, Ticket):
            return self._named(now, about, outcome)
        self._requests.answered(now, write, outcome)
        return _steps_of(self._evictor.answered(write, outcome))

    def seen(self, now: float, binding: Binding, found: Mapping[str, Any] | None) -> Steps:
        """The result of a read in `Steps.look`; None: the object is gone."""
        return self._with_names(now, self._ways.seen(now, binding, found))

    def _patched(self, now: float, assignment: Assignment, outcome: Outcome) -> Steps:
        steps = Steps()
        if outcome.result is Result.REPLACED:
            return steps  # the answer to the later write follows
        if outcome.result in (Result.FAILED, Result.LOST):
            self.assign(now, assignment)
        elif outcome.result is Result.REFUSED:
            steps.problems.append(f"Pod {assignment.pod} cannot be patched: {outcome.message}")
        binding = self._named_first.pop(assignment.pod, None)
        if binding is not None and self._ways.is_current(binding):
            steps.writes += self._ways.begin(now, binding)
        return steps

    def _named(self, now: float, about: Ticket, outcome: Outcome) -> Steps:
        """After a write of a status: a later one that replaced it names the group as well."""
        if about.machine != "pod" or outcome.result is Result.REPLACED:
            return Steps()
        assignment = self._naming.pop(about.name, None)
        if assignment is None or about.name in self._assigned:
            return Steps()  # a new pod has its name
        if outcome.result in _NOT_NAMED:
            self.assign(now, assignment)
        return Steps()

    def _created(self, now: float, group: _Group, outcome: Outcome) -> Steps:
        name = group.change.name
        if outcome.result in (Result.DONE, Result.CONFLICT):  # a conflict: it exists already
            self._groups.pop(name, None)
            if outcome.result is Result.CONFLICT:
                group.later.clear()  # the grouper compares it with the existing one
            return self._go_on(now, group)
        steps = Steps()
        answer = outcome.message or "the API server did not answer"
        group.why = f"its pod group cannot be created: {answer}"
        _spare(steps, group.removals, group.why)
        group.removals.clear()
        if group.is_withdrawn:
            self._groups.pop(name, None)
            return steps
        group.is_being_created = False
        for each in group.later:
            group.change = GroupChange(each.manifest)
        group.later.clear()
        group.failures += 1
        if outcome.result is Result.LOST:  # an object with a fixed name is created only once
            group.not_before = now + wait_of(group.failures - 2)
            self._late.add(name)
            steps.add(self.tick(now))
            return steps
        group.not_before = now + wait_of(group.failures - 1)
        self._late.add(name)
        for binding in group.bindings:
            if self._ways.is_current(binding):
                self._ways.fail(now, steps, binding, group.why)
                group.patches.append(_assignment_of(binding))
        group.bindings.clear()
        for pod, (write, assignment) in group.statuses.items():
            self._naming.pop(pod, None)
            steps.writes.append(write)
            group.patches.append(assignment)
        group.statuses.clear()
        if outcome.result is Result.GONE:  # its namespace is gone
            self._groups.pop(name, None)
        return steps

    def _go_on(self, now: float, group: _Group) -> Steps:
        """The group exists: its pods are bound, waiting ones name it, and pods are evicted for
        it."""
        steps = Steps(writes=[each.write() for each in group.later])
        group.later.clear()
        steps.add(_steps_of(self._evictor.begin(group.removals)))
        group.removals.clear()
        for binding in group.bindings:
            if self._ways.is_current(binding):
                steps.writes += self._with_assignment(now, binding)
        steps.writes += filter(None, (each.write() for each in group.patches))
        steps.writes += (_with_name(*each) for each in group.statuses.values())
        group.bindings.clear()
        group.patches.clear()
        group.statuses.clear()
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
        """The request; if it cannot set the pod's group fields, a patch of these is sent first, and
        the request follows the answer."""
        brings_all = self._by == "direct" and (self._copies_labels or not binding.subgroup)
        naming = None if binding.names_group or brings_all else _assignment_of(binding).write()
        if naming is None:
            return self._ways.begin(now, binding)
        self._named_first[binding.pod] = binding
        return [naming]

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


def _spare(steps: Steps, removals: Iterable[Removal], why: str) -> None:
    """They are not evicted, as the group that they would make room for does not exist."""
    for removal in removals:
        steps.forget.append(removal.assumption)
        steps.spared.append((removal, why))


def _creation(group: _Group, last_start: str = "") -> Write:
    group.is_being_created = True
    return replace(group.change.write(last_start=last_start), about=group)


_NOT_NAMED = (Result.FAILED, Result.LOST, Result.REFUSED)


def _uid_of(write: Write) -> str:
    """The UID of the object of a patch."""
    metadata = write.body.get("metadata", {}) if isinstance(write.body, Mapping) else {}
    return str(metadata.get("uid", ""))


def _with_name(write: Write, assignment: Assignment) -> Write:
    """The write of a status, which also assigns the pod to its group."""
    assert isinstance(write.body, Mapping)
    metadata = {**write.body["metadata"], **assignment.patch}
    return replace(write, body={**write.body, "metadata": metadata})


def _assignment_of(binding: Binding) -> Assignment:
    patch: dict[str, Any] = {"annotations": {keys.POD_GROUP_ANNOTATION: binding.group}}
    if binding.subgroup:
        patch["labels"] = {keys.SUBGROUP_LABEL: binding.subgroup}
    return Assignment(binding.pod, binding.uid, binding.group, binding.subgroup, patch)
