"""Metric families, and their text in Prometheus' format.

    writes = Counter("kai_writes_total", "Answers to writes", ("kind", "result"))
    writes.add("Pod", "done")
    text_of([writes])                  # bytes for GET /metrics

Only the event loop writes them, so they need no lock: 0.3 us for `add` and `Buckets.observe`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

Labels = tuple[str, ...]
"""Values of labels, in the order of their names."""
Sample = tuple[str, Labels, Labels, float]
"""A name, names of labels, their values, and the number."""
Kind = Literal["counter", "gauge", "histogram"]


@dataclass(slots=True, eq=False)
class _Series(ABC):
    """`is_kais`: KAI has it, with this name and these labels."""

    kind: ClassVar[Kind]
    name: str
    meaning: str
    labels: Labels = ()
    is_kais: bool = False

    @abstractmethod
    def samples(self) -> Iterator[Sample]:
        """All current numbers."""


@dataclass(slots=True, eq=False)
class _Numbers(_Series):
    values: dict[Labels, float] = field(default_factory=dict)

    def samples(self) -> Iterator[Sample]:
        for labels, value in self.values.items():
            yield self.name, self.labels, labels, value


@dataclass(slots=True, eq=False)
class Gauge(_Numbers):
    kind: ClassVar[Kind] = "gauge"

    def set(self, value: float, *labels: str) -> None:
        self.values[labels] = value


@dataclass(slots=True, eq=False)
class Counter(_Numbers):
    """`most`: the most combinations of labels; the one not counted for the longest time is
    dropped."""

    kind: ClassVar[Kind] = "counter"
    most: int | None = None

    def __post_init__(self) -> None:
        if not self.labels:
            self.add(by=0.0)  # a rate needs the 0 before the first event

    def add(self, *labels: str, by: float = 1.0) -> None:
        values = self.values
        if self.most is None:
            values[labels] = values.get(labels, 0.0) + by
            return
        values[labels] = values.pop(labels, 0.0) + by  # now the youngest one
        if len(values) > self.most:
            del values[next(iter(values))]


class Buckets:
    """The counts of a histogram for one combination of labels."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


@dataclass(slots=True, eq=False)
class Histogram(_Series):
    """`bounds`: the upper ends of the buckets, ascending."""

    kind: ClassVar[Kind] = "histogram"
    bounds: Sequence[float] = ()
    values: dict[Labels, Buckets] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.labels:
            self.of()  # as in a counter

    def of(self, *labels: str) -> Buckets:
        """The buckets of these labels; keep the result if it is used often."""
        found = self.values.get(labels)
        if found is None:
            found = self.values[labels] = Buckets(self.bounds)
        return found

    def observe(self, value: float, *labels: str) -> None:
        self.of(*labels).observe(value)

    def samples(self) -> Iterator[Sample]:
        for labels, buckets in self.values.items():
            total = 0
            for bound, count in zip((*self.bounds, float("inf")), buckets.counts, strict=True):
                total += count
                yield f"{self.name}_bucket", (*self.labels, "le"), (*labels, _text(bound)), total
            yield f"{self.name}_sum", self.labels, labels, buckets.sum
            yield f"{self.name}_count", self.labels, labels, total


Series = Gauge | Counter | Histogram


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The values of a family at one moment, for `text_of` in another thread."""

    name: str
    kind: str
    meaning: str
    samples: list[Sample]


def snapshots(series: Iterable[Series]) -> list[Snapshot]:
    return [Snapshot(each.name, each.kind, each.meaning, [*each.samples()]) for each in series]


def text_of(families: Iterable[Snapshot]) -> bytes:
    """Prometheus' text format, version 0.0.4."""
    lines = []
    for family in families:
        meaning = family.meaning.replace("\\", r"\\").replace("\n", r"\n")
        lines.append(f"# HELP {family.name} {meaning}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        for name, labels, values, number in family.samples:
            pairs = ",".join(f'{k}="{_escaped(v)}"' for k, v in zip(labels, values, strict=True))
            lines.append(
                f"{name}{{{pairs}}} {_text(number)}" if pairs else f"{name} {_text(number)}"
            )
    return "\n".join([*lines, ""]).encode()


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _text(number: float) -> str:
    if number == float("inf"):
        return "+Inf"
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
