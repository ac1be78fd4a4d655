"""mypy as a user runs it, with --strict and without a configuration."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What it found out about kai and the standard library, for the next test that runs.
CACHE = ROOT / "build/mypy"


def type_check(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Checks a file or all files of a folder, from this folder."""
    options = ("--strict", "--config-file=", f"--cache-dir={CACHE}")
    return subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(path)],
        env={"MYPYPATH": str(ROOT / "python"), "PATH": "", "HOME": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
