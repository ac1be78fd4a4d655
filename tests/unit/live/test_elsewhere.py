"""A live plan names the waiting pods of other schedulers, as a plan of files does."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import kai
from fakes.cluster import FakeCluster
from fakes.objects import pod, small
from kai.cli import main
from kai.live.elsewhere import WaitingElsewhere

Run = Callable[..., str]


@pytest.fixture
def plan(cluster: FakeCluster, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str, status: int = 0) -> str:
        where = ("--live", "--kubeconfig", str(cluster.kubeconfig))
        assert main(["plan", *where, *arguments]) == status
        out, err = capfd.readouterr()
        return " ".join(f"{out} {err}".split())

    return run


def other(name: str, **more: Any) -> dict[str, Any]:
    return pod(name, scheduler="default-scheduler", **more)


def test_pods_that_wait_for_another_scheduler_are_named(cluster: FakeCluster, plan: Run) -> None:
    cluster.put(*small(), other("o1"), other("o2"), other("runs", on="n1", phase="Running"))
    page = plan()
    assert "2 pending pods are not planned: team/o1, team/o2 have" in page
    assert "schedulerName default-scheduler" in page
    assert "team/runs" not in page


def test_with_that_name_they_are_planned_instead(cluster: FakeCluster, plan: Run) -> None:
    cluster.put(*small(), other("o1"))
    page = plan("--scheduler-name", "default-scheduler")
    assert "1 pod bound" in page
    assert "1 pending pod is not planned: team/p1 has schedulerName kai-scheduler" in page


def test_an_explanation_of_such_a_pod_says_so(cluster: FakeCluster, plan: Run) -> None:
    cluster.put(*small(), other("o1"))
    page = plan("--explain", "team/o1", status=1)
    assert "team/o1 is not planned: schedulerName is default-scheduler" in page


def test_a_connection_follows_them(cluster: FakeCluster) -> None:
    cluster.put(*small(), other("o1"))
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        assert "team/o1" in live.plan().elsewhere.scheduler_of
        cluster.put(other("o1", on="n1", phase="Running"), other("o2"))
        live.refresh()
        assert list(live.plan().elsewhere.scheduler_of) == ["team/o2"]
        cluster.do(cluster.server.remove, "Pod", "team", "o2")
        live.refresh()
        assert not live.plan().elsewhere


def line(what: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": what, "object": item}).encode() + b"\n"


def test_events_count_wherever_the_stream_is_cut() -> None:
    sink = WaitingElsewhere("kai-scheduler")
    events = [
        line("ADDED", pod("ours")),
        line("ADDED", other("o1")),
        line("ADDED", other("o2")),
        line("MODIFIED", other("o1", on="n1")),
        line("DELETED", other("o2")),
        line("ADDED", other("o3")),
    ]
    seen = []
    for byte in b"".join(events):
        sink.watch_bytes("Pod", bytes([byte]))
        seen.append([*sink.found().scheduler_of])
    assert ["team/o1", "team/o2"] in seen
    assert seen[-1] == ["team/o3"]


def test_an_incomplete_line_of_an_ended_watch_is_dropped() -> None:
    sink = WaitingElsewhere("kai-scheduler")
    sink.watch_bytes("Pod", line("ADDED", other("o1"))[:-20])
    sink.watch_ended("Pod")
    sink.watch_bytes("Pod", line("ADDED", other("o2")))
    assert [*sink.found().scheduler_of] == ["team/o2"]


def test_a_new_list_replaces_them() -> None:
    sink = WaitingElsewhere("kai-scheduler")
    for names in (["o1", "o2"], ["o2"]):
        sink.begin_list("Pod")
        items = [other(each) for each in names]
        whole = {"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": items}
        sink.list_page("Pod", json.dumps(whole).encode())
        sink.end_list("Pod")
    assert [*sink.found().scheduler_of] == ["team/o2"]
