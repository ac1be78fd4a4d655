"""Reads a cluster: lists and watches into a feed, and owners of pods one by one.

    reading = Reading(client, feed, options, changed.set)
    await reading.list_once()                       # the current objects; needs only the verb list
    task = asyncio.create_task(reading.watch("Pod").run())    # or: from now on

All programs that plan a cluster read it through this: `kai run`, `kai.connect`, `kai plan --live`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kai.api.resources import OURS, resource
from kai.controllers.grouper import Reference, Rules
from kai.controllers.planning.kinds import METADATA_ONLY, NECESSARY, OPTIONAL, WATCHED
from kai.errors import KaiError, NotFoundError, RefusedError
from kai.k8s.answers import Denial, denial
from kai.k8s.sinks import METADATA_LIST_KIND, DictSink, Sink
from kai.k8s.watching import METADATA_LIST, Watch

if TYPE_CHECKING:
    from kai.controllers.planning.options import PlanningOptions
    from kai.k8s.client import Client

FORBIDDEN = frozenset((403, 405))
"""HTTP statuses of objects that may not be read."""

GRANTED_BY = "kai install --reader prints a role with the rights to read a cluster"

NEVER_SKIPPED = frozenset(("Pod", "PodGroup"))
"""Kinds that the grouper must be able to read; it skips other owners that it may not read."""

Found = tuple[Reference, Mapping[str, Any] | bool | None]
"""A requested object; None: it does not exist, False: no right to read it."""


class Traffic(NamedTuple):
    """How often a kind was listed, how often its watch resumed, and the bytes."""

    lists: int
    reconnects: int
    bytes: int


class Reading:
    """The data that one process reads of a cluster. Lives on the event loop.

    `changed` is called when something has arrived. `also`: further sinks, by kind.
    """

    def __init__(
        self,
        client: Client,
        feed: Sink,
        options: PlanningOptions,
        changed: Callable[[], None],
        *,
        also: Mapping[str, Sequence[Sink]] | None = None,
    ) -> None:
        self.watches: dict[str, Watch] = {}
        self.unread = dict[str, Denial]()
        """Kinds that this user may not read, and that a plan can do without (`list_once`, `check`,
        `do_without`)."""
        self._before: dict[str, Traffic] = {}
        self._owners: list[Found] = []
        self._rules: Rules | None = None
        self._lacks = set[str]()  # kinds still to be listed once
        self._client, self._feed, self._changed = client, feed, changed
        self._also = {kind: [*sinks] for kind, sinks in (also or {}).items()}
        self._queue_label = options.queue_label_key
        if options.has("pod-grouper"):
            self._classes = DictSink(self._classes_changed)
            self._also.setdefault("PriorityClass", []).append(self._classes)

    def watch(self, kind: str) -> Watch:
        """A new watch of the kind, which replaces the earlier one; the caller runs it."""
        sink = _Tee([self._feed, *self._also.get(kind, ())], self._changed)
        found = Watch(
            *(self._client, kind, sink),
            optional=kind in OPTIONAL,
            metadata_only=kind in METADATA_ONLY,
        )
        if kind in self.watches:
            self._before[kind] = self.traffic(kind)
        self.watches[kind] = found
        return found

    @property
    def serves_claims(self) -> bool:
        """Whether the server is known to have the API of resource claims (spec 3 D1)."""
        watch = self.watches.get("ResourceClaim")
        return "ResourceClaim" not in self._lacks and (watch is None or not watch.absent)

    def traffic(self, kind: str) -> Traffic:
        """What was read of a kind since the start."""
        watch, before = self.watches[kind], self._before.get(kind, Traffic(0, 0, 0))
        return Traffic(
            before.lists + watch.relists,
            before.reconnects + watch.reconnects,
            before.bytes + watch.bytes,
        )

    async def list_once(self) -> None:
        """Reads the current objects of every kind; those that may not be read are in `unread`.

        Raises RefusedError and UnreachableError; also for a server without the kinds of kai.
        """
        lists = [self._list(kind) for kind in WATCHED]
        found = await asyncio.gather(*lists, return_exceptions=True)
        errors = [
            each
            for kind, each in zip(WATCHED, found, strict=True)
            if isinstance(each, BaseException) and not self._can_do_without(kind, str(each))
        ]
        if errors:
            raise missing_rights(self._client, map(str, errors)) or errors[0]

    async def check(self) -> None:
        """Raises as `list_once` does, at the cost of one object of each kind."""
        for kind in WATCHED:
            try:
                path = (await self._client.resource(kind)).path()
                answer = await self._client.read(
                    path, {"limit": "1"}, kinds=(METADATA_LIST_KIND,), accept=METADATA_LIST
                )
                is_there = answer.status != 404
            except RefusedError as error:
                if self._can_do_without(kind, str(error)):
                    continue
                raise missing_rights(self._client, [str(error)]) or error from None
            except NotFoundError:
                is_there = False
            if not is_there:
                await self._served(kind)

    def do_without(self, kind: str) -> bool:
        """Gives up a kind whose watch lacks a right; returns whether a plan can do without it."""
        watch = self.watches[kind]
        if not self._can_do_without(kind, watch.problem):
            return False
        del self.watches[kind]
        return True

    def _can_do_without(self, kind: str, problem: str) -> bool:
        missing = denial(problem)
        if kind in NECESSARY or missing is None:
            return False
        self.unread[kind] = missing
        self._lacks.add(kind)
        return True

    def notes(self) -> list[str]:
        """Sentences about the kinds that may not be read."""
        if not self.unread:
            return []
        missing = next(iter(self.unread.values()))
        names = ", ".join(sorted(each.resource for each in self.unread.values()))
        note = (
            f"user {missing.user} may not {missing.verb} {names}: plans are made as if there were"
        )
        note += " none"
        if "ConfigMap" in self.unread:
            note += ", and as if all ConfigMaps existed that pods need"
        return [note]

    async def look_up(self, reference: Reference) -> bool:
        """Reads an owner for `take_owners`; returns whether it exists.

        Raises RefusedError without the right to read it, and UnreachableError.
        """
        api, kind, namespace, name, _ = reference
        data = await self._client.get_by_api(api, kind, namespace, name)
        self._found(reference, None if data is None else json.loads(data))
        return data is not None

    async def look_after(self, reference: Reference) -> tuple[bool | None, str]:
        """The same for a repeated read: whether the owner exists, and why it cannot be read.

        If the server fails the result is None, and nothing is passed on: a missing right differs
        from a temporary failure.
        """
        try:
            return await self.look_up(reference), ""
        except KaiError as error:
            is_forbidden = isinstance(error, RefusedError) and error.status in FORBIDDEN
            if not is_forbidden or reference.kind in NEVER_SKIPPED:
                return None, str(error)
            self.skip(reference)
            return False, str(error)

    def skip(self, reference: Reference) -> None:
        """An owner is not read: its pods are grouped without it."""
        self._found(reference, False)

    def _found(self, reference: Reference, found: Any) -> None:
        self._owners.append((reference, found))
        self._changed()

    @property
    def has_changes(self) -> bool:
        """Whether there are rules or owners that were not taken."""
        return bool(self._owners) or self._rules is not None

    def take_rules(self) -> Rules | None:
        """For the planning thread: how pods are grouped, if that has changed since."""
        rules, self._rules = self._rules, None
        return rules

    def take_owners(self) -> list[Found]:
        """For the planning thread: the owners that were read since the last call."""
        owners, self._owners = self._owners, []
        return owners

    async def _list(self, kind: str) -> None:
        sink = _Tee([self._feed, *self._also.get(kind, ())], self._changed)
        try:
            listed = Watch(self._client, kind, sink, metadata_only=kind in METADATA_ONLY)
            await listed.list_once()
            self._lacks.discard(kind)
        except NotFoundError:
            await self._served(kind)
            self._lacks.add(kind)
            sink.begin_list(kind)
            sink.end_list(kind)

    async def _served(self, kind: str) -> None:
        """Raises RefusedError for a missing kind that planning requires."""
        if kind in OPTIONAL:
            return
        row = resource(kind)
        message = f"the cluster has no {row.plural}.{row.group}".rstrip(".")
        if row in OURS:
            message += "; to add them: kai install --crds-only | kubectl apply --server-side -f -"
        raise RefusedError(f"{self._client.access.server}: {message}", 404)

    def _classes_changed(self, *_: Any) -> None:
        names = frozenset(name for _, name in self._classes.objects)
        self._rules = Rules(classes=names, queue_label=self._queue_label)


def missing_rights(client: Client, problems: Iterable[str]) -> RefusedError | None:
    """The missing rights in messages of the API server, in one sentence; None if there are none."""
    found = [each for problem in problems if (each := denial(problem)) is not None]
    if not found:
        return None
    what = ", ".join(each.resource for each in found)
    message = f"user {found[0].user} may not {found[0].verb} {what}; {GRANTED_BY}"
    return RefusedError(f"{client.access.server}: {message}", 403)


class _Tee:
    """Passes a list or watch to a feed and to other sinks, and signals new data."""

    def __init__(self, sinks: list[Any], changed: Callable[[], None]) -> None:
        self._first, *self._others = sinks
        self._changed = changed

    @property
    def is_full(self) -> bool:
        return bool(self._first.is_full)

    def begin_list(self, kind: str, /) -> None:
        for sink in (*self._others, self._first):
            sink.begin_list(kind)

    def list_page(self, kind: str, data: bytes, /) -> Any:
        for sink in self._others:
            sink.list_page(kind, data)
        self._changed()  # a list can be larger than the limit for waiting input
        return self._first.list_page(kind, data)

    def end_list(self, kind: str, /) -> None:
        for sink in (*self._others, self._first):
            sink.end_list(kind)
        self._changed()

    def watch_bytes(self, kind: str, data: bytes, /) -> Any:
        for sink in self._others:
            sink.watch_bytes(kind, data)
        self._changed()
        return self._first.watch_bytes(kind, data)

    def watch_ended(self, kind: str, /) -> None:
        for sink in (*self._others, self._first):
            sink.watch_ended(kind)
