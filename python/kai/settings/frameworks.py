"""What keeps a framework inside the pod's share of GPU memory: variables, volumes, nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.settings.request import PodRequest


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    env: Mapping[str, str] = field(default_factory=dict)
    volumes: Sequence[Mapping[str, Any]] = ()
    volume_mounts: Sequence[Mapping[str, Any]] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def settings_for(request: PodRequest) -> MemorySettings:
    """Of the request's frameworks and isolation (spec 7 §24)."""
    return MemorySettings()
