"""Compares pods with the given nodes: the node of a pod is among them, and some node can serve a
request for GPUs of a device plugin, or for a part of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kai.admission.finding import Finding, warning
from kai.admission.pods import Pod
from kai.admission.shape import SHARES
from kai.api import keys
from kai.api.nearest import did_you_mean
from kai.api.reading import at, mapping, node_of, text

_NONE = ("", "0", 0, None)


@dataclass(frozen=True, slots=True)
class Devices:
    """The names of the given nodes, and how they offer their GPUs.

    nodes: empty if no nodes are given. claims_only: as devices of claims, and none through a device
    plugin. provided: the resources that a device class provides, so that a claim is made for them.
    """

    nodes: frozenset[str] = frozenset()
    claims_only: bool = False
    provided: frozenset[str] = frozenset()

    @staticmethod
    def of(manifests: Iterable[Mapping[str, Any]]) -> Devices:
        has_slices = has_plugin = False
        provided, nodes = set(), set()
        for each in manifests:
            kind = each.get("kind")
            if kind == "ResourceSlice":
                has_slices |= "gpu" in text(at(each, "spec", "driver"))  # as KAI counts them
            elif kind == "DeviceClass":
                provided.add(text(at(each, "spec", "extendedResourceName")))
            elif kind == "Node":
                nodes.add(text(at(each, "metadata", "name")))
                has_plugin |= any(_offers(each, resource) for resource in keys.WHOLE_GPUS)
        return Devices(frozenset(nodes), has_slices and not has_plugin, frozenset(provided))

    def check_place(self, manifest: Mapping[str, Any]) -> Iterator[Finding]:
        """A pod on a node that is not given. Without any nodes nothing is known."""
        node = node_of(manifest) if manifest.get("kind") == "Pod" else ""
        if node and self.nodes and node not in self.nodes:
            yield warning(
                "node-unknown",
                ("spec", "nodeName"),
                f"the pod is on node {node}, which is not among the given nodes: plans leave it out"
                f"{did_you_mean(node, self.nodes)}",
                "correct the name, or add the Node",
            )

    def check(self, pod: Pod) -> Iterator[Finding]:
        """A request for GPUs that none of the given nodes has in this form."""
        if not self.claims_only:
            return
        for key in SHARES:
            if key in pod.annotations:
                yield warning(
                    "gpus-in-claims-only",
                    pod.place_of("annotations", key),
                    f"{key} is a part of a GPU of a device plugin, and the given nodes have GPUs"
                    " only as devices of claims: the pod waits",
                    "use a ResourceClaim; several pods can share one",
                )
                return
        for container in (*pod.init_containers, *pod.containers):
            for part in ("limits", "requests"):
                asked = mapping(at(container.fields, "resources", part))
                for resource in keys.WHOLE_GPUS:
                    if asked.get(resource) in _NONE or resource in self.provided:
                        continue
                    yield warning(
                        "gpus-in-claims-only",
                        (*container.at, "resources", part, resource),
                        f"{resource} is the resource of a device plugin, and the given nodes have"
                        " GPUs only as devices of claims: their kubelets refuse the pod",
                        "use a ResourceClaim, or write extendedResourceName:"
                        f" {resource} into the DeviceClass",
                    )
                    return


UNKNOWN = Devices()
"""No nodes are given."""


def _offers(node: Mapping[str, Any], resource: str) -> bool:
    return any(
        mapping(at(node, "status", part)).get(resource) not in _NONE
        for part in ("allocatable", "capacity")
    )
