"""A node measured from outside: NVML and the guard's files over the pretended cards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from pretended import BUILT, GIB, MIB, Machine

HOLD = "import driver as cu; cu.start(); cu.alloc({size}); print(1, flush=True); input()"
CARD = "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0"
GUARDED = "8c8c7d2e-0001-4e1f-a5f6-0123456789ab"
BARE = "8c8c7d2e-0002-4e1f-a5f6-0123456789ab"
MEASURE = """
import dataclasses, json
from kai.runtime.measuring import measure
print(json.dumps(dataclasses.asdict(measure(proc={proc!r}, pods={pods!r}))))
"""


class Node:
    """Pods on a pretended machine. Their processes are ours, with cgroups as a kubelet has them."""

    def __init__(self, machine: Machine, stack: ExitStack) -> None:
        self.machine, self._stack = machine, stack
        self.proc, self.pods = machine.folder / "proc", machine.folder / "pods"
        self.proc.mkdir()

    def region(self, uid: str) -> Path:
        region = self.pods / uid / "volumes/kubernetes.io~empty-dir/kai-guard/region"
        region.parent.mkdir(parents=True, exist_ok=True)
        region.touch()
        return region

    def start(self, uid: str, size: int, limit: str | None = None) -> Popen[str]:
        """A process of a pod that holds this much of the card; "": of no pod."""
        more = {"KAI_GUARD_REGION": str(self.region(uid))} if limit is not None else {}
        process = self.machine.start(HOLD.format(size=size), limit=limit, **more)
        self._stack.callback(process.communicate, "\n")
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        folder = self.proc / str(process.pid)
        folder.mkdir()
        shutil.copy(f"/proc/{process.pid}/status", folder / "status")
        (folder / "cgroup").write_text(f"0::/kubepods/pod{uid}/3f2a\n" if uid else "0::/user\n")
        return process

    def measure(self) -> Any:
        script = MEASURE.format(proc=str(self.proc), pods=str(self.pods))
        return json.loads(self.machine.run(script))


@pytest.fixture
def node(machine: Machine) -> Iterator[Node]:
    with ExitStack() as stack:
        yield Node(machine, stack)


def test_processes_of_a_card_have_their_pods(node: Node) -> None:
    guarded = node.start(GUARDED, 100 * MIB, limit="0.25")
    bare = node.start(BARE, 300 * MIB)
    other = node.start("", 50 * MIB)
    found = node.measure()
    [card] = found["devices"]
    assert (card["uuid"], card["total"], card["used"]) == (CARD, GIB, 450 * MIB)
    assert {(each["pid"], each["used"], each["pod"]) for each in card["processes"]} == {
        (guarded.pid, 100 * MIB, GUARDED),
        (bare.pid, 300 * MIB, BARE),
        (other.pid, 50 * MIB, ""),
    }
    assert all(each["name"].startswith("python") for each in card["processes"])
    assert found["problems"] == []


def test_what_a_guard_counts_is_read_from_outside(node: Node) -> None:
    process = node.start(GUARDED, 100 * MIB, limit="0.25")
    node.start(BARE, 300 * MIB)
    refused = "import driver as cu; cu.start()\ntry: cu.alloc(1 << 40)\nexcept cu.Failed: pass"
    node.machine.run(refused, limit="0.25", KAI_GUARD_REGION=str(node.region(GUARDED)))
    [counted] = node.measure()["counted"]
    assert (counted["pod"], counted["device"], counted["limit"]) == (GUARDED, CARD, 256 * MIB)
    assert (counted["used"], counted["peak"], counted["refusals"]) == (100 * MIB, 100 * MIB, 1)
    [own] = counted["processes"]
    assert (own["pid"], own["used"]) == (process.pid, 100 * MIB)


def test_programs_that_end_hold_nothing(node: Node) -> None:
    process = node.start(BARE, 300 * MIB)
    assert len(node.measure()["devices"][0]["processes"]) == 1
    process.kill()
    process.wait()
    [card] = node.measure()["devices"]
    assert (card["used"], card["processes"]) == (0, [])


def test_a_random_program_is_measured_as_its_own_account_says(node: Node) -> None:
    program = BUILT / "bin/kai_guard_play"
    playing = Popen(
        [str(program), "3", "0.3"],
        env=node.machine.environment(),
        stdin=-1,
        stdout=-1,
        text=True,
    )
    assert playing.stdout is not None
    assert playing.stdout.readline() == "holding\n"
    folder = node.proc / str(playing.pid)
    folder.mkdir()
    shutil.copy(f"/proc/{playing.pid}/status", folder / "status")
    (folder / "cgroup").write_text(f"0::/kubepods/pod{BARE}/3f2a\n")
    [card] = node.measure()["devices"]
    book = node.machine.book()
    assert book.total > 0
    assert [(each["pid"], each["used"]) for each in card["processes"]] == [
        (playing.pid, book.used[playing.pid])
    ]
    playing.communicate("\n")
    assert playing.returncode == 0


def test_two_cards_and_many_processes(node: Node) -> None:
    node.machine.more["STUB_DEVICES"] = "2"
    for _ in range(3):
        node.start(BARE, 10 * MIB)
    first, second = node.measure()["devices"]
    assert [each["used"] for each in first["processes"]] == [10 * MIB] * 3
    assert (second["uuid"][:6], second["processes"]) == ("GPU-a1", [])


def test_no_content_of_a_guards_file_ends_the_measurement(node: Node) -> None:
    """A pod may write anything to it."""
    process = node.start(GUARDED, 100 * MIB, limit="0.25")
    region = node.region(GUARDED)
    content = region.read_bytes()
    node.region(BARE)  # another pod's file, which is damaged
    script = f"""
import random
from pathlib import Path
from kai.runtime.measuring import measure
content, path = Path({str(region)!r}).read_bytes(), Path({str(node.region(BARE))!r})
random.seed(7)
problems = 0
for _ in range(200):
    changed = bytearray(content)
    for _ in range(random.choice((1, 4, 64))):
        changed[random.choice((random.randrange(len(changed)), random.randrange(400)))] ^= (
            1 << random.randrange(8)
        )
    path.write_bytes(changed[: random.choice((len(changed), random.randrange(len(changed))))])
    found = measure(proc={str(node.proc)!r}, pods={str(node.pods)!r})
    assert [each.used for each in found.counted if each.pod == {GUARDED!r}] == [{100 * MIB}]
    problems += len(found.problems)
print(problems)
"""
    assert int(node.machine.run(script)) > 20
    assert region.read_bytes() == content
    assert process.poll() is None
