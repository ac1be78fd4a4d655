"""kai explain --live, as a user with read rights only: one pod each in a few situations."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testcluster import Cluster, Kai, Kubectl, node, pod, queue, running, until
from testcluster import namespace as running_namespace

from kai.api import keys


@pytest.fixture
def reader(cluster: Cluster) -> Iterator[Path]:
    with running.reader(cluster, "list", more=["events"]) as kubeconfig:
        yield kubeconfig


def explain(reader: Path, name: str, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "kai", "explain", "--kubeconfig", str(reader), name]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout or done.stderr


def explained(reader: Path, name: str) -> dict[str, Any]:
    status, output = explain(reader, name, "--json")
    assert status == 0, output
    return dict(json.loads(output))


def unschedulable(kubectl: Kubectl, name: str) -> set[str]:
    """Kinds of objects with this name, or a name derived from it, that have the event."""
    return {
        each["involvedObject"]["kind"]
        for each in kubectl.all("events").values()
        if each["reason"] == "Unschedulable" and name in each["involvedObject"]["name"]
    }


def test_one_pod_in_each_situation(
    cluster: Cluster, namespace: str, kubectl: Kubectl, reader: Path, tmp_path: Path
) -> None:
    limited = queue("limited", "dept", gpu=1)
    limited["spec"]["resources"]["gpu"]["limit"] = 1
    kubectl.apply(queue("dept"), limited, node("n1", 4))
    kubectl.apply(
        pod("first", namespace, queue="limited"),
        pod("lost", namespace, queue="limitd"),
        pod("other", namespace, scheduler="my-scheduler"),
    )
    with Kai(cluster, namespace, tmp_path / "kai.log"):
        until("first is bound", lambda: "first" in kubectl.bound())
        kubectl.apply(pod("second", namespace, queue="limited"))
        until("second waits", lambda: kubectl.condition("second", "PodScheduled"))
        until("lost waits", lambda: kubectl.condition("lost", "PodScheduled"))
        until("both have events", lambda: unschedulable(kubectl, "second") == {"Pod", "PodGroup"})

    second = explained(reader, f"{namespace}/second")
    assert second["waits_for"] == "limit"
    assert second["layers"]["pod"]["PodScheduled"].startswith("False (Unschedulable): ")
    [own, parent] = second["layers"]["queues"]
    assert (own["queue"], own["limit"], own["in_use"]) == ("limited", "1", "1")
    assert (parent["queue"], parent["note"]) == ("dept", "parent of limited")
    reasons = {(each["about"], each["reason"]) for each in second["layers"]["events"]}
    assert {("Pod", "Unschedulable"), ("PodGroup", "Unschedulable")} <= reasons
    assert second["layers"]["pod_group"]["condition"].startswith("UnschedulableOnNodePool (")

    lost = explained(reader, f"{namespace}/lost")
    assert lost["waits_for"] == "queue"
    assert "the queue limitd, which does not exist" in lost["explanation"]

    first = explained(reader, f"{namespace}/first")
    assert (first["waits_for"], first["layers"]["node"]["ready"][:4]) == ("nothing", "True")
    assert first["layers"]["pod"]["node"] == "n1"

    other = explained(reader, f"{namespace}/other")
    assert other["waits_for"] == "other_scheduler"
    assert "'my-scheduler'" in other["explanation"]

    status, output = explain(reader, f"{namespace}/secnd")
    assert (status, output) == (
        1,
        f"kai: there is no pod '{namespace}/secnd'; did you mean '{namespace}/second'?\n",
    )
    _, page = explain(reader, f"{namespace}/second")
    assert max(map(len, page.splitlines())) <= 80
    cluster.kubectl("delete", "queue/limited", "queue/dept")


def test_a_bind_request_while_another_scheduler_runs(
    cluster: Cluster, namespace: str, kubectl: Kubectl, reader: Path, tmp_path: Path
) -> None:
    """A scheduler creates BindRequests, and no binder carries them out."""
    kubectl.apply(queue("dept"), queue("team", "dept"), node("n1", 1))
    kubectl.apply(pod("waits", namespace, queue="team"))
    roles = ("scheduler", "pod-grouper")
    with Kai(
        *(cluster, namespace, tmp_path / "kai.log", "--binding", "bind-requests"), roles=roles
    ):
        until("it has a BindRequest", lambda: kubectl.all("bindrequests.scheduling.run.ai"))
        found = explained(reader, f"{namespace}/waits")
    assert found["waits_for"] == "binder"
    assert found["layers"]["bind_request"]["node"] == "n1"
    assert found["layers"]["bind_request"]["phase"].startswith("Pending")
    assert "found" not in found["layers"]["pod_group"]


@pytest.mark.parametrize("binding", ["direct", "bind-requests"])
def test_a_reservation_pod_that_does_not_report(
    cluster: Cluster, namespace: str, kubectl: Kubectl, reader: Path, tmp_path: Path, binding: str
) -> None:
    """The binding of a pod with half a GPU: under way, failed, and tried again. No program answers
    in reservation pods here."""
    place = {"name": keys.RESERVATION, "namespace": keys.RESERVATION}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place}
    kubectl.apply(running_namespace(keys.RESERVATION), account)
    kubectl.apply(node("n1", 1), pod("half", namespace, 0, annotations={"gpu-fraction": "0.5"}))
    options = ("--binding", binding, "--resource-reservation-allocation-timeout", "8")
    with Kai(cluster, namespace, tmp_path / "kai.log", *options):
        until("the wait is shown", lambda: "Binding" in kubectl.events("half"))
        during = explained(reader, f"{namespace}/half")
        until("it fails", lambda: "BindingError" in kubectl.events("half"))

        # A try begins a second after the first failure; later ones leave more time to look.
        def shown(waits_for: str, text: str) -> dict[str, Any] | None:
            found = explained(reader, f"{namespace}/half")
            is_shown = found["waits_for"] == waits_for and text in found["explanation"]
            return found if is_shown else None

        after = until("the failure is shown", lambda: shown("binding", " failed "), 60)
        again = until("the next try", lambda: shown("gpu_reservation", " failed "), 60)
    assert during["waits_for"] == "gpu_reservation", during
    assert re.match(
        r"Its binding to n1 has been under way for \d s: it waits for the reservation pod"
        r" kai-resource-reservation/gpu-reservation-\w+ to report its GPU\. Look at it: `kubectl"
        r" describe pod gpu-reservation-\w+ -n kai-resource-reservation`\.$",
        during["explanation"],
    )
    assert during["layers"]["gpu_reservations"]
    assert after["waits_for"] == "binding", after
    assert re.match(
        r"Its binding to n1 failed \d+ s ago: the reservation pod"
        r" kai-resource-reservation/gpu-reservation-\w+ did not report its GPU\. Look at it: .*"
        r" It is tried again\.$",
        after["explanation"],
    )
    assert " has been under way for " in again["explanation"]
    assert " The try before failed " in again["explanation"]
    _, page = explain(reader, f"{namespace}/half")
    assert page.splitlines()[2].startswith("Its binding to n1 ")
    assert "\\n" not in page
    cluster.kubectl("delete", "pods", "--all", "-n", keys.RESERVATION, "--grace-period=0")
