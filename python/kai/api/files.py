"""Reads and writes files safely: a path may be missing, endless, or no regular file.

data = files.read("cluster.zip")        # "-": standard input
files.write("out.json", data)
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
from typing import TYPE_CHECKING, BinaryIO

from kai.errors import InvalidInputError

if TYPE_CHECKING:
    import gzip

STANDARD_INPUT = "-"
LARGEST = 4 * 2**30
"""Most bytes of a file, packed or unpacked. A cluster of a million pods needs about 2 GiB."""
LARGEST_STREAM = 2**30
"""Most bytes of an input without a size: pipes, devices and standard input."""

_CHUNK = 2**20
_BINARY = (b"PK", b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff")  # zip, gzip, and UTF-16


def read(name: str | os.PathLike[str]) -> bytes:
    """The whole content. Raises InvalidInputError with the cause, without the file name.

    Waits for a pipe; Ctrl-C ends the wait.
    """
    try:
        if name == STANDARD_INPUT:
            return _read_stream(sys.stdin.buffer)
        with open(name, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
                return _read_stream(file)
            if status.st_size > LARGEST:
                raise too_large(f"is {status.st_size:,} bytes", LARGEST)
            return file.read()
    except OSError as error:
        raise InvalidInputError(why_unreadable(error)) from None
    except InvalidInputError:
        raise
    except ValueError:  # from open: a NUL byte, or a name that this system does not accept
        raise InvalidInputError("no file can have this name") from None


def _read_stream(stream: BinaryIO) -> bytes:
    start = stream.read(_CHUNK)
    if b"\0" in start and not start.startswith(_BINARY):
        raise InvalidInputError(f"not text (byte {start.index(0)} is 0)")
    message = f"does not end after {LARGEST_STREAM:,} bytes, the limit of kai for pipes"
    rest = all_of(stream, LARGEST_STREAM - len(start), message)
    return start + rest if rest else start


def all_of(stream: BinaryIO | gzip.GzipFile, most: int, message: str) -> bytes:
    """The rest of a stream. Raises InvalidInputError(message) if it has more than `most` bytes."""
    content = io.BytesIO()
    while chunk := stream.read(_CHUNK):
        content.write(chunk)
        if content.tell() > most:
            raise InvalidInputError(message)
    return content.getvalue()


def too_large(what: str, most: int) -> InvalidInputError:
    return InvalidInputError(f"{what}, and kai reads at most {most:,} bytes")


def why_unreadable(error: OSError) -> str:
    """Why a file cannot be read or written, to follow its name: "no such file or directory"."""
    if error.errno == errno.EBADF:
        return "is closed"
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def check_name(name: str | os.PathLike[str]) -> None:
    """Raises FileNotFoundError for an empty name, and for one that no file can have."""
    text = os.fspath(name)
    if not text or "\0" in text:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text.replace("\0", "?"))


def write(name: str | os.PathLike[str], data: bytes) -> None:
    """Writes the whole file or nothing. Raises OSError; the old content is then kept."""
    check_name(name)
    place = os.path.realpath(name)
    if os.path.isdir(place):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(name))
    if os.path.exists(place) and not os.path.isfile(place):  # a pipe or a device
        with open(place, "wb") as file:
            file.write(data)
        return
    beside = f"{place}.{os.getpid()}.tmp"
    try:
        with open(beside, "wb") as file:
            file.write(data)
        if os.path.exists(place):
            os.chmod(beside, stat.S_IMODE(os.stat(place).st_mode))
        os.replace(beside, place)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        error.filename = os.fspath(name)
        raise
