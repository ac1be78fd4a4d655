"""`kai plan --json --now ...` prints the same bytes on every run, for any order of objects."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recorded_cases import first_of

from kai.verify.cases import Case

NOW = "2026-01-01T00:00:00Z"
AREAS = ("allocate", "fairness", "mixed")  # generated clusters of every shape
PER_AREA = 5


def printed(snapshot: dict[str, Any], folder: Path, hash_seed: int) -> str:
    """The output of the command for this snapshot, without the timings, which differ in each
    run."""
    path = folder / "snapshot.json"
    path.write_text(json.dumps(snapshot))
    done = subprocess.run(
        [sys.executable, "-m", "kai", "plan", str(path), "--json", "--now", NOW],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )
    head, mark, _timing = done.stdout.rpartition(', "timing_ms": ')
    assert mark, done.stdout[-200:]
    return head


def shuffled(snapshot: dict[str, Any], seed: int) -> dict[str, Any]:
    """The same objects in another order, with their members in another order."""
    rng = random.Random(seed)

    def members(value: Any) -> Any:
        if isinstance(value, dict):
            keys = list(value)
            rng.shuffle(keys)
            return {key: members(value[key]) for key in keys}
        return [members(each) for each in value] if isinstance(value, list) else value

    copy: dict[str, Any] = members(snapshot)
    for objects in copy["rawObjects"].values():
        if objects:
            rng.shuffle(objects)
    return copy


@pytest.mark.parametrize("case", first_of(AREAS, PER_AREA), ids=lambda case: case.id)
def test_orders_and_runs_print_the_same_bytes(case: Case, tmp_path: Path) -> None:
    snapshot = case.data["snapshot"]
    first = printed(snapshot, tmp_path, hash_seed=1)
    for seed in (2, 3):
        assert printed(shuffled(snapshot, seed), tmp_path, hash_seed=seed) == first, seed
