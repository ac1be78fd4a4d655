"""The metrics of `kai run gpu-auditor`, with the numbers of the last measurement.

    metrics = AuditorMetrics()
    metrics.show(measurement, uses, audited.over)
    await metrics.page()               # bytes for GET /metrics

A device has at most MOST_PROCESSES processes; the smaller ones are one together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import kai
from kai.api.gpu_use import Measurement
from kai.controllers.gpu_audit import PodUse, ProcessUse
from kai.service.metrics.metrics import of_process
from kai.service.metrics.series import Counter, Gauge, Series, snapshots, text_of

MOST_PROCESSES = 128
OTHERS = "others"
_POD = ("gpu", "namespace", "pod")
_PROCESS = (*_POD, "pid", "process")


class AuditorMetrics:
    def __init__(self, namespace: str = "kai") -> None:
        self._prefix, self._all = f"{namespace}_", list[Series]()
        build = self._gauge("build_info", "1", "version")
        build.set(1, kai.__version__)
        self.measured = self._gauge(
            "gpu_audit_timestamp_seconds",
            "When the GPUs were last measured, in seconds since 1970; 0: not yet",
        )
        self.measured.set(0)
        self.events = self._counter("gpu_audit_events_total", "Events about uses of GPUs", "reason")
        self._total = self._gauge("gpu_memory_bytes", "Memory of a GPU or MIG instance", "gpu")
        self._used = self._gauge("gpu_memory_used_bytes", "Its memory that is in use", "gpu")
        self._share = self._gauge(
            "gpu_pod_share_bytes", "What a pod may use; absent if it is unknown", *_POD
        )
        self._of_pods = self._gauge(
            "gpu_pod_used_bytes",
            "What the processes of a pod use, by NVML; without a pod: the other processes",
            *_POD,
        )
        self._over = self._gauge(
            "gpu_pod_is_over_share",
            "1 while a pod uses more than its share, or a GPU that it was not given; else 0",
            *_POD,
        )
        self._limit = self._gauge("gpu_guard_limit_bytes", "The limit that a guard holds", *_POD)
        self._counted = self._gauge("gpu_guard_used_bytes", "What a guard counts", *_POD)
        self._peak = self._gauge("gpu_guard_peak_bytes", "The most that a guard has counted", *_POD)
        self._refusals = self._counter(
            "gpu_guard_refusals_total", "Requests that a guard has refused", *_POD
        )
        self._of_processes = self._gauge(
            "gpu_process_used_bytes",
            f"What a process uses, by NVML; beyond {MOST_PROCESSES} of a GPU, all others together",
            *_PROCESS,
        )
        self._counted_of = self._gauge(
            "gpu_process_guard_used_bytes", "What a guard counts for a process", *_PROCESS
        )
        self._peak_of = self._gauge(
            "gpu_process_guard_peak_bytes", "The most that a guard has counted for it", *_PROCESS
        )
        self._process = of_process()

    def __iter__(self) -> Iterator[Series]:
        """The families without those of the process."""
        return iter(self._all)

    def show(
        self, measurement: Measurement, uses: Sequence[PodUse], over: Iterable[PodUse]
    ) -> None:
        """The numbers of a measurement, in place of those before."""
        for each in self._all:
            if each.labels and each.labels[0] == "gpu":
                each.values.clear()
        for device in measurement.devices:
            self._total.set(device.total, device.uuid)
            self._used.set(device.used, device.uuid)
        for use in uses:
            self._show_pod(use)
        for use in over:
            self._over.set(1, *_labels(use))
        for device in measurement.devices:
            self._show_processes([each for each in uses if each.device == device.uuid])

    async def page(self) -> bytes:
        return text_of([*snapshots(self), *self._process()])

    def _show_pod(self, use: PodUse) -> None:
        labels = _labels(use)
        if use.share is not None and use.uid:
            self._share.set(use.share, *labels)
        if use.used is not None:
            self._of_pods.set(use.used, *labels)
        self._over.set(0, *labels)
        if (counted := use.counted) is None:
            return
        if counted.limit is not None:
            self._limit.set(counted.limit, *labels)
        self._counted.set(counted.used, *labels)
        self._peak.set(counted.peak, *labels)
        self._refusals.add(*labels, by=counted.refusals)

    def _show_processes(self, uses: Iterable[PodUse]) -> None:
        """Of one device."""
        every = [(use, process) for use in uses for process in use.processes]
        every.sort(key=lambda each: -(each[1].used or 0))
        for use, process in every[:MOST_PROCESSES]:
            self._show_process(_labels(use), process)
        if rest := every[MOST_PROCESSES:]:
            used = sum(process.used or 0 for _, process in rest)
            self._of_processes.set(used, rest[0][0].device, "", "", "", OTHERS)

    def _show_process(self, pod: tuple[str, ...], process: ProcessUse) -> None:
        labels = (*pod, str(process.pid), process.name)
        if process.used is not None:
            self._of_processes.set(process.used, *labels)
        if process.counted is not None:
            self._counted_of.set(process.counted.used, *labels)
            self._peak_of.set(process.counted.peak, *labels)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        self._all.append(made := Gauge(self._prefix + name, meaning, labels))
        return made

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        self._all.append(made := Counter(self._prefix + name, meaning, labels))
        return made


def _labels(use: PodUse) -> tuple[str, str, str]:
    """A pod that the API server does not have is named by its UID."""
    return use.device, use.namespace, use.name or use.uid
