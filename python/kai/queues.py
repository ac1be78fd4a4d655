"""Queues from a short description: manifests, and the changes to existing queues.

>>> parent, test = unlimited("test", parent="default")
>>> test["spec"]["parentQueue"], test["spec"]["resources"]["gpu"]
('default', {'quota': -1, 'limit': -1, 'overQuotaWeight': 1})
>>> [each["metadata"]["name"] for each in tree({"ml": {"queues": {"vision": {"gpus": 4}}}})]
['ml', 'vision']

KAI places pods of queues without children, and such a queue should have a parent (spec 7 C11), so
`unlimited` and `tree` also create parents. Nothing here connects to a cluster: use `kubectl apply`.
`ensure` lists the changes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kai.api import keys, quantities, rules
from kai.api.fields import check_fields
from kai.api.resources import new_object
from kai.errors import InvalidRequestError

UNLIMITED = -1

_RESOURCES = ("cpu", "gpu", "memory")
_QUOTA = {"gpus": "gpu", "cpus": "cpu", "memory": "memory"}
_LIMIT = {"gpu_limit": "gpu", "cpu_limit": "cpu", "memory_limit": "memory"}
_WORDS = (
    *_QUOTA,
    *_LIMIT,
    "weight",
    "priority",
    "preempt_min_runtime",
    "reclaim_min_runtime",
    "queues",
)
Manifest = dict[str, Any]


def unlimited(name: str, *, parent: str = "default") -> list[Manifest]:
    """A queue without limits, and its parent.

    Raises InvalidRequestError for an invalid name.
    """
    free = dict.fromkeys(_QUOTA, "unlimited")
    return tree({parent: {**free, "queues": {name: free}}})


def tree(queues: Mapping[str, Mapping[str, Any] | None]) -> list[Manifest]:
    """Manifests of queues and their child queues (``queues``); parents come first.

        tree({"ml": {"gpus": 8, "queues": {"vision": {"gpus": 6}, "speech": {"gpus": 2}}}})

    gpus, cpus, memory: the quota, in GPUs, cores and a quantity such as 64Gi. Default: the sum of
      the child queues, or 0 for a queue without children.
    gpu_limit, cpu_limit, memory_limit: the limits. Default: unlimited.
    weight: weight for the resources that are left over; default 1. priority: higher comes first.
    preempt_min_runtime, reclaim_min_runtime: durations such as 5m.
    "unlimited" is also an amount. Raises InvalidRequestError for invalid values.
    """
    made = [each for name, words in queues.items() for each in _queue(name, words or {}, None)]
    names = [each["metadata"]["name"] for each in made]
    for name in names:
        if names.count(name) > 1:
            raise rules.refuse(f"queue {name} occurs twice: names of queues must be unique")
    for each in made:
        name = each["metadata"]["name"]
        if "parentQueue" not in each["spec"] and not _children(name, made):
            raise rules.refuse(
                f"queue {name} has no parent and no children: KAI ignores such a queue if it runs"
                " with --full-hierarchy-fairness=false, so write"
                f" {{'default': {{'queues': {{{name!r}: ...}}}}}}"
            )
    return made


def _children(name: str, queues: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [each for each in queues if each["spec"].get("parentQueue") == name]


def _queue(name: str, words: Mapping[str, Any], parent: str | None) -> Iterator[Manifest]:
    rules.object_name("queue", name)
    rules.label_value("queue", name)  # pods name it in a label
    if not isinstance(words, Mapping):
        raise rules.refuse(f"queue {name} is {words!r}: write a mapping such as {{'gpus': 4}}")
    for word in words:
        rules.one_of(f"an entry of queue {name}", word, _WORDS)
    below = words.get("queues") or {}
    if not isinstance(below, Mapping):
        raise rules.refuse(f"queues of {name} are {below!r}: write a mapping by name")
    children = [(list(_queue(child, inner or {}, name))) for child, inner in below.items()]
    spec: Manifest = {} if parent is None else {"parentQueue": parent}
    if words.get("priority") is not None:
        spec["priority"] = rules.count(f"priority of queue {name}", words["priority"], least=0)
    for word, member in (
        ("preempt_min_runtime", "preemptMinRuntime"),
        ("reclaim_min_runtime", "reclaimMinRuntime"),
    ):
        if words.get(word) is not None:
            spec[member] = rules.duration(f"{word} of queue {name}", words[word])
    weight = _weight(name, words.get("weight", 1))
    resources: Manifest = {}
    for resource in _RESOURCES:
        quota, limit = (_word(table, resource) for table in (_QUOTA, _LIMIT))
        deserved = (
            _sum(child[0]["spec"]["resources"][resource]["quota"] for child in children)
            if quota not in words
            else _amount(name, quota, resource, words[quota])
        )
        most = UNLIMITED if limit not in words else _amount(name, limit, resource, words[limit])
        if most != UNLIMITED and (deserved == UNLIMITED or deserved > most):
            raise rules.refuse(
                f"queue {name} has a quota of {words.get(quota, 'the sum of its queues')} ({quota})"
                f" and a limit of {words[limit]} ({limit}): write a larger limit"
            )
        resources[resource] = {"quota": deserved, "limit": most, "overQuotaWeight": weight}
    spec["resources"] = resources
    yield new_object("Queue", {"name": name}, spec=spec)
    for child in children:
        yield from child


def _word(table: Mapping[str, str], resource: str) -> str:
    return next(word for word, named in table.items() if named == resource)


def _weight(name: str, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
        raise rules.refuse(f"weight of queue {name} is {value!r}: write a number of at least 0")
    return value


def _sum(amounts: Iterable[int | float]) -> int | float:
    total: int | float = 0
    for each in amounts:
        if each == UNLIMITED:
            return UNLIMITED
        total += each
    return total


def _amount(name: str, word: str, resource: str, value: Any) -> int | float:
    """In the units of a queue: GPUs, millicores, 10^6 bytes (spec 5 A5)."""
    if value in ("unlimited", UNLIMITED):
        return UNLIMITED
    try:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError
        exact = quantities.parse(rules.repr_of(value))
    except ValueError:
        exact = Fraction(-1)
    if exact < 0:
        example = "64Gi" if resource == "memory" else "4"
        raise rules.refuse(
            f"{word} of queue {name} is {value!r}: write an amount such as {example}, or"
            " 'unlimited'"
        )
    exact *= {"gpu": Fraction(1), "cpu": Fraction(1000), "memory": Fraction(1, 10**6)}[resource]
    if resource == "memory":
        return round(exact)
    return quantities.plain(exact)


# ---- existing queues -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Change:
    """One queue that is missing or differs; `fields` has the paths with both values."""

    name: str
    create: bool
    manifest: Mapping[str, Any]  # to apply; keeps the other fields
    fields: tuple[tuple[str, Any, Any], ...] = ()

    def __str__(self) -> str:
        if self.create:
            return f"create queue {self.name}"
        changes = "; ".join(
            f"{path}: {before!r} -> {after!r}" for path, before, after in self.fields
        )
        return f"change queue {self.name}: {changes}"


def ensure(
    wanted: Iterable[Mapping[str, Any]], existing: Iterable[Mapping[str, Any]] = ()
) -> list[Change]:
    """The changes that create or update the wanted queues; parents come first.

    Other queues, and fields that a wanted queue does not have, stay as they are. Raises
    InvalidRequestError if KAI could not place pods of the result: a parent does not exist, or a
    queue is its own ancestor.
    """
    there = {_name(each): each for each in existing}
    outcome = dict(there)
    changes = []
    for each in wanted:
        name = _name(each)
        if name not in there:
            changes.append(Change(name=name, create=True, manifest=copy.deepcopy(dict(each))))
            outcome[name] = each
            continue
        fields = tuple(_differences(there[name].get("spec") or {}, each.get("spec") or {}, "spec"))
        merged = _merged(there[name], each)
        outcome[name] = merged
        if fields:
            changes.append(Change(name=name, create=False, manifest=merged, fields=fields))
    for name in (_name(change.manifest) for change in changes):
        _check_ancestors(name, outcome)
    return changes


def _name(queue: Mapping[str, Any]) -> str:
    check_fields("the queue", queue)
    metadata = queue.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if queue.get("kind") != "Queue" or not isinstance(name, str):
        raise InvalidRequestError(
            f"{queue.get('kind') or 'an object'} {name or 'without a name'} is not a Queue: give"
            f" manifests of {keys.QUEUE_API}"
        )
    return name


def _differences(
    before: Mapping[str, Any], after: Mapping[str, Any], path: str
) -> Iterator[tuple[str, Any, Any]]:
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            yield from _differences(old, value, f"{path}.{key}")
        elif old != value:
            yield f"{path}.{key}", old, copy.deepcopy(value)


def _merged(before: Mapping[str, Any], after: Mapping[str, Any]) -> Manifest:
    merged = copy.deepcopy(dict(before))
    for key, value in after.items():
        old = merged.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            merged[key] = _merged(old, value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def _check_ancestors(name: str, queues: Mapping[str, Mapping[str, Any]]) -> None:
    seen = [name]
    while parent := (queues[seen[-1]].get("spec") or {}).get("parentQueue"):
        if parent not in queues:
            raise rules.refuse(
                f"the parent {parent} of queue {seen[-1]} does not exist: add it, as KAI ignores a"
                " queue if its parent does not exist"
            )
        if parent in seen:
            raise rules.refuse(
                f"queue {parent} is its own ancestor ({' -> '.join([*seen, parent])}): give one of"
                " them another parent"
            )
        seen.append(parent)
