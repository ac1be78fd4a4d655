"""The arithmetic of a share of GPU memory, all of it in MiB and per device (spec 7 W1).

>>> reserved(15360, fraction=0.5), portion(15360, memory=4096)  # a T4
(7650, 0.27)
>>> hami_limit(15360, 0.27)
4147
>>> allocator_fraction(budget=7650, total=15360, headroom=512)
Fraction(58, 125)

KAI rounds in three places, each to its own taste: the memory of a device down to a whole hundred,
a memory request up to a whole per cent of that, and what it tells the pod to two decimals. So what
is reserved for a pod and what HAMi holds it to are different numbers (KW7). Standard library only.
"""

from __future__ import annotations

import math
from fractions import Fraction

UNKNOWN_MIB = 100
"""What KAI takes for the memory of a device whose node does not say."""

_BYTES_FROM = 1_048_576  # a label at least this large counts bytes
_STEP = 1000  # allocator fractions have three decimals
_GUESS = Fraction(95, 100)  # of a share whose device is not known (spec 7 W3)
_LEAST_GUESSED = Fraction(1, 10)


def device_mib(total: int) -> int:
    """Of the node label nvidia.com/gpu.memory: MiB, or bytes where it is that large."""
    return total // _BYTES_FROM if total >= _BYTES_FROM else total


def capacity(total: int | None) -> int:
    """M', what KAI hands out of a device: whole hundreds; 100 where the label is missing."""
    mib = device_mib(total or 0)
    return mib - mib % 100 or UNKNOWN_MIB


def reserved(total: int | None, *, fraction: float | None = None, memory: int | None = None) -> int:
    """R, what the pod takes of a device."""
    if memory is not None:
        return memory
    return math.floor((fraction or 0) * capacity(total))


def portion(
    total: int | None, *, fraction: float | None = None, memory: int | None = None
) -> float:
    """p, the part of a device that the queue is charged and the pod is told."""
    if memory is None:
        return fraction or 0.0
    return _whole_percents(memory / capacity(total))


def _whole_percents(part: float) -> float:
    # In floating point, as KAI has it: 1071 of 15300 is 7 %, and comes out as 8.
    return math.ceil(part * 100) / 100


def announced(part: float) -> str:
    """GPU_PORTION: two decimals, so that 0.125 is announced as 0.12."""
    return f"{part:.2f}"


def hami_limit(total: int | None, part: float) -> int | None:
    """L, what HAMi-core holds the pod to; None where it sets no limit, and says nothing of it."""
    told = float(announced(part))
    if total is None or told == 0:
        return None
    return math.floor(device_mib(total) * told)


def allocator_fraction(*, budget: int, total: int, headroom: int) -> Fraction | None:
    """a, the part of the total that an allocator may take; None: nothing is left (spec 7 W1).

    total: what CUDA reports. Where that is the share already, so has the budget to be (spec 7 W2).
    """
    if budget <= headroom or total <= 0:
        return None
    return Fraction(_STEP * (budget - headroom) // total, _STEP) or None


def guessed_fraction(fraction: Fraction, *, processes: int = 1) -> Fraction | None:
    """a, where the device is not known; None for a share too small to guess for (spec 7 W3)."""
    each = fraction / processes
    if each < _LEAST_GUESSED:
        return None
    return Fraction(math.floor(_STEP * each * _GUESS), _STEP)


def utilization(*, budget: int, total: int) -> Fraction:
    """Of an engine that counts everything it takes, as vLLM does: whole per cents."""
    return Fraction(100 * budget // total, 100)
