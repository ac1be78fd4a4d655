"""What the objects of an input say about each other: nodes, priority classes and shared claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.admission.finding import Finding, error
from kai.admission.pods import Pod
from kai.api import keys, kinds
from kai.api.reading import at, labels_of, objects, text
from kai.linting.devices import UNKNOWN, Devices


@dataclass(frozen=True, slots=True)
class Given:
    """devices: of the given nodes. polite: the priority classes with preemptionPolicy: Never.
    claims: the labels of the resource claims for GPUs, by "namespace/name"."""

    devices: Devices = UNKNOWN
    polite: frozenset[str] = frozenset()
    claims: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @staticmethod
    def of(manifests: Iterable[Mapping[str, Any]]) -> Given:
        manifests = list(manifests)
        polite = {
            text(at(each, "metadata", "name"))
            for each in manifests
            if each.get("kind") == "PriorityClass" and each.get("preemptionPolicy") == "Never"
        }
        claims = {
            kinds.full_name(each): labels_of(each)
            for each in manifests
            if each.get("kind") == "ResourceClaim" and _is_for_gpus(each)
        }
        return Given(Devices.of(manifests), frozenset(polite), claims)

    def check_claims(
        self, pod: Pod, namespace: str, queue: str, label_key: str
    ) -> Iterator[Finding]:
        """Claims that pods share need the label of the queue; KAI leaves the pod waiting."""
        for index, each in enumerate(objects(pod.spec.get("resourceClaims"))):
            name = text(each.get("resourceClaimName"))
            labels = self.claims.get(f"{namespace or 'default'}/{name}")
            if labels is None or labels.get(label_key) == queue:
                continue
            if label_key not in labels:
                message = f"ResourceClaim {name} has no label {label_key}: pods that use it wait"
            else:
                message = (
                    f"ResourceClaim {name} has the label of queue {labels[label_key]}, and the pod"
                    f" is in queue {queue}: it waits"
                )
            where = (*pod.spec_at, "resourceClaims", index, "resourceClaimName")
            fix = f"write the label {label_key}: {queue} on the ResourceClaim"
            yield error("claim-queue", where, message, fix)


def _is_for_gpus(claim: Mapping[str, Any]) -> bool:
    """As KAI counts them: the name of the device class contains gpu."""
    return any(
        "gpu" in text(device.get("deviceClassName")).lower()
        for request in objects(at(claim, "spec", "devices", "requests"))
        for device in (
            request,
            *objects([request.get("exactly")]),
            *objects(request.get("firstAvailable")),
        )
    )


NOTHING = Given()
"""Only one object is known."""
