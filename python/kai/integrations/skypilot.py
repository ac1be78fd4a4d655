"""SkyPilot on Kubernetes: what goes below ``config:`` of a task, or into ~/.sky/config.yaml.

    settings = skypilot.build(kai.PodRequest(queue="test", gpu_fraction=0.5))
    task = {"resources": {"infra": "kubernetes"}, "config": dict(settings), "run": "nvidia-smi"}

SkyPilot starts bare pods; each is a group of its own for KAI (spec 7 S2, S3). `accelerators:`
of a task becomes a limit of whole GPUs, which KAI refuses beside a part of one. So for a part
SkyPilot is told of no GPU at all, and nodes are selected by their labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import keys, rules
from kai.api.fields import check_fields
from kai.integrations.placement import placement
from kai.settings import Built, PodRequest, Unsupported, merge_into_pod, pod_part

CONTAINER = "ray-node"
PROVISION_TIMEOUT_SECONDS = 3600


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

    existing: such a configuration, to which the settings are added. provision_timeout: seconds that
    a pod may wait in its queue; -1 for ever. context: of the kubeconfig, for a pod_config of its
    own; only in ~/.sky/config.yaml. SkyPilot has no objects for this: native is the same mapping.

    Raises InvalidRequestError for a `provision_timeout` that is no seconds, for a request that
    names another container than SkyPilot's, for malformed `existing` fields, and with `strict` for
    what SkyPilot cannot express.
    """
    if isinstance(provision_timeout, bool) or not isinstance(provision_timeout, int):
        raise rules.refuse(
            f"provision_timeout is {provision_timeout!r}: write seconds, or -1 to wait for ever"
        )
    no_gang = Unsupported(
        "gang_min",
        "the nodes of a task are bare pods, each of which is a group of its own for KAI",
        "make a PodGroup with that minMember, and name it in annotations="
        f"{{{keys.POD_GROUP_ANNOTATION!r}: ...}}",
    )
    unsupported = [no_gang] if request.is_gang else []
    # On a bare pod nothing reads it.
    request = request.with_changes(gang_min=None)
    part = pod_part(request, container=CONTAINER)
    if part.container != CONTAINER:
        raise rules.refuse(
            f"container is {part.container!r}, and SkyPilot runs tasks in {CONTAINER}: leave it out"
        )

    config = dict(check_fields("existing", {} if existing is None else existing))
    kubernetes = dict(config.get("kubernetes") or {})
    of_context = dict(kubernetes.get("context_configs") or {})
    section = dict(of_context.get(context) or {}) if context is not None else kubernetes
    before = section.get("pod_config") or {}
    spec = before.get("spec") or {}
    containers = [dict(each) for each in spec.get("containers") or []]
    if containers:
        # The first stands for SkyPilot's own where it has no name.
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
    built = Built(
        orchestrator="skypilot",
        settings=settings,
        native=settings,
        pod={"apiVersion": "v1", "kind": "Pod", **pod},
        placement=placement(part, pod="pod_config", container=CONTAINER),
        unsupported=tuple(unsupported),
        warnings=(*part.warnings, *warnings, *_warnings(request, provision_timeout)),
    )
    return built.strict() if strict else built


def _warnings(request: PodRequest, provision_timeout: int) -> list[str]:
    waits = "for ever" if provision_timeout < 0 else f"{provision_timeout} s"
    said = [f"provision_timeout is raised: SkyPilot waits {waits} for a pod that is in its queue"]
    if request.shares_gpus:
        said.append(
            "SkyPilot sees a task without a GPU: leave accelerators: out of its resources, which"
            " would ask for whole ones, and choose nodes with gpu_type= or node_selector="
        )
    elif request.gpu_kind == "whole":
        said.append(
            "the GPUs are asked for in pod_config, where SkyPilot does not look: write"
            f" accelerators: with {request.gpus} of your model in the task's resources as well, so"
            " that it chooses and counts them"
        )
    elif request.gpu_kind in ("mig", "claim"):
        said.append("SkyPilot sees a task without a GPU: leave accelerators: out of its resources")
    if request.gpu_kind not in ("none", "whole"):
        said.append(
            "Ray, which SkyPilot runs tasks with, hides the GPUs from a task that asks it for none:"
            " begin run: with `unset CUDA_VISIBLE_DEVICES`"
        )
    return said
