"""Scenario files: a cluster in a few lines of YAML, and the expected plan.

A file holds one scenario, or several separated by ``---``::

    name: a group of two waits whole when only one pod fits
    rules: [G13, P5]
    cluster:
      queues: {vision: {deserved: {gpu: 2}}}
      nodes: {n1: {gpu: 1}}
    pending:
      vision/train: {pods: 2, gpu: 1, min_member: 2}
    expect:
      vision/train: {placed: 0, verdict: unschedulable, message: gang scheduling}

``name``      the statement that the scenario tests, as a sentence
``rules``     the rules of the specification that it tests, free text
``cluster``   ``queues``, ``nodes``, ``priority_classes`` (name: value), ``objects`` (kind: list)
``running``, ``releasing``, ``pending``
              pods by group ``namespace/name``; a list if the pods of a group differ
``actions``   the actions to run, default ``[allocate]``
``placement`` ``{gpu: spread, cpu: binpack}``
``config``    other settings of the scheduler, as in KAI's configuration file
``params``    ``schedulerParams``, as in a snapshot
``cycles``    the number of cycles to run, default 1; ``expect`` describes the last one
``now``       the time of the cycle
``expect``    by group, and under ``queues`` by queue

A queue has ``deserved``, ``limit`` (``{gpu, cpu, memory}``; the default is unlimited, except for
the deserved GPUs: 0), ``weight``, ``priority``, ``parent``, ``created``, ``spec``. A node has
``gpu``, ``cpu``, ``memory``, ``pods``, ``gpu_memory_mib``, ``resources``, ``labels``, ``taints``,
``unschedulable``, ``ready``, ``conditions`` (names of bad ones), and ``count`` for several equal
nodes. A pod group has ``pods``, ``gpu``, ``cpu``, ``memory``, ``min_member``, ``priority``,
``queue`` (default: the namespace), ``node``, ``selector``, ``tolerations``, ``affinity``,
``anti_affinity``, ``bind_request`` (a node) and the other options of `kai.Cluster.pending`.

For a group, ``expect`` has ``placed`` (pods bound in this cycle), ``pipelined`` (pods that wait for
a place that is being freed), ``evicted``, ``nodes`` (a list of all nodes used, or node: number of
pods), ``verdict``, ``reasons`` (codes) and ``message`` (part of a message). For a queue it has
numbers such as ``{gpu: {fair_share: 4}}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kai.admission import fields
from kai.admission.pods import pods_in
from kai.api import documents, files, kinds, places, times
from kai.api.nearest import did_you_mean
from kai.api.reading import at
from kai.engine.config import config_json
from kai.engine.objects import PodOptions
from kai.engine.text import count
from kai.engine.values import REASON_CODES, VERDICTS
from kai.errors import InvalidConfigError, InvalidInputError
from kai.verify.compare import Difference, same_number
from kai.verify.objects import Json
from kai.verify.outcome import NUMBERS, RESOURCES, Outcome, names

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster, Rejected

__all__ = ["Scenario", "check_scenario", "read_scenarios", "scenarios_in"]

DEFAULT_NOW = "2026-01-01T00:00:00Z"

MEMBERS = (
    "name",
    "rules",
    "cluster",
    "running",
    "releasing",
    "pending",
    "actions",
    "placement",
    "config",
    "params",
    "cycles",
    "now",
    "expect",
)
CLUSTER_MEMBERS = ("queues", "nodes", "priority_classes", "objects")
QUEUE_MEMBERS = ("deserved", "limit", "weight", "priority", "parent", "created", "spec")
NODE_MEMBERS = {
    "gpu": "gpus",
    "cpu": "cpus",
    "memory": "memory",
    "pods": "pods",
    "gpu_memory_mib": "gpu_memory_mib",
    "resources": "resources",
    "labels": "labels",
    "taints": "taints",
    "unschedulable": "cordoned",
    "ready": "ready",
    "conditions": "",
    "count": "",
}
_NAMED_OTHERWISE = ("gpus", "cpus", "node_selector")
GROUP_MEMBERS = {
    "gpu": "gpus",
    "cpu": "cpus",
    "selector": "node_selector",
    "bind_request": "",
    "node": "",
    **{name: name for name in PodOptions.__annotations__ if name not in _NAMED_OTHERWISE},
}
EXPECTED = ("placed", "pipelined", "evicted", "nodes", "verdict", "reasons", "message")


MOST_VALUES = 1_000_000
MOST_PODS = 100_000
"""The limit for the number of pods and nodes of a scenario together."""
MOST_CYCLES = 1_000

COUNTED = ("placed", "pipelined", "evicted")
STARTED = ("running", "releasing", "pending")


@dataclass(frozen=True)
class Scenario:
    """One scenario. All names in it exist."""

    name: str
    rules: tuple[str, ...]
    source: str
    expect: Mapping[str, Mapping[str, Any]]
    queues: Mapping[str, Mapping[str, Mapping[str, float | None]]]
    now: str
    cycles: int
    document: Json = field(repr=False)
    where: _Where = field(repr=False, compare=False)

    def build(self) -> Cluster:
        """The scenario's cluster. Raises InvalidInputError that names the wrong member."""
        return _build(self)


# --- reading -------------------------------------------------------------------------------------


def read_scenarios(path: Path) -> list[Scenario]:
    """The scenarios of one file. Raises InvalidInputError for the first mistake in it."""
    found = []
    for each in scenarios_in(path):
        if isinstance(each, InvalidInputError):
            raise each
        found.append(each)
    return found


def scenarios_in(path: Path) -> Iterator[Scenario | InvalidInputError]:
    """The scenarios of one file. A scenario with mistakes yields one error for each mistake."""
    try:
        text = documents.decode(files.read(path))
        read = list(documents.read_yaml(text, MOST_VALUES))
    except InvalidInputError as error:
        line = getattr(error, "line", None)
        yield InvalidInputError(f"{path}{'' if line is None else f':{line}'}: {error}")
        return
    if broken := [each for each in read if each.problem]:
        for each in broken:
            yield InvalidInputError(f"{path}:{each.problem_line}: {each.problem}")
        return
    lines = _Places(str(path), text)
    written = [(index, each.value) for index, each in enumerate(read) if each.value is not None]
    if not written:
        yield InvalidInputError(f"{path}: the file has no scenario")
    for index, document in written:
        try:
            scenario = _scenario(document, _Where(lines, index))
            problems = list(_problems(scenario))
        except InvalidInputError as error:
            yield error
        else:
            yield from problems
            if not problems:
                yield scenario


def _scenario(document: Any, where: _Where) -> Scenario:
    where.mapping(document, MEMBERS)
    name = document.get("name")
    if not isinstance(name, str) or not name.strip():
        raise where.error("a scenario needs a name, the sentence it proves")
    where = replace(where, scenario=name)
    rules = document.get("rules") or []
    where("rules").texts(rules)
    if document.get("now") is not None:
        where("now").time(document["now"])
    _check_cluster(where("cluster"), document.get("cluster") or {})
    if "actions" in document:
        where("actions").texts(document["actions"] or [])
    for part in STARTED:
        for group in where(part).mapping(document.get(part) or {}):
            if str(group).count("/") != 1:
                raise where(part, str(group)).error(
                    f"a group is named namespace/name, not {group!r}"
                )
    for _, _, shape, place in _shapes(document, where):
        place.mapping(shape, tuple(GROUP_MEMBERS))
        for member in ("node", "bind_request"):
            if shape.get(member):
                place(member).texts(shape[member])
    cycles = document.get("cycles", 1)
    if not isinstance(cycles, int) or isinstance(cycles, bool) or cycles < 1:
        raise where("cycles").error("expected a number of at least 1")
    if cycles > MOST_CYCLES:
        raise where("cycles").error(f"a scenario has at most {MOST_CYCLES:,} cycles")
    _check_size(document, where)
    expect = dict(where("expect").mapping(document.get("expect")))
    if not expect:
        raise where("expect").error("a scenario expects something")
    queues = expect.pop("queues", None) or {}
    _check_numbers(where("expect", "queues"), queues)
    for group, wanted in expect.items():
        _check_expected(where("expect", str(group)), wanted)
    return Scenario(
        name=name.strip(),
        rules=tuple(_list(rules)),
        source=where.places.source,
        expect=expect,
        queues=queues,
        now=str(document.get("now") or DEFAULT_NOW),
        cycles=cycles,
        document=document,
        where=where,
    )


def _check_cluster(where: _Where, described: Any) -> None:
    """Checks the members of ``cluster``. Queues, nodes and pods are checked when they are made."""
    where.mapping(described, CLUSTER_MEMBERS)
    classes = where("priority_classes")
    for name, value in classes.mapping(described.get("priority_classes") or {}).items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise classes(name).error("expected a whole number")
    kinds_of = where("objects")
    for kind, manifests in kinds_of.mapping(described.get("objects") or {}).items():
        if not isinstance(manifests, list):
            raise kinds_of(kind).error("expected a list of objects")
        for index, manifest in enumerate(manifests):
            kinds_of(kind, str(index)).mapping(manifest)


def _check_size(document: Json, where: _Where) -> None:
    """Rejects scenarios with too many pods and nodes, before any object is made."""
    described = document.get("cluster") or {}
    nodes = described.get("nodes")
    numbered = [
        (each.get("count"), where("cluster", "nodes", str(name), "count"))
        for name, each in (nodes.items() if isinstance(nodes, Mapping) else ())
        if isinstance(each, Mapping)
    ]
    numbered += [
        (shape.get("pods"), place("pods")) for *_, shape, place in _shapes(document, where)
    ]
    left = MOST_PODS
    for number, place in numbered:
        left -= number if isinstance(number, int) else 1
        if left < 0:
            raise place.error(f"a scenario has at most {MOST_PODS:,} pods and nodes in all")


def _check_numbers(where: _Where, queues: Any) -> None:
    """Checks the expected numbers of queues."""
    for queue, numbers in where.mapping(queues).items():
        of_queue = where(str(queue))
        for resource, values in of_queue.mapping(numbers, RESOURCES).items():
            for number, value in of_queue(resource).mapping(values, NUMBERS).items():
                if value is not None and not _is_number(value):
                    raise of_queue(resource, number).error("expected a number, or null")


def _check_expected(where: _Where, wanted: Any) -> None:
    """Checks ``expect`` of a group: its members, and the verdicts and reasons of plans."""
    where.mapping(wanted, EXPECTED)
    if not isinstance(wanted.get("nodes") or [], (list, Mapping)):
        raise where("nodes").error("expected a list of nodes, or {node: number of pods}")
    for name in COUNTED:
        count = wanted.get(name, 0)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise where(name).error("expected a number of pods")
    where("message").texts(wanted.get("message") or [])
    if "verdict" in wanted:
        where("verdict").known("verdict", wanted["verdict"], VERDICTS)
    for code in _list(wanted.get("reasons") or []):
        where("reasons").known("reason", code, REASON_CODES)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shapes(document: Json, where: _Where) -> Iterator[tuple[str, str, Any, _Where]]:
    """Part, pod group, the members for some or all of its pods, and their place in the file."""
    for part in STARTED:
        for group, shapes in (document.get(part) or {}).items():
            if not isinstance(shapes, list):
                yield part, group, shapes or {}, where(part, group)
                continue
            for index, shape in enumerate(shapes):
                yield part, group, shape or {}, where(part, group, str(index))


class _Places:
    """The lines of a scenario file. The file is searched only when an error needs a line."""

    def __init__(self, source: str, text: str) -> None:
        self.source = source
        self._text = text

    @cached_property
    def _nodes(self) -> list[Any]:
        return places.nodes_of(self._text)

    def line(self, document: int, path: Sequence[str]) -> int:
        return places.line_of(self._nodes, document, path) or 1


@dataclass(frozen=True)
class _Where:
    """A place in a scenario file, for messages."""

    places: _Places
    document: int
    scenario: str = ""
    path: tuple[str, ...] = ()

    def __call__(self, *path: str) -> _Where:
        return replace(self, path=(*self.path, *path))

    def error(self, problem: str) -> InvalidInputError:
        parts = [f"{self.places.source}:{self.places.line(self.document, self.path)}"]
        if self.scenario:
            parts.append(repr(self.scenario))
        if self.path:
            parts.append(".".join(self.path))
        return InvalidInputError(f"{': '.join(parts)}: {problem}")

    def mapping(self, value: Any, members: Sequence[str] = ()) -> Mapping[str, Any]:
        """``value``; raises unless it is a mapping that has only these members."""
        if not isinstance(value, Mapping):
            raise self.error("expected a mapping")
        for name in value:
            if members and name not in members:
                raise self(str(name)).unknown("member", name, members)
        return value

    def texts(self, value: Any) -> None:
        """Raises unless it is a text, or a list of texts."""
        if not all(isinstance(each, str) for each in _list(value)):
            raise self.error("expected a string, or a list of strings")

    def time(self, value: Any) -> None:
        """Raises unless it is a time."""
        try:
            times.to_ns(value if isinstance(value, str) else str(value))
        except InvalidInputError as error:
            raise self.error(str(error)) from None

    def known(self, what: str, name: Any, names: Iterable[str]) -> None:
        """Raises unless the name is one of these."""
        if name not in (names := list(names)):
            raise self.unknown(what, name, names)

    def unknown(self, what: str, name: Any, names: Iterable[str]) -> InvalidInputError:
        return self.error(f"there is no {what} {name!r}{did_you_mean(name, names)}")


# --- strictness ----------------------------------------------------------------------------------


def _problems(scenario: Scenario) -> Iterator[InvalidInputError]:
    """Unknown names, rejected objects, and skipped actions and plugins."""
    where, document = scenario.where, scenario.document
    cluster = scenario.build()
    objects = cluster.objects
    named = {
        kind: [str(at(each, "metadata", "name")) for each in objects.get(kinds.LISTS[kind], ())]
        for kind in ("Node", "Queue", "PriorityClass")
    }
    for part, group, shape, place in _shapes(document, where):
        queue = shape.get("queue", group.partition("/")[0])
        if queue not in named["Queue"] and not _may_be_without_queue(scenario.expect.get(group)):
            yield place(*(("queue",) if "queue" in shape else ())).unknown(
                "queue", queue, named["Queue"]
            )
        priority = shape.get("priority")
        if isinstance(priority, str) and priority not in named["PriorityClass"]:
            yield place("priority").unknown("priority class", priority, named["PriorityClass"])
        for member in ("node",) if part != "pending" else ("bind_request",):
            for node in _list(shape.get(member) or []):
                if node not in named["Node"]:
                    yield place(member).unknown("node", node, named["Node"])
    yield from _warnings(document, where, cluster)
    for kind, manifests in _objects(document).items():
        for index, manifest in enumerate(manifests):
            whole = {**manifest, "kind": kind}
            for found in fields.of_manifest(whole, pods_in(whole)):
                path = map(str, found.at)
                place = where("cluster", "objects", kind, str(index), *path)
                yield place.error(f"{found.message}; {found.fix}")
    for rejected in cluster.rejected:
        yield _place_of(rejected, document, where).error(f"this is not used: {rejected}")
    groups = [kinds.full_name(each) for each in objects.get("podGroups", ())]
    yield from _expected_nowhere(scenario, groups, named)


def _expected_nowhere(
    scenario: Scenario, groups: Sequence[str], named: Mapping[str, Sequence[str]]
) -> Iterator[InvalidInputError]:
    """Errors for the pod groups, nodes and queues of `expect` that are not in the cluster."""
    expected = scenario.where("expect")
    for group, wanted in scenario.expect.items():
        if group not in groups:
            yield expected(group).unknown("pod group", group, groups)
        for node in list(wanted.get("nodes") or []):
            if node not in named["Node"]:
                yield expected(group, "nodes").unknown("node", node, named["Node"])
    for queue in scenario.queues:
        if queue not in named["Queue"]:
            yield expected("queues", queue).unknown("queue", queue, named["Queue"])


def _may_be_without_queue(expected: Mapping[str, Any] | None) -> bool:
    """Whether the queue of this group may be unknown, because the scenario tests that."""
    reasons = _list((expected or {}).get("reasons") or [])
    return "queue_does_not_exist" in reasons or (expected or {}).get("verdict") == "invalid"


def _warnings(document: Json, where: _Where, cluster: Cluster) -> Iterator[InvalidInputError]:
    from kai import _core

    try:
        text = config_json(cluster.to_snapshot()["config"])
        warnings = _core.Config.parse(text).located_warnings
    except InvalidConfigError as error:
        yield where("config").error(str(error).removeprefix("config: "))
        return
    for path, warning in warnings:
        # In a scenario, `actions` is beside `config`, not in it.
        own = path == ["actions"] and "actions" in document
        yield where(*(() if own else ("config",)), *path).error(warning)


def _objects(document: Json) -> Mapping[str, Any]:
    return (document.get("cluster") or {}).get("objects") or {}


def _place_of(rejected: Rejected, document: Json, where: _Where) -> _Where:
    """The place in the file that describes the rejected object."""
    described = document.get("cluster") or {}
    for kind, member in (("Queue", "queues"), ("Node", "nodes")):
        if rejected.kind == kind and rejected.name in (described.get(member) or {}):
            return where("cluster", member, rejected.name)
    group = rejected.name
    if rejected.kind == "Pod":
        group = group.rpartition("-")[0]
    for part in STARTED:
        if group in (document.get(part) or {}):
            return where(part, group)
    return where("cluster", "objects", rejected.kind)


# --- building ------------------------------------------------------------------------------------


def _build(scenario: Scenario) -> Cluster:
    import kai

    where, document = scenario.where, scenario.document
    cluster = kai.Cluster(name=scenario.name, now=scenario.now)
    described = document.get("cluster") or {}
    for name, value in (described.get("priority_classes") or {}).items():
        cluster.priority_class(str(name), value)
    for name, queue in where("cluster", "queues").mapping(described.get("queues") or {}).items():
        _add_queue(cluster, str(name), queue or {}, where("cluster", "queues", str(name)))
    for name, node in where("cluster", "nodes").mapping(described.get("nodes") or {}).items():
        _add_node(cluster, str(name), node or {}, where("cluster", "nodes", str(name)))
    for kind, manifests in (described.get("objects") or {}).items():
        _guard(where("cluster", "objects", str(kind)), cluster.add, kind, *manifests)
    for part, group, shape, place in _shapes(document, where):
        _add_pods(cluster, part, group, shape, place)
    config, params = _config(document, where)
    _guard(where("config"), cluster.configure, config)
    for name, value in params.items():
        _guard(where("params", str(name)), cluster.configure, **{str(name): value})
    return cluster


def _guard(where: _Where, call: Any, *args: Any, **kwargs: Any) -> None:
    """Calls a builder; its errors get the place in the file."""
    try:
        call(*args, **kwargs)
    except (InvalidInputError, TypeError, ValueError) as error:
        raise where.error(str(error)) from None


def _add_queue(cluster: Cluster, name: str, queue: Any, where: _Where) -> None:
    given = where.mapping(queue, QUEUE_MEMBERS)
    deserved = where("deserved").mapping(given.get("deserved") or {}, RESOURCES)
    limit = where("limit").mapping(given.get("limit") or {}, RESOURCES)
    amounts = {
        "deserved_gpus": deserved.get("gpu", 0),
        "deserved_cpus": deserved.get("cpu"),
        "deserved_memory": deserved.get("memory"),
        "gpu_limit": limit.get("gpu"),
        "cpu_limit": limit.get("cpu"),
        "memory_limit": limit.get("memory"),
    }
    rest = {k: given[k] for k in ("weight", "priority", "parent", "created", "spec") if k in given}
    _guard(where, cluster.queue, name, **amounts, **rest)


def _add_node(cluster: Cluster, name: str, node: Any, where: _Where) -> None:
    given = where.mapping(node, tuple(NODE_MEMBERS))
    options = {NODE_MEMBERS[k]: v for k, v in given.items() if NODE_MEMBERS[k]}
    if isinstance(options.get("taints"), str):
        options["taints"] = [options["taints"]]
    conditions = given.get("conditions") or []
    where("conditions").texts(conditions)
    if "count" in given:
        _guard(where, cluster.nodes, name, given["count"], **options)
    elif conditions:
        made = type(cluster)()
        _guard(where, made.node, name, **options)
        manifest: Json = made.to_snapshot()["rawObjects"]["nodes"][0]
        manifest["status"]["conditions"] += [{"type": c, "status": "True"} for c in conditions]
        _guard(where, cluster.add, "Node", manifest)
    else:
        _guard(where, cluster.node, name, **options)


def _add_pods(cluster: Cluster, part: str, group: str, shape: Any, where: _Where) -> None:
    options = {GROUP_MEMBERS[k]: v for k, v in shape.items() if GROUP_MEMBERS[k]}
    if isinstance(options.get("tolerations"), str):
        options["tolerations"] = [options["tolerations"]]
    if part == "pending":
        if "node" in shape:
            raise where("node").error("a pending pod has no node; did you mean 'selector'?")
        before = {_key(pod) for pod in cluster.objects["pods"]}
        _guard(where, cluster.pending, group, **options)
        if shape.get("bind_request"):
            made = [pod for pod in cluster.objects["pods"] if _key(pod) not in before]
            requests = [_bind_request(pod, shape["bind_request"]) for pod in made]
            _guard(where, cluster.add, "BindRequest", *requests)
        return
    if "node" not in shape:
        raise where.error("these pods need a node")
    builder = cluster.running if part == "running" else cluster.releasing
    _guard(where, builder, group, node=shape["node"], **options)


def _key(pod: Mapping[str, Any]) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _bind_request(pod: Mapping[str, Any], node: str) -> Json:
    namespace, name = _key(pod)
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"bind-{namespace}-{name}"},
        "spec": {
            "podName": name,
            "selectedNode": node,
            "receivedResourceType": "Regular",
            "receivedGPU": {"count": 1, "portion": "1.00"},
        },
    }


def _plugins(strategies: Mapping[str, str]) -> Json:
    """The plugin settings that KAI's operator makes from a placement (spec 2 C8).

    They are applied over the built-in plugins.
    """
    spread = strategies["gpu"] == "spread"
    return {
        "podaffinity": True,
        "gpuspread": spread,
        "gpupack": not spread,
        "gpusharingorder": not spread,
        "nodeplacement": dict(strategies),
    }


def _config(document: Json, where: _Where) -> tuple[Json, Json]:
    actions = document.get("actions") or ["allocate"]
    if isinstance(actions, list):
        actions = ", ".join(map(str, actions))
    config: Json = {"actions": actions}
    placement = where("placement").mapping(document.get("placement") or {}, ("gpu", "cpu"))
    for resource, strategy in placement.items():
        if strategy not in ("binpack", "spread"):
            problem = f"a placement is binpack or spread, not {strategy!r}"
            raise where("placement", resource).error(problem)
    given = where("config").mapping(document.get("config") or {})
    config.update(given)
    if placement:
        own = where("config", "plugins").mapping(given.get("plugins") or {})
        of_placement = _plugins({"gpu": "binpack", "cpu": "binpack", **placement})
        config["plugins"] = of_placement | dict(own)
    return config, dict(where("params").mapping(document.get("params") or {}))


# --- checking ------------------------------------------------------------------------------------


def check_scenario(scenario: Scenario, plan: Any, outcome: Outcome) -> Iterator[Difference]:
    """All differences between the plan and the expectations of the scenario."""
    for name, wanted in scenario.expect.items():
        group = plan.pod_groups.get(name)
        if group is None:
            yield Difference("group", name, f"group {name}: not in the plan")
            continue
        pods = set(scenario_pods(plan, name, outcome))
        yield from _check_counts(name, wanted, pods, outcome)
        yield from _check_words(name, wanted, group)
    for queue, numbers in scenario.queues.items():
        for resource, values in numbers.items():
            for number, value in values.items():
                own = outcome.queues.get(queue, {}).get(resource, {}).get(number, 0.0)
                if not same_number(own, value):
                    what = f"{number.replace('_', ' ')} of {resource}"
                    text = f"queue {queue}: {what} is {_plain(own)}, should be {_plain(value)}"
                    yield Difference("queue", queue, text)


def scenario_pods(plan: Any, group: str, outcome: Outcome) -> Iterator[str]:
    """The pods of a group that have decisions; the builder names pods after their group."""
    for pod in {*outcome.bind, *outcome.pipeline, *outcome.evict}:
        stem, _, number = pod.rpartition("-")
        if stem == group and number.isdigit():
            yield pod


def _check_counts(
    name: str, wanted: Mapping[str, Any], pods: set[str], outcome: Outcome
) -> Iterator[Difference]:
    for word, side in (
        ("placed", outcome.bind),
        ("pipelined", outcome.pipeline),
        ("evicted", outcome.evict),
    ):
        own = sorted(pods & set(side))
        if word in wanted and len(own) != wanted[word]:
            those = f": {names(own)}" if own else ""
            text = f"group {name}: {count(len(own), 'pod')} {word}, should be {wanted[word]}{those}"
            yield Difference("group", name, text)
    if "nodes" in wanted:
        used = Counter(
            placement.node
            for side in (outcome.bind, outcome.pipeline)
            for pod, placement in side.items()
            if pod in pods
        )
        expected = wanted["nodes"]
        exact = isinstance(expected, Mapping)
        same = used == Counter(expected) if exact else set(used) == set(_list(expected))
        if not same:
            own_nodes = ", ".join(f"{node}: {count}" for node, count in sorted(used.items()))
            text = f"group {name}: on nodes {{{own_nodes}}}, should be on {_written(expected)}"
            yield Difference("group", name, text)


def _check_words(name: str, wanted: Mapping[str, Any], group: Any) -> Iterator[Difference]:
    if "verdict" in wanted and group.verdict != wanted["verdict"]:
        text = f"group {name}: verdict is {group.verdict}, should be {wanted['verdict']}"
        yield Difference("group", name, text)
    for code in _list(wanted.get("reasons") or []):
        own = sorted({reason.code for reason in group.reasons})
        if code not in own:
            found = f"are {names(own)}" if own else "are none"
            yield Difference("group", name, f"group {name}: reasons {found}, should have {code}")
    for part in _list(wanted.get("message") or []):
        if not any(part in message for message in group.messages):
            shown = " / ".join(map(repr, group.messages)) or "none"
            text = f"group {name}: messages are {shown}, should contain {part!r}"
            yield Difference("message", name, text)


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _written(expected: Any) -> str:
    if isinstance(expected, Mapping):
        return "{" + ", ".join(f"{node}: {count}" for node, count in expected.items()) + "}"
    return ", ".join(map(str, _list(expected)))


def _plain(value: float | None) -> str:
    return "unlimited" if value is None else f"{value:.10g}"
