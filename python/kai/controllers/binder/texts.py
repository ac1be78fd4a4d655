"""What a binder writes: the status of a BindRequest, and what its pod says of it (spec 6 C51)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from kai.api.writes import Lane, Write
from kai.controllers.bind_requests import Request
from kai.controllers.verdicts import Condition, Event

BOUND = "PodBound"


def status_write(request: Request, status: Mapping[str, Any], about: Any) -> Write:
    """The patch names the version that was looked at: a BindRequest that was made anew under the
    name must not get the status of the one before it."""
    namespace, _, name = request.name.partition("/")
    body = {"metadata": {"resourceVersion": request.version}, "status": dict(status)}
    return Write(
        *(Lane.CONDITION, "patch", "BindRequest", namespace, name, body, "status"),
        key=f"status-of-bind-request/{request.name}",
        about=about,
    )


def condition_write(pod: str, uid: str, condition: Condition, stamp: str, about: Any) -> Write:
    """`stamp`: RFC 3339."""
    namespace, _, name = pod.partition("/")
    entry = {"type": BOUND, **condition._asdict(), "lastTransitionTime": stamp}
    body = {"metadata": {"uid": uid}, "status": {"conditions": [entry]}}
    return Write(
        *(Lane.CONDITION, "patch", "Pod", namespace, name, body, "status"),
        patch_type="strategic",
        key=f"bound-condition-of-pod/{pod}",
        about=about,
    )


def bound(node: str) -> Condition:
    return Condition("True", "Bound", f"Pod bound successfully to node {node}")


def not_bound(pod: str, node: str, why: str) -> Condition:
    return Condition("False", "BindingError", f"Failed to bind pod {pod} to node {node}: {why}")


def event(pod: str, uid: str, condition: Condition) -> Event:
    """It says what the condition says."""
    namespace, _, name = pod.partition("/")
    type: Literal["Normal", "Warning"] = "Normal" if condition.status == "True" else "Warning"
    text = (condition.reason, condition.message)
    return Event("Pod", namespace, name, uid, type, *text, component="binder")


def condition_of(pod: Mapping[str, Any]) -> Condition | None:
    """The condition PodBound that it has."""
    for each in pod.get("status", {}).get("conditions") or ():
        if each.get("type") == BOUND:
            return Condition(
                each.get("status", ""), each.get("reason", ""), each.get("message", "")
            )
    return None
