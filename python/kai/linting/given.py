"""What the objects of an input say about each other: nodes, priority classes and shared claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.admission import gpus
from kai.admission.finding import Finding, Path, error, warning
from kai.admission.pods import Pod, amounts
from kai.admission.queue_tree import DEFAULT_NOT_GIVEN, WITHOUT_QUEUE, Queues
from kai.api import defaults, keys, kinds
from kai.api.nearest import did_you_mean
from kai.api.reading import at, first_text, labels_of, objects, text
from kai.linting.devices import UNKNOWN, Devices
from kai.linting.named import Named, choices


@dataclass(frozen=True, slots=True)
class Given:
    """devices: of the given nodes. polite: the priority classes with preemptionPolicy: Never.
    claims: the labels of the resource claims for GPUs, by "namespace/name". priorities: the values
    of the priority classes, also of those that `kai install` creates. has_classes: others are
    given. named: what else the objects name."""

    devices: Devices = UNKNOWN
    polite: frozenset[str] = frozenset()
    claims: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=lambda: defaults.PRIORITIES)
    has_classes: bool = False
    named: Named = field(default_factory=Named)

    @staticmethod
    def of(manifests: Iterable[Mapping[str, Any]]) -> Given:
        manifests = list(manifests)
        polite = {
            text(at(each, "metadata", "name"))
            for each in manifests
            if each.get("kind") == "PriorityClass" and each.get("preemptionPolicy") == "Never"
        }
        claims = {
            kinds.full_name(each): labels_of(each)
            for each in manifests
            if each.get("kind") == "ResourceClaim" and _is_for_gpus(each)
        }
        priorities = {
            text(at(each, "metadata", "name")): value
            for each in manifests
            if each.get("kind") == "PriorityClass" and isinstance(value := each.get("value"), int)
        }
        known = {**defaults.PRIORITIES, **priorities}
        return Given(
            Devices.of(manifests),
            frozenset(polite),
            claims,
            known,
            has_classes=bool(priorities),
            named=Named.of(manifests),
        )

    def check_claims(
        self, pod: Pod, namespace: str, queue: str, label_key: str
    ) -> Iterator[Finding]:
        """Claims that pods share need the label of the queue; KAI leaves the pod waiting."""
        for index, each in enumerate(objects(pod.spec.get("resourceClaims"))):
            name = text(each.get("resourceClaimName"))
            labels = self.claims.get(f"{namespace or 'default'}/{name}")
            if labels is None or labels.get(label_key) == queue:
                continue
            if label_key not in labels:
                message = f"ResourceClaim {name} has no label {label_key}: pods that use it wait"
            else:
                message = (
                    f"ResourceClaim {name} has the label of queue {labels[label_key]}, and the pod"
                    f" is in queue {queue}: it waits"
                )
            where = (*pod.spec_at, "resourceClaims", index, "resourceClaimName")
            fix = f"write the label {label_key}: {queue} on the ResourceClaim"
            yield error("claim-queue", where, message, fix)

    def check_priority(self, pod: Pod, owner: Mapping[str, Any]) -> Iterator[Finding]:
        """The name of a priority class that does not exist; without classes, a misspelt one."""
        key = keys.PRIORITY_CLASS_LABEL
        places = [
            (labels_of(owner).get(key), (*pod.metadata_at, "labels", key)),
            (pod.labels.get(key), pod.place_of("labels", key)),
            (pod.fields.get("priorityClassName"), (*pod.fields_at, "priorityClassName")),
        ]
        name, where = next(((text(name), at) for name, at in places if text(name)), ("", ()))
        known = [*self.priorities, *defaults.SYSTEM_PRIORITIES]
        if not name or name in known:
            return
        hint = did_you_mean(name, known).removeprefix("; ")
        if self.has_classes or hint:
            in_files = " in the given files" if self.has_classes else ""
            yield warning(
                "priority-unknown",
                where,
                f"there is no PriorityClass {name}{in_files}",
                hint or f"write one of {', '.join(sorted(self.priorities))}",
            )

    def can_borrow(self, pod: Pod, owner: Mapping[str, Any], kind: str) -> bool:
        """Whether a pod is preemptible, so that it can use more than the quota of its queue; also
        if that is not known."""
        labels = {**pod.labels, **labels_of(owner)}
        preemptibility = text(labels.get(keys.PREEMPTIBILITY_LABEL)).lower()
        if preemptibility in ("preemptible", "non-preemptible"):
            return preemptibility == "preemptible"
        name = first_text(
            labels.get(keys.PRIORITY_CLASS_LABEL),
            pod.fields.get("priorityClassName"),
            kinds.known(kind).priority,
        )
        return self.priorities.get(name, 0) < _NOT_PREEMPTIBLE

    def lacking_quota(
        self, pod: Pod, owner: Mapping[str, Any], kind: str, queue: str, known: Queues
    ) -> str:
        """What a pod that cannot borrow requests and its queue has no quota of; "" for nothing."""
        resource, name = ("gpu", "GPUs") if gpus.has_gpu(pod) else ("cpu", "CPUs")
        asks = resource == "gpu" or any(each == "cpu" for _, each, _ in _amounts(pod))
        if not asks or resource not in known.without_quota.get(queue, ()):
            return ""
        return "" if self.can_borrow(pod, owner, kind) else name

    def check_quota(
        self, pod: Pod, owner: Mapping[str, Any], kind: str, queue: str, known: Queues, where: Path
    ) -> Iterator[Finding]:
        """A pod that cannot borrow needs a quota of its queue."""
        if name := self.lacking_quota(pod, owner, kind, queue, known):
            yield warning(
                "queue-without-quota",
                where,
                f"queue {queue} has a quota of 0 {name}, and the pods are not preemptible, so they"
                " cannot use more: they never start",
                f"write the label {keys.PREEMPTIBILITY_LABEL}: preemptible, or a quota",
            )

    def without_queue(
        self, pod: Pod, owner: Mapping[str, Any], kind: str, known: Queues
    ) -> tuple[str, bool]:
        """What becomes of pods for which no queue is named, and whether that is certain."""
        queue = defaults.DEFAULT_QUEUE
        if known.complete and queue not in known.parents:
            return f"{WITHOUT_QUEUE}, which does not exist: they wait", True
        if name := self.lacking_quota(pod, owner, kind, queue, known):
            place = ", which is not in the given files" if known.lacks_default() else ""
            quota = f"{WITHOUT_QUEUE}{place}. It has a quota of 0 {name}"
            return f"{quota}, and they are not preemptible: they never start", False
        if known.lacks_default():
            return DEFAULT_NOT_GIVEN, False
        return f"{WITHOUT_QUEUE}, and wait if it does not exist", False


_NOT_PREEMPTIBLE = 100
"""Pods of this priority and above are not preemptible."""


def _amounts(pod: Pod) -> Iterator[tuple[Path, str, Any]]:
    for container in (*pod.containers, *pod.init_containers):
        yield from amounts(container)


def _is_for_gpus(claim: Mapping[str, Any]) -> bool:
    """As KAI counts them: the name of the device class contains gpu."""
    return any(
        "gpu" in text(device.get("deviceClassName")).lower()
        for request in objects(at(claim, "spec", "devices", "requests"))
        for device, _ in choices(request)
    )


NOTHING = Given()
"""Only one object is known."""
