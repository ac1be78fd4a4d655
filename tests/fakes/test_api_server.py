"""The simulated API server follows the rules of a real one (docs/internals/cluster.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakes.api_server import ApiError, ApiServer, Fault, merged, runs_pods, unanswered
from kai.api.writes import Lane, Outcome, PatchType, Read, Result, Verb, Write, delete_options


def made(kind: str = "Pod", name: str = "p", **parts: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team", **parts.pop("metadata", {})}
    return {"kind": kind, "metadata": metadata, **parts}


def pod(node: str = "", **metadata: Any) -> dict[str, Any]:
    spec = {"nodeName": node} if node else {}
    return made(spec=spec, status={"phase": "Pending"}, metadata={"uid": "u", **metadata})


def write(
    verb: Verb, body: Any = None, part: str = "", kind: str = "Pod", how: PatchType = "merge"
) -> Write:
    return Write(Lane.BINDING, verb, kind, "team", "p", body, part, patch_type=how)


def binding(uid: str = "u", **metadata: Any) -> Write:
    target = {"kind": "Node", "name": "n1"}
    return write("create", {"metadata": {"uid": uid, **metadata}, "target": target}, "binding")


def of(server: ApiServer, kind: str = "Pod") -> dict[str, Any]:
    found = server.get(kind, "team", "p")
    assert found is not None
    return found


def conflicts(outcome: Outcome) -> bool:
    return (outcome.result, outcome.status) == (Result.CONFLICT, 409)


def test_a_created_object_has_a_uid_a_version_and_no_status() -> None:
    server = ApiServer()
    body = made(metadata={"uid": "mine"}, status={"phase": "Running"})
    outcome = server.send(write("create", body))
    assert (outcome.result, outcome.status) == (Result.DONE, 201)
    found = of(server)
    assert json.loads(outcome.body) == found
    assert found["metadata"] == {
        "name": "p",
        "namespace": "team",
        "uid": "00000001-0000-4000-8000-000000000000",
        "creationTimestamp": "2027-01-15T08:16:40Z",
        "resourceVersion": "1",
    }
    assert found["status"] == {"phase": "Pending"}
    again = server.send(write("create", body))
    assert (again.result, again.reason) == (Result.CONFLICT, "AlreadyExists")
    assert again.message == 'pods "p" already exists'


@pytest.mark.parametrize("each", [write("delete"), write("patch", {}), binding()])
def test_a_write_to_a_missing_object(each: Write) -> None:
    outcome = ApiServer().send(each)
    assert (outcome.result, outcome.status) == (Result.GONE, 404)
    assert (outcome.reason, outcome.message) == ("NotFound", 'pods "p" not found')


@pytest.mark.parametrize("wanted", [{"uid": "other"}, {"resourceVersion": "7"}])
def test_preconditions(wanted: dict[str, str]) -> None:
    server = ApiServer(pod())
    before = of(server)
    assert conflicts(server.send(write("patch", {"metadata": wanted, "spec": {"x": 1}})))
    assert conflicts(server.send(write("delete", {"preconditions": wanted})))
    assert of(server) == before
    named = {key: before["metadata"][key] for key in wanted}
    assert server.send(write("patch", {"metadata": named})).result is Result.DONE
    assert server.send(write("delete", {"preconditions": named})).result is Result.DONE


def test_a_pod_is_bound_once_and_only_the_pod_that_was_meant() -> None:
    server = ApiServer(pod())
    assert conflicts(server.send(binding("other")))
    given = {"annotations": {"a": "b"}, "labels": {"c": "d"}}
    outcome = server.send(binding(**given))
    assert (outcome.result, outcome.status) == (Result.DONE, 201)
    bound = of(server)
    assert bound["spec"]["nodeName"] == "n1"
    assert {key: bound["metadata"][key] for key in given} == given
    assert [each["type"] for each in bound["status"]["conditions"]] == ["PodScheduled"]
    assert 'already assigned to node "n1"' in server.send(binding()).message


def test_bindings_of_an_older_server_copy_no_labels() -> None:
    server = ApiServer(pod())
    server.copies_labels = False
    server.send(binding(labels={"c": "d"}))
    assert "labels" not in of(server)["metadata"]


def test_pods_that_leave_or_wait_for_a_gate_are_not_bound() -> None:
    leaves = pod(deletionTimestamp="2027-01-15T08:00:00Z")
    assert conflicts(ApiServer(leaves).send(binding()))
    gated = made(spec={"schedulingGates": [{"name": "g"}]}, metadata={"uid": "u"})
    assert conflicts(ApiServer(gated).send(binding()))


def test_a_patch_that_changes_nothing_is_no_event() -> None:
    server = ApiServer(pod())
    version = server.version
    assert server.send(write("patch", {"spec": {}})).result is Result.DONE
    assert server.version == version


def test_a_merge_patch_deletes_with_null_and_replaces_lists() -> None:
    value = {"a": {"b": 1, "c": 2}, "list": [1, 2]}
    assert merged(value, {"a": {"b": None}, "list": [3]}) == {"a": {"c": 2}, "list": [3]}
    assert value == {"a": {"b": 1, "c": 2}, "list": [1, 2]}


def test_a_strategic_patch_merges_conditions_by_type_and_built_in_kinds_have_it() -> None:
    server = ApiServer(pod(), made("PodGroup"))
    for conditions in (
        [{"type": "A", "status": "False", "reason": "x"}, {"type": "B", "status": "True"}],
        [{"type": "A", "status": "True"}, {"$patch": "delete", "type": "B"}],
    ):
        server.send(
            write("patch", {"status": {"conditions": conditions}}, "status", how="strategic")
        )
    assert of(server)["status"]["conditions"] == [{"type": "A", "status": "True", "reason": "x"}]
    outcome = server.send(write("patch", {}, kind="PodGroup", how="strategic"))
    assert (outcome.result, outcome.status) == (Result.REFUSED, 415)


def test_the_status_has_its_own_path() -> None:
    server = ApiServer(pod(), made("PodGroup", spec={"a": 1}))
    body = {"metadata": {"labels": {"x": "y"}}, "spec": {"a": 2}, "status": {"b": 3}}
    for kind in ("Pod", "PodGroup"):
        server.send(write("patch", body, "status", kind))
    assert of(server, "PodGroup")["spec"] == {"a": 1}
    assert of(server, "PodGroup")["status"] == {"b": 3}
    assert "labels" not in of(server, "PodGroup")["metadata"]
    assert of(server)["metadata"]["labels"] == {"x": "y"}, "kai writes them with the status"
    server.send(write("patch", {"status": {"b": 4}}, kind="PodGroup"))
    assert of(server, "PodGroup")["status"] == {"b": 3}


def test_a_pod_on_a_node_has_time_to_end() -> None:
    server = ApiServer(pod("n1"))
    events = server.watch("Pod")
    for _ in range(2):
        assert server.send(write("delete", delete_options("u"))).status == 200
    [leaves] = events
    assert leaves.type == "MODIFIED"
    assert leaves.item["metadata"]["deletionGracePeriodSeconds"] == 30
    assert leaves.item["metadata"]["deletionTimestamp"] == "2027-01-15T08:17:10Z"
    server.send(write("delete", {"gracePeriodSeconds": 0}))
    assert [each.type for each in events] == ["MODIFIED", "DELETED"]
    assert server.get("Pod", "team", "p") is None


def test_a_waiting_pod_is_gone_at_once() -> None:
    server = ApiServer(pod())
    server.send(write("delete"))
    assert server.list("Pod") == []


def test_finalizers_keep_an_object() -> None:
    server = ApiServer(made("ResourceClaim", metadata={"finalizers": ["a"]}))
    server.send(write("delete", kind="ResourceClaim"))
    assert "deletionTimestamp" in of(server, "ResourceClaim")["metadata"]
    server.send(write("patch", {"metadata": {"finalizers": None}}, kind="ResourceClaim"))
    assert server.get("ResourceClaim", "team", "p") is None


def test_an_eviction_deletes_and_a_dry_run_does_not() -> None:
    server = ApiServer(pod())
    options = {"dryRun": ["All"], **delete_options("u")}
    assert server.send(write("create", {"deleteOptions": options}, "eviction")).status == 201
    assert server.send(write("delete", options)).status == 200
    server.apply(write("create", made(name="q")), dry_run=True)
    assert [each["metadata"]["name"] for each in server.list("Pod")] == ["p"]
    assert conflicts(
        server.send(write("create", {"deleteOptions": delete_options("v")}, "eviction"))
    )
    server.send(write("create", {"deleteOptions": delete_options("u")}, "eviction"))
    assert server.list("Pod") == []


def test_dependents_go_after_their_last_owner() -> None:
    owners = [{"uid": "u"}, {"uid": "v"}]
    group = made("PodGroup", metadata={"ownerReferences": owners})
    own = made("ConfigMap", metadata={"uid": "m", "ownerReferences": [{"uid": "v"}]})
    server = ApiServer(pod(), made("Job", metadata={"uid": "v"}), group, own)
    server.remove("Job", "team", "p")
    server.collect_garbage()
    assert [each["kind"] for each in server.all()] == ["Pod", "PodGroup"]
    server.remove("Pod", "team", "p")
    server.collect_garbage()
    assert [*server.all()] == []


# ---- watches -------------------------------------------------------------------------------------


def test_a_watch_goes_on_at_its_version_until_that_is_compacted() -> None:
    server = ApiServer(pod())
    since = server.version
    server.put(pod(labels={"a": "b"}), made("Job"))
    server.remove("Pod", "team", "p")
    server.put(made("Job"), pod())
    events = server.watch("Pod", since)
    assert [each.type for each in events] == ["MODIFIED", "DELETED", "ADDED"]
    versions = [each.version for each in events]
    assert versions == sorted(versions)
    server.compact()
    assert not server.watch("Pod")
    with pytest.raises(ApiError, match="too old resource version") as error:
        server.watch("Pod", since)
    assert error.value.code == 410


def test_an_object_with_another_uid_is_another_object() -> None:
    server = ApiServer(pod())
    events = server.watch("Pod")
    server.put(pod(uid="v"))
    assert [each.type for each in events] == ["DELETED", "ADDED"]


def test_events_caused_by_an_event_follow_it_at_each_watch() -> None:
    server = ApiServer(pod())
    runs_pods(server)
    events = server.watch("Pod")  # after the kubelets
    server.send(binding())
    server.send(write("delete"))
    phases = [(each.type, each.item["status"]["phase"]) for each in events]
    assert phases == [
        ("MODIFIED", "Pending"),
        ("MODIFIED", "Running"),
        ("MODIFIED", "Running"),
        ("DELETED", "Running"),
    ]
    assert [each.version for each in events] == [2, 3, 4, 5]


def test_reads_give_copies_in_the_order_of_names() -> None:
    server = ApiServer(*(made(name=name, metadata={"labels": {"is": name}}) for name in "cab"))
    found = server.find(Read("Pod", "team"))
    assert [each["metadata"]["name"] for each in found] == ["a", "b", "c"]
    found[0]["spec"] = "changed"
    assert "spec" not in server.find(Read("Pod", "team", "a"))
    assert len(server.find(Read("Pod", "team", selector="is=a"))) == 1
    assert len(server.find(Read("Pod", "team", selector="is!=a"))) == 2
    assert len(server.list("Pod", fields="metadata.name=b")) == 1
    assert server.find(Read("Pod", "other")) == []
    assert server.find(Read("Pod", "team", "x")) is None


# ---- faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize("applied", [False, True])
def test_a_lost_answer(applied: bool) -> None:
    server = ApiServer(pod())
    server.fault = lambda each: Fault(unanswered(each), applied=applied)
    assert server.send(binding()).result is Result.LOST
    assert ("nodeName" in of(server)["spec"]) == applied
    assert server.send(write("delete")).result is Result.FAILED, "the client has repeated it"


def test_delays_pass_before_a_write_is_applied_and_before_it_is_answered() -> None:
    server = ApiServer(pod())
    server.fault = lambda _: Fault(before=1.0, after=2.0)
    answers: list[Outcome] = []
    server.post(write("delete"), answers.append)
    server.clock.run(0.9)
    assert (len(server.list("Pod")), answers) == (1, [])
    server.clock.run(2.0)
    assert (len(server.list("Pod")), answers) == (0, [])
    server.clock.run(0.2)
    assert [each.result for each in answers] == [Result.DONE]


def test_a_refusal_is_not_applied() -> None:
    server = ApiServer(pod())
    refused = Outcome(Result.REFUSED, 403, "Forbidden", "no")
    server.fault = lambda _: Fault(refused)
    assert server.send(write("delete")) is refused
    assert len(server.list("Pod")) == len(server.writes) == 1
