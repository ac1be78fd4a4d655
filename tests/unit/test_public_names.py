"""The names that `import kai` provides, and its cost."""

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import kai

PYTHON_ROOT = Path(kai.__file__).parents[1]


def run_bare(code: str) -> str:
    """Runs code in a new interpreter with only kai on its path."""
    code = f"import sys; sys.path.insert(0, {str(PYTHON_ROOT)!r})\n{code}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True
    )
    return done.stdout


PUBLIC = [name for name in dir(kai) if not name.startswith("__")]


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "Decision"])
def test_every_public_name_has_a_description_and_an_example(name: str) -> None:
    assert ">>> " in (getattr(kai, name).__doc__ or "")


@pytest.mark.parametrize("kind", [kai.Cluster, kai.Plan, kai.Scheduler, kai.Order, kai.Nodes])
def test_every_member_of_a_public_class_is_described(kind: type) -> None:
    of_mapping = vars(Mapping)
    members = [name for name in dir(kind) if not name.startswith("_") and name not in of_mapping]
    assert [name for name in members if not inspect.getdoc(getattr(kind, name))] == []


def test_unknown_names_raise_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = kai.nonsense  # type: ignore[attr-defined]


def test_dir_lists_the_public_names() -> None:
    assert set(kai.__all__) <= set(dir(kai))
    modules = {"integrations", "linting", "policy", "queues", "runtime", "settings", "sim"}
    modules.add("terraform")
    assert set(PUBLIC) == (set(kai.__all__) | modules) - {"__version__"}


def test_importing_kai_pulls_in_the_standard_library_only() -> None:
    loaded = json.loads(
        run_bare(
            "import json; before = set(sys.modules); import kai; "
            "print(json.dumps(sorted(set(sys.modules) - before)))"
        )
    )
    assert [name for name in loaded if name.partition(".")[0] != "kai"] == []
    assert "kai._core" not in loaded


def test_importing_kai_takes_less_than_50_ms() -> None:
    measure = (
        "import time; start = time.perf_counter(); import kai; print(time.perf_counter() - start)"
    )
    assert min(float(run_bare(measure)) for _ in range(5)) < 0.05


def test_building_and_planning_need_neither_click_nor_rich_nor_numpy() -> None:
    code = (
        "import kai\n"
        "kai.Scheduler().plan(kai.Cluster().node('n', gpus=1)).to_json()\n"
        "print([m for m in ('click', 'rich', 'numpy', 'pandas', 'yaml') if m in sys.modules])"
    )
    assert run_bare(code).strip() == "[]"


def test_the_version_has_three_numbers() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", kai.__version__)
