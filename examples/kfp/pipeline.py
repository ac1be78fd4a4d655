"""A pipeline with a training step on half a GPU.

    pip install ../../dist/kai_sched-*.whl kfp==2.17.0 kfp-kubernetes==2.17.0   (see README.md)
    python pipeline.py                # writes pipeline.yaml and policy.yaml

Upload pipeline.yaml to Kubeflow Pipelines. An administrator applies policy.yaml once: it sets the
scheduler's name on pods with a queue, because Kubeflow Pipelines has no field for it.
"""

import sys
from pathlib import Path

import yaml
from kfp import compiler, dsl

import kai
from kai.integrations import kfp

TRAIN = kfp.build(
    kai.PodRequest(queue="team-a", gpu_fraction=0.5, framework="torch", cpu="1", memory="4Gi")
)


@dsl.component(base_image="python:3.12")
def load() -> str:
    return "samples"


@dsl.component(base_image="pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime")
def train(samples: str):
    import torch

    print(samples, torch.cuda.mem_get_info())


@dsl.pipeline(name="half-a-gpu")
def pipeline():
    step = train(samples=load().output)
    kfp.apply(TRAIN, step)
    step.set_retry(num_retries=2)  # KAI deletes the pods that it preempts


def main(folder: Path) -> None:
    compiler.Compiler().compile(pipeline, str(folder / "pipeline.yaml"))
    policy = yaml.safe_dump_all(TRAIN.cluster_objects, sort_keys=False)
    (folder / "policy.yaml").write_text(policy, encoding="utf-8")
    for sentence in (*TRAIN.warnings, *TRAIN.unsupported):
        print(sentence)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
