"""Simulated devices for resource claims (DRA): no driver runs.

await api.create(device_class(), template(namespace), devices("n1", count=2))
await api.create(claiming("p0", namespace))
"""

from typing import Any

from .client import Object
from .objects import pod

DRIVER = "gpu.nvidia.com"


def device_class(**spec: object) -> Object:
    expression = f"device.driver == '{DRIVER}'"
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": DRIVER},
        "spec": {"selectors": [{"cel": {"expression": expression}}], **spec},
    }


def devices(node: str, count: int) -> Object:
    """A ResourceSlice of a node's devices."""
    kind = {"type": {"string": "gpu"}}
    listed = [{"name": f"gpu-{number}", "attributes": kind} for number in range(count)]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpus"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": listed,
        },
    }


def one_gpu() -> Object:
    return {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": DRIVER}}]}}


def template(namespace: str) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one-gpu", "namespace": namespace},
        "spec": {"metadata": {"labels": {"kai.scheduler/queue": "team-a"}}, "spec": one_gpu()},
    }


def claiming(name: str, namespace: str, claim: str = "", *, queue: str = "", **spec: Any) -> Object:
    """A pod with a claim; "": it gets its own, from the template."""
    source = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": "one-gpu"}
    use = [{"name": "gpu", **source}]
    of = {"queue": queue, "resourceClaims": use, **spec}
    return pod(name, namespace, 0, cpu="100m", memory="64Mi", **of)
