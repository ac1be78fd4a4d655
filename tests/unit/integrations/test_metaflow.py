"""The settings for Metaflow, without Metaflow."""

import copy
import json
from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, GPU_TOLERATION
from kai.integrations import metaflow


def arguments(**request: Any) -> dict[str, Any]:
    built = metaflow.build(kai.PodRequest(queue="team-a", **request))
    return dict(json.loads(json.dumps(built.settings))["kubernetes"])


def unsupported(request: kai.PodRequest, **options: Any) -> set[str]:
    return {each.setting for each in metaflow.build(request, **options).unsupported}


@EACH_GPU_REQUEST
def test_each_kind_of_gpu_request_is_set(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    tolerations = {"tolerations": [GPU_TOLERATION]} if gpus else {}
    labels = {"labels": {"kai.scheduler/queue": "team-a"}}
    given = {"annotations": annotations} if annotations else {}
    if "mig" in gpus:
        given = {"extended_resources": limits}
    elif limits:
        given = {"gpu": 2}
    assert arguments(**gpus) == {**labels, **tolerations, **given}
    pod = metaflow.build(kai.PodRequest(queue="team-a", **gpus)).to_pod_spec()
    assert pod["metadata"].get("annotations", {}) == annotations
    assert pod["spec"]["containers"][0]["resources"].get("limits", {}) == limits


@pytest.mark.parametrize(
    ("options", "container"),
    [
        ({}, None),
        ({"step": "train_model"}, "train-model"),
        ({"step": "train_model", "parallel": True}, "train-model"),
        ({"step": "train_model", "target": "argo"}, "main"),
        ({"target": "argo"}, "main"),
        ({"step": "train_model", "target": "argo", "parallel": True}, "train-model"),
        ({"target": "argo", "parallel": True}, None),
    ],
)
def test_the_place_of_the_step_sets_the_container_name(
    options: dict[str, Any], container: str | None
) -> None:
    built = metaflow.build(kai.PodRequest(queue="team-a", gpu_fraction=0.5), **options)
    annotations = built["kubernetes"]["annotations"]
    assert annotations.get("gpu-fraction-container-name") == container
    names = [each["name"] for each in built.pod["spec"]["containers"]]
    assert names == (["wait", "main"] if container == "main" else [container or "step"])


def test_job_and_pod_have_all_keys() -> None:
    request = kai.PodRequest(
        queue="team-a", gpu_fraction=0.5, priority="train", topology="t", required_level="rack"
    )
    built = metaflow.build(request)
    assert built["kubernetes"]["labels"]["priorityClassName"] == "train"
    assert built["kubernetes"]["annotations"] == {
        "kai.scheduler/topology": "t",
        "kai.scheduler/topology-required-placement": "rack",
        "gpu-fraction": "0.5",
    }
    assert built.placement["kai.scheduler/topology"] == "Job and pod"
    assert metaflow.build(request, parallel=True).placement["gpu-fraction"] == "JobSet and pod"


def test_amounts_are_in_units_of_metaflow() -> None:
    half = arguments(cpu="500m", memory="1Gi")
    assert (half["cpu"], half["memory"]) == (0.5, 1074)
    whole = arguments(cpu=2, memory="4G")
    assert (whole["cpu"], whole["memory"]) == (2, 4000)
    pod = metaflow.build(kai.PodRequest(queue="a", cpu="500m")).pod
    assert pod["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "0.5", "memory": "4096M", "ephemeral-storage": "10240M"}
    }


def test_variables_tolerations_and_privileges_have_python_names() -> None:
    request = kai.PodRequest(
        queue="team-a",
        env={"A": "1"},
        privileged=True,
        tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 5}],
    )
    built = metaflow.build(request)
    assert built["environment"] == {"vars": {"A": "1"}}
    assert built["kubernetes"]["security_context"] == {"privileged": True}
    assert built["kubernetes"]["tolerations"] == [
        {"key": "a", "operator": "Exists", "toleration_seconds": 5}
    ]
    argo = metaflow.build(request, target="argo")
    assert argo["kubernetes"]["tolerations"] == [{"key": "a", "operator": "Exists"}]
    assert {each.setting for each in argo.unsupported} == {"scheduler_name", "tolerations"}


def test_a_policy_sets_the_scheduler_name() -> None:
    built = metaflow.build(kai.PodRequest(queue="team-a"))
    assert [each.setting for each in built.unsupported] == ["scheduler_name"]
    kinds = [each["kind"] for each in built.cluster_objects]
    assert kinds == ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"]
    assert built.pod["spec"]["schedulerName"] == "kai-scheduler"
    assert built.placement["schedulerName"] == "pod, by the policy in cluster_objects"
    kyverno = metaflow.build(kai.PodRequest(queue="team-a"), form="kyverno")
    assert kyverno.cluster_objects[0]["kind"] == "ClusterPolicy"
    # The policy selects pods by their queue.
    nameless = metaflow.build(kai.PodRequest())
    assert "schedulerName" not in nameless.pod["spec"]
    with pytest.raises(kai.InvalidRequestError, match="metaflow cannot express scheduler_name"):
        metaflow.build(kai.PodRequest(queue="team-a"), strict=True)


def test_settings_without_an_argument_are_unsupported() -> None:
    request = kai.PodRequest(
        queue="a", claim="one-gpu", runtime_class="nvidia", cpu_limit=2, memory_limit="1Gi"
    )
    assert unsupported(request) == {
        "scheduler_name", "claim", "runtime_class", "cpu_limit", "memory_limit"
    }  # fmt: skip
    built = metaflow.build(request)
    assert "limits" not in built.pod["spec"]["containers"][0]["resources"]
    assert "resourceClaims" not in built.pod["spec"]
    assert "runtimeClassName" not in built.pod["spec"]


def test_only_parallel_steps_under_argo_are_gangs() -> None:
    request = kai.PodRequest(queue="a", gang_min=2)
    assert "gang_min" in unsupported(request)
    assert "gang_min" in unsupported(request, target="argo")
    assert "gang_min" in unsupported(request, parallel=True)
    assert "gang_min" not in unsupported(request, target="argo", parallel=True)
    together = metaflow.build(request, target="argo", parallel=True)
    assert any("all pods of the step together" in warning for warning in together.warnings)
    assert "annotations" not in together["kubernetes"]


def test_existing_arguments_are_kept_except_whole_gpus() -> None:
    existing = {
        "kubernetes": {
            "gpu": 1,
            "disk": 20480,
            "image": "train:1",
            "labels": {"team": "vision"},
            "node_selector": "pool=gpus,zone=a",
        },
        "environment": {"vars": {"OWN": "1"}},
        "resources": {"gpu": 2, "shared_memory": 1024},
    }
    before = copy.deepcopy(existing)
    request = kai.PodRequest(queue="team-a", gpu_fraction=0.5, env={"A": "1"})
    built = metaflow.build(request, existing=existing)
    assert existing == before
    assert built["kubernetes"] == {
        "disk": 20480,
        "image": "train:1",
        "labels": {"team": "vision", "kai.scheduler/queue": "team-a"},
        "annotations": {"gpu-fraction": "0.5"},
        "node_selector": {"pool": "gpus", "zone": "a"},
        "tolerations": [GPU_TOLERATION],
    }
    assert built["environment"] == {"vars": {"OWN": "1", "A": "1"}}
    assert built["resources"] == {"shared_memory": 1024}
    assert any("nvidia.com/gpu: 1 in the limits" in warning for warning in built.warnings)
    assert any("gpu=2 of @resources" in warning for warning in built.warnings)


def test_zero_gpus_are_removed_as_well() -> None:
    request = kai.PodRequest(queue="a", gpu_fraction=0.5)
    assert "gpu" not in metaflow.build(request, existing={"kubernetes": {"gpu": 0}})["kubernetes"]
    none = metaflow.build(kai.PodRequest(queue="a"), existing={"kubernetes": {"gpu": 0}})
    assert none["kubernetes"]["gpu"] == 0


def test_unknown_names_are_refused() -> None:
    request = kai.PodRequest(queue="a", gpu_fraction=0.5, container="other")
    with pytest.raises(kai.InvalidRequestError, match="Metaflow names it main"):
        metaflow.build(request, target="argo")
    with pytest.raises(kai.InvalidRequestError, match="write step="):
        metaflow.build(request)
    with pytest.raises(kai.InvalidRequestError, match="write one of job, argo"):
        metaflow.build(kai.PodRequest(queue="a"), target="batch")
    new = kai.PodRequest(queue="a", gpu_memory=1024, style="nvfractions", kai_version="0.18")
    with pytest.raises(kai.InvalidRequestError, match="write step="):
        metaflow.build(new)
