"""Valid manifests of many kinds, and random changes of them: keys, types, values and nesting."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

Manifest = dict[str, Any]
Path = tuple[str | int, ...]

POD: Manifest = {
    "schedulerName": "kai-scheduler",
    "priorityClassName": "train",
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [
        {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
    ],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                ]
            }
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}
            ]
        },
    },
    "hostNetwork": False,
    "overhead": {"cpu": "100m"},
    "terminationGracePeriodSeconds": 30,
    "containers": [
        {
            "name": "main",
            "image": "i",
            "env": [{"name": "A", "value": "b"}],
            "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": 1}},
        }
    ],
    "initContainers": [{"name": "init", "image": "i", "restartPolicy": "Always"}],
    "volumes": [{"name": "v", "configMap": {"name": "c", "optional": True}}],
}
QUEUE = {"kai.scheduler/queue": "team-a"}
WHOLE = {"limits": {"cpu": "1", "nvidia.com/gpu": 1}, "requests": {"cpu": 1}}
SHARES: tuple[Manifest, ...] = (
    {},
    {"gpu-fraction": "0.5"},
    {"gpu-memory": "5120", "gpu-fraction-num-devices": "2"},
    {"gpu-fraction": "0.25", "gpu-fraction-container-name": "main"},
    {"kai.scheduler/preemption-delay": "5m", "kai.scheduler/movable": "true"},
)


def template(random: Random) -> Manifest:
    share = random.choice(SHARES)
    spec = copy.deepcopy(POD)
    if not any(key.startswith("gpu-") for key in share) and random.random() < 0.5:
        spec["containers"][0]["resources"] = copy.deepcopy(WHOLE)
    for name in random.sample(sorted(set(spec) - {"schedulerName", "containers"}), 5):
        del spec[name]
    return {"metadata": {"labels": {"app": "x"}, "annotations": dict(share)}, "spec": spec}


def _bare(random: Random) -> Manifest:
    return template(random)["spec"]


SHARE = {"quota": 4000, "limit": 8000, "overQuotaWeight": 1}
DEVICES = {
    "requests": [
        {
            "name": "gpu",
            "exactly": {
                "deviceClassName": "gpu.example.com",
                "allocationMode": "ExactCount",
                "count": 1,
            },
        }
    ]
}


def _ray(random: Random) -> Manifest:
    return {
        "headGroupSpec": {"rayStartParams": {}, "template": template(random)},
        "workerGroupSpecs": [
            {
                "groupName": "w",
                "replicas": 2,
                "minReplicas": 1,
                "maxReplicas": 3,
                "rayStartParams": {"num-gpus": "1"},
                "template": template(random),
            }
        ],
    }


def _kubeflow(family: str, random: Random, *roles: str) -> Manifest:
    replicas = {role: {"replicas": 1, "template": template(random)} for role in roles}
    policy = {"schedulingPolicy": {"minAvailable": 1}, "cleanPodPolicy": "None"}
    return {"spec": {"runPolicy": policy, f"{family}ReplicaSpecs": replicas}}


def _bodies(random: Random) -> dict[str, tuple[str, Manifest]]:
    """API version and body of each kind."""
    once = template(random)
    once["spec"]["restartPolicy"] = "Never"
    job = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": once}
    selector = {"matchLabels": {"app": "x"}}
    return {
        "Pod": ("v1", {"spec": _bare(random)}),
        "Node": (
            "v1",
            {
                "spec": {
                    "taints": [{"key": "gpu", "value": "x", "effect": "NoSchedule"}],
                    "unschedulable": False,
                },
                "status": {
                    "capacity": {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": "8", "pods": 110},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            },
        ),
        "Queue": (
            "scheduling.run.ai/v2",
            {
                "spec": {
                    "displayName": "team",
                    "parentQueue": "default-parent-queue",
                    "priority": 100,
                    "reclaimMinRuntime": "5m",
                    "resources": {"gpu": dict(SHARE), "cpu": dict(SHARE), "memory": dict(SHARE)},
                }
            },
        ),
        "PodGroup": (
            "scheduling.run.ai/v2alpha2",
            {
                "spec": {
                    "minMember": 1,
                    "queue": "team-a",
                    "priorityClassName": "train",
                    "stalenessGracePeriod": "5m",
                    "markUnschedulable": True,
                }
            },
        ),
        "PriorityClass": ("scheduling.k8s.io/v1", {"value": 100, "globalDefault": False}),
        "Topology": ("kai.scheduler/v1alpha1", {"spec": {"levels": [{"nodeLabel": "zone"}]}}),
        "Job": ("batch/v1", {"spec": job}),
        "CronJob": (
            "batch/v1",
            {
                "spec": {
                    "schedule": "0 * * * *",
                    "jobTemplate": {"metadata": {"labels": dict(QUEUE)}, "spec": job},
                }
            },
        ),
        "Deployment": (
            "apps/v1",
            {"spec": {"replicas": 2, "selector": selector, "template": template(random)}},
        ),
        "StatefulSet": (
            "apps/v1",
            {
                "spec": {
                    "replicas": 2,
                    "serviceName": "s",
                    "selector": selector,
                    "template": template(random),
                }
            },
        ),
        "ReplicaSet": (
            "apps/v1",
            {"spec": {"replicas": 1, "selector": selector, "template": template(random)}},
        ),
        "LeaderWorkerSet": (
            "leaderworkerset.x-k8s.io/v1",
            {
                "spec": {
                    "replicas": 1,
                    "leaderWorkerTemplate": {
                        "size": 2,
                        "leaderTemplate": template(random),
                        "workerTemplate": template(random),
                    },
                }
            },
        ),
        "PyTorchJob": ("kubeflow.org/v1", _kubeflow("pytorch", random, "Master", "Worker")),
        "MPIJob": ("kubeflow.org/v1", _kubeflow("mpi", random, "Launcher", "Worker")),
        "JobSet": (
            "jobset.x-k8s.io/v1alpha2",
            {"spec": {"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": job}}]}},
        ),
        "RayCluster": ("ray.io/v1", {"spec": _ray(random)}),
        "RayJob": (
            "ray.io/v1",
            {"spec": {"submissionMode": "HTTPMode", "rayClusterSpec": _ray(random)}},
        ),
        "InferenceService": (
            "serving.kserve.io/v1beta1",
            {"spec": {"predictor": {"minReplicas": 1, **_bare(random)}}},
        ),
        "Workflow": (
            "argoproj.io/v1alpha1",
            {
                "spec": {
                    "schedulerName": "kai-scheduler",
                    "entrypoint": "t",
                    "templates": [
                        {
                            "name": "t",
                            "metadata": {"labels": dict(QUEUE)},
                            "container": {"image": "i", "resources": copy.deepcopy(WHOLE)},
                        }
                    ],
                }
            },
        ),
        "SparkApplication": (
            "sparkoperator.k8s.io/v1beta2",
            {
                "spec": {
                    "driver": {"cores": 1, "labels": dict(QUEUE), "schedulerName": "kai-scheduler"},
                    "executor": {
                        "instances": 2,
                        "labels": dict(QUEUE),
                        "schedulerName": "kai-scheduler",
                        "gpu": {"name": "nvidia.com/gpu", "quantity": 1},
                    },
                }
            },
        ),
        "ConfigMap": ("v1", {"data": {"a": "b"}}),
        "Namespace": ("v1", {}),
        "PersistentVolumeClaim": (
            "v1",
            {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "s",
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            },
        ),
        "PersistentVolume": (
            "v1",
            {
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "s",
                    "hostPath": {"path": "/data"},
                }
            },
        ),
        "StorageClass": (
            "storage.k8s.io/v1",
            {"provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"},
        ),
        "ResourceClaim": ("resource.k8s.io/v1", {"spec": {"devices": copy.deepcopy(DEVICES)}}),
        "DeviceClass": (
            "resource.k8s.io/v1",
            {
                "spec": {
                    "selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]
                }
            },
        ),
        "ResourceSlice": (
            "resource.k8s.io/v1",
            {
                "spec": {
                    "driver": "gpu.example.com",
                    "nodeName": "n1",
                    "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                    "devices": [
                        {
                            "name": "gpu-0",
                            "attributes": {"type": {"string": "gpu"}},
                            "capacity": {"memory": {"value": "80Gi"}},
                        }
                    ],
                }
            },
        ),
    }


def valid(kind: str, random: Random) -> Manifest:
    """A manifest of this kind that plans and lint accept."""
    version, body = _bodies(random)[kind]
    metadata: Manifest = {"name": "x", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    if kind not in ("Node", "Queue", "PriorityClass", "Topology", "Namespace"):
        metadata["labels"] = dict(QUEUE)
    if kind == "Pod":
        metadata["annotations"] = dict(random.choice(SHARES))
        if any(key.startswith("gpu-") for key in metadata["annotations"]):
            body["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    return copy.deepcopy({"apiVersion": version, "kind": kind, "metadata": metadata, **body})


KINDS = tuple(_bodies(Random(0)))


# ---- changes -------------------------------------------------------------------------------------

VALUES: tuple[Any, ...] = (
    *(5, -3, 0, 1.5, 1e300, 2**63, True, None, "", "no such value", "5", "1Gi", "0.5", "half"),
    *("50%", "5m", "-1", "8000m", "${X}", "{{ x }}", [], ["x"], {}, {"x": "y"}, [{"name": "x"}]),
)


def paths(value: Any, where: Path = ()) -> Iterator[Path]:
    if where:
        yield where
    if isinstance(value, dict):
        for key, each in value.items():
            yield from paths(each, (*where, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from paths(each, (*where, index))


def _at(manifest: Any, path: Path) -> Any:
    for step in path:
        manifest = manifest[step]
    return manifest


def changed(manifest: Manifest, random: Random) -> tuple[str, Path, Manifest]:
    """What was changed, where, and the changed manifest."""
    manifest = copy.deepcopy(manifest)
    places = [path for path in paths(manifest) if path not in (("kind",), ("apiVersion",))]
    path = random.choice(places)
    above, last = _at(manifest, path[:-1]), path[-1]
    how = random.choice(("value", "value", "value", "type", "key", "nesting", "missing", "beside"))
    if how == "value":
        above[last] = copy.deepcopy(random.choice(VALUES))
    elif how == "type":
        above[last] = _of_another_type(above[last], random)
    elif how == "key" and isinstance(above, dict) and isinstance(last, str):
        _rename(above, last, _misspelt(last, random))
    elif how == "nesting":
        above[last] = random.choice(([above[last]], {str(last): above[last]}))
    elif how == "missing":
        del above[last]
    else:
        other = copy.deepcopy(_at(manifest, random.choice(places)))
        if isinstance(above, dict):
            above[str(last)] = other
        else:
            above.append(other)
    return how, path, manifest


def _of_another_type(value: Any, random: Random) -> Any:
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return random.choice((str(value), [value], None, {"value": value}, len(str(value))))


def _rename(above: Manifest, old: str, new: str) -> None:
    entries = [(new if key == old else key, value) for key, value in above.items()]
    above.clear()
    above.update(entries)


def _misspelt(key: str, random: Random) -> str:
    at = random.randrange(len(key) + 1)
    return random.choice(
        (
            key[:at] + key[at + 1 :],
            key[:at] + "x" + key[at:],
            key.replace("-", "_"),
            key.upper(),
            f"example.com/{key}",
            f"{key}s",
        )
    )
