"""The calls of a framework's allocator, from a file of allocators/, made with the pretended driver.

    alloc NAME SIZE [!]     fill NAME SIZE (until one is refused)    free NAME
    backpedal NAME SIZE     nine tenths of the size until it is given
    create NAME SIZE [!]    map NAME PLACE OFFSET    release NAME    retain NAME PLACE
    reserve PLACE SIZE      access PLACE OFFSET SIZE    unmap PLACE OFFSET SIZE    unreserve ...
    pages NAME SIZE COUNT    mapall NAME SIZE PLACE OFFSET COUNT    unmapall ... (and release)
    pool NAME (`default` is the device's)    keep POOL SIZE|all    trim POOL    drop POOL
    async NAME SIZE [!]     from POOL NAME SIZE [!]  fillasync NAME SIZE     asyncfree NAME
    wait    total    info   full SIZE (less than that is free)      nothing (as at the start)

`!`: it has to be refused; all else has to work. `NAME.*` are all of these. Each call is printed
with the answer and the memory that is free then.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from typing import Any

import driver as cu

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def size_of(text: str) -> int:
    return int(text[:-3]) * _UNITS[text[-3:]] if text[-3:] in _UNITS else int(text)


class Wrong(Exception):
    """An answer that the framework does not expect there."""


class Replay:
    def __init__(self) -> None:
        cu.start()
        self.held: dict[str, Any] = {}
        self.pools: dict[str, c_void_p] = {}
        self.at_start = cu.info()

    def run(self, text: str) -> None:
        for line in text.splitlines():
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            expected = cu.OUT_OF_MEMORY if words[-1] == "!" else 0
            arguments = words[1 : -1 if expected else None]
            code = self.answer(getattr(self, f"do_{words[0]}"), *arguments)
            print(line, code, cu.info())
            if code != expected:
                raise Wrong(f"{line}: answered {code}")

    @staticmethod
    def answer(call: Callable[..., None], *arguments: str) -> int:
        try:
            call(*arguments)
        except cu.Failed as failed:
            return failed.code
        return 0

    def taken(self, name: str) -> list[Any]:
        """What is held by this name, which is given up."""
        names = [each for each in self.held if each == name or each.startswith(name[:-1])]
        if not name.endswith(".*"):
            names = [name]
        return [self.held.pop(each) for each in names]

    # ---- linear memory --------------------------------------------------------------------------

    def do_alloc(self, name: str, size: str) -> None:
        self.held[name] = cu.alloc(size_of(size))

    def do_fill(self, name: str, size: str) -> None:
        self._until_refused(self.do_alloc, name, size)

    def do_backpedal(self, name: str, size: str) -> None:
        wanted = size_of(size)
        while self.answer(self.do_alloc, name, str(wanted)):
            wanted = (int(wanted * 0.9) + 255) // 256 * 256

    def do_free(self, name: str) -> None:
        for pointer in self.taken(name):
            cu.free(pointer)

    def _until_refused(self, call: Callable[..., None], name: str, size: str) -> None:
        count, code = 0, 0
        while not code:
            count += 1
            code = self.answer(call, f"{name}.{count}", size)
        if code != cu.OUT_OF_MEMORY or count < 3:
            raise Wrong(f"{name}.{count} answered {code}")

    # ---- physical memory and addresses ----------------------------------------------------------

    def do_create(self, name: str, size: str) -> None:
        self.held[name] = cu.create(size_of(size)), size_of(size)

    def do_release(self, name: str) -> None:
        for handle, _ in self.taken(name):
            cu.call("cuMemRelease", handle)

    def do_reserve(self, place: str, size: str) -> None:
        self.held[place] = address = cu.handle()
        cu.call("cuMemAddressReserve", byref(address), c_size_t(size_of(size)), 0, 0, 0)

    def do_unreserve(self, place: str, size: str) -> None:
        [address] = self.taken(place)
        cu.call("cuMemAddressFree", address, c_size_t(size_of(size)))

    def _address(self, place: str, offset: str) -> c_uint64:
        return c_uint64(self.held[place].value + size_of(offset))

    def do_map(self, name: str, place: str, offset: str) -> None:
        handle, size = self.held[name]
        cu.call("cuMemMap", self._address(place, offset), c_size_t(size), 0, handle, 0)

    def do_access(self, place: str, offset: str, size: str) -> None:
        rights = (c_int * 3)(1, 0, 3)  # the first device may read and write
        address = self._address(place, offset)
        cu.call("cuMemSetAccess", address, c_size_t(size_of(size)), rights, c_size_t(1))

    def do_unmap(self, place: str, offset: str, size: str) -> None:
        cu.call("cuMemUnmap", self._address(place, offset), c_size_t(size_of(size)))

    def do_retain(self, name: str, place: str) -> None:
        handle = cu.handle()
        cu.call("cuMemRetainAllocationHandle", byref(handle), self._address(place, "0"))
        self.held[name] = handle, 0

    def do_pages(self, name: str, size: str, count: str) -> None:
        for i in range(int(count)):
            self.do_create(f"{name}.{i + 1}", size)

    def do_mapall(self, name: str, size: str, place: str, offset: str, count: str) -> None:
        for i in range(int(count)):
            self.do_map(f"{name}.{i + 1}", place, str(size_of(offset) + i * size_of(size)))

    def do_unmapall(self, name: str, size: str, place: str, offset: str, count: str) -> None:
        for i in range(int(count)):
            self.do_unmap(place, str(size_of(offset) + i * size_of(size)), size)
            self.do_release(f"{name}.{i + 1}")

    # ---- pools ----------------------------------------------------------------------------------

    def do_pool(self, name: str) -> None:
        if name == "default":
            self.pools[name] = c_void_p()
            cu.call("cuDeviceGetDefaultMemPool", byref(self.pools[name]), 0)
        else:
            self.pools[name] = cu.pool()

    def do_keep(self, pool: str, size: str) -> None:
        threshold = c_uint64(2**64 - 1 if size == "all" else size_of(size))
        cu.call("cuMemPoolSetAttribute", self.pools[pool], 4, byref(threshold))

    def do_trim(self, pool: str) -> None:
        cu.call("cuMemPoolTrimTo", self.pools[pool], c_size_t(0))

    def do_drop(self, pool: str) -> None:
        cu.call("cuMemPoolDestroy", self.pools.pop(pool))

    def do_async(self, name: str, size: str) -> None:
        self._async(name, "cuMemAllocAsync", size, None)

    def do_from(self, pool: str, name: str, size: str) -> None:
        self._async(name, "cuMemAllocFromPoolAsync", size, self.pools[pool], None)

    def _async(self, name: str, function: str, size: str, *more: Any) -> None:
        pointer = cu.handle()
        cu.call(function, byref(pointer), c_size_t(size_of(size)), *more)
        self.held[name] = pointer

    def do_fillasync(self, name: str, size: str) -> None:
        self._until_refused(self.do_async, name, size)

    def do_asyncfree(self, name: str) -> None:
        for pointer in self.taken(name):
            cu.call("cuMemFreeAsync", pointer, None)

    def do_wait(self) -> None:
        cu.call("cuStreamSynchronize", None)

    # ---- what the framework sees ----------------------------------------------------------------

    def do_total(self) -> None:
        size = c_size_t()
        cu.call("cuDeviceTotalMem_v2", byref(size), 0)
        print("the device has", size.value)

    def do_info(self) -> None:
        pass  # it is printed after each call

    def do_full(self, size: str) -> None:
        if cu.info()[0] >= size_of(size):
            raise Wrong(f"free are {cu.info()[0]}")

    def do_nothing(self) -> None:
        if self.held or cu.info() != self.at_start:
            raise Wrong(f"held is {self.held}, free are {cu.info()}, at the start {self.at_start}")
