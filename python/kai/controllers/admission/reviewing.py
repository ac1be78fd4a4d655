"""Answers the reviews that the API server sends to a webhook for pods (spec 6 C16, C17).

    answer = mutation(review, Rules(), draw=draw)     # POST /mutate--v1-pod
    answer = validation(review, Rules())              # POST /validate--v1-pod

A review and its answer are AdmissionReviews of admission.k8s.io/v1.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

from kai.api.reading import at, mapping, text
from kai.controllers.admission.mutating import mutate
from kai.controllers.admission.patches import json_patch
from kai.controllers.admission.refusing import refusals
from kai.controllers.admission.rules import Rules
from kai.errors import NotFoundError

MUTATE, VALIDATE = "/mutate--v1-pod", "/validate--v1-pod"
"""The paths at which KAI's webhook receives reviews."""


def mutation(
    review: Mapping[str, Any], rules: Rules, *, draw: Callable[[int], str]
) -> dict[str, Any]:
    """Admits a new pod with the changes of `mutate`, or rejects it."""
    request, pod = _read(review)
    if not _is_ours(pod, rules):
        return _answer(request)
    try:
        _check_namespace(request, pod)
        patch = json_patch(pod, mutate(pod, rules, draw=draw))
    except NotFoundError as error:
        return _answer(request, str(error))
    if not patch:
        return _answer(request)
    encoded = base64.b64encode(json.dumps(patch).encode()).decode()
    return _answer(request, patchType="JSONPatch", patch=encoded)


def validation(review: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    """Admits a pod, or rejects it with the first of its `refusals`."""
    request, pod = _read(review)
    found = refusals(pod, rules) if _is_ours(pod, rules) else []
    return _answer(request, found[0] if found else "")


def _read(review: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    request = mapping(review.get("request"))
    return request, mapping(request.get("object"))


def _is_ours(pod: Mapping[str, Any], rules: Rules) -> bool:
    return text(at(pod, "spec", "schedulerName")) == rules.scheduler


def _check_namespace(request: Mapping[str, Any], pod: Mapping[str, Any]) -> None:
    own, requested = text(at(pod, "metadata", "namespace")), text(request.get("namespace"))
    if own and requested and own != requested:
        raise NotFoundError(
            f"error: the namespace from the provided object {own} does not match the namespace"
            f" {requested}"
        )


def _answer(request: Mapping[str, Any], refused: str = "", **more: Any) -> dict[str, Any]:
    response: dict[str, Any] = {"uid": text(request.get("uid")), "allowed": not refused, **more}
    if refused:
        response["status"] = {"code": 403, "reason": "Forbidden", "message": refused}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": response,
    }
