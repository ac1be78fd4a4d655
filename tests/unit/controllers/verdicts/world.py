"""A cluster that accepts patches, for tests of the writers of verdicts."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api import keys
from kai.api.writes import Outcome, Result, Write
from kai.controllers.verdicts import (
    Condition,
    Decided,
    Event,
    GroupSeen,
    PodSeen,
    Verdict,
    Verdicts,
)

NOW = 1_800_000_000.0


@dataclass
class GivenVerdicts:
    """The verdicts of a plan."""

    waiting: dict[str, str] = field(default_factory=dict)
    promised: dict[str, str] = field(default_factory=dict)
    bound: list[str] = field(default_factory=list)
    groups: list[Verdict] = field(default_factory=list)


@dataclass
class World:
    """Objects, the time, and the writes that wait to be sent.

    `send` applies the waiting writes; before that, a write replaces one with its key.
    """

    now: float = NOW
    verdicts: Verdicts = field(default_factory=Verdicts)
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    queue: list[Write] = field(default_factory=list)
    sent: list[tuple[float, Write]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    wasted: list[Write] = field(default_factory=list)
    evicted: list[Mapping[str, str]] = field(default_factory=list)
    shown: tuple[dict[str, Any], dict[str, Any]] | None = None
    """Pods and groups as the watch shows them; None: as they are."""

    # ---- the objects -----------------------------------------------------------------------------

    def add_pod(self, name: str, **members: Any) -> None:
        self.pods[name] = {
            **{
                "uid": f"uid-{name}",
                "conditions": {},
                "nominated": "",
                "group": "",
                "marked": True,
                "placed": False,
            },
            **members,
        }

    def add_group(self, name: str, **members: Any) -> None:
        self.groups[name] = {
            **{"uid": f"uid-{name}", "conditions": [], "stamps": {}, "pool": "", "holds": False},
            "requested": {},
            **members,
        }

    def pod(self, name: str) -> PodSeen | None:
        found = (self.pods if self.shown is None else self.shown[0]).get(name)
        if found is None:
            return None
        return PodSeen(
            found["uid"],
            found["group"],
            found["conditions"].get("PodScheduled"),
            found["conditions"].get("PodBound"),
            found["nominated"],
            found["marked"],
            found["placed"],
        )

    def group(self, name: str) -> GroupSeen | None:
        found = (self.groups if self.shown is None else self.shown[1]).get(name)
        if found is None:
            return None
        return GroupSeen(
            *(found["uid"], tuple(found["conditions"]), dict(found["stamps"]), found["pool"]),
            holds=found["holds"],
            requested=found["requested"],
        )

    def bind(self, pod: str, node: str = "n1", *, here: bool = True) -> None:
        """The API server accepts a binding, and writes its condition."""
        self.pods[pod]["conditions"]["PodScheduled"] = Condition("True")
        self.take(self.verdicts.bound(self.now, pod, node, self, here=here))

    def show(self) -> None:
        """The watch shows the current state, and nothing later."""
        self.shown = (copy.deepcopy(self.pods), copy.deepcopy(self.groups))

    # ---- time and writes -------------------------------------------------------------------------

    def take(self, decided: Decided) -> list[Write]:
        self.events += decided.events
        self.evicted += decided.evicted
        for write in decided.writes:
            for older in [each for each in self.queue if each.key == write.key]:
                self.queue.remove(older)
                self.verdicts.answer(self.now, older, Outcome(Result.REPLACED))
            self.queue.append(write)
        return decided.writes

    def decide(self, groups: Iterable[Verdict] = (), **facts: Any) -> list[Write]:
        facts["groups"] = list(groups)
        return self.take(self.verdicts.take_in(self.now, GivenVerdicts(**facts), self))

    def turn(self, groups: Iterable[Verdict] = (), **facts: Any) -> list[Write]:
        """Decides, and sends what is due."""
        self.decide(groups, **facts)
        return self.send()

    def send(self, result: Result = Result.DONE, *, done: bool | None = None) -> list[Write]:
        """Applies the waiting writes. `done`: whether a write without an answer was applied."""
        sending, self.queue = self.queue, []
        for write in sending:
            self.sent.append((self.now, write))
            outcome = Outcome(result)
            if result is Result.DONE or done:
                outcome = self._apply(write, outcome)
            self.verdicts.answer(self.now, write, outcome)
        return sending

    def wait(self, seconds: float, result: Result = Result.DONE) -> list[Write]:
        """Lets time pass, and sends the writes that become due."""
        end, sent = self.now + seconds, []
        while True:
            wake = self.verdicts.wake(self.now)
            if wake is None or wake > end:
                break
            self.now = max(wake, self.now)
            self.take(self.verdicts.due(self.now))
            sent += self.send(result)
        self.now = end
        return sent

    def _apply(self, write: Write, outcome: Outcome) -> Outcome:
        namespaced = f"{write.namespace}/{write.name}"
        found = (self.pods if write.kind == "Pod" else self.groups).get(namespaced)
        body: Any = write.body
        if found is None:
            return Outcome(Result.GONE, 404)
        if body["metadata"]["uid"] != found["uid"]:
            return Outcome(Result.REFUSED, 422, "Invalid", "metadata.uid: field is immutable")
        before = copy.deepcopy(found)
        if write.kind == "Pod":
            self._patch_pod(found, body["status"])
        else:
            if "status" in body:
                found["conditions"] = body["status"]["schedulingConditions"] or []
            for name, value in body["metadata"].get("annotations", {}).items():
                found["stamps"].pop(name, None)
                if value is not None:
                    found["stamps"][name] = value
        if found == before:
            self.wasted.append(write)
        return outcome

    def _patch_pod(self, pod: dict[str, Any], status: Mapping[str, Any]) -> None:
        if "nominatedNodeName" in status:
            pod["nominated"] = status["nominatedNodeName"] or ""
        for each in status.get("conditions", ()):
            if each.get("$patch") == "delete":
                pod["conditions"].pop(each["type"], None)
            else:
                pod["conditions"][each["type"]] = Condition(
                    each["status"], each["reason"], each["message"]
                )

    # ---- what came of it -------------------------------------------------------------------------

    def condition(self, pod: str, type: str = "PodScheduled") -> Condition | None:
        found: Condition | None = self.pods[pod]["conditions"].get(type)
        return found

    def events_of(self, *reasons: str) -> list[tuple[str, str]]:
        return [(each.reason, each.message) for each in self.events if each.reason in reasons]


LAST_START, STALE = keys.LAST_START_ANNOTATION, keys.STALE_ANNOTATION
LAST_EVICTION = keys.LAST_EVICTION_ANNOTATION
ATTAINED = keys.ATTAINED_SERVICE_ANNOTATION
