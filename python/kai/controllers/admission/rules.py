"""The settings of an installation for new pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kai.api import keys
from kai.api.reading import at, mapping, objects
from kai.controllers.pods.sharing import fraction_container, shares_gpus
from kai.errors import NotFoundError

REFUSED_BEYOND_KAI = frozenset(
    (
        "devices-refused",
        "duration-refused",
        "gpu-memory-refused",
        "quantity-refused",
        "queue-cycle",
        "queue-in-use",
        "queue-parent-unknown",
        "queue-quota-above-limit",
    )
)
"""Codes of `kai lint` that our webhooks refuse, and KAI's accept. Plans leave out an object with
one of the first four."""


@dataclass(frozen=True, slots=True)
class Guard:
    """How pods with a share of a GPU get the guard. `image`: kai's, which has it; "": none does.
    `shares`: pods get it if neither they nor their queue choose. `required`: a pod that cannot have
    it is refused, or waits; otherwise it starts without, and a warning says so. Pods that use MPS
    get its memory limits instead; `mps_threads`: and their part of the compute time."""

    image: str = ""
    shares: bool = True
    required: bool = False
    mps_threads: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """`scheduler`: pods of other schedulers are not changed. `sharing`: pods may request fractions
    of GPUs. `hami`: their containers get the memory limit that HAMi-core reads. `blocks_devices`:
    containers without a GPU see none (spec 6 C20). `runtime_class`: for pods with a GPU fraction
    that name none; "": nothing is set (spec 6 C21). `queue_label`: the key of the label with a
    pod's queue. `refused`: codes of findings that are refused, although KAI accepts them; other
    findings are warnings. `as_kai`: KAI's verdicts and words."""

    scheduler: str = keys.SCHEDULER_NAME
    sharing: bool = True
    hami: bool = False
    guard: Guard = Guard()
    blocks_devices: bool = False
    runtime_class: str = "nvidia"
    queue_label: str = keys.QUEUE_LABEL
    refused: frozenset[str] = REFUSED_BEYOND_KAI
    as_kai: bool = False


def without_device(pod: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """The pod's containers except the one with the GPU fraction: list, index, and fields.

    Raises NotFoundError, with KAI's message, if the pod names a missing container.
    """
    shared = None
    if shares_gpus(pod) and objects(at(pod, "spec", "containers")):
        shared = fraction_container_ref(pod)
    for part in ("initContainers", "containers"):
        for index, each in enumerate(objects(at(pod, "spec", part))):
            if (part, index) != shared:
                yield part, index, each


def fraction_container_ref(pod: Mapping[str, Any]) -> tuple[str, int]:
    """The place of the container with the GPU fraction. Raises NotFoundError, with KAI's
    message."""
    try:
        found = fraction_container(pod)
    except NotFoundError as error:
        raise NotFoundError(f"failed to get fraction container ref: {error}") from error
    return found.part, found.index


def has_lists(pod: Mapping[str, Any]) -> bool:
    """Whether the lists that are read here, if they are there, are lists of objects."""
    spec = mapping(pod.get("spec"))
    containers = [spec.get(part) for part in ("initContainers", "containers")]
    inner = [
        each.get(part)
        for listed in containers
        for each in objects(listed)
        for part in ("env", "envFrom", "volumeMounts")
    ]
    return all(
        listed is None or (isinstance(listed, list) and len(objects(listed)) == len(listed))
        for listed in (spec.get("volumes"), *containers, *inner)
    )
