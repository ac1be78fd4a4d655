"""A live cluster from Python and from the command line: planned, not changed; and kai.run."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testcluster import (
    Cluster,
    Kai,
    Kubectl,
    free_ports,
    job,
    node,
    pod,
    pod_spec,
    running,
    until,
)

import kai


@pytest.fixture
def reader(cluster: Cluster) -> Iterator[Path]:
    """The kubeconfig of a user who may only list what plans depend on."""
    with running.reader(cluster, "list") as kubeconfig:
        yield kubeconfig


def command(*arguments: object) -> str:
    """The output of `kai`."""
    done = subprocess.run(
        [sys.executable, "-m", "kai", *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def bound(plan: Any) -> dict[str, str]:
    decisions = plan["decisions"]
    return {each["pod"]: each["node"] for each in decisions if each["kind"] == "bind"}


def test_a_simulation_starts_from_the_live_cluster(
    namespace: str, kubectl: Kubectl, cluster: Cluster, reader: Path, tmp_path: Path
) -> None:
    """Two pods run for 60 s more, and the third one starts then; a job of a file comes after it."""
    kubectl.apply(node("n1", gpus=2))
    with Kai(cluster, namespace, tmp_path / "kai.log"):
        kubectl.apply(pod("a", namespace), pod("b", namespace))
        until("both run", lambda: len(kubectl.bound()) == 2)
        kubectl.apply(pod("c", namespace))
        until("it has a group", lambda: len(kubectl.all("podgroups")) == 3)
    (tmp_path / "later.yaml").write_text(
        "nodes: {others: {gpu: 8}}\n"  # those of the cluster count
        "queues: {default-queue: {}}\n"
        "jobs: {later: {queue: default-queue, arrival: 10s, duration: 30s, gpu: 2}}\n"
    )
    live = ("simulate", "--live", "--kubeconfig", reader, "--json")
    data = json.loads(command(*live, "--remaining", "60s", "--arrivals", tmp_path / "later.yaml"))
    rows = zip(data["jobs"]["name"], data["jobs"]["first_start_s"], strict=True)
    start_s = {name.removeprefix(f"{namespace}/pg-")[:1]: at_s for name, at_s in rows}
    assert start_s == {"a": 0, "b": 0, "c": 60, "l": 120}
    assert data["end_s"] == 150
    assert data["workload"]["gpus"] == 2
    without_end = json.loads(command(*live, "--until", "1h"))
    assert without_end["metrics"]["unfinished"] == 3
    assert kubectl.bound().keys() == {"a", "b"}


def test_a_plan_equals_kai_run_and_writes_nothing(
    cluster: Cluster, namespace: str, kubectl: Kubectl, reader: Path, tmp_path: Path
) -> None:
    kubectl.apply(node("n1", gpus=3), node("n2", gpus=2))
    kubectl.apply(*(pod(f"p{each}", namespace) for each in range(3)), pod("big", namespace, gpus=4))
    kubectl.apply(job("train", namespace, 2, pod_spec()))
    until("all pods are there", lambda: len(kubectl.all("pods")) == 6)

    def versions() -> dict[str, str]:
        pods = kubectl.all("pods").values()
        return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in pods}

    before = versions()
    live = json.loads(command("plan", "--live", "--json", "--kubeconfig", reader))
    assert len(bound(live)) == 5
    admin = cluster.kubeconfig_of("admin")
    with kai.connect(kubeconfig=admin) as connection:
        plan = connection.plan()
        assert bound(plan.to_dict()) == bound(live)
        assert plan.warnings == ()
        assert f"{namespace}/pg-train-" in "".join(plan.pod_groups)
        command("snapshot", "--kubeconfig", admin, "--out", tmp_path / "s.zip")
        assert bound(json.loads(command("plan", tmp_path / "s.zip", "--json"))) == bound(live)
        assert versions() == before
        assert kubectl.all("podgroups") == {}
        with Kai(cluster, namespace, tmp_path / "kai.log"):
            until("all are bound", lambda: len(kubectl.bound()) == 5)
        assert {f"{namespace}/{name}": n for name, n in kubectl.bound().items()} == bound(live)
        connection.refresh()
        assert connection.plan().decisions == ()
        assert connection.plan().free_gpus == {"n1": 0, "n2": 0}
    for table in ("queues", "nodes", "groups"):
        assert command(table, "--live", "--kubeconfig", admin).startswith("test at 20")


def test_a_snapshot_of_a_running_scheduler_gives_its_own_plan(
    cluster: Cluster, namespace: str, kubectl: Kubectl, tmp_path: Path
) -> None:
    """A place is promised, and a later pod must not get it."""
    metadata, group = {"name": f"mid-{namespace}"}, "scheduling.k8s.io/v1"
    mid = {"apiVersion": group, "kind": "PriorityClass", "metadata": metadata, "value": 60}
    kubectl.apply(mid, node("n1", gpus=1))
    slow = {"sim/stop-delay": "10s"}
    kubectl.apply(pod("low", namespace, annotations=slow, terminationGracePeriodSeconds=30))
    [port] = free_ports(1)
    page = f"127.0.0.1:{port}"
    with Kai(cluster, namespace, tmp_path / "kai.log", "--listen-address", page):
        until("low runs", lambda: kubectl.all("pods")["low"]["status"].get("phase") == "Running")
        kubectl.apply(pod("mid", namespace, priorityClassName=metadata["name"]))
        until("mid has a promise", lambda: kubectl.events("mid").get("Pipelined"))
        kubectl.apply(pod("high", namespace, priorityClassName="build-preemptible"))
        until("high waits", lambda: kubectl.condition("high", "PodScheduled"))
        command("snapshot", "--from", page, "--out", tmp_path / "s.zip")
        pods = kubectl.all("pods")
        assert set(pods) == {"low", "mid", "high"}, "it was taken too late"
        assert pods["mid"]["status"]["nominatedNodeName"] == "n1"
        assert "nominatedNodeName" not in pods["high"]["status"]
    taken = kai.load(tmp_path / "s.zip")
    plan = json.loads(command("plan", tmp_path / "s.zip", "--json"))
    assert [(each["kind"], each["pod"]) for each in plan["decisions"]] == [
        ("pipeline", f"{namespace}/mid")
    ]
    objects = {name: each for name, each in taken.to_snapshot().items() if name != "memory"}
    forgetful = kai.Cluster.from_snapshot(objects, now=taken.now)
    assert kai.Scheduler().plan(forgetful).decisions[0].pod == f"{namespace}/high"
    cluster.kubectl("delete", "priorityclass", metadata["name"])


def test_kai_run_inside_a_loop_ends_by_cancellation(
    cluster: Cluster, namespace: str, kubectl: Kubectl
) -> None:
    kubeconfig = cluster.kubeconfig_of("admin")

    async def notebook() -> None:
        task = asyncio.create_task(
            kai.run(kubeconfig=kubeconfig, namespace=namespace, log_level="warning")
        )
        await asyncio.to_thread(kubectl.apply, node("n1", gpus=1), pod("p1", namespace))
        await asyncio.to_thread(until, "it is bound", lambda: kubectl.bound() == {"p1": "n1"})
        leases = await asyncio.to_thread(kubectl.all, "leases")
        assert all(each["spec"]["holderIdentity"] for each in leases.values())
        async with kai.connect(kubeconfig=kubeconfig) as live:
            assert live.plan().free_gpus == {"n1": 0}
        assert not task.done()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
        leases = await asyncio.to_thread(kubectl.all, "leases")
        assert not any(each["spec"].get("holderIdentity") for each in leases.values())

    asyncio.run(notebook())
    asyncio.run(notebook())
