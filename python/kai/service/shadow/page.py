"""The page of a shadow, at /shadow: plain HTML of its report, without scripts. It does not reload
itself: a reader would lose the place.

text = html(shadow.report())
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from kai.api.times import SECOND_NS, to_text

MOST_SHOWN = 200
OUTCOMES = {
    "same": "The same",
    "other_node": "Bound to another node",
    "other_devices": "Bound to other devices of the node",
    "order": "Another pod first",
    "extra": "Done only by the other scheduler",
    "missed": "Not done by the other scheduler",
    "other_victim": "Another victim",
    "not_compared": "Not compared: in no plan as waiting",
}
CAUSES = {
    "": "",
    "earlier_state": "decided the same a moment earlier",
    "alike": "equal pods of one group have swapped places",
    "equal_score": "the nodes are equally good",
    "switch": "a compatibility switch",
    "left_out": "kai left the object out, as it is not valid",
    "late": "the other scheduler did it later",
    "not_read": "kai does not read something that the pod needs",
    "unknown": "not explained",
}
_STYLE = """
:root { color-scheme: light dark; --text: #1c1c1c; --page: #fff; --quiet: #555; --line: #ddd;
        --empty: #e8e0d8; --full: #2f7d4f; --marked: #fdf1e3; --link: #1a5fb4; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e4e4; --page: #16181b; --quiet: #a3a8ae; --line: #383c42;
          --empty: #33373d; --full: #4caf78; --marked: #42311c; --link: #8ab8f2; }
}
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 62em; padding: 0 1em;
       color: var(--text); background: var(--page); }
a { color: var(--link); }
h1 { font-size: 1.5em; margin-bottom: 0.2em; }
h2 { font-size: 1.1em; margin-top: 2em; }
p.about { color: var(--quiet); margin-top: 0; }
.share { font-size: 2.4em; font-weight: 600; }
.bar { background: var(--empty); height: 10px; border-radius: 5px; overflow: hidden;
       margin: 0.6em 0; }
.bar div { background: var(--full); height: 100%; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 0.3em 0.8em 0.3em 0; border-bottom: 1px solid var(--line);
         vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--quiet); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.t { white-space: nowrap; }
tr.unknown td { background: var(--marked); }
code { font-size: 0.92em; }
"""


def html(report: Mapping[str, Any]) -> str:
    """`report`: that of kai.service.shadow.Shadow."""
    name = escape(report["scheduler"])
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>kai beside {name}</title><style>{_STYLE}</style></head><body>",
        f"<h1>kai beside {name}</h1>",
        f'<p class="about">{_about(report)}</p>',
        *_share(report),
        *_counts(report["counts"]),
        *_switches(report["counts"]),
        *_differences(report["differences"]),
        '<p class="about"><a href="shadow.json">The same as JSON</a></p>',
        "</body></html>",
    ]
    return "\n".join(parts)


def _about(report: Mapping[str, Any]) -> str:
    sentences = (
        f"kai {report['version']} reads {report['server']} and writes nothing. From"
        f" {report['started']} until {report['until']}, {report['cycles']:,} plans."
    )
    if report["as_kai"]:
        sentences += " It plans as KAI does (--as-kai)."
    if report["open"]:
        sentences += f" The causes of {report['open']:,} differences are not known yet."
    return escape(sentences)


def _share(report: Mapping[str, Any]) -> list[str]:
    compared, same, share = report["compared"], report["same"], report["same_share"]
    if share is None:
        return ["<p>No decisions yet.</p>"]
    percent = f"{share * 100:.1f} %"
    unexplained = f"; no cause was found for {report['unexplained']:,}" * bool(
        report["unexplained"]
    )
    return [
        f'<div class="share">{percent}</div>',
        f'<div class="bar"><div style="width:{share * 100:.2f}%"></div></div>',
        f"<p>{same:,} of {compared:,} decisions are the same{unexplained}.</p>",
    ]


def _counts(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return []
    cells = [
        (
            "Bind" if each["subject"] == "bind" else "Evict",
            OUTCOMES[each["outcome"]],
            _cause(each),
            f"{each['count']:,}",
        )
        for each in rows
    ]
    kinds = ["unknown" if each["cause"] == "unknown" else "" for each in rows]
    return _table("Decisions", ("What", "Compared", "Cause", "#Number"), cells, kinds)


def _switches(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    found: dict[str, int] = {}
    for each in rows:
        for switch in each["switches"]:
            found[switch] = found.get(switch, 0) + each["count"]
    if not found:
        return []
    cells = [
        (f"<code>compat: {{{escape(name)}: kai}}</code>", f"{count:,}")
        for name, count in sorted(found.items(), key=lambda each: (-each[1], each[0]))
    ]
    return _table("Switches that explain differences", ("Switch", "#Number"), cells, escaped=True)


def _differences(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return []
    shown = [*reversed(rows)][:MOST_SHOWN]
    cells = [
        (
            to_text(int(each["at"]) * SECOND_NS).replace("T", " ").removesuffix("Z"),
            each["pod"],
            each["ours"] + (f" ({each['reason']})" if each["reason"] else ""),
            each["theirs"],
            _cause(each),
        )
        for each in shown
    ]
    kinds = ["unknown" if each["cause"] == "unknown" else "" for each in shown]
    title = f"The last {len(shown):,} differences" if len(rows) > len(shown) else "Differences"
    return _table(title, ("Time", "Pod", "kai", "The other", "Cause"), cells, kinds)


def _cause(row: Mapping[str, Any]) -> str:
    if row["switches"]:
        return "switch " + " and ".join(row["switches"])
    return CAUSES[row["cause"]]


def _table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    kinds: Sequence[str] | None = None,
    *,
    escaped: bool = False,
) -> list[str]:
    """Columns of numbers begin with #."""
    classes = [
        ' class="n"' if each.startswith("#") else ' class="t"' if each == "Time" else ""
        for each in columns
    ]
    head = "".join(
        f"<th{kind}>{escape(each.removeprefix('#'))}</th>"
        for each, kind in zip(columns, classes, strict=True)
    )
    lines = [f"<h2>{escape(title)}</h2>", f"<table><thead><tr>{head}</tr></thead><tbody>"]
    for number, row in enumerate(rows):
        cells = "".join(
            f"<td{kind}>{each if escaped else escape(each)}</td>"
            for each, kind in zip(row, classes, strict=True)
        )
        kind = kinds[number] if kinds else ""
        lines.append(f'<tr class="{kind}">{cells}</tr>' if kind else f"<tr>{cells}</tr>")
    return [*lines, "</tbody></table>"]
