"""Existing BindRequests, for a scheduler: which ended, and which must be deleted.

    requests = Requests(courses, troubles, results, pool="")
    requests.put(request, is_ours=True)            # a watch has shown it
    for request in requests.unchecked(): ...       # the planning thread looks up pod and node
    requests.checked(request, target)

Deleted are BindRequests of this node pool that have failed for good, whose node does not exist, or
whose pod was replaced by another of its name (spec 5 A25). The pod is planned again; after a
failure only after a wait, which doubles each time.
"""

from __future__ import annotations

from collections.abc import Collection

from kai.api.refusals import refusal
from kai.api.writes import Result
from kai.controllers.courses import Courses, Send
from kai.controllers.pods.bind_requests.values import SUCCEEDED, Request, Target, deletion
from kai.controllers.pods.course import Troubles
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.results import Results
from kai.controllers.unshown import READ_AFTER_S

AGAIN_S = 2.0
"""The pause after a decision or deletion that failed."""


class Requests:
    """`troubles`: where pods wait after a failure. `pool`: the node pool of this scheduler."""

    def __init__(
        self, courses: Courses, troubles: Troubles, results: Results, pool: str = ""
    ) -> None:
        self._courses, self._troubles, self._results = courses, troubles, results
        self._pool = pool
        self._known: dict[str, Request] = {}
        self._open: dict[str, Request] = {}  # not over yet
        self._at: dict[str, set[str]] = {}  # names by node
        self._unchecked: dict[str, None] = {}
        self._again: dict[str, float] = {}  # when these are checked again

    def of(self, pod: str) -> Request | None:
        """The BindRequest with the name for this pod."""
        return self._known.get(pod)

    def put(self, request: Request, *, is_ours: bool, leads: bool = True) -> None:
        """A watch has shown it, new or changed. `is_ours`: it was created here, and not shown
        before. `leads`: pods of earlier requests count as bound by this process."""
        before = self._known.get(request.name)
        is_new = before is None or before.uid != request.uid
        if before is not None:
            self._leave(before)
        self._known[request.name] = request
        self._at.setdefault(request.node, set()).add(request.name)
        was_open = self._open.pop(request.name, None) is not None and not is_new
        if not request.is_over:
            self._open[request.name] = request
        if is_new:
            self._unchecked[request.name] = None
        if request.phase == SUCCEEDED and (was_open or is_ours):
            self._troubles.end(request.pod, request.owner)
            if leads or is_ours:
                self._results.bound.append(_binding_of(request))
        if request.has_failed and (was_open or is_new):
            self._unchecked[request.name] = None
            if request.owner:
                trouble = self._troubles.get(request.pod, request.owner)
                trouble.begin_to_rest(self._courses.now)
                self._courses.start(trouble.end_of_rest())

    def gone(self, name: str, uid: str) -> None:
        known = self._known.get(name)
        if known is not None and known.uid == uid:
            if known.has_failed and name in self._unchecked:  # with its pod
                self._troubles.end(known.pod, known.owner)
            self._leave(self._known.pop(name))
            for each in (self._open, self._unchecked, self._again):
                each.pop(name, None)

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod with that UID is gone; a new one may have its name."""
        known = self._known.get(pod)
        if known is not None and known.owner == uid:
            self._unchecked[pod] = None

    def nodes_changed(self, nodes: Collection[str]) -> None:
        """These nodes changed, or were deleted."""
        for node in nodes:
            self._unchecked.update(dict.fromkeys(sorted(self._at.get(node, ()))))

    def unchecked(self) -> list[Request]:
        """The BindRequests to check in the next turn of the planning thread."""
        self.tick()
        names, self._unchecked = self._unchecked, {}
        return [self._known[name] for name in names if name in self._known]

    def tick(self) -> None:
        """Those whose time has come are unchecked: also while this process does not lead, where
        they wait for its next term."""
        for name, due in list(self._again.items()):
            if due <= self._courses.now:
                del self._again[name]
                self._unchecked[name] = None

    def next(self) -> float | None:
        """The time of the next `unchecked` without another event."""
        return min(self._again.values(), default=None)

    def checked(self, request: Request, target: Target) -> None:
        """What the planning thread knows about it."""
        if target.uid != request.owner:  # the pod is gone
            self._troubles.end(request.pod, request.owner)
        current = self._known.get(request.name)
        if current is None or current.uid != request.uid or current.is_leaving:
            return
        if current.pool != self._pool:
            return  # another scheduler manages it
        is_of_pod = current.owner in ("", target.uid)
        if current.has_failed:
            if is_of_pod and target.uid and not target.node:
                why = current.reason or "no reason is given"
                self._results.failed.append((_binding_of(current), why))
                rule = refusal(why, inside=True)
                if rule is not None and rule.answered:
                    self._results.refused.append((_binding_of(current), why))
                elif current.owner and self._troubles.get(current.pod, current.owner).is_stuck:
                    self._results.stuck.append((_binding_of(current), why))
            else:
                self._troubles.end(current.pod, current.owner)
            self._courses.start(self._delete(current))
        elif not target.uid:
            # If the pod is gone, its BindRequest is deleted with it; or the pod arrives later. A
            # new BindRequest may come before.
            self._again[current.name] = self._courses.now + AGAIN_S
        elif not is_of_pod or not target.has_node:  # spec 6 C42
            self._courses.start(self._delete(current))

    async def _delete(self, request: Request) -> None:
        """It is repeated if no watch has shown it after a while, whatever the answer was."""
        outcome = await Send(deletion(request))
        if request.name in self._known:
            is_over = outcome.result in (Result.DONE, Result.GONE, Result.CONFLICT)
            self._again[request.name] = self._courses.now + (READ_AFTER_S if is_over else AGAIN_S)

    def _leave(self, request: Request) -> None:
        names = self._at[request.node]
        names.discard(request.name)
        if not names:
            del self._at[request.node]


def _binding_of(request: Request) -> Binding:
    """A binding for messages about its pod."""
    return Binding(request.pod, request.owner, request.node, 0, "", request=request.name)
