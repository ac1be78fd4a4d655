"""Sums up results: agreement per area, never averaged over areas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kai.verify.cases import Case
from kai.verify.runner import Result

__all__ = ["Area", "Report"]


@dataclass
class Area:
    """The figures of one area."""

    name: str
    judged: int = 0
    agree: int = 0
    explained: int = 0  # agree only with switches turned off; also counted in `agree`
    not_built: int = 0
    reported: int = 0
    alternatives: int = 0  # reported cases whose decisions also occur in a run of KAI
    invalid: int = 0
    crashed: int = 0
    known: int = 0  # break a rule for a known reason
    broken: int = 0
    numbers: int = 0  # cases with recorded queue numbers
    numbers_agree: int = 0
    observed: int = 0  # judged cases that also record what KAI did, which is not required
    observed_agree: int = 0

    @property
    def total(self) -> int:
        return (
            self.judged
            + self.not_built
            + self.reported
            + self.invalid
            + self.crashed
            + self.known
            + self.broken
        )

    def add(self, result: Result) -> None:
        self.judged += result.judged
        self.agree += result.verdict == "agree"
        self.explained += result.verdict == "agree" and bool(result.switches)
        self.not_built += result.verdict == "not_built"
        self.reported += result.verdict == "reported"
        self.alternatives += bool(result.alternative)
        self.invalid += result.verdict == "invalid"
        self.crashed += result.verdict == "crashed"
        self.known += result.verdict == "known"
        self.broken += result.verdict == "broken"
        if result.queue_differences is not None and result.numbers_judged:
            self.numbers += 1
            self.numbers_agree += not result.queue_differences
        if result.judged and result.observed is not None:
            self.observed += 1
            self.observed_agree += result.observed

    def to_dict(self) -> dict[str, Any]:
        return {
            "judged": self.judged,
            "agree": self.agree,
            "agree_percent": percent(self.agree, self.judged),
            "explained": self.explained,
            "not_built": self.not_built,
            "reported": self.reported,
            "alternatives": self.alternatives,
            "invalid": self.invalid,
            "crashed": self.crashed,
            "known": self.known,
            "broken": self.broken,
            "queue_numbers": self.numbers,
            "queue_numbers_agree_percent": percent(self.numbers_agree, self.numbers),
            "observed": self.observed,
            "observed_agree_percent": percent(self.observed_agree, self.observed),
        }


@dataclass
class Report:
    """All results of one run."""

    as_kai: bool
    results: list[Result] = field(default_factory=list)

    @classmethod
    def of(cls, results: Iterable[Result], *, as_kai: bool) -> Report:
        return cls(as_kai, list(results))

    @property
    def areas(self) -> dict[str, Area]:
        """The areas by name, in the order of the results."""
        areas: dict[str, Area] = {}
        for result in self.results:
            name = result.case.area
            areas.setdefault(name, Area(name)).add(result)
        return areas

    @property
    def failed(self) -> bool:
        return any(result.failed for result in self.results)

    @property
    def needs(self) -> Counter[str]:
        """The number of cases that need each feature that is not built."""
        return Counter(need for result in self.results for need in result.needs)

    @property
    def explained(self) -> dict[tuple[str, ...], list[Result]]:
        """The switches that explain differences, and the cases that they explain.

        Sets with fewer switches come first, and of equal size the one that explains more cases.
        """
        found: dict[tuple[str, ...], list[Result]] = {}
        for result in self.results:
            if result.verdict == "agree" and result.switches:
                found.setdefault(result.switches, []).append(result)
        return dict(sorted(found.items(), key=lambda item: (len(item[0]), -len(item[1]), item[0])))

    @property
    def known(self) -> dict[str, list[Result]]:
        """Cases that break a rule for a known reason, by that reason."""
        found: dict[str, list[Result]] = {}
        for result in self.results:
            if result.verdict == "known":
                found.setdefault(result.why[0], []).append(result)
        return found

    @property
    def unseen(self) -> list[Case]:
        """Reported cases in which no run of KAI has the decisions of kai."""
        return [
            result.case
            for result in self.results
            if result.verdict == "reported" and result.alternative is False
        ]

    def failures(self) -> list[Result]:
        return [result for result in self.results if result.failed]

    def to_dict(self) -> dict[str, Any]:
        return {
            "mode": "as-kai" if self.as_kai else "default",
            "agree": not self.failed,
            "areas": {name: area.to_dict() for name, area in self.areas.items()},
            "not_built": dict(sorted(self.needs.items())),
            "explained_by": {
                switches[0]: [_name(result) for result in results]
                for switches, results in sorted(self.explained.items())
                if len(switches) == 1
            },
            "explained_together": [
                {
                    "switches": list(switches),
                    "why": list(results[0].why),
                    "cases": [_name(result) for result in results],
                }
                for switches, results in self.explained.items()
                if len(switches) > 1
            ],
            "known": {why: [_name(each) for each in found] for why, found in self.known.items()},
            "unseen": [f"{case.area}/{case.id}" for case in self.unseen],
            "differences": [self._difference(result) for result in self.failures()],
        }

    def _difference(self, result: Result) -> dict[str, Any]:
        found: dict[str, Any] = {
            "case": result.case.id,
            "area": result.case.area,
            "verdict": result.verdict,
            "differences": sentences(result),
        }
        if result.verdict == "differ" and not self.as_kai:
            found["explained_only_together_by"] = list(result.switches)
        return found


def _name(result: Result) -> str:
    return f"{result.case.area}/{result.case.id}"


def sentences(result: Result) -> list[str]:
    """All differences of one case, as sentences."""
    found = [str(difference) for difference in result.differences]
    if result.numbers_judged:
        found += [str(difference) for difference in result.queue_differences or ()]
    return found


def percent(part: int, whole: int) -> float | None:
    """The percentage, rounded down, so that 100 means all.

    >>> percent(999, 1000), percent(3, 3), percent(0, 0)
    (99.9, 100.0, None)
    """
    return int(1000 * part / whole) / 10 if whole else None
