"""What the devices of a node hold, as measured from outside their pods.

    MeasuredDevice("GPU-8f2c...", total=80 << 30, used=3 << 30, processes=(
        GpuProcess(812, 3 << 30, name="python", pod="4ab1...", inner_pid=1),))

Memory is in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that holds memory of a device.

    pid: as the node counts; `inner_pid`: as its container counts. used: None if the driver does not
    know it. pod: the UID of its pod; "": it belongs to none.
    """

    pid: int
    used: int | None
    name: str = ""
    pod: str = ""
    inner_pid: int = 0


@dataclass(frozen=True, slots=True)
class MeasuredDevice:
    """A GPU, or a MIG instance of one. used: by all processes and the driver."""

    uuid: str
    total: int
    used: int
    processes: tuple[GpuProcess, ...] = ()


@dataclass(frozen=True, slots=True)
class CountedProcess:
    """A process as the guard of its pod counts it. pid: as its container counts."""

    pid: int
    name: str
    used: int
    peak: int


@dataclass(frozen=True, slots=True)
class CountedShare:
    """What the guard of a pod counts on one device. limit: None if it has none."""

    pod: str
    device: str
    limit: int | None
    used: int
    peak: int
    refusals: int
    processes: tuple[CountedProcess, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
    """The devices of a node at one moment. problems: sentences about what could not be read."""

    devices: tuple[MeasuredDevice, ...]
    counted: tuple[CountedShare, ...] = ()
    problems: tuple[str, ...] = ()
