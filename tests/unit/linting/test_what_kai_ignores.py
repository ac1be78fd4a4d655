"""Fields, gangs and units that the API server accepts and KAI ignores or reads otherwise.

Report 31: a pod with preemptionPolicy: Never evicted others. Report 08: 16 for 16 cores. Report 01:
a shared claim without a queue label.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import kai
from kai.linting import Finding, lint
from kai.queues import unlimited

QUEUE = {"kai.scheduler/queue": "team-a"}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
PREFERRED = {
    "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]},
}


def pod(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    given = {"schedulerName": "kai-scheduler", "containers": [{"name": "c"}], **spec}
    metadata = {"name": "p", "labels": {**QUEUE, **(labels or {})}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": given}


def workload(kind: str, version: str, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {}, "spec": pod(**spec)["spec"]}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "w", "labels": dict(QUEUE)},
        "spec": {"template": template},
    }


def only(*manifests: dict[str, Any]) -> Finding:
    (finding,) = lint(list(manifests))
    return finding


# ---- fields --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "path", "fix"),
    [
        (
            {"topologySpreadConstraints": [SPREAD]},
            *("topologySpreadConstraints", "extras: {topology_spread: true}"),
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]},
            *("topologySpreadConstraints", "remove it, or write DoNotSchedule"),
        ),
        (
            {"affinity": PREFERRED},
            "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution",
            "extras: {preferred_node_affinity: true}",
        ),
        ({"preemptionPolicy": "Never"}, "preemptionPolicy", "kai.scheduler/preemption-delay"),
        ({"resources": {"requests": {"cpu": 1}}}, "resources", "in the containers"),
    ],
)
def test_fields_that_kai_ignores(spec: dict[str, Any], path: str, fix: str) -> None:
    for manifest, where in (
        (pod(**spec), "spec"),
        (workload("Deployment", "apps/v1", **spec), "spec.template.spec"),
    ):
        finding = only(manifest)
        assert (finding.code, finding.severity) == ("field-ignored", "warning")
        assert finding.path == f"{where}.{path}"
        assert fix in finding.fix


def test_fields_that_kai_reads() -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    spec = {"affinity": {"nodeAffinity": required}, "preemptionPolicy": "PreemptLowerPriority"}
    assert lint(pod(**spec, topologySpreadConstraints=[], overhead={"cpu": "1"})) == []


def test_fields_of_pods_of_another_scheduler_are_not_ignored() -> None:
    other = pod(topologySpreadConstraints=[SPREAD], schedulerName="default-scheduler")
    assert lint(other) == []


def test_a_predictor_has_the_fields_of_a_pod() -> None:
    predictor = {"schedulerName": "kai-scheduler", "model": {}, "affinity": PREFERRED}
    service = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "s", "labels": QUEUE},
        "spec": {"predictor": predictor},
    }
    assert only(service).path.startswith("spec.predictor.affinity.nodeAffinity.preferred")


def test_a_priority_class_that_never_preempts() -> None:
    polite = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "polite"},
        "value": 90,
        "preemptionPolicy": "Never",
    }
    finding = only(polite, pod(priorityClassName="polite"))
    assert (finding.code, finding.path) == ("field-ignored", "spec.priorityClassName")
    assert lint([polite, pod(priorityClassName="train")]) == []


def test_a_key_of_kai_selects_no_node() -> None:
    finding = only(pod(nodeSelector={"gpu-fraction": "0.5"}))
    assert (finding.code, finding.fix) == (
        "annotation-ignored",
        "move it to annotations of the pod",
    )
    assert lint(pod(nodeSelector={"nvidia.com/gpu.memory": "81920"})) == []


@pytest.mark.parametrize("where", ["spec", "container"])
def test_annotations_that_are_not_in_the_metadata(where: str) -> None:
    manifest = pod()
    spec = manifest["spec"]
    (spec if where == "spec" else spec["containers"][0])["annotations"] = {"gpu-fraction": "0.5"}
    finding = only(manifest)
    assert finding.code == "field-unknown"
    assert finding.fix == "write annotations in metadata, of the object or of its pod template"


def test_a_key_beside_the_annotations() -> None:
    manifest = pod()
    manifest["metadata"]["gpu-fraction"] = "0.5"
    assert only(manifest).fix.startswith("write it in annotations, in metadata")


# ---- gangs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "scheduler"),
    [
        ("scheduling.k8s.io/group-name", "Volcano"),
        ("scheduling.x-k8s.io/pod-group", "the coscheduling plugin"),
        ("gang.scheduling.koordinator.sh/name", "Koordinator"),
        ("yunikorn.apache.org/task-group-name", "YuniKorn"),
    ],
)
@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_a_gang_of_another_scheduler(key: str, scheduler: str, part: str) -> None:
    manifest = pod()
    manifest["metadata"].setdefault(part, {})[key] = "train"
    finding = only(manifest)
    assert (finding.code, finding.path) == ("gang-ignored", f"metadata.{part}[{key}]")
    assert f"of {scheduler}:" in finding.message
    manifest["metadata"].setdefault("annotations", {})["pod-group-name"] = "train"
    assert lint(manifest) == []


def test_a_gang_of_another_scheduler_on_a_job() -> None:
    job = workload("Job", "batch/v1")
    job["spec"]["template"]["metadata"] = {
        "annotations": {
            "scheduling.k8s.io/group-name": "g",
            "scheduling.volcano.sh/group-min-member": "4",
        }
    }
    assert only(job).fix == "write the annotation kai.scheduler/batch-min-member on the Job"
    job["spec"]["template"]["spec"]["schedulerName"] = "volcano"
    assert lint(job) == []


def test_kueue_admits_pods_that_kai_places() -> None:
    assert lint(pod({"kueue.x-k8s.io/pod-group-name": "g"})) == []


# ---- amounts of queues ---------------------------------------------------------------------------


def queue(gpus: float = 4, **resources: dict[str, float]) -> dict[str, Any]:
    [_, found] = unlimited("team-a")
    found["spec"]["parentQueue"] = "default-parent-queue"
    found["spec"]["resources"]["gpu"] = {"quota": gpus, "limit": gpus}
    found["spec"]["resources"] |= resources
    return found


@pytest.mark.parametrize(
    ("resource", "amounts", "name", "fix"),
    [
        ("cpu", {"quota": 8, "limit": 16}, "limit", "write 16000 for 16 cores"),
        ("cpu", {"quota": 8, "limit": -1}, "quota", "write 8000 for 8 cores"),
        ("cpu", {"quota": 0.5, "limit": -1}, "quota", "write 500 for 0.5 cores"),
        ("memory", {"quota": 32, "limit": 64}, "limit", "write 64000 for 64 GB"),
        (
            *("memory", {"quota": 0, "limit": 34359738368}, "limit"),
            "write 34359.7 for 34359738368 bytes",
        ),
    ],
)
def test_an_amount_in_another_unit(
    resource: str, amounts: dict[str, float], name: str, fix: str
) -> None:
    finding = only(queue(**{resource: amounts}))
    assert (finding.code, finding.severity) == ("queue-unit", "warning")
    assert (finding.path, finding.fix) == (f"spec.resources.{resource}.{name}", fix)


@pytest.mark.parametrize(
    "amounts",
    [{"quota": 8000, "limit": 16000}, {"quota": 0, "limit": -1}, {"quota": 1000, "limit": 1000}],
)
@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_amounts_in_the_right_unit(resource: str, amounts: dict[str, float]) -> None:
    assert lint(queue(**{resource: amounts})) == []


def test_a_queue_without_gpus_may_be_small() -> None:
    assert lint(queue(0, cpu={"quota": 500, "limit": 500})) == []


def test_pods_that_are_not_preemptible_need_a_quota() -> None:
    gpu = [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]
    deployment = workload("Deployment", "apps/v1", containers=gpu)
    [_, empty] = unlimited("team-a")
    empty["spec"] |= {"parentQueue": "default-parent-queue"}
    empty["spec"]["resources"]["gpu"] = {"quota": 0, "limit": -1}
    finding = only(empty, deployment)
    assert (finding.code, finding.severity) == ("queue-without-quota", "warning")
    assert finding.object == "Deployment w"
    plan = kai.Scheduler().plan(_cluster(empty, deployment, NODE))
    assert plan.decisions == ()
    deployment["metadata"]["labels"]["kai.scheduler/preemptibility"] = "preemptible"
    assert lint([empty, deployment]) == []
    assert kai.Scheduler().plan(_cluster(empty, deployment, NODE)).decisions
    assert lint([empty, workload("Job", "batch/v1", containers=gpu)]) == []  # priority train
    assert lint([empty, workload("Deployment", "apps/v1")]) == []  # no GPU


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"capacity": {"cpu": 8, "memory": "8Gi", "nvidia.com/gpu": 8}},
}


def _cluster(*manifests: dict[str, Any]) -> kai.Cluster:
    return kai.load(json.dumps({"kind": "List", "items": manifests}).encode())


def test_the_queue_of_a_pod_group_is_checked() -> None:
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 1, "queue": "default-parent-queue"},
    }
    finding = only(group)
    assert (finding.code, finding.path) == ("queue-not-leaf", "spec.queue")


def test_a_quota_above_the_limit_of_an_ancestor() -> None:
    parent, child = queue(4), queue(8)
    parent["metadata"]["name"] = "department"
    child["spec"]["parentQueue"] = "department"
    finding = only(parent, child)
    assert (finding.code, finding.severity) == ("queue-quota-above-limit", "warning")
    assert finding.object == "Queue team-a"
    parent["spec"]["resources"]["gpu"]["limit"] = -1
    assert lint([parent, child]) == []


def test_a_queue_of_volcano_is_none_of_kai() -> None:
    other = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "other"},
        "spec": {"weight": 1, "capability": {"cpu": "4"}},
    }
    assert lint([other, pod()]) == []  # any name may be a queue


# ---- kinds and priorities ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "version", "fix"),
    [
        ("Job", "apps/v1", "write batch/v1"),
        ("Deployment", "extensions/v1beta1", "write apps/v1"),
        ("Queue", "kai.scheduler/v1", "write scheduling.run.ai/v2"),
        ("PodGroup", "scheduling.kai.io/v2alpha2", "write scheduling.run.ai/v2alpha2"),
        ("Jobb", "batch/v1", "did you mean Job?"),
    ],
)
def test_a_kind_in_another_group(kind: str, version: str, fix: str) -> None:
    manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": {}}
    finding = next(each for each in lint(manifest) if each.code == "kind-unknown")
    assert (finding.severity, finding.fix) == ("error", fix)


def test_kinds_of_other_projects_are_known() -> None:
    for kind, version in (
        ("Job", "batch.volcano.sh/v1alpha1"),
        ("Queue", "scheduling.volcano.sh/v1beta1"),
        ("Service", "serving.knative.dev/v1"),
        ("PodGroup", "scheduling.x-k8s.io/v1alpha1"),
        ("Kustomization", "kustomize.config.k8s.io/v1beta1"),
        ("ResourceClaimTemplate", "resource.k8s.io/v1"),
        ("VolumeAttachment", "storage.k8s.io/v1"),
        ("VolumeAttributesClass", "storage.k8s.io/v1"),
        ("DeviceTaintRule", "resource.k8s.io/v1alpha3"),
        ("Workload", "scheduling.k8s.io/v1alpha1"),
        ("PodGroup", "scheduling.k8s.io/v1alpha2"),
    ):
        manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}
        assert lint(manifest) == []
        assert kai.load(json.dumps(manifest).encode()).rejected == ()


def test_a_priority_class_that_does_not_exist() -> None:
    finding = only(pod(priorityClassName="inferense"))
    assert (finding.code, finding.fix) == ("priority-unknown", "did you mean 'inference'?")
    assert only(pod({"priorityClassName": "trian"})).path == "metadata.labels.priorityClassName"
    assert lint(pod(priorityClassName="gold")) == []  # the cluster may have it
    gold = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "gold"},
        "value": 70,
    }
    assert lint([gold, pod(priorityClassName="gold")]) == []
    assert only(gold, pod(priorityClassName="silver")).code == "priority-unknown"


# ---- claims --------------------------------------------------------------------------------------


def claim(labels: dict[str, str], device_class: str = "gpu.example.com") -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "shared", "labels": labels},
        "spec": {"devices": {"requests": [request]}},
    }


USING: dict[str, Any] = {"resourceClaims": [{"name": "g", "resourceClaimName": "shared"}]}


def test_a_shared_claim_needs_the_label_of_the_queue() -> None:
    for user in (pod(**USING), workload("Job", "batch/v1", **USING)):
        finding = only(claim({}), user)
        assert (finding.code, finding.severity) == ("claim-queue", "error")
        assert finding.path.endswith("spec.resourceClaims[0].resourceClaimName")
        assert finding.fix == "write the label kai.scheduler/queue: team-a on the ResourceClaim"
        assert lint([claim(QUEUE), user]) == []
    assert "of queue other" in only(claim({"kai.scheduler/queue": "other"}), user).message


def test_claims_that_need_no_label() -> None:
    assert lint([claim({}, "nic.example.com"), pod(**USING)]) == []
    assert lint([claim({}), pod(**USING, nodeName="n1")]) == []
