"""Reads archives and compressed files; an error is one sentence."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import zipfile
import zlib

from kai.api import files
from kai.engine.packing import MEMORY, SNAPSHOT
from kai.errors import InvalidInputError

DAMAGED = (
    *(EOFError, LookupError, OSError, OverflowError, ValueError),
    *(lzma.LZMAError, struct.error, zlib.error, zipfile.BadZipFile),
)
"""The exceptions that Python's readers of archives and compressed files raise for damaged ones."""


def from_zip(data: bytes) -> tuple[bytes, bytes | None]:
    """The snapshot.json of an archive, and the memory.json in the same folder, if there is one.

    Raises InvalidInputError if it is not an archive, or has no snapshot.json.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entry = _snapshot_entry(archive)
            beside = entry.filename.removesuffix(SNAPSHOT) + MEMORY
            has_memory = entry.filename.endswith(SNAPSHOT) and beside in archive.namelist()
            memory = _content(archive, archive.getinfo(beside)) if has_memory else None
            return _content(archive, entry), memory
    except InvalidInputError:
        raise
    except (NotImplementedError, RuntimeError) as error:  # a compression that is not supported here
        raise InvalidInputError(f"not a zip archive kai can unpack: {error}") from None
    except DAMAGED:
        raise InvalidInputError("not a complete zip archive (cut short or damaged)") from None


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.flag_bits & 1:
        raise InvalidInputError("the zip archive is encrypted")
    if entry.file_size > files.LARGEST:
        what = f"{entry.filename} in the archive unpacks to {entry.file_size:,} bytes"
        raise files.too_large(what, files.LARGEST)
    return archive.read(entry)


def _snapshot_entry(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    for entry in entries:
        if entry.filename.rpartition("/")[2] == SNAPSHOT:
            return entry
    named_json = [entry for entry in entries if entry.filename.endswith(".json")]
    if len(named_json) == 1:
        return named_json[0]
    raise InvalidInputError(f"the zip archive has no {SNAPSHOT}")


def from_gzip(data: bytes) -> bytes:
    """The uncompressed data. Raises InvalidInputError if the file is damaged or too large."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            message = f"it unpacks to more than the {files.LARGEST:,} bytes that kai reads"
            return files.all_of(file, files.LARGEST, message)
    except InvalidInputError:
        raise
    except DAMAGED:
        raise InvalidInputError("not a complete gzip file (cut short or damaged)") from None
