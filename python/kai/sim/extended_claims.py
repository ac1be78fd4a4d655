"""Claims for extended resources that device classes provide (spec 3 D10), in the next state.

As in Kubernetes, such a claim belongs to its pod: it is created when the pod is bound and deleted
with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kai.sim.objects import key_of, namespace_of

__all__ = ["next_extended_claims", "with_claim_status"]

Json = dict[str, Any]

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


def with_claim_status(pod: Json, given: Any) -> Json:
    """The bound pod, with the name of the claim that holds its devices; ``given`` is from its
    decision."""
    if given is not None:
        pod["status"]["extendedResourceClaimStatus"] = {
            "resourceClaimName": _name(pod),
            "requestMappings": given.to_dict()["containerMappings"],
        }
    return pod


def next_extended_claims(
    claims: Sequence[Json],
    pods: Sequence[Mapping[str, Any]],
    *,
    restarted: Collection[str],
    given: Mapping[str, Any],
) -> list[Json]:
    """``claims`` without those of restarted pods, and with those of bound pods.

    ``restarted`` are pods, ``given`` maps pods to the data of their decisions; both use
    "namespace/name".
    """
    kept = [claim for claim in claims if not _owners(claim) & set(restarted)]
    return kept + [
        _claim(pod, given[key]) for pod in pods if given.get(key := key_of(pod)) is not None
    ]


def _name(pod: Mapping[str, Any]) -> str:
    # The API server would append random letters.
    return f"{pod['metadata']['name']}-extended-resources"


def _owners(claim: Mapping[str, Any]) -> set[str]:
    """The pods for which a claim was created, if it is such a claim."""
    metadata = claim["metadata"]
    if (metadata.get("annotations") or {}).get(ANNOTATION) != "true":
        return set()
    owners = metadata.get("ownerReferences") or []
    return {f"{namespace_of(claim)}/{owner['name']}" for owner in owners if owner["kind"] == "Pod"}


def _claim(pod: Mapping[str, Any], given: Any) -> Json:
    fields = given.to_dict()
    of_pod = {"name": pod["metadata"]["name"], "uid": pod["metadata"].get("uid", "")}
    return {
        "metadata": {
            "name": _name(pod),
            "namespace": namespace_of(pod),
            "annotations": {ANNOTATION: "true"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "controller": True, **of_pod}],
        },
        "spec": {"devices": {"requests": fields["deviceRequests"]}},
        "status": {
            "allocation": fields["allocation"],
            "reservedFor": [{"resource": "pods", **of_pod}],
        },
    }
