"""Kubeflow Pipelines: what its compiler makes of a task with our settings (spec 7 K1)."""

# No `from __future__ import annotations`: kfp reads the types of a component's function.

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import HALF_A_T4, without_nulls
from kfp import compiler, dsl, kubernetes

from kai.integrations import kfp
from kai.settings import PodRequest


@dsl.component(base_image="python:3.11")
def load() -> str:
    return "x"


@dsl.component(base_image="python:3.11")
def train(x: str):
    print(x)


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The pipeline load -> train, whose second task goes through a function, as in its YAML: one
    entry per executor, of the platform and of the container."""

    def compile_with(change: Callable[[Any], Any]) -> dict[str, Any]:
        @dsl.pipeline(name="p")
        def pipeline():
            change(train(x=load().output))

        path = tmp_path / "pipeline.yaml"
        compiler.Compiler().compile(pipeline, str(path))
        documents = [*yaml.safe_load_all(path.read_text()), {}]
        platform = documents[1].get("platforms", {}).get("kubernetes", {})
        return {
            "platform": platform.get("deploymentSpec", {}).get("executors", {}),
            "containers": {
                name: entry["container"]
                for name, entry in documents[0]["deploymentSpec"]["executors"].items()
            },
        }

    return compile_with


def test_a_task_equals_one_written_by_hand(compiled: Any, expected: Any) -> None:
    made = compiled(kfp.build(HALF_A_T4).native)

    container = made["containers"]["exec-train"]
    pod = {
        "platform_executor": made["platform"]["exec-train"],
        "executor_container": {key: container[key] for key in ("env", "resources", "image")},
    }
    assert without_nulls(pod) == expected("kfp-2.17.0")


def test_other_tasks_are_unchanged(compiled: Any) -> None:
    made = compiled(kfp.build(HALF_A_T4).native)

    assert set(made["platform"]) == {"exec-train"}
    assert "env" not in made["containers"]["exec-load"]
    assert "resources" not in made["containers"]["exec-load"]


def test_applying_is_idempotent(compiled: Any) -> None:
    apply = kfp.build(HALF_A_T4).native

    assert compiled(lambda task: apply(apply(task))) == compiled(apply)


def test_a_toleration_that_kfp_added_already_is_not_repeated(compiled: Any) -> None:
    apply = kfp.build(HALF_A_T4).native

    def change(task: Any) -> None:
        kubernetes.add_toleration(
            task, key="nvidia.com/gpu", operator="Exists", effect="NoSchedule"
        )
        kubernetes.add_toleration(task, key="spot", operator="Exists", toleration_seconds=60)
        kubernetes.add_pod_label(task, "team", "vision")
        apply(task)

    entry = compiled(change)["platform"]["exec-train"]
    assert [each["key"] for each in entry["tolerations"]] == ["nvidia.com/gpu", "spot"]
    assert entry["podMetadata"]["labels"] == {"team": "vision", "kai.scheduler/queue": "team-a"}


def test_fields_that_kfp_adds_later_are_kept(compiled: Any) -> None:
    apply = kfp.build(
        HALF_A_T4.with_changes(
            tolerations=[
                {
                    "key": "spot",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 60,
                }
            ]
        )
    ).native

    def change(task: Any) -> None:
        # kfp parses all of it as its own message: an unknown field would raise.
        kubernetes.add_pod_label(apply(task), "team", "vision")

    entry = compiled(change)["platform"]["exec-train"]
    assert entry["podMetadata"]["labels"]["team"] == "vision"
    assert [each["key"] for each in entry["tolerations"]] == ["spot", "nvidia.com/gpu"]
    assert int(entry["tolerations"][0]["tolerationSeconds"]) == 60


@pytest.mark.parametrize(
    ("request_", "type_", "count"),
    [
        (PodRequest(queue="q", gpus=2), "nvidia.com/gpu", "2"),
        (PodRequest(queue="q", mig="1g.5gb"), "nvidia.com/mig-1g.5gb", "1"),
    ],
)
def test_whole_gpus_are_accelerators(
    compiled: Any, request_: PodRequest, type_: str, count: str
) -> None:
    resources = compiled(kfp.build(request_).native)["containers"]["exec-train"]["resources"]

    assert resources["accelerator"]["resourceType"] == type_
    assert resources["accelerator"]["resourceCount"] == count


@pytest.mark.parametrize(
    "request_", [PodRequest(queue="q", gpu_fraction=0.5), PodRequest(queue="q", gpu_memory="5Gi")]
)
def test_a_part_of_a_gpu_removes_the_accelerator_of_a_task(
    compiled: Any, request_: PodRequest
) -> None:
    apply = kfp.build(request_).native

    def change(task: Any) -> None:
        task.set_accelerator_type("nvidia.com/gpu").set_accelerator_limit(1)
        with pytest.warns(UserWarning, match="1 of nvidia.com/gpu was removed"):
            apply(task)

    made = compiled(change)
    assert "accelerator" not in made["containers"]["exec-train"].get("resources", {})


def test_whole_gpus_replace_a_part_of_one(compiled: Any) -> None:
    def change(task: Any) -> None:
        kfp.build(HALF_A_T4).native(task)
        with pytest.warns(UserWarning, match="gpu-fraction"):
            kfp.build(HALF_A_T4.with_changes(gpu_fraction=None, gpus=1)).native(task)

    entry = compiled(change)["platform"]["exec-train"]
    assert "annotations" not in without_nulls(entry["podMetadata"])


def test_a_scheduler_name_never_gets_into_the_pipeline(compiled: Any) -> None:
    text = str(compiled(kfp.build(HALF_A_T4).native))

    assert "team-a" in text
    assert "schedulerName" not in text


def test_as_native_sets_whether_native_is_a_callable() -> None:
    assert callable(kfp.build(HALF_A_T4, as_native=True).native)
    assert kfp.build(HALF_A_T4, as_native=False).native == kfp.build(HALF_A_T4).settings


def test_plain_values_are_applied_as_well(compiled: Any) -> None:
    built = kfp.build(HALF_A_T4)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(lambda task: kfp.apply(built, task)) == compiled(built.native)


def test_the_example_compiles(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "kfp" / "pipeline.py"
    subprocess.run([sys.executable, str(example), str(tmp_path)], check=True)

    _, platform = yaml.safe_load_all((tmp_path / "pipeline.yaml").read_text())
    executor = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]["exec-train"]
    assert executor["podMetadata"]["annotations"]["gpu-fraction"] == "0.5"
    kinds = [each["kind"] for each in yaml.safe_load_all((tmp_path / "policy.yaml").read_text())]
    assert kinds == ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"]
