"""The devices of this machine, their memory and their processes, by NVIDIA's management library.

    for device in devices()[0]:
        print(device.uuid, device.used, [each.pid for each in device.processes])

It calls the driver's own libnvidia-ml.so.1 and starts no CUDA. A GPU that is divided by MIG is
listed as its instances.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from ctypes import Structure, byref, c_char_p, c_int, c_uint, c_ulonglong, c_void_p
from typing import Any, TypeVar

from kai.api.gpu_use import GpuProcess, MeasuredDevice
from kai.errors import InvalidInputError

LIBRARY = "libnvidia-ml.so.1"

_NOT_SUPPORTED, _NOT_FOUND, _INSUFFICIENT_SIZE = 3, 6, 7
_UNKNOWN = 2**64 - 1
_UUID_SIZE = 96
_MOST_PROCESSES = 1 << 16
_KINDS = ("Compute", "Graphics", "MPSCompute")
_VERSIONS = ("_v3", "_v2")  # _v2 has the same structure, for drivers before 510

Answer = TypeVar("Answer")


class NoNvml(InvalidInputError):
    """NVML cannot be used, or a call failed; the message has the cause."""


class _Failed(NoNvml):
    def __init__(self, function: str, code: int, text: str) -> None:
        super().__init__(f"{function}: {text}")
        self.code = code


class _Process(Structure):
    _fields_ = (
        ("pid", c_uint),
        ("used", c_ulonglong),
        ("gpu_instance", c_uint),
        ("compute_instance", c_uint),
    )


class _Memory(Structure):
    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


def devices(library: str = LIBRARY) -> tuple[list[MeasuredDevice], list[str]]:
    """All devices, and a sentence for each that does not answer. Raises NoNvml."""
    return _with(library, _Nvml.devices)


def uuids(library: str = LIBRARY) -> list[str]:
    """Of the GPUs. In a container these are the ones that were assigned to it. Raises NoNvml."""
    return _with(library, lambda nvml: [nvml.uuid(each) for each in nvml.gpus()])


def _with(library: str, read: Callable[[_Nvml], Answer]) -> Answer:
    try:
        nvml = _Nvml(ctypes.CDLL(library))
    except OSError:
        raise NoNvml(
            f"no device can be read: {library} was not found; the container needs NVIDIA's driver, "
            "which its runtime adds"
        ) from None
    nvml.call("nvmlInit_v2")
    try:
        return read(nvml)
    finally:
        nvml.call("nvmlShutdown")


class _Nvml:
    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def has(self, function: str) -> bool:
        return hasattr(self._library, function)

    def call(self, function: str, *arguments: Any) -> None:
        """Raises NoNvml."""
        if not self.has(function):
            raise _Failed(function, _NOT_SUPPORTED, "the driver does not have this function")
        if code := getattr(self._library, function)(*arguments):
            raise _Failed(function, code, self._text_of(code))

    def gpus(self) -> Iterator[c_void_p]:
        count = c_uint()
        self.call("nvmlDeviceGetCount_v2", byref(count))
        for index in range(count.value):
            yield self._handle("nvmlDeviceGetHandleByIndex_v2", c_uint(index))

    def devices(self) -> tuple[list[MeasuredDevice], list[str]]:
        found, problems = [], []
        count = c_uint()
        self.call("nvmlDeviceGetCount_v2", byref(count))
        for index in range(count.value):
            try:
                gpu = self._handle("nvmlDeviceGetHandleByIndex_v2", c_uint(index))
                found += [self._measured(each) for each in self._parts(gpu)]
            except NoNvml as error:  # the others are still measured
                problems.append(f"GPU {index} does not answer: {error}")
        return found, problems

    def uuid(self, device: c_void_p) -> str:
        text = ctypes.create_string_buffer(_UUID_SIZE)
        self.call("nvmlDeviceGetUUID", device, text, c_uint(_UUID_SIZE))
        return text.value.decode(errors="replace")

    def _measured(self, device: c_void_p) -> MeasuredDevice:
        memory = _Memory()
        self.call("nvmlDeviceGetMemoryInfo", device, byref(memory))
        return MeasuredDevice(
            self.uuid(device), memory.total, memory.used, tuple(self._processes(device))
        )

    def _parts(self, gpu: c_void_p) -> Iterator[c_void_p]:
        """The MIG instances of a GPU that is divided, otherwise itself."""
        is_divided, _ = c_uint(), c_uint()
        if not self._has_answer("nvmlDeviceGetMigMode", gpu, byref(is_divided), byref(_)):
            is_divided.value = 0
        if not is_divided.value:
            yield gpu
            return
        most = c_uint()
        self.call("nvmlDeviceGetMaxMigDeviceCount", gpu, byref(most))
        for index in range(most.value):
            part = c_void_p()
            if self._has_answer(
                "nvmlDeviceGetMigDeviceHandleByIndex", gpu, c_uint(index), byref(part)
            ):
                yield part

    def _processes(self, device: c_void_p) -> Iterator[GpuProcess]:
        """A process that computes and draws is in two lists, with the same number."""
        used: dict[int, int | None] = {}
        for kind in _KINDS:
            names = [f"nvmlDeviceGet{kind}RunningProcesses{each}" for each in _VERSIONS]
            function = next(filter(self.has, names), names[0])
            for pid, size in self._listed(function, device):
                earlier = used.get(pid)
                used[pid] = size if earlier is None else max(earlier, size or 0)
        return (GpuProcess(pid, size) for pid, size in used.items())

    def _listed(self, function: str, device: c_void_p) -> Iterator[tuple[int, int | None]]:
        room = 64
        while True:
            processes, count = (_Process * room)(), c_uint(room)
            try:
                self.call(function, device, byref(count), processes)
            except _Failed as error:
                if error.code == _NOT_SUPPORTED:
                    return
                if error.code == _INSUFFICIENT_SIZE and room < _MOST_PROCESSES:
                    room = max(2 * room, count.value + 16)
                    continue
                raise
            break
        for each in processes[: count.value]:
            yield each.pid, None if each.used == _UNKNOWN else each.used

    def _handle(self, function: str, *arguments: Any) -> c_void_p:
        found = c_void_p()
        self.call(function, *arguments, byref(found))
        return found

    def _has_answer(self, function: str, *arguments: Any) -> bool:
        try:
            self.call(function, *arguments)
        except _Failed as error:
            if error.code in (_NOT_SUPPORTED, _NOT_FOUND):
                return False
            raise
        return True

    def _text_of(self, code: int) -> str:
        if not self.has("nvmlErrorString"):
            return f"error {code}"
        describe = self._library.nvmlErrorString
        describe.restype, describe.argtypes = c_char_p, [c_int]
        text: bytes = describe(code) or b""
        return text.decode(errors="replace") or f"error {code}"
