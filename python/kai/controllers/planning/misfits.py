"""Objects that no plan can use: each problem is reported once.

    misfits = Misfits()
    misfits.new(drained.rejected)                       # for the log
    if misfits.is_due(now): ...                         # another plan may find more
    misfits.look(now, plan.rejected, feed.stranded)     # after each plan
    misfits.pods, misfits.groups                        # by name, why they wait
    events = misfits.events()                           # about all other objects

`kai.controllers.verdicts` writes conditions of pods and pod groups. KAI has no messages for most of
these problems: it ignores annotations that it cannot read, and a pod whose pod group does not exist
shows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kai.controllers.verdicts.facts import Event, split

Rejected = tuple[str, str, str, str]
"""Kind, name, field and message: "namespace/name", "spec.minMember", "-2 is negative"."""

INVALID = "Invalid"
"""The reason of the events; their type is Warning."""
STRANDED_S = 5.0
"""A pod group may be created, or seen, later than the pods that name it."""
LOOK_S = 1.0
"""How often stranded pods are searched; the search visits all waiting pods."""


class Misfits:
    """For one thread. Pods and pod groups are named "namespace/name"."""

    def __init__(self) -> None:
        self.pods: dict[str, str] = {}
        self.groups: dict[str, str] = {}
        self._logged: dict[tuple[str, str], str] = {}
        self._others: dict[tuple[str, str], str] = {}
        self._reported: dict[tuple[str, str], str] = {}
        self._stranded: dict[str, tuple[str, float]] = {}  # the pod group, and since when
        self._looked = float("-inf")
        self._skipped = False

    def new(self, rejected: Iterable[Rejected]) -> list[Rejected]:
        """The entries that were not returned before with the same message: for the log."""
        found = []
        for each in rejected:
            kind, name, field, message = each
            text = _text(field, message)
            if not name or self._logged.get((kind, name)) != text:
                found.append(each)
            if name:
                self._logged[kind, name] = text
        return found

    def begin(self) -> None:
        """This process starts or stops leading: events may have to be repeated."""
        self._reported.clear()

    def gone(self, kind: str, name: str) -> None:
        """The object does not exist any more."""
        self._logged.pop((kind, name), None)

    def look(
        self,
        now: float,
        rejected: Iterable[Rejected],
        stranded: Callable[[], Iterable[tuple[str, str]]],
    ) -> None:
        """Takes in the problems after a plan.

        `rejected`: all invalid objects. `stranded`: returns waiting pods whose pod group does not
        exist or is invalid, each with that group's name; called once a second.
        """
        texts = {(kind, name): _text(*text) for kind, name, *text in rejected if name}
        self._logged = {key: text for key, text in self._logged.items() if key in texts}
        self.pods = {name: text for (kind, name), text in texts.items() if kind == "Pod"}
        self.groups = {name: text for (kind, name), text in texts.items() if kind == "PodGroup"}
        self._others = {
            key: text for key, text in texts.items() if key[0] not in ("Pod", "PodGroup")
        }
        self._skipped = now < self._looked + LOOK_S
        if not self._skipped:
            self._looked = now
            before = self._stranded
            self._stranded = {pod: before.get(pod, (group, now)) for pod, group in stranded()}
        for pod, (group, since) in self._stranded.items():
            if group in self.groups:
                self.pods[pod] = f"PodGroup {group} is ignored: {self.groups[group]}"
            elif now >= since + STRANDED_S:
                self.pods[pod] = f"PodGroup {group} does not exist"

    def events(self) -> list[Event]:
        """New events about objects that have no conditions."""
        found = []
        for (kind, name), text in self._others.items():
            if self._reported.get((kind, name)) != text:
                namespace, own = split(name) if "/" in name else ("", name)
                found.append(Event(kind, namespace, own, "", "Warning", INVALID, text))
        self._reported = dict(self._others)
        return found

    def is_due(self, now: float) -> bool:
        """Whether `look` may find something new without any other change."""
        wake = self.wake()
        return wake is not None and now >= wake

    def wake(self) -> float | None:
        """The time of the next such `look`."""
        waits = [
            since + STRANDED_S for pod, (_, since) in self._stranded.items() if pod not in self.pods
        ]
        if self._skipped:
            waits.append(self._looked + LOOK_S)
        return min(waits, default=None)


def _text(field: str, message: str) -> str:
    return f"{field}: {message}" if field else message
