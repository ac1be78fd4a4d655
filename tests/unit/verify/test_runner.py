"""Which cases are judged, only reported, or not built: the case itself decides."""

import copy
import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kai.verify import Area, Case, Engine, Report, Result, run
from kai.verify.compare import Difference
from kai.verify.known import KNOWN_AS_KAI, why_known
from kai.verify.runner import SameObjects
from kai.verify.switches import TOGETHER

SHARE = {
    "deserved": None,
    "fair_share": 2.0,
    "limit": None,
    "allocated": 0.0,
    "allocated_non_preemptible": 0.0,
    "request": 1.0,
    "over_quota_weight": 1.0,
}


def bind(pod: str, node: str = "n1") -> SimpleNamespace:
    return SimpleNamespace(
        kind="bind", pod=pod, node=node, gpus=1, devices=None, portion=None, gpu_groups=()
    )


def pipeline(pod: str, node: str = "n1") -> SimpleNamespace:
    return SimpleNamespace(**{**bind(pod, node).__dict__, "kind": "pipeline"})


def evict(pod: str) -> SimpleNamespace:
    return SimpleNamespace(kind="evict", pod=pod, action="reclaim", for_group="ns/a")


def plan(*decisions: SimpleNamespace, needs: str = "", share: float = 2.0) -> SimpleNamespace:
    text = f"needs {needs}, which is not built yet"
    reasons = [SimpleNamespace(code="not_built", message=text, pod=None)] if needs else []
    group = SimpleNamespace(
        messages=(), reasons=reasons, verdict="placed", writes=SimpleNamespace(last_start=None)
    )
    numbers = SimpleNamespace(**{**SHARE, "fair_share": share})
    return SimpleNamespace(
        decisions=decisions,
        pod_groups={"ns/a": group},
        queues={"q": SimpleNamespace(gpu=numbers, cpu=numbers, memory=numbers)},
    )


def planner(*plans: SimpleNamespace) -> Callable[..., Any]:
    """Returns these plans one after the other, then the last one for ever."""
    waiting = list(plans)

    def answer(snapshot: Mapping[str, Any], *, now: str) -> Any:
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return answer


def snapshot(*, running: bool = False, actions: str = "allocate") -> dict[str, Any]:
    requests = {"resources": {"requests": {"nvidia.com/gpu": "1"}}}
    pod = {
        "metadata": {"name": "a-0", "namespace": "ns", "annotations": {"pod-group-name": "a"}},
        "spec": {
            "schedulerName": "kai-scheduler",
            "containers": [requests],
            **({"nodeName": "n1"} if running else {}),
        },
        "status": {"phase": "Running" if running else "Pending"},
    }
    held = {"allocatable": {"nvidia.com/gpu": "1", "pods": "10"}}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "config": {"actions": actions},
        "rawObjects": {
            "nodes": [
                {"metadata": {"name": name}, "status": {**held, **ready}} for name in ("n1", "n2")
            ],
            "queues": [{"metadata": {"name": "q"}, "spec": {"resources": {"gpu": {"limit": -1}}}}],
            "podGroups": [{"metadata": {"name": "a", "namespace": "ns"}, "spec": {"queue": "q"}}],
            "pods": [pod],
        },
    }


def case(kind: Any, data: dict[str, Any], area: str = "random/fairness") -> Case:
    return Case("it", area, kind, "it.json", lambda: copy.deepcopy(data))


def random_case(**more: Any) -> Case:
    queues = {"q": {"gpu": {"fairShare": 2}, "cpu": {"fairShare": 2000}}}
    expect = {"bind": {"ns/a-0": {"node": "n1", "gpus": 1}}, "queues": queues}
    return case("random", {"snapshot": snapshot(), "expect": expect, **more})


def test_an_equal_plan_agrees() -> None:
    result = run(random_case(), planner(plan(bind("ns/a-0"))))
    assert (result.verdict, result.queue_differences, result.failed) == ("agree", (), False)


def test_a_wrong_node_differs() -> None:
    result = run(random_case(), planner(plan(bind("ns/a-0", "n2"))))
    assert result.verdict == "differ"
    assert [str(d) for d in result.differences] == ["pod ns/a-0: bound to n2, KAI bound it to n1"]


def test_a_pod_has_to_be_evicted_before_it_is_moved() -> None:
    data = random_case().data
    data["snapshot"] = snapshot(running=True)
    move = {"action": "reclaim", "preemptor": "ns/a"}
    data["expect"] |= {
        "bind": {},
        "pipeline": {"ns/a-0": {"node": "n2"}},
        "evict": {"ns/a-0": move},
    }
    moved = case("random", data)
    there = pipeline("ns/a-0", "n2")
    assert run(moved, planner(plan(evict("ns/a-0"), there))).verdict == "agree"
    result = run(moved, planner(plan(there, evict("ns/a-0"))))
    assert str(result.differences[0]) == "pod ns/a-0 is Running, it cannot be pipelined"


def test_a_wrong_queue_number_alone_fails() -> None:
    result = run(random_case(), planner(plan(bind("ns/a-0"), share=3)))
    assert (result.verdict, result.failed) == ("agree", True)
    assert result.queue_differences is not None
    assert len(result.queue_differences) == 2


@pytest.mark.parametrize("why", [{"notes": ["it depends"]}, {"varies": ["/bind"]}])
def test_a_case_where_kai_contradicts_itself_is_reported(why: dict[str, Any]) -> None:
    result = run(random_case(**why), planner(plan(share=7)))
    assert (result.verdict, result.failed, result.alternative) == ("reported", False, False)


def test_a_reported_case_has_whether_kai_decided_so() -> None:
    other = {"runs": 3, "bind": {"ns/a-0": {"node": "n2"}}}
    reported = random_case(varies=["/bind"], alternatives=[other])
    assert run(reported, planner(plan(bind("ns/a-0", "n2")))).alternative
    assert run(reported, planner(plan(bind("ns/a-0", "n1")))).alternative


def test_a_reported_case_must_have_an_executable_plan() -> None:
    result = run(random_case(notes=["x"]), planner(plan(bind("ns/a-0"), bind("ns/a-0"))))
    assert (result.verdict, result.failed) == ("invalid", True)


def test_a_rule_that_kai_breaks_too_is_excused() -> None:
    data = random_case(notes=["x"]).data
    data["snapshot"]["rawObjects"]["nodes"][0]["spec"] = {"unschedulable": True}
    decided = plan(bind("ns/a-0"))
    assert run(case("random", data), Planner(decided, as_kai=True)).verdict == "reported"
    assert run(case("random", data), Planner(decided, as_kai=False)).verdict == "invalid"


def test_the_plan_sets_the_missing_features() -> None:
    result = run(random_case(), planner(plan(needs="telepathy")))
    assert (result.verdict, result.needs, result.failed) == ("not_built", ("telepathy",), False)


def test_queue_numbers_count_with_missing_features() -> None:
    result = run(random_case(), planner(plan(needs="gpu-fraction", share=3)))
    assert (result.verdict, result.failed) == ("not_built", True)


def test_a_crash_is_a_result() -> None:
    def crash(snapshot: Mapping[str, Any], *, now: str) -> Any:
        raise RuntimeError("no idea")

    result = run(random_case(), crash)
    assert (result.verdict, result.failed) == ("crashed", True)
    assert str(result.differences[0]) == "RuntimeError: no idea"


def test_one_switch_may_explain_a_difference() -> None:
    def mended(snapshot: Mapping[str, Any], *, now: str) -> Any:
        as_kai = (snapshot["config"].get("compat") or {}).get("second") == "kai"
        return plan(bind("ns/a-0", "n1" if as_kai else "n2"))

    result = run(random_case(), mended, switches=["first", "second"])
    assert (result.verdict, result.switches, result.failed) == ("agree", ("second",), False)
    alone = run(random_case(), mended, switches=["first"])
    assert (alone.verdict, alone.switches) == ("differ", ())


@pytest.mark.parametrize(
    ("pair", "verdict"),
    [
        (("same_cycle_eviction", "victim_shares"), "agree"),  # the cause is known
        (("queue_depth", "slow_job"), "differ"),
    ],
)
def test_several_switches_explain_a_difference_with_a_known_reason(
    pair: tuple[str, str], verdict: str
) -> None:
    def mended(snapshot: Mapping[str, Any], *, now: str) -> Any:
        as_kai = set(pair) <= set(snapshot["config"].get("compat") or {})
        return plan(bind("ns/a-0", "n1" if as_kai else "n2"))

    result = run(random_case(), mended, switches=sorted((*pair, "held_gpus")))
    assert (result.verdict, result.failed) == (verdict, verdict == "differ")
    assert result.switches == pair
    assert bool(result.why) == (verdict == "agree")
    assert bool(result.differences) == (verdict == "differ")


class Reader:
    """Keeps what it is given to plan."""

    as_kai = False

    def __init__(self) -> None:
        self.read: list[Any] = []

    def plan(self, snapshot: bytes, *, now: str) -> None:
        self.read.append(json.loads(snapshot))


def test_objects_written_once_are_planned_with_each_configuration() -> None:
    first, other = snapshot(), snapshot(running=True)
    alone = {"rawObjects": other["rawObjects"]}
    given = [first, {**first, "config": {"actions": "reclaim"}}, other, alone, first]
    reader = Reader()
    planner = SameObjects(cast(Engine, reader))
    for each in given:
        planner(each, now="2026-01-01T00:00:00Z")
    assert reader.read == given


def test_objects_are_read_again_for_another_snapshot_or_time() -> None:
    planner = SameObjects(cast(Engine, Reader()))
    waits, runs = snapshot(), snapshot(running=True)
    runs["rawObjects"]["pods"][0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    def status(each: dict[str, Any], now: str) -> str:
        return planner.world(each, now=f"2026-01-01T{now}Z").pods["ns/a-0"].status

    assert status(waits, "00:00:05") == "Pending"
    assert status(runs, "00:00:05") == "Releasing"
    assert planner.world(runs, now="2026-01-01T00:00:05Z") is planner.world(
        runs, now="2026-01-01T00:00:05Z"
    )
    assert status(runs, "00:05:00") == "StuckInReleasing"


class Planner:
    """Always the same plan, in one of the two modes."""

    def __init__(self, decided: SimpleNamespace, *, as_kai: bool) -> None:
        self.decided, self.as_kai = decided, as_kai

    def __call__(self, snapshot: Mapping[str, Any], *, now: str) -> Any:
        return self.decided


def test_by_default_a_plan_may_not_evict_a_bound_pod() -> None:
    data = random_case().data
    data["expect"]["evict"] = {"ns/a-0": {"action": "reclaim", "preemptor": "ns/a"}}
    both = case("random", data)
    decided = plan(bind("ns/a-0"), evict("ns/a-0"))
    assert run(both, Planner(decided, as_kai=True)).verdict == "agree"
    result = run(both, Planner(decided, as_kai=False))
    assert [str(d) for d in result.differences] == ["pod ns/a-0 is bound and evicted by one plan"]


def test_a_switch_turned_off_excuses_what_kai_does() -> None:
    data = random_case().data
    data["expect"]["evict"] = {"ns/a-0": {"action": "reclaim", "preemptor": "ns/a"}}

    def mended(snapshot: Mapping[str, Any], *, now: str) -> Any:
        as_kai = (snapshot["config"].get("compat") or {}).get("same_cycle_eviction") == "kai"
        return plan(bind("ns/a-0"), *([evict("ns/a-0")] if as_kai else []))

    result = run(case("random", data), mended, switches=["same_cycle_eviction"])
    assert (result.verdict, result.switches) == ("agree", ("same_cycle_eviction",))


@pytest.mark.parametrize(
    ("actions", "text", "judged"),
    [
        ("allocate", "Unable to schedule podgroup: A. \nB.", True),
        ("allocate, stalegangeviction", "Unable to schedule podgroup: A. \nB.", True),
        ("allocate, reclaim", "Unable to schedule podgroup: A. \nB.", False),
        ("allocate, reclaim", "PodSchedulingErrors: A.", True),
        ("reclaim", "PodSchedulingErrors: A.", False),
    ],
)
def test_messages_count_where_they_come_from_allocate(
    actions: str, text: str, *, judged: bool
) -> None:
    data = random_case().data
    data["snapshot"] = snapshot(actions=actions)
    data["expect"]["unschedulable"] = {"ns/a": [text]}
    result = run(case("random", data), planner(plan(bind("ns/a-0"))))
    assert result.verdict == ("differ" if judged else "agree")


# --- cases: what must hold -----------------------------------------------------------------------


def demanding(expect: dict[str, Any], **more: Any) -> Case:
    data = {"rounds": 1, "snapshot": snapshot(), "expect": expect, "observed": {}, **more}
    return case("case", data, "cases/allocate")


def test_expect_decides_and_the_observed_result_is_reported() -> None:
    expect = {"kind": "cycle", "pods": {"ns/a-0": {"status": "Binding"}}}
    there = demanding(expect, observed={"bind": {"ns/a-0": {"node": "n1"}}})
    assert run(there, planner(plan(bind("ns/a-0", "n1")))).observed
    result = run(there, planner(plan(bind("ns/a-0", "n2"))))
    assert (result.verdict, result.observed) == ("agree", False)


@pytest.mark.parametrize(
    ("expect", "text"),
    [
        (
            {"pods": {"ns/a-0": {"status": "Pending"}}},
            "pod ns/a-0: Binding on n1, should be Pending",
        ),
        (
            {"pods": {"ns/a-0": {"status": "Binding", "node": "n2"}}},
            "pod ns/a-0: Binding on n1, should be on n2",
        ),
        (
            {"groups": {"ns/a": {"status": "Pipelined", "node": "n1"}}},
            "pod ns/a-0: Binding on n1, should be Pipelined on n1",
        ),
        ({"nodes": {"n1": {"idleGpus": 1}}}, "node n1: 0 GPUs idle, should be 1"),
        ({"maxBinds": 0}, "1 pods were bound, at most 0 may be: ns/a-0"),
    ],
)
def test_every_expectation_of_a_case_is_checked(expect: dict[str, Any], text: str) -> None:
    result = run(demanding({"kind": "cycle", **expect}), planner(plan(bind("ns/a-0"))))
    assert [str(difference) for difference in result.differences] == [text]


def test_symbolic_groups_describe_shared_devices() -> None:
    data = demanding({}).data
    first = data["snapshot"]["rawObjects"]["pods"][0]
    second = copy.deepcopy(first)
    second["metadata"]["name"] = "a-1"
    data["snapshot"]["rawObjects"]["pods"].append(second)
    wanted = {"status": "Binding", "node": "n1", "gpuGroups": ["0"]}
    data["expect"] = {"kind": "cycle", "pods": {"ns/a-0": wanted, "ns/a-1": wanted}}

    def on(*groups: str) -> SimpleNamespace:
        decisions = [bind(f"ns/a-{number}") for number in range(len(groups))]
        for decision, group in zip(decisions, groups, strict=True):
            decision.gpu_groups = (group,)
        return plan(*decisions)

    assert run(case("case", data), planner(on("x", "x"))).verdict == "agree"
    assert run(case("case", data), planner(on("x", "y"))).verdict == "differ"


@pytest.mark.parametrize(
    ("decided", "status"),
    [
        ([evict("ns/a-0")], "Releasing on n1"),
        ([evict("ns/a-0"), pipeline("ns/a-0", "n2")], "Pipelined on n2"),
        ([evict("ns/a-0"), pipeline("ns/a-0", "n2"), evict("ns/a-0")], "Releasing on n2"),
    ],
)
def test_an_evicted_pod_is_releasing_and_a_moved_one_pipelined(
    decided: list[SimpleNamespace], status: str
) -> None:
    data = demanding({"kind": "cycle", "pods": {"ns/a-0": {"status": "Running"}}}).data
    data["snapshot"] = snapshot(running=True)
    result = run(case("case", data), Planner(plan(*decided), as_kai=True))
    assert str(result.differences[0]) == f"pod ns/a-0: {status}, should be Running"


def test_a_pod_that_waited_and_was_placed_and_evicted_is_releasing() -> None:
    data = demanding({"kind": "cycle", "pods": {"ns/a-0": {"status": "Pending"}}}).data
    for place in (bind("ns/a-0"), pipeline("ns/a-0")):
        decided = plan(place, evict("ns/a-0"))
        result = run(case("case", data), Planner(decided, as_kai=True))
        assert str(result.differences[0]) == "pod ns/a-0: Releasing on n1, should be Pending"


def eventually(status: str) -> Case:
    expect = {"kind": "eventually", "pods": {"ns/a-0": {"status": status}}}
    return demanding(expect, rounds={"until": 2, "after": 1})


def test_several_cycles_are_run() -> None:
    nothing, start = plan(), plan(bind("ns/a-0"))
    assert run(eventually("Running"), planner(start, nothing)).verdict == "agree"
    assert run(eventually("Running"), planner(nothing, start, nothing)).verdict == "agree"
    late = run(eventually("Running"), planner(nothing, nothing, start))
    assert [str(d) for d in late.differences] == [
        "pod ns/a-0: Pending, should be Running (after cycle 2)"
    ]


def test_stable_expectations_are_checked_in_later_cycles() -> None:
    result = run(
        eventually("Running"), planner(plan(bind("ns/a-0")), plan(), plan(evict("ns/a-0")))
    )
    assert [str(d) for d in result.differences] == [
        "pod ns/a-0: Releasing on n1, should be Running (after cycle 3)"
    ]


# --- reports -------------------------------------------------------------------------------------


def test_a_report_counts_by_area() -> None:
    agree = run(random_case(), planner(plan(bind("ns/a-0"))))
    differ = run(random_case(), planner(plan()))
    waiting = run(random_case(), planner(plan(needs="gpu-fraction")))
    report = Report(as_kai=True, results=[agree, differ, waiting])
    area = report.areas["random/fairness"]
    assert (area.judged, area.agree, area.not_built, area.total) == (2, 1, 1, 3)
    assert report.failed
    assert report.needs == {"gpu-fraction": 1}
    assert report.to_dict()["areas"]["random/fairness"]["agree_percent"] == 50
    (failure,) = report.to_dict()["differences"]
    assert failure["differences"] == ["pod ns/a-0: not bound, KAI bound it to n1"]


def test_a_report_names_the_cases_that_switches_explain() -> None:
    def run_with(*turned_off: str) -> Result:
        def mended(snapshot: Mapping[str, Any], *, now: str) -> Any:
            as_kai = set(turned_off) <= set(snapshot["config"].get("compat") or {})
            return plan(bind("ns/a-0", "n1" if as_kai else "n2"))

        return run(random_case(), mended, switches=turned_off)

    explained = run_with("first")
    pair = ("same_cycle_eviction", "victim_shares")
    together = run_with(*pair)
    differ = run(random_case(), planner(plan()), switches=["first", "second"])
    unseen = run(random_case(notes=["x"]), planner(plan()))
    built = Report(as_kai=False, results=[explained, together, differ, unseen]).to_dict()
    assert built["areas"]["random/fairness"]["explained"] == 2
    assert built["explained_by"] == {"first": ["random/fairness/it"]}
    [several] = built["explained_together"]
    assert (several["switches"], several["cases"]) == (list(pair), ["random/fairness/it"])
    assert several["why"] == [f"same_cycle_eviction and victim_shares: {TOGETHER[frozenset(pair)]}"]
    assert built["unseen"] == ["random/fairness/it"]
    assert [each["explained_only_together_by"] for each in built["differences"]] == [[]]


def test_percentages_are_rounded_down() -> None:
    area = Area("a", judged=1000, agree=999)
    assert area.to_dict()["agree_percent"] == 99.9
    assert Area("b").to_dict()["agree_percent"] is None


def test_a_result_with_nothing_wrong_does_not_fail() -> None:
    assert not Result(random_case(), "reported").failed


def test_only_known_problems_of_a_case_are_excused() -> None:
    name, entry = next(iter(KNOWN_AS_KAI.items()))
    known = [Difference(rule, about, "it breaks a rule") for rule, about in entry.broken]
    assert why_known(name, known) == entry.reason
    assert why_known(name, known[:1]) == entry.reason
    assert why_known(name, [*known, Difference("limit", "a", "a new one")]) == ""
    assert why_known("cases/other", known) == ""
