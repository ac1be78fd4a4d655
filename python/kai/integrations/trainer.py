"""Kubeflow Trainer v2: TrainJobs and their runtimes (spec 7 N1-N8).

    built = trainer.build(request, name="train", runtime="torch-distributed")
    built.cluster_objects    # the runtime with the scheduler's name: apply it once
    TrainerClient().train(runtime=..., trainer=..., options=built.native)

A TrainJob cannot name a scheduler, a runtime class or a claim. These are in a copy of its runtime,
``kai-<runtime>``, which an administrator applies once. The other pod fields of a TrainJob depend on
the version: 2.0 has no pod annotations, so parts of GPUs are also in the copy.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from kai.api import keys, rules
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields, fields_at
from kai.api.resources import new_object
from kai.integrations.placement import Placement
from kai.integrations.workloads import head
from kai.settings import Built, PodPart, PodRequest, filled, merge, native_or, pod_part

API = "trainer.kubeflow.org/v1alpha1"
VERSIONS = ("2.0", "2.1", "2.2", "2.3")
MANAGER = "kai.scheduler/kai-sched"
JOB = CONTAINER = "node"
RUNTIME = "torch-distributed"
_STEP_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"


@in_a_sentence
def build(
    request: PodRequest,
    *,
    trainer_version: str = "2.3",
    name: str | None = None,
    namespace: str | None = None,
    runtime: str = RUNTIME,
    base: Mapping[str, Any] | None = None,
    runtime_name: str | None = None,
    image: str = "pytorch/pytorch",
    num_nodes: int | None = None,
    num_proc_per_node: int | str | None = None,
    job: str = JOB,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """A TrainJob, and its runtime in `cluster_objects`.

    runtime: the runtime to copy. base: its manifest, from ``kubectl get clustertrainingruntime -o
    yaml``; None: a plain runtime for PyTorch, with `image`. runtime_name: name of the copy; None:
    ``kai-`` and the name of the runtime. job: the replicated job that trains. native: the options
    for ``TrainerClient().train(options=)`` of the package kubeflow, for Trainer 2.2 and later.

    Raises InvalidRequestError for an unknown version, for invalid names, for another runtime than
    the plain one without its `base`, for a `base` that is not a training runtime or lacks the job,
    for a `gang_min` above `num_nodes`, with `as_native` if the package kubeflow is not installed,
    and with `strict` for settings that Trainer cannot express.
    """
    rules.one_of("trainer_version", trainer_version, VERSIONS)
    rules.object_name("runtime", runtime)
    if num_nodes is not None:
        rules.count("num_nodes", num_nodes)
        if request.gang_min is not None and request.gang_min > num_nodes:
            raise rules.refuse(
                f"gang_min is {request.gang_min}, but num_nodes is {num_nodes}: write a smaller"
                " gang_min"
            )
    part = pod_part(request, container=CONTAINER)
    shape = _Shape(trainer_version, part, request, job)
    copied = _runtime(runtime, base, image, shape)
    if runtime_name is not None:
        copied["metadata"]["name"] = rules.object_name("runtime_name", runtime_name)
    placement = Placement()
    owner = {"labels": dict(part.owner_labels), "annotations": _owner_annotations(part, copied)}
    placement.of_metadata(owner, "TrainJob")
    shape.place(placement)
    trains = filled(
        numNodes=num_nodes,
        numProcPerNode=num_proc_per_node,
        env=part.env_list(),
        resourcesPerNode=shape.resources,
    )
    reference = {"name": copied["metadata"]["name"]}
    if copied["kind"] != "ClusterTrainingRuntime":  # the default kind
        reference["kind"] = copied["kind"]
    spec = {"runtimeRef": reference, **filled({"trainer": trains})}
    spec |= shape.overrides()
    started = head(API, "TrainJob", name, namespace)
    settings = {**started, "metadata": {**started["metadata"], **filled(owner)}, "spec": spec}
    warnings = [*part.warnings]
    if request.shares_gpus and num_proc_per_node is None:
        warnings.append(
            "the trainer starts one process per whole GPU, or per processor without whole GPUs:"
            f" write num_proc_per_node={request.devices} if the runtime has auto"
        )
    warnings += shape.warnings(copied["metadata"]["name"])
    return Built(
        orchestrator="trainer",
        settings=settings,
        native=_options(settings, shape, as_native),
        pod=part.manifest(container=part.container or CONTAINER),
        placement=placement.written(),
        warnings=tuple(warnings),
        cluster_objects=(copied,),
    ).strict_if(strict)


def _owner_annotations(part: PodPart, runtime: Mapping[str, Any]) -> dict[str, str]:
    annotations = dict(part.owner_annotations)
    annotations.pop(keys.BATCH_MIN_MEMBER_ANNOTATION, None)
    if _starts_in_parts(runtime):  # spec 7 N8
        annotations[keys.BATCH_MIN_MEMBER_ANNOTATION] = "1"
    return annotations


class _Shape:
    """The fields of a Trainer version for each part of the settings."""

    def __init__(self, version: str, part: PodPart, request: PodRequest, job: str) -> None:
        self.version = version
        self.part = part
        self.job = job
        self.patches = version in ("2.2", "2.3")  # runtimePatches
        self.resources = {k: v for k, v in part.resources.items() if k != "claims"}
        container = filled({"volumeMounts": [dict(each) for each in part.volume_mounts]})
        security = dict(part.security_context)
        gang = (
            {}
            if request.gang_min is None
            else {keys.BATCH_MIN_MEMBER_ANNOTATION: str(request.gang_min)}
        )
        # What the job has fields for, and what must be in the runtime.
        self.pod_metadata = {} if version == "2.0" else part.metadata()
        self.runtime_metadata = part.metadata() if version == "2.0" else {}
        self.job_annotations = gang if self.patches else {}
        self.runtime_job_annotations = {} if self.patches else gang
        spec = part.spec()
        fixed = ("schedulerName", "runtimeClassName", "resourceClaims")
        self.pod_spec = {key: value for key, value in spec.items() if key not in fixed}
        self.runtime_spec = {key: value for key, value in spec.items() if key in fixed}
        self.runtime_container: dict[str, Any] = {}
        if security and self.patches:
            container["securityContext"] = security
        elif security:
            self.runtime_container["securityContext"] = security
        if claims := part.resources.get("claims"):
            self.runtime_container["resources"] = {"claims": claims}
        if container:
            self.pod_spec["containers"] = [{"name": part.container or CONTAINER, **container}]

    def warnings(self, runtime: str) -> list[str]:
        """Warnings about settings in the runtime that also affect other jobs."""
        found = []
        if self.runtime_job_annotations:
            found.append(
                f"with Trainer {self.version} gang_min is in the runtime {runtime}: it applies to"
                " all of its jobs"
            )
        if self.version == "2.0" and self.part.annotations:
            found.append(
                f"Trainer 2.0 has no pod annotations: they are in the runtime {runtime}, so write"
                " another runtime_name= for other shares"
            )
        return found

    def overrides(self) -> dict[str, Any]:
        """The field of a TrainJob that changes its pods."""
        if self.version == "2.0":
            changes = self.pod_spec
        elif self.version == "2.1":
            changes = filled({"metadata": self.pod_metadata, "spec": self.pod_spec})
        else:
            patched = self.runtime_patch()
            entry = {"manager": MANAGER, "trainingRuntimeSpec": patched}
            return {"runtimePatches": [entry]} if patched else {}
        field = "podSpecOverrides" if self.version == "2.0" else "podTemplateOverrides"
        return {field: [{"targetJobs": [{"name": self.job}], **changes}]} if changes else {}

    def runtime_patch(self) -> dict[str, Any]:
        pod = filled({"metadata": self.pod_metadata, "spec": self.pod_spec})
        template = filled(
            metadata=filled({"annotations": self.job_annotations}),
            spec={"template": pod} if pod else {},
        )
        if not template:
            return {}
        replicated = [{"name": self.job, "template": template}]
        return {"template": {"spec": {"replicatedJobs": replicated}}}

    def place(self, placement: Placement) -> None:
        runtime = "ClusterTrainingRuntime"
        placement.of_metadata(self.pod_metadata, f"pods of {self.job}, by the TrainJob")
        placement.of_metadata(self.runtime_metadata, f"pods of {self.job}, by the {runtime}")
        of_job = {"annotations": self.job_annotations}
        placement.of_metadata(of_job, f"job {self.job}, by the TrainJob")
        of_job = {"annotations": self.runtime_job_annotations}
        placement.of_metadata(of_job, f"job {self.job}, by the {runtime}")
        containers = self.pod_spec.get("containers") or []
        for key in (*self.pod_spec, *(key for each in containers for key in each)):
            if key in ("containers", "name"):
                continue
            placement.add(key, f"pods of {self.job}, by the TrainJob")
        for key in (*self.runtime_spec, *self.runtime_container):
            placement.add(key, f"pods of {self.job}, by the {runtime}")
        for key, value in (("env", self.part.env), ("resources", self.resources)):
            if value:
                placement.add(key, "trainer of the TrainJob")


def _runtime(
    runtime: str, base: Mapping[str, Any] | None, image: str, shape: _Shape
) -> dict[str, Any]:
    """A copy of a runtime with the settings that a TrainJob cannot express (spec 7 C20)."""
    if base is None:
        if runtime != RUNTIME:
            raise rules.refuse(
                f"the content of the runtime {runtime} is unknown: write base= with its manifest,"
                f" or runtime={RUNTIME!r}"
            )
        base = _plain_runtime(image)
    check_fields("base", base)
    rules.one_of(
        "kind of the base", base.get("kind"), ("ClusterTrainingRuntime", "TrainingRuntime")
    )
    copied = copy.deepcopy(dict(base))
    before = copied.get("metadata") or {}
    kept = filled({key: before.get(key) for key in ("labels", "namespace")})
    own = str(before.get("name") or runtime)
    copied["metadata"] = {"name": own if own.startswith("kai-") else f"kai-{own}", **kept}
    copied.pop("status", None)
    jobs = fields_at("base", copied, "spec", "template", "spec").get("replicatedJobs") or []
    if shape.job not in [each.get("name") for each in jobs]:
        names = ", ".join(str(each.get("name")) for each in jobs)
        raise rules.refuse(f"the runtime has no job {shape.job!r}: write job= with one of {names}")
    for each in jobs:
        job = fields_at(f"replicated job {each.get('name')} of the base", each, "template", "spec")
        template = job["template"] = job.get("template") or {}
        trains = each.get("name") == shape.job
        # KAI schedules every pod of the group; the other settings are for those that train.
        added = shape.runtime_spec if trains else {"schedulerName": shape.part.scheduler_name}
        template["spec"] = merge(template.get("spec") or {}, added)
        if not trains:
            continue
        if shape.runtime_metadata:
            template["metadata"] = merge(template.get("metadata") or {}, shape.runtime_metadata)
        if shape.runtime_container:
            named = {"name": shape.part.container or CONTAINER, **shape.runtime_container}
            template["spec"] = merge(template["spec"], {"containers": [named]})
        if shape.runtime_job_annotations:
            metadata = {"annotations": shape.runtime_job_annotations}
            each["template"]["metadata"] = merge(each["template"].get("metadata") or {}, metadata)
    return copied


def _starts_in_parts(runtime: Mapping[str, Any]) -> bool:
    """Whether some of its jobs wait for others, such as a job that loads data: not a gang."""
    spec = runtime["spec"]["template"]["spec"]
    order = (spec.get("startupPolicy") or {}).get("startupPolicyOrder")
    return len(spec["replicatedJobs"]) > 1 and order != "InOrder"


def _plain_runtime(image: str) -> dict[str, Any]:
    """PyTorch on any number of nodes."""
    pod = {"spec": {"containers": [{"name": CONTAINER, "image": image}]}}
    trains = {"metadata": {"labels": {_STEP_LABEL: "trainer"}}, "spec": {"template": pod}}
    jobs = [{"name": JOB, "template": trains}]
    spec = {
        "mlPolicy": {"numNodes": 1, "torch": {}},
        "template": {"spec": {"replicatedJobs": jobs}},
    }
    metadata = {"name": RUNTIME, "labels": {"trainer.kubeflow.org/framework": "torch"}}
    return new_object("ClusterTrainingRuntime", metadata, spec=spec)


def _options(settings: Mapping[str, Any], shape: _Shape, as_native: bool | None) -> Any:
    """Options of the SDK, which supports the patches of Trainer 2.2 and later."""
    if not shape.patches:
        if as_native:
            raise rules.refuse(
                f"the SDK has no options for Trainer {shape.version}: omit as_native, and apply"
                " the TrainJob"
            )
        return settings
    metadata = settings["metadata"]

    def made() -> list[Any]:
        sdk = import_module("kubeflow.trainer.options.kubernetes")
        pod = filled({"metadata": shape.pod_metadata})
        if shape.pod_spec:
            pod["spec"] = sdk.PodSpecPatch(**_sdk_fields(shape.pod_spec, sdk))
        options: list[Any] = []
        if metadata.get("labels"):
            options.append(sdk.Labels(dict(metadata["labels"])))
        if metadata.get("annotations"):
            options.append(sdk.Annotations(dict(metadata["annotations"])))
        if not shape.runtime_patch():
            return options
        template = filled(
            metadata=filled({"annotations": shape.job_annotations}),
            spec=sdk.JobSpecPatch(template=sdk.PodTemplatePatch(**pod)) if pod else None,
        )
        job = sdk.ReplicatedJobPatch(name=shape.job, template=sdk.JobTemplatePatch(**template))
        jobs = sdk.JobSetTemplatePatch(spec=sdk.JobSetSpecPatch(replicated_jobs=[job]))
        spec = sdk.TrainingRuntimeSpecPatch(template=jobs)
        return [*options, sdk.RuntimePatch(training_runtime_spec=spec)]

    return native_or(settings, made, as_native=as_native, library="the package kubeflow")


def _sdk_fields(spec: Mapping[str, Any], sdk: Any) -> dict[str, Any]:
    names = {"nodeSelector": "node_selector", "tolerations": "tolerations", "volumes": "volumes"}
    fields = {names[key]: value for key, value in spec.items() if key in names}
    if containers := spec.get("containers"):
        spelled = {
            "name": "name",
            "volumeMounts": "volume_mounts",
            "securityContext": "security_context",
        }
        fields["containers"] = [
            sdk.ContainerPatch(**{spelled[key]: value for key, value in each.items()})
            for each in containers
        ]
    return fields
