"""The status of pod groups and queues: their allocations and requests."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakes.api_server import merged
from kai.api.writes import Lane, Write
from kai.controllers import amounts, status
from kai.controllers.status import QueueFacts, Sums

ONE_GPU = {"cpu": "100m", "memory": "64Mi", "nvidia.com/gpu": "1"}


def test_a_group_without_status_gets_one() -> None:
    write = status.pod_group_write("team/gang", Sums(requested=ONE_GPU), None)
    assert write is not None
    assert (write.lane, write.verb, write.kind) == (Lane.CONDITION, "patch", "PodGroup")
    assert (write.namespace, write.name, write.subresource) == ("team", "gang", "status")
    assert write.body == {"status": {"resourcesStatus": {"requested": ONE_GPU}}}


def test_a_group_without_pods_gets_no_status() -> None:
    assert status.pod_group_write("team/gang", Sums(), None) is None
    assert status.pod_group_write("team/gang", Sums(), {"requested": {}}) is None


def test_an_equal_status_is_not_written_in_any_format() -> None:
    there = {"requested": {"cpu": "0.1", "memory": "67108864", "nvidia.com/gpu": "1"}}
    assert status.pod_group_write("team/gang", Sums(requested=ONE_GPU), there) is None


def test_removed_resources_are_deleted_from_the_status() -> None:
    there = {"requested": ONE_GPU, "allocated": ONE_GPU}
    write = status.pod_group_write("team/gang", Sums(requested={"cpu": "100m"}), there)
    assert write is not None
    patch = write.body["status"]["resourcesStatus"]  # type: ignore[index,call-overload]
    assert patch == {
        "requested": {"cpu": "100m", "memory": None, "nvidia.com/gpu": None},
        "allocated": None,
    }


def test_an_invalid_status_is_corrected() -> None:
    write = status.pod_group_write("team/gang", Sums(requested=ONE_GPU), {"requested": "much"})
    assert write is not None


def queue_writes(tree: dict[str, QueueFacts], of_groups: dict[str, Sums]) -> list[Write]:
    found = status.queue_sums(tree, of_groups).items()
    writes = (status.queue_write(name, *each, tree[name].status) for name, each in found)
    return [write for write in writes if write is not None]


def queues(*facts: QueueFacts) -> dict[str, QueueFacts]:
    return {each.name: each for each in facts}


# The end of recording 30: a department with two teams.
TREE = queues(QueueFacts("dept"), QueueFacts("team-b", "dept"), QueueFacts("team-a", "dept"))
OF_GROUPS = {
    "team-a": Sums(ONE_GPU, ONE_GPU, ONE_GPU),
    "team-b": Sums(
        {"cpu": "200m", "memory": "128Mi", "nvidia.com/gpu": "8250m"},
        {"cpu": "100m", "memory": "64Mi", "nvidia.com/gpu": "250m"},
    ),
}


def test_a_tree_gets_its_sums_at_once() -> None:
    written = {
        write.name: write.body["status"]  # type: ignore[index,call-overload]
        for write in queue_writes(TREE, OF_GROUPS)
    }
    assert written == {
        "dept": {
            "allocated": {"cpu": "200m", "memory": "128Mi", "nvidia.com/gpu": "1250m"},
            "allocatedNonPreemptible": ONE_GPU,
            "childQueues": ["team-a", "team-b"],
            "requested": {"cpu": "300m", "memory": "192Mi", "nvidia.com/gpu": "9250m"},
        },
        "team-a": {
            "allocated": ONE_GPU,
            "allocatedNonPreemptible": ONE_GPU,
            "requested": ONE_GPU,
        },
        "team-b": {
            "allocated": OF_GROUPS["team-b"].allocated,
            "requested": OF_GROUPS["team-b"].requested,
        },
    }


def test_a_queue_without_children_and_pods_needs_no_status() -> None:
    assert queue_writes(queues(QueueFacts("team")), {}) == []


def test_the_last_removed_child_is_deleted() -> None:
    facts = QueueFacts("dept", status={"childQueues": ["team"]})
    [write] = queue_writes(queues(facts), {})
    assert write.body == {"status": {"childQueues": None}}


def test_children_are_written_in_sorted_order() -> None:
    tree = {
        **TREE,
        "dept": QueueFacts("dept", status={"childQueues": ["team-b", "team-a"]}),
    }
    [write] = queue_writes(tree, {})
    assert write.body == {"status": {"childQueues": ["team-a", "team-b"]}}


def test_a_child_of_a_deleted_queue_is_a_root() -> None:
    [write] = queue_writes(queues(QueueFacts("team", "nowhere")), {"team": Sums(requested=ONE_GPU)})
    assert (write.name, write.body) == ("team", {"status": {"requested": ONE_GPU}})


def test_circular_parents_are_summed_without_an_endless_loop() -> None:
    tree = queues(QueueFacts("a", "b"), QueueFacts("b", "a"), QueueFacts("self", "self"))
    sums = {name: Sums(requested={"cpu": "1"}) for name in tree}
    found = status.queue_sums(tree, sums)
    assert {name: children for name, (_, children) in found.items()} == {
        "a": ("b",),
        "b": ("a",),
        "self": ("self",),
    }
    assert found["self"][0].requested == {"cpu": "1"}


def test_a_chain_of_ten_thousand_queues_is_summed() -> None:
    tree = queues(*(QueueFacts(f"q{n:05}", f"q{n - 1:05}" if n else "") for n in range(10_000)))
    found = status.queue_sums(tree, {"q09999": Sums(requested={"cpu": "1"})})
    assert found["q00000"][0].requested == {"cpu": "1"}


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]),
    st.sampled_from(["0", "1", "1000m", "250m", "64Mi", "1Gi", "much"]),
)
SUMS = st.builds(Sums, AMOUNTS, AMOUNTS, AMOUNTS)
THERE = st.fixed_dictionaries(
    {},
    optional={
        "requested": AMOUNTS,
        "allocated": AMOUNTS,
        "allocatedNonPreemptible": AMOUNTS,
    },
)


@given(SUMS, THERE)
def test_one_patch_corrects_the_status(sums: Sums, there: dict[str, Any]) -> None:
    write = status.pod_group_write("team/gang", sums, there)
    after = there
    if write is not None:
        patch = write.body["status"]["resourcesStatus"]  # type: ignore[index,call-overload]
        after = merged(there, patch)
    assert amounts.equal(after.get("requested", {}), sums.requested)
    assert amounts.equal(after.get("allocated", {}), sums.allocated)
    assert amounts.equal(after.get("allocatedNonPreemptible", {}), sums.allocated_non_preemptible)
    assert status.pod_group_write("team/gang", sums, after) is None


def test_metrics_have_kais_names() -> None:
    team = QueueFacts(
        "team",
        "dept",
        "The team",
        {"owner": "me"},
        {"gpu": {"quota": 4}, "cpu": {"quota": 2000}, "memory": {"quota": -1}},
    )
    tree = queues(team, QueueFacts("dept"))
    sums = status.queue_sums(tree, {"team": Sums(allocated={**ONE_GPU, "memory": "1Ki"})})
    samples = status.queue_metrics(tree, sums, labels=[("owner", "owned_by", "unknown")])
    names = {"queue_metadata_name": "team", "queue_name": "team", "queue_display_name": "The team"}
    assert [(name, value) for name, labels, value in samples if labels["queue_name"] == "team"] == [
        ("kai_queue_info", 1),
        ("kai_queue_deserved_gpus", 4),
        ("kai_queue_quota_cpu_cores", 2),
        ("kai_queue_quota_memory_bytes", -1),
        ("kai_queue_allocated_gpus", 1),
        ("kai_queue_allocated_cpu_cores", 0.1),
        ("kai_queue_allocated_memory_bytes", 1024),
    ]
    labels = {tuple(sorted(each.items())) for _, each, _ in samples}
    assert tuple(sorted({**names, "owned_by": "me"}.items())) in labels
    assert {dict(each)["owned_by"] for each in labels} == {"me", "unknown"}


# ---- what pod groups report ----------------------------------------------------------------------


def reported(amount: str) -> dict[str, Any]:
    return {"requested": {"cpu": amount}, "allocated": {"cpu": amount, "nvidia.com/gpu": "1"}}


def test_the_sums_of_a_queue_are_what_its_groups_report() -> None:
    of = status.Reported()
    of.put("team/a", "leaf", reported("500m"))
    of.put("team/b", "leaf", {**reported("1500m"), "allocatedNonPreemptible": {"cpu": "1"}})
    of.put("team/c", "other", reported("3"))
    of.put("team/d", "leaf", None)
    assert of.of_queues()["leaf"] == Sums(
        {"cpu": "2"}, {"cpu": "2", "nvidia.com/gpu": "2"}, {"cpu": "1"}
    )
    of.put("team/a", "other", reported("500m"))
    assert of.of_queues()["leaf"].requested == {"cpu": "1500m"}
    assert of.of_queues()["other"].requested == {"cpu": "3500m"}
    of.put("team/b", "", None)
    assert of.of_queues()["leaf"] == Sums()


def test_an_invalid_report_counts_as_nothing() -> None:
    of = status.Reported()
    of.put("team/a", "leaf", {"requested": [1], "allocated": {"cpu": "many"}})
    of.put("team/b", "leaf", "text")
    assert of.of_queues()["leaf"] == Sums()


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"), st.sampled_from(["", "p", "q"]), st.integers(0, 3).map(str)
        ),
        max_size=30,
    )
)
def test_any_sequence_of_reports_ends_in_the_sums_of_the_last_ones(
    changes: list[tuple[str, str, str]],
) -> None:
    of, last = status.Reported(), status.Reported()
    for group, queue, amount in changes:
        of.put(group, queue, reported(amount))
        of.of_queues()
    for group, (queue, amount) in {each[0]: each[1:] for each in changes}.items():
        last.put(group, queue, reported(amount))
    found = {queue: sums for queue, sums in of.of_queues().items() if sums != Sums()}
    assert found == {queue: sums for queue, sums in last.of_queues().items() if sums != Sums()}
