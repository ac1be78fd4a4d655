"""Lists and watch events as an API server sends them, for the sinks of a planner."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fakes.api_server import Object, dumps


class Watches:
    """`feed` gets all kinds; `sinks`: further ones, by kind. Objects get growing versions."""

    def __init__(self, feed: Any, sinks: Mapping[str, Sequence[Any]] | None = None) -> None:
        self._feed, self._further, self._version = feed, sinks or {}, 1

    def list(self, kind: str, items: Iterable[Object] = ()) -> Any:
        """Returns what the feed has read."""
        metadata = {"resourceVersion": str(self._version)}
        found = [self._versioned(each) for each in items]
        page = dumps({"kind": f"{kind}List", "metadata": metadata, "items": found})
        for sink in (*self._further.get(kind, ()), self._feed):
            sink.begin_list(kind)
            read = sink.list_page(kind, page)
            sink.end_list(kind)
        return read

    def event(self, what: str, kind: str, item: Object) -> None:
        line = dumps({"type": what, "object": self._versioned(item)}) + b"\n"
        for sink in (*self._further.get(kind, ()), self._feed):
            sink.watch_bytes(kind, line)

    def _versioned(self, item: Object) -> Object:
        self._version += 1
        return {**item, "metadata": {**item["metadata"], "resourceVersion": str(self._version)}}
