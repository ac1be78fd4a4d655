"""A whole workload with the settings of a request."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kai.api import defaults, keys, kinds, rules
from kai.api.fields import check_fields
from kai.api.kinds import Kind
from kai.api.reading import at
from kai.api.resources import new_object
from kai.errors import InvalidRequestError
from kai.integrations.placement import Placement
from kai.integrations.workloads.owner import (
    deadlines,
    empty_roles,
    merge_at,
    owner_name,
    write_gang,
    write_ray_gpus,
    write_topology_of_part,
)
from kai.integrations.workloads.pods import (
    Found,
    check_roles,
    found_in,
    with_settings,
    without_gpus,
)
from kai.settings import Built, PodPart, PodRequest, Unsupported, filled, native_or, pod_part
from kai.settings.native import to_native, to_plain


def patch(
    workload: Any,
    request: PodRequest,
    *,
    roles: Iterable[str] | None = None,
    requests: Mapping[str, PodRequest] | None = None,
    as_native: bool | None = None,
    strict: bool = False,
    orchestrator: str = "kubernetes",
) -> Built:
    """A workload with the settings; a manifest, or an object of the kubernetes client.

    roles: of its pods, those that get GPUs, such as ``["Worker"]``; None: those that usually do
    (not the head of a Ray cluster, nor the launcher of an MPIJob). The others get all but what goes
    with GPUs. requests: other settings for some roles.
    """
    plain = workload if isinstance(workload, Mapping) else to_plain(workload)
    manifest: dict[str, Any] = copy.deepcopy(dict(rules.mapping("the workload", plain)))
    name = str(manifest.get("kind") or type(workload).__name__.removeprefix("V1"))
    kind = kind_of(name)
    check_fields(_called(name, manifest), manifest)
    own = dict(requests or {})
    wanted = None if roles is None else [str(each) for each in roles]
    found = list(found_in(manifest, kind))
    check_roles(name, kind, found, [*(wanted or ()), *own])

    report = _Report()
    shown: tuple[bool, Mapping[str, Any]] | None = None
    gangs: dict[str, int] = {}  # of each role that has a number
    for each in found:
        takes_gpus = each.takes_gpus if wanted is None else each.role in wanted
        requested = own.get(each.role) or (request if takes_gpus else without_gpus(request))
        written = _write_role(each, requested, name, kind, each.role in own, report)
        takes_gpus = takes_gpus or requested.gpu_kind != "none"
        if requested.gang_min is not None and (takes_gpus or each.role in own):
            gangs[each.role] = requested.gang_min
        if requested.queue not in (None, request.queue):
            report.warn(
                f"{each.role} requests queue {requested.queue}: KAI puts a whole workload into one"
                f" queue, and uses {request.queue or defaults.DEFAULT_QUEUE} for this {name}"
            )
        if shown is None or (takes_gpus and not shown[0]):
            shown = (takes_gpus, written)

    _write_whole(manifest, request, name, kind, gangs, report)
    report.warn(*empty_roles(name, kind, found))
    if name != "Pod":
        report.warn(*deadlines(manifest))
    return Built(
        orchestrator=orchestrator,
        settings=manifest,
        native=_native(manifest, kind, as_native),
        pod=copy.deepcopy({**(shown[1] if shown else {}), "apiVersion": "v1", "kind": "Pod"}),
        placement=report.placement.written(),
        unsupported=tuple(report.unsupported),
        warnings=tuple(report.warnings),
    ).strict_if(strict)


class _Report:
    """The warnings, unsupported settings and placement of a workload, each once."""

    def __init__(self) -> None:
        self.warnings: dict[str, None] = {}
        self.unsupported: dict[Unsupported, None] = {}
        self.placement = Placement()

    def warn(self, *texts: str) -> None:
        self.warnings |= dict.fromkeys(texts)

    def lack(self, *unsupported: Unsupported) -> None:
        self.unsupported |= dict.fromkeys(unsupported)


def _write_role(
    each: Found, request: PodRequest, name: str, kind: Kind, is_own: bool, report: _Report
) -> Mapping[str, Any]:
    """Writes the settings into the pods of one role, and returns their template."""
    written, part, warnings, lost = with_settings(each.read(), request, kind, each.shape)
    each.write(written)
    report.warn(*part.warnings, *warnings)
    report.lack(*lost)
    report.placement.of_pod(part, name if name == "Pod" else "pod template", kind.owns_itself)
    if request.topology is not None and is_own:
        report.lack(*write_topology_of_part(each, request, kind, report.placement))
    if kind.ray:
        report.warn(*write_ray_gpus(each, request))
    return written


def _write_whole(
    manifest: dict[str, Any],
    request: PodRequest,
    name: str,
    kind: Kind,
    gangs: Mapping[str, int],
    report: _Report,
) -> None:
    """Writes the settings that all pods share: queue, priority, topology, and how many start."""
    part = pod_part(request.with_changes(gang_min=None), container=kind.container or "main")
    metadata = _owner_metadata(part, kind, request)
    if kind.owner and metadata:
        merge_at(manifest, kind.owner, metadata)
        report.placement.of_metadata(metadata, owner_name(name, kind))
    if request.topology is not None and not kind.topology:
        report.lack(
            Unsupported(
                "topology",
                f"KAI reads no topology from a {name}",
                "choose the nodes with node_selector=, or use a LeaderWorkerSet",
            )
        )
    if request.gang_min is not None or gangs:
        report.lack(*write_gang(manifest, name, kind, request.gang_min, gangs, report.placement))


def _owner_metadata(part: PodPart, kind: Kind, request: PodRequest) -> dict[str, Any]:
    metadata = {"labels": dict(part.owner_labels)}
    if not kind.owns_itself and kind.topology:
        metadata["annotations"] = dict(part.owner_annotations)
    if kind.queue_annotation is not None:  # without it the operator uses its own default
        queue = {kind.queue_annotation: request.queue or defaults.DEFAULT_QUEUE}
        metadata["annotations"] = {**metadata.get("annotations", {}), **queue}
    return filled(metadata)


def _called(kind: str, manifest: Mapping[str, Any]) -> str:
    name = at(manifest, "metadata", "name")
    return f"{kind} {name}" if isinstance(name, str) and name else f"the {kind}"


def kind_of(name: str) -> Kind:
    """What is known about a kind that `patch` accepts; raises InvalidRequestError for any other."""
    if name == "TrainJob":
        raise rules.refuse("a TrainJob has no pod template: use kai.integrations.trainer.build()")
    return kinds.WORKLOADS[rules.one_of("kind", name, kinds.WORKLOADS)]


def with_warnings(built: Built, *more: str, unsupported: Iterable[Unsupported] = ()) -> Built:
    every = (*built.unsupported, *unsupported)
    return replace(built, warnings=(*built.warnings, *more), unsupported=every)


def placed(built: Built, names: Iterable[str], place: str) -> Built:
    """With more keys, which were on an object before."""
    return replace(built, placement={**built.placement, **dict.fromkeys(names, place)})


def segment_annotations(
    request: PodRequest, size: int, required: str | None, preferred: str | None
) -> dict[str, str]:
    """The annotations that divide the workers of a PyTorchJob or LeaderWorkerSet into segments."""
    for level in (required, preferred):
        if level is not None:
            rules.qualified_name("level of segments", level)
    if (required or preferred) and request.topology is None:
        raise rules.refuse(
            "a level of segments needs a topology: write topology= and required_level= or"
            " preferred_level= in the request"
        )
    return filled(
        {
            keys.SEGMENT_SIZE_ANNOTATION: str(size),
            keys.SEGMENT_REQUIRED_ANNOTATION: required,
            keys.SEGMENT_PREFERRED_ANNOTATION: preferred,
        }
    )


def head(
    api: str, kind: str, name: str | None = None, namespace: str | None = None
) -> dict[str, Any]:
    """The beginning of a manifest; without a name it is for merging into one that has it."""
    if name is not None:
        rules.object_name("name", name)
    if namespace is not None:
        rules.dns_label("namespace", namespace)
    return new_object(kind, filled({"name": name, "namespace": namespace}), api_version=api)


def _native(manifest: Mapping[str, Any], kind: Kind, as_native: bool | None) -> Any:
    if kind.native is None:
        if as_native:
            raise rules.refuse("there are no Python classes for it: remove as_native")
        return manifest
    name = kind.native

    def made() -> Any:
        try:
            return to_native(name, manifest)
        except InvalidRequestError:
            if as_native:
                raise
            return manifest  # a template that something else completes

    return native_or(manifest, made, as_native=as_native, library="the package kubernetes")
