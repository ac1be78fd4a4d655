"""The Node object of a machine, and its heartbeat."""

import asyncio
from collections.abc import Mapping, Sequence

from ..arguments import MACHINE_LABEL
from ..client import STRATEGIC, ApiError, Client, Object, path_of
from ..objects import node
from .status import HOST_IP, condition, now

HEARTBEAT_S = 60.0
"""A tenth of the time after which the cluster's controllers make a node NotReady."""


def node_of(
    name: str, gpus: int, labels: Mapping[str, str], taints: Sequence[Mapping[str, str]]
) -> Object:
    """A Ready node, which kwok leaves alone because of its label."""
    made = node(name, gpus, cpu="16", memory="64Gi", labels={MACHINE_LABEL: "true", **labels})
    made["spec"] = {"taints": list(taints)}
    made["status"] |= {
        "conditions": [condition("Ready", True, now())],
        "addresses": [{"type": "InternalIP", "address": HOST_IP}],
    }
    return made


async def register(api: Client, made: Object) -> None:
    """Creates the node, or makes an older one of its name Ready."""
    try:
        await api.create_one(made)
    except ApiError as error:
        if error.status != 409:
            raise
        path = path_of("Node", name=made["metadata"]["name"])
        labels = made["metadata"]["labels"]
        await api.patch(path, {"metadata": {"labels": labels}, "spec": made["spec"]})
        await api.patch(f"{path}/status", {"status": made["status"]}, STRATEGIC)


async def keep_ready(api: Client, made: Object) -> None:
    path = path_of("Node", name=made["metadata"]["name"], subresource="status")
    while True:
        await asyncio.sleep(HEARTBEAT_S)
        alive = [{**each, "lastHeartbeatTime": now()} for each in made["status"]["conditions"]]
        await api.patch(path, {"status": {"conditions": alive}}, STRATEGIC)
