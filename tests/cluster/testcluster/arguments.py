"""The command lines of the four programs of a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
STAGES = Path(__file__).parent / "stages.yaml"
MACHINE_LABEL = "kai.test/machine"
"""Nodes with this label are machines that run programs (machine/). The others are simulated."""

CONTROLLERS = (
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "ephemeral-volume-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourceclaim-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
)
"""Controllers that tests rely on. The others (cloud, autoscaling, endpoints, certificates) cost
memory and requests."""

KWOK_CONFIG = """\
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: 16
  nodePlayStageParallelism: 16
  nodeLeaseParallelism: 4
  enablePodsOnNodeSyncStreamWatch: true
---
"""


@dataclass(frozen=True)
class Options:
    """The settings in which a cluster differs from the default."""

    fair_queuing: bool = False
    """API priority and fairness with the default limits. Otherwise the server accepts 3,000
    requests at once, so it never limits a measurement."""
    feature_gates: str = ""
    """Of the server and the controllers, such as "GenericWorkload=true"."""
    runtime_config: str = ""
    """API versions that are off by default, such as "scheduling.k8s.io/v1alpha2=true"."""
    server_arguments: tuple[str, ...] = ()
    """Further options of kube-apiserver."""
    controller_arguments: tuple[str, ...] = ()
    """Further options of kube-controller-manager."""


def etcd(folder: Path, ports: Mapping[str, int]) -> list[str]:
    client, peer = (f"http://{HOST}:{ports[name]}" for name in ("etcd", "etcd-peer"))
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # a test's data need not outlive a power cut
        "--quota-backend-bytes=8589934592",
        "--log-level=warn",
    ]


def kube_apiserver(folder: Path, ports: Mapping[str, int], options: Options) -> list[str]:
    pki = folder / "pki"
    arguments = [
        f"--etcd-servers=http://{HOST}:{ports['etcd']}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={ports['api']}",
        "--endpoint-reconciler-type=none",  # a loopback address is not a valid endpoint
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--tls-cert-file={pki}/server.crt",
        f"--tls-private-key-file={pki}/server.key",
        f"--client-ca-file={pki}/ca.crt",
        f"--token-auth-file={folder}/tokens.csv",
        "--anonymous-auth=false",
        "--authorization-mode=RBAC",  # no Node authorizer: kwok acts for all nodes
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki}/service-accounts.pub",
        f"--service-account-signing-key-file={pki}/service-accounts.key",
        "--allow-privileged=true",
        "--profiling=false",
        "--event-ttl=1h",
        "--shutdown-delay-duration=0s",
    ]
    if not options.fair_queuing:
        arguments += [
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=3000",
            "--max-mutating-requests-inflight=3000",
        ]
    if options.runtime_config:
        arguments.append(f"--runtime-config={options.runtime_config}")
    return [*arguments, *_feature_gates(options), *options.server_arguments]


def kube_controller_manager(folder: Path, ports: Mapping[str, int], options: Options) -> list[str]:
    pki = folder / "pki"
    return [
        f"--kubeconfig={folder}/controllers.kubeconfig",
        f"--controllers={','.join(CONTROLLERS)}",
        f"--root-ca-file={pki}/ca.crt",
        f"--service-account-private-key-file={pki}/service-accounts.key",
        "--leader-elect=false",
        f"--bind-address={HOST}",
        f"--secure-port={ports['controllers']}",
        f"--tls-cert-file={pki}/server.crt",
        f"--tls-private-key-file={pki}/server.key",
        "--profiling=false",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        # kwok renews the leases of nodes every 50 s, the default of this period: nodes would be
        # NotReady for moments. A pod that changes begins its sim/run-for again.
        "--node-monitor-grace-period=10m",
        "--concurrent-job-syncs=20",
        "--concurrent-gc-syncs=20",
        *_feature_gates(options),
        *options.controller_arguments,
    ]


def kwok(folder: Path, ports: Mapping[str, int]) -> list[str]:
    """Also writes the configuration file that the command line names."""
    config = folder / "kwok.yaml"
    config.write_text(KWOK_CONFIG + STAGES.read_text())
    return [
        f"--kubeconfig={folder}/kwok.kubeconfig",
        f"--config={config}",
        f"--manage-nodes-with-label-selector=!{MACHINE_LABEL}",
        "--cidr=10.128.0.0/9",
        "--node-ip=10.0.0.1",
        "--node-lease-duration-seconds=200",
        f"--server-address={HOST}:{ports['kwok']}",
        "--v=WARN",  # a line per pod otherwise
    ]


def _feature_gates(options: Options) -> list[str]:
    return [f"--feature-gates={options.feature_gates}"] if options.feature_gates else []
