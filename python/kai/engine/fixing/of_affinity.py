"""Changes of the labels that the pods of a waiting group require: by their node affinity, or by
several labels of their node selector."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from kai.api.reading import at, mapping, objects
from kai.engine.fixing.changes import Change, changed, with_spec, yaml_of
from kai.engine.fixing.ladders import Ladder, several
from kai.engine.fixing.waiting import Manifest, Waiting
from kai.engine.places import near

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_LISTS = ("matchExpressions", "matchFields")
_MOST_VALUES = 2

Unmet = Mapping[str, Any]
"""A requirement that a node does not meet: `label`, `operator`, `values`, and the values that nodes
have: `there`."""


def affinities(waiting: Waiting) -> Iterator[Ladder]:
    """Requirements that keep its pods off nodes: with another value that nodes have, or dropped.

    Several at once where a node does not meet several; a smaller set is proposed first.
    """
    sets: dict[tuple[str, ...], Sequence[Unmet]] = {}
    for places in waiting.places:
        for obstacles in places.others:
            for cause in obstacles.causes:
                if unmet := cause.get("unmet"):
                    sets.setdefault(tuple(sorted(map(_text, unmet))), unmet)
    ranked = sorted(sets, key=len)
    for place, names in enumerate(ranked):
        if any(set(smaller) < set(names) for smaller in ranked[:place]):
            continue  # the smaller set of another node suffices
        unmet = sets[names]
        in_affinity = [each for each in unmet if any(_has(pod, each) for pod in waiting.pods)]
        if in_affinity and len(in_affinity) == len(unmet):
            yield several(list(_relaxed(waiting, unmet)))
        elif not in_affinity and len(unmet) > 1:
            yield several([_without_labels(waiting, unmet)])


def _relaxed(waiting: Waiting, unmet: Sequence[Unmet]) -> Iterator[Change]:
    owner = waiting.owner
    if len(unmet) == 1 and unmet[0]["operator"] == "In":
        [only] = unmet
        nodes = {row["value"]: row["nodes"] for row in only["there"]}
        others = sorted(nodes, key=lambda each: -nodes[each])
        close = [each for value in only["values"] for each in near(value, others)]
        for value in list(dict.fromkeys((*close, *others)))[:_MOST_VALUES]:
            says = f"accept {only['label']}={value} too in the node affinity of {owner}"
            yield _of_affinity(waiting, says, partial(_accepting, only, value))
    dropped = " and ".join(map(_text, unmet))
    says = f"drop {dropped} from the node affinity of {owner}"
    yield _of_affinity(waiting, says, partial(_dropped, unmet))


def _text(unmet: Unmet) -> str:
    """ "zone in (a, b)", as kubectl prints a selector."""
    label, values = unmet["label"], ", ".join(unmet["values"])
    match unmet["operator"]:
        case "Exists":
            return f"{label} exists"
        case "DoesNotExist":
            return f"{label} does not exist"
        case "Gt" | "Lt" as operator:
            return f"{label} {'>' if operator == 'Gt' else '<'} {values}"
        case operator:
            return f"{label} {'in' if operator == 'In' else 'not in'} ({values})"


# ---- the terms of a pod --------------------------------------------------------------------------


def _terms(pod: Manifest) -> list[Manifest]:
    return objects(at(pod, "spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms"))


def _is(unmet: Unmet, expression: Manifest) -> bool:
    return (
        expression.get("key") == unmet["label"]
        and expression.get("operator") == unmet["operator"]
        and sorted(map(str, expression.get("values") or ())) == sorted(unmet["values"])
    )


def _has(pod: Manifest, unmet: Unmet) -> bool:
    return any(
        _is(unmet, each) for term in _terms(pod) for name in _LISTS for each in _listed(term, name)
    )


def _listed(term: Manifest, name: str) -> list[Manifest]:
    return objects(term.get(name))


def _accepting(unmet: Unmet, value: str, term: Manifest) -> Manifest | None:
    """The term with one more value."""
    return {
        name: [
            {**each, "values": [*each["values"], value]} if _is(unmet, each) else each
            for each in _listed(term, name)
        ]
        for name in _LISTS
        if term.get(name)
    }


def _dropped(unmet: Sequence[Unmet], term: Manifest) -> Manifest | None:
    """The term without these requirements; None: nothing is left, so that every node meets it."""
    left = {
        name: [each for each in _listed(term, name) if not any(_is(one, each) for one in unmet)]
        for name in _LISTS
    }
    return {name: each for name, each in left.items() if each} or None


def _with_terms(pod: Manifest, change: Callable[[Manifest], Manifest | None]) -> Manifest:
    """An empty term would match no node, and a list without terms is invalid: then nothing is
    required."""
    if not (before := _terms(pod)):
        return pod
    terms = [change(term) for term in before]
    node_affinity = dict(mapping(at(pod, "spec", "affinity", "nodeAffinity")))
    if None in terms:
        del node_affinity[_REQUIRED]
    else:
        required = mapping(node_affinity[_REQUIRED])
        node_affinity[_REQUIRED] = {**required, "nodeSelectorTerms": terms}
    affinity = {**mapping(at(pod, "spec", "affinity")), "nodeAffinity": node_affinity}
    return with_spec(pod, affinity=affinity)


# ---- the changes ---------------------------------------------------------------------------------


def _of_affinity(
    waiting: Waiting, says: str, change: Callable[[Manifest], Manifest | None]
) -> Change:
    def body(pod: Manifest) -> Manifest:
        if not _terms(pod):
            return {}
        terms = _terms(_with_terms(pod, change))
        required = {"nodeSelectorTerms": terms} if terms else None
        return {"spec": {"affinity": {"nodeAffinity": {_REQUIRED: required}}}}

    edit = changed("Pod", waiting.pods_of_owner, lambda pod: _with_terms(pod, change))
    how = partial(waiting.parts, body=body)
    return Change("affinity", says, how, edit=edit, rights=(waiting.right,))


def _without_labels(waiting: Waiting, unmet: Sequence[Unmet]) -> Change:
    """Without several labels of the node selector."""
    pairs = dict(sorted((each["label"], each["values"][0]) for each in unmet if each["values"]))
    shown = {"spec": {"nodeSelector": dict.fromkeys(pairs)}}

    def selecting(pod: Manifest) -> Manifest:
        selector = mapping(at(pod, "spec", "nodeSelector"))
        left = {name: each for name, each in selector.items() if pairs.get(name) != each}
        return with_spec(pod, nodeSelector=left)

    labels = " and ".join(f"{label}={value}" for label, value in pairs.items())
    return Change(
        "selector",
        f"drop the node selectors {labels} of {waiting.owner}",
        yaml_of(shown, of=waiting.its_pods),
        edit=changed("Pod", waiting.pods_of_owner, selecting),
        rights=(waiting.right,),
    )
