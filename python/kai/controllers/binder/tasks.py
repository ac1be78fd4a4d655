"""The state of one BindRequest in progress, and its pending writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kai.api.writes import Outcome, Result, Write
from kai.controllers.bind_requests import Request
from kai.controllers.binder import texts
from kai.controllers.bindings import wait_of
from kai.controllers.unshown import READ_AFTER_S
from kai.controllers.verdicts import Condition
from kai.controllers.verdicts.written import Written, is_another
from kai.controllers.waits import earliest


class Stage(Enum):
    WAITS = "waits"  # for the planning thread's facts about its pod and node
    LOOKS = "looks"  # an object is being read
    BINDS = "binds"  # the request is under way, or in doubt
    RESTS = "rests"  # it failed, and will be retried
    OVER = "over"


@dataclass(slots=True, eq=False)
class Task:
    """`attempts`: failures so far. `due`: the time of the next try. `status`: the status that its
    BindRequest needs and does not have yet; `sent`: the version for which that write is under way,
    "": none. `bound_due`: when the pod must be on its node for the watch as well."""

    request: Request
    attempts: int
    stage: Stage = Stage.WAITS
    due: float | None = None
    has_node: bool = True
    waits_for_volumes: bool = False
    status: Mapping[str, Any] | None = None
    sent: str = ""
    failures: int = 0
    status_due: float | None = None
    bound_due: float | None = None
    uid: str = ""  # of the pod
    pod: Written = field(default_factory=Written)
    pod_due: float | None = None

    @property
    def is_settled(self) -> bool:
        """It is over, and its status is written."""
        is_over = self.stage is Stage.OVER and self.bound_due is None
        return is_over and self.status is None and self.pod.is_settled

    @property
    def next(self) -> float | None:
        """The time of the next step without another event."""
        times = (self.due, self.status_due, self.bound_due, self.pod_due)
        return earliest(times)

    def see(self, request: Request) -> None:
        """A watch has shown it."""
        self.request = request
        wanted = self.status
        if wanted is not None and request.phase == wanted["phase"]:
            same = (request.reason or None, request.attempts) == (
                wanted.get("reason"),
                wanted.get("failedAttempts", request.attempts),
            )
            if same:
                self.status, self.sent, self.status_due, self.failures = None, "", None, 0

    def status_writes(self, status: Mapping[str, Any]) -> list[Write]:
        """Sets the status of the BindRequest."""
        self.status, self.sent = status, ""
        return self.write_status()

    def write_again(self) -> list[Write]:
        """The patch, whatever has become of earlier ones."""
        self.sent, self.status_due = "", None
        return self.write_status()

    def write_status(self) -> list[Write]:
        """The patch, unless one for this version is under way."""
        if self.status is None or self.sent == self.request.version:
            return []
        self.sent, self.status_due = self.request.version, None
        return [texts.status_write(self.request, self.status, StatusOf(self, self.sent))]

    def status_answered(self, now: float, version: str, outcome: Outcome) -> list[Write]:
        if self.status is None or version != self.sent or outcome.result is Result.REPLACED:
            return []
        if outcome.result is Result.CONFLICT and version != self.request.version:
            return self.write_status()  # a watch has shown the later one meanwhile
        if outcome.result in (Result.DONE, Result.GONE):
            self.status_due = now + READ_AFTER_S  # unless a watch has shown it by then
        else:
            self.sent, self.status_due = "", now + wait_of(self.failures)
            self.failures += 1
        return []

    def condition_writes(self, condition: Condition, stamp: str) -> list[Write]:
        """The pod gets this condition, unless it has it."""
        self.pod.want(texts.BOUND, condition)
        return self.write_pod(stamp)

    def write_pod(self, stamp: str) -> list[Write]:
        fields = self.pod.send()
        if not fields:
            return []
        about = ConditionOf(self, self.pod.number)
        condition = fields[texts.BOUND]
        return [texts.condition_write(self.request.pod, self.uid, condition, stamp, about)]

    def pod_answered(self, now: float, number: int, outcome: Outcome) -> None:
        if outcome.result is Result.REPLACED:
            return
        if is_another(outcome) or outcome.result in (Result.DONE, Result.REFUSED):
            self.pod.confirm(number)
        elif outcome.result in (Result.FAILED, Result.LOST):
            wait = self.pod.fail(number)
            self.pod_due = None if wait is None else now + wait


@dataclass(frozen=True, slots=True, eq=False)
class StatusOf:
    """Identifies the object of a status write."""

    task: Task
    version: str


@dataclass(frozen=True, slots=True, eq=False)
class ConditionOf:
    task: Task
    number: int
