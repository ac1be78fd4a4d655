"""What a plan was made of, to plan a changed copy of the cluster in the same way.

Origin(cluster, cluster.changes, lambda: planner)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster


class PlanAfresh(Protocol):
    """Plans a cluster for a time (None: that of the original plan). Nothing that was remembered of
    an earlier plan counts."""

    def __call__(self, cluster: Cluster, at: str | None = None) -> Any: ...


@dataclass(frozen=True)
class Origin:
    """The cluster, how often it had changed by then, and a function that makes a planner with the
    same configuration. Its argument is the most scenarios that the searches of an action may try;
    None: as many as in the plan."""

    cluster: Cluster
    changes: int
    afresh: Callable[[int | None], PlanAfresh]
