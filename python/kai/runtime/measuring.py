"""measure(): who holds the memory of a node's devices, from outside the pods.

    found = measure()
    [(each.pid, each.pod, each.used) for each in found.devices[0].processes]

NVML has the processes of each device; the cgroup of a process names its pod, which needs the
process numbers of the node (hostPID). The guard of a pod counts in a file of the pod
(kai.runtime.guarded), which lies below the kubelet's folder.

Pods write these files and the names of processes: nothing here trusts them, and a link in place of
such a file is not followed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from kai.api import keys
from kai.api.gpu_use import (
    CountedProcess,
    CountedShare,
    GpuProcess,
    MeasuredDevice,
    Measurement,
)
from kai.errors import on_one_line
from kai.runtime import nvml
from kai.runtime.guarded import NotGuarded, guarded

PROC = "/proc"
PODS = "/var/lib/kubelet/pods"

# systemd writes the UID with underscores; the UID of a static pod is a hash without hyphens.
_POD = re.compile(
    r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})"
    r"(?![0-9a-f])"
)
_REGION = f"volumes/kubernetes.io~empty-dir/{keys.GUARD_VOLUME}/region"


def measure(*, library: str = nvml.LIBRARY, proc: str = PROC, pods: str = PODS) -> Measurement:
    """The devices of this node. `pods`: the kubelet's folder; "": the files of guards are not read.

    Raises nvml.NoNvml.
    """
    found, problems = nvml.devices(library)
    shown = [_with_pods(each, proc) for each in found]
    if any(each.processes for each in found) and not any(each.processes for each in shown):
        problems.append(f"no process of NVML is in {proc}: the container needs hostPID")
    counted = tuple(_counted(pods, problems)) if pods else ()
    return Measurement(tuple(shown), counted, tuple(problems))


def pod_in(cgroup: str) -> str:
    """The UID of the pod in the content of /proc/PID/cgroup; "": the process belongs to none.

    >>> pod_in("0::/kubepods.slice/kubepods-pod8c8c7d2e_0001_4e1f_a5f6_0123456789ab.slice/x.scope")
    '8c8c7d2e-0001-4e1f-a5f6-0123456789ab'
    >>> pod_in("0::/user.slice/user-0.slice/session-1.scope")
    ''
    """
    found = _POD.search(cgroup)
    return found[1].replace("_", "-") if found else ""


def _with_pods(device: MeasuredDevice, proc: str) -> MeasuredDevice:
    return replace(device, processes=tuple(_described(device.processes, proc)))


def _described(processes: Iterable[GpuProcess], proc: str) -> Iterator[GpuProcess]:
    """Without those that have ended since NVML listed them."""
    for process in processes:
        folder = Path(proc, str(process.pid))
        try:
            cgroup, status = (
                (folder / each).read_text(errors="replace") for each in ("cgroup", "status")
            )
        except OSError:
            continue
        lines = dict(line.partition(":")[::2] for line in status.splitlines())
        numbers = lines.get("NSpid", "").split()
        yield replace(
            process,
            name=on_one_line(lines.get("Name", "").strip()),
            pod=pod_in(cgroup),
            inner_pid=int(numbers[-1]) if numbers else process.pid,
        )


def _counted(pods: str, problems: list[str]) -> Iterator[CountedShare]:
    for path in sorted(Path(pods).glob(f"*/{_REGION}")):
        uid = path.relative_to(pods).parts[0]
        try:
            yield from _shares(uid, path)
        except (NotGuarded, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error).rpartition(": ")[2]
            problems.append(f"the guard's file of pod {uid} cannot be read: {why}")


def _shares(uid: str, path: Path) -> Iterator[CountedShare]:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotGuarded("not a file")
        if not status.st_size:  # no process has used a device yet
            return
        for device in guarded(f"{PROC}/self/fd/{descriptor}") or ():
            processes = tuple(
                CountedProcess(each.pid, on_one_line(each.name), each.used, each.peak)
                for each in device.processes
            )
            yield CountedShare(
                pod=uid,
                device=device.uuid,
                limit=device.limit,
                used=device.used,
                peak=device.peak,
                refusals=device.refusals,
                processes=processes,
            )
    finally:
        os.close(descriptor)
