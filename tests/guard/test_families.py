"""Each way to get device memory counts what it takes, is refused as the driver refuses, and counts
nothing after it was given back."""

from __future__ import annotations

import pytest
from pretended import MIB, Machine

# What a program asks for, what it gives back, and how much that is. `got` is from the first part.
FAMILIES = {
    "linear": ("got = cu.alloc(3 * MIB)", "cu.free(got)", 3 * MIB),
    "pitched": (
        "got, pitch = cu.handle(), c_size_t()\n"
        "cu.call('cuMemAllocPitch_v2', byref(got), byref(pitch), c_size_t(1000), c_size_t(10), 4)",
        "cu.free(got)",
        1024 * 10,
    ),
    "managed": (
        "got = cu.handle(); cu.call('cuMemAllocManaged', byref(got), c_size_t(5 * MIB), 1)",
        "cu.free(got)",
        5 * MIB,
    ),
    "array": (
        "got = c_void_p(); of = cu.ArrayDescriptor(64, 64, cu.FLOAT, 4)\n"
        "cu.call('cuArrayCreate_v2', byref(got), byref(of))",
        "cu.call('cuArrayDestroy', got)",
        64 * 64 * 16,
    ),
    "array of three dimensions": (
        "got = c_void_p(); of = cu.Array3DDescriptor(64, 64, 3, cu.FLOAT, 1, 0)\n"
        "cu.call('cuArray3DCreate_v2', byref(got), byref(of))",
        "cu.call('cuArrayDestroy', got)",
        64 * 64 * 3 * 4,
    ),
    "mipmapped array": (
        "got = c_void_p(); of = cu.Array3DDescriptor(64, 64, 0, cu.FLOAT, 1, 0)\n"
        "cu.call('cuMipmappedArrayCreate', byref(got), byref(of), 2)",
        "cu.call('cuMipmappedArrayDestroy', got)",
        (64 * 64 + 32 * 32) * 4,
    ),
    "physical": ("got = cu.create(4 * MIB)", "cu.call('cuMemRelease', got)", 4 * MIB),
    "pool of the device": (
        "got = cu.handle(); cu.call('cuMemAllocAsync', byref(got), c_size_t(MIB), None)",
        "cu.call('cuMemFreeAsync', got, None); cu.call('cuStreamSynchronize', None)",
        32 * MIB,
    ),
    "pool of the device, streams of threads": (
        "got = cu.handle(); cu.call('cuMemAllocAsync_ptsz', byref(got), c_size_t(MIB), None)",
        "cu.call('cuMemFreeAsync_ptsz', got, None); cu.call('cuStreamSynchronize_ptsz', None)",
        32 * MIB,
    ),
    "own pool": (
        "pool = cu.pool(); got = cu.handle()\n"
        "cu.call('cuMemAllocFromPoolAsync', byref(got), c_size_t(40 * MIB), pool, None)",
        "cu.call('cuMemFreeAsync', got, None); cu.call('cuMemPoolTrimTo', pool, c_size_t(0))",
        64 * MIB,
    ),
    "default pool beside the device's own": (
        "pool, got = c_void_p(), cu.handle()\n"
        "cu.call('cuDeviceGetDefaultMemPool', byref(pool), 0)\n"
        "cu.call('cuDeviceSetMemPool', 0, cu.pool())\n"
        "cu.call('cuMemAllocFromPoolAsync', byref(got), c_size_t(MIB), pool, None)",
        "cu.call('cuMemFreeAsync', got, None); cu.call('cuStreamSynchronize', None)",
        32 * MIB,
    ),
    "physical beside memory of the host": (
        "host, got, at = cu.create(2 * MIB, location=2), cu.create(4 * MIB), cu.handle()\n"
        "cu.call('cuMemAddressReserve', byref(at), c_size_t(6 * MIB), 0, 0, 0)\n"
        "there = ctypes.c_uint64(at.value + 2 * MIB)\n"
        "cu.call('cuMemMap', at, c_size_t(2 * MIB), 0, host, 0)\n"
        "cu.call('cuMemMap', there, c_size_t(4 * MIB), 0, got, 0)\n"
        "cu.call('cuMemRelease', got)",
        "cu.call('cuMemUnmap', at, c_size_t(6 * MIB))",
        4 * MIB,
    ),
    "physical in a multicast object": (
        "got, many, rest = cu.create(4 * MIB), cu.multicast(), (c_size_t(4 * MIB), c_uint64(0))\n"
        "cu.call('cuMulticastBindMem', many, c_size_t(0), got, c_size_t(0), *rest)\n"
        "cu.call('cuMulticastBindMem_v2', many, 0, c_size_t(8), got, c_size_t(0), *rest)\n"
        "cu.call('cuMemRelease', got); cu.call('cuMulticastUnbind', many, 0, c_size_t(8), rest[0])",
        "cu.call('cuMulticastUnbind', many, 0, c_size_t(0), rest[0])",
        4 * MIB,
    ),
    "mapping in a multicast object": (
        "got, many, at = cu.create(4 * MIB), cu.multicast(), cu.reserve(4 * MIB)\n"
        "cu.map_at(at, 4 * MIB, got); rest = (c_size_t(4 * MIB), c_uint64(0))\n"
        "cu.call('cuMulticastBindAddr', many, c_size_t(0), at, *rest)\n"
        "cu.call('cuMulticastBindAddr_v2', many, 0, c_size_t(8), at, *rest)\n"
        "cu.call('cuMemRelease', got); cu.call('cuMemUnmap', at, rest[0])\n"
        "cu.call('cuMulticastUnbind', many, 0, c_size_t(8), rest[0])",
        "cu.call('cuMulticastUnbind', many, 0, c_size_t(0), rest[0])",
        4 * MIB,
    ),
    "memory of a pool that is freed at once": (
        "got = cu.handle(); cu.call('cuMemAllocAsync', byref(got), c_size_t(MIB), None)",
        "cu.free(got); cu.call('cuCtxSynchronize')",
        32 * MIB,
    ),
    "graph": (
        "got = cu.executable(cu.graph_of(3 * MIB, 1)); cu.call('cuGraphLaunch', got, None)",
        "cu.call('cuGraphExecDestroy', got)",
        6 * MIB,
    ),
    "graph in a graph": (
        "got = cu.executable(cu.graph_of(child=cu.graph_of(2 * MIB)))\n"
        "cu.call('cuGraphUpload', got, None); cu.call('cuGraphLaunch_ptsz', got, None)",
        "cu.call('cuDeviceGraphMemTrim', 0)",
        2 * MIB,
    ),
    "recorded graph": (
        "s = cu.stream(); cu.call('cuStreamBeginCapture_v2', s, 0); p = cu.handle()\n"
        "cu.call('cuMemAllocAsync', byref(p), c_size_t(MIB), s); graph = c_void_p()\n"
        "cu.call('cuStreamEndCapture', s, byref(graph)); assert cu.used() == before\n"
        "got = cu.executable(graph); cu.call('cuGraphLaunch', got, s)",
        "cu.call('cuGraphExecDestroy', got)",
        2 * MIB,
    ),
    "external memory": (
        "got = c_void_p(); of = (ctypes.c_uint64 * 20)(); of[3] = 7 * MIB\n"
        "cu.call('cuImportExternalMemory', byref(got), of)",
        "cu.call('cuDestroyExternalMemory', got)",
        7 * MIB,
    ),
    "second context": (
        "got = c_void_p(); cu.call('cuCtxCreate_v2', byref(got), 0, 0); p = cu.alloc(MIB)",
        "cu.call('cuCtxDestroy_v2', got)",
        MIB,
    ),
    "context that was attached twice": (
        "got, same = c_void_p(), c_void_p(); cu.call('cuCtxCreate_v2', byref(got), 0, 0)\n"
        "p = cu.alloc(MIB); cu.call('cuCtxAttach', byref(same), 0)\n"
        "assert same.value == got.value; cu.call('cuCtxDetach', got)",
        "cu.call('cuCtxDetach', got)",
        MIB,
    ),
    "depth of kernels that launch kernels": (
        "cu.call('cuCtxSetLimit', 3, c_size_t(4))",
        "cu.call('cuCtxSetLimit', 3, c_size_t(2))",
        2 * 8 * MIB,
    ),
    "heap of kernels": (
        "cu.call('cuCtxSetLimit', 2, c_size_t(20 * MIB))",
        "cu.call('cuCtxSetLimit', 2, c_size_t(8 * MIB))",
        12 * MIB,
    ),
    "stack of kernels": (
        "cu.call('cuCtxSetLimit', 0, c_size_t(4096))",
        "cu.call('cuCtxSetLimit', 0, c_size_t(1024))",
        3072 * 4 * 2048,
    ),
    "module": (
        "got = c_void_p(); cu.call('cuModuleLoadData', byref(got), b'.version 8' * 100000)",
        "cu.call('cuModuleUnload', got)",
        1_000_000,
    ),
    "variable of a module": (
        "got = c_void_p(); cu.call('cuModuleLoadData', byref(got), b'kai_variable[20971520]')",
        "cu.call('cuModuleUnload', got)",
        20 * MIB,
    ),
    "library": (
        "got = c_void_p(); image = b'.version 8' * 100000\n"
        "cu.call('cuLibraryLoadData', byref(got), image, None, None, 0, None, None, 0)",
        "cu.call('cuLibraryUnload', got)",
        1_000_000,
    ),
}

PROGRAM = """
import ctypes
from ctypes import byref, c_size_t, c_uint64, c_void_p
import driver as cu
MIB = 1 << 20
cu.start()
if ask: cu.alloc(filler)
before = cu.used()
try:
{asked}
except cu.Failed as failed:
    print("refused", failed.code)
    got = None
if got_all:
    print("took", cu.used() - before)
{given}
    print("left", cu.used() - before)
"""


def program(family: str, *, filled_up: int | None = None) -> str:
    """`filled_up`: so much is left of 512 MiB when the memory is requested."""
    asked, given, _ = FAMILIES[family]
    text = PROGRAM.replace("if ask: cu.alloc(filler)", "")
    if filled_up is not None:
        text = PROGRAM.replace("if ask: cu.alloc(filler)", f"cu.alloc(512 * MIB - {filled_up})")
    lines = text.replace("if got_all:", "if 'got' not in globals() or got is not None:")
    indented = "\n".join(f"    {line}" for line in asked.splitlines())
    return lines.format(asked=indented, given="\n".join(f"    {x}" for x in given.splitlines()))


@pytest.mark.parametrize("family", FAMILIES)
def test_it_counts_what_it_takes_until_it_is_given_back(machine: Machine, family: str) -> None:
    said = machine.run(program(family), limit="0.5")
    assert said.split() == ["took", str(FAMILIES[family][2]), "left", "0"]
    assert machine.region().peak >= FAMILIES[family][2]


@pytest.mark.parametrize("family", FAMILIES)
def test_it_counts_as_the_card_does(machine: Machine, family: str) -> None:
    """Without the guard, the same program sees the same on the card."""
    assert machine.run(program(family)) == machine.run(program(family), limit="0.5")


@pytest.mark.parametrize("family", FAMILIES)
def test_one_byte_too_much_is_refused_as_by_a_full_card(machine: Machine, family: str) -> None:
    size = FAMILIES[family][2]
    said = machine.run(program(family, filled_up=size - 1), limit="0.5")
    assert said.split()[:2] == ["refused", "2"], said
    assert machine.region().used <= machine.region().limit == 512 * MIB


@pytest.mark.parametrize("family", FAMILIES)
def test_the_last_byte_is_given(machine: Machine, family: str) -> None:
    said = machine.run(program(family, filled_up=FAMILIES[family][2]), limit="0.5")
    assert said.split()[:2] == ["took", str(FAMILIES[family][2])], said


@pytest.mark.parametrize(
    "family",
    [
        each
        for each in FAMILIES
        if not any(part in each for part in ("kernels", "host", "multicast", "attached"))
    ],
)
def test_what_the_driver_refuses_does_not_count(machine: Machine, family: str) -> None:
    names = [part.split("'")[1] for part in FAMILIES[family][0].split("cu.call(")[1:]] or [
        "cuMemAlloc_v2" if "alloc" in FAMILIES[family][0] else "cuMemCreate"
    ]
    if "graph" in family:
        names = ["cuGraphLaunch" if family != "graph in a graph" else "cuGraphUpload"]
    for name in names:
        script = program(family).replace("cu.start()", "cu.start(); start = cu.used()")
        script = script.replace(
            'print("refused", failed.code)', "print(failed.code, cu.used() - start)"
        )
        said = machine.run(script, limit="0.5", STUB_FAIL=f"{name}:1").split()
        assert said[0] in ("214", "took"), (name, said)
        assert said[1] == "0" or said[0] == "took", (name, said)


GIVEN_TO_OTHERS = {
    "exported": "cu.call('cuMemExportToShareableHandle', byref(c_uint64()), got, 1, c_uint64(0))",
    "mapped to an array": (
        "to = cu.ArrayMapping(operation=1, memory=got.value)\n"
        "cu.call('cuMemMapArrayAsync', byref(to), 1, None)"
    ),
    "bound to a logical endpoint": (
        "rest = (c_uint64(0), c_uint64(4 * MIB), c_uint64(0))\n"
        "cu.call('cuLogicalEndpointBindMem', c_uint64(1), 0, c_uint64(0), got, *rest)"
    ),
}


@pytest.mark.parametrize("way", GIVEN_TO_OTHERS)
def test_physical_memory_that_others_may_have_counts_until_the_process_ends(
    machine: Machine, way: str
) -> None:
    """The driver does not say when the last of them is done with it."""
    script = (
        "from ctypes import byref, c_uint64\nimport driver as cu\nMIB = 1 << 20\ncu.start()\n"
        "for _ in range(2):\n    got = cu.create(4 * MIB)\n    "
        + GIVEN_TO_OTHERS[way].replace("\n", "\n    ")
        + "\n    cu.call('cuMemRelease', got); print(cu.used() // MIB)"
    )
    assert machine.run(script, limit="0.5").split() == ["4", "8"]
    assert machine.run(script).split() == ["4", "8"]
    assert machine.run("import driver as cu; cu.start(); print(cu.used())", limit="0.5") == "0\n"


def test_memory_of_a_destroyed_pool_counts_until_it_is_freed(machine: Machine) -> None:
    script = """
from ctypes import byref, c_size_t, c_void_p
import driver as cu
MIB = 1 << 20
cu.start()
pool, now, first, second = cu.pool(), c_void_p(), cu.handle(), cu.handle()
cu.call("cuDeviceSetMemPool", 0, pool)
cu.call("cuMemAllocAsync", byref(first), c_size_t(40 * MIB), None)
cu.call("cuMemAllocAsync", byref(second), c_size_t(20 * MIB), None)
cu.call("cuMemPoolDestroy", pool)
cu.call("cuDeviceGetMemPool", byref(now), 0)
print(now.value == pool.value, cu.used() // MIB)
cu.call("cuMemFreeAsync", first, None)
print(cu.used() // MIB)
cu.free(second)
print(cu.used())
"""
    on_card = machine.run(script)
    assert machine.run(script, limit="0.5") == on_card == "False 60\n20\n0\n"
    assert machine.book().total == 0


def test_a_default_pool_cannot_be_destroyed(machine: Machine) -> None:
    script = """
from ctypes import byref, c_size_t, c_void_p
import driver as cu
cu.start()
pool, got = c_void_p(), cu.handle()
cu.call("cuDeviceGetDefaultMemPool", byref(pool), 0)
cu.call("cuMemAllocAsync", byref(got), c_size_t(1 << 20), None)
try: cu.call("cuMemPoolDestroy", pool)
except cu.Failed as failed: print(failed.code)
"""
    assert machine.run(script, limit="0.5") == machine.run(script) == "1\n"


LOAD = """
from ctypes import byref, c_void_p
import driver as cu
cu.start()
got = c_void_p()
try: cu.call("cuModuleLoadData", byref(got), IMAGE)
except cu.Failed as failed: print(failed.code)
print(cu.used())
"""


@pytest.mark.parametrize(
    ("image", "meanwhile", "counts"),
    [
        (b".version 8.0", (300 * MIB,), 12),
        (b".version 8.0", (300 * MIB, MIB), 12 + MIB),
        (b"kai_variable[20971520]", (300 * MIB,), 20 * MIB),
        (b"kai_variable[20971520]", (0, 300 * MIB), 20 * MIB),
    ],
)
def test_code_counts_what_it_takes_while_another_process_allocates(
    machine: Machine, image: bytes, meanwhile: tuple[int, ...], counts: int
) -> None:
    sizes = ",".join(map(str, meanwhile))
    script = LOAD.replace("IMAGE", repr(image))
    said = machine.run(script, limit="0.5", STUB_MEANWHILE=f"cuModuleLoadData:{sizes}")
    assert said == f"{counts}\n"


IMAGES = """
import ctypes, struct
elf = struct.pack("<4s36xQ10xHH2x", b"\\x7fELF", 640, 60, 6)
fatbin = ctypes.create_string_buffer(struct.pack("<IHHQ", 0xba55ed50, 1, 16, 984))
wrapped = struct.pack("<IIQ", 0x466243b1, 1, ctypes.addressof(fatbin))
"""


@pytest.mark.parametrize("image", ["elf", "fatbin", "wrapped"])
def test_code_is_loaded_once_if_it_takes_no_more_than_its_image(
    machine: Machine, image: str
) -> None:
    """Each of these images has 1,000 bytes, and the pretended driver takes five or less of them."""
    script = IMAGES + LOAD.replace("IMAGE", image)
    for meanwhile, is_counted in ((900, True), (1100, False)):
        said = machine.run(script, limit="0.5", STUB_MEANWHILE=f"cuModuleLoadData:{meanwhile}")
        assert (int(said) > meanwhile) is is_counted


def test_code_that_cannot_be_loaded_a_second_time_is_refused(machine: Machine) -> None:
    script = LOAD.replace("IMAGE", "b'kai_variable[20971520]'")
    assert machine.run(script, limit="0.5", STUB_FAIL="cuModuleLoadData:2") == "214\n0\n"
    assert machine.book().total == machine.region().used == 0


def test_code_that_cannot_be_unloaded_counts_what_it_took_at_first(machine: Machine) -> None:
    """As while a graph is recorded."""
    script = LOAD.replace("IMAGE", "b'kai_variable[20971520]'")
    said = machine.run(script, limit="0.5", STUB_FAIL="cuModuleUnload:1")
    assert said == f"{20 * MIB}\n"
    assert machine.region().peak == machine.book().peak == 20 * MIB


WHILE_A_THREAD_ALLOCATES = """
import threading
from ctypes import byref, c_void_p
import driver as cu
context, done, blocks, BLOCK = cu.start(), threading.Event(), [], 4096
def allocate():
    cu.call("cuCtxPushCurrent_v2", context)
    while not done.is_set() and len(blocks) < 100_000: blocks.append(cu.alloc(BLOCK))
thread = threading.Thread(target=allocate)
thread.start()
for _ in range(20): cu.call("cuModuleLoadData", byref(c_void_p()), b".version 8.0")
done.set(); thread.join()
print(len(blocks), cu.used() // BLOCK)
"""


def test_what_another_thread_allocates_is_not_counted_as_code_too(machine: Machine) -> None:
    said = machine.run(WHILE_A_THREAD_ALLOCATES, limit="0.9", STUB_LOADING="5")
    blocks, counted = map(int, said.split())
    assert blocks > 400
    assert blocks <= counted < blocks + 100
