"""Prints a RayJob of two workers with half a GPU each, for kubectl apply -f -."""

import json

import kai
from kai.integrations import ray
from kai.integrations.ray import WorkerGroup

request = kai.PodRequest(
    queue="team-a",
    gpu_fraction=0.5,
    framework="torch",
    cpu_limit="2",
    memory_limit="8Gi",
)
job = ray.build(
    request,
    kind="RayJob",
    name="tune",
    image="rayproject/ray:2.52.0-gpu",
    entrypoint="python tune.py",
    groups={"workers": WorkerGroup(replicas=2, max_replicas=4)},
    # The head distributes tasks and runs none, so it needs no GPU.
    head=kai.PodRequest(queue="team-a", cpu_limit="2", memory_limit="4Gi"),
    head_start_params={"num-cpus": "0"},
)
print(json.dumps(dict(job), indent=2))
