"""A request is checked when it is created: values that KAI would reject or ignore give a
message."""

import copy
import pickle
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

import kai
from kai import PodRequest

# The invalid arguments, and a part of the message.
WRONG: list[tuple[dict[str, Any], str]] = [
    # spec 7 C1, C2
    ({"gpus": 1, "gpu_fraction": 0.5}, "exclude each other"),
    ({"gpu_memory": 1000, "gpu_fraction": 0.5}, "exclude each other"),
    ({"mig": "1g.5gb", "gpus": 1}, "exclude each other"),
    ({"claim": "gpu", "gpu_memory": 1000}, "exclude each other"),
    # spec 7 C3
    ({"gpu_fraction": 0}, "more than 0"),
    ({"gpu_fraction": -0.5}, "more than 0"),
    ({"gpu_fraction": 1.5}, r"devices=2, gpu_fraction=0.75"),
    ({"gpu_fraction": 2}, "gpus=2"),
    ({"gpu_fraction": "NaN"}, "between 0 and 1"),
    ({"gpu_fraction": float("nan")}, "between 0 and 1"),
    ({"gpu_fraction": float("inf")}, "between 0 and 1"),
    ({"gpu_fraction": "0x1p-1"}, "between 0 and 1"),
    ({"gpu_fraction": "half"}, "between 0 and 1"),
    ({"gpu_fraction": ""}, "between 0 and 1"),
    ({"gpu_fraction": True}, "between 0 and 1"),
    ({"gpu_fraction": Fraction(1, 3)}, "round it"),
    # spec 7 C5
    ({"gpu_memory": 0}, "more than 0"),
    ({"gpu_memory": "-1"}, "more than 0"),
    ({"gpu_memory": "5GB"}, "5Gi"),
    ({"gpu_memory": "1500k"}, "only whole MiB"),
    ({"gpu_memory": 5.5}, "MiB"),
    ({"gpu_memory": 20000, "gpu_memory_total": 15360}, "more than the 15300 MiB"),
    ({"gpu_memory_total": 40}, "of at least 100"),
    # spec 7 C6, and mps
    ({"devices": 2}, "needs gpu_fraction"),
    ({"devices": 2, "gpus": 2}, "gpus=2"),
    ({"devices": 0, "gpu_fraction": 0.5}, "of at least 1"),
    ({"devices": True, "gpu_fraction": 0.5}, "of at least 1"),
    ({"mps": True}, "needs gpu_fraction"),
    ({"mps": True, "gpus": 1}, "needs gpu_fraction"),
    ({"gpus": -1}, "of at least 0"),
    ({"gpus": 0.5}, "whole number"),
    ({"mig": "small"}, "1g.5gb"),
    ({"claim": "Not A Name"}, "name of a Kubernetes object"),
    # spec 7 C15
    ({"gpu_fraction": 0.5, "env": {"NVIDIA_VISIBLE_DEVICES": "all"}}, "remove it"),
    # names and values
    ({"queue": "team a"}, "63 letters"),
    ({"queue": ""}, "63 letters"),
    ({"queue": "q" * 64}, "63 letters"),
    ({"queue_label_key": "not a key"}, "is not a key"),
    ({"priority": "Train!"}, "63 letters"),
    ({"container": "Main"}, "lower-case letters"),
    ({"labels": {"a b": "c"}}, "is not a key"),
    ({"labels": {"a": "b c"}}, "63 letters"),
    ({"annotations": {"a": 0.5}}, "in quotes"),
    ({"labels": {"kai.scheduler/queue": "x"}}, "write queue="),
    ({"annotations": {"gpu-fraction": "0.5"}}, "write gpu_fraction="),
    ({"annotations": {"kai.scheduler/topology": "t"}}, "write topology="),
    ({"annotations": {"nvidia.com/container.c.gpus.devices": "0"}}, "style='nvfractions'"),
    ({"env": {"1A": "x"}}, "not the name of a variable"),
    ({"env": {"A": None}}, "in quotes"),
    ({"env": ["A=b"]}, "mapping"),
    ({"node_selector": {"a": 1}}, "in quotes"),
    ({"scheduler_name": "Kai Scheduler"}, "name of a Kubernetes object"),
    ({"runtime_class": "NVIDIA"}, "name of a Kubernetes object"),
    ({"preemption_delay": "5"}, "with a unit"),
    ({"staleness_grace_period": "soon"}, "with a unit"),
    ({"gang_min": 0}, "of at least 1"),
    ({"cpu": "two"}, "quantity"),
    ({"cpu": 0}, "more than 0"),
    ({"memory": "2Gi", "memory_limit": "1Gi"}, "above memory_limit"),
    # topology
    ({"topology": "rack"}, "without a level"),
    ({"required_level": "rack"}, "needs a topology"),
    # nodes
    ({"platform": "azure"}, "gke, eks, aks, generic"),
    ({"node_pool": "gpus"}, "depends on the cluster"),
    (
        {
            "platform": "gke",
            "gpu_type": "nvidia-tesla-t4",
            "node_selector": {"cloud.google.com/gke-accelerator": "nvidia-l4"},
        },
        "exclude each other",
    ),
    ({"tolerations": {"key": "a"}}, "write a list"),
    ({"tolerations": "all"}, "write a list"),
    ({"tolerations": [{"key": "a", "operator": "In"}]}, "Equal, Exists"),
    ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "remove the value"),
    ({"tolerations": [{"key": "a", "seconds": 5}]}, "tolerationSeconds"),
    ({"tolerations": [{}]}, "has no key"),
    # KAI's versions
    ({"isolation": "walls"}, "hamicore"),
    ({"framework": "mxnet"}, "torch"),
    ({"framework_versions": {"mxnet": "1"}}, "torch"),
    ({"kai_version": "0.5"}, "0.17"),
    ({"style": "nvfractions", "gpu_memory": 1000}, "needs KAI 0.18"),
    ({"style": "nvfractions", "gpu_fraction": 0.5, "kai_version": "0.18"}, "gpu_memory="),
    (
        {
            "style": "nvfractions",
            "gpu_memory": 1000,
            "kai_version": "0.18",
            "isolation": "guard",
        },
        "style='legacy' or isolation='nvfractions'",
    ),
    # the guard: only the opposite of isolation= is an annotation
    (
        {"gpu_fraction": 0.5, "annotations": {"kai.scheduler/gpu-guard": "true"}},
        "write isolation='guard' instead",
    ),
    (
        {"gpu_fraction": 0.5, "annotations": {"kai.scheduler/gpu-guard": "no"}},
        "'no': write isolation='guard' instead, or \"false\"",
    ),
    (
        {
            "gpu_fraction": 0.5,
            "isolation": "guard",
            "annotations": {"kai.scheduler/gpu-guard": "false"},
        },
        "exclude each other",
    ),
    ({"compute_sharing": "sm-sharing", "gpu_fraction": 0.5}, "needs KAI 0.18"),
    ({"compute_sharing": "luck", "gpu_fraction": 0.5, "kai_version": "0.18"}, "sm-sharing"),
    ({"headroom": -1}, "of at least 0"),
    # kinds of values
    ({"mps": "yes", "gpu_fraction": 0.5}, "True or False"),
    ({"preemptible": 1}, "True or False"),
    ({"framework_versions": ["torch"]}, "write a mapping"),
    ({"framework": [["torch"]]}, "write one of torch"),
    ({"tolerations": [{"key": ["a"]}]}, "write a string"),
    ({"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": "5"}]}, "number"),
    ({"mps_pipe_directory": "tmp"}, "an absolute path"),
    ({"processes": 0}, "of at least 1"),
    ({"gpu_memory": "1.5"}, r"gpu_memory is '1\.5', which has no unit: write whole MiB, such as"),
    ({"gpu_memory": "1.5Mi"}, r"is 1\.50 MiB, but KAI accepts only whole MiB: write '2Mi'"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG)
def test_invalid_requests_are_refused_with_a_hint(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(kai.InvalidRequestError, match=sentence) as caught:
        PodRequest(**arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("request_of", "sentence"),
    [
        ({"gpu_fraction": 0.5}, "has no effect with gpu_fraction, as it limits amounts of memory"),
        ({"gpu_fraction": 0.5, "kai_version": "0.18"}, "has no effect with gpu_fraction"),
        ({"gpu_memory": 4096}, "has no effect before KAI 0.18"),
        ({"gpu_memory": 4096, "kai_version": "0.18"}, ""),
        ({"gpus": 1}, ""),  # another warning says that no isolation has an effect
    ],
)
def test_an_isolation_by_nvfractions_without_effect_is_a_warning(
    request_of: dict[str, Any], sentence: str
) -> None:
    found = PodRequest(queue="a", isolation="nvfractions", **request_of).warnings
    assert [each.partition("has no effect")[0] for each in found] == (
        ["isolation='nvfractions' "] if sentence else []
    )
    assert all(sentence in each for each in found)


def test_an_unknown_argument_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="gpu_fractoin"):
        PodRequest(gpu_fractoin=0.5)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (0.5, "0.5"),
        ("0.50", "0.5"),
        (".25", "0.25"),
        ("5e-1", "0.5"),
        ("500m", "0.5"),
        (Fraction(1, 8), "0.125"),
        (1e-3, "0.001"),
        ("0.333", "0.333"),
    ],
)
def test_a_fraction_is_a_plain_decimal(given: Any, text: str) -> None:
    request = PodRequest(gpu_fraction=given)
    assert (request.gpu_fraction, request.gpu_kind) == (text, "fraction")


@pytest.mark.parametrize(("devices", "gpus"), [(1, 1), (4, 4)])
def test_a_fraction_of_one_is_a_whole_gpu(devices: int, gpus: int) -> None:
    for one in (1, 1.0, "1", "1.0", "1000m"):
        request = PodRequest(gpu_fraction=one, devices=devices)
        assert (request.gpu_kind, request.gpus, request.devices) == ("whole", gpus, 1)


@pytest.mark.parametrize(
    ("given", "mib"), [("5Gi", 5120), ("5120Mi", 5120), ("5120", 5120), (5120, 5120)]
)
def test_memory_is_in_mib(given: Any, mib: int) -> None:
    assert PodRequest(gpu_memory=given).gpu_memory == mib


def test_shares_that_two_decimals_cannot_express_cause_a_warning() -> None:
    def warned(fraction: float) -> bool:
        return any("two decimals" in each for each in PodRequest(gpu_fraction=fraction).warnings)

    assert [warned(each) for each in (0.5, 0.12, 0.125, 0.375, 0.004)] == [
        False, False, True, True, True,
    ]  # fmt: skip


def test_a_gpu_pod_tolerates_gpu_nodes_once() -> None:
    own = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    assert PodRequest(gpus=1).tolerations == (own,)
    assert PodRequest(gpus=1, tolerations=[own, own]).tolerations == (own,)
    assert PodRequest().tolerations == ()
    assert PodRequest(gpus=0).tolerations == ()


def test_tolerations_of_a_client_library_are_read() -> None:
    """Up to kubernetes 36 a class with attribute_map, from 37 on a pydantic model."""
    expected = ({"key": "a", "operator": "Exists", "tolerationSeconds": 5},)
    names = {"key": "key", "operator": "operator", "toleration_seconds": "tolerationSeconds"}
    older = SimpleNamespace(attribute_map=names, key="a", operator="Exists", toleration_seconds=5)
    newer = SimpleNamespace(model_dump=lambda **_: dict(expected[0]))
    for each in (older, newer, {"key": "a", "operator": "Exists", "toleration_seconds": 5}):
        assert PodRequest(tolerations=[each]).tolerations == expected


def test_models_and_pools_become_labels_of_the_platform() -> None:
    gke = PodRequest(platform="gke", gpu_type="nvidia-tesla-t4", node_pool="gpu-pool")
    assert gke.node_selector == {
        "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
        "cloud.google.com/gke-nodepool": "gpu-pool",
    }
    assert PodRequest(gpu_type="Tesla-T4").node_selector == {"nvidia.com/gpu.product": "Tesla-T4"}


def test_mixed_fleets_get_both_queue_labels() -> None:
    assert PodRequest(queue="q").queue_labels == {"kai.scheduler/queue": "q"}
    assert PodRequest(queue="q", legacy=True).queue_labels == {"runai/queue": "q"}
    assert PodRequest(queue="q", both=True).queue_labels == {
        "kai.scheduler/queue": "q",
        "runai/queue": "q",
    }
    assert PodRequest(queue="q", queue_label_key="org/team").queue_labels == {"org/team": "q"}


def test_changes_start_from_the_given_arguments() -> None:
    t4 = PodRequest(gpu_fraction=0.5, platform="gke", gpu_type="nvidia-tesla-t4")
    l4 = t4.with_changes(gpu_type="nvidia-l4")
    assert l4.node_selector == {"cloud.google.com/gke-accelerator": "nvidia-l4"}
    assert t4.node_selector == {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}
    assert t4.with_changes(gpu_fraction=None).tolerations == ()
    assert PodRequest(gpu_fraction=1).with_changes(gpu_fraction=0.5).gpu_kind == "fraction"
    with pytest.raises(kai.InvalidRequestError):
        t4.with_changes(gpus=1)


def test_a_request_is_immutable() -> None:
    env = {"A": "b"}
    request = PodRequest(env=env, tolerations=iter([{"operator": "Exists"}]))
    env["A"] = "c"
    assert request.env == {"A": "b"}
    assert request.with_changes(queue="q").env == {"A": "b"}
    assert request.with_changes(queue="q").tolerations == request.tolerations
    with pytest.raises(AttributeError):
        request.queue = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        request.env["A"] = "d"  # type: ignore[index]


def test_a_request_can_be_copied_and_pickled() -> None:
    request = PodRequest(queue="q", gpu_fraction=0.5, env={"A": "b"}, framework="torch")
    assert copy.deepcopy(request) == request
    assert pickle.loads(pickle.dumps(request)) == request
