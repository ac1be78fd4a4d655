"""Runs many simulations: one after the other, in processes, or on any executor.

    values = run_all(work, [(0, 1), (1, 1)], executor="processes")

Results are in the order of the requests, whichever ends first, so they are the same on every
executor.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from kai.errors import InvalidInputError, KaiError, PolicyError
from kai.policy.declaring import Policy
from kai.sim.comparing.findings import LEAST_WEEKS
from kai.sim.comparing.measures import measure, needs_fragmentation
from kai.sim.comparing.sides import Point
from kai.sim.comparing.worlds import WEEK_S, World, Worlds
from kai.sim.metrics import Metrics, measure_part
from kai.sim.progress import bar
from kai.sim.simulate import simulate

__all__ = [
    "EXECUTORS",
    "ExecutorChoice",
    "Outcome",
    "Progress",
    "Values",
    "Work",
    "cores",
    "run_all",
]

EXECUTORS = ("serial", "processes", "ray")
"""The executors with a name."""

ExecutorChoice = Executor | str | int | None
Progress = Callable[[int, int], None] | bool
"""Called with the number of finished simulations, and the total number. True: shows a bar."""

Values = tuple[float | None, ...]
"""A number for each metric of the `Work`."""


@dataclass(frozen=True)
class Outcome:
    """The result of one simulation.

    ``weeks``: the metrics of each whole week, after the index of that week in the original
    workload; empty if the workload has fewer than `LEAST_WEEKS`. ``undone_jobs``,
    ``undone_gpu_hours``: jobs that have not ended, and the GPU-hours that they need.
    """

    values: Values
    weeks: tuple[tuple[int, Values], ...]
    jobs: int
    undone_jobs: int
    undone_gpu_hours: float


@dataclass(frozen=True)
class Work:
    """The common input of all simulations of a comparison. It is sent to other processes
    unchanged."""

    points: tuple[Point, ...]
    worlds: Worlds
    metrics: tuple[str, ...]
    period_s: float
    until_s: float | None
    warm_up_s: float

    def run(self, place: int, seed: int) -> Outcome:
        """One simulation: the point at this place, in the world of this seed."""
        point = self.points[place]
        world = self.worlds.world(seed)
        try:
            timeline = simulate(
                point.changed(world.workload),
                config=point.config,
                as_kai=point.as_kai,
                policies=point.policies,
                period_s=self.period_s,
                until_s=self.until_s,
                seed=world.seed,
                life=world.life,
                reasons=False,
            )
        except PolicyError as error:  # without the timeline so far, which no process can send
            raise PolicyError(str(error)) from error.__cause__
        fragmentation = needs_fragmentation(self.metrics)
        whole = timeline.metrics(warm_up_s=self.warm_up_s, fragmentation=fragmentation)
        jobs, is_open = timeline.workload.jobs, timeline.unfinished
        return Outcome(
            values=self._values(whole),
            weeks=tuple(
                (week, self._values(measure_part(timeline, *part, fragmentation=fragmentation)))
                for week, part in self._weeks(world)
            ),
            jobs=len(jobs),
            undone_jobs=int(is_open.sum()),
            undone_gpu_hours=float(jobs.gpu_seconds[is_open].sum() / 3600),
        )

    def _values(self, measured: Metrics) -> Values:
        return tuple(measure(name).of(measured) for name in self.metrics)

    def _weeks(self, world: World) -> Iterator[tuple[int, tuple[float, float]]]:
        """The weeks that are measured, each with its start and end in this world."""
        if self.worlds.whole_weeks < LEAST_WEEKS:
            return
        first_s = float(world.workload.jobs.arrival_s.min())
        for place, week in enumerate(world.weeks):
            start_s = first_s + place * WEEK_S
            is_simulated = self.until_s is None or start_s + WEEK_S <= self.until_s
            if start_s >= self.warm_up_s and is_simulated:
                yield week, (start_s, start_s + WEEK_S)


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def run_one(work: Work, place: int, seed: int) -> Outcome:
    """`Work.run` as a function of the module, which every executor can send."""
    return work.run(place, seed)


def run_all(
    work: Work,
    runs: Sequence[tuple[int, int]],
    *,
    executor: ExecutorChoice = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Runs pairs of a place and a seed.

    ``progress``: True for a bar in a notebook and on a terminal, or a function.

    ``executor``: "serial" or None; "processes", one for each core, or their number; "ray"; or any
    `concurrent.futures.Executor`, which stays open.

    Raises InvalidInputError for an unknown executor, for policies that processes cannot import and
    for invalid simulations, PolicyError if a policy fails, and KaiError if
    processes end before their work is done.
    """
    with _opened(executor, len(runs)) as pool, _moving(progress) as move:
        if pool is None:
            return list(_one_by_one(work, runs, move))
        if isinstance(pool, ProcessPoolExecutor):
            for point in work.points:
                _check_sendable(point.policies)
        with _interrupts_wait():
            futures = [pool.submit(run_one, work, place, seed) for place, seed in runs]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                move(done, len(runs))
        except BrokenExecutor:
            raise KaiError(
                "a process ended before its simulation: either memory ran out, or the script lacks "
                "`if __name__ == '__main__':` around the code that starts processes"
            ) from None
        finally:
            # After a failure our processes end. Their pool then sets an exception on each remaining
            # future, and that fails for a cancelled one, in the pool's thread.
            if pool is executor or executor == "ray":
                for future in futures:
                    future.cancel()
        return [future.result() for future in futures]


def _one_by_one(
    work: Work, runs: Sequence[tuple[int, int]], move: Callable[[int, int], None]
) -> Iterator[Outcome]:
    for done, (place, seed) in enumerate(runs, start=1):
        yield work.run(place, seed)
        move(done, len(runs))


@contextlib.contextmanager
def _moving(progress: Progress | None) -> Iterator[Callable[[int, int], None]]:
    """A function that moves the bar, or the given function, or one without effect."""
    if progress is True:
        with bar() as moved:

            def shown(done: int, total: int) -> None:
                if moved is not None:
                    moved(done / total, f"{done} of {total} simulations")

            yield shown
    else:
        yield progress or (lambda done, total: None)


@contextlib.contextmanager
def _opened(choice: ExecutorChoice, tasks: int) -> Iterator[Executor | None]:
    """The executor, or None for none; an executor opened here is closed here."""
    if choice is None or choice == "serial":
        yield None
    elif isinstance(choice, Executor):
        yield choice
    elif choice == "ray":
        from kai.sim.comparing.on_ray import RayExecutor

        with RayExecutor() as on_ray:
            yield on_ray
    elif choice == "processes" or (isinstance(choice, int) and choice >= 1):
        count = choice if isinstance(choice, int) else cores()
        if min(count, tasks) <= 1:
            yield None
        else:
            with _processes(min(count, tasks)) as pool:
                yield pool
    else:
        raise InvalidInputError(
            f"executor: expected {', '.join(map(repr, EXECUTORS))}, a number of processes or a "
            f"concurrent.futures.Executor, not {choice!r}"
        )


@contextlib.contextmanager
def _processes(count: int) -> Iterator[Executor]:
    """New interpreters: a fork of a process with threads may hold locks that are never released."""
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_ignore_interrupts)
    try:
        yield pool
    except BaseException:  # the remaining work is not needed
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        # Not waited for: a process may have ended while it held a lock that the pool needs.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _check_sendable(policies: Sequence[Policy]) -> None:
    """New processes import a policy by its name, from a module or a file."""
    for policy in policies:
        if policy.found_by is not None:
            continue
        module = sys.modules.get(policy.function.__module__)
        is_typed = policy.function.__module__ == "__main__" and not hasattr(module, "__file__")
        try:
            pickle.dumps(policy)
        except (pickle.PicklingError, AttributeError):
            is_typed = True
        if is_typed:
            raise InvalidInputError(
                f"policy {policy.name} is not in a file that other processes can import: put it "
                "into one and read it with kai.policy.load, or use executor='serial'"
            )


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Delays Ctrl-C until the end. Meanwhile processes start, and a half-started one would wait for
    its work for ever, or print a traceback."""
    if threading.current_thread() is not threading.main_thread():
        yield  # interrupts go to the main thread
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _ignore_interrupts() -> None:
    """Ctrl-C is handled by the waiting process, which ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
