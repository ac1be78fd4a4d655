"""Findings about owned pods, about kinds without pod templates, and about amounts of queues."""

import json
from typing import Any

import pytest
import yaml

import kai
from kai.controllers.admission import REFUSED_BEYOND_KAI
from kai.linting import Finding, lint
from kai.queues import unlimited

HALF = {"gpu-fraction": "0.5"}
QUEUE = {"kai.scheduler/queue": "team-a"}
SPEC = {
    "schedulerName": "kai-scheduler",
    "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}],
}


def only(manifest: Any, **options: Any) -> Finding:
    (finding,) = lint(manifest, **options)
    return finding


# ---- pods with an owner --------------------------------------------------------------------------


def owned(kind: str, version: str, name: str = "train", **metadata: Any) -> dict[str, Any]:
    owner = {"apiVersion": version, "kind": kind, "name": name, "uid": "u", "controller": True}
    metadata = {"name": "p", "ownerReferences": [owner], **metadata}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": SPEC}


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("Job", "batch/v1"),
        ("RayCluster", "ray.io/v1"),
        ("ReplicaSet", "apps/v1"),
        ("Rollout", "x/v1"),
    ],
)
def test_the_queue_of_an_owned_pod_is_that_of_its_owner(kind: str, version: str) -> None:
    assert lint(owned(kind, version)) == []


def test_an_owner_without_a_queue_is_reported_once() -> None:
    job = {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"name": "train"},
        "spec": {"template": {"spec": SPEC}},
    }
    finding = only([job, owned("Job", "batch/v1"), owned("Job", "batch/v1")])
    assert (finding.code, finding.object) == ("queue-missing", "Job train")


def test_a_replica_set_has_the_queue_of_its_deployment() -> None:
    replica_set = owned("Deployment", "apps/v1")
    replica_set |= {"kind": "ReplicaSet", "apiVersion": "apps/v1"}
    replica_set["spec"] = {"selector": {}, "template": {"metadata": {}, "spec": SPEC}}
    assert lint(replica_set) == []


def test_the_queue_of_a_pod_in_a_pod_group_is_that_of_the_group() -> None:
    metadata = {"name": "p", "annotations": {"pod-group-name": "g"}}
    assert lint({"kind": "Pod", "metadata": metadata, "spec": SPEC}) == []


def test_other_mistakes_of_owned_pods_are_found() -> None:
    found = lint(owned("Job", "batch/v1", annotations={"gpu-fraction": "2"}))
    assert {each.code for each in found} == {"fraction-refused", "whole-gpu-beside-fraction"}


# ---- kinds without pod templates -----------------------------------------------------------------


def inference_service(**predictor: Any) -> dict[str, Any]:
    given = {"schedulerName": "kai-scheduler", "model": {"modelFormat": {"name": "huggingface"}}}
    return {
        "kind": "InferenceService",
        "apiVersion": "serving.kserve.io/v1beta1",
        "metadata": {"name": "llama", "labels": QUEUE},
        "spec": {"predictor": {**given, **predictor}},
    }


def spark(**executor: Any) -> dict[str, Any]:
    return {
        "kind": "SparkApplication",
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "metadata": {"name": "pi", "labels": QUEUE},
        "spec": {
            "driver": {"cores": 1, "labels": QUEUE, "schedulerName": "kai-scheduler"},
            "executor": {"cores": 1, "labels": QUEUE, "schedulerName": "kai-scheduler", **executor},
        },
    }


def test_kserve_copies_the_annotations_of_an_inference_service_to_its_pods() -> None:
    service = inference_service()
    service["metadata"]["annotations"] = HALF
    assert lint(service) == []
    service["metadata"]["annotations"] = {"gpu-fraction": "2"}
    finding = only(service)
    assert (finding.code, finding.path) == (
        "fraction-refused",
        "metadata.annotations[gpu-fraction]",
    )
    service["metadata"]["annotations"] = {"gpu_fraction": "0.5"}
    assert only(service).path == "metadata.annotations.gpu_fraction"


def test_the_annotations_of_a_predictor_count_before_those_of_the_inference_service() -> None:
    service = inference_service(annotations=HALF)
    service["metadata"]["annotations"] = {"gpu-fraction": "2"}
    assert lint(service) == []
    assert only(inference_service(annotations={"gpu-fraction": "2"})).path == (
        "spec.predictor.annotations[gpu-fraction]"
    )


@pytest.mark.parametrize("part", ["predictor", "transformer", "explainer"])
@pytest.mark.parametrize("field", ["metadata", "template", "spec"])
def test_a_component_of_kserve_has_no_fields_of_a_pod_template(part: str, field: str) -> None:
    service = inference_service()
    service["spec"][part] = {**service["spec"]["predictor"], field: {"annotations": HALF}}
    finding = only(service)
    assert (finding.code, finding.path) == ("field-unknown", f"spec.{part}.{field}")


def test_a_share_on_a_spark_application_belongs_to_its_executor() -> None:
    application = spark()
    application["metadata"]["annotations"] = HALF
    finding = only(application)
    assert (finding.code, finding.fix) == (
        "annotation-ignored",
        "move it to spec.executor.annotations",
    )
    assert lint(spark(annotations=HALF)) == []


@pytest.mark.parametrize("field", ["metadata", "resources"])
def test_an_executor_has_no_fields_of_a_pod_template(field: str) -> None:
    finding = only(spark(**{field: {}}))
    assert (finding.code, finding.path) == ("field-unknown", f"spec.executor.{field}")


def test_the_gpu_of_an_executor_has_a_field_of_its_own() -> None:
    gpu = {"name": "nvidia.com/gpu", "quantity": 1}
    assert only(spark(annotations=HALF, gpu=gpu)).path == "spec.executor.gpu.quantity"
    assert only(spark(gpu={**gpu, "quantity": 0.5})).path == "spec.executor.gpu.quantity"


def test_the_batch_scheduler_of_a_spark_application_is_named_where_it_is() -> None:
    application = spark(annotations=HALF)
    del application["spec"]["executor"]["schedulerName"]
    application["spec"]["batchScheduler"] = "volcano"
    [finding] = [each for each in lint(application) if each.code == "scheduler-other"]
    assert finding.path == "spec.batchScheduler"
    assert finding.fix == (
        "remove it, and write schedulerName: kai-scheduler in driver and executor"
    )


def test_a_share_on_a_ray_cluster_belongs_to_its_workers() -> None:
    template = {"spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "w"}]}}
    cluster = {
        "kind": "RayCluster",
        "apiVersion": "ray.io/v1",
        "metadata": {"name": "r", "labels": QUEUE, "annotations": HALF},
        "spec": {
            "headGroupSpec": {"template": template},
            "workerGroupSpecs": [{"groupName": "w", "template": template}],
        },
    }
    assert only(cluster).fix == "move it to spec.workerGroupSpecs[0].template.metadata.annotations"


def test_an_argo_annotation_of_all_templates_is_found_where_it_is() -> None:
    shared = {"gpu-fraction": "2", "gpu-fraction-container-name": "main"}
    workflow = {
        "kind": "Workflow",
        "apiVersion": "argoproj.io/v1alpha1",
        "metadata": {"name": "w", "labels": QUEUE},
        "spec": {
            "schedulerName": "kai-scheduler",
            "podMetadata": {"labels": QUEUE, "annotations": shared},
            "templates": [{"name": "t", "container": {"image": "i"}}],
        },
    }
    assert only(workflow).path == "spec.podMetadata.annotations[gpu-fraction]"


def test_the_gpus_of_a_dynamo_service_have_a_field_of_their_own() -> None:
    service = {
        "extraPodMetadata": {"annotations": {**HALF, "gpu-fraction-container-name": "main"}},
        "resources": {"limits": {"gpu": "1"}},
    }
    graph = {
        "kind": "DynamoGraphDeployment",
        "apiVersion": "nvidia.com/v1alpha1",
        "metadata": {"name": "g", "labels": QUEUE},
        "spec": {"services": {"decode": service}},
    }
    assert only(graph).path == "spec.services.decode.resources.limits.gpu"


# ---- queues --------------------------------------------------------------------------------------


def queue(resource: str = "gpu", **amounts: Any) -> dict[str, Any]:
    [_, found] = unlimited("team-a")
    found["spec"]["parentQueue"] = "default-parent-queue"
    found["spec"]["resources"][resource] = {"quota": 0, "limit": -1, **amounts}
    return found


@pytest.mark.parametrize(
    ("resource", "value", "fix"),
    [
        ("gpu", "4", "write 4, without quotes"),
        ("gpu", "0.5", "write 0.5, without quotes"),
        ("gpu", "500m", "write 0.5, without quotes"),
        ("gpu", "4Gi", "write 4, without quotes: the unit is GPUs"),
        ("gpu", "16G", "write 16, without quotes: the unit is GPUs"),
        ("gpu", "unlimited", "write -1, without quotes, for no limit"),
        ("gpu", "-1", "write -1, without quotes"),
        ("cpu", "8", "write 8000, without quotes: the unit is thousandths of a core"),
        ("cpu", "8000m", "write 8000, without quotes: the unit is thousandths of a core"),
        ("memory", "4Gi", "write 4294.97, without quotes: the unit is MB"),
        ("memory", "4096", "write 4096, without quotes: the unit is MB"),
        ("memory", "lots", "write a number, without quotes"),
        ("gpu", "1e400", "write -1, without quotes, for no limit"),
        ("cpu", "-1e400", "write -1, without quotes, for no limit"),
        ("memory", "9" * 400 + ".5", "write -1, without quotes, for no limit"),
        ("gpu", "9" * 5000, "write a number, without quotes"),
        ("memory", [4], "write a number, without quotes"),
        ("gpu", True, "write a number, without quotes"),
    ],
)
@pytest.mark.parametrize("name", ["quota", "limit"])
def test_an_amount_of_a_queue_is_a_number(resource: str, value: Any, fix: str, name: str) -> None:
    """The API server refuses it, and the plan leaves the Queue out with the same sentence."""
    found = queue(resource, **{name: value})
    finding = only(found)
    assert (finding.code, finding.refused, finding.fix) == ("queue-quantity", True, fix)
    [left_out] = kai.load(json.dumps(found).encode()).rejected
    assert (left_out.field, left_out.message) == (finding.path, finding.message)


@pytest.mark.parametrize("value", ["1e400", "9" * 400 + ".5", "9" * 5000])
def test_a_text_that_no_number_can_hold_has_a_fix(value: str) -> None:
    for spec in ({"priority": value}, {"resources": {"gpu": {"overQuotaWeight": value}}}):
        found = queue()
        found["spec"] |= spec
        [finding] = [each for each in lint(found) if each.refused]
        assert finding.fix == "write a number, without quotes"


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"priority": "high"}, "queue-quantity"),
        ({"priority": 1.5}, "queue-quantity"),
        ({"preemptMinRuntime": "1d"}, "duration-refused"),
        ({"reclaimMinRuntime": 60}, "duration-refused"),
        ({"displayName": 5}, "not-text"),
        ({"parentQueue": 5}, "not-text"),
        ({"resources": []}, "not-a-mapping"),
        ({"resources": {"gpu": 4}}, "not-a-mapping"),
        ({"resources": {"gpu": {"quota": 1e300}}}, "quantity-refused"),
    ],
)
def test_what_the_plan_refuses_in_a_queue_is_refused_by_lint(
    spec: dict[str, Any], code: str
) -> None:
    found = queue()
    found["spec"] |= spec
    assert code in {each.code for each in lint(found) if each.refused}
    assert [each.name for each in kai.load(json.dumps(found).encode()).rejected] == ["team-a"]


@pytest.mark.parametrize("resource", ["gpu", "cpu", "memory"])
@pytest.mark.parametrize(
    ("amounts", "field", "code", "message"),
    [
        (
            {"quota": 10, "limit": 4},
            *("quota", "queue-quota-above-limit", "the quota is 10, above the limit 4"),
        ),
        ({"quota": -5}, "quota", "queue-quantity", "quota is -5: below 0, only -1 has a meaning"),
        ({"limit": -2}, "limit", "queue-quantity", "limit is -2: below 0, only -1 has a meaning"),
        (
            {"overQuotaWeight": -1},
            *("overQuotaWeight", "queue-quantity", "overQuotaWeight is -1, below 0"),
        ),
    ],
)
def test_amounts_that_cannot_be_meant(
    amounts: dict[str, Any], field: str, code: str, message: str, resource: str
) -> None:
    finding = only(queue(resource, **amounts))
    severity = "error" if code in REFUSED_BEYOND_KAI else "warning"
    assert (finding.code, finding.severity, finding.refused) == (code, severity, False)
    assert finding.path == f"spec.resources.{resource}.{field}"
    assert finding.message.startswith(message)


@pytest.mark.parametrize(
    "amounts",
    [{"quota": -1}, {"quota": 4, "limit": 4}, {"quota": 2.5, "limit": -1, "overQuotaWeight": 0}],
)
def test_amounts_that_are_right(amounts: dict[str, Any]) -> None:
    assert lint(queue(**amounts)) == []


def test_the_queues_of_kai_install_are_known() -> None:
    pod = {"kind": "Pod", "metadata": {"name": "p", "labels": QUEUE}, "spec": SPEC}
    assert lint([queue(), pod]) == []
    pod["metadata"] = {"name": "p", "labels": {"kai.scheduler/queue": "default-queue"}}
    assert lint([queue(), pod]) == []
    assert [each.code for each in lint(queue(), queues=[])] == ["queue-parent-unknown"]


def test_yaml_that_people_write() -> None:
    text = """
    apiVersion: scheduling.run.ai/v2
    kind: Queue
    metadata: {name: team-a}
    spec:
      parentQueue: default-parent-queue
      resources:
        gpu: {quota: "4", limit: 8, overQuotaWeight: 1}
        cpu: {quota: -1, limit: -1}
        memory: {quota: 4Gi, limit: -1}
    """
    assert [each.path for each in lint(yaml.safe_load(text))] == [
        "spec.resources.gpu.quota",
        "spec.resources.memory.quota",
    ]


# ---- queues of kai install, and a queue without a name ------------------------------------------


def job(queue: str, **labels: str) -> dict[str, Any]:
    """A Job with a queue, whose pods have other labels."""
    template = {"metadata": {"labels": labels}, "spec": SPEC}
    metadata = {"name": "j", "labels": {"kai.scheduler/queue": queue}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"template": template},
    }


def test_the_queues_of_kai_install_are_known_without_any_queue() -> None:
    assert lint(job("default-queue")) == []
    assert lint(job("vision")) == []  # it may exist
    finding = only(job("default-parent-queue"))
    assert (finding.code, finding.severity) == ("queue-not-leaf", "error")
    assert finding.fix == "write one of its leaf queues: default-queue"
    unknown = only(job("default-parent-queue"), queues=[])
    assert (unknown.code, unknown.severity) == ("queue-unknown", "error")


@pytest.mark.parametrize("labels", [{}, {"kai.scheduler/queue": "vision"}])
def test_the_name_of_a_queue_is_not_empty(labels: dict[str, str]) -> None:
    finding = only(job("", **labels))
    assert (finding.code, finding.severity) == ("queue-missing", "warning")
    assert finding.path == "metadata.labels[kai.scheduler/queue]"
    assert finding.message.startswith("the name of the queue is empty: with KAI the pods wait")
