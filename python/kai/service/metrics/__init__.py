"""The metrics of `kai run`."""

from kai.service.metrics.metrics import Metrics

__all__ = ["Metrics"]
