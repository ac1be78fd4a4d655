"""Objects from our own builders contain nothing that KAI rejects."""

from typing import Any

import pytest

from kai import PodRequest
from kai.integrations import ORCHESTRATORS, builder_for
from kai.linting import lint

ASKED: dict[str, dict[str, Any]] = {
    "none": {},
    "whole": {"gpus": 2},
    "fraction": {"gpu_fraction": 0.5},
    "memory": {"gpu_memory": "5Gi", "devices": 2},
    "slice": {"mig": "1g.5gb"},
}


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
@pytest.mark.parametrize("kind", ASKED)
def test_settings_and_pods_are_right(orchestrator: str, kind: str) -> None:
    request = PodRequest(queue="test", priority="train", preemption_delay="5m", **ASKED[kind])
    built = builder_for(orchestrator)(request, as_native=False)
    assert [str(each) for each in lint(built) if each.severity == "error"] == []
    assert [str(each) for each in lint(built.pod) if each.severity == "error"] == []
    if "kind" in built.settings:
        assert [str(each) for each in lint(dict(built.settings))] == []
