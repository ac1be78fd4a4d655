"""A real API server accepts the writes of the controllers."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from testcluster import ApiError, Client, Cluster, Object, node, path_of, pod, pod_group

import kai
from fakes.scenarios import scenarios
from kai.api.writes import Outcome, Result, Write
from kai.controllers import status
from kai.controllers.verdicts import Condition, Decided, GroupSeen, PodSeen, Seen, Verdicts, binding
from kai.install import manifests

NOW = 1_800_000_000.0
CONTENT = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Cluster:
    crds = manifests.to_yaml(manifests.crds())
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=crds)
    return cluster


def path(kind: str, namespace: str, name: str = "", subresource: str = "") -> str:
    if kind in ("PodGroup", "Queue"):
        found = {
            "PodGroup": f"/apis/scheduling.run.ai/v2alpha2/namespaces/{namespace}/podgroups",
            "Queue": "/apis/scheduling.run.ai/v2/queues",
        }[kind]
        return "/".join(filter(None, (found, name, subresource)))
    return path_of(kind, "" if kind == "Node" else namespace, name, subresource)


async def send(api: Client, write: Write) -> Object:
    """Sends a write as kai.k8s does, without retries."""
    body: Any = write.body
    if write.verb == "create":
        return await api.post(
            path(write.kind, write.namespace, write.name, write.subresource), body
        )
    where = path(write.kind, write.namespace, write.name, write.subresource)
    if write.verb == "delete":
        return await api.request("DELETE", where, body)
    return await api.patch(where, body, CONTENT[write.patch_type])


class Live:
    """The current cluster, for the engine and for the writers."""

    def __init__(self, api: Client, namespace: str) -> None:
        self.api, self.namespace = api, namespace
        self.objects: dict[tuple[str, str], Object] = {}
        self.verdicts, self.now = Verdicts(), NOW
        self.events: list[tuple[str, str]] = []

    async def look(self) -> None:
        self.objects.clear()
        for kind in ("Pod", "PodGroup", "Queue", "Node"):
            for each in await self.api.items(path(kind, self.namespace)):
                self.objects[kind, each["metadata"]["name"]] = {**each, "kind": kind}

    def plan(self) -> kai.Plan:
        cluster = kai.Cluster(now="2027-01-15T08:00:00Z")
        for (kind, _), each in self.objects.items():
            cluster.add(kind, json.loads(json.dumps(each)))
        return kai.Scheduler().plan(cluster)

    def pod(self, name: str) -> PodSeen | None:
        found = self.objects.get(("Pod", name.split("/")[1]))
        if found is None:
            return None
        conditions = {
            each["type"]: Condition(each["status"], each.get("reason", ""), each.get("message", ""))
            for each in found["status"].get("conditions", ())
        }
        return PodSeen(
            found["metadata"]["uid"],
            f"{self.namespace}/gang",
            conditions.get("PodScheduled"),
            conditions.get("PodBound"),
            found["status"].get("nominatedNodeName", ""),
        )

    def group(self, name: str) -> GroupSeen | None:
        found = self.objects.get(("PodGroup", name.split("/")[1]))
        if found is None:
            return None
        return GroupSeen(
            found["metadata"]["uid"],
            tuple(found.get("status", {}).get("schedulingConditions", ())),
            found["metadata"].get("annotations", {}),
        )

    async def carry_out(self, decided: Decided) -> int:
        for write in decided.writes:
            await send(self.api, write)
            self.verdicts.answer(self.now, write, Outcome(Result.DONE))
        self.events += [(each.reason, each.message) for each in decided.events]
        await self.look()
        return len(decided.writes)

    async def decide(self) -> kai.Plan:
        await self.look()
        plan = self.plan()
        seen: Seen = self
        await self.carry_out(self.verdicts.decide(self.now, plan, seen))
        return plan

    def condition(self, name: str, type: str = "PodScheduled") -> Object:
        """Empty if the pod has no such condition."""
        conditions = self.objects["Pod", name]["status"].get("conditions", ())
        return next((each for each in conditions if each["type"] == type), {})


async def scene(installed: Cluster, namespace: str, act: Callable[[Live], Awaitable[None]]) -> None:
    async with installed.client() as api:
        for queue in manifests.queues():
            await api.post(path("Queue", ""), queue)
        await act(Live(api, namespace))


scenario = scenarios(scene, "installed", "namespace")


GANG = {"pod-group-name": "gang"}


async def gang(live: Live, pods: int) -> None:
    await live.api.post(path("PodGroup", live.namespace), pod_group("gang", live.namespace, pods))
    for number in range(pods):
        await live.api.create(pod(f"w-{number}", live.namespace, 8, annotations=GANG))


async def ready(live: Live, *names: str) -> None:
    await live.api.create(*(node(name) for name in names))
    await live.api.ready_nodes(len(names))


@scenario
async def test_a_gang_waits_and_then_starts(live: Live) -> None:
    await ready(live, "n0")
    await gang(live, 2)
    await live.decide()
    [entry] = live.objects["PodGroup", "gang"]["status"]["schedulingConditions"]
    assert (entry["nodePool"], entry["transitionID"]) == ("default", "1")
    assert entry["message"].startswith("PodSchedulingErrors: Resources were found for 1 pods")
    for name in ("w-0", "w-1"):
        condition = live.condition(name)
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert sorted({reason for reason, _ in live.events}) == ["Unschedulable"]
    version = live.objects["Pod", "w-0"]["metadata"]["resourceVersion"]
    await live.decide()
    assert live.objects["Pod", "w-0"]["metadata"]["resourceVersion"] == version

    await live.api.create(node("n1"))
    await live.api.ready_nodes(2)
    plan = await live.decide()
    found = live.objects["PodGroup", "gang"]
    assert "schedulingConditions" not in found.get("status", {})
    assert "kai.scheduler/last-start-timestamp" in found["metadata"]["annotations"]
    for bind in plan.decisions:
        name = bind.pod.split("/")[1]
        uid = live.objects["Pod", name]["metadata"]["uid"]
        await send(live.api, binding(bind.pod, uid, bind.node))  # type: ignore[union-attr]
        await live.look()
        done = live.verdicts.bound(live.now, bind.pod, bind.node, live)  # type: ignore[union-attr]
        await live.carry_out(done)
        assert live.objects["Pod", name]["spec"]["nodeName"] == bind.node  # type: ignore[union-attr]
        assert live.condition(name)["status"] == "True"
        assert live.condition(name, "PodBound")["reason"] == "Bound"
    assert [reason for reason, _ in live.events[-4:]] == ["Scheduled", "Bound"] * 2


@scenario
async def test_a_condition_of_an_earlier_try_is_removed(live: Live, *, namespace: str) -> None:
    await ready(live, "n0")
    await gang(live, 2)
    await live.look()
    name = f"{namespace}/w-0"
    await live.api.patch(
        path("Pod", namespace, "w-0", "status"),
        {"status": {"conditions": [{"type": "PodBound", "status": "False"}]}},
        CONTENT["strategic"],
    )
    await live.look()
    failed = live.verdicts.binding_failed(live.now, name, "n0", "node is gone", live)
    await live.carry_out(failed)
    assert live.condition("w-0")["reason"] == "BindingError"
    await live.decide()
    assert live.condition("w-0")["reason"] == "Unschedulable"
    assert live.condition("w-0", "PodBound") == {}


def test_a_nominated_node_is_set_and_cleared(installed: Cluster, namespace: str) -> None:
    class GivenVerdicts:
        def __init__(self, **promised: str) -> None:
            self.waiting: dict[str, str] = {}
            self.bound, self.groups = (), ()
            self.promised = {f"{namespace}/{name}": where for name, where in promised.items()}

    async def act(live: Live) -> None:
        await live.api.create(pod("p", namespace, 1))
        await live.look()
        await live.carry_out(live.verdicts.take_in(live.now, GivenVerdicts(p="n0"), live))
        assert live.objects["Pod", "p"]["status"]["nominatedNodeName"] == "n0"
        await live.carry_out(live.verdicts.take_in(live.now, GivenVerdicts(), live))
        assert not live.objects["Pod", "p"]["status"].get("nominatedNodeName")

    asyncio.run(scene(installed, namespace, act))


def test_a_write_for_a_recreated_pod_is_refused(installed: Cluster, namespace: str) -> None:
    async def act(live: Live) -> None:
        await ready(live, "n0")
        await gang(live, 2)
        await live.look()
        decided = live.verdicts.decide(live.now, live.plan(), live)
        for kind, name in (("Pod", "w-0"), ("PodGroup", "gang")):
            await live.api.delete(path(kind, namespace, name), gracePeriodSeconds=0)
            await live.api.until(f"{name} is gone", live.api.is_gone(path(kind, namespace, name)))
        await gang_again(live)
        for write in decided.writes:
            if write.name == "w-0":
                with pytest.raises(ApiError) as refusal:
                    await send(live.api, write)
                assert refusal.value.status == 422
                assert "metadata.uid" in refusal.value.message
        await live.look()
        assert live.condition("w-0") == {}

    async def gang_again(live: Live) -> None:
        await live.api.post(path("PodGroup", namespace), pod_group("gang", namespace, 2))
        await live.api.create(pod("w-0", namespace, 8, annotations=GANG))

    asyncio.run(scene(installed, namespace, act))


@scenario
async def test_amounts_of_groups_and_queues_are_accepted_and_removed(
    live: Live, *, namespace: str
) -> None:
    await live.api.post(path("PodGroup", namespace), pod_group("gang", namespace, 1))
    request = {"cpu": "100m", "memory": "64Mi", "nvidia.com/gpu": "1"}
    for sums in (status.Sums(request, request), status.Sums({"cpu": "100m"}), status.Sums()):
        await live.look()
        there = live.objects["PodGroup", "gang"].get("status", {}).get("resourcesStatus")
        write = status.pod_group_write(f"{namespace}/gang", sums, there)
        assert write is not None
        await send(live.api, write)
        await live.look()
        there = live.objects["PodGroup", "gang"]["status"]["resourcesStatus"]
        assert there == {
            name: amounts
            for name, amounts in (("requested", sums.requested), ("allocated", sums.allocated))
            if amounts
        }
        assert status.pod_group_write(f"{namespace}/gang", sums, there) is None

        facts = {
            name: status.QueueFacts(
                name, each["spec"].get("parentQueue", ""), status=each.get("status", {})
            )
            for (kind, name), each in live.objects.items()
            if kind == "Queue"
        }
        for name, found in status.queue_sums(facts, {"default-queue": sums}).items():
            if write := status.queue_write(name, *found, facts[name].status):
                await send(live.api, write)
        await live.look()
        parent = live.objects["Queue", "default-parent-queue"]["status"]
        assert parent["childQueues"] == ["default-queue"]
        assert parent.get("requested", {}) == sums.requested


def test_an_eviction_deletes_only_the_pod_with_its_uid(installed: Cluster, namespace: str) -> None:
    from kai.controllers.verdicts import Eviction

    async def act(live: Live) -> None:
        [made] = await live.api.create(pod("p", namespace, 1))
        for how in ("delete", "evict"):
            stranger = Eviction(f"{namespace}/p", "another", "reclaim", "")
            with pytest.raises(ApiError) as refusal:
                await send(live.api, stranger.write(how))  # type: ignore[arg-type]
            assert refusal.value.status == 409
            own = Eviction(f"{namespace}/p", made["metadata"]["uid"], "reclaim", "")
            await send(live.api, own.write(how, dry_run=True))  # type: ignore[arg-type]
            await live.look()
            assert "deletionTimestamp" not in live.objects["Pod", "p"]["metadata"]
        await send(live.api, own.write("evict"))
        await live.api.until("p is gone", live.api.is_gone(path("Pod", namespace, "p")))

    asyncio.run(scene(installed, namespace, act))
