"""Pods for which no queue is named: one finding and one warning of a plan, in the same words."""

from typing import Any

import kai
from fakes.objects import load

NODE = {
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"capacity": {"cpu": 32, "memory": "64Gi", "pods": 110, "nvidia.com/gpu": 8}},
}


def workload(kind: str, gpus: int = 1, **labels: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    template: dict[str, Any] = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"schedulerName": "kai-scheduler", "containers": [container]},
    }
    spec: dict[str, Any] = {"template": template}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    if kind == "Deployment":
        spec |= {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}}
    version = "apps/v1" if kind == "Deployment" else "batch/v1"
    metadata = {"name": "web", "labels": labels}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def queue(name: str, parent: str = "", quota: int = 0) -> dict[str, Any]:
    resources = {each: {"quota": quota, "limit": -1} for each in ("gpu", "cpu", "memory")}
    spec: dict[str, Any] = {"resources": resources}
    if parent:
        spec["parentQueue"] = parent
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


TEAM = (queue("top"), queue("team", "top", 8))
INSTALLED = (queue("default-parent-queue"), queue("default-queue", "default-parent-queue"))


def found(*objects: Any) -> list[str]:
    """Findings about workloads, without those about queues."""
    return [
        f"{each.severity} {each.code}: {each.message}"
        for each in kai.lint(list(objects))
        if not each.object.startswith("Queue")
    ]


def plan(*objects: Any) -> kai.Plan:
    return kai.Scheduler().plan(load(NODE, *objects), now="2026-01-01T00:00:00Z")


NOT_GIVEN = (
    "no queue is named: the pods use default-queue, which is not in the given files: plans add it"
    " with a quota of 0, and in a cluster without it the pods wait"
)


def test_queues_are_given_and_the_default_queue_is_not_among_them() -> None:
    assert found(workload("Job"), *TEAM) == [f"warning queue-missing: {NOT_GIVEN}"]
    made = plan(workload("Job"), *TEAM)
    assert made.warnings == (f"Job default/web: {NOT_GIVEN}",)
    assert len(made.decisions) == 1


def test_many_pods_of_several_workloads_are_one_warning() -> None:
    other = workload("Deployment")
    other["metadata"]["name"] = "api"
    [warning] = plan(workload("Deployment"), other, *TEAM).warnings
    assert warning.startswith("Deployment default/api and 1 more: no queue is named")


def test_pods_of_a_deployment_never_start_without_a_quota_and_lint_says_so() -> None:
    for queues, place in (
        ((), ""),
        (INSTALLED, ""),
        (TEAM, ", which is not in the given files"),
    ):
        assert found(workload("Deployment"), *queues) == [
            f"warning queue-missing: no queue is named: the pods use default-queue{place}. It has a"
            " quota of 0 GPUs, and they are not preemptible: they never start"
        ]
        assert plan(workload("Deployment"), *queues).decisions == ()


def test_the_same_if_the_default_queue_is_named() -> None:
    named = {"kai.scheduler/queue": "default-queue"}
    [finding] = found(workload("Deployment", **named))
    assert finding.startswith("warning queue-without-quota: queue default-queue has a quota of 0")
    assert plan(workload("Deployment", **named)).decisions == ()
    polite = {**named, "kai.scheduler/preemptibility": "preemptible"}
    assert found(workload("Deployment", **polite)) == []
    assert len(plan(workload("Deployment", **polite)).decisions) == 3


def test_all_queues_are_given_and_the_default_queue_does_not_exist() -> None:
    [finding] = kai.lint(workload("Job"), queues=list(TEAM))
    assert (finding.severity, finding.code) == ("error", "queue-missing")
    assert finding.message.endswith("the pods use default-queue, which does not exist: they wait")


def test_nothing_is_said_if_the_queue_is_named_or_derived_or_given() -> None:
    for labels in ({"kai.scheduler/queue": "team"}, {"project": "team"}):
        assert found(workload("Job", **labels), *TEAM) == []
        assert plan(workload("Job", **labels), *TEAM).warnings == ()
    assert plan(workload("Job")).warnings == ()
    assert plan(workload("Job"), *TEAM, *INSTALLED).warnings == ()
