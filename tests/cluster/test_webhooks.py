"""`kai run admission` behind its Service, with the registrations of `kai install`, on a real API
server: what it changes and refuses, and what happens while its replicas come, go and rotate."""

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from creating_play import HALF, SHARED, Creating
from recordings import recordings
from test_admission import as_kai
from testcluster import (
    ApiError,
    Client,
    Cluster,
    Egress,
    Machine,
    Object,
    install,
    path_of,
    pod,
    queue,
    temporary_cluster,
)
from testcluster.running import apply

from fakes.scenarios import scenarios
from kai.api import webhooks
from kai.install import admission, manifests, running

IMAGE = "registry.example/kai-sched:test"
SPACE = manifests.NAMESPACE
ACCOUNT = manifests.account_of(admission.ADMISSION)
REPLICAS = f"app.kubernetes.io/component={admission.ADMISSION}"
RECORDED = {each.name: each for each in recordings()}
REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"


class Scene:
    """A cluster with the webhooks, and a namespace of one test."""

    def __init__(self, cluster: Cluster, api: Client, machine: Machine, namespace: str) -> None:
        self.cluster, self.api, self.machine, self.namespace = cluster, api, machine, namespace

    async def create(self, name: str, annotations: Mapping[str, str], **more: Any) -> Object:
        made = pod(name, self.namespace, 0, annotations=dict(annotations), **more)
        return await self.api.create_one(made)

    async def refusal(self, path: str, manifest: Object) -> str:
        """Why an object is refused; "": it is not. Nothing is created."""
        try:
            await self.api.request("POST", path, manifest, parameters={"dryRun": "All"})
        except ApiError as error:
            return str(error)
        return ""

    async def registrations(self) -> list[Object]:
        paths = [path_of_registration(*each) for each in webhooks.CONFIGURATIONS.items()]
        return [await self.api.get(each) for each in paths]

    async def are_complete(self) -> bool:
        """Whether every webhook has an authority, and is required."""
        return all(
            each["clientConfig"].get("caBundle") and each["failurePolicy"] == "Fail"
            for registration in await self.registrations()
            for each in registration["webhooks"]
        )

    async def bundles(self) -> set[bytes]:
        return {
            base64.b64decode(each["clientConfig"]["caBundle"])
            for registration in await self.registrations()
            for each in registration["webhooks"]
        }

    async def answers(self) -> bool:
        """Whether new pods are changed."""
        try:
            probe = pod("probe", self.namespace, 0, annotations=HALF)
            path = path_of("Pod", self.namespace)
            made = await self.api.request("POST", path, probe, parameters={"dryRun": "All"})
        except ApiError:
            return False
        return SHARED in made["metadata"]["annotations"]


def path_of_registration(name: str, kind: str) -> str:
    return f"{REGISTRATIONS}/{kind.lower()}s/{name}"


def objects(*arguments: str) -> list[Object]:
    """What the webhooks need of `kai install`."""
    image = ("--gpu-sharing-enabled", "--gpu-fraction-runtime-class-name", "", *arguments)
    made = manifests.everything(image=IMAGE)
    mine = [each for each in made if each["metadata"]["name"].endswith(ACCOUNT)]
    mine = [each for each in mine if each["kind"] != "Deployment"]
    return [
        running.namespace(SPACE),
        *mine,
        admission.service(SPACE),
        *admission.registrations(SPACE),
        admission.deployment(ACCOUNT, SPACE, IMAGE, image),
    ]


@pytest.fixture(scope="module")
def egress() -> Iterator[Egress]:
    with Egress() as made:
        yield made


@pytest.fixture(scope="module")
def webhook_cluster(programs: Mapping[str, Path], egress: Egress) -> Iterator[Cluster]:
    with temporary_cluster(egress.options(), programs) as cluster:
        install(cluster)
        yield cluster


async def play(
    cluster: Cluster, egress: Egress, story: Callable[[Scene], Awaitable[None]], *arguments: str
) -> None:
    namespace = f"t-{uuid4().hex[:8]}"
    async with cluster.client() as api, Machine(cluster, api, egress) as machine:
        scene = Scene(cluster, api, machine, namespace)
        try:
            await asyncio.to_thread(apply, cluster, *objects(*arguments))
            await api.create_namespace(namespace)
            await machine.runs(SPACE, REPLICAS, count=2, seconds=60)
            await machine.until("new pods are changed", scene.answers)
            await machine.until("the registrations are complete", scene.are_complete)
            await story(scene)
        finally:
            await remove(api, namespace)


scenario = scenarios(play, "webhook_cluster", "egress")


async def remove(api: Client, namespace: str) -> None:
    """The program first: it would write its Secret again."""
    path = path_of("Deployment", SPACE, ACCOUNT)
    await api.status_of(api.delete(path, propagationPolicy="Background"))
    await api.delete(path_of("Pod", namespace), gracePeriodSeconds=0)

    async def are_gone() -> bool:
        """The controllers may create a pod until they see that the Deployment is gone."""
        await api.delete(path_of("Pod", SPACE), gracePeriodSeconds=0)
        kinds = ("Pod", "ReplicaSet")
        return not any([await api.items(path_of(each, SPACE)) for each in kinds])

    await api.until("the replicas are gone", are_gone, 30)
    paths = [path_of_registration(*each) for each in webhooks.CONFIGURATIONS.items()]
    for each in (*paths, path_of("Secret", SPACE, webhooks.SECRET)):
        await api.status_of(api.delete(each))


# ---- verdicts ------------------------------------------------------------------------------------


@scenario("--as-kai")
async def test_recorded_pods_are_admitted_and_refused_as_by_kai(scene: Scene) -> None:
    for name in ("06-fractions-on-one-gpu", "07-gpu-memory", "46-init-and-side-containers"):
        await admitted(scene, name)
    await refused(scene, "09-invalid-annotations-admission")
    await refused_kinds(scene, "34-invalid-objects")


async def admitted(scene: Scene, name: str) -> None:
    kais = {
        entry["name"]: entry["object"]
        for entry in reversed(RECORDED[name].timeline)
        if entry.get("kind") == "Pod" and entry.get("event") == "ADDED"
    }
    for manifest in RECORDED[name].manifests:
        if manifest["kind"] == "Pod":
            manifest["metadata"]["namespace"] = scene.namespace
            manifest["metadata"].pop("uid", None)
            manifest["spec"]["runtimeClassName"] = "nvidia"  # there is no class in this cluster
            wanted = as_kai(kais[manifest["metadata"]["name"]])
            without = {**manifest, "spec": {**manifest["spec"]}}
            del without["spec"]["runtimeClassName"]
            ours = as_kai(await scene.api.create_one(without))
            wanted["spec"]["runtimeClassName"] = None
            ours["spec"]["runtimeClassName"] = None
            assert ours == wanted


async def refused(scene: Scene, name: str) -> None:
    answers = {
        each["do"].rpartition("/")[2]: each["message"].partition("request: ")[2]
        for each in RECORDED[name].content["responses"]
    }
    for manifest in RECORDED[name].manifests:
        if manifest["kind"] == "Pod" and manifest["metadata"]["name"] in answers:
            manifest["metadata"]["namespace"] = scene.namespace
            manifest["metadata"].pop("uid", None)
            why = await scene.refusal(path_of("Pod", scene.namespace), manifest)
            assert answers[manifest["metadata"]["name"]] in why


async def refused_kinds(scene: Scene, name: str) -> None:
    answers = {each["do"]: each["message"] for each in RECORDED[name].content["responses"]}
    compared = 0
    for manifest in RECORDED[name].manifests:
        kind, own = manifest["kind"], manifest["metadata"]["name"]
        if kind not in ("PodGroup", "Queue", "Topology"):
            continue
        space = scene.namespace if kind == "PodGroup" else ""
        if space:
            manifest["metadata"]["namespace"] = space
        manifest["metadata"].pop("uid", None)
        why = await scene.refusal(path_of(kind, space), manifest)
        kais = answers.get(f"create {kind}/{own}", "")
        assert bool(why) == bool(kais), (own, why, kais)
        assert kais.partition("denied the request: ")[2] in why
        compared += bool(kais)
    assert compared >= 10


@scenario
async def test_queues_are_checked_against_those_of_the_cluster(scene: Scene) -> None:
    dept, team = (f"{each}-{scene.namespace}" for each in ("dept", "team"))
    with pytest.raises(ApiError, match=f"there is no queue {dept}, the parent of"):
        await scene.api.create(queue(team, dept))
    await scene.api.create(queue(dept))

    async def is_known() -> bool:
        return not await scene.refusal(path_of("Queue"), queue(team, dept))

    await scene.machine.until("the parent is known", is_known)
    await scene.api.create(queue(team, dept))

    async def is_in_use() -> bool:
        try:
            await scene.api.request(
                "DELETE", path_of("Queue", name=dept), parameters={"dryRun": "All"}
            )
        except ApiError as error:
            return f"delete {team} first" in str(error)
        return False

    await scene.machine.until("the queue cannot be deleted", is_in_use)
    await scene.api.delete(path_of("Queue", name=team))

    async def is_free() -> bool:
        return await scene.api.status_of(scene.api.delete(path_of("Queue", name=dept))) == 200

    await scene.machine.until("the queue can be deleted", is_free)


# ---- while replicas come and go ------------------------------------------------------------------


@scenario
async def test_no_pod_is_refused_while_replicas_are_replaced(scene: Scene) -> None:
    kubectl = scene.cluster.kubectl
    async with Creating(scene.api, scene.namespace) as creating:
        for _ in range(2):
            restart = ("rollout", "restart", f"deployment/{ACCOUNT}", "-n", SPACE)
            await asyncio.to_thread(kubectl, *restart)
            status = ("rollout", "status", f"deployment/{ACCOUNT}", "-n", SPACE)
            await asyncio.to_thread(kubectl, *status, "--timeout=90s")
    assert creating.made > 30
    assert creating.refused == []
    assert creating.unchanged == []


@scenario
async def test_no_pod_is_refused_while_the_api_server_restarts(scene: Scene) -> None:
    async with Creating(scene.api, scene.namespace, pause_s=0.02) as creating:
        for _ in range(2):
            await asyncio.to_thread(scene.cluster.restart, "kube-apiserver", down_s=1)
            await scene.machine.until("new pods are changed again", scene.answers, 40)
    assert creating.unanswered > 0
    # The API server itself refuses its clients until it has read their rights.
    assert [each for each in creating.refused if "webhook" in each] == []
    assert creating.unchanged == []


@scenario
async def test_without_a_replica_only_pods_of_kai_are_refused(scene: Scene) -> None:
    scale = ("scale", f"deployment/{ACCOUNT}", "-n", SPACE)
    await asyncio.to_thread(scene.cluster.kubectl, *scale, "--replicas=0")

    async def is_closed() -> bool:
        path = path_of("Pod", scene.namespace)
        why = await scene.refusal(path, pod("ours", scene.namespace, 0))
        return "failed calling webhook" in why

    await scene.machine.until("pods of kai are refused", is_closed, 40)
    await scene.create("theirs", HALF, scheduler="default-scheduler")
    await asyncio.to_thread(scene.cluster.kubectl, *scale, "--replicas=2")
    await scene.machine.until("new pods are changed again", scene.answers, 40)


def test_kais_certificate_is_adopted(webhook_cluster: Cluster, egress: Egress) -> None:
    """One that signs itself, without an authority beside it."""
    from testcluster.pki import self_signed

    certificate, key = self_signed(f"{webhooks.SERVICE}.{SPACE}.svc")
    encoded = {"tls.crt": certificate, "tls.key": key}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": webhooks.SECRET, "namespace": SPACE},
        "data": {name: base64.b64encode(each).decode() for name, each in encoded.items()},
    }
    apply(webhook_cluster, running.namespace(SPACE), secret)

    async def story(scene: Scene) -> None:
        assert {each.strip() for each in await scene.bundles()} == {certificate.strip()}

    asyncio.run(play(webhook_cluster, egress, story))


# ---- slow ----------------------------------------------------------------------------------------


@pytest.mark.cluster_slow
@scenario("--certificate-days", str(6 / 1440))
async def test_no_pod_is_refused_while_certificates_rotate_and_the_server_restarts(
    scene: Scene,
) -> None:
    (first,) = await scene.bundles()
    seen = [first]
    async with Creating(scene.api, scene.namespace) as creating:

        async def has_rotated() -> bool:
            found = await scene.bundles()
            seen.extend(each for each in found if each not in seen)
            return len(seen) >= 3 and seen[-1].count(b"BEGIN CERTIFICATE") == 1

        await scene.machine.until("the first certificate is replaced", has_rotated, 900)
    assert creating.made > 100
    assert creating.refused == []
    assert creating.unchanged == []
    assert re.search(b"BEGIN CERTIFICATE.*BEGIN CERTIFICATE", seen[1], re.DOTALL)


# A day is too long for a test: a third of six minutes is left after four.
