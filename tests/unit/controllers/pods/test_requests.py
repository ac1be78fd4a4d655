"""Decisions become BindRequests; those that failed, or whose pod or node is gone, are deleted."""

from typing import Any

import pytest
from made import request

import kai
from fakes.played import Scheduler, Steps
from fakes.writes import DONE, LOST, body_of
from kai.api import keys
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.grouper import GroupChange
from kai.controllers.pods.bind_requests import Request, Target, spec_of
from kai.controllers.pods.decisions import Binding
from kai.engine.claims import Device
from kai.engine.values import Bind, NumaZone

CONFLICT = Outcome(Result.CONFLICT, 409, "AlreadyExists", 'bindrequests "a-0" already exists')
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "no")
STAMP = "2026-01-01T00:00:00Z"
THERE = Target("uid-a-0", "", has_node=True)


def binder(**options: Any) -> Scheduler:
    return Scheduler(by="bind-requests", **options)


def binding(name: str = "a-0", node: str = "n1", **more: Any) -> Binding:
    options = {"assumption": 7, "group": "pg-a"} | more
    return Binding(f"team/{name}", f"uid-{name}", node, **options)


def shown(to: Scheduler, now: float = 1.0, **status: Any) -> Steps:
    return to.request_seen(now, Request.of(request(**status)))


def checked(by: Scheduler, now: float, target: Target = THERE) -> Steps:
    """Answers all its checks."""
    steps = Steps()
    for each in by.requests_to_check(now):
        found = by.request_checked(now, each, target)
        steps.writes += found.writes
        steps.failed += found.failed
        steps.refused += found.refused
        steps.stuck += found.stuck
    return steps


def names(steps: Steps) -> list[str]:
    return [f"{each.verb} {each.kind}" for each in steps.writes]


def begin(by: Scheduler, *bindings: Binding, now: float = 0.0) -> Steps:
    return by.begin(now, STAMP, bindings, ())


def created(by: Scheduler) -> Write:
    [write] = begin(by, binding()).writes
    return write


@pytest.fixture
def by() -> Scheduler:
    return binder()


def test_a_request_that_fails_and_goes_after_its_pod_leaves_nothing() -> None:
    """The pod was held back for ever, though it does not exist."""
    for happens in ("gone", "checked"):
        by = binder()
        shown(by)
        by.requests_to_check(1.0)
        by.pod_gone("team/a-0", "uid-a-0")
        shown(by, 2.0, phase="Failed", version="2")
        if happens == "gone":
            by.pods.requests.gone("team/a-0", "request-a-0")
        else:
            [request] = by.requests_to_check(2.0)
            by.pods.requests.gone("team/a-0", "request-a-0")
            by.request_checked(2.0, request, Target(has_node=True))
        assert by.held_back() == []


# ---- what is written -----------------------------------------------------------------------------


def test_a_decision_becomes_a_bind_request() -> None:
    rank = {keys.TOPOLOGY_RANK_ANNOTATION: "3"}
    by = binder(pool="blue")
    [write] = begin(by, binding(spec={"receivedResourceType": "Regular"}, annotations=rank)).writes
    assert (write.kind, write.namespace, write.name) == ("BindRequest", "team", "a-0")
    assert write.body == {
        "apiVersion": "scheduling.run.ai/v1alpha2",
        "kind": "BindRequest",
        "metadata": {
            "name": "a-0",
            "namespace": "team",
            "labels": {"selected-node": "n1", "kai.scheduler/node-pool": "blue"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "a-0", "uid": "uid-a-0"}
            ],
            "annotations": {"kai.scheduler/topology-rank": "3"},
        },
        "spec": {"podName": "a-0", "selectedNode": "n1", "receivedResourceType": "Regular"},
    }


def test_the_label_for_a_node_with_a_long_name_is_cut() -> None:
    """The name of a node has up to 253 characters, the value of a label up to 63."""
    names = [f"{'node-' * 20}{end}" for end in ("a", "b")]
    bodies: list[Any] = []
    for node in names:
        [write] = begin(binder(), binding(node=node)).writes
        bodies.append(write.body)
    assert [each["spec"]["selectedNode"] for each in bodies] == names
    labels = {each["metadata"]["labels"]["selected-node"] for each in bodies}
    assert [len(each) for each in labels] == [63, 63]


def test_devices_have_kais_format() -> None:
    """Recordings 01, 02, 06 and 18 of KAI's control plane."""

    def devices(**more: Any) -> tuple[str, dict[str, Any]]:
        spec = spec_of(Bind("a/x", "n1", **more))
        return spec["receivedResourceType"], spec["receivedGPU"]

    assert devices() == ("Regular", {"portion": "0.00"})
    assert devices(gpus=1) == ("Regular", {"count": 1, "portion": "1.00"})
    assert devices(gpus=2) == ("Regular", {"count": 2, "portion": "1.00"})
    half = {"gpus": 0.5, "devices": 1, "portion": 0.5, "gpu_groups": ("g",)}
    assert devices(**half) == ("Fraction", {"count": 1, "portion": "0.50"})
    eighth = {"gpus": 0.25, "devices": 2, "portion": 0.125, "gpu_groups": ("g", "h")}
    assert devices(**eighth) == ("Fraction", {"count": 2, "portion": "0.12"})


def test_a_request_has_shared_devices_claims_and_zones() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", gpu_fraction=0.5)
    [bind] = kai.Scheduler().plan(cluster).decisions
    assert isinstance(bind, Bind)
    assert spec_of(bind)["selectedGPUGroups"] == list(bind.gpu_groups)

    device = Device(driver="gpu.nvidia.com", pool="n1", device="gpu-0")
    claim = kai.ClaimAllocation(name="gpu", claim="train-gpu", devices=(("gpu", device),))
    zone = NumaZone("0", {"cpu": 1.5, "memory": 2**30})
    spec = spec_of(Bind("a/x", "n1", gpus=1, claims=(claim,), numa_zones=(zone,)))
    assert spec["receivedGPU"] == {"portion": "0.00"}  # the claim's device is not counted again
    [allocation] = spec["resourceClaimAllocations"]
    assert sorted(allocation) == ["allocation", "name"]
    assert spec["predictedNUMAZones"] == [
        {"zone": "0", "amount": {"cpu": "1500m", "memory": "1073741824"}}
    ]


def test_a_pod_without_its_group_annotation_is_patched_first(by: Scheduler) -> None:
    change = GroupChange({"metadata": {"namespace": "team", "name": "pg-a"}, "spec": {}})
    by.add_group(change)
    [group] = begin(by, binding(names_group=False)).writes
    steps = by.answered(0, group, DONE)
    assert names(steps) == ["patch Pod"]
    assert names(by.answered(0, steps.writes[0], DONE)) == ["create BindRequest"]


# ---- creation ------------------------------------------------------------------------------------


def test_a_created_request_waits_for_its_result(by: Scheduler) -> None:
    write = created(by)
    assert by.answered(1, write, DONE) == Steps()
    assert by.under_way == 0
    assert shown(by) == Steps()
    steps = shown(by, version="2", phase="Succeeded")
    assert [(each.pod, each.node, each.request) for each in steps.bound] == [
        ("team/a-0", "n1", "team/a-0")
    ]
    assert shown(by, version="3", phase="Succeeded") == Steps()


def test_a_request_that_is_finished_when_first_listed(by: Scheduler) -> None:
    by.answered(1, created(by), DONE)
    assert len(shown(by, phase="Succeeded").bound) == 1


def test_a_finished_request_of_an_earlier_process_writes_nothing() -> None:
    assert shown(binder(), phase="Succeeded") == Steps()


def test_a_creation_without_an_answer_that_happened(by: Scheduler) -> None:
    [read] = by.answered(1, created(by), LOST).look
    assert read.kind == "BindRequest"
    assert by.in_doubt == 1
    assert by.seen(2, read, request()) == Steps()
    assert by.in_doubt == by.under_way == 0


def test_a_creation_without_an_answer_that_did_not_happen_is_repeated(by: Scheduler) -> None:
    [read] = by.answered(1, created(by), LOST).look
    [again] = by.seen(2, read, None).writes
    assert body_of(again)["spec"]["selectedNode"] == "n1"
    [read] = by.answered(3, again, CONFLICT).look  # it came late
    assert by.seen(3, read, request()) == Steps()
    assert by.in_doubt == 0


def test_an_existing_request_for_the_pod_is_kept(by: Scheduler) -> None:
    [read] = by.answered(1, created(by), CONFLICT).look
    steps = by.seen(1, read, request(node="n2"))
    assert steps == Steps()
    assert by.tick(2).forget == [7]


def test_another_request_with_the_name_ends_the_doubt(by: Scheduler) -> None:
    """The name is in use, so the creation under way has no effect."""
    [read] = by.answered(1, created(by), LOST).look
    by.seen(1, read, request(node="n2"))
    assert by.in_doubt == 0


def test_a_stale_request_with_the_name_is_deleted_and_the_pod_planned_again() -> None:
    for found in (request(phase="Failed"), request(owner="earlier")):
        by = binder()
        [read] = by.answered(1, created(by), CONFLICT).look
        steps = by.seen(1, read, found)
        assert names(steps) == ["delete BindRequest"]
        [write] = steps.writes
        assert body_of(write)["preconditions"] == {"uid": "request-a-0"}
        assert by.answered(1, write, DONE) == Steps()
        assert by.tick(2).forget == [7]


def test_a_deleted_stale_request_does_not_end_the_doubt(by: Scheduler) -> None:
    [read] = by.answered(1, created(by), LOST).look
    [write] = by.seen(1, read, request(phase="Failed")).writes
    assert (write.verb, write.kind) == ("delete", "BindRequest")
    by.answered(1, write, DONE)
    due = by.next_tick()
    assert due is not None
    steps = by.tick(due)
    assert steps.forget == []
    assert [each.kind for each in steps.look] == ["BindRequest"]


def test_a_creation_that_is_refused_has_a_reason(by: Scheduler) -> None:
    steps = by.answered(1, created(by), REFUSED)
    assert [why for _, why in steps.failed] == ["no"]
    assert by.tick(2).forget == [7]


def test_a_request_that_is_missing_from_the_watch_is_read(by: Scheduler) -> None:
    """It was deleted while the watch was interrupted. Otherwise its place would stay reserved for
    ever."""
    by.answered(1, created(by), DONE)
    assert by.tick(1) == by.tick(15.9) == Steps()
    assert by.next_tick() == 16
    [read] = by.tick(16).look
    assert read.kind == "BindRequest"
    assert by.seen(16, read, None).forget == [7]
    assert by.next_tick() is None


def test_a_request_that_exists_and_is_not_shown_is_read_after_growing_waits(by: Scheduler) -> None:
    by.answered(1, created(by), DONE)
    by.tick(1)
    times = []
    while (due := by.next_tick()) is not None and due < 300:
        [read] = by.tick(due).look
        assert by.seen(due, read, request()) == Steps()
        times.append(due)
    assert times == [16, 46, 106, 226]


def test_a_request_that_was_not_sent_after_a_lost_lease_is_forgotten(by: Scheduler) -> None:
    outcome = Outcome(Result.FAILED, 0, NOT_LEADING)
    assert by.answered(1, created(by), outcome) == Steps(forget=[7])


# ---- what becomes of it --------------------------------------------------------------------------


def failed(by: Scheduler, now: float) -> None:
    """A request of the pod exists, fails, and is deleted."""
    shown(by, now)
    checked(by, now)
    shown(by, now, version="2", phase="Failed", reason="policy says no")
    steps = checked(by, now)
    assert [why for _, why in steps.failed] == ["policy says no"]
    assert names(steps) == ["delete BindRequest"]
    by.pods.requests.gone("team/a-0", "request-a-0")


def test_a_pod_whose_request_failed_waits_longer_each_time() -> None:
    by, now = binder(), 100.0
    for wait in (1, 2, 4, 8, 16, 30, 30):
        failed(by, now)
        assert begin(by, binding(), now=now).writes == []  # the plan does not know of the wait
        assert by.tick(now + wait - 0.1) == Steps()
        now += wait
        assert by.tick(now).forget == [7]
        [write] = begin(by, binding(), now=now).writes
        assert (write.verb, write.kind) == ("create", "BindRequest")
        by.answered(now, write, DONE)
    shown(by, now)
    shown(by, now, version="2", phase="Succeeded")
    by.pods.requests.gone("team/a-0", "request-a-0")
    failed(by, now)
    assert by.next_tick() == now + 1


def test_a_pod_whose_requests_fail_three_times_in_a_row_leaves_its_room_to_others() -> None:
    """Otherwise it would be planned to this node for ever, although others have room."""
    by, now, why = binder(), 0.0, "failed waiting for GPU reservation pod to allocate: gpus/x"
    for fails in (1, 2, 3, 4):
        shown(by, now)
        shown(by, now, version="2", phase="Failed", reason=why)
        steps = checked(by, now)
        assert [(each.node, text) for each, text in steps.stuck] == [("n1", why)] * (fails > 2)
        by.pods.requests.gone("team/a-0", "request-a-0")
        now += 100
        by.tick(now)


def test_a_plan_before_the_deletion_does_not_extend_the_wait(by: Scheduler) -> None:
    shown(by, 1)
    shown(by, 1, version="2", phase="Failed")
    assert begin(by, binding(), now=1).writes == []
    assert by.next_tick() == 2
    by.pods.requests.gone("team/a-0", "request-a-0")
    assert by.tick(2).forget == [7]


def test_a_pod_gets_no_new_request_while_its_failed_one_exists(by: Scheduler) -> None:
    shown(by, phase="Failed")
    assert begin(by, binding(), now=1).writes == []
    assert by.under_way == 0


def test_a_failed_request_with_tries_left_is_kept(by: Scheduler) -> None:
    shown(by, limit=3)
    steps = shown(by, version="2", limit=3, phase="Failed", failedAttempts=2)
    assert steps == checked(by, 1) == Steps()
    shown(by, version="3", limit=3, phase="Failed", failedAttempts=3)
    assert names(checked(by, 1)) == ["delete BindRequest"]


def test_a_failed_request_of_a_bound_pod_is_deleted_without_an_event(by: Scheduler) -> None:
    shown(by, phase="Failed")
    steps = checked(by, 1, Target("uid-a-0", "n2", has_node=True))
    assert names(steps) == ["delete BindRequest"]
    assert steps.failed == []
    assert by.pods.held_back() == []


def test_a_request_for_an_earlier_pod_of_the_name_is_deleted(by: Scheduler) -> None:
    shown(by, phase="Succeeded")
    assert checked(by, 1) == Steps()
    by.pod_gone("team/a-0", "uid-a-0")
    assert checked(by, 1, Target()) == Steps()  # it is deleted with its pod
    assert by.next_tick() == 3
    assert names(checked(by, 3, Target("another", "", has_node=True))) == ["delete BindRequest"]


def test_a_request_whose_node_was_deleted_is_deleted(by: Scheduler) -> None:
    shown(by)
    assert checked(by, 1) == Steps()
    by.hold(["n2"], ())
    assert by.requests_to_check(1) == []
    by.hold(["n1"], ())
    assert names(checked(by, 1, Target("uid-a-0", "", has_node=False))) == ["delete BindRequest"]


def test_a_successful_request_is_deleted_with_its_node(by: Scheduler) -> None:
    shown(by, phase="Succeeded")
    assert checked(by, 1, Target("uid-a-0", "n1", has_node=True)) == Steps()
    by.hold(["n1"], ())
    gone = Target("uid-a-0", "n1", has_node=False)
    assert names(checked(by, 2, gone)) == ["delete BindRequest"]


def test_requests_of_other_node_pools_are_skipped() -> None:
    by = binder(pool="blue")
    shown(by, phase="Failed", labels={"kai.scheduler/node-pool": "red"})
    assert checked(by, 1) == Steps()
    shown(by, name="b", phase="Failed", labels={"kai.scheduler/node-pool": "blue"})
    assert names(checked(by, 1, Target("uid-b", "", has_node=True))) == ["delete BindRequest"]


def test_a_deletion_that_failed_is_tried_again(by: Scheduler) -> None:
    shown(by, phase="Failed")
    [write] = checked(by, 1).writes
    assert by.answered(1, write, Outcome(Result.FAILED, 503)) == Steps()
    assert by.next_tick() is not None
    assert by.requests_to_check(2) == []
    assert names(checked(by, 3)) == ["delete BindRequest"]


def test_direct_binding_also_removes_old_requests() -> None:
    by = Scheduler()
    shown(by, phase="Failed", reason="no")
    assert names(checked(by, 1)) == ["delete BindRequest"]
    assert begin(by, binding(), now=1).writes == []
    assert by.tick(2).forget == [7]
    assert names(begin(by, binding(), now=2)) == ["create Pod"]


def test_missing_fields_of_an_object_are_empty() -> None:
    bare = Request.of({"metadata": {"namespace": "team", "name": "a-0"}})
    assert (bare.pod, bare.owner, bare.node, bare.limit) == ("team/a-0", "", "", None)
    assert not bare.is_over


# ---- nodes that refuse ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "refused"),
    [
        ('failed to bind pod <a> to node <n1>: admission webhook "w" denied the request: no', True),
        ("pods \"a-0\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no", True),
        ('Internal error occurred: failed calling webhook "w": no answer', False),
        ("failed waiting for GPU reservation pod to allocate: gpus/x", False),
    ],
)
def test_the_reason_of_a_failed_request_shows_whether_the_node_was_refused(
    by: Scheduler, reason: str, refused: bool
) -> None:
    """KAI's binder and ours write the text of the API server there."""
    shown(by, phase="Failed", reason=reason, failedAttempts=1)
    steps = checked(by, 1.0)
    assert [why for _, why in steps.failed] == [reason]
    assert [why for _, why in steps.refused] == ([reason] if refused else [])
