"""The output formats of commands: text, wide, JSON, YAML, CSV and Markdown."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kai.cli.adding import Command, added, flag

if TYPE_CHECKING:
    from kai.cli.show import Page
    from kai.engine.fixing.fixes import Fixes
    from kai.engine.text import Table

FORMS = ("text", "wide", "json", "yaml", "csv", "markdown")


class Form(click.Choice[str]):
    """The formats of `-o`, which means the same for all commands (decision 41)."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if "." in str(value) or "/" in str(value):
            *most, last = self.choices
            forms = f"{', '.join(most)} or {last}"
            message = f"{value!r} is not a format ({forms}); -o writes no file: use > {value}"
            raise click.BadParameter(message, ctx, param)
        return super().convert(value, param, ctx)


def form_option(*forms: str, help: str, old: str = "") -> Callable[[Command], Command]:
    """`-o`, with these formats; `old`: a spelling that still works."""
    names = ("-o", "--output", *([old] if old else ()))
    return click.option(*names, "output", metavar="FORM", type=Form(forms), help=help)


def json_options(form: str, *, help: str) -> Callable[[Command], Command]:
    """`-o` and `--json` for a command that prints `form` or JSON: the argument `as_json`.

    `help`: the JSON in a few words, such as "one object".
    """

    def add(command: Command) -> Command:
        @functools.wraps(command)
        def with_form(*, output: str | None, as_json: bool, **options: Any) -> object:
            if as_json and output not in (None, "json"):
                raise click.UsageError("--output and --json exclude each other: give one")
            return command(as_json=as_json or output == "json", **options)

        options = added(
            form_option(form, "json", help=f"{form} or json ({help}) [{form}]."),
            flag("--json", "as_json", help="Same as -o json."),
        )
        made: Any = options(with_form)
        return made  # type: ignore[no-any-return]

    return add


_FORM_OPTIONS = added(
    form_option(
        *FORMS,
        help="text, wide (nothing shortened), json (a line per input), yaml, csv or markdown.",
    ),
    flag("--json", "as_json", help="Same as -o json."),
    flag("--wide", help="Same as -o wide."),
)


def output_options(command: Command) -> Command:
    """Passes a command the argument `form`, one of FORMS, set by three options."""

    @functools.wraps(command)
    def with_form(*, output: str | None, wide: bool, as_json: bool, **options: Any) -> object:
        chosen = [output] if output else []
        chosen += ["wide"] if wide else []
        chosen += ["json"] if as_json else []
        if len(dict.fromkeys(chosen)) > 1:
            raise click.UsageError("--output, --wide and --json exclude each other: give one")
        return command(form=chosen[0] if chosen else "text", **options)

    made: Any = _FORM_OPTIONS(with_form)
    return made  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Answer:
    """The answer of a command for one input; only the parts that its format needs are computed.

    `first`, `tables` and `notes` are for text, in this order, `data` is for JSON and YAML, and
    `rows` is for CSV: one mapping a row, all with the same columns. `json` is `data` as JSON, if
    there is a faster way.
    """

    heading: Callable[[], str]
    tables: Callable[[], Iterable[Table]]
    data: Callable[[], Mapping[str, Any]]
    rows: Callable[[], Iterable[Mapping[str, Any]]]
    columns: Sequence[str]
    json: Callable[[], str] | None = None
    notes: Callable[[], Iterable[str]] = tuple
    first: Callable[[], Iterable[str]] = tuple


class Answers:
    """Writes answers to standard output in one format, one after the other."""

    def __init__(self, form: str) -> None:
        self.form = form
        self.for_people = form in ("text", "wide", "markdown")
        self.is_wide = form in ("wide", "markdown")
        self._page: Page | None = None
        self._written = False

    @property
    def page(self) -> Page:
        if self._page is None:
            from kai.cli.show import Page

            self._page = Page(wide=self.form == "wide")
        return self._page

    def write(self, answer: Answer) -> None:
        if self.form == "markdown":
            self._markdown(answer)
        elif self.for_people:
            self.page.heading(answer.heading())
            for sentence in answer.first():
                self.page.paragraph(sentence)
            self.page.tables(answer.tables())
            for note in answer.notes():
                self.page.paragraph(note)
        elif self.form == "csv":
            self._csv(answer)
        else:
            self._data(answer)
        self._written = True

    def explain(self, sentences: str, data: Mapping[str, Any]) -> None:
        """Writes sentences as text, or `data` in the other formats."""
        if self.form == "csv":
            raise click.UsageError(
                "-o csv and --explain exclude each other: an explanation is not a table"
            )
        if self.form == "markdown":
            from kai.engine import text

            self._parts([text.prose_to_markdown(sentences)])
        elif self.for_people:
            self.page.paragraph(sentences)
        else:
            self._data(Answer(str, tuple, lambda: data, tuple, ()))
        self._written = True

    def fixes(self, found: Fixes) -> None:
        """Writes the changes that start a group, for people."""
        from kai.engine.fixing.fixes import to_markdown

        if self.form == "markdown":
            self._parts([to_markdown(found)])
        else:
            self.page.verbatim(found.lines())
        self._written = True

    def _data(self, answer: Answer) -> None:
        written = answer.json() if answer.json else json.dumps(answer.data(), ensure_ascii=False)
        if self.form == "json":
            sys.stdout.write(f"{written}\n")
            return
        import yaml

        dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        sys.stdout.write("---\n" if self._written else "")
        value = json.loads(written)
        yaml.dump(value, sys.stdout, dumper, sort_keys=False, allow_unicode=True, width=1000)

    def _csv(self, answer: Answer) -> None:
        import csv

        columns = ("input", *answer.columns)
        writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
        if not self._written:
            writer.writeheader()
        writer.writerows(answer.rows())

    def _markdown(self, answer: Answer) -> None:
        from kai.engine import text

        said, notes = (map(text.prose_to_markdown, each()) for each in (answer.first, answer.notes))
        head = [text.to_markdown(answer.heading(), ()), *said]
        self._parts([*head, text.to_markdown("", answer.tables()), *notes])

    def _parts(self, parts: Iterable[str]) -> None:
        sys.stdout.write("\n" if self._written else "")
        sys.stdout.write("\n\n".join(filter(None, parts)) + "\n")
