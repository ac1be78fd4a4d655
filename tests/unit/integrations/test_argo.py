"""Argo's manifests as plain values; tests/integrations/test_hera.py uses Hera."""

import json
from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, GPU_TOLERATION, in_container
from kai.integrations import argo
from kai.settings import Built, merge


def request(**arguments: Any) -> kai.PodRequest:
    return kai.PodRequest(**{"queue": "team-a", **arguments})


def plain(**arguments: Any) -> Built:
    return argo.build(request(**arguments), as_native=False)


def test_half_a_t4() -> None:
    built = plain(
        gpu_fraction=0.5,
        platform="gke",
        gpu_type="nvidia-tesla-t4",
        memory="1Gi",
        env={"NVIDIA_DRIVER_CAPABILITIES": "all"},
    )

    queue = {"labels": {"kai.scheduler/queue": "team-a"}}
    assert built == {
        "workflow": {
            "metadata": queue,
            "spec": {"schedulerName": "kai-scheduler", "podMetadata": queue},
        },
        "template": {
            "metadata": {
                **queue,
                "annotations": {"gpu-fraction": "0.5", "gpu-fraction-container-name": "main"},
            },
            "schedulerName": "kai-scheduler",
            "nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"},
            "tolerations": [GPU_TOLERATION],
            "container": {
                "env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"}],
                "resources": {"requests": {"memory": "1Gi"}},
            },
        },
    }
    assert json.loads(json.dumps(dict(built))) == built
    assert built.unsupported == ()


@EACH_GPU_REQUEST
def test_every_kind_of_gpu_request(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    template = plain(**gpus)["template"]
    annotations = in_container("main", annotations)

    assert template["metadata"].get("annotations", {}) == annotations
    assert template.get("container", {}) == ({"resources": {"limits": limits}} if limits else {})
    pod = plain(**gpus).pod
    assert pod["metadata"] == template["metadata"]
    assert pod["spec"]["schedulerName"] == "kai-scheduler"
    assert [each["name"] for each in pod["spec"]["containers"]] == ["wait", "main"]
    assert pod["spec"]["containers"][1] == {"name": "main", **template.get("container", {})}


def test_the_whole_workflow_requests_no_gpus() -> None:
    assert "gpu" not in json.dumps(plain(gpu_fraction=0.5)["workflow"])


def test_the_workflow_has_the_queue_and_a_step_the_rest() -> None:
    built = plain(priority="train", topology="cluster", required_level="rack")

    assert built["workflow"]["metadata"] == {"labels": {"kai.scheduler/queue": "team-a"}}
    assert built["template"]["metadata"]["labels"]["priorityClassName"] == "train"
    assert built["template"]["metadata"]["annotations"]["kai.scheduler/topology"] == "cluster"
    assert built.placement["kai.scheduler/topology"] == "template"
    assert built.placement["kai.scheduler/queue"] == "Workflow and template"


def test_settings_without_a_template_field_are_in_the_pod_patch() -> None:
    template = plain(claim="one-gpu", runtime_class="nvidia")["template"]

    assert json.loads(template["podSpecPatch"]) == {
        "runtimeClassName": "nvidia",
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
    }
    assert template["container"]["resources"] == {"claims": [{"name": "gpu"}]}


def test_a_step_is_not_a_gang() -> None:
    built = plain(gpus=1, gang_min=2)

    assert "batch-min-member" not in json.dumps(dict(built))
    (unsupported,) = built.unsupported
    assert (unsupported.setting, "JobSet" in unsupported.workaround) == ("gang_min", True)
    with pytest.raises(kai.InvalidRequestError, match="argo cannot express gang_min"):
        argo.build(request(gang_min=2), as_native=False, strict=True)


@pytest.mark.parametrize("both", [False, True])
def test_older_labels_are_on_the_workflow_as_well(both: bool) -> None:
    labels = plain(legacy=not both, both=both)["workflow"]["metadata"]["labels"]
    assert "runai/queue" in labels
    assert ("kai.scheduler/queue" in labels) == both


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "dag"}, "write one of container, script"),
        ({"request": {"container": "train"}}, "in the container main"),
    ],
)
def test_invalid_arguments_raise_one_sentence(options: dict[str, Any], message: str) -> None:
    given = request(**options.pop("request", {}))
    with pytest.raises(kai.InvalidRequestError, match=message):
        argo.build(given, **options)


def test_native_objects_need_the_library() -> None:
    with pytest.raises(kai.InvalidRequestError, match="as_native=True needs hera"):
        argo.build(request(), as_native=True)


# ---- manifests that are there -------------------------------------------------------------------


def workflow(*templates: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"generateName": "train-", "labels": {"team": "vision"}},
        "spec": {"entrypoint": "steps", "templates": list(templates), **spec},
    }


STEPS = {"name": "steps", "steps": [[{"name": "a", "template": "train"}]]}
PREPARE = {"name": "prepare", "container": {"image": "cpu"}}
TRAIN = {
    "name": "train",
    "metadata": {"labels": {"step": "train"}},
    "container": {
        "image": "gpu",
        "env": [{"name": "A", "value": "1"}],
        "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "4Gi"}},
    },
    "sidecars": [{"name": "logs", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
}


def test_a_workflow_gets_the_settings_and_keeps_its_fields() -> None:
    manifest = workflow(STEPS, PREPARE, TRAIN, ttlStrategy={"secondsAfterCompletion": 60})
    before = json.dumps(manifest)

    built = argo.patch(
        manifest, request(gpu_fraction=0.5, env={"B": "2"}, cpu=1), templates=["train"]
    )

    assert json.dumps(manifest) == before
    assert built["metadata"] == {
        "generateName": "train-",
        "labels": {"team": "vision", "kai.scheduler/queue": "team-a"},
    }
    assert built["spec"]["schedulerName"] == "kai-scheduler"
    assert built["spec"]["ttlStrategy"] == {"secondsAfterCompletion": 60}
    steps, prepare, train = built["spec"]["templates"]
    assert (steps, prepare) == (STEPS, PREPARE)
    assert train["metadata"] == {
        "labels": {"step": "train", "kai.scheduler/queue": "team-a"},
        "annotations": {"gpu-fraction": "0.5", "gpu-fraction-container-name": "main"},
    }
    assert train["container"] == {
        "image": "gpu",
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "resources": {"limits": {"memory": "4Gi"}, "requests": {"cpu": "1"}},
    }
    assert train["sidecars"] == [{"name": "logs"}]
    assert sum("nvidia.com/gpu: 1" in each for each in built.warnings) == 2


@pytest.mark.parametrize(
    "gpus",
    [{}, {"gpus": 1}, {"mig": "1g.5gb"}, {"gpu_fraction": 0.5}, {"gpu_memory": "5Gi"},
     {"gpu_fraction": 0.5, "devices": 2}, {"claim": "one", "runtime_class": "nvidia"}],
)  # fmt: skip
def test_patching_is_idempotent(gpus: dict[str, Any]) -> None:
    once = argo.patch(workflow(TRAIN), request(**gpus), templates=["train"])
    twice = argo.patch(once, request(**gpus), templates=["train"])
    assert twice == once
    assert merge(once, once) == once


def test_an_existing_pod_spec_patch_is_kept() -> None:
    train = {**TRAIN, "podSpecPatch": "terminationGracePeriodSeconds: 5\n"}
    built = argo.patch(workflow(train), request(runtime_class="nvidia"), templates=["train"])

    assert json.loads(built["spec"]["templates"][0]["podSpecPatch"]) == {
        "terminationGracePeriodSeconds": 5,
        "runtimeClassName": "nvidia",
    }
    broken = {**TRAIN, "podSpecPatch": "{{inputs.parameters.patch}}: ["}
    with pytest.raises(kai.InvalidRequestError, match="by hand"):
        argo.patch(workflow(broken), request(runtime_class="nvidia"), templates=["train"])


@pytest.mark.parametrize("kind", ["WorkflowTemplate", "ClusterWorkflowTemplate"])
def test_templates_set_the_queue_of_their_workflows(kind: str) -> None:
    built = argo.patch({**workflow(TRAIN), "kind": kind}, request(gpus=1), templates=["train"])
    assert built["spec"]["workflowMetadata"] == {"labels": {"kai.scheduler/queue": "team-a"}}
    assert built["metadata"]["labels"] == {"team": "vision"}


def test_a_cron_workflow_is_patched() -> None:
    manifest = {
        "kind": "CronWorkflow",
        "metadata": {"name": "nightly"},
        "spec": {"schedules": ["0 3 * * *"], "workflowSpec": {"templates": [TRAIN]}},
    }
    built = argo.patch(manifest, request(gpu_fraction=0.5), templates=["train"])

    spec = built["spec"]
    assert spec["schedules"] == ["0 3 * * *"]
    assert spec["workflowMetadata"] == {"labels": {"kai.scheduler/queue": "team-a"}}
    assert spec["workflowSpec"]["schedulerName"] == "kai-scheduler"
    (train,) = spec["workflowSpec"]["templates"]
    assert train["metadata"]["annotations"]["gpu-fraction"] == "0.5"


def test_one_of_several_containers_gets_the_gpu() -> None:
    template = {
        "name": "train",
        "containerSet": {"containers": [{"name": "load"}, {"name": "fit", "image": "gpu"}]},
    }
    built = argo.patch(
        workflow(template), request(gpu_fraction=0.5, container="fit", cpu=1), templates=["train"]
    )
    (train,) = built["spec"]["templates"]

    assert train["metadata"]["annotations"]["gpu-fraction-container-name"] == "fit"
    load, fit = train["containerSet"]["containers"]
    assert load == {"name": "load"}
    assert fit == {"name": "fit", "image": "gpu", "resources": {"requests": {"cpu": "1"}}}
    with pytest.raises(kai.InvalidRequestError, match="write container="):
        argo.patch(workflow(template), request(gpu_fraction=0.5), templates=["train"])
    with pytest.raises(kai.InvalidRequestError, match="write one of load, fit"):
        argo.patch(workflow(template), request(gpus=1, container="x"), templates=["train"])


@pytest.mark.parametrize(
    ("manifest", "templates", "message"),
    [
        (workflow(TRAIN), ["trian"], "there is no template 'trian': write some of train"),
        (workflow(STEPS), ["steps"], "runs no container"),
        ({"kind": "Job"}, [], "kind is 'Job': write one of Workflow"),
    ],
)
def test_other_manifests_are_refused(
    manifest: dict[str, Any], templates: list[str], message: str
) -> None:
    with pytest.raises(kai.InvalidRequestError, match=message):
        argo.patch(manifest, request(gpus=1), templates=templates)
