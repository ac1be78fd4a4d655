"""Plain Kubernetes, and patching any object with pods, without the kubernetes client."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, GPU_TOLERATION, ROWS, in_container
from kai.api import kinds
from kai.errors import InvalidRequestError
from kai.integrations import kubernetes

ROOT = Path(__file__).parents[3]
TOPOLOGY = {"topology": "racks", "required_level": "example.com/rack"}
ON_OWNER = {
    "kai.scheduler/topology": "racks",
    "kai.scheduler/topology-required-placement": "example.com/rack",
}


def requested(**arguments: Any) -> kai.PodRequest:
    return kai.PodRequest(queue="team-a", **arguments)


def pod_template(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "image": "i", **container}]}}


@EACH_GPU_REQUEST
def test_each_kind_of_gpu_request_is_set(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    built = kubernetes.build(requested(**gpus))
    container = built["spec"]["containers"][0]
    assert built["metadata"].get("annotations", {}) == in_container("main", annotations)
    assert container.get("resources", {}).get("limits", {}) == limits
    assert "resources" not in container or container["resources"]
    assert built["spec"].get("tolerations", []) == ([GPU_TOLERATION] if gpus else [])
    assert built["spec"]["schedulerName"] == "kai-scheduler"
    assert built.to_pod_spec()["metadata"] == built["metadata"]
    assert yaml.safe_load(yaml.safe_dump(dict(built))) == dict(built)


def test_a_template_lacks_the_settings_of_the_owner() -> None:
    built = kubernetes.build(requested(gang_min=2, **TOPOLOGY))
    assert [each.setting for each in built.unsupported] == ["topology", "gang_min"]
    assert "annotations" not in built["metadata"]
    with pytest.raises(InvalidRequestError, match="kubernetes cannot express topology"):
        kubernetes.build(requested(**TOPOLOGY), strict=True)


def test_a_job_has_the_settings_of_the_owner() -> None:
    built = kubernetes.job(
        requested(gpu_fraction=0.5, gang_min=2, priority="train", **TOPOLOGY),
        name="train", image="i", parallelism=4, completions=4, indexed=True,
    )  # fmt: skip
    assert built["metadata"]["labels"] == {
        "kai.scheduler/queue": "team-a",
        "priorityClassName": "train",
    }
    on_job = built["metadata"]["annotations"]
    assert on_job == {**ON_OWNER, "kai.scheduler/batch-min-member": "2"}
    assert not set(on_job) & set(built["spec"]["template"]["metadata"]["annotations"])
    assert built.placement["kai.scheduler/topology"] == "Job"
    assert built.placement["gpu-fraction"] == "pod template"
    assert built.placement["kai.scheduler/queue"] == "pod template and Job"
    assert built.unsupported == ()


def test_a_gang_larger_than_the_parallelism_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="Job has 2 pods at a time"):
        kubernetes.job(requested(gang_min=3), name="train", image="i", parallelism=2)


def test_a_cron_job_has_the_settings_in_its_job_template() -> None:
    built = kubernetes.cron_job(
        requested(gang_min=2, **TOPOLOGY), name="nightly", image="i", schedule="0 3 * * *"
    )
    assert built["spec"]["jobTemplate"]["metadata"]["annotations"] == ON_OWNER
    assert "annotations" not in built["metadata"]
    assert [each.setting for each in built.unsupported] == ["gang_min"]
    assert built.placement["kai.scheduler/topology"] == "spec.jobTemplate of the CronJob"


def test_a_bare_pod_has_the_settings_of_the_owner() -> None:
    built = kubernetes.pod(requested(gpu_memory=2000, **TOPOLOGY), name="p", image="i")
    assert built["metadata"]["annotations"] == {
        "gpu-memory": "2000",
        "gpu-fraction-container-name": "main",
        **ON_OWNER,
    }
    assert built["spec"]["restartPolicy"] == "Never"


def test_a_deployment_warns_about_its_priority() -> None:
    built = kubernetes.deployment(requested(gpus=1), name="web", image="i", replicas=2)
    assert any("non-preemptible inference" in warning for warning in built.warnings)
    chosen = kubernetes.deployment(requested(gpus=1, preemptible=True), name="web", image="i")
    assert not any("inference" in warning for warning in chosen.warnings)
    labels = chosen["spec"]["template"]["metadata"]["labels"]
    assert labels["kai.scheduler/preemptibility"] == "preemptible"
    # The selector matches the labels of the pods.
    assert chosen["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_deadlines_allow_waiting_in_a_queue() -> None:
    built = kubernetes.deployment(requested(), name="web", image="i")
    assert built["spec"]["progressDeadlineSeconds"] == 3600
    assert any("progressDeadlineSeconds is 3600" in each for each in built.warnings)
    job = dict(kubernetes.job(requested(), name="j", image="i"))
    message = "spec.activeDeadlineSeconds is 60"
    assert not any(message in each for each in kubernetes.patch(job, requested()).warnings)
    job["spec"]["activeDeadlineSeconds"] = 60
    assert any(message in each for each in kubernetes.patch(job, requested()).warnings)
    # For a pod the time starts when it has a node.
    pod = {"kind": "Pod", "spec": {"activeDeadlineSeconds": 60, **pod_template()["spec"]}}
    assert not any("activeDeadline" in each for each in kubernetes.patch(pod, requested()).warnings)


def test_pods_of_services_restart() -> None:
    with pytest.raises(InvalidRequestError, match="omit restart_policy="):
        kubernetes.deployment(requested(), name="web", image="i", restart_policy="Never")


def test_services_cannot_be_gangs() -> None:
    for make in (kubernetes.deployment, kubernetes.stateful_set, kubernetes.daemon_set):
        built = make(requested(gang_min=2), name="web", image="i")
        assert [each.setting for each in built.unsupported] == ["gang_min"]
        assert "batch-min-member" not in str(dict(built))


def test_a_fraction_removes_whole_gpus_from_every_container() -> None:
    whole = {"limits": {"nvidia.com/gpu": 1, "memory": "1Gi"}, "requests": {"nvidia.com/gpu": 1}}
    zero = {"limits": {"nvidia.com/gpu": "0"}}
    template = pod_template(resources=whole)
    template["spec"]["containers"].append({"name": "side", "resources": zero})
    template["spec"]["initContainers"] = [{"name": "first", "resources": copy.deepcopy(zero)}]
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}
    before = copy.deepcopy(job)
    built = kubernetes.patch(job, requested(gpu_fraction=0.5))
    assert job == before
    spec = built["spec"]["template"]["spec"]
    assert spec["containers"][0]["resources"] == {"limits": {"memory": "1Gi"}}
    assert "resources" not in spec["containers"][1]
    assert "resources" not in spec["initContainers"][0]
    assert sum("nvidia.com/gpu" in warning for warning in built.warnings) == 4


@pytest.mark.parametrize("then", [each[0] for each in ROWS.values() if each[0]])
@pytest.mark.parametrize("before", [each[0] for each in ROWS.values() if each[0]])
def test_a_new_gpu_request_replaces_any_earlier_one(
    before: dict[str, Any], then: dict[str, Any]
) -> None:
    first = kubernetes.job(requested(**before), name="j", image="i")
    assert dict(kubernetes.patch(first, requested(**then))) == dict(
        kubernetes.job(requested(**then), name="j", image="i")
    )


# One manifest of each kind in the table, with an unrelated field in it.
MANIFESTS: dict[str, dict[str, Any]] = {
    "Pod": {**pod_template()},
    "PodTemplate": {"template": pod_template()},
    **{
        kind: {"spec": {"template": pod_template()}}
        for kind in ("Job", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
    },
    "CronJob": {"spec": {"jobTemplate": {"spec": {"template": pod_template()}}}},
    "JobSet": {
        "spec": {
            "replicatedJobs": [{"name": "w", "template": {"spec": {"template": pod_template()}}}]
        }
    },
    "LeaderWorkerSet": {"spec": {"leaderWorkerTemplate": {"workerTemplate": pod_template()}}},
    **{
        kind: {"spec": {f"{family}ReplicaSpecs": {"Worker": {"template": pod_template()}}}}
        for kind, family in (
            ("PyTorchJob", "pytorch"), ("TFJob", "tf"), ("XGBoostJob", "xgb"),
            ("JAXJob", "jax"), ("PaddleJob", "paddle"), ("MPIJob", "mpi"),
        )
    },
    "SparkApplication": {"spec": {"driver": {"cores": 1}, "executor": {"instances": 2}}},
    "ScheduledSparkApplication": {
        "spec": {"template": {"driver": {"cores": 1}, "executor": {"instances": 2}}}
    },
    "InferenceService": {
        "spec": {"predictor": {"model": {"modelFormat": {"name": "onnx"}}, "minReplicas": 1}}
    },
    "DynamoGraphDeployment": {"spec": {"services": {"w": {"replicas": 2}}}},
    "PodCliqueSet": {
        "spec": {
            "template": {
                "cliques": [{"name": "w", "spec": {"replicas": 2, **{
                    "podSpec": pod_template()["spec"]}}}]
            }
        }
    },
}  # fmt: skip
for _kind in ("TrainingRuntime", "ClusterTrainingRuntime"):
    MANIFESTS[_kind] = {"spec": {"template": MANIFESTS["JobSet"]}}
for _kind in ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate"):
    MANIFESTS[_kind] = {
        "spec": {
            "templates": [{"name": "t", "container": {"image": "i"}}, {"name": "d", "dag": {}}]
        }
    }
MANIFESTS["CronWorkflow"] = {"spec": {"workflowSpec": MANIFESTS["Workflow"]["spec"]}}
_CLUSTER = {
    "headGroupSpec": {"template": pod_template()},
    "workerGroupSpecs": [{"groupName": "g", "replicas": 1, "template": pod_template()}],
}
MANIFESTS |= {
    "RayCluster": {"spec": _CLUSTER},
    "RayJob": {"spec": {"rayClusterSpec": _CLUSTER}},
    "RayService": {"spec": {"rayClusterConfig": _CLUSTER}},
}


def manifest(kind: str) -> dict[str, Any]:
    found = copy.deepcopy(MANIFESTS[kind])
    found |= {"apiVersion": "example/v1", "kind": kind, "status": {"foreign": True}}
    found.setdefault("metadata", {})["annotations"] = {"team": "vision"}
    return found


def contains(whole: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and contains(whole[key], each) for key, each in part.items()
        )
    if isinstance(part, list):
        return all(any(contains(one, each) for one in whole) for each in part)
    return bool(whole == part)


def test_every_workload_kind_is_tested() -> None:
    assert set(MANIFESTS) == set(kinds.WORKLOADS)


@pytest.mark.parametrize("gpus", [each[0] for each in ROWS.values()])
@pytest.mark.parametrize("kind", sorted(MANIFESTS))
def test_patching_keeps_other_fields_and_is_idempotent(kind: str, gpus: dict[str, Any]) -> None:
    request = requested(
        cpu="1", cpu_limit="2", env={"A": "1"}, priority="train", **gpus, **TOPOLOGY
    )
    built = kubernetes.patch(manifest(kind), request)
    assert contains(dict(built), manifest(kind))
    assert dict(kubernetes.patch(built, request)) == dict(built)
    assert yaml.safe_load(yaml.safe_dump(dict(built))) == dict(built)
    shown = built.to_pod_spec()
    assert shown["spec"]["schedulerName"] == "kai-scheduler"
    container = shown["spec"]["containers"][0]
    assert {"name": "A", "value": "1"} in container["env"]
    limits = container["resources"]["limits"]
    assert limits["cpu"] == "2"
    assert limits.get("nvidia.com/gpu") == (str(gpus["gpus"]) if "gpus" in gpus else None)
    assert ("nvidia.com/mig-1g.5gb" in limits) == ("mig" in gpus)
    annotations = shown["metadata"].get("annotations", {})
    assert annotations.get("gpu-fraction") == ("0.5" if "gpu_fraction" in gpus else None)
    if "gpu_fraction" in gpus:
        assert annotations["gpu-fraction-container-name"] == container["name"]
    text = str(dict(built))
    assert ("racks" in text) == (kind not in ("PodTemplate", "InferenceService"))


def test_roles_without_gpu_get_the_scheduler_and_queue() -> None:
    job = manifest("MPIJob")
    job["spec"]["mpiReplicaSpecs"]["Launcher"] = {"template": pod_template()}
    request = requested(
        gpu_fraction=0.5, platform="gke", gpu_type="nvidia-tesla-t4", cpu="4", env={"A": "1"}
    )
    roles = kubernetes.patch(job, request)["spec"]["mpiReplicaSpecs"]
    launcher, worker = roles["Launcher"]["template"], roles["Worker"]["template"]
    assert launcher["spec"]["schedulerName"] == "kai-scheduler"
    assert launcher["metadata"] == {"labels": {"kai.scheduler/queue": "team-a"}}
    assert "nodeSelector" not in launcher["spec"]
    assert "tolerations" not in launcher["spec"]
    assert "resources" not in launcher["spec"]["containers"][0]
    assert launcher["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    assert worker["metadata"]["annotations"]["gpu-fraction"] == "0.5"
    assert worker["spec"]["nodeSelector"]


def test_roles_select_the_pods_that_get_gpus() -> None:
    job = manifest("JobSet")
    job["spec"]["replicatedJobs"].append(
        {"name": "data", "template": {"spec": {"template": pod_template()}}}
    )
    built = kubernetes.patch(job, requested(gpu_fraction=0.5), roles=["w"])
    templates = [each["template"]["spec"]["template"] for each in built["spec"]["replicatedJobs"]]
    assert "annotations" in templates[0]["metadata"]
    assert "annotations" not in templates[1]["metadata"]
    with pytest.raises(InvalidRequestError, match=r"no role 'x': write one of w, data"):
        kubernetes.patch(job, requested(), roles=["x"])


# Kinds from which KAI reads how many pods start together.
@pytest.mark.parametrize("kind", sorted(MANIFESTS))
def test_the_gang_minimum_is_written_or_reported(kind: str) -> None:
    built = kubernetes.patch(manifest(kind), requested(gpus=1, gang_min=1))
    reads = kind.endswith(("Runtime", "JobSet")) or kind in (
        "Job", "PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "PaddleJob", "MPIJob",
    )  # fmt: skip
    written = {"kai.scheduler/batch-min-member", "minAvailable"} & set(built.placement)
    assert bool(written) == reads
    assert [each.setting for each in built.unsupported] == ([] if reads else ["gang_min"])
    for key in written:
        assert f"'{key}': " in str(dict(built))
        # Never on the pods, where nothing reads it.
        assert key not in str(built.to_pod_spec())


def test_settings_without_an_argo_field_are_reported() -> None:
    built = kubernetes.patch(manifest("Workflow"), requested(runtime_class="nvidia", claim="c"))
    assert {each.setting for each in built.unsupported} == {"runtime_class", "claim"}
    template = built["spec"]["templates"][0]
    assert "runtimeClassName" not in template
    assert "name" not in template["container"]
    assert built["spec"]["templates"][1] == {"name": "d", "dag": {}}


NULLS: dict[str, Any] = {
    "metadata": None,
    "spec": {
        "containers": [{"name": "main", "resources": None, "env": None}],
        "initContainers": None,
        "tolerations": None,
    },
}


@pytest.mark.parametrize("gpus", [each[0] for each in ROWS.values()])
@pytest.mark.parametrize(
    "written",
    [
        {"kind": "Job", "metadata": None, "spec": {"template": NULLS}},
        {"kind": "Pod", **NULLS},
        {
            "kind": "RayCluster",
            "metadata": {"labels": None},
            "spec": {
                "headGroupSpec": {"rayStartParams": None, "template": NULLS},
                "workerGroupSpecs": [{"groupName": "w", "rayStartParams": None, "template": NULLS}],
            },
        },
        {
            "kind": "PyTorchJob",
            "spec": {
                "runPolicy": None,
                "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": NULLS}},
            },
        },
        {"kind": "InferenceService", "spec": {"predictor": {"model": {"resources": None}}}},
        {"kind": "DynamoGraphDeployment", "spec": {"services": {"w": None}}},
    ],
)
def test_null_fields_count_as_missing(written: dict[str, Any], gpus: dict[str, Any]) -> None:
    request = requested(gang_min=1, **gpus, **TOPOLOGY)
    built = kubernetes.patch(written, request)
    assert built.to_pod_spec()["spec"]["schedulerName"] == "kai-scheduler"
    assert dict(kubernetes.patch(built, request)) == dict(built)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"kind": "Secret"}, "kind is 'Secret': write one of Pod"),
        ({"kind": "TrainJob"}, "use kai.integrations.trainer.build"),
        ({"kind": "Job", "spec": {}}, "this Job describes no pods: write them at spec.template"),
        ({"kind": "RayJob", "spec": {"clusterSelector": {}}}, "describes no pods"),
    ],
)
def test_a_manifest_without_pods_is_refused(broken: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=re.escape(message)):
        kubernetes.patch(broken, requested())


def test_a_missing_container_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="there is no container 'gpu': write one of main"):
        kubernetes.patch(manifest("Job"), requested(gpu_fraction=0.5, container="gpu"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"command": "python x.py"}, "write a list of strings"),
        ({"restart_policy": "Sometimes"}, "restart_policy is 'Sometimes'"),
        ({"parallelism": 0}, "parallelism is 0"),
        ({"indexed": True}, "write the number of its pods"),
        ({"name": "No Name"}, "not the name of a Kubernetes object"),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=re.escape(message)):
        kubernetes.job(requested(), **{"name": "j", "image": "i", **arguments})


BLOCK = re.compile(r"^```python *\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["kubernetes", "jobset", "leaderworkerset", "spark", "dynamo"])
def test_the_examples_of_the_pages_run(page: str) -> None:
    text = (ROOT / "docs" / "orchestrators" / f"{page}.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert blocks
    namespace: dict[str, object] = {"__name__": "example"}
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec"), namespace)


@pytest.mark.parametrize("example", ["ray/job.py", "pytorchjob/gang.py", "jobset/jobset.py"])
def test_the_examples_print_manifests(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "examples" / example).read_text(encoding="utf-8")
    exec(compile(text, example, "exec"), {"__name__": "__main__"})
    (printed,) = yaml.safe_load_all(capsys.readouterr().out)
    assert printed["metadata"]["labels"]["kai.scheduler/queue"] == "team-a"
    assert "kai-scheduler" in str(printed["spec"])


# ---- PodSettings.apply_to ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(set(MANIFESTS) - {"Pod"}))
def test_settings_are_applied_to_the_pod_templates_of_every_kind(kind: str) -> None:
    """The spec of a Deployment itself once got the scheduler's name, and its pods got nothing."""
    before = manifest(kind)
    made = kai.pod_settings(queue="team-a").apply_to(before)
    assert before == manifest(kind)
    assert made == dict(kubernetes.patch(before, kai.PodRequest(queue="team-a"), as_native=False))
    assert "kai-scheduler" in json.dumps(made) or kind == "DynamoGraphDeployment"


def test_unsupported_settings_and_kinds_without_pods_are_refused() -> None:
    gang = kai.pod_settings(queue="team-a", gang_min=2)
    with pytest.raises(InvalidRequestError, match="KAI reads no such number from a Deployment"):
        gang.apply_to(manifest("Deployment"))
    with pytest.raises(InvalidRequestError):
        gang.apply_to({"kind": "Service", "spec": {"selector": {}}})


def test_the_container_of_a_workload_is_named() -> None:
    job = manifest("Job")
    job["spec"]["template"]["spec"]["containers"].append({"name": "side"})
    made = kai.pod_settings(queue="a", cpu=3).apply_to(job, container="side")
    assert "requests" not in made["spec"]["template"]["spec"]["containers"][0].get("resources", {})
    assert made["spec"]["template"]["spec"]["containers"][1]["resources"]["requests"]["cpu"] == "3"
