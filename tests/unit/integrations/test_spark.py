"""Spark applications."""

from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, in_container
from kai.errors import InvalidRequestError
from kai.integrations import kubernetes, spark


def requested(**arguments: Any) -> kai.PodRequest:
    return kai.PodRequest(queue="team-a", **arguments)


@EACH_GPU_REQUEST
def test_the_executors_request_the_gpus(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    built = spark.build(requested(cpu="1", cpu_limit="2", **gpus), name="etl")
    driver, executor = built["spec"]["driver"], built["spec"]["executor"]
    annotations = in_container("spark-kubernetes-executor", annotations)
    assert executor.get("annotations", {}) == annotations
    gpu = [{"name": name, "quantity": int(count)} for name, count in limits.items()]
    assert executor.get("gpu") == (gpu[0] if gpu else None)
    assert (executor["coreRequest"], executor["coreLimit"]) == ("1", "2")
    assert "annotations" not in driver
    assert "gpu" not in driver
    for part in (driver, executor):
        assert part["schedulerName"] == "kai-scheduler"
        assert part["labels"] == {"kai.scheduler/queue": "team-a"}
    assert "batchScheduler" not in built["spec"]
    assert built.to_pod_spec()["metadata"].get("annotations", {}) == annotations


def test_an_existing_application_keeps_its_fields() -> None:
    mine = {
        "apiVersion": spark.API,
        "kind": "SparkApplication",
        "metadata": {"name": "etl"},
        "spec": {
            "type": "Python",
            "batchScheduler": "volcano",
            "driver": {"cores": 1, "memory": "512m"},
            "executor": {
                "instances": 2,
                "memory": "4g",
                "gpu": {"name": "nvidia.com/gpu", "quantity": 1},
                "env": [{"name": "A", "value": "1"}],
            },
        },
    }
    built = kubernetes.patch(mine, requested(gpu_fraction=0.5, env={"B": "2"}))
    executor = built["spec"]["executor"]
    assert "gpu" not in executor
    assert executor["memory"] == "4g"
    assert {each["name"] for each in executor["env"]} == {"A", "B"}
    assert built["spec"]["driver"]["memory"] == "512m"
    assert any("batchScheduler is volcano" in each for each in built.warnings)
    assert any("nvidia.com/gpu" in each for each in built.warnings)
    scheduled = {"kind": "ScheduledSparkApplication", "spec": {"template": mine["spec"]}}
    patched = kubernetes.patch(scheduled, requested(gpu_fraction=0.5, env={"B": "2"}))
    assert patched["spec"]["template"] == built["spec"]
    assert patched.warnings == built.warnings


def test_settings_without_an_application_field_are_reported() -> None:
    request = requested(
        gpu_memory="4Gi", memory="8Gi", runtime_class="nvidia", gang_min=2, isolation="mps"
    )
    built = spark.build(request)
    assert {each.setting for each in built.unsupported} == {
        "memory",
        "runtime_class",
        "gang_min",
        "isolation",
    }
    assert "runtimeClassName" not in str(dict(built))
    assert "volumeMounts" not in built["spec"]["executor"]
    assert "memory" not in built.to_pod_spec()["spec"]["containers"][0].get("resources", {})
    with pytest.raises(InvalidRequestError, match="spark cannot express"):
        spark.build(request, strict=True)


def test_a_topology_is_on_the_pods() -> None:
    built = spark.build(requested(topology="racks", required_level="rack"))
    for part in ("driver", "executor"):
        assert built["spec"][part]["annotations"]["kai.scheduler/topology"] == "racks"


def test_properties_for_spark_submit_have_the_same_settings() -> None:
    conf = spark.submit_conf(
        requested(
            gpu_fraction=0.5, platform="gke", gpu_type="nvidia-tesla-t4", cpu="1",
            cpu_limit="2", env={"A": "1"}, priority="train",
        )
    )  # fmt: skip
    executor = "spark.kubernetes.executor"
    assert dict(conf) == {
        "spark.kubernetes.scheduler.name": "kai-scheduler",
        "spark.kubernetes.driver.label.kai.scheduler/queue": "team-a",
        "spark.kubernetes.driver.label.priorityClassName": "train",
        "spark.kubernetes.driverEnv.A": "1",
        f"{executor}.label.kai.scheduler/queue": "team-a",
        f"{executor}.label.priorityClassName": "train",
        f"{executor}.annotation.gpu-fraction": "0.5",
        f"{executor}.annotation.gpu-fraction-container-name": "spark-kubernetes-executor",
        f"{executor}.node.selector.cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
        f"{executor}.request.cores": "1",
        f"{executor}.limit.cores": "2",
        "spark.executorEnv.A": "1",
    }
    assert {each.setting for each in conf.unsupported} == {"tolerations"}
    assert "tolerations" not in conf.to_pod_spec()["spec"]


def test_whole_gpus_are_set_with_sparks_properties() -> None:
    conf = spark.submit_conf(requested(gpus=2), discovery_script="/opt/gpus.sh")
    assert conf["spark.executor.resource.gpu.amount"] == "2"
    assert conf["spark.executor.resource.gpu.vendor"] == "nvidia.com"
    assert conf["spark.executor.resource.gpu.discoveryScript"] == "/opt/gpus.sh"
    slice_ = spark.submit_conf(requested(mig="1g.5gb", gang_min=2, privileged=True))
    assert {each.setting for each in slice_.unsupported} == {
        "mig",
        "gang_min",
        "privileged",
        "tolerations",
    }
    assert not any("resource.gpu" in key for key in slice_)
