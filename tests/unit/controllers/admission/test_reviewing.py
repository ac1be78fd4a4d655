"""Reviews of the API server, and the answers to them."""

from __future__ import annotations

import base64
import json
from typing import Any

from kai.controllers.admission import Rules, mutation, validation


def review(annotations: dict[str, str], *, namespace: str = "team", **spec: Any) -> dict[str, Any]:
    pod = {
        "metadata": {"name": "p", "namespace": "team", "annotations": annotations},
        "spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "main"}], **spec},
    }
    return {"request": {"uid": "u1", "namespace": namespace, "object": pod}}


def mutated(given: dict[str, Any]) -> dict[str, Any]:
    answer = mutation(given, Rules(), draw=lambda length: "x" * length)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = answer["response"]
    assert response["uid"] == "u1"
    return response


def validated(given: dict[str, Any]) -> dict[str, Any]:
    response: dict[str, Any] = validation(given, Rules())["response"]
    return response


def refusal(message: str) -> dict[str, Any]:
    status = {"code": 403, "reason": "Forbidden", "message": message}
    return {"uid": "u1", "allowed": False, "status": status}


ALLOWED = {"uid": "u1", "allowed": True}


def test_a_pod_that_shares_is_admitted_with_a_patch() -> None:
    response = mutated(review({"gpu-fraction": "0.5"}))
    assert (response["allowed"], response["patchType"]) == (True, "JSONPatch")
    operations = json.loads(base64.b64decode(response["patch"]))
    assert operations[0] == {
        "op": "add",
        "path": "/metadata/annotations/runai~1shared-gpu-configmap",
        "value": "p-xxxxxxx-shared-gpu",
    }


def test_a_pod_without_a_part_of_a_gpu_is_admitted_unchanged() -> None:
    assert mutated(review({})) == ALLOWED
    assert validated(review({"gpu-fraction": "0.5"})) == ALLOWED


def test_pods_of_other_schedulers_are_unchanged() -> None:
    others = review({"gpu-fraction": "2", "mps": "true"}, schedulerName="default-scheduler")
    assert mutated(others) == ALLOWED
    assert validated(others) == ALLOWED


def test_a_pod_is_refused_with_the_first_reason() -> None:
    message = "cannot request both GPU and GPU memory"
    assert validated(review({"gpu-fraction": "2", "gpu-memory": "0"})) == refusal(message)
    message = "failed to get fraction container ref: container with name b not found for fraction"
    missing = review({"gpu-fraction": "0.5", "gpu-fraction-container-name": "b"})
    assert mutated(missing) == refusal(f"{message} request")


def test_a_pod_of_another_namespace_than_the_request_is_refused() -> None:
    assert mutated(review({}, namespace="other")) == refusal(
        "error: the namespace from the provided object team does not match the namespace other"
    )


def test_an_invalid_review_is_allowed() -> None:
    assert mutation({}, Rules(), draw=str)["response"] == {"uid": "", "allowed": True}
    assert validation({"request": 3}, Rules())["response"] == {"uid": "", "allowed": True}
