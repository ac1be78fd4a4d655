"""examples/zenml without ZenML: its plan, and the files beside it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import kai
import kai.queues
from kai.integrations import zenml
from kai.linting import lint

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "zenml"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """Modules of the example that need only kai."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    names = ("settings", "plan", "variables")
    before = set(sys.modules)
    yield {name: __import__(name) for name in names}
    for name in names:
        if name not in before:
            del sys.modules[name]


def planned(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "run.py"), "--plan", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "python")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text: str) -> list[list[str]]:
    lines = text[text.index("run  step") :].split("\n\n")[0].splitlines()
    return [re.split(r" {2,}", line) for line in lines[1:]]


def test_the_plan_of_one_run() -> None:
    text = planned()
    assert rows(text) == [
        ["1", "load_iris_dataset", "Kubernetes' own", "-", "-", "any with room"],
        ["1", "train_iris_model", "kai-scheduler", "test", "0.5", "gpu-pool-1"],
    ]
    shown = text[text.index("# train_iris_model") : text.index("run  step")]
    pod = yaml.safe_load(shown)
    assert pod["metadata"]["annotations"]["gpu-fraction"] == "0.5"
    assert "waits" not in text


def test_two_runs_share_a_gpu_and_the_fifth_waits() -> None:
    text = planned("--runs", "5")
    nodes = [row[-1] for row in rows(text) if row[1] == "train_iris_model"]
    assert nodes == ["gpu-pool-1", "gpu-pool-1", "gpu-pool-2", "gpu-pool-2", "waits"]
    assert "run-5-train-iris-model waits in queue test" in text


def test_the_readme_shows_the_printed_plan() -> None:
    blocks = (EXAMPLE / "README.md").read_text(encoding="utf-8").split("```")[1::2]
    [shown] = [each for each in blocks if "run.py --plan" in each]
    text = planned("--runs", "5")
    for line in shown.splitlines():
        assert line.startswith("$ ") or line in ("", "...") or line in text.splitlines()


def test_the_queues_of_the_example() -> None:
    """Without quota and without limit, one below the other."""
    top, leaf = yaml.safe_load_all((EXAMPLE / "queues.yaml").read_text(encoding="utf-8"))
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    for queue in (top, leaf):
        assert queue["apiVersion"] == "scheduling.run.ai/v2"
        assert queue["kind"] == "Queue"
        resources = dict.fromkeys(("cpu", "gpu", "memory"), unlimited)
        assert queue["spec"]["resources"] == resources
    assert top["metadata"]["name"] == "default"
    assert "parentQueue" not in top["spec"]
    assert leaf["metadata"]["name"] == "test"
    assert leaf["spec"]["parentQueue"] == "default"
    assert [top, leaf] == kai.queues.unlimited("test", parent="default")


def test_the_terraform_variables_equal_the_settings(
    modules: dict[str, ModuleType],
) -> None:
    file = EXAMPLE / "terraform" / "kai.auto.tfvars.json"
    assert file.read_text(encoding="utf-8") == modules["variables"].text()
    values = json.loads(file.read_text(encoding="utf-8"))
    declared = re.findall(
        r'^variable "(\w+)"', (EXAMPLE / "terraform" / "variables.tf").read_text(), re.MULTILINE
    )
    assert set(values) <= set(declared)
    assert all(isinstance(value, str) for value in values.values())


def test_terraform_can_plan_before_there_are_connectors() -> None:
    """Up to 3.0.4 ZenML's provider rejects a resource with a connector whose id is not known
    yet."""
    text = (EXAMPLE / "terraform" / "main.tf").read_text(encoding="utf-8")
    assert text.count("connector_id = zenml_service_connector") == 3
    assert "connector_resource_id" not in text


def test_the_component_requests_no_gpu(modules: dict[str, ModuleType]) -> None:
    settings = json.loads(json.loads(modules["variables"].text())["pod_settings"])
    assert settings == {
        "scheduler_name": "kai-scheduler",
        "labels": {"kai.scheduler/queue": "test"},
    }
    assert lint(settings) == []


def test_the_sample_pod_of_terraform_has_no_findings(
    modules: dict[str, ModuleType],
) -> None:
    """A GPU fraction without a whole GPU."""
    template = (EXAMPLE / "terraform" / "pod.yaml.tftpl").read_text(encoding="utf-8")
    values = {
        "namespace": "default",
        "queue": "test",
        "gpu_fraction": "0.5",
        "gpu_type": "nvidia-tesla-t4",
    }
    text = re.sub(r"\$\{(\w+)\}", lambda match: values[match[1]], template)
    pod: dict[str, Any] = yaml.safe_load(text)
    assert "nvidia.com/gpu" not in json.dumps(pod["spec"]["containers"])
    built = zenml.build(modules["settings"].HALF_A_T4, as_native=False).pod
    assert pod["metadata"]["annotations"] == built["metadata"]["annotations"]
    assert pod["spec"]["tolerations"] == built["spec"]["tolerations"]
    plan = kai.Scheduler().plan(modules["plan"].cluster_of([pod]))
    [bound] = plan.decisions
    assert isinstance(bound, kai.Bind)
    assert bound.portion == 0.5


def test_the_driver_must_support_the_cuda_version_of_the_image(
    modules: dict[str, ModuleType],
) -> None:
    """The first example required CUDA 12.2 with an image of 12.1."""
    dockerfile = (EXAMPLE / "Dockerfile").read_text(encoding="utf-8")
    found = re.search(r"^FROM .*-cuda([0-9.]+)-", dockerfile, re.MULTILINE)
    assert found is not None
    assert modules["settings"].HALF_A_T4.env["NVIDIA_REQUIRE_CUDA"] == f"cuda>={found[1]}"


def test_all_settings_of_the_example_have_no_findings(modules: dict[str, ModuleType]) -> None:
    for request in modules["settings"].STEPS.values():
        if request is not None:
            built = zenml.build(request, as_native=False, strict=True)
            assert lint(built) == []
