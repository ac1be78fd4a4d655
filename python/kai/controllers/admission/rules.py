"""How an installation treats new pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kai.api import keys
from kai.api.reading import at, objects
from kai.controllers.sharing import fraction_container, shares_gpus
from kai.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class Rules:
    """`scheduler`: the pods of others are left alone. `sharing`: pods may ask for parts of GPUs.
    `hami`: their containers get the memory limit that HAMi-core reads. `blocks_devices`:
    containers without a GPU see none (spec 6 C20). `runtime_class`: of pods with a part of a GPU
    that name none; "": they keep none (spec 6 C21).
    """

    scheduler: str = keys.SCHEDULER_NAME
    sharing: bool = True
    hami: bool = False
    blocks_devices: bool = False
    runtime_class: str = "nvidia"


def without_device(pod: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Its containers, but for the one with the part of a GPU: list, place in it, and fields.

    Raises NotFoundError, in KAI's words, when the pod names a container that it has not.
    """
    shared = None
    if shares_gpus(pod) and objects(at(pod, "spec", "containers")):
        shared = fraction_container_ref(pod)
    for part in ("initContainers", "containers"):
        for index, each in enumerate(objects(at(pod, "spec", part))):
            if (part, index) != shared:
                yield part, index, each


def fraction_container_ref(pod: Mapping[str, Any]) -> tuple[str, int]:
    """Where its container with the part of a GPU is. Raises NotFoundError, in KAI's words."""
    try:
        found = fraction_container(pod)
    except NotFoundError as error:
        raise NotFoundError(f"failed to get fraction container ref: {error}") from error
    return found.part, found.index
