"""Several changes of one object are printed as one part of it."""

from __future__ import annotations

from functools import partial

import yaml
from proven import fixes, plan_of

import kai
from kai.engine.fixing import of_affinity
from kai.engine.fixing.changes import Part, printed
from kai.engine.fixing.trials import Trials
from kai.engine.fixing.waiting import Waiting

POD = "the pods of Job a/x"


def test_parts_of_one_object_are_one() -> None:
    lines = printed([
        Part({"metadata": {"labels": {"a": "1"}}}, comment="Job a/x"),
        Part({"spec": {"nodeSelector": {"zone": "a"}}}, comment=POD),
        "kubectl uncordon n1",
        Part({"metadata": {"labels": {"b": "2"}}}, comment="Job a/x"),
    ])  # fmt: skip
    assert list(lines) == [
        "# Job a/x", "metadata:", "  labels:", "    a: '1'", "    b: '2'",
        f"# {POD}", "spec:", "  nodeSelector:", "    zone: a",
        "kubectl uncordon n1",
    ]  # fmt: skip


def test_containers_are_merged_by_name() -> None:
    bodies = [
        {"containers": [{"name": "main", "resources": {"requests": {resource: amount}}}]}
        for resource, amount in (("cpu", 1), ("memory", "1Gi"))
    ]
    first, *rest = printed(Part({"spec": body}, comment=POD) for body in bodies)
    assert first == f"# {POD}"
    requests = {"cpu": 1, "memory": "1Gi"}
    assert yaml.safe_load("\n".join(rest))["spec"] == {
        "containers": [{"name": "main", "resources": {"requests": requests}}],
    }


def test_tolerations_are_printed_with_those_that_the_pods_have() -> None:
    """The list is replaced by what is printed, so the pod would no longer tolerate `team`."""
    cluster = kai.Cluster().queue("a").node("n1", gpus=4, taints=["team=b:NoSchedule", "maint"])
    fix = fixes(cluster.pending("a/x", gpus=1, tolerations=["team"]), "a/x")["toleration"]
    shown = yaml.safe_load("\n".join(fix.how))["spec"]["tolerations"]
    assert [each["key"] for each in shown] == ["team", "maint"]


def test_patches_of_one_queue_are_one_command() -> None:
    bodies = [
        {"spec": {"resources": {"gpu": {"quota": 2}}}},
        {"spec": {"resources": {"gpu": {"limit": 3}}}},
    ]
    [line] = printed(Part(each, command="kubectl patch queues a") for each in bodies)
    assert (
        line
        == """kubectl patch queues a -p '{"spec":{"resources":{"gpu":{"quota":2,"limit":3}}}}'"""
    )


def test_limits_of_one_queue_are_raised_by_one_command() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=0, cpu_limit=0).node("n1", gpus=8, cpus=64)
    [fix] = plan_of(cluster.pending("a/x", gpus=2, cpus=4)).fix("a/x")
    assert fix.kinds == ("limit", "limit")
    [line] = fix.how
    assert line.endswith("""'{"spec":{"resources":{"cpu":{"limit":4000},"gpu":{"limit":2}}}}'""")


def test_two_changes_of_an_affinity_are_printed_as_both_together() -> None:
    expressions = [{"key": each, "operator": "Exists"} for each in ("gold", "fast", "near")]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    cluster = kai.Cluster().queue("a").node("n1", gpus=8)
    cluster.pending("a/x", gpus=2, pod_spec={"affinity": affinity})
    plan = plan_of(cluster)
    waiting = Waiting(plan, cluster, "a/x")
    changes = [
        of_affinity._of_affinity(
            waiting,
            f"drop {each}",
            partial(of_affinity._dropped, [{"label": each, "operator": "Exists", "values": []}]),
        )
        for each in ("gold", "near")
    ]
    assert plan._origin is not None
    _, *lines = Trials(plan._origin, "a/x").how(changes)
    shown = yaml.safe_load("\n".join(lines))["spec"]["affinity"]["nodeAffinity"]
    [terms] = shown.values()
    assert terms == {"nodeSelectorTerms": [{"matchExpressions": [expressions[1]]}]}
