"""docs/howto/from-the-posts.md works as written: the commands of two posts about KAI, with our
chart. A machine runs the programs, and reservation pods read its one GPU from a library that is
in place of NVIDIA's."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from machine_play import A10, RUNTIME_CLASS, T4_ON_GKE, WITH_A_GPU, Place, Scene, play
from page_play import HOWTO, Reader, section
from testcluster import path_of
from testcluster import programs as programs_of_clusters

pytestmark = [pytest.mark.chart_rounds, pytest.mark.timeout(600)]

PAGE = (HOWTO / "from-the-posts.md").read_text()


@pytest.mark.parametrize(
    ("title", "labels"),
    [
        ("In production: two pods on one A10", A10),
        ("ZenML on GKE: half a T4 for a pipeline step", T4_ON_GKE),
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
        await scene.api.create(RUNTIME_CLASS)
        await asyncio.to_thread(reader.follow, section(PAGE, title))
        assert await scene.api.items(path_of("Pod", "default")) == []

    images = {"kai-sched": WITH_A_GPU}
    asyncio.run(play(place, story, gpus=1, labels=labels, images=images))
