"""The comparator must fail on every relevant difference, and on no other."""

from dataclasses import replace
from typing import Any

import pytest

from kai.verify.compare import (
    compare_decisions,
    compare_devices,
    compare_messages,
    compare_queues,
    same_message,
)
from kai.verify.objects import World, read_world
from kai.verify.outcome import Eviction, Outcome, Placement, from_record

RECORD: dict[str, Any] = {
    "bind": {"ns/a": {"node": "n1", "gpus": 2}, "ns/b": {"node": "n2", "gpus": 1}},
    "pipeline": {"ns/run": {"node": "n3", "gpus": 1}},
    "evict": {
        "ns/run": {"action": "consolidation", "preemptor": "ns/a"},
        "ns/old": {"action": "reclaim", "preemptor": "ns/b"},
    },
    "unschedulable": {"ns/c": ["OverLimit: team-a quota has reached the allowable limit."]},
    "queues": {"team-a": {"gpu": {"deserved": -1, "fairShare": 2.5}, "cpu": {"request": 1500}}},
}
KAI = from_record(RECORD)


def texts(ours: Outcome, theirs: Outcome = KAI) -> list[str]:
    return [str(difference) for difference in compare_decisions(ours, theirs)]


def without(outcome: Outcome, side: str, pod: str) -> Outcome:
    kept = {key: value for key, value in getattr(outcome, side).items() if key != pod}
    return replace(outcome, **{side: kept})


def with_(outcome: Outcome, side: str, pod: str, value: Placement | Eviction) -> Outcome:
    return replace(outcome, **{side: {**getattr(outcome, side), pod: value}})


def test_equal_decisions_do_not_differ() -> None:
    assert texts(from_record(RECORD)) == []


def test_a_wrong_node_differs() -> None:
    ours = with_(KAI, "bind", "ns/a", Placement("n2", gpus=2))
    assert texts(ours) == ["pod ns/a: bound to n2, KAI bound it to n1"]


def test_a_missing_bind_differs() -> None:
    assert texts(without(KAI, "bind", "ns/b")) == ["pod ns/b: not bound, KAI bound it to n2"]


def test_an_extra_bind_differs() -> None:
    ours = with_(KAI, "bind", "ns/c", Placement("n1"))
    assert texts(ours) == ["pod ns/c: bound to n1, KAI did not bind it"]


def test_pipelined_instead_of_bound_differs() -> None:
    ours = with_(without(KAI, "bind", "ns/b"), "pipeline", "ns/b", Placement("n2", gpus=1))
    assert texts(ours) == ["pod ns/b: pipelined to n2, KAI bound it to n2"]
    assert texts(KAI, ours) == ["pod ns/b: bound to n2, KAI pipelined it to n2"]


def test_a_missing_eviction_differs() -> None:
    assert texts(without(KAI, "evict", "ns/old")) == [
        "pod ns/old: not evicted, KAI evicted it by reclaim for ns/b"
    ]


def test_an_extra_eviction_differs() -> None:
    ours = with_(KAI, "evict", "ns/x", Eviction("preempt", "ns/a"))
    assert texts(ours) == ["pod ns/x: evicted by preempt for ns/a, KAI did not evict it"]


def test_a_wrong_action_differs() -> None:
    ours = with_(KAI, "evict", "ns/old", Eviction("preempt", "ns/b"))
    assert texts(ours) == ["pod ns/old: evicted by preempt, KAI evicted it by reclaim"]


def test_a_wrong_preemptor_differs() -> None:
    ours = with_(KAI, "evict", "ns/old", Eviction("reclaim", "ns/a"))
    assert texts(ours) == ["pod ns/old: evicted for ns/a, KAI evicted it for ns/b"]


def test_a_preemptor_that_was_not_recorded_is_not_compared() -> None:
    theirs = from_record({"evict": {"ns/old": "reclaim"}})
    assert texts(from_record({"evict": {"ns/old": RECORD["evict"]["ns/old"]}}), theirs) == []


def test_a_moved_pod_that_is_only_evicted_differs() -> None:
    assert texts(without(KAI, "pipeline", "ns/run")) == [
        "pod ns/run: not pipelined, KAI pipelined it to n3"
    ]


def test_a_moved_pod_that_stays_differs() -> None:
    stays = without(without(KAI, "pipeline", "ns/run"), "evict", "ns/run")
    assert len(texts(stays)) == 2


def test_a_wrong_number_of_gpus_differs() -> None:
    ours = with_(KAI, "bind", "ns/a", Placement("n1", gpus=1))
    assert texts(ours) == ["pod ns/a: bound with 1 GPUs, in KAI 2"]


@pytest.mark.parametrize(
    ("portion", "devices"),
    [(0.25, 2), (0.5, 1)],
)
def test_a_wrong_share_of_devices_differs(portion: float, devices: int) -> None:
    theirs = from_record(
        {"bind": {"ns/a": {"node": "n1", "gpus": 1, "fraction": "0.5", "devices": 2}}}
    )
    ours = Outcome(bind={"ns/a": Placement("n1", gpus=1, portion=portion, devices=devices)})
    assert len(texts(ours, theirs)) == 1


# --- shared devices ------------------------------------------------------------------------------


def shared_world() -> World:
    """One pod runs on device ``g1`` of node n1."""
    running = {
        "metadata": {"name": "run", "namespace": "ns", "labels": {"runai-gpu-group": "g1"}},
        "spec": {"nodeName": "n1"},
        "status": {"phase": "Running"},
    }
    return read_world({"rawObjects": {"pods": [running], "nodes": [{"metadata": {"name": "n1"}}]}})


def on(**groups: tuple[str, ...]) -> Outcome:
    return Outcome(
        bind={f"ns/{pod}": Placement("n1", gpu_groups=given) for pod, given in groups.items()}
    )


def device_texts(ours: Outcome, theirs: Outcome) -> list[str]:
    return [str(difference) for difference in compare_devices(ours, theirs, shared_world())]


def test_names_of_new_devices_do_not_matter() -> None:
    assert device_texts(on(a=("x",), b=("x",)), on(a=("new:n1:0",), b=("new:n1:0",))) == []


def test_a_merged_device_group_differs() -> None:
    assert device_texts(on(a=("x",), b=("x",)), on(a=("y",), b=("z",))) == [
        "pod ns/a: shares with ns/b, in KAI has a device to itself",
        "pod ns/b: shares with ns/a, in KAI has a device to itself",
    ]


def test_a_split_device_group_differs() -> None:
    assert device_texts(on(a=("x",), b=("y",)), on(a=("z",), b=("z",))) == [
        "pod ns/a: has a device to itself, in KAI shares with ns/b",
        "pod ns/b: has a device to itself, in KAI shares with ns/a",
    ]


def test_a_new_device_instead_of_one_in_use_differs() -> None:
    assert device_texts(on(a=("x",)), on(a=("g1",))) == [
        "pod ns/a: has a device to itself, in KAI shares with ns/run",
        "pod ns/run: has a device to itself, in KAI shares with ns/a",
    ]


def test_pods_on_several_devices_are_compared_device_by_device() -> None:
    same = on(a=("x", "y"), b=("y", "x"))
    assert device_texts(same, on(a=("p", "q"), b=("p", "q"))) == []
    assert len(device_texts(same, on(a=("p", "q"), b=("p", "r")))) == 2
    assert len(device_texts(same, on(a=("p", "q"), b=("p",)))) == 2


def test_pods_on_other_nodes_are_left_to_the_decisions() -> None:
    elsewhere = Outcome(bind={"ns/a": Placement("n2", gpu_groups=("x",))})
    assert device_texts(elsewhere, on(a=("x",))) == []


# --- messages ------------------------------------------------------------------------------------

NODES = "no nodes with enough resources were found: 3 node(s) didn't have enough resources: GPUs."


def message_texts(ours: dict[str, tuple[str, ...]], theirs: dict[str, tuple[str, ...]]) -> int:
    found = compare_messages(
        Outcome(messages=ours), Outcome(messages=theirs), judged=lambda group, text: True
    )
    return len(found)


def test_a_wrong_message_differs() -> None:
    theirs = {"ns/c": ("OverLimit: team-a quota has reached the limit.",)}
    assert message_texts(theirs, theirs) == 0
    assert message_texts({"ns/c": ("OverLimit: team-b quota has reached the limit.",)}, theirs) == 1
    assert message_texts({}, theirs) == 1
    assert message_texts(theirs, {}) == 1


def test_unjudged_messages_are_left_out() -> None:
    ours = Outcome(messages={"ns/c": ("one",)})
    theirs = Outcome(messages={"ns/c": ("two",)})
    assert compare_messages(ours, theirs, judged=lambda group, text: False) == []


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (
            f"PodSchedulingErrors: Resources were not found due to: {NODES}.",
            f"Unable to schedule podgroup: 5 Resources were not found due to: {NODES}.",
        ),
        (
            "Unable to schedule podgroup: Resources were A. \nResources were B.",
            "Unable to schedule podgroup: 2 Resources were B. \nResources were A.",
        ),
        (
            "OverLimit: team-a quota has reached the allowable limit of GPUs.",
            "Unable to schedule podgroup: 2 team-a quota has reached the allowable limit of GPUs.",
        ),
    ],
)
def test_counts_of_repeated_errors_do_not_matter(mine: str, other: str) -> None:
    assert same_message(mine, other)
    assert same_message(other, mine)


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (
            "OverLimit: team-a quota has reached the limit.",
            "NonPreemptibleOverQuota: team-a quota has reached the limit.",
        ),
        (
            "PodSchedulingErrors: found: 2 node(s) didn't have enough resources: GPUs.",
            "PodSchedulingErrors: found: 3 node(s) didn't have enough resources: GPUs.",
        ),
        (
            "PodSchedulingErrors: Resources were not found for pod ns/a.",
            "Unable to schedule podgroup: 2 Resources were not found for pod ns/b.",
        ),
    ],
)
def test_other_changes_of_a_message_differ(mine: str, other: str) -> None:
    assert not same_message(mine, other)


# --- queues --------------------------------------------------------------------------------------


def queue_texts(record: dict[str, Any], absent: tuple[str, ...] = ()) -> list[str]:
    ours = from_record({"queues": {"team-a": record}}).queues
    return [str(d) for d in compare_queues(ours, KAI.queues, absent_is_zero=absent)]


def test_equal_queue_numbers_do_not_differ() -> None:
    assert queue_texts(RECORD["queues"]["team-a"]) == []
    nearly = {"gpu": {"deserved": -1, "fairShare": 2.5000001}, "cpu": {"request": 1500.0001}}
    assert queue_texts(nearly) == []


def test_a_wrong_queue_number_differs() -> None:
    wrong = {"gpu": {"deserved": -1, "fairShare": 2}, "cpu": {"request": 1500}}
    assert queue_texts(wrong) == ["queue team-a: fair share of gpu is 2, KAI has 2.5"]


def test_unlimited_equals_only_itself() -> None:
    wrong = {"gpu": {"deserved": 0, "fairShare": 2.5}, "cpu": {"request": 1500}}
    assert queue_texts(wrong) == ["queue team-a: deserved of gpu is 0, KAI has unlimited"]


def test_amounts_are_converted_from_kais_units() -> None:
    assert KAI.queues["team-a"]["cpu"]["request"] == 1.5


def test_a_number_that_was_left_out_may_mean_zero() -> None:
    more = {"gpu": {"deserved": -1, "fairShare": 2.5, "allocated": 1}, "cpu": {"request": 1500}}
    assert queue_texts(more) == []
    assert queue_texts(more, absent=("allocated",)) == [
        "queue team-a: allocated of gpu is 1, KAI has 0"
    ]


def test_a_missing_queue_differs() -> None:
    found = compare_queues({}, KAI.queues, absent_is_zero=())
    assert [str(difference) for difference in found] == ["queue team-a: no numbers"]
