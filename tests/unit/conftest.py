"""A cluster without Kubernetes: an API server in this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.cluster import FakeCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FakeCluster]:
    with FakeCluster(tmp_path / "kubeconfig.yaml") as cluster:
        yield cluster
