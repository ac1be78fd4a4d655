"""Pods that come and go at any moment: in the end the scheduler knows what a fresh start knows."""

import json
import random
from typing import Any

import pytest
from planner_world import START_NS, World, pod

from fakes.api_server import ApiServer, Object
from fakes.clock import VirtualClock
from fakes.objects import node, queue
from fakes.played import Scheduler, Steps
from kai.api.writes import Lane, Outcome, Read, Result, Write
from kai.controllers.grouper import Reference
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.turns import Turn
from kai.engine.plan import Plan

OPTIONS = PlanningOptions(roles=("scheduler", "pod-grouper"))
FAILED, LOST = Outcome(Result.FAILED, 503), Outcome(Result.LOST)


class Server(ApiServer):
    """An API server with its users, and events that are under way to the scheduler."""

    def __init__(self, seed: int) -> None:
        super().__init__(clock=VirtualClock(0.0))
        self.chance = random.Random(seed)
        self.events = {kind: self.watch(kind) for kind in ("Pod", "PodGroup")}

    def names(self, kind: str) -> list[str]:
        return [each["metadata"]["name"] for each in self.list(kind)]

    def create_pods(self) -> None:
        name = f"p{self.chance.randrange(12)}"
        if self.chance.random() < 0.5:
            self.create_pod(name, None)
            return
        job = f"j{self.chance.randrange(4)}"
        if job not in self.names("Job"):
            self.put({"kind": "Job", "metadata": {"namespace": "team", "name": job}})
        for each in range(self.chance.randint(1, 3)):
            self.create_pod(f"{job}-{each}", self.get("Job", "team", job))

    def create_pod(self, name: str, job: Object | None) -> None:
        """Without effect if it exists."""
        made = pod(name, "", gpus=self.chance.choice((1, 1, 2, 9)))
        made["metadata"]["labels"] = {"kai.scheduler/queue": "leaf"}
        if job is not None:
            owner = {key: job["metadata"][key] for key in ("name", "uid")}
            made["metadata"]["ownerReferences"] = [
                {"apiVersion": "batch/v1", "kind": "Job", "controller": True, **owner}
            ]
        self.send(Write(Lane.BINDING, "create", "Pod", "team", name, made))

    def delete_pods(self) -> None:
        names, jobs = self.names("Pod"), self.names("Job")
        if jobs and self.chance.random() < 0.3:
            job = self.chance.choice(jobs)
            self.remove("Job", "team", job)
            names = [each for each in names if each.startswith(f"{job}-")]
        elif names:
            names = [self.chance.choice(names)]
        for name in names:
            if self.chance.random() < 0.3:  # first it is leaving
                stamp = {"metadata": {"deletionTimestamp": "2027-01-15T09:00:00Z"}}
                self.change("Pod", "team", name, stamp)
            else:
                self.remove("Pod", "team", name)

    def collect_garbage(self) -> None:
        """Pods that are leaving go, and groups without their owner."""
        for each in self.list("Pod"):
            if "deletionTimestamp" in each["metadata"]:
                self.remove("Pod", "team", each["metadata"]["name"])
        super().collect_garbage()


class Run:
    """`kai run` without its event loop: what Service does between planner and binder."""

    def __init__(self, server: Server) -> None:
        self.server, self.played = server, Scheduler()
        self.world = World(OPTIONS, **lists(server))
        self.writes: list[Write] = []
        self.looks: list[Read] = []
        self.answers: list[tuple[Write, Outcome]] = []
        self.owners: list[tuple[Reference, Any]] = []
        self.steps, self.looked_at = Steps(), list[bytes]()

    @property
    def now(self) -> float:
        return (self.world.now_ns - START_NS) / 1e9

    def deliver(self) -> None:
        waiting = [each for each in self.server.events.values() if each]
        if waiting:
            _, what, kind, item = self.server.chance.choice(waiting).popleft()
            self.world.event(what, kind, item)

    def list_again(self) -> None:
        """A watch has broken, and the events since were lost."""
        self.server.events["Pod"].clear()
        self.world.watches.list("Pod", self.server.list("Pod"))

    def turn(self, seconds: float) -> Turn:
        steps, self.steps = self.steps, Steps()
        turn = self.world.turn(
            after=seconds,
            owners=tuple(self.owners),
            answers=tuple(self.answers),
            forgotten=tuple(steps.forget),
            bound=steps.bound,
            failed=steps.failed,
            evicted=steps.evicted,
            held_back=self.played.held_back(),
        )
        self.owners.clear()
        self.answers.clear()
        for kind, name, uid in turn.gone:
            if kind == "Pod":
                self.played.pod_gone(name, uid)
        for reference in turn.grouped.needs:
            found = self.server.get(reference.kind, "team", reference.name)
            if found is not None and reference.uid and found["metadata"]["uid"] != reference.uid:
                found = None
            self.owners.append((reference, found))
        self.played.courses.now = self.now
        self.played.groups.take(turn.grouped)
        self.do(self.played.begin(self.now, "2027-01-15T08:00:00Z", turn.bindings, turn.removals))
        self.do(self.played.tick(self.now))
        return turn

    def do(self, steps: Steps) -> None:
        self.writes += steps.writes
        self.looks += steps.look
        for name in ("forget", "bound", "failed", "evicted"):
            getattr(self.steps, name).extend(getattr(steps, name))

    def answer(self, *, faults: bool = True) -> None:
        """The API server gets the next write, or a doubtful pod is read."""
        if self.looks:
            read = self.looks.pop(0)
            self.do(self.played.seen(self.now, read, self.server.find(read)))
        if not self.writes:
            return
        write, fate = self.writes.pop(0), self.server.chance.random()
        outcome = FAILED
        if not faults or fate > 0.1:
            outcome = self.server.send(write)
            if faults and fate > 0.9 and write.verb == "create":
                outcome = LOST
        self.answers.append((write, outcome))
        self.do(self.played.answered(self.now, write, outcome))

    def known(self) -> Object:
        """The state that the next plan depends on."""
        core = self.world.core
        compiled = core.session.plan(core.cluster, now_ns=self.world.now_ns)
        plan = Plan(compiled, input=None, now_ns=self.world.now_ns)
        memory = json.loads(core.session.export_memory(core.cluster))
        return {
            "groups": {name: each.verdict for name, each in plan.pod_groups.items()},
            "waiting": compiled.counts()["waiting"],
            "pods": compiled.pods(),
            "assumed": [memory["assumed"]["bound"], memory["assumed"]["evicted"]],
        }


def lists(server: Server | None = None) -> dict[str, list[Object]]:
    found = {"Node": [node("n1", 4), node("n2", 2)], "Queue": [queue("top"), queue("leaf", "top")]}
    for kind in ("Pod", "PodGroup"):
        found[kind] = [] if server is None else server.list(kind)
    return found


def settle(run: Run) -> None:
    """Nothing happens any more, and everything under way arrives."""
    for _ in range(60):
        run.server.collect_garbage()
        while run.writes or run.looks:
            run.answer(faults=False)
        while any(run.server.events.values()):
            run.deliver()
        run.turn(1.0)
        if not (run.writes or run.looks or run.owners or any(run.server.events.values())):
            run.turn(40.0)
            if not (run.writes or run.looks or run.owners):
                return
    raise AssertionError("it does not come to rest")


@pytest.mark.parametrize("seed", range(60))
def test_any_sequence_of_creations_and_deletions_ends_as_a_fresh_start(seed: int) -> None:
    server = Server(seed)
    run = Run(server)
    actions = [
        *[server.create_pods] * 3,
        *[server.delete_pods] * 3,
        server.collect_garbage,
        *[run.deliver] * 8,
        *[run.answer] * 5,
        run.list_again,
        *[lambda: run.turn(server.chance.choice((0.0, 0.1, 0.5, 1.1)))] * 6,
    ]
    for _ in range(server.chance.choice((30, 100, 300))):
        server.chance.choice(actions)()
    settle(run)
    fresh = Run(server)
    fresh.world.now_ns = run.world.now_ns
    for _ in range(3):
        fresh.turn(0.0)
    assert run.known()["groups"].keys() == {f"team/{name}" for name in server.names("PodGroup")}
    assert run.known() == fresh.known()
    state = run.world.planner.state()
    assert (state.groups, state.assigned) == ({}, {})
    assert not any(run.played.groups.is_planned(name) for name in run.known()["groups"])
    assert run.played.groups._groups == {}


def test_the_group_of_a_pod_that_goes_at_once_goes_with_it() -> None:
    server = Server(0)
    run = Run(server)
    for number in range(20):
        server.create_pod(f"p{number}", None)
    while any(server.events.values()):
        run.deliver()
    run.turn(0.0)
    assert len(run.known()["groups"]) == 20
    for number in range(20):
        server.remove("Pod", "team", f"p{number}")
    while any(server.events.values()):
        run.deliver()
    run.turn(0.3)
    assert run.known() == {"groups": {}, "waiting": 0, "pods": {}, "assumed": [[], []]}
    assert run.world.planner.state().groups == {}
    assert all(each.is_withdrawn for each in run.played.groups._groups.values()), (
        "creations are under way"
    )
