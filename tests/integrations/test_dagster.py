"""Dagster with the settings that kai builds for it."""

import json
from typing import Any

import pytest
from conftest import GPUS, HALF_A_T4, IN_A_RACK, without_nulls
from dagster import op
from dagster_k8s.job import (
    DagsterK8sJobConfig,
    K8sConfigMergeBehavior,
    UserDefinedDagsterK8sConfig,
    construct_dagster_k8s_job,
    get_user_defined_k8s_config,
)
from dagster_k8s.pipes import build_pod_body

from kai.integrations import dagster
from kai.settings.native import to_plain


def step_job(config: UserDefinedDagsterK8sConfig) -> Any:
    launched = construct_dagster_k8s_job(
        DagsterK8sJobConfig(job_image="img"),
        ["dagster", "api"],
        "job-name",
        user_defined_k8s_config=config,
        pod_name="pod-name",
    )
    return without_nulls(to_plain(launched))


def test_the_job_of_a_step(expected: Any) -> None:
    @op(tags=dict(dagster.build(HALF_A_T4, as_native=False)))
    def train() -> None: ...

    read = get_user_defined_k8s_config(train.tags)
    assert step_job(read) == expected("dagster-k8s-0.29.27")["Job"]


def test_the_native_config_equals_what_dagster_reads_from_the_tag() -> None:
    built = dagster.build(HALF_A_T4, merge_behavior="SHALLOW")
    tags = {key: json.dumps(value) for key, value in built.items()}
    assert isinstance(built.native, UserDefinedDagsterK8sConfig)
    assert built.native == get_user_defined_k8s_config(tags)
    assert built.native.merge_behavior is K8sConfigMergeBehavior.SHALLOW


def test_the_pod_of_pipes(expected: Any) -> None:
    request = HALF_A_T4.with_changes(cpu=None, memory=None, memory_limit=None)
    built = dagster.build(request, pipes=True)
    body = build_pod_body(
        pod_name="p",
        image="img",
        command=["x"],
        env_vars={},
        base_pod_meta=built["base_pod_meta"],
        base_pod_spec=built["base_pod_spec"],
    )
    assert without_nulls(to_plain(body)) == expected("dagster-k8s-0.29.27")["Pipes"]


@pytest.mark.parametrize("gpus", GPUS)
def test_dagster_makes_the_predicted_pod(gpus: dict[str, Any]) -> None:
    built = dagster.build(IN_A_RACK.with_changes(**gpus))
    made = step_job(built.native)
    template, predicted = made["spec"]["template"], built.to_pod_spec()
    assert template["metadata"].get("annotations") == predicted["metadata"].get("annotations")
    assert predicted["metadata"]["labels"].items() <= template["metadata"]["labels"].items()
    assert made["metadata"]["annotations"] == {
        "kai.scheduler/topology": "t",
        "kai.scheduler/topology-required-placement": "rack",
    }
    main, wanted = template["spec"].pop("containers")[0], predicted["spec"].pop("containers")[0]
    assert predicted["spec"].items() <= template["spec"].items()
    assert wanted.items() <= main.items()
