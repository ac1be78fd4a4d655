"""An answer about a pod group names what it needs and what was left out of the plan."""

from pathlib import Path

import pytest
import yaml

import kai
from kai.engine.explain import reasons_to_wait
from kai.engine.left_out import why_rejected

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "4", pods: "110"}
  conditions: [{type: Ready, status: "True"}]
"""


def queue(name: str, spec: str = "") -> str:
    return f"""
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {{name: {name}}}
spec: {{{spec} resources: {{gpu: {{quota: -1, limit: -1}}}}}}
"""


def pod(name: str, *, metadata: str = "", spec: str = "", queue: str = "a") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: a, labels: {{kai.scheduler/queue: {queue}}}, {metadata}}}
spec: {{schedulerName: kai-scheduler, {spec} containers: [{{name: main, image: x}}]}}
"""


@pytest.fixture
def plan_of(tmp_path: Path):
    def plan(*manifests: str) -> kai.Plan:
        file = tmp_path / "cluster.yaml"
        file.write_text("\n---\n".join((NODE, queue("a"), *manifests)))
        return kai.Scheduler().plan(kai.load(file))

    return plan


def group(spec: str) -> str:
    return f"""
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {{name: train, namespace: a}}
spec: {{queue: a, {spec}}}
"""


IN_GROUP = "annotations: {pod-group-name: train}"
BOTH = "minMember: 2, minSubGroup: 1, subGroups: [{name: left, minMember: 1}]"
BOTH_ARE_SET = (
    "PodGroup a/train was left out of the plan: spec.minSubGroup: minMember and minSubGroup are "
    "both set."
)


def of_subgroup(name: str, subgroup: str) -> str:
    made = yaml.safe_load(pod(name, metadata=IN_GROUP))
    made["metadata"]["labels"]["kai.scheduler/subgroup-name"] = subgroup
    return yaml.safe_dump(made)


@pytest.mark.parametrize("name", ["train", "a/train-0"])
def test_pods_of_a_group_that_was_left_out_lack_no_subgroup(plan_of, name: str) -> None:
    """It was said that their subgroup does not exist."""
    plan = plan_of(group(BOTH), of_subgroup("train-0", "left"))
    assert plan.why(name) == f"a/train waits until its PodGroup is corrected.\n  {BOTH_ARE_SET}"
    assert plan.page(name).sentences[1] == BOTH_ARE_SET
    why = "The pod group was left out of the plan: spec.minSubGroup: minMember and minSubGroup are"
    assert reasons_to_wait(plan) == [(f"{why} both set.", ["a/train"])]


def test_pods_that_start_without_their_group_have_it_in_their_answer(plan_of) -> None:
    plan = plan_of(group("minMember: 2, minSubGroup: 1"), pod("train-0", metadata=IN_GROUP))
    assert plan.why("train").splitlines() == [
        "a/train is placed: 1 pod on n1.",
        f"  {BOTH_ARE_SET}",
    ]


def test_groups_of_one_reason_are_apart_if_one_was_left_out(plan_of) -> None:
    """Their facts are equal: both have too few GPUs."""
    of_another = "annotations: {pod-group-name: other}"
    wait = "nodeSelector: {zone: x},"
    plan = plan_of(
        pod("other", metadata=of_another, spec=wait, queue="default-queue"),
        pod("train-0", metadata=IN_GROUP, spec=wait, queue="default-queue"),
        group("minMember: 1, minSubGroup: 1"),
    )
    assert [names for _, names in reasons_to_wait(plan)] == [["a/other"], ["a/train"]]


def test_the_table_says_only_that_the_group_was_left_out(plan_of) -> None:
    """What the default queue has is no reason: the group is of another queue."""
    waits = yaml.safe_load(pod("train-0", metadata=IN_GROUP, queue="default-queue"))
    waits["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    runs = yaml.safe_load(pod("old"))
    runs["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 4}}
    runs["spec"]["nodeName"] = "n1"
    runs["status"] = {"phase": "Running"}
    manifests = (group("minMember: 1, minSubGroup: 1"), *map(yaml.safe_dump, (waits, runs)))
    [(why, names)] = reasons_to_wait(plan_of(*manifests))
    assert names == ["a/train"]
    assert why.endswith(" minMember and minSubGroup are both set.")


def test_a_queue_is_followed_up_to_what_is_wrong(plan_of) -> None:
    plan = plan_of(
        queue("top", "reclaimMinRuntime: 5x,"),
        queue("vision", "parentQueue: top,"),
        pod("train", queue="vision"),
    )
    assert plan.why("train").splitlines()[1:] == [
        '  Queue vision was left out of the plan: spec.parentQueue: parent queue "top" does not '
        "exist.",
        '  Queue top was left out of the plan: spec.reclaimMinRuntime: duration "5x" is not valid.',
    ]


def test_a_parent_of_another_type_is_named(plan_of) -> None:
    plan = plan_of(queue("vision", "parentQueue: 5,"), pod("train", queue="vision"))
    assert plan.why("train").splitlines()[1] == (
        "  Queue vision was left out of the plan: spec.parentQueue: parentQueue is 5: the API "
        "server requires a string."
    )


def test_all_problems_of_an_object_are_in_one_sentence(plan_of) -> None:
    plan = plan_of(
        queue("vision", "parentQueue: 5, reclaimMinRuntime: 5x,"), pod("train", queue="vision")
    )
    [_, sentence] = plan.why("train").splitlines()
    assert "spec.parentQueue: " in sentence
    assert "; spec.reclaimMinRuntime: " in sentence


CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: gpus, namespace: a}}
spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: fast, count: {count}}}}}]}}}}
"""
CLASS = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: fast}
spec: {selectors: [{cel: {expression: 5}}]}
"""
VOLUME = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data, namespace: a}}
spec:
  storageClassName: {of}
  accessModes: [ReadWriteOnce]
  resources: {{requests: {{storage: 1}}}}
"""
DISKS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks}
provisioner: 5
"""
TOPOLOGY = """
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: racks}
spec: {levels: 5}
"""
USES_CLAIM = "resourceClaims: [{name: gpu, resourceClaimName: gpus}],"
USES_VOLUME = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}],"
IN_ONE_RACK = (
    "annotations: {kai.scheduler/topology: racks, kai.scheduler/topology-required-placement: rack}"
)


@pytest.mark.parametrize(
    ("left_out", "manifests"),
    [
        ("ResourceClaim a/gpus", (CLAIM.format(count="x"), pod("train", spec=USES_CLAIM))),
        ("DeviceClass fast", (CLAIM.format(count=1), CLASS, pod("train", spec=USES_CLAIM))),
        (
            "PersistentVolumeClaim a/data",
            (VOLUME.format(of=5), DISKS, pod("train", spec=USES_VOLUME)),
        ),
        ("StorageClass disks", (VOLUME.format(of="disks"), DISKS, pod("train", spec=USES_VOLUME))),
        ("Topology racks", (TOPOLOGY, pod("train", metadata=IN_ONE_RACK))),
    ],
)
def test_what_a_pod_needs_is_said_first(plan_of, left_out: str, manifests: tuple[str, ...]) -> None:
    plan = plan_of(*manifests)
    [head, first, *_] = plan.why("train").splitlines()
    assert head.endswith(" waits in queue a.")
    assert first.startswith(f"  {left_out} was left out of the plan: ")


def test_pods_that_a_group_lacks_because_they_were_left_out_are_named(plan_of) -> None:
    bad = "annotations: {pod-group-name: train, gpu-fraction: x}"
    plan = plan_of(
        group("minMember: 2"), pod("train-0", metadata=IN_GROUP), pod("train-1", metadata=bad)
    )
    [head, lacks, why] = plan.why("train").splitlines()
    assert head == "a/train waits until it has enough pods."
    assert lacks == "  It needs 2 pods to start; 1 exists."
    assert why.startswith("  Pod a/train-1 was left out of the plan: metadata.annotations")


def test_a_priority_class_that_was_left_out_is_said_last(plan_of) -> None:
    plan = plan_of(
        "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: x}",
        pod("train", spec="priorityClassName: high, nodeSelector: {zone: x},"),
    )
    [_, never, priority] = plan.why("train").splitlines()
    assert never == "  It can never start here: no node has zone=x."
    assert priority.startswith("  PriorityClass high was left out of the plan: value: ")


def test_a_part_of_a_group_that_was_left_out_is_not_the_group(plan_of) -> None:
    """Sub-groups that contradict each other are left out; the group has its queue and minimum."""
    cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", gpus=1)
    snapshot = cluster.to_snapshot()
    [made] = snapshot["rawObjects"]["podGroups"]
    made["spec"]["subGroups"] = [{"name": "left", "minMember": 1}] * 2
    plan = kai.Scheduler().plan(kai.Cluster.from_snapshot(snapshot))
    assert plan.why("a/x").splitlines()[-1] == (
        "  spec.subGroups of PodGroup a/x was left out of the plan: subgroup left already exists."
    )
    assert why_rejected(plan.rejected).startswith(
        "A part of PodGroup a/x was left out of the plan."
    )
