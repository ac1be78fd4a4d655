"""The checks after each fault find errors. No cluster is needed."""

from typing import Any

import pytest
from testcluster import History, node, pod
from testcluster.proxy import Request
from testcluster.scene import bound_twice, wrong_lines


def history(**gpus: int) -> History:
    it = History()
    for name, count in gpus.items():
        it.take_node("ADDED", node(name, count))
    return it


def version(name: str, on: str = "", gpus: int = 1, uid: str = "", **more: Any) -> dict[str, Any]:
    it = pod(name, "team", gpus, **more)
    it["metadata"]["uid"] = uid or name
    it["status"] = {}
    if on:
        it["spec"]["nodeName"] = on
    return it


def test_pods_bound_once_to_nodes_with_room_have_no_problem() -> None:
    it = history(n1=2, n2=1)
    for name, on in (("a", "n1"), ("b", "n1"), ("c", "n2")):
        it.take("ADDED", version(name))
        it.take("MODIFIED", version(name, on))
    it.take("ADDED", version("d"))
    assert it.problems == []
    assert it.bound() == {"a", "b", "c"}
    assert it.stuck() == set()


def test_a_pod_that_changes_its_node_is_a_problem() -> None:
    it = history(n1=2, n2=1)
    it.take("ADDED", version("a", "n1"))
    it.take("MODIFIED", version("a", "n2"))
    assert it.problems == ["pod a was bound to n1, and then to n2"]


def test_a_recreated_pod_may_be_on_another_node() -> None:
    it = history(n1=1, n2=1)
    it.take("ADDED", version("a", "n1", uid="1"))
    it.take("DELETED", version("a", "n1", uid="1"))
    it.take("ADDED", version("a", "n2", uid="2"))
    assert it.problems == []


def test_an_over_committed_node_is_a_problem_even_for_a_moment() -> None:
    it = history(n1=2)
    it.take("ADDED", version("a", "n1"))
    it.take("ADDED", version("b", "n1", gpus=2))
    it.take("DELETED", version("a", "n1"))
    assert it.problems == ["node n1 has 2 GPUs, and its pods hold 3"]


def test_a_missing_node_is_a_problem() -> None:
    it = history()
    it.take("ADDED", version("a", "n1"))
    assert it.problems == ["pods are bound to n1, which is not there"]


def test_a_pod_that_waits_although_it_fits_is_a_problem() -> None:
    it = history(n1=2)
    it.take("ADDED", version("a", "n1"))
    it.take("ADDED", version("b"))
    it.take("ADDED", version("big", gpus=2))
    it.take("ADDED", version("foreign", scheduler="another"))
    assert it.stuck() == {"b"}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_uses_nothing(phase: str) -> None:
    it = history(n1=1)
    it.take("ADDED", version("a", "n1") | {"status": {"phase": phase}})
    it.take("ADDED", version("b", "n1"))
    assert it.problems == []
    assert it.bound() == {"b"}


def test_pods_missing_from_a_list_are_deleted() -> None:
    it = history(n1=1)
    it.take("ADDED", version("a", "n1"))
    it.forget_all_but(set())
    it.take("ADDED", version("b", "n1"))
    assert it.problems == []


def binding(name: str, status: int) -> Request:
    return Request(0, "create", "pods", "binding", "team", name, status)


def test_a_binding_accepted_twice_is_a_problem() -> None:
    requests = [binding("a", 201), binding("a", 409), binding("a", 201), binding("b", 201)]
    once = {"a": {"1"}, "b": {"2"}}
    assert bound_twice(requests, once) == ["pod a was bound 2 times"]
    assert bound_twice(requests, once | {"a": {"1", "3"}}) == []  # it was created again


def test_a_log_with_a_traceback_is_a_problem() -> None:
    assert wrong_lines("2026-11-24T03:45:46.953Z info kai: leading leases=[]\n") == []
    text = "2026-11-24T03:45:46.953Z info kai: leading\nTraceback (most recent call last):\n  File"
    assert wrong_lines(text)[0] == "Traceback (most recent call last):"
