"""Settings that are written on a workload outside its pod templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kai.api import keys, rules
from kai.api.kinds import MIN_AVAILABLE, Kind
from kai.integrations.placement import Placement
from kai.integrations.workloads.pods import Found, found_in
from kai.settings import PodRequest, Unsupported, merge, pod_part


def owner_name(name: str, kind: Kind) -> str:
    if kind.owner == "metadata":
        return name
    return f"{kind.owner.removesuffix('.metadata')} of the {name}"


def merge_at(manifest: dict[str, Any], path: str, values: Mapping[str, Any]) -> None:
    *steps, last = path.split(".")
    at = manifest
    for step in steps:
        at[step] = at.get(step) or {}  # null means absent
        at = at[step]
    at[last] = merge(at.get(last) or {}, values)


def write_topology_of_part(
    found: Found, request: PodRequest, kind: Kind, placement: Placement
) -> list[Unsupported]:
    """The separate topology of one role (spec 7 R5, J7)."""
    part = pod_part(request.with_changes(gang_min=None), container=kind.container or "main")
    annotations = {"annotations": dict(part.owner_annotations)}
    if kind.owns_itself:
        return []  # written with the pod
    if kind.parts == "pod":
        merge_at(found.holder[found.key], "metadata", annotations)
        placement.of_metadata(annotations, "pod template")
    elif kind.parts == "job" and found.job is not None:
        merge_at(found.job, "metadata", annotations)
        placement.of_metadata(annotations, "template of the replicated job")
    else:
        reason = f"KAI reads one topology for the whole workload, not one for {found.role}"
        return [Unsupported("topology", reason, "write it in the request for the workload")]
    return []


def write_ray_gpus(found: Found, request: PodRequest) -> list[str]:
    """Ray counts the GPUs of a group from its limits, and only whole GPUs (spec 7 R4)."""
    group: Any = found.holder
    warnings: list[str] = []
    if request.gpu_kind == "none":
        return warnings
    # Whole numbers: half a GPU is an error in Ray's autoscaler.
    gpus = str(request.gpus if request.gpu_kind == "whole" else request.devices)
    counted = group.get("rayStartParams") or {}
    before = counted.get("num-gpus")
    if request.gpu_kind != "whole" or before is not None:
        group["rayStartParams"] = {**counted, "num-gpus": gpus}
        if before not in (None, gpus):
            warnings.append(f"num-gpus of Ray group {found.role} was {before}: it is {gpus} now")
    if "GPU" in (group.get("resources") or {}) and group["resources"]["GPU"] != gpus:
        warnings.append(f"GPU in the resources of Ray group {found.role} is {gpus} now")
        group["resources"] = {**group["resources"], "GPU": gpus}
    if request.gpu_kind == "claim":
        warnings.append("Ray counts one GPU for the claim: set num-gpus if the claim requests more")
    return warnings


def write_gang(
    manifest: dict[str, Any],
    name: str,
    kind: Kind,
    pods: int | None,
    roles: Mapping[str, int],
    placement: Placement,
) -> list[Unsupported]:
    """Writes how many pods of the workload start together, and how many of each role."""
    if kind.gang is None:
        return [Unsupported("gang_min", f"KAI reads no such number from a {name}", kind.gang_hint)]
    if kind.gang == "leaf":
        for each in found_in(manifest, kind):
            if each.job is None or each.role not in roles:
                continue
            if name == "JobSet":  # a runtime's is the number of nodes, which each TrainJob says
                at_once = each.job["spec"].get("parallelism", 1)
                what = f"replicated job {each.role}"
                _enough(what, "parallelism", roles[each.role], at_once)
            annotation = _min_member(roles[each.role])
            merge_at(each.job, "metadata", annotation)
            placement.of_metadata(annotation, "template of the replicated job")
        return []
    if pods is None or any(each != pods for each in roles.values()):
        reason = f"KAI reads one such number from a {name}, not one for a role"
        return [Unsupported("gang_min", reason, "write it in the request for the workload")]
    if kind.gang == "owner":
        at_once = manifest["spec"].get("parallelism", 1)
        _enough(name, "spec.parallelism", pods, at_once)
        merge_at(manifest, kind.owner, _min_member(pods))
        placement.of_metadata(_min_member(pods), name)
    else:
        _enough(name, "replicas", pods, sum(_replicas(each) for each in found_in(manifest, kind)))
        *steps, last = kind.gang.split(".")
        merge_at(manifest, ".".join(steps), {last: pods})
        placement.add(last, name)
    return []


def _min_member(pods: int) -> dict[str, dict[str, str]]:
    return {"annotations": {keys.BATCH_MIN_MEMBER_ANNOTATION: str(pods)}}


def _replicas(found: Found) -> int:
    role: Any = found.holder  # in which the template is
    return int(role.get("replicas", 1) or 0)


def empty_roles(name: str, kind: Kind, found: Iterable[Found]) -> Iterator[str]:
    """Roles of a training job without pods: KAI creates no pod group for such a job (spec 7 T5)."""
    if kind.gang != MIN_AVAILABLE:
        return
    for each in found:
        role: Any = each.holder
        if not role.get("replicas"):
            yield (
                f"role {each.role} of the {name} has no replicas, and KAI creates no pod group for"
                " it: write replicas of at least 1, or remove the role"
            )


def _enough(what: str, field: str, wanted: int, there: int) -> None:
    if wanted > there:
        raise rules.refuse(
            f"gang_min is {wanted}, and {what} has {there} pods at a time: write a gang_min of at"
            f" most that, or a larger {field}"
        )


def deadlines(value: Any, path: str = "") -> Iterator[str]:
    """Deadlines that end a workload while its pods wait (spec 7 B9). Those of pods are left out."""
    if isinstance(value, list):
        for at, each in enumerate(value):
            yield from deadlines(each, f"{path}[{at}]")
    if not isinstance(value, Mapping) or "containers" in value:
        return
    for key, each in value.items():
        inner = f"{path}.{key}" if path else key
        if key == "activeDeadlineSeconds":
            yield (
                f"{inner} is {each}, and counts the time that the pods wait in the queue: raise it"
                " by an hour or more"
            )
        yield from deadlines(each, inner)
