"""The cost of the test cluster itself: the minimum for any scheduler here."""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from testcluster import Cluster, measured, node, path_of, pod, temporary_cluster

NODES = 500
PODS = 4_000


@pytest.mark.cluster_slow
def test_a_bare_client_fills_500_nodes(
    programs: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    report: dict[str, object] = {}

    async def scene(cluster: Cluster) -> None:
        async with cluster.client() as api:
            await api.create_namespace("fill")
            await api.create(*(node(f"n{i}") for i in range(NODES)))
            names = [f"p{i}" for i in range(PODS)]
            creations = [partial(api.create_one, pod(name, "fill")) for name in names]
            report["create"] = await measured(cluster, creations)
            bindings = [
                partial(api.bind, "fill", name, f"n{i % NODES}") for i, name in enumerate(names)
            ]
            report["bind"] = await measured(cluster, bindings)
            bound = await api.items(path_of("Pod", "fill"), fieldSelector="spec.nodeName!=")
            assert len(bound) == PODS
            counts = await api.request_counts()
            assert counts["POST", "pods", "binding"] == PODS

    with temporary_cluster(found=programs) as cluster:
        asyncio.run(scene(cluster))
        peaks = {name: f"{each.peak_mib:.0f} MiB" for name, each in cluster.usage().items()}
    with capsys.disabled():
        print("", *(f"{step}: {cost}" for step, cost in report.items()), peaks, sep="\n")
