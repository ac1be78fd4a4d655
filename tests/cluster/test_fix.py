"""What --fix prints starts the pod group of a real cluster when it is carried out."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testcluster import Cluster, Kai, Kubectl, node, pod, queue, running, until


@pytest.fixture
def reader(cluster: Cluster) -> Iterator[Path]:
    with running.reader(cluster, "list", more=["events"]) as kubeconfig:
        yield kubeconfig


def kai(*arguments: object) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "kai", *map(str, arguments), "--json"],
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_the_command_of_a_fix_starts_a_pod_at_its_limit(
    cluster: Cluster, namespace: str, kubectl: Kubectl, reader: Path, tmp_path: Path
) -> None:
    limited = queue("limited", "dept", gpu=1)
    limited["spec"]["resources"]["gpu"]["limit"] = 1
    kubectl.apply(queue("dept"), limited, node("n1", 4))
    kubectl.apply(pod("first", namespace, queue="limited"))
    with Kai(cluster, namespace, tmp_path / "kai.log"):
        until("first is bound", lambda: "first" in kubectl.bound())
        kubectl.apply(pod("second", namespace, queue="limited"))
        until("second waits", lambda: kubectl.condition("second", "PodScheduled"))

        live = ("--kubeconfig", reader)
        status, answer = kai("explain", *live, f"{namespace}/second", "--fix")
        assert status == 0
        [fix] = [each for each in answer["fixes"] if each["kinds"] == ["limit"]]
        assert fix["changes"] == ["raise the limit of GPUs of queue limited from 1 to 2"]
        assert fix["needs_an_operator"]  # this user may only read

        status, what = kai("plan", *live, "--what-if", "--queue", "limited.limit=2")
        assert status == 0
        assert f"{namespace}/second" in json.dumps(what["difference"]["pods"])

        program, *arguments = shlex.split(fix["how"][0])
        assert program == "kubectl"
        cluster.kubectl(*arguments)
        until("second is bound", lambda: "second" in kubectl.bound())
    cluster.kubectl("delete", "queue/limited", "queue/dept")
