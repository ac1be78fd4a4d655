"""The Python API of the feed: bytes of lists and watches become plans, and facts for roles."""

import json
from typing import Any

import pytest

import kai
from fakes import objects
from fakes.objects import Object, node, queue
from kai import _core
from kai.controllers.planning.seen import FeedSeen
from kai.engine.cluster import Cluster

NOW_NS = 1_750_000_000_000_000_000


def group(name: str) -> Object:
    return objects.group(name, resourceVersion="1")


def pod(name: str, version: int, *, group: str = "", node: str = "") -> Object:
    return objects.pod(name, group, on=node, resourceVersion=str(version))


class Server:
    """A live cluster with one node, two queues, and the objects of a test."""

    def __init__(self) -> None:
        self.core = _core.live_cluster('{"schedulerName": "kai-scheduler"}')
        self.feed = _core.Feed(self.core)
        self.session = _core.Session(_core.Config.parse(""))
        self.list("Queue", queue("top"), queue("leaf", "top"))
        self.list("Node", node("n"))

    def list(self, kind: str, *items: dict[str, Any]) -> tuple[str, str, int]:
        self.feed.begin_list(kind)
        page = {"kind": f"{kind}List", "metadata": {"resourceVersion": "5"}, "items": items}
        read = self.feed.list_page(kind, json.dumps(page).encode())
        self.feed.end_list(kind)
        return read

    def event(self, type_: str, kind: str, item: dict[str, Any]) -> _core.Drained:
        line = json.dumps({"type": type_, "object": item}).encode() + b"\n"
        self.feed.watch_bytes(kind, line[:9])
        self.feed.watch_bytes(kind, line[9:])
        return self.feed.drain()

    def plan(self) -> _core.Plan:
        return self.session.plan(self.core, now_ns=NOW_NS)


def test_bytes_become_a_plan_whose_decisions_are_assumed() -> None:
    server = Server()
    server.list("PodGroup", group("g"), group("h"))
    assert server.list("Pod", pod("a", 1, group="g"), pod("b", 2, group="h")) == ("5", "", 2)
    drained = server.feed.drain()
    assert [name for name, _ in drained.pods] == ["team/a", "team/b"]
    assert json.loads(drained.pods[0][1])["metadata"]["uid"] == "uid-of-a"
    assert drained.groups == ["team/g", "team/h"]
    assert drained.queues == ["leaf", "top"]
    assert drained.synced == ["Node", "Pod", "PodGroup", "Queue"]
    assert (drained.rejected, drained.gone) == ([], [])
    plan = server.plan()
    assert plan.counts()["bind"] == 2
    assert server.session.assume_plan(server.core, plan, now_ns=NOW_NS) == [1, 2]
    assert server.plan().counts()["bind"] == 0
    assert server.session.forget(server.core, 1)
    assert server.plan().counts()["bind"] == 1
    assert server.session.assume_bound_to(server.core, "team/a", "another", "n") is None
    assert server.session.assume_bound_to(server.core, "team/a", "uid-of-a", "n") == 3
    assert server.plan().counts()["bind"] == 0


def test_a_status_written_by_the_scheduler_does_not_change_the_plan() -> None:
    server = Server()
    server.list("PodGroup", group("g"))
    server.list("Pod", pod("a", 1, group="g"))
    server.feed.drain()
    server.plan()
    assert not server.session.has_changed(server.core)
    written = pod("a", 3, group="g")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    written["status"]["conditions"] = [{**condition, "message": "no room"}]
    drained = server.event("MODIFIED", "Pod", written)
    assert (drained.pods, drained.groups) == ([], ["team/g"])
    assert not server.session.has_changed(server.core)
    facts = server.feed.pod_facts(["team/a", "team/none"])
    assert facts == [("uid-of-a", "", "False", "Unschedulable", "no room", "", "g", True), None]
    server.event("MODIFIED", "Pod", pod("a", 4, group="g", node="n"))
    assert server.session.has_changed(server.core)


def test_a_group_that_disables_marking_of_its_pods() -> None:
    server = Server()
    server.list("PodGroup", group("g"))
    server.list("Pod", pod("a", 1, group="g"), pod("b", 2))
    server.feed.drain()
    assert FeedSeen(server.feed).pod("team/a").marked  # type: ignore[union-attr]
    changed = group("g")
    changed["metadata"]["resourceVersion"] = "3"
    changed["spec"]["markUnschedulable"] = False
    server.event("MODIFIED", "PodGroup", changed)
    seen = [FeedSeen(server.feed).pod(name) for name in ("team/a", "team/b")]
    assert [each.marked for each in seen if each is not None] == [False, True]


def test_sums_of_groups_and_queues() -> None:
    server = Server()
    server.list("PodGroup", group("g"))
    server.list("Pod", pod("a", 1, group="g", node="n"), pod("b", 2, group="g"))
    server.feed.drain()
    two, one = {"nvidia.com/gpu": "2"}, {"nvidia.com/gpu": "1"}
    assert server.feed.group_status(["team/g", "team/x"]) == [(two, one, {}, True), None]
    queues = server.feed.queue_status()
    assert queues == {"top": (["leaf"], two, one, {}, b""), "leaf": ([], two, one, {}, b"")}
    facts = ("uid-of-g", b"", "", "", "", b"", "")
    assert server.feed.group_facts(["team/g", "team/x"]) == [facts, None]


def test_a_group_that_is_being_created_counts() -> None:
    server = Server()
    server.list("PodGroup")
    server.list("Pod", pod("a", 1))
    server.feed.drain()
    assert server.plan().counts()["bind"] == 0
    planned = json.dumps({**group("g"), "kind": "PodGroup"}).encode()
    assert server.core.upsert_planned(planned) == "team/g"
    assert server.core.assign("team/a", "uid-of-a", "g", "")
    assert not server.core.assign("team/a", "another", "g", "")
    assert server.plan().counts()["bind"] == 1
    server.list("PodGroup")
    assert server.feed.drain().gone == []
    assert server.core.has("PodGroup", "team/g")
    assert server.core.withdraw("PodGroup", "team/g")
    assert not server.core.withdraw("PodGroup", "team/g")
    assert server.plan().counts()["bind"] == 0


def test_invalid_objects_are_reported_and_the_rest_is_planned() -> None:
    server = Server()
    assert server.feed.watch_bytes("Pod", b"oops\n") == ("", False, b"")
    error = server.feed.watch_bytes("Pod", b'{"type":"ERROR","object":{"code":410}}\n')
    assert error == ("", False, b'{"code":410}')
    drained = server.event("ADDED", "Pod", pod("a", 7))
    assert [each[0] for each in drained.rejected] == ["Pod"]
    assert "not valid JSON" in drained.rejected[0][3]
    assert drained.events == 4  # two queues, a node, and the pod
    server.feed.watch_bytes("Pod", b'{"type":"DELETED"')
    server.feed.watch_ended("Pod")
    gone = server.event("DELETED", "Pod", pod("a", 8)).gone
    assert gone == [("Pod", "team/a", "uid-of-a")]
    assert not server.feed.is_full
    with pytest.raises(kai.InvalidInputError, match="it is not a list of Pod: its kind is"):
        server.feed.list_page("Pod", b'{"kind": "Status"}')
    with pytest.raises(kai.InvalidClusterError, match="plans do not use the kind Deployment"):
        server.feed.begin_list("Deployment")
    with pytest.raises(kai.InvalidInputError):
        _core.live_cluster('{"schedulerName": 7}')


def test_a_live_cluster_has_the_plan_of_its_snapshot() -> None:
    server = Server()
    server.list("PodGroup", group("g"))
    server.list("Pod", pod("a", 1, group="g"))
    server.feed.drain()
    live = Cluster._live(server.core)
    assert repr(live) == "<kai.Cluster: 1 node, 1 pod group with 1 pod, 2 queues>"
    assert len(kai.Scheduler().plan(live).decisions) == 1
    with pytest.raises(kai.InvalidClusterError, match="a live cluster stores only what plans need"):
        live.to_snapshot()
    copy = live.copy()
    server.event("DELETED", "Pod", pod("a", 9))
    assert (live.counts["pods"], copy.counts["pods"]) == (0, 1)
