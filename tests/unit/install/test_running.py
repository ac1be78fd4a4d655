"""The Deployment that `kai install` prints, and its command."""

import re
from typing import Any

import pytest

import kai.service
from kai.cli import main
from kai.install import access, running
from kai.k8s.leases import new_identity
from kai.runtime import measuring
from kai.service.options import Options
from kai.service.programs.gpu_auditor import AuditorOptions
from kai.service.programs.numa_exporter import ExporterOptions


@pytest.mark.parametrize("role", [*access.ROLES, access.ALL])
def test_the_command_of_a_deployment_is_accepted_and_answers_its_probes(
    role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kubelet replaces $(NAMES) of variables; the command is the one of this package."""
    made = running.deployment(role, "kai", "gpu", "registry/kai:1")
    [container] = made["spec"]["template"]["spec"]["containers"]
    fields = {each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in container["env"]}
    pod = {"metadata.name": "kai-7d9f-x2x", "metadata.namespace": "gpu"}
    variables = {name: pod[path] for name, path in fields.items()}
    arguments = [
        re.sub(r"\$\((\w+)\)", lambda found: variables[found[1]], each)
        for each in container["args"]
    ]

    given: list[Options] = []
    monkeypatch.setattr(kai.service, "serve", lambda options, **_: given.append(options))
    assert main(arguments) == 0
    [options] = given
    assert options.roles == (access.ROLES if role == access.ALL else (role,))
    assert options.namespace == "gpu", "the rights to leases are those of this namespace"
    assert options.leader_elect
    if role in ("scheduler", "binder", access.ALL):
        assert options.reservations().image == "registry/kai:1"

    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    probes = ("livenessProbe", "readinessProbe", "startupProbe")
    probed = [container[each]["httpGet"] for each in probes]
    assert [each["path"] for each in probed] == ["/healthz", "/readyz", "/healthz"]
    assert {f":{ports[each['port']]}" for each in probed} == {options.listen}

    monkeypatch.setenv("POD_NAME", variables["POD_NAME"])
    assert new_identity().partition("_")[0] == "kai-7d9f-x2x"


def test_the_command_of_the_numa_exporter_is_accepted_and_finds_what_is_mounted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("grpc", reason="needs the extra numa")
    made = running.numa_exporter("kai-numa-exporter", "gpu", "registry/kai:1")
    spec = made["spec"]["template"]["spec"]
    [container] = spec["containers"]
    [variable] = container["env"]
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
    arguments = [each.replace("$(NODE_NAME)", "n1") for each in container["args"]]
    given: list[ExporterOptions] = []
    monkeypatch.setattr(kai.service, "export_numa", lambda options, **_: given.append(options))
    assert main(arguments) == 0
    [options] = given
    assert options.node == "n1"
    hosts = {each["name"]: each["hostPath"]["path"] for each in spec["volumes"]}
    mounted = {each["mountPath"]: hosts[each["name"]] for each in container["volumeMounts"]}
    assert mounted == {
        "/var/lib/kubelet/pod-resources": "/var/lib/kubelet/pod-resources",
        "/host/sys": "/sys",
    }
    assert options.socket == "/var/lib/kubelet/pod-resources/kubelet.sock"
    assert options.sysfs == "/host/sys"
    assert spec["nodeSelector"] == {"feature.node.kubernetes.io/memory-numa": "true"}
    assert container["securityContext"]["runAsUser"] == 0


def test_the_command_of_the_gpu_auditor_is_accepted_and_finds_what_is_mounted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("grpc", reason="needs the extra numa")
    made = running.gpu_auditor("kai-gpu-auditor", "gpu", "registry/kai:1")
    spec = made["spec"]["template"]["spec"]
    [container] = spec["containers"]
    arguments = [each.replace("$(NODE_NAME)", "n1") for each in container["args"]]
    given: list[tuple[AuditorOptions, str]] = []

    def keep(options: AuditorOptions, measure: Any, **_: Any) -> None:
        given.append((options, measure.keywords["pods"]))

    monkeypatch.setattr(kai.service, "audit_gpus", keep)
    assert main(arguments) == 0
    [(options, pods)] = given
    assert (options.node, options.rules.node) == ("n1", "n1")
    hosts = {each["name"]: each["hostPath"]["path"] for each in spec["volumes"]}
    mounted = {each["mountPath"]: hosts[each["name"]] for each in container["volumeMounts"]}
    assert mounted[pods] == measuring.PODS
    folder, _, socket = options.socket.rpartition("/")
    assert (mounted[folder], socket) == ("/var/lib/kubelet/pod-resources", "kubelet.sock")
    # Volumes in memory are mounted after the auditor has started.
    [of_pods] = [each for each in container["volumeMounts"] if each["mountPath"] == pods]
    assert of_pods["mountPropagation"] == "HostToContainer"
    [port] = container["ports"]
    assert options.listen == f":{port['containerPort']}"
    assert spec["hostPID"] is True
    assert container["securityContext"]["runAsUser"] == 0
