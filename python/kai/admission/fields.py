"""The known fields of objects: the API server silently drops other fields.

The fields of KAI's kinds are listed here, the fields of Kubernetes' kinds in
kubernetes_fields.txt. For kinds of other projects only some fields are known, so an unknown field
is reported only if it resembles a known one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kai.admission import keys_of, misspelt
from kai.admission.finding import Finding, Path, warning
from kai.admission.pods import Pod
from kai.admission.schema import is_kubernetes, kind_of_written, kubernetes
from kai.api.nearest import did_you_mean
from kai.api.reading import mapping

Fields = Mapping[str, Any]
"""Names of fields with their own fields; None: the value is not checked."""

_SHARE: Fields = {"quota": None, "overQuotaWeight": None, "limit": None}
_TOPOLOGY: Fields = {
    "topology": None, "requiredTopologyLevel": None, "preferredTopologyLevel": None,
}  # fmt: skip
SPECS: Mapping[str, Fields] = {
    "Queue": {
        "displayName": None,
        "parentQueue": None,
        "priority": None,
        "preemptMinRuntime": None,
        "reclaimMinRuntime": None,
        "resources": {"gpu": _SHARE, "cpu": _SHARE, "memory": _SHARE},
    },
    "PodGroup": {
        "minMember": None,
        "minSubGroup": None,
        "queue": None,
        "priorityClassName": None,
        "preemptibility": None,
        "topologyConstraint": _TOPOLOGY,
        "subGroups": {
            "name": None,
            "parent": None,
            "minMember": None,
            "minSubGroup": None,
            "topologyConstraint": _TOPOLOGY,
        },
        "markUnschedulable": None,
        "schedulingBackoff": None,
        "preemptionDelay": None,
        "stalenessGracePeriod": None,
    },
    "BindRequest": {
        "podName": None,
        "selectedNode": None,
        "receivedResourceType": None,
        "receivedGPU": {"count": None, "portion": None},
        "selectedGPUGroups": None,
        "resourceClaimAllocations": {"name": None, "allocation": None},
        "extendedResourceClaimAllocation": None,
        "predictedNUMAZones": {"zone": None, "amount": None},
        "backoffLimit": None,
    },
    "Topology": {"levels": {"nodeLabel": None, "alias": None}},
}
"""The fields of `spec`, by kind; the items of a list are checked like a single value."""


def _names(*names: str, **more: Fields) -> Fields:
    return {**dict.fromkeys(names), **more}


_ANY = "*"  # names that the user chooses
_REPLICAS = {_ANY: _names("replicas", "restartPolicy", "template")}
_RUN_POLICY = _names(
    *("cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"),
    *("suspend", "managedBy"),
    schedulingPolicy=_names(
        *("minAvailable", "queue", "minResources", "priorityClass", "scheduleTimeoutSeconds")
    ),
)
_RAY = _names(
    *("rayVersion", "enableInTreeAutoscaling", "autoscalerOptions", "suspend", "managedBy"),
    *("headServiceAnnotations", "gcsFaultToleranceOptions"),
    headGroupSpec=_names(
        *("serviceType", "rayStartParams", "template", "enableIngress", "headService")
    ),
    workerGroupSpecs=_names(
        *("groupName", "replicas", "minReplicas", "maxReplicas", "numOfHosts", "suspend"),
        *("idleTimeoutSeconds", "rayStartParams", "template", "scaleStrategy"),
    ),
)
_OF_OTHERS: Mapping[str, Fields] = {
    "JobSet": _names(
        *("network", "successPolicy", "failurePolicy", "startupPolicy", "suspend", "coordinator"),
        *("managedBy", "ttlSecondsAfterFinished"),
        replicatedJobs=_names("name", "groupName", "replicas", "dependsOn", "template"),
    ),
    "LeaderWorkerSet": _names(
        *("replicas", "rolloutStrategy", "startupPolicy", "networkConfig"),
        leaderWorkerTemplate=_names(
            *("leaderTemplate", "workerTemplate", "size", "restartPolicy"),
            subGroupPolicy=_names("subGroupSize", "subGroupPolicyType"),
        ),
    ),
    **{
        kind: _names("runPolicy", "elasticPolicy", "nprocPerNode", **{
            f"{family}ReplicaSpecs": _REPLICAS, "runPolicy": _RUN_POLICY,
        })
        for kind, family in (
            ("PyTorchJob", "pytorch"), ("TFJob", "tf"), ("XGBoostJob", "xgb"),
            ("PaddleJob", "paddle"), ("JAXJob", "jax"), ("MPIJob", "mpi"),
        )
    },
    "RayCluster": _RAY,
    "RayJob": _names(
        *("entrypoint", "runtimeEnvYAML", "jobId", "shutdownAfterJobFinishes", "metadata"),
        *("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit", "submissionMode"),
        *("clusterSelector", "suspend", "submitterPodTemplate", "submitterConfig"),
        rayClusterSpec=_RAY,
    ),
    "RayService": _names("serveConfigV2", "serveService", "upgradeStrategy", rayClusterConfig=_RAY),
}  # fmt: skip
"""Of `spec` of other projects' kinds: those with numbers of pods, and most others."""


_IN_PLACE = "write labels and annotations here, without metadata"
_NO_TEMPLATE: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "InferenceService": {
        f"spec.{part}": {
            "metadata": _IN_PLACE,
            "spec": "write its fields here: a component has the fields of a pod's spec",
            "template": "write labels, annotations and the fields of a pod's spec here",
            "resources": "write them in model or in a container",
        }
        for part in ("predictor", "transformer", "explainer")
    },
    **{
        kind: {
            f"{path}.{part}": {
                "metadata": _IN_PLACE,
                "resources": "write cores, memory and gpu: {name: nvidia.com/gpu, quantity: 1}",
                "spec": "write its fields here",
            }
            for part in ("driver", "executor")
        }
        for kind, path in (
            ("SparkApplication", "spec"),
            ("ScheduledSparkApplication", "spec.template"),
        )
    },
    "PodCliqueSet": {"spec.template.cliques": {"metadata": _IN_PLACE}},
    "DynamoGraphDeployment": {
        f"spec.services.{_ANY}": {
            "metadata": "write extraPodMetadata",
            "template": "write extraPodMetadata and extraPodSpec",
        }
    },
}
"""Fields of pod templates that are missing where a kind describes its pods otherwise, by path."""


def check(kind: str, spec: object) -> Iterator[Finding]:
    """Fields of `spec` that the kind does not have; of kinds that are not KAI's none."""
    if kind in SPECS:
        yield from _check(kind, spec, SPECS[kind], ("spec",))


def of_manifest(manifest: Mapping[str, Any], pods: Iterable[Pod]) -> Iterator[Finding]:
    """Warns about unknown fields of an object and its pods.

    Objects that come from an API server are not checked: newer servers know more fields.
    """
    if (written_as := kind_of_written(manifest)) is None:
        return
    kind, group = written_as
    if is_kubernetes(kind, group):
        yield from _typed(kind, manifest, kind, ())
        return
    if kind in SPECS:
        members = dict.fromkeys(("apiVersion", "kind", "metadata", "spec", "status"))
        yield from _check(kind, manifest, members, ())
        yield from check(kind, manifest.get("spec"))
    elif kind in _OF_OTHERS:
        yield from _nearly(kind, manifest.get("spec"), _OF_OTHERS[kind], ("spec",))
    elif kind in _NO_TEMPLATE:
        for path, wrong in _NO_TEMPLATE[kind].items():
            for where, fields in found_at(manifest, path.split(".")):
                for name in (each for each in wrong if each in fields):
                    message = f"{kind} has no field {name} here: the API server drops it"
                    yield warning("field-unknown", (*where, name), message, wrong[name])
    elif not group:
        return
    yield from _typed(kind, mapping(manifest.get("metadata")), "ObjectMeta", ("metadata",))
    for pod in pods:
        if pod.spec:
            yield from _typed("Pod", pod.spec, "PodSpec", pod.spec_at)
            yield from _typed("Pod", pod.metadata, "ObjectMeta", pod.metadata_at)


def of_pod_spec(spec: object, where: Path = ("spec",)) -> Iterator[Finding]:
    """Warns about unknown fields of a pod's spec."""
    yield from _typed("Pod", spec, "PodSpec", where)


def _typed(kind: str, value: object, name: str, where: Path) -> Iterator[Finding]:
    known = kubernetes()[name]
    for index, each in enumerate(value) if isinstance(value, list) else ((None, value),):
        if not isinstance(each, Mapping):
            continue
        here = where if index is None else (*where, index)
        for field, inner in each.items():
            if field not in known:
                yield _unknown(kind, field, known, here)
            elif below := known[field].type:
                yield from _members(kind, inner, known[field].many, below, (*here, field))


def _members(kind: str, value: object, many: str, name: str, where: Path) -> Iterator[Finding]:
    """The same for a field: one object, a list of them, or objects by name."""
    if many != "{}":
        yield from _typed(kind, value, name, where)
        return
    for key, each in mapping(value).items():
        yield from _typed(kind, each, name, (*where, key))


def _nearly(kind: str, value: object, known: Fields, where: Path) -> Iterator[Finding]:
    for index, each in enumerate(value) if isinstance(value, list) else ((None, value),):
        here = where if index is None else (*where, index)
        for field, inner in mapping(each).items():
            if field in known or _ANY in known:
                if below := known.get(field, known.get(_ANY)):
                    yield from _nearly(kind, inner, below, (*here, field))
            elif difflib.get_close_matches(str(field), set(known) - set(mapping(each)), 1, 0.8):
                yield _unknown(kind, field, known, here)


def found_at(
    value: object, path: Sequence[str], where: Path = ()
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The mappings at a path; the items of a list are each at the path of the list."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from found_at(each, path, (*where, index))
    elif isinstance(value, Mapping) and not path:
        yield where, value
    elif isinstance(value, Mapping):
        for key in value if path[0] == _ANY else path[:1]:
            yield from found_at(value.get(key), path[1:], (*where, key))


_SHORT = 12  # a sentence lists at most this many names


def _unknown(kind: str, field: object, known: Iterable[str], where: Path) -> Finding:
    message = f"a {kind} has no field {field}: the API server drops it"
    names = list(known)
    listed = f"write {', '.join(names)}" if len(names) <= _SHORT else "remove it"
    fix = did_you_mean(field, names).removeprefix("; ") or listed
    if field in ("labels", "annotations") and where[-1:] != ("metadata",):
        fix = f"write {field} in metadata, of the object or of its pod template"
    elif part := _part_of(str(field)):
        fix = f"write it in {part}, in metadata of the pod template or of the object"
    return warning("field-unknown", (*where, str(field)), message, fix)


def _part_of(field: str) -> str:
    """The part of metadata in which a key of KAI belongs; "" for other fields."""
    key = field if field in keys_of.KNOWN else misspelt.meant(field)
    if key not in misspelt.OF_GPUS and "/" not in field:
        return ""  # such as priorityClassName, which is also a field
    return "labels" if key in keys_of.LABELS else "annotations"


def _check(kind: str, value: object, known: Fields, where: Path) -> Iterator[Finding]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _check(kind, each, known, (*where, index))
    if not isinstance(value, Mapping):
        return
    for name, each in value.items():
        if name not in known:
            yield _unknown(kind, name, known, where)
        elif known[name] is not None:
            yield from _check(kind, each, known[name], (*where, name))
