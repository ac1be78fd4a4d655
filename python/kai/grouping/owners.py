"""What owns a pod: its owner references, up to the object that its pod group is named after.

    owner = top_owner(pod, owners)     # owners: all that is known, by kind, namespace and name
    owner.key, owner.group_name        # ("Job", "ml", "train"), "pg-train-1a2b"

Spec 6 C25-C28 says which kinds are looked through, and which split their pods into several groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kai.api import defaults, keys, kinds
from kai.api.reading import annotations_of, at, first_text, labels_of, text

Manifest = Mapping[str, Any]
Key = tuple[str, str, str]  # kind, namespace, name


@dataclass(frozen=True, slots=True)
class Owner:
    """The object a group is named after: known from the input, or from a reference alone."""

    key: Key
    uid: str  # "" when the object was written by hand
    manifest: Manifest
    labels: Mapping[str, Any]
    annotations: Mapping[str, Any]
    priority_class: str = defaults.TRAIN  # when neither it nor its pods name one
    replica: str = ""  # which of its groups this is, where a replica is a group: "0", "1", ...

    @property
    def group_name(self) -> str:
        name = f"pg-{self.key[2]}" + (f"-{self.uid}" if self.uid else "")
        return name + (f"-group-{self.replica}" if self.replica else "")


def key_of(kind: str, manifest: Manifest) -> Key:
    return (
        kind,
        text(at(manifest, "metadata", "namespace")),
        text(at(manifest, "metadata", "name")),
    )


def top_owner(pod: Manifest, owners: Mapping[Key, Manifest]) -> Owner:
    """What the pod is grouped by: where its first owner references end, or itself (C25-C28)."""
    key = key_of("Pod", pod)
    namespace = key[1]
    chain = [_as_owner(key, text(at(pod, "metadata", "uid")), pod)]
    while len(chain) < 10 and (reference := first_owner(chain[-1].manifest)):
        key = (text(reference.get("kind")), namespace, text(reference.get("name")))
        found = owners.get(key, {})
        uid = first_text(at(found, "metadata", "uid"), reference.get("uid"))
        chain.append(_as_owner(key, uid, found))
    top = chain[-1]
    kind = top.key[0]
    if kind == "CronJob" and len(chain) > 2:
        return chain[-2]  # each run is a group of its own
    if kind == "Deployment" or (
        kind == "ReplicaSet" and keys.POD_TEMPLATE_HASH_LABEL in labels_of(pod)
    ):
        # Each pod is a group of its own, with what the Deployment says.
        said = (top.labels, top.annotations)
        priority = kinds.KINDS["Deployment"].priority
        return Owner(chain[0].key, chain[0].uid, pod, *said, priority)
    return _replica(pod, top, owners)


def _replica(pod: Manifest, top: Owner, owners: Mapping[Key, Manifest]) -> Owner:
    """Every replica of a LeaderWorkerSet is a group of its own (spec 4 G7).

    Its pods name it in a label, too, for inputs without the StatefulSets that stand in between.
    """
    kind = "LeaderWorkerSet"
    key: Key = (kind, top.key[1], text(labels_of(pod).get(keys.LWS_NAME_LABEL)))
    if top.key[0] != kind and (found := owners.get(key)):
        top = _as_owner(key, text(at(found, "metadata", "uid")), found)
    if top.key[0] != kind:
        return top
    index = str(labels_of(pod).get(keys.LWS_GROUP_INDEX_LABEL))
    return replace(top, replica=index) if index.isdecimal() else top


def _as_owner(key: Key, uid: str, manifest: Manifest) -> Owner:
    said = (dict(labels_of(manifest)), dict(annotations_of(manifest)))
    return Owner(key, uid, manifest, *said, kinds.known(key[0]).priority)


def first_owner(manifest: Manifest) -> Manifest | None:
    references = at(manifest, "metadata", "ownerReferences")
    first = references[0] if isinstance(references, list) and references else None
    return first if isinstance(first, Mapping) else None
