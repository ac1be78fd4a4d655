"""The facts that a comparison reads from pods, BindRequests and pod groups."""

from typing import Any

import pytest

from kai.controllers.shadow import GroupSeen, PodSeen, RequestSeen

Object = dict[str, Any]


def pod(labels: Object | None = None, **spec: Any) -> Object:
    metadata = {"namespace": "team", "name": "a", "uid": "u", "labels": labels or {}}
    return {
        "metadata": {**metadata, "annotations": {"pod-group-name": "g"}},
        "spec": {"schedulerName": "kai-scheduler", "nodeName": "n1", **spec},
        "status": {"phase": "Running"},
    }


def seen(manifest: Object) -> PodSeen:
    found = PodSeen.of(manifest, "kai-scheduler")
    assert found is not None
    return found


def test_a_pod() -> None:
    found = seen(pod({"runai-gpu-group": "g1"}))
    assert (found.name, found.uid, found.node, found.group) == ("team/a", "u", "n1", "team/g")
    assert found.gpu_groups == {"g1"}
    assert (found.is_leaving, found.is_over, found.is_victim) == (False, False, False)


def test_a_pod_on_several_shared_devices() -> None:
    """The plain label names only one of them; the labels with the group's name count."""
    labels = {"runai-gpu-group": "g1", "runai-gpu-group/g1": "g1", "runai-gpu-group/g2": "g2"}
    assert seen(pod(labels)).gpu_groups == {"g1", "g2"}


def test_pods_of_other_schedulers_are_not_compared() -> None:
    assert PodSeen.of(pod(schedulerName="default-scheduler"), "kai-scheduler") is None


def test_the_node_pool_of_a_pod_and_of_its_group() -> None:
    labels = {"kai.scheduler/node-pool": "blue"}
    assert (seen(pod(labels)).pool, seen(pod()).pool) == ("blue", "")
    group = {"metadata": {"namespace": "team", "name": "g", "labels": labels}}
    assert GroupSeen.of(group).pool == "blue"


def test_a_victim_of_kube_scheduler() -> None:
    victim = pod()
    victim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    condition = {"type": "DisruptionTarget", "reason": "PreemptionByScheduler", "status": "True"}
    victim["status"]["conditions"] = [condition]
    assert (seen(victim).is_leaving, seen(victim).is_victim) == (True, True)


def test_equal_pods_have_one_shape() -> None:
    def shape_of(gpus: str, **metadata: str) -> str:
        made = pod(metadata)
        made["spec"]["containers"] = [{"name": "c", "resources": {"limits": {"gpu": gpus}}}]
        return seen(made).shape

    assert shape_of("1") == shape_of("1", app="web")
    assert shape_of("1") != shape_of("2")
    assert shape_of("1") != shape_of("1", **{"kai.scheduler/subgroup-name": "leader"})


@pytest.mark.parametrize("odd", [{}, {"spec": None}, {"spec": {"schedulerName": 7}}])
def test_an_object_that_is_not_a_pod_is_ignored(odd: Object) -> None:
    assert PodSeen.of(odd, "kai-scheduler") is None


def test_a_bind_request() -> None:
    owner = {"kind": "Pod", "name": "a", "uid": "u"}
    made = {
        "metadata": {"namespace": "team", "name": "a", "uid": "r", "ownerReferences": [owner]},
        "spec": {"podName": "a", "selectedNode": "n1", "selectedGPUGroups": ["g1"]},
    }
    found = RequestSeen.of(made)
    assert (found.pod, found.owner, found.node) == ("team/a", "u", "n1")
    assert (found.gpu_groups, found.has_failed) == ({"g1"}, False)
    assert RequestSeen.of({**made, "status": {"phase": "Failed"}}).has_failed


def test_a_pod_group_has_the_time_of_its_last_eviction() -> None:
    stamp = {"kai.scheduler/last-eviction-timestamp": "2026-01-01T00:00:00Z"}
    made = {"metadata": {"namespace": "team", "name": "g", "annotations": stamp}}
    assert GroupSeen.of(made) == GroupSeen("team/g", "2026-01-01T00:00:00Z")
