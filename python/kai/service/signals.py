"""Runs work until SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable

from kai.service.log import Bridge, Log


def run_until_signal(work: Callable[[asyncio.Event], Awaitable[None]], log: Log) -> None:
    """Runs `work` in the main thread; SIGTERM and SIGINT set the event that it gets. Log lines of
    kai's modules go to `log`. Raises the errors of `work`."""
    bridge = Bridge(log)
    logging.getLogger("kai").addHandler(bridge)

    async def until_signal() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await work(stop)

    try:
        asyncio.run(until_signal())
    finally:
        logging.getLogger("kai").removeHandler(bridge)
