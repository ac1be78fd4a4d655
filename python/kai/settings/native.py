"""Converts between plain values of the API server and objects of Python clients.

    pod = to_native("V1Pod", {"spec": {"schedulerName": "kai-scheduler", "containers": [...]}})
    to_plain(pod)["spec"]["schedulerName"]

Clients that are generated from an OpenAPI description (kubernetes, kubeflow-training, kserve) list
the JSON names of their attributes in `attribute_map` and their classes in `openapi_types`. Both are
the same from kubernetes 25 to 37. In 37 the classes became pydantic models, and its ApiClient no
longer serializes the classes of other libraries; so it is not used here (spec 7 J6).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from importlib import import_module
from typing import Any

from kai.errors import InvalidRequestError

_LIST = re.compile(r"[Ll]ist\[(.+)\]")
_DICT = re.compile(r"[Dd]ict(?:\(\w+, *(.+)\)|\[\w+, *(.+)\])")


def to_native(kind: str, values: Mapping[str, Any], *, library: str = "kubernetes.client") -> Any:
    """An object of a client's class, such as V1Toleration, from values with JSON keys.

    Classes that the library lacks are looked up in the kubernetes client. Raises ImportError if it
    is not installed, and InvalidRequestError for an unknown key.
    """
    classes = [import_module(name) for name in dict.fromkeys((library, "kubernetes.client"))]
    return _made(kind, values, classes)


def _made(kind: str, value: Any, libraries: Sequence[Any]) -> Any:
    if value is None:
        return None
    if (entry := _LIST.fullmatch(kind)) and isinstance(value, (list, tuple)):
        return [_made(entry[1], each, libraries) for each in value]
    if (entry := _DICT.fullmatch(kind)) and isinstance(value, Mapping):
        of = entry[1] or entry[2]
        return {key: _made(of, each, libraries) for key, each in value.items()}
    made = next((getattr(each, kind) for each in libraries if hasattr(each, kind)), None)
    if made is None or not isinstance(value, Mapping):
        return value
    attributes = {spelled: name for name, spelled in made.attribute_map.items()}
    arguments = {}
    for key, each in value.items():
        name = attributes.get(key)
        if name is None:
            raise InvalidRequestError(
                f"{kind} of this client has no {key!r}: write one of {', '.join(attributes)}, or"
                " use as_native=False for plain values"
            )
        arguments[name] = _made(made.openapi_types[name], each, libraries)
    try:
        return made(**arguments)
    except (TypeError, ValueError) as error:  # pydantic's errors are ValueErrors
        raise InvalidRequestError(
            f"{kind} cannot be created from these values ({error}): complete them, or use"
            " as_native=False for plain values"
        ) from None


def to_plain(value: Any) -> Any:
    """An object of a client as JSON values, without unset fields."""
    if isinstance(value, Mapping):
        return {key: to_plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, (list, tuple)):
        return [to_plain(each) for each in value]
    if isinstance(value, datetime):
        # Clients treat a time without a zone as UTC.
        zoned = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return zoned.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(names := getattr(value, "attribute_map", None), Mapping):
        fields = {spelled: getattr(value, name) for name, spelled in names.items()}
        return to_plain(fields)
    if callable(dump := getattr(value, "model_dump", None)):
        return to_plain(dump(by_alias=True, exclude_none=True))
    return value
