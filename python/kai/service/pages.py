"""The HTTP pages of a running scheduler: /metrics, /healthz, /readyz, /get-snapshot, /shadow, and
their list at /.

    pages = Pages(metrics, why_unhealthy, why_unready, snapshot)
    await pages.start("127.0.0.1:8080")

/healthz fails only when a restart helps: the planning thread has not returned for too long. It
depends on this process alone, so an unreachable API server causes no restart. /readyz fails until
every kind has been listed. /get-snapshot has the same path as in KAI (spec 6 C63), and like KAI's
it answers only on the loopback interface, from which `kubectl port-forward` connects. /shadow and
/shadow.json are the results of a shadow.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Protocol

from aiohttp import web

from kai.errors import InvalidInputError, KaiError
from kai.snapshot.fetching import PATH

Texts = Mapping[str, tuple[str, Callable[[], str]]]
"""By path, a content type and a function that returns the text."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MEANINGS: Mapping[str, str] = {
    "/metrics": "numbers in Prometheus' format",
    "/healthz": "fails if a restart helps",
    "/readyz": "fails until all kinds were read",
    PATH: "the input of the next cycle, for kai plan; only for this machine",
    "/shadow": "kai's decisions compared with those of the other scheduler",
    "/shadow.json": "the same as JSON",
}
"""The pages in the order of the list at /; a process has some of them."""


class Numbers(Protocol):
    async def page(self) -> bytes:
        """The content of /metrics."""


class Pages:
    """`why_unhealthy` and `why_unready` return a sentence, or "" if there is no problem. `snapshot`
    returns a snapshot.zip, and may raise a KaiError; None: there is no such page. `texts`: further
    pages."""

    def __init__(
        self,
        metrics: Numbers,
        why_unhealthy: Callable[[], str],
        why_unready: Callable[[], str],
        snapshot: Callable[[], Awaitable[bytes]] | None,
        texts: Texts | None = None,
    ) -> None:
        self._metrics = metrics
        self._why_unhealthy = why_unhealthy
        self._why_unready = why_unready
        self._snapshot, self._texts = snapshot, texts or {}
        self._runner: web.AppRunner | None = None
        self._list = ""
        self.port = 0

    async def start(self, listen: str) -> None:
        """Serves at "host:port" or ":port", or at several addresses with commas between them.

        Raises InvalidInputError if that is not possible.
        """
        addresses = addresses_in("--listen-address", listen)
        app = web.Application()
        served = {
            "/metrics": self._metrics_page,
            "/healthz": self._health_page,
            "/readyz": self._ready_page,
            **({PATH: self._snapshot_page} if self._snapshot is not None else {}),
            **dict.fromkeys(self._texts, self._text_page),
        }
        for path, answer in served.items():
            app.router.add_get(path, answer)
        self._list = list_of(path for path in MEANINGS if path in served)
        app.router.add_get("/", self._list_page)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        try:
            self.port = await listen_on(self._runner, "--listen-address", addresses)
        except InvalidInputError:
            await self.stop()
            raise

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _list_page(self, _: web.Request) -> web.Response:
        return web.Response(text=self._list, content_type="text/html", charset="utf-8")

    async def _metrics_page(self, _: web.Request) -> web.Response:
        body = await self._metrics.page()
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    async def _health_page(self, _: web.Request) -> web.Response:
        return _answer(self._why_unhealthy())

    async def _ready_page(self, _: web.Request) -> web.Response:
        return _answer(self._why_unready())

    async def _text_page(self, request: web.Request) -> web.Response:
        content_type, make = self._texts[request.path]
        return web.Response(text=make(), content_type=content_type, charset="utf-8")

    async def _snapshot_page(self, request: web.Request) -> web.Response:
        assert self._snapshot is not None
        if not _is_loopback(request.remote):
            message = "snapshots are for this machine only: use kubectl port-forward\n"
            return web.Response(status=403, text=message)
        try:
            data = await self._snapshot()
        except KaiError as error:
            return web.Response(status=503, text=f"{error}\n")
        named = {"Content-Disposition": "attachment; filename=snapshot.zip"}
        return web.Response(body=data, content_type="application/zip", headers=named)


def list_of(paths: Iterable[str]) -> str:
    """An HTML page with a link to each of these paths. Links are relative: a proxy may serve the
    page below a path of its own."""
    links = "".join(
        f'<li><a href="{path.removeprefix("/")}">{path}</a>: {escape(MEANINGS[path])}</li>'
        for path in paths
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark"><title>kai</title></head>'
        f"<body><h1>kai</h1><ul>{links}</ul></body></html>"
    )


def addresses_in(option: str, text: str) -> list[tuple[str, int]]:
    """The hosts and ports of "host:port,:port". Raises InvalidInputError, with the option."""
    found = []
    for host, _, port in (each.strip().rpartition(":") for each in text.split(",")):
        if not port.isdecimal():
            wrong = f"{host}:{port}" if host else port
            raise InvalidInputError(f"{option}: {wrong!r} is not of the form HOST:PORT")
        if len(port.lstrip("0")) > 5 or int(port) > 65535:
            raise InvalidInputError(f"{option}: port {port} is larger than 65535")
        found.append((host, int(port)))
    return found


async def listen_on(
    runner: web.AppRunner,
    option: str,
    addresses: Sequence[tuple[str, int]],
    tls: ssl.SSLContext | None = None,
) -> int:
    """Serves at these addresses, and returns the first port. Raises InvalidInputError, which names
    the option, for an address that cannot be used."""
    for host, port in addresses:
        try:
            await web.TCPSite(runner, host or None, port, ssl_context=tls).start()
        except OSError as error:
            raise InvalidInputError(f"{option} {host}:{port}: {error.strerror}") from None
    port = runner.addresses[0][1]
    assert isinstance(port, int)
    return port


def _is_loopback(address: str | None) -> bool:
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


def _answer(problem: str) -> web.Response:
    return web.Response(status=503 if problem else 200, text=(problem or "ok") + "\n")
