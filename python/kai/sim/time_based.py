"""KAI's time-based fair-share simulator, in virtual time (spec 1 F126, F128).

    given = read_input(text)
    timeline = run(given)                 # a cycle and a sample of the past each second
    write_csv(rows_of(given, timeline), sys.stdout)

KAI's simulator runs its scheduler in real time against an API server, so the times of its cycles
vary (spec 1 W18), and its rows differ in each run. Here a cycle runs at each second, the
allocations until the next cycle are one sample, and the same input gives the same rows.
`WindowSize` and `HalfLifePeriod` count samples, which are seconds here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from kai.admission.trees import is_own_ancestor
from kai.api import documents
from kai.api.nearest import check_known, did_you_mean
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.sim.simulate import Progress
    from kai.sim.timeline import Timeline
    from kai.sim.workload import Workload

HEADER = "Time,QueueID,Allocation,FairShare"
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """`count` nodes of `gpus` GPUs, 8 cores and 16 GiB each. KAI creates only one, whatever the
    count."""

    gpus: int
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue without CPU and memory, and without a GPU limit."""

    name: str
    parent: str = ""
    priority: int = 100
    deserved_gpus: float = 0.0
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Jobs of a queue: `num_jobs` pod groups of `num_pods` pods with `gpus` each, and minimum 1."""

    gpus: int = 0
    num_pods: int = 0
    num_jobs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """`window_size` and `half_life` are in samples; a half-life of 0 means none."""

    cycles: int = 100
    window_size: int = 5
    half_life: float = 0.0
    k_value: float = 1.0
    nodes: tuple[Nodes, ...] = ()
    queues: tuple[Queue, ...] = ()
    jobs: Mapping[str, Jobs] = field(default_factory=dict)


def read_input(text: str) -> Input:
    """From YAML or JSON. Names may have any case, and null means the default.

    KAI stops if `HalfLifePeriod` is missing; here the default is 0, as KAI documents it. Raises
    InvalidInputError for an invalid value, and for an unknown name.
    """
    members = ("Cycles", "WindowSize", "HalfLifePeriod", "KValue", "Nodes", "Queues", "Jobs")
    value = documents.read_value(text)
    given = _members({} if value is None else value, members, "the input")
    jobs = given.get("Jobs") or {}
    if not isinstance(jobs, Mapping):
        raise InvalidInputError(f"Jobs: is not a mapping of queues: {jobs!r}")
    read = Input(
        cycles=_whole(given, "Cycles", 100, "", least=0),
        window_size=_whole(given, "WindowSize", 5, "", least=1),
        half_life=_number(given, "HalfLifePeriod", 0.0, ""),
        k_value=_number(given, "KValue", 1.0, ""),
        nodes=tuple(_nodes(*each) for each in _listed(given, "Nodes")),
        queues=tuple(_queue(*each) for each in _listed(given, "Queues")),
        jobs={str(queue): _jobs(each, f"Jobs.{queue}") for queue, each in jobs.items()},
    )
    _check_names(read)
    return read


def _nodes(value: Any, where: str) -> Nodes:
    given = _members(value, ("GPUs", "Count"), where)
    return Nodes(
        gpus=_whole(given, "GPUs", 0, where, least=0),
        count=_whole(given, "Count", 1, where, least=0),
    )


def _queue(value: Any, where: str) -> Queue:
    names = ("Name", "Parent", "Priority", "DeservedGPUs", "Weight")
    given = _members(value, names, where)
    name, parent = _text(given, "Name", where), _text(given, "Parent", where)
    if not name:
        raise InvalidInputError(f"{where}: Name: is missing")
    return Queue(
        name=name,
        parent=parent,
        priority=_whole(given, "Priority", 100, where, least=-_LARGEST),
        deserved_gpus=_number(given, "DeservedGPUs", 0.0, where, least=-1.0),
        weight=_number(given, "Weight", 1.0, where),
    )


def _jobs(value: Any, where: str) -> Jobs:
    given = _members({} if value is None else value, ("GPUs", "NumPods", "NumJobs"), where)
    return Jobs(
        gpus=_whole(given, "GPUs", 0, where, least=0),
        num_pods=_whole(given, "NumPods", 0, where, least=0),
        num_jobs=_whole(given, "NumJobs", 0, where, least=0),
    )


def _check_names(read: Input) -> None:
    names = [queue.name for queue in read.queues]
    parents = {queue.name: queue.parent for queue in read.queues}
    for queue in read.queues:
        if names.count(queue.name) > 1:
            raise InvalidInputError(f"Queues: two queues have the name {queue.name!r}")
        if queue.parent:
            check_known([queue.parent], names, f"Queues: {queue.name}: there is no parent")
        if is_own_ancestor(queue.name, parents):
            raise InvalidInputError(f"Queues: {queue.name}: it is its own ancestor")
    above = {queue.parent for queue in read.queues}
    check_known(read.jobs, names, "Jobs: there is no queue")
    for name, jobs in read.jobs.items():
        if name in above and jobs.num_jobs and jobs.num_pods:
            raise InvalidInputError(f"Jobs: {name}: it has child queues, so it cannot run jobs")


# ---- members -------------------------------------------------------------------------------------


def _members(value: Any, known: Sequence[str], where: str) -> dict[str, Any]:
    """By the names in `known`; null members are omitted."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{where}: is not a mapping: {value!r}")
    by_case = {name.lower(): name for name in known}
    given = {}
    for name, each in value.items():
        found = by_case.get(str(name).lower())
        if found is None:
            hint = did_you_mean(str(name), known)
            raise InvalidInputError(f"{where}: there is no member {name!r}{hint}")
        if each is not None:
            given[found] = each
    return given


def _listed(given: Mapping[str, Any], name: str) -> Iterator[tuple[Any, str]]:
    listed = given.get(name, ())
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise InvalidInputError(f"{name}: is not a list: {listed!r}")
    return ((each, f"{name}[{place}]") for place, each in enumerate(listed))


def _at(where: str, name: str) -> str:
    return f"{where}: {name}" if where else name


def _whole(given: Mapping[str, Any], name: str, default: int, where: str, *, least: int) -> int:
    value = given.get(name, default)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not least <= value <= _LARGEST:
        raise InvalidInputError(
            f"{_at(where, name)}: must be a whole number of at least {least}, not {value!r}"
        )
    return int(value)


def _number(
    given: Mapping[str, Any], name: str, default: float, where: str, *, least: float = 0.0
) -> float:
    value = given.get(name, default)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not least <= value <= _LARGEST:
        raise InvalidInputError(
            f"{_at(where, name)}: must be a number of at least {least:g}, not {value!r}"
        )
    return float(value)


def _text(given: Mapping[str, Any], name: str, where: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise InvalidInputError(f"{_at(where, name)}: is not a string: {value!r}")
    return value


# ---- cycles --------------------------------------------------------------------------------------


class Row(NamedTuple):
    time: int
    queue: str
    allocated: float
    fair_share: float


def workload_of(given: Input) -> Workload:
    """Its jobs all arrive at the start, and run during all cycles."""
    from kai.sim import workload as of

    counts: dict[int, int] = {}
    for each in given.nodes:
        counts[each.gpus] = counts.get(each.gpus, 0) + each.count
    jobs = [
        of.Job(
            name=f"{queue}-{number:0{len(str(its.num_jobs))}}",
            queue=queue,
            arrival_s=0,
            duration_s=given.cycles,
            pods=its.num_pods,
            min_pods=1,
            gpus=its.gpus,
            cpu=0,
            memory_mib=0,
        )
        for queue, its in given.jobs.items()
        for number in range(1, its.num_jobs + 1 if its.num_pods else 1)
    ]
    return of.Workload(
        jobs=of.Jobs.of(jobs),
        queues=tuple(
            of.Queue(
                each.name,
                parent=each.parent,
                priority=each.priority,
                deserved_gpus=each.deserved_gpus,
                deserved_cpu=0,
                deserved_memory_mib=0,
                weight=each.weight,
                limit_cpu=0,
                limit_memory_mib=0,
            )
            for each in given.queues
        ),
        nodes=tuple(
            of.NodePool(f"test-node-{gpus}", count, gpus=gpus, cpu=8, memory_mib=16 * 1024)
            for gpus, count in counts.items()
            if count
        ),
        name="time-based fair share",
    )


def run(
    given: Input,
    *,
    as_kai: bool = False,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Timeline:
    """Runs all cycles, one each second. Needs NumPy, and raises InvalidInputError for jobs whose
    pods together would run longer than 146 years."""
    from kai.sim.simulate import simulate

    usage = {"windowSize": f"{given.window_size}s", "fetchInterval": "1s"}
    if given.half_life:
        usage["halfLifePeriod"] = f"{given.half_life:.9f}s"
    return simulate(
        workload_of(given),
        config={"plugins": {"proportion": {"kValue": given.k_value}}},
        as_kai=as_kai,
        until_s=max(given.cycles - 1, 0),
        usage=usage,
        progress=progress,
    )


def rows_of(given: Input, timeline: Timeline) -> Iterator[Row]:
    """The allocations of queues after each cycle, and their fair shares in it.

    By cycle, then by name. There are no rows before the first cycle; without jobs there are none at
    all.
    """
    from kai.sim import series

    columns = {
        queue: [
            _each_second(series.queue_steps(timeline, place, column), given.cycles)
            for column in ("allocated_gpus", "fair_share_gpus")
        ]
        for queue, place in sorted((name, i) for i, name in enumerate(timeline.queue_names))
    }
    for time in range(given.cycles):
        for queue, (held, fair_share) in columns.items():
            if fair_share[time] == fair_share[time]:
                yield Row(time, queue, float(held[time]), float(fair_share[time]))


def answer_of(given: Input, timeline: Timeline) -> dict[str, Any]:
    """For JSON: by queue its allocation, fair share and usage, with a value for each cycle.

    None: not known yet.
    """
    from kai.sim import series

    def each_second(place: int, column: str, table: Any = "queues") -> list[float | None]:
        steps = series.queue_steps(timeline, place, column, table)
        values = _each_second(steps, given.cycles).tolist()
        return [None if value != value else value for value in values]

    return {
        "cycles": given.cycles,
        "gpus": timeline.workload.gpus,
        "queues": {
            queue: {
                "allocated_gpus": each_second(place, "allocated_gpus"),
                "fair_share_gpus": each_second(place, "fair_share_gpus"),
                "usage": each_second(place, "gpu", "usage"),
            }
            for queue, place in sorted((name, i) for i, name in enumerate(timeline.queue_names))
        },
        "engine_ms": round(timeline.engine_ms, 3),
        "wall_s": round(timeline.wall_s, 6),
    }


def _each_second(steps: tuple[Any, Any], seconds: int) -> Any:
    """The value of a step function at each of this many seconds; NaN before its first time."""
    import numpy as np

    at, values = steps
    place = np.searchsorted(at, np.arange(seconds), "right") - 1
    return np.append(values, np.nan)[place]  # index -1 is the last value


def write_csv(rows: Iterable[Row], out: TextIO) -> None:
    """In the format of KAI's simulator: fair shares of one and more are cut to whole numbers.

    >>> import sys
    >>> write_csv([Row(0, "a", 2.0, 1.75), Row(0, "b", 0.5, 0.75)], sys.stdout)
    Time,QueueID,Allocation,FairShare
    0,a,2.000000,1.000000
    0,b,0.500000,0.750000
    """
    out.write(f"{HEADER}\n")
    for row in rows:
        share = float(int(row.fair_share)) if row.fair_share >= 1 else row.fair_share
        out.write(f"{row.time},{row.queue},{row.allocated:f},{share:f}\n")
