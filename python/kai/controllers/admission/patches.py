"""The difference between two versions of an object, as a JSON patch (RFC 6902).

>>> json_patch({"a": {"x/y": 1}}, {"a": {"x/y": 2}, "b": [1]})
[{'op': 'replace', 'path': '/a/x~1y', 'value': 2}, {'op': 'add', 'path': '/b', 'value': [1]}]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def json_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Operations that turn `before` into `after`, in the order of the paths.

    Lists of equal length are compared item by item; other lists are replaced.
    """
    return list(_changes(before, after, ""))


def _changes(before: Any, after: Any, path: str) -> Iterator[dict[str, Any]]:
    if before is after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            inner = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            if key not in after:
                yield {"op": "remove", "path": inner}
            elif key not in before:
                yield {"op": "add", "path": inner, "value": after[key]}
            else:
                yield from _changes(before[key], after[key], inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _changes(old, new, f"{path}/{index}")
    elif before != after:
        yield {"op": "replace", "path": path, "value": after}
