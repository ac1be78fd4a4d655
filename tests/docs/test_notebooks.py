"""Every notebook runs from top to bottom, in under a minute, and is kept without its outputs."""

from __future__ import annotations

import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
LONGEST_S = 60


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}  # nothing of the checkout lies there
    client = NotebookClient(notebook, timeout=LONGEST_S, kernel_name="python3", resources=resources)
    start = time.monotonic()
    client.execute()
    assert time.monotonic() - start < LONGEST_S
    charts = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]
    assert len(charts) == 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_opens_with_a_question_and_keeps_no_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    title = notebook.cells[0].source.splitlines()[0]
    assert title.startswith("# ")
    assert title.endswith("?")
    assert not any(cell.get("outputs") for cell in notebook.cells)
    assert not any(cell.get("execution_count") for cell in notebook.cells)
