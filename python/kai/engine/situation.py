"""The facts behind a plan that its explanation needs: who asks for what, what there is.

Read from the snapshot the plan was made from, and only when somebody asks; a plan that is turned
into JSON never pays for it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from kai.api import keys, kinds, quantities
from kai.api.reading import annotations_of, at, mapping, objects


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What one pod asks for, and where it is."""

    name: str
    gpus: Fraction
    cpus: Fraction
    memory: Fraction
    node: str | None
    phase: str


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
    cordoned: bool


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
    def groups(self) -> dict[str, GroupFacts]:
        """By "namespace/name"."""
        pods: dict[str, list[PodFacts]] = defaultdict(list)
        for pod in self._objects("pods"):
            if group := annotations_of(pod).get(keys.POD_GROUP_ANNOTATION):
                pods[str(group)].append(_pod_facts(pod))
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
    def nodes(self) -> tuple[NodeFacts, ...]:
        found = []
        for node in self._objects("nodes"):
            held = mapping(at(node, "status", "allocatable"))
            gpus = sum(
                (quantities.parse_or_zero(held.get(name)) for name in _GPUS), start=Fraction(0)
            )
            name = kinds.full_name(node, cluster_scoped=True)
            found.append(NodeFacts(name, gpus, at(node, "spec", "unschedulable") is True))
        return tuple(found)

    @cached_property
    def queue_parents(self) -> dict[str, str | None]:
        parents = {}
        for queue in self._objects("queues"):
            parent = at(queue, "spec", "parentQueue")
            parents[kinds.full_name(queue, cluster_scoped=True)] = str(parent) if parent else None
        return parents


_GPUS = (keys.NVIDIA_GPU, keys.AMD_GPU)


def _pod_facts(pod: Mapping[str, Any]) -> PodFacts:
    totals = {name: Fraction(0) for name in (keys.CPU, keys.MEMORY, *_GPUS)}
    for container in objects(at(pod, "spec", "containers")):
        requests = mapping(at(container, "resources", "requests"))
        for name in totals:
            totals[name] += quantities.parse_or_zero(requests.get(name))
    node = at(pod, "spec", "nodeName")
    return PodFacts(
        kinds.full_name(pod),
        sum((totals[name] for name in _GPUS), start=_gpu_share(pod)),
        totals[keys.CPU],
        totals[keys.MEMORY],
        str(node) if node else None,
        str(at(pod, "status", "phase") or ""),
    )


def _gpu_share(pod: Mapping[str, Any]) -> Fraction:
    portion = quantities.parse_or_zero(annotations_of(pod).get(keys.GPU_FRACTION_ANNOTATION))
    devices = quantities.parse_or_zero(annotations_of(pod).get(keys.GPU_DEVICES_ANNOTATION) or "1")
    return portion * devices
