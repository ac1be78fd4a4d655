"""Victims are evicted together or not at all, and rejected evictions are not repeated."""

from typing import Any

from fakes.played import Evictor, Steps
from fakes.writes import DONE, LOST, body_of
from kai.api.writes import Outcome, Result, Write
from kai.controllers.pods.decisions import Removal
from kai.controllers.verdicts import Eviction

GONE = Outcome(Result.GONE, 404, "NotFound", "not found")
CONFLICT = Outcome(Result.CONFLICT, 409, "Conflict", "the UID is another one")
BUDGET = Outcome(Result.REFUSED, 429, "TooManyRequests", "it would violate the pod's budget")
BUSY = Outcome(Result.FAILED)


def victims(*names: str, reclaimer: str | None = "team/b", first: int = 1) -> list[Removal]:
    return [
        Removal(
            Eviction(f"team/{name}", f"uid-{name}", "reclaim", "make room", "team/g", reclaimer),
            number,
        )
        for number, name in enumerate(names, first)
    ]


def is_dry(write: Write) -> bool:
    options: dict[str, Any] = body_of(write)["deleteOptions"]
    assert options["preconditions"] == {"uid": f"uid-{write.name}"}
    assert write.subresource == "eviction"
    return options.get("dryRun") == ["All"]


def answer(evictor: Evictor, writes: list[Write], *outcomes: Outcome) -> Steps:
    """The steps after all these answers."""
    total = Steps()
    for write, outcome in zip(writes, outcomes, strict=True):
        steps = evictor.answered(0, write, outcome)
        for name in ("writes", "forget", "evicted", "spared"):
            getattr(total, name).extend(getattr(steps, name))
    return total


def test_victims_of_one_reclaimer_are_evicted_if_all_may_be() -> None:
    evictor = Evictor("evict")
    trials = evictor.begin(victims("v", "w", "x")).writes
    assert all(map(is_dry, trials))
    assert answer(evictor, trials[:2], DONE, DONE).writes == []
    real = evictor.answered(0, trials[2], DONE).writes
    assert [(each.name, is_dry(each)) for each in real] == [
        ("v", False),
        ("w", False),
        ("x", False),
    ]
    steps = answer(evictor, real, DONE, DONE, DONE)
    assert [each.order.pod for each in steps.evicted] == ["team/v", "team/w", "team/x"]
    assert steps.forget == []
    assert len(evictor) == 0


def test_no_victim_is_evicted_if_one_of_three_may_not_be() -> None:
    evictor = Evictor("evict")
    trials = evictor.begin(victims("v", "w", "x")).writes
    steps = answer(evictor, trials, DONE, BUDGET, DONE)
    assert steps.writes == []
    assert sorted(steps.forget) == [1, 2, 3]
    found = {removal.order.pod: why for removal, why in steps.spared}
    assert next(iter(found)) == "team/w"  # the reason comes first
    assert found["team/w"] == "it would violate the pod's budget"
    assert found["team/x"] == (
        "it would be evicted together with pod team/w: it would violate the pod's budget"
    )
    assert len(evictor) == 0


def test_victims_of_another_reclaimer_are_evicted_independently() -> None:
    evictor = Evictor("evict")
    theirs, others = victims("v"), victims("w", reclaimer="team/c", first=2)
    trials = evictor.begin([*theirs, *others]).writes
    steps = answer(evictor, trials, BUDGET, DONE)
    assert [each.name for each in steps.writes] == ["w"]
    assert steps.forget == [1]


def test_a_victim_that_is_already_deleted_does_not_stop_the_others() -> None:
    for outcome in (GONE, CONFLICT):
        evictor = Evictor("evict")
        trials = evictor.begin(victims("v", "w")).writes
        evictor.pod_gone("team/v", "another")
        evictor.pod_gone("team/v", "uid-v")
        steps = answer(evictor, trials, outcome, DONE)
        assert [each.name for each in steps.writes] == ["w"]
        assert steps.spared == []


def test_a_victim_that_is_gone_before_the_answer_was_evicted() -> None:
    """The watch may show the deletion first: the event and the time of the eviction are written."""
    for outcome, count in ((DONE, 1), (GONE, 0), (CONFLICT, 0), (BUSY, 0)):
        evictor = Evictor()
        writes = evictor.begin(victims("v")).writes
        evictor.pod_gone("team/v", "uid-v")
        steps = answer(evictor, writes, outcome)
        assert len(steps.evicted) == count
        assert (steps.writes, steps.forget, steps.spared) == ([], [], [])


def test_a_dry_run_without_an_answer_spares_all_victims() -> None:
    evictor = Evictor("evict")
    trials = evictor.begin(victims("v", "w")).writes
    steps = answer(evictor, trials, DONE, BUSY)
    assert steps.writes == []
    assert [why for _, why in steps.spared][:1] == ["the API server did not answer"]


def test_a_refused_eviction_ends_only_its_own_assumption() -> None:
    evictor = Evictor("evict")
    trials = evictor.begin(victims("v", "w")).writes
    real = answer(evictor, trials, DONE, DONE).writes
    steps = answer(evictor, real, DONE, BUDGET)
    assert [each.order.pod for each in steps.evicted] == ["team/v"]
    assert steps.forget == [2]
    assert [(each.order.pod, why) for each, why in steps.spared] == [
        ("team/w", "it would violate the pod's budget")
    ]


def test_deletions_have_no_dry_run() -> None:
    evictor = Evictor()
    writes = evictor.begin(victims("v", "w")).writes
    assert [each.verb for each in writes] == ["delete", "delete"]
    [again] = evictor.answered(0, writes[0], LOST).writes
    assert [each.order.pod for each in evictor.answered(0, again, DONE).evicted] == ["team/v"]


def test_a_pod_recreated_under_the_same_name_is_not_evicted() -> None:
    evictor = Evictor()
    [write] = evictor.begin(victims("v")).writes
    steps = evictor.answered(0, write, CONFLICT)
    assert steps.forget == [1]
    assert steps.spared == steps.evicted == []
