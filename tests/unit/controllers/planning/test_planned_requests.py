"""The planning thread and BindRequests: the requests of decisions, and existing ones."""

from typing import Any

from planner_world import World, pod

from fakes.objects import group, node
from kai.api.keys import LAST_START_ANNOTATION as LAST_START
from kai.controllers.planning.kinds import needed_by
from kai.controllers.pods.bind_requests import Request, Target


def bind_request(name: str, node: str) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "team", "name": name, "uid": f"request-{name}"},
        "spec": {"podName": name, "selectedNode": node},
    }


def test_a_decision_has_the_fields_of_its_bind_request() -> None:
    lists = {"Node": [node("n1")], "PodGroup": [group("g")], "Pod": [pod("a", gpus=2)]}
    [binding] = World(binding="bind-requests", **lists).turn().bindings
    assert binding.spec == {
        "receivedResourceType": "Regular",
        "receivedGPU": {"count": 2, "portion": "1.00"},
    }
    assert binding.annotations == {}


def test_a_pod_with_a_bind_request_is_planned_as_binding() -> None:
    """Another process may have created it."""
    assert "BindRequest" in needed_by(["scheduler"])
    world = World(
        Node=[node("n1")],
        PodGroup=[group("g")],
        Pod=[pod("a"), pod("b"), pod("c")],
        BindRequest=[bind_request("a", "n1")],
    )
    assert [each.pod for each in world.turn().bindings] == ["team/b"]


def test_targets_of_bind_requests_are_looked_up() -> None:
    world = World(
        Node=[node("n1")], PodGroup=[group("g")], Pod=[pod("a", gpus=0), pod("b", on="n1")]
    )
    given = [Request.of(bind_request(*each)) for each in (("a", "n1"), ("b", "gone"), ("c", "n1"))]
    turn = world.turn(requests=given)
    assert turn.targets == list(
        zip(
            given,
            [Target("uid-a", "", True), Target("uid-b", "n1", False), Target("", "", True)],
            strict=True,
        )
    )


def starts(turn: Any) -> list[str]:
    """Pod groups that get the time of a start."""
    stamped = [each for each in turn.writes if each.kind == "PodGroup" and LAST_START in str(each)]
    return [each.name for each in stamped]


def test_a_group_does_not_start_while_its_only_decided_pod_waits_after_a_failure() -> None:
    """It got the time of a start twice: when the binding failed and when it was decided again."""
    lists = {"Node": [node("n1")], "PodGroup": [group("g"), group("h")], "Pod": [pod("a")]}
    world = World(binding="bind-requests", **lists)
    turn = world.turn(held_back=["team/a"])
    assert [each.pod for each in turn.bindings] == ["team/a"]  # the binder keeps it for later
    assert starts(turn) == []
    world.core.session.forget(world.core.cluster, turn.bindings[0].assumption)
    assert starts(world.turn()) == ["g"]


def test_a_group_starts_with_the_first_pod_that_is_not_held_back() -> None:
    lists = {"Node": [node("n1")], "PodGroup": [group("g")], "Pod": [pod("a"), pod("b")]}
    assert starts(World(**lists).turn(held_back=["team/a"])) == ["g"]
