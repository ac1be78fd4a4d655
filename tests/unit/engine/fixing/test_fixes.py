"""The smallest changes that start a waiting group: each situation has one that a user expects."""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction
from typing import Any

import pytest
import yaml
from proven import NOW, fixes, plan_of

import kai
from kai.engine.fixing.trials import starts_in


def test_a_limit_is_raised_by_what_is_missing() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=3).node("n1", gpus=8)
    cluster.running("a/old", gpus=2, node="n1").pending("a/new", gpus=4)
    fix = fixes(cluster, "a/new")["limit"]
    assert fix.changes == ("raise the limit of GPUs of queue a from 3 to 6",)
    assert fix.how == (
        "kubectl patch queues.scheduling.run.ai a --type=merge -p "
        '\'{"spec":{"resources":{"gpu":{"limit":6}}}}\'',
    )


def test_a_limit_of_memory_is_raised_in_whole_gibibytes() -> None:
    cluster = kai.Cluster().queue("a", memory_limit="8Gi").node("n1", gpus=8)
    cluster.pending("a/new", gpus=1, memory="9.5Gi")
    fix = fixes(cluster, "a/new")["limit"]
    assert fix.changes == ("raise the limit of memory of queue a from 8 GiB to 10 GiB",)


@pytest.mark.parametrize("gib", [100, 29, 83])
def test_a_limit_of_memory_is_printed_as_it_was_planned(gib: int) -> None:
    """In megabytes of 10^6 bytes: a float beside 107374.1824 would be less than 100 GiB."""
    cluster = kai.Cluster().queue("a", memory_limit="1Gi").node("n1", gpus=4, memory="256Gi")
    fix = fixes(cluster.pending("a/x", gpus=1, memory=f"{gib}Gi"), "a/x")["limit"]
    body = json.loads(fix.how[0].partition("-p ")[2].strip("'"), parse_float=Fraction)
    assert body["spec"]["resources"]["memory"]["limit"] * 10**6 == gib * 2**30


def test_a_quota_lets_a_queue_reclaim() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=0).queue("b", deserved_gpus=0)
    cluster.nodes("n", 2, gpus=4).update_queue("b", weight=8)
    cluster.running("b/one", pods=4, gpus=1, node="n1").running("b/two", pods=4, gpus=1, node="n2")
    cluster.pending("a/new", gpus=4)
    fix = fixes(cluster, "a/new")["quota"]
    assert fix.changes == ("raise the quota of GPUs of queue a from 0 to 3",)
    assert fix.evicted == {"b/two": 4}


def test_non_preemptible_pods_get_a_quota_or_become_preemptible() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=1).node("n1", gpus=8)
    cluster.pending("a/new", gpus=4, priority="build")
    found = fixes(cluster, "a/new")
    assert found["quota"].changes == ("raise the quota of GPUs of queue a from 1 to 4",)
    assert found["preemptibility"].changes == ("make Job a/new preemptible",)


def test_nodes_are_added_by_the_number_that_is_missing() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=4).running("a/old", gpus=4, node="n1")
    cluster.pending("a/new", pods=4, gpus=4, min_member=4)
    assert fixes(cluster, "a/new")["nodes"].changes == ("add 3 nodes like n1",)


def test_a_gang_may_start_with_fewer_pods() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=4)
    cluster.pending("a/new", pods=4, gpus=4, min_member=4)
    fix = fixes(cluster, "a/new")["minimum"]
    assert fix.changes == ("let Job a/new start with 2 pods instead of 4",)


def test_pods_may_request_fewer_gpus() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4).pending("a/new", gpus=6)
    fix = fixes(cluster, "a/new")["gpus"]
    assert fix.changes == ("request 4 GPUs for each pod instead of 6",)


def test_half_a_gpu_is_offered_where_one_is_not_free() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1)
    cluster.running("a/old", gpu_fraction=0.5, gpu_groups=["g"], node="n1")
    cluster.pending("a/new", gpus=1)
    fix = fixes(cluster, "a/new")["gpus"]
    assert fix.changes == ("request half a GPU for each pod instead of 1",)


def test_the_yaml_of_half_a_gpu_removes_the_whole_gpus() -> None:
    """KAI refuses a pod with both."""
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4)
    cluster.pending("a/new", pods=2, gpus=1, min_member=2)
    fix = fixes(cluster, "a/new")["gpus"]
    body = yaml.safe_load("\n".join(fix.how))
    assert body["metadata"]["annotations"] == {"gpu-fraction": "0.5"}
    [container] = body["spec"]["containers"]
    assert container["name"] == "main"
    assert container["resources"]["limits"] == {"nvidia.com/gpu": None}


def test_the_minimum_of_a_job_is_changed_in_the_job() -> None:
    """Its PodGroup is written again from the Job, so a change of the PodGroup does not last."""
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=4)
    cluster.pending("a/new", pods=4, gpus=4, min_member=4)
    assert fixes(cluster, "a/new")["minimum"].how == (
        "# Job a/new",
        "metadata:",
        "  annotations:",
        "    kai.scheduler/batch-min-member: '2'",
    )


def test_the_topology_of_a_job_is_changed_in_the_job() -> None:
    cluster = kai.Cluster().queue("a").topology("dc", "zone", "rack")
    for rack in ("r1", "r2"):
        cluster.node(rack, gpus=4, labels={"zone": "z", "rack": rack})
    cluster.pending("a/new", pods=2, gpus=4, min_member=2, topology="dc", required_level="rack")
    fix = fixes(cluster, "a/new")["topology"]
    assert fix.changes == ("require one zone instead of one rack",)
    body = yaml.safe_load("\n".join(fix.how))
    assert body["metadata"]["annotations"] == {"kai.scheduler/topology-required-placement": "zone"}


@pytest.mark.parametrize(
    ("wrong", "change"),
    [
        ({"topology": "dcc"}, "use topology dc instead of dcc for Job a/new"),
        ({"required_level": "rak"}, "require one rack instead of one rak"),
    ],
)
def test_a_misspelt_topology_or_level_is_named(wrong: dict[str, str], change: str) -> None:
    cluster = kai.Cluster().queue("a").topology("dc", "zone", "rack")
    cluster.node("n1", gpus=4, labels={"zone": "z", "rack": "r"})
    options: Any = {"topology": "dc", "required_level": "rack", **wrong}
    cluster.pending("a/new", pods=2, gpus=2, min_member=2, **options)
    assert fixes(cluster, "a/new")["topology"].changes == (change,)


def test_a_constraint_without_any_topology_is_dropped() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.pending("a/new", gpus=2, topology="dc", required_level="rack")
    fix = fixes(cluster, "a/new")["topology"]
    assert fix.changes == ("drop the topology constraint of Job a/new",)
    assert set(yaml.safe_load("\n".join(fix.how))["metadata"]["annotations"].values()) == {None}


def test_bare_pods_are_deleted() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "old", "namespace": "a", "labels": {"kai.scheduler/queue": "a"}},
        "spec": {
            "schedulerName": "kai-scheduler",
            "nodeName": "n1",
            "containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": "4"}}}],
        },
        "status": {"phase": "Running"},
    }
    cluster = kai.load(json.dumps(pod).encode(), into=cluster).pending("a/new", gpus=4)
    assert fixes(cluster, "a/new")["end"].how == ("kubectl delete pods -n a old",)


def test_fixes_look_well_in_a_notebook_and_travel() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4).pending("a/new", gpus=2)
    found = plan_of(cluster).fix("a/new")
    assert repr(found) == "<kai.Fixes: 2 changes for a/new>"
    assert repr(found[0]) == "<kai.Fix: request 1 GPU for each pod instead of 2>"
    assert "<b>Request 1 GPU for each pod instead of 2.</b>" in found._repr_html_()
    assert starts_in(plan_of(copy.deepcopy(found)[0].apply(cluster)), "a/new")
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    with pytest.raises(kai.InvalidInputError, match="plan the cluster again"):
        again[0].apply(cluster)


@pytest.mark.parametrize(
    "wrong", [{"most": 0}, {"most": "3"}, {"most": 1.5}, {"may": 3}, {"costs": {"nodes": math.nan}}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4).pending("a/new", gpus=2)
    with pytest.raises(kai.InvalidInputError):
        plan_of(cluster).fix("a/new", **wrong)


def test_a_new_queue_has_no_more_quota_than_the_group_needs() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.pending("vison/new", gpus=2).pending("build/new", gpus=2, priority="build")
    assert fixes(cluster, "vison/new")["queue"].changes == (
        "create queue vison with a quota of 0 GPUs",
    )
    assert fixes(cluster, "build/new")["queue"].changes == (
        "create queue build with a quota of 2 GPUs",
    )


def test_labels_that_describe_a_node_are_not_changed() -> None:
    """A node with an A100 does not become one with an H100."""
    cluster = kai.Cluster().queue("a")
    cluster.node("n1", gpus=4, labels={"nvidia.com/gpu.product": "A100"})
    cluster.pending("a/new", gpus=4, node_selector={"nvidia.com/gpu.product": "H100"})
    found = fixes(cluster, "a/new")
    assert "selector" in found
    assert "label" not in found


def test_a_priority_class_is_named() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1).running("a/old", gpus=1, node="n1")
    cluster.pending("a/new", gpus=1)
    fix = fixes(cluster, "a/new")["priority"]
    assert "build-preemptible (75 instead of 50)" in fix.changes[0]
    assert fix.how[-1].strip() == "priorityClassName: build-preemptible"


def test_a_selector_gets_a_value_that_nodes_have() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=4, labels={"gpu": "NVIDIA-A100"})
    cluster.pending("a/new", gpus=4, node_selector={"gpu": "A100"})
    found = fixes(cluster, "a/new")
    assert found["selector"].changes == ("select gpu=NVIDIA-A100 instead of A100 in Job a/new",)
    assert found["label"].changes == ("label node n1 with gpu=A100",)


def test_a_taint_is_tolerated_or_removed() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4, taints=["team=b:NoSchedule"])
    cluster.pending("a/new", gpus=4)
    found = fixes(cluster, "a/new")
    assert found["toleration"].changes == ("tolerate the taint team=b:NoSchedule in Job a/new",)
    assert found["taint"].how == ("kubectl taint nodes n1 team:NoSchedule-",)


def test_as_many_nodes_are_uncordoned_as_needed() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 3, gpus=4, cordoned=True)
    cluster.pending("a/new", pods=2, gpus=4, min_member=2)
    assert fixes(cluster, "a/new")["uncordon"].how == ("kubectl uncordon n1 n2",)


def test_a_required_level_is_relaxed() -> None:
    cluster = kai.Cluster().queue("a").topology("racks", "zone", "rack")
    for number in (1, 2):
        labels = {"zone": "z", "rack": f"r{number}"}
        cluster.node(f"n{number}", gpus=4, labels=labels)
    cluster.pending("a/new", pods=2, gpus=4, min_member=2, topology="racks", required_level="rack")
    fix = fixes(cluster, "a/new")["topology"]
    assert fix.changes == ("require one zone instead of one rack",)


def test_gates_are_removed_and_pods_are_created() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.pending("a/new", pods=1, gpus=1, min_member=2)
    assert fixes(cluster, "a/new")["pods"].changes == ("create 1 more pod of Job a/new",)


def test_a_misspelt_queue_is_named() -> None:
    cluster = kai.Cluster().queue("vision").node("n1", gpus=1)
    found = plan_of(cluster.pending("a/new", gpus=1, queue="visoin")).fix("a/new")
    assert [fix.changes for fix in found] == [
        ("put Job a/new into queue vision",),
        ("create queue visoin with a quota of 0 GPUs",),
    ]


def test_pods_that_have_to_end_are_named() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.running("a/big", gpus=3, node="n1").running("a/small", gpus=1, node="n1")
    cluster.pending("a/new", gpus=1)
    fix = fixes(cluster, "a/new")["end"]
    assert fix.changes == ("end the running pods of pod group a/small (1 GPU)",)
    assert fix.how == ("kubectl delete job small -n a",)


def test_time_alone_starts_it_after_a_minimum_run_time() -> None:
    cluster = kai.Cluster(now=NOW).queue("a", spec={"preemptMinRuntime": "1h"}).node("n1", gpus=1)
    cluster.running("a/old", gpus=1, node="n1", started="2026-01-01T11:30:00Z")
    cluster.pending("a/new", gpus=1, priority=90)
    fix = fixes(cluster, "a/new")["wait"]
    assert fix.changes == ("wait until 2026-01-01T12:30:00Z",)
    assert fix.evicted == {"a/old": 1}


def test_two_changes_are_found_where_one_does_not_suffice() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=2, cordoned=True)
    cluster.pending("a/new", pods=2, gpus=1, min_member=2)
    found = plan_of(cluster).fix("a/new")
    assert found
    assert all(len(fix.changes) == 2 for fix in found)
    assert {"limit", "uncordon"} in [set(fix.kinds) for fix in found]


def test_three_changes_are_found_where_two_do_not_suffice() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1)
    cluster.node("n1", gpus=2, cordoned=True, labels={"pool": "x"})
    cluster.pending("a/new", pods=2, gpus=1, min_member=2, node_selector={"pool": "y"})
    [fix] = plan_of(cluster).fix("a/new", costs={"minimum": 20, "gpus": 20})
    assert sorted(fix.kinds) == ["limit", "selector", "uncordon"]
    assert all(change[1:] in str(fix) for change in fix.changes)


def test_a_node_with_several_obstacles_is_freed_of_all() -> None:
    """No change of one of them starts the group, so none was proposed."""
    cluster = kai.Cluster().queue("a").node("n1", gpus=2, taints=["team"]).cordon("n1")
    [fix, *_] = plan_of(cluster.pending("a/x", gpus=4)).fix("a/x")
    assert set(fix.kinds) == {"toleration", "uncordon", "gpus"}


def test_a_limit_is_raised_for_those_that_come_first() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=8)
    for name in ("a", "b", "c"):
        cluster.pending(f"a/{name}", gpus=1)
    found = fixes(cluster, "a/c")
    assert found["limit"].changes == ("raise the limit of GPUs of queue a from 1 to 3",)


def test_the_answer_names_who_waits_then() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1)
    cluster.pending("a/first", gpus=1).pending("a/second", gpus=1)
    fix = fixes(cluster, "a/second")["priority"]
    assert fix.then_wait == ("a/first",)
    assert "Then these wait: a/first." in "\n".join(fix.lines())


def test_costs_decide_the_order() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4).running("a/old", gpus=4, node="n1")
    plan = plan_of(cluster.pending("a/new", gpus=4))
    assert plan.fix("a/new")[0].kinds != ("nodes",)
    assert plan.fix("a/new", costs={"nodes": 0})[0].kinds == ("nodes",)


def test_changes_that_the_asker_may_not_make_are_marked() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4).pending("a/new", gpus=2)
    found = fixes(cluster, "a/new", may=lambda right: right.kind != "Queue")
    assert found["limit"].needs_an_operator
    assert not found["gpus"].needs_an_operator
    assert "(ask an operator)" in found["limit"].lines()[0]


def test_a_group_that_starts_needs_nothing() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4).pending("a/new", gpus=2)
    found = plan_of(cluster).fix("a/new")
    assert not found
    assert str(found) == "a/new does not wait: nothing has to change."


def test_a_group_that_loses_its_pods_may_keep_them() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=1).queue("b", deserved_gpus=1)
    cluster.node("n1", gpus=2).running("a/old", pods=2, gpus=1, node="n1")
    cluster.pending("b/new", gpus=1)
    found = fixes(cluster, "a/old")
    assert found["quota"].changes == ("raise the quota of GPUs of queue a from 1 to 2",)
    assert found["quota"].then_wait == ("b/new",)


def test_pods_that_are_promised_places_need_nothing() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=2)
    cluster.releasing("a/old", gpus=1, node="n1").pending("a/new", pods=2, gpus=1)
    found = plan_of(cluster).fix("a/new")
    assert str(found).startswith("All pods of a/new have a place or are promised one")


def test_the_cluster_is_not_changed() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4).pending("a/new", gpus=2)
    before = cluster.to_snapshot()
    assert plan_of(cluster).fix("a/new")
    assert cluster.to_snapshot() == before


def test_a_cluster_that_changed_is_refused() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4).pending("a/new", gpus=2)
    plan = plan_of(cluster)
    cluster.update_queue("a", gpu_limit=2)
    with pytest.raises(kai.InvalidInputError, match="changed since this plan"):
        plan.fix("a/new")


def test_a_pickled_plan_is_refused() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/new", gpus=2)
    kept = pickle.loads(pickle.dumps(plan_of(cluster)))
    with pytest.raises(kai.InvalidInputError, match="pickled"):
        kept.fix("a/new")


def test_an_unknown_kind_of_cost_is_refused() -> None:
    plan = plan_of(kai.Cluster().queue("a").node("n1", gpus=1).pending("a/new", gpus=2))
    with pytest.raises(kai.InvalidInputError, match="no kind of change 'quotas'"):
        plan.fix("a/new", costs={"quotas": 1})


def test_all_limits_of_a_path_are_raised_if_the_manifests_forgot_them() -> None:
    """A limit that is missing counts as 0. A plan shows only the first that is exceeded, so the
    others are found one after the other."""
    names = ("gpu", "cpu", "memory")
    forgotten: dict[str, Any] = {"spec": {"resources": {name: {"quota": 4} for name in names}}}
    cluster = kai.Cluster().node("n1", gpus=4)
    cluster.add("Queue", {"metadata": {"name": "top"}, **forgotten})
    below = {"spec": {**forgotten["spec"], "parentQueue": "top"}}
    cluster.add("Queue", {"metadata": {"name": "a"}, **below})
    cluster.pending("a/new", gpus=1, cpus=1, memory="1Gi")
    [fix] = plan_of(cluster).fix("a/new")
    assert sorted(fix.changes) == [
        "raise the limit of CPUs of queue a from 0 to 1",
        "raise the limit of CPUs of queue top from 0 to 1",
        "raise the limit of GPUs of queue a from 0 to 1",
        "raise the limit of GPUs of queue top from 0 to 1",
        "raise the limit of memory of queue a from 0 B to 1 GiB",
        "raise the limit of memory of queue top from 0 B to 1 GiB",
    ]
    assert starts_in(plan_of(fix.apply(cluster)), "a/new")


def test_of_two_sizes_of_a_change_the_smaller_is_kept() -> None:
    """Half a GPU is proposed after one GPU, for what is left with all other changes."""
    cluster = kai.Cluster().queue("a", gpu_limit=1)
    cluster.node("n1", gpus=4, cpus=32, labels={"zone": "a"}, taints=["k:NoSchedule"])
    cluster.pending("a/new", gpus=2, cpus=64, node_selector={"zone": "b"})
    found = plan_of(cluster).fix("a/new")
    assert found
    assert "request 1 GPU for each pod instead of 2" in found[0].changes
    assert not any("half a GPU" in change for fix in found for change in fix.changes)


def test_only_the_taints_that_keep_pods_off_are_removed() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4, taints=["a:NoSchedule", "b=1:NoExecute"])
    cluster.pending("a/new", gpus=1, tolerations=["a:NoSchedule"])
    fix = fixes(cluster, "a/new")["taint"]
    assert fix.changes == ("remove the taint b=1:NoExecute from node n1",)
    assert fix.how == ("kubectl taint nodes n1 b:NoExecute-",)


def test_taints_are_removed_from_as_many_nodes_as_a_gang_needs() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 3, gpus=4, taints=["a=1:NoSchedule"])
    cluster.pending("a/new", pods=2, gpus=4, min_member=2)
    fix = fixes(cluster, "a/new")["taint"]
    assert fix.changes == ("remove the taint a=1:NoSchedule from nodes n1, n2",)
    assert fix.how == ("kubectl taint nodes n1 n2 a:NoSchedule-",)


def test_a_priority_that_ends_preemptibility_says_so() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=4).node("n1", gpus=4)
    cluster.running("a/old", gpus=4, node="n1", priority="build-preemptible")
    cluster.pending("a/new", gpus=4, priority="build-preemptible")
    fix = fixes(cluster, "a/new")["priority"]
    assert fix.changes == (
        "give Job a/new the priority class build (100 instead of 75, not preemptible)",
    )


def test_a_topology_with_malformed_levels_is_survived() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    broken = {"metadata": {"name": "dc"}, "spec": {"levels": [None, "rack"]}}
    cluster.add("Topology", broken)
    cluster.pending("a/new", gpus=2, topology="dcc", required_level="rack")
    assert [fix.kinds for fix in plan_of(cluster).fix("a/new")] == [("topology",)]
