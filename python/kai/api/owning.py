"""Owners of pods in files, which often lack the objects between a workload and its pods.

    owners = Owners(objects)                    # by kind, namespace and name
    pod = owners.completed(pod)                 # with an owner reference, if a workload selects it
    owners.find("ReplicaSet", "ml", "web-6c5", pod)    # {"metadata": {"ownerReferences": [...]}}

`kubectl get deployments,pods` prints no ReplicaSets, and a Git repository has no Jobs of a CronJob.
A missing object is replaced by a stand-in: a manifest that names its owner and has its labels. The
owner is found by labels that its controller gives to all its pods, by the name of the missing
object, or by the selector of a Deployment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kai.api import keys, kinds
from kai.api.reading import at, labels_of, mapping, objects, text

Manifest = Mapping[str, Any]
Key = tuple[str, str, str]  # kind, namespace, name


class Owners:
    """The objects of an input that may own pods."""

    def __init__(self, known: Mapping[Key, Manifest]) -> None:
        self._known = known
        self._selectors = _selectors_of(known)
        self._naming: dict[tuple[str, str], list[Key]] = {}
        for key in sorted(each for each in known if each[0] in _NAMES):
            self._naming.setdefault(key[:2], []).append(key)

    def completed(self, pod: Manifest) -> Manifest:
        """The pod; if it has no owner reference, with one to the workload that it belongs to."""
        if at(pod, "metadata", "ownerReferences"):
            return pod
        found = self._by_label(_namespace(pod), labels_of(pod), _LABELLED)
        owner = found or next(iter(self.selecting(pod)), None)
        return pod if owner is None else _with_owner(pod, self._reference(owner))

    def guessed(self, pod: Manifest) -> list[Key]:
        """The workloads that may own the pod, if only their selectors say so; the first is used."""
        reference = next(iter(objects(at(pod, "metadata", "ownerReferences"))), None)
        if reference is None:
            found = self._by_label(_namespace(pod), labels_of(pod), _LABELLED)
            return [] if found else self.selecting(pod)
        named = (text(reference.get("kind")), _namespace(pod), text(reference.get("name")))
        if named in self._known or self._by_name(*named, pod):
            return []
        through = _THROUGH.get(named[0], ())
        selecting = [key for key in self.selecting(pod) if key[0] in through]
        return selecting if len(selecting) > 1 else []

    def selecting(self, pod: Manifest) -> list[Key]:
        """The workloads whose selectors match the labels of a pod, in the order of their names."""
        labels, namespace = labels_of(pod), _namespace(pod)
        return sorted(
            key
            for label, value in (*labels.items(), _NO_LABEL)
            for key, selector in self._selectors.get((namespace, label, text(value)), ())
            if selects(selector, labels)
        )

    def find(self, kind: str, namespace: str, name: str, pod: Manifest) -> Manifest:
        """The object above this pod, or its stand-in; {} if its owner is not in the input, too."""
        found = self._known.get((kind, namespace, name))
        if found is not None and at(found, "metadata", "ownerReferences"):
            return found
        above = self._above(kind, namespace, name, pod, is_missing=found is None)
        if above is None:
            return found or {}
        given = _stand_in(above[0], self._known[above]) if found is None else found
        return _with_owner(given, self._reference(above))

    def _above(
        self, kind: str, namespace: str, name: str, pod: Manifest, *, is_missing: bool
    ) -> Key | None:
        through = _THROUGH.get(kind, ())
        if found := self._by_name(kind, namespace, name, pod, is_missing=is_missing):
            return found
        selecting = self.selecting(pod) if is_missing else ()
        return next((key for key in selecting if key[0] in through), None)

    def _by_name(
        self, kind: str, namespace: str, name: str, pod: Manifest, *, is_missing: bool = True
    ) -> Key | None:
        labels, through = labels_of(pod), _THROUGH.get(kind, ())
        if found := self._by_label(namespace, labels, through):
            return found
        template = text(labels.get(keys.POD_TEMPLATE_HASH_LABEL))
        named = ("Deployment", namespace, name.removesuffix(f"-{template}"))
        if kind == "ReplicaSet" and template and named in self._known:
            return named
        # The name alone does not prove that an object without an owner reference has an owner.
        for above in through if is_missing else ():
            for key in self._naming.get((above, namespace), ()):
                if _NAMES[above](self._known[key], key[2], name):
                    return key
        return None

    def _by_label(self, namespace: str, labels: Manifest, through: Sequence[str]) -> Key | None:
        for kind in through:
            for label in kinds.known(kind).pod_labels:
                key = (kind, namespace, text(labels.get(label)))
                if key in self._known:
                    return key
        return None

    def _reference(self, key: Key) -> dict[str, Any]:
        manifest = self._known[key]
        reference = {"apiVersion": text(manifest.get("apiVersion")), "kind": key[0], "name": key[2]}
        uid = text(at(manifest, "metadata", "uid"))
        return {**reference, **({"uid": uid} if uid else {}), "controller": True}


def selects(selector: Manifest, labels: Manifest) -> bool:
    """Whether a label selector matches; an empty one matches nothing, as for a Deployment."""
    wanted = mapping(selector.get("matchLabels"))
    expressions = objects(selector.get("matchExpressions"))
    return bool(wanted or expressions) and (
        all(labels.get(key) == value for key, value in wanted.items())
        and all(_meets(each, labels) for each in expressions)
    )


def _meets(expression: Manifest, labels: Manifest) -> bool:
    value, values = labels.get(text(expression.get("key"))), expression.get("values")
    listed = value is not None and isinstance(values, list) and value in values
    return {
        "In": listed,
        "NotIn": not listed,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(text(expression.get("operator")), False)


def _namespace(manifest: Manifest) -> str:
    return text(at(manifest, "metadata", "namespace"))


def _with_owner(manifest: Manifest, reference: Manifest) -> Manifest:
    metadata = {**mapping(manifest.get("metadata")), "ownerReferences": [reference]}
    return {**manifest, "metadata": metadata}


def _selectors_of(
    known: Mapping[Key, Manifest],
) -> dict[tuple[str, str, str], list[tuple[Key, Manifest]]]:
    """The selectors of workloads, by their namespace and the first label that they require."""
    found: dict[tuple[str, str, str], list[tuple[Key, Manifest]]] = {}
    for key, manifest in known.items():
        if key[0] not in _SELECTING:
            continue
        selector = mapping(at(manifest, "spec", "selector"))
        if key[0] == "ReplicationController":  # it has labels only
            selector = {"matchLabels": selector}
        first = next(iter(mapping(selector.get("matchLabels")).items()), _NO_LABEL)
        found.setdefault((key[1], first[0], text(first[1])), []).append((key, selector))
    return found


_SELECTING = ("DaemonSet", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_NO_LABEL = ("", "")  # of a selector with expressions only


def _stand_in(kind: str, workload: Manifest) -> Manifest:
    """What a controller would write into an object between a workload and its pods."""
    row = kinds.known(kind)
    if row.ray:
        return {"spec": mapping(at(workload, *row.ray.split(".")))}
    if row.owner != "metadata":
        return mapping(at(workload, *row.owner.split(".")[:-1]))
    return {}


# ---- names ---------------------------------------------------------------------------------------


def _is_run_of(_: Manifest, workload: str, name: str) -> bool:
    """A CronJob adds the time in minutes to its name."""
    return re.fullmatch(rf"{re.escape(workload)}-[0-9]+", name) is not None


def _is_cluster_of(manifest: Manifest, workload: str, name: str) -> bool:
    """A RayJob or RayService adds five letters; the Job that submits a RayJob has its name."""
    status = mapping(manifest.get("status"))
    services = (status.get("activeServiceStatus"), status.get("pendingServiceStatus"))
    if name in (workload, *(at(each, "rayClusterName") for each in (status, *services))):
        return True
    return re.fullmatch(rf"{re.escape(workload)}-(raycluster-)?[a-z0-9]{{5}}", name) is not None


_NAMES: Mapping[str, Callable[[Manifest, str, str], bool]] = {
    "CronJob": _is_run_of,
    "RayJob": _is_cluster_of,
    "RayService": _is_cluster_of,
}
"""Workloads whose objects do not label their pods with its name."""

_LABELLED = tuple(kind for kind, row in kinds.KINDS.items() if row.pod_labels)
_THROUGH: dict[str, tuple[str, ...]] = {
    between: tuple(kind for kind, row in kinds.KINDS.items() if between in row.through)
    for between in {each for row in kinds.KINDS.values() for each in row.through}
}
