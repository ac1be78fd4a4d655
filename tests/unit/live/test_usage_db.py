"""`usageDBConfig`: rejected values, queries, and their answers (spec 1 F116)."""

import json
from typing import Any

import pytest

from kai.errors import InvalidConfigError, InvalidInputError
from kai.live.usage_db import UsageDb, read_usage_db, usage_db_of, usage_from, vector_of
from kai.service.options import Options

NOW = 1_762_777_987.4


def db(environment: dict[str, str] | None = None, **params: Any) -> UsageDb:
    config = {
        "clientType": "prometheus",
        "connectionString": "http://prometheus:9090/",
        "usageParams": params,
    }
    found = read_usage_db({"usageDBConfig": config}, environment or {})
    assert found is not None
    return found


# ---- the configuration ---------------------------------------------------------------------------


def test_defaults() -> None:
    found = db()
    assert found.address == "http://prometheus:9090"
    assert (found.window.kind, found.window.size, found.window.decays) == (
        "sliding",
        604_800,
        False,
    )
    assert (found.fetch_interval, found.staleness, found.wait) == (60, 300, 60)
    assert (found.timeout, found.resolution, found.warnings) == (10, 60, ())


def test_without_a_configuration_there_is_no_database() -> None:
    assert read_usage_db({}, {}) is None
    assert read_usage_db({"usageDBConfig": {}}, {}) is None
    assert usage_db_of(Options()) is None
    assert usage_db_of(Options(config={"actions": "allocate", "usageDBConfig": None})) is None


def test_the_address_may_be_in_a_variable() -> None:
    config = {"clientType": "prometheus", "connectionStringEnvVar": "TSDB"}
    found = read_usage_db({"usageDBConfig": config}, {"TSDB": "https://a@b/prom"})
    assert found is not None
    assert found.address == "https://a@b/prom"
    missing = read_usage_db({"usageDBConfig": config}, {})
    assert missing is not None
    assert missing.address == ""


def test_values_out_of_range_are_replaced() -> None:
    assert db(fetchInterval="10m").staleness == 600
    assert db(stalenessPeriod="1s").staleness == 60
    assert not db(halfLifePeriod="0").window.decays
    assert not db(halfLifePeriod="-5m").window.decays


def test_extra_parameters() -> None:
    found = db(
        extraParams={
            "usageQueryTimeout": "30s",
            "queryResolution": "soon",
            "gpuAllocationMetric": "my_gpus",
            "cpuCapacityMetric": "my_cpus",
            "own": "x",
        }
    )
    assert (found.timeout, found.resolution) == (30, 60)
    assert found.metrics["gpu"] == "my_gpus"
    assert found.capacities["cpu"] == "my_cpus"
    assert found.warnings == (
        "usageDBConfig: member usageParams.extraParams.own is not known and is skipped",
    )


def test_unknown_names_are_skipped_with_a_warning() -> None:
    """KAI's documentation puts extraParams where its code does not read them (spec 1 F117)."""
    config = {"clientType": "prometheus", "connectionString": "http://a", "extraParams": {}}
    found = read_usage_db({"usageDBConfig": {**config, "usageParams": {"windowsize": "1d"}}}, {})
    assert found is not None
    assert found.warnings == (
        "usageDBConfig: member extraParams is not known and is skipped"
        "; did you mean 'usageParams'?",
        "usageDBConfig: member usageParams.windowsize is not known and is skipped"
        "; did you mean 'windowSize'?",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clientType": ""}, "client type cannot be empty"),
        ({"clientType": None}, "client type cannot be empty"),
        (
            {"clientType": "influx"},
            "unknown client type: influx, supported types: [prometheus]",
        ),
        (
            {"connectionStringEnvVar": "TSDB"},
            "both connection string and connection string env var are set, only one is allowed",
        ),
        (
            {"connectionString": ""},
            "connection string and connection string env var are not set, one is required",
        ),
        (
            {"connectionString": "prometheus:9090"},
            "the connection string must begin with http:// or https://",
        ),
        ({"usageParams": 7}, "usageParams is not a mapping: 7"),
        (
            {"usageParams": {"windowType": "Tumbling"}},
            "usageParams: windowType: is sliding, tumbling or cron, not 'Tumbling'",
        ),
        (
            {"usageParams": {"windowType": ""}},
            "usageParams: windowType: is sliding, tumbling or cron, not ''",
        ),
        (
            {"usageParams": {"windowType": "cron", "cronString": "often"}},
            "usageParams: error parsing cron string 'often' for usage tumbling window: ",
        ),
        (
            {"usageParams": {"windowType": "tumbling"}},
            "usageParams: tumbling windows need tumblingWindowStartTime",
        ),
        (
            {"usageParams": {"fetchInterval": "often"}},
            "usageParams: fetchInterval: 'often' is not a duration such as 1h30m",
        ),
        (
            {"usageParams": {"fetchInterval": "0s"}},
            "usageParams: fetchInterval: must be longer than 0",
        ),
        ({"usageParams": {"waitTimeout": 5}}, "usageParams: waitTimeout: is not a string: 5"),
    ],
)
def test_invalid_configurations_are_refused(change: dict[str, Any], message: str) -> None:
    config = {"clientType": "prometheus", "connectionString": "http://a", **change}
    with pytest.raises(InvalidConfigError) as error:
        read_usage_db({"usageDBConfig": config}, {})
    assert str(error.value).startswith(f"usageDBConfig: {message}")


def test_the_cron_string_of_another_window_kind_is_ignored() -> None:
    assert db(cronString="often").window.kind == "sliding"


# ---- queries -------------------------------------------------------------------------------------


def test_the_queries_equal_kais() -> None:
    """Spec 1 F118, word for word."""
    queries = db(halfLifePeriod="10m").queries(NOW)
    assert queries["gpu", "used"] == (
        "sum_over_time((((kai_queue_allocated_gpus)"
        " * (0.5^((1762777987 - time()) / 600.000000))))[1w:1m0s])"
    )
    plain = db(windowSize="90d", extraParams={"queryResolution": "30s"}).queries(NOW)
    assert plain["cpu", "used"] == "sum_over_time((kai_queue_allocated_cpu_cores)[90d:30s])"
    assert plain["memory", "had"] == (
        'sum_over_time((sum(kube_node_status_capacity{resource="memory"}))[90d:30s])'
    )
    assert len(plain) == 6


def test_resetting_windows_are_queried_since_their_reset() -> None:
    """KAI queries a range of an instant, which Prometheus rejects (spec 1 W1)."""
    tumbling = db(
        windowType="tumbling", windowSize="1d", tumblingWindowStartTime="2025-11-10T10:00:00Z"
    )
    now = 1_762_777_987.5  # 12:33:07.5 on that day
    assert tumbling.queries(now)["gpu", "used"] == (
        "sum_over_time((kai_queue_allocated_gpus)[2h33m7s500ms:1m0s])"
    )
    hourly = db(windowType="cron", cronString="0 * * * *").queries(now)
    assert hourly["gpu", "used"].endswith("[33m7s500ms:1m0s])")
    later = db(windowType="tumbling", tumblingWindowStartTime="2026-01-01T00:00:00Z")
    assert later.queries(now) == {}
    just_reset = db(windowType="cron", cronString="33 * * * *")
    assert just_reset.queries(now) == {}, "Prometheus may have no step in it"
    assert usage_from(just_reset, {}) == {}


# ---- what is answered ----------------------------------------------------------------------------


def answer(*series: tuple[str, str]) -> bytes:
    result = [{"metric": {"queue_name": name}, "value": [NOW, value]} for name, value in series]
    return json.dumps(
        {"status": "success", "data": {"resultType": "vector", "result": result}}
    ).encode()


def used(**answers: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    found = {
        (resource, what): vector_of(answer(*answers.get(resource, {}).get(what, [])))
        for resource in ("gpu", "cpu", "memory")
        for what in ("used", "had")
    }
    return usage_from(db(), found)


def test_usage_is_allocation_divided_by_capacity() -> None:
    """Spec 1 F119: 8 GPUs for 3 of 10 hours, of 10 GPUs."""
    gpu = {"used": [("a", "1440"), ("org", "1440"), ("b", "0")], "had": [("", "6000")]}
    cpu = {"used": [("b", "5")], "had": [("", "10"), ("other", "99")]}
    assert used(gpu=gpu, cpu=cpu) == {
        "a": (0.24, 0.0, 0.0),
        "b": (0.0, 0.5, 0.0),
        "org": (0.24, 0.0, 0.0),
    }


def test_the_last_of_several_series_of_a_queue_counts() -> None:
    gpu = {"used": [("a", "1"), ("a", "2")], "had": [("", "4")]}
    assert used(gpu=gpu)["a"][0] == 0.5


def test_a_cluster_without_gpus_has_a_history_of_the_rest() -> None:
    """In KAI the whole fetch fails, or the division by zero makes every share invalid (spec 1
    W4)."""
    cpu = {"used": [("a", "1")], "had": [("", "4")]}
    assert used(cpu=cpu, gpu={"used": [("a", "0")]}) == {"a": (0.0, 0.25, 0.0)}
    nothing = {"used": [("a", "0")], "had": [("", "0")]}
    assert used(cpu=cpu, gpu=nothing) == {"a": (0.0, 0.25, 0.0)}


@pytest.mark.parametrize(
    "answers", [{}, {"gpu": {"used": [("a", "1")]}, "cpu": {"had": [("", "4")]}}]
)
def test_usage_without_capacity_is_an_error(answers: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="no data returned for cluster capacity metric sum"):
        used(**answers)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1"])
def test_invalid_values_are_refused(value: str) -> None:
    with pytest.raises(InvalidInputError, match="kai_queue_allocated_gpus of queue a is"):
        used(gpu={"used": [("a", value)], "had": [("", "4")]})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the answer is not one of Prometheus"),
        (b"[]", "the answer is not one of Prometheus"),
        (b"[" * 100_000, "the answer is not one of Prometheus"),
        (b'{"status": "success", "data": {"resultType": "vector", "result": [{}]}}', "the answer"),
        (
            b'{"status": "success", "data": {"resultType": "matrix", "result": []}}',
            "expected a vector, got a matrix",
        ),
        (
            b'{"status": "error", "errorType": "bad_data", "error": "parse error"}',
            "bad_data: parse error",
        ),
    ],
)
def test_invalid_answers_are_refused(body: bytes, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        vector_of(body)
    assert str(error.value).startswith(message)
