"""Checks the state that a recorded case requires after its cycles (``expect`` in ``cases/``).

A case lists pods, pod groups and nodes with their required state. The state after a cycle is the
snapshot with the decisions of the plan applied:

=============  ====================================================================
``Binding``    bound in this cycle
``Pipelined``  waits for a place that is being freed; also a moved pod, on its new node
``Releasing``  evicted in this cycle, or already terminating
others         unchanged
=============  ====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from kai.api.quantities import parse
from kai.engine.text import count
from kai.verify.compare import GPU_TOLERANCE, Difference, sharers, sharing
from kai.verify.objects import (
    ACTIVE_USED,
    GPU,
    PodView,
    World,
    allocatable_of,
    annotations_of,
    key_of,
    parse_time,
    read_world,
)
from kai.verify.outcome import Outcome, from_plan, names

__all__ = ["State", "check_bounds", "check_state", "state_after", "state_of"]

LAST_START = "kai.scheduler/last-start-timestamp"


@dataclass(frozen=True)
class State:
    """The status, node and shared devices of every pod after a cycle."""

    world: World
    pods: Mapping[str, PodView]
    now: datetime
    outcome: Outcome = field(default_factory=Outcome)
    plan: Any = None


def state_of(snapshot: Mapping[str, Any], *, now: str) -> State:
    """The state of a snapshot before any decision."""
    world = read_world(snapshot, now=now)
    return State(world, world.pods, parse_time(now))


def state_after(snapshot: Mapping[str, Any], plan: Any, *, now: str) -> State:
    """The state right after the decisions of a cycle."""
    before = state_of(snapshot, now=now)
    outcome = from_plan(plan)
    pods = dict(before.pods)
    for key in [*outcome.bind, *outcome.pipeline, *outcome.evict]:
        pod = pods.get(key)
        if pod is None:
            continue
        placement = (
            outcome.evicted_last.get(key) or outcome.pipeline.get(key) or outcome.bind.get(key)
        )
        if placement is None:
            pods[key] = replace(pod, status="Releasing")
            continue
        status = "Pipelined" if key in outcome.pipeline else "Binding"
        if key in outcome.evicted_last:
            status = "Releasing"
        pods[key] = replace(
            pod, status=status, node=placement.node, gpu_groups=placement.gpu_groups
        )
    return State(before.world, pods, before.now, outcome, plan)


# --- the checks ----------------------------------------------------------------------------------


def check_state(state: State, expect: Mapping[str, Any]) -> list[Difference]:
    """Checks one state against a case, except the bounds on the number of decisions."""
    found = [
        *_check_pods(state, expect.get("pods") or {}),
        *_check_groups(state, expect.get("groups") or {}),
        *_check_sharing(state, expect.get("pods") or {}),
        *_check_nodes(state, expect.get("nodes") or {}),
    ]
    return list(dict.fromkeys(found))  # many cases list a pod twice, alone and with its group


def check_bounds(outcome: Outcome, expect: Mapping[str, Any]) -> Iterator[Difference]:
    """Checks ``maxBinds``, ``maxEvictions`` and ``maxPipelines`` of one cycle."""
    for name, what, done in (
        ("maxBinds", outcome.bind, "bound"),
        ("maxEvictions", outcome.evict, "evicted"),
        ("maxPipelines", outcome.pipeline, "pipelined"),
    ):
        if name in expect and len(what) > expect[name]:
            text = f"{len(what)} pods were {done}, at most {expect[name]} may be: {names(what)}"
            yield Difference("bound", name, text)


def _check_pods(state: State, expected: Mapping[str, Any]) -> Iterator[Difference]:
    for key in sorted(expected):
        pod = state.pods.get(key)
        if pod is None:
            yield Difference("pod", key, f"pod {key}: not in the cluster")
            continue
        yield from _check_pod(state, pod, expected[key])


def _check_pod(state: State, pod: PodView, expected: Mapping[str, Any]) -> Iterator[Difference]:
    wanted = expected.get("status")
    if wanted and pod.status != wanted:
        place = f" on {expected['node']}" if expected.get("node") else ""
        own = f" on {pod.node}" if pod.node else ""
        text = f"pod {pod.key}: {pod.status}{own}, should be {wanted}{place}"
        yield Difference("pod", pod.key, text)
        return
    node = expected.get("node")
    if node and pod.node != node:
        text = f"pod {pod.key}: {pod.status} on {pod.node or 'no node'}, should be on {node}"
        yield Difference("pod", pod.key, text)
    placement = state.outcome.bind.get(pod.key) or state.outcome.pipeline.get(pod.key)
    if placement is None:
        return
    accepted = expected.get("gpusAccepted")
    if accepted is not None and abs((placement.gpus or 0) - accepted) > GPU_TOLERANCE:
        text = f"pod {pod.key}: got {placement.gpus or 0} GPUs, should get {accepted}"
        yield Difference("pod", pod.key, text)
    zones = expected.get("numaZones")
    if zones is not None:
        own_zones = _numa_zones(state, pod.key)
        if own_zones != zones:
            text = f"pod {pod.key}: NUMA zones {own_zones}, should be {zones}"
            yield Difference("pod", pod.key, text)


def _numa_zones(state: State, pod: str) -> list[int]:
    for decision in reversed(state.plan.decisions if state.plan else ()):
        if decision.pod == pod and decision.kind != "evict":
            order = [each.zone for each in _zones_left(state, decision.node)]
            return [order.index(each.zone) for each in getattr(decision, "numa_zones", ())]
    return []


def _zones_left(state: State, node: str) -> Sequence[Any]:
    zones: Sequence[Any] = getattr(state.plan, "numa_zones_available", {}).get(node, ())
    return zones


def _check_groups(state: State, expected: Mapping[str, Any]) -> Iterator[Difference]:
    members: dict[str, list[PodView]] = {}
    for pod in state.pods.values():
        members.setdefault(pod.group, []).append(pod)
    for name in sorted(expected):
        wanted = expected[name]
        group = state.world.groups.get(name.rpartition("/")[2])
        if group is None or key_of(group) != name:
            yield Difference("pod", name, f"group {name}: not in the cluster")
            continue
        pods = sorted(members.get(group["metadata"]["name"], []), key=lambda pod: pod.key)
        own = {k: v for k, v in wanted.items() if k in ("status", "node")}
        for pod in pods:
            yield from _check_pod(state, pod, own)
        yield from _check_group(state, name, wanted, pods)


def _check_group(
    state: State, name: str, wanted: Mapping[str, Any], pods: list[PodView]
) -> Iterator[Difference]:
    accepted = wanted.get("gpusAccepted")
    if accepted is not None:
        taken = sum(
            placement.gpus or 0
            for side in (state.outcome.bind, state.outcome.pipeline)
            for key, placement in side.items()
            if key in {pod.key for pod in pods}
        )
        if abs(taken - accepted) > GPU_TOLERANCE * max(1, len(pods)):
            text = f"group {name}: got {taken:g} GPUs, should get {accepted:g}"
            yield Difference("pod", name, text)
    if wanted.get("fitErrorExpected") and state.plan and not state.outcome.messages.get(name):
        yield Difference("message", name, f"group {name}: has no message why it does not fit")
    age = wanted.get("lastStartOlderThanSeconds")
    if age is not None:
        started = _last_start(state, name)
        if started is None or (state.now - started).total_seconds() < age:
            text = f"group {name}: should have started more than {age} s ago, not at {started}"
            yield Difference("pod", name, text)


def _last_start(state: State, name: str) -> datetime | None:
    entry = state.plan.pod_groups.get(name) if state.plan else None
    written = getattr(getattr(entry, "writes", None), "last_start", None)
    if written is None:
        group = state.world.groups[name.rpartition("/")[2]]
        written = annotations_of(group).get(LAST_START)
    return parse_time(written) if isinstance(written, str) else written


def _check_sharing(state: State, expected: Mapping[str, Any]) -> Iterator[Difference]:
    """Pods on a node must share a device exactly if their symbolic group names are equal."""
    wanted = {
        key: (state.pods[key].node, tuple(demand["gpuGroups"]))
        for key, demand in expected.items()
        if demand.get("gpuGroups") and key in state.pods
    }
    actual = {key: (node, state.pods[key].gpu_groups) for key, (node, _) in wanted.items()}
    mine, other = sharers(actual), sharers(wanted)
    for key in sorted(wanted):
        if mine[key] != other[key]:
            text = f"pod {key}: {sharing(mine[key])}, should be: {sharing(other[key])}"
            yield Difference("devices", key, text)


# --- nodes ---------------------------------------------------------------------------------------


def _check_nodes(state: State, expected: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted(expected):
        idle, releasing = _whole_devices(state, name)
        for what, own, wanted in (
            ("idle", idle, expected[name].get("idleGpus")),
            ("releasing", releasing, expected[name].get("releasingGpus")),
        ):
            if wanted is not None and own != wanted:
                text = f"node {name}: {count(own, 'GPU')} {what}, should be {wanted:g}"
                yield Difference("node", name, text)
        zones = expected[name].get("numaZonesAvailable")
        if zones is not None and state.plan is not None:
            own_zones = {
                str(number): _amounts(zone.amount)
                for number, zone in enumerate(_zones_left(state, name))
            }
            if own_zones != {number: _amounts(zone) for number, zone in zones.items()}:
                text = f"node {name}: {own_zones} left in its zones, should be {zones}"
                yield Difference("node", name, text)


def _amounts(zone: Mapping[str, Any]) -> dict[str, Fraction]:
    return {name: parse(amount) for name, amount in zone.items()}


def _whole_devices(state: State, name: str) -> tuple[Fraction, Fraction]:
    """The idle and the releasing devices of a node (spec 3 N4-N6).

    No pod uses an idle device; all pods on a releasing device are Releasing.
    """
    idle = allocatable_of(state.world.nodes[name]).get(GPU, Fraction(0))
    releasing = Fraction(0)
    shared: dict[str, set[bool]] = {}  # device -> for each of its pods: is it Releasing?
    for pod in state.pods.values():
        if pod.node != name or pod.status not in ACTIVE_USED or state.world.reservation(pod):
            continue
        whole = pod.request.amounts.get(GPU, Fraction(0))
        if pod.status == "Pipelined":
            releasing -= whole
            continue
        idle -= whole
        releasing += whole if pod.status == "Releasing" else 0
        for group in pod.gpu_groups:
            shared.setdefault(group, set()).add(pod.status == "Releasing")
    idle -= len(shared)
    releasing += sum(users == {True} for users in shared.values())
    return idle, releasing
