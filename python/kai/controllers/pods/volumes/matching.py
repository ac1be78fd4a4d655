"""Chooses the volume of a claim on a node: the smallest suitable one, or a new one.

The engine makes the related decision (cpp/kai/model/claims/volume_desk.cc): it decides which nodes
are suitable, not which volume.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kai.api.quantities import parse_or_zero
from kai.api.reading import annotations_of, at, labels_of, mapping, objects, text

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume that a claim may get. `claim`: namespace, name and UID of the claim it is
    reserved for; `affinity`: node terms, None: all nodes."""

    name: str
    uid: str
    version: str
    storage_class: str
    bytes: int
    access_modes: frozenset[str]
    is_block: bool
    labels: Mapping[str, Any]
    claim: tuple[str, str, str] | None
    is_available: bool
    affinity: tuple[Mapping[str, Any], ...] | None

    @classmethod
    def of(cls, manifest: Manifest) -> Volume | None:
        """None: no claim can get it."""
        metadata, spec = mapping(manifest.get("metadata")), mapping(manifest.get("spec"))
        phase = at(manifest, "status", "phase")
        reference = mapping(spec.get("claimRef"))
        if metadata.get("deletionTimestamp") or phase in ("Bound", "Released", "Failed"):
            return None
        name, namespace = text(reference.get("name")), text(reference.get("namespace"))
        return cls(
            name=text(metadata.get("name")),
            uid=text(metadata.get("uid")),
            version=text(metadata.get("resourceVersion")),
            storage_class=class_of(manifest),
            bytes=_bytes(at(spec, "capacity", "storage")),
            access_modes=frozenset(spec.get("accessModes") or ()),
            is_block=spec.get("volumeMode") == "Block",
            labels=labels_of(manifest),
            claim=(namespace, name, text(reference.get("uid"))) if name else None,
            is_available=phase == "Available",
            affinity=affinity_of(manifest),
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim as it is."""

    namespace: str
    name: str
    uid: str
    version: str
    storage_class: str
    volume: str
    is_bound: bool
    is_leaving: bool
    selected_node: str
    bytes: int
    access_modes: frozenset[str]
    is_block: bool
    selector: Mapping[str, Any]

    @classmethod
    def of(cls, manifest: Manifest) -> Claim:
        metadata, spec = mapping(manifest.get("metadata")), mapping(manifest.get("spec"))
        annotations, volume = annotations_of(manifest), text(spec.get("volumeName"))
        return cls(
            namespace=text(metadata.get("namespace")),
            name=text(metadata.get("name")),
            uid=text(metadata.get("uid")),
            version=text(metadata.get("resourceVersion")),
            storage_class=class_of(manifest),
            volume=volume,
            is_bound=bool(volume) and BIND_COMPLETED in annotations,
            is_leaving="deletionTimestamp" in metadata,
            selected_node=text(annotations.get(SELECTED_NODE)),
            bytes=_bytes(at(spec, "resources", "requests", "storage")),
            access_modes=frozenset(spec.get("accessModes") or ()),
            is_block=spec.get("volumeMode") == "Block",
            selector=mapping(spec.get("selector")),
        )


def claims_of(pod: Manifest) -> list[str]:
    """The names of the claims of a pod, including those of ephemeral volumes."""
    own = text(at(pod, "metadata", "name"))
    names = []
    for each in objects(at(pod, "spec", "volumes")):
        if name := at(each, "persistentVolumeClaim", "claimName"):
            names.append(str(name))
        elif "ephemeral" in each:
            names.append(f"{own}-{each.get('name', '')}")
    return list(dict.fromkeys(names))


def best(
    claim: Claim, volumes: Iterable[Volume], is_reached: Callable[[Volume], bool]
) -> Volume | None:
    """The best free volume for the claim; None: one must be created."""
    of_class = [each for each in volumes if each.storage_class == claim.storage_class]
    of_class.sort(key=lambda each: (each.bytes, each.name))
    own = [each for each in of_class if is_kept_for(each, claim) and _fits(claim, each)]
    if own:
        return own[0] if is_reached(own[0]) else None
    return next((each for each in of_class if _matches(each, claim) and is_reached(each)), None)


def is_kept_for(volume: Volume, claim: Claim) -> bool:
    if volume.claim is None:
        return False
    namespace, name, uid = volume.claim
    return (namespace, name) == (claim.namespace, claim.name) and uid in ("", claim.uid)


def _fits(claim: Claim, volume: Volume) -> bool:
    return volume.bytes >= claim.bytes and volume.is_block == claim.is_block


def _matches(volume: Volume, claim: Claim) -> bool:
    return (
        _fits(claim, volume)
        and volume.claim is None
        and volume.is_available
        and claim.access_modes <= volume.access_modes
        and is_selected(claim.selector, volume.labels)
    )


def class_of(manifest: Manifest) -> str:
    """The storage class of a volume or claim."""
    return text(annotations_of(manifest).get(STORAGE_CLASS)) or text(
        at(manifest, "spec", "storageClassName")
    )


def affinity_of(volume: Manifest) -> tuple[Mapping[str, Any], ...] | None:
    required = at(volume, "spec", "nodeAffinity", "required")
    if not isinstance(required, Mapping):
        return None
    return tuple(objects(required.get("nodeSelectorTerms")))


def is_on(affinity: tuple[Mapping[str, Any], ...] | None, node: Manifest) -> bool:
    """Whether the node can reach a volume with that affinity."""
    if affinity is None:
        return True
    labels, fields = labels_of(node), {"metadata.name": at(node, "metadata", "name")}
    return any(
        all(_meets(each, labels) for each in objects(term.get("matchExpressions")))
        and all(_meets(each, fields) for each in objects(term.get("matchFields")))
        for term in affinity
        if term.get("matchExpressions") or term.get("matchFields")
    )


def is_selected(selector: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    """Whether a label selector matches."""
    wanted = mapping(selector.get("matchLabels"))
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _meets(each, labels) for each in objects(selector.get("matchExpressions"))
    )


def _meets(requirement: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    operator, values = requirement.get("operator"), requirement.get("values") or []
    value = labels.get(text(requirement.get("key")))
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    try:
        one, other = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return one > other if operator == "Gt" else operator == "Lt" and one < other


def _bytes(amount: Any) -> int:
    return int(parse_or_zero(amount))
