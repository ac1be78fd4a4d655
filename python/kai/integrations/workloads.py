"""Where the pods of each kind of workload are described, and what KAI reads from its other parts.

`patch` adds the settings of a request to a manifest of any of `KINDS` (spec 7 J1): to each pod
template what belongs on pods, and to the object that KAI takes for their owner what it reads only
there (§1.3). Nothing else in the manifest changes, and patching twice is as patching once (B5).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kai.api import keys
from kai.errors import InvalidRequestError
from kai.integrations.native import to_native, to_plain
from kai.settings import (
    Built,
    PodPart,
    PodRequest,
    Unsupported,
    filled,
    merge,
    merge_into_pod,
    native_or,
    platforms,
    pod_part,
    rules,
)
from kai.settings.merging import is_gpu_resource

Manifest = Mapping[str, Any]
DEFAULT_QUEUE = "default-queue"  # the one that KAI's chart makes


@dataclass(frozen=True, slots=True)
class Shape:
    """How the description of a pod is written where it is no pod template."""

    read: Callable[[Manifest], dict[str, Any]]  # -> {"metadata", "spec"}
    write: Callable[[Manifest, Manifest], dict[str, Any]]  # with a changed one
    no_field_for: Mapping[str, str] = field(default_factory=dict)  # of a PodPart -> what to do
    is_pod: Callable[[Manifest], bool] = lambda _: True


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods of one description in a workload.

    `path` has ``[name]`` for each item of a list, known by that key, and ``{}`` for each entry of a
    mapping. `role`: what they are called, where the path does not name them.
    """

    path: str
    role: str = ""
    gpu: bool = True  # they are the ones that GPUs are asked for
    no_gpu: tuple[str, ...] = ()  # roles among them that are not
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of workload.

    `owner`: metadata of the object that KAI takes for the owner. `owns_itself`: there is none that
    it reads, so that the pod says everything. `gang`: how `gang_min` is said: "owner" in an
    annotation there, "leaf" on each replicated job, else the path of a field; None: not at all, and
    `gang_hint` says what to do. `container`: what the operator calls the main one. `parts`: where
    KAI looks for the topology of one role: "pod", the template, or "job", the replicated job.
    """

    pods: tuple[Pods, ...]
    owner: str = "metadata"
    owns_itself: bool = False
    container: str | None = None
    parts: str | None = None
    gang: str | None = None
    gang_hint: str = "use a Job, a JobSet or a PyTorchJob for pods that have to start together"
    native: str | None = None  # class of the kubernetes client
    topology: bool = True
    ray: bool = False  # its groups have rayStartParams
    queue_annotation: str | None = None  # in which its operator looks for the queue


def _fields(values: Manifest, names: Iterable[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


_METADATA = ("labels", "annotations")


# ---- shapes that are no pod templates ------------------------------------------------------------


def _read_argo(template: Manifest) -> dict[str, Any]:
    key = next((each for each in ("container", "script") if each in template), None)
    spec = _fields(template, ("schedulerName", "nodeSelector", "tolerations", "volumes"))
    for name in ("initContainers", "sidecars"):
        if name in template:
            spec[name] = template[name]
    spec["containers"] = [{**template[key], "name": "main"}] if key else []
    return {"metadata": template.get("metadata") or {}, "spec": spec}


def _write_argo(template: Manifest, pod: Manifest) -> dict[str, Any]:
    written = dict(template)
    spec = {key: value for key, value in pod["spec"].items() if key != "containers"}
    for key in ("container", "script"):
        if key in template:
            container = dict(pod["spec"]["containers"][0])
            if "name" not in template[key]:
                del container["name"]
            written[key] = container
    if metadata := pod.get("metadata"):
        written["metadata"] = metadata
    return {**written, **spec}


def _read_predictor(predictor: Manifest) -> dict[str, Any]:
    spec = {k: v for k, v in predictor.items() if k not in (*_METADATA, "model")}
    if model := predictor.get("model"):
        spec["containers"] = [
            {**model, "name": "kserve-container"},
            *(predictor.get("containers") or []),
        ]
    return {"metadata": _fields(predictor, _METADATA), "spec": spec}


def _write_predictor(predictor: Manifest, pod: Manifest) -> dict[str, Any]:
    spec = dict(pod["spec"])
    if "model" in predictor:
        model, *others = spec.pop("containers")
        spec["model"] = {**model, **_fields(predictor["model"], ("name",))}
        if "name" not in predictor["model"]:
            del spec["model"]["name"]
        if others:
            spec["containers"] = others
    return {**spec, **pod.get("metadata", {})}


# Spark writes resources of its pods in its own words.
_SPARK_CONTAINER = ("env", "volumeMounts", "securityContext")
_SPARK_SPEC = ("schedulerName", "nodeSelector", "tolerations")


def _read_spark(role: str) -> Callable[[Manifest], dict[str, Any]]:
    def read(part: Manifest) -> dict[str, Any]:
        limits = {}
        if gpu := part.get("gpu"):
            limits[str(gpu.get("name"))] = str(gpu.get("quantity"))
        if "coreLimit" in part:
            limits["cpu"] = part["coreLimit"]
        requests = {"cpu": part["coreRequest"]} if "coreRequest" in part else {}
        container = {
            "name": f"spark-kubernetes-{role}",
            **_fields(part, _SPARK_CONTAINER),
            **filled({"resources": filled({"limits": limits, "requests": requests})}),
        }
        spec = {**_fields(part, _SPARK_SPEC), "containers": [container]}
        return {"metadata": _fields(part, _METADATA), "spec": spec}

    return read


def _write_spark(part: Manifest, pod: Manifest) -> dict[str, Any]:
    written = {k: v for k, v in part.items() if k not in ("gpu", "coreLimit", "coreRequest")}
    container = pod["spec"]["containers"][0]
    resources = container.get("resources", {})
    limits = dict(resources.get("limits", {}))
    written |= filled(
        {
            "coreLimit": limits.pop("cpu", None),
            "coreRequest": resources.get("requests", {}).get("cpu"),
        }
    )
    for name, amount in limits.items():
        if is_gpu_resource(name):
            written["gpu"] = {"name": name, "quantity": int(amount)}
    return {
        **written,
        **_fields(container, _SPARK_CONTAINER),
        **_fields(pod["spec"], _SPARK_SPEC),
        **pod.get("metadata", {}),
    }


def _read_dynamo(service: Manifest) -> dict[str, Any]:
    """Of a service of Dynamo's v1alpha1: GPUs have a short name there, other devices are custom."""
    spec = dict(service.get("extraPodSpec") or {})
    resources = {}
    for kind, amounts in (service.get("resources") or {}).items():
        if isinstance(amounts, Mapping):
            known = {k: v for k, v in amounts.items() if k not in ("gpu", "custom")}
            gpus = {keys.NVIDIA_GPU: amounts["gpu"]} if "gpu" in amounts else {}
            resources[kind] = {**known, **gpus, **(amounts.get("custom") or {})}
    main = {**(spec.pop("mainContainer", None) or {}), "name": "main"}
    own = merge(main.get("resources") or {}, resources)
    spec["containers"] = [{**main, **filled({"resources": own})}, *(spec.get("containers") or [])]
    return {"metadata": service.get("extraPodMetadata") or {}, "spec": spec}


_DYNAMO_RESOURCES = (keys.CPU, keys.MEMORY)


def _write_dynamo(service: Manifest, pod: Manifest) -> dict[str, Any]:
    spec = dict(pod["spec"])
    main, *others = spec.pop("containers")
    resources = dict(main.get("resources") or {})
    short: dict[str, Any] = {}
    for kind, amounts in resources.items():
        if kind == "claims":
            short[kind] = amounts
            continue
        custom = {
            k: v for k, v in amounts.items() if k not in (*_DYNAMO_RESOURCES, keys.NVIDIA_GPU)
        }
        short[kind] = filled(
            {
                **_fields(amounts, _DYNAMO_RESOURCES),
                "gpu": amounts.get(keys.NVIDIA_GPU),
                "custom": custom,
            }
        )
    main = {k: v for k, v in main.items() if k not in ("name", "resources")}
    spec |= filled({"mainContainer": main, "containers": others})
    written = {k: v for k, v in service.items() if k != "resources"}
    return {
        **written,
        **filled(
            {"extraPodMetadata": pod.get("metadata"), "extraPodSpec": spec, "resources": short}
        ),
    }


def _read_clique(clique: Manifest) -> dict[str, Any]:
    return {"metadata": _fields(clique, _METADATA), "spec": dict(clique["spec"]["podSpec"])}


def _write_clique(clique: Manifest, pod: Manifest) -> dict[str, Any]:
    spec = {**clique["spec"], "podSpec": pod["spec"]}
    return {**clique, **pod.get("metadata", {}), "spec": spec}


_SERVICE = Shape(_read_dynamo, _write_dynamo)
_CLIQUE = Shape(
    _read_clique, _write_clique, is_pod=lambda clique: "podSpec" in (clique.get("spec") or {})
)
_ARGO = Shape(
    _read_argo,
    _write_argo,
    {
        "runtime_class": "write it in podSpecPatch",
        "resource_claims": "write them in podSpecPatch",
    },
    is_pod=lambda template: "container" in template or "script" in template,
)
_PREDICTOR = Shape(_read_predictor, _write_predictor)
_IN_TEMPLATE = "write it in the pod template of the driver or executor (template:)"


def _spark(role: str) -> Shape:
    return Shape(
        _read_spark(role),
        _write_spark,
        {"runtime_class": _IN_TEMPLATE, "resource_claims": _IN_TEMPLATE, "volumes": _IN_TEMPLATE},
    )


# ---- the table -----------------------------------------------------------------------------------

_TEMPLATE = (Pods("spec.template"),)
_MIN_AVAILABLE = "spec.runPolicy.schedulingPolicy.minAvailable"
_REPLICATED = "replicatedJobs[name].template.spec.template"
_RAY_HINT = "set minReplicas of the worker groups: KAI waits for the head and that many workers"


def _training(family: str, container: str, *no_gpu: str) -> Kind:
    pods = Pods(f"spec.{family}ReplicaSpecs{{}}.template", no_gpu=no_gpu)
    return Kind((pods,), container=container, gang=_MIN_AVAILABLE)


def _ray(path: str) -> Kind:
    return Kind(
        (
            Pods(f"{path}.headGroupSpec.template", role="head", gpu=False),
            Pods(f"{path}.workerGroupSpecs[groupName].template"),
        ),
        parts="pod",
        gang_hint=_RAY_HINT,
        ray=True,
    )


def _service(native: str | None = None) -> Kind:
    hint = "use a Job, JobSet or LeaderWorkerSet: KAI starts each of these pods by itself"
    return Kind(_TEMPLATE, native=native, gang_hint=hint)


_WORKFLOW = Kind((Pods("spec.templates[name]", shape=_ARGO),), owns_itself=True, container="main")

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "Pod": Kind((Pods(""),), owner="", owns_itself=True, native="V1Pod"),
        "PodTemplate": Kind((Pods("template"),), owner="", native="V1PodTemplate"),
        "Job": Kind(_TEMPLATE, gang="owner", native="V1Job"),
        "CronJob": Kind(  # J3: KAI groups by the Job
            (Pods("spec.jobTemplate.spec.template"),),
            owner="spec.jobTemplate.metadata",
            gang_hint="use a JobSet: KAI reads the number from Jobs that no CronJob made",
            native="V1CronJob",
        ),
        "Deployment": _service("V1Deployment"),
        "StatefulSet": _service("V1StatefulSet"),
        "ReplicaSet": _service("V1ReplicaSet"),
        "DaemonSet": _service("V1DaemonSet"),
        "JobSet": Kind((Pods(f"spec.{_REPLICATED}"),), parts="job", gang="leaf"),
        "TrainingRuntime": Kind(
            (Pods(f"spec.template.spec.{_REPLICATED}"),),
            owner="spec.template.metadata", gang="leaf",
        ),
        "ClusterTrainingRuntime": Kind(
            (Pods(f"spec.template.spec.{_REPLICATED}"),),
            owner="spec.template.metadata", gang="leaf",
        ),
        "LeaderWorkerSet": Kind(
            (
                Pods("spec.leaderWorkerTemplate.leaderTemplate", role="leader"),
                Pods("spec.leaderWorkerTemplate.workerTemplate", role="worker"),
            ),
            gang_hint="leave it out: KAI waits for spec.leaderWorkerTemplate.size pods",
        ),
        "PyTorchJob": _training("pytorch", "pytorch"),
        "TFJob": _training("tf", "tensorflow", "PS"),
        "XGBoostJob": _training("xgb", "xgboost"),
        "JAXJob": _training("jax", "jax"),
        "PaddleJob": _training("paddle", "paddle"),
        "MPIJob": _training("mpi", "mpi", "Launcher"),
        "RayCluster": _ray("spec"),
        "RayJob": _ray("spec.rayClusterSpec"),
        "RayService": _ray("spec.rayClusterConfig"),
        "SparkApplication": Kind(
            (
                Pods("spec.driver", "driver", False, shape=_spark("driver")),
                Pods("spec.executor", "executor", shape=_spark("executor")),
            ),
            owner="", owns_itself=True,
            gang_hint="leave it out: KAI starts the pods of an application one by one",
        ),
        "InferenceService": Kind(
            tuple(
                Pods(f"spec.{each}", each, each == "predictor", shape=_PREDICTOR)
                for each in ("predictor", "transformer", "explainer")
            ),
            container="kserve-container", topology=False,
            gang_hint="use a LeaderWorkerSet: KAI starts each of these pods by itself",
        ),
        "DynamoGraphDeployment": Kind(
            (
                Pods("spec.services{}", no_gpu=("Frontend", "Planner"), shape=_SERVICE),
                Pods("spec.components[name].podTemplate", no_gpu=("Frontend", "Planner")),
            ),
            queue_annotation="nvidia.com/kai-scheduler-queue",
            container="main",
            gang_hint="set replicas of the services: Grove says how many pods start together",
        ),
        "PodCliqueSet": Kind(
            (Pods("spec.template.cliques[name]", shape=_CLIQUE),),
            gang_hint="set minAvailable of the cliques: Grove says how many pods start together",
        ),
        "Workflow": _WORKFLOW,
        "WorkflowTemplate": _WORKFLOW,
        "ClusterWorkflowTemplate": _WORKFLOW,
    }
)  # fmt: skip


# ---- patching ------------------------------------------------------------------------------------


def patch(
    workload: Any,
    request: PodRequest,
    *,
    roles: Iterable[str] | None = None,
    requests: Mapping[str, PodRequest] | None = None,
    as_native: bool | None = None,
    strict: bool = False,
    orchestrator: str = "kubernetes",
) -> Built:
    """A workload with the settings; a manifest, or an object of the kubernetes client.

    roles: of its pods, those that get GPUs, such as ``["Worker"]``; None: those that usually do
    (not the head of a Ray cluster, nor the launcher of an MPIJob). The others get all but what goes
    with GPUs. requests: other settings for some roles.
    """
    plain = workload if isinstance(workload, Mapping) else to_plain(workload)
    manifest: dict[str, Any] = copy.deepcopy(dict(plain))
    name = str(manifest.get("kind") or type(workload).__name__.removeprefix("V1"))
    kind = kind_of(name)
    own = dict(requests or {})
    wanted = None if roles is None else [str(each) for each in roles]
    found = list(_found(manifest, kind))
    _check_roles(name, kind, found, [*(wanted or ()), *own])

    warnings: dict[str, None] = {}
    unsupported: dict[Unsupported, None] = {}
    placement = Placement()
    shown: tuple[bool, Mapping[str, Any]] | None = None
    with_gpus = []
    for each in found:
        takes_gpus = each.takes_gpus if wanted is None else each.role in wanted
        asked = own.get(each.role) or (request if takes_gpus else without_gpus(request))
        written, part, said, lost = _with_settings(each.read(), asked, kind, each.pods.shape)
        each.write(written)
        warnings |= dict.fromkeys((*part.warnings, *said))
        unsupported |= dict.fromkeys(lost)
        placement.of_pod(part, name if name == "Pod" else "pod template", kind.owns_itself)
        if asked.topology is not None and each.role in own:
            unsupported |= dict.fromkeys(_write_topology_of_part(each, asked, kind, placement))
        if kind.ray:
            warnings |= dict.fromkeys(_write_ray_gpus(each, asked))
        takes_gpus = takes_gpus or asked.gpu_kind != "none"
        if takes_gpus:
            with_gpus.append(each.role)
        if shown is None or (takes_gpus and not shown[0]):
            shown = (takes_gpus, written)

    part = pod_part(request.with_changes(gang_min=None), container=kind.container or "main")
    if kind.owner:
        metadata = {"labels": dict(part.owner_labels)}
        if not kind.owns_itself and kind.topology:
            metadata["annotations"] = dict(part.owner_annotations)
        if kind.queue_annotation is not None:  # without it the operator takes one of its own
            queue = {kind.queue_annotation: request.queue or DEFAULT_QUEUE}
            metadata["annotations"] = {**metadata.get("annotations", {}), **queue}
        metadata = filled(metadata)
        if metadata:
            _merge_at(manifest, kind.owner, metadata)
            placement.of_owner(metadata, _owner_name(name, kind))
    if request.topology is not None and not kind.topology:
        unsupported[
            Unsupported(
                "topology",
                f"KAI takes no topology from a {name}",
                "choose the nodes with node_selector=, or use a LeaderWorkerSet",
            )
        ] = None
    if request.gang_min is not None:
        unsupported |= dict.fromkeys(
            _write_gang(manifest, name, kind, request.gang_min, with_gpus, placement)
        )
    built = Built(
        orchestrator=orchestrator,
        settings=manifest,
        native=_native(manifest, kind, as_native),
        pod={**(shown[1] if shown else {}), "apiVersion": "v1", "kind": "Pod"},
        placement=placement.written(),
        unsupported=tuple(unsupported),
        warnings=tuple(warnings),
    )
    return built.strict() if strict else built


def with_warnings(built: Built, *more: str) -> Built:
    return replace(built, warnings=(*built.warnings, *more))


def placed(built: Built, names: Iterable[str], place: str) -> Built:
    """With more keys, which were on an object before."""
    return replace(built, placement={**built.placement, **dict.fromkeys(names, place)})


def segment_annotations(
    request: PodRequest, size: int, required: str | None, preferred: str | None
) -> dict[str, str]:
    """What cuts the workers of a PyTorchJob or LeaderWorkerSet into parts that stay together."""
    for level in (required, preferred):
        if level is not None:
            rules.qualified_name("a level of segments is", level)
    if (required or preferred) and request.topology is None:
        raise rules.refuse(
            "a level of segments is of no topology: write topology= and required_level= or"
            " preferred_level= in the request"
        )
    return filled(
        {
            keys.SEGMENT_SIZE_ANNOTATION: str(size),
            keys.SEGMENT_REQUIRED_ANNOTATION: required,
            keys.SEGMENT_PREFERRED_ANNOTATION: preferred,
        }
    )


def head(
    api: str, kind: str, name: str | None = None, namespace: str | None = None
) -> dict[str, Any]:
    """The beginning of a manifest; without a name it is for merging into one that has it."""
    if name is not None:
        rules.object_name("name", name)
    if namespace is not None:
        rules.dns_label("namespace", namespace)
    metadata = filled({"name": name, "namespace": namespace})
    return {"apiVersion": api, "kind": kind, "metadata": metadata}


def kind_of(name: str) -> Kind:
    if name == "TrainJob":
        raise rules.refuse("a TrainJob has no pod template: use kai.integrations.trainer.build()")
    rules.one_of("kind", name, KINDS)
    return KINDS[name]


def without_gpus(request: PodRequest) -> PodRequest:
    """The same for a pod beside the ones that take the GPUs, such as a launcher: without what goes
    with a GPU, and without the processors and memory that are meant for the others."""
    if request.gpu_kind == "none":
        return request
    platform = platforms.PLATFORMS[request.platform or "generic"]
    gone = {
        label
        for label, value in (
            (platform.gpu_type_label, request.gpu_type),
            (platform.pool_label, request.node_pool),
        )
        if value is not None
    }
    return request.with_changes(
        gpu_fraction=None, gpu_memory=None, gpus=None, mig=None, claim=None,
        devices=1, mps=False, gpu_type=None, node_pool=None, container=None,
        node_selector={k: v for k, v in request.node_selector.items() if k not in gone},
        tolerations=[t for t in request.tolerations if t != platforms.GPU_TOLERATION],
        cpu=None, memory=None, cpu_limit=None, memory_limit=None,
        framework=None, isolation="none", style="legacy", compute_sharing=None, runtime_class=None,
    )  # fmt: skip


class Placement:
    """Which object each key was written on (spec 7 B4)."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, None]] = {}

    def add(self, key: str, place: str) -> None:
        self._objects.setdefault(key, {})[place] = None

    def of_pod(self, part: PodPart, place: str, owns_itself: bool = False) -> None:
        self.of_owner(part.metadata(owns_itself=owns_itself), place)
        for key in (*part.spec(), *part.container_fields()):
            self.add(key, place)

    def of_owner(self, metadata: Mapping[str, Any], place: str) -> None:
        for fields in metadata.values():
            for key in fields:
                self.add(key, place)

    def written(self) -> dict[str, str]:
        return {key: " and ".join(places) for key, places in self._objects.items()}


# ---- one description of a pod --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """One description of pods in a manifest."""

    holder: MutableMapping[str, Any] | list[Any]
    key: Any
    role: str
    pods: Pods
    job: dict[str, Any] | None = None  # the template of the replicated job that has it

    @property
    def takes_gpus(self) -> bool:
        return self.pods.gpu and self.role not in self.pods.no_gpu

    def read(self) -> dict[str, Any]:
        described = self.holder if self.key is None else self.holder[self.key]
        return self.pods.shape.read(described) if self.pods.shape else dict(described)  # type: ignore[arg-type]

    def write(self, pod: Mapping[str, Any]) -> None:
        if self.key is None:
            self.holder.update(pod)  # type: ignore[union-attr] # a pod by itself
        elif self.pods.shape:
            self.holder[self.key] = self.pods.shape.write(self.holder[self.key], pod)
        else:
            self.holder[self.key] = pod


def _found(manifest: dict[str, Any], kind: Kind) -> Iterator[_Found]:
    for pods in kind.pods:
        jobs = {}
        if kind.parts == "job":
            path = pods.path.removesuffix(".spec.template")
            for holder, key, _ in _walk(manifest, path, ""):
                jobs[id(holder[key].get("spec"))] = holder[key]
        for holder, key, role in _walk(manifest, pods.path, pods.role):
            described = holder if key is None else holder[key]
            if pods.shape is None or pods.shape.is_pod(described):
                yield _Found(holder, key, role, pods, jobs.get(id(holder)))


_STEP = re.compile(r"(\w+)(?:\[(\w+)\]|(\{\}))?")


def _walk(value: Any, path: str, role: str) -> Iterator[tuple[Any, Any, str]]:
    """Holder and key of each mapping at a path, and the role that the path gives it."""
    if not path:
        yield value, None, role
        return
    step, _, rest = path.partition(".")
    name, named_by, entries = _STEP.fullmatch(step).groups()  # type: ignore[union-attr]
    inner: Any = value.get(name) if isinstance(value, Mapping) else None
    items: list[tuple[Any, Any, str]]
    if named_by:
        items = [(inner, at, str(each.get(named_by, at))) for at, each in enumerate(inner or [])]
    elif entries:
        items = [(inner, key, key) for key in inner or {}]
    else:
        items = [(value, name, role)] if isinstance(inner, Mapping) else []
    for holder, key, known in items:
        if rest:
            yield from _walk(holder[key], rest, known)
        else:
            yield holder, key, known


_ENTRY = re.compile(r"\[\w+\]")


def _check_roles(name: str, kind: Kind, found: Iterable[_Found], asked: Iterable[str]) -> None:
    known = [each.role for each in found]
    if not known:
        paths = " or ".join(_ENTRY.sub("[]", each.path).replace("{}", ".*") for each in kind.pods)
        raise rules.refuse(f"this {name} describes no pods: write them at {paths}")
    for role in asked:
        if role not in known:
            raise rules.refuse(f"this {name} has no role {role!r}: write one of {', '.join(known)}")


def _with_settings(
    pod: dict[str, Any], asked: PodRequest, kind: Kind, shape: Shape | None
) -> tuple[dict[str, Any], PodPart, list[str], list[Unsupported]]:
    names = [each.get("name") for each in pod.get("spec", {}).get("containers") or []]
    own = kind.container if not names or kind.container in names else names[0]
    part = pod_part(asked.with_changes(gang_min=None), container=own)
    lost = []
    for setting, hint in (shape.no_field_for if shape else {}).items():
        if getattr(part, setting):
            nothing: dict[str, Any] = {setting: None if setting == "runtime_class" else ()}
            if setting == "volumes":
                nothing["volume_mounts"] = ()
            part = replace(part, **nothing)
            argument = _ARGUMENT.get(setting, setting)
            lost.append(Unsupported(argument, "there is no field for it", hint))
    pod, said = _one_kind_of_gpus(pod, asked)
    merged, more = merge_into_pod(
        pod, part, container=part.container if names else None, owns_itself=kind.owns_itself
    )
    return _without_empty(merged), part, [*said, *more], lost


_ARGUMENT = {"resource_claims": "claim", "volumes": "isolation"}


def _one_kind_of_gpus(
    pod: Mapping[str, Any], asked: PodRequest
) -> tuple[dict[str, Any], list[str]]:
    """Without GPUs of another kind than it asks for now (C1); beside a part of one, merging sees to
    that."""
    cleaned = copy.deepcopy(dict(pod))
    said: list[str] = []
    if asked.gpu_kind not in ("whole", "mig", "claim"):
        return cleaned, said
    asks = pod_part(asked).resources.get("limits", {})
    for each in _containers(cleaned):
        for kind, amounts in (each.get("resources") or {}).items():
            if kind not in ("limits", "requests"):
                continue
            for key in [key for key in amounts if is_gpu_resource(key)]:
                if key in asks and (kind == "limits" or amounts[key] == asks[key]):
                    continue
                said.append(
                    f"{key}: {amounts.pop(key)} in the {kind} of container {each.get('name')} was"
                    " taken away: the pod asks for GPUs in another way"
                )
    return cleaned, said


def _containers(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    spec = pod.get("spec", {})
    return [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]


def _without_empty(pod: dict[str, Any]) -> dict[str, Any]:
    """Without what is left of maps from which something was taken."""
    metadata = pod["metadata"]
    if metadata.get("annotations") == {}:
        del metadata["annotations"]
    for each in _containers(pod):
        if "resources" in each:
            each["resources"] = filled(each["resources"])
            if not each["resources"]:
                del each["resources"]
    return pod


# ---- the workload itself -------------------------------------------------------------------------


def _owner_name(name: str, kind: Kind) -> str:
    if kind.owner == "metadata":
        return name
    return f"{kind.owner.removesuffix('.metadata')} of the {name}"


def _merge_at(manifest: dict[str, Any], path: str, values: Mapping[str, Any]) -> None:
    *steps, last = path.split(".")
    at = manifest
    for step in steps:
        at = at.setdefault(step, {})
    at[last] = merge(at.get(last) or {}, values)


def _write_topology_of_part(
    found: _Found, asked: PodRequest, kind: Kind, placement: Placement
) -> list[Unsupported]:
    """The topology that one role has of its own (spec 7 R5, J7)."""
    part = pod_part(asked.with_changes(gang_min=None), container=kind.container or "main")
    annotations = {"annotations": dict(part.owner_annotations)}
    if kind.owns_itself:
        return []  # written with the pod
    if kind.parts == "pod":
        _merge_at(found.holder[found.key], "metadata", annotations)
        placement.of_owner(annotations, "pod template")
    elif kind.parts == "job" and found.job is not None:
        _merge_at(found.job, "metadata", annotations)
        placement.of_owner(annotations, "template of the replicated job")
    else:
        reason = f"KAI reads one topology for the whole workload, not one for {found.role}"
        return [Unsupported("topology", reason, "write it in the request for the workload")]
    return []


def _write_ray_gpus(found: _Found, asked: PodRequest) -> list[str]:
    """Ray counts the GPUs of a group by its limits, where it knows no other kind (R4)."""
    group: Any = found.holder
    said: list[str] = []
    if asked.gpu_kind == "none":
        return said
    # Whole numbers: of half a GPU Ray's autoscaler makes an error.
    gpus = str(asked.gpus if asked.gpu_kind == "whole" else asked.devices)
    counted = group.get("rayStartParams") or {}
    before = counted.get("num-gpus")
    if asked.gpu_kind != "whole" or before is not None:
        group["rayStartParams"] = {**counted, "num-gpus": gpus}
        if before not in (None, gpus):
            said.append(f"num-gpus of Ray group {found.role} was {before}: it is {gpus} now")
    if "GPU" in (group.get("resources") or {}) and group["resources"]["GPU"] != gpus:
        said.append(f"GPU in the resources of Ray group {found.role} is {gpus} now")
        group["resources"] = {**group["resources"], "GPU": gpus}
    if asked.gpu_kind == "claim":
        said.append("Ray is told of one GPU for the claim: set num-gpus where it is of more")
    return said


def _write_gang(
    manifest: dict[str, Any],
    name: str,
    kind: Kind,
    pods: int,
    roles: list[str],
    placement: Placement,
) -> list[Unsupported]:
    annotation = {"annotations": {keys.BATCH_MIN_MEMBER_ANNOTATION: str(pods)}}
    if kind.gang is None:
        return [Unsupported("gang_min", f"KAI reads no such number from a {name}", kind.gang_hint)]
    if kind.gang == "owner":
        at_once = manifest.get("spec", {}).get("parallelism", 1)
        _enough(name, "spec.parallelism", pods, at_once)
        _merge_at(manifest, kind.owner, annotation)
        placement.of_owner(annotation, name)
    elif kind.gang == "leaf":
        for each in _found(manifest, kind):
            job = each.job
            if job is None or (roles and each.role not in roles):
                continue
            if name == "JobSet":  # a runtime's is the number of nodes, which each TrainJob says
                at_once = job["spec"].get("parallelism", 1)
                _enough(f"replicated job {each.role}", "parallelism", pods, at_once)
            _merge_at(job, "metadata", annotation)
            placement.of_owner(annotation, "template of the replicated job")
    else:
        replicas = sum(each.holder.get("replicas", 1) for each in _found(manifest, kind))  # type: ignore[union-attr]
        _enough(name, "replicas", pods, replicas)
        steps = kind.gang.split(".")
        _merge_at(manifest, ".".join(steps[:-1]), {steps[-1]: pods})
        placement.add(steps[-1], name)
    return []


def _enough(what: str, field: str, wanted: int, there: int) -> None:
    if wanted > there:
        raise rules.refuse(
            f"gang_min is {wanted}, and {what} has {there} pods at a time: write a gang_min of at"
            f" most that, or a larger {field}"
        )


def _native(manifest: Mapping[str, Any], kind: Kind, as_native: bool | None) -> Any:
    if kind.native is None:
        if as_native:
            raise rules.refuse("there are no Python classes for it: leave as_native out")
        return manifest
    name = kind.native

    def made() -> Any:
        try:
            return to_native(name, manifest)
        except InvalidRequestError:
            if as_native:
                raise
            return manifest  # a template that something else completes

    return native_or(manifest, made, as_native=as_native, library="the package kubernetes")
