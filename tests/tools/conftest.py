"""Shared by tests of several tools."""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))  # tests import the tools

CMAKE = """\
cmake_minimum_required(VERSION 3.25)
project(sample LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
include(cmake/KaiFloor.cmake)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
enable_testing()
find_package(GTest REQUIRED)
"""


@pytest.fixture(scope="session")
def make_project(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Mapping[str, str], Sequence[str]], Path]:
    """Makes a checkout of a few floors: its files by name, floors from the lowest up, and scripts
    of tools/ that work on it."""

    def make(files: Mapping[str, str], tools: Sequence[str]) -> Path:
        project = tmp_path_factory.mktemp("project")
        floors = [Path(name).parent for name in files if name.endswith("/CMakeLists.txt")]
        cmake = CMAKE + "".join(f"add_subdirectory({floor.as_posix()})\n" for floor in floors)
        for name, content in {"CMakeLists.txt": cmake, **files}.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(content)
        shutil.copytree(ROOT / "cmake", project / "cmake")
        for tool in tools:
            shutil.copy(ROOT / "tools" / tool, project / "tools")
        return project

    return make
