"""Settings as YAML for display; needs only the standard library.

>>> settings = {"annotations": {"gpu-fraction": "0.5"}, "tolerations": [{"key": "gpu"}]}
>>> print(*lines(settings), sep="\\n")
annotations:
  gpu-fraction: "0.5"
tolerations:
- key: gpu
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# Strings that YAML reads as strings without quotes, except words such as "yes" and "null".
_PLAIN = re.compile(r"[A-Za-z_/][\w./-]*(?:[ :][\w./-]+)*")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"))


def lines(value: Any) -> Iterator[str]:
    """The lines of a mapping, a list or a single value."""
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _entry(_scalar(str(key)) + ":", each)
    elif isinstance(value, (list, tuple)) and value:
        for each in value:
            first, *rest = lines(each)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield _scalar(value)


def _entry(head: str, value: Any) -> Iterator[str]:
    if not value or not isinstance(value, (Mapping, list, tuple)):
        yield f"{head} {_scalar(value)}"
        return
    yield head
    step = "  " if isinstance(value, Mapping) else ""
    yield from (f"{step}{line}" for line in lines(value))


def _scalar(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
