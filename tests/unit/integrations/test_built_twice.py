"""Settings that were built before are not changed by building them again."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest

import kai
from kai.integrations import dagster, flyte, kserve, metaflow, mlflow, prefect, skypilot
from kai.settings import Built, merge

MODES = product(("RawDeployment", "Serverless"), ("predictor", "transformer"))
BUILD: dict[str, Callable[..., Built]] = {
    "dagster": dagster.build,
    "flyte": lambda request, existing: flyte.build(request, existing=existing and dict(existing)),
    "skypilot": skypilot.build,
    "metaflow's Job": partial(metaflow.build, step="train", target="job"),
    "metaflow's step in Argo": partial(metaflow.build, step="train", target="argo"),
    **{
        f"kserve's {mode} {component}": partial(kserve.build, mode=mode, component=component)
        for mode, component in MODES
    },
    "mlflow": lambda request, existing: mlflow.build(
        request, project="mnist", template=existing and existing["kube-job-template"]
    ),
    "prefect": lambda request, existing: prefect.build(
        request, template=existing and existing["base_job_template"]
    ),
}


@pytest.mark.parametrize("builder", BUILD)
@pytest.mark.parametrize("more", [{}, {"topology": "t", "required_level": "rack"}])
def test_building_is_idempotent(builder: str, more: dict[str, Any]) -> None:
    request = kai.PodRequest(
        queue="team-a",
        gpu_fraction=0.5,
        env={"A": "1"},
        cpu=1,
        memory="1Gi",
        privileged=True,
        **more,
    )
    once = BUILD[builder](request, existing=None)
    again = BUILD[builder](request, existing=once)
    assert again == once
    assert again.warnings == once.warnings
    assert merge(merge({}, once), once) == once
