from pathlib import Path

import pytest
from pretended import LIBRARY, STUBS, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if not LIBRARY.exists() or not (STUBS / "libcuda.so.1").exists():
        pytest.skip("the guard is not built: tools/build.sh release kai_guard_all")
    return Machine(tmp_path)
