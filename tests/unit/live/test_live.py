"""kai.connect: a live cluster is followed and planned, and nothing is written."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kai
from fakes.cluster import FakeCluster
from fakes.objects import job, node, pod, priority_class, queue, small
from fakes.scenarios import in_a_loop
from kai.api.resources import VERSIONED
from kai.controllers.planning.planner import Planner
from kai.controllers.planning.turns import Inputs, Turn
from kai.live import view
from kai.live.connecting import read_once

PATIENCE_S = 20.0


def bound(plan: kai.Plan) -> dict[str, str]:
    return {each.pod: each.node for each in plan.decisions if isinstance(each, kai.Bind)}


def pipelined(plan: kai.Plan) -> list[str]:
    return [each.pod for each in plan.decisions if isinstance(each, kai.Pipeline)]


def until(is_so: Callable[[], Any]) -> Any:
    ends = time.monotonic() + PATIENCE_S
    while not (found := is_so()):
        assert time.monotonic() < ends
        time.sleep(0.02)
    return found


def test_pods_without_a_pod_group_are_planned_and_nothing_is_written(cluster: FakeCluster) -> None:
    train = job("train")
    cluster.put(*small(), train, pod("t1", owner=train), pod("t2", owner=train))
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        assert repr(live) == "<kai.Live fake: 1 node, 2 pod groups with 3 pods, 2 queues>"
        plan = live.plan()
        assert bound(plan) == {"team/p1": "n1", "team/t1": "n1"}
        assert plan.input == "fake"
        assert plan.warnings == ()
        assert "t2" not in plan.why("team/pg-train-uid-of-train")
        assert live.plan() == plan, "what was planned is not done, and so it is planned again"
    assert cluster.writes == []
    assert repr(live) == f"<kai.Live {cluster.kubeconfig}: closed>"
    with pytest.raises(kai.KaiError, match=r"closed: use kai\.connect again"):
        live.plan()


def test_a_live_cluster_changes_and_earlier_plans_do_not(cluster: FakeCluster) -> None:
    cluster.put(*small(), pod("p2", gpus=2))
    live = kai.connect(kubeconfig=cluster.kubeconfig, context="fake")
    assert repr(live) == "<kai.Live fake: not connected>"
    before = live.plan()
    assert bound(before) == {"team/p1": "n1"}
    cluster.put(node("n2", 2))
    after = until(lambda: len(bound(plan := live.plan())) == 2 and plan)
    assert bound(after) == {"team/p1": "n1", "team/p2": "n2"}
    cluster.do(cluster.server.remove, "Pod", "team", "p1")
    until(lambda: len(live.plan().pod_groups) == 1)
    assert "no GPU is free" not in before.why("team/pg-p2-uid-of-p2")
    assert set(before.free_gpus) == {"n1"}
    assert before.pod_groups["team/pg-p2-uid-of-p2"].verdict == "unschedulable"
    live.close()
    assert set(after.free_gpus) == {"n1", "n2"}
    assert cluster.writes == []


def test_a_node_selector_is_explained_without_the_nodes_themselves(cluster: FakeCluster) -> None:
    """A live cluster has no objects to find a similar label in; the explanation failed."""
    lost = pod("lost")
    lost["spec"]["nodeSelector"] = {"zone": "a"}
    cluster.put(*small(), lost)
    with kai.connect(kubeconfig=cluster.kubeconfig, context="fake") as live:
        why = live.plan().why("team/lost")
    assert why.splitlines()[1:] == ["  It can never start here: no node has zone=a."]


def test_a_pod_waits_for_a_config_map_read_as_metadata(cluster: FakeCluster) -> None:
    def config_map(name: str) -> dict[str, Any]:
        return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "team"}}

    needs = pod("needs")
    needs["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    cluster.put(*small(), config_map("other"), needs)
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        plan = live.plan()
        assert bound(plan) == {"team/p1": "n1"}
        assert "Missing required configmaps: [settings]" in plan.why("team/pg-needs-uid-of-needs")
        cluster.put(config_map("settings"))
        until(lambda: "team/needs" in bound(live.plan()))
    for kind in ("ConfigMap", "Namespace"):
        requests = cluster.requests_for(kind)
        assert requests, kind
        assert all("as=PartialObjectMetadata" in each for each in requests), kind
    assert "application/json" in cluster.requests_for("Pod")


@in_a_loop
async def test_inside_a_running_event_loop(*, cluster: FakeCluster) -> None:
    cluster.put(*small())
    async with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        assert bound(live.plan()) == {"team/p1": "n1"}
        assert bound(await asyncio.to_thread(live.plan)) == {"team/p1": "n1"}


def test_objects_created_before_a_refresh_are_in_the_next_plan(cluster: FakeCluster) -> None:
    cluster.put(*small())
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        for number in range(3):
            cluster.put(node(f"more-{number}", 1))
            live.refresh()
            assert len(live.plan().free_gpus) == 2 + number


def test_other_schedulers_can_plan_a_live_cluster(cluster: FakeCluster) -> None:
    cluster.put(*small())
    allocates_nothing = kai.Scheduler({"actions": "reclaim"})
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        assert bound(live.plan(allocates_nothing)) == {}
        assert bound(live.plan(now="2027-01-01T00:00:00Z")) == {"team/p1": "n1"}
        assert live.plan(now="2027-01-01T00:00:00Z").now_text == "2027-01-01T00:00:00Z"
    with kai.connect(kubeconfig=cluster.kubeconfig, config={"actions": "reclaim"}) as live:
        assert bound(live.plan()) == {}
    with kai.connect(kubeconfig=cluster.kubeconfig, scheduler_name="other") as live:
        assert live.plan().pod_groups == {}


def test_a_promise_of_an_earlier_plan_does_not_affect_a_later_one(cluster: FakeCluster) -> None:
    """A scheduler keeps its promises; a view makes none, because its plans are not carried out."""
    low = pod("low", gpus=2, priority="train")
    low["spec"]["nodeName"], low["status"]["phase"] = "n1", "Running"
    classes = [
        priority_class("train", 50),
        priority_class("build", 100),
        priority_class("top", 110),
    ]
    queues = [queue("top"), queue("a", "top")]
    cluster.put(*classes, *queues, node("n1", 2), low, pod("high", gpus=2, priority="build"))
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        scheduler = kai.Scheduler()
        assert pipelined(live.plan(scheduler)) == ["team/high"]
        low["metadata"]["deletionTimestamp"] = live.plan().now_text
        cluster.put(low, pod("higher", gpus=2, priority="top"))
        live.refresh()
        assert pipelined(live.plan(scheduler)) == ["team/higher"]


def test_a_snapshot_is_a_copy_for_changes(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.put(*small(), pod("p2", gpus=2))
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        copy = live.snapshot()
        plan = live.plan(now=copy.now)
    assert kai.Scheduler().plan(copy) == plan
    larger = copy.copy().add_nodes(1, like="n1")
    assert len(bound(kai.Scheduler().plan(larger))) == 2
    copy.save(tmp_path / "s.zip")
    assert bound(kai.Scheduler().plan(kai.load(tmp_path / "s.zip"))) == bound(plan)
    assert cluster.writes == []


# ---- what goes wrong -----------------------------------------------------------------------------


def test_missing_kinds_are_named_with_advice(cluster: FakeCluster) -> None:
    cluster.api.lacks = {"PodGroup", "Topology", "BindRequest"}
    cluster.put(*small())
    message = r"the cluster has no podgroups\.scheduling\.run\.ai; .*kai install --crds-only"
    with pytest.raises(kai.RefusedError, match=message):
        kai.connect(kubeconfig=cluster.kubeconfig).plan()
    cluster.api.lacks = {"Topology", "BindRequest"}
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        assert bound(live.plan()) == {"team/p1": "n1"}
        assert live.plan().warnings == ()


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_a_missing_right_is_named(
    cluster: FakeCluster, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "PATIENCE_S", 0.1)
    cluster.put(*small())
    cluster.api.forbidden = {f"{verb} Queue"}
    with pytest.raises(kai.RefusedError, match=f"user ann may not {verb} queues"):
        kai.connect(kubeconfig=cluster.kubeconfig).open()


def test_unreadable_owners_cause_a_warning(cluster: FakeCluster) -> None:
    train = job("train")
    cluster.put(*small(), train, pod("t1", owner=train))
    cluster.api.forbidden = {"get Job"}
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        plan = live.plan()
    assert bound(plan) == {"team/p1": "n1", "team/t1": "n1"}
    [warning] = plan.warnings
    assert warning.startswith("Job team/train: their pods are grouped without their owners: ")


def test_owners_created_during_grouping_count(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, turn = job("train"), Planner.turn

    def slow(planner: Planner, inputs: Inputs) -> Turn:
        done = turn(planner, inputs)
        time.sleep(0.1)
        return done

    monkeypatch.setattr(Planner, "turn", slow)
    cluster.put(*small(), train, pod("t1", owner=train))
    seen = read_once(kubeconfig=cluster.kubeconfig)
    assert bound(kai.Scheduler().plan(seen)) == {"team/p1": "n1", "team/t1": "n1"}


def test_owners_of_pods_that_are_in_a_group_are_not_read(cluster: FakeCluster) -> None:
    train = job("train")
    grouped = pod("t1", owner=train)
    grouped["metadata"]["annotations"] = {"pod-group-name": "g"}
    cluster.put(*small(), train, grouped)
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        live.plan()
    assert not [path for path in cluster.reads if "jobs" in path]


def test_a_plan_of_an_unreachable_cluster_has_a_warning(cluster: FakeCluster) -> None:
    cluster.put(*small())
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        assert live.plan().warnings == ()
        cluster.stop_serving()
        warnings = until(lambda: live.plan().warnings)
        assert any("this may be out of date" in each for each in warnings)
        assert bound(live.plan()) == {"team/p1": "n1"}


def test_a_server_that_cannot_be_reached(cluster: FakeCluster) -> None:
    cluster.stop_serving()
    live = kai.connect(kubeconfig=cluster.kubeconfig)
    for _ in range(2):
        with pytest.raises(kai.UnreachableError, match=r"127\.0\.0\.1"):
            live.plan()


def test_a_mistyped_argument() -> None:
    with pytest.raises(TypeError, match="no argument 'contxt'; did you mean 'context'"):
        kai.connect(contxt="staging")  # type: ignore[call-arg]


@pytest.mark.parametrize("version", ["v1", "v1beta1", None])
def test_resource_claims_are_read_at_the_version_that_the_server_has(
    cluster: FakeCluster, version: str | None
) -> None:
    """None: the server has none (spec 3 D1)."""
    cluster.put(priority_class("train", 50), queue("top"), queue("a", "top"), node("n1", 0))
    wants = pod("p", gpus=0)
    wants["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "c"}]
    request = {"name": "gpu", "deviceClassName": "gpu.nvidia.com"}
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"namespace": "team", "name": "c", "labels": {"kai.scheduler/queue": "a"}},
        "spec": {"devices": {"requests": [request]}},
    }
    device_class = {"kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"}, "spec": {}}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "nodeName": "n1", "pool": pool}
    devices = {**spec, "devices": [{"name": "gpu-0", "basic": {}}]}
    cluster.put(wants)
    if version is None:
        cluster.api.lacks |= VERSIONED
    else:
        cluster.api.claims_version = version
        slices = {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": devices}
        cluster.put(claim, device_class, slices)
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        plan = live.plan()
        taken = live.snapshot()
    again = kai.Scheduler().plan(taken)
    for each in (plan, again):
        if version is None:
            assert "dynamic resource allocation is not available" in each.why("team/p")
        else:
            [bind] = each.decisions
            assert (bind.pod, bind.node) == ("team/p", "n1")
            assert [given.claim for given in bind.claims] == ["c"]
