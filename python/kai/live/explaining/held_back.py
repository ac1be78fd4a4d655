"""What the conditions of a waiting pod show about the memory of the running scheduler.

    held_back(facts)     # HeldBack(until="2026-01-01T00:00:20Z", nodes="n1, n2")

A plan of `kai explain --live` knows the objects of the cluster only. The scheduler also knows which
groups have lost the room of their victims, and which nodes refused a pod.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kai.api import times
from kai.api.reading import at, objects, text
from kai.errors import InvalidInputError
from kai.live.explaining.pod_facts import PodFacts

_UNTIL = re.compile(r"may not trigger evictions before (\S+Z)")  # cpp/kai/texts/messages.cc
_AVOIDED = re.compile(r"are avoided for now: ([^:]+)\.$")  # kai.controllers.verdicts.plans


class HeldBack(NamedTuple):
    """`until`: the group evicts no pods before this time. `nodes`: those that it avoids, as text;
    "" if there is none."""

    until: str = ""
    nodes: str = ""

    def sentences(self) -> Iterator[str]:
        if self.until:
            yield f"The running scheduler evicts no pods for it before {self.until}."
        if self.nodes:
            yield (
                "The running scheduler avoids nodes that refused a pod of its group for now:"
                f" {self.nodes}."
            )

    def avoids(self, node: str) -> bool:
        return bool(node) and node in re.split(r", | and ", self.nodes)


def held_back(facts: PodFacts) -> HeldBack:
    messages = [*_messages(facts)]
    until = next((each[1] for each in map(_UNTIL.search, messages) if each is not None), "")
    nodes = next((each[1] for each in map(_AVOIDED.search, messages) if each is not None), "")
    return HeldBack(until if _is_later(until, facts.now_ns) else "", nodes)


def _messages(facts: PodFacts) -> Iterator[str]:
    for each in objects(at(facts.pod, "status", "conditions")):
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            yield text(each.get("message"))
    for each in objects(at(facts.group, "status", "schedulingConditions")):
        yield text(each.get("message"))


def _is_later(time: str, now_ns: int) -> bool:
    try:
        return bool(time) and times.to_ns(time) > now_ns
    except InvalidInputError:
        return False
