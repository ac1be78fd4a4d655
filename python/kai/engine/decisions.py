"""The decisions of a plan: a sequence that creates each one at its first use, and tables of all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from kai.engine import text
from kai.engine.claims import claims_of
from kai.engine.values import DECISION_TYPES, Bind, Decision, Evict

if TYPE_CHECKING:
    from kai import _core

_SHOWN = 50


class Decisions(Sequence[Decision]):
    """The decisions in the order in which they must be carried out: `kai.Bind`, `kai.Pipeline` and
    `kai.Evict`.

    It compares and prints like a tuple of them, and creates each decision only when it is read.
    """

    def __init__(self, compiled: _core.Plan) -> None:
        self._compiled = compiled
        self._all: tuple[Decision, ...] | None = None

    def __len__(self) -> int:
        return self._compiled.decision_count

    @overload
    def __getitem__(self, index: int) -> Decision: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Decision, ...]: ...
    def __getitem__(self, index: int | slice) -> Decision | tuple[Decision, ...]:
        if self._all is not None:
            return self._all[index]
        rows = range(len(self))[index]
        if isinstance(rows, int):
            return self._made(rows, rows + 1)[0]
        if rows.step == 1:
            return self._made(rows.start, rows.stop)
        return self._whole()[index]

    def __iter__(self) -> Iterator[Decision]:
        return iter(self._whole())

    def __reversed__(self) -> Iterator[Decision]:
        return reversed(self._whole())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Decisions):
            return len(self) == len(other) and self._whole() == other._whole()
        return self._whole() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._whole())

    def __repr__(self) -> str:
        if len(self) <= _SHOWN:
            return repr(self._whole())
        shown = ", ".join(repr(each) for each in self[:_SHOWN])
        return f"({shown}, ... and {len(self) - _SHOWN:,} more)"

    def _repr_html_(self) -> str:
        columns = ("", "pod", "node", "GPUs", "for")
        rows = []
        for each in self[:_SHOWN]:
            if isinstance(each, Evict):
                because = f"{each.action} for {each.for_group}" if each.for_group else each.action
                rows.append((each.kind, each.pod, "", "", because))
            else:
                rows.append((each.kind, each.pod, each.node, text.number(each.gpus), ""))
        hidden = len(self) - len(rows)
        note = f"and {text.count(hidden, 'more decision')}" if hidden else ""
        title = text.count(len(self), "decision")
        return text.to_html(
            title, [text.Table("", columns, rows, right=frozenset((3,)), note=note)]
        )

    def _whole(self) -> tuple[Decision, ...]:
        """All of them, kept from now on."""
        if self._all is None:
            self._all = self._made(0, len(self))
        return self._all

    def _made(self, start: int, stop: int) -> tuple[Decision, ...]:
        made = self._compiled.decisions(start, stop, DECISION_TYPES)
        if not self._more:
            return tuple(made)
        return tuple(
            dataclasses.replace(each, **self._more[each.pod])
            if isinstance(each, Bind) and each.pod in self._more
            else each
            for each in made
        )

    @cached_property
    def _more(self) -> dict[str, dict[str, Any]]:
        """By bound pod: its claims, and its rank within a topology."""
        more = {pod: claims_of(rows) for pod, rows in self._compiled.claims().items()}
        for pod, (rank, domain) in self._compiled.topology_ranks().items():
            of_pod = more.setdefault(pod, {})
            of_pod["topology_rank"], of_pod["topology_domain"] = rank, domain
        return more
