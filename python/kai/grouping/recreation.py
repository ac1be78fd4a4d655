"""Whether a pod that is deleted is created again.

    is_created_again(pod, job)     # job: the manifest of its controller, or None if it is unknown

A pod is created again if an owner controls it. The one exception is a Job that counts the deletion
as its last failure: ``backoffLimit: 0``, or ``backoffLimitPerIndex: 0`` for an indexed Job. An
unknown owner counts as one that creates its pods again. Other pods are *bare*: consolidation does
not evict them in order to move them (switch ``bare_pods``).

A snapshot contains no Jobs. So the exception is written on the pod, as the annotation
``kai.scheduler/movable: "false"``. A person may set it as well, with either value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import keys, kinds
from kai.api.reading import annotations_of, at, controller_of, text

__all__ = ["FIXED", "controller_of", "is_created_again", "says_if_movable"]

Manifest = Mapping[str, Any]

FIXED = {keys.MOVABLE_ANNOTATION: "false"}
"""The annotation of a pod that is not created again although a controller owns it."""


def says_if_movable(pod: Manifest) -> bool:
    """Whether the pod has the annotation; another value than true or false counts as absent."""
    return annotations_of(pod).get(keys.MOVABLE_ANNOTATION) in ("true", "false")


def is_created_again(pod: Manifest, controller: Manifest | None) -> bool:
    reference = controller_of(pod)
    if reference is None:
        return False
    group = kinds.group_of(text(reference.get("apiVersion")))
    is_job = reference.get("kind") == "Job" and group in ("batch", "")  # "": written by hand
    if not is_job or controller is None:
        return True
    limits = (at(controller, "spec", each) for each in ("backoffLimit", "backoffLimitPerIndex"))
    return not any(limit == 0 and limit is not False for limit in limits)
