"""Decisions about pods that no plan had as waiting: the other scheduler was faster than the plans.

    late = LatePods()
    late.saw(pod)                       # each version of a pod or BindRequest, from its watch
    late.add(now, case)                 # a binding that could not be compared
    with late.waiting(cluster, cases):  # meanwhile these pods wait in the cluster
        plan = session.plan(cluster, now_ns=now_ns)

Their pods and BindRequests are put back as if they waited, all of them together, and the present
state is planned. That state is at most LOOKBACK_S younger than the one that the other scheduler
had. It cannot be done for pods with volumes or resource claims: these are already bound to what
the other scheduler has chosen.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kai.api import keys
from kai.api.kinds import full_name
from kai.api.reading import at, labels_of, mapping, objects
from kai.controllers.shadow.comparison import LOOKBACK_S, Case

if TYPE_CHECKING:
    from kai import _core

MOST_KNOWN = 1000
"""The latest pods whose manifests are kept. A pod that is bound at once is among them."""

Object = Mapping[str, Any]


class LatePods:
    """`saw` may be called by another thread than the others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Object] = {}  # by kind and name, the youngest last
        self._cases: list[tuple[float, Case]] = []

    def saw(self, kind: str, manifest: Object) -> None:
        """`kind`: Pod or BindRequest."""
        key = (kind, full_name(manifest))
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = manifest
            if len(self._known) > MOST_KNOWN:
                del self._known[next(iter(self._known))]

    def add(self, now: float, case: Case) -> None:
        self._cases.append((now, case))

    def take(self, now: float, is_grouped: Callable[[str], bool]) -> tuple[list[Case], list[Case]]:
        """The cases that can be compared now, and those that cannot be compared any more. A pod
        that has no group yet has some time to get one."""
        ready, over, kept = list[Case](), list[Case](), list[tuple[float, Case]]()
        for since, case in self._cases:
            pod = self._found("Pod", case.compared.pod)
            if pod is None or not _can_wait(pod) or now - since > LOOKBACK_S:
                over.append(case)
            elif is_grouped(case.compared.pod):
                ready.append(case)
            else:
                kept.append((since, case))
        self._cases = kept
        return ready, over

    def next(self) -> float | None:
        """When a case is over if nothing else happens."""
        return min((since + LOOKBACK_S for since, _ in self._cases), default=None)

    @contextlib.contextmanager
    def waiting(self, cluster: _core.Cluster, cases: Sequence[Case]) -> Iterator[None]:
        """In the block, the pods of these cases wait in the cluster."""
        names = [each.compared.pod for each in cases]
        pods = [found for name in names if (found := self._found("Pod", name)) is not None]
        requests = [each for name in names if (each := self._found("BindRequest", name))]
        there = [each for each in requests if cluster.has("BindRequest", full_name(each))]
        for each in there:
            cluster.delete("BindRequest", full_name(each))
        for each in pods:
            cluster.upsert(_dumped("Pod", waiting_again(each)))
        try:
            yield
        finally:
            for each in pods:
                cluster.upsert(_dumped("Pod", each))
            for each in there:
                cluster.upsert(_dumped("BindRequest", each))

    def _found(self, kind: str, name: str) -> Object | None:
        with self._lock:
            return self._known.get((kind, name))


def waiting_again(pod: Object) -> dict[str, Any]:
    """The pod as it was before it was bound."""
    metadata = mapping(pod.get("metadata"))
    labels = {
        name: value
        for name, value in labels_of(pod).items()
        if name != keys.GPU_GROUP_LABEL and not name.startswith(keys.GPU_GROUP_LABEL_PREFIX)
    }
    spec = {name: each for name, each in mapping(pod.get("spec")).items() if name != "nodeName"}
    return {
        **pod,
        "metadata": {**metadata, "labels": labels},
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def _can_wait(pod: Object) -> bool:
    volumes = objects(at(pod, "spec", "volumes"))
    return not at(pod, "spec", "resourceClaims") and not any(
        "persistentVolumeClaim" in each or "ephemeral" in each for each in volumes
    )


def _dumped(kind: str, manifest: Object) -> bytes:
    return json.dumps({**manifest, "kind": kind}).encode()
