"""`kai run` without a restart: an answer that was not true, a lost event, versions that go back."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import kai
from fakes.api_server import Fault
from fakes.clock import until
from fakes.cluster import FakeCluster
from fakes.objects import pod, small
from kai.api.writes import Outcome, Result
from kai.controllers import unshown
from kai.service import comparing


class Cluster(FakeCluster):
    """`places`: nodes of bound pods, by name."""

    def places(self) -> dict[str, str]:
        pods = self.do(self.server.list, "Pod")
        found = {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in pods}
        return {name: node for name, node in found.items() if node}

    async def has_bound(self, *names: str) -> None:
        await until(lambda: set(names) <= self.places().keys(), self.places)


Story = Callable[[Cluster], Awaitable[None]]


def play(tmp_path: Path, story: Story, **options: Any) -> None:
    async def both(cluster: Cluster) -> None:
        running = asyncio.create_task(
            kai.run(
                roles=["scheduler", "pod-grouper"],
                kubeconfig=cluster.kubeconfig,
                leader_elect=False,
                max_period=0.5,
                **options,
            )
        )
        try:
            await story(cluster)
            assert not running.done()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    with Cluster(tmp_path / "kubeconfig.yaml", kubelets=True) as cluster:
        asyncio.run(both(cluster))


def test_a_binding_that_had_no_effect_is_decided_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(unshown, "READ_AFTER_S", 0.5)

    async def story(cluster: Cluster) -> None:
        untrue = [Fault(Outcome(Result.DONE, 201))]
        cluster.server.fault = lambda write: (
            untrue.pop() if untrue and write.subresource == "binding" else None
        )
        await asyncio.to_thread(cluster.put, *small())
        await cluster.has_bound("p1")
        assert cluster.writes.count("POST /api/v1/namespaces/team/pods/p1/binding") == 2

    play(tmp_path, story)
    [line] = [each for each in capfd.readouterr().err.splitlines() if "had no effect" in each]
    assert "what=binding name=team/p1" in line


def test_a_pod_whose_deletion_was_never_shown_leaves_its_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(comparing, "AGAIN_AFTER_S", 0.2)

    async def story(cluster: Cluster) -> None:
        await asyncio.to_thread(cluster.put, *small(), pod("p2"))
        await cluster.has_bound("p1", "p2")
        await asyncio.to_thread(cluster.put, pod("p3"))
        await asyncio.sleep(1)
        assert "p3" not in cluster.places()
        cluster.do(cluster.server.lose, "Pod", "team", "p1")
        await cluster.has_bound("p3")
        await asyncio.sleep(1)

    play(tmp_path, story, compare_period=2.0)
    [line] = [each for each in capfd.readouterr().err.splitlines() if "has lost events" in each]
    assert " error " in line
    assert "kind=Pod shown=3 there=2 came=0 went=1 changed=0 names=team/p1" in line


def test_versions_that_go_back_list_everything_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The pod was on its node; in the restored etcd it waits, at a lower version."""

    async def story(cluster: Cluster) -> None:
        await asyncio.to_thread(cluster.put, *small())
        await cluster.has_bound("p1")
        await asyncio.sleep(0.5)
        cluster.do(cluster.server.restore, 5, pod("p1"))
        await cluster.has_bound("p1")

    play(tmp_path, story, compare_period=2.0)
    lines = capfd.readouterr().err.splitlines()
    [line] = [each for each in lines if "versions of the API server went back" in each]
    assert " error " in line
    assert not [each for each in lines if "has lost events" in each]
