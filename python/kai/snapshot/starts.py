"""The start of pod groups without a recorded one: minimum run times count from it.

A scheduler records in an annotation of a pod group when it bound its first pod. A group that kai
creates for pods of a file, or one written by hand, has no such annotation; its pods may have times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kai.api import keys, kinds, times
from kai.api.reading import annotations_of, at, objects, text
from kai.errors import InvalidInputError

Manifest = Mapping[str, Any]


def with_starts(groups: Iterable[Manifest], pods: Iterable[Manifest]) -> list[Manifest]:
    """The pod groups; those without a start get that of their first pod that still runs."""
    first: dict[str, int] = {}
    for pod in pods:
        start = _start_of(pod)
        if start is not None:
            namespace = text(at(pod, "metadata", "namespace"))
            group = f"{namespace}/{annotations_of(pod).get(keys.POD_GROUP_ANNOTATION)}"
            first[group] = min(start, first.get(group, start))
    return [_with_start(group, first.get(kinds.full_name(group))) for group in groups]


def _start_of(pod: Manifest) -> int | None:
    """When a pod that has not ended got its node, in ns; None: it has none, or no time."""
    if not at(pod, "spec", "nodeName") or at(pod, "status", "phase") in ("Succeeded", "Failed"):
        return None
    scheduled = (
        each.get("lastTransitionTime")
        for each in objects(at(pod, "status", "conditions"))
        if each.get("type") == "PodScheduled" and each.get("status") == "True"
    )
    for time in (at(pod, "status", "startTime"), *scheduled):
        if isinstance(time, str):
            try:
                return times.to_ns(time)
            except InvalidInputError:
                continue
    return None


def _with_start(group: Manifest, start_ns: int | None) -> Manifest:
    annotations = annotations_of(group)
    if start_ns is None or keys.LAST_START_ANNOTATION in annotations:
        return group
    # KAI writes whole seconds.
    start = times.to_text(start_ns // times.SECOND_NS * times.SECOND_NS)
    metadata = {
        **group["metadata"],
        "annotations": {**annotations, keys.LAST_START_ANNOTATION: start},
    }
    return {**group, "metadata": metadata}
