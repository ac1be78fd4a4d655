"""Pods that share devices on a real API server: each device is reserved once, its pods get its
UUID, and after the last pod it is free again (spec 6 C53-C58)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import pytest
from scene_play import scenario
from testcluster import Admission, Cluster, Match, Object, Reservations, Scene, node, path_of, pod
from testcluster.devices import (
    GROUP,
    books,
    environment,
    half,
    pods_of,
    reservations,
    until_free,
    until_right,
)
from testcluster.scene import until

from kai.api import keys

MODES = pytest.mark.parametrize("mode", ["direct", "bind-requests"])
SLOW = pytest.mark.cluster_slow
FILLS = pytest.mark.parametrize("mode", ["direct", pytest.param("bind-requests", marks=SLOW)])
WRITES = Match("POST|PUT|PATCH|DELETE", r"^(?!.*/leases)")
AT_ONCE = "--no-leader-elect"


@asynccontextmanager
async def kept_running(scene: Scene, roles: tuple[str, ...]) -> AsyncIterator[None]:
    """A killed process is started again, as in Kubernetes."""

    async def keep() -> None:
        while True:
            if not scene.kai.is_running():
                await scene.start(AT_ONCE, roles=roles)
            await asyncio.sleep(0.02)

    await scene.start(AT_ONCE, roles=roles)
    keeping = asyncio.create_task(keep())
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})


def bound_condition(one: Object) -> str:
    for each in one["status"].get("conditions", ()):
        if each["type"] == "PodBound":
            return str(each["message"])
    return ""


@MODES
@scenario
async def test_two_halves_share_a_device_and_the_last_one_releases_it(
    scene: Scene, *, cluster: Cluster, namespace: str, mode: str
) -> None:
    async with Admission(cluster), Reservations(scene.api):
        await scene.api.create(node("a10", 1, gpu_memory_mib=23028))
        await scene.api.ready_nodes(1)
        await scene.start("--binding", mode)
        await scene.api.create(half("half-1", namespace))
        await scene.bound(1)
        await scene.api.create(half("half-2", namespace))
        await scene.bound(2)
        assert await books(scene) == []
        [held] = await reservations(scene)
        for name in ("half-1", "half-2"):
            assert await environment(scene, name) == {
                "NVIDIA_VISIBLE_DEVICES": "GPU-a10-0",
                "RUNAI_NUM_OF_GPUS": "0.50",
                "GPU_PORTION": "0.50",
            }
            metadata = (await pods_of(scene))[name]["metadata"]
            assert metadata["labels"][GROUP] == held["metadata"]["labels"][GROUP]
            assert metadata["annotations"]["received-resource-type"] == "Fraction"

        await scene.api.create(half("half-3", namespace))

        async def has_message() -> bool:
            for each in (await pods_of(scene))["half-3"]["status"].get("conditions", ()):
                if each["type"] == "PodScheduled":
                    return bool(each["message"].endswith("enough resources: GPUs."))
            return False

        await until(scene, "the third one says why it waits", has_message)
        await scene.api.delete(path_of("Pod", namespace, "half-1"))
        await scene.until("the third is bound", lambda: "half-3" in scene.history.bound())
        assert await books(scene) == []
        [still] = await reservations(scene)
        assert still["metadata"]["uid"] == held["metadata"]["uid"]
        seen = await environment(scene, "half-3")
        assert seen["NVIDIA_VISIBLE_DEVICES"] == "GPU-a10-0"

        for name in ("half-2", "half-3"):
            await scene.api.delete(path_of("Pod", namespace, name))

        await until_free(scene)


async def fill(scene: Scene, fake: Reservations, nodes: int, mode: str) -> None:
    """Nodes of eight devices get two halves on each."""
    await scene.nodes(nodes)
    await scene.start("--binding", mode)
    pods = 16 * nodes
    await scene.api.create(*(half(f"h{number}", scene.namespace) for number in range(pods)))
    await scene.bound(pods)
    assert await books(scene) == []
    assert len(await reservations(scene)) == 8 * nodes
    assert len(fake.held()) == 8 * nodes


@MODES
@scenario
async def test_sixteen_halves_at_once_are_two_on_each_of_eight_devices(
    scene: Scene, *, cluster: Cluster, mode: str
) -> None:
    async with Admission(cluster), Reservations(scene.api) as fake:
        await fill(scene, fake, 1, mode)


@FILLS
@scenario
async def test_halves_fill_ten_nodes_and_leave_no_reservations(
    scene: Scene, *, cluster: Cluster, namespace: str, mode: str
) -> None:
    async with Admission(cluster), Reservations(scene.api) as fake:
        await fill(scene, fake, 10, mode)
        await scene.api.delete(path_of("Pod", namespace), gracePeriodSeconds=0)
        await until_free(scene)


@scenario
async def test_a_silent_reservation_fails_only_its_device_and_is_removed(
    scene: Scene, *, cluster: Cluster, namespace: str
) -> None:
    """KAI's binder waits for it before it serves the node's other devices, and a second try leaves
    a reservation behind (recording 31)."""
    async with Admission(cluster), Reservations(scene.api) as fake:
        fake.silent.add("n0")
        await scene.nodes(1, gpus=2)
        await scene.start(
            *("--binding", "bind-requests"), *("--resource-reservation-allocation-timeout", "3")
        )
        await scene.api.create(half("waits", namespace))

        async def is_reserved() -> bool:
            return len(await reservations(scene)) == 1

        await until(scene, "a device is reserved", is_reserved)
        [held] = await reservations(scene)
        fake.silent.add(held["metadata"]["labels"][GROUP])
        fake.silent.discard("n0")
        await scene.api.create(half("two", namespace, "0.8"))
        await scene.until("the other one is bound", lambda: "two" in scene.history.bound())
        assert "waits" not in scene.history.bound()

        async def has_failed() -> bool:
            text = bound_condition((await pods_of(scene))["waits"])
            return "failed waiting for GPU reservation pod to allocate" in text

        await until(scene, "the first one says what is wrong", has_failed)
        await scene.bound(2)
        await until_right(scene)


@MODES
@scenario
async def test_pods_of_several_devices_and_of_memory_get_them(
    scene: Scene, *, cluster: Cluster, namespace: str, mode: str
) -> None:
    async with Admission(cluster), Reservations(scene.api):
        await scene.nodes(1, gpus=2)
        await scene.start("--binding", mode)
        two = {keys.GPU_DEVICES_ANNOTATION: "2"}
        memory = {keys.GPU_MEMORY_ANNOTATION: "20000"}
        await scene.api.create(half("both", namespace, annotations=two))
        await scene.bound(1)
        await scene.api.create(pod("memory", namespace, 0, annotations=memory))
        await scene.bound(2)
        assert await books(scene) == []
        seen = await environment(scene, "both")
        assert sorted(seen["NVIDIA_VISIBLE_DEVICES"].split(",")) == ["GPU-n0-0", "GPU-n0-1"]
        labels = (await pods_of(scene))["both"]["metadata"]["labels"]
        assert sum(key.startswith(f"{GROUP}/") for key in labels) == 2
        assert GROUP not in labels
        for name in ("both", "memory"):
            await scene.api.delete(path_of("Pod", namespace, name))
        await until_free(scene)


@scenario
async def test_orphans_of_an_earlier_process_are_removed_at_the_start(
    scene: Scene, *, cluster: Cluster, namespace: str
) -> None:
    async with Admission(cluster), Reservations(scene.api):
        await scene.nodes(1, gpus=2)
        first = await scene.start(AT_ONCE)
        await scene.api.create(half("stays", namespace), half("goes", namespace, "0.8"))
        await scene.bound(2)
        first.kill()
        await scene.api.delete(path_of("Pod", namespace, "goes"), gracePeriodSeconds=0)
        await scene.start(AT_ONCE)
        await until_right(scene)
        assert len(await reservations(scene)) == 1


@scenario
async def test_pods_of_a_manually_deleted_reservation_are_deleted(
    scene: Scene, *, cluster: Cluster, namespace: str
) -> None:
    """No pod holds their device any more, and the kubelet may assign it to others (spec 6 C57)."""
    async with Admission(cluster), Reservations(scene.api):
        await scene.nodes(1, gpus=2)
        await scene.start()
        await scene.api.create(half("one", namespace), half("other", namespace, "0.8"))
        await scene.bound(2)
        group = (await pods_of(scene))["one"]["metadata"]["labels"][GROUP]
        [held] = [
            each for each in await reservations(scene) if each["metadata"]["labels"][GROUP] == group
        ]
        name = held["metadata"]["name"]
        await scene.api.delete(path_of("Pod", keys.RESERVATION, name), gracePeriodSeconds=0)
        await scene.until("its pod goes", lambda: scene.history.bound() == {"other"})
        await until_right(scene)
    log = await scene.end()
    assert "its GPU reservation on node n0 no longer exists" in log


@SLOW
@MODES
@pytest.mark.parametrize("when", ["instead", "after"])
@scenario(seconds=900)
async def test_a_binder_killed_at_any_write_leaves_a_consistent_state(
    scene: Scene, *, cluster: Cluster, namespace: str, mode: str, when: Literal["instead", "after"]
) -> None:
    """Two halves are created and deleted, once for each write of the process that binds them. It is
    killed before the server receives that write, or before it receives the answer, and started
    again."""
    async with Admission(cluster), Reservations(scene.api):
        await scene.nodes(1, gpus=1)
        roles: tuple[str, ...] = ("all",)
        if mode == "bind-requests":
            await scene.start(
                *(AT_ONCE, "--binding", mode), roles=("scheduler", "pod-grouper"), direct=True
            )
            roles = ("binder",)
        async with kept_running(scene, roles):
            walked = 0
            while True:
                names = [f"w{walked}-{number}" for number in range(2)]
                killed = scene.proxy.call(WRITES, scene.kill, when=when, skip=walked)
                await scene.api.create(*(half(name, namespace) for name in names))
                await scene.bound(2)
                await until_right(scene)
                for name in names:
                    await scene.api.delete(path_of("Pod", namespace, name))
                await until_free(scene)
                if not killed.hits:
                    break
                walked += 1
        assert walked >= 9, f"it was killed at {walked} writes only"
