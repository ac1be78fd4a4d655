"""Helm on the test cluster, and KAI's release as data."""

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml
from machine_play import Scene, place_of, play
from testcluster import ApiError, Cluster, Object, pod
from testcluster import programs as programs_of_clusters

from fakes.scenarios import scenarios
from kai.api import keys
from kai.api.resources import resource
from kai.install import manifests

CHART = Path(__file__).parents[2] / "charts/kai-sched"
KAIS_RELEASE = "kai-scheduler"
IMAGE = {"global": {"registry": "registry.example", "tag": "test"}}
"""The machine of the test cluster runs the programs of this checkout for it."""


Story = Callable[[Scene, "Helm", str], Awaitable[None]]


class HelmError(Exception):
    """Helm failed; the text is what it printed."""


class Helm:
    """Helm with the rights of the administrator. Its values are written into a file."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._cluster, self._folder = cluster, folder
        self._program = programs_of_clusters.helm()

    async def run(self, *arguments: str) -> str:
        """Raises HelmError."""
        done = await asyncio.to_thread(
            subprocess.run,
            [str(self._program), *arguments],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "KUBECONFIG": str(self._cluster.folder / "admin.kubeconfig"),
                "HELM_CACHE_HOME": str(self._folder / "cache"),
            },
        )
        if done.returncode:
            raise HelmError(done.stderr)
        return str(done.stdout)

    async def apply(
        self,
        command: str,
        release: str,
        namespace: str,
        values: Object | None = None,
        *more: str,
        chart: Path = CHART,
    ) -> str:
        """`helm install` or `helm upgrade`, until all programs are ready."""
        file = self._folder / "values.yaml"
        file.write_text(yaml.safe_dump({**IMAGE, **(values or {})}))
        return await self.run(
            *(command, release, str(chart), "-n", namespace, "--create-namespace"),
            *("--values", str(file), "--wait", "--timeout", "3m", *more),
        )


def rounds(
    programs: Mapping[str, Path], folder: Path, story: Story, **machine_options: Any
) -> None:
    """Plays the story with Helm and the name of a namespace for the release, in a cluster of its
    own: each test begins without definitions."""

    async def scene(found: Scene) -> None:
        await story(found, Helm(found.cluster, folder), f"kai-{uuid4().hex[:8]}")

    with place_of(programs) as place:
        asyncio.run(play(place, scene, **machine_options))


scenario = scenarios(rounds, "programs", "tmp_path")


async def exists(scene: Scene, kind: str, name: str, namespace: str = "") -> Object | None:
    try:
        return await scene.api.get(resource(kind).path(namespace, name))
    except ApiError as error:
        if error.status != 404:
            raise
        return None


async def is_placed(scene: Scene, name: str) -> None:
    await scene.create(pod(name, "", queue="default-queue"))
    await scene.phase(name, "Running")


async def change_queue(scene: Scene) -> None:
    path = resource("Queue").path(name="default-queue")
    await scene.api.patch(path, {"spec": {"resources": {"gpu": {"quota": 3}}}})


async def keeps_its_queue(scene: Scene) -> None:
    found = await exists(scene, "Queue", "default-queue")
    assert found is not None
    assert found["spec"]["resources"]["gpu"]["quota"] == 3


async def run_commands(scene: Scene, text: str) -> int:
    """Runs the lines of the text that start with kubectl, and returns their number."""
    commands = [line.split() for line in text.splitlines() if line.strip().startswith("kubectl ")]
    for _, *command in commands:
        await asyncio.to_thread(scene.cluster.kubectl, *command)
    return len(commands)


def of_kai(namespace: str) -> list[Object]:
    """Objects of KAI's chart that ours has too, as Helm marks those of a release."""
    made: list[Object] = [*manifests.priority_classes(), *manifests.queues()]
    metadata = {"name": keys.RESERVATION}
    made.append({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    made.append({**account, "metadata": {**metadata, "namespace": keys.RESERVATION}})
    for each in made:
        metadata = each["metadata"] = dict(each["metadata"])
        metadata["labels"] = {"app.kubernetes.io/managed-by": "Helm"}
        metadata["annotations"] = {
            **metadata.get("annotations", {}),
            "meta.helm.sh/release-name": KAIS_RELEASE,
            "meta.helm.sh/release-namespace": namespace,
        }
    return made


def operator_chart(folder: Path) -> Path:
    """A chart with the one Deployment of KAI's chart: its operator."""
    (folder / "templates").mkdir(parents=True)
    chart = {"apiVersion": "v2", "name": "kai-scheduler", "version": "0.17.0"}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart))
    (folder / "templates/operator.yaml").write_text(
        yaml.safe_dump(program_of_kai("kai-operator", "{{ .Release.Namespace }}"))
    )
    return folder


def program_of_kai(name: str, namespace: str, replicas: int = 0, **metadata: Any) -> Object:
    """A Deployment, whose pods have no process."""
    labels = {"app": name}
    container = {"name": "main", "image": "none"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
