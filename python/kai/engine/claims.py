"""The devices that pods get, through resource claims or through extended resources."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kai.engine.brief import Brief

# As returned by kai._core.Plan.claims().
_Requirement = tuple[str, str, list[str]]
_Row = tuple[
    str,
    str,
    list[tuple[str, str, str, str]],
    list[tuple[list[_Requirement], list[_Requirement]]] | None,
    tuple[list[tuple[str, str, int]], list[tuple[str, str, str]]] | None,
]


@dataclass(frozen=True, slots=True, repr=False)
class Device(Brief):
    """A device that a driver publishes in a ResourceSlice."""

    driver: str
    pool: str
    device: str


@dataclass(frozen=True, slots=True, repr=False)
class ClaimAllocation(Brief):
    """The allocation of a pod's resource claim: devices, and the request for each of them.

    `name` is the claim's name in the pod's spec, `claim` the object's own name. `node_selector`
    selects the nodes where it can be used, in Kubernetes' format; None: all nodes.

    >>> import kai
    >>> kai.ClaimAllocation(name="gpu", claim="train-gpu").to_dict()
    {'name': 'gpu', 'claim': 'train-gpu', 'allocation': {'devices': {'results': []}}}
    """

    name: str
    claim: str
    devices: tuple[tuple[str, Device], ...] = ()
    node_selector: Mapping[str, Any] | None = dataclasses.field(default=None, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """In the format of a BindRequest, with the claim's own name."""
        allocation = _allocation(self.devices, self.node_selector)
        return {"name": self.name, "claim": self.claim, "allocation": allocation}


@dataclass(frozen=True, slots=True, repr=False)
class DeviceRequest(Brief):
    """A number of devices of a class, with a name within their claim."""

    name: str
    device_class: str
    count: int


@dataclass(frozen=True, slots=True, repr=False)
class ContainerDevices(Brief):
    """The request of a claim that provides a resource to a container."""

    container: str
    resource: str
    request: str


@dataclass(frozen=True, slots=True, repr=False)
class ExtendedClaim(Brief):
    """The devices of a pod for extended resources that device classes provide.

    The claim does not exist yet: the pod's binder creates one with `requests` and allocates
    `devices` to it. `containers` assigns the devices to containers.

    >>> import kai
    >>> kai.ExtendedClaim().requests
    ()
    """

    devices: tuple[tuple[str, Device], ...] = ()
    requests: tuple[DeviceRequest, ...] = ()
    containers: tuple[ContainerDevices, ...] = ()
    node_selector: Mapping[str, Any] | None = dataclasses.field(default=None, hash=False)

    name: ClassVar[str] = "<extended-resources>"

    def to_dict(self) -> dict[str, Any]:
        """In the format of a BindRequest, with the name that is used until the claim has one."""
        return {
            "name": self.name,
            "allocation": _allocation(self.devices, self.node_selector),
            "deviceRequests": [
                {
                    "name": each.name,
                    "exactly": {
                        "deviceClassName": each.device_class,
                        "allocationMode": "ExactCount",
                        "count": each.count,
                    },
                }
                for each in self.requests
            ],
            "containerMappings": [
                {
                    "containerName": each.container,
                    "requestName": each.request,
                    "resourceName": each.resource,
                }
                for each in self.containers
            ],
        }


def claims_of(rows: Iterable[_Row]) -> dict[str, Any]:
    """The members of a decision that contain its claims."""
    claims = []
    members: dict[str, Any] = {}
    for name, claim, devices, node_terms, extended in rows:
        selector = None
        if node_terms is not None:
            selector = {"nodeSelectorTerms": [_node_term(*term) for term in node_terms]}
        given = tuple((request, Device(*device)) for request, *device in devices)
        if extended is None:
            claims.append(ClaimAllocation(name, claim, given, selector))
            continue
        requests, containers = extended
        members["extended_claim"] = ExtendedClaim(
            given,
            tuple(DeviceRequest(*each) for each in requests),
            tuple(ContainerDevices(*each) for each in containers),
            selector,
        )
    return {"claims": tuple(claims), **members}


def _allocation(
    devices: tuple[tuple[str, Device], ...], node_selector: Mapping[str, Any] | None
) -> dict[str, Any]:
    """In Kubernetes' format."""
    results = [{"request": request, **dataclasses.asdict(device)} for request, device in devices]
    allocation: dict[str, Any] = {"devices": {"results": results}}
    if node_selector is not None:
        allocation["nodeSelector"] = node_selector
    return allocation


def _node_term(expressions: list[_Requirement], fields: list[_Requirement]) -> dict[str, Any]:
    term = {}
    for kind, requirements in (("matchExpressions", expressions), ("matchFields", fields)):
        if requirements:
            term[kind] = [
                {"key": key, "operator": operator} | ({"values": values} if values else {})
                for key, operator, values in requirements
            ]
    return term
