"""A proxy between clients and the API server that causes faults on command.

    async with FaultProxy(cluster) as proxy:
        config = cluster.kubeconfig_of("scheduler", server=proxy.url)
        bindings = Match("POST", r"/binding$")
        proxy.answer(bindings, 429, times=5, retry_after="1")
        lost = proxy.swallow(bindings, skip=10, times=1)  # one binding is made, its answer is lost
        ...
        await lost.hit()
        assert proxy.count("create", "pods", "binding") == 40

A fault acts on the requests that its Match selects. The first `skip` of them pass, and after
`times` requests the fault ends. If several faults match, the oldest acts. The proxy serves on the
test's event loop and ends with the `async with` block. It uses HTTP/1.1 on both sides, TLS to the
client unless `plain`, and adds 0.4 ms of time and of CPU time to a request.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import re
import ssl
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import aiohttp
from aiohttp import web

from .arguments import HOST
from .faults import EVERYTHING, WATCHES, Act, Exchange, Fault, LostEvents, Match, failure
from .ports import free_ports

if TYPE_CHECKING:
    from .cluster import Cluster

LONGEST_LINE = 65_536  # selectors and continue tokens


@dataclass(frozen=True)
class Request:
    """A request that the proxy has finished. `status` is the answer's, 0 if the client got none."""

    came_s: float  # time.monotonic()
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    status: int


class FaultProxy:
    def __init__(self, cluster: Cluster, *, plain: bool = False) -> None:
        self.requests: list[Request] = []  # in the order of their ends
        self.counts: Counter[tuple[str, str, str]] = Counter()  # all arrived requests, see count()
        self.delivered: list[int] = []  # the server's answers to requests delivered late
        self._late: list[asyncio.Task[None]] = []
        self._cluster, self._plain = cluster, plain
        self._port = free_ports(1)[0]
        self._faults: list[Fault] = []
        self._open: set[Exchange] = set()
        self._flow = asyncio.Event()
        self._site: web.TCPSite | None = None

    @property
    def url(self) -> str:
        return f"http{'' if self._plain else 's'}://{HOST}:{self._port}"

    async def __aenter__(self) -> FaultProxy:
        self._server = aiohttp.ClientSession(
            self._cluster.server,
            connector=aiohttp.TCPConnector(ssl=self._cluster.tls(), limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        )
        self._flow.set()
        # If a client disconnects, its request at the server ends too.
        server = web.Server(
            self._serve,
            handler_cancellation=True,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
        )
        self._runner = web.ServerRunner(server)
        await self._runner.setup()
        await self.accept()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._flow.set()
        self._cut_all()
        for task in self._late:
            task.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)
        await self._runner.cleanup()
        await self._server.close()

    # --- damage to the requests of a Match --------------------------------------------------------

    def delay(
        self, match: Match, seconds: float, *, skip: int = 0, times: int | None = None
    ) -> Fault:
        """Requests reach the server later."""

        async def act(exchange: Exchange) -> web.StreamResponse:
            await asyncio.sleep(seconds)
            return await exchange.relay()

        return self._add(match, act, skip, times)

    def hold(
        self, match: Match, seconds: float, *, skip: int = 0, times: int | None = None
    ) -> Fault:
        """Requests reach the server at once, and their answers come later."""
        return self._add(match, lambda each: each.relay(wait_s=seconds), skip, times)

    def drop(self, match: Match, *, skip: int = 0, times: int | None = None) -> Fault:
        """Requests do not reach the server; their connections are cut."""

        async def act(exchange: Exchange) -> web.StreamResponse:
            return exchange.cut()

        return self._add(match, act, skip, times)

    def swallow(
        self, match: Match, seconds: float = 0, *, skip: int = 0, times: int | None = None
    ) -> Fault:
        """Requests reach the server and take effect; instead of the answer the connection is cut,
        `seconds` later."""

        async def act(exchange: Exchange) -> web.StreamResponse:
            async with await exchange.forward() as answer:
                await answer.read()
            await asyncio.sleep(seconds)
            return exchange.cut()

        return self._add(match, act, skip, times)

    def deliver_late(
        self, match: Match, seconds: float, *, skip: int = 0, times: int | None = None
    ) -> Fault:
        """Connections are cut at once, and the requests reach the server `seconds` later, as if
        they had been queued on their way."""

        async def deliver(exchange: Exchange) -> None:
            await asyncio.sleep(seconds)
            async with await exchange.forward() as answer:
                await answer.read()
                self.delivered.append(answer.status)

        async def act(exchange: Exchange) -> web.StreamResponse:
            self._late.append(asyncio.create_task(deliver(exchange)))
            return exchange.cut()

        return self._add(match, act, skip, times)

    def cut_inside(
        self, match: Match, after_bytes: int, *, skip: int = 0, times: int | None = None
    ) -> Fault:
        """Connections are cut once this many bytes of the answer's body were sent."""
        return self._add(match, lambda each: each.relay(most=after_bytes), skip, times)

    def answer(
        self,
        match: Match,
        status: int,
        message: str = "injected by the fault proxy",
        *,
        retry_after: str = "",
        skip: int = 0,
        times: int | None = None,
    ) -> Fault:
        """Requests do not reach the server; the answer is this status, with a Status object."""
        headers = {"Retry-After": retry_after} if retry_after else {}

        async def act(exchange: Exchange) -> web.StreamResponse:
            return exchange.answer(status, message, headers)

        return self._add(match, act, skip, times)

    def pretend(
        self,
        match: Match,
        status: int,
        body: Any = None,
        *,
        skip: int = 0,
        times: int | None = None,
    ) -> Fault:
        """Requests do not reach the server; the answer says that they were carried out. `body`: as
        JSON, or these bytes; default: a Status as for a binding."""
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        content = body if isinstance(body, bytes) else json.dumps(body or success).encode()

        async def act(exchange: Exchange) -> web.StreamResponse:
            return exchange.answer(status, "", {}, content)

        return self._add(match, act, skip, times)

    def lose_events(self, match: Match, event: str, *, most: int = 1) -> LostEvents:
        """Of the watches that match, from now on, `most` events are lost whose line matches this
        regular expression, such as `"DELETED".*"name":"p3"`. Open watches are cut first, so that
        they come through the fault."""
        lost = LostEvents(re.compile(event.encode()), most)

        async def act(exchange: Exchange) -> web.StreamResponse:
            return await exchange.relay(keep=lost.passes)

        lost.fault = self._add(match, act, 0, None)
        self.cut_open(match)
        return lost

    def shift_dates(self, seconds: float, *, one_in: int = 1) -> Fault:
        """The header Date of every answer, or of one answer in `one_in`, is this much off, as if
        that many servers answered in turn."""
        numbers = itertools.count()

        async def act(exchange: Exchange) -> web.StreamResponse:
            off = seconds if next(numbers) % one_in == 0 else 0.0
            return await exchange.relay(date_off_s=off)

        return self._add(EVERYTHING, act, 0, None)

    def expire(self, match: Match = WATCHES, *, skip: int = 0, times: int | None = None) -> Fault:
        """Watches are answered with 200 and one ERROR event of code 410, as the server does if it
        does not have the version any more."""
        event = {"type": "ERROR", "object": failure(410, "too old resource version")}
        body = json.dumps(event).encode() + b"\n"

        async def act(exchange: Exchange) -> web.StreamResponse:
            return exchange.answer(200, "", {}, body)

        return self._add(match, act, skip, times)

    def call(
        self,
        match: Match,
        callback: Callable[[], Any],
        *,
        when: Literal["before", "instead", "after"] = "before",
        skip: int = 0,
        times: int | None = 1,
    ) -> Fault:
        """Calls a function or coroutine function before requests reach the server, in their place,
        or after the server answered and before the client has the answer: `proxy.call(bindings,
        role.kill, when="after")`."""

        async def act(exchange: Exchange) -> web.StreamResponse:
            if when == "after":
                async with await exchange.forward() as answer:
                    body = await answer.read()
                    headers = {"Content-Type": answer.headers.get("Content-Type", "")}
                await called(callback)
                exchange.status = answer.status
                return web.Response(status=answer.status, body=body, headers=headers)
            await called(callback)
            return exchange.cut() if when == "instead" else await exchange.relay()

        return self._add(match, act, skip, times)

    # --- damage to connections, at once -----------------------------------------------------------

    def cut_open(self, match: Match = EVERYTHING) -> int:
        """Cuts the connections of open requests, mostly watches; returns their number."""
        found = [each for each in self._open if match(each.request)]
        for each in found:
            each.cut()
        return len(found)

    async def refuse(self) -> None:
        """Cuts all connections and refuses new ones until accept()."""
        assert self._site is not None, "it refuses already"
        await self._site.stop()
        self._site = None
        self._cut_all()

    async def accept(self) -> None:
        tls: ssl.SSLContext | None = None
        if not self._plain:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(self._cluster.pki / "server.crt", self._cluster.pki / "server.key")
        self._site = web.TCPSite(self._runner, HOST, self._port, ssl_context=tls)
        await self._site.start()

    def pause(self) -> None:
        """Nothing passes in either direction until resume(); connections stay open, as in a network
        that loses all packets."""
        self._flow.clear()

    def resume(self) -> None:
        self._flow.set()

    def clear(self) -> None:
        """Ends all faults; resumes."""
        for fault in self._faults:
            fault.end()
        self._faults = []
        self.resume()

    # --- what came --------------------------------------------------------------------------------

    def count(self, verb: str = "", resource: str = "", subresource: str | None = None) -> int:
        """The number of requests so far, including those without an answer; "" counts every verb or
        resource, None every subresource. Verbs are those of RBAC, such as create and watch."""
        return sum(
            number
            for (one, two, three), number in self.counts.items()
            if verb in ("", one) and resource in ("", two) and subresource in (None, three)
        )

    # --- inside -----------------------------------------------------------------------------------

    def _add(self, match: Match, act: Act, skip: int, times: int | None) -> Fault:
        fault = Fault(match, act, skip, times)
        self._faults.append(fault)
        return fault

    def _cut_all(self) -> None:
        """Also cuts connections without an open request."""
        assert self._runner.server is not None
        for each in self._runner.server.connections:
            if each.transport is not None:
                each.transport.abort()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        came_s = time.monotonic()
        verb, resource, subresource, namespace, name = described(request)
        self.counts[verb, resource, subresource] += 1
        fault = next((each for each in self._faults if each.takes(request)), None)
        exchange = Exchange(request, await request.content.read(), self._server, self._flow)
        self._open.add(exchange)
        try:
            return await (fault.act(exchange) if fault else exchange.relay())
        except (aiohttp.ClientError, ConnectionError):  # the server cut it during a fault
            return exchange.cut()
        finally:
            self._open.discard(exchange)
            done = Request(came_s, verb, resource, subresource, namespace, name, exchange.status)
            self.requests.append(done)


async def called(callback: Callable[[], Any]) -> None:
    result = callback()
    if inspect.isawaitable(result):
        await result


def described(request: web.BaseRequest) -> tuple[str, str, str, str, str]:
    """Verb, resource, subresource, namespace and name, in RBAC's terms."""
    found = re.match(r"/(?:api/v1|apis/[^/]+/[^/]+)/(.*)", request.path)
    parts = found[1].strip("/").split("/") if found else [request.path]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
        namespace, parts = parts[1], parts[2:]
    resource, name, subresource = (*parts, "", "")[:3]
    match request.method:
        case "GET":
            is_watch = request.query.get("watch") in ("1", "true")
            verb = "watch" if is_watch else "get" if name else "list"
        case "DELETE":
            verb = "delete" if name else "deletecollection"
        case method:
            verb = {"POST": "create", "PUT": "update"}.get(method, method.lower())
    return verb, resource, subresource, namespace, name
