"""Reads the variables of a container that describe its GPUs (spec 7 X3, X4)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from kai.api import isolations, keys

_NONE = frozenset(("", "-1", "none", "void", "nodevfiles"))
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_BYTES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}

VISIBLE = (keys.VISIBLE_DEVICES_ENV, keys.LEGACY_VISIBLE_DEVICES_ENV)
"""Set by KAI; the second is its name before 0.7.4."""
SELECTED = ("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
PORTION = (keys.GPU_PORTION_ENV, keys.LEGACY_GPU_PORTION_ENV)
HAMI_LIMIT = keys.GPU_MEMORY_LIMIT_ENV
HAMI_SM_LIMIT = "CUDA_DEVICE_SM_LIMIT"
GUARD_REGION = keys.GUARD_REGION_ENV
GUARD_LIMIT = keys.GUARD_LIMIT_ENV
GUARD_LIMITS = keys.GUARD_LIMITS_ENV
PRELOAD = keys.PRELOAD_ENV
MPS_LIMIT = keys.MPS_LIMIT_ENV
MPS_PIPE = "CUDA_MPS_PIPE_DIRECTORY"
MPS_THREADS = keys.MPS_THREADS_ENV

SHOWN = (
    *VISIBLE,
    *SELECTED,
    "NVIDIA_DRIVER_CAPABILITIES",
    *PORTION,
    HAMI_LIMIT,
    HAMI_SM_LIMIT,
    GUARD_REGION,
    GUARD_LIMIT,
    GUARD_LIMITS,
    PRELOAD,
    MPS_LIMIT,
    MPS_PIPE,
    MPS_THREADS,
)
"""Variables to show if no GPU is found."""


def devices(value: str | None) -> tuple[str, ...] | None:
    """The devices that a list names; () if it names none, None if it is not set.

    >>> devices("k8s.device-plugin.nvidia.com/gpu=GPU-1,GPU-2"), devices("void"), devices(None)
    (('GPU-1', 'GPU-2'), (), None)
    """
    if value is None:
        return None
    if value.strip().lower() in _NONE:
        return ()
    # CDI writes vendor.com/class=name.
    return tuple(each.strip().rpartition("=")[2] for each in value.split(",") if each.strip())


def visible(environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """The devices of the container, restricted to those that CUDA may use."""
    given = next((found for name in VISIBLE if (found := devices(environ.get(name)))), None)
    selected = [found for name in SELECTED if (found := devices(environ.get(name))) is not None]
    if selected:
        return selected[0]
    return given if given is not None else devices(environ.get(VISIBLE[0]))


def portion(environ: Mapping[str, str]) -> float | None:
    """The part of each device that KAI has set; None if it is not set."""
    for name in PORTION:
        try:
            value = float(environ.get(name, ""))
        except ValueError:
            continue
        # KAI writes 0.00 for a very small part, so it carries no information.
        if 0 < value <= 1:
            return value
    return None


def size_mib(value: str | None) -> int | None:
    """A size of HAMi-core in MiB: g, m, k or bytes; None if it is not a size.

    >>> size_mib("7680m"), size_mib("2g"), size_mib("1048576"), size_mib("much")
    (7680, 2048, 1, None)
    """
    match = _SIZE.fullmatch((value or "").strip())
    if match is None:
        return None
    mib = float(match[1]) * _BYTES[match[2].lower()] / 1024**2
    return int(mib) or None


def hami_limit_mib(environ: Mapping[str, str], device: int) -> int | None:
    """HAMi-core's limit for a device: its own, or else the limit of all devices."""
    own = size_mib(environ.get(f"{HAMI_LIMIT}_{device}"))
    return own if own is not None else size_mib(environ.get(HAMI_LIMIT))


def has_hami_limit(environ: Mapping[str, str]) -> bool:
    return any(
        size_mib(value) is not None
        for name, value in environ.items()
        if name == HAMI_LIMIT or name.startswith(f"{HAMI_LIMIT}_")
    )


def has_guard(environ: Mapping[str, str]) -> bool:
    """Whether processes with these variables count what they allocate (docs/internals/guard.md).
    The loader ignores a library that does not exist."""
    library = isolations.guard_library(environ.get(PRELOAD, ""))
    return bool(environ.get(GUARD_REGION)) and library is not None and os.path.exists(library)


def isolation(environ: Mapping[str, str]) -> str:
    """What limits the memory of processes with these variables: none, guard, hamicore or mps."""
    if has_guard(environ):
        return isolations.GUARD
    if has_hami_limit(environ):
        return isolations.HAMI_CORE
    return isolations.NONE if mps_limit_mib(environ, 0) is None else isolations.MPS


def mps_limit_mib(environ: Mapping[str, str], device: int) -> int | None:
    """The entry of a device in a list such as ``0=4G,1=4G``."""
    for entry in environ.get(MPS_LIMIT, "").split(","):
        ordinal, _, size = entry.partition("=")
        if ordinal.strip() == str(device):
            return size_mib(size)
    return None


def number(environ: Mapping[str, str], name: str) -> float | None:
    try:
        value = float(environ[name])
    except (KeyError, ValueError):
        return None
    return value if 0 <= value <= 100 else None
