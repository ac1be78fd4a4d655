"""KAI snapshots as files: the zip archive of KAI's plugin, the JSON in it, and gzip files of both.

data, memory = unpack(data)            # removes zip and gzip
snapshot = find_snapshot(data)         # None: not a snapshot; the data may be manifests
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NamedTuple

from kai.api import documents
from kai.engine.cluster import case_of
from kai.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The bytes of a snapshot.json, and the time of the cycle if the file contains it."""

    data: bytes
    now: str | None = None


class Unpacked(NamedTuple):
    """The content of a file, and the scheduler's memory if the archive has it."""

    data: bytes
    memory: Memory | None = None


class Memory(NamedTuple):
    """The text of a memory.json, and its time; `now` is None if the file has no time."""

    text: str
    now: str | None


def unpack(data: bytes) -> Unpacked:
    """The content of an archive or a compressed file; other data is returned unchanged."""
    if not data.startswith((_ZIP, _GZIP)):
        return Unpacked(data)
    from kai.snapshot import packed  # imported only here: the import takes 8 ms

    if data.startswith(_GZIP):
        return Unpacked(packed.from_gzip(data))
    snapshot, memory = packed.from_zip(data)
    return Unpacked(snapshot, None if memory is None else _memory(memory))


def _memory(data: bytes) -> Memory:
    try:
        now = json.loads(data)["now"]
    except KeyError:
        now = None
    except (ValueError, TypeError, RecursionError):
        raise InvalidInputError("memory.json in the archive is not a JSON object") from None
    if not isinstance(now, str | None):
        raise InvalidInputError("memory.json in the archive: now is not a string")
    return Memory(data.decode(), now)


_ZIP, _GZIP = b"PK", b"\x1f\x8b"


def find_snapshot(data: bytes) -> Snapshot | None:
    """The snapshot in these bytes, alone or in a recorded case; None for any other content.

    Reads only the part before the objects, so that a large snapshot is parsed once, in C++.
    """
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        data = documents.decode(data).encode()
    start = data.find(b'"rawObjects"')
    if start < 0 or data.lstrip()[:1] != b"{":
        return None
    outline = _STRING.sub(b"", data[:start])
    depth = sum(outline.count(each) for each in (b"{", b"["))
    depth -= sum(outline.count(each) for each in (b"}", b"]"))
    if depth == 1:
        return Snapshot(data)
    return _from_case(data) if depth == 2 else None


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


def _from_case(data: bytes) -> Snapshot | None:
    """The snapshot of a recorded case.

    A case is {"id": ..., "now": ..., "snapshot": {...}, "expect": ...}.
    """
    case = case_of(data)
    if case is None or b'"rawObjects"' not in case[0]:
        return None
    return Snapshot(case[0], case[1] or None)
