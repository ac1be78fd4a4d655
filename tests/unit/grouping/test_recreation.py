"""Which pods are created again after they are deleted."""

from typing import Any

import pytest

from kai.grouping import is_created_again


def pod(**owner: Any) -> dict[str, Any]:
    references = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", **owner}] if owner else []
    return {"metadata": {"name": "p", "ownerReferences": references}}


def job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "j"}, "spec": spec}


def test_a_pod_without_a_controller_is_not_created_again() -> None:
    assert not is_created_again(pod(), None)
    assert not is_created_again(pod(controller=False), job())
    assert not is_created_again({"metadata": {"name": "p"}}, None)


def test_a_controller_creates_its_pods_again_also_if_it_is_unknown() -> None:
    assert is_created_again(pod(controller=True), None)
    assert is_created_again(pod(controller=True), job())
    assert is_created_again(pod(controller=True), job(backoffLimit=3))


@pytest.mark.parametrize("limit", ["backoffLimit", "backoffLimitPerIndex"])
def test_a_job_without_retries_does_not(limit: str) -> None:
    assert not is_created_again(pod(controller=True), job(**{limit: 0}))


def test_only_jobs_of_kubernetes_have_such_a_limit() -> None:
    others: list[dict[str, str]] = [{"kind": "ReplicaSet"}, {"apiVersion": "example.com/v1"}]
    for other in others:
        assert is_created_again(pod(controller=True, **other), job(backoffLimit=0))


def test_a_limit_that_is_not_a_number_counts_as_not_given() -> None:
    for value in (None, "0", False, [0]):
        assert is_created_again(pod(controller=True), job(backoffLimit=value))
