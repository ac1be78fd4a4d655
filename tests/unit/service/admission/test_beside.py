"""The webhooks in the process of a service: both run, end and fail together."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from io import StringIO
from typing import Any

import pytest

pytest.importorskip("cryptography")

from kept_objects import KeptObjects

from fakes.clock import until
from fakes.http_server import FakeApi
from kai.k8s.clock import Clock
from kai.service.admission.beside import WithWebhooks
from kai.service.admission.options import AdmissionOptions
from kai.service.log import Log

HOST = "127.0.0.1"


class Service:
    """It has nothing to do. `fails`: what it raises after `ends` is set."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.metrics, self.fails, self.ends = self, fails, asyncio.Event()
        self.has_stopped = False

    async def run(self, stop: asyncio.Event) -> None:
        if self.fails is not None:
            await self.ends.wait()
            raise self.fails
        await stop.wait()
        self.has_stopped = True

    def why_unready(self) -> str:
        return ""

    async def page(self) -> bytes:
        return b"kai_build_info 1\n"


Story = Callable[[Service, WithWebhooks, asyncio.Event], Awaitable[None]]


def story(work: Story, address: str = f"{HOST}:0", **of_service: Any) -> str:
    """Returns the log."""
    log = StringIO()

    async def run() -> None:
        async with FakeApi() as api:
            KeptObjects(api)
            service, stop = Service(**of_service), asyncio.Event()
            options = AdmissionOptions(webhook_address=address, url=f"https://{HOST}:1", drain_s=0)

            async def connect(_: asyncio.Event) -> Any:
                return api.client(Clock())

            both = WithWebhooks(service, connect, options, Log("admission", stream=log))
            running = asyncio.create_task(both.run(stop))
            try:
                await until(lambda: running.done() or (both.program and not both.why_unready()))
                if not running.done():
                    await work(service, both, stop)
            finally:
                stop.set()
                await running

    before = threading.active_count()
    asyncio.run(run())
    assert threading.active_count() == before
    return log.getvalue()


def test_both_run_until_stop_is_set() -> None:
    async def work(service: Service, both: WithWebhooks, stop: asyncio.Event) -> None:
        assert both.program is not None
        _, writer = await asyncio.open_connection(HOST, both.program.server.port)
        writer.close()
        stop.set()
        await until(lambda: service.has_stopped)

    assert "answers reviews" in story(work)


def test_one_page_has_the_metrics_of_both() -> None:
    async def work(service: Service, both: WithWebhooks, stop: asyncio.Event) -> None:
        text = (await both.metrics.page()).decode()
        assert text.count("kai_build_info") == 1
        assert 'kai_admission_reviews_total{kind="Pod",webhook="mutating",allowed="true"} 0' in text
        assert "kai_admission_certificate_end_timestamp_seconds 1" in text

    story(work)


def test_an_error_of_the_service_ends_the_webhooks() -> None:
    async def work(service: Service, both: WithWebhooks, stop: asyncio.Event) -> None:
        service.ends.set()
        await asyncio.wait_for(stop.wait(), 10)

    with pytest.raises(ValueError, match="a bug"):
        story(work, fails=ValueError("a bug"))


def test_an_address_in_use_ends_the_service() -> None:
    async def work(service: Service, both: WithWebhooks, stop: asyncio.Event) -> None:
        assert both.program is not None
        own = f"{HOST}:{both.program.server.port}"
        with pytest.raises(Exception, match=f"--webhook-addr {own}"):
            await asyncio.to_thread(story, work, own)

    story(work)
