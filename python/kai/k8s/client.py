"""The client of one API server: reads objects, sends writes, and reports their outcomes.

    async with await Client.connect(context="staging") as client:
        pod = await client.get("Pod", "team", "train-0")                # bytes, or None
        outcome = await client.send(Write(Lane.BINDING, "create", "Pod", ...))

Watches, writes and leases have separate connections, so none of them waits for another.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import re
import sys
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

import kai
from kai.api import keys
from kai.api.resources import RESOURCES, VERSIONED, Resource
from kai.api.writes import NOT_LEADING, Outcome, Read, Result, Write
from kai.errors import InvalidInputError, NotFoundError, RefusedError, UnreachableError
from kai.k8s.answers import (
    Answer,
    Unanswered,
    explain,
    kinds_of,
    looks_whole,
    outcome_of,
    reason_and_message,
    retry_after,
    status_of,
    whole,
)
from kai.k8s.clock import Backoff, Clock
from kai.k8s.connections import Connector, ended
from kai.k8s.credentials import Credentials
from kai.k8s.discovery import Discovery
from kai.k8s.kubeconfig import Access, find_access
from kai.k8s.server_time import Moment, ServerTime, moment
from kai.k8s.versions import Mark, Versions

TRIES = 5
TIMEOUT_S = 30.0  # of one request that is not a watch
CONNECT_TIMEOUT_S = 10.0  # of the first one
FIRST_WAIT_S, MOST_WAIT_S = 0.1, 5.0
MOST_AWAY_S = 1.0  # without a connection, a try costs an unreachable server nothing
MOST_RETRY_AFTER_S = 30.0
WATCH_SILENCE_S = 120.0  # servers send a bookmark every minute
SAME_DATE_S = 0.5  # a Date that was just seen adds nothing
READS_AT_ONCE = 16
"""Reads of single objects at the same time, with all their tries. Filling a cluster needs thousands
of reads; writes do not wait for them, and an unreachable server does not get thousands of tries."""
USED = frozenset(("ResourceClaim", "PersistentVolume", "PersistentVolumeClaim"))
"""Kinds for which the answer to a write is used like a watch event."""
LABELS_ARE_COPIED_FROM = 35
"""The minor version of Kubernetes from which bindings copy labels to pods."""

_PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
DISCOVERY = ("APIGroupList", "APIGroup", "APIResourceList")
_METHODS = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}
_NO_PARAMETERS: Mapping[str, str] = {}


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def dumps(value: Any) -> bytes:
    return _ENCODER.encode(value).encode()


class Client:
    """Requests to one API server.

    Lives on one event loop, and is not thread-safe. Counters: `requests`, `repeated` (requests sent
    again), `throttled` (answers 429), `unanswered`.
    """

    def __init__(self, access: Access, *, clock: Clock | None = None, agent: str = "") -> None:
        self.access, self.clock = access, clock or Clock()
        self.version = ""
        self.requests = self.repeated = self.throttled = self.unanswered = 0
        self.discovery = Discovery(self._fetch, self.clock)
        self.has_watch_lists = True  # until the server answers otherwise
        self.streams: set[aiohttp.ClientResponse] = set()  # open ones
        self.versions = Versions()
        self.versions.on_back.append(lambda *_: self._end_watches())
        self._credentials = Credentials(access, self.clock)
        self._base = access.server
        self._origin, self._prefix = URL(access.server), urllib.parse.urlsplit(access.server).path
        self._agent = agent or user_agent()
        self._headers: dict[tuple[str, str], CIMultiDict[str]] = {}
        self._generation = -1
        self._sessions: dict[str, aiohttp.ClientSession] = {}
        self._connectors: list[Connector] = []
        self._reading = asyncio.Semaphore(READS_AT_ONCE)
        self._closed = False
        self.time = ServerTime()
        self._date = ("", 0.0)  # the last Date header that was read, and when

    @classmethod
    async def connect(
        cls,
        kubeconfig: str | os.PathLike[str] | None = None,
        context: str | None = None,
        *,
        clock: Clock | None = None,
        agent: str = "",
    ) -> Client:
        """A client of the server in a kubeconfig, or of the cluster that this pod runs in.

        Raises InvalidInputError for an unusable kubeconfig, UnreachableError if no answer comes,
        and RefusedError for invalid credentials.
        """
        client = cls(find_access(kubeconfig, context), clock=clock, agent=agent)
        try:
            await client._credentials.refresh()
            client.version = await client._read_version()
        except BaseException as error:
            await client.close()
            if isinstance(error, UnreachableError):  # adds the source of the address
                raise UnreachableError(f"{error} ({client.access.source})") from None
            raise
        return client

    async def _read_version(self) -> str:
        """ "v1.36.3"; "" for a user without the right to read it. Raises as `connect` does."""
        status, body = await self.request("GET", "/version", timeout=CONNECT_TIMEOUT_S)
        if status == 403 and status_of(body):
            return ""
        if status >= 300 and (status_of(body) or status == 401):
            raise self.refused(status, body)
        try:
            return str(json.loads(body)["gitVersion"])
        except (ValueError, KeyError, TypeError):
            answer = ", ".join(
                filter(None, (f"status {status}", reason_and_message(body)[1][:100]))
            )
            why = f"is not a Kubernetes API server: it answers /version with {answer}"
            raise UnreachableError(f"{self._base}: {why}") from None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections, and waits until they are closed.

        Later requests get no answer.
        """
        self._closed = True
        sessions, self._sessions = self._sessions, {}
        connectors, self._connectors = self._connectors, []
        for session in sessions.values():
            await session.close()
        await ended(connectors)

    # ---- reading ---------------------------------------------------------------------------------

    @property
    def copies_labels(self) -> bool:
        """Whether the API server copies labels of a Binding to its pod."""
        parts = self.version.split(".")
        minor = int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() else 0
        return minor >= LABELS_ARE_COPIED_FROM

    async def get(self, kind: str, namespace: str, name: str) -> bytes | None:
        """An object as JSON; None if it does not exist.

        Raises NotFoundError for a kind that the server does not serve, and the errors of `read`.
        """
        path = (await self.resource(kind)).path(namespace, name)
        answer = await self.read(path, kinds=(kind,))
        if answer.status == 404 and not status_of(answer.body):
            raise NotFoundError(f"{self._base} does not serve {path}")
        return answer.body if answer.status < 300 else None

    async def find(self, read: Read) -> Any:
        """The result of a controller's read, parsed: an object, None if it does not exist, or a
        list.

        Raises the errors of `get`.
        """
        if read.name:
            data = await self.get(read.kind, read.namespace, read.name)
            return None if data is None else json.loads(data)
        path = (await self.resource(read.kind)).path(read.namespace)
        kinds = (f"{read.kind}List",)
        answer = await self.read(path, {"labelSelector": read.selector}, kinds=kinds)
        return json.loads(answer.body).get("items") or [] if answer.status < 300 else []

    async def get_by_api(
        self, api_version: str, kind: str, namespace: str, name: str
    ) -> bytes | None:
        """An object of any kind, by its apiVersion; None if it or its kind does not exist.

        Raises the errors of `read`.
        """
        row = RESOURCES.get(kind)
        if row is None or row.api_version != api_version:
            row = await self.discovery.find(kind, api_version)
        if row is None:
            return None
        answer = await self.read(row.path(namespace, name), kinds=(kind,))
        return answer.body if answer.status < 300 else None

    async def resource(self, kind: str) -> Resource:
        """The resource of a kind: from the table, or by discovery for kinds that differ between
        servers.

        Raises NotFoundError for a kind that the server does not serve, and the errors of `read`.
        """
        found = None if kind in VERSIONED else RESOURCES.get(kind)
        found = found or await self.discovery.served(kind)
        if found is None:
            raise NotFoundError(f"{self._base} serves no kind {kind!r}")
        return found

    async def read(
        self,
        path: str,
        parameters: Mapping[str, str] = _NO_PARAMETERS,
        *,
        kinds: Sequence[str],
        accept: str = "application/json",
        lane: str = "read",
    ) -> Answer:
        """A GET, repeated while the server is busy; the status is 2xx, 404 or 410.

        `kinds`: the kinds of object that the server may answer with; another body counts as no
        answer. Empty: the caller checks the body. Raises UnreachableError after several tries, and
        RefusedError for other answers.
        """
        options: dict[str, Any] = {"content": accept, "lane": lane, "kinds": kinds}
        backoff = Backoff(self.clock, FIRST_WAIT_S, MOST_WAIT_S)
        async with self._reading if lane == "read" else contextlib.nullcontext():
            for left in reversed(range(TRIES)):
                try:
                    answer = await self._exchange("GET", path, parameters=parameters, **options)
                except Unanswered as error:
                    if not left:
                        raise UnreachableError(f"{self._base}: {error}") from None
                    wait = backoff.next()
                else:
                    if answer.status < 300 or answer.status in (404, 410):
                        return answer
                    if not left or (answer.status < 500 and answer.status != 429):
                        raise self.refused(*answer)
                    wait = self._wait(answer, backoff)
                self.repeated += 1
                await self.clock.sleep(wait)
        raise AssertionError

    async def _fetch(self, path: str) -> tuple[int, bytes]:
        answer = await self.read(path, kinds=DISCOVERY)
        return answer.status, answer.body

    # ---- writing ---------------------------------------------------------------------------------

    async def send(
        self,
        write: Write,
        *,
        timeout: float = TIMEOUT_S,
        guard: Callable[[], bool] | None = None,
        busy: Callable[[float], None] | None = None,
    ) -> Outcome:
        """Sends a write, repeated while the server is busy, for at most `timeout` seconds in total.

        `guard` is called just before each try; the write is not sent if it returns False. `busy` is
        called with the seconds to wait if the server is overloaded.

        A write that must not be applied twice is LOST if no answer comes: it may have been applied,
        and a GET finds out. It is also LOST if an earlier try may have been applied and the last
        try is rejected because the object exists. Raises nothing.
        """
        try:
            resource = await self.resource(write.kind)
        except (NotFoundError, RefusedError) as error:
            return Outcome(Result.REFUSED, 404, "NotFound", str(error))
        except (UnreachableError, InvalidInputError) as error:
            return Outcome(Result.FAILED, 0, "Unreachable", str(error))
        path = _path(resource, write)
        body = dumps(write.body) if write.body is not None else None
        content = _PATCHES[write.patch_type] if write.verb == "patch" else "application/json"
        once, in_doubt = must_not_repeat(write), False
        ends = self.clock.monotonic() + timeout
        backoff = Backoff(self.clock, FIRST_WAIT_S, MOST_WAIT_S)
        outcome = Outcome(Result.FAILED, 0, "Timeout", "there was no time to send it")
        tries, mark = 0, self.versions.mark(write.kind)
        while (now := self.clock.monotonic()) < ends and not self._closed:
            if guard is not None and not guard():
                outcome = Outcome(
                    Result.FAILED, 0, NOT_LEADING, "this process no longer holds the lease"
                )
                break
            try:
                answer = await self._exchange(
                    _METHODS[write.verb],
                    path,
                    body=body,
                    content=content,
                    timeout=ends - now,
                    kinds=kinds_of(write),
                    is_used=write.kind in USED,
                )
            except Unanswered as error:
                outcome = Outcome(Result.FAILED, 0, "Unanswered", str(error))
                tries += error.sent  # an unreachable server may recover: only time limits it
                in_doubt = in_doubt or (once and error.sent)
                wait = backoff.next() if error.sent else min(backoff.next(), MOST_AWAY_S)
            else:
                outcome = outcome_of(answer, write)
                self._note_version(mark, write, outcome)
                if not _may_change_soon(outcome):
                    break
                tries += 1
                in_doubt = in_doubt or (once and answer.status in (500, 502, 504))
                wait = self._wait(answer, backoff)
                if busy is not None and answer.status == 429:
                    busy(wait)
            if tries == TRIES or (in_doubt and not (outcome.status and write.name)):
                break
            self.repeated += 1
            await self.clock.sleep(min(wait, max(0.0, ends - self.clock.monotonic())))
        if in_doubt and outcome.result not in (Result.DONE, Result.GONE):
            return replace(outcome, result=Result.LOST)
        return outcome

    def _wait(self, answer: Answer, backoff: Backoff) -> float:
        """Seconds to wait after an answer 429 or 5xx: the server's value, within bounds."""
        given, wait = retry_after(answer), backoff.next()
        if given is None:
            return wait
        return min(given, MOST_RETRY_AFTER_S) * (1 + self.clock.random() / 4) + wait / 10

    # ---- the raw thing ---------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] = _NO_PARAMETERS,
        body: bytes | None = None,
        content: str = "application/json",
        timeout: float = TIMEOUT_S,
        lane: str = "write",
        kinds: Sequence[str] = (),
        headers: Mapping[str, str] = _NO_PARAMETERS,
    ) -> tuple[int, bytes]:
        """Sends one request and returns status and body. After a 401 it renews the credentials and
        sends it again.

        `kinds`: as in `read`. `headers`: further ones. Raises UnreachableError if no answer comes.
        """
        try:
            answer = await self._exchange(
                method,
                path,
                parameters=parameters,
                body=body,
                content=content,
                timeout=timeout,
                lane=lane,
                kinds=kinds,
                headers=headers,
            )
        except Unanswered as error:
            raise UnreachableError(f"{self._base}: {error}") from None
        return answer.status, answer.body

    async def _exchange(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] = _NO_PARAMETERS,
        body: bytes | None = None,
        content: str = "application/json",
        timeout: float = TIMEOUT_S,
        lane: str = "write",
        kinds: Sequence[str] = (),
        is_used: bool = True,
        headers: Mapping[str, str] = _NO_PARAMETERS,
    ) -> Answer:
        """Sends one request. Raises Unanswered, also for an answer 2xx with another body than an
        object of `kinds` (empty: any). `is_used`: its body will be read, so all of it is
        checked."""
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, 10.0))
        try:
            session = self._session(lane)
        except UnreachableError:
            raise Unanswered("the client is closed", sent=False) from None
        url = self._url(path, parameters)
        again = True
        while True:
            options = await self._options(content, body is not None)
            if headers:
                options["headers"] = CIMultiDict(options["headers"])
                options["headers"].update(headers)
            generation, used = self._generation, self._credentials.headers
            self.requests += 1
            sent = self.clock.monotonic()
            try:
                async with session.request(
                    method, url, data=body, timeout=limits, **options
                ) as response:
                    answer = Answer(response.status, await response.read(), response.headers)
            except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
                self.unanswered += 1
                raise explain(error, proxy=self.access.proxy) from None
            if answer.status == 429:
                self.throttled += 1
            self._note_date(answer, sent)
            if kinds and answer.status < 300:
                self._check(answer.body, kinds, is_used=is_used)
            if answer.status == 401 and again and await self._renewed(generation, used):
                again = False
                continue
            return answer

    async def authorization(self) -> str:
        """The header Authorization of its requests; "" if it uses a certificate, or no credentials.

        Raises UnreachableError if a plug-in does not give any.
        """
        try:
            options = await self._options("application/json", False)
        except Unanswered as error:
            raise UnreachableError(str(error)) from None
        value: str = options["headers"].get("Authorization", "")
        return value

    def stream(
        self,
        path: str,
        parameters: Mapping[str, str],
        options: Mapping[str, Any],
        silence: float = WATCH_SILENCE_S,
    ) -> Any:
        """A GET whose body is read as it arrives: `async with client.stream(...) as response`.

        `options` are those of `stream_options`. It has no total time limit, but `silence` seconds
        without a byte raise an error of aiohttp. Raises UnreachableError if the client is closed.
        """
        self.requests += 1
        limits = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=silence)
        return self._session("watch").get(self._url(path, parameters), timeout=limits, **options)

    async def stream_options(self, accept: str = "application/json") -> dict[str, Any]:
        """Options of each `stream` request: the current credentials.

        Raises UnreachableError and InvalidInputError if there are none.
        """
        try:
            return await self._options(accept, False)
        except Unanswered as error:
            raise UnreachableError(str(error)) from None

    async def renew(self) -> bool:
        """Reads credentials again, after a 401; False if there are no others.

        Raises UnreachableError if reading them fails.
        """
        try:
            return await self._renewed(self._generation, self._credentials.headers)
        except Unanswered as error:
            raise UnreachableError(str(error)) from None

    def refused(self, status: int, body: bytes, *_: object) -> Exception:
        """The exception for an answer without success."""
        reason, message = reason_and_message(body)
        text = message or reason or f"HTTP status {status}"
        if status >= 500 or status == 429:
            return UnreachableError(f"{self._base}: {text}")
        if status == 401:
            user = self.access.user.name or "no user"
            text = f"refuses the credentials of {user} ({self.access.source}): {text}"
        return RefusedError(f"{self._base}: {text}", status)

    def server_time(self) -> float:
        """Seconds since 1970 by the cluster's time (kai.k8s.server_time), to about a second; by
        this machine's clock before the first answer."""
        now = self.time.at(self.clock.monotonic())
        return self.clock.wall() if now is None else now

    def moment(self) -> Moment:
        """The cluster's time, and when durations count."""
        return moment(self.time, self.clock.monotonic(), self.clock.wall())

    async def ask_time(self) -> None:
        """Reads the server's time over a new connection: of several servers, any can answer."""
        with contextlib.suppress(Unanswered):
            await self._exchange("GET", "/version", timeout=CONNECT_TIMEOUT_S, lane="time")

    # ---- inside ----------------------------------------------------------------------------------

    def _note_date(self, answer: Answer, sent: float) -> None:
        now, text = self.clock.monotonic(), answer.headers.get("Date") or ""
        last, at = self._date
        if not text or (text == last and 0 <= now - at < SAME_DATE_S):
            return
        try:
            date = parsedate_to_datetime(text).timestamp()
        except (TypeError, ValueError, OverflowError):
            return
        self._date = (text, now)
        self.time.observe(date, sent=sent, received=now, wall=self.clock.wall())

    def _end_watches(self) -> None:
        """Each watch lists its kind again."""
        for response in list(self.streams):
            response.close()

    def _note_version(self, mark: Mark, write: Write, outcome: Outcome) -> None:
        """The version of a new object is later than all that were known before."""
        if outcome.result is Result.DONE and write.verb == "create":
            self.versions.answered(mark, version_in(outcome.body))

    def _check(self, body: bytes, kinds: Sequence[str], *, is_used: bool) -> None:
        """Raises Unanswered for a body that is no object of these kinds."""
        if not is_used and looks_whole(body, kinds[-1]):
            return
        try:
            whole(body, kinds)
        except ValueError as error:
            self.unanswered += 1
            raise Unanswered(str(error), sent=True) from None

    def _url(self, path: str, parameters: Mapping[str, str]) -> URL:
        if parameters:
            return URL(f"{self._base}{path}?{urllib.parse.urlencode(parameters)}", encoded=True)
        return self._origin.with_path(self._prefix + path, encoded=True)  # 2 us faster than joining

    async def _renewed(self, seen: int, used: list[tuple[str, str]]) -> bool:
        """Whether the credentials differ from those that a request has used."""
        user = self.access.user
        by_certificate = bool(user.plugin or user.certificate.file)
        if not by_certificate and user.token_file is None:
            return False
        try:
            await self._credentials.refresh(seen)
        except (UnreachableError, InvalidInputError) as error:
            raise Unanswered(str(error), sent=False) from None
        return by_certificate or self._credentials.headers != used

    async def _options(self, content: str, has_body: bool) -> dict[str, Any]:
        """Headers and certificates of a request."""
        credentials = self._credentials
        if credentials.due:
            try:
                await credentials.refresh()
            except (UnreachableError, InvalidInputError) as error:
                raise Unanswered(str(error), sent=False) from None
        if credentials.generation != self._generation:
            self._generation = credentials.generation
            self._headers.clear()
        key = (content, "Content-Type" if has_body else "Accept")
        headers = self._headers.get(key)
        if headers is None:
            headers = CIMultiDict({"User-Agent": self._agent, "Accept-Encoding": "identity"})
            headers["Accept"] = "application/json"
            headers[key[1]] = content
            for name, value in credentials.headers:
                headers.add(name, value)
            self._headers[key] = headers
        options: dict[str, Any] = {"headers": headers, "allow_redirects": False}
        if credentials.tls is not None:
            options["ssl"] = credentials.tls
            if self.access.server_name:
                options["server_hostname"] = self.access.server_name
        if self.access.proxy:
            options["proxy"] = self.access.proxy
        return options

    def _session(self, lane: str) -> aiohttp.ClientSession:
        """The connections of a lane. Raises UnreachableError after `close`."""
        if self._closed:
            raise UnreachableError(f"{self._base}: the client is closed")
        session = self._sessions.get(lane)
        if session is None:
            if lane == "time":
                connector = Connector(force_close=True)
            else:
                # Go servers close an idle connection after 90 s; ours close earlier.
                connector = Connector(
                    limit=64 if lane == "write" else 0, keepalive_timeout=45.0, ttl_dns_cache=60
                )
            self._connectors.append(connector)
            session = self._sessions[lane] = aiohttp.ClientSession(
                connector=connector,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=1 << 20 if lane == "watch" else 1 << 16,
            )
        return session


_VERSION = re.compile(rb'"resourceVersion":\s*"(\d+)"')


def version_in(body: bytes) -> str:
    """The version of an object or a list; "" if it has none, such as a Status."""
    found = _VERSION.search(body)
    return found[1].decode() if found else ""


def _may_change_soon(outcome: Outcome) -> bool:
    """Whether another try within seconds makes sense. Granting missing rights takes longer, and so
    does the change of an admission rule; a webhook may wait long before it refuses."""
    return outcome.result is Result.FAILED and outcome.status != 403 and outcome.refusal is None


def user_agent() -> str:
    return f"{keys.FIELD_MANAGER}/{kai.__version__} ({sys.platform}/{platform.machine()})"


def must_not_repeat(write: Write) -> bool:
    """Whether applying a write twice differs from applying it once.

    Deletions and patches to fixed values give the same result. Creations do not, and neither do
    patches that depend on the object's version or append to a list.
    """
    if write.verb == "create":
        return write.subresource != "eviction"
    if write.verb == "patch":
        if isinstance(write.body, list):
            return any(_depends(each) for each in write.body)
        metadata = (write.body or {}).get("metadata") or {}
        return isinstance(metadata, Mapping) and "resourceVersion" in metadata
    return False


def _depends(operation: Any) -> bool:
    """Whether an operation of a JSON patch has another effect the second time."""
    if not isinstance(operation, Mapping) or operation.get("op") not in ("add", "replace"):
        return True
    last = str(operation.get("path", "")).rpartition("/")[2]
    return last == "-" or last.isdigit()


def _path(resource: Resource, write: Write) -> str:
    if write.verb == "create" and not write.subresource:
        return resource.path(write.namespace)
    return resource.path(write.namespace, write.name, write.subresource)
