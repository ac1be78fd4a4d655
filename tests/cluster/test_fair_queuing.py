"""API priority and fairness: our requests get levels of the control plane; none is rejected."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from testcluster import (
    NAMESPACE,
    Cluster,
    Kai,
    Options,
    install_all,
    node,
    path_of,
    pod,
    temporary_cluster,
)

from fakes.scenarios import in_a_loop

PODS, NODES = 200, 25
WRITES, LEASES = f"kai-workload-high-{NAMESPACE}", f"kai-leader-election-{NAMESPACE}"


@pytest.fixture
def fair(programs: Mapping[str, Path]) -> Iterator[Cluster]:
    """A cluster with the default limits of a server."""
    with temporary_cluster(Options(fair_queuing=True), programs) as started:
        yield started


@in_a_loop
async def test_a_fill_with_the_account_of_kai_install(*, fair: Cluster, tmp_path: Path) -> None:
    account = install_all(fair)
    async with fair.client() as api:
        await api.create_namespace("team")
        await api.create(*(node(f"n{number}") for number in range(NODES)))
        before = await api.flow_counts()
        with Kai(fair, NAMESPACE, tmp_path / "kai.log", kubeconfig=account) as kai:
            await api.create(*(pod(f"p{number}", "team") for number in range(PODS)))

            async def are_bound() -> bool:
                pods = await api.items(path_of("Pod", "team"))
                return all(each["spec"].get("nodeName") for each in pods)

            await api.until("all pods are bound", are_bound, 60)
            assert " warning " not in kai.log, kai.log
        after = await api.flow_counts()
        used = after["dispatched"] - before["dispatched"]
        assert used[WRITES] >= 3 * PODS  # groups, bindings, conditions, events
        assert used[LEASES] >= 8  # four leases: read, and taken
        # All others belong to the administrator and the cluster itself.
        assert used.keys() == {"exempt", WRITES, LEASES}
        assert not after["rejected"]
