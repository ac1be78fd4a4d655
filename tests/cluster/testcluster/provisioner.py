"""Simulated storage: a volume for each claim of a storage class.

    async with Provisioner(api):
        await api.create(storage_class("fast"), claim("data", "ns", "fast"))

A claim of a class with `waits=True` gets its volume once it has the selected node's annotation,
which the scheduler writes; the volume is then for this node only. The server's own controller binds
claim and volume. The provisioner is a watch in the test's event loop; it ends with the `async with`
block.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType

import aiohttp

from .client import ApiError, Client, Object, path_of

PROVISIONER = "sim.kai.test/provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


class Provisioner:
    def __init__(self, api: Client) -> None:
        self._api = api
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Provisioner:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        async for what, found in self._api.follow(path_of("PersistentVolumeClaim")):
            for each in found if what == "LISTED" else [found]:
                if what != "DELETED":
                    await self._provide(each)

    async def _provide(self, claim: Object) -> None:
        # 409: an earlier event has created this volume. 404: the storage class does not exist.
        with suppress(ApiError, aiohttp.ClientError):
            await self._make_volume(claim)

    async def _make_volume(self, claim: Object) -> None:
        name = claim["spec"].get("storageClassName")
        if claim["spec"].get("volumeName") or not name:
            return
        found = await self._api.get(path_of("StorageClass", name=name))
        if found["provisioner"] != PROVISIONER:
            return
        node = claim["metadata"].get("annotations", {}).get(SELECTED_NODE, "")
        if found["volumeBindingMode"] == "WaitForFirstConsumer" and not node:
            return
        await self._api.create(volume_for(claim, node))


def volume_for(claim: Object, node: str = "") -> Object:
    metadata, spec = claim["metadata"], claim["spec"]
    reference = {key: metadata[key] for key in ("name", "namespace", "uid")}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": f"pv-{metadata['uid']}",
            "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER},
        },
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **reference},
            "csi": {"driver": "sim.kai.test", "volumeHandle": metadata["uid"]},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": spec["storageClassName"],
            **({"nodeAffinity": affinity} if node else {}),
        },
    }


def storage_class(name: str, *, waits: bool = False) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": PROVISIONER,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    }


def claim_spec(storage_class: str, size: str = "10Gi") -> Object:
    """For claims and for a pod's `ephemeral.volumeClaimTemplate`."""
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": size}},
    }


def claim(name: str, namespace: str, storage_class: str, size: str = "10Gi") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": claim_spec(storage_class, size),
    }
