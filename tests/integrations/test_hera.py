"""Argo with Hera: the manifests that Hera makes of our arguments."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import HALF_A_T4, without_nulls
from hera.workflows import DAG, Container, Script, Workflow, script
from hera.workflows.models import Workflow as WorkflowModel

from kai.integrations import argo
from kai.settings import PodRequest

REQUESTS = {
    "none": PodRequest(queue="q", cpu=1, memory="1Gi"),
    "whole": PodRequest(queue="q", gpus=2),
    "fraction": PodRequest(queue="q", gpu_fraction="0.25", priority="train"),
    "memory": PodRequest(queue="q", gpu_memory="5Gi"),
    "two devices": PodRequest(queue="q", gpu_fraction=0.5, devices=2),
    "mps": PodRequest(
        queue="q", gpu_fraction=0.5, isolation="mps", mps=True, mps_pipe_directory="/run/mps"
    ),
    "mig": PodRequest(queue="q", mig="1g.5gb", cpu="100m", cpu_limit="1"),
    "claim": PodRequest(queue="q", claim="one-gpu", runtime_class="nvidia"),
    "privileged": PodRequest(
        queue="q",
        gpus=1,
        privileged=True,
        env={"A": "1", "B": "x y"},
        topology="cluster",
        required_level="rack",
        tolerations=[
            {"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
        ],
    ),
}


def test_a_workflow_equals_one_written_by_hand(expected: Any) -> None:
    built = argo.build(HALF_A_T4, kind="script", every_pod=False)

    @script(image="python:3.11", **built.native.template_kwargs)
    def train():
        print(1)

    with (
        Workflow(
            generate_name="t-", namespace="argo", entrypoint="d", **built.native.workflow_kwargs
        ) as workflow,
        DAG(name="d"),
    ):
        train()

    assert without_nulls(workflow.to_dict()) == expected("hera-7.1.0")


@pytest.mark.parametrize("name", REQUESTS)
def test_the_arguments_of_hera_give_the_plain_values(name: str) -> None:
    built = argo.build(REQUESTS[name])
    with Workflow(name="w", entrypoint="train", **built.native.workflow_kwargs) as workflow:
        Container(name="train", image="i", **built.native.template_kwargs)

    made = without_nulls(workflow.to_dict())

    assert made["metadata"]["labels"] == built["workflow"]["metadata"]["labels"]
    spec = built["workflow"]["spec"]
    assert {key: made["spec"][key] for key in spec} == spec
    wanted = {"name": "train", **built["template"]}
    wanted["container"] = {"image": "i", **wanted.get("container", {})}
    assert made["spec"]["templates"] == [wanted]


def test_a_script_accepts_the_same_arguments() -> None:
    built = argo.build(HALF_A_T4, kind="script")
    with Workflow(name="w", entrypoint="train", **built.native.workflow_kwargs) as workflow:
        Script(name="train", image="i", source="print(1)", **built.native.template_kwargs)

    (template,) = without_nulls(workflow.to_dict())["spec"]["templates"]
    assert template["script"]["resources"] == built["template"]["script"]["resources"]


@pytest.mark.parametrize("name", REQUESTS)
def test_a_patched_manifest_is_read_back_without_loss(name: str) -> None:
    manifest = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"generateName": "t-"},
        "spec": {
            "entrypoint": "train",
            "templates": [{"name": "train", "container": {"image": "i"}}],
        },
    }
    patched = dict(argo.patch(manifest, REQUESTS[name], templates=["train"]))

    # Models drop keys that Argo does not have: if the results are equal, Argo has all of them.
    read = WorkflowModel.model_validate(patched).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    assert without_nulls(read) == without_nulls(patched)


def test_an_amount_that_hera_cannot_read_raises_one_sentence() -> None:
    from kai.errors import InvalidRequestError

    with pytest.raises(InvalidRequestError, match="write them as in 500m"):
        argo.build(PodRequest(queue="q", cpu="1e3"))
    assert argo.build(PodRequest(queue="q", cpu="1e3"), as_native=False)


def test_both_examples_have_the_same_training_step() -> None:
    folder = Path(__file__).parents[2] / "examples" / "argo"
    made = []
    for name in ("patch.py", "workflow.py"):
        command = [sys.executable, str(folder / name)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        made.append(yaml.safe_load(done.stdout))

    patched, written = [
        next(each for each in manifest["spec"]["templates"] if each["name"] == "train")
        for manifest in made
    ]
    # Only the manifest that existed before has a limit of memory.
    assert patched["container"]["resources"]["limits"].pop("memory") == "4Gi"
    del patched["container"]["resources"]["limits"]
    written["retryStrategy"]["limit"] = int(written["retryStrategy"]["limit"])
    assert patched == written
    assert made[0]["metadata"] == made[1]["metadata"]
    assert "nvidia.com/gpu" not in yaml.safe_dump(patched["container"])
