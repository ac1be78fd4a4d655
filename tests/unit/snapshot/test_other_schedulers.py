"""Waiting pods of another scheduler: the plan names them and says what to do."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.cli import main

NOW = "2026-01-01T00:00:00Z"
NODE = {
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"capacity": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "4"}},
}
SENTENCE = (
    "1 pending pod is not planned: ml/sample has schedulerName default-scheduler; write"
    " schedulerName: kai-scheduler, or plan for that scheduler with"
    " --scheduler-name default-scheduler"
)


def pod(name: str, scheduler: str = "default-scheduler", **more: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", **more},
        "spec": {"schedulerName": scheduler, "containers": [container]},
        "status": {"phase": "Pending"},
    }


def text(*manifests: Any) -> bytes:
    return "\n---\n".join(map(json.dumps, manifests)).encode()


def plan(*manifests: Any, **options: Any) -> kai.Plan:
    return kai.Scheduler().plan(kai.load(text(*manifests), now=NOW, **options))


def test_a_pod_that_forgot_the_name_of_the_scheduler_is_named() -> None:
    made = plan(NODE, pod("sample", labels={"kai.scheduler/queue": "default-queue"}))
    assert made.warnings == (SENTENCE,)
    assert " ".join(SENTENCE.split()[:4]) in str(made)
    assert made.why("sample") == (
        "ml/sample is not planned: schedulerName is default-scheduler, and this plan is for"
        " kai-scheduler.\n  Write schedulerName: kai-scheduler, or plan for that scheduler with"
        " --scheduler-name default-scheduler."
    )


def test_the_pods_of_another_scheduler_are_only_a_note_beside_pods_that_are_planned() -> None:
    made = plan(NODE, pod("sample"), pod("ours", "kai-scheduler"))
    assert made.warnings == ()
    assert "Not planned\n  " + SENTENCE[:40] in str(made)
    # With a setting for KAI, the name of the scheduler was forgotten.
    made = plan(NODE, pod("sample", annotations={"gpu-fraction": "0.5"}), pod("o", "kai-scheduler"))
    assert made.warnings == (SENTENCE,)


def test_pods_that_need_no_scheduler_are_not_named() -> None:
    runs = pod("runs")
    runs["spec"]["nodeName"] = "n1"
    runs["status"]["phase"] = "Running"
    ended = {**pod("ended"), "status": {"phase": "Succeeded"}}
    leaves = pod("leaves", deletionTimestamp=NOW)
    made = plan(NODE, runs, ended, leaves)
    assert (made.warnings, "not planned" in str(made)) == ((), False)


def test_the_pods_of_a_job_of_another_scheduler_are_counted_and_can_be_planned() -> None:
    template = {"spec": pod("x", "runai-scheduler")["spec"]}
    job = {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {
            "name": "train",
            "namespace": "ml",
            "labels": {"runai/queue": "default-queue"},
        },
        "spec": {"parallelism": 4, "completions": 4, "template": template},
    }
    made = plan(NODE, job)
    assert made.warnings[0].startswith(
        "4 pending pods are not planned: ml/train-0, ml/train-1, ml/train-2 and 1 more have"
        " schedulerName runai-scheduler"
    )
    assert "ml/train-0, ml/train-1" in made.why("ml/train")
    gpus = {"gpu": {"quota": 4, "limit": -1, "overQuotaWeight": 1}}
    free = {each: {"quota": -1, "limit": -1} for each in ("cpu", "memory")}
    queue = {
        "kind": "Queue",
        "metadata": {"name": "team"},
        "spec": {"parentQueue": "default-parent-queue", "resources": {**gpus, **free}},
    }
    job["metadata"]["labels"] = {"runai/queue": "team"}
    options = {"scheduler_name": "runai-scheduler", "queue_label_key": "runai/queue"}
    made = plan(NODE, queue, job, **options)
    assert made.pod_groups["ml/pg-train"].queue == "team"
    assert (len(made.decisions), made.warnings) == (4, ())


def test_planning_for_another_scheduler_leaves_the_pods_of_kai_alone() -> None:
    made = plan(NODE, pod("ours", "kai-scheduler"), scheduler_name="default-scheduler")
    assert not made.decisions
    assert made.warnings[0].startswith("1 pending pod is not planned: ml/ours")


def test_a_snapshot_copies_and_pickles_name_them_too(tmp_path: Path) -> None:
    cluster = kai.load(text(NODE, pod("sample")), now=NOW)
    cluster.save(tmp_path / "c.zip")
    loaded = kai.load(tmp_path / "c.zip")
    for each in (loaded, loaded.copy(), copy.deepcopy(cluster), pickle.loads(pickle.dumps(loaded))):
        assert kai.Scheduler().plan(each).warnings == (SENTENCE,)
    assert pickle.loads(pickle.dumps(kai.Scheduler().plan(loaded))).why("sample")
    snapshot = kai.load(tmp_path / "c.zip", scheduler_name="default-scheduler")
    assert kai.Scheduler().plan(snapshot).warnings == ()


def test_a_pod_that_got_a_node_or_was_deleted_is_no_longer_named() -> None:
    cluster = kai.load(text(NODE, pod("sample"), pod("other")), now=NOW)
    assert kai.Scheduler().plan(cluster).warnings[0].startswith("2 pending pods are not planned")
    cluster.delete("Pod", "ml/other")
    assert kai.Scheduler().plan(cluster).warnings == (SENTENCE,)


def test_the_command_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "saved.yaml"
    file.write_bytes(text(NODE, pod("sample")))
    assert main(["plan", str(file)]) == 0
    assert "1 pending pod is not planned" in capsys.readouterr().out
    assert main(["plan", str(file), "--strict"]) == 2
    capsys.readouterr()
    assert main(["plan", str(file), "--explain", "sample"]) == 1
    out, err = capsys.readouterr()
    assert (out.startswith("ml/sample is not planned"), err) == (True, "")
    assert main(["plan", str(file), "--explain", "sample", "--json"]) == 1
    assert "is not planned" in json.loads(capsys.readouterr().out)["explanation"][0]
    assert main(["plan", str(file), "--scheduler-name", "default-scheduler", "--json"]) == 0
    assert [each["pod"] for each in json.loads(capsys.readouterr().out)["decisions"]] == [
        "ml/sample"
    ]


def test_a_note_goes_to_standard_error_beside_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "saved.yaml"
    file.write_bytes(text(NODE, pod("sample"), pod("ours", "kai-scheduler")))
    assert main(["plan", str(file), "--json", "--strict"]) == 0
    assert capsys.readouterr().err == f"kai: {SENTENCE}\n"
