"""Checks of settings of orchestrators that are kept in files, as `kai settings` prints them.

>>> sky = {"kubernetes": {"pod_config": {"metadata": {"annotations": {"gpu_fraction": "0.5"}},
...     "spec": {"schedulerName": "kai-scheduler"}}}}
>>> [pod.metadata_at for pod in pods_in(sky)], is_settings(sky)
([('kubernetes', 'pod_config', 'metadata')], True)

The settings may be anywhere in a document, beside others, as in the configuration of SkyPilot or
Dagster. Manifests inside settings, as those of MLflow and Prefect, are objects of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kai import admission
from kai.admission import fields, gpus
from kai.admission.finding import Finding, Path
from kai.admission.pods import Container, Pod
from kai.api import keys
from kai.api.reading import at, mapping, text
from kai.linting import groups, ignored

_DEEPEST = 30
_METADATA = ("labels", "annotations")
Settings = Mapping[str, Any]


def is_settings(value: Settings) -> bool:
    """Whether a document without a kind has such settings."""
    return "kind" not in value and next(pods_in(value), None) is not None


def check(settings: Settings, scheduler: str, label_key: str) -> Iterator[Finding]:
    for pod in pods_in(settings):
        yield from admission.check(pod)
        yield from groups.check_keys(
            pod.metadata if pod.own is None else pod.own,
            pod.metadata_at,
            kind="",
            is_pod=True,
            is_owner=True,
            has_gpu=gpus.has_gpu(pod),
            label_key=label_key,
        )
        is_for_kai = groups.wants_kai(pod, scheduler)
        yield from groups.check_scheduler(pod, "", scheduler, is_for_kai=is_for_kai)
        if is_for_kai or pod.scheduler == scheduler:
            yield from groups.check_queue({}, pod, label_key, own_at=())
        if pod.spec:
            yield from fields.of_pod_spec(pod.spec, pod.spec_at)
            yield from ignored.fields(pod, frozenset())


def manifests_in(value: Any, where: Path = ()) -> Iterator[tuple[Path, Settings]]:
    """The manifests inside settings, with their paths: of the job template of an orchestrator."""
    if len(where) > _DEEPEST or not isinstance(value, Mapping):
        return
    if isinstance(value.get("kind"), str):
        if where and re.search(r"(template|manifest)$", str(where[-1])):
            yield where, value
        return
    if isinstance(at(value, "base_job_template", "job_configuration"), Mapping):
        value = _with_variables(value)
    for key, each in value.items():
        yield from manifests_in(each, (*where, key))


def pods_in(value: Any, where: Path = ()) -> Iterator[Pod]:
    """The pods that settings describe, in the order of the text."""
    if len(where) > _DEEPEST:
        return
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from pods_in(each, (*where, index))
    if not isinstance(value, Mapping) or "kind" in value:
        return
    for form in _FORMS:
        if (pod := form(value, where)) is not None:
            yield pod
            return
    for key, each in value.items():
        yield from pods_in(each, (*where, key))


# ---- forms ---------------------------------------------------------------------------------------


def _pod(
    metadata: object,
    metadata_at: Path,
    scheduler: str | None,
    scheduler_at: Path,
    resources: object = None,
    resources_at: Path = (),
    **more: Any,
) -> Pod:
    container = Container(resources_at, {"name": more.get("main") or "", "resources": resources})
    return Pod(
        at=metadata_at,
        metadata_at=metadata_at,
        metadata=mapping(metadata),
        scheduler=scheduler,
        scheduler_at=scheduler_at,
        **{"containers": [container] if resources is not None else [], **more},
    )


def _of_spec(metadata: object, metadata_at: Path, spec: object, spec_at: Path, **more: Any) -> Pod:
    """A pod with the fields of a pod's spec."""
    listed = mapping(spec).get("containers")
    containers = [
        Container((*spec_at, "containers", index), each)
        for index, each in enumerate(listed if isinstance(listed, list) else ())
        if isinstance(each, Mapping)
    ]
    name = text(mapping(spec).get("schedulerName"))
    scheduler_at = (*spec_at, "schedulerName")
    return _pod(
        metadata, metadata_at, name, scheduler_at,
        containers=containers, spec=mapping(spec), spec_at=spec_at, **more,
    )  # fmt: skip


def _of_skypilot(value: Settings, where: Path) -> Pod | None:
    config = value.get("pod_config")
    if not isinstance(config, Mapping):
        return None
    here = (*where, "pod_config")
    return _of_spec(
        config.get("metadata"), (*here, "metadata"), config.get("spec"), (*here, "spec")
    )


def _of_kfp(value: Settings, where: Path) -> Pod | None:
    """Its pods get KAI's scheduler from a policy in the cluster."""
    metadata = at(value, "kubernetes", "podMetadata")
    if not isinstance(metadata, Mapping):
        return None
    here = (*where, "kubernetes", "podMetadata")
    return _pod(metadata, here, None, here, main="main")


def _of_metaflow(value: Settings, where: Path) -> Pod | None:
    """The arguments of @kubernetes; gpu is a limit."""
    given = mapping(value.get("kubernetes"))
    if not any(isinstance(given.get(part), Mapping) for part in _METADATA):
        return None
    here = (*where, "kubernetes")
    limits = {keys.NVIDIA_GPU: given["gpu"]} if given.get("gpu") is not None else {}
    container = Container(here, {"resources": {"limits": limits}}, {"limits": (*here, "gpu")})
    return _pod(given, here, None, here, containers=[container])


def _of_dagster(value: Settings, where: Path) -> Pod | None:
    spec, metadata = (value.get(each) for each in ("pod_spec_config", "pod_template_spec_metadata"))
    if not isinstance(spec, Mapping) and not isinstance(metadata, Mapping):
        return None
    name_at: Path = (*where, "pod_spec_config", "scheduler_name")
    name = text(mapping(spec).get("scheduler_name")) or text(mapping(spec).get("schedulerName"))
    return _pod(
        metadata,
        (*where, "pod_template_spec_metadata"),
        name,
        name_at,
        at(value, "container_config", "resources"),
        (*where, "container_config"),
        main="dagster",
    )


def _of_flyte(value: Settings, where: Path) -> Pod | None:
    spec = value.get("pod_spec")
    if not isinstance(spec, Mapping) or not any(part in value for part in _METADATA):
        return None
    return _of_spec(value, where, spec, (*where, "pod_spec"))


def _of_argo(value: Settings, where: Path) -> Pod | None:
    """A template beside the fields of its workflow."""
    template, workflow = value.get("template"), value.get("workflow")
    if not isinstance(template, Mapping) or not isinstance(workflow, Mapping):
        return None
    shared, own = at(workflow, "spec", "podMetadata"), mapping(template.get("metadata"))
    merged = {part: {**mapping(at(shared, part)), **mapping(own.get(part))} for part in _METADATA}
    container = next((each for each in ("container", "script") if each in template), "container")
    name = text(template.get("schedulerName")) or text(at(workflow, "spec", "schedulerName"))
    here = (*where, "template")
    return _pod(
        merged,
        (*here, "metadata"),
        name,
        (*here, "schedulerName"),
        at(template, container, "resources"),
        (*here, container),
        main="main",
        own=own,
        shared_at=(*where, "workflow", "spec", "podMetadata"),
    )


def _of_airflow(value: Settings, where: Path) -> Pod | None:
    """The arguments of KubernetesPodOperator; also others with labels and annotations beside the
    name of the scheduler."""
    name = next((each for each in _SCHEDULERS if each in value), "")
    if not name or not any(isinstance(value.get(part), Mapping) for part in _METADATA):
        return None
    resources = next((each for each in ("container_resources", "resources") if each in value), "")
    scheduler = text(value[name])
    given = value.get(resources)
    return _pod(value, where, scheduler, (*where, name), given, where, main="base")


_SCHEDULERS = ("schedulername", "schedulerName", "scheduler_name")


def _of_template(value: Settings, where: Path) -> Pod | None:
    """A pod template of another orchestrator."""
    if not isinstance(value.get("spec"), Mapping) or not isinstance(value.get("metadata"), Mapping):
        return None
    spec = value["spec"]
    if not isinstance(spec.get("containers"), list) and "schedulerName" not in spec:
        return None
    return _of_spec(value["metadata"], (*where, "metadata"), spec, (*where, "spec"))


_FORMS: tuple[Callable[[Settings, Path], Pod | None], ...] = (
    _of_skypilot, _of_kfp, _of_metaflow, _of_dagster, _of_flyte, _of_argo, _of_airflow,
    _of_template,
)  # fmt: skip


# ---- Prefect -------------------------------------------------------------------------------------

_VARIABLE = re.compile(r"\{\{ *([\w.$-]+) *\}\}")


def _with_variables(settings: Settings) -> Settings:
    """The job template with the values of its variables; Prefect removes those without a value."""
    properties = mapping(at(settings, "base_job_template", "variables", "properties"))
    known = {name: mapping(each).get("default") for name, each in properties.items()}
    known |= mapping(settings.get("job_variables"))
    job: Settings = _filled(at(settings, "base_job_template"), known)
    pod = at(job, "job_configuration", "job_manifest", "spec", "template", "spec")
    for name in _OF_WORKER if isinstance(pod, dict) else ():
        pod.pop(name, None)
    return {**settings, "base_job_template": job}


_OF_WORKER = ("completions", "parallelism")  # Prefect's worker requires them in the pod's spec


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        inner = {key: _filled(each, known) for key, each in value.items()}
        return {key: each for key, each in inner.items() if each is not None or value[key] is None}
    if isinstance(value, list):
        return [_filled(each, known) for each in value]
    if not isinstance(value, str):
        return value
    if whole := _VARIABLE.fullmatch(value):
        return known.get(whole[1])
    return _VARIABLE.sub(lambda found: str(known.get(found[1]) or "x"), value)
