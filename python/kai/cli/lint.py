"""``kai lint``: what KAI would refuse or silently ignore."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from kai.cli import ANSWER_IS_NO, BAD_INPUT, DONE
from kai.errors import KaiError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kai.linting.text import File, Located


@click.command(
    "lint",
    epilog="""\b
Examples:
  kai lint job.yaml
  kai lint manifests/*.yaml --queues queues.yaml
  kai lint job.yaml --fix
""",
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per finding, a line.")
@click.option("--fix", is_flag=True, help="Mend in the file what is certain; show the rest.")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings, too.")
@click.option("--queues", metavar="FILE", help="Manifests of all queues of the cluster.")
@click.option("--scheduler-name", metavar="NAME", help="Of KAI in the cluster [kai-scheduler].")
@click.option("--queue-label-key", metavar="KEY", help="Of the queue label [kai.scheduler/queue].")
def command(
    files: tuple[str, ...],
    as_json: bool,
    fix: bool,
    strict: bool,
    queues: str | None,
    scheduler_name: str | None,
    queue_label_key: str | None,
) -> int:
    """Find what KAI would refuse, or silently ignore, before the cluster does.

    FILE holds Kubernetes manifests of any kinds that have pods, queues, ZenML
    settings or a compiled KFP pipeline, as YAML or JSON; "-" is standard input.
    The queues in all of them are believed to be some of the cluster's, those
    after --queues to be all.

    Exit status: 0 nothing that KAI refuses, 1 something, 2 a file cannot be read.
    """
    from kai.api import keys
    from kai.linting import text
    from kai.linting.queue_tree import Queues

    status = DONE
    read: dict[str, File] = {}
    for name in files:
        try:
            read[name] = _read(name)
        except KaiError as error:
            click.echo(f"kai: {name}: {error}", err=True)
            status = BAD_INPUT
    beside = [queue for file in read.values() for queue in file.queues]
    given = None if queues is None else _read(queues).queues
    known = Queues.of([*(given or ()), *beside], complete=given is not None)
    fixable = 0
    for name, file in read.items():
        options = {
            "scheduler_name": scheduler_name or keys.SCHEDULER_NAME,
            "queue_label_key": queue_label_key or keys.QUEUE_LABEL,
        }
        found = text.check(file, known, **options)
        if name != "-" and (fix or not as_json) and any(each.finding.edit for each in found):
            mended, count = text.mended(file, found)
            if not fix:
                fixable += count
            elif count:
                _write(name, mended)
                click.echo(f"{name}: {count} mended", err=True)
                found = text.check(text.read(mended), known, **options)
        _show(name, found, as_json)
        if status == DONE and any(strict or each.finding.severity == "error" for each in found):
            status = ANSWER_IS_NO
    if fixable:
        click.echo(f"kai: --fix mends {fixable} of these", err=True)
    return status


def _show(name: str, found: Iterable[Located], as_json: bool) -> None:
    for each in found:
        finding = each.finding
        if as_json:
            click.echo(json.dumps({"file": name, "line": each.line, **finding.to_dict()}))
            continue
        where = ", ".join(part for part in (finding.object, finding.path) if part)
        click.echo(f"{name}:{each.line}: {finding.severity} {finding.code}: {finding.message}")
        click.echo(f"    {where}\n    {finding.fix}")


def _read(name: str) -> File:
    from kai.api import documents
    from kai.errors import InvalidInputError
    from kai.linting import text

    try:
        if name == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as file:
                data = file.read()
    except OSError as error:
        raise InvalidInputError(documents.why_unreadable(error)) from None
    return text.read(documents.decode(data))


def _write(name: str, content: str) -> None:
    from kai.api import documents
    from kai.errors import InvalidInputError

    try:
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.write(content)
    except OSError as error:
        raise InvalidInputError(f"{name}: {documents.why_unreadable(error)}") from None
