"""The guard over a pretended driver (guard/stub): programs with libkaiguard.so preloaded."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("KAI_GUARD_BUILD", ROOT / "build/release"))
LIBRARY = ROOT / "python/kai/runtime/libkaiguard.so"
STUBS = BUILT / "guard/stub"
GUARD = ROOT / "guard"

MIB = 1 << 20
GIB = 1 << 30


@dataclass
class Machine:
    """A pretended machine: its cards' book, and the file of one pod."""

    folder: Path
    memory: int = GIB
    more: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.joinpath("region").touch()

    def environment(self, *, limit: str | None = None, **more: str) -> dict[str, str]:
        """Of a program. `limit`: the guard is preloaded, with this KAI_GUARD_LIMIT; "": without."""
        found = {
            **os.environ,
            "LD_LIBRARY_PATH": str(STUBS),
            "STUB_BOOK": str(self.folder / "book"),
            "STUB_MEMORY": str(self.memory),
            **self.more,
        }
        if limit is not None:
            found |= {
                "LD_PRELOAD": str(LIBRARY),
                "KAI_GUARD_REGION": str(self.folder / "region"),
                **({"KAI_GUARD_LIMIT": limit} if limit else {}),
            }
        found |= more
        # A context of the stub takes nothing then, which none of a real card does.
        if "STUB_CONTEXT" not in found:
            found.setdefault("KAI_GUARD_CONTEXT", "0")
        return found

    def run(self, script: str, *, limit: str | None = None, **more: str) -> str:
        """What a Python program prints that may use `cu` (driver.py)."""
        done = self.start(script, limit=limit, **more)
        out, error = done.communicate(timeout=60)
        assert done.returncode == 0, out + error
        return out + error

    def start(self, script: str, *, limit: str | None = None, **more: str) -> subprocess.Popen[str]:
        program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{script}"
        return subprocess.Popen(
            [sys.executable, "-c", program],
            env=self.environment(limit=limit, **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
        )

    def book(self) -> Book:
        return Book(self.folder / "book")

    def region(self) -> RegionFile:
        return RegionFile(self.folder / "region")


class Book:
    """The account of the pretended cards (guard/stub/book.h)."""

    DEVICES, PROCESSES = 8, 512

    def __init__(self, path: Path) -> None:
        words = memoryview(path.read_bytes()).cast("Q")
        entry = 1 + self.DEVICES
        self.peak = words[0]
        self.used = {}
        for at in range(self.DEVICES, self.DEVICES + self.PROCESSES * entry, entry):
            pid, used = words[at], words[at + 1]
            if pid and Path(f"/proc/{pid}").exists():
                self.used[pid] = used

    @property
    def total(self) -> int:
        return sum(self.used.values())


class RegionFile:
    """The guard's file (guard/region/layout.h): its first row, and what processes hold of it."""

    ROWS, SLOTS = 16, 1024
    ROW_WORDS, SLOT_WORDS, HEADER_WORDS = 18, 52, 4

    def __init__(self, path: Path) -> None:
        words = memoryview(path.read_bytes()).cast("Q")
        row = words[self.HEADER_WORDS : self.HEADER_WORDS + self.ROW_WORDS]
        self.limit, self.used, self.peak, self.refusals = row[6], row[10], row[12], row[17]
        self.held = {}
        start = self.HEADER_WORDS + self.ROWS * self.ROW_WORDS
        for at in range(start, start + self.SLOTS * self.SLOT_WORDS, self.SLOT_WORDS):
            if words[at]:
                self.held[words[at]] = words[at + 4]
