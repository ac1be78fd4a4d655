"""JobSet: a set of Jobs (spec 7 J7).

    jobset.build(request, name="train", image="pytorch/pytorch", jobs={"worker": 4})

KAI waits for all Jobs of a JobSet, and for all pods of each Job that may run at the same time;
`gang_min` lowers the number of pods. The request's topology is for the whole JobSet; the topology
of a request in `requests` is for the pods of one Job.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kai.api import keys, rules
from kai.api.arguments import in_a_sentence
from kai.integrations.kubernetes import CONTAINER, pod_template
from kai.integrations.workloads import head, patch, with_warnings
from kai.settings import Built, PodRequest

API = "jobset.x-k8s.io/v1alpha2"


@in_a_sentence
def build(
    request: PodRequest,
    *,
    name: str | None = None,
    namespace: str | None = None,
    image: str | None = None,
    command: Sequence[str] | None = None,
    args: Sequence[str] | None = None,
    container: str = CONTAINER,
    jobs: Mapping[str, int] | None = None,
    replicas: int = 1,
    gpu_jobs: Iterable[str] | None = None,
    requests: Mapping[str, PodRequest] | None = None,
    in_order: bool = False,
    min_jobs: int | None = None,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """A JobSet.

    jobs: the number of pods of each replicated job, by name. replicas: number of Jobs of each.
    gpu_jobs: the jobs that get GPUs; None: all. requests: other settings for some jobs. in_order:
    each job starts when the one before it is ready. min_jobs: how many replicated jobs must start
    together; None: all.

    Raises InvalidRequestError for invalid names and numbers of pods, for a `min_jobs` above the
    number of jobs, with `as_native` (no library has classes for it), and with `strict` for settings
    that a JobSet cannot express.
    """
    pods = dict(jobs or {"worker": 1})
    rules.count("replicas", replicas)
    replicated = [
        {
            "name": rules.dns_label("a job", job),
            "replicas": replicas,
            "template": {
                "spec": {
                    "parallelism": rules.count(f"jobs[{job!r}]", count),
                    "completions": count,
                    "backoffLimit": 0,
                    "template": pod_template(
                        ((requests or {}).get(job) or request).container or container,
                        image=image, command=command, args=args, restart_policy="Never",
                    ),
                }
            },
        }
        for job, count in pods.items()
    ]  # fmt: skip
    spec: dict[str, Any] = {"replicatedJobs": replicated}
    if in_order:
        spec["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    manifest = {**head(API, "JobSet", name, namespace), "spec": spec}
    if min_jobs is not None:
        rules.count("min_jobs", min_jobs)
        if min_jobs > len(replicated):
            raise rules.refuse(
                f"min_jobs is {min_jobs}, but there are {len(replicated)} jobs: write a smaller"
                " number, or more jobs in jobs="
            )
        manifest["metadata"]["annotations"] = {keys.BATCH_MIN_MEMBER_ANNOTATION: str(min_jobs)}
    built = patch(
        manifest, request,
        roles=gpu_jobs, requests=requests,
        as_native=as_native, strict=strict, orchestrator="jobset",
    )  # fmt: skip
    if in_order and min_jobs is None and len(replicated) > 1:
        warning = (
            "in_order=True: KAI starts the first job even if the others do not fit: omit it for"
            " jobs that must start together"
        )
        built = with_warnings(built, warning)
    return built
