"""kai run: its options, as the service gets them. What it does: tests/cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kai.service
from kai.service.options import Options

Run = Callable[..., Any]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """What would have run."""
    seen: list[Options] = []
    monkeypatch.setattr(kai.service, "serve", lambda options, **_: seen.append(options))
    return seen


def test_labels_of_queues_become_labels_of_metrics(run: Run, given: list[Options]) -> None:
    labels = ("--queue-label-to-metric-label", "example/team=team,cost=cost")
    defaults = ("--queue-label-to-default-metric-value", "cost=")
    assert run("run", "queue-controller", *labels, *defaults).status == 0
    [options] = given
    assert options.queue_metric_labels() == [("example/team", "team", ""), ("cost", "cost", "")]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--queue-label-to-metric-label", "team"], "'team' is not of the form LABEL=NAME"),
        (["--queue-label-to-metric-label", "=x"], "'=x' is not of the form LABEL=NAME"),
        (["--queue-label-to-default-metric-value", "a=b"], "'a', which is no metric label"),
        (["--metrics-namespace", ""], "'' is no metrics namespace"),
    ],
)
def test_what_no_metric_can_have_is_one_sentence(
    run: Run, given: list[Options], arguments: list[str], why: str
) -> None:
    done = run("run", "all", *arguments)
    assert (done.status, done.out, given) == (2, "", [])
    assert why in done.err
    assert "Traceback" not in done.err
