"""What `plan.why` answers about a group that runs: what keeps its pods, and who can evict them."""

import pickle

import yaml

import kai

NOW = "2026-01-01T00:05:00Z"


def why(cluster: kai.Cluster, name: str, **options: str) -> list[str]:
    """The sentences after the headline."""
    plan = kai.Scheduler(**options).plan(cluster, now=NOW)
    assert pickle.loads(pickle.dumps(plan)).why(name) == plan.why(name)
    return [line.strip() for line in plan.why(name).splitlines()[1:]]


def two_queues(quota: float = 2, **settings: str) -> kai.Cluster:
    """Queue a holds 3 of 4 GPUs, queue b none."""
    cluster = kai.Cluster().queue("a", deserved_gpus=quota, spec=settings)
    cluster.queue("b", deserved_gpus=2).node("n1", gpus=4)
    return cluster.running("a/x", pods=3, gpus=1, node="n1", min_member=2)


def started(cluster: kai.Cluster, name: str, at: str) -> kai.Cluster:
    text = f"""
    apiVersion: scheduling.run.ai/v2alpha2
    kind: PodGroup
    metadata:
      name: {name}
      namespace: a
      annotations: {{kai.scheduler/last-start-timestamp: "{at}"}}
    spec: {{minMember: 2, queue: a}}
    """
    return cluster.upsert(yaml.safe_load(text))


MOVES = "Its pods may be moved to other nodes to make room."
PREEMPTS = "Pod groups of queue a with a priority above 50 can preempt it."


def test_a_group_that_is_not_preemptible() -> None:
    cluster = two_queues().running("a/fixed", gpus=1, node="n1", priority=100)
    assert why(cluster, "a/fixed") == [
        "It is not preemptible: its pods are not evicted for other pod groups."
    ]


def test_a_group_of_a_queue_within_its_quota() -> None:
    assert why(two_queues(quota=3), "a/x") == [
        PREEMPTS,
        "Queue a holds 3 GPUs, within its quota of 3: other queues cannot reclaim from it.",
        MOVES,
    ]


def test_a_group_of_a_queue_above_its_quota() -> None:
    """Queue b requests nothing, so queue a may have all GPUs."""
    assert why(two_queues(), "a/x")[1] == (
        "Queue a holds 3 GPUs, more than its quota of 2 but within its fair share: other queues"
        " that stay within their own quota can reclaim it."
    )


def test_a_group_of_a_queue_above_its_fair_share() -> None:
    """A pod of queue b that fits nowhere lowers the fair share of queue a."""
    cluster = two_queues().pending("b/x", gpus=2, node_selector={"zone": "none"})
    assert why(cluster, "a/x")[1] == (
        "Queue a holds 3 GPUs, more than its fair share of 2: other queues can reclaim it."
        " Below their fair share: b (0 of 2)."
    )


def test_a_minimum_run_time_protects_until_its_end() -> None:
    """The third pod is above the minimum, so it is not protected."""
    cluster = two_queues(preemptMinRuntime="10m", reclaimMinRuntime="1h")
    assert why(started(cluster, "x", "2026-01-01T00:00:00Z"), "a/x")[:2] == [
        "Pod groups of queue a with a priority above 50 cannot preempt it, except 1 pod above its"
        " minimum, until 2026-01-01T00:10:00Z (preemptMinRuntime 10m).",
        "Queue a holds 3 GPUs, more than its quota of 2 but within its fair share, but other queues"
        " that stay within their own quota cannot reclaim it, except 1 pod above its minimum, until"
        " 2026-01-01T01:00:00Z (reclaimMinRuntime 1h).",
    ]


def test_a_minimum_run_time_that_is_over() -> None:
    cluster = two_queues(preemptMinRuntime="2m")
    assert why(started(cluster, "x", "2026-01-01T00:00:00Z"), "a/x")[0] == PREEMPTS


def test_each_queue_above_is_compared_with_those_beside_it() -> None:
    cluster = kai.Cluster().queue("left", deserved_gpus=1).queue("right", deserved_gpus=2)
    cluster.queue("a", parent="left", deserved_gpus=1).queue("c", parent="left", deserved_gpus=1)
    cluster.queue("b", parent="right", deserved_gpus=2).node("n1", gpus=4)
    cluster.running("a/x", gpus=1, node="n1").running("c/x", gpus=1, node="n1")
    assert why(cluster, "a/x")[1:3] == [
        "Queue a holds 1 GPU, within its quota of 1: queues beside a cannot reclaim from it.",
        "Queue left holds 2 GPUs, more than its quota of 1 but within its fair share: queues beside"
        " left that stay within their own quota can reclaim it.",
    ]


def test_actions_that_do_not_run_evict_nothing() -> None:
    cluster = two_queues().configure({"actions": "allocate, preempt"})
    assert why(cluster, "a/x") == [PREEMPTS]
    assert why(two_queues().configure({"actions": "allocate"}), "a/x") == [
        "No action of this configuration evicts its pods for other pod groups."
    ]


def test_without_other_queues_nothing_is_reclaimed() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1).running("a/x", gpus=1, node="n1")
    assert why(cluster, "a/x") == [PREEMPTS, MOVES]


def test_the_queue_is_compared_as_it_is_after_the_cycle() -> None:
    """One pod leaves, and the other group of the queue has its numbers without it."""
    cluster = two_queues(quota=2).running("a/low", gpus=1, node="n1", priority=10)
    cluster.pending("b/x", pods=2, gpus=1, min_member=2)
    plan = kai.Scheduler().plan(cluster, now=NOW)
    assert {each.pod for each in plan.evictions} == {"a/low-0", "a/x-2"}
    [level] = plan.situation.protection("a/x").levels
    assert (level.share, level.held, level.bound) == ("within_quota", 2, 2)


def test_a_group_that_loses_pods_is_explained_by_that() -> None:
    cluster = two_queues().pending("b/x", pods=2, gpus=1, min_member=2)
    told = why(cluster, "a/x")
    assert any("make room for b/x" in each or "makes room for b/x" in each for each in told)
    assert not any("can preempt" in each for each in told)
