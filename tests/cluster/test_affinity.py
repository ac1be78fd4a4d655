"""Pods that have to be near other pods, while no node satisfies this (spec 2 W11).

Such a pod waits, whatever could be moved, and starts when a partner runs where it may run itself.
"""

from typing import Any

import pytest
from scene_play import scenario
from testcluster import Object, Scene, job, path_of, pod, pod_spec

from kai.api import keys

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SERIES = {"app": "series"}
HOST = "kubernetes.io/hostname"
BESIDE_THE_SERIES = {
    "podAffinity": {REQUIRED: [{"labelSelector": {"matchLabels": SERIES}, "topologyKey": HOST}]}
}


def not_on(node: str) -> Object:
    other = {"key": HOST, "operator": "NotIn", "values": [node]}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [other]}]}}}


def first_of_series(namespace: str, *, bare: bool) -> Object:
    if bare:
        return pod("first", namespace, labels=SERIES, affinity=BESIDE_THE_SERIES)
    created = job("first", namespace, 1, {**pod_spec(), "affinity": BESIDE_THE_SERIES})
    created["spec"]["template"]["metadata"]["labels"] = SERIES
    return created


async def why_it_waits(scene: Scene, name: str) -> str:
    async def read() -> Any:
        found = await scene.api.get(path_of("Pod", scene.namespace, name))
        return [
            each["message"]
            for each in found["status"].get("conditions", ())
            if (each["type"], each["status"]) == ("PodScheduled", "False")
        ]

    [message] = await scene.api.until(f"{name} has a reason", read, 15.0)
    return str(message)


async def series(scene: Scene) -> dict[str, Object]:
    found = await scene.api.items(path_of("Pod", scene.namespace))
    return {
        each["metadata"]["uid"]: each
        for each in found
        if each["metadata"].get("labels", {}).get("app") == "series"
    }


@pytest.mark.parametrize("bare", [False, True], ids=["of a job", "bare"])
@scenario
async def test_no_pod_is_moved_for_a_pod_that_has_to_be_near_it_and_may_not_be_there(
    scene: Scene, *, namespace: str, bare: bool
) -> None:
    """The pod of the job could be moved: a controller would create it again."""
    await scene.nodes(2)
    await scene.start()
    await scene.api.create(first_of_series(namespace, bare=bare))
    await scene.bound(1)
    [(uid, first)] = (await series(scene)).items()
    here = first["spec"]["nodeName"]
    [there] = {"n0", "n1"} - {here}
    affinity = {**BESIDE_THE_SERIES, **not_on(here)}
    await scene.pods(1, "second", labels=SERIES, affinity=affinity)
    message = await why_it_waits(scene, "second0")
    assert "1 node(s) didn't match pod affinity rules" in message
    assert "1 node(s) didn't match Pod's node affinity/selector" in message

    for number in range(3):  # each of them takes a plan
        await scene.pods(1, f"other{number}-")
        await scene.bound(2 + number)
    assert scene.proxy.count("delete", "pods") == 0
    assert scene.proxy.count("create", "pods", "eviction") == 0
    assert "deletionTimestamp" not in (await series(scene))[uid]["metadata"]

    await scene.pods(1, "partner", labels=SERIES, affinity=not_on(here))
    await scene.is_well(bound=6)
    second = await scene.api.get(path_of("Pod", namespace, "second0"))
    assert second["spec"]["nodeName"] == there
    assert uid in await series(scene)
    assert keys.POD_GROUP_ANNOTATION in second["metadata"]["annotations"]
