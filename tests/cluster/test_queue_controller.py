"""The queue controller alone, with pod groups whose statuses another program writes."""

from typing import Any

from scene_play import scenario
from testcluster import Scene, path_of, pod_group, queue
from testcluster.scene import until


async def group(scene: Scene, name: str, of: str) -> None:
    await scene.api.create(pod_group(name, scene.namespace, queue=of))


async def reports(scene: Scene, name: str, **sums: dict[str, str]) -> None:
    """What KAI's pod-group controller writes."""
    path = path_of("PodGroup", scene.namespace, name) + "/status"
    await scene.api.patch(path, {"status": {"resourcesStatus": sums}})


async def has(scene: Scene, name: str, **status: Any) -> None:
    seen: dict[str, Any] = {}

    async def is_so() -> bool:
        found = await scene.api.get(path_of("Queue", "", name))
        seen.update({"status": found.get("status")})
        return seen["status"] == status

    await until(scene, lambda: f"queue {name} has {status}; it has {seen['status']}", is_so)


@scenario
async def test_alone_it_sums_what_pod_groups_report(scene: Scene, *, namespace: str) -> None:
    await scene.nodes(1)
    top, left, right = (f"{each}-{namespace}" for each in ("top", "left", "right"))
    await scene.api.create(queue(top), queue(left, top), queue(right, top))
    await group(scene, "a", left)
    await group(scene, "b", left)
    # A pod that runs, and whose group reports nothing, does not count.
    named = {"pod-group-name": "b"}
    await scene.pods(1, "runs", annotations=named, scheduler="default-scheduler", nodeName="n0")
    await reports(scene, "a", requested={"cpu": "2", "nvidia.com/gpu": "1500m"})
    await scene.start(roles=("queue-controller",))
    sums: dict[str, Any] = {"requested": {"cpu": "2", "nvidia.com/gpu": "1500m"}}
    await has(scene, left, **sums)
    await has(scene, top, **sums, childQueues=[left, right])
    # Another report, of another group; quantities of any form.
    held = {"nvidia.com/gpu": "1"}
    await reports(scene, "b", requested={"cpu": "500m"}, allocated=held)
    await reports(scene, "a", allocated=held, allocatedNonPreemptible={"memory": "1024"})
    sums = {
        "requested": {"cpu": "2500m", "nvidia.com/gpu": "1500m"},
        "allocated": {"nvidia.com/gpu": "2"},
        "allocatedNonPreemptible": {"memory": "1024"},
    }
    await has(scene, left, **sums)
    # A group moves, and one is deleted.
    moved = {"spec": {"queue": right}}
    await scene.api.patch(path_of("PodGroup", scene.namespace, "b"), moved)
    await has(scene, right, requested={"cpu": "500m"}, allocated=held)
    await scene.api.delete(path_of("PodGroup", scene.namespace, "a"))
    await has(scene, left)
    one = {"requested": {"cpu": "500m"}, "allocated": held}
    await has(scene, top, **one, childQueues=[left, right])
    assert scene.proxy.count("", "pods") == 0, "it reads no pods"
