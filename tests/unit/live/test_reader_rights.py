"""The role of `kai install --reader` suffices for everything that only reads a cluster."""

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kai
from fakes.cluster import FakeCluster
from fakes.objects import job, pod, small
from kai.cli import COMMANDS, cli, main
from kai.live import rights

Rights = set[tuple[str, str, str]]


def with_live() -> list[str]:
    """The commands with an option --live."""
    context = cli.make_context("kai", ["demo"])
    commands = {name: cli.get_command(context, name) for name in COMMANDS}
    return [
        name
        for name, command in commands.items()
        if command is not None and "live" in {each.name for each in command.params}
    ]


def granted(role: dict[str, Any]) -> Rights:
    return {
        (verb, group, resource)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def used(cluster: FakeCluster) -> Rights:
    """The rights that the requests so far have needed."""
    return {right for each in cluster.api.seen for right in needed(each.path, each.query)}


def needed(path: str, query: Any) -> Iterator[tuple[str, str, str]]:
    root, *rest = path.strip("/").split("/")
    group = rest.pop(0) if root == "apis" and rest else ""
    rest = rest[1:] if root in ("api", "apis") else []
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    if rest:  # otherwise the versions of the server, which every user may read
        yield "get" if rest[1:] else "watch" if "watch" in query else "list", group, rest[0]


@pytest.fixture
def busy(cluster: FakeCluster) -> FakeCluster:
    """A cluster with a pod that has an owner and is in no pod group."""
    train = job("train")
    cluster.put(*small(), train, pod("t1", owner=train), pod("big", gpus=8))
    return cluster


def test_the_commands_that_read_a_cluster_are_known() -> None:
    assert {"explain", "groups", "nodes", "plan", "queues"} <= set(with_live())


@pytest.mark.parametrize("command", [*with_live(), "snapshot"])
def test_no_command_needs_more_than_the_role(
    busy: FakeCluster, command: str, tmp_path: Path
) -> None:
    more = {
        "explain": ["team/t1"],
        "simulate": ["--remaining", "1h"],
        "snapshot": ["--out", str(tmp_path / "s.zip")],
    }
    assert main([command, "--kubeconfig", str(busy.kubeconfig), *more.get(command, ())]) == 0
    assert used(busy) >= {("list", "", "pods"), ("get", "batch", "jobs")}
    assert used(busy) <= granted(rights.reader())


def test_a_connection_needs_no_more_than_the_role(busy: FakeCluster) -> None:
    with kai.connect(kubeconfig=busy.kubeconfig) as live:
        assert live.plan().decisions
    assert ("watch", "", "pods") in used(busy)
    assert used(busy) <= granted(rights.reader())


def test_a_shadow_needs_no_more_than_the_role(busy: FakeCluster) -> None:
    from kai.k8s.client import Client
    from kai.service.log import Log
    from kai.service.options import Options
    from kai.service.shadow import Shadow

    async def scene() -> None:
        async with await Client.connect(busy.kubeconfig) as client:
            options = Options(roles=("scheduler", "pod-grouper"), shadow=True)
            shadow = Shadow(client, options, Log(stream=io.StringIO()))
            stop = asyncio.Event()
            running = asyncio.ensure_future(shadow.run(stop))
            for _ in range(200):
                await asyncio.sleep(0.05)
                # Owners of pods are looked up after the first lists.
                if not shadow.why_unready() and ("get", "batch", "jobs") in used(busy):
                    break
            stop.set()
            await running

    asyncio.run(scene())
    assert ("get", "batch", "jobs") in used(busy)
    assert used(busy) <= granted(rights.reader())


def test_the_role_changes_nothing_and_reads_no_secrets() -> None:
    for verb, _, resource in granted(rights.reader()):
        assert verb in ("get", "list", "watch")
        assert resource != "secrets"
    assert not any("*" in right for right in granted(rights.reader()))
