"""An API server behind HTTP: answers of a test by path, and the objects of a simulated server.

async with FakeApi(ApiServer(node, pod)) as api:
    api.on("GET", "/api/v1/pods", status(429, {"Retry-After": "3"}), ok({"items": []}))
    async with api.client(clock) as client:
        ...
    assert [each.path for each in api.seen] == [...]
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from fakes.api_server import SUCCESS, UPDATE, ApiError, ApiServer, Event, Fault, Object, dumps
from fakes.clock import QuickClock
from kai.api.resources import RESOURCES, VERSIONED, Resource
from kai.api.writes import Lane, PatchType, Verb, Write
from kai.k8s.client import Client
from kai.k8s.clock import Clock
from kai.k8s.kubeconfig import Access, User

Responder = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


class FakeApi:
    """`objects`: answers requests for which the test has no answer; without it they get a 404.
    `lacks`: kinds that are not served. `forbidden`: verbs and kinds, such as "watch Pod"."""

    def __init__(self, objects: ApiServer | None = None, tls: Any = None) -> None:
        self.seen: list[Seen] = []
        self.objects = objects
        self.lacks, self.forbidden = set[str](), set[str]()
        self.claims_version = "v1"
        self._watches: list[asyncio.Queue[Event | None]] = []
        self._tls = tls
        self._answers: dict[tuple[str, str], list[Responder]] = {}
        self._open = asyncio.Event()

    async def __aenter__(self) -> FakeApi:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        sockets = site._server.sockets  # type: ignore[union-attr]
        self.port = sockets[0].getsockname()[1]
        scheme = "https" if self._tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.on("GET", "/version", ok({"gitVersion": "v1.36.3"}))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._open.set()
        await self._runner.cleanup()

    def on(self, method: str, path: str, *answers: Responder) -> None:
        """The answers to requests of this path, in order; the last one is repeated."""
        self._answers[method, path] = list(answers)

    def client(self, clock: Clock | None = None, **user: Any) -> Client:
        return Client(
            Access(server=self.url, source="test", user=User(**user)), clock=clock or QuickClock()
        )

    def kubeconfig(self, path: Path) -> Path:
        """Written to this file."""
        cluster = {"name": "c", "cluster": {"server": self.url}}
        context = {"name": "fake", "context": {"cluster": "c"}}
        config = {"clusters": [cluster], "contexts": [context], "current-context": "fake"}
        path.write_text(json.dumps(config))
        return path

    def paths(self, method: str = "") -> list[str]:
        return [each.path for each in self.seen if method in ("", each.method)]

    def swallow(self, first: Responder | None = None) -> Responder:
        """The request is received, and no answer is sent."""

        async def respond(request: web.Request) -> web.StreamResponse:
            await self._open.wait()
            return web.Response(status=500)

        return respond

    def stream(self, *pieces: bytes, cut: bool = False, stay: bool = False) -> Responder:
        """A watch: these pieces, and then a normal end, a broken connection, or silence."""

        async def respond(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            for piece in pieces:
                await response.write(piece)
                await asyncio.sleep(0.001)  # so that pieces arrive separately
            if cut:
                assert request.transport is not None
                request.transport.abort()
            elif stay:
                await self._open.wait()
            return response

        return respond

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.read()
        body = json.loads(text) if text else None
        query, headers = dict(request.query), dict(request.headers)
        self.seen.append(Seen(request.method, request.path, query, headers, body))
        answers = self._answers.get((request.method, request.path))
        if not answers:
            try:
                return await self._stored(request, body)
            except ApiError as error:
                return web.json_response(error.status(), status=error.code)
        responder = answers.pop(0) if len(answers) > 1 else answers[0]
        return await responder(request)

    # ---- stored objects --------------------------------------------------------------------------

    def cut(self) -> None:
        """Ends all watches of stored objects."""
        for each in self._watches:
            each.put_nowait(None)

    async def _stored(self, request: web.Request, body: Any) -> web.StreamResponse:
        kind, namespace, name, subresource = _parts(request.path)
        server, row = self.objects, RESOURCES.get(kind)
        if server is not None and request.path.startswith("/apis/resource.k8s.io") and not kind:
            return self._discover(request.path)
        if server is None or row is None or kind in self.lacks:
            return web.Response(status=404, text="404 page not found")
        query = request.query
        if request.method == "GET":
            verb = "get" if name else "watch" if "watch" in query else "list"
            if f"{verb} {kind}" in self.forbidden:
                raise _forbidden(row, verb)
            if name:
                return web.json_response(server.find_one(row, namespace, name))
            if verb == "watch":
                return await self._watch(server, row, request)
            return self._list(server, row, namespace, request)
        verbs: dict[str, Verb] = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}
        how: PatchType = "strategic" if "strategic" in request.content_type else "merge"
        name = name or body["metadata"].get("name", "")
        verb = verbs.get(request.method, UPDATE)
        write = Write(Lane.EVENT, verb, kind, namespace, name, body, subresource, patch_type=how)
        return await self._write(server, write, request)

    async def _write(
        self, server: ApiServer, write: Write, request: web.Request
    ) -> web.StreamResponse:
        server.writes.append(write)
        fault = server.fault(write) or Fault()
        code, item = 0, Object()
        if fault.applied or fault.outcome is None:
            code, item = server.apply(write, dry_run="dryRun" in request.query)
        outcome = fault.outcome
        if outcome is None:
            return web.json_response(item, status=code)
        if not outcome.status:
            return await disconnect(request)
        if outcome.status < 300:
            return web.json_response(SUCCESS, status=outcome.status)
        raise ApiError(outcome.status, outcome.reason, outcome.message)

    def _list(
        self, server: ApiServer, row: Resource, namespace: str, request: web.Request
    ) -> web.StreamResponse:
        query = request.query
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        items = server.list(row.kind, namespace, labels=labels, fields=fields)
        metadata: Object = {"resourceVersion": str(server.version)}
        start = int(query.get("continue") or 0)
        end = start + int(query.get("limit", len(items)))
        if end < len(items):
            metadata |= {"continue": str(end), "remainingItemCount": len(items) - end}
        only_metadata = "PartialObjectMetadataList" in request.headers.get("Accept", "")
        of = "PartialObjectMetadata" if only_metadata else row.kind
        found = {"kind": f"{of}List", "metadata": metadata, "items": items[start:end]}
        return web.json_response(found)

    async def _watch(
        self, server: ApiServer, row: Resource, request: web.Request
    ) -> web.StreamResponse:
        query, events = request.query, asyncio.Queue[Event | None]()
        if "sendInitialEvents" in query:
            first = [line_of("ADDED", each) for each in server.list(row.kind)]
            first.append(bookmark(server.version, ends_list=True))
        else:
            since = int(query["resourceVersion"])
            first = [line_of(each.type, each.item) for each in server.watch(row.kind, since)]
        server.listeners.append(events.put_nowait)
        self._watches.append(events)
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            with contextlib.suppress(ConnectionResetError):  # the client has disconnected
                await response.write(b"".join(first))
                while (event := await events.get()) is not None:
                    if event.kind == row.kind:
                        await response.write(line_of(event.type, event.item))
        finally:
            self._watches.remove(events)
            server.listeners.remove(events.put_nowait)
        return response

    def _discover(self, path: str) -> web.StreamResponse:
        """The kinds whose version differs between servers."""
        version = {"version": self.claims_version}
        group = {"kind": "APIGroup", "versions": [version], "preferredVersion": version}
        if path.endswith("/resource.k8s.io"):
            return web.json_response(group)
        if not path.endswith(f"/{self.claims_version}"):
            raise ApiError(404, "NotFound", "not found")
        kinds = sorted(VERSIONED - self.lacks)
        served = [{"kind": each, "name": RESOURCES[each].plural} for each in kinds]
        return web.json_response({"kind": "APIResourceList", "resources": served})


_KINDS = {(row.group, row.plural): kind for kind, row in RESOURCES.items()}


def _parts(path: str) -> tuple[str, str, str, str]:
    """Kind, namespace, name and subresource of a path; the kind is "" for another path."""
    _, root, *rest = path.split("/")
    group = rest.pop(0) if root == "apis" else ""
    namespace = rest[2] if rest[1:2] == ["namespaces"] and len(rest) > 3 else ""
    plural, name, subresource, *_ = *rest[3 if namespace else 1 :], "", "", ""
    return _KINDS.get((group, plural), ""), namespace, name, subresource


def _forbidden(row: Resource, verb: str) -> ApiError:
    why = f'User "ann" cannot {verb} resource "{row.plural}" in API group "{row.group}"'
    return ApiError(403, "", f"{row.plural} is forbidden: {why} at the cluster scope")


def line_of(what: str, item: Any) -> bytes:
    return dumps({"type": what, "object": item}) + b"\n"


def ok(value: Any = None, code: int = 200, **headers: str) -> Responder:
    """This object; the parts that an API server always sends are added."""

    async def respond(request: web.Request) -> web.StreamResponse:
        body = json.dumps(whole({} if value is None else value, request)).encode()
        return web.Response(status=code, body=body, headers=headers)

    return respond


def raw(body: bytes, code: int = 200) -> Responder:
    """These bytes, as a proxy or a broken server sends them."""

    async def respond(request: web.Request) -> web.StreamResponse:
        return web.Response(status=code, body=body)

    return respond


def whole(value: Any, request: web.Request) -> Any:
    """An answer to the request with kind, name, UID and version."""
    parts = [*request.path.split("/")]
    kinds = {row.plural: kind for kind, row in RESOURCES.items()}
    at = next((i for i in reversed(range(len(parts))) if parts[i] in kinds), None)
    if not isinstance(value, dict) or "kind" in value:
        return value
    for part, kind in (("versions", "APIGroup"), ("resources", "APIResourceList")):
        if part in value:
            return {"kind": kind, **value}
    if at is None:
        return value
    kind, (name, *after) = kinds[parts[at]], (*parts[at + 1 :], "")
    if after[:1] in (["binding"], ["eviction"]):
        return {"kind": "Status", "status": "Success", **value}
    given = value.get("metadata") or {}
    if "items" in value:
        return {**value, "kind": f"{kind}List", "metadata": {"resourceVersion": "1", **given}}
    name = name or "made-here"
    return {**value, "kind": kind, "metadata": {"name": name, "uid": f"uid-of-{name}", **given}}


def status(
    code: int,
    headers: Mapping[str, str] | None = None,
    *,
    reason: str = "",
    message: str = "",
    causes: tuple[str, ...] = (),
) -> Responder:
    """A rejection in the API server's format."""
    value: dict[str, Any] = {"kind": "Status", "code": code, "reason": reason, "message": message}
    value["details"] = {"causes": [{"reason": each} for each in causes]}

    async def respond(request: web.Request) -> web.StreamResponse:
        return web.Response(status=code, body=json.dumps(value).encode(), headers=headers)

    return respond


async def disconnect(request: web.Request) -> web.StreamResponse:
    """The request arrives, and the connection breaks before the answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def event(what: str, name: str, version: int, **more: Any) -> bytes:
    metadata = {"name": name, "namespace": "team", "resourceVersion": str(version)}
    item = {"kind": "Pod", "metadata": metadata, **more}
    return json.dumps({"type": what, "object": item}).encode() + b"\n"


def bookmark(version: int, ends_list: bool = False) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if ends_list:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    item = {"kind": "Pod", "metadata": metadata}
    return json.dumps({"type": "BOOKMARK", "object": item}).encode() + b"\n"


def error_event(code: int, message: str = "too old resource version") -> bytes:
    value = {"kind": "Status", "code": code, "message": message}
    return json.dumps({"type": "ERROR", "object": value}).encode() + b"\n"


def page(names: list[str], version: int, following: str = "") -> Responder:
    items = [{"metadata": {"name": each, "namespace": "team"}} for each in names]
    metadata = {"resourceVersion": str(version), "continue": following}
    return ok({"kind": "PodList", "metadata": metadata, "items": items})
