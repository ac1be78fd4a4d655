"""What the objects of a cluster add to an explanation: labels of nodes, and their devices."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kai.api import keys
from kai.api.isolations import isolation_of, sentence_of
from kai.api.reading import at, labels_of, mapping, objects
from kai.api.reading import text as text_of
from kai.engine import text
from kai.engine.needs import claims_of, needed_by, requests_of
from kai.engine.places import Facts, Places, near

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
    labels = labels_of(cluster._find("Node", node))
    if label not in labels:
        return f"Node {node} has no label {label}: requests for GPU memory need it, in MiB."
    return f"Node {node} has {label}={labels[label]}, which is not a number of MiB."


def _near_keys(unmet: Iterable[Facts], cluster: Cluster) -> Iterable[str]:
    wanted = [
        each["label"]
        for each in unmet
        if not each["there"] and each["operator"] in ("In", "Exists")
    ]
    nodes = cluster._all("Node").values() if wanted else ()
    known = {label for node in nodes for label in labels_of(node)}
    for label in wanted:
        close = difflib.get_close_matches(label, known, n=1, cutoff=0.8)
        if close and label not in known:
            yield f"No node has the label {label}; did you mean {close[0]}?"


def gates_of(pods: Iterable[str], cluster: Cluster | None) -> list[str]:
    """The names of the scheduling gates of these pods, those of most pods first."""
    gates: Counter[str] = Counter()
    if cluster is not None:
        for pod in pods:
            listed = objects(at(cluster._find("Pod", pod), "spec", "schedulingGates"))
            gates.update(str(gate.get("name")) for gate in listed)
    return sorted(gates, key=lambda name: (-gates[name], name))


def isolations(pods: Iterable[str], cluster: Cluster | None) -> dict[str, str]:
    """What keeps these pods to their shares of GPUs, with a sentence: those of most pods first."""
    found: Counter[tuple[str, str]] = Counter()
    if cluster is None:
        return {}
    for name in pods:
        pod = cluster._find("Pod", name)
        if pod is None:
            continue
        place = text_of(at(pod, "spec", "nodeName"))
        node = cluster._find("Node", place) if place else None
        if isolation := isolation_of(pod, node):
            found[isolation, sentence_of(pod, node)] += 1
    return dict(sorted(found, key=lambda each: (-found[each], each)))


def about_names(places: Sequence[Places], cluster: Cluster | None) -> Iterable[str]:
    """Sentences about objects that pods name and that do not exist, such as a claim or its device
    class, if others have similar names."""
    if cluster is None:
        return
    for each in places:
        pod = cluster._find("Pod", each.first) if each.is_refused else None
        for kind, name in needed_by(pod, cluster) if pod is not None else ():
            known = cluster._all(kind)
            namespace, _, own = name.rpartition("/")
            beside = [key.rpartition("/") for key in known]
            close = near(own, [other for space, _, other in beside if space == namespace])
            if name not in known and close:
                yield f"There is no {kind} {name}; did you mean {close[0]}?"


# ---- devices -------------------------------------------------------------------------------------


def about_devices(pod: str, nodes: Iterable[str], cluster: Cluster | None) -> Iterable[str]:
    """Sentences about nodes without devices for the claims of the pod: how many they have, and the
    selectors of the claims if none of the devices is in use."""
    manifest = None if cluster is None else cluster._find("Pod", pod)
    if cluster is None or manifest is None:
        return
    in_use = {
        (each.get("driver"), each.get("pool"), each.get("device"))
        for claim in cluster._all("ResourceClaim").values()
        for each in objects(at(claim, "status", "allocation", "devices", "results"))
    }
    for node in nodes:
        there = _devices_of(node, cluster)
        used = len(there & in_use)
        if there:
            yield f"Node {node} has {text.count(len(there), 'device')}, {used or 'none'} in use."
        if there and not used:
            yield from _selectors(manifest, cluster)
            return


def _devices_of(node: str, cluster: Cluster) -> set[tuple[Any, Any, Any]]:
    """Driver, pool and name of the devices that slices publish for the node."""
    specs = (mapping(each.get("spec")) for each in cluster._all("ResourceSlice").values())
    return {
        (spec.get("driver"), at(spec, "pool", "name"), device.get("name"))
        for spec in specs
        if spec.get("nodeName") == node
        for device in objects(spec.get("devices"))
    }


def _selectors(pod: Mapping[str, Any], cluster: Cluster) -> Iterable[str]:
    for name in claims_of(pod):
        for request in requests_of(cluster._find("ResourceClaim", name)):
            for selector in objects(request.get("selectors")):
                if expression := at(selector, "cel", "expression"):
                    yield f"Claim {name} selects devices with: {' '.join(str(expression).split())}"
