"""limit(): limits a framework to the pod's share of GPU memory (spec 7 W1, W2).

    import kai.runtime
    kai.runtime.limit("torch")

It runs in the pod, so it can query what a builder can only guess: the memory that CUDA reports, and
whether that is already the share. Call it before the framework first uses a GPU. A second call
changes nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import sys
import warnings
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

from kai.api import gpu_memory
from kai.runtime import driver, variables
from kai.runtime.state import guard

HEADROOM_MIB = 512
_JAX = ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION")


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The result. `applied`: the frameworks that are limited; `problems`: why others are not.

    fractions, budgets_mib and totals_mib have an entry for each device: the part of the total for
    an allocator, the memory that the process may use, and the memory that CUDA reports.
    """

    applied: tuple[str, ...]
    isolation: str  # none, guard, hamicore or mps
    portion: float | None
    fractions: tuple[float, ...]
    budgets_mib: tuple[int, ...]
    totals_mib: tuple[int, ...]
    headroom_mib: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Device:
    ordinal: int
    total_mib: int
    budget_mib: int
    fraction: Fraction
    free_mib: int  # for an allocator


_done: dict[str, Limit] = {}
"""The limits of this process, by framework: a second call changes nothing."""


def limit(
    framework: str | Sequence[str] = "auto",
    headroom_mib: int = HEADROOM_MIB,
    *,
    processes: int = 1,
    environ: MutableMapping[str, str] | None = None,
    totals_mib: Sequence[int] | None = None,
) -> Limit:
    """Sets the GPU memory limit of one or several frameworks; never raises.

    framework: "auto" selects the imported ones of torch, tensorflow, jax and cupy, or else the
      installed ones.
    headroom_mib: memory that CUDA needs in addition to the allocators. processes: number of
      processes that share the pod's devices.
    totals_mib: memory of each device as CUDA reports it, if it should not be queried.

    Problems are warnings, and are in the result.
    """
    given: MutableMapping[str, str] = os.environ if environ is None else environ
    names = _frameworks(framework)
    if names and all(name in _done for name in names):
        return _done[names[0]]
    problems: list[str] = []
    isolation, portion = guard(environ=environ).isolation, variables.portion(given)
    devices: list[_Device] = []
    if isolation == "none" and portion is None:
        problems.append("this container has no share of a GPU, so nothing is limited")
    elif wrong := _wrong(headroom_mib, 0, "headroom_mib") or _wrong(processes, 1, "processes"):
        problems.append(wrong)
    elif not names:
        problems.append("no framework was found: write its name, as in limit('torch')")
    else:
        try:
            totals = list(totals_mib) if totals_mib is not None else driver.memory_of_devices()
        except driver.NoAnswer as error:
            totals = []
            problems.append(f"the memory of the GPU cannot be queried: {error}")
        devices = _devices(given, totals, isolation, portion, headroom_mib, processes, problems)
    applied = []
    for name in names if devices else ():
        problem = _limit_framework(name, devices, given)
        if problem is None:
            applied.append(name)
        else:
            problems.append(problem)
    result = Limit(
        applied=tuple(applied),
        isolation=isolation,
        portion=portion,
        fractions=tuple(float(each.fraction) for each in devices),
        budgets_mib=tuple(each.budget_mib for each in devices),
        totals_mib=tuple(each.total_mib for each in devices),
        headroom_mib=headroom_mib,
        problems=tuple(problems),
    )
    for name in applied:
        _done[name] = result
    for problem in problems:
        warnings.warn(f"kai.runtime.limit: {problem}", RuntimeWarning, stacklevel=2)
    return result


def _wrong(value: object, least: int, name: str) -> str:
    if isinstance(value, Integral) and int(value) >= least:
        return ""
    return f"{name} is {value!r}: write a whole number of at least {least}"


def _devices(
    environ: Mapping[str, str],
    totals: Sequence[int],
    isolation: str,
    portion: float | None,
    headroom_mib: int,
    processes: int,
    problems: list[str],
) -> list[_Device]:
    devices = []
    for ordinal, total in enumerate(totals):
        if isolation in ("guard", "hamicore"):
            budget = total  # CUDA already reports the share: do not scale twice (spec 7 W2)
        elif isolation == "mps":
            # MPS limits each process separately; it may also report less memory.
            budget = min(total, variables.mps_limit_mib(environ, ordinal) or total)
        else:
            budget = math.floor((portion or 1) * total)
        if isolation != "mps":
            budget //= max(1, processes)
        part = gpu_memory.allocator_fraction(budget=budget, total=total, headroom=headroom_mib)
        if part is None:
            problems.append(
                f"the share of device {ordinal}, {budget} MiB of {total}, leaves nothing after"
                f" {headroom_mib} MiB for CUDA"
            )
            continue
        devices.append(_Device(ordinal, total, budget, part, budget - headroom_mib))
    if not totals and not problems:
        problems.append("there is no GPU to limit")
    return devices


def _frameworks(framework: str | Sequence[str]) -> list[str]:
    if framework != "auto":
        return [framework] if isinstance(framework, str) else list(framework)
    imported = [name for name in _LIMITERS if name in sys.modules]
    return imported or [name for name in _LIMITERS if _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _limit_framework(
    name: str, devices: Sequence[_Device], environ: MutableMapping[str, str]
) -> str | None:
    """Limits a framework; returns None, or why it could not."""
    if name in _done:
        return None
    if name not in _LIMITERS:
        return f"{name} cannot be limited: write one of {', '.join(_LIMITERS)}"
    try:
        return _LIMITERS[name](devices, environ)
    except Exception as error:  # no error of a framework may stop the pod
        return f"{name} could not be limited: {type(error).__name__}: {error}"


# ---- each framework; a returned string says why it is not limited --------------------------------


def _torch(devices: Sequence[_Device], _: MutableMapping[str, str]) -> str | None:
    torch: Any = importlib.import_module("torch")
    for each in devices:
        torch.cuda.set_per_process_memory_fraction(float(each.fraction), each.ordinal)
    return None


def _tensorflow(devices: Sequence[_Device], _: MutableMapping[str, str]) -> str | None:
    config: Any = importlib.import_module("tensorflow").config
    for gpu, each in zip(config.list_physical_devices("GPU"), devices, strict=False):
        wanted = config.LogicalDeviceConfiguration(memory_limit=each.free_mib)
        config.set_logical_device_configuration(gpu, [wanted])
    return None


def _jax(devices: Sequence[_Device], environ: MutableMapping[str, str]) -> str | None:
    for name in _JAX:
        if name in environ:
            return f"jax already has {name}={environ[name]}"
    bridge: Any = sys.modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "backends_are_initialized", None)
    if callable(started) and started():
        return "jax already uses the GPU: call kai.runtime.limit() earlier"
    # One number for all devices: the smallest.
    environ[_JAX[0]] = f"{float(min(each.fraction for each in devices)):.3f}"
    return None


def _cupy(devices: Sequence[_Device], _: MutableMapping[str, str]) -> str | None:
    cupy: Any = importlib.import_module("cupy")
    for each in devices:
        with cupy.cuda.Device(each.ordinal):
            cupy.get_default_memory_pool().set_limit(size=each.free_mib * 1024**2)
    return None


_LIMITERS: dict[str, Callable[[Sequence[_Device], MutableMapping[str, str]], str | None]] = {
    "torch": _torch,
    "tensorflow": _tensorflow,
    "jax": _jax,
    "cupy": _cupy,
}
