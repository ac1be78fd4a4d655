"""Plain Kubernetes: pods, and workloads with a pod template (spec 7 J1-J4).

    from kai.integrations import kubernetes
    request = kai.PodRequest(queue="team-a", gpu_fraction=0.5)
    kubernetes.job(request, name="train", image="pytorch/pytorch", command=["python", "train.py"])
    kubernetes.patch(manifest, request)   # of any kind that has pods

`build` returns only the pod template. KAI reads the topology and the size of a gang from the object
that owns the pods, so the functions for whole workloads write them there (spec 7 C13).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypedDict

from kai.api import kinds, rules
from kai.api.arguments import in_a_sentence
from kai.integrations import workloads
from kai.integrations.placement import Placement
from kai.settings import Built, PodRequest, Unsupported, filled, native_or, pod_part
from kai.settings.native import to_native

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "Options",
    "build",
    "cron_job",
    "daemon_set",
    "deployment",
    "job",
    "patch",
    "pod",
    "pod_template",
    "stateful_set",
]

CONTAINER = "main"
PROGRESS_DEADLINE = 3600  # seconds
_POLICIES = ("Always", "OnFailure", "Never")


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    container: str = CONTAINER,
    image: str | None = None,
    command: Sequence[str] | None = None,
    args: Sequence[str] | None = None,
    restart_policy: str | None = None,
) -> Built:
    """A pod template, for any object that has one.

    Raises InvalidRequestError as `patch` does, and for an invalid command, arguments or restart
    policy.
    """
    part = pod_part(request, container=container)
    template = pod_template(
        part.container or container,
        image=image, command=command, args=args, restart_policy=restart_policy,
    )  # fmt: skip
    written = workloads.patch(
        {"kind": "PodTemplate", "template": template}, request, as_native=False
    ).settings["template"]
    placement = Placement()
    placement.of_pod(part, "pod template")
    unsupported = [
        Unsupported(
            setting,
            "KAI reads it from the object that owns the pods, not from a template",
            f"use kubernetes.{function}(), or kubernetes.patch() with the whole manifest",
        )
        for setting, value, function in (
            ("topology", request.topology, "job"),
            ("gang_min", request.gang_min, "job"),
        )
        if value is not None
    ]
    return Built(
        orchestrator="kubernetes",
        settings=written,
        native=native_or(
            written,
            lambda: to_native("V1PodTemplateSpec", written),
            as_native=as_native,
            library="the package kubernetes",
        ),
        pod={"apiVersion": "v1", "kind": "Pod", **written},
        placement=placement.written(),
        unsupported=tuple(unsupported),
        warnings=part.warnings,
    ).strict_if(strict)


def patch(
    workload: Any,
    request: PodRequest,
    *,
    roles: Iterable[str] | None = None,
    requests: Mapping[str, PodRequest] | None = None,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """A workload of a kind in `kai.api.kinds.WORKLOADS` with the settings; the rest of it stays.

    workload: a manifest, or an object of a client. roles: the roles whose pods get GPUs, such as
    ``["Worker"]``; None: those that usually do. requests: other settings for some roles.

    Raises InvalidRequestError for another kind, for a manifest without pods or with malformed
    fields, for a role or container that it does not have, for a `gang_min` above its number of
    pods, with `as_native` if the kubernetes client is not installed or has no class for the kind,
    and with `strict` for settings that the kind cannot express.
    """
    options: dict[str, Any] = {
        "roles": roles,
        "requests": requests,
        "as_native": as_native,
        "strict": strict,
    }
    if isinstance(workload, Mapping) and (own := _own_patch(str(workload.get("kind")))):
        return import_module(own).patch(workload, request, **options)  # type: ignore[no-any-return]
    return workloads.patch(workload, request, **options)


def _own_patch(kind: str) -> str | None:
    """The module for a kind that has its own fields for some settings."""
    known = kinds.known(kind)
    if known.ray:
        return "kai.integrations.ray"
    is_spark = any(each.shape.startswith("spark") for each in known.pods)
    return "kai.integrations.spark" if is_spark else None


def pod_template(
    container: str,
    *,
    image: str | None = None,
    command: Sequence[str] | None = None,
    args: Sequence[str] | None = None,
    restart_policy: str | None = None,
) -> dict[str, Any]:
    """A pod template with one container, before any settings.

    Raises InvalidRequestError for an invalid command, arguments or restart policy.
    """
    if restart_policy is not None:
        rules.one_of("restart_policy", restart_policy, _POLICIES)
    main = filled(
        name=container,
        image=image,
        command=words("command", command),
        args=words("args", args),
    )
    return {"spec": filled({"containers": [main], "restartPolicy": restart_policy})}


def words(name: str, value: Sequence[str] | None) -> list[str] | None:
    if value is None:
        return None
    if isinstance(value, str) or not all(isinstance(each, str) for each in value):
        raise rules.refuse(
            f"{name} is {value!r}: write a list of strings, as in ['python', 'x.py']"
        )
    return list(value)


class Options(TypedDict, total=False):
    """The common options of the functions that create a workload."""

    namespace: str | None
    container: str
    """The main container; default "main". A name in the request takes precedence."""
    command: Sequence[str] | None
    args: Sequence[str] | None
    restart_policy: str
    """For a Pod, a Job and a CronJob; default "Never"."""
    as_native: bool | None
    strict: bool


def pod(request: PodRequest, *, name: str, image: str, **options: Unpack[Options]) -> Built:
    """A single pod, with `Options`. It is its own owner, so a topology is written on it.

    Raises InvalidRequestError as `patch` does, and for invalid arguments.
    """
    options.setdefault("restart_policy", "Never")
    return _workload(
        "v1", "Pod", request, lambda template: template["spec"],
        name=name, image=image, **options,
    )  # fmt: skip


def job(
    request: PodRequest,
    *,
    name: str,
    image: str,
    parallelism: int | None = None,
    completions: int | None = None,
    indexed: bool = False,
    backoff_limit: int | None = None,
    **options: Unpack[Options],
) -> Built:
    """A Job, with `Options`. If the request has `gang_min`, that many pods start together (spec 7
    J2).

    Raises InvalidRequestError as `patch` does, for invalid numbers, and for an indexed Job without
    `completions`.
    """
    counts = {"parallelism": parallelism, "completions": completions}
    for key, value in counts.items():
        if value is not None:
            rules.count(key, value)
    if backoff_limit is not None:
        rules.count("backoff_limit", backoff_limit, least=0)
    if indexed and completions is None:
        raise rules.refuse("an indexed Job needs completions=: write the number of its pods")
    spec = filled(
        {
            **counts,
            "completionMode": "Indexed" if indexed else None,
            "backoffLimit": backoff_limit,
        }
    )
    options.setdefault("restart_policy", "Never")
    return _workload(
        "batch/v1", "Job", request, lambda template: {**spec, "template": template},
        name=name, image=image, **options,
    )  # fmt: skip


def cron_job(
    request: PodRequest, *, name: str, image: str, schedule: str, **options: Unpack[Options]
) -> Built:
    """A CronJob, with `Options`. KAI creates a pod group for each of its Jobs, from their template.

    Raises InvalidRequestError as `patch` does, and for invalid arguments.
    """
    options.setdefault("restart_policy", "Never")
    return _workload(
        "batch/v1", "CronJob", request,
        lambda template: {"schedule": schedule, "jobTemplate": {"spec": {"template": template}}},
        name=name, image=image, **options,
    )  # fmt: skip


def deployment(request: PodRequest, *, name: str, image: str, **options: Any) -> Built:
    """A Deployment, with `replicas` and `Options`.

    KAI creates a pod group for each of its pods, with the priority inference: it is not preempted
    and stays within the queue's quota. priority= or preemptible=True changes this (spec 7 J4).

    Raises InvalidRequestError as `patch` does, and for invalid arguments.
    """
    built = _replicated("Deployment", request, name=name, image=image, **options)
    warning = (
        f"progressDeadlineSeconds is {PROGRESS_DEADLINE}: a Deployment whose pods wait longer in"
        " the queue is reported as failed, but keeps waiting"
    )
    built = workloads.with_warnings(built, warning)
    if request.priority is None and request.preemptible is None:
        warning = (
            "for KAI the pods of a Deployment are non-preemptible inference, limited to the quota"
            " of the queue: write priority='train' or preemptible=True for pods that may exceed it"
        )
        return workloads.with_warnings(built, warning)
    return built


def stateful_set(request: PodRequest, *, name: str, image: str, **options: Any) -> Built:
    """A StatefulSet, with `replicas` and `Options`.

    Raises InvalidRequestError as `patch` does, and for invalid arguments.
    """
    return _replicated("StatefulSet", request, name=name, image=image, **options)


def daemon_set(request: PodRequest, *, name: str, image: str, **options: Any) -> Built:
    """A DaemonSet, with `Options`.

    Raises InvalidRequestError as `patch` does, and for invalid arguments.
    """
    return _replicated("DaemonSet", request, name=name, image=image, **options)


def _replicated(
    kind: str, request: PodRequest, *, name: str, replicas: int | None = None, **options: Any
) -> Built:
    if replicas is not None:
        if kind == "DaemonSet":
            raise rules.refuse("a DaemonSet has a pod on each node: omit replicas=")
        rules.count("replicas", replicas, least=0)
    if "restart_policy" in options:
        raise rules.refuse(f"a {kind} restarts its pods: omit restart_policy=")
    selected = {"app.kubernetes.io/name": name}
    spec: dict[str, Any] = {} if replicas is None else {"replicas": replicas}
    if kind == "Deployment":  # otherwise it counts as failed while its pods wait (spec 7 B9)
        spec["progressDeadlineSeconds"] = PROGRESS_DEADLINE
    spec["selector"] = {"matchLabels": dict(selected)}
    if kind == "StatefulSet":
        spec["serviceName"] = name

    def with_template(template: dict[str, Any]) -> dict[str, Any]:
        return {**spec, "template": {**template, "metadata": {"labels": selected}}}

    return _workload("apps/v1", kind, request, with_template, name=name, **options)


def _workload(
    api: str,
    kind: str,
    request: PodRequest,
    spec: Callable[[dict[str, Any]], dict[str, Any]],
    *,
    name: str,
    image: str,
    namespace: str | None = None,
    container: str = CONTAINER,
    as_native: bool | None = None,
    strict: bool = False,
    **described: Any,
) -> Built:
    """The workload with `spec` of its pod template."""
    template = pod_template(request.container or container, image=image, **described)
    manifest = {**workloads.head(api, kind, name, namespace), "spec": spec(template)}
    return patch(manifest, request, as_native=as_native, strict=strict)
