"""Windows of time, and the usage of queues in them, from samples of allocations (spec 1 F118-F127).

>>> window = Window.of({"windowSize": "10h"})
>>> samples = Samples.of_rows(
...     times_s=[3600.0, 7200.0],
...     allocated=[{"vision": (8.0, 0.0, 0.0)}, {}],
...     capacity=[(10.0, 0.0, 0.0)] * 2,
... )
>>> usage_of(samples, window)
{'vision': (0.4, 0.0, 0.0)}

Usage is the sum of a queue's allocations divided by the sum of the cluster's capacity, over all
samples in the window. With a half-life, the weight of a sample halves with each half-life of its
age. Samples must therefore have equal intervals. The usage of a resource with capacity 0 is 0; KAI
divides by zero here (spec 1 W4).

Pure functions of their arguments; cron windows need croniter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, get_args

from kai.api import extras, times
from kai.api.durations import go_seconds, prometheus_seconds
from kai.api.naming import naming
from kai.api.nearest import check_known, did_you_mean
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["sliding", "tumbling", "cron", "samples"]
KINDS: tuple[str, ...] = get_args(Kind)
IN_CONFIG = KINDS[:3]
"""The kinds that a configuration can name; a window of "samples" has a number of samples (spec 1
F127)."""
Amounts = tuple[float, float, float]
"""GPUs, CPU and memory."""

WEEK_S = 7 * 86_400.0
OF_WINDOW = (
    "windowSize", "windowType", "halfLifePeriod", "tumblingWindowStartTime", "cronString",
)  # fmt: skip
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_NAMES = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat"
_CRON_FIELD = re.compile(rf"(?:[\d*?,/-]|{_NAMES})+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Selects samples, and their weights.

    `size`: seconds; for kind "samples" the number of last samples. `half_life`: in the same unit;
    None or not above 0: all samples have equal weight. `start_s`: the start of tumbling windows,
    `cron`: when a new window begins, in UTC.

    Raises InvalidInputError for an unknown kind, a size that is not positive, a tumbling window
    without a start and an invalid cron string.
    """

    kind: Kind = "sliding"
    size: float = WEEK_S
    half_life: float | None = None
    start_s: float | None = None
    cron: str = ""

    def __post_init__(self) -> None:
        check_known([self.kind], KINDS, "there is no window type")
        if not 0 < self.size < math.inf:
            raise InvalidInputError(f"the size of a window must be above 0, not {self.size:g}")
        if self.kind == "tumbling" and self.start_s is None:
            raise InvalidInputError("tumbling windows need tumblingWindowStartTime")
        if self.kind == "cron":
            check_cron(self.cron)

    @classmethod
    def of(cls, params: Any, name: str = "usageParams") -> Window:
        """From the window members of KAI's `usageParams` (spec 1 F116).

        Raises InvalidInputError as the class itself does, and for another argument.
        """
        if not isinstance(params, Mapping):
            raise InvalidInputError(f"{name}: is not a mapping: {params!r}")
        check_known(params, OF_WINDOW, f"{name}: there is no member")
        return window_of(params, name)

    @property
    def decays(self) -> bool:
        return self.half_life is not None and self.half_life > 0

    def begin_s(self, now_s: float) -> float:
        """The start of the window that contains `now_s`. Not for kind "samples"."""
        if self.kind == "cron":
            return cron_reset_s(self.cron, now_s)
        if self.kind == "tumbling":
            assert self.start_s is not None
            return tumbling_reset_s(self.start_s, self.size, now_s)
        return now_s - self.size


def window_of(params: Mapping[str, Any], name: str) -> Window:
    """As `Window.of`; other members are ignored."""
    given: dict[str, Any] = {}

    def read(member: str, to: str, parse: Any) -> None:
        if (value := params.get(member)) is None:
            return
        if not isinstance(value, str):
            raise InvalidInputError(f"{name}: {member}: is not a string: {value!r}")
        with naming(f"{name}: {member}"):
            given[to] = parse(value)

    read("windowSize", "size", prometheus_seconds)
    read("halfLifePeriod", "half_life", any_seconds)
    read("windowType", "kind", str)
    read("tumblingWindowStartTime", "start_s", lambda text: times.to_ns(text) / times.SECOND_NS)
    read("cronString", "cron", str)
    if given.get("kind", "sliding") not in IN_CONFIG:
        hint = did_you_mean(given["kind"], IN_CONFIG)
        raise InvalidInputError(
            f"{name}: windowType: is {', '.join(IN_CONFIG[:-1])} or {IN_CONFIG[-1]}, not"
            f" {given['kind']!r}{hint}"
        )
    with naming(name):
        return Window(**given)


def any_seconds(text: str) -> float:
    """A duration in the format of Prometheus or of Go."""
    try:
        return prometheus_seconds(text)
    except InvalidInputError:
        return go_seconds(text)


# ---- when windows begin --------------------------------------------------------------------------


def tumbling_reset_s(start_s: float, size: float, now_s: float) -> float:
    """The last start + k · size strictly before now (spec 1 F120).

    >>> tumbling_reset_s(0, 60, 180), tumbling_reset_s(0, 60, 181), tumbling_reset_s(0, 60, 30)
    (120, 180, 0)
    >>> tumbling_reset_s(100, 60, 50)  # it has not begun: an empty window
    50
    """
    if now_s <= start_s:
        return now_s
    windows = max(0, math.ceil((now_s - start_s) / size) - 1)
    while start_s + windows * size >= now_s:  # a rounding error
        windows -= 1
    while start_s + (windows + 1) * size < now_s:
        windows += 1
    return start_s + windows * size


def cron_reset_s(cron: str, now_s: float) -> float:
    """The last moment of a cron string strictly before now, in UTC (spec 1 F120).

    >>> cron_reset_s("0 * * * *", 7200.0), cron_reset_s("0 * * * *", 7200.5)
    (3600.0, 7200.0)

    Raises InvalidInputError if the string is invalid, or croniter is not installed.
    """
    from croniter import CroniterError, croniter

    check_cron(cron)
    try:
        found = croniter(cron, datetime.fromtimestamp(now_s, timezone.utc)).get_prev(datetime)
    except CroniterError as error:
        raise InvalidInputError(f"{_BAD_CRON % cron} {error}") from None
    return float(found.timestamp())


_BAD_CRON = "error parsing cron string '%s' for usage tumbling window:"


def check_cron(cron: str) -> None:
    """Five fields, or one of @yearly, @monthly, @weekly, @daily, @hourly.

    Raises InvalidInputError for other texts, and if croniter is not installed.
    """
    try:
        from croniter import croniter
    except ModuleNotFoundError:
        raise InvalidInputError(extras.needed("a window with cron", "croniter")) from None
    fields = cron.split()
    is_plain = len(fields) == 5 and all(map(_CRON_FIELD.fullmatch, fields))
    if (is_plain or cron in _DESCRIPTORS) and croniter.is_valid(cron):
        return
    what = "expected five fields such as 0 0 * * 1, or a name such as @daily"
    raise InvalidInputError(f"{_BAD_CRON % cron} {what}")


# ---- samples -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Samples:
    """Allocations of queues and capacity of the cluster, at equal intervals of time.

    `times_s`: (samples,), ascending. `allocated`: (samples, queues, 3), in the order of `queues`;
    `capacity`: (samples, 3). The three are GPUs, CPU and memory, in any units that are the same in
    both. Raises InvalidInputError for columns that do not fit together.
    """

    times_s: NDArray[np.float64]
    queues: tuple[str, ...]
    allocated: NDArray[np.float64]
    capacity: NDArray[np.float64]

    def __post_init__(self) -> None:
        count = len(self.times_s)
        shapes = (self.allocated.shape, self.capacity.shape)
        if shapes != ((count, len(self.queues), 3), (count, 3)):
            raise InvalidInputError(
                f"{count} samples of {len(self.queues)} queues have no columns of the shapes"
                f" {shapes[0]} and {shapes[1]}"
            )
        if (self.times_s[1:] < self.times_s[:-1]).any():
            raise InvalidInputError("the times of samples must ascend")

    @classmethod
    def of_rows(
        cls,
        times_s: Sequence[float],
        allocated: Sequence[Mapping[str, Amounts]],
        capacity: Sequence[Amounts],
    ) -> Samples:
        """From the amounts of each sample by queue; missing amounts are 0. Needs numpy."""
        try:
            import numpy as np
        except ModuleNotFoundError:
            raise InvalidInputError(extras.needed("Samples.of()", "numpy")) from None
        queues = tuple(sorted({queue for row in allocated for queue in row}))
        place = {queue: column for column, queue in enumerate(queues)}
        held = np.zeros((len(times_s), len(queues), 3))
        for number, row in enumerate(allocated):
            for queue, amounts in row.items():
                held[number, place[queue]] = amounts
        had = np.array(capacity, dtype=np.float64).reshape(len(capacity), 3)
        return cls(np.array(times_s, dtype=np.float64), queues, held, had)


def usage_of(samples: Samples, window: Window, now_s: float | None = None) -> dict[str, Amounts]:
    """By queue, Σ allocated · weight / Σ capacity · weight of the samples in the window (spec 1
    F119, F127).

    `now_s`: default: the time of the last sample. A sliding window excludes its first moment, so 10
    minutes contain 10 samples of a minute; other windows include it. Costs O(samples in the window
    · queues).
    """
    import numpy as np

    count = len(samples.times_s)
    if count == 0:
        return {}
    now_s = float(samples.times_s[-1]) if now_s is None else now_s
    if window.kind == "samples":
        first, last = max(0, count - int(window.size)), count
        ages = np.arange(last - first, 0, -1, dtype=np.float64)  # in samples: WindowSize - i
    else:
        begin_s = window.begin_s(now_s)
        side: Literal["left", "right"] = "right" if window.kind == "sliding" else "left"
        first = int(np.searchsorted(samples.times_s, begin_s, side))
        last = int(np.searchsorted(samples.times_s, now_s, "right"))
        ages = now_s - samples.times_s[first:last]
    weights = np.ones(max(0, last - first))
    if window.decays:
        assert window.half_life is not None
        # The youngest has weight 1, so that old samples do not all become 0 at once.
        weights = 0.5 ** ((ages - ages[-1:]) / window.half_life)
    held = (samples.allocated[first:last] * weights[:, None, None]).sum(axis=0)
    had = (samples.capacity[first:last] * weights[:, None]).sum(axis=0)
    parts = np.divide(held, had, out=np.zeros_like(held), where=had > 0)
    return {
        queue: (float(gpu), float(cpu), float(memory))
        for queue, (gpu, cpu, memory) in zip(samples.queues, parts, strict=True)
    }
