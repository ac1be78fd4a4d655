"""The pod-grouper: facts about pods, owners and groups in, decisions out; no I/O, no clock.

    grouper.put_pod(pod)
    decided = grouper.decide()                 # needs the owner: Reference("batch/v1", "Job", ...)
    grouper.put_object(decided.needs[0], job)
    decided = grouper.decide()                 # a group to create, the pod assigned to it

The oldest pod comes first, and it supplies the settings that the owner of a group lacks; among pods
created in the same second, the first to arrive. Owners and groups may arrive in any order.
Decisions count as carried out; `group_exists`, `group_gone`, `group_refused` and `retry` correct
that if a write ended otherwise.

For a pod that names its group only the name is stored, and for a group with one pod and no owner
nothing. A decision costs time proportional to the pods and objects that changed. For one thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.api import keys, kinds
from kai.api.names import LONGEST_NAME
from kai.api.reading import annotations_of, at, labels_of, mapping, text
from kai.controllers.grouper.decisions import Assignment, Decided, GroupChange, Hold, Problem
from kai.controllers.grouper.existing import patch_of, patched
from kai.grouping import (
    FIXED,
    Gang,
    InvalidField,
    Owner,
    Reference,
    Rules,
    chain_of,
    gang_of,
    gangs,
    is_created_again,
    owner_of,
    pod_group,
    reference_of,
    says_if_movable,
)
from kai.grouping.owners import name_of_group
from kai.grouping.pod_groups import given_labels

Manifest = Mapping[str, Any]

_UID = 36
"""Characters of a UID."""
_MADE_BY_A_GROUPER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The part of a group's name that a grouper wrote, ours or KAI's: a UID."""


class _NotKnownYet(Exception):
    def __init__(self, reference: Reference) -> None:
        super().__init__(reference)
        self.reference = reference


@dataclass(frozen=True, slots=True)
class _Missing:
    """An object that does not exist, with a message; None: no right to read it."""

    message: str | None


@dataclass(slots=True)
class _Pod:
    """A pod that does not name its group yet, or that changed."""

    manifest: Manifest
    created: tuple[str, int]  # creation time and order of arrival
    again: bool = False  # names its group, and is checked all the same
    is_held: bool = False  # does not belong to the group that it names
    is_fixed: bool = False  # is not created again, although an owner controls it
    is_marked: bool = False  # it was decided to write only this, as the pod names its group
    problem: str = ""
    group: str = ""  # the group that it is a member of
    decided: tuple[str, str] | None = None  # the group and sub-group that were decided
    waits_for: Reference | None = None


@dataclass(slots=True)
class _Group:
    """A group with pods. `existing`: the object at the API server, including our writes."""

    first: Manifest  # its oldest pod, for settings that the owner lacks
    members: dict[str, None] = field(default_factory=dict)
    dependencies: dict[str, Manifest] = field(default_factory=dict)  # pods that the gang depends on
    parts: Sequence[Mapping[str, Any]] = ()
    follows: dict[Reference, None] = field(default_factory=dict)  # the owners of its pods
    existing: Mapping[str, Any] | None = None
    is_planned: bool = False  # a decision creates it, and the API server has not confirmed that
    is_reading: bool = False  # the object at the API server is being read
    owner_keys: tuple[frozenset[str], frozenset[str]] = (
        frozenset(),
        frozenset(),
    )  # keys of the owner


class Grouper:
    """Decides which group each pod belongs to. Pods and groups are named "namespace/name"."""

    def __init__(
        self, rules: Rules | None = None, *, scheduler_name: str = keys.SCHEDULER_NAME
    ) -> None:
        self._rules = rules or Rules()
        self._scheduler_name = scheduler_name
        self._pods: dict[str, _Pod] = {}
        self._settled: dict[str, str | int] = {}  # the group; for a bare pod a number (_number_of)
        self._groups: dict[str, _Group] = {}
        self._objects: dict[Reference, Manifest | _Missing] = {}
        self._needed: set[Reference] = set()
        self._waiting: dict[Reference, dict[str, None]] = {}  # pods that wait for an object
        self._following: dict[Reference, dict[str, None]] = {}  # groups that depend on an object
        self._restored: dict[Reference, str] = {}  # pods whose group was deleted
        self._dirty_pods: dict[str, None] = {}
        self._dirty_groups: dict[str, None] = {}
        self._decided = Decided()
        self._owners: dict[str, Owner] = {}  # of groups that are new in this decision
        self._arrivals = 0
        self._fresh: set[Reference] = set()  # objects that arrived since the last decision

    def __len__(self) -> int:
        """The number of pods that do not name their group yet."""
        return len(self._pods)

    # ---- facts -----------------------------------------------------------------------------------

    def set_rules(self, rules: Rules) -> None:
        """Sets other priority classes or defaults; all groups are decided again."""
        if rules != self._rules:
            self._rules = rules
            self._dirty_groups |= dict.fromkeys(self._groups)

    def put_pod(self, pod: Manifest) -> None:
        """A pod that is new, or whose metadata, node or phase changed."""
        if at(pod, "spec", "schedulerName") != self._scheduler_name:
            return
        name, uid = kinds.full_name(pod), _uid(pod)
        known = self._pods.get(name)
        if known is not None and _uid(known.manifest) != uid:
            self.pod_gone(name)
            known = None
        if known is not None and self._is_settled_as_decided(name, known, pod):
            return
        again = False
        if known is None and isinstance(settled := self._settled.get(name), int):
            named = annotations_of(pod).get(keys.POD_GROUP_ANNOTATION)
            if settled == _number_of(pod) and named:
                return
            del self._settled[name]  # a restored etcd may have forgotten the annotation
            again = named == _bare_group(name, uid)
        self._take(name, _trimmed(pod), again=again)

    def pod_gone(self, name: str, uid: str = "") -> None:
        """A pod was deleted. `uid`: its UID, if known, because a new pod may have its name."""
        pod = self._pods.get(name)
        if pod is not None:
            if uid and _uid(pod.manifest) != uid:
                return
            del self._pods[name]
            self._dirty_pods.pop(name, None)
            self._stop_waiting(name, pod)
            self._leave(name, pod.group)
        settled = self._settled.pop(name, None)
        if isinstance(settled, str):
            self._leave(name, settled)
        elif settled is not None and uid:
            # Nothing is stored for it; its group may not have been seen yet.
            self._decided.withdrawn.append(_in_namespace_of(name, _bare_group(name, uid)))

    def put_object(self, reference: Reference, manifest: Manifest) -> None:
        """The current state of an object in `Decided.needs`; an object with another UID is
        ignored."""
        if reference.kind == "PodGroup":
            self.put_group(manifest)
        elif reference.uid and _uid(manifest) != reference.uid:
            self.object_gone(reference, "another object has its name")
        elif reference in self._restored:
            name = self._restored.pop(reference)
            self._needed.discard(reference)
            if self._settled.pop(name, None) is not None:
                self._take(name, _trimmed(manifest), again=True)
        else:
            self._put(reference, _trimmed_owner(reference, manifest))

    def object_gone(self, reference: Reference, message: str = "it does not exist") -> None:
        """An object in `Decided.needs` does not exist: its pods wait for it."""
        _, kind, namespace, name, uid = reference
        if kind == "PodGroup":
            self.group_gone(f"{namespace}/{name}")
        elif self._restored.pop(reference, None) is not None:
            self._needed.discard(reference)
        else:
            text = f"failed to find {kind}: <{namespace}/{name}>, uid: <{uid}>: {message}"
            self._put(reference, _Missing(text))

    def object_forbidden(self, reference: Reference) -> None:
        """An object in `Decided.needs` may not be read: the object below it counts as the top
        owner."""
        self._put(reference, _Missing(None))

    def put_group(self, manifest: Manifest) -> None:
        """The current state of a pod group; groups that the grouper did not request may be left
        out."""
        name = kinds.full_name(manifest)
        if (group := self._groups.get(name)) is not None:
            self._answered(name, group)
            group.existing, group.is_planned = _without_status(manifest), False
            self._dirty_groups[name] = None

    def group_gone(self, name: str, uid: str = "") -> None:
        """A pod group was deleted, or was requested and does not exist."""
        if (group := self._groups.get(name)) is not None:
            known = text(at(group.existing, "metadata", "uid"))
            if uid and known and known != uid:
                return
            self._answered(name, group)
            group.existing, group.is_planned = None, False
            if group.members:
                self._dirty_groups[name] = None
            else:
                self._decided.withdrawn.append(name)  # no watch may have shown it
                self._drop(name, group)
        elif pod := self._bare_pod_of(name):
            reference = _reference("v1", "Pod", pod, name[-_UID:])
            self._restored[reference] = pod
            self._need(reference)
        else:
            self._decided.withdrawn.append(name)

    def group_created(self, name: str) -> None:
        """The API server has created a group."""
        if (group := self._groups.get(name)) is not None:
            group.is_planned = False

    def group_exists(self, name: str) -> None:
        """A group to create exists already: its current state is needed."""
        if (group := self._groups.get(name)) is not None:
            group.is_planned = False
            self._read_group(name, group)

    def group_refused(self, name: str, message: str) -> None:
        """The API server rejects a group: its pods have no group until something changes."""
        if (group := self._groups.get(name)) is not None:
            group.existing = None
            for member in group.members:
                if (pod := self._pods.get(member)) is not None:
                    pod.decided = None
                    self._problem(member, pod, message)

    def retry(self, what: GroupChange | Assignment) -> None:
        """A write was not applied: the next decision repeats it, if it is still right."""
        if isinstance(what, Assignment):
            if (pod := self._pods.get(what.pod)) is not None:
                pod.decided = None
                self._dirty_pods[what.pod] = None
        elif (group := self._groups.get(what.name)) is not None:
            if what.patch is None:
                group.existing = None
                self._dirty_groups[what.name] = None
            else:
                self._read_group(what.name, group)
        else:
            self.group_gone(what.name)  # its pod was settled meanwhile, and removed

    # ---- decisions -------------------------------------------------------------------------------

    def decide(self) -> Decided:
        """All decisions that follow from the facts so far and were not returned before."""
        whole, self._dirty_groups = self._dirty_groups, {}
        names, self._dirty_pods = self._dirty_pods, {}
        pods_of: dict[str, list[str]] = {}
        for name in sorted(names, key=lambda name: self._pods[name].created):
            if group_name := self._look_at(name, self._pods[name]):
                pods_of.setdefault(group_name, []).append(name)
        for name in whole:
            pods_of.setdefault(name, [])
        for name, changed in pods_of.items():
            if (group := self._groups.get(name)) is not None:
                self._decide_group(name, group, group.members if name in whole else changed)
        self._owners.clear()
        self._fresh.clear()
        decided, self._decided = self._decided, Decided()
        return decided

    def _look_at(self, name: str, pod: _Pod) -> str:
        """The group of a pod; "" if it has none or waits for an owner."""
        manifest = pod.manifest
        self._stop_waiting(name, pod)
        if self._needs_no_group(manifest, pod):
            named = text(annotations_of(manifest).get(keys.POD_GROUP_ANNOTATION))
            self._leave(name, pod.group, exists=_in_namespace_of(name, named) == pod.group)
            self._settle(name, manifest, "")
            return ""
        walked: dict[Reference, None] = {}
        try:
            chain = chain_of(manifest, lambda reference: self._find(reference, walked))
        except _NotKnownYet as unknown:
            self._wait(name, pod, unknown.reference)
            self._hold(name, pod)
            return ""
        except InvalidField as error:
            self._problem(name, pod, error.message)
            if walked:
                self._wait(name, pod, next(reversed(walked)))
            return ""
        if any(_skips(each.annotations) for each in chain):
            self._leave(name, pod.group)
            self._settle(name, manifest, "")
            return ""
        pod.is_fixed = len(chain) > 1 and not is_created_again(manifest, chain[1].manifest)
        owner = owner_of(chain)
        group_name = _in_namespace_of(name, owner.group_name)
        group = self._groups.get(group_name)
        if group is None:
            self._groups[group_name] = group = _Group(manifest)
            self._owners[group_name] = owner
            if annotations_of(manifest).get(keys.POD_GROUP_ANNOTATION) == owner.group_name:
                self._read_group(group_name, group)
        for reference in walked:
            self._follow(group_name, group, reference)
        if pod.group != group_name:
            self._leave(name, pod.group)
            pod.group = group_name
        if pod.decided is None:  # it is new
            known = (each for each in walked if each not in self._fresh)
            self._decided.joined += [each for each in known if each not in self._decided.joined]
        if group.is_reading:
            self._hold(name, pod)
        group.members[name] = None
        if (is_dependency := gangs.OF_PODS.get(owner.key[0])) is not None and is_dependency(
            manifest
        ):
            group.dependencies[name] = manifest
        else:
            group.dependencies.pop(name, None)
        return group_name

    def _needs_no_group(self, manifest: Manifest, pod: _Pod) -> bool:
        annotations = annotations_of(manifest)
        if _skips(annotations):
            return True
        if keys.POD_GROUP_ANNOTATION in annotations:
            # A pod without an owner may name any group; a pod of ours has a decided one.
            return reference_of(manifest) is None and pod.decided is None and not pod.again
        ended = at(manifest, "status", "phase") in ("Succeeded", "Failed")
        return ended or at(manifest, "metadata", "deletionTimestamp") is not None

    def _decide_group(self, name: str, group: _Group, pods: Iterable[str]) -> None:
        """Updates the group, and assigns these pods to it."""
        if group.is_reading:
            return  # the answer marks it as changed
        walked: dict[Reference, None] = {}
        try:
            owner = self._owners.get(name) or owner_of(
                chain_of(group.first, lambda each: self._find(each, walked))
            )
            gang = gang_of(owner, [*group.dependencies.values()])
        except _NotKnownYet as unknown:
            self._follow(name, group, unknown.reference)
            self._need(unknown.reference)
            return
        except InvalidField as error:
            for member in group.members:
                if (pod := self._pods.get(member)) is not None:
                    self._problem(member, pod, error.message)
            return
        self._bring_up_to_date(name, group, owner, gang)
        parts_changed, group.parts = group.parts != gang.sub_groups, gang.sub_groups
        for member in list(group.members if parts_changed else pods):
            pod = self._pods.get(member)
            manifest = pod.manifest if pod is not None else group.dependencies.get(member)
            if manifest is not None:
                self._assign(member, manifest, owner.group_name, gang)
        if not group.follows and not any(member in self._pods for member in group.members):
            self._drop(name, group)  # a bare pod that names its group

    def _bring_up_to_date(self, name: str, group: _Group, owner: Owner, gang: Gang) -> None:
        wanted = pod_group(owner.group_name, owner, group.first, gang, self._rules)
        # First come, first served: the pod's creation time counts, not the owner's.
        wanted["metadata"].pop("creationTimestamp", None)
        if came := at(group.first, "metadata", "creationTimestamp"):
            wanted["metadata"]["creationTimestamp"] = came
        before, group.owner_keys = (
            group.owner_keys,
            (frozenset(owner.labels), frozenset(owner.annotations)),
        )
        if group.existing is None:
            group.existing, group.is_planned = wanted, True
            self._decided.groups.append(GroupChange(wanted))
            return
        labels, annotations = (was - now for was, now in zip(before, group.owner_keys, strict=True))
        patch = patch_of(
            wanted, group.existing, self._rules, gone_labels=labels, gone_annotations=annotations
        )
        if patch:
            group.existing = patched(group.existing, patch)
            self._decided.groups.append(GroupChange(group.existing, patch))

    def _assign(self, name: str, manifest: Manifest, group_name: str, gang: Gang) -> None:
        """Assigns a pod; if it already carries the decision, it is settled."""
        pod = self._pods.get(name)
        try:
            sub_group = gang.sub_group_of(manifest)
        except InvalidField as error:
            if pod is not None:
                self._problem(name, pod, error.message)
            return
        patch = _patch_of_pod(manifest, group_name, sub_group, has_parts=bool(gang.sub_groups))
        is_named = not patch
        if pod is not None and pod.is_fixed and not says_if_movable(manifest):
            patch["annotations"] = patch.get("annotations", {}) | FIXED
        if not patch:
            if pod is not None:
                self._settle(name, manifest, group_name)
            return
        if pod is None:  # it was settled, and its gang has other sub-groups now
            pod = self._pods[name] = _Pod(manifest, ("", 0))
            pod.group = _in_namespace_of(name, group_name)
            self._settled.pop(name, None)
        pod.problem = ""
        if pod.decided != (group_name, sub_group) or (is_named and not pod.is_marked):
            pod.decided, pod.is_held = (group_name, sub_group), False
            pod.is_marked = is_named
            assignment = Assignment(name, _uid(manifest), group_name, sub_group, patch)
            self._decided.assignments.append(assignment)

    def _bare_pod_of(self, group: str) -> str:
        """The bare pod with a group of this name, for which nothing is stored; "" for none."""
        namespace, _, name = group.partition("/")
        pod, uid = f"{namespace}/{name[len('pg-') : -_UID - 1]}", name[-_UID:]
        named: Iterable[str] = (pod,)
        if len(name) == LONGEST_NAME:  # the name of the pod may have been cut
            named = (each for each in self._settled if each.startswith(f"{namespace}/"))
        for each in named:
            if isinstance(self._settled.get(each), int) and _bare_group(each, uid) == name:
                return each
        return ""

    # ---- what is remembered ----------------------------------------------------------------------

    def _is_settled_as_decided(self, name: str, known: _Pod, pod: Manifest) -> bool:
        """Whether a bare pod names its group now and is otherwise unchanged: the usual end."""
        if known.decided is None or name in self._dirty_pods or known.waits_for is not None:
            return False
        group_name = known.decided[0]
        full_name = _in_namespace_of(name, group_name)
        group = self._groups.get(full_name)
        if (
            group is None
            or group.follows
            or group.is_reading
            or full_name in self._dirty_groups
            or len(group.members) > 1
            or annotations_of(pod).get(keys.POD_GROUP_ANNOTATION) != group_name
            or group_name != _bare_group(name, _uid(pod))
            or given_labels(labels_of(pod)) != given_labels(labels_of(known.manifest))
        ):
            return False
        self._settle(name, pod, group_name)
        self._drop(full_name, group)
        return True

    def _take(self, name: str, manifest: Manifest, *, again: bool) -> None:
        pod = self._pods.get(name)
        if pod is None:
            self._arrivals += 1
            created = (text(at(manifest, "metadata", "creationTimestamp")), self._arrivals)
            settled = self._settled.pop(name, None)
            group = settled if isinstance(settled, str) else ""
            self._pods[name] = _Pod(manifest, created, again, group=group)
        else:
            pod.manifest = manifest
        self._dirty_pods[name] = None
        reference = _reference("v1", "Pod", name, _uid(manifest))
        if reference in self._objects:  # it owns other pods
            self._put(reference, manifest)

    def _settle(self, name: str, manifest: Manifest, group_name: str) -> None:
        """Removes a pod that needs nothing more."""
        self._end_hold(name, self._pods.pop(name))
        group = self._groups.get(_in_namespace_of(name, group_name)) if group_name else None
        if group is not None and (group.follows or group_name != _bare_group(name, _uid(manifest))):
            self._settled[name] = _in_namespace_of(name, group_name)
        elif reference_of(manifest) is None:
            self._settled[name] = _number_of(manifest)

    def _put(self, reference: Reference, found: Manifest | _Missing) -> None:
        self._fresh.add(reference)
        if self._objects.get(reference) == found:
            return
        self._objects[reference] = found
        for name in self._waiting.pop(reference, ()):
            self._dirty_pods[name] = None
        for name in self._following.get(reference, ()):
            self._dirty_groups[name] = None

    def _find(self, reference: Reference, walked: dict[Reference, None]) -> Manifest | None:
        """The owner of a pod. Raises _NotKnownYet, and InvalidField if it does not exist."""
        walked[reference] = None
        found = self._objects.get(reference)
        if found is None and reference.kind == "Pod":
            pod = self._pods.get(f"{reference.namespace}/{reference.name}")
            if pod is not None and _uid(pod.manifest) == reference.uid:
                found = self._objects[reference] = pod.manifest
        if found is None:
            raise _NotKnownYet(reference)
        if isinstance(found, _Missing):
            if found.message is None:
                return None
            raise InvalidField("metadata.ownerReferences", found.message)
        return found

    def _need(self, reference: Reference) -> None:
        if reference not in self._needed:
            self._needed.add(reference)
            self._decided.needs.append(reference)

    def _wait(self, name: str, pod: _Pod, reference: Reference) -> None:
        pod.waits_for = reference
        self._waiting.setdefault(reference, {})[name] = None
        if reference not in self._objects:
            self._need(reference)

    def _stop_waiting(self, name: str, pod: _Pod) -> None:
        reference, pod.waits_for = pod.waits_for, None
        if reference is not None and (waiting := self._waiting.get(reference)) is not None:
            waiting.pop(name, None)
            if not waiting:
                del self._waiting[reference]
                self._release(reference)

    def _follow(self, name: str, group: _Group, reference: Reference) -> None:
        if reference not in group.follows:
            group.follows[reference] = None
            self._following.setdefault(reference, {})[name] = None

    def _read_group(self, name: str, group: _Group) -> None:
        """Requests the group's state at the API server."""
        group.is_reading = True
        self._need(_reference_of_group(name))

    def _leave(self, pod: str, name: str, *, exists: bool = False) -> None:
        """The pod is not a member of this group any more. `exists`: the pod names the group, so the
        group was created before; if it is to be created again, that decision drops it."""
        group = self._groups.get(name)
        if group is None or (exists and group.existing is None):
            return
        group.is_planned = group.is_planned and not exists
        group.members.pop(pod, None)
        if group.dependencies.pop(pod, None) is not None and group.members:
            self._dirty_groups[name] = None
        elif not group.members:
            if group.follows and group.existing is not None and not group.is_planned:
                return  # further pods of its owner may come
            if group.is_planned:
                self._decided.withdrawn.append(name)
            self._drop(name, group)

    def _answered(self, name: str, group: _Group) -> None:
        group.is_reading = False
        self._needed.discard(_reference_of_group(name))

    def _drop(self, name: str, group: _Group) -> None:
        """Removes a group, and the objects that no other group depends on."""
        del self._groups[name]
        self._needed.discard(_reference_of_group(name))
        for reference in group.follows:
            following = self._following[reference]
            following.pop(name, None)
            if not following:
                del self._following[reference]
                self._release(reference)

    def _release(self, reference: Reference) -> None:
        if reference in self._waiting or reference in self._following:
            return
        self._objects.pop(reference, None)
        if reference in self._needed:
            self._needed.discard(reference)
            self._decided.not_needed.append(reference)

    def _hold(self, name: str, pod: _Pod) -> None:
        """The owner's group will replace the group that a waiting pod names: the pod is not planned
        until the new group is known. A name that a grouper wrote is most likely right."""
        named = text(annotations_of(pod.manifest).get(keys.POD_GROUP_ANNOTATION))
        if (
            named
            and pod.decided is None
            and not at(pod.manifest, "spec", "nodeName")
            and not _MADE_BY_A_GROUPER.search(named)
        ):
            pod.is_held = True
            self._decided.holds.append(Hold(name, _uid(pod.manifest), ""))

    def _end_hold(self, name: str, pod: _Pod) -> None:
        if pod.is_held:
            pod.is_held = False
            named = text(annotations_of(pod.manifest).get(keys.POD_GROUP_ANNOTATION))
            self._decided.holds.append(Hold(name, _uid(pod.manifest), named))

    def _problem(self, name: str, pod: _Pod, message: str) -> None:
        self._end_hold(name, pod)
        if pod.problem != message:
            pod.problem = message
            self._decided.problems.append(Problem(name, _uid(pod.manifest), message))


# ---- manifests -----------------------------------------------------------------------------------


def _uid(manifest: Manifest) -> str:
    return text(at(manifest, "metadata", "uid"))


def _in_namespace_of(pod: str, name: str) -> str:
    """The full name for this name in the pod's namespace."""
    return f"{pod.partition('/')[0]}/{name}"


def _bare_group(pod: str, uid: str) -> str:
    return name_of_group(pod.partition("/")[2], uid)


def _reference(api_version: str, kind: str, full_name: str, uid: str = "") -> Reference:
    namespace, _, name = full_name.partition("/")
    return Reference(api_version, kind, namespace, name, uid)


def _reference_of_group(name: str) -> Reference:
    return _reference(keys.POD_GROUP_API, "PodGroup", name)


def _skips(annotations: Mapping[str, Any]) -> bool:
    return annotations.get(keys.SKIP_GROUPER_ANNOTATION) == "true"


def _number_of(pod: Manifest) -> int:
    """A number of the pod and its labels; a new pod of the same name has another number."""
    return hash((_uid(pod), frozenset(given_labels(labels_of(pod)).items())))


_OF_METADATA = (
    *("annotations", "creationTimestamp", "deletionTimestamp", "labels", "name", "namespace"),
    *("ownerReferences", "uid"),
)
_OF_SPEC = ("priorityClassName", "nodeName")
_OF_JOB = ("backoffLimit", "backoffLimitPerIndex")


def _members(manifest: Manifest, member: str, names: Sequence[str]) -> dict[str, Any]:
    """Those of its members that have these names."""
    there = mapping(manifest.get(member))
    return {each: there[each] for each in names if each in there}


def _metadata(manifest: Manifest) -> dict[str, Any]:
    return _members(manifest, "metadata", _OF_METADATA)


def _trimmed(pod: Manifest) -> dict[str, Any]:
    """The part of a pod that the grouper reads."""
    spec, status = _members(pod, "spec", _OF_SPEC), {"phase": at(pod, "status", "phase")}
    return {"metadata": _metadata(pod), "spec": spec, "status": status}


def _trimmed_owner(reference: Reference, manifest: Manifest) -> dict[str, Any]:
    trimmed: dict[str, Any] = {"apiVersion": reference.api_version, "metadata": _metadata(manifest)}
    if reference.kind in gangs.KNOWN:
        trimmed["spec"] = manifest.get("spec")
    elif reference.kind == "Job":
        trimmed["spec"] = _members(manifest, "spec", _OF_JOB)
    return trimmed


def _without_status(group: Manifest) -> dict[str, Any]:
    kept = {key: value for key, value in group.items() if key != "status"}
    return {**kept, "metadata": _metadata(group)}


def _patch_of_pod(
    pod: Manifest, group: str, sub_group: str, *, has_parts: bool
) -> dict[str, dict[str, Any]]:
    """The fields that the pod lacks to name its group; {} if none."""
    patch: dict[str, dict[str, Any]] = {}
    if annotations_of(pod).get(keys.POD_GROUP_ANNOTATION) != group:
        patch["annotations"] = {keys.POD_GROUP_ANNOTATION: group}
    label = labels_of(pod).get(keys.SUBGROUP_LABEL)
    if sub_group and label != sub_group:
        patch["labels"] = {keys.SUBGROUP_LABEL: sub_group}
    elif has_parts and not sub_group and label is not None:
        patch["labels"] = {keys.SUBGROUP_LABEL: None}
    return patch
