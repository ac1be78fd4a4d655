"""The gang of a Ray cluster: its head, and the initial pods of each worker group (spec 6 C28b).

A RayJob and a RayService describe the cluster that their operator creates. Once it exists, the
cluster object has the real sizes, because its autoscaler changes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from kai.api import keys
from kai.api.names import dns_label
from kai.api.owning import Manifest
from kai.api.reading import annotations_of, at, labels_of, mapping, objects, text
from kai.grouping import segments
from kai.grouping.owners import Owner
from kai.grouping.parts import Gang, leaves
from kai.grouping.replicas import InvalidField, whole
from kai.grouping.segments import Constraint, SubGroup

HEAD = "headgroup"


def gang(owner: Owner, _: Sequence[Manifest]) -> Gang:
    """Raises InvalidField for an invalid field of the cluster."""
    path = owner.row.ray
    cluster = mapping(at(owner.manifest, *path.split(".")))
    if owner.ray_cluster:
        path, cluster = "spec", mapping(owner.ray_cluster.get("spec"))
    head = mapping(at(cluster, "headGroupSpec", "template"))
    parts = [segments.leaf(HEAD, 1, constraint=_constraint(head, f"{path}.headGroupSpec"))]
    for index, group in enumerate(objects(cluster.get("workerGroupSpecs"))):
        if group.get("suspend") is not True:
            parts.append(_of_group(group, index, f"{path}.workerGroupSpecs[{index}]"))
    named = leaves(parts)

    def sub_group_of(pod: Manifest) -> str:
        name = text(labels_of(pod).get(keys.RAY_GROUP_LABEL))
        part = dns_label(name) if name else ""
        return part if part in named else ""

    return Gang(sum(part["minMember"] for part in parts), parts, sub_group_of)


def _of_group(group: Manifest, index: int, field: str) -> SubGroup:
    """The sub-group of a worker group; a group that starts empty has minimum 0 and may grow."""
    least = whole(group, "minReplicas", 0, f"{field}.minReplicas")
    replicas = whole(group, "replicas", least, f"{field}.replicas")
    if least > replicas:
        raise InvalidField(f"{field}.minReplicas", f"is {least}, more than the {replicas} replicas")
    hosts = whole(group, "numOfHosts", 1, f"{field}.numOfHosts")
    name = dns_label(text(group.get("groupName")) or f"worker-group-{index}")
    constraint = _constraint(mapping(group.get("template")), field)
    return segments.leaf(name, (least or replicas) * hosts, constraint=constraint)


def _constraint(template: Manifest, field: str) -> Constraint | None:
    annotations = annotations_of(template)
    topology, required, preferred = (text(annotations.get(key)) for key in keys.TOPOLOGY)
    if not topology and (required or preferred):
        where = f"{field}.template.metadata.annotations[{keys.TOPOLOGY_ANNOTATION}]"
        raise InvalidField(where, "is missing, but a placement is requested")
    return segments.constraint_of(topology, required, preferred)
