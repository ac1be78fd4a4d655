"""The gangs of Kubeflow's training jobs without sub-groups (spec 6 C28).

All replicas start together, unless the job sets a smaller minimum. The launcher of an MPIJob may be
created only when the workers run; until it exists the group does not wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kai.api import keys
from kai.api.owning import Manifest
from kai.api.reading import at, labels_of, text
from kai.grouping.owners import Owner
from kai.grouping.parts import Gang
from kai.grouping.replicas import min_available, replicas_of, roles_of

FAMILIES: Mapping[str, str] = {"TFJob": "tf", "XGBoostJob": "xgb", "JAXJob": "jax", "MPIJob": "mpi"}
"""Kinds, and the prefix of the field with their replicas."""


def gang(owner: Owner, pods: Sequence[Manifest]) -> Gang:
    """Raises InvalidField for an invalid field of the job."""
    kind, job = owner.key[0], owner.manifest
    family = FAMILIES[kind]
    replicas = {
        role: replicas_of(role, spec, family) for role, spec in roles_of(job, family).items()
    }
    wanted = min_available(job, sum(replicas.values()))
    waits = at(job, "spec", "launcherCreationPolicy") == "WaitForWorkersReady"
    if kind == "MPIJob" and waits and not any(is_launcher(pod) and _lives(pod) for pod in pods):
        wanted -= replicas.get("launcher", 0)
    return Gang(max(wanted, 0))


def is_launcher(pod: Manifest) -> bool:
    """Whether a pod of an MPIJob starts the others."""
    labels = labels_of(pod)
    roles = (labels.get(key) for key in (keys.KUBEFLOW_ROLE_LABEL, keys.REPLICA_TYPE_LABEL))
    return "launcher" in (text(role).lower() for role in roles)


def _lives(pod: Manifest) -> bool:
    ended = at(pod, "status", "phase") in ("Succeeded", "Failed")
    return not ended and at(pod, "metadata", "deletionTimestamp") is None
