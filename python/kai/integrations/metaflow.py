"""Metaflow: the arguments of @kubernetes and @environment for a step.

    settings = metaflow.build(kai.PodRequest(queue="test", gpu_fraction=0.5), step="train")

    @environment(**settings.get("environment", {}))
    @kubernetes(**settings["kubernetes"])
    @step
    def train(self): ...

Metaflow writes labels and annotations both on the Job of a step (on the JobSet, with @parallel) and
on its pods, so KAI finds the settings of owners and of pods (spec 7 M2). It has no argument for a
scheduler: `cluster_objects` has a policy that sets it (spec 7 M6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from kai.api import keys, quantities, rules, spelling
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields
from kai.integrations.cluster_objects import (
    DEFAULT_SCHEDULER,
    named_by_policy,
    scheduler_name_policy,
    scheduler_name_unsupported,
)
from kai.settings import (
    Built,
    PodPart,
    PodRequest,
    Unsupported,
    filled,
    merge,
    merge_into_pod,
    pod_part,
    unsupported_in,
    without_mounts,
)

TARGETS = ("job", "argo")
_MEGABYTE = 1_000_000  # the unit of Metaflow's memory
# Its default requests for a step, unless its configuration has others.
_DEFAULTS: Mapping[str, int] = {"cpu": 1, "memory": 4096, "disk": 10240}


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    target: str = "job",
    parallel: bool = False,
    step: str | None = None,
    existing: Mapping[str, Any] | None = None,
    form: str = "policy",
) -> Built:
    """``kubernetes`` and ``environment``: keyword arguments for the decorators of these names.

    target: ``argo`` for a flow that is deployed with ``argo-workflows create``, else ``job``.
    parallel: the step has @parallel. step: its name, which is also the name of its container,
    except with Argo and without @parallel. existing: existing arguments, also of ``resources``; the
    settings are added to them. form: form of the policy in `cluster_objects` (``policy`` or
    ``kyverno``). Metaflow has no objects for this: native is the same mapping.

    Raises InvalidRequestError for an unknown target or form, for malformed `existing` arguments,
    for a request with another container than Metaflow's, for ``style="nvfractions"`` without a
    `step`, and with `strict` for settings that Metaflow cannot express.
    """
    rules.one_of("target", target, TARGETS)
    container = _container(target, parallel, step)
    if request.container is not None and request.container != container:
        raise rules.refuse(
            f"container is {request.container!r}, but Metaflow names it"
            f" {container or 'like the step: write step='}: omit it"
        )
    if request.style == "nvfractions" and container is None:
        raise rules.refuse("style nvfractions needs the container's name: write step=")
    before = _checked(existing)
    unsupported = list(_unsupported(request, target, parallel))
    part = pod_part(_possible(request, target), container=container)
    arguments, pod, warnings = _arguments(part, before.get("kubernetes", {}), container)
    variables = {**(before.get("environment", {}).get("vars") or {}), **part.env}
    if request.gpu_kind != "none" and before.get("resources", {}).get("gpu") is not None:
        amount = before["resources"].pop("gpu")
        warnings.append(
            f"gpu={amount} of @resources was removed: it would take precedence over this request"
        )
    settings = {
        **filled(before),
        "kubernetes": arguments,
        **filled({"environment": filled({"vars": variables})}),
    }
    if "resources" in settings and not settings["resources"]:
        del settings["resources"]
    return Built(
        orchestrator="metaflow",
        settings=settings,
        native=settings,
        pod=_pod(request, part, arguments, pod, behind_wait=target == "argo" and not parallel),
        placement=_placement(request, part, target, parallel),
        unsupported=tuple(unsupported),
        warnings=(*part.warnings, *warnings, *_warnings(request, target, parallel)),
        cluster_objects=scheduler_name_policy(request, form=form),
    ).strict_if(strict)


def _container(target: str, parallel: bool, step: str | None) -> str | None:
    if target == "argo" and not parallel:
        return "main"  # Argo renames it
    return None if step is None else rules.dns_label("step", step.replace("_", "-"))


def _possible(request: PodRequest, target: str) -> PodRequest:
    """The request without settings that Metaflow cannot express."""
    if request.claim is not None:
        request = request.with_changes(claim=None)
    tolerations = [
        {key: each for key, each in toleration.items() if key != "tolerationSeconds"}
        if target == "argo"
        else toleration
        for toleration in request.tolerations
    ]
    request = request.with_changes(
        gang_min=None,
        runtime_class=None,
        tolerations=tolerations,
        cpu_limit=None,
        memory_limit=None,
    )
    return without_mounts(request)


def _checked(existing: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The arguments of each decorator.

    Those of @kubernetes are fields of a pod, except that a selector may be a string, and the number
    of GPUs.
    """
    decorators = {} if existing is None else rules.mapping("existing", existing)
    checked = {
        str(name): dict({} if each is None else rules.mapping(f"{name} of existing", each))
        for name, each in decorators.items()
    }
    pod = {
        key: value
        for key, value in checked.get("kubernetes", {}).items()
        if key != "gpu" and not (key == "node_selector" and isinstance(value, str))
    }
    check_fields("kubernetes of existing", pod)
    rules.mapping("vars of environment", checked.get("environment", {}).get("vars") or {})
    return checked


def _arguments(
    part: PodPart, before: Mapping[str, Any], container: str | None
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The arguments of @kubernetes, the resulting pod, and warnings about removed settings."""
    name = container or "step"
    selector = before.get("node_selector") or {}
    if isinstance(selector, str):  # Metaflow also accepts this form
        pairs = [each.partition("=") for each in selector.split(",")]
        selector = {key: value for key, _, value in pairs}
    extended = dict(before.get("extended_resources") or {})
    limits = dict(extended)
    gpu = before.get("gpu")
    if gpu is not None:
        limits[keys.NVIDIA_GPU] = str(gpu)
    pod, taken = merge_into_pod(
        {
            "metadata": filled({key: before.get(key) for key in ("labels", "annotations")}),
            "spec": filled(
                nodeSelector=selector,
                tolerations=spelling.camel(before.get("tolerations") or []),
                containers=[
                    filled(
                        name=name,
                        resources=filled({"limits": limits}),
                        securityContext=spelling.camel(before.get("security_context") or {}),
                    )
                ],
            ),
        },
        part,
        container=name,
        owns_itself=True,
    )
    main = pod["spec"]["containers"][0]
    resources = main.get("resources", {})
    amounts = {
        key: amount
        for key, amount in resources.get("limits", {}).items()
        if key not in (keys.CPU, keys.MEMORY)
    }
    gpus = amounts.pop(keys.NVIDIA_GPU, None)
    arguments = {
        **{key: each for key, each in before.items() if key != "gpu"},
        "labels": pod["metadata"].get("labels"),
        "annotations": pod["metadata"].get("annotations"),
        "node_selector": pod["spec"].get("nodeSelector"),
        "tolerations": spelling.snake(pod["spec"].get("tolerations", [])),
        "security_context": spelling.snake(main.get("securityContext", {})),
        "extended_resources": amounts,
        "gpu": None if gpus is None else int(gpus),
        **_amounts(part),
    }
    return filled(arguments), pod, list(taken)


def _amounts(part: PodPart) -> dict[str, int | float]:
    """CPU and memory in Metaflow's units."""
    requests = part.resources.get("requests", {})
    amounts: dict[str, int | float] = {}
    if keys.CPU in requests:
        cpu = quantities.parse(requests[keys.CPU])
        amounts["cpu"] = int(cpu) if cpu.denominator == 1 else float(cpu)
    if keys.MEMORY in requests:
        amounts["memory"] = math.ceil(quantities.parse(requests[keys.MEMORY]) / _MEGABYTE)
    return amounts


def _pod(
    request: PodRequest,
    part: PodPart,
    arguments: Mapping[str, Any],
    pod: Mapping[str, Any],
    *,
    behind_wait: bool,
) -> dict[str, Any]:
    spec = dict(pod["spec"])
    if not named_by_policy(request):
        spec.pop("schedulerName", None)
    (main,) = spec["containers"]
    main = {**main, **filled({"env": part.env_list()})}
    amounts = {**_DEFAULTS, **{key: arguments[key] for key in _DEFAULTS if key in arguments}}
    requests = {
        keys.CPU: str(amounts["cpu"]),
        keys.MEMORY: f"{amounts['memory']}M",
        "ephemeral-storage": f"{amounts['disk']}M",
    }
    main["resources"] = merge(main.get("resources", {}), {"requests": requests})
    spec["containers"] = [{"name": "wait"}, main] if behind_wait else [main]
    return {"apiVersion": "v1", "kind": "Pod", **pod, "spec": spec}


def _placement(request: PodRequest, part: PodPart, target: str, parallel: bool) -> dict[str, str]:
    owner = "JobSet" if parallel else None if target == "argo" else "Job"
    where = f"{owner} and pod" if owner else "pod"
    placed = {key: where for group in part.metadata(owns_itself=True).values() for key in group}
    placed |= {key: "pod" for key in part.spec() if key != "schedulerName"}
    main = f"container {part.container}" if part.container else "main container of the pod"
    placed |= dict.fromkeys(part.container_fields(), main)
    if named_by_policy(request):
        placed["schedulerName"] = "pod, by the policy in cluster_objects"
    return placed


_NO_LIMIT = (
    "Metaflow sets all limits to the requests, or none",
    "write qos='Guaranteed' in @kubernetes to set all",
)
_NO_ARGUMENT = {
    "runtime_class": (
        "Metaflow has no argument for a runtime class",
        "omit it: KAI sets its own for pods with a part of a GPU",
    ),
    "claim": ("Metaflow has no argument for resource claims", "write gpus= or gpu_fraction="),
    "cpu_limit": _NO_LIMIT,
    "memory_limit": _NO_LIMIT,
}


def _unsupported(request: PodRequest, target: str, parallel: bool) -> Iterator[Unsupported]:
    if request.scheduler_name != DEFAULT_SCHEDULER:
        yield scheduler_name_unsupported(request, "Metaflow has no argument for a scheduler's name")
    if request.is_gang and not parallel:
        yield Unsupported("gang_min", "a step is one pod", "use @parallel, and deploy it with Argo")
    elif request.gang_min is not None and parallel and target == "job":
        yield Unsupported(
            "gang_min",
            "Metaflow's JobSet creates its workers only when its first pod runs",
            "deploy the flow with argo-workflows create: there they start together",
        )
    yield from unsupported_in(request, _NO_ARGUMENT)
    if target == "argo" and any("tolerationSeconds" in each for each in request.tolerations):
        yield Unsupported(
            "tolerations",
            "Metaflow writes tolerationSeconds for Argo in a spelling that Argo does not read",
            "omit it, which tolerates the taint forever",
        )
    if without_mounts(request) is not request:
        yield Unsupported(
            "isolation",
            "Metaflow cannot mount directories of the node",
            "write isolation='none' and name the framework=",
        )


def _warnings(request: PodRequest, target: str, parallel: bool) -> list[str]:
    warnings = []
    if request.gpu_kind != "none":
        warnings.append(
            "omit gpu= in @resources: it takes precedence over that of @kubernetes, and gpu=0 would"
            " also be a limit"
        )
    if target == "argo":
        warnings.append(
            "steps without @kubernetes use the default scheduler, unless"
            " METAFLOW_KUBERNETES_LABELS names the queue for all steps"
        )
    if parallel and target == "argo" and request.gang_min is not None:
        warnings.append(
            "KAI starts all pods of the step together, whatever gang_min is: Metaflow cannot lower"
            " this number"
        )
    return warnings
