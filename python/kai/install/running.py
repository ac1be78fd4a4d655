"""The programs: namespace, Deployments, and priority levels of their API requests."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from kai.api.resources import new_object
from kai.install import explaining

PORT = 8080
"""The port of metrics, probes and snapshots. KAI's programs have metrics there (spec 6 C1), and
probes on a second port, 8081, which `kai run` does not need."""
REPLICAS = 2
"""One replica works, the other waits for the lease."""
_BINDS = ("all", "scheduler", "binder")
"""Roles that create reservation pods; their program is in the same image."""


POD_SECURITY: Mapping[str, Any] = {
    "runAsNonRoot": True,
    "runAsUser": 10000,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONTAINER_SECURITY: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
"""Together with POD_SECURITY: what the Pod Security Standard "restricted" needs, and more."""


def namespace(name: str, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return new_object("Namespace", metadata)


CONFIG = "kai-config"
"""The ConfigMap with the scheduler configuration."""
_CONFIG_FOLDER, _CONFIG_FILE = "/etc/kai", "config.yaml"
_PLANS = ("all", "scheduler")


def config_map(namespace: str, config: str) -> dict[str, Any]:
    """`config`: a scheduler configuration as YAML."""
    metadata = {"name": CONFIG, "namespace": namespace}
    return new_object("ConfigMap", metadata, data={_CONFIG_FILE: config})


def with_config(deployment: Mapping[str, Any], role: str, config: str) -> dict[str, Any]:
    """A Deployment whose program reads the ConfigMap; unchanged for a role that does not plan.

    A new configuration restarts its pods, as they read it only once.
    """
    made = copy.deepcopy(dict(deployment))
    if role not in _PLANS:
        return made
    template = made["spec"]["template"]
    template["metadata"]["annotations"] = {"kai.scheduler/config-sha256": digest(config)}
    [container] = template["spec"]["containers"]
    container["args"] += ["--config", f"{_CONFIG_FOLDER}/{_CONFIG_FILE}"]
    mount = {"name": "config", "mountPath": _CONFIG_FOLDER, "readOnly": True}
    container.setdefault("volumeMounts", []).append(mount)
    volume = {"name": "config", "configMap": {"name": CONFIG}}
    template["spec"].setdefault("volumes", []).append(volume)
    return made


def digest(config: str) -> str:
    """What changes with the configuration, and so restarts the pods that read it."""
    return hashlib.sha256(config.encode()).hexdigest()


def deployment(role: str, name: str, namespace: str, image: str) -> dict[str, Any]:
    """Two replicas of `kai run ROLE`. An update first stops the old pods: versions never mix."""
    labels = {"app.kubernetes.io/name": "kai-sched", "app.kubernetes.io/component": role}
    explains = role in explaining.ROLES
    program = container(
        image,
        *("run", role),
        *("--namespace", "$(NAMESPACE)"),
        *("--listen-address", f":{PORT}"),
        *(explaining.ARGUMENTS if explains else ()),
        *(_of_reservation_pods(image) if role in _BINDS else ()),
        # Without a limit of CPU time: a throttled program would lose its lease.
        resources={
            "requests": {"cpu": "250m", "memory": "512Mi"},
            "limits": {"memory": "2Gi"},
        },
    )
    if explains:
        port = {"name": explaining.PORT_NAME, "containerPort": explaining.PORT}
        program["ports"].append(port)
    made = pods_of(name, namespace, labels, program)
    made["spec"]["strategy"] = {"type": "Recreate"}
    return made


def container(image: str, *args: str, resources: Mapping[str, Any]) -> dict[str, Any]:
    """The container of a program with probes."""
    return {
        "name": "kai",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": list(args),
        "env": [
            from_field("POD_NAME", "metadata.name"),  # the holder name of leases
            from_field("NAMESPACE", "metadata.namespace"),
        ],
        "ports": [{"name": "metrics", "containerPort": PORT}],
        # A replica that waits for the lease is also alive and ready. A replica is alive while its
        # event loop answers and its plans end, and ready once all kinds are listed.
        "livenessProbe": _probe("/healthz", periodSeconds=10, timeoutSeconds=5, failureThreshold=3),
        "readinessProbe": _probe("/readyz", periodSeconds=5, timeoutSeconds=5, failureThreshold=2),
        # Python and the connection to the API server take a second or two.
        "startupProbe": _probe("/healthz", periodSeconds=2, timeoutSeconds=5, failureThreshold=30),
        "resources": dict(resources),
        "securityContext": copy.deepcopy(dict(CONTAINER_SECURITY)),
    }


def pods_of(
    name: str, namespace: str, labels: Mapping[str, str], container: Mapping[str, Any]
) -> dict[str, Any]:
    """A Deployment of two replicas, on different nodes if possible."""
    spec = {
        "serviceAccountName": name,
        "securityContext": copy.deepcopy(dict(POD_SECURITY)),
        "affinity": {"podAntiAffinity": _on_different_nodes(labels)},
        "terminationGracePeriodSeconds": 15,  # unfinished bindings get 5 s of it
        "containers": [container],
    }
    return _workload("Deployment", name, namespace, labels, spec, replicas=REPLICAS)


def _workload(
    kind: str,
    name: str,
    namespace: str,
    labels: Mapping[str, str],
    pod: Mapping[str, Any],
    **members: Any,
) -> dict[str, Any]:
    """A Deployment or a DaemonSet of pods with these labels."""
    template = {"metadata": {"labels": dict(labels)}, "spec": pod}
    spec = {**members, "selector": {"matchLabels": dict(labels)}, "template": template}
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels)}
    return new_object(kind, metadata, spec=spec)


def program(role: str, name: str, namespace: str, image: str, config: str) -> list[dict[str, Any]]:
    """The Deployment of a role and its disruption budget. `config`: as in `with_config`; "": no
    configuration."""
    made = deployment(role, name, namespace, image)
    return [with_config(made, role, config) if config else made, budget(made)]


def _of_reservation_pods(image: str) -> list[str]:
    """The options that make reservation pods run our image with our restrictions."""
    option = "--resource-reservation"
    return [
        *(f"{option}-pod-image", image),
        *(f"{option}-pod-security-context", json.dumps(POD_SECURITY)),
        *(f"{option}-container-security-context", json.dumps(CONTAINER_SECURITY)),
    ]


def budget(deployment: Mapping[str, Any]) -> dict[str, Any]:
    """A PodDisruptionBudget: a drained node ends one replica of the Deployment at a time."""
    metadata = copy.deepcopy(deployment["metadata"])
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": dict(metadata["labels"])}}
    return new_object("PodDisruptionBudget", metadata, spec=spec)


NUMA_EXPORTER = "numa-exporter"
_POD_RESOURCES = "/var/lib/kubelet/pod-resources"
_HOST_SYS = "/host/sys"


def numa_exporter(name: str, namespace: str, image: str) -> dict[str, Any]:
    """`kai run numa-exporter` on each node with NUMA zones (spec 3 U19).

    The kubelet's socket and the sysfs of the node are mounted.
    """
    program = {
        "name": "kai",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": [
            *("run", NUMA_EXPORTER),
            *("--node-name", "$(NODE_NAME)"),
            *("--podresources-socket", f"{_POD_RESOURCES}/kubelet.sock"),
            *("--sysfs-root", _HOST_SYS),
        ],
        "env": [from_field("NODE_NAME", "spec.nodeName")],
        "resources": {
            "requests": {"cpu": "50m", "memory": "64Mi"},  # it uses 55 MiB with 250 pods
            "limits": {"cpu": "200m", "memory": "128Mi"},
        },
        "securityContext": copy.deepcopy(dict(CONTAINER_SECURITY)),
    }
    mounts = {"pod-resources": (_POD_RESOURCES, _POD_RESOURCES), "sys": ("/sys", _HOST_SYS)}
    nodes = {"feature.node.kubernetes.io/memory-numa": "true"}
    return _on_each_node(NUMA_EXPORTER, name, namespace, nodes, program, mounts)


GPU_AUDITOR = "gpu-auditor"
_PODS = "/var/lib/kubelet/pods"
_NVIDIA = "nvidia"


def gpu_auditor(name: str, namespace: str, image: str) -> dict[str, Any]:
    """`kai run gpu-auditor` on each node with GPUs, in the process namespace of the node.

    The container gets all GPUs by the variables that NVIDIA's runtime reads: it only looks at them,
    so it requests none. A volume of a pod that starts later is visible in the mounted folder, too.
    """
    program = container(
        image,
        "run",
        GPU_AUDITOR,
        "--node-name",
        "$(NODE_NAME)",
        "--listen-address",
        f":{PORT}",
        "--podresources-socket",
        f"{_POD_RESOURCES}/kubelet.sock",
        "--pods-folder",
        _PODS,
        resources={
            "requests": {"cpu": "50m", "memory": "96Mi"},
            "limits": {"cpu": "500m", "memory": "256Mi"},
        },
    )
    program["env"] = [
        from_field("NODE_NAME", "spec.nodeName"),
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
        {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"},
    ]
    mounts = {"pod-resources": (_POD_RESOURCES, _POD_RESOURCES), "pods": (_PODS, _PODS)}
    nodes = {"nvidia.com/gpu.present": "true"}
    made = _on_each_node(GPU_AUDITOR, name, namespace, nodes, program, mounts)
    made["spec"]["template"]["spec"] |= {"hostPID": True, "runtimeClassName": _NVIDIA}
    [of_pods] = [each for each in program["volumeMounts"] if each["name"] == "pods"]
    of_pods["mountPropagation"] = "HostToContainer"
    return made


def _on_each_node(
    role: str,
    name: str,
    namespace: str,
    nodes: Mapping[str, str],
    program: dict[str, Any],
    mounts: Mapping[str, tuple[str, str]],
) -> dict[str, Any]:
    """A DaemonSet of the program, as root, on nodes with these labels. `mounts`, by the name of the
    volume: the folder of the node, and where the program reads it."""
    labels = {"app.kubernetes.io/name": "kai-sched", "app.kubernetes.io/component": role}
    program["securityContext"]["runAsUser"] = 0
    program["volumeMounts"] = [
        {"name": each, "mountPath": there, "readOnly": True} for each, (_, there) in mounts.items()
    ]
    spec = {
        "serviceAccountName": name,
        "nodeSelector": dict(nodes),
        "tolerations": [{"operator": "Exists"}],  # nodes with GPUs often have taints
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 5,
        "containers": [program],
        "volumes": [
            {"name": each, "hostPath": {"path": here}} for each, (here, _) in mounts.items()
        ],
    }
    return _workload("DaemonSet", name, namespace, labels, spec)


def flow_schemas(accounts: Sequence[str], namespace: str) -> list[dict[str, Any]]:
    """FlowSchemas that give our requests the priority levels of Kubernetes' own controllers.

    Without them our requests share a level with all other service accounts, so other busy programs
    could make a scheduler lose its lease: only accounts of kube-system may use the level of leases.
    """
    leases = {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "create", "update"],
        "namespaces": [namespace],
    }
    objects = {
        "apiGroups": ["*"],
        "resources": ["*"],
        "verbs": ["*"],
        "namespaces": ["*"],
        "clusterScope": True,
    }
    others = {"nonResourceURLs": ["*"], "verbs": ["*"]}  # the version and the served kinds
    anything = {"resourceRules": [objects], "nonResourceRules": [others]}
    of = (accounts, namespace)
    return [
        _flow_schema("leader-election", 150, *of, {"resourceRules": [leases]}),
        _flow_schema("workload-high", 950, *of, anything),
    ]


def _flow_schema(
    level: str,
    precedence: int,
    accounts: Sequence[str],
    namespace: str,
    rules: Mapping[str, Any],
) -> dict[str, Any]:
    subjects = [
        {"kind": "ServiceAccount", "serviceAccount": {"name": each, "namespace": namespace}}
        for each in accounts
    ]
    spec = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": subjects, **rules}],
    }
    name = f"kai-{level}-{namespace}"  # unique for each installation
    return new_object("FlowSchema", {"name": name}, spec=spec)


def _probe(path: str, **members: int) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": "metrics"}, **members}


def from_field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _on_different_nodes(labels: Mapping[str, str]) -> dict[str, Any]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": dict(labels)}}
    weighted = {"weight": 100, "podAffinityTerm": term}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
