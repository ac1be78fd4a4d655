"""Policies are compared on the same worlds."""

import json
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kai
from kai.errors import InvalidConfigError, InvalidInputError
from kai.sim.comparing import RayExecutor
from kai.sim.comparing.measures import MEASURES, OF_QUEUES, ON_REQUEST, measure
from kai.sim.comparing.worlds import WEEK_S, Worlds
from kai.sim.generators import DAY_S, Quantiles, generate
from kai.sim.metrics import measure as measured
from kai.sim.metrics import measure_part
from kai.sim.simulate import Failures, Life, simulate
from kai.sim.workload import NodePool, Queue, Workload

NODES = (NodePool("n", 2, gpus=4),)
FIVE = (NodePool("n", 5, gpus=4),)
FIFO = {"actions": "allocate"}
LASTING = Quantiles.log_normal(4 * 3600, 1.3, 3 * DAY_S)  # few jobs for many weeks


@pytest.fixture(scope="module")
def weeks() -> Workload:
    """Eight busy weeks of a small cluster."""
    return generate(
        3,
        days=56,
        load=0.9,
        nodes=NODES,
        gpus={1: 6, 4: 1},
        queues={"a": 1, "b": 1},
        durations=LASTING,
    )


# --- verdicts -------------------------------------------------------------------------------------


def test_more_nodes_are_better(weeks: Workload) -> None:
    done = kai.compare(None, kai.Side(nodes=FIVE), workload=weeks, seeds=2)
    assert done.verdict == "better"
    assert done.weeks == (1, 2, 3, 4, 5, 6, 7, 8)
    assert len(done.primary.values) == 8
    assert done.primary.name == "completion_mean_s"
    assert done.primary.high is not None
    assert done.primary.high < 0
    assert str(done).startswith("variant is better than base: completion, mean -")
    back = kai.compare(kai.Side(nodes=FIVE), None, workload=weeks, seeds=2)
    assert back.verdict == "worse"
    assert back.primary.low == -done.primary.high


def test_a_higher_utilization_is_better(weeks: Workload) -> None:
    done = kai.compare(
        kai.Side(nodes=FIVE), None, workload=weeks, seeds=2, primary="utilization", metrics=[]
    )
    assert done.primary.low is not None
    assert done.primary.low > 0
    assert done.verdict == "better"


def test_equal_configurations_have_no_difference(weeks: Workload) -> None:
    done = kai.compare(FIFO, kai.Config(actions=["allocate"]), workload=weeks, seeds=4)
    assert {each.verdict for each in done.metrics if each.pairs} == {"cannot tell"}
    assert {each.difference for each in done.metrics} <= {0, None}
    assert "base: cannot tell" in str(done)


def test_without_randomness_weeks_still_give_an_interval(weeks: Workload) -> None:
    calls: list[tuple[int, int]] = []
    done = kai.compare(
        FIFO, None, workload=weeks, vary=(), progress=lambda *each: calls.append(each)
    )
    assert calls == [(1, 2), (2, 2)]  # one simulation of each side
    assert done.seeds == (1,)
    assert done.notes[0] == "The seeds vary nothing: each side is simulated once."
    timeline = simulate(weeks, config=FIFO)
    first_s = weeks.jobs.arrival_s.min()
    third = measure_part(timeline, first_s + 2 * WEEK_S, first_s + 3 * WEEK_S)
    assert done.primary.values[2][0] == third.completion.mean_s
    assert done.primary.level == 0.95


def test_fewer_than_eight_weeks_give_no_verdict() -> None:
    seven = generate(3, days=49, load=0.5, nodes=NODES, gpus={1: 6, 4: 1}, durations=LASTING)
    done = kai.compare(None, kai.Side(nodes=FIVE), workload=seven, seeds=9)
    assert (done.verdict, done.weeks, len(done.primary.values)) == (None, (), 9)
    assert done.primary.level is done.primary.low is done.primary.p_value is None
    assert {each.verdict for each in done.metrics} == {None}
    assert "no verdict" in str(done).splitlines()[0]
    assert "they need a workload of 8 whole weeks" in str(done)
    assert "interval  " not in str(done)


def test_weeks_that_are_not_simulated_do_not_count(weeks: Workload) -> None:
    warm = kai.compare(None, FIFO, workload=weeks, vary=(), warm_up_s=WEEK_S)
    assert warm.verdict is None
    ended = kai.compare(None, FIFO, workload=weeks, vary=(), until_s=7.5 * WEEK_S)
    assert ended.verdict is None


def test_a_short_workload_is_not_varied_by_default() -> None:
    short = generate(1, days=3, load=0.5, nodes=NODES, gpus={1: 1})
    done = kai.compare(FIFO, None, workload=short)
    assert done.varies == ()
    plain = simulate(short, config=FIFO).metrics().completion.mean_s
    assert done.primary.base == plain
    with pytest.raises(InvalidInputError, match=r"made-up-1: lasts .* days, and a block has 7"):
        kai.compare(FIFO, None, workload=short, vary=["weeks"])


def test_seeds_without_effect_do_not_narrow_the_interval(weeks: Workload) -> None:
    """No policy here reads estimates: the same pair 5 times is one pair."""
    one, five = (
        kai.compare(FIFO, None, workload=weeks, vary=["estimates"], seeds=count) for count in (1, 5)
    )
    for before, after in zip(one.primary.values, five.primary.values, strict=True):
        assert before == pytest.approx(after)
    assert one.primary.p_value == five.primary.p_value


def test_the_primary_metric_and_the_others_are_arguments(weeks: Workload) -> None:
    done = kai.compare(
        FIFO,
        None,
        workload=weeks,
        seeds=3,
        primary="waiting_p95_s",
        metrics=["waiting_mean_s[b]", "evictions"],
    )
    assert [each.name for each in done.metrics] == [
        "waiting_p95_s",
        "waiting_mean_s[b]",
        "evictions",
    ]
    assert done.metrics[1].title == "b: waiting, mean"


REFUSE_WIDE = """\
import kai


@kai.policy.filter
def only_single(pod, nodes):
    return (nodes.gpus > 0) & (pod.gpus < 4)
"""


@pytest.mark.parametrize("wide_is", ["variant", "base"])
def test_a_side_that_does_less_work_is_never_better(
    weeks: Workload, tmp_path: Path, wide_is: str
) -> None:
    (tmp_path / "mine.py").write_text(REFUSE_WIDE)
    refusing = kai.Side(policies=kai.policy.load(tmp_path / "mine.py"), name="singles")
    sides = (None, refusing) if wide_is == "variant" else (refusing, None)
    done = kai.compare(*sides, workload=weeks, seeds=2)
    wide = int((weeks.jobs.total_gpus == 4).sum())
    assert sorted(each.unfinished for each in done.undone) == [0, wide]
    low, high = done.primary.low, done.primary.high
    assert low is not None
    assert high is not None
    assert high < 0 or low > 0
    wins = "better" if wide_is == "variant" else "worse"
    assert done.verdict == "cannot tell"
    assert all(each.verdict != wins for each in done.metrics if each.name != "unfinished")
    name = {"variant": "singles leaves more undone than base", "base": "singles leaves more"}
    assert str(done).startswith(name[wide_is])
    assert f"{wide} of {len(weeks.jobs)} jobs" in str(done).splitlines()[0]


def test_a_side_that_leaves_less_undone_may_win(weeks: Workload) -> None:
    """Jobs of 4 GPUs cannot start on the nodes of the base, and all start on those of the
    variant."""
    small = (NodePool("n", 12, gpus=2),)
    fixed = replace(weeks, jobs=weeks.jobs.with_columns(recorded_pods=weeks.jobs.pods * 0 - 1))
    base, variant = kai.Side(nodes=small), kai.Side(nodes=FIVE)
    done = kai.compare(
        base, variant, workload=fixed, seeds=1, primary="utilization", metrics=["unfinished"]
    )
    assert done.undone[0].unfinished > done.undone[1].unfinished == 0
    assert done.verdict == "better"
    assert str(done).startswith("base leaves more undone than variant")


def test_the_jobs_of_a_trace_are_cut_again_for_other_nodes(weeks: Workload) -> None:
    """Jobs of 4 GPUs start on nodes of 2 as well: two pods of 2."""
    done = kai.compare(
        None, kai.Side(nodes=[NodePool("n", 12, gpus=2)]), workload=weeks, seeds=1, metrics=[]
    )
    assert [each.unfinished for each in done.undone] == [0, 0]
    assert done.verdict == "better"
    found = kai.sweep({"nodes.n.gpus": [4, 2], "nodes.n.count": [12]}, weeks)
    assert [row["unfinished"] for row in found.rows()] == [0, 0]


def test_an_unknown_member_is_noted(weeks: Workload) -> None:
    done = kai.compare(None, {"actions": "allocate", "acions": 1}, workload=weeks, vary=())
    assert any(note.startswith("variant: ") and "acions" in note for note in done.notes)


# --- worlds ---------------------------------------------------------------------------------------


def test_both_sides_of_a_seed_get_the_same_world(weeks: Workload) -> None:
    worlds = Worlds(weeks, ("failures", "weeks", "estimates"))
    assert worlds.names == ("weeks", "estimates", "failures")
    one, again, other = worlds.world(1), worlds.world(1), worlds.world(2)
    assert one.workload.jobs.name == again.workload.jobs.name != other.workload.jobs.name
    assert (one.workload.jobs.estimate_s == again.workload.jobs.estimate_s).all()
    assert (one.seed, other.seed) == (1, 2)
    assert one.life.failures == Failures(30.0)


def test_sources_that_do_not_vary_are_equal_for_all_seeds(weeks: Workload) -> None:
    worlds = Worlds(weeks, ("estimates",), life=Life(failures=Failures(3.0)))
    one, two = worlds.world(1), worlds.world(2)
    assert one.workload.jobs.name == weeks.jobs.name
    assert (one.seed, two.seed) == (0, 0)  # the same failures
    assert not np.array_equal(one.workload.jobs.estimate_s, two.workload.jobs.estimate_s)
    assert Worlds(weeks).names == ("weeks",)


def test_failures_give_different_pairs(weeks: Workload) -> None:
    life = Life(failures=Failures(mean_days_between=2, mean_repair_hours=12))
    done = kai.compare(None, FIFO, workload=weeks, vary=["failures"], life=life, seeds=3)
    assert len(done.primary.values) == 8
    alone = kai.compare(None, FIFO, workload=weeks, vary=["failures"], life=life, seeds=1)
    assert alone.primary.values != done.primary.values
    assert done.varies == ("failures: each node fails every 2 days on average, for 12 h",)


# --- executors ------------------------------------------------------------------------------------


class Backwards(Executor):
    """Runs the last submitted task first."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: fn(*args, **kwargs)))
        if len(self.waiting) == 4:
            for each, work in reversed(self.waiting):
                each.set_result(work())
        return future


def on(executor: Any, workload: Workload) -> str:
    return kai.compare(FIFO, None, workload=workload, seeds=2, executor=executor).to_json()


def test_any_executor_gives_the_same_bytes(weeks: Workload) -> None:
    expected = on(None, weeks)
    assert on("serial", weeks) == expected
    assert on(2, weeks) == expected
    assert on("processes", weeks) == expected
    assert on(Backwards(), weeks) == expected
    with ThreadPoolExecutor(2) as threads:
        assert on(threads, weeks) == expected
        assert on(threads, weeks) == expected  # it stays open


POLICIES = """\
import kai


@kai.policy.pod_group_order
def widest_first(groups):
    return -groups.gpus


@kai.policy.pod_group_order
def fails(groups):
    return groups.gpus / "nothing"
"""


def test_policies_give_the_same_bytes_on_any_executor(weeks: Workload, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(POLICIES)
    widest_first, _ = kai.policy.load(tmp_path / "mine.py")

    def on(executor: Any) -> str:
        mine = kai.Side(policies=[widest_first], name="mine")
        return kai.compare(None, mine, workload=weeks, seeds=2, executor=executor).to_json()

    expected = on(None)
    assert json.loads(expected)["metrics"][0]["difference"] != 0
    assert on(2) == expected
    assert on(Backwards()) == expected
    with ThreadPoolExecutor(2) as threads:
        assert on(threads) == expected


@pytest.mark.parametrize("executor", [None, 2])
def test_a_failing_policy_is_one_error(
    weeks: Workload, tmp_path: Path, executor: int | None
) -> None:
    (tmp_path / "mine.py").write_text(POLICIES)
    _, fails = kai.policy.load(tmp_path / "mine.py")
    with pytest.raises(kai.PolicyError, match=r"^policy fails \(.*mine.py, line 11\): \w+: "):
        kai.compare(None, kai.Side(policies=[fails]), workload=weeks, seeds=2, executor=executor)


def test_a_policy_that_processes_cannot_import_raises_one_sentence(weeks: Workload) -> None:
    @kai.policy.pod_group_order
    def local(groups: Any) -> Any:
        return groups.gpus

    mine = kai.Side(policies=[local])
    with pytest.raises(
        InvalidInputError, match=r"^policy local is not in a file that other processes"
    ):
        kai.compare(None, mine, workload=weeks, seeds=2, executor=2)


def test_a_policy_without_a_file_raises_one_sentence() -> None:
    typed = (
        "import kai\nfrom kai.sim.generators import generate\n"
        "mine = kai.policy.pod_group_order(lambda groups: groups.gpus)\n"
        "mine.__qualname__ = mine.function.__qualname__ = 'mine'\n"
        "kai.compare(None, kai.Side(policies=[mine]), executor=2,\n"
        "            workload=generate(1, days=2, load=0.5, jobs_per_day=5))\n"
    )
    env = {"PYTHONPATH": str(Path(kai.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", typed], env=env, capture_output=True, text=True, check=False
    )
    assert "InvalidInputError: policy <lambda> is not in a file that other" in done.stderr


def test_a_missing_ray_library_raises_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidInputError, match="pip install ray"):
        RayExecutor()


def test_an_error_in_a_process_is_raised(weeks: Workload) -> None:
    with pytest.raises(InvalidInputError, match=r"^queue a: jobs use it"):
        kai.compare(None, kai.Side(queues=[Queue("x")]), workload=weeks, seeds=2, executor=2)


def test_an_interrupt_ends_the_processes(weeks: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(args.exc_value))

    def interrupt(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kai.compare({}, {}, workload=weeks, seeds=100, executor=2, progress=interrupt)
    assert raised == []  # by the thread that manages the processes


def test_a_script_without_a_main_guard_gets_advice(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import kai\nfrom kai.sim.generators import generate\n"
        "work = generate(1, days=2, load=0.5, jobs_per_day=5)\n"
        "kai.compare(None, None, workload=work, executor=2)\n"
    )
    env = {"PYTHONPATH": str(Path(kai.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, script], env=env, capture_output=True, text=True, check=False
    )
    output = [
        line for line in done.stderr.splitlines() if "KaiError: a process ended before" in line
    ]
    assert len(output) == 1
    assert "`if __name__ == '__main__':`" in output[0]


# --- forms ----------------------------------------------------------------------------------------


def test_json_has_all_results_and_nothing_of_the_machine(weeks: Workload) -> None:
    done = kai.compare(FIFO, None, workload=weeks, seeds=3)
    data = json.loads(done.to_json())
    assert data["verdict"] == done.verdict
    assert data["primary"] == "completion_mean_s"
    assert len(data["metrics"]) == len(MEASURES)
    assert data["metrics"][0]["values"] == [list(pair) for pair in done.primary.values]
    assert data["metrics"][0]["relative"] == done.primary.relative
    assert "wall_s" not in done.to_json()


def test_the_page_is_self_contained(weeks: Workload) -> None:
    done = kai.compare(
        kai.Side(config=FIFO, name="<b>&"), None, workload=weeks, seeds=6
    )  # fmt: skip
    page = done.to_html()
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "http" not in page
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;" in page
    assert "prefers-color-scheme: dark" in page
    for metric in done.metrics:
        if metric.difference is not None:
            assert metric.title.replace("'", "&#x27;") in page
    assert page.count(">week ") == 8
    for verdict in {each.verdict for each in done.metrics} - {None}:
        assert f">{verdict}<" in page  # a word beside the colour
    assert done._repr_html_() in page
    assert "nan" not in page.lower().replace("tenant", "")


def test_a_page_of_a_comparison_without_intervals() -> None:
    short = generate(3, days=20, load=0.9, nodes=NODES, gpus={1: 6, 4: 1})
    page = kai.compare(FIFO, None, workload=short, seeds=6).to_html()
    assert "There are no intervals" in page
    assert page.count(">seed ") == 6


# --- metrics --------------------------------------------------------------------------------------


def test_every_metric_exists_in_a_timeline(weeks: Workload) -> None:
    metrics = measured(simulate(weeks))
    assert measure("completion_p99_s").of(metrics) == metrics.completion.p99_s
    assert measure("rho_max").of(metrics) == metrics.rho["max"]
    assert measure("useful_part").of(metrics) == pytest.approx(
        metrics.useful_gpu_hours / metrics.held_gpu_hours
    )
    for name in MEASURES:
        assert isinstance(measure(name).of(metrics), float), name
    for name in OF_QUEUES:
        assert isinstance(measure(f"{name}[a]").of(metrics), float), name
    for name in ON_REQUEST:
        assert measure(name).lower_is_better
        assert measure(name).of(metrics) is None  # not measured
        assert isinstance(measure(name).of(simulate(weeks).metrics(fragmentation=True)), float)
    better_high = [each.name for each in MEASURES.values() if not each.lower_is_better]
    assert better_high == ["utilization", "useful_part", "jain_index"]


def test_fragmentation_is_compared_if_it_is_named() -> None:
    short = generate(3, days=10, load=0.9, nodes=NODES, gpus={1: 6, 4: 1})
    done = kai.compare(FIFO, None, workload=short, vary=(), primary="fragmentation", metrics=())
    means = [simulate(short, config=each).metrics(fragmentation=True) for each in (FIFO, None)]
    expected = tuple(each.fragmentation.gpus for each in means if each.fragmentation)
    assert [each.name for each in done.metrics] == ["fragmentation"]
    assert done.primary.values == (expected,)
    assert done.primary.unit == "GPUs"


def test_fragmentation_is_not_measured_otherwise(
    weeks: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kai.sim.fragmentation.over_time", None)
    names = [each.name for each in kai.compare(FIFO, None, workload=weeks, vary=()).metrics]
    assert names == list(MEASURES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"primary": "fragmentatio"}, "did you mean 'fragmentation'"),
        ({"primary": "waitin_mean_s"}, "did you mean 'waiting_mean_s'"),
        ({"metrics": ["evictions[a]"]}, "there is no metric of a queue"),
        ({"metrics": ["waiting_mean_s[aa]"]}, "there is no queue 'aa' to measure"),
        ({"vary": ["week"]}, "did you mean 'weeks'"),
        ({"vary": "weeks"}, "expected a list of names"),
        ({"seeds": 0}, "seeds: expected 1 to 1000000, not 0"),
        ({"seeds": [1, 1]}, "seeds: expected different whole numbers"),
        ({"level": 95}, "level: expected 0.5 to 0.999, not 95"),
        ({"executor": "dask"}, "executor: expected 'serial', 'processes', 'ray'"),
        ({"workload": "no-such-file"}, "no-such-file"),
    ],
)
def test_invalid_arguments_raise_one_sentence(
    weeks: Workload, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message.replace("(", r"\(")):
        kai.compare(FIFO, None, **{"workload": weeks, "seeds": 2, **given})


def test_a_configuration_is_checked_before_anything_runs(weeks: Workload) -> None:
    with pytest.raises(InvalidConfigError):
        kai.compare(FIFO, ["allocate"], workload=weeks)  # type: ignore[arg-type]


# --- sweeps ---------------------------------------------------------------------------------------


def test_a_sweep_simulates_every_combination(weeks: Workload) -> None:
    grid = {"config.actions": ["allocate", "allocate, reclaim"], "nodes.n.count": [2, 4]}
    found = kai.sweep(grid, weeks, metrics=["completion_mean_s", "utilization"])
    rows = found.rows()
    assert [(row["config.actions"], row["nodes.n.count"]) for row in rows] == [
        ("allocate", 2),
        ("allocate", 4),
        ("allocate, reclaim", 2),
        ("allocate, reclaim", 4),
    ]
    assert {row["seed"] for row in rows} == {1}
    plain = simulate(
        Worlds(weeks).world(1).workload, config={"actions": "allocate, reclaim"}
    ).metrics()
    assert rows[2]["completion_mean_s"] == plain.completion.mean_s
    assert rows[3]["utilization"] < rows[2]["utilization"]
    columns = [*grid, "seed", "unfinished", "completion_mean_s", "utilization"]
    assert list(found.to_pandas().columns) == columns


def test_a_sweep_prints_as_a_table(weeks: Workload) -> None:
    found = kai.sweep({"nodes.n.count": [2, 4]}, weeks, metrics=["completion_mean_s"], seeds=2)
    first, second = (found.values[place] for place in range(2))
    lines = str(found).splitlines()
    assert lines[0] == "2 points, means of 2 seeds"
    assert lines[1].split() == ["nodes.n.count", "completion,", "mean,", "s", "unfinished"]
    for line, values in zip(lines[2:], (first, second), strict=True):
        mean = sum(each[0] or 0 for each in values) / 2
        assert line.split()[1] == f"{mean:,.3f}".rstrip("0").rstrip(".")
    assert repr(found) == "<kai.Sweep: 2 points, 2 seeds, 1 metric>"
    assert "<td" in found._repr_html_()
    assert "to_pandas() has 12 more metrics" in str(kai.sweep({"nodes.n.count": [2]}, weeks))


def test_a_sweep_is_the_same_on_any_executor(weeks: Workload) -> None:
    grid = {"queues.a.weight": [1, 2], "config": [FIFO, kai.Config()]}
    one = kai.sweep(grid, weeks, seeds=2)
    two = kai.sweep(grid, weeks, seeds=2, executor=2)
    assert one.to_json() == two.to_json()
    assert json.loads(one.to_json())["rows"][0]["config"] == '{"actions": "allocate"}'


def test_two_points_of_a_sweep_are_compared_as_two_configurations(weeks: Workload) -> None:
    found = kai.sweep({"nodes.n.count": [2, 3, 5]}, weeks, seeds=2)
    done = found.compare(0, 2)
    alone = kai.compare(None, kai.Side(nodes=FIVE), workload=weeks, seeds=2)
    assert done.metrics == alone.metrics
    assert (done.base, done.variant) == ("nodes.n.count=2", "nodes.n.count=5")
    assert found.compare(1, 2, primary="utilization").primary.name == "utilization"
    with pytest.raises(InvalidInputError, match="there is no point 3: there are 3"):
        found.compare(0, 3)


def test_a_nested_member_of_a_configuration_is_changed(weeks: Workload) -> None:
    base = {"plugins": {"nodeplacement": {"gpu": "binpack", "cpu": "binpack"}}}
    found = kai.sweep({"config.plugins.nodeplacement.gpu": ["spread"]}, weeks, base=base)
    assert json.loads(found.work.points[0].config or "") == {
        "plugins": {"nodeplacement": {"gpu": "spread", "cpu": "binpack"}}
    }
    assert base["plugins"]["nodeplacement"]["gpu"] == "binpack"


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"node.n.count": [1]}, "did you mean 'nodes'"),
        ({"nodes.m.count": [1]}, "the workload has no node pool 'm'"),
        ({"queues.a.wieght": [1]}, "did you mean 'weight'"),
        ({"config.actions": "allocate"}, "config.actions: expected a list of values"),
        ({"config.actions": []}, "config.actions: expected a list of values"),
    ],
)
def test_an_invalid_grid_raises_one_sentence(
    weeks: Workload, grid: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        kai.sweep(grid, weeks)
