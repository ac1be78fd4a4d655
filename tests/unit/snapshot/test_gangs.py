"""PyTorchJobs and LeaderWorkerSets start in sub-groups, as KAI's grouper makes them (spec 4
G2-G10)."""

import itertools
from typing import Any

import pytest

import kai
from fakes.objects import load, node

SIZE = "kai.scheduler/segment-size"
TOPOLOGY = "kai.scheduler/topology"
REQUIRED = "kai.scheduler/segment-topology-required-placement"
PREFERRED = "kai.scheduler/segment-topology-preferred-placement"
TYPE, INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"
LWS = "leaderworkerset.sigs.k8s.io"

IN_RACKS = {SIZE: "4", TOPOLOGY: "racks", REQUIRED: "rack"}
RACK = {"topology": "racks", "requiredTopologyLevel": "rack"}


def template(annotations: Any = None, gpus: int = 1) -> dict[str, Any]:
    container = {"resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [container]}}


def pytorch(
    master: int | None = 1,
    worker: int | None = 4,
    *,
    given: Any = None,
    annotations: Any = None,
    **spec: Any,
) -> dict[str, Any]:
    """A PyTorchJob; `given`: annotations of the worker template."""
    roles = {"Master": (master, template()), "Worker": (worker, template(given))}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "pt", "annotations": annotations or {}},
        "spec": {
            "pytorchReplicaSpecs": {
                role: {"replicas": replicas, "template": made}
                for role, (replicas, made) in roles.items()
                if replicas is not None
            },
            **spec,
        },
    }


def least(number: int) -> dict[str, Any]:
    return {"elasticPolicy": {"minReplicas": number}}


def lws(
    size: int = 5,
    *,
    replicas: int = 1,
    given: Any = None,
    annotations: Any = None,
    sub_groups: Any = None,
    **spec: Any,
) -> dict[str, Any]:
    """A LeaderWorkerSet; `given`: annotations of the worker template."""
    made = {"size": size, "workerTemplate": template(given)}
    if sub_groups:
        made["subGroupPolicy"] = sub_groups
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "annotations": annotations or {}},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": made, **spec},
    }


def owned(
    name: str, owner: dict[str, Any], labels: dict[str, str], given: Any = None, **more: Any
) -> dict[str, Any]:
    """A pod of a saved cluster, whose template is not known."""
    reference = {"kind": owner["kind"], "name": owner["metadata"]["name"]}
    metadata = {
        "name": name,
        "labels": labels,
        "annotations": given or {},
        "ownerReferences": [reference],
    }
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": []}, **more}


def worker(index: int | str, job: dict[str, Any], given: Any = None) -> dict[str, Any]:
    return owned(f"pt-worker-{index}", job, {TYPE: "worker", INDEX: str(index)}, given)


def member(index: int | str, owner: dict[str, Any], given: Any = None) -> dict[str, Any]:
    """A pod of the first replica of a LeaderWorkerSet."""
    labels = {
        f"{LWS}/name": "serve",
        f"{LWS}/group-index": "0",
        f"{LWS}/worker-index": str(index),
    }
    name = "serve-0" if index in (0, "0") else f"serve-0-{index}"
    return owned(name, owner, labels, given)


def spec_of(*manifests: Any) -> dict[str, Any]:
    cluster = load(*manifests)
    assert [str(each) for each in cluster.rejected] == []
    [group] = cluster.objects["podGroups"]
    found: dict[str, Any] = group["spec"]
    return found


def parts(*manifests: Any) -> dict[str, int]:
    """The minimum of each sub-group: of pods, or in braces of sub-groups."""
    return {
        each["name"]: each.get("minMember", each.get("minSubGroup"))
        for each in spec_of(*manifests)["subGroups"]
    }


def sub_groups(cluster: kai.Cluster) -> dict[str, str | None]:
    return {
        each["metadata"]["name"]: each["metadata"]["labels"].get("kai.scheduler/subgroup-name")
        for each in cluster.objects["pods"]
    }


def constraints(*manifests: Any) -> dict[str, dict[str, str]]:
    return {
        each["name"]: each["topologyConstraint"]
        for each in spec_of(*manifests)["subGroups"]
        if "topologyConstraint" in each
    }


def refusal(*manifests: Any) -> str:
    """The one message with which every pod of the group is left out."""
    cluster = load(*manifests)
    assert not cluster.objects["podGroups"]
    assert not cluster.objects["pods"]
    [given] = {f"{each.field}: {each.message}" for each in cluster.rejected}
    return given


# ---- PyTorchJob: the minimum ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "minimum", "expected"),
    [
        (pytorch(1, 3), 4, {"master": 1, "worker": 3}),
        (pytorch(1, 3, **least(2)), 2, {"master": 1, "worker": 1}),
        (
            pytorch(1, 3, runPolicy={"schedulingPolicy": {"minAvailable": 3}}),
            3,
            {"master": 1, "worker": 2},
        ),
        (
            pytorch(1, 3, **least(2), runPolicy={"schedulingPolicy": {"minAvailable": 4}}),
            4,
            {"master": 1, "worker": 3},
        ),
        (pytorch(2, 2, **least(1)), 1, {"master": 2, "worker": 0}),
        (pytorch(2, None), 2, {"master": 2}),
        (pytorch(None, 2), 2, {"worker": 2}),
        (pytorch(0, 2), 2, {"worker": 2}),
    ],
)
def test_a_pytorch_job_needs_its_master_and_enough_workers(
    job: dict[str, Any], minimum: int, expected: dict[str, int]
) -> None:
    assert spec_of(job)["minMember"] == minimum
    assert parts(job) == expected


def test_a_role_has_one_pod_by_default() -> None:
    job = pytorch()
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        del role["replicas"]
    assert parts(job) == {"master": 1, "worker": 1}


def test_a_job_whose_workers_are_not_needed_starts_with_its_master() -> None:
    job = pytorch(1, 0, given=IN_RACKS)
    assert spec_of(job)["subGroups"] == [
        {"name": "master", "minMember": 1},
        {"name": "worker", "minMember": 0},
    ]


def test_pods_are_in_the_subgroup_of_their_role() -> None:
    assert sub_groups(load(pytorch(1, 2))) == {
        "pt-master-0": "master",
        "pt-worker-0": "worker",
        "pt-worker-1": "worker",
    }
    job = pytorch(1, 2)
    assert sub_groups(load(job, owned("x", job, {}))) == {"x": None}  # no role, no sub-group


# ---- PyTorchJob: segments ------------------------------------------------------------------------


def test_an_elastic_job_of_ten_workers_in_racks_of_four() -> None:
    """spec 4 E13."""
    spec = spec_of(pytorch(1, 10, given=IN_RACKS, **least(7)))
    assert spec["minMember"] == 7
    assert "topologyConstraint" not in spec
    within = {"parent": "worker", "topologyConstraint": RACK}
    assert spec["subGroups"] == [
        {"name": "master", "minMember": 1},
        {"name": "worker", "minSubGroup": 3},
        {"name": "worker-0", "minMember": 4, **within},
        {"name": "worker-1", "minMember": 4, **within},
        {"name": "worker-2", "minMember": 0, **within},
    ]


@pytest.mark.parametrize(("gpus", "placed"), [(8, 0), (9, 9), (10, 10), (11, 11)])
def test_whole_segments_start_and_then_the_rest_one_by_one(gpus: int, placed: int) -> None:
    """As spec 4 E13, on one node: the gang is the master and two segments, 9 pods."""
    plan = kai.Scheduler().plan(
        load(node("n", gpus), pytorch(1, 10, given={SIZE: "4"}, **least(7)))
    )
    expected = ["pt-master-0", *(f"pt-worker-{index}" for index in range(10))][:placed]
    assert sorted(each.pod for each in plan.decisions) == [f"default/{each}" for each in expected]


def test_consecutive_workers_share_a_segment() -> None:
    found = sub_groups(load(pytorch(1, 5, given={SIZE: "2"})))
    assert found == {
        "pt-master-0": "master",
        "pt-worker-0": "worker-0",
        "pt-worker-1": "worker-0",
        "pt-worker-2": "worker-1",
        "pt-worker-3": "worker-1",
        "pt-worker-4": "worker-2",
    }


def test_a_worker_beyond_the_last_segment_has_no_segment() -> None:
    job = pytorch(None, 2, given={SIZE: "2"})
    found = sub_groups(load(job, worker(1, job), worker(2, job)))
    assert found == {"pt-worker-1": "worker-0", "pt-worker-2": None}


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (pytorch(1, 2, given=IN_RACKS), RACK),
        (pytorch(1, 2, given={SIZE: "4", REQUIRED: "rack"}, annotations={TOPOLOGY: "racks"}), RACK),
        (
            pytorch(1, 2, given=IN_RACKS, annotations={TOPOLOGY: "others"}),
            RACK,  # the template has precedence
        ),
        (
            pytorch(1, 2, given=IN_RACKS | {PREFERRED: "host"}),
            RACK | {"preferredTopologyLevel": "host"},
        ),
        (
            pytorch(1, 2, given={SIZE: "4", TOPOLOGY: "racks", PREFERRED: "host"}),
            {"topology": "racks", "preferredTopologyLevel": "host"},
        ),
        (pytorch(1, 2, given={SIZE: "4", REQUIRED: "rack"}), None),  # no topology
        (pytorch(1, 2, given={SIZE: "4", TOPOLOGY: "racks"}), None),  # no level
        (
            # A level on the job is not a level of its segments.
            pytorch(1, 2, given={SIZE: "4", TOPOLOGY: "racks"}, annotations={REQUIRED: "rack"}),
            None,
        ),
    ],
)
def test_annotations_set_the_topology_of_segments(
    job: dict[str, Any], expected: dict[str, str] | None
) -> None:
    assert constraints(job) == ({"worker-0": expected} if expected else {})


def test_a_topology_for_segments_alone_leaves_the_group_free() -> None:
    """KAI gives the group a constraint without a level, and it never starts (spec 4 W3)."""
    job = pytorch(1, 2, given={SIZE: "2", REQUIRED: "rack"}, annotations={TOPOLOGY: "racks"})
    assert "topologyConstraint" not in spec_of(job)
    assert constraints(job) == {"worker-0": RACK}


def test_a_job_and_its_segments_may_be_constrained_both() -> None:
    within = {TOPOLOGY: "racks", "kai.scheduler/topology-required-placement": "zone"}
    job = pytorch(1, 2, given={SIZE: "2", REQUIRED: "rack"}, annotations=within)
    zone = {"topology": "racks", "requiredTopologyLevel": "zone"}
    assert spec_of(job)["topologyConstraint"] == zone
    assert constraints(job) == {"worker-0": RACK}


# ---- which pods count ----------------------------------------------------------------------------


def test_annotations_of_workers_count_without_those_of_the_template() -> None:
    job = pytorch(None, 4)
    pods = [worker(index, job, IN_RACKS | {SIZE: "2"}) for index in range(4)]
    assert parts(job, *pods) == {"worker": 2, "worker-0": 2, "worker-1": 2}
    assert constraints(job, *pods) == {"worker-0": RACK, "worker-1": RACK}


def test_annotations_of_the_template_override_those_of_the_pods() -> None:
    job = pytorch(None, 4, given={SIZE: "2"})
    pods = [worker(index, job, {SIZE: "4"}) for index in range(4)]
    assert parts(job, *pods) == {"worker": 2, "worker-0": 2, "worker-1": 2}


def test_different_pods_in_any_order_give_the_same_group() -> None:
    """In KAI the last pod decides (spec 4 W9); here the lowest index with the key."""
    job = pytorch(1, 4)
    pods = [
        worker(10, job, {SIZE: "1"}),
        worker(2, job, {SIZE: "2", TOPOLOGY: "racks"}),
        worker(3, job, {SIZE: "4", TOPOLOGY: "others", REQUIRED: "rack"}),
        worker(0, job),
        owned("pt-master-0", job, {TYPE: "master", INDEX: "0"}, {SIZE: "3", PREFERRED: "host"}),
    ]
    for order in itertools.permutations(pods):
        assert parts(job, *order) == {"master": 1, "worker": 2, "worker-0": 2, "worker-1": 2}
        assert constraints(job, *order) == {"worker-0": RACK, "worker-1": RACK}


def test_annotations_of_the_leader_do_not_count_for_workers() -> None:
    with_leader = lws(3)
    with_leader["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = template(IN_RACKS)
    assert parts(with_leader) == {"leader": 1, "workers": 2}


# ---- PyTorchJob: invalid fields ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "given"),
    [
        ("four", 'invalid segment size "four" on worker podTemplate: it is not a whole number'),
        ("2.5", 'invalid segment size "2.5" on worker podTemplate: it is not a whole number'),
        ("", 'invalid segment size "" on worker podTemplate: it is not a whole number'),
        ("0", "segment size 0 on worker podTemplate needs to be a positive integer"),
        ("-2", "segment size -2 on worker podTemplate needs to be a positive integer"),
    ],
)
def test_an_invalid_segment_size_is_reported_for_every_pod(size: Any, given: str) -> None:
    assert refusal(pytorch(1, 4, given={SIZE: size})) == f"metadata.annotations[{SIZE}]: {given}"


def test_a_size_of_nine_thousand_digits_is_one_sentence() -> None:
    assert "it is not a whole number" in refusal(pytorch(1, 4, given={SIZE: "9" * 9000}))


@pytest.mark.parametrize("size", ["0", "-1"])
def test_the_segment_size_of_a_pod_is_checked(size: str) -> None:
    """KAI divides by it (spec 4 W8)."""
    job = pytorch(None, 2)
    assert refusal(job, worker(0, job), worker(1, job, {SIZE: size})).endswith(
        f"segment size {size} on pod default/pt-worker-1 needs to be a positive integer"
    )


def test_too_many_segments_are_refused() -> None:
    job = pytorch(1, 10_001, given={SIZE: "1"})
    assert refusal(job, worker(0, job)).endswith(
        "number of subgroups created for the segmentation 10001 is greater than max allowed "
        "segmentation 10000"
    )


@pytest.mark.parametrize(
    ("index", "given"),
    [
        (None, "replica index label not found on pod default/bad"),
        ("one", "invalid replica index one, err: it is not a whole number"),
        ("-1", "replica index -1 is not valid. It must be bigger than 0"),
    ],
)
def test_only_a_worker_without_a_valid_index_is_left_out(index: str | None, given: str) -> None:
    job = pytorch(None, 2, given={SIZE: "2"})
    bad = owned("bad", job, {TYPE: "worker"} | ({} if index is None else {INDEX: index}))
    cluster = load(job, worker(1, job), bad)
    assert sub_groups(cluster) == {"pt-worker-1": "worker-0"}
    [rejected] = cluster.rejected
    assert str(rejected) == f"Pod default/bad: metadata.labels[{INDEX}]: {given}"
    whole = pytorch(None, 2)
    assert sub_groups(load(whole, bad)) == {"bad": "worker"}  # only segments need it


@pytest.mark.parametrize(
    ("broken", "given"),
    [
        ({"elasticPolicy": {"minReplicas": -1}}, "spec.elasticPolicy.minReplicas: is -1, not a"),
        (
            {"runPolicy": {"schedulingPolicy": {"minAvailable": "two"}}},
            "spec.runPolicy.schedulingPolicy.minAvailable: is 'two', not a number of pods",
        ),
        ({"pytorchReplicaSpecs": None}, "spec.pytorchReplicaSpecs: is missing"),
    ],
)
def test_an_invalid_job_is_named(broken: dict[str, Any], given: str) -> None:
    job = pytorch(1, 1)
    job["spec"] |= broken
    assert given in refusal(job, worker(0, job))


# ---- LeaderWorkerSet -----------------------------------------------------------------------------


def test_every_replica_is_its_own_group() -> None:
    cluster = load(lws(2, replicas=2))
    assert {
        each["metadata"]["name"]: each["metadata"]["annotations"]["pod-group-name"]
        for each in cluster.objects["pods"]
    } == {
        "serve-0": "pg-serve-group-0",
        "serve-0-1": "pg-serve-group-0",
        "serve-1": "pg-serve-group-1",
        "serve-1-1": "pg-serve-group-1",
    }
    with pytest.raises(kai.NotFoundError, match="'serve' is the name of 2 pod groups"):
        kai.Scheduler().plan(cluster).why("serve")


def test_the_groups_of_a_saved_set_have_its_uid() -> None:
    saved = lws(1)
    saved["metadata"]["uid"] = "u"
    [group] = load(saved).objects["podGroups"]
    assert group["metadata"]["name"] == "pg-serve-u-group-0"


def test_a_replica_has_a_leader_and_workers() -> None:
    assert spec_of(lws(4))["minMember"] == 4
    assert parts(lws(4)) == {"leader": 1, "workers": 3}
    assert parts(lws(1)) == {"leader": 1}
    assert sub_groups(load(lws(3))) == {
        "serve-0": "leader",
        "serve-0-1": "workers",
        "serve-0-2": "workers",
    }


@pytest.mark.parametrize(
    ("size", "segment", "policy", "expected"),
    [
        (5, 2, "LeaderWorker", ["leader", "workers", "workers", "segment-1", "segment-1"]),
        (4, 2, "LeaderWorker", ["leader", "workers", "segment-1", "segment-1"]),
        (6, 4, "LeaderWorker", ["leader", *["workers"] * 3, "segment-1", "segment-1"]),
        (9, 4, "LeaderWorker", ["leader", *["workers"] * 4, *["segment-1"] * 4]),
        (5, 3, "LeaderWorker", ["leader", "workers", "workers", "segment-1", "segment-1"]),
        (5, 2, "LeaderExcluded", ["leader", *["segment-0"] * 2, *["segment-1"] * 2]),
        (5, 4, "LeaderWorker", ["leader", *["workers"] * 4]),
        (5, 4, "LeaderExcluded", ["leader", *["segment-0"] * 4]),
    ],
)
def test_the_pods_of_a_replica_fill_what_its_segments_need(
    size: int, segment: int, policy: str, expected: list[str]
) -> None:
    cut = lws(size, sub_groups={"subGroupSize": segment, "subGroupPolicyType": policy})
    found = list(sub_groups(load(cut)).values())
    assert found == expected
    needed = {
        each["name"]: each["minMember"] for each in spec_of(cut)["subGroups"] if "minMember" in each
    }
    assert needed == {name: expected.count(name) for name in expected}


@pytest.mark.parametrize("policy", ["LeaderWorker", "LeaderExcluded"])
def test_one_segment_of_all_workers_starts(policy: str) -> None:
    """KAI requires one pod too many of it (spec 4 W8)."""
    cut = lws(5, sub_groups={"subGroupSize": 4, "subGroupPolicyType": policy})
    plan = kai.Scheduler().plan(load(node("n", 5), cut))
    assert plan.pod_groups["default/pg-serve-group-0"].verdict == "placed"


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        ({"given": {SIZE: "2"}}, 2),
        ({"given": {SIZE: "2"}, "annotations": {SIZE: "3"}}, 3),
        (
            {
                "given": {SIZE: "2"},
                "annotations": {SIZE: "3"},
                "sub_groups": {"subGroupSize": 4},
            },
            4,
        ),
    ],
)
def test_the_set_overrides_the_segment_size_of_its_template(
    cut: dict[str, Any], expected: int
) -> None:
    # Of 12 pods, (12 - 1) mod 2, 3 and 4 is not 0: the first segment contains the leader and the
    # rest.
    assert parts(lws(12, **cut))["workers"] == expected - 1


def test_segments_of_a_replica_are_constrained_and_not_their_subgroups() -> None:
    assert constraints(lws(4, given=IN_RACKS | {SIZE: "2"})) == {
        "segment-0": RACK,
        "segment-1": RACK,
    }
    named = lws(4, given={SIZE: "2", REQUIRED: "rack"}, annotations={TOPOLOGY: "racks"})
    assert constraints(named) == {"segment-0": RACK, "segment-1": RACK}
    assert "topologyConstraint" not in spec_of(named)
    excluded = {"subGroupPolicyType": "LeaderExcluded"}
    assert constraints(lws(5, given=IN_RACKS | {SIZE: "2"}, sub_groups=excluded)) == {
        "segment-0": RACK,
        "segment-1": RACK,
    }


@pytest.mark.parametrize(
    ("broken", "given"),
    [
        (lws(4, given={SIZE: "1"}), "segmentSize 1 is not valid. It must be greater than 1"),
        (lws(4, given={SIZE: "0"}), "segmentSize 0 is not valid. It must be greater than 1"),
        (
            lws(4, sub_groups={"subGroupSize": -3}),
            "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize: segmentSize -3 is not valid. "
            "It must be greater than 1",
        ),
        (lws(4, given={SIZE: "5"}), "segmentSize 5 is greater than replicasSize 4"),
        (
            lws(4, annotations={SIZE: "x"}),
            'invalid segment size "x" on LeaderWorkerSet: it is not a whole number',
        ),
        (
            lws(6, sub_groups={"subGroupSize": 4, "subGroupPolicyType": "LeaderExcluded"}),
            "replicasSize 6 is not divisible by segmentSize 4. LeaderExcluded policy is only "
            "supported when replicasSize is divisible by segmentSize.",
        ),
        (lws(20_002, given={SIZE: "2"}), "segments 10001 is greater than max allowed"),
        (lws(4, startupPolicy="Soon"), "spec.startupPolicy: is 'Soon', not LeaderCreated or"),
        (
            lws(4, sub_groups={"subGroupPolicyType": "LeaderOnly"}),
            "subGroupPolicyType: is 'LeaderOnly', not LeaderWorker or LeaderExcluded",
        ),
    ],
)
def test_an_indivisible_set_has_the_reason(broken: dict[str, Any], given: str) -> None:
    assert given in refusal(broken, member(0, broken))


@pytest.mark.parametrize(
    ("index", "given"),
    [
        ("one", "invalid worker index one, err: it is not a whole number"),
        ("-1", "worker index -1 is not valid. It must be bigger than 0"),
    ],
)
def test_only_a_pod_with_an_invalid_worker_index_is_left_out(index: str, given: str) -> None:
    owner = lws(3)
    cluster = load(owner, member(0, owner), member(index, owner))
    assert sub_groups(cluster) == {"serve-0": "leader"}
    assert [each.message for each in cluster.rejected] == [given]


# ---- LeaderWorkerSet: the leader first -----------------------------------------------------------


def test_a_leader_that_must_be_ready_first_starts_alone() -> None:
    owner = lws(4, startupPolicy="LeaderReady")
    leader = member(0, owner)
    assert spec_of(owner, leader)["minMember"] == 1
    assert parts(owner, leader) == {"leader": 1}


def test_the_whole_replica_is_required_once_a_worker_exists() -> None:
    owner = lws(4, startupPolicy="LeaderReady")
    for order in itertools.permutations([member(0, owner), member(1, owner), member(2, owner)]):
        assert spec_of(owner, *order)["minMember"] == 4
        assert parts(owner, *order) == {"leader": 1, "workers": 3}


def test_a_running_leader_without_workers_is_complete() -> None:
    """It is still starting; KAI treats it as the rest of a broken gang."""
    owner = lws(4, startupPolicy="LeaderReady")
    leader = member(0, owner) | {"status": {"phase": "Running"}}
    leader["spec"]["nodeName"] = "n"
    assert spec_of(owner, leader)["minMember"] == 1


@pytest.mark.parametrize("policy", ["LeaderWorker", "LeaderExcluded"])
def test_a_leader_starts_before_its_segments_have_pods(policy: str) -> None:
    """KAI rejects this: a replica of 1 pod is smaller than its segments (spec 4 W8)."""
    cut = {"subGroupSize": 2, "subGroupPolicyType": policy}
    owner = lws(5, startupPolicy="LeaderReady", sub_groups=cut)
    alone = parts(owner, member(0, owner))
    whole = parts(owner, member(0, owner), member(1, owner))
    assert alone.keys() == whole.keys()
    segments = {"segment-0": 2, "segment-1": 2}
    if policy == "LeaderWorker":
        assert alone == {"segment-0": 2, "leader": 1, "workers": 0, "segment-1": 0}
        assert whole == {**segments, "leader": 1, "workers": 2}
    else:
        assert alone == {"segment-0": 0, "leader": 1, "segment-1": 0}
        assert whole == {**segments, "leader": 1}

    plan = kai.Scheduler().plan(load(node("n", 1), owner, member(0, owner)))
    assert [each.pod for each in plan.decisions] == ["default/serve-0"]


def test_a_set_without_given_pods_is_planned_with_all_pods() -> None:
    assert parts(lws(4, startupPolicy="LeaderReady")) == {"leader": 1, "workers": 3}


def test_annotations_of_pods_set_the_size_of_a_replica() -> None:
    """During a rolling update old replicas keep their size."""
    given = {f"{LWS}/size": "3"}
    owner = lws(4, startupPolicy="LeaderReady")
    pods = [member(0, owner, given), member(1, owner, given)]
    assert parts(owner, *pods) == {"leader": 1, "workers": 2}
    assert parts(lws(4), *pods) == {"leader": 1, "workers": 3}
    pods[0]["metadata"]["annotations"] = {f"{LWS}/size": "many"}
    refused = refusal(owner, *pods)
    assert refused == f"metadata.annotations[{LWS}/size]: is 'many', not a number of pods"


# ---- pods of a saved cluster ---------------------------------------------------------------------


def test_workers_are_found_through_their_leader() -> None:
    """A StatefulSet creates the leaders, and another one per leader, owned by it, the workers."""
    owner = lws(2)
    owner["metadata"] |= {"uid": "u", "labels": {"kai.scheduler/queue": "a"}}

    def stateful_set(name: str, owner: dict[str, Any]) -> dict[str, Any]:
        reference = {"kind": owner["kind"], "name": owner["metadata"]["name"]}
        return {"kind": "StatefulSet", "metadata": {"name": name, "ownerReferences": [reference]}}

    leaders = stateful_set("serve", owner)
    leader = member(0, leaders)
    workers = stateful_set("serve-0", leader)
    saved = [owner, leaders, leader, workers, member(1, workers)]
    for pod in (leader, saved[-1]):
        del pod["metadata"]["labels"][f"{LWS}/name"]
    cluster = load(*saved)
    assert sub_groups(cluster) == {"serve-0": "leader", "serve-0-1": "workers"}
    [group] = cluster.objects["podGroups"]
    assert group["metadata"]["name"] == "pg-serve-u-group-0"
    assert group["spec"]["queue"] == "a"


def test_a_set_and_its_pods_are_enough() -> None:
    owner = lws(2)
    between = {"kind": "StatefulSet", "metadata": {"name": "serve-0"}}
    cluster = load(owner, member(0, between), member(1, between))
    assert [str(each) for each in cluster.rejected] == []
    assert sub_groups(cluster) == {"serve-0": "leader", "serve-0-1": "workers"}


def test_pods_with_a_missing_set_are_named_once() -> None:
    owner = lws(2, replicas=2)
    other = member(0, owner)
    other["metadata"] |= {"name": "serve-1"}
    other["metadata"]["labels"] = {**other["metadata"]["labels"], f"{LWS}/group-index": "1"}
    cluster = load(member(0, owner), member(1, owner), other)
    assert len(cluster.objects["podGroups"]) == 2
    assert [str(each) for each in cluster.rejected] == [
        "LeaderWorkerSet default/serve: kind: how many pods of a LeaderWorkerSet start together is "
        "not known; give it or its PodGroup"
    ]


def test_a_group_that_was_not_saved_gets_its_subgroups_again() -> None:
    job = pytorch(None, 2, given={SIZE: "2"})
    pods = [worker(index, job, {"pod-group-name": "pg-pt-u"}) for index in range(2)]
    cluster = load(job, *pods)
    [group] = cluster.objects["podGroups"]
    assert group["metadata"]["name"] == "pg-pt-u"
    assert [each["name"] for each in group["spec"]["subGroups"]] == ["worker", "worker-0"]
    assert set(sub_groups(cluster).values()) == {"worker-0"}


def test_an_existing_group_keeps_its_constraint_and_pods_get_subgroups() -> None:
    """spec 4 C2: a workload without a topology does not remove an existing constraint."""
    job = pytorch(None, 1)
    job["metadata"]["uid"] = "u"
    spec = {
        "queue": "a",
        "topologyConstraint": RACK,
        "subGroups": [{"name": "worker", "minMember": 1}],
    }
    existing = {"kind": "PodGroup", "metadata": {"name": "pg-pt-u"}, "spec": spec}
    cluster = load(job, existing, worker(0, job))
    assert spec_of(job, existing, worker(0, job)) == spec
    assert sub_groups(cluster) == {"pt-worker-0": "worker"}


def test_a_label_of_another_subgroup_is_replaced() -> None:
    job = pytorch(None, 1)
    pod = worker(0, job)
    pod["metadata"]["labels"]["kai.scheduler/subgroup-name"] = "old"
    assert sub_groups(load(job, pod)) == {"pt-worker-0": "worker"}
