"""An API server in a thread that serves lists and watches of a test's objects, and accepts no
writes.

with FakeCluster(tmp_path / "kubeconfig.yaml") as cluster:
    cluster.put(node("n1", gpus=2), queue("a"), pod("p", queue="a"))
    ...
    assert cluster.writes == []
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiohttp import web
from fake_api import FakeApi

from kai.api.resources import RESOURCES, VERSIONED
from kai.controllers.planning.kinds import WATCHED

Object = dict[str, Any]
KINDS = (*WATCHED, "Job")


class FakeCluster:
    """`lacks`: kinds that it does not serve. `forbidden`: verbs and kinds, such as "watch Pod"."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.lacks, self.forbidden = set[str](), set[str]()
        self.claims_version = "v1"
        self._objects: dict[str, dict[str, Object]] = {kind: {} for kind in KINDS}
        self._watches: dict[str, list[asyncio.Queue[bytes | None]]] = {kind: [] for kind in KINDS}
        self._version = 10
        self._api: FakeApi
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> FakeCluster:
        self._thread.start()
        self._do(self._start())
        cluster = {"name": "c", "cluster": {"server": self._api.url}}
        context = {"name": "fake", "context": {"cluster": "c"}}
        config = {"clusters": [cluster], "contexts": [context], "current-context": "fake"}
        self.kubeconfig.write_text(json.dumps(config))
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._do(self._api.__aexit__())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        self._api = await FakeApi().__aenter__()
        for kind in KINDS:
            self._api.on("GET", RESOURCES[kind].path(), lambda r, k=kind: self._answer(k, r))
        self._api.on("GET", "/apis/resource.k8s.io", self._discover)
        for version in ("v1", "v1beta1"):
            self._api.on("GET", f"/apis/resource.k8s.io/{version}", self._discover)
        for kind in VERSIONED:
            older = replace(RESOURCES[kind], version="v1beta1").path()
            self._api.on("GET", older, lambda r, k=kind: self._answer(k, r))

    @property
    def writes(self) -> list[str]:
        return [f"{each.method} {each.path}" for each in self._api.seen if each.method != "GET"]

    @property
    def reads(self) -> list[str]:
        return self._api.paths("GET")

    def requests_for(self, kind: str) -> set[str]:
        """The formats in which the kind was requested: the headers Accept."""
        path = RESOURCES[kind].path()
        return {each.headers["Accept"] for each in self._api.seen if each.path == path}

    def put(self, *objects: Object) -> None:
        """Adds or changes objects."""
        self._do(self._put(objects))

    def delete(self, kind: str, name: str) -> None:
        self._do(self._delete(kind, name))

    def lose(self, kind: str, name: str) -> None:
        """Deletes an object, and no watch shows it."""
        del self._objects[kind][name]
        self._version += 1

    def go_back(self, version: int) -> None:
        """As if its etcd was restored from a backup: the next changes count from here."""
        self._version = version
        for objects in self._objects.values():
            for each in objects.values():
                each["metadata"]["resourceVersion"] = str(version)

    def cut(self) -> None:
        """Ends all watches."""
        self._do(self._cut())

    def stop_serving(self) -> None:
        """As if the server disappeared for good."""
        self._do(self._api._runner.cleanup())

    # ---- on the loop -----------------------------------------------------------------------------

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _discover(self, request: web.Request) -> web.StreamResponse:
        kinds = sorted(VERSIONED - self.lacks)
        served = [{"kind": each, "name": RESOURCES[each].plural} for each in kinds]
        listed = {"kind": "APIResourceList", "resources": served}
        if request.path.endswith(("/v1", "/v1beta1")):
            if not request.path.endswith(f"/{self.claims_version}"):
                return _status(404, "not found")
            return web.json_response(listed)
        version = {"version": self.claims_version}
        group = {"kind": "APIGroup", "versions": [version], "preferredVersion": version}
        return web.json_response(group)

    async def _put(self, objects: tuple[Object, ...]) -> None:
        for each in objects:
            kind, name = each["kind"], each["metadata"]["name"]
            self._version += 1
            known = self._objects[kind].get(name)
            each["metadata"]["resourceVersion"] = str(self._version)
            each["metadata"].setdefault("uid", f"uid-of-{name}")
            self._objects[kind][name] = each
            self._send_event(kind, "MODIFIED" if known else "ADDED", each)
            namespace = each["metadata"].get("namespace", "")
            path = RESOURCES[kind].path(namespace, name)
            self._api.on("GET", path, lambda r, k=kind, n=name: self._one(k, n))

    async def _delete(self, kind: str, name: str) -> None:
        gone = self._objects[kind].pop(name)
        self._version += 1
        gone["metadata"]["resourceVersion"] = str(self._version)
        self._send_event(kind, "DELETED", gone)

    async def _cut(self) -> None:
        for watches in self._watches.values():
            for watch in watches:
                watch.put_nowait(None)

    def _send_event(self, kind: str, what: str, item: Object) -> None:
        line = json.dumps({"type": what, "object": item}).encode() + b"\n"
        for watch in self._watches[kind]:
            watch.put_nowait(line)

    async def _one(self, kind: str, name: str) -> web.StreamResponse:
        found = self._objects[kind].get(name)
        if f"get {kind}" in self.forbidden:
            return _status(403, f"{kind} is forbidden")
        return web.json_response(found) if found else _status(404, "not found")

    async def _answer(self, kind: str, request: web.Request) -> web.StreamResponse:
        watches = "watch" in request.query
        if kind in self.lacks:
            return web.Response(status=404, text="404 page not found")
        if f"{'watch' if watches else 'list'} {kind}" in self.forbidden:
            verb = "watch" if watches else "list"
            row = RESOURCES[kind]
            return _status(
                403,
                f'{row.plural} is forbidden: User "ann" cannot {verb} resource "{row.plural}"'
                f' in API group "{row.group}" at the cluster scope',
            )
        if watches:
            return await self._stream(kind, request)
        metadata: Object = {"resourceVersion": str(self._version)}
        items = list(self._objects[kind].values())
        if left := len(items) - int(request.query.get("limit", len(items))):
            metadata |= {"continue": "more", "remainingItemCount": left} if left > 0 else {}
            items = items[:-left] if left > 0 else items
        only_metadata = "PartialObjectMetadataList" in request.headers["Accept"]
        of = "PartialObjectMetadata" if only_metadata else kind
        return web.json_response({"kind": f"{of}List", "metadata": metadata, "items": items})

    async def _stream(self, kind: str, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        if "sendInitialEvents" in request.query:
            for each in self._objects[kind].values():
                lines.put_nowait(json.dumps({"type": "ADDED", "object": each}).encode() + b"\n")
            ends = {"annotations": {"k8s.io/initial-events-end": "true"}}
            end = {"metadata": {"resourceVersion": str(self._version), **ends}}
            lines.put_nowait(json.dumps({"type": "BOOKMARK", "object": end}).encode() + b"\n")
        self._watches[kind].append(lines)
        try:
            with contextlib.suppress(ConnectionResetError):  # the client has disconnected
                while (line := await lines.get()) is not None:
                    await response.write(line)
        finally:
            self._watches[kind].remove(lines)
        return response


def _status(code: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": message}, status=code)


# ---- objects -------------------------------------------------------------------------------------


def node(name: str, gpus: int, **labels: str) -> Object:
    room = {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def queue(name: str, parent: str = "", gpus: float = -1) -> Object:
    share = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"cpu": share, "memory": share, "gpu": {**share, "quota": gpus}}
    spec: Object = {"resources": resources}
    if parent:
        spec["parentQueue"] = parent
    return {"kind": "Queue", "metadata": {"name": name}, "spec": spec}


def priority_class(name: str, value: int) -> Object:
    return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def pod(
    name: str,
    *,
    queue: str = "a",
    gpus: int = 1,
    owner: Object | None = None,
    priority: str = "train",
) -> Object:
    """A waiting pod that is in no pod group."""
    metadata: Object = {
        "name": name,
        "namespace": "team",
        "uid": f"uid-of-{name}",
        "labels": {"kai.scheduler/queue": queue},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    if owner is not None:
        about = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        owns = {"apiVersion": "batch/v1", "kind": owner["kind"], "controller": True, **about}
        metadata["ownerReferences"] = [owns]
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"nvidia.com/gpu": str(gpus)}}
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "schedulerName": "kai-scheduler",
            "priorityClassName": priority,
            "containers": [{"name": "main", "resources": limits}],
        },
        "status": {"phase": "Pending"},
    }


def job(name: str, queue: str = "a") -> Object:
    labels = {"kai.scheduler/queue": queue}
    metadata = {"name": name, "namespace": "team", "uid": f"uid-of-{name}", "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {}}


def small() -> list[Object]:
    """Two queues, a node with two GPUs, and a pod."""
    classes = [priority_class("train", 50), priority_class("build", 100)]
    return [*classes, queue("top"), queue("a", "top"), node("n1", 2), pod("p1")]
