"""Prints a JobSet of a coordinator without a GPU and four workers with 10 GiB of a GPU each."""

import json

import kai
from kai.integrations import jobset

request = kai.PodRequest(queue="team-a", gpu_memory="10Gi", framework="jax")
job = jobset.build(
    request,
    name="rollouts",
    image="example.com/rollouts:1",
    command=["python", "-m", "rollouts"],
    jobs={"coordinator": 1, "worker": 4},
    gpu_jobs=["worker"],
)
print(json.dumps(dict(job), indent=2))
