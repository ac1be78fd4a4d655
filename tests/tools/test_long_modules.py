"""conftest.py: several processes start with the long test modules."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def conftest() -> ModuleType:
    spec = importlib.util.spec_from_file_location("root_conftest", ROOT / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_long_module_exists(conftest: ModuleType) -> None:
    assert [name for name in conftest.LONG_MODULES if not (ROOT / name).is_file()] == []


def test_processes_start_with_the_long_modules_and_one_keeps_the_order(
    conftest: ModuleType,
) -> None:
    first, second, *_ = conftest.LONG_MODULES
    names = ["tests/a.py::test_a", f"{second}::test_b", "tests/a.py::test_c", f"{first}::test_d"]

    def order(config: Any) -> list[str]:
        items = [SimpleNamespace(nodeid=name) for name in names]
        conftest.pytest_collection_modifyitems(config, items)
        return [item.nodeid for item in items]

    assert order(SimpleNamespace()) == names
    assert order(SimpleNamespace(workerinput={})) == [names[3], names[1], names[0], names[2]]
