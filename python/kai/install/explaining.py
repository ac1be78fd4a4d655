"""The Service of /explain, the right to reach it through the API server, and the rights it needs.

    explaining.objects("all", "kai", "kai-scheduler")

Every user of the cluster may reach this port: the program behind it checks for each request what
the caller may see. It serves nothing else; metrics and snapshots have another port.
"""

from __future__ import annotations

from typing import Any

from kai.api.keys import SCHEDULING_GROUP
from kai.api.resources import new_object, resource
from kai.install import access
from kai.install.access import Rule

SERVICE = "kai-explain"
PORT = 8082
"""8080 has metrics and probes."""
PORT_NAME = "explain"
ARGUMENTS = ("--explain-address", f":{PORT}")
ROLES = (access.ALL, "scheduler")
"""The programs that plan."""
EVERY_USER = "system:authenticated"

RULES = (
    Rule("authentication.k8s.io", "tokenreviews", ("create",)),
    Rule("authorization.k8s.io", "subjectaccessreviews", ("create",)),
    Rule(SCHEDULING_GROUP, "podgroups", ("get",)),
)
"""Beside those of the scheduler: who calls, what the caller may see, and one group."""


def objects(role: str, account: str, namespace: str) -> list[dict[str, Any]]:
    """For the program of `role`, one of ROLES, with this service account."""
    metadata = {"name": SERVICE, "namespace": namespace}
    selector = {"app.kubernetes.io/name": "kai-sched", "app.kubernetes.io/component": role}
    # Without a name: users write services/kai-explain/proxy.
    port = {"port": 80, "targetPort": PORT}
    reach = Rule("", "services/proxy", ("get",), names=(SERVICE,))
    cluster_wide = {"name": f"{namespace}:{SERVICE}"}
    group = resource("Role").group
    users = {"apiGroup": group, "kind": "Group", "name": EVERY_USER}
    program = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    return [
        new_object("Service", metadata, spec={"selector": selector, "ports": [port]}),
        new_object("Role", metadata, rules=access.in_kubernetes([reach])),
        _binding("Role", metadata, users),
        new_object("ClusterRole", cluster_wide, rules=access.in_kubernetes(RULES)),
        _binding("ClusterRole", cluster_wide, program),
    ]


def _binding(kind: str, metadata: dict[str, str], subject: dict[str, str]) -> dict[str, Any]:
    reference = {"apiGroup": resource(kind).group, "kind": kind, "name": metadata["name"]}
    return new_object(f"{kind}Binding", metadata, roleRef=reference, subjects=[subject])
