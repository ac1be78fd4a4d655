"""The pipeline: a step that needs no GPU, and one that needs half of one."""

import os
from typing import Annotated

import training
from settings import HALF_A_T4
from zenml import pipeline, step

from kai import runtime
from kai.integrations import zenml

# The image of the steps on a cluster (see Dockerfile); without it ZenML builds an image itself.
IMAGE = os.environ.get("KAI_EXAMPLE_IMAGE")
DOCKER = {"docker": zenml.docker_settings(parent_image=IMAGE, skip_build=True)} if IMAGE else {}


@step
def load_iris_dataset() -> tuple[Annotated[dict, "learn"], Annotated[dict, "judge"]]:
    learn, judge = training.load()
    return learn, judge  # a tuple written out: ZenML counts the outputs in this statement


@step(settings=zenml.step_settings(HALF_A_T4))
def train_iris_model(learn: dict, judge: dict) -> Annotated[float, "accuracy"]:
    found = runtime.detect()
    print(f"GPU is available: {found.available}")
    print(found)
    if found.available and found.shared:
        runtime.limit()  # PyTorch uses only the pod's part of the GPU
    accuracy = training.train(learn, judge, gpu=found.available)
    print(f"accuracy: {accuracy:.2f}")
    return accuracy


@pipeline(enable_cache=False, settings=DOCKER)
def gpu_pipeline() -> None:
    learn, judge = load_iris_dataset()
    train_iris_model(learn, judge)
