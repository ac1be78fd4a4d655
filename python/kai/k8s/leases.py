"""Decides which of several processes acts: leader election by leases, as in client-go.

    election = LeaderElection(client, "kai-scheduler", ["kai-scheduler"], on_lost=stop)
    task = asyncio.create_task(election.run())
    writer = Writer(client, guard=election.is_leading, timeout=election.write_timeout)
    ...
    task.cancel()                      # the lease is released

A process with several roles takes all of their leases or none. Its own leadership counts from just
before the last renewal was *sent*, on a clock that never jumps. The leadership of another process
counts from when its last renewal was *seen* here. Wall clocks of two machines are never compared.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import platform
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kai.api.resources import new_object, resource
from kai.api.times import SECOND_NS, to_text
from kai.errors import KaiError, UnreachableError
from kai.k8s.client import Client, dumps, version_in

_log = logging.getLogger(__name__)

DURATION_S, RENEW_DEADLINE_S, RETRY_S = 15.0, 10.0, 5.0
RETRY_RENEWAL_S = 1.0  # after a failed renewal: little time is left
JITTER = 1.2  # factor for the wait, so that candidates do not try at the same moment each time


@dataclass(slots=True)
class _Lease:
    """One lease as last seen, and when it last changed, on our clock."""

    name: str
    path: str
    record: dict[str, Any] | None = None  # the object; None: it does not exist
    seen: tuple[Any, ...] = ()
    changed_at: float = float("-inf")
    held_from: float = float("-inf")  # when our last renewal was sent

    @property
    def spec(self) -> dict[str, Any]:
        return (self.record or {}).get("spec") or {}

    @property
    def holder(self) -> str:
        return str(self.spec.get("holderIdentity") or "")

    def note(self, record: dict[str, Any] | None, now: float) -> None:
        """Stores the server's version. Only a change of the holder's fields counts as a renewal."""
        self.record = record
        seen = tuple(
            self.spec.get(each) for each in ("holderIdentity", "renewTime", "leaseTransitions")
        )
        if seen != self.seen:
            self.seen, self.changed_at = seen, now

    def free_from(self) -> float:
        """From when another process may take it, on our clock."""
        if not self.holder:
            return float("-inf")
        duration = self.spec.get("leaseDurationSeconds")
        return self.changed_at + float(duration if isinstance(duration, (int, float)) else 0)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: how long a lease lasts, how long a leader tries to renew it, and how often."""

    duration: float = DURATION_S
    renew_deadline: float = RENEW_DEADLINE_S
    retry: float = RETRY_S


class LeaderElection:
    """Takes and renews leases; lives on the event loop.

    `on_started` and `on_lost` are called on that loop. `is_leading` is cheap and correct at any
    moment; it does not depend on `run` to notice the end. Counters: `renewals`, `failures`,
    `transitions`.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        names: Sequence[str],
        identity: str = "",
        *,
        times: Times | None = None,
        on_started: Callable[[], None] | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        self.identity = identity or new_identity()
        self.renewals = self.failures = self.transitions = 0
        self.problem = ""
        self.times = times or Times()
        self.namespace = namespace
        self._client = client
        self._on_started, self._on_lost = on_started, on_lost
        row = resource("Lease")
        # The same order in all processes: two processes that need several leases do not block each
        # other.
        self._leases = [_Lease(each, row.path(namespace, each)) for each in sorted(set(names))]
        self._collection = row.path(namespace)
        self._leads = False
        self._gives_back = True

    @property
    def write_timeout(self) -> float:
        """The longest time for a write: it ends before another process can become the leader."""
        return self.times.duration - self.times.renew_deadline

    def leading_for(self) -> float:
        """Seconds for which this process leads without another renewal; 0 if it does not lead."""
        if not self._leads:
            return 0.0
        held_from = min(each.held_from for each in self._leases)
        return max(0.0, held_from + self.times.renew_deadline - self._client.clock.monotonic())

    def is_leading(self) -> bool:
        return self.leading_for() > 0

    def holders(self) -> dict[str, str]:
        """The holder of each lease, as last seen."""
        return {each.name: each.holder for each in self._leases}

    async def run(self) -> None:
        """Waits for all leases, renews them, and starts again after losing them.

        Ends only by cancellation, and then releases its leases.
        """
        try:
            while True:
                await self._acquire()
                await self._keep()
                self._lose()  # not released: writes may be under way
        except asyncio.CancelledError:
            self._leads = False
            await self.release()
            raise

    def let_run_out(self) -> None:
        """Does not release the leases at the end: a sent write may still take effect, and the next
        leader would not know it."""
        self._gives_back = False

    async def release(self) -> None:
        """Releases our leases. Raises nothing."""
        self._leads = False
        if not self._gives_back:
            return
        ours = [each for each in self._leases if each.holder == self.identity]
        await asyncio.gather(*(self._give_back(each) for each in reversed(ours)))

    # ---- taking ----------------------------------------------------------------------------------

    async def _acquire(self) -> None:
        clock = self._client.clock
        while True:
            try:
                if await self._take_all():
                    self._leads = True
                    self.transitions += 1
                    self.problem = ""
                    if self.is_leading():
                        if self._on_started is not None:
                            self._on_started()
                        return
                    self._leads = False  # it took too long
            except KaiError as error:
                self.problem = str(error)
                self.failures += 1
            await clock.sleep(self.times.retry * (1 + clock.random() * (JITTER - 1)))

    async def _take_all(self) -> bool:
        """Takes all leases or none; takes nothing before all of them are free."""
        await asyncio.gather(*map(self._look, self._leases))
        now = self._client.clock.monotonic()
        taken = [each for each in self._leases if not self._is_free(each, now)]
        if taken:
            self.problem = f"{taken[0].name} is held by {taken[0].holder}"
            return False
        done: list[_Lease] = []
        try:
            for lease in self._leases:
                if not await self._write(lease, self.times.renew_deadline):
                    self.problem = f"{lease.name} was taken by another process"
                    return False
                done.append(lease)
            return True
        finally:
            if len(done) < len(self._leases):
                await asyncio.gather(*map(self._give_back, reversed(done)))

    def _is_free(self, lease: _Lease, now: float) -> bool:
        return lease.holder in ("", self.identity) or now > lease.free_from()

    async def _look(self, lease: _Lease) -> None:
        """Reads a lease. Raises UnreachableError or RefusedError."""
        status, body = await self._call("GET", lease.path, None, self.times.renew_deadline)
        if status not in (200, 404):
            raise self._client.refused(status, body)
        record = json.loads(body) if status == 200 else None
        lease.note(record, self._client.clock.monotonic())

    # ---- keeping ---------------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Renews until that fails for good."""
        wait = self.times.retry
        while self.is_leading():
            await self._client.clock.sleep(min(wait, self.leading_for()))
            done = await asyncio.gather(*map(self._renew, self._leases), return_exceptions=True)
            if False in done:
                return
            failed = [each for each in done if isinstance(each, BaseException)]
            if not failed:
                self.problem = ""
                self.renewals += 1
                wait = self.times.retry
                continue
            for error in failed:
                if not isinstance(error, KaiError):
                    raise error
            self.problem = str(failed[0])
            self.failures += 1
            wait = RETRY_RENEWAL_S

    async def _renew(self, lease: _Lease) -> bool:
        """False if another process has the lease, or our time is over.

        Raises UnreachableError or RefusedError if it could not be renewed; a later try may succeed.
        """
        for _ in range(2):
            left = self.leading_for()
            if left <= 0:
                return False
            # At most half of the time, so that after a request without an answer one more try fits.
            if await self._write(lease, min(left, self.times.renew_deadline / 2)):
                return True
            # The lease has changed: by another process, or by our own renewal whose answer was
            # lost.
            await self._look(lease)
            if lease.holder != self.identity:
                return False
        raise UnreachableError(f"{lease.name}: renewals get no answer")

    def _lose(self) -> None:
        self._leads = False
        self.problem = self.problem or "the lease was not renewed in time"
        if self._on_lost is not None:
            self._on_lost()

    # ---- writing ---------------------------------------------------------------------------------

    async def _write(self, lease: _Lease, timeout: float) -> bool:
        """Makes the lease ours from now on; False if it has changed meanwhile.

        Raises UnreachableError or RefusedError if it is unknown whether the lease is ours.
        """
        sent_at = self._client.clock.monotonic()
        now = _micro_time(self._client.server_time())
        old = lease.spec
        ours = lease.holder == self.identity
        transitions = int(old.get("leaseTransitions") or 0)
        spec = {
            **old,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self.times.duration),
            "acquireTime": old.get("acquireTime") if ours else now,
            "renewTime": now,
            "leaseTransitions": transitions if ours or not lease.record else transitions + 1,
        }
        status, body = await self._put(lease, spec, timeout)
        if status in (200, 201):
            lease.note(json.loads(body), self._client.clock.monotonic())
            if lease.holder != self.identity:
                raise UnreachableError(f"{lease.name}: the answer shows another holder")
            lease.held_from = sent_at
            return True
        if status == 409 or (status == 404 and lease.record is not None):
            return False
        raise self._client.refused(status, body)

    async def _give_back(self, lease: _Lease) -> None:
        spec = {**lease.spec, "holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            status, body = await self._put(lease, spec, 2.0)
        except KaiError as error:
            _log.warning("lease %s was not released: %s", lease.name, error)
            return
        if status == 200:
            lease.note(json.loads(body), self._client.clock.monotonic())

    async def _put(self, lease: _Lease, spec: dict[str, Any], timeout: float) -> tuple[int, bytes]:
        metadata = {"name": lease.name, "namespace": self.namespace}
        body = new_object("Lease", (lease.record or {}).get("metadata") or metadata, spec=spec)
        if lease.record is None:
            return await self._call("POST", self._collection, body, timeout)
        return await self._call("PUT", lease.path, body, timeout)

    async def _call(self, method: str, path: str, body: Any, timeout: float) -> tuple[int, bytes]:
        """Sends a request on separate connections, so that no other request delays a renewal."""
        versions = self._client.versions
        name = (body or {}).get("metadata", {}).get("name") or path.rpartition("/")[2]
        mark = versions.mark(f"Lease {name}")
        status, answer = await self._client.request(
            method,
            path,
            body=None if body is None else dumps(body),
            timeout=timeout,
            lane="lease",
            kinds=("Lease",),
        )
        if status < 300:
            versions.answered(mark, version_in(answer))
        return status, answer


def new_identity() -> str:
    """An identity like KAI's: the pod's name and a random part. A host name is cut to 63
    characters, and in the host's network it is the machine's name, so $POD_NAME is used if it is
    set."""
    return f"{os.environ.get('POD_NAME') or platform.node()}_{uuid.uuid4()}"


def _micro_time(seconds: float) -> str:
    """The API's MicroTime: always six digits after the second."""
    text = to_text(int(seconds) * SECOND_NS)
    return f"{text[:-1]}.{int(seconds % 1 * 1e6):06d}Z"
