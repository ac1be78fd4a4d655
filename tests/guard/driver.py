"""The CUDA driver for test programs, by ctypes: each call returns its CUresult."""

from __future__ import annotations

import ctypes
import functools
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

MIB = 1 << 20
OUT_OF_MEMORY = 2
PER_THREAD = 2


@functools.cache
def library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


class Failed(Exception):
    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name} answered {code}")
        self.code = code


def call(name: str, *arguments: Any) -> None:
    code = getattr(library(), name)(*arguments)
    if code:
        raise Failed(name, code)


def start(device: int = 0) -> c_void_p:
    """The primary context, made current."""
    context = c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", byref(context), device)
    call("cuCtxPushCurrent_v2", context)
    return context


def info() -> tuple[int, int]:
    """Free and total bytes."""
    free, total = c_size_t(), c_size_t()
    call("cuMemGetInfo_v2", byref(free), byref(total))
    return free.value, total.value


def used() -> int:
    free, total = info()
    return total - free


def handle() -> c_uint64:
    return c_uint64()


def alloc(size: int) -> c_uint64:
    pointer = c_uint64()
    call("cuMemAlloc_v2", byref(pointer), c_size_t(size))
    return pointer


def free(pointer: c_uint64) -> None:
    call("cuMemFree_v2", pointer)


class Location(ctypes.Structure):
    _fields_ = (("type", c_int), ("id", c_int))


class AllocationProperties(ctypes.Structure):
    _fields_ = (
        ("type", c_int),
        ("handle_types", c_int),
        ("location", Location),
        ("windows", c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


def create(size: int, location: int = 1) -> c_uint64:
    made = c_uint64()
    properties = AllocationProperties(type=1, location=Location(location, 0))
    call("cuMemCreate", byref(made), c_size_t(size), byref(properties), c_uint64(0))
    return made


def reserve(size: int) -> c_uint64:
    """An address for memory that is mapped later."""
    made = c_uint64()
    call("cuMemAddressReserve", byref(made), c_size_t(size), c_size_t(0), c_uint64(0), c_uint64(0))
    return made


def map_at(address: c_uint64, size: int, memory: c_uint64) -> None:
    call("cuMemMap", address, c_size_t(size), c_size_t(0), memory, c_uint64(0))


def multicast() -> c_uint64:
    made = c_uint64()
    call("cuMulticastCreate", byref(made), None)
    return made


class ArrayMapping(ctypes.Structure):
    _fields_ = (
        ("type", c_int),
        ("array", c_void_p),
        ("part_type", c_int),
        ("part", c_uint64 * 4),
        ("operation", c_int),
        ("handle_type", c_int),
        ("memory", c_uint64),
        ("offset", c_uint64),
        ("devices", c_uint),
        ("flags", c_uint),
        ("reserved", c_uint * 2),
    )


class PoolProperties(ctypes.Structure):
    _fields_ = (
        ("type", c_int),
        ("handle_types", c_int),
        ("location", Location),
        ("security", c_void_p),
        ("max_size", c_size_t),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 54),
    )


def pool(location: int = 1) -> c_void_p:
    made = c_void_p()
    call("cuMemPoolCreate", byref(made), byref(PoolProperties(1, 0, Location(location, 0))))
    return made


def stream() -> c_void_p:
    made = c_void_p()
    call("cuStreamCreate", byref(made), 0)
    return made


class ArrayDescriptor(ctypes.Structure):
    _fields_ = (
        ("width", c_size_t),
        ("height", c_size_t),
        ("format", c_int),
        ("channels", c_uint),
    )


class Array3DDescriptor(ctypes.Structure):
    _fields_ = (
        ("width", c_size_t),
        ("height", c_size_t),
        ("depth", c_size_t),
        ("format", c_int),
        ("channels", c_uint),
        ("flags", c_uint),
    )


FLOAT = 0x20


class MemoryNode(ctypes.Structure):
    _fields_ = (
        ("properties", PoolProperties),
        ("access", c_void_p),
        ("access_count", c_size_t),
        ("size", c_size_t),
        ("pointer", c_uint64),
    )


def graph_of(*sizes: int, child: c_void_p | None = None) -> c_void_p:
    """A graph that allocates these."""
    graph, node = c_void_p(), c_void_p()
    call("cuGraphCreate", byref(graph), 0)
    for size in sizes:
        asked = MemoryNode(PoolProperties(1, 0, Location(1, 0)), size=size)
        call("cuGraphAddMemAllocNode", byref(node), graph, None, c_size_t(0), byref(asked))
    if child is not None:
        call("cuGraphAddChildGraphNode", byref(node), graph, None, c_size_t(0), child)
    return graph


def executable(graph: c_void_p) -> c_void_p:
    made = c_void_p()
    call("cuGraphInstantiateWithFlags", byref(made), graph, c_uint64(0))
    return made
