"""kai explain --live: one pod, from its phase down to its events."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.cluster import FakeCluster
from fakes.objects import Object, pod, queue, small
from kai.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(cluster: FakeCluster, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> tuple[int, str, str]:
        where = ("--kubeconfig", cluster.kubeconfig)
        status = main([str(argument) for argument in ("explain", *where, *arguments)])
        return (status, *capfd.readouterr())

    return run


@pytest.fixture
def explained(run: Run) -> Callable[[str], dict[str, Any]]:
    """The output of --json for a pod."""

    def explained(name: str) -> dict[str, Any]:
        status, out, err = run(name, "--json")
        assert (status, err) == (0, "")
        found: dict[str, Any] = json.loads(out)
        return found

    return explained


Explained = Callable[[str], dict[str, Any]]


def request(name: str, node: str, **status: Any) -> Object:
    owner = {"kind": "Pod", "name": name, "uid": f"uid-of-{name}"}
    metadata = {"name": name, "namespace": "team", "ownerReferences": [owner]}
    spec = {"podName": name, "selectedNode": node}
    return {"kind": "BindRequest", "metadata": metadata, "spec": spec, "status": status}


def test_a_pod_with_room_waits_for_the_next_cycle(
    cluster: FakeCluster, explained: Explained
) -> None:
    cluster.put(*small())
    found = explained("team/p1")
    assert found["waits_for"] == "scheduler"
    assert found["layers"]["plan"]["decision"] == "bind it to n1"
    assert found["layers"]["pod_group"]["found"] == "not created yet"
    assert cluster.writes == []


def test_advice_is_first_and_the_layers_are_in_order(cluster: FakeCluster, run: Run) -> None:
    cluster.put(*small(), pod("big", gpus=2), pod("huge", gpus=4))
    status, out, err = run("huge")
    assert (status, err) == (0, "")
    titles = [line for line in out.splitlines() if line and not line.startswith(" ")]
    assert (
        titles[1]
        == "No node is large enough: it must request less, or a larger node must be added."
    )
    assert [each.split(" ")[0] for each in titles[2:6]] == ["Pod", "Pod", "Queues,", "The"]
    assert out.count("No node is large enough") == 1
    assert max(map(len, out.splitlines())) <= 80


def test_an_unknown_queue_is_named(cluster: FakeCluster, explained: Explained) -> None:
    cluster.put(*small(), pod("lost", queue="visoin"))
    found = explained("lost")
    assert found["waits_for"] == "queue"
    assert "the queue visoin, which does not exist: create it" in found["explanation"]
    assert found["layers"]["queues"][0]["queue"] == "visoin"


def test_a_queue_without_its_parent(cluster: FakeCluster, explained: Explained) -> None:
    cluster.put(*small(), queue("child", "gone"), pod("lost", queue="child"))
    assert (
        "the queue gone, the parent of child, which does not exist"
        in explained("lost")["explanation"]
    )


def test_a_queue_at_its_limit(cluster: FakeCluster, explained: Explained) -> None:
    limited = queue("small", "top")
    limited["spec"]["resources"]["gpu"]["limit"] = 1
    cluster.put(*small(), limited, pod("two", queue="small", gpus=2))
    found = explained("two")
    assert found["waits_for"] == "limit"
    assert found["layers"]["queues"][0]["limit"] == "1"
    assert "the limit of queue small" in found["explanation"]


def test_all_queues_at_their_limit(cluster: FakeCluster, explained: Explained) -> None:
    limited, above = queue("small", "upper"), queue("upper")
    for each in (limited, above):
        each["spec"]["resources"]["gpu"]["limit"] = 1
    cluster.put(*small(), above, limited, pod("two", queue="small", gpus=2))
    assert explained("two")["explanation"].startswith(
        "It waits for the limits of queues small and upper: other pods of these queues must end, or"
        " the limits must be raised."
    )


def test_a_pod_of_another_scheduler(cluster: FakeCluster, explained: Explained) -> None:
    other = pod("other")
    other["spec"]["schedulerName"] = "default-scheduler"
    cluster.put(*small(), other)
    found = explained("other")
    assert found["waits_for"] == "other_scheduler"
    assert found["layers"]["pod"]["scheduler"] == "default-scheduler, not kai-scheduler"


def test_a_bind_request_without_a_binder(cluster: FakeCluster, explained: Explained) -> None:
    cluster.put(*small(), request("p1", "n1"))
    found = explained("p1")
    assert found["waits_for"] == "binder"
    assert found["layers"]["bind_request"] == {"phase": "Pending", "node": "n1"}
    assert found["layers"]["node"]["ready"] == "True"


def test_a_binding_that_failed(cluster: FakeCluster, explained: Explained) -> None:
    cluster.put(*small(), request("p1", "n1", phase="Failed", reason="node is gone"))
    found = explained("p1")
    assert found["waits_for"] == "binding"
    assert found["explanation"] == ("Its binding to n1 failed: node is gone. It is tried again.")


def test_a_pod_that_shares_a_gpu_waits_for_its_reservation(
    cluster: FakeCluster, explained: Explained
) -> None:
    given = request("p1", "n1")
    given["spec"]["selectedGPUGroups"] = ["g-1"]
    holder = pod("gpu-reservation-n1", gpus=1)
    holder["metadata"]["labels"] = {"app": "kai-resource-reservation", "runai-gpu-group": "g-1"}
    holder["metadata"]["namespace"] = "kai-resource-reservation"
    holder["spec"] |= {"nodeName": "n1", "schedulerName": "default-scheduler"}
    cluster.put(*small(), given, holder)
    found = explained("p1")
    assert found["waits_for"] == "gpu_reservation"
    [reservation] = found["layers"]["gpu_reservations"]
    assert (reservation["GPU_group"], reservation["GPU"]) == ("g-1", "unknown yet")


def test_a_running_pod(cluster: FakeCluster, explained: Explained) -> None:
    runs = pod("runs")
    runs["spec"]["nodeName"], runs["status"] = "n1", {"phase": "Running"}
    cluster.put(*small(), runs)
    assert explained("runs")["explanation"] == (
        "It runs on n1 and waits for nothing. Pod groups of queue a with a priority above 50 can"
        " preempt it."
    )


def test_a_pod_with_an_invalid_annotation(cluster: FakeCluster, explained: Explained) -> None:
    odd = pod("odd", gpus=0)
    odd["metadata"]["annotations"] = {"gpu-fraction": "half"}
    cluster.put(*small(), odd)
    found = explained("odd")
    assert found["waits_for"] == "change"
    assert "gpu-fraction" in found["explanation"]


def test_a_pod_with_scheduling_gates(cluster: FakeCluster, explained: Explained) -> None:
    gated = pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
    cluster.put(*small(), gated)
    assert explained("gated")["waits_for"] == "gates"


def test_a_pod_without_room(cluster: FakeCluster, explained: Explained) -> None:
    runs = pod("runs", gpus=2)
    runs["spec"]["nodeName"], runs["status"] = "n1", {"phase": "Running"}
    cluster.put(*small(), runs)
    found = explained("p1")
    assert found["waits_for"] == "room"
    assert found["layers"]["queues"][0]["in_use"] == "2"


def test_a_missing_pod(cluster: FakeCluster, run: Run) -> None:
    cluster.put(*small(), pod("train-0"))
    status, out, err = run("team/trian-0")
    assert (status, out) == (1, "")
    assert err == "kai: there is no pod 'team/trian-0'; did you mean 'team/train-0'?\n"


def test_a_pod_of_that_name_in_another_namespace(cluster: FakeCluster, run: Run) -> None:
    cluster.put(*small())
    status, _, err = run("-n", "speech", "p1")
    assert status == 1
    assert err == "kai: there is no pod 'speech/p1'; did you mean 'team/p1'?\n"


def test_fixes_as_a_page(cluster: FakeCluster, run: Run, tmp_path: Path) -> None:
    cluster.put(*small(), pod("wide", gpus=100))
    page = tmp_path / "page.html"
    status, out, _ = run("team/wide", "--fix", "--html", page)
    assert status == 0
    assert ", proven by a plan of the changed cluster:" in out
    assert "<h2>What would start it</h2>" in page.read_text()
    _, out, _ = run("team/wide", "--fix", "-o", "markdown")
    assert "\n1. " in out
    assert "\n   ```\n" in out
    status, _, err = run("team/wide", "--html", page)
    assert (status, err.partition(" (see")[0]) == (2, "kai: --html needs --fix")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["cluster.zip", "train"], "for files write kai plan cluster.zip --explain train"),
        (["a.yaml", "b.yaml", "train"], "for files write kai plan a.yaml b.yaml --explain train"),
        (["team", "p1"], "write one POD: team/p1"),
    ],
)
def test_more_than_a_pod(given: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *given]) == 2
    assert message in capfd.readouterr().err


def test_without_a_cluster_the_options_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "team/p1"]) == 2
    assert "kai plan FILE --explain GROUP" in capfd.readouterr().err.replace("\n", " ")
