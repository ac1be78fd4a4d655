"""The workloads of ``kai bench``: clusters of any size, the same for the same seed.

    made = workload("fill-500")
    made.snapshot()               # the bytes of a snapshot.json

A workload is a family (kai.sim.families) and a size: the number after the name is the number of
nodes (for "queues": of queues). "openb" is a real cluster, whose lists of nodes and pods are not
part of kai: KAI_DATA, or an argument, names their folder. Time limits and KAI's times are listed
here too.
"""

from __future__ import annotations

import csv
import inspect
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kai.api import keys
from kai.api.naming import naming
from kai.errors import InvalidInputError, NotFoundError
from kai.sim import openb
from kai.sim.families import FAMILIES, Snapshot

NOW = "2026-01-01T00:00:00Z"

# Targets of the ladder, in milliseconds: for a first plan, and a more ambitious one. For "event",
# "events" and "quiet" they are for the next plan, including its events. "fill-100000" has 800,000
# waiting pods, and "quiet-35000" has 1,050,000 pods.
BARS_MS: Mapping[str, tuple[float, float | None]] = {
    "fill-500": (1.5, 0.6),
    "fill-5000": (20, 8),
    "fill-100000": (1000, 400),
    "shapes-500": (4.5, 1.2),
    "shapes-5000": (60, 16),
    "shapes-100000": (3000, 800),
    "gang3-5000": (0.02, 0.005),
    "gang250-5000": (0.15, 0.08),
    "unschedulable-1000": (0.1, 0.05),
    "unschedulable-late-1000": (0.2, 0.1),
    "reclaim-1000": (4, 2),
    "consolidation-50": (0.05, 0.03),
    "topology-1024": (0.15, None),
    "too-large-16384": (0.4, None),
    "queues-10000": (30, 10),
    "affinity-5000": (20, None),
    "event-5000": (0.05, 0.015),
    "events-5000": (5, 2),
    "quiet-5000": (0.02, 0.005),
    "quiet-35000": (0.02, 0.005),
    "openb": (15, 8),
    "openb-reclaim-31": (15, 5),
}
# One cycle of KAI, all actions, without its reading of JSON; "gang": both gangs in one cycle.
KAI_MS: Mapping[str, float] = {
    "fill-500": 3023,
    "fill-5000": 299_654,
    "gang3-5000": 2288,
    "gang250-5000": 2288,
    "unschedulable-1000": 128_657,
    "unschedulable-late-1000": 637,
    "reclaim-1000": 79_998,
    "consolidation-50": 5.0,
    "topology-1024": 215,
    "openb": 14_459,
    "openb-reclaim-31": 12_000,
}
LADDER = (
    "fill-500", "fill-5000", "mixed-500", "shapes-500", "shapes-5000", "gang3-5000", "gang250-5000",
    "unschedulable-1000", "unschedulable-late-1000", "reclaim-1000", "consolidation-50",
    "topology-1024", "too-large-16384", "queues-10000", "affinity-5000", "event-5000",
    "events-5000", "quiet-5000", "real-500", "real-2000", "openb", "openb-reclaim-31",
)  # fmt: skip
# The rest of the ladder, for machines with 4 GB to spare: a million pods.
LARGE = ("fill-100000", "shapes-100000", "quiet-35000")
LARGEST_SIZE = 200_000

# For loading: microseconds for each small object at any size, megabytes a second of real objects
# (pods of 8 KB: "real"), and from `kai.load` of fill-5000 to `list(plan.decisions)`. For the page:
# from a plan to its text.
LOAD_BAR_US, LOAD_BAR_MB_PER_S = (2.2, 1.4), (400, 1000)
PYTHON_BARS_MS: Mapping[str, tuple[float, float]] = {"fill-5000": (300, 200)}
PAGE_BARS_MS: Mapping[str, float] = {"mixed-500": 150}

_EVENTS = {"event": 1, "events": 1000, "quiet": 0, "gang3": 1, "gang250": 1}
_ENDED = {"kind": "Pod", "status": {"phase": "Succeeded"}}


@dataclass(frozen=True)
class Workload:
    """A cluster, and the events before each of its further plans."""

    name: str
    about: str
    snapshot: Callable[[], bytes]
    """The bytes of its snapshot.json; the same every time."""
    events_per_plan: int | None = None  # None: only first plans are measured

    def events(self, plans: int) -> Iterator[list[bytes]]:
        """For each of `plans` plans, the events before it: pods with GPUs end."""
        if not self.events_per_plan:
            yield from ([] for _ in range(plans))
            return
        running = [
            pod
            for pod in json.loads(self.snapshot())["rawObjects"]["pods"]
            if pod["status"]["phase"] == "Running"
            and keys.NVIDIA_GPU in pod["spec"]["containers"][0]["resources"]["requests"]
        ]
        random.Random(self.name).shuffle(running)
        per_plan = min(self.events_per_plan, len(running) // plans)  # fewer for a small cluster
        for _ in range(plans):
            ended = [running.pop() for _ in range(per_plan)]
            yield [json.dumps(pod | _ENDED).encode() for pod in ended]


def needs_data(name: str) -> bool:
    """Whether a workload needs the lists of openb, which are not part of kai."""
    return name.partition("-")[0] == "openb"


def workload(name: str, data: Path | None = None) -> Workload:
    """The workload with a name such as "fill-500"; `data`: the folder that contains `openb/`.

    Raises NotFoundError for any other name, and for openb without its lists; InvalidInputError for
    a size that is too large.
    """
    if needs_data(name):
        return _of_openb(name, data)
    family, _, size = name.rpartition("-")
    if family not in FAMILIES or not size.isdecimal() or int(size) < 1:
        known = ", ".join(FAMILIES)
        raise NotFoundError(f"no workload {name!r}: give one of {known}, with its size: fill-500")
    if len(size) > len(str(LARGEST_SIZE)) or int(size) > LARGEST_SIZE:
        message = f"{family}-{size} is too large: kai generates at most {family}-{LARGEST_SIZE}"
        raise InvalidInputError(message)
    make = FAMILIES[family]

    def snapshot() -> bytes:
        made = Snapshot(random.Random(name))
        make(made, int(size))
        return made.to_bytes()

    return Workload(name, inspect.getdoc(make) or "", snapshot, _EVENTS.get(family))


def _of_openb(name: str, data: Path | None) -> Workload:
    file = openb.file_of(name, data)
    if not file.is_file():
        raise NotFoundError(
            f"{name} needs {file}, which is not part of kai: "
            "name the directory that contains openb/ with --data or KAI_DATA"
        )
    about = "The Alibaba cluster: 1,523 nodes with 6,212 GPUs, and a list of pods that wait."
    if name.startswith(openb.RECLAIM):
        about = (
            "The Alibaba cluster, full of one team's pods; another team with a quota submits pods."
        )
    return Workload(name, about, lambda: _snapshot_of_openb(name, file, data))


def _snapshot_of_openb(name: str, file: Path, data: Path | None) -> bytes:
    try:
        with naming(f"{name}: {file}"):
            return openb.snapshot_of(name, data)
    except (KeyError, TypeError, ValueError, csv.Error):
        raise InvalidInputError(f"{name}: {file}: not a list of the Alibaba cluster") from None
