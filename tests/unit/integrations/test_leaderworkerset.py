"""LeaderWorkerSets (spec 7 J8), and what kai makes of them."""

import json
from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, in_container
from kai.errors import InvalidRequestError
from kai.integrations import leaderworkerset

RACKS = {"topology": "racks", "required_level": "example.com/block"}


def built(gpus: dict[str, Any] | None = None, **options: Any) -> Any:
    request = kai.PodRequest(queue="team-a", **(gpus or {}))
    return leaderworkerset.build(request, **{"name": "serve", "image": "i", "size": 4, **options})


@EACH_GPU_REQUEST
def test_leader_and_workers_get_each_kind_of_gpu_request(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    manifest = built(gpus)
    group = manifest["spec"]["leaderWorkerTemplate"]
    for template in (group["leaderTemplate"], group["workerTemplate"]):
        assert template["spec"]["schedulerName"] == "kai-scheduler"
        [container] = template["spec"]["containers"]
        assert template["metadata"].get("annotations", {}) == in_container("main", annotations)
        assert container.get("resources", {}).get("limits", {}) == limits
    assert manifest["metadata"]["labels"] == {"kai.scheduler/queue": "team-a"}


def test_a_leader_may_have_no_gpu() -> None:
    group = built({"gpu_fraction": 0.5}, leader=kai.PodRequest(queue="team-a", cpu="1"))["spec"][
        "leaderWorkerTemplate"
    ]
    assert "annotations" not in group["leaderTemplate"]["metadata"]
    assert group["workerTemplate"]["metadata"]["annotations"]["gpu-fraction"] == "0.5"


def test_each_group_is_a_gang() -> None:
    manifest = built({"gpus": 1, **RACKS}, replicas=2)
    cluster = kai.load(json.dumps([dict(manifest)]).encode())
    groups = [each["spec"] for each in cluster.objects["podGroups"]]
    assert [each["minMember"] for each in groups] == [4, 4]
    assert {each["queue"] for each in groups} == {"team-a"}
    assert {each["topologyConstraint"]["topology"] for each in groups} == {"racks"}


def test_segments_have_a_size_and_a_level() -> None:
    manifest = built(
        {"gpus": 1, **RACKS}, size=5, segment_size=2, segment_required_level="example.com/rack",
        leader_in_segments=False,
    )  # fmt: skip
    group = manifest["spec"]["leaderWorkerTemplate"]
    assert group["subGroupPolicy"] == {"subGroupSize": 2, "type": "LeaderExcluded"}
    key = "kai.scheduler/segment-topology-required-placement"
    assert group["workerTemplate"]["metadata"]["annotations"] == {key: "example.com/rack"}
    assert manifest.placement[key] == "pod template of the workers"
    cluster = kai.load(json.dumps([dict(manifest)]).encode())
    (spec,) = [each["spec"] for each in cluster.objects["podGroups"]]
    levels = [
        each.get("topologyConstraint", {}).get("requiredTopologyLevel")
        for each in spec["subGroups"]
    ]
    assert levels.count("example.com/rack") == 2


@pytest.mark.parametrize(
    ("gpus", "options", "message"),
    [
        (RACKS, {"segment_size": 1}, "segment_size is 1"),
        (RACKS, {"segment_size": 5}, "segment_size is 5, but size is 4"),
        (RACKS, {"segment_size": 2, "leader_in_segments": False}, "3 workers are not a multiple"),
        (RACKS, {"segment_required_level": "example.com/rack"}, "write segment_size="),
        (
            {},
            {"segment_size": 2, "segment_required_level": "rack"},
            "a level of segments needs a topology",
        ),
        ({}, {"startup_policy": "Now"}, "startup_policy is 'Now'"),
        ({}, {"size": 0}, "size is 0"),
    ],
)
def test_invalid_arguments_are_refused(
    gpus: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        built(gpus, **options)


def test_the_gang_minimum_must_equal_the_size() -> None:
    assert built({"gang_min": 4}).unsupported == ()
    (other,) = built({"gang_min": 2}).unsupported
    assert other.setting == "gang_min"
    assert "size" in other.workaround


def test_a_leader_that_starts_first_causes_a_warning() -> None:
    assert any("LeaderReady" in each for each in built(startup_policy="LeaderReady").warnings)
    assert not any("LeaderReady" in each for each in built().warnings)
