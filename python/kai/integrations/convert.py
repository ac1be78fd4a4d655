"""From other schedulers' settings to KAI's: jobs of Volcano, and queues of Kueue.

    built = convert.volcano(job)      # a batch.volcano.sh Job -> a JobSet
    built = convert.kueue(workload)   # the queue label of Kueue -> that of KAI

Settings without a counterpart in KAI are in `unsupported`. The queue keeps its name unless `queues`
has another one for it. `kai queues`, or manifests of kind Queue, create KAI's queues.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from kai.api import keys, rules
from kai.api.fields import check_fields
from kai.api.resources import new_object
from kai.integrations import kubernetes, workloads
from kai.integrations.workloads import with_warnings
from kai.settings import Built, PodRequest, Unsupported, filled

KUEUE_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
KUEUE_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
KUEUE_PREFIX = "kueue.x-k8s.io/"
_VOLCANO_FIELDS = (
    "schedulerName", "minAvailable", "queue", "priorityClassName", "tasks", "maxRetry",
    "ttlSecondsAfterFinished", "minSuccess", "volumes", "plugins", "policies", "runningEstimate",
    "networkTopology",
)  # fmt: skip
_VOLCANO_ANNOTATIONS = ("scheduling.volcano.sh/", "volcano.sh/")


def volcano(
    job: Mapping[str, Any],
    *,
    queues: Mapping[str, str] | None = None,
    scheduler_name: str = keys.SCHEDULER_NAME,
    strict: bool = False,
) -> Built:
    """A JobSet of a Volcano Job: a replicated job for each task.

    Volcano's default queue is called ``default``; queues: its queues -> KAI's.

    Raises InvalidRequestError for another kind of Job, for malformed fields, for a Job without
    tasks, for invalid numbers of pods, and with `strict` for what has no counterpart.
    """
    check_fields("the Job", job)
    if not str(job.get("apiVersion", "")).startswith("batch.volcano.sh/"):
        raise rules.refuse(
            f"apiVersion is {job.get('apiVersion')!r}: write a Job of batch.volcano.sh/v1alpha1"
        )
    spec: Mapping[str, Any] = job.get("spec") or {}
    tasks = spec.get("tasks") or []
    if not tasks:
        raise rules.refuse("the Job has no tasks: write spec.tasks")
    unsupported: list[Unsupported] = []
    warnings: list[str] = []
    request = PodRequest(
        queue=_renamed(str(spec.get("queue") or "default"), queues),
        priority=spec.get("priorityClassName") or None,
        scheduler_name=scheduler_name,
    )
    replicated = [_replicated(at, task) for at, task in enumerate(tasks)]
    total = sum(each["template"]["spec"]["parallelism"] for each in replicated)
    wanted = total if spec.get("minAvailable") is None else spec["minAvailable"]
    minimums = _minimums(tasks, replicated, wanted, total, unsupported)
    for each in replicated:
        least = minimums.get(each["name"])
        if least is not None and least < each["template"]["spec"]["parallelism"]:
            annotations = {keys.BATCH_MIN_MEMBER_ANNOTATION: str(least)}
            each["template"]["metadata"] = {"annotations": annotations}
    if spec.get("maxRetry") is not None:
        failures = {"failurePolicy": {"maxRestarts": int(spec["maxRetry"])}}
    else:
        failures = {}
    ttl = spec.get("ttlSecondsAfterFinished")
    for name in ("volumes", "plugins", "policies", "minSuccess", "networkTopology"):
        if spec.get(name):
            unsupported.append(Unsupported(f"spec.{name}", *_INSTEAD[name]))
    for name in spec:
        if name not in _VOLCANO_FIELDS:
            warnings.append(f"spec.{name} was removed: it is unknown")
    made = {"replicatedJobs": replicated, **failures, **filled({"ttlSecondsAfterFinished": ttl})}
    manifest = new_object("JobSet", _metadata(job, _VOLCANO_ANNOTATIONS), spec=made)
    built = workloads.patch(manifest, request, orchestrator="jobset")
    return with_warnings(built, *warnings, unsupported=unsupported).strict_if(strict)


_INSTEAD = {
    "volumes": ("a JobSet has no volumes of its own", "write them in the templates of the pods"),
    "plugins": (
        "Volcano's plugins for ssh and names have no counterpart",
        "use the names that a JobSet gives its pods (spec.network)",
    ),
    "policies": (
        "Volcano's policies have no counterpart",
        "write spec.failurePolicy and spec.successPolicy of the JobSet",
    ),
    "minSuccess": ("a JobSet counts jobs, not pods", "write spec.successPolicy of the JobSet"),
    "networkTopology": (
        "Volcano's tiers are not KAI's levels",
        "write topology= and required_level= in a request, and use kubernetes.patch()",
    ),
}


def _replicated(at: int, task: Mapping[str, Any]) -> dict[str, Any]:
    name = str(task.get("name") or f"task-{at}")
    count = task.get("replicas", 1)
    rules.count(f"replicas of task {name}", count)
    template = copy.deepcopy(dict(task.get("template") or {}))
    if not (template.get("spec") or {}).get("containers"):
        raise rules.refuse(f"task {name} has no containers: write template.spec.containers")
    template["spec"].setdefault("restartPolicy", "OnFailure")
    return {
        "name": rules.dns_label("task", name),
        "replicas": 1,
        "template": {
            "spec": {
                "parallelism": count,
                "completions": count,
                "completionMode": "Indexed",
                **filled({"backoffLimit": task.get("maxRetry")}),
                "template": template,
            }
        },
    }


def _minimums(
    tasks: Any,
    replicated: list[dict[str, Any]],
    wanted: Any,
    total: int,
    unsupported: list[Unsupported],
) -> dict[str, int]:
    """Of each task, the pods that must start together."""
    rules.count("minAvailable", wanted, least=0)
    if wanted > total:
        raise rules.refuse(f"minAvailable is {wanted} of {total} pods: write at most that many")
    own = {
        each["name"]: rules.count(f"minAvailable of {each['name']}", task["minAvailable"], least=0)
        for each, task in zip(replicated, tasks, strict=True)
        if task.get("minAvailable") is not None
    }
    for each in replicated:
        name, pods = each["name"], each["template"]["spec"]["parallelism"]
        if own.get(name, 0) > pods:
            raise rules.refuse(f"minAvailable of {name} is {own[name]} of {pods} pods: write less")
    if own or wanted == total:
        if any(least == 0 for least in own.values()):
            reason = "KAI waits for one pod of each job of a JobSet"
            workaround = "write min_jobs in jobset.build(), or a separate JobSet for the task"
            unsupported.append(Unsupported("minAvailable", reason, workaround))
        return {name: max(1, least) for name, least in own.items()}
    if len(replicated) == 1:
        return {replicated[0]["name"]: max(1, wanted)}
    reason = f"KAI counts the pods of each task, not {wanted} of all {total}"
    workaround = "write minAvailable at each task; all pods start together now"
    unsupported.append(Unsupported("minAvailable", reason, workaround))
    return {}


def kueue(
    workload: Mapping[str, Any],
    *,
    queues: Mapping[str, str] | None = None,
    scheduler_name: str = keys.SCHEDULER_NAME,
    strict: bool = False,
) -> Built:
    """A workload that Kueue queued, for KAI: its queue, on the same object and its pods.

    Kueue's labels and annotations are removed, so that Kueue no longer queues the workload, and so
    is `spec.suspend`, with which Kueue suspends a workload. queues: local queues of Kueue -> KAI's.

    Raises InvalidRequestError for a kind that is not in the table, for malformed fields, for a
    workload without a queue of Kueue, and with `strict` for what has no counterpart.
    """
    manifest = copy.deepcopy(dict(check_fields("the workload", workload)))
    name = str(manifest.get("kind"))
    workloads.kind_of(name)  # refuses what is not known
    labels = (manifest.get("metadata") or {}).get("labels") or {}
    queue = labels.get(KUEUE_QUEUE_LABEL)
    if not isinstance(queue, str):
        raise rules.refuse(
            f"the {name} has no label {KUEUE_QUEUE_LABEL}: use kubernetes.patch() with a request"
        )
    priority = labels.get(KUEUE_PRIORITY_LABEL)
    warnings = []
    if priority is not None:
        warnings.append(
            f"Kueue's priority class {priority} is a WorkloadPriorityClass: KAI reads a"
            " PriorityClass, so write priority= in a request, and patch it"
        )
    unsupported = _take_kueue_away(manifest)
    spec = manifest.get("spec") or {}
    if spec.get("suspend"):
        del spec["suspend"]
    if isinstance(run := spec.get("runPolicy"), dict) and run.get("suspend"):
        del run["suspend"]
    request = PodRequest(queue=_renamed(queue, queues), scheduler_name=scheduler_name)
    built = kubernetes.patch(manifest, request)
    return with_warnings(built, *warnings, unsupported=unsupported).strict_if(strict)


def _take_kueue_away(value: Any) -> list[Unsupported]:
    """From all metadata of a manifest."""
    found: list[Unsupported] = []
    if isinstance(value, list):
        for each in value:
            found += _take_kueue_away(each)
    if not isinstance(value, dict):
        return found
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        for fields in ("labels", "annotations"):
            kept = metadata.get(fields) or {}
            for key in [key for key in kept if key.startswith(KUEUE_PREFIX)]:
                removed = kept.pop(key)
                if key not in (KUEUE_QUEUE_LABEL, KUEUE_PRIORITY_LABEL):
                    reason = f"KAI has no counterpart for the value {removed!r}"
                    workaround = "write it in a request, such as topology= for a topology"
                    found.append(Unsupported(key, reason, workaround))
            if not kept and fields in metadata:
                del metadata[fields]
    for each in value.values():
        found += _take_kueue_away(each)
    return found


def _renamed(queue: str, queues: Mapping[str, str] | None) -> str:
    return (queues or {}).get(queue, queue)


def _metadata(job: Mapping[str, Any], gone: tuple[str, ...]) -> dict[str, Any]:
    metadata = job.get("metadata") or {}
    kept: dict[str, Any] = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    for fields in ("labels", "annotations"):
        values = metadata.get(fields) or {}
        kept[fields] = {key: value for key, value in values.items() if not key.startswith(gone)}
    return filled(kept)
