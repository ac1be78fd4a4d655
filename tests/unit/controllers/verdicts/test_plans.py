"""Writes for real plans: the texts are those that KAI wrote on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from world import LAST_EVICTION, LAST_START, NOW, STALE, World

import kai
from kai.api import defaults, keys
from kai.api.times import to_text
from kai.controllers.verdicts import Condition, evictions
from kai.controllers.verdicts.orders import binding

PLANNED = to_text(int(NOW) * 10**9)
EARLIER = "2026-01-01T00:00:00Z"


def queue(name: str, quota: float, limit: float = -1, parent: str = "dept") -> dict[str, Any]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    gpu = {"quota": quota, "limit": limit, "overQuotaWeight": 1}
    spec = {"resources": {"cpu": free, "memory": free, "gpu": gpu}, "parentQueue": parent}
    return {"metadata": {"name": name, "uid": name, "creationTimestamp": EARLIER}, "spec": spec}


class Scene:
    """A cluster for the engine, and the same objects for the writers."""

    def __init__(self, namespace: str, gpus: int, quota: float = 8) -> None:
        self.namespace, self.world = namespace, World()
        self.cluster = kai.Cluster(now=PLANNED)
        for each in defaults.priority_classes():
            self.cluster.add("PriorityClass", each)
        self.cluster.add("Queue", queue("dept", quota, parent=""))
        self.cluster.node("g-1", gpus=gpus, cpus=32)
        self._made = 0

    def queue(self, name: str, quota: float, limit: float = -1) -> Scene:
        self.cluster.add("Queue", queue(name, quota, limit))
        return self

    def group(
        self,
        name: str,
        queue: str,
        pods: dict[str, str],
        *,
        gpu: str = "1",
        leaving: Sequence[str] = (),
        parts: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> Scene:
        """`pods`: the node of each, "" for a waiting pod. `leaving`: pods that are being deleted.
        `parts`: the sub-groups of pods. `gpu`: the GPU amount that each requests."""
        self._made += 1
        created = f"2026-01-01T00:00:{self._made:02}Z"
        metadata = {"namespace": self.namespace, "creationTimestamp": created}
        named = {**metadata, "name": name, "uid": f"uid-{self.namespace}/{name}"}
        body = {"metadata": named, "spec": {"minMember": 1, "queue": queue, **spec}}
        self.cluster.add("PodGroup", body)
        full = f"{self.namespace}/{name}"
        requests, annotations = {"cpu": "100m", "memory": "64Mi"}, {"pod-group-name": name}
        if gpu == "1":
            requests["nvidia.com/gpu"] = gpu
        else:
            annotations["gpu-fraction"] = gpu
        requested = {"cpu": "100m", "memory": "64Mi", "nvidia.com/gpu": gpu}
        self.world.add_group(full, holds=any(pods.values()), requested=requested)
        for pod, node in pods.items():
            container = {"name": "main", "resources": {"requests": requests}}
            self.cluster.add(
                "Pod",
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        **metadata,
                        "name": pod,
                        "uid": f"uid-{self.namespace}/{pod}",
                        **({"deletionTimestamp": PLANNED} if pod in leaving else {}),
                        **({"labels": {keys.SUBGROUP_LABEL: parts[pod]}} if parts else {}),
                        "annotations": annotations,
                    },
                    "spec": {
                        "schedulerName": "kai-scheduler",
                        "containers": [container],
                        **({"nodeName": node} if node else {}),
                    },
                    "status": {"phase": "Running" if node else "Pending"},
                },
            )
            self.world.add_pod(f"{self.namespace}/{pod}", group=full)
        return self

    def plan(self) -> kai.Plan:
        plan = kai.Scheduler().plan(self.cluster, now=PLANNED)
        world = self.world
        world.take(world.verdicts.decide(world.now, plan, world))
        world.send()
        return plan


def test_a_pod_that_fits_is_reported_as_bound_after_the_binding() -> None:
    scene = Scene("gpu-pod", 1).queue("team-a", 1).group("pg-a", "team-a", {"a-1": ""})
    world = scene.world
    [bind] = scene.plan().decisions
    assert world.events == []
    assert world.groups["gpu-pod/pg-a"]["stamps"] == {LAST_START: PLANNED}
    world.bind(bind.pod, bind.node)  # type: ignore[union-attr]
    assert [each[1] for each in world.events_of("Scheduled", "Bound")] == [
        "Successfully assigned pod gpu-pod/a-1 to node g-1 at node-pool default",
        "Pod bound successfully to node g-1",
    ]


GANG = (
    "Resources were found for 3 pods while 4 are required for gang scheduling. Additional pods "
    "cannot be scheduled due to: no nodes with enough resources were found: 1 node(s) didn't have "
    "enough resources: GPUs."
)


def test_a_gang_that_does_not_fit_gets_conditions_and_events() -> None:
    """Recording 12, on one node."""
    pods = dict.fromkeys(("w-0", "w-1", "w-2", "w-3"), "")
    scene = Scene("fit", 3).queue("team-a", 8).group("gang", "team-a", pods, minMember=4)
    scene.plan()
    [entry] = scene.world.groups["fit/gang"]["conditions"]
    assert entry["message"] == f"PodSchedulingErrors: {GANG}."
    assert entry["reasons"] == [{"reason": "PodSchedulingErrors", "message": GANG}]
    texts = [scene.world.condition(f"fit/{pod}") for pod in pods]
    own = "no nodes with enough resources were found: 1 node(s) didn't have enough resources: GPUs."
    assert texts.count(Condition("False", "Unschedulable", own)) == 1
    assert texts.count(Condition("False", "Unschedulable", entry["message"])) == 3
    kinds = [(each.kind, each.type) for each in scene.world.events]
    assert kinds.count(("Pod", "Warning")) == 4
    assert kinds.count(("PodGroup", "Normal")) == 1


def test_the_message_of_a_queue_at_its_limit_has_its_numbers() -> None:
    """Recording 14."""
    scene = Scene("queue-limits", 8).queue("team-a", 1, limit=2)
    scene.group("r", "team-a", {"train-0": "g-1", "train-1": "g-1"})
    scene.group("w", "team-a", {"train-2": ""})
    scene.plan()
    [entry] = scene.world.groups["queue-limits/w"]["conditions"]
    message = (
        "team-a quota has reached the allowable limit of GPUs. Limit is 2 GPUs, currently 2 GPUs "
        "allocated and workload requested 1 GPUs"
    )
    assert entry["message"] == f"OverLimit: {message}."
    [reason] = entry["reasons"]
    assert (reason["reason"], reason["message"]) == ("OverLimit", message)
    assert reason["details"]["queueDetails"] == {
        "name": "team-a",
        "podGroupRequestedNonPreemptibleResources": {
            **{"cpu": "0", "memory": "0", "nvidia.com/gpu": "0"}
        },
        "podGroupRequestedResources": {"cpu": "100m", "memory": "67108864", "nvidia.com/gpu": "1"},
        "queueAllocatedNonPreemptibleResources": {
            **{"cpu": "0", "memory": "0", "nvidia.com/gpu": "0"}
        },
        "queueAllocatedResources": {"cpu": "200m", "memory": "134217728", "nvidia.com/gpu": "2"},
        "queueDeservedResources": {"cpu": "-1m", "memory": "-1", "nvidia.com/gpu": "1"},
        "queueRequestedResources": {"cpu": "300m", "memory": "201326592", "nvidia.com/gpu": "3"},
        "queueResourceLimits": {"cpu": "-1m", "memory": "-1", "nvidia.com/gpu": "2"},
    }


def test_gpus_of_a_queue_are_written_as_kai_writes_them() -> None:
    """Recording 14, and spec 1 F81: unlimited is 0, 3.5 are 3, and less than one has two digits."""
    scene = Scene("queue-limits", 8).queue("team-a", -1, limit=3)
    scene.group("r", "team-a", dict.fromkeys(("a-0", "a-1", "a-2"), "g-1"))
    scene.group("w", "team-a", {"half": ""}, gpu="0.347")
    scene.plan()
    [entry] = scene.world.groups["queue-limits/w"]["conditions"]
    details = entry["reasons"][0]["details"]["queueDetails"]
    gpus = {name: amounts["nvidia.com/gpu"] for name, amounts in details.items() if name != "name"}
    assert gpus == {
        "podGroupRequestedNonPreemptibleResources": "0",
        "podGroupRequestedResources": "350m",
        "queueAllocatedNonPreemptibleResources": "0",
        "queueAllocatedResources": "3",
        "queueDeservedResources": "0",
        "queueRequestedResources": "3",
        "queueResourceLimits": "3",
    }


def test_a_group_over_quota_that_cannot_be_preempted() -> None:
    """Recording 14."""
    scene = Scene("queue-limits", 8).queue("team-b", 1)
    scene.group("r", "team-b", {"build-0": "g-1"}, priorityClassName="build")
    scene.group("w", "team-b", {"build-1": ""}, priorityClassName="build")
    scene.plan()
    text = (
        "NonPreemptibleOverQuota: Non-preemptible workload is over quota. Workload requested 1 "
        "GPUs, but team-b quota is 1 GPUs, while 1 GPUs are already allocated for non-preemptible "
        "pods. Use a preemptible workload to go over quota.."
    )
    [entry] = scene.world.groups["queue-limits/w"]["conditions"]
    assert entry["message"] == text
    assert entry["reasons"][0]["reason"] == "NonPreemptibleOverQuota"
    assert scene.world.condition("queue-limits/build-1") == Condition(
        "False", "Unschedulable", text
    )


def test_a_queue_that_does_not_exist() -> None:
    """Recording 4."""
    scene = Scene("unknown-queue", 1).group("pg-lost", "ghost", {"lost": ""})
    scene.plan()
    text = "QueueDoesNotExist: Queue 'ghost' does not exist."
    [entry] = scene.world.groups["unknown-queue/pg-lost"]["conditions"]
    assert entry["message"] == text
    assert entry["reasons"] == [
        {"reason": "QueueDoesNotExist", "message": "Queue 'ghost' does not exist"}
    ]
    assert {each.message for each in scene.world.events} == {text}


def test_the_message_of_a_reclaim_victim_has_the_reclaimer() -> None:
    """Recording 16."""
    scene = Scene("reclaim", 2, quota=2).queue("team-a", 1).queue("team-b", 1)
    scene.group("pg-a-1", "team-a", {"a-1": "g-1"}).group("pg-a-2", "team-a", {"a-2": "g-1"})
    scene.group("pg-b-1", "team-b", {"b-1": ""})
    world = scene.world
    plan = scene.plan()
    assert world.events_of("Pipelined", "Evict") == [
        ("Pipelined", "Pod reclaim/b-1 was pipelined to node g-1")
    ]
    assert world.pods["reclaim/b-1"]["nominated"] == "g-1"
    assert world.condition("reclaim/b-1") is None

    [eviction] = evictions(plan, world)
    write = eviction.write()
    assert (write.verb, write.kind, write.name) == ("delete", "Pod", "a-2")
    assert write.body["preconditions"] == {"uid": "uid-reclaim/a-2"}  # type: ignore[index,call-overload]
    world.take(world.verdicts.evicted(world.now, eviction, world))
    world.send()
    event = world.events[-1]
    assert (event.kind, event.name, event.reason) == ("PodGroup", "pg-a-2", "Evict")
    assert event.message == (
        "Pod reclaim/a-2 was preempted by workload reclaim/pg-b-1.\n"
        "team-a uses <GPU: 2, CPU: 0.2 (cores), memory: 0.134 (GB)> with a quota of <GPU: 1, "
        "CPU: Unlimited (cores), memory: Unlimited (GB)>, fair-share of <GPU: 1, "
        "CPU: 0.2 (cores), memory: 0.134 (GB)> and queue priority of <100>.\n"
        "team-b uses <GPU: 0, CPU: 0 (cores), memory: 0 (GB)> with a quota of <GPU: 1, "
        "CPU: Unlimited (cores), memory: Unlimited (GB)>, fair-share of <GPU: 1, "
        "CPU: 0.1 (cores), memory: 0.067 (GB)> and queue priority of <100>."
    )
    assert event.annotations == {
        "num-evicted-pods": "1",
        "evictor-action-type": "reclaim",
        "evictor-pod-group-name": "pg-b-1",
        "evictor-pod-group-namespace": "reclaim",
    }
    assert world.groups["reclaim/pg-a-2"]["stamps"] == {LAST_EVICTION: PLANNED}


def test_the_message_of_a_preempted_victim() -> None:
    """Recording 15."""
    scene = Scene("preempt", 1).queue("team-a", 2)
    scene.group("pg-low", "team-a", {"low": "g-1"})
    scene.group("pg-high", "team-a", {"high": ""}, priorityClassName="build")
    plan = scene.plan()
    [eviction] = evictions(plan, scene.world)
    assert eviction.action == "preempt"
    text = "Pod preempt/low was preempted by higher priority workload preempt/pg-high"
    assert eviction.message == text


def test_a_gang_that_broke_up() -> None:
    """Recording 20."""
    scene = Scene("stale-gang", 3).queue("team-a", 8)
    scene.group("gang", "team-a", {"w-0": "g-1", "w-2": "g-1"}, minMember=3)
    scene.plan()
    world = scene.world
    stale = ("StaleJob", "Job is stale. 2 pods are active, minMember is 3")
    assert world.events_of("StaleJob", "Unschedulable", "NotReady") == [stale]
    assert world.groups["stale-gang/gang"]["stamps"] == {STALE: PLANNED}


def test_a_gang_whose_last_pods_are_deleted_is_not_reported_as_stale() -> None:
    """Recording 89, between the ends of two victims of one gang."""
    scene = Scene("preempted", 3).queue("team-a", 8)
    scene.group("gang", "team-a", {"g-0": "g-1"}, leaving=["g-0"], minMember=2)
    scene.plan()
    assert scene.world.events_of("StaleJob") == []
    assert scene.world.groups["preempted/gang"]["stamps"] == {}


def test_a_gang_that_keeps_a_pod_is_stale_while_another_leaves() -> None:
    scene = Scene("preempted", 3).queue("team-a", 8)
    pods = {"g-0": "g-1", "g-1": "g-1"}
    scene.group("gang", "team-a", pods, leaving=["g-0"], minMember=3)
    scene.plan()
    stale = ("StaleJob", "Job is stale. 2 pods are active, minMember is 3")
    assert scene.world.events_of("StaleJob") == [stale]
    assert scene.world.groups["preempted/gang"]["stamps"] == {STALE: PLANNED}


def test_a_gang_that_this_cycle_evicts_is_reported_as_stale() -> None:
    scene = Scene("broken", 3).queue("team-a", 8)
    scene.group("gang", "team-a", {"g-0": "g-1"}, minMember=2, stalenessGracePeriod="0s")
    [eviction] = scene.plan().decisions
    assert eviction.pod == "broken/g-0"
    assert len(scene.world.events_of("StaleJob")) == 1


def test_incomplete_workers_do_not_affect_the_status_of_their_leader() -> None:
    """Recording 58, while the pods are created one by one."""
    scene = Scene("in-order", 3).queue("team-a", 8)
    minima = [{"name": "leader", "minMember": 1}, {"name": "workers", "minMember": 2}]
    parts = {"first": "leader", "next": "workers"}
    pods = dict.fromkeys(parts, "")
    scene.group("gang", "team-a", pods, parts=parts, subGroups=minima, minSubGroup=1)
    [bind] = scene.plan().decisions
    assert bind.pod == "in-order/first"
    world = scene.world
    assert world.events == []
    assert world.groups["in-order/gang"]["stamps"] == {LAST_START: PLANNED}
    assert world.groups["in-order/gang"]["conditions"] == []
    world.wait(1.5)
    assert [reason for reason, _ in world.events_of("NotReady", "Unschedulable")] == ["NotReady"]


def test_a_gang_with_too_few_pods_is_not_ready() -> None:
    """Recording 11."""
    scene = Scene("gang-fits", 4).queue("team-a", 8)
    scene.group("gang", "team-a", {"w-0": ""}, minMember=4)
    scene.plan()
    scene.world.wait(1.1)
    assert scene.world.events_of("NotReady", "Unschedulable") == [
        (
            "NotReady",
            "Job is not ready for scheduling. Waiting for 4 pods, currently 1 exist, 0 are gated",
        )
    ]
    assert scene.world.groups["gang-fits/gang"]["conditions"] == []


def test_a_pod_of_an_unknown_subgroup_is_reported_and_its_group_is_not() -> None:
    """Recording 70."""
    scene = Scene("rayjob", 4).queue("team-a", 8)
    tree = [{"name": "head", "minMember": 0}]
    scene.group("pg", "team-a", {"submitter": ""}, subGroups=tree)
    scene.plan()
    scene.world.wait(1.1)
    text = 'Pod references subgroup "default", which does not exist in PodGroup rayjob/pg'
    assert scene.world.condition("rayjob/submitter") == Condition("False", "Unschedulable", text)


def test_a_plan_with_the_same_verdicts_causes_no_writes() -> None:
    pods = dict.fromkeys(("w-0", "w-1"), "")
    scene = Scene("fit", 1).queue("team-a", 8).group("gang", "team-a", pods, minMember=2)
    scene.plan()
    world = scene.world
    sent, message = len(world.sent), len(world.events)
    for _ in range(10):
        plan = kai.Scheduler().plan(scene.cluster, now=PLANNED)
        world.take(world.verdicts.decide(world.now, plan, world, changed=()))
        world.send()
        world.wait(30)
    assert (len(world.sent), len(world.events)) == (sent, message)


def test_the_condition_of_a_gang_that_fits_later_is_removed_at_once() -> None:
    pods = dict.fromkeys(("w-0", "w-1"), "")
    scene = Scene("fit", 1).queue("team-a", 8).group("gang", "team-a", pods, minMember=2)
    scene.plan()
    assert scene.world.groups["fit/gang"]["conditions"]
    scene.cluster.node("g-2", gpus=1, cpus=32)
    plan = kai.Scheduler().plan(scene.cluster, now=PLANNED)
    world = scene.world
    world.take(world.verdicts.decide(world.now, plan, world, changed=()))
    world.send()
    assert world.groups["fit/gang"]["conditions"] == []


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_eviction_by_the_eviction_api_has_the_uid_of_the_pod(dry_run: bool) -> None:
    scene = Scene("preempt", 1).queue("team-a", 2)
    scene.group("pg-low", "team-a", {"low": "g-1"})
    scene.group("pg-high", "team-a", {"high": ""}, priorityClassName="build")
    [eviction] = evictions(scene.plan(), scene.world)
    write = eviction.write("evict", dry_run=dry_run)
    assert (write.verb, write.kind, write.subresource) == ("create", "Pod", "eviction")
    body: Any = write.body
    assert body["metadata"] == {"name": "low", "namespace": "preempt"}
    assert body["deleteOptions"]["preconditions"] == {"uid": "uid-preempt/low"}
    assert ("dryRun" in body["deleteOptions"]) is dry_run


def test_a_pod_that_is_gone_is_not_evicted() -> None:
    scene = Scene("preempt", 1).queue("team-a", 2)
    scene.group("pg-low", "team-a", {"low": "g-1"})
    scene.group("pg-high", "team-a", {"high": ""}, priorityClassName="build")
    plan = scene.plan()
    del scene.world.pods["preempt/low"]
    assert evictions(plan, scene.world) == []


def test_a_binding_has_the_uid_of_the_pod_and_annotations() -> None:
    write = binding("team/a", "u", "n1", annotations={"pod-group-name": "g"})
    assert (write.verb, write.kind, write.subresource) == ("create", "Pod", "binding")
    assert write.body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            **{"name": "a", "namespace": "team", "uid": "u"},
            "annotations": {"pod-group-name": "g"},
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
