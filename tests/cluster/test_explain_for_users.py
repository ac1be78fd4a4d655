"""`kai explain` of a user with the rights of one namespace: the API server passes the question on
to the Service of the running scheduler, which checks the user's rights."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine_play import Place
from testcluster import NAMESPACE, Kai, free_ports, install_all, node, pod, queue, running, until
from testcluster.egress import Backend

from kai.install import explaining

RBAC = "rbac.authorization.k8s.io"
Object = dict[str, Any]


@dataclass
class Answer:
    status: int
    data: Object
    error: str


@asynccontextmanager
async def served(place: Place, port: int) -> AsyncIterator[None]:
    """The Service leads to the program at this port."""

    async def route(address: str) -> Backend | None:
        if not address.endswith(f":{explaining.PORT}"):
            return None
        return Backend(lambda: asyncio.open_connection("127.0.0.1", port))

    async with place.egress.routed(route):
        yield


async def explain(kubeconfig: Path, name: str) -> Answer:
    command = [sys.executable, "-m", "kai", "explain", "--kubeconfig", str(kubeconfig), name]
    done = await asyncio.create_subprocess_exec(
        *command, "--json", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await done.communicate()
    return Answer(done.returncode or 0, json.loads(out) if out else {}, err.decode())


def program() -> Object:
    """A pod that the Service selects; the process of this machine answers for it."""
    [service, *_] = explaining.objects("all", "kai", NAMESPACE)
    labels = service["spec"]["selector"]
    return pod("kai-0", NAMESPACE, 0, labels=labels, nodeName="n1", schedulerName="none")


def endpoints(address: str) -> Object:
    """Written here, because the cluster of tests has no controller for it."""
    metadata = {"name": explaining.SERVICE, "namespace": NAMESPACE}
    target = {"kind": "Pod", "name": "kai-0", "namespace": NAMESPACE}
    ports = [{"port": explaining.PORT}]
    subset = {"addresses": [{"ip": address, "targetRef": target}], "ports": ports}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]}


def may(verb: str, namespace: str) -> list[Object]:
    """A Role for pods of this namespace, and its binding to the user."""
    metadata = {"name": f"{verb}s-pods", "namespace": namespace}
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]}
    return [
        role,
        {
            **{"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": metadata},
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": metadata["name"]},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "other-under-test"}],
        },
    ]


async def begin(place: Place) -> Path:
    """team/needs waits for what other/busy holds; returns the kubeconfig of the scheduler."""
    account = install_all(place.cluster)
    async with place.cluster.client() as api:
        for name in ("team", "other"):
            await api.create_namespace(name)
    running.apply(place.cluster, *explaining.objects("all", "kai", NAMESPACE), *may("get", "team"))
    running.apply(place.cluster, queue("top"), queue("a", "top", gpu=2), node("n1", 2))
    running.apply(place.cluster, program())
    busy = pod("busy", "other", 2, queue="a")
    busy["spec"]["priorityClassName"] = "build"
    running.apply(place.cluster, busy)
    return account


def test_a_user_with_the_rights_of_a_namespace_asks_the_scheduler(
    place: Place, tmp_path: Path
) -> None:
    cluster, [port] = place.cluster, free_ports(1)

    async def scene() -> None:
        account = await begin(place)
        at = ("--explain-address", f"127.0.0.1:{port}")
        with Kai(cluster, NAMESPACE, tmp_path / "kai.log", *at, kubeconfig=account):
            bound = ("get", "pod", "busy", "-n", "other", "-o", "jsonpath={.spec.nodeName}")
            until("busy is bound", lambda: cluster.kubectl(*bound))
            running.apply(cluster, pod("needs", "team", 2, queue="a"))
            condition = ("get", "pod", "needs", "-n", "team", "-o", "jsonpath={.status.conditions}")
            until("needs waits", lambda: "Unschedulable" in cluster.kubectl(*condition))
            user = cluster.kubeconfig_of("other")
            address = ("get", "pod", "kai-0", "-n", NAMESPACE, "-o", "jsonpath={.status.podIP}")
            running.apply(
                cluster,
                endpoints(until("the pod has an IP", lambda: cluster.kubectl(*address))),
            )

            async with served(place, port):
                found = await explain(user, "team/needs")
                assert found.status == 0, found.error
                assert found.data["waits_for"] == "room"
                assert "may not list" in found.data["notes"][0]
                text = json.dumps(found.data)
                assert "1 pod group of queue a holds 2 GPUs and is not preemptible." in text
                assert "other/" not in text

                refused = await explain(user, "other/busy")
                assert refused.status == 2
                assert "other-under-test may not get pod or pod group other/busy" in refused.error

                running.apply(cluster, *may("list", "other"))
                await asyncio.sleep(12)  # answers are kept for ten seconds
                found = await explain(user, "team/needs")
                assert "other/pg-busy" in json.dumps(found.data)

            gone = await explain(user, "team/needs")
            assert gone.status == 2
            assert "may not list" in gone.error

    asyncio.run(scene())
