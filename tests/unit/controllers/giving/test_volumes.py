"""Claims that wait for their first consumer get volumes before their pod is bound."""

from __future__ import annotations

from typing import Any

import pytest
from small_server import Desk, Object, SmallServer

from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.one_binding import Binding
from kai.controllers.volumes import VolumeGiver, volume_of
from kai.controllers.volumes.matching import BIND_COMPLETED, SELECTED_NODE, claims_of

LOST = Outcome(Result.LOST)
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "policy says no")
FAILED = Outcome(Result.FAILED, 503, "ServiceUnavailable", "busy")


def failure(step: str, why: str, node: str = " and node n1") -> str:
    said = f"K8sPlugin VolumeBinding failed {step} for pod: team/p{node}. error: {why}"
    return f"plugin volumebinding failed in PreBind: {said}"


def node(name: str = "n1") -> Object:
    labels = {"kubernetes.io/hostname": name}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}}


def storage_class(name: str, provisioner: str = "", *, waits: bool = True) -> Object:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    return {
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner or "kubernetes.io/no-provisioner",
        "volumeBindingMode": mode,
    }


def claim(name: str, storage_class: str, size: str = "1Gi", **annotations: str) -> Object:
    metadata = {"namespace": "team", "name": name, "uid": f"uid-{name}"}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {**metadata, "annotations": annotations},
        "spec": {
            "storageClassName": storage_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
    }


def volume(name: str, size: str = "10Gi", node: str = "n1", **spec: Any) -> Object:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    terms = [{"matchExpressions": [term]}]
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {
            "storageClassName": "local",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            **spec,
        },
        "status": {"phase": "Available"},
    }


def pod(*claims: str) -> Object:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return {
        "metadata": {"namespace": "team", "name": "p", "uid": "uid-p"},
        "spec": {"volumes": volumes},
    }


BINDING = Binding("team/p", "uid-p", "n1", 1, "pg", waits_for_volumes=True)


class Store(Desk):
    """`binds`: Kubernetes' controller binds claims as soon as they are ready."""

    def __init__(self, *objects: Object) -> None:
        server = SmallServer(node(), *objects)

        def volumes() -> Any:
            kept = [o for (kind, _), o in server.objects.items() if kind == "PersistentVolume"]
            return [each for each in map(volume_of, kept) if each is not None]

        super().__init__(server, VolumeGiver(volumes))
        self.binds = True

    def wait(self, seconds: float = 30.0) -> None:
        """Lets time pass and answers all requests."""
        self.run()
        ends = self.now + seconds
        while (due := self.giver.next_tick()) is not None and due <= ends and not self.ready:
            self.now = due
            if self.binds:
                self.bind()
            self.take(self.giver.tick(due))
            self.run()
        if not self.ready:
            self.now = ends

    def bind(self) -> None:
        for (kind, _), item in list(self.server.objects.items()):
            if kind == "PersistentVolume" and "claimRef" in item["spec"]:
                self.bind_to(item["spec"]["claimRef"]["name"], item["metadata"]["name"])
            selected = item["metadata"].get("annotations", {}).get(SELECTED_NODE)
            if kind == "PersistentVolumeClaim" and selected and "volumeName" not in item["spec"]:
                name = f"pv-of-{item['metadata']['name']}"
                self.server.put(volume(name, node=selected))
                self.bind_to(item["metadata"]["name"], name)

    def bind_to(self, claim: str, volume: str) -> None:
        item = self.server.objects["PersistentVolumeClaim", claim]
        item["spec"]["volumeName"] = volume
        item["metadata"]["annotations"][BIND_COMPLETED] = "yes"
        self.server.put(item)

    def got(self, claim: str) -> str:
        found = self.server.get("PersistentVolumeClaim", claim)
        assert found is not None
        return str(found["spec"].get("volumeName", ""))

    def selected(self, claim: str) -> str | None:
        found = self.server.get("PersistentVolumeClaim", claim)
        assert found is not None
        value: str | None = found["metadata"]["annotations"].get(SELECTED_NODE)
        return value


LOCAL, LATE = storage_class("local"), storage_class("late", "maker.test")


def test_the_smallest_matching_volume_is_reserved_for_the_claim() -> None:
    desk = Store(
        *(LOCAL, claim("data", "local", "5Gi")),
        *(volume("a-small", "1Gi"), volume("b-far", "5Gi", node="n2")),
        *(volume("c-fits", "6Gi"), volume("d-large", "60Gi")),
    )
    desk.begin(BINDING, pod("data"))
    desk.wait()
    assert (desk.ready, desk.failed) == (["team/p"], [])
    assert desk.got("data") == "c-fits"
    assert desk.server.did == ["patch PersistentVolume c-fits"]
    kept = desk.server.get("PersistentVolume", "c-fits")
    assert kept is not None
    assert kept["spec"]["claimRef"]["uid"] == "uid-data"
    assert kept["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}


@pytest.mark.parametrize(
    "change",
    [
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeMode": "Block"},
        {"storageClassName": "other"},
        {"claimRef": {"namespace": "team", "name": "other", "uid": "x"}},
    ],
)
def test_volumes_that_do_not_match_are_not_used(change: dict[str, Any]) -> None:
    desk = Store(LOCAL, claim("data", "local"), volume("v", **change))
    desk.begin(BINDING, pod("data"))
    desk.wait()
    why = "node(s) didn't find available persistent volumes to bind"
    assert (desk.ready, desk.failed) == ([], [failure("Filter", why)])
    assert desk.server.did == []


def test_labels_choose_volumes() -> None:
    asks = claim("data", "local")
    asks["spec"]["selector"] = {"matchLabels": {"disk": "fast"}}
    fast = volume("v2")
    fast["metadata"]["labels"] = {"disk": "fast"}
    desk = Store(LOCAL, asks, volume("v1"), fast)
    desk.begin(BINDING, pod("data"))
    desk.wait()
    assert desk.got("data") == "v2"


def test_a_volume_reserved_by_an_administrator_is_used() -> None:
    reference = {"namespace": "team", "name": "data"}
    own = volume("own", "90Gi", claimRef=reference)
    desk = Store(LOCAL, claim("data", "local"), volume("v"), own)
    desk.begin(BINDING, pod("data"))
    desk.wait()
    assert desk.got("data") == "own"


def test_two_claims_get_two_volumes_the_smaller_one_first() -> None:
    desk = Store(
        *(LOCAL, claim("big", "local", "2Gi"), claim("small", "local", "1Gi")),
        *(volume("v1", "1Gi"), volume("v2", "2Gi")),
    )
    desk.begin(BINDING, pod("big", "small"))
    desk.wait()
    assert desk.ready == ["team/p"]
    assert (desk.got("small"), desk.got("big")) == ("v1", "v2")


def test_pods_that_are_bound_together_get_different_volumes() -> None:
    desk = Store(LOCAL, claim("a", "local"), claim("b", "local"), volume("v1"), volume("v2"))
    other = Binding("team/q", "uid-q", "n1", 2, "pg", waits_for_volumes=True)
    desk.begin(BINDING, pod("a"))
    desk.begin(other, pod("b"))
    desk.run()
    desk.wait()
    desk.wait()
    assert sorted(desk.server.did) == ["patch PersistentVolume v1", "patch PersistentVolume v2"]


def test_a_volume_is_provisioned_on_the_node() -> None:
    desk = Store(LATE, claim("data", "late"))
    desk.begin(BINDING, pod("data"))
    desk.wait()
    assert desk.ready == ["team/p"]
    assert (desk.selected("data"), desk.got("data")) == ("n1", "pv-of-data")
    assert desk.server.did == ["patch PersistentVolumeClaim data"]


def test_the_pod_is_not_ready_before_its_claim_is_bound() -> None:
    desk = Store(LATE, claim("data", "late"))
    desk.binds = False
    desk.begin(BINDING, pod("data"))
    desk.wait(100.0)
    assert (desk.ready, desk.failed) == ([], [])
    desk.binds = True
    desk.wait()
    assert desk.ready == ["team/p"]


def test_a_watch_event_starts_the_check_of_a_claim() -> None:
    desk = Store(LATE, claim("data", "late"))
    desk.binds = False
    desk.begin(BINDING, pod("data"))
    desk.wait(30.0)
    assert isinstance(desk.giver, VolumeGiver)
    due = desk.giver.next_tick()
    assert due is not None
    desk.giver.changed(desk.now, "team", "other")
    assert desk.giver.next_tick() == due > desk.now
    desk.giver.changed(desk.now, "team", "data")
    assert desk.giver.next_tick() == desk.now


def test_a_claim_with_the_selected_node_is_waited_for() -> None:
    desk = Store(LATE, claim("data", "late", **{SELECTED_NODE: "n1"}))
    desk.begin(BINDING, pod("data"))
    desk.wait()
    assert (desk.ready, desk.server.did) == (["team/p"], [])


def test_a_bound_claim_is_not_written() -> None:
    bound = claim("data", "late", **{BIND_COMPLETED: "yes"})
    bound["spec"]["volumeName"] = "v"
    desk = Store(LATE, bound, volume("v"))
    desk.begin(BINDING, pod("data"))
    desk.run()
    assert (desk.ready, desk.server.did) == (["team/p"], [])


def test_ephemeral_volumes_have_claims() -> None:
    volumes = [
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "scratch", "ephemeral": {}},
        {"name": "same", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "c", "configMap": {"name": "x"}},
    ]
    asks = {"metadata": {"name": "p"}, "spec": {"volumes": volumes}}
    assert claims_of(asks) == ["data", "p-scratch"]


# ---- failures ------------------------------------------------------------------------------------


def test_a_failing_provisioner_fails_the_binding() -> None:
    desk = Store(LATE, claim("data", "late"))
    desk.binds = False
    desk.begin(BINDING, pod("data"))
    desk.wait(1.0)
    item = desk.server.objects["PersistentVolumeClaim", "data"]
    del item["metadata"]["annotations"][SELECTED_NODE]
    desk.server.put(item)
    desk.wait(2.0)
    why = 'binding volumes: selectedNode annotation reset for PVC "data"'
    assert desk.failed == [failure("Bind", why)]


def test_a_claim_that_takes_too_long_is_released() -> None:
    desk = Store(LATE, claim("data", "late"))
    desk.binds = False
    desk.begin(BINDING, pod("data"))
    desk.wait(119.0)
    assert desk.failed == []
    desk.wait(2.0)
    why = "binding volumes: context deadline exceeded"
    assert desk.failed == [failure("Bind", why)]
    desk.take_back(BINDING)
    desk.run()
    assert (desk.selected("data"), len(desk.giver)) == (None, 0)


def test_a_claim_with_a_provisioned_volume_keeps_its_node() -> None:
    desk = Store(LATE, claim("data", "late"))
    desk.begin(BINDING, pod("data"))
    desk.run()
    desk.bind()
    desk.take_back(BINDING)
    desk.run()
    assert (desk.selected("data"), desk.got("data"), len(desk.giver)) == ("n1", "pv-of-data", 0)


def test_a_node_that_another_pod_of_the_claim_needs_is_kept() -> None:
    desk = Store(LATE, claim("data", "late"))
    desk.binds = False
    other = Binding("team/q", "uid-q", "n1", 2, "pg", waits_for_volumes=True)
    desk.begin(BINDING, pod("data"))
    desk.run()
    desk.begin(other, pod("data"))
    desk.run()
    desk.take_back(BINDING)
    desk.run()
    assert desk.selected("data") == "n1"


@pytest.mark.parametrize(
    ("answers", "left"),
    [([FAILED], None), ([LOST], None), ([Outcome(Result.FAILED, 0, NOT_LEADING, "")], "n1")],
)
def test_a_failed_release_is_repeated_while_the_process_leads(
    answers: list[Outcome | None], left: str | None
) -> None:
    desk = Store(LATE, claim("data", "late"))
    desk.binds = False
    desk.begin(BINDING, pod("data"))
    desk.run()
    desk.server.answers = answers
    desk.take_back(BINDING)
    desk.wait(2.0)
    assert (desk.selected("data"), len(desk.giver)) == (left, 0)


def test_a_volume_that_the_node_cannot_use_fails_the_binding() -> None:
    desk = Store(LATE, claim("data", "late"), volume("far", node="n2"))
    desk.binds = False
    desk.begin(BINDING, pod("data"))
    desk.run()
    desk.bind_to("data", "far")
    desk.wait(2.0)
    why = 'pv "far" node affinity doesn\'t match node "n1"'
    assert desk.failed == [failure("Bind", why)]


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, 'persistentvolumeclaim "data" not found'),
        (claim("data", "now"), "pod has unbound immediate PersistentVolumeClaims"),
        (claim("data", "nothing"), "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_an_invalid_claim_is_the_reason(found: Object | None, why: str) -> None:
    immediate = storage_class("now", "maker.test", waits=False)
    desk = Store(immediate, *([found] if found else []))
    desk.begin(BINDING, pod("data"))
    desk.wait()
    assert desk.failed == [failure("PreFilter", why, "")]


def test_a_deleted_claim_is_not_waited_for() -> None:
    going = claim("data", "late")
    going["metadata"]["deletionTimestamp"] = "now"
    desk = Store(LATE, going)
    desk.begin(BINDING, pod("data"))
    desk.wait()
    why = 'persistentvolumeclaim "data" is being deleted'
    assert desk.failed == [failure("PreFilter", why, "")]


def test_a_claim_with_another_selected_node_fails() -> None:
    desk = Store(LATE, claim("data", "late", **{SELECTED_NODE: "n2"}))
    desk.begin(BINDING, pod("data"))
    desk.wait()
    why = "node(s) didn't find available persistent volumes to bind"
    assert desk.failed == [failure("Filter", why)]


def test_a_refused_write_is_the_reason() -> None:
    desk = Store(LATE, claim("data", "late"))
    desk.server.answers = [REFUSED]
    desk.begin(BINDING, pod("data"))
    desk.wait()
    assert desk.failed == [failure("Bind", "policy says no")]


@pytest.mark.parametrize("is_done", [False, True])
def test_a_write_with_a_lost_answer_is_checked(is_done: bool) -> None:
    desk = Store(LOCAL, claim("data", "local"), volume("v1"), volume("v2"))

    def lose(write: Write) -> None:
        if not desk.server.did:
            if is_done:
                desk.server._carry_out(write)
            desk.server.answers = [LOST]

    desk.between = lose
    desk.begin(BINDING, pod("data"))
    desk.wait()
    assert desk.ready == ["team/p"]
    kept = [o for o in desk.server.objects.values() if "claimRef" in o.get("spec", {})]
    assert len(kept) == 1


def test_a_volume_that_another_claim_got_first_is_not_used() -> None:
    desk = Store(LOCAL, claim("data", "local"), volume("v1"), volume("v2"))

    def take(write: Write) -> None:
        if not desk.server.did:
            item = desk.server.objects["PersistentVolume", "v1"]
            item["spec"]["claimRef"] = {"namespace": "team", "name": "other", "uid": "x"}
            desk.server.put(item)

    desk.between = take
    desk.binds = False
    desk.begin(BINDING, pod("data"))
    desk.run()
    desk.bind_to("data", "v2")
    desk.wait()
    assert desk.ready == ["team/p"]
    assert desk.server.did == ["patch PersistentVolume v1", "patch PersistentVolume v2"]


def test_a_pod_that_is_bound_is_forgotten() -> None:
    desk = Store(LATE, claim("data", "late"))
    desk.begin(BINDING, pod("data"))
    desk.wait()
    desk.giver.keep(BINDING)
    desk.take_back(BINDING)
    assert (desk.work, len(desk.giver)) == ([], 0)
