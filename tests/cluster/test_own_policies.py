"""`kai run` with the plugin `joborder`, and with policies in Python."""

from pathlib import Path
from typing import Any

from testcluster import Cluster, Kai, Kubectl, job, node, pod, pod_spec, until

ESTIMATE = "kai.scheduler/run-time-estimate"
SERVICE = "kai.scheduler/attained-service"
POLICY = """\
import numpy as np

import kai


@kai.policy.score
def n2_first(pod, nodes):
    if pod.gpus > 2:
        raise LookupError("no such size")
    return np.array([100.0 * (name == "n2") for name in nodes.name])


@kai.policy.pod_group_order
def largest_first(groups):
    return -groups.gpus
"""


def with_order(cluster: Cluster, namespace: str, folder: Path, **order: str) -> Kai:
    """All roles, with this job order."""
    arguments = "".join(f"    {name}: '{value}'\n" for name, value in order.items())
    (folder / "order.yaml").write_text("plugins:\n  joborder:\n" + arguments)
    config = ("--config", str(folder / "order.yaml"))
    return Kai(cluster, namespace, folder / "kai.log", *config)


def group_of(kubectl: Kubectl, name: str) -> dict[str, Any]:
    """The pod group that was made for a pod."""
    groups = kubectl.all("podgroups").items()
    return next(each for made, each in groups if made.startswith(f"pg-{name}-"))


# ---- job orders ----------------------------------------------------------------------------------


def test_the_shortest_estimate_goes_first(
    kubectl: Kubectl, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    with with_order(cluster, namespace, tmp_path, policy="sjf"):
        for name, estimate in (("long", "3h"), ("middle", "90m"), ("short", "10m")):
            notes = {ESTIMATE: estimate, "sim/run-for": "1s"}
            kubectl.apply(pod(name, namespace, annotations=notes))
        until("all have groups", lambda: len(kubectl.all("podgroups")) == 3)
        kubectl.apply(node("n1", gpus=1))
        until("all have run", lambda: phases(kubectl) == {"Succeeded"})

    def start_s(name: str) -> str:
        return str(kubectl.all("pods")[name]["status"]["startTime"])

    assert start_s("short") < start_s("middle") < start_s("long")
    assert SERVICE not in group_of(kubectl, "short")["metadata"].get("annotations", {})


def phases(kubectl: Kubectl) -> set[str]:
    return {each["status"]["phase"] for each in kubectl.all("pods").values()}


def test_a_group_that_ran_long_is_evicted_and_its_service_written(
    kubectl: Kubectl, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    kubectl.apply(node("n1", gpus=1))
    with with_order(cluster, namespace, tmp_path, policy="las", thresholds="3"):
        # The pod group of a Job stays when its pod is deleted; that of a pod goes with the pod.
        kubectl.apply(job("long", namespace, 1, pod_spec()))
        until("it runs", lambda: list(kubectl.bound().values()) == ["n1"])
        kubectl.apply(pod("new", namespace))
        until("the new one has its place", lambda: kubectl.bound() == {"new": "n1"})
        notes = until(
            "its service is written",
            lambda: n if SERVICE in (n := annotations(kubectl, "long")) else None,
        )
    found = dict(each.split("=") for each in notes[SERVICE].split())
    assert found["evictions"] == "1"
    assert 3 <= float(found["run"]) < 20
    assert found["gpu"] == found["run"]
    assert found["until"][:19] + "Z" == notes["kai.scheduler/last-eviction-timestamp"]


def annotations(kubectl: Kubectl, name: str) -> dict[str, str]:
    found: dict[str, str] = group_of(kubectl, name)["metadata"].get("annotations", {})
    return found


# ---- policies in Python --------------------------------------------------------------------------


def test_a_policy_in_python_decides_in_a_cluster(
    kubectl: Kubectl, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(POLICY)
    options = ("--policy", str(tmp_path / "mine.py"), "--allow-python-policies")
    with Kai(cluster, namespace, tmp_path / "kai.log", *options) as kai:
        kubectl.apply(pod("small", namespace), pod("large", namespace, 2))
        until("both have groups", lambda: len(kubectl.all("podgroups")) == 2)
        kubectl.apply(node("n1", gpus=1), node("n2", gpus=2))
        until("both are bound", lambda: kubectl.bound() == {"small": "n1", "large": "n2"})
        kubectl.delete("pod", "small", "large")
        kubectl.apply(pod("again", namespace))
        until("n2 comes first", lambda: kubectl.bound() == {"again": "n2"})
        assert kai.is_running()


def test_a_failing_policy_ends_the_run_with_one_sentence(
    kubectl: Kubectl, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(POLICY)
    options = ("--policy", str(tmp_path / "mine.py"), "--allow-python-policies")
    kai = Kai(cluster, namespace, tmp_path / "kai.log", *options)
    kai.start()
    kubectl.apply(node("n1", gpus=4), node("n2", gpus=4), pod("fine", namespace))
    until("it is bound", lambda: kubectl.bound() == {"fine": "n2"})
    kubectl.apply(pod("wide", namespace, 3))
    until("it has ended", lambda: not kai.is_running())
    assert kai.stop() == 2
    assert kubectl.bound() == {"fine": "n2"}
    found = [line for line in kai.log.splitlines() if "no such size" in line]
    assert len(found) == 1
    assert "policy n2_first (" in found[0]
    assert "mine.py, line 9): LookupError: no such size" in found[0]
    assert "Traceback" not in kai.log
