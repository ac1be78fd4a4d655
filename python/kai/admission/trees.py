"""Names with a parent each: queues, and the subgroups of a pod group.

>>> list(ancestors("a", {"a": "b", "b": "c", "c": "b"}))
['b', 'c']
>>> [is_own_ancestor(each, {"a": "b", "b": "c", "c": "b"}) for each in "ab"]
[False, True]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def ancestors(name: str, parents: Mapping[str, str | None]) -> Iterator[str]:
    """The parent, its parent and so on, each once, also where they form a cycle. A name without a
    parent has None or ""."""
    seen = set[str]()
    above = parents.get(name)
    while above and above not in seen:
        seen.add(above)
        yield above
        above = parents.get(above)


def is_own_ancestor(name: str, parents: Mapping[str, str | None]) -> bool:
    return name in ancestors(name, parents)
