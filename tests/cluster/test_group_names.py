"""A pod names its pod group no later than it is unschedulable or bound, whatever its name is."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from scene_play import scenario
from testcluster import Match, Object, Scene, node, path_of, pod
from testcluster.replays import definition

from kai.api import keys

STATUSES = Match("PATCH", "/pods/[^/]+/status$")
RAY = "ray.io/v1"


class Versions:
    """All versions of the pods of a namespace, by name."""

    def __init__(self) -> None:
        self.of: defaultdict[str, list[Object]] = defaultdict(list)

    def first(self, name: str, member: str) -> Object | None:
        """The first version of a pod that is "unschedulable" or "bound"."""
        for each in self.of[name]:
            if member in states_of(each):
                return each
        return None


def states_of(pod: Object) -> set[str]:
    waits = any(
        (each["type"], each["status"]) == ("PodScheduled", "False")
        for each in pod["status"].get("conditions", ())
    )
    bound = bool(pod["spec"].get("nodeName"))
    return {*(["unschedulable"] if waits else ()), *(["bound"] if bound else ())}


def group_of(pod: Object) -> str:
    return str(pod["metadata"].get("annotations", {}).get(keys.POD_GROUP_ANNOTATION, ""))


def part_of(pod: Object) -> str:
    return str(pod["metadata"].get("labels", {}).get(keys.SUBGROUP_LABEL, ""))


@asynccontextmanager
async def watching(scene: Scene) -> AsyncIterator[Versions]:
    versions = Versions()

    async def follow() -> None:
        async for what, found in scene.api.follow(path_of("Pod", scene.namespace)):
            for each in found if what == "LISTED" else [found]:
                versions.of[each["metadata"]["name"]].append(each)

    task = asyncio.create_task(follow())
    yield versions
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def owner(scene: Scene, kind: str, name: str, spec: Object, **metadata: object) -> Object:
    crd = definition(RAY, kind)
    await scene.api.status_of(scene.api.create(crd))  # type: ignore[arg-type]
    manifest = {
        "apiVersion": RAY,
        "kind": kind,
        "metadata": {"name": name, "namespace": scene.namespace, **metadata},
        "spec": spec,
    }

    async def made() -> Object:
        return await scene.api.create_one(manifest)

    found: Object = await scene.api.until(f"{kind} {name}", made)
    return found


def owned(by: Object) -> dict[str, object]:
    fields = {key: by["metadata"][key] for key in ("name", "uid")}
    kind = {key: by[key] for key in ("apiVersion", "kind")}
    return {"ownerReferences": [{**kind, **fields, "controller": True}]}


def ray_pod(scene: Scene, name: str, cluster: Object, group: str, gpus: int) -> Object:
    made = pod(name, scene.namespace, gpus, labels={"ray.io/group": group})
    made["metadata"] |= owned(cluster)
    return made


@scenario
async def test_pods_of_an_elastic_ray_job_name_their_group_when_they_become_unschedulable(
    scene: Scene,
) -> None:
    """Its autoscaler adds workers; what watches them reads the annotation as soon as a worker is
    unschedulable."""
    await scene.nodes(1, gpus=2)
    await scene.start()
    workers = {"groupName": "Big_Workers", "replicas": 2, "minReplicas": 1, "maxReplicas": 8}
    spec: Object = {"headGroupSpec": {"template": {}}, "workerGroupSpecs": [workers]}
    job = await owner(scene, "RayJob", "rj", {"rayClusterSpec": spec})
    ray = await owner(scene, "RayCluster", "rc", spec, **owned(job))
    async with watching(scene) as versions:
        group = workers["groupName"]
        first = [ray_pod(scene, f"w{number}", ray, group, 1) for number in range(2)]
        await scene.api.create(ray_pod(scene, "head", ray, "headgroup", 0), *first)
        await scene.bound(3)
        later = [f"w{number}" for number in range(2, 6)]  # the autoscaler asks for more
        await scene.api.create(*(ray_pod(scene, name, ray, group, 1) for name in later))
        await scene.until(
            "four workers are unschedulable",
            lambda: all(versions.first(name, "unschedulable") for name in later),
        )
        for name in later:
            waits = versions.first(name, "unschedulable")
            assert waits is not None
            assert group_of(waits) == f"pg-rj-{job['metadata']['uid']}", name
            assert part_of(waits).startswith("big-workers-"), name
        for name in ("head", "w0", "w1"):
            bound = versions.first(name, "bound")
            assert bound is not None
            assert group_of(bound) == f"pg-rj-{job['metadata']['uid']}", name


@pytest.mark.parametrize("how", ["direct", "bind-requests"])
@scenario
async def test_a_pod_names_its_group_no_later_than_it_is_unschedulable_or_bound(
    scene: Scene, *, how: str
) -> None:
    """A bare pod; and whatever is slow: the requests for statuses are held back for a second."""
    await scene.nodes(1, gpus=8)
    await scene.start("--binding", how)
    async with watching(scene) as versions:
        slow = scene.proxy.delay(STATUSES, 1.0, times=6)
        await scene.pods(4)
        await scene.pods(4, "big", gpus=16)
        await scene.bound(4)
        big = [f"big{number}" for number in range(4)]
        await scene.until(
            "four pods are unschedulable",
            lambda: all(versions.first(name, "unschedulable") for name in big),
        )
        assert slow.hits
        for name, state in (
            *((f"p{i}", "bound") for i in range(4)),
            *((b, "unschedulable") for b in big),
        ):
            first = versions.first(name, state)
            assert first is not None
            uid = first["metadata"]["uid"]
            assert group_of(first) == f"pg-{name}-{uid}", name


@scenario
async def test_a_waiting_pod_costs_one_request_for_its_condition_and_its_group(
    scene: Scene, *, namespace: str
) -> None:
    await scene.nodes(1, gpus=2)
    await scene.start()
    await scene.pods(6, gpus=4)
    await scene.until(
        "six pods have a condition", lambda: scene.proxy.count("patch", "pods", "status") >= 6
    )
    await asyncio.sleep(3)  # nothing more is written
    assert scene.proxy.count("patch", "pods", "status") == 6
    assert scene.proxy.count("patch", "pods", "") == 0
    assert scene.proxy.count("create", "podgroups") == 6
    groups = [
        each["metadata"]["name"] for each in await scene.api.items(path_of("PodGroup", namespace))
    ]
    for each in await scene.api.items(path_of("Pod", namespace)):
        assert group_of(each) in groups


@pytest.mark.parametrize("how", ["direct", "bind-requests"])
@scenario
async def test_pods_and_nodes_with_the_longest_names_are_bound(
    scene: Scene, *, namespace: str, how: str
) -> None:
    """pg-<name>-<uid> would be too long for a pod group, and the node for the value of a label."""
    nodes = ["n" * 64, ".".join(["node"] * 50) + "-a", ".".join(["node"] * 50) + "-b"]
    short = {"kubernetes.io/hostname": "short"}  # the helper would use the name
    await scene.api.create(*(node(name, 2, labels=short) for name in nodes))
    await scene.api.ready_nodes(3)
    await scene.start("--binding", how)
    names = ["p" * 213, "p" * 214, "p" * 253, "p" * 252 + "q", "a.b" * 80]
    await scene.api.create(*(pod(name, namespace) for name in names))
    await scene.bound(5)
    found = await scene.api.items(path_of("Pod", namespace))
    groups = {
        each["metadata"]["name"]: each["metadata"]["uid"]
        for each in await scene.api.items(path_of("PodGroup", namespace))
    }
    assert len(groups) == 5
    assert {group_of(each) for each in found} == groups.keys()
    assert len({each["spec"]["nodeName"] for each in found}) == 3
    # A group that is deleted comes back, also with a name from which the pod cannot be read.
    lost = next(each for each in groups if len(each) == 253)
    await scene.api.delete(path_of("PodGroup", namespace, lost))

    async def is_back() -> bool:
        again = await scene.api.get(path_of("PodGroup", namespace, lost))
        return bool(again["metadata"]["uid"] != groups[lost])

    await scene.api.until("the group is created again", is_back, 30)
