"""Storage of CSI drivers: free capacity, the most volumes of a node, and their zones."""

from typing import Any

import pytest

import kai

ZONE = "topology.kubernetes.io/zone"


def cluster(*claims: dict[str, Any], **params: Any) -> kai.Cluster:
    """Nodes a and b; pods p0, p1, ... in queue q, one for each claim."""
    made = kai.Cluster().queue("q")
    for node in ("a", "b"):
        made.node(node, gpus=8, labels={"host": node, ZONE: f"zone-{node}"})
    for number in range(len(claims)):
        made.pending(f"q/p{number}", gpus=1)
    if params:
        made.configure(**params)
    snapshot = made.to_snapshot()
    for pod in snapshot["rawObjects"]["pods"]:
        claim = pod["metadata"]["name"].removesuffix("-0")
        pod["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    made = kai.Cluster.from_snapshot(snapshot)
    made.add(
        "StorageClass",
        {
            "metadata": {"name": "fast"},
            "provisioner": "disk.csi",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    )
    for number, claim in enumerate(claims):
        made.add(
            "PersistentVolumeClaim",
            {
                "metadata": {
                    "namespace": "q",
                    "name": f"p{number}",
                    "annotations": {"pv.kubernetes.io/bind-completed": "yes"} if claim else {},
                },
                "spec": {
                    "storageClassName": "fast",
                    "resources": {"requests": {"storage": "60Gi"}},
                    **claim,
                },
                "status": {"phase": "Bound" if claim else "Pending"},
            },
        )
    return made


def nodes(made: kai.Cluster, **extras: bool) -> list[str]:
    plan = kai.Scheduler({"extras": extras} if extras else None).plan(made)
    return [bind.node for bind in plan.decisions if isinstance(bind, kai.Bind)]


def with_capacity(made: kai.Cluster) -> kai.Cluster:
    made.add("CSIDriver", {"metadata": {"name": "disk.csi"}, "spec": {"storageCapacity": True}})
    return made.add(
        "CSIStorageCapacity",
        {
            "metadata": {"namespace": "kube-system", "name": "at-a"},
            "storageClassName": "fast",
            "nodeTopology": {"matchLabels": {"host": "a"}},
            "capacity": "100Gi",
        },
    )


def test_claims_of_one_cycle_share_the_free_storage_of_a_driver() -> None:
    assert nodes(with_capacity(cluster({}, {}))) == ["a", "a"]  # each for itself
    made = with_capacity(cluster({}, {}, scheduleCSIStorage=True))
    plan = kai.Scheduler().plan(made)
    assert [decision.pod for decision in plan.decisions] == ["q/p0-0"]
    (reason, *_) = plan.pod_groups["q/p1"].reasons
    assert "1 no allocatable storage from storageclass fast found." in reason.message
    assert "1 node(s) did not have enough free storage for storageclass fast." in reason.message


def test_a_node_attaches_no_more_volumes_than_its_driver_allows() -> None:
    made = cluster({}, {}, {})
    made.add(
        "CSINode",
        {
            "metadata": {"name": "a"},
            "spec": {"drivers": [{"name": "disk.csi", "allocatable": {"count": 2}}]},
        },
    )
    assert nodes(made) == ["a", "a", "a"]
    assert nodes(made, volume_limits=True) == ["a", "a", "b"]


def test_a_pod_goes_to_the_zone_of_its_volume() -> None:
    made = cluster({"volumeName": "v"})
    made.add(
        "PersistentVolume",
        {
            "metadata": {"name": "v", "labels": {ZONE: "zone-b"}},
            "spec": {"storageClassName": "fast"},
        },
    )
    assert nodes(made) == ["a"]
    assert nodes(made, volume_zones=True) == ["b"]


@pytest.mark.parametrize("as_kai", [False, True])
@pytest.mark.parametrize("claims", [None, [], ["other"]])
def test_no_pod_is_evicted_for_a_pod_with_a_missing_claim(
    claims: list[str] | None, as_kai: bool
) -> None:
    made = kai.Cluster().queue("q", deserved_gpus=2).queue("r").node("n", gpus=2)
    made.running("r/borrows", gpus=1, node="n").running("q/low", gpus=1, node="n", priority=10)
    made.pending("q/waits", gpus=1, priority=60)
    snapshot = made.to_snapshot()
    scheduler = kai.Scheduler(as_kai=as_kai)

    def plan_of_waits() -> kai.Plan:
        return scheduler.plan(kai.Cluster.from_snapshot(snapshot), now="2026-01-01T00:00:00Z")

    assert [each.kind for each in plan_of_waits().decisions] == ["evict", "pipeline"]
    [pod] = [each for each in snapshot["rawObjects"]["pods"] if "waits" in each["metadata"]["name"]]
    pod["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    if claims is not None:
        snapshot["rawObjects"]["persistentVolumeClaims"] = [
            {"metadata": {"namespace": "q", "name": name}} for name in claims
        ]
    plan = plan_of_waits()
    assert plan.decisions == ()
    assert [(reason.code, reason.pod) for reason in plan.pod_groups["q/waits"].reasons] == [
        ("volume_not_ready", "q/waits-0")
    ]
    assert (
        'VolumeBinding: persistentvolumeclaim "data" not found.' in plan.pods["q/waits-0"].message
    )
