"""The metrics of `kai run`: KAI's, with KAI's names (spec 6 C35, C64), and ours.

    metrics = Metrics("kai", roles=("scheduler",))
    metrics.bind_ms.observe(3.2)
    await metrics.page()               # bytes for GET /metrics

This module declares them; kai.service.measuring sets the numbers. Names start with the metrics
namespace, except `workqueue_*` and `controller_runtime_*`, which KAI's dashboards expect unchanged.
A role has the metrics of KAI's program of that role, and every role has most of ours.
docs/reference/metrics.md describes each of them; tests/docs/test_metrics.py checks that.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import kai
from kai.controllers.planning.options import ROLES
from kai.controllers.unshown import ACCEPTED
from kai.service.metrics.series import (
    Counter,
    Gauge,
    Histogram,
    Sample,
    Series,
    Snapshot,
    snapshots,
    text_of,
)
from kai.service.options import QUEUE_LABELS

Made = TypeVar("Made", Gauge, Counter, Histogram)

MS_BOUNDS = tuple(5.0 * 2**k for k in range(10))
S_BOUNDS = tuple(0.001 * 2**k for k in range(16))
LAG_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
EVICTED_LABELS = ("podgroup", "namespace", "uid", "nodepool", "action")
MOST_EVICTED_GROUPS = 4096
"""The labels of evicted pods include a UID, so their number is not limited."""

CONTROLLERS = {
    "scheduler": "bindrequest",
    "pod-grouper": "pod",
    "pod-group-controller": "podgroup",
    "queue-controller": "queue",
}
"""KAI's names of the controllers that do a role's work: its binder binds pods."""
QUEUE_GAUGES = {
    "queue_info": "1 for each queue",
    "queue_deserved_gpus": "GPUs that a queue deserves; -1 means unlimited",
    "queue_quota_cpu_cores": "Cores that a queue deserves; -1 means unlimited",
    "queue_quota_memory_bytes": "Bytes that a queue deserves; -1 means unlimited",
    "queue_allocated_gpus": "GPUs held by the pods of a queue and of the queues below it",
    "queue_allocated_cpu_cores": "Cores held by the pods of a queue and of the queues below it",
    "queue_allocated_memory_bytes": "Bytes held by the pods of a queue and of the queues below it",
}


class _Part:
    """Families of one role ("": of all roles). `prefix`: the start of their names."""

    def __init__(self, all_series: list[Series] | None, prefix: str, *, kais: bool) -> None:
        self._all, self._prefix, self._kais = all_series, prefix, kais

    def gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return self._take(Gauge(self._prefix + name, meaning, labels, self._kais))

    def counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return self._take(Counter(self._prefix + name, meaning, labels, self._kais))

    def histogram(
        self, name: str, meaning: str, *labels: str, bounds: tuple[float, ...]
    ) -> Histogram:
        made = Histogram(self._prefix + name, meaning, labels, self._kais, bounds)
        return self._take(made)

    def _take(self, series: Made) -> Made:
        if self._all is not None:
            self._all.append(series)
        return series


class Metrics:
    """All metrics of one process. `namespace`: the first part of their names. `queue_labels`:
    further labels of the queue controller's metrics.

    `on_page`: called on the event loop before a page is made, for metrics that are set only then.
    It returns a function for slower work in another thread: the gauges of queues.
    """

    def __init__(
        self,
        namespace: str = "kai",
        roles: Iterable[str] = ROLES,
        queue_labels: Iterable[str] = (),
    ) -> None:
        self._roles, self._queue_labels = frozenset(roles), tuple(queue_labels)
        self._prefix = f"{namespace}_"
        self._all: list[Series] = []
        self.on_page: Callable[[], Callable[[], None]] = lambda: lambda: None
        self._in_thread = threading.Lock()
        self._of_scheduler()
        self._of_victim_search()
        self._of_queues()
        self._of_controllers()
        self._of_ours()
        self._of_watches()
        self._of_shadow()
        self._of_process = of_process()

    def __iter__(self) -> Iterator[Series]:
        """The families of its roles, without those of the process."""
        return iter(self._all)

    async def page(self) -> bytes:
        """All current numbers, and those of the process, as text."""
        set_queues = self.on_page()
        of_queues = [*self.queues.values(), *self.fair_share.values(), *self.usage.values()]
        at_once = snapshots(each for each in self._all if each not in of_queues)

        def finish() -> bytes:
            with self._in_thread:
                set_queues()
                later = snapshots(each for each in of_queues if each in self._all)
            return text_of([*at_once, *later, *self._of_process()])

        return await asyncio.to_thread(finish)  # 10,000 queues take half a second

    def _part(self, role: str = "", *, kais: bool = True) -> _Part:
        wanted = not role or role in self._roles
        return _Part(self._all if wanted else None, self._prefix, kais=kais)

    # ---- KAI's -----------------------------------------------------------------------------------

    def _of_scheduler(self) -> None:
        """Spec 6 C64."""
        part = self._part("scheduler")
        self.cycle_ms = part.gauge(
            "e2e_scheduling_latency_milliseconds",
            "Time of the last cycle, from reading changes to computing the writes",
        )
        self.open_ms = part.gauge(
            "open_session_latency_milliseconds",
            "Time of the last cycle for reading changes, grouping pods and computing fair shares",
        )
        self.close_ms = part.gauge(
            "close_session_latency_milliseconds",
            "Time of the last cycle for computing the writes",
        )
        self.action_ms = part.gauge(
            "action_scheduling_latency_milliseconds",
            "Time of the last cycle for each action; 0 if it did not run because nothing had"
            " changed",
            "action",
        )
        self.task_ms = part.histogram(
            "task_scheduling_latency_milliseconds",
            "Time from a pod's creationTimestamp to the answer that it is bound. The API server"
            " truncates creationTimestamp to whole seconds, so the error is up to 1000 ms",
            bounds=MS_BOUNDS,
        )
        bind = "Time from when a binding may be sent to the answer that the pod is bound"
        self.bind_ms = part.histogram("task_bind_latency_milliseconds", bind, bounds=MS_BOUNDS)
        older = part.histogram(
            "task_bind_latency",
            "Same as task_bind_latency_milliseconds, also in milliseconds",
            bounds=MS_BOUNDS,
        )
        older.values = self.bind_ms.values
        self.scheduled = part.counter(
            "podgroups_scheduled_by_action",
            "Pod groups, counted in each cycle, whose pods allocate binds or for which another"
            " action"
            " evicts pods",
            "action",
        )
        self.preemptions = part.counter(
            "total_preemption_attempts",
            "Pod groups, counted in each cycle, for which preempt evicts pods",
        )
        self.evicted = part.counter(
            "pod_group_evicted_pods_total",
            "Pods whose deletion the API server accepted, for the last 4096 pod groups that lost"
            " pods",
            *EVICTED_LABELS,
        )
        self.evicted.most = MOST_EVICTED_GROUPS
        share = "Fair share of a queue at the start of the last cycle"
        self.fair_share = {
            "gpu": part.gauge("queue_fair_share_gpu", f"{share}, in GPUs", *QUEUE_LABELS),
            "cpu": part.gauge("queue_fair_share_cpu_cores", f"{share}, in cores", *QUEUE_LABELS),
            "memory": part.gauge(
                "queue_fair_share_memory_gb", f"{share}, in 10^9 bytes", *QUEUE_LABELS
            ),
        }

        used = "Part of the cluster's capacity that a queue used in the usage window"
        self.usage = {
            "gpu": part.gauge("queue_gpu_usage", f"{used}: GPUs", *QUEUE_LABELS),
            "cpu": part.gauge("queue_cpu_usage", f"{used}: CPU", *QUEUE_LABELS),
            "memory": part.gauge("queue_memory_usage", f"{used}: memory", *QUEUE_LABELS),
        }
        self.usage_query_ms = part.histogram(
            "usage_query_latency_milliseconds",
            "Time to fetch the past usage of queues; failed fetches are not counted",
            bounds=MS_BOUNDS,
        )

    def _of_victim_search(self) -> None:
        part = self._part("scheduler")
        self.action_budget = part.gauge(
            "scenario_search_action_budget_configured_seconds",
            "Maximum time of an action for victim searches in a cycle; 0 means unlimited",
            "action",
        )
        self.job_budget = part.gauge(
            "scenario_search_job_budget_configured_seconds",
            "Maximum time of a victim search for one pod group; 0 means unlimited",
        )
        self.generator_budget = part.gauge(
            "scenario_search_generator_budget_configured_seconds",
            "Maximum time of one victim generator; 0 means unlimited",
            "generator",
        )

    def _of_queues(self) -> None:
        """Spec 6 C35."""
        part = self._part("queue-controller")
        self.queues = {
            name: part.gauge(name, meaning, *QUEUE_LABELS, *self._queue_labels)
            for name, meaning in QUEUE_GAUGES.items()
        }

    def _of_controllers(self) -> None:
        """The metrics that KAI's controllers get from controller-runtime."""
        part = _Part(self._all, "", kais=True)
        self.lane_depth = part.gauge("workqueue_depth", "Waiting writes of a lane", "name")
        self.lane_adds = part.counter("workqueue_adds_total", "Writes added to a lane", "name")
        self.lane_retries = part.counter("workqueue_retries_total", "Retries of writes", "name")
        self.lane_waited = part.histogram(
            "workqueue_queue_duration_seconds",
            "Time that a write waited to be sent",
            "name",
            bounds=S_BOUNDS,
        )
        self.lane_took = part.histogram(
            "workqueue_work_duration_seconds",
            "Time from the first attempt of a write to its last answer",
            "name",
            bounds=S_BOUNDS,
        )
        self.lane_unfinished = part.gauge(
            "workqueue_unfinished_work_seconds",
            "Sum of the times of all writes that have no answer yet",
            "name",
        )
        self.lane_longest = part.gauge(
            "workqueue_longest_running_processor_seconds",
            "Time of the oldest write that has no answer yet",
            "name",
        )
        self.reconciles = part.counter(
            "controller_runtime_reconcile_total",
            "Objects that were updated (success) or could not be updated (error)",
            "controller",
            "result",
        )
        self.reconcile_errors = part.counter(
            "controller_runtime_reconcile_errors_total",
            "Objects that could not be updated",
            "controller",
        )
        self.active_workers = part.gauge(
            "controller_runtime_active_workers",
            "Writes that a controller has sent and that have no answer yet",
            "controller",
        )
        for role, controller in CONTROLLERS.items():
            if role in self._roles:
                self.active_workers.set(0, controller)
                self.reconcile_errors.add(controller, by=0)
                for result in ("success", "error"):
                    self.reconciles.add(controller, result, by=0)

    # ---- ours ------------------------------------------------------------------------------------

    def _of_ours(self) -> None:
        part = self._part("scheduler", kais=False)
        self.cycle_s = part.histogram(
            "cycle_duration_seconds",
            "Time of a cycle; the count is the number of plans",
            bounds=S_BOUNDS,
        )
        self.waiting_groups = part.gauge(
            "pod_groups_waiting",
            "Pod groups that wait after the last cycle, for free resources or for missing pods",
        )
        self.under_way = part.gauge(
            "decisions_under_way", "Decided bindings and evictions that have no answer yet"
        )
        self.in_doubt = part.gauge(
            "pods_in_doubt", "Pods that a request without an answer may still bind"
        )
        self.without_effect = part.counter(
            "writes_without_effect_total",
            "Writes that the API server accepted and that a later read did not find",
            "what",
        )
        for what in ACCEPTED:
            self.without_effect.add(what, by=0)
        self.usage_age = part.gauge(
            "usage_age_seconds",
            "Time since the last fetch of the past usage of queues; -1: not fetched yet",
        )
        self.usage_failures = part.counter(
            "usage_fetch_failures_total",
            "Failed fetches of the past usage of queues",
        )
        part = self._part(kais=False)
        self.build = part.gauge("build_info", "1", "version")
        self.build.set(1, kai.__version__)
        self.leading = part.gauge("is_leading", "1 while this process may write, else 0")
        self.lease_failures = part.counter(
            "lease_failures_total", "Leases that could not be read or written"
        )
        self.time_steps = part.counter(
            "time_steps_total",
            "Corrections of the cluster's time by more than 2 s",
        )
        self.time_in_doubt = part.gauge(
            "time_in_doubt", "1 while clocks differ and so no duration ends, else 0"
        )
        self.loop_lag = part.histogram(
            "loop_lag_seconds",
            "Delay of the event loop, measured four times a second",
            bounds=LAG_BOUNDS,
        )
        self.longest_collection = part.gauge(
            "gc_longest_pause_seconds",
            "Longest garbage collection of Python so far",
            "generation",
        )
        self.collections = part.counter(
            "gc_pauses_total",
            "Garbage collections of Python; each pauses the process",
            "generation",
        )
        self.collecting = part.counter(
            "gc_pause_seconds_total", "Total time of Python's garbage collections", "generation"
        )
        self.writes = part.counter("writes_total", "Writes by result", "kind", "verb", "result")

    def _of_watches(self) -> None:
        part = self._part(kais=False)
        self.watch_age = part.gauge(
            "watch_age_seconds",
            "Time since the API server last sent a byte; below 60 is normal",
            "kind",
        )
        self.watch_lists = part.counter(
            "watch_lists_total", "Lists of all objects, including the first", "kind"
        )
        self.watch_reconnects = part.counter(
            "watch_reconnects_total",
            "Watches that were resumed after their stream had ended",
            "kind",
        )
        self.lost_events = part.counter(
            "watch_events_lost_total",
            "Objects that came, went or changed without an event, found by comparing with the"
            " API server",
            "kind",
        )
        self.versions_back = part.counter(
            "server_versions_went_back_total",
            "How often the API server answered with a lower version than before",
        )
        self.versions_back.add(by=0)
        self.watch_bytes = part.counter("watch_bytes_total", "Bytes of lists and watches", "kind")

    def _of_shadow(self) -> None:
        """Of `kai run --shadow`, which has no other role."""
        part = self._part("shadow", kais=False)
        self.shadowed = part.counter(
            "shadow_decisions_total",
            "Decisions of the other scheduler, made or missed, compared with those of kai for the"
            " same state",
            *("subject", "outcome", "cause"),
        )
        self.shadow_switches = part.counter(
            "shadow_switches_total",
            "Differences that a compatibility switch explains",
            "switch",
        )
        self.shadow_share = part.gauge(
            "shadow_same_ratio", "Part of the compared decisions that are the same"
        )
        self.shadow_open = part.gauge(
            "shadow_differences_open", "Differences whose cause is still searched for"
        )
        self.shadow_cycle_s = part.histogram(
            "shadow_cycle_duration_seconds",
            "Time of a plan; the count is the number of plans",
            bounds=S_BOUNDS,
        )


def of_process() -> Callable[[], list[Snapshot]]:
    """CPU time, memory, files and the version of Python, under Prometheus' own names."""
    from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)

    def read() -> list[Snapshot]:
        found = []
        for family in registry.collect():
            name = family.name + ("_total" if family.type == "counter" else "")
            samples: list[Sample] = [
                (each.name, tuple(each.labels), tuple(each.labels.values()), each.value)
                for each in family.samples
            ]
            found.append(Snapshot(name, family.type, family.documentation, samples))
        return found

    return read
