"""NUMA zones of nodes, as a topology updater reports them: NodeResourceTopology v1alpha2."""

from collections.abc import Mapping

from .client import Object
from .cluster import Cluster
from .running import apply, wait_for_kinds

GROUP = "topology.node.k8s.io"
DEFINITION = f"noderesourcetopologies.{GROUP}"


def install_zones(cluster: Cluster) -> None:
    """Installs the kind; the API server accepts anything as an object of it."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha2",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
    }
    names = {"kind": "NodeResourceTopology", "plural": "noderesourcetopologies"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": DEFINITION,
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]},
    }
    apply(cluster, definition)
    wait_for_kinds(cluster, DEFINITION)


def remove_zones(cluster: Cluster) -> None:
    """Removes the kind and its objects."""
    cluster.kubectl("delete", "crd", DEFINITION, "--ignore-not-found")


def zones(node: str, *amounts: Mapping[str, str], policy: str = "single-numa-node") -> Object:
    """Zones node-0, node-1 and so on of a node, each with these amounts, scope `pod`."""
    return {
        "apiVersion": f"{GROUP}/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": node},
        "zones": [
            {
                "name": f"node-{number}",
                "type": "Node",
                "resources": [
                    {"name": name, "capacity": much, "allocatable": much, "available": much}
                    for name, much in each.items()
                ],
            }
            for number, each in enumerate(amounts)
        ],
        "attributes": [
            {"name": "topologyManagerPolicy", "value": policy},
            {"name": "topologyManagerScope", "value": "pod"},
        ],
    }
