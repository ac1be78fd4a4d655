"""kai.pod_settings(): a request with the builders at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from kai.api.fields import check_fields
from kai.api.nearest import did_you_mean
from kai.integrations.registry import builder_for
from kai.settings import Built, PodRequest, merge_into_pod, pod_part


@dataclass(frozen=True)
class PodSettings:
    """A request, and what each orchestrator has to be told for it.

    >>> settings = pod_settings(queue="team-a", gpu_fraction=0.5)
    >>> settings.to_pod_patch()["metadata"]["annotations"]
    {'gpu-fraction': '0.5'}
    """

    request: PodRequest

    def for_orchestrator(self, orchestrator: str, **options: Any) -> Built:
        """The settings for one of `kai.integrations.ORCHESTRATORS`.

        Raises InvalidRequestError for an unknown orchestrator, and as its builder does.
        """
        return builder_for(orchestrator)(self.request, **options)

    def __getattr__(self, name: str) -> Any:
        # for_zenml(), for_kfp(), ...: one for each name in ORCHESTRATORS.
        if not name.startswith("for_"):
            raise AttributeError(f"PodSettings has no attribute {name!r}")
        orchestrator = name.removeprefix("for_").replace("_", "-")
        return lambda **options: self.for_orchestrator(orchestrator, **options)

    def to_pod_patch(self, *, container: str | None = None) -> dict[str, Any]:
        """Metadata and spec to merge into a bare pod, as the API server takes them.

        Raises InvalidRequestError for ``style="nvfractions"`` without the name of a container.
        """
        part = pod_part(self.request, container=container)
        patch: dict[str, Any] = {"metadata": part.metadata(owns_itself=True), "spec": part.spec()}
        fields = part.container_fields()
        if fields and part.container is not None:
            patch["spec"]["containers"] = [{"name": part.container, **fields}]
        return patch

    def apply_to(self, pod: Mapping[str, Any], *, container: str | None = None) -> dict[str, Any]:
        """A copy of a pod, of a pod template, or of a workload that has some, with the settings.

        Workloads are those of `kai.api.kinds.WORKLOADS`: `kai.integrations.kubernetes.patch` says
        what is written where, and has more options.

        Raises InvalidRequestError for another kind, for a pod with malformed fields or without that
        container, for what the kind of a workload cannot express, and for ``style="nvfractions"``
        without the name of a container.
        """
        check_fields("the pod", pod)
        kind = str(pod.get("kind") or "Pod")
        if kind != "Pod":
            from kai.integrations.kubernetes import patch

            asked = self.request.with_changes(container=container) if container else self.request
            return dict(patch(pod, asked, as_native=False, strict=True).settings)
        part = pod_part(self.request, container=container)
        return merge_into_pod(pod, part, container=container, owns_itself=True)[0]


def pod_settings(**arguments: Any) -> PodSettings:
    """What a pod asks KAI for, from a few words.

    Takes the arguments of `kai.PodRequest`, and raises `kai.InvalidRequestError` as it does;
    TypeError for an argument that it does not have.
    """
    known = [each.name for each in fields(PodRequest)]
    for name in arguments:
        if name not in known:
            raise TypeError(f"pod_settings() has no argument {name!r}{did_you_mean(name, known)}")
    return PodSettings(PodRequest(**arguments))
