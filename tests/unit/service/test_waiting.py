"""What `kai run` waits for after its start: rights, kinds, and a slow server."""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import kai
from fakes.clock import until
from fakes.cluster import FakeCluster
from fakes.objects import small
from kai.cli import main
from kai.controllers.planning.kinds import OF_PLUGINS, WATCHED, needed_by
from kai.service import reports

FIX = 'fix="apply what kai install prints"'


def lines(text: str) -> list[str]:
    return [line.partition("Z ")[2] for line in text.splitlines()]


def running(cluster: FakeCluster, story: Callable[[], Awaitable[None]]) -> None:
    """Plays a story next to `kai run`, which must run to its end."""

    async def both() -> None:
        task = asyncio.create_task(
            kai.run(
                roles="scheduler",
                kubeconfig=cluster.kubeconfig,
                leader_elect=False,
                max_period=0.2,
            )
        )
        try:
            await story()
            assert not task.done()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(both())


class Logged:
    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd, self.lines = capfd, list[str]()

    async def has(self, line: str) -> None:
        ends = time.monotonic() + 20
        while line not in self.lines:
            self.lines += lines(self._capfd.readouterr().err)
            assert time.monotonic() < ends, self.lines
            await asyncio.sleep(0.02)


@pytest.fixture
def logged(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Logged:
    monkeypatch.setattr(reports, "LOOK_EVERY_S", 0.05)
    return Logged(capfd)


def test_missing_rights_are_logged_and_waited_for(cluster: FakeCluster, logged: Logged) -> None:
    cluster.put(*small())
    cluster.api.forbidden = {f"{verb} {kind}" for kind in WATCHED for verb in ("list", "watch")}

    read = needed_by(["scheduler"], OF_PLUGINS)

    def logged_rights() -> int:
        return sum(" may not " in line for line in logged.lines)

    async def story() -> None:
        await logged.has(f"warning kai: may not watch nodes user=ann {FIX}")
        await logged.has(
            f"warning kai: may not watch podgroups group=scheduling.run.ai user=ann {FIX}"
        )
        await until(lambda: logged_rights() >= len(read), lambda: logged.lines)
        cluster.api.forbidden = set()
        await logged.has("info kai: may watch nodes again")
        await logged.has("info kai: may watch podgroups again group=scheduling.run.ai")

    running(cluster, story)
    missing = [line for line in logged.lines if " may not " in line]
    assert len(missing) == len(set(missing)) == len(read)


def test_missing_kinds_are_logged_with_advice(cluster: FakeCluster, logged: Logged) -> None:
    cluster.put(*small())
    cluster.api.lacks = {"Queue", "PodGroup", "Topology"}
    names = "podgroups.scheduling.run.ai, queues.scheduling.run.ai"
    install = 'fix="kai install --crds-only | kubectl apply --server-side -f -"'

    async def story() -> None:
        await logged.has(f"warning kai: the cluster has no {names} {install}")

    running(cluster, story)
    assert len(logged.lines) <= 2  # of one kind, and of both


def test_a_signal_ends_the_wait_for_a_silent_server(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        file = tmp_path / "config"
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        file.write_text(
            f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
            "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n"
        )
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        began = time.monotonic()
        assert main(["run", "all", "--kubeconfig", str(file)]) == 0
        assert time.monotonic() - began < 5
        assert capfd.readouterr().err == ""
