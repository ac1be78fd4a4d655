"""Checks of the GPU request of a pod (spec 7 C1-C8, C15)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from kai.admission import answers, misspelt, shape
from kai.admission.finding import Edit, Finding, Path, error, refusal, warning
from kai.admission.pods import Container, Pod, amounts, environment, place_of
from kai.api import keys, quantities, rules
from kai.api.numerals import literal
from kai.api.reading import at, mapping
from kai.api.rules import is_gpu_resource

_WHOLE = re.compile(r"[0-9]{1,40}")
_MOST = 2**64 - 1
"""What KAI's webhook reads of a whole number; its scheduler reads less: quantities.LARGEST."""
_MOST_GPUS = 1000
"""A larger fraction was not meant as a number of GPUs."""
_LEAST_PERCENT = 10
"""A whole number from here to 99 may be meant as percent."""
# Numbers as KAI reads them: underscores may group digits, and hexadecimals have an exponent.
_DECIMAL = re.compile(r"[+-]?([0-9_]+\.?[0-9_]*|\.[0-9_]+)(e[+-]?[0-9_]+)?", re.IGNORECASE)
_HEXADECIMAL = re.compile(
    r"[+-]?0x_?([0-9a-f_]+\.?[0-9a-f_]*|\.[0-9a-f_]+)p[+-]?[0-9]+", re.IGNORECASE
)
_NVFRACTIONS = re.compile(
    r"nvidia\.com/container\.(?P<container>.+)\.(?P<what>gpu-memory\.(request|limit)|gpus\.devices)"
)
_SIDECARS = ("sidecar.istio.io/inject", "linkerd.io/inject")
VISIBLE_DEVICES = keys.VISIBLE_DEVICES_ENV


def shares(pod: Pod) -> bool:
    """Whether the pod requests a part of a GPU, with a valid value or not."""
    return any(key in pod.annotations for key in shape.SHARES)


def has_gpu(pod: Pod) -> bool:
    """Whether the pod requests whole GPUs, slices, devices of a claim, or a part of a GPU."""
    return (
        shares(pod)
        or any(_NVFRACTIONS.fullmatch(str(key)) for key in pod.annotations)
        or bool(pod.spec.get("resourceClaims"))
        or any(
            (is_gpu_resource(name) or name in keys.WHOLE_GPUS) and str(amount) != "0"
            for container in (*pod.containers, *pod.init_containers)
            for _, name, amount in amounts(container)
        )
    )


def check(pod: Pod) -> Iterator[Finding]:
    """All findings about the GPU request."""
    yield from request(pod)
    yield from _nvfractions(pod, _values(pod))
    yield from unknown_resources(pod)
    if shares(pod):
        named = _values(pod).get(keys.GPU_CONTAINER_ANNOTATION)
        if named is None:
            yield from _container_not_named(pod)
        yield from _visible_devices(pod)


def request(pod: Pod) -> Iterator[Finding]:
    """The findings about amounts and annotations of the request, in the order in which KAI's
    webhook checks them (spec 6 C18): its answer is that of the first finding that has one."""
    values = _values(pod)
    fraction = values.get(keys.GPU_FRACTION_ANNOTATION)
    memory = values.get(keys.GPU_MEMORY_ANNOTATION)
    devices = values.get(keys.GPU_DEVICES_ANNOTATION)
    if values.get(keys.MPS_ANNOTATION) == "true" and not shares(pod):
        yield refusal(
            "mps-without-share",
            _place(pod, keys.MPS_ANNOTATION),
            "KAI refuses mps for a pod that requests no part of a GPU",
            "add gpu-fraction or gpu-memory, or remove it",
            answer=answers.MPS,
        )
    if shares(pod):
        yield from _beside_whole_gpus(
            pod, answers.BOTH if fraction is None else answers.BESIDE_WHOLE
        )
    if fraction is not None and memory is not None:
        yield refusal(
            "fraction-and-memory",
            _place(pod, keys.GPU_MEMORY_ANNOTATION),
            "KAI refuses a pod with both gpu-fraction and gpu-memory",
            "write only one of them",
            answer=answers.BOTH,
        )
    if devices is not None and not shares(pod):
        yield refusal(
            "devices-without-share",
            _place(pod, keys.GPU_DEVICES_ANNOTATION),
            "KAI refuses a number of devices without gpu-fraction or gpu-memory",
            "add one of them: the amount applies to each device",
            answer=answers.DEVICES_ALONE,
        )
    if memory is not None:
        yield from _memory(memory, _place(pod, keys.GPU_MEMORY_ANNOTATION))
    if fraction is not None:
        yield from _fraction(fraction, _place(pod, keys.GPU_FRACTION_ANNOTATION))
    if devices is not None:
        yield from _devices(devices, _place(pod, keys.GPU_DEVICES_ANNOTATION))
    if shares(pod):
        yield from _container_missing(pod, values.get(keys.GPU_CONTAINER_ANNOTATION))


def _values(pod: Pod) -> dict[str, str]:
    return {key: _text(value) for key, value in pod.annotations.items()}


def unknown_resources(pod: Pod) -> Iterator[Finding]:
    """Resources that no node has, and whose names resemble a GPU resource or an annotation."""
    has = has_gpu(pod)
    for container in (*pod.containers, *pod.init_containers):
        for where, name, _ in amounts(container):
            if name in keys.WHOLE_GPUS:
                continue
            if meant := misspelt.gpu_resource(name):
                yield error(
                    "resource-unknown",
                    where,
                    f"no node has {name}: pods that request it get no GPU and wait",
                    f"did you mean {meant}?",
                )
            elif not has and (annotation := misspelt.meant(name)) in misspelt.OF_GPUS:
                yield warning(
                    "resource-unknown",
                    where,
                    f"{name} is no resource of KAI: the pod gets no GPU",
                    f"did you mean the annotation {annotation}?",
                )


def _place(pod: Pod, key: str) -> Path:
    return pod.place_of("annotations", key)


def _nvfractions(pod: Pod, values: dict[str, str]) -> Iterator[Finding]:
    """The annotations of KAI 0.18 and later, which name the container (spec 7 NX2)."""
    named = {key: found for key in values if (found := _NVFRACTIONS.fullmatch(key))}
    sizes: dict[tuple[str, str], Fraction] = {}
    for key, found in named.items():
        where = _place(pod, key)
        container, what = found["container"], found["what"]
        wrong = fix = ""
        if what == "gpus.devices":
            wrong, fix = "KAI writes the devices itself", "remove it"
        elif pod.names() and container not in pod.names():
            wrong = f"there is no container {container!r}"
            fix = f"write one of {', '.join(dict.fromkeys(pod.names()))} in the key"
        else:
            try:
                sizes[container, what] = quantities.parse(values[key])
            except ValueError:
                wrong, fix = (
                    f"{values[key]!r} is not a quantity",
                    "write a quantity, such as 7680Mi",
                )
        if wrong:
            yield refusal("nvfractions-refused", where, wrong, fix)
    containers = sorted({container for container, _ in sizes})
    if len(containers) > 1:
        yield refusal(
            "nvfractions-refused",
            (*pod.metadata_at, "annotations"),
            f"KAI gives a part of a GPU to one container of a pod, not to {len(containers)}",
            f"write it for one of {', '.join(containers)}",
        )
    for container in containers:
        request = sizes.get((container, "gpu-memory.request"))
        limit = sizes.get((container, "gpu-memory.limit"))
        if request is not None and limit is not None and request > limit:
            yield refusal(
                "nvfractions-refused",
                _place(pod, keys.NVFRACTIONS_REQUEST_ANNOTATION.format(container=container)),
                "the request is above the limit",
                "write a limit of at least the request",
            )


def _text(value: Any) -> str:
    return literal(value) if isinstance(value, float) else str(value)


def _fraction(value: str, where: Path) -> Iterator[Finding]:
    number = _float(value)
    exact = _quantity(value)
    if number is None or number <= 0 or number >= 1:  # NaN is neither
        answer = answers.FRACTION
    elif exact is None:
        answer = answers.WRITTEN_OTHERWISE.format(value=value)
    else:
        yield from _rounded(value, exact, where)
        return
    fix, edit = "write a number between 0 and 1, such as 0.5", None
    part = misspelt.part_of(value)
    meant = None if part is None else rules.decimal_text(Fraction(round(part, 2)))
    if part is not None and meant and 0 < Fraction(meant) < 1 and meant != value:
        fix, edit = f"write {meant}", Edit("set", where, meant) if Fraction(meant) == part else None
    elif exact is not None and 1 <= exact <= _MOST_GPUS:
        fix = _several(exact)
    what = f"gpu-fraction {rules.shown(value)}" if value else "an empty gpu-fraction"
    yield refusal("fraction-refused", where, f"KAI refuses {what}", fix, edit, answer=answer)


def _several(exact: Fraction) -> str:
    """What to write instead of a fraction of 1 or more."""
    count = math.ceil(exact)
    each = Fraction(round(exact / count, 2))
    if each == 1:
        whole = f"for whole GPUs, remove it and write the limit nvidia.com/gpu: {count}"
        if _LEAST_PERCENT <= count < 100:
            part = rules.decimal_text(exact / 100)
            return f"for {count} percent of a GPU write {part}; {whole}"
        return whole
    part = rules.decimal_text(each)
    return f"write {keys.GPU_DEVICES_ANNOTATION}: {count} and a fraction of each, {part}"


def _rounded(value: str, exact: Fraction, where: Path) -> Iterator[Finding]:
    announced = f"{float(exact):.2f}"
    if Fraction(announced) != exact:
        yield warning(
            "fraction-rounded",
            where,
            f"KAI gives the pod its share with two decimals: {value} becomes {announced}",
            f"write {announced}" if float(announced) > 0 else "write at least 0.01",
        )


def _float(value: str) -> float | None:
    """The number that KAI reads; None if it cannot read one."""
    if value.lower() == "nan":
        return math.nan
    try:
        if _DECIMAL.fullmatch(value):
            return float(value)
        if _HEXADECIMAL.fullmatch(value):
            return float.fromhex(value.replace("_", ""))
    except (ValueError, OverflowError):
        return None
    return None


def _quantity(value: str) -> Fraction | None:
    try:
        return quantities.parse(value)
    except ValueError:
        return None


def _devices(value: str, where: Path) -> Iterator[Finding]:
    fix = "write a whole number of at least 1"
    if _is_count(value):
        yield from _unread("devices-refused", "a number of devices", value, where, fix)
        return
    what = f"KAI refuses {rules.shown(value)} devices"
    yield refusal("devices-refused", where, what, fix, answer=answers.DEVICES)


def _unread(code: str, what: str, value: str, where: Path, fix: str) -> Iterator[Finding]:
    """A count that KAI's webhook accepts. KAI's scheduler and `kai run` cannot read it."""
    if int(value) > quantities.LARGEST:
        message = f"{what} of {value} is more than the scheduler can read, 2^63 - 1"
        yield refusal(code, where, message, fix)


def _memory(value: str, where: Path) -> Iterator[Finding]:
    if _is_count(value):
        fix = "write a whole number of MiB, such as 5120"
        yield from _unread("gpu-memory-refused", "a gpu-memory", value, where, fix)
        return
    fix, edit = "write a whole number of MiB, such as 5120", None
    if mib := misspelt.mib_of(value):
        fix = f"write {math.ceil(mib)}"
        if mib.denominator == 1:
            edit = Edit("set", where, str(mib))
        else:
            fix += ", the same rounded up to whole MiB"
    elif (part := misspelt.part_of(value)) is not None:
        fix = shape.share_for(part).replace("write", f"remove it, and write for {value} of a GPU")
    yield refusal(
        "gpu-memory-refused",
        where,
        f"KAI refuses gpu-memory {rules.shown(value)}",
        fix,
        edit,
        answer=answers.MEMORY,
    )


def _is_count(value: str) -> bool:
    return bool(_WHOLE.fullmatch(value)) and 0 < int(value) <= _MOST


def _beside_whole_gpus(pod: Pod, answer: str) -> Iterator[Finding]:
    """KAI's webhook reads limits only; the API server requires equal requests."""
    for container in (*pod.containers, *pod.init_containers):
        for part in ("limits", "requests"):
            for name, amount in mapping(at(container.fields, "resources", part)).items():
                if not is_gpu_resource(name):
                    continue
                what = (
                    "KAI refuses the pod"
                    if name == keys.NVIDIA_GPU
                    else "KAI uses only one of them"
                )
                owner = f"container {container.name}" if container.name else "a container"
                requested = literal(amount) if isinstance(amount, float) else amount
                found = error(
                    "whole-gpu-beside-fraction",
                    place_of(container, part, name),
                    f"{owner} requests {name}: {requested} in addition to a part of a GPU: {what}"
                    + (", even for 0" if str(amount) == "0" else ""),
                    "remove it, or remove the part of a GPU",
                )
                is_whole = name == keys.NVIDIA_GPU
                yield replace(
                    found,
                    refused=is_whole,
                    answer=answer if is_whole and part == "limits" else "",
                )


def _container_missing(pod: Pod, named: str | None) -> Iterator[Finding]:
    names = pod.names()
    if named is None or not names or named in names:
        return
    where = _place(pod, keys.GPU_CONTAINER_ANNOTATION)
    meant = names[0] if len(set(names)) == 1 else None
    yield refusal(
        "container-missing",
        where,
        f"there is no container {named!r}: KAI's webhook refuses the pod",
        f"write {'one of ' if meant is None else ''}{', '.join(dict.fromkeys(names))}",
        None if meant is None else Edit("set", where, meant),
        answer=answers.CONTAINER_MISSING.format(name=named),
    )


def _container_not_named(pod: Pod) -> Iterator[Finding]:
    key = keys.GPU_CONTAINER_ANNOTATION
    before = _place(pod, next(each for each in shape.SHARES if each in pod.annotations))
    if pod.main is not None:
        yield error(
            "container-not-named",
            before,
            "KAI gives the part of a GPU to the first container, which the orchestrator adds here",
            f"add {key}: {pod.main}",
            Edit("add", before, pod.main, key),
        )
    elif len(pod.containers) > 1 or any(each in pod.annotations for each in _SIDECARS):
        name = pod.containers[0].name if pod.containers else "main"
        yield warning(
            "container-not-named",
            before,
            "KAI gives the part of a GPU to the first container, and others may be added before it",
            f"add {key}: {name}",
        )


def container_with_share(pod: Pod) -> Container | None:
    """The container that gets the part of a GPU; None: the manifest does not have it."""
    named = _values(pod).get(keys.GPU_CONTAINER_ANNOTATION)
    target: Container | None = next(
        (each for each in pod.containers if each.name == (named or pod.main)), None
    )
    if target is None and named is None and pod.containers:
        target = pod.containers[0]
    return target


def _visible_devices(pod: Pod) -> Iterator[Finding]:
    if (target := container_with_share(pod)) is None:
        return
    for where, variable in environment(target):
        if variable.get("name") == VISIBLE_DEVICES:
            yield warning(
                "visible-devices",
                where,
                f"KAI replaces {VISIBLE_DEVICES} of the container that gets the part of a GPU",
                "remove it",
            )
