"""What the reader of plans refuses: the same reader, with the same sentence.

`kai plan` reads objects with the compiled core, which refuses wrong types and impossible values.
Lint gives it the objects, and the pods of templates, and reports what it leaves out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kai.admission.finding import Finding, Path, refusal
from kai.admission.pods import Pod
from kai.api import keys, kinds
from kai.api.reading import annotations_of, at, mapping, text


def check(manifest: Mapping[str, Any], pods: Iterable[Pod]) -> Iterator[Finding]:
    """The first problem of the object, and of each pod that it describes in a template."""
    kind = text(manifest.get("kind"))
    if kind in _ALONE and kinds.row_of_manifest(manifest) is not None:
        yield from _refused(kind, _ALONE[kind](manifest), ())
        if kind == "Pod":
            yield from _of_its_group(manifest, ())
    elif kind and kind not in kinds.LISTS and (pods := list(pods)):
        own = mapping(manifest.get("metadata"))
        named = {name: own[name] for name in _OF_ALL if name in own}
        yield from _refused("Pod", {"metadata": named, "spec": {}}, ())
        yield from _of_its_group(manifest, tuple(kinds.known(kind).owner.split(".")[:-1]))
        for pod in pods:
            if pod.spec:
                yield from _refused("Pod", {"metadata": pod.metadata, "spec": pod.spec}, pod.at)


def _of_its_group(manifest: Mapping[str, Any], owner_at: Path) -> Iterator[Finding]:
    """The annotations that the pod group gets from the owner of its pods."""
    annotations = annotations_of(at(manifest, *map(str, owner_at)))
    copied = {key: annotations[key] for key in _OF_GROUPS if key in annotations}
    if copied:
        yield from _refused("PodGroup", {"metadata": {"annotations": copied}, "spec": {}}, owner_at)


_OF_GROUPS = (
    keys.MIN_DOMAINS_ANNOTATION,
    keys.MAX_DOMAINS_ANNOTATION,
    keys.BALANCED_DOMAINS_ANNOTATION,
    keys.RUN_TIME_ESTIMATE_ANNOTATION,
)
_OF_ALL = ("name", "namespace", "uid", "creationTimestamp")
"""The metadata that plans read of every object."""


def _node(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Plans of manifests use the capacity of a node that has no allocatable amounts."""
    status = node.get("status")
    if not isinstance(status, Mapping):
        return node
    return {**node, "status": {"allocatable": status.get("capacity", {}), **status}}


def _queue(queue: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without its parent, which may be in another file."""
    spec = {
        name: each for name, each in mapping(queue.get("spec")).items() if name != "parentQueue"
    }
    return {**queue, "spec": spec}


def _same(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return manifest


_ALONE: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    **dict.fromkeys(kinds.LISTS, _same),
    "Node": _node,
    "Queue": _queue,
}
"""The kinds whose objects can be read without others, and what the reader gets of each."""


def _refused(kind: str, manifest: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    from kai import _core  # importing it takes longer than most checks

    # Names are checked elsewhere; a generated one is not known yet.
    metadata = {"name": "x", "namespace": "x", **mapping(manifest.get("metadata"))}
    named = {**manifest, "metadata": metadata}
    fix = "correct it: the API server refuses it, and plans leave the object out"
    try:
        snapshot = json.dumps({"rawObjects": {kinds.LISTS[kind]: [named]}}, default=_plain)
    except (TypeError, ValueError) as error:  # an object of Python with values that JSON lacks
        yield refusal("value-refused", where, f"it cannot be written as JSON: {error}", fix)
        return
    for _, _, field, message in _core.load_snapshot(snapshot.encode()).rejected:
        yield refusal("value-refused", (*where, *_path(field)), message, fix)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(f"{value!r} is not a value of Kubernetes")


_STEP = re.compile(r"\[(\d+)\]|\[\"?([^\]\"]+)\"?\]|([^.\[\]]+)")


def _path(field: str) -> Path:
    """
    >>> _path('spec.containers[0].resources.limits["nvidia.com/gpu"]')
    ('spec', 'containers', 0, 'resources', 'limits', 'nvidia.com/gpu')
    """
    return tuple(
        int(index) if index else quoted or name for index, quoted, name in _STEP.findall(field)
    )
