"""KAI's webhook for pods: its changes to pods that share a GPU, and its rejections.

    async with Admission(cluster):
        await api.create(pod("half", namespace, 0, annotations={"gpu-fraction": "0.5"}))

The names, rules and conditions of the webhooks are those of KAI's operator; they are called by URL.
The runtime class of the rules is created as well. All of it is in force only inside the block: both
ends wait until the API server has seen the change. The webhooks run on the test's event loop, so a
call that blocks the loop while a pod is created gets no answer.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from aiohttp import web

from kai.controllers.admission import Known, Reviews, Rules

from .arguments import HOST
from .client import ApiError, Client, Object
from .objects import pod
from .ports import free_ports

if TYPE_CHECKING:
    from .cluster import Cluster

MUTATE, VALIDATE = "/mutate--v1-pod", "/validate--v1-pod"
WEBHOOK = "kai-admission.kai-scheduler.svc"
CONFIGURATIONS = {
    "MutatingWebhookConfiguration": "mutating-kai-admission",
    "ValidatingWebhookConfiguration": "validating-kai-admission",
}
LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own, for random names
READY_S = 30.0
UNUSED = ("kube-system", "kai-scheduler")

_API = "/apis/admissionregistration.k8s.io/v1"
_RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"


class Admission:
    """`reviews`: the number of reviews, by path."""

    def __init__(self, cluster: Cluster, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.reviews = {MUTATE: 0, VALIDATE: 0}
        self._answers = Reviews(self.rules, draw=_draw, known=Known())
        self._cluster = cluster
        self._port = free_ports(1)[0]
        self._runner: web.AppRunner | None = None
        self._connections: set[asyncio.Transport] = set()

    async def __aenter__(self) -> Admission:
        app = web.Application()
        for path in self.reviews:
            app.router.add_post(path, self._answer)
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(self._cluster.pki / "server.crt", self._cluster.pki / "server.key")
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, HOST, self._port, ssl_context=tls).start()
            async with self._cluster.client() as api:
                if self.rules.runtime_class:
                    await api.create(_runtime_class(self.rules.runtime_class))
                for kind, name in CONFIGURATIONS.items():
                    await api.post(_path_of(kind), self._configuration(kind, name))
                await _until("the webhooks are in force", lambda: _in_force(api, both=True))
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._end()

    async def _end(self) -> None:
        """Serves until none of its webhooks is called any more: otherwise pods could not be
        created."""
        assert self._runner is not None
        try:
            async with self._cluster.client() as api:
                for kind, name in CONFIGURATIONS.items():
                    await api.status_of(api.delete(f"{_path_of(kind)}/{name}"))
                if self.rules.runtime_class:
                    path = f"{_RUNTIME_CLASSES}/{self.rules.runtime_class}"
                    await api.status_of(api.delete(path))
                await _until("the webhooks are gone", lambda: _in_force(api, both=False))
        finally:
            await self._runner.cleanup()
            for connection in self._connections:  # the API server keeps them open for its next pod
                connection.abort()
            await asyncio.sleep(0.01)

    async def _answer(self, request: web.Request) -> web.Response:
        review = await self._review(request)
        return web.json_response(self._answers.answer(request.path, review))

    async def _review(self, request: web.Request) -> Object:
        assert request.transport is not None
        self._connections.add(request.transport)
        self.reviews[request.path] += 1
        review: Object = await request.json()
        return review

    def _configuration(self, kind: str, name: str) -> Object:
        mutates = kind.startswith("Mutating")
        path = MUTATE if mutates else VALIDATE
        authority = base64.b64encode((self._cluster.pki / "ca.crt").read_bytes()).decode()
        elsewhere = {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": list(UNUSED),
        }
        webhook: dict[str, Any] = {
            "name": WEBHOOK,
            "clientConfig": {"url": f"https://{HOST}:{self._port}{path}", "caBundle": authority},
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "namespaceSelector": {"matchExpressions": [elsewhere]},
            "matchConditions": [
                {
                    "name": "scheduler-name-match",
                    "expression": f"object.spec.schedulerName == '{self.rules.scheduler}'",
                }
            ],
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["pods"],
                    "operations": ["CREATE"] if mutates else ["CREATE", "UPDATE"],
                }
            ],
        }
        if mutates:
            webhook["reinvocationPolicy"] = "IfNeeded"
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name},
            "webhooks": [webhook],
        }


def _runtime_class(name: str) -> Object:
    """Kubernetes rejects pods with a class that does not exist."""
    metadata = {"name": name}
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": metadata,
        "handler": name,
    }


def _draw(length: int) -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(length))


async def _in_force(api: Client, *, both: bool) -> bool:
    """Whether both webhooks are called, or, with both=False, whether neither is. No pod is
    created."""
    missing = {"gpu-fraction": "0.5", "gpu-fraction-container-name": "missing"}
    mutated, validated = [
        await _is_refused(api, annotations) for annotations in (missing, {"mps": "true"})
    ]
    return mutated and validated if both else not mutated and not validated


async def _is_refused(api: Client, annotations: dict[str, str]) -> bool:
    probe = pod("admission-probe", "default", 0, annotations=annotations)
    path = "/api/v1/namespaces/default/pods"
    try:
        await api.request("POST", path, probe, parameters={"dryRun": "All"})
    except ApiError as error:
        if error.status != 403 or WEBHOOK not in str(error):
            raise
        return True
    return False


async def _until(what: str, is_so: Callable[[], Awaitable[bool]]) -> None:
    ends = asyncio.get_running_loop().time() + READY_S
    while not await is_so():
        if asyncio.get_running_loop().time() > ends:
            raise AssertionError(f"not within {READY_S:g} s: {what}")
        await asyncio.sleep(0.05)


def _path_of(kind: str) -> str:
    return f"{_API}/{kind.lower()}s"
