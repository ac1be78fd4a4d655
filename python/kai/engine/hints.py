"""What the objects of a cluster add to an explanation: values of labels, and keys that are near."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kai.api import keys
from kai.api.reading import at, mapping
from kai.engine.places import Facts, Places

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster


def about_labels(places: Sequence[Places], cluster: Cluster | None) -> Iterable[str]:
    """Sentences about labels of nodes that keep pods off them."""
    if cluster is None:
        return
    for each in places:
        for obstacles in each.obstacles:
            for cause in obstacles.causes:
                if cause["cause"] == "gpu_memory_unknown":
                    yield _gpu_memory(obstacles.first, cluster)
                elif cause["cause"] == "node_affinity":
                    yield from _near_keys(cause["unmet"], cluster)


def _gpu_memory(node: str, cluster: Cluster) -> str:
    label = keys.GPU_MEMORY_LABEL
    labels = mapping(at(cluster._find("Node", node), "metadata", "labels"))
    if label not in labels:
        return f"Node {node} has no such label: requests for GPU memory need it, in MiB."
    return f"Node {node} has {label}={labels[label]}, which is not a number of MiB."


def _near_keys(unmet: Iterable[Facts], cluster: Cluster) -> Iterable[str]:
    for each in unmet:
        if each["there"] or each["operator"] not in ("In", "Exists"):
            continue
        known = {
            label
            for node in cluster._all("Node").values()
            for label in mapping(at(node, "metadata", "labels"))
        }
        close = difflib.get_close_matches(each["label"], known - {each["label"]}, n=1, cutoff=0.8)
        if close and each["label"] not in known:
            yield f"No node has the label {each['label']}; did you mean {close[0]}?"
