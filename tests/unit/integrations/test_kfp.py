"""Tasks of Kubeflow Pipelines as plain values; tests/integrations/test_kfp.py compiles them."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, GPU_TOLERATION, in_container
from kai.integrations import kfp
from kai.settings import Built, merge


def plain(**arguments: Any) -> Built:
    return kfp.build(kai.PodRequest(**{"queue": "team-a", **arguments}), as_native=False)


def metadata(built: Built) -> Any:
    return built["kubernetes"]["podMetadata"]


def test_half_a_t4() -> None:
    built = plain(
        gpu_fraction=0.5,
        platform="gke",
        gpu_type="nvidia-tesla-t4",
        cpu="500m",
        memory="1Gi",
        memory_limit="2Gi",
        env={"NVIDIA_DRIVER_CAPABILITIES": "all"},
    )

    assert built == {
        "kubernetes": {
            "podMetadata": {
                "labels": {"kai.scheduler/queue": "team-a"},
                "annotations": {"gpu-fraction": "0.5", "gpu-fraction-container-name": "main"},
            },
            "nodeSelector": {"labels": {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}},
            "tolerations": [GPU_TOLERATION],
        },
        "env": {"NVIDIA_DRIVER_CAPABILITIES": "all"},
        "cpu": {"request": "500m"},
        "memory": {"request": "1Gi", "limit": "2Gi"},
    }
    assert json.loads(json.dumps(dict(built))) == built


@EACH_GPU_REQUEST
def test_every_kind_of_gpu_request(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    built = plain(**gpus)
    annotations = in_container("main", annotations)

    assert metadata(built).get("annotations", {}) == annotations
    accelerators = [{"type": name, "limit": count} for name, count in limits.items()]
    assert built.get("accelerator") == (accelerators[0] if accelerators else None)
    assert ("tolerations" in built["kubernetes"]) == bool(gpus)
    wait, main = built.pod["spec"]["containers"]
    assert wait == {"name": "wait"}
    assert main.get("resources", {}) == ({"limits": limits} if limits else {})
    assert built.pod["metadata"] == metadata(built)


def test_all_of_a_gpu_is_a_whole_one() -> None:
    assert plain(gpu_fraction=1) == plain(gpus=1)


def test_settings_of_the_owner_are_on_the_pod() -> None:
    built = plain(
        gpus=8, topology="cluster", required_level="rack", priority="train", preemptible=True
    )

    assert metadata(built)["annotations"] == {
        "kai.scheduler/topology": "cluster",
        "kai.scheduler/topology-required-placement": "rack",
    }
    assert metadata(built)["labels"] == {
        "kai.scheduler/queue": "team-a",
        "priorityClassName": "train",
        "kai.scheduler/preemptibility": "preemptible",
    }
    assert built.placement["kai.scheduler/topology"] == "pod"


# ---- what cannot be said there -------------------------------------------------------------------


def test_a_policy_sets_the_scheduler_name() -> None:
    built = plain(gpu_fraction=0.5)

    assert "schedulerName" not in json.dumps(dict(built))
    (unsupported,) = built.unsupported
    assert unsupported.setting == "scheduler_name"
    assert "cluster_objects" in unsupported.workaround
    assert [each["kind"] for each in built.cluster_objects] == [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ]
    assert built.pod["spec"]["schedulerName"] == "kai-scheduler"
    with pytest.raises(kai.InvalidRequestError, match="kfp cannot express scheduler_name"):
        built.strict()


def test_the_policy_skips_a_pod_without_a_queue() -> None:
    built = plain(queue=None, gpus=1)

    assert "schedulerName" not in built.pod["spec"]
    assert "schedulerName" not in built.placement
    assert "write queue=" in built.unsupported[0].workaround


def test_kyverno_gets_an_equivalent_policy() -> None:
    built = kfp.build(kai.PodRequest(queue="q"), as_native=False, form="kyverno")
    assert [each["kind"] for each in built.cluster_objects] == ["ClusterPolicy"]


def test_a_step_may_use_the_default_scheduler() -> None:
    built = kfp.build(
        kai.PodRequest(queue="q", scheduler_name="default-scheduler"), as_native=False, strict=True
    )
    assert built.unsupported == ()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("runtime_class", "nvidia"),
        ("privileged", True),
        ("gang_min", 2),
        ("claim", "one-gpu"),
    ],
)
def test_unsupported_settings_are_reported_and_left_out(setting: str, value: Any) -> None:
    built = plain(**{setting: value})

    assert setting in [each.setting for each in built.unsupported]
    assert setting not in [each.setting for each in plain(gpus=1).unsupported]
    pod = {**built.pod, "metadata": plain().pod["metadata"]}
    pod["spec"] = {key: each for key, each in pod["spec"].items() if key != "tolerations"}
    assert pod == plain().pod
    assert metadata(built) == metadata(plain())


def test_without_mps_directories_its_variables_are_left_out() -> None:
    mps = {"isolation": "mps", "mps": True, "mps_pipe_directory": "/run/mps"}
    built = plain(gpu_fraction=0.5, env={"A": "1"}, **mps)

    assert "isolation" in [each.setting for each in built.unsupported]
    assert built["env"] == {"A": "1"}
    assert "volumes" not in built.pod["spec"]
    assert any("limits the pod to its share" in each for each in built.warnings)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"container": "train"}, "in the container main"),
        ({"cpu": "1e3"}, "cpu is '1e3', which Kubeflow Pipelines does not read"),
        ({"memory_limit": "1.5Gi"}, "memory_limit is '1.5Gi'"),
    ],
)
def test_values_that_kfp_refuses_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(kai.InvalidRequestError, match=message):
        plain(**arguments)


def test_native_objects_need_the_library() -> None:
    with pytest.raises(kai.InvalidRequestError, match="as_native=True needs kfp"):
        kfp.build(kai.PodRequest(queue="q"), as_native=True)


# ---- applying it ---------------------------------------------------------------------------------


class Task:
    """The part of a task to which plain values are applied."""

    def __init__(self, **kubernetes: Any) -> None:
        self.platform_config = {"kubernetes": kubernetes} if kubernetes else {}
        self.container_spec = SimpleNamespace(resources=None)
        self.called: dict[str, Any] = {}

    def set_env_variable(self, *, name: str, value: str) -> None:
        self.called[name] = value

    def set_cpu_request(self, amount: str) -> None:
        self.called["cpu"] = amount


def test_the_task_is_returned_with_the_settings() -> None:
    task = Task()
    built = plain(gpu_fraction=0.5, cpu=2, env={"A": "1"})

    assert kfp.apply(built, task) is task
    assert task.platform_config == {"kubernetes": built["kubernetes"]}
    assert task.called == {"cpu": "2", "A": "1"}


def test_applying_is_idempotent_and_keeps_other_settings() -> None:
    toleration = {"key": "spot", "operator": "Exists"}
    json_form = {"tolerationJson": {"runtimeValue": {"constant": {"key": "a"}}}}
    task = Task(
        podMetadata={"labels": {"team": "vision"}},
        tolerations=[toleration, json_form, GPU_TOLERATION],
        imagePullPolicy="Always",
    )

    for _ in range(2):
        kfp.apply(plain(gpu_fraction=0.5), task)

    config = task.platform_config["kubernetes"]
    assert config["imagePullPolicy"] == "Always"
    assert config["tolerations"] == [toleration, json_form, GPU_TOLERATION]
    assert config["podMetadata"]["labels"] == {
        "team": "vision",
        "kai.scheduler/queue": "team-a",
    }


def test_merging_is_idempotent() -> None:
    built = plain(gpu_fraction=0.5, env={"A": "1"})
    assert merge(merge({}, built), built) == merge({}, built) == built


def test_settings_do_not_share_what_a_task_changes() -> None:
    built = plain(gpu_fraction=0.5)
    before = json.dumps(dict(built))
    task = Task()
    kfp.apply(built, task)
    task.platform_config["kubernetes"]["podMetadata"]["labels"]["team"] = "vision"
    task.platform_config["kubernetes"]["tolerations"].clear()
    assert json.dumps(dict(built)) == before


def test_another_kind_of_gpu_request_replaces_the_first() -> None:
    task = Task()
    kfp.apply(plain(gpu_fraction=0.5), task)
    with pytest.warns(UserWarning, match="gpu-fraction was removed"):
        kfp.apply(plain(gpu_memory="5Gi"), task)

    annotations = task.platform_config["kubernetes"]["podMetadata"]["annotations"]
    assert annotations == {"gpu-memory": "5120", "gpu-fraction-container-name": "main"}
