"""Claims get volumes from the fake provisioner, and the server's controllers bind them."""

import asyncio
from collections.abc import Awaitable, Callable

from testcluster import (
    Client,
    Cluster,
    Object,
    Provisioner,
    claim,
    claim_spec,
    path_of,
    pod,
    storage_class,
)

from fakes.scenarios import in_a_loop


def is_bound(api: Client, namespace: str, name: str) -> Callable[[], Awaitable[Object | None]]:
    async def condition() -> Object | None:
        found = await api.get(path_of("PersistentVolumeClaim", namespace, name))
        return found if found["status"]["phase"] == "Bound" else None

    return condition


@in_a_loop
async def test_a_claim_gets_a_volume_at_once(*, cluster: Cluster, namespace: str) -> None:
    async with cluster.client() as api, Provisioner(api):
        await api.create(storage_class("fast"), claim("data", namespace, "fast"))
        bound = await api.until("it is bound", is_bound(api, namespace, "data"))
        volume = await api.get(path_of("PersistentVolume", name=bound["spec"]["volumeName"]))
        assert volume["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
        assert volume["status"]["phase"] == "Bound"


@in_a_loop
async def test_a_waiting_claim_gets_a_volume_on_the_selected_node(
    *, cluster: Cluster, namespace: str
) -> None:
    async with cluster.client() as api, Provisioner(api):
        await api.create(storage_class("late", waits=True), claim("data", namespace, "late"))
        await asyncio.sleep(0.5)
        path = path_of("PersistentVolumeClaim", namespace, "data")
        assert (await api.get(path))["status"]["phase"] == "Pending"
        selected = {"volume.kubernetes.io/selected-node": "n7"}
        await api.patch(path, {"metadata": {"annotations": selected}})
        bound = await api.until("it is bound", is_bound(api, namespace, "data"))
        volume = await api.get(path_of("PersistentVolume", name=bound["spec"]["volumeName"]))
        [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchFields"][0]["values"] == ["n7"]


@in_a_loop
async def test_an_ephemeral_volume_gets_a_claim_owned_by_its_pod(
    *, cluster: Cluster, namespace: str
) -> None:
    async with cluster.client() as api, Provisioner(api):
        volume = {"ephemeral": {"volumeClaimTemplate": {"spec": claim_spec("fast")}}}
        await api.create(
            storage_class("fast"), pod("p", namespace, volumes=[{"name": "scratch", **volume}])
        )
        bound = await api.until("it is bound", is_bound(api, namespace, "p-scratch"))
        [owner] = bound["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("Pod", "p")
