"""Scores: why a pod goes to one node and not to another, as a number for each node and plugin.

The scores of a node are added in the order of the plugins, and the node with the highest sum is
chosen; of equal ones, the first by name (spec 3 W1). docs/reference/config.md describes what each
plugin scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kai.api.arguments import all_in_sentences
from kai.engine import text
from kai.engine.frames import needed
from kai.engine.frozen import Frozen
from kai.engine.left_out import LeftOut, rejections
from kai.engine.values import ByName, MissingKey, plain
from kai.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from matplotlib.axes import Axes

    from kai.engine.answer import Answer

__all__ = ["Moment", "NodeScore", "Scores", "scores_of"]

Moment = Literal["placement", "start"]
"""When the nodes are scored: when the pod gets its place, or before the plan's first decision."""

_MOST_SHOWN = 10
_RESERVED = ("node", "sum", "now")  # columns beside those of plugins


@dataclass(frozen=True, slots=True)
class NodeScore:
    """The scores of one node for a pod.

    `by_plugin` has them by plugin. `sum` is what nodes are compared by. `now` is False if the pod
    has to wait there for resources that are being released.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=8).pending("a/x", gpus=1)
    >>> best = kai.Scheduler().plan(cluster).scores("a/x-0")["n1"]
    >>> best.sum, best.now, best.by_plugin["nodeavailability"]
    (1009, True, 1000)
    """

    node: str
    sum: float
    now: bool
    by_plugin: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The members as a dictionary; `by_plugin` is "scores"."""
        return {
            "node": self.node,
            "sum": self.sum,
            "now": self.now,
            "scores": dict(self.by_plugin),
        }


@all_in_sentences
class Scores(ByName[NodeScore]):
    """The scores of the nodes that can run a pod, by node, best node first.

    `pod` is "namespace/name". `moment` is "placement", with the scores that decided, or "start":
    before the plan, as if the pod were placed first. `chosen` is the node that the plan gives the
    pod, or None. `searched` counts the nodes that were searched: those of a topology domain, or the
    one node that an earlier plan promised, otherwise all. Nodes that the pod does not fit on, and
    nodes that a filter refuses, have no scores.

    `plugins` has the names in the configuration, in the order in which their scores are added: of
    plugins, of the extra `preferred_node_affinity`, and of functions that are policies.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").nodes("n", 3, gpus=8)
    >>> cluster = cluster.running("a/old", pods=4, gpus=1, node="n2").pending("a/x", gpus=1)
    >>> scores = kai.Scheduler().plan(cluster).scores("a/x-0")
    >>> scores
    <kai.Scores of 3 nodes for a/x-0 at its placement: n2 is chosen>
    >>> scores["n2"].by_plugin["nodeplacement"], scores.sum
    (9, {'n2': 1009, 'n1': 1000, 'n3': 1000})
    >>> scores.difference("n2", "n1")
    {'nodeplacement': 9}
    """

    def __init__(
        self,
        pod: str,
        moment: Moment,
        rows: Sequence[NodeScore],
        *,
        plugins: Sequence[str],
        searched: int,
        chosen: str | None,
    ) -> None:
        self.pod = pod
        self.moment: Moment = moment
        self.plugins = tuple(plugins)
        self.searched = searched
        self.chosen = chosen
        self._values = {row.node: row for row in rows}  # not sorted by name

    def __getitem__(self, node: str) -> NodeScore:
        if node in self:
            return self._values[node]
        raise MissingKey(
            f"node {node!r} has no scores: it does not exist, or it was not searched, or"
            f" {self.pod} does not fit there, or a filter refuses it"
        )

    @property
    def sum(self) -> Mapping[str, float]:
        """The sum of each node's scores, highest first."""
        return Frozen({node: row.sum for node, row in self.items()})

    def difference(self, one: str, other: str) -> Mapping[str, float]:
        """By plugin, what node `one` has more than node `other`; only plugins that differ.

        Raises NotFoundError for a node without scores.
        """
        ours, theirs = self[one].by_plugin, self[other].by_plugin
        found = {plugin: plain(ours[plugin] - theirs[plugin]) for plugin in self.plugins}
        return Frozen({plugin: value for plugin, value in found.items() if value})

    def to_dict(self) -> dict[str, Any]:
        """The output of ``kai plan --scores POD --json`` (docs/reference/plan.md)."""
        return {
            "pod": self.pod,
            "moment": self.moment,
            "chosen": self.chosen,
            "searched": self.searched,
            "plugins": list(self.plugins),
            "nodes": [row.to_dict() for row in self.values()],
        }

    def to_pandas(self) -> pandas.DataFrame:
        """One row per node, best first: a column for each plugin, then `sum` and `now`.

        Raises ModuleNotFoundError without pandas.
        """
        frame: pandas.DataFrame = needed("to_pandas()", "pandas").DataFrame(self._columns())
        return frame.set_index("node")

    def to_arrow(self) -> pyarrow.Table:
        """The same as an Arrow table, with a column `node`. Raises ModuleNotFoundError without
        pyarrow."""
        pa = needed("to_arrow()", "pyarrow")
        types = {"node": pa.string(), "now": pa.bool_()}
        table: pyarrow.Table = pa.table(
            {
                name: pa.array(values, types.get(name, pa.float64()))
                for name, values in self._columns().items()
            }
        )
        return table

    def _columns(self) -> dict[str, list[Any]]:
        rows = [*self.values()]
        return {
            "node": [row.node for row in rows],
            **{name: [float(row.by_plugin[name]) for row in rows] for name in self.plugins},
            "sum": [float(row.sum) for row in rows],
            "now": [row.now for row in rows],
        }

    def plot(self, *, most: int = _MOST_SHOWN, ax: Axes | None = None) -> Axes:
        """Bars of the best nodes, with a segment for each plugin.

        Plugins that score all these nodes alike are not drawn; a line names them. `most`: how many
        nodes. Needs matplotlib. Raises InvalidInputError for `most` below 1 and if no
        node has scores, and ModuleNotFoundError without matplotlib.
        """
        needed("plot()", "matplotlib")
        from kai.engine.score_plot import plot

        return plot(self, most=most, ax=ax)

    # ---- for people ------------------------------------------------------------------------------

    def shown(self, most: int | None) -> list[NodeScore]:
        """At most this many of the best nodes, with the chosen one in place of the last if it comes
        later: then other pods are placed before this one. Raises InvalidInputError for `most` below
        1."""
        if most is not None and most < 1:
            raise InvalidInputError(f"most is {most}: write a whole number from 1")
        rows = [*self.values()]
        if most is None or len(rows) <= most:
            return rows
        best = rows[:most]
        chosen = self.get(self.chosen or "")
        if chosen is not None and chosen not in best:
            best[-1] = chosen
        return best

    def tie(self) -> str:
        """A sentence if several nodes have the highest sum, otherwise nothing."""
        sums = [*self.sum.values()]
        best = sums.count(sums[0]) if sums else 0
        return f"{best:,} nodes have the highest sum: the first name decides" if best > 1 else ""

    def alike(self, rows: Sequence[NodeScore]) -> tuple[list[str], dict[str, float]]:
        """The plugins whose scores differ among these nodes; of the others, those that score, with
        the score."""
        differ: list[str] = []
        equal: dict[str, float] = {}
        for plugin in self.plugins:
            values = {row.by_plugin[plugin] for row in rows}
            if len(values) > 1:
                differ.append(plugin)
            elif values and (value := values.pop()):
                equal[plugin] = value
        return differ, equal

    @staticmethod
    def equal_scores(equal: Mapping[str, float]) -> str:
        """A sentence about the plugins that score all shown nodes alike."""
        listed = " and ".join(f"{text.number(score)} from {name}" for name, score in equal.items())
        return f"each node also has {listed}"

    def title(self) -> str:
        """A sentence: where the pod goes, and what the scores are of."""
        nodes = f"{text.number(len(self))} of {text.count(self.searched, 'node')}"
        when = "when it is placed" if self.moment == "placement" else "before the plan"
        where = f"goes to {self.chosen}" if self.chosen else "gets no place in this plan"
        can = "no node that was searched can" if not self else f"{nodes} can"
        return f"{self.pod} {where}; {when}, {can} run it"

    def table(self, *, most: int | None = _MOST_SHOWN, wide: bool = False) -> text.Table:
        """The best nodes and the plugins whose scores differ; all nodes with `most` None, all
        plugins with `wide`.

        Raises InvalidInputError for a number of nodes that is not one.
        """
        rows = [*self.values()]
        shown = self.shown(most)
        differ, equal = ([*self.plugins], {}) if wide else self.alike(rows)
        columns = ("node", *differ, "sum")
        spread = {plugin: _spread(rows, plugin) for plugin in differ}
        return text.Table(
            "Scores",
            columns,
            [
                (
                    f"{row.node} (chosen)" if row.node == self.chosen else row.node,
                    *(text.number(row.by_plugin[plugin]) for plugin in differ),
                    text.number(row.sum),
                )
                for row in shown
            ],
            right=frozenset(range(1, len(columns))),
            note="; ".join(self._notes(len(rows) - len(shown), equal)),
            spare=tuple(columns.index(plugin) for plugin in sorted(differ, key=spread.__getitem__)),
        )

    def _notes(self, hidden: int, equal: Mapping[str, float]) -> Iterator[str]:
        if hidden:
            yield f"and {text.count(hidden, 'more node')}"
        if equal:
            yield self.equal_scores(equal)
        if tie := self.tie():
            yield tie

    def __repr__(self) -> str:
        at = "at its placement" if self.moment == "placement" else "before the plan"
        chosen = f"{self.chosen} is chosen" if self.chosen else "none is chosen"
        return f"<kai.Scores of {text.count(len(self), 'node')} for {self.pod} {at}: {chosen}>"

    def __str__(self) -> str:
        return text.to_text(self.title(), [self.table()])

    def _repr_html_(self) -> str:
        return text.to_html(self.title(), [self.table()])


def scores_of(plan: Answer, name: str, at: Moment | None) -> Scores:
    """Runs the cycle of the plan once more, and records the scores for the pod."""
    if at not in (None, "placement", "start"):
        raise InvalidInputError(f"at: expected 'placement' or 'start', not {at!r}")
    pod, stage, node = _find(plan, name)
    found = plan._compiled.scores(pod)
    if found is None:
        raise NotFoundError(f"there is no pod {name!r} any more")
    plugins, start, placed, chosen = found
    if placed is None:
        _check_that_it_waits(pod, stage, node)
        if at == "placement":
            raise InvalidInputError(
                f"pod {pod} gets no place in this plan, so it has no scores of its placement;"
                " at='start' has those before the plan"
            )
    moment: Moment = "start" if placed is None or at == "start" else "placement"
    searched, rows = placed if placed is not None and moment == "placement" else start
    names = _distinct(plugins)
    return Scores(
        pod,
        moment,
        [_row(names, *row) for row in rows],
        plugins=names,
        searched=searched,
        chosen=chosen,
    )


def _row(
    plugins: Sequence[str], node: str, now: bool, total: float, scores: Sequence[float]
) -> NodeScore:
    by_plugin = {name: plain(score) for name, score in zip(plugins, scores, strict=True)}
    return NodeScore(node, plain(total), now, Frozen(by_plugin))


def _find(plan: Answer, name: str) -> tuple[str, str, str | None]:
    """The pod of that name, or the only pod of that pod group; what it does when the cycle begins,
    and its node."""
    found = plan._compiled.find_pods(name)
    of_group: list[str] = []
    if not found:
        groups = plan.situation.find_groups(name)
        pods = plan.situation.group_of_pod
        of_group = sorted(pod for pod, group in pods.items() if group in groups)
        if len(of_group) == 1:
            found = plan._compiled.find_pods(of_group[0])
    if len(found) == 1:
        return found[0]
    if found:
        listed = text.listing(sorted(pod for pod, _, _ in found), most=5)
        raise NotFoundError(f"{name!r} is the name of {len(found)} pods: {listed}")
    if rejected := rejections(plan, name):
        first = rejected[0]
        raise NotFoundError(LeftOut(rejected).sentence(first.kind, first.name).rstrip("."))
    if of_group:
        raise NotFoundError(
            f"{name!r} is a pod group: name one of its pods, {text.listing(of_group)}"
        )
    if plan.situation.find_groups(name):
        raise NotFoundError(f"{name!r} is a pod group without pods")
    raise NotFoundError(text.not_found("pod", name, plan.situation.group_of_pod))


def _check_that_it_waits(pod: str, stage: str, node: str | None) -> None:
    """Raises InvalidInputError for a pod that no node is searched for."""
    on = f" on {node}" if node else ""
    problems = {
        "running": f"already runs{on}, and the plan does not move it",
        "terminating": f"is being deleted{on}",
        "ended": "has ended",
        "": "belongs to no pod group",
    }
    if stage in problems:
        raise InvalidInputError(
            f"pod {pod} {problems[stage]}: only a pod that needs a node has scores"
        )


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, those that occur before with a number: functions can have the name of a plugin."""
    made: list[str] = []
    for name in names:
        tries = (name if i == 1 else f"{name} {i}" for i in range(1, len(names) + 2))
        made.append(next(each for each in tries if each not in made and each not in _RESERVED))
    return made


def _spread(rows: Sequence[NodeScore], plugin: str) -> float:
    values = [row.by_plugin[plugin] for row in rows]
    return max(values) - min(values) if values else 0
