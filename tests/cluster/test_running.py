"""`kai run all` on a real API server: pods are bound, gangs start whole, queues get their share."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testcluster import Cluster, node, pod

from kai.install import manifests

PATIENCE_S = 30.0


class Kubectl:
    """What a user of the cluster sees."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster, self._namespace = cluster, namespace

    def apply(self, *objects: dict[str, Any]) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        self._cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        said = self._cluster.kubectl("-n", self._namespace, "get", kind, "-o", "json")
        return {each["metadata"]["name"]: each for each in json.loads(said)["items"]}

    def bound(self) -> dict[str, str]:
        found = {name: pod["spec"].get("nodeName", "") for name, pod in self.all("pods").items()}
        return {name: node for name, node in found.items() if node}

    def events(self, name: str) -> dict[str, str]:
        """The messages about an object by reason."""
        found = self.all("events").values()
        return {e["reason"]: e["message"] for e in found if e["involvedObject"]["name"] == name}

    def condition(self, name: str, type: str) -> dict[str, Any]:
        conditions = self.all("pods")[name]["status"].get("conditions", [])
        return next((each for each in conditions if each["type"] == type), {})


def until(what: str, is_so: Callable[[], Any]) -> Any:
    ends = time.monotonic() + PATIENCE_S
    while not (found := is_so()):
        assert time.monotonic() < ends, f"it did not come about: {what}"
        time.sleep(0.2)
    return found


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Kubectl]:
    """With kai running in all roles."""
    crds = manifests.to_yaml(manifests.crds())
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=crds)
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all")
    cluster.kubectl(
        *("apply", "--server-side", "-f", "-"),
        stdin=manifests.to_yaml([*manifests.priority_classes(), *manifests.queues()]),
    )
    kubeconfig = cluster.kubeconfig_of("admin")
    command = [sys.executable, "-m", "kai", "run", "all", "--kubeconfig", str(kubeconfig)]
    log = tmp_path / "kai.log"
    with log.open("wb") as output:
        running = subprocess.Popen([*command, "--namespace", namespace], stderr=output)
    try:
        yield Kubectl(cluster, namespace)
        assert running.poll() is None, log.read_text()
    finally:
        running.terminate()
        assert running.wait(20) == 0, log.read_text()


def queue(name: str, parent: str, gpus: int) -> dict[str, Any]:
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"cpu": unlimited, "memory": unlimited, "gpu": {**unlimited, "quota": gpus}}
    spec: dict[str, Any] = {"resources": resources}
    if parent:
        spec["parentQueue"] = parent
    metadata = {"name": name}
    return {
        "apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": metadata, "spec": spec,
    }  # fmt: skip


def test_pods_are_bound_and_one_without_room_says_why(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(node("n1", gpus=1))
    kubectl.apply(pod("cpu-only-pod", namespace, gpus=0), pod("gpu-pod", namespace))
    until("both are bound", lambda: len(kubectl.bound()) == 2)
    for name in ("cpu-only-pod", "gpu-pod"):
        said = until("events", lambda name=name: len(e := kubectl.events(name)) >= 2 and e)
        assert said["Scheduled"] == (
            f"Successfully assigned pod {namespace}/{name} to node n1 at node-pool default"
        )
        assert said["Bound"] == "Pod bound successfully to node n1"
    kubectl.apply(pod("third", namespace))
    condition = until("a condition", lambda: kubectl.condition("third", "PodScheduled"))
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert "1 node(s) didn't have enough resources: GPUs" in condition["message"]
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


def test_a_gang_waits_whole_and_starts_whole(kubectl: Kubectl, namespace: str) -> None:
    metadata = {"name": "gang", "namespace": namespace}
    group = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata}
    kubectl.apply(node("n1", gpus=3))
    kubectl.apply({**group, "spec": {"queue": "default-queue", "minMember": 4}})
    named = {"pod-group-name": "gang"}
    kubectl.apply(*(pod(f"g-{i}", namespace, annotations=named) for i in range(4)))
    until("it says why", lambda: kubectl.all("podgroups")["gang"].get("status"))
    assert kubectl.bound() == {}
    kubectl.apply(node("n2", gpus=1))
    until("all four are bound", lambda: len(kubectl.bound()) == 4)


def test_a_queue_takes_back_its_share(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(queue("dept", "", 2), queue("team-a", "dept", 1), queue("team-b", "dept", 1))
    kubectl.apply(node("n1", gpus=2))
    kubectl.apply(*(pod(f"a-{i}", namespace, queue="team-a") for i in range(2)))
    until("team-a uses both", lambda: len(kubectl.bound()) == 2)
    kubectl.apply(pod("b-0", namespace, queue="team-b"))
    until("team-b has its GPU", lambda: "b-0" in kubectl.bound())
    assert len(kubectl.all("pods")) == 2
    said = until("an event", lambda: kubectl.events("b-0").get("Pipelined"))
    assert said == f"Pod {namespace}/b-0 was pipelined to node n1"
    said = until(
        "the victim's group says what took its place",
        lambda: [e["message"] for e in kubectl.all("events").values() if e["reason"] == "Evict"],
    )
    assert "was preempted by workload" in said[0]
    assert "pg-b-0-" in said[0]
