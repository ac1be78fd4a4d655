"""Devices and processes by NVML, with a library that a test fills. Over the pretended one of
guard/stub: tests/guard/test_measuring.py."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kai.api.gpu_use import GpuProcess, MeasuredDevice
from kai.runtime import nvml

NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE, LOST = 3, 6, 7, 15
GIB = 1 << 30
UNKNOWN = 2**64 - 1
COMPUTE = "nvmlDeviceGetComputeRunningProcesses_v3"
GRAPHICS = "nvmlDeviceGetGraphicsRunningProcesses_v3"
MPS = "nvmlDeviceGetMPSComputeRunningProcesses_v3"

Pairs = Sequence[tuple[int, int]]


@dataclass
class Card:
    """`lists`: by function, the processes and the bytes of each."""

    uuid: str
    lists: Mapping[str, Pairs] = field(default_factory=dict)
    instances: Sequence[Card | None] = ()
    is_lost: bool = False


class ErrorString:
    def __call__(self, code: int) -> bytes:
        return {LOST: b"GPU is lost"}.get(code, b"error")


class Library:
    """libnvidia-ml.so.1 of a machine with these cards; a handle is the number of a card or part."""

    def __init__(self, *cards: Card, lacks: Sequence[str] = ()) -> None:
        self.cards, self.lacks, self.open = cards, lacks, 0
        self.every = [*cards, *(part for card in cards for part in card.instances if part)]

    def __getattr__(self, name: str) -> Any:
        functions = type(self).__dict__
        if name in self.__dict__.get("lacks", ()) or not name.startswith("nvml"):
            raise AttributeError(name)
        if "RunningProcesses" in name:
            known = any(name in card.lists for card in self.every) or name == COMPUTE
            if not known:
                raise AttributeError(name)
            return lambda *given: self.processes(name, *given)
        if name == "nvmlErrorString":
            return ErrorString()
        return functions[f"_{name}"].__get__(self)

    def _nvmlInit_v2(self) -> int:
        self.open += 1
        return 0

    def _nvmlShutdown(self) -> int:
        self.open -= 1
        return 0

    def _nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = len(self.cards)
        return 0

    def _nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        handle._obj.value = index.value + 1
        return LOST if self.cards[index.value].is_lost else 0

    def _nvmlDeviceGetUUID(self, handle: Any, text: Any, size: Any) -> int:
        text.value = self.of(handle).uuid.encode()
        return 0

    def _nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> int:
        memory._obj.total, memory._obj.free, memory._obj.used = 80 * GIB, 70 * GIB, 10 * GIB
        return 0

    def _nvmlDeviceGetMigMode(self, handle: Any, current: Any, pending: Any) -> int:
        current._obj.value = bool(self.of(handle).instances)
        return 0

    def _nvmlDeviceGetMaxMigDeviceCount(self, handle: Any, count: Any) -> int:
        count._obj.value = len(self.of(handle).instances)
        return 0

    def _nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: Any, part: Any) -> int:
        found = self.of(handle).instances[index.value]
        if found is None:
            return NOT_FOUND
        part._obj.value = self.every.index(found) + 1
        return 0

    def processes(self, name: str, handle: Any, count: Any, found: Any) -> int:
        held = self.of(handle).lists.get(name, () if name == COMPUTE else None)
        if held is None:
            return NOT_SUPPORTED
        room, count._obj.value = count._obj.value, len(held)
        if len(held) > room:
            return INSUFFICIENT_SIZE
        for at, (pid, used) in enumerate(held):
            found[at].pid, found[at].used = pid, used
        return 0

    def of(self, handle: Any) -> Card:
        return self.every[handle.value - 1]


def measured(monkeypatch: pytest.MonkeyPatch, library: Library) -> tuple[Any, list[str]]:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    found = nvml.devices()
    assert library.open == 0, "it is closed again"
    return found


def test_devices_have_their_memory_and_their_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(Card("GPU-1", {COMPUTE: [(7, 3 * GIB), (8, GIB)]}), Card("GPU-2"))
    assert measured(monkeypatch, library) == (
        [
            MeasuredDevice(
                "GPU-1", 80 * GIB, 10 * GIB, (GpuProcess(7, 3 * GIB), GpuProcess(8, GIB))
            ),
            MeasuredDevice("GPU-2", 80 * GIB, 10 * GIB),
        ],
        [],
    )
    assert nvml.uuids() == ["GPU-1", "GPU-2"]


def test_a_process_in_several_lists_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {COMPUTE: [(7, GIB)], GRAPHICS: [(7, GIB), (9, 5)], MPS: [(7, 2 * GIB)]}
    [device], _ = measured(monkeypatch, Library(Card("GPU-1", lists)))
    assert device.processes == (GpuProcess(7, 2 * GIB), GpuProcess(9, 5))


def test_memory_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {COMPUTE: [(7, UNKNOWN), (8, UNKNOWN)], GRAPHICS: [(8, 5)]}
    [device], _ = measured(monkeypatch, Library(Card("GPU-1", lists)))
    assert device.processes == (GpuProcess(7, None), GpuProcess(8, 5))


def test_there_may_be_more_processes_than_fit_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [(pid, pid) for pid in range(1, 1000)]
    [device], _ = measured(monkeypatch, Library(Card("GPU-1", {COMPUTE: many})))
    assert len(device.processes) == 999


def test_a_divided_gpu_is_listed_as_its_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    first, third = Card("MIG-1", {COMPUTE: [(7, 5)]}), Card("MIG-3")
    divided = Card("GPU-1", instances=(first, None, third))
    found, _ = measured(monkeypatch, Library(divided, Card("GPU-2")))
    assert [each.uuid for each in found] == ["MIG-1", "MIG-3", "GPU-2"]
    assert found[0].processes == (GpuProcess(7, 5),)


def test_older_drivers_have_other_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    older = "nvmlDeviceGetComputeRunningProcesses_v2"
    library = Library(Card("GPU-1", {older: [(7, 5)]}), lacks=(COMPUTE, "nvmlDeviceGetMigMode"))
    [device], problems = measured(monkeypatch, library)
    assert (device.processes, problems) == ((GpuProcess(7, 5),), [])


def test_a_lost_gpu_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    found, problems = measured(monkeypatch, Library(Card("GPU-1", is_lost=True), Card("GPU-2")))
    assert [each.uuid for each in found] == ["GPU-2"]
    assert problems == [
        "GPU 0 does not answer: nvmlDeviceGetHandleByIndex_v2: GPU is lost",
    ]


def test_a_machine_without_a_driver() -> None:
    with pytest.raises(nvml.NoNvml, match=r"libnvidia-nothing\.so was not found"):
        nvml.devices("libnvidia-nothing.so")
