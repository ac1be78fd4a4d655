"""A machine with simulated GPUs."""

import os
import shutil
import stat
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def nvidia_smi(tmp_path: Path) -> Callable[[str], str]:
    """A command in place of nvidia-smi that runs these shell lines."""

    def write(script: str) -> str:
        path = tmp_path / "nvidia-smi"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return write


@pytest.fixture
def libcuda(tmp_path: Path) -> Callable[..., str]:
    """A driver library with devices of this many MiB; `init` is the result of cuInit.

    It writes the number of the process in which CUDA was started to a file.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to make a driver library with")

    def build(*memory_mib: int, init: int = 0) -> str:
        sizes = ", ".join(f"{mib}ull << 20" for mib in (*memory_mib, 0))
        source = tmp_path / "cuda.c"
        source.write_text(
            textwrap.dedent(
                f"""\
                #include <stddef.h>
                #include <stdio.h>
                #include <unistd.h>
                static const size_t sizes[] = {{ {sizes} }};
                int cuInit(unsigned flags) {{
                  FILE *file = fopen("{tmp_path / "started"}", "w");
                  if (file) {{ fprintf(file, "%d", (int)getpid()); fclose(file); }}
                  return {init};
                }}
                int cuDeviceGetCount(int *count) {{ *count = {len(memory_mib)}; return 0; }}
                int cuDeviceGet(int *device, int ordinal) {{ *device = ordinal; return 0; }}
                int cuDeviceTotalMem_v2(size_t *bytes, int device) {{
                  *bytes = sizes[device];
                  return 0;
                }}
                """
            )
        )
        library = tmp_path / f"libcuda-{len(memory_mib)}-{init}.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        return str(library)

    return build


@pytest.fixture
def started_in(tmp_path: Path) -> Callable[[], int | None]:
    """The process in which CUDA was started: 0 for this one."""

    def read() -> int | None:
        path = tmp_path / "started"
        if not path.exists():
            return None
        process = int(path.read_text())
        return 0 if process == os.getpid() else process

    return read
