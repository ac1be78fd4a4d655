"""Reads objects of unknown shape: missing values and values of the wrong type give None.

>>> pod = {"metadata": {"name": "p", "labels": ["not", "a", "mapping"]}}
>>> at(pod, "metadata", "name"), at(pod, "spec", "nodeName"), labels_of(pod)
('p', None, {})
"""

import re
from collections.abc import Mapping
from typing import Any


def at(value: Any, *path: str) -> Any:
    """The value at this path, or None."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def first_text(*values: Any) -> str:
    """The first value that is a non-empty text, otherwise ""."""
    return next((value for value in values if isinstance(value, str) and value), "")


def labels_of(manifest: Any) -> Mapping[str, Any]:
    return mapping(at(manifest, "metadata", "labels"))


def annotations_of(manifest: Any) -> Mapping[str, Any]:
    return mapping(at(manifest, "metadata", "annotations"))


def controller_of(pod: Any) -> Mapping[str, Any] | None:
    """The reference to the owner that controls the pod; None: it is bare."""
    for reference in objects(at(pod, "metadata", "ownerReferences")):
        if reference.get("controller") is True:
            return reference
    return None


def node_of(pod: Any) -> str:
    """The node that a pod is on; "" if it waits or has ended."""
    has_ended = at(pod, "status", "phase") in ("Succeeded", "Failed")
    return "" if has_ended else text(at(pod, "spec", "nodeName"))


def whole_number(value: object) -> int | None:
    """The value of a label or an annotation as a whole number; None for other texts."""
    # int() alone would accept 1_000 and digits of any script; 18 digits fit into 64 bits.
    return int(str(value)) if re.fullmatch(r"[+-]?[0-9]{1,18}", str(value)) else None
