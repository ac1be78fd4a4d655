"""kai lint: findings with their lines, and fixes where they are certain."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Run = Callable[..., Any]

RIGHT = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {kai.scheduler/queue: test}
  annotations:
    gpu-fraction: "0.5"
spec:
  schedulerName: kai-scheduler
  containers:
  - name: main
"""

WRONG = """\
# The first document is fine.
kind: ConfigMap
metadata: {name: c}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels:
    kai.scheduler/queue: test
  annotations:
    kai.scheduler/min-member: "2"   # examples write it so
spec:
  template:
    metadata:
      annotations: {gpu-memory: 5Gi, team: 1e3}
    spec:
      schedulerName: kai-scheduler
      containers:
      - name: main
        resources:
          limits:
            nvidia.com/gpu: 0
"""

WORKFLOW = """\
kind: Workflow
metadata:
  name: w
  labels: {kai.scheduler/queue: test}
spec:
  schedulerName: kai-scheduler
  templates:
  - name: a
    metadata:
      annotations:
        gpu-fraction: "0.5" # half
        other: x
    container: {image: i}
  - name: b
    metadata: {annotations: {gpu-fraction: "0.5", other: x}}
    container: {image: i}
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / f"f{len(list(tmp_path.iterdir()))}.yaml"
        path.write_text(text)
        return path

    return write


def test_nothing_to_say(run: Run, write: Callable[[str], Path]) -> None:
    done = run("lint", write(RIGHT))
    assert (done.status, done.out, done.err) == (0, "", "")


def test_findings_have_lines(run: Run, write: Callable[[str], Path]) -> None:
    path = write(WRONG)
    done = run("lint", path)
    assert done.status == 1
    heads = [line for line in done.out.splitlines() if not line.startswith(" ")]
    assert [line.removeprefix(f"{path}:").split(": ")[:2] for line in heads] == [
        ["12", "warning min-member-key"],
        ["16", "error gpu-memory-refused"],
        ["16", "error not-text"],
        ["23", "error whole-gpu-beside-fraction"],
    ]
    assert "Job train, metadata.annotations[kai.scheduler/min-member]" in done.out
    assert done.err == "kai: --fix mends 3 of these\n"


def test_findings_for_programs(run: Run, write: Callable[[str], Path]) -> None:
    path = write(WRONG)
    found = [json.loads(line) for line in run("lint", path, "--json").out.splitlines()]
    assert found[0] == {
        "file": str(path),
        "line": 12,
        "code": "min-member-key",
        "severity": "warning",
        "object": "Job train",
        "path": "metadata.annotations[kai.scheduler/min-member]",
        "message": "KAI does not read kai.scheduler/min-member, though its examples write it",
        "fix": "write kai.scheduler/batch-min-member, on a Job or JobSet",
        "fixable": True,
    }
    assert [each["line"] for each in found] == [12, 16, 16, 23]


def test_what_is_certain_is_mended(run: Run, write: Callable[[str], Path]) -> None:
    path = write(WRONG)
    done = run("lint", path, "--fix")
    assert done.status == 1
    assert "3 mended" in done.err
    assert "whole-gpu-beside-fraction" in done.out
    assert "gpu-memory-refused" not in done.out
    changed = [
        (before, after)
        for before, after in zip(WRONG.splitlines(), path.read_text().splitlines(), strict=True)
        if before != after
    ]
    assert changed == [
        (
            '    kai.scheduler/min-member: "2"   # examples write it so',
            '    kai.scheduler/batch-min-member: "2"   # examples write it so',
        ),
        (
            "      annotations: {gpu-memory: 5Gi, team: 1e3}",
            '      annotations: {gpu-memory: "5120", team: "1e3"}',
        ),
    ]


def test_a_name_is_added_in_either_style(run: Run, write: Callable[[str], Path]) -> None:
    path = write(WORKFLOW)
    assert run("lint", path).status == 1
    assert run("lint", path, "--fix").status == 0
    first, second = yaml.safe_load(path.read_text())["spec"]["templates"]
    expected = {"gpu-fraction": "0.5", "gpu-fraction-container-name": "main", "other": "x"}
    assert first["metadata"]["annotations"] == second["metadata"]["annotations"] == expected


def test_json_is_mended_as_json(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pod.json"
    pod = yaml.safe_load(RIGHT)
    pod["metadata"]["annotations"] = {"gpu-memory": "5Gi", "own": 0.5}
    for indent in (None, 2):
        path.write_text(json.dumps(pod, indent=indent))
        assert run("lint", path, "--fix").status == 0
        annotations = json.loads(path.read_text())["metadata"]["annotations"]
        assert annotations == {"gpu-memory": "5120", "own": "0.5"}


def test_windows_line_ends_stay(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    text = RIGHT.replace('"0.5"', "0.5").replace("\n", "\r\n")
    path.write_bytes(text.encode())
    assert run("lint", path, "--fix").status == 0
    assert path.read_bytes() == text.replace("0.5", '"0.5"').encode()


def test_what_comes_from_an_anchor_is_found(run: Run, write: Callable[[str], Path]) -> None:
    text = RIGHT.replace("annotations:\n    gpu", "annotations: &a\n    gpu").replace(
        '"0.5"', '"1.5"'
    )
    other = text.replace('&a\n    gpu-fraction: "1.5"', "*a").replace("name: p", "name: q")
    both = "kind: List\nitems:\n" + "".join(
        "- " + each.replace("\n", "\n  ").rstrip() + "\n" for each in (text, other)
    )
    done = run("lint", write(both))
    assert done.status == 1
    assert done.out.count("fraction-refused") == 2


def test_warnings_count_when_asked(run: Run, write: Callable[[str], Path]) -> None:
    path = write(RIGHT.replace("0.5", "0.125"))
    assert run("lint", path).status == 0
    assert run("lint", path, "--strict").status == 1


def test_queues_of_all_files_are_known(run: Run, write: Callable[[str], Path]) -> None:
    from kai.queues import unlimited

    pod = write(RIGHT)
    queues = write(yaml.safe_dump_all(unlimited("test")))
    others = write(yaml.safe_dump_all(unlimited("other")))
    assert run("lint", pod, queues, "--strict").status == 0
    done = run("lint", pod, others)
    assert (done.status, "warning queue-unknown" in done.out) == (0, True)
    done = run("lint", pod, "--queues", others)
    assert (done.status, "error queue-unknown" in done.out) == (1, True)


def test_other_installations(run: Run, write: Callable[[str], Path]) -> None:
    old = RIGHT.replace("kai.scheduler/queue", "runai/queue").replace("kai-scheduler", "mine")
    path = write(old)
    names = ("--scheduler-name", "mine", "--queue-label-key", "runai/queue")
    assert run("lint", path, "--strict").status == 1
    assert run("lint", path, *names, "--strict").status == 0


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(WRONG.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    done = run("lint", "-")
    assert (done.status, done.out.startswith("-:12: ")) == (1, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: [Pod", "not valid YAML"),
        ("", "holds nothing that can be checked"),
        ("a: b\n", "give a Kubernetes manifest"),
        ("- 5\n", "cannot be checked"),
    ],
)
def test_bad_input_is_a_sentence(
    run: Run, write: Callable[[str], Path], text: str, said: str
) -> None:
    good = write(WRONG)
    done = run("lint", write(text), good)
    assert done.status == 2
    assert said in done.err
    assert "min-member-key" in done.out  # the others are checked all the same


def test_a_file_that_is_not_there(run: Run, tmp_path: Path) -> None:
    done = run("lint", tmp_path / "nowhere.yaml")
    assert (done.status, "no such file" in done.err) == (2, True)


def test_a_key_that_is_given_twice(run: Run, write: Callable[[str], Path]) -> None:
    done = run("lint", write(RIGHT.replace("  name: p\n", "  name: p\n  name: q\n")))
    assert (done.status, "document-unreadable" in done.out) == (1, True)
