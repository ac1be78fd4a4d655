"""Checks of the places where KAI reads its keys (spec 7 C13): queue, scheduler, topology, gangs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kai.admission import gpus, keys_of, misspelt
from kai.admission.finding import Edit, Finding, Path, error, warning
from kai.admission.pods import Pod
from kai.admission.queue_tree import WITHOUT_QUEUE
from kai.api import keys, kinds, rules
from kai.api.nearest import is_typo
from kai.api.reading import annotations_of, at, labels_of, mapping, text

_WHOLE = re.compile(r"[1-9][0-9]{0,8}")
_OLD_MIN_MEMBER = "kai.scheduler/min-member"

POD_ONLY = misspelt.OF_GPUS
_DURATIONS = (keys.PREEMPTION_DELAY_ANNOTATION, keys.STALENESS_ANNOTATION)


def concerns_kai(manifest: Mapping[str, Any], pods: list[Pod], scheduler: str) -> bool:
    """Whether the manifest is for KAI: it has a key, a queue or the scheduler name of KAI."""
    if any(key in labels_of(manifest) for key in keys_of.QUEUES):
        return True
    if any(key in annotations_of(manifest) for key in (*keys_of.ANNOTATIONS, *keys_of.QUEUES)):
        return True
    if _has_misspelt(manifest) and not all(is_others(pod, scheduler) for pod in pods):
        return True
    return any(
        pod.scheduler == scheduler
        or is_misspelt(pod.scheduler, scheduler)
        or wants_kai(pod, scheduler)
        or any(key in pod.labels or key in pod.annotations for key in keys_of.QUEUES)
        for pod in pods
    )


def wants_kai(pod: Pod, scheduler: str) -> bool:
    """Whether the pod has a queue or a part of a GPU, under KAI's keys or misspelt ones."""
    if gpus.shares(pod) or queue_of(pod.labels) is not None:
        return True
    return not is_others(pod, scheduler) and _has_misspelt({"metadata": pod.metadata})


def is_others(pod: Pod, scheduler: str) -> bool:
    """Whether the pod names a scheduler with keys of its own, which may resemble KAI's."""
    return pod.scheduler not in (None, "", scheduler, _DEFAULT) and not is_misspelt(
        pod.scheduler, scheduler
    )


_DEFAULT = "default-scheduler"  # the API server writes it into pods that name none


def _has_misspelt(manifest: Mapping[str, Any]) -> bool:
    return any(
        keys_of.is_for_kai(str(key)) for key in (*labels_of(manifest), *annotations_of(manifest))
    )


# ---- keys ----------------------------------------------------------------------------------------


def check_keys(
    metadata: Mapping[str, Any],
    where: Path,
    *,
    kind: str,
    is_pod: bool,
    is_owner: bool,
    has_gpu: bool,
    template: str = "",
    label_key: str = keys.QUEUE_LABEL,
) -> Iterator[Finding]:
    """Checks the keys of KAI on one object: a pod, its owner, or both (a bare pod).

    template: the path of the annotations of an owner's pods. has_gpu: its pods request GPUs.
    """
    annotations = mapping(metadata.get("annotations"))
    labels = mapping(metadata.get("labels"))
    known = kinds.known(kind)
    for key, value in annotations.items():
        here: Path = (*where, "annotations", key)
        ignored = _why_ignored(key, kind, is_pod=is_pod, is_owner=is_owner, template=template)
        if key in keys_of.QUEUES:
            message = keys_of.misplaced(key, "annotations")
            yield error("queue-annotation", here, message, "move it to labels")
        elif ignored is not None:
            yield warning("annotation-ignored", here, *ignored)
        else:
            yield from _check_annotation(
                key, value, here, is_owner and known.gang in ("owner", "leaf")
            )
    for key in labels:
        if message := keys_of.misplaced(key, "labels"):
            here = (*where, "labels", key)
            only_pods = key in POD_ONLY and not (is_pod or known.copies_metadata)
            fix = f"move it to {(template if only_pods else '') or 'annotations'}"
            yield error("annotation-as-label", here, message, fix)
    owner: keys_of.Owner = "pod" if is_pod or known.copies_metadata else "workload"
    for found in keys_of.check(metadata, where, owner, has_gpu=has_gpu, template=template):
        if found.at[-1] not in (label_key, _OLD_MIN_MEMBER):
            yield found
    if is_owner or known.ray:
        yield from _topology(annotations, (*where, "annotations"))


def _why_ignored(
    key: str, kind: str, *, is_pod: bool, is_owner: bool, template: str
) -> tuple[str, str] | None:
    """Why KAI ignores an annotation in this place, and the fix; None: KAI may read it."""
    known = kinds.known(kind)
    if message := keys_of.misplaced(key, "annotations"):
        return message, "move it to labels"
    of_pods = (*POD_ONLY, keys.MOVABLE_ANNOTATION, keys.GUARD_ANNOTATION)
    if key in of_pods and not (is_pod or known.copies_metadata):
        return (
            f"KAI reads {key} from pods and ignores it on a {kind}",
            f"move it to {template}" if template else "move it to the annotations of its pods",
        )
    is_ray_part = key in keys.TOPOLOGY and bool(known.ray)
    if key in (*keys.TOPOLOGY, keys.BATCH_MIN_MEMBER_ANNOTATION) and not (is_owner or is_ray_part):
        owner = kind or "workload"
        return (
            f"KAI reads {key} from the workload and ignores it on the pods of a {owner}",
            f"move it to metadata.annotations of the {owner}",
        )
    if key == keys.BATCH_MIN_MEMBER_ANNOTATION and known.gang not in ("owner", "leaf"):
        message = f"KAI reads {key} from a Job or JobSet and ignores it on a {kind}"
        return message, "remove it"
    if key in keys.SEGMENTS and not (is_pod and known.segments):
        return (
            f"KAI reads {key} only from the worker pods of a PyTorchJob or LeaderWorkerSet",
            "remove it, or move it there",
        )
    if key.startswith(keys.GPU_TYPE_ANNOTATION):
        return f"KAI ignores {key}", "select nodes by their labels, in nodeSelector"
    return None


def _check_annotation(key: str, value: Any, here: Path, may_rename: bool) -> Iterator[Finding]:
    if key == keys.BATCH_MIN_MEMBER_ANNOTATION:
        if not _WHOLE.fullmatch(str(value)):
            yield error(
                "min-member-refused",
                here,
                f"{value!r} is not a number of pods",
                "write a whole number of at least 1, in quotes",
            )
    elif key == _OLD_MIN_MEMBER:
        yield warning(
            "min-member-key",
            here,
            f"KAI does not read {key}, although its examples have it",
            f"write {keys.BATCH_MIN_MEMBER_ANNOTATION}, on a Job or JobSet",
            Edit("rename", here, keys.BATCH_MIN_MEMBER_ANNOTATION) if may_rename else None,
        )
    elif key in _DURATIONS and not rules.is_duration(str(value)):
        message = f'duration "{value}" is not valid'
        yield error("duration-refused", here, message, "write a duration with a unit, such as 5m")


def _topology(annotations: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    topology, required, preferred = keys.TOPOLOGY
    levels = [key for key in (required, preferred) if key in annotations]
    if levels and topology not in annotations:
        yield error(
            "topology-incomplete",
            (*where, levels[0]),
            "a topology level is set without a topology",
            f"add {topology} with the name of the Topology",
        )
    if topology in annotations and not levels:
        yield warning(
            "topology-incomplete",
            (*where, topology),
            "a topology without a level has no effect",
            f"add {required} or {preferred}",
        )


# ---- scheduler and queue -------------------------------------------------------------------------


def check_scheduler(pod: Pod, kind: str, scheduler: str, *, is_for_kai: bool) -> Iterator[Finding]:
    """Checks schedulerName. is_for_kai: the pod or its owner is meant for KAI."""
    if pod.scheduler is None or pod.scheduler == scheduler:
        return
    if is_misspelt(pod.scheduler, scheduler):
        yield error(
            "scheduler-other",
            pod.scheduler_at,
            f"no scheduler is called {pod.scheduler}: the pods wait, and nothing places them",
            f"did you mean {scheduler}?",
        )
        return
    if not is_for_kai:
        return
    by_operator = kinds.known(kind).scheduled_by_operator
    make = warning if by_operator and not pod.scheduler else error
    if not pod.scheduler:
        message = (
            f"schedulerName is not {scheduler}: another scheduler places these pods, and their"
        )
        message += " settings for KAI have no effect"
        if make is warning:
            message += ", unless the operator or its settings set schedulerName"
        yield make("scheduler-missing", pod.scheduler_at, message, f"write {scheduler}")
    elif gpus.shares(pod):
        fix = f"write {scheduler}"
        if pod.scheduler_at[-1] == "batchScheduler":
            fix = f"remove it, and write schedulerName: {scheduler} in driver and executor"
        yield error(
            "scheduler-other",
            pod.scheduler_at,
            f"{pod.scheduler} does not support parts of GPUs, and places the pod without a GPU",
            fix,
        )


_OTHER_SCHEDULERS = ("hami-scheduler", "runai-scheduler")  # the names that resemble KAI's


def is_misspelt(name: str | None, scheduler: str) -> bool:
    """Whether a schedulerName is a misspelt form of KAI's, and not that of another scheduler.

    >>> [is_misspelt(each, "kai-scheduler") for each in ("kai-sheduler", "KAI", "hami-scheduler")]
    [True, True, False]
    """
    if not name or name in (*_OTHER_SCHEDULERS, scheduler):
        return False
    plain, wanted = misspelt.squeezed(name), misspelt.squeezed(scheduler)
    short = wanted.removesuffix("scheduler")
    return plain in (wanted, short or wanted) or is_typo(plain, wanted, min(2, len(wanted) // 5))


def queue_of(labels: Mapping[str, Any]) -> str | None:
    """The queue that these labels name, by the current or the old key."""
    for key in keys_of.QUEUES:
        if isinstance(name := labels.get(key), str) and name:
            return name
    return None


_IF_UNKNOWN = (f"{WITHOUT_QUEUE}, and wait if it does not exist", False)


def check_queue(
    owner: Mapping[str, Any],
    pod: Pod,
    label_key: str,
    *,
    own_at: Path,
    otherwise: tuple[str, bool] = _IF_UNKNOWN,
) -> Iterator[Finding]:
    """Checks that pods of KAI's scheduler name a queue, under the key that KAI reads. `otherwise`:
    what becomes of pods without a queue, and whether that is certain."""
    owners, own = labels_of(owner), pod.labels
    where: Path = (*pod.metadata_at, "labels")
    if label_key in owners or label_key in own:
        first, second = owners.get(label_key), own.get(label_key)
        if first and second and first != second:
            yield warning(
                "queue-overruled",
                (*where, label_key),
                f"KAI uses the queue of the workload, {first}, and ignores the queue of its pods",
                "write the same queue in both, or remove one",
            )
        named_at = own_at if label_key in owners else where[:-1]
        if (first if label_key in owners else second) == "":
            yield warning(
                "queue-missing",
                (*named_at, "labels", label_key),
                "the name of the queue is empty: with KAI the pods wait, and kai run counts the"
                " label as missing",
                "write the name of a queue",
            )
        return
    if keys.PROJECT_LABEL in owners or keys.PROJECT_LABEL in own:
        return  # KAI derives the queue's name from it
    other = next((key for key in keys_of.QUEUES if key in owners or key in own), None)
    if other is not None:
        at_owner = other in owners
        yield warning(
            "queue-legacy",
            (*(own_at if at_owner else where[:-1]), "labels", other),
            f"KAI reads {label_key}; it reads {other} only if podgrouper.queueLabelKey names it",
            f"write {label_key}",
        )
        return
    named = [*owners, *own, *annotations_of(owner), *pod.annotations]
    if any(key in keys_of.QUEUES or misspelt.meant(str(key)) == keys.QUEUE_LABEL for key in named):
        return  # another finding names it
    like = next((key for key in named if "queue" in misspelt.squeezed(str(key))), None)
    message, is_certain = otherwise
    make = error if is_certain else warning
    yield make(
        "queue-missing",
        where,
        message,
        f"add the label {label_key}" + (f"; KAI does not read {like}" if like else ""),
    )


# ---- kinds with special rules -------------------------------------------------------------------


def check_kind(manifest: Mapping[str, Any], kind: str) -> Iterator[Finding]:
    if kind == "RayJob" and (mode := at(manifest, "spec", "submissionMode")) in (
        None,
        "K8sJobMode",
    ):
        mode_text = "K8sJobMode" if mode else "K8sJobMode, the default"
        yield warning(
            "ray-submission-mode",
            ("spec", "submissionMode") if mode else ("spec",),
            f"KubeRay 1.6 and later refuses {mode_text} if it is configured for KAI: the submitter "
            "pod starts after the cluster and breaks the gang",
            "write submissionMode: HTTPMode",
        )
    if cluster := kinds.known(kind).ray:
        yield from _ray_groups(manifest, tuple(cluster.split(".")))
    policy = mapping(at(manifest, "spec", "runPolicy", "schedulingPolicy"))
    for name, instead in (
        ("queue", f"the label {keys.QUEUE_LABEL}"),
        ("priorityClass", f"the label {keys.PRIORITY_CLASS_LABEL}"),
    ):
        if name in policy:
            yield warning(
                "scheduling-policy-ignored",
                ("spec", "runPolicy", "schedulingPolicy", name),
                f"KAI ignores {name} of the scheduling policy",
                f"use {instead}",
            )


def _ray_groups(manifest: Mapping[str, Any], where: tuple[str, ...]) -> Iterator[Finding]:
    groups = at(manifest, *where, "workerGroupSpecs")
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        annotations = annotations_of(at(group, "template"))
        if not any(key in annotations for key in POD_ONLY[:2]):
            continue
        gpus = at(group, "rayStartParams", "num-gpus") or at(group, "resources", "GPU")
        here: Path = (*where, "workerGroupSpecs", index)
        if gpus is None:
            yield warning(
                "ray-num-gpus",
                here,
                "Ray counts GPUs by the limit nvidia.com/gpu, which a pod with a part of a GPU does"
                " not have, so Ray runs no GPU tasks in this group",
                'write rayStartParams: {num-gpus: "1"}, the number of devices',
            )
        elif not _WHOLE.fullmatch(str(gpus)):
            yield error(
                "ray-num-gpus",
                here,
                f"Ray's autoscaler accepts only whole numbers of GPUs, not {gpus}",
                'write num-gpus: "1", the number of devices',
            )


def name_of(manifest: Mapping[str, Any]) -> str:
    kind = text(manifest.get("kind"))
    metadata = mapping(manifest.get("metadata"))
    name = text(metadata.get("name")) or text(metadata.get("generateName"))
    space = text(metadata.get("namespace"))
    return " ".join(each for each in (kind, f"{space}/{name}" if space else name) if each)
