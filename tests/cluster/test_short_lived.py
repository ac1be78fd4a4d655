"""Pods and Jobs that are deleted within a second leave nothing in the running scheduler."""

import asyncio
import re
import urllib.request
from pathlib import Path

from testcluster import Cluster, Scene, free_ports, job, path_of, play
from testcluster.objects import pod, pod_spec
from testcluster.scene import until

import kai
from kai.cli import main

AT_ONCE = 150


async def waiting(page: str) -> float:
    def read() -> str:
        with urllib.request.urlopen(f"http://{page}/metrics") as answer:
            return str(answer.read().decode())

    found = re.search(r"^kai_pod_groups_waiting (\S+)$", await asyncio.to_thread(read), re.M)
    assert found is not None
    return float(found[1])


async def known_groups(scene: Scene, page: str) -> set[str]:
    """The pod groups of the running scheduler, from its snapshot."""
    file = scene.folder / "s.zip"
    file.unlink(missing_ok=True)
    arguments = ["snapshot", "--from", page, "--out", str(file)]
    assert await asyncio.to_thread(main, arguments) == 0
    plan = await asyncio.to_thread(kai.Scheduler().plan, kai.load(file))
    return set(plan.pod_groups)


async def groups(scene: Scene) -> set[str]:
    found = await scene.api.items(path_of("PodGroup", scene.namespace))
    return {f"{scene.namespace}/{each['metadata']['name']}" for each in found}


async def come_and_go(scene: Scene, prefix: str, after: float) -> None:
    """Each pod lives for `after` seconds. There is no room for them."""

    async def one(name: str) -> None:
        await scene.api.create(pod(name, scene.namespace, 1))
        await asyncio.sleep(after)
        await scene.api.delete(path_of("Pod", scene.namespace, name), gracePeriodSeconds=0)

    for first in range(0, AT_ONCE, 10):
        await asyncio.gather(*(one(f"{prefix}{first + each}") for each in range(10)))


async def jobs_come_and_go(scene: Scene) -> None:
    names = [f"j{number}" for number in range(5)]
    await scene.api.create(*(job(name, scene.namespace, 4, pod_spec(1)) for name in names))
    await asyncio.sleep(0.5)
    paths = [path_of("Job", scene.namespace, name) for name in names]
    for path in paths:
        await scene.api.delete(path, propagationPolicy="Background", gracePeriodSeconds=0)


def test_deleted_pods_leave_no_pod_groups(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """46 pod groups were in the scheduler and 5 in the cluster, minutes after the last event."""
    [port] = free_ports(1)
    page = f"127.0.0.1:{port}"

    async def story(scene: Scene) -> None:
        await scene.nodes(1)
        await scene.start("--listen-address", page)
        await scene.pods(10, "stays")
        await scene.bound(8)
        await come_and_go(scene, "short", 0.3)
        await come_and_go(scene, "longer", 1.0)
        await jobs_come_and_go(scene)

        async def only_ours() -> bool:
            pods = await scene.api.items(path_of("Pod", scene.namespace))
            return all(each["metadata"]["name"].startswith("stays") for each in pods)

        await until(scene, "the others are gone", only_ours, 60)
        await asyncio.sleep(1.0)
        # Groups that were created after the deletion of their pod go a little later.
        await until(scene, "groups agree", lambda: agree(scene, page), 20)
        assert await waiting(page) == 2, scene.report()

    async def agree(scene: Scene, page: str) -> bool:
        before = await groups(scene)
        known = await known_groups(scene, page)
        return before == known == await groups(scene)

    asyncio.run(play(cluster, namespace, tmp_path, story))
