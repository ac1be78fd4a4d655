"""The smallest changes that start a waiting pod group, and how they are shown: as text, and as a
page without scripts or other files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape
from typing import Any

from kai.api.arguments import WrongTypeError
from kai.api.visible import visible
from kai.engine import text
from kai.engine.cluster import Cluster
from kai.engine.fixing.changes import Change, Right
from kai.errors import InvalidInputError

May = Callable[[Right], bool]


@dataclass(frozen=True, repr=False)
class Fix:
    """Changes that start a pod group together; without any one of them it would wait.

    `changes`: orders, such as "raise the quota of GPUs of queue a from 2 to 4". `how`: the commands
    or YAML that make them, a line each. `starts`: its pods by what the plan of the changed cluster
    does with them. `evicted`: the pods that it evicts and the original plan does not, by group.
    `moved`: pods that get another place because of it, where they start again.
    `then_wait`: groups that would start without the change, and wait with it. `also_start`: other
    groups that start because of it. `rights`: what the changes need on the API server.
    `needs_an_operator`: the asker may not make all of them.
    """

    changes: tuple[str, ...]
    kinds: tuple[str, ...]
    how: tuple[str, ...]
    starts: str
    evicted: Mapping[str, int]
    moved: Mapping[str, int]
    then_wait: tuple[str, ...]
    also_start: tuple[str, ...]
    cost: float
    needs_an_operator: bool
    rights: tuple[Right, ...]
    _made: tuple[Change, ...] = field(compare=False)

    def apply(self, cluster: Cluster) -> Cluster:
        """A copy of the cluster with the changes; a change of time sets its `now`.

        Raises InvalidInputError for a fix that was pickled, and NotFoundError for a cluster without
        the objects that it changes.
        """
        if not isinstance(cluster, Cluster):
            raise WrongTypeError(f"apply(): cluster is {cluster!r}: write a kai.Cluster")
        if not self._made:
            raise InvalidInputError("a fix that was pickled has no changes: plan the cluster again")
        changed = cluster.copy()
        for change in self._made:
            change.edit(changed)
            if change.at:
                changed.at(change.at)
        return changed

    def __reduce__(self) -> tuple[Any, ...]:
        """The answer without what changes a cluster: that has parts of the program."""
        values = {each.name: getattr(self, each.name) for each in fields(self)} | {"_made": ()}
        return type(self), tuple(values.values())

    def __deepcopy__(self, memo: object) -> Fix:
        return self  # it never changes

    def __repr__(self) -> str:
        return f"<kai.Fix: {' and '.join(self.changes)}>"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        return {
            "changes": list(self.changes),
            "kinds": list(self.kinds),
            "how": list(self.how),
            "starts": self.starts,
            "evicted": dict(self.evicted),
            "moved": dict(self.moved),
            "then_wait": list(self.then_wait),
            "also_start": list(self.also_start),
            "cost": self.cost,
            "needs_an_operator": self.needs_an_operator,
        }

    def lines(self) -> list[str]:
        """What to do, what happens then, and how."""
        *others, last = self.changes
        says = f"{', '.join(others)} and {last}" if others else last
        ask = " (ask an operator)" if self.needs_an_operator else ""
        found = [f"{says[0].upper()}{says[1:]}{ask}.", f"  {self.starts}"]
        for says, pods_of in (("Evicted", self.evicted), ("Moved", self.moved)):
            if pods_of:
                groups = (
                    f"{text.count(pods, 'pod')} of {group}" for group, pods in pods_of.items()
                )
                found.append(f"  {says} for it: {text.listing(groups)}.")
        if self.then_wait:
            found.append(f"  Then these wait: {text.listing(self.then_wait)}.")
        if self.also_start:
            found.append(f"  These start too: {text.listing(self.also_start)}.")
        return [*found, *(f"    {line}" for line in self.how)]


@dataclass(frozen=True, repr=False)
class Fixes(Sequence[Fix]):
    """The proven answers of `kai.Plan.fix`, the cheapest first; it prints as a page.

    `plans`: how many plans were made. `is_complete`: all proposals were tried to the end; otherwise
    a bound on plans, or on the search for pods to evict, may have hidden some.
    """

    group: str
    found: tuple[Fix, ...]
    plans: int
    is_complete: bool
    why_none: str = ""
    starts_already: bool = False
    waits_for: tuple[str, ...] = ()
    """Why the group waits, if there is no fix: a sentence each."""

    def __getitem__(self, index: Any) -> Any:
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<kai.Fixes: {text.count(len(self), 'change')} for {self.group}>"

    def _repr_html_(self) -> str:
        parts = "".join(_of_fixes(self))
        return f'<div class="kai-fix"><style>{_STYLE}</style>{parts}</div>'

    def marked(self, may: May) -> Fixes:
        """The same; changes that the asker may not make are marked for an operator."""
        found = (
            replace(fix, needs_an_operator=not all(map(may, fix.rights))) for fix in self.found
        )
        return replace(self, found=tuple(found))

    def to_dict(self) -> dict[str, Any]:
        return {
            "pod_group": self.group,
            "fixes": [each.to_dict() for each in self.found],
            "plans": self.plans,
            "is_complete": self.is_complete,
            "why_none": self.why_none,
            "waits_for": list(self.waits_for),
        }

    def lines(self) -> list[str]:
        if not self.found:
            return [*self.why_none.splitlines(), *(f"  {each}" for each in self.waits_for)]
        number = text.count(len(self.found), "change")
        starts = "starts" if len(self.found) == 1 else "each start"
        lines = [f"{number} that {starts} {self.group}, proven by a plan of the changed cluster:"]
        for place, fix in enumerate(self.found, 1):
            first, *rest = fix.lines()
            lines += [f"{place}. {first}", *(f" {line}" for line in rest)]
        return lines


def to_markdown(fixes: Fixes) -> str:
    """The same in Markdown: a numbered list, with the commands as code."""
    if not fixes:
        return text.prose_to_markdown("\n".join(fixes.lines()))
    parts = [text.prose_to_markdown(fixes.lines()[0])]
    for place, fix in enumerate(fixes, 1):
        change, *effects = fix.lines()[: len(fix.lines()) - len(fix.how)]
        lines = [*text.prose_to_markdown("\n".join((change, *effects))).splitlines()]
        fence = "```"
        if fix.how:
            lines += ["", fence, *map(visible, fix.how), fence]
        start = f"{place}. "
        indented = (f"{' ' * len(start)}{line}" if line else "" for line in lines[1:])
        parts.append("\n".join((f"{start}{lines[0]}", *indented)))
    return "\n\n".join(parts)


# ---- the page ------------------------------------------------------------------------------------

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
