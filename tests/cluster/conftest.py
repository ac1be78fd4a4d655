"""Tests on a real API server (docs/internals/cluster.md). One cluster serves all tests of a
session; each test has its own namespaces and nodes. If the programs are missing and cannot be
built, one line gives the reason and the tests are skipped."""

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]

from machine_play import Place, place_of  # noqa: E402
from testcluster import (  # noqa: E402
    Cluster,
    Kubectl,
    Options,
    UnavailableError,
    install,
    path_of,
    temporary_cluster,
)
from testcluster import programs as programs_of_clusters  # noqa: E402

running = pytest.StashKey[Cluster]()
unavailable = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> Mapping[str, Path]:
    """The programs of a cluster, also for tests that start their own cluster.
    KAI_CLUSTER_VERSION=1.34 chooses an older server."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a build takes minutes and shows its progress
        try:
            return programs_of_clusters.find(older=os.environ.get("KAI_CLUSTER_VERSION") == "1.34")
        except UnavailableError as error:
            pytestconfig.stash[unavailable] = str(error)
            pytest.skip(str(error))


@pytest.fixture(scope="session")
def cluster(programs: Mapping[str, Path], pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """The session's cluster. A test that changes the cluster as a whole restores it."""
    with temporary_cluster(Options(), programs) as started:
        pytestconfig.stash[running] = started
        yield started


@pytest.fixture
def place(programs: Mapping[str, Path]) -> Iterator[Place]:
    """A cluster of one test, without definitions, with a way from its server to pods of a
    machine."""
    with place_of(programs) as found:
        yield found


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of this test, in which pods can be created. Afterwards the test's nodes, volumes,
    storage classes, devices and queues are deleted; the deletion of the namespace itself takes 5 to
    10 s and is not awaited."""
    name = f"t-{uuid4().hex[:8]}"
    asyncio.run(begin(cluster, name))
    yield name
    asyncio.run(end(cluster, name))


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str) -> Kubectl:
    """The view of a user of the namespace; kai's kinds and queues are installed."""
    install(cluster)
    return Kubectl(cluster, namespace)


async def begin(cluster: Cluster, name: str) -> None:
    async with cluster.client() as api:
        await api.create_namespace(name)


async def end(cluster: Cluster, name: str) -> None:
    async with cluster.client() as api:
        await api.delete(path_of("Pod", name), gracePeriodSeconds=0)
        storage, devices = ("PersistentVolume", "StorageClass"), ("ResourceSlice", "DeviceClass")
        for kind in ("Node", *storage, *devices, "Queue"):
            await api.status_of(api.delete(path_of(kind)))  # 404: queues without their definition
        await api.delete(path_of("Namespace", name=name))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[pytest.TestReport]:
    """A failed test shows the last lines of the programs' logs."""
    report: pytest.TestReport = yield  # type: ignore[misc]
    if report.failed and (cluster := item.config.stash.get(running, None)):
        for name in ("kube-apiserver", "kube-controller-manager", "kwok"):
            report.sections.append((f"end of the log of {name}", cluster.log_tail(name)))
    return report  # type: ignore[return-value]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """One line for all tests that were skipped."""
    if reason := config.stash.get(unavailable, ""):
        terminalreporter.write_line(f"tests on a real API server were skipped: {reason}")
