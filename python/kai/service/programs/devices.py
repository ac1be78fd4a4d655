"""The devices that this process sees, by NVIDIA's management library (NVML)."""

from __future__ import annotations

from typing import Any

from kai.api import extras
from kai.errors import InvalidInputError


def visible_devices() -> list[str]:
    """Their UUIDs. In a container these are the devices assigned to it.

    Raises InvalidInputError, in one sentence, if the library is not installed, the driver is
    missing, or NVML fails.
    """
    try:
        import pynvml
    except ImportError:
        raise InvalidInputError(extras.needed("reading devices", "nvidia-ml-py")) from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise InvalidInputError(
            f"no device can be read: {error}; the container needs NVIDIA's driver, which its"
            " runtime adds to pods that request a GPU"
        ) from None
    try:
        return [_uuid(pynvml, number) for number in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError as error:
        raise InvalidInputError(f"the devices cannot be read: {error}") from None
    finally:
        pynvml.nvmlShutdown()


def _uuid(nvml: Any, number: int) -> str:
    found = nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByIndex(number))
    return found.decode() if isinstance(found, bytes) else str(found)  # bytes before version 11.5
