"""The difference between a pod group as it should be and as it is (spec 6 C31).

An existing group keeps the fields that others set: markUnschedulable, schedulingBackoff, its queue
and its node pool. Its queue label records the owner's label from which the queue was read. If the
owner's label has changed since, the owner was moved, and its group follows. A queue that a person
wrote into the group itself is kept (decision 22).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kai.api import keys
from kai.api.reading import annotations_of, at, labels_of, mapping
from kai.grouping import Rules

_OURS = (
    "minMember",
    "minSubGroup",
    "priorityClassName",
    "preemptibility",
    "preemptionDelay",
    "stalenessGracePeriod",
    "subGroups",
)
"""Fields of the spec that follow from the owner and its pods."""


def patch_of(
    wanted: Mapping[str, Any],
    existing: Mapping[str, Any],
    rules: Rules,
    *,
    gone_labels: Iterable[str] = (),
    gone_annotations: Iterable[str] = (),
) -> dict[str, Any]:
    """The merge patch from the existing to the wanted group; {} if they agree.

    gone_labels, gone_annotations: keys that the owner had before and does not have any more.
    """
    spec = _spec(wanted["spec"], mapping(existing.get("spec")))
    has, wants = labels_of(existing), labels_of(wanted)
    kept = (rules.queue_label, rules.node_pool_label)
    labels: dict[str, Any] = {
        key: value for key, value in wants.items() if key not in kept and has.get(key) != value
    }
    queue = wants.get(rules.queue_label)
    if queue and queue != has.get(rules.queue_label):
        labels[rules.queue_label] = queue
        if at(existing, "spec", "queue") != queue:
            spec["queue"] = queue
    labels |= {key: None for key in gone_labels if key in has and key not in (*kept, *wants)}
    has, wants = annotations_of(existing), annotations_of(wanted)
    annotations = {key: value for key, value in wants.items() if has.get(key) != value}
    annotations |= {key: None for key in gone_annotations if key in has and key not in wants}
    metadata: dict[str, Any] = {}
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    references = wanted["metadata"].get("ownerReferences", [])
    if references != [_as_ours(each) for each in at(existing, "metadata", "ownerReferences") or ()]:
        metadata["ownerReferences"] = references
    patch = {name: part for name, part in (("metadata", metadata), ("spec", spec)) if part}
    return {} if _is_bookkeeping(patch) else patch


def _is_bookkeeping(patch: Mapping[str, Any]) -> bool:
    """Whether only annotations change that KAI does not read; controllers update counters there all
    the time."""
    annotations = at(patch, "metadata", "annotations")
    return (
        annotations is not None
        and patch.keys() == {"metadata"}
        and patch["metadata"].keys() == {"annotations"}
        and not any(keys.KAI_GROUP in key for key in annotations)
    )


def patched(existing: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The object after a merge patch."""
    result = dict(existing)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = patched(mapping(result.get(key)), value)
        else:
            result[key] = value
    return result


def _spec(wanted: Mapping[str, Any], existing: Mapping[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {
        member: wanted.get(member)
        for member in _OURS
        if not _same(wanted.get(member), existing.get(member))
    }
    constraint = wanted.get("topologyConstraint")
    before = mapping(existing.get("topologyConstraint"))
    if constraint and constraint != before:
        patch["topologyConstraint"] = {**dict.fromkeys(before), **constraint}
    return patch


def _same(one: Any, other: Any) -> bool:
    return one == other or all(each in (None, "", []) for each in (one, other))


def _as_ours(reference: Mapping[str, Any]) -> dict[str, Any]:
    return {key: reference.get(key) for key in ("apiVersion", "kind", "name", "uid")}
