"""What the courses of pods have found out, for the planning thread, the log and events."""

from __future__ import annotations

from dataclasses import dataclass, field

from kai.controllers.pods.decisions import Binding, Removal
from kai.controllers.verdicts import Event


@dataclass
class Results:
    """`forget`: assumptions that did not come true. `bound`: bindings that succeeded. `failed`:
    bindings that did not, each with the reason. `refused`: those of them that the API server
    refused, and may refuse again for the same node. `stuck`: those that failed several times in a
    row: others should get their resources meanwhile. `evicted` and `spared`: the same of evictions.
    `problems`: sentences for the log.
    """

    forget: list[int] = field(default_factory=list)
    bound: list[Binding] = field(default_factory=list)
    failed: list[tuple[Binding, str]] = field(default_factory=list)
    refused: list[tuple[Binding, str]] = field(default_factory=list)
    stuck: list[tuple[Binding, str]] = field(default_factory=list)
    evicted: list[Removal] = field(default_factory=list)
    spared: list[tuple[Removal, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def take(self) -> Results:
        """Everything since the last call."""
        taken = Results()
        taken.__dict__, self.__dict__ = self.__dict__, taken.__dict__
        return taken

    def add_to(self, other: Results) -> bool:
        """Returns whether the planning thread has something to learn."""
        has_more = False
        for name in ("forget", "bound", "failed", "refused", "stuck", "evicted", "spared"):
            if more := getattr(self, name):
                has_more = True
                getattr(other, name).extend(more)
        return has_more
