"""``sweep(grid, workload)``: every combination of some values, simulated."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kai.api.arguments import in_a_sentence
from kai.api.naming import naming
from kai.api.nearest import check_known, did_you_mean
from kai.engine import config as configuration
from kai.engine.text import Table, count, number, to_html, to_text
from kai.errors import InvalidInputError
from kai.sim.comparing.comparison import (
    Comparison,
    check_level,
    compared,
    seeds_of,
    workload_of,
)
from kai.sim.comparing.measures import MEASURES, UNFINISHED, measure
from kai.sim.comparing.running import (
    ExecutorChoice,
    Outcome,
    Progress,
    Values,
    Work,
    run_all,
)
from kai.sim.comparing.sides import Point, Side
from kai.sim.comparing.worlds import NO_LIFE, Worlds
from kai.sim.simulate import Life
from kai.sim.workload import Workload, changed

if TYPE_CHECKING:
    import pandas

__all__ = ["Sweep", "sweep"]


@dataclass(frozen=True, repr=False)
class Sweep:
    """The result of `kai.sweep`: `values[point][seed]`, a number for each of `metrics`.

    It prints as a table of the points, also in a notebook.

    `outcomes` also have the metrics of each week, and what was left undone.

    >>> import kai
    >>> kai.Sweep.__name__
    'Sweep'
    """

    points: tuple[Mapping[str, Any], ...]
    """The values of each point, by the names of the grid."""
    seeds: tuple[int, ...]
    metrics: tuple[str, ...]
    outcomes: tuple[tuple[Outcome, ...], ...]
    work: Work

    @property
    def values(self) -> tuple[tuple[Values, ...], ...]:
        """The metrics of the whole workload."""
        return tuple(tuple(each.values for each in of_point) for of_point in self.outcomes)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each point and seed: the point's values, the seed, the metrics, and how many
        jobs did not finish (`unfinished`)."""
        return [
            {
                **_plain(point),
                "seed": seed,
                UNFINISHED: outcome.undone_jobs,
                **dict(zip(self.metrics, outcome.values, strict=True)),
            }
            for point, of_point in zip(self.points, self.outcomes, strict=True)
            for seed, outcome in zip(self.seeds, of_point, strict=True)
        ]

    def table(self) -> Table:
        """A row for each point: its values, and the means of a few metrics over the seeds."""
        names = list(dict.fromkeys(name for point in self.points for name in point))
        chosen = self.metrics if len(self.metrics) <= len(_SHOWN) else _SHOWN
        shown = {name: self.metrics.index(name) for name in chosen if name in self.metrics}
        rows = []
        for point, of_point in zip(self.points, self.outcomes, strict=True):
            plain = _plain(point)
            undone = [float(each.undone_jobs) for each in of_point]
            means = [_mean([each.values[place] for each in of_point]) for place in shown.values()]
            rows.append(
                [
                    *(str(plain.get(name, "")) for name in names),
                    *(
                        "" if mean is None else number(mean)
                        for mean in (*means, _mean(undone) if any(undone) else None)
                    ),
                ]
            )
        measures = map(measure, shown)
        titles = [f"{each.title}, {each.unit}" if each.unit else each.title for each in measures]
        hidden = len(self.metrics) - len(shown)
        return Table(
            f"{count(len(self.points), 'point')}, means of {count(len(self.seeds), 'seed')}",
            (*names, *titles, "unfinished"),
            rows,
            right=frozenset(range(len(names), len(names) + len(titles) + 1)),
            note=f"to_pandas() has {count(hidden, 'more metric')}" if hidden else "",
        )

    def __str__(self) -> str:
        return to_text("", [self.table()])

    def __repr__(self) -> str:
        metrics = count(len(self.metrics), "metric")
        points, seeds = count(len(self.points), "point"), count(len(self.seeds), "seed")
        return f"<kai.Sweep: {points}, {seeds}, {metrics}>"

    def _repr_html_(self) -> str:
        return to_html("", [self.table()])

    def to_json(self) -> str:
        """The rows and what a seed varies: the same bytes for every executor."""
        shown = {"varies": self.work.worlds.sentences(), "rows": self.rows()}
        return json.dumps(shown, ensure_ascii=False)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame. Raises ImportError if pandas is not installed."""
        import pandas

        return pandas.DataFrame(self.rows())

    def compare(
        self, base: int, variant: int, *, primary: str | None = None, level: float = 0.95
    ) -> Comparison:
        """Compares two points, by their indices in `points`; nothing is simulated again.

        Raises InvalidInputError for an invalid index, metric or level.
        """
        check_level(level)
        for place in (base, variant):
            if not 0 <= place < len(self.points):
                raise InvalidInputError(f"there is no point {place}: there are {len(self.points)}")
        names = list(self.metrics)
        first = names[0] if primary is None else primary
        check_known([first], names, "the sweep has no metric", lists_all=True)
        names.insert(0, names.pop(names.index(first)))
        order = [self.metrics.index(name) for name in names]

        def ordered(values: Values) -> Values:
            return tuple(values[i] for i in order)

        def outcomes(place: int) -> list[Outcome]:
            return [
                replace(
                    each,
                    values=ordered(each.values),
                    weeks=tuple((week, ordered(values)) for week, values in each.weeks),
                )
                for each in self.outcomes[place]
            ]

        work = replace(self.work, metrics=tuple(names))
        return compared(
            work,
            self.seeds,
            outcomes(base),
            outcomes(variant),
            level=level,
            places=(base, variant),
        )


_SHOWN = ("completion_mean_s", "waiting_mean_s", "utilization", "evictions")
"""The metrics of the table, unless the sweep has fewer."""


def _mean(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None


@in_a_sentence
def sweep(
    grid: Mapping[str, Sequence[Any] | Mapping[str, Any]],
    workload: Workload | str | os.PathLike[str],
    *,
    base: Side | configuration.ConfigSource | None = None,
    seeds: int | Sequence[int] = 1,
    vary: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    executor: ExecutorChoice = None,
    period_s: float = 1.0,
    until_s: float | None = None,
    warm_up_s: float = 0.0,
    life: Life = NO_LIFE,
    weeks: int | None = None,
    estimate_error: float = 0.5,
    progress: Progress | None = None,
) -> Sweep:
    """Simulates every combination of the values of a grid. The last name changes fastest.

    A name of the grid is

    * ``config``: whole configurations, as for `kai.Scheduler`;
    * ``config.PATH``: a member of the configuration, as in ``config.actions`` or
      ``config.plugins.nodeplacement.gpu``;
    * ``queues.NAME.FIELD``: a field of a `kai.sim.workload.Queue`, as in
      ``queues.vision.deserved_gpus``;
    * ``nodes.POOL.FIELD``: a field of a `kai.sim.workload.NodePool`, as in ``nodes.a100.count``.

    Values are a list, or a mapping of names to values: rows and points then show the names. The
    grid changes ``base``. The other arguments are those of `kai.compare`.

    >>> import kai
    >>> from kai.sim.generators import generate
    >>> work = generate(1, days=2, load=0.8, jobs_per_day=20)
    >>> found = kai.sweep({"config.actions": ["allocate", "allocate, reclaim"]}, work)
    >>> [row["config.actions"] for row in found.rows()]
    ['allocate', 'allocate, reclaim']
    >>> named = {"config": {"KAI's": None, "place only": {"actions": "allocate"}}}
    >>> [row["config"] for row in kai.sweep(named, work).rows()]
    ["KAI's", 'place only']

    Raises InvalidInputError for invalid names and numbers, InvalidConfigError for an invalid
    configuration, PolicyError if a policy fails, and KaiError if processes end before their work
    is done.
    """
    known = workload_of(workload)
    start = base if isinstance(base, Side) else Side(config=base)
    combinations = _combinations(grid)
    points = tuple(_point(start, known, *each) for each in combinations)
    names = tuple(MEASURES if metrics is None else dict.fromkeys(metrics))
    for name in names:
        measure(name)
    worlds = Worlds(known, vary, weeks, estimate_error, life)
    chosen = seeds_of(seeds) if worlds.names else seeds_of(seeds)[:1]
    work = Work(points, worlds, names, period_s, until_s, warm_up_s)
    runs = [(place, seed) for place in range(len(points)) for seed in chosen]
    found = run_all(work, runs, executor=executor, progress=progress)
    step = len(chosen)
    by_point = tuple(tuple(found[i : i + step]) for i in range(0, len(found), step))
    return Sweep(tuple(shown for shown, _ in combinations), chosen, names, by_point, work)


def _combinations(
    grid: Mapping[str, Sequence[Any] | Mapping[str, Any]],
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each combination as its shown values and its real values. They differ if a mapping has
    names."""
    pairs: list[list[tuple[Any, Any]]] = []
    for name, choices in grid.items():
        if isinstance(choices, (str, bytes)) or not len(choices):
            raise InvalidInputError(f"grid: {name}: expected a list of values")
        if isinstance(choices, Mapping):
            pairs.append(list(choices.items()))
        else:
            pairs.append([(each, each) for each in choices])
    return [
        (
            {name: shown for name, (shown, _) in zip(grid, each, strict=True)},
            {name: value for name, (_, value) in zip(grid, each, strict=True)},
        )
        for each in itertools.product(*pairs)
    ]


_KINDS = {"queues": "queue", "nodes": "node pool"}


def _point(
    start: Side, workload: Workload, labels: Mapping[str, Any], values: Mapping[str, Any]
) -> Point:
    side = start
    for name, value in values.items():
        kind, _, rest = name.partition(".")
        if kind == "config":
            side = replace(side, config=_with_member(side.config, rest, value))
        elif kind in _KINDS:
            rows: Any = getattr(workload if getattr(side, kind) is None else side, kind)
            row, _, field = rest.rpartition(".")
            with naming(f"grid: {name}"):
                rows = changed(_KINDS[kind], rows, row, {field: value})
            side = replace(side, **{kind: rows})
        else:
            hint = did_you_mean(kind, ("config", "queues", "nodes"))
            raise InvalidInputError(
                f"grid: {name}: expected config, config.PATH, queues.NAME.FIELD or "
                f"nodes.POOL.FIELD{hint}"
            )
    shown = _plain(labels)
    parts = []
    for name, value in values.items():
        is_named = name == "config" and labels[name] is not value
        shown_value = str(shown[name])
        parts.append(shown_value if is_named else f"{name.removeprefix('config.')}={shown_value}")
    text = ", ".join(parts)
    return Point.of(replace(side, name=text or "base"), "base")


def _with_member(
    config: configuration.ConfigSource | None, path: str, value: Any
) -> configuration.ConfigSource:
    """The configuration with another value at a path; the whole one for an empty path."""
    if not path:
        whole: configuration.ConfigSource = value
        return whole
    text = "" if config is None else configuration.config_json(config)
    changed: dict[str, Any] = json.loads(text or "{}")
    *above, last = path.split(".")
    at = changed
    for name in above:
        inner = at.setdefault(name, {})
        if not isinstance(inner, dict):
            inner = at[name] = {}
        at = inner
    at[last] = value
    return changed


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a point, in a form for JSON."""
    shown = {}
    for name, value in values.items():
        if isinstance(value, configuration.Config):
            value = value.to_dict()
        if isinstance(value, os.PathLike):
            value = os.path.basename(value)
        shown[name] = json.dumps(value, default=str) if isinstance(value, Mapping) else value
    return shown
