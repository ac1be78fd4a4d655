"""kai compare."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.sim.generators import generate
from kai.sim.simulate import Failures, Life
from kai.sim.traces import read, write_yaml
from kai.sim.workload import NodePool

Run = Callable[..., Any]
BIGGER = "nodes:\n  n: {count: 5, gpu: 4}\n"


@pytest.fixture
def compare(run: Run) -> Run:
    """`kai compare` in one process: to start another one takes longer than the simulations."""
    return partial(run, "compare", "--processes", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workload of eight weeks, a configuration and a larger cluster."""
    folder = tmp_path_factory.mktemp("lab")
    nodes = [NodePool("n", 2, gpus=4)]
    work = generate(3, days=56, load=0.8, jobs_per_day=15, nodes=nodes, gpus={1: 6, 4: 1})
    write_yaml(work, folder / "jobs.yaml")
    (folder / "fifo.yaml").write_text("actions: allocate\n")
    (folder / "bigger.yaml").write_text(BIGGER)
    return folder


def test_the_verdict_sets_the_first_line_and_the_exit_status(
    run: Run, compare: Run, folder: Path
) -> None:
    arguments = ["default", "default", "--workload", folder / "jobs.yaml", "--seeds", 2]
    # By default there is a process for each core.
    better = run("compare", *arguments, "--variant-cluster", folder / "bigger.yaml")
    assert better.status == 0
    assert better.out.startswith("bigger.yaml is better than default: completion, mean -")
    assert "\n  metric  " in better.out
    assert "A seed varies the order of weeks: 8 out of 8." in better.out
    assert "made-up-3, 8 weeks, 2 pairs" in better.out
    worse = compare(*arguments, "--base-cluster", folder / "bigger.yaml")
    assert worse.status == 1
    assert worse.out.startswith("default is worse than bigger.yaml: completion, mean +")
    equal = compare(*arguments, "--cluster", folder / "bigger.yaml")
    assert equal.status == 0
    assert equal.out.startswith("default against default: cannot tell: completion, mean 0")


def test_the_same_trace_on_a_changed_cluster(compare: Run, folder: Path) -> None:
    same = ("--workload", folder / "jobs.yaml", "--seeds", 2)
    more = compare(*same, "--add-nodes", 3, "--like", "n-1")
    assert more.status == 0
    assert more.out.startswith("3 more nodes like n-1 is better than default: completion, mean -")
    bigger = compare(*same, "--variant-cluster", folder / "bigger.yaml")
    assert more.out.split("\n\n", 1)[1] == bigger.out.split("\n\n", 1)[1]
    drained = compare("default", *same, "--drain", "n-0", "--metric", "utilization")
    assert drained.status == 1
    assert drained.out.startswith("n-0 drained is worse than default: ")
    limited = compare(folder / "fifo.yaml", *same, "--queue", "jobs.limit=2")
    assert limited.status == 1
    assert limited.out.startswith("fifo.yaml, jobs.limit=2 leaves more undone than fifo.yaml")


def test_changes_apply_to_the_cluster_of_the_variant(compare: Run, folder: Path) -> None:
    done = compare(
        *("--workload", folder / "jobs.yaml", "--variant-cluster"),
        *(
            folder / "bigger.yaml",
            "--drain",
            "n-0",
            "--drain",
            "n-1",
            "--drain",
            "n-4",
            "--seeds",
            1,
        ),
    )
    assert done.status == 0
    assert done.out.startswith("bigger.yaml, n-0 drained, n-1 drained, n-4 drained against default")
    assert "completion, mean 0 h (0 %)" in " ".join(done.out.split())


def test_amounts_of_queues_are_in_the_units_of_kubernetes(compare: Run, folder: Path) -> None:
    """A limit of 4 pods with 1 CPU and 1 GiB each."""
    same = ("--workload", folder / "jobs.yaml", "--seeds", 1, "--json")
    limits = ("jobs.cpu.limit=4000m", "jobs.memory.limit=4Gi")
    first, second = (
        json.loads(compare(*same, "--queue", limit).out)["metrics"] for limit in limits
    )
    assert first == second


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        ([], 2, "both sides are the same: give VARIANT"),
        (["--add-nodes", 2], 2, "--add-nodes needs --like NODE"),
        (["--add-nodes", 2, "--like", "m"], 1, "there is no node 'm'"),
        (["--drain", "m"], 1, "no node has the name 'm', or a label with that value"),
        (["--drain", "n"], 2, "--drain: no node is left"),
        (["--queue", "job.quota=1"], 1, "there is no queue 'job'; did you mean 'jobs'?"),
        (["--queue", "jobs.parent=al"], 1, "there is no queue 'al'"),
        (["--queue", "jobs.quota=much"], 2, "'much' is not a quantity"),
        (["--queue", "jobs.quota=-2"], 2, "'-2' is below 0; -1 is unlimited"),
    ],
)
def test_wrong_changes_of_the_cluster(
    compare: Run, folder: Path, given: list[Any], status: int, message: str
) -> None:
    done = compare("--workload", folder / "jobs.yaml", *given)
    assert done.status == status
    assert message in done.err


def test_json_equals_the_result_of_kai_compare(run: Run, folder: Path) -> None:
    done = run(
        *("compare", folder / "fifo.yaml", "default", "--workload", folder / "jobs.yaml", "--json"),
        *("--seeds", 3, "--vary", "weeks,failures", "--fail-every", "5d", "--processes", 2),
        *("--metric", "waiting_mean_s", "--primary", "rho_mean"),
    )
    assert done.status in (0, 1)
    expected = kai.compare(
        folder / "fifo.yaml",
        kai.Side(name="default"),
        workload=read(folder / "jobs.yaml"),
        seeds=3,
        vary=["weeks", "failures"],
        life=Life(failures=Failures(5)),
        metrics=["waiting_mean_s"],
        primary="rho_mean",
    )
    assert json.loads(done.out) == json.loads(expected.to_json())


def test_a_short_workload_gives_no_verdict(compare: Run, folder: Path, tmp_path: Path) -> None:
    nodes = [NodePool("n", 2, gpus=4)]
    work = generate(3, days=10, load=0.8, jobs_per_day=15, nodes=nodes, gpus={1: 6, 4: 1})
    write_yaml(work, tmp_path / "jobs.yaml")
    jobs = tmp_path / "jobs.yaml"
    done = compare(folder / "fifo.yaml", "default", "--workload", jobs)
    assert done.status == 0
    assert done.out.splitlines()[1].endswith("no verdict") or "no verdict" in done.out
    assert "The seeds vary nothing: each side is simulated once." in done.out
    assert "There are no intervals and no verdicts: they need a workload of 8" in done.out


def test_work_that_is_left_undone_comes_first(compare: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text("nodes:\n  n: {count: 20, gpu: 2}\n")
    arguments = ["default", "default", "--workload", folder / "jobs.yaml", "--vary", ""]
    done = compare(*arguments, "--variant-cluster", tmp_path / "small.yaml")
    assert done.out.startswith("small.yaml leaves more undone than default: ")
    assert "cannot tell" in done.out.split("\n\n")[0]
    assert done.status == 1


def test_the_page_option_writes_a_page(compare: Run, folder: Path, tmp_path: Path) -> None:
    arguments = ["default", folder / "fifo.yaml", "--workload", folder / "jobs.yaml", "--vary", ""]
    done = compare(*arguments, "--html", tmp_path / "page.html")
    assert done.status == 0
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    lost = compare(*arguments, "--html", tmp_path / "no" / "page.html")
    assert lost.status == 2
    assert lost.err.startswith(f"kai: --html: {tmp_path}/no/page.html: ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vary", "week"], "vary: a seed cannot vary 'week'; did you mean 'weeks'?"),
        (["--primary", "speed"], "there is no metric 'speed'"),
        (["--level", "95"], "level: expected 0.5 to 0.999, not 95"),
        (["--variant-cluster", "no-such-file"], "no-such-file: "),
        (["--workload", "no-such-file"], "no-such-file: "),
        (["--until", "soon"], "--until: 'soon' is not a time such as 90s, 2h30m, 36h or 7d"),
    ],
)
def test_an_invalid_option_prints_one_sentence(
    compare: Run, folder: Path, options: list[str], message: str
) -> None:
    jobs = ["--workload", folder / "jobs.yaml"]
    done = compare("default", "default", *jobs, *options)
    assert done.status == 2
    assert done.err.startswith(f"kai: {message}")
    assert done.err.count("\n") == 1


def test_an_invalid_configuration_prints_one_sentence(
    compare: Run, folder: Path, tmp_path: Path
) -> None:
    jobs = ["--workload", folder / "jobs.yaml", "--vary", ""]
    done = compare(tmp_path / "none.yaml", "default", *jobs)
    assert done.status == 2
    assert "none.yaml" in done.err
    (tmp_path / "typo.yaml").write_text("acions: allocate\n")
    done = compare("default", tmp_path / "typo.yaml", *jobs)
    assert done.status == 0
    assert 'typo.yaml: configuration member "acions" is not known' in " ".join(done.out.split())
    assert done.err == ""
    strict = compare("default", tmp_path / "typo.yaml", *jobs, "--strict")
    assert strict.status == 2
    assert 'did you mean "actions"?' in strict.err


YOUNGEST_FIRST = """\
import kai


@kai.policy.pod_group_order
def youngest_first(groups):
    return groups.waited_s
"""


def test_a_python_policy_may_apply_to_one_side_or_both(
    run: Run, compare: Run, folder: Path, written: Any
) -> None:
    mine = written("mine.py", YOUNGEST_FIRST)
    arguments = ["--workload", folder / "jobs.yaml", "--seeds", 3]
    sides = ["default", "default", *arguments, "--json"]
    one = compare(*sides, "--variant-policy", mine)
    two = run("compare", *sides, "--variant-policy", mine, "--processes", 2)
    assert two.out == one.out
    assert two.err == ""
    found = json.loads(one.out)
    assert (found["base"], found["variant"]) == ("default", "mine.py")
    assert found["metrics"][0]["difference"] != 0
    (policy,) = kai.policy.load(mine)
    expected = kai.compare(
        kai.Side(name="default"),
        kai.Side(policies=[policy], name="mine.py"),
        workload=read(folder / "jobs.yaml"),
        seeds=3,
    )
    assert found == json.loads(expected.to_json())
    both = compare(*sides, "--policy", mine)
    assert json.loads(both.out)["metrics"][0]["difference"] == 0
    bigger = ["--base-cluster", folder / "bigger.yaml"]
    named = compare(folder / "fifo.yaml", "default", *arguments, "--base-policy", mine, *bigger)
    assert "fifo.yaml with mine.py on bigger.yaml" in " ".join(named.out.split())


@pytest.mark.parametrize("processes", [1, 2])
def test_a_failing_policy_prints_one_sentence(
    run: Run, folder: Path, written: Any, processes: int
) -> None:
    mine = written("mine.py", YOUNGEST_FIRST.replace("waited_s", "waited"))
    arguments = ["default", "default", "--workload", folder / "jobs.yaml", "--seeds", 3]
    done = run("compare", *arguments, "--variant-policy", mine, "--processes", processes)
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith(f"kai: policy youngest_first ({mine}, line 6): AttributeError: ")
    assert done.err.count("\n") == 1


def test_a_file_without_a_policy_prints_one_sentence(
    compare: Run, folder: Path, tmp_path: Path
) -> None:
    arguments = ["--workload", folder / "jobs.yaml"]
    none = tmp_path / "none.py"
    done = compare("default", "default", *arguments, "--base-policy", none)
    assert done.status == 2
    assert done.err == f"kai: --base-policy: {none}: there is no such file\n"
    done = compare("default", none, *arguments)
    assert done.status == 2
    assert f"write default --variant-policy {none}" in done.err
    assert done.err.count("\n") == 1


def test_an_interrupt_ends_all_processes(folder: Path) -> None:
    command = [sys.executable, "-m", "kai", "compare", "default", "default", "--seeds", "400"]
    environment = {**os.environ, "PYTHONPATH": str(Path(kai.__file__).parents[1])}
    done = subprocess.Popen(
        [*command, "--workload", str(folder / "jobs.yaml"), "--processes", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    children = Path(f"/proc/{done.pid}/task/{done.pid}/children")
    while done.poll() is None and len(children.read_text().split()) < 3:
        time.sleep(0.05)  # two processes and the one that counts resources
    started = children.read_text().split()
    done.send_signal(signal.SIGINT)
    try:
        _, output = done.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, signal.SIGKILL)
        done.communicate()
        raise
    assert done.returncode == 130
    assert output.strip() == "kai: interrupted"
    for _ in range(200):
        left = [pid for pid in started if _runs(pid)]
        if not left:
            break
        time.sleep(0.05)
    assert left == []


def _runs(pid: str) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
