"""The changes to a new pod (spec 6 C19-C21, spec 3 A4-A6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kai.api import keys, quantities
from kai.api.reading import at, mapping, objects, text
from kai.api.rules import is_gpu_resource
from kai.controllers.admission.guarding import add_guard, gets_library, uses_mps
from kai.controllers.admission.rules import (
    Guard,
    Rules,
    fraction_container_ref,
    has_lists,
    without_device,
)
from kai.controllers.pods.sharing import ConfigMaps, config_map_prefix, config_maps, shares_gpus

_BY_NAME = (keys.VISIBLE_DEVICES_ENV, keys.LEGACY_GPU_PORTION_ENV, keys.GPU_PORTION_ENV)


def mutate(
    pod: Mapping[str, Any], rules: Rules, *, draw: Callable[[int], str], guarded: bool = False
) -> dict[str, Any]:
    """The pod as KAI's webhook creates it; the argument is not changed.

    `draw` returns that many random characters, for the names of ConfigMaps. `guarded`: its share is
    a limit (`guarding.decide`). Raises NotFoundError, with KAI's message, for a pod that names a
    missing container. A pod with a list that is none is left to the API server, which refuses it.
    """
    if not has_lists(pod):
        return dict(pod)
    patched = _copy(pod)
    if shares_gpus(pod) and objects(at(pod, "spec", "containers")):
        _share(patched, rules, draw, guarded=guarded)
    if rules.blocks_devices:
        _block_devices(patched)
    return patched


def _copy(pod: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of what may be changed: a whole copy takes longer than everything else."""
    copied = dict(pod)
    for part in ("metadata", "spec"):
        if isinstance(copied.get(part), Mapping):
            copied[part] = dict(copied[part])
    metadata, spec = (mapping(copied.get(part)) for part in ("metadata", "spec"))
    if isinstance(metadata.get("annotations"), Mapping):
        copied["metadata"]["annotations"] = dict(metadata["annotations"])
    for part in ("initContainers", "containers"):
        if isinstance(spec.get(part), list):
            containers = [dict(each) if isinstance(each, Mapping) else each for each in spec[part]]
            copied["spec"][part] = containers
    return copied


def _share(pod: dict[str, Any], rules: Rules, draw: Callable[[int], str], *, guarded: bool) -> None:
    part, index = fraction_container_ref(pod)
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["annotations"].setdefault(
        keys.SHARED_GPU_CONFIG_MAP_ANNOTATION, config_map_prefix(pod, draw)
    )
    names = config_maps(pod)
    container = spec[part][index]
    variables = [_variable(each, names) for each in _BY_NAME]
    if rules.hami:
        variables.append(_variable(keys.GPU_MEMORY_LIMIT_ENV, names, optional=True))
    if guarded and uses_mps(pod):
        variables += _mps_limits(container, names, rules.guard)
    if guarded and gets_library(pod, rules.guard):
        add_guard(pod, rules.guard)
    written = {each["name"] for each in variables}
    others = [each for each in container.get("env") or [] if text(each.get("name")) not in written]
    container["env"] = [*others, *variables]
    source = {"configMapRef": {"name": names.environment, "optional": False}}
    if source not in (container.get("envFrom") or []):
        container["envFrom"] = [*(container.get("envFrom") or []), source]
    volumes = spec.get("volumes") or []
    if all(each.get("name") != names.volume for each in volumes):
        volume = {"name": names.volume, "configMap": {"name": names.capabilities}}
        spec["volumes"] = [*volumes, volume]
    if rules.runtime_class and not spec.get("runtimeClassName"):
        spec["runtimeClassName"] = rules.runtime_class


def _mps_limits(
    container: Mapping[str, Any], names: ConfigMaps, guard: Guard
) -> list[dict[str, Any]]:
    """The variables that MPS reads, except those that the container has itself."""
    wanted = [keys.MPS_LIMIT_ENV, *([keys.MPS_THREADS_ENV] if guard.mps_threads else ())]
    ours = [_variable(each, names, optional=True) for each in wanted]
    there = {text(each.get("name")): each for each in objects(container.get("env"))}
    return [each for each in ours if each["name"] not in there or there[each["name"]] == each]


def _variable(name: str, names: ConfigMaps, *, optional: bool = False) -> dict[str, Any]:
    reference: dict[str, Any] = {"name": names.capabilities, "key": name}
    if optional:
        reference["optional"] = True
    return {"name": name, "valueFrom": {"configMapKeyRef": reference}}


def _block_devices(pod: dict[str, Any]) -> None:
    """Hides the devices. A variable that is a reference stays; the pod is rejected for it."""
    for part, index, fields in list(without_device(pod)):
        if _requests_gpus(fields):
            continue
        container = pod["spec"][part][index]
        variables = container.get("env") or []
        names = [each.get("name") for each in variables]
        if keys.VISIBLE_DEVICES_ENV not in names:
            container["env"] = [*variables, {"name": keys.VISIBLE_DEVICES_ENV, "value": "void"}]
            continue
        at_index = names.index(keys.VISIBLE_DEVICES_ENV)
        if "valueFrom" not in variables[at_index]:
            hidden = {**variables[at_index], "value": "void"}
            container["env"] = [*variables[:at_index], hidden, *variables[at_index + 1 :]]


def _requests_gpus(container: Mapping[str, Any]) -> bool:
    """Whether the container requests GPUs; an amount of 0 does not count. Limits are used if there
    are no requests."""
    return any(
        is_gpu_resource(name) and quantities.parse_or_zero(amount) != 0
        for half in ("requests", "limits")
        for name, amount in mapping(at(container, "resources", half)).items()
    )
