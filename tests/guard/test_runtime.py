"""What code in a guarded container finds: its share, and that CUDA already reports it."""

from __future__ import annotations

from pretended import MIB, Machine

DETECT = """
import kai.runtime
found = kai.runtime.detect(nvidia_smi=None)
print(found.memory_limit_mib, found.device_memory_mib, found.shared)
print(next(each.detail for each in found.evidence if each.source == "guard"))
"""

LIMIT = """
import sys, types
torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(set_per_process_memory_fraction=print)
sys.modules["torch"] = torch
import kai.runtime
found = kai.runtime.limit("torch", headroom_mib=100)
print(found.isolation, found.totals_mib, found.budgets_mib)
"""


def test_the_share_is_detected(machine: Machine) -> None:
    lines = machine.run(DETECT, limit="0.5").splitlines()
    assert lines[0] == "512 (512,) True"
    assert lines[1] == "in force; GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0: 512 MiB, 0 MiB in use"


def test_a_guard_that_is_not_loaded_is_not_in_force(machine: Machine) -> None:
    region = str(machine.folder / "region")
    lines = machine.run(DETECT, KAI_GUARD_REGION=region, KAI_GUARD_LIMIT="0.5").splitlines()
    assert lines[0] == "None (1024,) False"
    assert lines[1] == "not in force: LD_PRELOAD does not name libkaiguard.so"


def test_frameworks_are_limited_to_the_share_and_not_to_half_of_it(machine: Machine) -> None:
    said = machine.run(LIMIT, limit="0.5", GPU_PORTION="0.50").splitlines()
    assert said == ["0.804 0", "guard (512,) (512,)"]
    assert 0.804 * 512 * MIB <= 412 * MIB


STATE = """
import kai.runtime
found = kai.runtime.guard()
print(found.in_force, found.isolation, found.limit, found.why_not)
"""


def test_the_guard_is_in_force_if_this_process_has_the_library(machine: Machine) -> None:
    assert machine.run(STATE, limit="0.5").strip() == "True guard 0.5"
    # The loader names a library of another machine, and ignores it.
    library = machine.folder / "libkaiguard.so"
    library.write_text("for another machine")
    said = machine.run(STATE, limit="0.5", LD_PRELOAD=str(library))
    assert f"False none 0.5 {library} is not loaded into this process" in said
