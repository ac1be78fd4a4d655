"""/get-snapshot: only for this machine; without a snapshot it answers with a sentence."""

import asyncio
import re
import urllib.request
from collections.abc import Awaitable, Callable
from urllib.error import HTTPError

import pytest

import kai
from kai.service.metrics import Metrics
from kai.service.pages import Pages, Texts, _is_loopback


def fetched(
    snapshot: Callable[[], Awaitable[bytes]] | None,
    path: str = "/get-snapshot",
    texts: Texts | None = None,
) -> tuple[int, str, bytes]:
    async def main() -> tuple[int, str, bytes]:
        pages = Pages(Metrics(), str, str, snapshot, texts)
        await pages.start("127.0.0.1:0")
        try:
            return await asyncio.to_thread(get, f"http://127.0.0.1:{pages.port}{path}")
        finally:
            await pages.stop()

    return asyncio.run(main())


def get(url: str) -> tuple[int, str, bytes]:
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read()


def test_the_response_is_the_archive() -> None:
    async def snapshot() -> bytes:
        return b"PK"

    assert fetched(snapshot) == (200, "application/zip", b"PK")


def test_an_unreachable_server_is_one_sentence() -> None:
    async def snapshot() -> bytes:
        raise kai.UnreachableError("https://10.0.0.1: connection refused")

    status, _, text = fetched(snapshot)
    assert (status, text) == (503, b"https://10.0.0.1: connection refused\n")


def test_the_pages_are_listed() -> None:
    shadow: Texts = {"/shadow": ("text/html", str), "/shadow.json": ("application/json", str)}
    status, kind, listed = fetched(None, "/", shadow)
    assert (status, kind) == (200, "text/html; charset=utf-8")
    links = re.findall(r'href="([^"]+)"', listed.decode())
    assert links == ["metrics", "healthz", "readyz", "shadow", "shadow.json"]
    for link in links:
        assert fetched(None, f"/{link}", shadow)[0] == 200


def test_the_list_has_no_page_that_this_process_lacks() -> None:
    async def snapshot() -> bytes:
        return b"PK"

    assert b"get-snapshot" in fetched(snapshot, "/")[2]
    assert b"shadow" not in fetched(snapshot, "/")[2]


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        *(("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("::ffff:127.0.0.1", True)),
        *(("10.128.0.7", False), ("::ffff:10.128.0.7", False), ("", False), (None, False)),
    ],
)
def test_only_this_machine_gets_the_archive(address: str | None, is_one: bool) -> None:
    assert _is_loopback(address) == is_one


@pytest.mark.parametrize("port", ["99999", "65536", "9" * 5000])
def test_a_port_that_does_not_exist_is_one_sentence(port: str) -> None:
    pages = Pages(Metrics(), str, str, None)
    with pytest.raises(kai.KaiError, match=r"--listen-address: port 9?\d+ is larger than 65535"):
        asyncio.run(pages.start(f"127.0.0.1:{port}"))
