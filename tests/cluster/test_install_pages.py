"""The pages that lead from an empty cluster to a pod with half a GPU work as written, and so do
upgrade and drain. A machine runs the programs of the chart; GPUs are simulated, as on the page
about kind. Objects of the other platforms are created on an API server."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from machine_play import Place, play
from machine_play import Scene as MachineScene
from page_play import BLOCK, HOWTO, Reader, section
from scene_play import scenario as on_a_scene
from testcluster import Admission, Cluster, Reservations, Scene, node, temporary_cluster
from testcluster import programs as programs_of_clusters
from testcluster.devices import half, pods_of, reservations

KIND, COMMON, UPGRADE = (
    (HOWTO / f"{name}.md").read_text() for name in ("install-kind", "install", "upgrade")
)


@pytest.mark.chart_rounds
@pytest.mark.timeout(600)
def test_from_a_cluster_without_gpus_to_two_halves_of_one_and_back(
    place: Place, programs: Mapping[str, Path], tmp_path: Path
) -> None:
    tools = {"kubectl": programs["kubectl"], "helm": programs_of_clusters.helm()}
    reader = Reader(place.cluster, tools, tmp_path)

    async def story(scene: MachineScene) -> None:
        for page, title in (
            (KIND, "With simulated GPUs"),
            (COMMON, "From here it is the same everywhere"),
            (UPGRADE, "kai-sched"),
        ):
            await asyncio.to_thread(reader.follow, section(page, title))

    asyncio.run(play(place, story))


@pytest.mark.parametrize("name", ["install-gke", "install-eks", "install-bare-metal"])
def test_objects_of_a_platform_are_accepted(
    programs: Mapping[str, Path], tmp_path: Path, name: str
) -> None:
    """Those in files; the commands of cloud providers and of NVIDIA do not run here."""
    with temporary_cluster(found=programs) as cluster:
        reader = Reader(cluster, {"kubectl": programs["kubectl"]}, tmp_path)
        reader.follow((HOWTO / f"{name}.md").read_text())
        for file in tmp_path.glob("*.yaml"):
            cluster.kubectl("apply", "--validate=strict", "-f", str(file))


def drains() -> list[list[str]]:
    """The words of the commands on the page that drain a node."""
    blocks = "".join(text for kind, _, text in BLOCK.findall(UPGRADE) if kind == "console")
    found = re.findall(r"^\$ kubectl (drain NODE .*)$", blocks, re.MULTILINE)
    return [line.replace("'", "").split() for line in found]


@on_a_scene
async def test_a_drained_node_loses_the_pods_that_share_a_gpu_and_then_their_reservations(
    scene: Scene, *, cluster: Cluster, namespace: str
) -> None:
    async with Admission(cluster), Reservations(scene.api):
        await scene.api.create(node("drained", 1, gpu_memory_mib=23028))
        await scene.api.ready_nodes(1)
        await scene.start()
        await scene.api.create(half("half-1", namespace), half("half-2", namespace))
        await scene.bound(2)
        (words,) = drains()
        command = [each.replace("NODE", "drained") for each in words]
        await asyncio.to_thread(cluster.kubectl, *command)
        assert await pods_of(scene) == {}

        async def are_gone() -> bool:
            return await reservations(scene) == []

        await scene.api.until("kai deletes the reservation pods", are_gone)
