"""The comparison of replays: the checks of test_replays can fail. No cluster is needed."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from recordings import Recording, recordings
from replay_tables import DIRECT, RULES, unexplained, why_not
from testcluster.cleaned import Names, cleaned_state
from testcluster.compared import differences, end_of, interchangeable
from testcluster.replays import Script

BY_NAME = {each.name: each for each in recordings()}
State = dict[str, Any]


def differences_after(name: str, change: Callable[[State], None]) -> list[str]:
    """The differences after a change of a recording's end, without the allowed ones of all
    recordings."""
    content = BY_NAME[name].content
    kais = end_of(content)
    ours = copy.deepcopy(kais)
    change(ours)
    found = differences(ours, kais, interchangeable(content))
    return [str(each) for each in unexplained(name, found, RULES)[0]]


def named(state: State, kind: str, name: str) -> Any:
    [found] = [each for each in state[kind] if each["metadata"]["name"] == name]
    return found


@pytest.mark.parametrize("recording", recordings(), ids=lambda each: each.name)
def test_an_end_state_has_no_difference_to_itself(recording: Recording) -> None:
    kais = end_of(recording.content)
    assert differences(kais, kais, interchangeable(recording.content)) == []


def test_missing_and_additional_fields_differ() -> None:
    def change(state: State) -> None:
        state["bindrequests"].clear()
        pod = named(state, "pods", "train")
        pod["metadata"]["labels"]["more"] = "yes"
        conditions = pod["status"]["conditions"]
        conditions[:] = [each for each in conditions if each["type"] != "PodScheduled"]

    assert differences_after("02-gpu-pod", change) == [
        "BindRequest/train is missing",
        "Pod/train: condition PodScheduled is missing, and in KAI True  ''",
        'Pod/train: label more is "yes", and not in KAI',
    ]


def test_the_kind_of_an_event_matters_and_its_count_does_not() -> None:
    def change(state: State) -> None:
        for each in state["events"]:
            each["count"] = 1
        state["events"] = [each for each in state["events"] if each["reason"] != "Bound"]

    [message] = differences_after("28-cordon", change)
    assert message.startswith("Pod/waits: event Normal Bound of binder is missing, and in KAI")


def test_fewer_event_messages_are_accepted_and_other_messages_are_not() -> None:
    def fewer(state: State) -> None:
        of_group = [each for each in state["events"] if each["reason"] == "NotReady"]
        state["events"].remove(of_group[0])

    def other(state: State) -> None:
        for each in state["events"]:
            if each["reason"] == "NotReady":
                each["message"] = "not now"

    assert differences_after("11-gang-fits", fewer) == []
    [message] = differences_after("11-gang-fits", other)
    assert message.startswith(
        "PodGroup/gang: text of event Normal NotReady of kai-scheduler is 'not now', and in KAI"
    )


def test_pods_that_differ_only_in_names_are_compared_completely() -> None:
    def on_another_node(state: State) -> None:
        named(state, "bindrequests", "w-1")["spec"]["selectedNode"] = "g-1"

    name = "12-gang-does-not-fit"
    assert interchangeable(BY_NAME[name].content) == [["w-0", "w-1", "w-2", "w-3"]]
    assert differences_after(name, on_another_node) == [
        'BindRequest/w-1: spec.selectedNode is "g-1", and in KAI "g-2"'
    ]


def test_pods_that_share_different_gpus_differ() -> None:
    def change(state: State) -> None:
        text = state["pods"][1]["metadata"]["labels"]
        text["runai-gpu-group"] = "<uuid-9>"

    [message] = differences_after("06-fractions-on-one-gpu", change)
    assert message.startswith("GPUs: sharing is")


def test_a_pod_that_was_wrongly_marked_as_unschedulable_differs() -> None:
    def change(state: State) -> None:
        state["marked"].append("nm-0")

    [message] = differences_after("44-other-limits", change)
    assert message == "Pod/nm-0: a former condition PodScheduled=False is seen, and not in KAI"


def test_objects_get_the_placeholders_of_the_recordings() -> None:
    names = Names()
    uid = "0a1b2c3d-0000-4000-8000-000000000001"
    metadata = {
        **{"name": "j-abc12", "generateName": "j-", "namespace": "ns", "uid": uid},
        **{"resourceVersion": "7", "annotations": {"at": "2026-11-24T15:00:00Z", "own": uid}},
    }
    pod = {"kind": "Pod", "metadata": metadata, "spec": {"dnsPolicy": "ClusterFirst"}}
    pod["status"] = {"phase": "Running", "podIP": "10.0.0.1"}
    names.know(pod)
    [cleaned] = cleaned_state({"pods": [pod]}, names)["pods"]
    assert cleaned == {
        "kind": "Pod",
        "metadata": {
            **{"name": "j-<r1>", "generateName": "j-", "namespace": "ns"},
            "annotations": {"at": "<time>", "own": "<uid:Pod/j-<r1>>"},
        },
        "status": {"phase": "Running"},
    }


def test_recordings_that_need_missing_features_have_a_reason() -> None:
    reasons = {each.name: why_not(each.content, "bind-requests") for each in recordings()}
    assert reasons["34-invalid-objects"] == "admission is not built"
    assert reasons["02-gpu-pod"] == ""
    assert sum(not each for each in reasons.values()) > 50


def test_scripts_have_the_needs_of_a_replay() -> None:
    needs = {each.name: Script(each.content) for each in recordings()}
    assert needs["25-bind-failure-node-gone"].needs_a_binder_apart
    assert needs["11-gang-fits"].binder_is_away
    assert needs["22-min-runtime"].keeps_time
    assert not needs["02-gpu-pod"].needs_a_binder_apart
    assert needs["31-reservation-never-answers"].silent() == ({"a10"}, {})
    [queue, _] = needs["02-gpu-pod"].setup()[:2]
    assert (queue["kind"], queue["metadata"]["name"]) == ("Queue", "dept")


@pytest.mark.parametrize("name", ["02-gpu-pod", "06-fractions-on-one-gpu", "29-sixteen-halves"])
def test_without_bind_requests_nothing_else_differs(name: str) -> None:
    content = BY_NAME[name].content
    kais = end_of(content)
    found = differences({**kais, "bindrequests": []}, kais, interchangeable(content))
    assert found != []
    assert unexplained(name, found, DIRECT)[0] == []
