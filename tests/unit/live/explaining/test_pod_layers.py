"""From facts about a pod to its layers and the final sentence."""

from dataclasses import replace
from typing import Any

import pytest

from kai.api.times import to_ns
from kai.engine.text import to_text
from kai.engine.values import GroupPlan, Reason
from kai.live.explaining.planned import QueueFacts, Verdict
from kai.live.explaining.pod_facts import PodFacts
from kai.live.explaining.pod_layers import PodReport, report_of, rows_of, tables_of

NOW = to_ns("2026-01-01T01:00:00Z")
Object = dict[str, Any]


def pod(**spec: Any) -> Object:
    container = {"name": "c", "resources": {"requests": {"cpu": "2", "nvidia.com/gpu": "1"}}}
    return {
        "metadata": {
            **{"namespace": "team", "name": "a", "uid": "u"},
            "creationTimestamp": "2026-01-01T00:55:00Z",
        },
        "spec": {"schedulerName": "kai-scheduler", "containers": [container], **spec},
        "status": {"phase": "Pending"},
    }


def waiting(code: str, why: str = "", **about: Any) -> Verdict:
    reason = Reason(code, "", None, about)
    group = GroupPlan("team/g", "q", "unschedulable", reasons=(reason,))
    return Verdict(group=group, why=("team/g waits in queue q.", *([why] if why else ())))


FACTS = PodFacts(
    *("team/a", NOW, "kai-scheduler", pod()),
    group_name="team/g",
    group={"spec": {"queue": "q", "minMember": 2}},
    queues=(QueueFacts("q", True, 2, None, 4, 3.5), QueueFacts("top", True)),
    verdict=waiting("not_enough_gpus"),
)


def event(seconds: int, kind: str, reason: str, count: int = 1) -> Object:
    return {
        "involvedObject": {"kind": kind, "name": "a"},
        **{"reason": reason, "message": f"{reason} it is", "count": count},
        "lastTimestamp": f"2026-01-01T00:59:{seconds:02}Z",
    }


def layer(report: PodReport, name: str) -> Any:
    return report.to_dict()["layers"][name]


def test_layers_of_a_pod_that_waits_for_room() -> None:
    report = report_of(FACTS)
    assert [each.name for each in report.layers] == ["pod", "pod_group", "queues", "plan"]
    assert layer(report, "pod") == {
        "phase": "Pending, created 5m ago",
        "scheduler": "kai-scheduler",
        "asks_for": "1 GPU, CPU 2",
    }
    assert layer(report, "pod_group") == {"queue": "q", "minimum": "2 pods"}
    own, above = layer(report, "queues")
    assert (own["quota"], own["limit"], own["fair_share"], own["in_use"]) == ("2", "-", "4", "3.5")
    assert above["note"] == "parent of q"
    assert report.waits_for.what == "room"


def test_what_keeps_a_pod_to_its_share() -> None:
    annotations = {"gpu-fraction": "0.5", "runai/shared-gpu-configmap": "p-shared-gpu"}
    shared = {"metadata": {"name": "a", "namespace": "team", "annotations": annotations}}
    report = report_of(replace(FACTS, pod=shared))
    assert layer(report, "pod")["isolation"] == "Nothing keeps it to its share of a GPU."
    assert report.to_dict()["isolation"] == "none"
    labels = {"nvidia.com/gpu.sharing-strategy": "mps"}
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    whole = {"metadata": {"name": "a", "namespace": "team"}, "spec": {"containers": [limits]}}
    of_node = {"metadata": {"name": "n1", "labels": labels}}
    report = report_of(replace(FACTS, pod=whole, node=of_node))
    assert report.to_dict()["isolation"] == "mps"
    report = report_of(replace(FACTS, pod=whole))
    assert (report.to_dict()["isolation"], layer(report, "pod").get("isolation")) == (None, None)


def test_a_request_for_a_part_of_a_gpu_is_shown_once() -> None:
    """It said "asks for: nothing" before the fraction."""

    def about(claims: Any = None, **annotations: str) -> dict[str, str]:
        metadata = {"name": "a", "namespace": "team", "annotations": annotations}
        spec = {"schedulerName": "kai-scheduler", "resourceClaims": claims, "containers": []}
        shown = layer(report_of(replace(FACTS, pod={"metadata": metadata, "spec": spec})), "pod")
        return {key: shown[key] for key in shown if key not in ("phase", "scheduler")}

    half = {"gpu-fraction": "0.5"}
    assert about(**half) == {"asks_for": "gpu-fraction 0.5"}
    two = about(**half, **{"gpu-fraction-num-devices": "2"})
    assert two == {"asks_for": "gpu-fraction 0.5 on 2 GPUs"}
    assert about(claims=[{"name": "gpu"}]) == {"claims": "gpu"}
    assert about() == {"asks_for": "nothing"}


def test_events_are_in_order_and_the_oldest_are_counted() -> None:
    found = tuple(event(second, "Pod", f"R{second}", count=second) for second in range(1, 14))
    report = report_of(replace(FACTS, events=found))
    rows = layer(report, "events")
    assert [each["reason"] for each in rows] == [f"R{second}" for second in range(4, 14)]
    assert rows[-1] == {
        **{"ago": "47s", "about": "Pod", "reason": "R13", "message": "R13 it is (x13)"},
    }
    assert "and 3 older events" in to_text("", tables_of(report.layers, report.waits_for.sentence))


def test_unreadable_events() -> None:
    report = report_of(replace(FACTS, events=None))
    assert layer(report, "events") == {"read": "no: this user may not list events"}


def test_a_page_with_any_text_fits_80_columns() -> None:
    long = "a message that goes on " * 20
    odd = pod()
    odd["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": long}]
    report = report_of(
        replace(
            FACTS,
            pod=odd,
            events=(
                event(1, "Pod", "Unschedulable"),
                {**event(2, "PodGroup", "X"), "message": long},
            ),
            verdict=waiting("not_enough_gpus", long),
        )
    )
    page = to_text("", tables_of(report.layers, report.waits_for.sentence))
    assert max(map(len, page.splitlines())) <= 80
    assert page.count("a message that goes on") >= 20


def test_rows_for_a_table_have_their_layer() -> None:
    rows = list(rows_of(report_of(FACTS).layers))
    assert {"layer": "pod", "name": "scheduler", "value": "kai-scheduler"} in rows


@pytest.mark.parametrize(
    ("reason", "about", "what", "message"),
    [
        ("over_limit", {"queue": "top"}, "limit", "the limit of queue top"),
        ("non_preemptible_over_quota", {}, "quota", "the quota of queue q"),
        ("gang_incomplete", {}, "room", "free resources for its whole group"),
        ("larger_than_any_node", {}, "node", "No node is large enough"),
        ("preemption_delay", {"until": "01:00"}, "time", "only after 01:00"),
        ("queue_not_leaf", {}, "queue", "The queue q has child queues"),
        ("volume_not_ready", {}, "volume", "its volumes"),
        ("no_free_devices", {}, "room", "It waits for devices that its claims request."),
        (
            "no_free_devices",
            {"refusals": ({"error": "the search for devices took more than 23000 steps"},)},
            *("room", "set the switch claim_budgets of the scheduler to kai"),
        ),
        (
            "not_ready",
            {"pod_sets": ({"subgroup": "w", "minimum": 3, "exist": 1},)},
            *("pods", "there are 1 of 3 pods of w"),
        ),
    ],
)
def test_each_reason_has_its_sentence(
    reason: str, about: dict[str, Any], what: str, message: str
) -> None:
    found = report_of(replace(FACTS, verdict=waiting(reason, **about))).waits_for
    assert found.what == what
    assert message in found.sentence


LOST = (
    "Workload lost the room of the last pods that were evicted for it (2 times in a row) and may"
    " not trigger evictions before 2026-01-01T01:00:20Z."
)
AVOIDED = " Nodes that refused a pod of this pod group are avoided for now: gpu-1.b, n2."


def held(verdict: Verdict, message: str, *, now_ns: int = NOW) -> tuple[str, str]:
    """The answer for a pod whose condition has this message of the running scheduler."""
    told = pod()
    told["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    ]
    found = report_of(replace(FACTS, pod=told, verdict=verdict, now_ns=now_ns)).waits_for
    return found.what, found.sentence


def test_the_answer_agrees_with_the_memory_of_the_running_scheduler() -> None:
    """A plan does not know it; the answer contradicted the condition of the pod."""
    what, sentence = held(waiting("not_enough_gpus"), LOST + AVOIDED)
    assert what == "room"
    assert sentence.endswith(
        "The running scheduler evicts no pods for it before 2026-01-01T01:00:20Z. The running"
        " scheduler avoids nodes that refused a pod of its group for now: gpu-1.b, n2."
    )
    later = NOW + 60 * 10**9
    assert "evicts no pods" not in held(waiting("not_enough_gpus"), LOST, now_ns=later)[1]
    known = waiting("preemption_delay", until="2026-01-01T01:00:20Z")
    assert "evicts no pods" not in held(known, LOST)[1]


def test_a_node_that_the_scheduler_avoids_is_not_promised() -> None:
    what, sentence = held(Verdict("bind", "n2", waiting("x").group), AVOIDED)
    assert (what, sentence[:28]) == ("time", "It waits for another node. T")
    assert held(Verdict("bind", "n3", waiting("x").group), AVOIDED)[0] == "scheduler"


def test_another_reason_is_explained_as_kai_plan_does() -> None:
    found = report_of(replace(FACTS, verdict=waiting("search_budget_spent", "It ran out.")))
    assert found.waits_for.sentence == "It waits: It ran out."


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"pod": pod(schedulerName="default-scheduler")}, "other_scheduler"),
        ({"pod": pod(schedulingGates=[{"name": "g"}])}, "gates"),
        ({"pod": pod(nodeName="n1"), "node": {"metadata": {"name": "n1"}}}, "kubelet"),
        ({"pod": pod(nodeName="gone")}, "node"),
        ({"request": {"spec": {"selectedNode": "n1"}}}, "binder"),
        ({"request": {"spec": {}, "status": {"phase": "Failed"}}}, "binding"),
        ({"verdict": Verdict(left_out=("gpu-fraction: half",))}, "change"),
        ({"group_name": "", "group": None, "verdict": Verdict()}, "pod_group"),
        ({"group": None, "verdict": Verdict()}, "pod_group"),
        ({"queues": (QueueFacts("gone", False),)}, "queue"),
        ({"queues": (QueueFacts("q", True), QueueFacts("gone", False))}, "queue"),
        ({"verdict": Verdict("bind", "n1")}, "scheduler"),
        ({"verdict": Verdict("pipeline", "n1")}, "leaving_pods"),
    ],
)
def test_the_first_obstacle_is_reported(changes: dict[str, Any], what: str) -> None:
    assert report_of(replace(FACTS, **changes)).waits_for.what == what


@pytest.mark.parametrize(("phase", "what"), [("Succeeded", "nothing"), ("Failed", "nothing")])
def test_a_finished_pod(phase: str, what: str) -> None:
    done = {**pod(), "status": {"phase": phase}}
    assert report_of(replace(FACTS, pod=done)).waits_for.what == what


def test_a_pod_that_is_deleted_waits_for_its_end() -> None:
    leaving = pod()
    leaving["metadata"] |= {"deletionTimestamp": "2026-01-01T00:59:30Z", "finalizers": ["x/y"]}
    report = report_of(replace(FACTS, pod=leaving))
    assert layer(report, "pod")["phase"] == "Pending, created 5m ago, deleted 30s ago"
    assert "its finalizers are x/y" in report.waits_for.sentence


# ---- what decides is first -----------------------------------------------------------------------


def test_the_answer_has_what_decides_in_this_cluster_and_the_page_has_it_once() -> None:
    needs = "It needs 2 GPUs on one node; no GPU is free after this cycle."
    report = report_of(replace(FACTS, verdict=waiting("not_enough_gpus", needs)))
    assert report.waits_for.sentence.endswith(f"what each queue uses. {needs}")
    page = to_text("", tables_of(report.layers, report.waits_for.sentence))
    assert "no GPU is free" not in page
    assert "team/g waits in queue q." in page


def running(*why: str, decision: str = "", node: str = "") -> str:
    """The answer for a pod that runs on n1."""
    runs = pod(nodeName="n1")
    runs["status"] = {"phase": "Running"}
    group = GroupPlan("team/g", "q", "running")
    verdict = Verdict(decision, node, group, ("team/g runs: 1 pod on n1.", *why))
    return report_of(replace(FACTS, pod=runs, verdict=verdict)).waits_for.sentence


def test_a_running_pod_has_what_keeps_it() -> None:
    assert running("It is not preemptible: x.") == (
        "It runs on n1 and waits for nothing. It is not preemptible: x."
    )


def test_a_running_pod_that_the_next_cycle_evicts_or_moves() -> None:
    room = "1 pod makes room for team/other: reclaim."
    assert running(room, decision="evict") == (
        f"It runs on n1; the next cycle of kai would evict it. {room}"
    )
    assert running(room, decision="evict", node="n2").startswith(
        "It runs on n1; the next cycle of kai would move it to n2."
    )
