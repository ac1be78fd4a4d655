"""The program: its server, certificates, pages and watches."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import ssl
from typing import TYPE_CHECKING

import kai
from kai.controllers.admission import Reviews
from kai.service.admission.keeping import Keeping
from kai.service.admission.metrics import AdmissionMetrics
from kai.service.admission.pems import ServerPems
from kai.service.admission.seen import Seen
from kai.service.admission.server import Server
from kai.service.life import Life
from kai.service.log import Calm, Log
from kai.service.pages import Pages

if TYPE_CHECKING:
    from kai.k8s.client import Client
    from kai.service.admission.options import AdmissionOptions

LOOK_EVERY_S = 5.0
"""Between looks at the certificate and the registrations."""
END_WITHIN_S = 3.0
"""Time to remove registrations at the end. They admit objects unseen, so they may stay."""
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""For random parts of names, as in Kubernetes: they form no words."""


class Program:
    """One replica. `server.port`, `pages.port`: where it listens."""

    def __init__(
        self,
        client: Client,
        options: AdmissionOptions,
        log: Log,
        metrics: AdmissionMetrics | None = None,
    ) -> None:
        self._client, self._options, self._log = client, options, log
        self.metrics = metrics or AdmissionMetrics()
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        pems = ServerPems(options.host, client.clock.wall, options.lifetime_s)
        self._seen = Seen(client)
        reviews = Reviews(options.rules, draw=_draw, known=self._seen)
        calm = Calm(log, client.clock.monotonic, every=1.0, at_once=10)
        self.server = Server(reviews, self._tls, self.metrics, calm)
        self._keeping = Keeping(
            client,
            options,
            self._tls,
            pems,
            log,
            is_reached=lambda: self.server.has_answered,
        )
        self.pages = Pages(self.metrics, lambda: "", self.why_unready, snapshot=None)
        self._stops = asyncio.Event()
        self._life = Life(client.clock, self._stops)

    async def run(self, stop: asyncio.Event) -> None:
        """Answers until `stop` is set, and then for as long as API servers still call it. Raises
        InvalidInputError for an address that cannot be used."""
        options = self._options
        self._log.info(
            "started",
            version=kai.__version__,
            at=options.url or f"{options.namespace}/{options.service}",
            server=self._client.access.server,
        )
        try:
            if options.listen:
                await self.pages.start(options.listen)
            self._life.start(self._seen.run())
            await self._life.until(stop, self._serve(stop), self._end)
        finally:
            await self._life.cancel()
            await self.pages.stop()

    async def _serve(self, stop: asyncio.Event) -> None:
        """The server starts with the first pair: before that no connection could succeed."""
        await self._keeping.look()
        while self._keeping.why_unready() and not stop.is_set():
            await self._client.clock.sleep(1.0)
            await self._keeping.look()
        if stop.is_set():
            return
        await self.server.start(self._options.webhook_address)
        self._log.info("answers reviews", port=self.server.port)
        while not stop.is_set():
            self.metrics.ends.set(self._keeping.ends)
            await self._client.clock.sleep(LOOK_EVERY_S)
            await self._keeping.look()

    async def _end(self, serving: asyncio.Task[None]) -> None:
        self._stops.set()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._keeping.end(), END_WITHIN_S)
        await self.server.stop(0.0 if self._life.has_failed else self._options.drain_s)

    def why_unready(self) -> str:
        if self._stops.is_set():
            return "it is ending"
        return self._keeping.why_unready() or ("" if self.server.port else "it is starting")


async def run(client: Client, options: AdmissionOptions, log: Log, stop: asyncio.Event) -> None:
    await Program(client, options, log).run(stop)


def _draw(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))
