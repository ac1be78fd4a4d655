"""A shadow beside the recorded KAI: nearly all decisions are equal, and each different one has a
cause."""

from collections import Counter

import pytest
from recordings import recordings
from shadow_player import played

from kai.controllers.shadow import Compared, Tally

INVALID = "10-invalid-annotations-no-admission"
CLAIMS = "49-dra-claim"


@pytest.fixture(scope="module")
def found() -> dict[str, list[Compared]]:
    return {each.name: played(each) for each in recordings()}


def test_each_bind_request_is_compared(found: dict[str, list[Compared]]) -> None:
    for recording in recordings():
        made = [
            entry
            for entry in recording.timeline
            if (entry.get("kind"), entry.get("event")) == ("BindRequest", "ADDED")
        ]
        binds = [each for each in found[recording.name] if each.subject == "bind"]
        assert len(binds) == len(made), recording.name


def test_victims_are_found_among_deleted_pods(
    found: dict[str, list[Compared]],
) -> None:
    victims = {
        name: sorted(each.pod.partition("/")[2] for each in cases if each.subject == "evict")
        for name, cases in found.items()
        if any(each.subject == "evict" for each in cases)
    }
    assert victims["16-reclaim"] == ["a-2"]
    assert victims["20-stale-gang"] == ["w-0", "w-2"]
    assert "24-delete-pending-and-running" not in victims  # a person deleted them
    assert len(victims) >= 10


def test_95_of_100_decisions_are_the_same(found: dict[str, list[Compared]]) -> None:
    tally = Tally()
    for cases in found.values():
        for each in cases:
            tally.add(each)
    share = tally.share()
    assert share is not None
    assert share >= 0.95, tally.to_dict()
    assert tally.compared >= 285


def test_each_other_decision_has_a_cause(found: dict[str, list[Compared]]) -> None:
    """Without its webhooks KAI runs pods with invalid annotations as pods without a GPU (spec 6
    S22), and `kai run` does not read resource claims."""
    causes = {
        name: Counter(each.cause for each in cases if not each.is_same)
        for name, cases in found.items()
        if not all(each.is_same for each in cases)
    }
    assert causes == {INVALID: {"left_out": 9}, CLAIMS: {"not_read": 2}}
