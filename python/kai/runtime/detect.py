"""detect(): finds the GPU of a container, and the part of it that the pod may use.

>>> found = detect(environ={"NVIDIA_VISIBLE_DEVICES": "all"}, libraries=(), nvidia_smi=None)
>>> found.available, found.hinted  # variables of CUDA images are not a proof
(False, True)

Images set NVIDIA_VISIBLE_DEVICES=all, and nodes have a CDI directory, with or without a GPU (spec 7
X2). Proof is a driver that counts devices, nvidia-smi, or a framework that finds devices.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kai.runtime import driver, variables
from kai.runtime.state import guard

CDI_DIRECTORY = "/etc/cdi"
_FRAMEWORKS = {
    "torch": "import torch; print(torch.cuda.device_count() if torch.cuda.is_available() else 0)",
    "tensorflow": "import tensorflow as t; print(len(t.config.list_physical_devices('GPU')))",
    "jax": "import jax; print(len([d for d in jax.devices() if d.platform in ('gpu', 'cuda')]))",
    "cupy": "import cupy; print(cupy.cuda.runtime.getDeviceCount())",
}


@dataclass(frozen=True)
class Evidence:
    """One source of information, and whether it indicates a GPU."""

    source: str
    says_gpu: bool
    proof: bool  # otherwise it is only a hint
    detail: str


@dataclass(frozen=True, kw_only=True)
class Detected:
    """The result. `available` needs proof; `hinted` is True if there are only hints of a GPU.

    device_count: from the first proof; None without one. visible: names of the devices of the
    container; None if unknown. portion: the part of each device, as KAI has set it.
    memory_limit_mib: the enforced limit on device 0, by the guard, HAMi-core or MPS. shared: other
    pods use the devices, too. variables: the relevant variables that are set.
    """

    available: bool
    hinted: bool
    evidence: list[Evidence]
    device_count: int | None
    visible: tuple[str, ...] | None
    portion: float | None
    memory_limit_mib: int | None
    shared: bool
    device_memory_mib: tuple[int, ...]
    sm_limit: float | None
    mps_pipe_directory: str | None
    mps_thread_percentage: float | None
    variables: Mapping[str, str]

    def __bool__(self) -> bool:
        return self.available

    def __str__(self) -> str:
        lines = ["a GPU is available" if self.available else "no GPU was found"]
        if self.available and self.shared:
            part = "a part of it" if self.portion is None else f"{self.portion:g} of it"
            lines[0] += f", {part} for this container"
        lines += [f"  {each.source}: {each.detail}" for each in self.evidence]
        if not self.available:
            lines += [f"  {name}={value}" for name, value in self.variables.items()]
        return "\n".join(lines)


def detect(
    *,
    environ: Mapping[str, str] | None = None,
    cdi_directory: str = CDI_DIRECTORY,
    libraries: Sequence[str] = driver.LIBRARIES,
    nvidia_smi: str | None = "nvidia-smi",
    frameworks: Sequence[str] = (),
    in_process: bool = False,
    timeout_s: float = 5.0,
) -> Detected:
    """Checks variables, CDI, the driver and nvidia-smi; never raises.

    frameworks: also checks these, each in a separate process: torch, tensorflow, jax, cupy.
    in_process: query the driver in this process, which starts CUDA in it; then fork no workers.
    timeout_s: for nvidia-smi; four times as long for a probe that starts Python or CUDA.
    """
    given = os.environ if environ is None else environ
    evidence = [*_of_variables(given), _of_cdi(cdi_directory)]
    of_driver, memory = _of_driver(libraries, in_process, environ, 4 * timeout_s)
    evidence.append(of_driver)
    counts = [len(memory)] if of_driver.says_gpu else []
    if nvidia_smi is not None:
        listed, count = _of_nvidia_smi(nvidia_smi, environ, timeout_s)
        evidence.append(listed)
        counts += [count] if listed.says_gpu else []
    for framework in frameworks:
        seen, count = _of_framework(framework, environ, 4 * timeout_s)
        evidence.append(seen)
        counts += [count] if seen.says_gpu else []
    available = any(each.says_gpu and each.proof for each in evidence)
    limit = variables.hami_limit_mib(given, 0) or variables.mps_limit_mib(given, 0)
    if variables.GUARD_REGION in given:
        evidence.append(_of_guard(given))
        # CUDA reports the share.
        limit = memory[0] if variables.has_guard(given) and memory else limit
    portion = variables.portion(given)
    return Detected(
        available=available,
        hinted=not available and any(each.says_gpu for each in evidence),
        evidence=evidence,
        device_count=counts[0] if counts else None,
        visible=variables.visible(given),
        portion=portion,
        memory_limit_mib=limit,
        shared=(portion is not None and portion < 1) or limit is not None,
        device_memory_mib=tuple(memory),
        sm_limit=variables.number(given, variables.HAMI_SM_LIMIT),
        mps_pipe_directory=given.get(variables.MPS_PIPE),
        mps_thread_percentage=variables.number(given, variables.MPS_THREADS),
        variables={name: given[name] for name in variables.SHOWN if name in given},
    )


def _of_variables(environ: Mapping[str, str]) -> list[Evidence]:
    evidence = []
    for names in (variables.VISIBLE, variables.SELECTED):
        found = [(name, environ[name]) for name in names if name in environ]
        if not found:
            evidence.append(Evidence(names[0], False, False, "not set"))
        for name, value in found:
            evidence.append(Evidence(name, bool(variables.devices(value)), False, repr(value)))
    return evidence


def _of_guard(environ: Mapping[str, str]) -> Evidence:
    name, found = "guard", guard(environ=environ)
    if not found:
        return Evidence(name, False, False, f"not in force: {found.why_not}")
    shares = ", ".join(
        f"{each.uuid}: {'no limit' if each.limit is None else f'{each.limit >> 20} MiB'}, "
        f"{each.used >> 20} MiB in use"
        for each in found.devices or ()
    )
    return Evidence(name, False, False, f"in force; {shares or 'no process has used a GPU yet'}")


def _of_cdi(directory: str) -> Evidence:
    try:
        there = Path(directory).is_dir()
    except (OSError, ValueError):
        there = False
    return Evidence(directory, there, False, "is a directory" if there else "does not exist")


def _of_driver(
    libraries: Sequence[str],
    in_process: bool,
    environ: Mapping[str, str] | None,
    timeout_s: float,
) -> tuple[Evidence, list[int]]:
    name = "CUDA driver"
    if not libraries:
        return Evidence(name, False, True, "not queried"), []
    try:
        memory = driver.memory_of_devices(
            libraries, in_process=in_process, environ=environ, timeout_s=timeout_s
        )
    except driver.NoAnswer as error:
        return Evidence(name, False, True, str(error)), []
    counted = f"{len(memory)} devices" if len(memory) != 1 else "1 device"
    return Evidence(name, bool(memory), True, counted), memory


def _of_nvidia_smi(
    command: str, environ: Mapping[str, str] | None, timeout_s: float
) -> tuple[Evidence, int]:
    arguments = (command, "--query-gpu=name", "--format=csv,noheader")
    try:
        output = driver.output_of(arguments, environ=environ, timeout_s=timeout_s)
    except driver.NoAnswer as error:
        return Evidence("nvidia-smi", False, True, str(error)), 0
    names = [line.strip() for line in output.splitlines() if line.strip()]
    detail = ", ".join(names) or "lists no device"
    return Evidence("nvidia-smi", bool(names), True, detail), len(names)


def _of_framework(
    framework: str, environ: Mapping[str, str] | None, timeout_s: float
) -> tuple[Evidence, int]:
    if framework not in _FRAMEWORKS:
        known = ", ".join(_FRAMEWORKS)
        return Evidence(framework, False, True, f"cannot be queried: write one of {known}"), 0
    try:
        code = _FRAMEWORKS[framework]
        output = driver.child(["-c", code], environ=environ, timeout_s=timeout_s)
        count = int(output.strip().splitlines()[-1])
    except driver.NoAnswer as error:
        return Evidence(framework, False, True, str(error)), 0
    except (ValueError, IndexError):
        return Evidence(framework, False, True, "no answer"), 0
    return Evidence(framework, count > 0, True, f"finds {count} devices"), count
