"""examples/zenml on a cluster, submitted by ZenML (nox -s zenml-0.98.0-on-a-cluster), with its own
settings and with those of ZenML's post about KAI.

kai is installed with Helm, by the command of the post. A machine runs its programs, the program in
the reservation pod, and the commands of ZenML's pods.

Done by ZenML: the commands of the example's README register the stack; `python run.py` compiles the
pipeline and creates the Job of the orchestrator; the command of that Job's pod creates the Jobs of
the steps and follows them; the commands of their pods run the steps.

Instead of a ZenML server there is a database in a file, as ZenML allows for clusters on the same
machine (`--local=True`). No image is built. NVIDIA's library is replaced (nvml/).
"""

import asyncio
import json
import os
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chart_play import Helm
from machine_play import DEVICE, RUNTIME_CLASS, T4_ON_GKE, WITH_A_GPU, Place, Scene, play
from testcluster import Machine, Object, path_of
from testcluster.machine import Image

ROOT = Path(__file__).parents[3]
HERE, EXAMPLE = Path(__file__).parent, ROOT / "examples" / "zenml"
PYTHON = os.environ["KAI_ORCHESTRATOR_PYTHON"]
IMAGE = "registry.example.com/zenml/iris:1"
DATA, TRAINING = STEPS = ("load_iris_dataset", "train_iris_model")
KAI, KUBERNETES = "kai-scheduler", "default-scheduler"
AS_IN_THE_POST: Object = {
    "global": {"registry": "registry.example/team", "gpuSharing": True},
    "binder": {"additionalArgs": ["--cdi-enabled=true"]},
}
GPU_POOL: dict[str, Any] = {
    "name": "gpu-pool-1",
    "gpus": 1,
    "labels": T4_ON_GKE,
    "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
}
PATIENCE_S = 300.0


class ZenML:
    """ZenML on this machine, with a separate configuration and database."""

    def __init__(self, home: Path, kubeconfig: Path) -> None:
        self.environment = {
            "PATH": f"{Path(PYTHON).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
            "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{EXAMPLE}",
            "PYTHONPYCACHEPREFIX": str(Path(PYTHON).parents[1] / "pycache"),
            "KAI_EXAMPLE_IMAGE": IMAGE,
            "ZENML_CONFIG_PATH": str(home / "config"),
            "ZENML_LOCAL_STORES_PATH": str(home / "stores"),
            "ZENML_ANALYTICS_OPT_IN": "false",
            "ZENML_LOGGING_COLORS_DISABLED": "true",
        }

    @property
    def image(self) -> Image:
        """What pods of ZenML find in their image."""
        here = f"{HERE / 'in_a_pod'}{os.pathsep}{self.environment['PYTHONPATH']}"
        return Image((), {**self.environment, "PYTHONPATH": here}, str(EXAMPLE))

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

    async def follows_the_readme(self, namespace: str, script: str, leave_out: str) -> None:
        """The commands for any cluster, with the artifacts and the database on this machine.
        `leave_out`: an option."""
        text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
        section = text.partition("## On another cluster")[2].partition("\n## ")[0]
        commands = section.split("```")[1].replace("\\\n", " ").strip().splitlines()
        here = f"namespace={namespace} --local=True --synchronous=False --job_monitoring_interval=1"
        changed = {
            '"$(kubectl config current-context)"': "test",
            "namespace=zenml": here,
            "my-artifacts": "default",
            "python run.py": f"python {script}",
        }
        install, *others = commands
        assert install == "zenml integration install kubernetes -y"  # done by the nox session
        assert others[-1] == "python run.py"
        for each in others:
            for old, new in changed.items():
                each = each.replace(old, new)
            words = [word for word in shlex.split(each) if not word.startswith(leave_out)]
            await self.run(*words)

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


async def prepare(scene: Scene, helm: Helm, values: Object) -> None:
    """The queues are those of the post. The pods of ZenML get the rights that its documentation
    asks for."""
    await scene.api.create(RUNTIME_CLASS)
    await helm.apply("install", KAI, KAI, values)
    accounts = f"--group=system:serviceaccounts:{scene.namespace}"
    for command in (
        ("apply", "--server-side", "-f", str(EXAMPLE / "queues.yaml")),
        (
            "create",
            "rolebinding",
            "zenml",
            "--clusterrole=cluster-admin",
            accounts,
            "-n",
            scene.namespace,
        ),
    ):
        await asyncio.to_thread(scene.cluster.kubectl, *command)


async def is_over(scene: Scene) -> bool:
    """Whether the orchestrator's Job has ended."""
    for job in await scene.api.items(path_of("Job", scene.namespace)):
        if "zenml.io/orchestrator" in job["metadata"]["annotations"]:
            conditions = job["status"].get("conditions", ())
            return any(each["type"] in ("Complete", "Failed") for each in conditions)
    return False


async def pods_by_step(scene: Scene) -> dict[str, Object]:
    """The step of the orchestrator's pod is ""."""
    return {
        each["metadata"]["labels"].get("step_name", ""): each
        for each in await scene.api.items(path_of("Pod", scene.namespace))
    }


async def one_group_in_queue_test(scene: Scene) -> None:
    """All steps for kai belong to the Job of the run; the example sets no priority, and the default
    for a Job's pods is "train" (docs/orchestrators/zenml.md)."""
    [group] = await scene.api.items(path_of("PodGroup", scene.namespace))
    assert group["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert group["spec"] == {"minMember": 1, "priorityClassName": "train", "queue": "test"}


async def half_a_gpu(scene: Scene, pod: Object, log: str) -> None:
    """The pod had half of the only GPU while it ran, and the GPU is free now."""
    metadata = pod["metadata"]
    assert metadata["annotations"]["received-resource-type"] == "Fraction"
    assert metadata["labels"]["runai-gpu-group"]
    assert pod["spec"]["runtimeClassName"] == "nvidia"
    assert f"k8s.device-plugin.nvidia.com/gpu={DEVICE}" in log
    assert "GPU_PORTION=0.50" in log

    async def is_free() -> bool:
        return not await scene.api.items(path_of("Pod", "kai-resource-reservation"))

    await scene.machine.until("the card is free", is_free)


class Case(NamedTuple):
    """`of_data`: the scheduler of the step that needs no GPU. `leave_out`: an option of the README.
    The post has settings for the training only."""

    script: str
    label: str
    of_data: str
    leave_out: str


OURS = Case("run.py", "kai.scheduler/queue", KAI, "--nothing")
OF_THE_POST = Case(str(HERE / "as_in_the_post.py"), "runai/queue", KUBERNETES, "--pod_settings")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", [OURS, OF_THE_POST], ids=["the example", "the post"])
def test_the_training_has_half_a_gpu(place: Place, tmp_path: Path, case: Case) -> None:
    zenml = ZenML(tmp_path / "home", place.cluster.kubeconfig_of("admin"))
    helm = Helm(place.cluster, tmp_path)

    async def story(scene: Scene) -> None:
        await prepare(scene, helm, {**AS_IN_THE_POST, "podgrouper": {"queueLabelKey": case.label}})
        async with Machine(
            place.cluster, scene.api, place.egress, **GPU_POOL, images=images
        ) as gpus:
            await zenml.follows_the_readme(scene.namespace, case.script, case.leave_out)
            await scene.machine.until("the run is over", lambda: is_over(scene), PATIENCE_S)
            pods = await pods_by_step(scene)
            assert pods.keys() == {"", *STEPS}
            assert {each["status"]["phase"] for each in pods.values()} == {"Succeeded"}
            for step, scheduler, where in (
                ("", KUBERNETES, "machine"),
                (DATA, case.of_data, "machine"),
                (TRAINING, KAI, "gpu-pool-1"),
            ):
                spec = pods[step]["spec"]
                assert (spec["schedulerName"], spec["nodeName"]) == (scheduler, where)
            assert pods[TRAINING]["metadata"]["labels"][case.label] == "test"
            await one_group_in_queue_test(scene)
            log = gpus.log(pods[TRAINING]["metadata"]["name"])
            await half_a_gpu(scene, pods[TRAINING], log)
            assert "accuracy: 1.00" in log
            assert await zenml.states() == dict.fromkeys(("gpu_pipeline", *STEPS), "completed")

    images = {"kai-sched": WITH_A_GPU, IMAGE: zenml.image}
    asyncio.run(play(place, story, images=images))
