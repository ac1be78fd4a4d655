"""Replaces NVIDIA's library in reservation pods of the test machine: one GPU, which the pod sees
because it holds it. Python imports this module when it starts."""

import ctypes
from typing import Any

_load = ctypes.CDLL


class Nvml:
    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlShutdown(self) -> int:
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = 1
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, device: Any) -> int:
        device._obj.value = index.value
        return 0

    def nvmlDeviceGetUUID(self, device: Any, text: Any, size: Any) -> int:
        text.value = b"GPU-00000000-0000-0000-0000-000000000000"
        return 0


def load(name: Any, *arguments: Any, **more: Any) -> Any:
    return Nvml() if name == "libnvidia-ml.so.1" else _load(name, *arguments, **more)


ctypes.CDLL = load  # type: ignore[misc,assignment]
