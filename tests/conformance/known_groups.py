"""The comparison of pod groups with KAI's, and the deliberate differences (decision 22)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kai.api import keys


@dataclass(frozen=True)
class Known:
    """Fields of groups and pods that differ, by the end of their names, and the cause."""

    why: str
    members: tuple[str, ...]


KNOWN = {
    "53-deployment": Known(
        "annotations in which controllers count do not cause a write of the pod group",
        ("annotations.deployment.kubernetes.io/revision",),
    ),
    "70-rayjob": Known(
        "the submitter has a group of its own and runs (spec 6 S13)",
        ("pg-rj-<uid:Job/rj>: *", "rj-<r1>: pod-group-name"),
    ),
    "73-sparkapplication": Known(
        "what the scheduler writes on a pod is not copied to its group (spec 6 S20)",
        ("spark-sub: annotations.pod-group-name", "spark-sub: annotations.received-resource-type"),
    ),
    "74-knative": Known("Knative comes with the next part", ("*",)),
    "85-label-changes": Known(
        "the queue follows the label of the owner (spec 6 S12)",
        ("pg-wi-<uid:Widget/wi>: labels.kai.scheduler/queue", "pg-wi-<uid:Widget/wi>: spec.queue"),
    ),
    "87-leaderworkerset-late-workers": Known(
        "workers are wanted when there are some, so the leader is not stale (spec 6 S15)",
        ("-group-0: spec.minMember", "-group-0: spec.subGroups"),
    ),
}
"""All differences from KAI; any other fails the test."""

WRITTEN_BY_THE_SCHEDULER = frozenset(
    (keys.LAST_START_ANNOTATION, keys.STALE_ANNOTATION, keys.LAST_EVICTION_ANNOTATION)
)


def is_owned(group: Mapping[str, Any]) -> bool:
    return "ownerReferences" in group["metadata"]


def members_of(group: Mapping[str, Any] | None) -> dict[str, Any]:
    if group is None:
        return {}
    metadata = group["metadata"]
    members = {
        f"spec.{key}": value for key, value in group["spec"].items() if value not in ({}, None)
    }
    members["owners"] = metadata.get("ownerReferences")
    for kind in ("labels", "annotations"):
        for key, text in metadata.get(kind, {}).items():
            if key not in WRITTEN_BY_THE_SCHEDULER:
                members[f"{kind}.{key}"] = text
    return members


def matches(member: str, pattern: str) -> bool:
    if pattern.endswith("*"):
        return member.startswith(pattern[:-1])
    return member.endswith(pattern)
