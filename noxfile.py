"""Tests of the builders beside the orchestrators' own libraries. These exclude one another, so each
is a session with its own environment (tests/integrations/environments.toml).
    nox --list                     # all sessions
    nox -s zenml-0.98.0            # one of them
    nox --tags quick               # those that install fast; `make test` runs these
    nox                            # all: `make test-integrations`

A session ...-on-a-cluster runs an orchestrator's own commands on the test cluster
(docs/internals/cluster.md): its tests run in the environment of nox, the commands in that of the
session.

kai itself is imported from this checkout: the tested part is pure Python. Its requirements are
installed beside each library, so that pip reports conflicts.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nox

if "PIP_INDEX_URL" in os.environ:  # uv does not read pip's settings
    os.environ.setdefault("UV_DEFAULT_INDEX", os.environ["PIP_INDEX_URL"])

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|venv"  # uv takes seconds where pip takes a minute
nox.options.envdir = "build/integrations"
nox.options.reuse_venv = "yes"

ROOT = Path(__file__).parent
TESTS = ROOT / "tests" / "integrations"
CLUSTER_TESTS = ROOT / "tests" / "cluster" / "orchestrators"
OURS = nox.project.load_toml(ROOT / "pyproject.toml")["project"]["dependencies"]
TOOLS = ["pytest>=8,<10"]


def declare(name: str, entry: dict[str, Any]) -> None:
    @nox.session(name=name, tags=["quick"] if entry.get("quick") else [])
    def run_tests(session: nox.Session) -> None:
        session.install("--quiet", *TOOLS, *OURS, *entry["requires"])
        pip = ["uv", "pip"] if session.venv_backend == "uv" else ["python", "-m", "pip"]
        session.run(*pip, "check", silent=True)
        pages = entry.get("pages", [])
        files = [*entry["tests"], *(["test_pages.py"] if pages else [])]
        session.run(
            *("python", "-m", "pytest", "--quiet", "-p", "no:cacheprovider"),
            *("--rootdir", str(TESTS), "-c", str(TESTS / "pytest.ini")),
            *(str(TESTS / each) for each in files),
            *session.posargs,
            env={
                "PYTHONPATH": str(ROOT / "python"),
                "KAI_ENVIRONMENT": name,
                "KAI_PAGES": " ".join(pages),
            },
        )


def declare_on_a_cluster(name: str, entry: dict[str, Any]) -> None:
    @nox.session(name=f"{name}-on-a-cluster")
    def on_a_cluster(session: nox.Session) -> None:
        session.install("--quiet", *OURS, *entry["requires"])
        session.run(
            *(sys.executable, "-m", "pytest", "--quiet", "--no-header"),
            *(str(CLUSTER_TESTS / each) for each in entry["on_a_cluster"]),
            *session.posargs,
            env={"KAI_ORCHESTRATOR_PYTHON": str(Path(session.bin) / "python")},
            external=True,  # the tests use kai's environment; the orchestrator has its own
        )


for each, its in nox.project.load_toml(TESTS / "environments.toml").items():
    declare(each, its)
    if "on_a_cluster" in its:
        declare_on_a_cluster(each, its)
