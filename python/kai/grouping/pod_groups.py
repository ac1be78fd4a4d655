"""The PodGroup of an owner and its pods, as KAI's grouper creates it (spec 6 C27).

Queue and priority come from the owner's labels, then from the pod's. The owner's annotations set
the topology constraint. The gang sets how many pods start together, and the sub-groups.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api import defaults, keys, kinds
from kai.api.owning import Manifest
from kai.api.reading import annotations_of, at, first_text, labels_of, text
from kai.api.resources import new_object
from kai.api.rules import is_duration
from kai.grouping import segments
from kai.grouping.owners import Owner
from kai.grouping.parts import Gang


@dataclass(frozen=True, slots=True)
class Rules:
    """Settings of an installation.

    `classes`: the PriorityClasses that exist; other names are ignored. `of_kind`: default priority
    class and preemptibility, by "Kind.group" or by kind (spec 5 A61). `keeps_invalid`: copy an
    invalid duration, so that the reader of the group rejects it; KAI drops it.
    """

    classes: frozenset[str] = frozenset()
    of_kind: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    queue_label: str = keys.QUEUE_LABEL
    node_pool_label: str = keys.NODE_POOL_LABEL
    keeps_invalid: bool = False


def pod_group(name: str, owner: Owner, pod: Manifest, gang: Gang, rules: Rules) -> dict[str, Any]:
    """The manifest of a group; `pod`: its oldest pod, for settings that the owner lacks."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": owner.key[1],
        "annotations": {
            **{key: value for key, value in owner.annotations.items() if key not in _NOT_COPIED},
            keys.TOP_OWNER_ANNOTATION: _described(owner),
        },
    }
    if labels := _labels(owner, labels_of(pod), rules):
        metadata["labels"] = labels
    if owner.uid:
        version, kind, _, owner_name, uid = owner.reference
        reference = {"apiVersion": version, "kind": kind, "name": owner_name, "uid": uid}
        metadata["ownerReferences"] = [reference]
    if created := first_text(
        at(owner.manifest, "metadata", "creationTimestamp"),
        at(pod, "metadata", "creationTimestamp"),
    ):
        metadata["creationTimestamp"] = created
    return new_object("PodGroup", metadata, spec=_spec(owner, pod, gang, rules))


_NOT_COPIED = frozenset(
    (
        # Scheduler and grouper write these on the pod, which may be its own owner.
        keys.POD_GROUP_ANNOTATION,
        keys.RECEIVED_TYPE_ANNOTATION,
        keys.NUMA_PREDICTED_ANNOTATION,
        keys.NUMA_OBSERVED_ANNOTATION,
        keys.TOPOLOGY_RANK_ANNOTATION,
        keys.TOPOLOGY_DOMAIN_ANNOTATION,
        keys.LAST_APPLIED_ANNOTATION,  # the whole manifest of another object
    )
)


def given_labels(labels: Mapping[str, Any]) -> dict[str, Any]:
    """The labels without those that the scheduler writes on a pod, which may be its own owner."""
    return {
        key: value
        for key, value in labels.items()
        if key != keys.SUBGROUP_LABEL and not key.startswith(keys.GPU_GROUP_LABEL)
    }


def _labels(owner: Owner, of_pod: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    """The owner's labels; the user and the node pool come from the pod if the owner lacks them."""
    labels = given_labels(owner.labels)
    for key in (keys.USER_LABEL, rules.node_pool_label):
        if key not in labels and text(of_pod.get(key)):
            labels[key] = of_pod[key]
    return labels


def _spec(owner: Owner, pod: Manifest, gang: Gang, rules: Rules) -> dict[str, Any]:
    of_pod = labels_of(pod)
    spec: dict[str, Any] = {"queue": named_queue(owner, of_pod, rules) or defaults.DEFAULT_QUEUE}
    if gang.min_sub_group is None:
        spec["minMember"] = gang.min_member
    else:
        spec["minSubGroup"] = gang.min_sub_group
    priority, preemptibility = _of_kind(owner, rules)
    spec["priorityClassName"] = _priority_class(owner, pod, rules.classes, priority)
    for member, key in (
        ("preemptionDelay", keys.PREEMPTION_DELAY_ANNOTATION),
        ("stalenessGracePeriod", keys.STALENESS_ANNOTATION),
    ):
        for place in (owner.annotations, annotations_of(pod)):
            value = text(place.get(key))
            makes_sense = is_duration(value) and (value[0] != "-" or key in _MAY_BE_NEGATIVE)
            if value and (makes_sense or rules.keeps_invalid):
                spec[member] = value
                break
    if gang.coming_up:
        spec.setdefault("stalenessGracePeriod", NEVER_STALE)
    of_labels = [_first_value(keys.PREEMPTIBILITY_LABEL, each) for each in (owner.labels, of_pod)]
    for each in (*of_labels, preemptibility):
        if each.lower() in ("preemptible", "non-preemptible"):
            spec["preemptibility"] = each.lower()
            break
    topology = (text(owner.annotations.get(key)) for key in keys.TOPOLOGY)
    constraint = {**(segments.constraint_of(*topology) or {}), **(gang.constraint or {})}
    if constraint:
        spec["topologyConstraint"] = constraint  # spec 4 C2
    if gang.sub_groups:
        spec["subGroups"] = list(gang.sub_groups)
    return spec


_MAY_BE_NEGATIVE = frozenset((keys.STALENESS_ANNOTATION,))
NEVER_STALE = "-1s"
"""As a staleness grace period: the group is never evicted as stale."""


def _first_value(key: str, *places: Mapping[str, Any]) -> str:
    """The value of the first of these labels or annotations that exists."""
    return first_text(*(place.get(key) for place in places))


def named_queue(owner: Owner, of_pod: Mapping[str, Any], rules: Rules) -> str:
    """The queue that the labels of the owner or of the pod name; "" for none."""
    if queue := _first_value(rules.queue_label, owner.labels, of_pod):
        return queue
    project = _first_value(keys.PROJECT_LABEL, owner.labels, of_pod)
    if not project:
        return ""
    pool = text(of_pod.get(rules.node_pool_label))
    return f"{project}-{pool}" if pool else project


def _priority_class(owner: Owner, pod: Manifest, classes: frozenset[str], of_kind: str) -> str:
    """The first named class that exists, otherwise the class of the owner's kind."""
    named = (
        owner.labels.get(keys.PRIORITY_CLASS_LABEL),
        labels_of(pod).get(keys.PRIORITY_CLASS_LABEL),
        at(pod, "spec", "priorityClassName"),
        of_kind,
    )
    return next((text(name) for name in named if text(name) in classes), owner.priority_class)


def _of_kind(owner: Owner, rules: Rules) -> tuple[str, str]:
    if not rules.of_kind:
        return "", ""
    version, kind = (owner.described or owner.reference)[:2]
    group = kinds.group_of(version)
    found = rules.of_kind.get(f"{kind}.{group}" if group else kind) or rules.of_kind.get(kind)
    return found or ("", "")


def _described(owner: Owner) -> str:
    """The owner of the group, as YAML (spec 5 A52)."""
    version, kind, _, name, uid = owner.described or owner.reference
    group, number = kinds.group_of(version), version.rpartition("/")[2]
    members = {"name": name, "uid": uid, "group": group, "version": number, "kind": kind}
    return "".join(f"{key}: {_yaml(value)}\n" for key, value in members.items())


def _yaml(value: str) -> str:
    plain = _PLAIN.match(value) and value.lower() not in _WORDS
    return value if plain else json.dumps(value)


# No quotes are needed for a text that starts with a letter, a UID (even one of digits only), or a
# text with a letter that no number contains. YAML would read "1e3", "yes" and a date as another
# type.
_PLAIN = re.compile(r"[A-Za-z<]|[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f.-]*[g-wyz]")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
