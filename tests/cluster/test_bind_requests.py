"""Pods that are bound through BindRequests, and the messages about them (spec 5 A23, 6 C49-C51)."""

import asyncio
from collections import Counter
from typing import Literal

import pytest
from scene_play import scenario
from testcluster import (
    BINDINGS,
    SHORT_LEASE,
    ApiError,
    Match,
    Object,
    Reservations,
    Scene,
    node,
    path_of,
    pod,
)
from testcluster.scene import until

BY_REQUESTS = ("--binding", "bind-requests")
CREATIONS = Match("POST", "/bindrequests$")
SCHEDULER = ("scheduler", "pod-grouper")


def requests_of(namespace: str, name: str = "") -> str:
    path = f"/apis/scheduling.run.ai/v1alpha2/namespaces/{namespace}/bindrequests"
    return f"{path}/{name}" if name else path


async def found(scene: Scene, name: str) -> Object | None:
    """The BindRequest of that name; None: it does not exist."""
    try:
        return await scene.api.get(requests_of(scene.namespace, name))
    except ApiError as error:
        if error.status != 404:
            raise
        return None


async def get_pod(scene: Scene, name: str) -> Object:
    return await scene.api.get(path_of("Pod", scene.namespace, name))


def condition(pod: Object, type: str) -> tuple[str, str, str] | None:
    for each in pod["status"].get("conditions", ()):
        if each["type"] == type:
            return each["status"], each.get("reason", ""), each.get("message", "")
    return None


async def events(scene: Scene, name: str) -> Counter[tuple[str, str, str]]:
    """Source, reason and message of the events about a pod, with their counts."""
    items = await scene.api.items(path_of("Event", scene.namespace))
    counts: Counter[tuple[str, str, str]] = Counter()
    for each in items:
        if each["involvedObject"]["name"] == name and each["involvedObject"]["kind"] == "Pod":
            source = each["source"]["component"]
            counts[source, each["reason"], each["message"]] += each.get("count", 1)
    return counts


async def create_request(scene: Scene, name: str, node: str, **spec: object) -> Object:
    """As another scheduler creates one."""
    uid = (await get_pod(scene, name))["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}
    return await scene.api.post(
        requests_of(scene.namespace),
        {
            "apiVersion": "scheduling.run.ai/v1alpha2",
            "kind": "BindRequest",
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {
                "podName": name,
                "selectedNode": node,
                "receivedResourceType": "Regular",
                "receivedGPU": {"count": 1, "portion": "1.00"},
                **spec,
            },
        },
    )


@scenario
async def test_pods_are_bound_with_the_objects_that_kai_leaves(
    scene: Scene, *, namespace: str
) -> None:
    await scene.nodes(2)
    await scene.start(*BY_REQUESTS)
    await scene.pods(12)
    await scene.pods(1, "cpu", gpus=0)
    await scene.is_well(bound=13)
    one = await get_pod(scene, "p0")
    where, uid = one["spec"]["nodeName"], one["metadata"]["uid"]
    request = await found(scene, "p0")
    assert request is not None
    assert request["metadata"]["labels"] == {"selected-node": where}
    assert request["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p0", "uid": uid}
    ]
    assert request["spec"] == {
        "podName": "p0",
        "selectedNode": where,
        "receivedResourceType": "Regular",
        "receivedGPU": {"count": 1, "portion": "1.00"},
    }
    assert request["status"] == {"phase": "Succeeded"}
    without = await found(scene, "cpu0")
    assert without is not None
    assert without["spec"]["receivedGPU"] == {"portion": "0.00"}

    annotations = one["metadata"]["annotations"]
    assert annotations["received-resource-type"] == "Regular"
    assert annotations["pod-group-name"].startswith("pg-p0-")
    text = f"Pod bound successfully to node {where}"
    assert condition(one, "PodBound") == ("True", "Bound", text)
    assigned = f"Successfully assigned pod {namespace}/p0 to node {where} at node-pool default"
    assert await events(scene, "p0") == {
        ("kai-scheduler", "Scheduled", assigned): 1,
        ("binder", "Bound", text): 1,
    }
    assert scene.proxy.count("create", "bindrequests") == 13
    assert scene.proxy.count("create", "pods", "binding") == 13
    assert scene.proxy.count("patch", "bindrequests", "status") == 13


@pytest.mark.cluster_slow
@scenario
async def test_a_binding_that_always_fails_has_no_bound_event(
    scene: Scene, *, namespace: str
) -> None:
    """It is retried after 1, 2 and 4 s, not each second."""
    await scene.nodes(2)
    await scene.start(*BY_REQUESTS)
    await scene.pods(1, "early")
    await scene.bound(1)
    refused = scene.proxy.answer(Match("POST", "/pods/p0/binding$"), 403, "policy says no")
    await scene.pods(4)
    await scene.bound(4)
    await refused.hit(3)
    await asyncio.sleep(2)
    assert refused.hits == 3
    assert scene.proxy.count("create", "bindrequests") == 4 + 3
    await refused.hit(4, seconds=4)
    one = await get_pod(scene, "p0")
    reported = await events(scene, "p0")
    assert {reason for _, reason, _ in reported} == {"BindingError", "FailedBinding"}
    bound = condition(one, "PodBound")
    assert bound is not None
    status, reason, text = bound
    assert (status, reason) == ("False", "BindingError")
    assert text.startswith(f"Failed to bind pod {namespace}/p0 to node n")
    assert text.endswith(": policy says no")
    scene.proxy.clear()
    await scene.is_well(bound=5)
    one = await get_pod(scene, "p0")
    assert (condition(one, "PodBound") or ())[0] == "True"
    assert (condition(one, "PodScheduled") or ())[0] == "True"
    log = await scene.end()
    assert "a pod cannot be bound" in log


@pytest.mark.cluster_slow
@scenario
async def test_a_backoff_limit_ends_the_tries(scene: Scene, *, namespace: str) -> None:
    await scene.nodes(1)
    await scene.start(roles=("binder",))
    refused = scene.proxy.answer(BINDINGS, 403, "policy says no")
    await scene.api.create(pod("p0", namespace))
    await create_request(scene, "p0", "n0", backoffLimit=3)
    await refused.hit(1)
    assert (await found(scene, "p0") or {}).get("status", {}).get("phase") != "Succeeded"
    await refused.hit(3)
    wanted = {"phase": "Failed", "reason": "policy says no", "failedAttempts": 3}

    async def is_written() -> bool:
        return (await found(scene, "p0") or {})["status"] == wanted

    await until(scene, "it has failed for good", is_written)
    await asyncio.sleep(5)  # the next wait would have been 4 s
    assert refused.hits == 3
    reported = await events(scene, "p0")
    assert {reason for _, reason, _ in reported} == {"BindingError"}


@pytest.mark.parametrize(
    ("when", "what"),
    [
        pytest.param("before", "a bind request", marks=pytest.mark.cluster_slow),
        pytest.param("after", "a bind request", marks=pytest.mark.cluster_slow),
        pytest.param("before", "a binding", marks=pytest.mark.cluster_slow),
        pytest.param("after", "a binding"),
    ],
)
@scenario
async def test_the_process_is_killed_while_it_binds(
    scene: Scene, *, namespace: str, what: str, when: Literal["before", "after"]
) -> None:
    await scene.nodes(2)
    first = await scene.start(*BY_REQUESTS, *SHORT_LEASE)
    await scene.pods(4, "early")
    await scene.bound(4)
    match = CREATIONS if what == "a bind request" else BINDINGS
    killed = scene.proxy.call(match, first.kill, when=when, skip=3)
    await scene.pods(16)
    await killed.hit()
    await scene.until("it is killed", lambda: not first.is_running())
    await scene.start(*BY_REQUESTS, *SHORT_LEASE)
    await scene.api.create(node("later", gpus=4))
    await scene.is_well(bound=20)

    async def all_have_conditions() -> bool:
        requests = await scene.api.items(requests_of(namespace))
        return [each.get("status", {}).get("phase") for each in requests] == ["Succeeded"] * 20

    await until(scene, "every BindRequest has succeeded", all_have_conditions)


@scenario
async def test_one_process_decides_and_another_one_binds(scene: Scene) -> None:
    await scene.nodes(2)
    await scene.start(*BY_REQUESTS, roles=SCHEDULER)
    await scene.pods(8)
    await scene.until("8 are created", lambda: scene.proxy.count("create", "bindrequests") == 8)
    await asyncio.sleep(1)
    assert scene.history.bound() == set()
    assert await events(scene, "p0") == {}
    await scene.start(roles=("binder",))
    await scene.is_well(bound=8)

    async def has_condition() -> bool:
        return {reason for _, reason, _ in await events(scene, "p0")} == {"Scheduled", "Bound"}

    await until(scene, "both say so", has_condition)
    assert scene.proxy.count("create", "bindrequests") == 8


@pytest.mark.cluster_slow
@pytest.mark.parametrize("which", ["scheduler", "binder"])
@scenario
async def test_one_of_two_processes_is_killed_again_and_again(scene: Scene, *, which: str) -> None:
    of = {
        "scheduler": lambda: scene.start(*BY_REQUESTS, *SHORT_LEASE, roles=SCHEDULER),
        "binder": lambda: scene.start(*SHORT_LEASE, roles=("binder",)),
    }
    await scene.nodes(30)
    killed = {name: await start() for name, start in of.items()}[which]
    for number in range(3):
        await scene.pods(60, f"r{number}-")
        await scene.bound(60 * number + 20)
        await asyncio.to_thread(killed.kill)
        killed = await of[which]()
    await scene.pods(60, "last")
    await scene.is_well(bound=240)


@scenario
async def test_a_request_for_a_deleted_node_is_replaced(scene: Scene) -> None:
    await scene.nodes(1)
    await scene.start(*BY_REQUESTS, roles=SCHEDULER)
    await scene.pods(1)
    await scene.until("it is created", lambda: scene.proxy.count("create", "bindrequests") == 1)
    await scene.api.delete(path_of("Node", name="n0"))
    await scene.api.create(node("other"))

    async def is_replaced() -> bool:
        request = await found(scene, "p0")
        return request is not None and request["spec"]["selectedNode"] == "other"

    await until(scene, "the pod goes to the other node", is_replaced)
    await scene.start(roles=("binder",))
    await scene.is_well(bound=1)


@scenario
async def test_a_recreated_pod_gets_its_own_request(scene: Scene, *, namespace: str) -> None:
    """As with the pods of a StatefulSet. The BindRequest of the previous pod still exists for a
    moment."""
    await scene.nodes(1)
    await scene.start(*BY_REQUESTS)
    await scene.pods(4)
    await scene.bound(4)
    for _ in range(3):
        for number in range(4):
            await scene.api.delete(path_of("Pod", namespace, f"p{number}"))
        await scene.until("they are gone", lambda: not scene.history.bound())
        await scene.pods(4)
        await scene.bound(4, seconds=10)
    await scene.is_well(bound=4)
    uid = (await get_pod(scene, "p0"))["metadata"]["uid"]
    request = await found(scene, "p0")
    assert request is not None
    assert request["metadata"]["ownerReferences"][0]["uid"] == uid


@scenario
async def test_with_direct_binding_requests_of_other_processes_are_executed(
    scene: Scene, *, namespace: str
) -> None:
    await scene.nodes(2)
    await scene.api.create(pod("p0", namespace), pod("shared", namespace, gpus=0))
    await create_request(scene, "p0", "n1")
    await create_request(scene, "shared", "n1", selectedGPUGroups=["g"])
    async with Reservations(scene.api):
        await scene.start()
        await scene.pods(4, "direct")
        await scene.is_well(bound=6)
    assert (await get_pod(scene, "p0"))["spec"]["nodeName"] == "n1"
    assert ((await found(scene, "p0")) or {})["status"] == {"phase": "Succeeded"}
    # No webhook has named its ConfigMaps: the binding fails, and the scheduler decides again.
    assert await found(scene, "shared") is None
    [text] = [text for _, reason, text in await events(scene, "shared") if reason == "BindingError"]
    assert text.endswith(f"no desired configmap name found in pod {namespace}/shared annotations")
    assert scene.proxy.count("create", "bindrequests") == 0


@pytest.mark.cluster_slow
@scenario
async def test_a_late_creation_finds_its_room_reserved(scene: Scene, *, namespace: str) -> None:
    """The first creation for p0 is still on its way while later ones are rejected. If its room were
    given to p1, n1 would have two pods when it arrives."""
    await scene.api.create(node("n1", gpus=1))
    await scene.start(*BY_REQUESTS)
    late = scene.proxy.deliver_late(CREATIONS, 5, times=1)
    refused = scene.proxy.answer(CREATIONS, 403)
    await scene.api.create(pod("p0", namespace))
    await late.hit()
    await refused.hit()
    await scene.api.create(pod("p1", namespace))
    await scene.until("it was delivered", lambda: scene.proxy.delivered)
    assert scene.proxy.delivered == [201]
    refused.end()
    await scene.bound(1)
    await scene.api.create(node("n0", gpus=1))
    await scene.is_well(bound=2)


@scenario
async def test_answers_are_lost_and_refused_and_requests_conflict(
    scene: Scene, *, namespace: str
) -> None:
    await scene.nodes(4)
    await scene.start(*BY_REQUESTS)
    statuses = Match("PATCH", "/bindrequests/[^/]+/status$")
    faults = [
        scene.proxy.swallow(CREATIONS, skip=2, times=5),
        scene.proxy.swallow(BINDINGS, skip=2, times=5),
        scene.proxy.swallow(statuses, skip=2, times=5),
        scene.proxy.drop(CREATIONS, times=3),
        scene.proxy.drop(BINDINGS, times=3),
        scene.proxy.drop(statuses, times=3),
        *(
            scene.proxy.answer(match, status, times=4)
            for match in (CREATIONS, BINDINGS, statuses)
            for status in (409, 500, 503)
        ),
    ]
    await scene.pods(32)
    await scene.is_well(bound=32)

    async def all_have_conditions() -> bool:
        requests = await scene.api.items(requests_of(namespace))
        return [each.get("status", {}).get("phase") for each in requests] == ["Succeeded"] * 32

    await until(scene, "every BindRequest has succeeded", all_have_conditions, 60)
    assert [each.hits for each in faults][:6] == [5, 5, 5, 3, 3, 3]
