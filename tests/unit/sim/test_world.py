"""Applying a plan to a cluster state: one test for each rule of the step."""

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from kai.sim.world import step

NOW = "2026-01-01T12:00:00Z"


def plan(*decisions: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(decisions=decisions)


def bind(pod: str, node: str, *gpu_groups: str) -> SimpleNamespace:
    return SimpleNamespace(kind="bind", pod=pod, node=node, gpu_groups=gpu_groups)


def pipeline(pod: str, node: str) -> SimpleNamespace:
    return SimpleNamespace(kind="pipeline", pod=pod, node=node, gpu_groups=())


def evict(pod: str) -> SimpleNamespace:
    return SimpleNamespace(kind="evict", pod=pod, action="reclaim", for_group="ns/other")


def pod(name: str, *, node: str = "", **metadata: Any) -> dict[str, Any]:
    annotations = {"pod-group-name": "group", **metadata.pop("annotations", {})}
    return {
        "metadata": {"name": name, "namespace": "ns", "annotations": annotations, **metadata},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": "Running" if node else "Pending"},
    }


def world(*pods: dict[str, Any], **lists: list[dict[str, Any]]) -> dict[str, Any]:
    group = {"metadata": {"name": "group", "namespace": "ns"}, "spec": {"queue": "q"}}
    objects = {"nodes": [{"metadata": {"name": "n1"}}], "pods": list(pods), "podGroups": [group]}
    return {"config": {"actions": "allocate"}, "rawObjects": {**objects, **lists}}


def only_pod(after: dict[str, Any]) -> dict[str, Any]:
    (found,) = after["rawObjects"]["pods"]
    return found  # type: ignore[no-any-return]


def test_a_bound_pod_has_its_zones_written_on_it_and_a_restarted_one_has_none() -> None:
    zones = (SimpleNamespace(zone="node-0", amount={"cpu": 2, "nvidia.com/gpu": 1}),)
    decision = SimpleNamespace(kind="bind", pod="ns/p", node="n1", gpu_groups=(), numa_zones=zones)
    running = step(world(pod("p")), plan(decision), now=NOW)
    annotations = only_pod(running)["metadata"]["annotations"]
    assert annotations["kai.scheduler/numa-placement-predicted"] == (
        '[{"zone": "node-0", "amount": {"cpu": "2", "nvidia.com/gpu": "1"}}]'
    )
    again = step(running, plan(evict("ns/p")), now=NOW)
    assert only_pod(again)["metadata"]["annotations"] == {"pod-group-name": "group"}


def test_an_evicted_pod_starts_again_without_node_and_labels() -> None:
    before = world(
        pod(
            "p",
            node="n1",
            labels={"runai-gpu-group": "a", "runai-gpu-group/b": "b", "app": "train"},
            annotations={"received-resource-type": "Fraction"},
        )
    )
    after = only_pod(step(before, plan(evict("ns/p")), now=NOW))
    assert after["status"]["phase"] == "Pending"
    assert "nodeName" not in after["spec"]
    assert after["metadata"]["labels"] == {"app": "train"}
    assert after["metadata"]["annotations"] == {"pod-group-name": "group"}


def test_a_terminating_pod_starts_again() -> None:
    before = world(pod("p", node="n1", deletionTimestamp="2026-01-01T11:59:50Z"))
    after = only_pod(step(before, plan(), now=NOW))
    assert after["status"]["phase"] == "Pending"
    assert "deletionTimestamp" not in after["metadata"]


def test_a_pod_stuck_in_terminating_stays() -> None:
    before = world(pod("p", node="n1", deletionTimestamp="2026-01-01T11:50:00Z"))
    assert step(before, plan(), now=NOW)["rawObjects"]["pods"] == before["rawObjects"]["pods"]


def test_an_evicted_pod_of_a_deleted_group_stays_terminating_on_its_node() -> None:
    before = world(pod("p", node="n1"))
    after = only_pod(step(before, plan(evict("ns/p")), now=NOW, delete_on_evict=["ns/group"]))
    assert after["spec"]["nodeName"] == "n1"
    assert after["status"]["phase"] == "Running"
    assert after["metadata"]["deletionTimestamp"] == "2026-01-01T11:59:55Z"


def test_a_pod_that_one_plan_binds_and_evicts_starts_again() -> None:
    both = plan(bind("ns/p", "n1"), evict("ns/p"))
    again = only_pod(step(world(pod("p")), both, now=NOW))
    assert (again["status"]["phase"], "nodeName" in again["spec"]) == ("Pending", False)
    leaving = only_pod(step(world(pod("p")), both, now=NOW, delete_on_evict=["ns/group"]))
    assert leaving["spec"]["nodeName"] == "n1"
    assert "deletionTimestamp" in leaving["metadata"]


def test_a_pipelined_pod_that_is_evicted_stays_pending() -> None:
    before = world(pod("p"))
    after = step(before, plan(pipeline("ns/p", "n1"), evict("ns/p")), now=NOW)
    assert after["rawObjects"]["pods"][0]["spec"] == {}
    assert only_pod(after)["status"]["phase"] == "Pending"


def test_a_terminating_pod_of_a_deleted_group_is_unchanged() -> None:
    before = world(pod("p", node="n1", deletionTimestamp="2026-01-01T11:59:50Z"))
    after = step(before, plan(), now=NOW, delete_on_evict=["ns/group"])
    assert after["rawObjects"]["pods"] == before["rawObjects"]["pods"]


def test_a_pipelined_pod_is_pending_without_a_node() -> None:
    before = world(pod("p"))
    after = step(before, plan(pipeline("ns/p", "n1")), now=NOW)
    assert after["rawObjects"]["pods"] == before["rawObjects"]["pods"]


def test_a_moved_pod_is_pending_without_a_node() -> None:
    before = world(pod("p", node="n1"))
    after = only_pod(step(before, plan(evict("ns/p"), pipeline("ns/p", "n2")), now=NOW))
    assert after["status"]["phase"] == "Pending"
    assert "nodeName" not in after["spec"]


def test_a_bound_pod_runs_on_its_node() -> None:
    after = only_pod(step(world(pod("p")), plan(bind("ns/p", "n1")), now=NOW))
    assert after["spec"]["nodeName"] == "n1"
    assert after["status"]["phase"] == "Running"
    assert after["metadata"]["annotations"]["received-resource-type"] == "Regular"
    assert "labels" not in after["metadata"]


@pytest.mark.parametrize(
    ("groups", "labels"),
    [
        (("g1",), {"runai-gpu-group": "g1"}),
        (("g1", "g2"), {"runai-gpu-group/g1": "g1", "runai-gpu-group/g2": "g2"}),
    ],
)
def test_a_bound_pod_on_shared_devices_is_labelled_with_them(
    groups: tuple[str, ...], labels: dict[str, str]
) -> None:
    before = world(pod("p", annotations={"gpu-fraction": "0.5"}))
    after = only_pod(step(before, plan(bind("ns/p", "n1", *groups)), now=NOW))
    assert after["metadata"]["labels"] == labels
    assert after["metadata"]["annotations"]["received-resource-type"] == "Fraction"


def test_a_bound_pod_with_a_mig_slice_is_annotated() -> None:
    before = world(pod("p"))
    requests = {"nvidia.com/mig-1g.5gb": "1"}
    before["rawObjects"]["pods"][0]["spec"]["containers"] = [{"resources": {"requests": requests}}]
    after = only_pod(step(before, plan(bind("ns/p", "n1")), now=NOW))
    assert after["metadata"]["annotations"]["received-resource-type"] == "MigInstance"


def claim(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "claim", "namespace": "ns"}, "status": status}


def with_claim(found: dict[str, Any]) -> dict[str, Any]:
    found["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "claim"}]
    return found


def test_the_claim_of_a_bound_pod_is_allocated_on_the_node_and_reserved() -> None:
    before = world(with_claim(pod("p", uid="u")), resourceClaims=[claim()])
    after = step(before, plan(bind("ns/p", "n1")), now=NOW)
    (found,) = after["rawObjects"]["resourceClaims"]
    assert found["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "u"}]
    (term,) = found["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchFields"][0]["values"] == ["n1"]


def test_the_last_reservation_removes_the_allocation() -> None:
    reserved = [{"resource": "pods", "name": "p"}, {"resource": "pods", "name": "q"}]
    shared = claim(reservedFor=reserved, allocation={"devices": {}})
    before = world(
        with_claim(pod("p", node="n1")),
        with_claim(pod("q", node="n1")),
        resourceClaims=[shared],
    )
    one_left = step(before, plan(evict("ns/p")), now=NOW)
    (found,) = one_left["rawObjects"]["resourceClaims"]
    assert found["status"] == {"reservedFor": reserved[1:], "allocation": {"devices": {}}}
    none_left = step(one_left, plan(evict("ns/q")), now=NOW)
    (found,) = none_left["rawObjects"]["resourceClaims"]
    assert found["status"] == {}


@pytest.mark.parametrize("kind", ["bound", "running", "pending"])
def test_a_group_with_a_running_pod_started_a_minute_ago(kind: str) -> None:
    before = world(pod("p", node="n1" if kind == "running" else ""))
    stamp = {"kai.scheduler/last-start-timestamp": "2025-01-01T00:00:00Z"}
    before["rawObjects"]["podGroups"][0]["metadata"]["annotations"] = stamp
    decisions = [bind("ns/p", "n1")] if kind == "bound" else []
    (group,) = step(before, plan(*decisions), now=NOW)["rawObjects"]["podGroups"]
    annotations = group["metadata"].get("annotations")
    if kind == "pending":
        assert annotations is None
    else:
        assert annotations == {"kai.scheduler/last-start-timestamp": "2026-01-01T11:59:00Z"}


def test_bind_requests_are_executed_and_removed() -> None:
    spec = {"podName": "p", "selectedNode": "n1", "selectedGPUGroups": ["g"]}
    request = {"metadata": {"name": "p", "namespace": "ns"}, "spec": spec}
    before = world(pod("p"), bindRequests=[request])
    after = step(before, plan(), now=NOW)
    assert after["rawObjects"]["bindRequests"] == []
    assert only_pod(after)["spec"]["nodeName"] == "n1"
    assert only_pod(after)["metadata"]["labels"] == {"runai-gpu-group": "g"}


def test_all_other_time_stamps_are_unchanged() -> None:
    before = world(pod("p", node="n1", creationTimestamp="2024-01-01T00:00:00Z"))
    after = only_pod(step(before, plan(evict("ns/p")), now=NOW))
    assert after["metadata"]["creationTimestamp"] == "2024-01-01T00:00:00Z"


def test_the_input_is_never_changed() -> None:
    before = world(
        pod("p", labels={"app": "x"}),
        pod("q", node="n1", labels={"runai-gpu-group": "g"}),
        with_claim(pod("r", node="n1")),
        resourceClaims=[claim(reservedFor=[{"name": "r"}], allocation={})],
    )
    untouched = copy.deepcopy(before)
    step(before, plan(bind("ns/p", "n1", "g"), evict("ns/q"), evict("ns/r")), now=NOW)
    assert before == untouched


def test_the_claim_for_extended_resources_is_created_and_deleted_with_its_pod() -> None:
    found = {"deviceRequests": [1], "containerMappings": [2], "allocation": {"devices": {}}}
    given = SimpleNamespace(to_dict=lambda: found)
    decision = SimpleNamespace(
        kind="bind", pod="ns/p", node="n1", gpu_groups=(), extended_claim=given
    )
    running = step(world(pod("p", uid="u")), plan(decision), now=NOW)
    (made,) = running["rawObjects"]["resourceClaims"]
    assert only_pod(running)["status"]["extendedResourceClaimStatus"] == {
        "resourceClaimName": made["metadata"]["name"],
        "requestMappings": [2],
    }
    assert made["metadata"]["annotations"] == {
        "resource.kubernetes.io/extended-resource-claim": "true"
    }
    assert made["spec"]["devices"]["requests"] == [1]
    assert made["status"]["allocation"] == {"devices": {}}
    assert [each["name"] for each in made["status"]["reservedFor"]] == ["p"]
    again = step(running, plan(evict("ns/p")), now=NOW)
    assert again["rawObjects"]["resourceClaims"] == []
    assert "extendedResourceClaimStatus" not in only_pod(again)["status"]
