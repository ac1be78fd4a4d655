"""A real Kubernetes API server with simulated nodes, for tests (docs/internals/cluster.md)."""

from .admission import MUTATE, Admission
from .arguments import Options
from .client import ApiError, Client, Object, path_of, together
from .cluster import Cluster, temporary_cluster
from .egress import Egress
from .errors import ClusterError, UnavailableError
from .faults import EVERYTHING, WATCHES, WRITES, Fault, Match
from .history import History, Watcher
from .load import Cost, measured
from .machine import Machine
from .objects import job, namespace, node, pod, pod_group, pod_spec, queue
from .ports import free_ports
from .processes import Usage
from .provisioner import Provisioner, claim, claim_spec, storage_class
from .proxy import FaultProxy, Request
from .reservations import Reservations, reservation
from .running import NAMESPACE, Kai, Kubectl, install, install_all, until
from .scene import BINDINGS, SHORT_LEASE, Scene, play
from .zones import install_zones, remove_zones, zones

__all__ = [
    "BINDINGS",
    "EVERYTHING",
    "MUTATE",
    "NAMESPACE",
    "SHORT_LEASE",
    "WATCHES",
    "WRITES",
    "Admission",
    "ApiError",
    "Client",
    "Cluster",
    "ClusterError",
    "Cost",
    "Egress",
    "Fault",
    "FaultProxy",
    "History",
    "Kai",
    "Kubectl",
    "Machine",
    "Match",
    "Object",
    "Options",
    "Provisioner",
    "Request",
    "Reservations",
    "Scene",
    "UnavailableError",
    "Usage",
    "Watcher",
    "claim",
    "claim_spec",
    "free_ports",
    "install",
    "install_all",
    "install_zones",
    "job",
    "measured",
    "namespace",
    "node",
    "path_of",
    "play",
    "pod",
    "pod_group",
    "pod_spec",
    "queue",
    "remove_zones",
    "reservation",
    "storage_class",
    "temporary_cluster",
    "together",
    "until",
    "zones",
]
