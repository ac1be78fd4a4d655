"""PodRequest: the request of one pod to KAI, independent of the orchestrator.

    PodRequest(queue="team-a", gpu_fraction=0.5, gpu_type="nvidia-tesla-t4", platform="gke")

A request is checked when it is created (spec 7 C1-C7, C15): a value that KAI would refuse or
silently ignore raises `kai.InvalidRequestError`, with a message that has the correction. Requests
are immutable; `with_changes()` returns a changed copy. `kai.settings.pod` and the builders in
`kai.integrations` decide on which object each setting is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

from kai.admission.keys_of import misplaced
from kai.api import gpu_memory, isolations, keys, rules
from kai.settings import platforms
from kai.settings.share import Share

GpuKind = Literal["none", "whole", "fraction", "memory", "mig", "claim"]
_NVFRACTIONS = "nvfractions"
ISOLATIONS = (
    isolations.NONE,
    isolations.GUARD,
    isolations.HAMI_CORE,
    isolations.MPS,
    _NVFRACTIONS,
)
FRAMEWORKS = (
    "torch", "tensorflow", "jax", "vllm", "tensorrt-llm", "sglang", "triton", "cupy", "ray",
)  # fmt: skip
KAI_VERSIONS = ("0.17", "0.18", "0.19", "0.20")

# Keys with their own argument: a key that is written by hand could contradict the argument.
_OWN_ANNOTATIONS = {
    keys.GPU_FRACTION_ANNOTATION: "gpu_fraction",
    keys.GPU_MEMORY_ANNOTATION: "gpu_memory",
    keys.GPU_DEVICES_ANNOTATION: "devices",
    keys.GPU_CONTAINER_ANNOTATION: "container",
    keys.MPS_ANNOTATION: "mps",
    keys.TOPOLOGY_ANNOTATION: "topology",
    keys.TOPOLOGY_REQUIRED_ANNOTATION: "required_level",
    keys.TOPOLOGY_PREFERRED_ANNOTATION: "preferred_level",
    keys.BATCH_MIN_MEMBER_ANNOTATION: "gang_min",
    keys.PREEMPTION_DELAY_ANNOTATION: "preemption_delay",
    keys.STALENESS_ANNOTATION: "staleness_grace_period",
    keys.COMPUTE_SHARING_ANNOTATION: "compute_sharing",
}
_OF_CONTAINER = keys.NVFRACTIONS_REQUEST_ANNOTATION.partition("{")[0]
_OWN_LABELS = {
    keys.QUEUE_LABEL: "queue",
    keys.LEGACY_QUEUE_LABEL: "queue, with legacy=True",
    keys.PRIORITY_CLASS_LABEL: "priority",
    keys.PREEMPTIBILITY_LABEL: "preemptible",
}
_OTHER = {"labels": "annotations", "annotations": "labels"}


@dataclass(frozen=True, kw_only=True)
class PodRequest:
    """The request of a pod. Every argument is optional; without arguments the pod requests no GPU
    and uses KAI's default queue.

    GPUs, at most one of these:
      gpu_fraction: part of one GPU, above 0 and below 1. 1 becomes a whole GPU.
      gpu_memory: memory of one GPU: MiB, or a quantity such as ``"5Gi"``.
      gpus: number of whole GPUs.
      mig: a MIG profile such as ``"1g.5gb"``.
      claim: name of a ResourceClaimTemplate (DRA).
    devices: with a fraction or memory, the number of GPUs; the amount applies to *each* of them.
    container: the container that uses the fraction; a builder sets its orchestrator's name.
    priority: name of a PriorityClass. preemptible: overrides the preemptibility of the priority.
    topology, required_level, preferred_level: keep the pods of the group together (node labels).
    gang_min: number of pods that must start together, for Jobs and JobSets.
    gpu_type, node_pool: GPU model and node pool, by the node labels of `platform`.
    cpu, memory, cpu_limit, memory_limit: quantities for the main container.
    env, labels, annotations, node_selector, tolerations: added to those that follow from the other
      arguments. runtime_class, privileged: written only if given.
    mps: the pod gets its part of a GPU through MPS.
    queue_label_key, legacy, both: the key of the queue label: KAI's own, or the one before 0.6
      (``runai/queue``), or both.
    isolation: how pods on one GPU are isolated. framework: one or several frameworks whose memory
      settings follow from the share; framework_versions: such as ``{"torch": "2.10"}``.
      gpu_memory_total: MiB of one GPU (label nvidia.com/gpu.memory), if known in advance;
      headroom: MiB that CUDA needs in addition to the allocators; processes: number of processes
      that share the pod's part.
    kai_version, style, compute_sharing: features of the installed KAI (spec 7 NX2-NX6).
    workaround_stale_gang: for KAI 0.16.2 to 0.17.0 (spec 7 KW17).

    Raises InvalidRequestError for values that KAI would refuse or silently ignore; the message has
    the correction.

    >>> import kai
    >>> request = kai.PodRequest(queue="team-a", gpu_memory="5Gi")
    >>> request
    PodRequest(queue='team-a', gpu_memory='5Gi')
    >>> request.with_changes(gpu_memory=None, gpus=1)
    PodRequest(queue='team-a', gpus=1)
    """

    queue: str | None = None
    gpu_fraction: str | float | Fraction | None = None
    gpu_memory: str | int | None = None
    gpus: int | None = None
    mig: str | None = None
    claim: str | None = None
    devices: int = 1
    container: str | None = None
    mps: bool = False
    priority: str | None = None
    preemptible: bool | None = None
    preemption_delay: str | None = None
    staleness_grace_period: str | None = None
    topology: str | None = None
    required_level: str | None = None
    preferred_level: str | None = None
    gang_min: int | None = None
    platform: str | None = None
    gpu_type: str | None = None
    node_pool: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Iterable[Any] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cpu: str | float | None = None
    memory: str | int | None = None
    cpu_limit: str | float | None = None
    memory_limit: str | int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    scheduler_name: str = keys.SCHEDULER_NAME
    queue_label_key: str = keys.QUEUE_LABEL
    legacy: bool = False
    both: bool = False
    runtime_class: str | None = None
    privileged: bool | None = None
    isolation: str = "none"
    framework: str | Iterable[str] | None = None
    framework_versions: Mapping[str, str] = field(default_factory=dict)
    gpu_memory_total: int | None = None
    headroom: int = 512
    processes: int = 1
    mps_pipe_directory: str | None = None
    kai_version: str = "0.17"
    style: str = "legacy"
    compute_sharing: str | None = None
    workaround_stale_gang: bool = False
    _given: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        """The arguments that differ from their defaults."""
        defaults = {each.name: each.default for each in fields(self)}
        given = (
            f"{name}={dict(value) if isinstance(value, Mapping) else value!r}"
            for name, value in self._given.items()
            if value != defaults[name] and value not in ({}, ())
        )
        return f"PodRequest({', '.join(given)})"

    def __post_init__(self) -> None:
        # The arguments as written: the checks below replace some by normalized values.
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        given = {name: _kept(value) for name, value in given.items()}
        self._set("_given", given)
        for name in ("tolerations", "framework"):
            self._set(name, given[name])
        self._check_gpus()
        self._check_group()
        self._check_nodes()
        self._check_container()
        self._check_kai()
        self._check_share()

    def with_changes(self, **changes: Any) -> PodRequest:
        """A copy with these arguments changed; it is checked again."""
        return type(self)(**{**self._given, **changes})

    def __reduce__(self) -> tuple[Any, ...]:
        # For copies and pickles: the normalized arguments contain views, which cannot be pickled.
        return _made, (type(self), self._given)

    # ---- derived values -----------------------------------------------------------------------

    @property
    def gpu_kind(self) -> GpuKind:
        if self.gpu_fraction is not None:
            return "fraction"
        if self.gpu_memory is not None:
            return "memory"
        if self.mig is not None:
            return "mig"
        if self.claim is not None:
            return "claim"
        return "whole" if self.gpus else "none"

    @property
    def shares_gpus(self) -> bool:
        """Whether it uses parts of GPUs; KAI's binder then gives its container the device names."""
        return self.gpu_kind in ("fraction", "memory")

    @property
    def isolated_by(self) -> str | None:
        """What keeps it to its share of a GPU: an `isolation`, or "mig"; None: it has no share."""
        if self.gpu_kind == "mig":
            return isolations.MIG
        if self.isolation == isolations.GUARD and self.mps:
            return isolations.MPS  # the webhook gives it the limits of MPS instead
        return self.isolation if self.shares_gpus else None

    @property
    def is_gang(self) -> bool:
        """Whether several pods must start together."""
        return self.gang_min is not None and self.gang_min > 1

    @property
    def share(self) -> Share | None:
        """The share of one process of each GPU; None if the pod uses no part of a GPU."""
        if not self.shares_gpus:
            return None
        return Share.of(
            fraction=None if self.gpu_fraction is None else str(self.gpu_fraction),
            memory=None if self.gpu_memory is None else int(self.gpu_memory),
            total=self.gpu_memory_total,
            isolation=self.isolated_by or isolations.NONE,
            headroom=self.headroom,
            processes=self.processes,
        )

    @property
    def queue_labels(self) -> dict[str, str]:
        if self.queue is None:
            return {}
        key = keys.LEGACY_QUEUE_LABEL if self.legacy else self.queue_label_key
        labels = {key: self.queue}
        if self.both:
            labels |= {keys.QUEUE_LABEL: self.queue, keys.LEGACY_QUEUE_LABEL: self.queue}
        return labels

    @property
    def frameworks(self) -> tuple[str, ...]:
        return self.framework  # type: ignore[return-value] # made a tuple in __post_init__

    @property
    def warnings(self) -> tuple[str, ...]:
        """Possible mistakes in a valid request, independent of the orchestrator."""
        return tuple(self._warnings())

    def _warnings(self) -> Iterable[str]:
        if self.queue is None:
            yield "no queue is named: the pod uses default-queue, and waits if it does not exist"
        if keys.LEGACY_QUEUE_LABEL in self.queue_labels:
            yield (
                f"only KAI before 0.6 reads {keys.LEGACY_QUEUE_LABEL}, or KAI that is installed"
                f" with podgrouper.queueLabelKey={keys.LEGACY_QUEUE_LABEL}"
            )
        if self.gpu_kind == "fraction":
            announced = f"{float(str(self.gpu_fraction)):.2f}"
            if Fraction(announced) != Fraction(str(self.gpu_fraction)):
                yield (
                    f"KAI gives the pod its share with two decimals: {self.gpu_fraction}"
                    f" becomes {announced}"
                )
        if keys.GPU_TYPE_ANNOTATION in self.annotations:
            yield (
                f"KAI ignores the annotation {keys.GPU_TYPE_ANNOTATION}: gpu_type= selects nodes by"
                " their labels"
            )
        if self.isolation == _NVFRACTIONS and self.gpu_kind == "fraction":
            yield (
                f"isolation={_NVFRACTIONS!r} has no effect with gpu_fraction, as it limits amounts"
                " of memory: write gpu_memory= and style='nvfractions'"
            )
        elif self.isolation == _NVFRACTIONS and self.shares_gpus and self.kai_version == "0.17":
            yield (
                f"isolation={_NVFRACTIONS!r} has no effect before KAI 0.18: write"
                " kai_version='0.18' if the cluster has it"
            )
        if self.shares_gpus and self.isolation == "none" and not self.frameworks:
            yield (
                "nothing limits the pod to its share of GPU memory: name its framework= to add such"
                " settings, or call kai.runtime.limit() in the pod"
            )

    # ---- the rules ------------------------------------------------------------------------------

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_gpus(self) -> None:
        given = [
            f"{name}={value!r}"
            for name in ("gpus", "gpu_fraction", "gpu_memory", "mig", "claim")
            if (value := getattr(self, name)) is not None
        ]
        if len(given) > 1:  # spec 7 C1, C2
            raise rules.refuse(
                f"{' and '.join(given)} exclude each other: write one of them; for a part of each"
                " of several GPUs, add devices= to gpu_fraction= or gpu_memory="
            )
        rules.count("devices", self.devices)
        if self.gpus is not None:
            rules.count("gpus", self.gpus, least=0)
        if self.gpu_fraction is not None:
            text = rules.fraction_text(self.gpu_fraction)
            self._set("gpu_fraction", text)
            if text == "1":  # spec 7 C3: KAI refuses it; a whole GPU is meant
                self._set("gpu_fraction", None)
                self._set("gpus", self.devices)
                self._set("devices", 1)
        if self.gpu_memory is not None:
            self._set("gpu_memory", rules.memory_mib(self.gpu_memory))
        if self.mig is not None:
            rules.mig_profile(self.mig)
        if self.claim is not None:
            rules.object_name("claim", self.claim)
        if self.devices > 1 and not self.shares_gpus:  # spec 7 C6
            raise rules.refuse(
                f"devices={self.devices} needs gpu_fraction= or gpu_memory=: for whole GPUs write"
                f" gpus={self.devices}"
            )
        if self.mps and not self.shares_gpus:
            raise rules.refuse("mps=True needs gpu_fraction= or gpu_memory=: write one of them")

    def _check_group(self) -> None:
        if self.queue is not None:
            rules.label_value("queue", self.queue)
        rules.qualified_name("queue_label_key", self.queue_label_key)
        if self.priority is not None:
            rules.label_value("priority", self.priority)
            rules.object_name("priority", self.priority)
        if self.preemption_delay is not None:
            rules.duration("preemption_delay", self.preemption_delay)
        if self.staleness_grace_period is not None:
            rules.duration("staleness_grace_period", self.staleness_grace_period)
        if self.gang_min is not None:
            rules.count("gang_min", self.gang_min)
        if self.topology is not None:
            rules.object_name("topology", self.topology)
        levels = [
            level for level in (self.required_level, self.preferred_level) if level is not None
        ]
        for level in levels:
            rules.qualified_name("topology level", level)
        if levels and self.topology is None:
            raise rules.refuse(
                f"level {levels[0]} needs a topology: write topology= with the name of the Topology"
            )
        if self.topology is not None and not levels:
            raise rules.refuse(
                f"topology {self.topology} has no effect without a level: write required_level="
                " or preferred_level="
            )

    def _check_nodes(self) -> None:
        if self.platform is not None:
            rules.one_of("platform", self.platform, platforms.PLATFORMS)
        platform = platforms.PLATFORMS[self.platform or "generic"]
        selector = rules.texts("node_selector", self.node_selector, labels=True)
        for name, label in (
            ("gpu_type", platform.gpu_type_label),
            ("node_pool", platform.pool_label),
        ):
            value = getattr(self, name)
            if value is None:
                continue
            rules.label_value(name, value)
            if label is None:
                known = [each for each, it in platforms.PLATFORMS.items() if it.pool_label]
                raise rules.refuse(
                    f"the label of the pool {value!r} depends on the cluster: write platform="
                    f" ({', '.join(known)}), or the label itself in node_selector="
                )
            if selector.setdefault(label, value) != value:
                raise rules.refuse(
                    f"{name}={value!r} and node_selector[{label!r}]={selector[label]!r} exclude"
                    " each other: write one of them"
                )
        self._set("node_selector", MappingProxyType(selector))
        tolerations = [rules.toleration(each) for each in _items("tolerations", self.tolerations)]
        if self.gpu_kind != "none":
            tolerations.append(dict(platforms.GPU_TOLERATION))
        self._set("tolerations", rules.unique(tolerations))

    def _check_container(self) -> None:
        if self.container is not None:
            rules.dns_label("container", self.container)
        for name in ("cpu", "memory", "cpu_limit", "memory_limit"):
            if (value := getattr(self, name)) is not None:
                self._set(name, rules.quantity(name, value))
        rules.at_most("cpu", self.cpu, "cpu_limit", self.cpu_limit)  # type: ignore[arg-type]
        rules.at_most("memory", self.memory, "memory_limit", self.memory_limit)  # type: ignore[arg-type]
        labels = rules.texts("labels", self.labels, labels=True)
        annotations = rules.texts("annotations", self.annotations)
        own = _OWN_LABELS | _OWN_ANNOTATIONS
        for part, mapping in (("labels", labels), ("annotations", annotations)):
            for key in mapping:
                if problem := misplaced(key, part):
                    write = f"{own[key]}=" if key in own else f"it in {_OTHER[part]}"
                    raise rules.refuse(f"{problem}: write {write}")
                if key in own:
                    raise rules.refuse(f"{key} has its own argument: write {own[key]}=")
                if key == keys.GUARD_ANNOTATION and mapping[key] != "false":
                    raise rules.refuse(
                        f"{key} is {mapping[key]!r}: write isolation='guard' instead, or \"false\""
                        " for a pod without the guard"
                    )
                if key.startswith(_OF_CONTAINER):
                    raise rules.refuse(f"style='nvfractions' writes {key}: use it with gpu_memory=")
        if keys.GUARD_ANNOTATION in annotations and self.isolation == isolations.GUARD:
            raise rules.refuse(
                f"isolation='guard' and the annotation {keys.GUARD_ANNOTATION} exclude each other:"
                " write one of them"
            )
        self._set("labels", MappingProxyType(labels))
        self._set("annotations", MappingProxyType(annotations))
        env = rules.variables(self.env)
        if self.shares_gpus and keys.VISIBLE_DEVICES_ENV in env:  # spec 7 C15
            raise rules.refuse(
                "env has NVIDIA_VISIBLE_DEVICES, which KAI sets itself for a part of a GPU: remove"
                " it"
            )
        self._set("env", MappingProxyType(env))
        if self.runtime_class is not None:
            rules.object_name("runtime_class", self.runtime_class)

    def _check_kai(self) -> None:
        rules.object_name("scheduler_name", self.scheduler_name)
        for name in ("mps", "legacy", "both", "workaround_stale_gang"):
            rules.truth(name, getattr(self, name))
        for name in ("preemptible", "privileged"):
            if getattr(self, name) is not None:
                rules.truth(name, getattr(self, name))
        directory = self.mps_pipe_directory
        if directory is not None and not str(directory).startswith("/"):
            raise rules.refuse(f"mps_pipe_directory is {directory!r}: write an absolute path")
        rules.one_of("isolation", self.isolation, ISOLATIONS)
        frameworks = (self.framework,) if isinstance(self.framework, str) else self.framework or ()
        read = [
            rules.one_of("framework", each, FRAMEWORKS) for each in _items("framework", frameworks)
        ]
        names = tuple(dict.fromkeys(read))
        self._set("framework", names)
        if not isinstance(self.framework_versions, Mapping):
            raise rules.refuse(
                f"framework_versions is {self.framework_versions!r}: write a mapping such as"
                " {'torch': '2.10'}"
            )
        versions = {name: str(each) for name, each in self.framework_versions.items()}
        for each in versions:
            rules.one_of("a framework of framework_versions", each, FRAMEWORKS)
        self._set("framework_versions", MappingProxyType(versions))
        if self.gpu_memory_total is not None:
            rules.count("gpu_memory_total", self.gpu_memory_total, least=gpu_memory.UNKNOWN_MIB)
            most = gpu_memory.capacity(self.gpu_memory_total)
            if self.gpu_memory is not None and int(self.gpu_memory) > most:
                raise rules.refuse(
                    f"gpu_memory {self.gpu_memory} MiB is more than the {most} MiB that KAI gives"
                    f" of a GPU with {self.gpu_memory_total}: write at most {most}, or gpus=1"
                )
        rules.count("headroom", self.headroom, least=0)
        rules.count("processes", self.processes)
        rules.one_of("kai_version", self.kai_version, KAI_VERSIONS)
        rules.one_of("style", self.style, ("legacy", "nvfractions"))
        is_new = self.kai_version != "0.17"
        if self.style == "nvfractions":
            if not is_new:
                raise rules.refuse("style nvfractions needs KAI 0.18: write kai_version='0.18'")
            if self.gpu_kind != "memory":
                raise rules.refuse("style nvfractions needs gpu_memory=: write it, or style legacy")
            if self.isolation == isolations.GUARD:
                raise rules.refuse(
                    "isolation='guard' reads no annotations of style nvfractions: write"
                    " style='legacy' or isolation='nvfractions'"
                )
        if self.compute_sharing is not None:
            rules.one_of("compute_sharing", self.compute_sharing, ("time-slicing", "sm-sharing"))
            if not is_new or not self.shares_gpus:
                raise rules.refuse(
                    "compute_sharing= needs KAI 0.18 and a part of a GPU: write kai_version='0.18'"
                    " and gpu_fraction= or gpu_memory="
                )

    def _check_share(self) -> None:
        share = self.share
        if share is None or share.free_mib is None or share.free_mib > 0:
            return
        if any(each != "ray" for each in self.frameworks):  # Ray allocates nothing itself
            each = f" in each of {share.processes} processes" if share.processes > 1 else ""
            raise rules.refuse(
                f"{share.budget} MiB of GPU memory leave nothing for"
                f" {', '.join(self.frameworks)}{each}, as CUDA needs {share.headroom} MiB:"
                " request a"
                " larger share, or write a smaller headroom="
            )


def _made(kind: type[PodRequest], arguments: Mapping[str, Any]) -> PodRequest:
    return kind(**arguments)


def _kept(value: Any) -> Any:
    """A copy of an argument that callers cannot change or use up."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (str, int, float, Fraction)) or not isinstance(value, Iterable):
        return value
    return tuple(value)


def _items(name: str, value: Any) -> list[Any]:
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise rules.refuse(f"{name} is {value!r}: write a list")
    return list(value)
