"""The BindRequests that there are, for a scheduler: which ended, and which have to go.

    requests = Requests(ways, pool="")
    steps = requests.put(now, request)             # a watch has shown it
    for request in requests.take(now): ...         # what the planning thread is asked about
    steps = requests.checked(now, request, target)

Deleted are those of this node pool that have failed for good, whose node is gone, or whose pod was
made anew under its name (spec 5 A25). The pod is planned again: after a failure not before a wait,
which doubles each time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from kai.api.writes import Outcome, Result, Write
from kai.controllers.bind_requests.values import SUCCEEDED, Request, deletion
from kai.controllers.bindings import Binding, Bindings, Steps

AGAIN_S = 2.0
"""What could not be decided or deleted is looked at again."""


class Target(NamedTuple):
    """What a BindRequest is about, as the store has it. `uid`: of the pod, "": there is none;
    `node`: that the pod is on. `has_node`: the selected node is there. `waits_for_volumes`: those
    of the pod are not all there."""

    uid: str = ""
    node: str = ""
    has_node: bool = False
    waits_for_volumes: bool = False


@dataclass(frozen=True, slots=True)
class _Deletion:
    request: Request


class Requests:
    """`ways`: where pods wait after a failure. `pool`: the node pool of this scheduler."""

    def __init__(self, ways: Bindings, pool: str = "") -> None:
        self._ways, self._pool = ways, pool
        self._known: dict[str, Request] = {}
        self._open: dict[str, Request] = {}  # not over yet
        self._at: dict[str, set[str]] = {}  # names by node
        self._unchecked: dict[str, None] = {}
        self._again: dict[str, float] = {}  # when these are looked at again

    def of(self, pod: str) -> Request | None:
        """The one that takes the name that a BindRequest of the pod would have."""
        return self._known.get(pod)

    def put(self, now: float, request: Request) -> Steps:
        """A watch has shown it, new or changed."""
        steps = Steps()
        before = self._known.get(request.name)
        is_new = before is None or before.uid != request.uid
        if before is not None:
            self._leave(before)
        self._known[request.name] = request
        self._at.setdefault(request.node, set()).add(request.name)
        was_open = self._open.pop(request.name, None) is not None and not is_new
        if not request.is_over:
            self._open[request.name] = request
        is_ours = self._ways.shown(request.pod, request.owner)
        if is_new:
            self._unchecked[request.name] = None
        if request.phase == SUCCEEDED and (was_open or is_ours):
            self._ways.calm(request.pod, request.owner)
            steps.bound.append(_binding_of(request))
        if request.has_failed and (was_open or is_new):
            self._unchecked[request.name] = None
            if request.owner:
                self._ways.trouble(request.pod, request.owner).wait(now)
        return steps

    def gone(self, name: str, uid: str) -> None:
        known = self._known.get(name)
        if known is not None and known.uid == uid:
            self._leave(self._known.pop(name))
            for each in (self._open, self._unchecked, self._again):
                each.pop(name, None)

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod of that UID went; another one of its name may be there."""
        known = self._known.get(pod)
        if known is not None and known.owner == uid:
            self._unchecked[pod] = None

    def nodes_changed(self, nodes: Collection[str]) -> None:
        """These changed, or went."""
        for node in nodes:
            self._unchecked.update(dict.fromkeys(sorted(self._at.get(node, ()))))

    def take(self, now: float) -> list[Request]:
        """Those about which the planning thread is asked now."""
        for name, due in list(self._again.items()):
            if due <= now:
                del self._again[name]
                self._unchecked[name] = None
        names, self._unchecked = self._unchecked, {}
        return [self._known[name] for name in names if name in self._known]

    def next(self) -> float | None:
        """When `take` has something by itself."""
        return min(self._again.values(), default=None)

    def checked(self, now: float, request: Request, target: Target) -> Steps:
        """What follows from what it is about."""
        steps = Steps()
        current = self._known.get(request.name)
        if current is None or current.uid != request.uid or current.is_leaving:
            return steps
        if current.pool != self._pool:
            return steps  # another scheduler sees to it
        is_of_pod = current.owner in ("", target.uid)
        if current.has_failed:
            if is_of_pod and target.uid and not target.node:
                steps.failed.append((_binding_of(current), current.reason or "no reason is given"))
            else:
                self._ways.calm(current.pod, current.owner)
            self._delete(steps, current)
        elif not target.uid:
            # Gone, and its BindRequest goes with it; or it comes. Another one may come before.
            self._again[current.name] = now + AGAIN_S
        elif not is_of_pod or not target.has_node:  # spec 6 C42
            self._delete(steps, current)
        return steps

    def answered(self, now: float, write: Write, outcome: Outcome) -> None:
        """What became of a deletion; other writes are ignored."""
        if isinstance(write.about, _Deletion) and outcome.result not in (
            Result.DONE,
            Result.GONE,
            Result.CONFLICT,
        ):
            self._again[write.about.request.name] = now + AGAIN_S

    def _leave(self, request: Request) -> None:
        names = self._at[request.node]
        names.discard(request.name)
        if not names:
            del self._at[request.node]

    def _delete(self, steps: Steps, request: Request) -> None:
        steps.writes.append(deletion(request, _Deletion(request)))


def _binding_of(request: Request) -> Binding:
    """For what is said about its pod."""
    return Binding(request.pod, request.owner, request.node, 0, "", request=request.name)
