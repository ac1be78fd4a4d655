"""A shadow: plans beside another scheduler, and compares what both decide."""

from kai.service.shadow.shadow import Shadow

__all__ = ["Shadow"]
