"""The NUMA placement exporter: annotates each pod of a node with the NUMA nodes of its devices,
memory and CPUs.

    await Exporter(client, ExporterOptions(node="n1"), log).run(stop)

One runs on every node with NUMA zones; it holds no lease and plans nothing (spec 3 U18, 6 C60).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import kai
from kai.api import keys
from kai.api.writes import Outcome, Result, Write
from kai.controllers.numa import Observed, node_of_cpu, placements
from kai.errors import KaiError
from kai.k8s.clock import Backoff
from kai.k8s.kubelet import cpu_lists, list_pod_resources
from kai.service.log import Log
from kai.service.programs.on_node import SOCKET, Problems, pods_on

if TYPE_CHECKING:
    from kai.k8s.client import Client

SYSFS = "/sys"
MOST_WAIT_S = 30.0  # between failed reads
WRITERS = 8


@dataclass(frozen=True, slots=True)
class ExporterOptions:
    """`poll_s`: seconds between reads of the kubelet. `resync_s`: between reads of the annotations
    at the API server; 0: never."""

    node: str
    socket: str = SOCKET
    sysfs: str = SYSFS
    poll_s: float = 1.0
    resync_s: float = 60.0


class Exporter:
    """Lives on one event loop."""

    def __init__(self, client: Client, options: ExporterOptions, log: Log) -> None:
        self._client, self._options, self._log = client, options, log
        self._clock = client.clock
        self._observed = Observed()
        self._wait = Backoff(self._clock, max(options.poll_s, 0.1), MOST_WAIT_S)
        self._problems = Problems(log)
        self._writers = asyncio.Semaphore(WRITERS)

    async def run(self, stop: asyncio.Event) -> None:
        options = self._options
        self._log.info(
            "started",
            version=kai.__version__,
            node=options.node,
            server=self._client.access.server,
            socket=options.socket,
        )
        resync_at = self._clock.monotonic() + options.resync_s
        while not stop.is_set():
            is_well = await self._look()
            if is_well and options.resync_s > 0 and self._clock.monotonic() >= resync_at:
                is_well = await self._repair()
                resync_at = self._clock.monotonic() + options.resync_s
            if is_well:
                self._wait.reset()
            with contextlib.suppress(asyncio.TimeoutError):
                wait = options.poll_s if is_well else self._wait.next()
                await asyncio.wait_for(stop.wait(), wait)

    async def _look(self) -> bool:
        """Writes the changes that the kubelet reports; returns whether all succeeded."""
        options, what = self._options, "cannot read the CPUs of NUMA nodes"
        try:
            cpus = node_of_cpu(cpu_lists(options.sysfs))
            self._problems.ended(what)
            what = "cannot read the pod resources of the kubelet"
            found = placements(await list_pod_resources(options.socket), cpus)
            self._problems.ended(what)
        except (KaiError, OSError) as error:
            return self._problems.arose(what, str(error))
        return await self._send(self._observed.seen(found))

    async def _repair(self) -> bool:
        what = "cannot read the pods of the node"
        try:
            there = observed_of(await pods_on(self._client, self._options.node))
        except KaiError as error:
            return self._problems.arose(what, str(error))
        self._problems.ended(what)
        writes = self._observed.repair(there)
        if writes:
            self._log.info("others changed annotations; they are repaired", pods=len(writes))
        return await self._send(writes)

    async def _send(self, writes: Sequence[Write]) -> bool:
        what = "cannot write the placements of pods"
        if not writes:
            self._problems.ended(what)
            return True
        outcomes = await asyncio.gather(*map(self._send_one, writes))
        bad = [each for each in outcomes if each.result not in (Result.DONE, Result.GONE)]
        if bad:
            return self._problems.arose(what, bad[0].message, pods=len(bad))
        self._problems.ended(what)
        self._log.debug("wrote placements", pods=len(writes))
        return True

    async def _send_one(self, write: Write) -> Outcome:
        async with self._writers:
            outcome = await self._client.send(write)
        self._observed.answered(write, outcome)
        return outcome


def observed_of(pods: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The annotation of each pod; "" for those without it."""
    found = {}
    for pod in pods:
        metadata = pod["metadata"]
        given = metadata.get("annotations") or {}
        name = f"{metadata['namespace']}/{metadata['name']}"
        found[name] = given.get(keys.NUMA_OBSERVED_ANNOTATION, "")
    return found
