"""Every way in which a program finds the driver leads to the guard, and programs see their share as
the size of the device."""

from __future__ import annotations

import subprocess

import pytest
from pretended import LIBRARY, MIB, STUBS, Machine

FIND = {
    "by its name": "find = lambda name: getattr(cu.library(), name)",
    "dlsym": (
        "libc.dlopen.restype = libc.dlsym.restype = ctypes.c_void_p\n"
        "handle = libc.dlopen(b'libcuda.so.1', 2)\n"
        "find = lambda name: made(libc.dlsym(ctypes.c_void_p(handle), name.encode()))"
    ),
    "dlmopen": (
        "libc.dlmopen.restype = libc.dlsym.restype = ctypes.c_void_p\n"
        "handle = libc.dlmopen(ctypes.c_long(-1), b'libcuda.so.1', 2)\n"
        "find = lambda name: made(libc.dlsym(ctypes.c_void_p(handle), name.encode()))"
    ),
    "cuGetProcAddress": "find = lambda name: asked('cuGetProcAddress', name, 11030)",
    "cuGetProcAddress_v2": "find = lambda name: asked('cuGetProcAddress_v2', name, 12000, None)",
    "cuGetProcAddress from itself": (
        "ask = asked('cuGetProcAddress_v2', 'cuGetProcAddress', 12000, None)\n"
        "def find(name):\n"
        "    found = c_void_p()\n"
        "    ask(SUFFIX.sub('', name).encode(), byref(found), 12000, c_uint64(0), None)\n"
        "    return made(found.value)"
    ),
}

START = """
import ctypes, re
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
import driver as cu
MIB = 1 << 20
SUFFIX = re.compile(r"_v\\d$")
libc = ctypes.CDLL(None)
made = lambda address: ctypes.CFUNCTYPE(c_int)(address)
def asked(way, name, version, *more):
    found = c_void_p()
    cu.call(way, SUFFIX.sub('', name).encode(), byref(found), version, c_uint64(0), *more)
    return made(found.value)
cu.start()
"""


@pytest.mark.parametrize("way", FIND)
def test_each_way_to_a_function_counts(machine: Machine, way: str) -> None:
    script = (
        START
        + FIND[way]
        + "\npointer = c_uint64()\nalloc = find('cuMemAlloc_v2')\n"
        + "print(alloc(byref(pointer), c_size_t(600 * MIB)))\n"
        + "print(alloc(byref(pointer), c_size_t(100 * MIB)), cu.used() // MIB)"
    )
    assert machine.run(script, limit="0.5").split() == ["2", "0", "100"]
    if way != "dlmopen":  # without the guard a second driver, which has not started
        assert machine.run(script).split() == ["0", "0", "700"]


def test_dlmopen_gives_other_libraries_as_ever(machine: Machine) -> None:
    source = machine.folder / "apart.c"
    source.write_text("int number; int next(void) { return ++number; }")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", machine.folder / "libapart.so", source], check=True
    )
    script = START + (
        "libc.dlmopen.restype = libc.dlsym.restype = ctypes.c_void_p\n"
        "for _ in range(2):\n"
        f"    handle = libc.dlmopen(ctypes.c_long(-1), b'{machine.folder}/libapart.so', 2)\n"
        "    print(made(libc.dlsym(ctypes.c_void_p(handle), b'next'))())"
    )
    assert machine.run(script, limit="0.5").split() == ["1", "1"]  # each is a new one


def test_streams_of_threads_have_the_form_of_threads(machine: Machine) -> None:
    script = (
        START
        + "found = c_void_p()\n"
        + "alloc = b'cuMemAllocAsync'\n"
        + "cu.call('cuGetProcAddress_v2', alloc, byref(found), 12000, c_uint64(2), None)\n"
        + "pointer = c_uint64()\n"
        + "print(made(found.value)(byref(pointer), c_size_t(600 * MIB), None), cu.used() // MIB)"
    )
    assert machine.run(script, limit="0.5").split() == ["2", "0"]


def test_a_linked_program_finds_the_guard_first(machine: Machine) -> None:
    found = machine.run("import driver as cu; cu.start(); cu.alloc(10)", limit="0.5")
    assert found == ""
    names = subprocess.run(
        ["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True, check=True
    ).stdout
    assert " T cuMemAlloc_v2\n" in names
    assert " T dlsym\n" in names


def test_other_libraries_find_their_own_functions(machine: Machine) -> None:
    """dlsym(RTLD_NEXT, ...) looks behind its caller, which is not the guard."""
    source = machine.folder / "next.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n"
        'int answer(void) { int (*next)(void) = dlsym(RTLD_NEXT, "answer"); '
        "return next ? 10 + next() : 1; }\n"
    )
    program = machine.folder / "program.c"
    program.write_text(
        '#include <stdio.h>\nint answer(void);\nint main(void) { printf("%d", answer()); }'
    )
    for name in ("first", "second"):
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-o", machine.folder / f"lib{name}.so", source], check=True
        )
    links = ["-L.", "-Wl,--no-as-needed", "-lfirst", "-lsecond", "-Wl,-rpath,."]
    subprocess.run(["gcc", "-o", "program", program, *links], cwd=machine.folder, check=True)
    environment = machine.environment(limit="0.5")
    said = subprocess.run(
        ["./program"],
        cwd=machine.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "11"


def newer(name: str) -> str:
    sentence = "this function is newer than the guard: what it allocates does not count"
    return f"kai guard: {name}: {sentence}"


NEW = {
    "cuGetProcAddress": "future = asked('cuGetProcAddress', 'cuFromTheFuture', 12000)",
    "cuGetProcAddress_v2": "future = asked('cuGetProcAddress_v2', 'cuFromTheFuture', 12000, None)",
    "dlsym": "future = cu.library()['cuFromTheFuture']",
}


@pytest.mark.parametrize("way", NEW)
def test_a_function_that_is_newer_than_the_guard_passes_and_is_said_once(
    machine: Machine, way: str
) -> None:
    script = START + "for _ in range(2):\n    " + NEW[way] + "\n    print(future())"
    said = machine.run(script, limit="0.5").splitlines()
    assert said == ["0", "0", newer("cuFromTheFuture")]
    assert machine.run(script, limit="", KAI_GUARD_REGION="") == "0\n0\n"


def test_a_form_that_is_newer_than_the_guard_is_not_taken_for_an_older_one(
    machine: Machine,
) -> None:
    """Its parameters may be others."""
    script = START + (
        "for _ in range(2):\n"
        "    form = asked('cuGetProcAddress_v2', 'cuMemAlloc', 99000, None)\n"
        "    print(form(c_size_t(600 * MIB), byref(c_uint64()), None, None), cu.used())"
    )
    said = machine.run(script, limit="0.5").splitlines()
    assert said == ["0 0", "0 0", newer("cuMemAlloc")]


@pytest.mark.parametrize("version", [6000, 13000, 99000])
def test_a_function_at_another_address_is_found_by_its_name(machine: Machine, version: int) -> None:
    script = START + (
        f"alloc = asked('cuGetProcAddress_v2', 'cuMemAllocManaged', {version}, None)\n"
        "print(alloc(byref(c_uint64()), c_size_t(600 * MIB), 1), cu.used())"
    )
    assert machine.run(script, limit="0.5") == "2 0\n"


def test_functions_for_profilers_and_graphics_are_not_new(machine: Machine) -> None:
    """The CUDA runtime asks for them in each program."""
    script = START + "print(asked('cuGetProcAddress_v2', 'cuProfilerStart', 12000, None)())"
    assert machine.run(script, limit="0.5") == "0\n"


def test_names_of_other_libraries_are_not_new(machine: Machine) -> None:
    source = machine.folder / "cufft.c"
    source.write_text("int cufftPlan(void) { return 7; }")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", machine.folder / "libcufft.so", source], check=True
    )
    script = START + f"print(ctypes.CDLL('{machine.folder}/libcufft.so')['cufftPlan']())"
    assert machine.run(script, limit="0.5") == "7\n"


# ---- what programs see ---------------------------------------------------------------------------


SEE = """
import ctypes
from ctypes import byref, c_size_t, c_void_p
import driver as cu
cu.start(); cu.alloc(100 << 20)
size = c_size_t(); cu.call("cuDeviceTotalMem_v2", byref(size), 0)
nvml = ctypes.CDLL("libnvidia-ml.so.1"); nvml.nvmlInit_v2(); device = c_void_p()
nvml.nvmlDeviceGetHandleByIndex_v2(0, byref(device))
memory = (ctypes.c_ulonglong * 3)(); nvml.nvmlDeviceGetMemoryInfo(device, memory)
second = (ctypes.c_ulonglong * 5)(); nvml.nvmlDeviceGetMemoryInfo_v2(device, second)
free, total = cu.info()
print(*(each >> 20 for each in (free, total, size.value, *memory, *second[1:])))
"""


def test_the_share_is_the_size_of_the_device_for_driver_and_nvml(machine: Machine) -> None:
    # free, total, size; NVML: total, free, used; second version: total, reserved, free, used
    assert machine.run(SEE, limit="0.5") == "412 512 512 512 412 100 512 0 412 100\n"


def test_without_a_limit_everything_is_as_the_driver_says(machine: Machine) -> None:
    plain = machine.run(SEE)
    assert plain == "924 1024 1024 1024 924 100 1024 0 924 100\n"
    machine.folder.joinpath("book").unlink()
    assert machine.run(SEE, limit="") == plain


def test_another_process_of_the_pod_sees_the_same(machine: Machine) -> None:
    start = "import driver as cu; cu.start()\n"
    held = machine.start(start + "cu.alloc(50 << 20); print('holds'); input()", limit="0.5")
    with held:
        assert held.stdout is not None
        assert held.stdout.readline() == "holds\n"
        assert (
            machine.run(start + "cu.alloc(30 << 20); print(cu.used() >> 20)", limit="0.5") == "80\n"
        )
        held.communicate("\n")


def test_each_device_has_its_limit(machine: Machine) -> None:
    machine.more["STUB_DEVICES"] = "2"
    uuid = "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1"
    script = (
        "import driver as cu\nfor device in (0, 1):\n"
        "    cu.start(device); print(cu.info()[1] >> 20)\n    cu.alloc(cu.info()[0])"
    )
    said = machine.run(script, limit="0.25", KAI_GUARD_LIMITS=f"{uuid}=100Mi")
    assert said.split() == ["256", "100"]


# ---- processes -----------------------------------------------------------------------------------


def test_a_forked_child_counts_for_itself(machine: Machine) -> None:
    script = (
        "import os, driver as cu\ncu.start(); kept = cu.alloc(100 << 20)\n"
        "if os.fork() == 0:\n"
        "    cu.start(); cu.alloc(50 << 20); print(cu.used() >> 20, flush=True); os._exit(0)\n"
        "os.wait(); cu.alloc(362 << 20); print(cu.used() >> 20)\n"
        "cu.free(kept); print(cu.used() >> 20)"
    )
    assert machine.run(script, limit="0.5").split() == ["150", "462", "362"]


def test_a_program_that_replaces_itself_holds_nothing_of_before(machine: Machine) -> None:
    again = "import driver as cu; cu.start(); cu.alloc(400 << 20); print(cu.used() >> 20)"
    script = (
        "import os, sys, driver as cu\ncu.start(); cu.alloc(300 << 20)\n"
        f"os.environ['STUB_BOOK'] += '-2'\nprogram = 'import sys; sys.path = ' + repr(sys.path)\n"
        f"os.execv(sys.executable, [sys.executable, '-c', program + {again!r}.join(chr(10) + ' ')])"
    )
    script = script.replace(f"{again!r}.join(chr(10) + ' ')", f"chr(10) + {again!r}")
    assert machine.run(script, limit="0.5").split() == ["400"]


def test_limits_of_single_devices_are_read_again_in_each_child(machine: Machine) -> None:
    uuids = [f"GPU-{n:08x}-0000-0000-0000-000000000000" for n in range(9)]
    script = (
        "import os, driver as cu\ncu.start()\nif os.fork() == 0:\n"
        "    cu.start(); print(cu.info()[1] >> 20, flush=True); os._exit(0)\nos.wait()"
    )
    limits = ",".join(f"{each}=0.1" for each in uuids)
    assert machine.run(script, limit="0.5", KAI_GUARD_LIMITS=limits).split() == ["512"]


def test_the_file_is_no_standard_stream(machine: Machine) -> None:
    """A program without these would write its texts there."""
    script = "import os\nfor n in (0, 1, 2): os.close(n)\nimport driver as cu; cu.start()\n"
    script += "try: os.write(2, b'a warning')\nexcept OSError: pass\ncu.alloc(10)"
    machine.run(script, limit="0.5")
    assert machine.region().limit == 512 * MIB


def test_a_program_that_closes_all_descriptors_still_counts(machine: Machine) -> None:
    script = (
        "import os, driver as cu\ncu.start(); cu.alloc(300 << 20); os.closerange(3, 100)\n"
        "kept = os.open('/dev/null', os.O_RDONLY)\n"
        "try: cu.alloc(300 << 20)\nexcept cu.Failed as failed: print(failed.code)"
    )
    assert machine.run(script, limit="0.5").split() == ["2"]


def test_contexts_and_what_they_held_end_together(machine: Machine) -> None:
    machine.more["STUB_CONTEXT"] = str(40 * MIB)
    script = (
        "import driver as cu\nfrom ctypes import *\ncu.start(); cu.alloc(100 << 20)\n"
        "print(cu.used() >> 20); cu.call('cuDevicePrimaryCtxReset_v2', 0)\n"
        "cu.call('cuDevicePrimaryCtxRetain', byref(context := c_void_p()), 0)\n"
        "cu.call('cuCtxPushCurrent_v2', context); print(cu.used() >> 20)"
    )
    assert machine.run(script, limit="0.5").split() == ["140", "40"]
    assert machine.run(script).split() == ["140", "40"]


def test_a_green_context_keeps_the_primary_one(machine: Machine) -> None:
    machine.more["STUB_CONTEXT"] = str(40 * MIB)
    script = (
        "import driver as cu\nfrom ctypes import *\ncu.call('cuInit', 0); green = c_void_p()\n"
        "cu.call('cuGreenCtxCreate', byref(green), None, 0, 1); cu.start()\n"
        "cu.alloc(100 << 20); print(cu.used() >> 20)\n"
        "cu.call('cuDevicePrimaryCtxRelease_v2', 0); print(cu.used() >> 20)\n"
        "cu.call('cuGreenCtxDestroy', green); cu.start(); print(cu.used() >> 20)"
    )
    assert machine.run(script, limit="0.5").split() == ["140", "140", "40"]
    assert machine.run(script).split() == ["140", "140", "40"]


def test_memory_of_a_green_context_ends_with_the_primary_one(machine: Machine) -> None:
    script = (
        "import driver as cu\nfrom ctypes import *\ncu.start(); green = c_void_p()\n"
        "cu.call('cuGreenCtxCreate', byref(green), None, 0, 1); context = c_void_p()\n"
        "cu.call('cuCtxFromGreenCtx', byref(context), green)\n"
        "cu.call('cuCtxPushCurrent_v2', context); cu.alloc(100 << 20); print(cu.used() >> 20)\n"
        "cu.call('cuCtxPopCurrent_v2', byref(context)); cu.call('cuGreenCtxDestroy', green)\n"
        "print(cu.used() >> 20); cu.call('cuDevicePrimaryCtxReset_v2', 0)\n"
        "cu.start(); print(cu.used() >> 20)"
    )
    assert machine.run(script, limit="0.5").split() == ["100", "100", "0"]
    assert machine.run(script).split() == ["100", "100", "0"]


def test_a_green_context_that_does_not_fit_is_refused(machine: Machine) -> None:
    machine.more["STUB_CONTEXT"] = str(40 * MIB)
    script = (
        "import driver as cu\nfrom ctypes import *\ncu.call('cuInit', 0)\n"
        "try: cu.call('cuGreenCtxCreate', byref(c_void_p()), None, 0, 1)\n"
        "except cu.Failed as failed: print(failed.code)"
    )
    for _ in range(2):  # measured, and known
        assert machine.run(script, limit="39Mi") == "2\n"
    assert machine.book().total == 0


UNMEASURED = (
    "kai guard: what a context takes cannot be measured, as NVML is missing or others use the "
    "device: 512 MiB count for it; KAI_GUARD_CONTEXT sets another size"
)


@pytest.mark.parametrize("context", [None, "0", "40Mi"])
def test_without_nvml_a_context_counts_as_most_cards_have_it(
    machine: Machine, context: str | None
) -> None:
    machine.more["STUB_CONTEXT"] = str(40 * MIB)
    folder = machine.folder / "without"
    folder.mkdir()
    folder.joinpath("libcuda.so.1").symlink_to(STUBS / "libcuda.so.1")
    script = (
        "import driver as cu\nfrom ctypes import *\ncu.start(); print(cu.used() >> 20)\n"
        "cu.call('cuDevicePrimaryCtxReset_v2', 0)\n"
        "cu.call('cuCtxCreate_v2', byref(c_void_p()), 0, 0)"
    )
    given = {} if context is None else {"KAI_GUARD_CONTEXT": context}
    said = machine.run(script, limit="0.75", LD_LIBRARY_PATH=str(folder), **given).splitlines()
    assert said[0] == {None: "512", "0": "0", "40Mi": "40"}[context]
    assert said[1:] == ([] if context else [UNMEASURED])


CONTEXT = "import driver as cu; cu.start(); print(cu.used() >> 20)"


def changes(*sizes: int) -> str:
    """Another process allocates during the first, second, ... making of a context, or frees."""
    return "cuDevicePrimaryCtxRetain:" + ",".join(str(size * MIB) for size in sizes)


@pytest.mark.parametrize(
    ("listed", "sizes", "counts"),
    [
        ("yes", (300,), 40),
        ("yes", (-300,), 40),
        ("yes", (3000, 3000), 40),
        # NVML does not say what this process has: two measurements, and what no context takes is
        # not believed.
        ("host", (), 40),
        ("empty", (300,), 40),
        ("empty", (0, 300), 40),
        ("empty", (-300,), 40),
        ("host", (3000, 20), 60),
        ("host", (-300, -300), 512),
        ("empty", (3000, 3000), 512),
    ],
)
def test_a_context_is_measured_while_others_use_the_card(
    machine: Machine, listed: str, sizes: tuple[int, ...], counts: int
) -> None:
    machine.memory = 16 << 30
    machine.more["STUB_CONTEXT"] = str(40 * MIB)
    machine.run(CONTEXT, STUB_MEANWHILE=changes(1000))
    with_others = {"STUB_PROCESSES": listed, "STUB_MEANWHILE": changes(*sizes)}
    said = machine.run(CONTEXT, limit="0.5", **with_others).splitlines()
    assert said == [str(counts), *([UNMEASURED] if counts == 512 else [])]
    # The others of the pod count what was measured; if nothing was, they measure again.
    said = machine.run(CONTEXT, limit="0.5", STUB_PROCESSES=listed).splitlines()
    assert said == [str(40 if counts == 512 else counts)]


def test_a_context_that_is_made_twice_keeps_its_flags(machine: Machine) -> None:
    machine.more |= {"STUB_CONTEXT": str(40 * MIB), "STUB_PROCESSES": "empty"}
    script = (
        "import driver as cu\nfrom ctypes import *\nflags, active = c_uint(), c_int()\n"
        "cu.call('cuInit', 0); cu.call('cuDevicePrimaryCtxSetFlags_v2', 0, 4); cu.start()\n"
        "cu.call('cuDevicePrimaryCtxGetState', 0, byref(flags), byref(active))\n"
        "print(flags.value, active.value)"
    )
    assert machine.run(script, limit="0.5") == machine.run(script) == "4 1\n"


def test_a_context_that_was_not_measured_and_does_not_fit_is_refused(machine: Machine) -> None:
    machine.memory = 8 << 30
    machine.more |= {"STUB_CONTEXT": str(40 * MIB), "STUB_PROCESSES": "empty"}
    said = machine.run(TRY, limit="500Mi", STUB_MEANWHILE=changes(3000, 3000))
    assert said.splitlines() == ["cuDevicePrimaryCtxRetain answered 2", UNMEASURED]
    assert 40 * MIB not in machine.book().used.values()
    assert machine.region().used == 0


# ---- when the guard cannot count -----------------------------------------------------------------

TRY = """
import driver as cu
try: cu.start(); print('started')
except cu.Failed as failed: print(failed)
"""


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"KAI_GUARD_LIMIT": "half"}, "KAI_GUARD_LIMIT is no amount of memory such as 16Gi"),
        ({"KAI_GUARD_LIMIT": ""}, "KAI_GUARD_LIMIT is no amount of memory such as 16Gi"),
        ({"KAI_GUARD_LIMITS": "0.5"}, "KAI_GUARD_LIMITS is no list such as GPU-<uuid>=0.5"),
        ({"KAI_GUARD_CONTEXT": "0.5"}, "KAI_GUARD_CONTEXT is no amount of memory such as 500Mi"),
        ({"KAI_GUARD_REGION": ""}, "KAI_GUARD_REGION is missing"),
        (
            {"KAI_GUARD_REGION": "/nowhere/region"},
            "/nowhere/region: it is missing: one empty file has to be made for the pod",
        ),
        ({"KAI_GUARD_REGION": "/dev"}, "/dev: it cannot be opened for writing"),
        ({"KAI_GUARD_REGION": "/dev/null"}, "/dev/null: it is not a regular file"),
    ],
)
def test_a_process_that_cannot_count_does_not_start(
    machine: Machine, variables: dict[str, str], sentence: str
) -> None:
    said = machine.run(TRY, limit="0.5", **variables)
    assert "cuInit answered 304" in said
    assert f"kai guard: {sentence}" in said


def test_a_process_without_the_file_of_the_others_does_not_start(machine: Machine) -> None:
    """It would count in a file of its own, and the pod could use twice its share."""
    start = "import driver as cu; cu.start(); cu.alloc(400 << 20)\n"
    with machine.start(start + "print('holds'); input()", limit="0.5") as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "holds\n"
        machine.folder.joinpath("region").unlink()
        said = machine.run(TRY, limit="0.5")
        assert "cuInit answered 304" in said
        assert said.count("kai guard: ") == 1
        first.communicate("\n")
    assert not machine.folder.joinpath("region").exists()


@pytest.mark.parametrize(
    "function", ["cuDeviceGetUuid_v2", "cuDeviceTotalMem_v2", "cuCtxGetDevice"]
)
def test_what_cannot_be_counted_is_refused(machine: Machine, function: str) -> None:
    script = (
        "import driver as cu\ntry: cu.start(); cu.alloc(100)\n"
        "except cu.Failed as failed: print(failed.code)"
    )
    assert machine.run(script, limit="0.5", STUB_FAIL=f"{function}:1").split() == ["2"]


def test_programs_without_the_driver_do_not_notice_the_guard(machine: Machine) -> None:
    environment = machine.environment(limit="half") | {"LD_LIBRARY_PATH": ""}
    done = subprocess.run(["true"], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


# ---- the library ---------------------------------------------------------------------------------


def test_the_library_needs_the_c_library_alone_and_an_old_one_suffices() -> None:
    if not LIBRARY.exists():
        pytest.skip("the guard is not built: tools/build.sh release kai_guard_all")
    said = subprocess.run(
        ["objdump", "-p", str(LIBRARY)], capture_output=True, text=True, check=True
    ).stdout
    needed = [line.split()[1] for line in said.splitlines() if "NEEDED" in line]
    versions = {word for word in said.split() if word.startswith("GLIBC_")}
    assert needed == ["libc.so.6"]
    assert max(tuple(map(int, each[6:].split("."))) for each in versions) <= (2, 17)
    assert LIBRARY.stat().st_size < MIB
