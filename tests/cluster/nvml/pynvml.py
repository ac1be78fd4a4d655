"""Replaces nvidia-ml-py in reservation pods of the test machine: one GPU, which the pod sees
because it holds it."""


class NVMLError(Exception):
    pass


def nvmlInit() -> None: ...


def nvmlShutdown() -> None: ...


def nvmlDeviceGetCount() -> int:
    return 1


def nvmlDeviceGetHandleByIndex(number: int) -> int:
    return number


def nvmlDeviceGetUUID(device: int) -> str:
    return f"GPU-00000000-0000-0000-0000-{device:012}"
