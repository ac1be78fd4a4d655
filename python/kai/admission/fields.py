"""The fields of KAI's own kinds: the API server drops every other without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from kai.admission.finding import Finding, Path, warning
from kai.api.nearest import did_you_mean

Fields = Mapping[str, Any]
"""Names, each with the fields below it; None: what is below is not looked at."""

_SHARE: Fields = {"quota": None, "overQuotaWeight": None, "limit": None}
_TOPOLOGY: Fields = {
    "topology": None, "requiredTopologyLevel": None, "preferredTopologyLevel": None,
}  # fmt: skip
SPECS: Mapping[str, Fields] = MappingProxyType(
    {
        "Queue": {
            "displayName": None,
            "parentQueue": None,
            "priority": None,
            "preemptMinRuntime": None,
            "reclaimMinRuntime": None,
            "resources": {"gpu": _SHARE, "cpu": _SHARE, "memory": _SHARE},
        },
        "PodGroup": {
            "minMember": None,
            "minSubGroup": None,
            "queue": None,
            "priorityClassName": None,
            "preemptibility": None,
            "topologyConstraint": _TOPOLOGY,
            "subGroups": {
                "name": None,
                "parent": None,
                "minMember": None,
                "minSubGroup": None,
                "topologyConstraint": _TOPOLOGY,
            },
            "markUnschedulable": None,
            "schedulingBackoff": None,
            "preemptionDelay": None,
            "stalenessGracePeriod": None,
        },
    }
)
"""Of `spec`, by kind; items of a list are looked at as the field itself."""


def check(kind: str, spec: object) -> Iterator[Finding]:
    """Fields of `spec` that the kind does not have; of kinds that are not KAI's none."""
    if kind in SPECS:
        yield from _check(kind, spec, SPECS[kind], ("spec",))


def _check(kind: str, value: object, known: Fields, where: Path) -> Iterator[Finding]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _check(kind, each, known, (*where, index))
    if not isinstance(value, Mapping):
        return
    for name, each in value.items():
        if name not in known:
            said = f"a {kind} has no field {name}, and the API server drops it"
            fix = did_you_mean(name, known).removeprefix("; ") or f"write {', '.join(known)}"
            yield warning("field-unknown", (*where, str(name)), said, fix)
        elif known[name] is not None:
            yield from _check(kind, each, known[name], (*where, name))
