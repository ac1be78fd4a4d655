"""kai plan, queues, nodes and groups with --live, and kai snapshot."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import kai
from fakes.cluster import FakeCluster
from fakes.objects import job, node, pod, small
from fakes.prometheus import FakePrometheus
from kai.cli import main

NOW = ("--now", "2026-01-01T01:00:00Z")
COMMANDS = ("plan", "queues", "nodes", "groups")


@dataclass
class Done:
    status: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> Done:
        status = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Done(status, out, err)

    return run


@pytest.fixture
def busy(cluster: FakeCluster) -> FakeCluster:
    """Waiting pods, with and without an owner, and GPUs of a kind."""
    train = job("train")
    cluster.put(*small(), train, pod("t1", owner=train), pod("big", gpus=8))
    cluster.put(node("n2", 4, {"nvidia.com/gpu.product": "NVIDIA-H100"}))
    return cluster


@pytest.mark.parametrize("form", ["text", "wide", "csv", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_live_output_equals_that_of_a_snapshot(
    busy: FakeCluster, run: Run, command: str, form: str, tmp_path: Path
) -> None:
    where = ("--kubeconfig", busy.kubeconfig)
    live = run(command, "--live", *where, "-o", form, *NOW)
    assert (live.status, live.err) == (0, "")
    assert run("snapshot", *where, "--out", tmp_path / "fake.zip").status == 0
    filed = run(command, tmp_path / "fake.zip", "-o", form, *NOW)
    assert untimed(live.out) == untimed(filed.out.replace(str(tmp_path / "fake.zip"), "fake"))
    assert live.out.strip()
    assert busy.writes == []


def untimed(text: str) -> object:
    """JSON without times; other text without the line wrapping."""
    if not text.startswith("{"):
        return text.split()
    plan = json.loads(text)
    for name in ("timing_ms", "score_keys"):
        plan.pop(name, None)
    return plan


def test_the_rights_to_list_are_enough(busy: FakeCluster, run: Run) -> None:
    kinds = ("Node", "Pod", "PodGroup", "Queue", "PriorityClass", "Topology", "BindRequest")
    busy.api.forbidden = {f"{verb} {kind}" for kind in (*kinds, "Job") for verb in ("watch", "get")}
    done = run("plan", "--live", "--kubeconfig", busy.kubeconfig, "--json", *NOW)
    assert done.status == 0
    assert done.err.startswith("kai: Job team/train: their pods are grouped without their owners")
    assert len(json.loads(done.out)["decisions"]) == 2


def test_a_pod_group_is_explained(busy: FakeCluster, run: Run) -> None:
    done = run("plan", "--context", "fake", "--kubeconfig", busy.kubeconfig, "--explain", "big")
    assert done.status == 0
    assert "one pod requests 8 GPUs, but the largest node has 4" in " ".join(done.out.split())


def test_an_unreachable_server_prints_one_sentence(busy: FakeCluster, run: Run) -> None:
    busy.stop_serving()
    for command in COMMANDS:
        done = run(command, "--live", "--kubeconfig", busy.kubeconfig)
        assert (done.status, done.out) == (3, "")
        assert done.err.startswith("kai: http://127.0.0.1:")
        assert done.err.count("\n") == 1
    out = busy.kubeconfig.with_name("s.zip")
    assert run("snapshot", "--kubeconfig", busy.kubeconfig, "--out", out).status == 3
    assert run("snapshot", "--from", "127.0.0.1:9", "--out", out).status == 3
    assert not out.exists()


def test_missing_kinds_are_named_with_the_command_that_adds_them(
    busy: FakeCluster, run: Run
) -> None:
    busy.api.lacks = {"Queue"}
    done = run("queues", "--live", "--kubeconfig", busy.kubeconfig)
    assert done.status == 2
    assert "no queues.scheduling.run.ai; to add them: kai install --crds-only" in done.err
    assert done.err.count("\n") == 1


def test_a_cluster_without_queues_gets_advice(cluster: FakeCluster, run: Run) -> None:
    done = run("queues", "--live", "--kubeconfig", cluster.kubeconfig)
    assert "There is no queue. `kai install` prints two" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["queues"], "INPUT... is missing: give a file or a directory, or read a cluster"),
        (["queues", "--live", "s.zip"], "--live and INPUT ('s.zip') exclude each other"),
        (["queues", "--context", "x", "s.zip"], "--live and INPUT ('s.zip') exclude each other"),
        (["snapshot"], "--out is missing"),
        (["snapshot", "--out", "s.json"], "'s.json' does not end in .zip"),
        (
            ["snapshot", "--out", "s.zip", "--from", "x", "--context", "y"],
            "--from reads from a sched",
        ),
    ],
)
def test_invalid_arguments_are_refused(run: Run, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.status == 2
    assert message in done.err


def test_an_unwritable_snapshot(busy: FakeCluster, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "nowhere" / "s.zip"
    done = run("snapshot", "--kubeconfig", busy.kubeconfig, "--out", out)
    assert (done.status, done.err) == (2, f"kai: {out}: no such file or directory\n")


def test_a_snapshot_has_the_given_configuration(
    busy: FakeCluster, run: Run, tmp_path: Path
) -> None:
    config, out = tmp_path / "c.yaml", tmp_path / "s.zip"
    config.write_text("actions: reclaim\n")
    where = ("--kubeconfig", busy.kubeconfig, "--out", out)
    assert run("snapshot", *where, "--config", config, "--node-pool", "blue").status == 0
    loaded = kai.load(out)
    assert (loaded.config or {})["actions"] == "reclaim"
    params = loaded.to_snapshot()["schedulerParams"]
    assert params["partitionParams"]["NodePoolLabelValue"] == "blue"


# --- past usage ----------------------------------------------------------------------------------


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    """A Prometheus that answers from a thread: queue a used three quarters of all GPUs."""
    fake, ready, loop = FakePrometheus(), threading.Event(), asyncio.new_event_loop()
    fake.used = {"kai_queue_allocated_gpus": {"a": 75.0}}
    fake.had = {"nvidia_com_gpu": 100.0}
    end = asyncio.Event()

    async def serve() -> None:
        async with fake:
            ready.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(20)
    yield fake
    loop.call_soon_threadsafe(end.set)
    thread.join()
    loop.close()


def configured(tmp_path: Path, address: str) -> tuple[str, Path]:
    file = tmp_path / "config.yaml"
    db = {"clientType": "prometheus", "connectionString": address}
    file.write_text(json.dumps({"usageDBConfig": db}))
    return "--config", file


@pytest.mark.parametrize("command", ["plan", "queues"])
def test_past_usage_is_read_from_the_configured_database(
    busy: FakeCluster, run: Run, command: str, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    where = ("--live", "--kubeconfig", busy.kubeconfig, "--json", *NOW)
    config = configured(tmp_path, prometheus.url)
    done = run(command, *where, *config)
    assert (done.status, done.err) == (0, "")
    assert len(prometheus.queries) == 6
    assert usage_in(done.out) == 0.75
    assert usage_in(run(command, *where).out) == 0
    file = tmp_path / "usage.yaml"
    file.write_text("a: {gpu: 0.5}")
    assert usage_in(run(command, *where, *config, "--usage", file).out) == 0.5
    assert len(prometheus.queries) == 6, "a file counts more, and nothing is fetched"


def usage_in(text: str) -> float:
    """The usage of queue a, in the JSON of `kai plan` or `kai queues`."""
    queues = json.loads(text)["queues"]
    rows = queues if isinstance(queues, list) else [{"queue": k, **v} for k, v in queues.items()]
    gpu = next(each for each in rows if each["queue"] == "a")["gpu"]
    return float(gpu["usage"])


def test_a_database_that_does_not_answer_is_a_warning(
    busy: FakeCluster, run: Run, tmp_path: Path
) -> None:
    where = ("--live", "--kubeconfig", busy.kubeconfig, "--json", *NOW)
    done = run("plan", *where, *configured(tmp_path, "http://127.0.0.1:9"))
    assert done.status == 0
    assert usage_in(done.out) == 0
    assert "the usage of queues cannot be fetched from http://127.0.0.1:9, so kai" in done.err
    assert run("plan", *where, *configured(tmp_path, "tcp://nowhere")).status == 2


def test_a_connection_fetches_at_the_configured_interval(
    busy: FakeCluster, prometheus: FakePrometheus
) -> None:
    db = {"clientType": "prometheus", "connectionString": prometheus.url}
    with kai.connect(
        kubeconfig=str(busy.kubeconfig),
        config={"usageDBConfig": {**db, "usageParams": {"fetchInterval": "1h"}}},
    ) as live:
        assert live.plan().queues["a"].gpu.usage == 0.75
        assert live.plan().queues["a"].gpu.usage == 0.75
        assert len(prometheus.queries) == 6
        assert live.snapshot().to_snapshot()["usage"]["a"]["gpu"] == 0.75
