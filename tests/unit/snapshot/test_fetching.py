"""Snapshots from a scheduler's page, and from other servers at its address."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.snapshot.fetching import fetch


class Pages(BaseHTTPRequestHandler):
    answers: dict[str, tuple[int, bytes]]

    def do_GET(self) -> None:
        status, body = self.answers.get(self.path, (404, b"404 page not found"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    kai.Cluster().queue("a").node("n1", gpus=1).save(tmp_path / "s.zip")
    Pages.answers = {
        "/get-snapshot": (200, (tmp_path / "s.zip").read_bytes()),
        "/kai/get-snapshot": (200, (tmp_path / "s.zip").read_bytes()),
        "/page": (200, b"<html>"),
        "/cut": (200, (tmp_path / "s.zip").read_bytes()[:99]),
        "/off": (404, b"plugin not found\n"),
    }
    pages = HTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=pages.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{pages.server_port}"
    pages.shutdown()
    pages.server_close()
    thread.join()


@pytest.mark.parametrize("path", ["", "/", "/get-snapshot", "/kai/get-snapshot"])
def test_the_path_is_optional(server: str, path: str) -> None:
    for address in (server, server.removeprefix("http://")):
        assert kai.load(fetch(address + path)).counts["nodes"] == 1


def test_no_proxy_is_used_for_this_machine(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert fetch(server)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/off", "/off: 404: plugin not found$"),
        ("/page", "/page: the answer is not a snapshot"),
        ("/cut", "/cut: the answer: not a complete zip archive"),
    ],
)
def test_an_invalid_response_raises_one_sentence(server: str, path: str, message: str) -> None:
    with pytest.raises(kai.InvalidInputError, match=message):
        fetch(server + path)


def test_a_missing_response_raises_one_sentence() -> None:
    with pytest.raises(kai.UnreachableError, match=r"^http://127\.0\.0\.1:9/get-snapshot: conn"):
        fetch("http://127.0.0.1:9")


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "http://", "http://a:b", "http://[::"])
def test_an_invalid_address_raises_one_sentence(url: str) -> None:
    with pytest.raises(kai.InvalidInputError, match="is not an address"):
        fetch(url)
