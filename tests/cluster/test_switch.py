"""From KAI to `kai run` and back as docs/howto/shadow.md describes it. Running pods do not change.

The cluster is in the state that KAI leaves when its programs are stopped: recordings of KAI, at
their end. KAI's programs are played, with their webhooks in force and the operator that creates
registrations again. The commands are those of the page. `kai run all` takes over, ends, and takes
over again; then KAI returns.
"""

import asyncio
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from kais_objects import Left, prepare
from recordings import recordings
from testcluster import (
    ApiError,
    Client,
    Cluster,
    Egress,
    Kai,
    Object,
    install,
    node,
    path_of,
    pod,
    queue,
    temporary_cluster,
)
from testcluster.kais_programs import NAMESPACE, OPERATOR, PROGRAMS, KaisPrograms
from testcluster.services import Services

from kai.api import keys

PAGE = Path(__file__).parents[2] / "docs/howto/shadow.md"
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
    refused: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    statuses: list[int | None] = field(default_factory=list)
    refused_by_kai: str = ""
    accepted_by_kai: list[str] = field(default_factory=list)
    called: set[str] = field(default_factory=set)
    log: str = ""


def commands(title: str) -> list[str]:
    """The commands of a section of the page, in their order."""
    section = PAGE.read_text().partition(f"### {title}\n")[2].partition("\n### ")[0]
    blocks = re.findall(r"^ *```console\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    return [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]


@pytest.fixture(scope="module")
def seen(programs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("switch")
    with Egress() as egress, temporary_cluster(egress.options(), programs) as cluster:
        install(cluster)
        yield asyncio.run(scene(cluster, egress, folder / "kai.log"))


async def scene(cluster: Cluster, egress: Egress, log: Path) -> Seen:
    found = Seen()
    async with cluster.client() as api, Services(cluster, egress) as services:
        await prepare(api)
        await api.create_namespace("kai")
        lefts = [Left(api, each) for each in recordings() if each.name[:2] in LEFT]
        await asyncio.gather(*(left.make() for left in lefts))
        await look(api, found, lefts, "before")
        async with KaisPrograms(api, services) as kais:
            await stop_everything_at_once(cluster, api, kais, found)
            await follow(cluster, "To kai")
            await switch(cluster, api, lefts, log, found)
            found.restored = list(kais.restored)
            await look_at_the_rest(api, found)
            await follow(cluster, "Back to KAI")
            await api.until("KAI runs", lambda: kais.runs(OPERATOR, *PROGRAMS), 90)
            await api.until("its webhooks are back", kais.are_registered, 90)
            await look_at_kai(api, services, found)
    found.log = log.read_text()
    return found


async def follow(cluster: Cluster, title: str) -> None:
    for command in commands(title):
        program, *arguments = shlex.split(command)
        assert program == "kubectl"
        await asyncio.to_thread(cluster.kubectl, *arguments)


async def stop_everything_at_once(
    cluster: Cluster, api: Client, kais: KaisPrograms, found: Seen
) -> None:
    """What the page warns of: the registrations stay without their programs."""
    scale = ("scale", "deployment", "-n", NAMESPACE, "--all")
    await asyncio.to_thread(cluster.kubectl, *scale, "--replicas=0")
    stopped = asyncio.get_running_loop().time()
    while asyncio.get_running_loop().time() < stopped + PATIENCE_S:
        if await kais.have_ended():
            break
        await asyncio.to_thread(cluster.kubectl, *scale, "--replicas=0")  # the operator undoes it
        await asyncio.sleep(0.5)
    for made in (pod("new-0", "k-06", queue="06-team-a"), queue("fresh")):
        found.refused.append(await refusal_of(api, made))
    await asyncio.to_thread(cluster.kubectl, *scale, "--replicas=1")
    await api.until("KAI runs again", lambda: kais.runs(OPERATOR, *PROGRAMS), 90)
    kais.restored.clear()


async def refusal_of(api: Client, made: Object) -> str:
    """Why an object cannot be created; "" if it can."""
    try:
        await api.create_one(made)
    except ApiError as error:
        return str(error)
    return ""


async def switch(cluster: Cluster, api: Client, lefts: list[Left], log: Path, found: Seen) -> None:
    kai = Kai(cluster, "kai", log)
    kai.start()
    await api.create(node("spare", 2))
    await api.create(
        pod("new-0", "k-06", queue="06-team-a"),
        pod("new-1", "k-33", queue="33-team-a"),
        pod("new-2", "k-19", gpus=0, cpu="1", queue="19-team-a"),
    )
    await api.until("new pods run", lambda: all_run(api), PATIENCE_S)
    await asyncio.sleep(3.0)  # longer than any write of it waits
    await look(api, found, lefts, "while it runs")
    found.statuses.append(await asyncio.to_thread(kai.stop))
    await look(api, found, lefts, "after it")
    kai.start()
    await api.until("it is ready", lambda: is_ready_again(log), PATIENCE_S)
    await asyncio.sleep(3.0)
    found.statuses.append(await asyncio.to_thread(kai.stop))
    await look(api, found, lefts, "after the second time")


async def look_at_kai(api: Client, services: Services, found: Seen) -> None:
    """KAI is back: its webhooks are called, and answer."""
    before = dict(services.reviews)
    wrong = queue("wrong")
    del wrong["spec"]["resources"]
    found.refused_by_kai = await refusal_of(api, wrong)
    found.accepted_by_kai = [
        await refusal_of(api, each) for each in (queue("right"), pod("last", "k-06"))
    ]
    found.called = {path for path, count in services.reviews.items() if count > before[path]}


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


# ---- the page ----------------------------------------------------------------------------------


def test_stopping_everything_at_once_stops_all_new_work(seen: Seen) -> None:
    """Otherwise this file would prove nothing about the page's order."""
    of_pod, of_queue = seen.refused
    assert 'failed calling webhook "admission.kai-scheduler.svc"' in of_pod
    assert 'failed calling webhook "queue-validation.kai.scheduler"' in of_queue


def test_the_operator_restores_nothing_after_the_pages_first_step(seen: Seen) -> None:
    assert seen.restored == []
    assert seen.statuses == [0, 0]


def test_kai_is_in_force_again_after_the_way_back(seen: Seen) -> None:
    assert "resources must be specified" in seen.refused_by_kai
    assert seen.accepted_by_kai == ["", ""]
    assert seen.called >= {"/mutate--v1-pod", "/validate--v1-pod"}
    assert "/validate-scheduling-run-ai-v2-queue" in seen.called


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
