"""The nodes of a plan: their free resources after its decisions are carried out."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kai.api.arguments import all_in_sentences
from kai.engine import text
from kai.engine.frozen import Frozen
from kai.engine.values import ByName, plain
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai import _core

_MOST_SHOWN = 30


@dataclass(frozen=True, slots=True)
class NodePlan:
    """The free resources of a node after the decisions of a plan.

    `gpus` are its whole devices, `free_gpus` those not used or promised. `free_parts` are the free
    fractions of each shared GPU: (0.5, 0.25). `leaving_gpus` become free when evicted and deleted
    pods are gone, and are promised to no pod. `cpus` and `free_cpus` are in cores, `memory` and
    `free_memory` in bytes. `state` is why the node accepts no pods: "cordoned", "not ready", "under
    pressure"; "" if it accepts pods. No number includes MIG instances.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=4).pending("a/x", gpu_fraction=0.5)
    >>> node = kai.Scheduler().plan(cluster).nodes["n1"]
    >>> node.gpus, node.free_gpus, node.free_parts, node.is_whole
    (4, 3, (0.5,), False)
    """

    name: str
    gpus: float
    free_gpus: float
    leaving_gpus: float
    free_parts: tuple[float, ...]
    cpus: float
    free_cpus: float
    memory: float
    free_memory: float
    state: str

    def to_dict(self) -> dict[str, Any]:
        """The same as a dict, without the name."""
        members = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del members["name"]
        return {**members, "free_parts": list(self.free_parts)}

    @property
    def is_whole(self) -> bool:
        """Whether it has GPUs, and all of them are free."""
        return 0 < self.gpus == self.free_gpus

    def room_for(self, *, gpus: float = 0, cpus: float = 0, memory: float = 0) -> int:
        """How many pods with this request fit: devices, cores, bytes; `gpus` below 1 is a fraction.

        0 on a node that accepts no pods. Raises InvalidInputError for an amount that is negative or
        not a number.
        """
        for name, amount in (("gpus", gpus), ("cpus", cpus), ("memory", memory)):
            if not 0 <= amount < math.inf:
                raise InvalidInputError(f"room_for(): {name} is {amount}: write a number from 0")
        if self.state:
            return 0
        rooms = [
            free // requested
            for free, requested in ((self.free_cpus, cpus), (self.free_memory, memory))
            if requested
        ]
        if 0 < gpus < 1:
            parts = (*self.free_parts, *[1.0] * int(self.free_gpus))
            rooms.append(sum((part + 1e-9) // gpus for part in parts))
        elif gpus:
            rooms.append(self.free_gpus // gpus)
        return int(min(rooms, default=0))


@all_in_sentences
class Nodes(ByName[NodePlan]):
    """The nodes of a plan by name, as they are once its decisions are carried out.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=8).pending("a/x", pods=3, gpus=1)
    >>> nodes = kai.Scheduler().plan(cluster).nodes
    >>> nodes.whole, nodes.room_for(gpus=4)
    (('n2',), 3)
    """

    _noun = "node"

    @property
    def whole(self) -> tuple[str, ...]:
        """Nodes with GPUs whose GPUs are all free, by name."""
        return tuple(name for name, node in self.items() if node.is_whole)

    @property
    def free_gpus(self) -> Frozen[str, float]:
        """Free GPUs by node: whole GPUs, and free fractions of shared ones."""
        return Frozen(
            {name: plain(node.free_gpus + sum(node.free_parts)) for name, node in self.items()}
        )

    def room_for(self, *, gpus: float = 0, cpus: float = 0, memory: float = 0) -> int:
        """How many pods with this request fit on all nodes: devices, cores, bytes.

        Ignores labels, taints and the limit of pods per node; a node that accepts no pods counts as
        full. Raises InvalidInputError for an amount that is negative or not a number.
        """
        return sum(node.room_for(gpus=gpus, cpus=cpus, memory=memory) for node in self.values())

    def __repr__(self) -> str:
        return text.to_text("", [self._table()]) or "no nodes"

    def _repr_html_(self) -> str:
        return text.to_html("", [self._table()])

    def _table(self) -> text.Table:
        rows = [
            (
                node.name,
                text.number(node.gpus),
                text.number(node.free_gpus),
                " ".join(text.number(part) for part in node.free_parts),
                text.number(node.leaving_gpus),
                text.number(node.free_cpus),
                text.size(node.free_memory),
                node.state,
            )
            for node in [*self.values()][:_MOST_SHOWN]
        ]
        hidden = len(self) - len(rows)
        return text.Table(
            "Nodes, after the cycle",
            ("node", "GPUs", "free", "free parts", "leaving", "CPUs free", "memory free", ""),
            rows,
            right=frozenset((1, 2, 4, 5, 6)),
            note=f"and {text.count(hidden, 'more node')}" if hidden else "",
        )


def nodes_of(rows: list[_core._NodeRoom]) -> Nodes:
    made = {}
    for name, gpus, free_gpus, leaving, parts, cpus, free_cpus, memory, free_memory, state in rows:
        made[name] = NodePlan(
            name=name,
            gpus=plain(gpus),
            free_gpus=plain(free_gpus),
            leaving_gpus=plain(leaving),
            free_parts=tuple(plain(part) for part in parts),
            cpus=plain(cpus),
            free_cpus=plain(free_cpus),
            memory=plain(memory),
            free_memory=plain(free_memory),
            state=state,
        )
    return Nodes(made)
