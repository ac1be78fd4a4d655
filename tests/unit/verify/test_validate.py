"""The validator rejects every plan that could not be carried out, and names the rule."""

from typing import Any

import pytest
from situations import HOST, NOW, Situation, bind, evict, pipeline


def situation() -> Situation:
    return Situation().queue("q")


def test_a_good_plan_violates_nothing() -> None:
    good = (
        situation()
        .node("n1", 2)
        .pod("run", "n1")
        .pod("old", "n1")
        .pod("a", requests={"cpu": "4"})
        .pod("b")
    )
    assert good.broken(bind("a", "n1"), evict("old"), pipeline("b", "n1")) == []


# --- single decisions ----------------------------------------------------------------------------


def test_unknown_pods_and_nodes_are_violations() -> None:
    here = situation().node("n1").pod("a")
    assert here.broken(bind("x", "n1")) == ["decision: pod ns/x is not in the cluster"]
    assert here.broken(bind("a", "n9")) == ["decision: pod ns/a: there is no node n9"]


def test_a_running_pod_cannot_be_bound() -> None:
    here = situation().node("n1", 4).pod("a", "n1")
    assert here.broken(bind("a", "n1")) == ["decision: pod ns/a is Running, it cannot be bound"]


def test_a_pod_cannot_be_bound_twice() -> None:
    here = situation().node("n1", 4).pod("a")
    (text,) = here.broken(bind("a", "n1"), bind("a", "n1"))
    assert text == "decision: pod ns/a is Binding, it cannot be bound"


def test_a_gated_pod_cannot_be_bound() -> None:
    here = situation().node("n1").pod("a", schedulingGates=[{"name": "x"}])
    assert here.broken(bind("a", "n1")) == ["decision: pod ns/a is Gated, it cannot be bound"]


def test_a_waiting_pod_cannot_be_evicted() -> None:
    here = situation().node("n1").pod("a")
    assert here.broken(evict("a")) == ["decision: pod ns/a is Pending, it cannot be evicted"]


def test_pods_of_other_schedulers_cannot_be_placed() -> None:
    here = situation().node("n1").pod("a", schedulerName="default-scheduler")
    assert here.broken(bind("a", "n1")) == ["decision: pod ns/a belongs to another scheduler"]


def test_a_terminating_pod_may_be_pipelined_to_another_node() -> None:
    here = situation().node("n1").node("n2").pod("a", "n1", deletionTimestamp=NOW).pod("b")
    assert here.broken(pipeline("a", "n2"), pipeline("b", "n1")) == []
    (text,) = here.broken(pipeline("a", "n1"))
    assert text == "decision: pod ns/a is Releasing, it cannot be pipelined"
    (text,) = here.broken(pipeline("a", "n2"), bind("b", "n1"))
    assert text == "capacity: node n1 has 1 gpu, its pods take 2"


# --- capacity ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "named", "amount", "have", "need"),
    [
        ("nvidia.com/gpu", "gpu", "2", "1", "2"),
        ("cpu", "cpu", "8500m", "8", "8.5"),
        ("memory", "memory", "65Gi", "68719476736", "69793218560"),
        ("example.com/nic", "example.com/nic", "1", "0", "1"),
    ],
)
def test_a_node_is_not_over_committed(
    resource: str, named: str, amount: str, have: str, need: str
) -> None:
    here = situation().node("n1").pod("a", requests={resource: amount})
    assert here.broken(bind("a", "n1")) == [
        f"capacity: node n1 has {have} {named}, its pods take {need}"
    ]


def test_running_pods_count() -> None:
    here = situation().node("n1").pod("run", "n1").pod("a")
    assert here.broken(bind("a", "n1")) == ["capacity: node n1 has 1 gpu, its pods take 2"]


def test_pods_of_other_schedulers_count() -> None:
    here = situation().node("n1").pod("run", "n1", schedulerName="other").pod("a")
    assert here.broken(bind("a", "n1")) == ["capacity: node n1 has 1 gpu, its pods take 2"]


def test_room_of_an_evicted_pod_is_not_free_yet() -> None:
    here = situation().node("n1").pod("run", "n1").pod("a")
    assert here.broken(evict("run"), bind("a", "n1")) == [
        "capacity: node n1 has 1 gpu, its pods take 2"
    ]
    assert here.broken(evict("run"), pipeline("a", "n1")) == []


def test_pipelined_pods_may_use_only_releasing_room() -> None:
    here = situation().node("n1", 2).pod("run", "n1").pod("old", "n1").pod("a").pod("b")
    assert here.broken(evict("old"), pipeline("a", "n1"), pipeline("b", "n1")) == [
        "capacity: node n1 has 2 gpu, its pods take 3 once everything leaving it has left"
    ]


def test_a_stuck_terminating_pod_frees_no_room() -> None:
    stuck = "2026-01-01T11:00:00Z"
    here = situation().node("n1").pod("run", "n1", deletionTimestamp=stuck).pod("a")
    assert here.broken(pipeline("a", "n1")) == [
        "capacity: node n1 has 1 gpu, its pods take 2 once everything leaving it has left"
    ]


def test_pod_slots_are_a_resource() -> None:
    here = situation().node("n1", 4, allocatable={"pods": "1"}).pod("run", "n1").pod("a")
    assert here.broken(bind("a", "n1")) == ["capacity: node n1 has 1 pods, its pods take 2"]


def test_initialisation_and_overhead_count() -> None:
    here = (
        situation()
        .node("n1")
        .pod(
            "a",
            requests={"cpu": "1"},
            initContainers=[
                {"resources": {"requests": {"cpu": "2"}}, "restartPolicy": "Always"},
                {"resources": {"requests": {"cpu": "6"}}},
            ],
            overhead={"cpu": "500m"},
        )
    )
    assert here.broken(bind("a", "n1")) == ["capacity: node n1 has 8 cpu, its pods take 8.5"]


def test_an_untouched_node_is_not_checked() -> None:
    here = situation().node("n1").pod("x", "n1").pod("y", "n1").node("n2").pod("a")
    assert here.broken(bind("a", "n2")) == []


# --- shared devices ------------------------------------------------------------------------------


def half(**more: str) -> dict[str, Any]:
    return {"requests": {}, "annotations": {"gpu-fraction": "0.5", **more}}


def test_a_shared_device_is_not_over_committed() -> None:
    here = situation().node("n1")
    here.pod("a", **half()).pod("b", **half()).pod("c", **half())
    assert here.broken(bind("a", "n1", "g"), bind("b", "n1", "g")) == []
    assert here.broken(bind("a", "n1", "g"), bind("b", "n1", "g"), bind("c", "n1", "g")) == [
        "device: device g of node n1 is given out 1.5 times"
    ]


def test_a_shared_device_is_one_device_of_the_node() -> None:
    here = situation().node("n1").pod("run", "n1").pod("a", **half())
    assert here.broken(bind("a", "n1", "g")) == ["capacity: node n1 has 1 gpu, its pods take 2"]


def test_memory_of_a_shared_device_counts() -> None:
    here = situation().node("n1")
    here.pod("a", requests={}, annotations={"gpu-memory": "6000"})
    here.pod("b", requests={}, annotations={"gpu-memory": "5000"})
    assert here.broken(bind("a", "n1", "g"), bind("b", "n1", "g")) == [
        "device: device g of node n1 is given out 1.1 times"
    ]


def test_a_pod_gets_as_many_devices_as_it_requests() -> None:
    here = situation().node("n1", 4).pod("a", **half(**{"gpu-fraction-num-devices": "2"}))
    assert here.broken(bind("a", "n1", "g", "h")) == []
    assert here.broken(bind("a", "n1", "g")) == ["device: pod ns/a requests 2 devices, but has 1"]


# --- rules of nodes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ({"unschedulable": True}, "node n1 is cordoned"),
        ({"conditions": [{"type": "Ready", "status": "False"}]}, "node n1 is not ready"),
        (
            {
                "conditions": [
                    {"type": "Ready", "status": "True"},
                    {"type": "DiskPressure", "status": "Unknown"},
                ]
            },
            "node n1 has DiskPressure",
        ),
        (
            {"labels": {"kai.scheduler/node-pool": "other"}},
            "node n1 belongs to another node pool",
        ),
    ],
)
def test_the_state_of_a_node_counts(node: dict[str, Any], text: str) -> None:
    here = situation().node("n1", **node).pod("a")
    assert here.broken(bind("a", "n1")) == [f"node: pod ns/a: {text}"]


def test_node_selectors_count() -> None:
    here = situation().node("n1", labels={"zone": "a"})
    here.pod("a", nodeSelector={"zone": "b"})
    assert here.broken(bind("a", "n1")) == [
        "node: pod ns/a: its node selector does not match node n1"
    ]


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [
        ("In", ["a", "b"], True),
        ("In", ["b"], False),
        ("NotIn", ["a"], False),
        ("NotIn", ["b"], True),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
        ("Gt", ["3"], False),
        ("Lt", ["3"], False),
    ],
)
def test_node_affinity_counts(operator: str, values: list[str], *, fits: bool) -> None:
    expression = {"key": "zone", "operator": operator, "values": values}
    term = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
    here = situation().node("n1", labels={"zone": "a"}).pod("a", affinity=affinity)
    text = "node: pod ns/a: its node affinity does not match node n1"
    assert here.broken(bind("a", "n1")) == ([] if fits else [text])


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "dedicated", "operator": "Equal", "value": "ml"}, True),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "dedicated", "value": "web"}, False),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_taints_count(toleration: dict[str, str], *, fits: bool) -> None:
    taints = [
        {"key": "dedicated", "value": "ml", "effect": "NoSchedule"},
        {"key": "slow", "effect": "PreferNoSchedule"},
    ]
    here = situation().node("n1", taints=taints).pod("a", tolerations=[toleration])
    text = "node: pod ns/a does not tolerate taint dedicated of node n1"
    assert here.broken(bind("a", "n1")) == ([] if fits else [text])


def test_host_ports_count() -> None:
    port = [{"containerPort": 80, "hostPort": 8080}]
    here = situation().node("n1", 4).pod("run", "n1", ports=port).pod("a", ports=port)
    assert here.broken(bind("a", "n1")) == [
        "node: pod ns/a: port 8080 of node n1 belongs to pod ns/run"
    ]


# --- pods near pods ------------------------------------------------------------------------------


def near(kind: str, **labels: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOST}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_anti_affinity_of_the_new_pod_counts() -> None:
    here = situation().node("n1", 4).pod("run", "n1", labels={"app": "x"})
    here.pod("a", affinity=near("podAntiAffinity", app="x"))
    assert here.broken(bind("a", "n1")) == ["affinity: pod ns/a on node n1 is too near pod ns/run"]


def test_anti_affinity_of_the_running_pod_counts() -> None:
    here = situation().node("n1", 4).pod("run", "n1", affinity=near("podAntiAffinity", app="x"))
    here.pod("a", labels={"app": "x"})
    assert here.broken(bind("a", "n1")) == ["affinity: pod ns/a on node n1 is too near pod ns/run"]


def test_affinity_needs_a_pod_near() -> None:
    here = situation().node("n1", 4).node("n2", 4).pod("run", "n1", labels={"app": "x"})
    here.pod("a", affinity=near("podAffinity", app="x"))
    assert here.broken(bind("a", "n1")) == []
    assert here.broken(bind("a", "n2")) == [
        "affinity: pod ns/a: no pod it wants to be near is near node n2"
    ]


def test_the_first_pod_with_its_own_affinity_may_be_alone() -> None:
    here = (
        situation().node("n1").pod("a", labels={"app": "x"}, affinity=near("podAffinity", app="x"))
    )
    assert here.broken(bind("a", "n1")) == []


# --- gangs ---------------------------------------------------------------------------------------


def gang(minimum: int, pods: int, running: int = 0) -> Situation:
    here = situation().node("n1", 8).group("g", minMember=minimum)
    for number in range(pods):
        here.pod(f"g-{number}", "n1" if number < running else "", "g")
    return here


def test_a_gang_is_placed_completely() -> None:
    assert gang(2, 3).broken(bind("g-0", "n1"), bind("g-1", "n1")) == []
    assert gang(2, 3).broken(bind("g-0", "n1")) == [
        "gang: group default/g is placed below its minimum: 1 of 2"
    ]


def test_a_running_part_of_a_gang_counts() -> None:
    assert gang(2, 2, running=1).broken(bind("g-1", "n1")) == []


def test_succeeded_pods_count_for_their_gang() -> None:
    here = gang(2, 1).pod("g-9", "n1", "g", phase="Succeeded")
    assert here.broken(bind("g-0", "n1")) == []
    assert here.broken(bind("g-0", "n1"), as_kai=True) == [
        "gang: group default/g is placed below its minimum: 1 of 2"
    ]


def test_succeeded_pods_count_when_a_gang_is_evicted() -> None:
    here = gang(2, 2, running=2).pod("g-9", "n1", "g", phase="Succeeded")
    assert here.broken(evict("g-0"), evict("g-1")) == []
    assert here.broken(evict("g-0")) == []  # the other one and the succeeded one are two


def test_a_moved_gang_needs_only_its_earlier_size() -> None:
    here = gang(3, 2, running=2).node("n2", 8).group("want").pod("want-0", "", "want")
    moved = [evict("g-1", "consolidation", "want"), pipeline("want-0", "n1")]
    assert here.broken(*moved, pipeline("g-1", "n2")) == []


def test_a_gang_is_not_bound_in_part_while_the_rest_waits() -> None:
    here = gang(2, 2)
    here.node("n2").pod("old", "n2")
    assert here.broken(evict("old"), bind("g-0", "n1"), pipeline("g-1", "n2")) == [
        "gang: group default/g is bound in part while the rest of its minimum of 2 waits for room"
    ]


def test_a_gang_is_not_left_running_below_its_minimum() -> None:
    assert gang(2, 3, running=3).broken(evict("g-2")) == []
    assert gang(2, 2, running=2).broken(evict("g-0"), evict("g-1")) == []
    assert gang(2, 2, running=2).broken(evict("g-1")) == [
        "gang: group default/g is left running below its minimum: 1 of 2"
    ]


def test_sub_groups_have_minima_of_their_own() -> None:
    here = situation().node("n1", 8)
    sub_groups = [{"name": "lead", "minMember": 1}, {"name": "work", "minMember": 2}]
    here.group("g", subGroups=sub_groups)
    for number, part in enumerate(["lead", "work", "work"]):
        here.pod(f"g-{number}", "", "g", labels={"kai.scheduler/subgroup-name": part})
    assert here.broken(*(bind(f"g-{number}", "n1") for number in range(3))) == []
    assert here.broken(bind("g-0", "n1"), bind("g-1", "n1")) == [
        "gang: group default/g is placed below its minimum: 1 of 2 in work"
    ]


def test_a_required_topology_level_holds_for_the_whole_group() -> None:
    here = situation().node("n1", labels={"rack": "a"}).node("n2", labels={"rack": "b"})
    here.objects["topologies"] = [
        {"metadata": {"name": "site"}, "spec": {"levels": [{"nodeLabel": "rack"}]}}
    ]
    here.group(
        "g", minMember=2, topologyConstraint={"topology": "site", "requiredTopologyLevel": "rack"}
    )
    here.pod("g-0", "", "g").pod("g-1", "", "g")
    assert here.broken(bind("g-0", "n1"), bind("g-1", "n2")) == [
        "topology: group default/g needs one rack, it is spread over a and b"
    ]


# --- queues --------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["q", "department"])
def test_limits_are_checked_on_every_level(level: str) -> None:
    limits = {level: {"gpu": {"limit": 1}}}
    here = Situation().queue("department", **limits.get("department", {}))
    here.queue("q", "department", **limits.get("q", {}))
    here.node("n1", 8).pod("run", "n1").pod("a")
    assert here.broken(bind("a", "n1")) == [f"limit: queue {level} has 2 gpu, its limit is 1"]


@pytest.mark.parametrize(
    ("resource", "limit", "have"),
    [
        ("cpu", 1500, "2 cpu, its limit is 1.5"),
        ("memory", 1, "2000000 memory, its limit is 1000000"),
    ],
)
def test_limits_are_in_the_units_of_queues(resource: str, limit: float, have: str) -> None:
    here = Situation().queue("q", **{resource: {"limit": limit}}).node("n1")
    here.pod("a", requests={"cpu": "2", "memory": "2M"})
    assert here.broken(bind("a", "n1")) == [f"limit: queue q has {have}"]


@pytest.mark.parametrize(("in_parts", "broken"), [(False, True), (True, False)])
def test_slices_count_in_limits_as_configured(in_parts: bool, broken: bool) -> None:
    """3g.20gb counts as 3 GPUs or, with countMigAsParts, as 3/7."""
    name = "nvidia.com/mig-3g.20gb"
    here = Situation().queue("q", gpu={"limit": 1}).pod("a", requests={name: "1"})
    here.node("n1", 0, allocatable={name: "2"}, labels={"nvidia.com/mig.strategy": "mixed"})
    found = here.broken(bind("a", "n1"), schedulerParams={"countMigAsParts": in_parts})
    assert found == (["limit: queue q has 3 gpu, its limit is 1"] if broken else [])


def test_a_queue_without_resources_has_limit_zero() -> None:
    here = Situation().node("n1").pod("a")
    here.objects["queues"].append({"metadata": {"name": "q"}, "spec": {}})
    assert here.broken(bind("a", "n1")) == ["limit: queue q has 1 gpu, its limit is 0"]


def test_non_preemptible_pods_stay_within_the_quota() -> None:
    here = Situation().queue("q", gpu={"quota": 1}).node("n1", 8)
    here.group("fixed", preemptibility="non-preemptible", minMember=0)
    here.pod("run", "n1", "fixed").pod("a", "", "fixed").pod("b")
    assert here.broken(bind("b", "n1")) == []
    assert here.broken(bind("a", "n1")) == [
        "quota: queue q has 2 gpu that cannot be preempted, its quota is 1"
    ]


def test_a_high_priority_makes_a_group_non_preemptible() -> None:
    here = Situation().queue("q", gpu={"quota": 0}).node("n1").group("g", priorityClassName="build")
    here.objects["priorityClasses"].append({"metadata": {"name": "build"}, "value": 100})
    here.pod("a", "", "g")
    assert here.broken(bind("a", "n1")) == [
        "quota: queue q has 1 gpu that cannot be preempted, its quota is 0"
    ]


def test_evicted_pods_do_not_count() -> None:
    here = Situation().queue("q", gpu={"limit": 1}).node("n1", 8).pod("run", "n1").pod("a")
    assert here.broken(evict("run"), bind("a", "n1")) == []


def test_a_queue_without_new_pods_may_exceed_its_limit() -> None:
    here = Situation().queue("q", gpu={"limit": 0}).queue("r").node("n1", 8).pod("run", "n1")
    here.group("other", queue="r").pod("a", "", "other")
    assert here.broken(bind("a", "n1")) == []
