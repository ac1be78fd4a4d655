"""The data of a plan: each value is created from the compiled plan at its first use."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from kai.api import times
from kai.engine import frames
from kai.engine.cluster import Rejected
from kai.engine.decisions import Decisions
from kai.engine.elsewhere import Elsewhere
from kai.engine.frozen import Frozen
from kai.engine.queues import Queues
from kai.engine.situation import Situation
from kai.engine.values import (
    Decision,
    Evict,
    GroupPlans,
    NumaZone,
    PodPlan,
    PodPlans,
    group_plan_of,
    second,
    zones_of,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from typing_extensions import Self

    from kai import _core
    from kai.engine.cluster import Cluster
    from kai.engine.fragmentation import Fragmentation
    from kai.engine.kept import KeptPlan
    from kai.engine.nodes import Nodes
    from kai.engine.order import Order
    from kai.engine.origin import Origin
    from kai.engine.timing import Phase

_NONE_ELSEWHERE = Elsewhere({})


class Answer:
    """All data of a plan, without explanations and printing."""

    situation: Situation
    """The facts it was made from; for `kai.engine.report` and `explain`."""
    input: str | None
    """The name of the cluster that was planned."""
    rejected: tuple[Rejected, ...]
    """The invalid objects, which were left out."""
    warnings: tuple[str, ...]
    """The parts of the configuration that were skipped."""
    elsewhere: Elsewhere
    """The waiting pods of other schedulers; for `kai.engine.report`."""
    _compiled: _core.Plan
    _now_ns: int
    _origin: Origin | None
    """None: a plan that was pickled."""

    def __init__(
        self,
        compiled: _core.Plan,
        *,
        input: str | None,
        now_ns: int,
        rejected: tuple[Rejected, ...] = (),
        warnings: tuple[str, ...] = (),
        elsewhere: Elsewhere = _NONE_ELSEWHERE,
        origin: Origin | None = None,
    ) -> None:
        vars(self).update(
            _compiled=compiled,
            _now_ns=now_ns,
            _origin=origin,
            situation=Situation(compiled),
            input=input,
            rejected=rejected,
            warnings=warnings,
            elsewhere=elsewhere,
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"a plan cannot be changed: {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"a plan cannot be changed: {name}")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from kai.engine.kept import KeptPlan

        kept = KeptPlan.of(self._compiled, second(self.now))
        names = ("input", "rejected", "warnings", "elsewhere")
        beside = {name: getattr(self, name) for name in names}
        return _unpickled, (type(self), kept, {**beside, "now_ns": self._now_ns})

    @property
    def _objects(self) -> Cluster | None:
        """The cluster that was planned; None if its objects are not known: it has changed since, it
        is live, or the plan was pickled."""
        origin = self._origin
        if origin is None or origin.cluster._is_live or origin.cluster._changes != origin.changes:
            return None
        return origin.cluster

    @property
    def now(self) -> datetime:
        """The time of the cycle, in UTC."""
        return times.to_datetime(self._now_ns)

    @property
    def now_text(self) -> str:
        """The time of the cycle in RFC 3339, to the nanosecond."""
        return times.to_text(self._now_ns)

    @cached_property
    def decisions(self) -> Sequence[Decision]:
        """The decisions in the order in which they must be carried out; a pod that moves is evicted
        and then pipelined."""
        return Decisions(self._compiled)

    @property
    def evictions(self) -> tuple[Evict, ...]:
        """The decisions that evict pods, in order, including pods that move."""
        if not self.situation.counts["evict"]:
            return ()
        return tuple(each for each in self.decisions if isinstance(each, Evict))

    @cached_property
    def pod_groups(self) -> GroupPlans:
        """The result for every pod group, by "namespace/name"."""
        return GroupPlans(
            {name: group_plan_of(name, *row) for name, row in self._compiled.pod_groups().items()}
        )

    @cached_property
    def pods(self) -> PodPlans:
        """The message of every waiting pod's condition, by "namespace/name"."""
        return PodPlans({name: PodPlan(message) for name, message in self._compiled.pods().items()})

    @cached_property
    def queues(self) -> Queues:
        """The numbers of every queue; empty if the configuration has no plugin `proportion`."""
        rows: Any = self._compiled.queues()  # each value is created at its first use
        return Queues(rows, lambda: self.situation.queue_parents)

    @cached_property
    def order(self) -> Order:
        """The groups that still wait, next one first, with the values that decide their order.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").pending("a/old", gpus=1).pending("a/new", gpus=1)
        >>> [turn.group for turn in kai.Scheduler().plan(cluster).order]
        ['a/old', 'a/new']

        The first use runs the cycle once more.
        """
        from kai.engine.order import Order

        return Order(self._compiled.order(), self.now, by_fair_share=bool(self.queues))

    @cached_property
    def nodes(self) -> Nodes:
        """The free resources of each node after the decisions are carried out, by name.

        The first use runs the cycle once more.
        """
        from kai.engine.nodes import nodes_of

        return nodes_of(self._compiled.nodes())

    @cached_property
    def free_gpus(self) -> Mapping[str, float]:
        """Free GPUs by node after the decisions are carried out: whole GPUs, and fractions of
        shared ones.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=8).pending("a/x", pods=3, gpus=1)
        >>> kai.Scheduler().plan(cluster).free_gpus
        {'n1': 5, 'n2': 8}
        """
        return self.nodes.free_gpus

    @cached_property
    def fragmentation(self) -> Fragmentation:
        """How much of what is idle, once the decisions are carried out, the typical pod cannot use.

        The typical pods are the most frequent ones of the cluster that belong to pod groups, be
        they waiting or placed: 95 % of all. ``plan.fragmentation.against(mix)`` takes others.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").node("n1", gpus=8).pending("a/x", pods=2, gpus=3)
        >>> kai.Scheduler().plan(cluster).fragmentation.gpus
        2

        The cycle is run once more for it.
        """
        from kai.engine.fragmentation import fragmentation_of

        return fragmentation_of(self._compiled.measured())

    @cached_property
    def numa_zones_available(self) -> Mapping[str, tuple[NumaZone, ...]]:
        """The free resources of the nodes' NUMA zones after the decisions and all pending
        deletions.

        By node, with the plugin `numa`; zones in the order of their numbers.
        """
        rows = self._compiled.numa_zones_available()
        return Frozen({node: zones_of(zones) for node, zones in rows.items()})

    @cached_property
    def spent_searches(self) -> Mapping[str, int]:
        """Searches for victims that a budget ended, and the number of pod sets each had tried.

        By "action namespace/group", plus the generator's name if only its share was used up; -1 if
        the action had ended before. The same numbers in
        ``scenarioSearchBudgets.maxScenarios.searches`` reproduce this plan on any machine.
        """
        return Frozen(self._compiled.spent_searches())

    @cached_property
    def score_keys(self) -> int:
        """The number of different positions of nodes in the search orders.

        Fewer are faster; 0 if the cycle was too small to sort nodes.
        """
        return self._compiled.score_keys()

    @cached_property
    def timing(self) -> Mapping[str, Phase]:
        """The phases in the order in which they ran, with their counters; `total` is last.

        `load` is the time for reading the input; for a cluster that was planned before, for taking
        in the changes since the last plan.
        """
        from kai.engine.timing import phases_of

        return Frozen(phases_of(self._compiled))

    @cached_property
    def timing_ms(self) -> Mapping[str, float]:
        """Milliseconds of each phase; `total` includes `load`."""
        return Frozen({stage: ns / 1e6 for stage, ns in self._compiled.timing_ns().items()})

    def to_dict(self) -> dict[str, Any]:
        """The output of ``kai plan --json`` (docs/reference/plan.md)."""
        return {
            **self._head(),
            "decisions": [decision.to_dict() for decision in self.decisions],
            "pod_groups": {name: group.to_dict() for name, group in self.pod_groups.items()},
            "pods": {name: pod.to_dict() for name, pod in self.pods.items()},
            "queues": {name: queue.to_dict() for name, queue in self.queues.items()},
            **self._tail(),
        }

    def to_json(self) -> str:
        """`to_dict` on one line. Equal input gives equal bytes, except for `timing_ms`."""
        written = self._compiled.to_json(second(self.now))
        head, tail = _json(self._head()), _json(self._tail())
        return f"{head[:-1]}, {written}, {tail[1:]}"

    def _head(self) -> dict[str, Any]:
        return {"input": self.input, "now": self.now_text}

    def _tail(self) -> dict[str, Any]:
        return {
            "warnings": list(self.warnings),
            "rejected": [dataclasses.asdict(each) for each in self.rejected],
            "spent_searches": dict(self.spent_searches),
            "score_keys": self.score_keys,
            "timing_ms": dict(self.timing_ms),
        }

    def to_pandas(self) -> pandas.DataFrame:
        """The decisions as a data frame, one row each: kind, pod, node, gpus, ...

        Columns are the members of `kai.Bind`, `kai.Pipeline` and `kai.Evict`, empty where they do
        not apply; `gpu_groups` are joined by commas. The devices of resource claims and the NUMA
        zones are not included. Names are categories; if pyarrow is installed, pods need no Python
        object each. Raises ModuleNotFoundError without pandas.
        """
        return frames.to_pandas(self._compiled)

    def to_frames(self) -> frames.Frames:
        """Four data frames: decisions, groups, queues and nodes. See `kai.Frames`.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").node("n1", gpus=8).pending("a/x", pods=9, gpus=1)
        >>> frames = kai.Scheduler().plan(cluster).to_frames()
        >>> frames.groups[["pod_group", "verdict", "bound", "waiting"]].to_dict("records")
        [{'pod_group': 'a/x', 'verdict': 'partly_placed', 'bound': 8, 'waiting': 1}]

        Raises ModuleNotFoundError without pandas.
        """
        return frames.Frames(
            frames.to_pandas(self._compiled),
            frames.groups(self._compiled),
            self.queues.to_pandas(),
            frames.nodes(self._compiled),
        )

    def to_arrow(self) -> pyarrow.Table:
        """The same as an Arrow table. Raises ModuleNotFoundError without pyarrow or NumPy."""
        return frames.to_arrow(self._compiled)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same decisions and messages, regardless of input name and
        timing."""
        if not isinstance(other, Answer):
            return NotImplemented
        return self._content() == other._content()

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> tuple[object, ...]:
        return (
            self._now_ns,
            self.decisions,
            self.pod_groups,
            self.pods,
            self.queues,
            self.rejected,
        )


def _unpickled(plan: type[Answer], kept: KeptPlan, beside: Mapping[str, Any]) -> Answer:
    return plan(kept.as_compiled(), **beside)


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
