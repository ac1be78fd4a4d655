"""The writes of a binder: the status of a BindRequest, and the condition of its pod (spec 6
C51)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api.writes import Lane, Write
from kai.controllers.pods.bind_requests import Request
from kai.controllers.verdicts import Condition

BOUND = "PodBound"


def has_status(request: Request, status: Mapping[str, Any]) -> bool:
    """Whether the BindRequest has this status, as far as a binder writes it."""
    attempts = status.get("failedAttempts", request.attempts)
    wanted = status["phase"], status.get("reason"), attempts
    return (request.phase, request.reason or None, request.attempts) == wanted


def status_write(request: Request, status: Mapping[str, Any]) -> Write:
    """The patch names the version that was read: a new BindRequest of the name must not get the
    status of the previous one."""
    namespace, _, name = request.name.partition("/")
    body = {"metadata": {"resourceVersion": request.version}, "status": dict(status)}
    return Write(
        *(Lane.CONDITION, "patch", "BindRequest", namespace, name, body, "status"),
        key=f"status-of-bind-request/{request.name}",
    )


def condition_write(pod: str, uid: str, condition: Condition, stamp: str) -> Write:
    """`stamp`: RFC 3339."""
    namespace, _, name = pod.partition("/")
    entry = {"type": BOUND, **condition._asdict(), "lastTransitionTime": stamp}
    body = {"metadata": {"uid": uid}, "status": {"conditions": [entry]}}
    return Write(
        *(Lane.CONDITION, "patch", "Pod", namespace, name, body, "status"),
        patch_type="strategic",
        key=f"bound-condition-of-pod/{pod}",
    )


def condition_of(pod: Mapping[str, Any]) -> Condition | None:
    """The condition PodBound of the pod."""
    for each in pod.get("status", {}).get("conditions") or ():
        if each.get("type") == BOUND:
            return Condition(
                each.get("status", ""), each.get("reason", ""), each.get("message", "")
            )
    return None
