"""A simulation of a recorded cluster begins with the plan of that cluster."""

from typing import Any

import pytest

import kai
from kai.sim.first_moment import workload_of
from kai.sim.simulate import simulate
from kai.sim.stay_ends import STAY_ENDS
from kai.verify import Case, default_cases, read_cases

CASES: dict[str, list[Case]] = {}
for _case in read_cases([default_cases()]):
    if _case.area != "large":
        CASES.setdefault(_case.area, []).append(_case)

EVICTED = ("reclaimed", "preempted", "consolidated", "stale")
NOW = "2026-01-01T12:00:00Z"


def cluster_of(case: Case) -> kai.Cluster:
    return kai.Cluster.from_snapshot(case.data["snapshot"], now=case.data.get("now") or NOW)


def first_cycle(cluster: kai.Cluster) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Pods on nodes after the first cycle of a simulation, and evicted pods."""
    workload = workload_of(cluster)
    assert workload.first is not None
    timeline = simulate(workload, until_s=0)
    assert timeline.cycles == 1, timeline.cycles
    pods = {
        name: [f"{name.split('/')[0]}/{pod[0]}" for pod in its]
        for name, _, _, _, its in workload.first.groups
    }
    stays = timeline.stays
    on, evicted = {}, []
    for job, pod, node, end in zip(
        stays["job"], stays["pod"], stays["node"], stays["end"], strict=True
    ):
        name = pods[workload.jobs.name[job]][pod]
        if STAY_ENDS[end] == "simulation_ends":
            on[name] = timeline.node_names[node]
        elif STAY_ENDS[end] in EVICTED:
            evicted.append((name, timeline.node_names[node]))
    return on, evicted


def planned(cluster: kai.Cluster) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The same of a plan."""
    first = workload_of(cluster).first
    assert first is not None
    leaving = {
        f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"
        for pod in cluster.objects["pods"]
        if pod["metadata"].get("deletionTimestamp")
    }
    on: dict[str, str] = {}
    for name, _, _, _, pods in first.groups:
        on |= {f"{name.split('/')[0]}/{pod}": node for pod, node, _ in pods if node}
    known = {f"{group[0].split('/')[0]}/{pod[0]}" for group in first.groups for pod in group[4]}
    evicted = []
    for decision in kai.Scheduler().plan(cluster).decisions:
        each: Any = decision
        if each.pod not in known:
            continue
        if each.kind == "bind":
            on[each.pod] = each.node
        elif each.kind == "evict" and each.pod in on and each.pod not in leaving:
            evicted.append((each.pod, on.pop(each.pod)))
    return {pod: node for pod, node in on.items() if pod not in leaving}, evicted


@pytest.mark.parametrize("area", CASES)
def test_the_first_cycle_equals_the_plan(area: str) -> None:
    compared = 0
    for case in CASES[area]:
        cluster = cluster_of(case)
        if not cluster._core_cluster().can_follow():
            continue  # it names an object twice
        got = first_cycle(cluster)
        on, evicted = planned(cluster)
        assert got[0] == on, case.id
        assert sorted(got[1]) == sorted(evicted), case.id
        compared += 1
    assert compared > 0
