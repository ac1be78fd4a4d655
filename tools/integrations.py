"""Runs tests/integrations, each file beside the library that it is about.

    .venv/bin/python tools/integrations.py [--quick] [--list] [NAME...]

An environment is made once, in build/integrations/NAME, and again when what it requires changes
(tests/integrations/environments.toml); that alone needs a package registry. kai itself is taken
from this checkout: what is tested there is pure Python. Each environment is checked twice: pip
finds no conflict in it, with kai's own requirements beside it, and the tests pass.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "integrations"
HOMES = ROOT / "build" / "integrations"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ALWAYS = ["pytest>=8,<10", *PROJECT["dependencies"]]


def main() -> int:
    table = tomllib.loads((TESTS / "environments.toml").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="those that install fast")
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in table]
    if unknown:
        parser.error(f"no environment is called {unknown[0]}; there are {', '.join(table)}")
    chosen = arguments.names or [
        name for name, entry in table.items() if entry.get("quick") or not arguments.quick
    ]
    if arguments.list:
        print("\n".join(chosen))
        return 0
    failed = [name for name in chosen if not passes(name, table[name])]
    if failed:
        print(f"==> failed: {' '.join(failed)}")
    return 1 if failed else 0


def passes(name: str, entry: dict[str, object]) -> bool:
    start = time.monotonic()
    print(f"==> {name:<28}", end="", flush=True)
    log = made(name, [*ALWAYS, *strings(entry["requires"])])
    if log is None:
        log = tested(name, entry)
    took = time.monotonic() - start
    print(f"{'ok' if log is None else 'FAILED':<6} {took:4.0f} s", flush=True)
    if log is not None:
        print(log)
    return log is None


def strings(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def made(name: str, requires: list[str]) -> str | None:
    """The environment is there; else what went wrong."""
    home = HOMES / name
    stamp = home / "requires.txt"
    before = stamp.read_text(encoding="utf-8").splitlines() if stamp.exists() else []
    if before == requires:
        return None
    # What is required in addition is added; where something is no longer, all is made anew.
    if not before or not set(before) <= set(requires):
        venv.create(home, with_pip=True, clear=True)
    python = str(home / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    failed = run([*pip, "install", "--quiet", "--retries", "2", *requires])
    if failed is not None:
        return not_installed(name, failed)
    failed = run([*pip, "check"])
    if failed is not None:
        return f"{name}: its packages exclude each other, or kai's own requirements\n{failed}"
    stamp.write_text("\n".join(requires), encoding="utf-8")
    return None


UNREACHABLE = (
    "Connection",
    "Max retries",
    "Temporary failure",
    "Name or service",
    "Read timed out",
)


def not_installed(name: str, output: str) -> str:
    """What pip said, behind a sentence that says what to do."""
    reason = (
        "no package registry can be reached. Its tests need one the first time: connect, or name a"
        " mirror in PIP_INDEX_URL"
        if any(sign in output for sign in UNREACHABLE)
        else "pip finds no such packages. tests/integrations/environments.toml says which they are"
    )
    return f"{name} could not be installed: {reason}\n{output}"


def tested(name: str, entry: dict[str, object]) -> str | None:
    python = str(HOMES / name / "bin" / "python")
    files = [str(TESTS / each) for each in strings(entry.get("tests"))]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "python"),
        "KAI_ENVIRONMENT": name,
        "KAI_PAGES": " ".join(strings(entry.get("pages"))),
    }
    pages = [str(TESTS / "test_pages.py")] if entry.get("pages") else []
    command = [python, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--rootdir", str(TESTS)]
    return run([*command, "-c", str(TESTS / "pytest.ini"), *files, *pages], environment)


def run(command: list[str], environment: dict[str, str] | None = None) -> str | None:
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    return None if done.returncode == 0 else done.stdout


if __name__ == "__main__":
    sys.exit(main())
