"""The arithmetic of GPU memory shares, in MiB per device (spec 7 W1).

>>> reserved(15360, fraction=0.5), portion(15360, memory=4096)  # a T4
(7650, 0.27)
>>> hami_limit(15360, 0.27)
4147
>>> allocator_fraction(budget=7650, total=15360, headroom=512)
Fraction(58, 125)

KAI rounds in three places, each in a different way: the memory of a device down to a multiple of
100, a memory request up to whole per cents of that, and the portion in the pod's environment to two
decimals. Therefore the memory reserved for a pod differs from the limit that HAMi enforces (KW7).
This module uses the standard library only.
"""

from __future__ import annotations

import math
from fractions import Fraction

UNKNOWN_MIB = 100
"""The memory that KAI assumes for a device if its node has no label for it."""

_BYTES_FROM = 1_048_576  # a label of at least this value is in bytes
_STEP = 1000  # allocator fractions have three decimals
_HEADROOM = Fraction(95, 100)  # of a share of an unknown device (spec 7 W3)
_LEAST_GUESSED = Fraction(1, 10)


def device_mib(total: int) -> int:
    """MiB of the node label nvidia.com/gpu.memory; very large values are in bytes."""
    return total // _BYTES_FROM if total >= _BYTES_FROM else total


def capacity(total: int | None) -> int:
    """M', the memory of a device that KAI hands out: a multiple of 100; 100 without the label."""
    mib = device_mib(total or 0)
    return mib - mib % 100 or UNKNOWN_MIB


def reserved(total: int | None, *, fraction: float | None = None, memory: int | None = None) -> int:
    """R, the memory of the device that is reserved for the pod."""
    if memory is not None:
        return memory
    return math.floor((fraction or 0) * capacity(total))


def portion(
    total: int | None, *, fraction: float | None = None, memory: int | None = None
) -> float:
    """p, the portion of a device: the queue is charged for it, and the pod sees it."""
    if memory is None:
        return fraction or 0.0
    # In floating point, as in KAI: 1071 of 15300 is 7 %, and the result is 8 %.
    return math.ceil(memory / capacity(total) * 100) / 100


def announced(part: float) -> str:
    """The value of GPU_PORTION: two decimals, so 0.125 becomes 0.12."""
    return f"{part:.2f}"


def hami_limit(total: int | None, part: float) -> int | None:
    """L, the limit that HAMi-core enforces for the pod; None if it silently sets no limit."""
    portion_value = float(announced(part))
    if total is None or portion_value == 0:
        return None
    return math.floor(device_mib(total) * portion_value)


def allocator_fraction(*, budget: int, total: int, headroom: int) -> Fraction | None:
    """a, the fraction of the total that an allocator may use; None if nothing is left (spec 7 W1).

    total: the memory that CUDA reports. If that is the share already, the budget must be the same
    (spec 7 W2).
    """
    if budget <= headroom or total <= 0:
        return None
    return Fraction(_STEP * (budget - headroom) // total, _STEP) or None


def guessed_fraction(fraction: Fraction, *, processes: int = 1) -> Fraction | None:
    """a for an unknown device; None if the share is too small for a guess (spec 7 W3)."""
    each = fraction / processes
    if each < _LEAST_GUESSED:
        return None
    return Fraction(math.floor(_STEP * each * _HEADROOM), _STEP)


def utilization(*, budget: int, total: int) -> Fraction:
    """The fraction for an engine that counts all its memory, such as vLLM, in whole per cents."""
    return Fraction(100 * budget // total, 100)
