"""Runs the jobs of a simulator's workload on a test cluster; records where and when they ran.

    async with cluster.client() as api:
        await furnish(api, workload)                     # its nodes and queues
        with Kai(cluster, namespace, log):
            story = await Play(api, namespace, workload).run()
    story.stays["job-000"][0].nodes                      # ("n-2",)

Each job is a pod group with pods, which are created when the job arrives. Simulated kubelets run
the pods. When an evicted pod is gone, it is created again at once, and runs for the work that is
left; this corresponds to a simulation in which no work is lost. All pods of a job run together, on
whole GPUs.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from kai.sim.workload import Job, Workload

from .client import Client, Object, path_of
from .objects import node, pod, queue
from .stories import Stay, Story

PATIENCE_S = 120.0  # added to the sum of durations: how long to wait after the last arrival


async def furnish(api: Client, workload: Workload) -> None:
    """Creates the nodes and queues of a workload, and waits until the nodes accept pods."""
    for each in workload.queues:
        await api.create(queue(each.name, each.parent, gpu=each.deserved_gpus))
    nodes = [
        node(
            name,
            pool.gpus,
            cpu=f"{pool.cpu:g}",
            memory=f"{pool.memory_mib}Mi",
            pods=pool.pods,
            gpu_memory_mib=pool.gpu_memory_mib,
        )
        for pool in workload.nodes
        for name in pool.names()
    ]
    await api.create(*nodes)
    await api.ready_nodes(len(nodes))


@dataclass
class _Pod:
    """One pod while it exists. Times are when the test received the events."""

    name: str
    node: str = ""
    bound_s: float = 0.0
    runs_s: float | None = None


@dataclass
class _Running:
    """A job that has arrived."""

    job: Job
    left_s: float  # of its work
    arrival_s: float = 0.0
    pods: list[_Pod] = field(default_factory=list)
    generation: int = 0
    ended: set[str] = field(default_factory=set)
    stays: list[Stay] = field(default_factory=list)


class Play:
    """Creates jobs as they arrive, watches their pods, and records their stays on nodes."""

    def __init__(self, api: Client, namespace: str, workload: Workload) -> None:
        self._api, self._namespace = api, namespace
        self._jobs = [workload.jobs.job(row) for row in range(len(workload.jobs))]
        self._running: dict[str, _Running] = {}
        self._left = len(self._jobs)
        self._began = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._pods: dict[str, tuple[_Running, _Pod]] = {}
        self.delays_s: list[float] = []
        """For each pod that ended: seconds from its binding to its end, minus its work."""

    async def run(self) -> Story:
        """From the first arrival until all jobs have ended.

        Raises TimeoutError if the jobs have not ended in time.
        """
        last_s = max(each.arrival_s for each in self._jobs)
        work_s = sum(each.duration_s for each in self._jobs)
        follower = asyncio.create_task(self._follow())
        try:
            self._began = self._clock() + 0.5
            await asyncio.wait_for(self._all(), last_s + work_s + PATIENCE_S)
        finally:
            follower.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await follower
        made = self._running.items()
        return Story(
            arrivals={name: each.arrival_s for name, each in made},
            stays={name: tuple(each.stays) for name, each in made},
        )

    async def _all(self) -> None:
        for job in sorted(self._jobs, key=lambda each: each.arrival_s):
            await asyncio.sleep(self._began + job.arrival_s - self._clock())
            self._spawn(self._create(job))
        while self._left:
            await asyncio.sleep(0.05)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        task.result()  # an error is raised in the loop's handler, and pytest reports it

    def _clock(self) -> float:
        return asyncio.get_running_loop().time()

    def _now_s(self) -> float:
        return self._clock() - self._began

    async def _create(self, job: Job) -> None:
        made = self._running[job.name] = _Running(job, job.duration_s)
        made.pods = [_Pod(f"{job.name}-{number}") for number in range(job.pods)]
        await self._api.create(
            {
                "apiVersion": "scheduling.run.ai/v2alpha2",
                "kind": "PodGroup",
                "metadata": {"name": job.name, "namespace": self._namespace},
                "spec": {
                    "queue": job.queue,
                    "minMember": job.min_pods or job.pods,
                    "priorityClassName": job.priority_class,
                },
            }
        )
        await self._api.create(*(self._manifest(made, each) for each in made.pods))
        made.arrival_s = self._now_s()

    def _manifest(self, made: _Running, its: _Pod) -> Object:
        job = made.job
        self._pods[its.name] = made, its
        return pod(
            its.name,
            self._namespace,
            round(job.gpus),
            cpu=f"{job.cpu:g}",
            memory=f"{job.memory_mib}Mi",
            annotations={"pod-group-name": job.name, "sim/run-for": f"{made.left_s:.3f}s"},
        )

    # ---- what happens to pods --------------------------------------------------------------------

    async def _follow(self) -> None:
        async for what, found in self._api.follow(path_of("Pod", self._namespace)):
            if what == "LISTED":
                assert not found, "the watch was interrupted"
            else:
                self._take(what, found)

    def _take(self, what: str, seen: Object) -> None:
        made, its = self._pods[seen["metadata"]["name"]]
        now_s = self._now_s()
        if not its.node and seen["spec"].get("nodeName"):
            its.node, its.bound_s = seen["spec"]["nodeName"], now_s
        phase = seen["status"].get("phase")
        if phase == "Running" and its.runs_s is None:
            its.runs_s = now_s
        if its.name in made.ended:
            return
        if phase == "Succeeded":
            self._end(made, its, now_s)
        elif what == "DELETED":
            self._evicted(made, its, now_s)

    def _end(self, made: _Running, its: _Pod, now_s: float) -> None:
        self.delays_s.append(now_s - its.bound_s - made.left_s)
        if not made.ended:
            self._close(made, now_s, evicted=False)
        made.ended.add(its.name)
        self._left -= len(made.ended) == made.job.pods

    def _evicted(self, made: _Running, its: _Pod, now_s: float) -> None:
        is_first = all(each.node for each in made.pods)  # the first evicted pod of the job
        if is_first:
            started = [each.runs_s for each in made.pods]
            if None not in started:
                ran_s = now_s - max(each for each in started if each is not None)
                made.left_s = max(made.left_s - ran_s, 0.001)
            self._close(made, now_s, evicted=True)
            made.generation += 1
        # A new name is needed: kwok ends a pod at the time of an earlier pod with the same name.
        again = _Pod(f"{its.name.removesuffix(f'-{made.generation - 1}r')}-{made.generation}r")
        made.pods[made.pods.index(its)] = again
        self._spawn(self._again(made, again))

    async def _again(self, made: _Running, its: _Pod) -> None:
        await self._api.create(self._manifest(made, its))

    @staticmethod
    def _close(made: _Running, now_s: float, *, evicted: bool) -> None:
        made.stays.append(
            Stay(
                nodes=tuple(sorted(each.node for each in made.pods)),
                from_s=max(each.bound_s for each in made.pods),
                to_s=now_s,
                evicted=evicted,
            )
        )
