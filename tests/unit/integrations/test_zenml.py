"""Settings of ZenML's steps as plain values; tests/integrations/test_zenml.py uses ZenML."""

import json
from typing import Any

import pytest

import kai
from fakes.gpu_requests import GPU_TOLERATION, ROWS, in_container
from kai.integrations import zenml
from kai.linting import lint
from kai.settings import Built, merge

VARIABLES = {"NVIDIA_DRIVER_CAPABILITIES": "all", "NVIDIA_REQUIRE_CUDA": "cuda>=12.2"}


def example(**changes: Any) -> kai.PodRequest:
    """The request of the training step in KAI's first example for ZenML."""
    return kai.PodRequest(
        **{
            "queue": "test",
            "gpu_fraction": 0.5,
            "platform": "gke",
            "gpu_type": "nvidia-tesla-t4",
            "node_pool": "gpu-pool",
            "cpu": "500m",
            "memory": "1Gi",
            "memory_limit": "2Gi",
            "env": {"NVIDIA_DRIVER_CAPABILITIES": "all"},
            "privileged": True,
            "legacy": True,
            **changes,
        }
    )


def half(**changes: Any) -> kai.PodRequest:
    return kai.PodRequest(**{"queue": "test", "gpu_fraction": 0.5, **changes})


def plain(request: kai.PodRequest, **options: Any) -> Built:
    return zenml.build(request, as_native=False, **options)


# ---- the example, line by line ------------------------------------------------------------------


def test_the_example_is_built_correctly() -> None:
    assert plain(example()) == {
        "privileged": True,
        "pod_settings": {
            "scheduler_name": "kai-scheduler",
            "labels": {"runai/queue": "test"},
            "annotations": {"gpu-fraction": "0.5", "gpu-fraction-container-name": "main"},
            "tolerations": [GPU_TOLERATION],
            "node_selectors": {
                "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
                "cloud.google.com/gke-nodepool": "gpu-pool",
            },
            "env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"}],
            "resources": {
                "requests": {"cpu": "500m", "memory": "1Gi"},
                "limits": {"memory": "2Gi"},
            },
        },
    }


def test_e1_settings_are_for_one_step() -> None:
    request = half()
    settings = zenml.step_settings(request, as_native=False)
    assert list(settings) == ["orchestrator"]  # and never "kubernetes" (spec 7 Z7)
    assert settings["orchestrator"] == plain(request)
    assert list(zenml.step_settings(request, target="step_operator", as_native=False)) == [
        "step_operator"
    ]


def test_e2_the_scheduler_name_is_set() -> None:
    assert plain(half())["pod_settings"]["scheduler_name"] == "kai-scheduler"
    other = plain(half(scheduler_name="kai-of-team-a"))
    assert other["pod_settings"]["scheduler_name"] == "kai-of-team-a"


def test_e3_the_old_queue_label_is_written_on_request_with_a_warning() -> None:
    assert plain(half())["pod_settings"]["labels"] == {"kai.scheduler/queue": "test"}
    old = plain(half(legacy=True))
    assert old["pod_settings"]["labels"] == {"runai/queue": "test"}
    assert any("only KAI before 0.6 reads runai/queue" in each for each in old.warnings)
    both = plain(half(both=True))
    assert set(both["pod_settings"]["labels"]) == {"kai.scheduler/queue", "runai/queue"}


def test_e5_the_gpu_type_annotation_is_passed_on_with_a_warning() -> None:
    built = plain(half(annotations={"gpu-type": "nvidia-tesla-t4"}))
    assert built["pod_settings"]["annotations"]["gpu-type"] == "nvidia-tesla-t4"
    assert any("ignores the annotation gpu-type" in each for each in built.warnings)


@pytest.mark.parametrize("memory", ["5Gi", "5120", 5120])
def test_e6_memory_instead_of_a_fraction(memory: object) -> None:
    built = plain(kai.PodRequest(queue="test", gpu_memory=memory))
    assert built["pod_settings"]["annotations"] == {
        "gpu-memory": "5120",
        "gpu-fraction-container-name": "main",
    }


def test_e7_an_existing_toleration_is_not_repeated() -> None:
    assert plain(half(tolerations=[GPU_TOLERATION]))["pod_settings"]["tolerations"] == [
        GPU_TOLERATION
    ]
    spot = {"key": "cloud.google.com/gke-spot", "operator": "Exists"}
    given = plain(half(), existing={"pod_settings": {"tolerations": [GPU_TOLERATION, spot]}})
    assert given["pod_settings"]["tolerations"] == [GPU_TOLERATION, spot]


def test_e8_e9_e11_the_ignored_keys_are_written_for_comparison_only() -> None:
    request = example(env=VARIABLES)
    built = plain(request, compat="example")
    assert built["pod_settings"]["node_selector"] == {
        "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
        "cloud.google.com/gke-nodepool": "gpu-pool",
    }
    assert built["pod_settings"]["container_environment"] == VARIABLES
    assert built["pod_settings"]["security_context"] == {"privileged": True}
    without = ("node_selector", "container_environment", "security_context")
    pod_settings = {k: v for k, v in built["pod_settings"].items() if k not in without}
    assert {**built, "pod_settings": pod_settings} == plain(request)
    assert built.pod == plain(request).pod
    assert any("ignored by ZenML" in each for each in built.warnings)
    with pytest.raises(kai.InvalidRequestError, match="write one of example"):
        plain(request, compat="other")


def test_e9_variables_are_a_list() -> None:
    assert plain(half(env=VARIABLES))["pod_settings"]["env"] == [
        {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"},
        {"name": "NVIDIA_REQUIRE_CUDA", "value": "cuda>=12.2"},
    ]


def test_e10_resources_without_gpus_are_kept() -> None:
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    assert plain(half(), resources=resources)["pod_settings"]["resources"] == resources


@pytest.mark.parametrize("key", ["nvidia.com/gpu", "nvidia.com/mig-1g.5gb"])
def test_e10_gpus_in_resources_are_removed_if_a_share_is_requested(key: str) -> None:
    built = plain(half(), resources={"limits": {key: "0", "memory": "2Gi"}})
    assert built["pod_settings"]["resources"] == {"limits": {"memory": "2Gi"}}
    assert any(f"{key}: 0 in the limits was removed" in each for each in built.warnings)
    only = plain(half(), resources={"limits": {key: "1"}, "requests": {key: "1"}})
    assert "resources" not in only["pod_settings"]  # an empty one crashes ZenML 0.82


def test_e10_gpus_in_resources_without_a_gpu_request_are_refused() -> None:
    with pytest.raises(kai.InvalidRequestError, match="gpus=1"):
        plain(kai.PodRequest(queue="test"), resources={"limits": {"nvidia.com/gpu": "1"}})


def test_e11_privileged_is_a_setting_beside_those_of_the_pod() -> None:
    assert plain(half(privileged=True))["privileged"] is True
    assert plain(half(privileged=False))["privileged"] is False
    assert "privileged" not in plain(half())


def test_e12_a_runtime_class_only_on_request() -> None:
    assert "additional_pod_spec_args" not in plain(half())["pod_settings"]
    built = plain(half(runtime_class="nvidia"))
    assert built["pod_settings"]["additional_pod_spec_args"] == {"runtime_class_name": "nvidia"}
    assert built.pod["spec"]["runtimeClassName"] == "nvidia"
    assert built.placement["runtimeClassName"] == "pod"


def test_e13_an_image_is_passed_on() -> None:
    settings = {"parent_image": "example/pytorch-zenml-gpu:root", "skip_build": True}
    assert zenml.docker_settings(**settings, as_native=False) == settings


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"env": VARIABLES}, "write the variables as env= of kai.PodRequest"),
        ({"environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}, "NVIDIA_VISIBLE_DEVICES"),
        ({"runtime_environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}, "NVIDIA_VISIBLE_DEVICES"),
        ({"skip_build": True, "environment": VARIABLES}, "builds no image"),
    ],
)
def test_e13_lost_or_harmful_variables_of_an_image_are_refused(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(kai.InvalidRequestError, match=message):
        zenml.docker_settings(**values, as_native=False)


def test_e13_a_variable_with_devices_is_refused() -> None:
    with pytest.raises(kai.InvalidRequestError, match="NVIDIA_VISIBLE_DEVICES"):
        half(env={"NVIDIA_VISIBLE_DEVICES": "all"})


# ---- every kind of GPU --------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["orchestrator", "step_operator"])
@pytest.mark.parametrize("version", [None, "0.82.0"])
@pytest.mark.parametrize("kind", ROWS)
def test_the_pod_of_each_kind_of_gpu(kind: str, version: str | None, target: str) -> None:
    gpus, annotations, limits = ROWS[kind]
    built = plain(kai.PodRequest(queue="test", **gpus), zenml_version=version, target=target)
    container: dict[str, Any] = {"name": "main"}
    if limits:
        container["resources"] = {"limits": limits}
    metadata: dict[str, Any] = {"labels": {"kai.scheduler/queue": "test"}}
    if annotations:
        metadata["annotations"] = in_container("main", annotations)
    spec: dict[str, Any] = {"schedulerName": "kai-scheduler", "containers": [container]}
    if gpus:
        spec["tolerations"] = [GPU_TOLERATION]
    assert built.pod == {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    assert built.unsupported == ()
    json.dumps(built.settings)


@pytest.mark.parametrize("kind", ROWS)
def test_building_is_idempotent(kind: str) -> None:
    request = kai.PodRequest(queue="test", **ROWS[kind][0], env=VARIABLES, cpu=1)
    once = plain(request)
    assert merge(once.settings, once.settings) == once
    assert plain(request, existing=once) == once
    other = {"pod_settings": {"labels": {"team": "vision"}, "volumes": [{"name": "data"}]}}
    merged = plain(request, existing=other)
    assert merged["pod_settings"]["labels"] == {"team": "vision", "kai.scheduler/queue": "test"}
    assert merged.pod["spec"]["volumes"] == [{"name": "data"}]
    assert other["pod_settings"]["labels"] == {"team": "vision"}


def test_a_gpu_request_replaces_that_of_existing_settings() -> None:
    whole = plain(kai.PodRequest(queue="test", gpus=1))
    shared = plain(half(), existing=whole)
    assert shared == plain(half())
    back = plain(kai.PodRequest(queue="test", gpus=1), existing=shared)
    assert back == whole
    assert any("annotation gpu-fraction was removed" in each for each in back.warnings)


def test_devices_in_existing_settings_are_removed() -> None:
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "A", "value": "1"}]
    built = plain(half(), existing={"pod_settings": {"env": env}})
    assert built["pod_settings"]["env"] == [{"name": "A", "value": "1"}]
    assert any("NVIDIA_VISIBLE_DEVICES was removed from env" in each for each in built.warnings)
    whole = plain(kai.PodRequest(queue="test", gpus=1), existing={"pod_settings": {"env": env}})
    assert whole["pod_settings"]["env"] == env


def test_a_longer_existing_timeout_is_kept() -> None:
    for existing, kept in ((600, 3600), (7200, 7200)):
        built = plain(half(), existing={"pod_startup_timeout": existing}, zenml_version="0.82.0")
        assert built["pod_startup_timeout"] == kept


# ---- what ZenML does with it --------------------------------------------------------------------


def test_the_placement_lists_all_settings() -> None:
    request = example(priority="train", preemption_delay="5m", runtime_class="nvidia")
    assert plain(request).placement == {
        "runai/queue": "Job and pod",
        "priorityClassName": "Job and pod",
        "gpu-fraction": "pod",
        "gpu-fraction-container-name": "pod",
        "kai.scheduler/preemption-delay": "pod",
        "schedulerName": "pod",
        "nodeSelector": "pod",
        "tolerations": "pod",
        "runtimeClassName": "pod",
        "env": "container main",
        "resources": "container main",
        "securityContext": "container main",
    }
    bare = plain(request, zenml_version="0.82.0").placement
    assert bare["runai/queue"] == bare["priorityClassName"] == "pod"


def test_a_priority_is_a_label() -> None:
    built = plain(half(priority="build", preemptible=True))
    assert built["pod_settings"]["labels"] == {
        "kai.scheduler/queue": "test",
        "priorityClassName": "build",
        "kai.scheduler/preemptibility": "preemptible",
    }


RACK = {"topology": "site", "required_level": "example.com/rack"}


@pytest.mark.parametrize("target", ["orchestrator", "step_operator"])
def test_a_topology_does_not_reach_the_job_of_a_step(target: str) -> None:
    built = plain(half(**RACK, gang_min=4), target=target)
    assert [each.setting for each in built.unsupported] == ["topology", "gang_min"]
    assert not any("topology" in key for key in built["pod_settings"]["annotations"])
    with pytest.raises(kai.InvalidRequestError, match="zenml cannot express topology"):
        plain(half(**RACK), target=target, strict=True)


def test_before_0_84_a_topology_reaches_the_pod_of_a_step() -> None:
    built = plain(half(**RACK, gang_min=4), zenml_version="0.83.1")
    annotations = built["pod_settings"]["annotations"]
    assert annotations["kai.scheduler/topology"] == "site"
    assert annotations["kai.scheduler/topology-required-placement"] == "example.com/rack"
    assert "kai.scheduler/batch-min-member" not in annotations
    assert [each.setting for each in built.unsupported] == ["gang_min"]


def test_a_claim_is_unsupported() -> None:
    built = plain(kai.PodRequest(queue="test", claim="one-gpu"))
    assert [each.setting for each in built.unsupported] == ["claim"]
    assert "resources" not in built["pod_settings"]
    assert "resourceClaims" not in built.pod["spec"]


@pytest.mark.parametrize("target", ["orchestrator", "step_operator"])
@pytest.mark.parametrize(("version", "waits"), [("0.82.0", 3600), ("0.84.1", 3600)])
def test_older_versions_need_a_longer_timeout(version: str, waits: int, target: str) -> None:
    built = plain(half(), zenml_version=version, target=target)
    assert built["pod_startup_timeout"] == waits
    assert any("600 s" in each and "3600 s" in each for each in built.warnings)


@pytest.mark.parametrize("version", [None, "0.84.2", "0.98.0"])
def test_newer_versions_need_no_timeout(version: str | None) -> None:
    built = plain(half(), zenml_version=version)
    assert "pod_startup_timeout" not in built
    assert not any("600 s" in each for each in built.warnings)


def shares_group(built: Built) -> bool:
    return any("one pod group" in each for each in built.warnings)


def test_steps_that_share_a_pod_group_cause_a_warning() -> None:
    assert shares_group(plain(half()))
    assert not shares_group(plain(half(), skip_owner_references=True))
    assert not shares_group(plain(half(), dynamic=True))
    assert not shares_group(plain(half(), target="step_operator"))
    assert not shares_group(plain(half(), zenml_version="0.83.1"))
    with pytest.raises(kai.InvalidRequestError, match="has no skip_owner_references"):
        plain(half(), skip_owner_references=True, zenml_version="0.91.0")


def test_a_preempted_step_can_start_again() -> None:
    built = plain(half(preemptible=True), ignore_preemption=True)
    first, second = built["pod_failure_policy"]["rules"]
    assert first["action"] == "Ignore"
    assert first["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert second["action"] == "Count"
    assert second["onExitCodes"]["containerName"] == "main"
    assert any("--update-pod-eviction-condition" in each for each in built.warnings)
    without = plain(half(preemptible=True))
    assert "pod_failure_policy" not in without
    assert any("ignore_preemption=True" in each for each in without.warnings)


@pytest.mark.parametrize("options", [{"target": "step_operator"}, {"zenml_version": "0.83.1"}])
def test_a_preempted_step_fails_without_a_failure_policy(options: dict[str, str]) -> None:
    built = plain(half(), ignore_preemption=True, **options)
    assert "pod_failure_policy" not in built
    assert [each.setting for each in built.unsupported] == ["ignore_preemption"]


@pytest.mark.parametrize(
    "label", ["project_id", "run_id", "run_name", "pipeline", "step_name", "run"]
)
def test_labels_of_zenml_are_refused(label: str) -> None:
    with pytest.raises(kai.InvalidRequestError, match=f"labels has {label}"):
        plain(half(labels={label: "mine"}))


def test_whole_gpus_of_resource_settings_cause_a_warning() -> None:
    built = plain(half(), resource_settings={"gpu_count": 1})
    assert any("gpu_count=1" in each for each in built.warnings)
    for harmless in (None, {}, {"gpu_count": 0}, {"cpu_count": 2}):
        built = plain(half(), resource_settings=harmless)
        assert not any("gpu_count" in each for each in built.warnings)


def test_another_container_is_refused() -> None:
    with pytest.raises(kai.InvalidRequestError, match="runs steps in main"):
        plain(half(container="trainer"))
    assert plain(half(container="main")) == plain(half())


@pytest.mark.parametrize("version", ["0.81.0", "newest", "0.9"])
def test_invalid_and_old_versions_are_refused(version: str) -> None:
    with pytest.raises(kai.InvalidRequestError, match="zenml_version"):
        plain(half(), zenml_version=version)


# ---- components and Terraform -------------------------------------------------------------------


def test_a_component_gives_no_gpu_to_every_step() -> None:
    request = example(priority="train", labels={"team": "vision"}, legacy=False)
    assert zenml.component_settings(request) == {
        "pod_settings": {
            "scheduler_name": "kai-scheduler",
            "labels": {
                "kai.scheduler/queue": "test",
                "priorityClassName": "train",
                "team": "vision",
            },
        }
    }


@pytest.mark.parametrize("kind", ROWS)
def test_a_component_has_no_gpu_request_of_any_kind(kind: str) -> None:
    text = zenml.terraform_pod_settings(kai.PodRequest(queue="test", **ROWS[kind][0]))
    assert json.loads(text)["labels"] == {"kai.scheduler/queue": "test"}
    assert "gpu" not in text


def test_a_component_keeps_all_of_a_request_without_gpu() -> None:
    request = kai.PodRequest(queue="test", cpu=1, node_selector={"pool": "cpu"})
    assert zenml.component_settings(request) == plain(request)


def test_terraform_variables_are_texts() -> None:
    assert kai.terraform.variables(example()) == {
        "gpu_fraction": "0.5",
        "kai_scheduler_queue": "test",
        "gpu_type": "nvidia-tesla-t4",
    }
    assert kai.terraform.variables(kai.PodRequest(queue="test")) == {
        "gpu_fraction": "",
        "kai_scheduler_queue": "test",
        "gpu_type": "",
    }
    with pytest.raises(kai.InvalidRequestError, match="write gpu_fraction="):
        kai.terraform.variables(kai.PodRequest(queue="test", gpus=1))


# ---- beside the checks for settings written by hand -------------------------------------------


@pytest.mark.parametrize("kind", ROWS)
def test_built_settings_have_no_findings(kind: str) -> None:
    request = kai.PodRequest(
        queue="test", **ROWS[kind][0], env=VARIABLES, privileged=True, runtime_class="nvidia"
    )
    for version in ("0.82.0", "0.98.0"):
        settings = zenml.step_settings(request, zenml_version=version, as_native=False)
        assert lint(settings) == []
    assert lint(json.loads(zenml.terraform_pod_settings(request))) == []


def test_the_original_example_has_findings() -> None:
    found = lint(plain(example(), compat="example"))
    assert [each.path for each in found] == [
        "pod_settings.node_selector",
        "pod_settings.container_environment",
        "pod_settings.security_context",
    ]
