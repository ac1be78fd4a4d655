"""JobSets, Ray clusters and training jobs start in KAI's sub-groups (spec 6 C28)."""

import itertools
from typing import Any

import pytest

from kai.grouping import Gang, InvalidField, Owner, chain_of, gang_of, owner_of
from kai.grouping.owners import Reference

MINIMUM = "kai.scheduler/batch-min-member"
API = {
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "MPIJob": "kubeflow.org/v2beta1",
    "Pod": "v1",
    "RayCluster": "ray.io/v1",
    "RayJob": "ray.io/v1",
    "TFJob": "kubeflow.org/v1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "Workflow": "argoproj.io/v1alpha1",
}


def an(kind: str, name: str, spec: Any = None, **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml", "uid": f"uid-{name}", **metadata}
    return {"apiVersion": API[kind], "kind": kind, "metadata": metadata, "spec": spec or {}}


def owner_in(*objects: dict[str, Any]) -> Owner:
    """The owner that groups the first object, a pod; each object is owned by the next one."""
    known: dict[Reference, dict[str, Any]] = {}
    for owned, owner in itertools.pairwise(objects):
        metadata = owner["metadata"]
        owned["metadata"]["ownerReferences"] = [
            {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
            | {key: metadata[key] for key in ("name", "uid")}
        ]
        key = (owner["apiVersion"], owner["kind"], "ml", metadata["name"], metadata["uid"])
        known[Reference(*key)] = owner
    return owner_of(chain_of(objects[0], known.get))


def gang(*objects: dict[str, Any]) -> Gang:
    return gang_of(owner_in(*objects), [objects[0]])


def parts(made: Gang) -> dict[str, tuple[str, int]]:
    """Each sub-group with its parent and its minimum."""
    return {
        each["name"]: (each.get("parent", ""), each.get("minMember", each.get("minSubGroup")))
        for each in made.sub_groups
    }


# ---- JobSet --------------------------------------------------------------------------------------


def job(name: str, replicas: int = 1, settings: Any = None, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"annotations": settings or {}}, "spec": spec}
    return {"name": name, "replicas": replicas, "template": template}


def job_set(*jobs: dict[str, Any], order: str = "AnyOrder", settings: Any = None) -> dict[str, Any]:
    spec = {"replicatedJobs": list(jobs), "startupPolicy": {"startupPolicyOrder": order}}
    return an("JobSet", "js", spec, annotations=settings or {})


def of_job(name: str, index: str) -> dict[str, Any]:
    labels = {"replicatedjob-name": name, "job-index": index}
    labels = {f"jobset.sigs.k8s.io/{key}": settings for key, settings in labels.items()}
    return an("Pod", f"js-{name}-{index}-0", labels=labels)


def test_every_replica_of_a_job_set_is_a_subgroup_of_its_job() -> None:
    made = gang(of_job("workers", "1"), job_set(job("leader"), job("workers", 2, parallelism=3)))
    assert made.min_sub_group == 2
    assert parts(made) == {
        "leader": ("", 1),
        "leader-replica-0": ("leader", 1),
        "workers": ("", 2),
        "workers-replica-0": ("workers", 3),
        "workers-replica-1": ("workers", 3),
    }
    assert made.sub_group_of(of_job("workers", "1")) == "workers-replica-1"
    assert made.sub_group_of(of_job("workers", "2")) == ""


@pytest.mark.parametrize(
    ("order", "settings", "wanted"),
    [
        ("InOrder", {}, 1),
        ("InOrder", {MINIMUM: "2"}, 2),
        ("AnyOrder", {MINIMUM: "1"}, 1),
        ("AnyOrder", {MINIMUM: "9"}, 2),
    ],
)
def test_how_many_jobs_of_a_job_set_start_together(order: str, settings: Any, wanted: int) -> None:
    jobs = job("leader"), job("workers")
    assert gang(
        of_job("leader", "0"), job_set(*jobs, order=order, settings=settings)
    ).min_sub_group == (wanted)


def test_a_replica_waits_for_the_pods_of_its_template() -> None:
    jobs = job("a", settings={MINIMUM: "5"}, parallelism=2), job("b", parallelism=4, completions=3)
    made = parts(gang(of_job("a", "0"), job_set(*jobs)))
    assert (made["a-replica-0"][1], made["b-replica-0"][1]) == (5, 3)


def test_a_job_without_replicas_is_not_a_subgroup() -> None:
    made = gang(of_job("b", "0"), job_set(job("a", 0), job("b")))
    assert (made.min_sub_group, [*parts(made)]) == (1, ["b", "b-replica-0"])


def test_the_topology_of_a_template_is_that_of_its_replicas() -> None:
    settings = {"kai.scheduler/topology": "t", "kai.scheduler/topology-required-placement": "rack"}
    [job_part, replica] = gang(of_job("a", "0"), job_set(job("a", settings=settings))).sub_groups
    assert "topologyConstraint" not in job_part
    assert replica["topologyConstraint"] == {"topology": "t", "requiredTopologyLevel": "rack"}


@pytest.mark.parametrize(
    ("owner", "field"),
    [
        (job_set(), "spec.replicatedJobs"),
        (job_set(job("a", -1)), "spec.replicatedJobs[0].replicas"),
        (job_set(job("a"), settings={MINIMUM: "0"}), f"metadata.annotations[{MINIMUM}]"),
        (job_set(job("a"), settings={MINIMUM: "all"}), f"metadata.annotations[{MINIMUM}]"),
        (
            job_set(job("a", settings={MINIMUM: "0"})),
            f"spec.replicatedJobs[0].template.metadata.annotations[{MINIMUM}]",
        ),
    ],
)
def test_an_invalid_job_set_has_the_field(owner: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        gang(of_job("a", "0"), owner)
    assert caught.value.field == field


def test_a_pod_of_a_job_set_has_the_label_of_its_job() -> None:
    made = gang(of_job("a", "0"), job_set(job("a")))
    with pytest.raises(InvalidField) as caught:
        made.sub_group_of(an("Pod", "lost"))
    assert caught.value.field == "metadata.labels[jobset.sigs.k8s.io/replicatedjob-name]"


def test_the_job_set_of_a_train_job_is_read() -> None:
    train = an("TrainJob", "t", labels={"user": "ann"}, annotations={MINIMUM: "1"})
    owner = owner_in(of_job("a", "0"), job_set(job("a"), job("b")), train)
    assert (owner.group_name, owner.labels) == ("pg-js-uid-js", {"user": "ann"})
    assert gang_of(owner, []).min_sub_group == 1


def test_the_name_of_a_replica_is_a_label_value_also_if_the_name_of_its_job_is_long() -> None:
    long = "j" * 60
    made = gang(of_job(long, "0"), job_set(job(long, 2)))
    names = [name for name, (parent, _) in parts(made).items() if parent]
    assert [len(name) for name in names] == [63, 63]
    assert [made.sub_group_of(of_job(long, index)) for index in "012"] == [*names, ""]


# ---- Ray -----------------------------------------------------------------------------------------


def ray_spec(*groups: dict[str, Any], head: Any = None) -> dict[str, Any]:
    return {"headGroupSpec": {"template": head or {}}, "workerGroupSpecs": list(groups)}


def ray_pod(name: str = "", **labels: str) -> dict[str, Any]:
    return an("Pod", "rp", labels={"ray.io/group": name} if name else labels)


def ray_gang(*groups: dict[str, Any], head: Any = None) -> Gang:
    cluster = an("RayCluster", "rc", ray_spec(*groups, head=head))
    return gang(ray_pod("headgroup"), cluster)


def test_a_worker_group_with_upper_case_letters_is_a_sub_group_that_the_api_server_accepts() -> (
    None
):
    groups = [
        {"groupName": name, "replicas": 1} for name in ("GPU_workers", "gpu_workers", "plain")
    ]
    made = ray_gang(*groups)
    first, second = (made.sub_group_of(ray_pod(each)) for each in ("GPU_workers", "gpu_workers"))
    assert [*parts(made)] == ["headgroup", first, second, "plain"]
    assert first.startswith("gpu-workers-")
    assert first != second


def test_a_ray_cluster_starts_with_its_head_and_the_least_workers() -> None:
    made = ray_gang(
        {"groupName": "a", "minReplicas": 2, "replicas": 4},
        {"minReplicas": 0, "replicas": 3, "numOfHosts": 2},
    )
    assert made.min_member == 9
    assert parts(made) == {"headgroup": ("", 1), "a": ("", 2), "worker-group-1": ("", 6)}
    assert made.sub_group_of(ray_pod("a")) == "a"


def test_a_worker_group_with_zero_replicas_has_a_subgroup() -> None:
    """KAI leaves it out, and rejects the pods that an autoscaler creates in it later."""
    made = ray_gang({"groupName": "a", "minReplicas": 0, "replicas": 0})
    assert (made.min_member, parts(made)) == (1, {"headgroup": ("", 1), "a": ("", 0)})


def test_a_suspended_worker_group_is_not_a_subgroup() -> None:
    made = ray_gang({"groupName": "a", "replicas": 2, "suspend": True})
    assert parts(made) == {"headgroup": ("", 1)}
    assert made.sub_group_of(ray_pod("a")) == ""


def test_an_invalid_ray_group_has_the_field() -> None:
    with pytest.raises(InvalidField) as caught:
        ray_gang({"minReplicas": 3, "replicas": 2})
    assert caught.value.field == "spec.workerGroupSpecs[0].minReplicas"
    placed = {"metadata": {"annotations": {"kai.scheduler/topology-required-placement": "rack"}}}
    with pytest.raises(InvalidField) as caught:
        ray_gang(head=placed)
    assert caught.value.field == (
        "spec.headGroupSpec.template.metadata.annotations[kai.scheduler/topology]"
    )


def test_the_ray_cluster_of_a_ray_job_sets_its_numbers() -> None:
    """Its autoscaler changes the cluster, not the RayJob; KAI fails until the status names the
    cluster."""
    described = ray_spec({"groupName": "a", "replicas": 1})
    ray_job = an("RayJob", "rj", {"rayClusterSpec": described})
    cluster = an("RayCluster", "rc", ray_spec({"groupName": "a", "replicas": 5}))
    owner = owner_in(ray_pod("a"), cluster, ray_job)
    assert (owner.group_name, gang_of(owner, []).min_member) == ("pg-rj-uid-rj", 6)


def test_the_submitter_of_a_ray_job_is_its_own_group() -> None:
    """KAI puts it into the cluster's group without a sub-group, and it never starts."""
    ray_job = an("RayJob", "rj", labels={"kai.scheduler/queue": "q"})
    owner = owner_in(an("Pod", "rj-x"), an("Job", "rj", labels={"user": "ann"}), ray_job)
    assert (owner.key, owner.group_name) == (("Job", "ml", "rj"), "pg-rj-uid-rj")
    assert owner.labels == {"kai.scheduler/queue": "q", "user": "ann"}
    assert gang_of(owner, []) == Gang(1)


def test_the_clean_up_job_of_a_ray_cluster_is_its_own_group() -> None:
    cluster = an("RayCluster", "rc", ray_spec())
    owner = owner_in(an("Pod", "p"), an("Job", "clean"), cluster, an("RayJob", "rj"))
    assert owner.group_name == "pg-clean-uid-clean"


def test_a_label_sets_the_priority_class_of_ray() -> None:
    cluster = an("RayCluster", "rc", ray_spec(), labels={"ray.io/priority-class-name": "build"})
    assert owner_in(ray_pod("headgroup"), cluster).priority_class == "build"


# ---- the rest ------------------------------------------------------------------------------------


def test_a_training_job_needs_all_pods_unless_it_has_a_minimum() -> None:
    replicas = {"PS": {"replicas": 2}, "Worker": {"replicas": 3}}
    assert gang(an("Pod", "p"), an("TFJob", "tf", {"tfReplicaSpecs": replicas})).min_member == 5
    policy = {"runPolicy": {"schedulingPolicy": {"minAvailable": 4}}}
    spec = {"tfReplicaSpecs": replicas, **policy}
    assert gang(an("Pod", "p"), an("TFJob", "tf", spec)).min_member == 4


def test_a_launcher_that_waits_for_workers_counts_when_it_exists() -> None:
    replicas = {"Launcher": {"replicas": 1}, "Worker": {"replicas": 2}}
    spec = {"launcherCreationPolicy": "WaitForWorkersReady", "mpiReplicaSpecs": replicas}
    role = "training.kubeflow.org/job-role"
    worker, launcher = (an("Pod", each, labels={role: each}) for each in ("worker", "launcher"))
    owner = owner_in(worker, an("MPIJob", "m", spec))
    assert gang_of(owner, [worker]).min_member == 2
    assert gang_of(owner, [worker, launcher]).min_member == 3
    ended = {**launcher, "status": {"phase": "Failed"}}
    assert gang_of(owner, [worker, ended]).min_member == 2


def test_a_step_of_a_workflow_is_its_own_group() -> None:
    workflow = an("Workflow", "w", labels={"user": "ann"}, annotations={"a": "1", "b": "2"})
    owner = owner_in(an("Pod", "step", annotations={"a": "0"}), workflow)
    assert (owner.group_name, owner.labels) == ("pg-step-uid-step", {"user": "ann"})
    assert owner.annotations == {"a": "0", "b": "2"}


def test_pods_of_spark_submit_share_the_group_of_their_application() -> None:
    labels = {"spark-app-name": "pi", "spark-app-selector": "spark-1"}
    driver = an("Pod", "driver", labels=labels)
    assert owner_in(driver).group_name == "spark-1"
    executor = owner_in(an("Pod", "e", labels=labels), driver)
    assert (executor.group_name, executor.key) == ("spark-1", ("Pod", "ml", "driver"))
    assert owner_in(an("Pod", "p", labels={"spark-app-selector": "x"})).group_name == "pg-p-uid-p"


def test_a_kind_of_another_api_group_is_unknown() -> None:
    other = an("JobSet", "js") | {"apiVersion": "example.com/v1"}
    assert gang(an("Pod", "p"), other) == Gang(1)


def test_the_controlling_owner_of_several_is_followed() -> None:
    first, second = (
        {"apiVersion": "v1", "kind": "Widget", "name": each, "uid": each} for each in "ab"
    )
    pod, owned = an("Pod", "p"), an("Job", "j", ownerReferences=[first, second])
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "uid-j"}
    pod["metadata"]["ownerReferences"] = [reference]

    def find(reference: Reference) -> dict[str, Any]:
        return owned if reference.kind == "Job" else {}

    with pytest.raises(
        InvalidField, match=r"found Job <j in namespace ml> with multiple owners: \["
    ):
        chain_of(pod, find)
    second["controller"] = True  # type: ignore[assignment]
    assert [each.key[2] for each in chain_of(pod, find)] == ["p", "j", "b"]


def test_the_chain_ends_before_an_unreadable_owner() -> None:
    pod = an("Pod", "p", ownerReferences=[{"kind": "Secretive", "name": "s", "uid": "u"}])
    assert owner_of(chain_of(pod, lambda _: None)).group_name == "pg-p-uid-p"
