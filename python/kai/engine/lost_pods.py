"""Pods of an input that run on nodes which the input lacks: a plan does not count what they hold.

found = LostPods.among(pods, nodes)          # both by name
found.warnings(still_there)                  # one sentence, or none
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from kai.api.nearest import did_you_mean
from kai.api.reading import node_of
from kai.engine.text import count, listing

Manifest = Mapping[str, Any]


class LostPods:
    """The names of such pods, by node."""

    def __init__(self, by_node: Mapping[str, list[str]] | None = None) -> None:
        self._by_node = by_node or {}
        self._hints: dict[str, str] = {}

    @classmethod
    def among(cls, pods: Mapping[str, Manifest], nodes: Collection[str]) -> LostPods:
        """The pods on other nodes. Without nodes, an input only has workloads: none is lost."""
        by_node: dict[str, list[str]] = {}
        for name, pod in pods.items() if nodes else ():
            node = node_of(pod)
            if node and node not in nodes:
                by_node.setdefault(node, []).append(name)
        return cls(by_node)

    def warnings(
        self,
        pods: Callable[[str], Manifest | None],
        nodes: Callable[[], Collection[str]],
    ) -> list[str]:
        """A sentence about the pods that are still on a missing node; `pods`: a pod by its name."""
        if not self._by_node:
            return []
        known = nodes()
        lost = {
            node: here
            for node, names in sorted(self._by_node.items())
            if node not in known
            and (here := [each for each in names if node_of(pods(each) or {}) == node])
        }
        if not lost:
            return []
        names = [name for here in lost.values() for name in here]
        are, them = ("is", "it") if len(names) == 1 else ("are", "them")
        where = "a node that is" if len(lost) == 1 else f"{count(len(lost), 'node')} that are"
        return [
            f"{count(len(names), 'pod')} ({listing(sorted(names))}) {are} on {where} not in the"
            f" input ({listing(lost)}), so plans leave {them} out{self._hint([*lost], known)}"
        ]

    def _hint(self, lost: list[str], known: Collection[str]) -> str:
        if len(lost) > 1:  # several are hardly all mistyped
            return ""
        [node] = lost
        if node not in self._hints:
            self._hints[node] = did_you_mean(node, known)
        return self._hints[node]


def node_names_in(snapshot: bytes) -> set[str]:
    """The values of all members `nodeName` in a JSON text, which is not parsed for this."""
    return {each.decode(errors="replace") for each in {*_NODE_NAME.findall(snapshot)}}


_NODE_NAME = re.compile(rb'"nodeName"\s*:\s*"([^"]*)')
