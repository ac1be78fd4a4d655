"""Chooses recorded cases for an API server: from each area in turn, the case with most features
that no earlier case has.

    for case in choose(read_cases([default_cases()]), 30): ...
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kai.api import keys
from kai.verify import Case

from .recorded import needs_as_kai, record_of, why_not


def choose(cases: Iterable[Case], count: int) -> list[Case]:
    """This many cases from as many areas as possible; of equally useful cases the smallest."""
    left = [case for case in cases if not why_not(case)]
    about = {case: frozenset(concerns(case)) for case in left}
    chosen, seen, taken = list[Case](), set[str](), Counter[str]()
    while left and len(chosen) < count:
        fewest = min(taken[case.area] for case in left)
        best = min(
            (case for case in left if taken[case.area] == fewest),
            key=lambda case: (-len(about[case] - seen), size(case), case.area, case.id),
        )
        left.remove(best)
        chosen.append(best)
        seen |= about[best]
        taken[best.area] += 1
    return chosen


def size(case: Case) -> int:
    """The number of its objects."""
    return sum(len(each or ()) for each in case.data["snapshot"]["rawObjects"].values())


def concerns(case: Case) -> Iterator[str]:
    """The features of a case, as far as they can be read from it."""
    snapshot = case.data["snapshot"]
    objects: Mapping[str, list[dict[str, Any]]] = snapshot["rawObjects"]
    record = record_of(case)
    yield from (f"{each.action} evicts" for each in record.evict.values())
    if record.bind:
        yield "binds"
    if record.pipeline.keys() - record.evict.keys():
        yield "promises"
    if record.pipeline.keys() & record.evict.keys():
        yield "moves"
    if needs_as_kai(case):
        yield "as KAI"
    for each in objects.get("queues", ()):
        yield from of_queue(each)
    if any(depth(each, objects["queues"]) > 1 for each in objects.get("queues", ())):
        yield "departments"
    for each in objects.get("podGroups", ()):
        yield from of_group(each)
    if len({each["spec"].get("priorityClassName") for each in objects.get("podGroups", ())}) > 1:
        yield "priorities"
    for each in objects.get("pods", ()):
        yield from of_pod(each)
    for each in objects.get("nodes", ()):
        yield from (name for name in ("taints", "unschedulable") if each.get("spec", {}).get(name))
    for each in (*objects.get("nodes", ()), *objects.get("podGroups", ())):
        if keys.NODE_POOL_LABEL in each["metadata"].get("labels", {}):
            yield "node pools"


def of_queue(queue: Mapping[str, Any]) -> Iterator[str]:
    yield from (
        name
        for name in ("priority", "reclaimMinRuntime", "preemptMinRuntime")
        if name in queue["spec"]
    )
    for name, share in queue["spec"].get("resources", {}).items():
        if share.get("limit", -1) >= 0:
            yield f"limit of {name}"
        if share.get("quota", 0) > 0:
            yield f"quota of {name}"


def depth(queue: Mapping[str, Any], queues: list[dict[str, Any]]) -> int:
    """The number of queues above it."""
    parent = queue["spec"].get("parentQueue")
    above = [each for each in queues if each["metadata"]["name"] == parent]
    return 1 + depth(above[0], queues) if above else 0


def of_group(group: Mapping[str, Any]) -> Iterator[str]:
    spec = group["spec"]
    if spec.get("minMember", 1) > 1:
        yield "gang"
    yield from (
        name
        for name in (
            "minSubGroup",
            "subGroups",
            "preemptibility",
            "preemptionDelay",
            "stalenessGracePeriod",
        )
        if name in spec
    )
    if any(each.get("parent") for each in spec.get("subGroups", ())):
        yield "nested subgroups"
    for each in (spec, *spec.get("subGroups", ())):
        yield from each.get("topologyConstraint", ())
    yield from (
        key for key in group["metadata"].get("annotations", {}) if key.endswith("timestamp")
    )


def of_pod(pod: Mapping[str, Any]) -> Iterator[str]:
    spec, metadata = pod["spec"], pod["metadata"]
    yield f"phase {pod['status']['phase']}"
    yield from (
        name
        for name in ("nodeSelector", "tolerations", "schedulingGates", "initContainers")
        if name in spec
    )
    yield from spec.get("affinity", ())
    if spec.get("schedulerName") != keys.SCHEDULER_NAME:
        yield "another scheduler"
    if keys.TASK_PRIORITY_LABEL in metadata.get("labels", {}):
        yield "order of pods"
    for container in spec["containers"]:
        for name in container.get("resources", {}).get("requests", {}):
            yield f"request of {name}"
        if container.get("ports"):
            yield "ports"
