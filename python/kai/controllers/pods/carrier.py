"""Brings one pod to its node: what it needs first, then the request that binds it.

    carrier = Carrier(courses, reservers, way, results)
    await carrier.reserve(course)      # raises Refused, NotWaiting
    await carrier.bind(course)         # until it is bound; raises Refused, GivenUp, NotLeading
    await carrier.undo(course)         # if it is not

A request without an answer may have been applied, or may still be: it can be under way even when
the object is read. The pod's resources therefore stay reserved, and the request is sent again *for
the same node*, until a fact ends the doubt. Facts are: the pod is on a node (that never changes),
it is gone or replaced (a UID never comes back), it is being deleted (the API server binds no such
pod). Elapsed time and the rejection of a later try are not such facts. If the node cannot be used
any more, the request is not sent again; the doubt stays known (`Troubles.in_doubt`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Protocol

from kai.api.writes import NOT_LEADING, Outcome, Read, Result, Write
from kai.controllers.courses import Courses, Find, Send
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
    Troubles,
    answer_of,
)
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.results import Results
from kai.controllers.progress import SLOW_S, under_way


class Way(Protocol):
    """How a binding is requested."""

    def write(self, binding: Binding) -> Write: ...

    async def confirm(self, course: PodCourse) -> None:
        """The node changed since the decision: returns if that is still valid."""
        ...

    async def look(self, course: PodCourse, trouble: Trouble) -> bool:
        """After an answer that is not clear: whether the request was applied. If not, it is sent
        again. Raises Refused and GivenUp."""
        ...


class Carrier:
    """`reservers`: in the order of their steps."""

    def __init__(
        self, courses: Courses, reservers: Sequence[Reserver], way: Way, results: Results
    ) -> None:
        self._courses, self._reservers, self._way = courses, reservers, way
        self.results = results
        self.troubles = Troubles()
        self._slow: dict[PodCourse, float] = {}  # the start of steps, oldest first

    def lacks(self, binding: Binding) -> str:
        """The needs of the binding that no reserver provides, in words; "": none."""
        given = [each.what for each in self._reservers]
        return next((each for each in binding.needs if each not in given), "")

    async def reserve(self, course: PodCourse) -> None:
        """Nothing is reserved twice; what a try that was interrupted has left is undone before."""
        binding = course.binding
        if course.is_reserved or not binding.needs:
            return
        if course.steps:
            await self.undo(course)
            course.is_shielded = False
        course.lost = ""
        needed = [each for each in self._reservers if each.needs(binding)]
        pod = await Find(Read("Pod", binding.namespace, binding.own_name))
        if not _waits(pod, binding):
            raise NotWaiting(pod)
        course.stage = Stage.RESERVES
        course.pod = json.dumps(pod) if len(needed) > 1 else ""
        for reserver in needed:
            step = reserver.step(course, pod or json.loads(course.pod))
            pod = None
            course.steps.append(step)
            self._slow[course] = self._courses.now
            await step.reserve()
            self._slow.pop(course, None)
        course.pod, course.is_reserved = "", True

    async def bind(self, course: PodCourse) -> None:
        course.stage = Stage.RESERVES
        while True:
            while course.has_changed:
                course.has_changed = False
                await self._way.confirm(course)
            course.check()
            course.stage = Stage.BINDS
            course.is_shielded = True  # what becomes of the request is always known
            outcome = await Send(self._way.write(course.binding))
            course.is_shielded = False
            if outcome.result is Result.DONE:
                return
            trouble = self._trouble_of(course)
            trouble.in_doubt = trouble.in_doubt or outcome.result is Result.LOST
            course.check()
            if outcome.result is Result.TAKEN_BACK:
                course.has_changed = True
                course.stage = Stage.BINDS if trouble.in_doubt else Stage.RESERVES
                if course.lost and not trouble.in_doubt:
                    raise Refused(course.lost)
            elif await self._is_bound(course, trouble, outcome):
                return

    def _trouble_of(self, course: PodCourse) -> Trouble:
        """That of a pod that is gone is not kept."""
        key = course.binding.key
        return Trouble(key[1]) if course.is_gone else self.troubles.get(*key)

    async def _is_bound(self, course: PodCourse, trouble: Trouble, outcome: Outcome) -> bool:
        """After an answer other than DONE; False: the request is sent again."""
        binding, result, why = course.binding, outcome.result, answer_of(outcome)
        trouble.why = why
        if trouble.in_doubt:
            trouble.begin_to_rest(self._courses.now, free=2)  # after the first and the second try
            if trouble.tries == 2:
                self._say(binding, f"an answer of the API server: {why}")
            if result is Result.REFUSED:
                self.results.failed.append((binding, why))
            await trouble.end_of_rest()
        elif outcome.reason == NOT_LEADING:
            raise NotLeading
        elif result is Result.REPLACED:
            raise GivenUp
        elif result is not Result.CONFLICT and result is not Result.GONE:
            raise Refused(why, by_node=_may_be_for_the_node(outcome))
        return await self._way.look(course, trouble)

    async def undo(self, course: PodCourse) -> None:
        """The steps are undone, the last one first (spec 6 C52). Nothing interrupts that."""
        course.is_shielded, course.is_reserved = True, False
        self._slow.pop(course, None)
        while course.steps:
            step = course.steps.pop()
            try:
                await step.unreserve()
            except NotLeading:
                self.leave(course)

    def leave(self, course: PodCourse) -> None:
        """Nothing is undone: another process may be about to bind the pod, with what is there."""
        for step in course.steps:
            step.leave()
        self._forget(course)

    def keep(self, course: PodCourse) -> None:
        """The pod is bound."""
        for step in course.steps:
            step.keep()
        self._forget(course)

    def _forget(self, course: PodCourse) -> None:
        course.steps.clear()
        course.is_reserved = False
        self._slow.pop(course, None)

    def tick(self) -> None:
        """A step that takes longer than a second is reported."""
        now = self._courses.now
        while self._slow:
            course, since = next(iter(self._slow.items()))
            if now < since + SLOW_S:
                break
            del self._slow[course]
            self._say(course.binding, course.steps[-1].waits_for)

    def next_tick(self) -> float | None:
        return next((since + SLOW_S for since in self._slow.values()), None)

    def _say(self, binding: Binding, waits_for: str) -> None:
        self.results.events.append(under_way(*binding.key, binding.node, waits_for))


def hold(courses: Iterable[PodCourse], nodes: Iterable[str]) -> None:
    """These nodes changed: decisions for them are checked before their request is sent."""
    changed = frozenset(nodes)
    for course in courses:
        if course.binding.node in changed:
            course.has_changed = True


def _waits(pod: Pod | None, binding: Binding) -> bool:
    """Whether the pod is the intended one, and can be bound."""
    if pod is None or pod["metadata"]["uid"] != binding.uid:
        return False
    return not pod.get("spec", {}).get("nodeName") and "deletionTimestamp" not in pod["metadata"]


def _may_be_for_the_node(outcome: Outcome) -> bool:
    """Whether the node may be the cause of a refusal: not if a webhook gave no answer, or if the
    API server does not serve the kind of the request (404)."""
    if outcome.refusal is not None:
        return outcome.refusal.answered
    return outcome.result is Result.REFUSED and outcome.status != 404
