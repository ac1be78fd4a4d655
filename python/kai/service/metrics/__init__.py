"""The metrics of `kai run`: what they are, and when they are set."""

from kai.service.metrics.metrics import Metrics

__all__ = ["Metrics"]
