"""The differences between two plans: pod groups, pods and queues, also as a page."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kai.engine import text
from kai.engine.text import Table
from kai.engine.values import Bind, Decision, Evict, Pipeline

if TYPE_CHECKING:
    from kai import _core
    from kai.engine.answer import Answer

_MOST_SHOWN = 20
_SHARE = ("deserved", "fair_share", "limit", "allocated", "request", "over_quota_weight", "usage")


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A pod group with different results in two plans.

    `before` and `after` are its verdicts, None if the plan does not contain it; `waiting_before`
    and `waiting_after` are the numbers of its pods that still wait.

    >>> import kai
    >>> change = kai.GroupChange("a/x", "unschedulable", "placed", 2, 0)
    >>> change.before, change.after
    ('unschedulable', 'placed')
    """

    name: str
    before: str | None
    after: str | None
    waiting_before: int
    waiting_after: int


@dataclass(frozen=True, slots=True)
class PodChange:
    """A pod with different decisions in two plans; None: no decision about it.

    >>> import kai
    >>> change = kai.PodChange("a/x-0", "a/x", None, kai.Bind("a/x-0", "n1", 1))
    >>> change.before is None, change.after
    (True, Bind(pod='a/x-0', node='n1', gpus=1))
    """

    name: str
    group: str | None
    before: Decision | None
    after: Decision | None


@dataclass(frozen=True, slots=True)
class QueueChange:
    """A number of a queue that differs: devices, cores or bytes; None is unlimited.

    `resource` is "gpu", "cpu" or "memory"; `member` is that of `kai.QueueShare`. A queue that
    exists in only one plan has a single change, with `resource` and `member` empty.

    >>> import kai
    >>> kai.QueueChange("a", "gpu", "fair_share", 4, 8).after
    8
    """

    name: str
    resource: str
    member: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class PlanDiff:
    """The differences between a plan and the argument of its `kai.Plan.diff`.

    True if there is any difference. It prints as a page. Names of shared devices, messages and
    timings are not compared, so plans of two times can be equal.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", pods=2, gpus=1)
    >>> before = kai.Scheduler().plan(cluster)
    >>> diff = before.diff(kai.Scheduler().plan(cluster.add_nodes(1, like="n1")))
    >>> [(group.name, group.before, group.after) for group in diff.groups]
    [('a/x', 'partly_placed', 'placed')]
    >>> [(pod.name, pod.before, pod.after) for pod in diff.pods]
    [('a/x-1', None, Bind(pod='a/x-1', node='n2', gpus=1))]
    """

    groups: tuple[GroupChange, ...]
    pods: tuple[PodChange, ...]
    queues: tuple[QueueChange, ...]

    def __bool__(self) -> bool:
        return bool(self.groups or self.pods or self.queues)

    def to_dict(self) -> dict[str, Any]:
        """The same for programs, in dicts and lists."""
        return {
            "groups": [dataclasses.asdict(each) for each in self.groups],
            "pods": [
                {
                    "name": each.name,
                    "group": each.group,
                    "before": each.before and each.before.to_dict(),
                    "after": each.after and each.after.to_dict(),
                }
                for each in self.pods
            ],
            "queues": [dataclasses.asdict(each) for each in self.queues],
        }

    def __repr__(self) -> str:
        return f"<kai.PlanDiff: {self._summary()}>"

    def __str__(self) -> str:
        return text.to_text(self._summary(), self.tables())

    def _repr_html_(self) -> str:
        return text.to_html(self._summary(), self.tables())

    def _summary(self) -> str:
        if not self:
            return "no differences"
        queues = {each.name for each in self.queues}
        counts = ((self.groups, "pod group"), (self.pods, "pod"), (queues, "queue"))
        parts = [text.count(len(each), noun) for each, noun in counts if each]
        verb = "differs" if parts[0].startswith("1 ") and len(parts) == 1 else "differ"
        return f"{', '.join(parts)} {verb}"

    def tables(self) -> list[Table]:
        """Pod groups, pods and queues that differ."""
        groups = [
            (
                each.name,
                _words(each.before),
                _words(each.after),
                f"{text.number(each.waiting_before)} -> {text.number(each.waiting_after)}",
            )
            for each in self.groups
        ]
        # Differences that are smaller than the digits that are shown would look like none.
        queues = [row for row in map(_queue_row, self.queues) if row[2] != row[3]]
        return [
            _table("Pod groups", ("pod group", "before", "after", "pods that wait"), groups),
            _table(
                "Pods",
                ("pod group", "pods", "before", "after"),
                _pod_rows(self.pods, self.groups),
                right=1,
            ),
            _table("Queues", ("queue", "", "before", "after"), queues),
        ]


def diff(before: Answer, after: Answer) -> PlanDiff:
    return PlanDiff(
        groups=tuple(_groups(before, after)),
        pods=tuple(_pods(before, after)),
        queues=tuple(_queues(before, after)),
    )


# ---- comparing -----------------------------------------------------------------------------------


def _groups(before: Answer, after: Answer) -> Iterator[GroupChange]:
    old, new = (group_rows(each._compiled) for each in (before, after))
    for name in sorted(old.keys() | new.keys()):
        a, b = old.get(name), new.get(name)
        if a != b:
            yield GroupChange(
                name,
                a[0] if a else None,
                b[0] if b else None,
                a[1] if a else 0,
                b[1] if b else 0,
            )


def group_rows(compiled: _core.Plan) -> dict[str, tuple[str, int]]:
    """By pod group: its verdict, and the number of its pods that still wait."""
    columns = compiled.group_columns()
    codes, verdicts = columns["verdict"]
    waiting = memoryview(columns["waiting"]).cast("i")
    return {
        name: (verdicts[code], number)
        for name, code, number in zip(
            texts(columns["pod_group"]), memoryview(codes).cast("i"), waiting, strict=True
        )
    }


def texts(column: tuple[bytes, bytes]) -> list[str]:
    """A column of mostly distinct texts."""
    offsets, whole = memoryview(column[0]).cast("q"), column[1]
    return [whole[begin:end].decode() for begin, end in pairwise(offsets)]


def _pods(before: Answer, after: Answer) -> Iterator[PodChange]:
    old, new = _outcomes(before._compiled), _outcomes(after._compiled)
    changed = [
        name
        for name in sorted(old.keys() | new.keys())
        if _decided(old, name) != _decided(new, name)
    ]
    # Reading them one by one would scan all nodes each time.
    first, second = (each.decisions[:] if changed else () for each in (before, after))
    for name in changed:
        group = before.situation.group_of_pod.get(name) or after.situation.group_of_pod.get(name)
        yield PodChange(
            name,
            group,
            first[old[name][0]] if name in old else None,
            second[new[name][0]] if name in new else None,
        )


_Outcomes = Mapping[str, tuple[Any, ...]]


def _outcomes(compiled: _core.Plan) -> _Outcomes:
    """By pod, the last decision about it: its index, and its values."""
    columns = compiled.decision_columns()
    code_columns = []
    for name in ("kind", "node", "action", "for_group"):
        codes, known = columns[name]
        known = [*known, None]  # code -1 means none
        code_columns.append([known[code] for code in memoryview(codes).cast("i")])
    gpus = memoryview(columns["gpus"]).cast("d")
    pods = texts(columns["pod"])
    return {
        row[0]: row[1:] for row in zip(pods, range(len(pods)), *code_columns, gpus, strict=True)
    }


def _decided(outcomes: _Outcomes, name: str) -> tuple[Any, ...]:
    return outcomes[name][1:] if name in outcomes else ()


def _queues(before: Answer, after: Answer) -> Iterator[QueueChange]:
    for name in sorted(before.queues.keys() | after.queues.keys()):
        if name not in before.queues or name not in after.queues:
            known = name in before.queues, name in after.queues
            yield QueueChange(name, "", "", *(float(each) for each in known))
            continue
        for resource in ("gpu", "cpu", "memory"):
            old, new = (getattr(each.queues[name], resource) for each in (before, after))
            for member in _SHARE:
                a, b = getattr(old, member), getattr(new, member)
                if a != b:
                    yield QueueChange(name, resource, member, a, b)


# ---- words ---------------------------------------------------------------------------------------


def _words(verdict: str | None) -> str:
    return "not there" if verdict is None else verdict.replace("_", " ")


def _outcome(decision: Decision | None, *, is_there: bool = True) -> str:
    if isinstance(decision, Bind):
        return f"bound to {decision.node}"
    if isinstance(decision, Pipeline):
        return f"promised {decision.node}"
    if isinstance(decision, Evict):
        return f"evicted for {decision.for_group}" if decision.for_group else "evicted"
    return "left as it is" if is_there else "not there"


def _pod_rows(changes: Sequence[PodChange], groups: Sequence[GroupChange]) -> list[tuple[str, ...]]:
    """Pods of a group with equal changes share a row; if there are too many rows, groups share them
    too."""
    new = {each.name for each in groups if each.before is None}
    gone = {each.name for each in groups if each.after is None}

    def outcomes(each: PodChange) -> tuple[str, str]:
        return (
            _outcome(each.before, is_there=each.group not in new),
            _outcome(each.after, is_there=each.group not in gone),
        )

    rows = Counter((each.group or each.name, *outcomes(each)) for each in changes)
    if len(rows) <= _MOST_SHOWN:
        return [(group, text.number(pods), *outcome) for (group, *outcome), pods in rows.items()]
    together: dict[tuple[str, str], dict[str, int]] = {}
    for each in changes:
        before, after = (
            outcome.split(" ")[0] if decision else outcome
            for outcome, decision in zip(outcomes(each), (each.before, each.after), strict=True)
        )
        of = together.setdefault((before, f"{after} elsewhere" if after == before else after), {})
        name = each.group or each.name
        of[name] = of.get(name, 0) + 1
    return [
        (text.listing(names, most=1), text.number(sum(names.values())), *outcome)
        for outcome, names in together.items()
    ]


def _queue_row(change: QueueChange) -> tuple[str, ...]:
    if not change.resource:
        states = ["there" if each else "not there" for each in (change.before, change.after)]
        return (change.name, "", *states)
    label = {"gpu": "GPUs", "cpu": "CPUs", "memory": "memory"}[change.resource]
    show = text.size if change.resource == "memory" else text.number
    if change.member in ("over_quota_weight", "usage"):
        show = text.number
    values = ["unlimited" if each is None else show(each) for each in (change.before, change.after)]
    return (change.name, f"{change.member.replace('_', ' ')}, {label}", *values)


def _table(
    title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: int | None = None
) -> Table:
    hidden = len(rows) - _MOST_SHOWN
    note = f"and {text.number(hidden)} more" if hidden > 0 else ""
    aligned = frozenset() if right is None else frozenset((right,))
    return Table(title, columns, rows[:_MOST_SHOWN], right=aligned, note=note)
