"""Values that another program fills in: parameters of Argo and Tekton, variables of envsubst.

>>> placeholder_in("{{inputs.parameters.gpus}}"), placeholder_in("$(params.queue)-x")
('{{inputs.parameters.gpus}}', '$(params.queue)')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kai.admission.finding import Finding, Path
from kai.api import kinds
from kai.api.reading import at, objects
from kai.api.reading import text as text_of

_PLACEHOLDER = re.compile(
    r"\{\{.*?\}\}"  # Argo, Helm, Jinja
    r"|\{%.*?%\}|<%.*?%>"
    r"|\$\{[A-Za-z_][^}]*\}"  # envsubst, Flux
    r"|\$\([A-Za-z_][\w.\[\]'\"*-]*\)"  # Tekton, Kustomize
    r"|\$[A-Za-z_]\w*",  # envsubst
    re.DOTALL,
)


def placeholder_in(value: object) -> str:
    """The first placeholder of a value that another program fills in; "" if there is none."""
    found = _PLACEHOLDER.search(value) if isinstance(value, str) and len(value) < 4096 else None
    return found[0] if found else ""


# ---- values --------------------------------------------------------------------------------------

_OF_VALUES = frozenset(
    (
        *("annotation-value", "container-missing", "devices-refused", "duration-refused"),
        *("fraction-refused", "fraction-rounded", "gpu-memory-refused", "min-member-refused"),
        *("name-refused", "node-unknown", "not-a-list", "not-a-mapping", "not-text"),
        *("nvfractions-refused", "preemptibility-unknown", "quantity-refused", "queue-cycle"),
        *("queue-not-leaf", "queue-parent-unknown", "queue-quantity", "queue-unknown"),
        *("queue-without-parent", "ray-num-gpus", "scheduler-other", "value-refused"),
        *("queue-overruled", "zenml-value", "claim-queue", "priority-unknown", "schema-refused"),
        "claim-unknown",
        "device-class-unknown",
        "sub-group-unknown",
        "topology-unknown",
    )
)
"""Codes about a value; the value is not known yet if it has a placeholder."""
_OF_ARGO = "Argo refuses parameters in resources: use podSpecPatch"


def without_unfilled(found: Iterable[Finding], manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings without those about values that another program fills in.

    Argo is an exception: it refuses parameters where Kubernetes has a quantity.
    """
    is_argos = kinds.known(text_of(manifest.get("kind"))).group == "argoproj.io"
    for each in found:
        unknown = each.code in _OF_VALUES and placeholder_in(_value(manifest, each.at))
        if not unknown:
            yield each
        elif is_argos and each.code == "quantity-refused" and unknown.startswith("{{"):
            yield replace(each, fix=_OF_ARGO)


# ---- defaults ------------------------------------------------------------------------------------

_WITH_DEFAULT = re.compile(r"\$\{\w+:?[-=]([^}]*)\}")
_PARAMETER = re.compile(r"\{\{\s*=?\s*((?:inputs|workflow)\.parameters\.[\w-]+)\s*\}\}")


def with_defaults(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The manifest with the defaults of its parameters: of Argo's, and those of ${NAME:-default}.

    The same object if it has none.
    """
    written = str(manifest) if first_placeholder(manifest) else ""
    if not (_WITH_DEFAULT.search(written) or _PARAMETER.search(written)):
        return manifest
    described = kinds.known(text_of(manifest.get("kind"))).pods
    where = described[0].path.split(".")[:-1] if described else []
    given = _parameters(at(manifest, *where, "arguments"), "workflow")
    replaced: Mapping[str, Any] = _replaced(manifest, given)
    return manifest if replaced == manifest else replaced


def _parameters(arguments: object, prefix: str) -> dict[str, str]:
    return {
        f"{prefix}.parameters.{each.get('name')}": value
        for each in objects(at(arguments, "parameters"))
        if isinstance(value := each.get("value", each.get("default")), str)
    }


def _replaced(value: Any, known: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        own = {**known, **_parameters(value.get("inputs"), "inputs")}
        return {key: _replaced(each, own) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, known) for each in value]
    if not isinstance(value, str):
        return value
    if found := _PARAMETER.fullmatch(value):
        return known.get(found[1], value)
    return _WITH_DEFAULT.sub(lambda found: found[1], value)


def about_defaults(found: Iterable[Finding], manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings with advice about the default, where the manifest has a parameter."""
    for each in found:
        parameter = placeholder_in(_value(manifest, each.at)) if each.code in _OF_VALUES else ""
        if parameter:
            yield replace(each, fix=f"{each.fix}, as the default of {parameter}", edit=None)
        else:
            yield each


def _value(manifest: object, path: Path) -> object:
    for step in path:
        is_member = isinstance(manifest, Mapping) and step in manifest
        is_item = isinstance(manifest, list) and isinstance(step, int) and step < len(manifest)
        if not (is_member or is_item):
            return None
        inside: Any = manifest
        manifest = inside[step]
    return manifest


def filled(value: Any) -> Any:
    """The value without the entries that another program fills in."""
    if isinstance(value, Mapping):
        return {key: filled(each) for key, each in value.items() if not placeholder_in(each)}
    if isinstance(value, list):
        return [filled(each) for each in value if not placeholder_in(each)]
    return value


_NOT_READ = frozenset(
    (
        *("command", "args", "env", "data", "stringData", "source", "script", "steps", "dag"),
        *("arguments", "parameters", "inputs", "outputs", "params", "status", "message"),
    )
)
"""Fields that lint does not read, or that have to contain placeholders."""


def first_placeholder(value: object) -> str:
    """A placeholder of the values that lint reads; "" if there is none."""
    if isinstance(value, Mapping):
        inner: Iterable[Any] = (each for key, each in value.items() if key not in _NOT_READ)
    else:
        inner = value if isinstance(value, list) else ()
    own = placeholder_in(value)
    return own or next((found for each in inner if (found := first_placeholder(each))), "")
