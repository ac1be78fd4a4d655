"""No protected pod is evicted: the validator finds each rule that a plan breaks."""

from typing import Any

import pytest
from situations import Situation, bind, evict, pipeline

SUBGROUP = "kai.scheduler/subgroup-name"
STARTED = "kai.scheduler/last-start-timestamp"
BIG = {"nvidia.com/gpu.memory": "80000"}
STALE = "kai.scheduler/stale-podgroup-timestamp"
RECENT, LONG_AGO = "2026-01-01T11:59:00Z", "2025-01-01T00:00:00Z"


def two_queues(**victim: Any) -> Situation:
    """A node with two GPUs, both used by queue q; a pod of queue p waits."""
    here = Situation().queue("q", gpu={"quota": 1}).queue("p", gpu={"quota": 1})
    here.node("n1", 2).group("run", minMember=0, **victim).group("want", queue="p")
    return here.pod("run-0", "n1", "run").pod("run-1", "n1", "run").pod("want-0", "", "want")


def taken(action: str, *pods: str, for_group: str = "want") -> list[Any]:
    return [*(evict(pod, action, for_group) for pod in pods), pipeline("want-0", "n1")]


BORROWED = {"q": (1, 1, 2), "p": (1, 1, 0)}


def test_a_queue_may_reclaim_up_to_its_deserved_amount() -> None:
    assert two_queues().broken(*taken("reclaim", "run-1"), gpus=BORROWED) == []


def test_one_plan_does_not_place_and_evict_a_pod() -> None:
    here = Situation().queue("q").node("n1", 2).pod("a").pod("b")
    bound = [bind("a", "n1"), evict("a"), bind("b", "n1")]
    assert here.broken(*bound) == ["decision: pod ns/a is bound and evicted by one plan"]
    assert here.broken(*bound, as_kai=True) == []
    promised = [pipeline("a", "n1"), evict("a")]
    assert here.broken(*promised) == ["decision: pod ns/a is pipelined and evicted by one plan"]


def test_no_pod_is_evicted_twice() -> None:
    here = Situation().queue("q").node("n1").pod("a", "n1")
    twice = [evict("a"), evict("a")]
    assert here.broken(*twice) == ["decision: pod ns/a is Releasing, it cannot be evicted"]
    assert here.broken(*twice, as_kai=True) == []


@pytest.mark.parametrize("action", ["reclaim", "preempt", "consolidation"])
def test_a_non_preemptible_group_is_not_a_victim(action: str) -> None:
    here = two_queues(preemptibility="non-preemptible")
    text = f"victim: {action} takes from group default/run, which cannot be preempted"
    assert text in here.broken(*taken(action, "run-1"))


def test_a_group_with_victims_is_placed() -> None:
    assert two_queues().broken(evict("run-1", "reclaim", "want")) == [
        "victim: reclaim evicts for group default/want, and that group gets nothing"
    ]
    assert two_queues().broken(evict("run-1", "reclaim", "missing")) == [
        "victim: reclaim evicts for group default/missing, which is not in the cluster"
    ]


def test_a_group_within_its_preemption_delay_evicts_no_pod() -> None:
    here = two_queues()
    wants = here.objects["podGroups"][1]
    wants["spec"]["preemptionDelay"] = "5m"
    assert here.broken(*taken("reclaim", "run-1")) == []
    wants["metadata"]["creationTimestamp"] = RECENT
    assert here.broken(*taken("reclaim", "run-1")) == [
        "victim: group default/want is within its preemption delay: it must not evict pods"
    ]


def test_a_queue_without_running_pods_has_no_victims() -> None:
    here = two_queues().queue("child", "q")
    assert here.broken(*taken("reclaim", "run-1")) == [
        "victim: reclaim takes from group default/run, whose queue q can run nothing"
    ]


# --- which groups each action takes from ---------------------------------------------------------


def one_queue(low: int, high: int) -> Situation:
    here = Situation().queue("q").priority("low", low).priority("high", high).node("n1")
    here.group("run", priorityClassName="low").pod("run-0", "n1", "run")
    return here.group("want", priorityClassName="high").pod("want-0", "", "want")


def test_preemption_evicts_only_lower_priorities() -> None:
    assert one_queue(50, 51).broken(*taken("preempt", "run-0")) == []
    assert one_queue(50, 50).broken(*taken("preempt", "run-0")) == [
        "victim: preempt takes from group default/run, which has no lower priority than "
        "default/want"
    ]


def test_preemption_stays_in_its_queue() -> None:
    assert two_queues().broken(*taken("preempt", "run-1")) == [
        "victim: preempt takes from group default/run, which is in queue q, not in p"
    ]


def test_reclaim_evicts_only_from_other_queues() -> None:
    assert one_queue(50, 60).broken(*taken("reclaim", "run-0")) == [
        "victim: reclaim takes from group default/run, which is in the same queue as default/want"
    ]


def test_consolidation_places_every_victim_again() -> None:
    here = two_queues().node("n2")
    moved = [evict("run-1", "consolidation", "want"), pipeline("want-0", "n1")]
    assert here.broken(*moved, pipeline("run-1", "n2")) == []
    assert here.broken(*moved) == [
        "victim: consolidation for group default/want loses pod ns/run-1"
    ]


def test_consolidation_moves_no_more_groups_than_allowed() -> None:
    here = Situation().queue("q").node("n1", 2).node("n2", 2)
    here.pod("a", "n1").pod("b", "n1").group("want").pod("want-0", "", "want")
    moves = [evict("a", "consolidation", "want"), evict("b", "consolidation", "want")]
    moves += [pipeline("want-0", "n1"), pipeline("a", "n2"), pipeline("b", "n2")]
    assert here.broken(*moves) == []
    for most, as_kai in ((1, False), (0, True)):
        params = {"maxNumberConsolidationPreemptees": most}
        assert here.broken(*moves, schedulerParams=params, as_kai=as_kai) == [
            f"victim: consolidation for group default/want moves 2 groups, of at most {most}"
        ]
    for most, as_kai in ((2, False), (1, True), (-1, False)):
        params = {"maxNumberConsolidationPreemptees": most}
        assert here.broken(*moves, schedulerParams=params, as_kai=as_kai) == []


# --- gangs ---------------------------------------------------------------------------------------


def replicas(**spec: Any) -> Situation:
    """Two replicas of two pods each, all running."""
    here = Situation().queue("q").node("n1", 4)
    subgroups = [{"name": name, "minMember": 2} for name in ("one", "two")]
    here.group("run", subGroups=subgroups, **spec)
    for number in range(4):
        part = {SUBGROUP: "one" if number < 2 else "two"}
        here.pod(f"run-{number}", "n1", "run", labels=part)
    return here


def test_a_gang_is_evicted_completely_or_keeps_its_minimum() -> None:
    assert replicas().broken(*(evict(f"run-{number}") for number in range(4))) == []
    assert replicas().broken(evict("run-2"), evict("run-3")) == [
        "gang: group default/run is left running below its minimum: 0 of 2 in two"
    ]


def test_an_optional_sub_group_is_evicted_completely_too() -> None:
    assert replicas(minSubGroup=1).broken(evict("run-2"), evict("run-3")) == []
    assert replicas(minSubGroup=1).broken(evict("run-3")) == [
        "gang: sub-group two of group default/run is left running below its minimum: 1 of 2 in two"
    ]


def test_pipelined_pods_count_for_capacity() -> None:
    here = two_queues().group("more", queue="p").pod("more-0", "", "more")
    both = [evict("run-1", "reclaim", "want"), pipeline("want-0", "n1"), pipeline("more-0", "n1")]
    assert here.broken(*both) == [
        "capacity: node n1 has 2 gpu, its pods take 3 once everything leaving it has left"
    ]


# --- minimum run time ----------------------------------------------------------------------------


@pytest.mark.parametrize("started", [RECENT, LONG_AGO, "soon"])
@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_a_minimum_run_time_protects_a_group(action: str, started: str) -> None:
    here = Situation().priority("high", 60).node("n1", 1)
    here.queue("q", preemptMinRuntime="1h", reclaimMinRuntime="1h").queue("p")
    here.group("run", annotations={STARTED: started}).pod("run-0", "n1", "run")
    queue = "q" if action == "preempt" else "p"
    here.group("want", queue=queue, priorityClassName="high").pod("want-0", "", "want")
    text = f"runtime: {action} takes from group default/run, which runs for less than 1:00:00"
    assert here.broken(*taken(action, "run-0")) == ([text] if started == RECENT else [])


def test_an_elastic_group_keeps_its_minimum_within_its_minimum_run_time() -> None:
    here = Situation().queue("q", reclaimMinRuntime="1h").queue("p").node("n1", 3)
    here.group("run", minMember=1, annotations={STARTED: RECENT}).group("want", queue="p")
    here.pod("run-0", "n1", "run").pod("run-1", "n1", "run").pod("want-0", "", "want")
    assert here.broken(*taken("reclaim", "run-1")) == []
    assert here.broken(*taken("reclaim", "run-1", "run-0")) == [
        "runtime: reclaim leaves 0 of 1 pods to group default/run, which runs for less than 1:00:00"
    ]


@pytest.mark.parametrize(
    ("pending", "victim", "protected"),
    [("leaf1", "leaf3", False), ("leaf1", "leaf2", True), ("leaf3", "leaf1", True)],
)
def test_the_minimum_run_time_depends_on_the_branch_of_the_victim(
    pending: str, victim: str, *, protected: bool
) -> None:
    """The table of spec 1 F105, with minimum run times around the two minutes since the start."""
    here = Situation().queue("a").queue("b", "a", reclaimMinRuntime="600s")
    here.queue("c", "b").queue("d", "b", reclaimMinRuntime="60s").queue("leaf3", "d")
    here.queue("leaf1", "c", reclaimMinRuntime="0s").queue("leaf2", "c", reclaimMinRuntime="180s")
    here.node("n1").group("run", queue=victim, annotations={STARTED: "2026-01-01T11:58:00Z"})
    here.pod("run-0", "n1", "run").group("want", queue=pending).pod("want-0", "", "want")
    assert bool(here.broken(*taken("reclaim", "run-0"))) == protected


@pytest.mark.parametrize(
    ("arguments", "protected"),
    [
        ({"defaultReclaimMinRuntime": "1d"}, True),
        ({"defaultReclaimMinRuntime": "-1d"}, False),
        ({"defaultReclaimMinRuntime": "soon"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_the_plugin_sets_the_default_minimum_run_time(
    arguments: dict[str, str] | None, *, protected: bool
) -> None:
    here = Situation().queue("q").queue("p").node("n1")
    here.group("run", annotations={STARTED: RECENT}).pod("run-0", "n1", "run")
    here.group("want", queue="p").pod("want-0", "", "want")
    name = "minruntime" if arguments is not None else "other"
    config = {"tiers": [{"plugins": [{"name": name, "arguments": arguments}]}]}
    assert bool(here.broken(*taken("reclaim", "run-0"), config=config)) == protected


# --- reclaim: what queues may lose ---------------------------------------------------------------


def test_a_queue_reclaims_no_more_than_its_fair_share() -> None:
    assert two_queues().broken(*taken("reclaim", "run-1"), gpus={**BORROWED, "p": (0, 0, 0)}) == [
        "reclaim: reclaim for group default/want: queue p would have 1 gpu, its fair share is 0",
        "reclaim: reclaim for group default/want takes gpu from queue q until p is the more "
        "saturated one",
    ]


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ({"q": (1, 2, 2), "p": (0, 1, 0)}, "fair share"),  # the victim within its fair share
        ({"q": (2, 2, 2), "p": (1, 1, 0)}, "quota"),
    ],
)
def test_a_queue_within_its_protected_amount_has_no_victims(
    numbers: dict[str, tuple[float, float, float]], why: str
) -> None:
    assert two_queues().broken(*taken("reclaim", "run-1"), gpus=numbers) == [
        f"reclaim: reclaim for group default/want takes from group default/run, although queue q "
        f"is not past its {why} any more"
    ]


def test_each_elastic_pod_is_checked_separately() -> None:
    here = two_queues()
    here.objects["podGroups"][1]["spec"]["minMember"] = 2
    here.pod("want-1", "", "want")
    both = [*taken("reclaim", "run-1", "run-0"), pipeline("want-1", "n1")]
    numbers = {"q": (1, 1, 2), "p": (1, 2, 0)}
    assert here.broken(*both, gpus=numbers) == [
        "reclaim: reclaim for group default/want takes from group default/run, although queue q is "
        "not past its fair share any more"
    ]
    here.objects["podGroups"][0]["spec"]["minMember"] = 2  # a gang is one piece
    assert here.broken(*both, gpus=numbers) == []


def test_parent_queues_are_checked_where_two_branches_part() -> None:
    here = Situation().node("n1", 2)
    for name in ("q", "p"):
        here.queue(f"{name}-team").queue(name, f"{name}-team")
    here.group("run", minMember=0).pod("run-0", "n1", "run").pod("run-1", "n1", "run")
    here.group("want", queue="p").pod("want-0", "", "want")
    leaves = {"q": (0, 0, 2), "p": (1, 1, 0), "p-team": (1, 1, 0)}
    assert here.broken(*taken("reclaim", "run-1"), gpus={**leaves, "q-team": (1, 1, 2)}) == []
    assert here.broken(*taken("reclaim", "run-1"), gpus={**leaves, "q-team": (2, 2, 2)}) == [
        "reclaim: reclaim for group default/want takes from group default/run, although queue "
        "q-team is not past its quota any more"
    ]


def test_parents_of_sibling_queues_are_not_checked() -> None:
    here = Situation().node("n1", 2).queue("team", gpu={"quota": 2}).queue("q", "team")
    here.queue("p", "team").group("run", minMember=0).group("want", queue="p")
    here.pod("run-0", "n1", "run").pod("run-1", "n1", "run").pod("want-0", "", "want")
    numbers = {"q": (1, 1, 2), "p": (1, 1, 0), "team": (2, 2, 2)}
    flat = {"fullHierarchyFairness": False, "allowConsolidatingReclaim": True}
    assert here.broken(*taken("reclaim", "run-1"), gpus=numbers, schedulerParams=flat) == []
    within = {**numbers, "q": (2, 2, 2)}
    assert len(here.broken(*taken("reclaim", "run-1"), gpus=within, schedulerParams=flat)) == 1


def test_gpu_memory_counts_as_part_of_the_smallest_device() -> None:
    here = Situation().queue("q").queue("p").node("n1").node("n2", labels=BIG)
    here.pod("run-0", "n1", "run").group("run").group("want", queue="p")
    here.pod("want-0", "", "want", requests={}, annotations={"gpu-memory": "4000"})
    plan = [evict("run-0", "reclaim", "want"), pipeline("want-0", "n1", "new:n1:0")]
    assert here.broken(*plan, gpus={"q": (0, 0, 1), "p": (0, 0.4, 0)}) == []
    assert here.broken(*plan, gpus={"q": (0, 0, 1), "p": (0, 0.3, 0)})[0] == (
        "reclaim: reclaim for group default/want: queue p would have 0.4 gpu, its fair share is 0.3"
    )


def test_a_moved_pod_is_not_lost_by_default() -> None:
    here = two_queues().node("n2")
    moved = [*taken("reclaim", "run-1"), pipeline("run-1", "n2")]
    within = {"q": (2, 2, 2), "p": (1, 1, 0)}
    assert here.broken(*moved, gpus=within) == []
    strict = {"allowConsolidatingReclaim": False}
    assert len(here.broken(*moved, gpus=within, schedulerParams=strict)) == 1


@pytest.mark.parametrize(("multiplier", "accepted"), [("1", True), ("1.6", False), ("x", True)])
def test_saturation_is_compared_at_every_level(multiplier: str, *, accepted: bool) -> None:
    """The example of spec 1 F95: 5/4 after reclaiming, and 6/3 left."""
    here = Situation().queue("d1").queue("p", "d1").queue("d2").node("n1", 12)
    for number in range(7):
        here.pod(f"run-{number}", "n1", f"run-{number}").group(f"run-{number}", queue="d2")
    here.group("want", queue="p").pod("want-0", "", "want")
    numbers = {"d1": (4, 4, 4), "p": (4, 4, 0), "d2": (3, 3, 7)}
    config = {
        "tiers": [
            {
                "plugins": [
                    {
                        "name": "proportion",
                        "arguments": {"relcaimerSaturationMultiplier": multiplier},
                    }
                ]
            }
        ]
    }
    message = here.broken(*taken("reclaim", "run-6"), gpus=numbers, config=config)
    assert (message == []) == accepted
    assert all("more saturated" in text for text in message)


def test_earlier_decisions_of_the_plan_count() -> None:
    here = two_queues().group("first", queue="p").pod("first-0", "", "first").node("n2")
    plan = [bind("first-0", "n2"), *taken("reclaim", "run-1")]
    assert here.broken(*plan, gpus=BORROWED)[0] == (
        "reclaim: reclaim for group default/want: queue p would have 2 gpu, its fair share is 1"
    )


def test_pods_placed_later_without_victims_do_not_count() -> None:
    here = two_queues().node("n2").pod("want-1", "", "want")
    more = [*taken("reclaim", "run-1"), pipeline("want-1", "n2")]
    assert here.broken(*more, gpus=BORROWED) == []
    here.objects["podGroups"][1]["spec"]["minMember"] = 2  # both at once
    assert here.broken(*more, gpus=BORROWED)[0] == (
        "reclaim: reclaim for group default/want: queue p would have 2 gpu, its fair share is 1"
    )


# --- stale gangs ---------------------------------------------------------------------------------


def stale(running: int = 1, since: str | None = LONG_AGO, **spec: Any) -> Situation:
    here = Situation().queue("q").node("n1", 8)
    annotations = {} if since is None else {STALE: since}
    here.group("g", minMember=3, annotations=annotations, **spec)
    for number in range(running):
        here.pod(f"g-{number}", "n1", "g")
    return here


def gone(*pods: str) -> list[Any]:
    return [evict(pod, "stalegangeviction") for pod in pods]


def test_a_stale_gang_is_evicted_completely() -> None:
    assert stale(2).broken(*gone("g-0", "g-1")) == []
    assert stale(2).broken(*gone("g-0")) == [
        "stale: group default/g is evicted as stale, but pod ns/g-1 stays"
    ]


def test_a_moved_pod_of_a_stale_gang_counts_as_evicted() -> None:
    here = stale(2).node("n2").group("want").pod("want-0", "", "want")
    moved = [evict("g-1", "consolidation", "want"), pipeline("want-0", "n1"), pipeline("g-1", "n2")]
    assert here.broken(*moved, *gone("g-0")) == []


def test_a_gang_with_its_minimum_is_not_stale() -> None:
    pods = ["g-0", "g-1", "g-2"]
    assert stale(3).broken(*gone(*pods)) == [
        "stale: group default/g is evicted as stale, but it has its minimum"
    ]
    here = stale(1).pod("done", "n1", "g", phase="Succeeded")
    assert here.broken(*gone("g-0")) == [
        "stale: group default/g is evicted as stale, but a pod of it has succeeded"
    ]


@pytest.mark.parametrize(
    ("since", "spec", "params", "early"),
    [
        (LONG_AGO, {"stalenessGracePeriod": "1h"}, None, False),
        (RECENT, {"stalenessGracePeriod": "1h"}, None, True),
        (RECENT, {}, None, False),  # a minute ago, and a minute is the default
        (None, {}, None, True),
        (None, {"stalenessGracePeriod": "0s"}, None, False),
        (None, {}, {}, False),  # Go's zero
        (LONG_AGO, {"stalenessGracePeriod": "-1s"}, None, True),
        (RECENT, {}, {"globalDefaultStalenessGracePeriod": 61 * 10**9}, True),
    ],
)
def test_a_stale_gang_has_its_grace_period(
    since: str | None, spec: dict[str, str], params: dict[str, int] | None, *, early: bool
) -> None:
    more = {} if params is None else {"schedulerParams": params}
    text = "stale: group default/g is evicted as stale within its grace period"
    assert stale(since=since, **spec).broken(*gone("g-0"), **more) == ([text] if early else [])


def test_optional_pods_make_no_gang_stale() -> None:
    here = replicas(minSubGroup=1, annotations={STALE: LONG_AGO})
    for pod in here.objects["pods"][:1]:
        pod["status"]["phase"] = "Pending"
        del pod["spec"]["nodeName"]
    leaves = gone("run-1", "run-2", "run-3")
    assert here.broken(*leaves) == [
        "stale: group default/run is evicted as stale, but it has its minimum"
    ]
    assert here.broken(*leaves, as_kai=True) == []
