"""Pod groups that exist only in memory, and the pods that do not name theirs yet.

    groups = Groups(courses, results)
    groups.take(decided)                     # planned: created when a pod is bound or waits
    await groups.exist(course, stamp)        # before the pod is bound; raises Refused
    write = groups.with_name(write)          # a status that also names the group; None: it follows

A group is created before its first pod is bound or names it, so a process that ends in between
leaves no pod in a missing group; and before pods are evicted for it, as the API server may refuse
it. A pod names its group in the request that binds it, or in the one that writes its first
condition; a pod that gets neither for a second, in a request of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kai.api import keys
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.courses import Courses, Fact, Send, Until
from kai.controllers.grouper import Assignment, Decided, GroupChange
from kai.controllers.pods.course import NotLeading, PodCourse, Refused, answer_of, wait_of
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.results import Results
from kai.controllers.verdicts.facts import Ticket
from kai.controllers.verdicts.written import is_another

_NOT_NAMED = (Result.FAILED, Result.LOST, Result.REFUSED)


@dataclass(slots=True, eq=False)
class Group:
    """A pod group that the API server does not have yet, as far as is known.

    `has_course`: its creation is under way, or waits after a failure. `waiting`: the pods that wait
    for it, by what waits. `answer`: of the next try: "", or why it failed. `end`: the same, without
    tries whose answer was lost. `later`: changes during the creation.
    """

    change: GroupChange
    stamp: str = ""  # the time of the plan that starts its first pod
    has_course: bool = False
    is_being_created: bool = False
    is_wanted: bool = False  # although no pod waits for it
    is_withdrawn: bool = False  # during its creation, which is not repeated
    failures: int = 0
    not_before: float = 0.0  # after a failure
    why: str = ""  # of the last failure
    is_led: bool = True  # at the last failure this process had the lease
    waiting: dict[object, tuple[str, str]] = field(default_factory=dict)
    statuses: dict[str, Write] = field(default_factory=dict)  # by pod
    answer: Fact[str] = field(default_factory=Fact)
    end: Fact[str] = field(default_factory=Fact)
    later: list[GroupChange] = field(default_factory=list)

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """The pods that wait for its creation (kai.api.writes)."""
        return list(self.waiting.values())

    def know(self, why: str, *, is_clear: bool) -> None:
        """The answer to a try."""
        facts = [self.answer, self.end] if is_clear else [self.answer]
        self.answer = Fact()
        self.end = Fact() if is_clear else self.end
        for each in facts:
            each.set(why)


class Groups:
    """`wait`: how long a pod waits before it names its group, in seconds."""

    def __init__(self, courses: Courses, results: Results, wait: float) -> None:
        self._courses, self._results, self._wait = courses, results, wait
        self._groups: dict[str, Group] = {}  # by "namespace/name"
        self._assigned: dict[str, tuple[float, Assignment]] = {}  # by pod, oldest first
        self._patched: dict[str, Assignment] = {}  # by pod, with a patch that names its group
        self._named: dict[str, Assignment] = {}  # by pod, with a status that does

    # ---- what is known ---------------------------------------------------------------------------

    def is_planned(self, group: str) -> bool:
        return group in self._groups

    def take(self, decided: Decided) -> None:
        """Decisions of the grouper."""
        for name in decided.withdrawn:
            self.withdraw(name)
        assigned = {f"{each.pod.partition('/')[0]}/{each.group}" for each in decided.assignments}
        for change in decided.groups:
            if change.patch is not None and not self.is_planned(change.name):
                self._courses.start(_send(change.write()))
                continue
            self.add(change)
            if change.patch is None and change.name not in assigned:
                self.create(change.name)
        for assignment in decided.assignments:
            self.assign(assignment)

    def add(self, change: GroupChange) -> None:
        """A group in the plan, which is created when one of its pods is bound or waits; or a patch
        of a planned one."""
        known = self._groups.get(change.name)
        if known is None:
            self._groups[change.name] = Group(GroupChange(change.manifest))
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
            known.know("it has no pods any more", is_clear=True)

    def create(self, name: str) -> None:
        """A planned group whose pods name it already: it was deleted."""
        self._groups[name].is_wanted = True
        self._begin(self._groups[name])

    def assign(self, assignment: Assignment) -> None:
        """A pod that does not name its group yet."""
        self._assigned.pop(assignment.pod, None)
        self._assigned[assignment.pod] = (self._courses.now, assignment)

    def is_assigned(self, pod: str) -> bool:
        return pod in self._assigned

    def bound_soon(self, pod: str) -> None:
        """The pod names its group when it is bound, or just before."""
        self._assigned.pop(pod, None)

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod with that UID is gone; a new one may have its name."""
        for known in (self._patched, self._named):
            if pod in known and known[pod].uid == uid:
                del known[pod]
        _, assigned = self._assigned.get(pod, (0, None))
        if assigned is not None and assigned.uid == uid:
            del self._assigned[pod]

    # ---- what happens ----------------------------------------------------------------------------

    async def exist(self, course: PodCourse, stamp: str) -> None:
        """The group of the pod exists. Raises Refused if its creation failed, and NotLeading."""
        binding = course.binding
        group = self._of(binding.pod, binding.group)
        if group is None:
            return
        group.stamp = stamp if not group.failures else ""
        why = await self._until_created(group, *binding.key)
        if why and not group.is_led:
            raise NotLeading
        if why:
            self.assign(assignment_of(binding))
            raise Refused(why)

    async def name_first(self, binding: Binding) -> None:
        """For a request that cannot set the pod's group fields: a patch sets them."""
        write = assignment_of(binding).write()
        if write is not None:
            await self._patch(write, assignment_of(binding))

    def try_to_create(self, name: str) -> Fact[str] | None:
        """For evictions, which a failure ends: the fact is why the next try failed, or "". None:
        the group exists, as far as is known."""
        group = self._groups.get(name)
        if group is None:
            return None
        if not group.is_being_created and self._courses.now < group.not_before:
            return Fact([group.why])
        self._begin(group)
        return group.answer

    def tick(self) -> None:
        """Pods that have waited for a second name their groups."""
        now = self._courses.now
        while self._assigned:
            pod, (since, assignment) = next(iter(self._assigned.items()))
            if now - since < self._wait:
                break
            del self._assigned[pod]
            self._courses.start(self._name(assignment))

    def next_tick(self) -> float | None:
        oldest = next(iter(self._assigned.values()), None)
        return None if oldest is None else oldest[0] + self._wait

    def with_name(self, write: Write) -> Write | None:
        """A write of verdicts. The status of a pod that does not name its group yet names it in the
        same request, after the group was created: that follows. Other writes are returned."""
        if not isinstance(write.about, Ticket) or write.about.machine != "pod":
            return write
        pod = write.about.name
        assignment = self._named.get(pod)
        if assignment is None:
            _, assignment = self._assigned.get(pod, (0, None))
        if assignment is None or assignment.uid != _uid_of(write):
            return write
        group = self._of(pod, assignment.group)
        if group is not None and self._courses.now < group.not_before:
            return write  # it cannot be created: the reason is more important
        self._assigned.pop(pod, None)
        is_waiting = group is not None and pod in group.statuses
        self._named[pod] = assignment
        if group is not None:
            group.statuses[pod] = write  # a later one has all that an earlier one has
        if not is_waiting:
            self._courses.start(self._name_in_status(write, assignment, group))
        return None

    # ---- courses ---------------------------------------------------------------------------------

    def _begin(self, group: Group) -> None:
        if not group.has_course:
            group.has_course = True
            self._courses.start(self._create(group))

    async def _create(self, group: Group) -> None:
        """Until it exists, or nothing waits for it."""
        name = group.change.name
        while self._groups.get(name) is group:
            group.is_being_created = True
            write = group.change.write(last_start=group.stamp)
            outcome = await Send(replace(write, about=group))
            if outcome.result in (Result.DONE, Result.CONFLICT):  # a conflict: it exists already
                self._groups.pop(name, None)
                if outcome.result is Result.DONE:  # otherwise the grouper compares it
                    for each in group.later:
                        self._courses.start(_send(each.write()))
                group.know("", is_clear=True)
                return
            self._failed(group, outcome)
            await Until(group.not_before)
            if not group.waiting and not group.is_wanted:
                break
        group.has_course = False

    def _failed(self, group: Group, outcome: Outcome) -> None:
        is_lost = outcome.result is Result.LOST  # an object with a fixed name is created only once
        group.why = f"its pod group cannot be created: {answer_of(outcome)}"
        group.is_being_created, group.stamp = False, ""
        group.is_led = outcome.reason != NOT_LEADING
        if group.later:
            group.change = GroupChange(group.later[-1].manifest)
            group.later.clear()
        group.failures += 1
        group.not_before = self._courses.now + wait_of(group.failures - (2 if is_lost else 1))
        if group.is_withdrawn or outcome.result is Result.GONE:  # its namespace is gone
            self._groups.pop(group.change.name, None)
        group.know(group.why, is_clear=not is_lost or group.is_withdrawn)

    async def _until_created(self, group: Group, pod: str, uid: str) -> str:
        """Why it was not created, or ""."""
        key = object()
        group.waiting[key] = pod, uid
        try:
            self._begin(group)
            return await group.end
        finally:
            group.waiting.pop(key, None)

    async def _name(self, assignment: Assignment) -> None:
        """A pod that waits names its group, in a request of its own."""
        pod = assignment.pod
        write = assignment.write()
        if write is None:
            return
        self._patched[pod] = assignment
        while (group := self._of(pod, assignment.group)) is not None:
            await self._until_created(group, pod, assignment.uid)
            if self._patched.get(pod) is not assignment:
                return  # it is gone
        del self._patched[pod]
        await self._patch(write, assignment)

    async def _patch(self, write: Write, assignment: Assignment) -> None:
        outcome = await Send(write)
        if outcome.result in (Result.FAILED, Result.LOST):
            self.assign(assignment)
        elif outcome.result is Result.REFUSED and not is_another(outcome):
            problem = f"Pod {assignment.pod} cannot be patched: {outcome.message}"
            self._results.problems.append(problem)

    async def _name_in_status(
        self, write: Write, assignment: Assignment, group: Group | None
    ) -> None:
        pod = assignment.pod
        if group is not None:
            why = await self._until_created(group, pod, assignment.uid)
            write = group.statuses.pop(pod)
            if self._named.get(pod) is not assignment:
                return  # it is gone
            if why:
                del self._named[pod]
                self._courses.start(_send(write))
                self.assign(assignment)
                return
        outcome = await Send(_with_name(write, assignment))
        # A later status that replaced it names the group as well.
        if outcome.result is not Result.REPLACED and self._named.get(pod) is assignment:
            del self._named[pod]
            if outcome.result in _NOT_NAMED and pod not in self._assigned:
                self.assign(assignment)

    def _of(self, pod: str, group: str) -> Group | None:
        return self._groups.get(f"{pod.partition('/')[0]}/{group}")


async def _send(write: Write) -> None:
    """A write whose outcome is for others."""
    await Send(write)


def _uid_of(write: Write) -> str:
    """The UID of the object of a patch."""
    metadata = write.body.get("metadata", {}) if isinstance(write.body, Mapping) else {}
    return str(metadata.get("uid", ""))


def _with_name(write: Write, assignment: Assignment) -> Write:
    """The write of a status, which also assigns the pod to its group."""
    assert isinstance(write.body, Mapping)
    metadata = {**write.body["metadata"], **assignment.patch}
    return replace(write, body={**write.body, "metadata": metadata})


def assignment_of(binding: Binding) -> Assignment:
    """Names the group of a pod that is about to be bound."""
    patch: dict[str, Any] = {"annotations": {keys.POD_GROUP_ANNOTATION: binding.group}}
    if binding.subgroup:
        patch["labels"] = {keys.SUBGROUP_LABEL: binding.subgroup}
    return Assignment(binding.pod, binding.uid, binding.group, binding.subgroup, patch)
