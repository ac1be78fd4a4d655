"""`kai run scheduler --shadow` next to another scheduler, as a user with read rights only."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testcluster import Cluster, Kai, Kubectl, free_ports, node, pod, queue, running, until


@pytest.fixture
def reader(cluster: Cluster) -> Iterator[Path]:
    """The kubeconfig of a user with the rights that docs/howto/shadow.md gives."""
    with running.reader(cluster, "list", "watch") as kubeconfig:
        yield kubeconfig


class Shadow(Kai):
    """A shadow with a page and a report."""

    def __init__(self, cluster: Cluster, reader: Path, folder: Path, *arguments: str) -> None:
        [port] = free_ports(1)
        self.url, self.file = f"http://127.0.0.1:{port}", folder / "shadow.json"
        given = ("--shadow", "--listen-address", f"127.0.0.1:{port}", "-v")
        super().__init__(
            *(cluster, "none", folder / "shadow.log", *given),
            *("--shadow-report", str(self.file), *arguments),
            roles=("scheduler",),
            kubeconfig=reader,
        )

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=5) as answer:
            return str(answer.read().decode())

    def is_ready(self) -> bool:
        try:
            return self.get("/readyz") == "ok\n"
        except OSError:
            return False

    def report(self) -> dict[str, Any]:
        return dict(json.loads(self.get("/shadow.json")))


def grouper_and_scheduler(
    cluster: Cluster, namespace: str, folder: Path, *arguments: str
) -> tuple[Kai, Kai]:
    """A scheduler that decides once a second, like KAI, and the other roles."""
    slow = ("--binding", "bind-requests", "--schedule-period", "1", *arguments)
    return (
        Kai(cluster, namespace, folder / "grouper.log", roles=("pod-grouper",)),
        Kai(cluster, namespace, folder / "kai.log", *slow, roles=("scheduler", "binder")),
    )


def test_a_shadow_of_an_equal_scheduler_finds_no_difference(
    cluster: Cluster, namespace: str, kubectl: Kubectl, reader: Path, tmp_path: Path
) -> None:
    """Binds, and a victim of reclaim."""
    kubectl.apply(queue("dept"), queue("team-a", "dept", gpu=1), queue("team-b", "dept", gpu=2))
    kubectl.apply(node("n1", 1), node("n2", 2))
    shadow = Shadow(cluster, reader, tmp_path)
    grouper, scheduler = grouper_and_scheduler(cluster, namespace, tmp_path)
    with shadow, grouper, scheduler:
        until("the shadow is ready", shadow.is_ready)
        kubectl.apply(*(pod(f"a-{each}", namespace, queue="team-a") for each in range(3)))
        until("all are bound", lambda: len(kubectl.bound()) == 3)
        kubectl.apply(pod("b", namespace, queue="team-b"))
        until("b is bound", lambda: "b" in kubectl.bound())
        until("all is seen", lambda: sum(e["count"] for e in shadow.report()["counts"]) == 5)
        page, metrics = shadow.get("/shadow"), shadow.get("/metrics")
    report = json.loads(shadow.file.read_text())
    # A pod that was bound at the moment of its creation is not compared.
    assert {each["outcome"] for each in report["counts"]} <= {"same", "not_compared"}
    assert [each["outcome"] for each in report["counts"] if each["subject"] == "evict"] == ["same"]
    assert report["compared"] == report["same"] >= 3
    assert f"{report['same']} of {report['compared']} decisions are the same" in page
    assert 'kai_shadow_decisions_total{subject="evict",outcome="same",cause=""} 1' in metrics
    assert f"same={report['same']} percent=100.0 unexplained=0" in shadow.log
    assert "may not" not in shadow.log  # a right that it lacks and looks for


def test_a_difference_is_shown_with_its_switch(
    cluster: Cluster, namespace: str, kubectl: Kubectl, reader: Path, tmp_path: Path
) -> None:
    """The other scheduler decides like KAI: a group that can never be placed prevents its queue
    from getting its share."""
    kubectl.apply(queue("dept"), queue("team-a", "dept", gpu=1), queue("team-b", "dept", gpu=2))
    kubectl.apply(node("n1", 3))
    shadow = Shadow(cluster, reader, tmp_path, "--shadow-patience", "3")
    grouper, scheduler = grouper_and_scheduler(cluster, namespace, tmp_path, "--as-kai")
    with shadow, grouper, scheduler:
        until("the shadow is ready", shadow.is_ready)
        kubectl.apply(*(pod(f"a-{each}", namespace, queue="team-a") for each in range(2)))
        kubectl.apply(pod("b", namespace, queue="team-b"))
        until("all are bound", lambda: len(kubectl.bound()) == 3)
        kubectl.apply(pod("huge", namespace, gpus=4, queue="team-b"))
        until("huge waits", lambda: kubectl.condition("huge", "PodScheduled"))
        kubectl.apply(pod("small", namespace, queue="team-b"))
        until("it is found", lambda: "missed" in str(shadow.report()["differences"]))
        page = shadow.get("/shadow")
    differences = json.loads(shadow.file.read_text())["differences"]
    [found] = [each for each in differences if each["outcome"] != "not_compared"]
    assert (found["subject"], found["outcome"], found["theirs"]) == ("evict", "missed", "nothing")
    assert (found["cause"], found["switches"]) == ("switch", ["unrelated_blockers"])
    assert "compat: {unrelated_blockers: kai}" in page
