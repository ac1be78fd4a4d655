"""The compared metrics: names, units, and whether less is better.

    measure("completion_mean_s").of(timeline.metrics())
    measure("waiting_mean_s[vision]")      # of one queue

`kai.sim.metrics` has the definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kai.api.nearest import did_you_mean
from kai.errors import InvalidInputError
from kai.sim.metrics import Metrics

__all__ = [
    "MEASURES",
    "OF_QUEUES",
    "ON_REQUEST",
    "PRIMARY",
    "UNFINISHED",
    "Measure",
    "measure",
    "needs_fragmentation",
]

PRIMARY = "completion_mean_s"
"""The default primary metric."""
UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Measure:
    """One number of a simulation."""

    name: str
    title: str
    unit: str  # "s", "GPUs", "GPU-hours" or nothing
    lower_is_better: bool
    of: Callable[[Metrics], float | None]


def _attribute(path: str, metrics: Metrics) -> float | None:
    value: Any = metrics
    for name in path.split("."):
        if value is None:
            return None
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return None if value is None else float(value)


def _useful_part(metrics: Metrics) -> float | None:
    held = metrics.held_gpu_hours
    return metrics.useful_gpu_hours / held if held > 0 else None


def _measure(name: str, title: str, unit: str, better: str, path: str) -> Measure:
    assert better in ("lower", "higher")
    return Measure(name, title, unit, better == "lower", partial(_attribute, path))


_ALL = (
    _measure("completion_mean_s", "completion, mean", "s", "lower", "completion.mean_s"),
    _measure("completion_median_s", "completion, median", "s", "lower", "completion.median_s"),
    _measure("completion_p95_s", "completion, 95 %", "s", "lower", "completion.p95_s"),
    _measure("completion_p99_s", "completion, 99 %", "s", "lower", "completion.p99_s"),
    _measure("waiting_mean_s", "waiting, mean", "s", "lower", "waiting.mean_s"),
    _measure("waiting_p95_s", "waiting, 95 %", "s", "lower", "waiting.p95_s"),
    _measure("not_running_mean_s", "not running, mean", "s", "lower", "not_running.mean_s"),
    _measure("rho_mean", "rho, mean", "", "lower", "rho.mean"),
    _measure("rho_max", "rho, largest", "", "lower", "rho.max"),
    _measure(UNFINISHED, "unfinished jobs", "", "lower", "unfinished"),
    _measure("utilization", "utilization", "", "higher", "utilization"),
    Measure("useful_part", "useful part of GPU-hours", "", False, _useful_part),
    _measure("lost_gpu_hours", "lost work", "GPU-hours", "lower", "lost_gpu_hours"),
    _measure("evictions", "evictions of pods", "", "lower", "evictions"),
    _measure("jain_index", "Jain's index", "", "higher", "jain_index"),
    _measure("share_error", "share error", "", "lower", "share_error"),
)

MEASURES: Mapping[str, Measure] = {each.name: each for each in _ALL}
"""The metrics of the whole workload, by name; all of these are compared by default."""

_FRAGMENTATION = (
    _measure("fragmentation", "fragmentation", "GPUs", "lower", "fragmentation.gpus"),
    _measure(
        "fragmentation_share", "fragmentation / idle GPUs", "", "lower", "fragmentation.share"
    ),
)

ON_REQUEST: Mapping[str, Measure] = {each.name: each for each in _FRAGMENTATION}
"""Further metrics of the whole workload. They take longer, so they are measured only if named."""

OF_QUEUES = {
    "completion_mean_s": "completion.mean_s",
    "completion_p95_s": "completion.p95_s",
    "waiting_mean_s": "waiting.mean_s",
    "waiting_p95_s": "waiting.p95_s",
}
"""The metrics that also exist for each queue, as in ``waiting_mean_s[vision]``."""


def needs_fragmentation(names: Iterable[str]) -> bool:
    """Whether some of these metrics need ``Timeline.metrics(fragmentation=True)``."""
    return any(name in ON_REQUEST for name in names)


def measure(name: str) -> Measure:
    """A metric by its name. Raises InvalidInputError for an unknown one."""
    of_all, bracket, queue = name.partition("[")
    known = list(OF_QUEUES if bracket else {**MEASURES, **ON_REQUEST})
    if of_all not in known or (bracket and not queue.endswith("]")):
        hint = did_you_mean(of_all, known) or ": " + ", ".join(known)
        what = "of a queue " if bracket else ""
        raise InvalidInputError(f"there is no metric {what}{name!r}{hint}")
    whole = MEASURES.get(of_all) or ON_REQUEST[of_all]
    if not bracket:
        return whole
    queue = queue[:-1]
    title = f"{queue}: {whole.title}"
    of = partial(_of_queue, queue, OF_QUEUES[of_all])
    return Measure(name, title, whole.unit, whole.lower_is_better, of)


def _of_queue(queue: str, path: str, metrics: Metrics) -> float | None:
    if queue not in metrics.queues:
        hint = did_you_mean(queue, list(metrics.queues))
        raise InvalidInputError(f"there is no queue {queue!r} to measure{hint}")
    of_all, _, name = path.partition(".")
    value = getattr(getattr(metrics.queues[queue], of_all), name)
    return None if value is None else float(value)
