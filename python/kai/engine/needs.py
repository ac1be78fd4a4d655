"""The objects that a pod names and cannot start without: claims, their classes, configuration.

needed_by(pod, cluster)    # ("ResourceClaim", "ml/gpus"), ("DeviceClass", "gpu.nvidia.com")
claims_of(pod)             # "ml/gpus"
requests_of(claim)         # the requests of the claim, each with its device class
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kai.api.kinds import full_name
from kai.api.reading import at, objects

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster

Manifest = Mapping[str, Any]
Named = tuple[str, str]
"""A kind, and "namespace/name", or the name where the kind has no namespaces."""


def needed_by(pod: Manifest, cluster: Cluster) -> Iterator[Named]:
    """What a pod names and cannot start without, each before what it needs itself. They may not
    exist."""
    namespace = full_name(pod).rpartition("/")[0]
    for volume in objects(at(pod, "spec", "volumes")):
        name = at(volume, "configMap", "name")
        if name and at(volume, "configMap", "optional") is not True:
            yield "ConfigMap", f"{namespace}/{name}"
        if name := at(volume, "persistentVolumeClaim", "claimName"):
            yield "PersistentVolumeClaim", f"{namespace}/{name}"
            volume_claim = cluster._find("PersistentVolumeClaim", f"{namespace}/{name}")
            if storage := at(volume_claim, "spec", "storageClassName"):
                yield "StorageClass", str(storage)
    for claim in claims_of(pod):
        yield "ResourceClaim", claim
        for request in requests_of(cluster._find("ResourceClaim", claim)):
            if device_class := request.get("deviceClassName"):
                yield "DeviceClass", str(device_class)


def claims_of(pod: Manifest) -> Iterator[str]:
    """ "namespace/name" of the resource claims of a pod, also of those made from templates."""
    namespace = full_name(pod).rpartition("/")[0]
    made = objects(at(pod, "status", "resourceClaimStatuses"))
    names = {each.get("name"): each.get("resourceClaimName") for each in made}
    for use in objects(at(pod, "spec", "resourceClaims")):
        if name := use.get("resourceClaimName") or names.get(use.get("name")):
            yield f"{namespace}/{name}"


def requests_of(claim: Manifest | None) -> Iterator[Manifest]:
    """The requests of a resource claim, with the device class and the selectors of each."""
    for request in objects(at(claim, "spec", "devices", "requests")):
        exactly = at(request, "exactly")
        alternatives = objects(at(request, "firstAvailable"))
        yield from alternatives or (exactly if isinstance(exactly, Mapping) else request,)
