"""The devices in NVML, or one sentence with the reason why there are none."""

import sys
from types import ModuleType

import pytest

from kai.errors import InvalidInputError
from kai.service.programs.devices import visible_devices


class FakeNvml(ModuleType):
    """nvidia-ml-py on a machine with these devices. `broken`: the function that fails, and why."""

    class NVMLError(Exception):
        pass

    def __init__(self, *devices: str | bytes, broken: dict[str, str] | None = None) -> None:
        super().__init__("pynvml")
        self.devices, self.broken, self.open = devices, broken or {}, 0

    def _check(self, name: str) -> None:
        if name in self.broken:
            raise self.NVMLError(self.broken[name])
        assert self.open > 0 or name == "nvmlInit"

    def nvmlInit(self) -> None:
        self._check("nvmlInit")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self._check("nvmlShutdown")
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        self._check("nvmlDeviceGetCount")
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:
        return number

    def nvmlDeviceGetUUID(self, handle: int) -> str | bytes:
        self._check("nvmlDeviceGetUUID")
        return self.devices[handle]


def shown(monkeypatch: pytest.MonkeyPatch, nvml: ModuleType | None) -> list[str]:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    return visible_devices()


def test_devices_have_uuids_in_every_version(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml("GPU-1", b"GPU-2")
    assert shown(monkeypatch, nvml) == ["GPU-1", "GPU-2"]
    assert nvml.open == 0


def test_no_devices_give_an_empty_list(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, FakeNvml()) == []


def test_the_library_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="pip install nvidia-ml-py"):
        shown(monkeypatch, None)


def test_the_driver_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = FakeNvml("GPU-1", broken={"nvmlInit": "NVML Shared Library Not Found"})
    with pytest.raises(InvalidInputError) as refusal:
        shown(monkeypatch, missing)
    assert str(refusal.value) == (
        "no device can be read: NVML Shared Library Not Found; the container needs NVIDIA's driver,"
        " which its runtime adds to pods that request a GPU"
    )


@pytest.mark.parametrize("broken", ["nvmlDeviceGetCount", "nvmlDeviceGetUUID"])
def test_an_nvml_call_fails(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    nvml = FakeNvml("GPU-1", broken={broken: "GPU is lost"})
    with pytest.raises(InvalidInputError, match="the devices cannot be read: GPU is lost"):
        shown(monkeypatch, nvml)
    assert nvml.open == 0
