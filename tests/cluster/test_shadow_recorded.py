"""A shadow next to a recorded KAI, played again on a real API server.

tests/conformance/test_shadow.py does this for all recordings in virtual time. Here the whole
process with its watches runs, for recordings in which the order of pods does not depend on UIDs and
ages that are not recorded.
"""

import asyncio
import json
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kais_objects import prepare
from kais_play import Play
from recordings import recordings
from testcluster import Cluster, Kai, Options, free_ports, install, temporary_cluster, until

pytestmark = pytest.mark.cluster_slow

PLAYED = (
    *("01", "02", "03", "06", "07", "08", "14", "15", "16", "20", "21", "22", "24", "27", "28"),
    *("30", "33", "36", "37", "40", "41", "42", "46", "47", "89"),
)
AS_RECORDED = ("20", "22")  # something happens when a time is over
QUIET_S = 3.0


class RunningShadow:
    def __init__(self, cluster: Cluster, url: str) -> None:
        self.cluster, self._url = cluster, url
        self.requests = 0

    def report(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self._url}/shadow.json", timeout=10) as answer:
            return dict(json.loads(answer.read()))

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@pytest.fixture(scope="module")
def running(
    programs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningShadow]:
    folder = tmp_path_factory.mktemp("recorded")
    [port] = free_ports(1)
    with temporary_cluster(Options(), programs) as cluster:
        install(cluster)

        async def begin() -> None:
            async with cluster.client() as api:
                await prepare(api)

        asyncio.run(begin())
        where = ("--shadow", "--listen-address", f"127.0.0.1:{port}")
        with Kai(cluster, "none", folder / "kai.log", *where, roles=("scheduler",)):
            found = RunningShadow(cluster, f"http://127.0.0.1:{port}")
            until("the shadow is ready", found.is_ready)
            yield found


@pytest.mark.parametrize("number", PLAYED)
def test_the_shadow_compares_kai(running: RunningShadow, number: str) -> None:
    """Each BindRequest is a decision that is compared."""
    [recording] = [each for each in recordings() if each.name.partition("-")[0] == number]

    async def scene() -> int:
        async with running.cluster.client() as api:
            play = Play(api, recording, as_recorded=number in AS_RECORDED)
            try:
                await play.run()
                await asyncio.sleep(QUIET_S)
            finally:
                await play.end()
            await asyncio.sleep(0.5)
            return play.bind_requests

    before = running.report()
    made = asyncio.run(scene())
    report = running.report()
    binds = sum(each["count"] for each in report["counts"] if each["subject"] == "bind")
    binds -= sum(each["count"] for each in before["counts"] if each["subject"] == "bind")
    assert binds == made, report["differences"][len(before["differences"]) :]
    new = report["differences"][len(before["differences"]) :]
    assert [each for each in new if each["cause"] == "unknown"] == []


def test_95_of_100_decisions_are_the_same(running: RunningShadow) -> None:
    report = running.report()
    assert report["compared"] >= 75
    assert report["same_share"] >= 0.95, report["differences"]
    assert report["unexplained"] == 0
