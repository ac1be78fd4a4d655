"""What keeps a pod to its share of a GPU, as its object and its node say."""

from typing import Any

import pytest

from kai.api.isolations import NO_MPS_LIMIT, SENTENCES, isolation_of, sentence_of

GUARDED = {
    "KAI_GUARD_REGION": "/run/kai-guard/region",
    "LD_PRELOAD": "/run/kai-guard/libkaiguard.so",
}
REVIEWED = {"runai/shared-gpu-configmap": "p-shared-gpu"}
HALF = {"gpu-fraction": "0.5", **REVIEWED}
MPS = {"mps": "true"}


def pod(
    annotations: dict[str, str] | None = None,
    variables: dict[str, str] | None = None,
    **limits: str,
) -> dict[str, Any]:
    env = [{"name": name, "value": value} for name, value in (variables or {}).items()]
    named = {name.replace("_", "/"): amount for name, amount in limits.items()}
    container = {"name": "main", "env": env, "resources": {"limits": named}}
    return {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [container]}}


def node(strategy: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"nvidia.com/gpu.sharing-strategy": strategy}}}


@pytest.mark.parametrize(
    ("given", "isolation"),
    [
        (pod(HALF), "none"),
        (pod({"gpu-memory": "4096", **REVIEWED}), "none"),
        (pod({"gpu-fraction": "0.5"}), ""),
        (pod({"gpu-fraction": "0.5"}, GUARDED), "guard"),
        (pod(HALF, GUARDED), "guard"),
        (pod(HALF, {"KAI_GUARD_REGION": "/r"}), "none"),
        (pod(HALF, {**GUARDED, "CUDA_DEVICE_MEMORY_LIMIT": ""}), "guard"),
        (pod(HALF, {"CUDA_DEVICE_MEMORY_LIMIT": ""}), "hamicore"),
        (pod({**HALF, **MPS}), "mps"),
        (pod(HALF, {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=4G"}), "mps"),
        (pod(**{"nvidia.com_mig-1g.5gb": "1"}), "mig"),
        (pod(**{"nvidia.com_mig-1g.5gb": "0"}), ""),
        (pod(**{"nvidia.com_gpu": "1"}), ""),
        (pod(), ""),
        ({}, ""),
        ({"metadata": {"annotations": HALF}, "spec": {"containers": 5}}, "none"),
    ],
)
def test_the_isolation_of_a_pod(given: dict[str, Any], isolation: str) -> None:
    assert isolation_of(given) == isolation
    assert bool(sentence_of(given)) is bool(isolation)


def test_the_container_with_the_share_counts() -> None:
    given = pod({**HALF, "gpu-fraction-container-name": "second"}, GUARDED)
    given["spec"]["containers"].append({"name": "second"})
    assert isolation_of(given) == "none"
    given["spec"]["containers"][1]["env"] = given["spec"]["containers"][0]["env"]
    assert isolation_of(given) == "guard"


def test_a_device_plugin_shares_what_pods_request_as_whole_gpus() -> None:
    for whole in (pod(**{"nvidia.com_gpu": "1"}), pod(**{"nvidia.com_gpu.shared": "1"})):
        found = [isolation_of(whole, node(each)) for each in ("mps", "time-slicing", "none")]
        assert found == ["mps", "none", ""]
    assert isolation_of(pod(), node("mps")) == ""
    assert isolation_of(pod(HALF, GUARDED), node("mps")) == "guard"


def test_mps_without_a_limit_says_so() -> None:
    assert sentence_of(pod({**HALF, **MPS})) == NO_MPS_LIMIT
    limited = pod({**HALF, **MPS}, {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=4G"})
    assert sentence_of(limited) == SENTENCES["mps"]
    # The device plugin's own MPS has limits.
    assert sentence_of(pod(**{"nvidia.com_gpu": "1"}), node("mps")) == SENTENCES["mps"]
