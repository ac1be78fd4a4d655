"""What a pod waits for, in one sentence, and what to do next.

    waits_for(facts).what        # "queue", "room", "nothing", ...

The first obstacle counts: for a pod of another scheduler, queues do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kai.api import keys, quantities
from kai.api.reading import annotations_of, at, mapping, objects, text
from kai.engine.text import listing
from kai.service.pod_facts import Object, PodFacts

_GPUS = ("nvidia.com/gpu", "amd.com/gpu")


@dataclass(frozen=True, slots=True)
class WaitsFor:
    """`what`: a word for programs; `sentence`: for people."""

    what: str
    sentence: str


def waits_for(facts: PodFacts) -> WaitsFor:
    for look in (_is_over, _other_scheduler, _has_a_node, _gates, _request, _odd, _group, _queue):
        found = look(facts)
        if found is not None:
            return found
    return _plan(facts)


# ---- the pod itself ------------------------------------------------------------------------------


def _is_over(facts: PodFacts) -> WaitsFor | None:
    phase = at(facts.pod, "status", "phase")
    if phase in ("Succeeded", "Failed"):
        return WaitsFor("nothing", f"It has ended ({phase}), and waits for nothing.")
    if "deletionTimestamp" in mapping(facts.pod.get("metadata")):
        holders = at(facts.pod, "metadata", "finalizers") or []
        said = f"; its finalizers are {listing(map(str, holders))}" if holders else ""
        return WaitsFor("end", f"It is being deleted, and waits for its end{said}.")
    return None


def _other_scheduler(facts: PodFacts) -> WaitsFor | None:
    name = text(at(facts.pod, "spec", "schedulerName")) or "default-scheduler"
    if name == facts.scheduler_name or at(facts.pod, "spec", "nodeName"):
        return None
    return WaitsFor(
        "other_scheduler",
        f"It waits for the scheduler {name!r}, and {facts.scheduler_name} does not look at it:"
        f" to change that, create it with spec.schedulerName: {facts.scheduler_name}.",
    )


def _has_a_node(facts: PodFacts) -> WaitsFor | None:
    node = text(at(facts.pod, "spec", "nodeName"))
    if not node:
        return None
    if at(facts.pod, "status", "phase") == "Running":
        return WaitsFor("nothing", f"It runs on {node}, and waits for nothing.")
    if facts.node is None:
        return WaitsFor(
            "node",
            f"It is bound to {node}, which is not there any more: delete the pod, so that its"
            " owner makes another one.",
        )
    return WaitsFor(
        "kubelet",
        f"It is bound to {node}, and waits for the kubelet there: `kubectl describe pod` shows"
        " images and volumes.",
    )


def _gates(facts: PodFacts) -> WaitsFor | None:
    gates = gates_of(facts.pod)
    if not gates:
        return None
    names = listing(gates)
    return WaitsFor(
        "gates", f"It waits until its scheduling gates are removed by what set them: {names}."
    )


# ---- what belongs to it --------------------------------------------------------------------------


def _request(facts: PodFacts) -> WaitsFor | None:
    if facts.request is None:
        return None
    node = text(at(facts.request, "spec", "selectedNode"))
    phase, reason = at(facts.request, "status", "phase"), at(facts.request, "status", "reason")
    if phase == "Failed":
        why = f" ({reason})" if reason else ""
        return WaitsFor(
            "binding",
            f"Its binding to {node} failed{why}, and it waits for the scheduler to try again: see"
            " the log of the binder, if it goes on failing.",
        )
    waiting = [each for each in facts.reservations if not _is_known(each)]
    if waiting:
        name = text(at(waiting[0], "metadata", "name"))
        return WaitsFor(
            "gpu_reservation",
            f"It waits until the reservation pod {name} on {node} knows its GPU: see `kubectl"
            f" describe pod {name} -n {at(waiting[0], 'metadata', 'namespace')}`.",
        )
    return WaitsFor(
        "binder",
        f"The scheduler chose {node}, and it waits for the binder: see whether that runs, if this"
        " takes more than some seconds.",
    )


def _is_known(reservation: Object) -> bool:
    return bool(annotations_of(reservation).get(keys.RESERVED_DEVICE_ANNOTATION))


def _odd(facts: PodFacts) -> WaitsFor | None:
    if not facts.verdict.left_out:
        return None
    said = facts.verdict.left_out[-1]
    return WaitsFor("change", f"It waits until what makes no sense is changed: {said}.")


def _group(facts: PodFacts) -> WaitsFor | None:
    if not facts.group_name:
        why = "; ".join(facts.verdict.warnings)
        said = f" ({why})" if why else ""
        return WaitsFor(
            "pod_group", f"It waits for a pod group{said}: see whether the pod-grouper runs."
        )
    if facts.group is None and facts.verdict.group is None:
        return WaitsFor(
            "pod_group",
            f"It waits for the pod group {facts.group_name}, which does not exist: create it, or"
            f" take the annotation {keys.POD_GROUP_ANNOTATION} from the pod.",
        )
    return None


def _queue(facts: PodFacts) -> WaitsFor | None:
    missing = next((each for each in facts.queues if not each.exists), None)
    if missing is None:
        return None
    if missing is facts.queues[0]:
        return WaitsFor(
            "queue",
            f"It waits for the queue {missing.name}, which does not exist: create it, or give the"
            f" workload another one by the label {keys.QUEUE_LABEL}.",
        )
    child = facts.queues[facts.queues.index(missing) - 1].name
    return WaitsFor(
        "queue",
        f"It waits for the queue {missing.name}, the parent of {child}, which does not exist:"
        " create it.",
    )


# ---- what the engine says ------------------------------------------------------------------------


def _plan(facts: PodFacts) -> WaitsFor:
    verdict = facts.verdict
    if verdict.decision == "bind":
        return WaitsFor(
            "scheduler",
            f"kai would bind it to {verdict.node} now: it waits for the next cycle of the"
            " scheduler; see whether that runs, if nothing happens within some seconds.",
        )
    if verdict.decision == "pipeline":
        return WaitsFor(
            "leaving_pods",
            f"It waits for pods that leave {verdict.node}, where it is to have their room:"
            " nothing to do.",
        )
    reasons = verdict.group.reasons if verdict.group is not None else ()
    for reason in sorted(reasons, key=lambda each: each.pod != facts.name):
        if reason.code in _BY_REASON:
            what, sentence = _BY_REASON[reason.code]
            return WaitsFor(what, sentence(facts, reason.facts))
    first = verdict.why[1] if len(verdict.why) > 1 else "the scheduler gives no reason."
    return WaitsFor("scheduler", f"It waits: {first}")


Sentence = Callable[[PodFacts, Mapping[str, Any]], str]


def _always(sentence: str) -> Sentence:
    return lambda facts, about: sentence


def _own_queue(facts: PodFacts) -> str:
    return facts.queues[0].name if facts.queues else "its queue"


def _limit(facts: PodFacts, about: Mapping[str, Any]) -> str:
    queue = about.get("queue") or _own_queue(facts)
    return (
        f"It waits for the limit of queue {queue}: other pods of the queue have to end, or its"
        " limit has to be raised."
    )


def _quota(facts: PodFacts, about: Mapping[str, Any]) -> str:
    queue = about.get("queue") or _own_queue(facts)
    return (
        f"It cannot be preempted, so it waits for the quota of queue {queue}: pods of the queue"
        " that cannot be preempted have to end, its quota has to be raised, or the workload has"
        " to be made preemptible."
    )


def _not_ready(facts: PodFacts, about: Mapping[str, Any]) -> str:
    parts = [each for each in about.get("pod_sets", ()) if isinstance(each, Mapping)]
    short = [each for each in parts if (each.get("exist") or 0) < (each.get("minimum") or 0)]
    if not short:
        return "It waits for other pods of its group: see why these are not ready."
    said = " and ".join(
        f"{each.get('exist')} of {each.get('minimum')} pods"
        + (f" of {each.get('subgroup')}" if each.get("subgroup") else "")
        for each in short
    )
    return f"It waits for pods of its group that do not exist: there are {said}; see their owner."


_ROOM = (
    "It waits for room: pods have to end, or nodes have to be added; `kai queues --live` shows"
    " who has what."
)
_BY_REASON: Mapping[str, tuple[str, Sentence]] = {
    "over_limit": ("limit", _limit),
    "non_preemptible_over_quota": ("quota", _quota),
    "not_ready": ("pods", _not_ready),
    "no_pods": ("pods", _not_ready),
    "not_enough_gpus": ("room", _always(_ROOM)),
    "not_enough_resources": ("room", _always(_ROOM)),
    "gang_incomplete": (
        "room",
        _always(
            "It waits for room for all of its group at once: pods have to end, or nodes have to be"
            " added; `kai queues --live` shows who has what."
        ),
    ),
    "larger_than_any_node": (
        "node",
        _always("No node is large enough: it has to ask for less, or a larger node has to come."),
    ),
    "no_matching_node": (
        "node",
        _always(
            "No node takes it as it is written: change its selector, affinity or tolerations, or"
            " the labels and taints of nodes."
        ),
    ),
    "topology_too_small": (
        "room",
        _always("It waits for room in one domain of its topology: pods have to end there."),
    ),
    "preemption_delay": (
        "time",
        lambda facts, about: (
            f"It may preempt others from {about.get('until')} on, and waits until then."
        ),
    ),
    "config_map_missing": ("config_map", _always("It waits for a ConfigMap: create it.")),
    "volume_not_ready": ("volume", _always("It waits for its volumes: see their claims.")),
    "resource_claim_not_ready": ("claim", _always("It waits for its resource claims: see these.")),
    "no_free_devices": ("room", _always("It waits for devices that its claims ask for.")),
    "queue_not_leaf": (
        "queue",
        lambda facts, about: (
            f"The queue {_own_queue(facts)} has queues below it, and takes no pods: use one of"
            " those."
        ),
    ),
}


# ---- looking into pods ---------------------------------------------------------------------------


def gates_of(pod: Object) -> list[str]:
    return [text(each.get("name")) for each in objects(at(pod, "spec", "schedulingGates"))]


def containers_of(pod: Object) -> list[Object]:
    return objects(at(pod, "spec", "containers"))


def gpus_of(pod: Object) -> Fraction:
    """Whole devices."""
    total = Fraction(0)
    for each in containers_of(pod):
        resources = mapping(each.get("resources"))
        asked = {**mapping(resources.get("limits")), **mapping(resources.get("requests"))}
        total += sum(quantities.parse_or_zero(asked.get(name)) for name in _GPUS)
    return total
