"""Requests that read or change a cluster, as data, and their outcomes.

    write = Write(Lane.BINDING, "create", "Pod", "team", "train-0", binding, "binding")
    Outcome(Result.DONE, 201)

Controllers decide on writes without I/O. kai.k8s sends the writes; the simulator applies them
itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Literal

from kai.api.refusals import Refusal


class Lane(IntEnum):
    """The priority of a write when more writes wait than can be sent at once."""

    LEASE = 0
    EVICTION = 1
    BINDING = 2  # bindings, and the pod groups of their pods
    CONDITION = 3  # of pods, pod groups and queues
    EVENT = 4


Verb = Literal["create", "patch", "delete"]
PatchType = Literal["merge", "json", "strategic"]


@dataclass(frozen=True, slots=True)
class Write:
    """One write request.

    `subresource`: "status", "binding", "eviction", or "" for the object itself. `body`: the object
    to create, the patch (a list if `patch_type` is "json"), or the options of a deletion. `key`: a
    later write with the same key replaces an earlier one that has not been sent; "": every write is
    sent. `about`: context that the controller gets back with the outcome. If it has `pods`, these
    pods wait for the write: name ("namespace/name") and UID of each.
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
    """The body of a deletion that deletes only the object with this UID."""
    preconditions = {"uid": uid}
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions, **more}


@dataclass(frozen=True, slots=True)
class Read:
    """A read of the current object; without a name, of all objects of a namespace with the labels
    of `selector`. `about`: context that the controller gets back with the answer."""

    kind: str
    namespace: str
    name: str = ""
    selector: str = ""
    about: Any = None


class Result(Enum):
    """The outcome of a write, by the controller's next step."""

    DONE = "done"
    GONE = "gone"  # 404: the object does not exist
    CONFLICT = "conflict"  # 409: it exists already, or it has changed
    REFUSED = "refused"  # the server rejects it, now and later
    # Not applied; a later try may succeed: 429 and 5xx after several tries, a missing right, or an
    # admission rule.
    FAILED = "failed"
    LOST = "lost"  # no answer: it may have been applied
    REPLACED = "replaced"  # not sent: a later write with the same key replaced it
    TAKEN_BACK = "taken back"  # not applied, and will not be retried


NOT_LEADING = "NotLeading"
"""The reason of an outcome: nothing was sent, because another process may be the leader now."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to a write: the HTTP status (0: no answer), the server's reason and message.

    `refusal`: the admission rule that refused the write.
    """

    result: Result
    status: int = 0
    reason: str = ""
    message: str = ""
    body: bytes = b""
    refusal: Refusal | None = None
