"""KAI's release on the test cluster, from KAI's own chart.

    kai = KaisRelease(scene, helm, chart)
    await kai.install()
    before = await kai.objects()

Helm installs the chart, and its hooks run, with kubectl as their image. The pod of the operator
runs without a process: what the operator would create is played.
"""

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from chart_play import KAIS_RELEASE, Helm, program_of_kai
from machine_play import Scene
from testcluster import Object
from testcluster.machine.images import IMAGES, Image

from kai.api import webhooks
from kai.api.keys import RESERVATION
from kai.api.resources import OURS, resource

NAMESPACE = "kai-scheduler"
OPERATOR, SHARD = "kai-operator", "kai-scheduler-default"
OF_CONFIG = ("admission", "binder", "pod-grouper", "podgroup-controller", "queue-controller")
USUAL = ("--set", "global.registry=nvcr.io/nvidia/k8s")
"""KAI's registry, as in its documentation. The path of its other one contains the name of our
image."""
OF_USERS = (
    *("--set", "global.gpuSharing=true"),
    *("--set", "binder.additionalArgs[0]=--cdi-enabled=true"),
    *USUAL,
)
"""Values of a post about pipelines on GKE."""
Objects = dict[tuple[str, str, str], Object]


def images(chart: Path, programs: Mapping[str, Path]) -> dict[str, Image]:
    """For a machine that runs KAI's hooks, and our programs."""
    path = f"{programs['kubectl'].parent}:{os.environ.get('PATH', '')}"
    apply = ("kubectl", "apply", "--server-side", "--force-conflicts", "-f", str(chart / "crds"))
    return {"crd-upgrader": Image(apply, {"PATH": path}), "kai-sched:": IMAGES["kai-sched"]}


class KaisRelease:
    """The release KAIS_RELEASE in NAMESPACE."""

    def __init__(self, scene: Scene, helm: Helm, chart: Path) -> None:
        self._scene, self._helm, self._chart = scene, helm, chart

    async def install(self, *values: str) -> None:
        """`values`: arguments of Helm."""
        await self.apply("install", *values)
        await self.start_programs()

    async def apply(self, command: str, *values: str) -> None:
        """`helm install` or `helm upgrade`, with KAI's hooks."""
        await self._helm.apply(
            command, KAIS_RELEASE, NAMESPACE, {}, *(values or USUAL), chart=self._chart
        )

    async def uninstall(self) -> None:
        await self._helm.run("uninstall", KAIS_RELEASE, "-n", NAMESPACE, "--wait")

    async def start_programs(self) -> None:
        """Creates what the operator would create."""
        config = await self._scene.api.get(resource("Config").path(name="kai-config"))
        shard = await self._scene.api.get(resource("SchedulingShard").path(name="default"))
        await self._scene.api.create(*_of_operator(config, shard))
        # The operator takes over the account of reservation pods.
        account = resource("ServiceAccount").path(RESERVATION, RESERVATION)
        owners = {"metadata": {"ownerReferences": [_owned_by(config)]}}
        await self._scene.api.patch(account, owners)
        await self._scene.machine.runs(NAMESPACE, "app", count=7)

    async def have_ended(self) -> bool:
        """Whether nothing exists that the operator has created."""
        kinds = sorted({"Deployment", "ServiceAccount", *webhooks.CONFIGURATIONS.values()})
        listed = [await self._scene.api.items(resource(each).path()) for each in kinds]
        return not any(_is_owned(each) for found in listed for each in found)

    async def objects(self) -> Objects:
        """Those of the release and of the operator, and the definitions, as far as KAI decides on
        them: without their status and the versions that the server counts."""
        manifest = await self._helm.run("get", "manifest", KAIS_RELEASE, "-n", NAMESPACE)
        release = await self._listed("-f", "-", stdin=manifest)
        definitions = ("crds", *(f"{each.plural}.{each.group}" for each in OURS))
        programs = ("deployments,services,serviceaccounts", "-n", NAMESPACE, "-l", "app")
        found = [
            *release,
            *await self._listed(*definitions),
            *await self._listed(*programs),
            *await self._listed("queues,configs.kai.scheduler,schedulingshards"),
            *await self._listed(",".join(sorted(set(webhooks.CONFIGURATIONS.values())))),
        ]
        return {_key(each): _decided(each) for each in found}

    async def _listed(self, *what: str, stdin: str = "") -> list[Object]:
        kubectl = self._scene.cluster.kubectl
        text = await asyncio.to_thread(kubectl, "get", *what, "-o", "json", stdin=stdin)
        return list(json.loads(text)["items"])


def _of_operator(config: Object, shard: Object) -> Iterator[Object]:
    """Objects with the names (spec 6 C1), labels and owners of those of KAI's operator."""
    for name in (*OF_CONFIG, SHARD):
        metadata = _metadata(name, shard if name == SHARD else config, NAMESPACE)
        labels = {**metadata["labels"], "app.kubernetes.io/managed-by": OPERATOR}
        yield program_of_kai(replicas=1, **{**metadata, "labels": labels})
        account = _metadata(name, config, NAMESPACE)
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}
    service = _metadata(webhooks.SERVICE, config, NAMESPACE)
    ports = [{"port": webhooks.SERVICE_PORT, "targetPort": webhooks.PORT}]
    spec = {"ports": ports, "selector": {"app": "admission"}}
    yield {"apiVersion": "v1", "kind": "Service", "metadata": service, "spec": spec}
    for name, kind in webhooks.CONFIGURATIONS.items():
        made = {"apiVersion": resource(kind).api_version, "kind": kind}
        # The programs have no process, so nothing would answer.
        yield {**made, "metadata": _metadata(name, config), "webhooks": []}


def _metadata(name: str, owner: Object, namespace: str = "") -> Object:
    found = {"name": name, "labels": {"app": name}, "ownerReferences": [_owned_by(owner)]}
    return {**found, "namespace": namespace} if namespace else found


def _owned_by(owner: Object) -> Object:
    """A deletion of the owner does not wait for the object."""
    return {
        **{name: owner[name] for name in ("apiVersion", "kind")},
        **{name: owner["metadata"][name] for name in ("name", "uid")},
        "controller": True,
    }


def _is_owned(manifest: Object) -> bool:
    owners = manifest["metadata"].get("ownerReferences", ())
    return any(each["kind"] in ("Config", "SchedulingShard") for each in owners)


def _key(manifest: Object) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def _decided(manifest: Object) -> Object:
    metadata = {
        name: value
        for name, value in manifest["metadata"].items()
        if name not in ("managedFields", "resourceVersion")
    }
    return {**manifest, "metadata": metadata, "status": None}
