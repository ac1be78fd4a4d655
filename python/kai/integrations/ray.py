"""Ray on Kubernetes, with KubeRay: RayCluster, RayJob and RayService (spec 7 R2-R7).

    ray.build(request, kind="RayJob", name="j", image="rayproject/ray", entrypoint="python t.py")
    ray.patch(manifest, request)

The head needs no GPU and gets none, unless it has a request of its own. KAI waits for the head and
for the fewest workers of each group. What is built works with any KubeRay, whether or not it is
installed with ``batchScheduler.name=kai-scheduler``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kai.api import keys, kinds, rules
from kai.integrations import workloads
from kai.integrations.kubernetes import pod_template
from kai.integrations.workloads import with_warnings
from kai.settings import Built, PodRequest, Unsupported, filled

API = "ray.io/v1"
PRIORITY_LABEL = "ray.io/priority-class-name"  # KAI takes it before all others (spec 7 R7)
HEAD, WORKER = "ray-head", "ray-worker"

# Kind -> the field of its spec that describes its cluster; "": the spec itself.
CLUSTERS: Mapping[str, str] = MappingProxyType(
    {name: kind.ray.partition(".")[2] for name, kind in kinds.WORKLOADS.items() if kind.ray}
)
SUBMISSION_MODES = ("HTTPMode", "SidecarMode", "InteractiveMode", "K8sJobMode")


@dataclass(frozen=True, kw_only=True)
class WorkerGroup:
    """Workers of one kind. request: their settings; None: those of the cluster.

    Raises InvalidRequestError for numbers that make no sense, and unless min_replicas <= replicas
    <= max_replicas.
    """

    replicas: int = 1
    min_replicas: int | None = None  # as many as replicas
    max_replicas: int | None = None
    hosts: int = 1  # pods of one replica
    request: PodRequest | None = None
    start_params: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules.count("replicas", self.replicas, least=0)
        rules.count("hosts", self.hosts)
        rules.count("min_replicas", self.least, least=0)
        rules.count("max_replicas", self.most, least=0)
        if not self.least <= self.replicas <= self.most:  # spec 7 R6
            raise rules.refuse(
                f"a worker group of {self.replicas} replicas has {self.least} at least and"
                f" {self.most} at most: write min_replicas <= replicas <= max_replicas"
            )

    @property
    def least(self) -> int:
        return self.replicas if self.min_replicas is None else self.min_replicas

    @property
    def most(self) -> int:
        return max(self.replicas, self.least) if self.max_replicas is None else self.max_replicas


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

    groups: name -> WorkerGroup; None: one worker, in a group called ``workers``. head: settings of
    the head; None: the request's, without a GPU. head_start_params: of ``ray start`` there, such as
    ``{"num-cpus": "0"}`` for a head that runs no tasks. entrypoint, submission_mode: of a RayJob.
    serve_config: of a RayService. The manifest is what KubeRay's Python client takes, too.

    Raises InvalidRequestError for an unknown kind or submission mode, for an option of another
    kind, for a group without a name of its own, for start parameters that are no texts, and with
    `strict` for what Ray cannot express.
    """
    rules.one_of("kind", kind, CLUSTERS)
    rules.one_of("submission_mode", submission_mode, SUBMISSION_MODES)
    for option, value, of in (
        ("entrypoint", entrypoint, "RayJob"),
        ("serve_config", serve_config, "RayService"),
    ):
        if value is not None and kind != of:
            raise rules.refuse(f"{option}= is of a {of}: write kind={of!r}, or leave it out")
    if "head" in (groups or ()):
        raise rules.refuse("a group is called 'head': call it otherwise, head= is of the head")
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
            "groupName": rules.dns_label("a group", group),
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

    roles: groups that take GPUs, ``head`` for the head; None: all groups of workers. requests:
    other settings for some of them.

    Raises InvalidRequestError for another kind, for malformed fields, for a group that it does not
    have, for one with more minReplicas than replicas, and with `strict` for what Ray cannot
    express.
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
                "submissionMode K8sJobMode is refused by a KubeRay that is installed with"
                " batchScheduler.name=kai-scheduler: write HTTPMode or SidecarMode"
            )
    if request.queue_labels and keys.QUEUE_LABEL not in request.queue_labels:
        warnings.append(
            f"KubeRay's own integration with KAI reads {keys.QUEUE_LABEL} alone: leave it off, or"
            " write both=True"
        )
    labels = settings["metadata"].get("labels", {})
    if request.priority is not None and labels.get(PRIORITY_LABEL, request.priority) != (
        request.priority
    ):
        warnings.append(
            f"the label {PRIORITY_LABEL} was {labels[PRIORITY_LABEL]}, and KAI takes it before all"
            f" others: it is {request.priority} now"
        )
        labels[PRIORITY_LABEL] = request.priority
    cluster = spec[CLUSTERS[kind]] if CLUSTERS[kind] else spec
    for group in cluster.get("workerGroupSpecs") or []:
        least, most = group.get("minReplicas") or 0, group.get("replicas")
        if most is not None and least > most:
            raise rules.refuse(
                f"group {group.get('groupName')} has minReplicas {least} above replicas {most}, for"
                " which KAI makes no group: write at least as many replicas"
            )
        if most == 0 and not group.get("suspend"):
            warnings.append(
                f"group {group.get('groupName')} begins with no workers: KAI does not wait for any"
            )
    unsupported = list(built.unsupported)
    if any(key in request.annotations for key in keys.SEGMENTS):
        unsupported.append(
            Unsupported(
                "annotations",
                "KAI cuts no groups of Ray into segments",
                "give each group of workers a topology of its own, in requests=",
            )
        )
    built = replace(
        built,
        settings=settings,
        native=settings,
        unsupported=tuple(unsupported),
    )
    built = with_warnings(built, *warnings)
    return built.strict() if strict else built
