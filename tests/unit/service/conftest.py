"""A cluster without Kubernetes: an API server in this process, and clusters that tests read."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fakes.cluster import FakeCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FakeCluster]:
    with FakeCluster(tmp_path / "kubeconfig.yaml") as cluster:
        yield cluster
