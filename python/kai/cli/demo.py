"""``kai demo``: a small cluster in virtual time, cycle by cycle."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kai.cli.failures import DONE

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster

START = "2026-01-01T00:00:00Z"
WAITING = "vision/big"
"""The gang that does not fit; the demo explains it at the end."""


@click.command("demo")
@click.option("--save", metavar="FILE", help="Save the last cycle's cluster (.zip or .json).")
def command(save: str | None) -> int:
    """Plan a small built-in cluster, one cycle per second of virtual time.

    Two teams have a quota of four GPUs each. While one team has no pods, the
    other borrows all GPUs. When the first team submits pods, it reclaims its
    quota. A gang that needs more waits. The command reads no file and no cluster,
    and its output is always the same.
    """
    from kai.api import times
    from kai.api.naming import naming
    from kai.cli.show import Page
    from kai.engine import report
    from kai.engine.cluster import Cluster
    from kai.engine.queues import queue_tables
    from kai.engine.scheduler import Scheduler
    from kai.engine.values import Evict
    from kai.sim.world import step

    page, scheduler = Page(), Scheduler()
    page.heading("A cluster with two nodes of four GPUs each, one node without GPUs, and two teams")
    cluster = _cluster()
    plan = None
    for cycle, (title, happens) in enumerate(_STEPS):
        now = times.to_text(times.to_ns(START) + cycle * times.SECOND_NS)
        if plan is not None:
            cluster = Cluster.from_snapshot(step(cluster.to_snapshot(), plan, now=now))
        cluster = happens(cluster, now)
        plan = scheduler.plan(cluster, now=now)
        page.heading(f"{now[11:19]}  {title}")
        queues = queue_tables(plan.queues, plan.situation.queue_parents, busy_only=True)
        shows_queues = cycle in (1, len(_STEPS) - 1)  # while one team borrows, and at the end
        page.tables([report.decisions(plan), report.waiting(plan), *queues[:shows_queues]])
        messages = [each.message for each in plan.decisions if isinstance(each, Evict)]
        if messages:
            page.paragraph(f"The eviction message of the first pod:\n  {_in_lines(messages[0])}")
    assert plan is not None
    page.heading(f"Why does {WAITING} wait?")
    page.paragraph(plan.why(WAITING))
    if save is not None:
        with naming(f"--save: {save}"):
            cluster.at(plan.now).save(save)
    page.heading("Try next")
    page.verbatim(f"  {line}" for line in _try_next(save))
    return DONE


def _cluster() -> Cluster:
    from kai.engine.cluster import Cluster

    return (
        Cluster()
        .default_queues()
        .queue("research", deserved_gpus=8)
        .queue("vision", parent="research", deserved_gpus=4)
        .queue("speech", parent="research", deserved_gpus=4)
        .node("gpu-1", gpus=4, cpus=32)
        .node("gpu-2", gpus=4, cpus=32)
        .node("cpu-1", cpus=16)
    )


def _alone(cluster: Cluster, now: str) -> Cluster:
    return cluster.pending("speech/sweep", pods=8, gpus=1, created=now).pending(
        "default/report", queue="default-queue", cpus=8, memory="16Gi", created=now
    )


def _back(cluster: Cluster, now: str) -> Cluster:
    return cluster.pending("vision/train", pods=4, gpus=1, min_member=4, created=now)


def _gone(cluster: Cluster, now: str) -> Cluster:
    return cluster


def _too_big(cluster: Cluster, now: str) -> Cluster:
    return cluster.pending(WAITING, pods=2, gpus=4, min_member=2, created=now)


_STEPS: tuple[tuple[str, Callable[[Cluster, str], Cluster]], ...] = (
    ("only speech submits pods: it borrows all GPUs", _alone),
    ("vision requests its quota, a gang of 4: 4 pods of speech leave", _back),
    ("the 4 pods have left and wait again; the gang starts", _gone),
    ("vision submits a gang of two pods with four GPUs each", _too_big),
)


def _in_lines(message: str) -> str:
    return message.replace("\n", "\n  ")


def _try_next(saved: str | None) -> list[str]:
    kai = _command_line()
    if saved is None:
        return [
            f"{kai} demo --save demo.zip      # keep the cluster of the last cycle",
            f"{kai} plan demo.zip --explain {WAITING}",
            f"{kai} settings --orchestrator argo --queue vision --gpu-fraction 0.5",
        ]
    file = shlex.quote(saved)
    return [
        f"{kai} plan {file}",
        f"{kai} plan {file} --explain {WAITING}",
        f"{kai} queues {file}",
    ]


def _command_line() -> str:
    """The command that starts kai in this shell, even if its environment is not active."""
    if shutil.which("kai"):
        return "kai"
    script = Path(sys.executable).parent / "kai"
    if not script.exists():
        return "python -m kai"
    near = os.path.relpath(script)
    if near.startswith(os.pardir):
        near = str(script)
    # The shell looks up a bare name only in PATH.
    return shlex.quote(near if os.sep in near else os.path.join(os.curdir, near))
