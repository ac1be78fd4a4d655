"""Validates the values of a request: a rule returns the value, or raises advice in one sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from kai.api import keys, quantities
from kai.api.names import problem_of_label, problem_of_name
from kai.api.nearest import did_you_mean
from kai.api.numerals import literal
from kai.errors import InvalidRequestError

MIB = 1024 * 1024
_MOST = 2**31 - 1

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_NAME_PART = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_DURATION = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+")
_MIG_PROFILE = re.compile(r"[1-9][0-9]*g\.[1-9][0-9]*gb(\.me)?")


def is_gpu_resource(name: str) -> bool:
    """Whether it is a resource of whole GPUs or GPU slices; a container with a fraction may not
    request it."""
    return name == keys.NVIDIA_GPU or name.startswith(keys.MIG_PREFIX)


def refuse(message: str) -> InvalidRequestError:
    return InvalidRequestError(message)


def label_value(name: str, value: object) -> str:
    """The value, unchanged; up to 63 letters, digits, '-', '_' and '.'."""
    if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
        raise refuse(
            f"{name} {value!r} cannot be the value of a label: use up to 63 letters, digits,"
            " '-', '_' or '.', beginning and ending with a letter or digit"
        )
    return value


def qualified_name(name: str, key: object) -> str:
    """A key of labels or annotations: a name, optionally after a domain and a slash."""
    text = key if isinstance(key, str) else ""
    domain, slash, rest = text.rpartition("/")
    named = _NAME_PART.fullmatch(rest)
    if not named or (slash and problem_of_name(domain)):
        raise refuse(f"{name} {key!r} is not a key: write a name such as team, or example.com/team")
    return text


def dns_label(name: str, value: object) -> str:
    if not isinstance(value, str) or problem_of_label(value):
        raise refuse(
            f"{name} {value!r} is not a name: use up to 63 lower-case letters, digits or '-', as in"
            " my-container"
        )
    return value


def object_name(name: str, value: object) -> str:
    if not isinstance(value, str) or problem_of_name(value):
        raise refuse(
            f"{name} {value!r} is not the name of a Kubernetes object: write a name such as train"
        )
    return value


def count(name: str, value: object, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise refuse(f"{name} is {value!r}: write a whole number of at least {least}")
    if value > _MOST:
        raise refuse(f"{name} is larger than {_MOST:,}: write a smaller number")
    return value


def mapping(name: str, value: object) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise refuse(f"{name} is {shown(value)}: write a mapping")
    return value


def shown(value: object) -> str:
    """The value for a sentence; long values are cut."""
    text = literal(value) if isinstance(value, float) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def written(value: object) -> str:
    """The value of a manifest for a sentence, with the words of YAML and JSON.

    >>> written(None), written(True), written("x")
    ('null', 'true', "'x'")
    """
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return shown(value)


def truth(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise refuse(f"{name} is {value!r}: write True or False")
    return value


def fraction_text(value: object) -> str:
    """A fraction as a plain decimal (spec 7 C3, C4); "1" for a whole device."""
    try:
        if isinstance(value, bool) or not isinstance(value, (str, int, float, Fraction)):
            raise ValueError
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError
        exact = value if isinstance(value, Fraction) else quantities.parse(repr_of(value))
    except ValueError:
        raise refuse(
            f"gpu_fraction is {value!r}: write a number between 0 and 1, such as 0.5"
        ) from None
    if exact <= 0:
        raise refuse(f"gpu_fraction is {value}: write more than 0, or omit it for no GPU")
    if exact > 1:
        raise refuse(_beyond_one(value, exact))
    text = decimal_text(exact)
    if text is None:
        raise refuse(f"gpu_fraction {value} is not a finite decimal: round it, for example to 0.33")
    return text


def repr_of(value: str | int | float) -> str:
    return value if isinstance(value, str) else repr(value)


def _beyond_one(value: object, exact: Fraction) -> str:
    whole, rest = divmod(exact, 1)
    if rest == 0:
        return f"gpu_fraction is {value}: write gpus={whole} for whole GPUs"
    devices = whole + 1
    part = decimal_text(Fraction(round(exact / devices, 2))) or "0.5"
    return (
        f"gpu_fraction is {value}, but a pod cannot have whole GPUs and a part of a GPU: write"
        f" devices={devices}, gpu_fraction={part} for a part of each of {devices} GPUs"
    )


def decimal_text(exact: Fraction) -> str | None:
    """0.125 -> "0.125"; None if no decimal is equal."""
    for digits in range(0, 19):
        scaled = exact * 10**digits
        if scaled.denominator == 1:
            if digits == 0:
                return str(scaled.numerator)
            whole, rest = divmod(scaled.numerator, 10**digits)
            return f"{whole}.{rest:0{digits}d}"
    return None


def memory_mib(value: object) -> int:
    """GPU memory in MiB: a number of MiB, or a quantity such as 5Gi (spec 7 C5)."""
    hint = "write MiB, such as 5120, or a quantity, such as '5Gi'"
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise refuse(f"gpu_memory is {value!r}: {hint}")
    try:
        mib = (
            Fraction(int(value))
            if isinstance(value, int) or re.fullmatch(r"[0-9]+", value.strip())
            else quantities.parse(value) / MIB
        )
    except ValueError:
        raise refuse(f"gpu_memory is {value!r}: {hint}") from None
    if mib <= 0:
        raise refuse(f"gpu_memory is {value!r}: write more than 0 MiB")
    if mib * MIB > quantities.LARGEST:
        raise refuse(
            f"gpu_memory is {value!r}, which is more than the largest amount of Kubernetes, 2^63"
            " - 1 bytes"
        )
    if mib.denominator != 1 and str(value).strip()[-1:] in ".0123456789":
        raise refuse(
            f"gpu_memory is {value!r}, which has no unit: write whole MiB, such as 5120, or a unit,"
            " such as '1.5Gi'"
        )
    if mib.denominator != 1:
        raise refuse(
            f"gpu_memory {value!r} is {float(mib):.2f} MiB, but KAI accepts only whole MiB: write"
            f" '{math.ceil(mib)}Mi'"
        )
    return int(mib)


def quantity(name: str, value: object) -> str:
    try:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise ValueError
        amount = quantities.parse(repr_of(value))
    except ValueError:
        raise refuse(f"{name} is {value!r}: write a quantity such as 500m, 2 or 16Gi") from None
    if amount <= 0:
        raise refuse(f"{name} is {value!r}: write more than 0, or omit it")
    if amount > quantities.LARGEST:
        raise refuse(
            f"{name} is {value!r}, which is more than the largest amount of Kubernetes, 2^63 - 1"
        )
    return str(value)


def at_most(name: str, value: str | None, limit_name: str, limit: str | None) -> None:
    if (
        value is not None
        and limit is not None
        and quantities.parse(value) > quantities.parse(limit)
    ):
        raise refuse(f"{name} {value} is above {limit_name} {limit}: write a larger limit")


def is_duration(text: str) -> bool:
    """Whether Go can read it as a duration."""
    return _DURATION.fullmatch(text) is not None


def duration(name: str, value: object) -> str:
    if not isinstance(value, str) or not is_duration(value):
        raise refuse(f"{name} is {value!r}: write a duration with a unit, such as 5m or 90s")
    return value


def mig_profile(value: object) -> str:
    if not isinstance(value, str) or not _MIG_PROFILE.fullmatch(value):
        raise refuse(f"mig is {value!r}: write a profile such as 1g.5gb or 3g.20gb")
    return value


def one_of(name: str, value: object, choices: Iterable[str]) -> str:
    known = list(choices)
    if value not in known:
        hint = did_you_mean(value, known)
        raise refuse(f"{name} is {value!r}: write one of {', '.join(known)}{hint}")
    return str(value)


def texts(name: str, value: object, *, labels: bool = False) -> dict[str, str]:
    """A mapping of text keys to texts: labels or annotations."""
    if not isinstance(value, Mapping):
        raise refuse(f"{name} is {value!r}: write a mapping such as {{'team': 'vision'}}")
    read = {}
    for key, each in value.items():
        qualified_name(f"{name}: the key", key)
        if not isinstance(each, str):
            raise refuse(f"{name}[{key!r}] is {each!r}: write a string, in quotes")
        read[key] = label_value(f"{name}[{key!r}]", each) if labels and each else each
    return read


def variables(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise refuse(f"env is {value!r}: write a mapping such as {{'NCCL_DEBUG': 'INFO'}}")
    read = {}
    for key, each in value.items():
        if not isinstance(key, str) or not _VARIABLE.fullmatch(key):
            raise refuse(
                f"env has {key!r}, which is not the name of a variable: write a name such as"
                " NCCL_DEBUG"
            )
        if isinstance(each, bool) or not isinstance(each, (str, int, float)):
            raise refuse(f"env[{key!r}] is {each!r}: write a string, in quotes")
        read[key] = str(each)
    return read


TOLERATION_FIELDS = ("key", "operator", "value", "effect", "tolerationSeconds")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def toleration(value: object) -> dict[str, Any]:
    """The toleration in Kubernetes' spelling, from a mapping in either case or a client's
    V1Toleration."""
    fields = _fields_of(value)
    if fields is None:
        raise refuse(
            f"a toleration is {value!r}: write a mapping such as {{'key': 'nvidia.com/gpu',"
            " 'operator': 'Exists', 'effect': 'NoSchedule'}"
        )
    spelled = {"toleration_seconds": "tolerationSeconds"}
    read = {spelled.get(key, key): each for key, each in fields.items() if each is not None}
    for key in read:
        if key not in TOLERATION_FIELDS:
            raise refuse(f"a toleration has {key!r}: write {', '.join(TOLERATION_FIELDS)}")
        if key == "tolerationSeconds":
            count("tolerationSeconds of a toleration", read[key], least=0)
        elif not isinstance(read[key], str):
            raise refuse(f"{key} of a toleration is {read[key]!r}: write a string, in quotes")
    operator = one_of(
        "operator of a toleration", read.get("operator", "Equal"), ("Equal", "Exists")
    )
    if "effect" in read:
        one_of("effect of a toleration", read["effect"], EFFECTS)
    if operator == "Exists" and read.get("value"):
        raise refuse("a toleration with operator Exists has a value: remove the value")
    if operator == "Equal" and not read.get("key"):
        raise refuse(
            "a toleration has no key: write one, or operator Exists to tolerate everything"
        )
    return read


def _fields_of(value: object) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return value
    names = getattr(value, "attribute_map", None)  # clients up to kubernetes 36
    if isinstance(names, Mapping):
        return {json: getattr(value, name) for name, json in names.items()}
    dump = getattr(value, "model_dump", None)  # clients from kubernetes 37
    if callable(dump):
        dumped = dump(by_alias=True, exclude_none=True)
        return dumped if isinstance(dumped, Mapping) else None
    return None


def unique(tolerations: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Removes tolerations with the same key, operator, value and effect (spec 7 B5)."""
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in tolerations:
        # A missing operator is Equal, and a missing text is empty.
        key = (
            each.get("key") or "",
            each.get("operator") or "Equal",
            each.get("value") or "",
            each.get("effect") or "",
        )
        kept.setdefault(key, dict(each))
    return tuple(kept.values())
