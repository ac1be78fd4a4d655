"""Queries NVIDIA's driver, in a separate process or in this one.

`cuInit` in a process that forks later breaks CUDA in its children (spec 7 X5), so by default a
child process makes the query. It has our environment, so HAMi-core and MPS affect it in the same
way. The child runs this file, which must need only the standard library.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

LIBRARIES = ("libcuda.so.1", "libcuda.so", "libcuda.dylib", "nvcuda.dll")


class NoAnswer(Exception):
    """The driver could not be queried; the message has the cause."""


def memory_of_devices(
    libraries: Sequence[str] = LIBRARIES,
    *,
    in_process: bool = False,
    environ: Mapping[str, str] | None = None,
    timeout_s: float = 20.0,
) -> list[int]:
    """The memory in MiB of each device that CUDA finds; raises NoAnswer."""
    answer: Any
    if in_process:
        answer = query(libraries)
    else:
        output = child(["-I", __file__, *libraries], environ=environ, timeout_s=timeout_s)
        try:
            answer = json.loads(output.strip().splitlines()[-1])
        except (ValueError, IndexError):
            raise NoAnswer("the child process gave no answer") from None
    if not isinstance(answer, dict) or "memory" not in answer:
        raise NoAnswer(str(answer.get("error")) if isinstance(answer, dict) else "no answer")
    return [int(each) // 1024**2 for each in answer["memory"]]


def child(arguments: Sequence[str], *, environ: Mapping[str, str] | None, timeout_s: float) -> str:
    """The output of another Python process; raises NoAnswer."""
    if not sys.executable:
        raise NoAnswer("this Python cannot start another one")
    return output_of([sys.executable, *arguments], environ=environ, timeout_s=timeout_s)


def output_of(
    command: Sequence[str], *, environ: Mapping[str, str] | None, timeout_s: float
) -> str:
    """The output of a command; raises NoAnswer."""
    try:
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=None if environ is None else dict(environ),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"no answer within {timeout_s:g} s") from None
    except (OSError, ValueError) as error:
        raise NoAnswer(str(error)) from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise NoAnswer(f"exit status {done.returncode}{': ' + lines[-1] if lines else ''}")
    return done.stdout


def query(libraries: Sequence[str]) -> dict[str, Any]:
    """{"memory": [bytes of each device]} or {"error": reason}. Starts CUDA in this process."""
    import ctypes

    driver = None
    for library in libraries:
        try:
            driver = ctypes.CDLL(library)
            break
        except OSError:
            continue
    if driver is None:
        return {"error": "no driver library was found"}
    try:
        if (status := driver.cuInit(0)) != 0:
            return {"error": f"cuInit returns {status}"}
        count = ctypes.c_int()
        if (status := driver.cuDeviceGetCount(ctypes.byref(count))) != 0:
            return {"error": f"cuDeviceGetCount returns {status}"}
        memory = []
        for ordinal in range(count.value):
            device, total = ctypes.c_int(), ctypes.c_size_t()
            if driver.cuDeviceGet(ctypes.byref(device), ordinal) != 0:
                return {"error": f"device {ordinal} does not answer"}
            # A driver may not report it (unified memory): then 0.
            driver.cuDeviceTotalMem_v2(ctypes.byref(total), device)
            memory.append(total.value)
    except AttributeError as missing:
        return {"error": f"the driver library lacks a function ({missing})"}
    return {"memory": memory}


if __name__ == "__main__":
    print(json.dumps(query(sys.argv[1:])))
