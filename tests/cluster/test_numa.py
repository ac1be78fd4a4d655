"""NUMA zones in a live cluster: the prediction, the observed placement, and the exporter."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testcluster import (
    Cluster,
    Kai,
    Kubectl,
    Object,
    install,
    install_zones,
    node,
    pod,
    remove_zones,
    until,
    zones,
)
from testcluster.processes import Process
from testcluster.running import apply

from kai.api import keys
from kai.install import access

GPU = "nvidia.com/gpu"


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str) -> Iterator[Kubectl]:
    install(cluster)
    install_zones(cluster)
    yield Kubectl(cluster, namespace)
    remove_zones(cluster)


@pytest.fixture
def aligned(tmp_path: Path) -> tuple[str, str]:
    """Arguments of `kai run` with the plugin numa."""
    config = tmp_path / "config.yaml"
    config.write_text("plugins: {numa: true}\n")
    return ("--config", str(config))


def annotation(kubectl: Kubectl, name: str, key: str) -> Any:
    """The value of the annotation, parsed; None if there is none."""
    text = kubectl.all("pods")[name]["metadata"].get("annotations", {}).get(key)
    return None if text is None else json.loads(text)


def predicted(kubectl: Kubectl, name: str) -> Any:
    return annotation(kubectl, name, keys.NUMA_PREDICTED_ANNOTATION)


def gpus(zone: str, count: int) -> list[Object]:
    return [{"zone": zone, "amount": {GPU: str(count)}}]


def observe(cluster: Cluster, namespace: str, name: str, record: Any) -> None:
    setting = f"{keys.NUMA_OBSERVED_ANNOTATION}={json.dumps(record)}"
    cluster.kubectl("-n", namespace, "annotate", "--overwrite", f"pod/{name}", setting)


def test_pods_fit_into_one_zone_and_observed_placements_count(
    cluster: Cluster, namespace: str, kubectl: Kubectl, aligned: tuple[str, str], tmp_path: Path
) -> None:
    """Two GPUs of n1 are in two zones; each zone of n2 has two."""
    kubectl.apply(node("n1", gpus=2), node("n2", gpus=4))
    kubectl.apply(zones("n1", {GPU: "1"}, {GPU: "1"}), zones("n2", {GPU: "2"}, {GPU: "2"}))
    with Kai(cluster, namespace, tmp_path / "kai.log", *aligned) as kai:
        kubectl.apply(pod("first", namespace, 2))
        until("it is bound", lambda: kubectl.bound() == {"first": "n2"})
        assert predicted(kubectl, "first") == gpus("node-0", 2)
        observe(cluster, namespace, "first", gpus("node-1", 2))
        kubectl.apply(pod("second", namespace, 2))
        until("so is this one", lambda: "second" in kubectl.bound())
        assert kubectl.bound()["second"] == "n2"
        assert predicted(kubectl, "second") == gpus("node-0", 2), "node-1 is taken"
        # Both zones of n2 are full, n1 has two GPUs: no node can align a third pod.
        kubectl.apply(pod("third", namespace, 2))
        found = until("it says why", lambda: kubectl.condition("third", "PodScheduled"))
        alignment = "node cannot NUMA-align the pod's resources under its Topology Manager policy"
        assert alignment in found["message"]
        # The kubelet of n1 has another policy now.
        kubectl.apply(zones("n1", {GPU: "1"}, {GPU: "1"}, policy="best-effort"))
        until("it fits", lambda: kubectl.bound().get("third") == "n1")
        spread = [*gpus("node-0", 1), *gpus("node-1", 1)]
        assert predicted(kubectl, "third") == spread
        assert "warning" not in kai.log


def test_placements_observed_while_a_pod_waits_decide_its_node(
    cluster: Cluster, namespace: str, kubectl: Kubectl, aligned: tuple[str, str], tmp_path: Path
) -> None:
    """The predictions put both pods into zone 0, and zone 1 is free."""
    kubectl.apply(node("n1", gpus=4), zones("n1", {GPU: "2"}, {GPU: "2"}))
    with Kai(cluster, namespace, tmp_path / "kai.log", *aligned):
        kubectl.apply(pod("one", namespace), pod("two", namespace))
        until("both are bound", lambda: len(kubectl.bound()) == 2)
        places = sorted(str(predicted(kubectl, name)) for name in ("one", "two"))
        assert places == [str(gpus("node-0", 1))] * 2
        observe(cluster, namespace, "two", gpus("node-1", 1))
        observe(cluster, namespace, "one", gpus("node-0", 1))
        kubectl.apply(pod("pair", namespace, 2))
        until("it waits", lambda: kubectl.condition("pair", "PodScheduled"))
        assert "pair" not in kubectl.bound()
        observe(cluster, namespace, "two", gpus("node-0", 1))
        until("zone 1 is free", lambda: kubectl.bound().get("pair") == "n1")
        assert predicted(kubectl, "pair") == gpus("node-1", 2)


def test_without_the_kind_pods_are_bound_without_a_prediction(
    cluster: Cluster, namespace: str, kubectl: Kubectl, aligned: tuple[str, str], tmp_path: Path
) -> None:
    """The kind is installed later, and is used then."""
    remove_zones(cluster)
    kubectl.apply(node("n1", gpus=4))
    with Kai(cluster, namespace, tmp_path / "kai.log", *aligned) as kai:
        kubectl.apply(pod("before", namespace))
        until("it is bound", lambda: kubectl.bound() == {"before": "n1"})
        assert predicted(kubectl, "before") is None
        assert "warning" not in kai.log


# ---- the exporter --------------------------------------------------------------------------------


def test_the_exporter_writes_placements_and_repairs_changed_annotations(
    cluster: Cluster, namespace: str, kubectl: Kubectl, tmp_path: Path
) -> None:
    """It has only the rights of its own account."""
    pytest.importorskip("grpc", reason="needs the extra numa")
    from fakes.kubelet import FakeKubelet, answer, container, sysfs

    name = f"exporter-{namespace}"
    account = access.objects("numa-exporter", name, namespace)
    apply(cluster, *account)
    token = cluster.kubectl("create", "token", name, "-n", namespace).strip()
    kubectl.apply(node("n1", gpus=2))
    for each in ("a", "b"):
        kubectl.apply(pod(each, namespace, nodeName="n1", scheduler="other"))
    socket = tmp_path / "kubelet.sock"
    command = [sys.executable, "-m", "kai", "run", "numa-exporter"]
    command += ["--kubeconfig", str(cluster.kubeconfig_of(token=token, name="exporter.kubeconfig"))]
    command += ["--node-name", "n1", "--podresources-socket", str(socket)]
    command += ["--sysfs-root", sysfs(tmp_path / "sys", "0-3", "4-7")]
    command += ["--poll-interval", "0.1", "--drift-resync-interval", "0.5"]
    log = tmp_path / "exporter.log"

    def observed(of: str) -> Any:
        return annotation(kubectl, of, keys.NUMA_OBSERVED_ANNOTATION)

    async def scene() -> None:
        process = await asyncio.to_thread(Process.start, "exporter", command, log=log)
        try:
            await asyncio.to_thread(
                until, "there is no socket", lambda: "no such" in log.read_text()
            )
            async with FakeKubelet(socket) as kubelet:
                mine = [container([(GPU, ["g0"], [1])], [0, 1])]
                kubelet.data = answer((f"{namespace}/a", mine), (f"{namespace}/b", []))
                record = [{"zone": "node-0", "amount": {"cpu": "2"}}, *gpus("node-1", 1)]
                what = "the annotation arrives"
                await asyncio.to_thread(until, what, lambda: observed("a") == record)
                await asyncio.to_thread(observe, cluster, namespace, "a", gpus("node-0", 9))
                what = "drift is repaired"
                await asyncio.to_thread(until, what, lambda: observed("a") == record)
                assert await asyncio.to_thread(observed, "b") is None
        finally:
            await asyncio.to_thread(process.stop, 20)
        assert process.exit_status == 0, log.read_text()

    asyncio.run(scene())
    lines = [each.split(" kai: ", 1)[1] for each in log.read_text().splitlines()]
    assert lines[0].startswith("started ")
    assert sum("cannot read the pod resources of the kubelet" in each for each in lines) <= 2
    assert "others changed annotations; they are repaired pods=1" in lines
    for each in account:
        if each["kind"].startswith("ClusterRole"):
            cluster.kubectl("delete", each["kind"], each["metadata"]["name"])
