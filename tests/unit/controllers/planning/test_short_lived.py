"""Pods that come and go at any moment: in the end the scheduler knows what a fresh start knows."""

from __future__ import annotations

import json
import random
from collections import deque
from dataclasses import replace
from typing import Any

import pytest
from planner_world import START_NS, World, node, pod, queue

from kai.api.writes import Outcome, Result, Write
from kai.controllers.binding import Binder
from kai.controllers.bindings import Binding, Steps
from kai.controllers.grouper import Reference
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.turns import Turn
from kai.engine.plan import Plan

OPTIONS = PlanningOptions(roles=("scheduler", "pod-grouper"))
DONE, FAILED, LOST = Outcome(Result.DONE, 201), Outcome(Result.FAILED, 503), Outcome(Result.LOST)
GONE, CONFLICT = Outcome(Result.GONE, 404), Outcome(Result.CONFLICT, 409)
JOB = "batch/v1"
Object = dict[str, Any]
Event = tuple[str, str, Object]


def uid_of(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


class Server:
    """An API server, with events that are under way to the scheduler."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.objects: dict[str, dict[str, Object]] = {"Pod": {}, "PodGroup": {}, "Job": {}}
        self.events = {"Pod": deque[Event](), "PodGroup": deque[Event]()}
        self._made = 0

    def put(self, kind: str, item: Object, *, anew: bool = True) -> None:
        self._made += 1
        metadata = {"namespace": "team", **item["metadata"]}
        if anew:
            metadata |= {"uid": uid_of(self._made), "creationTimestamp": "2027-01-15T08:00:00Z"}
        made = {**item, "metadata": metadata}
        self.objects[kind][metadata["name"]] = made
        if kind in self.events:
            self.events[kind].append(("ADDED" if anew else "MODIFIED", kind, made))

    def delete(self, kind: str, name: str) -> None:
        gone = self.objects[kind].pop(name, None)
        if gone is not None and kind in self.events:
            self.events[kind].append(("DELETED", kind, gone))

    def create_pods(self) -> None:
        name = f"p{self.chance.randrange(12)}"
        if self.chance.random() < 0.5:
            self._create_pod(name, None)
            return
        job = f"j{self.chance.randrange(4)}"
        if job not in self.objects["Job"]:
            self.put("Job", {"apiVersion": JOB, "kind": "Job", "metadata": {"name": job}})
        for each in range(self.chance.randint(1, 3)):
            self._create_pod(f"{job}-{each}", self.objects["Job"][job])

    def _create_pod(self, name: str, job: Object | None) -> None:
        if name in self.objects["Pod"]:
            return
        made = pod(name, "", gpus=self.chance.choice((1, 1, 2, 9)))
        made["metadata"]["labels"] = {"kai.scheduler/queue": "leaf"}
        if job is not None:
            owner = {key: job["metadata"][key] for key in ("name", "uid")}
            made["metadata"]["ownerReferences"] = [
                {"apiVersion": JOB, "kind": "Job", "controller": True, **owner}
            ]
        self.put("Pod", made)

    def delete_pods(self) -> None:
        names = sorted(self.objects["Pod"])
        if self.objects["Job"] and self.chance.random() < 0.3:
            job = self.chance.choice(sorted(self.objects["Job"]))
            self.delete("Job", job)
            names = [each for each in names if each.startswith(f"{job}-")]
        elif names:
            names = [self.chance.choice(names)]
        for name in names:
            if self.chance.random() < 0.3:  # first it is leaving
                leaving = self.objects["Pod"][name]
                stamp = {"deletionTimestamp": "2027-01-15T09:00:00Z"}
                leaving = {**leaving, "metadata": {**leaving["metadata"], **stamp}}
                self.put("Pod", leaving, anew=False)
            else:
                self.delete("Pod", name)

    def collect_garbage(self) -> None:
        """Pods that are leaving go, and groups without their owner."""
        for name, each in list(self.objects["Pod"].items()):
            if "deletionTimestamp" in each["metadata"]:
                self.delete("Pod", name)
        kept = [*self.objects["Pod"].values(), *self.objects["Job"].values()]
        owners = {each["metadata"]["uid"] for each in kept}
        for name, each in list(self.objects["PodGroup"].items()):
            references = each["metadata"].get("ownerReferences") or ()
            if not any(reference["uid"] in owners for reference in references):
                self.delete("PodGroup", name)

    def apply(self, write: Write) -> Outcome:
        known = self.objects[write.kind].get(write.name)
        if write.verb == "create" and not write.subresource:
            if known is not None:
                return CONFLICT
            self.put(write.kind, dict(write.body))
            return DONE
        if known is None:
            return GONE
        body: Any = write.body
        metadata, more = dict(known["metadata"]), body.get("metadata") or {}
        if more.get("uid", metadata["uid"]) != metadata["uid"]:
            return CONFLICT
        if write.verb == "delete":
            self.delete(write.kind, write.name)
            return DONE
        spec = dict(known.get("spec") or {})
        if write.subresource == "binding":
            if spec.get("nodeName"):
                return CONFLICT
            spec["nodeName"] = body["target"]["name"]
        for part in ("annotations", "labels"):
            metadata[part] = {**metadata.get(part, {}), **(more.get(part) or {})}
        self.put(write.kind, {**known, "metadata": metadata, "spec": spec}, anew=False)
        return DONE


class Run:
    """`kai run` without its event loop: what Service does between planner and binder."""

    def __init__(self, server: Server) -> None:
        self.server, self.binder = server, Binder()
        self.world = World(OPTIONS, **lists(server))
        self.writes: list[Write] = []
        self.looks: list[Binding] = []
        self.answers: list[tuple[Write, Outcome]] = []
        self.owners: list[tuple[Reference, Any]] = []
        self.steps, self.looked_at = Steps(), list[bytes]()

    @property
    def now(self) -> float:
        return (self.world.now_ns - START_NS) / 1e9

    def deliver(self) -> None:
        waiting = [each for each in self.server.events.values() if each]
        if waiting:
            self.world.event(*self.server.chance.choice(waiting).popleft())

    def list_again(self) -> None:
        """A watch has broken, and the events since were lost."""
        self.server.events["Pod"].clear()
        self.world._list("Pod", [*self.server.objects["Pod"].values()])

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
            held_back=self.binder.held_back(),
        )
        self.owners.clear()
        self.answers.clear()
        for kind, name, uid in turn.gone:
            if kind == "Pod":
                self.binder.pod_gone(name, uid)
        for reference in turn.grouped.needs:
            found = self.server.objects[reference.kind].get(reference.name)
            if found is not None and reference.uid and found["metadata"]["uid"] != reference.uid:
                found = None
            self.owners.append((reference, found))
        self.take(turn)
        self.do(self.binder.begin(self.now, "2027-01-15T08:00:00Z", turn.bindings, turn.removals))
        self.do(self.binder.tick(self.now))
        return turn

    def take(self, turn: Turn) -> None:
        decided = turn.grouped
        for name in decided.withdrawn:
            self.binder.withdraw(name)
        assigned = {f"team/{each.group}" for each in decided.assignments}
        for change in decided.groups:
            if change.patch is None or self.binder.is_planned(change.name):
                self.binder.add_group(change)
                if change.patch is None and change.name not in assigned:
                    self.binder.create(change.name)
            else:
                self.writes.append(change.write())
        for assignment in decided.assignments:
            self.binder.assign(self.now, assignment)

    def do(self, steps: Steps) -> None:
        self.writes += steps.writes
        self.looks += [binding for binding, _ in steps.look]
        self.steps.add(replace(steps, writes=[], look=[]))

    def answer(self, *, faults: bool = True) -> None:
        """The API server gets the next write, or a doubtful pod is read."""
        if self.looks:
            binding = self.looks.pop(0)
            found = self.server.objects["Pod"].get(binding.pod.partition("/")[2])
            self.do(self.binder.seen(self.now, binding, found))
        if not self.writes:
            return
        write, fate = self.writes.pop(0), self.server.chance.random()
        outcome = FAILED
        if not faults or fate > 0.1:
            outcome = self.server.apply(write)
            if faults and fate > 0.9 and write.verb == "create":
                outcome = LOST
        self.answers.append((write, outcome))
        self.do(self.binder.answered(self.now, write, outcome))

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
        found[kind] = [] if server is None else [*server.objects[kind].values()]
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
    assert run.known()["groups"].keys() == {f"team/{name}" for name in server.objects["PodGroup"]}
    assert run.known() == fresh.known()
    state = run.world.planner.state()
    assert (state.groups, state.assigned) == ({}, {})
    assert not any(run.binder.is_planned(name) for name in run.known()["groups"])
    assert run.binder._groups == {}


def test_the_group_of_a_pod_that_goes_at_once_goes_with_it() -> None:
    server = Server(0)
    run = Run(server)
    for number in range(20):
        server._create_pod(f"p{number}", None)
    while any(server.events.values()):
        run.deliver()
    run.turn(0.0)
    assert len(run.known()["groups"]) == 20
    for number in range(20):
        server.delete("Pod", f"p{number}")
    while any(server.events.values()):
        run.deliver()
    run.turn(0.3)
    assert run.known() == {"groups": {}, "waiting": 0, "pods": {}, "assumed": [[], []]}
    assert run.world.planner.state().groups == {}
    assert all(each.is_withdrawn for each in run.binder._groups.values()), "creations are under way"
