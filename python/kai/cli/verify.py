"""``kai verify``: runs cases with expected decisions."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from kai.cli.failures import ANSWER_IS_NO, BAD_INPUT, DONE, print_error
from kai.cli.output import json_options
from kai.cli.work import as_kai_option, error_console

if TYPE_CHECKING:
    from kai.cli.show import Page
    from kai.engine.text import Table
    from kai.verify import Area, Report, Result

PROGRESS_AFTER_S = 1.0
SENTENCES_PER_CASE = 3


@click.command(
    "verify",
    epilog="""\b
Examples:
  kai verify --as-kai                       KAI's recorded decisions
  kai verify --as-kai --area fairness
  kai verify policies/                      scenario files of your own, for CI
  kai verify policies/team-a.yaml --json | jq .areas
""",
)
@click.argument("cases", metavar="CASES...", nargs=-1)
@as_kai_option
@json_options("text", help="one object")
@click.option(
    "--area",
    "areas",
    multiple=True,
    metavar="NAME",
    help="Run only this area, such as random/fairness.",
)
@click.option(
    "--limit-differences",
    type=click.IntRange(min=0),
    default=10,
    metavar="N",
    help="Show the differences of the first N cases [10].",
)
def command(
    cases: tuple[str, ...],
    as_kai: bool,
    as_json: bool,
    areas: tuple[str, ...],
    limit_differences: int,
) -> int:
    """Run cases with expected decisions, and report the agreement per area.

    CASES are recorded cases (files, directories or an archive) and scenario files
    (YAML). Without CASES, the recorded cases of the checkout run, or those in the
    directory that the variable KAI_CONFORMANCE names. The exit status is 1 if a
    judged case differs, and 2 if a file is broken. In scenarios, unknown names,
    objects that would be left out, and warnings also count as broken.

    Without --as-kai, a recorded case may differ if switches explain the whole
    difference: one switch alone, or several switches with a known interaction.
    """
    from kai.verify import CaseError, Engine, Report, default_cases, find_cases, in_area, verify

    found, broken = find_cases(cases or [default_cases()])
    for error in broken:
        print_error(str(error))
    if broken and not found:
        return BAD_INPUT
    chosen = [case for case in found if not areas or any(in_area(case, area) for area in areas)]
    if not chosen:
        known = ", ".join(dict.fromkeys(case.area for case in found))
        raise CaseError(f"no case is in {' or '.join(areas)}; the areas are: {known}")
    engine = Engine(as_kai=as_kai)
    results = verify(chosen, engine, switches=engine.switches())
    report = Report.of(_with_progress(results, len(chosen)), as_kai=as_kai)
    if as_json:
        data = {**report.to_dict(), "broken": [str(error) for error in broken]}
        click.echo(json.dumps(data, ensure_ascii=False))
    else:
        _print(report, limit_differences, len(broken))
    if broken or any(result.verdict == "broken" for result in report.results):
        return BAD_INPUT
    return ANSWER_IS_NO if report.failed else DONE


def _with_progress(results: Iterable[Result], total: int) -> Iterator[Result]:
    """Shows a progress bar on a terminal after a second."""
    if not sys.stderr.isatty():
        yield from results
        return
    from rich.progress import Progress

    start = time.monotonic()
    with Progress(console=error_console(), transient=True) as progress:
        task = progress.add_task("cases", total=total, visible=False)
        for result in results:
            yield result
            visible = time.monotonic() - start > PROGRESS_AFTER_S
            progress.update(task, advance=1, visible=visible)


# --- text output ----------------------------------------------------------------------------------

_NOTES = {
    "agree": "agree: judged cases that agree.",
    "unbuilt": "unbuilt: cases that need a feature that kai does not have yet.",
    "reported": "reported: not judged, because KAI contradicts itself there.",
    "seen": "seen: reported cases that agree with one of KAI's recorded decisions.",
    "queues": "queues: percent of cases with the same queue numbers as KAI.",
    "KAI": "KAI: percent of cases that take all of KAI's decisions, where fewer are required.",
}


def _print(report: Report, limit: int, unread: int) -> None:
    from kai.cli.show import Page
    from kai.engine import text
    from kai.engine.text import Table

    page = Page()
    explained = report.explained
    page.heading(_headline(report))
    folders: dict[str, list[Area]] = {}
    for name, area in report.areas.items():
        folders.setdefault(name.partition("/")[0], []).append(area)
    tables = [_area_table(folder, areas) for folder, areas in folders.items()]
    page.tables(tables)
    shown = {column for table in tables for column in table.columns}
    if not shown.isdisjoint(("unbuilt", "reported")):
        page.paragraph("\n".join(note for column, note in _NOTES.items() if column in shown))
    page.tables(
        [
            Table(
                "not built", ("cases", "missing feature"), _ranked(report.needs.items()), right={0}
            ),
            Table(
                "explained by one switch",
                ("cases", "agree with compat", "examples"),
                [
                    (str(len(results)), f"{switches[0]}: kai", _some(results))
                    for switches, results in explained.items()
                    if len(switches) == 1
                ],
                right={0},
            ),
        ]
    )
    several = {names: results for names, results in explained.items() if len(names) > 1}
    if several:
        lines = ["explained by several switches"]
        for names, results in several.items():
            lines.append(f"  {', '.join(names[:-1])} and {names[-1]}: {_some(results)}")
        page.paragraph("\n".join(lines))
        reasons = dict.fromkeys(why for results in several.values() for why in results[0].why)
        page.paragraph(
            "\n".join(["how one switch affects another", *(f"  {why}" for why in reasons)])
        )
    if report.known:
        lines = ["known differences: not judged; their plans break a rule"]
        for why, results in report.known.items():
            lines.append(f"  {', '.join(each.case.id for each in results)}: {why}")
        page.paragraph("\n".join(lines))
    _print_differences(page, report, limit)
    failures = len(report.failures())
    if failures:
        page.heading(f"{failures} of {len(report.results)} cases fail")
    else:
        page.heading("All judged cases agree.")
    if unread:
        page.paragraph(f"{text.count(unread, 'mistake')} in files that did not run, listed above")


def _headline(report: Report) -> str:
    from kai.engine import text

    count = len(report.results)
    if all(result.case.kind == "scenario" for result in report.results):
        return text.count(count, "scenario") + (", decided as KAI does" if report.as_kai else "")
    mode = "as KAI decides" if report.as_kai else "with kai's corrections"
    return f"{text.count(count, 'case')} with expected decisions, {mode}"


def _area_table(folder: str, areas: list[Area]) -> Table:
    from kai.engine.text import Table

    rows = []
    for area in areas:
        figures = area.to_dict()
        rows.append(
            (
                area.name.rpartition("/")[2],
                f"{area.agree}/{area.judged}" if area.judged else "",
                _percent(figures["agree_percent"]),
                str(area.not_built or ""),
                str(area.reported or ""),
                str(area.alternatives) if area.reported else "",
                _percent(figures["queue_numbers_agree_percent"]),
                _percent(figures["observed_agree_percent"]),
            )
        )
    heads = ("area", "agree", "%", "unbuilt", "reported", "seen", "queues", "KAI")
    used = [at for at in range(len(heads)) if at < 3 or any(row[at] for row in rows)]
    columns = [heads[at] for at in used]
    shown = [[row[at] for at in used] for row in rows]
    broken = sum(area.invalid + area.crashed + area.broken for area in areas)
    note = f"{broken} more are not judged; their plans break a rule" if broken else ""
    return Table(folder, columns, shown, right=frozenset(range(1, len(columns))), note=note)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}".replace("100.0", "100")


def _some(results: Sequence[Result]) -> str:
    """The names of the first two cases; --json has all."""
    shown = ", ".join(result.case.id for result in results[:2])
    return shown if len(results) <= 2 else f"{shown} and {len(results) - 2} more"


def _unexplained(report: Report, result: Result) -> str:
    """States how the switches relate to a difference that they do not explain."""
    if report.as_kai or result.verdict != "differ" or result.case.kind == "scenario":
        return ""
    if result.switches:
        names = " and ".join(result.switches)
        return f"; only {names} together explain it, and their interaction is unknown"
    return "; no switch explains it"


def _ranked(counts: Iterable[tuple[str, int]]) -> list[tuple[str, str]]:
    """The most frequent first."""
    return [(str(n), name) for name, n in sorted(counts, key=lambda item: (-item[1], item[0]))]


def _print_differences(page: Page, report: Report, limit: int) -> None:
    from kai.verify.report import sentences

    failures = report.failures()
    for result in failures[:limit]:
        lines = sentences(result)
        more = len(lines) - SENTENCES_PER_CASE
        shown = [f"  {sentence}" for sentence in lines[:SENTENCES_PER_CASE]]
        title = f"{result.case.area} {result.case.id}: {result.verdict.replace('_', ' ')}"
        title += _unexplained(report, result)
        page.paragraph("\n".join([title, *shown, *([f"  and {more} more"] if more > 0 else [])]))
    if limit and len(failures) > limit:
        page.paragraph(
            f"and {len(failures) - limit} more cases; --limit-differences {len(failures)} shows all"
        )
