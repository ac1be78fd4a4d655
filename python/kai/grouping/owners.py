"""Finds the owner of a pod: follows owner references to the object that names its pod group.

    owner = top_owner(pod, owners)     # owners: all known objects, by kind, namespace and name
    owner.key, owner.group_name        # ("Job", "ml", "train"), "pg-train-1a2b"

In a cluster, owners are found one by one: `chain_of` calls a function for each, and `owner_of`
picks from the chain. Spec 6 C25-C28 defines the kinds that are skipped, and the kinds whose pods
are split into several groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kai.api import defaults, keys, kinds
from kai.api.names import LONGEST_NAME, fitting, object_name
from kai.api.owning import Key, Manifest, Owners
from kai.api.reading import annotations_of, at, labels_of, objects, text
from kai.grouping.replicas import InvalidField

MOST_OWNERS = 10
"""The longest chain of owner references; objects may own each other."""


class Reference(NamedTuple):
    """An owner, as an owner reference names it."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Owner:
    """The object that names a group: known from the input, or only from a reference."""

    key: Key
    uid: str  # "" if the object was written by hand
    manifest: Manifest
    labels: Mapping[str, Any]
    annotations: Mapping[str, Any]
    priority_class: str = defaults.TRAIN  # if neither it nor its pods name one
    replica: str = ""  # which group, if each replica is a group: "0", "1", ...
    api_version: str = ""
    named: str = ""  # name of the group, if it does not follow from the owner
    described: Reference | None = None  # the owner in the annotation, if it differs
    ray_cluster: Manifest = field(default_factory=dict)  # of a Ray kind; {} if unknown
    pod_gang: Owner | None = None  # of a workload of Grove: the gang that the pod names

    @property
    def group_name(self) -> str:
        if self.named:
            return object_name(self.named)
        return name_of_group(self.key[2], self.uid, self.replica)

    @property
    def reference(self) -> Reference:
        return Reference(self.api_version, *self.key, self.uid)

    @property
    def row(self) -> kinds.Kind:
        """The row of its kind; the default row if its API group differs."""
        return row_of(self.key[0], self.api_version)


def name_of_group(owner: str, uid: str, replica: str = "") -> str:
    """The name of the group of an owner, or of one replica of it; the name of the owner is cut if
    it is too long.

    >>> name_of_group("train", "1a2b", "3")
    'pg-train-1a2b-group-3'
    """
    end = (f"-{uid}" if uid else "") + (f"-group-{replica}" if replica else "")
    return f"pg-{fitting(owner, LONGEST_NAME - len('pg-') - len(end))}{end}"


def row_of(kind: str, api_version: str) -> kinds.Kind:
    """The row of a kind, if the API group matches; "" matches every group."""
    row = kinds.known(kind)
    foreign = api_version and kinds.group_of(api_version) != row.group
    return kinds.known("") if foreign and kind not in _OF_SEVERAL_GROUPS else row


_OF_SEVERAL_GROUPS = frozenset(("Service",))  # an owner named Service is Knative's


def key_of(kind: str, manifest: Manifest) -> Key:
    return (
        kind,
        text(at(manifest, "metadata", "namespace")),
        text(at(manifest, "metadata", "name")),
    )


# ---- the walk ------------------------------------------------------------------------------------


def chain_of(pod: Manifest, find: Callable[[Reference], Manifest | None]) -> list[Owner]:
    """The pod and its owners, nearest first (spec 6 C25).

    `find` returns the manifest of an owner, {} if only the reference is known, or None to end the
    chain before this owner; an exception of `find` is passed on. Raises InvalidField for an owner
    that has several owners and no controller among them.
    """
    chain = [_as_owner(Reference("v1", *key_of("Pod", pod), _uid(pod)), pod)]
    reference = reference_of(pod)
    while reference is not None and len(chain) < MOST_OWNERS:
        found = find(reference)
        if found is None:
            break
        chain.append(_as_owner(reference._replace(uid=_uid(found) or reference.uid), found))
        if chain[-1].row.group == _GROVE:
            chain[-1] = _with_pod_gang(chain[-1], pod, find)
        reference = _reference_of_owner(chain[-1])
    return chain


_GROVE = "grove.io"


def _with_pod_gang(
    owner: Owner, pod: Manifest, find: Callable[[Reference], Manifest | None]
) -> Owner:
    """A workload of Grove, with the PodGang that a label of the pod names (spec 6 C28e)."""
    name = text(labels_of(pod).get(keys.GROVE_GANG_LABEL))
    reference = Reference(_POD_GANG, "PodGang", owner.key[1], name, "")
    found = find(reference) if name else None
    if found is None:
        return owner
    gang = _as_owner(reference._replace(uid=_uid(found)), found)
    named = text(at(found, "spec", "priorityClassName"))
    return replace(owner, pod_gang=replace(gang, priority_class=named or gang.priority_class))


_POD_GANG = "scheduler.grove.io/v1alpha1"


def reference_of(pod: Manifest) -> Reference | None:
    """The first owner of a pod, if it has one."""
    first = first_owner(pod)
    return None if first is None else _as_reference(first, text(at(pod, "metadata", "namespace")))


def _reference_of_owner(owner: Owner) -> Reference | None:
    several = objects(at(owner.manifest, "metadata", "ownerReferences"))
    if len(several) > 1:
        several = [each for each in several if each.get("controller") is True] or several
    if len(several) > 1:
        kind, namespace, name = owner.key
        names = ", ".join(f"{text(each.get('kind'))} {text(each.get('name'))}" for each in several)
        problem = f"found {kind} <{name} in namespace {namespace}> with multiple owners: [{names}]"
        raise InvalidField("metadata.ownerReferences", problem)
    return _as_reference(several[0], owner.key[1]) if several else None


def _as_reference(given: Manifest, namespace: str) -> Reference:
    version, kind, name, uid = (text(given.get(each)) for each in _MEMBERS)
    return Reference(version, kind, namespace, name, uid)


_MEMBERS = ("apiVersion", "kind", "name", "uid")


def _uid(manifest: Manifest) -> str:
    return text(at(manifest, "metadata", "uid"))


def _as_owner(reference: Reference, manifest: Manifest) -> Owner:
    version, kind, namespace, name, uid = reference
    version = text(manifest.get("apiVersion")) or version
    priority = row_of(kind, version).priority
    metadata = (labels_of(manifest), annotations_of(manifest))
    return Owner((kind, namespace, name), uid, manifest, *metadata, priority, api_version=version)


def first_owner(manifest: Manifest) -> Manifest | None:
    references = at(manifest, "metadata", "ownerReferences")
    first = references[0] if isinstance(references, list) and references else None
    return first if isinstance(first, Mapping) else None


# ---- which of the chain --------------------------------------------------------------------------


def owner_of(chain: Sequence[Owner]) -> Owner:
    """The owner by which the pod at the start of the chain is grouped (spec 6 C26-C28)."""
    pod = chain[0]
    if len(chain) == 1:
        return _of_spark(pod, pod)
    last = len(chain) - 1
    top = chain[last]
    while last and top.row.looked_through:
        last -= 1
        top = _with_settings(chain[last], top)
    if top.pod_gang is not None:
        # The settings of the workload come before those of its gang.
        labels = {**top.pod_gang.labels, **top.labels}
        annotations = {**top.pod_gang.annotations, **top.annotations}
        return replace(top.pod_gang, labels=labels, annotations=annotations)
    if last == 0 or top.key[0] == "Pod":
        return _of_spark(pod, top)
    if top.row.ray:
        return _of_ray(chain[: last + 1], top)
    kind = top.key[0] if top.row.group else ""
    if kind == "CronJob" and last > 1:
        return chain[last - 1]  # each run is its own group
    if kind == "Deployment":
        return by_itself(pod, top)
    if kind == "LeaderWorkerSet":
        return of_replica(pod, top)
    return top


def by_itself(pod: Owner, top: Owner) -> Owner:
    """The pod is its own group, with the settings of its Deployment."""
    return replace(
        pod,
        labels=top.labels,
        annotations=top.annotations,
        priority_class=kinds.KINDS["Deployment"].priority,
        described=top.reference,
    )


def of_replica(pod: Owner, top: Owner) -> Owner:
    """Every replica of a LeaderWorkerSet is its own group (spec 4 G7)."""
    index = str(pod.labels.get(keys.LWS_GROUP_INDEX_LABEL))
    return replace(top, replica=index) if index.isdecimal() else top


def _of_spark(pod: Owner, owner: Owner) -> Owner:
    """Driver and executors of spark-submit share a group with a name from Spark."""
    selector = text(pod.labels.get(keys.SPARK_SELECTOR_LABEL))
    if not selector or keys.SPARK_NAME_LABEL not in pod.labels:
        return owner
    return replace(owner, named=selector)


def _of_ray(chain: Sequence[Owner], top: Owner) -> Owner:
    """The group of the Ray cluster; pods that are not in the cluster have their own group.

    These are the submitter of a RayJob and the clean-up job of a cluster. KAI puts them into the
    cluster's group but into no sub-group, so they never start (decision 22).
    """
    if chain[1].key[0] != "RayCluster":
        return top if len(chain) == 2 else _with_settings(chain[1], top)
    named = text(top.labels.get(keys.RAY_PRIORITY_CLASS_LABEL))
    return replace(top, ray_cluster=chain[1].manifest, priority_class=named or top.priority_class)


def _with_settings(owner: Owner, above: Owner) -> Owner:
    """The owner, with labels and annotations of the owner above where it has none."""
    return replace(
        owner,
        labels={**above.labels, **owner.labels},
        annotations={**above.annotations, **owner.annotations},
    )


# ---- files ---------------------------------------------------------------------------------------


def top_owner(pod: Manifest, owners: Mapping[Key, Manifest]) -> Owner:
    """The owner that groups the pod, among these owners (spec 6 C25-C28). Raises InvalidField."""
    return top_owner_in(pod, Owners(owners))


def top_owner_in(pod: Manifest, owners: Owners) -> Owner:
    """The same for many pods. A ReplicaSet with the label of a Deployment is owned by one."""
    chain = chain_in(pod, owners)
    if chain[-1].key[0] == "ReplicaSet" and keys.POD_TEMPLATE_HASH_LABEL in chain[0].labels:
        return by_itself(chain[0], chain[-1])
    return owner_of(chain)


def chain_in(pod: Manifest, owners: Owners) -> list[Owner]:
    """The pod and its owners in an input, also those that the input lacks. Raises InvalidField."""
    return chain_of(owners.completed(pod), lambda owner: owners.find(*owner[1:4], pod))
