"""Settings that look right and have no effect: misspelt keys, resources, schedulers and queues.

Report 02 and report 37: the API server accepts them, and the pod gets no GPU.
"""

import json
from typing import Any

import pytest

import kai
from kai.admission import misspelt
from kai.linting import Finding, lint

QUEUE = {"kai.scheduler/queue": "default-queue"}
ANNOTATIONS_OF_PODS = (
    "metadata.annotations",
    "spec.template.metadata.annotations",
    "pod_settings.annotations",
)
GPU = {"limits": {"nvidia.com/gpu": 1}}
FRACTION, MEMORY = "gpu-fraction", "gpu-memory"
DEVICES, CONTAINER = "gpu-fraction-num-devices", "gpu-fraction-container-name"


def pod(
    annotations: dict[str, Any] | None = None,
    labels: dict[str, Any] | None = None,
    resources: dict[str, Any] | None = None,
    scheduler: str | None = "kai-scheduler",
) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": resources or {}}]}
    if scheduler:
        spec["schedulerName"] = scheduler
    metadata = {
        "name": "p",
        "labels": QUEUE if labels is None else labels,
        "annotations": annotations or {},
    }
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}


def job(manifest: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {**manifest["metadata"], "labels": {}}, "spec": manifest["spec"]}
    del template["metadata"]["name"]
    metadata = {"name": "j", "labels": manifest["metadata"]["labels"]}
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": metadata,
        "spec": {"template": template},
    }


def zenml(manifest: dict[str, Any]) -> dict[str, Any]:
    """The same settings for ZenML."""
    [container], metadata = manifest["spec"]["containers"], manifest["metadata"]
    settings = {
        "labels": metadata["labels"],
        "annotations": metadata["annotations"],
        "resources": container["resources"],
    }
    if name := manifest["spec"].get("schedulerName"):
        settings["scheduler_name"] = name
    return {"pod_settings": settings}


def only(manifest: Any, **options: Any) -> Finding:
    (finding,) = lint(manifest, **options)
    return finding


# ---- what other projects use ----


KEYS_OF_OTHERS = (
    # HAMi
    *("hami.io/bind-phase", "hami.io/bind-time", "hami.io/gpu-scheduler-policy"),
    *("hami.io/node-scheduler-policy", "hami.io/vgpu-node", "hami.io/vgpu-time"),
    *("hami.io/vgpu-devices-allocated", "hami.io/vgpu-devices-to-allocate", "hami.io/webhook"),
    *("nvidia.com/use-gputype", "nvidia.com/nouse-gputype", "nvidia.com/use-gpuuuid"),
    *("nvidia.com/nouse-gpuuuid", "nvidia.com/vgpu-mode", "hami.io/resource-pool"),
    # Volcano
    *("scheduling.k8s.io/group-name", "scheduling.volcano.sh/queue-name", "volcano.sh/queue-name"),
    *("volcano.sh/job-name", "volcano.sh/job-version", "volcano.sh/preemptable"),
    *("volcano.sh/task-index", "volcano.sh/task-spec", "volcano.sh/template-uid"),
    *("volcano.sh/cooldown-time", "volcano.sh/revocable-zone", "volcano.sh/gpu-index"),
    *(
        "volcano.sh/predicate-time",
        "volcano.sh/jdb-min-available",
        "volcano.sh/numa-topology-policy",
    ),
    "volcano.sh/task-topology-affinity",
    # Kueue
    *("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class", "kueue.x-k8s.io/managed"),
    *("kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"),
    *("kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology"),
    *("kueue.x-k8s.io/max-exec-time-seconds", "kueue.x-k8s.io/retriable-in-group"),
    # Run:ai
    *("runai/node-pool", "run.ai/node-pool", "runai/queue", "runai-gpu-group"),
    *("runai-calculated-status", "runai-current-allocated-gpus", "runai-current-requested-gpus"),
    *("runai-job-id", "runai-pending-pods", "runai-total-requested-gpus", "runai-used-nodes"),
    *("run.ai/top-owner-metadata", "run.ai/pod-deletion-cost", "runai/job-index", "release"),
    *("received-resource-type", "run.ai/reserve_for_gpu_index", "runai/shared-gpu-configmap"),
    # labels of nodes: GPU feature discovery, MIG, clouds
    *("nvidia.com/gpu.count", "nvidia.com/gpu.product", "nvidia.com/gpu.family"),
    *("nvidia.com/gpu.present", "nvidia.com/gpu.replicas", "nvidia.com/gpu.machine"),
    *("nvidia.com/gpu.sharing-strategy", "nvidia.com/gpu.compute.major", "nvidia.com/mig.config"),
    *("nvidia.com/mig.capable", "nvidia.com/mig.strategy", "nvidia.com/mps.capable"),
    *(
        "nvidia.com/cuda.driver.major",
        "nvidia.com/gpu.deploy.driver",
        "nvidia.com/mig-1g.5gb.count",
    ),
    *("cloud.google.com/gke-accelerator", "cloud.google.com/gke-gpu-sharing-strategy"),
    *("cloud.google.com/gke-max-shared-clients-per-gpu", "cloud.google.com/gke-gpu-partition-size"),
    *("k8s.amazonaws.com/accelerator", "karpenter.k8s.aws/instance-gpu-count"),
    *("karpenter.k8s.aws/instance-gpu-memory-free", "node.kubernetes.io/instance-type"),
    # other schedulers and operators
    *("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io/name"),
    *("scheduler.alpha.kubernetes.io/preemptible", "yunikorn.apache.org/queue"),
    *("yunikorn.apache.org/task-group-name", "yunikorn.apache.org/user.info", "queue"),
    *("gang.scheduling.koordinator.sh/min-available", "koordinator.sh/qosClass"),
    *("quota.scheduling.koordinator.sh/name", "scheduling.koordinator.sh/reservation"),
    *("kaito.sh/workspace", "kubernetes.io/config.seen", "kubernetes.io/psp"),
    *(
        "autoscaling.knative.dev/min-scale",
        "serving.knative.dev/service",
        "networking.gke.io/queue",
    ),
    *("ray.io/cluster", "ray.io/node-type", "ray.io/identifier", "ray.io/priority-class-name"),
    *("training.kubeflow.org/job-role", "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/gpu"),
    *("sidecar.istio.io/proxyMemory", "sidecar.istio.io/proxyCPU", "prometheus.io/scrape"),
    *("cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt"),
    *(
        "workflows.argoproj.io/workflow",
        "pipelines.kubeflow.org/v2_component",
        "argocd.argoproj.io/x",
    ),
    *("zenml_pipeline", "zenml_step_name", "skypilot-cluster", "dask.org/cluster-name"),
    *("spark-role", "sparkoperator.k8s.io/app-name", "app.kubernetes.io/part-of", "helm.sh/chart"),
    # plain names that people give
    *(
        "app",
        "team",
        "user",
        "project",
        "tier",
        "cpu-memory",
        "cpu-fraction",
        "memory",
        "fraction-of",
    ),
    *("gpu", "gpu-model", "gpu-vendor", "gpu-driver", "gpus", "priority", "topology", "node-pool"),
    *("queue-url", "job-name", "example.com/queue", "example.com/priority-class", "mps-server"),
    *("example.com/topology", "example.com/pod-group", "cost-center", "gpu-alert-threshold"),
)

RESOURCES_OF_OTHERS = (
    *("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "amd.com/gpu"),
    *("nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.10gb.me", "nvidia.com/mig-7g.80gb"),
    *("nvidia.com/mig-1c.3g.20gb", "nvidia.com/gpu.shared", "nvidia.com/pgpu", "nvidia.com/vgpu"),
    *("nvidia.com/GA102GL_A10", "nvidia.com/hostdev", "rdma/hca", "google.com/tpu"),
    *("habana.ai/gaudi", "intel.com/gpu", "gpu.intel.com/i915", "aws.amazon.com/neuron"),
    *("vpc.amazonaws.com/efa", "huawei.com/Ascend910", "cambricon.com/mlu", "example.com/licence"),
)


# ---- keys ----------------------------------------------------------------------------------------

MISSPELT = {
    **dict.fromkeys(
        (
            *("kai.scheduler/gpu-fraction", "runai/gpu-fraction", "run.ai/gpu-fraction"),
            *("nvidia.com/gpu-fraction", "scheduling.run.ai/gpu-fraction", "gpu_fraction"),
            *("gpuFraction", "GPU-fraction", "gpu-fractions", "gpu-fractoin", "gpu-fracton"),
            *("gpufraction", "gpu.fraction", "gpu-portion", "kai-scheduler/gpu-fraction"),
            *("example.com/gpu-fraction", "pgu-fraction", "gpus-fraction", "GPU_FRACTION"),
            "gpu/fraction",
            *("gpu-fraction.kai.scheduler", "kai.scheduler.gpu-fraction", "kai-gpu-fraction"),
            *("gpushare", "gpuPercent", "vgpu", "nvidia.com/vgpu-share"),
            *("nvidia.com/gpu", "gpu-share", "gpus", "gpu-part", "kai.scheduler/fraction"),
        ),
        FRACTION,
    ),
    **dict.fromkeys(
        (
            *("gpu-mem", "gpu.memory", "nvidia.com/gpu.memory", "nvidia.com/gpumem", "gpu_memory"),
            *("gpu-mem-limit", "gpu-memory-limit", "gpu-memory.kai.scheduler"),
            *("volcano.sh/gpu-memory", "volcano.sh/vgpu-memory", "aliyun.com/gpu-mem", "gpuMemory"),
            *("kai.scheduler/gpu-memory", "gpu-memroy", "runai/gpu-memory"),
        ),
        MEMORY,
    ),
    **dict.fromkeys(
        (
            *("gpu_fraction_num_devices", "kai.scheduler/gpu-fraction-num-devices"),
            *("gpu-fraction-num-device", "gpu-num-devices", "gpuFractionNumDevices"),
        ),
        DEVICES,
    ),
    **dict.fromkeys(
        ("gpu-fraction-container", "gpuFractionContainerName", "runai/gpu-fraction-container-name"),
        CONTAINER,
    ),
    **dict.fromkeys(
        (
            "pod_group_name",
            "podGroupName",
            "scheduling.kai.io/pod-group",
            "kai.scheduler/pod-group",
        ),
        "pod-group-name",
    ),
    **dict.fromkeys(
        ("batch-min-member", "kai.scheduler/batch-min-members", "run.ai/batchMinMember"),
        "kai.scheduler/batch-min-member",
    ),
    "kai.scheduler/topology-required-placment": "kai.scheduler/topology-required-placement",
    "kai.scheduler/topolgy": "kai.scheduler/topology",
    "preemption-delay": "kai.scheduler/preemption-delay",
    "kai.scheduler/stalenessGracePeriod": "kai.scheduler/staleness-grace-period",
    "kia.scheduler/segment-size": "kai.scheduler/segment-size",
    "nvidia.com/container.main.gpu-mem.request": "nvidia.com/container.main.gpu-memory.request",
    "container.main.gpu-memory.limit": "nvidia.com/container.main.gpu-memory.limit",
}
LABELS = {
    **dict.fromkeys(
        (
            *("kai-scheduler/queue", "kai.scheduler.io/queue", "scheduling.run.ai/queue-name"),
            *("run.ai/queue", "scheduling.kai.io/queue", "kai/queue", "kai.scheduler/Queue"),
            *("kai.scheduler/queue-name", "kai.scheduler/queu", "kia.scheduler/queue"),
        ),
        "kai.scheduler/queue",
    ),
    **dict.fromkeys(
        ("priority-class-name", "kai.scheduler/priority-class", "priorityclassname"),
        "priorityClassName",
    ),
    **dict.fromkeys(
        ("kai.scheduler/preemptability", "preemptibility", "runai/preemptible"),
        "kai.scheduler/preemptibility",
    ),
    "kai.scheduler/nodepool": "kai.scheduler/node-pool",
    "kai.scheduler/sub-group-name": "kai.scheduler/subgroup-name",
    "ray.io/priority-class": "ray.io/priority-class-name",
}


@pytest.mark.parametrize("form", [dict, job, zenml], ids=["Pod", "Job", "ZenML"])
@pytest.mark.parametrize(("key", "meant"), MISSPELT.items())
def test_a_misspelt_annotation(key: str, meant: str, form: Any) -> None:
    finding = only(form(pod({key: "0.5"})))
    assert (finding.code, finding.severity) == ("key-unknown", "warning")
    assert finding.path.endswith(f"[{key}]") or finding.path.endswith(f".{key}")
    assert finding.message.startswith(f"KAI does not know {key}")
    assert finding.fix.startswith(f"did you mean {meant}?")


@pytest.mark.parametrize("form", [dict, zenml], ids=["Pod", "ZenML"])
@pytest.mark.parametrize(("key", "meant"), LABELS.items())
def test_a_misspelt_label(key: str, meant: str, form: Any) -> None:
    labels = {key: "x"} if meant.endswith("/queue") else {**QUEUE, key: "x"}
    finding = only(form(pod(labels=labels, resources=GPU)))
    assert (finding.code, finding.fix) == ("key-unknown", f"did you mean {meant}?")


@pytest.mark.parametrize("resources", [GPU, {}], ids=["with a GPU", "without"])
@pytest.mark.parametrize("key", KEYS_OF_OTHERS)
def test_keys_of_other_projects_are_not_misspelt(key: str, resources: Any) -> None:
    for manifest in (
        pod({key: "yes"}, resources=resources),
        pod(labels={**QUEUE, key: "yes"}, resources=resources),
    ):
        found = [each for each in lint(manifest) if each.code == "key-unknown"]
        assert found == []
        assert kai_warnings(manifest) == []


def test_a_key_that_is_right_is_not_misspelt() -> None:
    right = {
        "gpu-fraction": "0.5",
        "kai.scheduler/preemption-delay": "5m",
        "kai.scheduler/run-time-estimate": "2h",
    }
    assert lint(pod(right)) == []
    named = {"nvidia.com/container.main.gpu-memory.request": "1Gi"}
    assert lint(pod(named)) == []


def test_a_key_of_another_project_about_gpus_may_describe_a_gpu_that_the_pod_has() -> None:
    assert lint(pod({"nvidia.com/gpu.memory": "40960"}, resources=GPU)) == []
    assert lint(pod({"example.com/gpu-memory": "40960", "gpu-fraction": "0.5"})) == []
    assert only(pod({"gpu_memory": "40960"}, resources=GPU)).code == "key-unknown"


def test_a_misspelt_key_in_the_wrong_place() -> None:
    assert only(pod(labels={**QUEUE, "gpu_fraction": "0.5"})).fix == (
        "did you mean gpu-fraction? it belongs in annotations"
    )
    on_the_job = job(pod())
    on_the_job["metadata"]["annotations"] = {"gpu_fraction": "0.5"}
    finding = only(on_the_job)
    assert finding.message == "KAI does not know gpu_fraction: its pods get no GPU"
    assert finding.fix == (
        "did you mean gpu-fraction? KAI reads it from pods: move it to"
        " spec.template.metadata.annotations"
    )


@pytest.mark.parametrize(
    ("key", "value", "written"),
    [
        ("nvidia.com/gpu.memory", "8000Mi", "8000"),
        ("gpu_memory", "8Gi", "8192"),
        ("gpu_fraction", "50%", "0.5"),
        ("gpu_fraction", "500m", "0.5"),
        ("gpu_fraction", "0,5", "0.5"),
        ("kai.scheduler/gpu-fraction", "half", "0.5"),
        ("gpu_memory", "8 GB", "7630"),
    ],
)
def test_the_value_of_a_misspelt_key_may_need_another_form(
    key: str, value: str, written: str
) -> None:
    assert only(pod({key: value})).fix.endswith(f'? write it with the value "{written}"')


def test_fix_renames_a_key_that_differs_only_in_style() -> None:
    finding = only(pod({"kai.scheduler/gpu_fraction": "0.5"}))
    assert finding.edit == kai.linting.Edit("rename", finding.at, "gpu-fraction")
    assert only(pod({"gpu-fractoin": "0.5"})).edit is None
    assert only(pod({"gpu_memory": "8Gi"})).edit is None


def test_a_misspelt_share_without_a_scheduler() -> None:
    found = lint(pod({"gpu_fraction": "0.5"}, labels={}, scheduler=None))
    assert {each.code for each in found} == {"key-unknown", "scheduler-missing", "queue-missing"}
    assert lint(pod({"example.com/gpu-fraction": "0.5"}, labels={}, scheduler=None)) == []


def test_a_pod_of_another_scheduler_has_that_schedulers_keys() -> None:
    keys = {"run.ai/priority": "high", "gpu_fraction": "0.5"}
    for name in ("runai-scheduler", "volcano", "hami-scheduler"):
        assert lint(pod(keys, labels={}, scheduler=name)) == []
        assert lint(job(pod(keys, labels={"run.ai/priority": "x"}, scheduler=name))) == []
    assert "key-unknown" in {each.code for each in lint(pod(keys, {}, scheduler="kai-sheduler"))}


# ---- queues and schedulers -----------------------------------------------------------------------


def test_a_label_that_names_a_queue_of_others_is_named_if_the_queue_is_missing() -> None:
    finding = only(pod(labels={"kueue.x-k8s.io/queue-name": "a"}))
    assert finding.code == "queue-missing"
    assert finding.fix.endswith("KAI does not read kueue.x-k8s.io/queue-name")


def test_another_label_may_be_the_queue_label_of_the_installation() -> None:
    named = pod(labels={"kai.example.com/queue": "a"})
    assert only(named).code == "key-unknown"
    assert lint(named, queue_label_key="kai.example.com/queue") == []


@pytest.mark.parametrize(
    "name",
    ["kai-sheduler", "kai_scheduler", "KAI-scheduler", "kai", "kai-schedular", "kia-scheduler"],
)
@pytest.mark.parametrize("form", [dict, job, zenml], ids=["Pod", "Job", "ZenML"])
def test_a_misspelt_scheduler(name: str, form: Any) -> None:
    finding = only(form(pod(scheduler=name)))
    assert (finding.code, finding.severity) == ("scheduler-other", "error")
    assert finding.fix == "did you mean kai-scheduler?"


@pytest.mark.parametrize(
    "name", ["default-scheduler", "volcano", "hami-scheduler", "runai-scheduler", "my-scheduler"]
)
def test_another_scheduler_is_not_a_misspelt_one(name: str) -> None:
    assert lint(pod(labels={}, scheduler=name)) == []
    assert "scheduler-other" not in {each.code for each in lint(pod(scheduler=name))}


# ---- resources -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [dict, job, zenml], ids=["Pod", "Job", "ZenML"])
@pytest.mark.parametrize("part", ["limits", "requests"])
@pytest.mark.parametrize(
    ("amount", "fix"),
    [
        ("0.5", 'write the annotation gpu-fraction: "0.5" instead'),
        (0.5, 'write the annotation gpu-fraction: "0.5" instead'),
        ("500m", 'write the annotation gpu-fraction: "0.5" instead'),
        ("0.25", 'write the annotation gpu-fraction: "0.25" instead'),
        (
            1.5,
            'write the annotations gpu-fraction-num-devices: "2" and gpu-fraction: "0.75" instead',
        ),
    ],
)
def test_a_part_of_a_gpu_as_a_limit(amount: Any, fix: str, part: str, form: Any) -> None:
    """The API server accepts only whole numbers, and the plan leaves the pod out."""
    manifest = form(pod(resources={part: {"nvidia.com/gpu": amount}}))
    finding = only(manifest)
    advice, _, where = finding.fix.partition(", in ")
    assert (finding.code, finding.refused, advice) == ("quantity-refused", True, fix)
    assert where in ANNOTATIONS_OF_PODS
    if "kind" in manifest:
        [left_out] = kai.load(json.dumps(manifest).encode()).rejected
        assert left_out.message == finding.message
        assert left_out.field == finding.path


@pytest.mark.parametrize("name", ["rdma/hca", "amd.com/gpu", "nvidia.com/mig-1g.5gb"])
def test_devices_are_whole_numbers(name: str) -> None:
    assert only(pod(resources={"limits": {name: "0.5"}})).code == "quantity-refused"
    assert lint(pod(resources={"limits": {name: "1000m", "cpu": "0.5"}})) == []


@pytest.mark.parametrize("name", ["rdma/hca", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"])
@pytest.mark.parametrize("amount", [-1, "two", "1 GPU"])
def test_what_is_written_instead_is_a_number_of_devices(name: str, amount: Any) -> None:
    finding = only(pod(resources={"limits": {name: amount}}))
    assert (finding.code, finding.fix) == ("quantity-refused", "write a whole number, such as 1")
    finding = only(pod(resources={"limits": {"memory": amount}}))
    assert finding.fix == "write a quantity, such as 2, 500m or 16Gi"


@pytest.mark.parametrize("form", [dict, job, zenml], ids=["Pod", "Job", "ZenML"])
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nvidia.com/gpus", "nvidia.com/gpu"),
        ("nvidia.com/GPU", "nvidia.com/gpu"),
        ("nvidia/gpu", "nvidia.com/gpu"),
        ("nvdia.com/gpu", "nvidia.com/gpu"),
        ("gpu", "nvidia.com/gpu"),
        ("amd.com/gpus", "amd.com/gpu"),
        ("nvidia.com/mig-1g5gb", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/mig-3g.20g", "nvidia.com/mig-3g.20gb"),
        ("nvidia.com/mig-3g-20gb", "nvidia.com/mig-3g.20gb"),
        ("nvidia.com/MIG-7g.80GB", "nvidia.com/mig-7g.80gb"),
        ("nvidia.com/mig_2g.10gb", "nvidia.com/mig-2g.10gb"),
        ("nvidia.com/mig-1g.10gbme", "nvidia.com/mig-1g.10gb.me"),
        ("nvidia.com/gpumem", "the annotation gpu-memory"),
        ("volcano.sh/gpu-memory", "the annotation gpu-memory"),
        ("nvidia.com/gpu-fraction", "the annotation gpu-fraction"),
    ],
)
def test_a_resource_that_no_node_has(name: str, meant: str, form: Any) -> None:
    finding = only(form(pod(resources={"limits": {name: 1}})))
    assert (finding.code, finding.fix) == ("resource-unknown", f"did you mean {meant}?")


@pytest.mark.parametrize("name", RESOURCES_OF_OTHERS)
def test_resources_of_other_devices_are_known(name: str) -> None:
    assert lint(pod(resources={"limits": {name: 1}})) == []
    assert kai_warnings(pod(resources={"limits": {name: 1}})) == []


# ---- the plan ------------------------------------------------------------------------------------


def kai_warnings(*manifests: dict[str, Any]) -> list[str]:
    cluster = kai.load(json.dumps(manifests).encode())
    return list(kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z").warnings)


@pytest.mark.parametrize("form", [dict, job], ids=["Pod", "Job"])
@pytest.mark.parametrize("key", [key for key, meant in MISSPELT.items() if meant == FRACTION])
def test_the_plan_warns_of_a_pod_that_gets_no_gpu(key: str, form: Any) -> None:
    [warning] = kai_warnings(form(pod({key: "0.5"})))
    assert f"KAI does not know {key}: the pod gets no GPU; did you mean gpu-fraction?" in warning


def test_the_plan_warns_of_a_resource_that_no_node_has() -> None:
    [warning] = kai_warnings(pod(resources={"limits": {"nvidia.com/gpus": 1}}))
    assert "no node has nvidia.com/gpus" in warning
    [warning] = kai_warnings(pod({"gpu_fraction": "0.5"}, scheduler="volcano"))
    assert "default/p has schedulerName volcano" in warning


def test_is_kais() -> None:
    kais = ("kai.scheduler", "kai-scheduler.io", "scheduling.run.ai", "runai", "kia.scheduler")
    others = (
        "kaito.sh",
        "kueue.x-k8s.io",
        "k8s.io",
        "volcano.sh",
        "scheduling.k8s.io",
        "kubernetes",
    )
    assert all(map(misspelt.is_kais, kais))
    assert not any(map(misspelt.is_kais, others))


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [dict, job, zenml], ids=["Pod", "Job", "ZenML"])
@pytest.mark.parametrize("value", ["half", "50%", "50 %", "0,5", ",5", "1/2", "0.5 GPU", "500m"])
def test_a_part_of_a_gpu_in_other_words(value: str, form: Any) -> None:
    finding = only(form(pod({FRACTION: value})))
    assert (finding.code, finding.fix) == ("fraction-refused", "write 0.5")
    assert finding.edit == kai.linting.Edit("set", finding.at, "0.5")
    asked = only(form(pod(resources={"limits": {"nvidia.com/gpu": value}})))
    fix, _, where = asked.fix.partition(", in ")
    assert (asked.code, fix) == (
        "quantity-refused",
        'write the annotation gpu-fraction: "0.5" instead',
    )
    assert where in ANNOTATIONS_OF_PODS


def test_a_third_is_rounded_by_the_user() -> None:
    finding = only(pod({FRACTION: "1/3"}))
    assert (finding.fix, finding.edit) == ("write 0.33", None)


def test_a_percentage_without_its_sign() -> None:
    assert only(pod({FRACTION: "50"})).fix.startswith(
        "for 50 percent of a GPU write 0.5; for whole"
    )


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("8000 MiB", "write 8000"),
        ("5Gib", "write 5120"),
        ("5120 ", "write 5120"),
        ("5 GB", "write 4769, the same rounded up to whole MiB"),
        ("5120.5", "write 5121, the same rounded up to whole MiB"),
        ("0.5", 'remove it, and write for 0.5 of a GPU the annotation gpu-fraction: "0.5"'),
        ("many", "write a whole number of MiB, such as 5120"),
    ],
)
def test_a_memory_with_a_unit(value: str, fix: str) -> None:
    finding = only(pod({MEMORY: value}))
    assert (finding.code, finding.fix) == ("gpu-memory-refused", fix)
