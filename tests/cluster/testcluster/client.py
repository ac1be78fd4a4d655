"""A small client for tests: objects as dicts, one coroutine per request.

    async with cluster.client() as api:
        await api.create(namespace("demo"), pod("p1", "demo"))
        await api.bind("demo", "p1", "n1")
        await api.until("p1 runs", api.has_phase("demo", "p1", "Running"))

Rejections are ApiError with the server's message. Requests are not retried, except that aiohttp
repeats an idempotent request whose connection was closed meanwhile. The product's client is
kai.k8s; tests use this one to check results independently.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

import aiohttp

Object = dict[str, Any]

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
FOLLOW_PAUSE_S = 0.1
WORKERS = 32  # more do not make an API server on two cores faster


class ApiError(Exception):
    """A request that was rejected."""

    def __init__(self, method: str, path: str, status: int, text: str, retry_after: str) -> None:
        try:
            answer = json.loads(text)
        except ValueError:
            answer = {}
        self.status = status
        self.reason = str(answer.get("reason", ""))
        self.message = str(answer.get("message", text))
        self.retry_after = retry_after  # the header, "" without
        super().__init__(f"{method} {path}: {status} {self.reason}: {self.message[:500]}")


class Client:
    def __init__(self, server: str, token: str, tls: ssl.SSLContext) -> None:
        self.server = server
        self._headers = {"Authorization": f"Bearer {token}"}
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Client:
        self._session = aiohttp.ClientSession(
            headers=self._headers,
            connector=aiohttp.TCPConnector(ssl=self._tls, limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_read=60),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._session is not None
        await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        content: str = "application/json",
        parameters: Mapping[str, str | int] | None = None,
    ) -> Object:
        """One request; the answer as a dict, empty if there is no body.

        Raises:
            ApiError: the server rejected it.
            aiohttp.ClientError: no answer came.
        """
        assert self._session is not None, "used outside of its `async with`"
        async with self._session.request(
            method,
            self.server + path,
            data=None if body is None else json.dumps(body),
            params=parameters,
            headers={"Content-Type": content},
        ) as answer:
            text = await answer.text()
            if answer.status >= 400:
                retry_after = answer.headers.get("Retry-After", "")
                raise ApiError(method, path, answer.status, text, retry_after)
        return dict(json.loads(text)) if text.startswith("{") else {"text": text}

    async def get(self, path: str, **parameters: str | int) -> Object:
        return await self.request("GET", path, parameters=parameters)

    async def items(self, path: str, **parameters: str | int) -> list[Object]:
        """The objects of a list, whole."""
        return list((await self.get(path, **parameters))["items"])

    async def post(self, path: str, body: Mapping[str, Any]) -> Object:
        return await self.request("POST", path, body)

    async def patch(self, path: str, body: Mapping[str, Any], content: str = MERGE) -> Object:
        return await self.request("PATCH", path, body, content=content)

    async def delete(self, path: str, **parameters: str | int) -> Object:
        """`gracePeriodSeconds=0` and `propagationPolicy="Foreground"` are possible parameters."""
        return await self.request("DELETE", path, parameters=parameters)

    async def status_of(self, request: Awaitable[Object]) -> int:
        """200 for a request that succeeds, otherwise the status of the rejection."""
        try:
            await request
        except ApiError as error:
            return error.status
        return 200

    # --- objects ----------------------------------------------------------------------------------

    async def create(self, *objects: Mapping[str, Any]) -> list[Object]:
        """Creates objects, up to 32 at a time, and returns them in the given order.

        Raises:
            ApiError: one was refused; others may exist.
        """
        return await together([functools.partial(self.create_one, each) for each in objects])

    async def create_one(self, manifest: Mapping[str, Any]) -> Object:
        return await self.post(collection_of(manifest), manifest)

    async def create_namespace(self, name: str) -> None:
        """Also waits for its default service account, without which no pod is admitted."""
        await self.post(path_of("Namespace"), {"metadata": {"name": name}})
        account = path_of("ServiceAccount", name, "default")
        await self.until(f"namespace {name} can have pods", lambda: self.get(account), 60)

    async def bind(self, namespace: str, pod: str, node: str, **metadata: Any) -> Object:
        """`metadata` of the binding may hold a uid, annotations and labels."""
        return await self.post(
            path_of("Pod", namespace, pod, "binding"),
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod, **metadata},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node},
            },
        )

    async def evict(self, namespace: str, pod: str) -> Object:
        return await self.post(
            path_of("Pod", namespace, pod, "eviction"),
            {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": pod, "namespace": namespace},
            },
        )

    async def service_account_token(self, namespace: str, name: str = "default") -> str:
        made = await self.post(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        )
        return str(made["status"]["token"])

    async def watch(self, path: str, **parameters: str | int) -> AsyncIterator[Object]:
        """The events of a watch, until the server ends it.

        Raises:
            ApiError: the watch was refused.
        """
        assert self._session is not None, "used outside of its `async with`"
        query = {"watch": "true", **parameters}
        async with self._session.get(self.server + path, params=query) as answer:
            try:
                if answer.status >= 400:
                    raise ApiError("GET", path, answer.status, await answer.text(), "")
                rest = b""
                async for chunk in answer.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        yield json.loads(line)
            finally:
                abort(answer)

    async def follow(self, path: str) -> AsyncIterator[tuple[str, Any]]:
        """ "LISTED" with all objects, and then the type and the object of each event. A watch that
        ends or is refused starts again with a list."""
        while True:
            with suppress(ApiError, aiohttp.ClientError, asyncio.TimeoutError, OSError):
                listed = await self.get(path)
                yield "LISTED", listed["items"]
                version = listed["metadata"]["resourceVersion"]
                async for event in self.watch(path, resourceVersion=version):
                    if event["type"] == "ERROR":
                        break
                    yield event["type"], event["object"]
            await asyncio.sleep(FOLLOW_PAUSE_S)

    # --- waiting ----------------------------------------------------------------------------------

    async def until(
        self, what: str, condition: Callable[[], Awaitable[Any]], seconds: float = 20
    ) -> Any:
        """Repeats until the answer is true, and returns it. A rejection counts as "not yet".

        Raises:
            AssertionError: it did not become true in time.
        """
        end = time.monotonic() + seconds
        last: ApiError | None = None
        while True:
            try:
                if value := await condition():
                    return value
            except ApiError as error:
                last = error
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds:g} s: {what}") from last
            await asyncio.sleep(0.02)

    async def ready_nodes(self, count: int, seconds: float = 60) -> list[Object]:
        """Waits until this many nodes are ready and have no taint, and returns them. The simulated
        kubelet runs no pod that was bound before it saw the node, and can be half a minute late
        after a restart of the server.

        Raises:
            AssertionError: it did not happen in time.
        """

        async def condition() -> list[Object] | None:
            ready = [
                each
                for each in await self.items(path_of("Node"))
                if not each["spec"].get("taints")
                and any(
                    (condition["type"], condition["status"]) == ("Ready", "True")
                    for condition in each["status"].get("conditions", [])
                )
            ]
            return ready if len(ready) == count else None

        what = f"{count} nodes are ready"
        found: list[Object] = await self.until(what, condition, seconds)
        return found

    def has_phase(self, namespace: str, pod: str, phase: str) -> Callable[[], Awaitable[Any]]:
        """For until(): the pod if it is in this phase."""

        async def condition() -> Object | None:
            found = await self.get(path_of("Pod", namespace, pod))
            return found if found["status"]["phase"] == phase else None

        return condition

    def is_gone(self, path: str) -> Callable[[], Awaitable[bool]]:
        """For until(): whether the server has no such object."""

        async def condition() -> bool:
            return await self.status_of(self.get(path)) == 404

        return condition

    # --- rights -----------------------------------------------------------------------------------

    async def may(
        self,
        account: str,
        verb: str,
        resource: str,
        group: str,
        namespace: str,
        object_name: str = "",
    ) -> bool:
        """Whether a service account, "namespace:name", has a right in a namespace: for all objects
        or for one."""
        name, _, subresource = resource.partition("/")
        request = {
            "group": group,
            "resource": name,
            "subresource": subresource,
            "verb": verb,
            "namespace": namespace,
            "name": object_name,
        }
        user = f"system:serviceaccount:{account}"
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": request},
        }
        done = await self.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(done["status"]["allowed"])

    # --- what the server counted ------------------------------------------------------------------

    async def request_counts(self) -> Counter[tuple[str, str, str]]:
        """Finished requests since the server started, by verb, resource and subresource, such as
        ("POST", "pods", "binding"). Subtract two of them."""
        text = (await self.get("/metrics"))["text"]
        counts: Counter[tuple[str, str, str]] = Counter()
        for labels, value in re.findall(r"^apiserver_request_total{(.*)} (\S+)$", text, re.M):
            label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            counts[label["verb"], label["resource"], label["subresource"]] += int(float(value))
        return counts

    async def flow_counts(self) -> dict[str, Counter[str]]:
        """Requests that API priority and fairness has "dispatched" and "rejected" since the server
        started, by flow schema."""
        text = (await self.get("/metrics"))["text"]
        counts: dict[str, Counter[str]] = {"dispatched": Counter(), "rejected": Counter()}
        pattern = r"^apiserver_flowcontrol_(dispatched|rejected)_requests_total{(.*)} (\S+)$"
        for what, labels, value in re.findall(pattern, text, re.M):
            schema = dict(re.findall(r'(\w+)="([^"]*)"', labels))["flow_schema"]
            counts[what][schema] += int(float(value))
        return counts


def abort(answer: aiohttp.ClientResponse) -> None:
    """Closes the connection of an answer that is not read to its end. aiohttp would close it in the
    background, where TLS waits for the peer; a short test has closed its event loop by then, and
    Python reports an open transport."""
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


async def together(
    calls: list[Callable[[], Awaitable[Object]]], workers: int = WORKERS
) -> list[Object]:
    """Awaits all calls, some at a time; returns their results in order.

    Raises:
        Exception: the error of the first call that failed; no further calls are started.
    """
    results: list[Object] = [{} for _ in calls]
    waiting = iter(enumerate(calls))

    async def work() -> None:
        for index, call in waiting:
            results[index] = await call()

    tasks = [asyncio.create_task(work()) for _ in range(min(workers, len(calls)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    return results


# --- paths ----------------------------------------------------------------------------------------

APIS = {
    "CronJob": "batch/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "Deployment": "apps/v1",
    "DeviceClass": "resource.k8s.io/v1",
    "Job": "batch/v1",
    "Lease": "coordination.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "PodGroup": "scheduling.run.ai/v2alpha2",
    "PriorityClass": "scheduling.k8s.io/v1",
    "Queue": "scheduling.run.ai/v2",
    "ReplicaSet": "apps/v1",
    "ResourceClaim": "resource.k8s.io/v1",
    "ResourceSlice": "resource.k8s.io/v1",
    "StatefulSet": "apps/v1",
    "StorageClass": "storage.k8s.io/v1",
    "Topology": "kai.scheduler/v1alpha1",
    "BindRequest": "scheduling.run.ai/v1alpha2",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
}
"""API versions of kinds outside of the core, for path_of()."""


def path_of(kind: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """path_of("Pod", "ns", "p", "binding") -> "/api/v1/namespaces/ns/pods/p/binding"."""
    parts = [_base(APIS.get(kind, "v1"))]
    parts += [f"namespaces/{namespace}"] if namespace else []
    parts += [part for part in (plural(kind), name, subresource) if part]
    return "/".join(parts)


def collection_of(manifest: Mapping[str, Any]) -> str:
    """Where an object is created."""
    namespace = manifest["metadata"].get("namespace")
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{_base(manifest['apiVersion'])}{inside}/{plural(manifest['kind'])}"


def plural(kind: str) -> str:
    """ "Queue" -> "queues", "Topology" -> "topologies", "StorageClass" -> "storageclasses"."""
    lower = kind.lower()
    if lower.endswith("y"):
        return lower[:-1] + "ies"
    return lower + ("es" if lower.endswith("s") else "s")


def _base(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"
