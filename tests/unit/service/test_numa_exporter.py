"""The NUMA placement exporter between a kubelet and an API server."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.scenarios import scenarios

pytest.importorskip("grpc", reason="needs the extra numa")
from fakes.clock import until
from fakes.http_server import FakeApi, ok, status
from fakes.kubelet import FakeKubelet, answer, container, sysfs
from kai.api import keys
from kai.k8s.clock import Clock
from kai.service.log import Log
from kai.service.programs.numa_exporter import Exporter, ExporterOptions

POD = "/api/v1/namespaces/team/pods/a/status"
GPUS = [container([("nvidia.com/gpu", ["0", "1"], [1])], [0])]
TEXT = '[{"zone":"node-0","amount":{"cpu":"1"}},{"zone":"node-1","amount":{"nvidia.com/gpu":"2"}}]'


class World:
    def __init__(self, api: FakeApi, kubelet: FakeKubelet) -> None:
        self.api, self.kubelet, self._stream = api, kubelet, io.StringIO()
        self.log = Log(stream=self._stream)

    @property
    def lines(self) -> list[str]:
        return [each.partition("Z ")[2] for each in self._stream.getvalue().splitlines()]

    @property
    def written(self) -> list[Any]:
        patches = [each for each in self.api.seen if each.method == "PATCH"]
        assert all(each.path == POD for each in patches)
        assert all("merge-patch" in each.headers["Content-Type"] for each in patches)
        of_pods = [each.body["metadata"]["annotations"] for each in patches]
        return [each[keys.NUMA_OBSERVED_ANNOTATION] for each in of_pods]

    async def looks(self, count: int = 3) -> None:
        """Waits for this many further reads of the kubelet."""
        wanted = self.kubelet.calls + count
        await until(lambda: self.kubelet.calls >= wanted)


async def play(
    tmp_path: Path, story: Callable[[World], Awaitable[None]], resync_s: float = 0
) -> World:
    root = sysfs(tmp_path / "sys", "0-3", "4-7")
    socket = tmp_path / "kubelet.sock"
    options = ExporterOptions("n1", str(socket), root, poll_s=0.01, resync_s=resync_s)

    async with FakeApi() as api, FakeKubelet(socket) as kubelet, api.client(Clock()) as client:
        world, stop = World(api, kubelet), asyncio.Event()
        api.on("PATCH", POD, ok({}))
        task = asyncio.create_task(Exporter(client, options, world.log).run(stop))
        await story(world)
        assert not task.done()
        stop.set()
        await task
        return world


scenario = scenarios(play, "tmp_path")


@scenario
async def test_a_placement_is_written_once_and_again_when_it_changes(world: World) -> None:
    world.kubelet.data = answer(("team/a", GPUS), ("team/b", [container(cpus=[])]))
    await until(lambda: world.written)
    await world.looks()
    assert world.written == [TEXT]
    world.kubelet.data = answer(("team/a", [container(cpus=[4, 5])]))
    await until(lambda: len(world.written) == 2)
    assert json.loads(world.written[1]) == [{"zone": "node-1", "amount": {"cpu": "2"}}]
    world.kubelet.data = answer(("team/a", []))  # nothing is removed
    await world.looks()
    assert len(world.written) == 2


def test_annotations_that_others_changed_are_repaired(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        metadata = {"namespace": "team", "name": "a", "annotations": {"x": "y"}}
        world.api.on("GET", "/api/v1/pods", ok({"items": [{"metadata": metadata}]}))
        world.kubelet.data = answer(("team/a", GPUS))
        await until(lambda: len(world.written) >= 2)
        assert set(world.written) == {TEXT}
        [query] = {
            tuple(sorted(e.query.items())) for e in world.api.seen if e.path == "/api/v1/pods"
        }
        assert query == (("fieldSelector", "spec.nodeName=n1"), ("resourceVersion", "0"))

    world = asyncio.run(play(tmp_path, story, resync_s=0.02))
    assert "info kai: others changed annotations; they are repaired pods=1" in world.lines


@scenario(resync_s=0)
async def test_without_an_interval_no_pods_are_listed(world: World) -> None:
    world.kubelet.data = answer(("team/a", GPUS))
    await world.looks(5)
    assert world.api.paths("GET") == []


def test_a_silent_kubelet_is_logged_once_and_so_is_its_return(tmp_path: Path) -> None:
    import grpc

    async def story(world: World) -> None:
        world.kubelet.data = answer(("team/a", GPUS))
        await until(lambda: world.written)
        world.kubelet.code = grpc.StatusCode.UNAVAILABLE
        await world.looks(3)
        world.kubelet.code = None
        await until(lambda: "again" in world.lines[-1])

    world = asyncio.run(play(tmp_path, story))
    _, lost, back = world.lines
    assert lost.startswith("warning kai: cannot read the pod resources of the kubelet why=")
    assert "kubelet.sock: unavailable: not now" in lost
    assert back == "info kai: can read the pod resources of the kubelet again"
    assert world.written == [TEXT]


def test_a_missing_right_is_logged_once_and_written_later(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        text = 'pods "a" is forbidden: User "x" cannot patch resource "pods" in API group ""'
        world.api.on("PATCH", POD, status(403, reason="Forbidden", message=text))
        world.kubelet.data = answer(("team/a", GPUS))
        await until(lambda: len(world.written) >= 3)
        world.api.on("PATCH", POD, ok({}))
        await until(lambda: "again" in world.lines[-1])

    world = asyncio.run(play(tmp_path, story))
    _, lost, back = world.lines
    assert "cannot write the placements of pods" in lost
    assert "cannot patch resource" in lost
    assert back == "info kai: can write the placements of pods again"


def test_an_unreadable_sysfs_is_logged_once(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        (tmp_path / "sys/devices/system/node/node1/cpulist").write_text("many")
        await until(lambda: len(world.lines) >= 2)
        await asyncio.sleep(0.1)

    world = asyncio.run(play(tmp_path, story))
    [_, wrong] = world.lines
    assert wrong.startswith("warning kai: cannot read the CPUs of NUMA nodes why=")
    assert "node1: 'many' is not a list of CPUs" in wrong
