"""The program in reservation pods: it writes the UUID of its device on its pod (spec 3 B13, 6 C55).

    await announce(client, PodName("kai-resource-reservation", "gpu-reservation-..."), devices, log)

The pod holds the device until it is deleted; the program then has nothing more to do. It needs the
rights to get and patch its own pod, holds no lease and watches nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kai.api import keys
from kai.api.reading import annotations_of, at
from kai.api.writes import Lane, Result, Write
from kai.errors import InvalidInputError, KaiError, RefusedError, UnreachableError
from kai.service.log import Log

if TYPE_CHECKING:
    from kai.k8s.client import Client

FIRST_WAIT_S, MOST_WAIT_S = 0.5, 10.0
"""The pause between tries: a binder waits 40 s for the annotation."""

Devices = Callable[[], Sequence[str]]


class PodName(NamedTuple):
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


def fake_device(pod: PodName) -> str:
    """A UUID for a pod on a node without GPUs, always the same for a pod.

    >>> fake_device(PodName("kai-resource-reservation", "gpu-reservation-79a9de7e68ba7e9a"))
    'GPU-8ba66039-c8bd-5db5-b21c-e097e62d5a31'
    """
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, str(pod))}"


def only_one(devices: Sequence[str]) -> str:
    """Raises InvalidInputError, with KAI's message, unless there is exactly one device."""
    if len(devices) != 1:
        raise InvalidInputError(f"found {len(devices)} devices, 1 was expected")
    return devices[0]


async def announce(client: Client, pod: PodName, devices: Devices, log: Log) -> None:
    """Writes the device on the pod, unless it has one already; retries until that succeeds.

    Raises the errors of `devices` and `only_one`.
    """
    from kai.k8s.clock import Backoff

    backoff = Backoff(client.clock, FIRST_WAIT_S, MOST_WAIT_S)
    logged = ""
    while problem := await _try(client, pod, devices, log):
        if problem != logged:
            log.warning("could not write the device on the pod", pod=str(pod), why=problem)
            logged = problem
        await client.clock.sleep(backoff.next())


async def _try(client: Client, pod: PodName, devices: Devices, log: Log) -> str:
    """The problem; "": the device is written."""
    try:
        found = await client.get("Pod", *pod)
    except (UnreachableError, RefusedError) as error:
        return str(error)
    if found is None:
        return "the pod does not exist"
    shown = json.loads(found)
    written = annotations_of(shown).get(keys.RESERVED_DEVICE_ANNOTATION)
    if written:
        log.info("the pod already has the device", pod=str(pod), device=written)
        return ""
    device = only_one(devices())
    # The UID prevents that a new pod of that name gets it.
    annotation = {keys.RESERVED_DEVICE_ANNOTATION: device}
    body = {"metadata": {"uid": at(shown, "metadata", "uid"), "annotations": annotation}}
    outcome = await client.send(Write(Lane.BINDING, "patch", "Pod", *pod, body))
    if outcome.result is not Result.DONE:
        return outcome.message or outcome.reason
    log.info("wrote the device on the pod", pod=str(pod), device=device)
    return ""


async def hold(
    pod: PodName,
    devices: Devices,
    stop: asyncio.Event,
    log: Log,
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
) -> None:
    """Announces the device and waits until `stop` is set, possibly before that.

    Waits for an unreachable API server. Raises InvalidInputError for an unusable kubeconfig, and
    the errors of `announce`.
    """

    async def work() -> None:
        client = await _connected(kubeconfig, context, log)
        async with client:
            await announce(client, pod, devices, log)

    working, stopping = asyncio.ensure_future(work()), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
            await stopping
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


async def _connected(
    kubeconfig: str | os.PathLike[str] | None, context: str | None, log: Log
) -> Client:
    from kai.k8s.client import Client
    from kai.k8s.clock import Backoff, Clock

    clock = Clock()
    backoff = Backoff(clock, FIRST_WAIT_S, MOST_WAIT_S)
    logged = ""
    while True:
        try:
            return await Client.connect(kubeconfig, context)
        except InvalidInputError:
            raise
        except KaiError as error:
            if str(error) != logged:
                log.warning("no connection to the API server", why=str(error))
                logged = str(error)
        await clock.sleep(backoff.next())
