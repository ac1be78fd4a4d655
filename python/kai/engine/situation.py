"""The facts behind a plan that its explanation needs: who asks for what, what there is.

Read from the snapshot the plan was made from, and only when somebody asks; a plan that is turned
into JSON never pays for it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from kai.api import keys, kinds, quantities
from kai.api.reading import annotations_of, at, mapping, objects, text


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What one pod asks for, and where it is."""

    name: str
    group: str
    gpus: Fraction
    node: str | None
    phase: str
    devices: int = 0  # that it shares, and of each:
    gpu_fraction: Fraction = Fraction(0)
    gpu_memory_mib: int = 0

    @property
    def waits(self) -> bool:
        return self.phase == "Pending" and self.node is None


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A pod group with the pods that name it."""

    name: str
    queue: str
    min_member: int
    pods: tuple[PodFacts, ...]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a node could hold at most."""

    name: str
    gpus: Fraction


class Situation:
    """Facts about the objects of a snapshot; objects that make no sense are passed over."""

    def __init__(self, snapshot: bytes) -> None:
        self._snapshot = snapshot

    @cached_property
    def _lists(self) -> Mapping[str, Any]:
        if not self._snapshot:
            return {}
        tree = json.loads(self._snapshot)
        return mapping(mapping(tree).get("rawObjects"))

    def _objects(self, kind: str) -> list[Mapping[str, Any]]:
        return objects(self._lists.get(kind))

    @cached_property
    def pods(self) -> tuple[PodFacts, ...]:
        return tuple(_pod_facts(pod) for pod in self._objects("pods"))

    @cached_property
    def groups(self) -> dict[str, GroupFacts]:
        """By "namespace/name"."""
        pods: dict[str, list[PodFacts]] = defaultdict(list)
        for pod in self.pods:
            pods[pod.group].append(pod)
        found = {}
        for group in self._objects("podGroups"):
            name, least = kinds.full_name(group), at(group, "spec", "minMember")
            # Pods name their group without a namespace (spec 5 A14).
            members = sorted(pods[name.rpartition("/")[2]], key=lambda pod: pod.name)
            found[name] = GroupFacts(
                name,
                str(at(group, "spec", "queue") or ""),
                least if isinstance(least, int) else 1,
                tuple(members),
            )
        return found

    @cached_property
    def group_of_pod(self) -> dict[str, str]:
        return {pod.name: group.name for group in self.groups.values() for pod in group.pods}

    @cached_property
    def groups_of_owners(self) -> list[tuple[str, str]]:
        """ "namespace/name" of a workload and of a group that says it belongs to that workload."""
        found = []
        for group in self._objects("podGroups"):
            owner = _OWNER_NAME.search(text(annotations_of(group).get(keys.TOP_OWNER_ANNOTATION)))
            namespace, _, name = kinds.full_name(group).rpartition("/")
            if owner:
                found.append((f"{namespace}/{owner.group(1)}", f"{namespace}/{name}"))
        return found

    @cached_property
    def nodes(self) -> tuple[NodeFacts, ...]:
        found = []
        for node in self._objects("nodes"):
            held = mapping(at(node, "status", "allocatable"))
            gpus = sum(
                (quantities.parse_or_zero(held.get(name)) for name in keys.WHOLE_GPUS),
                start=Fraction(0),
            )
            name = kinds.full_name(node, cluster_scoped=True)
            found.append(NodeFacts(name, gpus))
        return tuple(found)

    def free_gpus(self, decisions: Iterable[Any]) -> list[Fraction]:
        """Per node, what is free once these decisions are carried out.

        Evicted pods hold theirs until they are gone; a place that is promised is counted as free.
        """
        free = {node.name: node.gpus for node in self.nodes}
        for pod in self.pods:
            if pod.node in free and pod.phase in ("Running", "Pending"):
                free[pod.node] -= pod.gpus
        for decision in decisions:
            if decision.kind == "bind" and decision.node in free:
                free[decision.node] -= Fraction(decision.gpus)
        return list(free.values())

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
        parents = {}
        for queue in self._objects("queues"):
            parent = at(queue, "spec", "parentQueue")
            parents[kinds.full_name(queue, cluster_scoped=True)] = str(parent) if parent else None
        return parents


_OWNER_NAME = re.compile(r"^name: (\S+)$", re.MULTILINE)


def _pod_facts(pod: Mapping[str, Any]) -> PodFacts:
    fraction, memory, devices = (
        quantities.parse_or_zero(annotations_of(pod).get(annotation))
        for annotation in (
            keys.GPU_FRACTION_ANNOTATION,
            keys.GPU_MEMORY_ANNOTATION,
            keys.GPU_DEVICES_ANNOTATION,
        )
    )
    devices = (devices or Fraction(1)) if fraction or memory else Fraction(0)
    gpus = fraction * devices
    for container in objects(at(pod, "spec", "containers")):
        requests = mapping(at(container, "resources", "requests"))
        gpus += sum(quantities.parse_or_zero(requests.get(name)) for name in keys.WHOLE_GPUS)
    node = at(pod, "spec", "nodeName")
    return PodFacts(
        kinds.full_name(pod),
        text(annotations_of(pod).get(keys.POD_GROUP_ANNOTATION)),
        gpus,
        str(node) if node else None,
        text(at(pod, "status", "phase")),
        int(devices),
        fraction,
        int(memory),
    )
