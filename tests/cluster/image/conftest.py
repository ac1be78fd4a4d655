"""Tests of the container image: KAI_IMAGE is its OCI layout, from `make image`. Without it they are
skipped; `tools/test.sh image` sets it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from testcluster import UnavailableError
from testcluster.bundle import Bundle

collect_ignore_glob = [] if "KAI_IMAGE" in os.environ else ["test_*.py"]


@pytest.fixture(scope="session")
def layout() -> Path:
    return Path(os.environ["KAI_IMAGE"]).resolve()


@pytest.fixture(scope="session")
def bundle(layout: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """The image, unpacked."""
    try:
        return Bundle.unpack(layout, tmp_path_factory.mktemp("image") / "bundle")
    except UnavailableError as error:
        pytest.skip(str(error))
