"""Reads the number of pods from a workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api.reading import at, mapping, text
from kai.api.rules import written

MOST_PODS = 100_000


class InvalidField(Exception):
    """An invalid field of a workload."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


def whole(spec: Mapping[str, Any], member: str, default: int, field: str) -> int:
    """A number of pods. Raises InvalidField."""
    value = spec.get(member)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidField(field, f"is {written(value)}, not a number of pods")
    if value > MOST_PODS:
        raise InvalidField(
            field, f"is {value}, but kai creates at most {MOST_PODS} pods per workload"
        )
    return value


def roles_of(job: Mapping[str, Any], family: str = "pytorch") -> dict[str, Mapping[str, Any]]:
    """The replica specs of a training job by role: "master", "worker". Raises InvalidField."""
    roles = at(job, "spec", f"{family}ReplicaSpecs")
    if not isinstance(roles, Mapping):
        problem = "is missing, so kai cannot create its pods"
        raise InvalidField(f"spec.{family}ReplicaSpecs", problem)
    return {text(role).lower(): mapping(roles[role]) for role in sorted(roles, key=str)}


def replicas_of(role: str, spec: Mapping[str, Any], family: str = "pytorch") -> int:
    """The number of pods of a role of a training job (spec 4 G2)."""
    return whole(spec, "replicas", 1, f"{field_of(role, family)}.replicas")


def field_of(role: str, family: str = "pytorch") -> str:
    return f"spec.{family}ReplicaSpecs.{role.capitalize()}"


def min_available(job: Mapping[str, Any], default: int) -> int:
    """The number of pods that a training job needs, or the default. Raises InvalidField."""
    path = ("runPolicy", "schedulingPolicy")
    place = ".".join(("spec", *path, "minAvailable"))
    return whole(mapping(at(job, "spec", *path)), "minAvailable", default, place)


def replica_size(lws: Mapping[str, Any]) -> int:
    """The number of pods in a replica of a LeaderWorkerSet, including the leader. Raises
    InvalidField."""
    field = "spec.leaderWorkerTemplate.size"
    size = whole(mapping(at(lws, "spec", "leaderWorkerTemplate")), "size", 1, field)
    if size == 0:
        raise InvalidField(field, "is 0, but a replica has at least a leader")
    return size
