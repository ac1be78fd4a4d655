"""The request of the training step, for workflow.py and patch.py."""

import kai

TRAIN = kai.PodRequest(queue="team-a", gpu_fraction=0.5, framework="torch", memory="2Gi")
