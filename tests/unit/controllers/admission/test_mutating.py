"""Changes to a new pod, beyond the recordings of KAI (tests/conformance)."""

import copy
from typing import Any

import pytest

from kai.controllers.admission import Rules, json_patch, mutate
from kai.errors import NotFoundError

DEVICES = "NVIDIA_VISIBLE_DEVICES"
VOID = {"name": DEVICES, "value": "void"}


def container(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "example/app:1", **fields}


def gpus(amount: str, resource: str = "nvidia.com/gpu") -> dict[str, Any]:
    return {"requests": {resource: amount}, "limits": {resource: amount}}


def pod(
    *containers: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team", "annotations": annotations or {}},
        "spec": {"containers": list(containers) or [container()], **spec},
    }


def half(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    annotations = {"gpu-fraction": "0.5", **more.pop("annotations", {})}
    return pod(*containers, annotations=annotations, **more)


def letters(length: int) -> str:
    return "x" * length


def created(given: dict[str, Any], **rules: Any) -> dict[str, Any]:
    before = copy.deepcopy(given)
    patched = mutate(given, Rules(**rules), draw=letters)
    assert given == before
    return patched


def env_of(patched: dict[str, Any], index: int = 0, part: str = "containers") -> list[Any]:
    return patched["spec"][part][index].get("env", [])


def test_a_pod_without_a_part_of_a_gpu_is_unchanged() -> None:
    whole = pod(container(resources=gpus("1")))
    assert created(whole) == whole
    assert created(pod()) == pod()


def test_the_mutation_is_idempotent() -> None:
    once = created(half(container(), container("side")), hami=True, blocks_devices=True)
    assert mutate(once, Rules(hami=True, blocks_devices=True), draw=lambda _: "other") == once


def test_only_variables_of_the_same_names_are_replaced() -> None:
    own = [{"name": "GPU_PORTION", "value": "1"}, {"name": "A", "value": "b"}]
    names = [each["name"] for each in env_of(created(half(container(env=own))))]
    assert names == ["A", DEVICES, "RUNAI_NUM_OF_GPUS", "GPU_PORTION"]


def test_with_hami_core_the_memory_limit_comes_last_and_may_be_missing() -> None:
    reference = {"name": "p-xxxxxxx-shared-gpu-0", "key": "CUDA_DEVICE_MEMORY_LIMIT"}
    limit = env_of(created(half(), hami=True))[-1]
    assert limit == {
        "name": "CUDA_DEVICE_MEMORY_LIMIT",
        "valueFrom": {"configMapKeyRef": {**reference, "optional": True}},
    }


def test_an_existing_config_map_name_is_kept() -> None:
    patched = created(half(annotations={"runai/shared-gpu-configmap": "mine"}))
    assert patched["spec"]["volumes"] == [
        {"name": "mine-0-vol", "configMap": {"name": "mine-0"}},
    ]


@pytest.mark.parametrize(
    ("given", "configured", "becomes"),
    [(None, "nvidia", "nvidia"), ("own", "nvidia", "own"), (None, "", None)],
)
def test_the_runtime_class_is_set_where_there_is_none(
    given: str | None, configured: str, becomes: str | None
) -> None:
    spec = {} if given is None else {"runtimeClassName": given}
    patched = created(half(**spec), runtime_class=configured)
    assert patched["spec"].get("runtimeClassName") == becomes


def test_a_missing_container_is_refused_with_kais_message() -> None:
    message = r"failed to get fraction container ref: container with name b not found for fraction"
    with pytest.raises(NotFoundError, match=message):
        created(half(annotations={"gpu-fraction-container-name": "b"}))


def test_a_pod_without_containers_is_left_to_the_api_server() -> None:
    nothing = half(containers=[])
    assert created(nothing, blocks_devices=True) == nothing


def test_blocking_hides_devices_from_containers_without_a_request() -> None:
    patched = created(
        half(
            container("gets"),
            container("side"),
            container("none", resources=gpus("0")),
            container("slice", resources=gpus("1", "nvidia.com/mig-1g.5gb")),
            container("says", env=[{"name": DEVICES, "value": "all"}]),
            initContainers=[container("prepares")],
        ),
        blocks_devices=True,
    )
    assert env_of(patched)[0]["name"] == DEVICES
    assert "valueFrom" in env_of(patched)[0]
    assert [env_of(patched, index) for index in range(1, 5)] == [[VOID], [VOID], [], [VOID]]
    assert env_of(patched, part="initContainers") == [VOID]


def test_blocking_does_not_change_a_variable_with_a_reference() -> None:
    reference = {"name": DEVICES, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    assert env_of(created(pod(container(env=[reference])), blocks_devices=True)) == [reference]


def test_the_patch_has_only_the_changes() -> None:
    given = half(container(), container("side"))
    patch = json_patch(given, created(given))
    assert [(each["op"], each["path"]) for each in patch] == [
        ("add", "/metadata/annotations/runai~1shared-gpu-configmap"),
        ("add", "/spec/containers/0/env"),
        ("add", "/spec/containers/0/envFrom"),
        ("add", "/spec/runtimeClassName"),
        ("add", "/spec/volumes"),
    ]
    assert json_patch(given, given) == []


def test_a_patch_removes_and_replaces_values() -> None:
    assert json_patch({"a": 1, "b": [1, {"c": 2}], "d": [1]}, {"b": [1, {"c": 3}], "d": []}) == [
        {"op": "remove", "path": "/a"},
        {"op": "replace", "path": "/b/1/c", "value": 3},
        {"op": "replace", "path": "/d", "value": []},
    ]
