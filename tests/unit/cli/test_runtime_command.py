"""kai runtime: in words, for programs, and by its exit status."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
NAMES = ("LD_PRELOAD", "KAI_GUARD_REGION", "KAI_GUARD_LIMIT")


def said_by(run: Run, *arguments: str) -> tuple[int, str]:
    done = run("runtime", *arguments)
    return done.status, " ".join(done.out.split())


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a container in which the guard is in force."""
    for each in ("libkaiguard.so", "region"):
        (tmp_path / each).touch()
    values = (str(tmp_path / "libkaiguard.so"), str(tmp_path / "region"), "0.5")
    for name, value in zip(NAMES, values, strict=True):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("kai.runtime.state._is_loaded", lambda: True)
    return tmp_path


def test_a_share_that_is_a_limit_is_status_0(run: Run, guarded: Path) -> None:
    sentence = "The guard is in force: the memory of this container is limited to 0.5 of each GPU."
    assert said_by(run) == (0, f"Guard {sentence}")
    found = json.loads(run("runtime", "--json").out)
    assert (found["in_force"], found["isolation"], found["devices"]) == (True, "guard", [])
    assert found["region"] == str(guarded / "region")
    heading, row = run("runtime", "-o", "csv").out.splitlines()
    assert heading == "input,in_force,why_not,isolation,limit,region,library"
    assert row.startswith(",True,,guard,0.5,")


def test_an_amount_is_no_part(run: Run, guarded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert guarded.exists()
    monkeypatch.setenv("KAI_GUARD_LIMIT", "4096Mi")
    assert "is limited to 4096Mi of each GPU." in said_by(run)[1]


def test_without_a_limit_nothing_starts_as_if_there_were_one(
    run: Run, guarded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert guarded.exists()
    monkeypatch.setenv("KAI_GUARD_LIMIT", "1")
    assert "is limited to 1 bytes of each GPU." in said_by(run)[1]
    monkeypatch.setenv("KAI_GUARD_LIMIT", "half")
    status, out = said_by(run)
    assert (status, "KAI_GUARD_LIMIT is 'half'" in out) == (1, True)
    monkeypatch.delenv("KAI_GUARD_LIMIT")
    status, out = said_by(run)
    assert (status, "KAI_GUARD_LIMIT is not set" in out) == (1, True)
    assert out.endswith("Nothing limits the memory of this container.")
    monkeypatch.setenv("KAI_GUARD_LIMITS", "GPU-8216274a=0.5")
    status, out = said_by(run)
    assert (status, out.endswith("limited to the amounts in KAI_GUARD_LIMITS.")) == (0, True)


def test_a_share_that_is_no_limit_is_status_1(
    run: Run, guarded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (guarded / "libkaiguard.so").unlink()
    status, out = said_by(run)
    assert status == 1
    assert f"not in force: {guarded}/libkaiguard.so does not exist: the init container" in out
    assert out.endswith("Nothing limits the memory of this container.")
    for name in NAMES:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CUDA_DEVICE_MEMORY_LIMIT", "4g")
    status, out = said_by(run)
    assert (status, out.count("KAI_GUARD_REGION is not set")) == (1, 1)
    assert out.endswith("HAMi-core limits the memory of this container, if its library is loaded.")


def test_no_program_starts_where_it_cannot_count(run: Run, guarded: Path) -> None:
    (guarded / "region").write_text("hello")
    status, out = said_by(run)
    assert (status, out.endswith("so programs that use a GPU do not start.")) == (1, True)
