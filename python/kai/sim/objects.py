"""The names of objects in a cluster state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["key_of", "namespace_of"]


def namespace_of(thing: Mapping[str, Any]) -> str:
    return thing["metadata"].get("namespace") or "default"


def key_of(thing: Mapping[str, Any]) -> str:
    """ "namespace/name"."""
    return f"{namespace_of(thing)}/{thing['metadata']['name']}"
