"""The options that plans depend on; `kai run` has further ones."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from kai.api import defaults, keys

if TYPE_CHECKING:
    from kai.policy import Policy

Role = Literal["scheduler", "binder", "pod-grouper", "pod-group-controller", "queue-controller"]
ROLES: tuple[str, ...] = get_args(Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningOptions:
    """`binding`: "direct" binds pods, "bind-requests" creates BindRequests, which the binder role
    (or KAI's binder) carries out. `policies`: functions declared with `kai.policy`."""

    roles: tuple[str, ...] = ROLES
    scheduler_name: str = keys.SCHEDULER_NAME
    node_pool_key: str = keys.NODE_POOL_LABEL
    node_pool: str = ""
    queue_label_key: str = keys.QUEUE_LABEL
    config: Any = None
    as_kai: bool = False
    policies: tuple[Policy, ...] = ()
    binding: Literal["direct", "bind-requests"] = "direct"
    params: dict[str, Any] = field(default_factory=dict)

    def has(self, role: Role) -> bool:
        return role in self.roles

    def for_roles(self, *roles: Role) -> PlanningOptions:
        """The same options of plans, for other roles."""
        same = {each.name: getattr(self, each.name) for each in fields(PlanningOptions)}
        return PlanningOptions(**{**same, "roles": roles})

    def scheduler_params(self) -> dict[str, Any]:
        """As in the `schedulerParams` of a snapshot (spec 2 L7)."""
        pool = {"NodePoolLabelKey": self.node_pool_key, "NodePoolLabelValue": self.node_pool}
        return {
            **defaults.scheduler_params(),
            "schedulerName": self.scheduler_name,
            "partitionParams": pool,
            "queueLabelKey": self.queue_label_key,
            **self.params,
        }
