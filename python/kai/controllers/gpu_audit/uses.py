"""What each pod uses of each device of a node, beside its share and what its guard counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kai.api.gpu_use import CountedProcess, CountedShare, GpuProcess, MeasuredDevice, Measurement
from kai.controllers.gpu_audit.shares import PodShare

TOLERANCE = 512 << 20
"""Bytes. A CUDA context takes 300 to 500 MiB of the memory that NVML shows for a process."""


@dataclass(frozen=True, slots=True)
class AuditRules:
    """tolerance: bytes that each process may use beyond the share of its pod. ignored: namespaces
    whose pods are not judged. again_s: the shortest time between two events of a pod. node: the
    name of the node."""

    tolerance: int = TOLERANCE
    ignored: frozenset[str] = frozenset()
    again_s: float = 600.0
    node: str = ""


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """pid: as the node counts. used: None if the driver does not know it. counted: by the guard."""

    pid: int
    name: str
    used: int | None
    counted: CountedProcess | None = None


@dataclass(frozen=True, slots=True)
class PodUse:
    """A pod on a device, in bytes. Without a UID: the processes that belong to no pod.

    namespace, name: "" for a pod that the API server does not have. share: 0: it was given nothing
    of the device; None: unknown, so it is not judged. used: None if the driver does not know it.
    counted: None if no guard counts there. is_over: it uses more than share and tolerance.
    """

    device: str
    total: int
    uid: str
    namespace: str
    name: str
    share: int | None
    used: int | None
    processes: tuple[ProcessUse, ...]
    counted: CountedShare | None
    is_over: bool

    @property
    def pod(self) -> str:
        """ "namespace/name", otherwise the UID, otherwise ""."""
        return f"{self.namespace}/{self.name}" if self.name else self.uid


def uses_of(
    measurement: Measurement, shares: Mapping[str, PodShare], rules: AuditRules
) -> tuple[PodUse, ...]:
    """All pods that use a device or have a share of it, by device and name; the largest process
    comes first."""
    counted = {(each.pod, each.device): each for each in measurement.counted}
    found = []
    for device in measurement.devices:
        of_pods: dict[str, list[GpuProcess]] = defaultdict(list)
        for process in device.processes:
            of_pods[process.pod].append(process)
        having = {uid for uid, share in shares.items() if device.uuid in share.parts}
        uses = [
            _use(device, uid, of_pods[uid], shares, counted.get((uid, device.uuid)), rules)
            for uid in {*of_pods, *having}
        ]
        found += sorted(uses, key=lambda each: (each.pod, each.uid))
    return tuple(found)


def _use(
    device: MeasuredDevice,
    uid: str,
    processes: Sequence[GpuProcess],
    shares: Mapping[str, PodShare],
    counted: CountedShare | None,
    rules: AuditRules,
) -> PodUse:
    pod = shares.get(uid)
    share = 0 if pod is None else pod.of(device.uuid, device.total)
    if pod is not None and pod.namespace in rules.ignored:
        share = None
    known = [each.used for each in processes if each.used is not None]
    used = sum(known) if known or not processes else None
    if share:
        is_over = (used or 0) > share + rules.tolerance * len(processes)
    else:
        is_over = share == 0 and bool(processes)
    return PodUse(
        device=device.uuid,
        total=device.total,
        uid=uid,
        namespace=pod.namespace if pod is not None else "",
        name=pod.name if pod is not None else "",
        share=share,
        used=used,
        processes=_with_counted(processes, counted.processes if counted is not None else ()),
        counted=counted,
        is_over=is_over,
    )


def _with_counted(
    processes: Iterable[GpuProcess], counted: Iterable[CountedProcess]
) -> tuple[ProcessUse, ...]:
    """The guard knows the numbers in the containers. Two containers may have the same number and
    name: then the larger of one list is the larger of the other."""
    waiting: dict[tuple[int, str], list[CountedProcess]] = defaultdict(list)
    for each in sorted(counted, key=lambda one: one.used):
        waiting[each.pid, each.name].append(each)
    uses = []
    for process in sorted(processes, key=lambda one: (-(one.used or 0), one.pid)):
        same = waiting[process.inner_pid, process.name]
        beside = same.pop() if same else None
        uses.append(ProcessUse(process.pid, process.name, process.used, beside))
    return tuple(uses)
