"""What lint finds about the guard of a pod's share of GPU memory."""

from typing import Any

import pytest

from kai.linting import lint

CHOICE = "kai.scheduler/gpu-guard"
LIMITS = {"name": "KAI_GUARD_LIMITS", "value": "GPU-8216274a-c05d-4f77-b44e-2b8f9a4c6d10=1.0"}
PRELOAD = {"name": "LD_PRELOAD", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}
HALF = {"gpu-fraction": "0.5"}


def pod(annotations: dict[str, str], *env: dict[str, Any], **container: Any) -> dict[str, Any]:
    labels = {"kai.scheduler/queue": "default-queue"}
    main = {"name": "main", "image": "example/app:1", "env": list(env), **container}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": labels, "annotations": annotations},
        "spec": {"schedulerName": "kai-scheduler", "containers": [main]},
    }


def found(given: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in lint(given)]


WHOLE = {"limits": {"nvidia.com/gpu": "1"}}


@pytest.mark.parametrize("resources", [{}, WHOLE])
def test_the_guard_has_no_effect_without_a_share(resources: dict[str, Any]) -> None:
    [finding] = lint(pod({CHOICE: "true"}, resources=resources))
    assert finding.code == "guard-without-share"
    assert finding.path == f"metadata.annotations[{CHOICE}]"
    assert lint(pod({CHOICE: "false"}, resources=resources)) == []
    assert lint(pod({CHOICE: "true", **HALF})) == []


def test_it_replaces_the_limits_of_the_pod() -> None:
    expected = [("guard-limit-replaced", "spec.containers[0].env[0]")]
    assert found(pod(HALF, LIMITS)) == expected
    assert found(pod(HALF, {"name": "KAI_GUARD_LIMIT", "value": "1.0"})) == expected
    assert found(pod({**HALF, CHOICE: "false"}, LIMITS)) == []
    assert found(pod({}, LIMITS)) == []


def test_a_pod_as_the_webhook_made_it_has_no_findings() -> None:
    region = {"name": "KAI_GUARD_REGION", "value": "/run/kai-guard/region"}
    limit = {"name": "KAI_GUARD_LIMIT", "value": "0.5"}
    assert found(pod(HALF, region, limit, {"name": "KAI_GUARD_LIMITS"})) == []


def test_it_cannot_be_added_to_libraries_by_reference() -> None:
    assert found(pod(HALF, PRELOAD)) == [("preload-by-reference", "spec.containers[0].env[0]")]
    assert found(pod({**HALF, CHOICE: "true"}, PRELOAD)) != []
    assert found(pod({**HALF, CHOICE: "false"}, PRELOAD)) == []
    assert found(pod(HALF, {"name": "LD_PRELOAD", "value": "/lib/a.so"})) == []


def test_only_the_container_with_the_share_counts() -> None:
    given = pod({**HALF, "gpu-fraction-container-name": "main"}, LIMITS)
    given["spec"]["containers"].insert(0, {"name": "side", "image": "example/app:1"})
    assert found(given) == [("guard-limit-replaced", "spec.containers[1].env[0]")]
    given["metadata"]["annotations"]["gpu-fraction-container-name"] = "side"
    assert found(given) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("XLA_CLIENT_MEM_FRACTION", "0.464"),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".4"),
        ("PYTORCH_CUDA_ALLOC_CONF", "per_process_memory_fraction:0.464,backend:native"),
        ("PYTORCH_ALLOC_CONF", "backend:native,per_process_memory_fraction:0.464"),
    ],
)
def test_a_part_of_the_whole_gpu_becomes_a_part_of_the_share(name: str, value: str) -> None:
    env, guarded = {"name": name, "value": value}, {CHOICE: "true"}
    [finding] = lint(pod({**HALF, **guarded}, env))
    assert finding.code == "part-of-share"
    assert f"{name} has 0.4" in finding.message
    assert "write a part of the share, such as 0." in finding.fix
    [of_memory] = lint(pod({"gpu-memory": "4096", **guarded}, env))
    assert of_memory.fix == (
        'write a part of the share, or the annotation kai.scheduler/gpu-guard: "false"'
    )
    assert lint(pod(HALF, env)) == []
    assert lint(pod({**HALF, CHOICE: "false"}, env)) == []
    assert lint(pod({**HALF, **guarded, "mps": "true"}, env)) == []


@pytest.mark.parametrize("value", ["0.9", "1.0", "", "half", "0.0", "1e-1", "0.464, 0.5"])
def test_other_settings_are_left_alone(value: str) -> None:
    env = {"name": "XLA_CLIENT_MEM_FRACTION", "value": value}
    assert lint(pod({**HALF, CHOICE: "true"}, env)) == []
