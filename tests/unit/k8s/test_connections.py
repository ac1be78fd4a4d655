"""The end of connections: none is open when a loop ends right after."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fakes.clock import QuickClock
from kai.k8s import connections
from kai.k8s.client import Client
from kai.k8s.kubeconfig import Access, Material

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"


@contextmanager
def server(pki: Path, *, answers_the_end: bool) -> Iterator[str]:
    """A watch over TLS, in a thread; returns its address. It closes its side too, or stays
    silent."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pki / "server.crt", pki / "server.key")
    over = threading.Event()

    def serve() -> None:
        with (
            suppress(OSError),
            listener.accept()[0] as plain,
            context.wrap_socket(plain, server_side=True) as tls,
        ):
            tls.recv(1 << 16)
            tls.sendall(HEAD)
            if answers_the_end:
                tls.recv(1 << 16)
                tls.unwrap()
            else:
                over.wait(60)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        thread.join()


@pytest.mark.parametrize("answers_the_end", [True, False])
def test_the_connection_of_a_watch_is_closed_when_close_returns(
    pki: Path, monkeypatch: pytest.MonkeyPatch, answers_the_end: bool
) -> None:
    """aiohttp forgets a connection whose answer is not read on, and TLS closes slowly: a loop that
    ended meanwhile printed warnings about open transports."""
    if not answers_the_end:
        monkeypatch.setattr(connections, "ENDING_S", 0.05)

    async def main(address: str) -> int:
        trusted = Material(file=pki / "ca.crt")
        access = Access(address, "test", authority=trusted, server_name="kubernetes.test")
        client = Client(access, clock=QuickClock())
        options = await client.stream_options()
        async with client.stream("/api/v1/pods", {}, options) as response:
            assert await response.content.read(2) == b"{}"
            assert response.connection is not None
            assert response.connection.transport is not None
            used = response.connection.transport.get_extra_info("socket")
        await client.close()
        return int(used.fileno())

    with server(pki, answers_the_end=answers_the_end) as address:
        assert asyncio.run(main(address)) == -1


def test_connections_that_closed_are_forgotten() -> None:
    async def main() -> int:
        client = Client(Access("http://127.0.0.1:1", "test"), clock=QuickClock())
        for _ in range(3):
            server = await asyncio.start_server(one_answer, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            session = client._session("read")
            async with session.get(f"http://127.0.0.1:{port}/") as response:
                await response.read()
            server.close()
            await asyncio.sleep(0.05)
        assert isinstance(session.connector, connections.Connector)
        kept = len(session.connector._kept)
        await client.close()
        return kept

    async def one_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    assert asyncio.run(main()) == 1
