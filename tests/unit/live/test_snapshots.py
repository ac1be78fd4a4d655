"""A plan of a running scheduler's snapshot equals its next plan; secrets are left out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import kai
from fakes.objects import Object, job, node, pod, priority_class, queue
from fakes.watches import Watches
from kai.api import keys, times
from kai.api.writes import Outcome, Result
from kai.controllers.grouper import Rules
from kai.controllers.planning.core import make_core
from kai.controllers.planning.planner import Planner
from kai.controllers.planning.turns import Inputs, Turn
from kai.engine.plan import Plan
from kai.live.reading import WATCHED
from kai.live.snapshots import Objects, archive, compact
from kai.service.options import Options

NOW = times.to_ns("2026-01-01T01:00:00Z")
OPTIONS = Options(roles=("scheduler", "pod-grouper"))


class Running:
    """The planning part of `kai run`, and the lists of a server that changes meanwhile."""

    def __init__(self, options: Options = OPTIONS) -> None:
        self.core, self.options, self.now_ns = make_core(options), options, NOW
        self.planner = Planner(self.core, options)
        self.objects: dict[str, dict[str, Object]] = {}
        self.owners: dict[str, Object] = {}

    def put(self, *objects: Object) -> None:
        for each in objects:
            kind = each["kind"]
            listed = self.owners if kind == "Job" else self.objects.setdefault(kind, {})
            listed[each["metadata"]["name"]] = each

    def lists(self, sinks: Sequence[Any]) -> None:
        for kind in WATCHED:
            for sink in sinks:
                Watches(sink).list(kind, self.objects.get(kind, {}).values())

    def turn(self, seconds: float = 0.1) -> Turn:
        """Its decisions on the current objects; owners are read at once."""
        self.now_ns += int(seconds * 1e9)
        self.lists([self.core.feed])
        rules = Rules(classes=frozenset(self.objects["PriorityClass"]))
        turn = self.planner.turn(Inputs(self.now_ns, rules=rules))
        while turn.grouped.needs:
            found = [(each, self.owners.get(each.name)) for each in turn.grouped.needs]
            turn = self.planner.turn(Inputs(self.now_ns, owners=found))
        return turn

    def snapshot(self, path: Path) -> kai.Cluster:
        listed = Objects()
        self.lists([listed])
        path.write_bytes(archive(listed, self.options, self.planner.state(), self.now_ns))
        return kai.load(path)


def classes() -> list[Object]:
    return [priority_class("train", 50), priority_class("build", 100), priority_class("top", 110)]


def running(name: str, node: str, **more: Any) -> Object:
    made = pod(name, **more)
    made["spec"]["nodeName"], made["status"]["phase"] = node, "Running"
    return made


MEMBERS = ("decisions", "pod_groups", "pods", "queues")


def next_of(cluster: kai.Cluster) -> dict[str, Any]:
    """The output of `kai plan`, without fields about the file and the clock."""
    data = kai.Scheduler().plan(cluster).to_dict()
    return {name: data[name] for name in MEMBERS}


def next_of_running(kai_run: Running) -> dict[str, Any]:
    """Its next plan; nothing of it is assumed, so it can be made twice."""
    core = kai_run.core
    compiled = core.session.plan(core.cluster, now_ns=kai_run.now_ns)
    data = Plan(compiled, input=None, now_ns=kai_run.now_ns).to_dict()
    return {name: data[name] for name in MEMBERS}


def test_decisions_under_way_are_not_repeated(tmp_path: Path) -> None:
    kai_run = Running()
    train = job("train")
    kai_run.put(*classes(), queue("top"), queue("a", "top"), node("n1", 2), train)
    kai_run.put(pod("t1", owner=train), pod("t2", owner=train), pod("t3", owner=train))
    turn = kai_run.turn()
    assert [each.pod for each in turn.bindings] == ["team/t1", "team/t2"]
    kai_run.put(pod("late", gpus=0))
    assert [each.pod for each in kai_run.turn().bindings] == ["team/late"]
    taken = kai_run.snapshot(tmp_path / "s.zip")
    found = next_of(taken)
    assert found == next_of_running(kai_run)
    assert found["decisions"] == []
    assert found["pods"].keys() == {"team/t3"}


def test_promises_and_groups_in_memory_are_saved(tmp_path: Path) -> None:
    kai_run = Running()
    low = running("low", "n1", gpus=2)
    kai_run.put(*classes(), queue("top"), queue("a", "top"), node("n1", 2), low)
    kai_run.put(pod("high", gpus=2, priority="build"))
    turn = kai_run.turn()
    assert [each.order.pod for each in turn.removals] == ["team/low"]
    low["metadata"]["deletionTimestamp"] = times.to_text(kai_run.now_ns)
    kai_run.put(low, pod("higher", gpus=2, priority="top"))
    kai_run.turn(1)
    taken = kai_run.snapshot(tmp_path / "s.zip")
    found = next_of(taken)
    assert found == next_of_running(kai_run)
    assert [(each["kind"], each["pod"]) for each in found["decisions"]] == [
        ("pipeline", "team/high")
    ]
    objects = {name: each for name, each in taken.to_snapshot().items() if name != "memory"}
    without = kai.Cluster.from_snapshot(objects, now=taken.now)
    assert next_of(without) != found, "the memory makes the difference"


def test_a_promise_to_a_later_group_is_saved(tmp_path: Path) -> None:
    """The plan contained it before the API server did, which reports it as younger."""
    kai_run = Running()
    low, high = running("low", "n1", gpus=2), pod("high", gpus=2, priority="build")
    kai_run.put(*classes(), queue("top"), queue("a", "top"), node("n1", 2), low, high)
    turn = kai_run.turn()
    [change] = [each for each in turn.grouped.groups if "high" in each.name]
    low["metadata"]["deletionTimestamp"] = times.to_text(kai_run.now_ns)
    created = {**change.manifest, "kind": "PodGroup", "metadata": {**change.manifest["metadata"]}}
    younger = times.to_text(kai_run.now_ns + 10**9)
    created["metadata"] |= {"uid": "ug", "resourceVersion": "7", "creationTimestamp": younger}
    group = change.name.partition("/")[2]
    high["metadata"].setdefault("annotations", {})[keys.POD_GROUP_ANNOTATION] = group
    kai_run.put(low, high, created, pod("higher", gpus=2, priority="top"))
    answers = [(change.write(), Outcome(Result.DONE, 201))]
    kai_run.planner.turn(Inputs(kai_run.now_ns, answers=answers))
    kai_run.turn(1)
    taken = kai_run.snapshot(tmp_path / "s.zip")
    assert next_of(taken) == next_of_running(kai_run)
    assert [each["pod"] for each in next_of(taken)["decisions"]] == ["team/high"]


def test_a_confirmed_assumption_does_no_harm(tmp_path: Path) -> None:
    """Objects are listed after the memory was read."""
    kai_run = Running()
    kai_run.put(*classes(), queue("top"), queue("a", "top"), node("n1", 2), pod("p1"), pod("p2"))
    kai_run.turn()
    state = kai_run.planner.state()
    for name in ("p1", "p2"):
        bound = running(name, "n1")
        bound["metadata"]["annotations"] = {"pod-group-name": f"pg-{name}-uid-of-{name}"}
        kai_run.put(bound)
    group = {"kind": "PodGroup", **state.groups["team/pg-p1-uid-of-p1"], "status": {}}
    kai_run.put(group)
    listed = Objects()
    kai_run.lists([listed])
    (tmp_path / "s.zip").write_bytes(archive(listed, OPTIONS, state, kai_run.now_ns))
    taken = kai.load(tmp_path / "s.zip")
    assert len(taken.objects["podGroups"]) == 2, "one is created, and one is still planned"
    plan = kai.Scheduler().plan(taken)
    assert plan.decisions == ()
    assert plan.free_gpus == {"n1": 0}


def of_team(kind: str, name: str, spec: Object, **more: Any) -> Object:
    metadata = {"namespace": "team", "name": name, "uid": f"uid-of-{name}"}
    return {"kind": kind, "metadata": metadata, "spec": spec, **more}


def test_claims_and_volumes_are_saved(tmp_path: Path) -> None:
    kai_run = Running()
    kai_run.put(*classes(), queue("top"), queue("a", "top"))
    kai_run.put(*(node(name, 0, {"kubernetes.io/hostname": name}) for name in ("n1", "n2")))
    driver = "gpu.nvidia.com"
    kai_run.put({"kind": "DeviceClass", "metadata": {"name": driver}, "spec": {}})
    pool = {"name": "n2", "generation": 1, "resourceSliceCount": 1}
    devices = {"driver": driver, "nodeName": "n2", "pool": pool, "devices": [{"name": "gpu-0"}]}
    kai_run.put({"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": devices})
    request = {"name": "gpu", "exactly": {"deviceClassName": driver}}
    for name in ("c1", "c2"):
        given = of_team("ResourceClaim", name, {"devices": {"requests": [request]}})
        given["metadata"]["labels"] = {"kai.scheduler/queue": "a"}
        user = pod(f"of-{name}", gpus=0)
        user["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
        kai_run.put(given, user)
    made = {"provisioner": "kubernetes.io/no-provisioner"}
    waits = {"volumeBindingMode": "WaitForFirstConsumer"}
    kai_run.put({"kind": "StorageClass", "metadata": {"name": "local"}, **made, **waits})
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n2"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
    size = {"storageClassName": "local", "accessModes": ["ReadWriteOnce"]}
    disk = {**size, "capacity": {"storage": "2Gi"}, "nodeAffinity": affinity}
    available = {"phase": "Available"}
    kai_run.put(
        {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": disk, "status": available}
    )
    wants = {**size, "resources": {"requests": {"storage": "1Gi"}}}
    kai_run.put(of_team("PersistentVolumeClaim", "data", wants))
    for name in ("data", "nothing"):
        user = pod(f"of-{name}", gpus=0)
        volume = {"name": "d", "persistentVolumeClaim": {"claimName": name}}
        user["spec"]["volumes"] = [volume]
        kai_run.put(user)
    turn = kai_run.turn()
    assert {each.pod: each.node for each in turn.bindings} == {
        "team/of-c1": "n2",
        "team/of-data": "n2",
    }
    assert {each.pod: each.needs for each in turn.bindings} == {
        "team/of-c1": ["resource claims"],
        "team/of-data": ["volumes"],
    }
    found = next_of(kai_run.snapshot(tmp_path / "s.zip"))
    assert found == next_of_running(kai_run)
    assert found["decisions"] == []
    why = found["pods"]["team/of-nothing"]["message"]
    assert 'persistentvolumeclaim "nothing" not found' in why


def test_the_configuration_is_saved(tmp_path: Path) -> None:
    options = Options(
        roles=("scheduler", "pod-grouper"), config={"actions": "reclaim"}, node_pool="blue"
    )
    kai_run = Running(options)
    kai_run.put(*classes(), queue("top"), queue("a", "top"), node("n1", 2), pod("p1"))
    kai_run.turn()
    taken = kai_run.snapshot(tmp_path / "s.zip")
    tree = taken.to_snapshot()
    assert tree["config"]["actions"] == "reclaim"
    assert "compat" not in tree["config"], "KAI's programs know no such member"
    assert tree["schedulerParams"]["partitionParams"]["NodePoolLabelValue"] == "blue"
    assert next_of(taken) == next_of_running(kai_run)
    as_kai = Running(Options(roles=("scheduler", "pod-grouper"), as_kai=True))
    as_kai.put(*classes(), queue("a"), node("n1", 2))
    as_kai.turn()
    compat = as_kai.snapshot(tmp_path / "k.zip").to_snapshot()["config"]["compat"]
    assert set(compat.values()) == {"kai"}


def test_secrets_and_irrelevant_fields_are_left_out() -> None:
    secret = pod("p")
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    secret["metadata"]["annotations"] = {applied: "hunter2", "gpu-fraction": "0.5"}
    secret["metadata"]["managedFields"] = [{"manager": "kubectl"}, {"manager": "kai-sched/0.1.0"}]
    reference = {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "b"}}}
    container = {
        **secret["spec"]["containers"][0],
        "image": "registry/hunter2",
        "command": ["hunter2"],
        "args": ["--password=hunter2"],
        "env": [{"name": "A", "value": "hunter2"}, reference],
        "livenessProbe": {"httpGet": {"httpHeaders": [{"value": "hunter2"}]}},
        "lifecycle": {"preStop": {"exec": {"command": ["hunter2"]}}},
    }
    secret["spec"] |= {"containers": [container], "initContainers": [dict(container)]}
    kept = compact("Pod", secret)
    assert "hunter2" not in json.dumps(kept)
    assert kept["metadata"]["annotations"] == {"gpu-fraction": "0.5"}
    assert kept["metadata"]["managedFields"] == [{"manager": "kai-sched/0.1.0"}]
    resources = secret["spec"]["containers"][0]["resources"]
    main = {"name": "main", "resources": resources, "env": [reference]}
    assert kept["spec"]["containers"] == kept["spec"]["initContainers"] == [main]
    shown = node("n", 1)
    shown["status"]["images"] = [{"names": ["a"]}]
    assert compact("Node", shown) == node("n", 1)


def test_pages_are_stored_compressed() -> None:
    listed = Objects()
    listed.begin_list("Pod")
    for number in range(3):
        items = [pod(f"p{number}-{each}") for each in range(500)]
        for each in items:
            each["metadata"]["annotations"] = {"pod-group-name": "g"}
        metadata = {"resourceVersion": "5", "continue": "more"}
        page = {"kind": "PodList", "metadata": metadata, "items": items}
        data = json.dumps(page).encode()
        assert listed.list_page("Pod", data)[1:] == ("more", 500)
        assert len(listed._pages["Pod"][-1]) < len(data) / 10
    listed.end_list("Pod")
    state = Running().planner.state()
    text = b"".join(listed.pieces(OPTIONS, state))
    assert len(json.loads(text)["rawObjects"]["pods"]) == 1500
    with pytest.raises(ValueError, match="no PodList"):
        listed.list_page("Pod", b'{"kind": "Status"}')
