"""A shadow from its watches to its report: another scheduler's actions are compared, and nothing is
written."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.clock import until
from fakes.cluster import FakeCluster
from fakes.objects import job, node, pod, small
from kai.errors import InvalidInputError
from kai.k8s.client import Client
from kai.service.log import Log
from kai.service.options import Options
from kai.service.shadow import Shadow

Scene = Callable[["Running"], Awaitable[None]]


class Running:
    """A shadow next to a scheduler that `binds` pods. `file`: its report."""

    def __init__(self, cluster: FakeCluster, file: Path, shadow: Shadow, log: io.StringIO) -> None:
        self.cluster, self.file, self.shadow, self.log = cluster, file, shadow, log

    async def until(self, is_so: Callable[[], Any]) -> None:
        await until(is_so, lambda: f"{self.shadow.report()}\n{self.log.getvalue()}")

    async def put(self, *objects: dict[str, Any]) -> None:
        cycle = self.shadow._cycle
        await asyncio.to_thread(self.cluster.put, *objects)
        await self.until(lambda: self.shadow._cycle > cycle)

    async def binds(self, name: str, node: str) -> None:
        found = self.cluster.server.get("Pod", "team", name)
        found["spec"]["nodeName"] = node
        await asyncio.to_thread(self.cluster.put, found)


def run(cluster: FakeCluster, file: Path, scene: Scene, **options: Any) -> Running:
    """With pods that only the shadow groups."""

    async def main() -> Running:
        log = io.StringIO()
        given = {"shadow_report": str(file), "min_period": 0.001, **options}
        chosen = Options(roles=("scheduler", "pod-grouper"), shadow=True, **given)
        async with await Client.connect(cluster.kubeconfig, None) as client:
            shadow = Shadow(client, chosen, Log(stream=log, level="debug"))
            running, stop = Running(cluster, file, shadow, log), asyncio.Event()
            task = asyncio.ensure_future(shadow.run(stop))
            try:
                await running.until(lambda: task.done() or not shadow.why_unready())
                if not task.done():
                    await scene(running)
            finally:
                stop.set()
                await task
            return running

    return asyncio.run(main())


def test_bindings_of_kube_scheduler_are_compared(cluster: FakeCluster, tmp_path: Path) -> None:
    """It has no pod groups and no BindRequests."""
    cluster.put(*small(), node("n2", 1))

    async def scene(running: Running) -> None:
        await running.put(pod("p2"))
        await running.binds("p1", "n2")
        await running.until(lambda: running.shadow.tally.compared == 1)

    running = run(cluster, tmp_path / "report.json", scene)
    report = json.loads(running.file.read_text())
    assert (report["compared"], report["same"], report["same_share"]) == (1, 1, 1.0)
    assert report["scheduler"] == "kai-scheduler"
    assert cluster.writes == []
    assert "compared with kai-scheduler cycle=" in running.log.getvalue()
    assert "decisions=1 same=1 percent=100.0 unexplained=0" in running.log.getvalue()


def test_a_difference_is_explained_and_shown(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.put(*small(), node("n2", 2))

    async def scene(running: Running) -> None:
        await running.put(pod("p2", gpus=2))
        await running.binds("p1", "n2")
        await running.until(lambda: running.shadow.tally.compared == 1)
        metrics = (await running.shadow.metrics.page()).decode()
        shown = 'kai_shadow_decisions_total{subject="bind",outcome="other_node",cause='
        assert f'{shown}"equal_score"}} 1' in metrics
        assert "kai_shadow_same_ratio 0" in metrics
        assert 'kai_watch_lists_total{kind="Pod"} 1' in metrics
        _, page = running.shadow.pages()["/shadow"]
        assert "the nodes are equally good" in page()
        assert "team/p1" in page()

    running = run(cluster, tmp_path / "report.html", scene)
    assert running.file.read_text().startswith("<!doctype html>")
    [found] = running.shadow.report()["differences"]
    assert found["group"] == "team/pg-p1-uid-of-p1"  # that of the plan
    assert (found["ours"], found["theirs"]) == ("bind to n1", "bind to n2")


def test_a_pod_that_is_bound_at_once_is_compared(cluster: FakeCluster, tmp_path: Path) -> None:
    """kube-scheduler is faster than the shadow, which reads the owner of the pod meanwhile."""
    cluster.put(*small(), node("n2", 2))
    owner = job("train")

    async def scene(running: Running) -> None:
        await asyncio.to_thread(cluster.put, owner, pod("t1", owner=owner, on="n1"))
        await running.until(lambda: running.shadow.tally.compared == 1)

    running = run(cluster, tmp_path / "report.json", scene)
    report = running.shadow.report()
    assert [each["subject"] for each in report["counts"]] == ["bind"]
    assert report["compared"] == 1


def test_a_missed_decision_is_reported_without_events(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.put(*small())

    async def scene(running: Running) -> None:
        await running.until(lambda: running.shadow.tally.compared == 1)

    running = run(cluster, tmp_path / "report.json", scene, shadow_patience=0.2)
    [found] = running.shadow.report()["differences"]
    assert (found["outcome"], found["ours"]) == ("missed", "bind to n1")


def test_an_unwritable_report_ends_the_program(cluster: FakeCluster, tmp_path: Path) -> None:
    async def scene(running: Running) -> None:
        raise AssertionError

    with pytest.raises(InvalidInputError, match=r"--shadow-report: .*: no such file or directory"):
        run(cluster, tmp_path / "nowhere" / "report.json", scene)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"roles": ("binder",), "shadow": True}, "needs the role scheduler"),
        ({"shadow_report": "x.json"}, "use --shadow"),
        ({"shadow": True, "shadow_patience": 0.0}, "the shadow patience must be longer than 0 s"),
    ],
)
def test_invalid_options_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Options(**given)
