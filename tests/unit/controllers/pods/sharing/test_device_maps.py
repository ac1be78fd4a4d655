"""The ConfigMaps that name a pod's devices exist before the pod is bound."""

from typing import Any

import pytest

from fakes.played import Reserving, Steps
from fakes.writes import DONE, LOST, REFUSED, body_of
from kai.api import keys
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.sharing.device_maps import TRIES, DeviceMaps

THERE = Outcome(Result.CONFLICT, 409, "AlreadyExists", "it is there")
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


class Harness(Reserving):
    """A pod that shares a device, and its last steps."""

    def __init__(self, given: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__()
        self.maps = DeviceMaps(lambda binding: ["GPU-7"], **options)
        self.begin(given or pod())

    def begin(self, given: dict[str, Any]) -> None:
        self.start(self.maps, HALF, given)
        self.last = self.steps(0)

    def answer(self, *outcomes: Outcome) -> Steps:
        """All writes of the last step."""
        for write, outcome in zip(self.last.writes, outcomes, strict=True):
            last = self.answered(0, write, outcome)
        self.last = last
        return last


def data(write: Write) -> dict[str, str]:
    return dict(body_of(write).get("data", {}))


def test_a_pod_is_ready_when_both_config_maps_exist() -> None:
    harness = Harness()
    first, second = harness.last.writes
    assert [first.name, second.name] == ["a-1-shared-gpu-0", "a-1-shared-gpu-0-evar"]
    assert data(first) == {
        "GPU_PORTION": "0.50",
        "NVIDIA_VISIBLE_DEVICES": "GPU-7",
        "RUNAI_NUM_OF_GPUS": "0.50",
    }
    assert data(second) == {}
    harness.answered(0, second, DONE)
    assert harness.ready == []
    harness.answered(0, first, DONE)
    assert harness.ready == ["team/a"]


def test_a_config_map_of_an_earlier_try_is_overwritten() -> None:
    harness = Harness()
    there = harness.last.writes[0]
    [patch] = harness.answer(THERE, DONE).writes
    assert (patch.verb, patch.name, patch.body) == ("patch", there.name, there.body)
    harness.answer(DONE)
    assert harness.ready == ["team/a"]


def test_a_creation_without_an_answer_is_sent_again_and_then_fails() -> None:
    harness = Harness()
    harness.answer(LOST, DONE)
    for _ in range(TRIES - 2):
        harness.answer(LOST)
    harness.answer(LOST)
    assert harness.failed == [f"{WRAPPED}the API server did not answer"]


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (REFUSED, f"{WRAPPED}policy says no"),
        (Outcome(Result.FAILED, 0, NOT_LEADING, "another process leads"), "not leading"),
    ],
)
def test_a_creation_that_fails_fails_the_binding(outcome: Outcome, why: str) -> None:
    harness = Harness()
    harness.answer(outcome, DONE)
    assert harness.failed == [why]


def test_a_pod_without_the_annotation_of_admission_fails_with_kais_message() -> None:
    harness = Harness(pod(**{"gpu-fraction": "0.5"}))
    assert harness.failed == [
        f"{WRAPPED}failed to get capabilities configmap name: no desired configmap name found in"
        " pod team/a annotations"
    ]


def test_both_config_maps_are_deleted_when_the_binding_fails() -> None:
    harness = Harness()
    given = harness.last.writes
    harness.take_back(HALF)
    assert harness.steps(0).writes == []  # after the writes under way
    back = harness.answer(DONE, LOST)
    assert [(each.verb, each.name, each.key) for each in back.writes] == [
        ("delete", each.name, each.key) for each in given
    ]
    assert (harness.ready, len(harness)) == ([], 1)
    harness.answer(DONE, DONE)
    assert len(harness) == 0


def test_the_next_try_waits_until_the_maps_of_the_last_one_are_deleted() -> None:
    harness = Harness()
    harness.answer(REFUSED, DONE)
    deletions = harness.last.writes
    harness.begin(pod())
    assert harness.last.writes == []
    harness.last = Steps(deletions)
    harness.answer(DONE, DONE)
    assert [each.verb for each in harness.last.writes] == ["create", "create"]
    harness.answer(DONE, DONE)
    assert harness.ready == ["team/a"]


def test_the_memory_limit_of_hami_core_needs_the_label_of_the_node() -> None:
    harness = Harness(hami=True)
    [read] = harness.last.look
    assert (read.kind, read.name, harness.last.writes) == ("Node", "n1", [])
    node = {"metadata": {"labels": {"nvidia.com/gpu.memory": "15360"}}}
    first = harness.seen(0, read, node).writes[0]
    assert data(first)["CUDA_DEVICE_MEMORY_LIMIT"] == "7680m"


def test_the_limit_of_mps_needs_the_label_of_the_node() -> None:
    name = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
    given = pod()
    given["metadata"]["annotations"][keys.GPU_FRACTION_ANNOTATION] = "0.5"
    reference = {"name": name, "valueFrom": {"configMapKeyRef": {"name": "m", "key": name}}}
    container = given["spec"]["containers"][0]
    container["env"] = [*container.get("env", ()), reference]
    harness = Harness(given)
    [read] = harness.last.look
    node = {"metadata": {"labels": {"nvidia.com/gpu.memory": "15360"}}}
    assert data(harness.seen(0, read, node).writes[0])[name] == "0=7650M"


def test_a_pod_that_is_gone_while_its_node_is_read_gets_no_maps() -> None:
    harness = Harness(hami=True)
    [read] = harness.last.look
    harness.take_back(HALF)
    harness.steps(0)
    assert harness.seen(0, read, None) == Steps()
    assert len(harness) == 0
