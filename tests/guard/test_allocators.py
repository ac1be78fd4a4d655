"""The allocators of frameworks under the guard: they see the share as the size of the device, fill
it, get the driver's own error beyond it, and go on. What they call is replayed from files."""

from __future__ import annotations

from pathlib import Path

import pytest
from pretended import MIB, Machine

FILES = sorted(Path(__file__).with_name("allocators").glob("*.txt"))
SHARE = 512 * MIB


def replay(machine: Machine, file: Path, *, limit: str | None = None) -> str:
    script = f"import pathlib, replay\nreplay.Replay().run(pathlib.Path({str(file)!r}).read_text())"
    machine.more |= {"STUB_CONTEXT": str(10 * MIB), "STUB_CHUNK": str(32 * MIB)}
    return machine.run(script, limit=limit)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_works_within_a_share_as_on_a_card_of_that_size(machine: Machine, file: Path) -> None:
    machine.memory = 3 * SHARE
    within = replay(machine, file, limit=str(SHARE))
    assert f"the device has {SHARE}" in within
    region = machine.region()
    assert region.peak <= SHARE
    machine.folder.joinpath("book").unlink()
    machine.memory = SHARE
    assert within == replay(machine, file)


def test_without_a_limit_the_same_calls_are_not_refused(machine: Machine) -> None:
    """So that it is the limit which refuses above."""
    [file] = [each for each in FILES if each.stem == "nccl"]
    machine.memory = 3 * SHARE
    with pytest.raises(AssertionError, match=r"create channel\.3 190MiB !: answered 0"):
        replay(machine, file)
