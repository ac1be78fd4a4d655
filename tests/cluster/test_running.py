"""`kai run all` on a real API server: pods are bound, gangs start whole, queues get their share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from testcluster import Cluster, Kai, Kubectl, install, node, pod, pod_group, queue, until


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Kubectl]:
    """With kai running in all roles."""
    install(cluster)
    with Kai(cluster, namespace, tmp_path / "kai.log") as kai:
        yield Kubectl(cluster, namespace)
        assert kai.is_running(), kai.log


def test_pods_are_bound_and_one_without_room_has_a_reason(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(node("n1", gpus=1))
    kubectl.apply(pod("cpu-only-pod", namespace, gpus=0), pod("gpu-pod", namespace))
    until("both are bound", lambda: len(kubectl.bound()) == 2)
    for name in ("cpu-only-pod", "gpu-pod"):
        found = until("events", lambda name=name: len(e := kubectl.events(name)) >= 2 and e)
        assert found["Scheduled"] == (
            f"Successfully assigned pod {namespace}/{name} to node n1 at node-pool default"
        )
        assert found["Bound"] == "Pod bound successfully to node n1"
    kubectl.apply(pod("third", namespace))
    condition = until("a condition", lambda: kubectl.condition("third", "PodScheduled"))
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert "1 node(s) didn't have enough resources: GPUs" in condition["message"]

    def of_group() -> list[str]:
        groups = kubectl.all("podgroups").items()
        [third] = [each for name, each in groups if name.startswith("pg-third-")] or [{}]
        found = third.get("status", {}).get("schedulingConditions", ())
        return [each["message"] for each in found]

    [found] = until("so does its pod group", of_group)
    assert "1 node(s) didn't have enough resources: GPUs" in found
    kubectl.apply(node("n2", gpus=1))
    until("it is bound to the new node", lambda: kubectl.bound().get("third") == "n2")
    allocated = until(
        "its pod group has what it holds",
        lambda: [
            each["status"]["resourcesStatus"]["allocated"]
            for name, each in kubectl.all("podgroups").items()
            if name.startswith("pg-third-")
            and each.get("status", {}).get("resourcesStatus", {}).get("allocated")
        ],
    )
    assert allocated == [{"nvidia.com/gpu": "1"}]


def test_a_gang_waits_and_starts_as_a_whole(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(node("n1", gpus=3), pod_group("gang", namespace, 4))
    named = {"pod-group-name": "gang"}
    kubectl.apply(*(pod(f"g-{i}", namespace, annotations=named) for i in range(4)))
    until("it says why", lambda: kubectl.all("podgroups")["gang"].get("status"))
    assert kubectl.bound() == {}
    kubectl.apply(node("n2", gpus=1))
    until("all four are bound", lambda: len(kubectl.bound()) == 4)


def test_a_queue_reclaims_its_share(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(
        queue("dept", gpu=2), queue("team-a", "dept", gpu=1), queue("team-b", "dept", gpu=1)
    )
    kubectl.apply(node("n1", gpus=2), *(pod(f"a-{i}", namespace, queue="team-a") for i in range(2)))
    until("team-a uses both", lambda: len(kubectl.bound()) == 2)
    kubectl.apply(pod("b-0", namespace, queue="team-b"))
    until("team-b has its GPU", lambda: "b-0" in kubectl.bound())
    assert len(kubectl.all("pods")) == 2
    message = until("an event", lambda: kubectl.events("b-0").get("Pipelined"))
    assert message == f"Pod {namespace}/b-0 was pipelined to node n1"
    message = until(
        "the victim's group says what took its place",
        lambda: [e["message"] for e in kubectl.all("events").values() if e["reason"] == "Evict"],
    )
    assert "was preempted by workload" in message[0]
    assert "pg-b-0-" in message[0]


def test_each_node_pool_has_a_scheduler_of_its_own(
    kubectl: Kubectl, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """Nodes, queues and pods of a pool have its label."""
    pool = {"kai.scheduler/node-pool": "a100"}
    for made in (queue("dept-a100"), queue("team-a100", "dept-a100", gpu=1)):
        kubectl.apply({**made, "metadata": {**made["metadata"], "labels": pool}})
    kubectl.apply(node("n1", gpus=1), node("n2", gpus=1, labels=pool), pod("here", namespace))
    kubectl.apply(pod("there", namespace, queue="team-a100", labels=pool))
    until("the default pool works", lambda: kubectl.bound() == {"here": "n1"})
    log = tmp_path / "a100.log"
    options = ("--node-pool", "a100")
    with Kai(cluster, namespace, log, *options, roles=("scheduler",)):
        until("so does the other one", lambda: kubectl.bound() == {"here": "n1", "there": "n2"})
    text = until("an event", lambda: kubectl.events("there").get("Scheduled"))
    assert text.endswith("to node n2 at node-pool a100")
