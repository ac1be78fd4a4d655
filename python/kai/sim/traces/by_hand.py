"""Workloads in YAML: queues, nodes and jobs, written by hand or by `yaml_of`.

    queues: {vision: {deserved: {gpu: 8}}}
    nodes: {a100: {count: 2, gpu: 8, model: A100}}
    jobs:
      train: {queue: vision, arrival: 2h, duration: 90m, pods: 2, gpu: 8}
      sweep: {queue: vision, duration: 10m, gpu: 0.5, repeat: {count: 20, every: 5m}}

The keys are those of `kai.sim.traces.page`; docs/reference/workloads.md describes them. An error is
one sentence with file and line, and names the nearest known key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from kai.admission.trees import is_own_ancestor
from kai.api.documents import plain_scalar
from kai.api.durations import duration_text
from kai.api.mig import part_of_slice
from kai.api.naming import naming
from kai.api.nearest import did_you_mean
from kai.errors import InvalidInputError
from kai.sim.past_usage import params_of
from kai.sim.traces.page import Page, Path
from kai.sim.workload import (
    PRIORITY_CLASSES,
    Autoscale,
    Job,
    Jobs,
    Maintenance,
    NodePool,
    Queue,
    Resize,
    Workload,
)

__all__ = ["cluster_of_yaml", "of_page", "of_yaml", "yaml_of"]

MOST_JOBS = 5_000_000
_MAINTENANCE = ("maintenance",)
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*")


def of_yaml(
    file: str,
    text: str,
    *,
    nodes: tuple[NodePool, ...] | None = None,
    queues: tuple[Queue, ...] | None = None,
    other_queues: tuple[Queue, ...] = (),
) -> Workload:
    """The workload of a text; ``nodes`` and ``queues`` replace those in the text.

    ``other_queues``: used if the text has no queues; default: one queue that deserves all GPUs.
    Raises InvalidInputError for an error in the text, with file, line and key.
    """
    page = Page(file, text)
    return of_page(page, nodes=nodes, queues=queues, other_queues=other_queues)


def of_page(
    page: Page,
    *,
    nodes: tuple[NodePool, ...] | None = None,
    queues: tuple[Queue, ...] | None = None,
    other_queues: tuple[Queue, ...] = (),
) -> Workload:
    """The same of a text that is parsed already. Raises InvalidInputError as `of_yaml` does."""
    top = page.mapping((), "workload", "jobs")
    if nodes is None:
        nodes = _nodes(page, top)
    if not nodes:
        problem = "has no nodes; write `nodes`, or name a file with nodes (--cluster, or nodes=)"
        raise page.error((), problem)
    if queues is None:
        queues = _queues(page, top) or other_queues
    if not queues:
        gpus = float(sum(pool.most * pool.gpus for pool in nodes))
        queues = (Queue("default", deserved_gpus=gpus),)
    classes = {
        name: page.whole(("priority_classes", name)) for name in page.mapping(("priority_classes",))
    } or dict(PRIORITY_CLASSES)
    rows = list(_jobs(page, queues, classes))
    rows.sort(key=lambda job: job.arrival_s)
    with naming(page.file):
        jobs = Jobs.of(rows)
    return Workload(
        jobs=jobs,
        queues=queues,
        nodes=nodes,
        name=page.text(("name",)),
        source=page.text(("source",)),
        start=page.date(("start",)),
        priority_classes=classes,
        maintenance=tuple(_maintenance(page, name, nodes) for name in page.mapping(_MAINTENANCE)),
        usage_params=_usage_params(page, top),
    )


def cluster_of_yaml(
    file: str, text: str
) -> tuple[tuple[NodePool, ...] | None, tuple[Queue, ...] | None]:
    """The nodes and the queues of a text; None if it has none.

    Raises InvalidInputError for an error in the text, with file, line and key.
    """
    page = Page(file, text)
    top = page.mapping((), "workload")
    return _nodes(page, top) or None, _queues(page, top) or None


def yaml_of(workload: Workload) -> str:
    """A workload as text; `of_yaml` reads it to an equal workload.

    Columns at their default are omitted from a job.
    """
    head = {"name": workload.name, "source": workload.source, "start": workload.start}
    text = "".join(f"{key}: {_flow(value)}\n" for key, value in head.items() if value)
    if dict(workload.priority_classes) != dict(PRIORITY_CLASSES):
        text += f"priority_classes: {_flow(dict(workload.priority_classes))}\n"
    if workload.usage_params is not None:
        text += f"usageParams: {_flow(dict(workload.usage_params))}\n"
    jobs = (workload.jobs.job(row) for row in range(len(workload.jobs)))
    for key, members in (
        ("queues", ((each.name, _queue_text(each)) for each in workload.queues)),
        ("nodes", ((each.name, _nodes_text(each)) for each in workload.nodes)),
        ("maintenance", ((each.name, _maintenance_text(each)) for each in workload.maintenance)),
        ("jobs", ((each.name, _job_text(each)) for each in jobs)),
    ):
        lines = "".join(f"  {_flow(name)}: {_flow(value)}\n" for name, value in members)
        if lines or key != "maintenance":
            text += f"{key}:\n{lines}" if lines else f"{key}: {{}}\n"
    return text


def _queues(page: Page, top: Mapping[str, Any]) -> tuple[Queue, ...]:
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
                priority=page.whole((*path, "priority"), 100),
                **{f"deserved_{unit}": amount for unit, amount in deserved.items()},
                **{f"limit_{unit}": amount for unit, amount in limit.items()},
                weight=page.number((*path, "weight"), 1.0, least=0),
                preempt_min_runtime_s=page.seconds((*path, "preempt_min_runtime")),
                reclaim_min_runtime_s=page.seconds((*path, "reclaim_min_runtime")),
            )
        )
    _check_parents(page, queues)
    return tuple(queues)


def _usage_params(page: Page, top: Mapping[str, Any]) -> dict[str, str] | None:
    if "usageParams" not in top:
        return None
    path = ("usageParams",)
    given = {name: page.text((*path, name)) for name in page.mapping(path, "usageParams")}
    try:
        params_of(given, "usageParams")
    except InvalidInputError as error:
        raise page.error((), str(error)) from None
    return given


def _check_parents(page: Page, queues: list[Queue]) -> None:
    parents = {each.name: each.parent for each in queues}
    for each in queues:
        if each.parent and each.parent not in parents:
            problem = f"there is no queue {each.parent!r}{did_you_mean(each.parent, parents)}"
            raise page.error(("queues", each.name, "parent"), problem)
        if is_own_ancestor(each.name, parents):
            raise page.error(("queues", each.name, "parent"), "the queue is its own ancestor")


def _nodes(page: Page, top: Mapping[str, Any]) -> tuple[NodePool, ...]:
    pools = []
    for name in page.mapping(("nodes",)):
        path = ("nodes", name)
        page.mapping(path, "nodes")
        autoscale = _autoscale(page, (*path, "autoscale"))
        first = 1 if autoscale is None else autoscale.least
        count = page.whole((*path, "count"), first, least=min(first, 1))
        if autoscale is not None and not autoscale.least <= count <= autoscale.most:
            problem = f"is {count}, but autoscale has {autoscale.least} to {autoscale.most} nodes"
            raise page.error((*path, "count"), problem)
        pools.append(
            NodePool(
                name,
                count=count,
                gpus=page.whole((*path, "gpu"), 8, least=0),
                cpu=page.amount((*path, "cpu"), 128.0),
                memory_mib=page.mib((*path, "memory"), 1024 * 1024),
                model=page.text((*path, "model")),
                gpu_memory_mib=page.mib((*path, "gpu_memory"), 0),
                labels=_labels(page, path),
                pods=page.whole((*path, "pods"), 110, least=1),
                autoscale=autoscale,
                price=page.number((*path, "price"), least=0),
            )
        )
    return tuple(pools)


def _labels(page: Page, path: Path) -> tuple[tuple[str, str], ...]:
    labels = page.mapping((*path, "labels"))
    return tuple((key, page.text((*path, "labels", key))) for key in labels)


def _autoscale(page: Page, path: Path) -> Autoscale | None:
    if page.value(path) is None:
        return None
    page.mapping(path, "autoscale", "max")
    most = page.whole((*path, "max"), least=1)
    least = page.whole((*path, "min"), 0, least=0)
    if least > most:
        raise page.error((*path, "min"), f"is {least}, but max is {most}")
    ready_s, idle_s = (page.seconds((*path, key)) for key in ("ready", "idle"))
    return Autoscale(
        most,
        least,
        ready_s=Autoscale.ready_s if ready_s is None else ready_s,
        idle_s=Autoscale.idle_s if idle_s is None else idle_s,
    )


def _maintenance(page: Page, name: str, nodes: tuple[NodePool, ...]) -> Maintenance:
    path = (*_MAINTENANCE, name)
    page.mapping(path, "maintenance", "at", "duration")
    for key in ("duration", "every"):
        if page.seconds((*path, key)) == 0:
            raise page.error((*path, key), "is 0")
    known = {each: pool for pool in nodes for each in (pool.name, *pool.names())}
    for each in page.texts((*path, "nodes")):
        if each not in known:
            problem = f"there is no node {each!r}{did_you_mean(each, known)}"
            raise page.error((*path, "nodes"), problem)
    count = page.value((*path, "count"))
    return Maintenance(
        name,
        at_s=page.seconds((*path, "at")) or 0.0,
        duration_s=page.seconds((*path, "duration")) or 0.0,
        nodes=page.texts((*path, "nodes")),
        labels=_labels(page, path),
        count=count and page.whole((*path, "count"), least=1),
        drain=bool(page.truth((*path, "drain"))),
        every_s=page.seconds((*path, "every")),
    )


def _jobs(page: Page, queues: tuple[Queue, ...], classes: Mapping[str, int]) -> Iterator[Job]:
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
        count = page.whole((*path, "repeat", "count"), 0, least=0)
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


def _job(page: Page, path: Path, leaves: list[str], classes: Mapping[str, int]) -> Job:
    page.mapping(path, "job")
    queue = page.text((*path, "queue")) or (leaves[0] if len(leaves) == 1 else "")
    if queue not in leaves:
        near = did_you_mean(queue, leaves)
        problem = f"there is no queue {queue!r} to run jobs{near}" if queue else "has no queue"
        raise page.error((*path, "queue") if queue else path, problem)
    priority = page.text((*path, "priority")) or "train"
    if priority not in classes:
        near = did_you_mean(priority, classes)
        raise page.error((*path, "priority"), f"there is no priority class {priority!r}{near}")
    duration_s = page.seconds((*path, "duration"))
    if duration_s is None:
        raise page.error(path, "has no duration")
    pods, least = _members(page, path)
    gpus = _gpus(page, path)
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
        checkpoint_s=page.seconds((*path, "checkpoint"), never=True),
        restart_s=page.seconds((*path, "restart")),
        user=page.text((*path, "user")),
        application=page.text((*path, "application")),
        resizes=_resizes(page, (*path, "resizes")),
    )


def _gpus(page: Page, path: Path) -> float:
    """Of each pod; a MIG slice is its part of a GPU."""
    if profile := page.text((*path, "mig")):
        if page.value((*path, "gpu")) is not None:
            raise page.error((*path, "mig"), "is beside gpu: a pod has one of them")
        part = part_of_slice(profile)
        if part is None:
            raise page.error((*path, "mig"), f"is {profile!r}, not a profile such as 3g.20gb")
        return float(part)
    gpus = page.number((*path, "gpu"), 1.0, least=0)
    if gpus > 1 and gpus % 1:
        raise page.error((*path, "gpu"), f"is {gpus:g}: write a whole number or a part of one GPU")
    return gpus


def _members(page: Page, path: Path) -> tuple[int, int]:
    """The pods, and how many of them run together at least."""
    pods = page.whole((*path, "pods"), 1, least=1)
    least = page.whole((*path, "min_member"), pods, least=1)
    if least > pods:
        raise page.error((*path, "min_member"), f"is {least}, but there are only {pods} pods")
    return pods, least


def _resizes(page: Page, path: Path) -> tuple[Resize, ...]:
    resizes: list[Resize] = []
    for place in range(page.length(path)):
        here = (*path, place)
        page.mapping(here, "resize", "after", "pods")
        resizes.append(Resize(page.seconds((*here, "after")) or 0.0, *_members(page, here)))
        if place and resizes[-1].after_s <= resizes[-2].after_s:
            raise page.error((*here, "after"), "is not later than the one before")
    return tuple(resizes)


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
    """The members of a value that differ from their default, in their written form."""
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


def _resizes_text(resizes: tuple[Resize, ...]) -> list[dict[str, Any]]:
    return [
        {"after": duration_text(each.after_s), "pods": each.pods, "min_member": each.min_pods}
        for each in resizes
    ]


def _autoscale_text(autoscale: Autoscale) -> dict[str, Any]:
    return {
        "max": autoscale.most,
        "min": autoscale.least,
        "ready": duration_text(autoscale.ready_s),
        "idle": duration_text(autoscale.idle_s),
    }


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
    "price": ("price", _number),
    "autoscale": ("autoscale", _autoscale_text),
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
    "resizes": ("resizes", _resizes_text),
}
_WINDOW: _Texts = {
    "nodes": ("nodes", list),
    "labels": ("labels", dict),
    "count": ("count", _same),
    "drain": ("drain", _same),
    "every_s": ("every", duration_text),
}


def _queue_text(queue: Queue) -> dict[str, Any]:
    found = _changed(queue, _QUEUE)
    for which in ("deserved", "limit"):
        names = {f"{which}_{name}": text for name, text in _AMOUNTS.items()}
        if amounts := _changed(queue, names):
            found[which] = amounts
    return found


def _nodes_text(pool: NodePool) -> dict[str, Any]:
    found = _changed(pool, _NODES)
    return found if pool.autoscale is None else {**found, "count": pool.count}


def _maintenance_text(window: Maintenance) -> dict[str, Any]:
    times = {"at": duration_text(window.at_s), "duration": duration_text(window.duration_s)}
    return times | _changed(window, _WINDOW)


def _job_text(job: Job) -> dict[str, Any]:
    if job.min_pods == job.pods:
        job = replace(job, min_pods=None)
    return _changed(job, _JOB)
