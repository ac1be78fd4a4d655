"""What a pod waits for, in one sentence, and what to do next.

    waits_for(facts).what        # "queue", "room", "nothing", ...

The first obstacle counts: for a pod of another scheduler, queues do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kai.api import keys, quantities
from kai.api.reading import annotations_of, at, mapping, objects, text
from kai.api.refusals import refusal
from kai.controllers.planning.kinds import DEVICES, STORAGE
from kai.controllers.refused_writes import Refused
from kai.engine.text import listing
from kai.live.explaining.attempts import (
    Attempt,
    ago,
    attempts_of,
    eviction_refused,
    in_words,
    waiting_words,
)
from kai.live.explaining.held_back import held_back
from kai.live.explaining.pod_facts import Object, PodFacts

_GPUS = ("nvidia.com/gpu", "amd.com/gpu")


@dataclass(frozen=True, slots=True)
class WaitsFor:
    """`what`: a word for programs; `sentence`: for people."""

    what: str
    sentence: str


def waits_for(facts: PodFacts) -> WaitsFor:
    found = _found(facts)
    return WaitsFor(found.what, " ".join(found.sentence.replace("\\n", " ").split()))


def _found(facts: PodFacts) -> WaitsFor:
    found = next(filter(None, (look(facts) for look in _LOOKS)))
    refused = attempts_of(facts).refused
    if refused is None or found.what in ("refused", "nothing", "end"):
        return found
    if refused.rule.sentence in found.sentence:  # it names the rule already
        return found
    # A write that does not hold it up, such as its status
    return WaitsFor(found.what, f"{found.sentence} Besides, {_of_refused(refused)}")


# ---- the pod itself ------------------------------------------------------------------------------


def _is_over(facts: PodFacts) -> WaitsFor | None:
    phase = at(facts.pod, "status", "phase")
    if phase in ("Succeeded", "Failed"):
        return WaitsFor("nothing", f"It has ended ({phase}) and waits for nothing.")
    if "deletionTimestamp" in mapping(facts.pod.get("metadata")):
        holders = at(facts.pod, "metadata", "finalizers") or []
        finalizers = f"; its finalizers are {listing(map(str, holders))}" if holders else ""
        return WaitsFor("end", f"It is being deleted{finalizers}.")
    return None


def _other_scheduler(facts: PodFacts) -> WaitsFor | None:
    name = text(at(facts.pod, "spec", "schedulerName")) or "default-scheduler"
    if name == facts.scheduler_name or at(facts.pod, "spec", "nodeName"):
        return None
    return WaitsFor(
        "other_scheduler",
        f"It waits for the scheduler {name!r}; {facts.scheduler_name} ignores it. To change that,"
        f" create it with spec.schedulerName: {facts.scheduler_name}.",
    )


def _has_a_node(facts: PodFacts) -> WaitsFor | None:
    node = text(at(facts.pod, "spec", "nodeName"))
    if not node:
        return None
    if at(facts.pod, "status", "phase") == "Running":
        return _running(facts, node)
    if facts.node is None:
        return WaitsFor(
            "node",
            f"It is bound to {node}, which no longer exists: delete the pod, so that its owner"
            " creates another one.",
        )
    return WaitsFor(
        "kubelet",
        f"It is bound to {node} and waits for the kubelet there: `kubectl describe pod` shows"
        " images and volumes.",
    )


def _running(facts: PodFacts, node: str) -> WaitsFor:
    """A pod that runs, with what the plan does with it, or what keeps it."""
    verdict = facts.verdict
    about = " ".join(verdict.why[1:])
    if verdict.decision == "evict":
        does = f"move it to {verdict.node}" if verdict.node else "evict it"
        return WaitsFor(
            "nothing", f"It runs on {node}; the next cycle of kai would {does}. {about}".rstrip()
        )
    sentence = f"It runs on {node} and waits for nothing."
    if verdict.group is not None and verdict.group.verdict == "running":
        sentence = f"{sentence} {about}".rstrip()
    return WaitsFor("nothing", sentence)


def _gates(facts: PodFacts) -> WaitsFor | None:
    gates = gates_of(facts.pod)
    if not gates:
        return None
    names = listing(gates)
    return WaitsFor(
        "gates", f"It waits until its scheduling gates are removed by their owners: {names}."
    )


# ---- what belongs to it --------------------------------------------------------------------------


def _binding(facts: PodFacts) -> WaitsFor | None:
    """A binding that is under way, or that failed and is tried again."""
    attempts = attempts_of(facts)
    if attempts.under_way is not None:
        return _under_way(facts, attempts.under_way, attempts.failed)
    if attempts.failed is not None:
        failed = attempts.failed
        why, look = in_words(failed.text)
        looks = f" {look}." if look else ""
        return WaitsFor(
            "binding",
            f"Its binding{_to(failed)} failed{_ago(facts, failed)}: {why}.{looks} It is tried"
            " again.",
        )
    return _request(facts)


def _under_way(facts: PodFacts, attempt: Attempt, failed: Attempt | None) -> WaitsFor:
    since = ago(attempt.at_ns, facts.now_ns)
    sentence = (
        f"Its binding{_to(attempt)} has been under way for {since}: it waits for {attempt.text}."
    )
    if look := waiting_words(attempt.text):
        sentence += f" {look}."
    if failed is not None:
        why, fix = in_words(failed.text)
        sentence += f" The try before failed{_ago(facts, failed)}: {why}."
        if refusal(failed.text, inside=True) is not None:  # it may refuse this try as well
            sentence += f" {fix}."
    reserves = "reservation pod" in attempt.text
    return WaitsFor("gpu_reservation" if reserves else "binding", sentence)


def _to(attempt: Attempt) -> str:
    return f" to {attempt.node}" if attempt.node else ""


def _ago(facts: PodFacts, attempt: Attempt) -> str:
    found = ago(attempt.at_ns, facts.now_ns)
    return f" {found} ago" if found else ""


def _request(facts: PodFacts) -> WaitsFor | None:
    if facts.request is None:
        return None
    node = text(at(facts.request, "spec", "selectedNode"))
    waiting = [each for each in facts.reservations if not _is_known(each)]
    if waiting:
        name = text(at(waiting[0], "metadata", "name"))
        return WaitsFor(
            "gpu_reservation",
            f"It waits until the reservation pod {name} on {node} has its GPU: see `kubectl"
            f" describe pod {name} -n {at(waiting[0], 'metadata', 'namespace')}`.",
        )
    return WaitsFor(
        "binder",
        f"The scheduler chose {node}; it waits for the binder. If this takes more than some"
        " seconds, check that the binder runs.",
    )


def _is_known(reservation: Object) -> bool:
    return bool(annotations_of(reservation).get(keys.RESERVED_DEVICE_ANNOTATION))


def _refused(facts: PodFacts) -> WaitsFor | None:
    """An admission rule refuses a write without which it cannot be bound."""
    found = attempts_of(facts).refused
    if found is None or not found.blocks or facts.verdict.decision != "bind":
        return None
    return WaitsFor("refused", f"It waits for a write of the scheduler. {_of_refused(found)}")


def _of_refused(found: Refused) -> str:
    fix = found.rule.fix
    return (
        f"{found.what} is refused: {found.rule.sentence}. {fix[:1].upper()}{fix[1:]}. The write is"
        " tried again."
    )


def _odd(facts: PodFacts) -> WaitsFor | None:
    if not facts.verdict.left_out:
        return None
    problem = facts.verdict.left_out[-1]
    return WaitsFor("change", f"It waits until a mistake is corrected: {problem}.")


def _group(facts: PodFacts) -> WaitsFor | None:
    if not facts.group_name:
        why = "; ".join(facts.verdict.warnings)
        reason = f" ({why})" if why else ""
        return WaitsFor(
            "pod_group", f"It waits for a pod group{reason}: check that the pod-grouper runs."
        )
    if facts.group is None and facts.verdict.group is None:
        return WaitsFor(
            "pod_group",
            f"It waits for the pod group {facts.group_name}, which does not exist: create it, or"
            f" remove the annotation {keys.POD_GROUP_ANNOTATION} from the pod.",
        )
    return None


def _queue(facts: PodFacts) -> WaitsFor | None:
    missing = next((each for each in facts.queues if not each.exists), None)
    if missing is None:
        return None
    if missing is facts.queues[0]:
        return WaitsFor(
            "queue",
            f"It waits for the queue {missing.name}, which does not exist: create it, or name"
            f" another queue in the label {keys.QUEUE_LABEL} of the workload.",
        )
    child = facts.queues[facts.queues.index(missing) - 1].name
    return WaitsFor(
        "queue",
        f"It waits for the queue {missing.name}, the parent of {child}, which does not exist:"
        " create it.",
    )


# ---- what the engine says ------------------------------------------------------------------------


def _plan(facts: PodFacts) -> WaitsFor:
    """The plan does not know the memory of the running scheduler: conditions complete it."""
    held = held_back(facts)
    if facts.verdict.decision == "bind" and held.avoids(facts.verdict.node):
        return WaitsFor("time", f"It waits for another node. {' '.join(held.sentences())}")
    found = _of_plan(facts)
    if held.until and held.until in found.sentence:
        held = held._replace(until="")
    return WaitsFor(found.what, " ".join((found.sentence, *held.sentences())))


def _of_plan(facts: PodFacts) -> WaitsFor:
    verdict = facts.verdict
    if verdict.decision == "bind":
        unknown = ""
        if facts.events is None:  # a binding under way leaves no other mark
            unknown = (
                " Or its binding is under way: events show that, and this user may not list them."
            )
        return WaitsFor(
            "scheduler",
            f"kai would bind it to {verdict.node} now: it waits for the next cycle of the"
            f" scheduler.{unknown} If nothing happens within some seconds, check that the"
            " scheduler runs.",
        )
    if verdict.decision == "pipeline":
        return WaitsFor(
            "leaving_pods",
            f"It waits for pods that are leaving {verdict.node}; it gets their place. Nothing needs"
            " to be done.",
        )
    reasons = verdict.group.reasons if verdict.group is not None else ()
    for reason in sorted(reasons, key=lambda each: each.pod != facts.name):
        if reason.code in _BY_REASON:
            what, sentence = _BY_REASON[reason.code]
            return _unread(facts, reason.code, what) or WaitsFor(
                what, _with_facts(what, sentence(facts, reason.facts), verdict.why)
            )
    first = verdict.why[1] if len(verdict.why) > 1 else "the scheduler gives no reason."
    return WaitsFor("scheduler", f"It waits: {first}")


def _with_facts(what: str, sentence: str, why: Sequence[str]) -> str:
    """The sentence, and what decides in this cluster: the first sentence of `kai plan`."""
    if what in ("pods", "time") or len(why) < 2:  # it has the numbers already
        return sentence
    return f"{sentence} {why[1]}"


_LOOKS: tuple[Callable[[PodFacts], WaitsFor | None], ...] = (
    *(_is_over, _other_scheduler, _has_a_node, _gates, _binding, _odd, _group, _queue),
    *(_refused, _plan),
)


def _unread(facts: PodFacts, code: str, what: str) -> WaitsFor | None:
    """The reason follows only from objects that this user may not read."""
    if facts.unread.isdisjoint(_KINDS_OF.get(code, ())):
        return None
    return WaitsFor(
        what,
        f"kai cannot tell whether it waits for {_THINGS[what]}, because this user may not list"
        " them: use an account with the role that kai install --reader prints.",
    )


_KINDS_OF: Mapping[str, tuple[str, ...]] = {
    "volume_not_ready": STORAGE,
    "resource_claim_not_ready": DEVICES,
    "no_free_devices": DEVICES,
    "topology_too_small": ("Topology",),
}
_THINGS = {
    "volume": "its volumes",
    "claim": "its resource claims",
    "room": "devices or a place in its topology",
}

Sentence = Callable[[PodFacts, Mapping[str, Any]], str]


def _always(sentence: str) -> Sentence:
    return lambda facts, about: sentence


def _own_queue(facts: PodFacts) -> str:
    return facts.queues[0].name if facts.queues else "its queue"


def _limit(facts: PodFacts, about: Mapping[str, Any]) -> str:
    queues = _queues(facts, about, "limit")
    others, its = ("the queue", "its limit") if len(queues) == 1 else ("these queues", "the limits")
    sentence = (
        f"It waits for the {_of_queues('limit', queues)}: other pods of {others} must end, or {its}"
        " must be raised."
    )
    quotas = [each for each in about.get("also", ()) if "deserved" in each]
    return f"{sentence} {_quota(facts, {'also': quotas})}" if quotas else sentence


def _quota(facts: PodFacts, about: Mapping[str, Any]) -> str:
    queues = _queues(facts, about, "deserved")
    others, its = ("the queue", "the quota") if len(queues) == 1 else ("these queues", "the quotas")
    return (
        f"It is not preemptible, so it waits for the {_of_queues('quota', queues)}: other pods of"
        f" {others} that are not preemptible must end, {its} must be raised, or the workload must"
        " be made preemptible."
    )


def _queues(facts: PodFacts, about: Mapping[str, Any], bound: str) -> list[str]:
    """The queues with a bound of this kind that refuses the group."""
    refusing = [each for each in (about, *about.get("also", ())) if bound in each]
    queues = dict.fromkeys(each["queue"] for each in refusing)
    return list(queues) or [about.get("queue") or _own_queue(facts)]


def _of_queues(bound: str, queues: Sequence[str]) -> str:
    """ "limit of queue a", "limits of queues a and b"."""
    if len(queues) == 1:
        return f"{bound} of queue {queues[0]}"
    return f"{bound}s of queues {' and '.join(queues)}"


def _not_ready(facts: PodFacts, about: Mapping[str, Any]) -> str:
    parts = [each for each in about.get("pod_sets", ()) if isinstance(each, Mapping)]
    short = [each for each in parts if (each.get("exist") or 0) < (each.get("minimum") or 0)]
    if not short:
        return "It waits for other pods of its group: check why these are not ready."
    numbers = " and ".join(
        f"{each.get('exist')} of {each.get('minimum')} pods"
        + (f" of {each.get('subgroup')}" if each.get("subgroup") else "")
        for each in short
    )
    return (
        f"It waits for pods of its group that do not exist: there are {numbers}. Check their owner."
    )


def _delay(facts: PodFacts, about: Mapping[str, Any]) -> str:
    until = about.get("until")
    if not (why := eviction_refused(facts)):
        return f"It may preempt other pods only after {until}, and waits until then."
    rule = refusal(why, inside=True)
    fix = "" if rule is None else f" {rule.fix[:1].upper()}{rule.fix[1:]}."
    return f"{why.rstrip('.')}.{fix} It tries again after {until}."


def _devices(facts: PodFacts, about: Mapping[str, Any]) -> str:
    errors = [text(each.get("error")) for each in objects([*about.get("refusals", ())])]
    if not any("search for devices" in each for each in errors):
        return "It waits for devices that its claims request."
    return (
        "It waits for devices that its claims request, and the search for them takes too many"
        " steps: make the claims simpler, or set the switch claim_budgets of the scheduler to kai."
    )


_ROOM = (
    "It waits for free resources: pods must end, or nodes must be added. `kai queues --live` shows"
    " what each queue uses."
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
            "It waits for free resources for its whole group: pods must end, or nodes must be"
            " added."
            " `kai queues --live` shows what each queue uses."
        ),
    ),
    "larger_than_any_node": (
        "node",
        _always("No node is large enough: it must request less, or a larger node must be added."),
    ),
    "no_matching_node": (
        "node",
        _always(
            "No node matches it: change its selector, affinity or tolerations, or the labels and"
            " taints of nodes."
        ),
    ),
    "topology_too_small": (
        "room",
        _always("It waits for free resources in one domain of its topology: pods there must end."),
    ),
    "preemption_delay": ("time", _delay),
    "config_map_missing": ("config_map", _always("It waits for a ConfigMap: create it.")),
    "volume_not_ready": ("volume", _always("It waits for its volumes: check their claims.")),
    "resource_claim_not_ready": ("claim", _always("It waits for its resource claims: check them.")),
    "selector_costs_too_much": (
        "claim",
        _always("A selector of its resource claims costs too much: make the expression simpler."),
    ),
    "no_free_devices": ("room", _devices),
    "queue_not_leaf": (
        "queue",
        lambda facts, about: (
            f"The queue {_own_queue(facts)} has child queues, so its pods are not scheduled: use"
            " one of its leaf queues."
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
        amounts = {**mapping(resources.get("limits")), **mapping(resources.get("requests"))}
        total += sum(quantities.parse_or_zero(amounts.get(name)) for name in _GPUS)
    return total
