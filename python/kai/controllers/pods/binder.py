"""Carries out BindRequests: one course for each, with the steps of any pod that is bound.

    binder = RequestBinder(courses, reservers, wall)
    binder.put(request)                          # a watch has shown it
    for request in binder.unchecked(): ...       # the planning thread looks up pod and node
    binder.checked(request, target)

The usual course: a watch shows the request, the planning thread knows its pod and its node, the pod
is bound, and the status of request and pod is written. If the known facts do not fit, the pod or
the node is read first: a watch may be late, and that is not reported as a failure. What the pod got
is undone when a try fails; it stays when pod and node are only looked up again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kai.api.times import SECOND_NS, to_text
from kai.api.writes import Read, Result, Write
from kai.controllers.courses import Courses, Find, Overtaken, Send, Until
from kai.controllers.pods import binder_texts as texts
from kai.controllers.pods.bind_requests import Request, Target
from kai.controllers.pods.bind_requests.values import FAILED, SUCCEEDED
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
    wait_of,
)
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.pods import is_on_node
from kai.controllers.pods.results import Results
from kai.controllers.pods.sharing.labels import gpu_labels
from kai.controllers.pods.volumes.matching import claims_of
from kai.controllers.unshown import READ_AFTER_S
from kai.controllers.verdicts import Condition, binder_event, bound_to, not_bound, orders


class Again(Exception):
    """What is known about pod and node has changed: they are looked up again."""


class RequestCourse(PodCourse):
    """`until_known`: it waits for the planning thread. `attempts`: failures so far. `status`: the
    status that its BindRequest needs and does not have yet. `condition`: that of its pod;
    `has_condition`: the one that the pod has, as far as is known. `reads_first`: the watch has not
    shown what became of the last try. `was_bound`: a try succeeded."""

    def __init__(self, request: Request) -> None:
        super().__init__(_binding_of(request, request.owner, False))
        self.request, self.attempts = request, request.attempts
        self.until_known: Until | None = None
        self.target = Target()
        self.status: Mapping[str, Any] | None = None
        self.condition: Condition | None = None
        self.has_condition: Condition | None = None
        self.is_writing_status = self.is_writing_condition = False
        self.reads_first = self.was_bound = False
        self.until_shown, self.until_written = Until(), Until()


class RequestBinder:
    """`wall`: the time, in seconds since 1970. `reservers`: what pods get before they are bound.
    `copies_labels`: the API server copies labels of a Binding to the pod (from 1.35 on)."""

    def __init__(
        self,
        courses: Courses,
        reservers: Sequence[Reserver],
        wall: Callable[[], float],
        *,
        copies_labels: bool = True,
    ) -> None:
        self._courses, self._wall, self._copies_labels = courses, wall, copies_labels
        self._results = Results()
        self._carrier = Carrier(courses, reservers, self, self._results)
        self._of: dict[str, RequestCourse] = {}  # by the name of the BindRequest
        self._binds: dict[str, RequestCourse] = {}  # by pod
        self._holds: dict[str, RequestCourse] = {}  # the same, until nothing is left to undo
        self._unchecked: dict[str, None] = {}

    def __len__(self) -> int:
        """The number of open BindRequests."""
        return len(self._of)

    @property
    def in_doubt(self) -> int:
        """The number of pods that a request without an answer may still bind."""
        return self._carrier.troubles.in_doubt

    # ---- what happens ----------------------------------------------------------------------------

    def put(self, request: Request) -> None:
        """A watch has shown a BindRequest, new or changed."""
        course = self._of.get(request.name)
        if course is not None and course.request.uid != request.uid:
            self.gone(request.name, course.request.uid)
            course = None
        if course is None:
            if not request.is_over and not request.is_leaving:
                course = self._of[request.name] = RequestCourse(request)
                self._courses.start(self._carry_out(course), course)
            return
        before, course.request = course.request, request
        if course.status is not None and texts.has_status(request, course.status):
            course.status = None
        is_over = course.was_bound or course.stage is Stage.ENDS
        if (request.is_over or request.is_leaving) and not is_over:
            if request.phase == SUCCEEDED:
                self._carrier.keep(course)  # another process has bound the pod, with what is there
            self.gone(request.name, request.uid)
        elif request.version != before.version:
            course.until_shown.wake()

    def gone(self, name: str, uid: str) -> None:
        """The BindRequest does not exist any more: nothing is retried."""
        course = self._of.get(name)
        if course is not None and course.request.uid == uid:
            del self._of[name]
            course.status = course.condition = None
            course.until_shown.wake()
            course.clear_error()
            self._courses.overtake(course)

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod with that UID is gone; a new one may have its name."""
        course = self._binds.get(pod)
        if course is not None and course.binding.uid == uid:
            course.is_gone = True
            self._courses.overtake(course, Again())
        self._carrier.troubles.end(pod, uid)

    def lead_again(self) -> None:
        """A new term: what is under way is looked up again, and reserved again."""
        for course in self._binds.values():
            self._courses.overtake(course, NotLeading())

    def hold(self, nodes: Iterable[str]) -> None:
        """These nodes changed: what was requested for them is checked before it is sent."""
        hold(self._of.values(), nodes)

    def take_results(self) -> Results:
        return self._results.take()

    # ---- decisions -------------------------------------------------------------------------------

    def unchecked(self) -> list[Request]:
        """The BindRequests that the planning thread must check; for `checked`."""
        names, self._unchecked = self._unchecked, {}
        return [self._of[name].request for name in names if name in self._of]

    @property
    def has_unchecked(self) -> bool:
        return bool(self._unchecked)

    def checked(self, request: Request, target: Target) -> None:
        """The planning thread's facts about its pod and its node."""
        course = self._of.get(request.name)
        if (
            course is not None
            and course.request.uid == request.uid
            and course.until_known is not None
        ):
            course.target = target
            course.until_known.wake()

    def tick(self) -> None:
        self._carrier.tick()

    def next_tick(self) -> float | None:
        """The time of the next `tick`; None: no tick is needed before another event."""
        return self._carrier.next_tick()

    # ---- a way to bind (kai.controllers.pods.carrier) --------------------------------------------

    def write(self, binding: Binding) -> Write:
        return orders.binding(
            pod=binding.pod,
            uid=binding.uid,
            node=binding.node,
            annotations=binding.annotations,
            labels=gpu_labels(binding.spec) if self._copies_labels else {},
            about=binding,
        )

    async def confirm(self, course: PodCourse) -> None:
        raise Again

    async def look(self, course: PodCourse, trouble: Trouble) -> bool:
        assert isinstance(course, RequestCourse)
        binding = course.binding
        pod = await self._read_pod(course)
        if pod is not None and _may_be_bound(pod, binding):
            return is_on_node(pod, binding, trouble)
        self._carrier.troubles.end(*binding.key)  # a request under way has no effect any more
        return self._is_bound(course, pod)

    # ---- courses ---------------------------------------------------------------------------------

    async def _carry_out(self, course: RequestCourse) -> None:
        """One BindRequest, until its status is written and its pod is on its node."""
        try:
            while await self._try(course):
                pass
            while course.is_writing_status or course.is_writing_condition:
                course.until_written = Until()
                await course.until_written
        except Overtaken:
            course.stage = Stage.ENDS
        await self._undo(course)
        if self._of.get(course.request.name) is course:
            del self._of[course.request.name]

    async def _try(self, course: RequestCourse) -> bool:
        """One try; whether there is another one."""
        try:
            was_sent = await self._bind(course)
        except (Again, GivenUp, NotLeading) as end:
            course.clear_error()
            if isinstance(end, NotLeading):
                self._carrier.leave(course)
            return True
        except Refused as end:
            course.clear_error()
            return await self._fail(course, end)
        if isinstance(course.error, (Again, NotLeading)):
            course.clear_error()  # the pod was bound before
        self._succeed(course)
        return was_sent and not await self._is_confirmed(course)

    async def _bind(self, course: RequestCourse) -> bool:
        """Returns once the pod is bound, and whether that was done here. Raises Refused, GivenUp
        and Again."""
        course.stage, course.has_changed, course.is_gone = Stage.BEGINS, False, False
        target = course.target if course.reads_first else await self._target(course)
        request = course.request
        if not request.node:
            raise Refused("no node is selected", on_pod=False)
        if course.steps and target.uid != course.binding.uid:
            await self._carrier.undo(course)  # a new pod has the name
            course.is_shielded = False
        course.binding = _binding_of(request, target.uid, target.waits_for_volumes)
        is_its_pod = bool(target.uid) and request.owner in ("", target.uid)
        if course.reads_first or not is_its_pod or not target.has_node or target.node:
            course.reads_first = False
            if self._is_bound(course, await self._read_pod(course)):
                return False
            if not target.has_node and await Find(Read("Node", "", request.node)) is None:
                raise Refused(f'Node "{request.node}" not found')
        if lacks := self._carrier.lacks(course.binding):
            raise Refused(f"this binder does not support {lacks} yet")
        if self._holds.get(request.pod, course) is not course:
            await Until(self._courses.now + wait_of(0))  # another request for the same pod
            raise Again
        self._binds[request.pod] = self._holds[request.pod] = course
        try:
            await self._carrier.reserve(course)
            await self._carrier.bind(course)
        except NotWaiting as seen:
            return not self._is_bound(course, seen.pod)
        finally:
            del self._binds[request.pod]
        return True

    async def _target(self, course: RequestCourse) -> Target:
        """What the planning thread knows, as soon as this process may act."""
        self._unchecked[course.request.name] = None
        course.until_known = Until()
        await course.until_known
        course.until_known = None
        return course.target

    async def _read_pod(self, course: RequestCourse) -> Pod | None:
        namespace, _, name = course.request.pod.partition("/")
        pod: Pod | None = await Find(Read("Pod", namespace, name))
        if pod is not None and not course.is_writing_condition:
            course.has_condition = texts.condition_of(pod)
        return pod

    def _is_bound(self, course: RequestCourse, pod: Pod | None) -> bool:
        """Whether the pod, as it was read, is on its node; otherwise it waits. Raises Refused.
        Problems of an earlier pod of the name are not written on this one."""
        request = course.request
        if pod is None:
            own = request.pod.partition("/")[2]
            raise Refused(f'Pod "{own}" not found', on_pod=False)
        metadata, node = pod["metadata"], pod.get("spec", {}).get("nodeName", "")
        course.binding = _binding_of(request, metadata["uid"], bool(claims_of(pod)))
        if request.owner not in ("", metadata["uid"]):
            raise Refused("another pod has its name now", on_pod=False)
        if node == request.node:
            return True
        if node:
            raise Refused(f"the pod is on node {node}", on_pod=False)
        if "deletionTimestamp" in metadata:
            raise Refused("the pod is being deleted", on_pod=False)
        return False

    def _succeed(self, course: RequestCourse) -> None:
        course.stage, course.was_bound = Stage.BOUND, True
        self._carrier.keep(course)
        self._let_go(course)
        self._carrier.troubles.end(*course.binding.key)
        status: dict[str, Any] = {"phase": SUCCEEDED}
        if course.request.reason:
            status["reason"] = None
        self._write_status(course, status)
        self._write_condition(course, bound_to(course.request.node))

    async def _is_confirmed(self, course: RequestCourse) -> bool:
        """The API server has accepted the binding. If no watch has shown the pod on its node, the
        pod is read, and bound again if it still waits."""
        await Until(self._courses.now + READ_AFTER_S)
        target = await self._target(course)
        course.reads_first = target.uid == course.binding.uid and not target.node
        return not course.reads_first

    async def _fail(self, course: RequestCourse, end: Refused) -> bool:
        """Whether there is another try."""
        request = course.request
        course.attempts += 1
        is_last = request.limit is None or course.attempts >= request.limit
        status = {"phase": FAILED, "reason": end.why, "failedAttempts": course.attempts}
        self._write_status(course, status)
        if end.on_pod:
            self._write_condition(course, not_bound(request.pod, request.node, end.why))
        self._results.failed.append((course.binding, end.why))
        course.stage = Stage.ENDS if is_last else Stage.PARKED
        due = self._courses.now + wait_of(course.attempts - 1)
        await self._undo(course)
        course.is_shielded = False
        if not is_last:
            await Until(due)
        return not is_last

    async def _undo(self, course: RequestCourse) -> None:
        await self._carrier.undo(course)
        self._let_go(course)

    def _let_go(self, course: RequestCourse) -> None:
        """Another request for the same pod may begin."""
        if self._holds.get(course.request.pod) is course:
            del self._holds[course.request.pod]

    # ---- what is written -------------------------------------------------------------------------

    def _write_status(self, course: RequestCourse, status: Mapping[str, Any]) -> None:
        """Without effect for a BindRequest that is gone."""
        if self._of.get(course.request.name) is not course:
            return
        course.status = status
        course.until_shown.wake()
        if not course.is_writing_status:
            course.is_writing_status = True
            self._courses.start(self._keep_writing_status(course))

    async def _keep_writing_status(self, course: RequestCourse) -> None:
        """Until a watch shows it. Each write names the version that was shown."""
        failures = 0
        while (status := course.status) is not None:
            request = course.request
            outcome = await Send(texts.status_write(request, status))
            if course.status is not status:
                continue
            if outcome.result is Result.CONFLICT and request.version != course.request.version:
                continue  # a watch has shown the later one meanwhile
            wait = READ_AFTER_S
            if outcome.result not in (Result.DONE, Result.GONE):
                wait = wait_of(failures)
                failures += 1
            course.until_shown = Until(self._courses.now + wait)
            await course.until_shown
        course.is_writing_status = False
        course.until_written.wake()

    def _write_condition(self, course: RequestCourse, condition: Condition) -> None:
        """Unless the pod has it."""
        last = course.condition if course.is_writing_condition else course.has_condition
        if last == condition:
            return
        course.condition = condition
        if not course.is_writing_condition:
            course.is_writing_condition = True
            self._courses.start(self._keep_writing_condition(course))
        event = binder_event(course.request.pod, course.binding.uid, condition)
        self._results.events.append(event)

    async def _keep_writing_condition(self, course: RequestCourse) -> None:
        failures = 0
        while (condition := course.condition) is not None and condition != course.has_condition:
            stamp = to_text(int(self._wall()) * SECOND_NS)
            write = texts.condition_write(course.request.pod, course.binding.uid, condition, stamp)
            outcome = await Send(write)
            if outcome.result in (Result.FAILED, Result.LOST):
                await Until(self._courses.now + wait_of(failures))
                failures += 1
            else:  # it has it, or never will; or a later request of the pod has replaced this one
                course.has_condition = condition
        course.is_writing_condition = False
        course.until_written.wake()


def _may_be_bound(pod: Pod, binding: Binding) -> bool:
    """Whether the pod may be bound to the node, or is."""
    metadata, node = pod["metadata"], pod.get("spec", {}).get("nodeName", "")
    if metadata["uid"] != binding.uid or node not in ("", binding.node):
        return False
    return bool(node) or "deletionTimestamp" not in metadata


def _binding_of(request: Request, uid: str, waits_for_volumes: bool) -> Binding:
    return Binding(
        *(request.pod, uid, request.node, 0, ""),
        annotations=request.annotations or {},
        spec=request.spec,
        request=request.name,
        waits_for_volumes=waits_for_volumes,
    )
