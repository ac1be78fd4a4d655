"""The GPU auditor of a node at a real API server, with the rights of its own account only."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from testcluster import Cluster, Kubectl, free_ports, install, node, pod, until
from testcluster.processes import Process
from testcluster.running import apply

from kai.api import keys
from kai.install import access

CARD = "GPU-8216274a-0b3c-4d5e-8f90-123456789abc"
AUDIT = """
import json, sys
from pathlib import Path
from kai.api.gpu_use import GpuProcess, MeasuredDevice, Measurement
from kai.controllers.gpu_audit import AuditRules
from kai.service import audit_gpus
from kai.service.programs.gpu_auditor import AuditorOptions

options, held = json.loads(sys.argv[1]), Path(sys.argv[2])

def measure():
    listed = json.loads(held.read_text())
    found = tuple(GpuProcess(pid, used, "python", of, 1) for pid, used, of in listed)
    used = sum(each.used for each in found)
    return Measurement((MeasuredDevice(options["card"], 80 << 30, used, found),))

audit_gpus(
    AuditorOptions(
        "n1",
        0.2,
        AuditRules(node="n1"),
        "/no/kubelet.sock",
        listen=options["listen"],
        reserving=options["reserving"],
    ),
    measure,
    kubeconfig=options["kubeconfig"],
)
"""


def shared(name: str, namespace: str, annotations: dict[str, str]) -> dict[str, Any]:
    labels = {keys.GPU_GROUP_LABEL: "g1"}
    return pod(
        name,
        namespace,
        0,
        labels=labels,
        annotations=annotations,
        scheduler="other",
        nodeName="n1",
    )


def test_a_pod_beyond_its_share_has_an_event(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """The driver is a file of the test: processes, their memory and their pods."""
    pytest.importorskip("grpc", reason="needs the extra numa")
    install(cluster)
    kubectl = Kubectl(cluster, namespace)
    name = f"auditor-{namespace}"
    account = access.objects("gpu-auditor", name, namespace)
    apply(cluster, *account)
    token = cluster.kubectl("create", "token", name, "-n", namespace).strip()
    reserving = f"{namespace}-holders"
    kubectl.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": reserving}},
        node("n1", gpus=1),
    )
    kubectl.apply(
        shared("holder", reserving, {keys.RESERVED_DEVICE_ANNOTATION: CARD}),
        shared("half", namespace, {keys.GPU_FRACTION_ANNOTATION: "0.5"}),
        shared("modest", namespace, {keys.GPU_FRACTION_ANNOTATION: "0.5"}),
    )
    uids = {each: kubectl.all("pods")[each]["metadata"]["uid"] for each in ("half", "modest")}
    held = tmp_path / "held.json"

    def hold(*processes: tuple[int, int, str]) -> None:
        replaced = tmp_path / "held.new"
        replaced.write_text(json.dumps([(pid, gib << 30, of) for pid, gib, of in processes]))
        replaced.replace(held)

    hold((812, 70, uids["half"]), (813, 30, uids["modest"]))
    [port] = free_ports(1)
    options = {
        "card": CARD,
        "listen": f"127.0.0.1:{port}",
        "reserving": reserving,
        "kubeconfig": str(cluster.kubeconfig_of(token=token, name="auditor.kubeconfig")),
    }
    log = tmp_path / "auditor.log"
    command = [sys.executable, "-c", AUDIT, json.dumps(options), str(held)]
    process = Process.start("auditor", command, log=log)
    try:
        found = until("the pod has an event", lambda: kubectl.events("half"))
        assert list(found) == ["GpuShareExceeded"]
        assert f"uses 70 GiB of {CARD} (80 GiB), its share is 40 GiB" in found["GpuShareExceeded"]
        assert kubectl.events("modest") == {}
        hold((813, 30, uids["modest"]))
        until("it is back", lambda: "GpuShareKept" in kubectl.events("half"))
        hold((900, 1, ""))
        outside = "involvedObject.kind=Node,reason=GpuUsedOutsidePods"

        def of_node() -> list[Any]:
            text = cluster.kubectl(
                *("get", "events", "-n", "default", "-o", "json", "--field-selector", outside)
            )
            found: list[Any] = json.loads(text)["items"]
            return found

        [event] = until("the node has one", of_node)
        assert event["message"] == f"python (process 900) of no pod uses 1 GiB of {CARD}"
    finally:
        process.stop(20)
        # A scheduler of the next test would delete pods whose reservation it does not find.
        kubectl.delete("pods", "--all", "--force", "--grace-period=0")
        cluster.kubectl("delete", "namespace", reserving)
    assert process.exit_status == 0, log.read_text()
    text = log.read_text()
    assert "cannot write events" not in text, text
    assert "cannot read the pods of the node" not in text, text
    for each in account:
        if each["kind"].startswith("ClusterRole"):
            cluster.kubectl("delete", each["kind"], each["metadata"]["name"])
