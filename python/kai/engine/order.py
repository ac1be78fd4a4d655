"""The pod groups that wait after a plan, in the order in which they are tried next.

>>> import kai
>>> cluster = kai.Cluster().queue("a", deserved_gpus=4).queue("b", deserved_gpus=4)
>>> cluster = cluster.pending("b/new", gpus=3).pending("a/low", gpus=1)
>>> cluster = cluster.pending("a/high", gpus=1, priority=90)
>>> order = kai.Scheduler().plan(cluster).order
>>> [turn.group for turn in order]
['a/high', 'a/low', 'b/new']
>>> order[0].because
'its priority is 90; a/low has 50'
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, overload

from kai.api import times
from kai.api.arguments import all_in_sentences
from kai.engine import text
from kai.engine.values import plain
from kai.errors import NotFoundError

if TYPE_CHECKING:
    from kai import _core

Minimum = Literal["below", "at", "above"]
_MOST_SHOWN = 30
_HEADS = ("", "pod group", "GPUs", "queue", "share", "priority", "age", "why before the next")
_WIDE = (
    "", "pod group", "GPUs", "queues", "queue standing", "queue priority", "share with it",
    "share now", "priority", "minimum", "age", "why before the next",
)  # fmt: skip
_NUMBERS = ("", "GPUs", "share", "priority", "age")


@dataclass(frozen=True, slots=True)
class QueueTurn:
    """A queue above a waiting pod group, in its state at the group's turn.

    These values are compared with sibling queues, in this order. `over_fair_share`: it uses more
    than its fair share of everything. `within_deserved`: including the group's next pods it uses at
    most its deserved amount. `priority`: higher first. `may_have_none`: the group requests a
    resource that the queue may not use at all. `share_with_request` and `share`: the largest
    fraction, over GPUs, CPUs and memory, of what the queue may use, with and without the group's
    next pods; 1.0 is all of it. `created`: older first; None is unknown.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a", deserved_gpus=4).node("n1", gpus=1)
    >>> cluster = cluster.pending("a/x", pods=2, gpus=1, min_member=2)
    >>> [queue] = kai.Scheduler().plan(cluster).order["a/x"].queues
    >>> queue.name, queue.within_deserved, queue.share_with_request
    ('a', True, 0.5)
    """

    name: str
    over_fair_share: bool
    within_deserved: bool
    priority: int
    may_have_none: bool
    share_with_request: float
    share: float
    created: datetime | None

    def to_dict(self) -> dict[str, Any]:
        """The same as a dict; times in RFC 3339."""
        return {**dataclasses.asdict(self), "created": _text(self.created)}


@dataclass(frozen=True, slots=True)
class Turn:
    """A waiting pod group, its place among all of them, and the values that decide the place.

    `place` counts from 1. `queues` are those above the group, from the top to its own: they are
    compared first. Within a queue, the higher `priority` is first, then groups below their
    `minimum` of pods, then the earlier `created`. `gpus` (devices), `cpus` (cores) and `memory`
    (bytes) are its next request. `because` is why it comes before the next group; "" for the last
    one.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").pending("a/first", gpus=2).pending("a/second", gpus=1)
    >>> turn = kai.Scheduler().plan(cluster).order[0]
    >>> turn.place, turn.group, turn.gpus, turn.because
    (1, 'a/first', 2, 'it is older than a/second')
    """

    place: int
    group: str
    queue: str
    priority: int
    minimum: Minimum
    created: datetime | None
    gpus: float
    cpus: float
    memory: float
    queues: tuple[QueueTurn, ...]
    because: str

    def to_dict(self) -> dict[str, Any]:
        """The same in dicts and lists; times in RFC 3339."""
        members = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        queues = [queue.to_dict() for queue in self.queues]
        return {**members, "created": _text(self.created), "queues": queues}


@all_in_sentences
class Order(Sequence[Turn]):
    """The pod groups that wait after a plan, next one first.

    This is the order of the next cycle if nothing else changes and each group gets its next request
    at its turn: its queue then uses that much more, so groups of other queues may come before the
    next group of this queue. Groups that wait for their own pods are not included, because they
    cannot be tried.

    It is a sequence of `kai.Turn`. Indexing with the name of a group returns its turn; it raises
    NotFoundError for a group that does not wait.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").pending("a/x", gpus=1).pending("a/y", gpus=1)
    >>> order = kai.Scheduler().plan(cluster).order
    >>> len(order), order[0].group, order["a/y"].place
    (2, 'a/x', 2)
    """

    def __init__(self, rows: Sequence[_core._Turn], now: datetime, *, by_fair_share: bool) -> None:
        self._rows = rows
        self._now = now
        self._by_fair_share = by_fair_share

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int | str) -> Turn: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Turn, ...]: ...
    def __getitem__(self, index: int | str | slice) -> Turn | tuple[Turn, ...]:
        if isinstance(index, slice):
            return tuple(self._turn(each) for each in range(len(self))[index])
        if isinstance(index, str):
            if index not in self._places:
                raise NotFoundError(text.not_found("waiting pod group", index, self._places))
            return self._turn(self._places[index])
        return self._turn(range(len(self))[index])

    def __iter__(self) -> Iterator[Turn]:
        return (self._turn(index) for index in range(len(self)))

    def __contains__(self, value: object) -> bool:
        if isinstance(value, str):
            return value in self._places
        return isinstance(value, Turn) and value in tuple(self)

    def __eq__(self, other: object) -> bool:
        return self._rows == other._rows if isinstance(other, Order) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return text.to_text("", self.tables()) or "no pod group waits"

    def _repr_html_(self) -> str:
        return text.to_html("", self.tables())

    def tables(self, *, most: int | None = _MOST_SHOWN, wide: bool = False) -> list[text.Table]:
        """The first `most` groups as a table; `wide` has a column for each compared value."""
        shown = self[:most]
        hidden = len(self) - len(shown)
        heads, rows = (_WIDE, map(self._wide, shown)) if wide else (_HEADS, map(self._row, shown))
        return [
            text.Table(
                "Waiting pod groups in scheduling order",
                heads,
                [*rows],
                right=frozenset(heads.index(head) for head in _NUMBERS if head in heads),
                note=f"and {text.count(hidden, 'more pod group')}" if hidden else "",
                spare=() if wide else tuple(map(heads.index, ("age", "GPUs", "priority"))),
            )
        ]

    def _row(self, turn: Turn) -> tuple[str, ...]:
        queue = turn.queues[-1] if turn.queues else None
        return (
            str(turn.place),
            turn.group,
            text.number(turn.gpus),
            turn.queue,
            _with_request(queue) if queue else "",
            str(turn.priority),
            age(turn.created, self._now),
            self._because(turn.place - 1, named=False),
        )

    def _wide(self, turn: Turn) -> tuple[str, ...]:
        place, group, gpus, _, _, priority, age, because = self._row(turn)
        return (
            place,
            group,
            gpus,
            " > ".join(each.name for each in turn.queues),
            " > ".join(_standing(each) for each in turn.queues),
            " > ".join(str(each.priority) for each in turn.queues),
            " > ".join(map(_with_request, turn.queues)),
            " > ".join(_percent(each.share) for each in turn.queues),
            priority,
            turn.minimum,
            age,
            because,
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {row[0]: index for index, row in enumerate(self._rows)}

    def _turn(self, index: int) -> Turn:
        group, priority, minimum, created_ns, gpus, cpus, memory, queues = self._rows[index]
        return Turn(
            place=index + 1,
            group=group,
            queue=queues[-1][0] if queues else "",
            priority=priority,
            minimum=minimum,  # type: ignore[arg-type]
            created=_time(created_ns),
            gpus=plain(gpus),
            cpus=plain(cpus),
            memory=plain(memory),
            queues=tuple(QueueTurn(*queue[:7], _time(queue[7])) for queue in queues),
            because=self._because(index),
        )

    def _because(self, index: int, *, named: bool = True) -> str:
        """Why it comes before the next one; a table does not name that group, which is in the row
        below."""
        if index + 1 == len(self):
            return ""
        after = self._rows[index + 1]
        name = after[0] if named else "the next"
        return _because(self._rows[index], after, name, by_fair_share=self._by_fair_share)


@lru_cache(maxsize=1024)  # the same queues are compared many times
def _time(ns: int | None) -> datetime | None:
    return None if ns is None else times.to_datetime(ns)


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat().replace("+00:00", "Z")


def _standing(queue: QueueTurn) -> str:
    if queue.over_fair_share:
        return "over fair share"
    return "within deserved" if queue.within_deserved else "within fair share"


def _with_request(queue: QueueTurn) -> str:
    """A queue without an allowance has no share of it: KAI counts what it uses a thousandfold."""
    return "may have none" if queue.may_have_none else _percent(queue.share_with_request)


def _percent(share: float) -> str:
    return "over 1,000 %" if share > 10 else f"{100 * share:.0f} %"


def age(created: datetime | None, now: datetime) -> str:
    """An age such as "3d", "5h", "12m", "40s", in one unit."""
    if created is None:
        return "-"
    seconds = max(0.0, (now - created).total_seconds())
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s"


# ---- why one goes before another -----------------------------------------------------------------


def _because(row: _core._Turn, after: _core._Turn, name: str, *, by_fair_share: bool) -> str:
    """Why a group comes before the next one."""
    for mine, other in zip(row[7], after[7], strict=False):
        if mine[0] != other[0]:
            return _between_queues(mine, other, by_fair_share=by_fair_share)
    if row[1] > after[1]:
        return f"its priority is {row[1]}; {name} has {after[1]}"
    if (state := _minimums(row[2], after[2])) is not None:
        return f"it is {state[0]} its minimum of pods; {name} is {state[1]} its minimum"
    if row[3] is not None and after[3] is not None and row[3] < after[3]:
        return f"it is older than {name}"
    return f"it is as old as {name}, and its name comes first"


def _minimums(mine: str, other: str) -> tuple[str, str] | None:
    states = ("below", "at", "above")
    return (mine, other) if states.index(mine) < states.index(other) else None


def _between_queues(
    mine: _core._QueueStanding, other: _core._QueueStanding, *, by_fair_share: bool
) -> str:
    a, b = f"queue {mine[0]}", other[0]
    if by_fair_share:
        if other[1] and not mine[1]:
            return f"queue {b} is over its fair share; {mine[0]} is not"
        if mine[1] == other[1]:
            if mine[2] and not other[2]:
                return f"{a} stays within what it deserves; {b} does not"
            if mine[2] == other[2]:
                if mine[3] > other[3]:
                    return f"{a} has priority {mine[3]}; {b} has {other[3]}"
                if mine[3] == other[3] and (reason := _by_share(mine, other)):
                    return reason
    if mine[7] is not None and other[7] is not None and mine[7] < other[7]:
        return f"{a} is older than {b}"
    return f"queues {mine[0]} and {b} are equal"


def _percentages(*shares: float) -> list[str]:
    """Percentages with enough digits to differ.

    >>> _percentages(0.25, 1 / 3), _percentages(1.00002, 1.00004)
    (['25 %', '33.3 %'], ['100.002 %', '100.004 %'])
    """
    texts: list[str] = []
    for digits in range(3, 17):
        texts = [f"{100 * share:.{digits}g} %" for share in shares]
        if len({*texts}) == len(texts):
            break
    return texts


def _by_share(mine: _core._QueueStanding, other: _core._QueueStanding) -> str:
    a, b = f"queue {mine[0]}", other[0]
    if other[4] and not mine[4]:
        return f"queue {b} may use none of the requested resource"
    if mine[4] != other[4]:
        return ""
    for has, others, when in ((mine[5], other[5], "with it, "), (mine[6], other[6], "")):
        if has < others and mine[4]:
            return (
                f"queues {mine[0]} and {b} may use none of a requested resource; {when}{mine[0]}"
                " uses less"
            )
        if has < others:
            less, more = _percentages(has, others)
            return f"{when}{a} has {less} of its allowance; {b} has {more}"
        if has > others:
            return ""
    return ""
