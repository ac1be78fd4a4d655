"""Pods of Jobs without retries are marked, because consolidation must not move them (switch
bare_pods)."""

import pytest
from scene_play import scenario
from testcluster import Scene, job, path_of, pod_spec
from testcluster.scene import until

from kai.api import keys


@pytest.mark.parametrize("binding", ["direct", "bind-requests"])
@scenario
async def test_pods_of_a_job_without_retries_are_marked(
    scene: Scene, *, namespace: str, binding: str
) -> None:
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
