"""Checks for what the API server or KAI's webhook refuses, and for settings without effect.

Three users share these checks: `kai lint` reports the findings, `kai plan` leaves out refused pods
with the same sentence, and `kai.settings` does not produce such settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kai.admission import fields, gpus, keys_of, shape
from kai.admission.finding import Finding, refusal
from kai.admission.pods import Pod
from kai.api import keys, quantities
from kai.api.reading import at, labels_of, mapping
from kai.api.rules import shown

__all__ = ["check", "doubts", "node_refusals", "priorities", "queue_refusals", "refusals"]


def check(pod: Pod) -> Iterator[Finding]:
    """Checks one pod: its own metadata, its containers, and its GPU request."""
    own = {part: pod.metadata.get(part) for part in ("labels", "annotations")}
    yield from shape.check_texts(own, pod.metadata_at)
    yield from shape.check(pod)
    yield from gpus.check(pod)


def refusals(pods: Iterable[Pod], *, scheduler: str) -> Iterator[Finding]:
    """Why these pods of a manifest would be refused.

    scheduler: KAI's webhook checks only pods with this schedulerName; here also pods without one.
    """
    for pod in pods:
        ours = pod.scheduler in (None, "", scheduler)
        for finding in check(pod) if ours else shape.check(pod):
            if finding.refused:
                yield finding


def queue_refusals(queue: Mapping[str, Any]) -> Iterator[Finding]:
    """Why KAI's webhook would refuse a Queue (spec 5 A7), unless a cluster has accepted it."""
    accepted = at(queue, "metadata", "resourceVersion")
    if not accepted and at(queue, "spec", "resources") is None:
        yield refusal(
            "queue-without-resources",
            ("spec", "resources"),
            "is missing, and KAI refuses the Queue: resources must be specified",
            "write gpu, cpu and memory, each with quota and limit; -1 means no limit",
        )


def node_refusals(node: Mapping[str, Any]) -> Iterator[Finding]:
    """Amounts of a node that are too large for Kubernetes; the reader reports other errors."""
    for part in ("capacity", "allocatable"):
        for name, amount in mapping(at(node, "status", part)).items():
            if isinstance(amount, (str, int, float)) and quantities.is_beyond(amount):
                yield refusal(
                    "quantity-refused",
                    ("status", part, name),
                    f"{name} is {shown(amount)}, which is more than the largest amount of"
                    " Kubernetes, 2^63 - 1",
                    "write a smaller amount",
                )


def doubts(manifest: Mapping[str, Any], pods: Iterable[Pod]) -> Iterator[Finding]:
    """Unknown names in a manifest and its pods: fields, and keys that resemble KAI's."""
    pods = list(pods)
    yield from keys_of.check(mapping(manifest.get("metadata")), ("metadata",))
    for pod in pods:
        if pod.metadata_at != ("metadata",):
            yield from keys_of.check(pod.metadata, pod.metadata_at)
    yield from fields.of_manifest(manifest, pods)


def priorities(manifest: Mapping[str, Any], pods: Iterable[Pod]) -> Iterator[str]:
    """The PriorityClasses that a manifest names, for a pod group or for pods."""
    named = [labels_of(manifest).get(keys.PRIORITY_CLASS_LABEL)]
    if manifest.get("kind") == "PodGroup":
        named.append(at(manifest, "spec", "priorityClassName"))
    for pod in pods:
        named += [pod.labels.get(keys.PRIORITY_CLASS_LABEL), pod.spec.get("priorityClassName")]
    yield from dict.fromkeys(each for each in named if isinstance(each, str) and each)
