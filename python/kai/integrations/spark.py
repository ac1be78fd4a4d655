"""Spark: the Spark operator's SparkApplication, and spark-submit (spec 7 SP2).

    spark.build(request, name="etl", image="spark")       # to merge into a SparkApplication
    spark.patch(manifest, request)
    spark.submit_conf(request)                            # spark-submit --conf key=value

For KAI the driver and the executors of an application are one group, whose pods start one by one:
it is not a gang. The executors get the GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kai.api import keys, kinds, rules
from kai.api.arguments import in_a_sentence
from kai.api.reading import at
from kai.integrations import workloads
from kai.integrations.placement import Placement
from kai.integrations.workloads import with_warnings, without_gpus
from kai.settings import Built, PodPart, PodRequest, Unsupported, filled, pod_part

API = "sparkoperator.k8s.io/v1beta2"
DRIVER, EXECUTOR = "spark-kubernetes-driver", "spark-kubernetes-executor"


@in_a_sentence
def build(
    request: PodRequest,
    *,
    name: str | None = None,
    namespace: str | None = None,
    image: str | None = None,
    driver: PodRequest | None = None,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """A SparkApplication to complete, with driver and executors. driver: settings of the driver;
    None: those of the request, without a GPU.

    Raises InvalidRequestError as `patch` does, and for an invalid name or namespace.
    """
    spec = {**filled({"image": image}), "driver": {}, "executor": {}}
    manifest = {**workloads.head(API, "SparkApplication", name, namespace), "spec": spec}
    requests = None if driver is None else {"driver": driver}
    return patch(manifest, request, requests=requests, as_native=as_native, strict=strict)


def patch(
    manifest: Mapping[str, Any],
    request: PodRequest,
    *,
    roles: Iterable[str] | None = None,
    requests: Mapping[str, PodRequest] | None = None,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """A SparkApplication or ScheduledSparkApplication with the settings.

    roles: the roles that get GPUs; None: ``executor``.

    Raises InvalidRequestError for another kind, for malformed fields, for a role other than driver
    and executor, with `as_native` (no library has classes for it), and with `strict` for settings
    that Spark cannot express.
    """
    rules.mapping("the manifest", manifest)
    kind = rules.one_of("kind", manifest.get("kind"), _KINDS)
    own = {role: _without_memory(each) for role, each in (requests or {}).items()}
    built = workloads.patch(
        manifest, _without_memory(request),
        roles=roles, requests=own, as_native=as_native, orchestrator="spark",
    )  # fmt: skip
    warnings = _warnings(request)
    *application, _ = kinds.KINDS[kind].pods[0].path.split(".")
    if scheduler := at(built.settings, *application, "batchScheduler"):
        warnings.append(
            f"batchScheduler is {scheduler}, which creates its own groups: remove it for KAI"
        )
    return with_warnings(built, *warnings, unsupported=_memory(request)).strict_if(strict)


_KINDS = ("SparkApplication", "ScheduledSparkApplication")


def submit_conf(
    request: PodRequest,
    *,
    driver: PodRequest | None = None,
    discovery_script: str | None = None,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """Properties for spark-submit on Kubernetes.

    discovery_script: path in the image of a script that lists the GPUs of an executor; Spark needs
    it for whole GPUs.

    Raises InvalidRequestError with `as_native`, as there are no objects, and with `strict` for
    settings that Spark cannot express.
    """
    if as_native:
        raise rules.refuse("properties of Spark are plain values: omit as_native")
    requests = {"driver": driver or without_gpus(request), "executor": request}
    parts = {
        role: pod_part(_without_memory(each).with_changes(gang_min=None), container=container)
        for (role, each), container in zip(requests.items(), (DRIVER, EXECUTOR), strict=True)
    }
    conf: dict[str, str] = {"spark.kubernetes.scheduler.name": request.scheduler_name}
    placement = Placement()
    placement.add("schedulerName", "driver pod and executor pod")
    unsupported: list[Unsupported] = []
    for role, part in parts.items():
        place = f"{role} pod"
        metadata = part.metadata(owns_itself=True)
        for key, value in metadata.get("labels", {}).items():
            conf[f"spark.kubernetes.{role}.label.{key}"] = value
        for key, value in metadata.get("annotations", {}).items():
            conf[f"spark.kubernetes.{role}.annotation.{key}"] = value
        for key, value in part.node_selector.items():
            conf[f"spark.kubernetes.{role}.node.selector.{key}"] = value
        for key, value in part.env.items():
            named = "spark.executorEnv" if role == "executor" else "spark.kubernetes.driverEnv"
            conf[f"{named}.{key}"] = value
        for kind, amounts in part.resources.items():
            if kind != "claims" and keys.CPU in amounts:
                conf[f"spark.kubernetes.{role}.{kind.removesuffix('s')}.cores"] = amounts[keys.CPU]
        placement.of_metadata(metadata, place)
        unsupported += _no_property(role, part)
    executor = "spark.executor.resource.gpu"
    if request.gpu_kind == "whole":
        conf |= {
            f"{executor}.amount": str(request.gpus),
            f"{executor}.vendor": "nvidia.com",
            **filled({f"{executor}.discoveryScript": discovery_script}),
        }
        placement.add("resources", "executor pod")
    elif request.gpu_kind == "mig":
        unsupported.append(_by_template("mig", "executor"))
    unsupported += _memory(request)
    if request.gang_min is not None:
        hint = kinds.KINDS["SparkApplication"].gang_hint
        unsupported.append(
            Unsupported("gang_min", "KAI does not read such a number from Spark", hint)
        )
    return Built(
        orchestrator="spark",
        settings=conf,
        native=conf,
        pod=_expressible(parts["executor"]).manifest(container=EXECUTOR, owns_itself=True),
        placement=placement.written(),
        unsupported=tuple(dict.fromkeys(unsupported)),
        warnings=(*parts["executor"].warnings, *_warnings(request)),
    ).strict_if(strict)


def _warnings(request: PodRequest) -> list[str]:
    if not request.shares_gpus:
        return []
    return [
        "with spark.executor.resource.gpu.* Spark requests whole GPUs, which KAI refuses together"
        " with a part of a GPU: omit these properties"
    ]


def _without_memory(request: PodRequest) -> PodRequest:
    return request.with_changes(memory=None, memory_limit=None)


def _memory(request: PodRequest) -> list[Unsupported]:
    if request.memory is None and request.memory_limit is None:
        return []
    reason = "Spark adds an overhead to the memory of the JVM, and requests the sum itself"
    workaround = "set memory and memoryOverhead of the driver and the executor in Spark"
    return [Unsupported("memory", reason, workaround)]


def _by_template(setting: str, role: str) -> Unsupported:
    workaround = f"write it in a pod template (spark.kubernetes.{role}.podTemplateFile)"
    return Unsupported(setting, f"there is no property for the {role}", workaround)


def _expressible(part: PodPart) -> PodPart:
    limits = {
        k: v
        for k, v in part.resources.get("limits", {}).items()
        if not k.startswith(keys.MIG_PREFIX)
    }
    resources = filled({"requests": part.resources.get("requests"), "limits": limits})
    return replace(
        part, tolerations=(), runtime_class=None, resource_claims=(), volumes=(), volume_mounts=(),
        security_context={}, resources=resources,
    )  # fmt: skip


def _no_property(role: str, part: PodPart) -> list[Unsupported]:
    settings = {
        "tolerations": part.tolerations,
        "runtime_class": part.runtime_class,
        "claim": part.resource_claims,
        "privileged": part.security_context,
        "isolation": part.volumes,
    }
    return [_by_template(setting, role) for setting, value in settings.items() if value]
