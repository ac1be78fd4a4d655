"""A machine with the pods of one test, and Python programs as pods."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from testcluster import Client, Cluster, Egress, Machine, Object, path_of, pod, temporary_cluster
from testcluster import machine as of_machines

from fakes.scenarios import scenarios

OURS = "registry.example/kai-sched:test"
_PATH = of_machines.OURS.environment["PYTHONPATH"]
WITH_A_GPU = replace(
    of_machines.OURS,
    environment={
        **of_machines.OURS.environment,
        "PYTHONPATH": f"{Path(__file__).parent / 'nvml'}:{_PATH}",
    },
)
"""The programs of this checkout; a reservation pod finds one GPU, `DEVICE`."""
DEVICE = "GPU-00000000-0000-0000-0000-000000000000"
RUNTIME_CLASS: Object = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "nvidia"},
    "handler": "nvidia",
}
A10 = {
    "nvidia.com/gpu.count": "1",
    "nvidia.com/gpu.memory": "23028",
    "nvidia.com/gpu.present": "true",
    "nvidia.com/gpu.product": "NVIDIA-A10",
}
T4_ON_GKE = {
    **A10,
    "nvidia.com/gpu.memory": "15360",
    "nvidia.com/gpu.product": "Tesla-T4",
    "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
    "cloud.google.com/gke-nodepool": "gpu-pool",
}
"""Labels of a node with one GPU."""


@dataclass
class Place:
    cluster: Cluster
    egress: Egress


@contextmanager
def place_of(programs: Mapping[str, Path]) -> Iterator[Place]:
    with Egress() as egress, temporary_cluster(egress.options(), programs) as cluster:
        yield Place(cluster, egress)


@dataclass
class Scene:
    """A namespace of one test, and a machine for its pods."""

    cluster: Cluster
    api: Client
    machine: Machine
    namespace: str

    async def create(self, *objects: Object) -> None:
        """In the test's namespace, unless they have another one."""
        for each in objects:
            each["metadata"]["namespace"] = each["metadata"].get("namespace") or self.namespace
        await self.api.create(*objects)

    async def get(self, name: str, kind: str = "Pod") -> Object:
        return await self.api.get(path_of(kind, self.namespace, name))

    async def until_pod(self, name: str, what: str, is_so: Callable[[Object], Any]) -> Any:
        async def condition() -> Any:
            return is_so(await self.get(name))

        return await self.machine.until(f"pod {name}: {what}", condition)

    async def phase(self, name: str, phase: str) -> None:
        await self.until_pod(name, phase, lambda found: found["status"]["phase"] == phase)

    async def until_log(self, name: str, text: str) -> None:
        async def condition() -> bool:
            return text in self.machine.log(name)

        await self.machine.until(f"{text} is in the log of {name}", condition)


Story = Callable[[Scene], Awaitable[None]]


async def play(place: Place, story: Story, **machine_options: Any) -> None:
    name = f"t-{uuid4().hex[:8]}"
    async with place.cluster.client() as api:
        await api.create_namespace(name)
        try:
            made = Machine(place.cluster, api, place.egress, **machine_options)
            async with made as machine:
                await story(Scene(place.cluster, api, machine, name))
        finally:
            for kind in ("Deployment", "Job"):
                await api.delete(path_of(kind, name), propagationPolicy="Background")
            await api.delete(path_of("Pod", name), gracePeriodSeconds=0)


scenario = scenarios(play, "place")


def program(
    name: str, code: str, *args: str, container: Object | None = None, **spec: Any
) -> Object:
    """A pod with a Python program in an image of ours."""
    container = {**(container or {}), "name": "main", "image": OURS}
    container |= {"command": ["python", "-c", code], "args": list(args)}
    return pod(name, "", 0, scheduler="default-scheduler", containers=[container], **spec)


def stored(kind: str, name: str, **values: str) -> Object:
    """A ConfigMap or a Secret."""
    member = {"ConfigMap": "data", "Secret": "stringData"}[kind]
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, member: values}


def workload(kind: str, name: str, template: Object, **spec: Any) -> Object:
    """A Job, or a Deployment, whose pods have the label `app` with its name."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": template["spec"]}
    if kind == "Deployment":
        spec["selector"] = {"matchLabels": labels}
        template["spec"]["restartPolicy"] = "Always"
    return {
        "apiVersion": {"Deployment": "apps/v1", "Job": "batch/v1"}[kind],
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }
