"""A group avoids a node that rejects its pods, longer each time."""

from typing import Any

import pytest

from kai.api import keys
from kai.controllers.planning.rejecting import Families, Rejections, is_rejection
from kai.controllers.waits import Waits


def test_a_group_avoids_the_node_for_a_while() -> None:
    rejections = Rejections()
    assert rejections.failed(0.0, "team/a", "n1", "OutOfcpu") == 10.0
    assert rejections.failed(1.0, "team/a", "n1", "OutOfcpu") == 10.0  # decided before
    assert rejections.failed(2.0, "team/a", "n2", "UnexpectedAdmissionError") == 12.0
    assert rejections.failed(2.0, "team/b", "n1", "OutOfpods") == 12.0
    assert rejections.changed(2.0) == {"team/a": ["n1", "n2"], "team/b": ["n1"]}
    assert rejections.changed(9.0) == {}
    assert rejections.next() == 10.0
    assert rejections.changed(10.0) == {"team/a": ["n2"]}
    assert rejections.changed(12.0) == {"team/a": [], "team/b": []}
    assert rejections.next() is None


def test_a_node_that_rejects_again_is_avoided_for_longer() -> None:
    rejections = Rejections()
    now, waits = 0.0, []
    for _ in range(7):
        until = rejections.failed(now, "team/a", "n1", "OutOfcpu")
        assert until is not None
        waits.append(until - now)
        now = until
        rejections.changed(now)
    assert waits == [10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 320.0]
    assert rejections.failed(now + 601.0, "team/a", "n1", "OutOfcpu") == now + 611.0


@pytest.mark.parametrize("reason", ["", "Evicted", "Error", "DeadlineExceeded"])
def test_other_failures_are_not_rejections_of_the_node(reason: str) -> None:
    rejections = Rejections()
    assert not is_rejection(reason)
    assert rejections.failed(0.0, "team/a", "n1", reason) is None
    assert rejections.changed(0.0) == {}


def test_a_pod_without_a_group_makes_no_group_avoid_the_node() -> None:
    assert Rejections().failed(0.0, "", "n1", "OutOfcpu") is None


def test_old_rejections_are_forgotten() -> None:
    waits: Waits[str] = Waits(first=1.0, most=4.0, calm=10.0)
    assert waits.begin(0.0, "a") == 1.0
    assert waits.ended(0.5) == []
    assert waits.ended(1.0) == ["a"]
    assert "a" not in waits
    assert waits.ended(1.0) == []
    assert waits.begin(5.0, "a") == 7.0
    waits.ended(7.0)
    waits.ended(30.0)
    assert waits._past == {}
    assert waits.begin(30.0, "a") == 31.0


def test_a_wait_can_be_limited() -> None:
    rejections = Rejections()
    for begun in (0.0, 10.0, 20.0):
        assert rejections.refused(begun, "team/a", "n1", longest=10.0) == begun + 10.0
        assert rejections.changed(begun + 10.0) == {"team/a": []}


def test_only_groups_of_one_pod_each_are_a_family() -> None:
    families = Families()
    top = "name: web\nuid: u\ngroup: apps\nversion: v1\nkind: Deployment\n"
    for pod in ("a", "b"):
        families.created(f"team/pg-{pod}", manifest("Pod", pod, top))
    families.created("team/pg-job", manifest("Job", "j", "name: job\nuid: j\n"))
    families.created("team/pg-bare", manifest("Pod", "c", "name: c\nuid: c\n"))
    family = families.of("team/pg-a")
    assert families.of("team/pg-b") == family
    assert families.groups(family) == ["team/pg-a", "team/pg-b"]
    assert families.of("team/pg-job") == "team/pg-job"
    assert families.groups("team/pg-bare") == ["team/pg-bare"]
    families.gone("team/pg-a")
    assert families.groups(family) == ["team/pg-b"]


def manifest(kind: str, uid: str, top: str) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": "team",
            "annotations": {keys.TOP_OWNER_ANNOTATION: top},
            "ownerReferences": [{"kind": kind, "uid": uid}],
        }
    }
