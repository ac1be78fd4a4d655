"""Waiting pods that another scheduler places: a plan leaves them alone, and names them.

elsewhere = Elsewhere.among(pods, "kai-scheduler")     # the pods of an input by name
elsewhere.sentences()                # "1 pending pod is not planned: ml/a has schedulerName x"
elsewhere.of("ml/a")                 # what to do about this pod or its workload
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kai.api import keys
from kai.api.reading import annotations_of, at, labels_of, text
from kai.engine.text import count, listing

Manifest = Mapping[str, Any]

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The scheduler of each such pod, by the name of the pod, and the scheduler of the plan.

    `meant_for_kai`: those with a queue or another setting for KAI, which only lack its name.
    """

    scheduler_of: Mapping[str, str]
    meant_for_kai: frozenset[str] = frozenset()
    scheduler: str = keys.SCHEDULER_NAME

    @classmethod
    def among(cls, pods: Iterable[Manifest], scheduler: str) -> Elsewhere:
        """The pods without a node that have another schedulerName and name no pod group."""
        found: dict[str, str] = {}
        meant = set()
        for pod in pods:
            if not waits_elsewhere(pod, scheduler):
                continue
            named = text(at(pod, "spec", "schedulerName")) or "default-scheduler"
            metadata = pod["metadata"]
            name = f"{text(metadata.get('namespace')) or 'default'}/{text(metadata.get('name'))}"
            found[name] = named
            if not _OF_KAI.isdisjoint((*labels_of(pod), *annotations_of(pod))):
                meant.add(name)
        return cls(dict(sorted(found.items())), frozenset(meant), scheduler)

    def __bool__(self) -> bool:
        return bool(self.scheduler_of)

    def among_these(self, pods: Callable[[str], Manifest | None]) -> Elsewhere:
        """Those that still wait, after changes; `pods`: a pod by its name."""
        there = {
            name: scheduler
            for name, scheduler in self.scheduler_of.items()
            if (pod := pods(name)) is not None and _waits(pod)
        }
        return replace(self, scheduler_of=there)

    def sentences(self) -> list[str]:
        """One for each other scheduler: how many pods wait for it, and their names."""
        by_scheduler: dict[str, list[str]] = {}
        for pod, scheduler in self.scheduler_of.items():
            by_scheduler.setdefault(scheduler, []).append(pod)
        return [
            f"{count(len(pods), 'pending pod')} {_is(pods)} not planned:"
            f" {listing(self._meant_first(pods), most=_MOST_NAMED)}"
            f" {'has' if len(pods) == 1 else 'have'} schedulerName {scheduler};"
            f" {self._advice(scheduler)}"
            for scheduler, pods in sorted(by_scheduler.items())
        ]

    def _meant_first(self, pods: list[str]) -> list[str]:
        return sorted(pods, key=lambda pod: (pod not in self.meant_for_kai, pod))

    def of(self, name: str) -> str | None:
        """Why this pod, or the pods of this workload, are not planned; None: they are not here."""
        found = [pod for pod in self.scheduler_of if _is_of(pod, name)]
        if not found:
            return None
        scheduler = self.scheduler_of[found[0]]
        return (
            f"{listing(found, most=_MOST_NAMED)} {_is(found)} not planned: schedulerName is"
            f" {scheduler}, and this plan is for {self.scheduler}.\n"
            f"  W{self._advice(scheduler)[1:]}."
        )

    def _advice(self, scheduler: str) -> str:
        return (
            f"write schedulerName: {self.scheduler}, or plan for that scheduler with"
            f" --scheduler-name {scheduler}"
        )


def _is(pods: list[str]) -> str:
    return "is" if len(pods) == 1 else "are"


def waits_elsewhere(pod: Manifest, scheduler: str) -> bool:
    """Whether this pod waits for another scheduler than this one."""
    named = text(at(pod, "spec", "schedulerName")) or "default-scheduler"
    return named != scheduler and _waits(pod)


def _waits(pod: Manifest) -> bool:
    return (
        not at(pod, "spec", "nodeName")
        and at(pod, "status", "phase") in (None, "", "Pending")
        and not at(pod, "metadata", "deletionTimestamp")
        and keys.POD_GROUP_ANNOTATION not in annotations_of(pod)
    )


def _is_of(pod: str, name: str) -> bool:
    own = pod if "/" in name else pod.rpartition("/")[2]
    return own == name or own.startswith(f"{name}-")


_OF_KAI = frozenset(
    (
        keys.QUEUE_LABEL,
        keys.GPU_FRACTION_ANNOTATION,
        keys.GPU_MEMORY_ANNOTATION,
        *keys.TOPOLOGY,
    )
)


def may_wait_elsewhere(data: bytes, scheduler: str | None = None) -> bool:
    """Whether some pod of a JSON text may wait for another scheduler; the text is not parsed.

    `scheduler`: None: the one that the text, a snapshot, names in its parameters. In the text of a
    pod its schedulerName comes before its phase, as in that of Kubernetes.
    """
    ours = {(_scheduler_in(data) if scheduler is None else scheduler).encode()}
    return any(
        each[1] not in ours and _PHASE.match(data, data.find(b'"phase"', each.end()))
        for each in _SCHEDULER.finditer(data)
    )


def _scheduler_in(snapshot: bytes) -> str:
    params = snapshot.find(b'"schedulerParams"')
    named = _SCHEDULER.search(snapshot, params) if params >= 0 else None
    return keys.SCHEDULER_NAME if named is None else named[1].decode(errors="replace")


_SCHEDULER = re.compile(rb'"schedulerName"\s*:\s*"([^"]*)"')
_PHASE = re.compile(rb'"phase"\s*:\s*"Pending"')
