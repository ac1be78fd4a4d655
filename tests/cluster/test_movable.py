"""Pods of Jobs without retries are marked, because consolidation must not move them (switch
bare_pods)."""

from pathlib import Path

import pytest
from testcluster import Cluster, Scene, job, path_of, play, pod_spec
from testcluster.scene import until

from kai.api import keys


@pytest.mark.parametrize("binding", ["direct", "bind-requests"])
def test_pods_of_a_job_without_retries_are_marked(
    cluster: Cluster, namespace: str, binding: str, tmp_path: Path
) -> None:
    async def story(scene: Scene) -> None:
        await scene.nodes(1)
        await scene.start("--binding", binding)
        once, again = (job(name, namespace, 2, pod_spec()) for name in ("once", "again"))
        once["spec"]["backoffLimit"] = 0
        await scene.api.create(once, again)
        await scene.bound(4)

        async def are_marked() -> bool:
            found = await scene.api.items(path_of("Pod", namespace))
            marks = sorted(
                (
                    each["metadata"]["labels"]["batch.kubernetes.io/job-name"],
                    each["metadata"].get("annotations", {}).get(keys.MOVABLE_ANNOTATION, ""),
                )
                for each in found
            )
            return marks == [("again", "")] * 2 + [("once", "false")] * 2

        await until(scene, "the pods of one job are marked", are_marked)
        await scene.is_well(bound=4)

    play(cluster, namespace, tmp_path, story)
