"""Devices of resource claims in plans."""

import dataclasses
from typing import Any

import pytest

import kai
from kai.sim.world import step

DRIVER = "gpu.nvidia.com"


def cluster(*, nodes: int = 1, devices: int = 2) -> kai.Cluster:
    """Nodes whose GPUs are published in slices, and a queue."""
    made = kai.Cluster().queue("team").add("DeviceClass", {"metadata": {"name": DRIVER}})
    for number in range(1, nodes + 1):
        name = f"n{number}"
        slice_spec = {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{i}"} for i in range(devices)],
        }
        made.node(name).add("ResourceSlice", {"metadata": {"name": name}, "spec": slice_spec})
    return made


def claim(name: str, count: int, **status: Any) -> dict[str, Any]:
    request = {"name": "gpus", "exactly": {"deviceClassName": DRIVER, "count": count}}
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "labels": {"kai.scheduler/queue": "team"},
        },
        "spec": {"devices": {"requests": [request]}},
        "status": status,
    }


def claiming(made: kai.Cluster, claims: dict[str, str]) -> kai.Cluster:
    """The cluster, with pods whose specs name a claim."""
    snapshot = made.to_snapshot()
    for pod in snapshot["rawObjects"]["pods"]:
        if name := claims.get(pod["metadata"]["name"]):
            pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
    return kai.Cluster.from_snapshot(snapshot)


def plan_of(made: kai.Cluster, **compat: str) -> kai.Plan:
    return kai.Scheduler({"compat": compat}).plan(made, now="2026-01-01T00:00:00Z")


def test_a_bind_decision_has_the_devices_of_its_claims() -> None:
    made = cluster().add("ResourceClaim", claim("c", 2)).pending("team/train")
    (bind,) = plan_of(claiming(made, {"train-0": "c"})).decisions
    assert isinstance(bind, kai.Bind)
    (given,) = bind.claims
    assert (given.name, given.claim) == ("gpu", "c")
    assert [(request, device.device) for request, device in given.devices] == [
        ("gpus", "gpu-0"),
        ("gpus", "gpu-1"),
    ]
    in_node = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    assert given.to_dict() == {
        "name": "gpu",
        "claim": "c",
        "allocation": {
            "devices": {
                "results": [
                    {"request": "gpus", "driver": DRIVER, "pool": "n1", "device": device}
                    for device in ("gpu-0", "gpu-1")
                ]
            },
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [in_node]}]},
        },
    }
    assert bind.to_dict()["claims"] == [given.to_dict()]
    assert hash(bind) == hash(dataclasses.replace(bind))
    assert "claims=(ClaimAllocation(" in repr(bind)


def test_a_decision_without_claims_prints_no_claims() -> None:
    (bind,) = plan_of(cluster().pending("team/plain")).decisions
    assert isinstance(bind, kai.Bind)
    assert bind.claims == ()
    assert "claims" not in bind.to_dict()


def test_pods_get_different_devices_until_all_are_used() -> None:
    made = cluster(devices=2).pending("team/train", pods=3)
    for name in "abc":
        made.add("ResourceClaim", claim(name, 1))
    plan = plan_of(claiming(made, {"train-0": "a", "train-1": "b", "train-2": "c"}))
    devices = [
        device.device
        for bind in plan.decisions
        if isinstance(bind, kai.Bind)
        for given in bind.claims
        for _, device in given.devices
    ]
    assert devices == ["gpu-0", "gpu-1"]
    assert [reason.code for reason in plan.pod_groups["team/train"].reasons] == ["not_enough_gpus"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"labels": {}}, "resource_claim_not_ready"),
        ({"name": "other"}, "resource_claim_not_ready"),
    ],
)
def test_an_unusable_claim_is_a_reason(change: dict[str, Any], code: str) -> None:
    given = claim("c", 1)
    given["metadata"] |= change
    made = cluster().add("ResourceClaim", given).pending("team/train")
    plan = plan_of(claiming(made, {"train-0": "c"}))
    assert plan.decisions == ()
    assert [reason.code for reason in plan.pod_groups["team/train"].reasons] == [code]


def test_devices_that_match_no_selector_are_a_reason() -> None:
    given = claim("c", 1)
    exactly = given["spec"]["devices"]["requests"][0]["exactly"]
    exactly["selectors"] = [{"cel": {"expression": "device.driver == 'tpu'"}}]
    made = cluster().add("ResourceClaim", given).pending("team/train")
    plan = plan_of(claiming(made, {"train-0": "c"}))
    (reason,) = plan.pod_groups["team/train"].reasons
    assert reason.code == "no_free_devices"
    assert "cannot allocate all DRA claims on node n1" in reason.message


def test_old_claim_formats_are_read() -> None:
    given = claim("c", 2)
    request = given["spec"]["devices"]["requests"][0]
    request |= request.pop("exactly")
    made = cluster().add("ResourceClaim", given).pending("team/train")
    snapshot = claiming(made, {"train-0": "c"}).to_snapshot()
    (published,) = snapshot["rawObjects"]["resourceSlices"]
    published["spec"]["devices"] = [
        {"name": device["name"], "basic": {}} for device in published["spec"]["devices"]
    ]
    (bind,) = plan_of(kai.Cluster.from_snapshot(snapshot)).decisions
    assert isinstance(bind, kai.Bind)
    assert len(bind.claims[0].devices) == 2


def test_an_invalid_claim_is_reported_and_the_others_are_planned() -> None:
    broken = claim("broken", 1)
    broken["spec"]["devices"]["requests"] = 7
    made = (
        cluster()
        .add("ResourceClaim", broken)
        .add("ResourceClaim", claim("c", 1))
        .pending("team/first")
        .pending("team/train")
    )
    plan = plan_of(claiming(made, {"first-0": "broken", "train-0": "c"}))
    assert [decision.pod for decision in plan.decisions] == ["team/train-0"]
    (rejected,) = plan.rejected
    assert (rejected.kind, rejected.name) == ("ResourceClaim", "team/broken")
    assert rejected.field == "spec.devices.requests"


def requesting(made: kai.Cluster, gpus: int) -> kai.Cluster:
    """The cluster, with pods that request GPUs as extended resources."""
    snapshot = made.to_snapshot()
    (device_class,) = snapshot["rawObjects"]["deviceClasses"]
    device_class["spec"] = {"extendedResourceName": "nvidia.com/gpu"}
    for pod in snapshot["rawObjects"]["pods"]:
        requests = {"cpu": "1", "nvidia.com/gpu": str(gpus)}
        pod["spec"]["containers"] = [{"name": "main", "resources": {"requests": requests}}]
    return kai.Cluster.from_snapshot(snapshot)


def test_a_bind_decision_has_the_devices_of_extended_resources() -> None:
    made = requesting(cluster(devices=1).pending("team/train"), 1)
    (bind,) = plan_of(made).decisions
    assert isinstance(bind, kai.Bind)
    assert bind.gpus == 1
    assert bind.claims == ()
    given = bind.extended_claim
    assert given is not None
    in_node = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    name = "container-0-request-1"
    assert bind.to_dict()["extended_claim"] == {
        "name": "<extended-resources>",
        "allocation": {
            "devices": {
                "results": [{"request": name, "driver": DRIVER, "pool": "n1", "device": "gpu-0"}]
            },
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [in_node]}]},
        },
        "deviceRequests": [
            {
                "name": name,
                "exactly": {
                    "deviceClassName": DRIVER,
                    "allocationMode": "ExactCount",
                    "count": 1,
                },
            }
        ],
        "containerMappings": [
            {"containerName": "main", "requestName": name, "resourceName": "nvidia.com/gpu"}
        ],
    }
    assert "extended_claim=ExtendedClaim(" in repr(bind)


def test_a_pod_keeps_its_extended_resource_devices_in_the_next_cycle() -> None:
    made = requesting(cluster(devices=2).pending("team/one").pending("team/two"), 1)
    snapshot = made.to_snapshot()
    (two,) = (pod for pod in snapshot["rawObjects"]["pods"] if pod["metadata"]["name"] == "two-0")
    snapshot["rawObjects"]["pods"].remove(two)
    first = plan_of(kai.Cluster.from_snapshot(snapshot))
    world = step(snapshot, first, now="2026-01-01T00:00:00Z")
    world["rawObjects"]["pods"].append(two)
    second = plan_of(kai.Cluster.from_snapshot(world))
    devices = [
        device.device
        for plan in (first, second)
        for bind in plan.decisions
        if isinstance(bind, kai.Bind) and bind.extended_claim
        for _, device in bind.extended_claim.devices
    ]
    assert devices == ["gpu-0", "gpu-1"]


def running_with_claim() -> kai.Cluster:
    """Pod team/train-0 runs on n1, on both devices of its claim."""
    made = cluster(nodes=2).add("ResourceClaim", claim("c", 2)).pending("team/train")
    living = claiming(made, {"train-0": "c"})
    now = "2026-01-01T00:00:00Z"
    return kai.Cluster.from_snapshot(step(living.to_snapshot(), plan_of(living), now=now))


def test_the_claim_of_a_drained_pod_is_free_for_another_node() -> None:
    world = running_with_claim()
    [held] = world.objects["resourceClaims"]
    assert held["status"]["reservedFor"]
    (bind,) = plan_of(world.copy().drain("n1")).decisions
    assert isinstance(bind, kai.Bind)
    assert bind.node == "n2"
    [before] = world.objects["resourceClaims"]
    assert before == held


@pytest.mark.parametrize(
    "change", [lambda c: c.remove("team/train"), lambda c: c.scale("team/train", 0)]
)
def test_devices_of_removed_pods_are_free(change: Any) -> None:
    world = change(running_with_claim().cordon("n2"))
    [left] = world.objects["resourceClaims"]
    assert left["status"] == {}
    world.add("ResourceClaim", claim("d", 2)).pending("team/next")
    (bind,) = plan_of(claiming(world, {"next-0": "d"})).decisions
    assert isinstance(bind, kai.Bind)
    assert bind.node == "n1"
