"""140,000 pods of 8 KB: memory of `kai run all` while it starts and afterwards.

A replacement of the API server streams the objects and accepts every write; a real one with as many
pods needs more memory than a test machine has. 5,000 nodes, ten pods to a pod group, all running;
afterwards ten pods change each second.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web
from scene import Report
from testcluster.processes import Process

POD_BYTES = 8 * 1024
PODS_A_GROUP = 10
GPUS_A_NODE = 32
SECONDS = 30
KINDS = {
    "events": "Event",
    "leases": "Lease",
    "podgroups": "PodGroup",
    "pods": "Pod",
    "queues": "Queue",
}
OBJECT = re.compile(
    r"/(?:api|apis/[^/]+)/v[^/]+(?:/namespaces/[^/]+)?/([^/]+)(?:/([^/]+))?(?:/.*)?"
)
Objects = Iterator[dict[str, Any]]


class StandIn:
    """Answers lists as watches with initial events do, keeps watches open, accepts writes."""

    def __init__(self, pods: int) -> None:
        self._pods, self._groups = pods, pods // PODS_A_GROUP
        self._nodes = -(-pods // GPUS_A_NODE)
        self._filler = "x" * (POD_BYTES - len(json.dumps(self._pod(0, ""))))
        self.version = 1_000_000
        self.writes = 0
        self.changed: asyncio.Queue[int] = asyncio.Queue()
        self.listed_at = 0.0

    def _pod(self, number: int, filler: str) -> dict[str, Any]:
        name = f"pod-{number:06}"
        resources = {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "large",
                "uid": f"00000000-0000-0000-0001-{number:012}",
                "resourceVersion": "1",
                "creationTimestamp": "2026-11-01T00:00:00Z",
                "labels": {"kai.scheduler/queue": "default-queue"},
                "annotations": {"pod-group-name": f"group-{number // PODS_A_GROUP:05}"},
            },
            "spec": {
                "schedulerName": "kai-scheduler",
                "nodeName": f"node-{number % self._nodes:04}",
                "containers": [
                    {
                        "name": "main",
                        "image": "i",
                        "env": [{"name": "NOTE", "value": filler}],
                        "resources": resources,
                    }
                ],
            },
            "status": {"phase": "Running", "conditions": []},
        }

    def _objects(self, kind: str) -> Objects:
        if kind == "pods":
            yield from (self._pod(number, self._filler) for number in range(self._pods))
        elif kind == "nodes":
            room = {"cpu": "256", "memory": "2Ti", "pods": "110", "nvidia.com/gpu": "32"}
            for number in range(self._nodes):
                yield _made("v1", "Node", f"node-{number:04}", status={"allocatable": room})
        elif kind == "podgroups":
            for number in range(self._groups):
                spec = {"queue": "default-queue", "minMember": PODS_A_GROUP}
                made = _made("scheduling.run.ai/v2alpha2", "PodGroup", f"group-{number:05}")
                made["metadata"]["namespace"] = "large"
                yield {**made, "spec": spec}
        elif kind == "queues":
            for name, parent in (
                ("default-parent-queue", ""),
                ("default-queue", "default-parent-queue"),
            ):
                yield _made("scheduling.run.ai/v2", "Queue", name, spec={"parentQueue": parent})

    def _stored(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The object of a write, with what a server adds."""
        found = OBJECT.fullmatch(path)
        plural, name = found.groups() if found else ("", "")
        made = {"uid": f"stored-{plural}", "resourceVersion": str(self.version)}
        metadata = {"name": name, **body.get("metadata", {}), **made}
        return {"kind": KINDS.get(plural, plural), **body, "metadata": metadata}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.method != "GET":
            self.writes += 1
            return web.json_response(self._stored(request.path, await request.json()))
        if request.path == "/version":
            return web.json_response({"gitVersion": "v1.36.3"})
        kind = request.path.rpartition("/")[2]
        if "watch" not in request.query:
            return web.json_response(
                {"kind": "Status", "code": 404, "reason": "NotFound"}, status=404
            )
        response = web.StreamResponse()
        await response.prepare(request)
        if "sendInitialEvents" in request.query:
            for made in self._objects(kind):
                await response.write(_line("ADDED", made))
            mark = {
                "resourceVersion": str(self.version),
                "annotations": {"k8s.io/initial-events-end": "true"},
            }
            await response.write(_line("BOOKMARK", {"kind": "Any", "metadata": mark}))
            if kind == "pods":
                self.listed_at = time.monotonic()
        while kind == "pods":
            made = self._pod(await self.changed.get(), self._filler)
            self.version += 1
            made["metadata"]["resourceVersion"] = str(self.version)
            made["metadata"]["labels"]["seen"] = str(self.version)
            await response.write(_line("MODIFIED", made))
        await asyncio.sleep(3600)
        return response


def _made(version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    uid = f"00000000-{name}"
    metadata = {"name": name, "uid": uid, "resourceVersion": "1"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def _line(type: str, made: dict[str, Any]) -> bytes:
    return json.dumps({"type": type, "object": made}).encode() + b"\n"


async def run(folder: Path, pods: int, arguments: tuple[str, ...]) -> Report:
    server = StandIn(pods)
    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    [address] = runner.addresses
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(_kubeconfig(f"http://127.0.0.1:{address[1]}"))
    command = [sys.executable, "-m", "kai", "run", "all", "--kubeconfig", str(kubeconfig)]
    runner.app.logger.disabled = True  # connections that end together with kai are expected
    kai = Process.start("kai", [*command, *arguments], log=folder / "kai.log")
    began = time.monotonic()
    try:
        while not server.listed_at and kai.is_running():
            await asyncio.sleep(0.1)
        listed = server.listed_at - began
        await asyncio.sleep(20)
        started, writes = kai.usage(), server.writes
        for number in range(SECONDS):
            for each in range(10):
                server.changed.put_nowait(number * 10 + each)
            await asyncio.sleep(1)
        then = kai.usage()
        return {
            "pods": pods,
            "listed_s": round(listed, 1),
            "peak_mib": round(started.peak_mib),
            "steady_mib": round(then.rss_mib),
            "cpu_s_to_start": round(started.cpu_s, 1),
            "cpu_percent_with_10_changes_a_second": round(
                (then.cpu_s - started.cpu_s) / SECONDS * 100, 1
            ),
            "writes_a_second": round((server.writes - writes) / SECONDS, 1),
            "log": (folder / "kai.log").read_text().splitlines()[-3:],
        }
    finally:
        kai.stop()
        await runner.cleanup()


def _kubeconfig(server: str) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "large",
            "clusters": [{"name": "large", "cluster": {"server": server}}],
            "users": [{"name": "large", "user": {"token": "none"}}],
            "contexts": [{"name": "large", "context": {"cluster": "large", "user": "large"}}],
        }
    )
