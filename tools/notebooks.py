"""Runs the notebooks and stores their outputs, so that viewers of the files show the pictures.

    tools/notebooks.py            all of notebooks/; make notebooks
        tools/notebooks.py 03 05      those with names that begin with 03 or 05

A notebook runs in an empty folder, with the kernel of this Python. Values that differ in each run
are not stored: times, the kernel's version, texts inside pictures. tests/docs/test_notebooks.py
runs the notebooks again, and compares all outputs except the pictures.
"""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parents[1] / "notebooks"
LONGEST_S = 250  # of a cell, on a machine with other work
_PNG_START, _PNG_KEPT = 8, (b"IHDR", b"PLTE", b"tRNS", b"pHYs", b"IDAT", b"IEND")


def executed(path: Path) -> Any:
    """The notebook with outputs. Raises CellExecutionError for an error in a cell."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "empty").mkdir()
        resources = {"metadata": {"path": f"{folder}/empty"}}
        # Not with ports: two kernels that start at one time could choose the same free ones.
        sockets = {"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}}
        client = NotebookClient(
            notebook,
            timeout=LONGEST_S,
            kernel_name="python3",
            resources=resources,
            config=Config(sockets),
        )
        client.execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
        for output in cell.get("outputs", ()):
            output.pop("transient", None)
            if "metadata" in output:
                output["metadata"] = {}
            if "image/png" in output.get("data", {}):
                output["data"] = {"image/png": bare_png(output["data"]["image/png"])}
    return notebook


def bare_png(encoded: str) -> str:
    """A picture in base64 without texts such as the version of matplotlib."""
    png = base64.b64decode(encoded)
    kept, at = [png[:_PNG_START]], _PNG_START
    while at < len(png):
        end = at + 12 + int.from_bytes(png[at : at + 4], "big")
        if png[at + 4 : at + 8] in _PNG_KEPT:
            kept.append(png[at:end])
        at = end
    return base64.b64encode(b"".join(kept)).decode()


def pictures(notebook: Any) -> list[bytes]:
    """The PNG files of all cells."""
    return [
        base64.b64decode(output["data"]["image/png"])
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]


def texts(notebook: Any) -> list[tuple[int, str]]:
    """The text output of the cells, without pictures, with the number of the cell."""
    found = []
    for number, cell in enumerate(notebook.cells):
        printed = ""
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" not in data:
                printed += output.get("text", "") + "".join(data[kind] for kind in sorted(data))
        found.append((number, printed))
    return found


def main(names: list[str]) -> None:
    chosen = [
        path
        for path in sorted(FOLDER.glob("*.ipynb"))
        if not names or path.name.startswith(tuple(names))
    ]
    if not chosen:
        sys.exit(f"no notebook in {FOLDER} has a name that begins with {' or '.join(names)}")
    for path in chosen:
        began = time.perf_counter()
        notebook = executed(path)
        nbformat.write(notebook, path)
        size = path.stat().st_size / 1000
        print(f"{path.name}: {time.perf_counter() - began:.1f} s, {size:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
