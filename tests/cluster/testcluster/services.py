"""Webhooks by `service:`, without root and without a network of services.

    with Egress() as egress, temporary_cluster(egress.options()) as cluster:
        async with Services(cluster, egress) as services:
            services.serve("kai-scheduler", "admission", {"/mutate--v1-pod": review})
            services.refuse("kai-scheduler", "admission")    # scaled to nothing

The API server sends its calls of services through an HTTP CONNECT proxy on a Unix socket
(`--egress-selector-config-file`). The proxy finds the Service by its address, and connects to the
program that serves it, or refuses the connection if none does.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import ssl
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from aiohttp import web

from .arguments import Options
from .client import Object, collection_of
from .cluster import Cluster
from .pki import make_server

Review = Callable[[Object], Object]
"""From an AdmissionReview with a request to one with a response."""


class Egress:
    """The socket and its configuration. A Unix socket's path must be short."""

    def __enter__(self) -> Egress:
        self.folder = Path(tempfile.mkdtemp(prefix="kai-egress-"))
        self.socket = self.folder / "socket"
        self._config = self.folder / "egress.json"
        connection = {
            "proxyProtocol": "HTTPConnect",
            "transport": {"uds": {"udsName": str(self.socket)}},
        }
        self._config.write_text(
            json.dumps(
                {
                    "apiVersion": "apiserver.k8s.io/v1beta1",
                    "kind": "EgressSelectorConfiguration",
                    "egressSelections": [{"name": "cluster", "connection": connection}],
                }
            )
        )
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def options(self, **more: Any) -> Options:
        return Options(server_arguments=(f"--egress-selector-config-file={self._config}",), **more)


class _Program:
    """A service and its program. `is_up`: it accepts connections."""

    def __init__(self, address: str, runner: web.AppRunner, socket: Path) -> None:
        self.address, self.runner, self.socket = address, runner, socket
        self.is_up = True
        self.open = set[asyncio.StreamWriter]()


class Services:
    """`reviews`: the number of reviews by path. `refused`: how many connections were refused."""

    def __init__(self, cluster: Cluster, egress: Egress) -> None:
        self.reviews = dict[str, int]()
        self.refused = 0
        self._cluster, self._egress = cluster, egress
        self._programs = dict[tuple[str, str], _Program]()
        self._server: asyncio.Server | None = None
        self._relays = set[asyncio.Task[None]]()

    async def __aenter__(self) -> Services:
        self._server = await asyncio.start_unix_server(self._accept, str(self._egress.socket))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._relays:
            task.cancel()
        await asyncio.gather(*self._relays, return_exceptions=True)
        for program in self._programs.values():
            await program.runner.cleanup()

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
        socket = self._egress.folder / f"{len(self._programs)}"
        await web.UnixSite(runner, str(socket), ssl_context=tls).start()
        address = f"{made['spec']['clusterIP']}:443"
        self._programs[namespace, name] = _Program(address, runner, socket)

    def refuse(self, namespace: str, name: str) -> None:
        """No pod of the program is left: its connections end, and new ones are refused."""
        program = self._programs[namespace, name]
        program.is_up = False
        for each in program.open:
            each.close()

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

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._relays.add(task)
        try:
            await self._connect(reader, writer)
        except (asyncio.CancelledError, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._relays.discard(task)
            writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        target = head.split(" ")[1]
        program = next((p for p in self._programs.values() if p.address == target), None)
        if program is None or not program.is_up:
            self.refused += 1
            writer.write(b"HTTP/1.1 503 connection refused\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        inner_reader, inner_writer = await asyncio.open_unix_connection(str(program.socket))
        program.open.add(writer)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))
        finally:
            program.open.discard(writer)
            inner_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


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
