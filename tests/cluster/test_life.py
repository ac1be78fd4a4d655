"""Separate clusters: how they start, how they end, and what is left afterwards."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from testcluster import Cluster, ClusterError, Options, temporary_cluster
from testcluster.processes import start_time

SESSION = """\
import sys, time
from pathlib import Path
from testcluster import Cluster
cluster = Cluster(Path(sys.argv[1]))
cluster.start()
print("ready", flush=True)
time.sleep(600)
"""


def eventually(what: str, condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)


def test_a_cluster_ends_when_its_session_is_killed(
    programs: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "cluster"
    with subprocess.Popen(
        [sys.executable, "-c", SESSION, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    ) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == "ready\n"
        processes = Cluster(folder).running()
        assert len(processes) == 4
        session.send_signal(signal.SIGKILL)
    eventually("no program runs", lambda: not any(start_time(p.pid) for p in processes.values()))
    eventually("its directory is gone", lambda: not folder.exists())


@pytest.mark.cluster_slow
def test_a_cluster_continues_where_it_was_stopped(
    programs: Mapping[str, Path], tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path / "cluster")
    cluster.start(programs)
    cluster.kubectl("create", "namespace", "kept")
    server, token = cluster.server, cluster.token()
    cluster.stop()
    again = Cluster(tmp_path / "cluster")
    again.start(programs)
    try:
        assert (again.server, again.token()) == (server, token)
        assert "kept" in again.kubectl("get", "namespaces")
        with pytest.raises(ClusterError, match="runs already"):
            again.start(programs)
    finally:
        again.stop()


def test_a_cluster_that_cannot_start_shows_the_reason_and_leaves_nothing(
    programs: Mapping[str, Path], tmp_path: Path
) -> None:
    options = Options(server_arguments=("--no-such-option",))
    cluster = Cluster(tmp_path / "cluster", options)
    with pytest.raises(ClusterError, match="no-such-option"):
        cluster.start(programs)
    assert cluster.running() == {}


@pytest.mark.parametrize("command", ["up", "down"])
def test_a_directory_of_other_files_is_not_changed(
    programs: Mapping[str, Path], tmp_path: Path, command: str
) -> None:
    (tmp_path / "thesis.txt").write_text("draft")
    done = subprocess.run(
        [sys.executable, "-m", "testcluster", command, str(tmp_path)],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert str(tmp_path) in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.cluster_slow
def test_options_reach_the_server(programs: Mapping[str, Path]) -> None:
    gate = "AllowUnsafeMalformedObjectDeletion"
    options = Options(
        fair_queuing=True,
        feature_gates=f"{gate}=true",
        runtime_config="internal.apiserver.k8s.io/v1alpha1=true",
    )
    with temporary_cluster(options, programs) as cluster:
        assert "storageversions" in cluster.kubectl("api-resources", "--output=name")
        enabled = f'kubernetes_feature_enabled{{name="{gate}",stage="ALPHA"}} 1'
        assert enabled in cluster.kubectl("get", "--raw", "/metrics")
        path = "/debug/api_priority_and_fairness/dump_priority_levels"
        assert "leader-election" in cluster.kubectl("get", "--raw", path)
