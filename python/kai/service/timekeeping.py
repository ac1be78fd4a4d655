"""Keeps the time of the cluster true: asks for it, and reports doubts and corrections.

    keeping = TimeKeeping(client, log, metrics, changed.set)
    await keeping.run()                            # until it is cancelled

`kai.k8s.server_time` has the rule. While the time is in doubt, no duration ends (staleness, minimum
run times, delays, promises); afterwards `on_trust` is called, because some may have ended by now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kai.api.times import SECOND_NS, to_text
from kai.k8s.server_time import AFTER_S, Step

if TYPE_CHECKING:
    from kai.k8s.client import Client
    from kai.service.log import Log
    from kai.service.metrics import Metrics

LOOK_EVERY_S = 1.0
ASK_AFTER_S = 20.0
"""Without an answer for this long, the server's time is read: durations need it."""
ASK_IN_DOUBT_S = 5.0
REPORT_EVERY_S = 600.0
FIX = "synchronize the clocks of the API servers and of this machine"


class TimeKeeping:
    """For the event loop."""

    def __init__(
        self, client: Client, log: Log, metrics: Metrics, on_trust: Callable[[], None]
    ) -> None:
        self._client, self._log, self._metrics = client, log, metrics
        self._on_trust = on_trust
        self._was_trusted = True
        self._asked_at = self._reported_at = float("-inf")
        self._is_reported = False  # the doubt that goes on
        metrics.time_steps.add(by=0)
        metrics.time_in_doubt.set(0)

    async def run(self) -> None:
        while True:
            self.look()
            if self._is_late():
                self._asked_at = self._client.clock.monotonic()
                await self._client.ask_time()
            else:
                await self._client.clock.sleep(LOOK_EVERY_S)

    def look(self) -> None:
        time, now = self._client.time, self._client.clock.monotonic()
        for step in time.take_steps():
            self._metrics.time_steps.add()
            self._log.warning("the time was corrected", **_fields(step), why=step.why, fix=FIX)
            self._is_reported = False  # this ends the doubt
        is_trusted = time.is_trusted(now)
        self._metrics.time_in_doubt.set(0 if is_trusted else 1)
        if is_trusted and not self._was_trusted:
            self._on_trust()
        self._was_trusted = is_trusted
        if time.is_in_doubt and now - self._reported_at >= REPORT_EVERY_S:
            self._reported_at, self._is_reported = now, True
            self._report(now)
        elif self._is_reported and not time.is_in_doubt:
            self._is_reported = False
            self._log.info("the time is not in doubt any more", time=_text(time.at(now) or 0.0))

    def _report(self, now: float) -> None:
        time = self._client.time
        at = time.at(now) or 0.0
        other = at + time.difference()
        self._log.warning(
            "the time is in doubt",
            time=_text(at),
            other=_text(other),
            why="the clocks of the API servers and of this machine differ; until an answer agrees"
            f" with the time again, or the answers of {AFTER_S:g} s agree on another one, no pod is"
            " evicted because time has passed",
            fix=FIX,
        )

    def _is_late(self) -> bool:
        time, now = self._client.time, self._client.clock.monotonic()
        most = ASK_IN_DOUBT_S if time.is_in_doubt else ASK_AFTER_S
        return now - max(time.heard_at, self._asked_at) >= most


def _fields(step: Step) -> dict[str, object]:
    return {
        "before": _text(step.before),
        "after": _text(step.after),
        "seconds": round(step.after - step.before, 1),
    }


def _text(seconds: float) -> str:
    return to_text(int(seconds) * SECOND_NS)
