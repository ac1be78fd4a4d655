"""A cluster that is updated in place: objects are added, changed and deleted, and it is planned
again."""

import copy
import gc
import json
import threading
import time
from typing import Any

import pytest

import kai

NOW = "2026-01-01T00:00:00Z"


def cluster() -> kai.Cluster:
    return (
        kai.Cluster()
        .queue("a", deserved_gpus=1)
        .queue("b", deserved_gpus=1)
        .node("n1", gpus=1)
        .node("n2", gpus=1)
        .running("a/old", gpus=1, node="n1")
        .pending("a/train", pods=2, gpus=1)
        .pending("b/wide", pods=3, gpus=1, min_member=3)
    )


def pod_of(cluster: kai.Cluster, name: str) -> dict[str, Any]:
    [pod] = [each for each in cluster.objects["pods"] if each["metadata"]["name"] == name]
    return copy.deepcopy(pod) | {"kind": "Pod"}


def ended(cluster: kai.Cluster, name: str) -> dict[str, Any]:
    return pod_of(cluster, name) | {"status": {"phase": "Succeeded"}}


def fresh(cluster: kai.Cluster) -> kai.Plan:
    return kai.Scheduler().plan(kai.Cluster.from_snapshot(cluster.to_snapshot()), now=NOW)


def bound(plan: kai.Plan) -> dict[str, str]:
    return {each.pod: each.node for each in plan.decisions if isinstance(each, kai.Bind)}


def test_a_finished_pod_frees_its_room() -> None:
    living, scheduler = cluster(), kai.Scheduler()
    assert len(bound(scheduler.plan(living, now=NOW))) == 1
    plan = scheduler.plan(living.upsert(ended(living, "old-0")), now=NOW)
    assert len(bound(plan)) == 2
    assert plan == fresh(living)


@pytest.mark.parametrize("form", [json.dumps, lambda each: json.dumps(each).encode(), dict])
def test_an_object_may_be_a_mapping_or_json(form: Any) -> None:
    living = cluster()
    living.upsert(form(ended(living, "old-0")))
    assert pod_of(living, "old-0")["status"] == {"phase": "Succeeded"}
    assert len(bound(kai.Scheduler().plan(living, now=NOW))) == 2


def test_a_deleted_object_is_not_planned() -> None:
    living, scheduler = cluster(), kai.Scheduler()
    scheduler.plan(living, now=NOW)
    living.delete("Pod", "a/train-0").delete("Pod", "a/train-1").delete("Pod", "a/train-1")
    living.delete("Pod", "a/never")
    assert [each["metadata"]["name"] for each in living.objects["pods"]] == [
        "old-0",
        "wide-0",
        "wide-1",
        "wide-2",
    ]
    assert living.counts["pods"] == 4
    assert "4 pods (3 pending)" in repr(living)
    assert scheduler.plan(living, now=NOW) == fresh(living)


def test_an_object_may_arrive_before_its_references() -> None:
    source = cluster()
    living = kai.Cluster()
    kinds = {"pods": "Pod", "podGroups": "PodGroup", "nodes": "Node", "queues": "Queue"}
    scheduler = kai.Scheduler()
    for name, kind in kinds.items():
        for each in source.objects[name]:
            living.upsert({"kind": kind, **each})
        assert scheduler.plan(living, now=NOW) == fresh(living)
    assert bound(scheduler.plan(living, now=NOW)) == bound(scheduler.plan(source, now=NOW))


def test_an_event_does_not_load_the_cluster_again() -> None:
    living, scheduler = cluster(), kai.Scheduler()
    living.upsert(ended(living, "old-0"))
    compiled = living._core_cluster()
    scheduler.plan(living, now=NOW)
    living.upsert(pod_of(cluster(), "old-0")).delete("Pod", "a/train-0")
    scheduler.plan(living, now=NOW)
    living.pending("b/more", gpus=1).node("n3", gpus=1).queue("c")
    assert scheduler.plan(living, now=NOW) == fresh(living)
    assert living._core_cluster() is compiled


def test_several_schedulers_follow_one_cluster() -> None:
    living = cluster()
    schedulers = [kai.Scheduler(), kai.Scheduler(as_kai=True), kai.Scheduler({"actions": ""})]
    for name in ("old-0", "train-0", "train-1"):
        living.upsert(ended(living, name))
        plans = [each.plan(living, now=NOW) for each in schedulers]
        anew = kai.Cluster.from_snapshot(living.to_snapshot())
        assert plans == [each.plan(anew, now=NOW) for each in schedulers]
        assert not plans[2].decisions


def test_the_configuration_and_parameters_of_the_snapshot_count() -> None:
    living = cluster().configure({"actions": ""}, restrictSchedulingNodes=True)
    for each in living.objects["pods"]:
        living.upsert({**each, "kind": "Pod"})
    assert not kai.Scheduler().plan(living, now=NOW).decisions
    assert not kai.Scheduler({}).plan(living, now=NOW).decisions  # no node accepts GPU pods
    living.configure({"actions": "allocate"}, restrictSchedulingNodes=False)
    assert kai.Scheduler().plan(living, now=NOW) == fresh(living)
    assert bound(kai.Scheduler().plan(living, now=NOW))


# ---- invalid input -------------------------------------------------------------------------------


def test_an_invalid_object_is_rejected_until_a_valid_version_arrives() -> None:
    living, scheduler = cluster(), kai.Scheduler()
    good = pod_of(living, "old-0")
    bad = copy.deepcopy(good)
    bad["spec"]["containers"] = 7
    living.upsert(bad)
    [rejected] = living.rejected
    assert (rejected.kind, rejected.name, rejected.field) == ("Pod", "a/old-0", "spec.containers")
    plan = scheduler.plan(living, now=NOW)
    assert plan.rejected == living.rejected
    assert len(bound(plan)) == 2, "the version before does not linger"
    assert plan == fresh(living)
    living.upsert(good)
    assert living.rejected == scheduler.plan(living, now=NOW).rejected == ()
    living.upsert(bad).delete("Pod", "a/old-0")
    assert living.rejected == ()


def test_an_event_replaces_an_invalid_object_of_a_file() -> None:
    snapshot = cluster().to_snapshot()
    snapshot["rawObjects"]["queues"][0]["spec"] = 7
    living = kai.Cluster.from_snapshot(snapshot)
    before = living.rejected
    assert {each.name for each in before} == {"a"}
    living.upsert(pod_of(living, "old-0"))
    assert living.rejected == before
    living.upsert({"kind": "Queue", **cluster().objects["queues"][0]})
    assert living.rejected == ()


def test_an_event_removes_a_rejected_object_of_a_reader() -> None:
    living = kai.Cluster.from_snapshot(
        cluster().to_snapshot(), rejected=[kai.Rejected("Pod", "a/x", "spec", "is bad")]
    )
    assert len(living.rejected) == 1
    living.delete("Pod", "a/x")
    assert living.rejected == ()


def test_a_file_with_a_duplicate_object_is_planned() -> None:
    snapshot = cluster().to_snapshot()
    snapshot["rawObjects"]["nodes"].append(snapshot["rawObjects"]["nodes"][0])
    living, scheduler = kai.Cluster.from_snapshot(snapshot), kai.Scheduler()
    assert {each.name for each in living.rejected} == {"n1"}
    living.upsert(ended(living, "old-0"))
    assert {each.name for each in living.rejected} == {"n1"}
    assert scheduler.plan(living, now=NOW) == fresh(living)
    living.upsert({"kind": "Node", **snapshot["rawObjects"]["nodes"][0]})
    assert living.rejected == ()
    assert scheduler.plan(living, now=NOW) == fresh(living)


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ("{", "^the object is not valid JSON: byte 1"),
        ("kind: Pod", "^the object is not valid JSON: byte 0"),
        ('{"kind": "PodList", "items": []}', "plans do not use the kind PodList; give its items"),
        ("[]", "object"),
        ('{"metadata": {"name": "x"}}', "the object has no kind"),
        ('{"kind": 7, "metadata": {"name": "x"}}', "the object has no kind"),
        (
            '{"kind": "Deployment", "metadata": {"name": "x"}}',
            "plans do not use the kind Deployment",
        ),
        ('{"kind": "Pod", "metadata": {}}', "the Pod has no metadata.name"),
        ('{"kind": "Pod"}', "the Pod has no metadata.name"),
        ({"kind": "Pod", "metadata": {"name": object()}}, "not a valid value in Kubernetes"),
    ],
)
def test_an_invalid_event_raises_one_sentence(manifest: Any, sentence: str) -> None:
    living = cluster()
    before = living.to_snapshot()
    with pytest.raises(kai.InvalidClusterError, match=sentence) as error:
        living.upsert(manifest)
    assert "\n" not in str(error.value)
    assert living.to_snapshot() == before


def test_a_misspelt_kind_gets_a_suggestion() -> None:
    with pytest.raises(kai.InvalidClusterError, match="did you mean 'Pod'"):
        cluster().delete("pod", "a/old-0")
    with pytest.raises(kai.InvalidClusterError, match="did you mean 'PodGroup'"):
        cluster().upsert({"kind": "podgroup", "metadata": {"name": "x"}})


@pytest.mark.parametrize("manifest", [None, 7, []])
def test_a_value_of_another_type_is_a_type_error(manifest: Any) -> None:
    with pytest.raises(TypeError, match="takes a mapping, or JSON as text or bytes, not"):
        cluster().upsert(manifest)


def test_a_late_version_changes_nothing() -> None:
    def queue(version: str, weight: int) -> dict[str, Any]:
        metadata = {"name": "c", "resourceVersion": version}
        resources = {"gpu": {"quota": weight, "limit": -1, "overQuotaWeight": 1}}
        return {"kind": "Queue", "metadata": metadata, "spec": {"resources": resources}}

    living = cluster().upsert(queue("8", 8)).upsert(queue("7", 7))
    [kept] = [each for each in living.objects["queues"] if each["metadata"]["name"] == "c"]
    assert kept["metadata"]["resourceVersion"] == "8"
    # The same version again, edited by a person who tries things out.
    living.upsert(queue("8", 9))
    assert kai.Scheduler().plan(living, now=NOW).queues["c"].gpu.deserved == 9


# ---- the export ----------------------------------------------------------------------------------


def test_the_export_has_the_objects_of_the_cluster(tmp_path: Any) -> None:
    living = cluster()
    living.upsert(ended(living, "old-0")).delete("Pod", "a/train-0")
    living.upsert({"kind": "ConfigMap", "metadata": {"name": "m", "namespace": "a"}})
    living.save(tmp_path / "live.json")
    saved = kai.load(tmp_path / "live.json")
    assert saved.to_snapshot() == living.to_snapshot()
    living.delete("ConfigMap", "a/m")
    assert living.objects["configMaps"] == ()
    assert kai.Scheduler().plan(living, now=NOW) == fresh(living)


def test_created_and_deleted_objects_leave_no_state() -> None:
    living = cluster()
    pod = pod_of(living, "old-0")
    for number in range(50):
        pod["metadata"]["name"] = f"new-{number}"
        living.upsert(pod).delete("Pod", f"a/new-{number}")
    assert living._later == {"Pod": {}}


# ---- plans that were made before ----------------------------------------------------------------


def readable(plan: kai.Plan) -> dict[str, Any]:
    """Everything that a person or a program can read of a plan."""
    return {
        "dict": plan.to_dict(),
        "json": plan.to_json(),
        "text": str(plan),
        "why": [plan.why(name) for name in plan.pod_groups],
        "rejected": plan.rejected,
    }


@pytest.mark.parametrize("looks_before", [False, True])
def test_a_plan_stays_readable_after_later_events(looks_before: bool) -> None:
    living, scheduler = cluster(), kai.Scheduler()
    living.upsert(pod_of(living, "old-0"))
    plans, expected = [], []
    for name in ("a/train-0", "b/wide-2", "a/old-0", "a/train-1"):
        plans.append(scheduler.plan(living, now=NOW))
        anew = fresh(living)
        expected.append(readable(anew) | {"dict": None, "json": None})
        if looks_before:
            assert plans[-1] == anew
        living.delete("Pod", name)
    living.delete("Queue", "a").delete("Node", "n1").node("n4", gpus=2)
    assert scheduler.plan(living, now=NOW) == fresh(living)
    for plan, then in zip(plans, expected, strict=True):
        now = readable(plan)
        assert json.loads(now["json"]) == json.loads(json.dumps(now["dict"]))
        assert now | {"dict": None, "json": None} == then


def test_reading_the_cluster_applies_events_and_keeps_plans() -> None:
    living, scheduler = cluster(), kai.Scheduler()
    living.upsert(pod_of(living, "old-0"))
    plan = scheduler.plan(living, now=NOW)
    living.delete("Pod", "a/train-0")
    assert living.counts["pods"] == 5
    assert "a/train" in plan.pod_groups
    assert len(plan.situation.group_of_pod) == 6


def test_a_deleted_scheduler_leaves_no_engine() -> None:
    living = cluster()
    living.upsert(pod_of(living, "old-0"))
    plans = [kai.Scheduler().plan(living, now=NOW) for _ in range(5)]
    gc.collect()
    living.delete("Pod", "a/train-0")
    assert all(plan == plans[0] for plan in plans)
    assert kai.Scheduler().plan(living, now=NOW) == fresh(living)


# ---- threads -------------------------------------------------------------------------------------


def test_events_plans_and_readers_on_many_threads() -> None:
    living = kai.Cluster().queue("a").nodes("n", 20, gpus=8)
    for number in range(200):
        living.pending(f"a/job-{number:03}", gpus=1)
    pods = [copy.deepcopy(each) | {"kind": "Pod"} for each in living.objects["pods"]]
    scheduler, done = kai.Scheduler(), threading.Event()
    failures: list[BaseException] = []
    plans: list[kai.Plan] = []

    def write(mine: list[dict[str, Any]]) -> None:
        for pod in mine:
            name = f"a/{pod['metadata']['name']}"
            living.delete("Pod", name).upsert(pod).delete("Pod", name).upsert(pod)

    def plan() -> None:
        while not done.is_set():
            try:
                plans.append(scheduler.plan(living, now=NOW))
            except kai.BusyError:
                continue

    def read() -> None:
        while not done.is_set():
            for plan in plans[-3:]:
                assert len(plan.decisions) == len(list(plan.decisions))
                assert len(plan.pod_groups) == 200
                assert json.loads(plan.to_json())["now"] == NOW
            assert living.rejected == ()

    def guarded(work: Any, *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=guarded, args=(write, pods[at::2])) for at in range(2)]
    others = [threading.Thread(target=guarded, args=(work,)) for work in (plan, plan, read)]
    for thread in (*writers, *others):
        thread.start()
    for thread in writers:
        thread.join()
    while len(plans) < 2 and not failures:  # a busy machine may be slow
        time.sleep(0.01)
    done.set()
    for thread in others:
        thread.join()
    assert not failures
    assert len(plans) > 1
    assert scheduler.plan(living, now=NOW) == fresh(living)
