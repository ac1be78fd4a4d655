"""docs/reference/metrics.md has a row for every metric, as the program shows it, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from kai.service.metrics import Metrics
from kai.service.series import Series

PAGE = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()
UNITS = {
    "_milliseconds": "ms",
    "_bind_latency": "ms",
    "_seconds": "s",
    "_bytes": "bytes",
    "_gb": "10^9 bytes",
    "_cores": "cores",
    "_gpu": "GPUs",
    "_gpus": "GPUs",
}
SECTIONS = {
    "Of the scheduler, as KAI's": ("scheduler", True),
    "Of the queue controller, as KAI's": ("queue-controller", True),
    "Of controllers, as controller-runtime's": ("", True),
    "Ours": ("scheduler", False),
}


def row(series: Series) -> str:
    name = series.name.removesuffix("_total")
    unit = next((unit for end, unit in UNITS.items() if name.endswith(end)), "")
    labels = ", ".join(f"`{each}`" for each in series.labels)
    cells = (f"`{series.name}`", series.kind, labels, unit, series.meaning)
    return "| " + " | ".join(cells).replace("|  |", "| |").replace("|  |", "| |") + " |"


def section(heading: str) -> str:
    return PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def rows_of(role: str, *, kais: bool) -> list[str]:
    """Those that all roles have, or those that a role has and the others lack."""
    others = "pod-grouper"
    common = {each.name for each in Metrics(roles=(others,))}
    if not kais:
        return [row(each) for each in Metrics(roles=(role,)) if not each.is_kais]
    found = Metrics(roles=(role or others,))
    return [row(each) for each in found if each.is_kais and (each.name in common) == (not role)]


def test_every_metric_has_its_row() -> None:
    for heading, (role, kais) in SECTIONS.items():
        found = [line for line in section(heading).splitlines() if line.startswith("| `")]
        assert found == rows_of(role, kais=kais), f"rows of {heading!r}"
    shown = re.findall(r"^\| `(\w+)` \| (?:gauge|counter|histogram) ", PAGE, re.MULTILINE)
    assert sorted(shown) == sorted(each.name for each in Metrics())


def test_what_is_missing_of_kai_is_missing() -> None:
    missing = re.findall(r"`(kai_\w+)`", section("What KAI has and kai does not"))
    assert len(missing) > 5
    assert not {*missing} & {each.name for each in Metrics()}


def test_alerts_name_metrics_that_are_there() -> None:
    samples = {each.name for each in Metrics()}
    samples |= {
        each.name + end
        for each in Metrics()
        if each.kind == "histogram"
        for end in ("_bucket", "_sum", "_count")
    }
    used = set(re.findall(r"\b((?:kai|workqueue|controller_runtime)_\w+)", section("Alerts")))
    assert used
    assert used <= samples
