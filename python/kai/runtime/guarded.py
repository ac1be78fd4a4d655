"""guarded(): the shares that libkaiguard.so holds, from the file in which a pod counts.

>>> guarded(environ={}) is None  # the guard does not run in this container
True

The layout is that of ``guard/region/layout.h``. A monitor may read the file of any pod, without
writing to it and while the pod goes on.
"""

from __future__ import annotations

import os
import stat
import struct
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kai.api import keys

_MAGIC = int.from_bytes(b"KAIGUARD", "little")
_VERSION = 1
_DEVICES, _PROCESSES = 16, 1024
_CHECKED = 2  # words of a number: itself, and its check value
_HEADER, _ROW, _SLOT = 2 * _CHECKED, 8 * _CHECKED + 2, 4 + _DEVICES * (_CHECKED + 1)
_WORDS = _HEADER + _DEVICES * _ROW + _PROCESSES * _SLOT
_WORD = 2**64 - 1
_FIRST_LOCK = (1 << 40) + 1  # of the first process's slot
_FLOCK = "hhqqi"  # struct flock: type, whence, start, length, process
_NO_LIMIT = _WORD
_KINDS = {1: "GPU", 2: "MIG"}  # of a row's device


class NotGuarded(Exception):
    """The file says nothing about shares; the message has the reason."""


@dataclass(frozen=True)
class GuardedProcess:
    """A process of the pod, and the device memory in bytes that it holds.

    pid: as its container counts.
    """

    pid: int
    name: str
    used: int
    peak: int


@dataclass(frozen=True)
class GuardedDevice:
    """The share of one device, in bytes; a MIG instance is a device.

    limit: None if the device has no limit. total: what the driver says that the device has. peak:
    the most that was ever used. refusals: requests above the limit.
    """

    uuid: str
    limit: int | None
    total: int
    used: int
    peak: int
    refusals: int
    processes: tuple[GuardedProcess, ...]


def guarded(
    path: str | os.PathLike[str] | None = None, *, environ: Mapping[str, str] | None = None
) -> tuple[GuardedDevice, ...] | None:
    """The devices that processes of the pod have used, in the order of their first use. An empty
    file has none: it is as the pod's init container made it.

    path: the file of a pod; else that of this container, from KAI_GUARD_REGION. None: this
    container has none.

    Raises NotGuarded for a file that is missing, damaged or of another version.
    """
    given = (os.environ if environ is None else environ).get(keys.GUARD_REGION_ENV)
    place = path if path is not None else given
    if not place:
        return None
    try:
        # Without waiting: a pipe has no writer.
        descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise NotGuarded(f"{place}: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotGuarded(f"{place}: not a file of the guard, but a folder, a pipe or a device")
        return tuple(_devices(Path(place), descriptor))
    except OSError as error:
        raise NotGuarded(f"{place}: {error.strerror}") from None
    finally:
        os.close(descriptor)


def _devices(path: Path, descriptor: int) -> Iterator[GuardedDevice]:
    content = os.pread(descriptor, 8 * _WORDS + 1, 0)
    if not content:
        return
    words = memoryview(content[: len(content) // 8 * 8]).cast("Q")
    if len(content) != 8 * _WORDS or words[0] != _MAGIC:
        raise NotGuarded(f"{path}: not a file of the guard, or of another version")
    if _number(words, 0) is None or _number(words, _CHECKED) != _VERSION:
        raise NotGuarded(f"{path}: damaged, or of another version of the guard")
    alive = [slot for slot in range(_PROCESSES) if _has_process(words, slot, descriptor)]
    for row in range(_DEVICES):
        at = _HEADER + row * _ROW
        first, second, device, limit, total, used, peak, _ = (
            _number(words, at + _CHECKED * field) for field in range(8)
        )
        if device not in _KINDS:
            continue
        if first is None or second is None or limit is None or total is None:
            raise NotGuarded(f"{path}: damaged")
        processes = tuple(_process(words, slot, row) for slot in alive)
        holding = tuple(each for each in processes if each.peak)
        yield GuardedDevice(
            uuid=f"{_KINDS[device]}-{uuid.UUID(bytes=struct.pack('<QQ', first, second))}",
            limit=None if limit == _NO_LIMIT else limit,
            total=total,
            # It is counted again when a process next asks for memory.
            used=sum(each.used for each in holding) if used in (None, _WORD) else used or 0,
            peak=peak or 0,
            refusals=words[at + 8 * _CHECKED + 1],
            processes=holding,
        )


def _slot_at(slot: int) -> int:
    return _HEADER + _DEVICES * _ROW + slot * _SLOT


def _process(words: memoryview, slot: int, row: int) -> GuardedProcess:
    at = _slot_at(slot)
    name = struct.pack("<QQ", words[at + 2], words[at + 3]).split(b"\0")[0].strip()
    return GuardedProcess(
        pid=words[at],
        name=name.decode(errors="replace"),
        used=_number(words, at + 4 + _CHECKED * row) or 0,
        peak=words[at + 4 + _CHECKED * _DEVICES + row],
    )


def _has_process(words: memoryview, slot: int, descriptor: int) -> bool:
    """Processes have locks of their slots, which end with them."""
    if not words[_slot_at(slot)]:
        return False
    import fcntl

    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, _FIRST_LOCK + slot, 1, 0)
    answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, asked)
    return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)


def _number(words: memoryview, at: int) -> int | None:
    """None: it was changed by others."""
    value: int = words[at]
    return value if words[at + 1] == _mixed(value) else None


def _mixed(value: int) -> int:
    """The check value of a number: SplitMix64's finalizer."""
    value = (value + 0x9E3779B97F4A7C15) & _WORD
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _WORD
    return value ^ (value >> 31)
