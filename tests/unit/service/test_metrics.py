"""/metrics of a service that bound pods, evicted one and has one waiting."""

import asyncio
import io
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from prometheus_client.parser import text_string_to_metric_families

import kai
from fakes.cluster import FakeCluster
from fakes.objects import Object, node, pod, priority_class, queue
from fakes.scenarios import scenarios
from kai.controllers.planning.options import ROLES
from kai.k8s.client import Client
from kai.service.log import Log
from kai.service.metrics import Metrics
from kai.service.metrics.series import Counter, Gauge, Histogram, snapshots, text_of
from kai.service.options import Options
from kai.service.pages import Pages
from kai.service.service import Service

PATIENCE_S = 20.0
QUEUE = ("queue_name", "queue_metadata_name", "queue_display_name")

# KAI's metrics, from spec 6 C35 and C64, and those of controller-runtime that its dashboards use. A
# metric that is missing here is also missing in docs/reference/metrics.md, with the reason.
OF_KAI = {
    "scheduler": {
        "kai_e2e_scheduling_latency_milliseconds": ("gauge", ()),
        "kai_open_session_latency_milliseconds": ("gauge", ()),
        "kai_close_session_latency_milliseconds": ("gauge", ()),
        "kai_action_scheduling_latency_milliseconds": ("gauge", ("action",)),
        "kai_task_scheduling_latency_milliseconds": ("histogram", ()),
        "kai_task_bind_latency_milliseconds": ("histogram", ()),
        "kai_task_bind_latency": ("histogram", ()),
        "kai_podgroups_scheduled_by_action": ("counter", ("action",)),
        "kai_total_preemption_attempts": ("counter", ()),
        "kai_queue_fair_share_cpu_cores": ("gauge", QUEUE),
        "kai_queue_fair_share_memory_gb": ("gauge", QUEUE),
        "kai_queue_fair_share_gpu": ("gauge", QUEUE),
        "kai_queue_gpu_usage": ("gauge", QUEUE),
        "kai_queue_cpu_usage": ("gauge", QUEUE),
        "kai_queue_memory_usage": ("gauge", QUEUE),
        "kai_usage_query_latency_milliseconds": ("histogram", ()),
        "kai_pod_group_evicted_pods_total": (
            "counter",
            ("podgroup", "namespace", "uid", "nodepool", "action"),
        ),
        "kai_scenario_search_action_budget_configured_seconds": ("gauge", ("action",)),
        "kai_scenario_search_job_budget_configured_seconds": ("gauge", ()),
        "kai_scenario_search_generator_budget_configured_seconds": ("gauge", ("generator",)),
    },
    "queue-controller": {
        "kai_queue_info": ("gauge", QUEUE),
        "kai_queue_deserved_gpus": ("gauge", QUEUE),
        "kai_queue_quota_cpu_cores": ("gauge", QUEUE),
        "kai_queue_quota_memory_bytes": ("gauge", QUEUE),
        "kai_queue_allocated_gpus": ("gauge", QUEUE),
        "kai_queue_allocated_cpu_cores": ("gauge", QUEUE),
        "kai_queue_allocated_memory_bytes": ("gauge", QUEUE),
    },
    "": {
        "workqueue_depth": ("gauge", ("name",)),
        "workqueue_adds_total": ("counter", ("name",)),
        "workqueue_retries_total": ("counter", ("name",)),
        "workqueue_queue_duration_seconds": ("histogram", ("name",)),
        "workqueue_work_duration_seconds": ("histogram", ("name",)),
        "workqueue_unfinished_work_seconds": ("gauge", ("name",)),
        "workqueue_longest_running_processor_seconds": ("gauge", ("name",)),
        "controller_runtime_reconcile_total": ("counter", ("controller", "result")),
        "controller_runtime_reconcile_errors_total": ("counter", ("controller",)),
        "controller_runtime_active_workers": ("gauge", ("controller",)),
    },
}
# Metrics that are 0 in a cluster without failures and without work under way.
ZERO_WHEN_ALL_IS_WELL = {
    "kai_total_preemption_attempts": "the pod that leaves is reclaimed",
    "kai_decisions_under_way": "all have their answers",
    "kai_pods_in_doubt": "all have their answers",
    "kai_lease_failures_total": "leases are not used",
    "kai_time_steps_total": "the clocks agree",
    "kai_time_in_doubt": "the clocks agree",
    "kai_watch_reconnects_total": "no watch ended",
    "kai_watch_events_lost_total": "no event was lost",
    "kai_server_versions_went_back_total": "no etcd was restored",
    "kai_writes_without_effect_total": "all writes had an effect",
    "workqueue_depth": "nothing waits",
    "workqueue_retries_total": "no write failed",
    "workqueue_unfinished_work_seconds": "nothing is under way",
    "workqueue_longest_running_processor_seconds": "nothing is under way",
    "controller_runtime_reconcile_errors_total": "no write failed",
    "controller_runtime_active_workers": "nothing is under way",
}

# Metrics with numbers only with a usage database (test_usage_fetching.py).
OF_A_DATABASE = {
    "kai_queue_gpu_usage",
    "kai_queue_cpu_usage",
    "kai_queue_memory_usage",
    "kai_usage_query_latency_milliseconds",
    "kai_usage_age_seconds",
    "kai_usage_fetch_failures_total",
}


class Page:
    """A page of metrics: samples by name and labels."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families = {each.name: each for each in text_string_to_metric_families(text)}
        self.samples = {
            (self._name_of(sample.name), tuple(sorted(sample.labels.items()))): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def _name_of(self, name: str) -> str:
        """The parser gives counters a suffix that KAI's lack."""
        return name if f"\n{name}" in self.text else name.removesuffix("_total")

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples that have these labels."""
        wanted = labels.items()
        found = [
            v for (n, ls), v in self.samples.items() if n == name and wanted <= dict(ls).items()
        ]
        assert found, f"no {name} with {labels}"
        return sum(found)

    def has(self, name: str) -> bool:
        return any(each == name for each, _ in self.samples)


class Running:
    """A service and its pages, on the loop of the test."""

    def __init__(self, service: Service, pages: Pages) -> None:
        self.service, self._url = service, f"http://127.0.0.1:{pages.port}"

    async def get(self, path: str) -> tuple[int, str]:
        def get_page() -> tuple[int, str]:
            try:
                with urllib.request.urlopen(self._url + path) as answer:
                    return answer.status, answer.read().decode()
            except HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        return await asyncio.to_thread(get_page)

    async def page(self) -> Page:
        return Page((await self.get("/metrics"))[1])

    async def until(self, is_so: Callable[[Page], object]) -> Page:
        ends = time.monotonic() + PATIENCE_S
        while not is_so(page := await self.page()):
            assert time.monotonic() < ends, page.text
            await asyncio.sleep(0.05)
        return page


async def play(
    cluster: FakeCluster, story: Callable[[Running], Awaitable[None]], **options: object
) -> str:
    """Runs a service for a story, and returns its log."""
    stream = io.StringIO()

    chosen = Options(**{"leader_elect": False, **options})  # type: ignore[arg-type]
    async with await Client.connect(cluster.kubeconfig) as client:
        service = Service(client, chosen, Log(stream=stream, level="debug"))
        pages = Pages(service.metrics, service.why_unhealthy, service.why_unready, service.snapshot)
        await pages.start("127.0.0.1:0")
        stop = asyncio.Event()
        running = asyncio.ensure_future(service.run(stop))
        try:
            await story(Running(service, pages))
        finally:
            stop.set()
            await running
            await pages.stop()
    return stream.getvalue()


scenario = scenarios(play, "living")


@pytest.fixture
def living(tmp_path: Path) -> Iterator[FakeCluster]:
    """A node with two GPUs, and two queues that deserve one each."""
    with FakeCluster(tmp_path / "kubeconfig.yaml", kubelets=True) as made:
        named = queue("b", "top", gpus=1)
        named["spec"]["displayName"] = 'The "B" team'
        made.put(priority_class("train", 50), queue("top"), queue("a", "top", gpus=1), named)
        made.put(node("n1", 2))
        yield made


def requesting(name: str, **options: Any) -> Object:
    """A waiting pod that also requests a core and 2 GB."""
    made = pod(name, **options)
    made["spec"]["containers"][0]["resources"]["requests"] |= {"cpu": "1", "memory": "2G"}
    return made


def bound(page: Page) -> float:
    done = {"kind": "Pod", "verb": "binding", "result": "done"}
    return page.value("kai_writes_total", **done) if page.has("kai_writes_total") else 0


def test_a_page_after_pods_were_bound_one_was_evicted_and_one_waits(living: FakeCluster) -> None:
    pages: list[Page] = []

    async def story(it: Running) -> None:
        living.put(requesting("a1"), requesting("a2"))
        pages.append(await it.until(lambda page: bound(page) == 2))
        living.put(requesting("b1", queue="b"), pod("large", queue="b", gpus=9))
        await it.until(lambda page: bound(page) == 3)

        def is_settled(page: Page) -> bool:
            return (
                page.has("kai_queue_allocated_gpus")
                and page.value("kai_queue_allocated_gpus", queue_name="a") == 1
                and page.value("kai_queue_allocated_gpus", queue_name="b") == 1
                and page.value("kai_queue_fair_share_gpu", queue_metadata_name="b") == 1
                and page.value("kai_loop_lag_seconds_count") > 0
                and page.value("workqueue_unfinished_work_seconds") == 0
                and page.value("workqueue_depth") == 0
            )

        pages.append(await it.until(is_settled))

    log = asyncio.run(play(living, story))
    has_its_counts(log)
    before, after = pages
    has_what_spec_and_list_have(after, ROLES)
    only_goes_up(before, after)

    assert after.value("kai_task_bind_latency_milliseconds_count") == 3
    assert after.value("kai_task_bind_latency_count") == 3
    assert after.value("kai_task_scheduling_latency_milliseconds_count") == 3
    since = time.time() - 1767225600  # they were created in 2026
    assert after.value("kai_task_scheduling_latency_milliseconds_sum") == pytest.approx(
        3000 * since, rel=0.01
    )
    victims = {"namespace": "team", "nodepool": "default", "action": "reclaim"}
    assert after.value("kai_pod_group_evicted_pods_total", **victims) == 1
    assert after.value("kai_podgroups_scheduled_by_action", action="reclaim") == 1
    assert after.value("kai_podgroups_scheduled_by_action", action="allocate") == 3
    assert after.value("kai_total_preemption_attempts") == 0
    assert after.value("kai_pod_groups_waiting") == 2, "large, and the one that lost its pod"
    assert after.value("kai_is_leading") == 1
    assert after.value("controller_runtime_reconcile_total", controller="bindrequest") == 3
    assert (
        after.value("kai_scenario_search_action_budget_configured_seconds", action="reclaim") == 300
    )

    team = {"queue_name": "b", "queue_metadata_name": "b", "queue_display_name": 'The "B" team'}
    assert after.value("kai_queue_info", **team) == 1
    assert after.value("kai_queue_deserved_gpus", **team) == 1
    assert after.value("kai_queue_quota_cpu_cores", **team) == -1
    assert after.value("kai_queue_allocated_gpus", queue_name="top") == 2
    shown = {**team, "queue_name": 'The "B" team'}
    assert after.value("kai_queue_fair_share_gpu", **shown) == 1
    assert after.value("kai_queue_fair_share_gpu", queue_name="a") == 1
    assert after.value("kai_queue_fair_share_gpu", queue_name="top") == 2
    assert after.value("kai_queue_fair_share_cpu_cores", queue_name="a") == 1
    assert after.value("kai_queue_fair_share_memory_gb", queue_name="a") == 2
    assert after.value("kai_queue_allocated_cpu_cores", queue_name="a") == 1
    assert after.value("kai_queue_allocated_memory_bytes", queue_name="a") == 2 * 10**9


def has_its_counts(log: str) -> None:
    lines = [line.partition("Z ")[2] for line in log.splitlines()]
    assert lines[0].startswith(f"info kai: started version={kai.__version__} roles=scheduler,")
    assert lines.count("info kai: ready") == 1
    cycles = [line for line in lines if line.startswith("debug kai: planned ")]
    numbers = [int(line.split("cycle=")[1].split()[0]) for line in cycles]
    assert numbers == list(range(1, len(cycles) + 1))
    assert sum(int(line.split(" binds=")[1].split()[0]) for line in cycles) == 3
    placed = [line for line in lines if line.startswith("info kai: pods were bound or evicted ")]
    assert sum(int(line.split(" bound=")[1].split()[0]) for line in placed) == 3
    assert sum(int(line.split(" evicted=")[1]) for line in placed) == 1
    assert not [line for line in lines if line.startswith("warning")]


def has_what_spec_and_list_have(page: Page, roles: tuple[str, ...]) -> None:
    """The families of the roles, each with its kind and labels, and numbers that were set."""
    declared = {each.name: each for each in Metrics(roles=roles)}
    expected = {name: what for role in ("", *roles) for name, what in OF_KAI.get(role, {}).items()}
    assert {name for name, each in declared.items() if each.is_kais} == set(expected)
    for name, (kind, labels) in expected.items():
        assert (declared[name].kind, declared[name].labels) == (kind, labels), name
        assert f"\n# TYPE {name} {kind}\n" in f"\n{page.text}", name
        family = page.families[name.removesuffix("_total")]
        found = {tuple(each.labels) for each in family.samples}
        assert {tuple(n for n in each if n != "le") for each in found} <= {labels}, name
    for name in declared:
        family = page.families[name.removesuffix("_total")]
        assert family.documentation, name
        if name in OF_A_DATABASE:
            assert not any(each.value for each in family.samples), name
        elif name in ZERO_WHEN_ALL_IS_WELL:
            assert {each.value for each in family.samples} == {0}, name
        else:
            assert any(each.value for each in family.samples), f"{name} was never set"


def only_goes_up(before: Page, after: Page) -> None:
    """Counters and histograms."""
    gauges = {each.name for each in Metrics() if each.kind == "gauge"}
    for (name, labels), value in before.samples.items():
        if name not in gauges and not name.startswith(("process_", "python_")):
            assert after.samples[name, labels] >= value, name


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_the_metrics_of_kais_program_and_additional_ones(role: str) -> None:
    names = {each.name for each in Metrics(roles=(role,))}
    others = {name for each in ROLES if each != role for name in OF_KAI.get(each, ())}
    assert names >= set(OF_KAI.get(role, ())) | set(OF_KAI[""])
    assert not names & others
    assert {"kai_loop_lag_seconds", "kai_writes_total", "kai_is_leading"} <= names
    assert ("kai_cycle_duration_seconds" in names) == (role == "scheduler")


def test_the_namespace_prefixes_all_names_except_controller_runtime() -> None:
    names = [each.name for each in Metrics("mine")]
    assert {name.split("_")[0] for name in names} == {"mine", "workqueue", "controller"}


@pytest.mark.parametrize("name", ["", "my metrics", "1st", "a-b"])
def test_an_invalid_metrics_namespace_is_refused(name: str) -> None:
    with pytest.raises(kai.InvalidInputError, match="metrics namespace"):
        Options(metrics_namespace=name)


def test_chosen_queue_labels_are_metric_labels(
    living: FakeCluster,
) -> None:
    labelled = queue("c", "top")
    labelled["metadata"]["labels"] = {"example/team": "vision"}
    chosen = {
        "queue_label_to_metric_label": {"example/team": "team", "example/cost": "cost"},
        "queue_label_to_default_metric_value": {"example/team": "unknown"},
    }

    async def story(it: Running) -> None:
        living.put(labelled)
        page = await it.until(lambda page: page.has("kai_queue_info"))
        assert page.value("kai_queue_info", queue_name="c", team="vision", cost="") == 1
        assert page.value("kai_queue_info", queue_name="a", team="unknown") == 1

    asyncio.run(play(living, story, roles=("queue-controller",), **chosen))


@pytest.mark.parametrize(
    ("labels", "defaults", "why"),
    [
        ({"a/b": "a/b"}, {}, "'a/b' cannot be the metric label 'a/b': that is not a valid name"),
        (
            {"a": "x", "b": "x"},
            {},
            "'b' cannot be the metric label 'x': that is already a label of these",
        ),
        ({"a": "queue_name"}, {}, "that is already a label of these metrics"),
        (
            {"team": "team"},
            {"taem": "x"},
            "'taem', which is not a metric label; did you mean 'team'",
        ),
    ],
)
def test_invalid_metric_labels_are_refused(
    labels: dict[str, str], defaults: dict[str, str], why: str
) -> None:
    with pytest.raises(kai.InvalidInputError, match=why):
        Options(queue_label_to_metric_label=labels, queue_label_to_default_metric_value=defaults)


@scenario
async def test_a_deleted_queue_has_no_gauges(it: Running, *, living: FakeCluster) -> None:
    living.put(pod("a1"))
    await it.until(lambda page: 'kai_queue_info{queue_name="b"' in page.text)
    assert 'kai_queue_fair_share_gpu{queue_name="The' in (await it.page()).text
    living.do(living.server.remove, "Queue", "", "b")
    page = await it.until(lambda page: 'kai_queue_info{queue_name="b"' not in page.text)
    assert page.value("kai_queue_info", queue_name="a") == 1
    assert 'kai_queue_fair_share_gpu{queue_name="The' not in page.text


def test_a_process_that_waits_for_its_lease_is_ready_and_has_no_queue_metrics(
    living: FakeCluster,
) -> None:
    """KAI's standbys answer their probes, too; with two processes reporting queues, they would be
    shown twice."""
    held = {"holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": "now"}

    async def story(it: Running) -> None:
        living.put(pod("a1"))
        page = await it.until(lambda page: page.value("kai_watch_lists_total") >= 7)
        while (await it.get("/readyz"))[0] != 200:
            await asyncio.sleep(0.05)
        assert await it.get("/healthz") == (200, "ok\n")
        page = await it.page()
        assert page.value("kai_is_leading") == 0
        assert not page.has("kai_queue_info")
        assert not page.has("kai_queue_fair_share_gpu")
        assert not page.has("kai_writes_total")

    named = {"name": "kai-scheduler", "namespace": "kai-scheduler"}
    living.put({"kind": "Lease", "metadata": named, "spec": held})
    log = asyncio.run(
        play(living, story, leader_elect=True, roles=("scheduler", "queue-controller"))
    )
    assert "info kai: ready" in log


# ---- series --------------------------------------------------------------------------------------


def test_the_text_format_is_that_of_prometheus() -> None:
    depth, seconds = Gauge("depth", 'A "depth" \\ of\ntwo lines', ("name",)), Histogram(
        "seconds", "Seconds", bounds=(0.5, 1)
    )  # fmt: skip
    depth.set(-1, 'a"b\\c\nd')
    for value in (0.25, 0.5, 0.75, 7):
        seconds.observe(value)
    text = text_of(snapshots([depth, seconds])).decode()
    assert text.splitlines()[-5:] == [
        'seconds_bucket{le="0.5"} 2',
        'seconds_bucket{le="1"} 3',
        'seconds_bucket{le="+Inf"} 4',
        "seconds_sum 8.5",
        "seconds_count 4",
    ]
    one, two = text_string_to_metric_families(text)
    assert one.documentation == 'A "depth" \\ of\ntwo lines'
    [sample] = one.samples
    assert (sample.labels, sample.value) == ({"name": 'a"b\\c\nd'}, -1)
    assert two.type == "histogram"


def test_a_bounded_counter_drops_the_least_recent_labels() -> None:
    evicted = Counter("evicted", "Pods", ("group",), most=2)
    for group in ("a", "b", "a", "c"):
        evicted.add(group)
    assert evicted.values == {("a",): 2, ("c",): 1}
