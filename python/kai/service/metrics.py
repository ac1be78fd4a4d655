"""Metrics in Prometheus' form: KAI's by their names (spec 6 C35, C64), and ours.

    metrics = Metrics("kai")
    metrics.cycle_ms.set(3.2)
    metrics.page()                     # bytes for GET /metrics

The first part of a name is the metrics namespace. `workqueue_*` and `controller_runtime_*` have
none: dashboards made for KAI's controllers look for them as they are.
"""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_MS_BUCKETS = tuple(5.0 * 2**k for k in range(10))
_LAG_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_QUEUE_LABELS = ("queue_name", "queue_metadata_name", "queue_display_name")


class Metrics:
    """All metrics of one process."""

    def __init__(self, namespace: str = "kai") -> None:
        self.registry = CollectorRegistry()
        self._namespace = namespace

        # The scheduler (C64).
        self.cycle_ms = self._gauge("e2e_scheduling_latency_milliseconds", "The last cycle")
        self.open_ms = self._gauge("open_session_latency_milliseconds", "Taking changes in")
        self.close_ms = self._gauge("close_session_latency_milliseconds", "Deciding what to write")
        self.action_ms = self._gauge(
            "action_scheduling_latency_milliseconds", "Actions of the last cycle", "action"
        )
        self.task_ms = self._histogram(
            "task_scheduling_latency_milliseconds", "From a pod's creation to its binding"
        )
        self.bind_ms = self._histogram(
            "task_bind_latency_milliseconds", "From the decision to the API server's answer"
        )
        # KAI's dashboards ask for it without its unit.
        self.bind_s = Histogram(
            f"{namespace}_task_bind_latency",
            "From the decision to the API server's answer, in milliseconds",
            buckets=_MS_BUCKETS,
            registry=self.registry,
        )
        self.evicted = self._counter(
            "pod_group_evicted_pods",
            "Pods evicted",
            "podgroup", "namespace", "uid", "nodepool", "action",
        )  # fmt: skip
        self.queue_share = {
            "gpu": self._gauge("queue_fair_share_gpu", "Fair share", *_QUEUE_LABELS),
            "cpu": self._gauge("queue_fair_share_cpu_cores", "Fair share", *_QUEUE_LABELS),
            "memory": self._gauge("queue_fair_share_memory_gb", "Fair share", *_QUEUE_LABELS),
        }
        self.queue_usage = {
            "gpu": self._gauge("queue_gpu_usage", "Allocated", *_QUEUE_LABELS),
            "cpu": self._gauge("queue_cpu_usage", "Allocated", *_QUEUE_LABELS),
            "memory": self._gauge("queue_memory_usage", "Allocated", *_QUEUE_LABELS),
        }

        # What controllers of controller-runtime have.
        self.queue_depth = Gauge(
            "workqueue_depth", "Writes that wait", ["name"], registry=self.registry
        )
        self.queue_adds = Counter(
            "workqueue_adds", "Writes asked for", ["name"], registry=self.registry
        )
        self.reconciles = Counter(
            "controller_runtime_reconcile",
            "Objects looked at, by result",
            ["controller", "result"],
            registry=self.registry,
        )

        # Ours.
        self.loop_lag = self._histogram(
            "loop_lag_seconds", "How late the event loop is", buckets=_LAG_BUCKETS
        )
        self.writes = self._counter("writes", "Answers to writes", "kind", "verb", "result")
        self.leading = self._gauge("is_leading", "1 while this process holds its leases")
        self.watch_relists = self._gauge("watch_relists", "Lists read, by kind", "kind")

    def page(self) -> bytes:
        return generate_latest(self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"{self._namespace}_{name}", text, labels, registry=self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"{self._namespace}_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *, buckets: Any = _MS_BUCKETS) -> Histogram:
        return Histogram(f"{self._namespace}_{name}", text, buckets=buckets, registry=self.registry)
