"""For tests that run beside an orchestrator's library (noxfile.py)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

EXPECTED = Path(__file__).parent / "expected"


def without_nulls(value: Any) -> Any:
    """As two pods are compared: what is null or empty is not there."""
    if isinstance(value, dict):
        kept = {key: without_nulls(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each not in (None, {}, [])}
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    return value


@pytest.fixture(scope="session")
def environment() -> str:
    """Such as zenml-0.98.0."""
    return os.environ["KAI_ENVIRONMENT"]


@pytest.fixture
def expected() -> Any:
    """Reads what a library was seen to make of hand-written settings: expected("kfp-2.17.0")."""

    def read(name: str) -> Any:
        return without_nulls(json.loads((EXPECTED / f"{name}.json").read_text())["pod"])

    return read
