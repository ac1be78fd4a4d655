"""Simulates the program in GPU reservation pods: it reports the GPU of its pod.

    async with Reservations(api) as fake:
        fake.silent.add("a10")              # pods on this node, or of this GPU group, never answer
        fake.slow["<GPU group>"] = 2.0      # seconds, also by node
        ...
        assert fake.answers["<GPU group>"] == "GPU-a10-0"

A reservation pod that has run for `delay` gets the annotation run.ai/reserve_for_gpu_index with
`GPU-<node>-<i>`: the lowest GPU of its node that no other living reservation pod holds. Namespace
and service account of such pods are created if they are missing. It is a watch in the test's event
loop, and ends with the `async with` block.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from types import TracebackType

from kai.api import keys

from .client import WORKERS, ApiError, Client, Object, path_of

NAMESPACE = "kai-resource-reservation"
ACCOUNT = "kai-resource-reservation"
ANSWER = "run.ai/reserve_for_gpu_index"
DELAY_S = 0.05


class Reservations:
    """`silent`: nodes and GPU groups whose pods never answer; `slow`: the delays of some, in
    seconds; `answers`: the last answer for each GPU group."""

    def __init__(self, api: Client, delay: float = DELAY_S) -> None:
        self._api, self.delay = api, delay
        self.silent = set[str]()
        self.slow = dict[str, float]()
        self.answers = dict[str, str]()
        self._held = dict[str, tuple[str, int]]()  # by the UID of the pod: node and GPU
        self._taken = defaultdict[str, dict[str, int]](dict)  # by node and UID
        self._sending = asyncio.Semaphore(WORKERS)
        self._tasks = dict[str, asyncio.Task[None]]()
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Reservations:
        await self._prepare()
        self._watch = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._watch is not None
        tasks = [self._watch, *self._tasks.values()]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    def held(self) -> set[str]:
        """GPUs that living pods hold: "GPU-a10-0"."""
        return {name_of(*each) for each in self._held.values()}

    async def _prepare(self) -> None:
        account = path_of("ServiceAccount", NAMESPACE)
        for path, name in ((path_of("Namespace"), NAMESPACE), (account, ACCOUNT)):
            try:
                await self._api.post(path, {"metadata": {"name": name}})
            except ApiError as error:
                if error.status != 409:
                    raise

    async def _run(self) -> None:
        async for what, found in self._api.follow(path_of("Pod", NAMESPACE)):
            if what == "LISTED":
                self._forget_others({each["metadata"]["uid"] for each in found})
                for each in found:
                    self._see(each)
            elif what == "DELETED":
                self._forget(found["metadata"]["uid"])
            else:
                self._see(found)

    def _see(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if pod["status"]["phase"] != "Running":
            if pod["status"]["phase"] != "Pending":
                self._forget(uid)
        elif answer := pod["metadata"].get("annotations", {}).get(ANSWER, ""):
            node, _, number = answer.removeprefix("GPU-").rpartition("-")
            self._hold(uid, node, int(number))
        elif uid not in self._tasks:
            self._tasks[uid] = asyncio.create_task(self._answer(pod))

    def _forget_others(self, uids: set[str]) -> None:
        for uid in (self._held.keys() | self._tasks.keys()) - uids:
            self._forget(uid)

    def _hold(self, uid: str, node: str, number: int) -> None:
        self._held[uid] = (node, number)
        self._taken[node][uid] = number

    def _forget(self, uid: str) -> None:
        if held := self._held.pop(uid, None):
            del self._taken[held[0]][uid]
        if task := self._tasks.pop(uid, None):
            task.cancel()

    async def _answer(self, pod: Object) -> None:
        metadata, node = pod["metadata"], pod["spec"]["nodeName"]
        group = metadata.get("labels", {}).get(keys.GPU_GROUP_LABEL, "")
        await asyncio.sleep(self.slow.get(group, self.slow.get(node, self.delay)))
        if not self.silent.isdisjoint((group, node)):
            return
        taken = set(self._taken[node].values())
        number = next(each for each in range(len(taken) + 1) if each not in taken)
        self._hold(metadata["uid"], node, number)
        answer = name_of(node, number)
        self.answers[group] = answer
        async with self._sending:
            with suppress(ApiError):  # 404: it was deleted meanwhile
                await self._api.patch(
                    path_of("Pod", NAMESPACE, metadata["name"]),
                    {"metadata": {"annotations": {ANSWER: answer}}},
                )


def name_of(node: str, number: int) -> str:
    return f"GPU-{node}-{number}"


def reservation(name: str, node: str, group: str) -> Object:
    """A reservation pod as KAI's binder creates it, for one GPU."""
    gpu = {"nvidia.com/gpu": "1"}
    fields = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"app": ACCOUNT, keys.GPU_GROUP_LABEL: group},
        },
        "spec": {
            "serviceAccountName": ACCOUNT,
            "nodeName": node,
            "containers": [
                {
                    "name": "resource-reservation",
                    "image": "none",
                    "env": [
                        {"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}}
                        for key, path in fields.items()
                    ],
                    "resources": {"limits": gpu, "requests": gpu},
                }
            ],
        },
    }
