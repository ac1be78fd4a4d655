"""CUDA's runtime, and each framework by it, finds the driver's functions by cuGetProcAddress: it
gets the guard's function in the form that it requests, and no warning about functions that it looks
up and does not need.

The runtime itself does not run over a pretended driver: it examines whether it is NVIDIA's."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from pretended import GUARD, Machine
from test_functions import hooks

REQUESTS = Path(__file__).with_name("asked_by_runtime.txt")

ASK = """
import ctypes
from ctypes import byref, c_int, c_uint64, c_void_p
import driver as cu
cu.start()
for line in {lines!r}:
    name, version, flags, symbol = line.split()
    found = c_void_p()
    cu.call("cuGetProcAddress_v2", name.encode(), byref(found), c_int(int(version)),
            c_uint64(int(flags)), None)
    guards = ctypes.cast(getattr(cu.library(), symbol), c_void_p)
    if found.value != guards.value:
        print(line)
"""


def requests() -> list[tuple[str, int, int]]:
    lines = [line.split() for line in REQUESTS.read_text().splitlines() if line[0] != "#"]
    return [(name, int(version), int(flags)) for name, version, flags in lines]


def expected() -> Iterator[str]:
    """The form of the guard's function for each request: the newest of that version."""
    for name, version, flags in requests():
        forms = [
            symbol
            for symbol, of, since, of_thread in hooks()
            if of == name and since <= version and (flags == 2 or not of_thread)
        ]
        if forms:
            yield f"{name} {version} {flags} {forms[-1]}"


def test_it_gets_the_guards_function_in_the_form_that_it_requests(machine: Machine) -> None:
    lines = list(expected())
    assert len(lines) > 50
    assert "cuMemAlloc 3020 0 cuMemAlloc_v2" in lines
    assert "cuMemAllocAsync 11020 2 cuMemAllocAsync_ptsz" in lines
    assert machine.run(ASK.format(lines=lines), limit="0.5") == ""


def test_no_request_is_taken_for_a_function_that_is_newer_than_the_guard() -> None:
    include = Path(sysconfig.get_path("purelib"), "nvidia/cu13/include")
    if not include.exists():
        pytest.skip("the headers of CUDA are not installed (tools/setup.sh python)")
    command = [sys.executable, str(GUARD / "driver/write_known.py"), str(include)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    known = {line.strip('",') for line in said.splitlines()}
    assert [name for name, _, _ in requests() if name not in known] == []
