"""Reading and writing of files of any kind: missing, endless, or no regular file."""

import os
import stat
from pathlib import Path

import pytest

from kai.api import files
from kai.errors import InvalidInputError


def test_a_file_is_replaced_atomically_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"before")
    path.chmod(0o640)
    files.write(path, b"after")
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("it")
    files.write(tmp_path / "link", b"data")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "it").read_bytes() == b"data"


def test_a_device_is_written_in_place(tmp_path: Path) -> None:
    files.write("/dev/null", b"data")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OSError, match="No space left") as caught:
        files.write("/dev/full", b"data")
    assert files.why_unreadable(caught.value) == "no space left on device"
    with pytest.raises(OSError, match="Is a directory"):
        files.write(tmp_path, b"data")


def test_an_error_has_the_given_file_name(tmp_path: Path) -> None:
    name = str(tmp_path / "missing" / "it")
    with pytest.raises(FileNotFoundError) as caught:
        files.write(name, b"data")
    assert caught.value.filename == name


def test_a_file_without_a_size_is_read_to_its_end(tmp_path: Path) -> None:
    assert files.read("/dev/null") == b""
    assert files.read("/proc/self/status").startswith(b"Name:")
    (tmp_path / "empty").write_bytes(b"")
    assert files.read(tmp_path / "empty") == b""
    (tmp_path / "nul").write_bytes(b"a\0b")
    assert files.read(tmp_path / "nul") == b"a\0b"
    with pytest.raises(InvalidInputError, match="no such file"):
        files.read(tmp_path / "missing")
