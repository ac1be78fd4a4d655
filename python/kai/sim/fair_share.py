"""Fair shares for the queues in a request: the answers of KAI's fair-share simulator.

>>> queues = [{"uid": each, "resourceShare": {"gpu": {"request": 8}}} for each in ("a", "b")]
>>> answer = fair_shares({"totalResource": {"GPU": 6}, "queues": queues})
>>> answer["a"]["gpu"], answer["b"]["gpu"]
(3, 3)

Request, answer and units are those of KAI's simulator (spec 1 F125): devices, millicores, bytes.
All queues count as siblings, whatever parents they name, and past usage is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kai.api import documents, times
from kai.errors import InvalidInputError

RESOURCES = ("gpu", "cpu", "memory")
_UNLIMITED = -1.0
_DEFAULTS = {"deserved": 0.0, "maxAllowed": _UNLIMITED, "overQuotaWeight": 1.0, "request": 1e5}
"""Defaults of missing members; other members are ignored (spec 1 F125)."""
_MISSING = {
    "gpu": _DEFAULTS,
    "cpu": {**_DEFAULTS, "deserved": _UNLIMITED},
    "memory": {**_DEFAULTS, "deserved": _UNLIMITED},
}
_LARGEST = 2.0**63
_NOW_NS = 2**63 - 1
"""The creation time of a queue without one: after all others."""

Answer = dict[str, dict[str, float]]


def fair_shares(request: Mapping[str, Any] | str) -> Answer:
    """By the uid of each queue: "gpu" (devices), "cpu" (millicores) and "memory" (bytes).

    `request` is a mapping, or JSON. Of two queues with one uid the last counts. For queues without
    a creation time KAI uses the current time; here they are equally young, and younger than all
    others. Costs O(queues log queues) for each priority.

    Raises InvalidInputError for an invalid request.
    """
    given = _read(request) if isinstance(request, str) else request
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"the request is a {type(given).__name__}, not an object")
    totals = _object(_member(given, "totalResource"), "totalResource")
    queues = _member(given, "queues")
    queues = [] if queues is None else queues
    if not isinstance(queues, Sequence) or isinstance(queues, str):
        raise InvalidInputError("queues: is not a list")
    by_uid = {}
    for place, queue in enumerate(queues):
        read = _queue(_object(queue, f"queues[{place}]"), f"queues[{place}]")
        by_uid[read[0]] = read
    from kai import _core

    answer: Answer = {uid: {} for uid in sorted(by_uid)}
    for resource in RESOURCES:
        total = _number(_member(totals, resource), 0.0, f"totalResource.{resource}")
        rows = [(*by_uid[uid][:3], *by_uid[uid][3][resource], 0.0) for uid in answer]
        for uid, share in zip(answer, _core.divide(total, rows, k_value=0.0), strict=True):
            answer[uid][resource] = int(share) if share == int(share) else share
    return answer


_Shares = dict[str, tuple[float, float, float, float]]
"""By resource: deserved, limit, weight, request."""


def _queue(queue: Mapping[str, Any], where: str) -> tuple[str, int, int, _Shares]:
    uid, priority = _member(queue, "uid"), _member(queue, "priority")
    if not isinstance(uid, str) or not uid:
        raise InvalidInputError(f"{where}: uid: is not a string: {uid!r}")
    if not isinstance(priority, int | None) or isinstance(priority, bool):
        raise InvalidInputError(f"{where}: priority: is not a whole number: {priority!r}")
    if not -(2**63) <= (priority or 0) < 2**63:
        raise InvalidInputError(f"{where}: priority: is too large: {priority}")
    shares = _object(_member(queue, "resourceShare"), f"{where}.resourceShare")
    created_ns = _created_ns(_member(queue, "creationTimestamp"))
    read: _Shares = {}
    for resource in RESOURCES:
        at, given = f"{where}.resourceShare.{resource}", _member(shares, resource)
        defaults = _MISSING[resource] if given is None else _DEFAULTS
        share = _object(given, at)
        read[resource] = (
            _amount("deserved", share, defaults, at),
            _amount("maxAllowed", share, defaults, at),
            _amount("overQuotaWeight", share, defaults, at),
            _amount("request", share, defaults, at),
        )
    return uid, priority or 0, created_ns, read


def _amount(
    name: str, share: Mapping[str, Any], defaults: Mapping[str, float], where: str
) -> float:
    return _number(_member(share, name), defaults[name], f"{where}.{name}")


def _member(given: Mapping[str, Any], name: str) -> Any:
    """Reads a member as Go reads JSON: names in any case, an exact match first."""
    if name in given:
        return given[name]
    return next((v for k, v in given.items() if str(k).lower() == name.lower()), None)


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{where}: is not an object: {value!r}")
    return value


def _number(value: Any, default: float, where: str) -> float:
    if value is None:
        return default
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not abs(value) <= _LARGEST:
        raise InvalidInputError(f"{where}: is not a number up to 2^63: {value!r}")
    return float(value)


def _created_ns(text: Any) -> int:
    try:
        return times.to_ns(text) if isinstance(text, str) else _NOW_NS
    except InvalidInputError:
        return _NOW_NS


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"not valid JSON: {documents.where(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"not valid JSON: {error}") from None
