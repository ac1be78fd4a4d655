"""The facts for a comparison: from each version of pods, BindRequests and pod groups in a watch.

pod = PodSeen.of(manifest, scheduler_name="kai-scheduler")
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kai.api import keys
from kai.api.reading import annotations_of, at, labels_of, mapping, objects, text
from kai.controllers.pods.bind_requests import Request

PREEMPTED = ("DisruptionTarget", "PreemptionByScheduler")
"""Type and reason of the condition that kube-scheduler sets on its victims."""
_SHAPE = ("nodeSelector", "affinity", "tolerations", "resourceClaims", "runtimeClassName")


@dataclass(frozen=True, slots=True)
class PodSeen:
    """`name` and `group` are "namespace/name". `gpu_groups`: the shared devices it uses.
    `is_victim`: its scheduler has marked the pod as a victim. `shape`: equal for pods with the same
    requests."""

    name: str
    uid: str
    node: str
    group: str
    gpu_groups: frozenset[str]
    is_leaving: bool
    is_over: bool
    is_victim: bool
    shape: str
    pool: str = ""

    @classmethod
    def of(
        cls,
        manifest: Mapping[str, Any],
        scheduler_name: str,
        pool_key: str = keys.NODE_POOL_LABEL,
    ) -> PodSeen | None:
        """None: the pod belongs to another scheduler."""
        spec, metadata = mapping(manifest.get("spec")), mapping(manifest.get("metadata"))
        if spec.get("schedulerName") != scheduler_name:
            return None
        namespace, group = text(metadata.get("namespace")), annotations_of(manifest)
        named = text(group.get(keys.POD_GROUP_ANNOTATION))
        return cls(
            f"{namespace}/{text(metadata.get('name'))}",
            text(metadata.get("uid")),
            text(spec.get("nodeName")),
            f"{namespace}/{named}" if named else "",
            gpu_groups_of(labels_of(manifest)),
            "deletionTimestamp" in metadata,
            at(manifest, "status", "phase") in ("Succeeded", "Failed"),
            any(
                (each.get("type"), each.get("reason")) == PREEMPTED
                for each in objects(at(manifest, "status", "conditions"))
            ),
            _shape(manifest),
            text(labels_of(manifest).get(pool_key)),
        )


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """A BindRequest. `pod`: "namespace/name"; `owner`: the pod's UID, or ""."""

    uid: str
    pod: str
    owner: str
    node: str
    gpu_groups: frozenset[str]
    has_failed: bool

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> RequestSeen:
        request = Request.of(manifest)
        groups = at(manifest, "spec", "selectedGPUGroups")
        named = frozenset(map(str, groups)) if isinstance(groups, list) else frozenset[str]()
        # A pod on whole devices has no GPU groups.
        return cls(
            request.uid, request.pod, request.owner, request.node, named, request.phase == "Failed"
        )


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """A pod group, by "namespace/name". `evicted`: the time of its last eviction, as text. `pool`:
    its node pool."""

    name: str
    evicted: str
    pool: str = ""

    @classmethod
    def of(cls, manifest: Mapping[str, Any], pool_key: str = keys.NODE_POOL_LABEL) -> GroupSeen:
        metadata = mapping(manifest.get("metadata"))
        evicted = annotations_of(manifest).get(keys.LAST_EVICTION_ANNOTATION)
        name = f"{text(metadata.get('namespace'))}/{metadata.get('name')}"
        return cls(name, text(evicted), text(labels_of(manifest).get(pool_key)))


def gpu_groups_of(labels: Mapping[str, Any]) -> frozenset[str]:
    found = {
        key.removeprefix(keys.GPU_GROUP_LABEL_PREFIX)
        for key in labels
        if key.startswith(keys.GPU_GROUP_LABEL_PREFIX)
    }
    if not found and (only := text(labels.get(keys.GPU_GROUP_LABEL))):
        found = {only}
    return frozenset(found)


def _shape(manifest: Mapping[str, Any]) -> str:
    spec = mapping(manifest.get("spec"))
    requests = [
        each.get("resources")
        for part in ("containers", "initContainers")
        for each in objects(spec.get(part))
    ]
    shared = {
        key: annotations_of(manifest).get(key)
        for key in (
            keys.GPU_FRACTION_ANNOTATION,
            keys.GPU_MEMORY_ANNOTATION,
            keys.GPU_DEVICES_ANNOTATION,
        )
    }
    part = labels_of(manifest).get(keys.SUBGROUP_LABEL)
    others = {key: spec.get(key) for key in _SHAPE}
    return json.dumps([requests, shared, part, others], sort_keys=True, default=str)
