"""An HTTP server that answers instant queries with a test's numbers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from aiohttp import web


class FakePrometheus:
    """`used`: by metric and queue; `had`: by capacity metric. `fails`: its answer instead."""

    def __init__(self) -> None:
        self.used: dict[str, dict[str, float]] = {}
        self.had: dict[str, float] = {}
        self.queries: list[dict[str, str]] = []
        self.fails: Callable[[], web.Response] | None = None
        self.silent = False

    async def __aenter__(self) -> FakePrometheus:
        app = web.Application()
        app.router.add_post("/api/v1/query", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        sockets = site._server.sockets  # type: ignore[union-attr]
        self.url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.queries.append(form)
        if self.silent:
            await asyncio.sleep(3600)
        if self.fails is not None:
            return self.fails()
        series: list[Any] = []
        for metric, queues in self.used.items():
            if metric in form["query"]:
                series += [({"queue_name": queue}, value) for queue, value in queues.items()]
        for metric, value in self.had.items():
            if metric in form["query"]:
                series.append(({}, value))
        result = [{"metric": labels, "value": [0, str(value)]} for labels, value in series]
        data = {"resultType": "vector", "result": result}
        body = json.dumps({"status": "success", "data": data}).encode()
        return web.Response(body=body, content_type="application/json")
