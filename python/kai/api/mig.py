"""The GPUs that a MIG slice counts for (spec 3 M2-M5).

>>> part_of_slice("a100_3g.20gb"), part_of_slice("nvidia.com/mig-2g.12gb"), part_of_slice("h100")
(Fraction(3, 7), Fraction(1, 2), None)
>>> gpus_of_slice("nvidia.com/mig-3g.20gb"), gpus_of_slice("nvidia.com/mig-3g.20gb", in_parts=True)
(Fraction(3, 1), Fraction(3, 7))
"""

from __future__ import annotations

import re
from fractions import Fraction

from kai.api import keys

_PROFILE = re.compile(r"(?:^|[^0-9])([1-7])g[._](\d+)gb")
_INSTANCE = re.compile(r"(?:^|[^0-9])([1-7])c[._]")
_COUNTED = re.compile(rf"(?:{re.escape(keys.MIG_PREFIX)})?(\d+)g\.\d+gb")
"""The resources and profiles that count in queues; variants such as 1g.5gb.me do not."""
_SLICES, _SLICES_OF_A30 = 7, 4
_OF_A30 = frozenset(((1, 6), (2, 12), (4, 24)))


def part_of_slice(model: str) -> Fraction | None:
    """The part of its GPU's compute that a slice has; None: the text names no slice.

    A compute instance counts its own slices.

    >>> part_of_slice("nvidia.com/mig-1c.3g.20gb"), part_of_slice("a30:1g.6gb.me")
    (Fraction(1, 7), Fraction(1, 4))
    """
    low = model.lower()
    profile = _PROFILE.search(low)
    if profile is None:
        return None
    compute, memory = int(profile[1]), int(profile[2])
    is_a30 = "a30" in low or (compute, memory) in _OF_A30
    instance = _INSTANCE.search(low)
    own = int(instance[1]) if instance else compute
    return Fraction(own, _SLICES_OF_A30 if is_a30 else _SLICES)


def gpus_of_slice(resource: str, *, in_parts: bool = False) -> Fraction:
    """GPUs that one slice counts for in queues: one for each of its compute slices or, `in_parts`
    (countMigAsParts), its part of the GPU; 0 for other resources. `resource`: with or without
    nvidia.com/mig-."""
    if in_parts:
        part = part_of_slice(resource) if _is_slice(resource) else None
        return Fraction(0) if part is None else part
    match = _COUNTED.fullmatch(resource)
    return Fraction(int(match[1])) if match else Fraction(0)


def _is_slice(resource: str) -> bool:
    return resource.startswith(keys.MIG_PREFIX) or "/" not in resource
