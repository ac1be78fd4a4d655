"""The queues of a plan with their numbers, also as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kai.engine import text
from kai.engine.frames import needed
from kai.engine.text import Table
from kai.engine.values import ByName, plain

if TYPE_CHECKING:
    import pandas

MOST_QUEUES = 24


@dataclass(frozen=True, slots=True)
class QueueShare:
    """One resource of one queue at the start of the cycle. None is unlimited.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a", deserved_gpus=2).node("n1", gpus=4)
    >>> share = kai.Scheduler().plan(cluster.pending("a/x", gpus=3)).queues["a"].gpu
    >>> share.deserved, share.fair_share, share.limit, share.request
    (2, 3, None, 3)
    """

    deserved: float | None
    fair_share: float | None
    limit: float | None
    allocated: float | None
    allocated_non_preemptible: float | None
    request: float | None
    over_quota_weight: float | None
    usage: float | None = 0
    """Past usage as a fraction of the cluster's capacity
    (docs/concepts/time_based_fair_share.md)."""

    @property
    def over_fair_share(self) -> float | None:
        """Amount in use above the fair share; negative: below it.

        >>> import kai
        >>> kai.QueueShare(2, 4, None, 3, 0, 8, 1).over_fair_share
        -1
        """
        if self.allocated is None or self.fair_share is None:
            return None
        return plain(self.allocated - self.fair_share)

    @property
    def part_of_fair_share(self) -> float | None:
        """Amount in use as a fraction of the fair share: 1.0 is all of it. None if the fair share
        is 0.

        >>> import kai
        >>> kai.QueueShare(2, 4, None, 3, 0, 8, 1).part_of_fair_share
        0.75
        """
        if self.allocated is None or not self.fair_share:
            return None
        return self.allocated / self.fair_share

    def to_dict(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """The numbers of one queue: GPUs in devices, CPU in cores, memory in bytes.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a", deserved_memory="1Gi", cpu_limit=1.5)
    >>> queue = kai.Scheduler().plan(cluster).queues["a"]
    >>> queue.memory.deserved, queue.cpu.limit
    (1073741824, 1.5)
    """

    name: str
    gpu: QueueShare
    cpu: QueueShare
    memory: QueueShare

    def to_dict(self) -> dict[str, Any]:
        return {
            "gpu": self.gpu.to_dict(),
            "cpu": self.cpu.to_dict(),
            "memory": self.memory.to_dict(),
        }


class Queues(ByName[QueuePlan]):
    """The queues with their numbers at the start of the cycle, by name.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a", deserved_gpus=2).queue("b")
    >>> queues = kai.Scheduler().plan(cluster).queues
    >>> list(queues), queues["a"].gpu.deserved
    (['a', 'b'], 2)
    >>> queues.get("c") is None
    True
    """

    _noun = "queue"
    _parents: Callable[[], Mapping[str, str | None]] | None = None

    def __init__(
        self,
        values: Mapping[str, QueuePlan],
        parents: Callable[[], Mapping[str, str | None]] | None = None,
    ) -> None:
        """`parents` returns the parent of each queue, called when a page needs it."""
        super().__init__(values)
        self._parents = parents

    def __getstate__(self) -> dict[str, Any]:
        return {"_values": self._values}  # copies and pickles do not refer to the plan

    def _tables(self) -> list[Table]:
        return queue_tables(self, self._parents() if self._parents else None)

    def __getitem__(self, name: str) -> QueuePlan:
        rows: Any = super().__getitem__(name)
        if not isinstance(rows, QueuePlan):  # a page shows 24 of 10,000 queues
            self._values[name] = _queue_of(name, rows)
        return self._values[name]

    def to_pandas(self) -> pandas.DataFrame:
        """One row per queue and resource; unlimited is infinity. Needs pandas."""
        pd = needed("to_pandas()", "pandas")
        rows = [
            {"queue": queue.name, "resource": resource}
            | {
                name: float("inf") if value is None else value
                for name, value in getattr(queue, resource).to_dict().items()
            }
            for queue in self.values()
            for resource in ("gpu", "cpu", "memory")
        ]
        columns = ["queue", "resource", *(field.name for field in dataclasses.fields(QueueShare))]
        table: pandas.DataFrame = pd.DataFrame(rows, columns=columns)
        return table.set_index(["queue", "resource"])

    def __repr__(self) -> str:
        return text.to_text("", self._tables()) or "no queues"

    def _repr_html_(self) -> str:
        return text.to_html("", self._tables())


def _queue_of(name: str, rows: Mapping[str, Any]) -> QueuePlan:
    return QueuePlan(name, *(_share_of(rows[each]) for each in ("gpu", "cpu", "memory")))


def _share_of(row: tuple[float | None, ...]) -> QueueShare:
    return QueueShare(*(None if value is None else plain(value) for value in row))


# ---- tables --------------------------------------------------------------------------------------

_RESOURCES: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("gpu", "GPUs", text.number),
    ("cpu", "CPUs", text.number),
    ("memory", "memory", text.size),
)


def queue_tables(
    queues: Mapping[str, QueuePlan],
    parents: Mapping[str, str | None] | None = None,
    *,
    busy_only: bool = False,
) -> list[Table]:
    """One table per resource, queues below their parents.

    With `busy_only`: only GPUs, or the requested resources if no pod requests GPUs, and without the
    comparison of usage and fair share.
    """
    names = _as_tree(queues, parents or {})
    made = []
    for resource, label, show in _RESOURCES:
        if busy_only and not any(_is_busy(queues[name], resource) for name, _ in names):
            continue
        columns = [head for head in _COLUMNS if not busy_only or head not in _COMPARED]
        shares: list[tuple[str, QueueShare]] = [
            ("  " * depth + name, getattr(queues[name], resource))
            for name, depth in names[: MOST_QUEUES if busy_only else None]
        ]
        rows = [
            (name, *(_cell(share, head, show) for head in columns[1:])) for name, share in shares
        ]
        hidden = len(names) - len(rows)
        made.append(
            Table(
                f"Queues, {label}",
                columns,
                rows,
                right=frozenset(range(1, len(columns))),
                note=f"and {text.count(hidden, 'more queue')}" if hidden > 0 else "",
                spare=tuple(columns.index(head) for head in _SPARE if head in columns),
            )
        )
        if busy_only:
            break
    return made


_COMPARED = ("% of share", "over or under")
_COLUMNS = (
    "queue", "deserved", "fair share", "in use", *_COMPARED, "wanted", "limit", "weight",
)  # fmt: skip
_SPARE = ("weight", "limit", "wanted", "over or under", "deserved")


def _cell(share: QueueShare, head: str, show: Callable[[float | None], str]) -> str:
    if head == "% of share":
        part = share.part_of_fair_share
        return "" if part is None else f"{100 * part:,.0f}"
    if head == "over or under":
        over = share.over_fair_share
        if not over:
            return "" if over is None else show(0)
        return f"{'+' if over > 0 else '-'}{show(abs(over))}"
    if head == "weight":
        return text.number(share.over_quota_weight)
    if head in ("deserved", "limit"):
        return _amount(show, getattr(share, head))
    members = {"fair share": "fair_share", "in use": "allocated", "wanted": "request"}
    return show(getattr(share, members[head]))


def _is_busy(queue: QueuePlan, resource: str) -> bool:
    share: QueueShare = getattr(queue, resource)
    return bool(share.request or share.allocated)


def _amount(show: Callable[[float | None], str], value: float | None) -> str:
    return "unlimited" if value is None else show(value)


def _as_tree(queues: Mapping[str, Any], parents: Mapping[str, str | None]) -> list[tuple[str, int]]:
    """Names with their depth: children right after their parent, siblings by name."""
    children: dict[str | None, list[str]] = {}
    for name in sorted(queues):
        parent = parents.get(name)
        children.setdefault(parent if parent in queues else None, []).append(name)
    ordered: list[tuple[str, int]] = []
    open_names = [(name, 0) for name in reversed(children.get(None, []))]
    while open_names:
        name, depth = open_names.pop()
        ordered.append((name, depth))
        open_names += [(child, depth + 1) for child in reversed(children.get(name, []))]
    return ordered
