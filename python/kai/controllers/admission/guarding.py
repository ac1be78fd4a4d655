"""The guard in a new pod that shares a GPU: its files, and the variables that it reads
(docs/internals/guard.md).

    guarding = decide(pod, rules, known)
    if guarding.is_guarded:
        add_guard(pod, rules.guard)

An init container of kai's own image puts the library and an empty file into an emptyDir: such a
volume is allowed everywhere, also where pods may use nothing of their node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kai.admission import guards
from kai.admission.finding import Finding
from kai.admission.pods import pods_in
from kai.api import keys
from kai.api.reading import annotations_of, at, labels_of, mapping, objects, text
from kai.controllers.admission.known import Known
from kai.controllers.admission.rules import Guard, Rules, fraction_container_ref, has_lists

FOLDER = "/run/kai-guard"
LIBRARY = f"{FOLDER}/libkaiguard.so"
VOLUME = keys.GUARD_VOLUME
CONTAINER = "kai-guard"

_ARGS = ["run", "guard-files", FOLDER]
_DIGITS = re.compile(r"[0-9]{1,15}")
_AMOUNTS = {"cpu": "100m", "memory": "128Mi"}  # requests and limits of the init container
_USER = 10000
_SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def limit_of(pod: Mapping[str, Any]) -> str:
    """The share of each device, as the guard reads it: "0.5", "4096Mi"; "": the pod has none.

    >>> limit_of({"metadata": {"annotations": {"gpu-fraction": "0.25"}}})
    '0.25'
    """
    annotations = annotations_of(pod)
    memory = text(annotations.get(keys.GPU_MEMORY_ANNOTATION))
    if _DIGITS.fullmatch(memory) and int(memory) > 0:
        return f"{int(memory)}Mi"
    try:
        # As the scheduler reads it: "5e-1" and "+0.5", too.
        part = float(text(annotations.get(keys.GPU_FRACTION_ANNOTATION)))
    except ValueError:
        return ""
    if not 0 < part <= 1:
        return ""
    decimals = f"{part:.9f}".rstrip("0")
    return decimals + "0" if decimals.endswith(".") else decimals  # "1" would be a byte


@dataclass(frozen=True, slots=True)
class Guarding:
    """`problem`: why a pod does without the guard that it should have, or why that is not known;
    "": it is as chosen. `notes`: what the guard changes for the pod's own settings."""

    is_guarded: bool
    problem: str = ""
    notes: tuple[str, ...] = ()


def decide(pod: Mapping[str, Any], rules: Rules, known: Known) -> Guarding:
    """Whether a new pod gets the guard: by its own annotation, that of its queue or of the nearest
    queue above, or else by the installation. Raises NotFoundError for a pod that names a missing
    container."""
    guard = rules.guard
    if not guard.image or not has_lists(pod) or not limit_of(pod):
        return Guarding(False)
    given = annotations_of(pod).get(keys.GUARD_ANNOTATION)
    chosen = _chosen(given)
    unknown = ""
    if given is not None and chosen is None:
        unknown = f'the annotation {keys.GUARD_ANNOTATION} is {given!r}: write "true" or "false"'
    queue = text(labels_of(pod).get(rules.queue_label))
    if chosen is None and queue and not known.knows_queues:
        unknown = f"the choice of queue {queue} is not known yet: create the pod again"
    elif chosen is None:
        chosen = choice_of(queue, known)
    if not (guard.shares if chosen is None else chosen):
        return Guarding(False, unknown and f"the pod gets no guard of its GPU memory: {unknown}")
    needs_library = gets_library(pod, guard)
    if needs_library and (problem := _obstacle(pod)):
        hint = f'or write the annotation {keys.GUARD_ANNOTATION}: "false"'
        return Guarding(False, f"the pod gets no guard of its GPU memory: {problem}, {hint}")
    said = unknown and f"the pod gets the guard of its GPU memory: {unknown}"
    notes = _notes(pod, is_own_choice=_chosen(given) is True) if needs_library else ()
    return Guarding(True, said, notes)


def uses_mps(pod: Mapping[str, Any]) -> bool:
    """Whether the pod is a client of MPS, which limits the memory of each process."""
    return annotations_of(pod).get(keys.MPS_ANNOTATION) == "true"


def gets_library(pod: Mapping[str, Any], guard: Guard) -> bool:
    """Whether a pod with the guard gets its library. A client of MPS has the limits of MPS instead,
    which are none where no daemon of MPS runs: that is not enough where the guard is required."""
    return guard.required or not uses_mps(pod)


def _notes(pod: Mapping[str, Any], *, is_own_choice: bool) -> tuple[str, ...]:
    found: list[Finding] = []
    for own in pods_in({**pod, "kind": "Pod"}):
        found += guards.replaced(own)
        if not is_own_choice:
            found += guards.parts_of_share(own)
    return tuple(f"{each.message}; {each.fix}" for each in found)


def choice_of(queue: str, known: Known) -> bool | None:
    """What a queue has chosen for its pods, or the nearest one above it; None: none of them."""
    passed = set[str]()
    while queue not in passed and (found := known.queue(queue)) is not None:
        if (chosen := _chosen(found.guard)) is not None:
            return chosen
        passed.add(queue)
        queue = found.parent
    return None


def _chosen(value: object) -> bool | None:
    return {"true": True, "false": False}.get(text(value))


def _obstacle(pod: Mapping[str, Any]) -> str:
    """Why this pod cannot have the guard, and what to change; "": it can."""
    part, index = fraction_container_ref(pod)
    container = objects(at(pod, "spec", part))[index]
    name = text(container.get("name"))
    if part == "initContainers":
        # One more init container would change its place, and with it the names of its ConfigMaps.
        return f"its share is in the init container {name}: give it to a container"
    volume = _named(at(pod, "spec", "volumes"), VOLUME)
    if volume and at(volume, "emptyDir", "medium") != "Memory":
        return f"it has a volume {VOLUME} of its own: rename it"
    files = _named(at(pod, "spec", "initContainers"), CONTAINER)
    if _named(at(pod, "spec", "containers"), CONTAINER) or (files and not _is_ours(files)):
        return f"it has a container {CONTAINER} of its own: rename it"
    for each in objects(container.get("volumeMounts")):
        mounted, place = text(each.get("name")), text(each.get("mountPath"))
        if (mounted == VOLUME) != (place.rstrip("/") == FOLDER):
            return f"container {name} mounts {mounted} at {place}: move it"
    if "valueFrom" in _named(container.get("env"), keys.PRELOAD_ENV):
        return f"container {name} has {keys.PRELOAD_ENV} by reference: write its value"
    return ""


def _is_ours(container: Mapping[str, Any]) -> bool:
    args = container.get("args")
    return isinstance(args, list) and args[: len(_ARGS)] == _ARGS


def _named(listed: object, name: str) -> Mapping[str, Any]:
    return next((each for each in objects(listed) if each.get("name") == name), {})


def add_guard(pod: dict[str, Any], guard: Guard) -> None:
    """Changes a pod that gets the guard as `decide` says. Done again, it changes nothing."""
    spec = pod["spec"]
    part, index = fraction_container_ref(pod)
    container = spec[part][index]
    if not _named(spec.get("volumes"), VOLUME):
        volume = {"name": VOLUME, "emptyDir": {"medium": "Memory"}}
        spec["volumes"] = [*(spec.get("volumes") or []), volume]
    if not _named(spec.get("initContainers"), CONTAINER):
        files = {**_files(spec, guard), "resources": _resources(spec)}
        spec["initContainers"] = [files, *(spec.get("initContainers") or [])]
    if not _named(container.get("volumeMounts"), VOLUME):
        mount = {"name": VOLUME, "mountPath": FOLDER}
        container["volumeMounts"] = [*(container.get("volumeMounts") or []), mount]
    variables = objects(container.get("env"))
    preloaded = text(_named(variables, keys.PRELOAD_ENV).get("value"))
    earlier = [each for each in re.split(r"[ :]+", preloaded) if each]
    written = {
        keys.PRELOAD_ENV: ":".join([LIBRARY, *(each for each in earlier if each != LIBRARY)]),
        keys.GUARD_REGION_ENV: f"{FOLDER}/region",
        keys.GUARD_LIMIT_ENV: limit_of(pod),
    }
    # Without a value: it overrules those of the image and of envFrom, too.
    emptied = {"name": keys.GUARD_LIMITS_ENV}
    others = [each for each in variables if each.get("name") not in (*written, emptied["name"])]
    own = [{"name": name, "value": value} for name, value in written.items()]
    container["env"] = [*others, *own, emptied]


def _resources(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Of the init container: of what the pod's containers have amounts, so that the pod counts for
    no other limit of its queue, and its quality of service stays as it is."""
    counted: set[str] = set()
    for part in ("containers", "initContainers"):
        for container in objects(spec.get(part)):
            resources = mapping(container.get("resources"))
            counted |= {*mapping(resources.get("requests")), *mapping(resources.get("limits"))}
    amounts = {name: amount for name, amount in _AMOUNTS.items() if name in counted}
    return {"requests": amounts, "limits": amounts} if amounts else {}


def _files(spec: Mapping[str, Any], guard: Guard) -> dict[str, Any]:
    """The init container. Its user is the image's, or the pod's: OpenShift refuses users outside
    the range of a namespace. Only a pod of root needs another one."""
    is_root = at(spec, "securityContext", "runAsUser") == 0
    return {
        "name": CONTAINER,
        "image": guard.image,
        "args": [*_ARGS, *(() if guard.required else ("--optional",))],
        "securityContext": {**_SECURITY, **({"runAsUser": _USER} if is_root else {})},
        "volumeMounts": [{"name": VOLUME, "mountPath": FOLDER}],
    }
