"""kai gpus --node: all pods of a node, measured from outside."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import kai.service
from kai.api.gpu_use import (
    CountedProcess,
    CountedShare,
    GpuProcess,
    MeasuredDevice,
    Measurement,
)
from kai.cli import main
from kai.controllers.gpu_audit import AuditRules, PodShare, PodUse, uses_of
from kai.controllers.gpu_audit.shares import Part
from kai.runtime import measuring

Run = Callable[..., Any]
GIB = 1 << 30
CARD = "GPU-8216274a-0b3c-4d5e-8f90-123456789abc"
IDLE = "GPU-93f1c2d4-0b3c-4d5e-8f90-123456789abc"
MEASUREMENT = Measurement(
    (
        MeasuredDevice(
            CARD,
            80 * GIB,
            75 * GIB,
            (
                GpuProcess(812, 31 * GIB, "python", "u1", 17),
                GpuProcess(813, GIB // 2, "python", "u1", 93),
                GpuProcess(901, 43 * GIB, "VLLM::EngineCore", "u2", 1),
                GpuProcess(77, GIB // 4, "Xorg", "", 77),
            ),
        ),
        MeasuredDevice(IDLE, 80 * GIB, 0),
    ),
    (
        CountedShare(
            "u1",
            CARD,
            40 * GIB,
            int(31.2 * GIB),
            40 * GIB,
            12,
            (CountedProcess(17, "python", int(30.7 * GIB), int(39.5 * GIB)),),
        ),
    ),
)
SHARES = {
    "u1": PodShare("vision", "train-0", "u1", {CARD: Part(fraction=0.5)}),
    "u2": PodShare("speech", "serve", "u2", {CARD: Part(size=30 * GIB)}),
    "u3": PodShare("speech", "whole", "u3", {IDLE: Part(fraction=1)}),
}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The node and the connection with which the cluster would have been read."""
    pytest.importorskip("grpc", reason="needs the extra numa")
    seen: list[tuple[str, Any]] = []

    def uses(options: Any, measurement: Measurement, **more: Any) -> tuple[Sequence[PodUse], Any]:
        seen.append((options.node, more))
        found = uses_of(measurement, SHARES, AuditRules())
        return found, ["the kubelet: no such socket"]

    monkeypatch.setattr(measuring, "measure", lambda: MEASUREMENT)
    monkeypatch.setattr(kai.service, "gpu_uses", uses)
    return seen


def test_tables_of_gpus_pods_and_processes(run: Run, measured: list[tuple[str, Any]]) -> None:
    done = run("gpus", "--node", "n1", "--context", "staging")
    assert done.status == 0, done.err
    assert measured == [("n1", {"kubeconfig": None, "context": "staging"})]
    lines = [" ".join(each.split()) for each in done.out.splitlines()]
    for line in (
        f"{CARD} 80 GiB 75 GiB",
        f"{IDLE} 80 GiB 0 B",
        "vision/train-0 GPU-8216274a 40 GiB 31.5 GiB 31.2 GiB 40 GiB 12",
        "speech/serve GPU-8216274a 30 GiB 43 GiB no guard - -",
        "(no pod) GPU-8216274a none 256 MiB no guard - -",
        "speech/whole GPU-93f1c2d4 80 GiB 0 B no guard - -",
        "vision/train-0 GPU-8216274a 812 python 31 GiB 30.7 GiB 39.5 GiB",
        "vision/train-0 GPU-8216274a 813 python 512 MiB - -",
    ):
        assert line in lines, done.out
    said = " ".join(done.out.split())
    assert f"speech/serve uses 43 GiB of {CARD}, and its share is 30 GiB." in said
    assert f"(no pod) uses 256 MiB of {CARD}, and was given nothing of it." in said
    assert "the kubelet: no such socket" in said


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_tables_fit_80_columns(
    measured: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = PodShare("computer-vision", "sweep-worker-0-7f9c8d6b5-x2x4z", "u1", SHARES["u1"].parts)
    monkeypatch.setitem(SHARES, "u1", long)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", terminal := Terminal())
        assert main(["gpus", "--node", "n1"]) == 0
    assert measured
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert any(each.startswith("  comput") and " 40 GiB " in each for each in lines)


def test_a_node_without_a_name_is_refused(run: Run, measured: list[tuple[str, Any]]) -> None:
    """As in a pod whose variable for it is missing: all pods would be of no pod."""
    done = run("gpus", "--node", "")
    assert (done.status, measured) == (2, [])
    assert "--node is empty: write the name of this node" in done.err


def test_json_and_csv_have_bytes(run: Run, measured: list[tuple[str, Any]]) -> None:
    found = json.loads(run("gpus", "--node", "n1", "--json").out)
    assert (found["node"], found["problems"]) == ("n1", ["the kubelet: no such socket"])
    card, idle = found["devices"]
    assert (card["uuid"], card["total"], card["used"]) == (CARD, 80 * GIB, 75 * GIB)
    of_pods = {each["uid"]: each for each in card["pods"]}
    assert of_pods["u2"]["over"] is True
    assert of_pods["u2"]["guard"] is None
    guard = of_pods["u1"]["guard"]
    assert guard == {
        "limit": 40 * GIB,
        "used": int(31.2 * GIB),
        "peak": 40 * GIB,
        "refusals": 12,
    }
    assert of_pods["u1"]["processes"][0] == {
        "pid": 812,
        "name": "python",
        "used": 31 * GIB,
        "guard": {"used": int(30.7 * GIB), "peak": int(39.5 * GIB)},
    }
    assert [each["uid"] for each in idle["pods"]] == ["u3"]
    rows = [*csv.DictReader(run("gpus", "--node", "n1", "-o", "csv").out.splitlines())]
    assert [(each["pod"], each["pid"]) for each in rows] == [
        ("", "77"),
        ("serve", "901"),
        ("train-0", "812"),
        ("train-0", "813"),
        ("whole", ""),
    ]
    assert (rows[2]["refusals"], rows[2]["over"], rows[1]["over"]) == ("12", "False", "True")
    assert rows[3]["process_guard_used"] == ""


def test_a_file_and_a_node_exclude_each_other(run: Run) -> None:
    done = run("gpus", "--node", "n1", "region")
    assert done.status == 2
    assert "--node and FILE exclude each other" in done.err


def test_a_machine_without_a_driver_says_so(run: Run) -> None:
    pytest.importorskip("grpc", reason="needs the extra numa")
    done = run("gpus", "--node", "n1")
    assert done.status == 2
    assert "no device can be read: libnvidia-ml.so.1 was not found" in done.err
