"""A recording as watches show it, in virtual time: objects, their changes, and the times.

    for moment in moments(with_uids(recording)):
        moment.at_ms, moment.kind, moment.before, moment.after

If the recording lacks a time, it is the time at which the watches showed the change.
"""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from recordings import Recording, apply

from kai.api.times import to_text
from kai.install import manifests

START_NS = 1_800_000_000_000_000_000
PLAYED = ("Pod", "PodGroup", "BindRequest", "Queue", "Node")
READY = [{"type": "Ready", "status": "True"}]
Object = dict[str, Any]


@dataclass(frozen=True)
class Moment:
    """`before`, `after`: the object; None: it does not exist."""

    at_ms: int
    kind: str
    before: Object | None
    after: Object | None


def ns_of(at_ms: int) -> int:
    return START_NS + at_ms * 1_000_000


def moments(recording: Recording, phase_ms: int = 0) -> Iterator[Moment]:
    """Changes of the kinds that decisions depend on; first the objects of KAI's installation.

    Objects have their ages in whole seconds, and the start of a second is not recorded: the watches
    start `phase_ms` after the start of one.
    """
    for each in (*manifests.priority_classes(), *manifests.queues()):
        yield Moment(0, each["kind"], None, json.loads(json.dumps(each)))
    yield from _Stage(recording, phase_ms).play()


def with_uids(recording: Recording) -> Recording:
    """UIDs are not recorded, but they order pods of one second: each pod gets a UID at the position
    at which KAI bound the pod."""
    order: dict[str, str] = {}
    for entry in recording.content["timeline"]:
        if (entry.get("kind"), entry.get("event")) == ("BindRequest", "ADDED"):
            pod = entry["object"]["spec"]["podName"]
            order.setdefault(pod, f"<uid:{len(order):03}:Pod/{pod}>")
    text = json.dumps(recording.content)
    for pod, uid in order.items():
        text = text.replace(f"<uid:Pod/{pod}>", uid)
    content = json.loads(text)
    for entry in content["timeline"]:
        if (entry.get("kind"), entry.get("event")) == ("Pod", "ADDED") and entry["name"] in order:
            entry["object"]["metadata"]["uid"] = order[entry["name"]]
    return replace(recording, content=content)


class _Stage:
    def __init__(self, recording: Recording, phase_ms: int) -> None:
        self._recording, self._phase_ms = recording, phase_ms
        manifests = recording.manifests
        self._manifests = {(each["kind"], each["metadata"]["name"]): each for each in manifests}
        nodes = [*recording.content["nodes"], *(e for e in manifests if e["kind"] == "Node")]
        self._nodes = {each["metadata"]["name"]: each for each in nodes}
        self._namespaces = {each["metadata"].get("namespace", "") for each in manifests}
        self._objects: dict[tuple[str, str], Object] = {}
        self._lives: dict[tuple[str, str], int] = {}

    def play(self) -> Iterator[Moment]:
        for entry in self._recording.timeline:
            at, kind = entry["t"] + self._phase_ms, entry.get("kind", "")
            verb, _, what = entry.get("do", "").partition(" ")
            if verb == "create" and what.startswith("Topology/"):
                made = self._manifests["Topology", what.partition("/")[2]]
                yield Moment(at, "Topology", None, self._stamped(made, at))
            if kind not in PLAYED or "event" not in entry:
                continue
            key = (kind, f"{entry.get('namespace', '')}/{entry['name']}")
            before = self._objects.get(key)
            after = self._after(entry, key, before, at)
            if after is None:
                self._objects.pop(key, None)
            else:
                self._objects[key] = after
            yield Moment(at, kind, copy.deepcopy(before), copy.deepcopy(after))

    def _after(
        self, entry: Object, key: tuple[str, str], before: Object | None, at: int
    ) -> Object | None:
        if entry["event"] == "DELETED":
            return None
        if entry["event"] == "MODIFIED":
            if before is None:
                return None
            after = copy.deepcopy(before)
            apply(_timed(entry, at), after)
            if "deletionTimestamp" in after["metadata"]:
                after["metadata"]["deletionTimestamp"] = _time(at)
            _conditions(entry, after)
            return after
        if entry["kind"] == "Node":
            made = copy.deepcopy(self._nodes[entry["name"]])
            made["status"]["conditions"] = READY
            return self._stamped(made, at)
        self._lives[key] = self._lives.get(key, 0) + 1
        made = _times(entry["object"], at)
        made.setdefault("kind", entry["kind"])
        uid = f"<uid:{entry['kind']}/{entry['name']}>"
        made["metadata"].setdefault("uid", uid)
        if entry["kind"] == "BindRequest" and self._lives[key] > 1:
            made["metadata"]["uid"] += f"-{self._lives[key]}"
        return self._stamped(made, at)

    def _stamped(self, made: Object, at: int) -> Object:
        made["metadata"].setdefault("creationTimestamp", _time(at))
        return made


def _time(at_ms: int) -> str:
    return to_text(ns_of(at_ms) // 10**9 * 10**9)


def _timed(entry: Object, at: int) -> Object:
    return dict(_times(entry, at))


def _times(value: Any, at: int) -> Any:
    return json.loads(json.dumps(value).replace("<time>", _time(at)))


def _conditions(entry: Object, after: Object) -> None:
    """`recordings.apply` identifies every item by `name`; conditions have a `type` instead."""
    for each in (after.get("status") or {}).get("conditions") or ():
        if "name" in each and "type" not in each:
            each["type"] = each.pop("name")
