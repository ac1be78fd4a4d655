"""kai.k8s on a real API server: the contents of a sink after faults, and the outcomes of writes."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from testcluster import WATCHES, Cluster, FaultProxy, Match, node, pod

from fakes.scenarios import scenarios
from kai.api.writes import Lane, Outcome, Result, Write
from kai.k8s.client import Client
from kai.k8s.events import About, Events
from kai.k8s.leases import LeaderElection, Times
from kai.k8s.sinks import DictSink
from kai.k8s.watching import Watch
from kai.k8s.writing import Writer

BINDINGS = Match("POST", r"/binding$")


class Scene:
    """A client behind a fault proxy, one without the proxy, and a watch of the pods of a
    namespace."""

    def __init__(self, proxy: FaultProxy, client: Client, direct: Client, namespace: str) -> None:
        self.proxy, self.client, self.direct, self.namespace = proxy, client, direct, namespace
        self.pods = DictSink()
        self.watch = Watch(client, "Pod", self.pods, namespace=namespace)
        self.writer = Writer(client)

    def create(self, name: str) -> Write:
        made = pod(name, self.namespace, annotations={"sim/start-delay": "1h"})
        return Write(Lane.BINDING, "create", "Pod", self.namespace, name, made)

    def bind(self, name: str, to: str = "n0", **metadata: Any) -> Write:
        body = {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": to}}
        return Write(Lane.BINDING, "create", "Pod", self.namespace, name, body, "binding")

    def delete(self, name: str, uid: str = "") -> Write:
        body = {"gracePeriodSeconds": 0, **({"preconditions": {"uid": uid}} if uid else {})}
        return Write(Lane.EVICTION, "delete", "Pod", self.namespace, name, body)

    async def send(self, writes: Iterable[Write]) -> list[Outcome]:
        """Sends all of them with the writer, with the proxy's faults or without."""
        outcomes = list[Outcome]()
        wanted = list(writes)
        for write in wanted:
            self.writer.put(write, lambda _, outcome: outcomes.append(outcome))
        await until(lambda: len(outcomes) == len(wanted))
        return outcomes

    async def on_server(self) -> dict[str, str]:
        """Name and version of each pod, from a separate list."""
        sink = DictSink()
        await Watch(self.direct, "Pod", sink, namespace=self.namespace).list_once()
        return versions(sink)

    async def agree(self) -> None:
        """Waits until the sink and the server agree."""
        ends = time.monotonic() + 30
        while versions(self.pods) != await self.on_server():
            assert time.monotonic() < ends, self.watch.problem
            await asyncio.sleep(0.05)


def versions(sink: DictSink) -> dict[str, str]:
    found = (each["metadata"] for each in sink.objects.values())
    return {each["name"]: each["resourceVersion"] for each in found}


async def until(condition: Callable[[], object], seconds: float = 30) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        await asyncio.sleep(0.01)


@asynccontextmanager
async def watching(cluster: Cluster, namespace: str) -> AsyncIterator[Scene]:
    async with (
        FaultProxy(cluster) as proxy,
        await Client.connect(cluster.kubeconfig_of(server=proxy.url)) as client,
        await Client.connect(cluster.kubeconfig) as direct,
    ):
        scene = Scene(proxy, client, direct, namespace)
        task = asyncio.create_task(scene.watch.run())
        try:
            await until(lambda: scene.watch.synced)
            yield scene
        finally:
            task.cancel()
            await asyncio.gather(task, scene.writer.drain(1.0), return_exceptions=True)


async def play(cluster: Cluster, namespace: str, story: Callable[[Scene], Awaitable[None]]) -> None:
    async with watching(cluster, namespace) as scene:
        await story(scene)


scenario = scenarios(play, "cluster", "namespace")


# ---- lists and watches ---------------------------------------------------------------------------


@pytest.mark.parametrize("watch_lists", [True, False])
@scenario
async def test_a_sink_follows_the_server(
    scene: Scene, *, namespace: str, watch_lists: bool
) -> None:
    assert scene.client.has_watch_lists
    scene.client.has_watch_lists = watch_lists
    await scene.send(scene.create(f"p{number}") for number in range(50))
    other = DictSink()
    second = Watch(scene.client, "Pod", other, namespace=namespace)
    task = asyncio.create_task(second.run())
    await until(lambda: second.synced)
    await scene.send(scene.delete(f"p{number}") for number in range(0, 50, 2))
    await scene.agree()
    await until(lambda: versions(other) == versions(scene.pods))
    assert len(other.objects) == 25
    assert (scene.watch.relists, second.relists) == (1, 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@scenario
async def test_a_broken_watch_continues_without_a_new_list(scene: Scene) -> None:
    for round_ in range(3):
        scene.proxy.cut_open(WATCHES)
        await scene.send(scene.create(f"p{round_}-{number}") for number in range(10))
        await scene.agree()
    assert scene.watch.relists == 1
    assert scene.watch.reconnects >= 3


@scenario
async def test_a_watch_broken_inside_an_event_loses_nothing(scene: Scene) -> None:
    for bytes_ in (700, 1500, 2900):
        scene.proxy.cut_inside(WATCHES, bytes_, times=1)
    scene.proxy.cut_open(WATCHES)
    await scene.send(scene.create(f"p{number}") for number in range(20))
    await scene.agree()
    assert scene.watch.relists == 1


@scenario
async def test_pods_deleted_while_the_version_expired_are_removed(scene: Scene) -> None:
    await scene.send(scene.create(f"p{number}") for number in range(100))
    await scene.agree()
    await scene.proxy.refuse()
    for number in range(100):
        assert (await scene.direct.send(scene.delete(f"p{number}"))).result is Result.DONE
    scene.proxy.expire(times=1)
    await scene.proxy.accept()
    await scene.agree()
    assert scene.pods.objects == {}
    assert scene.watch.relists == 2


@scenario
async def test_only_the_metadata_of_objects(scene: Scene, *, namespace: str) -> None:
    await scene.send([scene.create("p0")])
    sink = DictSink()
    watch = Watch(scene.client, "Pod", sink, namespace=namespace, metadata_only=True)
    task = asyncio.create_task(watch.run())
    await until(lambda: sink.objects)
    assert set(sink.objects[namespace, "p0"]) == {"apiVersion", "kind", "metadata"}
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@scenario
async def test_kinds_that_are_not_in_the_table(scene: Scene) -> None:
    service = await scene.client.get("APIService", "", "v1.")
    assert service is not None
    assert json.loads(service)["kind"] == "APIService"
    api = ("apiregistration.k8s.io/v1", "APIService", "", "v1.")
    assert await scene.client.get_by_api(*api) is not None
    assert await scene.client.get_by_api("example.test/v1", "Widget", "a", "b") is None


# ---- writes --------------------------------------------------------------------------------------


@scenario
async def test_a_binding_whose_answer_is_lost_may_have_been_done(
    scene: Scene, *, namespace: str
) -> None:
    await scene.send([scene.create("p0"), scene.create("p1")])
    scene.proxy.swallow(BINDINGS, times=1)
    assert (await scene.client.send(scene.bind("p0"))).result is Result.LOST
    scene.proxy.drop(BINDINGS, times=1)
    assert (await scene.client.send(scene.bind("p1"))).result is Result.LOST
    for name, bound in (("p0", True), ("p1", False)):
        found = json.loads(await scene.client.get("Pod", namespace, name) or b"")
        assert ("nodeName" in found["spec"]) is bound
    assert scene.proxy.count("create", "pods", "binding") == 2


@scenario
async def test_uids_guard_against_pods_of_the_same_name(scene: Scene, *, namespace: str) -> None:
    await scene.send([scene.create("p0")])
    await scene.agree()
    old = scene.pods.objects[namespace, "p0"]["metadata"]["uid"]
    await scene.send([scene.delete("p0", old)])
    await scene.send([scene.create("p0")])
    outcomes = await scene.send([scene.delete("p0", old), scene.bind("p0", uid=old)])
    assert [each.result for each in outcomes] == [Result.CONFLICT] * 2
    found = json.loads(await scene.client.get("Pod", namespace, "p0") or b"")
    assert found["metadata"]["uid"] != old
    assert "nodeName" not in found["spec"]


def test_a_disruption_budget_refuses_an_eviction(cluster: Cluster, namespace: str) -> None:
    async def story(scene: Scene) -> None:
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
        }
        made = pod("p0", namespace, labels={"app": "a"})
        api = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
        status, _ = await scene.client.request("POST", api, body=json.dumps(budget).encode())
        assert status == 201
        async with cluster.client() as api:
            await api.create(node("n0"))
            await api.ready_nodes(1)
        made_pod = Write(Lane.BINDING, "create", "Pod", namespace, "p0", made)
        [outcome] = await scene.send([made_pod])
        assert outcome.result is Result.DONE
        await scene.send([scene.bind("p0")])
        await until(lambda: phase(scene, "p0") == "Running")
        evict = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p0"}}
        write = Write(Lane.EVICTION, "create", "Pod", namespace, "p0", evict, "eviction")
        ends = time.monotonic() + 20
        while (outcome := await scene.client.send(write)).status != 429:
            assert time.monotonic() < ends
        assert outcome.result is Result.REFUSED
        assert "disruption budget" in outcome.message

    def phase(scene: Scene, name: str) -> str:
        return str(scene.pods.objects.get((namespace, name), {}).get("status", {}).get("phase"))

    asyncio.run(play(cluster, namespace, story))


@scenario
async def test_a_burst_of_429_delays_writes_and_loses_none(scene: Scene) -> None:
    busy = scene.proxy.answer(Match("POST", "/pods$"), 429, retry_after="1", times=40)
    outcomes = await scene.send(scene.create(f"p{number}") for number in range(60))
    assert {each.result for each in outcomes} == {Result.DONE}
    assert busy.hits == 40
    assert len(await scene.on_server()) == 60


@scenario
async def test_every_pod_is_bound_once_when_the_server_restarts_in_the_middle(
    scene: Scene, *, cluster: Cluster, namespace: str
) -> None:
    async def bound(scene: Scene, names: set[str]) -> set[str]:
        """Binds them, each to its own node; returns the bound ones, according to the server."""
        results = dict[str, Result]()
        for name in sorted(names):
            scene.writer.put(
                scene.bind(name, f"for-{name}"),
                lambda write, outcome: results.update({write.name: outcome.result}),
            )
        await until(lambda: len(results) == len(names), 120)
        assert set(results.values()) <= {Result.DONE, Result.LOST, Result.FAILED}
        done = set[str]()
        for name, result in results.items():
            found = json.loads(await scene.direct.get("Pod", namespace, name) or b"")
            if result is Result.DONE or "nodeName" in found["spec"]:
                assert found["spec"]["nodeName"] == f"for-{name}"
                done.add(name)
        return done

    async def restart(scene: Scene) -> None:
        await until(lambda: scene.writer.sent[Lane.BINDING] > 700)
        await asyncio.to_thread(cluster.restart, "kube-apiserver")

    names = {f"p{number}" for number in range(600)}
    await scene.send(map(scene.create, names))
    restarting = asyncio.create_task(restart(scene))
    while names:
        names -= await bound(scene, names)
    await restarting
    await scene.agree()
    assert len(scene.pods.objects) == 600


# ---- events and leases ---------------------------------------------------------------------------


@scenario
async def test_events_are_counted(scene: Scene, *, cluster: Cluster, namespace: str) -> None:
    await scene.send([scene.create("p0")])
    await scene.agree()
    uid = scene.pods.objects[namespace, "p0"]["metadata"]["uid"]
    events = Events(scene.writer, "kai-scheduler")
    for _ in range(3):
        events.emit(About("Pod", namespace, "p0", uid), "Warning", "Unschedulable", "100%s")
        await until(lambda: scene.writer.idle)
    described = await asyncio.to_thread(cluster.kubectl, "describe", "pod", "p0", "-n", namespace)
    assert "(x3 over" in described
    assert "kai-scheduler  100%s" in described


@pytest.mark.cluster_slow
@scenario
async def test_one_of_two_candidates_leads_until_it_is_disconnected(
    scene: Scene, *, namespace: str
) -> None:
    times = Times(duration=4, renew_deadline=2.5, retry=0.5)
    names = ["kai-scheduler", "pod-grouper"]
    one = LeaderElection(scene.client, namespace, names, "one", times=times)
    two = LeaderElection(scene.direct, namespace, names, "two", times=times)
    tasks = [asyncio.create_task(one.run())]
    await until(one.is_leading)
    tasks.append(asyncio.create_task(two.run()))
    await until(lambda: one.renewals >= 3)
    assert not two.is_leading()
    scene.proxy.pause()
    both = False
    ends = time.monotonic() + 20
    while not two.is_leading():
        assert time.monotonic() < ends
        both = both or (one.is_leading() and two.is_leading())
        await asyncio.sleep(0.01)
    assert not both
    assert not one.is_leading()
    assert two.holders() == dict.fromkeys(names, "two")
    scene.proxy.resume()
    tasks[1].cancel()
    await until(one.is_leading)  # it was released
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
