"""Prints a PyTorchJob of four pods in one rack, which start together or wait."""

import json

import kai
from kai.integrations import training_operator

request = kai.PodRequest(
    queue="team-a",
    gpus=8,
    priority="train",
    topology="cluster",
    required_level="topology.example.com/rack",
    cpu="16",
    memory="128Gi",
)
job = training_operator.build(
    request,
    name="pretrain",
    image="pytorch/pytorch",
    command=["torchrun", "train.py"],
    replicas={"Master": 1, "Worker": 3},
    as_native=False,
)
print(json.dumps(dict(job), indent=2))
