"""What others did with the lists of openb: KAI's placements, and the published experiment."""

import csv
from pathlib import Path

from kai.sim import openb


def recorded() -> list[Path]:
    """KAI's recorded placement of some lists, one file each, in `conformance/openb` beside the
    data."""
    beside = openb.folder().parent.resolve().parent
    return sorted((beside / "conformance" / "openb").glob("*.json"))


def expected_share(workload: str, policy: str, demand: float) -> float | None:
    """The allocated share of all GPUs in the published experiment, in percent.

    At the time when pods had requested `demand` percent of them; the mean of ten orders of arrival.
    """
    table = openb.folder().parent / "openb_expected" / "analysis_allo_discrete.csv"
    if not table.is_file():
        return None
    column = str(min(round(demand), 130))
    name = f"openb_pod_list_{workload}"
    with table.open(encoding="utf-8", newline="") as file:
        shares = [
            float(row[column])
            for row in csv.DictReader(file)
            if row["workload"] == name and row["sc_policy"] == policy and row[column]
        ]
    return sum(shares) / len(shares) if shares else None
