"""Time-based fair share in simulations: usage from a simulation's own history."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kai
from kai import _core
from kai.api import times
from kai.engine.windows import Samples, usage_of
from kai.sim import simulate as simulation
from kai.sim.first_moment import Remaining, workload_of
from kai.sim.past_usage import params_in, params_of
from kai.sim.series import queue_steps
from kai.sim.simulate import Life, Outage, simulate
from kai.sim.stay_ends import STAY_ENDS
from kai.sim.timeline import Timeline
from kai.sim.traces.by_hand import of_yaml, yaml_of
from kai.sim.workload import Autoscale, Job, Jobs, NodePool, Queue, Resize, Workload

START = "2026-01-30T23:55:00"  # five minutes before the last day of a month
QUEUES = (Queue("top"), Queue("a", "top", weight=3), Queue("b", "top"), Queue("c"))
PROMETHEUS = {"clientType": "prometheus", "connectionString": "http://prometheus:9090"}


def config(**params: Any) -> dict[str, Any]:
    return {"usageDBConfig": {**PROMETHEUS, "usageParams": params}}


def both(a: int, b: int, *, gpus: int, seconds: float = 1e6) -> Workload:
    """Two queues with weights 3 and 1, and jobs that request more than the 16 GPUs."""
    jobs = [
        Job(f"{queue}-{i:03}", queue, 0, seconds, gpus=gpus, cpu=0, memory_mib=0)
        for queue, count in (("a", a), ("b", b))
        for i in range(count)
    ]
    queues = (Queue("top"), Queue("a", "top", weight=3), Queue("b", "top"))
    return Workload(Jobs.of(jobs), queues, (NodePool("n", gpus=16),))


# --- against a plain sum over samples ------------------------------------------------------------


def some_workload(seed: int) -> Workload:
    rng = random.Random(seed)
    jobs = [
        Job(
            f"j{i}",
            rng.choice("abc"),
            rng.randrange(300),
            rng.randrange(1, 200),
            pods=rng.randint(1, 2),
            gpus=rng.choice((0, 0.5, 1, 2)),
            cpu=rng.choice((0.5, 1, 8)),
            memory_mib=rng.choice((0, 100, 4096)),
        )
        for i in range(25)
    ]
    nodes = (NodePool("n", 3, gpus=2, cpu=16, memory_mib=8192),)
    return Workload(Jobs.of(jobs), QUEUES, nodes, start=START)


WINDOWS = [
    {"windowSize": "50s"},
    {"windowSize": "1h"},
    {"windowSize": "2m", "halfLifePeriod": "40s"},
    {"windowType": "tumbling", "windowSize": "1m", "tumblingWindowStartTime": f"{START}Z"},
    {
        **{"windowType": "tumbling", "windowSize": "70s", "halfLifePeriod": "30s"},
        "tumblingWindowStartTime": "2026-01-30T23:57:13Z",
    },
    {"windowType": "cron", "cronString": "*/3 * * * *"},
    {"windowType": "cron", "cronString": "0 0 31 * *", "halfLifePeriod": "1m"},
]


def slowly(
    workload: Workload, timeline: Timeline, params: Any, now_s: int, nodes: Callable[[int], int]
) -> dict[str, Any]:
    """A sample for each second, which is valid until the next one. ``nodes``: how many there are
    in a second."""
    jobs, parents = workload.jobs, {each.name: each.parent for each in workload.queues}
    held = []
    for second in range(now_s):
        amounts = dict.fromkeys(parents, (0.0, 0.0, 0.0))
        stays = timeline.stays
        for row in np.flatnonzero((stays["from_s"] <= second) & (stays["to_s"] > second)):
            job = jobs.job(int(stays["job"][row]))
            queue = job.queue
            while queue:
                gpu, cpu, memory = amounts[queue]
                amounts[queue] = (gpu + job.gpus, cpu + job.cpu, memory + job.memory_mib)
                queue = parents[queue]
        held.append(amounts)
    had = [tuple(each * nodes(second) for each in (2.0, 16.0, 8192.0)) for second in range(now_s)]
    began_s = times.to_ns(f"{workload.start.removesuffix('Z')}Z") / 1e9
    # In the middle of its second, a sample is not at a bound of a window.
    moments = [began_s + second + 0.5 for second in range(now_s)]
    samples = Samples.of_rows(moments, held, had)
    return usage_of(samples, params.window, now_s=began_s + now_s)


@pytest.mark.parametrize("number", range(len(WINDOWS)))
def test_usage_equals_a_sum_over_samples(number: int) -> None:
    given = {**WINDOWS[number], "fetchInterval": "17s"}
    workload = some_workload(number)
    life = Life(outages=(Outage("n-1", 60, 130),), startup_s=2, terminate_s=3)
    timeline = simulate(workload, usage=given, life=life)
    assert_usage(timeline, given, lambda second: 2 if 60 <= second < 130 else 3)


def assert_usage(timeline: Timeline, given: Mapping[str, Any], nodes: Callable[[int], int]) -> None:
    """What was fetched is what the sum over samples gives, for every queue and resource."""
    workload = timeline.workload
    fetched = sorted(set(timeline.usage["at_s"].tolist()))
    assert len(fetched) > 6
    assert all(at % 17 == 0 for at in fetched)
    steps = {
        (queue, column): queue_steps(timeline, place, column, "usage")
        for place, queue in enumerate(timeline.queue_names)
        for column in ("gpu", "cpu", "memory")
    }
    for now_s in fetched[::2]:
        expected = slowly(workload, timeline, params_of(given), int(now_s), nodes)
        for queue in timeline.queue_names:
            for i, column in enumerate(("gpu", "cpu", "memory")):
                at, values = steps[queue, column]
                place = int(np.searchsorted(at, now_s, "right")) - 1
                value = values[place] if place >= 0 else 0.0
                assert value == pytest.approx(expected[queue][i], abs=1e-12), (now_s, queue)


def nodes_there(timeline: Timeline, second: int) -> int:
    """By the nodes that came and went."""
    there = dict.fromkeys(range(len(timeline.node_names)), True)
    for at_s, node, is_there in zip(*timeline.nodes.values(), strict=True):
        if at_s <= second:
            there[int(node)] = bool(is_there)
    return sum(there.values())


@pytest.mark.parametrize("number", [0, 2, 3, 5])
def test_nodes_of_an_autoscaler_count_while_they_exist(number: int) -> None:
    """Also for what jobs hold that change their size. All happens in whole seconds: numbers are
    even, and no job has more than twice its pods."""
    given = {**WINDOWS[number], "fetchInterval": "17s"}
    scaled = Autoscale(4, least=1, ready_s=20, idle_s=30)
    nodes = (NodePool("n", 1, gpus=2, cpu=16, memory_mib=8192, autoscale=scaled),)
    jobs = [
        Job(f"r{i}", "ab"[i % 2], 90 * i, 100, gpus=1, resizes=(Resize(20, 2, 1), Resize(50, 1, 1)))
        for i in range(4)
    ]
    jobs += [Job(f"f{i}", "c", 40 * i, 90, gpus=2) for i in range(4)]
    workload = Workload(Jobs.of(jobs), QUEUES, nodes, start=START)
    timeline = simulate(workload, usage=given, life=Life(scale_every_s=4), period_s=2)
    counts = {nodes_there(timeline, second) for second in range(int(timeline.end_s))}
    assert {1, 3} <= counts
    assert any(STAY_ENDS[each] == "resized" for each in timeline.stays["end"])
    assert_usage(timeline, given, lambda second: nodes_there(timeline, second))


def some_cluster() -> kai.Cluster:
    """Two pods run, and two groups wait; one of them can start."""
    cluster = kai.Cluster(now=f"{START}Z").queue("a").queue("b").queue("c")
    cluster.nodes("n", 3, gpus=2, cpus=16, memory="8Gi")
    cluster.running("a/runs", pods=2, gpus=1, cpus=1, memory="1Gi", node="n1")
    cluster.pending("b/starts", gpus=2, cpus=1, memory="1Gi")
    return cluster.pending("c/waits", pods=3, gpus=1, cpus=1, memory="1Gi", min_member=3)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_pods_of_the_first_moment_count_from_then_on(number: int) -> None:
    given = {**WINDOWS[number], "fetchInterval": "17s"}
    later = Workload(Jobs.of([Job("late", "a", 70, 50, gpus=2)]), QUEUES, (NodePool("x"),))
    workload = workload_of(some_cluster(), remaining=Remaining.parse("100s"), arrivals=later)
    timeline = simulate(workload, usage=given, until_s=400)
    assert timeline.jobs["first_start_s"].tolist()[:2] == [0, 0]
    assert timeline.jobs["end_s"].max() < 400
    assert_usage(timeline, given, lambda second: 3)


def test_usage_of_the_first_moment_counts_until_the_first_fetch() -> None:
    """Its decision is that of a plan; then there is the simulation's own history."""
    past = {"a": {"gpu": 0.9}, "b": {"gpu": 0.0}}
    cluster = kai.Cluster(now=f"{START}Z").queue("a").queue("b").node("n", gpus=8)
    for name, minute in (("a/first", 50), ("b/second", 51), ("a/third", 52), ("b/fourth", 53)):
        cluster.pending(name, gpus=8, created=f"2026-01-30T23:{minute}:00Z")
    cluster.set_usage(past)
    config = {"plugins": {"proportion": {"kValue": 100}}}
    plan = kai.Scheduler(config).plan(cluster)
    assert [each.pod for each in plan.decisions] == ["b/second-0"]

    def starts(**usage: Any) -> dict[str, float]:
        workload = workload_of(cluster, remaining=Remaining.parse("10m"))
        timeline = simulate(workload, config=config, until_s=5000, **usage)
        names = [each.partition("/")[2] for each in workload.jobs.name]
        return dict(zip(names, timeline.jobs["first_start_s"].tolist(), strict=True))

    forever, own = starts(), starts(usage={"windowSize": "1h", "fetchInterval": "1m"})
    assert min(forever, key=forever.__getitem__) == min(own, key=own.__getitem__) == "second"
    # What b used stays nothing without a history; with one it has to give way.
    assert sorted(forever, key=forever.__getitem__)[1] == "fourth"
    assert sorted(own, key=own.__getitem__)[1] == "first"


def test_fair_shares_use_the_fetched_usage() -> None:
    timeline = simulate(
        both(30, 30, gpus=1), config=config(windowSize="10m", fetchInterval="30s"), until_s=900
    )
    at, fair_shares = queue_steps(timeline, 1, "fair_share_gpus")
    used = {place: queue_steps(timeline, place, "gpu", "usage") for place in (1, 2)}
    for now_s in range(60, 900, 30):
        past = [used[i][1][np.searchsorted(used[i][0], now_s, "right") - 1] for i in (1, 2)]
        rows = [
            (name, 100, 0, 0.0, -1.0, weight, 30.0, float(usage))
            for name, weight, usage in zip("ab", (3.0, 1.0), past, strict=True)
        ]
        expected = _core.divide(16.0, rows, k_value=1.0)[0]
        assert fair_shares[np.searchsorted(at, now_s, "right") - 1] == expected


# --- what it is for ------------------------------------------------------------------------------


def shares(timeline: Timeline, from_s: float, until_s: float) -> list[float]:
    """The fractions of the GPU-hours of queues a and b in that time."""
    stays, jobs = timeline.stays, timeline.workload.jobs
    low, high = np.maximum(stays["from_s"], from_s), np.minimum(stays["to_s"], until_s)
    held = np.maximum(high - low, 0) * jobs.gpus[stays["job"]]
    code = {name: i for i, name in enumerate(jobs.queue_names)}
    of = [float(held[jobs.queue[stays["job"]] == code[name]].sum()) for name in "ab"]
    return [each / sum(of) for each in of]


def strong(**params: Any) -> dict[str, Any]:
    return {**config(**params), "plugins": {"proportion": {"kValue": 100}}}


def mean_usage(timeline: Timeline, queue: int, seconds: range) -> float:
    """Over a sample each second."""
    at, used = queue_steps(timeline, queue, "gpu", "usage")
    return float(np.mean([used[np.searchsorted(at, each, "right") - 1] for each in seconds]))


@pytest.mark.parametrize(
    ("period_s", "window"),
    [
        (1, {"windowSize": "256s"}),
        (1, {"windowSize": "1000s"}),
        (0, {"windowSize": "256s"}),
        (0, {"windowSize": "256s", "halfLifePeriod": "128s"}),
        (0, {"windowSize": "1h", "halfLifePeriod": "100s"}),
    ],
)
def test_jobs_of_the_whole_cluster_alternate_by_weight(
    period_s: float, window: dict[str, str]
) -> None:
    """Shares are fair at no moment; over 1,000 samples usage is 3:1 within 2 %.

    With a half-life this needs a period of 0: otherwise the cluster is idle for a second at each
    turn, and with a turn every few seconds less than all of it is used (as below).
    """
    timeline = simulate(
        both(4, 4, gpus=16),
        config=strong(fetchInterval="1s", **window),
        until_s=4000,
        period_s=period_s,
    )
    a, b = (mean_usage(timeline, queue, range(3000, 4000)) for queue in (1, 2))
    assert a / b == pytest.approx(3, rel=0.02)
    assert shares(timeline, 3000, 4000)[0] == pytest.approx(0.75, abs=0.02)
    # Without past usage the queue with the larger weight gets everything.
    assert shares(simulate(both(4, 4, gpus=16), until_s=4000), 3000, 4000) == [1, 0]


def test_with_idle_gpus_the_larger_weight_gets_more() -> None:
    """Usage is a fraction of the cluster's capacity, not of the used amount (spec 1 F119).

    Of 16 GPUs one job of 12 at a time holds 3/4, so that u_a + u_b = 3/4. With a large k, the fair
    share of b reaches 12 GPUs once 1/4 - u_b is 3/4 of what both lack together, 1/4: at u_b = 1/16.
    That of a does once 3/4 - u_a is: at u_b = 3/16. It never reaches the 3/16 that would be a
    quarter of the use.
    """
    timeline = simulate(
        both(4, 4, gpus=12), config=strong(windowSize="400s", fetchInterval="1s"), until_s=3000
    )
    at, used = queue_steps(timeline, 2, "gpu", "usage")
    used = used[at >= 1000]
    assert used.min() == pytest.approx(1 / 16, abs=0.01)
    assert used.max() <= 3 / 16 + 0.01
    a, b = shares(timeline, 1000, 3000)
    assert a / b > 3.5


def test_small_jobs_converge_to_their_weights() -> None:
    timeline = simulate(
        both(64, 64, gpus=1), config=config(windowSize="200s", fetchInterval="1s"), until_s=2000
    )
    a, b = shares(timeline, 1000, 2000)
    assert a / b == pytest.approx(3, rel=0.02)


@pytest.mark.parametrize(
    "window",
    [
        {
            **{"windowType": "tumbling", "windowSize": "500s"},
            "tumblingWindowStartTime": "2026-01-01T00:00:00Z",
        },
        {"windowType": "cron", "cronString": "*/10 * * * *"},
    ],
)
def test_a_tumbling_window_forgets_at_its_reset(window: dict[str, str]) -> None:
    timeline = simulate(
        both(4, 4, gpus=16), config=strong(fetchInterval="1s", **window), until_s=3000
    )
    at, used = queue_steps(timeline, 2, "gpu", "usage")
    length = 500 if window["windowType"] == "tumbling" else 600
    # At the last moment of a window its end is known; a second later the window contains only that
    # second.
    assert used[np.searchsorted(at, 2 * length, "right") - 1] == pytest.approx(1 / 4, abs=0.03)
    assert used[np.searchsorted(at, 2 * length + 1, "right") - 1] in (0, 1)
    a, b = shares(timeline, length, 3000)
    assert a / b == pytest.approx(3, rel=0.06)


# --- configuration -------------------------------------------------------------------------------


def test_without_a_usage_database_past_usage_is_ignored() -> None:
    timeline = simulate(both(4, 4, gpus=12), config={"actions": "allocate"}, until_s=100)
    assert len(timeline.usage["at_s"]) == 0
    assert params_in({"actions": "allocate"}) is params_in(None) is None


@pytest.mark.parametrize("client", ["prometheus", "fake-with-history"])
def test_simulated_usage_needs_no_database(client: str) -> None:
    params = params_in({"usageDBConfig": {"clientType": client}})
    assert params is not None
    assert (params.window.size, params.fetch_interval) == (7 * 86_400, 60)


@pytest.mark.parametrize(
    ("db", "message"),
    [
        ({"usageParams": {}}, "usageDBConfig: client type cannot be empty"),
        ({"clientType": "graphite"}, "usageDBConfig: unknown client type: graphite, supported"),
        (
            {**PROMETHEUS, "usageParams": {"windowType": "Sliding"}},
            "usageParams: windowType: is sliding, tumbling or cron, not 'Sliding'",
        ),
        (
            {**PROMETHEUS, "usageParams": {"fetchInterval": "0s"}},
            "usageParams: fetchInterval: must be longer than 0",
        ),
        (
            {**PROMETHEUS, "usageParams": {"windowType": "tumbling"}},
            "tumbling windows need tumblingWindowStartTime",
        ),
        (
            {**PROMETHEUS, "usageParams": {"windowType": "cron", "cronString": "hourly"}},
            "error parsing cron string 'hourly'",
        ),
    ],
)
def test_an_invalid_configuration_raises_one_sentence(db: Any, message: str) -> None:
    with pytest.raises(kai.InvalidConfigError) as error:
        simulate(both(1, 1, gpus=12), config={"usageDBConfig": db})
    assert message in str(error.value)


def test_skipped_members_cause_a_warning() -> None:
    params = params_in({"usageDBConfig": {**PROMETHEUS, "usageParams": {"windowsize": "1h"}}})
    assert params is not None
    assert params.warnings == (
        "usageDBConfig: member usageParams.windowsize is not known and is skipped;"
        " did you mean 'windowSize'?",
    )


def test_unknown_members_of_the_argument_are_refused() -> None:
    with pytest.raises(kai.InvalidInputError, match="usage: there is no member 'window'"):
        simulate(both(1, 1, gpus=12), usage={"window": "1h"})


def test_argument_overrides_configuration_and_configuration_overrides_workload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = """
        usageParams: {windowSize: 5m}
        nodes: {n: {gpu: 4}}
        jobs: {a: {duration: 1h}}
    """
    workload = of_yaml("w.yaml", text)
    seen: list[Any] = []
    monkeypatch.setattr(simulation, "compiled_usage", lambda p, _: seen.append(p) or COMPILED)
    simulate(workload)
    simulate(workload, config=config(windowSize="6m"))
    simulate(workload, config=config(windowSize="6m"), usage={"windowSize": "7m"})
    assert [each.window.size for each in seen] == [300, 360, 420]


COMPILED = {
    **{"kind": "sliding", "size_ns": 10**9, "start_ns": 0, "half_life_ns": 0.0},
    **{"fetch_ns": 10**9, "next_reset": None},
}


def test_a_workload_is_written_with_its_usage() -> None:
    text = "usageParams: {windowType: cron, cronString: 0 0 1 * *}\nnodes: {n: {}}\njobs: {}\n"
    workload = of_yaml("w.yaml", text)
    assert workload.usage_params == {"windowType": "cron", "cronString": "0 0 1 * *"}
    assert of_yaml("w.yaml", yaml_of(workload)).usage_params == workload.usage_params


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("{window: 1h}", "w.yaml:1: usageParams.window: `usageParams` has no key 'window'"),
        ("{windowSize: often}", "w.yaml:1: usageParams: windowSize: 'often' is not a duration"),
        ("7", "w.yaml:1: usageParams: is 7 instead of a mapping"),
    ],
)
def test_invalid_usage_of_a_workload_is_named(params: str, message: str) -> None:
    with pytest.raises(kai.InvalidInputError) as error:
        of_yaml("w.yaml", f"usageParams: {params}\nnodes: {{n: {{}}}}\njobs: {{}}\n")
    assert message in str(error.value)


def test_the_same_input_gives_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    workload = some_workload(3)
    usage = {"windowSize": "2m", "halfLifePeriod": "40s", "fetchInterval": "7s"}
    order = np.random.default_rng(1).permutation(len(workload.jobs))
    shuffled = Workload(
        workload.jobs.take(order), workload.queues, workload.nodes, start=workload.start
    )
    one, other = simulate(workload, usage=usage), simulate(shuffled, usage=usage)
    for column in one.usage:
        assert one.usage[column].tolist() == other.usage[column].tolist()
    one.save(tmp_path / "one")
    simulate(workload, usage=usage).save(tmp_path / "again")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes()
    loaded = Timeline.load(tmp_path / "one")
    assert loaded.usage["gpu"].tolist() == one.usage["gpu"].tolist()
    assert loaded.to_arrow("usage").column("queue").to_pylist()[:1] == [
        one.queue_names[one.usage["queue"][0]]
    ]
