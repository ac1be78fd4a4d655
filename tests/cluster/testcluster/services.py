"""Webhooks by `service:`, answered by functions of a test.

    with Egress() as egress, temporary_cluster(egress.options()) as cluster:
        async with Services(cluster, egress) as services:
            await services.serve("kai-scheduler", "admission", {"/mutate--v1-pod": review})
            services.refuse("kai-scheduler", "admission")    # scaled to nothing

A service here has no selector: pods of a machine (machine/) serve the services that have one.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import ssl
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from aiohttp import web

from .client import Object, collection_of
from .cluster import Cluster
from .egress import Backend, Egress
from .pki import make_server

Review = Callable[[Object], Object]
"""From an AdmissionReview with a request to one with a response."""


@dataclass
class _Program:
    """A service and its program. `is_up`: it accepts connections."""

    address: str
    backend: Backend
    is_up: bool = True


class Services:
    """`reviews`: the number of reviews by path."""

    def __init__(self, cluster: Cluster, egress: Egress) -> None:
        self.reviews = dict[str, int]()
        self._cluster, self._egress = cluster, egress
        self._programs = dict[tuple[str, str], _Program]()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Services:
        await self._stack.enter_async_context(self._egress.routed(self._route))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def serve(self, namespace: str, name: str, reviews: Mapping[str, Review]) -> None:
        """Creates the service, and a program that answers on these paths."""
        async with self._cluster.client() as api:
            made = await api.create_one(
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "metadata": {"name": name, "namespace": namespace},
                    "spec": {"ports": [{"port": 443, "targetPort": 9443}]},
                }
            )
        app = web.Application()
        for path, review in reviews.items():
            self.reviews[path] = 0
            app.router.add_post(path, self._handler(path, review))
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        pair = make_server(self._cluster.pki, f"{name}.{namespace}", f"{name}.{namespace}.svc")
        tls.load_cert_chain(*pair)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        socket = str(self._egress.folder / f"{len(self._programs)}")
        await web.UnixSite(runner, socket, ssl_context=tls).start()
        address = f"{made['spec']['clusterIP']}:443"
        backend = Backend(functools.partial(asyncio.open_unix_connection, socket))
        self._programs[namespace, name] = _Program(address, backend)

    def refuse(self, namespace: str, name: str) -> None:
        """No pod of the program is left: its connections end, and new ones are refused."""
        program = self._programs[namespace, name]
        program.is_up = False
        program.backend.cut()

    def accept(self, namespace: str, name: str) -> None:
        self._programs[namespace, name].is_up = True

    def client_config(self, namespace: str, name: str, path: str) -> Object:
        """The member `clientConfig` of a webhook."""
        authority = base64.b64encode((self._cluster.pki / "ca.crt").read_bytes()).decode()
        service = {"namespace": namespace, "name": name, "path": path}
        return {"service": service, "caBundle": authority}

    # ---- inside ----------------------------------------------------------------------------------

    def _handler(self, path: str, review: Review) -> Any:
        async def handle(request: web.Request) -> web.Response:
            self.reviews[path] += 1
            return web.json_response(review(await request.json()))

        return handle

    async def _route(self, address: str) -> Backend | None:
        for program in self._programs.values():
            if program.address == address and program.is_up:
                return program.backend
        return None


def allowed(review: Object) -> Object:
    """The answer of a webhook that agrees."""
    return answer(review, "")


def answer(review: Object, message: str, code: int = 403) -> Object:
    """The answer of a webhook. `message`: why it refuses; "": it agrees."""
    response: dict[str, Any] = {"uid": review["request"]["uid"], "allowed": not message}
    if message:
        response["status"] = {"code": code, "message": message}
    kind = {name: review[name] for name in ("apiVersion", "kind")}
    return {**kind, "response": response}


def webhook(
    name: str,
    client_config: Object,
    resource: str,
    group: str = "",
    version: str = "v1",
    operations: tuple[str, ...] = ("CREATE", "UPDATE"),
    **more: Any,
) -> Object:
    """A webhook that must agree."""
    return {
        "name": name,
        "clientConfig": client_config,
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "rules": [
            {
                "apiGroups": [group],
                "apiVersions": [version],
                "resources": [resource],
                "operations": [*operations],
            }
        ],
        **more,
    }


def registration(kind: str, name: str, *webhooks: Object, **labels: str) -> Object:
    """`kind`: "Mutating" or "Validating"."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name, "labels": labels},
        "webhooks": [*webhooks],
    }


def path_of_registration(manifest: Object) -> str:
    return f"{collection_of(manifest)}/{manifest['metadata']['name']}"
