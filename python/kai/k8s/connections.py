"""Connections that can be waited for until they are closed.

    connector = Connector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        ...
    await ended([connector])

aiohttp forgets a connection that it closes itself, such as that of a watch whose answer is not read
to the end. With TLS, both sides first exchange closing messages. If the event loop ends meanwhile,
the transport is still open and Python prints a warning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import aiohttp

ENDING_S = 0.5
"""How long a server may take to close its side."""
_LOOK_EVERY_S = 0.005
_STEPS_OF_AN_ABORT = 10  # of the event loop; two are needed


class Connector(aiohttp.TCPConnector):
    """A connector that keeps its transports until their sockets are closed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._kept: dict[Any, asyncio.Transport] = {}  # by socket

    async def connect(self, *arguments: Any, **options: Any) -> aiohttp.connector.Connection:
        connection = await super().connect(*arguments, **options)
        transport = connection.transport
        used = None if transport is None else transport.get_extra_info("socket")
        if transport is not None and used is not None and used not in self._kept:
            self.open_ones()
            self._kept[used] = transport
        return connection

    def open_ones(self) -> list[asyncio.Transport]:
        """The transports that are still open; forgets the others."""
        self._kept = {
            used: transport for used, transport in self._kept.items() if used.fileno() != -1
        }
        return list(self._kept.values())


async def ended(connectors: Sequence[Connector]) -> None:
    """Waits until closed connectors have no open transport.

    Connections that the server keeps open after `ENDING_S` are cut off.
    """

    def open_ones() -> list[asyncio.Transport]:
        return [each for connector in connectors for each in connector.open_ones()]

    clock = asyncio.get_running_loop().time
    until = clock() + ENDING_S
    while open_ones() and clock() < until:
        await asyncio.sleep(_LOOK_EVERY_S)
    for each in open_ones():
        each.abort()
    for _ in range(_STEPS_OF_AN_ABORT):
        if not open_ones():
            return
        await asyncio.sleep(0)
