"""Why a group waits, in sentences that help a person act."""

import json
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.engine.explain import reasons_to_wait

ALLOCATE = {"actions": "allocate"}


def why(cluster: kai.Cluster, name: str) -> str:
    return kai.Scheduler(ALLOCATE).plan(cluster, now="2026-01-01T00:00:00Z").why(name)


def full_node() -> kai.Cluster:
    return kai.Cluster().queue("a", deserved_gpus=4).node("n1", gpus=4)


def test_a_placed_group_has_its_node() -> None:
    cluster = full_node().node("n2", gpus=8).pending("a/job", pods=3, gpus=4, min_member=3)
    assert why(cluster, "a/job") == "a/job is placed: 3 pods on n1 (1), n2 (2)."


def test_a_running_group_has_its_node() -> None:
    assert why(full_node().running("a/job", pods=2, gpus=1, node="n1"), "a/job") == (
        "a/job runs: 2 pods on n1.\n"
        "  No action of this configuration evicts its pods for other pod groups."
    )


def test_all_limits_on_the_path_are_named() -> None:
    """Only the nearest one was, so raising it did not start the group."""
    cluster = kai.Cluster().queue("root", gpu_limit=2).queue("a", parent="root", gpu_limit=2)
    cluster.node("n1", gpus=8).running("a/old", pods=2, gpus=1, node="n1")
    assert why(cluster.pending("a/job", gpus=1), "a/job") == (
        "a/job waits in queue a.\n"
        "  Queue a has a limit of 2 GPUs: 2 are in use, and this request is for 1 more.\n"
        "  Queue root has a limit of 2 GPUs: 2 are in use, and this request is for 1 more."
    )


def test_all_limits_that_no_waiting_cures_are_named() -> None:
    cluster = kai.Cluster().queue("root", gpu_limit=2).queue("a", parent="root", gpu_limit=1)
    cluster.node("n1", gpus=8).pending("a/job", gpus=4)
    assert why(cluster, "a/job").splitlines()[1:] == [
        "  It can never start in this queue: it needs at least 4 GPUs, but the limit of queue a is "
        "1 and the limit of queue root is 2."
    ]


def test_limits_of_all_resources_are_named() -> None:
    cluster = kai.Cluster().queue("a", cpu_limit=1, memory_limit="1Gi")
    cluster.node("n1", gpus=8, cpus=64, memory="64Gi")
    cluster.pending("a/job", gpus=1, cpus=4, memory="4Gi")
    plan = kai.Scheduler(ALLOCATE).plan(cluster)
    assert plan.why("a/job").splitlines()[1:] == [
        "  It can never start in this queue: it needs at least 4 CPUs, but the limit of queue a is "
        "1.",
        "  It can never start in this queue: it needs at least 4 GiB of memory, but the limit of "
        "queue a is 1 GiB.",
    ]
    [reason] = plan.pod_groups["a/job"].reasons
    assert [each["resource"] for each in reason.facts["also"]] == ["memory"]


def test_quotas_above_and_beside_a_limit_are_named_with_one_advice() -> None:
    cluster = kai.Cluster().queue("root", deserved_gpus=0, gpu_limit=1)
    cluster.queue("a", parent="root", deserved_gpus=1).node("n1", gpus=8)
    cluster.running("a/old", gpus=1, node="n1", preemptible=False)
    text = why(cluster.pending("a/job", gpus=1, preemptible=False), "a/job")
    assert [each.split(",")[0] for each in text.splitlines()[1:]] == [
        "  Queue root has a limit of 1 GPU: 1 is in use",
        "  Queue a deserves 1 GPU",
        "  Queue root deserves 0 GPUs",
    ]
    assert text.count("If it were preemptible") == 1


def test_the_names_of_scheduling_gates() -> None:
    cluster = full_node().pending("a/job", pods=3, min_member=3)
    gates = [["team.io/budget"], ["team.io/budget", "team.io/data"], []]
    for pod, names in zip(cluster.objects["pods"][-3:], gates, strict=True):
        spec = {**pod["spec"], "schedulingGates": [{"name": name} for name in names]}
        cluster.upsert({**pod, "kind": "Pod", "spec": spec})
    assert why(cluster, "a/job").splitlines()[1] == (
        "  It needs 3 pods to start; 3 exist, 2 of them with the scheduling gates team.io/budget, "
        "team.io/data."
    )


def test_scheduling_gates_hide_nothing_that_waiting_cannot_cure() -> None:
    cluster = full_node().pending("a/job", gpus=40, cpus=2000, gated=True)
    pending = full_node().pending("a/job", gpus=40, cpus=2000)
    first, *others = why(cluster, "a/job").splitlines()[1:]
    assert first == (
        "  It needs 1 pod to start; 1 exists, with the scheduling gate kai.scheduler/example."
    )
    assert others
    assert others == why(pending, "a/job").splitlines()[1:]
    assert "can never start here" in others[0]


def test_a_gated_pod_that_would_have_to_wait_for_room_waits_for_its_gate_alone() -> None:
    assert len(why(full_node().pending("a/job", gpus=1, gated=True), "a/job").splitlines()) == 2


def test_a_device_class_that_does_not_exist_gets_the_nearest_name() -> None:
    cluster = full_node()
    cluster.upsert({"kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"}, "spec": {}})
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia", "count": 1}}
    labels = {"kai.scheduler/queue": "a"}
    cluster.upsert(
        {
            "kind": "ResourceClaim",
            "metadata": {"name": "gpus", "namespace": "a", "labels": labels},
            "spec": {"devices": {"requests": [request]}},
        }
    )
    claims = [{"name": "gpu", "resourceClaimName": "gpus"}]
    cluster.pending("a/job", pod_spec={"resourceClaims": claims})
    assert why(cluster, "a/job").splitlines()[1:] == [
        "  Device class gpu.nvidia does not exist for claim a/gpus request gpu.",
        "  There is no DeviceClass gpu.nvidia; did you mean gpu.nvidia.com?",
    ]
    claims[0]["resourceClaimName"] = "gpu"
    cluster.pending("a/other", pod_spec={"resourceClaims": claims})
    assert why(cluster, "a/other").splitlines()[-1] == (
        "  There is no ResourceClaim a/gpu; did you mean gpus?"
    )


def test_a_queue_that_was_left_out_is_not_missing() -> None:
    """A new queue of that name would replace it."""
    cluster = kai.Cluster().node("n1", gpus=4).queue("a", parent="nope").pending("a/job", gpus=1)
    plan = kai.Scheduler(ALLOCATE).plan(cluster)
    assert plan.why("a/job").splitlines()[1] == (
        '  Queue a was left out of the plan: spec.parentQueue: parent queue "nope" does not exist.'
    )
    assert not plan.fix("a/job")


def test_a_workload_of_several_groups_names_those_that_wait() -> None:
    manifests = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "a"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web", "kai.scheduler/queue": "a"}},
                "spec": {
                    "schedulerName": "kai-scheduler",
                    "containers": [
                        {"name": "m", "resources": {"limits": {"nvidia.com/gpu": 2}}},
                    ],
                },
            },
        },
    }
    cluster = kai.load(json.dumps(manifests).encode(), into=full_node())
    with pytest.raises(kai.NotFoundError, match=r"3 pod groups; these wait: a/pg-web-2"):
        why(cluster, "web")


def test_a_group_whose_node_is_not_given_does_not_run_here(tmp_path: Path) -> None:
    """Its protection is that of its pods, and the plan has none of them."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "a", "labels": {"kai.scheduler/queue": "a"}},
        "spec": {"schedulerName": "kai-scheduler", "nodeName": "n9", "containers": [{"name": "m"}]},
        "status": {"phase": "Running"},
    }
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    cluster = kai.load(tmp_path / "pod.json", into=full_node())
    assert why(cluster, "a/p") == "a/pg-p has 1 pod on no node of this plan."


def test_a_pipelined_group_has_its_node() -> None:
    cluster = full_node().releasing("a/old", gpus=4, node="n1").pending("a/job", gpus=4)
    assert why(cluster, "a/job") == (
        "a/job is promised a place that other pods are leaving: 1 pod on n1."
    )


def test_too_few_free_gpus_are_counted() -> None:
    cluster = full_node().node("n2", gpus=4).running("a/run", pods=2, gpus=2, node=["n1", "n2"])
    cluster.pending("a/job", gpus=3)
    assert why(cluster, "a/job") == (
        "a/job waits in queue a.\n"
        "  It needs 3 GPUs on one node; after this cycle 4 are free, at most 2 on one node.\n"
        "  a/run holds 4 GPUs and has no lower priority."
    )


def test_a_gang_has_the_total_of_its_request() -> None:
    cluster = full_node().running("a/run", gpus=1, node="n1")
    cluster.pending("a/job", pods=2, gpus=2, min_member=2)
    assert (
        "It needs 2 pods that start together, with 2 GPUs each; after this cycle 3 are free."
        in (why(cluster, "a/job"))
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"gpus": 8}, "one pod requests 8 GPUs, but the largest node has 4."),
        (
            {"gpus": 4, "pods": 2, "min_member": 2},
            "2 pods that must start together need 8 GPUs, but the cluster has 4.",
        ),
    ],
)
def test_a_group_that_can_never_start_has_only_that_reason(
    options: dict[str, int], sentence: str
) -> None:
    assert why(full_node().pending("a/job", **options), "a/job") == (  # type: ignore[arg-type]
        f"a/job waits in queue a.\n  It can never start here: {sentence}"
    )


def test_a_limit_below_the_minimum_request_is_permanent() -> None:
    cluster = kai.Cluster().queue("dept", gpu_limit=1).queue("a", parent="dept").node("n1", gpus=4)
    assert (
        "It can never start in this queue: it needs at least 2 GPUs, but the limit of queue "
        "dept is 1." in why(cluster.pending("a/job", gpus=2), "a/job")
    )


@pytest.mark.parametrize(
    ("limit", "request_", "sentence"),
    [
        (
            {"memory_limit": "30Gi"},
            {"memory": "100Gi"},
            "it needs at least 100 GiB of memory, but the limit of queue a is 30 GiB.",
        ),
        (
            {"cpu_limit": 4},
            {"cpus": 3, "pods": 2, "min_member": 2},
            "it needs at least 6 CPUs, but the limit of queue a is 4.",
        ),
    ],
)
def test_a_limit_of_cpus_or_memory_below_the_request_is_permanent(
    limit: dict[str, Any], request_: dict[str, Any], sentence: str
) -> None:
    cluster = kai.Cluster().queue("a", **limit).node("n1", cpus=32, memory="256Gi", gpus=4)
    assert why(cluster.pending("a/x", gpus=1, **request_), "a/x").splitlines()[1:] == [
        f"  It can never start in this queue: {sentence}"
    ]


def test_a_limit_that_no_waiting_cures_hides_no_reached_limit() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=2, memory_limit="1Gi").node("n1", gpus=4)
    cluster.running("a/y", gpus=2, memory="0", node="n1").pending("a/x", gpus=1, memory="2Gi")
    assert why(cluster, "a/x").splitlines()[1:] == [
        "  It can never start in this queue: it needs at least 2 GiB of memory, but the limit of "
        "queue a is 1 GiB.",
        "  Queue a has a limit of 2 GPUs: 2 are in use, and this request is for 1 more.",
    ]


def test_a_limit_of_memory_that_a_smaller_pod_would_fit_is_not_permanent() -> None:
    cluster = kai.Cluster().queue("a", memory_limit="30Gi").node("n1", memory="256Gi")
    cluster.running("a/y", memory="20Gi", node="n1")
    assert why(cluster.pending("a/x", memory="20Gi"), "a/x").splitlines()[1:] == [
        "  Queue a has a limit of 30 GiB of memory: 20 GiB are in use, and this request is for "
        "20 GiB more."
    ]


def test_a_reached_limit_is_explained_with_its_numbers() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=2).node("n1", gpus=4)
    cluster.running("a/run", gpus=2, node="n1").pending("a/job", gpus=1)
    assert "Queue a has a limit of 2 GPUs: 2 are in use, and this request is for 1 more." in (
        why(cluster, "a/job")
    )


def test_a_quota_suggests_to_be_preemptible() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=1).node("n1", gpus=4)
    cluster.pending("a/job", gpus=2, priority="build")
    text = why(cluster, "a/job")
    assert (
        "Queue a deserves 1 GPU, its non-preemptible pods hold 0, and this non-preemptible"
        " request is for 2 more" in text
    )
    assert "If it were preemptible (kai.scheduler/preemptibility: preemptible)" in text


def test_a_queue_with_more_than_its_share_is_named() -> None:
    cluster = (
        kai.Cluster()
        .queue("a", deserved_gpus=2)
        .queue("b", deserved_gpus=2)
        .node("n1", gpus=4)
        .running("b/run", pods=4, gpus=1, node="n1")
        .pending("a/job", gpus=1)
    )
    assert (
        "After this cycle queue a has 0 GPUs and a fair share of 1; queues above their fair"
        " share: b (4 of 3)." in (why(cluster, "a/job"))
    )


def test_unsuitable_nodes_are_counted_by_reason() -> None:
    cluster = (
        kai.Cluster()
        .queue("a")
        .node("n1", cordoned=True)
        .node("n2", taints=["team=x:NoSchedule"])
        .node("n3", cpus=1)
        .pending("a/job", cpus=4)
    )
    text = why(cluster, "a/job")
    assert "No node can take it now: " in text
    for part in (
        "node n1 cordoned",
        "node n2 with the taint team=x:NoSchedule",
        "node n3 with fewer than 4 CPUs",
    ):
        assert part in text


def test_a_missing_queue_gets_a_suggestion() -> None:
    cluster = kai.Cluster().queue("vision").node("n1", gpus=1).pending("vison/job", gpus=1)
    assert why(cluster, "vison/job") == (
        "vison/job cannot be scheduled until it is corrected.\n"
        "  There is no queue 'vison'; did you mean 'vision'?"
    )


def test_a_gang_waits_for_its_missing_pods() -> None:
    cluster = full_node().pending("a/job", pods=1, min_member=3)
    assert why(cluster, "a/job") == (
        "a/job waits until it has enough pods.\n  It needs 3 pods to start; 1 exists."
    )
    gated = full_node().pending("a/job", pods=3, min_member=3, gated=True)
    gate = "the scheduling gate kai.scheduler/example"
    assert f"3 exist, all with {gate}." in why(gated, "a/job")


def test_a_partly_placed_elastic_group_has_its_numbers() -> None:
    cluster = full_node().running("a/job", gpus=1, node="n1").pending("a/job", pods=5, gpus=1)
    text = why(cluster, "a/job")
    assert text.startswith("a/job has 6 pods: 1 running, 3 placed now; the rest waits.\n")
    assert "It needs 1 GPU on one node; no GPU is free after this cycle." in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"gpu_memory_mib": 9_000},
            "No GPU of a suitable node has 9,000 MiB left.",
        ),
        ({"gpu_fraction": 0.5}, "No GPU of a suitable node has 0.5 left."),
        (
            {"gpu_fraction": 0.25, "gpu_devices": 3},
            "It can never start here: one pod requests parts of 3 GPUs, but the largest node "
            "has 2.",
        ),
        (
            {"gpu_fraction": 0.5, "gpu_devices": 2},
            "No suitable node has 2 GPUs with 0.5 left on each.",
        ),
        (
            {"gpu_memory_mib": 9_000, "gpu_devices": 2},
            "No suitable node has 2 GPUs with 9,000 MiB left on each.",
        ),
    ],
    ids=str,
)
def test_a_fraction_without_room_is_named(given: dict[str, Any], message: str) -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=2, gpu_memory_mib=15_360)
    for device in ("g", "h"):
        cluster.running(f"a/{device}", gpu_fraction=0.6, node="n1", gpu_groups=[device])
    cluster.pending("a/job", **given)
    assert message in why(cluster, "a/job")


def test_an_unsupported_field_is_named() -> None:
    near = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "namespaceSelector": {"matchLabels": {"team": "a"}},
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    cluster = full_node().pending("a/job", gpus=1, pod_spec={"affinity": affinity})
    assert "kai does not have yet." in why(cluster, "a/job")


@pytest.mark.parametrize("name", ["a/job", "job", "a/job-1", "job-1"])
def test_a_group_is_known_by_its_name_and_by_its_pods(name: str) -> None:
    assert why(full_node().pending("a/job", pods=2), name).startswith("a/job is placed")


def test_an_ambiguous_name_is_refused() -> None:
    cluster = full_node().pending("a/job").pending("b/job", queue="a")
    with pytest.raises(kai.NotFoundError, match="'job' is the name of 2 pod groups: a/job, b/job"):
        why(cluster, "job")


def test_an_unknown_name_gets_suggestions() -> None:
    with pytest.raises(kai.NotFoundError, match=r"no pod group 'a/jov'; did you mean 'a/job'\?"):
        why(full_node().pending("a/job"), "a/jov")


def test_a_sub_group_that_lacks_room_is_named() -> None:
    parts = [{"name": "decode", "minMember": 1}, {"name": "prefill", "minMember": 2}]
    cluster = kai.Cluster().queue("a").node("n1", gpus=3).running("a/run", gpus=1, node="n1")
    cluster.add(
        "PodGroup",
        {
            "metadata": {"name": "serve", "namespace": "a"},
            "spec": {"queue": "a", "subGroups": parts},
        },
    )
    for number, part in enumerate(("decode", "prefill", "prefill")):
        cluster.add("Pod", part_of_serve(number, part))
    assert why(cluster, "a/serve") == (
        "a/serve waits in queue a.\n"
        "  Its subgroup prefill must start with 2 pods, but there is room for 1: "
        "1 node short of free GPUs.\n"
        "  a/run holds 1 GPU and has no lower priority."
    )


def part_of_serve(number: int, part: str) -> dict[str, Any]:
    pod = late_pod()
    pod["metadata"] = {
        "name": f"serve-{number}",
        "namespace": "a",
        "annotations": {"pod-group-name": "serve"},
        "labels": {"kai.scheduler/subgroup-name": part},
    }
    return pod


def test_a_queue_at_its_fair_share_cannot_reclaim() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=2).queue("b", deserved_gpus=2)
    cluster.node("n1", gpus=4).running("a/run", gpus=2, node="n1")
    cluster.running("b/run", gpus=2, node="n1").pending("a/job", gpus=1)
    assert why_after_evictions(cluster, "a/job") == (
        "a/job waits in queue a.\n"
        "  It needs 1 GPU on one node; no GPU is free after this cycle.\n"
        "  Queue a has 2 GPUs and a fair share of 2, so it cannot reclaim GPUs from other queues.\n"
        "  a/run holds 2 GPUs and has no lower priority."
    )


# ---- promises ------------------------------------------------------------------------------------


def test_pipelined_resources_are_not_free() -> None:
    # Seven of eight GPUs run: the gang of two is promised the free one and one more.
    cluster = kai.Cluster().queue("a", deserved_gpus=8).queue("b").node("n1", gpus=8)
    cluster.running("b/run", pods=7, gpus=1, node="n1")
    cluster.pending("a/first", pods=2, gpus=1, min_member=2)
    cluster.pending("a/second", pods=7, gpus=1, min_member=7)
    assert why_after_evictions(cluster, "a/first").startswith("a/first is promised a place")
    assert (
        "It needs 7 pods that start together, with 1 GPU each; no GPU is free after this cycle."
        in why_after_evictions(cluster, "a/second")
    )


def test_gpus_that_pods_are_leaving_are_named() -> None:
    cluster = full_node().releasing("a/old", gpus=3, node="n1").running("a/kept", gpus=1, node="n1")
    assert why(cluster.pending("a/new", gpus=4), "a/new").splitlines()[1] == (
        "  It needs 4 GPUs on one node; no GPU is free after this cycle, 3 will be when pods have "
        "left."
    )


def test_releasing_resources_go_to_pipelined_pods_first() -> None:
    cluster = full_node().running("a/run", pods=2, gpus=1, node="n1")
    cluster.releasing("a/old", gpus=1, node="n1")  # and one is free
    cluster.pending("a/first", pods=2, gpus=1, min_member=2, priority=60)
    cluster.pending("a/second", pods=2, gpus=1, min_member=2)
    assert "no GPU is free after this cycle." in why(cluster, "a/second")

    cluster = full_node().running("a/run", gpus=1, node="n1")
    cluster.releasing("a/old", gpus=2, node="n1")  # and one is free
    cluster.pending("a/first", gpus=2, priority=60).pending("a/second", gpus=2)
    assert "It needs 2 GPUs on one node; after this cycle 1 is free." in why(cluster, "a/second")


def test_moved_pods_use_room_on_their_new_node() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=4).nodes("n", 2, gpus=2)
    cluster.running("a/b", gpus=1, node="n1").running("a/c", gpus=1, node="n2")
    cluster.pending("a/new", gpus=2).pending("a/next", pods=3, gpus=1, min_member=3)
    assert "no GPU is free after this cycle." in why_after_evictions(cluster, "a/next")


def test_pipelined_resources_count_for_the_queue() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=3).queue("b", deserved_gpus=1)
    cluster.node("n1", gpus=4).running("b/run", pods=4, gpus=1, node="n1")
    cluster.pending("a/first", gpus=1).pending("a/second", pods=3, gpus=1, min_member=3)
    assert (
        "After this cycle queue a has 1 GPU and a fair share of 3: 3 GPUs more would exceed it, so "
        "it cannot reclaim GPUs from other queues." in why_after_evictions(cluster, "a/second")
    )


# ---- evictions -----------------------------------------------------------------------------------


def rich_and_poor() -> kai.Cluster:
    cluster = kai.Cluster().queue("rich", deserved_gpus=2).queue("poor", deserved_gpus=2)
    cluster.node("n1", gpus=4).running("rich/old", gpus=2, node="n1")
    return cluster.running("rich/young", pods=2, gpus=1, node="n1", min_member=1)


def why_after_evictions(cluster: kai.Cluster, name: str) -> str:
    return kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z").why(name)


def test_a_group_that_loses_pods_has_the_group_they_are_evicted_for() -> None:
    cluster = rich_and_poor().pending("poor/new", gpus=1)
    assert why_after_evictions(cluster, "rich/young") == (
        "rich/young loses 1 of its 2 pods; 1 pod on n1 stays.\n"
        "  1 pod makes room for poor/new: reclaim.\n"
        "  Queue rich held 4 GPUs; its fair share is 3."
    )
    assert why_after_evictions(cluster, "poor/new") == (
        "poor/new is promised a place that other pods are leaving: 1 pod on n1."
    )
    assert why_after_evictions(cluster, "rich/old").startswith("rich/old runs: 1 pod on n1.")


def test_a_group_that_loses_all_pods_is_explained() -> None:
    cluster = rich_and_poor().pending("poor/new", gpus=2)
    assert why_after_evictions(cluster, "rich/young") == (
        "rich/young loses all its pods: 2 pods.\n"
        "  2 pods make room for poor/new: reclaim.\n"
        "  Queue rich held 4 GPUs; its fair share is 2."
    )


def test_a_parent_queue_over_its_share_is_named() -> None:
    cluster = kai.Cluster().queue("big", deserved_gpus=1).queue("small", deserved_gpus=1)
    cluster.queue("rich", parent="big", deserved_gpus=2).queue("poor", parent="small")
    cluster.node("n1", gpus=2).running("rich/run", pods=2, gpus=1, node="n1")
    text = why_after_evictions(cluster.pending("poor/new", gpus=1), "rich/run")
    assert text.endswith("\n  Queue big held 2 GPUs; its fair share is 1.")


def test_a_moved_group_has_its_node_and_the_reason() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=2)
    cluster.running("a/b", gpus=1, node="n1").running("a/c", gpus=1, node="n2")
    plan = kai.Scheduler().plan(cluster.pending("a/new", gpus=2), now="2026-01-01T00:00:00Z")
    [moved] = {each.pod for each in plan.decisions if each.kind == "evict"}
    [there] = {
        each.node for each in plan.decisions if isinstance(each, kai.Pipeline) and each.pod == moved
    }
    assert plan.why(moved) == (
        f"{moved[:3]} moves: 1 pod on {there}.\n  1 pod makes room for a/new: consolidation."
    )
    assert "It moves." in str(plan)


def test_a_stale_gang_has_the_number_of_missing_pods() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.running("a/job", pods=2, gpus=1, min_member=3, node="n1")
    lacks = "  It is stale: it needs 3 pods to continue, but 2 run."
    assert why_after_evictions(cluster, "a/job") == f"a/job runs: 2 pods on n1.\n{lacks}"
    cluster.configure(globalDefaultStalenessGracePeriod=0)
    assert why_after_evictions(cluster, "a/job") == (
        f"a/job loses all its pods: 2 pods.\n{lacks}\n  Its grace period is over."
    )


def test_a_preemption_delay_has_its_end() -> None:
    cluster = rich_and_poor().pending("poor/new", gpus=1)
    cluster.add(
        "PodGroup",
        {
            "metadata": {
                "name": "late",
                "namespace": "poor",
                "creationTimestamp": "2025-12-31T23:58:00Z",
            },
            "spec": {"queue": "poor", "minMember": 1, "preemptionDelay": "5m"},
        },
    )
    cluster.add("Pod", late_pod())
    first = why_after_evictions(cluster, "poor/late").splitlines()[1]  # the table shows only that
    assert first == (
        "  It may not evict other pods before 2026-01-01T00:03:00Z: its preemption delay is 5m0s."
    )


def late_pod() -> dict[str, Any]:
    requests = {"requests": {"nvidia.com/gpu": "1"}}
    return {
        "metadata": {
            "name": "late-0",
            "namespace": "poor",
            "annotations": {"pod-group-name": "late"},
        },
        "spec": {
            "schedulerName": "kai-scheduler",
            "containers": [{"name": "main", "resources": requests}],
        },
        "status": {"phase": "Pending"},
    }


def test_a_group_is_known_by_its_workload() -> None:
    cluster = full_node()
    owner = {"kai.scheduler/top-owner-metadata": "kind: Job\nname: nightly\nuid: u1\n"}
    metadata = {"name": "late", "namespace": "poor", "annotations": owner}
    cluster.add("PodGroup", {"metadata": metadata, "spec": {"queue": "a", "minMember": 1}})
    cluster.add("Pod", late_pod())
    assert why(cluster, "poor/nightly") == why(cluster, "nightly") == why(cluster, "poor/late")


def test_a_group_with_rejected_pods_has_the_reason() -> None:
    snapshot = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", gpus=1).to_snapshot()
    snapshot["rawObjects"]["pods"][0]["metadata"]["labels"] = {"team": 5}
    plan = kai.Scheduler().plan(kai.Cluster.from_snapshot(snapshot))
    message = (
        "Pod a/x-0 was left out of the plan.\n"
        '  metadata.labels["team"]: expected a string, found a number'
    )
    assert [plan.why(name) for name in ("a/x", "x", "a/x-0", "x-0")] == [message] * 4


# ---- what users took for something else ----------------------------------------------------------


def table(cluster: kai.Cluster) -> dict[str, str]:
    """The table of waiting groups, by group."""
    rows = reasons_to_wait(kai.Scheduler().plan(cluster))
    return {name: sentence for sentence, names in rows for name in names}


def test_the_table_ends_with_what_the_fair_share_decides() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=1).queue("b", deserved_gpus=1)
    cluster.node("n1", gpus=2).running("a/run", gpus=1, node="n1", priority=100)
    cluster.running("b/run", gpus=1, node="n1", priority=100)
    cluster.pending("a/x", gpus=1).queue("c", deserved_gpus=1).pending("c/x", gpus=2)
    needs = "It needs 1 GPU on one node; no GPU is free after this cycle"
    assert table(cluster)["a/x"] == f"{needs}; its queue has its fair share."
    assert table(cluster)["c/x"].endswith("; with it its queue would exceed its fair share.")


def test_groups_at_the_limit_of_their_queue_are_one_row() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4)
    cluster.running("a/run", gpus=1, node="n1").pending("a/one", gpus=1).pending("a/two", gpus=1)
    assert set(table(cluster).values()) == {"Queue a has reached its limit of 1 GPU."}


def test_a_limit_is_named_once() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4).pending("a/x", gpus=2)
    assert why(cluster, "a/x").count("limit") == 1


def test_evictions_that_do_not_suffice() -> None:
    """The rest of the node is held by a group that stays."""
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.running("a/low", gpus=1, node="n1", priority=10)
    cluster.running("a/stays", gpus=2, node="n1", priority=100)
    assert why(cluster.pending("a/x", gpus=3, priority=60), "a/x").endswith(
        "\n  Evictions do not suffice: without a/low, at most 2 GPUs would be free on one node:"
        " 1 too few."
    )


def test_evictions_that_do_not_suffice_for_a_gang() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=3)
    cluster.running("a/low", gpus=1, node="n1", priority=10)
    cluster.running("a/stays", gpus=2, node="n1", priority=100)
    cluster.pending("a/x", pods=2, gpus=1, min_member=2, priority=60)
    assert why(cluster, "a/x").endswith(
        "\n  Evictions do not suffice: without a/low, there would be room for 1 of its 2 pods."
    )


def test_a_search_that_reached_its_budget() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=2)
    cluster.running("a/low", pods=4, gpus=1, node=["n1", "n2"], priority=10, min_member=1)
    cluster.pending("a/x", pods=2, gpus=2, min_member=2, priority=60)
    config = {"scenarioSearchBudgets": {"maxScenarios": {"job": 1}}}
    assert "The search of preempt for pods to evict reached its budget after 1 scenario." in (
        kai.Scheduler(config).plan(cluster).why("a/x")
    )


def test_a_group_with_all_its_pods_placed_has_no_rest() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=2).queue("b").node("n1", gpus=2)
    cluster.running("b/low", gpus=1, node="n1").pending("a/x", pods=2, gpus=1)
    assert why_after_evictions(cluster, "a/x") == (
        "a/x has 2 pods: 1 placed now, 1 promised a place that other pods are leaving."
    )


def test_memory_has_the_same_unit_everywhere() -> None:
    cluster = kai.Cluster().queue("a", memory_limit="4Gi").node("n1", gpus=1, memory="64Gi")
    assert " GB" not in why(cluster.pending("a/x", memory="6Gi"), "a/x")


def test_nodes_that_were_left_out_are_named() -> None:
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"nvidia.com/gpu": "4"}}}
    snapshot = kai.Cluster().queue("a").pending("a/job", gpus=1).to_snapshot()
    snapshot["rawObjects"]["nodes"] = [node, node]
    assert why(kai.Cluster.from_snapshot(snapshot), "a/job").splitlines()[1] == (
        "  There are no nodes: Node n1 was left out of the plan: metadata.name: occurs 2 times, "
        "and it is unknown which one is valid: all are left out."
    )


def test_a_warning_says_that_all_nodes_are_in_other_pools() -> None:
    cluster = kai.Cluster().queue("a").pending("a/job", gpus=1)
    cluster.node("n1", gpus=4, labels={"kai.scheduler/node-pool": "blue"})
    [warning] = kai.Scheduler().plan(cluster).warnings
    assert warning.startswith("all nodes are in other node pools (blue, by their label ")
    assert kai.Scheduler().plan(cluster.node("n2", gpus=4)).warnings == ()
