"""The quality of service class of a pod, computed as the API server does."""

from collections.abc import Mapping
from typing import Any

from kai.api import keys
from kai.api.quantities import parse_or_zero
from kai.api.reading import at, objects


def is_guaranteed(spec: Mapping[str, Any]) -> bool:
    """Whether each container has CPU and memory limits, and its requests equal the limits."""
    containers = [*objects(spec.get("containers")), *objects(spec.get("initContainers"))]
    return bool(containers) and all(
        0
        < parse_or_zero(at(container, "resources", "limits", resource))
        == parse_or_zero(at(container, "resources", "requests", resource))
        for container in containers
        for resource in (keys.CPU, keys.MEMORY)
    )
