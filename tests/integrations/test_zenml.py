"""ZenML accepts the settings of kai.integrations.zenml, and makes the intended pods.

Both generations: in 0.82.0 a step is a pod, in 0.98.0 a Job.
"""

import copy
import json
from importlib import import_module
from typing import Any

import pytest
from conftest import HALF_A_T4, without_nulls
from kubernetes import client
from zenml.config import DockerSettings
from zenml.integrations.kubernetes import flavors
from zenml.integrations.kubernetes.pod_settings import KubernetesPodSettings

import kai
from kai.integrations import zenml
from kai.linting import lint

REQUEST = HALF_A_T4.with_changes(privileged=True)
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
KINDS: dict[str, dict[str, Any]] = {
    "none": {},
    "whole": {"gpus": 2},
    "fraction": {"gpu_fraction": 0.5},
    "memory": {"gpu_memory": "5Gi"},
    "devices": {"gpu_fraction": 0.5, "devices": 2},
    "mig": {"mig": "1g.5gb"},
}


@pytest.fixture
def version(environment: str) -> str:
    return environment.removeprefix("zenml-")


@pytest.fixture
def is_old(version: str) -> bool:
    return version == "0.82.0"


def step(settings: Any, *, is_old: bool) -> dict[str, Any]:
    """The object that ZenML sends to the API server for a step: a pod, or a Job."""
    home = "zenml.integrations.kubernetes." + ("orchestrators." if is_old else "")
    manifests = import_module(home + "manifest_utils")
    common = {"image_name": "img", "command": ["python"], "args": ["-m", "x"]}
    common |= {"privileged": settings.privileged, "pod_settings": settings.pod_settings}
    if is_old:
        made = manifests.build_pod_manifest(
            pod_name="p", run_name="r", pipeline_name="gpu_pipeline", **common
        )
    else:
        labels = {"pipeline": "gpu_pipeline", "step_name": "train"}
        pod = manifests.build_pod_manifest(pod_name=None, labels=labels, **common)
        made = manifests.build_job_manifest(
            job_name="j",
            pod_template=manifests.pod_template_manifest_from_pod(pod),
            backoff_limit=0,
            labels=labels,
            annotations={"zenml.io/step_name": "train"},
            pod_failure_policy=settings.pod_failure_policy,
        )
    sanitized: dict[str, Any] = without_nulls(client.ApiClient().sanitize_for_serialization(made))
    return sanitized


def pod_in(made: dict[str, Any]) -> dict[str, Any]:
    template: dict[str, Any] = made if made.get("kind") == "Pod" else made["spec"]["template"]
    return template


def without_zenmls_own(made: dict[str, Any]) -> dict[str, Any]:
    """The pod, without the fields that ZenML always adds."""
    pod = copy.deepcopy(pod_in(made))
    for label in ("pipeline", "step_name", "run"):
        pod["metadata"]["labels"].pop(label, None)
    pod["metadata"].pop("name", None)
    for field in ("restartPolicy", "terminationGracePeriodSeconds"):
        pod["spec"].pop(field, None)
    [container] = pod["spec"]["containers"]
    container["env"] = [
        each for each in container["env"] if each["name"] != "ZENML_ENABLE_REPO_INIT_WARNINGS"
    ]
    for field in ("image", "command", "args"):
        del container[field]
    if container["securityContext"] == {"privileged": False}:  # ZenML's default
        del container["securityContext"]
    kept: dict[str, Any] = without_nulls({"metadata": pod["metadata"], "spec": pod["spec"]})
    return kept


def no_unknown_keys(settings: Any) -> bool:
    return not settings.model_extra and not settings.pod_settings.model_extra


def test_the_pod_equals_that_of_settings_written_by_hand(
    expected: Any, environment: str, version: str, is_old: bool
) -> None:
    settings = zenml.build(REQUEST, zenml_version=version).native
    assert type(settings) is flavors.KubernetesOrchestratorSettings
    assert no_unknown_keys(settings)
    assert step(settings, is_old=is_old) == expected(environment)


@pytest.mark.parametrize("kind", KINDS)
def test_the_pod_equals_the_predicted_pod(kind: str, version: str, is_old: bool) -> None:
    request = kai.PodRequest(
        queue="test",
        **KINDS[kind],
        priority="train",
        node_selector={"pool": "t4"},
        runtime_class="nvidia",
        preemption_delay="5m",
        memory_limit="2Gi",
        env={"A": "1"},
    )
    built = zenml.build(request, zenml_version=version)
    made = step(built.native, is_old=is_old)
    shown = without_nulls({"metadata": built.pod["metadata"], "spec": built.pod["spec"]})
    assert without_zenmls_own(made) == shown
    assert no_unknown_keys(built.native)
    if not is_old:  # queue and priority are on the Job, annotations are not
        assert made["metadata"]["labels"]["kai.scheduler/queue"] == "test"
        assert made["metadata"]["labels"]["priorityClassName"] == "train"
        assert list(made["metadata"]["annotations"]) == ["zenml.io/step_name"]


def test_every_version_has_all_written_settings(version: str, is_old: bool) -> None:
    for target, made in (
        ("orchestrator", flavors.KubernetesOrchestratorSettings),
        ("step_operator", flavors.KubernetesStepOperatorSettings),
    ):
        native = zenml.build(
            REQUEST, target=target, zenml_version=version, ignore_preemption=True
        ).native
        assert type(native) is made
        assert no_unknown_keys(native)
        assert native.pod_startup_timeout == (3600 if is_old else None)


def test_a_preempted_step_restarts_by_the_policy_of_its_job(is_old: bool) -> None:
    if is_old:
        pytest.skip("steps are pods")
    settings = zenml.build(REQUEST, ignore_preemption=True).native
    [first, second] = step(settings, is_old=is_old)["spec"]["podFailurePolicy"]["rules"]
    assert first["action"] == "Ignore"
    assert first["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert second["onExitCodes"] == {
        "containerName": "main",
        "operator": "NotIn",
        "values": [0],
    }


def test_the_ignored_keys_of_the_example_are_ignored(version: str, is_old: bool) -> None:
    compat = zenml.build(REQUEST, zenml_version=version, compat="example").native
    assert set(compat.pod_settings.model_extra) == {
        "node_selector",
        "container_environment",
        "security_context",
    }
    plain = zenml.build(REQUEST, zenml_version=version).native
    assert step(compat, is_old=is_old) == step(plain, is_old=is_old)


def test_tolerations_of_the_client_equal_plain_ones() -> None:
    given = client.V1Toleration(key="nvidia.com/gpu", operator="Exists", effect="NoSchedule")
    request = kai.PodRequest(queue="test", gpu_fraction=0.5, tolerations=[given])
    settings = zenml.build(request).native
    by_hand = flavors.KubernetesOrchestratorSettings(pod_settings={"tolerations": [given]})
    assert settings.pod_settings.tolerations == [TOLERATION]
    assert without_nulls(by_hand.pod_settings.tolerations) == [TOLERATION]


def test_existing_settings_are_kept(version: str) -> None:
    existing = flavors.KubernetesOrchestratorSettings(
        synchronous=False,
        pod_settings=KubernetesPodSettings(
            labels={"team": "vision"},
            tolerations=[client.V1Toleration(key="spot", operator="Exists")],
            resources={"limits": {"nvidia.com/gpu": "1", "memory": "2Gi"}},
        ),
    )
    request = kai.PodRequest(queue="test", gpu_fraction=0.5)
    built = zenml.build(request, zenml_version=version, existing=existing)
    assert built.native.synchronous is False
    assert built.native.pod_settings.labels == {"team": "vision", "kai.scheduler/queue": "test"}
    assert built.native.pod_settings.resources == {"limits": {"memory": "2Gi"}}
    assert without_nulls(built.native.pod_settings.tolerations) == [
        {"key": "spot", "operator": "Exists"},
        TOLERATION,
    ]
    assert no_unknown_keys(built.native)
    assert existing.pod_settings.labels == {"team": "vision"}


def test_whole_gpus_of_resource_settings_cause_a_warning() -> None:
    settings = import_module("zenml.config").ResourceSettings
    found = [
        any("gpu_count" in each for each in zenml.build(REQUEST, resource_settings=r).warnings)
        for r in (settings(gpu_count=1), settings(cpu_count=1))
    ]
    assert found == [True, False]


def test_plain_values_are_returned_if_native_ones_are_disabled() -> None:
    built = zenml.build(REQUEST, as_native=False)
    assert built.native is built.settings
    assert zenml.build(REQUEST, as_native=True).native.pod_settings.scheduler_name


def test_settings_of_a_step_are_attached_to_it() -> None:
    decorator = import_module("zenml").step

    @decorator(settings=zenml.step_settings(REQUEST))
    def train() -> None: ...

    [key] = train.configuration.settings
    assert key == "orchestrator"


def test_an_image_is_passed_on() -> None:
    settings = zenml.docker_settings(parent_image="example/image", skip_build=True)
    assert type(settings) is DockerSettings
    assert settings == DockerSettings(parent_image="example/image", skip_build=True)
    with pytest.raises(kai.InvalidRequestError, match="has no parentimage"):
        zenml.docker_settings(parentimage="example/image")


def test_a_component_accepts_the_text_of_terraform() -> None:
    text = zenml.terraform_pod_settings(REQUEST)
    config = flavors.KubernetesOrchestratorConfig(
        kubernetes_context="c",
        pod_settings=text,  # a text, as Terraform's provider sends it
    )
    assert config.pod_settings.scheduler_name == "kai-scheduler"
    assert config.pod_settings.labels == {"kai.scheduler/queue": "team-a"}
    assert not config.pod_settings.annotations
    assert not config.pod_settings.model_extra
    assert set(json.loads(text)) <= set(KubernetesPodSettings.model_fields)


def test_lint_has_every_field_of_zenml() -> None:
    for field in KubernetesPodSettings.model_fields:
        found = lint({"pod_settings": {field: None}})
        assert "zenml-unknown-setting" not in [each.code for each in found]
    unknown = {"pod_settings": {"node_selector": {}}}
    by_zenml = flavors.KubernetesOrchestratorSettings(**unknown)
    assert lint(by_zenml) == lint(unknown)
    assert [each.code for each in lint(unknown)] == ["zenml-unknown-setting"]


def test_an_installed_version_too_old_for_the_settings_causes_a_warning(is_old: bool) -> None:
    warned = any("is installed" in each for each in zenml.build(REQUEST).warnings)
    assert warned == is_old
