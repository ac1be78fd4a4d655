"""The pods that a manifest of any kind describes, with their paths.

Most kinds contain pod templates, which are recognised by their structure anywhere in the manifest;
so this also works for unknown kinds. Argo, KFP, Spark, KServe, Grove and Dynamo describe pods in
other ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kai.admission.finding import Path
from kai.api import kinds
from kai.api.kinds import Pods
from kai.api.reading import at, mapping, objects, text

_DEEPEST = 60  # deeper than any real manifest; stops at deeply nested mistakes


@dataclass(frozen=True, slots=True)
class Container:
    """gpu_at: the paths of the limit and the request of GPUs, if they have fields of their own."""

    at: Path
    fields: Mapping[str, Any]
    gpu_at: Mapping[str, Path] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return text(self.fields.get("name"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Pod:
    """A pod that the cluster would create from a manifest.

    metadata: that of the pod, with additions of its workload; `metadata_at` is the path of its own,
    and `shared_at` the path of the additions. own: its metadata without them, if there are any.
    scheduler: None if the orchestrator has no field for it. main: the name of the main container,
    if the orchestrator puts other containers before it. spec: the pod spec, if the manifest has
    one. beside: the fields with which kinds without a pod spec describe the pod, such as affinity.
    """

    at: Path
    metadata_at: Path
    metadata: Mapping[str, Any]
    scheduler: str | None
    scheduler_at: Path
    containers: list[Container] = field(default_factory=list)
    init_containers: list[Container] = field(default_factory=list)
    main: str | None = None
    owns_itself: bool = False
    spec: Mapping[str, Any] = field(default_factory=dict)
    spec_at: Path = ()
    own: Mapping[str, Any] | None = None
    shared_at: Path = ()
    beside: Mapping[str, Any] = field(default_factory=dict)
    beside_at: Path = ()

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the pod's spec, of any kind."""
        return self.spec or self.beside

    @property
    def fields_at(self) -> Path:
        return self.spec_at if self.spec else self.beside_at

    def place_of(self, part: str, key: str) -> Path:
        """The path of a label or an annotation in the manifest."""
        is_shared = self.own is not None and key not in mapping(self.own.get(part))
        return (*(self.shared_at if is_shared else self.metadata_at), part, key)

    @property
    def labels(self) -> Mapping[str, Any]:
        return mapping(self.metadata.get("labels"))

    @property
    def annotations(self) -> Mapping[str, Any]:
        return mapping(self.metadata.get("annotations"))

    def names(self) -> list[str]:
        found = [each.name for each in (*self.containers, *self.init_containers)]
        return [*([self.main] if self.main else []), *(name for name in found if name)]


def pods_in(manifest: Mapping[str, Any]) -> Iterator[Pod]:
    """The pods of a manifest, in the order of the text."""
    kind = text(manifest.get("kind"))
    described = kinds.known(kind).pods
    if described and described[0].shape == "argo":
        yield from _of_argo(manifest, described[0])
    elif described and described[0].shape.startswith("spark"):
        for pods in described:
            yield from _of_spark(manifest, pods)
    elif not kind and at(manifest, "platforms", "kubernetes") is not None:
        yield from _of_kfp(manifest)
    else:
        found = _found(manifest, (), kind)
        copies = kinds.known(kind).copies_metadata
        yield from (_with_shared(pod, manifest) for pod in found) if copies else found


def _with_shared(pod: Pod, workload: Mapping[str, Any]) -> Pod:
    """The pod with the labels and annotations that its operator copies from the workload."""
    shared = mapping(workload.get("metadata"))
    return replace(
        pod, metadata=_merged(shared, pod.metadata), own=pod.metadata, shared_at=("metadata",)
    )


def _found(value: Any, where: Path, kind: str) -> Iterator[Pod]:
    if len(where) > _DEEPEST:
        return
    if isinstance(value, Mapping):
        if _is_template(value, kind, where):
            own = kind == "Pod" and not where and not at(value, "metadata", "ownerReferences")
            yield _template(value, where, mapping(value["spec"]), (*where, "spec"), own=own)
            return
        if isinstance(at(value, "spec", "podSpec", "containers"), list):  # Grove
            spec = mapping(at(value, "spec", "podSpec"))
            yield _inline(value, where, spec, (*where, "spec", "podSpec"))
            return
        if kind == "InferenceService" and where[:1] == ("spec",) and _serves(value, where):
            yield _inline(value, where, value, where)
            return
        if kind == "TrainJob" and _is_patch(value, where):
            template = _template(value, where, mapping(value["spec"]), (*where, "spec"), own=False)
            yield replace(template, scheduler=template.scheduler or None)  # the runtime names it
            return
        if kind == "DynamoGraphDeployment" and where[:-1] == ("spec", "services"):
            yield _of_dynamo(value, where)
            return
        for key, each in value.items():
            if isinstance(key, str) and key != "status":
                yield from _found(each, (*where, key), kind)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _found(each, (*where, index), kind)


def _is_template(value: Mapping[str, Any], kind: str, where: Path) -> bool:
    """Whether the value has the structure of a pod, valid or not."""
    spec = value.get("spec")
    if not isinstance(spec, Mapping):
        return False
    containers = spec.get("containers")
    bare = kind == "Pod" and not where
    return isinstance(containers, list) or (
        containers is not None and (bare or not isinstance(containers, Mapping))
    )


def _is_patch(value: Mapping[str, Any], where: Path) -> bool:
    """Whether a TrainJob changes the pod template of its runtime here."""
    spec = value.get("spec")
    if not isinstance(spec, Mapping) or "template" in spec or "replicatedJobs" in spec:
        return False
    return "template" in where[-1:] or where[-2:-1] == ("podTemplateOverrides",)


def _serves(value: Mapping[str, Any], where: Path) -> bool:
    if where[1:] in (("predictor",), ("transformer",), ("explainer",)):
        return True
    return isinstance(value.get("containers"), list) or isinstance(value.get("model"), Mapping)


def _template(
    value: Mapping[str, Any], where: Path, spec: Mapping[str, Any], spec_at: Path, *, own: bool
) -> Pod:
    return Pod(
        at=where,
        metadata_at=(*where, "metadata"),
        metadata=mapping(value.get("metadata")),
        scheduler=text(spec.get("schedulerName")),
        scheduler_at=(*spec_at, "schedulerName"),
        containers=_containers(spec, spec_at, "containers"),
        init_containers=_containers(spec, spec_at, "initContainers"),
        owns_itself=own,
        spec=spec,
        spec_at=spec_at,
    )


def _inline(
    metadata: Mapping[str, Any], where: Path, spec: Mapping[str, Any], spec_at: Path
) -> Pod:
    """A pod whose labels and annotations are next to the fields of its spec."""
    containers = _containers(spec, spec_at, "containers")
    if isinstance(model := spec.get("model"), Mapping):  # KServe names its container
        named = {**model, "name": "kserve-container"}
        containers.insert(0, Container((*spec_at, "model"), named))
    return Pod(
        at=where,
        metadata_at=where,
        metadata=metadata,
        scheduler=text(spec.get("schedulerName")),
        scheduler_at=(*spec_at, "schedulerName"),
        containers=containers,
        init_containers=_containers(spec, spec_at, "initContainers"),
        beside=spec,
        beside_at=spec_at,
    )


def _containers(spec: Mapping[str, Any], where: Path, key: str) -> list[Container]:
    found = spec.get(key)
    if not isinstance(found, list):
        return []
    return [
        Container((*where, key, index), each)
        for index, each in enumerate(found)
        if isinstance(each, Mapping)
    ]


def _of_dynamo(service: Mapping[str, Any], where: Path) -> Pod:
    spec = mapping(service.get("extraPodSpec"))
    amounts = {
        part: {"nvidia.com/gpu": named["gpu"]}
        for part in ("limits", "requests")
        if isinstance(named := at(service, "resources", part), Mapping) and "gpu" in named
    }
    places = {part: (*where, "resources", part, "gpu") for part in amounts}
    main = Container(where, {"name": "main", "resources": amounts}, places)
    extra = Container(
        (*where, "extraPodSpec", "mainContainer"),
        {**mapping(spec.get("mainContainer")), "name": "main"},
    )
    return Pod(
        at=where,
        metadata_at=(*where, "extraPodMetadata"),
        metadata=mapping(service.get("extraPodMetadata")),
        scheduler=text(spec.get("schedulerName")) or None,  # the operator sets it
        scheduler_at=(*where, "extraPodSpec", "schedulerName"),
        containers=[main, extra],
    )


def _of_argo(manifest: Mapping[str, Any], described: Pods) -> Iterator[Pod]:
    where = tuple(described.path.split(".")[:-1])
    spec = mapping(at(manifest, *where))
    shared = mapping(spec.get("podMetadata"))
    templates = spec.get("templates")
    for index, template in enumerate(templates if isinstance(templates, list) else ()):
        if not isinstance(template, Mapping):
            continue
        here: Path = (*where, "templates", index)
        own = mapping(template.get("metadata"))
        containers = [
            Container((*here, key), {**mapping(template[key]), "name": "main"})
            for key in ("container", "script")
            if isinstance(template.get(key), Mapping)
        ]
        several = mapping(template.get("containerSet"))
        containers += _containers(several, (*here, "containerSet"), "containers")
        if not containers:
            continue  # steps, a DAG, or another object
        yield Pod(
            at=here,
            metadata_at=(*here, "metadata"),
            metadata=_merged(shared, own),
            own=own,
            shared_at=(*where, "podMetadata"),
            scheduler=text(template.get("schedulerName")) or text(spec.get("schedulerName")),
            scheduler_at=(*here, "schedulerName"),
            containers=[*containers, *_containers(template, here, "sidecars")],
            init_containers=_containers(template, here, "initContainers"),
            main="main" if "containerSet" not in template else containers[0].name,
            beside=template,
            beside_at=here,
            owns_itself=True,  # each step is its own group; the workflow is skipped as owner
        )


def _merged(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {
        part: {**mapping(shared.get(part)), **mapping(own.get(part))}
        for part in ("labels", "annotations")
    }


def _of_kfp(manifest: Mapping[str, Any]) -> Iterator[Pod]:
    """The pods of a compiled pipeline: its second document adds metadata for each task."""
    where: Path = ("platforms", "kubernetes", "deploymentSpec", "executors")
    executors = mapping(at(manifest, *(str(each) for each in where)))
    for name, executor in executors.items():
        if isinstance(metadata := mapping(executor).get("podMetadata"), Mapping):
            yield Pod(
                at=(*where, name),
                metadata_at=(*where, name, "podMetadata"),
                metadata=metadata,
                scheduler=None,
                scheduler_at=(*where, name),
                main="main",
                owns_itself=True,
            )


def _of_spark(manifest: Mapping[str, Any], described: Pods) -> Iterator[Pod]:
    here = tuple(described.path.split("."))
    spec, part = mapping(at(manifest, *here[:-1])), at(manifest, *here)
    if not isinstance(part, Mapping):
        return
    container: dict[str, Any] = {
        "name": f"spark-kubernetes-{described.role}",
        "env": part.get("env"),
    }
    if isinstance(gpu := part.get("gpu"), Mapping):
        container["resources"] = {"limits": {text(gpu.get("name")): gpu.get("quantity")}}
    places: dict[str, Path] = {"limits": (*here, "gpu", "quantity")}
    name_at: Path = (*here, "schedulerName")
    if not text(part.get("schedulerName")) and text(spec.get("batchScheduler")):
        name_at = (*here[:-1], "batchScheduler")
    yield Pod(
        at=here,
        metadata_at=here,
        metadata=part,
        scheduler=text(part.get("schedulerName")) or text(spec.get("batchScheduler")),
        scheduler_at=name_at,
        containers=[Container(here, container, places), *_containers(part, here, "sidecars")],
        init_containers=_containers(part, here, "initContainers"),
        beside=part,
        beside_at=here,
        owns_itself=True,  # grouped by a label; KAI reads the pod
    )


def environment(container: Container) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for index, each in enumerate(objects(container.fields.get("env"))):
        yield (*container.at, "env", index), each


def amounts(container: Container) -> Iterator[tuple[Path, str, Any]]:
    """Path, name and amount of every resource that the container requests or limits."""
    for part in ("limits", "requests"):
        for name, amount in mapping(at(container.fields, "resources", part)).items():
            yield place_of(container, part, name), name, amount


def place_of(container: Container, part: str, name: str) -> Path:
    """The path of an amount in the manifest."""
    return container.gpu_at.get(part) or (*container.at, "resources", part, name)
