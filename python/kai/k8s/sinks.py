"""Consumers of lists and watch streams: `Sink`, and one that keeps objects as plain dicts.

    pods = DictSink(on_change=print)
    await watch(client, "Pod", pods)
    pods.objects["team", "train-0"]["spec"]["nodeName"]

The production sink is `_core.Feed`, which passes the bytes to the C++ store unparsed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from kai.k8s.answers import whole

METADATA_LIST_KIND = "PartialObjectMetadataList"


class Page(NamedTuple):
    """The result of reading a page of a LIST."""

    version: str
    next: str  # token of the next page, "" for the last one
    items: int


class Progress(NamedTuple):
    """The state of a watch stream that was read so far."""

    version: str  # of the last complete event, including bookmarks; "" before the first
    synced: bool  # the bookmark after the initial events has arrived
    error: bytes  # the Status object of an ERROR event


class Sink(Protocol):
    """Consumes the objects of one or more kinds. All calls come from the event loop; none may
    block."""

    @property
    def is_full(self) -> bool:
        """Too much input waits to be processed: the watch pauses reading."""
        ...

    def begin_list(self, kind: str, /) -> None:
        """All objects of the kind follow; known objects that are not repeated are gone."""

    def list_page(self, kind: str, data: bytes, /) -> Any:
        """A page of a LIST; returns a `Page` or an equal tuple. Raises ValueError if it is no
        list."""

    def end_list(self, kind: str, /) -> None: ...

    def watch_bytes(self, kind: str, data: bytes, /) -> Any:
        """A piece of a watch stream, cut anywhere; returns a `Progress` or an equal tuple. Raises
        ValueError if it is not a stream."""

    def watch_ended(self, kind: str, /) -> None:
        """The stream has ended; an incomplete last line is dropped."""


Object = dict[str, Any]
Changed = Callable[[str, Any, Any], None]


class DictSink:
    """Objects of one kind, parsed, by namespace and name.

    `on_change` is called with the kind, the object before and the object after; None: no object.
    `keep` selects the part of an object that is stored and passed to `on_change`.
    """

    is_full = False

    def __init__(
        self, on_change: Changed | None = None, *, keep: Callable[[Object], Any] | None = None
    ) -> None:
        self._keep = keep
        self.objects: dict[tuple[str, str], Any] = {}
        self.synced = False
        self._on_change = on_change
        self._listed: set[tuple[str, str]] | None = None
        self._rest = bytearray()
        self._version = ""

    def begin_list(self, kind: str, /) -> None:
        self._listed = set()
        self._rest.clear()

    def list_page(self, kind: str, data: bytes, /) -> Page:
        page = read_page(kind, data)
        for item in page["items"] or ():
            self._put(kind, item)
        metadata = page["metadata"]
        following = metadata.get("continue", "")
        return Page(metadata["resourceVersion"], following, len(page["items"] or ()))

    def end_list(self, kind: str, /) -> None:
        listed, self._listed = self._listed, None
        self.synced = True
        if listed is not None:
            for key in [key for key in self.objects if key not in listed]:
                self._drop(kind, key)

    def watch_bytes(self, kind: str, data: bytes, /) -> Progress:
        self._rest += data
        end = self._rest.rfind(b"\n") + 1
        if not end:
            return Progress(self._version, False, b"")
        lines, synced, error = bytes(self._rest[:end]), False, b""
        del self._rest[:end]
        for line in lines.splitlines():
            try:
                event = json.loads(line)
                what, item = event["type"], event["object"]
                if what not in ("ERROR", "BOOKMARK"):
                    _key(item)
                item.get("kind")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise ValueError(f"no watch of {kind}: {line[:80]!r}") from None
            if what == "ERROR":
                error = json.dumps(item).encode()
            else:
                synced = self._take(kind, what, item) or synced
        return Progress(self._version, synced, error)

    def watch_ended(self, kind: str, /) -> None:
        self._rest.clear()

    def _take(self, kind: str, what: str, item: Object) -> bool:
        """Processes an event; True for the bookmark that ends the initial events."""
        metadata = item.get("metadata") or {}
        self._version = metadata.get("resourceVersion") or self._version
        if what == "BOOKMARK":
            annotations = metadata.get("annotations") or {}
            return annotations.get("k8s.io/initial-events-end") == "true"
        if what == "DELETED":
            self._drop(kind, _key(item), item)
        else:
            self._put(kind, item)
        return False

    def _put(self, kind: str, item: Object) -> None:
        key = _key(item)
        if self._listed is not None:
            self._listed.add(key)
        kept = item if self._keep is None else self._keep(item)
        before = self.objects.get(key)
        self.objects[key] = kept
        if self._on_change is not None and before != kept:
            self._on_change(kind, before, kept)

    def _drop(self, kind: str, key: tuple[str, str], item: Object | None = None) -> None:
        before = self.objects.pop(key, None)
        if before is None and item is not None:
            before = item if self._keep is None else self._keep(item)
        if self._on_change is not None:
            self._on_change(kind, before, None)


def read_page(kind: str, data: bytes) -> Object:
    """A page of a LIST, parsed.

    Raises ValueError if it is no list of this kind, or not a whole one: half a page of a proxy must
    not count as an empty cluster.
    """
    return whole(data, (METADATA_LIST_KIND, f"{kind}List"))


def _key(item: Object) -> tuple[str, str]:
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
