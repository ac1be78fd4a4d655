"""Admission rules refuse what `kai run` writes: the log has a fix, waiting pods an event, and
`kai explain` the answer. The texts are those of a real API server.

One process, and a namespace for each rule. When the rules are gone, all pods are bound.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from testcluster import (
    Cluster,
    Kai,
    Kubectl,
    Object,
    free_ports,
    install,
    namespace,
    node,
    pod,
    running,
    until,
)
from testcluster.services import registration, webhook

from kai.api import keys

REGISTRATION = "admissionregistration.k8s.io/v1"
GROUPS = "podgroups.scheduling.run.ai"


@dataclass
class Case:
    """A rule in its own namespace. `says`: what the explanation and the log contain, `fix`: the
    advice in both, `write`: the refused write. `waits_for`: the explanation's word."""

    rules: list[Object]
    write: str
    says: str
    fix: str
    waits_for: str = "binding"
    gpus: int = 1
    annotations: dict[str, str] = field(default_factory=dict)


def policy(name: str, place: str, resource: str, operation: str, group: str = "") -> list[Object]:
    """An admission policy for one namespace and one user: kwok writes, too."""
    rule = {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": [operation],
        "resources": [resource],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [
            {
                "expression": "request.userInfo.username != 'admin'"
                f" || request.namespace != '{place}'",
                "message": "not on Fridays",
            }
        ],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    metadata = {"metadata": {"name": name}}
    kind = {"apiVersion": REGISTRATION, "kind": "ValidatingAdmissionPolicy"}
    return [
        {**kind, **metadata, "spec": spec},
        {**kind, "kind": f"{kind['kind']}Binding", **metadata, "spec": binding},
    ]


def quota(place: str, **hard: str) -> Object:
    metadata = {"name": "small", "namespace": place}
    spec = {
        "hard": {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    }
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}


def closed(place: str) -> Object:
    """A webhook of pod groups whose program does not run."""
    url = {"url": f"https://127.0.0.1:{free_ports(1)[0]}/"}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": place}}
    hook = webhook(
        *("groups.policies.example.com", url, "podgroups", "scheduling.run.ai", "v2alpha2"),
        namespaceSelector=selector,
    )
    return registration("Validating", "closed", hook)


def cases(place: dict[str, str]) -> dict[str, Case]:
    return {
        "webhook": Case(
            [closed(place["webhook"])],
            "create PodGroup",
            'the webhook "groups.policies.example.com" cannot be called: dial tcp 127.0.0.1:',
            "elete its registration: kubectl get validatingwebhookconfigurations",
        ),
        "policy": Case(
            policy("fridays", place["policy"], "pods/binding", "CREATE"),
            "create Pod/binding",
            "the admission policy fridays refuses it: not on Fridays",
            "hange the policy fridays",
        ),
        "quota": Case(
            [quota(place["quota"], **{f"count__{GROUPS.replace('.', '_')}": "0"})],
            "create PodGroup",
            "the resource quota small refuses it: ",
            "aise the quota",
        ),
        "status": Case(
            policy("statuses", place["status"], "pods/status", "UPDATE"),
            "patch Pod/status",
            "the admission policy statuses refuses it: not on Fridays",
            "hange the policy statuses",
            waits_for="node",
            gpus=64,
        ),
        "reservation": Case(
            [quota(keys.RESERVATION, pods="0")],
            "create Pod",
            "the resource quota small refuses it: ",
            "aise the quota",
            gpus=0,
            annotations={"gpu-fraction": "0.5"},
        ),
    }


@pytest.fixture
def places(cluster: Cluster) -> Iterator[dict[str, str]]:
    install(cluster)
    names = {
        each: f"{each}-{uuid4().hex[:6]}"
        for each in ("webhook", "policy", "quota", "status", "reservation")
    }
    running.apply(cluster, *(namespace(each) for each in (*names.values(), keys.RESERVATION)))
    account = {"name": keys.RESERVATION, "namespace": keys.RESERVATION}
    running.apply(cluster, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    yield names
    for each in names.values():
        # Before the nodes: pods on a node that is gone stay, and hold its GPUs when it comes back.
        cluster.kubectl("delete", "pods", "--all", "-n", each, "--force", "--grace-period=0")
        cluster.kubectl("delete", "namespace", each, "--wait=false")
    # This namespace stays: tests of other modules make reservation pods there.
    cluster.kubectl("delete", "resourcequotas", "--all", "-n", keys.RESERVATION)
    for kind in ("nodes", "queues"):
        cluster.kubectl("delete", kind, "--all")


def explained(reader: Path, name: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "kai", "explain", "--kubeconfig", str(reader), name, "--json"]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


@pytest.mark.parametrize("binding", ["direct", "bind-requests"])
def test_each_rule_is_named_and_the_pods_are_bound_when_it_is_gone(
    cluster: Cluster, places: dict[str, str], binding: str, tmp_path: Path
) -> None:
    found = cases(places)
    rules = [rule for case in found.values() for rule in case.rules]
    running.apply(cluster, node("n1", 8), *rules)
    kubectl = {name: Kubectl(cluster, place) for name, place in places.items()}
    for place in (places["quota"], keys.RESERVATION):
        until("the quota counts", lambda place=place: is_counted(cluster, place), 60)
    kai = Kai(cluster, places["policy"], tmp_path / "kai.log", "--binding", binding)
    with running.reader(cluster, "list", more=["events"]) as reader:
        try:
            with kai:
                for name, case in found.items():
                    made = pod("a", places[name], case.gpus, annotations=case.annotations)
                    kubectl[name].apply(made)
                for name, case in found.items():
                    check(kai, reader, name, case, kubectl[name])
                remove(cluster, rules)
                rules = []
                for name, case in found.items():
                    if case.gpus <= 8 and name != "reservation":  # its program is not simulated
                        until(f"{name} is bound", lambda name=name: kubectl[name].bound(), 60)
                assert "create PodGroup is accepted again" in kai.log
        finally:
            remove(cluster, rules)
    assert "Traceback" not in kai.log


def test_pods_whose_group_is_refused_leave_the_room_to_others(
    cluster: Cluster, places: dict[str, str], tmp_path: Path
) -> None:
    [small] = cases(places)["quota"].rules
    running.apply(cluster, node("n1", 8), small)
    until("the quota counts", lambda: is_counted(cluster, places["quota"]), 60)
    refused, other = Kubectl(cluster, places["quota"]), Kubectl(cluster, places["policy"])
    with Kai(cluster, places["policy"], tmp_path / "kai.log") as kai:
        refused.apply(pod("a", places["quota"], 8))
        until("its group is refused", lambda: "create PodGroup is refused" in kai.log, 40)
        other.apply(pod("b", places["policy"], 8))
        until("the other pod is bound", other.bound, 20)
        remove(cluster, [small])
        cluster.kubectl("delete", "pod", "b", "-n", places["policy"])
        until("the first pod is bound", refused.bound, 60)
    assert "Traceback" not in kai.log


def test_sharers_without_a_reservation_leave_the_room_to_others(
    cluster: Cluster, places: dict[str, str], tmp_path: Path
) -> None:
    [small] = cases(places)["reservation"].rules
    running.apply(cluster, node("n1", 2), small)
    until("the quota counts", lambda: is_counted(cluster, keys.RESERVATION), 60)
    sharers, other = Kubectl(cluster, places["reservation"]), Kubectl(cluster, places["policy"])
    with Kai(cluster, places["policy"], tmp_path / "kai.log") as kai:
        for name in ("a", "c"):
            share = {"gpu-fraction": "0.8"}
            sharers.apply(pod(name, places["reservation"], 0, annotations=share))
        until("reservations are refused", lambda: "create Pod is refused" in kai.log, 40)
        other.apply(pod("b", places["policy"], 2))
        until("the other pod is bound", other.bound, 40)
    assert "Traceback" not in kai.log


def is_counted(cluster: Cluster, place: str) -> bool:
    """Before that the API server refuses with another message."""
    shown = cluster.kubectl("get", "resourcequota", "small", "-n", place, "-o", "json")
    return bool(json.loads(shown).get("status", {}).get("hard"))


def check(kai: Kai, reader: Path, name: str, case: Case, kubectl: Kubectl) -> None:
    until(f"{name} has an event", lambda: "WriteRefused" in kubectl.events("a"), 40)
    assert kubectl.events("a")["WriteRefused"].startswith(f"{case.write} ")
    says = case.says.replace('"', '\\"')  # as a value in quotes
    lines = [each for each in kai.log.splitlines() if f"{case.write} is refused" in each]
    assert [each for each in lines if says in each], (name, says, lines)
    line = next(each for each in lines if says in each)
    assert " fix=" in line
    assert case.fix in line

    def is_explained() -> bool:
        """The next try may have begun; while it is under way, the last one counts as before."""
        data = explained(reader, f"{kubectl._namespace}/a")
        assert case.says in data["explanation"], data
        assert case.fix in data["explanation"], data
        return bool(data["waits_for"] == case.waits_for) and bool(
            data["explanation"].endswith("tried again.")
        )

    until(f"{name} is explained", is_explained, 40)


def remove(cluster: Cluster, rules: list[Object]) -> None:
    for each in rules:
        metadata = each["metadata"]
        where = ["-n", metadata["namespace"]] if "namespace" in metadata else []
        cluster.kubectl("delete", each["kind"].lower(), metadata["name"], *where)
