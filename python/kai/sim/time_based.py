"""Input and output of KAI's time-based fair-share simulator (spec 1 F126, F128).

    given = read_input(text)
    rows = run_cycles(given, step)       # `step` makes one cycle: `StepOf`
    write_csv(rows, sys.stdout)

What happens in a cycle is not here: `step` is a function of the cycle's number and of what queues
have used in the past. KAI runs its scheduler in real time against an API server, so that its cycles
fall where they fall (spec 1 W18); here there is one sample a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TextIO

from kai.api import documents
from kai.api.nearest import did_you_mean
from kai.engine.usage import Rows
from kai.engine.windows import Samples, Window, usage_of
from kai.errors import InvalidInputError

HEADER = "Time,QueueID,Allocation,FairShare"
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """`count` is read and, as in KAI, does not count: there is one node for each entry."""

    gpus: int
    count: int = 1

    @property
    def name(self) -> str:
        return f"test-node-{self.gpus}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """It has no CPU and memory, and no limit of GPUs."""

    name: str
    parent: str = ""
    priority: int = 100
    deserved_gpus: float = 0.0
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Of a queue: `num_jobs` pod groups of `num_pods` pods with `gpus` each, and minimum 1."""

    gpus: int = 0
    num_pods: int = 0
    num_jobs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """`window_size` and `half_life` are in samples; a half-life of 0 is none."""

    cycles: int = 100
    window_size: int = 5
    half_life: float = 0.0
    k_value: float = 1.0
    nodes: tuple[Nodes, ...] = ()
    queues: tuple[Queue, ...] = ()
    jobs: Mapping[str, Jobs] = field(default_factory=dict)


def read_input(text: str) -> Input:
    """From YAML or JSON; the case of names does not count, and null is the default.

    KAI ends where `HalfLifePeriod` is missing; here it is what its documentation says, 0. Raises
    InvalidInputError for what makes no sense, and for a name that is not known.
    """
    members = ("Cycles", "WindowSize", "HalfLifePeriod", "KValue", "Nodes", "Queues", "Jobs")
    value = documents.read_value(text)
    given = _members({} if value is None else value, members, "the input")
    jobs = given.get("Jobs") or {}
    if not isinstance(jobs, Mapping):
        raise InvalidInputError(f"Jobs: is no mapping of queues: {jobs!r}")
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
    for queue in read.queues:
        if names.count(queue.name) > 1:
            raise InvalidInputError(f"Queues: there are two of the name {queue.name!r}")
        if queue.parent and queue.parent not in names:
            hint = did_you_mean(queue.parent, names)
            raise InvalidInputError(
                f"Queues: {queue.name}: there is no parent {queue.parent!r}{hint}"
            )
    for name in read.jobs:
        if name not in names:
            raise InvalidInputError(f"Jobs: there is no queue {name!r}{did_you_mean(name, names)}")


# ---- members -------------------------------------------------------------------------------------


def _members(value: Any, known: Sequence[str], where: str) -> dict[str, Any]:
    """By the names as they are in `known`; those that are null are left out."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{where}: is no mapping: {value!r}")
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
        raise InvalidInputError(f"{name}: is no list: {listed!r}")
    return ((each, f"{name}[{place}]") for place, each in enumerate(listed))


def _at(where: str, name: str) -> str:
    return f"{where}: {name}" if where else name


def _whole(given: Mapping[str, Any], name: str, default: int, where: str, *, least: int) -> int:
    value = given.get(name, default)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not least <= value <= _LARGEST:
        raise InvalidInputError(
            f"{_at(where, name)}: has to be a whole number from {least} on, not {value!r}"
        )
    return int(value)


def _number(
    given: Mapping[str, Any], name: str, default: float, where: str, *, least: float = 0.0
) -> float:
    value = given.get(name, default)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not least <= value <= _LARGEST:
        raise InvalidInputError(
            f"{_at(where, name)}: has to be a number from {least:g} on, not {value!r}"
        )
    return float(value)


def _text(given: Mapping[str, Any], name: str, where: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise InvalidInputError(f"{_at(where, name)}: is no text: {value!r}")
    return value


# ---- cycles --------------------------------------------------------------------------------------


class Shares(NamedTuple):
    """What a cycle leaves: GPUs that each queue holds, and its fair share, by queue."""

    allocated: Mapping[str, float]
    fair_share: Mapping[str, float]


StepOf = Callable[[int, Rows], Shares]
"""One cycle, by its number from 0 on and what queues have used in the past."""


class Row(NamedTuple):
    time: int
    queue: str
    allocated: float
    fair_share: float


def run_cycles(given: Input, step: StepOf) -> Iterator[Row]:
    """All cycles, one after the other; the rows of a cycle are in the order of queues' names.

    After each cycle what queues hold becomes a sample of the past (spec 1 F127).
    """
    window = Window(kind="samples", size=given.window_size, half_life=given.half_life)
    capacity = float(sum(each.gpus for each in given.nodes))
    held: list[Mapping[str, tuple[float, float, float]]] = []
    for cycle in range(given.cycles):
        moments = [float(each) for each in range(len(held))]
        samples = Samples.of_rows(moments, held, [(capacity, 0.0, 0.0)] * len(held))
        now = step(cycle, usage_of(samples, window))
        for queue in sorted(now.fair_share):
            yield Row(cycle, queue, now.allocated.get(queue, 0.0), now.fair_share[queue])
        held.append({queue: (gpus, 0.0, 0.0) for queue, gpus in now.allocated.items()})
        held = held[-given.window_size :]


def write_csv(rows: Iterable[Row], out: TextIO) -> None:
    """As KAI's simulator: fair shares from 1 on are cut to whole numbers.

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
