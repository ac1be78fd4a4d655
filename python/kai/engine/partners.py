"""Pods that a waiting pod must be near, if there are none: which labels no pod has, and which of
its labels come nearest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kai.api.owning import selects
from kai.api.reading import at, mapping, objects
from kai.engine import text
from kai.engine.places import near

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster

Manifest = Mapping[str, Any]

_ENDED = ("Succeeded", "Failed")
_UNNAMED = "No pod on a node has the labels that its podAffinity requires."


MayName = Callable[[str], bool]
"""False for a pod that an answer must not describe."""


def sentence(name: str, cluster: Cluster | None, may_name: MayName) -> str:
    """Why the pod `name` has no pod to be near. `cluster`: None if its objects are not known."""
    return next(filter(None, _of_terms(name, cluster, may_name, _missing)), _UNNAMED)


def where(name: str, cluster: Cluster | None, may_name: MayName) -> str:
    """Where the pods are that the pod `name` must be near; "" if that is not known."""
    return next(filter(None, _of_terms(name, cluster, may_name, _there)), "")


def _of_terms(
    name: str,
    cluster: Cluster | None,
    may_name: MayName,
    write: Callable[[Manifest, str, Mapping[str, Manifest]], str],
) -> Iterable[str]:
    """What `write` returns for each term of its podAffinity, its namespace and the other pods."""
    pod = None if cluster is None else cluster._find("Pod", name)
    if cluster is None or pod is None:
        return
    others = {
        other: each
        for other, each in cluster._all("Pod").items()
        if other != name and at(each, "status", "phase") not in _ENDED
    }
    if not all(map(may_name, others)):
        return
    required = mapping(at(pod, "spec", "affinity", "podAffinity"))
    for term in objects(required.get("requiredDuringSchedulingIgnoredDuringExecution")):
        selector = mapping(term.get("labelSelector"))
        if selector and term.get("namespaceSelector") is None:
            yield write(term, _namespace(pod), others)


def _there(term: Manifest, own: str, pods: Mapping[str, Manifest]) -> str:
    selector = mapping(term.get("labelSelector"))
    nodes = {
        other: at(pod, "spec", "nodeName")
        for other, pod in pods.items()
        if _namespace(pod) in _namespaces(term, own) and selects(selector, _labels(pod))
    }
    places = [f"{other} on {node}" for other, node in sorted(nodes.items()) if node]
    if not places:
        return ""
    return (
        f"It must be near a pod with {text.listing(_words(selector))} (podAffinity, "
        f"{term.get('topologyKey')}): {text.listing(places)}."
    )


def _namespaces(term: Manifest, own: str) -> set[str]:
    return set(term.get("namespaces") or ()) or {own}


def _missing(term: Manifest, own: str, pods: Mapping[str, Manifest]) -> str:
    """ "" if some pod on a node has the labels."""
    selector, namespaces = mapping(term.get("labelSelector")), _namespaces(term, own)
    matching = {name: pod for name, pod in pods.items() if selects(selector, _labels(pod))}
    here = {name: pod for name, pod in matching.items() if _namespace(pod) in namespaces}
    if any(at(pod, "spec", "nodeName") for pod in here.values()):
        return ""
    wanted = text.listing(_words(selector))
    if here:
        names = text.listing(sorted(here))
        verb = "waits itself" if len(here) == 1 else "wait themselves"
        return f"It must be near a pod with {wanted} (podAffinity); {names} {verb}."
    where = f"namespace {text.listing(sorted(namespaces))}"
    start = f"No pod of {where} has {wanted}, which its podAffinity requires"
    if matching:
        has = "has" if len(matching) == 1 else "have"
        return f"{start}; {text.listing(sorted(matching))} {has}, in another namespace."
    near_ones = [pod for pod in pods.values() if _namespace(pod) in namespaces]
    return f"{start}{_nearest(selector, near_ones)}."


def _nearest(selector: Manifest, pods: Iterable[Manifest]) -> str:
    """What pods have instead of the first label that none of them has."""
    pods = list(pods)
    for label, value in mapping(selector.get("matchLabels")).items():
        there = Counter(_labels(pod)[label] for pod in pods if label in _labels(pod))
        if not there:
            return f"; no pod has the label {label}"
        if value in there:
            continue
        if close := near(str(value), list(there)):
            has = "has" if there[close[0]] == 1 else "have"
            return f"; {text.count(there[close[0]], 'pod')} {has} {label}={close[0]}"
        values = (f"{each} ({number})" for each, number in there.most_common())
        return f"; there is {label}={text.listing(values)}"
    return ""


def _words(selector: Manifest) -> Iterable[str]:
    for label, value in mapping(selector.get("matchLabels")).items():
        yield f"{label}={value}"
    for each in objects(selector.get("matchExpressions")):
        label = str(each.get("key"))
        values = "|".join(map(str, each.get("values") or ()))
        match each.get("operator"):
            case "In":
                yield f"{label}={values}"
            case "Exists":
                yield f"the label {label}"
            case "DoesNotExist":
                yield f"no label {label}"
            case _:
                yield f"{label} other than {values}"


def _labels(pod: Manifest) -> Manifest:
    return mapping(at(pod, "metadata", "labels"))


def _namespace(pod: Manifest) -> str:
    return str(at(pod, "metadata", "namespace") or "default")
