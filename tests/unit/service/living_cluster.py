"""A FakeCluster that accepts the writes of `kai run`, as far as tests of its pages need them.

A bound pod runs at once, a deleted one is gone at once, and patches are merged into the object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from fake_api import ok
from fake_cluster import FakeCluster, Object

from kai.api.resources import RESOURCES


class LivingCluster(FakeCluster):
    def answer(self, method: str, path: str, value: Object) -> None:
        """The answer to all requests of this path."""
        self._api.on(method, path, ok(value))

    async def _start(self) -> None:
        await super()._start()
        for namespace in ("team", "kai-scheduler"):
            for kind in ("PodGroup", "Event", "Lease"):
                path = RESOURCES[kind].path(namespace)
                self._api.on("POST", path, lambda r, k=kind: self._created(k, r))

    async def _put(self, objects: tuple[Object, ...]) -> None:
        await super()._put(objects)
        for each in objects:
            kind, name = each["kind"], each["metadata"]["name"]
            path = RESOURCES[kind].path(each["metadata"].get("namespace", ""), name)
            for end in ("", "/status"):
                self._api.on("PATCH", path + end, lambda r, k=kind, n=name: self._merged(k, n, r))
            if kind == "Pod":
                self._api.on("POST", f"{path}/binding", lambda r, n=name: self._bound(n, r))
                self._api.on("DELETE", path, lambda r, n=name: self._deleted(n))

    async def _created(self, kind: str, request: web.Request) -> web.StreamResponse:
        made = await request.json()
        made["metadata"].setdefault("uid", f"uid-of-{made['metadata']['name']}")
        if kind in self._objects:
            await self._put(({**made, "kind": kind},))
        return web.json_response(made, status=201)

    async def _merged(self, kind: str, name: str, request: web.Request) -> web.StreamResponse:
        known = self._objects[kind].get(name)
        if known is None:
            return web.json_response({"kind": "Status", "code": 404}, status=404)
        await self._put((merged(known, await request.json()),))
        return web.json_response(self._objects[kind][name])

    async def _bound(self, name: str, request: web.Request) -> web.StreamResponse:
        binding, pod = await request.json(), self._objects["Pod"][name]
        patch = {
            "metadata": {"annotations": binding["metadata"].get("annotations", {})},
            "spec": {"nodeName": binding["target"]["name"]},
            "status": {"phase": "Running"},
        }
        await self._put((merged(pod, patch),))
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)

    async def _deleted(self, name: str) -> web.StreamResponse:
        gone = self._objects["Pod"][name]
        await self._delete("Pod", name)
        return web.json_response(gone)


def merged(old: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch (RFC 7386); lists of a strategic merge patch are replaced as well."""
    new = json.loads(json.dumps(old))
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        elif isinstance(value, dict):
            new[name] = merged(new.get(name) or {}, value)
        else:
            new[name] = value
    return dict(new)
