"""An API server with the few objects that the webhooks' program reads and writes."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from aiohttp import web
from fake_api import FakeApi, ok, status

from kai.install import admission

Object = dict[str, Any]
SECRETS = "/api/v1/namespaces/kai-scheduler/secrets"
SECRET = f"{SECRETS}/kai-admission-webhook-tls-secret"
REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"


class KeptObjects:
    """`objects`: by path. `interfere`: called before each write; it may change objects."""

    def __init__(self, api: FakeApi) -> None:
        self.objects: dict[str, Object] = {}
        self.writes: list[str] = []
        self.interfere: Callable[[str], None] = lambda path: None
        self._version = 0
        api.on("POST", SECRETS, self._create)
        for path in (SECRET, *map(path_of, admission.registrations("kai-scheduler"))):
            api.on("GET", path, self._get)
            api.on("PATCH", path, self._patch)
            api.on("DELETE", path, self._delete)
            if path != SECRET:
                api.on("POST", path.rpartition("/")[0], self._create)
        for kind, plural, version in (
            ("Queue", "queues", "v2"),
            ("PodGroup", "podgroups", "v2alpha2"),
        ):
            path = f"/apis/scheduling.run.ai/{version}/{plural}"
            api.on("GET", path, api.stream(end_of_list(kind), stay=True))

    def put(self, path: str, value: Object) -> None:
        self._version += 1
        value["metadata"] |= {"resourceVersion": str(self._version), "uid": path}
        self.objects[path] = value

    def register(self) -> None:
        """Creates the registrations as the chart does."""
        for each in admission.registrations("kai-scheduler"):
            self.put(path_of(each), each)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What the registrations call."""
        return [
            webhook["clientConfig"]
            for path, each in self.objects.items()
            if path.startswith(REGISTRATIONS)
            for webhook in each["webhooks"]
        ]

    @property
    def bundles(self) -> set[bytes]:
        """What the registrations trust."""
        return {base64.b64decode(each.get("caBundle", "")) for each in self.calls}

    @property
    def policies(self) -> set[str]:
        return {
            webhook["failurePolicy"]
            for path, each in self.objects.items()
            if path.startswith(REGISTRATIONS)
            for webhook in each["webhooks"]
        }

    async def _get(self, request: web.Request) -> web.StreamResponse:
        found = self.objects.get(request.path)
        return await (ok(found) if found else status(404))(request)

    async def _create(self, request: web.Request) -> web.StreamResponse:
        made = await request.json()
        path = f"{request.path}/{made['metadata']['name']}"
        self.interfere(path)
        if path in self.objects:
            return await status(409)(request)
        self.put(path, made)
        self.writes.append(f"POST {path}")
        return await ok(made, 201)(request)

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        found = self.objects.get(request.path)
        if found is None:
            return await status(404)(request)
        if asked["preconditions"]["uid"] != found["metadata"]["uid"]:
            return await status(409)(request)
        del self.objects[request.path]
        self.writes.append(f"DELETE {request.path}")
        return await ok({"kind": "Status"})(request)

    async def _patch(self, request: web.Request) -> web.StreamResponse:
        patch = json.loads(await request.read())
        self.interfere(request.path)
        found = self.objects.get(request.path)
        if found is None:
            return await status(404)(request)
        version = patch.get("metadata", {}).pop("resourceVersion", None)
        if version not in (None, found["metadata"]["resourceVersion"]):
            return await status(409)(request)
        self.put(request.path, merged(found, patch))
        self.writes.append(f"PATCH {request.path}")
        return await ok(self.objects[request.path])(request)


def end_of_list(kind: str) -> bytes:
    """A watch-list without objects."""
    annotations = {"k8s.io/initial-events-end": "true"}
    metadata = {"resourceVersion": "1", "annotations": annotations}
    return (
        json.dumps({"type": "BOOKMARK", "object": {"kind": kind, "metadata": metadata}}).encode()
        + b"\n"
    )


def merged(value: Any, patch: Any) -> Any:
    """Applies a patch; the items of a list are merged by name, as in a strategic merge patch."""
    if isinstance(patch, dict) and isinstance(value, dict):
        found = {**value, **{k: merged(value.get(k), p) for k, p in patch.items()}}
        return {key: each for key, each in found.items() if each is not None}
    if isinstance(patch, list) and isinstance(value, list):
        changes = {each["name"]: each for each in patch}
        return [merged(each, changes.get(each["name"], {})) for each in value]
    return patch


def path_of(registration: Object) -> str:
    return f"{REGISTRATIONS}/{registration['kind'].lower()}s/{registration['metadata']['name']}"
