"""The pods that a manifest describes, one description at a time."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

from kai.integrations.native import to_plain
from kai.integrations.workloads.kinds import Kind, Pods
from kai.integrations.workloads.shapes import Shape
from kai.settings import (
    PodPart,
    PodRequest,
    Unsupported,
    filled,
    merge_into_pod,
    platforms,
    pod_part,
    rules,
)
from kai.settings.merging import is_gpu_resource


@dataclass(frozen=True, slots=True)
class Found:
    """One description of pods in a manifest."""

    holder: MutableMapping[str, Any] | list[Any]
    key: Any
    role: str
    pods: Pods
    job: dict[str, Any] | None = None  # the template of the replicated job that has it

    @property
    def takes_gpus(self) -> bool:
        return self.pods.gpu and self.role not in self.pods.no_gpu

    def read(self) -> dict[str, Any]:
        """As a pod template, without fields that are null, which is as if they were not there."""
        described = self.holder if self.key is None else self.holder[self.key]
        plain = to_plain(described or {})
        return self.pods.shape.read(plain) if self.pods.shape else dict(plain)

    def write(self, pod: Mapping[str, Any]) -> None:
        if self.key is None:
            self.holder.update(pod)  # type: ignore[union-attr] # a pod by itself
        elif self.pods.shape:
            self.holder[self.key] = self.pods.shape.write(
                to_plain(self.holder[self.key] or {}), pod
            )
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
            if pods.shape is None or pods.shape.is_pod(described):
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


def check_roles(name: str, kind: Kind, found: Iterable[Found], asked: Iterable[str]) -> None:
    known = [each.role for each in found]
    if not known:
        paths = " or ".join(_ENTRY.sub("[]", each.path).replace("{}", ".*") for each in kind.pods)
        raise rules.refuse(f"this {name} describes no pods: write them at {paths}")
    for role in asked:
        if role not in known:
            raise rules.refuse(f"this {name} has no role {role!r}: write one of {', '.join(known)}")


def with_settings(
    pod: dict[str, Any], asked: PodRequest, kind: Kind, shape: Shape | None
) -> tuple[dict[str, Any], PodPart, list[str], list[Unsupported]]:
    names = [each.get("name") for each in pod.get("spec", {}).get("containers") or []]
    own = kind.container if not names or kind.container in names else names[0]
    part = pod_part(asked.with_changes(gang_min=None), container=own)
    lost = []
    for setting, hint in (shape.no_field_for if shape else {}).items():
        if getattr(part, setting):
            nothing: dict[str, Any] = {setting: None if setting == "runtime_class" else ()}
            if setting == "volumes":
                nothing["volume_mounts"] = ()
            part = replace(part, **nothing)
            argument = _ARGUMENT.get(setting, setting)
            lost.append(Unsupported(argument, "there is no field for it", hint))
    pod, said = _one_kind_of_gpus(pod, asked)
    merged, more = merge_into_pod(
        pod, part, container=part.container if names else None, owns_itself=kind.owns_itself
    )
    return _without_empty(merged), part, [*said, *more], lost


_ARGUMENT = {"resource_claims": "claim", "volumes": "isolation"}


def _one_kind_of_gpus(
    pod: Mapping[str, Any], asked: PodRequest
) -> tuple[dict[str, Any], list[str]]:
    """Without GPUs of another kind than it asks for now (C1); beside a part of one, merging sees to
    that."""
    cleaned = copy.deepcopy(dict(pod))
    said: list[str] = []
    if asked.gpu_kind not in ("whole", "mig", "claim"):
        return cleaned, said
    asks = pod_part(asked).resources.get("limits", {})
    for each in _containers(cleaned):
        for kind, amounts in (each.get("resources") or {}).items():
            if kind not in ("limits", "requests"):
                continue
            for key in [key for key in amounts if is_gpu_resource(key)]:
                if key in asks and (kind == "limits" or amounts[key] == asks[key]):
                    continue
                said.append(
                    f"{key}: {amounts.pop(key)} in the {kind} of container {each.get('name')} was"
                    " taken away: the pod asks for GPUs in another way"
                )
    return cleaned, said


def _containers(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    spec = pod.get("spec", {})
    return [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]


def _without_empty(pod: dict[str, Any]) -> dict[str, Any]:
    """Without what is left of maps from which something was taken."""
    metadata = pod["metadata"]
    if metadata.get("annotations") == {}:
        del metadata["annotations"]
    for each in _containers(pod):
        if "resources" in each:
            each["resources"] = filled(each["resources"])
            if not each["resources"]:
                del each["resources"]
    return pod


def without_gpus(request: PodRequest) -> PodRequest:
    """The same for a pod beside the ones that take the GPUs, such as a launcher: without what goes
    with a GPU, and without the processors and memory that are meant for the others."""
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
