"""Pods without a pod group get one, as KAI's grouper would create it (spec 6 C24-C28)."""

from typing import Any

import pytest

import kai
from fakes.objects import load

QUEUE = "kai.scheduler/queue"


def pod(
    name: str = "p", *, spec: Any = None, status: Any = None, **metadata: Any
) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [], **(spec or {})},
        "status": status or {},
    }


def workload(
    kind: str, *, name: str = "w", template: Any = None, **metadata: Any
) -> dict[str, Any]:
    spec: dict[str, Any] = {"template": {"metadata": template or {}, "spec": {"containers": []}}}
    spec["parallelism" if kind == "Job" else "replicas"] = 2
    return {"kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def groups(cluster: kai.Cluster) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each["spec"] for each in cluster.objects["podGroups"]}


def group_of_pods(cluster: kai.Cluster) -> dict[str, str | None]:
    return {
        each["metadata"]["name"]: (each["metadata"].get("annotations") or {}).get("pod-group-name")
        for each in cluster.objects["pods"]
    }


def test_a_bare_pod_is_its_own_group() -> None:
    cluster = load(pod("p"), pod("saved", uid="1234"))
    assert groups(cluster)["pg-p"] == {
        "queue": "default-queue",
        "minMember": 1,
        "priorityClassName": "train",
    }
    assert group_of_pods(cluster) == {"p": "pg-p", "saved": "pg-saved-1234"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Job", {"w-0": "pg-w", "w-1": "pg-w"}),
        ("StatefulSet", {"w-0": "pg-w", "w-1": "pg-w"}),
        ("ReplicaSet", {"w-0": "pg-w", "w-1": "pg-w"}),
        ("Deployment", {"w-0": "pg-w-0", "w-1": "pg-w-1"}),
    ],
)
def test_only_a_deployment_has_a_group_for_each_pod(kind: str, expected: dict[str, str]) -> None:
    assert group_of_pods(load(workload(kind))) == expected


def test_pods_of_a_deployment_have_the_inference_priority() -> None:
    assert {g["priorityClassName"] for g in groups(load(workload("Deployment"))).values()} == {
        "inference"
    }


def test_a_job_may_set_its_minimum_of_pods() -> None:
    given = {"kai.scheduler/batch-min-member": "2"}
    assert groups(load(workload("Job", annotations=given)))["pg-w"]["minMember"] == 2
    assert groups(load(workload("StatefulSet", annotations=given)))["pg-w"]["minMember"] == 1
    run = workload("Job", annotations=given, ownerReferences=[{"kind": "CronJob", "name": "c"}])
    assert groups(load(run))["pg-w"]["minMember"] == 1


@pytest.mark.parametrize("minimum", ["two", "٢", "-1", "1_000", "", "9" * 5000])
def test_a_minimum_of_pods_that_is_not_a_number_is_refused(minimum: str) -> None:
    cluster = load(workload("Job", annotations={"kai.scheduler/batch-min-member": minimum}))
    assert cluster.rejected
    for each in cluster.rejected:
        assert each.message == f"{minimum!r} is not a number of pods, on Job w"


@pytest.mark.parametrize(
    ("owner", "own", "queue"),
    [
        ({QUEUE: "a"}, {QUEUE: "b"}, "a"),
        ({}, {QUEUE: "b", "project": "c"}, "b"),
        ({"project": "d"}, {"project": "c"}, "d"),
        ({}, {"project": "c"}, "c"),
        ({}, {"project": "c", "kai.scheduler/node-pool": "x"}, "c-x"),
        ({}, {}, "default-queue"),
    ],
)
def test_labels_set_the_queue(owner: dict[str, str], own: dict[str, str], queue: str) -> None:
    cluster = load(workload("Job", labels=owner, template={"labels": own}))
    assert groups(cluster)["pg-w"]["queue"] == queue


@pytest.mark.parametrize(
    ("labels", "spec", "priority"),
    [
        ({"priorityClassName": "build"}, {"priorityClassName": "inference"}, "build"),
        ({"priorityClassName": "no-such"}, {"priorityClassName": "inference"}, "inference"),
        ({}, {"priorityClassName": "system-node-critical"}, "system-node-critical"),
        ({}, {"priorityClassName": "no-such"}, "train"),
        ({}, {}, "train"),
    ],
)
def test_the_priority_is_the_first_class_that_exists(
    labels: dict[str, str], spec: dict[str, str], priority: str
) -> None:
    assert groups(load(pod(labels=labels, spec=spec)))["pg-p"]["priorityClassName"] == priority


def test_labels_and_annotations_become_fields() -> None:
    cluster = load(
        pod(
            labels={
                "kai.scheduler/preemptibility": "Non-Preemptible",
                "kai.scheduler/node-pool": "x",
            },
            annotations={
                "kai.scheduler/preemption-delay": "5m",
                "kai.scheduler/staleness-grace-period": "10s",
                "kai.scheduler/topology": "racks",
                "kai.scheduler/topology-required-placement": "rack",
            },
        )
    )
    assert groups(cluster)["pg-p"] == {
        "queue": "default-queue",
        "minMember": 1,
        "priorityClassName": "train",
        "preemptionDelay": "5m",
        "stalenessGracePeriod": "10s",
        "preemptibility": "non-preemptible",
        "topologyConstraint": {"topology": "racks", "requiredTopologyLevel": "rack"},
    }
    [made] = cluster.objects["podGroups"]
    assert made["metadata"]["labels"] == {
        "kai.scheduler/preemptibility": "Non-Preemptible",
        "kai.scheduler/node-pool": "x",
    }


PLACED = {"topology": "racks", "requiredTopologyLevel": "rack"}
IN_A_RACK = {
    "kai.scheduler/topology": "racks",
    "kai.scheduler/topology-required-placement": "rack",
}


@pytest.mark.parametrize("kind", ["Job", "StatefulSet", "ReplicaSet", "Deployment"])
def test_the_owner_sets_the_topology_constraint(kind: str) -> None:
    cluster = load(workload(kind, annotations=IN_A_RACK))
    assert [each.get("topologyConstraint") for each in groups(cluster).values()] == [
        PLACED for _ in groups(cluster)
    ]
    # The annotation of a pod with an owner is not used (spec 4 C2).
    cluster = load(workload(kind, template={"annotations": IN_A_RACK}))
    assert [each.get("topologyConstraint") for each in groups(cluster).values()] == [
        None for _ in groups(cluster)
    ]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (["topology", "topology-required-placement"], ["topology", "requiredTopologyLevel"]),
        (["topology", "topology-preferred-placement"], ["topology", "preferredTopologyLevel"]),
        (
            ["topology", "topology-required-placement", "topology-preferred-placement"],
            ["topology", "requiredTopologyLevel", "preferredTopologyLevel"],
        ),
        (["topology"], []),  # KAI: a constraint without a level; the group never starts (spec 4 W3)
        (["topology-required-placement"], []),
        (["topology-preferred-placement"], []),
    ],
)
def test_a_constraint_names_a_topology_and_a_level(message: list[str], expected: list[str]) -> None:
    cluster = load(pod(annotations={f"kai.scheduler/{each}": "x" for each in message}))
    constraint = groups(cluster)["pg-p"].get("topologyConstraint", {})
    assert constraint == dict.fromkeys(expected, "x")


def test_a_saved_replica_set_of_a_deployment_groups_its_pods_one_by_one() -> None:
    owned = pod(
        "api-1",
        labels={"pod-template-hash": "5"},
        ownerReferences=[{"kind": "ReplicaSet", "name": "api", "uid": "u"}],
    )
    assert group_of_pods(load(owned)) == {"api-1": "pg-api-1"}
    owned["metadata"]["labels"] = {}
    assert group_of_pods(load(owned)) == {"api-1": "pg-api-u"}


def test_labels_of_owners_of_any_kind_count() -> None:
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "labels": {QUEUE: "a", "priorityClassName": "build"}},
    }
    owned = pod(ownerReferences=[{"kind": "Widget", "name": "w", "uid": "u"}])
    assert groups(load(widget, owned)) == {
        "pg-w-u": {"queue": "a", "minMember": 1, "priorityClassName": "build"}
    }


def test_pods_of_an_unknown_gang_are_named() -> None:
    owned = pod(ownerReferences=[{"kind": "PyTorchJob", "name": "pt", "uid": "u"}])
    [rejected] = load(owned).rejected
    assert str(rejected) == (
        "PyTorchJob default/pt: kind: how many pods of a PyTorchJob start together is not known; "
        "give it or its PodGroup"
    )
    owned = pod(ownerReferences=[{"kind": "JobSet", "name": "js", "uid": "u"}])
    assert str(load(owned).rejected[0]).endswith("is not known; give it or its PodGroup")
    owned = pod(ownerReferences=[{"kind": "Notebook", "name": "m", "uid": "u"}])
    assert str(load(owned).rejected[0]).endswith("is not known; give its PodGroup")


def owned_by(kind: str, name: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "name": name, "uid": f"u-{name}", "controller": True}]


def clique(*above: Any) -> list[dict[str, Any]]:
    """Two pods of a PodClique, as the API server prints them with all of their owners."""
    own = {"name": "pcs", "uid": "u-pcs"}
    return [
        {"kind": "PodCliqueSet", "apiVersion": "grove.io/v1alpha1", "metadata": own, "spec": {}},
        {
            "kind": "PodClique",
            "apiVersion": "grove.io/v1alpha1",
            "metadata": {"name": "c", "ownerReferences": owned_by("PodCliqueSet", "pcs")},
        },
        *(pod(name, ownerReferences=owned_by("PodClique", "c")) for name in ("c-0", "c-1")),
        *above,
    ]


def test_the_pods_of_a_clique_are_there_and_only_their_minimum_is_not_known() -> None:
    assert [str(each) for each in load(clique()).rejected] == [
        "PodCliqueSet default/pcs: kind: how many pods of a PodCliqueSet start together is not"
        " known; give its PodGroup"
    ]
    [alone] = load(clique()[:1]).rejected
    assert (
        alone.message == "kai does not create the pods of a PodCliqueSet; add the pods themselves"
    )


def test_the_minimum_of_a_kind_that_kai_does_not_know_is_not_known() -> None:
    manifests = clique()
    manifests[0]["metadata"]["ownerReferences"] = owned_by("WorkloadRunner", "wr")
    runner = {"kind": "WorkloadRunner", "apiVersion": "run.ai/v2alpha1", "metadata": {"name": "wr"}}
    for above in ((), (runner,)):
        [rejected] = load(*manifests, *above).rejected
        assert str(rejected) == (
            "WorkloadRunner default/wr: kind: how many pods of a WorkloadRunner start together is"
            " not known; give its PodGroup"
        )


def test_a_given_group_is_kept() -> None:
    given = {"kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"queue": "a", "minMember": 2}}
    annotations = {"pod-group-name": "g"}
    cluster = load(given, pod("p", annotations=annotations), pod("q", annotations=annotations))
    assert groups(cluster) == {"g": {"queue": "a", "minMember": 2}}
    assert group_of_pods(cluster) == {"p": "g", "q": "g"}


def test_a_group_that_was_not_saved_is_created_with_its_name() -> None:
    owned = pod(labels={QUEUE: "a"}, annotations={"pod-group-name": "pg-j-u"})
    assert groups(load(owned))["pg-j-u"]["queue"] == "a"


def test_group_names_are_unique() -> None:
    cluster = load(pod("x"), workload("Job", name="x"), workload("Job", name="x", namespace="b"))
    names = [each["metadata"]["name"] for each in cluster.objects["podGroups"]]
    assert len(set(names)) == 3
    assert all(name.startswith("pg-x-") for name in names)


def test_foreign_finished_and_skipped_pods_get_no_group() -> None:
    skip = {"kai.scheduler/skip-podgrouper": "true"}
    cluster = load(
        pod("foreign", spec={"schedulerName": "default-scheduler"}),
        pod("ended", status={"phase": "Succeeded"}),
        pod("skipped", annotations=skip),
        pod("running", annotations=skip, spec={"nodeName": "n"}, status={"phase": "Running"}),
    )
    assert groups(cluster) == {}
    assert set(group_of_pods(cluster)) == {"foreign", "ended", "running"}
    [rejected] = cluster.rejected
    assert rejected.name == "default/skipped"
    assert "names none" in rejected.message


def test_a_group_is_explained_by_the_name_of_its_workload() -> None:
    node = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": {"cpu": 1}}}
    plan = kai.Scheduler().plan(load(node, workload("Job")))
    assert plan.why("default/w") == plan.why("w") == "default/pg-w is placed: 2 pods on n1."
