"""Claims that wait for their first consumer get volumes before their pod is bound."""

from typing import Any

import pytest
from small_server import Harness, Object, SmallServer

from fakes.writes import BUSY, LOST, REFUSED
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.pods.decisions import Binding
from kai.controllers.pods.volumes import Volumes, volume_of
from kai.controllers.pods.volumes.matching import BIND_COMPLETED, SELECTED_NODE, claims_of


def failure(step: str, why: str, node: str = " and node n1") -> str:
    message = f"K8sPlugin VolumeBinding failed {step} for pod: team/p{node}. error: {why}"
    return f"plugin volumebinding failed in PreBind: {message}"


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


class Store(Harness):
    """`binds`: Kubernetes' controller binds claims as soon as they are ready."""

    def __init__(self, *objects: Object, binds: bool = True) -> None:
        server = SmallServer(node(), *objects)

        def volumes() -> Any:
            found = map(volume_of, server.all("PersistentVolume"))
            return [each for each in found if each is not None]

        self.volumes = Volumes(volumes)
        super().__init__(server, lambda: self.volumes)
        self.binds = binds

    def play(self) -> None:
        self.begin(BINDING, pod("data"))
        self.wait()

    def wait(self, seconds: float = 30.0) -> None:
        """Lets time pass and answers all requests."""
        self.run()
        ends = self.now + seconds
        while (due := self.courses.next()) is not None and due <= ends and not self.ready:
            self.now = due
            if self.binds:
                self.bind()
            self.go_on()
            self.run()
        if not self.ready:
            self.now = ends

    def bind(self) -> None:
        for item in self.server.list("PersistentVolume"):
            if "claimRef" in item["spec"]:
                self.bind_to(item["spec"]["claimRef"]["name"], item["metadata"]["name"])
        for item in self.server.list("PersistentVolumeClaim"):
            selected = item["metadata"].get("annotations", {}).get(SELECTED_NODE)
            if selected and "volumeName" not in item["spec"]:
                name = f"pv-of-{item['metadata']['name']}"
                self.server.put(volume(name, node=selected))
                self.bind_to(item["metadata"]["name"], name)

    def bind_to(self, claim: str, volume: str) -> None:
        annotations = {"annotations": {BIND_COMPLETED: "yes"}}
        patch = {"metadata": annotations, "spec": {"volumeName": volume}}
        self.server.change("PersistentVolumeClaim", "team", claim, patch)

    def got(self, claim: str) -> str:
        found = self.server.get("PersistentVolumeClaim", "team", claim)
        assert found is not None
        return str(found["spec"].get("volumeName", ""))

    def selected(self, claim: str) -> str | None:
        found = self.server.get("PersistentVolumeClaim", "team", claim)
        assert found is not None
        value: str | None = found["metadata"]["annotations"].get(SELECTED_NODE)
        return value


LOCAL, LATE = storage_class("local"), storage_class("late", "maker.test")


def test_the_smallest_matching_volume_is_reserved_for_the_claim() -> None:
    harness = Store(
        *(LOCAL, claim("data", "local", "5Gi")),
        *(volume("a-small", "1Gi"), volume("b-far", "5Gi", node="n2")),
        *(volume("c-fits", "6Gi"), volume("d-large", "60Gi")),
    )
    harness.play()
    assert (harness.ready, harness.failed) == (["team/p"], [])
    assert harness.got("data") == "c-fits"
    assert harness.server.did == ["patch PersistentVolume c-fits"]
    kept = harness.server.get("PersistentVolume", "", "c-fits")
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
    harness = Store(LOCAL, claim("data", "local"), volume("v", **change))
    harness.play()
    why = "node(s) didn't find available persistent volumes to bind"
    assert (harness.ready, harness.failed) == ([], [failure("Filter", why)])
    assert harness.server.did == []


def test_labels_choose_volumes() -> None:
    made = claim("data", "local")
    made["spec"]["selector"] = {"matchLabels": {"disk": "fast"}}
    fast = volume("v2")
    fast["metadata"]["labels"] = {"disk": "fast"}
    harness = Store(LOCAL, made, volume("v1"), fast)
    harness.play()
    assert harness.got("data") == "v2"


def test_a_volume_reserved_by_an_administrator_is_used() -> None:
    reference = {"namespace": "team", "name": "data"}
    own = volume("own", "90Gi", claimRef=reference)
    harness = Store(LOCAL, claim("data", "local"), volume("v"), own)
    harness.play()
    assert harness.got("data") == "own"


def test_two_claims_get_two_volumes_the_smaller_one_first() -> None:
    harness = Store(
        *(LOCAL, claim("big", "local", "2Gi"), claim("small", "local", "1Gi")),
        *(volume("v1", "1Gi"), volume("v2", "2Gi")),
    )
    harness.begin(BINDING, pod("big", "small"))
    harness.wait()
    assert harness.ready == ["team/p"]
    assert (harness.got("small"), harness.got("big")) == ("v1", "v2")


def test_pods_that_are_bound_together_get_different_volumes() -> None:
    harness = Store(LOCAL, claim("a", "local"), claim("b", "local"), volume("v1"), volume("v2"))
    other = Binding("team/q", "uid-q", "n1", 2, "pg", waits_for_volumes=True)
    harness.begin(BINDING, pod("a"))
    harness.begin(other, pod("b"))
    harness.run()
    harness.wait()
    harness.wait()
    assert sorted(harness.server.did) == ["patch PersistentVolume v1", "patch PersistentVolume v2"]


def test_a_volume_is_provisioned_on_the_node() -> None:
    harness = Store(LATE, claim("data", "late"))
    harness.play()
    assert harness.ready == ["team/p"]
    assert (harness.selected("data"), harness.got("data")) == ("n1", "pv-of-data")
    assert harness.server.did == ["patch PersistentVolumeClaim data"]


def test_the_pod_is_not_ready_before_its_claim_is_bound() -> None:
    harness = Store(LATE, claim("data", "late"), binds=False)
    harness.begin(BINDING, pod("data"))
    harness.wait(100.0)
    assert (harness.ready, harness.failed) == ([], [])
    harness.binds = True
    harness.wait()
    assert harness.ready == ["team/p"]


def test_a_watch_event_starts_the_check_of_a_claim() -> None:
    harness = Store(LATE, claim("data", "late"), binds=False)
    harness.begin(BINDING, pod("data"))
    harness.wait(30.0)
    due = harness.courses.next()
    assert due is not None
    harness.volumes.changed("team", "other")
    harness.go_on()
    assert (harness.work, harness.courses.next()) == ([], due)
    harness.volumes.changed("team", "data")
    harness.go_on()
    assert [each.read.kind for each in harness.work] == ["PersistentVolumeClaim"]


def test_a_claim_with_the_selected_node_is_waited_for() -> None:
    harness = Store(LATE, claim("data", "late", **{SELECTED_NODE: "n1"}))
    harness.play()
    assert (harness.ready, harness.server.did) == (["team/p"], [])


def test_a_bound_claim_is_not_written() -> None:
    bound = claim("data", "late", **{BIND_COMPLETED: "yes"})
    bound["spec"]["volumeName"] = "v"
    harness = Store(LATE, bound, volume("v"))
    harness.begin(BINDING, pod("data"))
    harness.run()
    assert (harness.ready, harness.server.did) == (["team/p"], [])


def test_ephemeral_volumes_have_claims() -> None:
    volumes = [
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "scratch", "ephemeral": {}},
        {"name": "same", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "c", "configMap": {"name": "x"}},
    ]
    made = {"metadata": {"name": "p"}, "spec": {"volumes": volumes}}
    assert claims_of(made) == ["data", "p-scratch"]


# ---- failures ------------------------------------------------------------------------------------


def test_a_failing_provisioner_fails_the_binding() -> None:
    harness = Store(LATE, claim("data", "late"), binds=False)
    harness.begin(BINDING, pod("data"))
    harness.wait(1.0)
    reset = {"metadata": {"annotations": {SELECTED_NODE: None}}}
    harness.server.change("PersistentVolumeClaim", "team", "data", reset)
    harness.wait(2.0)
    why = 'binding volumes: selectedNode annotation reset for PVC "data"'
    assert harness.failed == [failure("Bind", why)]


def test_a_claim_that_takes_too_long_is_released() -> None:
    harness = Store(LATE, claim("data", "late"), binds=False)
    harness.begin(BINDING, pod("data"))
    harness.wait(119.0)
    assert harness.failed == []
    harness.wait(2.0)
    why = "binding volumes: context deadline exceeded"
    assert harness.failed == [failure("Bind", why)]
    harness.undo(BINDING)
    assert (harness.selected("data"), len(harness)) == (None, 0)


def test_a_claim_with_a_provisioned_volume_keeps_its_node() -> None:
    harness = Store(LATE, claim("data", "late"))
    harness.begin(BINDING, pod("data"))
    harness.run()
    harness.bind()
    harness.undo(BINDING)
    assert (harness.selected("data"), harness.got("data"), len(harness)) == (
        "n1",
        "pv-of-data",
        0,
    )


def test_a_node_that_another_pod_of_the_claim_needs_is_kept() -> None:
    harness = Store(LATE, claim("data", "late"), binds=False)
    other = Binding("team/q", "uid-q", "n1", 2, "pg", waits_for_volumes=True)
    harness.begin(BINDING, pod("data"))
    harness.run()
    harness.begin(other, pod("data"))
    harness.run()
    harness.undo(BINDING)
    assert harness.selected("data") == "n1"


@pytest.mark.parametrize(
    ("answers", "left"),
    [([BUSY], None), ([LOST], None), ([Outcome(Result.FAILED, 0, NOT_LEADING, "")], "n1")],
)
def test_a_failed_release_is_repeated_while_the_process_leads(
    answers: list[Outcome | None], left: str | None
) -> None:
    harness = Store(LATE, claim("data", "late"), binds=False)
    harness.begin(BINDING, pod("data"))
    harness.run()
    harness.server.answers = answers
    harness.take_back(BINDING)
    harness.wait(2.0)
    assert (harness.selected("data"), len(harness)) == (left, 0)


def test_a_volume_that_the_node_cannot_use_fails_the_binding() -> None:
    harness = Store(LATE, claim("data", "late"), volume("far", node="n2"), binds=False)
    harness.begin(BINDING, pod("data"))
    harness.run()
    harness.bind_to("data", "far")
    harness.wait(2.0)
    why = 'pv "far" node affinity doesn\'t match node "n1"'
    assert harness.failed == [failure("Bind", why)]


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
    harness = Store(immediate, *([found] if found else []))
    harness.play()
    assert harness.failed == [failure("PreFilter", why, "")]


def test_a_deleted_claim_is_not_waited_for() -> None:
    going = claim("data", "late")
    going["metadata"]["deletionTimestamp"] = "now"
    harness = Store(LATE, going)
    harness.play()
    why = 'persistentvolumeclaim "data" is being deleted'
    assert harness.failed == [failure("PreFilter", why, "")]


def test_a_claim_with_another_selected_node_fails() -> None:
    harness = Store(LATE, claim("data", "late", **{SELECTED_NODE: "n2"}))
    harness.play()
    why = "node(s) didn't find available persistent volumes to bind"
    assert harness.failed == [failure("Filter", why)]


def test_a_refused_write_is_the_reason() -> None:
    harness = Store(LATE, claim("data", "late"))
    harness.server.answers = [REFUSED]
    harness.play()
    assert harness.failed == [failure("Bind", "policy says no")]


@pytest.mark.parametrize("is_done", [False, True])
def test_a_write_with_a_lost_answer_is_checked(is_done: bool) -> None:
    harness = Store(LOCAL, claim("data", "local"), volume("v1"), volume("v2"))

    def lose(write: Write) -> None:
        if not harness.server.did:
            if is_done:
                harness.server.apply(write)
            harness.server.answers = [LOST]

    harness.between = lose
    harness.play()
    assert harness.ready == ["team/p"]
    kept = [o for o in harness.server.all("PersistentVolume") if "claimRef" in o["spec"]]
    assert len(kept) == 1


def test_a_volume_that_another_claim_got_first_is_not_used() -> None:
    harness = Store(LOCAL, claim("data", "local"), volume("v1"), volume("v2"))

    def take(write: Write) -> None:
        if not harness.server.did:
            other = {"claimRef": {"namespace": "team", "name": "other", "uid": "x"}}
            harness.server.change("PersistentVolume", "", "v1", {"spec": other})

    harness.between = take
    harness.binds = False
    harness.begin(BINDING, pod("data"))
    harness.run()
    harness.bind_to("data", "v2")
    harness.wait()
    assert harness.ready == ["team/p"]
    assert harness.server.did == ["patch PersistentVolume v1", "patch PersistentVolume v2"]


def test_a_pod_that_is_bound_is_forgotten() -> None:
    harness = Store(LATE, claim("data", "late"))
    harness.play()
    harness.keep(BINDING)
    harness.take_back(BINDING)
    assert (harness.work, len(harness)) == ([], 0)
