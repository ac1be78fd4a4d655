"""The NUMA nodes of a pod's containers, and the annotations with them (spec 3 U18, 6 C60).

    found = placements(pods, {0: 0, 1: 1})      # the kubelet's assignments, and the node of a CPU
    observed = Observed()
    writes = observed.seen(found)               # patches of pods with another annotation
    writes = observed.repair(annotations)       # and of pods whose annotation others changed

No I/O. A device or a block of memory counts for the NUMA node that it names, and for none if it
names several. A pod without any is not patched, and no annotation is ever removed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

from kai.api import keys
from kai.api.pod_resources import PodResources
from kai.api.writes import Lane, Outcome, Result, Write
from kai.errors import InvalidInputError


def placements(pods: Iterable[PodResources], node_of_cpu: Mapping[int, int]) -> dict[str, str]:
    """The annotation of each pod that has aligned resources, by pod.

    >>> placements([PodResources("a/p", cpus=[3, 4])], {3: 0, 4: 0})
    {'a/p': '[{"zone":"node-0","amount":{"cpu":"2"}}]'}
    """
    zones: dict[str, dict[str, dict[str, int]]] = {}
    for pod, shares, cpus in pods:
        single = [
            (each.nodes[0], each.resource, each.amount)
            for each in shares
            if len(each.nodes) == 1 and each.amount > 0
        ]
        single += [(node_of_cpu[cpu], "cpu", 1) for cpu in cpus if cpu in node_of_cpu]
        for node, resource, amount in single:
            of_zone = zones.setdefault(pod, defaultdict(dict))[f"node-{node}"]
            of_zone[resource] = of_zone.get(resource, 0) + amount
    return {pod: _text(of_pod) for pod, of_pod in zones.items()}


def node_of_cpu(lists: Mapping[int, str]) -> dict[int, int]:
    """The NUMA node of each CPU, from the list of CPUs of each node. Raises InvalidInputError.

    >>> node_of_cpu({0: "0-1,4", 1: "2-3"})
    {0: 0, 1: 0, 4: 0, 2: 1, 3: 1}
    """
    found: dict[int, int] = {}
    for node, text in lists.items():
        for part in filter(None, text.strip().split(",")):
            first, dash, last = part.partition("-")
            try:
                cpus = range(int(first), int(last if dash else first) + 1)
            except ValueError:
                raise InvalidInputError(f"node{node}: {text!r} is not a list of CPUs") from None
            found.update(dict.fromkeys(cpus, node))
    return found


class Observed:
    """The annotation written for each pod. A pod that the kubelet does not list any more is
    removed."""

    def __init__(self) -> None:
        self._found: Mapping[str, str] = {}
        self._written: dict[str, str] = {}

    def seen(self, found: Mapping[str, str]) -> list[Write]:
        """The patches for the pods that the kubelet lists now."""
        self._found = found
        self._written = {pod: text for pod, text in self._written.items() if pod in found}
        return [_patch(pod, text) for pod, text in found.items() if self._written.get(pod) != text]

    def repair(self, there: Mapping[str, str]) -> list[Write]:
        """The patches for changed annotations. `there`: the annotations at the API server; "" for
        pods without one."""
        return [
            _patch(pod, text)
            for pod, text in self._found.items()
            if pod in there and there[pod] != text
        ]

    def answered(self, write: Write, outcome: Outcome) -> None:
        """The outcome of a patch. A patch that failed now is decided again at the next call; a
        deleted pod is in the kubelet's list a moment longer."""
        if outcome.result in (Result.DONE, Result.GONE, Result.REFUSED):
            self._written[f"{write.namespace}/{write.name}"] = write.about


def _patch(pod: str, text: str) -> Write:
    namespace, _, name = pod.partition("/")
    body = {"metadata": {"annotations": {keys.NUMA_OBSERVED_ANNOTATION: text}}}
    return Write(Lane.CONDITION, "patch", "Pod", namespace, name, body, "status", about=text)


def _text(zones: Mapping[str, Mapping[str, int]]) -> str:
    record = [
        {"zone": zone, "amount": {name: str(amount) for name, amount in sorted(of_zone.items())}}
        for zone, of_zone in sorted(zones.items())
    ]
    return json.dumps(record, separators=(",", ":"))
