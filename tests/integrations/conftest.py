"""For tests that run with an orchestrator's library (noxfile.py)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kai.settings import PodRequest

EXPECTED = Path(__file__).parent / "expected"

ON_A_T4 = PodRequest(
    queue="team-a",
    gpu_fraction=0.5,
    platform="gke",
    gpu_type="nvidia-tesla-t4",
    env={"NVIDIA_DRIVER_CAPABILITIES": "all"},
)
HALF_A_T4 = ON_A_T4.with_changes(cpu="500m", memory="1Gi", memory_limit="2Gi")
"""The request of most recorded pods."""

IN_A_RACK = PodRequest(
    queue="team-a",
    priority="train",
    topology="t",
    required_level="rack",
    runtime_class="nvidia",
    privileged=True,
    tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 5}],
)
"""Nearly every field, and no GPU."""

GPUS: list[dict[str, Any]] = [
    {},
    {"gpus": 2},
    {"gpu_memory": "5Gi"},
    {"gpu_fraction": 0.5, "devices": 2},
    {"gpu_fraction": 0.5, "isolation": "mps", "gpu_memory_total": 16384},
    {"mig": "1g.5gb"},
    {"claim": "one-gpu"},
]
"""Every form of a GPU request, and none."""

PLAIN_GPUS = [gpus for gpus in GPUS if not gpus.keys() & {"isolation", "claim"}]


def without_nulls(value: Any) -> Any:
    """The form in which two pods are compared: without null and empty fields."""
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
    """Reads what a library made of hand-written settings: expected("kfp-2.17.0")."""

    def read(name: str) -> Any:
        return without_nulls(json.loads((EXPECTED / f"{name}.json").read_text())["pod"])

    return read
