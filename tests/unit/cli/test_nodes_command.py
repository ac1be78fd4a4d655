"""kai nodes: what is free, by class of node."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kai

Run = Callable[..., Any]
NOW = "2026-01-01T00:00:00Z"
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    cluster = (
        kai.Cluster()
        .queue("a", deserved_gpus=16)
        .nodes("big-", 3, gpus=8, labels=H100)
        .nodes("small-", 30, gpus=1, cpus=8)
        .nodes("cpu-", 25, cpus=64)
        .cordon("big-3")
        .running("a/old", pods=5, gpus=1, node="big-1")
        .running("a/part", gpu_fraction=0.25, node="big-2", gpu_groups=["g"])
        .running("a/part-2", gpu_fraction=0.5, node="big-2", gpu_groups=["h"])
        .running("a/part-3", gpu_fraction=0.5, node="big-2", gpu_groups=["i"])
        .configure({"actions": "allocate"})
    )
    path = tmp_path / "mixed.zip"
    cluster.save(path)
    return path


def test_classes_have_sums_and_equal_nodes_share_a_row(run: Run, mixed: Path) -> None:
    done = run("nodes", mixed, "--now", NOW)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[2:] == [
        "",
        "GPUs without a product label, 1 GPU each:"
        " 30 of 30 GPUs free on 30 nodes, 30 of them whole",
        "  nodes                 free  free parts  leaving",
        "  small-01 and 29 more     1                    0",
        "",
        "NVIDIA-H100-80GB-HBM3, 8 GPUs each: 8 of 24 GPUs free on 3 nodes",
        "  nodes  free     free parts  leaving  state",
        "  big-2     5  0.75, 2 x 0.5        0",
        "  big-1     3                       0",
        "  big-3     8                       0  cordoned",
        "",
        "no GPUs: 25 nodes",
        "  nodes               CPUs free  memory free",
        "  cpu-01 and 24 more         64      512 GiB",
    ]


def test_wide_has_one_row_per_node(run: Run, mixed: Path) -> None:
    out = run("nodes", mixed, "--wide", "--now", NOW).out
    assert sum(line.startswith(("  big-", "  small-", "  cpu-")) for line in out.splitlines()) == 58
    assert "  node   free     free parts  leaving  CPUs free  memory free  state" in out


def test_many_different_nodes_are_counted(run: Run, tmp_path: Path) -> None:
    cluster = kai.Cluster().queue("a")
    for number in range(30):
        cluster.node(f"n{number:02}", gpus=40)
        cluster.running(f"a/run-{number}", pods=number + 1, gpus=1, node=f"n{number:02}")
    cluster.configure({"actions": "allocate"}).save(tmp_path / "x.zip")
    out = run("nodes", tmp_path / "x.zip").out
    assert out.endswith("  and 10 more nodes; --wide shows all\n")
    assert "n00" in out
    assert "n29" not in out


def test_json_has_classes_and_nodes(run: Run, mixed: Path) -> None:
    data = json.loads(run("nodes", mixed, "--json", "--now", NOW).out)
    assert list(data) == ["input", "now", "classes", "nodes"]
    assert data["classes"][1] == {
        "gpu_product": "NVIDIA-H100-80GB-HBM3", "gpus_each": 8, "nodes": 3, "whole_nodes": 0,
        "gpus": 24, "free_gpus": 8, "free_parts": 1.75, "leaving_gpus": 0,
    }  # fmt: skip
    big = data["nodes"]["big-2"]
    assert (big["gpu_product"], big["free_gpus"]) == ("NVIDIA-H100-80GB-HBM3", 5)
    assert sorted(big["free_parts"]) == [0.5, 0.5, 0.75]
    assert data["nodes"]["big-3"]["state"] == "cordoned"
    assert len(data["nodes"]) == 58


def test_json_equals_the_nodes_of_the_plan(run: Run, mixed: Path) -> None:
    data = json.loads(run("nodes", mixed, "--json", "--now", NOW).out)["nodes"]
    nodes = kai.Scheduler().plan(kai.load(mixed), now=NOW).nodes
    for name, node in nodes.items():
        assert data[name] == {"gpu_product": data[name]["gpu_product"], **node.to_dict()}


def test_a_cluster_without_nodes(run: Run, tmp_path: Path) -> None:
    kai.Cluster().save(tmp_path / "empty.zip")
    done = run("nodes", tmp_path / "empty.zip", "--now", NOW)
    assert "no nodes" in done.out
    assert done.status == 0


A100 = {"nvidia.com/gpu.product": "NVIDIA-A100", "nvidia.com/mig.strategy": "mixed"}
ONE, THREE = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"


@pytest.fixture
def sliced(tmp_path: Path) -> Path:
    path = tmp_path / "sliced.zip"
    (
        kai.Cluster()
        .queue("a", deserved_gpus=16)
        .nodes("n", 2, resources={ONE: 7, THREE: 2}, labels=A100)
        .running("a/old", pods=3, resources={ONE: 1}, node="n1")
        .pending("a/new", resources={THREE: 1}, node_selector={"kubernetes.io/hostname": "n2"})
        .save(path)
    )
    return path


def test_mig_slices_are_counted_by_profile(run: Run, sliced: Path) -> None:
    done = run("nodes", sliced, "--now", NOW)
    assert "14 of 18 MIG slices free on 2 nodes after this cycle" in " ".join(done.out.split())
    assert done.out.splitlines()[-4:] == [
        "NVIDIA-A100, 7 x 1g.5gb, 2 x 3g.20gb each: 14 of 18 slices free on 2 nodes",
        "  nodes  1g.5gb free  3g.20gb free",
        "  n1               4             2",
        "  n2               7             1",
    ]
    nodes = json.loads(run("nodes", sliced, "--now", NOW, "--json").out)["nodes"]
    assert nodes["n2"]["mig"] == {
        "1g.5gb": {"total": 7, "free": 7},
        "3g.20gb": {"total": 2, "free": 1},
    }


def test_slices_of_pods_that_have_ended_or_prepare_are_free(run: Run, tmp_path: Path) -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1, resources={ONE: 4}, labels=A100)
    cluster.running("a/old", pods=2, resources={ONE: 1}, node="n1")
    first, second = cluster.objects["pods"]
    cluster.upsert({**first, "kind": "Pod", "status": {"phase": "Succeeded"}})
    prepares = {"name": "i", "resources": {"requests": {ONE: "3"}}}
    second["spec"]["initContainers"] = [prepares, {**prepares, "resources": {}}]
    cluster.upsert({**second, "kind": "Pod"})
    cluster.save(tmp_path / "c.zip")
    out = run("nodes", tmp_path / "c.zip", "--now", NOW).out
    assert "1 GPU, 4 x 1g.5gb each: 1 of 1 GPU and 1 of 4 slices free on 1 node" in out
