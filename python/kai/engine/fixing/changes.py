"""A change of a cluster that may start a waiting pod group: what it says, what it edits, and the
command or YAML that makes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kai.api.reading import mapping
from kai.engine.cluster import Cluster

Edit = Callable[[Cluster], object]
"""Changes the objects of the cluster that it gets, by `upsert` and `delete`."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an object that a user writes: as YAML below a comment, or by a command.

    Parts with the same comment or command are of one object, so they are printed as one.
    """

    body: Mapping[str, Any]
    comment: str = ""
    command: str = ""

    def lines(self) -> list[str]:
        if self.command:
            return [f"{self.command} -p '{json.dumps(self.body, separators=(',', ':'))}'"]
        import yaml

        dumped = yaml.safe_dump(dict(self.body), sort_keys=False, default_flow_style=False)
        return [f"# {self.comment}", *dumped.splitlines()]


How = Callable[[Cluster], Iterable["str | Part"]]
"""What makes a change: commands, and parts of objects. It gets the cluster with the changes before
this one, so that the parts of several changes of an object add up."""

COSTS: Mapping[str, float] = {
    "wait": 0,
    "pods": 1,
    "queue": 1,
    "claim": 1,
    "selector": 2,
    "affinity": 2,
    "toleration": 2,
    "topology": 2,
    "minimum": 3,
    "priority": 3,
    "preemptibility": 3,
    "cpus": 3,
    "memory": 3,
    "gpus": 4,
    "resources": 4,
    "uncordon": 4,
    "taint": 4,
    "label": 4,
    "quota": 5,
    "limit": 5,
    "weight": 5,
    "end": 7,
    "nodes": 9,
}
"""What a change of each kind costs, relative to the others: what its owner can do alone comes
first, then what an operator decides, then what costs money or the work of others."""
OF_REQUESTS = frozenset(("cpus", "memory", "gpus", "resources"))
"""Kinds that make the requests of the pods smaller."""


@dataclass(frozen=True, slots=True)
class Right:
    """What a user must be allowed to do on the API server for a change."""

    verb: str
    kind: str
    name: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One change; changes are equal if they say the same.

    `kind`: a key of `COSTS`. `says`: an order, without a full stop. `at`: for a change of time, RFC
    3339.
    """

    kind: str
    says: str
    how: How = field(default=lambda _: (), compare=False, repr=False)
    edit: Edit = field(default=lambda _: None, compare=False, repr=False)
    rights: tuple[Right, ...] = field(default=(), compare=False)
    at: str | None = None


def commands(*lines: str) -> How:
    return lambda _: lines


def patch(resource: str, namespace: str, name: str, body: Mapping[str, Any]) -> How:
    """A kubectl command that merges `body` into an object."""
    where = f" -n {namespace}" if namespace else ""
    part = Part(body, command=f"kubectl patch {resource} {name}{where} --type=merge")
    return lambda _: (part,)


def yaml_of(body: Mapping[str, Any], *, of: str) -> How:
    """The YAML of a part of an object, after a comment that names the object."""
    return lambda _: (Part(body, comment=of),)


def printed(parts: Iterable[str | Part]) -> Iterator[str]:
    """The lines of all of these; the parts of one object become one, where its first part is."""
    merged: list[str | Part] = []
    places: dict[tuple[str, str], int] = {}
    for each in parts:
        if isinstance(each, str):
            merged.append(each)
            continue
        place = places.setdefault((each.comment, each.command), len(merged))
        if place == len(merged):
            merged.append(each)
        else:
            before = merged[place]
            assert isinstance(before, Part)
            merged[place] = replace(before, body=_merged(before.body, each.body))
    for each in merged:
        yield from (each,) if isinstance(each, str) else each.lines()


def _merged(one: Any, other: Any) -> Any:
    """`other` was written later. Containers are merged by name."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        both = {**one, **other}
        for name in one.keys() & other.keys():
            both[name] = _merged(one[name], other[name])
        return both
    if isinstance(one, list) and isinstance(other, list):
        by_name = [{each.get("name"): each for each in rows} for rows in (one, other)]
        if all(None not in rows for rows in by_name):
            return [*_merged(*by_name).values()]
    return other


def put(kind: str, manifest: Mapping[str, Any]) -> Edit:
    """An edit that adds or replaces an object."""
    return lambda cluster: cluster.upsert({**manifest, "kind": kind})


def changed(
    kind: str,
    names: Iterable[str] | Callable[[Cluster], Iterable[str]],
    change: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> Edit:
    """An edit of existing objects: `change` gets each as it is by then and returns the new one, so
    that several edits of an object add up. `names` may depend on the changes before."""
    chosen = names if callable(names) else tuple(names)

    def edit(cluster: Cluster) -> None:
        for name in chosen(cluster) if callable(chosen) else chosen:
            cluster.upsert({**change(cluster._existing(kind, name)), "kind": kind})

    return edit


def with_spec(manifest: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """The object with other fields in its `spec`."""
    return {**manifest, "spec": {**mapping(manifest.get("spec")), **fields}}


def with_labels(manifest: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """The object with these labels besides its own."""
    metadata = mapping(manifest.get("metadata"))
    own = {**mapping(metadata.get("labels")), **labels}
    return {**manifest, "metadata": {**metadata, "labels": own}}


def with_annotations(manifest: Mapping[str, Any], annotations: Mapping[str, str]) -> dict[str, Any]:
    """The object with these annotations besides its own."""
    metadata = mapping(manifest.get("metadata"))
    own = {**mapping(metadata.get("annotations")), **annotations}
    return {**manifest, "metadata": {**metadata, "annotations": own}}
