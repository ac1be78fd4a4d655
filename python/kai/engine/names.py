"""Shortens long names for a terminal, and keeps them distinct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest


def shortened(limits: Mapping[str, int]) -> dict[str, str]:
    """Names without their middle, or without their common part; all results are distinct.

    Each has its own limit. A name stays whole if it could not be distinguished otherwise.

    >>> shortened({"a-long-name-of-a-pool-1": 13, "a-long-name-of-a-pool-2": 13})
    {'a-long-name-of-a-pool-1': 'a-lon...ool-1', 'a-long-name-of-a-pool-2': 'a-lon...ool-2'}
    >>> runs = ("team/run-2026-07-of-a-sweep", "team/run-2026-08-of-a-sweep")
    >>> [*shortened(dict.fromkeys(runs, 18)).values()]
    ['team...26-07-of...', 'team...26-08-of...']
    """
    labels = {name: clip(name, limit) for name, limit in limits.items()}
    for cut in (_around_difference, _mostly_tail, _mostly_head, _whole):
        alike: dict[str, list[str]] = {}
        for name, label in labels.items():
            alike.setdefault(label, []).append(name)
        groups = [names for names in alike.values() if len(names) > 1]
        if not groups:
            break
        for names in groups:
            differs = _first_difference(names)
            cuttable = [name for name in names if len(name) > limits[name]]
            labels |= {name: cut(name, limits[name], differs) for name in cuttable}
    return labels


def clip(name: str, limit: int) -> str:
    """Cuts out the middle: names in one cluster often share their start."""
    if len(name) <= limit:
        return name
    tail = (limit - 3) // 2
    return f"{name[: limit - 3 - tail]}...{name[-tail:]}"


def _first_difference(names: Sequence[str]) -> int:
    """The length of the common prefix."""
    first, last = min(names), max(names)
    return next(at for at, (a, b) in enumerate(zip_longest(first, last)) if a != b)


def _around_difference(name: str, limit: int, differs: int) -> str:
    head = limit // 4
    start = max(head, differs - 4)
    room = limit - head - 3
    if start + room >= len(name):
        return f"{name[:head]}...{name[-room:]}"
    return f"{name[:head]}...{name[start : start + room - 3]}..."


def _mostly_tail(name: str, limit: int, differs: int) -> str:
    head = limit // 6
    return f"{name[:head]}...{name[head + 3 - limit :]}"


def _mostly_head(name: str, limit: int, differs: int) -> str:
    tail = limit // 6
    return f"{name[: limit - 3 - tail]}...{name[-tail:]}"


def _whole(name: str, limit: int, differs: int) -> str:
    return name
