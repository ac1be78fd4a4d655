"""JobSets (spec 7 J7)."""

from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, in_container
from kai.errors import InvalidRequestError
from kai.integrations import jobset, kubernetes
from kai.settings import merge

MIN = "kai.scheduler/batch-min-member"


def built(**options: Any) -> Any:
    request = options.pop("request", None) or kai.PodRequest(queue="team-a", gpu_fraction=0.5)
    return jobset.build(request, **{"name": "train", "image": "i", **options})


def jobs(manifest: Any) -> dict[str, Any]:
    return {each["name"]: each["template"] for each in manifest["spec"]["replicatedJobs"]}


@EACH_GPU_REQUEST
def test_each_kind_of_gpu_request_is_only_on_the_pods(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    manifest = built(request=kai.PodRequest(queue="team-a", **gpus))
    template = jobs(manifest)["worker"]["spec"]["template"]
    annotations = in_container("main", annotations)
    assert template["metadata"].get("annotations", {}) == annotations
    [container] = template["spec"]["containers"]
    assert container.get("resources", {}).get("limits", {}) == limits
    assert manifest["metadata"] == {"name": "train", "labels": {"kai.scheduler/queue": "team-a"}}
    assert manifest.to_pod_spec()["spec"] == template["spec"]


def test_all_jobs_have_the_scheduler_and_the_named_ones_the_gpus() -> None:
    parts = jobs(built(jobs={"driver": 1, "worker": 4}, gpu_jobs=["worker"]))
    templates = {name: part["spec"]["template"] for name, part in parts.items()}
    assert {each["spec"]["schedulerName"] for each in templates.values()} == {"kai-scheduler"}
    assert "annotations" not in templates["driver"]["metadata"]
    assert templates["worker"]["metadata"]["annotations"]["gpu-fraction"] == "0.5"
    assert parts["worker"]["spec"]["parallelism"] == 4


def test_each_level_of_the_tree_has_its_own_number_and_topology() -> None:
    whole = kai.PodRequest(
        queue="team-a", gpus=8, gang_min=3, topology="racks", required_level="example.com/block"
    )
    workers = whole.with_changes(required_level="example.com/rack")
    manifest = built(
        request=whole, jobs={"driver": 4, "worker": 4}, requests={"worker": workers}, min_jobs=1
    )
    required = "kai.scheduler/topology-required-placement"
    assert manifest["metadata"]["annotations"][required] == "example.com/block"
    assert manifest["metadata"]["annotations"][MIN] == "1"
    parts = jobs(manifest)
    assert parts["driver"]["metadata"]["annotations"] == {MIN: "3"}
    assert parts["worker"]["metadata"]["annotations"] == {
        "kai.scheduler/topology": "racks",
        required: "example.com/rack",
        MIN: "3",
    }
    # None of these is read from the pods.
    for part in parts.values():
        assert "annotations" not in part["spec"]["template"]["metadata"]
    assert manifest.unsupported == ()
    assert manifest.placement[MIN] == "template of the replicated job"


def test_a_job_of_the_set_may_have_a_number_of_its_own() -> None:
    workers = kai.PodRequest(queue="team-a", gpus=1, gang_min=2)
    driver = kai.PodRequest(queue="team-b")
    manifest = built(
        request=kai.PodRequest(queue="team-a"),
        jobs={"driver": 1, "worker": 4},
        requests={"worker": workers, "driver": driver},
    )
    assert jobs(manifest)["worker"]["metadata"]["annotations"] == {MIN: "2"}
    assert "metadata" not in jobs(manifest)["driver"]
    # A group has one queue, whatever its pods request.
    assert any("driver requests queue team-b" in each for each in manifest.warnings)
    assert not any("worker requests queue" in each for each in manifest.warnings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"request": kai.PodRequest(gang_min=2)}, "replicated job worker has 1 pods at a time"),
        ({"min_jobs": 2}, "min_jobs is 2, but there are 1 jobs"),
        ({"min_jobs": 0}, "min_jobs is 0"),
        ({"jobs": {"worker": 0}}, r"jobs\['worker'\] is 0"),
        ({"jobs": {"Worker": 1}}, "'Worker' is not a name"),
        ({"gpu_jobs": ["other"]}, "no role 'other'"),
        ({"as_native": True}, "no Python classes"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        built(**options)


def test_jobs_in_order_cause_a_gang_warning() -> None:
    assert any("in_order" in each for each in built(jobs={"a": 1, "b": 1}, in_order=True).warnings)
    assert not any("in_order" in each for each in built(jobs={"a": 1, "b": 1}).warnings)


def test_the_workaround_for_stale_gangs_is_for_the_versions_that_need_it() -> None:
    key = "kai.scheduler/staleness-grace-period"
    request = kai.PodRequest(queue="team-a", workaround_stale_gang=True)
    for version, value in (("0.17", "-1s"), ("0.18", None)):
        manifest = built(request=request.with_changes(kai_version=version))
        template = jobs(manifest)["worker"]["spec"]["template"]
        assert template["metadata"].get("annotations", {}).get(key) == value


def test_settings_are_merged_into_an_existing_job_set() -> None:
    mine = dict(built(jobs={"worker": 2}))
    mine["metadata"]["labels"]["team"] = "vision"
    again = merge(mine, dict(kubernetes.patch(mine, kai.PodRequest(queue="b", gpus=1))))
    assert again["metadata"]["labels"] == {"team": "vision", "kai.scheduler/queue": "b"}
