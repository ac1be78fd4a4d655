"""kai settings: the settings for an orchestrator."""

import ast
import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai
from kai import PodRequest
from kai.cli import settings as command
from kai.integrations import builder_for

Run = Callable[..., Any]

HALF = ("settings", "--orchestrator", "zenml", "--queue", "test", "--gpu-fraction", "0.5")


@pytest.mark.parametrize(
    ("form", "read"), [("yaml", yaml.safe_load), ("json", json.loads), ("python", ast.literal_eval)]
)
def test_all_formats_have_the_same_settings(
    run: Run, form: str, read: Callable[[str], Any]
) -> None:
    done = run(*HALF, "--format", form)
    assert done.status == 0
    expected = builder_for("zenml")(
        PodRequest(queue="test", gpu_fraction="0.5"), as_native=False
    ).settings
    assert read(done.out) == expected
    assert "nothing limits the pod to its share" in done.err


def test_every_argument_of_a_request_has_an_option() -> None:
    known = {*command._TEXTS, *command._NUMBERS, *command._FLAGS, *command._EITHER}
    known |= {command._MAPPING_OF.get(name, name) for name in command._PAIRS}
    known |= {"tolerations", "framework"}
    assert known == {each.name for each in dataclasses.fields(PodRequest) if each.init}


def test_options_set_the_arguments_of_the_request(run: Run) -> None:
    done = run(
        *HALF[:5],
        *("--gpu-memory", "5Gi", "--devices", 2, "--env", "A=b=c", "--label", "team=vision"),
        *("--node-selector", "zone=a", "--toleration", "sku=gpu:NoSchedule", "--toleration", "x"),
        *("--framework", "torch", "--framework-version", "torch=2.10", "--no-preemptible"),
        *("--gpu-memory-total", 15360, "--pod", "--format", "json"),
    )
    pod = json.loads(done.out)
    request = PodRequest(
        queue="test",
        gpu_memory="5Gi",
        devices=2,
        env={"A": "b=c"},
        labels={"team": "vision"},
        node_selector={"zone": "a"},
        tolerations=[
            {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
            {"key": "x", "operator": "Exists"},
        ],
        framework="torch",
        framework_versions={"torch": "2.10"},
        preemptible=False,
        gpu_memory_total=15360,
    )
    assert pod == builder_for("zenml")(request, as_native=False).pod


def test_texts_that_look_like_numbers_stay_texts(run: Run) -> None:
    """kubectl would read 1e3 as a number, and PyYAML does not quote it."""
    done = run(*HALF[:3], "--queue", "1e3", "--env", "A=0o17")
    from kai.api.documents import read_value

    labels = read_value(done.out)["pod_settings"]["labels"]
    assert labels == {"kai.scheduler/queue": "1e3"}


def test_all_prints_every_member_of_the_result(run: Run) -> None:
    data = json.loads(run(*HALF, "--all", "--format", "json").out)
    assert set(data) == {
        "settings", "pod", "cluster_objects", "placement", "isolation", "unsupported", "warnings",
    }  # fmt: skip


def test_cluster_objects_are_printed_for_an_administrator(run: Run) -> None:
    arguments = ("settings", "--orchestrator", "kfp", "--queue", "test", "--gpu-fraction", "0.5")
    assert "--cluster-objects" in run(*arguments).err
    documents = list(yaml.safe_load_all(run(*arguments, "--cluster-objects").out))
    assert documents
    assert all(each["kind"] for each in documents)


def test_strict_fails_for_unsupported_settings(run: Run) -> None:
    topology = ("--topology", "t", "--required-level", "rack")
    done = run(*HALF, *topology)
    assert (done.status, "zenml cannot express --topology" in done.err) == (0, True)
    done = run(*HALF, *topology, "--strict")
    assert (done.status, done.out) == (2, "")


def test_options_of_a_builder_are_checked(run: Run) -> None:
    done = run(*HALF, "--set", "zenml_version=0.82.0", "--format", "json")
    assert done.status == 0
    done = run(*HALF, "--set", "nonsense=1")
    assert (done.status, "nonsense" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gpu-fraction", "1.5"), "--devices 2"),
        (("--gpus", "half"), "is not a whole number"),
        (("--env", "A"), "write it as KEY=VALUE"),
        (("--queue", "a b"), "63 letters"),
    ],
)
def test_invalid_options_print_one_sentence(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    done = run("settings", "--orchestrator", "zenml", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_an_unknown_orchestrator(run: Run) -> None:
    done = run("settings", "--orchestrator", "zenith")
    assert (done.status, "write one of airflow" in done.err) == (2, True)


def test_settings_import_no_heavy_modules() -> None:
    """It imports neither tables nor the compiled core nor any orchestrator."""
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "from kai.cli import main\n"
        "main(sys.argv[1:])\n"
        "heavy = ('rich', 'numpy', 'kai._core', 'inspect', 'kubernetes', 'zenml', 'yaml')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)\n"
    )
    root = str(Path(kai.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, root, *HALF, "--format", "json"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    loaded = ast.literal_eval(done.stderr.splitlines()[-1])
    assert set(loaded) <= {"inspect"}  # which click itself imports


# ---- names and words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "orchestrator"),
    [
        ("k8s", "kubernetes"),
        ("hera", "argo"),
        ("pytorchjob", "training-operator"),
        ("PyTorchJob", "training-operator"),
        ("kubeflow-pipelines", "kfp"),
        ("lws", "leaderworkerset"),
        ("KFP", "kfp"),
    ],
)
def test_other_names_of_an_orchestrator(run: Run, name: str, orchestrator: str) -> None:
    options = ("--queue", "test", "--gpu-fraction", "0.5")
    done = run("settings", "--orchestrator", name, *options)
    assert (done.status, done.out) == (
        0,
        run("settings", "--orchestrator", orchestrator, *options).out,
    )


def test_a_name_of_several_orchestrators(run: Run) -> None:
    done = run("settings", "--orchestrator", "kubeflow", "--queue", "test")
    assert (done.status, done.err) == (
        2,
        "kai: orchestrator is 'kubeflow', which is several: write kfp (Kubeflow Pipelines), trainer"
        " (TrainJob) or training-operator (PyTorchJob)\n",
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--gpu-fraction", "1.5"),
            "write --devices 2, --gpu-fraction 0.75 for a part of each of 2 GPUs",
        ),
        (("--gpu-fraction", "half"), "--gpu-fraction is 'half': write a number"),
        (("--gpus", "1", "--gpu-fraction", "0.5"), "--gpus 1 and --gpu-fraction 0.5 exclude each"),
        (("--devices", "2"), "--devices 2 needs --gpu-fraction or --gpu-memory: for whole GPUs"),
        (("--required-level", "rack"), "write --topology with the name of the Topology"),
        (("--mps",), "--mps needs --gpu-fraction or --gpu-memory"),
        (
            ("--gpu-fraction", "0.5", "--framework", "torch"),
            "for 2.10 and later write --framework-version torch=2.10",
        ),
        (("--gang-min", "2"), "kfp cannot express --gang-min: each task"),
        (("--node-pool", "p"), "write --platform (gke, eks, aks), or the label itself in --node-"),
    ],
)
def test_advice_has_the_words_of_the_command_line(
    run: Run, options: tuple[str, ...], sentence: str
) -> None:
    done = run("settings", "--orchestrator", "kfp", "--queue", "test", *options)
    assert sentence in done.err
    assert "=" not in done.err.replace("torch=2.10", "")


def test_options_of_a_builder_are_set(run: Run) -> None:
    assert (
        "write --set repository_uri="
        in run("settings", "--orchestrator", "mlflow", "--queue", "x").err
    )
    done = run("settings", "--orchestrator", "mlflow", "--queue", "x", "--set", "repo=1")
    assert done.status == 2
    assert "--set: mlflow has no option repo; its options are " in done.err
    assert "repository_uri" in done.err
