"""A BindRequest as a watch showed it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kai.api import keys
from kai.api.writes import Lane, Write, delete_options
from kai.controllers.pods.decisions import needs_of

SUCCEEDED, FAILED = "Succeeded", "Failed"
_COPIED = (keys.TOPOLOGY_RANK_ANNOTATION, keys.TOPOLOGY_DOMAIN_ANNOTATION)


@dataclass(frozen=True, slots=True)
class Request:
    """The part of a BindRequest that decisions need.

    `name` and `pod` are "namespace/name"; `owner` is the UID of its pod, "" if it names none.
    `pool`: the node pool of the scheduler that created it. `limit`: the number of failures after
    which it has failed for good; None: one. `annotations`: annotations that the pod gets. `spec`:
    unchanged, if the pod needs more than the binding itself.
    """

    name: str
    uid: str
    version: str
    pod: str
    owner: str
    node: str
    pool: str = ""
    phase: str = ""
    reason: str = ""
    attempts: int = 0
    limit: int | None = None
    is_leaving: bool = False
    annotations: Mapping[str, str] | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_failed(self) -> bool:
        """Whether it has failed for good (spec 5 A24)."""
        return self.phase == FAILED and (self.limit is None or self.attempts >= self.limit)

    @property
    def is_over(self) -> bool:
        return self.phase == SUCCEEDED or self.has_failed

    @classmethod
    def of(cls, manifest: Mapping[str, Any], pool_key: str = keys.NODE_POOL_LABEL) -> Request:
        """Missing fields are empty. Raises KeyError for an object without a name."""
        metadata, spec = manifest["metadata"], manifest.get("spec") or {}
        status = manifest.get("status") or {}
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        pod = spec.get("podName") or name
        return cls(
            f"{namespace}/{name}",
            metadata.get("uid", ""),
            metadata.get("resourceVersion", ""),
            f"{namespace}/{pod}",
            _owner(metadata.get("ownerReferences") or (), pod),
            spec.get("selectedNode", ""),
            (metadata.get("labels") or {}).get(pool_key, ""),
            status.get("phase", ""),
            status.get("reason", ""),
            int(status.get("failedAttempts") or 0),
            spec.get("backoffLimit"),
            "deletionTimestamp" in metadata,
            pod_annotations(metadata, spec) or None,
            spec if needs_of(spec) else {},
        )


class Target(NamedTuple):
    """The store's facts about a BindRequest. `uid`: of the pod, "": it does not exist; `node`: the
    pod's node. `has_node`: the selected node exists. `waits_for_volumes`: not all volumes of the
    pod exist."""

    uid: str = ""
    node: str = ""
    has_node: bool = False
    waits_for_volumes: bool = False


def deletion(request: Request) -> Write:
    """Deletes it, and no other one of its name."""
    namespace, _, name = request.name.partition("/")
    options = delete_options(request.uid)
    return Write(Lane.BINDING, "delete", "BindRequest", namespace, name, options)


def _owner(references: Any, pod: str) -> str:
    for each in references:
        if each.get("kind") == "Pod" and each.get("name") == pod:
            return str(each.get("uid", ""))
    return ""


def pod_annotations(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, str]:
    """The annotations for the pod of a BindRequest (spec 6 C49)."""
    given = metadata.get("annotations") or {}
    found = {key: given[key] for key in _COPIED if key in given}
    if received := spec.get("receivedResourceType"):
        found[keys.RECEIVED_TYPE_ANNOTATION] = received
    if zones := spec.get("predictedNUMAZones"):
        found[keys.NUMA_PREDICTED_ANNOTATION] = json.dumps(zones, separators=(",", ":"))
    return found
