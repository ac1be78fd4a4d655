"""Every library that is compiled into the wheel has its licence in licenses/, and the wheel has it.

CMake's calls of find_package are the list of libraries.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_IN_THE_WHEEL = {"GTest", "benchmark", "Python"}
"""For tests and benchmarks only; and Python, which loads the compiled module."""
FOUND = re.compile(r"^ *find_package\((\w+)", re.MULTILINE)
LINKED = re.compile(r"\b(\w+)::\w+")


def texts() -> set[str]:
    return {path.stem for path in (ROOT / "licenses").iterdir()}


def test_every_library_of_the_build_has_a_text() -> None:
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    found = {name for path in files for name in FOUND.findall(path.read_text())}
    assert found >= {"absl", "pybind11"}
    assert found - NOT_IN_THE_WHEEL == texts()


def test_every_library_that_a_target_links_has_a_text() -> None:
    """Also one that a package of CMake brings along under another name."""
    files = (ROOT / "cpp").rglob("CMakeLists.txt")
    linked = {name for path in files for name in LINKED.findall(path.read_text())}
    assert linked - NOT_IN_THE_WHEEL - {"kai"} <= texts()


def test_each_text_names_holders_and_terms() -> None:
    for path in (ROOT / "licenses").iterdir():
        text = path.read_text()
        assert "Copyright" in text, path.name
        assert "WITHOUT WARRANTIES" in text or "IMPLIED" in text, path.name


def test_the_metadata_of_the_wheel_has_the_texts(tmp_path: Path) -> None:
    """As an installer asks for it: nothing is compiled."""
    pytest.importorskip("scikit_build_core")
    code = (
        "import sys; from scikit_build_core.build import prepare_metadata_for_build_wheel as make;"
        " print(make(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [folder] = tmp_path.glob("*.dist-info")
    shipped = {path.stem for path in (folder / "licenses" / "licenses").iterdir()}
    assert shipped == texts()
    assert (folder / "licenses" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    listed = re.findall(r"^License-File: (.*)$", (folder / "METADATA").read_text(), re.MULTILINE)
    assert set(listed) == {"LICENSE", *(f"licenses/{name}.txt" for name in texts())}
