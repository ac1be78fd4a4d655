"""Pods that share devices on a real API server: each device is reserved once, its pods get its
UUID, and with the last pod it is free again (spec 6 C53-C58)."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from testcluster import (
    Admission,
    Cluster,
    Object,
    Reservations,
    Scene,
    node,
    path_of,
    play,
    pod,
)

GROUP, DEVICE = "runai-gpu-group", "run.ai/reserve_for_gpu_index"
RESERVATIONS = "kai-resource-reservation"
MODES = pytest.mark.parametrize("mode", ["direct", "bind-requests"])


def half(name: str, namespace: str, fraction: str = "0.5", **options: Any) -> Object:
    annotations = {"gpu-fraction": fraction, **options.pop("annotations", {})}
    return pod(name, namespace, 0, annotations=annotations, **options)


async def pods_of(scene: Scene) -> dict[str, Object]:
    items = await scene.api.items(path_of("Pod", scene.namespace))
    return {each["metadata"]["name"]: each for each in items}


async def reservations(scene: Scene) -> list[Object]:
    return await scene.api.items(path_of("Pod", RESERVATIONS))


async def config_map(scene: Scene, name: str) -> Mapping[str, str]:
    found = await scene.api.get(path_of("ConfigMap", scene.namespace, name))
    return found.get("data", {})


async def environment(scene: Scene, name: str) -> dict[str, str]:
    """What the container of the pod would see, as the kubelet puts it together."""
    one = (await pods_of(scene))[name]
    container = one["spec"]["containers"][0]
    seen: dict[str, str] = {}
    for each in container.get("envFrom", ()):
        seen |= await config_map(scene, each["configMapRef"]["name"])
    for each in container["env"]:
        source = each["valueFrom"]["configMapKeyRef"]
        seen[each["name"]] = (await config_map(scene, source["name"]))[source["key"]]
    return seen


async def books(scene: Scene) -> list[str]:
    """What is wrong with devices: a pod whose reservation or device is another one than its
    ConfigMap says, a device with too many pods, a reservation that nobody uses."""
    held = await reservations(scene)
    problems = []
    devices: dict[str, str] = {}
    for each in held:
        group = each["metadata"]["labels"][GROUP]
        if group in devices:
            problems.append(f"group {group} is reserved twice")
        devices[group] = each["metadata"].get("annotations", {}).get(DEVICE, "")
    twice = [name for name, count in Counter(devices.values()).items() if count > 1]
    problems += [f"device {name} is held by several reservations" for name in twice]
    shares: defaultdict[str, float] = defaultdict(float)
    for name, each in (await pods_of(scene)).items():
        metadata = each["metadata"]
        if "gpu-fraction" not in metadata.get("annotations", {}):
            continue
        if not each["spec"].get("nodeName") or each["status"]["phase"] not in (
            "Pending",
            "Running",
        ):
            continue
        group = metadata.get("labels", {}).get(GROUP, "")
        if group not in devices:
            problems.append(f"pod {name} is on a device that is not reserved")
            continue
        shares[group] += float(metadata["annotations"]["gpu-fraction"])
        visible = (await environment(scene, name))["NVIDIA_VISIBLE_DEVICES"]
        if visible != devices[group]:
            problems.append(f"pod {name} sees {visible}, and its device is {devices[group]}")
    problems += [f"group {name} has pods for {sum}" for name, sum in shares.items() if sum > 1]
    problems += [f"group {name} is reserved for nothing" for name in devices if name not in shares]
    return problems


async def until_no_problem(scene: Scene, seconds: float = 20) -> None:
    found: list[str] = []

    async def is_so() -> bool:
        found[:] = await books(scene)
        return not found

    await until(scene, lambda: f"the books are right: {found}", is_so, seconds)


async def until(scene: Scene, what: Any, is_so: Any, seconds: float = 20) -> None:
    ends = asyncio.get_running_loop().time() + seconds
    while not await is_so():
        if asyncio.get_running_loop().time() > ends:
            said = what() if callable(what) else what
            raise AssertionError(f"not within {seconds:g} s: {said}\n{scene.report()}")
        await asyncio.sleep(0.05)


@MODES
def test_two_halves_share_a_device_a_third_waits_and_the_last_one_gives_it_back(
    cluster: Cluster, namespace: str, tmp_path: Path, mode: str
) -> None:
    async def story(scene: Scene) -> None:
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

            async def says_why() -> bool:
                for each in (await pods_of(scene))["half-3"]["status"].get("conditions", ()):
                    if each["type"] == "PodScheduled":
                        return bool(each["message"].endswith("enough resources: GPUs."))
                return False

            await until(scene, "the third one says why it waits", says_why)
            await scene.api.delete(path_of("Pod", namespace, "half-1"))
            await scene.until("the third is bound", lambda: "half-3" in scene.history.bound())
            assert await books(scene) == []
            [still] = await reservations(scene)
            assert still["metadata"]["uid"] == held["metadata"]["uid"]
            seen = await environment(scene, "half-3")
            assert seen["NVIDIA_VISIBLE_DEVICES"] == "GPU-a10-0"

            for name in ("half-2", "half-3"):
                await scene.api.delete(path_of("Pod", namespace, name))

            async def is_free() -> bool:
                return not await reservations(scene)

            await until(scene, "the device is free", is_free)

    play(cluster, namespace, tmp_path, story)


@MODES
def test_sixteen_halves_at_once_are_two_on_each_of_eight_devices(
    cluster: Cluster, namespace: str, tmp_path: Path, mode: str
) -> None:
    async def story(scene: Scene) -> None:
        async with Admission(cluster), Reservations(scene.api) as fake:
            await scene.nodes(1)
            await scene.start("--binding", mode)
            await scene.api.create(*(half(f"h{number}", namespace) for number in range(16)))
            await scene.bound(16)
            assert await books(scene) == []
            assert len(await reservations(scene)) == 8
            assert len(fake.held()) == 8

    play(cluster, namespace, tmp_path, story)
