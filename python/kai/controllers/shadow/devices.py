"""Compares the devices of two placements when new shared devices have random names.

The other scheduler names a new GPU group by a UUID, and a plan by a name of its own. New groups are
therefore identified by their pods: two are the same if they have the same pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kai.controllers.shadow.values import Chosen

NEW = ""


@dataclass(frozen=True, slots=True)
class Devices:
    """Shared devices on which pods were seen: for each, the number of plans before it was known,
    and its pods."""

    since: Mapping[str, int] = field(default_factory=dict)
    pods: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def are_same(
        self,
        pod: str,
        theirs: frozenset[str],
        chosen: Mapping[str, Chosen],
        serial: int,
    ) -> bool:
        """`theirs`: devices on which the pod is now. `chosen`: decisions of the plan of that
        number."""
        seen = sorted(each if each in self.since else NEW for each in theirs)
        ours = chosen[pod].gpu_groups
        return seen == sorted(self._known_as(each, pod, chosen, serial) for each in ours)

    def _known_as(self, group: str, pod: str, chosen: Mapping[str, Chosen], serial: int) -> str:
        if self.since.get(group, serial) < serial:
            return group  # it existed when the plan was made
        partners = {
            name for name, each in chosen.items() if name != pod and group in each.gpu_groups
        }
        for name in sorted(self.since):
            if self.since[name] >= serial and self.pods[name] & partners:
                return name
        return NEW


class DeviceBook:
    """Keeps `Devices` up to date."""

    def __init__(self) -> None:
        self._since: dict[str, int] = {}
        self._pods: dict[str, set[str]] = {}
        self._of: dict[str, frozenset[str]] = {}  # by pod

    def put(self, pod: str, groups: frozenset[str], serial: int) -> None:
        """The pod is on these devices; `serial`: the number of plans made before that was seen."""
        if self._of.get(pod, frozenset()) == groups:
            return
        self.drop(pod)
        if groups:
            self._of[pod] = groups
        for each in groups:
            self._since.setdefault(each, serial)
            self._pods.setdefault(each, set()).add(pod)

    def drop(self, pod: str) -> None:
        for each in self._of.pop(pod, ()):
            self._pods[each].discard(pod)
            if not self._pods[each]:
                del self._pods[each], self._since[each]

    def near(self, groups: frozenset[str], partners: frozenset[str]) -> Devices:
        """The known facts about these devices, and about those of these pods."""
        names = {*groups, *(name for pod in partners for name in self._of.get(pod, ()))}
        known = [name for name in names if name in self._since]
        return Devices(
            {name: self._since[name] for name in known},
            {name: frozenset(self._pods[name]) for name in known},
        )
