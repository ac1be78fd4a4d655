"""Pods that change while they wait or run: scheduling gates, groups that come late, resizes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testcluster import Cluster, Kai, Kubectl, Object, node, pod, pod_group, until

from kai.api import keys

GROUP = {keys.POD_GROUP_ANNOTATION: "g"}


@pytest.fixture
def kai(cluster: Cluster, namespace: str, kubectl: Kubectl, tmp_path: Path) -> Iterator[Kai]:
    with Kai(cluster, namespace, tmp_path / "kai.log") as running:
        yield running


def patch(cluster: Cluster, namespace: str, name: str, subresource: str, what: Any) -> None:
    where = ("-n", namespace, f"--subresource={subresource}") if subresource else ("-n", namespace)
    kind = "merge" if isinstance(what, dict) else "json"
    cluster.kubectl(*where, "patch", "pod", name, f"--type={kind}", "-p", json.dumps(what))


# ---- gates ---------------------------------------------------------------------------------------


def test_a_gated_pod_and_its_group_show_the_wait_until_the_gate_is_removed(
    cluster: Cluster, namespace: str, kubectl: Kubectl, kai: Kai
) -> None:
    kubectl.apply(node("n1", gpus=1))
    kubectl.apply(pod("p", namespace, schedulingGates=[{"name": "example/quota"}]))

    def events_of_group() -> list[Object]:
        events = kubectl.all("events").values()
        return [each for each in events if each["reason"] == "NotReady"]

    [event] = until("the group says why", events_of_group)
    assert event["type"] == "Normal"
    assert event["involvedObject"]["kind"] == "PodGroup"
    assert event["message"] == (
        "Job is not ready for scheduling. Waiting for 1 pods, currently 1 exist, 1 are gated"
    )
    assert kubectl.bound() == {}
    assert kubectl.condition("p", "PodScheduled")["reason"] == "SchedulingGated"
    patch(cluster, namespace, "p", "", [{"op": "remove", "path": "/spec/schedulingGates"}])
    until("it is bound", lambda: kubectl.bound() == {"p": "n1"})
    assert [each.get("count") for each in events_of_group()] == [1]


def test_a_gang_waits_for_its_gated_pod(
    cluster: Cluster, namespace: str, kubectl: Kubectl, kai: Kai
) -> None:
    kubectl.apply(node("n1", gpus=3))
    gates = [{"name": "example/quota"}]
    kubectl.apply(
        pod_group("g", namespace, 2),
        pod("a", namespace, annotations=GROUP),
        pod("b", namespace, annotations=GROUP, schedulingGates=gates),
        pod("other", namespace, 2),
    )
    text = until("the group says why", lambda: kubectl.events("g").get("NotReady"))
    assert text == (
        "Job is not ready for scheduling. Waiting for 2 pods, currently 2 exist, 1 are gated"
    )
    until("the other pod takes its room", lambda: kubectl.bound() == {"other": "n1"})
    patch(cluster, namespace, "b", "", [{"op": "remove", "path": "/spec/schedulingGates"}])
    kubectl.delete("pod", "other")
    until("the gang is bound", lambda: kubectl.bound() == {"a": "n1", "b": "n1"})


# ---- groups that come late -----------------------------------------------------------------------


def test_a_pod_is_placed_once_its_group_exists(namespace: str, kubectl: Kubectl, kai: Kai) -> None:
    """Without its group it waits, and uses no room."""
    kubectl.apply(node("n1", gpus=2))
    kubectl.apply(pod("early", namespace, annotations=GROUP), pod("other", namespace))
    found = until("it says why", lambda: kubectl.condition("early", "PodScheduled"))
    assert found["message"] == f"PodGroup {namespace}/g does not exist"
    assert kubectl.bound() == {"other": "n1"}
    kubectl.apply(pod_group("g", namespace, 1))
    until("both are bound", lambda: kubectl.bound() == {"early": "n1", "other": "n1"})
    assert "g" in kubectl.all("podgroups")


def test_a_gang_is_placed_when_its_group_is_created_after_its_pods(
    namespace: str, kubectl: Kubectl, kai: Kai
) -> None:
    kubectl.apply(node("n1", gpus=3))
    kubectl.apply(*(pod(f"p{number}", namespace, annotations=GROUP) for number in range(3)))
    kubectl.apply(pod_group("g", namespace, 3))
    until("all are bound", lambda: set(kubectl.bound()) == {"p0", "p1", "p2"})


# ---- resizes -------------------------------------------------------------------------------------


def resize(cluster: Cluster, namespace: str, name: str, amount: str) -> None:
    what = [{"op": "replace", "path": "/spec/containers/0/resources/requests/cpu", "value": amount}]
    patch(cluster, namespace, name, "resize", what)


def kubelet_has(
    cluster: Cluster, namespace: str, name: str, amount: str, *conditions: Object
) -> None:
    """Writes the kubelet's status: the container's resources, and the state of the pod's resize."""
    kubectl = Kubectl(cluster, namespace)
    status = kubectl.all("pods")[name]["status"]
    [container] = status["containerStatuses"]
    room = {"cpu": amount}
    container |= {"allocatedResources": room, "resources": {"requests": room}}
    others = [each for each in status["conditions"] if not each["type"].startswith("PodResize")]
    now = {"lastTransitionTime": "2026-01-01T00:00:00Z", "status": "True"}
    given = [*others, *({**now, **each} for each in conditions)]
    patch(
        *(cluster, namespace, name, "status"),
        {"status": {"containerStatuses": [container], "conditions": given}},
    )


def test_a_pod_that_shrinks_frees_room_after_the_kubelet_applied_it(
    cluster: Cluster, namespace: str, kubectl: Kubectl, kai: Kai
) -> None:
    kubectl.apply(node("n1", gpus=0, cpu="4"), pod("large", namespace, 0, cpu="3"))
    until("it runs", lambda: kubectl.all("pods")["large"]["status"]["phase"] == "Running")
    kubelet_has(cluster, namespace, "large", "3")
    kubectl.apply(pod("waits", namespace, 0, cpu="2"))
    until("it waits", lambda: kubectl.condition("waits", "PodScheduled"))
    resize(cluster, namespace, "large", "2")
    kubelet_has(cluster, namespace, "large", "3", {"type": "PodResizeInProgress"})
    kubectl.apply(pod("small", namespace, 0, cpu="1"))
    until("what is left is used", lambda: "small" in kubectl.bound())
    assert "waits" not in kubectl.bound(), "the kubelet has not taken the CPU yet"
    kubectl.delete("pod", "small")
    kubelet_has(cluster, namespace, "large", "2")
    until("it fits", lambda: kubectl.bound() == {"large": "n1", "waits": "n1"})


def test_a_pod_that_grows_uses_room_at_once_and_frees_it_if_its_node_refuses(
    cluster: Cluster, namespace: str, kubectl: Kubectl, kai: Kai
) -> None:
    kubectl.apply(node("n1", gpus=0, cpu="4"), pod("grows", namespace, 0, cpu="1"))
    until("it runs", lambda: kubectl.all("pods")["grows"]["status"]["phase"] == "Running")
    kubelet_has(cluster, namespace, "grows", "1")
    resize(cluster, namespace, "grows", "3")
    until("its queue has it", lambda: allocated_cpu(cluster) == "3")
    kubectl.apply(pod("waits", namespace, 0, cpu="2"))
    until("it waits", lambda: kubectl.condition("waits", "PodScheduled"))
    infeasible = {"type": "PodResizePending", "reason": "Infeasible", "message": "no"}
    kubelet_has(cluster, namespace, "grows", "1", infeasible)
    until("it fits", lambda: "waits" in kubectl.bound())
    until("its queue has both", lambda: allocated_cpu(cluster) == "3")


def test_a_waiting_pod_that_shrinks_is_placed(
    cluster: Cluster, namespace: str, kubectl: Kubectl, kai: Kai
) -> None:
    kubectl.apply(node("n1", gpus=0, cpu="4"), pod("waits", namespace, 0, cpu="6"))
    until("it waits", lambda: kubectl.condition("waits", "PodScheduled"))
    resize(cluster, namespace, "waits", "4")
    until("it fits", lambda: kubectl.bound() == {"waits": "n1"})


def allocated_cpu(cluster: Cluster) -> str:
    text = cluster.kubectl("get", "queue", "default-queue", "-o", "json")
    return str(json.loads(text).get("status", {}).get("allocated", {}).get("cpu", ""))
