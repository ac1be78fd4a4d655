"""The page of one pod group: why it waits, and the smallest changes that start it. HTML without
scripts or other files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from kai.engine import text

if TYPE_CHECKING:
    from kai.engine.fixing.fixes import Fix, Fixes

_STYLE = """
.kai-fix { --ink: #1c1c1c; --paper: #fff; --soft: #5a5a5a; --line: #d5d5d5; --code: #f4f4f2;
           font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
@media (prefers-color-scheme: dark) {
  .kai-fix { --ink: #ececec; --paper: #16181b; --soft: #a8a8a8; --line: #3c4046;
             --code: #22262b; } }
.kai-fix h1 { font-size: 1.45em; margin: 0 0 0.3em; overflow-wrap: anywhere; }
.kai-fix h2 { font-size: 1.1em; margin: 1.6em 0 0.4em; }
.kai-fix p { max-width: 46em; margin: 0.3em 0; overflow-wrap: anywhere; }
.kai-fix .soft { color: var(--soft); }
.kai-fix .about { margin-top: 1.6em; font-size: 0.9em; }
.kai-fix ol { padding-left: 1.6em; margin: 0; }
.kai-fix li { padding: 0.6em 0; border-top: 1px solid var(--line); }
.kai-fix li:first-child { border-top: 0; }
.kai-fix li::marker { color: var(--soft); font-variant-numeric: tabular-nums; }
.kai-fix pre { background: var(--code); color: var(--ink); border-radius: 4px; margin: 0.5em 0 0;
               padding: 0.5em 0.8em; overflow-x: auto; max-width: 60em;
               font: 13px/1.4 ui-monospace, monospace; }
.kai-fix summary { color: var(--soft); cursor: pointer; margin-top: 0.4em; }
"""
_BODY_STYLE = """
body { margin: 0; } .kai-fix { padding: 1.5em max(1em, 50vw - 30em); }
html { background: #fff; } @media (prefers-color-scheme: dark) { html { background: #16181b; } }
@media print { .kai-fix { --ink: #000; --paper: #fff; --soft: #333; padding: 0; } }
"""
_MOST_LINES = 14  # of commands or YAML that are shown at once


@dataclass(frozen=True, repr=False)
class GroupPage:
    """What `kai.Plan.page` returns: it prints as text, and is HTML in a notebook.

    `sentences`: as `kai.Plan.why`. `about`: the input and the time of the plan.
    """

    group: str
    sentences: tuple[str, ...]
    fixes: Fixes
    about: str

    def to_html(self) -> str:
        """A complete page, without scripts or other files."""
        return document([self])

    def _repr_html_(self) -> str:
        return f'<div class="kai-fix"><style>{_STYLE}</style>{"".join(_parts(self))}</div>'

    def __repr__(self) -> str:
        return f"<kai page of {self.group}: {text.count(len(self.fixes), 'change')}>"

    def __str__(self) -> str:
        first, *others = self.sentences
        known = [line.strip() for line in (first, *others)]
        more = [line for line in self.fixes.lines() if line.strip() not in known]
        return "\n".join([first, *(f"  {each}" for each in others), "", *more])


def document(pages: Sequence[GroupPage]) -> str:
    """One complete page with all of these."""
    title = escape(text.listing(page.group for page in pages))
    body = "".join(f'<div class="kai-fix">{"".join(_parts(page))}</div>' for page in pages)
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{title}</title><style>{_STYLE}{_BODY_STYLE}</style></head><body>",
            body,
            "</body></html>",
            "",
        )
    )


def section(fixes: Fixes) -> str:
    """The fixes alone, for a notebook."""
    return f'<div class="kai-fix"><style>{_STYLE}</style>{"".join(_of_fixes(fixes))}</div>'


def _parts(page: GroupPage) -> Iterator[str]:
    headline, *others = page.sentences
    yield f"<h1>{escape(headline)}</h1>"
    yield from _paragraphs(others)
    if not page.fixes.starts_already:
        yield "<h2>What would start it</h2>"
        yield from _of_fixes(page.fixes, said=page.sentences)
    yield f'<p class="soft about">{escape(page.about)}</p>'


def _of_fixes(fixes: Fixes, said: Iterable[str] = ()) -> Iterator[str]:
    """`said`: sentences that the page has already."""
    if not fixes:
        known = {each.strip() for each in said}
        sentences = [*fixes.why_none.splitlines(), *fixes.waits_for]
        yield from _paragraphs(each for each in sentences if each.strip() not in known)
        return
    first, *_ = fixes.lines()
    yield f'<p class="soft">{escape(first.removesuffix(":"))}.</p>'
    yield f"<ol>{''.join(f'<li>{_of_fix(each)}</li>' for each in fixes)}</ol>"


def _of_fix(fix: Fix) -> str:
    change, *effects = fix.lines()[: len(fix.lines()) - len(fix.how)]
    parts = [f"<p><b>{escape(change)}</b></p>", *_paragraphs(effects)]
    if fix.how:
        shown = f"<pre>{escape(chr(10).join(fix.how))}</pre>"
        if len(fix.how) > _MOST_LINES:
            lines = text.count(len(fix.how), "line")
            shown = f"<details><summary>How: {lines}</summary>{shown}</details>"
        parts.append(shown)
    return "".join(parts)


def _paragraphs(sentences: Iterable[str]) -> Iterator[str]:
    return (f"<p>{escape(each.strip())}</p>" for each in sentences)
