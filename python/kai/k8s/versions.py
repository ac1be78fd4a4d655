"""Notices when the versions of an API server go back: its etcd was restored from a backup.

    versions = Versions()
    versions.on_back.append(list_everything_again)
    mark = versions.mark("Pod")                  # before a request is sent
    versions.answered(mark, "4711")              # the version of the list in its answer

The version of a list, of an object that was just created, and of an event of a watch grows with
every change in etcd. An answer with a lower version than was known when its request was sent comes
from an etcd that has forgotten changes. A watch that continues from a forgotten version would be
silent until etcd has passed it. Versions are compared by kind: kinds may be in separate etcds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Back = Callable[[str, int, int], None]
"""Called with the kind (or the path of a lease), the version that was known, and the lower one."""


class Mark(NamedTuple):
    """What was known when a request was sent."""

    key: str
    version: int
    generation: int


class Versions:
    """The latest version of each kind. `generation`: how often they have gone back."""

    def __init__(self) -> None:
        self.generation = 0
        self.on_back: list[Back] = []
        self._latest: dict[str, int] = {}

    def mark(self, key: str) -> Mark:
        """`key`: a kind, or the path of an object that only this process and its rivals write."""
        return Mark(key, self._latest.get(key, 0), self.generation)

    def mark_of_stream(self, key: str, text: str) -> Mark:
        """For a stream that has come to this version.

        Its next event is only later than that: what answers to writes and other streams have shown
        meanwhile may still be on its way.
        """
        return Mark(key, int(text) if text.isdecimal() else 0, self.generation)

    def answered(self, mark: Mark, text: str) -> None:
        """The version in the answer; a version that is not a number is ignored."""
        if not text.isdecimal() or mark.generation != self.generation:
            return
        version = int(text)
        if version >= mark.version:
            self._latest[mark.key] = max(version, self._latest.get(mark.key, 0))
            return
        known = mark.version
        self.generation += 1
        self._latest = {mark.key: version}
        for each in self.on_back:
            each(mark.key, known, version)
