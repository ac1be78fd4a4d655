"""KAI snapshots as files: the zip archive of its plugin, the JSON inside, and either compressed.

data = unpack(data)                    # zip and gzip away
snapshot = find_snapshot(data)         # None: these are no snapshot, but maybe manifests
"""

from __future__ import annotations

import gzip
import io
import lzma
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass

from kai.api import documents, files
from kai.engine.cluster import case_of
from kai.errors import InvalidInputError

DAMAGED = (
    *(EOFError, LookupError, OSError, OverflowError, ValueError),
    *(lzma.LZMAError, struct.error, zlib.error, zipfile.BadZipFile),
)
"""What Python's readers of archives and compressed files raise for damaged ones."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The bytes of a snapshot.json, and the time of the cycle where the file says one."""

    data: bytes
    now: str | None = None


def unpack(data: bytes) -> bytes:
    """The content of an archive or a compressed file; anything else as it is."""
    if data.startswith(b"PK"):
        return _from_zip(data)
    if data.startswith(b"\x1f\x8b"):
        return _from_gzip(data)
    return data


def find_snapshot(data: bytes) -> Snapshot | None:
    """The snapshot these bytes are, or hold as a recorded case; None if they are something else.

    Looks only at what comes before the objects, so that a large snapshot is read once, in C++.
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
    """A recorded case: {"id": ..., "now": ..., "snapshot": {...}, "expect": ...}."""
    case = case_of(data)
    if case is None or b'"rawObjects"' not in case[0]:
        return None
    return Snapshot(case[0], case[1] or None)


def _from_zip(data: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entry = _snapshot_entry(archive)
            if entry.flag_bits & 1:
                raise InvalidInputError("the zip archive is encrypted")
            if entry.file_size > files.LARGEST:
                what = f"{entry.filename} in the archive unpacks to {entry.file_size:,} bytes"
                raise files.too_large(what, files.LARGEST)
            return archive.read(entry)
    except InvalidInputError:
        raise
    except (NotImplementedError, RuntimeError) as error:  # a method that this Python lacks
        raise InvalidInputError(f"not a zip archive kai can unpack: {error}") from None
    except DAMAGED:
        raise InvalidInputError("not a complete zip archive (cut short or damaged)") from None


def _snapshot_entry(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    for entry in entries:
        if entry.filename.rpartition("/")[2] == "snapshot.json":
            return entry
    named_json = [entry for entry in entries if entry.filename.endswith(".json")]
    if len(named_json) == 1:
        return named_json[0]
    raise InvalidInputError("the zip archive holds no snapshot.json")


def _from_gzip(data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            said = f"it unpacks to more than the {files.LARGEST:,} bytes that kai reads"
            return files.all_of(file, files.LARGEST, said)
    except InvalidInputError:
        raise
    except DAMAGED:
        raise InvalidInputError("not a complete gzip file (cut short or damaged)") from None
