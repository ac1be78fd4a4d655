"""ValidatingAdmissionPolicies, for clusters without webhooks: the webhooks' rules, in CEL.

    objects(scheduler="kai-scheduler")       # a policy and its binding, by kind
    LEFT_OUT                                 # what only the webhooks do, as sentences

Each rule has the code of the same finding of `kai lint`, and KAI's answer. tests/cluster compares
the verdicts of an API server that has these policies with those of the webhooks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kai.admission import answers
from kai.api import keys
from kai.api.resources import new_object, resource

LEFT_OUT = (
    "pods that request a part of a GPU do not get what their containers need to use it",
    "parent queues may be missing, and queues may be their own ancestors through other queues",
    "queues may be deleted while they have child queues or pods",
    "subgroups of a pod group may be their own ancestors through other subgroups",
)


@dataclass(frozen=True, slots=True)
class Rule:
    """`code`: of the finding. `holds`: in CEL. `message`: if it does not hold; with `{...}` parts,
    each an expression in CEL."""

    code: str
    holds: str
    message: str


_POD = {
    "annotations": "has(object.metadata.annotations) ? object.metadata.annotations : {}",
    "all": (
        "object.spec.containers"
        " + (has(object.spec.initContainers) ? object.spec.initContainers : [])"
    ),
    "fraction": f"'{keys.GPU_FRACTION_ANNOTATION}' in variables.annotations",
    "memory": f"'{keys.GPU_MEMORY_ANNOTATION}' in variables.annotations",
    "devices": f"'{keys.GPU_DEVICES_ANNOTATION}' in variables.annotations",
    "shares": "variables.fraction || variables.memory",
    "whole": (
        "variables.all.exists(c, has(c.resources) && has(c.resources.limits)"
        f" && '{keys.NVIDIA_GPU}' in c.resources.limits)"
    ),
}
_COUNT = ".matches('^0*[1-9][0-9]{0,19}$')"
_NUMBER = r"'^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$'"
_FRACTION = f"variables.annotations['{keys.GPU_FRACTION_ANNOTATION}']"
_CONTAINER = f"variables.annotations['{keys.GPU_CONTAINER_ANNOTATION}']"

_OF_PODS = (
    Rule(
        "mps-without-share",
        f"!('{keys.MPS_ANNOTATION}' in variables.annotations"
        f" && variables.annotations['{keys.MPS_ANNOTATION}'] == 'true') || variables.shares",
        answers.MPS,
    ),
    Rule(
        "whole-gpu-beside-fraction",
        "!(variables.fraction && variables.whole)",
        answers.BESIDE_WHOLE,
    ),
    Rule(
        "fraction-and-memory",
        "!(variables.memory && (variables.fraction || variables.whole))",
        answers.BOTH,
    ),
    Rule("devices-without-share", "!variables.devices || variables.shares", answers.DEVICES_ALONE),
    Rule(
        "gpu-memory-refused",
        f"!variables.memory || variables.annotations['{keys.GPU_MEMORY_ANNOTATION}']{_COUNT}",
        answers.MEMORY,
    ),
    Rule(
        "fraction-refused",
        f"!variables.fraction || ({_FRACTION}.matches({_NUMBER})"
        f" && double({_FRACTION}) > 0.0 && double({_FRACTION}) < 1.0)",
        answers.FRACTION,
    ),
    Rule(
        "devices-refused",
        f"!variables.devices || variables.annotations['{keys.GPU_DEVICES_ANNOTATION}']{_COUNT}",
        answers.DEVICES,
    ),
    Rule(
        "container-missing",
        f"!variables.shares || !('{keys.GPU_CONTAINER_ANNOTATION}' in variables.annotations)"
        f" || variables.all.exists(c, c.name == {_CONTAINER})",
        answers.CONTAINER_MISSING.format(name=f"{{{_CONTAINER}}}"),
    ),
)

_QUEUE = {"resources": "has(object.spec.resources) ? object.spec.resources : {}"}
_OF_QUEUES = (
    Rule("queue-without-resources", "has(object.spec.resources)", answers.NO_RESOURCES),
    Rule(
        "queue-cycle",
        "!has(object.spec.parentQueue) || object.spec.parentQueue != object.metadata.name",
        "queue {object.metadata.name} is its own ancestor, through the parent queue"
        ' "{object.metadata.name}"; write a parent that is not below the queue',
    ),
    *(
        Rule(
            "queue-quota-above-limit",
            f"!has(object.spec.resources) || !has(object.spec.resources.{each})"
            f" || !has(object.spec.resources.{each}.quota)"
            f" || !has(object.spec.resources.{each}.limit)"
            f" || double(object.spec.resources.{each}.limit) <= 0.0"
            f" || double(object.spec.resources.{each}.quota)"
            f" <= double(object.spec.resources.{each}.limit)",
            f"the quota of {each} is above the limit: the queue never gets its quota",
        )
        for each in ("gpu", "cpu", "memory")
    ),
)

_POD_GROUP = {
    "parts": "has(object.spec.subGroups) ? object.spec.subGroups : []",
    "parents": "variables.parts.filter(p, has(p.parent)).map(p, p.parent)",
    "names": "variables.parts.map(p, p.name)",
    "leaves": "variables.parts.filter(p, !(p.name in variables.parents))",
}
_LISTED = ".map(p, p.name)[0]"
_OF_POD_GROUPS = (
    Rule(
        "pod-group-structure",
        "!(has(object.spec.minMember) && has(object.spec.minSubGroup))",
        answers.GROUP_BOTH.format(pods="{string(object.spec.minMember)}"),
    ),
    Rule(
        "pod-group-structure",
        "variables.names.all(n, variables.names.exists_one(m, m == n))",
        answers.SUBGROUP_TWICE.format(
            name="{variables.names.filter(n, !variables.names.exists_one(m, m == n))[0]}"
        ),
    ),
    Rule(
        "pod-group-structure",
        "variables.parts.all(p, !has(p.parent) || p.parent in variables.names)",
        answers.SUBGROUP_PARENT.format(
            parent="{variables.parents.filter(n, !(n in variables.names))[0]}",
            name="{variables.parts.filter(p, has(p.parent) && !(p.parent in variables.names))"
            f"{_LISTED}}}",
        ),
    ),
    Rule(
        "pod-group-structure",
        "variables.parts.all(p, !has(p.parent) || p.parent != p.name)",
        answers.SUBGROUP_CYCLE,
    ),
    Rule(
        "pod-group-structure",
        "variables.parts.all(p, !(has(p.minMember) && has(p.minSubGroup)))",
        answers.SUBGROUP_BOTH.format(
            name=f"{{variables.parts.filter(p, has(p.minMember) && has(p.minSubGroup)){_LISTED}}}"
        ),
    ),
    Rule(
        "pod-group-minimum",
        "variables.leaves.all(p, !has(p.minSubGroup))",
        answers.LEAF_MIN_SUBGROUP.format(
            name=f"{{variables.leaves.filter(p, has(p.minSubGroup)){_LISTED}}}"
        ),
    ),
    Rule(
        "pod-group-minimum",
        "variables.leaves.all(p, has(p.minMember))",
        answers.LEAF_NO_MINIMUM.format(
            name=f"{{variables.leaves.filter(p, !has(p.minMember)){_LISTED}}}"
        ),
    ),
    Rule(
        "pod-group-minimum",
        "oldObject != null || variables.parts.all(p, !(p.name in variables.parents)"
        " || !has(p.minMember))",
        answers.INNER_MIN_MEMBER.format(
            name="{variables.parts.filter(p, p.name in variables.parents && has(p.minMember))"
            f"{_LISTED}}}"
        ),
    ),
)

_TOPOLOGY = {
    "labels": "object.spec.levels.map(l, l.nodeLabel)",
    "aliases": "object.spec.levels.filter(l, has(l.alias) && l.alias != '').map(l, l.alias)",
    "twice": "variables.aliases.filter(a, !variables.aliases.exists_one(b, b == a))",
    "conflicts": "variables.aliases.filter(a, a in variables.labels)",
}
_OF_TOPOLOGIES = (
    Rule(
        "topology-alias",
        "variables.twice.size() == 0",
        answers.ALIASES.format(
            reasons=answers.ALIASES_TWICE.format(aliases="{variables.twice[0]}")
        ),
    ),
    Rule(
        "topology-alias",
        "variables.conflicts.size() == 0",
        answers.ALIASES.format(
            reasons=answers.ALIASES_OF_LABELS.format(aliases="{variables.conflicts[0]}")
        ),
    ),
)

TABLE: Mapping[str, tuple[Mapping[str, str], Sequence[Rule]]] = {
    "Pod": (_POD, _OF_PODS),
    "Queue": (_QUEUE, _OF_QUEUES),
    "PodGroup": (_POD_GROUP, _OF_POD_GROUPS),
    "Topology": (_TOPOLOGY, _OF_TOPOLOGIES),
}
"""The variables and the rules, by kind. The first rule that does not hold gives the answer."""


def objects(scheduler: str = keys.SCHEDULER_NAME) -> list[dict[str, Any]]:
    """`scheduler`: only its pods are checked."""
    made: list[dict[str, Any]] = []
    for kind in TABLE:
        policy = _policy(kind, scheduler)
        name = policy["metadata"]["name"]
        spec = {"policyName": name, "validationActions": ["Deny"]}
        made += [policy, _new("ValidatingAdmissionPolicyBinding", name, spec)]
    return made


def _policy(kind: str, scheduler: str) -> dict[str, Any]:
    of = resource(kind)
    variables, rules = TABLE[kind]
    rule = {
        "apiGroups": [of.group],
        "apiVersions": [of.version],
        "resources": [of.plural],
        "operations": ["CREATE", "UPDATE"],
    }
    conditions = ["!has(object.metadata.deletionTimestamp)"]
    if kind == "Pod":
        conditions.append(f"object.spec.schedulerName == '{scheduler}'")
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [
            {"name": name, "expression": each}
            for name, each in zip(("not-deleted", "scheduler"), conditions, strict=False)
        ],
        "variables": [{"name": name, "expression": each} for name, each in variables.items()],
        "validations": [_validation(each) for each in rules],
    }
    return _new("ValidatingAdmissionPolicy", f"kai-{of.plural}", spec)


def _new(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    version = "admissionregistration.k8s.io/v1"
    return new_object(kind, {"name": name}, api_version=version, spec=spec)


def _validation(rule: Rule) -> dict[str, str]:
    made = {"expression": rule.holds, "reason": "Forbidden"}
    texts = _parts(rule.message)
    if len(texts) == 1:
        return {**made, "message": rule.message}
    quoted = [each if index % 2 else _quoted(each) for index, each in enumerate(texts)]
    return {**made, "messageExpression": " + ".join(each for each in quoted if each != "''")}


def _parts(message: str) -> list[str]:
    """Texts and expressions, in turn."""
    return re.split(r"\{(.*?)\}", message)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
