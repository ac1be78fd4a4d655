"""A kubelet with a PodResources API that a test fills, on a unix socket.

async with FakeKubelet(folder / "kubelet.sock") as kubelet:
    kubelet.pods = [pod("team", "a", devices=[("nvidia.com/gpu", ["0", "1"], [0])])]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from kai.k8s.kubelet import message

Device = tuple[str, Sequence[str], Sequence[int]]
Memory = tuple[str, int, Sequence[int]]


def container(
    devices: Sequence[Device] = (), cpus: Sequence[int] = (), memory: Sequence[Memory] = ()
) -> dict[str, Any]:
    return {
        "devices": [
            {"resource_name": name, "device_ids": ids, "topology": _topology(nodes)}
            for name, ids, nodes in devices
        ],
        "cpu_ids": cpus,
        "memory": [
            {"memory_type": kind, "size": size, "topology": _topology(nodes)}
            for kind, size, nodes in memory
        ],
    }


def _topology(nodes: Sequence[int]) -> dict[str, Any]:
    return {"nodes": [{"ID": each} for each in nodes]}


def answer(*pods: tuple[str, Sequence[dict[str, Any]]]) -> bytes:
    """Pods by "namespace/name", with their containers."""
    listed = []
    for full_name, containers in pods:
        namespace, _, name = full_name.partition("/")
        listed.append({"namespace": namespace, "name": name, "containers": containers})
    data: bytes = message("ListPodResourcesResponse")(pod_resources=listed).SerializeToString()
    return data


class FakeKubelet:
    """`data`: the answer, as bytes; `code`: rejects with this instead. `asked`: the number of
    requests."""

    def __init__(self, socket: Path) -> None:
        self.socket, self.data, self.calls = str(socket), answer(), 0
        self.code: grpc.StatusCode | None = None
        self.serves = True

    async def __aenter__(self) -> FakeKubelet:
        self._server = grpc.aio.server()
        if self.serves:
            method = grpc.unary_unary_rpc_method_handler(self._list)
            service = grpc.method_handlers_generic_handler(
                "v1.PodResourcesLister", {"List": method}
            )
            self._server.add_generic_rpc_handlers((service,))
        self._server.add_insecure_port(f"unix:{self.socket}")
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop(None)
        Path(self.socket).unlink(missing_ok=True)

    async def _list(self, request: bytes, context: Any) -> bytes:
        self.calls += 1
        if self.code is not None:
            await context.abort(self.code, "not now")
        return self.data


def sysfs(root: Path, *lists: str) -> str:
    """A folder with the lists of CPUs of node 0, 1, and so on."""
    for number, text in enumerate(lists):
        folder = root / "devices/system/node" / f"node{number}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{text}\n")
    return str(root)
