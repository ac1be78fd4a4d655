"""kai simulate --html and --perfetto: the files, and paths that cannot be written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
JOBS = """\
queues: {vision: {deserved: {gpu: 4}}}
nodes: {a100: {gpu: 8}}
jobs:
  early: {queue: vision, duration: 1h, gpu: 1}
  late: {queue: vision, arrival: 2h, duration: 1h, gpu: 2}
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    file = tmp_path / "jobs.yaml"
    file.write_text(JOBS)
    return file


def test_the_options_write_a_page_and_a_trace(run: Run, jobs: Path) -> None:
    page, trace = jobs.with_suffix(".html"), jobs.with_suffix(".pftrace")
    done = run("simulate", jobs, "--html", page, "--perfetto", trace)
    assert done.status == 0
    assert "vision" in done.out
    assert page.read_text().startswith("<!doctype html>")
    assert b"early-0" in trace.read_bytes()


def test_the_page_leaves_out_jobs_of_the_warm_up(run: Run, jobs: Path) -> None:
    page = jobs.with_suffix(".html")
    assert run("simulate", jobs, "--html", page, "--warm-up", "1h").status == 0
    assert "Jobs that arrived from 1 h to 2 h: 1," in page.read_text()


@pytest.mark.parametrize("option", ["--html", "--perfetto"])
def test_an_unwritable_path_prints_one_sentence(run: Run, jobs: Path, option: str) -> None:
    done = run("simulate", jobs, option, jobs.parent / "no" / "file")
    assert done.status == 2
    assert done.err.splitlines()[-1].endswith("no such file or directory")
