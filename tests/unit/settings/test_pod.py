"""The effect of a request on a new pod, and on existing pods."""

import json
from typing import Any

import pytest

import kai
from kai import PodRequest
from kai.settings import Built, Unsupported, merge, merge_into_pod, native_or, pod_part


def test_half_a_gpu() -> None:
    part = pod_part(PodRequest(queue="test", gpu_fraction=0.5, cpu="500m"), container="main")
    pod = part.manifest(container="main", owns_itself=True)
    assert pod == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "labels": {"kai.scheduler/queue": "test"},
            "annotations": {"gpu-fraction": "0.5", "gpu-fraction-container-name": "main"},
        },
        "spec": {
            "schedulerName": "kai-scheduler",
            "tolerations": [
                {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
            ],
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}],
        },
    }
    json.dumps(pod)


@pytest.mark.parametrize(
    ("given", "annotations", "resources"),
    [
        ({}, {}, {}),
        ({"gpus": 0}, {}, {}),
        ({"gpus": 2}, {}, {"limits": {"nvidia.com/gpu": "2"}}),
        ({"mig": "1g.5gb"}, {}, {"limits": {"nvidia.com/mig-1g.5gb": "1"}}),
        ({"claim": "one-gpu"}, {}, {"claims": [{"name": "gpu"}]}),
        ({"gpu_fraction": 0.5}, {"gpu-fraction": "0.5"}, {}),
        ({"gpu_fraction": "0.25"}, {"gpu-fraction": "0.25"}, {}),
        ({"gpu_memory": "5Gi"}, {"gpu-memory": "5120"}, {}),
        (
            {"gpu_fraction": 0.25, "devices": 2, "mps": True},
            {"gpu-fraction": "0.25", "gpu-fraction-num-devices": "2", "mps": "true"},
            {},
        ),
        (
            {
                "gpu_memory": 7680,
                "container": "c",
                "kai_version": "0.18",
                "style": "nvfractions",
                "compute_sharing": "sm-sharing",
            },
            {
                "nvidia.com/container.c.gpu-memory.request": "7680Mi",
                "nvidia.com/container.c.gpu-memory.limit": "7680Mi",
                "kai.scheduler/gpu-compute-sharing-mode": "sm-sharing",
            },
            {},
        ),
    ],
)
def test_a_pod_has_one_kind_of_gpu_request(
    given: dict[str, Any], annotations: dict[str, str], resources: dict[str, Any]
) -> None:
    part = pod_part(PodRequest(**given))
    assert (part.annotations, part.resources) == (annotations, resources)


def test_nvfractions_need_the_name_of_the_container() -> None:
    request = PodRequest(gpu_memory=1000, kai_version="0.18", style="nvfractions")
    with pytest.raises(kai.InvalidRequestError, match="write container="):
        pod_part(request)
    assert "nvidia.com/container.main.gpu-memory.request" in (
        pod_part(request, container="main").annotations
    )


def test_settings_of_the_owner_are_not_on_the_pod() -> None:
    request = PodRequest(topology="t", required_level="rack", gang_min=4, preemption_delay="5m")
    part = pod_part(request)
    assert part.metadata() == {"annotations": {"kai.scheduler/preemption-delay": "5m"}}
    assert part.metadata(owns_itself=True)["annotations"] == {
        "kai.scheduler/topology": "t",
        "kai.scheduler/topology-required-placement": "rack",
        "kai.scheduler/batch-min-member": "4",
        "kai.scheduler/preemption-delay": "5m",
    }


def test_the_stale_gang_workaround_depends_on_the_version() -> None:
    """spec 7 KW17."""
    for version, expected in (("0.17", "-1s"), ("0.18", None)):
        part = pod_part(PodRequest(workaround_stale_gang=True, kai_version=version))
        assert part.annotations.get("kai.scheduler/staleness-grace-period") == expected
    own = PodRequest(workaround_stale_gang=True, staleness_grace_period="5m")
    assert pod_part(own).annotations == {"kai.scheduler/staleness-grace-period": "5m"}


# ---- pods that exist -----------------------------------------------------------------------------


def existing() -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": "x"}, "annotations": {"gpu-fraction": "0.9", "own": "1"}},
        "spec": {
            "containers": [
                {"name": "main", "image": "i", "env": [{"name": "A", "value": "old"}]},
                {"name": "c", "resources": {"limits": {"nvidia.com/gpu": 0, "memory": "1Gi"}}},
            ],
            "initContainers": [{"name": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        },
    }


def test_other_fields_are_kept_and_patching_is_idempotent() -> None:
    part = pod_part(PodRequest(queue="q", gpu_fraction=0.5, env={"A": "new", "B": "b"}))
    once, warnings = merge_into_pod(existing(), part, container="main")
    assert once["metadata"]["annotations"] == {"gpu-fraction": "0.5", "own": "1"}
    assert once["metadata"]["labels"] == {"app": "x", "kai.scheduler/queue": "q"}
    main, other = once["spec"]["containers"]
    assert (main["image"], main["env"]) == (
        "i",
        [{"name": "A", "value": "new"}, {"name": "B", "value": "b"}],
    )
    assert other["resources"]["limits"] == {"memory": "1Gi"}
    assert len(warnings) == 2  # a limit of zero counts as one, and so do init containers
    twice, warnings = merge_into_pod(once, part, container="main")
    assert (twice, warnings) == (once, ())


def test_whole_gpus_replace_a_fraction() -> None:
    merged, warnings = merge_into_pod(existing(), pod_part(PodRequest(gpus=1)))
    assert "gpu-fraction" not in merged["metadata"]["annotations"]
    assert merged["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert len(warnings) == 1


def test_a_new_kind_of_gpu_request_replaces_the_earlier_one() -> None:
    pod = kai.pod_settings(gpu_fraction=0.5, devices=2, mps=True).apply_to(existing())
    pod["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/mig-1g.5gb": "1"}}
    merged, warnings = merge_into_pod(pod, pod_part(PodRequest(gpu_memory=1000)))
    assert merged["metadata"]["annotations"] == {"gpu-memory": "1000", "own": "1"}
    assert "resources" not in merged["spec"]["containers"][0]  # nothing empty is left
    assert len(warnings) == 4


def test_a_request_without_gpus_keeps_those_of_the_pod() -> None:
    merged, warnings = merge_into_pod(existing(), pod_part(PodRequest(queue="q")))
    assert merged["metadata"]["annotations"]["gpu-fraction"] == "0.9"
    assert warnings == ()


def test_a_missing_container_is_refused() -> None:
    part = pod_part(PodRequest(gpu_fraction=0.5), container="trainer")
    with pytest.raises(kai.InvalidRequestError, match="write one of main, c"):
        merge_into_pod(existing(), part)


def test_merging_does_not_change_its_arguments() -> None:
    before = existing()
    merge_into_pod(before, pod_part(PodRequest(gpu_fraction=0.5)))
    merge(before, {"spec": {"containers": [{"name": "main", "image": "other"}]}})
    assert before == existing()


def test_lists_are_merged_by_the_keys_of_their_entries() -> None:
    merged = merge(
        {"env": [{"name": "A", "value": "1"}], "volumeMounts": [{"mountPath": "/a"}], "args": [1]},
        {
            "env": [{"name": "A", "valueFrom": {}}],
            "volumeMounts": [{"mountPath": "/a", "name": "v"}, {"mountPath": "/b"}],
            "args": [1, 2],
        },
    )
    assert merged == {
        "env": [{"name": "A", "valueFrom": {}}],
        "volumeMounts": [{"mountPath": "/a", "name": "v"}, {"mountPath": "/b"}],
        "args": [1, 2],
    }


# ---- what builders give back ---------------------------------------------------------------------


def built(**more: Any) -> Built:
    return Built(orchestrator="x", settings={"a": 1}, native={"a": 1}, pod={}, placement={}, **more)


def test_a_result_is_a_mapping_of_its_settings() -> None:
    result = built()
    assert dict(**result) == {"a": 1}
    assert result == {"a": 1}
    assert result == built()
    assert result != {"a": 2}
    assert result.strict() is result


def test_strict_refuses_unsupported_settings() -> None:
    result = built(unsupported=(Unsupported("topology", "is read elsewhere", "write it there"),))
    with pytest.raises(kai.InvalidRequestError, match="x cannot express topology: is read"):
        result.strict()


def test_native_objects_are_made_if_the_library_is_installed() -> None:
    def missing() -> Any:
        raise ImportError("no module")

    assert native_or({}, lambda: "native", as_native=None, library="l") == "native"
    assert native_or({}, lambda: "native", as_native=False, library="l") == {}
    assert native_or({"a": 1}, missing, as_native=None, library="l") == {"a": 1}
    with pytest.raises(kai.InvalidRequestError, match="as_native=True needs l"):
        native_or({}, missing, as_native=True, library="l")


def test_settings_as_a_patch_for_a_pod() -> None:
    settings = kai.pod_settings(queue="q", gpu_fraction=0.5, env={"A": "b"})
    patch = settings.to_pod_patch(container="main")
    assert patch["spec"]["containers"] == [{"name": "main", "env": [{"name": "A", "value": "b"}]}]
    pod = settings.apply_to({"spec": {"containers": [{"name": "main"}]}})
    assert pod["metadata"]["annotations"] == {"gpu-fraction": "0.5"}
    with pytest.raises(kai.InvalidRequestError, match="orchestrator is 'zenith'"):
        settings.for_orchestrator("zenith")
    with pytest.raises(AttributeError):
        _ = settings.unknown
