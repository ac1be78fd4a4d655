"""The GPU auditor of a node: measures who holds the memory of its GPUs, serves the numbers as
metrics, and writes an event about a pod that uses more than its share.

    await Auditor(client, AuditorOptions(node="n1"), measure, log).run(stop)

It finds that from outside the pods, with a guard in them or without. It holds no lease and plans
nothing. `measure` calls the driver, so it runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import kai
from kai.api import keys
from kai.api.gpu_use import Measurement
from kai.api.pod_resources import PodResources
from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.gpu_audit import (
    AuditRules,
    Before,
    PodShare,
    PodUse,
    audit,
    devices_given,
    shares_of,
    uses_of,
)
from kai.controllers.verdicts.facts import Event
from kai.errors import KaiError, NotFoundError
from kai.k8s.clock import Backoff
from kai.k8s.events import About, Events
from kai.k8s.kubelet import list_pod_resources
from kai.k8s.writing import Writer
from kai.service.log import Log
from kai.service.pages import Pages
from kai.service.programs.gpu_metrics import AuditorMetrics
from kai.service.programs.on_node import SOCKET, Problems, pods_on

if TYPE_CHECKING:
    from kai.k8s.client import Client

COMPONENT = "gpu-auditor"
MOST_WAIT_S = 60.0  # between failed measurements
PODS_AGE_S = 60.0  # the pods are read again after it, and when one is new
LONGEST_MEASUREMENT_S = 120.0
WRITERS = 4
DRAIN_S = 2.0

Measure = Callable[[], Measurement]
"""Raises KaiError."""


@dataclass(frozen=True, slots=True)
class AuditorOptions:
    """interval_s: between measurements. reserving: the namespace of reservation pods. listen: where
    the metrics are served; "": nowhere."""

    node: str
    interval_s: float = 15.0
    rules: AuditRules = field(default_factory=AuditRules)
    socket: str = SOCKET
    reserving: str = keys.RESERVATION
    listen: str = ""
    metrics_namespace: str = "kai"


async def shares_on(
    client: Client, options: AuditorOptions, given: list[PodResources] | None
) -> dict[str, PodShare]:
    """The shares of the pods on the node; `given`: what its kubelet lists, None if it was not read.
    Raises KaiError, also if there are none: all processes would count as those of no pod."""
    if not (pods := await pods_on(client, options.node)):
        raise NotFoundError(
            f"node {options.node} does not exist or has no pods: write the name of this node, as"
            " kubectl get nodes prints it"
        )
    devices = None if given is None else devices_given(given)
    return shares_of(pods, devices, reserving=options.reserving)


async def uses_on(
    client: Client, options: AuditorOptions, measurement: Measurement
) -> tuple[tuple[PodUse, ...], list[str]]:
    """What pods use now, and a sentence for each thing that could not be read. Raises KaiError."""
    problems, given = list(measurement.problems), None
    try:
        given = await list_pod_resources(options.socket)
    except KaiError as error:
        problems.append(f"the shares of pods with whole GPUs are not known: {error}")
    shares = await shares_on(client, options, given)
    using = {each.pod for device in measurement.devices for each in device.processes} - {""}
    if using and using.isdisjoint(shares):
        problems.append(
            f"the pods that use GPUs here are not on node {options.node}: write the name of this"
            " node"
        )
    return uses_of(measurement, shares, options.rules), problems


class Auditor:
    """Lives on one event loop. `metrics`: the numbers of the last measurement."""

    def __init__(self, client: Client, options: AuditorOptions, measure: Measure, log: Log) -> None:
        self.metrics = AuditorMetrics(options.metrics_namespace)
        self.pages = Pages(self.metrics, self.why_unhealthy, self.why_unready, None)
        self._client, self._options, self._measure, self._log = client, options, measure, log
        self._clock = client.clock
        self._before = Before()
        self._shares: dict[str, PodShare] | None = None
        self._read_at = 0.0
        self._measuring_since: float | None = None
        self._not_ready = "the GPUs were not measured yet"
        self._wait = Backoff(self._clock, max(options.interval_s, 0.1), MOST_WAIT_S)
        self._problems = Problems(log)
        self._writer = Writer(client, workers=WRITERS, observe=self._written)
        self._events = Events(
            self._writer,
            COMPONENT,
            clock=self._clock,
            wall=client.server_time,
            instance=options.node,
        )

    async def run(self, stop: asyncio.Event) -> None:
        options = self._options
        self._log.info(
            "started",
            version=kai.__version__,
            node=options.node,
            server=self._client.access.server,
            socket=options.socket,
        )
        if options.listen:
            await self.pages.start(options.listen)
        try:
            while not stop.is_set():
                is_well = await self._look()
                if is_well:
                    self._wait.reset()
                with contextlib.suppress(asyncio.TimeoutError):
                    wait = options.interval_s if is_well else self._wait.next()
                    await asyncio.wait_for(stop.wait(), wait)
        finally:
            await self._writer.drain(DRAIN_S)
            await self.pages.stop()

    def why_unready(self) -> str:
        """A sentence; "": it measures and knows the pods."""
        return self._not_ready

    def why_unhealthy(self) -> str:
        """A call of a driver may never return; only a restart helps then."""
        since = self._measuring_since
        if since is None or self._clock.monotonic() - since < LONGEST_MEASUREMENT_S:
            return ""
        return f"the driver has not answered for {LONGEST_MEASUREMENT_S:g} s"

    async def _look(self) -> bool:
        """One measurement; returns whether it succeeded."""
        what = "cannot measure the GPUs"
        self._measuring_since = self._clock.monotonic()
        try:
            measurement = await asyncio.to_thread(self._measure)
        except KaiError as error:
            self._not_ready = str(error)
            return self._problems.arose(what, str(error))
        finally:
            self._measuring_since = None
        self._problems.ended(what)
        what = "cannot read a part of the measurement"
        if measurement.problems:
            self._problems.arose(what, "; ".join(measurement.problems))
        else:
            self._problems.ended(what)
        are_fresh = await self._read_pods(measurement)
        uses = self._uses(measurement, are_fresh=are_fresh)
        audited = audit(self._before, uses, now=self._clock.monotonic(), rules=self._options.rules)
        self._before = audited.before
        self.metrics.show(measurement, uses, audited.over)
        self.metrics.measured.set(self._clock.wall())
        for event in audited.events:
            self._tell(event)
        self._not_ready = "" if self._shares is not None else "the pods were not read yet"
        return self._shares is not None

    def _uses(self, measurement: Measurement, *, are_fresh: bool) -> tuple[PodUse, ...]:
        """Pods that are new, while the API server cannot be reached, are left out."""
        if self._shares is None:
            return ()
        uses = uses_of(measurement, self._shares, self._options.rules)
        return tuple(each for each in uses if are_fresh or each.name or not each.uid)

    async def _read_pods(self, measurement: Measurement) -> bool:
        """Reads them if they are old, or one is new; returns whether all pods can be known."""
        shares, now = self._shares, self._clock.monotonic()
        using = {each.pod for device in measurement.devices for each in device.processes}
        is_new = shares is None or not using - {""} <= shares.keys()
        if not is_new and now - self._read_at < PODS_AGE_S:
            return True
        what = "cannot read the pod resources of the kubelet"
        given = None
        try:
            given = await list_pod_resources(self._options.socket)
            self._problems.ended(what)
        except KaiError as error:
            self._problems.arose(what, str(error), effect="pods with whole GPUs are not judged")
        what = "cannot read the pods of the node"
        try:
            self._shares = await shares_on(self._client, self._options, given)
        except KaiError as error:
            self._problems.arose(what, str(error))
            return not is_new
        self._problems.ended(what)
        self._read_at = now
        return True

    def _tell(self, event: Event) -> None:
        self.metrics.events.add(event.reason)
        about = About(event.kind, event.namespace, event.name, event.uid)
        self._events.emit(about, event.type, event.reason, event.message)
        level = self._log.warning if event.type == "Warning" else self._log.info
        name = f"{event.namespace}/{event.name}".lstrip("/")
        level(event.reason, about=f"{event.kind} {name}", why=event.message)

    def _written(self, write: Write, outcome: Outcome, waited: float, took: float) -> None:
        what = "cannot write events"
        if write.lane is not Lane.EVENT or outcome.result is Result.GONE:
            return
        if outcome.result is Result.DONE:
            self._problems.ended(what)
        else:
            self._problems.arose(what, outcome.message or outcome.reason)
