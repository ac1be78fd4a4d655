"""Tests that are coroutines on the cluster of the session."""

from collections.abc import Awaitable, Callable

from testcluster import Client, Cluster, play

from fakes.scenarios import scenarios

scenario = scenarios(play, "cluster", "namespace", "tmp_path")
"""`kai` runs behind a fault proxy: testcluster/scene.py."""


async def _with_client(cluster: Cluster, story: Callable[[Client], Awaitable[None]]) -> None:
    async with cluster.client() as api:
        await story(api)


with_client = scenarios(_with_client, "cluster")
