"""One program of the cluster as a process: its start, its memory and CPU time, its end.

    etcd = Process.start("etcd", ["/cache/etcd", "--data-dir=/tmp/e"], log=Path("/tmp/etcd.log"))
    etcd.freeze()    # as if its disk were slow
    etcd.thaw()
    etcd.stop()

A process is identified by its id and its start time, so a process that got the same id from the
kernel is never signalled. Both are stored in a file (cluster.py), so another process can stop it,
too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Usage:
    """The CPU time and memory of a process so far."""

    cpu_s: float  # user and system
    rss_mib: float
    peak_mib: float


@dataclass
class Process:
    name: str
    pid: int
    started: str | None  # the kernel's start time, in ticks
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @classmethod
    def start(
        cls, name: str, command: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None
    ) -> Process:
        """Starts a command; its output is appended to `log`.

        Raises:
            OSError: the command cannot be started.
        """
        with open(log, "ab") as output:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=log.parent,
                start_new_session=True,  # Ctrl-C ends the tests first, and they end the cluster
            )
        return cls(name, child.pid, start_time(child.pid), child)

    def is_running(self) -> bool:
        if self._child is not None:
            return self._child.poll() is None
        return self.started is not None and start_time(self.pid) == self.started

    @property
    def exit_status(self) -> int | None:
        """None while it runs, and of a process that another one started."""
        return None if self._child is None else self._child.poll()

    def usage(self) -> Usage:
        """Raises:
        OSError: the process has ended.
        """
        status = Path(f"/proc/{self.pid}/status").read_text()
        lines = (line.split() for line in status.splitlines() if line.startswith("Vm"))
        kib = {name: int(value) for name, value, *_ in lines}
        fields = _fields(self.pid)
        ticks = int(fields[11]) + int(fields[12])
        return Usage(
            cpu_s=ticks / os.sysconf("SC_CLK_TCK"),
            rss_mib=kib["VmRSS:"] / 1024,
            peak_mib=kib["VmHWM:"] / 1024,
        )

    def freeze(self) -> None:
        """Suspends the process (SIGSTOP): its connections stay open without answers until
        thaw()."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """Ends it at once, without clean-up."""
        self.signal(signal.SIGKILL)
        self._wait(10)

    def stop(self, grace_s: float = 10) -> None:
        """Sends SIGTERM, and kills it if that takes longer than `grace_s`."""
        if not self.is_running():
            return
        self.signal(signal.SIGCONT)  # a frozen process does not see SIGTERM
        self.signal(signal.SIGTERM)
        if not self._wait(grace_s):
            self.kill()

    def signal(self, number: signal.Signals) -> None:
        if self.is_running():
            os.kill(self.pid, number)

    def _wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.is_running():
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True


def start_time(pid: int) -> str | None:
    """The start time of a live process, in ticks since boot; None if there is none."""
    try:
        fields = _fields(pid)
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def _fields(pid: int) -> list[str]:
    """/proc/PID/stat after the command's name, which may contain anything."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat[stat.rindex(")") + 2 :].split()
