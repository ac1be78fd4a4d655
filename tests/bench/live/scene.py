"""A test cluster with `kai run` beside it, and what both of them use."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2] / "cluster")]

from testcluster import Client, Cluster, Kai, Options, install, node, temporary_cluster  # noqa: E402

Report = dict[str, Any]
Writes = Counter[str]
WRITING = ("POST", "PUT", "PATCH", "DELETE", "APPLY")
LOOK_EVERY_S = 2.0
"""Counting requests means reading all metrics of the server, which costs it 30 ms of CPU time."""


@dataclass
class Scene:
    """`arguments` go to `kai run`."""

    cluster: Cluster
    api: Client
    folder: Path
    arguments: tuple[str, ...] = ()

    def kai(self) -> Kai:
        return Kai(self.cluster, "default", self.folder / "kai.log", *self.arguments)

    async def add_nodes(self, count: int) -> None:
        room = {"cpu": "64", "memory": "512Gi"}
        await self.api.create(*(node(f"node-{i:04}", **room) for i in range(count)))

    async def writes(self) -> Writes:
        """So far, such as "PATCH pods/status"; leases and reviews of tokens are left out."""
        counts: Writes = Counter()
        for (verb, resource, part), count in (await self.api.request_counts()).items():
            if verb in WRITING and resource not in ("leases", "tokenreviews"):
                counts[f"{verb} {resource}" + (f"/{part}" if part else "")] += count
        return counts

    async def quiet(self, seconds: float = 3.0, meter: Meter | None = None) -> dict[str, Any]:
        """Waits until nothing was written for so long; when the last write was seen, and what had
        been used by then."""
        last, since = await self.writes(), time.monotonic()
        used = meter.seconds() if meter else {}
        while time.monotonic() - since < seconds:
            await asyncio.sleep(LOOK_EVERY_S)
            now = await self.writes()
            if now != last:
                last, since = now, time.monotonic()
                used = meter.seconds() if meter else {}
        return {"at": since, "used": used, "writes": last}


class Meter:
    """CPU seconds of every process since it was made: those of the cluster, kai, and this one."""

    def __init__(self, cluster: Cluster, kai: Kai | None = None) -> None:
        self._cluster, self._kai = cluster, kai
        self._start = self._now()

    def _now(self) -> dict[str, float]:
        found = {name: each.cpu_s for name, each in self._cluster.usage().items()}
        if self._kai is not None and self._kai.process is not None:
            found["kai"] = self._kai.process.usage().cpu_s
        own = os.times()
        return found | {"client": own.user + own.system}

    def seconds(self) -> dict[str, float]:
        return {name: round(now - self._start[name], 2) for name, now in self._now().items()}


@asynccontextmanager
async def scene(arguments: tuple[str, ...], *, fair_queuing: bool = False) -> AsyncIterator[Scene]:
    """A cluster of its own with the kinds and queues of kai."""
    with (
        tempfile.TemporaryDirectory() as folder,
        temporary_cluster(Options(fair_queuing=fair_queuing)) as cluster,
    ):
        install(cluster)
        async with cluster.client() as api:
            yield Scene(cluster, api, Path(folder), arguments)


async def until(is_so: Callable[[], bool], seconds: float) -> bool:
    ends = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > ends:
            return False
        await asyncio.sleep(0.05)
    return True


def a_pod(after: Writes, before: Writes, pods: int) -> dict[str, float]:
    """Writes for each pod, the most frequent first."""
    found = (after - before).most_common()
    return {name: round(count / pods, 2) for name, count in found if count / pods >= 0.005}


def ms(seconds: dict[str, float], pods: int) -> float:
    """CPU time of all processes for each pod."""
    return round(sum(seconds.values()) / pods * 1000, 2)
