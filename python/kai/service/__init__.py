"""Roles at work: watches in, decisions out, for as long as the process runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kai.service.log import Log
    from kai.service.options import Options


def serve(
    options: Options,
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    log: Log | None = None,
) -> None:
    """Runs the roles until SIGTERM or SIGINT.

    Raises UnreachableError, RefusedError and InvalidInputError for a server that cannot be used,
    and InvalidConfigError for the scheduler's configuration.
    """
    import asyncio

    asyncio.run(_serve(options, kubeconfig, context, log))


async def _serve(
    options: Options,
    kubeconfig: str | os.PathLike[str] | None,
    context: str | None,
    log: Log | None,
) -> None:
    import asyncio
    import signal

    from kai.k8s.client import Client
    from kai.service.log import Log
    from kai.service.pages import Pages
    from kai.service.service import Service

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with await Client.connect(kubeconfig, context) as client:
        service = Service(client, options, log or Log())
        pages = Pages(service.metrics, service.why_unhealthy, service.why_unready)
        try:
            if options.listen:
                await pages.start(options.listen)
            await service.run(stop)
        finally:
            await pages.stop()
