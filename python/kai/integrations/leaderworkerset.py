"""LeaderWorkerSet: groups of a leader and its workers (spec 7 J8).

    leaderworkerset.build(request, name="serve", image="vllm/vllm-openai", size=4, replicas=2)

For KAI, each replica is a group of `size` pods that start together. Both templates get the
settings; KAI reads the queue and the topology from the LeaderWorkerSet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kai.api import keys, rules
from kai.api.arguments import in_a_sentence
from kai.integrations.kubernetes import CONTAINER, pod_template
from kai.integrations.workloads import head, patch, placed, segment_annotations, with_warnings
from kai.settings import Built, PodRequest

API = "leaderworkerset.x-k8s.io/v1"
STARTUP_POLICIES = ("LeaderCreated", "LeaderReady")


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
    size: int = 1,
    replicas: int = 1,
    leader: PodRequest | None = None,
    startup_policy: str = "LeaderCreated",
    segment_size: int | None = None,
    segment_required_level: str | None = None,
    segment_preferred_level: str | None = None,
    leader_in_segments: bool = True,
    as_native: bool | None = None,
    strict: bool = False,
) -> Built:
    """A LeaderWorkerSet.

    size: number of pods of each replica, including the leader. leader: settings of the leaders;
    None: those of the workers. segment_size and the levels: parts of a replica that are placed
    close together. leader_in_segments=False: the leader is in no segment.

    Raises InvalidRequestError for invalid numbers of pods, for an unknown startup policy, for
    segments without a size, larger than a replica, or that do not divide its workers without the
    leader, with `as_native` (no library has classes for it), and with `strict` for settings that a
    LeaderWorkerSet cannot express.
    """
    rules.count("size", size)
    rules.count("replicas", replicas, least=0)
    rules.one_of("startup_policy", startup_policy, STARTUP_POLICIES)
    if request.gang_min == size:  # KAI does this by default
        request = request.with_changes(gang_min=None)
    words: dict[str, Any] = {"image": image, "command": command, "args": args}
    group: dict[str, Any] = {
        "size": size,
        **{
            f"{role}Template": pod_template(own.container or container, **words)
            for role, own in (("leader", leader or request), ("worker", request))
        },
    }
    segments: dict[str, str] = {}
    if segment_size is not None:
        _check_segments(size, segment_size, leader_in_segments)
        levels = (segment_required_level, segment_preferred_level)
        segments = segment_annotations(request, segment_size, *levels)
        del segments[keys.SEGMENT_SIZE_ANNOTATION]  # it has a field instead
        group["subGroupPolicy"] = {"subGroupSize": segment_size}
        if not leader_in_segments:
            group["subGroupPolicy"]["type"] = "LeaderExcluded"
        if segments:
            group["workerTemplate"]["metadata"] = {"annotations": segments}
    elif segment_required_level is not None or segment_preferred_level is not None:
        raise rules.refuse("a level of segments needs a size: write segment_size=")
    spec = {
        "replicas": replicas,
        "startupPolicy": startup_policy,
        "leaderWorkerTemplate": group,
    }
    manifest = {**head(API, "LeaderWorkerSet", name, namespace), "spec": spec}
    built = patch(
        manifest, request,
        requests=None if leader is None else {"leader": leader},
        as_native=as_native, strict=strict, orchestrator="leaderworkerset",
    )  # fmt: skip
    built = placed(built, segments, "pod template of the workers")
    if startup_policy == "LeaderReady" and size > 1:
        warning = (
            "startup policy LeaderReady: KAI starts the leader even if its workers do not fit:"
            " write LeaderCreated for pods that must start together"
        )
        built = with_warnings(built, warning)
    return built


def _check_segments(size: int, segment: int, leader_inside: bool) -> None:
    rules.count("segment_size", segment, least=2)
    if segment > size:
        raise rules.refuse(
            f"segment_size is {segment}, but size is {size}: write a smaller segment_size"
        )
    if not leader_inside and (size - 1) % segment:
        raise rules.refuse(
            f"{size - 1} workers are not a multiple of segments of {segment}: write another size"
            " or segment_size, or omit leader_in_segments=False"
        )
