"""The simulated API server follows the rules of a real one."""

import json
from typing import Any

import pytest

from fakes.api_server import ApiError, ApiServer, Fault, Object, merged, runs_pods, unanswered
from kai.api.writes import Lane, Outcome, PatchType, Read, Result, Verb, Write, delete_options


def made(kind: str = "Pod", name: str = "p", node: str = "", **metadata: Any) -> Object:
    metadata = {"name": name, "namespace": "team", "uid": f"uid-of-{name}", **metadata}
    spec = {"nodeName": node} if node else {}
    return {"kind": kind, "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def write(
    verb: Verb, body: Any = None, part: str = "", kind: str = "Pod", how: PatchType = "merge"
) -> Write:
    return Write(Lane.BINDING, verb, kind, "team", "p", body, part, patch_type=how)


def binding(uid: str = "uid-of-p", **metadata: Any) -> Write:
    target = {"kind": "Node", "name": "n1"}
    return write("create", {"metadata": {"uid": uid, **metadata}, "target": target}, "binding")


def of(server: ApiServer, kind: str = "Pod") -> Object:
    found = server.get(kind, "team", "p")
    assert found is not None
    return found


def conflicts(outcome: Outcome) -> bool:
    return (outcome.result, outcome.status) == (Result.CONFLICT, 409)


# ---- writes --------------------------------------------------------------------------------------


def test_a_created_object_has_a_uid_a_version_and_no_status() -> None:
    server = ApiServer()
    body = {"metadata": {"name": "p", "uid": "mine"}, "status": {"phase": "Running"}}
    outcome = server.send(write("create", body))
    assert (outcome.result, outcome.status) == (Result.DONE, 201)
    assert json.loads(outcome.body) == of(server)
    assert of(server)["status"] == {"phase": "Pending"}
    assert of(server)["metadata"] == {
        **{"name": "p", "namespace": "team", "resourceVersion": "1"},
        "uid": "00000001-0000-4000-8000-000000000000",
        "creationTimestamp": "2027-01-15T08:16:40Z",
    }
    again = server.send(write("create", body))
    assert (again.result, again.reason) == (Result.CONFLICT, "AlreadyExists")
    assert again.message == 'pods "p" already exists'


@pytest.mark.parametrize("each", [write("delete"), write("patch", {}), binding()])
def test_a_write_to_a_missing_object(each: Write) -> None:
    outcome = ApiServer().send(each)
    assert (outcome.result, outcome.status, outcome.reason) == (Result.GONE, 404, "NotFound")
    assert outcome.message == 'pods "p" not found'


@pytest.mark.parametrize("wanted", [{"uid": "other"}, {"resourceVersion": "7"}])
def test_preconditions(wanted: dict[str, str]) -> None:
    server = ApiServer(made())
    before = of(server)
    assert conflicts(server.send(write("patch", {"metadata": wanted, "spec": {"x": 1}})))
    assert conflicts(server.send(write("delete", {"preconditions": wanted})))
    assert of(server) == before
    named = {key: before["metadata"][key] for key in wanted}
    assert server.send(write("patch", {"metadata": named})).result is Result.DONE
    assert server.send(write("delete", {"preconditions": named})).result is Result.DONE


@pytest.mark.parametrize("copies_labels", [True, False])
def test_a_pod_is_bound_once_and_only_the_pod_that_was_meant(copies_labels: bool) -> None:
    server = ApiServer(made())
    server.copies_labels = copies_labels  # from Kubernetes 1.35 on
    assert conflicts(server.send(binding("other")))
    outcome = server.send(binding(annotations={"a": "b"}, labels={"c": "d"}))
    assert (outcome.result, outcome.status) == (Result.DONE, 201)
    bound = of(server)
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"a": "b"}
    assert ("labels" in bound["metadata"]) == copies_labels
    assert [each["type"] for each in bound["status"]["conditions"]] == ["PodScheduled"]
    assert 'already assigned to node "n1"' in server.send(binding()).message


def test_pods_that_leave_or_wait_for_a_gate_are_not_bound() -> None:
    gated = {**made(), "spec": {"schedulingGates": [{"name": "g"}]}}
    for each in (made(deletionTimestamp="2027-01-15T08:00:00Z"), gated):
        assert conflicts(ApiServer(each).send(binding()))


def test_a_patch_that_changes_nothing_is_no_event() -> None:
    server = ApiServer(made())
    assert server.send(write("patch", {"spec": {}})).result is Result.DONE
    assert server.version == 1


def test_a_merge_patch_deletes_with_null_and_replaces_lists() -> None:
    value = {"a": {"b": 1, "c": 2}, "list": [1, 2]}
    assert merged(value, {"a": {"b": None}, "list": [3]}) == {"a": {"c": 2}, "list": [3]}
    assert value == {"a": {"b": 1, "c": 2}, "list": [1, 2]}


def test_a_strategic_patch_merges_conditions_by_type_and_built_in_kinds_have_it() -> None:
    server = ApiServer(made(), made("PodGroup"))
    for conditions in (
        [{"type": "A", "status": "False", "reason": "x"}, {"type": "B", "status": "True"}],
        [{"type": "A", "status": "True"}, {"$patch": "delete", "type": "B"}],
    ):
        patch = {"status": {"conditions": conditions}}
        server.send(write("patch", patch, "status", how="strategic"))
    assert of(server)["status"]["conditions"] == [{"type": "A", "status": "True", "reason": "x"}]
    assert server.send(write("patch", {}, kind="PodGroup", how="strategic")).status == 415


def test_the_status_has_its_own_path() -> None:
    server = ApiServer(made(), made("PodGroup"))
    body = {"metadata": {"labels": {"x": "y"}}, "spec": {"a": 2}, "status": {"b": 3}}
    for kind in ("Pod", "PodGroup"):
        server.send(write("patch", body, "status", kind))
        assert (of(server, kind)["spec"], of(server, kind)["status"]["b"]) == ({}, 3)
    assert "labels" not in of(server, "PodGroup")["metadata"]
    assert of(server)["metadata"]["labels"] == {"x": "y"}, "kai writes them with the status"
    server.send(write("patch", {"status": {"b": 4}}, kind="PodGroup"))
    assert of(server, "PodGroup")["status"]["b"] == 3


def test_a_pod_on_a_node_has_time_to_end_and_another_is_gone_at_once() -> None:
    server = ApiServer(made(node="n1"))
    events = server.watch("Pod")
    for _ in range(2):
        assert server.send(write("delete", delete_options("uid-of-p"))).status == 200
    [leaves] = events
    assert leaves.type == "MODIFIED"
    assert leaves.item["metadata"]["deletionGracePeriodSeconds"] == 30
    assert leaves.item["metadata"]["deletionTimestamp"] == "2027-01-15T08:17:10Z"
    server.send(write("delete", {"gracePeriodSeconds": 0}))
    server.put(made(uid="v"))
    server.send(write("delete"))
    assert [each.type for each in events] == ["MODIFIED", "DELETED", "ADDED", "DELETED"]


def test_finalizers_keep_an_object() -> None:
    server = ApiServer(made("ResourceClaim", finalizers=["a"]))
    server.send(write("delete", kind="ResourceClaim"))
    assert "deletionTimestamp" in of(server, "ResourceClaim")["metadata"]
    server.send(write("patch", {"metadata": {"finalizers": None}}, kind="ResourceClaim"))
    assert [*server.all()] == []


def test_an_eviction_deletes_and_a_dry_run_does_not() -> None:
    server = ApiServer(made())

    def evict(uid: str, **options: Any) -> Outcome:
        body = {"deleteOptions": {**delete_options(uid), **options}}
        return server.send(write("create", body, "eviction"))

    assert evict("uid-of-p", dryRun=["All"]).status == 201
    assert conflicts(evict("other"))
    server.apply(write("patch", {"spec": {"a": 1}}), dry_run=True)
    assert [each["spec"] for each in server.list("Pod")] == [{}]
    assert evict("uid-of-p").result is Result.DONE
    assert server.list("Pod") == []


def test_dependents_go_after_their_last_owner() -> None:
    group = made("PodGroup", "g", ownerReferences=[{"uid": "uid-of-p"}, {"uid": "v"}])
    config = made("ConfigMap", ownerReferences=[{"uid": "v"}])
    server = ApiServer(made(), made("Job", uid="v"), group, config)
    for kind, left in (("Job", ["Pod", "PodGroup"]), ("Pod", [])):
        server.remove(kind, "team", "p")
        server.collect_garbage()
        assert [each["kind"] for each in server.all()] == left


# ---- reads and watches ---------------------------------------------------------------------------


def test_a_watch_goes_on_at_its_version_until_that_is_compacted() -> None:
    server = ApiServer(made())
    server.change("Pod", "team", "p", {"metadata": {"labels": {"a": "b"}}})
    server.put(made("Job"), made(uid="another"))
    events = server.watch("Pod", 1)
    assert [each.type for each in events] == ["MODIFIED", "DELETED", "ADDED"]
    assert [each.version for each in events] == [2, 4, 5]
    server.compact()
    assert not server.watch("Pod")
    with pytest.raises(ApiError, match="too old resource version") as error:
        server.watch("Pod", 1)
    assert error.value.code == 410


def test_events_caused_by_an_event_follow_it_at_each_watch() -> None:
    server = ApiServer(made())
    runs_pods(server)
    events = server.watch("Pod")  # after the kubelets
    server.send(binding())
    server.send(write("delete"))
    shown = [(each.version, each.type, each.item["status"]["phase"]) for each in events]
    assert shown == [
        *((2, "MODIFIED", "Pending"), (3, "MODIFIED", "Running")),
        *((4, "MODIFIED", "Running"), (5, "DELETED", "Running")),
    ]


def test_reads_give_copies_in_the_order_of_names() -> None:
    server = ApiServer(*(made(name=name, labels={"is": name}) for name in "cab"))
    found = server.find(Read("Pod", "team"))
    assert [each["metadata"]["name"] for each in found] == ["a", "b", "c"]
    found[0]["spec"] = "changed"
    assert server.find(Read("Pod", "team", "a"))["spec"] == {}
    assert len(server.find(Read("Pod", "team", selector="is=a"))) == 1
    assert len(server.find(Read("Pod", "team", selector="is!=a"))) == 2
    assert len(server.list("Pod", fields="metadata.name=b")) == 1
    assert (server.find(Read("Pod", "other")), server.find(Read("Pod", "team", "x"))) == ([], None)


# ---- faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize("applied", [False, True])
def test_a_lost_answer(applied: bool) -> None:
    server = ApiServer(made())
    server.fault = lambda each: Fault(unanswered(each), applied=applied)
    assert server.send(binding()).result is Result.LOST
    assert ("nodeName" in of(server)["spec"]) == applied
    assert server.send(write("delete")).result is Result.FAILED, "the client has repeated it"


def test_delays_pass_before_a_write_is_applied_and_before_it_is_answered() -> None:
    server, answers = ApiServer(made()), list[Outcome]()
    server.fault = lambda _: Fault(before=1.0, after=2.0)
    server.post(write("delete"), answers.append)
    for seconds, pods, answered in ((0.9, 1, 0), (2.0, 0, 0), (0.2, 0, 1)):
        server.clock.run(seconds)
        assert (len(server.list("Pod")), len(answers)) == (pods, answered)
