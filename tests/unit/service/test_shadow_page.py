"""/shadow: the report of a shadow as a page."""

import re
from dataclasses import replace
from typing import Any

from kai.controllers.shadow import CAUSES, OUTCOMES, Compared, Tally
from kai.service.shadow import page as shadow_page
from kai.service.shadow.page import html

ONE = Compared(
    *(1_767_225_600.0, 7, "bind", "team/a", "team/g", "other_node"),
    *("bind to n1", "bind to n2", "switch", ("queue_depth",)),
)


def report(*compared: Compared, **more: Any) -> dict[str, Any]:
    tally = Tally()
    for each in compared:
        tally.add(each)
    return {
        **{"version": "1.0", "server": "https://api", "scheduler": "kai-scheduler"},
        **{"as_kai": False, "started": "2026-01-01T00:00:00Z", "until": "2026-01-01T01:00:00Z"},
        **{"cycles": 1234, "open": 0, **tally.to_dict(), **more},
    }


def test_a_page_without_decisions() -> None:
    assert "No decisions yet." in html(report())


def test_a_difference_shows_its_pod_both_decisions_and_its_switch() -> None:
    same = replace(ONE, outcome="same", cause="", switches=())
    page = html(report(same, same, same, ONE))
    for text in (
        *("75.0 %", "3 of 4 decisions are the same.", "2026-01-01 00:00:00", "team/a"),
        *("bind to n1", "bind to n2", "switch queue_depth", "compat: {queue_depth: kai}"),
        "1,234 plans",
    ):
        assert text in page


def test_names_are_escaped() -> None:
    page = html(report(replace(ONE, theirs="bind to <b>"), scheduler="<i>"))
    assert "<b>" not in page
    assert "<i>" not in page
    assert "bind to &lt;b&gt;" in page


def test_differences_without_a_cause_are_highlighted() -> None:
    page = html(report(replace(ONE, cause="unknown", switches=())))
    assert '<tr class="unknown">' in page
    assert "no cause was found for 1" in page


def test_the_last_of_many_differences_are_shown() -> None:
    many = [replace(ONE, pod=f"team/p{number}") for number in range(300)]
    page = html(report(*many))
    assert "The last 200 differences" in page
    assert "team/p299" in page
    assert "team/p99<" not in page


def test_each_outcome_and_cause_has_a_text() -> None:
    assert shadow_page.OUTCOMES.keys() == {*OUTCOMES}
    assert shadow_page.CAUSES.keys() == {*CAUSES}


def test_the_page_has_dark_colours_for_all_that_has_light_ones() -> None:
    page = html(report(ONE))
    light, _, dark = page.partition("@media (prefers-color-scheme: dark)")
    dark = dark.partition("}")[0]
    names = set(re.findall(r"(--\w+): #", light))
    assert len(names) >= 5
    assert set(re.findall(r"(--\w+): #", dark)) == names
    rest = page.partition("\nbody {")[2].partition("</style>")[0]
    assert set(re.findall(r"var\((--\w+)\)", rest)) == names
    assert not re.search(r": #[0-9a-f]{3}", rest)  # a colour of one mode only


def test_the_page_does_not_reload_itself() -> None:
    assert "refresh" not in html(report(ONE))
