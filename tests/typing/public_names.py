"""Every public name of kai, as `mypy --strict` has to see it; it also runs.

A line that ends with `# type: ignore[...]` is a mistake that a type checker has to find: strict
checking refuses an ignore that is not needed.
"""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kai

if TYPE_CHECKING:
    import pandas

    from kai.sim.workload import Workload

version: str = kai.__version__


def build() -> kai.Cluster:
    node: kai.NodeOptions = {"gpus": 8, "labels": {"rack": "r1"}}
    pod: kai.PodOptions = {"pods": 4, "gpus": 1, "min_member": 4}
    queue: kai.QueueOptions = {"deserved_gpus": 4, "weight": 2}
    cluster = kai.Cluster(name="typed", now="2026-01-01T00:00:00Z").queue("vision").queue("speech")
    cluster.nodes("n", 2, **node).node("m1", gpus=8).update_queue("vision", **queue)
    cluster.running("speech/bulk", pods=8, gpus=1, node="n1").pending("vision/train", **pod)
    cluster.add_nodes(1, like="n1", labels={"rack": "r2"}).cordon("n2").uncordon("n2").drain("m1")
    cluster.scale("vision/train", 6, min_member=6).remove("m1").releasing("speech/x", node="n1")
    return cluster.copy()


@kai.policy.score
def fullest(pod: kai.policy.Pod, nodes: kai.policy.Nodes) -> object:
    return 100 - nodes.gpu_idle_milli.sum(axis=1) // 1000 + pod.gpus


@kai.policy.filter(whole_table=True)
def not_the_first(pod: kai.policy.Pod, nodes: kai.policy.Nodes) -> object:
    return nodes.gpus.cumsum() > nodes.gpus[0]


@kai.policy.pod_group_order
def oldest_first(groups: kai.policy.Groups) -> object:
    return -groups.waited_s


def plan_with_policies(cluster: kai.Cluster) -> kai.Plan | None:
    policies: list[kai.policy.Policy] = [fullest, not_the_first, oldest_first]
    try:
        return kai.Scheduler(policies=policies).plan(cluster)
    except kai.PolicyError:
        return None


def mistakes(cluster: kai.Cluster) -> None:
    cluster.nodes("n", 2, gpu=8)  # type: ignore[call-arg]
    cluster.node("n", gpu=8)  # type: ignore[call-arg]
    cluster.pending("a/x", gpu=1)  # type: ignore[call-arg]
    cluster.update_queue("a", wieght=2)  # type: ignore[call-arg]
    cluster.add_nodes(2)  # type: ignore[call-arg]
    cluster.nodes("n", 2, gpus="many")  # type: ignore[arg-type]
    kai.pod_settings(gpu_fractoin=0.5)  # type: ignore[call-arg]
    kai.pod_settings(gpus=1).for_zenlm()  # type: ignore[attr-defined]
    kai.Scheduler().plan(cluster).decisions[0].nod()  # type: ignore[union-attr]
    kai.Scheduler().plan(cluster).free_gpus["n1"] = 8  # type: ignore[index]
    kai.nonsense()  # type: ignore[attr-defined]


def decisions(plan: kai.Plan) -> list[str]:
    found: list[str] = []
    decision: kai.Decision
    for decision in plan.decisions:
        if isinstance(decision, kai.Evict):
            found.append(f"{decision.pod} for {decision.for_group}")
        elif isinstance(decision, kai.Pipeline):
            found.append(f"{decision.pod} later on {decision.node}")
        else:
            bind: kai.Bind = decision
            zones: tuple[kai.NumaZone, ...] = bind.numa_zones
            claims: tuple[kai.ClaimAllocation, ...] = bind.claims
            extended: kai.ExtendedClaim | None = bind.extended_claim
            found.append(f"{bind.pod} on {bind.node} {bind.gpus} {zones} {claims} {extended}")
    evictions: tuple[kai.Evict, ...] = plan.evictions
    return found + [each.action for each in evictions]


def groups(plan: kai.Plan) -> None:
    group: kai.GroupPlan = plan.pod_groups["vision/train"]
    reasons: tuple[kai.Reason, ...] = group.reasons
    facts: list[Mapping[str, Any]] = [each.facts for each in reasons]
    writes: kai.Writes = group.writes
    pods: list[kai.PodPlan] = list(plan.pods.values())
    assert isinstance(group.verdict, str), (facts, writes, pods)
    text: str = plan.why("vision/train")
    order: kai.Order = plan.order
    turns: Sequence[kai.Turn] = order
    queues: list[kai.QueueTurn] = [queue for turn in turns for queue in turn.queues]
    created: list[datetime | None] = [turn.created for turn in order[:2]]
    assert len(queues) >= len(order), (text, created)


def numbers(plan: kai.Plan) -> None:
    queues: kai.Queues = plan.queues
    queue: kai.QueuePlan = queues["vision"]
    share: kai.QueueShare = queue.gpu
    compared: list[float | None] = [share.over_fair_share, share.part_of_fair_share]
    assert isinstance(compared, list)
    fair: float = share.fair_share or 0
    nodes: kai.Nodes = plan.nodes
    node: kai.NodePlan = nodes["n1"]
    free: Mapping[str, float] = plan.free_gpus
    whole: tuple[str, ...] = nodes.whole
    room: int = nodes.room_for(gpus=1) + node.room_for(gpus=0.5)
    phases: Mapping[str, kai.Phase] = plan.timing
    frames: kai.Frames = plan.to_frames()
    table: pandas.DataFrame = frames.groups
    assert len({*map(str, (fair, free, whole, room, phases["total"].ms, len(table)))}) > 1
    rejected: tuple[kai.Rejected, ...] = plan.rejected
    assert [str(each) for each in rejected] == []


def differences(one: kai.Plan, other: kai.Plan) -> kai.PlanDiff:
    diff: kai.PlanDiff = one.diff(other)
    changed: tuple[kai.GroupChange, ...] = diff.groups
    pods: tuple[kai.PodChange, ...] = diff.pods
    queues: tuple[kai.QueueChange, ...] = diff.queues
    after: list[kai.Decision | None] = [change.after for change in pods]
    assert bool(diff) == bool(changed or after or queues)
    return diff


def fragments(plan: kai.Plan) -> float:
    found: kai.Fragmentation = plan.fragmentation
    pod: kai.TypicalPod = kai.TypicalPod(devices=1, portion=0.5, cpus=4, weight=30)
    other: kai.Fragmentation = found.against([pod])
    return found.gpus + other.share


def scores(plan: kai.Plan) -> float:
    found: kai.Scores = plan.scores(plan.decisions[0].pod, at="start")
    best: kai.NodeScore = next(iter(found.values()))
    more: Mapping[str, float] = found.difference(best.node, best.node)
    sums: Mapping[str, float] = found.sum
    assert sums[best.node] == best.sum
    return sum(more.values())


def settings() -> None:
    request: kai.PodRequest = kai.PodRequest(queue="vision", gpu_fraction=0.5)
    made: kai.PodSettings = kai.pod_settings(queue="vision", gpu_fraction=0.5)
    built: kai.settings.Built = made.for_zenml(as_native=False)
    findings: list[kai.linting.Finding] = kai.lint(made.for_kubernetes().to_pod_spec())
    names: list[str] = list(kai.integrations.ORCHESTRATORS)
    variables: dict[str, str] = kai.terraform.variables(request)
    tree: list[dict[str, Any]] = kai.queues.unlimited("vision")
    found: kai.runtime.Detected = kai.runtime.detect()
    assert len({*map(str, (built, findings, names, variables, tree, found.available))}) > 1


async def live(kubeconfig: Path) -> None:
    """Not run here: there is no cluster."""
    connection: kai.Live = kai.connect(context="staging", kubeconfig=kubeconfig, as_kai=False)
    with connection as opened:
        plan: kai.Plan = opened.plan(kai.Scheduler(), now="2026-01-01T00:00:00Z")
        opened.refresh()
    async with kai.connect(config={"actions": "allocate"}, node_pool="blue") as opened:
        cluster: kai.Cluster = opened.snapshot()
    await kai.run(roles=["scheduler", "pod-grouper"], context="staging", listen=":8080")
    await kai.run(roles="all", log_level="debug", leader_elect=False)
    kai.connect(contxt="staging")  # type: ignore[call-arg]
    await kai.run(namespaec="kai")  # type: ignore[call-arg]
    await kai.run(log_level="loud")  # type: ignore[arg-type]
    print(plan, cluster)


def errors() -> None:
    mistakes: tuple[type[kai.KaiError], ...] = (
        kai.InvalidInputError,
        kai.InvalidClusterError,
        kai.InvalidConfigError,
        kai.InvalidRequestError,
        kai.BusyError,
    )
    name = ""
    try:
        build().remove("nothing")
    except mistakes:
        raise
    except kai.UnreachableError as error:
        name = error.strerror or ""
    except kai.RefusedError as error:
        name = str(error.status)
    except kai.NotFoundError as error:
        name = str(error)
    assert "nothing" in name


def compared(workload: Workload) -> None:
    larger = kai.Side(nodes=workload.nodes, name="larger")
    done: kai.Comparison = kai.compare("base.yaml", larger, workload=workload, seeds=[1, 2])
    verdict: str | None = done["waiting_mean_s"].verdict or done.primary.verdict
    assert verdict != "better"
    found: kai.Sweep = kai.sweep({"nodes.n.count": [1, 2]}, workload, executor="processes")
    assert found.compare(0, 1).to_json()
    kai.compare(None, None)  # type: ignore[call-arg]


def simulated() -> None:
    jobs = [kai.sim.Job("train", "vision", arrival_s=0, duration_s=600, gpus=8)]
    nodes = [kai.sim.NodePool("a100", 2, gpus=8)]
    workload = kai.sim.Workload.of(jobs, queues=[kai.sim.Queue("vision")], nodes=nodes)
    timeline: kai.sim.Timeline = kai.simulate(workload.with_queue("vision", weight=2))
    assert timeline.metrics().jobs == 1
    kai.simulate(workload, speed=2)  # type: ignore[call-arg]


def main() -> None:
    cluster = build()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.json"
        cluster.save(path)
        loaded: kai.Cluster = kai.load(path, now="2026-01-01T00:00:00Z")
        many: list[kai.Cluster] = kai.load_all([path])
    assert len(many) == 1
    config: kai.Config = kai.Config(plugins={"nodeplacement": {"gpu": "binpack"}})
    assert kai.default_config().actions
    scheduler = kai.Scheduler(config, as_kai=False)
    plan: kai.Plan = scheduler.plan(cluster)
    assert plan == scheduler.plan(loaded)
    wake: kai.Wake | None = scheduler.next_wake(cluster)
    assert wake is None or isinstance(wake.at, datetime)
    assert copy.copy(plan) == pickle.loads(pickle.dumps(plan))
    assert not differences(plan, scheduler.plan(copy.deepcopy(cluster)))
    assert decisions(plan)
    assert plan_with_policies(cluster)
    groups(plan)
    assert fragments(plan) >= 0
    assert scores(plan) == 0
    numbers(plan)
    settings()
    errors()


if __name__ == "__main__":
    main()
