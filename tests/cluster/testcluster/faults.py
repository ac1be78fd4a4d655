"""Selects requests for a fault, and defines the possible faults (proxy.py)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime

import aiohttp
from aiohttp import web
from yarl import URL

from .client import abort

# Headers of one connection, so each side of the proxy has its own.
HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade"}
REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass(frozen=True)
class Match:
    """Selects requests: regular expressions for the whole method, and for parts of the path, the
    query string, and headers. An omitted expression matches everything."""

    method: str = ""
    path: str = ""
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, request: web.BaseRequest) -> bool:
        return (
            (not self.method or re.fullmatch(self.method, request.method) is not None)
            and re.search(self.path, request.path) is not None
            and re.search(self.query, request.query_string) is not None
            and all(
                re.search(pattern, request.headers.get(name, ""))
                for name, pattern in self.headers.items()
            )
        )


EVERYTHING = Match()
WATCHES = Match("GET", query=r"(^|&)watch=(1|true)")
WRITES = Match("POST|PUT|PATCH|DELETE")


class Exchange:
    """A request and its answer on their way through the proxy."""

    def __init__(
        self,
        request: web.BaseRequest,
        body: bytes,
        server: aiohttp.ClientSession,
        flow: asyncio.Event,
    ) -> None:
        self.request = request
        self.status = 0  # of the answer; 0 until the client has one
        self._body, self._server, self._flow = body, server, flow

    async def relay(
        self,
        *,
        wait_s: float = 0,
        most: int | None = None,
        keep: Keep | None = None,
        date_off_s: float = 0,
    ) -> web.StreamResponse:
        """Sends the request to the server and the answer back, `wait_s` after the server gave it.
        The connection is cut after `most` bytes of the answer, and when the server cuts it. `keep`
        chooses the lines of the answer that pass. `date_off_s`: added to the time in the header
        Date."""
        try:
            async with await self.forward() as answer:
                try:
                    await asyncio.sleep(wait_s)
                    await self._flow.wait()
                    return await self._send_back(answer, most, keep, date_off_s)
                finally:  # nothing is left to close if the answer was read
                    abort(answer)
        except (aiohttp.ClientError, ConnectionError):
            return self.cut()

    async def forward(self) -> aiohttp.ClientResponse:
        """Sends the request to the server; returns when the headers of the answer have arrived."""
        await self._flow.wait()
        kept = {
            name: value
            for name, value in self.request.headers.items()
            if name.lower() not in HOP_BY_HOP
        }
        return await self._server.request(
            self.request.method,
            URL(self.request.raw_path, encoded=True),
            headers=kept,
            data=self._body or None,
            allow_redirects=False,
        )

    async def _send_back(
        self,
        answer: aiohttp.ClientResponse,
        most: int | None,
        keep: Keep | None,
        date_off_s: float,
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in HOP_BY_HOP:
                response.headers.add(name, value)
        if date_off_s and (date := answer.headers.get("Date")):
            seconds = parsedate_to_datetime(date).timestamp() + date_off_s
            response.headers["Date"] = formatdate(seconds, usegmt=True)
        response.content_length = None if keep else answer.content_length
        self.status = answer.status
        await response.prepare(self.request)
        rest = b""
        async for chunk in answer.content.iter_any():
            await self._flow.wait()
            if keep is not None:
                *lines, rest = (rest + chunk).split(b"\n")
                chunk = b"".join(line + b"\n" for line in lines if keep(line))
            if most is not None and len(chunk) > most:
                await response.write(chunk[:most])
                await asyncio.sleep(0.05)  # the bytes leave before the connection is cut
                return self.cut()
            most = None if most is None else most - len(chunk)
            await response.write(chunk)
        await response.write_eof()
        return response

    def answer(
        self, status: int, message: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> web.StreamResponse:
        """An answer of the proxy itself, by default a Status object in the API server's format."""
        if body is None:
            body = json.dumps(failure(status, message)).encode()
        self.status = status
        return web.Response(
            status=status, body=body, headers=headers, content_type="application/json"
        )

    def cut(self) -> web.StreamResponse:
        """Resets the client's connection. The returned answer cannot be sent any more."""
        if self.request.transport is not None:
            self.request.transport.abort()
        return web.Response()


Keep = Callable[[bytes], bool]
Act = Callable[[Exchange], Awaitable[web.StreamResponse]]


class Fault:
    """One kind of fault; created by the methods of FaultProxy."""

    def __init__(self, match: Match, act: Act, skip: int, times: int | None) -> None:
        self.hits = 0  # requests that it acted on
        self.act = act
        self._match, self._skip, self._left = match, skip, times
        self._changed = asyncio.Event()

    def takes(self, request: web.BaseRequest) -> bool:
        """Whether it acts on this request; counts it."""
        if self._left == 0 or not self._match(request):
            return False
        if self._skip:
            self._skip -= 1
            return False
        if self._left is not None:
            self._left -= 1
        self.hits += 1
        self._changed.set()
        return True

    def end(self) -> None:
        """Later requests pass."""
        self._left = 0

    async def hit(self, count: int = 1, seconds: float = 30) -> None:
        """Waits until it acted on that many requests.

        Raises:
            AssertionError: it did not in time.
        """
        end = asyncio.get_running_loop().time() + seconds
        while self.hits < count:
            self._changed.clear()
            try:
                remaining = end - asyncio.get_running_loop().time()
                await asyncio.wait_for(self._changed.wait(), remaining)
            except asyncio.TimeoutError:
                raise AssertionError(
                    f"{self.hits} of {count} requests came in {seconds:g} s"
                ) from None


class LostEvents:
    """Events of watches that do not arrive. `lost`: their lines so far."""

    fault: Fault

    def __init__(self, event: re.Pattern[bytes], most: int) -> None:
        self.lost: list[bytes] = []
        self._event, self._most = event, most

    def passes(self, line: bytes) -> bool:
        """Whether this line of a stream passes."""
        if len(self.lost) >= self._most or not self._event.search(line):
            return True
        self.lost.append(line)
        return False


def failure(status: int, message: str) -> dict[str, object]:
    """A Status object as the API server answers with."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": REASONS.get(status, ""),
        "code": status,
    }
