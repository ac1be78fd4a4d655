"""A recorded case (tests/conformance) as objects for an API server.

    held = Held(case, "c07", "my-namespace", datetime.now(timezone.utc))
    for step in held.steps: ...     # manifests; different steps need different seconds
    held.record                     # KAI's decisions, with the names of the manifests
    why_not(case)                   # "" or why a case cannot run on an API server

The names of all objects begin with that of the case, which is also their node pool: many cases
share a cluster and a namespace. A common prefix keeps the order of names. UIDs and creation times
are the server's. Times are whole seconds, so objects are created in their recorded order, and a
case whose decisions depend on other times, or on UIDs, is left out.
"""

import copy
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import Any

from kai.api import keys
from kai.verify import Case, Engine
from kai.verify.compare import compare_decisions
from kai.verify.objects import parse_time
from kai.verify.outcome import Outcome, Placement, from_plan, from_record
from kai.verify.runner import NOW, REPORTED_ONLY

from .client import Object

KINDS = {
    "nodes": ("v1", "Node"),
    "priorityClasses": ("scheduling.k8s.io/v1", "PriorityClass"),
    "topologies": ("kai.scheduler/v1alpha1", "Topology"),
    "queues": (keys.QUEUE_API, "Queue"),
    "podGroups": (keys.POD_GROUP_API, "PodGroup"),
    "pods": ("v1", "Pod"),
}
SET_BY_THE_SERVER = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
STAMPS = (keys.LAST_START_ANNOTATION, keys.STALE_ANNOTATION, keys.LAST_EVICTION_ANNOTATION)
SHARED = (keys.GPU_FRACTION_ANNOTATION, keys.GPU_MEMORY_ANNOTATION)
LONGEST = "24h"  # longer than any test
MOST_STEPS = 10  # each takes a second
MOST_OBJECTS = 100
AGES_S = (20, 600)  # a decision that is valid at both ages is valid whenever the test looks
EPOCH = datetime(2026, 6, 1, tzinfo=timezone.utc)


def record_of(case: Case) -> Outcome:
    """KAI's decisions; of several cycles, those of the first."""
    data = case.data
    record = data["expect"] if case.kind == "random" else data.get("observed") or {}
    return from_record((record.get("rounds") or [{}])[0] if "rounds" in record else record)


class Held:
    def __init__(self, case: Case, name: str, namespace: str, now: datetime) -> None:
        self.case, self.name, self.namespace = case, name, namespace
        recorded = parse_time(case.data.get("now") or NOW)
        self._snapshot, self._shift = case.data["snapshot"], now - recorded
        self._now = now

    @property
    def about(self) -> str:
        return f"{self.case.area} {self.case.id}"

    # ---- names -----------------------------------------------------------------------------------

    def own(self, name: str) -> str:
        """The name in the cluster of an object of the case; "" stays."""
        return f"{self.name}-{name}" if name else ""

    def key(self, full: str) -> str:
        """The same for "namespace/name"."""
        return f"{self.namespace}/{self.own(full.rpartition('/')[2])}"

    @property
    def config(self) -> dict[str, Any]:
        """The scheduler's. Bare pods are moved as KAI moves them: the server deletes pods with the
        owner that `read_cases` gives them, as it does not exist."""
        config = self._snapshot.get("config") or {}
        return {**config, "compat": {**(config.get("compat") or {}), "bare_pods": "kai"}}

    @cached_property
    def params(self) -> dict[str, Any]:
        """`schedulerParams`, for the node pool of this case."""
        given = dict(self._snapshot["schedulerParams"])
        return given | {
            "partitionParams": {**given["partitionParams"], "NodePoolLabelValue": self.name}
        }

    @cached_property
    def record(self) -> Outcome:
        found = record_of(self.case)
        return Outcome(
            bind={self.key(pod): self._place(each) for pod, each in found.bind.items()},
            pipeline={self.key(pod): self._place(each) for pod, each in found.pipeline.items()},
            evict={
                self.key(pod): replace(each, preemptor=each.preemptor and self.key(each.preemptor))
                for pod, each in found.evict.items()
            },
        )

    def _place(self, placement: Placement) -> Placement:
        return Placement(self.own(placement.node))

    # ---- manifests -------------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> list[Object]:
        found = self._snapshot["rawObjects"].get("nodes") or ()
        return [self._manifest("nodes", each) for each in found]

    @cached_property
    def steps(self) -> list[list[Object]]:
        """All objects except the nodes, in order: one second has objects of only one step."""
        ranks = defaultdict[int, list[Object]](list)
        for kind in list(KINDS)[1:]:
            for each, rank in self._ranked(kind):
                ranks[rank].append(self._manifest(kind, each))
        return [ranks[rank] for rank in sorted(ranks)]

    def _ranked(self, kind: str) -> Iterator[tuple[Object, int]]:
        """Objects in their order, and the step of each: later ones of those that compete are in
        later steps. These are queues of one parent, pod groups, pods of one group. KAI orders pods
        of equal age by UIDs."""

        def rivals(each: Object) -> str:
            if kind == "queues":
                return str(each["spec"].get("parentQueue"))
            if kind == "pods":
                return str(
                    (each["metadata"].get("annotations") or {}).get(keys.POD_GROUP_ANNOTATION)
                )
            return ""

        def born(each: Object) -> tuple[str, ...]:
            if kind not in ("queues", "podGroups", "pods"):
                return ()
            metadata = each["metadata"]
            at = str(metadata.get("creationTimestamp", ""))
            return (at, metadata["uid"]) if kind == "pods" else (at,)

        objects = self._snapshot["rawObjects"].get(kind) or ()
        steps = defaultdict[str, dict[tuple[str, ...], int]](dict)
        for each in sorted(objects, key=lambda each: (born(each), each["metadata"]["name"])):
            known = steps[rivals(each)]
            yield each, known.setdefault(born(each), len(known))

    def _manifest(self, kind: str, recorded: Object) -> Object:
        version, name = KINDS[kind]
        each = copy.deepcopy(recorded)
        metadata = each["metadata"]
        for member in SET_BY_THE_SERVER:
            metadata.pop(member, None)
        metadata["name"] = self.own(metadata["name"])
        labels = metadata.setdefault("labels", {})
        pool = labels.get(keys.NODE_POOL_LABEL)
        labels[keys.NODE_POOL_LABEL] = f"{self.name}-{pool}" if pool else self.name
        getattr(self, f"_change_{name.lower()}", lambda each: None)(each)
        return {"apiVersion": version, "kind": name, **each}

    def _change_node(self, node: Object) -> None:
        node["status"].pop("conditions", None)  # kwok sets them

    def _change_queue(self, queue: Object) -> None:
        if parent := queue["spec"].get("parentQueue"):
            queue["spec"]["parentQueue"] = self.own(parent)

    def _change_podgroup(self, group: Object) -> None:
        spec, metadata = group["spec"], group["metadata"]
        metadata["namespace"] = self.namespace
        group.pop("status", None)
        spec["queue"] = self.own(spec["queue"])
        spec["priorityClassName"] = self.own(spec.get("priorityClassName", ""))
        for each in (spec, *(spec.get("subGroups") or ())):
            if each.get("topologyConstraint", {}).get("topology"):
                each["topologyConstraint"]["topology"] = self.own(
                    each["topologyConstraint"]["topology"]
                )
        for key in STAMPS:
            if written := (metadata.get("annotations") or {}).get(key):
                moment = parse_time(written) + self._shift
                metadata["annotations"][key] = text_of(moment)

    def _change_pod(self, pod: Object) -> None:
        spec, metadata = pod["spec"], pod["metadata"]
        phase = pod.pop("status")["phase"]
        metadata["namespace"] = self.namespace
        del metadata["ownerReferences"]
        annotations = metadata.setdefault("annotations", {})
        if group := annotations.get(keys.POD_GROUP_ANNOTATION):
            annotations[keys.POD_GROUP_ANNOTATION] = self.own(group)
        spec["terminationGracePeriodSeconds"] = 0
        for container in spec["containers"]:
            container["image"] = "none"
            requests = container.setdefault("resources", {}).get("requests", {})
            extended = {name: each for name, each in requests.items() if "/" in name}
            container["resources"].setdefault("limits", {}).update(extended)
        if spec.get("nodeName"):
            spec["nodeName"] = self.own(spec["nodeName"])
            annotations |= {
                "Pending": {"sim/start-delay": LONGEST},
                "Succeeded": {"sim/run-for": "1ms"},
                "Failed": {"sim/fail-after": "1ms"},
            }.get(phase, {})

    # ---- what the scheduler should see -----------------------------------------------------------

    def snapshot(self, seed: int) -> Object:
        """The objects as the server will show them: arbitrary UIDs, and creation times a second
        apart."""
        draw = random.Random(seed)
        objects = dict[str, list[Object]]()
        for rank, step in enumerate([self.nodes, *self.steps]):
            for manifest in step:
                each = copy.deepcopy(manifest)
                born = self._now + timedelta(seconds=rank)
                each["metadata"] |= {
                    "uid": f"{draw.getrandbits(64):016x}",
                    "creationTimestamp": text_of(born),
                }
                kind = each["kind"]
                if kind == "Node":
                    each["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
                elif kind == "Pod":
                    each["status"] = {"phase": phase_of(each)}
                [listed] = (name for name, (_, of) in KINDS.items() if of == kind)
                objects.setdefault(listed, []).append(each)
        return {"schedulerParams": self.params, "rawObjects": objects, "config": self.config}


def text_of(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def phase_of(pod: Object) -> str:
    """The phase that a simulated kubelet sets."""
    annotations = pod["metadata"]["annotations"]
    if not pod["spec"].get("nodeName") or "sim/start-delay" in annotations:
        return "Pending"
    if "sim/run-for" in annotations:
        return "Succeeded"
    return "Failed" if "sim/fail-after" in annotations else "Running"


# ---- which cases -------------------------------------------------------------------------------


def why_not(case: Case) -> str:
    """ "" for a case that can run on an API server, otherwise the reason."""
    return why_not_recorded(case) or why_not_created(case) or why_not_decided(case)


def why_not_recorded(case: Case) -> str:
    data = case.data
    if data.get("notes") or data.get("varies") or case.id in REPORTED_ONLY:
        return "KAI's own answer varies, or contradicts itself"
    record = record_of(case)
    if not (record.bind or record.evict or record.pipeline):
        return "nothing is bound or evicted"
    if set(record.bind) & set(record.evict):
        return "a pod is bound and evicted in one cycle"
    return ""


def why_not_created(case: Case) -> str:
    objects = {kind: found for kind, found in case.data["snapshot"]["rawObjects"].items() if found}
    if others := sorted(objects.keys() - KINDS.keys() - {"deviceClasses"}):
        return f"it has {', '.join(others)}"
    if sum(map(len, objects.values())) > MOST_OBJECTS:
        return f"it has more than {MOST_OBJECTS} objects"
    pods = objects.get("pods", ())
    names = [each["metadata"]["name"] for each in pods]
    if len(set(names)) < len(names):
        return "two pods of different namespaces have one name"
    nodes = {each["metadata"]["name"]: each for each in objects.get("nodes", ())}
    for node in nodes.values():
        if any(
            (each["type"] == "Ready") != (each["status"] == "True")
            for each in node["status"].get("conditions", ())
        ):
            return "a node is not ready, and kwok would make it so"
        if any(t["effect"] == "NoExecute" for t in node.get("spec", {}).get("taints", ())):
            return "a taint evicts pods by itself"
    for pod in pods:
        metadata, spec = pod["metadata"], pod["spec"]
        annotations = metadata.get("annotations") or {}
        if any(key in annotations for key in SHARED):
            return "pods share devices, which kai run does not bind"
        if metadata.get("deletionTimestamp"):
            return "a pod is being deleted, at a time that the server sets"
        if spec.get("nodeName", next(iter(nodes), "")) not in nodes:
            return "a pod is on a node that does not exist: it is collected"
        if not spec.get("nodeName") and pod["status"]["phase"] != "Pending":
            return "a pod without a node has ended"
    if any(each.get("globalDefault") for each in objects.get("priorityClasses", ())):
        return "a cluster has one default priority class"
    return ""


def why_not_decided(case: Case) -> str:
    """Whether the engine's decisions on the server's objects are the recorded ones, or depend on
    UIDs and ages."""
    held = Held(case, "c00", "door", EPOCH)
    if len(held.steps) > MOST_STEPS:
        return f"it takes more than {MOST_STEPS} s to create its objects in order"
    for as_kai in (False, True):
        if all(not differences(held, as_kai, seed, age) for seed, age in enumerate(AGES_S)):
            return ""
    return "UIDs, or ages of other than whole seconds, decide"


def needs_as_kai(case: Case) -> bool:
    """Whether the recorded decisions need KAI's behaviour where ours differs."""
    held = Held(case, "c00", "door", EPOCH)
    return any(differences(held, False, seed, age) for seed, age in enumerate(AGES_S))


def differences(held: Held, as_kai: bool, seed: int, age_s: float) -> list[str]:
    """The differences between the record and the engine's decisions on the objects as the server
    shows them."""
    now = text_of(EPOCH + timedelta(seconds=age_s))
    plan = Engine(as_kai=as_kai)(held.snapshot(seed), now=now)
    return [str(each) for each in compare_decisions(from_plan(plan), held.record)]
