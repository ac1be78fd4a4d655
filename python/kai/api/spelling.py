"""Converts field names of Kubernetes objects to Python's spelling and back: node_selector,
nodeSelector.

Some orchestrators write these fields in a Python dictionary (spec 7 B3). Keys that a user chose,
such as label keys, do not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

# The keys below these fields are chosen by a user: they are not field names.
_FREE = frozenset(
    {"labels", "annotations", "nodeSelector", "matchLabels", "limits", "requests", "data"}
)
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z]+)")
_UNDERSCORE = re.compile(r"_([a-z0-9])")


def snake(value: Any) -> Any:
    """The value with its field names in snake_case."""
    return _spelled(value, snake_name)


def camel(value: Any) -> Any:
    """The value with its field names in camelCase, as the API server requires."""
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
