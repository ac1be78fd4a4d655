"""Every function of the driver is either counted or listed with the reason why it need not be, so
that none is forgotten when CUDA grows."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest
from pretended import GUARD

HOOK = re.compile(r'HOOK\((\w+), "(\w+)", (\d+), ([01])\)')
DECLARED = re.compile(r"CUresult CUDAAPI (cu\w+)\s*\(")
TYPEDEF = re.compile(r"\(CUDAAPI \*PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)")
SUFFIX = re.compile(r"(_v\d)?(_ptsz|_ptds)?$")


def header(name: str) -> str:
    path = Path(sysconfig.get_path("purelib"), "nvidia/cu13/include", name)
    if not path.exists():
        pytest.skip("the headers of CUDA are not installed (tools/setup.sh python)")
    return path.read_text()


def hooks() -> list[tuple[str, str, int, bool]]:
    text = (GUARD / "driver/hooks.inc").read_text()
    return [(symbol, name, int(since), of == "1") for symbol, name, since, of in HOOK.findall(text)]


def listed() -> dict[str, str]:
    """The reason for each function that is left as it is."""
    found: dict[str, str] = {}
    reason = ""
    for line in (GUARD / "functions.txt").read_text().splitlines():
        if line.startswith("["):
            reason = line[1 : line.index("]")]
        elif line.startswith("  "):
            for name in line.split():
                assert name not in found, f"{name} is listed twice"
                found[name] = reason
    return found


def unknown_in(text: str) -> list[str]:
    """Functions of a header that are neither counted nor listed."""
    known = {SUFFIX.sub("", symbol) for symbol, *_ in hooks()} | set(listed())
    return sorted(name for name in set(DECLARED.findall(text)) if SUFFIX.sub("", name) not in known)


def test_every_function_is_counted_or_listed() -> None:
    assert unknown_in(header("cuda.h")) == []


def test_a_new_function_is_found() -> None:
    new = "CUresult CUDAAPI cuMemAllocSomewhereElse(CUdeviceptr *dptr, size_t bytesize);"
    assert unknown_in(header("cuda.h") + new) == ["cuMemAllocSomewhereElse"]


def test_nothing_is_listed_that_is_counted_or_gone() -> None:
    counted = {SUFFIX.sub("", symbol) for symbol, *_ in hooks()}
    declared = {SUFFIX.sub("", name) for name in DECLARED.findall(header("cuda.h"))}
    assert counted.isdisjoint(listed())
    assert set(listed()) <= declared


def test_all_forms_of_what_is_counted_are() -> None:
    """A program could get an older form, or that with a stream for each thread."""
    symbols = {symbol for symbol, *_ in hooks()}
    bases = {SUFFIX.sub("", symbol) for symbol in symbols}
    text = header("cuda.h")
    forms = {name for name in DECLARED.findall(text) if SUFFIX.sub("", name) in bases}
    forms |= {
        f"{name}_ptsz" for name in re.findall(r"__CUDA_API_PTSZ\((\w+)\)", text) if name in bases
    }
    assert sorted(forms - symbols) == []


def test_versions_are_those_of_the_header() -> None:
    """cuGetProcAddress chooses a form by the version of CUDA that brought it."""
    versions: dict[str, set[int]] = {}
    for name, version, suffix in TYPEDEF.findall(header("cudaTypedefs.h")):
        versions.setdefault(f"{name}{suffix}", set()).add(int(version))
    for symbol, name, since, of_thread in hooks():
        known = versions.get(f"{name}_ptsz" if of_thread else name)
        assert known is None or since in known, symbol
    # and the forms of one function are in their order, as the last one that fits is taken
    for _, name, since, of_thread in hooks():
        later = [(s, t) for _, n, s, t in hooks() if n == name]
        assert later == sorted(later, key=lambda each: (each[0], each[1])), (name, since, of_thread)
