"""Carries out plans: one course for each decision about a pod.

    pods = Pods(courses, reservers=[...])
    pods.begin(stamp, bindings, removals)          # a plan
    courses.run(now)
    for request in courses.take(): ...             # to the API server, answered later
    results = pods.take_results()                          # to the planning thread

For each binding and each eviction the engine holds an assumption
(cpp/kai/engine/assumptions.h); it ends when a watch shows the result, or when a course ends it. A
pod has one course at a time: the next one starts when the one before, with all it undoes, is over.
`Direct` and `ByRequest` are the two ways to bind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from kai.api import keys
from kai.api.writes import Read, Write
from kai.controllers import unshown
from kai.controllers.courses import Ask, Courses, Fact, Find, Overtaken, Send, Until
from kai.controllers.pods import bind_requests
from kai.controllers.pods.bind_requests import Request
from kai.controllers.pods.carrier import Carrier, hold
from kai.controllers.pods.course import (
    GivenUp,
    NotLeading,
    NotWaiting,
    Pod,
    PodCourse,
    Refused,
    Reserver,
    Stage,
    Trouble,
)
from kai.controllers.pods.decisions import Binding, Removal
from kai.controllers.pods.evicting import Evictor
from kai.controllers.pods.groups import Groups, assignment_of
from kai.controllers.pods.requests import Requests
from kai.controllers.pods.results import Results
from kai.controllers.pods.sharing.labels import gpu_labels
from kai.controllers.verdicts import orders
from kai.controllers.waits import earliest

How = Literal["direct", "bind-requests"]
WAIT_BEFORE_WRITING_S = 1.0
"""A pod that waits longer gets writes: its group is created, and the pod names it."""


class Broken(Exception):
    """The decision is not valid any more; the planning thread has dropped its assumption."""


class _Decided:
    """What both ways have in common: a plan has decided, so the planning thread can confirm it."""

    async def confirm(self, course: PodCourse) -> None:
        """Raises Broken."""
        binding = course.binding
        if not await Ask(binding) and course.binding is binding:
            raise Broken  # otherwise the same was decided again


class Direct(_Decided):
    """This process binds the pod. `copies_labels`: as in `Pods`."""

    def __init__(self, copies_labels: bool) -> None:
        self._copies_labels = copies_labels

    def write(self, binding: Binding) -> Write:
        annotations = {keys.RECEIVED_TYPE_ANNOTATION: "Regular", **binding.annotations}
        labels = gpu_labels(binding.spec) if self._copies_labels else {}
        if not binding.names_group:
            annotations[keys.POD_GROUP_ANNOTATION] = binding.group
            if binding.subgroup and self._copies_labels:
                labels[keys.SUBGROUP_LABEL] = binding.subgroup
        return orders.binding(
            pod=binding.pod,
            uid=binding.uid,
            node=binding.node,
            annotations=annotations,
            labels=labels,
            about=binding,
        )

    def names_group(self, binding: Binding) -> bool:
        """Whether the request sets all group fields of its pod."""
        return binding.names_group or self._copies_labels or not binding.subgroup

    async def look(self, course: PodCourse, trouble: Trouble) -> bool:
        binding = course.binding
        read = Read("Pod", binding.namespace, binding.own_name)
        pod = await Find(read, is_for_plans=True, uid=binding.uid)
        return is_on_node(pod, binding, trouble)


class ByRequest(_Decided):
    """A BindRequest asks a binder to bind the pod; only one object can have its name."""

    def __init__(self, courses: Courses, pool_key: str, pool: str) -> None:
        self._courses, self._pool_key, self._pool = courses, pool_key, pool

    def write(self, binding: Binding) -> Write:
        return bind_requests.creation(binding, self._pool_key, self._pool)

    def names_group(self, binding: Binding) -> bool:
        """A BindRequest sets no group fields of its pod."""
        return binding.names_group

    async def look(self, course: PodCourse, trouble: Trouble) -> bool:
        """A BindRequest that has failed, or belongs to an earlier pod of the name, is deleted. One
        for another node is respected."""
        binding = course.binding
        while True:
            found = await Find(_read_of(binding), is_for_plans=True)
            if found is None:
                if trouble.in_doubt:
                    return False
                raise Refused(trouble.why)
            request = Request.of(found)
            is_of_pod = request.owner in ("", binding.uid)
            if is_of_pod and request.node == binding.node and not request.has_failed:
                return True
            if is_of_pod and not request.has_failed:
                trouble.in_doubt = False  # the name is in use
                raise Refused("")  # the watch will soon show it
            await Send(bind_requests.deletion(request))
            if not trouble.in_doubt:
                raise Refused("")
            await trouble.rest(self._courses.now)


class Pods:
    """`by`: how pods are bound. `copies_labels`: the API server copies labels of a Binding to the
    pod (from 1.35 on). `eviction`: how victims are deleted. `wait`: how long a pod waits before it
    names its group. `pool_key` and `pool`: the node pool of this scheduler. `reservers`: what pods
    get before they are bound directly."""

    def __init__(
        self,
        courses: Courses,
        *,
        by: How = "direct",
        copies_labels: bool = True,
        eviction: orders.How = "delete",
        wait: float = WAIT_BEFORE_WRITING_S,
        pool_key: str = keys.NODE_POOL_LABEL,
        pool: str = "",
        reservers: Sequence[Reserver] = (),
    ) -> None:
        self._courses, self._by = courses, by
        self.results = Results()
        self.groups = Groups(courses, self.results, wait)
        self._evictor = Evictor(courses, self.results, eviction)
        self._way: Direct | ByRequest = Direct(copies_labels)
        if by == "bind-requests":
            self._way, reservers = ByRequest(courses, pool_key, pool), ()
        self._carrier = Carrier(courses, reservers, self._way, self.results)
        self.requests = Requests(courses, self._carrier.troubles, self.results, pool)
        self._of: dict[str, PodCourse] = {}  # the last course of each pod
        self._requested: dict[str, PodCourse] = {}  # by pod, until a watch shows its BindRequest

    # ---- what is known ---------------------------------------------------------------------------

    @property
    def under_way(self) -> int:
        """The number of bindings and evictions."""
        ended = (Stage.BOUND, Stage.PARKED, Stage.ENDS)
        return sum(each.stage not in ended for each in self._of.values()) + len(self._evictor)

    @property
    def in_doubt(self) -> int:
        """The number of pods that a request without an answer may still bind."""
        return self._carrier.troubles.in_doubt

    def held_back(self) -> list[str]:
        """Pods that are not bound for now, whatever a plan decides: their last binding failed a
        moment ago."""
        return self._carrier.troubles.waiting()

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod with that UID is gone; a new one may have its name."""
        self._evictor.pod_gone(pod, uid)
        self.requests.pod_gone(pod, uid)
        self.groups.pod_gone(pod, uid)
        course = self._of.get(pod)
        if course is not None and course.binding.uid == uid:
            course.is_gone = True
            self._courses.overtake(course)
        self._carrier.troubles.end(pod, uid)

    def hold(self, nodes: Iterable[str]) -> None:
        """These nodes changed: what was decided for them is checked before it is sent."""
        changed = frozenset(nodes)
        hold(self._of.values(), changed)
        self.requests.nodes_changed(changed)

    def lead_again(self) -> None:
        """A new term: another process may have led since the decisions that are not carried out
        yet. They are dropped, and nothing of them is undone."""
        for course in self._of.values():
            course.lose_lead()
        self._evictor.lead_again()

    def take_results(self) -> Results:
        """What has become known since the last call."""
        return self.results.take()

    # ---- decisions -------------------------------------------------------------------------------

    def begin(self, stamp: str, bindings: Iterable[Binding], removals: Iterable[Removal]) -> None:
        """Evictions and bindings of a plan. `stamp`: the time of the plan, for new groups."""
        at_once: list[Removal] = []
        waiting: dict[str, list[Removal]] = {}  # by the group that they make room for
        for removal in removals:
            waiting.setdefault(removal.order.for_group or "", []).append(removal)
        for name, chosen in waiting.items():
            created = self.groups.try_to_create(name)
            if created is None:
                at_once += chosen
            else:
                self._courses.start(self._evict_for(created, chosen))
        self._evictor.begin(at_once)
        for binding in bindings:
            self._begin(stamp, binding)

    def _begin(self, stamp: str, binding: Binding) -> None:
        before = self._of.get(binding.pod)
        if before is not None and before.binding.uid != binding.uid:
            before.is_gone = True  # a new pod has the name, and does not wait for it
            self._courses.overtake(before)
            before = None
        if before is not None:
            if before.stage is Stage.PARKED:
                before.binding = binding
                return
            if _is_same(before, binding):
                before.binding, before.has_changed = binding, False
                return
            self._courses.overtake(before)
        is_failed = self._by == "bind-requests" and self.requests.of(binding.pod) is not None
        if not is_failed and not self._carrier.troubles.is_waiting(binding):
            self.groups.bound_soon(binding.pod)
        course = self._of[binding.pod] = PodCourse(binding)
        self._courses.start(self._carry_out(course, before, stamp), course)

    def tick(self) -> None:
        """What its time has come for, before `Courses.run`."""
        self._carrier.tick()
        self.groups.tick()

    def next_tick(self) -> float | None:
        """The time of the next `tick`; None: no tick is needed before another event."""
        times = (
            self._courses.next(),
            *(self._carrier.next_tick(), self.groups.next_tick(), self.requests.next()),
        )
        return earliest(times)

    def request_seen(self, request: Request, *, leads: bool = True) -> None:
        """A watch has shown a BindRequest, of this process or of another one. `leads`: this
        process."""
        course = self._requested.get(request.pod)
        is_ours = course is not None and course.binding.uid == request.owner
        if course is not None and is_ours:
            self._courses.overtake(course)
        self.requests.put(request, is_ours=is_ours, leads=leads)

    # ---- courses ---------------------------------------------------------------------------------

    async def _evict_for(self, created: Fact[str], removals: Sequence[Removal]) -> None:
        why = await created
        if why:
            self._evictor.spare(removals, why)
        else:
            self._evictor.begin(removals)

    async def _carry_out(self, course: PodCourse, before: PodCourse | None, stamp: str) -> None:
        """One decision for one pod."""
        troubles = self._carrier.troubles
        if before is not None:
            course.is_shielded = True  # whatever happens, the next one waits as well
            await before.over
            course.is_shielded = False
        try:
            course.check()
            if troubles.is_waiting(course.binding):
                course.stage = Stage.PARKED
            else:
                await self._bind(course, stamp)
                await self._succeed(course)
        except Refused as end:
            self._fail(course, end)
        except GivenUp:
            self._give_up(course)
        except NotLeading:
            self._carrier.leave(course)
            self._give_up(course)
            self._name_later(course.binding)
        except Broken:
            self._name_later(course.binding)
        except Overtaken:
            pass
        if course.stage is not Stage.PARKED:
            course.stage = Stage.ENDS
        await self._carrier.undo(course)
        if course.stage is Stage.PARKED:
            await self._park(course)
        if self._of.get(course.binding.pod) is course:
            del self._of[course.binding.pod]
        course.over.set(None)

    async def _bind(self, course: PodCourse, stamp: str) -> None:
        binding = course.binding
        if self._by == "bind-requests" and self.requests.of(binding.pod) is not None:
            raise Refused("")  # it has failed, and is about to be deleted
        if self._by == "direct" and (lacks := self._carrier.lacks(binding)):
            raise Refused(f"kai does not support {lacks} yet")
        await self.groups.exist(course, stamp)
        if not self._way.names_group(binding):
            await self.groups.name_first(binding)
        try:
            await self._carrier.reserve(course)
        except NotWaiting as seen:
            is_on_node(seen.pod, binding, Trouble(binding.uid))
        else:
            await self._carrier.bind(course)

    async def _succeed(self, course: PodCourse) -> None:
        course.stage = Stage.BOUND
        self._carrier.keep(course)
        binding, troubles = course.binding, self._carrier.troubles
        if self._by == "direct":
            self.results.bound.append(binding)
            troubles.end(*binding.key)
            return
        troubles.end_doubt(*binding.key)
        self._requested[binding.pod] = course
        try:
            await self._until_shown(course)
        finally:
            if self._requested.get(binding.pod) is course:
                del self._requested[binding.pod]

    async def _until_shown(self, course: PodCourse) -> None:
        """The BindRequest may have been deleted before a watch could show it, or the answer was not
        true. Ends when one shows it: `Requests` follows it then."""
        wait = unshown.READ_AFTER_S
        while True:
            await Until(self._courses.now + wait)
            if await Find(_read_of(course.binding), is_for_plans=True) is None:
                self.results.forget.append(course.binding.assumption)
                return
            wait = min(wait * 2, unshown.MOST_WAIT_S)

    def _fail(self, course: PodCourse, end: Refused) -> None:
        """It is planned again later; until then its resources stay reserved."""
        course.clear_error()
        course.stage = Stage.PARKED
        binding, results = course.binding, self.results
        trouble = self._carrier.troubles.get(*binding.key)
        trouble.begin_to_rest(self._courses.now)
        if not end.why:
            return
        results.failed.append((binding, end.why))
        if end.by_node:
            results.refused.append((binding, end.why))
        elif trouble.is_stuck:
            results.stuck.append((binding, end.why))
        if self._by == "direct":
            self._name_later(binding)

    def _give_up(self, course: PodCourse) -> None:
        """Its resources are free, without a wait."""
        self._carrier.troubles.end(*course.binding.key)
        self.results.forget.append(course.binding.assumption)

    async def _park(self, course: PodCourse) -> None:
        course.is_shielded = False
        try:
            course.check()
            await self._carrier.troubles.get(*course.binding.key).end_of_rest()
        except Overtaken:
            return  # the pod is gone
        self.results.forget.append(course.binding.assumption)

    def _name_later(self, binding: Binding) -> None:
        """A pod that is not bound now names its group while it waits."""
        if not binding.names_group and not self.groups.is_assigned(binding.pod):
            self.groups.assign(assignment_of(binding))


def is_on_node(pod: Pod | None, binding: Binding, trouble: Trouble) -> bool:
    """Whether the pod, as it was read, is bound as decided; False: the request is sent again.
    Raises Refused and GivenUp."""
    metadata = {} if pod is None else pod.get("metadata", {})
    node = "" if pod is None else pod.get("spec", {}).get("nodeName", "")
    if pod is None or metadata.get("uid") != binding.uid:
        raise Refused("")  # a late watch will soon show it
    if node == binding.node:
        return True
    if node or metadata.get("deletionTimestamp"):
        raise GivenUp
    if trouble.in_doubt:
        return False
    raise Refused(trouble.why)


def _read_of(binding: Binding) -> Read:
    return Read("BindRequest", binding.namespace, binding.own_name)


def _is_same(course: PodCourse, binding: Binding) -> bool:
    """Whether the course is about to do just that."""
    one, is_open = course.binding, course.stage in (Stage.BEGINS, Stage.RESERVES, Stage.BINDS)
    is_equal = (one.uid, one.node, one.spec) == (binding.uid, binding.node, binding.spec)
    return is_open and is_equal and one.waits_for_volumes == binding.waits_for_volumes
