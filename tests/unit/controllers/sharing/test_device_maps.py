"""The ConfigMaps that name a pod's devices exist before the pod is bound."""

from __future__ import annotations

from typing import Any

import pytest

from kai.api import keys
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.pods.decisions import Binding
from kai.controllers.preparing import Given
from kai.controllers.sharing.device_maps import TRIES, DeviceMaps

DONE = Outcome(Result.DONE, 201)
THERE = Outcome(Result.CONFLICT, 409, "AlreadyExists", "it is there")
LOST = Outcome(Result.LOST)
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "policy says no")
SPEC = {
    "receivedResourceType": "Fraction",
    "receivedGPU": {"count": 1, "portion": "0.50"},
    "selectedGPUGroups": ["g"],
}
HALF = Binding("team/a", "uid-a", "n1", 1, "pg", spec=SPEC)
WRAPPED = "plugin gpusharing failed in PreBind: failed to create capabilities configmap: "


def pod(**annotations: str) -> dict[str, Any]:
    reference = {"valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}
    container = {"name": "main", "env": [{"name": keys.VISIBLE_DEVICES_ENV, **reference}]}
    annotations = annotations or {keys.SHARED_GPU_CONFIG_MAP_ANNOTATION: "a-1-shared-gpu"}
    metadata = {"namespace": "team", "name": "a", "uid": "uid-a", "annotations": annotations}
    return {"metadata": metadata, "spec": {"containers": [container]}}


def begun(**options: Any) -> tuple[DeviceMaps, Given]:
    maps = DeviceMaps(lambda binding: ["GPU-7"], **options)
    return maps, maps.give(0, HALF, pod())


def data(write: Write) -> dict[str, str]:
    assert isinstance(write.body, dict)
    return dict(write.body.get("data", {}))


def test_a_pod_is_ready_when_both_config_maps_exist() -> None:
    maps, given = begun()
    first, second = given.writes
    assert [each.name for each in given.writes] == ["a-1-shared-gpu-0", "a-1-shared-gpu-0-evar"]
    assert data(first) == {
        "GPU_PORTION": "0.50",
        "NVIDIA_VISIBLE_DEVICES": "GPU-7",
        "RUNAI_NUM_OF_GPUS": "0.50",
    }
    assert data(second) == {}
    assert maps.answered(0, second, DONE).ready == []
    assert maps.answered(0, first, DONE).ready == [HALF]


def test_a_config_map_of_an_earlier_try_is_overwritten() -> None:
    maps, given = begun()
    [patch] = maps.answered(0, given.writes[0], THERE).writes
    assert (patch.verb, patch.name, patch.body) == (
        "patch",
        given.writes[0].name,
        given.writes[0].body,
    )
    maps.answered(0, given.writes[1], DONE)
    assert maps.answered(0, patch, DONE).ready == [HALF]


def test_a_creation_without_an_answer_is_sent_again_and_then_fails() -> None:
    maps, given = begun()
    write = given.writes[0]
    for _ in range(TRIES - 1):
        [write] = maps.answered(0, write, LOST).writes
    [(_, why)] = maps.answered(0, write, LOST).failed
    assert why == f"{WRAPPED}the API server did not answer"


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (REFUSED, f"{WRAPPED}policy says no"),
        (Outcome(Result.FAILED, 0, NOT_LEADING, "another process leads"), ""),
    ],
)
def test_a_creation_that_fails_fails_the_binding(outcome: Outcome, why: str) -> None:
    maps, given = begun()
    assert maps.answered(0, given.writes[0], outcome).failed == [(HALF, why)]


def test_a_pod_without_the_annotation_of_admission_fails_with_kais_message() -> None:
    maps = DeviceMaps(lambda binding: ["GPU-7"])
    [(_, why)] = maps.give(0, HALF, pod(**{"gpu-fraction": "0.5"})).failed
    assert why == (
        f"{WRAPPED}failed to get capabilities configmap name: no desired configmap name found in"
        " pod team/a annotations"
    )


def test_both_config_maps_are_deleted_when_the_binding_fails() -> None:
    maps, given = begun()
    back = maps.take_back(HALF)
    assert [(each.verb, each.name) for each in back.writes] == [
        ("delete", each.name) for each in given.writes
    ]
    keys_of = [each.key for each in given.writes]
    assert [each.key for each in back.writes] == keys_of  # after the writes under way
    assert maps.answered(0, given.writes[0], DONE) == Given()
    assert maps.take_back(HALF).writes == []


def test_answers_to_an_earlier_try_are_ignored() -> None:
    maps, before = begun()
    maps.take_back(HALF)
    given = maps.give(0, HALF, pod())
    for write in before.writes:
        assert maps.answered(0, write, DONE) == Given()
    maps.answered(0, given.writes[0], DONE)
    assert maps.answered(0, given.writes[1], DONE).ready == [HALF]


def test_the_memory_limit_of_hami_core_needs_the_label_of_the_node() -> None:
    maps, given = begun(hami=True)
    [read] = given.reads
    assert (read.kind, read.name, given.writes) == ("Node", "n1", [])
    node = {"metadata": {"labels": {"nvidia.com/gpu.memory": "15360"}}}
    first = maps.read(0, read, node).writes[0]
    assert data(first)["CUDA_DEVICE_MEMORY_LIMIT"] == "7680m"
    maps.take_back(HALF)
    assert maps.read(0, read, node) == Given()
