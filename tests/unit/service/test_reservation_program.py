"""The program in reservation pods: its writes, their time, and its behaviour when it cannot
write."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fakes.clock import QuickClock, until
from fakes.http_server import FakeApi, disconnect, ok, status
from fakes.scenarios import scenarios
from kai.errors import InvalidInputError
from kai.service.log import Log
from kai.service.programs.reservation import PodName, announce, fake_device, hold, only_one

POD = PodName("kai-resource-reservation", "gpu-reservation-1")
PATH = f"/api/v1/namespaces/{POD.namespace}/pods/{POD.name}"
ANNOTATION = "run.ai/reserve_for_gpu_index"


def pod(**annotations: str) -> dict[str, Any]:
    metadata = {"name": POD.name, "namespace": POD.namespace, "uid": "u1"}
    return {"metadata": {**metadata, "annotations": annotations}}


def one_device() -> Sequence[str]:
    return ["GPU-7"]


def no_devices() -> Sequence[str]:
    raise AssertionError("nothing is to be read")


def story(
    act: Callable[[FakeApi], None],
    devices: Callable[[], Sequence[str]] = one_device,
    clock: QuickClock | None = None,
) -> tuple[list[Any], list[str]]:
    """The bodies of the sent patches, and the log."""
    stream = io.StringIO()

    async def run() -> list[Any]:
        async with FakeApi() as api:
            act(api)
            async with api.client(clock or QuickClock()) as client:
                await announce(client, POD, devices, Log(stream=stream))
            return [each.body for each in api.seen if each.method == "PATCH"]

    sent = asyncio.run(run())
    return sent, [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()]


PATCH = {"metadata": {"uid": "u1", "annotations": {ANNOTATION: "GPU-7"}}}


def test_the_device_is_written_on_the_pod() -> None:
    def act(api: FakeApi) -> None:
        api.on("GET", PATH, ok(pod()))
        api.on("PATCH", PATH, ok(pod()))

    sent, log = story(act)
    assert sent == [PATCH]
    assert log == [f"info kai: wrote the device on the pod pod={POD} device=GPU-7"]


def test_a_restarted_program_writes_nothing() -> None:
    """It does not search for devices either."""

    def act(api: FakeApi) -> None:
        api.on("GET", PATH, ok(pod(**{ANNOTATION: "GPU-3"})))

    sent, log = story(act, no_devices)
    assert sent == []
    assert log == [f"info kai: the pod already has the device pod={POD} device=GPU-3"]


def test_an_empty_annotation_counts_as_missing() -> None:
    def act(api: FakeApi) -> None:
        api.on("GET", PATH, ok(pod(**{ANNOTATION: ""})))
        api.on("PATCH", PATH, ok(pod()))

    assert story(act)[0] == [PATCH]


def test_failed_requests_are_repeated_with_longer_waits() -> None:
    forbidden = status(403, reason="Forbidden", message="may not patch")
    clock = QuickClock()
    clock.dice = 1.0

    def act(api: FakeApi) -> None:
        api.on("GET", PATH, status(404), ok(pod()))
        api.on("PATCH", PATH, *[forbidden] * 5, ok(pod()))

    sent, log = story(act, clock=clock)
    assert sent == [PATCH] * 6
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0]
    assert log == [
        f'warning kai: could not write the device on the pod pod={POD} why="the pod does not'
        ' exist"',
        f'warning kai: could not write the device on the pod pod={POD} why="may not patch"',
        f"info kai: wrote the device on the pod pod={POD} device=GPU-7",
    ]


def test_a_lost_answer_is_checked() -> None:
    def act(api: FakeApi) -> None:
        api.on("GET", PATH, ok(pod()), ok(pod(**{ANNOTATION: "GPU-7"})))
        api.on("PATCH", PATH, disconnect)

    _, log = story(act)
    assert log[-1].startswith("info kai: the pod already has the device")


@pytest.mark.parametrize("count", [0, 2])
def test_exactly_one_device_is_required(count: int) -> None:
    with pytest.raises(InvalidInputError, match=f"^found {count} devices, 1 was expected$"):
        only_one([f"GPU-{number}" for number in range(count)])

    def act(api: FakeApi) -> None:
        api.on("GET", PATH, ok(pod()))

    with pytest.raises(InvalidInputError, match="1 was expected"):
        story(act, lambda: ["GPU-1"] * count)


def test_fake_devices_are_reproducible_and_distinct() -> None:
    names = [PodName("ns", f"gpu-reservation-{number}") for number in range(50)]
    assert len({fake_device(each) for each in names}) == 50
    assert [fake_device(each) for each in names] == [fake_device(each) for each in names]


# ---- from the connection to SIGTERM --------------------------------------------------------------


async def holding(
    tmp_path: Path, steps: Callable[[FakeApi, asyncio.Event, asyncio.Task[None]], Awaitable[None]]
) -> None:
    """`hold` with a server; the steps end it."""

    async with FakeApi() as api:
        stop, where = asyncio.Event(), api.kubeconfig(tmp_path / "kubeconfig")
        task = asyncio.ensure_future(
            hold(POD, one_device, stop, Log(stream=io.StringIO()), kubeconfig=where)
        )
        await steps(api, stop, task)
        await asyncio.wait_for(task, 5)


scenario = scenarios(holding, "tmp_path")


@scenario
async def test_the_device_is_held_until_the_program_stops(
    api: FakeApi, stop: asyncio.Event, task: asyncio.Task[None]
) -> None:
    api.on("GET", PATH, ok(pod()))
    api.on("PATCH", PATH, ok(pod()))
    await until(lambda: api.paths("PATCH"))
    await asyncio.sleep(0.02)
    assert not task.done()
    stop.set()


@scenario
async def test_the_program_can_stop_while_it_waits_for_an_answer(
    api: FakeApi, stop: asyncio.Event, task: asyncio.Task[None]
) -> None:
    api.on("GET", PATH, api.swallow())
    await until(lambda: PATH in api.paths())
    stop.set()


def test_a_missing_device_ends_the_program(tmp_path: Path) -> None:
    async def run() -> None:
        async with FakeApi() as api:
            api.on("GET", PATH, ok(pod()))
            log = Log(stream=io.StringIO())
            where = api.kubeconfig(tmp_path / "kubeconfig")
            await hold(POD, lambda: [], asyncio.Event(), log, kubeconfig=where)

    with pytest.raises(InvalidInputError, match="found 0 devices"):
        asyncio.run(run())
