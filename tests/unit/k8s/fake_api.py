"""A server with the answers and faults of a test, and clocks that a test moves.

async with FakeApi() as api:
    api.on("GET", "/api/v1/pods", status(429, {"Retry-After": "3"}), ok({"items": []}))
    async with api.client(clock) as client:
        ...
    assert [each.path for each in api.seen] == [...]
"""

from __future__ import annotations

import asyncio
import heapq
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from kai.api.resources import RESOURCES
from kai.k8s.client import Client
from kai.k8s.clock import Clock
from kai.k8s.kubeconfig import Access, User

Responder = Callable[[web.Request], Awaitable[web.StreamResponse]]


class QuickClock(Clock):
    """A sleep returns at once and advances the clock."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, list[float]()
        self.dice = 0.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return 1_800_000_000.0 + self.now

    def random(self) -> float:
        return self.dice

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += seconds
        await asyncio.sleep(0)


class ManualClock(QuickClock):
    """Time passes only when the test moves it."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = 0

    async def sleep(self, seconds: float) -> None:
        self._number += 1
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, self._number, future))
        await future

    async def advance(self, seconds: float) -> None:
        ends = self.now + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= ends:
            self.now, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
            await settle()
        self.now = max(self.now, ends)


async def settle() -> None:
    """Lets ready tasks run, including requests to the server in this process."""
    for _ in range(20):
        await asyncio.sleep(0)
    await asyncio.sleep(0.002)
    for _ in range(20):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    """Waits for a condition; the test's own time limit is the only limit."""
    while not condition():
        await asyncio.sleep(0.001)


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


class FakeApi:
    def __init__(self, tls: Any = None) -> None:
        self.seen: list[Seen] = []
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
            return web.Response(status=404, text="404 page not found")
        responder = answers.pop(0) if len(answers) > 1 else answers[0]
        return await responder(request)


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
