"""The pods that a manifest describes, one description at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

from kai.api import rules
from kai.api.kinds import Kind, Pods
from kai.integrations.workloads.shapes import SHAPES, Shape
from kai.settings import PodPart, PodRequest, Unsupported, merge_into_pod, platforms, pod_part
from kai.settings.native import to_plain


@dataclass(frozen=True, slots=True)
class Found:
    """One description of pods in a manifest."""

    holder: MutableMapping[str, Any] | list[Any]
    key: Any
    role: str
    pods: Pods
    job: dict[str, Any] | None = None  # the template of the replicated job that has it

    @property
    def shape(self) -> Shape | None:
        """How the pods are described; None: as a pod template."""
        return SHAPES.get(self.pods.shape)

    @property
    def takes_gpus(self) -> bool:
        return self.pods.gpu and self.role not in self.pods.no_gpu and not self._is_of_other_type

    @property
    def _is_of_other_type(self) -> bool:
        field = self.pods.type_field
        if not field or self.key is None:
            return False
        places = (self.holder, self.holder[self.key])
        return any(
            isinstance(each, Mapping) and each.get(field) in self.pods.no_gpu for each in places
        )

    def read(self) -> dict[str, Any]:
        """As a pod template, without null fields (null means absent)."""
        described = self.holder if self.key is None else self.holder[self.key]
        plain = to_plain(described or {})
        return self.shape.read(plain) if self.shape else dict(plain)

    def write(self, pod: Mapping[str, Any]) -> None:
        if self.key is None:
            self.holder.update(pod)  # type: ignore[union-attr] # a pod by itself
        elif self.shape:
            self.holder[self.key] = self.shape.write(to_plain(self.holder[self.key] or {}), pod)
        else:
            self.holder[self.key] = pod


def found_in(manifest: dict[str, Any], kind: Kind) -> Iterator[Found]:
    for pods in kind.pods:
        jobs = {}
        if kind.parts == "job":
            path = pods.path.removesuffix(".spec.template")
            for holder, key, _ in _walk(manifest, path, ""):
                jobs[id(holder[key].get("spec"))] = holder[key]
        for holder, key, role in _walk(manifest, pods.path, pods.role):
            described = holder if key is None else holder[key]
            if not pods.shape or SHAPES[pods.shape].is_pod(described):
                yield Found(holder, key, role, pods, jobs.get(id(holder)))


_STEP = re.compile(r"(\w+)(?:\[(\w+)\]|(\{\}))?")


def _walk(value: Any, path: str, role: str) -> Iterator[tuple[Any, Any, str]]:
    """Holder and key of each mapping at a path, and the role that the path gives it."""
    if not path:
        yield value, None, role
        return
    step, _, rest = path.partition(".")
    name, named_by, entries = _STEP.fullmatch(step).groups()  # type: ignore[union-attr]
    inner: Any = value.get(name) if isinstance(value, Mapping) else None
    items: list[tuple[Any, Any, str]]
    if named_by:
        items = [(inner, at, str(each.get(named_by, at))) for at, each in enumerate(inner or [])]
    elif entries:
        items = [(inner, key, key) for key in inner or {}]
    else:
        items = [(value, name, role)] if isinstance(inner, Mapping) else []
    for holder, key, known in items:
        if rest:
            yield from _walk(holder[key], rest, known)
        else:
            yield holder, key, known


_ENTRY = re.compile(r"\[\w+\]")


def check_roles(name: str, kind: Kind, found: Iterable[Found], roles: Iterable[str]) -> None:
    known = [each.role for each in found]
    if not known:
        paths = " or ".join(_ENTRY.sub("[]", each.path).replace("{}", ".*") for each in kind.pods)
        raise rules.refuse(f"this {name} describes no pods: write them at {paths}")
    for role in roles:
        if role not in known:
            raise rules.refuse(f"this {name} has no role {role!r}: write one of {', '.join(known)}")


def with_settings(
    pod: dict[str, Any], request: PodRequest, kind: Kind, shape: Shape | None
) -> tuple[dict[str, Any], PodPart, list[str], list[Unsupported]]:
    names = [each.get("name") for each in pod.get("spec", {}).get("containers") or []]
    own = kind.container if not names or kind.container in names else names[0]
    part = pod_part(request.with_changes(gang_min=None), container=own)
    lost = []
    for setting, hint in (shape.no_field_for if shape else {}).items():
        if getattr(part, setting):
            nothing: dict[str, Any] = {setting: None if setting == "runtime_class" else ()}
            if setting == "volumes":
                nothing["volume_mounts"] = ()
            part = replace(part, **nothing)
            argument = _ARGUMENT.get(setting, setting)
            lost.append(Unsupported(argument, "there is no field for it", hint))
    merged, warnings = merge_into_pod(
        pod, part, container=part.container if names else None, owns_itself=kind.owns_itself
    )
    return merged, part, [*warnings], lost


_ARGUMENT = {"resource_claims": "claim", "volumes": "isolation"}


def without_gpus(request: PodRequest) -> PodRequest:
    """The request for a pod without GPUs in the same workload, such as a launcher: without the
    settings for GPUs, and without the CPU and memory, which are for the pods with GPUs."""
    if request.gpu_kind == "none":
        return request
    platform = platforms.PLATFORMS[request.platform or "generic"]
    gone = {
        label
        for label, value in (
            (platform.gpu_type_label, request.gpu_type),
            (platform.pool_label, request.node_pool),
        )
        if value is not None
    }
    return request.with_changes(
        gpu_fraction=None, gpu_memory=None, gpus=None, mig=None, claim=None,
        devices=1, mps=False, gpu_type=None, node_pool=None, container=None,
        node_selector={k: v for k, v in request.node_selector.items() if k not in gone},
        tolerations=[t for t in request.tolerations if t != platforms.GPU_TOLERATION],
        cpu=None, memory=None, cpu_limit=None, memory_limit=None,
        framework=None, isolation="none", style="legacy", compute_sharing=None, runtime_class=None,
    )  # fmt: skip
