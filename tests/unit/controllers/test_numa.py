"""The NUMA placements written on pods, and when they are written."""

import json

import pytest

import kai
from kai.api import keys
from kai.api.pod_resources import PodResources, Share
from kai.api.writes import Outcome, Result, Write
from kai.controllers.numa import Observed, node_of_cpu, placements

GPU = "nvidia.com/gpu"


def test_devices_memory_and_cpus_are_summed_by_zone() -> None:
    """Zones and resources are sorted; huge pages keep their size in the name."""
    shares = [
        Share(GPU, 1, (1,)),
        Share(GPU, 2, (1,)),
        Share("example.com/nic", 1, (0,)),
        Share("memory", 17179869184, (0,)),
        Share("hugepages-2Mi", 4194304, (1,)),
    ]
    pod = PodResources("team/a", shares, [0, 1, 8])
    found = placements([pod], {0: 0, 1: 0, 8: 1})
    assert json.loads(found["team/a"]) == [
        {"zone": "node-0", "amount": {"cpu": "2", "example.com/nic": "1", "memory": "17179869184"}},
        {"zone": "node-1", "amount": {"cpu": "1", "hugepages-2Mi": "4194304", GPU: "3"}},
    ]
    assert found["team/a"].startswith('[{"zone":"node-0","amount":{"cpu":"2","example.com/nic"')


@pytest.mark.parametrize(
    "pod",
    [
        PodResources("team/a"),
        PodResources("team/a", [Share(GPU, 1, ())]),
        PodResources("team/a", [Share(GPU, 1, (0, 1))]),
        PodResources("team/a", [Share("memory", 0, (0,))]),
        PodResources("team/a", cpus=[99]),
    ],
)
def test_a_pod_without_resources_in_a_zone_is_left_out(pod: PodResources) -> None:
    assert placements([pod], {0: 0}) == {}


def test_cpu_lists_are_parsed() -> None:
    assert node_of_cpu({0: "0-2,5,8-9\n", 1: "3\n", 2: "\n"}) == {
        **dict.fromkeys((0, 1, 2, 5, 8, 9), 0),
        3: 1,
    }
    assert node_of_cpu({}) == {}
    with pytest.raises(kai.InvalidInputError, match="node0: 'many' is not a list of CPUs"):
        node_of_cpu({0: "many"})


# ---- what is written -----------------------------------------------------------------------------

DONE, FAILED = Outcome(Result.DONE, 200), Outcome(Result.FAILED, 500)


def pods(writes: list[Write]) -> list[str]:
    return [f"{each.namespace}/{each.name}" for each in writes]


def answered(observed: Observed, writes: list[Write], outcome: Outcome) -> None:
    for each in writes:
        observed.answered(each, outcome)


def test_a_pod_is_patched_when_its_placement_changes() -> None:
    observed = Observed()
    [write] = observed.seen({"team/a": "1"})
    assert (write.verb, write.kind, write.patch_type) == ("patch", "Pod", "merge")
    assert write.body == {"metadata": {"annotations": {keys.NUMA_OBSERVED_ANNOTATION: "1"}}}
    observed.answered(write, DONE)
    assert observed.seen({"team/a": "1"}) == []
    assert pods(observed.seen({"team/a": "2"})) == ["team/a"]


def test_a_failed_patch_is_sent_again_and_a_refused_patch_is_not() -> None:
    observed = Observed()
    answered(observed, observed.seen({"team/a": "1"}), FAILED)
    again = observed.seen({"team/a": "1"})
    assert pods(again) == ["team/a"]
    answered(observed, again, Outcome(Result.REFUSED, 422))
    assert observed.seen({"team/a": "1"}) == []


def test_a_recreated_pod_is_patched_again() -> None:
    observed = Observed()
    answered(observed, observed.seen({"team/a": "1"}), DONE)
    assert observed.seen({}) == []
    assert pods(observed.seen({"team/a": "1"})) == ["team/a"]


def test_annotations_that_others_changed_or_removed_are_repaired() -> None:
    observed = Observed()
    found = {"team/a": "1", "team/b": "1", "team/c": "1", "team/gone": "1"}
    answered(observed, observed.seen(found), DONE)
    there = {"team/a": "1", "team/b": "2", "team/c": "", "team/not-aligned": "1"}
    assert pods(observed.repair(there)) == ["team/b", "team/c"]
