"""kai verify: does this scheduler decide as it should?"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from kai.verify import Case, Report, Result

WIDTH = 80
PROGRESS_AFTER_S = 1.0
SENTENCES_PER_CASE = 3


@click.command("verify")
@click.argument("cases", nargs=-1, type=click.Path())
@click.option("--as-kai", is_flag=True, help="Decide as KAI does also where kai knows better.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option(
    "--area", "areas", multiple=True, metavar="NAME", help="Only this area, e.g. random/fairness."
)
@click.option(
    "--limit-differences",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Say what differs in the first N cases.",
)
def command(
    cases: tuple[str, ...],
    as_kai: bool,
    as_json: bool,
    areas: tuple[str, ...],
    limit_differences: int,
) -> None:
    """Run cases with known answers and report agreement per area.

    CASES are recorded cases (files, directories, or an archive of them) and scenario files
    (*.yaml). Without any, the recorded cases of this checkout are run, or those that
    KAI_CONFORMANCE names.

    The exit status is 1 if anything that is judged differs.
    """
    from kai.errors import KaiError
    from kai.verify import CaseError, Engine, Report, default_cases, in_area, read_cases

    try:
        found = read_cases(cases or [default_cases()])
        chosen = [case for case in found if not areas or any(in_area(case, a) for a in areas)]
        if not chosen:
            known = ", ".join(dict.fromkeys(case.area for case in found))
            raise CaseError(f"no case is in {' or '.join(areas)}; there are: {known}")
        engine = Engine(as_kai=as_kai)
        report = Report.of(_results(chosen, engine), as_kai=as_kai)
    except KaiError as error:
        click.echo(f"kai verify: {error}", err=True)
        sys.exit(2)
    if as_json:
        click.echo(json.dumps(report.to_dict(), ensure_ascii=False))
    else:
        _print(report, limit_differences)
    sys.exit(1 if report.failed else 0)


def _results(cases: list[Case], engine: object) -> Iterator[Result]:
    from kai.verify import Engine, verify

    assert isinstance(engine, Engine)
    return _with_progress(verify(cases, engine, switches=engine.switches()), len(cases))


def _with_progress(results: Iterable[Result], total: int) -> Iterator[Result]:
    """Shows a bar on a terminal when it takes longer than a second."""
    if not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import Progress

    start = time.monotonic()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("cases", total=total, visible=False)
        for result in results:
            yield result
            progress.update(task, advance=1, visible=time.monotonic() - start > PROGRESS_AFTER_S)


# --- for people ----------------------------------------------------------------------------------


def _print(report: Report, limit: int) -> None:
    from rich.console import Console

    # Wide enough for a table also where no terminal says how wide it is.
    console = Console(highlight=False, soft_wrap=True)
    console.print(_table(report), width=max(WIDTH, min(console.width, 100)))
    _print_needs(console, report)
    _print_differences(console, report, limit)
    mode = "as KAI" if report.as_kai else "with kai's mends"
    if report.failed:
        failures = len(report.failures())
        console.print(f"\n[red]{failures} of {len(report.results)} cases fail[/], decided {mode}")
    else:
        console.print(f"\n[green]everything judged agrees[/], decided {mode}")


def _table(report: Report) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("area", no_wrap=True, vertical="bottom")
    for title in (
        "agree",
        "%",
        "not\nbuilt",
        "re-\nported",
        "in-\nvalid",
        "queues\n%",
        "KAI did\n%",
    ):
        table.add_column(title, justify="right", no_wrap=True, vertical="bottom")
    heading = ""
    for name, area in report.areas.items():
        folder, _, short = name.rpartition("/")
        if folder and folder != heading:
            table.add_row(f"[bold]{folder}[/]")
        heading = folder
        figures = area.to_dict()
        broken = area.invalid + area.crashed
        colour = "red" if area.agree < area.judged else "green"
        table.add_row(
            f" {short}" if folder else short,
            f"{area.agree}/{area.judged}" if area.judged else "",
            f"[{colour}]{_percent(figures['agree_percent'])}[/]" if area.judged else "",
            _count(area.not_built),
            _count(area.reported),
            f"[red]{broken}[/]" if broken else "",
            _percent(figures["queue_numbers_agree_percent"]),
            _percent(figures["observed_agree_percent"]),
        )
    return table


def _count(number: int) -> str:
    return str(number) if number else ""


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}".replace("100.0", "100")


def _print_needs(console: Console, report: Report) -> None:
    if report.needs:
        console.print("\n[bold]not built[/]")
    for need, cases in sorted(report.needs.items(), key=lambda item: (-item[1], item[0])):
        console.print(f"  {cases:4d} cases need {need}", markup=False)
    if report.switches:
        console.print("\n[bold]explained by one mend[/]")
    for switch, cases in sorted(report.switches.items()):
        console.print(f"  {cases:4d} cases agree with {switch}: kai", markup=False)


def _print_differences(console: Console, report: Report, limit: int) -> None:
    from kai.verify.report import sentences

    failures = report.failures()
    if failures and limit:
        console.print("\n[bold]differences[/]")
    for result in failures[:limit]:
        console.print(f"  {result.case.area} {result.case.id}: {result.verdict}", markup=False)
        said = sentences(result)
        for sentence in said[:SENTENCES_PER_CASE]:
            console.print(f"    {sentence}", markup=False)
        if len(said) > SENTENCES_PER_CASE:
            console.print(f"    and {len(said) - SENTENCES_PER_CASE} more")
    if limit and len(failures) > limit:
        more = len(failures) - limit
        console.print(f"  and {more} more cases; --limit-differences {len(failures)} shows all")
