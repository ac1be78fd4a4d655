"""The search for the smallest value that starts a group: only what was tried is an answer."""

from __future__ import annotations

import pytest
from proven import fixes

import kai
from kai.engine.fixing.changes import Change
from kai.engine.fixing.ladders import Ladder

GIB = 2**30


@pytest.mark.parametrize("needed", [1, 2, 3.25, 5, 7.5, 9])
@pytest.mark.parametrize("now", [0, 0.93, 2.5])
@pytest.mark.parametrize("proposed", [9, 9.6, 12])
def test_the_answer_was_tried(needed: float, now: float, proposed: float) -> None:
    """Also if the value of now is no whole number of units from the proposed one."""
    tried: dict[float, bool] = {}

    def starts(change: Change) -> bool:
        value = float(change.says)
        tried[value] = value >= needed
        return tried[value]

    ladder = Ladder([proposed], lambda value: Change("limit", str(value)), unit=1, now=now)
    found = ladder.smallest(starts)
    assert found is not None
    value = float(found.says)
    assert tried[value]
    assert value - 1 <= now or tried[value - 1] is False


def test_a_limit_that_is_no_whole_number_of_gibibytes_is_raised_far_enough() -> None:
    """KAI counts megabytes: a limit of 1000 is 953.674 MiB. 2 GiB are proposed, for both; 1 GiB
    suffices, because the new one has a higher priority."""
    cluster = kai.Cluster().queue("a", memory_limit=1_000_000_000).node("n1", gpus=8)
    cluster.running("a/old", gpus=1, memory=GIB, node="n1")
    cluster.pending("a/new", gpus=1, memory=GIB, priority="build-preemptible")
    fix = fixes(cluster, "a/new")["limit"]
    assert fix.changes == ("raise the limit of memory of queue a from 953.674 MiB to 1 GiB",)
