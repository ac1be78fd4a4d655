"""A cluster without Kubernetes: an API server in this process; and files."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakes.cluster import FakeCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FakeCluster]:
    with FakeCluster(tmp_path / "kubeconfig.yaml") as cluster:
        yield cluster


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a file of the test: written("jobs.yaml", text)."""

    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write
