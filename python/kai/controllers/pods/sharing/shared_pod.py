"""A pod that requests a GPU fraction: its container, and the ConfigMaps that name the device.

Both ConfigMaps belong to the pod. The container reads variables of the first one by name, and all
variables of the second one. The second one has the devices if the container does not read them by
name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kai.admission import answers
from kai.api import gpu_memory, keys
from kai.api.reading import annotations_of, at, first_text, mapping, objects, text
from kai.errors import NotFoundError

SUFFIX_LENGTH = 7
"""The number of random characters in the names of the ConfigMaps."""

_LONGEST = 63  # name of a volume
_VOLUME = "-vol"
_ENVIRONMENT = "-evar"
_MIDDLE = "shared-gpu"
_CDI_DEVICE = "k8s.device-plugin.nvidia.com/gpu={device}"
_WHOLE = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class FractionContainer:
    """The container that gets the GPU fraction. `part`: the list of the spec that contains it."""

    part: str
    index: int
    fields: Mapping[str, Any]

    @property
    def place(self) -> str:
        """Its index in the pod, as in the ConfigMaps' names: "0", or "i0" for an init container."""
        return f"i{self.index}" if self.part == "initContainers" else str(self.index)


@dataclass(frozen=True, slots=True)
class ConfigMaps:
    """The names of a pod's ConfigMaps. `capabilities`: the container reads its keys by name;
    `environment`: the container reads all of it."""

    capabilities: str
    environment: str

    @property
    def volume(self) -> str:
        """The name of the volume of the capabilities: letters, digits and hyphens."""
        return re.sub(r"[^a-z0-9-]+", "-", f"{self.capabilities}{_VOLUME}".lower()).strip("-")


def shares_gpus(pod: Mapping[str, Any]) -> bool:
    """Whether the pod requests a GPU fraction, valid or not."""
    annotations = annotations_of(pod)
    return keys.GPU_FRACTION_ANNOTATION in annotations or keys.GPU_MEMORY_ANNOTATION in annotations


def fraction_container(pod: Mapping[str, Any]) -> FractionContainer:
    """The container in the pod's annotation, otherwise the first (spec 3 B18).

    Raises NotFoundError, with KAI's message, if there is no such container.
    """
    named = annotations_of(pod).get(keys.GPU_CONTAINER_ANNOTATION)
    for part in ("containers",) if named is None else ("initContainers", "containers"):
        for index, each in enumerate(objects(at(pod, "spec", part))):
            if named is None or each.get("name") == named:
                return FractionContainer(part, index, each)
    if named is None:
        raise NotFoundError("the pod has no container for its part of a GPU")
    raise NotFoundError(answers.CONTAINER_NOT_FOUND.format(name=named))


def config_maps(pod: Mapping[str, Any]) -> ConfigMaps:
    """The names of the pod's ConfigMaps, after the prefix from admission (spec 3 B19).

    Raises NotFoundError, with KAI's message, for a pod without the prefix or without the container
    in its annotation.
    """
    prefix = annotations_of(pod).get(keys.SHARED_GPU_CONFIG_MAP_ANNOTATION)
    if prefix is None:
        namespace, name = (text(at(pod, "metadata", each)) for each in ("namespace", "name"))
        raise NotFoundError(
            f"no desired configmap name found in pod {namespace}/{name} annotations"
        )
    capabilities = f"{prefix}-{fraction_container(pod).place}"
    return ConfigMaps(capabilities, f"{capabilities}{_ENVIRONMENT}")


def config_map_prefix(pod: Mapping[str, Any], draw: Callable[[int], str]) -> str:
    """The prefix for a new pod: the name of its first owner, or its own, and random characters.

    `draw` returns that many random characters. A pod that will get its name from `generateName`
    uses that text; KAI's prefix would start with a hyphen. Raises NotFoundError as
    `fraction_container` does.
    """
    owners = objects(at(pod, "metadata", "ownerReferences"))
    base = first_text(
        owners[0].get("name") if owners else None,
        at(pod, "metadata", "name"),
        at(pod, "metadata", "generateName"),
    )
    # The longest name built from it must fit a volume name: 33 characters with one digit (spec 3
    # B19).
    after = f"-{'x' * SUFFIX_LENGTH}-{_MIDDLE}-{fraction_container(pod).index}"
    room = _LONGEST - len(after) - len(_ENVIRONMENT) - len(_VOLUME)
    return f"{base[:room].rstrip('.-')}-{draw(SUFFIX_LENGTH)}-{_MIDDLE}"


def config_map_bodies(
    pod: Mapping[str, Any],
    devices: Sequence[str],
    portion: str,
    *,
    cdi: bool = False,
    hami: bool = False,
    node_labels: Mapping[str, Any] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Both ConfigMaps of a pod that got these devices, as the API server accepts them.

    `devices`: UUIDs, in the order of its GPU groups. `portion`: the fraction of each device, with
    two decimals, as in the BindRequest. `cdi`: devices have the names of the device plugin's CDI
    files. `hami`: adds the memory limit that HAMi-core reads (spec 3 B24), if `node_labels` have
    the memory of a device. A container that reads the limits of MPS by name gets them, too: the
    memory by `node_labels`, unless the pod requests an amount (`needs_memory_of_node`). Raises
    NotFoundError as `config_maps` does.
    """
    names = config_maps(pod)
    named = [_CDI_DEVICE.format(device=each) if cdi else each for each in devices]
    visible = {keys.VISIBLE_DEVICES_ENV: ",".join(named)}
    capabilities = {keys.GPU_PORTION_ENV: portion, keys.LEGACY_GPU_PORTION_ENV: portion}
    environment: dict[str, str] = {}
    by_name = _read_by_name(pod)
    is_read = keys.VISIBLE_DEVICES_ENV in by_name
    (capabilities if is_read else environment).update(visible)  # spec 3 B21
    limit = _memory_limit(node_labels, portion) if hami else None
    if limit is not None:
        capabilities[keys.GPU_MEMORY_LIMIT_ENV] = f"{limit}m"
    if keys.MPS_LIMIT_ENV in by_name and (limit := _mps_limit(pod, node_labels)) is not None:
        each = (f"{ordinal}={limit}M" for ordinal in range(len(devices)))
        capabilities[keys.MPS_LIMIT_ENV] = ",".join(each)
    if keys.MPS_THREADS_ENV in by_name and (threads := _percentage(portion)) is not None:
        capabilities[keys.MPS_THREADS_ENV] = threads
    return [
        _config_map(pod, names.capabilities, capabilities),
        _config_map(pod, names.environment, environment),
    ]


def needs_memory_of_node(pod: Mapping[str, Any]) -> bool:
    """Whether its ConfigMaps depend on the memory of a device of its node. Raises NotFoundError as
    `config_maps` does."""
    requests_amount = keys.GPU_MEMORY_ANNOTATION in annotations_of(pod)
    return not requests_amount and keys.MPS_LIMIT_ENV in _read_by_name(pod)


def _read_by_name(pod: Mapping[str, Any]) -> frozenset[str]:
    """The variables that the container with the share reads from keys of ConfigMaps."""
    return frozenset(
        text(each.get("name"))
        for each in objects(fraction_container(pod).fields.get("env"))
        if isinstance(at(each, "valueFrom", "configMapKeyRef"), Mapping)
    )


def _mps_limit(pod: Mapping[str, Any], node_labels: Mapping[str, Any]) -> int | None:
    """MiB of each device for a process: what the scheduler has reserved; None: not known."""
    annotations = annotations_of(pod)
    memory = text(annotations.get(keys.GPU_MEMORY_ANNOTATION))
    total = text(node_labels.get(keys.GPU_MEMORY_LABEL))
    try:
        if memory:
            return int(memory) or None
        if not _WHOLE.fullmatch(total):
            return None
        part = float(text(annotations.get(keys.GPU_FRACTION_ANNOTATION)))
        return gpu_memory.reserved(int(total), fraction=part) or None
    except (ValueError, OverflowError):
        return None


def _percentage(portion: str) -> str | None:
    try:
        return str(max(1, round(100 * float(portion))))
    except (ValueError, OverflowError):
        return None


def _memory_limit(node_labels: Mapping[str, Any], portion: str) -> int | None:
    """In MiB; None: no limit. A label in bytes is converted; KAI does not convert it."""
    total = text(node_labels.get(keys.GPU_MEMORY_LABEL))
    if not _WHOLE.fullmatch(total):
        return None
    try:
        return gpu_memory.hami_limit(int(total), float(portion))
    except (ValueError, OverflowError):
        return None


def _config_map(pod: Mapping[str, Any], name: str, data: Mapping[str, str]) -> dict[str, Any]:
    metadata = mapping(pod.get("metadata"))
    owner = {"apiVersion": "v1", "kind": "Pod"}
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": text(metadata.get("namespace")),
            "ownerReferences": [
                {**owner, "name": text(metadata.get("name")), "uid": text(metadata.get("uid"))}
            ],
        },
    }
    if data:
        body["data"] = dict(sorted(data.items()))
    return body
