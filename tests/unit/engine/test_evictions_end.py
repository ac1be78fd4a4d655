"""Evictions end: what a search for victims accepts, the next cycle accepts as well.

Each plan is carried out at once: bound pods run, and the owners of evicted pods create them again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import kai

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
GROUP = "runai-gpu-group"


@dataclass
class Living:
    """A cluster whose plans are carried out; all plans are made by one scheduler."""

    cluster: kai.Cluster
    scheduler: kai.Scheduler
    reserves: bool = False  # a reservation pod runs for each shared device
    now: datetime = NOW
    cycles: list[list[str]] = field(default_factory=list)
    plan: kai.Plan | None = None

    def run(self, cycles: int) -> Living:
        for _ in range(cycles):
            self.plan = self.scheduler.plan(self.cluster, now=self.now)
            self.cycles.append([f"{each.kind} {each.pod}" for each in self.plan.decisions])
            for decision in self.plan.decisions:
                self._carry_out(decision)
            if self.reserves:
                self._reserve()
            self.now += timedelta(seconds=1)
        return self

    @property
    def evictions(self) -> list[int]:
        return [sum(each.startswith("evict") for each in cycle) for cycle in self.cycles]

    def _pods(self) -> dict[str, dict[str, Any]]:
        named = {}
        for pod in self.cluster.objects["pods"]:
            meta = pod["metadata"]
            named[f"{meta['namespace']}/{meta['name']}"] = json.loads(json.dumps(pod))
        return named

    def _carry_out(self, decision: Any) -> None:
        pod = self._pods()[decision.pod]
        if decision.kind == "evict":
            self.cluster.delete("Pod", decision.pod)
            pod["spec"].pop("nodeName", None)
            labels = pod["metadata"].get("labels") or {}
            for label in [each for each in labels if each.startswith(GROUP)]:
                del labels[label]
            pod["metadata"]["uid"] += "x"
            pod["status"] = {"phase": "Pending"}
        elif decision.kind == "bind":
            pod["spec"]["nodeName"] = decision.node
            pod["status"] = {"phase": "Running"}
            labels = pod["metadata"].setdefault("labels", {})
            for group in decision.gpu_groups or ():
                key = GROUP if len(decision.gpu_groups) == 1 else f"{GROUP}/{group}"
                labels[key] = group
        else:
            return
        self.cluster.upsert({**pod, "kind": "Pod"})

    def _reserve(self) -> None:
        devices: dict[str, str] = {}
        reservations: dict[str, str] = {}
        for name, pod in self._pods().items():
            labels = pod["metadata"].get("labels") or {}
            for group in (labels[each] for each in labels if each.startswith(GROUP)):
                if labels.get("app") == "kai-resource-reservation":
                    reservations[group] = name
                elif pod["spec"].get("nodeName"):
                    devices[group] = pod["spec"]["nodeName"]
        for group in reservations.keys() - devices.keys():
            self.cluster.delete("Pod", reservations[group])
        for group in devices.keys() - reservations.keys():
            labels = {"app": "kai-resource-reservation", GROUP: group}
            name, namespace = f"reserve-{group}", "kai-resource-reservation"
            self.cluster.upsert(
                {
                    "kind": "Pod",
                    "metadata": {
                        "name": name,
                        "namespace": namespace,
                        "labels": labels,
                        "uid": name,
                    },
                    "spec": {"nodeName": devices[group], "containers": [{"name": "c"}]},
                    "status": {"phase": "Running"},
                }
            )


def live(
    cluster: kai.Cluster, *, reserves: bool = False, cycles: int = 30, **compat: str
) -> Living:
    """Root causes show only without the delay after a promise that ended unkept."""
    compat = {"unkept_promises": "kai", **compat}
    return Living(cluster, kai.Scheduler({"compat": compat}), reserves=reserves).run(cycles)


# ---- pod slots of reservation pods ---------------------------------------------------------------


def two_queues(slots: int, **node: Any) -> kai.Cluster:
    return kai.Cluster().queue("a", deserved_gpus=2).queue("b").node("n1", pods=slots, **node)


def full_node(slots: int) -> kai.Cluster:
    """Both GPUs are borrowed by b."""
    cluster = two_queues(slots, gpus=2)
    return cluster.running("b/old", gpus=1, node="n1").running("b/victim", gpus=1, node="n1")


@pytest.mark.parametrize("reserves", [False, True])
@pytest.mark.parametrize("slots", [2, 3, 4])
@pytest.mark.parametrize(
    "half",
    [{"gpu_fraction": 0.5}, {"gpu_memory_mib": 40000}, {"gpu_fraction": 0.5, "gpu_devices": 2}],
    ids=["fraction", "memory", "two devices"],
)
def test_reclaim_for_a_part_of_a_gpu_ends(half: Any, slots: int, reserves: bool) -> None:
    life = live(full_node(slots).pending("a/half", **half), reserves=reserves)
    assert sum(life.evictions) <= 2, life.cycles
    assert sum(life.evictions[3:]) == 0, life.cycles


@pytest.mark.parametrize("reserves", [False, True])
@pytest.mark.parametrize("slots", [2, 3, 4])
def test_preemption_for_a_part_of_a_gpu_ends(slots: int, reserves: bool) -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=2, pods=slots)
    cluster.running("a/old", gpus=1, node="n1").running("a/low", gpus=1, node="n1", priority=10)
    life = live(cluster.pending("a/half", gpu_fraction=0.5, priority=20), reserves=reserves)
    assert sum(life.evictions[3:]) == 0, life.cycles
    assert sum(life.evictions) <= 1, life.cycles


@pytest.mark.parametrize("reserves", [False, True])
@pytest.mark.parametrize("slots", [3, 4, 5])
def test_consolidation_with_few_pod_slots_ends(slots: int, reserves: bool) -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=2, pods=slots).node("n2", gpus=2, pods=slots)
    cluster.running("a/one", gpus=1, node="n1").running("a/two", gpus=1, node="n2")
    cluster.running("a/cpu", pods=slots - 2, cpus=1, node="n1")
    life = live(cluster.pending("a/half", pods=3, gpu_fraction=0.6), reserves=reserves)
    assert sum(life.evictions[6:]) == 0, life.cycles


def test_the_search_counts_the_slot_of_the_reservation_pod() -> None:
    # a/half and its reservation pod need both slots that b's pods have
    plan = kai.Scheduler().plan(full_node(2).pending("a/half", gpu_fraction=0.5), now=NOW)
    assert [each.pod for each in plan.decisions if each.kind == "evict"] in (
        [],
        ["b/victim-0", "b/old-0"],
        ["b/old-0", "b/victim-0"],
    )


def test_a_pod_joins_a_known_device_with_one_slot() -> None:
    cluster = kai.Cluster().queue("a").node("n", gpus=1, pods=2)
    cluster.running("a/x", gpu_fraction=0.5, gpu_groups=["g"], node="n")
    cluster.pending("a/y", gpu_fraction=0.5)
    assert [each.pod for each in kai.Scheduler().plan(cluster, now=NOW).decisions] == ["a/y-0"]
    as_kai = kai.Scheduler({"compat": {"reservation_slots": "kai"}})
    assert as_kai.plan(cluster, now=NOW).decisions == ()


def test_each_new_device_takes_a_slot() -> None:
    cluster = kai.Cluster().queue("a").node("n", gpus=2, pods=3)
    cluster.pending("a/x", gpu_fraction=0.5, gpu_devices=2).pending("a/y", cpus=1)
    assert [each.pod for each in kai.Scheduler().plan(cluster, now=NOW).decisions] == ["a/x-0"]


# ---- devices that are promised -------------------------------------------------------------------


def two_full_devices(victim: float) -> kai.Cluster:
    """a/wants needs a part of each of the devices; b's pod moves from the one to the other."""
    cluster = kai.Cluster().queue("a", deserved_gpus=2).queue("b").node("n", gpus=2)
    half = {"gpu_fraction": 0.5, "gpu_devices": 2, "gpu_groups": ["c", "d"]}
    cluster.running("a/x", node="n", **half)
    cluster.running("a/w", gpu_fraction=0.5 - victim, gpu_groups=["c"], node="n")
    cluster.running("b/y", gpu_fraction=victim, gpu_groups=["c"], node="n")
    cluster.running("b/z", gpu_fraction=0.5, gpu_groups=["d"], node="n")
    return cluster.pending("a/wants", gpu_fraction=victim, gpu_devices=2)


@pytest.mark.parametrize("victim", [0.1, 0.2, 0.25])
def test_a_pod_gets_the_devices_that_it_was_promised(victim: float) -> None:
    cluster, scheduler = two_full_devices(victim), kai.Scheduler()
    promised = {
        each.pod: each.gpu_groups
        for each in scheduler.plan(cluster, now=NOW).decisions
        if each.kind == "pipeline"
    }
    assert sorted(promised["a/wants-0"]) == ["c", "d"]
    life = Living(cluster, kai.Scheduler({"compat": {"unkept_promises": "kai"}})).run(10)
    assert sum(life.evictions[1:]) == 0, life.cycles
    groups = {pod["metadata"]["name"]: pod for pod in cluster.objects["pods"]}
    assert groups["wants-0"]["status"] == {"phase": "Running"}


# ---- reclaim that its victims may undo -----------------------------------------------------------


def department(
    *, fraction: float = 0.7, leaf: float = 3, minimum: int = 2, cpus: float | None = 8
) -> kai.Cluster:
    """Two leaves share a limit of CPUs: a borrows GPUs, and b has more than it deserves."""
    cluster = kai.Cluster().queue("d", deserved_gpus=3, cpu_limit=cpus)
    cluster.queue("a", parent="d", weight=5).queue("b", parent="d", deserved_gpus=leaf, weight=0)
    for name, gpus in (("b1", 4), ("b2", 8), ("x0", 8), ("x5", 4), ("z4", 2)):
        cluster.node(name, gpus=gpus)
    cluster.running("a/run", gpu_fraction=0.5, cpus=0.5, node="b2", gpu_groups=["g"])
    for node in ("b1", "x0", "z4", "x5"):
        part = {"gpu_fraction": fraction, "gpu_groups": [f"g-{node}"], "cpus": 0.5}
        cluster.running("b/run", node=node, min_member=minimum, **part)
    cluster.pending("a/new", pods=2, gpus=4, cpus=3, min_member=1)
    return cluster.pending("b/more", gpu_fraction=0.5, cpus=0.5)


def test_siblings_below_a_limit_do_not_reclaim_in_turn() -> None:
    assert live(department()).evictions == [0] * 30
    as_kai = live(department(), lasting_reclaim="kai").evictions
    assert as_kai[:6] == [4, 1, 0, 4, 1, 0], "what happens without the rule"
    assert sum(as_kai[-3:]) == 5


@pytest.mark.parametrize("minimum", [1, 2, 3, 4])
@pytest.mark.parametrize("leaf", [2, 2.5, 3])
@pytest.mark.parametrize(
    ("fraction", "cpus"), [(0.6, 8), (0.7, 7.5), (0.7, 8), (0.7, None), (0.9, 8)]
)
def test_departments_with_limits_and_fractions_come_to_rest(
    minimum: int, leaf: float, fraction: float, cpus: float | None
) -> None:
    life = live(department(fraction=fraction, leaf=leaf, minimum=minimum, cpus=cpus))
    assert sum(life.evictions[3:]) == 0, life.cycles


def test_a_queue_still_gets_what_it_deserves() -> None:
    # b holds a pod more than its share, and cannot take it back from a
    cluster = (
        kai.Cluster().queue("a", deserved_gpus=2).queue("b", deserved_gpus=2).node("n", gpus=4)
    )
    cluster.running("b/run", pods=4, gpus=1, node="n", min_member=1)
    life = live(cluster.pending("a/new", pods=2, gpus=1, min_member=2))
    assert life.evictions[:2] == [2, 0]
    assert sum(life.evictions) == 2


# ---- the delay of a group that lost the room of its victims --------------------------------------


def in_turn(cpus: float = 0) -> kai.Cluster:
    """mid/cpu reclaims pod slots of low, mid/high preempts it, and low reclaims GPUs of mid."""
    cluster = kai.Cluster().queue("low").queue("mid", deserved_gpus=1, weight=0)
    cluster.queue("old", deserved_gpus=1).node("n", gpus=3, pods=6)
    cluster.running("old/fill", pods=2, gpu_fraction=0.2, gpu_groups=["h"], node="n", priority=100)
    high = {"gpu_fraction": 0.7, "min_member": 1, "priority": 75}
    cluster.running("mid/high", gpu_groups=["g"], node="n", **high)
    cluster.pending("mid/high", pods=2, **high)
    cluster.pending("mid/cpu", pods=2, cpus=cpus, min_member=1, priority=50)
    return cluster.pending("low/part", pods=2, gpu_fraction=0.2, min_member=1, priority=25)


@pytest.mark.parametrize("cpus", [0, 0.5])
def test_groups_that_take_room_in_turn_evict_ever_more_rarely(cpus: float) -> None:
    without = live(in_turn(cpus), cycles=120).evictions
    assert sum(without[60:]) > 50, "no promise ends unkept, and no rule is broken"
    rarely = live(in_turn(cpus), cycles=120, unkept_promises="fixed").evictions
    assert sum(rarely[:60]) < 20
    assert sum(rarely[60:]) < 8


def robbed() -> tuple[kai.Cluster, kai.Scheduler]:
    """a/high evicted a pod on n, and another scheduler has taken the room."""
    cluster = kai.Cluster().queue("a").node("n", gpus=1).node("o", gpus=1)
    cluster.running("a/low", gpus=1, priority=10, node="n")
    cluster.running("a/other", gpus=1, priority=15, node="o")
    cluster.pending("a/high", gpus=1, priority=20)
    scheduler = kai.Scheduler()
    plan = scheduler.plan(cluster, now=NOW)
    assert [f"{each.kind} {each.pod}" for each in plan.decisions] == [
        "evict a/low-0",
        "pipeline a/high-0",
    ]
    cluster.delete("Pod", "a/low-0").delete("PodGroup", "a/low")
    container = {"name": "c", "resources": {"requests": {"nvidia.com/gpu": "1"}}}
    spec = {"nodeName": "n", "schedulerName": "another", "containers": [container]}
    meta = {"namespace": "z", "name": "thief", "uid": "thief"}
    cluster.upsert({"kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}})
    return cluster, scheduler


def test_a_group_that_lost_its_room_waits_before_it_evicts_again() -> None:
    cluster, scheduler = robbed()
    plan = scheduler.plan(cluster, now=NOW)
    assert plan.decisions == ()
    [delay] = [
        each for each in plan.pod_groups["a/high"].reasons if each.code == "preemption_delay"
    ]
    assert delay.message == (
        "Workload lost the room of the last pods that were evicted for it and may not trigger "
        "evictions before 2026-01-01T00:00:10Z"
    )
    assert delay.facts == {"delay": "10s", "until": "2026-01-01T00:00:10Z", "unkept_promises": 1}
    why = plan.why("a/high")
    assert (
        "It may not evict other pods before 2026-01-01T00:00:10Z: pods were evicted for it once"
        in why
    )
    wake = scheduler.next_wake(cluster)
    assert wake is not None
    assert wake.at == NOW + timedelta(seconds=10)
    later = scheduler.plan(cluster, now=wake.at)
    assert [each.pod for each in later.decisions] == ["a/other-0", "a/high-0"]


def test_the_delay_is_part_of_the_memory_in_a_snapshot(tmp_path: Path) -> None:
    cluster, scheduler = robbed()
    scheduler.plan(cluster, now=NOW)
    cluster.node("p", gpus=0)  # an event: the plan is over
    memory = {"now": "2026-01-01T00:00:01Z", **json.loads(scheduler.export_memory(cluster))}
    assert [each["unkept"] for each in memory["evictors"]] == [1]
    taken = kai.Cluster.from_snapshot(cluster.to_snapshot(), memory=json.dumps(memory))
    taken.save(tmp_path / "s.zip")
    now = NOW + timedelta(seconds=1)
    for again in (taken, kai.load(tmp_path / "s.zip")):
        plan = kai.Scheduler().plan(again, now=now)
        assert plan.decisions == ()
        assert plan.pod_groups["a/high"] == scheduler.plan(cluster, now=now).pod_groups["a/high"]


def test_as_kai_a_group_evicts_again_at_once() -> None:
    cluster, _ = robbed()
    as_kai = kai.Scheduler(as_kai=True)
    assert [each.pod for each in as_kai.plan(cluster, now=NOW).decisions] == [
        "a/other-0",
        "a/high-0",
    ]


# ---- pods that get their places in the same cycle ------------------------------------------------


def beside_a_later_partner() -> kai.Cluster:
    """a/second has to be near pods of its series, and not where a/first is. a/partner, which is
    younger, gives it a place."""
    series: Any = {"labels": {"app": "series"}}
    beside: Any = {**series, "affinity": {"app": "series"}}
    cluster = kai.Cluster().queue("a")
    cluster.node("n1", gpus=8, labels={"side": "left"})
    cluster.node("n2", gpus=8, labels={"side": "right"})
    cluster.running("a/first", gpus=1, node="n1", **beside)
    cluster.pending("a/second", gpus=1, node_selector={"side": "right"}, **beside)
    return cluster.pending("a/partner", gpus=1, node_selector={"side": "right"}, **series)


def test_nothing_moves_for_a_pod_whose_partner_got_its_place_after_it() -> None:
    cluster, scheduler = beside_a_later_partner(), kai.Scheduler()
    plan = scheduler.plan(cluster, now=NOW)
    assert [(each.kind, each.pod, each.node) for each in plan.decisions] == [
        ("bind", "a/partner-0", "n2"),
        ("pipeline", "a/second-0", "n2"),
    ]


# ---- gangs that lack pods ------------------------------------------------------------------------


@pytest.mark.parametrize(("minimum", "moves"), [(1, ["a/part-0"]), (2, [])])
def test_a_pod_whose_gang_lacks_pods_does_not_move(minimum: int, moves: list[str]) -> None:
    """It could not start again."""
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=4)
    cluster.running("a/part", gpus=2, node="n1", min_member=minimum)
    cluster.running("a/fixed", gpus=2, node="n2", preemptible=False)
    plan = kai.Scheduler().plan(cluster.pending("a/big", gpus=4), now=NOW)
    assert [each.pod for each in plan.evictions if each.action == "consolidation"] == moves
