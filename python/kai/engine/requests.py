"""What a pod requests in its containers, and the same pod with a smaller request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from kai.api import keys, quantities
from kai.api.reading import at, mapping, objects
from kai.engine.amounts import SIZES

Manifest = Mapping[str, Any]
_PARTS = ("initContainers", "containers")
_UNITS_OF_CPUS = (Fraction(1), Fraction(1, 10), Fraction(1, 1000))
_UNITS_OF_SIZES = (Fraction(2**30), Fraction(2**26), Fraction(2**20))


def total(pod: Manifest, resource: str) -> Fraction:
    """What a node needs for the pod: its containers and sidecars together, or one of its init
    containers with the sidecars before it if that is more."""
    running = sum((_own(each, resource) for each in _containers(pod)), Fraction(0))
    widest = max((own + before for _, own, before in _initial(pod, resource)), default=Fraction(0))
    sidecars = sum((own for each, own, _ in _initial(pod, resource) if _stays(each)), Fraction(0))
    return max(running + sidecars, widest) + _overhead(pod, resource)


def names(pod: Manifest) -> set[str]:
    """The resources that some container of the pod requests."""
    return {
        name
        for part in _PARTS
        for each in objects(at(pod, "spec", part))
        for name in mapping(at(each, "resources", "requests"))
    }


def capped(pod: Manifest, resource: str, most: Fraction) -> dict[str, Any] | None:
    """The pod with no more than this: its containers get less in proportion, and its init
    containers no more than it may have. None if that leaves one of them nothing of what it
    requests, because its sidecars or its overhead need more."""
    most -= _overhead(pod, resource)
    initial = []
    sidecars = Fraction(0)
    for each, own, before in _initial(pod, resource):
        if _stays(each):
            sidecars += own
        elif own and before >= most:
            return None
        initial.append(
            each if _stays(each) else _with(each, resource, min(own, most - before), own)
        )
    containers = _containers(pod)
    amounts = [_own(each, resource) for each in containers]
    shares = _shares(amounts, most - sidecars, units(resource))
    if shares is None:
        return None
    containers = [
        _with(each, resource, share, own)
        for each, share, own in zip(containers, shares, amounts, strict=True)
    ]
    made = {"containers": containers} | ({"initContainers": initial} if initial else {})
    return {**pod, "spec": {**mapping(pod.get("spec")), **made}}


def units(resource: str) -> Sequence[Fraction]:
    """In which a user counts it, the largest first."""
    if resource == keys.CPU:
        return _UNITS_OF_CPUS
    return _UNITS_OF_SIZES if resource in SIZES else (Fraction(1),)


def _shares(
    amounts: Sequence[Fraction], most: Fraction, units: Sequence[Fraction]
) -> list[Fraction] | None:
    """Amounts of together no more than `most`, in proportion and in the largest unit in which each
    has some. None: not each can have some.

    >>> [int(each) for each in _shares([Fraction(8), Fraction(20)], Fraction(8), [Fraction(1)])]
    [2, 6]
    """
    total = sum(amounts, Fraction(0))
    if total <= most:
        return [*amounts]
    if most <= 0:
        return None
    for unit in units:
        exact = [each * most / total / unit for each in amounts]
        if unit == units[-1] or (most % unit == 0 and all(each >= 1 for each in exact if each)):
            break
    counts = [max(int(each), 1) if each else 0 for each in exact]
    left = int(most / unit) - sum(counts)
    while left < 0 and max(counts) > 1:  # of small ones that were rounded up
        counts[counts.index(max(counts))] -= 1
        left += 1
    by_rest = sorted(range(len(counts)), key=lambda place: counts[place] - exact[place])
    for place in by_rest[: max(left, 0)]:
        counts[place] += 1
    made = [min(count * unit, own) for count, own in zip(counts, amounts, strict=True)]
    return made if left >= 0 else None


def without(pod: Manifest, resource: str) -> dict[str, Any]:
    """The pod without the resource."""
    return _rewritten(
        pod, lambda amounts: {name: each for name, each in amounts.items() if name != resource}
    )


def renamed(pod: Manifest, resource: str, other: str) -> dict[str, Any]:
    """The pod with as much of another resource."""

    def change(amounts: Manifest) -> dict[str, Any]:
        return {other if name == resource else name: each for name, each in amounts.items()}

    return _rewritten(pod, change)


def shown(before: Manifest, after: Manifest) -> dict[str, Any]:
    """The parts of the containers that differ, as a user writes them. A container has its name,
    because a patch finds it by that; None removes a resource."""
    spec: dict[str, Any] = {}
    for part in _PARTS:
        rows = zip(objects(at(before, "spec", part)), objects(at(after, "spec", part)), strict=True)
        found = [_difference(old, new) for old, new in rows if old != new]
        if found:
            spec[part] = found
    return spec


def as_quantity(resource: str, value: Fraction) -> str:
    """
    >>> as_quantity("cpu", Fraction(3, 2)), as_quantity("memory", Fraction(3 * 2**29))
    ('1500m', '1536Mi')
    >>> as_quantity("rdma/ib", Fraction(2))
    '2'
    """
    if resource == keys.CPU:
        return str(value) if value.denominator == 1 else f"{int(value * 1000)}m"
    for suffix, size in (("Gi", 2**30), ("Mi", 2**20)):
        if value and not value % size:
            return f"{int(value / size)}{suffix}"
    return str(int(value))


def _containers(pod: Manifest) -> list[Manifest]:
    return objects(at(pod, "spec", "containers"))


def _initial(pod: Manifest, resource: str) -> Iterator[tuple[Manifest, Fraction, Fraction]]:
    """Init containers: what each requests, and the sidecars that were started before it."""
    before = Fraction(0)
    for each in objects(at(pod, "spec", "initContainers")):
        own = _own(each, resource)
        yield each, own, before
        if _stays(each):
            before += own


def _stays(container: Manifest) -> bool:
    """A sidecar: an init container that runs as long as the pod."""
    return container.get("restartPolicy") == "Always"


def _own(container: Manifest, resource: str) -> Fraction:
    """The API server writes a request for each limit; a limit alone does not count."""
    return quantities.parse_or_zero(at(container, "resources", "requests", resource))


def _overhead(pod: Manifest, resource: str) -> Fraction:
    return quantities.parse_or_zero(at(pod, "spec", "overhead", resource))


def _with(container: Manifest, resource: str, value: Fraction, before: Fraction) -> Manifest:
    """Limits of CPUs and memory stay: they may be higher than the request. Those of other
    resources have to be equal to it."""
    if value == before:
        return container
    resources = dict(mapping(container.get("resources")))
    amount = as_quantity(resource, value)
    may_differ = resource in (keys.CPU, keys.MEMORY, "ephemeral-storage")
    for part in ("limits", "requests"):
        amounts = mapping(resources.get(part))
        if resource in amounts and not (may_differ and part == "limits"):
            resources[part] = {**amounts, resource: amount}
    return {**container, "resources": resources}


def _rewritten(pod: Manifest, change: Callable[[Manifest], dict[str, Any]]) -> dict[str, Any]:
    """With other amounts in each container."""
    spec = dict(mapping(pod.get("spec")))
    for part in _PARTS:
        if part in spec:
            spec[part] = [_container_with(each, change) for each in objects(spec[part])]
    return {**pod, "spec": spec}


def _container_with(
    container: Manifest, change: Callable[[Manifest], dict[str, Any]]
) -> dict[str, Any]:
    resources = dict(mapping(container.get("resources")))
    for part in ("limits", "requests"):
        if part in resources:
            resources[part] = change(mapping(resources[part]))
    return {**container, "resources": resources}


def _difference(before: Manifest, after: Manifest) -> dict[str, Any]:
    resources: dict[str, Any] = {}
    for part in ("limits", "requests"):
        old, new = (mapping(at(each, "resources", part)) for each in (before, after))
        changed = {
            name: _plain(new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)
        }
        if changed:
            resources[part] = changed
    name = {"name": after["name"]} if after.get("name") else {}
    return {**name, "resources": resources}


def _plain(amount: object) -> object:
    """A number as a number."""
    return int(amount) if isinstance(amount, str) and amount.isdecimal() else amount
