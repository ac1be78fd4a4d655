"""Which pods are grouped, in which order, and the resulting writes (spec 6 C24)."""

from typing import Any

import pytest

from kai.api.writes import Lane
from kai.controllers.grouper import Decided, Grouper, Reference, Rules

QUEUE, SKIP, GROUP = "kai.scheduler/queue", "kai.scheduler/skip-podgrouper", "pod-group-name"
RULES = Rules(classes=frozenset(("train", "build", "inference")))
API = {"ReplicaSet": "apps/v1", "Deployment": "apps/v1", "Widget": "example.com/v1"} | {
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "PyTorchJob": "kubeflow.org/v1",
    "Job": "batch/v1",
}


def uid_of(name: str) -> str:
    return f"{sum(map(ord, name)):08x}-0000-4000-8000-000000000000"


def pod(
    name: str, owner: Reference | None = None, *, second: int = 0, spec: Any = None, **more: Any
) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml", "uid": uid_of(name), **more}
    metadata["creationTimestamp"] = f"2026-01-01T00:00:{second:02}Z"
    if owner is not None:
        version, kind, _, owner_name, uid = owner
        reference = {"apiVersion": version, "kind": kind, "name": owner_name, "uid": uid}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"schedulerName": "kai-scheduler", **(spec or {})},
        "status": {"phase": "Pending"},
    }


def ref(kind: str, name: str) -> Reference:
    return Reference(API[kind], kind, "ml", name, uid_of(name))


def an(kind: str, name: str, spec: Any = None, **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml", "uid": uid_of(name), **metadata}
    return {"apiVersion": API[kind], "kind": kind, "metadata": metadata, "spec": spec or {}}


def grouper(*pods: dict[str, Any]) -> Grouper:
    made = Grouper(RULES)
    for each in pods:
        made.put_pod(each)
    return made


def asked(*pods: dict[str, Any]) -> Grouper:
    """It has decided once, and needs the owners of the pods."""
    made = grouper(*pods)
    made.decide()
    return made


def names(decided: Decided) -> list[str]:
    return [each.manifest["metadata"]["name"] for each in decided.groups]


def group_of(name: str) -> str:
    return f"pg-{name}-{uid_of(name)}"


def named(pod: dict[str, Any], group: str) -> dict[str, Any]:
    """The pod once it names this group."""
    annotations = {**pod["metadata"].get("annotations", {}), GROUP: group}
    return {**pod, "metadata": {**pod["metadata"], "annotations": annotations}}


def is_quiet(decided: Decided) -> bool:
    return decided == Decided()


# ---- bare pods -----------------------------------------------------------------------------------


def test_a_bare_pod_gets_a_group_and_its_annotation() -> None:
    decided = grouper(pod("p", labels={QUEUE: "q"})).decide()
    create, patch = decided.writes()
    assert (create.lane, create.verb, create.kind, create.name) == (
        Lane.BINDING, "create", "PodGroup", group_of("p"),
    )  # fmt: skip
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid_of("p")}
    described = f'name: p\nuid: {uid_of("p")}\ngroup: ""\nversion: v1\nkind: Pod\n'
    assert create.body == {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": group_of("p"),
            "namespace": "ml",
            "labels": {QUEUE: "q"},
            "annotations": {"kai.scheduler/top-owner-metadata": described},
            "ownerReferences": [owner],
        },
        "spec": {"queue": "q", "minMember": 1, "priorityClassName": "train"},
    }
    assert (patch.verb, patch.kind, patch.name) == ("patch", "Pod", "p")
    assert patch.body == {"metadata": {"uid": uid_of("p"), "annotations": {GROUP: group_of("p")}}}


@pytest.mark.parametrize("limit", ["backoffLimit", "backoffLimitPerIndex"])
def test_pods_of_a_job_without_retries_are_marked_as_not_movable(limit: str) -> None:
    made = asked(pod("p", ref("Job", "j")))
    made.put_object(ref("Job", "j"), an("Job", "j", {limit: 0, "template": {}}))
    [assignment] = made.decide().assignments
    annotations: Any = assignment.patch["annotations"]
    assert annotations == {GROUP: group_of("j"), "kai.scheduler/movable": "false"}


def test_a_pod_that_names_its_group_without_the_mark_gets_it_once() -> None:
    """A binding by a BindRequest brings the name of the group alone."""
    made = asked(pod("p", ref("Job", "j")))
    made.put_object(ref("Job", "j"), an("Job", "j", {"backoffLimit": 0}))
    made.decide()
    mark = {"kai.scheduler/movable": "false"}
    marked = named(pod("p", ref("Job", "j"), annotations=mark), group_of("j"))
    seen = (named(pod("p", ref("Job", "j")), group_of("j")),) * 2 + (marked,)
    written = []
    for each in seen:
        made.put_pod(each)
        written += [assignment.patch for assignment in made.decide().assignments]
    assert written == [{"annotations": mark}]
    assert len(made) == 0


def test_a_mark_that_is_neither_true_nor_false_counts_as_absent() -> None:
    made = asked(pod("p", ref("Job", "j"), annotations={"kai.scheduler/movable": "yes"}))
    made.put_object(ref("Job", "j"), an("Job", "j", {"backoffLimit": 0}))
    [assignment] = made.decide().assignments
    annotations: Any = assignment.patch["annotations"]
    assert annotations == {GROUP: group_of("j"), "kai.scheduler/movable": "false"}


def test_other_pods_and_pods_with_a_mark_of_their_own_are_not_marked() -> None:
    marked = pod("q", ref("Job", "j"), annotations={"kai.scheduler/movable": "true"})
    made = asked(pod("p", ref("Job", "k")), marked, pod("bare"))
    made.put_object(ref("Job", "j"), an("Job", "j", {"backoffLimit": 0}))
    made.put_object(ref("Job", "k"), an("Job", "k", {"backoffLimit": 6}))
    for assignment in made.decide().assignments:
        annotations: Any = assignment.patch["annotations"]
        assert set(annotations) == {GROUP}


def test_a_group_can_be_created_with_its_last_start() -> None:
    [change] = grouper(pod("p", second=7)).decide().groups
    assert change.manifest["metadata"]["creationTimestamp"] == "2026-01-01T00:00:07Z"
    body: Any = change.write(last_start="2026-01-01T00:00:09Z").body
    stamp = body["metadata"]["annotations"]["kai.scheduler/last-start-timestamp"]
    assert stamp == "2026-01-01T00:00:09Z"
    assert "creationTimestamp" not in body["metadata"]


def test_pods_are_grouped_in_order_of_creation() -> None:
    """KAI's two caches race: a pod that lost is grouped a second later (spec 6 S3)."""
    late, early, also_early = pod("a", second=2), pod("c", second=1), pod("b", second=1)
    decided = grouper(late, early, also_early).decide()
    assert names(decided) == [group_of("c"), group_of("b"), group_of("a")]


def test_a_pod_with_its_group_annotation_is_forgotten() -> None:
    made = asked(bare := pod("p"))
    made.put_pod(bare)
    assert is_quiet(made.decide()), "what was decided is not decided again"
    made.put_pod(named(bare, group_of("p")))
    assert is_quiet(made.decide())
    assert (len(made), made._groups, made._objects) == (0, {}, {})


def test_pods_that_need_no_group_are_skipped() -> None:
    made = grouper(
        pod("other") | {"spec": {"schedulerName": "default-scheduler"}},
        pod("skipped", annotations={SKIP: "true"}),
        pod("own", annotations={GROUP: "mine"}),
        pod("done") | {"status": {"phase": "Succeeded"}},
        pod("leaving", deletionTimestamp="2026-01-01T00:00:00Z"),
    )
    assert is_quiet(made.decide())
    assert len(made) == 0


def test_the_skip_annotation_false_does_not_skip() -> None:
    assert names(grouper(pod("p", annotations={SKIP: "false"})).decide()) == [group_of("p")]


def test_a_recreated_pod_is_grouped_again() -> None:
    made = asked(pod("p"))
    again = pod("p")
    again["metadata"]["uid"] = uid = "11111111-0000-4000-8000-000000000000"
    made.put_pod(again)
    made.pod_gone("ml/p", uid_of("p"))  # the first pod's deletion is reported late
    [assignment] = made.decide().assignments
    assert (assignment.uid, assignment.group) == (uid, f"pg-p-{uid}")


def test_a_recreated_pod_is_grouped_after_the_first_was_forgotten() -> None:
    """Both events arrive at once, and the labels are the same."""
    made = asked(pod("p"))
    made.put_pod(named(pod("p"), group_of("p")))
    assert (len(made), is_quiet(made.decide())) == (0, True)
    again = pod("p")
    again["metadata"]["uid"] = uid = "11111111-0000-4000-8000-000000000000"
    made.put_pod(again)
    made.pod_gone("ml/p", uid_of("p"))
    [assignment] = made.decide().assignments
    assert (assignment.uid, assignment.group) == (uid, f"pg-p-{uid}")


def test_labels_of_the_scheduler_are_not_copied_to_the_group() -> None:
    written = {"received-resource-type": "Fraction", "note": "kept"}
    labels = {"runai-gpu-group": "g", "runai-gpu-group/g": "g", "a": "b"}
    [change] = grouper(pod("p", annotations=written, labels=labels)).decide().groups
    assert change.manifest["metadata"]["labels"] == {"a": "b"}
    assert change.manifest["metadata"]["annotations"].keys() == {
        "note",
        "kai.scheduler/top-owner-metadata",
    }


# ---- owners --------------------------------------------------------------------------------------


def test_pods_are_grouped_after_their_owner_is_read() -> None:
    made = grouper(pod("p-0", ref("Job", "j")), pod("p-1", ref("Job", "j")))
    decided = made.decide()
    assert decided.needs == [ref("Job", "j")]
    assert not decided.writes()
    made.put_object(ref("Job", "j"), an("Job", "j"))
    decided = made.decide()
    assert names(decided) == [group_of("j")]
    assert [each.pod for each in decided.assignments] == ["ml/p-0", "ml/p-1"]


def test_all_pods_of_a_gang_make_one_group() -> None:
    """KAI's workers race to create it, and the losers wait a second (spec 6 S4)."""
    made = Grouper(RULES)
    job = an("Job", "j", annotations={"kai.scheduler/batch-min-member": "8"})
    made.put_object(ref("Job", "j"), job)
    for index in range(8):
        made.put_pod(pod(f"p-{index}", ref("Job", "j")))
    decided = made.decide()
    [change] = decided.groups
    assert change.manifest["spec"]["minMember"] == 8
    assert {each.group for each in decided.assignments} == {group_of("j")}
    made.put_pod(pod("p-8", ref("Job", "j")))
    decided = made.decide()
    assert (decided.groups, [each.pod for each in decided.assignments]) == ([], ["ml/p-8"])


def test_owners_are_read_one_after_the_other() -> None:
    made = grouper(one := pod("p", ref("ReplicaSet", "d-1")))
    assert made.decide().needs == [ref("ReplicaSet", "d-1")]
    reference = one["metadata"]["ownerReferences"][0]
    owner = {**reference, "apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    owner["uid"] = uid_of("d")
    made.put_object(ref("ReplicaSet", "d-1"), an("ReplicaSet", "d-1", ownerReferences=[owner]))
    assert made.decide().needs == [ref("Deployment", "d")]
    made.put_object(ref("Deployment", "d"), an("Deployment", "d", labels={QUEUE: "q"}))
    [change] = made.decide().groups
    assert change.manifest["metadata"]["name"] == group_of("p")
    assert change.manifest["spec"] == {
        "queue": "q", "minMember": 1, "priorityClassName": "inference",
    }  # fmt: skip


def test_a_missing_owner_is_a_problem_until_it_exists() -> None:
    made = asked(pod("p", ref("Widget", "w")))
    made.object_gone(ref("Widget", "w"), "no matches for kind")
    decided = made.decide()
    [problem] = decided.problems
    assert problem.message == (
        f"failed to find Widget: <ml/w>, uid: <{uid_of('w')}>: no matches for kind"
    )
    made.put_pod(pod("p", ref("Widget", "w")))
    assert not made.decide().problems, "it is reported once"
    made.put_object(ref("Widget", "w"), an("Widget", "w"))
    assert names(made.decide()) == [group_of("w")]


def test_an_object_with_another_uid_is_not_the_owner() -> None:
    made = asked(pod("p", ref("Widget", "w")))
    made.put_object(ref("Widget", "w"), an("Widget", "w", uid="another"))
    assert [each.message for each in made.decide().problems] == [
        f"failed to find Widget: <ml/w>, uid: <{uid_of('w')}>: another object has its name"
    ]


def test_a_forbidden_owner_ends_the_chain() -> None:
    made = asked(pod("p", ref("Widget", "w")))
    made.object_forbidden(ref("Widget", "w"))
    assert names(made.decide()) == [group_of("p")]


def test_an_owner_that_skips_the_grouper_skips_it_for_its_pods() -> None:
    made = asked(pod("p", ref("Widget", "w")))
    made.put_object(ref("Widget", "w"), an("Widget", "w", annotations={SKIP: "true"}))
    assert is_quiet(made.decide())


def test_the_group_annotation_of_an_owned_pod_is_replaced() -> None:
    made = asked(pod("p", ref("Widget", "w"), annotations={GROUP: "mine"}))
    made.put_object(ref("Widget", "w"), an("Widget", "w"))
    [assignment] = made.decide().assignments
    assert assignment.patch == {"annotations": {GROUP: group_of("w")}}


def held(decided: Decided) -> list[tuple[str, str]]:
    return [(each.pod, each.group) for each in decided.holds]


def test_a_pod_has_no_group_until_its_owner_is_read() -> None:
    """Otherwise it would be bound as a pod of the group that it names."""
    mine = pod("p", ref("Widget", "w"), annotations={GROUP: "mine"})
    made = grouper(mine)
    assert held(made.decide()) == [("ml/p", "")]
    made.put_object(ref("Widget", "w"), an("Widget", "w"))
    decided = made.decide()
    assert held(decided) == []
    assert [each.group for each in decided.assignments] == [group_of("w")]
    made.put_pod(pod("later", ref("Widget", "w"), annotations={GROUP: "mine"}))
    assert held(made.decide()) == [], "its owner is known already"
    # The API server has such a group with unknown state: the pod waits for that as well.
    made = asked(named(pod("first", ref("Widget", "w")), group_of("w")), mine)
    made.put_object(ref("Widget", "w"), an("Widget", "w"))
    decided = made.decide()
    assert (held(decided), decided.assignments) == ([("ml/p", "")], [])


@pytest.mark.parametrize("found", ["nothing", "an owner that skips", "nonsense"])
def test_a_pod_that_cannot_be_grouped_keeps_its_annotation(found: str) -> None:
    made = asked(pod("p", ref("Job", "j"), annotations={GROUP: "mine"}))
    if found == "nothing":
        made.object_gone(ref("Job", "j"))
    else:
        key = SKIP if found == "an owner that skips" else "kai.scheduler/batch-min-member"
        made.put_object(ref("Job", "j"), an("Job", "j", annotations={key: "true"}))
    assert held(made.decide()) == [("ml/p", "mine")]


def test_running_pods_and_pods_with_a_grouper_group_are_not_held() -> None:
    widget = ref("Widget", "w")
    made = grouper(
        named(pod("right", widget), group_of("w")),
        pod("bound", widget, annotations={GROUP: "mine"}, spec={"nodeName": "n"}),
        pod("bare", annotations={GROUP: "mine"}),
        pod("unnamed", widget),
    )
    assert held(made.decide()) == []


def test_an_invalid_number_is_a_problem_of_each_pod() -> None:
    made = asked(pod("p-0", ref("Job", "j")), pod("p-1", ref("Job", "j")))
    given = {"kai.scheduler/batch-min-member": "many"}
    made.put_object(ref("Job", "j"), an("Job", "j", annotations=given))
    decided = made.decide()
    assert [each.pod for each in decided.problems] == ["ml/p-0", "ml/p-1"]
    assert decided.writes() == []
    made.put_object(ref("Job", "j"), an("Job", "j"))
    assert names(made.decide()) == [group_of("j")]


def test_owners_are_watched_until_the_last_group_is_gone() -> None:
    made = asked(pod("p", ref("Widget", "w")))
    made.put_object(ref("Widget", "w"), an("Widget", "w"))
    made.decide()
    made.group_created(f"ml/{group_of('w')}")
    made.pod_gone("ml/p", uid_of("p"))
    assert made.decide().not_needed == []
    made.group_gone(f"ml/{group_of('w')}")
    assert made.decide().not_needed == [ref("Widget", "w")]
    assert (made._objects, made._groups, made._following, made._needed) == ({}, {}, {}, set())


def test_a_deleted_waiting_pod_no_longer_needs_its_owner() -> None:
    made = asked(pod("p", ref("Widget", "w")))
    made.pod_gone("ml/p")
    assert made.decide().not_needed == [ref("Widget", "w")]


# ---- parts ---------------------------------------------------------------------------------------


def test_a_pod_gets_the_label_of_its_subgroup() -> None:
    made = asked(
        pod("m", ref("PyTorchJob", "pt"), labels={"training.kubeflow.org/replica-type": "master"})
    )
    replicas = {"Master": {"replicas": 1}, "Worker": {"replicas": 2}}
    made.put_object(
        ref("PyTorchJob", "pt"), an("PyTorchJob", "pt", {"pytorchReplicaSpecs": replicas})
    )
    decided = made.decide()
    [assignment] = decided.assignments
    assert (assignment.sub_group, assignment.patch["labels"]) == (
        "master", {"kai.scheduler/subgroup-name": "master"},
    )  # fmt: skip
    assert decided.groups[0].manifest["spec"]["minMember"] == 3


@pytest.mark.parametrize("leader_bound", [False, True])
def test_a_leader_that_waits_for_its_workers_is_not_stale(leader_bound: bool) -> None:
    """KAI requires them once the leader has a node, and evicts it after a minute (spec 6 S15)."""
    lws = "leaderworkerset.sigs.k8s.io"

    def member(index: int, **spec: Any) -> dict[str, Any]:
        labels = {f"{lws}/group-index": "0", f"{lws}/worker-index": str(index)}
        return pod(f"s-{index}", ref("LeaderWorkerSet", "s"), labels=labels, spec=spec)

    made = Grouper(RULES)
    spec = {"startupPolicy": "LeaderReady", "leaderWorkerTemplate": {"size": 3}}
    made.put_object(ref("LeaderWorkerSet", "s"), an("LeaderWorkerSet", "s", spec))
    made.put_pod(member(0, **({"nodeName": "n"} if leader_bound else {})))
    [change] = made.decide().groups
    assert change.manifest["spec"]["minMember"] == 1
    made.put_pod(member(1))
    made.put_pod(member(2))
    [change] = made.decide().groups
    assert change.patch == {
        "spec": {
            "minMember": 3,
            "stalenessGracePeriod": "-1s",
            "subGroups": [{"name": "leader", "minMember": 1}, {"name": "workers", "minMember": 2}],
        }
    }
    made.put_pod(member(1, nodeName="n"))
    [change] = made.decide().groups
    assert change.patch == {"spec": {"stalenessGracePeriod": None}}, "it came up, and may be stale"


# ---- groups that exist ---------------------------------------------------------------------------


def widget(queue: str = "a", **labels: str) -> dict[str, Any]:
    return an("Widget", "w", labels={QUEUE: queue, **labels})


def with_group(owner: dict[str, Any]) -> tuple[Grouper, dict[str, Any]]:
    """A pod of a Widget, settled, and its group as on the server."""
    made = asked(one := pod("p", ref("Widget", "w"), labels={QUEUE: "of-pod"}))
    made.put_object(ref("Widget", "w"), owner)
    [change] = made.decide().groups
    made.put_pod(named(one, group_of("w")))
    assert is_quiet(made.decide())
    body: Any = change.write().body
    return made, body


def edited(group: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {**group, "spec": {**group["spec"], **spec}}


def patches(decided: Decided) -> list[Any]:
    return [each.patch for each in decided.groups]


def test_the_queue_changes_with_the_label_of_the_owner() -> None:
    """In KAI it never does (spec 6 S12)."""
    made, _ = with_group(widget("a"))
    made.put_object(ref("Widget", "w"), widget("b"))
    assert patches(made.decide()) == [
        {"metadata": {"labels": {QUEUE: "b"}}, "spec": {"queue": "b"}}
    ]
    assert is_quiet(made.decide())


def test_a_queue_that_a_user_set_in_the_group_stays() -> None:
    made, group = with_group(widget("a"))
    made.put_group(edited(group, queue="by-hand"))
    assert is_quiet(made.decide())
    made.put_object(ref("Widget", "w"), widget("a", priorityClassName="build"))
    assert patches(made.decide()) == [
        {
            "metadata": {"labels": {"priorityClassName": "build"}},
            "spec": {"priorityClassName": "build"},
        }
    ]
    made.put_object(ref("Widget", "w"), widget("b", priorityClassName="build"))
    [patch] = patches(made.decide())
    assert patch["spec"] == {"queue": "b"}, "the owner was moved after that"


def test_the_queue_of_another_pod_changes_nothing() -> None:
    """The first pod supplies the settings that the owner lacks (spec 7 C12)."""
    made, _ = with_group(an("Widget", "w"))
    made.put_pod(pod("q", ref("Widget", "w"), labels={QUEUE: "other"}))
    assert made.decide().groups == []


def test_a_label_removed_from_the_owner_is_removed_from_its_group() -> None:
    """KAI only ever adds labels (spec 5 A59)."""
    made, group = with_group(widget(color="red"))
    labels = {**group["metadata"]["labels"], "by": "hand"}
    made.put_group({**group, "metadata": {**group["metadata"], "labels": labels}})
    assert is_quiet(made.decide())
    made.put_object(ref("Widget", "w"), widget())
    assert patches(made.decide()) == [{"metadata": {"labels": {"color": None}}}]


def test_fields_of_users_are_kept_and_other_fields_corrected() -> None:
    made, group = with_group(widget())
    theirs = {"markUnschedulable": False, "schedulingBackoff": 1}
    constraint = {"topologyConstraint": {"topology": "t", "requiredTopologyLevel": "rack"}}
    made.put_group(edited(group, minMember=5, preemptibility="preemptible", **theirs, **constraint))
    assert patches(made.decide()) == [{"spec": {"minMember": 1, "preemptibility": None}}]


def test_a_changed_topology_replaces_the_previous_one() -> None:
    made, group = with_group(widget())
    constraint = {"topology": "t", "preferredTopologyLevel": "host"}
    made.put_group(edited(group, topologyConstraint=constraint))
    given = {"kai.scheduler/topology": "u", "kai.scheduler/topology-required-placement": "rack"}
    owner = widget()
    owner["metadata"]["annotations"] = given
    made.put_object(ref("Widget", "w"), owner)
    [patch] = patches(made.decide())
    assert patch["spec"]["topologyConstraint"] == {
        "topology": "u",
        "requiredTopologyLevel": "rack",
        "preferredTopologyLevel": None,
    }


def test_a_node_pool_added_to_the_owner_does_not_change_the_group() -> None:
    made, _ = with_group(widget())
    made.put_object(ref("Widget", "w"), widget(**{"kai.scheduler/node-pool": "x"}))
    assert is_quiet(made.decide())


def test_revision_annotations_of_the_owner_cause_no_write() -> None:
    owner = widget()
    owner["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
    made, _ = with_group(owner)
    changed = widget()
    changed["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "2"}
    made.put_object(ref("Widget", "w"), changed)
    assert is_quiet(made.decide())


def test_an_existing_group_is_read_before_it_is_written() -> None:
    """As after a restart; a correct group is not written."""
    _, group = with_group(widget())
    for answer, expected in (
        (group, []),
        (edited(group, minMember=3), [{"spec": {"minMember": 1}}]),
    ):
        made = grouper(named(pod("p", ref("Widget", "w")), group_of("w")))
        made.decide()
        made.put_object(ref("Widget", "w"), widget())
        decided = made.decide()
        [reference] = decided.needs
        assert (reference.kind, reference.name, decided.groups) == ("PodGroup", group_of("w"), [])
        made.put_object(reference, answer)
        assert patches(made.decide()) == expected
        assert len(made) == 0


def test_a_missing_group_is_created() -> None:
    made = asked(named(pod("p", ref("Widget", "w")), group_of("w")))
    made.put_object(ref("Widget", "w"), widget())
    [reference] = made.decide().needs
    made.object_gone(reference)
    assert patches(made.decide()) == [None]


def test_a_group_that_already_exists_is_compared() -> None:
    made, group = with_group(widget())
    made.group_exists(f"ml/{group_of('w')}")
    [reference] = made.decide().needs
    made.put_object(reference, edited(group, minMember=2))
    assert patches(made.decide()) == [{"spec": {"minMember": 1}}]


def test_a_deleted_group_is_created_again() -> None:
    """KAI restores it at the next event of a pod, but never the group of a bare pod."""
    made, _ = with_group(widget())
    made.group_gone(f"ml/{group_of('w')}", "uid")
    assert patches(made.decide()) == [None]

    made = asked(bare := pod("p"))
    made.put_pod(settled := named(bare, group_of("p")))
    made.group_gone(f"ml/{group_of('p')}")
    [reference] = made.decide().needs
    assert reference == Reference("v1", "Pod", "ml", "p", uid_of("p"))
    made.put_object(reference, settled)
    [reference] = made.decide().needs
    made.object_gone(reference)
    assert names(made.decide()) == [group_of("p")]
    assert is_quiet(made.decide())
    assert (len(made), made._groups) == (0, {})


def test_a_bare_pod_with_the_longest_name_gets_a_group_that_the_api_server_accepts() -> None:
    """pg-<name>-<uid> would be longer than the name of an object may be."""
    long, other = "p" * 253, "p" * 252 + "q"
    made = grouper(bare := pod(long), pod(other))
    decided = made.decide()
    group, second = names(decided)
    assert (len(group), len(second)) == (253, 253)
    assert group != second
    assert group.endswith(uid_of(long))
    assert [each.group for each in decided.assignments] == [group, second]
    assert is_quiet(grouper(named(bare, group)).decide())

    made.put_pod(named(bare, group))
    made.group_gone(f"ml/{group}")
    [reference] = made.decide().needs
    assert reference == Reference("v1", "Pod", "ml", long, uid_of(long))
    made.put_object(reference, named(bare, group))
    [reference] = made.decide().needs
    made.object_gone(reference)
    assert names(made.decide()) == [group]


def test_an_owner_with_the_longest_name_gets_such_a_group() -> None:
    owner = ref("Widget", "w" * 253)
    made = asked(pod("a", owner), pod("b", owner))
    made.put_object(owner, an("Widget", "w" * 253))
    decided = made.decide()
    [group] = names(decided)
    assert (len(group), [each.group for each in decided.assignments]) == (253, [group, group])


def test_a_group_deleted_with_its_pod_is_not_created_again() -> None:
    made = asked(bare := pod("p"))
    made.put_pod(named(bare, group_of("p")))
    made.pod_gone("ml/p", uid_of("p"))
    made.group_gone(f"ml/{group_of('p')}")
    decided = made.decide()
    assert (decided.writes(), decided.needs) == ([], [])
    assert {*decided.withdrawn} == {f"ml/{group_of('p')}"}, "no watch may have shown it"


def test_the_group_of_a_bare_pod_that_goes_before_the_creation_is_withdrawn() -> None:
    made = asked(pod("p"))
    made.pod_gone("ml/p", uid_of("p"))
    assert made.decide().withdrawn == [f"ml/{group_of('p')}"]
    assert (made._groups, made._pods, made._settled) == ({}, {}, {})


def test_a_group_is_withdrawn_with_its_last_pod_and_decided_again_for_a_later_one() -> None:
    owner = ref("Widget", "w")
    made = asked(pod("p", owner), pod("q", owner))
    made.put_object(owner, an("Widget", "w"))
    made.decide()
    made.pod_gone("ml/p", uid_of("p"))
    assert made.decide().withdrawn == [], "another pod needs it"
    made.pod_gone("ml/q", uid_of("q"))
    decided = made.decide()
    assert (decided.withdrawn, decided.not_needed) == ([f"ml/{group_of('w')}"], [owner])
    assert (made._groups, made._pods, made._objects, made._needed) == ({}, {}, {}, set())
    made.put_pod(pod("later", owner))
    assert made.decide().needs == [owner]
    made.put_object(owner, an("Widget", "w"))
    assert names(made.decide()) == [group_of("w")]


@pytest.mark.parametrize(
    "end",
    [
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:09Z"}},
        {"status": {"phase": "Succeeded"}},
        {"metadata": {"annotations": {SKIP: "true"}}},
    ],
)
@pytest.mark.parametrize("owner", [None, ref("Widget", "w")])
def test_a_pod_that_needs_no_group_any_more_leaves_its_group(owner: Any, end: Any) -> None:
    before = pod("p", owner)
    made = asked(before)
    made.put_object(ref("Widget", "w"), an("Widget", "w"))
    made.decide()
    after = {**before, **{k: {**before.get(k, {}), **v} for k, v in end.items()}}
    made.put_pod(after)
    name = f"ml/{group_of('p' if owner is None else 'w')}"
    assert name in made.decide().withdrawn
    made.pod_gone("ml/p", uid_of("p"))
    made.decide()
    assert (made._groups, made._pods, made._settled, made._following) == ({}, {}, {}, {})


def test_a_pod_that_moves_to_another_owner_leaves_its_group() -> None:
    made = asked(pod("p", ref("Widget", "v")))
    made.put_object(ref("Widget", "v"), an("Widget", "v"))
    made.decide()
    made.put_pod(pod("p", ref("Widget", "w")))
    made.decide()
    made.put_object(ref("Widget", "w"), an("Widget", "w"))
    decided = made.decide()
    assert decided.withdrawn == [f"ml/{group_of('v')}"]
    assert names(decided) == [group_of("w")]
    assert [*made._groups] == [f"ml/{group_of('w')}"]


def test_a_pod_that_goes_while_its_group_is_read_leaves_nothing() -> None:
    made = asked(named(pod("p", ref("Widget", "w")), group_of("w")))
    made.put_object(ref("Widget", "w"), an("Widget", "w"))
    assert [each.kind for each in made.decide().needs] == ["PodGroup"]
    made.pod_gone("ml/p", uid_of("p"))
    made.decide()
    assert (made._groups, made._needed) == ({}, set())


def test_a_bare_pod_whose_annotation_was_forgotten_is_grouped_again() -> None:
    """An etcd was restored from a backup: the pod is as it was before the patch."""
    bare = pod("p", labels={QUEUE: "q"})
    by = grouper(bare)
    [assigned] = by.decide().assignments
    by.put_pod(pod("p", labels={QUEUE: "q"}, annotations={GROUP: group_of("p")}))
    assert by.decide().assignments == []
    by.put_pod(bare)
    assert by.decide().assignments == [assigned]


def test_the_group_of_a_bare_pod_follows_its_queue_label() -> None:
    made = grouper(bare := pod("p", labels={QUEUE: "a"}))
    [change] = made.decide().groups
    group: Any = change.write().body
    made.put_pod(settled := named(bare, group_of("p")))
    settled["metadata"]["labels"] = {QUEUE: "b"}
    made.put_pod(settled)
    [reference] = made.decide().needs
    made.put_object(reference, group)
    [patch] = patches(made.decide())
    assert patch == {"metadata": {"labels": {QUEUE: "b"}}, "spec": {"queue": "b"}}
    assert (len(made), made._groups) == (0, {})


def test_failed_writes_are_decided_again() -> None:
    made = grouper(pod("p"))
    decided = made.decide()
    [change], [assignment] = decided.groups, decided.assignments
    made.retry(change)
    made.retry(assignment)
    again = made.decide()
    assert (again.groups, again.assignments) == ([change], [assignment])


def test_a_failed_creation_is_repeated_after_its_pod_was_bound() -> None:
    made = grouper(bare := pod("p"))
    [change] = made.decide().groups
    made.put_pod(settled := named(bare, group_of("p")))
    made.retry(change)
    [reference] = made.decide().needs
    made.put_object(reference, settled)
    [reference] = made.decide().needs
    made.object_gone(reference)
    assert names(made.decide()) == [group_of("p")]


def test_a_failed_patch_is_repeated_after_its_pod_was_settled() -> None:
    made = asked(bare := pod("p"))
    made.put_pod(named(bare, group_of("p")))
    made.put_pod(changed := named(pod("p", labels={"a": "b"}), group_of("p")))
    [reference] = made.decide().needs
    made.put_object(reference, an_old_group())
    [change] = made.decide().groups
    assert change.patch is not None
    made.retry(change)
    [reference] = made.decide().needs
    assert reference.kind == "Pod"
    made.put_object(reference, changed)
    [reference] = made.decide().needs
    made.put_object(reference, an_old_group())
    assert [each.patch for each in made.decide().groups] == [change.patch]


def an_old_group() -> dict[str, Any]:
    """The group of pod "p", created when that had no labels."""
    [change] = grouper(pod("p")).decide().groups
    return {**change.manifest, "kind": "PodGroup"}


def test_a_refused_group_is_a_problem_of_its_pods() -> None:
    made = asked(pod("p"))
    made.group_refused(f"ml/{group_of('p')}", "admission webhook denied the request")
    [problem] = made.decide().problems
    assert (problem.pod, problem.message) == ("ml/p", "admission webhook denied the request")


def test_a_priority_class_created_later_is_used() -> None:
    made, _ = with_group(widget(priorityClassName="urgent"))
    made.set_rules(Rules(classes=RULES.classes | {"urgent"}))
    assert patches(made.decide()) == [{"spec": {"priorityClassName": "urgent"}}]


def test_an_installation_may_have_defaults_for_a_kind() -> None:
    of_kind = {"Widget.example.com": ("build", "Preemptible"), "Pod": ("inference", "")}
    made = Grouper(Rules(RULES.classes, of_kind))
    made.put_object(ref("Widget", "w"), an("Widget", "w"))
    made.put_pod(pod("p", ref("Widget", "w")))
    made.put_pod(pod("q"))
    specs = [each.manifest["spec"] for each in made.decide().groups]
    assert [each["priorityClassName"] for each in specs] == ["build", "inference"]
    assert [each.get("preemptibility") for each in specs] == ["preemptible", None]


def test_a_new_pod_of_an_owner_makes_the_owner_be_read_again() -> None:
    """No watch covers owners: their labels may have changed since."""
    job = ref("Job", "j")
    made = grouper(pod("p0", job), pod("p1", job))
    assert made.decide().needs == [job]
    made.put_object(job, an("Job", "j", labels={QUEUE: "team-a"}))
    decided = made.decide()
    assert (decided.joined, len(decided.assignments)) == ([], 2)
    made.put_pod(pod("p2", job, second=5))
    assert made.decide().joined == [job]
    made.put_pod(named(pod("p2", job, second=5), group_of("j")))  # what was decided
    assert made.decide().joined == []
    made.put_object(job, an("Job", "j", labels={QUEUE: "team-b"}))
    [change] = made.decide().groups
    assert change.manifest["spec"]["queue"] == "team-b"
