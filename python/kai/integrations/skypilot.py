"""SkyPilot on Kubernetes: the value of ``config:`` of a task, or of ~/.sky/config.yaml.

    settings = skypilot.build(kai.PodRequest(queue="test", gpu_fraction=0.5))
    task = {"resources": {"infra": "kubernetes"}, "config": dict(settings), "run": "nvidia-smi"}

SkyPilot starts bare pods; for KAI each is its own pod group (spec 7 S2, S3). `accelerators:` of a
task becomes a limit of whole GPUs, which KAI refuses together with a part of a GPU. So for a part,
SkyPilot gets no accelerator, and nodes are selected by their labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import keys, rules
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields
from kai.integrations.placement import placement
from kai.settings import Built, PodRequest, Unsupported, merge_into_pod, pod_part

CONTAINER = "ray-node"
PROVISION_TIMEOUT_SECONDS = 3600


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    existing: Mapping[str, Any] | None = None,
    provision_timeout: int = PROVISION_TIMEOUT_SECONDS,
    context: str | None = None,
) -> Built:
    """The mapping ``{"kubernetes": {"pod_config": ..., "provision_timeout": ...}}``.

    existing: an existing configuration, to which the settings are added. provision_timeout: seconds
    that a pod may wait in its queue; -1 means forever. context: a context of the kubeconfig, for a
    separate pod_config; only in ~/.sky/config.yaml. SkyPilot has no objects for this: native is the
    same mapping.

    Raises InvalidRequestError for an invalid `provision_timeout`, for a request with another
    container than SkyPilot's, for malformed `existing` fields, and with `strict` for settings that
    SkyPilot cannot express.
    """
    if isinstance(provision_timeout, bool) or not isinstance(provision_timeout, int):
        raise rules.refuse(
            f"provision_timeout is {provision_timeout!r}: write seconds, or -1 to wait forever"
        )
    no_gang = Unsupported(
        "gang_min",
        "the nodes of a task are bare pods, and for KAI each is its own pod group",
        "create a PodGroup with that minMember, and name it in annotations="
        f"{{{keys.POD_GROUP_ANNOTATION!r}: ...}}",
    )
    unsupported = [no_gang] if request.is_gang else []
    # KAI does not read it on a bare pod.
    request = request.with_changes(gang_min=None)
    part = pod_part(request, container=CONTAINER)
    if part.container != CONTAINER:
        raise rules.refuse(
            f"container is {part.container!r}, but SkyPilot runs tasks in {CONTAINER}: omit it"
        )

    config = dict(check_fields("existing", {} if existing is None else existing))
    kubernetes = dict(config.get("kubernetes") or {})
    of_context = dict(kubernetes.get("context_configs") or {})
    section = dict(of_context.get(context) or {}) if context is not None else kubernetes
    before = section.get("pod_config") or {}
    spec = before.get("spec") or {}
    containers = [dict(each) for each in spec.get("containers") or []]
    if containers:
        # A first container without a name is SkyPilot's own.
        containers[0].setdefault("name", CONTAINER)
    if not any(each["name"] == CONTAINER for each in containers if "name" in each):
        containers.insert(0, {"name": CONTAINER})
    pod, warnings = merge_into_pod(
        {**before, "spec": {**spec, "containers": containers}},
        part,
        container=CONTAINER,
        owns_itself=True,
    )
    written = dict(pod)
    if pod["spec"]["containers"] == [{"name": CONTAINER}]:
        written["spec"] = {key: each for key, each in pod["spec"].items() if key != "containers"}
    section |= {"pod_config": written, "provision_timeout": provision_timeout}
    if context is not None:
        kubernetes["context_configs"] = {**of_context, context: section}
    settings = {**config, "kubernetes": kubernetes}
    return Built(
        orchestrator="skypilot",
        settings=settings,
        native=settings,
        pod={"apiVersion": "v1", "kind": "Pod", **pod},
        placement=placement(part, pod="pod_config", container=CONTAINER),
        unsupported=tuple(unsupported),
        warnings=(*part.warnings, *warnings, *_warnings(request, provision_timeout)),
    ).strict_if(strict)


def _warnings(request: PodRequest, provision_timeout: int) -> list[str]:
    waits = "forever" if provision_timeout < 0 else f"{provision_timeout} s"
    warnings = [f"provision_timeout is raised: SkyPilot waits {waits} for a pod in its queue"]
    if request.shares_gpus:
        warnings.append(
            "for SkyPilot the task has no GPU: omit accelerators: in its resources, as it would"
            " request whole GPUs, and select nodes with gpu_type= or node_selector="
        )
    elif request.gpu_kind == "whole":
        warnings.append(
            "the GPUs are requested in pod_config, which SkyPilot does not evaluate: also write"
            f" accelerators: with {request.gpus} of your model in the task's resources, so that it"
            " selects and counts them"
        )
    elif request.gpu_kind in ("mig", "claim"):
        warnings.append("for SkyPilot the task has no GPU: omit accelerators: in its resources")
    if request.gpu_kind not in ("none", "whole"):
        warnings.append(
            "SkyPilot runs tasks with Ray, which hides GPUs from a task that requests none: begin"
            " run: with `unset CUDA_VISIBLE_DEVICES`"
        )
    return warnings
