"""Carries out BindRequests, one task each.

The usual course: a watch shows the request, the planning thread knows its pod and its node, the pod
is bound, and the status of request and pod is written. If the known facts do not fit, the pod or
the node is read first: a watch may be late, and that is not reported as a failure.

The preparation of a pod (kai.controllers.preparing) belongs to the BindRequest until that is over:
reading the pod again in between undoes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from kai.api.times import SECOND_NS, to_text
from kai.api.writes import Outcome, Write
from kai.controllers.bind_requests import Request, Target
from kai.controllers.bind_requests.values import FAILED, SUCCEEDED
from kai.controllers.binder import texts
from kai.controllers.binder.tasks import ConditionOf, Stage, StatusOf, Task
from kai.controllers.bindings import Binding, Bindings, Steps, wait_of
from kai.controllers.preparing import Prepared, Preparing
from kai.controllers.sharing.labels import gpu_labels
from kai.controllers.unshown import READ_AFTER_S
from kai.controllers.verdicts import Condition, binder_event, bound_to, not_bound, orders
from kai.controllers.volumes.matching import claims_of
from kai.controllers.waits import earliest


class RequestBinder:
    """`wall`: the time, in seconds since 1970. `preparing`: what pods get before they are bound.
    `copies_labels`: the API server copies labels of a Binding to the pod (from 1.35 on)."""

    def __init__(
        self,
        wall: Callable[[], float],
        preparing: Preparing | None = None,
        *,
        copies_labels: bool = True,
    ) -> None:
        self._wall, self._copies_labels = wall, copies_labels
        self._ways = Bindings(self._binding, preparing)
        self._tasks: dict[str, Task] = {}  # by the name of the BindRequest
        self._unchecked: dict[str, None] = {}
        self._timed: dict[str, Task] = {}  # tasks with a next step at a known time
        self._numbers = 0
        self._by_number: dict[int, str] = {}  # the BindRequests of bindings under way

    def __len__(self) -> int:
        """The number of open BindRequests."""
        return len(self._tasks)

    @property
    def in_doubt(self) -> int:
        """The number of pods that a request without an answer may still bind."""
        return self._ways.in_doubt

    # ---- what happens ----------------------------------------------------------------------------

    def put(self, now: float, request: Request) -> Steps:
        """A watch has shown a BindRequest, new or changed."""
        steps = Steps()
        task = self._tasks.get(request.name)
        if task is not None and task.request.uid != request.uid:
            self.gone(request.name, task.request.uid)
            task = None
        if task is None:
            if not request.is_over and not request.is_leaving:
                self._tasks[request.name] = Task(request, request.attempts)
                self._unchecked[request.name] = None
            return steps
        task.see(request)
        if request.is_over and task.stage is not Stage.OVER:
            self.gone(request.name, request.uid)  # another process has finished it
        elif request.is_leaving and task.stage is not Stage.OVER:
            self.gone(request.name, request.uid)
        else:
            steps.writes += task.write_status()
            self._settle(task)
        return steps

    def gone(self, name: str, uid: str) -> None:
        """The BindRequest does not exist any more: nothing is retried."""
        task = self._tasks.get(name)
        if task is None or task.request.uid != uid:
            return
        del self._tasks[name]
        self._unchecked.pop(name, None)
        self._timed.pop(name, None)
        binding = self._ways.of(task.request.pod)
        if binding is not None and binding.request == name:
            self._ways.drop(binding)
            self._by_number.pop(binding.assumption, None)
        else:
            self._ways.take_back(_binding_of(task, task.uid, 0))

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod with that UID is gone; a new one may have its name."""
        binding = self._ways.of(pod)
        if self._ways.gone(pod, uid) and binding is not None:
            task = self._of(binding)
            if task is not None:
                self._check(task)

    def hold(self, unsent: Iterable[Binding], nodes: Collection[str]) -> None:
        """These nodes changed. `unsent`: bindings to them that the writer returned."""
        for binding in unsent:
            task = self._of(binding)
            if task is not None and binding.node in nodes and self._ways.is_current(binding):
                self._ways.set_aside(binding)
                self._check(task)

    # ---- decisions -------------------------------------------------------------------------------

    def take(self) -> list[Request]:
        """The BindRequests that the planning thread must check; for `checked`."""
        names, self._unchecked = self._unchecked, {}
        return [self._tasks[name].request for name in names if name in self._tasks]

    def checked(self, now: float, request: Request, target: Target) -> Steps:
        """The planning thread's facts about its pod and its node."""
        steps = Steps()
        task = self._tasks.get(request.name)
        if task is None or task.request.uid != request.uid:
            return steps
        if task.stage is Stage.OVER:
            self._confirm(steps, task, target)
        if task.stage is not Stage.WAITS:
            return steps
        request, task.has_node = task.request, target.has_node
        task.waits_for_volumes = target.waits_for_volumes
        if not request.node:
            self._fail(now, steps, task, "no node is selected", on_pod=False)
            return steps
        is_its_pod = bool(target.uid) and request.owner in ("", target.uid)
        if is_its_pod and target.has_node and not target.node:
            self._bind(now, steps, task, target.uid)
        else:
            task.stage = Stage.LOOKS
            steps.look.append((self._new(task, request.owner), "Pod"))
        return steps

    def seen(
        self, now: float, binding: Binding, kind: str, found: Mapping[str, Any] | None
    ) -> Steps:
        """The result of a read in `Steps.look`; None: the object is gone."""
        steps = Steps()
        task = self._of(binding)
        if task is None:
            return steps
        if kind == "Pod" and found is not None:
            task.pod.look({texts.BOUND: texts.condition_of(found)})
        if self._ways.is_current(binding):
            if found is not None and _may_be_bound(found, binding):
                self._absorb(now, self._ways.seen(now, binding, found), steps)
                return steps
            self._ways.set_aside(binding)  # a request under way has no effect any more
            self._by_number.pop(binding.assumption, None)
            self._ways.calm(binding.pod, binding.uid)
            self._judge(now, steps, task, found)
        elif task.stage is Stage.LOOKS:
            self._by_number.pop(binding.assumption, None)
            if kind == "Node":
                if found is None:
                    self._fail(now, steps, task, f'Node "{task.request.node}" not found')
                else:
                    self._bind(now, steps, task, task.uid)
            else:
                self._judge(now, steps, task, found)
        return steps

    def answered(self, now: float, write: Write, outcome: Outcome) -> Steps:
        """The next steps after the answer to one of its writes; none for writes of others."""
        steps = Steps()
        about = write.about
        if isinstance(about, Binding):
            ways = self._ways.answered(now, about, outcome)
            for task in filter(None, map(self._of, ways.bound)):
                task.bound_due = now + READ_AFTER_S
                self._time(task)
            self._absorb(now, ways, steps)
        elif isinstance(about, StatusOf):
            steps.writes += about.task.status_answered(now, about.version, outcome)
            self._time(about.task)
        elif isinstance(about, ConditionOf):
            about.task.pod_answered(now, about.number, outcome)
            self._time(about.task)
            self._settle(about.task)
        return steps

    def prepared(self, now: float, prepared: Prepared) -> Steps:
        """Pods got what they need before their binding, or will not get it; other bindings are
        ignored."""
        steps = Steps()
        self._absorb(now, self._ways.prepared(now, prepared), steps)
        for binding, pod in prepared.seen:
            if self._ways.is_current(binding):
                steps.add(self.seen(now, binding, "Pod", pod))
        return steps

    def tick(self, now: float) -> Steps:
        """Retries failures whose time has come."""
        steps = Steps()
        ways = Steps()
        self._ways.tick(now, ways)
        self._absorb(now, ways, steps)
        timed, self._timed = self._timed, {}
        for task in timed.values():
            if task.due is not None and now >= task.due:
                self._check(task)
            if task.status_due is not None and now >= task.status_due:
                steps.writes += task.write_again()
            if task.bound_due is not None and now >= task.bound_due:
                self._unchecked[task.request.name] = None
                task.bound_due = now + 2 * READ_AFTER_S
            if task.pod_due is not None and now >= task.pod_due:
                task.pod_due = None
                steps.writes += task.write_pod(self._stamp())
            self._time(task)
        return steps

    def next_tick(self) -> float | None:
        """The time of the next `tick`; None: no tick is needed before another event."""
        times = [self._ways.next_tick(), *(task.next for task in self._timed.values())]
        return earliest(times)

    @property
    def has_unchecked(self) -> bool:
        return bool(self._unchecked)

    # ---- inside ----------------------------------------------------------------------------------

    def _judge(self, now: float, steps: Steps, task: Task, pod: Mapping[str, Any] | None) -> None:
        """Decides with the current pod. Problems of an earlier pod of the name are not written on
        this one."""
        request = task.request
        if pod is None:
            own = request.pod.partition("/")[2]
            self._fail(now, steps, task, f'Pod "{own}" not found', on_pod=False)
            return
        metadata, node = pod["metadata"], pod.get("spec", {}).get("nodeName", "")
        task.uid, task.waits_for_volumes = metadata["uid"], bool(claims_of(pod))
        if request.owner not in ("", task.uid):
            self._fail(now, steps, task, "another pod has its name now", on_pod=False)
        elif node == request.node:
            self._succeed(steps, task)
        elif node:
            self._fail(now, steps, task, f"the pod is on node {node}", on_pod=False)
        elif "deletionTimestamp" in metadata:
            self._fail(now, steps, task, "the pod is being deleted", on_pod=False)
        elif task.has_node:
            self._bind(now, steps, task, task.uid)
        else:
            steps.look.append((self._new(task, task.uid), "Node"))

    def _confirm(self, steps: Steps, task: Task, target: Target) -> None:
        """The API server has accepted the binding. If no watch has shown the pod on its node, the
        pod is read, and bound again if it still waits."""
        if task.bound_due is None:
            return
        task.bound_due = None
        if target.uid == task.uid and not target.node:
            task.stage = Stage.LOOKS
            steps.look.append((self._new(task, task.uid), "Pod"))
        else:
            self._settle(task)

    def _bind(self, now: float, steps: Steps, task: Task, uid: str) -> None:
        task.uid = uid
        other = self._ways.of(task.request.pod)
        if lacks := self._ways.lacks(_binding_of(task, uid, 0)):
            self._fail(now, steps, task, f"this binder does not support {lacks} yet")
            return
        if other is not None and other.request != task.request.name:
            task.stage, task.due = Stage.RESTS, now + wait_of(0)  # another one for the same pod
            self._time(task)
            return
        task.stage = Stage.BINDS
        binding = self._new(task, uid)
        self._ways.add(binding)
        steps.writes += self._ways.begin(now, binding)

    def _absorb(self, now: float, ways: Steps, steps: Steps) -> None:
        """Takes in the results of bindings."""
        steps.writes += ways.writes
        steps.look += ways.look
        steps.events += ways.events
        for binding in ways.bound:
            task = self._of(binding)
            self._by_number.pop(binding.assumption, None)
            if task is not None:
                self._succeed(steps, task)
        for binding, why in ways.failed:
            task = self._of(binding)
            # Otherwise it is in doubt, and may still be bound
            if not self._ways.is_current(binding):
                self._by_number.pop(binding.assumption, None)
                if task is not None:
                    self._fail(now, steps, task, why)
        for binding in ways.to_check:
            task = self._of(binding)
            self._ways.set_aside(binding)
            if task is not None:
                self._check(task)
        for number in ways.forget:
            task = self._tasks.get(self._by_number.pop(number, ""))
            is_idle = task is not None and self._ways.of(task.request.pod) is None
            if task is not None and is_idle and task.stage is Stage.BINDS:
                self._check(task)

    def _succeed(self, steps: Steps, task: Task) -> None:
        request = task.request
        task.stage, task.due = Stage.OVER, None
        self._ways.keep(_binding_of(task, task.uid, 0))
        status: dict[str, Any] = {"phase": SUCCEEDED}
        if request.reason:
            status["reason"] = None
        steps.writes += task.status_writes(status)
        self._write_condition(steps, task, bound_to(request.node))

    def _fail(self, now: float, steps: Steps, task: Task, why: str, *, on_pod: bool = True) -> None:
        """`on_pod`: also write it on the pod."""
        request = task.request
        self._ways.take_back(_binding_of(task, task.uid, 0))
        task.attempts += 1
        is_final = request.limit is None or task.attempts >= request.limit
        task.stage = Stage.OVER if is_final else Stage.RESTS
        task.due = None if is_final else now + wait_of(task.attempts - 1)
        status = {"phase": FAILED, "reason": why, "failedAttempts": task.attempts}
        steps.writes += task.status_writes(status)
        if on_pod:
            self._write_condition(steps, task, not_bound(request.pod, request.node, why))
        steps.failed.append((_binding_of(task, task.uid, 0), why))
        self._time(task)

    def _write_condition(self, steps: Steps, task: Task, condition: Condition) -> None:
        if task.pod.current(texts.BOUND) == condition:
            return
        steps.writes += task.condition_writes(condition, self._stamp())
        steps.events.append(binder_event(task.request.pod, task.uid, condition))

    def _check(self, task: Task) -> None:
        """Requests a check by the planning thread, as soon as this process may act."""
        task.stage, task.due = Stage.WAITS, None
        self._unchecked[task.request.name] = None

    def _settle(self, task: Task) -> None:
        if task.is_settled:
            self._tasks.pop(task.request.name, None)

    def _new(self, task: Task, uid: str) -> Binding:
        self._numbers += 1
        self._by_number[self._numbers] = task.request.name
        return _binding_of(task, uid, self._numbers)

    def _time(self, task: Task) -> None:
        name = task.request.name
        if task.next is not None and self._tasks.get(name) is task:
            self._timed[name] = task

    def _binding(self, binding: Binding) -> Write:
        return orders.binding(
            *(binding.pod, binding.uid, binding.node),
            annotations=binding.annotations,
            labels=gpu_labels(binding.spec) if self._copies_labels else {},
            about=binding,
        )

    def _of(self, binding: Binding) -> Task | None:
        return self._tasks.get(binding.request)

    def _stamp(self) -> str:
        return to_text(int(self._wall()) * SECOND_NS)


def _may_be_bound(pod: Mapping[str, Any], binding: Binding) -> bool:
    """Whether the pod may be bound to the node, or is."""
    metadata, node = pod["metadata"], pod.get("spec", {}).get("nodeName", "")
    if metadata["uid"] != binding.uid or node not in ("", binding.node):
        return False
    return bool(node) or "deletionTimestamp" not in metadata


def _binding_of(task: Task, uid: str, number: int) -> Binding:
    request = task.request
    return Binding(
        *(request.pod, uid, request.node, number, ""),
        annotations=request.annotations or {},
        spec=request.spec,
        request=request.name,
        waits_for_volumes=task.waits_for_volumes,
    )
