"""The page of one group: why it waits, and what would start it."""

from __future__ import annotations

from typing import Any

import pytest
from proven import plan_of

import kai


def waiting() -> kai.Plan:
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4)
    return plan_of(cluster.pending("a/new", gpus=2))


def test_it_has_the_reasons_and_then_the_fixes() -> None:
    plan = waiting()
    html = plan.page("new").to_html()
    first, *others = (line.strip() for line in plan.why("a/new").splitlines())
    places = [html.index(f"<h1>{first}</h1>"), *(html.index(f"<p>{each}</p>") for each in others)]
    for fix in plan.fix("a/new"):
        change, *_ = fix.lines()
        places.append(html.index(f"<b>{change}</b>"))
        assert fix.how[-1].strip() in html.replace("&#x27;", "'").replace("&quot;", '"')
    assert places == sorted(places)
    assert html.startswith("<!doctype html>")


def test_it_prints_as_text() -> None:
    page = waiting().page("a/new", most=1)
    assert str(page).startswith("a/new waits in queue a.\n  ")
    assert "1 change that starts a/new" in str(page)
    assert repr(page) == "<kai page of a/new: 1 change>"


def test_what_both_parts_say_is_there_once() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.pending("a/new", resources={"x/y": 1})
    page = plan_of(cluster).page("a/new")
    for shown in (page.to_html(), str(page)):
        assert shown.count("one pod requests 1 of x/y") == 1
        assert "None of the changes that kai can try starts a/new, alone or together." in shown


def test_a_group_that_starts_has_no_changes() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4).pending("a/new", gpus=1)
    html = plan_of(cluster).page("a/new").to_html()
    assert "a/new is placed: 1 pod on n1." in html
    assert "What would start it" not in html


def test_names_are_no_html() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1)
    cluster.pending("a/new", gpus=1, node_selector={"<b>": "<i>"})
    html = plan_of(cluster).page("a/new").to_html()
    assert "<i>" not in html
    assert "&lt;i&gt;" in html


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(kai.NotFoundError):
        waiting().page("a/old")


def test_a_wrong_argument_names_the_function_that_was_called() -> None:
    plan = kai.Scheduler().plan(kai.Cluster().queue("a").node("n", gpus=1).pending("a/x", gpus=2))
    wrong: Any = None
    with pytest.raises(TypeError, match=r"^page\(\): name is None: write a string$"):
        plan.page(wrong)
    wrong = 5
    with pytest.raises(TypeError, match=r"^page\(\): may is 5: write a function of a right$"):
        plan.page("a/x", may=wrong)
