"""Sets the metrics of a service: after each turn and each write, and before each page.

    measuring = Measuring(metrics, writer, reading, pods, election, queues, collecting)
    measuring.turned(turn)
    measuring.wrote(write, outcome, waited=0.1, took=0.02)

For the event loop. Counters that other parts have, and metrics of queues, are read only when a page
is requested. A pod with its seven writes costs 10 us here, of 3 ms in total.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kai.api.durations import go_seconds
from kai.api.reading import mapping
from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.status import QueueFacts, Sums, queue_metrics
from kai.k8s.sinks import DictSink
from kai.service.metrics.metrics import EVICTED_LABELS, Metrics
from kai.service.metrics.series import Buckets

if TYPE_CHECKING:
    from kai.controllers.planning.figures import Shares
    from kai.controllers.planning.turns import Turn
    from kai.controllers.pods.pods import Pods
    from kai.engine.usage import Rows
    from kai.k8s.leases import LeaderElection
    from kai.k8s.writing import Writer
    from kai.live.reading import Reading
    from kai.service.collecting import Collecting

LANES: dict[Lane, str] = {lane: lane.name.lower() for lane in Lane if lane is not Lane.LEASE}
"""Leases have separate requests."""
VICTIMS = ("consolidation", "reclaim", "preempt")
"""The actions that evict pods for another pod group."""
NO_ACTIONS = frozenset({"load", "fair_share", "open", "close", "total"})
"""Phases of a plan that are not actions."""
GB = 10**9


@dataclass(frozen=True, slots=True)
class _Effect:
    """The effect of one kind of write on metrics; `failed`: the controller to blame."""

    written: tuple[str, str, str]
    waited: Buckets
    took: Buckets
    bind_ms: Buckets | None
    reconciled: tuple[str, str] | None
    failed: str


def set_watches(metrics: Metrics, reading: Reading) -> None:
    """What was read so far, by kind."""
    for kind, watch in reading.watches.items():
        traffic = reading.traffic(kind)
        metrics.watch_age.set(watch.silent_for(), kind)
        metrics.watch_lists.values[kind,] = traffic.lists
        metrics.watch_reconnects.values[kind,] = traffic.reconnects
        metrics.watch_bytes.values[kind,] = traffic.bytes


class Measuring:
    """`queues`: a sink that follows queues, for their names and quotas. `labels`: further labels of
    their metrics, as in kai.controllers.status.queue_metrics."""

    def __init__(
        self,
        metrics: Metrics,
        writer: Writer,
        reading: Reading,
        pods: Pods,
        election: LeaderElection | None,
        queues: DictSink,
        collecting: Collecting,
        labels: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        self._metrics, self._writer, self._reading = metrics, writer, reading
        self._pods, self._election, self._queues = pods, election, queues
        self._collecting, self._labels = collecting, labels
        self._effects: dict[tuple[Any, ...], _Effect] = {}
        self._shares: Shares = {}
        self._sums: Mapping[str, Sums] = {}
        self._usage: Rows | None = None
        self._usage_age: Callable[[], float | None] | None = None
        metrics.on_page = self._before_a_page

    def configured(self, configuration: str) -> None:
        """Budgets of the scheduler's configuration, as Config.to_json writes it."""
        config = json.loads(configuration)
        budgets = config.get("scenarioSearchBudgets") or {}
        of_action = budgets.get("maxActionSearchDuration") or {}
        for action in config["actions"].split(","):
            action = action.strip()
            if action in VICTIMS:
                text = of_action.get(action, of_action.get("default", "0"))
                self._metrics.action_budget.set(go_seconds(text), action)
            if action in ("allocate", *VICTIMS):
                self._metrics.scheduled.add(action, by=0)
        self._metrics.job_budget.set(go_seconds(budgets.get("maxJobSearchDuration", "0")))
        for generator, text in (budgets.get("maxGeneratorSearchDuration") or {}).items():
            self._metrics.generator_budget.set(go_seconds(text), generator)

    def uses(self, age: Callable[[], float | None]) -> None:
        """A usage database is configured; `age`: seconds since it was read, None: never."""
        self._usage_age = age

    def used(self, usage: Rows) -> None:
        """Past usage of queues."""
        self._usage = usage

    # ---- turns -----------------------------------------------------------------------------------

    def turned(self, turn: Turn) -> None:
        metrics = self._metrics
        for waited in turn.waited:
            metrics.task_ms.observe(waited * 1000)
        for labels in turn.evicted:
            metrics.evicted.add(*(labels[each] for each in EVICTED_LABELS))
        for controller, count in turn.right.items():
            metrics.reconciles.add(controller, "success", by=count)
        for _ in turn.grouped.problems:
            self._failed("pod")
        self._sums = turn.queue_sums
        if turn.shares is not None:
            self._shares = turn.shares
        if turn.planned:
            self._planned(turn)

    def _planned(self, turn: Turn) -> None:
        metrics, timing = self._metrics, turn.timing_ms
        plan = {name: ms for name, ms in timing.items() if name.startswith("plan_")}
        opened = ("open", "plan_load", "plan_fair_share", "plan_open")
        metrics.cycle_ms.set(timing["total"])
        metrics.cycle_s.observe(timing["total"] / 1000)
        metrics.open_ms.set(sum(timing.get(each, 0.0) for each in opened))
        around = timing["total"] - timing["open"] - timing.get("plan_total", 0.0)
        metrics.close_ms.set(max(0.0, around) + timing.get("plan_close", 0.0))
        for (action,) in metrics.action_ms.values:
            metrics.action_ms.set(0.0, action)
        for name, ms in plan.items():
            action = name.removeprefix("plan_")
            if action not in NO_ACTIONS:
                metrics.action_ms.set(ms, action)
        metrics.waiting_groups.set(turn.waiting)
        bound = {(each.pod.partition("/")[0], each.group) for each in turn.bindings}
        if bound:
            metrics.scheduled.add("allocate", by=len(bound))
        helped = {(each.order.action, each.order.waits) for each in turn.removals}
        for action, _ in helped:
            if action in VICTIMS:
                metrics.scheduled.add(action)
            if action == "preempt":
                metrics.preemptions.add()

    # ---- writes ----------------------------------------------------------------------------------

    def wrote(self, write: Write, outcome: Outcome, waited: float, took: float) -> None:
        """`waited`, `took`: seconds."""
        result = outcome.result
        # The key's prefix identifies the kind of status; the rest of it names the object.
        key = (write.kind, write.verb, write.subresource, write.key[:6], write.lane, result)
        effect = self._effects.get(key)
        if effect is None:
            effect = self._effects[key] = self._effect_of(write, result)
        self._metrics.writes.values[effect.written] += 1
        effect.waited.observe(waited)
        effect.took.observe(took)
        if effect.bind_ms is not None:
            effect.bind_ms.observe((waited + took) * 1000)
        if effect.reconciled is not None:
            self._metrics.reconciles.values[effect.reconciled] += 1
        elif effect.failed:
            self._failed(effect.failed)

    def _effect_of(self, write: Write, result: Result) -> _Effect:
        metrics, lane, controller = self._metrics, LANES[write.lane], controller_of(write)
        written = (write.kind, write.subresource or write.verb, result.value)
        metrics.writes.add(*written, by=0)
        reconciled, failed = None, ""
        if result is Result.DONE or (controller == "pod" and result is Result.CONFLICT):
            reconciled = (controller, "success") if controller else None
        elif result in (Result.REFUSED, Result.FAILED, Result.LOST, Result.CONFLICT):
            failed = controller
        if reconciled is not None:
            metrics.reconciles.add(*reconciled, by=0)
        return _Effect(
            written,
            metrics.lane_waited.of(lane),
            metrics.lane_took.of(lane),
            metrics.bind_ms.of() if written[1:] == ("binding", "done") else None,
            reconciled,
            failed,
        )

    def _failed(self, controller: str) -> None:
        self._metrics.reconciles.add(controller, "error")
        self._metrics.reconcile_errors.add(controller)

    # ---- pages -----------------------------------------------------------------------------------

    def _before_a_page(self) -> Callable[[], None]:
        metrics, writer = self._metrics, self._writer
        election = self._election
        leads = election is None or election.is_leading()
        metrics.leading.set(float(leads))
        metrics.lease_failures.values = {(): float(election.failures if election else 0)}
        metrics.under_way.set(self._pods.under_way)
        metrics.in_doubt.set(self._pods.in_doubt)
        under_way, workers = defaultdict[str, list[float]](list), defaultdict[str, int](int)
        for write, seconds in writer.under_way():
            under_way[LANES[write.lane]].append(seconds)
            workers[controller_of(write)] += 1
        for (controller,) in metrics.active_workers.values:
            metrics.active_workers.set(workers[controller], controller)
        for lane, name in LANES.items():
            metrics.lane_depth.set(writer.waiting(lane), name)
            metrics.lane_adds.values[name,] = writer.put_in[lane]
            metrics.lane_retries.values[name,] = writer.retries[lane]
            metrics.lane_unfinished.set(sum(under_way[name]), name)
            metrics.lane_longest.set(max(under_way[name], default=0.0), name)
        set_watches(metrics, self._reading)
        if self._usage_age is not None:
            age = self._usage_age()
            metrics.usage_age.set(-1.0 if age is None else age)
        set_collections(metrics, self._collecting)
        queues = [*self._queues.objects.values()] if leads else []
        return lambda: self._set_queues(queues)

    def _set_queues(self, queues: Iterable[Mapping[str, Any]]) -> None:
        """Runs in another thread. Only the leader reports queues; with two processes they would be
        reported twice."""
        metrics, all_sums, all_shares = self._metrics, self._sums, self._shares
        for gauges in (metrics.queues, metrics.fair_share, metrics.usage):
            for gauge in gauges.values():
                gauge.values = {}
        facts = {each["metadata"]["name"]: _facts(each) for each in queues}
        if all_sums:
            sums = {name: (each, ()) for name, each in all_sums.items()}
            for name, labels, value in queue_metrics(facts, sums, labels=self._labels):
                gauge = metrics.queues[name.removeprefix("kai_")]
                gauge.set(value, *(labels[each] for each in gauge.labels))
        if (usage := self._usage) is not None:
            for name, queue in facts.items():
                parts = usage.get(name, (0.0, 0.0, 0.0))
                for gauge, part in zip(metrics.usage.values(), parts, strict=True):
                    gauge.set(part, *_names_of(name, queue))
        for name, shares in all_shares.items():
            if name not in facts:
                continue
            named = _names_of(name, facts[name])
            for resource, gauge in metrics.fair_share.items():
                share = shares[resource]
                unit = GB if resource == "memory" else 1
                gauge.set(-1.0 if share is None else share / unit, *named)


def _names_of(name: str, queue: QueueFacts) -> tuple[str, str, str]:
    """The values of QUEUE_LABELS in metrics of the scheduler."""
    return queue.display_name or name, name, queue.display_name


def set_collections(metrics: Metrics, collecting: Collecting) -> None:
    for generation, longest in enumerate(collecting.longest):
        name = str(generation)
        metrics.longest_collection.set(longest, name)
        metrics.collections.values[name,] = collecting.count[generation]
        metrics.collecting.values[name,] = collecting.total[generation]


def queue_sink() -> DictSink:
    """Stores the parts of queues that their metrics show."""
    return DictSink(keep=_kept)


def controller_of(write: Write) -> str:
    """KAI's controller that does this work in KAI; "": the scheduler's, or an event."""
    if write.subresource == "binding":
        return "bindrequest"
    if write.kind == "Queue":
        return "queue"
    if write.key.startswith("resources-of-group/"):
        return "podgroup"
    return "pod" if write.lane is Lane.BINDING else ""


def _kept(queue: Mapping[str, Any]) -> dict[str, Any]:
    metadata = queue["metadata"]
    return {
        "metadata": {"name": metadata["name"], "labels": metadata.get("labels") or {}},
        "spec": mapping(queue.get("spec")),
    }


def _facts(queue: Mapping[str, Any]) -> QueueFacts:
    metadata, spec = queue["metadata"], queue["spec"]
    return QueueFacts(
        metadata["name"],
        display_name=str(spec.get("displayName") or ""),
        labels=metadata["labels"],
        resources=mapping(spec.get("resources")),
    )
