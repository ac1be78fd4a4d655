"""The variables of a container as a kubelet sets them."""

import re
from collections.abc import Mapping

from ..client import Object
from .data import Data
from .errors import MachineError
from .rewriting import expanded

FIELDS = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.podIP": ("status", "podIP"),
    "status.hostIP": ("status", "hostIP"),
}
_OF_MAP = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


async def variables_of(container: Object, pod: Object, data: Data) -> dict[str, str]:
    """Those of `env` override those of `envFrom`.

    Raises:
        NotYetError: a ConfigMap, a Secret or a key does not exist.
        MachineError: a source is not supported.
    """
    found: dict[str, str] = {}
    for each in container.get("envFrom", ()):
        prefix = each.get("prefix", "")
        for kind, member in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            if member in each:
                values = await data.of(kind, each[member])
                found |= {prefix + key: value.decode() for key, value in values.items()}
    earlier: dict[str, str] = {}  # a reference in a value means a variable above it
    for each in container.get("env", ()):
        if "valueFrom" in each:
            value = await _value(each["valueFrom"], pod, data)
        else:
            value = expanded(each.get("value", ""), earlier)
        if value is not None:
            earlier[each["name"]] = value
    return found | earlier


async def _value(source: Mapping[str, Object], pod: Object, data: Data) -> str | None:
    """None: it is optional and does not exist."""
    if "fieldRef" in source:
        return field_of(pod, source["fieldRef"]["fieldPath"])
    for kind, member in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
        if reference := source.get(member):
            value = await data.value(kind, reference)
            return None if value is None else value.decode()
    raise MachineError(f"the machine does not support variables from {', '.join(source)}")


def field_of(pod: Object, path: str) -> str:
    """Raises:
    MachineError: the field is not supported.
    """
    if found := _OF_MAP.fullmatch(path):
        return str(pod["metadata"].get(found[1], {}).get(found[2], ""))
    if path not in FIELDS:
        raise MachineError(f"the machine does not support the field {path} of a pod")
    part, name = FIELDS[path]
    return str(pod[part].get(name, ""))
