"""Free MIG slices of nodes: what the containers of a pod need at once."""

from __future__ import annotations

from typing import Any

import pytest

import kai
from kai.engine.slices import slices_of

RESOURCE = "nvidia.com/mig-1g.5gb"


def container(slices: int, **fields: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {RESOURCE: str(slices)}}, **fields}


@pytest.mark.parametrize(
    ("init", "needed"),
    [
        ([container(3), container(1, restartPolicy="Always")], 3),
        ([container(1, restartPolicy="Always"), container(3)], 4),
        ([container(2, restartPolicy="Always")], 3),
        ([], 1),
    ],
)
def test_a_pod_holds_what_its_containers_need_at_once(init: list[Any], needed: int) -> None:
    labels = {"nvidia.com/mig.strategy": "mixed"}
    cluster = kai.Cluster().queue("a").node("n1", labels=labels, resources={RESOURCE: 7})
    cluster.running("a/x", node="n1", resources={RESOURCE: 1})
    [pod] = cluster.objects["pods"]
    spec = {**pod["spec"], "initContainers": init}
    cluster.upsert({**pod, "kind": "Pod", "spec": spec})
    slices = slices_of(cluster, kai.Scheduler().plan(cluster))
    assert slices["n1"]["1g.5gb"].free == 7 - needed
