"""Every notebook runs from top to bottom, and prints its stored output; `make notebooks`."""

import re
import resource
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import notebooks  # noqa: E402

PATHS = sorted(notebooks.FOLDER.glob("*.ipynb"))
MOST_CPU_S = 45  # of the kernel: comparisons of eight weeks take 34 s, and a reader a minute
MOST_BYTES = 150_000  # of a picture
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def stored(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def test_notebooks_exist() -> None:
    numbers = [path.name[:2] for path in PATHS]
    assert len(set(numbers)) == len(numbers) >= 7


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_prints_its_stored_output(path: Path) -> None:
    kept = stored(path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    made = notebooks.executed(path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert 0.2 < after.ru_utime - before.ru_utime < MOST_CPU_S
    assert notebooks.texts(made) == notebooks.texts(kept), "run `make notebooks`, and read again"
    assert len(notebooks.pictures(made)) == len(notebooks.pictures(kept))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_has_a_question_pictures_and_an_answer(path: Path) -> None:
    notebook = stored(path)
    cells = notebook.cells
    title, _, _ = cells[0].source.partition("\n")
    assert title.startswith("# ")
    assert title.endswith("?")
    assert cells[-1].cell_type == "markdown"
    assert cells[-1].source.startswith("## The answer\n\n**")
    pictures = notebooks.pictures(notebook)
    assert pictures
    assert max(map(len, pictures)) < MOST_BYTES
    assert [cell.execution_count for cell in cells if cell.cell_type == "code"] == [
        *range(1, sum(cell.cell_type == "code" for cell in cells) + 1)
    ]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_links_of_a_notebook_have_targets(path: Path) -> None:
    for cell in stored(path).cells:
        for link in LINK.findall(cell.source if cell.cell_type == "markdown" else ""):
            assert (path.parent / link).exists(), link


def test_stored_outputs_do_not_change_between_runs() -> None:
    """No times, no library versions, no text inside a picture."""
    for path in PATHS:
        notebook = stored(path)
        assert set(notebook.metadata) == {"kernelspec", "language_info"}
        assert notebook.metadata.language_info == {"name": "python"}
        assert not any(cell.metadata for cell in notebook.cells)
        assert not any(b"tEXt" in picture for picture in notebooks.pictures(notebook))


def test_a_changed_output_is_reported(tmp_path: Path) -> None:
    """Proves that the comparison finds a difference."""
    path = tmp_path / "one.ipynb"
    cell = nbformat.v4.new_code_cell("print(1)\n2")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    made = notebooks.executed(path)
    assert notebooks.texts(made) == [(0, "1\n2")]
    assert notebooks.texts(stored(path)) == [(0, "")]


def test_an_error_in_a_cell_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "one.ipynb"
    cell = nbformat.v4.new_code_cell("1 / 0")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    with pytest.raises(Exception, match="ZeroDivisionError"):
        notebooks.executed(path)
