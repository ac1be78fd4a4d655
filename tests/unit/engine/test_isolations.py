"""What keeps a group to its share of a GPU, in explanations of groups that do not wait."""

from html import escape
from typing import Any

import pytest

import kai
from kai.engine.explain import isolations

NOTHING = "Nothing keeps it to its share of a GPU."
GUARD = "The guard keeps it to its share of a GPU's memory."


def reviewed(cluster: kai.Cluster, *, guarded: tuple[str, ...] = ()) -> kai.Cluster:
    """Its pods as the webhook has changed them."""
    changed = cluster.copy()
    variables = [
        {"name": "KAI_GUARD_REGION", "value": "/run/kai-guard/region"},
        {"name": "LD_PRELOAD", "value": "/run/kai-guard/libkaiguard.so"},
    ]
    for pod in cluster.objects["pods"]:
        pod["metadata"]["annotations"]["runai/shared-gpu-configmap"] = "p-shared-gpu"
        if pod["metadata"]["name"] in guarded:
            pod["spec"]["containers"][0]["env"] = variables
        changed.upsert({"kind": "Pod", "apiVersion": "v1", **pod})
    return changed


def planned(cluster: kai.Cluster, **options: Any) -> kai.Plan:
    return kai.Scheduler().plan(reviewed(cluster, **options))


def halves(pods: int, gpus: int = 2) -> kai.Cluster:
    nodes = kai.Cluster().queue("a").node("n1", gpus=gpus)
    return nodes.pending("a/x", pods=pods, gpu_fraction=0.5)


@pytest.mark.parametrize(("guarded", "sentence"), [((), NOTHING), (("x-0",), GUARD)])
def test_a_group_that_starts_says_what_keeps_it_to_its_share(
    guarded: tuple[str, ...], sentence: str
) -> None:
    plan = planned(halves(1), guarded=guarded)
    assert plan.why("a/x").splitlines()[1:] == [f"  {sentence}"]
    assert escape(sentence) in plan.page("a/x").to_html()


def test_pods_that_differ_have_a_sentence_each_the_most_frequent_first() -> None:
    plan = planned(halves(3), guarded=("x-1", "x-2"))
    assert isolations(plan, "a/x") == ["guard", "none"]
    assert plan.why("a/x").splitlines()[1:] == [f"  {GUARD}", f"  {NOTHING}"]


def test_a_group_that_waits_has_only_its_reasons_to_wait() -> None:
    plan = planned(halves(1, gpus=0))
    assert NOTHING not in plan.why("a/x")
    assert isolations(plan, "a/x") == ["none"]


def test_nothing_is_said_of_whole_gpus_and_of_pods_that_no_webhook_has_seen() -> None:
    unseen = kai.Scheduler().plan(halves(1))
    assert (isolations(unseen, "a/x"), unseen.why("a/x").splitlines()[1:]) == ([], [])
    whole = kai.Scheduler().plan(kai.Cluster().queue("a").node("n", gpus=1).pending("a/x", gpus=1))
    assert isolations(whole, "a/x") == []
