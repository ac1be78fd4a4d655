"""Pods with volumes, from their creation to their node (spec 3 B25; the claim of recording 44)."""

from collections.abc import Awaitable, Callable

import pytest
from scene_play import scenario
from testcluster import (
    SHORT_LEASE,
    Match,
    Object,
    Provisioner,
    Scene,
    claim,
    claim_spec,
    path_of,
    pod,
    storage_class,
)

SELECTED_NODE = "volume.kubernetes.io/selected-node"
CLAIMS = Match("PATCH", "/persistentvolumeclaims/")
WAYS = pytest.mark.parametrize("way", ["direct", "bind-requests"])


def user(name: str, namespace: str, *claims: str, gpus: int = 0) -> Object:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return pod(name, namespace, gpus, volumes=volumes)


def local_class(name: str = "local") -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def local_volume(name: str, node: str, size: str = "10Gi") -> Object:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    terms = [{"matchExpressions": [term]}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "storageClassName": "local",
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/mnt"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }


async def get(scene: Scene, kind: str, name: str) -> Object:
    namespace = "" if kind == "PersistentVolume" else scene.namespace
    found: Object = await scene.api.get(path_of(kind, namespace, name))
    return found


async def until(scene: Scene, what: str, is_so: Callable[[], Awaitable[object]]) -> None:
    try:
        await scene.api.until(what, is_so, 30)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{scene.report()}") from None


async def why_not(scene: Scene, name: str) -> str:
    """The message of a pod's condition PodScheduled."""
    conditions = (await get(scene, "Pod", name))["status"].get("conditions", ())
    found = {each["type"]: each.get("message", "") for each in conditions}
    return str(found.get("PodScheduled", ""))


async def has_message(scene: Scene, name: str, why: str) -> None:
    async def has_it() -> bool:
        return why in await why_not(scene, name)

    await until(scene, f"{name} says {why!r}", has_it)


@WAYS
@scenario
async def test_a_volume_is_provisioned_on_the_node_of_the_pod(
    scene: Scene, *, namespace: str, way: str
) -> None:
    async with Provisioner(scene.api):
        await scene.nodes(2)
        await scene.start("--binding", way)
        await scene.api.create(storage_class("late", waits=True))
        await scene.api.create(*(claim(f"data-{n}", namespace, "late") for n in range(4)))
        await scene.api.create(*(user(f"p{n}", namespace, f"data-{n}") for n in range(4)))
        await scene.bound(4)
        for number in range(4):
            where = (await get(scene, "Pod", f"p{number}"))["spec"]["nodeName"]
            got = await get(scene, "PersistentVolumeClaim", f"data-{number}")
            assert got["metadata"]["annotations"][SELECTED_NODE] == where
            assert got["status"]["phase"] == "Bound"


@WAYS
@scenario
async def test_a_pod_is_placed_on_the_node_of_its_volume(
    scene: Scene, *, namespace: str, way: str
) -> None:
    await scene.nodes(3)
    await scene.start("--binding", way)
    v0, v1, v2 = (f"{namespace}-{node}" for node in ("n0", "n1", "n2"))
    await scene.api.create(local_class(), local_volume(v1, "n1"), local_volume(v2, "n2"))
    await scene.api.create(*(claim(f"data-{n}", namespace, "local") for n in range(3)))
    await scene.api.create(*(user(f"p{n}", namespace, f"data-{n}") for n in range(3)))
    await scene.bound(2)
    places = {}
    for name in sorted(scene.history.bound()):
        data = await get(scene, "PersistentVolumeClaim", name.replace("p", "data-"))
        where = (await get(scene, "Pod", name))["spec"]["nodeName"]
        places[data["spec"]["volumeName"]] = where
    assert places == {v1: "n1", v2: "n2"}
    [left] = {"p0", "p1", "p2"} - scene.history.bound()
    await has_message(scene, left, "didn't find available persistent volumes to bind")
    await scene.api.create(local_volume(v0, "n0"))
    await scene.bound(3)


@scenario
async def test_an_ephemeral_volume_is_provisioned_and_waited_for(
    scene: Scene, *, namespace: str
) -> None:
    async with Provisioner(scene.api):
        await scene.nodes(1)
        await scene.start()
        await scene.api.create(storage_class("late", waits=True))
        template = {"spec": claim_spec("late")}
        volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
        await scene.api.create(pod("p", namespace, 0, volumes=volumes))
        await scene.bound(1)
        got = await get(scene, "PersistentVolumeClaim", "p-scratch")
        assert got["metadata"]["annotations"][SELECTED_NODE] == "n0"


@scenario
async def test_a_missing_claim_has_kais_message(scene: Scene, *, namespace: str) -> None:
    """Recording 44."""
    async with Provisioner(scene.api):
        await scene.nodes(1)
        await scene.start()
        await scene.api.create(user("pvc", namespace, "nothere"))
        why = (
            f"Scheduling conditions were not met for pod {namespace}/pvc:\n"
            'VolumeBinding: persistentvolumeclaim "nothere" not found.\n'
        )

        async def has_reason() -> bool:
            return await why_not(scene, "pvc") == why

        await until(scene, "it says why", has_reason)
        await scene.api.create(storage_class("now"), claim("nothere", namespace, "now"))
        await scene.bound(1)


@scenario
async def test_a_claim_with_immediate_binding_is_waited_for(
    scene: Scene, *, namespace: str
) -> None:
    await scene.nodes(1)
    await scene.start()
    await scene.api.create(storage_class("now"), claim("data", namespace, "now"))
    await scene.api.create(user("p", namespace, "data"))
    await has_message(scene, "p", "pod has unbound immediate PersistentVolumeClaims")
    async with Provisioner(scene.api):
        await scene.bound(1)


@scenario
async def test_a_failing_provisioner_makes_the_pod_use_another_node(
    scene: Scene, *, namespace: str
) -> None:
    """It removes the node from the claim, and the node is full by then."""
    await scene.nodes(2)
    await scene.api.patch(path_of("Node", name="n1"), {"spec": {"unschedulable": True}})
    await scene.start()
    await scene.api.create(storage_class("late", waits=True), claim("data", namespace, "late"))
    await scene.api.create(user("p", namespace, "data"))
    path = path_of("PersistentVolumeClaim", namespace, "data")

    async def is_selected() -> bool:
        annotations = (await scene.api.get(path))["metadata"].get("annotations", {})
        return annotations.get(SELECTED_NODE) == "n0"

    await until(scene, "the first node is selected", is_selected)
    await scene.api.patch(path_of("Node", name="n0"), {"spec": {"unschedulable": True}})
    await scene.api.patch(path_of("Node", name="n1"), {"spec": {"unschedulable": None}})
    await scene.api.patch(path, {"metadata": {"annotations": {SELECTED_NODE: None}}})
    async with Provisioner(scene.api):
        await scene.bound(1)
        assert (await get(scene, "Pod", "p"))["spec"]["nodeName"] == "n1"


@scenario
async def test_a_volume_that_takes_too_long_is_abandoned(scene: Scene, *, namespace: str) -> None:
    await scene.nodes(1)
    await scene.start("--volume-binding-timeout-seconds", "1")
    await scene.api.create(storage_class("late", waits=True), claim("data", namespace, "late"))
    await scene.api.create(user("p", namespace, "data"))
    await scene.until("it is given up", lambda: "context deadline exceeded" in scene.kai.log)
    async with Provisioner(scene.api):
        await scene.bound(1)


@WAYS
@pytest.mark.parametrize("when", ["before", "after"])
@scenario
async def test_the_process_is_killed_while_it_selects_a_node_for_a_volume(
    scene: Scene, *, namespace: str, way: str, when: str
) -> None:
    async with Provisioner(scene.api):
        await scene.nodes(2)
        first = await scene.start(*SHORT_LEASE, "--binding", way)
        killed = scene.proxy.call(CLAIMS, first.kill, when=when)
        await scene.api.create(storage_class("late", waits=True))
        await scene.api.create(*(claim(f"data-{n}", namespace, "late") for n in range(3)))
        await scene.api.create(*(user(f"p{n}", namespace, f"data-{n}") for n in range(3)))
        await killed.hit()
        await scene.until("it is killed", lambda: not first.is_running())
        await scene.start(*SHORT_LEASE, "--binding", way)
        await scene.is_well(bound=3)
        for number in range(3):
            where = (await get(scene, "Pod", f"p{number}"))["spec"]["nodeName"]
            got = await get(scene, "PersistentVolumeClaim", f"data-{number}")
            assert got["metadata"]["annotations"][SELECTED_NODE] == where
