"""The NUMA placement exporter: annotates each pod of a node with the NUMA nodes of its devices,
memory and CPUs.

    await Exporter(client, ExporterOptions(node="n1"), log).run(stop)

One runs on every node with NUMA zones; it holds no lease and plans nothing (spec 3 U18, 6 C60).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import kai
from kai.api import keys
from kai.api.resources import resource
from kai.api.writes import Outcome, Result, Write
from kai.controllers.numa import Observed, node_of_cpu, placements
from kai.errors import KaiError
from kai.k8s.clock import Backoff
from kai.k8s.kubelet import cpu_lists, list_pod_resources
from kai.service.log import Log

if TYPE_CHECKING:
    from kai.k8s.client import Client

SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
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
        self._problems: dict[str, str] = {}  # current problems, and their causes
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
            self._works(what)
            what = "cannot read the pod resources of the kubelet"
            found = placements(await list_pod_resources(options.socket), cpus)
            self._works(what)
        except (KaiError, OSError) as error:
            return self._fails(what, str(error))
        return await self._send(self._observed.seen(found))

    async def _repair(self) -> bool:
        what = "cannot read the pods of the node"
        selector = {"fieldSelector": f"spec.nodeName={self._options.node}", "resourceVersion": "0"}
        try:
            answer = await self._client.read(resource("Pod").path(), selector, kinds=("PodList",))
            there = observed_of(json.loads(answer.body))
        except KaiError as error:
            return self._fails(what, str(error))
        self._works(what)
        writes = self._observed.repair(there)
        if writes:
            self._log.info("others changed annotations; they are repaired", pods=len(writes))
        return await self._send(writes)

    async def _send(self, writes: Sequence[Write]) -> bool:
        what = "cannot write the placements of pods"
        if not writes:
            self._works(what)
            return True
        outcomes = await asyncio.gather(*map(self._send_one, writes))
        bad = [each for each in outcomes if each.result not in (Result.DONE, Result.GONE)]
        if bad:
            return self._fails(what, bad[0].message, pods=len(bad))
        self._works(what)
        self._log.debug("wrote placements", pods=len(writes))
        return True

    async def _send_one(self, write: Write) -> Outcome:
        async with self._writers:
            outcome = await self._client.send(write)
        self._observed.answered(write, outcome)
        return outcome

    def _fails(self, what: str, why: str, **fields: Any) -> bool:
        """Logs one line until the reason changes."""
        if self._problems.get(what) != why:
            self._problems[what] = why
            self._log.warning(what, why=why, **fields)
        return False

    def _works(self, what: str) -> None:
        if self._problems.pop(what, None) is not None:
            self._log.info(what.replace("cannot", "can", 1) + " again")


def observed_of(pods: Mapping[str, Any]) -> dict[str, str]:
    """The annotation of each pod of a list; "" for those without it."""
    found = {}
    for pod in pods.get("items") or ():
        metadata = pod["metadata"]
        given = metadata.get("annotations") or {}
        name = f"{metadata['namespace']}/{metadata['name']}"
        found[name] = given.get(keys.NUMA_OBSERVED_ANNOTATION, "")
    return found
