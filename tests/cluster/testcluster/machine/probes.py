"""Probes of a container by HTTP.

A probe that has not succeeded yet is repeated every TRY_EVERY_S, so that tests do not wait for long
periods. It fails when the time of all its attempts is over.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

import aiohttp

from ..client import Object
from .errors import MachineError
from .tasks import first_of, for_ever

TRY_EVERY_S = 0.1


@dataclass(frozen=True)
class Probe:
    """A probe of a container, with the kubelet's defaults."""

    url: str
    delay_s: float
    period_s: float
    timeout_s: float
    failures: int

    async def failure(self, http: aiohttp.ClientSession) -> str:
        """Why it fails now; "" if it succeeds."""
        limit = aiohttp.ClientTimeout(total=self.timeout_s)
        try:
            # No certificate is checked, as by the kubelet.
            async with http.get(self.url, ssl=False, timeout=limit, allow_redirects=False) as found:
                return "" if found.status < 400 else f"HTTP status {found.status}"
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            return str(error) or type(error).__name__

    async def first_success(self, http: aiohttp.ClientSession) -> str:
        """Waits for a success, and returns ""; or why there is none in time."""
        await asyncio.sleep(self.delay_s)
        clock = asyncio.get_running_loop().time
        end = clock() + self.period_s * self.failures
        while why := await self.failure(http):
            if clock() > end:
                return why
            await asyncio.sleep(TRY_EVERY_S)
        return ""

    async def failing(self, http: aiohttp.ClientSession) -> str:
        """Waits until it has failed several times in a row, and returns why."""
        failures = 0
        while failures < self.failures:
            await asyncio.sleep(self.period_s)
            why = await self.failure(http)
            failures = failures + 1 if why else 0
        return why


def probe_of(container: Object, name: str, ip: str) -> Probe | None:
    """`name`: such as "livenessProbe".

    Raises:
        MachineError: it is not a probe by HTTP.
    """
    if (spec := container.get(name)) is None:
        return None
    if "httpGet" not in spec:
        raise MachineError(f"container {container['name']}: {name} does not use httpGet")
    call = spec["httpGet"]
    port = port_number([container], call["port"])
    scheme = call.get("scheme", "HTTP").lower()
    return Probe(
        url=f"{scheme}://{call.get('host', ip)}:{port}{call.get('path', '/')}",
        delay_s=spec.get("initialDelaySeconds", 0),
        period_s=spec["periodSeconds"],
        timeout_s=spec["timeoutSeconds"],
        failures=spec["failureThreshold"],
    )


def port_number(containers: Iterable[Object], port: int | str) -> int:
    """The number of a port, which may be given by its name.

    Raises:
        MachineError: the containers have no port of that name.
    """
    if isinstance(port, int):
        return port
    for container in containers:
        for each in container.get("ports", ()):
            if each.get("name") == port:
                return int(each["containerPort"])
    raise MachineError(f"no container has a port of the name {port}")


async def watch_probes(
    container: Object,
    ip: str,
    http: aiohttp.ClientSession,
    report: Callable[[bool], Awaitable[None]],
) -> str:
    """Runs the probes of a container that has just started, and reports whenever it becomes ready
    or unready. Returns why its startup or its liveness failed."""
    startup, liveness, readiness = (
        probe_of(container, f"{name}Probe", ip) for name in ("startup", "liveness", "readiness")
    )
    if startup and (why := await startup.first_success(http)):
        return f"Startup probe failed: {why}"
    return await first_of(_alive(liveness, http), _ready(readiness, http, report))


async def _alive(probe: Probe | None, http: aiohttp.ClientSession) -> str:
    if probe is None:
        return await for_ever()
    await asyncio.sleep(probe.delay_s)
    return f"Liveness probe failed: {await probe.failing(http)}"


async def _ready(
    probe: Probe | None, http: aiohttp.ClientSession, report: Callable[[bool], Awaitable[None]]
) -> str:
    while True:
        if probe and await probe.first_success(http):
            continue
        await report(True)
        await (probe.failing(http) if probe else for_ever())
        await report(False)
