"""Time-based fair share in a simulation: the settings for its own past usage (spec 1 F115-F121).

    usage = params_in(config)         # of usageDBConfig; None: past usage is ignored
    compiled_usage(usage, start_ns)   # the form for the compiled simulation

The usage comes from the simulation itself, so no database is needed and its address is ignored.
KAI's usage is a sum of samples; here it is the integral that the sum approximates
(cpp/kai/sim/usage_history.h).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from kai.api.naming import naming
from kai.engine import config as configuration
from kai.engine.config import ConfigSource
from kai.engine.usage_params import MEMBERS, OF_DB, UsageParams, mapping_of, text_of, unknown
from kai.engine.windows import Window
from kai.errors import InvalidConfigError, InvalidInputError

__all__ = ["CLIENTS", "compiled_usage", "params_in", "params_of"]

CLIENTS = ("prometheus", "fake", "fake-with-history")
"""The values of `clientType` that KAI accepts: in a simulation all of them mean its own past."""


def params_of(given: Any, name: str = "usage") -> UsageParams:
    """From a mapping with the members of KAI's `usageParams`.

    Raises InvalidInputError for an invalid value, and for an unknown member.
    """
    params = UsageParams.of(given, name)
    for member in given or {}:
        if member not in MEMBERS:
            raise InvalidInputError(f"{name}: there is no member {member!r}")
    return params


def params_in(config: ConfigSource | None) -> UsageParams | None:
    """The member `usageDBConfig` of a scheduler's configuration; None: it has none.

    Raises InvalidConfigError for an invalid value, with KAI's messages if KAI has one.
    """
    text = "" if config is None else configuration.config_json(config)
    given = json.loads(text).get("usageDBConfig") if text else None
    if not given:
        return None
    with naming("usageDBConfig", InvalidConfigError):
        db = mapping_of(given, "it")
        client = text_of(db, "clientType", "")
        if not client:
            raise InvalidInputError("client type cannot be empty")
        if client not in CLIENTS:
            known = " ".join(CLIENTS)
            raise InvalidInputError(f"unknown client type: {client}, supported types: [{known}]")
        params = UsageParams.of(db.get("usageParams"))
    return replace(params, warnings=(*unknown(db, OF_DB, ""), *params.warnings))


def compiled_usage(params: UsageParams, start_ns: int) -> dict[str, Any]:
    """In nanoseconds since the start of the simulation, whose date is `start_ns`."""
    window = params.window
    begins_ns = 0 if window.start_s is None else round(window.start_s * 1e9) - start_ns
    return {
        "kind": window.kind,
        "size_ns": round(window.size * 1e9),
        "start_ns": begins_ns,
        "half_life_ns": window.half_life * 1e9 if window.decays and window.half_life else 0.0,
        "fetch_ns": round(params.fetch_interval * 1e9),
        "next_reset": _next_reset(window, start_ns) if window.kind == "cron" else None,
    }


def _next_reset(window: Window, start_ns: int) -> Callable[[int], int]:
    """The first time of the cron string after a given time."""
    from croniter import croniter

    def next_reset(after_ns: int) -> int:
        after = datetime.fromtimestamp((start_ns + after_ns) / 1e9, timezone.utc)
        found: datetime = croniter(window.cron, after).get_next(datetime)
        return round(found.timestamp()) * 1_000_000_000 - start_ns

    return next_reset
