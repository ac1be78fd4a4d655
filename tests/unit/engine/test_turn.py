"""The explanation of a group that would start if no other group waited names who comes first."""

import pickle

import kai

NOW = "2026-01-01T12:00:00Z"


def plan_of(cluster: kai.Cluster) -> kai.Plan:
    return kai.Scheduler().plan(cluster, now=NOW)


def test_the_groups_that_come_first_are_named() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.pending("a/high", gpus=2, priority=90).pending("a/old", gpus=2)
    why = plan_of(cluster.pending("a/new", gpus=4)).why("a/new")
    assert why.splitlines()[2] == (
        "  It would start if no other group waited: 2 pod groups come first and get places "
        "(a/high, a/old)."
    )


def test_requests_of_others_lower_the_fair_share() -> None:
    cluster = kai.Cluster().queue("a").queue("b").queue("c", weight=0).node("n1", gpus=4)
    cluster.running("c/old", pods=4, gpus=1, node="n1")
    cluster.pending("a/new", gpus=4).pending("b/new", gpus=4)
    plan = plan_of(cluster)
    assert (
        "It would start if no other group waited: what they request lowers the fair share of "
        "queue a."
    ) in plan.why("a/new")


def test_a_group_of_its_own_is_not_told() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4).running("a/old", gpus=4, node="n1")
    assert "would start" not in plan_of(cluster.pending("a/new", gpus=4)).why("a/new")


def test_the_rest_of_a_group_needs_more_places_than_now() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4).pending("a/elastic", pods=6, gpus=1)
    plan = plan_of(cluster)
    assert "would start" not in plan.why("a/elastic")
    plan = plan_of(cluster.pending("a/first", gpus=1, priority=90))
    assert (
        "More of its pods would start if no other group waited: 1 pod group comes first and gets "
        "places (a/first)."
    ) in plan.why("a/elastic")


def test_nothing_is_said_of_parts_of_gpus() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1)
    cluster.pending("a/first", gpus=1).pending("a/half", gpu_fraction=0.5)
    assert "would start" not in plan_of(cluster).why("a/half")


def test_a_plan_that_was_pickled_does_not_say_it() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1)
    plan = plan_of(cluster.pending("a/first", gpus=1).pending("a/new", gpus=1))
    assert "would start" in plan.why("a/new")
    assert "would start" not in pickle.loads(pickle.dumps(plan)).why("a/new")


def test_asking_changes_nothing() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1)
    cluster.pending("a/first", gpus=1).pending("a/new", gpus=1)
    scheduler = kai.Scheduler()
    plan = scheduler.plan(cluster, now=NOW)
    plan.why("a/new")
    assert scheduler.plan(cluster, now=NOW) == plan
