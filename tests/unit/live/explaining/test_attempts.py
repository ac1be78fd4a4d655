"""What `kai explain` answers about a binding that is under way, failed, or is tried again."""

from dataclasses import replace
from typing import Any

import pytest

from kai.api.times import SECOND_NS, to_ns, to_text
from kai.controllers.pods.decisions import Binding
from kai.controllers.progress import failed_in, told_in, under_way
from kai.controllers.verdicts import binder_event, not_bound
from kai.engine.values import GroupPlan, Reason
from kai.live.explaining.planned import QueueFacts, Verdict
from kai.live.explaining.pod_facts import Object, PodFacts
from kai.live.explaining.pod_layers import report_of, tables_of
from kai.live.explaining.waits_for import WaitsFor, waits_for

NOW = to_ns("2026-01-01T01:00:00Z")
RESERVATION = "kai-resource-reservation/gpu-reservation-5f0e"
SILENT = (
    "failed to reserve GPUs for pod <team/a> in gpu group <g>: failed waiting for GPU reservation"
    f" pod to allocate: {RESERVATION}"
)
CALL = 'failed calling webhook "w.example.com": failed to call webhook: Post "https://w:443/": '
UNCALLED = f"Internal error occurred: {CALL}dial tcp 10.96.7.1:443: connect: connection refused"
QUOTA = 'pods "r" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
VOLUMES = (
    "plugin volumebinding failed in PreBind: K8sPlugin VolumeBinding failed Bind for pod: team/a"
)

FACTS = PodFacts(
    *("team/a", NOW, "kai-scheduler"),
    {
        "metadata": {"namespace": "team", "name": "a", "uid": "u"},
        "spec": {"schedulerName": "kai-scheduler"},
        "status": {"phase": "Pending"},
    },
    group_name="team/g",
    group={"spec": {"queue": "q"}},
    queues=(QueueFacts("q", True),),
    verdict=Verdict("bind", "gpu-2", GroupPlan("team/g", "q", "scheduled")),
)


def stamp(seconds_ago: float) -> str:
    return to_text(NOW - int(seconds_ago * SECOND_NS))


def event(seconds_ago: float, reason: str, message: str, kind: str = "Pod") -> Object:
    about = {"kind": kind, "name": "a", "uid": "u"}
    return {
        **{"involvedObject": about, "reason": reason, "message": message},
        "lastTimestamp": stamp(seconds_ago),
    }


def began(seconds_ago: float, waits_for: str, node: str = "gpu-2") -> Object:
    made = under_way("team/a", "u", node, waits_for)
    return event(seconds_ago, made.reason, made.message)


def failed(seconds_ago: float, why: str, *, node: str = "gpu-2", first: float = 0) -> Any:
    """The pod after a failed binding, and its events: as kai and KAI write them. `first`: the
    conditions are older, from an equal failure."""
    bound = not_bound("team/a", node, why)
    text = f"Failed to bind pod team/a to node {node}. {why}"
    at = {"status": "False", "reason": "BindingError", "lastTransitionTime": stamp(first or 1000)}
    conditions = [
        {**at, "type": "PodScheduled", "message": text},
        {**at, "type": "PodBound", "message": bound.message},
    ]
    if not first:
        conditions[1]["lastTransitionTime"] = stamp(seconds_ago)
    pod = {**FACTS.pod, "status": {"phase": "Pending", "conditions": conditions}}
    told = binder_event("team/a", "u", bound)
    return pod, (
        event(seconds_ago, "FailedBinding", text),
        event(seconds_ago, told.reason, told.message),
    )


def answer(**changes: Any) -> WaitsFor:
    return waits_for(replace(FACTS, **changes))


def request(phase: str = "", reason: str = "", node: str = "gpu-2") -> Object:
    status = {"phase": phase, "reason": reason} if phase else {}
    return {"metadata": {"name": "a"}, "spec": {"selectedNode": node}, "status": status}


FAILURES = {
    "a reservation pod that did not report": (
        SILENT,
        f"the reservation pod {RESERVATION} did not report its GPU. Look at it: `kubectl get"
        " pods,events -n kai-resource-reservation`.",
    ),
    "a reservation pod that failed": (
        "failed to reserve GPUs for pod <team/a> in gpu group <g>: GPU reservation pod"
        f" {RESERVATION} has failed on node gpu-2",
        f"the reservation pod {RESERVATION} failed on node gpu-2. Look at it:",
    ),
    "a reservation pod over a quota": (
        f"failed to reserve GPUs for pod <team/a> in gpu group <g>: {QUOTA}",
        "its GPU reservation was refused, because the resource quota q refuses it: exceeded quota:"
        " q, requested: pods=1, used: pods=1, limited: pods=1. Raise the quota:",
    ),
    "a cluster that grows": (
        "failed to reserve GPUs for pod <team/a> in gpu group <g>: cluster is scaling up, could not"
        " create reservation pod",
        "no GPU is reserved while a pod that makes the cluster grow waits for a node. Nothing needs"
        " to be done.",
    ),
    "a ConfigMap without a name": (
        "plugin gpusharing failed in PreBind: failed to create capabilities configmap: failed to"
        " get capabilities configmap name: no annotation",
        "it has no annotation with the name of its ConfigMap. The webhook that adds it did not run"
        " when the pod was created: create the pod again while KAI's program `admission` runs.",
    ),
    "a claim that another pod got": (
        "plugin dynamicresources failed in PreBind: resource claim team/c has other devices now",
        "its resource claims are not ready: resource claim team/c has other devices now. Look at"
        " them: `kubectl describe resourceclaims`.",
    ),
    "a claim that a policy refuses": (
        'plugin dynamicresources failed in PreBind: resourceclaims.resource.k8s.io "c" is'
        " forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
        "a write to its resource claim was refused, because the admission policy p refuses it: no."
        " Change the policy p,",
    ),
    "volumes that were not bound in time": (
        f"{VOLUMES} and node gpu-2. error: binding volumes: context deadline exceeded",
        "its volumes were not bound in time. Look at its claims: `kubectl describe pvc`.",
    ),
    "a volume claim that is gone": (
        'plugin volumebinding failed in PreBind: K8sPlugin VolumeBinding failed PreFilter for pod:'
        ' team/a. error: persistentvolumeclaim "c" not found',
        'its volumes are not ready: persistentvolumeclaim "c" not found. Look at its claims:',
    ),
    "a group that a webhook does not answer for": (
        f"its pod group cannot be created: {UNCALLED}",
        'the creation of its pod group was refused, because the webhook "w.example.com" cannot be'
        " called: dial tcp 10.96.7.1:443: connect: connection refused. Start the program of the"
        " webhook again, or delete its registration:",
    ),
    "a binding that a webhook refuses": (
        'admission webhook "w" denied the request: no GPUs on Fridays',
        'the binding itself was refused, because the webhook "w" refuses it: no GPUs on Fridays.'
        ' Change what the webhook "w" accepts:',
    ),
    "a missing right": (
        'pods "a" is forbidden: User "kai" cannot create resource "pods/binding" in API group ""',
        "the account kai may not create pods/binding. Grant the right;",
    ),
    "any other reason": ("the node has left", "the node has left. It is tried again."),
}  # fmt: skip


@pytest.mark.parametrize("by", ["direct", "bind-requests"])
@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_binding_is_named_with_its_time_and_what_to_look_at(name: str, by: str) -> None:
    why, expected = FAILURES[name]
    pod, events = failed(36, why)
    requests = request("Failed", why) if by == "bind-requests" else None
    found = answer(pod=pod, events=events, request=requests)
    assert found.what == "binding"
    assert found.sentence.startswith(f"Its binding to gpu-2 failed 36 s ago: {expected}")
    assert found.sentence.endswith("It is tried again.")


@pytest.mark.parametrize("by", ["direct", "bind-requests"])
@pytest.mark.parametrize(
    ("waits", "what", "look"),
    [
        (
            f"the reservation pod {RESERVATION} to report its GPU",
            "gpu_reservation",
            " Look at it: `kubectl describe pod gpu-reservation-5f0e -n kai-resource-reservation`.",
        ),
        (f"the creation of the reservation pod {RESERVATION}", "gpu_reservation", ""),
        (
            "a volume for the claim team/data",
            *("binding", " Look at it: `kubectl describe pvc data -n team`."),
        ),
        (
            "devices of the resource claim team/c, team/d",
            *("binding", " Look at it: `kubectl describe resourceclaim c -n team`."),
        ),
        ("an answer of the API server: no answer in time", "binding", ""),
    ],
)
def test_a_binding_under_way_says_what_it_waits_for(
    waits: str, what: str, look: str, by: str
) -> None:
    requests = request() if by == "bind-requests" else None
    found = answer(events=(began(12, waits),), request=requests)
    sentence = f"Its binding to gpu-2 has been under way for 12 s: it waits for {waits}.{look}"
    assert (found.what, found.sentence) == (what, sentence)


def test_a_try_after_a_failure_names_both() -> None:
    pod, events = failed(50, SILENT)
    found = answer(pod=pod, events=(*events, began(9, "a volume for the claim team/data", "gpu-3")))
    assert found.sentence.startswith("Its binding to gpu-3 has been under way for 9 s: ")
    assert found.sentence.endswith(
        f" The try before failed 50 s ago: the reservation pod {RESERVATION} did not report its"
        " GPU."
    )


def test_a_try_after_a_refusal_has_the_fix_of_the_rule() -> None:
    refused = 'pods "r" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0'
    pod, events = failed(2, f"{refused}, limited: pods=0")
    waits = f"the reservation pod {RESERVATION} to report its GPU"
    found = answer(pod=pod, events=(*events, began(1, waits)))
    assert "Look at it: `kubectl describe pod" in found.sentence
    assert ". Raise the quota: kubectl get resourcequota small" in found.sentence


def test_a_failure_ends_the_binding_that_was_under_way() -> None:
    pod, events = failed(3, SILENT)
    found = answer(
        pod=pod, events=(began(43, "the reservation pod x/y to report its GPU"), *events)
    )
    assert found.sentence.startswith("Its binding to gpu-2 failed 3 s ago: ")


def test_the_last_of_several_equal_failures_counts() -> None:
    """The conditions keep the time of the first one."""
    pod, events = failed(20, SILENT, first=300)
    assert "failed 20 s ago" in answer(pod=pod, events=events).sentence


def test_a_failure_without_the_right_to_read_events() -> None:
    pod, _ = failed(36, SILENT)
    assert "failed 36 s ago: the reservation pod" in answer(pod=pod, events=None).sentence


def test_a_failure_is_known_before_the_condition_is_rewritten() -> None:
    """The condition of a pod that waited follows at its pace."""
    _, events = failed(2, SILENT)
    assert "failed 2 s ago" in answer(events=events).sentence


def test_a_failure_is_over_when_the_pod_waits_for_something_else() -> None:
    _, events = failed(200, SILENT)
    found = answer(events=events, verdict=Verdict("pipeline", "gpu-1"))
    assert found.what == "leaving_pods"


def test_a_binding_that_began_long_ago_has_ended_with_its_process() -> None:
    assert answer(events=(began(700, "a volume"),)).what == "scheduler"


def test_a_bound_pod_has_no_attempts() -> None:
    pod, events = failed(2, SILENT)
    pod = {**pod, "spec": {"nodeName": "gpu-2"}}
    found = answer(pod=pod, events=events, node={"metadata": {"name": "gpu-2"}})
    assert found.what == "kubelet"


def test_a_failed_bind_request_of_a_binder_without_events() -> None:
    found = answer(request=request("Failed", "node is gone"), events=())
    assert found.sentence == ("Its binding to gpu-2 failed: node is gone. It is tried again.")


def test_a_text_of_conditions_and_events_is_on_the_page_once() -> None:
    pod, events = failed(36, SILENT)
    facts = replace(FACTS, pod=pod, events=events, request=request("Failed", SILENT))
    cells = [row[-1] for table in tables_of(report_of(facts).layers) for row in table.rows]
    assert sum(SILENT in cell for cell in cells) == 1
    assert sum("as above" in cell for cell in cells) == 4


def test_a_refused_binding_is_explained_once() -> None:
    """Its failure and the event of the refused write have the same text."""
    pod, events = failed(5, UNCALLED)
    facts = replace(FACTS, pod=pod, events=(refused(6, "create Pod/binding team/a"), *events))
    assert waits_for(facts).sentence.count("cannot be called") == 1
    cells = [row[-1] for table in tables_of(report_of(facts).layers) for row in table.rows]
    assert sum(UNCALLED in cell for cell in cells) == 1


def test_a_text_of_several_lines_has_several_lines() -> None:
    conditions = [{"type": "PodScheduled", "status": "False", "message": "one\n  two\n\nthree"}]
    pod = {**FACTS.pod, "status": {"phase": "Pending", "conditions": conditions}}
    [first, *_] = tables_of(report_of(replace(FACTS, pod=pod)).layers)
    rows = [row for row in first.rows if row[0] in ("PodScheduled", "")]
    assert rows == [("PodScheduled", "False: one"), ("", "  two"), ("", "three")]


# ---- refused writes ------------------------------------------------------------------------------


def refused(seconds_ago: float, what: str, why: str = UNCALLED, kind: str = "Pod") -> Object:
    return event(seconds_ago, "WriteRefused", f"{what} is refused: {why}", kind)


def test_a_refused_write_without_which_a_pod_is_not_bound() -> None:
    found = answer(group=None, events=(refused(100, "create PodGroup team/g"),))
    assert found.what == "refused"
    assert found.sentence == (
        "It waits for a write of the scheduler. create PodGroup team/g is refused: the webhook"
        ' "w.example.com" cannot be called: dial tcp 10.96.7.1:443: connect: connection refused.'
        " Start the program of the webhook again, or delete its registration: kubectl get"
        " validatingwebhookconfigurations,mutatingwebhookconfigurations. The write is tried again."
    )


@pytest.mark.parametrize(
    ("events", "group"),
    [
        ((refused(400, "create PodGroup team/g"),), None),
        ((refused(100, "create PodGroup team/g"),), {"spec": {"queue": "q"}}),
        (
            (
                refused(100, "create PodGroup team/g"),
                event(5, "WriteAccepted", "create PodGroup team/g is accepted"),
            ),
            None,
        ),
        ((refused(5, "create PodGroup team/g", "etcd is away"),), None),
    ],
)
def test_a_refusal_that_is_over(events: tuple[Object, ...], group: Object | None) -> None:
    """Old, the group exists, the write was accepted, or the text is none of ours."""
    found = answer(events=events, group=group)
    assert found.what == "scheduler"
    assert "Besides" not in found.sentence


def test_a_refusal_that_does_not_hold_the_pod_up_is_mentioned() -> None:
    status = refused(9, "patch Pod/status team/a", QUOTA)
    found = answer(events=(status,), verdict=Verdict("pipeline", "n1"))
    assert found.what == "leaving_pods"
    assert " Besides, patch Pod/status team/a is refused: the resource quota q" in found.sentence


@pytest.mark.parametrize(
    ("why", "fix"),
    [
        (
            'admission webhook "w" denied the request: keep it',
            'Change what the webhook "w" accepts',
        ),
        ("Cannot evict pod as it would violate the pod's disruption budget.", "It tries again"),
    ],
)
def test_a_refused_eviction_is_named_while_its_group_waits_to_try_again(why: str, fix: str) -> None:
    reason = Reason("preemption_delay", "", None, {"until": "01:00:20"})
    group = GroupPlan("team/g", "q", "unschedulable", reasons=(reason,))
    told = event(10, "EvictionRefused", f"Pod team/b was not evicted: {why}", "PodGroup")
    found = answer(verdict=Verdict(group=group), events=(told,))
    assert found.what == "time"
    assert found.sentence.startswith(f"Pod team/b was not evicted: {why.rstrip('.')}. {fix}")
    assert found.sentence.endswith("It tries again after 01:00:20.")
    assert "only after 01:00:20" in answer(verdict=Verdict(group=group)).sentence


# ---- texts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("node", ["n1", "gpu-2.cluster.local", "10.0.0.1"])
def test_texts_are_read_as_they_are_written(node: str) -> None:
    binding = Binding("team/a", "u", node, 1, "g")
    told = told_in(under_way(*binding.key, node, "its volumes. All of them: x").message)
    assert told == (node, "its volumes. All of them: x")
    for text in (
        not_bound("team/a", node, "no. x: y").message,
        f"Failed to bind pod team/a to node {node}. no. x: y",
    ):
        assert failed_in(text) == (node, "no. x: y")
    assert failed_in("Pod bound successfully to node n1") is None


# ---- later decisions, and what this user may see -------------------------------------------------


def waits_again(pod: Any) -> Any:
    """A later decision found no place: only PodScheduled is written."""
    scheduled, bound = pod["status"]["conditions"]
    found = {**scheduled, "reason": "Unschedulable", "message": "no nodes"}
    return {**pod, "status": {"phase": "Pending", "conditions": [found, bound]}}


def test_a_failure_is_over_when_a_later_decision_found_no_place() -> None:
    """PodBound keeps the failure for good; the answer was "it is tried again" for hours."""
    pod, events = failed(7200, SILENT)
    verdict = Verdict(group=GroupPlan("team/g", "q", "unschedulable"), why=("It waits.", "No GPU."))
    found = answer(pod=waits_again(pod), events=events, verdict=verdict)
    assert found.sentence == "It waits: No GPU."


def test_an_old_failure_is_not_the_answer_once_there_is_room() -> None:
    pod, events = failed(7200, SILENT)
    assert answer(pod=waits_again(pod), events=events).what == "scheduler"
    pod, events = failed(20, SILENT)
    assert answer(pod=waits_again(pod), events=events).what == "binding"


def test_a_binding_that_only_events_show_is_possible_without_them() -> None:
    told = answer(events=None).sentence
    assert "Or its binding is under way: events show that, and this user may not list" in told
    assert "under way" not in answer(events=()).sentence


def test_an_answer_has_no_line_breaks() -> None:
    for line_break in ("\n", "\\n"):
        pod, events = failed(3, f"one{line_break}  two")
        found = answer(pod=pod, events=events)
        assert found.sentence == (
            "Its binding to gpu-2 failed 3 s ago: one two. It is tried again."
        )
        facts = replace(FACTS, pod=pod, events=events)
        cells = [row[-1] for table in tables_of(report_of(facts).layers) for row in table.rows]
        assert not any("\n" in cell or "\\n" in cell for cell in cells)


def test_a_config_map_that_could_not_be_created() -> None:
    why = "plugin gpusharing failed in PreBind: failed to create capabilities configmap: conflict"
    pod, events = failed(3, why)
    assert "a ConfigMap with its devices could not be created: conflict. Look at the" in (
        answer(pod=pod, events=events).sentence
    )
