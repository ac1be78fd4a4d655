"""The results of decisions if the cluster changes before they are carried out, or rejects them.

Between `kai run all` and the API server is a proxy, which holds requests back at a gate.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from testcluster import (
    Client,
    Cluster,
    FaultProxy,
    Kai,
    Match,
    Object,
    install,
    node,
    path_of,
    pod,
    pod_group,
    pod_spec,
    queue,
)

from fakes.scenarios import scenarios
from kai.api import keys

BINDINGS = Match("POST", r"/binding$")
DELETIONS = Match("DELETE", r"/pods/")
WRITERS = 32  # requests that kai sends at a time
SETTLED_S = 1.5  # a watch shows a change within milliseconds, and a cycle takes as long


class World:
    """`api` bypasses the proxy."""

    def __init__(self, cluster: Cluster, namespace: str, api: Client, proxy: FaultProxy) -> None:
        self.cluster, self.namespace, self.api, self.proxy = cluster, namespace, api, proxy

    def path(self, kind: str, name: str = "", *more: str) -> str:
        return path_of(kind, self.namespace, name, *more)

    def pod(self, name: str, gpus: int = 1, **more: Any) -> Object:
        return pod(name, self.namespace, gpus, **more)

    def close_gate(self, match: Match) -> asyncio.Event:
        """Requests do not reach the server until the event is set."""
        gate = asyncio.Event()
        self.proxy.call(match, gate.wait, times=None)
        return gate

    async def until(self, what: str, condition: Callable[[], Awaitable[Any]]) -> Any:
        return await self.api.until(what, condition, 30)

    async def came(self, count: int, verb: str = "create", subresource: str = "binding") -> None:
        """Waits until this many requests about pods are at the gate."""

        async def enough() -> bool:
            return self.proxy.count(verb, "pods", subresource) >= count

        await self.until(f"{count} requests to {verb} pods/{subresource}", enough)

    async def pods(self) -> dict[str, Object]:
        return {each["metadata"]["name"]: each for each in await self.api.items(self.path("Pod"))}

    async def places(self) -> dict[str, str]:
        """The nodes of pods that have not ended."""
        return {
            name: each["spec"]["nodeName"]
            for name, each in (await self.pods()).items()
            if each["spec"].get("nodeName") and each["status"]["phase"] in ("Pending", "Running")
        }

    async def are_bound(self, *names: str) -> dict[str, str]:
        async def bound() -> dict[str, str] | None:
            places = await self.places()
            return places if set(names) <= places.keys() else None

        found: dict[str, str] = await self.until(f"bound: {', '.join(names)}", bound)
        return found

    async def events(self, reason: str) -> list[Object]:
        return [
            each for each in await self.api.items(self.path("Event")) if each["reason"] == reason
        ]

    async def event(self, reason: str) -> Object:
        """The first event with that reason, which may still be on its way."""
        found: list[Object] = await self.until(f"event {reason}", lambda: self.events(reason))
        return found[0]

    async def let_go(self) -> None:
        """Removes finalizers: remaining pods would fill nodes of the next test."""
        nothing = {"metadata": {"finalizers": None}}
        for name in await self.pods():
            await self.api.status_of(self.api.patch(self.path("Pod", name), nothing))

    async def poor_and_rich(self, *rich: Object, waits: Object) -> None:
        """Queues `rich`, which uses all GPUs of node n1, and `poor`, which deserves some of
        them."""
        wanted = waits["spec"]["containers"][0]["resources"]["limits"][keys.NVIDIA_GPU]
        both = len(rich)
        await self.api.create(
            queue("top", gpu=both),
            queue("rich", "top", gpu=both - int(wanted)),
            queue("poor", "top", gpu=int(wanted)),
            node("n1", gpus=both),
        )
        await self.api.create(*rich)
        await self.are_bound(*(each["metadata"]["name"] for each in rich))
        for each in rich:
            name = each["metadata"]["name"]
            await self.until("it runs", self.api.has_phase(self.namespace, name, "Running"))
        await self.api.create(waits)


async def play(
    cluster: Cluster,
    namespace: str,
    folder: Path,
    story: Callable[[World], Awaitable[None]],
    *arguments: str,
) -> None:
    install(cluster)
    async with cluster.client() as api, FaultProxy(cluster) as proxy:
        config = cluster.kubeconfig_of("admin", server=proxy.url)
        kai = Kai(cluster, namespace, folder / "kai.log", *arguments, kubeconfig=config)
        kai.start()
        world = World(cluster, namespace, api, proxy)
        try:
            await story(world)
        finally:
            proxy.clear()
            await world.let_go()
            status = await asyncio.to_thread(kai.stop)
        assert status == 0, kai.log
        assert "Traceback" not in kai.log


scenario = scenarios(play, "cluster", "namespace", "tmp_path")


# ---- nodes ---------------------------------------------------------------------------------------


@scenario
async def test_nodes_change_in_the_middle_of_a_fill(world: World, *, namespace: str) -> None:
    """64 pods of one group fill n1 to n8 in order. 32 bindings have been sent, to n1 to n4, when n5
    is deleted, n6 is cordoned, n7 is used by other pods, and n8 gets a taint."""
    api = world.api
    gate = world.close_gate(BINDINGS)
    await api.create(*(node(f"n{number}") for number in range(1, 9)))
    named = {keys.POD_GROUP_ANNOTATION: "g"}
    await api.create(pod_group("g", namespace, 64))
    await api.create(*(world.pod(f"p-{i:02}", annotations=named) for i in range(64)))
    await world.came(WRITERS)
    await api.delete(path_of("Node", name="n5"))
    await api.patch(path_of("Node", name="n6"), {"spec": {"unschedulable": True}})
    others = [world.pod(f"ds-{i}", scheduler="other", nodeName="n7") for i in range(6)]
    static = world.pod("static-n7", 2, scheduler="default-scheduler", nodeName="n7")
    await api.create(*others, static)
    taint = {"key": "broken", "effect": "NoSchedule"}
    await api.patch(path_of("Node", name="n8"), {"spec": {"taints": [taint]}})
    await api.create(*(node(f"spare{number}") for number in range(1, 5)))
    await asyncio.sleep(SETTLED_S)
    gate.set()
    places = await world.are_bound(*(f"p-{i:02}" for i in range(64)))
    ours = Counter(each for name, each in places.items() if name.startswith("p-"))
    first = {f"n{number}" for number in range(1, 5)}
    spare = {f"spare{number}" for number in range(1, 5)}
    assert ours == dict.fromkeys(first | spare, 8)
    assert world.proxy.count("create", "pods", "binding") == 64  # each pod once


@pytest.mark.cluster_slow
@scenario
async def test_a_namespace_is_deleted_in_the_middle_of_a_fill(
    world: World, *, namespace: str
) -> None:
    api = world.api
    doomed = f"{namespace}-doomed"
    await api.create_namespace(doomed)
    gate = world.close_gate(BINDINGS)
    await api.create(*(node(f"n{number}") for number in range(1, 9)))
    await api.create(*(pod(f"d-{i}", doomed) for i in range(48)))
    await world.came(WRITERS)
    await api.delete(path_of("Namespace", name=doomed))
    await api.create(*(world.pod(f"p-{i}") for i in range(64)))
    gate.set()
    places = await world.are_bound(*(f"p-{i}" for i in range(64)))
    assert set(Counter(places.values()).values()) == {8}


@scenario
async def test_a_node_that_rejects_a_pod_waits_for_its_group(
    world: World, *, namespace: str
) -> None:
    api = world.api
    await api.create(node("n1", gpus=1), node("n2", gpus=1))
    await api.create(pod_group("g", namespace), pod_group("h", namespace))
    named = {keys.POD_GROUP_ANNOTATION: "g"}
    await api.create(world.pod("first", annotations={**named, "sim/reject": "OutOfnvidia.com/gpu"}))
    await world.until("rejected", api.has_phase(namespace, "first", "Failed"))
    assert (await world.pods())["first"]["spec"]["nodeName"] == "n1"
    await api.create(world.pod("second", annotations=named))
    assert (await world.are_bound("second"))["second"] == "n2"
    await api.create(world.pod("third", annotations=named))
    await asyncio.sleep(SETTLED_S)
    await api.create(world.pod("other", annotations={keys.POD_GROUP_ANNOTATION: "h"}))
    assert (await world.are_bound("other"))["other"] == "n1"  # its room is free
    assert "third" not in await world.places()


# ---- evictions -----------------------------------------------------------------------------------


@pytest.mark.cluster_slow
@scenario("--eviction", "evict")
async def test_no_victim_is_evicted_if_one_of_three_may_not_be(
    world: World, *, namespace: str
) -> None:
    api = world.api
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
    }
    await api.create(budget)
    rich = [
        world.pod(f"r{i}", queue="rich", labels={"app": "kept"} if i == 1 else {}) for i in range(3)
    ]
    await world.poor_and_rich(*rich, waits=world.pod("waits", 3, queue="poor"))
    refused = await world.event("EvictionRefused")
    assert refused["involvedObject"]["kind"] == "PodGroup"
    assert refused["involvedObject"]["name"].startswith("pg-waits-")
    assert refused["message"] == (
        f"Pod {namespace}/r1 was not evicted: Cannot evict pod as it would violate the pod's"
        " disruption budget."
    )
    tried = world.proxy.count("create", "pods", "eviction")
    assert tried == 3  # dry run, each once
    await asyncio.sleep(SETTLED_S)
    pods = await world.pods()
    assert [name for name, each in pods.items() if "deletionTimestamp" in each["metadata"]] == []
    assert not pods["waits"]["status"].get("nominatedNodeName")
    assert world.proxy.count("create", "pods", "eviction") == tried
    await api.delete(world.path("PodDisruptionBudget", "keep"))
    await world.are_bound("waits")  # it may try again after 10 s
    assert set(await world.pods()) == {"waits"}


@pytest.mark.cluster_slow
@scenario
async def test_no_other_pod_is_evicted_while_a_finalizer_holds_a_victim(world: World) -> None:
    api = world.api
    rich = [world.pod(f"r{i}", queue="rich") for i in range(3)]
    for each in rich:
        each["metadata"]["finalizers"] = ["kai.test/hold"]
    await world.poor_and_rich(*rich, waits=world.pod("waits", queue="poor"))

    async def leaving() -> list[str]:
        return [
            name
            for name, each in (await world.pods()).items()
            if "deletionTimestamp" in each["metadata"]
        ]

    [victim] = await world.until("a victim", leaving)

    async def nominated() -> str:
        return str((await world.pods())["waits"]["status"].get("nominatedNodeName") or "")

    await world.until("a promise", nominated)
    await api.create(world.pod("late", queue="poor"))  # uses none of the promised room
    await asyncio.sleep(3 * SETTLED_S)
    assert await leaving() == [victim]
    assert await nominated() == "n1"
    await api.patch(world.path("Pod", victim), {"metadata": {"finalizers": None}})
    assert "late" not in await world.are_bound("waits")

    async def forgotten() -> bool:
        return await nominated() == ""

    await world.until("the promise is kept, and gone", forgotten)


# ---- identity ------------------------------------------------------------------------------------


def stateful_set(namespace: str, queue: str = "default-queue") -> Object:
    labels = {"app": "ss", "kai.scheduler/queue": queue}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "ss", "namespace": namespace, "labels": labels},
        "spec": {
            "serviceName": "ss",
            "selector": {"matchLabels": {"app": "ss"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {**pod_spec(), "restartPolicy": "Always"},
            },
        },
    }


async def made_again(world: World, name: str) -> tuple[str, str]:
    """Deletes a pod; returns its UID and that of its replacement from the controller."""
    before = (await world.pods())[name]["metadata"]["uid"]
    await world.api.delete(world.path("Pod", name), gracePeriodSeconds=0)

    async def another() -> str | None:
        found = (await world.pods()).get(name)
        uid = found["metadata"]["uid"] if found else before
        return None if uid == before else str(uid)

    return before, await world.until("another pod of its name", another)


@scenario
async def test_a_pod_recreated_during_its_binding_is_bound_separately(
    world: World, *, namespace: str
) -> None:
    gate = world.close_gate(BINDINGS)
    await world.api.create(node("n1", gpus=1), stateful_set(namespace))
    await world.came(1)
    _, uid = await made_again(world, "ss-0")
    await world.came(2)  # the second one is decided; the first one is still on its way
    gate.set()
    await world.are_bound("ss-0")
    assert (await world.pods())["ss-0"]["metadata"]["uid"] == uid

    async def refused() -> set[int]:
        answers = (each.status for each in world.proxy.requests if each.subresource == "binding")
        return set(answers) - {201}

    [answer] = await world.until("the first one has its answer", refused)
    assert answer in (404, 409)  # it named the deleted pod
    await world.api.create(world.pod("more"))
    await asyncio.sleep(SETTLED_S)
    assert "more" not in await world.places()  # the node is full


@scenario
async def test_a_pod_recreated_during_its_eviction_is_kept(world: World, *, namespace: str) -> None:
    api = world.api
    gate = world.close_gate(DELETIONS)
    await api.create(queue("top", gpu=1), queue("rich", "top", gpu=0), queue("poor", "top", gpu=1))
    await api.create(node("n1", gpus=1), stateful_set(namespace, "rich"))
    await world.are_bound("ss-0")
    await world.until("it runs", api.has_phase(namespace, "ss-0", "Running"))
    await api.create(world.pod("waits", queue="poor"))
    await world.came(1, "delete", "")
    _, uid = await made_again(world, "ss-0")
    gate.set()
    await world.are_bound("waits")
    await asyncio.sleep(SETTLED_S)
    # First, so that a failure shows whether the scheduler deleted the new pod.
    [code] = {each.status for each in world.proxy.requests if each.verb == "delete"}
    assert code == 409
    assert (await world.pods())["ss-0"]["metadata"]["uid"] == uid
    assert await world.places() == {"waits": "n1"}
