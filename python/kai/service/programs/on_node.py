"""What the programs on nodes share: the socket of the kubelet, the pods of a node, and problems
that are logged once.

    pods = await pods_on(client, "n1")
    problems.arose("cannot measure the GPUs", why)      # a line; the same again: none
    problems.ended("cannot measure the GPUs")           # "can measure the GPUs again"
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from kai.api.resources import resource

if TYPE_CHECKING:
    import asyncio

    from kai.k8s.client import Client
    from kai.service.log import Log

SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
"""Of the kubelet's PodResources API."""


class OnNode(Protocol):
    """A program on a node."""

    async def run(self, stop: asyncio.Event) -> None: ...


async def pods_on(client: Client, node: str) -> list[dict[str, Any]]:
    """The pods of a node, from the API server's cache. Raises KaiError."""
    selector = {"fieldSelector": f"spec.nodeName={node}", "resourceVersion": "0"}
    answer = await client.read(resource("Pod").path(), selector, kinds=("PodList",))
    return json.loads(answer.body).get("items") or []


class Problems:
    """Each is named by a phrase with "cannot", and logged when it arises, when its cause changes
    and when it has ended."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._causes: dict[str, str] = {}

    def arose(self, what: str, why: str, **fields: Any) -> bool:
        """Returns False, as the result of what failed."""
        if self._causes.get(what) != why:
            self._causes[what] = why
            self._log.warning(what, why=why, **fields)
        return False

    def ended(self, what: str) -> None:
        if self._causes.pop(what, None) is not None:
            self._log.info(what.replace("cannot", "can", 1) + " again")
