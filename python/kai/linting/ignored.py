"""What KAI ignores: fields that kube-scheduler reads, and the gangs of other schedulers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kai.admission import keys_of, misspelt
from kai.admission.finding import Finding, Path, warning
from kai.admission.pods import Pod
from kai.api import keys, kinds
from kai.api.reading import at, mapping, objects, text

_SPREAD = "topologySpreadConstraints"
_PREFERRED = ("affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
_EXTRA = "with kai, turn on the extra {name}: kai plan --config with extras: {{{name}: true}}"


def fields(pod: Pod, polite: frozenset[str]) -> Iterator[Finding]:
    """Fields of a pod that kube-scheduler reads and KAI ignores.

    polite: the names of the given priority classes with preemptionPolicy: Never.
    """
    yield from _spread(pod)
    if at(pod.fields, *_PREFERRED):
        yield warning(
            "field-ignored",
            (*pod.fields_at, *_PREFERRED),
            "KAI ignores preferred node affinity: the pod may start on any node",
            f"{_EXTRA.format(name='preferred_node_affinity')}; with KAI, write required affinity",
        )
    if isinstance(pod.fields.get("resources"), Mapping) and pod.spec:
        yield warning(
            "field-ignored",
            (*pod.fields_at, "resources"),
            "KAI ignores the resources of the pod as a whole: it adds up those of the containers",
            "write the requests and limits in the containers",
        )
    yield from _polite(pod, polite)
    for key in mapping(pod.fields.get("nodeSelector")):
        if key in (*misspelt.OF_GPUS, *keys_of.QUEUES):
            part = "labels" if key in keys_of.QUEUES else "annotations"
            yield warning(
                "annotation-ignored",
                (*pod.fields_at, "nodeSelector", str(key)),
                f"{key} in nodeSelector selects nodes with such a label, which no node has",
                f"move it to {part} of the pod",
            )


def _spread(pod: Pod) -> Iterator[Finding]:
    constraints = objects(pod.fields.get(_SPREAD))
    if not constraints:
        return
    strict = any(each.get("whenUnsatisfiable") != "ScheduleAnyway" for each in constraints)
    extra = _EXTRA.format(name="topology_spread")
    yield warning(
        "field-ignored",
        (*pod.fields_at, _SPREAD),
        f"KAI ignores {_SPREAD}: all pods may start in one domain",
        f"{extra}; with KAI, write required podAntiAffinity"
        if strict
        else f"remove it, or write DoNotSchedule; {extra}",
    )


def _polite(pod: Pod, polite: frozenset[str]) -> Iterator[Finding]:
    name = text(pod.fields.get("priorityClassName"))
    own = pod.fields.get("preemptionPolicy") == "Never"
    if not own and name not in polite:
        return
    yield warning(
        "field-ignored",
        (*pod.fields_at, "preemptionPolicy" if own else "priorityClassName"),
        ("" if own else f"PriorityClass {name} has preemptionPolicy: Never; ")
        + "KAI ignores preemptionPolicy: Never, and may evict other pods for this pod",
        f"delay the eviction with the annotation {keys.PREEMPTION_DELAY_ANNOTATION}, or use a"
        " PriorityClass that is not above those of the pods that must stay",
    )


# ---- gangs of other schedulers -------------------------------------------------------------------

_GANGS: Mapping[str, tuple[str, ...]] = {
    "Volcano": (
        "scheduling.k8s.io/group-name",
        "scheduling.volcano.sh/group-name",
        "scheduling.volcano.sh/group-min-member",
    ),
    "the coscheduling plugin": (
        "pod-group.scheduling.sigs.k8s.io",
        "pod-group.scheduling.sigs.k8s.io/name",
        "pod-group.scheduling.sigs.k8s.io/min-available",
        "scheduling.x-k8s.io/pod-group",
    ),
    "Koordinator": (
        "gang.scheduling.koordinator.sh/name",
        "gang.scheduling.koordinator.sh/min-available",
        "gang.scheduling.koordinator.sh/total-number",
    ),
    "YuniKorn": ("yunikorn.apache.org/task-group-name", "yunikorn.apache.org/task-groups"),
}
"""Labels and annotations of gangs. Kueue's are missing: it admits pods before KAI places them."""


def gangs(metadata: Mapping[str, Any], where: Path, kind: str) -> Iterator[Finding]:
    """Keys that make a gang for another scheduler; one finding for each scheduler."""
    written = {
        key: (*where, part, key)
        for part in ("labels", "annotations")
        for key in mapping(metadata.get(part))
    }
    if keys.POD_GROUP_ANNOTATION in written:
        return
    for scheduler, names in _GANGS.items():
        found = [name for name in names if name in written]
        if found:
            yield warning(
                "gang-ignored",
                written[found[0]],
                f"KAI does not read {' and '.join(found)} of {scheduler}: the pods may start one by"
                " one",
                _instead(kind),
            )


def _instead(kind: str) -> str:
    known = kinds.known(kind)
    if known.gang == "owner":
        where = "" if kind == "Job" else f" of the {kind}"
        return f"write the annotation {keys.BATCH_MIN_MEMBER_ANNOTATION} on the Job{where}"
    if known.gang == "leaf":
        return f"write the annotation {keys.BATCH_MIN_MEMBER_ANNOTATION} on each replicated job"
    if known.gang:
        return f"remove it; the minimum of pods is {known.gang}"
    if kind == "Pod":
        return f"write the annotation {keys.POD_GROUP_ANNOTATION} with the name of a KAI PodGroup"
    return f"remove it; {known.gang_hint}"
