"""Workloads in YAML: queues, nodes and jobs, written by hand or by `yaml_of`.

    queues: {vision: {deserved: {gpu: 8}}}
    nodes: {a100: {count: 2, gpu: 8, model: A100}}
    jobs:
      train: {queue: vision, arrival: 2h, duration: 90m, pods: 2, gpu: 8}
      sweep: {queue: vision, duration: 10m, gpu: 0.5, repeat: {count: 20, every: 5m}}

`KEYS` has every key that may be written and what it means; docs/reference/workloads.md shows them.
A mistake is one sentence with file and line, and names the nearest known key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from kai.api import places, quantities
from kai.api.documents import UnreadableError, plain_scalar, read_documents
from kai.api.nearest import did_you_mean
from kai.api.rules import shown
from kai.errors import InvalidInputError
from kai.sim.workload import PRIORITY_CLASSES, Job, Jobs, NodePool, Queue, Workload

__all__ = ["KEYS", "duration_text", "of_yaml", "seconds_of", "yaml_of"]

MOST_JOBS = 5_000_000
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

# What may be written: the key, and the sentence that the reference page has.
KEYS: Mapping[str, Mapping[str, str]] = {
    "workload": {
        "name": "text",
        "source": "text: where the workload comes from",
        "start": "date and time of second 0, such as 2026-01-31T08:00:00",
        "priority_classes": "`{name: value}`; default: KAI's four classes",
        "queues": "`{name: queue}`; default: one queue `default` that deserves all GPUs",
        "nodes": "`{name: nodes}`; required, unless they are given elsewhere",
        "jobs": "`{name: job}`; required",
    },
    "queue": {
        "parent": "the name of another queue",
        "priority": "a whole number; default 100",
        "deserved": "`{gpu, cpu, memory}`; default: no GPUs, any CPU and memory",
        "limit": "`{gpu, cpu, memory}`; default: none",
        "weight": "of what is left over; default 1",
        "preempt_min_runtime": "a duration",
        "reclaim_min_runtime": "a duration",
    },
    "nodes": {
        "count": "how many nodes are alike; default 1",
        "gpu": "GPUs of each; default 8",
        "cpu": "cores of each; default 128",
        "memory": "of each, such as 512Gi; default 1Ti",
        "model": "of the GPUs, such as A100",
        "gpu_memory": "of each GPU, such as 80Gi; default: not known",
        "labels": "`{name: text}`",
        "pods": "the most pods of a node; default 110",
    },
    "job": {
        "queue": "a queue without queues below it; may be left out where there is only one",
        "arrival": "a duration from the start of the workload; default 0",
        "duration": "with all pods running, on the reference GPU model; required",
        "pods": "how many equal pods; default 1",
        "min_member": "the fewest pods that run together; default: all, a gang",
        "gpu": "of each pod: a whole number, or a part of one GPU; default 1",
        "cpu": "cores of each pod; default 1",
        "memory": "of each pod; default 1Gi",
        "priority": "a priority class; default `train`",
        "preemptible": "true or false; default: as the priority class says",
        "estimate": "a duration: what the user expects; default: not known",
        "models": "a list of GPU models that it may run on; default: any",
        "speeds": "`{model: factor}`; a model that is left out has 1",
        "checkpoint": "a duration: how often work is saved; 0: always",
        "restart": "a duration: of each start after an eviction",
        "user": "text",
        "application": "text: what it runs",
        "repeat": "`{count, every}`: so many jobs, each that much later than the one before",
    },
    "amounts": {"gpu": "GPUs", "cpu": "cores", "memory": "such as 512Gi"},
    "repeat": {"count": "how many jobs; required", "every": "a duration; required"},
}


def seconds_of(value: object) -> float | None:
    """Seconds of a duration such as 90s, 2h30m or 1.5d, or a plain number; None for others.

    >>> seconds_of("90m"), seconds_of("1d12h"), seconds_of(5), seconds_of("soon")
    (5400.0, 129600.0, 5.0, None)
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) and value >= 0 else None
    if not isinstance(value, str) or not re.fullmatch(f"(?:{_PART.pattern})+", value):
        return None
    return sum(float(number) * _UNIT_S[unit] for number, unit in _PART.findall(value))


def duration_text(seconds: float) -> str | float:
    """The shortest way to write a duration exactly, which `seconds_of` reads.

    >>> duration_text(5400), duration_text(86400), duration_text(0.25)
    ('90m', '1d', 0.25)
    """
    for unit in ("d", "h", "m", "s"):
        number = seconds / _UNIT_S[unit]
        if seconds and number % 1 == 0:
            return f"{int(number)}{unit}"
    return int(seconds) if seconds % 1 == 0 else seconds


def of_yaml(
    file: str,
    text: str,
    *,
    nodes: tuple[NodePool, ...] | None = None,
    queues: tuple[Queue, ...] | None = None,
) -> Workload:
    """The workload of a text; ``nodes`` and ``queues`` replace those that it has.

    Raises InvalidInputError for a mistake, with file, line and key.
    """
    page = _Page(file, text)
    top = page.mapping((), "workload")
    if "jobs" not in top:
        raise page.error((), "has no jobs")
    if nodes is None:
        nodes = _nodes(page, top)
    if not nodes:
        raise page.error((), "has no nodes")
    if queues is None:
        queues = _queues(page, top)
    if not queues:
        gpus = float(sum(pool.count * pool.gpus for pool in nodes))
        queues = (Queue("default", deserved_gpus=gpus),)
    classes = {
        name: int(page.number(("priority_classes", name), whole=True))
        for name in page.mapping(("priority_classes",))
    } or dict(PRIORITY_CLASSES)
    rows = list(_jobs(page, queues, classes))
    rows.sort(key=lambda job: job.arrival_s)
    try:
        jobs = Jobs.of(rows)
    except InvalidInputError as error:
        raise InvalidInputError(f"{file}: {error}") from None
    return Workload(
        jobs=jobs,
        queues=queues,
        nodes=nodes,
        name=page.text(("name",)),
        source=page.text(("source",)),
        start=page.date(("start",)),
        priority_classes=classes,
    )


def cluster_of_yaml(
    file: str, text: str
) -> tuple[tuple[NodePool, ...] | None, tuple[Queue, ...] | None]:
    """The nodes and the queues of a text; None where it has none.

    Raises InvalidInputError for a mistake, with file, line and key.
    """
    page = _Page(file, text)
    top = page.mapping((), "workload")
    return _nodes(page, top) or None, _queues(page, top) or None


def yaml_of(workload: Workload) -> str:
    """A workload as text, which `of_yaml` reads to an equal one.

    Columns that have their default in a job are left out of it.
    """
    head = {"name": workload.name, "source": workload.source, "start": workload.start}
    text = "".join(f"{key}: {_flow(value)}\n" for key, value in head.items() if value)
    if dict(workload.priority_classes) != dict(PRIORITY_CLASSES):
        text += f"priority_classes: {_flow(dict(workload.priority_classes))}\n"
    jobs = (workload.jobs.job(row) for row in range(len(workload.jobs)))
    for key, members in (
        ("queues", ((each.name, _queue_text(each)) for each in workload.queues)),
        ("nodes", ((each.name, _changed(each, _NODES)) for each in workload.nodes)),
        ("jobs", ((each.name, _job_text(each)) for each in jobs)),
    ):
        lines = "".join(f"  {_flow(name)}: {_flow(value)}\n" for name, value in members)
        text += f"{key}:\n{lines}" if lines else f"{key}: {{}}\n"
    return text


_Path = tuple[str | int, ...]


class _Page:
    """A text, its values by path, and sentences about them."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self._text = file, text
        self._nodes: list[Any] | None = None
        try:
            documents = list(read_documents(text))
        except UnreadableError as error:
            line = f":{error.line}" if error.line else ""
            raise InvalidInputError(f"{file}{line}: {error}") from None
        except InvalidInputError as error:
            raise InvalidInputError(f"{file}: {error}") from None
        if len(documents) != 1:
            raise InvalidInputError(f"{file}: holds {len(documents)} documents instead of one")
        if documents[0].problem:
            line = f":{documents[0].problem_line}" if documents[0].problem_line else ""
            raise InvalidInputError(f"{file}{line}: {documents[0].problem}")
        self.root = documents[0].value

    def error(self, path: _Path, said: str) -> InvalidInputError:
        """A sentence with the line and the keys that lead to a value."""
        if self._nodes is None:
            self._nodes = places.nodes_of(self._text)
        line = places.line_of(self._nodes, 0, path)
        place = f"{self.file}:{line}" if line else self.file
        keys = ".".join(map(str, path))
        return InvalidInputError(f"{place}: {keys + ': ' if keys else ''}{said}")

    def value(self, path: _Path) -> Any:
        """What stands there; None where nothing does."""
        value = self.root
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def mapping(self, path: _Path, kind: str = "") -> Mapping[str, Any]:
        """A mapping, whose keys have to be those of a kind; empty where there is none."""
        value = self.value(path)
        if value is None and path:
            return {}
        if not isinstance(value, dict):
            raise self.error(path, f"is {shown(value)} instead of a mapping")
        for key in value:
            if not isinstance(key, str):
                raise self.error(path, f"has the key {shown(key)}, which is no text")
            if kind and key not in KEYS[kind]:
                near = did_you_mean(key, KEYS[kind])
                what = "a workload" if kind == "workload" else f"`{path[-1]}`"
                raise self.error((*path, key), f"{what} has no key {key!r}{near}")
        return value

    def text(self, path: _Path) -> str:
        value = self.value(path)
        if value is None:
            return ""
        if isinstance(value, (dict, list)):
            raise self.error(path, f"is {shown(value)} instead of a text")
        return str(value)

    def date(self, path: _Path) -> str:
        text = self.text(path)
        try:
            return datetime.fromisoformat(text).strftime("%Y-%m-%dT%H:%M:%S") if text else ""
        except ValueError:
            raise self.error(
                path, f"is {text!r} instead of a date and time such as 2026-01-31T08:00:00"
            ) from None

    def number(
        self, path: _Path, default: float = 0.0, *, least: float = -math.inf, whole: bool = False
    ) -> float:
        value = self.value(path)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(path, f"is {shown(value)} instead of a number")
        if not abs(value) < 2**53 or (whole and value % 1):
            raise self.error(path, f"is {value} instead of a whole number")
        if value < least:
            raise self.error(path, f"is {value}, which is less than {least:g}")
        return float(value)

    def truth(self, path: _Path) -> bool | None:
        value = self.value(path)
        if value is not None and not isinstance(value, bool):
            raise self.error(path, f"is {shown(value)} instead of true or false")
        return value

    def seconds(self, path: _Path) -> float | None:
        value = self.value(path)
        if value is None:
            return None
        seconds = seconds_of(value)
        if seconds is None:
            raise self.error(path, f"is {shown(value)} instead of a duration such as 90m or 2h")
        return seconds

    def amount(self, path: _Path, default: float) -> float:
        """A Kubernetes quantity, such as 500m or 16Gi."""
        value = self.value(path)
        if value is None:
            return default
        try:
            amount = float(quantities.parse(value)) if isinstance(value, (int, float, str)) else -1
        except ValueError:
            amount = -1
        if not 0 <= amount <= quantities.LARGEST or isinstance(value, bool):
            raise self.error(path, f"is {shown(value)} instead of an amount such as 2 or 16Gi")
        return amount

    def mib(self, path: _Path, default: int) -> int:
        amount = self.amount(path, default * 2**20)
        return math.ceil(amount / 2**20)

    def texts(self, path: _Path) -> tuple[str, ...]:
        value = self.value(path)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.error(path, f"is {shown(value)} instead of a list of texts")
        return tuple(value)


def _queues(page: _Page, top: Mapping[str, Any]) -> tuple[Queue, ...]:
    queues = []
    for name in page.mapping(("queues",)):
        path = ("queues", name)
        page.mapping(path, "queue")
        for amounts in ("deserved", "limit"):
            page.mapping((*path, amounts), "amounts")
        deserved, limit = (
            {
                "gpus": page.amount((*path, which, "gpu"), gpus),
                "cpu": page.amount((*path, which, "cpu"), -1.0),
                "memory_mib": float(page.mib((*path, which, "memory"), -1)),
            }
            for which, gpus in (("deserved", 0.0), ("limit", -1.0))
        )
        queues.append(
            Queue(
                name,
                parent=page.text((*path, "parent")),
                priority=int(page.number((*path, "priority"), 100, whole=True)),
                **{f"deserved_{unit}": amount for unit, amount in deserved.items()},
                **{f"limit_{unit}": amount for unit, amount in limit.items()},
                weight=page.number((*path, "weight"), 1.0, least=0),
                preempt_min_runtime_s=page.seconds((*path, "preempt_min_runtime")),
                reclaim_min_runtime_s=page.seconds((*path, "reclaim_min_runtime")),
            )
        )
    _check_parents(page, queues)
    return tuple(queues)


def _check_parents(page: _Page, queues: list[Queue]) -> None:
    parents = {each.name: each.parent for each in queues}
    for each in queues:
        if each.parent and each.parent not in parents:
            near = did_you_mean(each.parent, parents)
            said = f"there is no queue {each.parent!r}{near}"
            raise page.error(("queues", each.name, "parent"), said)
        above, steps = each.parent, 0
        while above and steps <= len(queues):
            above, steps = parents[above], steps + 1
        if above:
            raise page.error(("queues", each.name, "parent"), "the queue stands below itself")


def _nodes(page: _Page, top: Mapping[str, Any]) -> tuple[NodePool, ...]:
    pools = []
    for name in page.mapping(("nodes",)):
        path = ("nodes", name)
        page.mapping(path, "nodes")
        labels = page.mapping((*path, "labels"))
        pools.append(
            NodePool(
                name,
                count=int(page.number((*path, "count"), 1, least=1, whole=True)),
                gpus=int(page.number((*path, "gpu"), 8, least=0, whole=True)),
                cpu=page.amount((*path, "cpu"), 128.0),
                memory_mib=page.mib((*path, "memory"), 1024 * 1024),
                model=page.text((*path, "model")),
                gpu_memory_mib=page.mib((*path, "gpu_memory"), 0),
                labels=tuple((key, page.text((*path, "labels", key))) for key in labels),
                pods=int(page.number((*path, "pods"), 110, least=1, whole=True)),
            )
        )
    return tuple(pools)


def _jobs(page: _Page, queues: tuple[Queue, ...], classes: Mapping[str, int]) -> Iterator[Job]:
    parents = {each.parent for each in queues}
    leaves = [each.name for each in queues if each.name not in parents]
    made = 0
    for name in page.mapping(("jobs",)):
        path = ("jobs", name)
        job = _job(page, path, leaves, classes)
        if page.value((*path, "repeat")) is None:
            yield job
            continue
        page.mapping((*path, "repeat"), "repeat")
        every_s = page.seconds((*path, "repeat", "every"))
        count = int(page.number((*path, "repeat", "count"), 0, least=0, whole=True))
        if every_s is None or not count:
            raise page.error(
                (*path, "repeat"), "needs a count and every, such as {count: 3, every: 1h}"
            )
        made += count
        if made > MOST_JOBS:
            raise page.error((*path, "repeat"), f"makes more than {MOST_JOBS:,} jobs")
        digits = len(str(count))
        for i in range(count):
            at_s = job.arrival_s + i * every_s
            yield replace(job, name=f"{name}-{i + 1:0{digits}}", arrival_s=at_s)


def _job(page: _Page, path: _Path, leaves: list[str], classes: Mapping[str, int]) -> Job:
    page.mapping(path, "job")
    queue = page.text((*path, "queue")) or (leaves[0] if len(leaves) == 1 else "")
    if queue not in leaves:
        near = did_you_mean(queue, leaves)
        said = f"there is no queue {queue!r} to run jobs{near}" if queue else "is in no queue"
        raise page.error((*path, "queue") if queue else path, said)
    priority = page.text((*path, "priority")) or "train"
    if priority not in classes:
        near = did_you_mean(priority, classes)
        raise page.error((*path, "priority"), f"there is no priority class {priority!r}{near}")
    duration_s = page.seconds((*path, "duration"))
    if duration_s is None:
        raise page.error(path, "has no duration")
    pods = int(page.number((*path, "pods"), 1, least=1, whole=True))
    least = int(page.number((*path, "min_member"), pods, least=1, whole=True))
    if least > pods:
        raise page.error((*path, "min_member"), f"is {least}, and there are only {pods} pods")
    gpus = page.number((*path, "gpu"), 1.0, least=0)
    if gpus > 1 and gpus % 1:
        raise page.error((*path, "gpu"), f"is {gpus:g}: a whole number, or a part of one GPU")
    speeds = page.mapping((*path, "speeds"))
    return Job(
        str(path[-1]),
        queue=queue,
        arrival_s=page.seconds((*path, "arrival")) or 0.0,
        duration_s=duration_s,
        pods=pods,
        gpus=gpus,
        min_pods=least,
        cpu=page.amount((*path, "cpu"), 1.0),
        memory_mib=page.mib((*path, "memory"), 1024),
        priority_class=priority,
        preemptible=page.truth((*path, "preemptible")),
        estimate_s=page.seconds((*path, "estimate")),
        models=page.texts((*path, "models")),
        speeds=tuple((key, page.number((*path, "speeds", key), least=0)) for key in speeds),
        checkpoint_s=page.seconds((*path, "checkpoint")),
        restart_s=page.seconds((*path, "restart")),
        user=page.text((*path, "user")),
        application=page.text((*path, "application")),
    )


# ---- writing -------------------------------------------------------------------------------------


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and plain_scalar(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _changed(value: Any, texts: _Texts) -> dict[str, Any]:
    """The members of a value that differ from their default, as they are written."""
    found = {}
    for each in fields(value):
        if each.name in texts and (member := getattr(value, each.name)) != each.default:
            key, text = texts[each.name]
            found[key] = text(member)
    return found


def _number(value: float) -> float:
    return int(value) if value % 1 == 0 else value


def _memory(mib: float) -> str:
    return f"{_number(mib)}Mi"


def _same(value: Any) -> Any:
    return value


_Texts = Mapping[str, tuple[str, Callable[[Any], Any]]]  # by member: the key, and its value
_AMOUNTS: _Texts = {
    "gpus": ("gpu", _number),
    "cpu": ("cpu", _number),
    "memory_mib": ("memory", _memory),
}
_QUEUE: _Texts = {
    "parent": ("parent", _same),
    "priority": ("priority", _same),
    "weight": ("weight", _number),
    "preempt_min_runtime_s": ("preempt_min_runtime", duration_text),
    "reclaim_min_runtime_s": ("reclaim_min_runtime", duration_text),
}
_NODES: _Texts = {
    **_AMOUNTS,
    "count": ("count", _same),
    "model": ("model", _same),
    "gpu_memory_mib": ("gpu_memory", _memory),
    "labels": ("labels", dict),
    "pods": ("pods", _same),
}
_JOB: _Texts = {
    **_AMOUNTS,
    "queue": ("queue", _same),
    "arrival_s": ("arrival", duration_text),
    "duration_s": ("duration", duration_text),
    "pods": ("pods", _same),
    "min_pods": ("min_member", _same),
    "priority_class": ("priority", _same),
    "preemptible": ("preemptible", _same),
    "estimate_s": ("estimate", duration_text),
    "models": ("models", list),
    "speeds": ("speeds", dict),
    "checkpoint_s": ("checkpoint", duration_text),
    "restart_s": ("restart", duration_text),
    "user": ("user", _same),
    "application": ("application", _same),
}


def _queue_text(queue: Queue) -> dict[str, Any]:
    found = _changed(queue, _QUEUE)
    for which in ("deserved", "limit"):
        names = {f"{which}_{name}": text for name, text in _AMOUNTS.items()}
        if amounts := _changed(queue, names):
            found[which] = amounts
    return found


def _job_text(job: Job) -> dict[str, Any]:
    if job.min_pods == job.pods:
        job = replace(job, min_pods=None)
    return _changed(job, _JOB)
