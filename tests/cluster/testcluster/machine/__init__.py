"""A node that runs the programs of its pods on this machine (docs/internals/cluster.md)."""

from .errors import MachineError
from .images import IMAGES, OURS, Image
from .machine import Machine

__all__ = ["IMAGES", "OURS", "Image", "Machine", "MachineError"]
