"""The differences between the end of a replay and the end of its recording, as texts.

    kais = end_of(recording.content)
    for each in differences(ours, kais, interchangeable(recording.content)):
        print(each)         # Pod/p-1: condition PodScheduled is missing, and in KAI True

A pod and its objects (its BindRequest, its own pod group, its ConfigMaps, and events about them)
form a unit. Units with random names, and those of pods that differ only in their names, are
compared with the most similar ones, because their order is random in KAI. The counts of events are
ignored.
"""

import copy
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .cleaned import KINDS, cleaned, hide_drawn, without_nothing
from .client import Object

NAMED_BY = ("type", "name")  # list items with such a member are identified by it
WAITED = "Warning Unschedulable of kai-scheduler"
AS_ONE_MS = 1000
"""Pods created within this time may have the same age."""


@dataclass(frozen=True)
class Difference:
    """`member` of `subject`, "" for the object as a whole. `ours`, `kais`: None if there is no
    value."""

    subject: str
    member: str
    ours: str | None
    kais: str | None

    def __str__(self) -> str:
        about = f"{self.subject}: {self.member}" if self.member else self.subject
        if self.ours is None:
            return f"{about} is missing" + (f", and in KAI {self.kais}" if self.member else "")
        if self.kais is None:
            return f"{about} is {self.ours if self.member else 'there'}, and not in KAI"
        return f"{about} is {self.ours}, and in KAI {self.kais}"


@dataclass
class Entity:
    """An object, or a deleted one, and the events about it."""

    members: dict[str, str] = field(default_factory=dict)
    there: bool = False
    was_marked: bool = False
    """It had the condition PodScheduled=False/Unschedulable at some time."""
    events: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By source, type and reason: the messages."""


@dataclass
class Unit:
    """`name`: its name in the state, for people."""

    name: str = ""
    entities: dict[str, Entity] = field(default_factory=dict)


class Plain:
    """Texts without random parts, and with one name for all interchangeable pods."""

    def __init__(self, alike: Iterable[Iterable[str]] = ()) -> None:
        self._names = {name: "|".join(sorted(each)) for each in map(list, alike) for name in each}
        found = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        self._pattern = (
            re.compile(rf"(?<![\w.-])(pg-)?({found})(?=[^\w.-]|$|-<)") if found else None
        )

    def __call__(self, text: str) -> str:
        if self._pattern is not None:
            text = self._pattern.sub(lambda m: f"{m[1] or ''}{self._names[m[2]]}", text)
        return re.sub(r"<(r|rnd|uuid|hash)-?\d+>", r"<\1>", text)


def differences(
    ours: Mapping[str, Any], kais: Mapping[str, Any], alike: Iterable[Iterable[str]] = ()
) -> list[Difference]:
    plain = Plain(alike)
    one, other = units(ours, plain), units(kais, plain)
    found: list[Difference] = []
    for name in sorted(one.keys() | other.keys()):
        found += _of_name(one.get(name, []), other.get(name, []))
    mine, theirs = sharing(ours, plain), sharing(kais, plain)
    if mine != theirs:
        only = _without(mine, theirs), _without(theirs, mine)
        found.append(Difference("GPUs", "sharing", *(" & ".join(each) or None for each in only)))
    return found


def _of_name(ours: list[Unit], kais: list[Unit]) -> Iterator[Difference]:
    """The most similar pairs come first."""
    pairs = sorted(
        (len(list(between(one, other))), i, j)
        for i, one in enumerate(ours)
        for j, other in enumerate(kais)
    )
    mine, theirs = dict(enumerate(ours)), dict(enumerate(kais))
    for _, i, j in pairs:
        if i in mine and j in theirs:
            yield from between(mine.pop(i), theirs.pop(j))
    for unit in mine.values():
        yield from between(unit, Unit(unit.name))
    for unit in theirs.values():
        yield from between(Unit(unit.name), unit)


def between(ours: Unit, kais: Unit) -> Iterator[Difference]:
    for subject in sorted(ours.entities.keys() | kais.entities.keys()):
        one = ours.entities.get(subject, Entity())
        other = kais.entities.get(subject, Entity())
        named = subject.replace("{}", kais.name)
        if one.there != other.there:
            there = ("there", None) if one.there else (None, "there")
            yield Difference(named, "", *there)
        else:
            for member in sorted(one.members.keys() | other.members.keys()):
                values = one.members.get(member), other.members.get(member)
                if values[0] != values[1]:
                    yield Difference(named, member, *values)
        if one.events[WAITED] and other.events[WAITED] and one.was_marked != other.was_marked:
            marks = ["seen" if each.was_marked else None for each in (one, other)]
            yield Difference(named, "a former condition PodScheduled=False", *marks)
        for what in sorted(one.events.keys() | other.events.keys()):
            yield from _of_events(named, what, one.events[what], other.events[what])


def _of_events(subject: str, what: str, ours: set[str], kais: set[str]) -> Iterator[Difference]:
    if ours == kais:
        return
    if not (ours and kais):
        yield Difference(subject, f"event {what}", _texts(ours), _texts(kais))
    elif more := ours - kais:
        yield Difference(subject, f"text of event {what}", _texts(more), _texts(kais))
    else:
        yield Difference(subject, f"further event {what}", None, _texts(kais - ours))


def _texts(messages: Iterable[str]) -> str | None:
    return " & ".join(repr(each) for each in sorted(messages)) or None


def _without(some: list[str], others: list[str]) -> list[str]:
    return [each for each in some if each not in others]


# ---- units ---------------------------------------------------------------------------------------


def units(state: Mapping[str, Any], plain: Plain) -> dict[str, list[Unit]]:
    """By name without random parts."""
    known = dict[str, Entity]()
    for kind, name in KINDS.items():
        for each in state.get(kind, ()):
            text = plain(json.dumps(without_nothing(each)))
            known[f"{name}/{each['metadata']['name']}"] = Entity(
                dict(members(json.loads(text))), there=True
            )
    for name in state.get("marked", ()):
        known.setdefault(f"Pod/{name}", Entity()).was_marked = True
    for event in state.get("events", ()):
        what = f"{event['type']} {event['reason']} of {event['source']}"
        entity = known.setdefault(event["involvedObject"], Entity())
        entity.events[what].add(plain(event["message"]))
    return _units(known, plain)


def _units(known: Mapping[str, Entity], plain: Plain) -> dict[str, list[Unit]]:
    pods = {each.removeprefix("Pod/") for each in known if each.startswith("Pod/")}
    by_name = dict[str, Unit]()
    for about, entity in known.items():
        kind, _, name = about.partition("/")
        anchor = name if name in pods else _pod_of(name, pods) if kind in BESIDE else ""
        unit = by_name.setdefault(anchor or about, Unit(anchor or name))
        unit.entities[f"{kind}/{plain(name).replace(plain(unit.name), '{}')}"] = entity
    found = defaultdict[str, list[Unit]](list)
    for name, unit in by_name.items():
        found[plain(name)].append(unit)
        unit.name = re.sub(r"<(\w+?)-?\d+>", r"<\1>", unit.name)
    return dict(found)


BESIDE = ("PodGroup", "ConfigMap")


def _pod_of(name: str, pods: set[str]) -> str:
    """The pod of a pod group or a ConfigMap: pg-x-<uid:Pod/x>, x-<rnd1>-shared-gpu."""
    if found := re.fullmatch(r"pg-.*<uid:Pod/(.+)>", name):
        return found[1] if found[1] in pods else ""
    head = re.split(r"-<rnd\d+>", name)[0]
    return head if head != name and head in pods else ""


def sharing(state: Mapping[str, Any], plain: Plain) -> list[str]:
    """The objects that name the same GPU group, for all groups."""
    by_group = defaultdict[str, list[str]](list)
    for kind in ("pods", "bindrequests"):
        for each in state.get(kind, ()):
            about = f"{KINDS[kind]}/{each['metadata']['name']}"
            rest = {**each, "metadata": {**each["metadata"], "ownerReferences": []}}
            for group in sorted(set(re.findall(r"<uuid-\d+>", json.dumps(rest)))):
                by_group[group].append(plain(about))
    return sorted(", ".join(sorted(each)) for each in by_group.values())


def members(each: Object) -> Iterator[tuple[str, str]]:
    """Fields of an object and their values, by the names in differences."""
    metadata = each["metadata"]
    for kind in ("label", "annotation"):
        for key, value in metadata.get(f"{kind}s", {}).items():
            yield f"{kind} {key}", json.dumps(value)
    for key in ("ownerReferences", "finalizers", "generateName"):
        if key in metadata:
            yield key, json.dumps(metadata[key], sort_keys=True)
    for key in each.keys() - {"metadata", "kind", "apiVersion"}:
        yield from flat(each[key], key)


def flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if path.startswith("status.conditions["):
            text = f"{value['status']} {value.get('reason', '')} {value.get('message', '')!r}"
            yield f"condition {value['type']}", text
            return
        for key, each in value.items():
            yield from flat(each, f"{path}.{key}")
    elif isinstance(value, list):
        keys = [key for key in NAMED_BY if all(isinstance(e, dict) and key in e for e in value)]
        for number, each in enumerate(value):
            yield from flat(each, f"{path}[{each[keys[0]] if keys else number}]")
    else:
        yield path, json.dumps(value)


# ---- recordings ----------------------------------------------------------------------------------


def end_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """The end of a recording, and the pods that were marked as unschedulable at some time."""
    marks = ("status.conditions[PodScheduled].status", "False")
    marked = {
        entry["name"]: None
        for entry in content["timeline"]
        if entry.get("kind") == "Pod" and marks in entry.get("changed", {}).items()
    }
    after = copy.deepcopy(content["after"])
    for pod in after["pods"]:
        hide_drawn(pod)
    return {**after, "marked": list(marked)}


def interchangeable(content: Mapping[str, Any]) -> list[list[str]]:
    """Names of pods that the script of a recording created one after the other, and that are equal
    otherwise. Which of them KAI places first depends on UIDs, or on the order of grouping."""
    created = [e for e in content["timeline"] if e.get("do", "").startswith("create Pod/")]
    manifests = {
        each["metadata"]["name"]: each for each in content["manifests"] if each["kind"] == "Pod"
    }
    found: list[list[str]] = []
    last, last_ms = "", -AS_ONE_MS
    for entry in created:
        name = entry["do"].removeprefix("create Pod/")
        pod = cleaned({**manifests[name], "status": {}}, "Pod")
        shape = json.dumps(pod, sort_keys=True).replace(json.dumps(name), '""')
        if shape == last and entry["t"] - last_ms < AS_ONE_MS and name not in found[-1]:
            found[-1].append(name)
        else:
            found.append([name])
        last, last_ms = shape, entry["t"]
    return [each for each in found if len(each) > 1]
