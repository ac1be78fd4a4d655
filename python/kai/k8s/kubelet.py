"""Reads what this node's kubelet assigned to the containers of its pods: the PodResources API.

    pods = await list_pod_resources("/var/lib/kubelet/pod-resources/kubelet.sock")
    lists = cpu_lists("/sys")           # {0: "0-31", 1: "32-63"}

The messages are built from the table below. It has the needed fields of
k8s.io/kubelet/pkg/apis/podresources/v1/api.proto; other fields are skipped.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from kai.api import extras
from kai.api.pod_resources import PodResources, Share
from kai.errors import InvalidInputError, UnreachableError

METHOD = "/v1.PodResourcesLister/List"
TIMEOUT_S = 10.0
MOST_BYTES = 16 << 20  # the kubelet's own limit
_OPTIONS = (
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.enable_http_proxy", 0),
    ("grpc.default_authority", "localhost"),  # Go servers reject the path of a socket
)
_INT64, _UINT64, _STRING, _MESSAGE = 3, 4, 9, 11  # FieldDescriptorProto.Type
# For each message its fields by number: name, type, whether it is repeated, and the nested message.
_MESSAGES: dict[str, dict[int, tuple[str, int, bool, str]]] = {
    "NUMANode": {1: ("ID", _INT64, False, "")},
    "TopologyInfo": {1: ("nodes", _MESSAGE, True, "NUMANode")},
    "ContainerDevices": {
        1: ("resource_name", _STRING, False, ""),
        2: ("device_ids", _STRING, True, ""),
        3: ("topology", _MESSAGE, False, "TopologyInfo"),
    },
    "ContainerMemory": {
        1: ("memory_type", _STRING, False, ""),
        2: ("size", _UINT64, False, ""),
        3: ("topology", _MESSAGE, False, "TopologyInfo"),
    },
    "ContainerResources": {
        2: ("devices", _MESSAGE, True, "ContainerDevices"),
        3: ("cpu_ids", _INT64, True, ""),
        4: ("memory", _MESSAGE, True, "ContainerMemory"),
    },
    "PodResources": {
        1: ("name", _STRING, False, ""),
        2: ("namespace", _STRING, False, ""),
        3: ("containers", _MESSAGE, True, "ContainerResources"),
    },
    "ListPodResourcesResponse": {1: ("pod_resources", _MESSAGE, True, "PodResources")},
}


def need_numa_extra() -> None:
    """Raises InvalidInputError if the libraries for talking to a kubelet are not installed."""
    if extras.missing(*extras.EXTRAS["numa"]):
        raise InvalidInputError(extras.needed("this", *extras.EXTRAS["numa"]))


@cache
def message(name: str) -> Any:
    """The class of a message of the table."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    proto = descriptor_pb2.FileDescriptorProto(name="podresources", package="v1", syntax="proto3")
    for each, fields in _MESSAGES.items():
        made = proto.message_type.add(name=each)
        for number, (field, kind, repeated, of) in fields.items():
            label, within = 3 if repeated else 1, f".v1.{of}" if of else None
            made.field.add(name=field, number=number, type=kind, label=label, type_name=within)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"v1.{name}"))


async def list_pod_resources(socket: str) -> list[PodResources]:
    """The resources of the pods of this node. Raises UnreachableError with one sentence."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # the library would print its own lines
    import grpc
    import grpc.aio

    try:
        async with grpc.aio.insecure_channel(f"unix:{socket}", options=_OPTIONS) as channel:
            data: bytes = await channel.unary_unary(METHOD)(b"", timeout=TIMEOUT_S)
    except grpc.aio.AioRpcError as error:
        raise UnreachableError(f"{socket}: {_why(error, socket)}") from None
    return read(data, socket)


def read(data: bytes, source: str) -> list[PodResources]:
    """The answer of a kubelet. Raises UnreachableError if the bytes are not an answer."""
    from google.protobuf.message import DecodeError

    try:
        answer = message("ListPodResourcesResponse").FromString(data)
    except DecodeError:
        raise UnreachableError(f"{source}: the answer is not a list of pod resources") from None
    return [_pod_resources(each) for each in answer.pod_resources]


def cpu_lists(sysfs: str) -> dict[int, str]:
    """The list of CPUs of each NUMA node, as sysfs has it. Raises OSError."""
    found = {}
    for path in sorted(Path(sysfs, "devices/system/node").glob("node*")):
        if number := re.fullmatch(r"node(\d+)", path.name):
            found[int(number[1])] = (path / "cpulist").read_text(encoding="ascii")
    return found


def _pod_resources(pod: Any) -> PodResources:
    shares, cpus = [], []
    for container in pod.containers:
        for each in container.devices:
            names = tuple(each.device_ids)
            shares.append(Share(each.resource_name, len(names), _nodes(each), names))
        for each in container.memory:
            shares.append(Share(each.memory_type, each.size, _nodes(each)))
        cpus += container.cpu_ids
    return PodResources(f"{pod.namespace}/{pod.name}", shares, cpus)


def _nodes(of: Any) -> tuple[int, ...]:
    return tuple(each.ID for each in of.topology.nodes)


def _why(error: Any, socket: str) -> str:
    if not os.path.exists(socket):
        return "no such socket"
    code = error.code().name
    if code == "UNIMPLEMENTED":
        return "the kubelet does not serve pod resources (v1)"
    details = " ".join((error.details() or "").split())
    return f"{code.lower().replace('_', ' ')}: {details}" if details else code.lower()
