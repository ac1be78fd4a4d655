"""A test cluster with `kai run` beside it, and functions for both."""

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

from testcluster import (  # noqa: E402
    NAMESPACE,
    Client,
    Cluster,
    Kai,
    Options,
    install,
    install_all,
    node,
    temporary_cluster,
)

Report = dict[str, Any]
Writes = Counter[str]
WRITING = ("POST", "PUT", "PATCH", "DELETE", "APPLY")
LOOK_EVERY_S = 2.0
"""Counting requests means reading all metrics of the server, which costs it 30 ms of CPU time."""


@dataclass
class Scene:
    """`arguments` are for `kai run`. `account`: the kubeconfig of its service account, if it does
    not run as the administrator."""

    cluster: Cluster
    api: Client
    folder: Path
    arguments: tuple[str, ...] = ()
    account: Path | None = None

    def kai(self, *arguments: str) -> Kai:
        namespace = "default" if self.account is None else NAMESPACE
        log = self.folder / "kai.log"
        chosen = (*arguments, *self.arguments)
        return Kai(self.cluster, namespace, log, *chosen, kubeconfig=self.account)

    async def flows(self) -> Report:
        """The numbers of requests by flow schema and outcome; empty without fair queuing."""
        return {what: dict(each) for what, each in (await self.api.flow_counts()).items() if each}

    async def add_nodes(self, count: int) -> None:
        room = {"cpu": "64", "memory": "512Gi"}
        await self.api.create(*(node(f"node-{i:04}", **room) for i in range(count)))

    async def writes(self) -> Writes:
        """The writes so far, such as "PATCH pods/status", without leases and token reviews."""
        counts: Writes = Counter()
        for (verb, resource, part), count in (await self.api.request_counts()).items():
            if verb in WRITING and resource not in ("leases", "tokenreviews"):
                counts[f"{verb} {resource}" + (f"/{part}" if part else "")] += count
        return counts

    async def quiet(self, seconds: float = 3.0, meter: Meter | None = None) -> dict[str, Any]:
        """Waits until nothing was written for this long; returns when the last write was seen, and
        the usage until then."""
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
    """CPU seconds of every process since its creation: those of the cluster, kai, and this one."""

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
    """A separate cluster with the kinds and queues of kai. With fair queuing it has everything that
    `kai install` prints, and kai runs under its service account, as in a user's cluster."""
    with (
        tempfile.TemporaryDirectory() as folder,
        temporary_cluster(Options(fair_queuing=fair_queuing)) as cluster,
    ):
        account = None
        if fair_queuing:
            account = install_all(cluster)
        else:
            install(cluster)
        async with cluster.client() as api:
            yield Scene(cluster, api, Path(folder), arguments, account)


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
