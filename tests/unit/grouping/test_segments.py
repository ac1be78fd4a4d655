"""How gangs are split into segments of consecutive pods (spec 4 G3-G10)."""

import pytest

from kai.grouping import segments

RACKS = {"topology": "racks", "requiredTopologyLevel": "rack"}


def minima(parts: list[segments.SubGroup]) -> dict[str, int]:
    """The minima of sub-groups that contain pods."""
    return {part["name"]: part["minMember"] for part in parts if "minMember" in part}


@pytest.mark.parametrize(
    ("workers", "size", "minimum", "expected"),
    [
        (16, 4, 16, [4, 4, 4, 4]),
        (10, 4, 10, [4, 4, 2]),
        (10, 4, 6, [4, 4, 0]),
        (8, 2, 4, [2, 2, 0, 0]),
        (3, 8, 3, [3]),
        (4, 2, 4, [2, 2]),
        (5, 2, 5, [2, 2, 1]),
        (5, 2, 3, [2, 2, 0]),
        (3, 1, 3, [1, 1, 1]),
        (4, 2, 0, [0, 0]),
        (4, 2, 9, [2, 2]),  # more than exist
    ],
)
def test_workers_are_needed_in_whole_segments(
    workers: int, size: int, minimum: int, expected: list[int]
) -> None:
    parts = segments.of_workers(workers, size, minimum, RACKS)
    assert parts[0] == {"name": "worker", "minSubGroup": len(expected)}
    assert parts[1:] == [
        {
            "name": f"worker-{index}",
            "minMember": least,
            "parent": "worker",
            "topologyConstraint": RACKS,
        }
        for index, least in enumerate(expected)
    ]


def test_zero_workers_have_no_segments() -> None:
    assert segments.of_workers(0, 4, 0, RACKS) == [{"name": "worker", "minMember": 0}]


def test_more_than_ten_thousand_segments_are_refused() -> None:
    assert len(segments.of_workers(20_000, 2, 0)) == 10_001
    with pytest.raises(
        ValueError, match=r"segmentation 10001 is greater than max allowed .* 10000"
    ):
        segments.of_workers(20_001, 2, 0)
    with pytest.raises(ValueError, match=r"subgroups segments 10001 is greater than max allowed"):
        segments.of_replica(20_002, 2, leader_excluded=False)


@pytest.mark.parametrize(
    ("pods", "size", "excluded", "expected"),
    [
        (5, 2, False, {"segment-0": ["leader", "w1", "w2"], "segment-1": ["w3", "w4"]}),
        (4, 2, False, {"segment-0": ["leader", "w1"], "segment-1": ["w2", "w3"]}),
        (6, 4, False, {"segment-0": ["leader", "w1", "w2", "w3"], "segment-1": ["w4", "w5"]}),
        (
            9,
            4,
            False,
            {
                "segment-0": ["leader", "w1", "w2", "w3", "w4"],
                "segment-1": ["w5", "w6", "w7", "w8"],
            },
        ),
        (5, 3, False, {"segment-0": ["leader", "w1", "w2"], "segment-1": ["w3", "w4"]}),
        (5, 2, True, {"": ["leader"], "segment-0": ["w1", "w2"], "segment-1": ["w3", "w4"]}),
        # One segment of all workers, or of leader and workers: KAI requires one pod too many.
        (5, 4, False, {"segment-0": ["leader", "w1", "w2", "w3", "w4"]}),
        (5, 4, True, {"": ["leader"], "segment-0": ["w1", "w2", "w3", "w4"]}),
        (3, 2, False, {"segment-0": ["leader", "w1", "w2"]}),
        (5, 5, False, {"segment-0": ["leader", "w1", "w2", "w3", "w4"]}),
        (2, 2, False, {"segment-0": ["leader", "w1"]}),
    ],
)
def test_segments_of_a_replica_need_all_their_pods(
    pods: int, size: int, excluded: bool, expected: dict[str, list[str]]
) -> None:
    held: dict[str, list[str]] = {"": ["leader"]} if excluded else {"segment-0": ["leader"]}
    for index in range(1, pods):
        segment = f"segment-{segments.segment_of(index, pods, size)}"
        held.setdefault(segment, []).append(f"w{index}")
    assert held == expected

    parts = segments.of_replica(pods, size, leader_excluded=excluded, constraint=RACKS)
    needed = {"leader": 1}
    if not excluded:
        needed["workers"] = len(expected["segment-0"]) - 1
    for name, members in expected.items():
        if name and (excluded or name != "segment-0"):
            needed[name] = len(members)
    assert minima(parts) == needed


def test_the_leader_is_in_the_first_segment_and_only_segments_are_constrained() -> None:
    assert segments.of_replica(5, 2, leader_excluded=False, constraint=RACKS) == [
        {"name": "segment-0", "minSubGroup": 2, "topologyConstraint": RACKS},
        {"name": "leader", "minMember": 1, "parent": "segment-0"},
        {"name": "workers", "minMember": 2, "parent": "segment-0"},
        {"name": "segment-1", "minMember": 2, "topologyConstraint": RACKS},
    ]


def test_an_excluded_leader_has_no_constraint() -> None:
    assert segments.of_replica(5, 2, leader_excluded=True, constraint=RACKS) == [
        {"name": "leader", "minMember": 1},
        {"name": "segment-0", "minMember": 2, "topologyConstraint": RACKS},
        {"name": "segment-1", "minMember": 2, "topologyConstraint": RACKS},
    ]


@pytest.mark.parametrize(
    ("pods", "size", "excluded", "message"),
    [
        (4, 1, False, "segmentSize 1 is not valid. It must be greater than 1"),
        (4, -2, False, "segmentSize -2 is not valid. It must be greater than 1"),
        (4, 5, False, "segmentSize 5 is greater than replicasSize 4"),
        (
            6,
            4,
            True,
            "replicasSize 6 is not divisible by segmentSize 4. LeaderExcluded policy is only "
            "supported when replicasSize is divisible by segmentSize.",
        ),
    ],
)
def test_an_indivisible_replica_raises_one_sentence(
    pods: int, size: int, excluded: bool, message: str
) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        segments.of_replica(pods, size, leader_excluded=excluded)
    assert str(error.value) == message
