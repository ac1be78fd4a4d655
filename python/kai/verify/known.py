"""Recorded cases in which a plan is known to break a rule, with the reason.

These cases are not failures; the report shows them with their reasons. Any other broken rule in
the same cases is a failure. A test fails if an entry is no longer needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kai.verify.compare import Difference

__all__ = ["KNOWN_AS_KAI", "Known", "why_known"]

_TWICE = (
    "as KAI does, the plan evicts a pod that the same cycle pipelined, so the resources"
    " are given out twice (switch same_cycle_eviction)"
)


@dataclass(frozen=True)
class Known:
    """The rules that a plan breaks, each with the object concerned, and the reason."""

    broken: frozenset[tuple[str, str]]
    reason: str


KNOWN_AS_KAI: Mapping[str, Known] = MappingProxyType(
    {
        "random/mixed/mixed-051": Known(
            frozenset({("capacity", "n13"), ("capacity", "n22")}), _TWICE
        ),
        "random/second-large/large-mixed-77500": Known(
            frozenset(
                {("capacity", "n16"), ("capacity", "n47"), ("gang", "ns-dept-a-team-2/job-55")}
            ),
            _TWICE,
        ),
        "random/second-large/large-mixed-77512": Known(
            frozenset({("limit", "dept-c-team-1")}), f"{_TWICE}; here a queue exceeds its limit"
        ),
    }
)
"""The known cases of the as-kai mode, by area and name."""


def why_known(case: str, differences: Iterable[Difference]) -> str:
    """The reason if all these differences are known for this case, or else ""."""
    known = KNOWN_AS_KAI.get(case)
    if known is None or not {(each.what, each.about) for each in differences} <= known.broken:
        return ""
    return known.reason
