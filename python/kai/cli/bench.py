"""``kai bench``: times of loading and planning on this machine."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kai.cli.adding import flag
from kai.cli.failures import DONE, print_error
from kai.cli.output import json_options

if TYPE_CHECKING:
    from kai.engine.text import Table
    from kai.sim.bench import Measured
    from kai.sim.memory import Held
    from kai.sim.workloads import Workload


@click.command(
    "bench",
    epilog="""\b
Examples:
  kai bench                         all workloads; takes some minutes
  kai bench fill-500 event-5000     two workloads
  kai bench --data DIR openb        a real cluster; DIR contains openb/
  kai bench --large --loads 1       a million pods; needs 4 GB of memory
  kai bench --json | jq '{name, plan_ms}'
  kai bench --memory fill-5000      memory use by column
""",
)
@click.argument("workloads", metavar="[WORKLOAD]...", nargs=-1)
@click.option(
    "--loads", default=5, type=click.IntRange(1), help="How often each workload is loaded [5]."
)
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory that contains openb/, the Alibaba cluster [$KAI_DATA].",
)
@flag("--large", help="Add the workloads with a million pods.")
@flag("--list", "lists", help="List the workload families, and measure nothing.")
@flag("--memory", "memory", help="Measure memory by column instead of times.")
@json_options("text", help="an object per workload, one per line")
def command(
    workloads: tuple[str, ...],
    loads: int,
    data: Path | None,
    large: bool,
    lists: bool,
    memory: bool,
    as_json: bool,
) -> int:
    """Measure the times of loading and planning generated clusters.

    WORKLOAD is a family and a size, such as fill-500; the default is all standard
    workloads. The same name gives the same cluster on every machine. The output
    has the smallest time of all loads, on one thread: "load" is from bytes to a
    checked cluster; "plan" is the first plan; "next" is a later plan with its
    events; "bar" is our target for "next", or for "plan" if there is no "next";
    "KAI" is one cycle of KAI Scheduler on a similar machine; "floor" is the time
    to copy the same amount of memory here; "page" is from a plan to its text;
    "why" and "fix" are answers about the first group that waits, if one does.

    --memory shows instead the memory of the compiled engine after the first plan
    of a live cluster, computed from the capacities of its containers.
    """
    from kai.cli.show import Page
    from kai.cli.work import patiently
    from kai.errors import NotFoundError
    from kai.sim import workloads as known
    from kai.sim.bench import measure
    from kai.sim.families import FAMILIES

    if lists:
        page = Page()
        for name in FAMILIES:
            page.paragraph(f"{name}-SIZE: {known.workload(f'{name}-1').about}")
        page.paragraph("openb, openb-LIST, openb-reclaim-31: the Alibaba cluster; needs --data")
        return DONE
    chosen = []
    left_out = []
    for name in (workloads or known.LADDER) + (known.LARGE if large else ()):
        try:
            chosen.append(known.workload(name, data))
        except NotFoundError:
            if workloads or not known.needs_data(name):
                raise
            left_out.append(name)
    if left_out:
        names = " and ".join(left_out)
        print_error(
            f"left out {names}: neither --data nor KAI_DATA names a folder with their lists"
        )
    if memory:
        return _memory(chosen, as_json)
    measured = []
    for each in chosen:
        done = patiently(f"measuring {each.name}", lambda each=each: measure(each, loads))  # type: ignore[misc]
        measured.append(done)
        if as_json:
            click.echo(json.dumps(dataclasses.asdict(done)))
    if not as_json:
        Page().tables([_plans(measured), _loads(measured), _answers(measured)])
    return DONE


def _memory(chosen: list[Workload], as_json: bool) -> int:
    from kai.cli.show import Page
    from kai.cli.work import patiently
    from kai.sim.memory import hold

    page = Page()
    for each in chosen:
        held = patiently(f"loading {each.name}", lambda each=each: hold(each))  # type: ignore[misc]
        if as_json:
            click.echo(json.dumps(dataclasses.asdict(held)))
        else:
            page.tables([_memory_table(held)])
    return DONE


def _memory_table(held: Held) -> Table:
    from kai.engine import text

    def row(part: str, column: str, count: int, size: int) -> tuple[str, ...]:
        each = f"{size / count:,.0f}" if count else ""
        number = text.number(count) if count else ""
        return part, column, number, text.number(size), each, f"{size / held.bytes:.1%}"

    columns = sorted(held.columns, key=lambda each: -each.bytes)
    rows = [row(each.part, each.column, each.count, each.bytes) for each in columns]
    rows.append(row("all", "per pod", held.pods, held.bytes))
    return text.Table(
        f"{held.name}: bytes by column",
        ("part", "column", "number", "bytes", "each", "of all"),
        rows,
        right=frozenset(range(2, 6)),
    )


def _plans(measured: list[Measured]) -> Table:
    from kai.engine import text

    return text.Table(
        "Planning: smallest times",
        ("workload", "plan", "next", "bar", "beyond", "floor", "KAI"),
        [
            (
                each.name,
                *map(_time, (each.plan_ms, each.further_ms, each.bar_ms, each.beyond_ms)),
                _time(None if each.events is not None else each.plan_floor_ms or None),
                _time(each.kai_ms),
            )
            for each in measured
        ],
        right=frozenset(range(1, 7)),
    )


def _loads(measured: list[Measured]) -> Table:
    from kai.engine import text
    from kai.sim.workloads import LOAD_BAR_MB_PER_S, LOAD_BAR_US, PAGE_BARS_MS, PYTHON_BARS_MS

    python = "; ".join(f"{name} {ms:g} ms" for name, (ms, _) in PYTHON_BARS_MS.items())
    page = "; ".join(f"{ms:g} ms" for ms in PAGE_BARS_MS.values())
    return text.Table(
        "Loading; Python: from bytes to list(plan.decisions); page: print(plan)",
        ("workload", "objects", "MB", "load", "floor", "each", "MB/s", "Python", "page"),
        [
            (
                each.name,
                text.number(each.objects),
                f"{each.megabytes:.1f}",
                _time(each.load_ms),
                _time(each.load_floor_ms),
                _time(each.load_ms / each.objects),
                f"{each.megabytes / each.load_ms * 1e3:,.0f}",
                _time(each.python_ms),
                _time(each.page_ms),
            )
            for each in measured
        ],
        right=frozenset(range(1, 9)),
        note=(
            f"Targets: {LOAD_BAR_US[0]:g} us each; real "
            f"{LOAD_BAR_MB_PER_S[0]} MB/s; Python {python}; page {page}"
        ),
    )


def _answers(measured: list[Measured]) -> Table:
    from kai.engine import text

    return text.Table(
        "Answers for the first waiting group: CPU times",
        ("workload", "why", "first fix", "all fixes", "plans", "a plan"),
        [
            (
                each.name,
                *map(_time, (each.why_ms, each.first_fix_ms, each.fixes_ms)),
                "" if each.fix_plans is None else text.number(each.fix_plans),
                _time(each.plan_cpu_ms),
            )
            for each in measured
            if each.why_ms is not None
        ],
        right=frozenset(range(1, 6)),
    )


def _time(ms: float | None) -> str:
    """With at least two digits: "1.5 ms", "21 us", "300 s"."""
    if ms is None:
        return ""
    for unit, of_unit in (("s", ms / 1e3), ("ms", ms), ("us", ms * 1e3)):
        if of_unit >= 1 or unit == "us":
            return f"{of_unit:.1f} {unit}" if of_unit < 10 else f"{of_unit:,.0f} {unit}"
    return ""
