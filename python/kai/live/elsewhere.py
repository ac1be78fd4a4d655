"""The waiting pods of other schedulers in a live cluster, from the lists and watches of pods.

    waiting = WaitingElsewhere("kai-scheduler")        # a sink for pods
    waiting.found().sentences()

Most pods are ours or run, so the text of a page or an event is searched before it is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kai.engine.elsewhere import Elsewhere, may_wait_elsewhere, waits_elsewhere
from kai.k8s.sinks import read_page

Object = Mapping[str, Any]


class WaitingElsewhere:
    """A sink that stores only these pods. Raises ValueError for what is no list or watch."""

    is_full = False

    def __init__(self, scheduler: str) -> None:
        self._scheduler = scheduler
        self._pods: dict[tuple[str, str], Object] = {}
        self._rest = bytearray()  # of a line that has not arrived whole

    def found(self) -> Elsewhere:
        return Elsewhere.among(self._pods.values(), self._scheduler)

    def begin_list(self, kind: str, /) -> None:
        self._pods.clear()
        self._rest.clear()

    def list_page(self, kind: str, data: bytes, /) -> None:
        if may_wait_elsewhere(data, self._scheduler):
            for pod in read_page(kind, data)["items"] or ():
                self._put(pod)

    def end_list(self, kind: str, /) -> None: ...

    def watch_bytes(self, kind: str, data: bytes, /) -> None:
        self._rest += data
        end = self._rest.rfind(b"\n") + 1
        lines = bytes(self._rest[:end])
        del self._rest[:end]
        for line in lines.splitlines():
            if self._pods or may_wait_elsewhere(line, self._scheduler):
                self._take(kind, line)

    def _take(self, kind: str, line: bytes) -> None:
        try:
            event = json.loads(line)
            if event["type"] in ("ADDED", "MODIFIED"):
                self._put(event["object"])
            elif event["type"] == "DELETED":
                self._pods.pop(_key(event["object"]), None)
        except (KeyError, TypeError):
            raise ValueError(f"no watch of {kind}: {line[:80]!r}") from None

    def watch_ended(self, kind: str, /) -> None:
        self._rest.clear()

    def _put(self, pod: Object) -> None:
        if waits_elsewhere(pod, self._scheduler):
            self._pods[_key(pod)] = pod
        else:
            self._pods.pop(_key(pod), None)


def _key(pod: Object) -> tuple[str, str]:
    metadata = pod["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
