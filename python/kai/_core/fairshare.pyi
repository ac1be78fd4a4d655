"""Single questions of fair share, for tables, tests and notebooks.

Resources come in the order cpu, memory, gpu, in millicores, bytes and devices; -1 is unlimited.
"""

from collections.abc import Sequence
from typing import final

_Amounts = Sequence[float]  # cpu, memory, gpu

class _Compiled(type):
    """The metaclass of compiled classes."""

@final
class Share(metaclass=_Compiled):
    """One resource of one queue."""

    def __init__(
        self,
        *,
        deserved: float = 0.0,
        limit: float = 0.0,
        over_quota_weight: float = 0.0,
        allocated: float = 0.0,
        allocated_non_preemptible: float = 0.0,
        request: float = 0.0,
        usage: float = 0.0,
        fair_share: float = 0.0,
    ) -> None: ...
    deserved: float
    limit: float
    over_quota_weight: float
    allocated: float
    allocated_non_preemptible: float
    request: float
    usage: float
    fair_share: float

@final
class QueueShare(metaclass=_Compiled):
    """A queue with its three shares."""

    def __init__(
        self,
        *,
        name: str,
        parent: str = "",
        priority: int = 100,
        created_ns: int = 0,
        cpu: Share = ...,
        memory: Share = ...,
        gpu: Share = ...,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def parent(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def created_ns(self) -> int: ...
    @property
    def cpu(self) -> Share: ...
    @property
    def memory(self) -> Share: ...
    @property
    def gpu(self) -> Share: ...

@final
class Job(metaclass=_Compiled):
    """A pod group in a question about order. A pod set is its minimum, active pods and pods."""

    def __init__(
        self,
        *,
        name: str,
        queue: str,
        priority: int = 0,
        created_ns: int = 0,
        preemptible: bool = False,
        ready: bool = True,
        pending: int = 0,
        within_preemption_delay: bool = False,
        pod_sets: Sequence[tuple[int, int, int]] = ...,
        request: _Amounts = ...,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def queue(self) -> str: ...

def divide_siblings(
    total: float,
    k_value: float,
    queues: Sequence[QueueShare],
    resource: str,
    *,
    over_quota_only: bool = False,
) -> tuple[dict[str, float], float]:
    """Fair shares of queues below one parent, by name, and what is left (spec 1 §4)."""

def divide_tree(
    total: _Amounts, k_value: float, queues: Sequence[QueueShare]
) -> dict[str, list[float]]:
    """Fair shares of a whole queue tree, by name."""

def compare_queues(
    left: QueueShare,
    right: QueueShare,
    *,
    total: _Amounts | None = None,
    left_job: _Amounts | None = None,
    right_job: _Amounts | None = None,
    left_victims: Sequence[_Amounts] | None = None,
    right_victims: Sequence[_Amounts] | None = None,
) -> int:
    """-1 if the left queue goes first, else 1 (spec 1 §5)."""

def check_capacity(
    queues: Sequence[QueueShare], queue: str, requested: _Amounts, *, preemptible: bool, check: str
) -> tuple[bool, str, str, str]:
    """Whether limits and quota allow it; else KAI's reason, the queue that refuses, KAI's text.

    `check` is "limit", "quota" or "limitAndQuota" (spec 1 F76-F78).
    """

def reclaim_strategy(
    strategy: str,
    reclaimer: QueueShare,
    request: _Amounts,
    victim: QueueShare,
    remaining: _Amounts,
) -> bool:
    """Whether a queue of which `remaining` is left has more than a strategy leaves it.

    `strategy` is "maintainFairShare", "guaranteeQuota" or "any" (spec 1 F90).
    """

def reclaimable(
    queues: Sequence[QueueShare],
    reclaimer: str,
    request: _Amounts,
    *,
    question: str,
    preemptible: bool,
    victim: str | None = None,
    losses: Sequence[tuple[str, _Amounts]] = ...,
    saturation_multiplier: float = 1.0,
) -> bool:
    """One question about a reclaimer, by the name of its queue.

    `question` is "canReclaim" (F84), "victimCandidate" (F86; of queue `victim`) or "reclaimable"
    (F88-F94; what queues lose, piece by piece).
    """

def min_runtime(
    queues: Sequence[tuple[str, str, int | None, int | None]],
    action: str,
    *,
    pending: str | None = None,
    victim: str | None = None,
    default_preempt_ns: int = 0,
    default_reclaim_ns: int = 0,
    method: str = "lca",
) -> int:
    """How long a pod group of queue `victim` may run undisturbed, in nanoseconds (spec 1 F105).

    A queue is its name, its parent's, and its minimum runtimes for preemption and reclaim. `action`
    is "preempt" or "reclaim", `method` "lca" or "queue".
    """

def min_runtime_allows(
    runtime_ns: int,
    ran_ns: int | None,
    *,
    elastic: bool,
    pod_sets: Sequence[tuple[int, int, int]] | None = None,
) -> bool:
    """Whether a pod group that ran for `ran_ns` may be a victim (spec 1 F104).

    With `pod_sets` (minimum, active pods, victims): whether it may lose that much (F106).
    """

def job_order(
    queues: Sequence[QueueShare],
    jobs: Sequence[Job],
    steps: Sequence[Job | None],
    *,
    fair_share_order: bool = False,
    filter_unready: bool = False,
    filter_non_pending: bool = False,
    filter_non_preemptible: bool = False,
    filter_non_active_allocated: bool = False,
    filter_within_preemption_delay: bool = False,
    victims: bool = False,
    max_per_queue: int = -1,
) -> list[str | None]:
    """The job that each None among `steps` takes; a job among them is put back (spec 2 §6)."""
