"""Names that other objects of the input define: topologies with their levels, the sub-groups of a
PodGroup, device classes, and claims. Plans read such a name, and its pods wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.admission.finding import Finding, Path, error, warning
from kai.admission.pods import Pod
from kai.api import keys, kinds
from kai.api.nearest import did_you_mean
from kai.api.reading import annotations_of, at, mapping, objects, text

_CLAIMS = {
    "ResourceClaim": "resourceClaimName",
    "ResourceClaimTemplate": "resourceClaimTemplateName",
}
"""With the member of a pod's `spec.resourceClaims` that names one."""
_DEFAULT = "default"  # the sub-group of a group that has no spec.subGroups


@dataclass(frozen=True, slots=True)
class Named:
    """levels: by topology, the labels of its levels and their aliases. parts: by PodGroup, the
    sub-groups that contain pods. classes: of devices. claims: by kind, "namespace/name" of claims
    and of templates for them. Nothing is known of kinds that are missing.
    """

    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    classes: frozenset[str] = frozenset()
    claims: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @staticmethod
    def of(manifests: Iterable[Mapping[str, Any]]) -> Named:
        levels, parts, classes = {}, {}, set()
        claims: dict[str, set[str]] = {}
        for each in manifests:
            kind, name = each.get("kind"), text(at(each, "metadata", "name"))
            if kinds.row_of_manifest(each) is None:
                continue  # such as the Topology of Kueue
            if kind == "Topology":
                levels[name] = tuple(_levels(each))
            elif kind == "PodGroup":
                parts[kinds.full_name(each)] = tuple(_parts(each))
            elif kind == "DeviceClass":
                classes.add(name)
            elif kind in _CLAIMS:
                claims.setdefault(kind, set()).add(kinds.full_name(each))
        named = {kind: frozenset(names) for kind, names in claims.items()}
        return Named(levels, parts, frozenset(classes), named)

    def check(self, manifest: Mapping[str, Any], pods: Iterable[Pod]) -> Iterator[Finding]:
        if self.levels:
            yield from self._topologies(manifest)
        if self.classes:
            for name, where in _classes(manifest):
                if name not in self.classes:
                    yield warning(
                        "device-class-unknown",
                        where,
                        f"there is no DeviceClass {name} in the given files: pods with this claim"
                        " wait",
                        _instead(name, self.classes),
                    )
        namespace = text(at(manifest, "metadata", "namespace")) or "default"
        for pod in pods:
            yield from self._part(pod, namespace)
            yield from self._claims(pod, namespace)

    def _topologies(self, manifest: Mapping[str, Any]) -> Iterator[Finding]:
        said = set()
        for topology, topology_at, level, level_at in _constraints(manifest):
            if topology not in self.levels:
                if topology_at not in said:
                    yield warning(
                        "topology-unknown",
                        topology_at,
                        f"there is no Topology {topology} in the given files: the pods wait if it"
                        " does not exist",
                        _instead(topology, self.levels),
                    )
                said.add(topology_at)
            elif level not in self.levels[topology]:
                yield error(
                    "topology-unknown",
                    level_at,
                    f"Topology {topology} has no level {level}: the pods wait",
                    _instead(level, self.levels[topology]),
                )

    def _part(self, pod: Pod, namespace: str) -> Iterator[Finding]:
        group = text(pod.annotations.get(keys.POD_GROUP_ANNOTATION))
        parts = self.parts.get(f"{namespace}/{group}", ())
        name = text(pod.labels.get(keys.SUBGROUP_LABEL))
        if not parts or (name or _DEFAULT) in parts:
            return
        key = keys.SUBGROUP_LABEL
        if parts == (_DEFAULT,):
            message = f"PodGroup {group} has no sub-group {name}: it does not count the pod"
            fix = "remove the label, or add the sub-group to spec.subGroups of the PodGroup"
        elif name:
            message = (
                f"PodGroup {group} has no sub-group {name} that contains pods: it does not count"
                " the pod"
            )
            fix = _instead(name, parts)
        else:
            message = (
                f"PodGroup {group} has sub-groups, and the pod names none: it does not count the"
                " pod"
            )
            fix = f"add the label {key} with one of {', '.join(parts)}"
        where = pod.place_of("labels", key) if key in pod.labels else (*pod.metadata_at, "labels")
        yield error("sub-group-unknown", where, message, fix)

    def _claims(self, pod: Pod, namespace: str) -> Iterator[Finding]:
        for index, each in enumerate(objects(pod.fields.get("resourceClaims"))):
            for kind, member in _CLAIMS.items():
                name = text(each.get(member))
                known = self.claims.get(kind, frozenset())
                if name and known and f"{namespace}/{name}" not in known:
                    here = [each[1] for each in map(_parted, known) if each[0] == namespace]
                    yield warning(
                        "claim-unknown",
                        (*pod.fields_at, "resourceClaims", index, member),
                        f"there is no {kind} {name} of namespace {namespace} in the given files:"
                        " the pod waits if it does not exist",
                        _instead(name, here) if here else f"add it to namespace {namespace}",
                    )


def _parted(full: str) -> tuple[str, str]:
    """A namespace and a name."""
    namespace, _, name = full.partition("/")
    return namespace, name


def _instead(name: str, known: Iterable[str]) -> str:
    every = f"write one of {', '.join(sorted(known))}"
    return did_you_mean(name, known).removeprefix("; ") or every


def _levels(topology: Mapping[str, Any]) -> Iterator[str]:
    for each in objects(at(topology, "spec", "levels")):
        yield from filter(None, (text(each.get(name)) for name in ("nodeLabel", "alias")))


def _parts(group: Mapping[str, Any]) -> Iterator[str]:
    listed = objects(at(group, "spec", "subGroups"))
    parents = {text(each.get("parent")) for each in listed}
    names = (text(each.get("name")) for each in listed)
    yield from (name for name in names if name not in parents)
    if not listed:
        yield _DEFAULT


_Level = tuple[str, Path, str, Path]  # a topology, its place, one of its levels, and its place


def _constraints(manifest: Mapping[str, Any]) -> Iterator[_Level]:
    """Of a PodGroup and its sub-groups, or of annotations anywhere in a workload."""
    if manifest.get("kind") == "PodGroup" and kinds.row_of_manifest(manifest) is not None:
        spec = at(manifest, "spec")
        yield from _of_group(spec, ("spec",))
        for index, each in enumerate(objects(at(spec, "subGroups"))):
            yield from _of_group(each, ("spec", "subGroups", index))
        return
    named = text(annotations_of(manifest).get(keys.TOPOLOGY_ANNOTATION))
    for written, where in _annotations(manifest, ()):
        own = text(written.get(keys.TOPOLOGY_ANNOTATION))
        topology_at: Path = (*where, keys.TOPOLOGY_ANNOTATION)
        if not own:
            topology_at = ("metadata", "annotations", keys.TOPOLOGY_ANNOTATION)
        for key in _LEVELS:
            level = text(written.get(key))
            if level and (own or named):
                yield own or named, topology_at, level, (*where, key)


_LEVELS = (*keys.TOPOLOGY[1:], *keys.SEGMENTS[1:])


def _of_group(part: object, where: Path) -> Iterator[_Level]:
    constraint = mapping(at(part, "topologyConstraint"))
    topology = text(constraint.get("topology"))
    where = (*where, "topologyConstraint")
    for member in ("requiredTopologyLevel", "preferredTopologyLevel"):
        level = text(constraint.get(member))
        if topology and level:
            yield topology, (*where, "topology"), level, (*where, member)


def _annotations(value: object, where: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key == "annotations":
                yield mapping(each), (*where, key)
            elif key != "status":
                yield from _annotations(each, (*where, str(key)))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _annotations(each, (*where, index))


def _classes(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """The device classes of a ResourceClaim or a ResourceClaimTemplate."""
    places = {"ResourceClaim": ("spec",), "ResourceClaimTemplate": ("spec", "spec")}
    spec_at = places.get(text(manifest.get("kind")))
    if spec_at is None:
        return
    where: Path = (*spec_at, "devices", "requests")
    for index, request in enumerate(objects(at(manifest, *spec_at, "devices", "requests"))):
        for choice, choice_at in choices(request):
            if name := text(choice.get("deviceClassName")):
                yield name, (*where, index, *choice_at, "deviceClassName")


def choices(request: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """What a request of a claim may get, and its places in the request."""
    yield request, ()
    yield mapping(request.get("exactly")), ("exactly",)
    for index, each in enumerate(objects(request.get("firstAvailable"))):
        yield each, ("firstAvailable", index)
