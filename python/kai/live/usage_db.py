"""The source of past usage: `usageDBConfig`, and the queries for Prometheus.

    db = read_usage_db(config, os.environ)        # None: none is configured
    db.queries(now_s)                             # as KAI writes them (spec 1 F118)

This module does not connect to Prometheus (see kai.live.usage_fetching). Prometheus rejects
KAI's queries for tumbling and cron windows (spec 1 W1): here they are queries of a sliding window
that starts at the window's last reset.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api.durations import go_seconds, to_go, to_prometheus
from kai.controllers.planning.options import PlanningOptions
from kai.engine import config as configuration
from kai.engine.usage import RESOURCES, Rows
from kai.engine.usage_params import OF_DB, UsageParams, mapping_of, text_of, unknown
from kai.engine.windows import Window
from kai.errors import InvalidConfigError, InvalidInputError

CLIENTS = ("prometheus",)
METRICS = {
    "gpu": "kai_queue_allocated_gpus",
    "cpu": "kai_queue_allocated_cpu_cores",
    "memory": "kai_queue_allocated_memory_bytes",
}
CAPACITIES = {
    "gpu": 'sum(kube_node_status_capacity{resource="nvidia_com_gpu"})',
    "cpu": 'sum(kube_node_status_capacity{resource="cpu"})',
    "memory": 'sum(kube_node_status_capacity{resource="memory"})',
}
QUEUE_LABEL = "queue_name"
_EXTRA = (
    "usageQueryTimeout", "queryResolution",
    *(f"{each}AllocationMetric" for each in RESOURCES),
    *(f"{each}CapacityMetric" for each in RESOURCES),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDb:
    """A usage database as configured (spec 1 F116, F117); times are in seconds.

    `metrics`, `capacities`: the series that are summed, by "gpu", "cpu" and "memory". `warnings`:
    skipped members.
    """

    address: str
    window: Window
    fetch_interval: float = 60.0
    staleness: float = 300.0
    wait: float = 60.0
    timeout: float = 10.0
    resolution: float = 60.0
    metrics: Mapping[str, str] = field(default_factory=lambda: METRICS)
    capacities: Mapping[str, str] = field(default_factory=lambda: CAPACITIES)
    warnings: tuple[str, ...] = ()

    def queries(self, now_s: float) -> dict[tuple[str, str], str]:
        """By resource, and "used" or "had"; none if the window is empty: it starts later, or
        started less than one step of the resolution ago."""
        if self.window.kind == "sliding":
            length = to_prometheus(self.window.size)
        else:
            length_s = now_s - self.window.begin_s(now_s)
            if length_s < max(self.resolution, 0.001):
                return {}
            length = to_prometheus(length_s)
        return {
            (resource, what): self._sum(metrics[resource], length, now_s)
            for resource in RESOURCES
            for what, metrics in (("used", self.metrics), ("had", self.capacities))
        }

    def _sum(self, metric: str, length: str, now_s: float) -> str:
        expression = metric
        if self.window.decays:
            age = f"({math.floor(now_s)} - time()) / {self.window.half_life:.6f}"
            expression = f"(({metric}) * (0.5^({age})))"
        return f"sum_over_time(({expression})[{length}:{to_go(self.resolution)}])"


def read_usage_db(config: Mapping[str, Any], environment: Mapping[str, str]) -> UsageDb | None:
    """The member `usageDBConfig` of a scheduler's configuration; None: it has none.

    Raises InvalidConfigError, with KAI's messages if KAI has one.
    """
    given = config.get("usageDBConfig")
    if not given:
        return None
    try:
        return _read(given, environment)
    except InvalidInputError as error:
        raise InvalidConfigError(f"usageDBConfig: {error}") from None


def usage_db_of(options: PlanningOptions) -> UsageDb | None:
    """The usage database in the configuration of a run. Raises InvalidConfigError as
    `read_usage_db` does."""
    text = "" if options.config is None else configuration.config_json(options.config)
    return read_usage_db(json.loads(text) if text else {}, os.environ)


def _read(given: Any, environment: Mapping[str, str]) -> UsageDb:
    given = mapping_of(given, "it")
    client = text_of(given, "clientType", "")
    if not client:
        raise InvalidInputError("client type cannot be empty")
    if client not in CLIENTS:
        raise InvalidInputError(
            f"unknown client type: {client}, supported types: [{' '.join(CLIENTS)}]"
        )
    params = UsageParams.of(given.get("usageParams") or {})
    extra = params.extra
    texts = {name: text_of(extra, name, "") for name in extra if name in _EXTRA}
    warnings = [*unknown(given, OF_DB, ""), *params.warnings]
    warnings += unknown(extra, _EXTRA, "usageParams.extraParams.")
    return UsageDb(
        address=_address(given, environment),
        window=params.window,
        fetch_interval=params.fetch_interval,
        staleness=params.staleness,
        wait=params.wait,
        timeout=_or_default(texts.get("usageQueryTimeout", ""), 10.0),
        resolution=_or_default(texts.get("queryResolution", ""), 60.0),
        metrics={r: texts.get(f"{r}AllocationMetric") or METRICS[r] for r in RESOURCES},
        capacities={r: texts.get(f"{r}CapacityMetric") or CAPACITIES[r] for r in RESOURCES},
        warnings=tuple(warnings),
    )


def _address(given: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """A missing variable gives "", as in KAI: it may be set at the next start."""
    name = "connectionString"
    address, variable = text_of(given, name, ""), text_of(given, f"{name}EnvVar", "")
    if address and variable:
        raise InvalidInputError(
            "both connection string and connection string env var are set, only one is allowed"
        )
    if not address and not variable:
        raise InvalidInputError(
            "connection string and connection string env var are not set, one is required"
        )
    found = address or environment.get(variable, "")
    if found and not found.startswith(("http://", "https://")):
        raise InvalidInputError("the connection string must begin with http:// or https://")
    return found.rstrip("/")


def _or_default(text: str, default: float) -> float:
    """An invalid duration counts as not given, as in KAI."""
    try:
        seconds = go_seconds(text)
    except InvalidInputError:
        return default
    return seconds if seconds > 0 else default


# ---- answers -------------------------------------------------------------------------------------

Vector = list[tuple[Mapping[str, str], float]]
"""Series of an instant query: labels and value."""


def vector_of(body: bytes) -> Vector:
    """The answer to an instant query. Raises InvalidInputError if it is invalid."""
    try:
        answer = json.loads(body)
        if answer["status"] != "success":
            raise InvalidInputError(f"{answer.get('errorType')}: {answer.get('error')}")
        data = answer["data"]
        if data["resultType"] != "vector":
            raise InvalidInputError(f"expected a vector, got a {data['resultType']}")
        return [(dict(each["metric"]), float(each["value"][1])) for each in data["result"]]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError("the answer is not one of Prometheus") from None


def usage_from(db: UsageDb, answers: Mapping[tuple[str, str], Vector]) -> Rows:
    """Usage by queue from the answers to `db.queries` (spec 1 F119); the last series of a queue
    counts.

    A resource without usage and without capacity data does not exist in the cluster, and neither
    does one with capacity 0: the usage of both is 0. In KAI the first makes the whole fetch fail,
    and the second divides by zero (spec 1 W4). Raises InvalidInputError for any other resource
    without a capacity, and if there is no capacity at all.
    """
    if not answers:
        return {}
    known = [each for each in RESOURCES if answers[each, "had"]]
    rows: dict[str, list[float]] = {}
    for place, resource in enumerate(RESOURCES):
        used = answers[resource, "used"]
        if resource not in known:
            if not known or any(value for _, value in used):
                metric = db.capacities[resource]
                raise InvalidInputError(f"no data returned for cluster capacity metric {metric}")
            continue
        had = answers[resource, "had"][0][1]
        for labels, value in used:
            if queue := labels.get(QUEUE_LABEL, ""):
                part = value / had if had > 0 else 0.0
                if not (math.isfinite(part) and part >= 0):
                    metric = db.metrics[resource]
                    raise InvalidInputError(f"{metric} of queue {queue} is {value} of {had}")
                rows.setdefault(queue, [0.0, 0.0, 0.0])[place] = part
    return {queue: (gpu, cpu, memory) for queue, (gpu, cpu, memory) in sorted(rows.items())}
