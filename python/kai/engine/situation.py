"""The facts behind a plan that its explanation needs: which pods ask for what, and what there is.

They come from the compiled plan, and only when a person asks: a plan that is turned into JSON
never pays for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kai import _core

_NONE = Fraction(0)


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What one pod asks for, and where it is. GPUs are devices, or parts of them."""

    name: str
    group: str | None
    gpus: Fraction
    node: str | None
    state: str  # waits, holds, leaves, ended
    devices: int = 0  # that it shares, and of each:
    gpu_fraction: Fraction = _NONE
    gpu_memory_mib: int = 0

    @property
    def waits(self) -> bool:
        return self.state == "waits"


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A pod group with its pods; `min_member` of them have to start together."""

    name: str
    queue: str
    min_member: int
    owner: str | None  # name of its workload
    pods: tuple[PodFacts, ...]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a node could hold at most."""

    name: str
    gpus: Fraction


class Situation:
    """Facts about the cluster of a compiled plan; None has none."""

    def __init__(self, compiled: _core.Plan | None) -> None:
        self._compiled = compiled

    @cached_property
    def _lists(self) -> dict[str, list[Any]]:
        return self._compiled.situation() if self._compiled else {}

    @cached_property
    def pods(self) -> tuple[PodFacts, ...]:
        return tuple(_pod_facts(*row) for row in self._lists.get("pods", ()))

    @cached_property
    def groups(self) -> dict[str, GroupFacts]:
        """By "namespace/name"."""
        pods: dict[str | None, list[PodFacts]] = defaultdict(list)
        for pod in self.pods:
            pods[pod.group].append(pod)
        return {
            name: GroupFacts(
                name, queue, least, owner, tuple(sorted(pods[name], key=lambda pod: pod.name))
            )
            for name, queue, least, owner in self._lists.get("pod_groups", ())
        }

    @cached_property
    def group_of_pod(self) -> dict[str, str]:
        return {row[0]: row[1] for row in self._lists.get("pods", ()) if row[1] is not None}

    @cached_property
    def groups_of_owners(self) -> list[tuple[str, str]]:
        """ "namespace/name" of a workload and of a group that was made for it."""
        return [
            (f"{name.rpartition('/')[0]}/{group.owner}", name)
            for name, group in self.groups.items()
            if group.owner
        ]

    @cached_property
    def nodes(self) -> tuple[NodeFacts, ...]:
        return tuple(NodeFacts(name, _exact(gpus)) for name, gpus in self._lists.get("nodes", ()))

    def free_gpus(self, decisions: Iterable[Any]) -> dict[str, Fraction]:
        """By node, what is free once these decisions are carried out.

        Evicted pods hold theirs until they are gone; a place that is promised is counted as free.
        """
        free = {node.name: node.gpus for node in self.nodes}
        for pod in self.pods:
            if pod.node in free and pod.state in ("holds", "leaves"):
                free[pod.node] -= pod.gpus
        for decision in decisions:
            if decision.kind == "bind" and decision.node in free:
                free[decision.node] -= Fraction(decision.gpus)
        return free

    def path_to_root(self, queue: str) -> list[str]:
        """The queue and those above it, its own first."""
        path: list[str] = []
        name: str | None = queue
        while name is not None and name not in path:
            path.append(name)
            name = self.queue_parents.get(name)
        return path

    @cached_property
    def queue_parents(self) -> dict[str, str | None]:
        return dict(self._lists.get("queues", ()))


def _pod_facts(
    name: str,
    group: str | None,
    node: str | None,
    state: str,
    gpus: float,
    devices: int,
    fraction: float,
    memory_mib: int,
) -> PodFacts:
    part = _exact(fraction)
    total = _exact(gpus) + part * devices
    return PodFacts(name, group, total, node, state, devices, part, memory_mib)


def _exact(amount: float) -> Fraction:
    """As people write it: 0.3 is 3/10."""
    return Fraction(str(amount))
