"""Pods that a waiting pod must be near, if there are none: which labels no pod has, and which of
its labels come nearest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kai.api.owning import selects
from kai.api.reading import at, labels_of, mapping, objects
from kai.engine import text
from kai.engine.places import near

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster

Manifest = Mapping[str, Any]

_ENDED = ("Succeeded", "Failed")
_UNNAMED = "No pod with the labels of its podAffinity runs on a node with its topologyKey."
_FIELDS = {"pod_affinity": "podAffinity", "pod_anti_affinity": "podAntiAffinity"}


class Others(NamedTuple):
    """The other pods, which have not ended, and the nodes; by name."""

    pods: Mapping[str, Manifest]
    nodes: Mapping[str, Manifest]


MayName = Callable[[str], bool]
"""False for a pod that an answer must not describe."""


def sentence(name: str, cluster: Cluster | None, may_name: MayName) -> str:
    """Why the pod `name` has no pod to be near. `cluster`: None if its objects are not known."""
    return next(filter(None, _of_terms(name, cluster, may_name, _missing)), _UNNAMED)


def where(name: str, cluster: Cluster | None, may_name: MayName, cause: str) -> str:
    """Where the pods are that the pod `name` must be near, or for the cause pod_anti_affinity must
    not be near; "" if that is not known."""
    field = _FIELDS[cause]
    must = "must be near a pod" if field == "podAffinity" else "must not be near pods"

    def there(term: Manifest, own: str, others: Others) -> str:
        selector = mapping(term.get("labelSelector"))
        places = [f"{other} on {node}" for other, node in _on_nodes(term, own, others)]
        if not places:
            return ""
        return (
            f"It {must} with {text.listing(_words(selector))} ({field}, "
            f"{term.get('topologyKey')}): {text.listing(places)}."
        )

    return next(filter(None, _of_terms(name, cluster, may_name, there, field)), "")


def _of_terms(
    name: str,
    cluster: Cluster | None,
    may_name: MayName,
    write: Callable[[Manifest, str, Others], str],
    field: str = "podAffinity",
) -> Iterable[str]:
    """What `write` returns for each required term, the pod's namespace and the other pods."""
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
    required = mapping(at(pod, "spec", "affinity", field))
    for term in objects(required.get("requiredDuringSchedulingIgnoredDuringExecution")):
        selector = mapping(term.get("labelSelector"))
        if selector and term.get("namespaceSelector") is None:
            yield write(term, _namespace(pod), Others(others, cluster._all("Node")))


def _on_nodes(term: Manifest, own: str, others: Others) -> Iterable[tuple[str, str]]:
    """The pods that the term selects, each with its node; by name."""
    selector, namespaces = mapping(term.get("labelSelector")), _namespaces(term, own)
    for other, pod in sorted(others.pods.items()):
        node = at(pod, "spec", "nodeName")
        if node and _namespace(pod) in namespaces and selects(selector, labels_of(pod)):
            yield other, str(node)


def _namespaces(term: Manifest, own: str) -> set[str]:
    return set(term.get("namespaces") or ()) or {own}


def _missing(term: Manifest, own: str, others: Others) -> str:
    """Why no pod meets the term; "" if some pod on a node of the topology does."""
    selector, namespaces = mapping(term.get("labelSelector")), _namespaces(term, own)
    pods, key = others.pods, str(term.get("topologyKey"))
    wanted = text.listing(_words(selector))
    if placed := list(_on_nodes(term, own, others)):
        if any(key in labels_of(others.nodes.get(node, {})) for _, node in placed):
            return ""
        first, node = placed[0]
        return (
            f"It must be near a pod with {wanted} (podAffinity), but the nodes of such pods do not "
            f"have the label {key}, its topologyKey: {first} on {node}."
        )
    matching = {name: pod for name, pod in pods.items() if selects(selector, labels_of(pod))}
    here = {name: pod for name, pod in matching.items() if _namespace(pod) in namespaces}
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
        there = Counter(labels_of(pod)[label] for pod in pods if label in labels_of(pod))
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
        values = text.either([str(value) for value in each.get("values") or ()])
        match each.get("operator"):
            case "In":
                yield f"{label}={values}"
            case "Exists":
                yield f"the label {label}"
            case "DoesNotExist":
                yield f"no label {label}"
            case _:
                yield f"{label} other than {values}"


def _namespace(pod: Manifest) -> str:
    return str(at(pod, "metadata", "namespace") or "default")
