"""Recorded clusters for properties: the first few of some areas."""

from collections.abc import Iterable
from pathlib import Path

from kai.verify.cases import Case, read_cases

ARCHIVE = Path(__file__).parents[1] / "conformance" / "cases.tar.xz"


def first_of(areas: Iterable[str], per_area: int) -> list[Case]:
    """The first `per_area` random cases of each area."""
    cases = read_cases([ARCHIVE])
    return [
        case
        for area in areas
        for case in [each for each in cases if each.area == f"random/{area}"][:per_area]
    ]
