"""Watches one kind of objects: list, watch, resume, list again.

    watch = Watch(client, "Pod", sink, field_selector="spec.schedulerName=kai-scheduler")
    task = asyncio.create_task(watch.run())
    watch.problem, watch.relists           # the current problem; how often it started again

If the server has watch-lists, one stream brings the existing objects and then the changes.
Otherwise a list comes first, in pages. The end of a stream is normal (a recently started server
closes the watches of slow clients); the watch continues from the last version. Status 410 means
that the server has forgotten this version, and the objects are listed again.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import aiohttp

from kai.api.resources import Resource
from kai.errors import KaiError, NotFoundError, UnreachableError
from kai.k8s.answers import Answer, explain, reason_and_message, retry_after
from kai.k8s.client import FIRST_WAIT_S, MOST_AWAY_S, MOST_RETRY_AFTER_S, WATCH_SILENCE_S, Client
from kai.k8s.clock import Backoff
from kai.k8s.sinks import Sink

PAGE = 500
MOST_WAIT_S = 30.0
SHORTEST_S, LONGEST_S = 300.0, 600.0  # of one watch, as in client-go
FULL_WAIT_S = 0.02
CALM_S = 10.0  # a list older than this shows that the server works
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


TOO_LARGE = "Too large resource version"
"""The server does not know the version yet, or not any more (kai.k8s.versions)."""
_FIRST_KIND = re.compile(rb'"kind":"(\w+)"')


class _Expired(Exception):
    """The server has forgotten the version or the continue token: list again."""


class _Broken(Exception):
    """A problem that may end by itself: try again later."""

    def __init__(self, why: str, after: float | None = None, *, answered: bool = True) -> None:
        super().__init__(why)
        self.after, self.answered = after, answered


class Watch:
    """One watch. `run` ends only by cancellation.

    `synced`: a list was complete once. `absent`: the server does not serve the kind. `problem`: the
    current problem, "" if there is none. Counters: `relists`, `reconnects`, `bytes`, `events`,
    `pauses` (the sink was full). `silent_for()`: seconds since the server last sent something.
    `on_sync` is called after each complete list.

    `optional`: a kind that the server does not serve counts as a kind without objects, and is
    looked up again later. `metadata_only`: the objects come without spec and status.
    """

    def __init__(
        self,
        client: Client,
        kind: str,
        sink: Sink,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        optional: bool = False,
        metadata_only: bool = False,
        silence: float = WATCH_SILENCE_S,
        on_sync: Callable[[], None] | None = None,
    ) -> None:
        self.kind, self.synced, self.absent, self.problem = kind, False, False, ""
        self.relists = self.reconnects = self.bytes = self.events = self.pauses = 0
        self._client, self._sink, self._namespace = client, sink, namespace
        self._optional, self._metadata_only = optional, metadata_only
        self._silence, self._on_sync = silence, on_sync
        selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
        self._selectors = {name: value for name, value in selectors.items() if value}
        self._backoff = Backoff(client.clock, FIRST_WAIT_S, MOST_WAIT_S)
        self._resource: Resource | None = None
        self._version = ""
        self._mark = client.versions.mark(kind)
        self._moved = False  # this stream has brought something
        self._fruitless = 0  # consecutive answers without content
        self._listed_at = self._opened_at = float("-inf")
        self._received_at = client.clock.monotonic()

    async def run(self) -> None:
        """Feeds the sink until it is cancelled. Problems with the server are not raised."""
        while True:
            try:
                await self._once()
            except _Expired as error:
                self._version = ""
                # List again at once, unless the list of this version is younger than that.
                calm = self._client.clock.monotonic() - self._listed_at > CALM_S
                await self._pause(str(error), None, now=calm and not self._fruitless)
            except _Broken as error:
                await self._pause(str(error), error.after, answered=error.answered)
            except NotFoundError as error:
                await self._missing(str(error))
            except KaiError as error:
                await self._pause(str(error), None)

    def silent_for(self) -> float:
        """Seconds since the server sent a byte of this kind, or since this watch was made."""
        return self._client.clock.monotonic() - self._received_at

    async def list_once(self) -> None:
        """Feeds the sink with the current objects, in pages.

        Raises UnreachableError, RefusedError or NotFoundError if they cannot be listed.
        """
        for left in reversed(range(3)):
            try:
                await self._list()
                return
            except (_Expired, _Broken) as error:
                if not left:
                    raise UnreachableError(str(error)) from None

    async def _pause(
        self, why: str, after: float | None, *, now: bool = False, answered: bool = True
    ) -> None:
        self.problem = why
        self._fruitless += answered
        if self._fruitless > 3:
            self._version = ""  # a new list may help, whatever the problem is
        wait = self._backoff.next() if answered else min(self._backoff.next(), MOST_AWAY_S)
        if after is not None:
            wait = min(after, MOST_RETRY_AFTER_S) * (1 + self._client.clock.random() / 4)
        if not now:
            await self._client.clock.sleep(wait)

    async def _missing(self, why: str) -> None:
        """The server has no such path: it may serve the kind at another version."""
        try:
            found = await self._client.discovery.served(self.kind)
        except KaiError as error:
            await self._pause(str(error), None)
            return
        if found is not None and found != self._resource:
            self._resource = found
            return
        if self._optional and not self.absent:
            self._sink.begin_list(self.kind)
            self._complete()
        self.absent = True
        await self._pause("" if self._optional else why, MOST_RETRY_AFTER_S)

    def _sees(self, version: str, *, is_list: bool = False) -> None:
        """A list, or the stream after it, has come to this version."""
        versions = self._client.versions
        is_of_now = self._mark.generation == versions.generation
        versions.answered(self._mark, version)
        if is_of_now and (is_list or self._mark.generation == versions.generation):
            self._version = version
            self._mark = versions.mark_of_stream(self.kind, version)

    def _gets_on(self) -> None:
        self.problem, self._fruitless, self._moved = "", 0, True
        if self._client.clock.monotonic() - self._listed_at > CALM_S:
            self._backoff.reset()

    async def _once(self) -> None:
        """Lists if there is no version to resume from, and reads one stream."""
        versions = self._client.versions
        if self._mark.generation != versions.generation:
            self._version = ""  # the server has forgotten it
        if self._version:
            self._mark = versions.mark_of_stream(self.kind, self._version)
            self.reconnects += 1
            await self._stream({"resourceVersion": self._version}, False)
            return
        self._mark = versions.mark(self.kind)
        self.relists += 1
        if self._client.has_watch_lists:
            initial = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
            await self._stream(initial, True)
        else:
            await self._list()

    async def _path(self) -> str:
        if self._resource is None:
            self._resource = await self._client.resource(self.kind)
        return self._resource.path(self._namespace)

    def _complete(self) -> None:
        self._sink.end_list(self.kind)
        self.synced, self.absent = True, False
        self._listed_at = self._client.clock.monotonic()
        if self._on_sync is not None:
            self._on_sync()

    async def _room(self) -> None:
        if self._sink.is_full:
            self.pauses += 1
            while self._sink.is_full:
                await self._client.clock.sleep(FULL_WAIT_S)

    # ---- pages -----------------------------------------------------------------------------------

    async def _list(self) -> None:
        parameters = {**self._selectors, "limit": str(PAGE)}
        accept = METADATA_LIST if self._metadata_only else "application/json"
        path = await self._path()
        self._sink.begin_list(self.kind)
        while True:
            await self._room()
            # The sink checks the page.
            answer = await self._client.read(
                path, parameters, kinds=(), accept=accept, lane="watch"
            )
            self._received_at = self._client.clock.monotonic()
            if answer.status == 404:
                raise NotFoundError(f"the server does not serve {path}")
            if answer.status == 410:
                raise _Expired("the list took so long that its version has expired")
            self.bytes += len(answer.body)
            try:
                version, following, items = self._sink.list_page(self.kind, answer.body)
            except ValueError as error:
                raise _Broken(f"{path}: {error}") from None
            self.events += items
            if not following:
                break
            parameters["continue"] = following
        self._sees(version, is_list=True)
        self._complete()
        self._fruitless = 0  # the next watch may still have the problem

    # ---- streams ---------------------------------------------------------------------------------

    async def _stream(self, start: dict[str, str], listing: bool) -> None:
        client = self._client
        seconds = SHORTEST_S + (LONGEST_S - SHORTEST_S) * client.clock.random()
        parameters = {
            **self._selectors,
            **start,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(int(seconds)),
        }
        path = await self._path()
        accept = METADATA_ONLY if self._metadata_only else "application/json"
        options = await client.stream_options(accept)
        self._moved, self._opened_at = False, client.clock.monotonic()
        try:
            async with client.stream(path, parameters, options, self._silence) as response:
                self._received_at = client.clock.monotonic()
                if response.status != 200:
                    await self._refused(response, path, listing)
                    return
                self.problem = ""
                client.streams.add(response)
                try:
                    await self._read(response.content, listing)
                finally:
                    client.streams.discard(response)
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            if not self._moved:  # otherwise it resumes at once
                why = explain(error, proxy=client.access.proxy)
                raise _Broken(f"{path}: {why}", answered=False) from None

    async def _read(self, content: Any, listing: bool) -> None:
        """Passes a stream to the sink, to its end."""
        is_first = True
        try:
            async for data in content.iter_any():
                self.bytes += len(data)
                self.events += data.count(b"\n")
                self._received_at = self._client.clock.monotonic()
                if is_first:
                    self._check_start(data)
                    if listing:
                        self._sink.begin_list(self.kind)
                    is_first = False
                try:
                    version, synced, error = self._sink.watch_bytes(self.kind, data)
                except ValueError as wrong:
                    raise _Broken(f"{self.kind}: {wrong}") from None
                if error:
                    self._failed(error)
                is_list = listing and synced
                if is_list:
                    listing = False
                    self._complete()
                if version and not listing:
                    self._sees(version, is_list=is_list)
                    self._gets_on()
                await self._room()
        finally:
            self._sink.watch_ended(self.kind)
        if listing:
            raise _Broken(f"{self.kind}: the stream ended before all objects had come")
        if not self._moved and self._client.clock.monotonic() - self._opened_at < CALM_S:
            raise _Broken(f"{self.kind}: the stream ended at once")

    def _check_start(self, data: bytes) -> None:
        """Raises _Broken for the start of another answer than a stream of events about this
        kind."""
        named = _FIRST_KIND.search(data[:500])
        kinds = (self.kind, "PartialObjectMetadata", "Status")
        if not data.lstrip().startswith(b"{") or (named and named[1].decode() not in kinds):
            shown = reason_and_message(data[:500])[1][:60]
            raise _Broken(f"{self.kind}: the answer is no stream of events: {shown}")

    def _failed(self, error: bytes) -> None:
        """Handles an ERROR event. Raises _Expired or _Broken."""
        try:
            status = json.loads(error)
            code, message = status.get("code"), str(status.get("message") or "")
        except (ValueError, AttributeError):
            code, message = 0, error[:200].decode(errors="replace")
        if code == 410 or TOO_LARGE in message:
            raise _Expired(f"{self.kind}: {message}")
        raise _Broken(f"{self.kind}: {message}")

    async def _refused(self, response: Any, path: str, listing: bool) -> None:
        """Handles an answer that is not a stream. Raises, unless the next step follows at once."""
        body = await response.read()
        status = response.status
        message = reason_and_message(body)[1]
        if status == 410 or TOO_LARGE in message:
            raise _Expired(f"{path}: {message}")
        if listing and status in (400, 422):
            self._client.has_watch_lists = False
            return
        if status == 401 and await self._client.renew() and not self._fruitless:
            self._fruitless = 1
            return
        if status == 404:
            raise NotFoundError(f"{path}: {message}")
        raise _Broken(
            f"{path}: {message or status}", retry_after(Answer(status, body, response.headers))
        )


async def watch(client: Client, kind: str, sink: Sink, **options: Any) -> None:
    """Feeds the sink with the objects of a kind until cancelled; the options are those of
    `Watch`."""
    await Watch(client, kind, sink, **options).run()
