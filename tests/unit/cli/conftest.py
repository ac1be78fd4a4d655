"""Runs `kai` as a user does, in this process or in a separate one."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import kai
from kai.cli import main


@dataclass
class Done:
    status: int
    out: str
    err: str


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs a command in this process."""

    def run(*arguments: object) -> Done:
        status = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Done(status, out, err)

    return run


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[str]]:
    """Starts a command as a process."""

    def start(*arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "kai", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(kai.__file__).parents[1],
        )

    return start


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """One pod that fits and one that never will, planned by allocate alone."""
    path = tmp_path / "cluster.zip"
    (
        kai.Cluster()
        .queue("vision", deserved_gpus=2)
        .node("n1", gpus=2)
        .pending("vision/fits", gpus=1)
        .pending("vision/big", gpus=8)
        .configure({"actions": "allocate"})
        .save(path)
    )
    return path
