"""What keeps the pods of a running group, until when and from which groups, in sentences.

The engine compares the queues on the path of the group's queue with what other queues may reclaim,
and knows the minimum run times. Each sentence is about the next cycles as long as the numbers of
the queues stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kai.api import times
from kai.api.durations import duration_text
from kai.engine import text
from kai.engine.amounts import amount, part


class Level(NamedTuple):
    """A queue on the path of the group's queue, compared with its siblings: queues below these can
    reclaim from the group only what this queue may lose.

    `share`: within_quota, above_quota or above_share, because of `resource`; `held`: what it holds
    of that after the cycle. `bound`: the fair share if it is above that, otherwise the quota;
    None: unlimited. `minimum_ns`, `until_ns`: the reclaimMinRuntime, and when that is over.
    """

    queue: str
    share: str
    resource: str
    held: float
    bound: float | None
    minimum_ns: int
    until_ns: int


@dataclass(frozen=True, slots=True)
class Protection:
    """The facts about one group. `by_order`: groups also preempt others by the order of groups.
    `may_be_moved`: to other nodes, to make room. `spare`: how many of its pods run above the
    minima; minimum run times do not protect these. `minimum_ns`, `until_ns`: preemptMinRuntime.
    `levels`: its own queue first; none: nothing can be reclaimed from it."""

    preemptible: bool
    may_be_preempted: bool
    by_order: bool
    may_be_moved: bool
    priority: int
    spare: int
    minimum_ns: int
    until_ns: int
    levels: Sequence[Level]

    def sentences(
        self, queue: str, now_ns: int, below_share: Callable[[str], str]
    ) -> Iterable[str]:
        """`queue`: its own; `below_share(level)`: the siblings of a queue that are below their fair
        share, or ""."""
        if not self.preemptible:
            yield "It is not preemptible: its pods are not evicted for other pod groups."
            return
        if not (self.may_be_preempted or self.levels or self.may_be_moved):
            yield "No action of this configuration evicts its pods for other pod groups."
        if self.may_be_preempted:
            yield self._preempt(queue, now_ns)
        for level in self.levels:
            is_only = len(self.levels) == 1 and level.queue == queue
            who = "other queues" if is_only else f"queues beside {level.queue}"
            yield self._reclaim(level, who, now_ns, below_share(level.queue))
        if self.may_be_moved:
            yield "Its pods may be moved to other nodes to make room."

    def _preempt(self, queue: str, now_ns: int) -> str:
        which = f"with a priority above {self.priority}"
        if self.by_order:
            which = "that come before it in the order of plugin joborder"
        who = f"Pod groups of queue {queue} {which}"
        if self.until_ns > now_ns:
            until = _until("preempt", self.minimum_ns, self.until_ns)
            return f"{who} cannot preempt {self._subject()} until {until}."
        return f"{who} can preempt it."

    def _reclaim(self, level: Level, who: str, now_ns: int, below: str) -> str:
        has = f"Queue {level.queue} holds {amount(level.resource, level.held)}"
        bound = part(level.resource, level.bound)
        if level.share == "within_quota":
            if not level.held:
                return f"Queue {level.queue} is within its quota: {who} cannot reclaim from it."
            within = "" if level.bound is None else f" of {bound}"
            return f"{has}, within its quota{within}: {who} cannot reclaim from it."
        if level.share == "above_quota":
            has += f", more than its quota of {bound} but within its fair share"
            who += " that stay within their own quota"
        else:
            has += f", more than its fair share of {bound}"
        if level.until_ns > now_ns:
            until = _until("reclaim", level.minimum_ns, level.until_ns)
            return f"{has}, but {who} cannot reclaim {self._subject()} until {until}."
        some = f" Below their fair share: {below}." if below else ""
        if level.share == "above_share" and not below:
            some = " None of them is below its fair share of GPUs now."
        return f"{has}: {who} can reclaim it.{some}"

    def _subject(self) -> str:
        """What a minimum run time protects."""
        if not self.spare:
            return "it"
        return f"it, except {text.count(self.spare, 'pod')} above its minimum,"


def _until(kind: str, minimum_ns: int, until_ns: int) -> str:
    runtime = duration_text(minimum_ns / times.SECOND_NS)
    return f"{times.to_text(until_ns)} ({kind}MinRuntime {runtime})"
