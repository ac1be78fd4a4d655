"""Writes: requests that change a cluster, as data, and what becomes of them; and reads.

    write = Write(Lane.BINDING, "create", "Pod", "team", "train-0", binding, "binding")
    Outcome(Result.DONE, 201)

Controllers decide on writes without any I/O; kai.k8s sends them, and the simulator carries them out
by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Literal


class Lane(IntEnum):
    """Which writes go first where there are more than can be sent at once."""

    LEASE = 0
    EVICTION = 1
    BINDING = 2  # bindings, and the pod groups that they belong to
    CONDITION = 3  # of pods, pod groups and queues
    EVENT = 4


Verb = Literal["create", "patch", "delete"]
PatchType = Literal["merge", "json", "strategic"]


@dataclass(frozen=True, slots=True)
class Write:
    """One request.

    `subresource`: "status", "binding", "eviction", or "" for the object itself. `body`: the object
    to create, the patch (a list where `patch_type` is "json"), or the options of a deletion. `key`:
    a later write of the same key takes the place of one that still waits to be sent; "" for writes
    that all have to be sent. `about`: what the controller wants back with the outcome.
    """

    lane: Lane
    verb: Verb
    kind: str
    namespace: str
    name: str
    body: Mapping[str, Any] | list[Any] | None = None
    subresource: str = ""
    patch_type: PatchType = "merge"
    key: str = ""
    about: Any = None


def delete_options(uid: str, **more: Any) -> dict[str, Any]:
    """The body of a deletion of the object of that UID, and of no other one of its name."""
    preconditions = {"uid": uid}
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions, **more}


@dataclass(frozen=True, slots=True)
class Read:
    """An object that is wanted as it is now; without a name, all objects of a namespace that
    `selector` (labels) selects. `about`: what the controller wants back with the answer."""

    kind: str
    namespace: str
    name: str = ""
    selector: str = ""
    about: Any = None


class Result(Enum):
    """What became of a write, by what the controller has to do next."""

    DONE = "done"
    GONE = "gone"  # 404: the object is not there
    CONFLICT = "conflict"  # 409: it is there already, or has changed
    REFUSED = "refused"  # the server will not do it, now or later
    # It was not done, and may be tried again: 429 and 5xx after several tries, a missing right.
    FAILED = "failed"
    LOST = "lost"  # no answer came: it may have been done
    REPLACED = "replaced"  # never sent: a later write of the same key took its place
    TAKEN_BACK = "taken back"  # not done: it was not to be tried again


NOT_LEADING = "NotLeading"
"""The reason of an outcome: nothing was sent, as another process may lead by now."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to a write: the HTTP status (0: none came), the server's reason and message."""

    result: Result
    status: int = 0
    reason: str = ""
    message: str = ""
    body: bytes = b""
