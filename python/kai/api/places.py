"""The lines of a YAML or JSON text that its values are on.

Values come from `kai.api.documents` or a loader of a file's own; the places of their texts come
from PyYAML's nodes, which are made only when something has to be said. JSON is YAML here.

>>> line_of(nodes_of("a: 1\\nb:\\n- c\\n- d: 2\\n"), 0, ("b", 1, "d"))
4
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Path = Sequence[str | int]


def nodes_of(text: str) -> list[Any]:
    """The root node of each document; [] where PyYAML does not read what others do."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return list(yaml.compose_all(text, Loader=loader))
    except (yaml.YAMLError, RecursionError):
        return []


def walk(node: Any, path: Path) -> Iterator[tuple[Any, Any]]:
    """Key and value of each step on the way, as far as it goes; the key of an item is None."""
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
    """From 1 on; of the narrowest step that the text has. None: of no such document."""
    if document >= len(nodes) or nodes[document] is None:
        return None
    line: int = nodes[document].start_mark.line + 1
    for key, value in walk(nodes[document], path):
        line = (key if key is not None else value).start_mark.line + 1
    return line


def _is(key: Any, name: str) -> bool:
    return bool(key.id == "scalar" and key.value == name)
