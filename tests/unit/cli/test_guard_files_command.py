"""kai run guard-files: what the init container of a guarded pod writes, and says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this installation would have it; it is not there."""
    found = tmp_path / "installed" / "libkaiguard.so"
    monkeypatch.setattr("kai.runtime.guard_files.LIBRARY", found)
    return found


def test_without_the_library_it_fails_and_the_pod_waits(
    run: Run, library: Path, tmp_path: Path
) -> None:
    done = run("run", "guard-files", str(tmp_path))
    assert done.status == 2
    assert "this installation of kai has no libkaiguard.so" in done.err
    assert not library.exists()


def test_an_optional_library_that_is_missing_lets_the_pod_start(
    run: Run, library: Path, tmp_path: Path
) -> None:
    done = run("run", "guard-files", str(tmp_path), "--optional")
    assert (done.status, list(tmp_path.iterdir())) == (0, [])
    assert f"this installation of kai has no {library.name}: the share is no limit" in done.err


def test_an_optional_library_that_is_there_is_written(
    run: Run, library: Path, tmp_path: Path
) -> None:
    library.parent.mkdir()
    library.write_bytes(b"library")
    done = run("run", "guard-files", str(tmp_path), "--optional")
    assert (done.status, done.out) == (0, f"wrote {tmp_path}/libkaiguard.so\n")
    assert (tmp_path / "libkaiguard.so").read_bytes() == b"library"
    assert (tmp_path / "region").stat().st_mode & 0o777 == 0o666
