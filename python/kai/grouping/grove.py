"""The gang of pods of Grove: their PodGang, which a label of each pod names (spec 6 C28e).

A group of the PodGang is a sub-group, with its own minimum; a group config is a sub-group of those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kai.api import keys
from kai.api.owning import Manifest
from kai.api.reading import at, labels_of, mapping, objects, text
from kai.api.rules import written
from kai.grouping import segments
from kai.grouping.owners import Owner
from kai.grouping.parts import Gang
from kai.grouping.replicas import InvalidField, whole
from kai.grouping.segments import Constraint, SubGroup


def gang(owner: Owner, _: Sequence[Manifest]) -> Gang:
    """The gang of a PodGang. Raises InvalidField for an invalid field of it."""
    spec = mapping(owner.manifest.get("spec"))
    topology = _topology(owner)
    leaves: list[SubGroup] = []
    names: dict[tuple[str, str], str] = {}  # the sub-group of a pod, by namespace and name
    for index, each in enumerate(objects(spec.get("podgroups"))):
        field = f"spec.podgroups[{index}]"
        part = segments.leaf(
            _name(each, field), _minimum(each, field), constraint=_constraint(each, topology, field)
        )
        leaves.append(part)
        for number, pod in enumerate(objects(each.get("podReferences"))):
            names[_pod(pod, owner, f"{field}.podReferences[{number}]")] = part["name"]
    if not leaves:
        raise InvalidField("spec.podgroups", "has no group of pods")
    minimum = sum(each["minMember"] for each in leaves)
    parts = [*_parents(spec, leaves, topology), *leaves]
    known = {each["name"] for each in leaves}

    def sub_group_of(pod: Manifest) -> str:
        key = (text(at(pod, "metadata", "namespace")), text(at(pod, "metadata", "name")))
        if key in names:
            return names[key]
        # Grove names each group after its clique, and lists a new pod a moment later.
        clique = text(labels_of(pod).get(keys.GROVE_CLIQUE_LABEL))
        return clique if clique in known else ""

    constraint = _constraint(spec, topology, "spec")
    return Gang(minimum, parts, sub_group_of, constraint=constraint)


def _topology(owner: Owner) -> str:
    named = (
        owner.annotations.get(key)
        for key in (keys.GROVE_TOPOLOGY_ANNOTATION, keys.TOPOLOGY_ANNOTATION)
    )
    return next((text(each) for each in named if text(each)), "")


def _name(group: Mapping[str, Any], field: str) -> str:
    if name := text(group.get("name")):
        return name
    raise InvalidField(f"{field}.name", "is missing")


def _minimum(group: Mapping[str, Any], field: str) -> int:
    minimum = whole(group, "minReplicas", 0, f"{field}.minReplicas")
    if minimum:
        return minimum
    given = written(group["minReplicas"]) if "minReplicas" in group else "missing"
    raise InvalidField(f"{field}.minReplicas", f"is {given}, not a number of at least 1")


def _pod(reference: Mapping[str, Any], owner: Owner, field: str) -> tuple[str, str]:
    namespace = text(reference.get("namespace")) or owner.key[1]
    if namespace != owner.key[1]:
        problem = f"is {namespace!r}, but the PodGang is in {owner.key[1]!r}"
        raise InvalidField(f"{field}.namespace", problem)
    return namespace, _name(reference, field)


def _parents(spec: Mapping[str, Any], leaves: Sequence[SubGroup], topology: str) -> list[SubGroup]:
    """The group configs as sub-groups; each leaf in one of them gets it as its parent."""
    by_name = {each["name"]: each for each in leaves}
    parents: list[SubGroup] = []
    for index, each in enumerate(objects(spec.get("topologyConstraintGroupConfigs"))):
        field = f"spec.topologyConstraintGroupConfigs[{index}]"
        members = each.get("podGroupNames")
        if not isinstance(members, list) or not members:
            continue
        name = _name(each, field)
        for member in members:
            if member not in by_name:
                problem = f"has {written(member)}, which is no group of spec.podgroups"
                raise InvalidField(f"{field}.podGroupNames", problem)
            by_name[member]["parent"] = name
        constraint = _constraint(each, topology, field)
        parents.append(segments.branch(name, len(members), constraint=constraint))
    return parents


def _constraint(spec: Mapping[str, Any], topology: str, field: str) -> Constraint | None:
    """The levels within which the pods are packed. Raises InvalidField without a topology."""
    packed = mapping(at(spec, "topologyConstraint", "packConstraint"))
    required, preferred = text(packed.get("required")), text(packed.get("preferred"))
    if (required or preferred) and not topology:
        problem = "topology name cannot be empty when topology constraints are defined"
        raise InvalidField(f"{field}.topologyConstraint", problem)
    return segments.constraint_of(topology, required, preferred)
