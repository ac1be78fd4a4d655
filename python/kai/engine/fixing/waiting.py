"""A pod group that waits: its objects, the facts of a plan about it, and its sums."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kai.api import keys
from kai.api.kinds import full_name
from kai.api.reading import at
from kai.engine.cluster import Cluster
from kai.engine.explain import Account
from kai.engine.fixing.changes import Part, Right
from kai.engine.places import Amounts, Holders, Obstacles, Places
from kai.engine.situation import GroupFacts, sum_of_smallest
from kai.engine.values import GroupPlan, Reason, bounds_of

if TYPE_CHECKING:
    from kai.engine.answer import Answer

Manifest = Mapping[str, Any]

_OF_ALLOWED_NODES = frozenset(("node_unschedulable", "untolerated_taints", "node_affinity"))


class Waiting:
    """One waiting group of a plan. `cluster`: the objects that were planned."""

    def __init__(self, plan: Answer, cluster: Cluster, name: str) -> None:
        self.plan, self.cluster, self.name = plan, cluster, name
        self.situation = plan.situation
        [found] = self.situation.groups([name])
        self.group: GroupPlan = found[0]
        self.facts: GroupFacts = found[1]

    @cached_property
    def places(self) -> list[Places]:
        return self.situation.places([self.name])[0]

    def kept_off_by(self, cause: str) -> Iterator[tuple[Obstacles, Mapping[str, Any]]]:
        """Nodes that cannot take its pods for this cause alone, with its facts; if there are none,
        those with other causes too that changes can remove."""
        found = [
            (len(obstacles.causes), obstacles, each)
            for places in self.places
            for obstacles in places.others
            for each in obstacles.causes
            if each["cause"] == cause and all(map(_can_be_removed, obstacles.causes))
        ]
        fewest = min((causes for causes, _, _ in found), default=0)
        return ((obstacles, each) for causes, obstacles, each in found if causes == fewest)

    @cached_property
    def holders(self) -> Sequence[Holders]:
        """Of all resources that it lacks."""
        return [each for held in self.situation.holders(self.name) for each in held.holders]

    # ---- its objects -----------------------------------------------------------------------------

    @cached_property
    def manifest(self) -> Manifest:
        """Its PodGroup; empty if the cluster has no such object."""
        return self.cluster._find("PodGroup", self.name) or {}

    @cached_property
    def groups_of_owner(self) -> tuple[str, ...]:
        """The PodGroups that follow its owner: its own, and those of the same workload, such as one
        for each pod of a Deployment."""
        top = at(self.manifest, "metadata", "annotations", keys.TOP_OWNER_ANNOTATION)
        if not isinstance(top, str) or not self.is_written_again:
            return (self.name,)
        return tuple(
            name
            for name, each in self.cluster._all("PodGroup").items()
            if name.rpartition("/")[0] == self.namespace
            and at(each, "metadata", "annotations", keys.TOP_OWNER_ANNOTATION) == top
        )

    def pods_of_owner(self, cluster: Cluster) -> dict[str, Manifest]:
        """Those that follow its owner and have no node, by name, as they are in a changed cluster:
        what is edited for one of them is edited for all, also for pods that a change created."""
        every = cluster._pods_of(*self.groups_of_owner)
        return {name: pod for name, pod in sorted(every.items()) if not at(pod, "spec", "nodeName")}

    @cached_property
    def pods(self) -> list[Manifest]:
        """Its pods without a node, by name."""
        every = self.cluster._pods_of(self.name)
        return [pod for _, pod in sorted(every.items()) if not at(pod, "spec", "nodeName")]

    @property
    def namespace(self) -> str:
        return self.name.rpartition("/")[0]

    @cached_property
    def owner(self) -> str:
        """What a user edits: "Job a/train", or "PodGroup a/train" if it is all there is."""
        return owner_of(self.cluster, self.name, self.pods)

    @property
    def right(self) -> Right:
        """To change what a user edits."""
        kind, _, name = self.owner.partition(" ")
        return Right("patch", kind, name.rpartition("/")[2], self.namespace)

    @property
    def owner_is_pod(self) -> bool:
        return self.owner.startswith("Pod ")

    @property
    def is_written_again(self) -> bool:
        """Whether its PodGroup follows another object: a workload, or a bare pod."""
        return not self.owner.startswith("PodGroup ")

    @property
    def has_owner(self) -> bool:
        """Whether a workload creates its pods."""
        return self.is_written_again and not self.owner_is_pod

    @property
    def its_pods(self) -> str:
        """Where to change what its pods request: "the pods of Job a/train", "Pod a/train"."""
        is_bare = self.owner_is_pod and len(self.pods) == 1
        return self.owner if is_bare else f"the pods of {self.owner}"

    def pods_like(self, first: str) -> str:
        """The same of some of its pods: those that are as this one, "namespace/name"."""
        return f"pods of {self.owner} like {first}"

    def parts(
        self, cluster: Cluster, body: Callable[[Manifest], Mapping[str, Any]]
    ) -> Iterator[Part]:
        """What is written for each of `pods_of_owner`, once for those with the same. An empty
        `body`: the pod stays as it is."""
        pods = self.pods_of_owner(cluster)
        shapes: dict[str, tuple[str, Mapping[str, Any]]] = {}
        written = 0
        for name, pod in pods.items():
            if made := body(pod):
                shapes.setdefault(json.dumps(made), (name, made))
                written += 1
        is_for_all = len(shapes) == 1 and written == len(pods)
        for first, shape in shapes.values():
            yield Part(shape, comment=self.its_pods if is_for_all else self.pods_like(first))

    # ---- its reasons -----------------------------------------------------------------------------

    def reasons(self, *codes: str) -> Iterator[Reason]:
        """Also each limit and quota that refuses it besides the first."""
        bounds = (bound for each in self.group.reasons for bound in bounds_of(each))
        return (each for each in bounds if each.code in codes)

    # ---- its sums --------------------------------------------------------------------------------

    @cached_property
    def missing(self) -> int:
        """How many more pods need places before it starts; 1 if only pods above its minimum
        wait."""
        return max(1, self.facts.missing)

    @cached_property
    def requested(self) -> Fraction:
        """GPUs of the pods that need places, the smallest first."""
        return sum_of_smallest(self._requests, self.missing)

    @cached_property
    def each(self) -> Fraction | None:
        """GPUs of each of its waiting pods; None if they differ."""
        [first, *others] = self._requests or [(None, 0)]
        return None if others else first[0]

    @property
    def _requests(self) -> Amounts:
        """Of its waiting pods; if the plan evicts all that lack a place, of all its pods."""
        return self.facts.waiting or self.facts.pods

    @cached_property
    def path(self) -> list[str]:
        """Its queue and those above it, its own first."""
        return [name for name in self.situation.path_to_root(self.group.queue) if name]

    def has(self, queue: str) -> Fraction:
        """GPUs that the queue has after the plan."""
        return self._account.has(queue)

    @cached_property
    def _account(self) -> Account:
        return Account(self.plan)

    @cached_property
    def nodes(self) -> list[tuple[str, Fraction, Fraction]]:
        """The nodes that could take its pods if nothing else ran there: name, GPUs free after the
        plan, GPUs in all. Of the first class of its pods."""
        return self.situation.possible_nodes(self.name)

    @cached_property
    def room(self) -> int:
        """How many more of its pods fit on the free GPUs of these nodes."""
        if not self.each:
            return 0
        return sum(int(free // self.each) for _, free, _ in self.nodes)


def _can_be_removed(cause: Mapping[str, Any]) -> bool:
    """Whether a node may take the pods by changes of the node or of the pods."""
    is_smaller = cause["cause"] == "shortage" and bool(cause["largest"])
    return is_smaller or cause["cause"] in _OF_ALLOWED_NODES


def owner_of(cluster: Cluster, group: str, pods: Sequence[Manifest]) -> str:
    """The workload of a pod group, "Job a/train", its bare pod, "Pod a/train", or else
    "PodGroup a/train". `pods`: of it."""
    namespace = group.rpartition("/")[0]
    manifest = cluster._find("PodGroup", group) or {}
    # A Deployment has a group for each pod, whose owner is that pod; so the top owner comes first.
    if top := _top_owner(manifest):
        return f"{top['kind']} {namespace}/{top['name']}"
    for each in at(manifest, "metadata", "ownerReferences") or ():
        if isinstance(each, Mapping) and each.get("kind") and each.get("name"):
            return f"{each['kind']} {namespace}/{each['name']}"
    for pod in pods[:1]:
        if controller := controller_of(pod):
            return controller
    return f"PodGroup {group}"


def _top_owner(manifest: Manifest) -> Manifest:
    """From which workload or bare pod a grouper made the PodGroup; empty if none did."""
    import yaml

    described = at(manifest, "metadata", "annotations", keys.TOP_OWNER_ANNOTATION)
    try:
        top = yaml.safe_load(described) if isinstance(described, str) else None
    except yaml.YAMLError:
        return {}
    if isinstance(top, Mapping) and top.get("kind") and top.get("name"):
        return top
    return {}


def is_of_template(pod: Manifest) -> bool:
    """Whether the pod exists only as a template in a file: a controller would create it, and it has
    no uid but the one that reading files gave it."""
    return bool(controller_of(pod)) and str(at(pod, "metadata", "uid")).startswith("Pod/")


def controller_of(pod: Manifest) -> str:
    """What creates the pod again if it is deleted, "ReplicaSet a/web-1"; "" for a bare pod."""
    for each in at(pod, "metadata", "ownerReferences") or ():
        is_named = isinstance(each, Mapping) and each.get("kind") and each.get("name")
        if is_named and each.get("controller"):
            namespace = full_name(pod).rpartition("/")[0]
            return f"{each.get('kind')} {namespace}/{each.get('name')}"
    return ""
