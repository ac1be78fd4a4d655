"""Valid manifests with many fields that neither KAI nor plans read, of Kubernetes' own kinds."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

Manifest = dict[str, Any]

POD: Manifest = {
    "schedulerName": "kai-scheduler",
    "restartPolicy": "Never",
    "activeDeadlineSeconds": 60,
    "terminationGracePeriodSeconds": 5,
    "serviceAccountName": "default",
    "automountServiceAccountToken": False,
    "dnsPolicy": "ClusterFirst",
    "hostname": "h",
    "subdomain": "s",
    "enableServiceLinks": True,
    "hostPID": False,
    "hostIPC": False,
    "shareProcessNamespace": False,
    "preemptionPolicy": "PreemptLowerPriority",
    "dnsConfig": {
        "nameservers": ["1.1.1.1"],
        "searches": ["a.b"],
        "options": [{"name": "ndots", "value": "2"}],
    },
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["x"]}],
    "imagePullSecrets": [{"name": "p"}],
    "readinessGates": [{"conditionType": "example.com/ready"}],
    "schedulingGates": [{"name": "example.com/gate"}],
    "securityContext": {
        "runAsUser": 1000,
        "runAsNonRoot": True,
        "fsGroup": 5,
        "supplementalGroups": [1],
        "seccompProfile": {"type": "RuntimeDefault"},
        "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "0"}],
    },
    "nodeSelector": {"disk": "ssd", "example.com/zone": "a"},
    "tolerations": [
        {"key": "gpu", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
        {"operator": "Exists"},
    ],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {
                "matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]
            },
            "minDomains": 1,
        }
    ],
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 5,
                    "preference": {
                        "matchExpressions": [{"key": "n", "operator": "Gt", "values": ["1"]}]
                    },
                }
            ],
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
                ]
            },
        },
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 5,
                    "podAffinityTerm": {
                        "topologyKey": "zone",
                        "labelSelector": {"matchLabels": {"app": "x"}},
                        "namespaces": ["a"],
                    },
                }
            ]
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "zone",
                    "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                }
            ]
        },
    },
    "resourceClaims": [
        {"name": "gpu", "resourceClaimName": "c"},
        {"name": "t", "resourceClaimTemplateName": "tt"},
    ],
    "containers": [
        {
            "name": "main",
            "image": "i",
            "imagePullPolicy": "Always",
            "command": ["a"],
            "args": ["b"],
            "workingDir": "/",
            "tty": False,
            "terminationMessagePolicy": "File",
            "env": [
                {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
                {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            ],
            "envFrom": [{"secretRef": {"name": "s"}}],
            "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}],
            "resources": {
                "limits": {
                    "cpu": "1",
                    "memory": "1Gi",
                    "example.com/nic": 1,
                    "hugepages-2Mi": "4Mi",
                },
                "requests": {"cpu": "500m", "example.com/nic": 1},
                "claims": [{"name": "gpu"}],
            },
            "volumeMounts": [
                {"name": "v", "mountPath": "/v", "readOnly": True},
                {"name": "e", "mountPath": "/e", "subPath": "x"},
            ],
            "livenessProbe": {
                "httpGet": {"path": "/", "port": 80, "httpHeaders": [{"name": "X", "value": "y"}]},
                "periodSeconds": 5,
                "failureThreshold": 2,
            },
            "readinessProbe": {"exec": {"command": ["x"]}},
            "startupProbe": {"tcpSocket": {"port": "http"}},
            "lifecycle": {"preStop": {"sleep": {"seconds": 3}}},
            "securityContext": {
                "privileged": False,
                "capabilities": {"add": ["SYS_PTRACE"]},
                "runAsUser": 5,
            },
        }
    ],
    "volumes": [
        {"name": "v", "persistentVolumeClaim": {"claimName": "p", "readOnly": True}},
        {"name": "e", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "h", "hostPath": {"path": "/x", "type": "Directory"}},
        {
            "name": "s",
            "secret": {"secretName": "s", "items": [{"key": "k", "path": "p"}], "defaultMode": 420},
        },
        {
            "name": "pr",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}},
                    {
                        "downwardAPI": {
                            "items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]
                        }
                    },
                ]
            },
        },
        {"name": "n", "nfs": {"server": "s", "path": "/"}},
        {
            "name": "ep",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1Gi"}},
                    }
                }
            },
        },
    ],
}
LABELS = {"kai.scheduler/queue": "team-a", "app": "x"}
SELECTOR = {
    "matchLabels": {"app": "x"},
    "matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}],
}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def template(*, always: bool) -> Manifest:
    """`always`: for pods that are started again."""
    spec = copy.deepcopy(POD)
    if always:
        spec["restartPolicy"] = "Always"
        del spec["activeDeadlineSeconds"]
    return {"metadata": {"labels": dict(LABELS)}, "spec": spec}


def _job() -> Manifest:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}
    return {
        "parallelism": 2,
        "completions": 2,
        "backoffLimit": 3,
        "activeDeadlineSeconds": 100,
        "ttlSecondsAfterFinished": 5,
        "completionMode": "Indexed",
        "suspend": True,
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {"rules": [rule]},
        "template": template(always=False),
    }


def _workload(**fields: Any) -> Manifest:
    return {"spec": {**fields, "selector": SELECTOR, "template": template(always=True)}}


def _devices() -> Manifest:
    toleration = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}
    choice = {
        "name": "a",
        "deviceClassName": "gpu.example.com",
        "count": 2,
        "allocationMode": "ExactCount",
        "tolerations": [toleration],
    }
    selector = {"cel": {"expression": "true"}}
    exactly = {"deviceClassName": "x", "allocationMode": "All", "selectors": [selector]}
    return {
        "requests": [{"name": "g", "firstAvailable": [choice]}, {"name": "h", "exactly": exactly}],
        "constraints": [{"requests": ["g"], "matchAttribute": "example.com/numa"}],
    }


def _of_devices() -> Manifest:
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
    attributes = {"a": {"int": 5}, "b": {"bool": True}, "c": {"version": "1.2.3"}}
    device = {"name": "d", "attributes": attributes, "capacity": {"m": {"value": "1Gi"}}}
    return {
        "driver": "gpu.example.com",
        "nodeSelector": {"nodeSelectorTerms": [term]},
        "pool": {"name": "p/q", "generation": 2, "resourceSliceCount": 3},
        "devices": [device],
    }


def _node() -> Manifest:
    taint = {"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
    return {
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": "p", "taints": [taint]},
        "status": {
            "allocatable": {"cpu": 4, "memory": "8Gi", "pods": 10},
            "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}],
            "nodeInfo": {"kubeletVersion": "v1"},
            "images": [{"names": ["a"], "sizeBytes": 5}],
        },
    }


def _bodies() -> dict[str, tuple[str, Manifest]]:
    """API version and body of each kind."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}
    times = {
        "schedule": "0 * * * *",
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 5,
        "successfulJobsHistoryLimit": 1,
        "timeZone": "UTC",
    }
    jobs = {"metadata": {"labels": dict(LABELS)}, "spec": _job()}
    topology = {"matchLabelExpressions": [{"key": "z", "values": ["a"]}]}
    claim = {**CLAIM, "volumeMode": "Filesystem", "volumeName": "v", "selector": SELECTOR}
    return {
        "Pod": ("v1", {"spec": copy.deepcopy(POD)}),
        "Job": ("batch/v1", {"spec": _job()}),
        "CronJob": ("batch/v1", {"spec": {**times, "jobTemplate": jobs}}),
        "Deployment": ("apps/v1", _workload(minReadySeconds=1, strategy=rolling, paused=False)),
        "StatefulSet": (
            "apps/v1",
            _workload(
                serviceName="s",
                podManagementPolicy="Parallel",
                ordinals={"start": 0},
                volumeClaimTemplates=[{"metadata": {"name": "d"}, "spec": CLAIM}],
            ),
        ),
        "DaemonSet": ("apps/v1", _workload(updateStrategy={"type": "OnDelete"})),
        "ReplicaSet": ("apps/v1", _workload(replicas=1)),
        "Node": ("v1", _node()),
        "ResourceClaim": ("resource.k8s.io/v1", {"spec": {"devices": _devices()}}),
        "ResourceSlice": ("resource.k8s.io/v1", {"spec": _of_devices()}),
        "PriorityClass": (
            "scheduling.k8s.io/v1",
            {"value": 5, "description": "d", "preemptionPolicy": "Never"},
        ),
        "StorageClass": (
            "storage.k8s.io/v1",
            {
                "provisioner": "x",
                "parameters": {"a": "b"},
                "reclaimPolicy": "Delete",
                "allowVolumeExpansion": True,
                "allowedTopologies": [topology],
            },
        ),
        "PersistentVolumeClaim": ("v1", {"spec": claim}),
    }


KINDS = tuple(_bodies())
ALONE = ("Node", "PriorityClass", "StorageClass", "ResourceSlice")


def valid(random: Random) -> tuple[str, Manifest]:
    """A kind, and a manifest of it."""
    kind = random.choice(KINDS)
    version, body = _bodies()[kind]
    metadata: Manifest = {"name": "x", "labels": LABELS, "annotations": {"a": "b"}}
    metadata["finalizers"] = ["example.com/f"]
    if kind not in ALONE:
        owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}
        metadata["ownerReferences"] = [owner]
    return kind, copy.deepcopy({"apiVersion": version, "kind": kind, "metadata": metadata, **body})
