"""Pods that share devices, and the conditions that their devices must meet at any time.

await api.create(half("p0", namespace))
assert await books(scene) == []
await until_free(scene)              # once all of them are deleted
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from kai.api import keys

from .client import Object, path_of
from .objects import pod
from .scene import Scene, until

GROUP = keys.GPU_GROUP_LABEL
ALIVE = ("Pending", "Running")


def half(name: str, namespace: str, fraction: str = "0.5", **options: Any) -> Object:
    """A pod that requests a GPU fraction, as its owner writes it."""
    annotations = {keys.GPU_FRACTION_ANNOTATION: fraction, **options.pop("annotations", {})}
    return pod(name, namespace, 0, annotations=annotations, **options)


async def pods_of(scene: Scene) -> dict[str, Object]:
    items = await scene.api.items(path_of("Pod", scene.namespace))
    return {each["metadata"]["name"]: each for each in items}


async def reservations(scene: Scene) -> list[Object]:
    return await scene.api.items(path_of("Pod", keys.RESERVATION))


async def config_maps(scene: Scene) -> dict[str, Mapping[str, str]]:
    """Their data, by name."""
    found = await scene.api.items(path_of("ConfigMap", scene.namespace))
    return {each["metadata"]["name"]: each.get("data") or {} for each in found}


async def environment(scene: Scene, name: str) -> dict[str, str]:
    """The environment of the pod's container."""
    return seen_by((await pods_of(scene))[name], await config_maps(scene))


def seen_by(one: Object, maps: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """As the kubelet builds it; missing ConfigMaps add nothing."""
    container = one["spec"]["containers"][0]
    seen: dict[str, str] = {}
    for each in container.get("envFrom", ()):
        seen |= maps.get(each["configMapRef"]["name"], {})
    for each in container["env"]:
        source = each["valueFrom"]["configMapKeyRef"]
        data = maps.get(source["name"], {})
        if source["key"] in data:
            seen[each["name"]] = data[source["key"]]
    return seen


def groups_of(one: Object) -> list[str]:
    """The GPU groups that the labels of a pod name."""
    labels = one["metadata"].get("labels", {})
    if GROUP in labels:
        return [labels[GROUP]]
    prefix = keys.GPU_GROUP_LABEL_PREFIX
    return [group for key, group in labels.items() if key.startswith(prefix)]


async def books(scene: Scene) -> list[str]:
    """Errors about devices: one that is reserved twice, or has pods for more than its capacity, a
    pod that sees another device than its own or is on one that is not reserved, and a reservation
    that no pod uses."""
    devices: dict[str, str] = {}
    problems = []
    for each in await reservations(scene):
        [group] = groups_of(each)
        if group in devices:
            problems.append(f"group {group} is reserved twice")
        annotations = each["metadata"].get("annotations", {})
        devices[group] = annotations.get(keys.RESERVED_DEVICE_ANNOTATION, "")
    twice = [name for name, count in Counter(devices.values()).items() if count > 1]
    problems += [f"device {name} is held by several reservations" for name in twice]
    shares: defaultdict[str, float] = defaultdict(float)
    pods, maps = await pods_of(scene), await config_maps(scene)
    for name, each in pods.items():
        groups = groups_of(each)
        if not groups or not each["spec"].get("nodeName") or each["status"]["phase"] not in ALIVE:
            continue
        if not all(group in devices for group in groups):
            problems.append(f"pod {name} is on a device that is not reserved")
            continue
        portion = float(each["metadata"]["annotations"].get(keys.GPU_FRACTION_ANNOTATION, 0))
        for group in groups:
            shares[group] += portion
        visible = seen_by(each, maps).get(keys.VISIBLE_DEVICES_ENV, "")
        if sorted(visible.split(",")) != sorted(devices[group] for group in groups):
            own = ", ".join(devices[group] for group in groups)
            problems.append(f"pod {name} sees {visible}, and its devices are {own}")
    problems += [f"group {name} has pods for {sum}" for name, sum in shares.items() if sum > 1.001]
    problems += [f"group {name} is reserved for nothing" for name in devices if name not in shares]
    return problems


async def until_right(scene: Scene, seconds: float = 30) -> None:
    """Waits until there are no errors."""
    found: list[str] = []

    async def is_so() -> bool:
        found[:] = await books(scene)
        return not found

    await until(scene, lambda: f"the books are right: {found}", is_so, seconds)


async def until_free(scene: Scene, seconds: float = 30) -> None:
    """Waits until no device is reserved, and no ConfigMap names one."""

    async def is_so() -> bool:
        maps = await scene.api.items(path_of("ConfigMap", scene.namespace))
        named = [each for each in maps if "shared-gpu" in each["metadata"]["name"]]
        return not named and not await reservations(scene)

    await until(scene, "no device is reserved", is_so, seconds)
