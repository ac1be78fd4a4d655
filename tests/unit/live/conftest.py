"""A cluster without Kubernetes: an API server in this process."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

UNIT = Path(__file__).parent.parent
sys.path[:0] = [str(UNIT / "service"), str(UNIT / "k8s")]

from fake_cluster import FakeCluster  # noqa: E402


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FakeCluster]:
    with FakeCluster(tmp_path / "kubeconfig.yaml") as cluster:
        yield cluster
