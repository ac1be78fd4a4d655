"""Each role runs under its own account with the rights of kai.install.access; if one of them is
taken away, the log names it in one sentence."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from rights import Account, Right, rights_of
from test_claims import device_class, devices, shared
from test_volumes import local_class, local_volume
from testcluster import (
    BINDINGS,
    Cluster,
    Match,
    Object,
    Provisioner,
    Reservations,
    claim,
    install,
    install_zones,
    node,
    path_of,
    pod,
    pod_group,
    pod_spec,
    remove_zones,
    storage_class,
)

from fakes.scenarios import in_a_loop
from kai.api import keys
from kai.install import access

pytestmark = pytest.mark.cluster_slow

GROUP = "scheduling.run.ai"
PIN = "test/only"
EVICT, DELETE = ("create", "pods/eviction", ""), ("delete", "pods", "")


OWNERS = {
    "jobs": ("batch", "Job"),
    "cronjobs": ("batch", "CronJob"),
    "deployments": ("apps", "Deployment"),
    "replicasets": ("apps", "ReplicaSet"),
    "statefulsets": ("apps", "StatefulSet"),
}
"""The owners that every API server has, of those that the grouper may read."""
MAKERS = ("Job", "ReplicaSet", "StatefulSet")
READ = [("get", each, of) for each, (of, _) in OWNERS.items()]


def owner(kind: str, group: str, name: str, it: Account, **annotations: str) -> Object:
    """An owner that creates no pods, or whose controller releases pods that it did not create."""
    labels = {"matchLabels": {"a": name}}
    template = {
        "metadata": {"labels": labels["matchLabels"]},
        # A scheduler binds every pod that names a pod group: these use no GPU of its own pods.
        "spec": pod_spec(0, scheduler=it.scheduler_name),
    }
    spec: Object = {"selector": labels, "template": template, "replicas": int(kind in MAKERS)}
    if kind == "StatefulSet":
        spec["serviceName"] = "s"
    if kind == "Job":
        spec = {"template": template}
    if kind == "CronJob":
        job = {"spec": {"template": template}}
        spec = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": job}
    if kind in ("Deployment", "ReplicaSet", "StatefulSet"):
        template["spec"]["restartPolicy"] = "Always"
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": it.namespace, "annotations": annotations},
        "spec": spec,
    }


class Workload:
    """Pods of one account's scheduler, each in its own group, on its own node."""

    def __init__(self, it: Account) -> None:
        self.it, self.api = it, it.api

    async def pod(self, name: str, gpus: int = 1, priority: str = "train", **options: Any) -> None:
        name = f"{name}-{self.it.name}"
        made = pod_group(name, self.it.namespace, priorityClassName=priority)
        options = {
            "annotations": {"pod-group-name": name},
            "nodeSelector": {PIN: self.it.name},
            **options,
        }
        of = pod(name, self.it.namespace, gpus, scheduler=self.it.scheduler_name, **options)
        await self.api.create(made)
        await self.api.create(of)

    async def half(self, name: str) -> None:
        """A pod that shares a device, after admission."""
        full_name = f"{name}-{self.it.name}"
        annotations = {
            keys.POD_GROUP_ANNOTATION: full_name,
            keys.GPU_FRACTION_ANNOTATION: "0.25",
            keys.SHARED_GPU_CONFIG_MAP_ANNOTATION: f"{full_name}-shared",
        }
        await self.pod(name, 0, annotations=annotations)

    async def waits(self) -> None:
        """A pod that fits on its own node, except for the label."""
        await self.pod("waits", 0, nodeSelector={"test/waits": self.it.name})
        await self.has_another_message([])

        async def event() -> Any:  # it may be written after the condition
            found = await self.api.items(path_of("Event", self.it.namespace))
            name = f"waits-{self.it.name}"
            return [each for each in found if each["involvedObject"]["name"] == name]

        await self.api.until("it has an event", event)

    async def turn(self, labelled: bool) -> None:
        """Its node matches and is cordoned, or does not match: the pod waits for another reason,
        and then for the first one again."""
        before = await self.why_not()
        labels = {"test/waits": self.it.name if labelled else None}
        patch = {"metadata": {"labels": labels}, "spec": {"unschedulable": labelled}}
        await self.api.patch(path_of("Node", name=f"w-{self.it.name}"), patch)
        await self.has_another_message(before)

    async def has_another_message(self, before: Any) -> None:
        async def condition() -> Any:
            return await self.why_not() != before

        await self.api.until("it says something else", condition)

    async def why_not(self) -> Any:
        found = await self.api.get(path_of("Pod", self.it.namespace, f"waits-{self.it.name}"))
        return [each["message"] for each in found["status"].get("conditions", ())]

    async def bound(self, name: str) -> None:
        path = path_of("Pod", self.it.namespace, f"{name}-{self.it.name}")
        found: Object = {}

        async def condition() -> Any:
            found.update(await self.api.get(path))
            return found["spec"].get("nodeName")

        try:
            await self.api.until(f"{name} is bound", condition, 30)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{found['status']}\n{self.it.kai.log}") from None


class Grouped:
    """Pods that are in no group yet."""

    def __init__(self, it: Account) -> None:
        self.it, self.api = it, it.api
        self._count = 0

    async def pod(self, name: str, **metadata: Any) -> None:
        made = pod(name, self.it.namespace, 0, scheduler=self.it.scheduler_name)
        await self.api.create({**made, "metadata": {**made["metadata"], **metadata}})

    async def owned(self, kind: str, group: str, **annotations: str) -> None:
        """An owner, and one of its pods."""
        self._count += 1
        name = f"{kind.lower()}-{self._count}"
        [made] = await self.api.create(owner(kind, group, name, self.it, **annotations))
        if kind in MAKERS:
            return
        about = {"name": name, "uid": made["metadata"]["uid"], "controller": True}
        reference = {"apiVersion": made["apiVersion"], "kind": kind, **about}
        await self.pod(name, ownerReferences=[reference])

    async def owners(self) -> None:
        for group, kind in OWNERS.values():
            await self.owned(kind, group)

    async def nonsense(self) -> None:
        """An owner whose pod gets a warning."""
        await self.owned("Job", "batch", **{keys.BATCH_MIN_MEMBER_ANNOTATION: "many"})

    async def relabel(self, name: str, value: str) -> None:
        path = path_of("Pod", self.it.namespace, name)
        await self.api.patch(path, {"metadata": {"labels": {"test/value": value}}})

    async def group_of(self, name: str) -> str:
        """The path of the group, once it exists and the pod names it."""

        async def condition() -> Any:
            found = await self.api.get(path_of("Pod", self.it.namespace, name))
            of = found["metadata"].get("annotations", {}).get("pod-group-name")
            path = path_of("PodGroup", self.it.namespace, of or "")
            return of and await self.api.get(path) and path

        return str(await self.api.until(f"{name} is in a group", condition))


async def sharing(it: Account, work: Workload) -> None:
    """Pods that share a device. A ConfigMap of the second one exists already."""
    async with Reservations(it.api):
        async with it.without(("create", "pods", "")):
            await work.half("half-0")
        await work.bound("half-0")
        made = {"metadata": {"name": f"half-1-{work.it.name}-shared-0"}}
        await it.api.post(path_of("ConfigMap", it.namespace), made)
        async with it.without(("patch", "configmaps", ""), ("delete", "configmaps", "")):
            await work.half("half-1")
        await work.bound("half-1")
        async with it.without(("create", "configmaps", "")):
            await work.half("half-2")
        await work.bound("half-2")


async def scheduler(it: Account) -> None:
    work = Workload(it)
    await work.pod("victim", 2)
    await work.bound("victim")
    await work.waits()
    async with it.without(
        ("create", "pods/binding", ""),
        ("patch", "pods/status", ""),
        ("patch", "podgroups/status", GROUP),
        ("create", "events", ""),
    ):
        await work.pod("fits")
        await work.pod("large", 5)
    await work.bound("fits")
    await work.turn(True)
    async with it.without(("patch", "events", "")):
        await work.turn(False)  # the event of the first reason again
    async with it.without(("patch", "podgroups", GROUP), ("get", "pods", "")):
        lost = it.proxy.swallow(BINDINGS, times=1)
        await work.pod("lost", 0)
        await lost.hit()
        await work.pod("stamped", 0)
    await work.turn(True)
    await sharing(it, work)
    await it.reads()
    await work.pod("last", 0)
    await work.bound("last")
    await it.recovers()


async def grouper(it: Account) -> None:
    work = Grouped(it)
    async with it.without(("create", "podgroups", GROUP), *READ):
        await work.pod("new")
        await work.owners()
    await work.owners()
    await work.group_of("new")
    async with it.without(
        ("patch", "pods/status", ""), ("get", "podgroups", GROUP), ("create", "events", "")
    ):
        await work.pod("named")
        await work.relabel("new", "1")
        await work.nonsense()
    await work.nonsense()
    await work.group_of("named")
    async with it.without(("get", "pods", ""), ("patch", "podgroups", GROUP)):
        await work.relabel("new", "2")
        await it.api.delete(await work.group_of("named"))
    await work.group_of("named")
    await it.reads()
    await it.recovers()


async def controller(it: Account) -> None:
    """The controllers of pod groups and queues: their statuses."""
    work = Workload(it)
    resource = "queues/status" if it.role == "queue-controller" else "podgroups/status"
    async with it.without(("patch", resource, GROUP)):
        await work.pod("waits")
        if it.role == "queue-controller":  # it follows what the other controller writes
            path = path_of("PodGroup", it.namespace, f"waits-{it.name}", "status")
            report = {"requested": {"nvidia.com/gpu": "7"}}
            await it.api.patch(path, {"status": {"resourcesStatus": report}})
    await it.reads()
    await it.recovers()


def test_a_role_logs_a_missing_right_and_continues(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """All roles at the same time."""
    install(cluster)
    install_zones(cluster)

    config = tmp_path / "config.yaml"
    config.write_text("plugins: {numa: true}\n")  # it reads node resource topologies

    async def story(name: str, role: str, play: Any, *arguments: str) -> set[Right]:
        of = f"kai-{name}"
        async with Account(cluster, namespace, role, tmp_path, *arguments, name=of) as it:
            await play(it)
            return rights_of(it.rules) - it.tested

    async def stories() -> list[set[Right]]:
        async with cluster.client() as api:
            await api.create(
                node("n-scheduler", 6, labels={PIN: "kai-scheduler"}), node("w-kai-scheduler", 0)
            )
        return await asyncio.gather(
            story("scheduler", "scheduler", scheduler, "--config", str(config)),
            story("grouper", "pod-grouper", grouper),
            story("groups", "pod-group-controller", controller),
            story("queues", "queue-controller", controller),
        )

    untested = asyncio.run(stories())
    remove_zones(cluster)
    of_scheduler, of_grouper, *others = untested
    requests = {(verb, "bindrequests", GROUP) for verb in ("create", "delete", "get")}
    assert of_scheduler == {EVICT, DELETE, *requests, *GIVEN}
    # A problem of a pod is one event; the same text is not repeated.
    of_grouper.remove(("patch", "events", ""))
    assert {group for _, _, group in of_grouper} == access.OWNERS.keys() - {"apps", "batch"}
    assert others == [set(), set()]


def bind_request(it: Account, pod: str, node: str) -> Object:
    """As another scheduler creates one."""
    return {
        "apiVersion": f"{GROUP}/v1alpha2",
        "kind": "BindRequest",
        "metadata": {"name": pod, "namespace": it.namespace},
        "spec": {"podName": pod, "selectedNode": node, "receivedResourceType": "Regular"},
    }


async def requesting(it: Account, node: str) -> None:
    """A scheduler with --binding bind-requests; a binder runs beside it."""
    work = Workload(it)
    async with it.without(("create", "bindrequests", GROUP)):
        await work.pod("asks")
    await work.bound("asks")
    async with it.without(("get", "bindrequests", GROUP)):
        lost = it.proxy.drop(Match("POST", "/bindrequests$"), times=1)
        await work.pod("lost")
        await lost.hit()
    await work.bound("lost")
    async with it.without(("delete", "bindrequests", GROUP)):
        await it.api.create(bind_request(it, "failed", node))
        path = path_of("BindRequest", it.namespace, "failed", "status")
        await it.api.patch(path, {"status": {"phase": "Failed", "reason": "on purpose"}})
    await it.recovers()


async def binding(it: Account, work: Workload) -> None:
    """A binder, for the pods of a scheduler that runs beside it."""
    async with it.without(
        ("create", "pods/binding", ""),
        ("patch", "pods/status", ""),
        ("patch", "bindrequests/status", GROUP),
        ("create", "events", ""),
    ):
        await work.pod("bound-later")
    await work.bound("bound-later")
    await work.pod("waits", 0, nodeSelector={"test/waits": "never"})
    async with it.without(("get", "pods", "")):
        await it.api.create(bind_request(it, "no-such-pod", "n"))
    async with it.without(("get", "nodes", "")):
        # The scheduler deletes BindRequests of its own pool whose node is gone.
        request = bind_request(it, f"waits-{work.it.name}", "no-such-node")
        request["metadata"]["labels"] = {keys.NODE_POOL_LABEL: "another"}
        await it.api.create(request)
    await sharing(it, work)
    async with it.without(("delete", "pods", "")):
        for name in ("half-0", "half-1", "half-2"):
            path = path_of("Pod", it.namespace, f"{name}-{work.it.name}")
            await it.api.delete(path)
    await it.reads()
    await it.recovers()


def test_rights_on_bind_requests(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    install(cluster)
    requests = ("--binding", "bind-requests")

    async def story() -> set[Right]:
        async with (
            cluster.client() as api,
            Account(cluster, namespace, "scheduler", tmp_path, *requests) as requester,
            Account(cluster, namespace, "binder", tmp_path) as binds,
        ):
            await api.create(node("n", 8, labels={PIN: requester.name}))
            await requesting(requester, "n")
            await binding(binds, Workload(requester))
            return rights_of(binds.rules) - binds.tested

    # A failed binding is one event for each pod.
    assert asyncio.run(story()) == {("patch", "events", ""), *GIVEN} - {("get", "nodes", "")}


DEVICES, STORAGE = "resource.k8s.io", "storage.k8s.io"
GIVEN = {
    *((verb, "resourceclaims", DEVICES) for verb in ("get", "create", "patch", "delete")),
    ("patch", "resourceclaims/status", DEVICES),
    ("patch", "resourceclaims/binding", DEVICES),
    ("get", "deviceclasses", DEVICES),
    *((verb, "persistentvolumes", "") for verb in ("get", "patch")),
    *((verb, "persistentvolumeclaims", "") for verb in ("get", "patch")),
    ("get", "storageclasses", STORAGE),
    ("get", "nodes", ""),
}
"""The rights for a pod with claims and volumes."""


async def giving(it: Account, work: Workload) -> None:
    """Pods with devices and volumes, one for each right."""
    api, of = it.api, it.namespace
    claims = ("resourceclaims", DEVICES)

    async def bound_without(name: str, *rights: Right, **options: Any) -> None:
        async with it.without(*rights):
            await work.pod(name, **options)
        await work.bound(name)

    def gpu(name: str) -> Object:
        return {"resourceClaims": [{"name": "gpu", "resourceClaimName": name}]}

    def disk(name: str) -> Object:
        return {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]}

    for number, right in enumerate(
        [
            ("get", *claims),
            ("patch", *claims),
            ("get", "deviceclasses", DEVICES),
            ("patch", "resourceclaims/status", DEVICES),
        ]
    ):
        await api.create(shared(f"c{number}", of, "default-queue"))
        await bound_without(f"c{number}", right, gpus=0, **gpu(f"c{number}"))
    await bound_without("made", ("create", *claims), gpus=1)
    async with it.without(("delete", *claims)):
        refused = it.proxy.answer(BINDINGS, 403, times=1)
        await work.pod("made-again", 1)
        await refused.hit()
    await work.bound("made-again")
    for number, right in enumerate(
        [
            ("get", "persistentvolumeclaims", ""),
            ("patch", "persistentvolumeclaims", ""),
            ("get", "persistentvolumes", ""),
            ("get", "storageclasses", STORAGE),
            ("get", "nodes", ""),
        ]
    ):
        await api.create(claim(f"v{number}", of, "late"))
        await bound_without(f"v{number}", right, gpus=0, **disk(f"v{number}"))
    await api.create(claim("kept", of, "local"))
    await bound_without("kept", ("patch", "persistentvolumes", ""), gpus=0, **disk("kept"))
    await it.recovers()


@pytest.mark.parametrize("role", ["scheduler", "binder"])
def test_rights_on_claims_and_volumes(
    cluster: Cluster, namespace: str, tmp_path: Path, role: str
) -> None:
    install(cluster)
    requests = ("--binding", "bind-requests")

    async def story() -> set[Right]:
        async with cluster.client() as api, Provisioner(api):
            await api.create(node("n", 0, labels={PIN: "kai-scheduler"}))
            await api.create(device_class(extendedResourceName="nvidia.com/gpu"), devices("n", 9))
            await api.create(storage_class("late", waits=True), local_class())
            await api.create(local_volume(f"{namespace}-v", "n"))
            if role == "scheduler":
                async with Account(cluster, namespace, role, tmp_path) as it:
                    await giving(it, Workload(it))
                    return GIVEN - it.tested
            async with (
                Account(cluster, namespace, "scheduler", tmp_path, *requests) as requester,
                Account(cluster, namespace, role, tmp_path) as it,
            ):
                await giving(it, Workload(requester))
                return GIVEN - it.tested

    # This right is checked in addition to that of the status, so it cannot be tested alone.
    assert asyncio.run(story()) == {("patch", "resourceclaims/binding", DEVICES)}


@pytest.mark.parametrize(("how", "right"), [("evict", EVICT), ("delete", DELETE)])
@in_a_loop
async def test_a_scheduler_without_the_right_to_evict_logs_it_and_evicts_later(
    *, cluster: Cluster, namespace: str, tmp_path: Path, how: str, right: Right
) -> None:
    """After a rejection nothing is evicted for 10 s."""
    install(cluster)
    async with cluster.client() as api:
        await api.create(node("n", 2, labels={PIN: "kai-scheduler"}))
    arguments = ("--eviction", how)
    async with Account(cluster, namespace, "scheduler", tmp_path, *arguments) as it:
        work = Workload(it)
        await work.pod("victim", 2)
        await work.bound("victim")
        async with it.without(right):
            await work.pod("urgent", 1, "build-preemptible")
        await work.bound("urgent")
        await it.recovers()
