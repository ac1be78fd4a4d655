"""Pods of Grove are grouped by the PodGang that they name (spec 6 C28e)."""

from typing import Any

import pytest

import kai
from fakes.objects import load
from kai.grouping import Gang, InvalidField, Owner, chain_of, gang_of, owner_of
from kai.grouping.owners import Reference

SET, CLIQUE, GANG = "PodCliqueSet", "PodClique", "PodGang"
API = {
    SET: "grove.io/v1alpha1",
    CLIQUE: "grove.io/v1alpha1",
    GANG: "scheduler.grove.io/v1alpha1",
    "DynamoGraphDeployment": "nvidia.com/v1alpha1",
}


def an(kind: str, name: str, owner: Any = None, spec: Any = None, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml", "uid": f"u-{name}", **more}
    if owner is not None:
        metadata["ownerReferences"] = [
            {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
            | {key: owner["metadata"][key] for key in ("name", "uid")}
        ]
    return {"apiVersion": API.get(kind, "v1"), "kind": kind, "metadata": metadata} | (
        {} if spec is None else {"spec": spec}
    )


def pod(name: str, clique: Any, gang: str = "llm-0", node: str = "") -> dict[str, Any]:
    labels = {"grove.io/podgang": gang, "grove.io/podclique": clique["metadata"]["name"]}
    limits = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    spec: dict[str, Any] = {
        "schedulerName": "kai-scheduler",
        "containers": [{"name": "c", "image": "i", **limits}],
    }
    return an("Pod", name, clique, {**spec, **({"nodeName": node} if node else {})}, labels=labels)


def part(name: str, minimum: Any, *pods: str, **more: Any) -> dict[str, Any]:
    references = [{"namespace": "ml", "name": each} for each in pods]
    return {"name": name, "minReplicas": minimum, "podReferences": references, **more}


LLM = an(SET, "llm", labels={"kai.scheduler/queue": "team"})
DECODE = an(CLIQUE, "llm-0-decode", LLM)
PREFILL = an(CLIQUE, "llm-0-prefill", LLM)
PARTS = (part("llm-0-decode", 2, "decode-0", "decode-1"), part("llm-0-prefill", 1, "prefill-0"))
PODS = (pod("decode-0", DECODE), pod("decode-1", DECODE), pod("prefill-0", PREFILL))


def pod_gang(*parts: Any, spec: Any = None, **metadata: Any) -> dict[str, Any]:
    return an(GANG, "llm-0", LLM, {"podgroups": list(parts or PARTS), **(spec or {})}, **metadata)


def owner_in(gang: Any, first: Any = PODS[0]) -> Owner:
    def find(each: Reference) -> Any:
        return known.get((each.kind, each.name))

    known = {(each["kind"], each["metadata"]["name"]): each for each in (LLM, DECODE, PREFILL)}
    known[GANG, "llm-0"] = gang
    return owner_of(chain_of(first, find))


def made(gang: Any) -> Gang:
    return gang_of(owner_in(gang), PODS)


def test_the_pods_of_all_cliques_of_a_gang_start_together() -> None:
    owner, gang = owner_in(pod_gang()), made(pod_gang())
    assert owner.group_name == "pg-llm-0-u-llm-0"
    assert gang.min_member == 3
    assert [(each["name"], each["minMember"]) for each in gang.sub_groups] == [
        ("llm-0-decode", 2),
        ("llm-0-prefill", 1),
    ]
    assert [gang.sub_group_of(each) for each in PODS] == [
        "llm-0-decode",
        "llm-0-decode",
        "llm-0-prefill",
    ]


def test_a_pod_that_the_gang_does_not_list_yet_is_in_the_part_of_its_clique() -> None:
    gang = made(pod_gang())
    assert gang.sub_group_of(pod("decode-2", DECODE)) == "llm-0-decode"
    assert gang.sub_group_of(pod("other", an(CLIQUE, "other", LLM))) == ""


def test_settings_of_the_workload_come_before_those_of_the_gang() -> None:
    labels = {"kai.scheduler/queue": "other", "kai.scheduler/preemptibility": "preemptible"}
    owner = owner_in(pod_gang(spec={"priorityClassName": "inference"}, labels=labels))
    assert owner.labels == {**labels, "kai.scheduler/queue": "team"}
    assert owner.priority_class == "inference"
    assert owner_in(pod_gang()).priority_class == "train"


def test_constraints_of_the_gang_of_its_parts_and_of_sets_of_parts() -> None:
    packed = {"topologyConstraint": {"packConstraint": {"required": "rack"}}}
    near = {"topologyConstraint": {"packConstraint": {"preferred": "host"}}}
    names = ["llm-0-decode", "llm-0-prefill"]
    gang = made(
        pod_gang(
            part("llm-0-decode", 2, "decode-0", "decode-1", **near),
            PARTS[1],
            spec={
                **packed,
                "topologyConstraintGroupConfigs": [
                    {"name": "pair", "podGroupNames": names, **packed},
                    {"name": "empty", "podGroupNames": []},
                ],
            },
            annotations={"grove.io/topology-name": "t", "kai.scheduler/topology": "other"},
        )
    )
    assert gang.constraint == {"topology": "t", "requiredTopologyLevel": "rack"}
    assert gang.sub_groups == [
        {"name": "pair", "minSubGroup": 2, "topologyConstraint": gang.constraint},
        {
            "name": "llm-0-decode",
            "minMember": 2,
            "parent": "pair",
            "topologyConstraint": {"topology": "t", "preferredTopologyLevel": "host"},
        },
        {"name": "llm-0-prefill", "minMember": 1, "parent": "pair"},
    ]


@pytest.mark.parametrize(
    ("gang", "field"),
    [
        (an(GANG, "llm-0", LLM, {}), "spec.podgroups"),
        (pod_gang(part("", 1)), "spec.podgroups[0].name"),
        (pod_gang(part("a", 0)), "spec.podgroups[0].minReplicas"),
        (pod_gang(part("a", -1)), "spec.podgroups[0].minReplicas"),
        (pod_gang(part("a", "2")), "spec.podgroups[0].minReplicas"),
        (pod_gang({"name": "a"}), "spec.podgroups[0].minReplicas"),
        (
            pod_gang({**part("a", 1), "podReferences": [{"namespace": "x", "name": "p"}]}),
            "spec.podgroups[0].podReferences[0].namespace",
        ),
        (pod_gang(part("a", 1, "")), "spec.podgroups[0].podReferences[0].name"),
        (
            pod_gang(spec={"topologyConstraint": {"packConstraint": {"required": "rack"}}}),
            "spec.topologyConstraint",
        ),
        (
            pod_gang(
                spec={"topologyConstraintGroupConfigs": [{"name": "s", "podGroupNames": ["z"]}]}
            ),
            "spec.topologyConstraintGroupConfigs[0].podGroupNames",
        ),
    ],
)
def test_an_invalid_field_of_the_gang_is_named(gang: Any, field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        made(gang)
    assert caught.value.field == field


def test_the_constraint_of_the_gang_is_that_of_its_pod_group() -> None:
    packed = {"topologyConstraint": {"packConstraint": {"required": "rack"}}}
    gang = pod_gang(spec=packed, annotations={"grove.io/topology-name": "t"})
    [group] = load(LLM, DECODE, PREFILL, gang, *PODS).objects["podGroups"]
    assert group["spec"]["topologyConstraint"] == {
        "topology": "t",
        "requiredTopologyLevel": "rack",
    }


# ---- plans of files ------------------------------------------------------------------------------

QUEUE = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "team"},
    "spec": {"resources": {name: {"quota": -1, "limit": -1} for name in ("gpu", "cpu", "memory")}},
}


def nodes(gpus: int) -> list[dict[str, Any]]:
    capacity = {"cpu": 8, "memory": "64Gi", "pods": 110, "nvidia.com/gpu": 1}
    return [
        {"kind": "Node", "metadata": {"name": f"n{index}"}, "status": {"capacity": capacity}}
        for index in range(gpus)
    ]


def bound(gpus: int, *objects: Any) -> tuple[kai.Cluster, list[str]]:
    cluster = load(QUEUE, *nodes(gpus), LLM, DECODE, PREFILL, *PODS, *objects)
    plan = kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z")
    return cluster, sorted(each.pod for each in plan.decisions)


def test_a_gang_waits_until_all_of_its_minimum_fits() -> None:
    cluster, pods = bound(2, pod_gang())
    assert (pods, cluster.rejected) == ([], ())
    _, pods = bound(3, pod_gang())
    assert pods == ["ml/decode-0", "ml/decode-1", "ml/prefill-0"]


def test_without_the_gang_its_minimum_is_not_known() -> None:
    cluster, pods = bound(2)
    assert len(pods) == 2
    assert [str(each) for each in cluster.rejected] == [
        "PodGang ml/llm-0: kind: how many pods of a PodGang start together is not known; give it"
        " or its PodGroup"
    ]


def test_a_deployment_of_dynamo_gives_its_settings_to_the_gang() -> None:
    top = an("DynamoGraphDeployment", "chat", labels={"kai.scheduler/queue": "team"})
    owned = an(SET, "llm", top)
    cluster = load(QUEUE, top, owned, DECODE, PREFILL, pod_gang(), *PODS)
    [group] = cluster.objects["podGroups"]
    assert group["metadata"]["name"] == "pg-llm-0-u-llm-0"
    assert group["spec"]["queue"] == "team"
