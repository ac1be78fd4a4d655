"""The contents of a resource claim that lets a pod use it (spec 3 D9, D10)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kai.api.names import LONGEST_NAME, fitting
from kai.api.reading import mapping, objects
from kai.api.resources import new_object

FINALIZER = "resource.kubernetes.io/delete-protection"
"""A claim with this finalizer stays until no pod uses it; Kubernetes' claim controller removes
it."""
MOST_CONSUMERS = 256
MADE_FOR = "resource.kubernetes.io/extended-resource-claim"

Manifest = Mapping[str, Any]


def names_of(pod: Manifest) -> dict[str, str]:
    """The claims of a pod: their names in the spec, and the names of the objects; "": not created
    yet."""
    spec, status = mapping(pod.get("spec")), mapping(pod.get("status"))
    made = {
        each.get("name", ""): each.get("resourceClaimName") or None
        for each in objects(status.get("resourceClaimStatuses"))
    }
    found: dict[str, str] = {}
    for each in objects(spec.get("resourceClaims")):
        name = each.get("name", "")
        if each.get("resourceClaimName"):
            found[name] = each["resourceClaimName"]
        elif name not in made:
            found[name] = ""
        elif made[name]:  # otherwise it needs no claim
            found[name] = str(made[name])
    return found


def is_for(claim: Manifest, uid: str) -> bool:
    """Whether the pod with this UID may use the claim."""
    return any(each.get("uid") == uid for each in consumers(claim))


def consumers(claim: Manifest) -> list[Manifest]:
    return objects(mapping(claim.get("status")).get("reservedFor"))


def allocation_of(claim: Manifest) -> Manifest | None:
    found = mapping(claim.get("status")).get("allocation")
    return found if isinstance(found, Mapping) else None


def is_same(one: Manifest, other: Manifest) -> bool:
    """Whether both allocations give the same devices to the same requests."""
    return _devices(one) == _devices(other)


def _devices(allocation: Manifest) -> set[tuple[str, ...]]:
    results = objects(mapping(allocation.get("devices")).get("results"))
    keys = ("request", "driver", "pool", "device")
    return {tuple(str(each.get(key, "")) for key in keys) for each in results}


def classes_of(claim: Manifest, allocation: Manifest) -> dict[str, list[str]]:
    """For each device class the requests, as results name them, that got devices of it."""
    given = {request for request, *_ in _devices(allocation)}
    found: dict[str, list[str]] = {}
    for each in _requests(claim):
        name = each.get("name", "")
        choices = [(name, each.get("exactly") or each)]
        alternatives = objects(each.get("firstAvailable"))
        if alternatives:
            choices = [(f"{name}/{one.get('name', '')}", one) for one in alternatives]
        for request, choice in choices:
            device_class = choice.get("deviceClassName")
            if request in given and device_class:
                found.setdefault(str(device_class), []).append(request)
    return found


def configured(allocation: Manifest, claim: Manifest, classes: Mapping[str, Manifest]) -> Manifest:
    """The allocation with configuration for the drivers: of the classes first, then of the
    claim."""
    config: list[dict[str, Any]] = []
    for name, requests in sorted(classes_of(claim, allocation).items()):
        of_class = objects(mapping(mapping(classes.get(name)).get("spec")).get("config"))
        for request in requests:
            config += ({"source": "FromClass", "requests": [request], **each} for each in of_class)
    given = {request for request, *_ in _devices(allocation)}
    for each in objects(mapping(mapping(claim.get("spec")).get("devices")).get("config")):
        requests = each.get("requests") or []
        if not requests or any(_covers(request, given) for request in requests):
            config.append({"source": "FromClaim", **each})
    if not config:
        return allocation
    return {**allocation, "devices": {**mapping(allocation.get("devices")), "config": config}}


def _covers(request: str, given: Iterable[str]) -> bool:
    """The name of a request also matches its alternatives."""
    return any(each == request or each.startswith(f"{request}/") for each in given)


def _requests(claim: Manifest) -> list[Manifest]:
    return objects(mapping(mapping(claim.get("spec")).get("devices")).get("requests"))


def status_with(claim: Manifest, pod: str, uid: str, allocation: Manifest | None) -> dict[str, Any]:
    """A patch of the status: adds the pod as a user, and the allocation if the claim has none."""
    user = {"resource": "pods", "name": pod, "uid": uid}
    status: dict[str, Any] = {"reservedFor": [*consumers(claim), user]}
    if allocation is not None and allocation_of(claim) is None:
        status["allocation"] = allocation
    return {"metadata": _same(claim), "status": status}


def status_without(claim: Manifest, uid: str, *, frees: bool) -> dict[str, Any]:
    """A patch of the status: removes the pod as a user. `frees`: with its last user, the claim
    releases its devices."""
    left = [each for each in consumers(claim) if each.get("uid") != uid]
    status: dict[str, Any] = {"reservedFor": left or None}
    if frees and not left:
        status["allocation"] = None
    return {"metadata": _same(claim), "status": status}


def protected(claim: Manifest) -> dict[str, Any] | None:
    """A patch that adds the finalizer; None if the claim has it."""
    finalizers = list(mapping(claim.get("metadata")).get("finalizers") or ())
    if FINALIZER in finalizers:
        return None
    return {"metadata": {**_same(claim), "finalizers": [*finalizers, FINALIZER]}}


def _same(claim: Manifest) -> dict[str, Any]:
    """Limits a patch to the claim and version that was read."""
    metadata = mapping(claim.get("metadata"))
    return {key: metadata[key] for key in ("uid", "resourceVersion") if key in metadata}


# ---- extended resources --------------------------------------------------------------------------


def made_name(pod: str, uid: str) -> str:
    """The name of the claim for a pod; always the same for a pod."""
    end = hashlib.sha256(uid.encode()).hexdigest()[:5]
    end = f"-extended-resources-{end}"
    return fitting(pod, LONGEST_NAME - len(end)) + end


def made_claim(
    namespace: str, pod: str, uid: str, requests: Sequence[Manifest], name: str
) -> dict[str, Any]:
    """The claim for extended resources of a pod (spec 3 D10)."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid, "controller": True}
    metadata = {
        "name": name,
        "namespace": namespace,
        "annotations": {MADE_FOR: "true"},
        "finalizers": [FINALIZER],
        "ownerReferences": [owner],
    }
    spec = {"devices": {"requests": [dict(each) for each in requests]}}
    return new_object("ResourceClaim", metadata, spec=spec)


def pod_status(uid: str, name: str, mappings: Sequence[Manifest]) -> dict[str, Any]:
    """A patch of the pod: the claim from which its containers get devices."""
    keys = ("containerName", "resourceName", "requestName")
    given = [{key: each[key] for key in keys if key in each} for each in mappings]
    status = {"resourceClaimName": name, "requestMappings": given}
    return {"metadata": {"uid": uid}, "status": {"extendedResourceClaimStatus": status}}
