"""Numbers of pods and pod templates of workloads, which plans need to create the pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kai.admission.fields import found_at
from kai.admission.finding import Finding, Path, dotted, refusal
from kai.api import kinds
from kai.api.reading import at, mapping, text
from kai.api.rules import written

MOST_PODS = 100_000
_JOB = ("parallelism", "completions")
_ROLES = ("pytorch", "tf", "xgb", "paddle", "jax", "mpi")
_KUBEFLOW = {
    **{f"spec.{family}ReplicaSpecs.*": ("replicas",) for family in _ROLES},
    "spec.runPolicy.schedulingPolicy": ("minAvailable",),
}
_WORKERS = ("replicas", "minReplicas", "maxReplicas", "numOfHosts")
_NUMBERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Job": {"spec": _JOB},
    "CronJob": {"spec.jobTemplate.spec": _JOB},
    "JobSet": {"spec.replicatedJobs": ("replicas",), "spec.replicatedJobs.template.spec": _JOB},
    "Deployment": {"spec": ("replicas",)},
    "ReplicaSet": {"spec": ("replicas",)},
    "ReplicationController": {"spec": ("replicas",)},
    "StatefulSet": {"spec": ("replicas",), "spec.ordinals": ("start",)},
    "LeaderWorkerSet": {"spec": ("replicas",), "spec.leaderWorkerTemplate": ("size",)},
    **dict.fromkeys(
        ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"), _KUBEFLOW
    ),
    "RayCluster": {"spec.workerGroupSpecs": _WORKERS},
    "RayJob": {"spec.rayClusterSpec.workerGroupSpecs": _WORKERS},
    "RayService": {"spec.rayClusterConfig.workerGroupSpecs": _WORKERS},
}
"""The fields with numbers of pods, by kind and path; "*" is any name."""


def workload_refusals(workload: Mapping[str, Any]) -> Iterator[Finding]:
    """Why the API server would refuse a workload, or plans cannot create its pods."""
    kind = text(workload.get("kind"))
    row = kinds.row_of_manifest(workload)
    if row is None:
        return
    if (row.makes_pods or kind == "Pod") and not isinstance(workload.get("spec"), Mapping):
        message = "spec is missing" if workload.get("spec") is None else "spec is not a mapping"
        yield refusal("value-refused", ("spec",), message, f"write the spec of a {kind}")
        return
    wrong = list(_numbers(kind, workload, makes_pods=bool(row.makes_pods)))
    yield from wrong
    if row.makes_pods and not wrong:
        yield from _templates(kind, workload)


def _numbers(kind: str, workload: Mapping[str, Any], *, makes_pods: bool) -> Iterator[Finding]:
    for path, names in _NUMBERS.get(kind, {}).items():
        for where, fields in found_at(workload, path.split(".")):
            for name in names:
                if fields.get(name) is not None:
                    yield from _number(fields[name], (*where, name), makes_pods=makes_pods)
    size = at(workload, "spec", "leaderWorkerTemplate", "size")
    if kind == "LeaderWorkerSet" and size == 0 and not isinstance(size, bool):
        message = "size is 0, but a replica has at least a leader"
        yield refusal(
            "value-refused", ("spec", "leaderWorkerTemplate", "size"), message, "write at least 1"
        )


def _number(value: object, where: Path, *, makes_pods: bool) -> Iterator[Finding]:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        message = f"{where[-1]} is {written(value)}, not a number of pods"
        digits = isinstance(value, str) and value.strip().isdecimal()
        fix = f"write {str(value).strip()}, without quotes" if digits else "write a whole number"
        yield refusal("value-refused", where, message, fix)
    elif value > MOST_PODS and makes_pods:
        message = f"{where[-1]} is {value}, but kai creates at most {MOST_PODS} pods per workload"
        yield refusal("value-refused", where, message, "write a smaller number")


def _templates(kind: str, workload: Mapping[str, Any]) -> Iterator[Finding]:
    roles = ("spec", "pytorchReplicaSpecs")
    if kind == "PyTorchJob" and not isinstance(at(workload, *roles), Mapping):
        message = f"{dotted(roles)} is missing, so kai cannot create its pods"
        yield refusal(
            "value-refused", roles, message, "write Master and Worker, each with a template"
        )
    for where in _template_places(kind, workload):
        inner: Any = at(workload, *map(str, where))
        if not isinstance(mapping(inner).get("spec"), Mapping):
            here = (*where, "spec")
            message = f"{dotted(here)} is missing, so kai cannot create its pods"
            yield refusal("value-refused", here, message, "write the spec of a pod")
        elif isinstance(containers := inner["spec"].get("containers"), Mapping):
            message = f"containers is {written(containers)}: the API server requires a list"
            place = (*where, "spec", "containers")
            yield refusal("not-a-list", place, message, "write a list of containers")


def _template_places(kind: str, workload: Mapping[str, Any]) -> Iterator[Path]:
    spec = mapping(workload.get("spec"))
    if kind == "PyTorchJob":
        roles = mapping(spec.get("pytorchReplicaSpecs"))
        for role, fields in roles.items():
            if mapping(fields).get("replicas", 1) != 0:
                yield ("spec", "pytorchReplicaSpecs", role, "template")
    elif kind == "LeaderWorkerSet":
        templates = mapping(spec.get("leaderWorkerTemplate"))
        yield ("spec", "leaderWorkerTemplate", "workerTemplate")
        if templates.get("leaderTemplate") is not None:
            yield ("spec", "leaderWorkerTemplate", "leaderTemplate")
    elif spec.get("replicas", 1) != 0 and 0 not in (spec.get(each, 1) for each in _JOB):
        yield ("spec", "template")
