"""A node that really runs the containers of its pods, as processes of this machine.

    with Egress() as egress, temporary_cluster(egress.options()) as cluster:
        async with cluster.client() as api, Machine(cluster, api, egress) as machine:
            ...                                             # kubectl apply, helm install
            await machine.runs("kai-scheduler", "app.kubernetes.io/name=kai-sched", count=2)
            print(machine.log("kai-"))

It does the work of a kubelet, and of the network of services. Pods of the scheduler of Kubernetes
are bound to it, because the test cluster has no such scheduler. docs/internals/cluster.md lists
what it does and what it leaves out.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp

from ..client import ApiError, Client, Object, path_of
from ..cluster import Cluster
from ..egress import Egress
from .errors import MachineError
from .images import IMAGES, Image
from .node import keep_ready, node_of, register
from .pods import Host, PodRun
from .routes import Routes
from .tasks import end

KUBERNETES_OWN = "default-scheduler"
LOOPBACK = IPv4Address("127.64.0.0")
"""Linux accepts connections at all addresses that start with 127."""


class Machine:
    """`images`: how to run an image, by a part of its name. Containers of other images are ready
    without a process. `name`, `gpus`, `labels`, `taints`: of the node; machines of one cluster need
    different names."""

    def __init__(
        self,
        cluster: Cluster,
        api: Client,
        egress: Egress,
        *,
        images: Mapping[str, Image] = IMAGES,
        name: str = "machine",
        gpus: int = 0,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
    ) -> None:
        self._cluster, self._api, self._egress, self._images = cluster, api, egress, images
        self._name, self._node = name, node_of(name, gpus, labels or {}, taints)
        self._pods: dict[str, PodRun] = {}  # by UID; also those that are gone, for their logs
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: BaseException | None = None
        # Each pod has an address of its own. A random start keeps machines of other sessions apart.
        self._addresses = LOOPBACK + random.randrange(1 << 21)

    async def __aenter__(self) -> Machine:
        async with AsyncExitStack() as stack:
            self._folder = Path(tempfile.mkdtemp(prefix="kai-machine-"))
            stack.callback(self._remove_files)
            http = await stack.enter_async_context(aiohttp.ClientSession())
            self._host = Host(self._api, http, self._images, self._folder, self._cluster.server)
            routes = Routes(self._api, self._pods)
            await stack.enter_async_context(self._egress.routed(routes.find))
            await register(self._api, self._node)
            self._stack = stack.pop_all()
        self._start(keep_ready(self._api, self._node))
        self._start(self._follow())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in self._pods.values():
            each.kill()
        await end(self._tasks)
        if kind is not None or self._failure is not None:
            print(self.log(), file=sys.stderr)  # pytest shows it beside the error
        await self._stack.aclose()
        if kind is None:
            self.check()

    def check(self) -> None:
        """Raises:
        MachineError: a pod has a field that the machine does not support, or the machine failed.
        """
        if self._failure is not None:
            raise MachineError(f"the machine failed: {self._failure!r}") from self._failure

    async def until(
        self, what: str, condition: Callable[[], Awaitable[Any]], seconds: float = 20
    ) -> Any:
        """As the method of the client; an error of the machine ends it at once.

        Raises:
            AssertionError: it did not become true in time.
            MachineError: see check().
        """

        async def checked() -> Any:
            self.check()
            return await condition()

        return await self._api.until(what, checked, seconds)

    async def runs(
        self, namespace: str, selector: str = "", count: int = 1, seconds: float = 30
    ) -> list[Object]:
        """Waits until at least `count` pods are ready and none is not, and returns them. Pods that
        are being deleted do not count.

        Raises:
            AssertionError: it did not happen in time.
            MachineError: see check().
        """

        async def condition() -> list[Object]:
            pods = await self._api.items(path_of("Pod", namespace), labelSelector=selector)
            pods = [each for each in pods if "deletionTimestamp" not in each["metadata"]]
            return pods if len(pods) >= count and all(map(is_ready, pods)) else []

        what = f"{count} pods {selector} are ready in namespace {namespace}"
        found: list[Object] = await self.until(what, condition, seconds)
        return found

    def log(self, pod: str = "") -> str:
        """The output of the pods whose names start so, also of those that are gone."""
        return "\n".join(
            f"--- {run.name}, container {container}:\n{path.read_text(errors='replace')}"
            for run in self._pods.values()
            if run.name.startswith(pod)
            for container, path in run.logs()
        )

    # ---- inside ----------------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self._failure = self._failure or error

    async def _follow(self) -> None:
        async for kind, found in self._api.follow(path_of("Pod")):
            if kind == "LISTED":
                uids = {each["metadata"]["uid"] for each in found}
                for uid in self._pods.keys() - uids:
                    self._pods[uid].delete(0)
                for each in found:
                    await self._see(each)
            elif kind == "DELETED":
                if run := self._pods.get(found["metadata"]["uid"]):
                    run.delete(0)  # a deletion by force; otherwise its containers have ended
            else:
                await self._see(found)

    async def _see(self, pod: Object) -> None:
        metadata, spec = pod["metadata"], pod["spec"]
        if not spec.get("nodeName"):
            await self._bind(pod)
        elif spec["nodeName"] == self._name:
            run = self._pods.get(metadata["uid"])
            if run is None:
                self._addresses += 1
                run = self._pods[metadata["uid"]] = PodRun(self._host, pod, str(self._addresses))
                self._start(run.run())
            if "deletionTimestamp" in metadata:
                run.delete(metadata["deletionGracePeriodSeconds"])

    async def _bind(self, pod: Object) -> None:
        metadata, spec = pod["metadata"], pod["spec"]
        if spec["schedulerName"] == KUBERNETES_OWN and self._fits(spec):
            node = _node_of_daemon(spec) or self._name
            try:
                await self._api.bind(metadata["namespace"], metadata["name"], node)
            except ApiError as error:
                if error.status not in (404, 409):  # it was deleted or bound meanwhile, or is gated
                    raise

    def _fits(self, spec: Object) -> bool:
        labels, taints = self._node["metadata"]["labels"], self._node["spec"]["taints"]
        tolerated = {each.get("key") for each in spec.get("tolerations", ())}
        return spec.get("nodeSelector", {}).items() <= labels.items() and all(
            each["key"] in tolerated or None in tolerated for each in taints
        )

    def _remove_files(self) -> None:
        for root in {"", *(each.root for each in self._images.values())}:
            shutil.rmtree(f"{root}{self._folder}", ignore_errors=True)


def is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)


def _node_of_daemon(spec: Object) -> str:
    """The node for which a DaemonSet has created a pod; "" for other pods."""
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    for term in required.get("nodeSelectorTerms", ()):
        for field in term.get("matchFields", ()):
            return str(field["values"][0])
    return ""
