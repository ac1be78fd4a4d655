"""Finds the lines of values in a YAML or JSON text.

The values come from `kai.api.documents` or from another loader. Their lines come from PyYAML's
nodes, which are built only when a message needs a line. JSON is read as YAML.

>>> line_of(nodes_of("a: 1\\nb:\\n- c\\n- d: 2\\n"), 0, ("b", 1, "d"))
4
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Path = Sequence[str | int]


def nodes_of(text: str) -> list[Any]:
    """The root node of each document; [] if PyYAML cannot read the text."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return list(yaml.compose_all(text, Loader=loader))
    except (yaml.YAMLError, RecursionError):
        return []


def walk(node: Any, path: Path) -> Iterator[tuple[Any, Any]]:
    """Key and value of each step along the path, as far as it exists; the key of a list item is
    None."""
    for step in path:
        if node is None or node.id == "scalar":
            return
        if node.id == "sequence":
            index = int(step) if str(step).isdigit() else len(node.value)
            if index >= len(node.value):
                return
            key, node = None, node.value[index]
        else:
            pair = next((pair for pair in node.value if _is(pair[0], str(step))), None)
            if pair is None:
                return
            key, node = pair
        yield key, node


def line_of(nodes: Sequence[Any], document: int, path: Path) -> int | None:
    """Line, counted from 1, of the deepest step that exists; None if there is no such document."""
    if document >= len(nodes) or nodes[document] is None:
        return None
    line: int = nodes[document].start_mark.line + 1
    for key, value in walk(nodes[document], path):
        line = (key if key is not None else value).start_mark.line + 1
    return line


def _is(key: Any, name: str) -> bool:
    return bool(key.id == "scalar" and key.value == name)
