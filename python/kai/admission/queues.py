"""Checks of Queue objects: the types that the API server requires, and amounts without a sense.

The sentences about types are those of the reader in C++ (cpp/kai/ingest/queue_reader.cc), which
reads Queues that do not come from manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from kai.admission import answers
from kai.admission.finding import Finding, Path, error, refusal, warning
from kai.admission.shape import no_text
from kai.api import quantities, rules
from kai.api.names import LONGEST_LABEL
from kai.api.numerals import numeral, rounded
from kai.api.reading import at, mapping

RESOURCES = ("cpu", "gpu", "memory")
_AMOUNTS = ("quota", "limit", "overQuotaWeight")
_RUN_TIMES = ("preemptMinRuntime", "reclaimMinRuntime")
_UNLIMITED = -1
_UNITS = {"cpu": (Fraction(1000), "thousandths of a core"), "memory": (Fraction(1, 10**6), "MB")}
"""What a quantity such as 8 or 32Gi is multiplied by, and the unit of the result (spec 5 A5)."""
_BYTES = re.compile(r"(?<=[0-9])(Ki|[kMGTPE]i?)$")
"""The suffixes of large amounts, which only bytes have."""


def queue_refusals(queue: Mapping[str, Any]) -> Iterator[Finding]:
    """Why the API server or KAI's webhook would refuse a Queue (spec 5 A6, A7).

    A Queue with a resourceVersion was accepted by a cluster, perhaps without the webhook.
    """
    spec, resources = mapping(queue.get("spec")), at(queue, "spec", "resources")
    if not at(queue, "metadata", "resourceVersion"):
        yield from without_resources(queue)
    for name in ("displayName", "parentQueue"):
        if spec.get(name) is not None and not isinstance(spec[name], str):
            yield no_text(spec[name], ("spec", name), name)
    priority = spec.get("priority")
    if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int)):
        message = f"expected a whole number, found {_found(priority)}"
        yield refusal("queue-quantity", ("spec", "priority"), message, _number(priority))
    for name in _RUN_TIMES:
        yield from _run_time(spec.get(name), ("spec", name))
    yield from _resources(resources)


def without_resources(queue: Mapping[str, Any]) -> Iterator[Finding]:
    """What KAI's webhook refuses, of new Queues and of changed ones."""
    if at(queue, "spec", "resources") is None:
        yield refusal(
            "queue-without-resources",
            ("spec", "resources"),
            "is missing, and KAI refuses the Queue: resources must be specified",
            "write gpu, cpu and memory, each with quota and limit; -1 means no limit",
            answer=answers.NO_RESOURCES,
        )


def _run_time(value: object, where: Path) -> Iterator[Finding]:
    if value is None:
        return
    fix = "write a duration with a unit, such as 5m"
    if not isinstance(value, str):
        message = f"expected a string, found {_found(value)}"
        yield refusal("duration-refused", where, message, fix)
    elif not rules.is_duration(value):
        yield refusal("duration-refused", where, f'duration "{value}" is not valid', fix)


def _resources(resources: object) -> Iterator[Finding]:
    where: Path = ("spec", "resources")
    if resources is not None and not isinstance(resources, Mapping):
        message = f"resources is {rules.written(resources)}: the API server requires a mapping"
        yield refusal("not-a-mapping", where, message, "write gpu, cpu and memory")
    for name in RESOURCES:
        block = mapping(resources).get(name)
        if block is not None and not isinstance(block, Mapping):
            message = f"{name} is {rules.written(block)}: the API server requires a mapping"
            fix = "write quota, limit and overQuotaWeight"
            yield refusal("not-a-mapping", (*where, name), message, fix)
        for amount, value in mapping(block).items():
            if amount in _AMOUNTS and value is not None:
                yield from _amount(name, amount, value, (*where, name, amount))


def _amount(resource: str, amount: str, value: object, where: Path) -> Iterator[Finding]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        fix = _number(value, resource if amount != "overQuotaWeight" else "")
        message = f"expected a number, found {_found(value)}"
        yield refusal("queue-quantity", where, message, fix)
    elif not abs(value) <= quantities.LARGEST + 1:
        message = "is more than the largest amount of Kubernetes, 2^63"
        yield refusal("quantity-refused", where, message, "write -1 for no limit")


def _found(value: object) -> str:
    if isinstance(value, float):
        return numeral(value)
    kinds = ((bool, "a boolean"), (int, "a number"), (str, "a string"), (list, "an array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "an object")


def _number(value: object, resource: str = "") -> str:
    """What to write instead of a text: the number in the unit of the resource."""
    text = str(value).strip()
    count = _BYTES.sub("", text) if resource == "gpu" and _BYTES.search(text) else ""
    if text.lower() in ("unlimited", "none", "inf", "infinite", "max"):
        return f"write {_UNLIMITED}, without quotes, for no limit"
    try:
        exact = quantities.parse(count or text)
    except ValueError:
        return "write a number, without quotes"
    factor, unit = _UNITS.get(resource, (Fraction(1), ""))
    if exact == _UNLIMITED:
        factor, unit = Fraction(1), ""
    elif resource == "memory" and text[-1:].isdecimal():
        factor = Fraction(1)  # a plain number is already in MB, unlike bytes
    exact *= factor
    if abs(exact) > quantities.LARGEST + 1:
        if not resource:
            return "write a number, without quotes"
        return f"write {_UNLIMITED}, without quotes, for no limit"
    unit = "GPUs" if count else unit
    hint = f": the unit is {unit}" if unit else ""
    return f"write {rounded(float(exact))}, without quotes{hint}"


# ---- amounts that the API server accepts ---------------------------------------------------------


def doubts(queue: Mapping[str, Any]) -> Iterator[Finding]:
    """A name that no pod can give, and amounts of a valid Queue that cannot be meant: below 0, or a
    quota above the limit, which our webhook refuses."""
    name = at(queue, "metadata", "name")
    if isinstance(name, str) and len(name) > LONGEST_LABEL:
        yield warning(
            "queue-name",
            ("metadata", "name"),
            f"has {len(name)} characters; pods name their queue by a label, which has at most"
            f" {LONGEST_LABEL}",
            f"write a name of up to {LONGEST_LABEL} characters",
        )
    for resource in RESOURCES:
        block = mapping(at(queue, "spec", "resources", resource))
        where: Path = ("spec", "resources", resource)
        amounts = {name: block[name] for name in _AMOUNTS if _is_number(block.get(name))}
        for name, value in amounts.items():
            if value >= 0 or (value == _UNLIMITED and name != "overQuotaWeight"):
                continue
            message = f"{name} is {numeral(value)}: below 0, only -1 has a meaning"
            fix = "write -1 for no limit"
            if name == "overQuotaWeight":
                message = f"{name} is {numeral(value)}, below 0"
                fix = "write 0 for no part of what other queues do not use, or a weight above 0"
            yield warning("queue-quantity", (*where, name), message, fix)
        quota, limit = amounts.get("quota", 0), amounts.get("limit", 0)
        if quota > limit > 0:
            yield error(
                "queue-quota-above-limit",
                (*where, "quota"),
                f"the quota is {numeral(quota)}, above the limit {numeral(limit)}: the queue never"
                " gets its quota",
                f"write a quota of at most {numeral(limit)}, or a larger limit",
            )
        elif resource in _UNITS:
            yield from _unit(resource, amounts, where, has_gpus=_has_gpus(queue))


_LEAST = 1000
"""Of CPUs and of memory: one core, and one GB. A queue with GPUs needs more."""
_MOST_MB = 10**9
"""A petabyte: a larger amount was written in bytes."""


def _has_gpus(queue: Mapping[str, Any]) -> bool:
    gpus = mapping(at(queue, "spec", "resources", "gpu"))
    return any(_is_number(gpus.get(name)) and gpus[name] != 0 for name in ("quota", "limit"))


def _unit(
    resource: str, amounts: Mapping[str, Any], where: Path, *, has_gpus: bool
) -> Iterator[Finding]:
    """Cores where thousandths are meant, GB or bytes where MB are meant. One finding a resource."""
    unit = _UNITS[resource][1]
    for name in ("limit", "quota"):
        value = amounts.get(name, 0)
        if has_gpus and 0 < value < _LEAST:
            is_cpu = resource == "cpu"
            means = f"{rounded(value / 1000)} cores" if is_cpu else f"{numeral(value)} MB"
            meant = f"{rounded(value * 1000)} for {numeral(value)} {'cores' if is_cpu else 'GB'}"
        elif resource == "memory" and value > _MOST_MB:
            means = f"{numeral(value)} MB"
            meant = f"{rounded(value / 10**6)} for {numeral(value)} bytes"
        else:
            continue
        yield warning(
            "queue-unit",
            (*where, name),
            f"{name} is {numeral(value)}, which is {means}: the unit is {unit}",
            f"write {meant}",
        )
        return


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
