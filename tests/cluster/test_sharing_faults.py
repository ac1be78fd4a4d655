"""Whole GPUs, GPU fractions, claims and volumes while requests fail. Afterwards every pod is bound
once, and every device is reserved exactly while pods use it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from scene_play import scenario
from testcluster import (
    BINDINGS,
    SHORT_LEASE,
    WATCHES,
    Admission,
    Cluster,
    Match,
    Object,
    Provisioner,
    Reservations,
    Scene,
    claim_spec,
    node,
    path_of,
    pod,
    storage_class,
)
from testcluster.claims import claiming, device_class, devices, template
from testcluster.devices import books, half, until_free, until_right

from kai.api import keys

pytestmark = pytest.mark.cluster_slow

MODES = pytest.mark.parametrize("mode", ["direct", "bind-requests"])
MAPS = Match("POST|PATCH|DELETE", "/configmaps")
HELD = Match("POST", f"/namespaces/{keys.RESERVATION}/pods$")
CLAIMS = Match("PATCH", "/(resourceclaims|persistentvolumeclaims)/")
GIVEN_BACK = Match("DELETE", f"/namespaces/{keys.RESERVATION}/pods/")
READS = Match("GET", "/namespaces/t-[^/]*/pods/")
TAINT = {"key": "test/claims", "effect": "NoSchedule"}
ON_CLAIMS = {"tolerations": [{**TAINT, "operator": "Exists"}]}
EACH = (BINDINGS, MAPS, CLAIMS, HELD, GIVEN_BACK)
REQUESTS = Match("POST|PATCH|DELETE", "/bindrequests")


def wave(prefix: str, namespace: str) -> list[Object]:
    """4 whole GPUs, 8 halves, 2 pods with halves of two devices, 2 with their own claims, and 2
    with ephemeral volumes that wait for their first consumer."""
    two = {keys.GPU_DEVICES_ANNOTATION: "2"}
    volume = {"volumeClaimTemplate": {"spec": claim_spec("slow")}}
    volumes = [{"name": "data", "ephemeral": volume}]
    return [
        *(claiming(f"{prefix}claim-{n}", namespace, **ON_CLAIMS) for n in range(2)),
        *(pod(f"{prefix}volume-{number}", namespace, 0, volumes=volumes) for number in range(2)),
        *(pod(f"{prefix}whole-{number}", namespace) for number in range(4)),
        *(half(f"{prefix}half-{number}", namespace) for number in range(8)),
        *(half(f"{prefix}two-{number}", namespace, annotations=two) for number in range(2)),
    ]


async def lost_answers(scene: Scene, fake: Reservations) -> None:
    for match in (*EACH, REQUESTS):
        scene.proxy.swallow(match, skip=1, times=4)


async def lost_requests(scene: Scene, fake: Reservations) -> None:
    for match in (*EACH, READS, REQUESTS):
        scene.proxy.drop(match, skip=1, times=4)


async def late_requests(scene: Scene, fake: Reservations) -> None:
    for match in EACH:
        scene.proxy.deliver_late(match, 2, skip=1, times=3)


async def refusals(scene: Scene, fake: Reservations) -> None:
    for match in (*EACH, READS, REQUESTS):
        for status in (403, 409, 429, 500, 503):
            scene.proxy.answer(match, status, times=2, skip=1)


async def watches(scene: Scene, fake: Reservations) -> None:
    for _ in range(8):
        scene.proxy.expire(times=3)
        scene.proxy.cut_open(WATCHES)
        await asyncio.sleep(0.2)


async def slow_programs(scene: Scene, fake: Reservations) -> None:
    fake.delay = 1.5
    await asyncio.sleep(1)
    fake.delay = 0.05


async def nodes_change(scene: Scene, fake: Reservations) -> None:
    """Decisions under way are checked again."""
    for number in range(10):
        patch = {"metadata": {"labels": {"test/round": str(number)}}}
        await scene.api.patch(path_of("Node", name=f"n{number % 3}"), patch)
        await asyncio.sleep(0.1)


async def kills(scene: Scene, fake: Reservations) -> None:
    for _ in range(3):
        await asyncio.sleep(0.4)
        arguments = scene.arguments
        scene.kill()
        await scene.start(*arguments)


DAMAGES = [
    lost_answers,
    lost_requests,
    late_requests,
    refusals,
    watches,
    slow_programs,
    nodes_change,
    kills,
]


@MODES
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
@scenario(seconds=300)
async def test_devices_are_shared_in_spite_of(
    scene: Scene,
    *,
    cluster: Cluster,
    namespace: str,
    damage: Callable[[Scene, Reservations], Awaitable[None]],
    mode: str,
) -> None:
    async with Admission(cluster), Provisioner(scene.api), Reservations(scene.api) as fake:
        await scene.nodes(3)
        await scene.api.create(
            storage_class("slow", waits=True), device_class(), template(namespace)
        )
        # Its GPUs count as such, but only claims can use them.
        apart = {**node("claims", 0), "spec": {"taints": [TAINT]}}
        await scene.api.create(apart, devices("claims", 4))
        await scene.api.ready_nodes(3)
        await scene.start("--binding", mode, *SHORT_LEASE)
        early = wave("e", namespace)
        await scene.api.create(*early)
        await scene.bound(len(early))
        pods = wave("p", namespace)
        damaging = asyncio.create_task(as_task(damage(scene, fake)))
        await scene.api.create(*pods)
        for each in early[::2]:
            path = path_of("Pod", namespace, each["metadata"]["name"])
            await scene.api.delete(path, gracePeriodSeconds=0)
        await damaging
        left = len(pods) + len(early) // 2
        await scene.is_well(bound=left, seconds=90)
        await until_right(scene, 60)
        scene.proxy.clear()
        for each in (*early[1::2], *pods):
            path = path_of("Pod", namespace, each["metadata"]["name"])
            await scene.api.delete(path, gracePeriodSeconds=0)
        await until_free(scene, 60)
        assert await books(scene) == []


async def as_task(work: Awaitable[None]) -> None:
    await work
