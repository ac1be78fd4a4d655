"""What a fix prints starts the group: carried out on the objects of a file, which are read and
planned again."""

from __future__ import annotations

import copy
import os
import random
from collections import Counter
from typing import Any

import pytest
import yaml
from carried_out import carry_out

import kai
from kai.engine.fixing.trials import starts_in

Manifest = dict[str, Any]

SEED = int(os.environ.get("KAI_SEED", "1"))
CLUSTERS = int(os.environ.get("KAI_CLUSTERS", "3"))  # times ten
NOW = "2026-01-01T00:00:00Z"
GATES = [{"name": "example.com/quota"}]
KINDS = ("Pod", "Job", "Deployment", "StatefulSet", "LeaderWorkerSet")


def load(manifests: list[Manifest]) -> kai.Cluster:
    return kai.load(yaml.safe_dump_all(manifests).encode())


def of_cluster(rng: random.Random) -> list[Manifest]:
    made = []
    for number in range(rng.randint(1, 3)):
        names = rng.sample(("team", "maintenance"), k=rng.choice((0, 0, 1, 2)))
        taints = [{"key": name, "value": "x", "effect": "NoSchedule"} for name in names]
        spec = {"taints": taints} | ({"unschedulable": True} if rng.random() < 0.2 else {})
        capacity = {
            "cpu": rng.choice((4, 16, 32)),
            "memory": rng.choice(("16Gi", "64Gi", "256Gi")),
            "nvidia.com/gpu": rng.choice((1, 2, 4)),
        }
        labels = {"pool": rng.choice("ab"), "zone": rng.choice("xy")}
        metadata = {"name": f"n{number}", "labels": labels}
        node = {"metadata": metadata, "spec": spec, "status": {"capacity": capacity}}
        made.append({"apiVersion": "v1", "kind": "Node", **node})
    amounts = {
        "gpu": (rng.choice((1, 2, 8)), rng.choice((-1, -1, 2, 4))),
        "cpu": (-1, rng.choice((-1, -1, 8000))),
        "memory": (-1, rng.choice((-1, -1, 32000, 100000.5))),
    }
    resources = {
        name: {"quota": limit if quota == -1 else quota, "limit": limit, "overQuotaWeight": 1}
        for name, (quota, limit) in amounts.items()
    }
    queue = {"metadata": {"name": "q"}, "spec": {"resources": resources}}
    return [*made, {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", **queue}]


def of_pods(rng: random.Random) -> Manifest:
    """What their template has in its `spec`."""
    limits = {
        "cpu": rng.choice(("1", "8", "500m", "40")),
        "memory": rng.choice(("1Gi", "8Gi", "100Gi")),
        "nvidia.com/gpu": rng.choice((1, 1, 2, 3, 8)),
    }
    spec: Manifest = {
        "schedulerName": "kai-scheduler",
        "containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}],
    }
    if rng.random() < 0.2:
        side = {"requests": {"cpu": rng.choice(("1", "20")), "memory": "2Gi"}}
        spec["containers"].append({"name": "side", "image": "x", "resources": side})
    if rng.random() < 0.2:
        before = {"requests": {"cpu": rng.choice(("1", "20"))}}
        spec["initContainers"] = [{"name": "before", "image": "x", "resources": before}]
    if rng.random() < 0.3:
        spec["tolerations"] = [{"key": "team", "operator": "Exists"}]
    if rng.random() < 0.2:
        spec["nodeSelector"] = {rng.choice(("pool", "zone", "poool")): rng.choice("axc")}
    if rng.random() < 0.2:
        expressions = [
            {"key": "pool", "operator": rng.choice(("In", "NotIn")), "values": [rng.choice("abc")]},
            {"key": "zone", "operator": "In", "values": [rng.choice("xyz")]},
        ]
        required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
        name = "requiredDuringSchedulingIgnoredDuringExecution"
        spec["affinity"] = {"nodeAffinity": {name: required}}
    if rng.random() < 0.15:
        spec["schedulingGates"] = copy.deepcopy(GATES)
    return spec


def workload(rng: random.Random, kind: str, name: str) -> Manifest:
    labels = {"kai.scheduler/queue": "q"}
    if rng.random() < 0.4:
        labels["priorityClassName"] = rng.choice(("train", "build-preemptible", "build"))
    metadata: Manifest = {"name": name, "namespace": "t", "labels": labels}
    pod = of_pods(rng)
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": pod}
    if kind == "LeaderWorkerSet":
        template = {"size": rng.randint(1, 3), "workerTemplate": {"spec": pod}}
        spec: Manifest = {"replicas": rng.randint(1, 2), "leaderWorkerTemplate": template}
        version = "leaderworkerset.x-k8s.io/v1"
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
    count, app = rng.randint(1, 3), {"app": name}
    template = {"metadata": {"labels": app}, "spec": pod}
    if kind == "Job":
        pod["restartPolicy"] = "Never"
        minimum = {"kai.scheduler/batch-min-member": str(rng.randint(1, 4))}
        metadata["annotations"] = minimum
        spec = {"parallelism": count, "template": template}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": spec}
    spec = {"replicas": count, "selector": {"matchLabels": app}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_printed_starts_the_group(kind: str) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(SEED, SEED + 10 * CLUSTERS):
        rng = random.Random(f"{seed} {kind}")
        manifests = of_cluster(rng)
        manifests += [workload(rng, rng.choice(KINDS), "other"), workload(rng, kind, "w")]
        plan = kai.Scheduler().plan(load(manifests), now=NOW)
        waiting = [name for name in plan.pod_groups if name.startswith("t/pg-w")][-1]
        [(_, facts)] = plan.situation.groups([waiting])
        than = facts.with_places if starts_in(plan, waiting) else 0
        for fix in plan.fix(waiting):
            changed = copy.deepcopy(manifests)
            try:
                nodes = carry_out(fix.how, changed)
            except NotImplementedError:
                kinds["no order"] += 1
                continue
            cluster = load(changed)
            for count, like in nodes:
                cluster.add_nodes(count, like=like)
            after = kai.Scheduler().plan(cluster, now=NOW)
            said = "\n".join((f"{kind} {seed}: {waiting}", *fix.lines()))
            assert not after.rejected, said
            assert starts_in(after, waiting, than=than), said
            kinds.update(fix.kinds)
    print(f"{kind}: {dict(kinds)}")
    assert kinds.total() > CLUSTERS
