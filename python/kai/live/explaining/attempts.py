"""How the binding of a pod goes, from what the cluster shows: under way, failed, or refused.

    attempts = attempts_of(facts)
    attempts.failed                  # Attempt("n1", "failed to reserve ...", since_ns), or None
    in_words(attempts.failed.text)   # the reason in plain words, and what to look at

A binding leaves these marks: the event `Binding` while it waits for something; the condition
PodBound, the condition PodScheduled and events after a failure; a BindRequest; and the event
`WriteRefused` if an admission rule refused one of its writes. They are the same for both values of
`--binding`; KAI leaves the conditions, events and BindRequests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kai.api import keys, times
from kai.api.reading import at, objects, text
from kai.api.refusals import refusal
from kai.controllers.progress import BINDING, Told, failed_in, told_in
from kai.controllers.refused_writes import ACCEPTED, FRESH_S, REFUSED, Refused, refused_in
from kai.errors import InvalidInputError
from kai.k8s.answers import denial
from kai.live.explaining.pod_facts import Object, PodFacts, last_seen

MOST_UNDER_WAY_S = 600.0
"""A binding that began longer ago has ended without a mark, with the process that began it."""
_FAILURES = ("FailedBinding", "BindingError")
_ERROR = "BindingError"


class Attempt(NamedTuple):
    """`text`: what it waits for, or why it failed. `at_ns`: the time of its last mark; None:
    unknown."""

    node: str
    text: str
    at_ns: int | None


@dataclass(frozen=True, slots=True)
class Attempts:
    """The last ones of a pod. `refused`: a write that an admission rule refuses."""

    under_way: Attempt | None = None
    failed: Attempt | None = None
    refused: Refused | None = None


def attempts_of(facts: PodFacts) -> Attempts:
    failed = _failed(facts)
    under_way = _under_way(facts)
    if under_way is not None and failed is not None:
        began, ended = under_way.at_ns or 0, failed.at_ns or 0
        if began <= ended:
            under_way = None
    return Attempts(under_way, failed, _refused(facts))


def _under_way(facts: PodFacts) -> Attempt | None:
    for event in reversed(facts.events or ()):
        if text(event.get("reason")) == BINDING and _is_about_the_pod(event):
            told = told_in(text(event.get("message")))
            at_ns = _ns(last_seen(event))
            if told is None or at_ns is None:
                return None
            is_recent = facts.now_ns - at_ns <= MOST_UNDER_WAY_S * times.SECOND_NS
            return Attempt(*told, at_ns) if is_recent else None
    return None


def _failed(facts: PodFacts) -> Attempt | None:
    """The last failure, if no later decision has replaced its condition."""
    found = [
        (told, _ns(text(each.get("lastTransitionTime"))))
        for each in objects(at(facts.pod, "status", "conditions"))
        if (told := _failure_of(each)) is not None
    ]
    events = [
        (told, _ns(last_seen(each)))
        for each in facts.events or ()
        if text(each.get("reason")) in _FAILURES and _is_about_the_pod(each)
        if (told := failed_in(text(each.get("message")))) is not None
    ]
    request = facts.request
    if request is not None and at(request, "status", "phase") == "Failed":
        node = text(at(request, "spec", "selectedNode"))
        why = text(at(request, "status", "reason"))
        moments = [moment for told, moment in (*found, *events) if why in told.text]
        return Attempt(node, why, max(filter(None, moments), default=None))
    if not found and not (events and facts.verdict.decision == "bind"):
        return None
    # The transition of PodScheduled may be older than the failure, and an event newer.
    told, moment = max((*found, *events), key=lambda each: each[1] or 0)
    if _waits_since(facts) and (facts.verdict.decision != "bind" or _is_old(moment, facts)):
        return None
    return Attempt(*told, moment)


def _waits_since(facts: PodFacts) -> bool:
    """Whether a later decision found no place. PodBound is not written then."""
    return any(
        each.get("type") == "PodScheduled"
        and each.get("status") == "False"
        and each.get("reason") != _ERROR
        for each in objects(at(facts.pod, "status", "conditions"))
    )


def _is_old(moment: int | None, facts: PodFacts) -> bool:
    return moment is None or facts.now_ns - moment > MOST_UNDER_WAY_S * times.SECOND_NS


def _failure_of(condition: Object) -> Told | None:
    is_failure = condition.get("status") == "False" and condition.get("reason") == _ERROR
    if not is_failure or condition.get("type") not in ("PodBound", "PodScheduled"):
        return None
    return failed_in(text(condition.get("message")))


def _refused(facts: PodFacts) -> Refused | None:
    """The last write that was refused, and not accepted later."""
    accepted = set[str]()
    for event in reversed(facts.events or ()):
        reason, message = text(event.get("reason")), text(event.get("message"))
        if reason == ACCEPTED:
            accepted.add(message.removesuffix(" is accepted"))
        elif reason == REFUSED:
            found = refused_in(message)
            at_ns = _ns(last_seen(event))
            is_fresh = at_ns is not None and facts.now_ns - at_ns <= FRESH_S * times.SECOND_NS
            is_open = found is not None and found.what not in accepted
            if found is not None and is_open and is_fresh and not _exists(facts, found.what):
                return found
    return None


def eviction_refused(facts: PodFacts) -> str:
    """Why the last pod that had to make room was not evicted; "": nothing is known."""
    for event in reversed(facts.events or ()):
        if text(event.get("reason")) == "EvictionRefused":
            at_ns = _ns(last_seen(event))
            is_fresh = at_ns is not None and facts.now_ns - at_ns <= FRESH_S * times.SECOND_NS
            return text(event.get("message")) if is_fresh else ""
    return ""


def _exists(facts: PodFacts, what: str) -> bool:
    """Whether the object was created, such as by another process."""
    created = {"create PodGroup ": facts.group, "create BindRequest ": facts.request}
    return any(what.startswith(start) and each is not None for start, each in created.items())


def _is_about_the_pod(event: Object) -> bool:
    return bool(at(event, "involvedObject", "kind") == "Pod")


def _ns(stamp: str) -> int | None:
    try:
        return times.to_ns(stamp)
    except InvalidInputError:
        return None


def ago(at_ns: int | None, now_ns: int) -> str:
    """ "36 s"; "" for an unknown time.

    >>> ago(0, 36 * 10**9), ago(0, 400 * 10**9), ago(None, 0)
    ('36 s', '7 min', '')
    """
    if at_ns is None:
        return ""
    seconds = max(0, now_ns - at_ns) / times.SECOND_NS
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


# ---- in plain words ------------------------------------------------------------------------------


class Words(NamedTuple):
    """`why`: a clause. `look`: what a person can look at or do, as a sentence without a full stop;
    "": nothing."""

    why: str
    look: str = ""


def in_words(why: str) -> Words:
    """The reason of a failed binding, as kai or KAI writes it, in plain words.

    >>> in_words("... error: binding volumes: context deadline exceeded").why
    'its volumes were not bound in time'
    """
    return next(_translations(why), Words(why or "no reason is given"))


def waiting_words(waits_for: str) -> str:
    """What to look at while a binding waits for this; "": nothing."""
    if found := re.search(r"the reservation pod (\S+)/(\S+) to report", waits_for):
        return f"Look at it: `kubectl describe pod {found[2]} -n {found[1]}`"
    if found := re.search(r"volume for the claim (\S+)/([^\s,]+)", waits_for):
        return f"Look at it: `kubectl describe pvc {found[2]} -n {found[1]}`"
    if found := re.search(r"devices of the resource claim (\S+)/([^\s,]+)", waits_for):
        return f"Look at it: `kubectl describe resourceclaim {found[2]} -n {found[1]}`"
    return ""


def _translations(why: str) -> Iterator[Words]:
    if (rule := refusal(why, inside=True)) is not None:
        subject = next((said for start, said in _SUBJECTS if start in why), "the binding itself")
        yield Words(f"{subject} was refused, because {rule.sentence}", _as_sentence(rule.fix))
    if (missing := denial(why)) is not None:
        yield Words(
            f"the account {missing.user} may not {missing.verb} {missing.resource}",
            "Grant the right; the log of kai has the line with fix=",
        )
    for pattern, words in _WORDS:
        if found := re.search(pattern, why, re.DOTALL):
            yield words(found)


def _as_sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


_SUBJECTS = (
    ("its pod group cannot be created", "the creation of its pod group"),
    ("failed to reserve GPUs", "its GPU reservation"),
    ("capabilities configmap", "a ConfigMap with its devices"),
    ("plugin dynamicresources", "a write to its resource claim"),
    ("plugin volumebinding", "a write to its volume claim"),
)
_Found = Callable[["re.Match[str]"], Words]
_WORDS: tuple[tuple[str, _Found], ...] = (
    (
        r"failed waiting for GPU reservation pod to allocate: ([^\s/]+)/(\S+)",
        lambda found: Words(
            f"the reservation pod {found[1]}/{found[2]} did not report its GPU",
            f"Look at it: `kubectl get pods,events -n {found[1]}`",
        ),
    ),
    (
        r"GPU reservation pod ([^\s/]+)/(\S+) has failed on node (\S+)",
        lambda found: Words(
            f"the reservation pod {found[1]}/{found[2]} failed on node {found[3]}",
            f"Look at it: `kubectl get events -n {found[1]}`",
        ),
    ),
    (
        "cluster is scaling up, could not create reservation pod",
        lambda found: Words(
            "no GPU is reserved while a pod that makes the cluster grow waits for a node",
            "Nothing needs to be done",
        ),
    ),
    (
        "the GPU reservation pod no longer exists",
        lambda found: Words(
            "its reservation pod was deleted",
            f"Do not delete pods in the namespace {keys.RESERVATION}",
        ),
    ),
    (
        "failed to get capabilities configmap name",
        lambda found: Words(
            "it has no annotation with the name of its ConfigMap",
            "The webhook that adds it did not run when the pod was created: create the pod again"
            " while KAI's program `admission` runs",
        ),
    ),
    (
        "failed to create capabilities configmap: (.*)",
        lambda found: Words(
            f"a ConfigMap with its devices could not be created: {found[1]}",
            "Look at the ConfigMaps of its namespace: `kubectl get configmaps`",
        ),
    ),
    (
        "binding volumes: context deadline exceeded",
        lambda found: Words(
            "its volumes were not bound in time", "Look at its claims: `kubectl describe pvc`"
        ),
    ),
    (
        r"plugin volumebinding failed in PreBind: .*\. error: (.*)",
        lambda found: Words(
            f"its volumes are not ready: {found[1]}", "Look at its claims: `kubectl describe pvc`"
        ),
    ),
    (
        r"plugin dynamicresources failed in PreBind: (.*)",
        lambda found: Words(
            f"its resource claims are not ready: {found[1]}",
            "Look at them: `kubectl describe resourceclaims`",
        ),
    ),
    (
        r"failed to reserve GPUs for pod <[^>]*>(?: in gpu group <[^>]*>)?: (.*)",
        lambda found: Words(
            f"its GPU could not be reserved: {found[1]}",
            f"Look at the pods in the namespace {keys.RESERVATION}",
        ),
    ),
)
