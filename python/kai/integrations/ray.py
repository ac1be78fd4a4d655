"""Ray on Kubernetes, with KubeRay: RayCluster, RayJob and RayService (spec 7 R2-R7).

    ray.build(request, kind="RayJob", name="j", image="rayproject/ray", entrypoint="python t.py")
    ray.patch(manifest, request)

The head needs no GPU and gets none, unless it has its own request. KAI waits for the head and for
the minimum number of workers of each group. The results work with any KubeRay, installed with or
without ``batchScheduler.name=kai-scheduler``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kai.api import keys, kinds, rules
from kai.api.arguments import in_a_sentence
from kai.integrations import workloads
from kai.integrations.kubernetes import pod_template
from kai.integrations.workloads import with_warnings
from kai.settings import Built, PodRequest, Unsupported, filled

API = "ray.io/v1"
PRIORITY_LABEL = "ray.io/priority-class-name"  # KAI prefers it to all others (spec 7 R7)
HEAD, WORKER = "ray-head", "ray-worker"

# The field of each kind's spec that describes its cluster; "": the spec itself.
CLUSTERS: Mapping[str, str] = {
    name: kind.ray.partition(".")[2] for name, kind in kinds.WORKLOADS.items() if kind.ray
}
SUBMISSION_MODES = ("HTTPMode", "SidecarMode", "InteractiveMode", "K8sJobMode")


@dataclass(frozen=True, kw_only=True)
class WorkerGroup:
    """A group of equal workers. request: their settings; None: those of the cluster.

    Raises InvalidRequestError for invalid numbers, and unless min_replicas <= replicas <=
    max_replicas.
    """

    replicas: int = 1
    min_replicas: int | None = None  # default: replicas
    max_replicas: int | None = None
    hosts: int = 1  # number of pods of one replica
    request: PodRequest | None = None
    start_params: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules.count("replicas", self.replicas, least=0)
        rules.count("hosts", self.hosts)
        rules.count("min_replicas", self.least, least=0)
        rules.count("max_replicas", self.most, least=0)
        if not self.least <= self.replicas <= self.most:  # spec 7 R6
            raise rules.refuse(
                f"a worker group has {self.replicas} replicas, a minimum of {self.least} and a"
                f" maximum of {self.most}: write min_replicas <= replicas <= max_replicas"
            )

    @property
    def least(self) -> int:
        return self.replicas if self.min_replicas is None else self.min_replicas

    @property
    def most(self) -> int:
        return max(self.replicas, self.least) if self.max_replicas is None else self.max_replicas


@in_a_sentence
def build(
    request: PodRequest,
    *,
    kind: str = "RayCluster",
    name: str | None = None,
    namespace: str | None = None,
    image: str | None = None,
    groups: Mapping[str, WorkerGroup] | None = None,
    head: PodRequest | None = None,
    head_start_params: Mapping[str, str] | None = None,
    autoscaling: bool = False,
    entrypoint: str | None = None,
    submission_mode: str = "HTTPMode",
    serve_config: str | None = None,
    ray_version: str | None = None,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """A RayCluster, RayJob or RayService.

    groups: the worker groups by name; None: one worker, in the group ``workers``. head: settings of
    the head; None: those of the request, without a GPU. head_start_params: parameters of ``ray
    start`` for the head, such as ``{"num-cpus": "0"}`` for a head that runs no tasks. entrypoint,
    submission_mode: for a RayJob. serve_config: for a RayService. KubeRay's Python client also
    accepts the manifest.

    Raises InvalidRequestError for an unknown kind or submission mode, for an option of another
    kind, for a group with an invalid name, for start parameters that are not strings, and with
    `strict` for settings that Ray cannot express.
    """
    rules.one_of("kind", kind, CLUSTERS)
    rules.one_of("submission_mode", submission_mode, SUBMISSION_MODES)
    for option, value, of in (
        ("entrypoint", entrypoint, "RayJob"),
        ("serve_config", serve_config, "RayService"),
    ):
        if value is not None and kind != of:
            raise rules.refuse(f"{option}= is an option of a {of}: write kind={of!r}, or omit it")
    if "head" in (groups or ()):
        raise rules.refuse("a group has the name 'head': rename it, and use head= for the head")
    every = dict({"workers": WorkerGroup()} if groups is None else groups)
    params = rules.variables(head_start_params or {})
    head_container = (head.container if head else None) or HEAD
    cluster = filled({"rayVersion": ray_version, "enableInTreeAutoscaling": autoscaling or None})
    cluster["headGroupSpec"] = {
        "rayStartParams": params,
        "template": pod_template(head_container, image=image),
    }
    cluster["workerGroupSpecs"] = [
        {
            "groupName": rules.dns_label("group", group),
            "replicas": each.replicas,
            "minReplicas": each.least,
            "maxReplicas": each.most,
            **({"numOfHosts": each.hosts} if each.hosts > 1 else {}),
            "rayStartParams": rules.variables(each.start_params),
            "template": pod_template((each.request or request).container or WORKER, image=image),
        }
        for group, each in every.items()
    ]
    spec: dict[str, Any] = cluster
    if CLUSTERS[kind]:
        spec = filled({"entrypoint": entrypoint, "serveConfigV2": serve_config})
        if kind == "RayJob":
            spec["submissionMode"] = submission_mode
        spec[CLUSTERS[kind]] = cluster
    manifest = {**workloads.head(API, kind, name, namespace), "spec": spec}
    requests = {group: each.request for group, each in every.items() if each.request is not None}
    if head is not None:
        requests["head"] = head
    return patch(manifest, request, requests=requests, as_native=as_native, strict=strict)


def patch(
    manifest: Mapping[str, Any],
    request: PodRequest,
    *,
    roles: Iterable[str] | None = None,
    requests: Mapping[str, PodRequest] | None = None,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """A manifest of Ray with the settings.

    roles: the groups that get GPUs (``head`` for the head); None: all worker groups. requests:
    other settings for some groups.

    Raises InvalidRequestError for another kind, for malformed fields, for a group that the manifest
    does not have, for a group with more minReplicas than replicas, and with `strict` for settings
    that Ray cannot express.
    """
    kind = rules.one_of("kind", rules.mapping("the manifest", manifest).get("kind"), CLUSTERS)
    built = workloads.patch(
        manifest, request, roles=roles, requests=requests, as_native=False, orchestrator="ray"
    )
    settings = dict(built.settings)
    warnings: list[str] = []
    spec = settings["spec"]
    if kind == "RayJob":
        # K8sJobMode, the default, adds a pod after the cluster, which the operator's integration
        # with KAI refuses (spec 7 R2).
        mode = spec.setdefault("submissionMode", "HTTPMode")
        if mode == "K8sJobMode":
            warnings.append(
                "KubeRay that is installed with batchScheduler.name=kai-scheduler refuses the"
                " submissionMode K8sJobMode: write HTTPMode or SidecarMode"
            )
    if request.queue_labels and keys.QUEUE_LABEL not in request.queue_labels:
        warnings.append(
            f"KubeRay's own integration with KAI reads only {keys.QUEUE_LABEL}: do not enable it,"
            " or write both=True"
        )
    labels = settings["metadata"].get("labels", {})
    if request.priority is not None and labels.get(PRIORITY_LABEL, request.priority) != (
        request.priority
    ):
        warnings.append(
            f"the label {PRIORITY_LABEL} was {labels[PRIORITY_LABEL]}, which KAI would prefer to"
            f" all others: it is now {request.priority}"
        )
        labels[PRIORITY_LABEL] = request.priority
    cluster = spec[CLUSTERS[kind]] if CLUSTERS[kind] else spec
    for group in cluster.get("workerGroupSpecs") or []:
        least, most = group.get("minReplicas") or 0, group.get("replicas")
        if most is not None and least > most:
            raise rules.refuse(
                f"group {group.get('groupName')} has minReplicas {least} above replicas {most}: KAI"
                " creates no pod group for it, so write more replicas"
            )
        if most == 0 and not group.get("suspend"):
            warnings.append(
                f"group {group.get('groupName')} starts with no workers: KAI does not wait for any"
            )
    segments = Unsupported(
        "annotations",
        "KAI does not divide groups of Ray into segments",
        "give each worker group its own topology, in requests=",
    )
    unsupported = [segments] if any(key in request.annotations for key in keys.SEGMENTS) else []
    built = with_warnings(built, *warnings, unsupported=unsupported)
    return replace(built, settings=settings, native=settings).strict_if(strict)
