"""KServe's classes with the InferenceService that kai builds."""

from typing import Any

import pytest
from conftest import HALF_A_T4, PLAIN_GPUS, without_nulls
from kserve import V1beta1InferenceService, V1beta1PredictorSpec
from kubernetes import client

import kai
from kai.integrations import kserve
from kai.settings.native import to_plain


def test_the_service_is_built(expected: Any) -> None:
    service = kserve.build(HALF_A_T4, name="m", model_format="huggingface").native
    assert isinstance(service, V1beta1InferenceService)
    assert isinstance(service.spec.predictor, V1beta1PredictorSpec)
    recorded = expected("kserve-0.20.0")
    # As KServe's own client sends it, and as kai reads it.
    assert without_nulls(client.ApiClient().sanitize_for_serialization(service)) == recorded
    assert without_nulls(to_plain(service)) == recorded


@pytest.mark.parametrize("mode", ["RawDeployment", "Serverless"])
@pytest.mark.parametrize("gpus", PLAIN_GPUS)
def test_kserve_accepts_every_field(mode: str, gpus: dict[str, Any]) -> None:
    request = kai.PodRequest(
        queue="team-a",
        priority="inference",
        runtime_class="nvidia",
        gang_min=2,
        tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 5}],
        **gpus,
    )
    existing = {"spec": {"predictor": {"model": {"modelFormat": {"name": "onnx"}}}}}
    built = kserve.build(request, mode=mode, component="transformer", existing=existing)
    service = built.native.spec.transformer
    assert without_nulls(to_plain(service)) == without_nulls(built["spec"]["transformer"])
    assert service.scheduler_name == "kai-scheduler"
    assert service.containers[0].name == "kserve-container"


def test_a_model_without_its_format_stays_plain() -> None:
    built = kserve.build(HALF_A_T4)
    assert built.native == built.settings
    with pytest.raises(kai.InvalidRequestError, match="write model_format="):
        kserve.build(HALF_A_T4, as_native=True)
