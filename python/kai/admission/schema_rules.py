"""What the API server requires of the values of Kubernetes' kinds, beside their types.

These rules are about names, labels, selectors, tolerations and resources, by the type and the field
of Kubernetes. `kai.admission.schema` applies them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kai.admission.finding import Edit, Finding, Path, dotted, error
from kai.admission.shape import is_extended
from kai.api import quantities
from kai.api.names import problem_of_label, problem_of_name
from kai.api.numerals import numeral
from kai.api.reading import at, mapping, objects, text
from kai.api.rules import written

Problem = Callable[[str], str]
"""Why the API server refuses a text; "" if it accepts it."""

_LABEL_PART = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_OF_LABELS = "letters, digits, '-', '_' and '.' that begins and ends with a letter or digit"


def problem_of_value(value: str) -> str:
    """
    >>> problem_of_value("team-a"), problem_of_value("")
    ('', '')
    """
    if not value or _LABEL_PART.fullmatch(value):
        return ""
    if len(value) > 63:
        return f"has {len(value)} characters, more than 63"
    return f'"{value}" is not a text of {_OF_LABELS}'


def problem_of_key(key: str) -> str:
    """
    >>> problem_of_key("nvidia.com/gpu.product"), problem_of_key("rack")
    ('', '')
    """
    prefix, slash, name = key.rpartition("/")
    if slash and (problem := problem_of_name(prefix)):
        return f'the domain of "{key}": {problem}'
    if _LABEL_PART.fullmatch(name):
        return ""
    return f'"{key}" is not a key of {_OF_LABELS}, maybe after "DOMAIN/"'


def needs(where: Path, message: str, fix: str, edit: Edit | None = None) -> Finding:
    """The finding about what the API server refuses. Plans contain the object."""
    return error("schema-refused", where, message, fix, edit)


FORMATS: Mapping[str, Problem] = {
    **dict.fromkeys(
        (
            "Container.name",
            "EphemeralContainer.name",
            "Volume.name",
            "PodResourceClaim.name",
            "DeviceRequest.name",
            "DeviceSubRequest.name",
            "Device.name",
            "StatefulSetSpec.serviceName",
            "PodSpec.hostname",
        ),
        problem_of_label,
    ),
    **dict.fromkeys(
        (
            "PodSpec.priorityClassName",
            "PodSpec.nodeName",
            "PodSpec.runtimeClassName",
            "PodSpec.serviceAccountName",
            "PersistentVolumeClaimSpec.storageClassName",
            "PersistentVolumeSpec.storageClassName",
            "ExactDeviceRequest.deviceClassName",
            "DeviceSubRequest.deviceClassName",
            "PodResourceClaim.resourceClaimName",
            "PodResourceClaim.resourceClaimTemplateName",
            "ResourceSliceSpec.nodeName",
        ),
        problem_of_name,
    ),
    **dict.fromkeys(
        (
            "Toleration.key",
            "Taint.key",
            "NodeSelectorRequirement.key",
            "LabelSelectorRequirement.key",
            "PodAffinityTerm.topologyKey",
            "StorageClass.provisioner",
            "PodSchedulingGate.name",
            "PodReadinessGate.conditionType",
            "TopologySelectorLabelRequirement.key",
        ),
        problem_of_key,
    ),
    "Taint.value": problem_of_value,
    "ResourcePool.name": lambda name: next(filter(None, map(problem_of_name, name.split("/"))), ""),
    "ResourceSliceSpec.driver": lambda name: problem_of_name(name.lower()),
}
"""Texts of fields."""

LABELS = {
    "ObjectMeta.labels": True,
    "PodSpec.nodeSelector": True,
    "LabelSelector.matchLabels": True,
    "ObjectMeta.annotations": False,
}
"""Mappings by label keys, and whether their values are values of labels, too."""

RANGES: Mapping[str, tuple[int, int]] = {
    "ContainerPort.containerPort": (1, 65535),
    "ContainerPort.hostPort": (0, 65535),
    "PodSpec.activeDeadlineSeconds": (1, 2**31),
    "JobSpec.backoffLimit": (0, 2**31),
    "JobSpec.activeDeadlineSeconds": (0, 2**63),
    "JobSpec.ttlSecondsAfterFinished": (0, 2**31),
    "ExactDeviceRequest.count": (0, 2**63),
    "ResourcePool.resourceSliceCount": (1, 2**63),
    "ResourcePool.generation": (0, 2**63),
    "PreferredSchedulingTerm.weight": (1, 100),
    "WeightedPodAffinityTerm.weight": (1, 100),
    "TopologySpreadConstraint.maxSkew": (1, 2**31),
}
"""The least and the largest number of a field."""


def of_field(name: str, value: object, where: Path) -> Iterator[Finding]:
    """What is wrong with the value of a field, such as "Taint.key", that has its type."""
    if name in LABELS:
        yield from _labels(mapping(value), where, has_label_values=LABELS[name])
    elif isinstance(value, str):
        if value and name in FORMATS and (problem := FORMATS[name](value)):
            yield needs(where, problem, "write another one")
    elif name in RANGES and isinstance(value, (int, float)):
        least, most = RANGES[name]
        if not least <= value <= most:
            wanted = f"from {least} to {most}" if most < 2**31 else f"of at least {least}"
            message = f"{where[-1]} is {numeral(value)}: the API server requires a number {wanted}"
            yield needs(where, message, f"write a number {wanted}")


def _labels(labels: Mapping[Any, Any], where: Path, *, has_label_values: bool) -> Iterator[Finding]:
    for key, value in labels.items():
        # Upper case is no problem of an annotation's key.
        problem = problem_of_key(str(key) if has_label_values else str(key).lower())
        if not problem and has_label_values and isinstance(value, str):
            problem = problem_of_value(value)
        if problem:
            yield needs((*where, str(key)), problem, "write another one")


def of_topology(topology: Mapping[str, Any]) -> Iterator[Finding]:
    """The labels of a Topology of KAI, with the rules of its definition."""
    for index, level in enumerate(objects(at(topology, "spec", "levels"))):
        for member in ("nodeLabel", "alias"):
            key = level.get(member)
            if isinstance(key, str) and (problem := problem_of_key(key)):
                here = ("spec", "levels", index, member)
                yield needs(here, problem, "write the key of a label")


def of_object(name: str, value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    """What is wrong with an object of a type as a whole, if all fields have their types."""
    for check in _RULES.get(name, ()):
        yield from check(value, where)


def _requirement(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    """An expression of a selector: its operator decides how many values it has."""
    operator, values = text(value.get("operator")), value.get("values") or []
    here = (*where, "values")
    if operator in ("In", "NotIn") and not values:
        yield needs(here, f"values is empty: the operator {operator} needs some", "write values")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield needs(here, f"the operator {operator} has no values", "remove values")
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield needs(here, f"the operator {operator} needs one number", 'write one, such as ["8"]')
    # The API server takes any value where a node is only preferred.
    is_preferred = "preference" in where
    for index, each in enumerate(values):
        if not is_preferred and (problem := problem_of_value(text(each))):
            yield needs((*here, index), problem, "write the value of a label")


def _of_labels(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    operator = text(value.get("operator"))
    if operator and operator not in _OPERATORS:
        message = f"operator is {written(operator)}: labels are selected with " + _OPERATORS_TEXT
        yield needs((*where, "operator"), message, f"write {_OPERATORS_TEXT}")
        return
    yield from _requirement(value, where)


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_OPERATORS_TEXT = "In, NotIn, Exists or DoesNotExist"


def _toleration(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    operator = text(value.get("operator"))
    if not value.get("key") and operator != "Exists":
        fix = "write the key of the taint, or operator: Exists for all taints"
        yield needs((*where, "key"), "key is missing", fix)
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        message = "tolerationSeconds is for the effect NoExecute only"
        yield needs((*where, "effect"), message, "write NoExecute, or remove tolerationSeconds")
    tolerated = text(value.get("value"))
    if operator == "Exists" and tolerated:
        yield needs((*where, "value"), "the operator Exists has no value", "remove value")
    elif operator in ("", "Equal") and (problem := problem_of_value(tolerated)):
        yield needs((*where, "value"), problem, "write the value of the taint")


_STANDARD = ("cpu", "memory", "ephemeral-storage")


def _resources(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    """The resources of a container."""
    limits = mapping(value.get("limits"))
    for part in ("limits", "requests"):
        for name, amount in mapping(value.get(part)).items():
            here = (*where, part, name)
            wrong = list(_resource_name(str(name), here))
            yield from wrong
            if part == "requests" and not wrong:
                yield from _request(name, amount, limits.get(name), here)


def _resource_name(name: str, where: Path) -> Iterator[Finding]:
    if "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
        message = f"{name} is not a resource: the API server requires {_OF_RESOURCES}"
        yield needs(where, message, f"write {', '.join(_STANDARD)} or DOMAIN/NAME")
    elif problem := problem_of_key(name):
        yield needs(where, problem, "write DOMAIN/NAME")


_OF_RESOURCES = "cpu, memory, ephemeral-storage, hugepages-SIZE or a name with a domain"


def _request(name: str, amount: Any, limit: Any, where: Path) -> Iterator[Finding]:
    is_device = is_extended(name)
    if limit is None:
        if is_device:
            message = f"{name} is requested without a limit: devices need a limit of that amount"
            yield needs(where, message, f"write {name} in limits")
        return
    requested, most = quantities.parse_or_zero(amount), quantities.parse_or_zero(limit)
    if requested > most:
        message = f"the request of {name} is {amount}, above its limit {limit}"
        yield needs(where, message, f"write at most {limit}")
    elif is_device and requested != most:
        message = f"the request of {name} is {amount}, and its limit {limit}: devices need the same"
        yield needs(where, message, f"write {limit}")


def _selecting(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    """A workload that selects its pods by the labels of its template."""
    selector = mapping(value.get("selector"))
    wanted = mapping(selector.get("matchLabels"))
    here = (*where, "selector")
    if not wanted and not selector.get("matchExpressions"):
        yield needs(here, "selector is empty", "write matchLabels: labels of the pod template")
        return
    own = mapping(at(value, "template", "metadata", "labels"))
    for key, label in wanted.items():
        if own.get(key) != label:
            message = f"the pod template has no label {key}: {label}, which the selector requires"
            yield needs((*here, "matchLabels", key), message, _IN_TEMPLATE)
    for index, each in enumerate(objects(selector.get("matchExpressions"))):
        if not _selects(each, own):
            message = "the labels of the pod template do not match what the selector requires"
            yield needs((*here, "matchExpressions", index), message, _IN_TEMPLATE)


_IN_TEMPLATE = "write it in metadata.labels of the template"


def _selects(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    operator, key = text(expression.get("operator")), text(expression.get("key"))
    is_there, is_listed = key in labels, labels.get(key) in (expression.get("values") or ())
    matches = {
        "In": is_there and is_listed,
        "NotIn": not (is_there and is_listed),
        "Exists": is_there,
        "DoesNotExist": not is_there,
    }
    return matches.get(operator, True)


def _restarting(*allowed: str) -> Callable[[Mapping[str, Any], Path], Iterator[Finding]]:
    """A workload whose pods may be restarted in some ways only; Always is the default."""

    def check(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
        spec = at(value, "template", "spec")
        policy = text(mapping(spec).get("restartPolicy")) or "Always"
        if spec is not None and policy not in allowed:
            here = (*where, "template", "spec", "restartPolicy")
            is_given = "is" if mapping(spec).get("restartPolicy") else "is missing, and so"
            wanted = " or ".join(allowed)
            message = f"restartPolicy {is_given} {policy}: the API server requires {wanted}"
            yield needs(here, message, f"write {wanted}")

    return check


def _distinct(what: str, *parts: str) -> Callable[[Mapping[str, Any], Path], Iterator[Finding]]:
    """An object with lists of parts that have names."""

    def check(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
        seen: set[str] = set()
        for part in parts:
            for index, each in enumerate(objects(value.get(part))):
                name = text(each.get("name"))
                if name and name in seen:
                    here = (*where, part, index, "name")
                    yield needs(here, f"two {what} have the name {name}", "write another name")
                seen.add(name)

    return check


def _host_ports(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    """Ports of the node that two containers of a pod would get."""
    seen: set[tuple[Any, ...]] = set()
    for index, each in enumerate(objects(value.get("containers"))):
        for place, port in enumerate(objects(each.get("ports"))):
            number = port.get("hostPort")
            taken = (number, port.get("protocol") or "TCP", port.get("hostIP") or "")
            if number and taken in seen:
                here = (*where, "containers", index, "ports", place, "hostPort")
                yield needs(here, f"host port {number} is used twice", "write another port")
            seen.add(taken)


def _claims(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    """Claims of containers, which are claims of the pod, too."""
    known = [text(each.get("name")) for each in objects(value.get("resourceClaims"))]
    for part in ("initContainers", "containers"):
        for index, container in enumerate(objects(value.get(part))):
            for place, each in enumerate(objects(at(container, "resources", "claims"))):
                if (name := text(each.get("name"))) not in known:
                    here = (*where, part, index, "resources", "claims", place, "name")
                    message = f"the pod has no claim {name or 'without a name'} in resourceClaims"
                    yield needs(
                        here,
                        message,
                        f"write one of {', '.join(known)}"
                        if known
                        else "write it in resourceClaims of the pod",
                    )


def _overhead(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    for name in mapping(value.get("overhead")):
        yield from _resource_name(str(name), (*where, "overhead", name))
    yield from _whole(value, "overhead", where)


def _taints(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for index, each in enumerate(objects(value.get("taints"))):
        taint = (text(each.get("key")), text(each.get("effect")))
        if taint in seen:
            message = f"there are two taints {taint[0]} with the effect {taint[1]}"
            yield needs((*where, "taints", index), message, "remove one")
        seen.add(taint)


def _one_of(*names: str) -> Callable[[Mapping[str, Any], Path], Iterator[Finding]]:
    """An object that needs one of these fields."""

    def check(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
        if not any(value.get(name) for name in names):
            wanted = f"{', '.join(names[:-1])} or {names[-1]}"
            yield needs(where, f"{_last(where)} has no {wanted}", f"write {wanted}")

    return check


def _last(where: Path) -> str:
    return dotted(where[-2:] if isinstance(where[-1], int) else where[-1:])


def _claim(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    """The claim of a volume."""
    requested = at(value, "resources", "requests", "storage")
    if quantities.parse_or_zero(requested) <= 0:
        here = (*where, "resources", "requests", "storage")
        message = "the claim requests no storage" if requested is None else "storage is not above 0"
        yield needs(here, message, "write an amount, such as 10Gi")


def _volume(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    if quantities.parse_or_zero(at(value, "capacity", "storage")) <= 0:
        here = (*where, "capacity", "storage")
        yield needs(here, "the volume has no storage", "write an amount, such as 10Gi")


def _attribute(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    """An attribute of a device."""
    if sum(each is not None for each in value.values()) != 1:
        message = f"{where[-1]} has not exactly one value"
        yield needs(where, message, "write one of bool, int, string and version")


def _node(value: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    for part in ("capacity", "allocatable"):
        yield from _whole(value, part, where)


def _whole(value: Mapping[str, Any], part: str, where: Path) -> Iterator[Finding]:
    """Amounts of pods and devices."""
    for name, amount in mapping(value.get(part)).items():
        is_whole = name == "pods" or is_extended(str(name))
        if is_whole and quantities.parse_or_zero(amount).denominator != 1:
            message = f"{name} is {amount}: the API server requires a whole number"
            yield needs((*where, part, name), message, "write a whole number")


_RULES: Mapping[str, tuple[Callable[[Mapping[str, Any], Path], Iterator[Finding]], ...]] = {
    "NodeSelectorRequirement": (_requirement,),
    "LabelSelectorRequirement": (_of_labels,),
    "Toleration": (_toleration,),
    "ResourceRequirements": (_resources,),
    "PodSpec": (
        _distinct("containers", "initContainers", "containers"),
        _distinct("volumes", "volumes"),
        _host_ports,
        _claims,
        _overhead,
    ),
    "PodResourceClaim": (_one_of("resourceClaimName", "resourceClaimTemplateName"),),
    "NodeSpec": (_taints,),
    "NodeStatus": (_node,),
    "DeviceAttribute": (_attribute,),
    "DeviceClaim": (_distinct("requests", "requests"),),
    "DeviceRequest": (_one_of("exactly", "firstAvailable", "deviceClassName"),),
    "ResourceSliceSpec": (
        _one_of("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection", "sharedCounters"),
        _distinct("devices", "devices"),
    ),
    "JobSpec": (_restarting("OnFailure", "Never"),),
    **dict.fromkeys(
        ("DeploymentSpec", "ReplicaSetSpec", "StatefulSetSpec", "DaemonSetSpec"),
        (_selecting, _restarting("Always")),
    ),
    "PersistentVolumeClaimSpec": (_claim,),
    "PersistentVolumeSpec": (_volume,),
}
WHOLE = frozenset(
    (
        "JobSpec",
        "DeploymentSpec",
        "ReplicaSetSpec",
        "StatefulSetSpec",
        "DaemonSetSpec",
        "PersistentVolumeClaimSpec",
        "PersistentVolumeSpec",
    )
)
"""Types whose rules are about missing fields, too: they are checked in whole manifests."""
