"""The container and the ConfigMaps of a pod with a GPU fraction, beyond the recordings of KAI
(tests/conformance)."""

from typing import Any

import pytest

from kai.controllers.pods.sharing import (
    config_map_bodies,
    config_map_prefix,
    config_maps,
    fraction_container,
    needs_memory_of_node,
)
from kai.errors import NotFoundError

REFERENCE = {"valueFrom": {"configMapKeyRef": {"name": "mine-0", "key": "NVIDIA_VISIBLE_DEVICES"}}}


def pod(*, owner: str = "", container: str = "", name: str = "p", **spec: Any) -> dict[str, Any]:
    annotations = {"gpu-fraction": "0.5", "runai/shared-gpu-configmap": "mine"}
    if container:
        annotations["gpu-fraction-container-name"] = container
    metadata: dict[str, Any] = {"name": name, "namespace": "team", "uid": "u"}
    if owner:
        metadata["ownerReferences"] = [{"name": owner}, {"name": "another"}]
    variable = {"name": "NVIDIA_VISIBLE_DEVICES", **REFERENCE}
    return {
        "metadata": {**metadata, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "env": [variable]}], **spec},
    }


def letters(length: int) -> str:
    return "x" * length


def prefix_of(given: dict[str, Any]) -> str:
    return config_map_prefix(given, letters)


def capabilities(*devices: str, portion: str = "0.50", **how: Any) -> dict[str, str]:
    return config_map_bodies(pod(), devices, portion, **how)[0]["data"]


def test_init_containers_come_first() -> None:
    both = [{"name": "main"}, {"name": "same"}]
    given = pod(container="same", containers=both, initContainers=both)
    found = fraction_container(given)
    assert (found.part, found.index, found.place) == ("initContainers", 1, "i1")
    assert fraction_container(pod(initContainers=both)).part == "containers"


def test_a_missing_container_has_kais_message() -> None:
    message = "^container with name b not found for fraction request$"
    with pytest.raises(NotFoundError, match=message):
        config_maps(pod(container="b"))
    with pytest.raises(NotFoundError, match="no container"):
        fraction_container(pod(containers=[]))


def test_the_prefix_is_the_name_of_the_first_owner_or_of_the_pod() -> None:
    assert prefix_of(pod()) == "p-xxxxxxx-shared-gpu"
    assert prefix_of(pod(owner="job")) == "job-xxxxxxx-shared-gpu"
    unnamed = pod(name="")
    unnamed["metadata"]["generateName"] = "train-"
    assert prefix_of(unnamed) == "train-xxxxxxx-shared-gpu"


def test_a_long_name_is_cut_to_the_longest_allowed() -> None:
    longest = pod(owner="a" * 100)
    assert prefix_of(longest) == f"{'a' * 33}-xxxxxxx-shared-gpu"  # spec 3 B19
    many = [{"name": f"c{index}"} for index in range(11)]
    tenth = pod(owner="a" * 100, container="c10", containers=many)
    assert prefix_of(tenth) == f"{'a' * 32}-xxxxxxx-shared-gpu"
    assert prefix_of(pod(owner=f"{'a' * 31}.-b")) == f"{'a' * 31}-xxxxxxx-shared-gpu"
    longest["metadata"]["annotations"]["runai/shared-gpu-configmap"] = prefix_of(longest)
    names = config_maps(longest)
    assert max(map(len, (names.capabilities, names.environment, names.volume))) <= 63


def test_the_volume_has_a_valid_name() -> None:
    given = pod()
    given["metadata"]["annotations"]["runai/shared-gpu-configmap"] = "My..team.job"
    assert config_maps(given).volume == "my-team-job-0-vol"


def test_devices_keep_their_order() -> None:
    assert capabilities("GPU-b", "GPU-a")["NVIDIA_VISIBLE_DEVICES"] == "GPU-b,GPU-a"
    assert capabilities("GPU-b", "GPU-a", cdi=True)["NVIDIA_VISIBLE_DEVICES"] == (
        "k8s.device-plugin.nvidia.com/gpu=GPU-b,k8s.device-plugin.nvidia.com/gpu=GPU-a"
    )


def test_a_container_without_the_reference_gets_the_devices_in_the_second_map() -> None:
    for env in ([], [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]):
        given = pod(containers=[{"name": "main", "env": env}])
        first, second = config_map_bodies(given, ["GPU-a"], "0.50")
        assert first["data"] == {"GPU_PORTION": "0.50", "RUNAI_NUM_OF_GPUS": "0.50"}
        assert second["data"] == {"NVIDIA_VISIBLE_DEVICES": "GPU-a"}


@pytest.mark.parametrize(
    ("label", "portion", "limit"),
    [
        ("15360", "0.27", "4147m"),  # spec 3 B24
        ("40960", "0.50", "20480m"),  # spec 5 A62
        ("16106127360", "0.27", "4147m"),  # bytes
        ("15360", "0.00", None),
        ("much", "0.50", None),
        ("", "0.50", None),
        ("15360", "much", None),
        ("15360", "inf", None),
    ],
)
def test_the_memory_limit_of_hami_core(label: str, portion: str, limit: str | None) -> None:
    labels = {"nvidia.com/gpu.memory": label}
    data = capabilities("GPU-a", portion=portion, hami=True, node_labels=labels)
    assert data.get("CUDA_DEVICE_MEMORY_LIMIT") == limit
    assert "CUDA_DEVICE_MEMORY_LIMIT" not in capabilities("GPU-a", node_labels=labels)


def test_both_config_maps_belong_to_the_pod() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    bodies = config_map_bodies(pod(), ["GPU-a"], "0.50")
    assert [each["metadata"] for each in bodies] == [
        {"name": name, "namespace": "team", "ownerReferences": [owner]}
        for name in ("mine-0", "mine-0-evar")
    ]
    assert "data" not in bodies[1]


# ---- limits of MPS -------------------------------------------------------------------------------

LIMIT, THREADS = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"


def with_mps(*names: str, **annotations: str) -> dict[str, Any]:
    given = pod()
    given["metadata"]["annotations"] |= annotations
    env = [{"name": each, "valueFrom": {"configMapKeyRef": {"key": each}}} for each in names]
    given["spec"]["containers"][0]["env"] += env
    return given


def data_of(given: dict[str, Any], portion: str = "0.50", memory: str = "15360") -> dict[str, str]:
    devices, labels = ["GPU-a", "GPU-b"], {"nvidia.com/gpu.memory": memory}
    data: dict[str, str]
    data = config_map_bodies(given, devices, portion, node_labels=labels)[0]["data"]
    return data


def test_mps_limits_each_device_to_what_the_scheduler_has_reserved() -> None:
    given = with_mps(LIMIT)
    assert data_of(given)[LIMIT] == "0=7650M,1=7650M"
    assert THREADS not in data_of(given)
    assert needs_memory_of_node(given)


def test_an_amount_of_memory_needs_no_node() -> None:
    given = with_mps(LIMIT, **{"gpu-memory": "4096"})
    del given["metadata"]["annotations"]["gpu-fraction"]
    assert data_of(given, memory="")[LIMIT] == "0=4096M,1=4096M"
    assert not needs_memory_of_node(given)


@pytest.mark.parametrize("memory", ["", "much", "-1"])
def test_memory_that_is_not_known_is_no_limit(memory: str) -> None:
    assert LIMIT not in data_of(with_mps(LIMIT), memory=memory)


@pytest.mark.parametrize(
    ("portion", "threads"), [("0.50", "50"), ("0.125", "12"), ("0.00", "1"), ("x", None)]
)
def test_the_part_of_the_compute_time_is_in_whole_per_cents(
    portion: str, threads: str | None
) -> None:
    assert data_of(with_mps(THREADS), portion).get(THREADS) == threads


def test_a_container_that_does_not_read_the_limits_gets_none() -> None:
    assert {LIMIT, THREADS}.isdisjoint(data_of(pod()))
    assert not needs_memory_of_node(pod())
