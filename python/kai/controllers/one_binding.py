"""A pod that is about to be bound, as data.

Binding("team/train-0", uid, "n1", assumption, "pg-train").needs    # []
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PART_OF_A_GPU, CLAIMS, VOLUMES = "a part of a GPU", "resource claims", "volumes"


@dataclass(frozen=True, slots=True)
class Binding:
    """A pod that is about to be bound.

    `pod` is "namespace/name"; `group` is the name of its group, and `names_group` says whether the
    pod itself has it already. `annotations`: what the pod gets. `spec`: what a BindRequest says
    beside pod and node. `waits_for_volumes`: its volumes are not all there. `request`: the
    BindRequest that it carries out, "namespace/name", or that another role carried out.
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
        """The pod's, without its namespace."""
        return self.pod.partition("/")[2]

    @property
    def key(self) -> tuple[str, str]:
        """Of one pod: another one of its name has another UID."""
        return self.pod, self.uid

    @property
    def needs(self) -> list[str]:
        """What the pod needs before it is bound, in words."""
        return [*([VOLUMES] if self.waits_for_volumes else ()), *needs_of(self.spec)]


def needs_of(spec: Mapping[str, Any]) -> list[str]:
    """What the pod of a BindRequest with this spec needs before it is bound, in words."""
    needs = []
    if spec.get("selectedGPUGroups") or spec.get("receivedResourceType") == "Fraction":
        needs.append(PART_OF_A_GPU)
    if spec.get("resourceClaimAllocations") or spec.get("extendedResourceClaimAllocation"):
        needs.append(CLAIMS)
    return needs
