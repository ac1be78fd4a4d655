"""The state of one pod in layers, from the pod down to events, and what it waits for. No I/O.

    report = report_of(facts)
    [each.title for each in report.layers]      # Pod, Pod group, Queues, ...
    report.waits_for.sentence

Layers that do not apply are omitted: a pod without a BindRequest has no such layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kai.api import keys, times
from kai.api.isolations import isolation_of, sentence_of
from kai.api.kinds import full_name
from kai.api.reading import annotations_of, at, labels_of, mapping, objects, text
from kai.controllers.progress import failed_in
from kai.controllers.refused_writes import refused_in
from kai.engine.order import age
from kai.engine.text import Table, count, number
from kai.errors import InvalidInputError
from kai.live.explaining.planned import QueueFacts
from kai.live.explaining.pod_facts import Object, PodFacts, last_seen
from kai.live.explaining.waits_for import WaitsFor, containers_of, gates_of, gpus_of, waits_for

MOST_EVENTS = 10
LONG = 40
"""Texts of this length are not repeated."""
_READY = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


@dataclass(frozen=True, slots=True)
class Layer:
    """`rows`: of two columns, the first one empty if the row continues; or of `columns`."""

    name: str
    title: str
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...] = ("", "")
    note: str = ""

    def table(self, said: set[str]) -> Table:
        """`said`: long texts that were shown already; they are not repeated."""
        right = frozenset(range(1, 5)) if self.name == "queues" else frozenset()
        rows = [line for row in self.rows for line in _lines(row, said)]
        return Table(self.title, self.columns, rows, right=right, note=self.note)

    def to_data(self) -> Any:
        """Members by their names, a list for a member with several rows; or a list of rows."""
        if self.columns == ("", ""):
            return self._members()
        names = [each.replace(" ", "_") for each in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def _members(self) -> dict[str, str | list[str]]:
        found: dict[str, list[str]] = {}
        last = ""
        for name, value in self.rows:
            last = name.replace(" ", "_") or last
            found.setdefault(last, []).append(value)
        return {key: each[0] if len(each) == 1 else each for key, each in found.items()}


@dataclass(frozen=True, slots=True)
class PodReport:
    facts: PodFacts
    layers: tuple[Layer, ...]
    waits_for: WaitsFor

    def to_dict(self) -> dict[str, Any]:
        return {
            "pod": self.facts.name,
            "now": times.to_text(self.facts.now_ns),
            "layers": {each.name: each.to_data() for each in self.layers},
            "isolation": isolation_of(self.facts.pod, self.facts.node) or None,
            "waits_for": self.waits_for.what,
            "explanation": self.waits_for.sentence,
            "notes": list(self.facts.notes),
        }


def report_of(facts: PodFacts) -> PodReport:
    makers = (_pod, _group, _queues, _plan, _request, _node, _reservations, _events)
    layers = [each for make in makers if (each := make(facts)) is not None]
    return PodReport(facts, tuple(layers), waits_for(facts))


# ---- pod and group -------------------------------------------------------------------------------


def _pod(facts: PodFacts) -> Layer:
    pod = facts.pod
    scheduler = text(at(pod, "spec", "schedulerName")) or "default-scheduler"
    if scheduler != facts.scheduler_name:
        scheduler += f", not {facts.scheduler_name}"

    def rows() -> Iterator[tuple[str, str]]:
        yield "phase", _phase(pod, facts.now_ns)
        yield "scheduler", scheduler
        claims = ", ".join(
            text(each.get("name")) for each in objects(at(pod, "spec", "resourceClaims"))
        )
        if requested := ", ".join(_requested(pod)):
            yield "asks for", requested
        elif not claims:
            yield "asks for", "nothing"
        if isolation := sentence_of(pod, facts.node):
            yield "isolation", isolation
        if claims:
            yield "claims", claims
        if node := text(at(pod, "spec", "nodeName")):
            yield "node", node
        if gates := gates_of(pod):
            yield "gates", ", ".join(gates)
        for each in objects(at(pod, "status", "conditions")):
            if each.get("type") in ("PodScheduled", "PodBound", "DisruptionTarget"):
                yield text(each.get("type")), _condition(each)

    return Layer("pod", f"Pod {facts.name}", tuple(rows()))


def _phase(pod: Object, now_ns: int) -> str:
    phase = text(at(pod, "status", "phase")) or "Pending"
    since = _age(at(pod, "metadata", "creationTimestamp"), now_ns)
    phase_text = f"{phase}, created {since} ago" if since else phase
    leaving = _age(at(pod, "metadata", "deletionTimestamp"), now_ns)
    return f"{phase_text}, deleted {leaving} ago" if leaving else phase_text


def _requested(pod: Object) -> Iterator[str]:
    if gpus := gpus_of(pod):
        yield count(gpus, "GPU")
    annotations = annotations_of(pod)
    for key in (keys.GPU_FRACTION_ANNOTATION, keys.GPU_MEMORY_ANNOTATION):
        if key in annotations:
            devices = annotations.get(keys.GPU_DEVICES_ANNOTATION)
            yield f"{key} {annotations[key]}" + (f" on {devices} GPUs" if devices else "")
    if cpu := [text(each) for each in _requests(pod, "cpu")]:
        yield f"CPU {' + '.join(cpu)}"
    if memory := [text(each) for each in _requests(pod, "memory")]:
        yield f"memory {' + '.join(memory)}"


def _requests(pod: Object, resource: str) -> Iterator[Any]:
    for each in containers_of(pod):
        if amount := at(each, "resources", "requests", resource):
            yield amount


def _condition(condition: Object) -> str:
    reason, message = text(condition.get("reason")), text(condition.get("message"))
    text_of = text(condition.get("status")) + (f" ({reason})" if reason else "")
    return f"{text_of}: {message}" if message else text_of


def _group(facts: PodFacts) -> Layer | None:
    if not facts.group_name:
        why = "; ".join(facts.verdict.warnings) or "it names none, and none was created for it"
        return Layer("pod_group", "Pod group", (("found", f"no: {why}"),))
    group, plan = facts.group, facts.verdict.group

    def rows() -> Iterator[tuple[str, str]]:
        if group is None:
            planned = plan is not None
            yield "found", "not created yet" if planned else "no: it does not exist"
        spec = mapping(at(group, "spec"))
        queue = plan.queue if plan is not None else text(spec.get("queue"))
        if queue:
            yield "queue", queue
        if "minMember" in spec:
            yield "minimum", count(spec["minMember"], "pod")
        if minimum := spec.get("minSubGroup"):
            yield "minimum", count(minimum, "sub-group")
        if parts := objects(spec.get("subGroups")):
            names = (f"{each.get('name')} (min {each.get('minMember', 1)})" for each in parts)
            yield "sub-groups", ", ".join(names)
        if priority := text(spec.get("priorityClassName")):
            yield "priority", priority
        if level := text(at(spec, "topologyConstraint", "requiredTopologyLevel")):
            yield "required level", level
        if stale := text(annotations_of(group).get(keys.STALE_ANNOTATION)):
            yield "stale since", stale
        for each in objects(at(group, "status", "schedulingConditions")):
            yield "condition", f"{each.get('type')} ({each.get('reason')}): {each.get('message')}"

    return Layer("pod_group", f"Pod group {facts.group_name}", tuple(rows()))


# ---- queues --------------------------------------------------------------------------------------


def _queues(facts: PodFacts) -> Layer | None:
    return layer_of_queues(facts.queues)


def layer_of_queues(queues: Sequence[QueueFacts]) -> Layer | None:
    """`queues`: a queue, its parent, and so on."""
    if not queues:
        return None
    below = ["", *(each.name for each in queues)]
    rows = tuple(_queue(each, child) for each, child in zip(queues, below, strict=False))
    columns = ("queue", "quota", "limit", "fair share", "in use", "note")
    return Layer("queues", "Queues, in GPUs", rows, columns)


def _queue(queue: QueueFacts, child: str) -> tuple[str, ...]:
    note = f"parent of {child}" if child else ""
    if not queue.exists:
        return (queue.name, "-", "-", "-", "-", f"does not exist; {note}".rstrip("; "))
    amounts = (queue.deserved, queue.limit, queue.fair_share, queue.allocated)
    return (queue.name, *map(number, amounts), note)


# ---- the plan and what came of it ----------------------------------------------------------------


def _plan(facts: PodFacts) -> Layer | None:
    verdict = facts.verdict
    rows = []
    if verdict.decision:
        decided = {"bind": "bind it to", "pipeline": "promise it a place on", "evict": "evict it"}
        rows.append(("decision", f"{decided[verdict.decision]} {verdict.node}".strip()))
    rows += [("left out", each) for each in verdict.left_out]
    rows += [("why" if number == 0 else "", each) for number, each in enumerate(verdict.why)]
    if not rows:
        return None
    return Layer("plan", "The decision of kai's next cycle", tuple(rows))


def _request(facts: PodFacts) -> Layer | None:
    request = facts.request
    if request is None:
        return None
    status, spec = mapping(request.get("status")), mapping(request.get("spec"))

    def rows() -> Iterator[tuple[str, str]]:
        phase = text(status.get("phase")) or "Pending"
        made = _age(at(request, "metadata", "creationTimestamp"), facts.now_ns)
        yield "phase", f"{phase}, created {made} ago" if made else phase
        yield "node", text(spec.get("selectedNode"))
        if groups := spec.get("selectedGPUGroups"):
            yield "GPU groups", ", ".join(map(str, groups))
        if reason := text(status.get("reason")):
            yield "reason", reason
        if attempts := status.get("failedAttempts"):
            limit = spec.get("backoffLimit")
            yield "failures", f"{attempts} of {limit}" if limit is not None else str(attempts)

    return Layer("bind_request", f"BindRequest {full_name(request)}", tuple(rows()))


def _node(facts: PodFacts) -> Layer | None:
    node = facts.node
    if node is None:
        return None
    conditions = {each.get("type"): each for each in objects(at(node, "status", "conditions"))}

    def rows() -> Iterator[tuple[str, str]]:
        ready = conditions.get("Ready")
        yield "ready", _condition(ready) if ready else "unknown"
        for kind in _READY[1:]:
            if at(conditions.get(kind), "status") == "True":
                yield kind, _condition(conditions[kind])
        if at(node, "spec", "unschedulable"):
            yield "cordoned", "yes"
        room = mapping(at(node, "status", "allocatable"))
        gpus = {key: amount for key, amount in room.items() if key.endswith("/gpu")}
        yield "GPUs", ", ".join(f"{key} {amount}" for key, amount in gpus.items()) or "none"

    return Layer("node", f"Node {at(node, 'metadata', 'name')}", tuple(rows()))


def _reservations(facts: PodFacts) -> Layer | None:
    if not facts.reservations:
        return None
    rows = []
    for each in facts.reservations:
        index = text(annotations_of(each).get(keys.RESERVED_DEVICE_ANNOTATION)) or "unknown yet"
        group = text(labels_of(each).get(keys.GPU_GROUP_LABEL))
        rows.append((full_name(each), text(at(each, "status", "phase")), group, index))
    columns = ("pod", "phase", "GPU group", "GPU")
    return Layer("gpu_reservations", "GPU reservation", tuple(rows), columns)


# ---- events --------------------------------------------------------------------------------------


def _events(facts: PodFacts) -> Layer | None:
    if facts.events is None:
        return Layer("events", "Events", (("read", "no: this user may not list events"),))
    if not facts.events:
        return None
    last = facts.events[-MOST_EVENTS:]
    rows = tuple(_event(each, facts.now_ns) for each in last)
    left = len(facts.events) - len(last)
    note = f"and {count(left, 'older event')}" if left else ""
    return Layer("events", "Events", rows, ("ago", "about", "reason", "message"), note)


def _event(event: Object, now_ns: int) -> tuple[str, ...]:
    times_seen = event.get("count") or at(event, "series", "count") or 1
    message = text(event.get("message"))
    more = f" (x{times_seen})" if times_seen != 1 else ""
    return (
        _age(last_seen(event), now_ns) or "?",
        text(at(event, "involvedObject", "kind")),
        text(event.get("reason")),
        f"{message}{more}",
    )


def _age(stamp: Any, now_ns: int) -> str:
    """The age; "" if it is unknown."""
    try:
        then = times.to_datetime(times.to_ns(text(stamp)))
    except InvalidInputError:
        return ""
    return age(then, times.to_datetime(now_ns))


def tables_of(layers: Iterable[Layer], answer: str = "") -> list[Table]:
    """Tables for people: a text that conditions and events share is shown once, and sentences of
    the answer, which is shown before the tables, are not repeated."""
    said = set[str]()
    return [_without(answer, each).table(said) for each in layers]


def _without(answer: str, layer: Layer) -> Layer:
    """The layer of the plan without the sentences of the answer."""
    if layer.name != "plan":
        return layer
    rest: list[tuple[str, ...]] = []
    for name, sentence in layer.rows:
        if sentence not in answer:
            follows = name or any(row[0] in ("why", "") for row in rest)
            rest.append((name if follows else "why", sentence))
    return replace(layer, rows=tuple(rest))


def _lines(row: tuple[str, ...], said: set[str]) -> Iterator[tuple[str, ...]]:
    """A row for each line of its last cell."""
    *others, last = row
    start, message, end = _parts(last)
    if len(message) >= LONG:
        if message in said:
            message = "(as above)"
        said.add(message)
    # Texts of programs in Go may have a line break as two characters.
    first, *more = f"{start}{message}{end}".replace("\\n", "\n").splitlines() or [""]
    yield (*others, first.rstrip())
    for each in more:
        if each.strip():
            yield (*([""] * len(others)), each.rstrip())


def _parts(cell: str) -> tuple[str, str, str]:
    """The start of a condition's text, its message, and how often an event was seen."""
    found = _CELL.fullmatch(cell)
    assert found is not None
    start, message, end = found.groups(default="")
    failed = failed_in(message)
    if failed is not None:
        start, message = start + message.removesuffix(failed.text), failed.text
    elif refused_in(message) is not None:
        what, refused, message = message.partition(" is refused: ")
        start += what + refused
    return start, message.strip(), end


_CELL = re.compile(r"((?:\w+ \(\w+\): )?)(.*?)((?: \(x\d+\))?)", re.DOTALL)


_TITLES = {
    "pod": "Pod",
    "pod_group": "Pod group",
    "queues": "Queues, in GPUs",
    "plan": "The decision of kai's next cycle",
    "bind_request": "BindRequest",
    "node": "Node",
    "gpu_reservations": "GPU reservation",
    "events": "Events",
}


def layers_in(data: Mapping[str, Any]) -> tuple[Layer, ...]:
    """The layers of `PodReport.to_dict`, to show what another process has explained. Raises
    InvalidInputError for other data."""
    try:
        return tuple(_layer_in(name, each) for name, each in data.items())
    except (AttributeError, TypeError, ValueError):
        raise InvalidInputError("this is no explanation of a pod") from None


def _layer_in(name: str, data: Any) -> Layer:
    title = _TITLES.get(name, name)
    if isinstance(data, list):
        columns = tuple(each.replace("_", " ") for each in (data[0] if data else ()))
        return Layer(name, title, tuple(tuple(map(str, each.values())) for each in data), columns)
    rows = list[tuple[str, str]]()
    for member, value in data.items():
        first, *more = value if isinstance(value, list) else [value]
        rows += [(member.replace("_", " "), str(first)), *(("", str(each)) for each in more)]
    return Layer(name, title, tuple(rows))


def rows_of(layers: Iterable[Layer]) -> Iterator[Mapping[str, str]]:
    """A row for each line, of the columns layer, name and value."""
    for layer in layers:
        for name, *values in layer.rows:
            yield {"layer": layer.name, "name": name, "value": " ".join(values).strip()}
