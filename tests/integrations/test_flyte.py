"""flytekit with the PodTemplate that kai builds."""

from collections import OrderedDict
from typing import Any

import pytest
from conftest import GPUS, HALF_A_T4, IN_A_RACK, without_nulls
from flytekit import PodTemplate, Resources, task
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.tools.translator import get_serializable
from google.protobuf.json_format import MessageToDict

from kai.integrations import flyte

SETTINGS = SerializationSettings(
    project="p",
    domain="d",
    version="v",
    image_config=ImageConfig(default_image=Image("d", "img", "t")),
)


def train() -> int:
    return 1


def pod_of(template: PodTemplate, **arguments: Any) -> Any:
    spec = get_serializable(
        OrderedDict(), SETTINGS, task(train, pod_template=template, **arguments)
    )
    pod = MessageToDict(spec.template.k8s_pod.to_flyte_idl())
    for container in pod["podSpec"]["containers"]:
        container.pop("args", None)
    return without_nulls(pod)


def test_the_pod_of_a_task(expected: Any) -> None:
    assert pod_of(flyte.build(HALF_A_T4).native) == expected("flytekit-1.16.31")


def test_resources_and_variables_may_be_set_on_the_task(expected: Any) -> None:
    bare = HALF_A_T4.with_changes(cpu=None, memory=None, memory_limit=None, env={})
    made = pod_of(
        flyte.build(bare).native,
        requests=Resources(cpu="500m", mem="1Gi"),
        limits=Resources(mem="2Gi"),
        environment=dict(HALF_A_T4.env),
    )
    assert made == expected("flytekit-1.16.31")


def test_an_existing_template_is_extended() -> None:
    once = flyte.build(HALF_A_T4)
    again = flyte.build(HALF_A_T4, existing=once.native)
    assert again == once
    assert pod_of(again.native) == pod_of(once.native)


@pytest.mark.parametrize("gpus", GPUS)
def test_flyte_makes_the_predicted_pod(gpus: dict[str, Any]) -> None:
    built = flyte.build(IN_A_RACK.with_changes(**gpus))
    made, predicted = pod_of(built.native), built.to_pod_spec()
    assert made["metadata"] == predicted["metadata"]
    main, wanted = made["podSpec"].pop("containers")[0], predicted["spec"].pop("containers")[0]
    assert made["podSpec"] == predicted["spec"]
    assert wanted.items() <= main.items()
