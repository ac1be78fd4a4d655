"""examples/zenml on a cluster, submitted by ZenML (nox -s zenml-0.98.0-on-a-cluster).

Done by ZenML: the commands of the example's README register the stack; `python run.py` compiles the
pipeline and creates the Job of the orchestrator; the command of that Job's pod creates the Jobs of
the steps and follows them; the commands of their pods run the steps. The example's settings are
used unchanged.

Simulated: kwok instead of kubelets, so the commands of the pods run on this machine (testcluster's
Containers), which also replaces the scheduler of Kubernetes for the pod of the orchestrator; KAI's
webhook and the program in reservation pods (Admission, Reservations). Instead of a ZenML server
there is a database in a file, as ZenML allows for clusters on the same machine (`--local=True`).
The pod of the orchestrator has no token of its service account, so ZenML uses the context of the
orchestrator, which is the admin's. No image is built.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from pathlib import Path

import pytest
from testcluster import (
    Admission,
    Cluster,
    Containers,
    Object,
    Reservations,
    Scene,
    node,
    path_of,
    play,
)

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "zenml"
PYTHON = os.environ["KAI_ORCHESTRATOR_PYTHON"]
GPU_NODE, CPU_NODE = "gpu-pool-1", "default-pool-1"
DATA, TRAINING = STEPS = ("load_iris_dataset", "train_iris_model")
PATIENCE_S = 300.0


async def add_nodes(scene: Scene) -> None:
    """A node with one T4, as GKE labels and taints it, and one without."""
    labels = {
        "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
        "cloud.google.com/gke-nodepool": "gpu-pool",
    }
    await scene.api.create(
        node(GPU_NODE, 1, cpu="4", memory="15Gi", gpu_memory_mib=15_360, labels=labels),
        node(CPU_NODE, 0, cpu="4", memory="15Gi"),
    )
    await scene.api.ready_nodes(2)
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    await scene.api.patch(path_of("Node", name=GPU_NODE), {"spec": {"taints": [taint]}})


class ZenML:
    """ZenML on this machine, with a separate configuration and database."""

    def __init__(self, home: Path, kubeconfig: Path) -> None:
        self.environment = {
            "PATH": f"{Path(PYTHON).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
            "PYTHONPATH": str(ROOT / "python"),
            "PYTHONPYCACHEPREFIX": str(Path(PYTHON).parents[1] / "pycache"),
            "KAI_EXAMPLE_IMAGE": "registry.example.com/zenml/iris:1",
            "ZENML_CONFIG_PATH": str(home / "config"),
            "ZENML_LOCAL_STORES_PATH": str(home / "stores"),
            "ZENML_ANALYTICS_OPT_IN": "false",
            "ZENML_LOGGING_COLORS_DISABLED": "true",
        }

    async def run(self, *command: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=EXAMPLE,
            env=self.environment,
        )
        text = (await process.communicate())[0].decode()
        assert process.returncode == 0, text
        return text

    async def follows_the_readme(self, namespace: str) -> None:
        """The commands for any cluster, with the artifacts and the database on this machine."""
        text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
        section = text.partition("## On another cluster")[2].partition("\n## ")[0]
        commands = section.split("```")[1].replace("\\\n", " ").strip().splitlines()
        here = f"namespace={namespace} --local=True --synchronous=False --job_monitoring_interval=1"
        changed = {
            '"$(kubectl config current-context)"': "test",
            "namespace=zenml": here,
            "my-artifacts": "default",
        }
        install, *others = commands
        assert install == "zenml integration install kubernetes -y"  # done by the nox session
        assert others[-1] == "python run.py"
        for each in others:
            for old, new in changed.items():
                each = each.replace(old, new)
            await self.run(*shlex.split(each))

    async def states(self) -> dict[str, str]:
        """The states of the runs and steps in ZenML, by name."""
        text = await self.run(
            PYTHON,
            "-c",
            "import json\n"
            "from zenml.client import Client\n"
            "[run] = Client().list_pipeline_runs().items\n"
            "states = {name: step.status.value for name, step in run.steps.items()}\n"
            "print('\\n' + json.dumps({run.pipeline.name: run.status.value, **states}))\n",
        )
        states: dict[str, str] = json.loads(text.splitlines()[-1])
        return states


def step_of(pod: Object) -> str:
    """Empty for the pod of the orchestrator."""
    return str(pod["metadata"]["labels"].get("step_name", ""))


async def pods_by_step(scene: Scene) -> dict[str, Object]:
    return {step_of(each): each for each in await scene.api.items(path_of("Pod", scene.namespace))}


async def until_the_run_is_over(scene: Scene, containers: Containers) -> None:
    async def is_over() -> bool:
        for job in await scene.api.items(path_of("Job", scene.namespace)):
            if "zenml.io/orchestrator" in job["metadata"]["annotations"]:
                conditions = job["status"].get("conditions", ())
                return any(each["type"] in ("Complete", "Failed") for each in conditions)
        return False

    try:
        await scene.api.until("the orchestrator's Job has ended", is_over, PATIENCE_S)
    except AssertionError as error:
        logs = "\n".join(f"--- {name}\n{containers.log(name)}" for name in containers.environments)
        raise AssertionError(f"{error}\n{logs}\n{scene.report()}") from None


async def one_group_in_queue_test(scene: Scene) -> None:
    """Both steps belong to the Job of the run; the example sets no priority, and the default for a
    Job's pods is "train" (docs/orchestrators/zenml.md)."""
    [group] = await scene.api.items(path_of("PodGroup", scene.namespace))
    assert group["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert group["spec"] == {"minMember": 1, "priorityClassName": "train", "queue": "test"}


async def half_a_gpu(scene: Scene, pod: Object, containers: Containers) -> None:
    """The pod had half of the only GPU while it ran, and the GPU is free now."""
    metadata = pod["metadata"]
    assert metadata["annotations"]["received-resource-type"] == "Fraction"
    assert metadata["labels"]["runai-gpu-group"]
    assert pod["spec"]["runtimeClassName"] == "nvidia"
    expected = {
        "NVIDIA_VISIBLE_DEVICES": f"GPU-{GPU_NODE}-0",
        "RUNAI_NUM_OF_GPUS": "0.50",
        "GPU_PORTION": "0.50",
        "NVIDIA_REQUIRE_CUDA": "cuda>=12.1",
    }
    seen = containers.environments[metadata["name"]]
    assert {name: seen.get(name) for name in expected} == expected

    async def is_free() -> bool:
        return not await scene.api.items(path_of("Pod", "kai-resource-reservation"))

    await scene.api.until("the card is free", is_free)


@pytest.mark.timeout(600)
def test_both_steps_are_bound_and_the_training_has_half_a_gpu(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    zenml = ZenML(tmp_path / "home", cluster.kubeconfig_of("admin"))

    async def story(scene: Scene) -> None:
        async with (
            Admission(cluster),
            Reservations(scene.api),
            Containers(
                scene.api,
                namespace,
                python=PYTHON,
                folder=EXAMPLE,
                logs=tmp_path,
                environment=zenml.environment,
                node=CPU_NODE,
            ) as containers,
        ):
            await add_nodes(scene)
            cluster.kubectl("apply", "--server-side", "-f", str(EXAMPLE / "queues.yaml"))
            await scene.start()
            await zenml.follows_the_readme(namespace)
            await until_the_run_is_over(scene, containers)

            pods = await pods_by_step(scene)
            assert pods.keys() == {"", *STEPS}
            logs = {step: containers.log(each["metadata"]["name"]) for step, each in pods.items()}
            assert [each["status"]["phase"] for each in pods.values()] == ["Succeeded"] * 3, logs
            assert pods[""]["spec"]["schedulerName"] == "default-scheduler"
            for step in STEPS:
                assert pods[step]["spec"]["schedulerName"] == "kai-scheduler"
                assert pods[step]["metadata"]["labels"]["kai.scheduler/queue"] == "test"
            assert pods[DATA]["spec"]["nodeName"] == CPU_NODE
            assert pods[TRAINING]["spec"]["nodeName"] == GPU_NODE
            await one_group_in_queue_test(scene)
            await half_a_gpu(scene, pods[TRAINING], containers)
            assert "accuracy: 1.00" in logs[TRAINING]
            assert await zenml.states() == dict.fromkeys(("gpu_pipeline", *STEPS), "completed")

    play(cluster, namespace, tmp_path, story, seconds=570)
