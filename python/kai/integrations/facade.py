"""kai.pod_settings(): a request with methods for all builders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    P = ParamSpec("P")

from kai.api.fields import check_fields
from kai.api.nearest import check_known
from kai.integrations.registry import builder_for
from kai.settings import Built, PodRequest, merge_into_pod, pod_part

R = TypeVar("R")


@dataclass(frozen=True)
class PodSettings:
    """A request, with the settings for each orchestrator.

    There is a method for each of `kai.integrations.ORCHESTRATORS`: `for_zenml()`, `for_kfp()`,
    `for_ray()` and so on; `for_orchestrator` has the name as an argument.

    >>> settings = pod_settings(queue="team-a", gpu_fraction=0.5)
    >>> settings.to_pod_patch()["metadata"]["annotations"]
    {'gpu-fraction': '0.5'}
    """

    request: PodRequest

    def __repr__(self) -> str:
        return "PodSettings" + repr(self.request).removeprefix("PodRequest")

    def for_orchestrator(self, orchestrator: str, **options: Any) -> Built:
        """The settings for one of `kai.integrations.ORCHESTRATORS`.

        Raises InvalidRequestError for an unknown orchestrator, and as its builder does.
        """
        return builder_for(orchestrator)(self.request, **options)

    if TYPE_CHECKING:  # so that type checkers find misspelled names

        def for_airflow(self, **options: Any) -> Built: ...
        def for_argo(self, **options: Any) -> Built: ...
        def for_dagster(self, **options: Any) -> Built: ...
        def for_dynamo(self, **options: Any) -> Built: ...
        def for_flyte(self, **options: Any) -> Built: ...
        def for_jobset(self, **options: Any) -> Built: ...
        def for_kfp(self, **options: Any) -> Built: ...
        def for_kserve(self, **options: Any) -> Built: ...
        def for_kubernetes(self, **options: Any) -> Built: ...
        def for_leaderworkerset(self, **options: Any) -> Built: ...
        def for_metaflow(self, **options: Any) -> Built: ...
        def for_mlflow(self, **options: Any) -> Built: ...
        def for_prefect(self, **options: Any) -> Built: ...
        def for_ray(self, **options: Any) -> Built: ...
        def for_skypilot(self, **options: Any) -> Built: ...
        def for_spark(self, **options: Any) -> Built: ...
        def for_trainer(self, **options: Any) -> Built: ...
        def for_training_operator(self, **options: Any) -> Built: ...
        def for_zenml(self, **options: Any) -> Built: ...
    else:

        def __getattr__(self, name: str) -> Any:
            # for_zenml(), for_kfp(), ...: one for each name in ORCHESTRATORS.
            if not name.startswith("for_"):
                raise AttributeError(f"PodSettings has no attribute {name!r}")
            orchestrator = name.removeprefix("for_").replace("_", "-")
            return lambda **options: self.for_orchestrator(orchestrator, **options)

    def to_pod_patch(self, *, container: str | None = None) -> dict[str, Any]:
        """Metadata and spec to merge into a bare pod, in the form of the API server.

        Raises InvalidRequestError for ``style="nvfractions"`` without the name of a container.
        """
        part = pod_part(self.request, container=container)
        patch: dict[str, Any] = {"metadata": part.metadata(owns_itself=True), "spec": part.spec()}
        fields = part.container_fields()
        if fields and part.container is not None:
            patch["spec"]["containers"] = [{"name": part.container, **fields}]
        return patch

    def apply_to(self, pod: Mapping[str, Any], *, container: str | None = None) -> dict[str, Any]:
        """A copy of a pod, a pod template or a workload with pods, with the settings.

        Workloads are those of `kai.api.kinds.WORKLOADS`. `kai.integrations.kubernetes.patch`
        describes the result and has more options.

        Raises InvalidRequestError for another kind, for a pod with malformed fields or without that
        container, for settings that the kind cannot express, and for ``style="nvfractions"``
        without the name of a container.
        """
        check_fields("the pod", pod)
        kind = str(pod.get("kind") or "Pod")
        if kind != "Pod":
            from kai.integrations.kubernetes import patch

            request = self.request.with_changes(container=container) if container else self.request
            return dict(patch(pod, request, as_native=False, strict=True).settings)
        part = pod_part(self.request, container=container)
        return merge_into_pod(pod, part, container=container, owns_itself=True)[0]


def _taking_arguments_of(_: Callable[P, object]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """For type checkers: the function has the same parameters as the other one."""

    def unchanged(function: Callable[..., R]) -> Callable[P, R]:
        return function

    return unchanged


@_taking_arguments_of(PodRequest)
def pod_settings(**arguments: Any) -> PodSettings:
    """The settings of a pod for KAI.

    The arguments are those of `kai.PodRequest`. Raises `kai.InvalidRequestError` as it does, and
    TypeError for an unknown argument.

    >>> pod_settings(queue="team-a", gpus=2)
    PodSettings(queue='team-a', gpus=2)
    >>> print(pod_settings(queue="team-a", gpus=2).for_kubernetes(as_native=False))
    Settings for kubernetes:
      spec:
        containers:
        - name: main
          resources:
            limits:
              nvidia.com/gpu: "2"
        schedulerName: kai-scheduler
        tolerations:
        - key: nvidia.com/gpu
          operator: Exists
          effect: NoSchedule
      metadata:
        labels:
          kai.scheduler/queue: team-a
    """
    known = [each.name for each in fields(PodRequest)]
    check_known(arguments, known, "pod_settings() has no argument", TypeError)
    return PodSettings(PodRequest(**arguments))
