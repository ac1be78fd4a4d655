"""The messages of `kai run` on waiting pods and their pod groups (spec 2 M1-M3)."""

from typing import Any

from scene_play import scenario
from testcluster import Object, Scene, path_of, pod, pod_group

from kai.api import keys

PATIENCE_S = 15.0
TOO_BIG = "Max GPU resources available in a single node in the default node-pool is topped at 1."


async def events(scene: Scene, kind: str) -> list[tuple[str, str, int]]:
    """Reason, message and count of all events about objects of a kind."""
    found = await scene.api.items(path_of("Event", scene.namespace))
    return [
        (each["reason"], each["message"], each.get("count", 1))
        for each in found
        if each["involvedObject"]["kind"] == kind
    ]


async def until_event(scene: Scene, kind: str, reason: str) -> str:
    async def read_events() -> Any:
        return [text for why, text, _ in await events(scene, kind) if why == reason]

    [message] = await scene.api.until(f"{kind} has the event {reason}", read_events, PATIENCE_S)
    return str(message)


async def conditions(scene: Scene, name: str) -> dict[str, Object]:
    found = await scene.api.get(path_of("Pod", scene.namespace, name))
    return {each["type"]: each for each in found["status"].get("conditions", ())}


@scenario
async def test_a_gated_pod_waits_and_its_group_has_one_condition(
    scene: Scene, *, namespace: str
) -> None:
    """Recording 26 as the README of the recordings describes it."""
    await scene.nodes(1)
    await scene.start()
    await scene.pods(1, "gated", schedulingGates=[{"name": "example.com/wait"}])
    assert await until_event(scene, "PodGroup", "NotReady") == (
        "Job is not ready for scheduling. Waiting for 1 pods, currently 1 exist, 1 are gated"
    )
    assert await events(scene, "Pod") == []
    assert (await conditions(scene, "gated0"))["PodScheduled"]["reason"] == "SchedulingGated"
    path = path_of("Pod", namespace, "gated0")
    await scene.api.patch(path, {"spec": {"schedulingGates": None}})
    await scene.is_well(bound=1)
    reported = await events(scene, "PodGroup")
    assert [(reason, count) for reason, _, count in reported] == [("NotReady", 1)]


@scenario
async def test_a_pod_and_its_group_get_conditions_at_once_although_the_group_is_created_later(
    scene: Scene, *, namespace: str
) -> None:
    """Nothing else happens that would cause another plan."""
    await scene.nodes(1, gpus=1)
    await scene.start()
    await scene.pods(1, "big", gpus=2)
    await until_event(scene, "Pod", "Unschedulable")
    assert TOO_BIG in await until_event(scene, "PodGroup", "Unschedulable")

    async def has_condition() -> Any:
        [found] = await scene.api.items(path_of("PodGroup", namespace))
        return found.get("status", {}).get("schedulingConditions")

    [condition] = await scene.api.until("the group says so", has_condition, PATIENCE_S)
    assert TOO_BIG in condition["message"]


@scenario
async def test_pods_of_a_group_that_disables_marking_get_no_condition(scene: Scene) -> None:
    await scene.nodes(1, gpus=1)
    await scene.start()
    await scene.api.create(pod_group("quiet", scene.namespace, markUnschedulable=False))
    annotations = {keys.POD_GROUP_ANNOTATION: "quiet"}
    await scene.pods(1, "big", gpus=2, annotations=annotations)
    assert TOO_BIG in await until_event(scene, "Pod", "Unschedulable")
    await until_event(scene, "PodGroup", "Unschedulable")
    assert "PodScheduled" not in await conditions(scene, "big0")


@scenario
async def test_a_pod_whose_group_is_created_later_waits_and_then_runs(
    scene: Scene, *, namespace: str
) -> None:
    """KAI writes nothing on such a pod (spec 6 S19)."""
    await scene.nodes(1)
    await scene.start()
    annotations = {keys.POD_GROUP_ANNOTATION: "late"}
    await scene.api.create(pod("early", namespace, annotations=annotations))
    text = f"PodGroup {namespace}/late does not exist"
    assert await until_event(scene, "Pod", "Unschedulable") == text
    assert (await conditions(scene, "early"))["PodScheduled"]["message"] == text
    await scene.api.create(pod_group("late", namespace))
    await scene.is_well(bound=1)
    assert (await conditions(scene, "early"))["PodScheduled"]["status"] == "True"


@scenario
async def test_a_pod_with_a_missing_config_map_starts_when_it_is_created(
    scene: Scene, *, namespace: str
) -> None:
    """spec 3 P13."""
    await scene.nodes(1)
    await scene.start()
    [main] = pod("p", namespace)["spec"]["containers"]
    mounts = [{"name": "files", "mountPath": "/files"}]
    needs = {**main, "volumeMounts": mounts, "envFrom": [{"configMapRef": {"name": "ours"}}]}
    volumes = [{"name": "files", "configMap": {"name": "files"}}]
    await scene.pods(1, "needs", containers=[needs], volumes=volumes)
    text = await until_event(scene, "Pod", "Unschedulable")
    assert "ConfigMap: Missing required configmaps: [files ours]" in text
    await scene.api.post(path_of("ConfigMap", namespace), {"metadata": {"name": "files"}})
    await scene.pods(1, "other")
    await scene.bound(1)
    assert scene.history.bound() == {"other0"}, "one is still missing"
    await scene.api.post(path_of("ConfigMap", namespace), {"metadata": {"name": "ours"}})
    await scene.is_well(bound=2)


@scenario
async def test_a_pod_starts_when_a_namespace_gets_the_label_of_its_affinity(
    scene: Scene, *, namespace: str
) -> None:
    east = f"{namespace}-east"
    await scene.nodes(2)
    await scene.api.create_namespace(east)
    await scene.api.create(pod("web", east, labels={"app": "web"}))
    await scene.api.bind(east, "web", "n1")
    await scene.start()
    term = {
        "labelSelector": {"matchLabels": {"app": "web"}},
        "namespaceSelector": {"matchLabels": {"team": "red"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    await scene.pods(1, "beside", affinity=affinity)
    await until_event(scene, "Pod", "Unschedulable")
    labels = {"metadata": {"labels": {"team": "red"}}}
    await scene.api.patch(path_of("Namespace", name=east), labels)
    await scene.bound(1)
    found = await scene.api.get(path_of("Pod", namespace, "beside0"))
    assert found["spec"]["nodeName"] == "n1"
    # At once: on a node that is deleted before, it would hold a GPU for all later tests.
    await scene.api.delete(path_of("Pod", east, "web"), gracePeriodSeconds=0)
    await scene.api.delete(path_of("Namespace", name=east))
    await scene.is_well(bound=1)
