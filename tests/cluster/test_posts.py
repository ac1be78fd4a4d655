"""docs/howto/from-the-posts.md works as written: the commands of two posts about KAI, with our
chart. A machine runs the programs, and reservation pods read its one GPU from a library that is
in place of NVIDIA's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from machine_play import Place, Scene, play
from page_play import HOWTO, Reader, section
from testcluster import Egress, Object, path_of, temporary_cluster
from testcluster import programs as programs_of_clusters
from testcluster.machine import OURS

pytestmark = [pytest.mark.chart_rounds, pytest.mark.timeout(600)]

PAGE = (HOWTO / "from-the-posts.md").read_text()
WITH_A_GPU = replace(
    OURS,
    environment={
        **OURS.environment,
        "PYTHONPATH": f"{Path(__file__).parent / 'nvml'}:{OURS.environment['PYTHONPATH']}",
    },
)
A10 = {
    "nvidia.com/gpu.count": "1",
    "nvidia.com/gpu.memory": "23028",
    "nvidia.com/gpu.present": "true",
    "nvidia.com/gpu.product": "NVIDIA-A10",
}
T4 = {
    **A10,
    "nvidia.com/gpu.memory": "15360",
    "nvidia.com/gpu.product": "Tesla-T4",
    "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
    "cloud.google.com/gke-nodepool": "gpu-pool",
}
RUNTIME: Object = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "nvidia"},
    "handler": "nvidia",
}


@pytest.fixture
def place(programs: Mapping[str, Path]) -> Iterator[Place]:
    with Egress() as egress, temporary_cluster(egress.options(), programs) as cluster:
        yield Place(cluster, egress)


@pytest.mark.parametrize(
    ("title", "labels"),
    [
        ("In production: two pods on one A10", A10),
        ("ZenML on GKE: half a T4 for a pipeline step", T4),
    ],
)
def test_the_commands_print_what_the_page_shows(
    place: Place,
    programs: Mapping[str, Path],
    tmp_path: Path,
    title: str,
    labels: Mapping[str, str],
) -> None:
    tools = {"kubectl": programs["kubectl"], "helm": programs_of_clusters.helm()}
    reader = Reader(place.cluster, tools, tmp_path)

    async def story(scene: Scene) -> None:
        await scene.api.create(RUNTIME)
        await asyncio.to_thread(reader.follow, section(PAGE, title))
        assert await scene.api.items(path_of("Pod", "default")) == []

    images = {"kai-sched": WITH_A_GPU}
    play(place, story, gpus=1, labels=labels, images=images)
