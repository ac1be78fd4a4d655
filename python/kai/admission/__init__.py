"""Checks for what the API server or KAI's webhook refuses, and for settings without effect.

Four users share these checks: `kai lint` reports the findings, `kai plan` leaves out refused
objects with the same sentence, `kai.settings` does not produce such settings, and `kai run
admission` answers the API server with them, in the words of KAI's webhooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kai.admission import fields, gpus, guards, keys_of, shape
from kai.admission.finding import Finding, refusal
from kai.admission.naming import (
    item_refusals,
    list_refusals,
    name_refusals,
    same_name,
    unknown_kind,
    without_name,
)
from kai.admission.pod_groups import pod_group_refusals
from kai.admission.pods import Pod
from kai.admission.queues import queue_refusals
from kai.admission.topologies import topology_refusals
from kai.admission.workloads import workload_refusals
from kai.api import keys, quantities
from kai.api.reading import at, labels_of, mapping
from kai.api.rules import written

__all__ = [
    "check",
    "doubts",
    "item_refusals",
    "list_refusals",
    "name_refusals",
    "node_refusals",
    "pod_group_refusals",
    "priorities",
    "queue_refusals",
    "refusals",
    "same_name",
    "topology_refusals",
    "unknown_kind",
    "without_name",
    "workload_refusals",
]


def check(pod: Pod) -> Iterator[Finding]:
    """Checks one pod: its own metadata, its containers, its GPU request, and its guard."""
    own = {part: pod.metadata.get(part) for part in ("labels", "annotations")}
    yield from shape.check_texts(own, pod.metadata_at)
    yield from shape.check(pod)
    yield from gpus.check(pod)
    yield from guards.check(pod)


def refusals(pods: Iterable[Pod], *, scheduler: str) -> Iterator[Finding]:
    """Why these pods of a manifest would be refused.

    scheduler: KAI's webhook checks only pods with this schedulerName; here also pods without one.
    """
    for pod in pods:
        ours = pod.scheduler in (None, "", scheduler)
        for finding in check(pod) if ours else shape.check(pod):
            if finding.refused:
                yield finding


def node_refusals(node: Mapping[str, Any]) -> Iterator[Finding]:
    """Amounts of a node that are too large for Kubernetes; the reader reports other errors."""
    for part in ("capacity", "allocatable"):
        for name, amount in mapping(at(node, "status", part)).items():
            if isinstance(amount, (str, int, float)) and quantities.is_beyond(amount):
                yield refusal(
                    "quantity-refused",
                    ("status", part, name),
                    f"{name} is {written(amount)}, which is more than the largest amount of"
                    " Kubernetes, 2^63 - 1",
                    "write a smaller amount",
                )


def doubts(
    manifest: Mapping[str, Any], pods: Iterable[Pod], *, scheduler: str
) -> Iterator[Finding]:
    """Unknown names in a manifest and its pods: fields, and names that resemble KAI's.

    scheduler: keys and resources of pods with another schedulerName are meant for other programs.
    """
    pods = list(pods)
    ours = [pod for pod in pods if pod.scheduler in (None, "", scheduler)]
    metadata = mapping(manifest.get("metadata"))
    if any(pod.metadata_at == ("metadata",) for pod in pods):
        pass  # a bare pod: see below
    elif ours:
        has_gpu = all(map(gpus.has_gpu, ours))
        yield from keys_of.check(metadata, ("metadata",), "workload", has_gpu=has_gpu)
    else:
        yield from keys_of.check(metadata, ("metadata",))
    for pod in pods:
        owner: keys_of.Owner = "pod" if pod in ours else "other"
        own = pod.metadata if pod.own is None else pod.own
        yield from keys_of.check(own, pod.metadata_at, owner, has_gpu=gpus.has_gpu(pod))
        if pod in ours:
            yield from gpus.unknown_resources(pod)
    yield from fields.of_manifest(manifest, pods)


def priorities(manifest: Mapping[str, Any], pods: Iterable[Pod]) -> Iterator[str]:
    """The PriorityClasses that a manifest names, for a pod group or for pods."""
    named = [labels_of(manifest).get(keys.PRIORITY_CLASS_LABEL)]
    if manifest.get("kind") == "PodGroup":
        named.append(at(manifest, "spec", "priorityClassName"))
    for pod in pods:
        named += [pod.labels.get(keys.PRIORITY_CLASS_LABEL), pod.spec.get("priorityClassName")]
    yield from dict.fromkeys(each for each in named if isinstance(each, str) and each)
