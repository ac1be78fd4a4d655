"""Flyte 2's SDK with the PodTemplate that kai builds."""

from typing import Any

import flyte as flyte2
import pytest
from conftest import ON_A_T4, PLAIN_GPUS, without_nulls
from google.protobuf.json_format import MessageToDict

import kai
from kai.integrations import flyte


def pod_of(template: flyte2.PodTemplate) -> Any:
    return without_nulls(MessageToDict(template.to_k8s_pod()))


def test_the_pod_of_a_template(expected: Any) -> None:
    built = flyte.build(ON_A_T4, sdk="flyte")
    assert isinstance(built.native, flyte2.PodTemplate)
    assert pod_of(built.native) == expected("flyte2-2.12.1")
    assert flyte.build(ON_A_T4, sdk="flyte", existing=built.native) == built


def test_an_environment_accepts_the_template() -> None:
    template = flyte.build(kai.PodRequest(queue="team-a", gpus=1), sdk="flyte").native
    environment = flyte2.TaskEnvironment(name="train", pod_template=template)
    assert environment.pod_template is template


@pytest.mark.parametrize("gpus", PLAIN_GPUS)
def test_flyte_makes_the_predicted_pod(gpus: dict[str, Any]) -> None:
    built = flyte.build(kai.PodRequest(queue="team-a", privileged=True, **gpus), sdk="flyte")
    made, predicted = pod_of(built.native), without_nulls(built.to_pod_spec())
    assert made["metadata"] == predicted["metadata"]
    assert made["podSpec"] == predicted["spec"]
    assert made["primaryContainerName"] == "primary"
