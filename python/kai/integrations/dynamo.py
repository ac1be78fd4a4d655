"""NVIDIA Dynamo and Grove (spec 7 G1).

    dynamo.build(request, services=["VllmDecodeWorker"])   # to merge into a DynamoGraphDeployment
    dynamo.build(request, manifest=manifest)               # or into a PodCliqueSet of Grove

Dynamo's operator reads the queue from an annotation of the deployment. Without it the operator uses
a queue ``dynamo``, which usually does not exist. So the annotation is always written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kai.api import defaults, rules
from kai.api.arguments import in_a_sentence
from kai.integrations import workloads
from kai.integrations.workloads import with_warnings
from kai.settings import Built, PodRequest

API = "nvidia.com/v1alpha1"
QUEUE_ANNOTATION = "nvidia.com/kai-scheduler-queue"


@in_a_sentence
def build(
    request: PodRequest,
    *,
    name: str | None = None,
    namespace: str | None = None,
    services: Iterable[str] = ("worker",),
    manifest: Mapping[str, Any] | None = None,
    gpu_services: Iterable[str] | None = None,
    requests: Mapping[str, PodRequest] | None = None,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """A DynamoGraphDeployment with the settings.

    services: names of the services in a new manifest. manifest: an existing manifest of either
    version, or a PodCliqueSet of Grove, instead of services. gpu_services: the services that get
    GPUs; None: all except ``Frontend``, ``Planner`` and those of type frontend, planner or epp.
    requests: other settings for some services.

    Raises InvalidRequestError without services, for a manifest of another kind or with malformed
    fields, for a service that it does not have, with `as_native` (no library has classes for it),
    and with `strict` for settings that Dynamo cannot express.
    """
    if manifest is None:
        every: dict[str, Any] = {str(service): {} for service in services}
        if not every:
            raise rules.refuse("services is empty: write the names of the services")
        spec = {"services": every}
        manifest = {
            **workloads.head(API, "DynamoGraphDeployment", name, namespace),
            "spec": spec,
        }
    rules.one_of(
        "kind",
        rules.mapping("the manifest", manifest).get("kind"),
        ("DynamoGraphDeployment", "PodCliqueSet"),
    )
    built = workloads.patch(
        manifest, request,
        roles=gpu_services, requests=requests,
        as_native=as_native, strict=strict, orchestrator="dynamo",
    )  # fmt: skip
    if manifest["kind"] == "PodCliqueSet":
        return built
    warnings = []
    if request.queue is None:
        warnings.append(
            f"no queue is named: {QUEUE_ANNOTATION} is {defaults.DEFAULT_QUEUE}, because Dynamo's"
            " own default is a queue that KAI does not create"
        )
    without = (manifest.get("metadata") or {}).get("annotations") or {}
    if without.get("nvidia.com/enable-grove") == "false":
        warnings.append(
            "nvidia.com/enable-grove is false: the services become Deployments, and KAI starts"
            " their pods one by one"
        )
    return with_warnings(built, *warnings)
