"""A command starts fast: it imports only what it needs, and the process ends without clean-up."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import kai
from kai.cli import COMMANDS

PYTHON_ROOT = Path(kai.__file__).parents[1]
_LISTING = (
    "import json, sys\n"
    f"sys.path.insert(0, {str(PYTHON_ROOT)!r})\n"
    "from kai.cli import main\n"
    "status = main(sys.argv[1:])\n"
    "print(json.dumps([status, sorted(sys.modules)]), file=sys.stderr)\n"
)


def loaded_by(arguments: Sequence[str]) -> set[str]:
    """The modules that a new interpreter has loaded after a command."""
    command = [sys.executable, "-c", _LISTING, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    status, modules = json.loads(done.stderr)
    assert status == 0
    return set(modules)


def test_help_imports_no_command_module() -> None:
    loaded = loaded_by(["--help"])
    assert loaded.isdisjoint(f"kai.cli.{command}" for command in COMMANDS)
    assert loaded.isdisjoint(("yaml", "rich", "kai.engine", "kai._core"))


def test_a_plan_of_a_snapshot_imports_no_unused_modules(tmp_path: Path) -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=2).pending("a/x", gpus=1)
    (tmp_path / "snapshot.json").write_text(json.dumps(cluster.to_snapshot()))
    loaded = loaded_by(["plan", "--json", str(tmp_path / "snapshot.json")])
    assert "kai._core" in loaded
    unused = {"asyncio", "hashlib", "numpy", "pandas", "rich", "yaml"}
    unused |= {f"kai.engine.{name}" for name in ("differences", "kept", "nodes", "order", "timing")}
    assert loaded.isdisjoint(unused)


def run_kai(*arguments: str, **options: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(PYTHON_ROOT)}
    command = [sys.executable, "-m", "kai", *arguments]
    return subprocess.run(
        command,
        check=False,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        stdout=options.get("stdout", subprocess.PIPE),
    )


def test_the_process_keeps_its_output_and_its_status() -> None:
    done = run_kai("demo")
    assert done.returncode == 0
    assert "Try next" in done.stdout
    done = run_kai("plan", "no-such-file")
    assert done.returncode == 2
    assert done.stderr.startswith("kai: no-such-file")


def test_a_full_disk_is_a_failure() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        assert run_kai("demo", stdout=full).returncode != 0
    finally:
        os.close(full)
