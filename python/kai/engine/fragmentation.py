"""Fragmentation: how much of a cluster's idle GPUs the typical pod cannot use.

F of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent", USENIX ATC 2023, section 3. For a node n and a pod m of the typical mix,

    F(n, m) = sum of the idle parts of n's GPUs, if m does not fit on n or requests no GPU;
              else the sum of those parts that are smaller than the request of m for one GPU

    F = sum over n of [sum over m of weight(m) F(n, m)] / [sum over m of weight(m)]

in GPUs. Example: a node has two GPUs with 1 and 0.3 idle. Three of four typical pods request half a
GPU, one requests two whole GPUs: F = (3 * 0.3 + 1 * 1.3) / 4 = 0.55 GPUs, 42 % of what is idle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kai.api.arguments import all_in_sentences
from kai.api.numerals import rounded
from kai.engine import text
from kai.engine.frozen import Frozen
from kai.engine.values import plain
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai import _core

__all__ = ["Fragmentation", "Mix", "TypicalPod", "fragmentation_of"]

_WHOLE = 1000  # thousandths
_MOST_GPUS, _MOST_CPUS, _MOST_WEIGHT = 1_000, 1e6, 10**9
_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class TypicalPod:
    """A kind of pod, and how many of these pods there are.

    A pod requests a `portion` (1: whole) of each of `devices` GPUs, and `cpus` cores.

    >>> import kai
    >>> kai.TypicalPod(devices=1, portion=0.5, cpus=4, weight=30).gpus
    0.5

    Raises InvalidInputError for amounts out of range.
    """

    devices: int
    portion: float = 1
    cpus: float = 0
    weight: int = 1
    kinds: tuple[int, ...] = field(default=(), repr=False)
    """For each class of nodes: 1 if selectors and node affinity match. Empty: all classes match."""

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("devices", self.devices, 0, _MOST_GPUS),
            ("portion", self.portion, 0.001, 1),
            ("cpus", self.cpus, 0, _MOST_CPUS),
            ("weight", self.weight, 1, _MOST_WEIGHT),
        ):
            is_whole = isinstance(value, int) or name in ("portion", "cpus")
            if isinstance(value, bool) or not is_whole or not low <= value <= high:
                kind = "a number" if name in ("portion", "cpus") else "a whole number"
                raise InvalidInputError(
                    f"typical pod: {name}: expected {kind} from {rounded(low)} to"
                    f" {rounded(high)}, not {value!r}"
                )

    @property
    def gpus(self) -> float:
        """The GPUs that the pod requests in total."""
        return plain(self.devices * self.portion)

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary, without the classes of nodes."""
        members = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        del members["kinds"]
        return members

    def _row(self) -> _core._TypicalPod:
        milli = round(self.portion * _WHOLE) if self.devices else 0
        return (round(self.cpus * 1000), self.devices, milli, self.weight, list(self.kinds))

    @classmethod
    def _of(cls, row: _core._TypicalPod) -> TypicalPod:
        cpu_milli, gpus, gpu_milli, weight, kinds = row
        portion = plain(gpu_milli / _WHOLE) if gpus else 1
        return cls(gpus, portion, plain(cpu_milli / 1000), weight, tuple(kinds))


Mix = str | Sequence[TypicalPod]
"""Typical pods, or a text as in the configuration: GPUs, CPUs and weight of each."""


@all_in_sentences
@dataclass(frozen=True)
class Fragmentation:
    """How much of the idle GPUs the typical pod cannot use, and the mix of typical pods.

    `gpus` is F, in GPUs. `idle_gpus` counts all idle GPUs, and idle parts of shared GPUs, on nodes
    that accept pods. `by_node` has F of each such node. Resources of terminating pods count as
    idle, unless they are promised to another pod. `mix` has the typical pods; if there are none, F
    is 0. Formula and source: `kai.engine.fragmentation`.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=2)
    >>> cluster = cluster.pending("a/part", gpu_fraction=0.7).pending("a/large", pods=3, gpus=2)
    >>> found = kai.Scheduler().plan(cluster).fragmentation
    >>> found.gpus, found.idle_gpus, round(found.share, 3)
    (1.05, 1.3, 0.808)
    >>> found.against("0.3 1 1").gpus
    0
    """

    gpus: float
    idle_gpus: float
    mix: tuple[TypicalPod, ...]
    by_node: Mapping[str, float]
    _nodes: tuple[_core._IdleNode, ...] = field(repr=False)

    @property
    def share(self) -> float:
        """F / idle GPUs, from 0 to 1; 0 if no GPU is idle."""
        return self.gpus / self.idle_gpus if self.idle_gpus else 0.0

    def against(self, mix: Mix) -> Fragmentation:
        """The same nodes, measured against other typical pods.

        `mix` is a sequence of `kai.TypicalPod`, or a text such as "0.5 4 30, 8 96 1": GPUs, CPUs
        and weight of each. Raises InvalidInputError for an invalid text and for an empty sequence.
        """
        return _measured([*self.by_node], self._nodes, _read(mix))

    def to_dict(self) -> dict[str, Any]:
        """F in GPUs, idle GPUs, the share, and the mix, as a dictionary."""
        return {
            "gpus": self.gpus,
            "idle_gpus": self.idle_gpus,
            "share": self.share,
            "mix": [pod.to_dict() for pod in self.mix],
        }

    def __str__(self) -> str:
        return text.to_text(self._title(), [self._table()])

    def _repr_html_(self) -> str:
        return text.to_html(self._title(), [self._table()])

    def _title(self) -> str:
        return (
            f"Fragmentation: the typical pod cannot use {text.number(self.gpus)} of "
            f"{text.number(self.idle_gpus)} idle GPUs ({100 * self.share:.0f} %)"
        )

    def _table(self) -> text.Table:
        rows = [
            (
                text.number(pod.weight),
                text.number(pod.devices),
                text.number(pod.portion) if pod.devices else "",
                text.number(pod.cpus),
            )
            for pod in self.mix[:_MOST_SHOWN]
        ]
        hidden = len(self.mix) - len(rows)
        return text.Table(
            "Typical pods",
            ("pods", "GPUs", "of each", "CPUs"),
            rows,
            right=frozenset((0, 1, 2, 3)),
            note=f"and {text.count(hidden, 'more kind')}" if hidden else "",
        )


def fragmentation_of(measured: _core._Measured, mix: Mix | None = None) -> Fragmentation:
    """Converts the names, nodes and typical pods that the compiled core returns."""
    names, nodes, own = measured
    pods = tuple(TypicalPod._of(row) for row in own) if mix is None else _read(mix)
    return _measured(names, tuple(nodes), pods)


def _measured(
    names: Sequence[str], nodes: tuple[_core._IdleNode, ...], mix: tuple[TypicalPod, ...]
) -> Fragmentation:
    from kai import _core

    rows = [pod._row() for pod in mix]
    found = _core.fragments(nodes=list(nodes), mix=rows)
    return Fragmentation(
        gpus=_gpus(sum(found)),
        idle_gpus=_gpus(sum(sum(idle) for _, _, idle in nodes)),
        mix=mix,
        by_node=Frozen(zip(names, map(_gpus, found), strict=True)),
        _nodes=nodes,
    )


def _gpus(milli: float) -> float:
    return plain(round(milli / _WHOLE, 9))


def _read(mix: Mix) -> tuple[TypicalPod, ...]:
    if not isinstance(mix, Iterable):
        raise InvalidInputError(f"typical pods: expected a list of kai.TypicalPod, not {mix!r}")
    pods = tuple(_pods_of(mix.split(","))) if isinstance(mix, str) else tuple(mix)
    if not pods:
        raise InvalidInputError("typical pods: expected at least one")
    for pod in pods:
        if not isinstance(pod, TypicalPod):
            raise InvalidInputError(f"typical pods: expected kai.TypicalPod, not {pod!r}")
    return pods


def _pods_of(parts: Iterable[str]) -> Iterable[TypicalPod]:
    for part in parts:
        try:
            gpus, cpus, weight = part.split()
            requested, cores, count = float(gpus), float(cpus), int(weight)
        except ValueError:
            raise InvalidInputError(
                f"typical pods: {part.strip()!r}: expected GPUs, CPUs and weight, as in 0.5 4 30"
            ) from None
        if requested >= 1 and requested % 1 != 0:
            raise InvalidInputError(
                f"typical pods: {part.strip()!r}: GPUs are a whole number or less than 1"
            )
        is_part = 0 < requested < 1
        yield TypicalPod(
            devices=1 if is_part else int(requested) if 0 <= requested <= _MOST_GPUS else -1,
            portion=requested if is_part else 1,
            cpus=cores,
            weight=count,
        )
