"""examples/zenml runs on this machine, with ZenML's local orchestrator."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "zenml"


def python(home: Path, *arguments: str) -> str:
    """Python's output in the folder of the example, with a separate ZenML home."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=EXAMPLE,
        timeout=300,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(ROOT / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ZENML_CONFIG_PATH": str(home / "config"),
            "ZENML_LOCAL_STORES_PATH": str(home / "stores"),
            "ZENML_ANALYTICS_OPT_IN": "false",
            "ZENML_LOGGING_COLORS_DISABLED": "true",
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_pipeline_runs_and_learns(tmp_path: Path) -> None:
    text = python(tmp_path, "run.py")
    found = re.search(r"accuracy: ([0-9.]+)", text)
    assert found is not None
    assert float(found[1]) > 0.9
    assert re.search(r"GPU is available: (True|False)", text)
    kept = python(
        tmp_path,
        "-c",
        "from zenml.client import Client\n"
        "[found] = Client().list_pipeline_runs().items\n"
        "print(found.pipeline.name, found.status)\n"
        "for name, step in found.steps.items():\n"
        "    print(name, step.status)\n",
    )
    assert "gpu_pipeline completed" in kept
    assert "load_iris_dataset completed" in kept
    assert "train_iris_model completed" in kept


def test_only_the_training_step_requests_a_gpu(tmp_path: Path) -> None:
    text = python(
        tmp_path,
        "-c",
        "import pipeline\n"
        "for step in (pipeline.load_iris_dataset, pipeline.train_iris_model):\n"
        "    settings = step.configuration.settings\n"
        "    pod = settings['orchestrator'].pod_settings if settings else None\n"
        "    print(step.name, pod['annotations']['gpu-fraction'] if pod else 'nothing')\n",
    )
    assert "load_iris_dataset nothing" in text
    assert "train_iris_model 0.5" in text


def test_the_plan_is_shown_with_zenml_installed(tmp_path: Path) -> None:
    text = python(tmp_path, "run.py", "--plan")
    assert re.search(r"train_iris_model +kai-scheduler +test +0.5", text)
