"""``kai lint``: finds settings that KAI would refuse or silently ignore."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from kai.api.visible import visible
from kai.cli.adding import flag
from kai.cli.failures import ANSWER_IS_NO, BAD_INPUT, DONE, print_error
from kai.cli.output import form_option
from kai.errors import InvalidRequestError, KaiError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from kai.admission.queue_tree import Queues
    from kai.linting.given import Given
    from kai.linting.text import File, Located

FORMATS = ("text", "json", "github", "sarif")
_ENDINGS = (".yaml", ".yml", ".json")


@click.command(
    "lint",
    epilog="""\b
Examples:
  kai lint                                  this directory, recursively
  kai lint job.yaml --diff                  show what --fix would change
  kai lint manifests/ --queues queues.yaml --fix
  kai lint --select queue --ignore queue-limit-zero
  kai lint -o github                        annotations of a pull request
  kai lint -o sarif > kai.sarif
\b
To ignore a finding, add a comment to its line, or to the line above:
  gpu-memory: "5120"  # kai: ignore[fraction-and-memory]
""",
)
@click.argument("files", metavar="[FILE]...", nargs=-1)
@form_option(
    *FORMATS,
    help="text, json (one object per finding and line), github or sarif [text].",
    old="--output-format",
)
@flag("--json", "as_json", help="Same as -o json.")
@flag("--fix", help="Apply the certain fixes to the files; show the rest.")
@flag("--diff", help="Show what --fix would change, and change nothing.")
@click.option(
    "--select", multiple=True, metavar="CODES", help="Report only these, such as queue-cycle,zenml."
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Do not report these.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Files and directories to skip.")
@flag("--strict", help="Exit with 1 for warnings, too.")
@click.option("--queues", metavar="FILE", help="Manifests of all queues of the cluster.")
@click.option("--scheduler-name", metavar="NAME", help="Name of the KAI scheduler [kai-scheduler].")
@click.option(
    "--queue-label-key", metavar="KEY", help="Key of the queue label [kai.scheduler/queue]."
)
def command(
    files: tuple[str, ...],
    output: str | None,
    as_json: bool,
    fix: bool,
    diff: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    exclude: tuple[str, ...],
    strict: bool,
    queues: str | None,
    scheduler_name: str | None,
    queue_label_key: str | None,
) -> int:
    """Find settings that KAI would refuse or silently ignore.

    FILE has Kubernetes manifests (any kind with pods, and queues), settings of an
    orchestrator as kai settings prints them, or a compiled KFP pipeline, as YAML
    or JSON; "-" is standard input. In a directory and its subdirectories, kai
    checks every .yaml, .yml and .json file with such content; hidden files and
    templates of Helm are skipped. The files may define some of the cluster's
    queues; the file of --queues must define all of them. CODES are codes of
    findings or their prefixes, separated by commas.

    Exit status: 0: no errors; 1: errors (with --diff: there is something to
    change); 2: a file cannot be read.
    """
    from kai.admission.queue_tree import Queues
    from kai.api import keys
    from kai.linting.given import Given

    form = _form(output, as_json=as_json, fix=fix, diff=diff)
    wanted = _selected_codes(select, ignore)
    read, status = _read_all(files or (".",), exclude)
    beside = [queue for file in read.values() for queue in file.queues]
    given = None if queues is None else _read(queues).queues
    check = _Check(
        Queues.of(given, beside),
        wanted,
        Given.of(value for file in read.values() for _, _, value in file.objects),
        {
            "scheduler_name": scheduler_name or keys.SCHEDULER_NAME,
            "queue_label_key": queue_label_key or keys.QUEUE_LABEL,
        },
    )
    if diff:
        return _show_diffs(read, check) or status
    found, fixable = _found(read, check, fix=fix, count=form == "text")
    _show(form, found)
    severities = {each.finding.severity for findings in found.values() for each in findings}
    if status == DONE and ("error" in severities or (strict and severities)):
        status = ANSWER_IS_NO
    if form == "text" and not severities and status == DONE:
        click.echo("All checks passed!")
    if form == "text":
        _show_placeholders(read)
    if fixable:
        print_error(f"--fix corrects {fixable} of these")
    return status


def _form(output: str | None, *, as_json: bool, fix: bool, diff: bool) -> str:
    """The output format. Raises click.UsageError if options exclude each other."""
    if fix and diff:
        raise click.UsageError("--fix and --diff exclude each other")
    if as_json and output not in (None, "json"):
        raise click.UsageError("--output and --json exclude each other: give one")
    return "json" if as_json else output or "text"


def _selected_codes(select: Sequence[str], ignore: Sequence[str]) -> frozenset[str]:
    """The codes to report."""
    from kai.linting.codes import CODES, matching

    def named(options: Sequence[str], option: str) -> frozenset[str]:
        try:
            return matching(
                name.strip() for each in options for name in each.split(",") if name.strip()
            )
        except InvalidRequestError as error:
            raise click.UsageError(f"{option}: {error}") from None

    chosen = named(select, "--select") if select else frozenset(CODES)
    return chosen - named(ignore, "--ignore")


@dataclass(frozen=True)
class _Check:
    """The checks of each file."""

    known: Queues
    wanted: frozenset[str]
    given: Given
    options: dict[str, str] = field(default_factory=dict)

    def of(self, file: File) -> list[Located]:
        from kai.linting import text

        found = text.check(file, self.known, given=self.given, **self.options)
        return [each for each in found if each.finding.code in self.wanted]

    def corrected(self, file: File, found: Sequence[Located]) -> tuple[str, int]:
        from kai.linting import text

        if not any(each.finding.edit for each in found):
            return file.text, 0
        return text.corrected(file, found)


def _found(
    read: dict[str, File], check: _Check, *, fix: bool, count: bool
) -> tuple[dict[str, list[Located]], int]:
    """The findings of each file, after fixes if `fix`, and the number of possible fixes."""
    from kai.api import files
    from kai.api.naming import naming
    from kai.linting import text

    fixable = 0
    found = {}
    for name, file in read.items():
        found[name] = check.of(file)
        if name == "-" or not (fix or count):
            continue
        corrected, changes = check.corrected(file, found[name])
        if not fix:
            fixable += changes
        elif changes:
            with naming(name):
                files.write(name, corrected.encode())
            print_error(f"{name}: {changes} corrected")
            found[name] = check.of(text.read(corrected))
    return found, fixable


# ---- files ---------------------------------------------------------------------------------------


def _read_all(files: Iterable[str], exclude: Sequence[str]) -> tuple[dict[str, File], int]:
    """The files by name, and the exit status of reading them."""
    from kai.api.templates import UnrenderedError

    status = DONE
    read: dict[str, File] = {}
    for given in files:
        names, is_directory = _names(given, exclude)
        if is_directory and not names:
            print_error(f"{given}: contains no files that end in {', '.join(_ENDINGS)}")
        for name in names:
            try:
                read[name] = _read(name)
            except KaiError as error:
                if is_directory and isinstance(error, InvalidRequestError):
                    continue  # nothing to check: an error only for a file that the user has named
                if is_directory and isinstance(error, UnrenderedError):
                    print_error(f"{name}: skipped: {error}")
                    continue
                print_error(f"{'standard input' if name == '-' else name}: {error}")
                status = BAD_INPUT
    return read, status


def _names(given: str, exclude: Sequence[str]) -> tuple[list[str], bool]:
    """The files that a name stands for, and whether the name is a directory."""
    from fnmatch import fnmatch
    from pathlib import Path

    path = Path(given)
    if given in ("", "-") or not path.is_dir():
        return [given], False
    found = []
    charts = set()
    for file in sorted(path.rglob("*")):
        below = file.relative_to(path)
        if chart := _chart_of(file):
            charts.add(chart)
            continue
        if file.suffix not in _ENDINGS or any(part.startswith(".") for part in below.parts):
            continue
        passed_over = any(
            fnmatch(str(below), glob) or any(fnmatch(part, glob) for part in below.parts)
            for glob in exclude
        )
        if not passed_over and file.is_file():
            found.append(str(file))
    for chart in sorted(charts):
        templates = f"{chart}/templates: skipped: these are Helm templates"
        print_error(f"{templates}; render them first: helm template {chart} | kai lint -")
    return found, True


def _chart_of(file: Path) -> Path | None:
    """The folder of the Helm chart that has this file among its templates."""
    above = [each for each in file.parents if each.name == "templates"]
    return next((each.parent for each in above if (each.parent / "Chart.yaml").is_file()), None)


# ---- output --------------------------------------------------------------------------------------


def _show(form: str, found: dict[str, list[Located]]) -> None:
    if form == "sarif":
        from kai import __version__
        from kai.linting.formats import sarif

        click.echo(json.dumps(sarif(found, __version__), indent=2, ensure_ascii=False))
    elif form == "github":
        from kai.linting.formats import github

        click.echo(github(found), nl=False)
    elif form == "json":
        for name, findings in found.items():
            for each in findings:
                data = {"file": name, "line": each.line, **each.finding.to_dict()}
                click.echo(json.dumps(data))
    else:
        _show_text(found)


def _show_placeholders(read: dict[str, File]) -> None:
    for name, file in read.items():
        if placeholder := file.placeholder:
            print_error(
                f"{name}: values such as {placeholder} were not checked: another program fills"
                " them in"
            )


_STYLES = {"error": "31", "warning": "33"}  # red, yellow


def _show_text(found: dict[str, list[Located]]) -> None:
    from kai.cli.show import is_styled, styled

    colours = is_styled(sys.stdout)
    counts = {"error": 0, "warning": 0}
    for name, findings in found.items():
        for each in findings:
            finding = each.finding
            counts[finding.severity] += 1
            where = ", ".join(part for part in (finding.object, finding.path) if part)
            place, severity = f"{visible(name)}:{each.line}:", f"{finding.severity} {finding.code}"
            if colours:
                place, severity = styled("1", place), styled(_STYLES[finding.severity], severity)
            lines = [f"{place} {severity}: {visible(finding.message)}"]
            lines += [f"    {visible(line)}" for line in (where, finding.fix) if line]
            click.echo("\n".join(lines), color=colours)
    parts = [
        f"{number} {severity}{'' if number == 1 else 's'}"
        for severity, number in counts.items()
        if number
    ]
    if parts:
        click.echo(f"Found {' and '.join(parts)}.")


def _show_diffs(read: dict[str, File], check: _Check) -> int:
    """Prints the changes of --fix; returns 1 if there are any."""
    changes = 0
    for name, file in read.items():
        corrected, count = check.corrected(file, check.of(file))
        if count:
            changes += count
            sys.stdout.writelines(_diff(name, file.text, corrected))
    if changes:
        print_error(f"--fix corrects {changes}")
    return ANSWER_IS_NO if changes else DONE


def _diff(name: str, before: str, after: str) -> Iterator[str]:
    import difflib

    both = (before.splitlines(keepends=True), after.splitlines(keepends=True))
    for line in difflib.unified_diff(*both, fromfile=name, tofile=name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _read(name: str) -> File:
    from kai.api import documents, files
    from kai.linting import text

    return text.read(documents.decode(files.read(name)))
