"""What the training step asks for; workflow.py and patch.py both use it."""

import kai

TRAIN = kai.PodRequest(queue="team-a", gpu_fraction=0.5, framework="torch", memory="2Gi")
