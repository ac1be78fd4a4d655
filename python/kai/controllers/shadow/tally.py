"""Sums of comparisons, for metrics, pages and files.

tally = Tally()
tally.add(compared)
tally.to_dict()
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from kai.controllers.shadow.values import Compared

MOST_KEPT = 1000
"""The number of differences that are kept in full; all of them are counted."""


class Tally:
    """`counts`: by subject, outcome, cause and switches. `differences`: the latest ones."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.counts: Counter[tuple[str, str, str, tuple[str, ...]]] = Counter()
        self.differences: deque[Compared] = deque(maxlen=most)

    def add(self, compared: Compared) -> None:
        key = (compared.subject, compared.outcome, compared.cause, compared.switches)
        self.counts[key] += 1
        if not compared.is_same:
            self.differences.append(compared)

    @property
    def same(self) -> int:
        return sum(n for (_, outcome, _, _), n in self.counts.items() if outcome == "same")

    @property
    def compared(self) -> int:
        """The number of decisions, without those for which no planned state exists."""
        return sum(n for (_, outcome, _, _), n in self.counts.items() if outcome != "not_compared")

    @property
    def unexplained(self) -> int:
        return sum(n for (_, _, cause, _), n in self.counts.items() if cause == "unknown")

    def share(self) -> float | None:
        """The fraction of equal decisions, from 0 to 1; None: no decisions."""
        return self.same / self.compared if self.compared else None

    def rows(self) -> list[dict[str, Any]]:
        """One row for each kind of comparison, most frequent first."""
        names = ("subject", "outcome", "cause")
        return [
            {**dict(zip(names, key[:3], strict=True)), "switches": list(key[3]), "count": count}
            for key, count in sorted(self.counts.items(), key=lambda each: (-each[1], each[0]))
        ]

    def to_dict(self) -> dict[str, Any]:
        share = self.share()
        return {
            "compared": self.compared,
            "same": self.same,
            "same_share": None if share is None else round(share, 4),
            "unexplained": self.unexplained,
            "counts": self.rows(),
            "differences": [each.to_dict() for each in self.differences],
        }
