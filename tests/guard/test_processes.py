"""Many processes of one pod at once, and some are killed: together they never hold more than the
limit, and what the guard has counted is what the cards gave.

`KAI_GUARD_PROCESSES` and `KAI_GUARD_SECONDS` make it longer, `KAI_SEED` another one.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from pretended import BUILT, MIB, Machine

PROCESSES = int(os.environ.get("KAI_GUARD_PROCESSES", "12"))
SECONDS = float(os.environ.get("KAI_GUARD_SECONDS", "4"))
SEED = int(os.environ.get("KAI_SEED", "1"))
LIMIT = 300 * MIB


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    STARTED.clear()
    yield
    for each in STARTED:
        each.kill()
        each.communicate()


def player(machine: Machine, seed: int, seconds: float, threads: int) -> subprocess.Popen[str]:
    program = BUILT / "bin/kai_guard_play"
    started = subprocess.Popen(
        [str(program), str(seed), str(seconds), str(threads)],
        env=machine.environment(limit=f"{LIMIT}"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    STARTED.append(started)
    return started


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> str:
    out, error = process.communicate("\n", timeout=60)
    assert process.returncode == 0, out + error
    return out


@pytest.mark.parametrize("threads", [1, 4])
def test_the_limit_holds_while_processes_are_killed(machine: Machine, threads: int) -> None:
    machine.more["STUB_CONTEXT"] = str(4 * MIB)
    machine.more["STUB_CHUNK"] = str(2 * MIB)
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    stop = time.monotonic() + SECONDS
    numbers = iter(range(SEED * 100_000, SEED * 100_000 + 100_000))

    def one_more() -> subprocess.Popen[str]:
        left = max(stop - time.monotonic(), 0.1)
        return player(machine, next(numbers), left, threads)

    running = [one_more() for _ in range(PROCESSES)]
    while time.monotonic() < stop - 0.5:
        time.sleep(rng.random() * 0.1)
        killed = running.pop(rng.randrange(len(running)))
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        running.append(one_more())
    holding = [each for each in running if line_of(each) == "holding"]
    assert holding
    # A request that is refused, or a process that joins, takes from the dead.
    end(player(machine, 1, 0.01, 1))
    book, region = machine.book(), machine.region()
    assert region.limit == LIMIT
    assert book.peak <= LIMIT
    assert region.peak <= LIMIT
    pids = {each.pid for each in holding}
    assert {pid: region.held[pid] for pid in pids} == {pid: book.used[pid] for pid in pids}
    assert sum(region.held[pid] for pid in pids) == region.used
    for each in running:
        end(each)
    assert machine.book().total == machine.region().used == 0
    assert region.refusals


def test_without_the_guard_the_same_programs_exceed_the_limit(machine: Machine) -> None:
    """The pretended cards do not hold it themselves."""
    program = [str(BUILT / "bin/kai_guard_play"), "1", "1", "4"]
    subprocess.run(program, env=machine.environment(), input="\n", text=True, check=True)
    assert machine.book().peak > LIMIT
