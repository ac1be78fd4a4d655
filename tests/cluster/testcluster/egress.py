"""Connections from the API server to services, without root and without a network of services.

    with Egress() as egress, temporary_cluster(egress.options()) as cluster:
        async with egress.routed(route):
            ...

The API server sends its calls of services through an HTTP CONNECT proxy on a Unix socket
(`--egress-selector-config-file`). A route finds the program behind the address of a service. A
connection without a program is refused.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .arguments import Options

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Backend:
    """A program that accepts connections."""

    connect: Callable[[], Awaitable[Streams]]
    connections: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> None:
        """Ends its connections."""
        for each in self.connections:
            each.close()


Route = Callable[[str], Awaitable[Backend | None]]
"""From an address, such as "10.96.0.7:443", to its program; None: this route has none."""


class Egress:
    """The socket and its configuration. A Unix socket's path must be short."""

    def __enter__(self) -> Egress:
        self.folder = Path(tempfile.mkdtemp(prefix="kai-egress-"))
        self._socket = self.folder / "socket"
        self._config = self.folder / "egress.json"
        self._routes: list[Route] = []
        self._server: asyncio.Server | None = None
        self._relays = set[asyncio.Task[None]]()
        connection = {
            "proxyProtocol": "HTTPConnect",
            "transport": {"uds": {"udsName": str(self._socket)}},
        }
        self._config.write_text(
            json.dumps(
                {
                    "apiVersion": "apiserver.k8s.io/v1beta1",
                    "kind": "EgressSelectorConfiguration",
                    "egressSelections": [{"name": "cluster", "connection": connection}],
                }
            )
        )
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def options(self, **more: Any) -> Options:
        return Options(server_arguments=(f"--egress-selector-config-file={self._config}",), **more)

    @asynccontextmanager
    async def routed(self, route: Route) -> AsyncIterator[None]:
        """Adds a route. The proxy listens while it has routes, and uses the first one that finds a
        program."""
        self._routes.append(route)
        try:
            if self._server is None:
                self._server = await asyncio.start_unix_server(self._accept, str(self._socket))
            yield
        finally:
            self._routes.remove(route)
            if not self._routes:
                await self._close()

    async def _close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for task in self._relays:
            task.cancel()
        await asyncio.gather(*self._relays, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._relays.add(task)
        try:
            await self._relay(reader, writer)
        except (asyncio.CancelledError, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._relays.discard(task)
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        found = await self._connect(head.split(" ")[1])
        if found is None:
            writer.write(b"HTTP/1.1 503 connection refused\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        backend, (inner_reader, inner_writer) = found
        backend.connections.add(writer)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))
        finally:
            backend.connections.discard(writer)
            inner_writer.close()

    async def _connect(self, address: str) -> tuple[Backend, Streams] | None:
        for route in self._routes:
            if backend := await route(address):
                try:
                    return backend, await backend.connect()
                except OSError:  # its program has just ended
                    return None
        return None


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
