"""kai simulate --fair-share: KAI's request in, its answer out; and invalid requests."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
REQUEST = {
    "totalResource": {"GPU": 100, "CPU": 16_000, "Memory": 32_000_000},
    "queues": [
        {
            "uid": name,
            "resourceShare": {"gpu": {"deserved": 10, "request": 100, "overQuotaWeight": weight}},
        }
        for name, weight in (("a", 3), ("b", 1))
    ],
}
ANSWER = (
    '{"a": {"gpu": 70, "cpu": 16000, "memory": 100000},'
    ' "b": {"gpu": 30, "cpu": 16000, "memory": 100000}}\n'
)


def test_the_example_of_kais_simulator(run: Run, written: Any) -> None:
    file = written("request.json", json.dumps(REQUEST))
    done = run("simulate", "--fair-share", file)
    assert (done.status, done.out, done.err) == (0, ANSWER, "")


def test_a_request_is_read_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps(REQUEST).encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert run("simulate", "--fair-share", "-").out == ANSWER


def is_refused_with_a_sentence(run: Run, option: str, file: Path, text: str, message: str) -> None:
    file.write_text(text)
    done = run("simulate", option, file)
    assert (done.status, done.out) == (2, "")
    assert f"{file}: {message}" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON: it ends in the middle of a value, on line 1 (cut short?)"),
        ('{"queues": 1}', "queues: is not a list"),
        ("", "not valid JSON: "),
    ],
)
def test_an_invalid_request_prints_one_sentence(
    run: Run, tmp_path: Path, text: str, message: str
) -> None:
    is_refused_with_a_sentence(run, "--fair-share", tmp_path / "request.json", text, message)


def test_a_missing_file(run: Run, tmp_path: Path) -> None:
    done = run("simulate", "--fair-share", tmp_path / "none.json")
    assert done.status == 2
    assert "none.json: " in done.err
    assert run("simulate", "--fair-share", "").status == 2


def test_without_a_workload_its_options_are_shown(run: Run) -> None:
    done = run("simulate")
    assert done.status == 2
    assert "--fair-share REQUEST" in done.err


WORKLOAD = """
queues:
  a: {}
nodes:
  n: {gpu: 4}
jobs:
  first: {queue: a, arrival: 0s, duration: 1h, gpu: 4}
  second: {queue: a, arrival: 10m, duration: 30m, gpu: 2}
"""


def test_a_workload_runs_in_virtual_time(run: Run, written: Any) -> None:
    file = written("jobs.yaml", WORKLOAD)
    answer = json.loads(run("simulate", file, "--json").out)
    assert answer["jobs"]["name"] == ["first", "second"]
    assert answer["jobs"]["first_start_s"] == [0, 3600]
    assert answer["jobs"]["end_s"] == [3600, 5400]
    assert answer["metrics"]["waiting"]["mean_s"] == 1500
    assert answer["period_s"] == 1
    assert {"cycles", "engine_ms", "wall_s"} <= answer.keys()


def test_the_page_shows_queues_and_gpu_hours(run: Run, written: Any) -> None:
    file = written("jobs.yaml", WORKLOAD)
    done = run("simulate", file)
    assert done.status == 0
    assert "2 jobs on 4 GPUs, 90.0 m in" in done.out
    assert "waiting to start" in done.out
    assert "GPU-hours held" in done.out


def test_an_invalid_configuration_is_reported(run: Run, tmp_path: Path) -> None:
    file, config = tmp_path / "jobs.yaml", tmp_path / "config.yaml"
    file.write_text(WORKLOAD)
    config.write_text("tiers: [{plugins: [{name: joborder, arguments: {policy: lass}}]}]")
    done = run("simulate", file, "--config", config)
    assert done.status == 0
    assert 'argument policy "lass" is not a job order, and counts as fifo; did you mean' in done.err


def test_a_simulation_may_end_early_and_be_saved(run: Run, tmp_path: Path, written: Any) -> None:
    from kai.sim.timeline import Timeline

    file = written("jobs.yaml", WORKLOAD)
    done = run("simulate", file, "--until", "30m", "--period", "1m", "--out", tmp_path / "run.npz")
    assert "2 of 2 jobs did not finish" in done.out
    assert "It still runs at the end." in done.out
    assert Timeline.load(tmp_path / "run.npz").end_s == 1800


def test_fragmentation_is_shown_on_request(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    jobs = "{x: {duration: 1h, pods: 2, gpu: 3}, y: {arrival: 30m, duration: 1h, gpu: 4}}"
    file.write_text(f"nodes: {{n: {{count: 2, gpu: 4}}}}\njobs: {jobs}\n")
    plain = json.loads(run("simulate", file, "--json").out)["metrics"]
    assert plain.pop("fragmentation") is None
    asked = json.loads(run("simulate", file, "--json", "--fragmentation").out)["metrics"]
    # Until the last arrival x runs. One GPU of each node is idle, and no typical pod fits.
    assert asked.pop("fragmentation") == {"gpus": 2, "idle_gpus": 2, "share": 1}
    assert asked == plain
    page = tmp_path / "page.html"
    done = run("simulate", file, "--fragmentation", "--html", page)
    for text in (done.out, page.read_text()):
        assert "not usable by the typical pod" in text
    assert "not usable" not in run("simulate", file, "--html", page).out + page.read_text()


def test_times_have_any_number_of_units(run: Run, written: Any) -> None:
    file = written("jobs.yaml", WORKLOAD)
    for text, seconds in (("1h15m", 4500), ("4500", 4500), ("0.5d", 5400), ("1h", 3600)):
        done = run("simulate", file, "--until", text, "--checkpoint", "never", "--json")
        assert json.loads(done.out)["end_s"] == seconds, text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give exactly one of WORKLOAD, --live, --fair-share REQUEST and --time-based INPUT"),
        (("missing.csv",), "missing.csv"),
        (("jobs.yaml", "--restart", "never"), "--restart: 'never' is not a time such as 90s"),
        (("jobs.yaml", "--until", "soon"), "--until: 'soon' is not a time such as 90s, 2h30m, 36h"),
        (
            ("jobs.yaml", "--until", "1000000d"),
            "--until: '1000000d' is longer than the longest time, 106,751 days",
        ),
        (
            ("jobs.yaml", "--remaining", "exponential:1000000d"),
            "--remaining: 'exponential:1000000d' is longer than the longest time, 106,751 days",
        ),
        (("jobs.yaml", "--warm-up", "10h"), "--warm-up: '10h' is after the last arrival, at"),
        (
            ("jobs.yaml", "--until", "1m", "--warm-up", "90s"),
            "--warm-up: '90s' is after --until, 60 s",
        ),
        (("jobs.yaml", "--cluster", "missing.yaml"), "missing.yaml"),
    ],
)
def test_invalid_options_are_reported(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.yaml").write_text(WORKLOAD)
    done = run("simulate", *arguments)
    assert done.status == 2
    assert message in done.err


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    import kai

    cluster = kai.Cluster(now="2026-01-01T12:00:00Z").queue("a", deserved_gpus=4).node("n", gpus=4)
    cluster.running("a/bulk", pods=2, gpus=1, node="n")
    cluster.pending("a/next", pods=4, gpus=1, min_member=4)
    cluster.save(tmp_path / "snapshot.zip")
    return tmp_path / "snapshot.zip"


def test_a_snapshot_is_the_first_moment(run: Run, snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "later.yaml").write_text(
        "queues: {a: {}}\nnodes: {n: {gpu: 4}}\njobs: {late: {arrival: 3h, duration: 1h}}\n"
    )
    options = ("--remaining", "1h", "--now", "2026-01-01T12:00:00Z", "--json")
    done = run("simulate", snapshot, *options, "--arrivals", tmp_path / "later.yaml")
    assert done.status == 0, done.err
    answer = json.loads(done.out)
    assert answer["jobs"]["name"] == ["a/bulk", "a/next", "late"]
    assert answer["jobs"]["first_start_s"] == [0, 3600, 10800]
    assert answer["jobs"]["end_s"] == [3600, 7200, 14400]
    assert (
        "run for 3600 s; the first moment is 2026-01-01T12:00:00Z" in answer["workload"]["source"]
    )


LATER = "jobs: {late: {queue: a, arrival: 3h, duration: 1h}}\n"


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "maintenance: {m: {at: 1d, duration: 1h, nodes: [n]}}\n",
        "queues: {a: {}}\n",
        "queues: {a: {}}\nnodes: {other: {gpu: 1}}\n",
    ],
)
def test_arrivals_need_no_nodes_and_no_queues(
    run: Run, snapshot: Path, written: Any, rest: str
) -> None:
    later = written("later.yaml", LATER + rest)
    done = run("simulate", snapshot, "--remaining", "1h", "--json", "--arrivals", later)
    assert done.status == 0, done.err
    answer = json.loads(done.out)
    assert answer["jobs"]["first_start_s"] == [0, 3600, 10800]
    assert answer["workload"]["nodes"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LATER.replace("queue: a", "queue: b"), "later.yaml:1: jobs.late.queue: there is no queue"),
        (f"{LATER}queues: {{b: {{}}}}\n", "there is no queue 'a' to run jobs"),
        (f"{LATER}maintenance: {{m: {{at: 1, duration: 1, nodes: [x]}}}}\n", "no node 'x'"),
        ("nodes: {n: {gpu: 1}}\n", "later.yaml:1: has no jobs"),
    ],
)
def test_arrivals_that_the_cluster_cannot_run_are_one_sentence(
    run: Run, snapshot: Path, written: Any, text: str, said: str
) -> None:
    later = written("later.yaml", text)
    done = run("simulate", snapshot, "--remaining", "1h", "--arrivals", later)
    assert (done.status, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert said in done.err


def test_a_workload_without_nodes_needs_those_of_another_file(run: Run, tmp_path: Path) -> None:
    jobs, nodes = tmp_path / "jobs.yaml", tmp_path / "mine.yaml"
    jobs.write_text("jobs: {x: {duration: 1h}}\n")
    done = run("simulate", jobs)
    assert done.status == 2
    assert "jobs.yaml:1: has no nodes; write `nodes`, or name a file with nodes (--cluster" in (
        done.err
    )
    nodes.write_text("nodes: {n: {gpu: 4}}\n")
    assert run("simulate", jobs, "--cluster", nodes).status == 0


NODE = "{kind: Node, metadata: {name: n1}, status: {capacity: {cpu: 4, nvidia.com/gpu: 1}}}"
POD = """
kind: Pod
metadata: {name: p}
spec: {nodeName: %s, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Running}
"""


def test_several_inputs_of_a_plan_are_one_cluster(run: Run, tmp_path: Path) -> None:
    nodes, pods = tmp_path / "nodes.yaml", tmp_path / "pods.yaml"
    nodes.write_text(NODE)
    pods.write_text(POD % "n1")
    done = run("simulate", nodes, pods, "--remaining", "1h", "--json")
    assert (done.status, done.err) == (0, "")
    answer = json.loads(done.out)
    assert answer["jobs"] | {"restarts": 0} == {
        **{"name": ["default/pg-p"], "arrival_s": [0], "first_start_s": [0], "end_s": [3600]},
        **{"evictions": [0], "restarts": 0},
    }
    assert answer["workload"]["nodes"] == 1
    pods.write_text(POD % "n2")
    assert "(n2)" in run("simulate", nodes, pods, "--remaining", "1h").err


def test_several_inputs_that_are_no_single_cluster_are_one_sentence(
    run: Run, snapshot: Path, tmp_path: Path
) -> None:
    done = run("simulate", tmp_path / "a.yaml", tmp_path / "b.yaml")
    assert (done.status, done.out) == (2, "")
    assert "there can be only one WORKLOAD; several inputs of kai plan need --remaining" in done.err
    (tmp_path / "n.yaml").write_text(NODE)
    done = run("simulate", snapshot, tmp_path / "n.yaml", "--remaining", "1h")
    assert (done.status, done.out) == (2, "")
    assert "a simulation starts with one cluster, and there are 2: " in done.err


def test_past_usage_of_a_snapshot_counts_with_a_usage_database(
    run: Run, snapshot: Path, tmp_path: Path
) -> None:
    from kai.sim.timeline import Timeline

    usage = "{windowSize: 1h, fetchInterval: 10m}"
    (tmp_path / "past.yaml").write_text(
        f"usageDBConfig: {{clientType: prometheus, usageParams: {usage}}}\n"
    )
    written = ("--out", tmp_path / "run.npz", "--html", tmp_path / "page.html")
    past = ("--config", tmp_path / "past.yaml", "--remaining", "50m")
    done = run("simulate", snapshot, *past, *written)
    assert done.status == 0, done.err
    timeline = Timeline.load(tmp_path / "run.npz")
    assert timeline.usage["at_s"][0] == 600
    assert timeline.usage["gpu"][0] == 0.5  # two of four GPUs
    rows = len(timeline.usage["gpu"])
    assert f'"usage_rows":[0,{rows}]' in (tmp_path / "page.html").read_text()


def test_groups_of_a_snapshot_run_forever_by_default(run: Run, snapshot: Path) -> None:
    done = run("simulate", snapshot, "--until", "1h")
    assert done.status == 0
    assert "existing pod groups still run forever" in " ".join(done.out.split())
    assert "2 of 2 jobs did not finish" in done.out
    assert "a/bulk" in done.out
    assert "a/next" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("snapshot.zip", "--remaining", "soon"), "--remaining: 'soon' is not one of 8h, forever"),
        (("snapshot.zip", "--cluster", "jobs.yaml"), "--cluster needs a workload"),
        (("snapshot.zip", "--arrivals", "jobs.yaml"), "the cluster has no queue 'b'"),
        (("jobs.yaml", "--arrivals", "jobs.yaml"), "--arrivals needs a snapshot, --remaining or"),
        (("jobs.yaml", "--live"), "give exactly one of WORKLOAD, --live,"),
        (("snapshot.zip", "--now", "noon"), "noon"),
    ],
)
def test_an_invalid_snapshot_prints_one_sentence(
    run: Run,
    snapshot: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(snapshot.parent)
    (snapshot.parent / "jobs.yaml").write_text(
        WORKLOAD.replace("a: {}", "b: {}").replace("queue: a", "queue: b")
    )
    done = run("simulate", *arguments)
    assert done.status == 2
    assert message in done.err


SCALED = """
nodes: {n: {gpu: 4, autoscale: {max: 2, min: 1}, price: 10}}
jobs: {wide: {duration: 1h, pods: 2, gpu: 4}}
"""


def test_added_nodes_have_hours_and_a_cost(run: Run, written: Any) -> None:
    file = written("jobs.yaml", SCALED)
    done = run("simulate", file)
    assert "1 job on up to 8 GPUs" in done.out
    assert "node-hours" in done.out
    answer = json.loads(run("simulate", file, "--json", "--scale-every", "1m").out)
    assert answer["jobs"]["first_start_s"] == [180]  # a minute, and two until the node is ready
    assert answer["metrics"]["cost"] == pytest.approx(10 * (3780 + 3720) / 3600)


def test_the_command_lists_the_formats_of_the_reader() -> None:
    from kai.cli import virtual
    from kai.sim import traces

    assert virtual.FORMATS == traces.FORMATS


# --- the past counts -----------------------------------------------------------------------------

TWO_TEAMS = """
Cycles: 3
Nodes: [{GPUs: 4}]
Queues: [{Name: a, Weight: 3}, {Name: b}]
Jobs: {a: {GPUs: 1, NumPods: 1, NumJobs: 9}, b: {GPUs: 1, NumPods: 1, NumJobs: 9}}
"""
ROWS = """Time,QueueID,Allocation,FairShare
0,a,3.000000,3.000000
0,b,1.000000,1.000000
1,a,3.000000,3.000000
1,b,1.000000,1.000000
2,a,3.000000,3.000000
2,b,1.000000,1.000000
"""


def test_the_csv_of_kais_time_based_simulator(run: Run, tmp_path: Path, written: Any) -> None:
    file = written("config.yaml", TWO_TEAMS)
    done = run("simulate", "--time-based", file)
    assert (done.status, done.out, done.err) == (0, ROWS, "")
    answer = json.loads(run("simulate", "--time-based", file, "--json").out)
    assert answer["queues"]["b"]["usage"] == [None, 0.25, 0.25]
    page, saved = tmp_path / "page.html", tmp_path / "run.npz"
    assert run("simulate", "--time-based", file, "--html", page, "--out", saved).out == ROWS
    assert page.stat().st_size > 10_000
    assert saved.stat().st_size > 1000


def test_a_time_based_input_is_read_from_standard_input(run: Run, monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TWO_TEAMS.encode())))
    assert run("simulate", "--time-based", "-").out == ROWS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HalfLife: 7", "the input: there is no member 'HalfLife'; did you mean 'HalfLifePeriod'?"),
        ("Jobs: {a: {}}", "Jobs: there is no queue 'a'"),
        ("a: [", "not valid YAML: "),
    ],
)
def test_an_invalid_time_based_input_prints_one_sentence(
    run: Run, tmp_path: Path, text: str, message: str
) -> None:
    is_refused_with_a_sentence(run, "--time-based", tmp_path / "config.yaml", text, message)


def test_workload_options_exclude_a_time_based_input(run: Run, written: Any) -> None:
    file = written("config.yaml", TWO_TEAMS)
    done = run("simulate", "--time-based", file, "--period", "5s")
    assert done.status == 2
    assert "--period and --time-based exclude each other" in done.err
    assert run("simulate", file, "--time-based", file).status == 2


def test_a_configuration_may_enable_past_usage(run: Run, tmp_path: Path) -> None:
    workload, config = tmp_path / "w.yaml", tmp_path / "config.yaml"
    workload.write_text(WORKLOAD)
    config.write_text("usageDBConfig: {clientType: prometheus, usageParams: {window: 1d}}\n")
    done = run("simulate", workload, "--config", config)
    assert done.status == 0
    assert "usageDBConfig: member usageParams.window is not known and is skipped" in done.err
    config.write_text("usageDBConfig: {clientType: influx}\n")
    done = run("simulate", workload, "--config", config)
    assert (done.status, len(done.err.splitlines())) == (2, 1)
    assert "unknown client type: influx" in done.err


def test_the_columns_of_a_table_are_named_on_the_command_line(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text("when,ran,devices\n0,60,4\n30,60,2\n")
    columns = "arrival=when,duration=ran,gpus=devices"
    answer = json.loads(run("simulate", table, "--columns", columns, "--json").out)
    assert answer["workload"]["jobs"] == 2
    done = run("simulate", table, "--columns", "arrival")
    assert (done.status, "--columns: 'arrival' is not of the form OURS=THEIRS" in done.err) == (
        2,
        True,
    )
    assert "--columns: gpus is missing" in run("simulate", table, "--columns", "arrival=when").err


def test_objects_of_kubernetes_are_no_workload(run: Run, tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.json"
    jobs.write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    done = run("simulate", jobs)
    assert done.status == 2
    assert "is a file of Kubernetes objects: plan it with kai plan, or" in done.err
