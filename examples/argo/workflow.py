"""The same workflow, written with Hera.

pip install ../../dist/kai_sched-*.whl 'hera[yaml]'    (README.md shows how to build it)
python workflow.py | argo submit -
"""

from hera.workflows import Container, Step, Steps, Workflow
from hera.workflows.models import RetryStrategy
from request import TRAIN

from kai.integrations import argo

half = argo.build(TRAIN, as_native=True).native

with Workflow(generate_name="half-a-gpu-", entrypoint="steps", **half.workflow_kwargs) as workflow:
    load = Container(name="load", image="python:3.12", command=["python", "-c", "print('samples')"])
    train = Container(
        name="train",
        image="pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime",
        command=["python", "-c", "import torch; print(torch.cuda.mem_get_info())"],
        retry_strategy=RetryStrategy(limit=2, retry_policy="Always"),
        **half.template_kwargs,
    )
    with Steps(name="steps"):
        Step(name="load", template=load)
        Step(name="train", template=train)

print(workflow.to_yaml(), end="")
