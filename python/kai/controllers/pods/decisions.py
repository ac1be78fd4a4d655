"""What is decided about pods, as data.

Binding("team/train-0", uid, "n1", assumption, "pg-train").needs    # []
Removal(order, assumption).case                                     # "reclaim team/pg-train"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.controllers.verdicts import Eviction

PART_OF_A_GPU, CLAIMS, VOLUMES = "a part of a GPU", "resource claims", "volumes"


@dataclass(frozen=True, slots=True)
class Binding:
    """A pod that is about to be bound.

    `pod` is "namespace/name"; `group` is the name of its group, and `names_group`: the pod names it
    already. `annotations`: annotations that the pod gets. `spec`: further fields of a BindRequest,
    besides pod and node. `waits_for_volumes`: not all of its volumes exist. `request`: the
    BindRequest, "namespace/name", that this binding carries out, or that another role carried out.
    """

    pod: str
    uid: str
    node: str
    assumption: int
    group: str
    subgroup: str = ""
    names_group: bool = True
    annotations: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    request: str = ""
    waits_for_volumes: bool = False

    @property
    def namespace(self) -> str:
        return self.pod.partition("/")[0]

    @property
    def own_name(self) -> str:
        """The pod's name without its namespace."""
        return self.pod.partition("/")[2]

    @property
    def key(self) -> tuple[str, str]:
        """Identifies one pod: a new pod of the same name has another UID."""
        return self.pod, self.uid

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """The pod, which waits for the writes of its binding (kai.api.writes)."""
        return (self.key,)

    @property
    def needs(self) -> list[str]:
        """The pod's needs before it is bound, in words."""
        return [*([VOLUMES] if self.waits_for_volumes else ()), *needs_of(self.spec)]


def needs_of(spec: Mapping[str, Any]) -> list[str]:
    """The needs of the pod of a BindRequest with this spec before it is bound, in words."""
    needs = []
    if spec.get("selectedGPUGroups") or spec.get("receivedResourceType") == "Fraction":
        needs.append(PART_OF_A_GPU)
    if spec.get("resourceClaimAllocations") or spec.get("extendedResourceClaimAllocation"):
        needs.append(CLAIMS)
    return needs


@dataclass(frozen=True, slots=True)
class Removal:
    """A victim that is about to be evicted."""

    order: Eviction
    assumption: int

    @property
    def case(self) -> str:
        """The cause of the eviction: the pod group that takes its resources, otherwise its own."""
        return f"{self.order.action} {self.order.waits}"
