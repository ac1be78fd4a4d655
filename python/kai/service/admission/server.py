"""The HTTPS server of the webhooks.

server = Server(reviews, tls, metrics, log)
await server.start(":9443")
await server.stop(drain=10.0)
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kai.api.reading import at, mapping, text
from kai.api.webhooks import BY_PATH
from kai.controllers.admission import Reviews
from kai.service.admission.metrics import AdmissionMetrics
from kai.service.log import Calm
from kai.service.pages import addresses_in, listen_on

LARGEST_REVIEW = 16 * 2**20
"""Bytes. Objects of an API server have 1.5 MiB at most, and an update has two of them."""
_JSON = {"Content-Type": "application/json"}
_ENDING = {**_JSON, "Connection": "close"}


class Server:
    """Lives on one event loop. `port`: where it listens. `has_answered`: a review."""

    def __init__(
        self, reviews: Reviews, tls: ssl.SSLContext, metrics: AdmissionMetrics, log: Calm
    ) -> None:
        self._reviews, self._tls, self._metrics, self._log = reviews, tls, metrics, log
        self._runner: web.AppRunner | None = None
        self._headers: Mapping[str, str] = _JSON
        self.port, self.has_answered = 0, False

    async def start(self, address: str) -> None:
        """Raises InvalidInputError for an address that cannot be used."""
        app = web.Application(client_max_size=LARGEST_REVIEW)
        for path in BY_PATH:
            app.router.add_post(path, self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=5.0)
        await self._runner.setup()
        self.port = await listen_on(
            self._runner, "--webhook-addr", addresses_in("--webhook-addr", address), self._tls
        )

    async def stop(self, drain: float) -> None:
        """Answers for `drain` seconds more, and closes each connection after its answer: the API
        server connects to another replica."""
        if self._runner is None:
            return
        self._headers = _ENDING
        await asyncio.sleep(drain)
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        started = time.perf_counter()
        try:
            review = json.loads(body)
            asked = mapping(mapping(review).get("request"))
            text(asked["uid"])
        except (ValueError, KeyError, RecursionError):
            return web.Response(status=400, text="this is no AdmissionReview with a request\n")
        answer = self._reviews.answer(request.path, review)
        self.has_answered = True
        self._note(request.path, asked, answer["response"], time.perf_counter() - started)
        return web.Response(body=json.dumps(answer).encode(), headers=self._headers)

    def _note(
        self, path: str, asked: Mapping[str, Any], response: Mapping[str, Any], seconds: float
    ) -> None:
        kind, allowed = BY_PATH[path].kind, bool(response["allowed"])
        self._metrics.reviewed(kind, mutates=BY_PATH[path].mutates, allowed=allowed, took=seconds)
        if not allowed:
            name = text(asked.get("name")) or text(at(asked, "object", "metadata", "generateName"))
            where = text(asked.get("namespace"))
            self._log.warning(
                f"refused a {kind}",
                name=f"{where}/{name}" if where else name,
                why=response["status"]["message"],
            )
