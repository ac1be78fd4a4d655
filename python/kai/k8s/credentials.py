"""Credentials in use: reads token files again, and runs plug-ins again.

credentials = Credentials(access)
await credentials.refresh()             # when `due`, and after a 401
credentials.headers, credentials.tls    # for the next request
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kai.api.documents import decode
from kai.api.naming import naming
from kai.api.times import to_ns
from kai.api.visible import visible
from kai.errors import InvalidInputError, UnreachableError
from kai.k8s.certificates import use_certificate
from kai.k8s.clock import Clock
from kai.k8s.kubeconfig import Access, Material, Plugin, is_header, read_file

EXEC_EXTENSION = "client.authentication.k8s.io/exec"
PLUGIN_TIMEOUT_S, PERSON_TIMEOUT_S = 30.0, 120.0
REREAD_S = 60.0  # how long the token of a file is used before it is read again


class Credentials:
    """The headers and certificates of each request.

    `generation` grows with each change: if many requests get a 401, only the first one fetches new
    credentials. Not thread-safe: it lives on the event loop.
    """

    def __init__(self, access: Access, clock: Clock | None = None) -> None:
        self._access, self._clock = access, clock or Clock()
        self._lock = asyncio.Lock()
        self._until, self._token = 0.0, ""
        self.headers: list[tuple[str, str]] = []
        self.tls: ssl.SSLContext | None = None
        self.generation = 0

    @property
    def due(self) -> bool:
        return self._clock.monotonic() >= self._until

    async def refresh(self, seen: int | None = None) -> None:
        """Reads files and runs the plug-in again, unless that has happened since generation `seen`.

        Raises InvalidInputError for unusable files, and UnreachableError if the plug-in fails.
        """
        async with self._lock:
            if self.generation and (not self.due if seen is None else seen != self.generation):
                return
            user = self._access.user
            bearer, until = user.token, float("inf")
            certificate = self._read("client-certificate", user.certificate)
            key = self._read("client-key", user.key)
            if user.token_file is not None:
                self._token = self._token_of(user.token_file) or bearer
                bearer, until = self._token, self._clock.monotonic() + REREAD_S
            elif user.plugin is not None:
                status = await asyncio.to_thread(run_plugin, user.plugin, self._access)
                bearer = status.get("token") or bearer
                certificate = (status.get("clientCertificateData") or "").encode() or certificate
                key = (status.get("clientKeyData") or "").encode() or key
                until = self._expiry(status)
            self._until = until
            self.headers = _headers(self._access, bearer)
            if self._access.server.startswith("https:"):
                authority = self._read("certificate-authority", self._access.authority)
                self.tls = _tls(self._access, authority, certificate, key)
            self.generation += 1

    def _read(self, field: str, material: Material) -> bytes:
        with naming(f"{self._access.source}: {field}"):
            return material.read()

    def _token_of(self, file: Path) -> str:
        """The token of a file; the previous token while the file is being replaced."""
        try:
            return decode(read_file(file)).strip()
        except InvalidInputError as error:
            if self._token:
                return self._token
            raise InvalidInputError(f"{self._access.source}: tokenFile: {error}") from None

    def _expiry(self, status: Mapping[str, Any]) -> float:
        """When to run the plug-in again, on the monotonic clock."""
        text = status.get("expirationTimestamp")
        if not text:
            return float("inf")
        left = to_ns(text) / 1e9 - self._clock.wall()
        return self._clock.monotonic() + max(1.0, left)


def _headers(access: Access, bearer: str) -> list[tuple[str, str]]:
    user, headers = access.user, []
    if bearer:
        headers.append(("Authorization", f"Bearer {bearer}"))
    elif user.username:
        basic = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        headers.append(("Authorization", f"Basic {basic}"))
    for name, values in user.impersonate.items():
        headers += [(name, value) for value in values]
    return headers


def _tls(access: Access, authority: bytes, certificate: bytes, key: bytes) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=authority.decode("ascii") or None)
    except (ssl.SSLError, ValueError) as error:
        raise InvalidInputError(
            f"{access.source}: certificate-authority: is not a certificate ({error})"
        ) from None
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        try:
            use_certificate(context, certificate, key)
        except (ssl.SSLError, OSError) as error:
            raise InvalidInputError(
                f"{access.source}: client-certificate and client-key: "
                f"are not a certificate and its key ({error})"
            ) from None
    return context


def _cluster_info(access: Access) -> dict[str, Any]:
    """The cluster's data that a plug-in receives."""
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
    cluster = {name: access.cluster[name] for name in names if access.cluster.get(name)}
    if access.authority:
        pem = base64.b64encode(access.authority.read()).decode()
        cluster["certificate-authority-data"] = pem
    extensions = access.cluster.get("extensions")
    for each in extensions if isinstance(extensions, list) else ():
        if isinstance(each, Mapping) and each.get("name") == EXEC_EXTENSION:
            cluster["config"] = each.get("extension")
    return cluster


def run_plugin(plugin: Plugin, access: Access, timeout: float | None = None) -> Mapping[str, Any]:
    """The credentials that a plug-in prints. It blocks. A plug-in that may prompt a person on the
    terminal has two minutes, others 30 s.

    Raises UnreachableError if it cannot be run, fails, or prints something else.
    """
    interactive = plugin.interactive != "Never" and bool(sys.stdin and sys.stdin.isatty())
    timeout = timeout or (PERSON_TIMEOUT_S if interactive else PLUGIN_TIMEOUT_S)
    about = f"the log-in plug-in {visible(plugin.command)}"
    if plugin.interactive == "Always" and not interactive:
        raise UnreachableError(f"{about} must run in a terminal")
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.wants_cluster:
        spec["cluster"] = _cluster_info(access)
    request = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    try:
        done = subprocess.run(
            [plugin.command, *plugin.args],
            env={**os.environ, **plugin.env, "KUBERNETES_EXEC_INFO": json.dumps(request)},
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if interactive else subprocess.PIPE,
            timeout=timeout,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        hint = f" ({' '.join(plugin.install_hint.split())})" if plugin.install_hint else ""
        why = (
            error.strerror if isinstance(error, OSError) else f"did not end within {timeout:.0f} s"
        )
        raise UnreachableError(f"{about}: {why}{hint}") from None
    if done.returncode:
        lines = (done.stderr or b"").decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else "no message"
        raise UnreachableError(f"{about}: exit status {done.returncode}: {why}")
    try:
        printed = json.loads(done.stdout)
        status = printed["status"]
        if printed["apiVersion"] != plugin.api_version or not isinstance(status, dict):
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise UnreachableError(
            f"{about} printed no ExecCredential of {plugin.api_version} with a status"
        ) from None
    if problem := _problem(status):
        raise UnreachableError(f"{about} printed {problem}")
    if not status.get("token") and not status.get("clientCertificateData"):
        raise UnreachableError(f"{about} printed neither a token nor a certificate")
    return status


def _problem(status: Mapping[str, Any]) -> str:
    """What is wrong with the values that a plug-in printed; "": nothing."""
    for name in ("token", "clientCertificateData", "clientKeyData"):
        value = status.get(name)
        if value is not None and not isinstance(value, str):
            return f"a {name} that is not a string"
    if not is_header(status.get("token") or ""):
        return "a token with a character that a header must not have"
    if status.get("expirationTimestamp"):
        try:
            to_ns(status["expirationTimestamp"])
        except InvalidInputError as error:
            return f"an expirationTimestamp: {error}"
    return ""
