"""What `kai.runtime.guarded` and `kai gpus` say of a pod whose processes the guard counts."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pretended import MIB, Machine

from kai.runtime.guarded import NotGuarded, guarded

HOLD = "import driver as cu; cu.start(); cu.alloc({size}); print(1, flush=True); input()"
UUID = "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0"


def kai(*arguments: str, **environment: str) -> str:
    command = [sys.executable, "-m", "kai", "gpus", *arguments]
    given = {**os.environ, "KAI_GUARD_REGION": "", **environment}
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_a_pod_of_two_processes(machine: Machine) -> None:
    path = machine.folder / "region"
    with machine.start(HOLD.format(size=100 * MIB), limit="0.5") as first:
        with machine.start(HOLD.format(size=30 * MIB), limit="0.5") as second:
            for each in (first, second):
                assert each.stdout is not None
                assert each.stdout.readline() == "1\n"
            refused = (
                "import driver as cu; cu.start()\ntry: cu.alloc(1 << 40)\nexcept cu.Failed: pass"
            )
            machine.run(refused, limit="0.5")
            [device] = guarded(path) or ()
            assert device.uuid == UUID
            assert (device.limit, device.total) == (512 * MIB, 1024 * MIB)
            assert (device.used, device.peak, device.refusals) == (130 * MIB, 130 * MIB, 1)
            assert {(each.pid, each.used) for each in device.processes} == {
                (first.pid, 100 * MIB),
                (second.pid, 30 * MIB),
            }
            assert all(each.name.startswith("python") for each in device.processes)
            table = kai(str(path))
            assert "512 MiB  130 MiB  130 MiB        1          2" in table
            assert str(first.pid) in table
            second.communicate("\n")
        # A process that has ended is not listed, although nothing has counted it out yet.
        [device] = guarded(path) or ()
        assert [each.pid for each in device.processes] == [first.pid]
        first.communicate("\n")


def test_a_mig_instance_has_its_name_and_its_limit(machine: Machine) -> None:
    machine.more |= {"STUB_MIG": "1", "STUB_CONTEXT": str(40 * MIB)}
    name = UUID.replace("GPU", "MIG")
    script = "import driver as cu; cu.start(); print(cu.info()[1] >> 20, cu.used() >> 20)"
    assert machine.run(script, limit="0.5", KAI_GUARD_LIMITS=f"{name}=100Mi") == "100 40\n"
    [device] = guarded(machine.folder / "region") or ()
    assert (device.uuid, device.limit) == (name, 100 * MIB)


def test_an_empty_list_of_limits_changes_nothing(machine: Machine) -> None:
    """The webhook writes one, to overrule that of an image."""
    script = "import driver as cu; cu.start(); print(cu.info()[1] >> 20)"
    assert machine.run(script, limit="0.5", KAI_GUARD_LIMITS="") == "512\n"


def test_json_and_csv_have_bytes(machine: Machine) -> None:
    with machine.start(HOLD.format(size=100 * MIB), limit="0.5") as process:
        assert process.stdout is not None
        process.stdout.readline()
        path = str(machine.folder / "region")
        found = json.loads(kai("--json", KAI_GUARD_REGION=path))
        assert found["devices"][0]["used"] == 100 * MIB
        assert found["devices"][0]["processes"][0]["pid"] == process.pid
        [row] = csv.DictReader(kai(path, "-o", "csv").splitlines())
        assert (row["device"], row["limit"]) == (UUID, str(512 * MIB))
        assert (row["pid"], row["process_used"]) == (str(process.pid), str(100 * MIB))
        process.communicate("\n")


def test_a_container_without_the_guard(tmp_path: Path) -> None:
    assert "the guard does not run here: KAI_GUARD_REGION is not set" in kai()
    assert "No such file or directory" in kai(str(tmp_path / "nothing"))
    path = tmp_path / "text"
    path.write_text("hello")
    assert f"{path}: not a file of the guard, or of another version" in kai(str(path))


def test_a_damaged_file_is_said_to_be(machine: Machine) -> None:
    machine.run("import driver as cu; cu.start()", limit="0.5")
    path = machine.folder / "region"
    assert "0 B   0 B        0          0" in kai(str(path))
    content = bytearray(path.read_bytes())
    content[8 * (4 + 6)] ^= 1  # the limit of the first device
    path.write_bytes(content)
    with pytest.raises(NotGuarded, match="damaged"):
        guarded(path)
