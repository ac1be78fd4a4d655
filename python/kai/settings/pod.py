"""The settings of a pod for a request, as Kubernetes fields, before any orchestrator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kai.api import isolations, keys, rules
from kai.api.arguments import in_a_sentence
from kai.api.resources import new_object
from kai.settings import frameworks
from kai.settings.request import PodRequest


@dataclass(frozen=True, kw_only=True)
class PodPart:
    """The settings of a pod, by the place where KAI reads each (spec 7 C13).

    `labels` and `annotations` are for the pod itself. `owner_labels` and `owner_annotations` are
    for the workload that owns it; a pod without a workload is its own owner. Values have the form
    that the API server accepts: camelCase, strings, and no empty entries in `resources`.
    """

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owner_labels: Mapping[str, str]
    owner_annotations: Mapping[str, str]
    scheduler_name: str
    node_selector: Mapping[str, str]
    tolerations: Sequence[Mapping[str, Any]]
    resources: Mapping[str, Any]
    env: Mapping[str, str]
    resource_claims: Sequence[Mapping[str, Any]]
    volumes: Sequence[Mapping[str, Any]]
    volume_mounts: Sequence[Mapping[str, Any]]
    security_context: Mapping[str, Any]
    runtime_class: str | None
    container: str | None
    warnings: tuple[str, ...]

    def env_list(self) -> list[dict[str, str]]:
        return [{"name": name, "value": value} for name, value in self.env.items()]

    def metadata(self, *, owns_itself: bool = False) -> dict[str, Any]:
        """Labels and annotations of the pod; `owns_itself` adds those of the owner."""
        labels = {**(self.owner_labels if owns_itself else {}), **self.labels}
        annotations = {**(self.owner_annotations if owns_itself else {}), **self.annotations}
        return filled({"labels": labels, "annotations": annotations})

    def owner_metadata(self) -> dict[str, Any]:
        """Labels and annotations of the workload that owns the pod."""
        fields = {"labels": dict(self.owner_labels), "annotations": dict(self.owner_annotations)}
        return filled(fields)

    def spec(self) -> dict[str, Any]:
        """The spec of the pod, without containers."""
        return filled(
            schedulerName=self.scheduler_name,
            nodeSelector=dict(self.node_selector),
            tolerations=[dict(each) for each in self.tolerations],
            runtimeClassName=self.runtime_class,
            resourceClaims=[dict(each) for each in self.resource_claims],
            volumes=[dict(each) for each in self.volumes],
        )

    def container_fields(self) -> dict[str, Any]:
        """The fields of the main container, without its name and image."""
        return filled(
            env=self.env_list(),
            resources=dict(self.resources),
            volumeMounts=[dict(each) for each in self.volume_mounts],
            securityContext=dict(self.security_context),
        )

    def manifest(
        self, *, container: str, owns_itself: bool = False, sidecars_first: Sequence[str] = ()
    ) -> dict[str, Any]:
        """The resulting pod, for display and for the engine's parser."""
        containers = [{"name": name} for name in sidecars_first]
        containers.append({"name": container, **self.container_fields()})
        spec = {**self.spec(), "containers": containers}
        return new_object("Pod", self.metadata(owns_itself=owns_itself), spec=spec)


def filled(fields: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, Any]:
    """The fields that are not empty."""
    every = {**(fields or {}), **named}
    return {key: value for key, value in every.items() if value not in (None, "", {}, [], ())}


@in_a_sentence
def pod_part(request: PodRequest, *, container: str | None = None) -> PodPart:
    """The settings of a request.

    container: the orchestrator's name of the main container, if known; the request's own name
    takes precedence.

    Raises InvalidRequestError for ``style="nvfractions"`` without the name of a container.
    """
    name = request.container or container
    memory = frameworks.settings_for(request)
    queue = request.queue_labels
    return PodPart(
        labels={**queue, **_group_labels(request), **request.labels},
        annotations={
            **_gpu_annotations(request, name),
            **_group_annotations(request),
            **request.annotations,
        },
        owner_labels={**queue, **_group_labels(request)},
        owner_annotations=_owner_annotations(request),
        scheduler_name=request.scheduler_name,
        node_selector={**request.node_selector, **memory.node_selector},
        tolerations=request.tolerations,  # type: ignore[arg-type] # made a tuple when checked
        resources=_resources(request),
        env={**memory.env, **request.env},
        resource_claims=_claims(request),
        volumes=memory.volumes,
        volume_mounts=memory.volume_mounts,
        security_context={} if request.privileged is None else {"privileged": request.privileged},
        runtime_class=request.runtime_class,
        container=name,
        warnings=(*request.warnings, *memory.warnings),
    )


@in_a_sentence
def without_mounts(request: PodRequest) -> PodRequest:
    """The request for an orchestrator that cannot mount directories of the node.

    Isolation that needs such directories is removed. Otherwise it is the request itself.
    """
    memory = frameworks.settings_for(request)
    if not memory.volumes and not memory.volume_mounts:
        return request
    return request.with_changes(isolation="none", mps_pipe_directory=None)


def _group_labels(request: PodRequest) -> dict[str, str]:
    labels = {}
    if request.priority is not None:
        labels[keys.PRIORITY_CLASS_LABEL] = request.priority
    if request.preemptible is not None:
        labels[keys.PREEMPTIBILITY_LABEL] = (
            "preemptible" if request.preemptible else "non-preemptible"
        )
    return labels


def _group_annotations(request: PodRequest) -> dict[str, str]:
    # KAI reads these from the pod and from its owners.
    annotations = {}
    if request.preemption_delay is not None:
        annotations[keys.PREEMPTION_DELAY_ANNOTATION] = request.preemption_delay
    if request.staleness_grace_period is not None:
        annotations[keys.STALENESS_ANNOTATION] = request.staleness_grace_period
    elif request.workaround_stale_gang and request.kai_version == "0.17":  # spec 7 KW17
        annotations[keys.STALENESS_ANNOTATION] = "-1s"
    return annotations


def _owner_annotations(request: PodRequest) -> dict[str, str]:
    wanted = {
        keys.TOPOLOGY_ANNOTATION: request.topology,
        keys.TOPOLOGY_REQUIRED_ANNOTATION: request.required_level,
        keys.TOPOLOGY_PREFERRED_ANNOTATION: request.preferred_level,
        keys.BATCH_MIN_MEMBER_ANNOTATION: None
        if request.gang_min is None
        else str(request.gang_min),
    }
    return {key: value for key, value in wanted.items() if value is not None}


def _gpu_annotations(request: PodRequest, container: str | None) -> dict[str, str]:
    if not request.shares_gpus:
        return {}
    annotations = {}
    if request.style == "nvfractions":
        if container is None:  # the container is part of the key (spec 7 NX6)
            raise rules.refuse(
                "style nvfractions needs the name of the container: write container="
            )
        amount = f"{request.gpu_memory}Mi"
        for key in (keys.NVFRACTIONS_REQUEST_ANNOTATION, keys.NVFRACTIONS_LIMIT_ANNOTATION):
            annotations[key.format(container=container)] = amount
    elif request.gpu_kind == "fraction":
        annotations[keys.GPU_FRACTION_ANNOTATION] = str(request.gpu_fraction)
    else:
        annotations[keys.GPU_MEMORY_ANNOTATION] = str(request.gpu_memory)
    if container is not None and request.style == "legacy":  # spec 7 C7
        annotations[keys.GPU_CONTAINER_ANNOTATION] = container
    if request.devices > 1:
        annotations[keys.GPU_DEVICES_ANNOTATION] = str(request.devices)
    if request.isolation == isolations.GUARD:
        annotations[keys.GUARD_ANNOTATION] = "true"
    if request.mps:
        annotations[keys.MPS_ANNOTATION] = "true"
    if request.compute_sharing is not None:
        annotations[keys.COMPUTE_SHARING_ANNOTATION] = request.compute_sharing
    return annotations


def _resources(request: PodRequest) -> dict[str, Any]:
    requests = filled({keys.CPU: request.cpu, keys.MEMORY: request.memory})
    limits = filled({keys.CPU: request.cpu_limit, keys.MEMORY: request.memory_limit})
    if request.gpus:
        limits[keys.NVIDIA_GPU] = str(request.gpus)
    if request.mig is not None:
        limits[f"{keys.MIG_PREFIX}{request.mig}"] = "1"
    claims = [{"name": each["name"]} for each in _claims(request)]
    return filled({"requests": requests, "limits": limits, "claims": claims})


def _claims(request: PodRequest) -> list[dict[str, str]]:
    if request.claim is None:
        return []
    return [{"name": "gpu", "resourceClaimTemplateName": request.claim}]
