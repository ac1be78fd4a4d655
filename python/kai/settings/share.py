"""Share: how much GPU memory one process may use on one device, as far as its request tells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from kai.api import gpu_memory


@dataclass(frozen=True, kw_only=True)
class Share:
    """The share of one process on one device, as far as it is known when the pod is described.

    budget: MiB that it may use, with what CUDA takes for itself. total: MiB that CUDA will report.
    """

    budget: int | None
    total: int | None
    part: float | None  # what KAI calls the portion
    fraction: Fraction | None  # as asked for
    limit: int | None  # HAMi's
    isolation: str
    headroom: int
    processes: int

    @classmethod
    def of(
        cls,
        *,
        fraction: str | None,
        memory: int | None,
        total: int | None,
        isolation: str,
        headroom: int,
        processes: int,
    ) -> Share:
        """The share of a request for a `fraction` of a device, or for `memory` in MiB.

        total: MiB of the device, as its node's label has it; None where it is not known.
        """
        asked = None if fraction is None else Fraction(fraction)
        exact = None if asked is None else float(asked)
        known = asked is not None or total is not None
        part = gpu_memory.portion(total, fraction=exact, memory=memory) if known else None
        limit = gpu_memory.hami_limit(total, part) if part is not None else None
        budget = memory
        if memory is None and total is not None:
            budget = gpu_memory.reserved(total, fraction=exact)
        sees = None if total is None else gpu_memory.device_mib(total)
        if isolation == "hamicore" and total is not None:
            if limit is not None:
                # What CUDA reports is the share already: a part of *that* (spec 7 W2).
                budget = limit if memory is None else min(memory, limit)
                sees = limit
        elif isolation == "hamicore":
            sees = None
        return cls(
            budget=None if budget is None else budget // processes,
            total=sees,
            part=part,
            fraction=asked,
            limit=limit,
            isolation=isolation,
            headroom=headroom,
            processes=processes,
        )

    @property
    def free_mib(self) -> int | None:
        """What an allocator may take; None where it is not known."""
        return None if self.budget is None else self.budget - self.headroom

    def allocator_fraction(self) -> Fraction | None:
        """Of the total that CUDA will report; None where it is not known."""
        if self.budget is not None and self.total is not None:
            return gpu_memory.allocator_fraction(
                budget=self.budget, total=self.total, headroom=self.headroom
            )
        if self.fraction is not None and self.isolation != "hamicore":
            return gpu_memory.guessed_fraction(self.fraction, processes=self.processes)
        return None

    def utilization(self) -> Fraction | None:
        """Of an engine that counts all it takes, of the total that CUDA will report."""
        if self.isolation == "hamicore":
            most = Fraction(90, 100 * self.processes)
            if self.budget is None or self.total is None:
                return Fraction(math.floor(100 * most), 100)
            exact = min(most, gpu_memory.utilization(budget=self.budget, total=self.total))
            return Fraction(math.floor(100 * exact), 100)
        if self.budget is not None and self.total is not None:
            return gpu_memory.utilization(budget=self.budget, total=self.total) or None
        guess = (
            None
            if self.fraction is None
            else gpu_memory.guessed_fraction(self.fraction, processes=self.processes)
        )
        return None if guess is None else Fraction(math.floor(100 * guess), 100)
