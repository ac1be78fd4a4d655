"""docs/reference/metrics.md has exactly one row for every metric of the program."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from kai.controllers.planning.options import ROLES
from kai.service.admission.metrics import AdmissionMetrics
from kai.service.metrics import Metrics
from kai.service.metrics.series import Series
from kai.service.programs.gpu_metrics import AuditorMetrics

PAGE = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()
UNITS = {
    "_milliseconds": "ms",
    "_bind_latency": "ms",
    "_seconds": "s",
    "_bytes": "bytes",
    "_gb": "10^9 bytes",
    "_cores": "cores",
    "_gpu": "GPUs",
    "_gpus": "GPUs",
}
SECTIONS = {
    "The scheduler: metrics that KAI has": ("scheduler", True),
    "The queue controller: metrics that KAI has": ("queue-controller", True),
    "Controllers: metrics of controller-runtime": ("", True),
    "Metrics that only kai has": ("scheduler", False),
}
SHADOW = "Metrics of a shadow"


def row(series: Series) -> str:
    name = series.name.removesuffix("_total")
    unit = next((unit for end, unit in UNITS.items() if name.endswith(end)), "")
    labels = ", ".join(f"`{each}`" for each in series.labels)
    cells = (f"`{series.name}`", series.kind, labels, unit, series.meaning)
    return "| " + " | ".join(cells).replace("|  |", "| |").replace("|  |", "| |") + " |"


def section(heading: str) -> str:
    return PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def rows_of(role: str, *, kais: bool) -> list[str]:
    """Metrics that all roles have, or those of one role that others lack."""
    others = "pod-grouper"
    common = {each.name for each in Metrics(roles=(others,))}
    if not kais:
        return [row(each) for each in Metrics(roles=(role,)) if not each.is_kais]
    found = Metrics(roles=(role or others,))
    return [row(each) for each in found if each.is_kais and (each.name in common) == (not role)]


def test_every_metric_has_a_row() -> None:
    for heading, (role, kais) in SECTIONS.items():
        found = [line for line in section(heading).splitlines() if line.startswith("| `")]
        assert found == rows_of(role, kais=kais), f"rows of {heading!r}"
    ours = rows_of("", kais=False)
    found = [line for line in section(SHADOW).splitlines() if line.startswith("| `")]
    assert found == [each for each in rows_of("shadow", kais=False) if each not in ours]
    shown = re.findall(r"^\| `(\w+)` \| (?:gauge|counter|histogram) ", PAGE, re.MULTILINE)
    every = [*Metrics(roles=(*ROLES, "shadow")), *AdmissionMetrics(), *AuditorMetrics()]
    assert sorted(shown) == sorted(each.name for each in every)


def test_metrics_listed_as_missing_do_not_exist() -> None:
    missing = re.findall(r"`(kai_\w+)`", section("Metrics of KAI that kai does not have"))
    assert len(missing) > 5
    assert not {*missing} & {each.name for each in Metrics()}


# The metrics that the dashboards in KAI's repository use (docs/metrics/grafana, v0.17), without
# their prefix.
DASHBOARDS = """
    action_scheduling_latency_milliseconds close_session_latency_milliseconds
    e2e_scheduling_latency_milliseconds open_session_latency_milliseconds
    plugin_scheduling_latency_milliseconds pod_group_evicted_pods_total
    podgroups_acted_on_by_action podgroups_scheduled_by_action
    queue_allocated_cpu_cores queue_allocated_gpus queue_allocated_memory_bytes queue_cpu_usage
    queue_deserved_gpus queue_fair_share_cpu_cores queue_fair_share_gpu queue_fair_share_memory_gb
    queue_gpu_usage queue_memory_usage queue_quota_cpu_cores queue_quota_memory_bytes
    scenario_search_action_budget_configured_seconds scenario_search_action_budget_exhausted_total
    scenario_search_duration_seconds scenario_search_generator_budget_configured_seconds
    scenario_search_job_budget_configured_seconds scenario_search_jobs_total
    scenario_search_scenarios_total scenarios_filtered_by_action scenarios_simulation_by_action
    task_bind_latency_milliseconds task_scheduling_latency_milliseconds total_preemption_attempts
"""
RUNTIME = """
    controller_runtime_active_workers controller_runtime_reconcile_errors_total
    controller_runtime_reconcile_total workqueue_adds_total workqueue_depth
    workqueue_queue_duration_seconds workqueue_retries_total workqueue_unfinished_work_seconds
    workqueue_work_duration_seconds
"""


def test_metrics_of_kais_dashboards_exist_or_are_listed_as_missing() -> None:
    missing = set(re.findall(r"`(kai_\w+)`", section("Metrics of KAI that kai does not have")))
    queried = {f"kai_{name}" for name in DASHBOARDS.split()} | {*RUNTIME.split()}
    assert queried - missing <= {each.name for each in Metrics()}


def test_alerts_use_existing_metrics() -> None:
    every = [*Metrics(), *AdmissionMetrics(), *AuditorMetrics()]
    samples = {each.name for each in every}
    samples |= {
        each.name + end
        for each in every
        if each.kind == "histogram"
        for end in ("_bucket", "_sum", "_count")
    }
    used = set(re.findall(r"\b((?:kai|workqueue|controller_runtime)_\w+)", section("Alerts")))
    assert used
    assert used <= samples


@pytest.mark.parametrize(
    ("heading", "families"),
    [
        ("Metrics of the webhooks", AdmissionMetrics()),
        ("Metrics of the GPU auditor", AuditorMetrics()),
    ],
)
def test_every_metric_of_another_program_has_a_row(
    heading: str, families: Iterable[Series]
) -> None:
    rows = [line for line in section(heading).splitlines() if line.startswith("| `")]
    assert rows == [row(each) for each in families]
