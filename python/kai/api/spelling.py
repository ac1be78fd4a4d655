"""The fields of Kubernetes objects as Python spells them, and back: node_selector, nodeSelector.

For orchestrators that write them in a Python dictionary (spec 7 B3). Keys that a user chose,
such as those of labels, stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

# What is below these is not a field but a key that a user chose.
_FREE = frozenset(
    {"labels", "annotations", "nodeSelector", "matchLabels", "limits", "requests", "data"}
)
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z]+)")
_UNDERSCORE = re.compile(r"_([a-z0-9])")


def snake(value: Any) -> Any:
    """With the fields in snake_case."""
    return _spelled(value, snake_name)


def camel(value: Any) -> Any:
    """With the fields in camelCase, as the API server takes them."""
    return _spelled(value, camel_name)


def _spelled(value: Any, spelling: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {
            spelling(key): dict(each)
            if camel_name(key) in _FREE and isinstance(each, Mapping)
            else _spelled(each, spelling)
            for key, each in ((str(key), each) for key, each in value.items())
        }
    if isinstance(value, (list, tuple)):
        return [_spelled(each, spelling) for each in value]
    return value


def snake_name(name: str) -> str:
    return _CAPITAL.sub(lambda match: f"_{match[1].lower()}", name)


def camel_name(name: str) -> str:
    return _UNDERSCORE.sub(lambda match: match[1].upper(), name)
