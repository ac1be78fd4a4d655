"""Share: how much GPU memory one process may use on one GPU, if the request determines it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from kai.api import gpu_memory

SHOWN_AS_TOTAL = ("guard", "hamicore")
"""Isolations with which CUDA reports the share as the size of the device (spec 7 W2)."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """The share of one process on one GPU, as far as it is known before the pod runs.

    budget: MiB that it may use, including what CUDA needs. total: MiB that CUDA will report.
    """

    budget: int | None
    total: int | None
    part: float | None  # KAI's "portion"
    fraction: Fraction | None  # as requested
    limit: int | None  # the limit of HAMi; the guard's is the request itself
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
        """The share of a request for a `fraction` of a GPU, or for `memory` in MiB.

        total: MiB of the GPU, from its node's label; None if unknown.
        """
        exact_fraction = None if fraction is None else Fraction(fraction)
        exact = None if exact_fraction is None else float(exact_fraction)
        known = exact_fraction is not None or total is not None
        part = gpu_memory.portion(total, fraction=exact, memory=memory) if known else None
        limit = gpu_memory.hami_limit(total, part) if part is not None else None
        budget = memory
        if memory is None and total is not None:
            budget = gpu_memory.reserved(total, fraction=exact)
        sees = None if total is None else gpu_memory.device_mib(total)
        if isolation == "hamicore" and total is not None:
            if limit is not None:
                # CUDA already reports the share, so this is a part of *that* (spec 7 W2).
                budget = limit if memory is None else min(memory, limit)
                sees = limit
        elif isolation == "hamicore":
            sees = None
        elif isolation == "guard":
            if exact_fraction is not None and sees is not None:
                budget = math.floor(exact_fraction * sees)
            sees = budget
        return cls(
            budget=None if budget is None else budget // processes,
            total=sees,
            part=part,
            fraction=exact_fraction,
            limit=limit,
            isolation=isolation,
            headroom=headroom,
            processes=processes,
        )

    @property
    def free_mib(self) -> int | None:
        """What an allocator may take; None if unknown."""
        return None if self.budget is None else self.budget - self.headroom

    def allocator_fraction(self) -> Fraction | None:
        """The part of CUDA's total for an allocator; None if unknown."""
        if self.budget is not None and self.total is not None:
            return gpu_memory.allocator_fraction(
                budget=self.budget, total=self.total, headroom=self.headroom
            )
        if self.fraction is not None and self.isolation not in SHOWN_AS_TOTAL:
            return gpu_memory.guessed_fraction(self.fraction, processes=self.processes)
        return None

    def utilization(self) -> Fraction | None:
        """The part of CUDA's total for an engine that counts all its memory; None if unknown."""
        if self.isolation in SHOWN_AS_TOTAL:
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
