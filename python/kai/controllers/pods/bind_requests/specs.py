"""The contents of a BindRequest (spec 5 A23)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from kai.api import keys
from kai.api.names import LONGEST_LABEL, fitting
from kai.api.resources import new_object
from kai.api.writes import Lane, Write
from kai.controllers.amounts import to_text
from kai.controllers.pods.decisions import Binding
from kai.engine.values import Bind


def spec_of(bind: Bind) -> dict[str, Any]:
    """Everything except the pod and the node, in KAI's format: empty parts are left out."""
    spec: dict[str, Any] = {
        "receivedResourceType": "Fraction" if bind.gpu_groups else "Regular",
        "receivedGPU": _devices(bind),
    }
    if bind.gpu_groups:
        spec["selectedGPUGroups"] = list(bind.gpu_groups)
    if bind.claims:
        claims = (each.to_dict() for each in bind.claims)
        spec["resourceClaimAllocations"] = [
            {"name": each["name"], "allocation": each["allocation"]} for each in claims
        ]
    if bind.extended_claim is not None:
        extended = bind.extended_claim.to_dict()
        del extended["name"]
        spec["extendedResourceClaimAllocation"] = extended
    if bind.numa_zones:
        spec["predictedNUMAZones"] = [
            {"zone": each.zone, "amount": _amounts(each.amount)} for each in bind.numa_zones
        ]
    return spec


def creation(binding: Binding, pool_key: str, pool: str) -> Write:
    """Creates the BindRequest of a decision; it has the name of the pod, and is deleted with it."""
    namespace, _, name = binding.pod.partition("/")
    labels = {keys.SELECTED_NODE_LABEL: fitting(binding.node, LONGEST_LABEL)}
    if pool:
        labels[pool_key] = pool
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": binding.uid}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "labels": labels,
        "ownerReferences": [owner],
    }
    if binding.annotations:
        metadata["annotations"] = dict(binding.annotations)
    spec = {"podName": name, "selectedNode": binding.node, **binding.spec}
    body = new_object("BindRequest", metadata, spec=spec)
    return Write(Lane.BINDING, "create", "BindRequest", namespace, name, body, about=binding)


def _devices(bind: Bind) -> dict[str, Any]:
    """As in spec 5 A26: a portion has two decimals, and a count of zero is left out."""
    if bind.devices is not None:
        return {"count": bind.devices, "portion": f"{bind.portion or 0:.2f}"}
    in_claims = [*bind.claims, *([bind.extended_claim] if bind.extended_claim else ())]
    whole = int(bind.gpus) - sum(len(each.devices) for each in in_claims)
    return {"count": whole, "portion": "1.00"} if whole > 0 else {"portion": "0.00"}


def _amounts(amounts: Mapping[str, float]) -> dict[str, str]:
    return {key: to_text(Fraction(amount)) for key, amount in amounts.items()}
