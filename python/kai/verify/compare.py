"""Compares two outcomes of one cycle and describes each difference in a sentence.

It compares bind, pipeline and evict of each pod (node, action, preemptor, amounts), shared devices
as a partition of pods, the messages of pod groups and the numbers of queues. It does not compare
names of new devices, the order of decisions about different pods and counts before repeated errors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kai.verify.objects import ACTIVE_USED, World
from kai.verify.outcome import NUMBERS, RESOURCES, Numbers, Outcome, Placement, names

__all__ = [
    "Difference",
    "compare_decisions",
    "compare_devices",
    "compare_messages",
    "compare_queues",
    "same_message",
    "sharers",
    "sharing",
]

TOLERANCE = 1e-6  # of queue numbers, relative or absolute
GPU_TOLERANCE = 0.005 + 1e-9  # KAI records portions with two decimals (spec 3 G8)


Sharers = dict[str, "Counter[frozenset[str]]"]


@dataclass(frozen=True)
class Difference:
    """One difference, as a sentence."""

    what: str  # bind, pipeline, evict, devices, message, queue, pod, node, bound
    about: str
    text: str

    def __str__(self) -> str:
        return self.text


# --- decisions -----------------------------------------------------------------------------------


def compare_decisions(ours: Outcome, theirs: Outcome) -> list[Difference]:
    """Compares bind, pipeline and evict of every pod."""
    differences = [
        *_placements("bind", "bound", ours, theirs),
        *_placements("pipeline", "pipelined", ours, theirs),
        *_evictions(ours, theirs),
    ]
    return sorted(differences, key=lambda d: (d.about, d.what))


def _placements(what: str, done: str, ours: Outcome, theirs: Outcome) -> Iterator[Difference]:
    mine: Mapping[str, Placement] = getattr(ours, what)
    other: Mapping[str, Placement] = getattr(theirs, what)
    verb = {"bind": "bind", "pipeline": "pipeline"}[what]
    for pod in sorted({*mine, *other}):
        if what == "pipeline" and _bound_by_one(pod, ours, theirs):
            continue  # one side bound the pod, the other pipelined it: reported as a bind only
        if pod not in other:
            where = f"{done} to {mine[pod].node}"
            yield Difference(what, pod, f"pod {pod}: {where}, KAI {_elsewhere(theirs, pod, verb)}")
        elif pod not in mine:
            where = f"KAI {done} it to {other[pod].node}"
            yield Difference(what, pod, f"pod {pod}: {_own_elsewhere(ours, pod, done)}, {where}")
        elif mine[pod].node != other[pod].node:
            text = f"pod {pod}: {done} to {mine[pod].node}, KAI {done} it to {other[pod].node}"
            yield Difference(what, pod, text)
        else:
            for text in _amounts(mine[pod], other[pod]):
                yield Difference(what, pod, f"pod {pod}: {done} with {text}")


def _bound_by_one(pod: str, ours: Outcome, theirs: Outcome) -> bool:
    return (pod in ours.bind) != (pod in theirs.bind)


def _elsewhere(outcome: Outcome, pod: str, verb: str) -> str:
    if verb == "bind" and pod in outcome.pipeline:
        return f"pipelined it to {outcome.pipeline[pod].node}"
    return f"did not {verb} it"


def _own_elsewhere(outcome: Outcome, pod: str, done: str) -> str:
    if done == "bound" and pod in outcome.pipeline:
        return f"pipelined to {outcome.pipeline[pod].node}"
    return f"not {done}"


def _amounts(mine: Placement, other: Placement) -> Iterator[str]:
    if other.gpus is not None and not _near(mine.gpus or 0.0, other.gpus, GPU_TOLERANCE):
        yield f"{_number(mine.gpus)} GPUs, in KAI {_number(other.gpus)}"
    if other.devices is not None and (mine.devices or 0) != other.devices:
        yield f"{mine.devices or 0} devices, in KAI {other.devices}"
    if other.portion is None or mine.portion is None:
        return
    if not _near(mine.portion, other.portion, GPU_TOLERANCE):
        yield f"{_number(mine.portion)} of a device, in KAI {_number(other.portion)}"


def _evictions(ours: Outcome, theirs: Outcome) -> Iterator[Difference]:
    for pod in sorted({*ours.evict, *theirs.evict}):
        mine, other = ours.evict.get(pod), theirs.evict.get(pod)
        if other is None:
            assert mine is not None
            beneficiary = f" for {mine.preemptor}" if mine.preemptor else ""
            text = f"evicted by {mine.action}{beneficiary}, KAI did not evict it"
        elif mine is None:
            beneficiary = f" for {other.preemptor}" if other.preemptor else ""
            text = f"not evicted, KAI evicted it by {other.action}{beneficiary}"
        elif mine.action != other.action:
            text = f"evicted by {mine.action}, KAI evicted it by {other.action}"
        elif other.preemptor_known and (mine.preemptor or None) != (other.preemptor or None):
            text = f"evicted for {mine.preemptor}, KAI evicted it for {other.preemptor}"
        else:
            continue
        yield Difference("evict", pod, f"pod {pod}: {text}")


# --- shared devices ------------------------------------------------------------------------------


def compare_devices(ours: Outcome, theirs: Outcome, world: World) -> list[Difference]:
    """Compares which pods share a device; the names of the devices may differ.

    ``compare_decisions`` reports pods that are on different nodes on the two sides.
    """
    mine, other = _sharers(ours, world), _sharers(theirs, world)
    differences = []
    for pod in sorted({*mine, *other}):
        if not _same_place(pod, ours, theirs):
            continue
        left, right = mine.get(pod, Counter()), other.get(pod, Counter())
        if left != right:
            text = f"pod {pod}: {sharing(left)}, in KAI {sharing(right)}"
            differences.append(Difference("devices", pod, text))
    return differences


def _same_place(pod: str, ours: Outcome, theirs: Outcome) -> bool:
    for side in ("bind", "pipeline"):
        mine, other = getattr(ours, side).get(pod), getattr(theirs, side).get(pod)
        if (mine is None) != (other is None):
            return False
        if mine is not None and mine.node != other.node:
            return False
    return True


def _sharers(outcome: Outcome, world: World) -> Sharers:
    where: dict[str, tuple[str, tuple[str, ...]]] = {
        key: (pod.node, pod.gpu_groups)
        for key, pod in world.pods.items()
        if pod.gpu_groups and pod.status in ACTIVE_USED and not world.reservation(pod)
    }
    for pod, placement in [*outcome.bind.items(), *outcome.pipeline.items()]:
        where.pop(pod, None)
        if placement.gpu_groups:
            where[pod] = (placement.node, placement.gpu_groups)
    return sharers(where)


def sharers(where: Mapping[str, tuple[str, tuple[str, ...]]]) -> Sharers:
    """For each pod on shared devices: the other pods on each of its devices.

    >>> sharers({"a": ("n1", ("x",)), "b": ("n1", ("x",)), "c": ("n2", ("x",))})["a"]
    Counter({frozenset({'b'}): 1})
    """
    members: dict[tuple[str, str], set[str]] = {}
    for pod, (node, groups) in where.items():
        for group in groups:
            members.setdefault((node, group), set()).add(pod)
    return {
        pod: Counter(frozenset(members[node, group] - {pod}) for group in groups)
        for pod, (node, groups) in where.items()
    }


def sharing(devices: Counter[frozenset[str]]) -> str:
    """One entry of `sharers` in words."""
    if not devices:
        return "on no shared device"
    parts = [
        f"shares with {names(others)}" if others else "has a device to itself"
        for others in sorted(devices.elements(), key=sorted)
    ]
    return parts[0] if len(parts) == 1 else f"on {len(parts)} devices: {'; '.join(parts)}"


# --- messages ------------------------------------------------------------------------------------

_STALE = "Job is stale."
_SEVERAL = "Unable to schedule podgroup: "
# The text of an error starts with a capital letter or with the name of a queue. The reasons in the
# text ("3 node(s) didn't have ...") start with a lower-case letter, and their counts are compared.
_REPEATS = re.compile(
    r"(?:^|(?<=\n)|(?<=: ))\d+ (?=[A-Z]|\S+ quota has reached|node-group \S+ can allocate)"
)


def compare_messages(
    ours: Outcome, theirs: Outcome, *, judged: Callable[[str, str], bool]
) -> list[Difference]:
    """Compares the messages of the pod groups for which ``judged(group, KAI's text)`` is true."""
    differences = []
    for group in sorted({*ours.messages, *theirs.messages}):
        mine = [text for text in ours.messages.get(group, ()) if not text.startswith(_STALE)]
        other = [text for text in theirs.messages.get(group, ()) if not text.startswith(_STALE)]
        if not judged(group, other[0] if other else ""):
            continue
        if len(mine) == len(other) and all(map(same_message, mine, other)):
            continue
        text = f"group {group}: {_quote(mine)}; KAI says {_quote(other)}"
        differences.append(Difference("message", group, text))
    return differences


def same_message(mine: str, other: str) -> bool:
    """Whether two messages are equal except for the counts of repeated errors.

    >>> same_message("PodSchedulingErrors: Resources were not found.",
    ...              "Unable to schedule podgroup: 5 Resources were not found.")
    True
    """
    if mine == other:
        return True
    left, right = _REPEATS.sub("", mine), _REPEATS.sub("", other)
    if left == mine and right == other:
        return False
    # With a repeated error, KAI writes _SEVERAL in place of the reason. The count at the start of
    # the error also changes the order of the errors.
    return _errors(left) == _errors(right)


def _errors(text: str) -> list[str]:
    reason, colon, rest = text.partition(": ")
    named = colon and (re.fullmatch(r"[A-Z][A-Za-z]+", reason) or f"{reason}: " == _SEVERAL)
    return sorted(part.strip(". ") for part in (rest if named else text).split(". \n"))


def _quote(texts: list[str]) -> str:
    return " / ".join(repr(text) for text in texts) if texts else "no message"


# --- queues --------------------------------------------------------------------------------------


def compare_queues(
    ours: Mapping[str, Numbers], theirs: Mapping[str, Numbers], *, absent_is_zero: tuple[str, ...]
) -> list[Difference]:
    """Compares every recorded number; a number in ``absent_is_zero`` that is not recorded is 0."""
    differences = []
    for queue in sorted(theirs):
        if queue not in ours:
            text = f"queue {queue}: no numbers"
            differences.append(Difference("queue", queue, text))
            continue
        for resource in RESOURCES:
            mine, other = ours[queue].get(resource, {}), theirs[queue].get(resource, {})
            for name in NUMBERS:
                if name not in other and name not in absent_is_zero:
                    continue
                left, right = mine.get(name, 0.0), other.get(name, 0.0)
                if same_number(left, right):
                    continue
                what = f"{name.replace('_', ' ')} of {resource}"
                text = f"queue {queue}: {what} is {_number(left)}, KAI has {_number(right)}"
                differences.append(Difference("queue", queue, text))
    return differences


def same_number(left: float | None, right: float | None) -> bool:
    """Whether two numbers are equal to 1e-6, relative or absolute.

    ``None`` (unlimited) equals only ``None``.
    """
    if left is None or right is None:
        return left is right
    return _near(left, right, TOLERANCE * max(1.0, abs(left), abs(right)))


def _near(left: float, right: float, tolerance: float) -> bool:
    return abs(left - right) <= tolerance


def _number(value: float | None) -> str:
    if value is None:
        return "unlimited"
    return f"{value:.10g}"
