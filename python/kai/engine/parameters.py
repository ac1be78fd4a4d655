"""The `schedulerParams` of a configuration: settings of KAI's command line that change decisions.

config, found = configuration.split(config)      # {"schedulerName": "kai", ...}
cluster.configure(**parameters.nested(found))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import defaults
from kai.api.kai_flags import ADDED_PARAMETERS, PARAMETERS
from kai.api.nearest import check_known
from kai.api.reading import mapping
from kai.errors import InvalidConfigError, InvalidInputError


def nested(found: Mapping[str, Any]) -> dict[str, Any]:
    """The same as members of a snapshot: `partitionParams` is a mapping."""
    made: dict[str, Any] = {}
    for name, value in found.items():
        head, _, tail = name.partition(".")
        if tail:  # a member that is missing would be empty
            made.setdefault(head, {**defaults.scheduler_params()[head]})[tail] = value
        else:
            made[name] = value
    return made


def of_snapshot(given: object) -> dict[str, Any]:
    """The `schedulerParams` of a snapshot in the format of a configuration: a member that a
    snapshot lacks is zero, as in Go (spec 2 L7). Raises InvalidConfigError."""
    if not isinstance(given, Mapping):
        raise InvalidConfigError(f"schedulerParams: {given!r} is not a mapping")
    found = _zero(defaults.scheduler_params(), given)
    known = {name.partition(".")[0] for name in (*PARAMETERS, *ADDED_PARAMETERS)}
    return {name: each for name, each in found.items() if name in known}


def _zero(members: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given members, and zero for each of `members` that is missing."""
    found = dict(given)
    for name, default in members.items():
        if isinstance(default, Mapping):
            found[name] = _zero(default, mapping(given.get(name)))
        else:
            found.setdefault(name, type(default)())
    return found


def of_config(given: object) -> dict[str, Any]:
    """The parameters in the `schedulerParams` of a configuration, by the names in the table of
    flags. Raises InvalidConfigError."""
    if not isinstance(given, Mapping):
        raise InvalidConfigError(f"schedulerParams: {given!r} is not a mapping")
    flat: dict[str, Any] = {}
    for name, value in given.items():
        if name == "partitionParams" and isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            flat[name] = value
    rows = {**PARAMETERS, **ADDED_PARAMETERS}
    check_known(flat, rows, "schedulerParams: there is no parameter", InvalidConfigError)
    found = {}
    for name, value in flat.items():
        try:
            found[name] = rows[name].value(value)
        except InvalidInputError as error:
            problem = str(error).partition(": ")[2]
            raise InvalidConfigError(f"schedulerParams.{name}: {problem}") from None
    return found
