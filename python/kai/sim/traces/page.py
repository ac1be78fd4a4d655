"""The keys of a YAML workload, and access to a file's values by path, with error messages.

    page = Page("w.yaml", text)
    page.mapping(("jobs", "train"), "job")             # its keys must be those of a job
    page.seconds(("jobs", "train", "duration"))        # 5400.0 for 90m; None if it is missing

Each method raises InvalidInputError for a value of another kind, with file, line and keys.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kai.api import places, quantities
from kai.api.documents import UnreadableError, read_documents
from kai.api.durations import seconds_of, too_long
from kai.api.nearest import did_you_mean
from kai.api.rules import written
from kai.errors import InvalidInputError

__all__ = ["KEYS", "Page", "Path"]

# All allowed keys, each with its sentence for the reference page.
KEYS: Mapping[str, Mapping[str, str]] = {
    "workload": {
        "name": "text",
        "source": "a string: the source of the workload",
        "start": "date and time of second 0, such as 2026-01-31T08:00:00",
        "priority_classes": "`{name: value}`; default: KAI's four classes",
        "queues": "`{name: queue}`; default: one queue `default` that deserves all GPUs",
        "nodes": "`{name: nodes}`; required, unless given elsewhere",
        "maintenance": "`{name: maintenance}`: nodes that take no new pods for a while",
        "jobs": "`{name: job}`; required",
        "usageParams": "how past usage counts; default: as in the configuration",
    },
    "usageParams": {
        "windowSize": "such as 1w; default `1w`",
        "windowType": "`sliding`, `tumbling` or `cron`; default `sliding`",
        "halfLifePeriod": "a duration; default: all of the window counts equally",
        "tumblingWindowStartTime": "date and time, such as 2026-01-31T08:00:00Z",
        "cronString": "start of each window, in UTC, such as `0 0 1 * *`",
        "fetchInterval": "how often the scheduler reads it; default `1m`",
    },
    "queue": {
        "parent": "the name of another queue",
        "priority": "a whole number; default 100",
        "deserved": "`{gpu, cpu, memory}`; default: no GPUs, any CPU and memory",
        "limit": "`{gpu, cpu, memory}`; default: none",
        "weight": "weight for resources beyond the quotas; default 1",
        "preempt_min_runtime": "a duration",
        "reclaim_min_runtime": "a duration",
    },
    "nodes": {
        "count": "number of such nodes; default 1",
        "gpu": "GPUs of each; default 8",
        "cpu": "cores of each; default 128",
        "memory": "memory of each, such as 512Gi; default 1Ti",
        "model": "GPU model, such as A100",
        "gpu_memory": "memory of each GPU, such as 80Gi; default: unknown",
        "labels": "`{name: string}`",
        "pods": "maximum number of pods of a node; default 110",
        "price": "price of a node per hour, in any currency; default 0",
        "autoscale": "`{max, min, ready, idle}`: nodes are added for waiting pods, and removed",
    },
    "autoscale": {
        "max": "maximum number of nodes; required",
        "min": "minimum number of nodes; default 0",
        "ready": "a duration: from the request for a node until it accepts pods; default 2m",
        "idle": "a duration: a node that is empty for this time is removed; default 10m",
    },
    "maintenance": {
        "at": "a duration from the start of the workload; required",
        "duration": "a duration; required",
        "nodes": "a list of nodes and of entries of `nodes`; default: all",
        "labels": "`{name: string}`: nodes with all these labels",
        "count": "number of these nodes, each time the next ones by name; default: all",
        "drain": "true: pods on them are evicted at the start; default: pods keep running",
        "every": "a duration: repeats at this interval; default: once",
    },
    "job": {
        "queue": "a queue without child queues; optional if there is only one",
        "arrival": "a duration from the start of the workload; default 0",
        "duration": "with all pods running, on the reference GPU model; required",
        "pods": "number of equal pods; default 1",
        "min_member": "minimum number of pods that run together; default: all (a gang)",
        "gpu": "GPUs of each pod: a whole number, or a part of one GPU; default 1",
        "mig": (
            "instead of `gpu`: the profile of a MIG slice, such as `3g.20gb`. It counts as its "
            "part of the GPU, here 3/7; the slices that a GPU can be split into are not simulated"
        ),
        "cpu": "cores of each pod; default 1",
        "memory": "memory of each pod; default 1Gi",
        "priority": "a priority class; default `train`",
        "preemptible": "true or false; default: as in the priority class",
        "estimate": "a duration: the user's estimate; default: unknown",
        "models": "a list of GPU models that the job may use; default: any",
        "speeds": "`{model: factor}`: speed compared with the reference model; other models have 1",
        "checkpoint": "a duration: the interval at which work is saved; 0: always; or `never`",
        "restart": "a duration: extra time of each start after an eviction",
        "user": "text",
        "application": "a string: the program of the job",
        "resizes": "a list of `{after, pods, min_member}`: changes of the number of pods",
        "repeat": "`{count, every}`: `count` such jobs, one every `every`",
    },
    "resize": {
        "after": "a duration from the job's arrival; required",
        "pods": "number of pods from then on; required",
        "min_member": "minimum number of pods that run together; default: all",
    },
    "amounts": {"gpu": "GPUs", "cpu": "cores", "memory": "such as 512Gi"},
    "repeat": {"count": "how many jobs; required", "every": "a duration; required"},
}


Path = tuple[str | int, ...]


class Page:
    """A text, its values by path, and error messages about them."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self._text = file, text
        self._nodes: list[Any] | None = None
        try:
            documents = list(read_documents(text))
        except UnreadableError as error:
            line = f":{error.line}" if error.line else ""
            raise InvalidInputError(f"{file}{line}: {error}") from None
        except InvalidInputError as error:
            raise InvalidInputError(f"{file}: {error}") from None
        if len(documents) != 1:
            raise InvalidInputError(f"{file}: contains {len(documents)} documents instead of one")
        if documents[0].problem:
            line = f":{documents[0].problem_line}" if documents[0].problem_line else ""
            raise InvalidInputError(f"{file}{line}: {documents[0].problem}")
        self.root = documents[0].value

    def error(self, path: Path, problem: str) -> InvalidInputError:
        """An error with the line and the keys that lead to a value."""
        if self._nodes is None:
            self._nodes = places.nodes_of(self._text)
        line = places.line_of(self._nodes, 0, path)
        place = f"{self.file}:{line}" if line else self.file
        keys = ".".join(map(str, path))
        return InvalidInputError(f"{place}: {keys + ': ' if keys else ''}{problem}")

    def value(self, path: Path) -> Any:
        """The value at the path; None if there is none."""
        value = self.root
        for key in path:
            if isinstance(value, list) and isinstance(key, int):
                value = value[key]
            else:
                value = value.get(key) if isinstance(value, dict) else None
        return value

    def length(self, path: Path) -> int:
        """The number of items of a list; 0 if there is none."""
        value = self.value(path)
        if value is not None and not isinstance(value, list):
            raise self.error(path, f"is {written(value)} instead of a list")
        return len(value or ())

    def mapping(self, path: Path, kind: str = "", *needed: str) -> Mapping[str, Any]:
        """A mapping, or an empty one: all its keys are those of a kind, and it has the needed."""
        value = self.value(path)
        if value is None and path:
            value = {}
        if not isinstance(value, dict):
            raise self.error(path, f"is {written(value)} instead of a mapping")
        for key in value:
            if not isinstance(key, str):
                raise self.error(path, f"has the key {written(key)}, which is not a string")
            if kind and key not in KEYS[kind]:
                near = did_you_mean(key, KEYS[kind])
                what = "a workload" if kind == "workload" else f"`{path[-1]}`"
                what = f"a {kind}" if path and isinstance(path[-1], int) else what
                raise self.error((*path, key), f"{what} has no key {key!r}{near}")
        for key in needed:
            if key not in value:
                raise self.error(path, f"has no {key}")
        return value

    def text(self, path: Path) -> str:
        value = self.value(path)
        if value is None:
            return ""
        if isinstance(value, (dict, list)):
            raise self.error(path, f"is {written(value)} instead of a string")
        return str(value)

    def date(self, path: Path) -> str:
        text = self.text(path)
        try:
            return datetime.fromisoformat(text).strftime("%Y-%m-%dT%H:%M:%S") if text else ""
        except ValueError:
            raise self.error(
                path, f"is {text!r} instead of a date and time such as 2026-01-31T08:00:00"
            ) from None

    def number(
        self, path: Path, default: float = 0.0, *, least: float = -math.inf, whole: bool = False
    ) -> float:
        value = self.value(path)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(path, f"is {written(value)} instead of a number")
        if not abs(value) < 2**53 or (whole and value % 1):
            raise self.error(path, f"is {value} instead of a whole number")
        if value < least:
            raise self.error(path, f"is {value}, which is less than {least:g}")
        return float(value)

    def whole(self, path: Path, default: int = 0, *, least: float = -math.inf) -> int:
        return int(self.number(path, default, least=least, whole=True))

    def truth(self, path: Path) -> bool | None:
        value = self.value(path)
        if value is not None and not isinstance(value, bool):
            raise self.error(path, f"is {written(value)} instead of true or false")
        return value

    def seconds(self, path: Path, *, never: bool = False) -> float | None:
        """Of a duration. ``never``: this word is one as well, of infinite seconds."""
        value = self.value(path)
        if value is None:
            return None
        seconds = seconds_of(value, never=never)
        if seconds is None:
            if why := too_long(value):
                raise self.error(path, f"{written(value)} {why}")
            raise self.error(path, f"is {written(value)} instead of a duration such as 90m or 2h")
        return seconds

    def amount(self, path: Path, default: float) -> float:
        """A Kubernetes quantity, such as 500m or 16Gi."""
        value = self.value(path)
        if value is None:
            return default
        try:
            amount = float(quantities.parse(value)) if isinstance(value, (int, float, str)) else -1
        except (ValueError, OverflowError):
            amount = -1
        if not 0 <= amount <= quantities.LARGEST or isinstance(value, bool):
            raise self.error(path, f"is {written(value)} instead of an amount such as 2 or 16Gi")
        return amount

    def mib(self, path: Path, default: int) -> int:
        amount = self.amount(path, default * 2**20)
        return math.ceil(amount / 2**20)

    def texts(self, path: Path) -> tuple[str, ...]:
        value = self.value(path)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.error(path, f"is {written(value)} instead of a list of strings")
        return tuple(value)
