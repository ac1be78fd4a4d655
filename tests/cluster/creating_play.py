"""Pods that are created all the while, beside something that must not disturb them."""

from __future__ import annotations

import asyncio
import contextlib

import aiohttp
from testcluster import ApiError, Client, path_of, pod

HALF = {"gpu-fraction": "0.5"}
SHARED = "runai/shared-gpu-configmap"
KEPT = 100


class Creating:
    """Creates pods one after the other, with and without a part of a GPU, and of another scheduler.
    None of them is placed, and only the last ones are kept. `pause_s`: between two of them.

    `refused`: the errors; `unchanged`: pods that lack what the webhook writes; `unanswered`: how
    many requests found no server."""

    def __init__(self, api: Client, namespace: str, pause_s: float = 0.0) -> None:
        self._api, self._namespace, self._pause_s = api, namespace, pause_s
        self.made, self.unanswered = 0, 0
        self.refused, self.unchanged = list[str](), list[str]()

    async def __aenter__(self) -> Creating:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while True:
            await self._create(self.made)
            if self.made >= KEPT:
                path = path_of("Pod", self._namespace, f"p{self.made - KEPT}")
                with contextlib.suppress(ApiError, aiohttp.ClientError):
                    await self._api.delete(path, gracePeriodSeconds=0)
            self.made += 1
            await asyncio.sleep(self._pause_s)

    async def _create(self, number: int) -> None:
        kinds = ((HALF, "kai-scheduler"), ({}, "kai-scheduler"), (HALF, "default-scheduler"))
        annotations, scheduler = kinds[number % 3]
        name = f"p{number}"
        made = pod(name, self._namespace, 0, scheduler=scheduler, annotations=dict(annotations))
        made["spec"]["schedulingGates"] = [{"name": "example.test/wait"}]
        try:
            created = await self._api.create_one(made)
        except ApiError as error:
            self.refused.append(str(error))
            return
        except aiohttp.ClientError:
            self.unanswered += 1
            return
        written = SHARED in created["metadata"].get("annotations", {})
        if written != (annotations is HALF and scheduler == "kai-scheduler"):
            self.unchanged.append(name)
