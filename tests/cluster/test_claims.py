"""Pods with resource claims, from their creation to their node (spec 3 D9, D10; recording 49)."""

from collections.abc import Awaitable, Callable

import pytest
from scene_play import scenario
from testcluster import BINDINGS, SHORT_LEASE, Match, Object, Scene, node, path_of, pod, queue
from testcluster.claims import DRIVER, claiming, device_class, devices, one_gpu, template

STATUS = Match("PATCH", r"/resourceclaims/[^/]+/status$")
WAYS = pytest.mark.parametrize("way", ["direct", "bind-requests"])


def shared(name: str, namespace: str, queue: str = "team-a") -> Object:
    labels = {"kai.scheduler/queue": queue}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": one_gpu(),
    }


def user(name: str, namespace: str, claim: str = "") -> Object:
    """A pod of a claim; "": it gets its own."""
    return claiming(name, namespace, claim, queue="team-a")


async def set_up(scene: Scene, *nodes: str, count: int = 2) -> None:
    api = scene.api
    await api.create(queue("dept", gpu=8), queue("team-a", "dept", gpu=8))
    await api.create(device_class(), template(scene.namespace))
    await api.create(*(node(name, 0) for name in nodes), *(devices(each, count) for each in nodes))
    await api.ready_nodes(len(nodes))


async def claims(scene: Scene) -> list[Object]:
    items: list[Object] = await scene.api.items(path_of("ResourceClaim", scene.namespace))
    return items


def given(claim: Object) -> list[tuple[str, str]]:
    """Pools and names of the claim's devices."""
    allocation = claim.get("status", {}).get("allocation", {})
    results = allocation.get("devices", {}).get("results", ())
    return [(each["pool"], each["device"]) for each in results]


def users(claim: Object) -> list[str]:
    return sorted(each["name"] for each in claim.get("status", {}).get("reservedFor", ()))


async def get(scene: Scene, name: str) -> Object:
    found: Object = await scene.api.get(path_of("Pod", scene.namespace, name))
    return found


async def until(scene: Scene, what: str, is_so: Callable[[], Awaitable[object]]) -> None:
    try:
        await scene.api.until(what, is_so, 30)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{scene.report()}") from None


async def each_device_once(scene: Scene) -> None:
    """No two used claims hold the same device, and each user is bound."""
    held = [device for claim in await claims(scene) for device in given(claim)]
    assert len(held) == len(set(held)), held
    for claim in await claims(scene):
        for name in users(claim):
            where = (await get(scene, name))["spec"].get("nodeName")
            assert where == given(claim)[0][0], (name, where, given(claim))


async def status_of(scene: Scene, name: str) -> Object:
    """The requested and allocated resources in the status of a pod's group."""
    annotations = (await get(scene, name))["metadata"].get("annotations", {})
    if (group := annotations.get("pod-group-name")) is None:
        return {}
    path = f"/apis/scheduling.run.ai/v2alpha2/namespaces/{scene.namespace}/podgroups/{group}"
    found: Object = (await scene.api.get(path)).get("status", {}).get("resourcesStatus", {})
    return found


@WAYS
@scenario
async def test_pods_get_the_devices_of_their_own_claims(
    scene: Scene, *, namespace: str, way: str
) -> None:
    """Recording 49: two devices, three pods."""
    await set_up(scene, "g-1")
    await scene.start("--binding", way)
    for number in range(2):
        await scene.api.create(user(f"dra-{number}", namespace))
        await scene.bound(number + 1)
    await scene.api.create(user("dra-2", namespace))
    why = "no nodes with enough resources were found"

    async def has_message() -> bool:
        conditions = (await get(scene, "dra-2"))["status"].get("conditions", ())
        found = {each["type"]: each for each in conditions}
        return found.get("PodScheduled", {}).get("message") == why

    await until(scene, "the third one says why it waits", has_message)
    held = {users(each)[0]: each for each in await claims(scene) if users(each)}
    assert {name: given(each) for name, each in held.items()} == {
        "dra-0": [("g-1", "gpu-0")],
        "dra-1": [("g-1", "gpu-1")],
    }
    field = {"key": "metadata.name", "operator": "In", "values": ["g-1"]}
    for claim in held.values():
        allocation = claim["status"]["allocation"]
        assert allocation["nodeSelector"] == {"nodeSelectorTerms": [{"matchFields": [field]}]}
    amounts = {"cpu": "100m", DRIVER: "1", "memory": "64Mi"}

    async def is_summed_up() -> bool:
        first, third = await status_of(scene, "dra-0"), await status_of(scene, "dra-2")
        return (first, third) == (
            {"allocated": amounts, "requested": amounts},
            {"requested": amounts},
        )

    await until(scene, "the groups say what they ask for", is_summed_up)
    if way == "bind-requests":
        path = f"/apis/scheduling.run.ai/v1alpha2/namespaces/{namespace}/bindrequests/dra-0"
        request = await scene.api.get(path)
        [allocation] = request["spec"]["resourceClaimAllocations"]
        assert allocation["name"] == "gpu"
        assert request["spec"]["receivedGPU"] == {"portion": "0.00"}
        assert request["status"] == {"phase": "Succeeded"}
    await scene.api.delete(path_of("Pod", namespace, "dra-0"), gracePeriodSeconds=0)
    await scene.until("the third one is bound", lambda: "dra-2" in scene.history.bound())


@WAYS
@scenario
async def test_pods_that_share_a_claim_share_its_device(
    scene: Scene, *, namespace: str, way: str
) -> None:
    await set_up(scene, "g-1", "g-2", count=1)
    await scene.api.create(shared("both", namespace))
    await scene.start("--binding", way)
    await scene.api.create(*(user(f"s{n}", namespace, "both") for n in range(3)))
    await scene.api.create(user("own", namespace))
    await scene.bound(4)
    await each_device_once(scene)
    [both] = [each for each in await claims(scene) if each["metadata"]["name"] == "both"]
    assert users(both) == ["s0", "s1", "s2"]


@scenario
async def test_a_pod_is_planned_again_if_another_writer_is_first(
    scene: Scene, *, namespace: str
) -> None:
    """Its claim gets a device of the other node meanwhile, and the pod is placed there."""
    await set_up(scene, "g-1", "g-2", count=1)
    await scene.api.create(shared("mine", namespace))
    path = path_of("ResourceClaim", namespace, "mine")
    result = {"request": "gpu", "driver": DRIVER, "pool": "g-2", "device": "gpu-0"}
    field = {"key": "metadata.name", "operator": "In", "values": ["g-2"]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    allocation = {"devices": {"results": [result]}, "nodeSelector": selector}
    cordon = {"spec": {"unschedulable": True}}
    await scene.api.patch(path_of("Node", name="g-2"), cordon)

    async def write() -> None:
        await scene.api.patch(f"{path}/status", {"status": {"allocation": allocation}})
        await scene.api.patch(path_of("Node", name="g-2"), {"spec": {"unschedulable": None}})

    written = scene.proxy.call(STATUS, write)
    await scene.start()
    await scene.api.create(user("p", namespace, "mine"))
    await scene.bound(1)
    assert written.hits == 1
    assert (await get(scene, "p"))["spec"]["nodeName"] == "g-2"
    await each_device_once(scene)


@WAYS
@pytest.mark.parametrize("when", ["before", "after"])
@scenario
async def test_the_process_is_killed_while_it_allocates_a_device(
    scene: Scene, *, namespace: str, way: str, when: str
) -> None:
    await set_up(scene, "g-1", "g-2")
    first = await scene.start(*SHORT_LEASE, "--binding", way)
    killed = scene.proxy.call(STATUS, first.kill, when=when, skip=1)
    await scene.api.create(*(user(f"p{n}", namespace) for n in range(4)))
    await killed.hit()
    await scene.until("it is killed", lambda: not first.is_running())
    await scene.start(*SHORT_LEASE, "--binding", way)
    await scene.bound(4)
    await each_device_once(scene)


@scenario
async def test_a_refused_binding_releases_its_device(scene: Scene, *, namespace: str) -> None:
    await set_up(scene, "g-1", count=1)
    refused = scene.proxy.answer(BINDINGS, 403, times=1)
    await scene.start()
    await scene.api.create(user("p", namespace))
    await refused.hit()

    async def is_given_back() -> bool:
        return [users(each) + given(each) for each in await claims(scene)] == [[]]

    await until(scene, "it is given back", is_given_back)
    await scene.bound(1)
    await each_device_once(scene)


@scenario
async def test_answers_are_lost_and_each_device_is_allocated_once(
    scene: Scene, *, namespace: str
) -> None:
    await set_up(scene, "g-1", "g-2", count=4)
    lost = scene.proxy.swallow(STATUS, times=3)
    scene.proxy.swallow(BINDINGS, times=2)
    await scene.start()
    await scene.api.create(*(user(f"p{n}", namespace) for n in range(8)))
    await scene.bound(8)
    assert lost.hits == 3
    await each_device_once(scene)


@scenario
async def test_a_device_class_serves_extended_resources(scene: Scene, *, namespace: str) -> None:
    api = scene.api
    await api.create(queue("dept", gpu=8), queue("team-a", "dept", gpu=8))
    await api.create(device_class(extendedResourceName="nvidia.com/gpu"))
    await api.create(node("g-1", 0), devices("g-1", 2))
    await api.ready_nodes(1)
    await scene.start()
    await api.create(pod("two", namespace, 2, queue="team-a"))
    await scene.until("it is bound", lambda: "two" in scene.history.bound())
    [made] = await claims(scene)
    assert made["metadata"]["name"].startswith("two-extended-resources-")
    assert (users(made), len(given(made))) == (["two"], 2)
    claim_status = (await get(scene, "two"))["status"]["extendedResourceClaimStatus"]
    assert claim_status["resourceClaimName"] == made["metadata"]["name"]
    [mapping] = claim_status["requestMappings"]
    assert (mapping["containerName"], mapping["resourceName"]) == ("main", "nvidia.com/gpu")
    await api.delete(path_of("Pod", namespace, "two"), gracePeriodSeconds=0)

    async def is_gone() -> bool:
        return not await claims(scene)

    await until(scene, "the claim goes with its pod", is_gone)
