"""From KAI to `kai run` and back, without changing a running pod.

The cluster is in the state that KAI leaves when its programs are stopped: recordings of KAI, at
their end. `kai run all` takes over, ends, and takes over again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from kais_objects import Left, prepare
from recordings import recordings
from testcluster import (
    Client,
    Cluster,
    Kai,
    Object,
    Options,
    install,
    node,
    path_of,
    pod,
    temporary_cluster,
)

from kai.api import keys

LEFT = ("06", "08", "19", "33", "42")
"""Pods that share one GPU, or several; an elastic gang, one with sub-groups, and gangs after a
reclaim."""
NEW = ("new-0", "new-1", "new-2")
PATIENCE_S = 30.0
GPU = "nvidia.com/gpu"


@dataclass
class Seen:
    """The cluster before, during and after `kai run`. By path."""

    pods: dict[str, dict[str, Object | None]] = field(default_factory=dict)
    others: dict[str, dict[str, Object | None]] = field(default_factory=dict)
    groups: dict[str, dict[str, Object | None]] = field(default_factory=dict)
    new: dict[str, Object] = field(default_factory=dict)
    new_groups: list[Object] = field(default_factory=list)
    used: dict[str, float] = field(default_factory=dict)
    room: dict[str, float] = field(default_factory=dict)
    leases: list[Object] = field(default_factory=list)
    requests: list[Object] = field(default_factory=list)
    log: str = ""


@pytest.fixture(scope="module")
def seen(programs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("switch")
    with temporary_cluster(Options(), programs) as cluster:
        install(cluster)
        yield asyncio.run(scene(cluster, folder / "kai.log"))


async def scene(cluster: Cluster, log: Path) -> Seen:
    found = Seen()
    async with cluster.client() as api:
        await prepare(api)
        await api.create_namespace("kai")
        lefts = [Left(api, each) for each in recordings() if each.name[:2] in LEFT]
        await asyncio.gather(*(left.make() for left in lefts))
        await look(api, found, lefts, "before")
        with Kai(cluster, "kai", log):
            await api.create(node("spare", 2))
            await api.create(
                pod("new-0", "k-06", queue="06-team-a"),
                pod("new-1", "k-33", queue="33-team-a"),
                pod("new-2", "k-19", gpus=0, cpu="1", queue="19-team-a"),
            )
            await api.until("new pods run", lambda: all_run(api), PATIENCE_S)
            await asyncio.sleep(3.0)  # longer than any write of it waits
            await look(api, found, lefts, "while it runs")
        await look(api, found, lefts, "after it")
        with Kai(cluster, "kai", log):
            await api.until("it is ready", lambda: is_ready_again(log), PATIENCE_S)
            await asyncio.sleep(3.0)
        await look(api, found, lefts, "after the second time")
        await look_at_the_rest(api, found)
    found.log = log.read_text()
    return found


async def look(api: Client, found: Seen, lefts: list[Left], moment: str) -> None:
    async def read(paths: list[str]) -> dict[str, Object | None]:
        return {path: await there(api, path) for path in paths}

    found.pods[moment], found.others[moment], found.groups[moment] = {}, {}, {}
    for left in lefts:
        found.pods[moment] |= await read(left.running)
        found.others[moment] |= await read(left.paths("BindRequest", "bindrequests"))
        found.others[moment] |= await read(left.paths("ConfigMap", "configmaps"))
        found.groups[moment] |= await read(left.paths("PodGroup", "podgroups"))


async def there(api: Client, path: str) -> Object | None:
    status = await api.status_of(api.get(path))
    return await api.get(path) if status == 200 else None


async def all_run(api: Client) -> bool:
    pods = await api.items(path_of("Pod"))
    phases = {each["metadata"]["name"]: each["status"]["phase"] for each in pods}
    return all(phases[name] == "Running" for name in NEW)


async def is_ready_again(log: Path) -> bool:
    return log.read_text().count(": ready") == 2


async def look_at_the_rest(api: Client, found: Seen) -> None:
    for each in await api.items(path_of("Pod")):
        name, on = each["metadata"]["name"], each["spec"].get("nodeName", "")
        if name in NEW:
            found.new[name] = each
        for container in each["spec"]["containers"]:
            request = container.get("resources", {}).get("requests", {}).get(GPU, 0)
            found.used[on] = found.used.get(on, 0) + float(request)
    for each in await api.items(path_of("Node")):
        found.room[each["metadata"]["name"]] = float(each["status"]["allocatable"].get(GPU, 0))
    groups = await api.items(path_of("PodGroup"))
    found.new_groups = [each for each in groups if "new-" in each["metadata"]["name"]]
    found.requests = await api.items(path_of("BindRequest"))
    found.leases = await api.items(path_of("Lease", "kai"))


# ---- tests ---------------------------------------------------------------------------------------

MOMENTS = ("while it runs", "after it", "after the second time")


@pytest.mark.parametrize("moment", MOMENTS)
def test_running_pods_are_not_written(seen: Seen, moment: str) -> None:
    """The reservation pods of shared GPUs do not change either: each keeps its version."""
    assert len(seen.pods["before"]) >= 15
    assert versions(seen.pods[moment]) == versions(seen.pods["before"])


@pytest.mark.parametrize("moment", MOMENTS)
def test_bind_requests_and_config_maps_are_kept(seen: Seen, moment: str) -> None:
    assert len(seen.others["before"]) >= 15
    assert versions(seen.others[moment]) == versions(seen.others["before"])


@pytest.mark.parametrize("moment", MOMENTS)
def test_pod_groups_keep_their_specification(seen: Seen, moment: str) -> None:
    assert meanings(seen.groups[moment]) == meanings(seen.groups["before"])


def test_new_pods_are_placed_on_free_gpus(seen: Seen) -> None:
    assert seen.new.keys() == {*NEW}
    assert all(each["spec"]["nodeName"] for each in seen.new.values())
    over = {name: used for name, used in seen.used.items() if name and used > seen.room[name]}
    assert over == {}


def test_new_objects_are_as_kai_expects(seen: Seen) -> None:
    """Each new pod names a pod group. The group names its owner in KAI's format and has KAI's
    name."""
    groups = {each["metadata"]["name"]: each for each in seen.new_groups}
    for name, found in seen.new.items():
        uid = found["metadata"]["uid"]
        named = found["metadata"]["annotations"][keys.POD_GROUP_ANNOTATION]
        assert named == f"pg-{name}-{uid}"
        group = groups[named]
        assert (
            f"name: {name}\nuid: {uid}\n"
            in group["metadata"]["annotations"][keys.TOP_OWNER_ANNOTATION]
        )
        assert group["spec"]["queue"] == found["metadata"]["labels"][keys.QUEUE_LABEL]
        assert "finalizers" not in found["metadata"]
        assert not found["status"].get("nominatedNodeName")


def test_nothing_is_left_under_way(seen: Seen) -> None:
    """Leases have no holder, so KAI's programs need not wait for their end; no BindRequest waits
    for a binder."""
    assert len(seen.leases) == 5
    assert not any(each["spec"].get("holderIdentity") for each in seen.leases)
    phases = {each["status"].get("phase") for each in seen.requests}
    assert phases == {"Succeeded"}


def test_the_logs_have_no_errors(seen: Seen) -> None:
    assert "Traceback" not in seen.log
    wrong = [line for line in seen.log.splitlines() if " warning " in line or " error " in line]
    assert [line for line in wrong if "cannot be used" not in line] == []


def versions(found: Mapping[str, Object | None]) -> dict[str, Any]:
    return {
        path: each and (each["metadata"]["uid"], each["metadata"]["resourceVersion"])
        for path, each in found.items()
    }


def meanings(found: Mapping[str, Object | None]) -> dict[str, Any]:
    """The objects without the momentary parts of their status."""
    return {
        path: each
        and {
            "spec": each["spec"],
            **{name: each["metadata"].get(name) for name in ("uid", "labels", "ownerReferences")},
            "annotations": each["metadata"].get("annotations"),
        }
        for path, each in found.items()
    }
